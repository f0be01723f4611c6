/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_trace.h - a trace while it is made of spans (span_trace.c), for rules that know
 * more of who waited than one request tells (import/learn)
 */
#ifndef CPTI_SPAN_TRACE_H
#define CPTI_SPAN_TRACE_H

#include "import/spans/spans.h"

#define CPTI_NO_VISIT UINT32_MAX

enum { CPTI_OVERLAP_SHARE = 100 /* 1 % */ };

/* A call of a visit. Those of one visit stand side by side. */
struct cpti_visit_call {
    struct cpt_trace_call call;
    uint32_t visit;  /* who calls */
    uint32_t span;   /* the caller's side of it, or the callee's if there is no other */
    uint32_t callee; /* the visit that it leads to; CPTI_NO_VISIT: it is not known */
    bool is_given_up; /* the callee went on */
    bool is_beside;   /* the visit did not wait for it */
    bool is_cut;      /* one of its sides, or both */
    uint64_t cut_ns;  /* of the side of which more is cut */
};

struct cpti_visit {
    struct cpt_trace trace;
    struct cpt_trace_task task;
    uint32_t span;     /* its first */
    uint32_t call;     /* that leads to it, by its number; CPTI_NO_VISIT: the request */
    uint32_t call_end; /* its calls end here, in the order of visits */
};

/* What is made on the way. */
struct cpti_making {
    struct cpti_spans *spans;
    const struct cpti_visit_rule *rule;
    struct cpt_arena arena;
    uint32_t *visit_of; /* of each span; CPTI_NO_VISIT: it is not in the tree */
    struct cpti_visit *visits;
    size_t visit_count;
    struct cpti_visit_call *calls;
    size_t call_count;
    uint32_t *order; /* of calls: by visit, then by issue … */
    uint32_t *ends;  /* … and by arrival */
    struct cpt_trace_build build;
    struct cpti_spans_cut cut;
};

/* Who waited for whom, by another rule than the walk's. */
struct cpti_visit_rule {
    /*
     * Adds the waits of visit @number, and the tasks behind its first one, and sets who
     * answered. The @count calls @starts have names; cpti_visit_times() is still to be
     * asked for their times; @ends is scratch. An error is in the status of the build.
     * False: the walk's rule shall do so.
     */
    bool (*fill)(void *context, struct cpti_making *making, uint32_t number,
                 uint32_t *starts, uint32_t *ends, size_t count);
    /* Behind the walk's rule, which has put @starts and @ends in their orders. */
    void (*walked)(void *context, const struct cpti_making *making, uint32_t number,
                   const uint32_t *starts, const uint32_t *ends, size_t count);
    void *context;
};

/* Whether no client's span tells of call @number: the callee's is all there is. */
static inline bool cpti_visit_is_bare(const struct cpti_making *making, uint32_t number)
{
    const struct cpti_visit_call *call = &making->calls[number];

    return call->callee != CPTI_NO_VISIT &&
           making->visits[call->callee].span == call->span;
}

/* As cpti_spans_inferred_dag(), by @rule where that fills. @visit NULL: no dag is made,
 * only the rule is asked. */
cpt_status cpti_spans_dag_by(struct cpti_spans *spans,
                             const struct cpti_visit_rule *rule, cpt_dag_visit_fn visit,
                             void *context, struct cpti_spans_cut *cut);

/* Moves callees that lie outside of their caller's side although they fit into it, to
 * its middle, with all below them: whether there are any. What is left of @spans is for
 * a trace: other clocks, sections and reports are of the spans as they were. */
bool cpti_spans_move_callees(struct cpti_spans *spans);

/* When the calls @starts of @visit, whose own times are known, began and ended, until
 * @last_ns at most; which were given up, and which of them are hedges that lost
 * (is_beside). Puts them in the order of their end into @ends. */
void cpti_visit_times(struct cpti_making *making, const struct cpti_visit *visit,
                      uint32_t *starts, uint32_t *ends, size_t count, uint64_t last_ns);

/* An order of two calls by their spans. */
int cpti_visit_calls_order(const struct cpti_making *making, uint32_t left,
                           uint32_t right);

#endif
