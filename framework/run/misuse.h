/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * misuse.h - mistakes of the application: the runtime survives and counts them
 *
 * A mistake gives a defined error and is counted, in every build; it never ends the
 * process. The counts are of the process, since a stale pending names no service.
 *
 * Threads: any.
 */
#ifndef CPT_MISUSE_H
#define CPT_MISUSE_H

#include <stdatomic.h>
#include <stdint.h>

/* X(name, what it counts). */
#define CPTI_MISUSE_MAP(X)                                                             \
    X(completed_twice, "pendings completed again")                                     \
    X(wrong_kind, "pendings given to a function for another kind")                     \
    X(stale_pending, "pendings that are NULL, or of a request that is gone")           \
    X(foreign_pending, "waits for what another task started")                          \
    X(bad_status, "steps and completions with a number that is no status")             \
    X(state_size, "states asked for with another size")                                \
    X(undeclared_value, "values that the task does not declare")                       \
    X(bad_input, "runs started without their input")                                   \
    X(free_unlocked, "mutexes unlocked that were free")                                \
    X(held_freed, "mutexes freed that were held")                                      \
    X(unbalanced, "parts left that were not entered")

enum cpti_misuse {
#define CPTI_MISUSE_ENUM_(name, help) cpti_misuse_##name,
    CPTI_MISUSE_MAP(CPTI_MISUSE_ENUM_)
#undef CPTI_MISUSE_ENUM_
        CPTI_MISUSE_COUNT
};

extern atomic_uint_least64_t cpti_misuse_counts[CPTI_MISUSE_COUNT]; /* relaxed */

#define CPTI_MISUSED(name)                                                             \
    ((void)atomic_fetch_add_explicit(&cpti_misuse_counts[cpti_misuse_##name], 1,       \
                                     memory_order_relaxed))

#endif
