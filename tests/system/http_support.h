/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_support.h - support for tests of the transport: raw sockets, a loop in its own
 * thread, and calls made by a real task graph
 *
 *      test --> call_out() --> request --> stub --> cpt_http --> stand_in (raw socket)
 *      test --> raw_exchange() (raw socket) --> cpt_http --> service
 *
 * CUnit's asserts work in the main thread only; other threads only record.
 */
#ifndef HTTP_SUPPORT_H
#define HTTP_SUPPORT_H

#include "cpt/cpt_path.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/transport/cpt_http.h"

#include <CUnit/CUnit.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)

uint64_t test_now_ns(void);
void test_sleep_ns(uint64_t ns);

/* --- A server of raw sockets --- */

enum { STAND_IN_THREADS_MAX = 256, RAW_BYTES_MAX = 1 << 18 };

struct stand_in;

/* Serves connection @nth (0 the first) and returns; the descriptor is then closed. */
typedef void (*stand_in_fn)(struct stand_in *stand_in, int descriptor, unsigned nth);

struct stand_in {
    stand_in_fn serve;
    const char *reply; /* for servers with a single reply */
    int listener;
    uint16_t port;
    char target[64]; /* "http://127.0.0.1:port" */
    pthread_t acceptor;
    pthread_t threads[STAND_IN_THREADS_MAX];
    atomic_uint connection_count;
    atomic_uint request_count;
    atomic_uint open_count; /* now, and at most */
    atomic_uint open_count_max;
    char first_request[8192]; /* of stand_in_read(); after stand_in_stop() */
};

void stand_in_start(struct stand_in *stand_in, stand_in_fn serve, const char *reply);
void stand_in_stop(struct stand_in *stand_in);

/* The same at @number, "127.0.0.2", and @port; 0: any free one. */
void stand_in_start_at(struct stand_in *stand_in, const char *number, uint16_t port,
                       stand_in_fn serve, const char *reply);

/* Reads one request, at least its headers and what Content-Length says. false at the
 * end of the connection. */
bool stand_in_read(struct stand_in *stand_in, int descriptor);
void raw_write(int descriptor, const char *text);

/* Answers every request of every connection with stand_in->reply. */
void serve_reply(struct stand_in *stand_in, int descriptor, unsigned nth);

/* The same, but the first connection answers one request, reads another one, and ends:
 * what that did the client cannot know. */
void serve_stale(struct stand_in *stand_in, int descriptor, unsigned nth);

/* --- A client of raw sockets --- */

/* A connection to a loopback port. */
int raw_connect(uint16_t port);

/* Reads until the other side closes, or until @bytes are there that end in @until. */
size_t raw_read(int descriptor, char *text, size_t capacity, const char *until);

/* Sends @request on a new connection and reads until it is closed. */
void raw_exchange(uint16_t port, const char *request, char *reply, size_t capacity);

/* --- A loop in its own thread --- */

struct test_loop {
    struct cpt_http *http;
    pthread_t thread;
    cpt_status result;
};

/* @options NULL: defaults. Between the two, services may listen. */
void test_loop_make(struct test_loop *loop, const struct cpt_http_options *options);
void test_loop_start(struct test_loop *loop);

/* Stops, waits, frees; the status of cpt_http_run(). */
cpt_status test_loop_stop(struct test_loop *loop);

uint64_t test_counter(struct test_loop *loop, const char *name);

/* Whether it becomes @least or more. */
bool test_comes_to(struct test_loop *loop, const char *name, uint64_t least);

/* Holds up a loop: from when `is_held` is set until @for_ns after the release. */
struct test_hold {
    struct cpt_work work; /* first */
    uint64_t for_ns;
    atomic_bool is_held;
    atomic_bool is_released;
};

/* @loop need not run yet. */
void test_hold_begin(struct test_hold *hold, struct test_loop *loop, uint64_t for_ns);
void test_hold_wait(struct test_hold *hold);
void test_hold_release(struct test_hold *hold);

/* What the kernel, which counts in ticks, tells at least of @ns. */
uint64_t test_ticks_least(uint64_t ns);

/* --- A service --- */

/*
 * The service "S": "/hello" answers "hello <body>", "/slow" the same 100 ms later by
 * the loop's timer, "/pool" from a pool's thread; "/stuck" calls test_service.stuck.
 */
struct test_service {
    struct cpt_service *service;
    struct cpt_plan *plans[4];
    uint16_t port;
    struct cpt_pending *_Atomic stuck; /* the last "/stuck" waits for it */
};

void test_service_make(struct test_service *made, struct test_loop *loop, unsigned role,
                       double probability, struct cpt_executor *executor);
void test_service_free(struct test_service *made);

/* The last notice of such services, "<kind> <http status> <reason> <method>:
 * <sentence>"; returns how many there were. */
unsigned test_told(char *line, size_t capacity);

/* --- Calls out --- */

enum { CALLS_MAX = 64 };

struct call_request {
    struct cpt_stub stub;
    const char *body; /* NULL: none */
    unsigned count;   /* parallel calls; 0: one */
    bool is_traced;
    bool is_idempotent;
    uint64_t slack_ns; /* of each call */
};

struct call_result {
    cpt_status statuses[CALLS_MAX];
    unsigned http_statuses[CALLS_MAX];
    char bodies[CALLS_MAX][64]; /* their beginnings */
    size_t body_bytes[CALLS_MAX];
    uint64_t elapsed_ns; /* of all calls */
    /* Of the path, if it was traced: */
    uint64_t kind_ns[32]; /* by enum cpt_kind */
    unsigned reason;      /* of the last blind spot */
    bool is_path_good;
};

/* Makes the calls in one request that runs on @executor (NULL: on the loop) and waits
 * for them. */
void call_out(struct test_loop *loop, const struct call_request *request,
              struct cpt_executor *executor, struct call_result *result);

/* One untraced call without a body to @target: its status. */
cpt_status call_status(struct test_loop *loop, const char *target);

#endif
