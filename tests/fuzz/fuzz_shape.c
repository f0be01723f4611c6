/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_shape.c - any bytes as the path of a record whose frames may be known
 *
 * The input is two paths: one byte gives how many 16ths of the rest are the first. If
 * it is a path, it is passed until its shape is known; then the second is passed. The
 * times found by shape must be those of the path.
 */
#include "wire/cpt_log_shape.h"
#include "wire/cpt_metadata.h"

#include <stdlib.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static void check_times(const struct cpt_record *record,
                        const struct cpt_log_times *times)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint64_t *self_ns = calloc(times->frame_count + 1, sizeof *self_ns);

    must(path != NULL && self_ns != NULL);
    must(cpt_record_path(record, NULL, path, NULL) == CPT_OK);
    must(cpt_path_frame_count(path) == times->frame_count);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        self_ns[cpt_path_segment(path, i)->frame] +=
            cpt_path_segment(path, i)->duration_ns;
    }
    for (size_t i = 0; i < times->frame_count; i++) {
        must(self_ns[i] == times->self_ns[i]);
    }
    free(self_ns);
    cpt_path_free(path);
}

static void meet(struct cpt_log_shapes *shapes, struct cpt_bytes bytes)
{
    struct cpt_record record = {.path_bytes = bytes};
    struct cpt_metadata_summary summary;
    struct cpt_log_times times;
    struct cpt_path *path = NULL;
    uint64_t shape = 0;

    if (cpt_metadata_peek(bytes.data, bytes.bytes, &summary, NULL) == CPT_OK) {
        record.latency_ns = summary.sum_ns;
    }
    if (cpt_log_shapes_find(shapes, &record, &times) == CPT_OK) {
        check_times(&record, &times);
        return;
    }
    path = cpt_path_new(NULL);
    must(path != NULL);
    if (cpt_record_path(&record, NULL, path, NULL) == CPT_OK) {
        (void)cpt_log_shapes_keep(shapes, &record, path, &shape);
    }
    cpt_path_free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t rest = size != 0 ? size - 1 : 0;
    const size_t cut = size != 0 ? rest * (data[0] % 17U) / 16 : 0;
    unsigned char *first = malloc(cut + 1); /* so that sanitizers detect overreads */
    unsigned char *second = malloc(rest - cut + 1);
    struct cpt_log_shapes *shapes = cpt_log_shapes_new(NULL);

    must(first != NULL && second != NULL && shapes != NULL);
    for (size_t i = 0; i < rest; i++) {
        *(i < cut ? &first[i] : &second[i - cut]) = data[i + 1];
    }
    for (int i = 0; i < 3; i++) {
        meet(shapes, (struct cpt_bytes){(const char *)first, cut});
    }
    for (int i = 0; i < 3; i++) {
        meet(shapes, (struct cpt_bytes){(const char *)second, rest - cut});
    }
    cpt_log_shapes_free(shapes);
    free(first);
    free(second);
    return 0;
}
