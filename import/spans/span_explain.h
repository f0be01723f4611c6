/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_explain.h - why a span is on the critical path, or is not
 *
 * Threads: one at a time.
 */
#ifndef CPTI_SPAN_EXPLAIN_H
#define CPTI_SPAN_EXPLAIN_H

#include "import/spans/spans.h"

/*
 * X(name, word). What became of a span:
 *
 *      on_path      it has time of its own on the path
 *      through      it is on the path; all of its time there is of spans below it
 *      dropped      it is not in the tree; see `fate`
 *      moment       it took no time
 *      above        `by`, which is above it, is not on the path
 *      held         `by` held their parent: it ended no earlier, and had begun, at
 *                   `at_ns`, before this one ended
 *      background   it outlives their parent, and had begun before `by` ended within
 *                   the parent, at `at_ns`: the parent waited for that one, beside it
 *      late         its parent is on the path only until `at_ns`, where the path
 *                   goes on in `by`; it began no earlier
 *      not_awaited  its parent tells its waits, and none is for it
 *      there        it had ended when its parent began to wait for it, at `at_ns`
 *      wait_lost    it is a wait, and its parent does not tell all of them
 *      elsewhere    when it ended, at `at_ns`, the path was in `by`
 */
#define CPTI_SPAN_WHY_MAP(X)                                                           \
    X(ON_PATH, "on_path")                                                              \
    X(THROUGH, "through")                                                              \
    X(DROPPED, "dropped")                                                              \
    X(MOMENT, "moment")                                                                \
    X(ABOVE, "above")                                                                  \
    X(HELD, "held")                                                                    \
    X(BACKGROUND, "background")                                                        \
    X(LATE, "late")                                                                    \
    X(NOT_AWAITED, "not_awaited")                                                      \
    X(THERE, "there")                                                                  \
    X(WAIT_LOST, "wait_lost")                                                          \
    X(ELSEWHERE, "elsewhere")

enum cpti_span_why {
#define CPTI_SPAN_WHY_ENUM_(name, word) CPTI_SPAN_WHY_##name,
    CPTI_SPAN_WHY_MAP(CPTI_SPAN_WHY_ENUM_)
#undef CPTI_SPAN_WHY_ENUM_
};

/* What there is to say of one span. */
struct cpti_span_account {
    enum cpti_span_why why;
    const char *fate;          /* why it is not in the tree: a word and a sentence of */
    const char *fate_sentence; /* CPTI_SPAN_DROP_MAP; else NULL */
    uint32_t by;               /* the other span, or CPTI_SPAN_NONE */
    uint32_t parent; /* the span above it that has a time, or CPTI_SPAN_NONE */
    uint64_t at_ns;
    uint64_t own_ns;   /* its time on the path, … */
    uint64_t below_ns; /* … and that of spans below it */
    int64_t moved_ns;  /* its clock was ahead by so much */
    bool is_cut;       /* to its parent's time */
    bool is_doubted;   /* it contradicts clocks, and was not believed */
};

/*
 * Explains span @number, after cpti_spans_walk() in the exact mode, or of a set without
 * a root.
 *
 * CPT_OK; CPT_NO_MEMORY.
 */
cpt_status cpti_spans_explain(struct cpti_spans *spans, uint32_t number,
                              struct cpti_span_account *account);

#endif
