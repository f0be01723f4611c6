/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* resource.h - what tasks hold, and others wait for: a lock of the application */
#ifndef CPT_RESOURCE_H
#define CPT_RESOURCE_H

#include <stdatomic.h>
#include <stdint.h>

/* In the lock, which outlives each wait for it. */
struct cpti_resource {
    const char *name;
    uint32_t id;                /* of the process, so that equal names differ */
    _Atomic uint32_t holder_id; /* cpti_task_name() of the last one; relaxed: it is for
                                   people, who may see the one before */
};

/* Fills in @resource, whose memory is zero. */
static inline void cpti_resource_init(struct cpti_resource *resource, const char *name,
                                      atomic_uint_least32_t *last_id)
{
    resource->name = name;
    resource->id = atomic_fetch_add_explicit(last_id, 1, memory_order_relaxed) + 1;
}

#endif
