/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_doubt.h - what a request may have waited for, where that is inferred
 *
 * A dag (cpt_dag.h) says who waited for whom. If it is inferred from spans, it is one
 * of several that fit the same times; they differ in what a change would give. All of
 * them together are a doubt: the *moments* of the request, each with all that may have
 * held it, its *holders*:
 *
 *      x called   |-------|
 *      y called     |---|          z called: behind x's end, surely. Or behind y's, if
 *      z called           . |--|   the service computed from then on, and looked for x
 *                                  only when x had long ended.
 *
 * Without a change every holder gives a moment the time that was recorded. With one,
 * the earliest and the latest that they give are as far as it could move, and what the
 * last moment gets is the interval in which the latency must be (cpt_whatif_range()).
 * cpt_doubt_frames() is the same for slack and drag.
 *
 * Threads: as of a dag.
 */
#ifndef CPT_DOUBT_H
#define CPT_DOUBT_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

/* Of a holder. */
enum {
    CPT_DOUBT_MAY_HOLD = 1, /* the moment may come lag_ns behind it and behind no other;
                                else lag_ns is as much as it can come behind it */
    CPT_DOUBT_NOT_BEFORE = 2 /* the moment cannot come before it */
};

/* Of a moment. */
enum {
    CPT_DOUBT_IS_END = 1, /* the end of its line */
    CPT_DOUBT_ADDS = 2    /* what its worker takes longer by an amount, it takes here */
};

struct cpt_doubt_holder {
    uint64_t lag_ns; /* at most INT64_MAX */
    uint32_t from;   /* an earlier moment */
    uint32_t flags;  /* CPT_DOUBT_MAY_HOLD … */
};

struct cpt_doubt_moment {
    uint64_t at_ns;   /* recorded, since the request arrived */
    uint64_t wire_ns; /* as much of its lags may be a way, not work */
    /* All holders are in the order of moments: these end here, and begin where those of
     * the moment before end. The first moment of all has none. */
    uint32_t holder_end;
    uint32_t line;   /* whose beginning or end it is (cpt_dag_draft.h) … */
    uint32_t worker; /* … and whose time the lags are; CPT_DAG_NONE: they stay */
    uint32_t flags;  /* CPT_DOUBT_IS_END … */
};

struct cpt_doubt {
    const struct cpt_doubt_moment *moments; /* the last one is the end of the request */
    size_t moment_count;
    const struct cpt_doubt_holder *holders;
    size_t holder_count;
};

struct cpt_dag_recorded;

/* As far as a frame could go: if it took no time, by how much the latency would be
 * less; and how much longer it could take, at most as long as the request. */
struct cpt_doubt_frame {
    double gain_low_ns;
    double gain_high_ns;
    double slack_low_ns;
    double slack_high_ns;
};

/*
 * Measures each frame of @recorded by its doubt; @frames has shape.frame_count
 * elements. Cost: O(moments + holders) for each.
 *
 * CPT_OK; CPT_END: it has no doubt; CPT_LIMIT: it would take too long; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_doubt_frames(const struct cpt_alloc *alloc,
                                    const struct cpt_dag_recorded *recorded,
                                    struct cpt_doubt_frame *frames);

CPT_END_DECLS

#endif
