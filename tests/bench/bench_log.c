/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_log.c - logs for benchmarks
 *
 *      bench_log REQUESTS SEGMENTS STACKS [ROOTS [MISSING]] > file
 *
 * Every request has SEGMENTS segments, spread over STACKS distinct stacks of a tree
 * four wide, with times that vary. The requests cycle through ROOTS different roots
 * (default 1), so there are ROOTS times STACKS distinct stacks. Of every hundred leaves
 * of the tree, each request lacks about MISSING (default 0), other ones each time, so
 * that no two tables of frames are the same. The log is always the same.
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

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 44;
}

/* Frames of one request: by stack, and those that have segments. */
struct frames {
    uint32_t *of_stacks;
    uint32_t *used;
    unsigned used_count;
};

static void add_frame(struct cpt_path *path, struct frames *frames, unsigned i,
                      unsigned root)
{
    char name[32];

    (void)snprintf(name, sizeof name,
                   i == 0 && root != 0 ? "S%u: root%u" : "S%u: part%u", i % 8,
                   i == 0 ? root : i);
    must(cpt_path_frame_add(
             path, i == 0 ? CPT_FRAME_NONE : frames->of_stacks[(i - 1) / 4],
             cpt_bytes_of(name), CPT_KIND_WORK, &frames->of_stacks[i]) == CPT_OK);
    frames->used[frames->used_count++] = frames->of_stacks[i];
}

static void make_path(struct cpt_path *path, struct frames *frames,
                      const unsigned *numbers, unsigned root, uint64_t *state)
{
    const unsigned segments = numbers[1];
    const unsigned stacks = numbers[2];

    cpt_path_reset(path);
    frames->used_count = 0;
    for (unsigned i = 0; i < stacks; i++) {
        const int is_leaf = i != 0 && i * 4 + 1 >= stacks;

        if (!is_leaf || numbers[4] == 0 || draw(state) % 100 >= numbers[4]) {
            add_frame(path, frames, i, root);
        }
    }
    for (unsigned i = 0; i < segments; i++) {
        must(cpt_path_append_ns(path, frames->used[i % frames->used_count],
                                1000 + draw(state)) == CPT_OK);
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
    unsigned numbers[5] = {0, 0, 0, 1, 0};
    struct frames frames = {NULL, NULL, 0};
    uint64_t state = 1;
    struct cpt_bytes rest;

    for (int i = 1; i < argument_count && i <= 5; i++) {
        numbers[i - 1] = (unsigned)strtoul(arguments[i], NULL, 10);
    }
    if (argument_count < 4 || argument_count > 6 || numbers[2] == 0 ||
        numbers[3] == 0) {
        return 2;
    }
    frames.of_stacks = calloc(numbers[2], sizeof *frames.of_stacks);
    frames.used = calloc(numbers[2], sizeof *frames.used);
    must(frames.of_stacks != NULL && frames.used != NULL && block != NULL &&
         path != NULL);
    (void)fwrite(header, 1, cpt_log_header(header), stdout);
    for (unsigned i = 0; i < numbers[0]; i++) {
        make_path(path, &frames, numbers, i % numbers[3], &state);
        put(block, path, i);
    }
    rest = cpt_log_block_finish(block);
    (void)fwrite(rest.data, 1, rest.bytes, stdout);
    cpt_log_block_free(block);
    cpt_path_free(path);
    free(frames.of_stacks);
    free(frames.used);
    return fflush(stdout) == 0 ? 0 : 2;
}
