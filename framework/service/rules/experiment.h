/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * experiment.h - an experiment of the operator: what would a slower task cost?
 *
 *      file --> wanted --> run: frame by frame, each for a while
 *                           |
 *      request, hit by the coin --> draw: this frame, delayed or plain
 *                           |
 *      its end ------------> note: the guard may stop the run
 *
 * The operator's file alone begins an experiment, and its frames. A request takes part
 * in it only if the coin of this service has hit it, and no one asked for its path. So
 * requests that are not traced pay nothing, each delay is measured, and the requests
 * that take part are a random sample. Which arm a request is in does not depend on
 * anything of it, and stands in its record in any case, as the attributes `experiment`
 * (the frame), `experiment_arm`, `experiment_ns`, `experiment_kind` and
 * `experiment_probability`: that of the coin. A keep rule can raise the probability of
 * the record later, but not that of taking part.
 *
 * A frame may be one of a callee. Then the ask of this request tells callees frame and
 * delay, and a callee obeys if its own file says `experiment_asked`, within its own
 * bounds. The arm is noted here, where the record is written, when the request begins:
 * also if no callee obeyed, or if the call is not on the path. What a callee reports
 * back could not do that, since a path off the critical one is never seen.
 *
 * Threads: struct cpti_experiment_run is guarded by the lock of its service.
 */
#ifndef CPT_EXPERIMENT_H
#define CPT_EXPERIMENT_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"
#include "framework/pool/lock.h"
#include "framework/service/rules/bucket.h"

struct cpt_inbound;
struct cpt_service;
struct cpti_json;
struct cpti_serving;

enum {
    CPTI_EXPERIMENT_FRAMES_MAX = 64, /* that a file names */
    CPTI_EXPERIMENT_OWN_MAX = 1024,  /* of a service, if the file says `frames all` */
    CPTI_EXPERIMENT_SENTENCE_BYTES = 160,
    CPTI_EXPERIMENT_WINDOW = 200 /* requests, after which older ones count half */
};

#define CPTI_EXPERIMENT_SHARE_MAX      0.5
#define CPTI_EXPERIMENT_SHARE_DEFAULT  0.5
#define CPTI_EXPERIMENT_ERRORS_DEFAULT 0.01
#define CPTI_EXPERIMENT_EACH_DEFAULT   (UINT64_C(60) * 1000000000)
#define CPTI_EXPERIMENT_TOTAL_DEFAULT  (UINT64_C(3600) * 1000000000)
#define CPTI_EXPERIMENT_TOTAL_NS_MAX   (UINT64_C(7) * 86400 * 1000000000)

/* What the file says. All 0: nothing. */
struct cpti_experiment_wanted {
    bool saw_own;   /* `experiment` … */
    bool saw_asked; /* … and `experiment_asked` were there */
    bool is_on;     /* it is an experiment, not `off` */
    bool is_all;    /* of all tasks of the service, else of those below */
    bool burns;
    uint64_t delta_ns;
    uint64_t guard_ns; /* it stops when more than 1 % of requests take longer … */
    double errors_max; /* … or a larger share fails */
    double share;      /* of those that take part: this many are delayed */
    uint64_t each_ns;  /* a frame's turn */
    uint64_t total_ns;
    uint64_t asked_ns_max; /* of delays that callers ask for; 0: none is obeyed */
    double asked_rate;     /* requests in a second */
    uint32_t frame_count;
    char frames[CPTI_EXPERIMENT_FRAMES_MAX][CPT_NAME_BYTES_MAX + 1];
};

/* Reads "experiment" or "experiment_asked" of a file. False: @key is neither. @status:
 * CPT_OK, or CPT_INVALID or CPT_LIMIT with the reason. */
bool cpti_experiment_read(struct cpti_experiment_wanted *wanted, struct cpt_bytes key,
                          struct cpt_bytes text, cpt_status *status,
                          struct cpt_error *error);

enum cpti_experiment_stop {
    CPTI_EXPERIMENT_RUNS,
    CPTI_EXPERIMENT_OVER,   /* its time */
    CPTI_EXPERIMENT_GUARD,  /* requests took too long */
    CPTI_EXPERIMENT_ERRORS, /* too many failed */
    CPTI_EXPERIMENT_EMPTY   /* the service has no task to delay */
};

/* An experiment of one service, from one line of the file to the next. */
struct cpti_experiment_run {
    const struct cpt_alloc *alloc;
    struct cpti_experiment_wanted wanted;
    uint64_t begin_ns;
    uint64_t seed;
    uint64_t draw_count;
    struct cpt_bytes *frames; /* NULL: not known yet */
    uint32_t frame_count;
    uint32_t first; /* the frame of the first turn */
    enum cpti_experiment_stop stop;
    bool is_told;
    /* Requests of late: */
    uint64_t count;
    uint64_t slow_count;
    uint64_t failed_count;
    /* Of all requests of the service, when last looked at: */
    uint64_t seen_requests;
    uint64_t seen_failures;
    struct cpti_rate_limit asked;
};

/* NULL: no memory. @now_ns by the clock of the service. */
struct cpti_experiment_run *
cpti_experiment_run_new(const struct cpti_experiment_wanted *wanted, uint64_t now_ns,
                        uint64_t seed, const struct cpt_alloc *alloc);
void cpti_experiment_run_free(struct cpti_experiment_run *run);

/* What one request is in. */
struct cpti_experiment_arm {
    bool is_in;
    bool is_delayed;
    bool is_own; /* the frame is one of this service, by `frames all` */
    char frame[CPT_NAME_BYTES_MAX + 1];
};

/* Draws the arm of a request that came at @now_ns; run->frames are known. Stops the run
 * if its time is over. */
void cpti_experiment_draw(struct cpti_experiment_run *run, uint64_t now_ns,
                          struct cpti_experiment_arm *arm);

/* The frame whose turn it is at @now_ns, or empty. */
struct cpt_bytes cpti_experiment_turn(const struct cpti_experiment_run *run,
                                      uint64_t now_ns);

/* A request that took part has ended. The guard may stop the run. */
void cpti_experiment_note(struct cpti_experiment_run *run, uint64_t latency_ns,
                          bool is_failed);

/* All @requests of the service, of which @failures failed: stops the run if too large a
 * part of those since the last time did, or if its time is over. */
void cpti_experiment_watch(struct cpti_experiment_run *run, uint64_t requests,
                           uint64_t failures, uint64_t now_ns);

/* Whether a caller's delay of @delay_ns is obeyed. */
bool cpti_experiment_obeys(struct cpti_experiment_run *run, uint64_t delay_ns,
                           uint64_t now_ns);

/* --- experiment_serve.c: of a service --- */

struct cpti_experiment {
    atomic_bool is_on; /* relaxed: a hint to look at the run */
    struct cpti_lock lock;
    struct cpti_experiment_run *run; /* NULL: none */
};

void cpti_experiment_init(struct cpti_experiment *experiment);
void cpti_experiment_deinit(struct cpti_experiment *experiment);

/* What the file says now; NULL: it is gone or bad, so there is none. The same line as
 * before changes nothing. False: no memory; then there is none. */
bool cpti_experiment_take(struct cpt_service *service,
                          const struct cpti_experiment_wanted *wanted);

/* Once in each period of the settings. True: @sentence is to be told. */
bool cpti_experiment_tick(struct cpt_service *service,
                          char sentence[CPTI_EXPERIMENT_SENTENCE_BYTES]);

/* A traced request is made: draws its arm, or obeys its caller. */
void cpti_experiment_begin(struct cpti_serving *serving);

/* The request, which took part, has ended. */
void cpti_experiment_end(struct cpti_serving *serving);

/* What the service is doing, as member "experiment"; nothing if there is none. */
void cpti_experiment_write(struct cpt_service *service, struct cpti_json *text);

#endif
