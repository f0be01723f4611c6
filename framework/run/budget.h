/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * budget.h - limits of memory: of many requests, of one, of one with its components
 *
 *      budget    what the requests of a service may take together
 *      account   what one request has taken of it
 *      quota     what a request and its components may take together
 *
 * Each is an allocator in front of another one that counts. Beyond the limit it returns
 * NULL, as an allocator may at any time. A budget puts the size in front of each block.
 *
 * Threads: any.
 */
#ifndef CPT_BUDGET_H
#define CPT_BUDGET_H

#include "cpt/cpt_alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct cpti_budget {
    struct cpt_alloc alloc; /* to hand out; good as long as the budget */
    const struct cpt_alloc *inner;
    size_t bytes_max;
    atomic_size_t used_bytes; /* relaxed: a sum */
};

/*
 * What one request has taken of a budget, while the blocks, which outlive it, belong to
 * another allocator: for the arena of the request. It counts what it hands out and
 * never what comes back. All is given back at once.
 */
struct cpti_account {
    struct cpt_alloc alloc; /* for the arena */
    const struct cpt_alloc *inner;
    struct cpti_budget *budget;
    atomic_size_t bytes; /* relaxed */
    atomic_int
        is_refused; /* relaxed; the budget had too little for it, at least once */
};

/* Opens @account with @bytes that are taken already. false: the budget has less. */
bool cpti_account_open(struct cpti_account *account, struct cpti_budget *budget,
                       const struct cpt_alloc *inner, size_t bytes);

/* The same even if the budget has less. */
void cpti_account_open_forced(struct cpti_account *account, struct cpti_budget *budget,
                              const struct cpt_alloc *inner, size_t bytes);

/* Takes @more that is allocated elsewhere. false: the budget has less. */
bool cpti_account_take(struct cpti_account *account, size_t more);

/* Takes @more that is allocated elsewhere, even if the budget has less. */
void cpti_account_force(struct cpti_account *account, size_t more);

/* Moves what @account has taken so far to @other, of another budget, even if that has
 * less. */
void cpti_account_move(struct cpti_account *account, struct cpti_account *other);

/* Gives all back. The account is not used for allocating any more. */
void cpti_account_close(struct cpti_account *account);

/* @inner NULL: malloc's. */
void cpti_budget_init(struct cpti_budget *budget, const struct cpt_alloc *inner,
                      size_t bytes_max);

/* Whether the budget had too little for @account, even for the first bytes. */
static inline bool cpti_account_is_refused(const struct cpti_account *account)
{
    return atomic_load_explicit(&account->is_refused, memory_order_relaxed) != 0;
}

/* What a request and its components may take together. It never counts down, since
 * nothing of them is freed before the end. */
struct cpti_quota {
    struct cpt_alloc alloc; /* for the components, and the arena of the request */
    const struct cpt_alloc *inner;
    struct cpti_account *account; /* of the request, or NULL */
    size_t bytes_max;
    atomic_size_t bytes;  /* relaxed: a count */
    atomic_uchar is_full; /* relaxed: it has refused once */
};

/* Takes @more that is allocated elsewhere. false: there is less. */
bool cpti_quota_take(struct cpti_quota *quota, size_t more);

/* @bytes are taken already. */
void cpti_quota_init(struct cpti_quota *quota, const struct cpt_alloc *inner,
                     struct cpti_account *account, size_t bytes_max, size_t bytes);

/* Whether the limit was reached. Once it was, it always is. */
static inline bool cpti_quota_is_full(const struct cpti_quota *quota)
{
    return atomic_load_explicit(&quota->is_full, memory_order_relaxed) != 0;
}

#endif
