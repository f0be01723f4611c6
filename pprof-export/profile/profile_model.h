/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * profile_model.h - a profile in numbers, before it is bytes
 *
 * Everything that repeats is an entry of a table, known by its index. On disk,
 * functions and locations are numbered from 1 in the order of their tables; a location
 * is one line of the function with the same number. A sample holds only its node: the
 * chain of parents is its stack, so a million stacks cost no more than the nodes of the
 * tree.
 *
 * Threads: one at a time.
 */
#ifndef PROFILE_MODEL_H
#define PROFILE_MODEL_H

#include "pprof-export/cpt_pprof.h"
#include "pprof-export/profile/profile_strings.h"

#include "aggregate/cpt_tree.h"

/* The sample types of each kind, in the order in which they are written. Never change
 * it: pprof subtracts only profiles that have the same ones. */
enum {
    CPTI_VALUE_REQUESTS,
    CPTI_VALUE_TOTAL,
    CPTI_VALUE_AVERAGE, /* the default, and therefore last */
    CPTI_VALUE_COUNT
};

struct cpti_value_type {
    uint32_t type; /* strings */
    uint32_t unit;
};

struct cpti_function {
    uint32_t name; /* strings */
    uint32_t filename;
};

/* On all samples. */
struct cpti_label {
    uint32_t key; /* strings */
    uint32_t text;
};

struct cpti_profile_sample {
    uint32_t node;  /* of the tree */
    uint32_t group; /* index of the group whose labels it has; 0 without groups */
    uint64_t values[CPTI_VALUE_COUNT];
};

struct cpti_profile {
    const struct cpt_alloc *alloc;
    const struct cpt_tree *tree;
    unsigned kind; /* enum cpt_pprof_kind */
    struct cpti_strings strings;
    struct cpti_strings function_keys; /* (name, filename) -> index of a function */
    struct cpti_value_type types[CPTI_VALUE_COUNT];
    struct cpti_function *functions;
    size_t function_count;
    size_t function_capacity;
    uint32_t *node_functions; /* by node: index of its function */
    struct cpti_profile_sample *samples;
    size_t sample_count;
    uint64_t *comments; /* strings, as they are written */
    size_t comment_count;
    size_t comment_capacity;
    struct cpti_label labels[CPT_PPROF_LABELS_MAX];
    size_t label_count;
    uint32_t group_keys[CPT_PPROF_LABELS_MAX]; /* strings */
    size_t group_key_count;
    uint32_t *group_texts; /* strings: those of the first group, of the second, … */
    size_t group_count;
    uint32_t title; /* strings */
    uint64_t time_unix_ns;
    uint64_t mean_ns; /* the sum that the averages must have; 0 of a kind whose values
                         do not add up */
};

/* Fills @profile, which is zeroed, from @tree. Call cpti_profile_deinit() also after an
 * error. Errors as of cpt_pprof_write(). */
cpt_status cpti_profile_make(struct cpti_profile *profile,
                             const struct cpt_alloc *alloc, const struct cpt_tree *tree,
                             const struct cpt_pprof_options *options,
                             struct cpt_error *error);
void cpti_profile_deinit(struct cpti_profile *profile);

/* Replaces each sample by one for each group that it belongs to; see profile_groups.c.
 * Errors as above. */
cpt_status cpti_profile_split(struct cpti_profile *profile,
                              const struct cpt_pprof_options *options,
                              struct cpt_error *error);

/* Checks that pprof will accept it: CPT_OK, or CPT_INVALID or CPT_LIMIT and why. */
cpt_status cpti_profile_check(const struct cpti_profile *profile,
                              struct cpt_error *error);

#endif
