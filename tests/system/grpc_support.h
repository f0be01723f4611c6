/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_support.h - support for tests of the gRPC transport: peers that know nothing of
 * us, a service, and calls made by a real task graph
 *
 *      test --> grpc_call_out() --> request --> stub --> cpt_grpc --> plain_server
 *      test --> plain_call() --> cpt_grpc --> service
 *
 * CUnit's asserts work in the main thread only; other threads only record.
 */
#ifndef GRPC_SUPPORT_H
#define GRPC_SUPPORT_H

#include "cpt/cpt_path.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/transport/cpt_grpc.h"

#include <CUnit/CUnit.h>
#include <grpc/grpc.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum { PLAIN_PATH_BYTES_MAX = 1 << 17, PLAIN_FIELDS_MAX = 8, PATIENCE_MS = 20000 };

extern CU_TestInfo grpc_calls_tests[];
extern CU_TestInfo grpc_serving_tests[];
extern CU_TestInfo grpc_ending_tests[];
extern CU_TestInfo grpc_streams_tests[];

void test_sleep_ns(uint64_t ns);

/* --- A client that knows nothing of us --- */

struct plain_call {
    uint16_t port;
    const char *method;
    const char *body;  /* NULL: the stream stays open without a message */
    size_t body_bytes; /* 0: that of the text */
    struct cpt_field fields[PLAIN_FIELDS_MAX]; /* up to one without a name */
    int timeout_ms;                            /* 0: 20 s */
    int cancel_ms;                             /* cancels after this time; 0: never */
};

struct plain_result {
    grpc_status_code code;
    char sentence[256];
    char body[256]; /* its beginning */
    size_t body_bytes;
    unsigned path_count;                      /* values of critical-path-bin … */
    unsigned char path[PLAIN_PATH_BYTES_MAX]; /* … and the first */
    size_t path_bytes;
    char header[64]; /* x-answer of the initial metadata */
};

void plain_call(const struct plain_call *call, struct plain_result *result);

/* --- A server that knows nothing of us --- */

struct plain_server {
    bool never_answers;
    bool never_ends;       /* sends `body` again and again */
    unsigned before_count; /* how often it sends `body` before the answer */
    grpc_status_code code;
    const char *body;
    struct cpt_field fields[PLAIN_FIELDS_MAX]; /* of the trailing metadata */
    uint16_t port;
    char target[32];
    atomic_uint request_count;
    atomic_bool has_ask; /* of the last request */
    atomic_bool has_nonce;
    atomic_bool has_deadline;
    atomic_uint slack_us; /* 0: none came */
    grpc_server *server;
    grpc_completion_queue *queue;
    pthread_t thread;
};

void plain_server_start(struct plain_server *server);
void plain_server_stop(struct plain_server *server);

/* --- A service --- */

/*
 * The service "G" with a pool of its own: "/t.G/Hello" answers "hello <body>" and the
 * header X-Answer, "/t.G/Slow" the same 50 ms later and "/t.G/Long" a minute later,
 * "/t.G/Echo" the body, "/t.G/Fail" the outcome whose number the body is, with the body
 * "why"; "/t.G/Stuck" waits until `stuck` is completed. Streams of the body "COUNT
 * OUTCOME": "/t.G/Stream" sends "m0", "m1" …, "/t.G/Slowly" one each millisecond;
 * "/t.G/Endless" messages of 64 KiB until it must not.
 */
struct grpc_service {
    struct cpt_grpc *grpc;
    struct cpt_executor *pool;
    struct cpt_service *service;
    struct cpt_plan *plans[16];
    uint16_t port;
    char target[32];
    struct cpt_pending *_Atomic stuck;
};

/* Both options may be NULL. */
void grpc_service_start(struct grpc_service *made, const struct cpt_grpc_options *grpc,
                        const struct cpt_service_options *service);

/* Stops, drains, frees; the status of the stop. */
cpt_status grpc_service_stop(struct grpc_service *made);

/* Frees it after cpt_grpc_stop(). */
void grpc_service_free(struct grpc_service *made);

/* The pending of "/t.G/Stuck", once there is one. */
struct cpt_pending *grpc_service_stuck(struct grpc_service *made);

uint64_t grpc_counter(struct cpt_grpc *grpc, const char *name);
uint64_t grpc_service_counter(struct grpc_service *made, const char *name);

/* Whether the counter of the service, or else of its transport, gets there soon. */
bool grpc_comes_to(struct grpc_service *made, const char *name, uint64_t wanted);

/* --- Calls out --- */

enum { GRPC_CALLS_MAX = 64 };

struct grpc_call_request {
    struct cpt_stub stub; /* its transport is set */
    struct cpt_bytes body;
    unsigned count; /* parallel calls; 0: one */
    bool is_traced;
    uint64_t timeout_ns; /* of the request; 0: none */
    uint64_t slack_ns;   /* of each call */
};

struct grpc_call_result {
    cpt_status status; /* of the request */
    cpt_status statuses[GRPC_CALLS_MAX];
    unsigned outcomes[GRPC_CALLS_MAX];
    char bodies[GRPC_CALLS_MAX][64]; /* their beginnings */
    size_t body_bytes[GRPC_CALLS_MAX];
    size_t message_counts[GRPC_CALLS_MAX];
    char messages[GRPC_CALLS_MAX][64]; /* the first and the last: "m0,m9" */
    /* Of the path, if it was traced: */
    uint64_t kind_ns[32]; /* by enum cpt_kind */
    unsigned reason;      /* of the last blind spot */
    bool is_path_good;    /* the segments add up to the latency */
    bool has_callee;      /* a frame is of the service G */
};

void grpc_call_out(struct cpt_grpc *grpc, const struct grpc_call_request *request,
                   struct grpc_call_result *result);

#endif
