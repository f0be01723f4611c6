/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_print.h - the summary of a tree in reports and diffs, and its stacks
 *
 *      A: 4812 requests, mean latency 33.123 ms (95 % interval 32.911 to 33.335)
 *      selection: arm=control; 3 forced left out
 */
#ifndef CPTI_CLI_TREE_PRINT_H
#define CPTI_CLI_TREE_PRINT_H

#include "aggregate/cpt_diff.h"
#include "tool/table/json_write.h"

struct cpt_mean;
struct cpt_stats;
struct cpt_tree;

/* Prints those two lines; @what comes before them ("base", or NULL). */
void cpti_tree_print(const struct cpt_tree *tree, const char *what);

/* The same with other errors of the root than those of @tree: @all, by cluster if
 * @is_clustered. */
void cpti_tree_print_stats(const struct cpt_tree *tree, const char *what,
                           const struct cpt_stats *all, bool is_clustered);

/* The requests of which it is inferred who waited, also where that is learnt. */
uint64_t cpti_tree_inferred_count(const struct cpt_tree *tree);

/* Writes fields of the open object: entry, requests, mean_latency_ns, low_ns, high_ns,
 * first_unix_ns, last_unix_ns, notes as arrays, counts as numbers. */
void cpti_tree_json(struct cpti_json *json, const struct cpt_tree *tree);
void cpti_tree_json_stats(struct cpti_json *json, const struct cpt_tree *tree,
                          const struct cpt_stats *all, bool is_clustered);

/* Writes the field "stack" of @node, and "frames" if a name is shown with escapes. */
void cpti_tree_stack_json(struct cpti_json *json, const struct cpt_tree *tree,
                          uint32_t node);

/* Writes the fields "trusted" and, if it is not, "why". */
void cpti_doubt_json(struct cpti_json *json, enum cpt_diff_doubt doubt);

/* The field "trusted", whether the intervals of @stats may be believed, and if not
 * "why". @is_heavy: of cpt_stats_heaviness(). */
void cpti_trust_json(struct cpti_json *json, const struct cpt_stats *stats,
                     bool is_clustered, bool is_heavy);

/* Writes the ends of the 95 % interval of @mean. */
void cpti_interval_json(struct cpti_json *json, const char *low, const char *high,
                        const struct cpt_mean *mean);

#endif
