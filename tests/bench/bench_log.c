/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_log.c - logs for benchmarks
 *
 *      bench_log REQUESTS SEGMENTS STACKS [ROOTS] > file
 *
 * Every request has SEGMENTS segments, spread over STACKS distinct stacks of a tree
 * four wide, with times that vary. The requests cycle through ROOTS different roots
 * (default 1), so there are ROOTS times STACKS distinct stacks. The log is always the
 * same.
 */
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <stdio.h>
#include <stdlib.h>

static void must(int holds)
{
    if (!holds) {
        (void)fprintf(stderr, "bench_log: out of memory, or a limit\n");
        exit(2);
    }
}

static void make_path(struct cpt_path *path, uint32_t *frames, const unsigned *numbers,
                      unsigned root, uint64_t *state)
{
    const unsigned segments = numbers[1];
    const unsigned stacks = numbers[2];

    cpt_path_reset(path);
    for (unsigned i = 0; i < stacks; i++) {
        char name[32];

        (void)snprintf(name, sizeof name,
                       i == 0 && root != 0 ? "S%u: root%u" : "S%u: part%u", i % 8,
                       i == 0 ? root : i);
        must(cpt_path_frame_add(path, i == 0 ? CPT_FRAME_NONE : frames[(i - 1) / 4],
                                cpt_bytes_of(name), CPT_KIND_WORK,
                                &frames[i]) == CPT_OK);
    }
    for (unsigned i = 0; i < segments; i++) {
        *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
        must(cpt_path_append_ns(path, frames[i % stacks], 1000 + (*state >> 44)) ==
             CPT_OK);
    }
}

static void put(struct cpt_log_block *block, const struct cpt_path *path,
                unsigned index)
{
    const struct cpt_record record = {
        .start_unix_ns = UINT64_C(1795240800000000000) + index * UINT64_C(1000000),
        .latency_ns = cpt_path_sum_ns(path),
        .probability = 0.001,
        .service = cpt_bytes_of("S0"),
        .is_random = 1,
        .path = path,
    };
    unsigned char *data = NULL;
    size_t bytes = 0;

    must(cpt_record_encode(&record, NULL, &data, &bytes, NULL) == CPT_OK);
    if (cpt_log_block_add(block, data, bytes) != CPT_OK) {
        const struct cpt_bytes done = cpt_log_block_finish(block);

        (void)fwrite(done.data, 1, done.bytes, stdout);
        must(cpt_log_block_add(block, data, bytes) == CPT_OK);
    }
    cpt_alloc_free(NULL, data);
}

int main(int argument_count, char **arguments)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    struct cpt_path *path = cpt_path_new(NULL);
    unsigned numbers[4] = {0, 0, 0, 1};
    uint32_t *frames;
    uint64_t state = 1;
    struct cpt_bytes rest;

    for (int i = 1; i < argument_count && i <= 4; i++) {
        numbers[i - 1] = (unsigned)strtoul(arguments[i], NULL, 10);
    }
    frames = calloc((size_t)numbers[2] + 1, sizeof *frames);
    if (argument_count < 4 || argument_count > 5 || numbers[2] == 0 ||
        numbers[3] == 0) {
        free(frames);
        return 2;
    }
    must(frames != NULL && block != NULL && path != NULL);
    (void)fwrite(header, 1, cpt_log_header(header), stdout);
    for (unsigned i = 0; i < numbers[0]; i++) {
        make_path(path, frames, numbers, i % numbers[3], &state);
        put(block, path, i);
    }
    rest = cpt_log_block_finish(block);
    (void)fwrite(rest.data, 1, rest.bytes, stdout);
    cpt_log_block_free(block);
    cpt_path_free(path);
    free(frames);
    return fflush(stdout) == 0 ? 0 : 2;
}
