/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * budget.h - memory that many requests share, with a limit for all of them together
 *
 * An allocator before another one, which counts what is out. Beyond the limit it says
 * that there is none, as an allocator may at any time. Each block carries its size in
 * front of it.
 *
 * Threads: any.
 */
#ifndef CPT_BUDGET_H
#define CPT_BUDGET_H

#include "cpt/cpt_alloc.h"

#include <stdatomic.h>
#include <stddef.h>

struct cpti_budget {
    struct cpt_alloc alloc; /* to hand out; good as long as the budget */
    const struct cpt_alloc *inner;
    size_t bytes_max;
    atomic_size_t used_bytes;            /* relaxed: a sum */
    atomic_uint_least64_t refused_count; /* relaxed */
};

/* @inner NULL: malloc's. */
void cpti_budget_init(struct cpti_budget *budget, const struct cpt_alloc *inner,
                      size_t bytes_max);

/* How often it has said that there is no more. */
static inline uint64_t cpti_budget_refused(struct cpti_budget *budget)
{
    return atomic_load_explicit(&budget->refused_count, memory_order_relaxed);
}

#endif
