/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * path_print.h - one critical path, for people and for programs
 *
 * For people it is a tree in the order of time. A frame without time of its own has a
 * line without numbers; a frame that continues after its callee has a second line:
 *
 *           ms  share  frame
 *        5.000  14.3%  A: /
 *                        A: A1
 *       20.000  57.1%      B: Lookup
 *       10.000  28.6%    A: A1
 */
#ifndef CPTI_CLI_PATH_PRINT_H
#define CPTI_CLI_PATH_PRINT_H

#include "tool/table/json_write.h"

struct cpt_path;

/* Writes the frames of the stack of @frame, root first, to @stack, which has room for
 * CPT_PATH_DEPTH_MAX; returns their number. */
size_t cpti_path_stack(const struct cpt_path *path, uint32_t frame, uint32_t *stack);

/* Prints the tree. enum cpti_exit. */
int cpti_path_print(const struct cpt_path *path);

/* The same with those segments only for which @is_shown is set, and a line with the
 * number and the sum of the others. */
int cpti_path_print_part(const struct cpt_path *path, const bool *is_shown);

/* Writes the remarks on segment @index, " (cached, attempt 2)" or "", in at most
 * @capacity bytes with the NUL. */
void cpti_path_remarks(const struct cpt_path *path, size_t index, char *text,
                       size_t capacity);

/* Writes the array "segments": objects with stack, kind, duration_ns and, where a
 * segment has them, reason, count, overcount, labels. */
void cpti_path_json(struct cpti_json *json, const struct cpt_path *path);

/* The same with some segments, and "rest", the number and the sum of the others. */
void cpti_path_json_part(struct cpti_json *json, const struct cpt_path *path,
                         const bool *is_shown);

/* Writes the flags that are set: "unordered", "incomplete", "approximate" as true. */
void cpti_path_flags_json(struct cpti_json *json, unsigned flags);

/* The set flags in words, each after ", "; "" if none is set. */
const char *cpti_path_flags_text(unsigned flags);

#endif
