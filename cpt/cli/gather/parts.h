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
 * Threads: any, but for new, reset and free.
 */
#ifndef CPTI_CLI_PARTS_H
#define CPTI_CLI_PARTS_H

#include "cpt/cpt_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpt_tree;
struct cpti_parts;

/* NULL without memory. */
struct cpti_parts *cpti_parts_new(void);
void cpti_parts_reset(struct cpti_parts *parts);
void cpti_parts_free(struct cpti_parts *parts);

/* Meets @tree, whose file has the hash @digest. *@is_again: the same one was met
 * before. Otherwise notes what of its records was. Errors of cpt_tree_count_add(). */
cpt_status cpti_parts_meet(struct cpti_parts *parts, struct cpt_tree *tree,
                           uint64_t digest, bool *is_again);

/* Warns of trees that were given more than once. */
void cpti_parts_warn(const struct cpti_parts *parts);

/* The records that were read for @tree, and those that were skipped as damaged. */
uint64_t cpti_parts_records(const struct cpt_tree *tree);
uint64_t cpti_parts_skipped(const struct cpt_tree *tree);

/* The note "reading" of the logs at @paths, in any order: a hash of their lengths and
 * beginnings; empty if one cannot be read twice. enum cpti_exit, the error printed. */
int cpti_parts_reading(const char *const *paths, size_t count, char text[17]);

#endif
