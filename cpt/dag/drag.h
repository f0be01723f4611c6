/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* drag.h - the drags of the steps of a walk; drag.c, for the files of the core */
#ifndef DRAG_H
#define DRAG_H

#include "cpt/cpt_drag.h"

/* A stretch of the path. */
struct cpti_drag_step {
    const void *record; /* a task or call; NULL: the entry */
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t drag_ns; /* the result; UINT64_MAX: unknown */
    unsigned char is_call;
    unsigned char is_known; /* what it belongs to */
};

/*
 * Measures @steps, of @count elements in time order, which do not overlap.
 *
 * CPT_OK; CPT_LIMIT or CPT_NO_MEMORY.
 */
cpt_status cpti_drags_of(const struct cpt_drags *drags, struct cpti_drag_step *steps,
                         size_t count);

#endif
