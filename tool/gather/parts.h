/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * parts.h - trees that are put together: which one was met before, whole or in part
 *
 *      x.cpttree   paths.cptlog, arm=A   600 of 1,000 records
 *      y.cpttree   paths.cptlog, arm=B   400 of the same 1,000 records
 *
 * A tree that is given twice, the same bytes, counts once. Trees that were made of the
 * same logs (their notes "reading" are the same, and so are the numbers of records) are
 * parts of one reading: their requests add up, and its records count once. Merging adds
 * up all counts of trees, so what counts again is noted as a count, too, and subtracted
 * where records are shown: `records` - `records_again`.
 *
 * Parts of one reading whose requests, and what one of them left out, are more than its
 * records share some, and so do a tree and one of its logs: such requests count twice,
 * which is said and noted (`overlap`). Parts of different selections are each named by
 * a note (`part`), as the union of their terms would select something else.
 *
 * Threads: any, but for new, reset, free and what comes after the last meeting.
 */
#ifndef CPTI_CLI_PARTS_H
#define CPTI_CLI_PARTS_H

#include "cpt/cpt_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpt_tree;
struct cpti_parts;

/* @keeps_duplicates: what was met before counts again. NULL without memory. */
struct cpti_parts *cpti_parts_new(bool keeps_duplicates);
void cpti_parts_reset(struct cpti_parts *parts);
void cpti_parts_free(struct cpti_parts *parts);

/* Meets @tree, whose file has the hash @digest. *@is_again: the same one was met
 * before. Otherwise notes what of its records was. Errors of cpt_tree_count_add(). */
cpt_status cpti_parts_meet(struct cpti_parts *parts, struct cpt_tree *tree,
                           uint64_t digest, bool *is_again);

/* Whether the service @entry is the one that the requests before entered at, *@before,
 * if there are any. *@before lives until the next reset. */
bool cpti_parts_enter(struct cpti_parts *parts, const char *entry, const char **before);

/* Meets the logs whose reading is @text, of which all requests count. */
void cpti_parts_meet_logs(struct cpti_parts *parts, const char *text);

/* If trees were met: what else counts was selected as the notes of @tree say. */
cpt_status cpti_parts_meet_others(struct cpti_parts *parts,
                                  const struct cpt_tree *tree);

/* Notes in @tree, the sum of all that was met, whether parts overlap, and the
 * selections if there are several. Beyond the limits of notes the first ones stay. */
cpt_status cpti_parts_note(const struct cpti_parts *parts, struct cpt_tree *tree);

/* Warns of trees that were given more than once, and of parts of @tree that overlap. */
void cpti_parts_warn(const struct cpti_parts *parts, const struct cpt_tree *tree);

/* Whether the note @key does not tell how requests were selected. */
bool cpti_parts_is_origin(const char *key);

/* What the requests of @tree were selected by, in words; @capacity is at least 16. */
void cpti_parts_selection(const struct cpt_tree *tree, char *text, size_t capacity);

/* The records that were read for @tree, and those that were skipped as damaged. */
uint64_t cpti_parts_records(const struct cpt_tree *tree);
uint64_t cpti_parts_skipped(const struct cpt_tree *tree);

/* The note "reading" of the logs at @paths, in any order: a hash of their lengths and
 * beginnings; empty if one cannot be read twice. enum cpti_exit, the error printed. */
int cpti_parts_reading(const char *const *paths, size_t count, char text[17]);

#endif
