/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* misuse.c - how often the application has made which mistake; see misuse.h */
#include "framework/run/misuse.h"

#include "framework/cpt_runtime.h"

atomic_uint_least64_t cpti_misuse_counts[CPTI_MISUSE_COUNT];

uint64_t cpt_misuse_count(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < CPTI_MISUSE_COUNT; i++) {
        sum += atomic_load_explicit(&cpti_misuse_counts[i], memory_order_relaxed);
    }
    return sum;
}
