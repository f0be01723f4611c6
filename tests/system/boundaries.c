/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * boundaries.c - what a path shows where a service ends, in virtual time, for documents
 *
 *      boundaries CASE | cpt metadata
 *
 * A computes for 2 ms, calls B, and computes for 1 ms. CASE says how B answers, and
 * what A does about it: a row of `cases`. In `coalesced` no B is called: two requests
 * share a run of 10 ms; the path is that of the second, which came 4 ms after the
 * first.
 */
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_shared.h"
#include "wire/cpt_metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum { ATTEMPTS_MAX = 2, METADATA_BYTES = 512 };

/* How one attempt ends. All 0: it is not made. */
struct attempt {
    unsigned after_ms;
    unsigned http_status; /* 0: the stub's timeout, 20 ms, comes first */
    unsigned path_ms;     /* sum of B's path; 0: it sends none */
    unsigned elapsed_ms;  /* what B says that it took; 0: nothing */
    int is_cached;
    int is_bad;             /* its path is not one */
    unsigned send_ms;       /* of after_ms, in A's queue to send */
    unsigned receive_ms;    /* and in A's queue to receive */
    unsigned message_count; /* of a stream, each after after_ms / message_count */
};

static const struct example {
    const char *name;
    struct attempt attempts[ATTEMPTS_MAX];
    unsigned backoff_ms;
    unsigned hedge_ms;
} cases[] = {
    {"retry",
     {{.after_ms = 4, .http_status = 503, .path_ms = 3, .elapsed_ms = 3},
      {.after_ms = 7, .http_status = 200, .path_ms = 6, .elapsed_ms = 6}},
     .backoff_ms = 5},
    {"hedge",
     {{.after_ms = 19, .http_status = 200, .path_ms = 18, .elapsed_ms = 18},
      {.after_ms = 7, .http_status = 200, .path_ms = 6, .elapsed_ms = 6}},
     .hedge_ms = 5},
    {"timeout", {{.after_ms = 0}}},
    {"undercount",
     {{.after_ms = 12, .http_status = 200, .path_ms = 8, .elapsed_ms = 10}}},
    {"overcount",
     {{.after_ms = 12, .http_status = 200, .path_ms = 15, .elapsed_ms = 15}}},
    {"queues",
     {{.after_ms = 12,
       .http_status = 200,
       .path_ms = 7,
       .elapsed_ms = 7,
       .send_ms = 2,
       .receive_ms = 1}}},
    {"stream",
     {{.after_ms = 12,
       .http_status = 200,
       .path_ms = 11,
       .elapsed_ms = 11,
       .message_count = 4}}},
    {"cached",
     {{.after_ms = 1,
       .http_status = 200,
       .path_ms = 8,
       .elapsed_ms = 10,
       .is_cached = 1}}},
    {"no-path", {{.after_ms = 12, .http_status = 200}}},
    {"bad-path",
     {{.after_ms = 12,
       .http_status = 200,
       .path_ms = 8,
       .elapsed_ms = 10,
       .is_bad = 1}}},
    {"failed", {{.after_ms = 3, .path_ms = 1}}},
    {"coalesced", {{.after_ms = 0}}},
};

static const struct example *example;
static unsigned shared_count; /* requests that share work */
static struct virtual_time now;

static void must(int condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "boundaries: %s\n", what);
        exit(1);
    }
}

/* --- B, which is a timer --- */

struct passage {
    struct cpt_timer timer; /* first */
    struct cpt_transport_call *call;
    const struct attempt *attempt;
    unsigned message_count; /* that have come */
    int is_cancelled;
};

static struct passage passages[ATTEMPTS_MAX];
static size_t passage_count;

static size_t metadata_of(const struct attempt *attempt, unsigned char *data)
{
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options,
        .server_elapsed_ns = attempt->elapsed_ms * MS,
        .has_server_elapsed = attempt->elapsed_ms != 0};
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t root = 0;
    uint32_t disk = 0;
    size_t bytes = 0;

    if (attempt->path_ms == 0) {
        cpt_path_free(path);
        return 0;
    }
    must(path != NULL &&
             cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: /look"),
                                CPT_KIND_WORK, &root) == CPT_OK &&
             cpt_path_frame_add(path, root, cpt_bytes_of("B: disk"), CPT_KIND_WORK,
                                &disk) == CPT_OK &&
             cpt_path_append_ns(path, root, MS) == CPT_OK &&
             cpt_path_append_ns(path, disk, (attempt->path_ms - 1) * MS) == CPT_OK &&
             cpt_metadata_write(path, &options, data, METADATA_BYTES, &bytes, NULL) ==
                 CPT_OK,
         "no metadata");
    cpt_path_free(path);
    return bytes;
}

/* When the next message comes, or the answer. */
static uint64_t next_ns(const struct attempt *attempt)
{
    return attempt->after_ms * MS /
           (attempt->message_count != 0 ? attempt->message_count : 1);
}

static void answer_call(struct cpt_timer *timer)
{
    struct passage *passage = (struct passage *)timer;
    const struct attempt *attempt = passage->attempt;
    unsigned char metadata[METADATA_BYTES];
    struct cpt_transport_reply reply = {.status = CPT_OK,
                                        .http_status = attempt->http_status,
                                        .is_cached = attempt->is_cached,
                                        .is_metadata_bad = attempt->is_bad,
                                        .send_queue_ns = attempt->send_ms * MS,
                                        .receive_queue_ns = attempt->receive_ms * MS};

    passage->message_count++;
    if (passage->message_count < attempt->message_count && !passage->is_cancelled) {
        (void)now.executor.after(&now.executor, timer, next_ns(attempt));
        return; /* the path comes behind the last message */
    }
    reply.metadata.data = (char *)metadata;
    reply.metadata.bytes = metadata_of(attempt, metadata);
    if (passage->is_cancelled) {
        reply.status = CPT_CANCELLED;
    } else if (attempt->http_status == 0) {
        reply.status = attempt->after_ms == 0 ? CPT_TIMEOUT : CPT_UNAVAILABLE;
    }
    cpt_transport_complete(passage->call, &reply);
}

static void send_call(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    struct passage *passage = &passages[passage_count];
    const struct attempt *attempt = &example->attempts[passage_count];

    (void)transport;
    passage_count++;
    *passage = (struct passage){
        .timer = {.fire = answer_call}, .call = call, .attempt = attempt};
    call->state = passage;
    cpt_transport_sent(call);
    (void)now.executor.after(&now.executor, &passage->timer,
                             attempt->after_ms != 0 ? next_ns(attempt)
                                                    : call->timeout_ns);
}

static void cancel_call(struct cpt_transport *transport,
                        struct cpt_transport_call *call)
{
    struct passage *passage = call->state;

    (void)transport;
    if (now.executor.cancel(&now.executor, &passage->timer) != 0) {
        passage->is_cancelled = 1;
        (void)now.executor.after(&now.executor, &passage->timer, 0);
    }
}

static struct cpt_transport transport = {"wire", send_call, cancel_call};
static const struct cpt_stub look = {.name = "B: /look",
                                     .target = "B",
                                     .method = "/look",
                                     .transport = &transport,
                                     .timeout_ns = 20 * MS};

/* --- A --- */

struct calls {
    struct cpt_pending *pendings[ATTEMPTS_MAX];
};

static cpt_status use(struct cpt_task *task)
{
    const struct calls *calls = cpt_state(task, struct calls);

    for (size_t i = 0; i < ATTEMPTS_MAX; i++) {
        if (calls->pendings[i] != NULL) {
            (void)cpt_cancel(calls->pendings[i]);
        }
    }
    now.now_ns += shared_count == 0 ? MS : 0; /* two do not compute at once here */
    cpt_output(task, rpc_reply)->outcome = CPT_OUTCOME_OK;
    return CPT_OK;
}

static cpt_status again(struct cpt_task *task)
{
    struct calls *calls = cpt_state(task, struct calls);

    calls->pendings[1] = cpt_call_attempt(task, &look, cpt_bytes_of(""), 2);
    return example->hedge_ms == 0
               ? cpt_await(task, calls->pendings[1], use)
               : cpt_await_some(task, calls->pendings, ATTEMPTS_MAX, 1, use);
}

static cpt_status look_at(struct cpt_task *task)
{
    const struct calls *calls = cpt_state(task, struct calls);
    const struct cpt_call_reply *reply = cpt_call_reply(calls->pendings[0]);

    if (reply == NULL) {
        return again(task); /* the time of the hedge is over */
    }
    return example->backoff_ms == 0
               ? use(task)
               : cpt_await(task, cpt_back_off(task, example->backoff_ms * MS), again);
}

static cpt_status page(struct cpt_task *task)
{
    struct calls *calls = cpt_state(task, struct calls);
    struct cpt_pending *first[2];

    now.now_ns += 2 * MS;
    calls->pendings[0] = cpt_call_attempt(task, &look, cpt_bytes_of(""),
                                          example->attempts[1].after_ms != 0 ? 1 : 0);
    if (example->hedge_ms == 0) {
        return cpt_await(task, calls->pendings[0], look_at);
    }
    first[0] = calls->pendings[0];
    first[1] = cpt_hedge_wait(task, &look, example->hedge_ms * MS);
    return cpt_await_some(task, first, 2, 1, look_at);
}

/* --- Work that is shared --- */

CPT_VALUE(key, int);
CPT_VALUE(entry, int);

static struct cpt_shared *shared;

static cpt_status loaded(struct cpt_task *task)
{
    *cpt_output(task, entry) = *cpt_input(task, key);
    return CPT_OK;
}

static cpt_status load(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "disk", 10 * MS), loaded);
}

static cpt_status page_of_entry(struct cpt_task *task)
{
    static const int seven = 7;

    now.now_ns += 2 * MS;
    shared_count++;
    return cpt_await(task, cpt_share(task, shared, cpt_bytes_of("seven"), key, &seven),
                     use);
}

static const struct cpt_task_def load_tasks[] = {
    {"load", load, CPT_GIVES(entry), CPT_NEEDS(key)}};
static const struct cpt_graph load_graph = CPT_GRAPH("A", key, entry, load_tasks);

/* --- The request --- */

static unsigned char answered[CPT_METADATA_BYTES_DEFAULT];
static size_t answered_bytes;

static void note_answer(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    answered_bytes = outbound->metadata.bytes;
    memcpy(answered, outbound->metadata.data, answered_bytes);
}

static void run(int is_coalesced)
{
    const struct cpt_task_def tasks[] = {{"page", is_coalesced ? page_of_entry : page,
                                          CPT_GIVES(rpc_reply),
                                          CPT_NEEDS(rpc_request)}};
    const struct cpt_graph graph = CPT_GRAPH("A", rpc_request, rpc_reply, tasks);
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "A",
                                                .role = CPT_ROLE_INNER,
                                                .executor = &now.executor,
                                                .clock = &now.clock,
                                                .probability = -1};
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/"),
                                        .critical_path = cpt_bytes_of("1"),
                                        .critical_path_count = 1,
                                        .peer_address = cpt_bytes_of("127.0.0.1")};
    struct cpt_error error = {0};
    struct cpt_plan *plan = NULL;
    struct cpt_plan *load_plan = cpt_plan_new(&load_graph, NULL, &error);
    const struct cpt_shared_options work = {
        .struct_bytes = sizeof work, .plan = load_plan, .name = "entry"};
    struct cpt_service *service = NULL;

    virtual_init(&now, 0);
    plan = cpt_plan_new(&graph, NULL, &error);
    service = cpt_service_new(&options, &error);
    shared = cpt_shared_new(&work, &error);
    must(plan != NULL && service != NULL && shared != NULL &&
             cpt_service_method_add(service, "/", plan, &error) == CPT_OK,
         error.sentence);
    cpt_service_serve(service, &inbound, note_answer, NULL);
    if (is_coalesced) {
        virtual_run_until(&now, now.now_ns + 4 * MS);
        cpt_service_serve(service, &inbound, note_answer, NULL);
    }
    virtual_run(&now);
    must(cpt_service_drain(service, 0) == CPT_OK, "it has not ended");
    cpt_service_free(service);
    cpt_shared_free(shared);
    cpt_plan_free(plan);
    cpt_plan_free(load_plan);
}

int main(int argc, char **argv)
{
    char text[CPT_BASE64_BYTES(CPT_METADATA_BYTES_DEFAULT) + 1];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        example =
            argc == 2 && strcmp(argv[1], cases[i].name) == 0 ? &cases[i] : example;
    }
    must(example != NULL, "no such case");
    run(strcmp(example->name, "coalesced") == 0);
    (void)cpt_base64_encode(answered, answered_bytes, text, sizeof text);
    return printf("%s\n", text) > 0 ? 0 : 1;
}
