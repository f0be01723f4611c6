/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* stall.h - threads that run tasks, as a watcher sees them come on; see stall.c */
#ifndef CPT_STALL_H
#define CPT_STALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern atomic_bool cpti_stalls_are_watched; /* relaxed: a hint to register */

/* Whether threads are watched. */
static inline bool cpti_stall_is_on(void)
{
    return atomic_load_explicit(&cpti_stalls_are_watched, memory_order_relaxed);
}

/* A piece of work begins; its result is for cpti_stall_leave(). */
uint64_t cpti_stall_enter(void);

/* Some of its tasks have run. */
void cpti_stall_come_on(void);

/* The piece of work has ended; the thread may be within another one. */
void cpti_stall_leave(uint64_t before);

#endif
