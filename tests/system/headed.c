/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * headed.c - services whose replies carry other headers, for tests of proxies
 *
 *      headed entry|hop --to next=…    calls the next one
 *      headed leaf                     does not
 *
 *      GET /N/H-H-…/I          N: 1, or 60 tasks, or 2, which takes a while. H: how
 *                              many bytes of headers this one adds, and the next, …;
 *                              "c" behind it: caches may keep the reply. I is anything
 *      /demo.Headed/Get        the same over gRPC, "N H-H-… I" as its body; the headers
 *                              are trailers
 *
 * The body of the answer is "NAME.COUNT", how many requests this one has answered, and
 * behind it that of the next one. HEADED_NAME is the name of the service. The other
 * flags are those of cpt_service_main(). It prints "grpc PORT", too, if it has gRPC;
 * with HEADED_GRPC in its environment it calls by that.
 */
#include "framework/cpt_calls.h"
#include "framework/cpt_service_main.h"
#ifdef HEADED_WITH_GRPC
#include "framework/transport/cpt_grpc.h"
#endif

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN = 60, NAME_BYTES = 40, PIECE_BYTES = 400, NAP_NS = 3000000 };

CPT_VALUE(n, struct cpt_bytes);
CPT_VALUE(rest, struct cpt_bytes);
CPT_VALUE(i, struct cpt_bytes);
CPT_VALUE(answer, struct cpt_bytes);

static struct cpt_stub by_http = {.name = "next: http",
                                  .method = "GET /{n}/{rest}/{i}"};
#ifdef HEADED_WITH_GRPC
static struct cpt_stub by_grpc = {.name = "next: grpc", .method = "/demo.Headed/Get"};
#endif
static const char *own_name = "headed";
static atomic_ulong answered_count;

/* --- What is asked for --- */

/* Word @number of the body of a call by gRPC, or the parameter of the path. */
static struct cpt_bytes part(struct cpt_task *task, const char *name, unsigned number)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    const char *at = request->body.data;
    size_t left = request->body.bytes;

    if (left == 0) {
        return cpt_rpc_parameter(request, name);
    }
    for (; number > 0 && left > 0; left--, at++) {
        number -= *at == ' ';
    }
    for (size_t bytes = 0; bytes < left; bytes++) {
        if (at[bytes] == ' ') {
            return (struct cpt_bytes){at, bytes};
        }
    }
    return (struct cpt_bytes){at, left};
}

static cpt_status read_n(struct cpt_task *task)
{
    *cpt_output(task, n) = part(task, "n", 0);
    return CPT_OK;
}

static cpt_status read_rest(struct cpt_task *task)
{
    const struct cpt_bytes heads = part(task, "heads", 1);
    const char *mark = memchr(heads.data, '-', heads.bytes);

    *cpt_output(task, rest) =
        mark == NULL ? cpt_bytes_of("0")
                     : (struct cpt_bytes){
                           mark + 1, heads.bytes - (size_t)(mark + 1 - heads.data)};
    return CPT_OK;
}

static cpt_status read_i(struct cpt_task *task)
{
    *cpt_output(task, i) = part(task, "i", 2);
    return CPT_OK;
}

/* --- The reply --- */

/* Adds headers of as many bytes as the first number of @heads says. */
static cpt_status add_headers(struct cpt_task *task, struct cpt_rpc_reply *reply)
{
    static const char pad[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const struct cpt_bytes heads = part(task, "heads", 1);
    char value[PIECE_BYTES];
    size_t left = 0;
    size_t at = 0;
    cpt_status status = CPT_OK;

    for (; at < heads.bytes && heads.data[at] >= '0' && heads.data[at] <= '9'; at++) {
        left = 10 * left + (size_t)(heads.data[at] - '0');
    }
    for (size_t k = 0; k < sizeof value; k++) {
        value[k] = pad[k % (sizeof pad - 1)];
    }
    for (unsigned number = 0; left > 0 && status == CPT_OK; number++) {
        char name[16];
        const int bytes = snprintf(name, sizeof name, "x-other-%u", number);
        const size_t around = (size_t)bytes + 4; /* ": " and the end of the line */
        const size_t some = left > PIECE_BYTES ? PIECE_BYTES : left;

        if (some <= around) {
            break;
        }
        status = cpt_rpc_reply_header(task, reply, name,
                                      (struct cpt_bytes){value, some - around});
        left -= some;
    }
    if (status == CPT_OK && at < heads.bytes && heads.data[at] == 'c') {
        status = cpt_rpc_reply_header(task, reply, "cache-control",
                                      cpt_bytes_of("public, max-age=600"));
    }
    return status;
}

static cpt_status reply(struct cpt_task *task, struct cpt_bytes next)
{
    struct cpt_rpc_reply *out = cpt_output(task, rpc_reply);
    const cpt_status status = add_headers(task, out);

    if (status != CPT_OK) {
        return status;
    }
    return cpt_print(task, &out->body, "%s.%lu %.*s", own_name,
                     atomic_fetch_add(&answered_count, 1) + 1, (int)next.bytes,
                     next.bytes != 0 ? next.data : "");
}

static cpt_status page(struct cpt_task *task)
{
    return reply(task, *cpt_input(task, answer));
}

static const struct cpt_task_def hop_http[] = {
    {"read n", read_n, CPT_GIVES(n), CPT_NEEDS(rpc_request)},
    {"read rest", read_rest, CPT_GIVES(rest), CPT_NEEDS(rpc_request)},
    {"read i", read_i, CPT_GIVES(i), CPT_NEEDS(rpc_request)},
    CPT_CALLS("ask", answer, CPT_NEEDS(n, rest, i), &by_http),
    {"page", page, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request, answer)},
};

#ifdef HEADED_WITH_GRPC
static cpt_status came(struct cpt_task *task)
{
    struct cpt_pending *const *pending = cpt_state(task, struct cpt_pending *);
    const struct cpt_call_reply *got = cpt_call_reply(*pending);

    *cpt_output(task, answer) = got->body;
    return got->outcome == CPT_OUTCOME_OK ? CPT_OK : CPT_IO;
}

static cpt_status ask_by_grpc(struct cpt_task *task)
{
    struct cpt_pending **pending = cpt_state(task, struct cpt_pending *);
    const struct cpt_bytes *of[] = {cpt_input(task, n), cpt_input(task, rest),
                                    cpt_input(task, i)};
    struct cpt_bytes body;
    const cpt_status status =
        cpt_print(task, &body, "%.*s %.*s %.*s", (int)of[0]->bytes, of[0]->data,
                  (int)of[1]->bytes, of[1]->data, (int)of[2]->bytes, of[2]->data);

    if (status != CPT_OK) {
        return status;
    }
    *pending = cpt_call(task, &by_grpc, body);
    return cpt_await(task, *pending, came);
}

static const struct cpt_task_def hop_grpc[] = {
    {"read n", read_n, CPT_GIVES(n), CPT_NEEDS(rpc_request)},
    {"read rest", read_rest, CPT_GIVES(rest), CPT_NEEDS(rpc_request)},
    {"read i", read_i, CPT_GIVES(i), CPT_NEEDS(rpc_request)},
    {"ask", ask_by_grpc, CPT_GIVES(answer), CPT_NEEDS(n, rest, i)},
    {"page", page, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request, answer)},
};
#endif

/* --- The last one: tasks in a row --- */

static char names[CHAIN][NAME_BYTES];
static struct cpt_value values[CHAIN];
static struct cpt_task_def chain[CHAIN];

static cpt_status leaf(struct cpt_task *task)
{
    return reply(task, cpt_bytes_of(""));
}

static cpt_status step(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

static cpt_status nap(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", NAP_NS), leaf);
}

static const struct cpt_task_def one[] = {
    {"leaf", leaf, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_task_def slow[] = {
    {"nap", nap, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};

static void make_chain(void)
{
    for (unsigned k = 0; k < CHAIN; k++) {
        const bool is_last = k + 1 == CHAIN;

        (void)snprintf(names[k], NAME_BYTES, "step %u of many that have names", k);
        values[k] = (struct cpt_value){.name = names[k], .bytes = 1};
        chain[k].name = names[k];
        chain[k].run = is_last ? leaf : step;
        chain[k].gives = is_last ? CPT_GIVES(rpc_reply) : &values[k];
        chain[k].needs[0] = &cpt_value_rpc_request;
        chain[k].needs[1] = k != 0 ? &values[k - 1] : NULL;
    }
}

/* --- gRPC --- */

#ifdef HEADED_WITH_GRPC
static struct cpt_grpc *grpc;

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
    by_grpc.transport = cpt_grpc_transport(grpc);
    status = cpt_grpc_listen(grpc, parts->service, NULL, 0, &port, error);
    (void)printf("grpc %u\n", port);
    (void)fflush(stdout);
    return status;
}

static void end(void *context)
{
    (void)context;
    (void)cpt_grpc_stop(grpc);
    cpt_grpc_free(grpc);
}
#endif

int main(int argc, char **argv)
{
    static const struct cpt_service_options unlimited = {
        .struct_bytes = sizeof unlimited,
        .trusts_forwarded = 1, /* proxies stand before it */
        .forced_per_second_max = -1,
        .asked_per_second_max = -1,
        .probability = -1};
    static const struct cpt_service_options inner = {
        .struct_bytes = sizeof inner, .role = CPT_ROLE_INNER, .probability = -1};
    static struct cpt_main_method of_leaf[5] = {
        {"GET /1/{heads}/{i}", one, 1, 0},
        {"GET /2/{heads}/{i}", slow, 1, 0},
        {"GET /60/{heads}/{i}", chain, CHAIN, 0},
        {"/demo.Headed/Get", chain, CHAIN, 0}};
    static struct cpt_main_method of_hop[3] = {
        {"GET /{n}/{heads}/{i}", hop_http, sizeof hop_http / sizeof *hop_http, 0}};
    struct cpt_main_options options = {.struct_bytes = sizeof options};
    static struct cpt_stub *stubs[2] = {&by_http, NULL};
    const bool is_leaf = argc > 1 && strcmp(argv[1], "leaf") == 0;

    if (argc < 2) {
        return 2;
    }
    own_name = getenv("HEADED_NAME") != NULL ? getenv("HEADED_NAME") : own_name;
    make_chain();
    options.name = own_name;
    options.service = strcmp(argv[1], "entry") == 0 ? &unlimited : &inner;
    options.methods = is_leaf ? of_leaf : of_hop;
    options.stubs = is_leaf ? NULL : stubs;
#ifdef HEADED_WITH_GRPC
    of_hop[1] = (struct cpt_main_method){"/demo.Headed/Get", hop_grpc,
                                         sizeof hop_grpc / sizeof *hop_grpc, 0};
    if (getenv("HEADED_GRPC") != NULL) {
        stubs[0] = &by_grpc;
        of_hop[0].tasks = hop_grpc;
        of_hop[0].task_count = sizeof hop_grpc / sizeof *hop_grpc;
    } else {
        of_hop[1] = (struct cpt_main_method){NULL, NULL, 0, 0};
    }
    options.begin = begin;
    options.end = end;
#endif
    argv[1] = argv[0];
    return cpt_service_main(argc - 1, argv + 1, &options);
}
