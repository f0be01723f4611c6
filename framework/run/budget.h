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
    atomic_size_t used_bytes; /* relaxed: a sum */
};

/*
 * What one request takes of a budget while its blocks, which outlive it, belong to
 * somebody else: an allocator for its arena, which counts what it hands out and never
 * what comes back. All is given back at once.
 */
struct cpti_account {
    struct cpt_alloc alloc; /* for the arena */
    const struct cpt_alloc *inner;
    struct cpti_budget *budget;
    atomic_size_t bytes; /* relaxed */
    atomic_int
        is_refused; /* relaxed; the budget had not so much for it, once at least */
};

/* Opens @account with @bytes that are there already. 0: that is too much. */
int cpti_account_open(struct cpti_account *account, struct cpti_budget *budget,
                      const struct cpt_alloc *inner, size_t bytes);

/* @more of @account, for whoever allocates himself. 0: that is too much. */
int cpti_account_take(struct cpti_account *account, size_t more);

/* Gives all back. Nobody allocates by it any more. */
void cpti_account_close(struct cpti_account *account);

/* @inner NULL: malloc's. */
void cpti_budget_init(struct cpti_budget *budget, const struct cpt_alloc *inner,
                      size_t bytes_max);

/* 1: @account was told that there is no more, be it for the first bytes. */
static inline int cpti_account_is_refused(const struct cpti_account *account)
{
    return atomic_load_explicit(&account->is_refused, memory_order_relaxed);
}

#endif
