/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_demo.c - the services of the demo, all requests traced against none
 *
 *      bench_demo [--json[=FILE]] [RATE [PAIRS]]
 *
 * It starts two sets of the demo's three services, each a process that serves HTTP. One
 * set traces every request and logs its path, the other none. They get the same open
 * load (demo_load.h) in turn, for a block of time each: in a pair of blocks request i
 * of one has the same page and the same due time as request i of the other. The order
 * of the two alternates from pair to pair, and nothing else runs meanwhile.
 *
 * The result is the difference of the mean and of the 99th percentile of all latencies,
 * with a 95 % interval by a bootstrap: whole blocks are drawn with replacement, since
 * the requests of one block share their noise, and the interval holds 95 % of the
 * differences.
 */
#include "tests/bench/bench.h"

#include "cpt/cli/demo/demo_load.h"
#include "cpt/cli/demo/demo_process.h"
#include "cpt/cli/demo/demo_services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RATE_DEFAULT = 100, /* requests a second */
    PAIRS_DEFAULT = 20,
    PAIRS_MAX = 400,
    BLOCK_MS = 1500,
    BLOCK_REQUESTS_MAX = 4000,
    DRAWS = 1000
};

enum { UNTRACED, TRACED, WAYS };

/* Latencies in ms; 0: no reply. */
struct block {
    double latencies_ms[WAYS][BLOCK_REQUESTS_MAX];
    size_t count;
};

struct run {
    struct block *block;
    int way;
    size_t failed_count;
};

static void choose_target(void *context, uint64_t index,
                          char target[CPTI_LOAD_TARGET_BYTES])
{
    (void)context;
    (void)snprintf(target, CPTI_LOAD_TARGET_BYTES, "/?arm=control&region=%s&page=%s",
                   index % 3 != 0 ? "eu" : "us", index % 2 != 0 ? "home" : "search");
}

static void note_answer(void *context, uint64_t index, unsigned http_status,
                        uint64_t latency_ns)
{
    struct run *run = context;

    if (http_status != 200) {
        run->failed_count++;
    } else if (index < BLOCK_REQUESTS_MAX) {
        run->block->latencies_ms[run->way][index] = (double)latency_ns / 1e6;
    }
}

static void run_block(struct cpti_services *services, struct run *run, unsigned rate,
                      uint64_t seed)
{
    const struct cpti_load load = {.port = services[run->way].ports[0],
                                   .rate = rate,
                                   .duration_ns = UINT64_C(1000000) * BLOCK_MS,
                                   .seed = seed,
                                   .target = choose_target,
                                   .answered = note_answer,
                                   .context = run};
    const uint64_t count = cpti_load_run(&load);

    run->block->count = count < BLOCK_REQUESTS_MAX ? count : BLOCK_REQUESTS_MAX;
}

static size_t run_pairs(struct cpti_services *services, struct block *blocks,
                        size_t pairs, unsigned rate)
{
    struct run run = {0};

    for (int way = 0; way < WAYS; way++) { /* warms up */
        run.block = &blocks[0];
        run.way = way;
        run_block(services, &run, rate, 1);
    }
    for (size_t i = 0; i < pairs && !cpti_stop_asked(); i++) {
        memset(&blocks[i], 0, sizeof blocks[i]);
        for (int k = 0; k < WAYS; k++) {
            run.block = &blocks[i];
            run.way = (int)(i % 2) ^ k;
            run_block(services, &run, rate, i + 1);
        }
    }
    return run.failed_count;
}

/* --- The differences --- */

struct sums {
    double mean_ms[WAYS];
    double p99_ms[WAYS];
};

/* Mean and percentile over the pairs of the blocks in @chosen. */
static struct sums sum_up(const struct block *blocks, const size_t *chosen,
                          size_t pairs, double *scratch)
{
    struct sums sums = {{0}, {0}};

    for (int way = 0; way < WAYS; way++) {
        size_t count = 0;
        double total = 0;

        for (size_t i = 0; i < pairs; i++) {
            const struct block *block = &blocks[chosen[i]];

            for (size_t k = 0; k < block->count; k++) {
                if (block->latencies_ms[UNTRACED][k] > 0 &&
                    block->latencies_ms[TRACED][k] > 0) {
                    scratch[count] = block->latencies_ms[way][k];
                    total += scratch[count++];
                }
            }
        }
        if (count != 0) {
            sums.mean_ms[way] = total / (double)count;
            sums.p99_ms[way] = bench_quantile(scratch, count, 0.99);
        }
    }
    return sums;
}

static void show(const char *name, const double values_ms[WAYS], double *ratios,
                 size_t count, size_t runs)
{
    const struct bench_figure figure = {
        .name = name,
        .value = values_ms[TRACED],
        .unit = "ms",
        .baseline = "untraced",
        .ratio = values_ms[TRACED] / values_ms[UNTRACED],
        .ratio_low = bench_quantile(ratios, count, 0.025),
        .ratio_high = bench_quantile(ratios, count, 0.975),
        .runs = runs};

    bench_note(&figure);
    printf("    %+.2f %%, 95 %% interval %+.2f … %+.2f %%\n", (figure.ratio - 1) * 100,
           (figure.ratio_low - 1) * 100, (figure.ratio_high - 1) * 100);
}

static void compare(const struct block *blocks, size_t pairs, unsigned rate)
{
    static double means[DRAWS];
    static double p99s[DRAWS];
    double *scratch = calloc(pairs * BLOCK_REQUESTS_MAX, sizeof *scratch);
    size_t chosen[PAIRS_MAX];
    uint64_t random = 1;
    struct sums all;
    static char title[64]; /* the notes keep the pointer */

    if (scratch == NULL) {
        return;
    }
    for (size_t i = 0; i < pairs; i++) {
        chosen[i] = i;
    }
    all = sum_up(blocks, chosen, pairs, scratch);
    for (size_t draw = 0; draw < DRAWS; draw++) {
        struct sums drawn;

        for (size_t i = 0; i < pairs; i++) {
            chosen[i] = (size_t)(cpti_random(&random) % pairs);
        }
        drawn = sum_up(blocks, chosen, pairs, scratch);
        means[draw] = drawn.mean_ms[TRACED] / drawn.mean_ms[UNTRACED];
        p99s[draw] = drawn.p99_ms[TRACED] / drawn.p99_ms[UNTRACED];
    }
    (void)snprintf(title, sizeof title, "The demo, %u requests a second", rate);
    bench_title(title);
    show("mean, all traced", all.mean_ms, means, DRAWS, pairs);
    show("99th percentile, all traced", all.p99_ms, p99s, DRAWS, pairs);
    free(scratch);
}

/* --- The services --- */

static int start(struct cpti_services *services, char log_files[WAYS][32])
{
    int status = 0;

    for (int i = 0; i < WAYS * CPTI_SERVICE_COUNT; i++) {
        services[i / CPTI_SERVICE_COUNT].processes[i % CPTI_SERVICE_COUNT].output = -1;
    }
    for (int way = 0; way < WAYS; way++) {
        const struct cpti_services_options options = {
            .log_file = log_files[way], .probability = way == TRACED ? "1" : "0"};
        const int descriptor = mkstemp(log_files[way]);

        if (descriptor >= 0) {
            (void)close(descriptor);
        }
        status = status == 0 ? cpti_services_start(&services[way], &options) : status;
    }
    return status;
}

static unsigned number_of(const char *text, unsigned most)
{
    const unsigned long number = strtoul(text, NULL, 10);

    return number < 1 ? 1 : number > most ? most : (unsigned)number;
}

int main(int argument_count, char **arguments)
{
    static struct cpti_services services[WAYS];
    char log_files[WAYS][32] = {"/tmp/bench_demo.XXXXXX", "/tmp/bench_demo.XXXXXX"};
    unsigned rate = RATE_DEFAULT;
    size_t pairs = PAIRS_DEFAULT;
    struct block *blocks = NULL;
    int status = 0;

    bench_begin("bench_demo", &argument_count, arguments);
    if (argument_count > 1) {
        rate = number_of(arguments[1], 2000);
    }
    if (argument_count > 2) {
        pairs = number_of(arguments[2], PAIRS_MAX);
    }
    cpti_stop_catch();
    blocks = calloc(pairs, sizeof *blocks);
    status = blocks != NULL ? start(services, log_files) : 1;
    if (status == 0) {
        const size_t failed_count = run_pairs(services, blocks, pairs, rate);

        if (failed_count != 0) {
            printf("%zu requests failed and do not count\n", failed_count);
        }
        compare(blocks, pairs, rate);
    }
    for (int way = 0; way < WAYS; way++) {
        cpti_services_end(&services[way]);
        (void)unlink(log_files[way]);
    }
    free(blocks);
    return bench_end() != 0 || status != 0;
}
