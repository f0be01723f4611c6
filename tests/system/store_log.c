/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * store_log.c - a log of any number of requests, for the tests of the database
 *
 *      store_log REQUESTS [DIFFERENT] > file
 *
 * With DIFFERENT, the requests repeat that many, but for their starts. Times from
 * nanoseconds to hours and probabilities from 1 to one in 2^28, so that sums need all
 * their bits. The requests are always the same.
 */
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static void must(cpt_status status)
{
    if (status != CPT_OK) {
        (void)fprintf(stderr, "store_log: %s\n", cpt_status_sentence(status));
        exit(2);
    }
}

/* Up to 8 segments on stacks of up to 6 frames; sometimes none at all. */
static void fill_path(struct cpt_path *path, uint64_t *state)
{
    static const char *const names[] = {"A: /", "A: a", "B: b", "B: c", "C: d", "e"};
    const unsigned count = (unsigned)(next_random(state) >> 40) % 8;

    cpt_path_reset(path);
    for (unsigned i = 0; i < count; i++) {
        const unsigned depth = (unsigned)(next_random(state) >> 40) % 6;
        uint32_t frame = CPT_FRAME_NONE;

        for (unsigned k = 0; k <= depth; k++) {
            must(cpt_path_frame_add(
                path, frame, cpt_bytes_of(names[(next_random(state) >> 40) % 6]),
                (unsigned)(next_random(state) >> 40) % 8 == 0 ? 4 : 0, &frame));
        }
        must(cpt_path_append_ns(
            path, frame, next_random(state) >> (16 + (next_random(state) >> 40) % 48)));
    }
}

static void put(struct cpt_log_block *block, const struct cpt_record *record)
{
    struct cpt_error error = {0};
    unsigned char *data = NULL;
    size_t bytes = 0;

    must(cpt_record_encode(record, NULL, &data, &bytes, &error));
    if (cpt_log_block_add(block, data, bytes) != CPT_OK) {
        const struct cpt_bytes done = cpt_log_block_finish(block);

        (void)fwrite(done.data, 1, done.bytes, stdout);
        must(cpt_log_block_add(block, data, bytes));
    }
    cpt_alloc_free(NULL, data);
}

static void put_request(struct cpt_log_block *block, struct cpt_path *path,
                        unsigned index, uint64_t *state)
{
    static const double probabilities[] = {1, 0.5, 0.3, 0.001, 1.0 / (1 << 28)};
    const struct cpt_attribute attributes[] = {
        {cpt_bytes_of("arm"), CPT_ATTRIBUTE_INTEGER, {.integer = index % 2}},
    };
    struct cpt_record record = {
        .start_unix_ns = UINT64_C(1795240800000000000) + index * UINT64_C(1000),
        .probability = probabilities[(next_random(state) >> 40) % 5],
        .service = cpt_bytes_of("A"),
        .attributes = attributes,
        .attribute_count = 1,
        .is_random = 1,
        .path = path,
    };

    fill_path(path, state);
    record.latency_ns = cpt_path_sum_ns(path);
    put(block, &record);
}

int main(int argument_count, char **arguments)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    struct cpt_path *path = cpt_path_new(NULL);
    const unsigned count =
        argument_count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 0;
    const unsigned different =
        argument_count > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : count;
    const uint64_t first = 20240229;
    uint64_t state = first;
    struct cpt_bytes rest;

    if (block == NULL || path == NULL || count == 0 || different == 0) {
        return 2;
    }
    (void)fwrite(header, 1, cpt_log_header(header), stdout);
    for (unsigned i = 0; i < count; i++) {
        state = i % different == 0 ? first : state;
        put_request(block, path, i, &state);
    }
    rest = cpt_log_block_finish(block);
    (void)fwrite(rest.data, 1, rest.bytes, stdout);
    cpt_log_block_free(block);
    cpt_path_free(path);
    return fflush(stdout) == 0 ? 0 : 2;
}
