/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * api_0_1_aggregate.c - what the headers of this part declare; see api_0_1.h
 */
#include <cpt/cpt_diff.h>
#include <cpt/cpt_stats.h>
#include <cpt/cpt_tree.h>

#include "api_0_1.h"

/* --- cpt_diff.h --- */

FIRST(struct cpt_diff_options, struct_bytes, size_t *);
NEXT(struct cpt_diff_options, struct_bytes, confidence, double *);
NEXT(struct cpt_diff_options, confidence, base_inclusive, const struct cpt_tree **);
NEXT(struct cpt_diff_options, base_inclusive, new_inclusive, const struct cpt_tree **);
FIRST(struct cpt_change, base_ns, double *);
NEXT(struct cpt_change, base_ns, new_ns, double *);
NEXT(struct cpt_change, new_ns, delta_ns, double *);
NEXT(struct cpt_change, delta_ns, error_ns, double *);
NEXT(struct cpt_change, error_ns, low_ns, double *);
NEXT(struct cpt_change, low_ns, high_ns, double *);
NEXT(struct cpt_change, high_ns, degrees, double *);
NEXT(struct cpt_change, degrees, p_value, double *);
FIRST(struct cpt_diff_row, node, uint32_t *);
NEXT(struct cpt_diff_row, node, self, struct cpt_change *);
NEXT(struct cpt_diff_row, self, inclusive, struct cpt_change *);
NEXT(struct cpt_diff_row, inclusive, base_presence, double *);
NEXT(struct cpt_diff_row, base_presence, new_presence, double *);
NEXT(struct cpt_diff_row, new_presence, base_present_count, uint64_t *);
NEXT(struct cpt_diff_row, base_present_count, new_present_count, uint64_t *);
NEXT(struct cpt_diff_row, new_present_count, is_rare, int *);
NEXT(struct cpt_diff_row, is_rare, q_value, double *);
NEXT(struct cpt_diff_row, q_value, share, double *);
NEXT(struct cpt_diff_row, share, frequency_ns, double *);
NEXT(struct cpt_diff_row, frequency_ns, size_ns, double *);
NEXT(struct cpt_diff_row, size_ns, lost_path, int *);
FIRST(struct cpt_diff_stratum, base, const struct cpt_tree **);
NEXT(struct cpt_diff_stratum, base, new_tree, const struct cpt_tree **);
NEXT(struct cpt_diff_stratum, new_tree, base_inclusive, const struct cpt_tree **);
NEXT(struct cpt_diff_stratum, base_inclusive, new_inclusive, const struct cpt_tree **);
NEXT(struct cpt_diff_stratum, new_inclusive, share, double *);
FUNCTION(cpt_status, cpt_diff_new,
         (const struct cpt_alloc *, const struct cpt_tree *, const struct cpt_tree *,
          const struct cpt_diff_options *, struct cpt_diff **, struct cpt_error *));
FUNCTION(cpt_status, cpt_diff_new_strata,
         (const struct cpt_alloc *, const struct cpt_diff_stratum *, size_t,
          const struct cpt_diff_options *, struct cpt_diff **, struct cpt_error *));
FUNCTION(void, cpt_diff_free, (struct cpt_diff *));
FUNCTION(uint32_t, cpt_diff_row_count, (const struct cpt_diff *));
FUNCTION(const struct cpt_diff_row *, cpt_diff_row_at,
         (const struct cpt_diff *, uint32_t));
FUNCTION(const struct cpt_diff_row *, cpt_diff_total, (const struct cpt_diff *));
FUNCTION(const struct cpt_tree *, cpt_diff_tree, (const struct cpt_diff *));

/* --- cpt_stats.h --- */

VALUE(CPT_STATS_PRESENT_MIN, 30);
FIRST(struct cpt_mean, mean_ns, double *);
NEXT(struct cpt_mean, mean_ns, deviation_ns, double *);
NEXT(struct cpt_mean, deviation_ns, error_ns, double *);
NEXT(struct cpt_mean, error_ns, effective_count, double *);
FIRST(struct cpt_stats, self, struct cpt_mean *);
NEXT(struct cpt_stats, self, inclusive, struct cpt_mean *);
NEXT(struct cpt_stats, inclusive, present_count, uint64_t *);
NEXT(struct cpt_stats, present_count, presence, double *);
NEXT(struct cpt_stats, presence, present_mean_ns, double *);
NEXT(struct cpt_stats, present_mean_ns, min_ns, uint64_t *);
NEXT(struct cpt_stats, min_ns, max_ns, uint64_t *);
NEXT(struct cpt_stats, max_ns, is_rare, int *);
FIRST(struct cpt_bucket, low_ns, uint64_t *);
NEXT(struct cpt_bucket, low_ns, high_ns, uint64_t *);
NEXT(struct cpt_bucket, high_ns, share, double *);
FUNCTION(struct cpt_stats, cpt_stats_of, (const struct cpt_tree *, uint32_t));
FUNCTION(uint64_t, cpt_stats_quantile_ns, (const struct cpt_tree *, uint32_t, double));
FUNCTION(size_t, cpt_stats_bucket_count, (const struct cpt_tree *, uint32_t));
FUNCTION(struct cpt_bucket, cpt_stats_bucket,
         (const struct cpt_tree *, uint32_t, size_t));
FUNCTION(void, cpt_mean_interval,
         (const struct cpt_mean *, double, double *, double *));
FUNCTION(double, cpt_normal_cdf, (double));
FUNCTION(double, cpt_normal_quantile, (double));
FUNCTION(double, cpt_student_cdf, (double, double));
FUNCTION(double, cpt_student_quantile, (double, double));
FUNCTION(cpt_status, cpt_stats_q_values,
         (const struct cpt_alloc *, const double *, double *, size_t));

/* --- cpt_tree.h --- */

VALUE(CPT_WEIGHT_ONE, UINT64_C(1) << 20);
VALUE(CPT_WEIGHT_MAX, UINT64_C(1) << 48);
VALUE(CPT_TREE_TIME_MAX, (UINT64_C(1) << 56) - 1);
VALUE(CPT_TREE_REQUESTS_MAX, (UINT64_C(1) << 48) - 1);
VALUE(CPT_TREE_NONE, UINT32_MAX);
VALUE(CPT_TREE_NODES_MAX, 16777216);
VALUE(CPT_TREE_DEPTH_MAX, 1024);
VALUE(CPT_TREE_NOTES_MAX, 4096);
VALUE(CPT_TREE_NOTE_KEY_BYTES_MAX, 255);
VALUE(CPT_TREE_NOTE_VALUE_BYTES_MAX, 4096);
VALUE(CPT_TREE_ROOT, 0);
VALUE(CPT_TREE_FRAME_TEXT_BYTES, 2304);
VALUE(CPT_TREE_BY_NAME, 0);
VALUE(CPT_TREE_BY_TIME, 1);
ENUM(enum cpt_tree_order);
TYPE(cpt_weight, uint64_t *);
FIRST(struct cpt_tree_options, struct_bytes, size_t *);
NEXT(struct cpt_tree_options, struct_bytes, nodes_max, size_t *);
FIRST(struct cpt_tree_group_sums, sum, uint64_t (*)[2]);
NEXT(struct cpt_tree_group_sums, sum, squares, uint64_t (*)[3]);
FIRST(struct cpt_tree_group, weight, cpt_weight *);
NEXT(struct cpt_tree_group, weight, count, uint64_t *);
NEXT(struct cpt_tree_group, count, min_ns, uint64_t *);
NEXT(struct cpt_tree_group, min_ns, max_ns, uint64_t *);
NEXT(struct cpt_tree_group, max_ns, self, struct cpt_tree_group_sums *);
NEXT(struct cpt_tree_group, self, inclusive, struct cpt_tree_group_sums *);
FIRST(struct cpt_tree_note_entry, key, const char **);
NEXT(struct cpt_tree_note_entry, key, value, const char **);
NEXT(struct cpt_tree_note_entry, value, count, uint64_t *);
FIRST(struct cpt_tree_row, node, uint32_t *);
NEXT(struct cpt_tree_row, node, parent, uint32_t *);
NEXT(struct cpt_tree_row, parent, depth, uint32_t *);
NEXT(struct cpt_tree_row, depth, below, uint32_t *);
NEXT(struct cpt_tree_row, below, self_ns, uint64_t *);
NEXT(struct cpt_tree_row, self_ns, inclusive_ns, uint64_t *);
FUNCTION(cpt_weight, cpt_weight_of_probability, (double));
FUNCTION(struct cpt_tree *, cpt_tree_new,
         (const struct cpt_alloc *, const struct cpt_tree_options *));
FUNCTION(void, cpt_tree_free, (struct cpt_tree *));
FUNCTION(cpt_status, cpt_tree_add,
         (struct cpt_tree *, const struct cpt_path *, cpt_weight));
FUNCTION(cpt_status, cpt_tree_shape_keep,
         (struct cpt_tree *, uint64_t, const struct cpt_path *));
FUNCTION(int, cpt_tree_shape_is_kept, (const struct cpt_tree *, uint64_t));
FUNCTION(cpt_status, cpt_tree_shape_add,
         (struct cpt_tree *, uint64_t, const uint64_t *, cpt_weight));
FUNCTION(void, cpt_tree_time_add, (struct cpt_tree *, uint64_t));
FUNCTION(cpt_status, cpt_tree_merge, (struct cpt_tree *, const struct cpt_tree *));
FUNCTION(uint32_t, cpt_tree_bucket, (uint64_t));
FUNCTION(cpt_status, cpt_tree_node_add,
         (struct cpt_tree *, uint32_t, struct cpt_bytes, unsigned int, uint32_t *));
FUNCTION(cpt_status, cpt_tree_group_add,
         (struct cpt_tree *, uint32_t, const struct cpt_tree_group *));
FUNCTION(uint64_t, cpt_tree_request_count, (const struct cpt_tree *));
FUNCTION(cpt_weight, cpt_tree_weight_min, (const struct cpt_tree *));
FUNCTION(cpt_weight, cpt_tree_weight_max, (const struct cpt_tree *));
FUNCTION(uint64_t, cpt_tree_time_first_ns, (const struct cpt_tree *));
FUNCTION(uint64_t, cpt_tree_time_last_ns, (const struct cpt_tree *));
FUNCTION(cpt_status, cpt_tree_note, (struct cpt_tree *, const char *, const char *));
FUNCTION(cpt_status, cpt_tree_count_add, (struct cpt_tree *, const char *, uint64_t));
FUNCTION(size_t, cpt_tree_note_count, (const struct cpt_tree *));
FUNCTION(struct cpt_tree_note_entry, cpt_tree_note_at,
         (const struct cpt_tree *, size_t));
FUNCTION(const char *, cpt_tree_note_find, (const struct cpt_tree *, const char *));
FUNCTION(uint64_t, cpt_tree_count_find, (const struct cpt_tree *, const char *));
FUNCTION(uint32_t, cpt_tree_node_count, (const struct cpt_tree *));
FUNCTION(uint32_t, cpt_tree_parent, (const struct cpt_tree *, uint32_t));
FUNCTION(struct cpt_bytes, cpt_tree_name, (const struct cpt_tree *, uint32_t));
FUNCTION(unsigned int, cpt_tree_kind, (const struct cpt_tree *, uint32_t));
FUNCTION(unsigned int, cpt_tree_depth, (const struct cpt_tree *, uint32_t));
FUNCTION(struct cpt_bytes, cpt_tree_service, (const struct cpt_tree *, uint32_t));
FUNCTION(size_t, cpt_tree_frame_text,
         (const struct cpt_tree *, uint32_t, char *, size_t));
FUNCTION(size_t, cpt_tree_stack_text,
         (const struct cpt_tree *, uint32_t, char *, size_t));
FUNCTION(int, cpt_tree_stack_compare,
         (const struct cpt_tree *, uint32_t, const struct cpt_tree *, uint32_t));
FUNCTION(struct cpt_tree_walk *, cpt_tree_walk_new,
         (const struct cpt_alloc *, const struct cpt_tree *, enum cpt_tree_order));
FUNCTION(void, cpt_tree_walk_free, (struct cpt_tree_walk *));
FUNCTION(uint32_t, cpt_tree_walk_count, (const struct cpt_tree_walk *));
FUNCTION(const struct cpt_tree_row *, cpt_tree_walk_row,
         (const struct cpt_tree_walk *, uint32_t));
FUNCTION(cpt_status, cpt_tree_walk_apportion,
         (const struct cpt_tree_walk *, uint64_t, uint64_t *));
FUNCTION(cpt_status, cpt_tree_encode,
         (const struct cpt_alloc *, const struct cpt_tree *, void **, size_t *));
FUNCTION(cpt_status, cpt_tree_write,
         (const struct cpt_alloc *, const struct cpt_tree *, const struct cpt_sink *));
FUNCTION(cpt_status, cpt_tree_decode,
         (const struct cpt_alloc *, const struct cpt_tree_options *, const void *,
          size_t, struct cpt_tree **, struct cpt_error *));
FUNCTION(int, cpt_tree_is_encoded, (const void *, size_t));
