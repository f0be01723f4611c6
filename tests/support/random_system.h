/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * random_system.h - a request through several random services, as one graph of pieces
 *
 * Each service has tasks, which compute, start other tasks, call, and wait for calls
 * and tasks; a call is work of its own, or goes over a network to a service one level
 * deeper. A response may come before the last task ends. All that takes time is a
 * *piece*, which begins when all pieces before it have ended:
 *
 *      task    [queue][self][self]        [queue][self]
 *      call                 [queue][net][ the callee's run ][net]
 *
 * The records of each service are derived from the pieces; its clock is its own. The
 * model finds the critical path and any latency without a piece from the pieces alone.
 * It shares no code with the core.
 */
#ifndef RANDOM_SYSTEM_H
#define RANDOM_SYSTEM_H

#include "cpt/cpt_dag_draft.h"
#include "cpt/cpt_path.h"
#include "tests/support/test_random.h"

enum {
    SYSTEM_RUNS_MAX = 12,
    SYSTEM_TASKS_MAX = 64,
    SYSTEM_CALLS_MAX = 64,
    SYSTEM_AWAITS_MAX = 128,
    SYSTEM_ARRIVALS_MAX = 1024,
    SYSTEM_PIECES_MAX = 1024,
    SYSTEM_INPUTS_MAX = 6,
    SYSTEM_NAMES_MAX = 64
};

#define SYSTEM_NONE UINT32_MAX

enum system_piece_kind { PIECE_SELF, PIECE_QUEUE, PIECE_CALL, PIECE_NETWORK };

struct system_piece {
    uint64_t duration_ns;
    uint64_t finish_ns;
    uint32_t inputs[SYSTEM_INPUTS_MAX];
    uint32_t input_count;
    uint32_t released_by; /* the input that counts as the last one, or SYSTEM_NONE */
    uint32_t task;        /* of SELF and QUEUE of a task; else SYSTEM_NONE */
    uint32_t call;        /* of the others */
    enum system_piece_kind kind;
};

struct system_run {
    struct cpt_trace trace;
    struct cpt_trace_task *tasks[SYSTEM_TASKS_MAX];
    size_t task_count;
    struct cpt_dag_arrival arrivals[SYSTEM_ARRIVALS_MAX];
    size_t arrival_count;
    uint64_t clock_ns;       /* what its clock shows when the request arrives */
    uint32_t response_piece; /* with its end the response is complete */
};

/* What the critical path consists of: pieces of one segment. */
struct system_segment {
    uint64_t duration_ns;
    size_t first; /* members[first] to members[end - 1] */
    size_t end;
};

struct random_system {
    struct system_piece pieces[SYSTEM_PIECES_MAX];
    size_t piece_count;
    struct system_run runs[SYSTEM_RUNS_MAX]; /* the request itself first */
    size_t run_count;
    struct cpt_trace_task tasks[SYSTEM_TASKS_MAX];
    uint32_t task_names[SYSTEM_TASKS_MAX]; /* several tasks may have one */
    uint32_t task_runs[SYSTEM_TASKS_MAX];
    uint32_t task_ends[SYSTEM_TASKS_MAX]; /* the last piece of each */
    size_t task_count;
    struct cpt_trace_call calls[SYSTEM_CALLS_MAX];
    uint32_t call_runs[SYSTEM_CALLS_MAX];    /* who called */
    uint32_t call_callees[SYSTEM_CALLS_MAX]; /* a run, or SYSTEM_NONE */
    uint32_t call_ends[SYSTEM_CALLS_MAX];
    size_t call_count;
    struct cpt_trace_await awaits[SYSTEM_AWAITS_MAX];
    size_t await_count;
    char names[SYSTEM_NAMES_MAX][16];
    struct system_segment segments[SYSTEM_PIECES_MAX];
    size_t segment_count;
    uint32_t members[SYSTEM_PIECES_MAX];
    size_t member_count;
    struct test_random *random;
    unsigned level_count;
};

/* Draws a system of up to @level_count levels of services. It holds pointers into
 * itself, so it must not move. */
void random_system_make(struct random_system *made, struct test_random *random,
                        unsigned level_count);

uint64_t random_system_latency(const struct random_system *made);

/* The latency if piece i took less_ns[i] less. */
uint64_t random_system_replay(const struct random_system *made,
                              const uint64_t *less_ns);

/* Fills in `segments` and `members`: the path that the walk must find, with ways there
 * and back as one segment behind the callee's. */
void random_system_walk(struct random_system *made);

#endif
