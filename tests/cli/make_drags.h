/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* make_drags.h - the drags of a path of make_log */
#ifndef MAKE_DRAGS_H
#define MAKE_DRAGS_H

#include "cpt/cpt_path.h"

/* Sets the drags of the path of request @index: of B1 they are less than its time, of
 * its second segment in some requests not known, of the network 0. */
static inline cpt_status set_drags(struct cpt_path *path, unsigned index)
{
    const uint64_t us = 1000;
    const uint64_t drags_ns[] = {0,        1200 * us, (4000 + index % 7 * 100) * us,
                                 300 * us, 0,         7000 * us};
    const size_t last = cpt_path_segment_count(path) - 1;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i <= last && status == CPT_OK; i++) {
        const uint64_t duration_ns = cpt_path_segment(path, i)->duration_ns;

        if (i != 3 || index % 5 != 0) {
            status = cpt_path_drag_set(path, i,
                                       i == 0 || i == last ? duration_ns : drags_ns[i]);
        }
    }
    return status;
}

#endif
