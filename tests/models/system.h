/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * system.h - a random system of services, and the fault that it has
 *
 *      seed --> services, operations, calls       system_make()
 *      seed --> which service is at fault         fault_place()
 *      both --> requests as spans                 simulation.h
 *
 * Services are numbered so that each calls later ones only; service 0 is where requests
 * enter. A service has replicas, each with workers (a pool) on a host with cores.
 *
 * Threads: one at a time. Memory is one arena, which system_free() frees.
 */
#ifndef MODELS_SYSTEM_H
#define MODELS_SYSTEM_H

#include "tests/support/test_random.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    OPERATIONS_MAX = 4,
    STAGES_MAX = 4,
    WIDTH_MAX = 3,
    REPLICAS_MAX = 3,
    SERVICES_MAX = 64,
    TENANTS_MAX = 1000
};

/* A call that an operation may make. */
struct call_plan {
    int service;
    int operation;
    double chance;
    double cached; /* part of the calls that a cache of the caller answers */
    bool is_async; /* nothing waits for it */
    double timeout_ns;
    int retries;
};

/* Calls that go out at once; the next stage begins when all have come back. */
struct stage {
    struct call_plan calls[WIDTH_MAX];
    int call_count;
};

struct operation {
    double before_ns; /* own time: medians, before the calls, … */
    double between_ns;
    double after_ns;
    double spread;  /* … and their standard deviation, of the logarithm */
    bool has_inner; /* a part of it has a span of its own */
    struct stage stages[STAGES_MAX];
    int stage_count;
};

struct replica {
    int host;
    int workers;
};

struct service {
    struct operation operations[OPERATIONS_MAX];
    int operation_count;
    struct replica replicas[REPLICAS_MAX];
    int replica_count;
    bool holds_worker; /* while it waits for calls */
};

struct system {
    struct service services[SERVICES_MAX];
    int service_count;
    int host_count;
    double mix[OPERATIONS_MAX]; /* of the operations of service 0 */
};

/* What is wrong with the service at fault. X(name) */
#define FAULT_MAP(X)                                                                   \
    X(none)                                                                            \
    X(cpu)       /* its own time, by a factor */                                       \
    X(replica)   /* the same in one replica, … */                                    \
    X(operation) /* … in one operation, … */                                       \
    X(tenant)    /* … for one tenant of five, … */                                 \
    X(some)      /* … in a part of the requests */                                   \
    X(tail)      /* a delay in a part of its steps */                                  \
    X(delay)     /* a delay in each of its steps */                                    \
    X(network)   /* a delay of each message to it or from it */                        \
    X(drops)     /* an operation no longer makes one of its calls */                   \
    X(adds)      /* … makes a call that it did not make */                           \
    X(serial)    /* … makes two calls one after the other that were side by side */  \
    X(fails)     /* … fails in a part of its calls */

enum fault_kind {
#define FAULT_ENUM_(name) FAULT_##name,
    FAULT_MAP(FAULT_ENUM_) FAULT_KINDS
#undef FAULT_ENUM_
};

struct fault {
    enum fault_kind kind;
    int service;
    int operation;
    double factor;
    double delay_ns;
    double share;
};

/* Uniform in [0, 1); normal; exponential of mean 1. */
double random_unit(struct test_random *random);
double random_normal(struct test_random *random);
double random_waiting(struct test_random *random);

/* A generator that is unrelated to those of other seeds. */
struct test_random random_of(uint64_t seed);

/* A system of 10 to 60 services. */
void system_make(struct system *system, uint64_t seed);

/* Visits of each service in a request, on average. */
void system_visits(const struct system *system, double visits[SERVICES_MAX]);

/* Chooses which service, and which operation, has the fault: one that is not too
 * rare, and that can have a fault of this kind. Changes the plan of @system if the
 * fault is one of structure. */
void fault_place(struct fault *fault, struct system *system, uint64_t seed);

#endif
