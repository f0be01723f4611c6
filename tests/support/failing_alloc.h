/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * failing_alloc.h - an allocator that refuses a chosen allocation
 *
 * A struct cpt_alloc that counts every request for memory and every block that was not
 * freed. The scenario of a test is a function of an allocator that returns whether it
 * succeeded; each_allocation_failure() runs it once with enough memory, then once for
 * each request that it made, refusing that one.
 *
 * Threads: any, once it is initialised.
 */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

#include "cpt/cpt_alloc.h"

#include <CUnit/CUnit.h>

#include <stdatomic.h>
#include <stdbool.h>

struct failing_alloc {
    struct cpt_alloc alloc;   /* pass its address to the code under test */
    atomic_size_t call_count; /* requests for memory so far, with the refused one */
    atomic_size_t live_count; /* blocks not freed yet */
    size_t refused_call;      /* the request that is refused: 1 is the first; 0: none */
};

/* Refuses the @refused_call-th request for memory (new, or to grow a block). */
void failing_alloc_init(struct failing_alloc *failing, size_t refused_call);

/*
 * @body must succeed with enough memory, fail when any single request is refused, and
 * free everything in both cases.
 */
static inline void each_allocation_failure(bool (*body)(const struct cpt_alloc *alloc))
{
    struct failing_alloc failing;
    size_t total = 0;

    failing_alloc_init(&failing, 0);
    CU_ASSERT_TRUE(body(&failing.alloc));
    CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
    total = atomic_load(&failing.call_count);
    CU_ASSERT_NOT_EQUAL(total, 0);

    for (size_t n = 1; n <= total; n++) {
        failing_alloc_init(&failing, n);
        CU_ASSERT_FALSE(body(&failing.alloc));
        CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
    }
}

#endif
