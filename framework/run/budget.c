/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* budget.c - memory that many requests share; see budget.h. */
#include "framework/run/budget.h"

/* In front of each block, and as aligned as what malloc gives. */
union front {
    size_t bytes; /* with the front */
    max_align_t align;
};

/* Takes @more of the budget; false: it has less. */
static bool reserve(struct cpti_budget *budget, size_t more)
{
    const size_t before =
        atomic_fetch_add_explicit(&budget->used_bytes, more, memory_order_relaxed);

    if (before <= budget->bytes_max && more <= budget->bytes_max - before) {
        return true;
    }
    (void)atomic_fetch_sub_explicit(&budget->used_bytes, more, memory_order_relaxed);
    return false;
}

static void give_back(struct cpti_budget *budget, size_t bytes)
{
    (void)atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
}

static void *resize(void *context, void *memory, size_t bytes)
{
    struct cpti_budget *budget = context;
    const struct cpt_alloc *inner = budget->inner;
    union front *front = memory != NULL ? (union front *)memory - 1 : NULL;
    const size_t before = front != NULL ? front->bytes : 0;
    const size_t after = bytes + sizeof *front;

    if (bytes == 0) {
        give_back(budget, before);
        (void)inner->resize(inner->context, front, 0);
        return NULL;
    }
    if (after < bytes || (after > before && !reserve(budget, after - before))) {
        return NULL;
    }
    front = inner->resize(inner->context, front, after);
    if (front == NULL) {
        give_back(budget, after > before ? after - before : 0);
        return NULL;
    }
    front->bytes = after;
    if (after < before) {
        give_back(budget, before - after);
    }
    return front + 1;
}

void cpti_budget_init(struct cpti_budget *budget, const struct cpt_alloc *inner,
                      size_t bytes_max)
{
    budget->alloc = (struct cpt_alloc){resize, budget};
    budget->inner = inner != NULL ? inner : cpt_alloc_default();
    budget->bytes_max = bytes_max;
    atomic_init(&budget->used_bytes, 0);
}

/* --- One request --- */

bool cpti_account_take(struct cpti_account *account, size_t more)
{
    if (!reserve(account->budget, more)) {
        atomic_store_explicit(&account->is_refused, 1, memory_order_relaxed);
        return false;
    }
    (void)atomic_fetch_add_explicit(&account->bytes, more, memory_order_relaxed);
    return true;
}

void cpti_account_force(struct cpti_account *account, size_t more)
{
    (void)atomic_fetch_add_explicit(&account->budget->used_bytes, more,
                                    memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&account->bytes, more, memory_order_relaxed);
}

void cpti_account_move(struct cpti_account *account, struct cpti_account *other)
{
    const size_t bytes =
        atomic_exchange_explicit(&account->bytes, 0, memory_order_relaxed);

    give_back(account->budget, bytes);
    cpti_account_force(other, bytes);
}

static void *resize_in_account(void *context, void *memory, size_t bytes)
{
    struct cpti_account *account = context;

    if (bytes != 0 && !cpti_account_take(account, bytes)) {
        return NULL;
    }
    return account->inner->resize(account->inner->context, memory, bytes);
}

static void account_init(struct cpti_account *account, struct cpti_budget *budget,
                         const struct cpt_alloc *inner, size_t bytes)
{
    account->alloc = (struct cpt_alloc){resize_in_account, account};
    account->inner = inner;
    account->budget = budget;
    atomic_init(&account->bytes, bytes);
    atomic_init(&account->is_refused, 0);
}

bool cpti_account_open(struct cpti_account *account, struct cpti_budget *budget,
                       const struct cpt_alloc *inner, size_t bytes)
{
    const bool fits = reserve(budget, bytes);

    account_init(account, budget, inner, fits ? bytes : 0);
    if (!fits) {
        atomic_init(&account->is_refused, 1);
    }
    return fits;
}

void cpti_account_open_forced(struct cpti_account *account, struct cpti_budget *budget,
                              const struct cpt_alloc *inner, size_t bytes)
{
    account_init(account, budget, inner, bytes);
    (void)atomic_fetch_add_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
}

void cpti_account_close(struct cpti_account *account)
{
    give_back(account->budget,
              atomic_load_explicit(&account->bytes, memory_order_relaxed));
}

/* --- A request and its components --- */

bool cpti_quota_take(struct cpti_quota *quota, size_t more)
{
    const size_t before =
        atomic_fetch_add_explicit(&quota->bytes, more, memory_order_relaxed);
    const bool fits = before <= quota->bytes_max && more <= quota->bytes_max - before;

    if (fits && (quota->account == NULL || cpti_account_take(quota->account, more))) {
        return true;
    }
    (void)atomic_fetch_sub_explicit(&quota->bytes, more, memory_order_relaxed);
    if (!fits) {
        atomic_store_explicit(&quota->is_full, 1, memory_order_relaxed);
    }
    return false;
}

static void *resize_in_quota(void *context, void *memory, size_t bytes)
{
    struct cpti_quota *quota = context;

    if (bytes != 0 && !cpti_quota_take(quota, bytes)) {
        return NULL;
    }
    return quota->inner->resize(quota->inner->context, memory, bytes);
}

void cpti_quota_init(struct cpti_quota *quota, const struct cpt_alloc *inner,
                     struct cpti_account *account, size_t bytes_max, size_t bytes)
{
    quota->alloc = (struct cpt_alloc){resize_in_quota, quota};
    quota->inner = inner;
    quota->account = account;
    quota->bytes_max = bytes_max;
    atomic_init(&quota->bytes, bytes);
    atomic_init(&quota->is_full, 0);
}
