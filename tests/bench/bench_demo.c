/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_demo.c - the services of the demo, traced at several rates against untraced
 *
 *      bench_demo [--json[=FILE]] [sweep] [RATE [ROUNDS]]
 *
 * It starts a set of the demo's three services, each a process that serves HTTP, for
 * each way. One set traces no request; another every request, and logs its path. With
 * `sweep` there are sets for 1/2, 1/4, 1/8, 1/16 and 1/1024, too. They get the same
 * open load (demo_load.h) in turn, for a block of time each: in a round of blocks
 * request i of one has the same page and the same due time as request i of the others.
 * Their order rotates from round to round, and nothing else runs meanwhile.
 *
 * The result is the difference of the mean and of the 99th percentile of all latencies
 * to untraced, with a 95 % interval by a bootstrap: whole rounds are drawn with
 * replacement, since the requests of one block share their noise, and the interval
 * holds 95 % of the differences. A sweep ends with its rows in Markdown.
 */
#include "tests/bench/bench.h"

#include "tool/demo/demo_load.h"
#include "tool/demo/demo_process.h"
#include "tool/demo/demo_services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RATE_DEFAULT = 100, /* requests a second */
    ROUNDS_DEFAULT = 20,
    SWEEP_ROUNDS_DEFAULT = 14,
    ROUNDS_MAX = 400,
    BLOCK_MS = 1500,
    BLOCK_REQUESTS_MAX = 4000,
    DRAWS = 1000
};

/* A set of services; the first is the baseline. */
struct way {
    const char *probability;
    const char *name;
};

static const struct way ways[] = {
    {"0", "untraced"},         {"1", "1/1"},     {"0.5", "1/2"},
    {"0.25", "1/4"},           {"0.125", "1/8"}, {"0.0625", "1/16"},
    {"0.0009765625", "1/1024"}};

enum { WAYS_MAX = sizeof ways / sizeof ways[0] };

/* Latencies of a round in ms; 0: no reply. */
struct block {
    double latencies_ms[WAYS_MAX][BLOCK_REQUESTS_MAX];
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

static size_t run_rounds(struct cpti_services *services, size_t way_count,
                         struct block *blocks, size_t rounds, unsigned rate)
{
    struct run run = {0};

    for (size_t way = 0; way < way_count; way++) { /* warms up */
        run.block = &blocks[0];
        run.way = (int)way;
        run_block(services, &run, rate, 1);
    }
    for (size_t i = 0; i < rounds && !cpti_stop_asked(); i++) {
        memset(&blocks[i], 0, sizeof blocks[i]);
        for (size_t k = 0; k < way_count; k++) {
            run.block = &blocks[i];
            run.way = (int)((i + k) % way_count);
            run_block(services, &run, rate, i + 1);
        }
    }
    return run.failed_count;
}

/* --- The differences --- */

/* What was measured. */
struct result {
    const struct block *blocks;
    size_t rounds;
    double *scratch;
};

/* Of the baseline and of another way. */
struct sums {
    double mean_ms[2];
    double p99_ms[2];
};

/* Mean and percentile of @way over the rounds in @chosen, and of the baseline. */
static struct sums sum_up(const struct result *result, const size_t *chosen, int way)
{
    struct sums sums = {{0}, {0}};

    for (int side = 0; side < 2; side++) {
        size_t count = 0;
        double total = 0;

        for (size_t i = 0; i < result->rounds; i++) {
            const struct block *block = &result->blocks[chosen[i]];

            for (size_t k = 0; k < block->count; k++) {
                if (block->latencies_ms[0][k] > 0 && block->latencies_ms[way][k] > 0) {
                    result->scratch[count] =
                        block->latencies_ms[side == 0 ? 0 : way][k];
                    total += result->scratch[count++];
                }
            }
        }
        if (count != 0) {
            sums.mean_ms[side] = total / (double)count;
            sums.p99_ms[side] = bench_quantile(result->scratch, count, 0.99);
        }
    }
    return sums;
}

/* The difference in per cent, and its interval. */
struct difference {
    double percent;
    double low;
    double high;
};

static struct difference show(const char *name, const double values_ms[2],
                              double ratios[DRAWS], size_t runs)
{
    const struct bench_figure figure = {
        .name = name,
        .value = values_ms[1],
        .unit = "ms",
        .baseline = "untraced",
        .ratio = values_ms[1] / values_ms[0],
        .ratio_low = bench_quantile(ratios, DRAWS, 0.025),
        .ratio_high = bench_quantile(ratios, DRAWS, 0.975),
        .runs = runs};
    const struct difference difference = {(figure.ratio - 1) * 100,
                                          (figure.ratio_low - 1) * 100,
                                          (figure.ratio_high - 1) * 100};

    bench_note(&figure);
    printf("    %+.2f %%, 95 %% interval %+.2f … %+.2f %%\n", difference.percent,
           difference.low, difference.high);
    return difference;
}

/* Writes the row of @way in Markdown to @row. */
static void compare(const struct result *result, int way, char row[256])
{
    static double means[DRAWS];
    static double p99s[DRAWS];
    static char names[WAYS_MAX][2][64]; /* the notes keep the pointers */
    size_t chosen[ROUNDS_MAX];
    uint64_t random = 1;
    struct sums all;
    struct difference mean;
    struct difference p99;

    for (size_t i = 0; i < result->rounds; i++) {
        chosen[i] = i;
    }
    all = sum_up(result, chosen, way);
    for (size_t draw = 0; draw < DRAWS; draw++) {
        struct sums drawn;

        for (size_t i = 0; i < result->rounds; i++) {
            chosen[i] = (size_t)(cpti_random(&random) % result->rounds);
        }
        drawn = sum_up(result, chosen, way);
        means[draw] = drawn.mean_ms[1] / drawn.mean_ms[0];
        p99s[draw] = drawn.p99_ms[1] / drawn.p99_ms[0];
    }
    (void)snprintf(names[way][0], sizeof names[way][0], "mean, traced %s",
                   ways[way].name);
    (void)snprintf(names[way][1], sizeof names[way][1], "99th percentile, traced %s",
                   ways[way].name);
    mean = show(names[way][0], all.mean_ms, means, result->rounds);
    p99 = show(names[way][1], all.p99_ms, p99s, result->rounds);
    (void)snprintf(row, 256,
                   "| %s | %+.2f %% (%+.2f … %+.2f) | %+.2f %% (%+.2f … %+.2f) |",
                   ways[way].name, mean.percent, mean.low, mean.high, p99.percent,
                   p99.low, p99.high);
}

static void compare_all(const struct block *blocks, size_t way_count, size_t rounds,
                        unsigned rate)
{
    static char title[64];
    char rows[WAYS_MAX][256];
    const struct result result = {
        blocks, rounds, calloc(rounds * BLOCK_REQUESTS_MAX, sizeof *result.scratch)};

    if (result.scratch == NULL) {
        return;
    }
    (void)snprintf(title, sizeof title, "The demo, %u requests a second", rate);
    bench_title(title);
    for (size_t way = 1; way < way_count; way++) {
        compare(&result, (int)way, rows[way]);
    }
    printf("\n| traced | mean | 99th percentile |\n| --- | --- | --- |\n");
    for (size_t way = 1; way < way_count; way++) {
        printf("%s\n", rows[way]);
    }
    free(result.scratch);
}

/* --- The services --- */

static int start(struct cpti_services *services, size_t way_count,
                 char log_files[WAYS_MAX][32])
{
    int status = 0;

    for (int i = 0; i < WAYS_MAX * CPTI_SERVICE_COUNT; i++) {
        services[i / CPTI_SERVICE_COUNT].processes[i % CPTI_SERVICE_COUNT].output = -1;
    }
    for (size_t way = 0; way < way_count; way++) {
        const struct cpti_services_options options = {
            .log_file = log_files[way], .probability = ways[way].probability};
        int descriptor = -1;

        (void)snprintf(log_files[way], 32, "/tmp/bench_demo.XXXXXX");
        descriptor = mkstemp(log_files[way]);

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
    static struct cpti_services services[WAYS_MAX];
    static char log_files[WAYS_MAX][32];
    unsigned rate = RATE_DEFAULT;
    size_t rounds = ROUNDS_DEFAULT;
    size_t way_count = 2;
    struct block *blocks = NULL;
    int status = 0;

    bench_begin("bench_demo", &argument_count, arguments);
    if (argument_count > 1 && strcmp(arguments[1], "sweep") == 0) {
        way_count = WAYS_MAX;
        rounds = SWEEP_ROUNDS_DEFAULT;
        argument_count--;
        arguments++;
    }
    if (argument_count > 1) {
        rate = number_of(arguments[1], 2000);
    }
    if (argument_count > 2) {
        rounds = number_of(arguments[2], ROUNDS_MAX);
    }
    cpti_stop_catch();
    blocks = calloc(rounds, sizeof *blocks);
    status = blocks != NULL ? start(services, way_count, log_files) : 1;
    if (status == 0) {
        const size_t failed_count =
            run_rounds(services, way_count, blocks, rounds, rate);

        if (failed_count != 0) {
            printf("%zu requests failed and do not count\n", failed_count);
        }
        compare_all(blocks, way_count, rounds, rate);
    }
    for (size_t way = 0; way < way_count; way++) {
        cpti_services_end(&services[way]);
        (void)unlink(log_files[way]);
    }
    free(blocks);
    return bench_end() != 0 || status != 0;
}
