/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_chain.c - services around one on grpc++, as processes
 *
 *      grpc_chain A --to m=HOST:PORT   entry over HTTP, calls /demo.Greeter/Hello of M,
 *                      for "/count" the stream /demo.Greeter/Count
 *      grpc_chain C --to d=http://…    over gRPC, /demo.Greeter/Hello calls /leaf of D;
 *                      so does the stream Count, between its messages
 *      grpc_chain D                    over HTTP, "/leaf" sleeps and answers
 *
 * The other flags are those of cpt_service_main(). C prints "grpc PORT", too. Messages
 * are passed on as bytes: field 1 of demo.Text.
 */
#include "framework/cpt_calls.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/cpt_service_main.h"
#include "framework/transport/cpt_grpc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

static struct cpt_stub to_m = {.name = "m: Hello", .method = "/demo.Greeter/Hello"};
static struct cpt_stub to_m_count = {
    .name = "m: Count", .method = "/demo.Greeter/Count", .is_stream = 1};
static struct cpt_stub to_d = {.name = "d: /leaf", .method = "/leaf"};
static struct cpt_grpc *grpc;
static bool serves_grpc;

static cpt_status answered(struct cpt_task *task)
{
    struct cpt_pending *const *pending = cpt_state(task, struct cpt_pending *);
    const struct cpt_call_reply *reply = cpt_call_reply(*pending);
    struct cpt_rpc_reply *out = cpt_output(task, rpc_reply);

    out->outcome = reply->outcome;
    out->body = reply->body;
    return CPT_OK;
}

static cpt_status call(struct cpt_task *task, const struct cpt_stub *stub,
                       struct cpt_bytes body)
{
    struct cpt_pending **pending = cpt_state(task, struct cpt_pending *);

    *pending = cpt_call(task, stub, body);
    return cpt_await(task, *pending, answered);
}

/* The texts of the messages, each with a ','. */
static cpt_status counted(struct cpt_task *task)
{
    struct cpt_pending *const *pending = cpt_state(task, struct cpt_pending *);
    const struct cpt_call_reply *reply = cpt_call_reply(*pending);
    struct cpt_rpc_reply *out = cpt_output(task, rpc_reply);
    cpt_status status = CPT_OK;

    out->outcome = reply->outcome;
    for (size_t i = 0; i < reply->message_count && status == CPT_OK; i++) {
        const struct cpt_bytes message = reply->messages[i];

        status =
            cpt_print(task, &out->body, "%.*s%.*s,", (int)out->body.bytes,
                      out->body.data != NULL ? out->body.data : "",
                      message.bytes > 2 ? (int)message.bytes - 2 : 0, message.data + 2);
    }
    return status;
}

static cpt_status call_m(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    char *text = cpt_task_memory(task, request->query.bytes + 2);

    if (text == NULL || request->query.bytes > 120) {
        return CPT_LIMIT;
    }
    text[0] = '\x0a';
    text[1] = (char)request->query.bytes;
    if (request->query.bytes > 0) {
        memcpy(text + 2, request->query.data, request->query.bytes);
    }
    if (cpt_bytes_equal(request->method, cpt_bytes_of("/count"))) {
        struct cpt_pending **pending = cpt_state(task, struct cpt_pending *);

        *pending = cpt_call(task, &to_m_count,
                            (struct cpt_bytes){text, request->query.bytes + 2});
        return cpt_await(task, *pending, counted);
    }
    return call(task, &to_m, (struct cpt_bytes){text, request->query.bytes + 2});
}

static cpt_status call_d(struct cpt_task *task)
{
    return call(task, &to_d, cpt_input(task, rpc_request)->body);
}

/* Sends the text of the request and a digit. */
static cpt_status send_one(struct cpt_task *task, char digit)
{
    const struct cpt_bytes body = cpt_input(task, rpc_request)->body;
    struct cpt_bytes message;
    cpt_status status = CPT_INVALID;

    if (body.bytes >= 2 && body.bytes < 120) {
        status = cpt_print(task, &message, "\x0a%c%.*s%c", (int)body.bytes - 1,
                           (int)body.bytes - 2, body.data + 2, digit);
    }
    return status == CPT_OK ? cpt_rpc_send(task, message) : status;
}

static cpt_status counted_on(struct cpt_task *task)
{
    const cpt_status status = send_one(task, '1');

    return status == CPT_OK ? send_one(task, '2') : status;
}

static cpt_status count(struct cpt_task *task)
{
    struct cpt_pending **pending = cpt_state(task, struct cpt_pending *);
    const cpt_status status = send_one(task, '0');

    if (status != CPT_OK) {
        return status;
    }
    *pending = cpt_call(task, &to_d, cpt_input(task, rpc_request)->body);
    return cpt_await(task, *pending, counted_on);
}

static cpt_status leaf_answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_input(task, rpc_request)->body;
    return CPT_OK;
}

static cpt_status leaf(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "d: nap", 5 * MS), leaf_answer);
}

static const struct cpt_task_def tasks_of_a[] = {
    {"page", call_m, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_task_def tasks_of_c[] = {
    {"stock", call_d, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_task_def counts_of_c[] = {
    {"count", count, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_task_def tasks_of_d[] = {
    {"leaf", leaf, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};

static cpt_status begin(void *context, const struct cpt_main_parts *parts,
                        struct cpt_error *error)
{
    uint16_t port = 0;
    cpt_status status = CPT_OK;

    (void)context;
    grpc = cpt_grpc_new(NULL, error);
    if (grpc == NULL) {
        return CPT_IO;
    }
    to_m.transport = cpt_grpc_transport(grpc);
    to_m_count.transport = to_m.transport;
    to_m_count.target = to_m.target;
    if (serves_grpc) {
        status = cpt_grpc_listen(grpc, parts->service, NULL, 0, &port, error);
        (void)printf("grpc %u\n", port);
        (void)fflush(stdout);
    }
    return status;
}

static void end(void *context)
{
    (void)context;
    (void)cpt_grpc_stop(grpc);
    cpt_grpc_free(grpc);
}

int main(int argc, char **argv)
{
    static const struct cpt_main_method methods[3][3] = {
        {{"/", tasks_of_a, 1, 0}, {"/count", tasks_of_a, 1, 0}, {NULL, NULL, 0, 0}},
        {{"/demo.Greeter/Hello", tasks_of_c, 1, 0},
         {"/demo.Greeter/Count", counts_of_c, 1, 0},
         {NULL, NULL, 0, 0}},
        {{"/leaf", tasks_of_d, 1, 0}, {NULL, NULL, 0, 0}, {NULL, NULL, 0, 0}}};
    static struct cpt_stub *const stubs[3][2] = {
        {&to_m, NULL}, {&to_d, NULL}, {NULL, NULL}};
    static const char *const names[] = {"A", "C", "D"};
    const int which = argc > 1 ? argv[1][0] - 'A' - (argv[1][0] > 'A') : -1;
    static const struct cpt_service_options unlimited = {
        .struct_bytes = sizeof unlimited, .forced_per_second_max = -1};
    struct cpt_main_options options = {
        .struct_bytes = sizeof options, .begin = begin, .service = &unlimited};

    if (which < 0 || which > 2) {
        return 2;
    }
    serves_grpc = which == 1;
    options.name = names[which];
    options.methods = methods[which];
    options.stubs = stubs[which];
    options.end = end;
    options.role = which == 0 ? CPT_ROLE_ENTRY : CPT_ROLE_INNER;
    return cpt_service_main(argc - 1, argv + 1, &options);
}
