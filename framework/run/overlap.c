/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* overlap.c - the traces of the traced requests that began last; see overlap.h */
#include "framework/run/overlap.h"

enum { PLACES = 4096 };

/*
 * One that begins writes 0, its trace, its number. A reader that finds the same number
 * before and after has the trace that belongs to it: the trace is released and
 * acquired, so that who sees a new one also sees that the number has gone.
 */
static struct {
    _Atomic uint64_t trace;
    _Atomic uint32_t number;
} places[PLACES];

static _Atomic uint32_t last_number;

uint32_t cpti_overlap_enter(uint64_t trace)
{
    uint32_t number = 0;

    if (trace == 0) {
        return 0;
    }
    do {
        number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    } while (number == 0);
    atomic_store_explicit(&places[number % PLACES].number, 0, memory_order_relaxed);
    atomic_store_explicit(&places[number % PLACES].trace, trace, memory_order_release);
    atomic_store_explicit(&places[number % PLACES].number, number,
                          memory_order_release);
    return number;
}

uint64_t cpti_overlap_trace(uint32_t number)
{
    uint64_t trace = 0;

    if (number == 0 || atomic_load_explicit(&places[number % PLACES].number,
                                            memory_order_acquire) != number) {
        return 0;
    }
    trace = atomic_load_explicit(&places[number % PLACES].trace, memory_order_acquire);
    return atomic_load_explicit(&places[number % PLACES].number,
                                memory_order_relaxed) == number
               ? trace
               : 0;
}
