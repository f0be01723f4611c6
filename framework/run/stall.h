/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* stall.h - threads that run tasks, as a watcher sees them come on; see stall.c */
#ifndef CPT_STALL_H
#define CPT_STALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpti_watched;

extern atomic_bool cpti_stalls_are_watched; /* relaxed: a hint to register */

/* Of this thread; NULL: it is not watched. Odd while it runs work; changes whenever it
 * comes on. Relaxed: the watcher only compares. */
extern _Thread_local _Atomic uint64_t *cpti_stall_turns
    __attribute__((tls_model("initial-exec")));

/* Registers this thread. */
void cpti_stall_register(void);

/* A piece of work begins; its result is for cpti_stall_leave(). */
static inline uint64_t cpti_stall_enter(void)
{
    uint64_t before = 0;

    if (atomic_load_explicit(&cpti_stalls_are_watched, memory_order_relaxed) &&
        cpti_stall_turns == NULL) {
        cpti_stall_register();
    }
    if (cpti_stall_turns != NULL) {
        before = atomic_load_explicit(cpti_stall_turns, memory_order_relaxed);
        atomic_store_explicit(cpti_stall_turns, (before + 2) | 1, memory_order_relaxed);
    }
    return before;
}

/* Some of its tasks have run. */
static inline void cpti_stall_come_on(void)
{
    if (cpti_stall_turns != NULL) {
        atomic_store_explicit(
            cpti_stall_turns,
            atomic_load_explicit(cpti_stall_turns, memory_order_relaxed) + 2,
            memory_order_relaxed);
    }
}

/* The piece of work has ended; the thread may be within another one. */
static inline void cpti_stall_leave(uint64_t before)
{
    if (cpti_stall_turns != NULL) {
        const uint64_t now =
            atomic_load_explicit(cpti_stall_turns, memory_order_relaxed);

        atomic_store_explicit(cpti_stall_turns,
                              ((now + 2) & ~UINT64_C(1)) | (before & 1),
                              memory_order_relaxed);
    }
}

#endif
