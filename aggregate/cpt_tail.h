/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_tail.h - which stacks slow requests have that others have not
 *
 * A set of requests is cut at a quantile of its own latency, its p99, say: the *tail*
 * is at or above, the *rest* below. Of two sets that makes three comparisons, each of
 * mean self times, stack by stack:
 *
 *      base:   rest --> tail
 *                        |         tails: base --> new
 *      new:    rest --> tail
 *
 * The differences of all stacks add up to that of the mean latencies. So the largest
 * rows of *rest --> tail* say what makes slow requests slow, and those of *tails* what
 * became of it.
 *
 * Requests are in the tail because they took long. Therefore each stack whose time
 * varies is longer in the tail, also one that is independent of all others: its long
 * times helped to make the request slow. Such rows are real, and small unless their
 * stack varies as much as the whole latency does. A stack of constant time, or one
 * whose variation others hide, has no difference.
 *
 * The border is a quantile of the same requests, which another sample would have put
 * elsewhere. With μ the mean in the tail, ν that in the rest, k and l the requests that
 * they are worth, (Σw)² / Σw², p the weight of the rest by that of all, and m the mean
 * at the border, this adds to the variance of a difference
 *
 *      tails           E² (1/k + 1/l) + 2 E c      E = p (μ - m), for each set
 *      rest to tail    E² (1/k + 1/l) + 2 E c      E = p (μ - m) + (1 - p) (ν - m)
 *
 * c is Σ w² (x - μ) / (Σ w)² in the tail, and the same with ν in the rest is added from
 * rest to tail: both are 0 if weights are equal. Then the former is q (μ - m)² / k.
 *
 * m lies between μ and the mean of the *edge*, which is the slowest requests of the
 * rest, about as many as the tail has; it divides their distance as the border divides
 * that of the mean latencies of tail and edge. If nothing changes at the border, m = μ,
 * and nothing is added.
 *
 * In order of use: cpt_tail_new; cpt_tail_row_at, cpt_tail_tree; cpt_tail_free.
 * Threads: one at a time makes it; then any number may read it.
 */
#ifndef CPT_TAIL_H
#define CPT_TAIL_H

#include "cpt_diff.h"

CPT_BEGIN_DECLS

struct cpt_tail;

/* The trees of one set. */
struct cpt_tail_set {
    const struct cpt_tree *tail; /* at or above the quantile */
    const struct cpt_tree *rest; /* below it */
    const struct cpt_tree *edge; /* the slowest of the rest; may have no requests */
};

/* How to compare. A zero field means its default, but for the quantile. */
struct cpt_tail_options {
    size_t struct_bytes; /* sizeof, set by the caller */
    double quantile;     /* at which both sets are cut: between 0 and 1 */
    double confidence;   /* of the intervals; default 0.95 */
};

/* One of the three comparisons of a stack. */
struct cpt_tail_change {
    struct cpt_change self; /* from base_ns (the rest, or the base's tail) to new_ns */
    double q_value;         /* among all rows of this comparison */
    int is_rare;            /* do not trust it: too few requests (see cpt_diff_row) */
};

/* One stack. */
struct cpt_tail_row {
    uint32_t node;                /* its number in cpt_tail_tree() */
    struct cpt_tail_change base;  /* in the base, from the rest to the tail */
    struct cpt_tail_change other; /* the same in the new set */
    struct cpt_tail_change tails; /* from the base's tail to that of the new set */
};

/*
 * Compares the tails of two sets. The trees may be changed or freed afterwards. The
 * caller owns the result.
 *
 * CPT_OK; CPT_INVALID if a tail or a rest has no requests, or an option is out of its
 * range, with a sentence in @error; CPT_LIMIT; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_tail_new(const struct cpt_alloc *alloc,
                                const struct cpt_tail_set *base,
                                const struct cpt_tail_set *new_set,
                                const struct cpt_tail_options *options,
                                struct cpt_tail **tail, struct cpt_error *error);
CPT_API void cpt_tail_free(struct cpt_tail *tail);

/* The rows without the root; first those with the largest of their three differences.
 * Ties stand in the order of their stacks. Borrowed. */
CPT_API uint32_t cpt_tail_row_count(const struct cpt_tail *tail);
CPT_API const struct cpt_tail_row *cpt_tail_row_at(const struct cpt_tail *tail,
                                                   uint32_t index);

/* The root's row: the changes of the mean latency. Borrowed. */
CPT_API const struct cpt_tail_row *cpt_tail_total(const struct cpt_tail *tail);

/* The stacks of all trees, without requests, as of cpt_diff_tree(). Borrowed. */
CPT_API const struct cpt_tree *cpt_tail_tree(const struct cpt_tail *tail);

CPT_END_DECLS

#endif
