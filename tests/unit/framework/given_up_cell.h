/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * given_up_cell.h - one cell of the table of test_given_up.c: what a task holds, and
 * where it runs
 *
 * There is one cell at a time, in a static variable. Other threads note what they see.
 */
#ifndef GIVEN_UP_CELL_H
#define GIVEN_UP_CELL_H

#include "tests/unit/framework/one_request.h"

#include "framework/cpt_mutex.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_shared.h"

#include <stdatomic.h>
#include <stdbool.h>

enum thing {
    MUTEX,
    SEMAPHORE,
    WAIT_FOR_MUTEX,
    WAIT_FOR_SEMAPHORE,
    TIMER,
    WORK,
    CALL,
    COMPONENT, /* that goes on, with a lock and work */
    ENDED,     /* a component that has kept a lock */
    LEAVING,   /* one that has ended, and left a task with a lock and work */
    STARTED,   /* a task, with a lock and work */
    SHARED,
    THINGS
};

enum way {
    CANCELLED,  /* cpt_cancel() */
    TIMED_OUT,  /* cpt_await_all_for() */
    FAILED,     /* the owner fails, and the request goes on */
    SPAWNED,    /* the owner is in a component that is cancelled */
    ALL_FAILED, /* the owner fails, and the request with it */
    REFUSED,
    TOO_LATE, /* the request's deadline */
    LEFT,     /* its client is gone */
    WAYS
};

enum phase {
    BEFORE,  /* it is started, but an input is missing */
    WITHIN,  /* a step of it runs */
    BLOCKED, /* … and waits in cpt_wait() */
    BETWEEN, /* two of its steps: it waits */
    QUEUED,  /* its wait is over, and the next step has not begun */
    AFTER,   /* it has ended with CPT_OK */
    PHASES
};

struct place {
    const char *name;
    struct cpt_executor *executor;
    const struct cpt_clock *clock;
    void (*drive)(struct place *place); /* runs what waits; NULL: threads do */
    bool has_timers;
};

enum { PLACES = 6 };

/* Opens one executor of each kind; frees them. */
void places_open(struct place places[PLACES]);
void places_close(struct place places[PLACES]);

/* Whether threads of their own run what waits, and whether steps of one request may run
 * at the same time. */
bool has_threads(const struct place *place);
bool is_parallel(const struct place *place);

struct work {
    _Atomic(struct cpt_pending *) pending;
    atomic_int told_count;
};

struct cell {
    enum thing thing;
    enum way way;
    enum phase phase;
    struct place *place;
    bool is_traced;
    struct cpt_mutex *mutex;
    struct cpt_semaphore *semaphore;
    struct cpt_shared *shared;
    struct cpt_request_handle *handle;
    _Atomic(struct cpt_pending *) go;    /* the owner waits for it */
    _Atomic(struct cpt_pending *) gate;  /* the victim's input waits for it */
    _Atomic(struct cpt_pending *) until; /* the victim waits for it */
    _Atomic(struct cpt_pending *) run;   /* the run of shared work waits for it */
    _Atomic(struct cpt_pending *) never; /* the owner in a component waits for it */
    _Atomic(struct cpt_pending *) other; /* who has the semaphore waits for it */
    struct work work;                    /* of the victim, or of what it started */
    atomic_int begun_count;              /* work and calls */
    atomic_int step_count;               /* of the victim */
    atomic_int beyond_count;             /* steps of what was given up */
    atomic_int reached_count;
    atomic_bool is_given_up;
    struct cpt_transport_call *call;
    atomic_int open_calls;
    atomic_int wrong; /* line of what another thread saw */
    atomic_int done_count;
    atomic_int gone_count;
    atomic_int run_count;    /* of shared work: runs that have begun … */
    atomic_int filled_count; /* … and ended */
    atomic_int holder_count; /* who has the semaphore; and whether it is gone */
    atomic_int holder_gone_count;
    cpt_status status;
};

extern struct cell cell;

/* Notes the line of the first condition that does not hold. */
#define EXPECT(condition)                                                              \
    do {                                                                               \
        if (!(condition)) {                                                            \
            int none_ = 0;                                                             \
            (void)atomic_compare_exchange_strong(&cell.wrong, &none_, __LINE__);       \
        }                                                                              \
    } while (0)

/* Completes what a task waits for, once, if it has begun. */
void complete(_Atomic(struct cpt_pending *) *pending);

/* Begins work elsewhere, which complete() ends. */
struct cpt_pending *defer(struct cpt_task *task, const char *name,
                          _Atomic(struct cpt_pending *) *place);

CPT_VALUE(opened, int);
CPT_VALUE(nested, int);
CPT_VALUE(owned, int);
CPT_VALUE(given, int);
CPT_VALUE(filled, int);
CPT_VALUE(page, int);

/* The next step of what was given up: it is counted. */
cpt_status beyond(struct cpt_task *task);

/* A task with a lock and work. It may come when its request is over, or was given up.
 */
cpt_status take_and_work(struct cpt_task *task);

/* The plans of what tasks take. */
void things_open(void);
void things_close(void);

/* The plan of shared work. */
struct cpt_plan *things_shared_plan(void);

/* Takes the thing of the cell. What is waited for, if that is the thing; else NULL. */
struct cpt_pending *take(struct cpt_task *task);

#endif
