/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_verbose.c - any bytes as a path in the verbose form
 *
 * Accepted bytes give a path that adds up, and that both forms give back: written again
 * it has the same bytes, whichever form it was read from.
 */
#include "tests/support/metadata_verbose.h"

#include <stdlib.h>
#include <string.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

/* Both read into a path that is written like @path. */
static void check_round_trip(const struct cpt_path *path, uint64_t nonce)
{
    const struct cpt_metadata_encode_options whole = {
        .struct_bytes = sizeof whole, .is_unlimited = 1, .nonce = nonce};
    struct cpt_metadata_summary summary;
    struct cpt_path *back = cpt_path_new(NULL);
    unsigned char *data = NULL;
    unsigned char *compact = NULL;
    unsigned char *again = NULL;
    size_t bytes = 0;
    size_t compact_bytes = 0;
    size_t bytes_again = 0;

    must(back != NULL);
    must(verbose_encode(path, &whole, &data, &bytes) == CPT_OK);
    must(verbose_decode(data, bytes, NULL, back, &summary, NULL) == CPT_OK);
    must(summary.nonce == nonce);
    must(verbose_encode(back, &whole, &again, &bytes_again) == CPT_OK);
    must(bytes_again == bytes && memcmp(again, data, bytes) == 0);
    cpt_alloc_free(NULL, again);
    cpt_path_reset(back);
    must(cpt_metadata_encode(path, &whole, &compact, &compact_bytes, NULL) == CPT_OK);
    if (cpt_metadata_decode(compact, compact_bytes, NULL, back, NULL) == CPT_OK) {
        must(verbose_encode(back, &whole, &again, &bytes_again) == CPT_OK);
        must(bytes_again == bytes && memcmp(again, data, bytes) == 0);
        cpt_alloc_free(NULL, again);
    } else {
        must(compact_bytes > CPT_METADATA_READ_BYTES_MAX);
    }
    cpt_alloc_free(NULL, compact);
    cpt_alloc_free(NULL, data);
    cpt_path_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cpt_metadata_summary summary;
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};

    must(path != NULL);
    if (verbose_decode(data, size, NULL, path, &summary, &error) == CPT_OK) {
        must(summary.version == CPT_METADATA_VERSION);
        must(cpt_path_check(path, summary.sum_ns, NULL) == CPT_OK);
        check_round_trip(path, summary.nonce);
    } else {
        must(error.status != CPT_OK && error.sentence[0] != '\0');
        must(error.offset <= size);
        must(cpt_path_frame_count(path) == 0 && cpt_path_segment_count(path) == 0);
    }
    cpt_path_free(path);
    return 0;
}
