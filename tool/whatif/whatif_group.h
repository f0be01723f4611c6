/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_group.h - frames that one fix makes shorter together
 *
 * A group has the number of its first frame. What is no work (queues, the network) is
 * in a group only by frame:
 *
 *      frames      0 A: a   1 A: b   2 A: b ‹queue›   3 C: get   4 C: get ‹network›
 *      frame       0        1        2                3          4
 *      operation   0        1        -                3          -
 *      service     0        0        -                3          -
 *
 * Threads: any.
 */
#ifndef CPTI_CLI_WHATIF_GROUP_H
#define CPTI_CLI_WHATIF_GROUP_H

#include "tool/whatif/whatif_set.h"

enum cpti_whatif_by {
    CPTI_WHATIF_BY_FRAME,
    CPTI_WHATIF_BY_OPERATION, /* work of a name: tasks, calls not known inside, locks */
    CPTI_WHATIF_BY_SERVICE    /* work of all names of a service */
};

/* Whether @word is one of these, "service" …; then *@by is which. */
bool cpti_whatif_by_of(const char *word, enum cpti_whatif_by *by);
const char *cpti_whatif_by_word(enum cpti_whatif_by by);

/* What is made shorter together unless it is said: a service, where it is inferred who
 * waited in some request, otherwise a frame. */
enum cpti_whatif_by cpti_whatif_by_default(const struct cpti_whatif_set *set);

#define CPTI_WHATIF_NO_GROUP UINT32_MAX

/* Fills *@groups with the group of each frame of @set, or CPTI_WHATIF_NO_GROUP; the
 * caller frees it. CPT_OK, CPT_NO_MEMORY, CPT_LIMIT; after an error it is NULL. */
cpt_status cpti_whatif_groups(const struct cpti_whatif_set *set, enum cpti_whatif_by by,
                              uint32_t **groups);

/* Group @frame in a term: exactly its frames, whatever bytes their names have. */
struct cpt_whatif_frames cpti_whatif_group_frames(const struct cpti_whatif_set *set,
                                                  enum cpti_whatif_by by,
                                                  uint32_t frame);

/* "A: b ‹queue›", "A: b", "A: *": the same as text. */
const char *cpti_whatif_group_text(const struct cpti_whatif_set *set,
                                   enum cpti_whatif_by by, uint32_t frame,
                                   char text[2 * CPT_NAME_BYTES_MAX]);

#endif
