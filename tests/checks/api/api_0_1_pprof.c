/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * api_0_1_pprof.c - what the headers of this part declare; see api_0_1.h
 */
#include <cpt/cpt_pprof.h>

#include "api_0_1.h"

/* --- cpt_pprof.h --- */

VALUE(CPT_PPROF_TOTAL_MAX, UINT64_C(1) << 62);
VALUE(CPT_PPROF_LABELS_MAX, 8);
VALUE(CPT_PPROF_GROUPS_MAX, 64);
FIRST(struct cpt_pprof_label, key, const char **);
NEXT(struct cpt_pprof_label, key, text, const char **);
FIRST(struct cpt_pprof_group, tree, const struct cpt_tree **);
NEXT(struct cpt_pprof_group, tree, share, double *);
NEXT(struct cpt_pprof_group, share, texts, const char *const **);
FIRST(struct cpt_pprof_options, struct_bytes, size_t *);
NEXT(struct cpt_pprof_options, struct_bytes, title, const char **);
NEXT(struct cpt_pprof_options, title, tool, const char **);
NEXT(struct cpt_pprof_options, tool, comments, const char *const **);
NEXT(struct cpt_pprof_options, comments, comment_count, size_t *);
NEXT(struct cpt_pprof_options, comment_count, time_unix_ns, uint64_t *);
NEXT(struct cpt_pprof_options, time_unix_ns, is_uncompressed, int *);
NEXT(struct cpt_pprof_options, is_uncompressed, gzip_level, int *);
NEXT(struct cpt_pprof_options, gzip_level, labels, const struct cpt_pprof_label **);
NEXT(struct cpt_pprof_options, labels, label_count, size_t *);
NEXT(struct cpt_pprof_options, label_count, group_keys, const char *const **);
NEXT(struct cpt_pprof_options, group_keys, group_key_count, size_t *);
NEXT(struct cpt_pprof_options, group_key_count, groups,
     const struct cpt_pprof_group **);
NEXT(struct cpt_pprof_options, groups, group_count, size_t *);
FUNCTION(cpt_status, cpt_pprof_write,
         (const struct cpt_alloc *, const struct cpt_tree *,
          const struct cpt_pprof_options *, const struct cpt_sink *,
          struct cpt_error *));
FUNCTION(cpt_status, cpt_folded_write,
         (const struct cpt_alloc *, const struct cpt_tree *, const struct cpt_sink *,
          struct cpt_error *));
