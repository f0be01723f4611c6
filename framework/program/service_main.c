/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * service_main.c - a service from its first flag to its last byte
 *
 *      settings --> log --> loop, pool, service, plans --> begin --> serve
 *                                                                      | SIGTERM
 *      free <-- log closed <-- end <-- work after answers ends <-- loop drains
 *
 * If work does not end in time, what it may still use is not freed: the log is closed,
 * and the process ends.
 */
#include "framework/cpt_log_file.h"
#include "framework/cpt_log_queue.h"
#include "framework/cpt_runtime.h"
#include "framework/cpt_settings.h"
#include "framework/cpt_shared.h"
#include "framework/program/check.h"
#include "framework/program/settings.h"
#include "framework/transport/cpt_http.h"
#include "framework/transport/cpt_targets.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_NS_DEFAULT UINT64_C(10000000000)
/* A log that is limited consists of at least 16 files, for the oldest to go. */
#define KEPT_FILES_MIN 16
#define FILE_BYTES_MAX (UINT64_C(256) << 20)

/* All that the service is made of; NULL: not made yet. */
struct program {
    const struct cpt_main_options *options;
    struct cpti_settings settings;
    struct cpt_log_file *log_file;
    struct cpt_log_queue *log;
    struct cpt_log_file *span_file;
    struct cpt_log_queue *spans;
    struct cpt_log_file *graph_file;
    struct cpt_log_queue *graph_log;
    struct cpt_http *http;
    struct cpt_executor *pool;
    struct cpt_service *service;
    struct cpt_graph *graphs; /* of its methods */
    struct cpt_plan **plans;  /* of its methods, then of what they share */
    size_t plan_count;
    struct cpt_settings *watched;
    uint64_t drain_ns;
    bool has_begun;
};

/* --- SIGHUP --- */

/* What the handler reads; NULL: there is no log. */
static _Atomic(struct cpt_log_file *) log_to_reopen;
static _Atomic(struct cpt_log_file *) spans_to_reopen;
static _Atomic(struct cpt_log_file *) graphs_to_reopen;
static _Atomic(struct cpt_settings *) settings_to_check;
static _Atomic(struct cpt_http *) http_to_reload;

static void on_hangup(int number)
{
    struct cpt_log_file *file = atomic_load(&log_to_reopen);
    struct cpt_log_file *spans = atomic_load(&spans_to_reopen);
    struct cpt_log_file *graphs = atomic_load(&graphs_to_reopen);
    struct cpt_settings *watched = atomic_load(&settings_to_check);
    struct cpt_http *http = atomic_load(&http_to_reload);

    (void)number;
    if (file != NULL) {
        cpt_log_file_reopen(file);
    }
    if (spans != NULL) {
        cpt_log_file_reopen(spans);
    }
    if (graphs != NULL) {
        cpt_log_file_reopen(graphs);
    }
    if (watched != NULL) {
        cpt_settings_check(watched);
    }
    if (http != NULL) {
        cpt_http_reload_tls(http);
    }
}

static void watch_hangup(struct program *program)
{
    struct sigaction action = {.sa_handler = on_hangup, .sa_flags = SA_RESTART};

    atomic_store(&log_to_reopen, program->log_file);
    atomic_store(&spans_to_reopen, program->span_file);
    atomic_store(&graphs_to_reopen, program->graph_file);
    atomic_store(&settings_to_check, program->watched);
    atomic_store(&http_to_reload, program->http);
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGHUP, &action, NULL);
}

/* --- Making it --- */

/* Says that old files are removed: an operator may count on them. */
static void say_kept(const struct program *program, const char *directory,
                     unsigned content, const struct cpt_log_file *file)
{
    static const char *const contents[] = {"records", "spans", "graphs"};
    struct cpt_log_file_counts counts;
    char size[SETTINGS_SIZE_BYTES];

    if (program->settings.kept_bytes == 0) {
        return;
    }
    cpt_log_file_counts(file, &counts);
    cpti_settings_size(program->settings.kept_bytes, size);
    (void)fprintf(stderr,
                  "%s: %s: keeps %s of files with %s, and removes the oldest "
                  "(--log-keep SIZE, or all)",
                  program->options->name, directory, size, contents[content]);
    if (counts.removed_count != 0) {
        (void)fprintf(stderr, "; removed now: %llu",
                      (unsigned long long)counts.removed_count);
    }
    (void)fprintf(stderr, "\n");
}

/* A log of @content in @directory; nothing if that is NULL. */
static cpt_status open_queue(const struct program *program, const char *directory,
                             unsigned content, struct cpt_log_file **opened,
                             struct cpt_log_queue **made, struct cpt_error *error)
{
    const uint64_t kept_bytes = program->settings.kept_bytes;
    const struct cpt_log_file_options file = {
        .struct_bytes = sizeof file,
        .directory = directory,
        .name = program->options->name,
        .content = content,
        .file_bytes_max =
            kept_bytes != 0 && kept_bytes / KEPT_FILES_MIN < FILE_BYTES_MAX
                ? kept_bytes / KEPT_FILES_MIN
                : FILE_BYTES_MAX,
        .kept_bytes_max = kept_bytes};
    struct cpt_log_queue_options queue = {
        .struct_bytes = sizeof queue, .sink = cpt_log_file_write, .content = content};

    if (directory == NULL) {
        return CPT_OK;
    }
    *opened = cpt_log_file_new(&file, error);
    if (*opened == NULL) {
        return error->status;
    }
    say_kept(program, directory, content, *opened);
    queue.context = *opened;
    *made = cpt_log_queue_new(&queue, error);
    return *made != NULL ? CPT_OK : error->status;
}

static cpt_status open_log(struct program *program, struct cpt_error *error)
{
    return open_queue(program, program->settings.log, CPT_LOG_PATHS, &program->log_file,
                      &program->log, error);
}

static cpt_status open_spans(struct program *program, struct cpt_error *error)
{
    return open_queue(program, program->settings.spans, CPT_LOG_SPANS,
                      &program->span_file, &program->spans, error);
}

static cpt_status open_graphs(struct program *program, struct cpt_error *error)
{
    if (!program->settings.keeps_graphs) {
        return CPT_OK;
    }
    if (program->settings.log == NULL) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "graphs are kept beside the log: --graph needs --log");
    }
    return open_queue(program, program->settings.log, CPT_LOG_GRAPHS,
                      &program->graph_file, &program->graph_log, error);
}

/* Sets *@targets to those of @http, told to the same callback as the service's. */
static cpt_status read_targets(const struct program *program,
                               const struct cpt_http_options *http,
                               struct cpt_target_options *targets,
                               struct cpt_error *error)
{
    struct cpt_service_options service = {.struct_bytes = sizeof service};

    if ((http->targets != NULL &&
         cpt_options_read(targets, sizeof *targets, http->targets, error) != CPT_OK) ||
        (program->options->service != NULL &&
         cpt_options_read(&service, sizeof service, program->options->service, error) !=
             CPT_OK)) {
        return error->status;
    }
    targets->struct_bytes = sizeof *targets;
    if (targets->notify == NULL) {
        targets->notify = service.notify;
        targets->notify_context = service.notify_context;
    }
    return CPT_OK;
}

static cpt_status open_loop(struct program *program, struct cpt_error *error)
{
    const struct cpti_settings *settings = &program->settings;
    const struct cpt_http_tls tls = {.struct_bytes = sizeof tls,
                                     .certificate_file = settings->tls_certificate,
                                     .key_file = settings->tls_key,
                                     .ca_file = settings->tls_ca};
    struct cpt_http_options http = {.struct_bytes = sizeof http};
    struct cpt_target_options targets = {.struct_bytes = sizeof targets};
    struct cpt_pool_options pool = {.struct_bytes = sizeof pool,
                                    .name = program->options->name,
                                    .worker_count = program->settings.worker_count};

    if (program->options->http != NULL &&
        cpt_options_read(&http, sizeof http, program->options->http, error) != CPT_OK) {
        return error->status;
    }
    if (read_targets(program, &http, &targets, error) != CPT_OK) {
        return error->status;
    }
    http.struct_bytes = sizeof http;
    http.targets = &targets;
    if (http.drain_ns == 0) {
        http.drain_ns = program->drain_ns;
    }
    http.serves_counters |= program->settings.serves_counters;
    if (program->settings.unready_ns != 0) {
        http.unready_ns = program->settings.unready_ns;
    }
    if (settings->tls_certificate != NULL || settings->tls_key != NULL ||
        settings->tls_ca != NULL) {
        http.calls_tls = &tls;
    }
    program->http = cpt_http_new(&http, error);
    if (program->http == NULL) {
        return error->status;
    }
    program->pool = cpt_pool_new(&pool, error);
    return program->pool != NULL ? CPT_OK : error->status;
}

static cpt_status open_service(struct program *program, struct cpt_error *error)
{
    const struct cpti_settings *settings = &program->settings;
    struct cpt_service_options service = {.struct_bytes = sizeof service};

    if (program->options->service != NULL &&
        cpt_options_read(&service, sizeof service, program->options->service, error) !=
            CPT_OK) {
        return error->status;
    }
    service.struct_bytes = sizeof service;
    if (service.role == CPT_ROLE_ENTRY) {
        service.role = program->options->role;
    }
    service.name = program->options->name;
    service.executor = service.executor != NULL ? service.executor : program->pool;
    service.log = program->log;
    if (program->graph_log != NULL) {
        service.graphs = program->graph_log;
        service.graph_every = settings->graph_every;
    }
    service.spans = program->spans != NULL ? program->spans : service.spans;
    if (settings->probability != 0) {
        service.probability = settings->probability;
    }
    if (settings->networks[0] != NULL) {
        service.trusted_networks = settings->networks;
    }
    program->service = cpt_service_new(&service, error);
    return program->service != NULL ? CPT_OK : error->status;
}

/* The number of rows before the one whose first member, a pointer, is NULL. */
static size_t count_rows(const void *rows, size_t row_bytes)
{
    const char *row = rows;
    size_t count = 0;

    while (row != NULL && *(const char *const *)(const void *)row != NULL) {
        row += row_bytes;
        count++;
    }
    return count;
}

/* Compiles @graph as the next plan; NULL with the reason in @error. */
static const struct cpt_plan *add_plan(struct program *program,
                                       const struct cpt_graph *graph,
                                       struct cpt_error *error)
{
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, error);

    if (plan != NULL) {
        program->plans[program->plan_count++] = plan;
    }
    return plan;
}

static cpt_status add_methods(struct program *program, struct cpt_error *error)
{
    const struct cpt_main_options *options = program->options;
    const size_t count = count_rows(options->methods, sizeof *options->methods);
    const size_t share_count = count_rows(options->shares, sizeof *options->shares);
    cpt_status status = CPT_OK;

    if (count == 0) {
        return cpt_error_set(error, CPT_INVALID, 0, "it has no methods");
    }
    program->graphs = calloc(count, sizeof(struct cpt_graph));
    program->plans = calloc(count + share_count, sizeof(struct cpt_plan *));
    if (program->graphs == NULL || program->plans == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    }
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        const struct cpt_main_method *row = &options->methods[i];
        const struct cpt_method_options method = {.struct_bytes = sizeof method,
                                                  .timeout_ns = row->timeout_ns};
        const struct cpt_plan *plan = NULL;

        if (cpti_check_method(row->method, error) != CPT_OK) {
            return error->status;
        }
        program->graphs[i] =
            (struct cpt_graph){options->name, CPT_GIVES(rpc_request),
                               CPT_GIVES(rpc_reply), row->tasks, row->task_count};
        plan = add_plan(program, &program->graphs[i], error);
        status = plan == NULL
                     ? error->status
                     : cpt_service_method_add_with(program->service, row->method, plan,
                                                   &method, error);
    }
    return status;
}

/* --- Pools and shared work of its own --- */

static cpt_status open_pools(struct program *program, struct cpt_error *error)
{
    const struct cpt_main_pool *row = program->options->pools;

    for (; row != NULL && row->name != NULL; row++) {
        const struct cpt_pool_options pool = {.struct_bytes = sizeof pool,
                                              .name = row->name,
                                              .worker_count = row->worker_count};

        *row->pool = cpt_pool_new(&pool, error);
        if (*row->pool == NULL) {
            return error->status;
        }
    }
    return CPT_OK;
}

static cpt_status open_shares(struct program *program, struct cpt_error *error)
{
    const struct cpt_main_share *row = program->options->shares;

    for (; row != NULL && row->name != NULL; row++) {
        struct cpt_shared_options shared;

        if (cpt_options_read(&shared, sizeof shared, row->options, error) != CPT_OK) {
            return error->status;
        }
        shared.struct_bytes = sizeof shared;
        shared.name = row->name;
        shared.plan = add_plan(program, row->graph, error);
        if (shared.plan == NULL) {
            return error->status;
        }
        *row->shared = cpt_shared_new(&shared, error);
        if (*row->shared == NULL) {
            return error->status;
        }
    }
    return CPT_OK;
}

/* Shared work before the pools that it runs on, these before that of the service. */
static void close_pools_and_shares(const struct program *program)
{
    const struct cpt_main_share *share = program->options->shares;
    const struct cpt_main_pool *pool = program->options->pools;

    for (; share != NULL && share->name != NULL; share++) {
        cpt_shared_free(*share->shared);
        *share->shared = NULL;
    }
    for (; pool != NULL && pool->name != NULL; pool++) {
        cpt_pool_free(*pool->pool);
        *pool->pool = NULL;
    }
}

/* --- For operators --- */

static cpt_status watch_settings(struct program *program, struct cpt_error *error)
{
    const struct cpt_settings_options options = {.struct_bytes = sizeof options,
                                                 .path = program->settings.file,
                                                 .services = &program->service,
                                                 .service_count = 1};

    if (program->settings.file == NULL) {
        return CPT_OK;
    }
    if (access(options.path, F_OK) != 0) {
        (void)fprintf(stderr, "%s: %s is not there yet; it is looked for\n",
                      program->options->name, options.path);
    }
    program->watched = cpt_settings_new(&options, error);
    return program->watched != NULL ? CPT_OK : error->status;
}

static void print_address(const char *what, const char *does, const char *host,
                          uint16_t port)
{
    const bool is_ipv6 = strchr(host, ':') != NULL;

    (void)printf("%s %s %s%s%s:%u\n", what, does, is_ipv6 ? "[" : "", host,
                 is_ipv6 ? "]" : "", (unsigned)port);
    (void)fflush(stdout);
}

static cpt_status listen_operators(struct program *program, struct cpt_error *error)
{
    const struct cpti_settings *settings = &program->settings;
    uint16_t port = 0;
    cpt_status status = CPT_OK;

    if (settings->operators_host[0] == '\0') {
        return CPT_OK;
    }
    status = cpt_http_listen_operators(program->http, program->service,
                                       settings->operators_host,
                                       settings->operators_port, &port, error);
    if (status == CPT_OK) {
        print_address(program->options->name, "tells operators on",
                      settings->operators_host, port);
    }
    return status;
}

/* --- The steps --- */

/* After `begin`, which may have set transports. */
static cpt_status check_calls(struct program *program, struct cpt_error *error)
{
    const struct cpt_main_options *options = program->options;
    const size_t count = count_rows(options->methods, sizeof *options->methods);
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        status = cpti_check_calls(&program->graphs[i], error);
    }
    for (const struct cpt_main_share *share = options->shares;
         share != NULL && share->name != NULL && status == CPT_OK; share++) {
        status = cpti_check_calls(share->graph, error);
    }
    return status;
}

static cpt_status begin(struct program *program, struct cpt_error *error)
{
    const struct cpt_main_options *options = program->options;
    const struct cpt_main_parts parts = {program->service, program->pool,
                                         cpt_http_transport(program->http),
                                         program->http};
    struct cpt_stub *const *stub = options->stubs;
    cpt_status status = CPT_OK;

    while (stub != NULL && *stub != NULL) {
        if ((*stub)->transport == NULL) {
            (*stub)->transport = parts.transport;
        }
        stub++;
    }
    if (options->begin != NULL) {
        status = options->begin(options->context, &parts, error);
    }
    program->has_begun = status == CPT_OK;
    return status;
}

static cpt_status make(struct program *program, struct cpt_error *error)
{
    static cpt_status (*const steps[])(struct program *, struct cpt_error *) = {
        open_log,   open_spans,  open_graphs,    open_loop, open_service, add_methods,
        open_pools, open_shares, watch_settings, begin,     check_calls,
    };
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == CPT_OK; i++) {
        status = steps[i](program, error);
    }
    return status;
}

/* --- Serving, and the end --- */

static cpt_status listen_clients(struct program *program, uint16_t *port,
                                 struct cpt_error *error)
{
    const struct cpti_settings *settings = &program->settings;
    const struct cpt_http_tls tls = {.struct_bytes = sizeof tls,
                                     .certificate_file = settings->tls_certificate,
                                     .key_file = settings->tls_key,
                                     .ca_file = settings->tls_clients,
                                     .requires_certificate =
                                         settings->requires_clients};

    if (tls.certificate_file == NULL &&
        (tls.ca_file != NULL || tls.requires_certificate)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "clients can show certificates only to a service that has "
                             "one: --tls-certificate");
    }
    return tls.certificate_file != NULL
               ? cpt_http_listen_tls(program->http, program->service, &tls,
                                     settings->host, settings->port, port, error)
               : cpt_http_listen(program->http, program->service, settings->host,
                                 settings->port, port, error);
}

static cpt_status serve(struct program *program, struct cpt_error *error)
{
    const struct cpti_settings *settings = &program->settings;
    uint16_t port = 0;
    cpt_status status = listen_clients(program, &port, error);

    if (status == CPT_OK) {
        status = listen_operators(program, error);
    }
    if (status == CPT_OK) {
        status = cpt_http_stop_on_signals(program->http, error);
    }
    if (status != CPT_OK) {
        return status;
    }
    watch_hangup(program);
    print_address(program->options->name, "listens on", settings->host, port);
    status = cpt_http_run(program->http);
    return status == CPT_OK
               ? CPT_OK
               : cpt_error_set(error, status, 0,
                               "requests were still running when it stopped");
}

/* Work that goes on may use everything but the logs: nothing else is freed. A request
 * is in one queue after the other, in this order. */
static void abandon(struct program *program)
{
    if (program->log != NULL) {
        (void)cpt_log_queue_close(program->log, program->drain_ns);
    }
    if (program->graph_log != NULL) {
        (void)cpt_log_queue_close(program->graph_log, program->drain_ns);
    }
    if (program->spans != NULL) {
        (void)cpt_log_queue_close(program->spans, program->drain_ns);
    }
}

/* Frees in the order that cpt_service_drain() asks for. */
static void close_all(struct program *program)
{
    atomic_store(&log_to_reopen, NULL);
    atomic_store(&spans_to_reopen, NULL);
    atomic_store(&graphs_to_reopen, NULL);
    atomic_store(&settings_to_check, NULL);
    atomic_store(&http_to_reload, NULL);
    cpt_settings_free(program->watched);
    if (program->has_begun && program->options->end != NULL) {
        program->options->end(program->options->context);
    }
    close_pools_and_shares(program);
    cpt_pool_free(program->pool);
    cpt_service_free(program->service);
    cpt_http_free(program->http);
    for (size_t i = 0; i < program->plan_count; i++) {
        cpt_plan_free(program->plans[i]);
    }
    free((void *)program->plans);
    free(program->graphs);
    cpt_log_queue_free(program->log);
    cpt_log_file_free(program->log_file);
    cpt_log_queue_free(program->graph_log);
    cpt_log_file_free(program->graph_file);
    cpt_log_queue_free(program->spans);
    cpt_log_file_free(program->span_file);
}

/* What a service says that cannot serve, or end. */
static void complain(const struct program *program, const struct cpt_error *error,
                     cpt_status status)
{
    (void)fprintf(stderr, "%s: %s\n", program->options->name,
                  error->sentence[0] != '\0' ? error->sentence
                                             : cpt_status_sentence(status));
}

/* 0 or 1, as cpt_service_main(). */
static int run(struct program *program)
{
    struct cpt_error error = {.status = CPT_OK};
    cpt_status status = make(program, &error);
    cpt_status drained = CPT_OK;

    if (status == CPT_OK) {
        status = serve(program, &error);
    }
    if (program->service != NULL) {
        drained = cpt_service_drain(program->service, program->drain_ns);
    }
    if (drained != CPT_OK && error.sentence[0] == '\0') {
        (void)cpt_error_set(&error, drained, 0, "work was still running when it ended");
        status = drained;
    }
    if (status != CPT_OK) {
        complain(program, &error, status);
    }
    if (drained != CPT_OK) {
        abandon(program);
        return 1;
    }
    close_all(program);
    return status == CPT_OK ? 0 : 1;
}

int cpt_service_main(int argc, char **argv, const struct cpt_main_options *given)
{
    /* Static: the targets of stubs point into it, and work that was left alone may call
     * them until the process ends. */
    static struct program program;
    static struct cpt_main_options options;
    struct cpt_error error = {.status = CPT_OK};
    int status = 0;

    if (cpt_options_read(&options, sizeof options, given, &error) != CPT_OK ||
        options.name == NULL) {
        (void)fprintf(stderr, "cpt_service_main: %s\n",
                      error.status != CPT_OK ? error.sentence : "it has no name");
        return 2;
    }
    memset(&program, 0, sizeof program);
    program.options = &options;
    program.drain_ns = options.drain_ns != 0 ? options.drain_ns : DRAIN_NS_DEFAULT;
    status = cpti_settings_read(&program.settings, argc, argv, &options);
    return status > 0 ? run(&program) : status < 0 ? 2 : 0;
}
