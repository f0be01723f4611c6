/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * every_service.c - a shop that uses what came late: verbs, parameters, TLS, gRPC
 *
 *      every_service front|users|stock [flags of cpt_service_main()]
 *
 *      front, an entry over HTTP
 *        GET  /page/{id}         users by HTTPS, a lock, stock by gRPC
 *        POST /enter/{id}        takes the lock "cart", calls PUT /check/{id} of users
 *        POST /again/{id}        waits for the lock
 *        GET  /wait/{who}/{id}   calls who: users, stock, bare (stock, another stub),
 *                                tls (users, another stub), script; which sleep
 *      users, over HTTPS
 *        GET  /users/{id}        PUT /check/{id} calls /shop.Stock/Check
 *        GET  /sleep/{id}        sleeps for an hour
 *      stock, over gRPC, whose port it prints: "grpc PORT"
 *        /shop.Stock/Level       /shop.Stock/Check calls POST /again/{id} of front
 *        /shop.Stock/Sleep       POST /aim/{port}/{operators} (HTTP): where front is
 */
#include "framework/cpt_calls.h"
#include "framework/cpt_mutex.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/cpt_service_main.h"
#include "framework/transport/cpt_grpc.h"

#include <stdio.h>
#include <string.h>

#define MS      UINT64_C(1000000)
#define HOUR_NS (UINT64_C(3600) * 1000 * MS)

CPT_VALUE(id, int64_t);
CPT_VALUE(name, struct cpt_bytes);
CPT_VALUE(level, int64_t);
CPT_VALUE(cart, int);

static struct cpt_mutex *cart_lock;
static struct cpt_grpc *grpc;

/* What front calls. */
static struct cpt_stub user_stub = {.name = "users: GET /users/{id}",
                                    .method = "GET /users/{id}?fields=name"};
static struct cpt_stub check_stub = {.name = "users: PUT /check/{id}",
                                     .method = "PUT /check/{id}",
                                     .timeout_ns = HOUR_NS};
static struct cpt_stub level_stub = {.name = "stock: /shop.Stock/Level",
                                     .method = "/shop.Stock/Level"};
static struct cpt_stub tls_stub = {
    .name = "tls: sleep", .method = "GET /sleep/{id}", .timeout_ns = HOUR_NS};
static struct cpt_stub bare_stub = {
    .name = "bare: sleep", .method = "/shop.Stock/Sleep", .timeout_ns = HOUR_NS};
static struct cpt_stub script_stub = {
    .name = "script: GET /{id}", .method = "GET /{id}", .timeout_ns = HOUR_NS};
static struct cpt_stub *const front_stubs[] = {
    &user_stub, &check_stub, &level_stub, &tls_stub, &bare_stub, &script_stub, NULL};

/* What users and stock call. */
static struct cpt_stub stock_check_stub = {.name = "stock: /shop.Stock/Check",
                                           .method = "/shop.Stock/Check",
                                           .timeout_ns = HOUR_NS};
static struct cpt_stub again_stub = {.name = "front: POST /again/{id}",
                                     .method = "POST /again/{id}",
                                     .target = "http://127.0.0.1:1",
                                     .timeout_ns = HOUR_NS};

/* --- Of all services --- */

static cpt_status answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("done\n");
    return CPT_OK;
}

/* "{id}" of the path, or the body. */
static cpt_status read_id(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    const struct cpt_bytes part = cpt_rpc_parameter(request, "id");
    const cpt_status status =
        cpt_number_of(part.data != NULL ? part : request->body, cpt_output(task, id));

    return status == CPT_OK ? CPT_OK
                            : cpt_refuse(task, CPT_OUTCOME_INVALID_ARGUMENT,
                                         "an item has a number\n");
}

static cpt_status sleep_long(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "disk", HOUR_NS), answer);
}

/* --- front --- */

static cpt_status have_cart(struct cpt_task *task)
{
    cpt_mutex_release(*cpt_state(task, struct cpt_pending *));
    *cpt_output(task, cart) = 1;
    return CPT_OK;
}

static cpt_status use_cart(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "cart", MS), have_cart);
}

static cpt_status find_cart(struct cpt_task *task)
{
    struct cpt_pending **lock = cpt_state(task, struct cpt_pending *);

    *lock = cpt_mutex_acquire(task, cart_lock);
    return cpt_await(task, *lock, use_cart);
}

static cpt_status render(struct cpt_task *task)
{
    const struct cpt_bytes *name = cpt_input(task, name);

    (void)cpt_request_set(cpt_task_request(task), "arm",
                          *cpt_input(task, id) % 2 == 0 ? "even" : "odd");
    return cpt_print(task, &cpt_output(task, rpc_reply)->body, "%.*s: %lld\n",
                     (int)name->bytes, name->data, (long long)*cpt_input(task, level));
}

/* One after the other, so that each is on the path. */
static const struct cpt_task_def page_tasks[] = {
    {"read", read_id, CPT_GIVES(id), CPT_NEEDS(rpc_request)},
    CPT_CALLS("user", name, CPT_NEEDS(id), &user_stub, .timeout_ns = HOUR_NS),
    {"cart", find_cart, CPT_GIVES(cart), CPT_NEEDS(id, name)},
    CPT_CALLS("level", level, CPT_NEEDS(id, cart), &level_stub, .timeout_ns = HOUR_NS),
    {"render", render, CPT_GIVES(rpc_reply), CPT_NEEDS(id, name, level, cart)},
};

static cpt_status call_check(struct cpt_task *task)
{
    struct cpt_call_request said = {.struct_bytes = sizeof said};
    const struct cpt_bytes id = cpt_rpc_parameter(cpt_input(task, rpc_request), "id");

    if (cpt_call_set_parameter(task, &said, "id", id) != CPT_OK) {
        return CPT_LIMIT;
    }
    return cpt_await(task, cpt_call_with(task, &check_stub, &said), answer);
}

static cpt_status enter(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, cart_lock), call_check);
}

static cpt_status again(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, cart_lock), answer);
}

static cpt_status wait_for(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    const struct cpt_bytes who = cpt_rpc_parameter(request, "who");
    const struct cpt_stub *stub = cpt_bytes_equal(who, cpt_bytes_of("tls")) ? &tls_stub
                                  : cpt_bytes_equal(who, cpt_bytes_of("bare"))
                                      ? &bare_stub
                                      : &script_stub;
    struct cpt_call_request said = {.struct_bytes = sizeof said};

    if (cpt_call_set_parameter(task, &said, "id", cpt_rpc_parameter(request, "id")) !=
        CPT_OK) {
        return CPT_LIMIT;
    }
    return cpt_await(task, cpt_call_with(task, stub, &said), answer);
}

static const struct cpt_task_def enter_tasks[] = {
    {"enter", enter, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_task_def again_tasks[] = {
    {"again", again, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_task_def wait_tasks[] = {
    {"wait", wait_for, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};

/* --- users --- */

static cpt_status give_name(struct cpt_task *task)
{
    return cpt_print(task, &cpt_output(task, rpc_reply)->body, "user %lld",
                     (long long)*cpt_input(task, id));
}

static cpt_status find_name(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "table", 2 * MS), give_name);
}

static const struct cpt_task_def name_tasks[] = {
    {"read", read_id, CPT_GIVES(id), CPT_NEEDS(rpc_request)},
    {"find", find_name, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request, id)}};

static cpt_status done(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = *cpt_input(task, name);
    return CPT_OK;
}

static const struct cpt_task_def check_tasks[] = {
    {"read", read_id, CPT_GIVES(id), CPT_NEEDS(rpc_request)},
    CPT_CALLS("check", name, CPT_NEEDS(id), &stock_check_stub, .timeout_ns = HOUR_NS),
    {"done", done, CPT_GIVES(rpc_reply), CPT_NEEDS(name)}};
static const struct cpt_task_def sleep_tasks[] = {
    {"sleep", sleep_long, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};

/* --- stock --- */

static cpt_status give_level(struct cpt_task *task)
{
    return *cpt_input(task, id) % 13 == 0
               ? cpt_refuse(task, CPT_OUTCOME_NOT_FOUND, "no such item")
               : cpt_print(task, &cpt_output(task, rpc_reply)->body, "%lld",
                           (long long)*cpt_input(task, id) % 7);
}

static cpt_status find_level(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "disk", 3 * MS), give_level);
}

static const struct cpt_task_def level_tasks[] = {
    {"read", read_id, CPT_GIVES(id), CPT_NEEDS(rpc_request)},
    {"find", find_level, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request, id)}};
static const struct cpt_task_def stock_check_tasks[] = {
    {"read", read_id, CPT_GIVES(id), CPT_NEEDS(rpc_request)},
    CPT_CALLS("again", name, CPT_NEEDS(id), &again_stub, .timeout_ns = HOUR_NS),
    {"done", done, CPT_GIVES(rpc_reply), CPT_NEEDS(name)}};

static cpt_status aim(struct cpt_task *task)
{
    static char target[64];
    static char operators[64];
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    const struct cpt_bytes port = cpt_rpc_parameter(request, "port");
    const struct cpt_bytes own = cpt_rpc_parameter(request, "operators");

    (void)snprintf(target, sizeof target, "http://127.0.0.1:%.*s", (int)port.bytes,
                   port.data);
    (void)snprintf(operators, sizeof operators, ":%.*s", (int)own.bytes, own.data);
    again_stub.target = target;
    again_stub.operators = operators;
    return answer(task);
}

static const struct cpt_task_def aim_tasks[] = {
    {"aim", aim, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};

/* --- main() --- */

static cpt_status begin(void *context, const struct cpt_main_parts *parts,
                        struct cpt_error *error)
{
    uint16_t port = 0;
    cpt_status status = CPT_OK;

    cart_lock = cpt_mutex_new("cart", NULL);
    grpc = cpt_grpc_new(NULL, error);
    if (grpc == NULL || cart_lock == NULL) {
        return CPT_IO;
    }
    level_stub.transport = cpt_grpc_transport(grpc);
    bare_stub.transport = level_stub.transport;
    stock_check_stub.transport = level_stub.transport;
    if (strcmp(context, "stock") == 0) {
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
    static struct cpt_stub *const users_stubs[] = {&stock_check_stub, NULL};
    static struct cpt_stub *const stock_stubs[] = {&again_stub, NULL};
    static const struct {
        const char *name;
        struct cpt_main_method methods[5];
        struct cpt_stub *const *stubs;
    } parts[] = {
        {"front",
         {CPT_METHOD("GET /page/{id}", page_tasks),
          CPT_METHOD("POST /enter/{id}", enter_tasks),
          CPT_METHOD("POST /again/{id}", again_tasks),
          CPT_METHOD("GET /wait/{who}/{id}", wait_tasks)},
         front_stubs},
        {"users",
         {CPT_METHOD("GET /users/{id}", name_tasks),
          CPT_METHOD("PUT /check/{id}", check_tasks),
          CPT_METHOD("GET /sleep/{id}", sleep_tasks)},
         users_stubs},
        {"stock",
         {CPT_METHOD("/shop.Stock/Level", level_tasks),
          CPT_METHOD("/shop.Stock/Check", stock_check_tasks),
          CPT_METHOD("/shop.Stock/Sleep", sleep_tasks),
          CPT_METHOD("POST /aim/{port}/{operators}", aim_tasks)},
         stock_stubs},
    };

    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(argv[1], parts[i].name) == 0) {
            struct cpt_main_options options = {.struct_bytes = sizeof options,
                                               .name = parts[i].name,
                                               .methods = parts[i].methods,
                                               .stubs = parts[i].stubs,
                                               .role = i == 0 ? CPT_ROLE_ENTRY
                                                              : CPT_ROLE_INNER,
                                               .begin = begin,
                                               .end = end,
                                               .context = argv[1],
                                               .drain_ns = 500 * MS};

            return cpt_service_main(argc - 1, argv + 1, &options);
        }
    }
    (void)fprintf(stderr, "usage: every_service front|users|stock [flags]\n");
    return 2;
}
