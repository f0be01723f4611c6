/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_every.c - all requests traced so that a rule may keep the slow ones, against
 * none traced: CPU time and latencies of the demo and of the shop
 *
 *      bench_every [--json[=FILE]] [PAIRS [SET]]
 *
 * Of each set of services there are two, of processes that serve HTTP: the entry of one
 * has the rule "latency > T", T being about the 99th percentile, the other traces
 * nothing. They get the same open load (demo_load.h) in turn, for a block of time each:
 * in a pair of blocks request i of one has the same target and the same due time as
 * request i of the other. Which of the two is first is drawn.
 *
 * CPU time is that of all processes of the set, by the kernel's clock of each. The
 * results are ratios with a 95 % interval by a bootstrap: pairs of blocks are drawn
 * with replacement, since the requests of a block share their noise.
 *
 * The sets are demo and shop, which wait where real services compute; and computing,
 * the demo whose components compute for as long. What tracing costs is the same in
 * demo and computing; what it is compared with is not.
 *
 *      bench_every count WAY COUNT
 *
 * serves requests of a service and its callee in one process (every_count.c), for
 * callgrind.
 */
#include "tests/bench/bench.h"
#include "tests/bench/every_count.h"

#include "tool/demo/demo_load.h"
#include "tool/demo/demo_process.h"
#include "tool/demo/demo_services.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PAIRS_DEFAULT = 40,
    PAIRS_MAX = 1000,
    BLOCK_MS = 1000,
    REST_MS = 60, /* after a block, for what still runs of it */
    BLOCK_REQUESTS_MAX = 1000,
    DRAWS = 2000,
    SERVICES_MAX = 4,
    WORDS_MAX = 16,
    TEXT_BYTES = 512
};

enum { UNTRACED, TRACED, WAYS };

/* --- The services --- */

/* A service of a set; those that it calls stand before it. */
struct member {
    const char *program;
    const char *callees; /* letters of the demo's; NULL: of the shop */
};

struct set {
    const char *name;
    const char *title;
    unsigned rate; /* requests a second */
    bool computes;
    struct member members[SERVICES_MAX]; /* the entry is the last one */
};

static const struct set sets[] = {
    {.name = "demo",
     .title = "The demo, whose components sleep",
     .rate = 60,
     .members = {{"figure1_c", ""}, {"figure1_b", "c"}, {"figure1_a", "bc"}}},
    {.name = "computing",
     .title = "The demo, whose components compute",
     .rate = 6,
     .computes = true,
     .members = {{"figure1_c", ""}, {"figure1_b", "c"}, {"figure1_a", "bc"}}},
    {.name = "shop",
     .title = "The shop, whose services wait",
     .rate = 60,
     .members = {{"shop_catalogue", NULL},
                 {"shop_price", NULL},
                 {"shop_stock", NULL},
                 {"shop_front", NULL}}},
};
enum { SETS = sizeof sets / sizeof sets[0] };

/* The services of a set, once. */
struct group {
    const struct set *set;
    struct cpti_demo_process processes[SERVICES_MAX];
    clockid_t clocks[SERVICES_MAX]; /* CPU time of each */
    unsigned ports[SERVICES_MAX];
    size_t count;
    char folder[64]; /* of the settings and the log */
};

/* A command line. */
struct line {
    const char *words[WORDS_MAX + 1];
    char texts[WORDS_MAX][TEXT_BYTES];
    size_t count;
};

static __attribute__((format(printf, 2, 3))) void add(struct line *line,
                                                      const char *format, ...)
{
    va_list arguments;

    if (line->count < WORDS_MAX) {
        va_start(arguments, format);
        (void)vsnprintf(line->texts[line->count], TEXT_BYTES, format, arguments);
        va_end(arguments);
        line->words[line->count] = line->texts[line->count];
        line->count++;
    }
}

/* Writes the settings of the entry; it finds them within a second. */
static bool set_rule(const struct group *group, double above_ms)
{
    char path[TEXT_BYTES];
    char next[TEXT_BYTES];
    FILE *file = NULL;

    (void)snprintf(path, sizeof path, "%s/conf", group->folder);
    (void)snprintf(next, sizeof next, "%s/next", group->folder);
    file = fopen(next, "w");
    if (file == NULL) {
        return false;
    }
    (void)fprintf(file, "probability = 0\n");
    if (above_ms > 0) {
        (void)fprintf(file,
                      "rule slow = owner bench; until 2099-12-31; latency > %.0fus\n",
                      above_ms * 1e3);
    }
    return fclose(file) == 0 && rename(next, path) == 0;
}

/* Where the services that @index calls are. */
static void add_callees(const struct group *group, size_t index, bool is_entry,
                        struct line *line)
{
    static const char *const shop_names[] = {"catalogue", "price", "stock"};
    const char *callees = group->set->members[index].callees;

    for (size_t i = 0; i < index; i++) {
        if (callees != NULL && strchr(callees, 'c' - (int)i) != NULL) {
            add(line, "--%c", 'c' - (int)i);
            add(line, "http://127.0.0.1:%u", group->ports[i]);
        } else if (callees == NULL && is_entry) {
            add(line, "--to");
            add(line, "%s=http://127.0.0.1:%u", shop_names[i], group->ports[i]);
        }
    }
}

static bool start_member(struct group *group, size_t index, bool is_entry)
{
    const struct member *member = &group->set->members[index];
    const bool is_demo = member->callees != NULL;
    struct line line = {.count = 0};
    char tool[CPTI_SERVICE_PATH_BYTES];
    char said[CPTI_PROCESS_LINE_BYTES];
    const char *address = NULL;

    if (!cpti_tool_path(tool)) {
        return false;
    }
    *strrchr(tool, '/') = '\0';
    add(&line, "%.400s/examples/%s", tool, member->program);
    add_callees(group, index, is_entry, &line);
    if (!is_demo) {
        add(&line, "--listen");
        add(&line, "127.0.0.1:0");
    }
    if (group->set->computes) {
        add(&line, "--compute");
    }
    if (is_entry) {
        add(&line, "--settings");
        add(&line, "%s/conf", group->folder);
        add(&line, "--log");
        add(&line, is_demo ? "%s/log" : "%s", group->folder);
    }
    group->count = index + 1;
    if (cpti_process_start(&group->processes[index], member->program, line.words) !=
            0 ||
        cpti_process_line(&group->processes[index], 10000, said) != 0) {
        return false;
    }
    address = strstr(said, "127.0.0.1:"); /* "A http://127.0.0.1:80 …" */
    return address != NULL &&
           sscanf(address, "127.0.0.1:%5u", &group->ports[index]) == 1 &&
           clock_getcpuclockid(group->processes[index].pid, &group->clocks[index]) == 0;
}

static bool start(struct group *group, const struct set *set)
{
    size_t count = 0;

    memset(group, 0, sizeof *group);
    group->set = set;
    for (size_t i = 0; i < SERVICES_MAX; i++) {
        group->processes[i].output = -1;
        count += set->members[i].program != NULL;
    }
    (void)snprintf(group->folder, sizeof group->folder, "/tmp/bench_every.XXXXXX");
    if (mkdtemp(group->folder) == NULL || !set_rule(group, 0)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!start_member(group, i, i + 1 == count)) {
            (void)fprintf(stderr, "bench_every: %s does not start\n",
                          set->members[i].program);
            return false;
        }
    }
    return true;
}

static void end(struct group *group)
{
    const char *const words[] = {"rm", "-rf", group->folder, NULL};

    for (size_t i = group->count; i-- > 0;) {
        cpti_process_end(&group->processes[i], 8000);
    }
    if (group->folder[0] != '\0') {
        (void)cpti_process_run(words, NULL);
    }
}

static double cpu_ms(const struct group *group)
{
    double sum = 0;

    for (size_t i = 0; i < group->count; i++) {
        struct timespec now = {0, 0};

        (void)clock_gettime(group->clocks[i], &now);
        sum += (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
    }
    return sum;
}

/* --- The load --- */

/* Latencies in ms; 0: no reply. */
struct block {
    double latencies_ms[WAYS][BLOCK_REQUESTS_MAX];
    double cpu_ms[WAYS];
    size_t count;
};

struct run {
    struct group *groups;
    struct block *block;
    int way;
    size_t failed_count;
};

static void choose_target(void *context, uint64_t index,
                          char target[CPTI_LOAD_TARGET_BYTES])
{
    const struct run *run = context;

    if (run->groups[0].set->members[0].callees != NULL) {
        (void)snprintf(target, CPTI_LOAD_TARGET_BYTES,
                       "/?arm=control&region=%s&page=%s", index % 3 != 0 ? "eu" : "us",
                       index % 2 != 0 ? "home" : "search");
    } else { /* numbers that end with 0 or 9 are slow */
        (void)snprintf(target, CPTI_LOAD_TARGET_BYTES, "/page?%u",
                       (unsigned)(index / 8 * 10 + 1 + index % 8));
    }
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

static void run_block(struct run *run, int way, uint64_t seed)
{
    const struct group *group = &run->groups[way];
    const struct cpti_load load = {.port = (uint16_t)group->ports[group->count - 1],
                                   .rate = group->set->rate,
                                   .duration_ns = UINT64_C(1000000) * BLOCK_MS,
                                   .seed = seed,
                                   .target = choose_target,
                                   .answered = note_answer,
                                   .context = run};
    const double before_ms = cpu_ms(group);
    uint64_t count = 0;

    run->way = way;
    count = cpti_load_run(&load);
    cpti_stop_wait(REST_MS);
    run->block->cpu_ms[way] = cpu_ms(group) - before_ms;
    run->block->count = count < BLOCK_REQUESTS_MAX ? count : BLOCK_REQUESTS_MAX;
}

static size_t run_pairs(struct run *run, struct block *blocks, size_t pairs)
{
    uint64_t random = 7;

    for (size_t i = 0; i < pairs && !cpti_stop_asked(); i++) {
        const int first = (int)(cpti_random(&random) >> 63);

        run->block = &blocks[i];
        for (int k = 0; k < WAYS; k++) {
            run_block(run, first ^ k, i + 1);
        }
    }
    return run->failed_count;
}

/* --- The ratios --- */

struct sums {
    double cpu_ms[WAYS]; /* of a request */
    double mean_ms[WAYS];
    double p99_ms[WAYS];
};

/* Means and percentile over the pairs of the blocks in @chosen. */
static struct sums sum_up(const struct block *blocks, const size_t *chosen,
                          size_t pairs, double *scratch)
{
    struct sums sums = {{0}, {0}, {0}};

    for (int way = 0; way < WAYS; way++) {
        size_t count = 0;
        size_t request_count = 0;
        double total = 0;

        for (size_t i = 0; i < pairs; i++) {
            const struct block *block = &blocks[chosen[i]];

            sums.cpu_ms[way] += block->cpu_ms[way];
            request_count += block->count;
            for (size_t k = 0; k < block->count; k++) {
                if (block->latencies_ms[UNTRACED][k] > 0 &&
                    block->latencies_ms[TRACED][k] > 0) {
                    scratch[count] = block->latencies_ms[way][k];
                    total += scratch[count++];
                }
            }
        }
        if (count != 0) {
            sums.cpu_ms[way] /= (double)request_count;
            sums.mean_ms[way] = total / (double)count;
            sums.p99_ms[way] = bench_quantile(scratch, count, 0.99);
        }
    }
    return sums;
}

static void show(const char *name, const double values_ms[WAYS], double *ratios,
                 size_t runs)
{
    const struct bench_figure figure = {
        .name = name,
        .value = values_ms[TRACED],
        .unit = "ms",
        .baseline = "untraced",
        .ratio = values_ms[TRACED] / values_ms[UNTRACED],
        .ratio_low = bench_quantile(ratios, DRAWS, 0.025),
        .ratio_high = bench_quantile(ratios, DRAWS, 0.975),
        .runs = runs};

    bench_note(&figure);
    printf("    %+.2f %%, 95 %% interval %+.2f … %+.2f %%\n", (figure.ratio - 1) * 100,
           (figure.ratio_low - 1) * 100, (figure.ratio_high - 1) * 100);
}

static void compare(const struct set *set, const struct block *blocks, size_t pairs,
                    double *scratch)
{
    static double ratios[3][DRAWS];
    size_t chosen[PAIRS_MAX];
    uint64_t random = 1;
    struct sums all;

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
        ratios[0][draw] = drawn.cpu_ms[TRACED] / drawn.cpu_ms[UNTRACED];
        ratios[1][draw] = drawn.mean_ms[TRACED] / drawn.mean_ms[UNTRACED];
        ratios[2][draw] = drawn.p99_ms[TRACED] / drawn.p99_ms[UNTRACED];
    }
    bench_title(set->title);
    show("CPU time of a request, all services", all.cpu_ms, ratios[0], pairs);
    show("mean latency", all.mean_ms, ratios[1], pairs);
    show("99th percentile", all.p99_ms, ratios[2], pairs);
    printf("    a request costs %.1f us of CPU more\n",
           (all.cpu_ms[TRACED] - all.cpu_ms[UNTRACED]) * 1e3);
}

/* Warms up, and gives the traced entry its rule: what one of a hundred exceeds. */
static bool prepare(struct run *run, struct block *block, double *scratch)
{
    const size_t one = 0;

    run->block = block;
    for (int way = 0; way < WAYS; way++) {
        run_block(run, way, 1);
    }
    if (!set_rule(&run->groups[TRACED],
                  sum_up(block, &one, 1, scratch).p99_ms[UNTRACED])) {
        return false;
    }
    cpti_stop_wait(2500); /* the settings are read once a second */
    for (int way = 0; way < WAYS; way++) {
        run_block(run, way, 2);
    }
    memset(block, 0, sizeof *block);
    return true;
}

static bool measure(const struct set *set, size_t pairs)
{
    static struct group groups[WAYS];
    struct run run = {.groups = groups};
    struct block *blocks = calloc(pairs, sizeof *blocks);
    double *scratch = calloc(pairs * BLOCK_REQUESTS_MAX, sizeof *scratch);
    bool is_good = blocks != NULL && scratch != NULL;

    for (int way = 0; way < WAYS; way++) {
        is_good = start(&groups[way], set) && is_good;
    }
    if (is_good && prepare(&run, &blocks[0], scratch)) {
        const size_t failed_count = run_pairs(&run, blocks, pairs);

        if (failed_count != 0) {
            printf("%zu requests failed and do not count\n", failed_count);
        }
        if (!cpti_stop_asked()) {
            compare(set, blocks, pairs, scratch);
        }
    }
    for (int way = 0; way < WAYS; way++) {
        end(&groups[way]);
    }
    free(blocks);
    free(scratch);
    return is_good;
}

int main(int argument_count, char **arguments)
{
    size_t pairs = PAIRS_DEFAULT;
    bool is_good = true;

    bench_begin("bench_every", &argument_count, arguments);
    if (argument_count == 4 && strcmp(arguments[1], "count") == 0) {
        return every_count(arguments[2], strtoul(arguments[3], NULL, 10));
    }
    if (argument_count > 1) {
        pairs = strtoul(arguments[1], NULL, 10);
        pairs = pairs < 1 ? 1 : pairs > PAIRS_MAX ? PAIRS_MAX : pairs;
    }
    cpti_stop_catch();
    for (size_t i = 0; i < SETS && !cpti_stop_asked(); i++) {
        if (argument_count < 3 || strcmp(arguments[2], sets[i].name) == 0) {
            is_good = measure(&sets[i], pairs) && is_good;
        }
    }
    return bench_end() != 0 || !is_good;
}
