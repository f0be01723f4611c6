/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_server.c - the site on the transport of framework/; see web_server.h
 *
 * A request is one task. It answers at once, or makes a job and waits for it:
 *
 *      begin --> job --> worker: done --> [ outbox ] --> end: reply
 *         '--> reply
 *
 * The job is memory of the request, and is there until the job is done. The body is
 * not, and a request whose client has left never comes to `end`. So a body passes
 * through the outbox, which holds the latest ones, each until it is taken or its place
 * is needed.
 */
#include "tool/web/web_server.h"

#include "tool/base/output.h"
#include "tool/base/command.h"
#include "tool/web/web_place.h"
#include "tool/web/web_token.h"
#include "tool/web/web_work.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/transport/cpt_http.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OUTBOX_COUNT = 2 * CPTI_WEB_JOBS_MAX, /* more than can be on their way */
    CONNECTIONS_MAX = 256,
    REQUESTS_MAX = 128,
    REQUEST_PART = 4, /* of cpt_memory_max(): at most so much for a request */
    BODY_BYTES_MAX = 64 * 1024,
    HEADER_BYTES_MAX = 32 * 1024,
    BUSY = 503
};

#define REQUEST_BYTES_MAX ((size_t)512 << 20)
#define IDLE_NS           UINT64_C(60000000000)
#define DRAIN_NS          UINT64_C(1000000000)

static const char policy[] =
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'";

static const char *const reply_headers[] = {
    policy,
    "X-Content-Type-Options: nosniff",
    "Referrer-Policy: no-referrer",
    "Cross-Origin-Resource-Policy: same-origin",
    "Cache-Control: no-store",
    NULL,
};

/* An answer on its way from a worker to its request. */
struct parcel {
    uint64_t ticket; /* 0: none */
    struct cpti_web_answer answer;
};

/* The one server of the process: tasks have no other way to find it. Written before the
 * first request. */
static struct {
    struct cpti_web_site *site;
    struct cpti_web_work *work;
    struct cpti_web_token token;
    pthread_mutex_t mutex; /* guards what follows */
    struct parcel outbox[OUTBOX_COUNT];
    uint64_t last_ticket;
} server = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* --- The outbox --- */

static uint64_t outbox_put(const struct cpti_web_answer *answer)
{
    struct parcel *parcel;
    uint64_t ticket;

    (void)pthread_mutex_lock(&server.mutex);
    ticket = ++server.last_ticket;
    parcel = &server.outbox[ticket % OUTBOX_COUNT];
    free(parcel->answer.body); /* of a client that has left */
    *parcel = (struct parcel){ticket, *answer};
    (void)pthread_mutex_unlock(&server.mutex);
    return ticket;
}

/* False: it is not there. */
static bool outbox_take(uint64_t ticket, struct cpti_web_answer *answer)
{
    struct parcel *parcel = &server.outbox[ticket % OUTBOX_COUNT];
    bool is_there;

    (void)pthread_mutex_lock(&server.mutex);
    is_there = ticket != 0 && parcel->ticket == ticket;
    if (is_there) {
        *answer = parcel->answer;
        *parcel = (struct parcel){0};
    }
    (void)pthread_mutex_unlock(&server.mutex);
    return is_there;
}

static void outbox_deinit(void)
{
    for (size_t i = 0; i < OUTBOX_COUNT; i++) {
        free(server.outbox[i].answer.body);
        server.outbox[i] = (struct parcel){0};
    }
}

/* --- Requests --- */

/* Whether a request may be answered: on an address that others reach it shows the
 * token. To such an address browsers do not say which page asks, so nothing else would
 * keep those of other sites out. */
static bool is_allowed(const struct cpt_rpc_request *request)
{
    return server.token.text[0] == '\0' ||
           cpti_web_token_is_shown(&server.token, request->query,
                                   cpt_rpc_header(request, "Authorization"));
}

/* What the two steps of a request share, and a worker. */
struct visit {
    struct cpti_web_job job;
    struct cpt_pending *pending;
    uint64_t ticket; /* written by the worker before the pending is complete */
};

static void on_done(struct cpti_web_job *job, struct cpti_web_answer *answer)
{
    struct visit *visit = (struct visit *)(void *)job; /* its first member */
    struct cpt_pending *pending = visit->pending;

    visit->ticket = outbox_put(answer);
    cpt_complete(pending, CPT_OK);
}

static void on_cancel(void *context)
{
    struct visit *visit = context;

    atomic_store(&visit->job.is_unwanted, true);
}

/* Replies with @answer, whose body is freed. */
static cpt_status reply_with(struct cpt_task *task, struct cpti_web_answer *answer)
{
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    char *body = cpt_task_memory(task, answer->bytes + 1);

    reply->http_status = answer->status;
    reply->content_type = cpt_bytes_of(answer->type);
    if (body != NULL && answer->body != NULL) {
        memcpy(body, answer->body, answer->bytes);
        reply->body = (struct cpt_bytes){body, answer->bytes};
    } else if (answer->status < 400) {
        reply->http_status = BUSY;
    }
    free(answer->body);
    return CPT_OK;
}

static cpt_status end(struct cpt_task *task)
{
    const struct visit *visit = cpt_state(task, struct visit);
    struct cpti_web_answer answer;

    if (!outbox_take(visit->ticket, &answer)) {
        cpti_web_site_refuse(&answer, BUSY,
                             "too many requests at once; ask again in a moment");
    }
    return reply_with(task, &answer);
}

static cpt_status begin(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct visit *visit = cpt_state(task, struct visit);
    struct cpti_web_answer answer;

    if (!is_allowed(request)) {
        cpti_web_site_forbid(request->method, &answer);
        return reply_with(task, &answer);
    }
    if (cpti_web_site_at_once(server.site, request->method, request->query, &answer)) {
        return reply_with(task, &answer);
    }
    if (visit == NULL) {
        return cpt_fail(task, CPT_LIMIT, "no memory for the request");
    }
    visit->job.path = request->method;
    visit->job.query = request->query;
    visit->job.done = on_done;
    visit->pending = cpt_defer_cancellable(task, "answer", on_cancel, visit);
    if (visit->pending != NULL && !cpti_web_work_submit(server.work, &visit->job)) {
        cpt_complete(visit->pending, CPT_OK); /* without a ticket */
    }
    return cpt_await(task, visit->pending, end);
}

static const struct cpt_task_def tasks[] = {
    {"visit", begin, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph graph = {"cpt web", CPT_GIVES(rpc_request),
                                       CPT_GIVES(rpc_reply), tasks, 1};

/* --- The process --- */

struct process {
    struct cpt_http *http;
    struct cpt_service *service;
    struct cpt_plan *plan;
};

static cpt_status open_process(struct process *process,
                               const struct cpti_web_place *place,
                               struct cpt_error *error)
{
    const struct cpt_http_options http = {
        .struct_bytes = sizeof http,
        .drain_ns = DRAIN_NS,
        .idle_ns = IDLE_NS,
        .header_bytes_max = HEADER_BYTES_MAX,
        .body_bytes_max = BODY_BYTES_MAX,
        .accepted_count_max = CONNECTIONS_MAX,
        .hosts = place->hosts,
        .reply_headers = reply_headers,
        .serves_get_only = 1,
    };
    struct cpt_service_options service = {
        .struct_bytes = sizeof service,
        .name = "cpt web",
        .probability = -1,            /* it is not traced */
        .notices_per_second_max = -1, /* readers that leave are no trouble */
        .memory_bytes_max = cpt_memory_part(REQUEST_BYTES_MAX, REQUEST_PART),
        .requests_in_flight_max = REQUESTS_MAX,
    };

    process->http = cpt_http_new(&http, error);
    process->plan = cpt_plan_new(&graph, NULL, error);
    if (process->http == NULL || process->plan == NULL) {
        return CPT_FAILED;
    }
    service.executor = cpt_http_executor(process->http);
    process->service = cpt_service_new(&service, error);
    if (process->service == NULL) {
        return CPT_FAILED;
    }
    cpt_service_enable(process->service, 0);
    return cpt_service_method_add(process->service, "*", process->plan, error);
}

/* Says at which address the page is. */
static void print_address(const struct cpti_web_place *place, uint16_t port)
{
    const struct cpti_web_token *token = &server.token;
    const bool has_token = token->text[0] != '\0';

    (void)printf("cpt web: http://%s:%u/%s%s (Ctrl-C ends it)\n", place->hosts[0],
                 (unsigned)port, has_token ? "?token=" : "", token->text);
    if (has_token) {
        (void)printf("cpt web: with this address all requests can be read; %s%s\n",
                     token->path[0] != '\0' ? "its token is kept in " : "",
                     token->path[0] != '\0'
                         ? cpti_quoted(token->path)
                         : "its token cannot be kept, and is another one next time");
    }
    (void)fflush(stdout);
}

static int print_error(cpt_status status, const struct cpt_error *error)
{
    return cpti_failed("%s", error->sentence[0] != '\0' ? error->sentence
                                                        : cpt_status_sentence(status));
}

/* Listens, says where, and serves until it is stopped. *@is_left says whether requests
 * are left. enum cpti_exit. */
static int serve(const struct process *process, const struct cpti_web_options *options,
                 const struct cpti_web_place *place, bool *is_left)
{
    struct cpt_error error = {0};
    uint16_t bound = 0;
    cpt_status status = cpt_http_listen(process->http, process->service, place->address,
                                        options->port, &bound, &error);
    int exit_status = CPTI_EXIT_DONE;

    status = CPTI_THEN(status, cpt_http_stop_on_signals(process->http, &error));
    if (status != CPT_OK) {
        return print_error(status, &error);
    }
    if (!place->is_loopback) {
        exit_status = cpti_web_token_take(&server.token, options->first_word);
    }
    if (exit_status == CPTI_EXIT_DONE) {
        print_address(place, bound);
        *is_left = cpt_http_run(process->http) != CPT_OK;
    }
    return exit_status;
}

static void close_process(struct process *process, bool is_left)
{
    cpti_web_work_free(server.work);
    server.work = NULL;
    if (process->service != NULL &&
        (cpt_service_drain(process->service, DRAIN_NS) != CPT_OK || is_left)) {
        (void)cpti_finish(CPTI_EXIT_DONE);
        _exit(CPTI_EXIT_DONE); /* requests still use what would be freed here */
    }
    cpt_service_free(process->service);
    cpt_http_free(process->http);
    cpt_plan_free(process->plan);
    outbox_deinit();
}

int cpti_web_serve(const struct cpti_web_options *options)
{
    struct process process = {0};
    struct cpt_error error = {0};
    struct cpti_web_place place;
    bool is_left = false;
    int exit_status = CPTI_EXIT_FAILED;
    cpt_status status;

    cpti_web_place_init(&place, options->address);
    server.site = cpti_web_site_new(options->operands, options->operand_count,
                                    options->cache_bytes);
    if (server.site == NULL) {
        return CPTI_EXIT_FAILED;
    }
    cpti_web_site_graphs(server.site, options->whatif);
    cpti_web_site_token(server.site, server.token.text);
    status = open_process(&process, &place, &error);
    if (status != CPT_OK) {
        (void)print_error(status, &error);
    } else if ((server.work = cpti_web_work_new(server.site)) != NULL) {
        exit_status = serve(&process, options, &place, &is_left);
    }
    close_process(&process, is_left);
    cpti_web_site_free(server.site);
    server.site = NULL;
    return exit_status;
}
