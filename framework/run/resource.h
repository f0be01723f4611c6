/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* resource.h - what tasks hold, and others wait for: a lock of the application */
#ifndef CPT_RESOURCE_H
#define CPT_RESOURCE_H

#include <stdatomic.h>
#include <stdint.h>

struct cpt_pending;

/* In the lock, which outlives each wait for it. */
struct cpti_resource {
    /* @pending, which waits for the lock, asks for it again if it was passed over: see
     * cpti_wait_passes(). Lock of its request held. */
    void (*ask_again)(struct cpt_pending *pending);
    const char *name;
    uint32_t id;             /* of the process, so that equal names differ */
    uint32_t count;          /* how many tasks may hold it at once */
    _Atomic uint64_t holder; /* one of them, a tenant of overlap.h; relaxed: it is for
                                people, who may see the one before */
};

/* Fills in @resource, whose memory is zero, but for ask_again. */
void cpti_resource_init(struct cpti_resource *resource, const char *name,
                        uint32_t count);

#endif
