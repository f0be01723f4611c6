/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * figure1.c - what the three services of the demo share; see figure1.h
 *
 * The main thread runs the event loop, which only moves bytes; the components sleep on
 * the workers of a pool; with --compute they compute for as long, as those of real
 * services do, so that tracing can be compared with it.
 */
#include "figure1.h"
#include "figure1_jitter.h"
#include "figure1_lines.h"

#include <cpt/cpt_http.h>
#include <cpt/cpt_log_queue.h>
#include <cpt/cpt_settings.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    DIGITS_MAX = 20,
    STEP_US_MAX = 10000000, /* of a random time */
    SLOW_MAX = 8,
    METHODS_MAX = 8,
    WORKERS_DEFAULT = 32,
    IN_FLIGHT_MAX = 1000
};

#define DRAIN_NS           UINT64_C(2000000000)
#define REQUEST_TIMEOUT_NS UINT64_C(30000000000)

/* A component that takes longer in the treatment arm. */
struct slow {
    const char *component; /* borrowed from argv */
    size_t component_bytes;
    unsigned us;
};

/* The command line. Written before the first request, only read afterwards. */
static struct {
    struct slow slow[SLOW_MAX];
    size_t slow_count;
    const char *targets[26]; /* by the letter of the service: --b, --c */
    const char *log_file;
    const char *spans_file;    /* lines of OTLP */
    const char *graph_file;    /* whole graphs: docs/sampling.md */
    const char *settings_file; /* rules: docs/sampling.md */
    const char *lines_file;    /* what a service logs without tracing */
    int computes;
    double jitter; /* 0: times are as they are in the tables */
    double probability;
    unsigned worker_count;
    uint16_t port;
} settings = {.worker_count = WORKERS_DEFAULT};

/* --- Within tasks --- */

struct cpt_bytes figure1_words(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);

    return request->body.bytes != 0 ? request->body : request->query;
}

struct cpt_bytes figure1_word(struct cpt_bytes words, const char *key)
{
    const size_t key_bytes = strlen(key);
    size_t begin = 0;

    while (begin < words.bytes) {
        const char *word = words.data + begin;
        const char *end = memchr(word, '&', words.bytes - begin);
        const size_t bytes = end != NULL ? (size_t)(end - word) : words.bytes - begin;

        if (bytes > key_bytes && word[key_bytes] == '=' &&
            memcmp(word, key, key_bytes) == 0) {
            return (struct cpt_bytes){word + key_bytes + 1, bytes - key_bytes - 1};
        }
        begin += bytes + 1;
    }
    return (struct cpt_bytes){NULL, 0};
}

static int word_is(struct cpt_task *task, const char *key, const char *value)
{
    return cpt_bytes_equal(figure1_word(figure1_words(task), key), cpt_bytes_of(value));
}

/* "n=17"; 0 if there is none. */
static uint64_t number_of(struct cpt_task *task)
{
    const struct cpt_bytes word = figure1_word(figure1_words(task), "n");
    uint64_t number = 0;

    for (size_t i = 0; i < word.bytes && i < DIGITS_MAX; i++) {
        number = number * 10 + (unsigned char)(word.data[i] - '0');
    }
    return number;
}

struct cpt_bytes figure1_words_for(struct cpt_task *task, struct cpt_bytes words,
                                   const char *callee, unsigned index,
                                   char room[FIGURE1_WORDS_BYTES])
{
    const uint64_t number = figure1_number(number_of(task), callee, index);
    int bytes = 0;

    if (!(settings.jitter > 0) || words.bytes >= FIGURE1_WORDS_BYTES) {
        return words;
    }
    /* of two words with one key, the first counts */
    bytes =
        snprintf(room, FIGURE1_WORDS_BYTES, "n=%llu&%.*s", (unsigned long long)number,
                 (int)words.bytes, words.bytes != 0 ? words.data : "");
    return bytes > 0 && bytes < FIGURE1_WORDS_BYTES
               ? (struct cpt_bytes){room, (size_t)bytes}
               : words;
}

enum figure1_page figure1_page(struct cpt_task *task)
{
    if (word_is(task, "page", "search")) {
        return FIGURE1_SEARCH;
    }
    return word_is(task, "page", "overlap") ? FIGURE1_OVERLAP : FIGURE1_HOME;
}

/* Computes for @ns of the CPU time of this thread. */
static void compute(uint64_t ns)
{
    uint64_t end_ns = 0;
    uint64_t now_ns = 0;

    do {
        struct timespec now = {0, 0};

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        end_ns = end_ns == 0 ? now_ns + ns : end_ns;
    } while (now_ns < end_ns);
}

void figure1_work(unsigned us)
{
    const struct timespec duration = {us / 1000000, (long)(us % 1000000) * 1000};

    if (settings.computes) {
        compute((uint64_t)us * 1000);
        return;
    }
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, NULL);
}

void figure1_step(struct cpt_task *task, const char *name, unsigned part, unsigned us)
{
    if (settings.jitter > 0) {
        const uint64_t number = figure1_number(number_of(task), name, part);
        const double time_us = us * figure1_lognormal(number, settings.jitter) + 0.5;

        us = time_us < STEP_US_MAX ? (unsigned)time_us : STEP_US_MAX;
    }
    figure1_work(us);
}

static unsigned slow_us(struct cpt_task *task, const char *component)
{
    for (size_t i = 0; i < settings.slow_count; i++) {
        const struct slow *slow = &settings.slow[i];

        if (strlen(component) == slow->component_bytes &&
            memcmp(component, slow->component, slow->component_bytes) == 0 &&
            word_is(task, "arm", "treatment")) {
            return slow->us;
        }
    }
    return 0;
}

void figure1_before(struct cpt_task *task, const struct figure1_component *component)
{
    const unsigned more_us = slow_us(task, component->name);

    figure1_line_begin(task, component->name);
    if (more_us > 0) {
        figure1_line(task, component->name, "misses its cache");
    } else {
        figure1_line(task, component->name, "hits its cache");
    }
    figure1_step(task, component->name, FIGURE1_BEFORE,
                 component->before_us[figure1_page(task)] + more_us);
    figure1_line(task, component->name, "has what it needs");
}

void figure1_after(struct cpt_task *task, const struct figure1_component *component)
{
    figure1_line_answers(task, component->name);
    figure1_step(task, component->name, FIGURE1_AFTER,
                 component->after_us[figure1_page(task)]);
    figure1_line_end(task, component->name);
}

struct cpt_rpc_reply figure1_reply(const char *text)
{
    return (struct cpt_rpc_reply){.body = cpt_bytes_of(text)};
}

/* --- The command line --- */

static const char usage[] =
    "usage: figure1_SERVICE [--port N] [--b URL] [--c URL] [--log FILE]\n"
    "                       [--spans FILE] [--graphs FILE]\n"
    "                       [--probability P] [--slow COMPONENT=MICROSECONDS]\n"
    "                       [--workers N] [--settings FILE] [--compute]\n"
    "                       [--jitter SIGMA] [--lines FILE] [--database HOST:PORT]\n";

/* "B2=4000" */
static int take_slow(char *text)
{
    char *equals = strchr(text, '=');
    struct slow *slow = &settings.slow[settings.slow_count];

    if (equals == NULL || settings.slow_count == SLOW_MAX) {
        return 0;
    }
    *slow = (struct slow){text, (size_t)(equals - text),
                          (unsigned)strtoul(equals + 1, NULL, 10)};
    settings.slow_count++;
    return 1;
}

/* "0.01"; 0 is never. */
static int take_probability(const char *text)
{
    char *end = NULL;
    const double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value >= 0 && value <= 1)) {
        (void)fprintf(stderr, "figure1: probability %s is not from 0 to 1\n", text);
        return 0;
    }
    settings.probability = value > 0 ? value : -1;
    return 1;
}

/* "0.3" */
static int take_jitter(const char *text)
{
    char *end = NULL;

    settings.jitter = strtod(text, &end);
    if (end == text || *end != '\0' ||
        !(settings.jitter >= 0 && settings.jitter <= FIGURE1_SIGMA_MAX)) {
        (void)fprintf(stderr, "figure1: jitter %s is not from 0 to %g\n", text,
                      FIGURE1_SIGMA_MAX);
        return 0;
    }
    return 1;
}

static int take_option(int letter, char *value)
{
    switch (letter) {
    case 'p':
        settings.port = (uint16_t)strtoul(value, NULL, 10);
        return 1;
    case 'l':
        settings.log_file = value;
        return 1;
    case 'S':
        settings.spans_file = value;
        return 1;
    case 'g':
        settings.graph_file = value;
        return 1;
    case 'j':
        return take_jitter(value);
    case 'P':
        return take_probability(value);
    case 's':
        return take_slow(value);
    case 'w':
        settings.worker_count = (unsigned)strtoul(value, NULL, 10);
        return settings.worker_count > 0;
    case 'f':
        settings.settings_file = value;
        return 1;
    case 'L':
        settings.lines_file = value;
        return 1;
    case 'd':
        figure1_database_set(value);
        return 1;
    case 'C':
        settings.computes = 1;
        return 1;
    case 'b':
    case 'c':
        settings.targets[letter - 'a'] = value;
        return 1;
    default:
        return 0;
    }
}

static int take_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},
        {"log", required_argument, NULL, 'l'},
        {"spans", required_argument, NULL, 'S'},
        {"graphs", required_argument, NULL, 'g'},
        {"probability", required_argument, NULL, 'P'},
        {"slow", required_argument, NULL, 's'},
        {"jitter", required_argument, NULL, 'j'},
        {"workers", required_argument, NULL, 'w'},
        {"settings", required_argument, NULL, 'f'},
        {"compute", no_argument, NULL, 'C'},
        {"lines", required_argument, NULL, 'L'},
        {"database", required_argument, NULL, 'd'},
        {"b", required_argument, NULL, 'b'},
        {"c", required_argument, NULL, 'c'},
        {NULL, 0, NULL, 0},
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!take_option(letter, optarg)) {
            return 0;
        }
    }
    return optind == argc;
}

/* --- The process --- */

/* All objects of a service; NULL: not made yet. */
struct process {
    const struct figure1_service *figure;
    struct cpt_http *http;
    struct cpt_executor *pool;
    struct cpt_log_queue *log;
    int log_descriptor;
    struct cpt_log_queue *spans;
    int spans_descriptor;
    struct cpt_log_queue *graphs;
    int graph_descriptor;
    struct cpt_service *service;
    struct cpt_settings *settings;
    struct cpt_plan *plans[METHODS_MAX];
};

/* Opens a queue of @content into @file, if there is to be one. */
static cpt_status open_queue(const char *file, unsigned content, int *descriptor,
                             struct cpt_log_queue **queue, struct cpt_error *error)
{
    struct cpt_log_queue_options options = {.struct_bytes = sizeof options,
                                            .content = content};

    if (file == NULL) {
        return CPT_OK;
    }
    *descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (*descriptor < 0) {
        return cpt_error_set(error, CPT_IO, 0, "%s: %s", file, strerror(errno));
    }
    options.sink = cpt_log_sink_descriptor;
    options.context = descriptor;
    options.flush_ns = 200000000; /* a person is watching */
    *queue = cpt_log_queue_new(&options, error);
    return *queue != NULL ? CPT_OK : CPT_NO_MEMORY;
}

static cpt_status open_log(struct process *process, struct cpt_error *error)
{
    cpt_status status = open_queue(settings.log_file, CPT_LOG_PATHS,
                                   &process->log_descriptor, &process->log, error);

    if (status == CPT_OK) {
        status = open_queue(settings.spans_file, CPT_LOG_SPANS,
                            &process->spans_descriptor, &process->spans, error);
    }
    return status == CPT_OK
               ? open_queue(settings.graph_file, CPT_LOG_GRAPHS,
                            &process->graph_descriptor, &process->graphs, error)
               : status;
}

static cpt_status open_service(struct process *process, struct cpt_error *error)
{
    struct cpt_http_options http = {.struct_bytes = sizeof http};
    struct cpt_pool_options pool = {.struct_bytes = sizeof pool};
    struct cpt_service_options service = {.struct_bytes = sizeof service};
    /* For `curl -H 'critical-path: 1;forced'` on this machine. Do not do so behind a
     * proxy: then every stranger comes from here. */
    static const char *const trusted[] = {"127.0.0.0/8", "::1", NULL};

    http.serves_counters = 1;
    process->http = cpt_http_new(&http, error);
    pool.worker_count = settings.worker_count;
    process->pool = cpt_pool_new(&pool, error);
    if (process->http == NULL || process->pool == NULL) {
        return CPT_FAILED;
    }
    service.name = process->figure->name;
    service.role = process->figure->role;
    service.trusted_networks = trusted;
    service.probability = settings.probability;
    service.executor = process->pool;
    service.log = process->log;
    service.spans = process->spans;
    service.graphs = process->graphs;
    service.graph_every = process->graphs != NULL;
    service.graphs_per_second_max = -1; /* of /repeat, each of 200 calls has one */
    service.clock = cpt_clock_fastest();
    service.timeout_ns = REQUEST_TIMEOUT_NS;
    service.requests_in_flight_max = IN_FLIGHT_MAX;
    process->service = cpt_service_new(&service, error);
    return process->service != NULL ? CPT_OK : CPT_FAILED;
}

static cpt_status watch_settings(struct process *process, struct cpt_error *error)
{
    const struct cpt_settings_options options = {.struct_bytes = sizeof options,
                                                 .path = settings.settings_file,
                                                 .services = &process->service,
                                                 .service_count = 1};

    if (settings.settings_file != NULL) {
        process->settings = cpt_settings_new(&options, error);
    }
    return settings.settings_file == NULL || process->settings != NULL ? CPT_OK
                                                                       : CPT_FAILED;
}

static cpt_status add_methods(struct process *process, struct cpt_error *error)
{
    const struct figure1_method *method = process->figure->methods;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < METHODS_MAX && method->method != NULL; i++, method++) {
        process->plans[i] = cpt_plan_new(method->graph, NULL, error);
        if (process->plans[i] == NULL) {
            return CPT_INVALID;
        }
        status = cpt_service_method_add(process->service, method->method,
                                        process->plans[i], error);
        if (status != CPT_OK) {
            return status;
        }
    }
    return CPT_OK;
}

/* Gives the stubs the targets of their services, and the transport. */
static cpt_status aim_stubs(struct process *process, struct cpt_error *error)
{
    for (struct cpt_stub *const *stub = process->figure->stubs; *stub != NULL; stub++) {
        const char letter = (char)((*stub)->name[0] | 0x20); /* 'b' of "B: /B1" */

        (*stub)->target = settings.targets[letter - 'a'];
        (*stub)->transport = cpt_http_transport(process->http);
        (*stub)->timeout_ns = 2ull * 1000 * 1000 * 1000;
        if ((*stub)->target == NULL) {
            return cpt_error_set(error, CPT_INVALID, 0, "needs --%c URL", letter);
        }
    }
    return CPT_OK;
}

static void flush_logs(const struct process *process)
{
    if (process->log != NULL) {
        cpt_log_queue_flush(process->log);
    }
    if (process->graphs != NULL) {
        cpt_log_queue_flush(process->graphs);
    }
    if (process->spans != NULL) {
        cpt_log_queue_flush(process->spans);
    }
}

static cpt_status serve(struct process *process, struct cpt_error *error)
{
    uint16_t port = 0;
    cpt_status status = cpt_http_listen(process->http, process->service, "127.0.0.1",
                                        settings.port, &port, error);

    if (status == CPT_OK) {
        status = cpt_http_stop_on_signals(process->http, error);
    }
    if (status != CPT_OK) {
        return status;
    }
    (void)printf("%s http://127.0.0.1:%u clock %s\n", process->figure->name,
                 (unsigned)port, cpt_clock_name(cpt_clock_fastest()));
    (void)fflush(stdout);
    status = cpt_http_run(process->http);
    if (status != CPT_OK) {
        /* Some tasks still run: free nothing that they use. */
        flush_logs(process);
        _exit(0);
    }
    return CPT_OK;
}

/* In the order of cpt_service_drain(): work after answers ends first. */
static void close_process(struct process *process)
{
    cpt_settings_free(process->settings);
    if (process->service != NULL &&
        cpt_service_drain(process->service, DRAIN_NS) != CPT_OK) {
        flush_logs(process);
        _exit(0);
    }
    cpt_pool_free(process->pool);
    cpt_service_free(process->service);
    cpt_log_queue_free(process->log);
    cpt_log_queue_free(process->graphs);
    cpt_log_queue_free(process->spans);
    cpt_http_free(process->http);
    for (size_t i = 0; i < METHODS_MAX; i++) {
        cpt_plan_free(process->plans[i]);
    }
    if (process->log_descriptor >= 0) {
        (void)close(process->log_descriptor);
    }
    if (process->spans_descriptor >= 0) {
        (void)close(process->spans_descriptor);
    }
    if (process->graph_descriptor >= 0) {
        (void)close(process->graph_descriptor);
    }
}

int figure1_main(int argc, char **argv, const struct figure1_service *service)
{
    struct process process = {.figure = service,
                              .log_descriptor = -1,
                              .spans_descriptor = -1,
                              .graph_descriptor = -1};
    struct cpt_error error = {0};
    cpt_status status = CPT_OK;

    if (!take_options(argc, argv)) {
        (void)fputs(usage, stderr);
        return 2;
    }
    if (settings.lines_file != NULL &&
        !figure1_lines_open(settings.lines_file, service->name)) {
        perror(settings.lines_file);
        return 1;
    }
    status = open_log(&process, &error);
    status = status == CPT_OK ? open_service(&process, &error) : status;
    status = status == CPT_OK ? watch_settings(&process, &error) : status;
    status = status == CPT_OK ? add_methods(&process, &error) : status;
    status = status == CPT_OK ? aim_stubs(&process, &error) : status;
    status = status == CPT_OK ? serve(&process, &error) : status;
    if (status != CPT_OK) {
        (void)fprintf(stderr, "figure1: service %s: %s\n", service->name,
                      error.sentence[0] != '\0' ? error.sentence
                                                : cpt_status_sentence(status));
    }
    close_process(&process);
    figure1_lines_close();
    return status == CPT_OK ? 0 : 1;
}
