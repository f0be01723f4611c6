/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_demo.c - cpt demo: three services, requests, and what made them slow
 *
 *      browsers --> A{A1,A2} --> B{B1,B2} --> C{C1,C2}      load, two arms
 *                      |
 *                  demo-out/paths.cptlog  --> cpt report    the average critical path
 *                      |                  --> cpt diff      what the treatment changed
 *                      '--> control.pb.gz, treatment.pb.gz  the same in pprof
 *
 * One component, chosen by the seed, takes longer in the treatment arm. Only
 * demo-out/truth.json says which. The analysis runs the commands of the tool, as a
 * person would, on the log alone.
 */
#include "tool/commands/absent.h"
#include "tool/base/command.h"
#include "tool/demo/demo_load.h"
#include "tool/demo/demo_services.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/folds/views.h"
#include "tool/print/by_print.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SLOWED_US = 4000,
    RATE_PER_SECOND = 40,
    DURATION_DEFAULT_S = 15,
    DURATION_MAX_S = 3600,
    PATH_BYTES = 1024,
    VALUE_BYTES = 8192,
    FLUSH_MS = 600,        /* the services' logs are flushed by then */
    ROUNDS_MAX = 4,        /* of load, while it is too noisy to tell */
    REQUESTS_MAX = 2000000 /* whose latencies are kept */
};

/* The largest sigma of --jitter. */
#define JITTER_MAX 2.0

/* A difference with a larger q is not called one. */
#define VERDICT_Q 0.01

/* The kinds of request. Each block of requests has every kind once, so that the two
 * arms differ in nothing else. */
enum { ARMS = 2, PAGES = 2, REGIONS = 3, BLOCK = ARMS * PAGES * REGIONS };

struct demo {
    const char *directory;
    char tool[CPTI_SERVICE_PATH_BYTES];  /* path of the program */
    char shown[CPTI_SERVICE_PATH_BYTES]; /* the same as a person types it */
    char log_file[PATH_BYTES];
    char graph_files[CPTI_SERVICE_COUNT][PATH_BYTES]; /* empty: no graph is kept */
    char control_file[PATH_BYTES];
    char treatment_file[PATH_BYTES];
    char diff_file[PATH_BYTES];
    char truth_file[PATH_BYTES];
    uint64_t seed;
    uint64_t duration_ns;
    const char *jitter; /* as text; NULL: times are fixed */
    uint64_t round;     /* of load */
    uint16_t port;
    const struct cpti_component *slowed;
    struct cpti_services services;
    uint64_t *latencies_ns; /* of answered requests */
    size_t latency_count;
    size_t latency_capacity;
    uint64_t failed_count;
    uint64_t request_count;
    bool is_clear;                 /* the arms differ by more than noise, most … */
    char verdict[CPTI_TEXT_BYTES]; /* … in this component */
    double verdict_ns;
    double verdict_q;
};

/* --- Printing --- */

static void heading(const char *text)
{
    (void)printf("\n== %s\n", text);
}

/* Prints a command of the tool as a person types it, and runs it: "report", FILE … */
static int run_tool(const struct demo *demo, const char *const *arguments,
                    const char *output)
{
    const char *words[16] = {demo->tool};
    int status;

    (void)printf("$ %s", demo->shown);
    for (size_t i = 0; i + 2 < sizeof words / sizeof words[0] && arguments[i] != NULL;
         i++) {
        words[i + 1] = arguments[i];
        (void)printf(strpbrk(arguments[i], " ;&") != NULL ? " '%s'" : " %s",
                     arguments[i]);
    }
    (void)printf(output != NULL ? " > %s\n" : "\n", output);
    status = cpti_process_run(words, output);
    if (status != 0 && !cpti_stop_asked()) {
        return cpti_failed("cpt %s ended with status %d", arguments[0], status);
    }
    return status == 0 ? CPTI_EXIT_DONE : CPTI_EXIT_FAILED;
}

/* --- 1: single requests --- */

/* Requests @target and prints the critical path in the header of the reply. */
static int show_request(struct demo *demo, const char *target, const char *what)
{
    const uint16_t port = demo->services.ports[0];
    static char reply[CPTI_LOAD_REPLY_BYTES];
    char value[VALUE_BYTES];
    const char *const words[] = {demo->tool, "metadata", value, NULL};
    const char *quote = strchr(target, '?') != NULL ? "'" : "";
    unsigned http_status;

    (void)printf("\n%s\n$ curl -si -H 'critical-path: 1;forced' "
                 "%shttp://127.0.0.1:%u%s%s | %s metadata\n",
                 what, quote, (unsigned)port, target, quote, demo->shown);
    http_status = cpti_http_get(port, target, "critical-path: 1;forced", reply);
    if (cpti_stop_asked()) {
        return CPTI_EXIT_FAILED;
    }
    if (http_status != 200 ||
        !cpti_http_header(reply, "critical-path-bin", value, sizeof value)) {
        return cpti_failed("service A answered %u without a critical path",
                           http_status);
    }
    return cpti_process_run(words, NULL) == 0 ? CPTI_EXIT_DONE : CPTI_EXIT_FAILED;
}

static int show_requests(struct demo *demo)
{
    static const struct {
        const char *target;
        const char *what;
    } requests[] = {
        {"/",
         "A1 calls A2, B1 and B2 at once. B1 takes longest and is on the path; the "
         "others\nare not, since A1 did not wait for them."},
        {"/overlap",
         "A1 calls B1 and computes until B1 answers. It had to wait in the end, so "
         "all of\nB1 is on the path, and what A1 did meanwhile is not."},
        {"/repeat", "A2 calls C1 200 times at once. One call is slow, and it alone is "
                    "on the path."},
        {"/repeat?how=serial", "A2 calls C1 200 times, one after the other. All are on "
                               "the path: too many for a "
                               "header,\nwhich has the sum of each stack instead."},
    };
    int status = CPTI_EXIT_DONE;

    heading("1. One request: its critical path comes back with the answer");
    for (size_t i = 0;
         i < sizeof requests / sizeof requests[0] && status == CPTI_EXIT_DONE; i++) {
        status = show_request(demo, requests[i].target, requests[i].what);
    }
    return status;
}

/* --- 2: load --- */

static void next_target(void *context, uint64_t index,
                        char target[CPTI_LOAD_TARGET_BYTES])
{
    static const char *const arms[ARMS] = {"control", "treatment"};
    static const char *const pages[PAGES] = {"home", "search"};
    static const char *const regions[REGIONS] = {"eu", "us", "asia"};
    const struct demo *demo = context;
    uint64_t random = demo->seed ^ (index / BLOCK * 0x2545f4914f6cdd1du);
    unsigned order[BLOCK] = {0};
    unsigned chosen;
    int bytes;

    for (unsigned i = 0; i < BLOCK; i++) {
        const unsigned place = (unsigned)(cpti_random(&random) % (i + 1));

        order[i] = order[place];
        order[place] = i;
    }
    chosen = order[index % BLOCK];
    bytes = snprintf(target, CPTI_LOAD_TARGET_BYTES, "/?arm=%s&page=%s&region=%s",
                     arms[chosen % ARMS], pages[chosen / ARMS % PAGES],
                     regions[chosen / ARMS / PAGES]);
    if (demo->jitter != NULL) {
        random = demo->seed + (demo->round << 32) + index;
        (void)snprintf(target + bytes, CPTI_LOAD_TARGET_BYTES - (size_t)bytes,
                       "&n=%llu", (unsigned long long)cpti_random(&random));
    }
}

static void note_answer(void *context, uint64_t index, unsigned http_status,
                        uint64_t latency_ns)
{
    struct demo *demo = context;

    if (http_status != 200) {
        demo->failed_count++;
    } else if (demo->latency_count < demo->latency_capacity) {
        demo->latencies_ns[demo->latency_count++] = latency_ns;
    }
    if (index % 20 == 0 && isatty(STDERR_FILENO)) {
        (void)fprintf(stderr, "\rcpt: %llu requests", (unsigned long long)index);
    }
}

static int by_size(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static void print_latencies(struct demo *demo)
{
    const uint64_t *sorted = demo->latencies_ns;
    const size_t count = demo->latency_count;
    const size_t middle = count / 2;
    const size_t slow = count * 99 / 100;
    double sum = 0;

    (void)printf("%llu requests, %llu of them failed",
                 (unsigned long long)demo->request_count,
                 (unsigned long long)demo->failed_count);
    if (count > 0) {
        qsort(demo->latencies_ns, count, sizeof demo->latencies_ns[0], by_size);
        for (size_t i = 0; i < count; i++) {
            sum += (double)sorted[i];
        }
        (void)printf("; latency in the browser, from when the request was due:\n"
                     "mean %.3f ms, p50 %.3f ms, p99 %.3f ms",
                     sum / (double)count / 1e6, (double)sorted[middle] / 1e6,
                     (double)sorted[slow] / 1e6);
    }
    (void)printf("\n");
}

/* One round of requests. */
static int load_once(struct demo *demo, uint64_t round)
{
    const struct cpti_load load = {
        .port = demo->services.ports[0],
        .rate = RATE_PER_SECOND,
        .duration_ns = demo->duration_ns,
        .seed = demo->seed + round,
        .target = next_target,
        .answered = note_answer,
        .context = demo,
    };

    demo->round = round;
    (void)fprintf(stderr, "cpt: %.0f s of load, %d requests a second\n",
                  (double)demo->duration_ns / 1e9, RATE_PER_SECOND);
    demo->request_count += cpti_load_run(&load);
    if (isatty(STDERR_FILENO)) {
        (void)fprintf(stderr, "\r");
    }
    if (cpti_stop_asked()) {
        return CPTI_EXIT_FAILED;
    }
    cpti_stop_wait(FLUSH_MS);
    return demo->failed_count < demo->request_count
               ? CPTI_EXIT_DONE
               : cpti_failed("no request was answered");
}

/* --- Is the difference more than noise? --- */

/* Finds the component that became slower by more than noise, and by most. Queues are no
 * components: they follow. */
static void take_verdict(struct demo *demo, const struct cpt_diff *diff)
{
    demo->is_clear = false;
    for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        if (cpt_tree_kind(cpt_diff_tree(diff), row->node) == CPT_KIND_WORK &&
            row->q_value < VERDICT_Q && !row->is_rare && row->self.delta_ns > 0 &&
            (!demo->is_clear || row->self.delta_ns > demo->verdict_ns)) {
            demo->is_clear = true;
            demo->verdict_ns = row->self.delta_ns;
            demo->verdict_q = row->q_value;
            cpti_by_text(cpt_diff_tree(diff), row->node, CPTI_BY_NAME, demo->verdict,
                         sizeof demo->verdict);
        }
    }
}

/* Compares the arms by the log, as 'cpt diff --by name' does. */
static int judge(struct demo *demo)
{
    static const char *const arms[ARMS] = {"arm=control", "arm=treatment"};
    const struct cpti_arguments none = {0};
    struct cpti_selection *selections = calloc(ARMS, sizeof *selections);
    struct cpti_gather gathers[ARMS] = {{0}};
    struct cpti_views views[ARMS] = {{{0}}};
    const char *const paths[] = {demo->log_file};
    struct cpt_diff *diff = NULL;
    bool is_usable = false;
    int status = selections != NULL ? CPTI_EXIT_DONE : cpti_failed("out of memory");

    for (size_t i = 0; i < ARMS && status == CPTI_EXIT_DONE; i++) {
        gathers[i].selection = &selections[i];
        status = cpti_selection_init(&selections[i], &none);
        status =
            CPTI_THEN(status, cpti_selection_add(&selections[i], "where", arms[i]));
        status = CPTI_THEN(status,
                           cpti_views_init(&views[i], 1U << CPTI_BY_NAME, &gathers[i]));
    }
    status = CPTI_THEN(status, cpti_gather(gathers, ARMS, paths, 1, false, &is_usable));
    if (is_usable) {
        diff = cpti_views_diff(gathers, views, CPTI_BY_NAME);
        status = diff != NULL ? status : CPTI_EXIT_FAILED;
    }
    if (diff != NULL) {
        take_verdict(demo, diff);
    }
    cpt_diff_free(diff);
    for (size_t i = 0; i < ARMS; i++) {
        cpti_views_deinit(&views[i]);
        cpt_tree_free(gathers[i].tree);
    }
    free(selections);
    return status;
}

/* Makes requests until the arms differ by more than noise; a busy machine may need
 * several rounds, and after the last one it is too noisy to tell. */
static int make_load(struct demo *demo)
{
    int status = CPTI_EXIT_DONE;

    heading("2. Many requests, half of them in arm=treatment, where one component is "
            "slower");
    demo->latency_capacity =
        (size_t)((double)demo->duration_ns / 1e9 * RATE_PER_SECOND * 2 * ROUNDS_MAX) +
        1000;
    if (demo->latency_capacity > REQUESTS_MAX) {
        demo->latency_capacity = REQUESTS_MAX;
    }
    demo->latencies_ns = calloc(demo->latency_capacity, sizeof demo->latencies_ns[0]);
    if (demo->latencies_ns == NULL) {
        return cpti_failed("out of memory");
    }
    for (uint64_t round = 0;
         round < ROUNDS_MAX && status == CPTI_EXIT_DONE && !demo->is_clear; round++) {
        if (round != 0) {
            (void)printf("Too noisy to tell what is slower, after %llu requests: once "
                         "more.\n",
                         (unsigned long long)demo->request_count);
            (void)fflush(stdout);
        }
        status = load_once(demo, round);
        status = CPTI_THEN(status, judge(demo));
    }
    print_latencies(demo);
    free(demo->latencies_ns);
    return status;
}

/* --- 3 to 5: analysis, on the log alone --- */

static int analyse_log(const struct demo *demo)
{
    int status;

    heading("3. The log: Σ segments = latency, for every request");
    status = run_tool(
        demo, (const char *const[]){"log", "--check", demo->log_file, NULL}, NULL);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    heading("4. The average critical path");
    return run_tool(demo, (const char *const[]){"report", demo->log_file, NULL}, NULL);
}

static int write_profile(const struct demo *demo, const char *where, const char *file)
{
    return run_tool(demo,
                    (const char *const[]){"pprof", demo->log_file, "--where", where,
                                          "--quiet", "--output", file, NULL},
                    NULL);
}

/* Writes the profiles, and runs go tool pprof on them if it is installed. */
static int show_profiles(const struct demo *demo)
{
    char base[PATH_BYTES + 16];
    const char *const words[] = {"go",
                                 "tool",
                                 "pprof",
                                 "-unit=ms",
                                 "-nodefraction=0",
                                 "-edgefraction=0",
                                 "-top",
                                 base,
                                 demo->treatment_file,
                                 NULL};
    int status;

    heading("5. The same as profiles");
    status = write_profile(demo, "arm=control", demo->control_file);
    status =
        CPTI_THEN(status, write_profile(demo, "arm=treatment", demo->treatment_file));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    (void)snprintf(base, sizeof base, "-diff_base=%s", demo->control_file);
    (void)printf("Look at them with\n"
                 "  go tool pprof -unit=ms -top %s\n"
                 "  go tool pprof -unit=ms -http=127.0.0.1: %s\n"
                 "  go tool pprof -unit=ms -nodefraction=0 -edgefraction=0 "
                 "-http=127.0.0.1: \\\n      %s %s\n"
                 "$ go tool pprof -unit=ms -nodefraction=0 -edgefraction=0 -top \\\n"
                 "      %s %s\n",
                 demo->control_file, demo->treatment_file, base, demo->treatment_file,
                 base, demo->treatment_file);
    if (cpti_process_run(words, NULL) != 0) {
        cpti_warn("go tool pprof did not run; Debian's package is golang-go");
    }
    return CPTI_EXIT_DONE;
}

static void print_verdict(const struct demo *demo)
{
    char ms[32];
    char q[32];

    if (!demo->is_clear) {
        (void)printf("\nToo noisy to tell: no component is slower with q below %g, "
                     "after %llu requests.\nThe machine is busy with other work; try "
                     "again later, or with a longer --duration.\n",
                     VERDICT_Q, (unsigned long long)demo->request_count);
        return;
    }
    (void)snprintf(q, sizeof q, demo->verdict_q < 0.001 ? "< 0.001" : "= %.3f",
                   demo->verdict_q);
    (void)printf("\nSlower: %s, by %s ms in the average request (q %s)\n",
                 demo->verdict, cpti_ms(demo->verdict_ns, ms), q);
}

static int show_diff(const struct demo *demo)
{
    const char *words[] = {"diff",        demo->log_file, "--base",
                           "arm=control", "--new",        "arm=treatment",
                           "--top",       "10",           NULL};
    int status;

    heading("6. What the treatment made slower");
    status = run_tool(demo, words, NULL);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    words[6] = "--json"; /* which prints all rows */
    words[7] = NULL;
    status = run_tool(demo, words, demo->diff_file);
    print_verdict(demo);
    return status;
}

static int show_gains(const struct demo *demo)
{
    const char *words[] = {"whatif", "--sweep", "1ms", demo->directory, NULL};

    if (demo->graph_files[0][0] == '\0') {
        return CPTI_EXIT_DONE;
    }
    heading("7. What would help");
    return run_tool(demo, words, NULL);
}

static int show_files(const struct demo *demo)
{
    (void)printf(
        "\nThe log is %s. The file %s,\n"
        "which nothing above has read, says which component was made slower.\n",
        demo->log_file, demo->truth_file);
    return CPTI_EXIT_DONE;
}

/* --- The demo as a whole --- */

static int write_truth(const struct demo *demo)
{
    FILE *file = fopen(demo->truth_file, "we");

    if (file == NULL) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(demo->truth_file)},
                              "%s", strerror(errno));
    }
    (void)fprintf(file, "{\"slowed\": \"%s\", \"added_ns\": %u000}\n",
                  demo->slowed->frame, (unsigned)SLOWED_US);
    return fclose(file) == 0
               ? CPTI_EXIT_DONE
               : cpti_failed_at((struct cpti_at){.file = cpti_quoted(demo->truth_file)},
                                "%s", strerror(errno));
}

/* Writes "directory/name" to @file, and removes the file of an earlier demo. */
static int name_file(const struct demo *demo, const char *name, char file[PATH_BYTES])
{
    if (snprintf(file, PATH_BYTES, "%s/%s", demo->directory, name) >= PATH_BYTES) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(demo->directory)},
                              "the name is too long");
    }
    if (unlink(file) != 0 && errno != ENOENT) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(file)}, "%s",
                              strerror(errno));
    }
    return CPTI_EXIT_DONE;
}

/* Those of an earlier run go in any case. */
static int name_graphs(struct demo *demo, bool keeps_graphs)
{
    static const char *const names[CPTI_SERVICE_COUNT] = {"A.cptgraph", "B.cptgraph",
                                                          "C.cptgraph"};
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < CPTI_SERVICE_COUNT && status == CPTI_EXIT_DONE; i++) {
        status = name_file(demo, names[i], demo->graph_files[i]);
        if (!keeps_graphs) {
            demo->graph_files[i][0] = '\0';
        }
    }
    return status;
}

static int name_files(struct demo *demo)
{
    if (mkdir(demo->directory, 0777) != 0 && errno != EEXIST) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(demo->directory)},
                              "%s", strerror(errno));
    }
    if (name_file(demo, "paths.cptlog", demo->log_file) != CPTI_EXIT_DONE ||
        name_file(demo, "control.pb.gz", demo->control_file) != CPTI_EXIT_DONE ||
        name_file(demo, "treatment.pb.gz", demo->treatment_file) != CPTI_EXIT_DONE ||
        name_file(demo, "diff.json", demo->diff_file) != CPTI_EXIT_DONE ||
        name_file(demo, "truth.json", demo->truth_file) != CPTI_EXIT_DONE) {
        return CPTI_EXIT_FAILED;
    }
    return CPTI_EXIT_DONE;
}

/* The tool as a person types it: by its path if below the current folder, else by its
 * name. */
static void name_tool(struct demo *demo)
{
    char folder[CPTI_SERVICE_PATH_BYTES];
    size_t bytes = 0;

    (void)snprintf(demo->shown, sizeof demo->shown, "cpt");
    if (getcwd(folder, sizeof folder) != NULL) {
        bytes = strlen(folder);
        if (strncmp(demo->tool, folder, bytes) == 0 && demo->tool[bytes] == '/') {
            (void)snprintf(demo->shown, sizeof demo->shown, "%s",
                           demo->tool + bytes + 1);
        }
    }
}

static void print_services(const struct demo *demo)
{
    static const char *const services[CPTI_SERVICE_COUNT] = {"A {A1, A2}", "B {B1, B2}",
                                                             "C {C1, C2}"};

    (void)printf("The services of the article's Figure 1; A logs to %s:\n",
                 demo->log_file);
    for (size_t i = 0; i < CPTI_SERVICE_COUNT; i++) {
        (void)printf("  %s  http://127.0.0.1:%u  pid %ld\n", services[i],
                     (unsigned)demo->services.ports[i],
                     (long)demo->services.processes[i].pid);
    }
}

static int start_services(struct demo *demo)
{
    struct cpti_services_options options = {
        .log_file = demo->log_file,
        .probability = "1",
        .slowed = demo->slowed,
        .slowed_us = SLOWED_US,
        .jitter = demo->jitter,
        .port = demo->port,
    };
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < CPTI_SERVICE_COUNT; i++) {
        options.graph_files[i] =
            demo->graph_files[i][0] != '\0' ? demo->graph_files[i] : NULL;
    }
    status = cpti_services_start(&demo->services, &options);
    if (status == CPTI_EXIT_DONE) {
        print_services(demo);
    }
    return status;
}

static int run_story(struct demo *demo)
{
    int (*const analyses[])(const struct demo *) = {analyse_log, show_profiles,
                                                    show_diff, show_gains, show_files};
    int status = start_services(demo);

    status = CPTI_THEN(status, show_requests(demo));
    status = CPTI_THEN(status, make_load(demo));
    cpti_services_end(&demo->services);
    for (size_t i = 0; i < sizeof analyses / sizeof analyses[0] &&
                       status == CPTI_EXIT_DONE && !cpti_stop_asked();
         i++) {
        status = analyses[i](demo);
    }
    return status;
}

/* --serve: starts the services, and prints how to call them. */
static int serve(struct demo *demo)
{
    const int status = start_services(demo);
    const unsigned port = demo->services.ports[0];

    if (status == CPTI_EXIT_DONE) {
        (void)printf("\nRequest a page with its critical path, and print the path:\n"
                     "  curl -si -H 'critical-path: 1;forced' http://127.0.0.1:%u/ "
                     "| %s metadata\n"
                     "Other pages: /overlap, /repeat, '/repeat?how=serial', "
                     "'/?page=search'; counters: /cpt/counters.\n"
                     "End: ^C\n",
                     port, demo->shown);
        (void)fflush(stdout);
        while (!cpti_stop_asked()) {
            cpti_stop_wait(1000);
        }
    }
    cpti_services_end(&demo->services);
    return status;
}

/* Reads "15s", "2m". enum cpti_exit. */
static int parse_duration(const char *text, uint64_t *duration_ns)
{
    char *end = NULL;
    double seconds = strtod(text, &end);

    if (strcmp(end, "m") == 0) {
        seconds *= 60;
    } else if (end == text || strcmp(end, "s") != 0) {
        return cpti_usage("'--duration %s' needs a number and s or m: 15s",
                          cpti_quoted(text));
    }
    if (!(seconds >= 1 && seconds <= DURATION_MAX_S)) {
        return cpti_usage("'--duration %s' is not between 1s and 60m",
                          cpti_quoted(text));
    }
    *duration_ns = (uint64_t)(seconds * 1e9);
    return CPTI_EXIT_DONE;
}

static int parse_number(const char *option, const char *text, uint64_t largest,
                        uint64_t *number)
{
    char *end = NULL;

    errno = 0;
    *number = strtoull(text, &end, 0);
    if (end == text || *end != '\0' || text[0] == '-' || errno != 0 ||
        *number > largest) {
        return cpti_usage("'--%s %s' needs a whole number up to %llu", option,
                          cpti_quoted(text), (unsigned long long)largest);
    }
    return CPTI_EXIT_DONE;
}

/* Reads "0.3". enum cpti_exit. */
static int parse_jitter(const char *text)
{
    char *end = NULL;
    const double sigma = strtod(text, &end);

    return end != text && *end == '\0' && sigma > 0 && sigma <= JITTER_MAX
               ? CPTI_EXIT_DONE
               : cpti_usage("'--jitter %s' is not a number above 0, at most %g",
                            cpti_quoted(text), JITTER_MAX);
}

static int read_options(const struct cpti_arguments *arguments, struct demo *demo)
{
    const char *directory = cpti_value(arguments, "dir");
    const char *seed = cpti_value(arguments, "seed");
    const char *duration = cpti_value(arguments, "duration");
    const char *port = cpti_value(arguments, "port");
    uint64_t number = 0;
    int status = CPTI_EXIT_DONE;

    demo->directory = directory != NULL ? directory : "demo-out";
    demo->jitter = cpti_value(arguments, "jitter");
    demo->duration_ns = DURATION_DEFAULT_S * 1000000000ull;
    demo->seed = cpt_clock_unix_ns() / 1000 % 1000000;
    if (seed != NULL) {
        status = parse_number("seed", seed, UINT64_MAX, &demo->seed);
    }
    if (status == CPTI_EXIT_DONE && duration != NULL) {
        status = parse_duration(duration, &demo->duration_ns);
    }
    if (status == CPTI_EXIT_DONE && demo->jitter != NULL) {
        status = parse_jitter(demo->jitter);
    }
    if (status == CPTI_EXIT_DONE && port != NULL) {
        status = parse_number("port", port, UINT16_MAX, &number);
        demo->port = (uint16_t)number;
    }
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct demo demo = {0};
    uint64_t random;
    int status = read_options(arguments, &demo);

    if (status == CPTI_EXIT_DONE && !cpti_tool_path(demo.tool)) {
        status = cpti_failed("the system does not say where the tool is");
    }
    status = CPTI_THEN(status, name_files(&demo));
    status = CPTI_THEN(status, name_graphs(&demo, cpti_has(arguments, "graphs")));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    name_tool(&demo);
    random = demo.seed;
    demo.slowed = &cpti_components[cpti_random(&random) % cpti_component_count];
    (void)fprintf(stderr, "cpt: seed %llu\n", (unsigned long long)demo.seed);
    cpti_stop_catch();
    status = write_truth(&demo);
    status = CPTI_THEN(status,
                       cpti_has(arguments, "serve") ? serve(&demo) : run_story(&demo));
    return status;
}

static const struct cpti_option options[] = {
    {"serve", 0, NULL, "only start the services, and print how to call them"},
    {"port", 0, "NUMBER", "port of service A; default a free one"},
    {"duration", 0, "TIME",
     "how long to make requests: 15s, 1m; default 15s; if it is too noisy to tell what "
     "is slower, up to four times as long"},
    {"seed", 0, "NUMBER", "chooses the requests and the component that is made slower"},
    {"jitter", 0, "SIGMA",
     "random times: lognormal, with the mean that they have without this option, and "
     "this standard deviation of the logarithm, such as 0.3"},
    {"graphs", 0, NULL,
     "keep the graph of each request, and show what would help: A.cptgraph, "
     "B.cptgraph, C.cptgraph"},
    {"dir", 'd', "DIR", "where the files go; default demo-out"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt demo", "three services, 600 requests, and what made some of them slow"},
    {"cpt demo --graphs && cpt slack demo-out", "what each component would give back"},
    {"cpt demo --serve --port 8080", "services to talk to with curl, until ^C"},
    {0},
};

const struct cpti_command cpti_command_demo = {
    CPTI_IS_DEMO,
    .usages =
        {"[--duration TIME] [--seed NUMBER] [--dir DIR] [--graphs] [--jitter SIGMA]",
         "--serve [--port NUMBER] [--graphs] [--jitter SIGMA]"},
    .options = {options},
    .examples = examples,
    .takes_no_operands = true,
    .run = run,
};
