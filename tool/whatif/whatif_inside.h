/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_inside.h - spans that are no frames, as they are within an operation
 *
 *      front: /         |======================|     a frame
 *      front: render       |===============|         its time is that of "front: /"
 *
 * Who writes a term for such a name is told where its time is. Of each name it is known
 * in which operation it is, the first by name if there are several, so the order of
 * files changes nothing.
 *
 * Threads: one at a time while it is filled; then any may read.
 */
#ifndef CPTI_CLI_WHATIF_INSIDE_H
#define CPTI_CLI_WHATIF_INSIDE_H

#include "cpt/cpt_name.h"

#include <stdbool.h>

/* Further names are left out: ids in them are the usual reason. */
enum { CPTI_WHATIF_INSIDE_MAX = 4096 };

struct cpti_whatif_inside {
    struct cpt_names *names; /* NULL: none yet */
    struct cpt_names *operations;
    cpt_name_id *operation; /* of each name */
    bool *has_others;       /* it is in several */
};

/* Notes that @name is within @operation. Without memory it is left out. */
void cpti_whatif_inside_add(struct cpti_whatif_inside *inside, struct cpt_bytes name,
                            struct cpt_bytes operation);
void cpti_whatif_inside_deinit(struct cpti_whatif_inside *inside);

size_t cpti_whatif_inside_count(const struct cpti_whatif_inside *inside);

/* Name @index, and the operation that it is in; whether it is in others, too. */
struct cpt_bytes cpti_whatif_inside_at(const struct cpti_whatif_inside *inside,
                                       size_t index, struct cpt_bytes *operation,
                                       bool *has_others);

#endif
