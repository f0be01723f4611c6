/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * collect_server.c - the door of cpt collect on the transports; see collect_server.h
 *
 *      HTTP: loop thread ----.
 *                            +--> [ door ] <-- timer of the loop, every second
 *      gRPC: pool's thread --'
 *
 * The door is behind a lock, which is held while a request is read, or while a slice of
 * the traces that have ended is written. Requests are small, so none waits long.
 */
#include "tool/collect/collect_server.h"

#include "tool/base/command.h"
#include "tool/base/memory_file.h"
#include "tool/base/output.h"
#include "tool/collect/collect_door.h"
#include "tool/collect/collect_grpc.h"
#include "import/bytes/inflate.h"
#include "cpt/base/now.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/transport/cpt_http.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 1024,
    REQUESTS_MAX = 256,
    HEADER_BYTES_MAX = 16 * 1024,
    INPUT_BYTES_MAX = 128 << 20, /* of requests that are not answered yet */
    MEMORY_PART = 8,             /* of cpt_memory_max(), for these and a request */
    SLICE_COUNT = 500,           /* of traces, between two requests */
    UNAVAILABLE = 503
};

#define REQUEST_BYTES_MAX ((size_t)64 << 20)
#define TICK_NS           UINT64_C(1000000000)
#define SLICE_PAUSE_NS    UINT64_C(1000000)
#define DRAIN_NS          UINT64_C(5000000000)

/* The one server of the process: tasks and signals have no other way to find it. */
static struct {
    struct cpti_collect_door *door;
    struct cpt_log_file *log;
    struct cpt_http *http;
    struct cpt_timer tick;
} server;

/* --- Requests --- */

/* The copy of @bytes at @data, in memory of the request. */
static struct cpt_bytes copy_of(struct cpt_task *task, const char *data, size_t bytes)
{
    char *copy = cpt_task_memory(task, bytes + 1);

    if (copy == NULL) {
        return (struct cpt_bytes){"", 0};
    }
    memcpy(copy, data, bytes);
    return (struct cpt_bytes){copy, bytes};
}

/* POST /v1/traces */
static cpt_status take_http(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    const struct cpti_collect_request given = {
        .type = cpt_rpc_header(request, "content-type"),
        .encoding = cpt_rpc_header(request, "content-encoding"),
        .body = request->body};
    struct cpti_collect_answer answer;

    cpti_collect_door_take(server.door, &given, cpti_now_ns(), &answer);
    reply->http_status = answer.status;
    reply->content_type = cpt_bytes_of(answer.type);
    reply->body = copy_of(task, answer.body, answer.bytes);
    if (answer.retry_s > 0) {
        char text[16];
        const int bytes = snprintf(text, sizeof text, "%u", answer.retry_s);

        (void)cpt_rpc_reply_header(task, reply, "Retry-After",
                                   (struct cpt_bytes){text, (size_t)bytes});
    }
    return CPT_OK;
}

/* TraceService/Export */
static cpt_status take_grpc(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    /* whether it is compressed, its first bytes tell */
    const struct cpti_collect_request given = {
        .type = cpt_bytes_of("application/x-protobuf"),
        .encoding = cpti_inflate_recognise(request->body.data, request->body.bytes)
                        ? cpt_bytes_of("gzip")
                        : cpt_bytes_of(""),
        .body = request->body};
    struct cpti_collect_answer answer;

    cpti_collect_door_take(server.door, &given, cpti_now_ns(), &answer);
    reply->outcome = cpt_outcome_of_grpc_code(answer.code);
    reply->body = answer.code == 0
                      ? copy_of(task, answer.body, answer.bytes)
                      : copy_of(task, answer.message, strlen(answer.message));
    return CPT_OK;
}

/* GET /metrics */
static cpt_status show_metrics(struct cpt_task *task)
{
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    struct cpti_memory_file text;

    reply->http_status = UNAVAILABLE;
    if (cpti_memory_file_open(&text)) {
        cpti_collect_door_metrics(server.door, text.file);
        if (cpti_memory_file_close(&text)) {
            reply->http_status = 0;
            reply->content_type = cpt_bytes_of("text/plain; version=0.0.4");
            reply->body = copy_of(task, text.text, text.bytes);
            free(text.text);
        }
    }
    return CPT_OK;
}

static const struct cpt_task_def http_tasks[] = {
    {"collect", take_http, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};
static const struct cpt_task_def grpc_tasks[] = {
    {"collect", take_grpc, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};
static const struct cpt_task_def metrics_tasks[] = {
    {"metrics", show_metrics, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph http_graph = {"cpt collect", CPT_GIVES(rpc_request),
                                            CPT_GIVES(rpc_reply), http_tasks, 1};
static const struct cpt_graph grpc_graph = {"cpt collect", CPT_GIVES(rpc_request),
                                            CPT_GIVES(rpc_reply), grpc_tasks, 1};
static const struct cpt_graph metrics_graph = {"cpt collect", CPT_GIVES(rpc_request),
                                               CPT_GIVES(rpc_reply), metrics_tasks, 1};

/* --- Time --- */

/* Writes the traces that have ended, a slice at a time; a timer's fire. */
static void on_tick(struct cpt_timer *timer)
{
    struct cpt_executor *executor = cpt_http_executor(server.http);
    const bool has_more =
        cpti_collect_door_write(server.door, cpti_now_ns(), false, SLICE_COUNT);

    cpt_http_set_ready(server.http, cpti_collect_door_is_writing(server.door));
    (void)executor->after(executor, timer, has_more ? SLICE_PAUSE_NS : TICK_NS);
}

static void on_hangup(int number)
{
    (void)number;
    cpt_log_file_reopen(server.log);
}

/* SIGHUP begins another log; messages that cannot be written end nothing. */
static void set_signals(void)
{
    struct sigaction action = {.sa_handler = on_hangup, .sa_flags = SA_RESTART};

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGHUP, &action, NULL);
}

/* --- The process --- */

struct process {
    struct cpt_service *http_service;
    struct cpt_service *grpc_service;
    struct cpt_executor *pool; /* of both */
    struct cpt_plan *http_plan;
    struct cpt_plan *grpc_plan;
    struct cpt_plan *metrics_plan;
};

static struct cpt_service *service_new(struct cpt_executor *executor,
                                       struct cpt_error *error)
{
    const struct cpt_service_options options = {
        .struct_bytes = sizeof options,
        .name = "cpt collect",
        .probability = -1,            /* it is not traced */
        .notices_per_second_max = -1, /* answers and counters tell */
        .memory_bytes_max = cpt_memory_part(REQUEST_BYTES_MAX, MEMORY_PART),
        .requests_in_flight_max = REQUESTS_MAX,
        .executor = executor,
    };
    struct cpt_service *service = cpt_service_new(&options, error);

    if (service != NULL) {
        cpt_service_enable(service, 0);
    }
    return service;
}

static cpt_status open_http(struct process *process,
                            const struct cpti_collect_options *options, uint16_t *bound,
                            struct cpt_error *error)
{
    const struct cpt_http_options http = {
        .struct_bytes = sizeof http,
        .drain_ns = DRAIN_NS,
        .header_bytes_max = HEADER_BYTES_MAX,
        .body_bytes_max =
            cpt_memory_part(CPTI_COLLECT_BODY_BYTES_MAX, CPTI_COLLECT_BODY_PART),
        .input_bytes_max = cpt_memory_part(INPUT_BYTES_MAX, MEMORY_PART),
        .accepted_count_max = CONNECTIONS_MAX,
        .serves_health = 1,
        .serves_counters = 1,
    };
    cpt_status status = CPT_FAILED;

    server.http = cpt_http_new(&http, error);
    process->http_plan = cpt_plan_new(&http_graph, NULL, error);
    process->metrics_plan = cpt_plan_new(&metrics_graph, NULL, error);
    if (server.http != NULL && process->http_plan != NULL &&
        process->metrics_plan != NULL) {
        process->http_service = service_new(process->pool, error);
    }
    if (process->http_service != NULL) {
        status = cpt_service_method_add(process->http_service, "POST /v1/traces",
                                        process->http_plan, error);
    }
    if (status == CPT_OK) {
        status = cpt_service_method_add(process->http_service, "GET /metrics",
                                        process->metrics_plan, error);
    }
    return status == CPT_OK
               ? cpt_http_listen(server.http, process->http_service, options->address,
                                 options->port, bound, error)
               : status;
}

static cpt_status open_grpc(struct process *process,
                            const struct cpti_collect_options *options, uint16_t *bound,
                            struct cpt_error *error)
{
    cpt_status status = CPT_FAILED;

    process->grpc_plan = cpt_plan_new(&grpc_graph, NULL, error);
    if (process->grpc_plan != NULL) {
        process->grpc_service = service_new(process->pool, error);
    }
    if (process->grpc_service != NULL) {
        status = cpt_service_method_add(
            process->grpc_service,
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            process->grpc_plan, error);
    }
    return status == CPT_OK
               ? cpti_collect_grpc_listen(process->grpc_service, options->address,
                                          options->grpc_port, bound, error)
               : status;
}

static void say_where(const struct cpti_collect_options *options, uint16_t port,
                      uint16_t grpc_port)
{
    const char *address = options->address != NULL ? options->address : "127.0.0.1";
    const bool is_v6 = strchr(address, ':') != NULL;
    const char *before = is_v6 ? "[" : "";
    const char *after = is_v6 ? "]" : "";

    (void)printf("cpt collect: http://%s%s%s:%u/v1/traces", before, address, after,
                 (unsigned)port);
    if (options->has_grpc) {
        (void)printf(", gRPC %s%s%s:%u", before, address, after, (unsigned)grpc_port);
    }
    (void)printf(" (Ctrl-C ends it)\n");
    (void)fflush(stdout);
}

/* Listens, says where, and collects until it is stopped. *@is_left: requests are left
 * that use what would be freed. */
static cpt_status serve(struct process *process,
                        const struct cpti_collect_options *options, bool *is_left,
                        struct cpt_error *error)
{
    uint16_t port = 0;
    uint16_t grpc_port = 0;
    struct cpt_executor *executor = NULL;
    /* large requests do not keep all of them busy */
    const struct cpt_pool_options pool = {.struct_bytes = sizeof pool,
                                          .worker_count = 2 * CPTI_COLLECT_LARGE_MAX,
                                          .name = "collect"};
    cpt_status status = CPT_FAILED;

    process->pool = cpt_pool_new(&pool, error);
    if (process->pool != NULL) {
        status = open_http(process, options, &port, error);
    }
    if (status == CPT_OK && options->has_grpc) {
        status = open_grpc(process, options, &grpc_port, error);
    }
    status = CPTI_THEN(status, cpt_http_stop_on_signals(server.http, error));
    if (status != CPT_OK) {
        return status;
    }
    set_signals();
    executor = cpt_http_executor(server.http);
    server.tick.fire = on_tick;
    status = executor->after(executor, &server.tick, TICK_NS);
    if (status != CPT_OK) {
        return status;
    }
    say_where(options, port, grpc_port);
    *is_left = cpt_http_run(server.http) != CPT_OK;
    (void)executor->cancel(executor, &server.tick);
    *is_left |= cpti_collect_grpc_stop() != CPT_OK;
    return CPT_OK;
}

/* Writes all that is held. enum cpti_exit. */
static int write_rest(void)
{
    while (cpti_collect_door_write(server.door, cpti_now_ns(), true, SIZE_MAX)) {
    }
    return cpti_collect_door_tell(server.door);
}

static void drain(const struct process *process, bool *is_left)
{
    if (process->http_service != NULL) {
        *is_left |= cpt_service_drain(process->http_service, DRAIN_NS) != CPT_OK;
    }
    if (process->grpc_service != NULL) {
        *is_left |= cpt_service_drain(process->grpc_service, DRAIN_NS) != CPT_OK;
    }
}

static void close_process(const struct process *process)
{
    cpt_pool_free(process->pool);
    cpt_service_free(process->http_service);
    cpt_service_free(process->grpc_service);
    cpti_collect_grpc_free();
    cpt_http_free(server.http);
    cpt_plan_free(process->http_plan);
    cpt_plan_free(process->grpc_plan);
    cpt_plan_free(process->metrics_plan);
    server.http = NULL;
}

static void close_log(void)
{
    (void)signal(SIGHUP, SIG_IGN);
    cpti_collect_door_free(server.door);
    cpt_log_file_free(server.log);
    server.door = NULL;
    server.log = NULL;
}

static int failed(const struct cpt_error *error, cpt_status status)
{
    return cpti_failed("%s", error->sentence[0] != '\0' ? error->sentence
                                                        : cpt_status_sentence(status));
}

/* What one thread frees, the others get: with a heap for each, there would be as many
 * times the memory that traces may have. */
static void share_memory(void)
{
#ifdef M_ARENA_MAX
    (void)mallopt(M_ARENA_MAX, 1);
#endif
}

int cpti_collect_serve(const struct cpti_collect_options *options)
{
    struct cpti_collect_door_options door = {.live = options->live};
    struct process process = {0};
    struct cpt_error error = {0};
    bool is_left = false;
    int exit_status = CPTI_EXIT_DONE;
    cpt_status status = CPT_OK;

    share_memory();
    server.log = cpt_log_file_new(&options->log, &error);
    if (server.log == NULL) {
        return failed(&error, error.status);
    }
    door.log = server.log;
    server.door = cpti_collect_door_new(&door);
    if (server.door == NULL) {
        close_log();
        return cpti_failed("out of memory");
    }
    status = serve(&process, options, &is_left, &error);
    drain(&process, &is_left);
    exit_status = status == CPT_OK ? write_rest() : failed(&error, status);
    if (is_left) { /* requests still use what would be freed here */
        (void)cpt_log_file_finish(server.log);
        exit_status = cpti_finish(exit_status);
        _exit(exit_status);
    }
    close_process(&process);
    close_log();
    return exit_status;
}
