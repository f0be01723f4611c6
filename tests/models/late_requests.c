/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * late_requests.c - a path log of requests with a known p99, as a keep rule left it
 *
 *      late_requests seed=1 requests=15000 factor=1.15 above=0.95 share=0.1 >new.cptlog
 *
 * The time of a request is factor · 10 ms · exp(spread · z), z normal. Those longer
 * than the quantile `above` of the times with factor 1 are kept, and of the others the
 * part `share`; each record has the probability that it had. Prints the log.
 */
#include "tests/support/test_random.h"

#include "aggregate/cpt_stats.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MEDIAN_NS 1e7
#define FIRST_NS  UINT64_C(1795240800000000000)
#define GAP_NS    UINT64_C(20000000)

static struct {
    double seed;
    double requests;
    double factor;
    double above;
    double share;
    double spread;
} arguments = {.requests = 15000, .factor = 1, .above = 0.95, .share = 1, .spread = 1};

static void must(cpt_status status)
{
    if (status != CPT_OK) {
        (void)fprintf(stderr, "late_requests: %s\n", cpt_status_sentence(status));
        exit(2);
    }
}

static double uniform(struct test_random *random)
{
    return ((double)(test_random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

static void write_block(struct cpt_log_block *block)
{
    const struct cpt_bytes bytes = cpt_log_block_finish(block);

    (void)fwrite(bytes.data, 1, bytes.bytes, stdout);
}

static void write_record(struct cpt_log_block *block, struct cpt_record *record)
{
    unsigned char *data;
    size_t bytes;

    must(cpt_record_encode(record, NULL, &data, &bytes, NULL));
    if (cpt_log_block_add(block, data, bytes) != CPT_OK) {
        write_block(block);
        must(cpt_log_block_add(block, data, bytes));
    }
    cpt_alloc_free(NULL, data);
}

static void write_requests(struct cpt_log_block *block, struct cpt_path *path)
{
    const double border_ns =
        MEDIAN_NS * exp(arguments.spread * cpt_normal_quantile(arguments.above));
    struct test_random random = {(uint64_t)arguments.seed + 1};

    random.state = test_random_next(&random); /* streams of adjacent seeds overlap */
    for (size_t i = 0; i < (size_t)arguments.requests; i++) {
        const double z = cpt_normal_quantile(uniform(&random));
        const double ns = arguments.factor * MEDIAN_NS * exp(arguments.spread * z);
        const double probability = ns > border_ns ? 1 : arguments.share;
        struct cpt_record record = {.start_unix_ns = FIRST_NS + i * GAP_NS,
                                    .latency_ns = (uint64_t)ns,
                                    .probability = probability,
                                    .service = cpt_bytes_of("A"),
                                    .method = cpt_bytes_of("/"),
                                    .entry = cpt_bytes_of("A: /"),
                                    .status = cpt_bytes_of("ok"),
                                    .is_random = 1,
                                    .path = path};
        uint32_t frame;

        if (uniform(&random) >= probability) {
            continue;
        }
        cpt_path_reset(path);
        must(cpt_path_frame_add(path, CPT_FRAME_NONE, record.entry, CPT_KIND_WORK,
                                &frame));
        must(cpt_path_append_ns(path, frame, record.latency_ns));
        write_record(block, &record);
    }
}

/* Sets what @argument, KEY=NUMBER, says; whether the key is known. */
static bool set(const char *argument)
{
    const struct {
        const char *key;
        double *number;
    } keys[] = {{"seed=", &arguments.seed},     {"requests=", &arguments.requests},
                {"factor=", &arguments.factor}, {"above=", &arguments.above},
                {"share=", &arguments.share},   {"spread=", &arguments.spread}};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const size_t bytes = strlen(keys[i].key);

        if (strncmp(argument, keys[i].key, bytes) == 0) {
            *keys[i].number = strtod(argument + bytes, NULL);
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    struct cpt_path *path = cpt_path_new(NULL);
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];

    for (int i = 1; i < argc; i++) {
        if (!set(argv[i])) {
            (void)fprintf(stderr, "late_requests: argument %d is not known\n", i);
            return 2;
        }
    }
    if (block == NULL || path == NULL) {
        return 2;
    }
    (void)fwrite(header, 1, cpt_log_header(header), stdout);
    write_requests(block, path);
    write_block(block);
    cpt_path_free(path);
    cpt_log_block_free(block);
    return fflush(stdout) == 0 ? 0 : 1;
}
