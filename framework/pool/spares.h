/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * spares.h - descriptors that are kept back for when a process has none left
 *
 *      open() --EMFILE--> one of ours is closed --> open() ... close() --> kept again
 *
 * A transport counts what it takes itself, but a host and other libraries may take all
 * descriptors nevertheless. What must work then, such as the kill switch, has some of
 * its own: descriptors of nothing, which it closes just before it needs one. Another
 * thread may be faster in between; then the next spare is tried, and else it fails, as
 * it would without.
 *
 * Inline, also for transports.
 *
 * Threads: one at a time.
 */
#ifndef CPT_POOL_SPARES_H
#define CPT_POOL_SPARES_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CPTI_SPARES_MAX = 6 };

struct cpti_spares {
    int descriptors[CPTI_SPARES_MAX];
    unsigned count;
    unsigned wanted; /* at most CPTI_SPARES_MAX */
};

/* Keeps as many as are wanted, as far as there are any. */
static inline void cpti_spares_fill(struct cpti_spares *spares)
{
    while (spares->count < spares->wanted) {
        const int descriptor = eventfd(0, EFD_CLOEXEC);

        if (descriptor < 0) {
            return;
        }
        spares->descriptors[spares->count++] = descriptor;
    }
}

/* Closes one, for the caller to open something at once. false: fewer than @least would
 * be left. */
static inline bool cpti_spares_give(struct cpti_spares *spares, unsigned least)
{
    if (spares->count <= least) {
        return false;
    }
    (void)close(spares->descriptors[--spares->count]);
    return true;
}

static inline void cpti_spares_deinit(struct cpti_spares *spares)
{
    spares->wanted = 0;
    while (cpti_spares_give(spares, 0)) {
    }
}

/* Whether @error says that there are no descriptors, here or in the whole system. */
static inline bool cpti_spares_is_need(int error)
{
    return error == EMFILE || error == ENFILE;
}

/* open() for a while: call cpti_spares_fill() once it is closed again. */
static inline int cpti_spares_open(struct cpti_spares *spares, const char *path,
                                   int flags)
{
    int descriptor = open(path, flags);

    while (descriptor < 0 && cpti_spares_is_need(errno) &&
           cpti_spares_give(spares, 0)) {
        descriptor = open(path, flags);
    }
    return descriptor;
}

#endif
