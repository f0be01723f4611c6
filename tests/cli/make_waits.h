/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* make_waits.h - the waits of a path of make_log */
#ifndef MAKE_WAITS_H
#define MAKE_WAITS_H

#include "cpt/cpt_path.h"

#include <stddef.h>

/* Goes on while nothing has failed. */
#define THEN(status, call) ((status) == CPT_OK ? (call) : (status))

/* Appends @us of @kind below @parent, with its holder. */
static inline cpt_status append_wait(struct cpt_path *path, uint32_t parent,
                                     const char *name, unsigned kind, unsigned us,
                                     const char *holder)
{
    uint32_t frame = 0;
    cpt_status status =
        cpt_path_frame_add(path, parent, cpt_bytes_of(name), kind, &frame);

    if (status == CPT_OK) {
        status = cpt_path_append_ns(path, frame, us * UINT64_C(1000));
    }
    if (status == CPT_OK && kind == CPT_KIND_QUEUE) {
        status = cpt_path_label_name(path, CPT_LABEL_EXECUTOR, cpt_bytes_of("pool"));
    }
    if (status == CPT_OK && holder != NULL) {
        status = cpt_path_label_name(path, CPT_LABEL_HOLDER, cpt_bytes_of(holder));
    }
    return status;
}

/* Waits of request @index: see make_contended(). */
static inline cpt_status set_contended(struct cpt_path *path, unsigned index)
{
    const uint64_t us = 1000;
    const char *worker = index % 2 == 0 ? "A: A3" : NULL;
    const char *processor = index % 4 != 3 ? "A: A4" : NULL;
    uint32_t entry = 0;
    uint32_t task = 0;
    cpt_status status;

    cpt_path_reset(path);
    status = cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &entry);
    status =
        THEN(status, append_wait(path, entry, "", CPT_KIND_ACCEPT_QUEUE, 10, NULL));
    status =
        THEN(status, cpt_path_frame_add(path, entry, cpt_bytes_of("A: A1"), 0, &task));
    status = THEN(status, append_wait(path, task, "", CPT_KIND_QUEUE, 100, worker));
    status = THEN(status, cpt_path_label_number(path, CPT_LABEL_QUEUE_LENGTH, 2));
    status = THEN(status, cpt_path_append_ns(path, task, 5000 * us));
    status =
        THEN(status, append_wait(path, task, "cache", CPT_KIND_LOCK, 4000, "A: A2"));
    if (index % 4 == 0) {
        status = THEN(status, cpt_path_append_ns(path, task, 1000 * us));
        status = THEN(status,
                      append_wait(path, task, "cache", CPT_KIND_LOCK, 2000, "A: A2"));
        status = THEN(status, cpt_path_label_number(path, CPT_LABEL_HOLDER_REQUEST,
                                                    0xabc0 + index));
    }
    status =
        THEN(status, append_wait(path, task, "", CPT_KIND_OFF_CPU, 300, processor));
    if (index % 4 != 3) { /* of the others it is not measured */
        status =
            THEN(status, cpt_path_label_number(path, CPT_LABEL_RUN_DELAY, 200 * us));
    }
    return THEN(status, cpt_path_append_ns(path, task, 700 * us));
}

#endif
