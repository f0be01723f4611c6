/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * label_groups.h - requests grouped by their value of KEY: cpt pprof --label-by KEY,
 * cpt report --group-by KEY
 *
 * There is a tree of all requests, and one for each combination of values. If there are
 * too many combinations, the heaviest stay, and the others become one group, ‹other›.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_LABEL_GROUPS_H
#define CPTI_CLI_LABEL_GROUPS_H

#include "tool/folds/mix.h"
#include "pprof-export/cpt_pprof.h"

enum {
    CPTI_LABEL_KEYS_MAX = 4,
    CPTI_LABEL_GROUPS_MAX = 32,   /* of a profile, ‹other› included */
    CPTI_LABEL_GATHERED_MAX = 256 /* while the heaviest are not known */
};

/* The requests with one combination of values. */
struct cpti_label_group {
    char values[CPTI_LABEL_KEYS_MAX][CPTI_MIX_VALUE_BYTES];
    struct cpt_tree *tree;
    double weight;
};

struct cpti_label_groups {
    const char *keys[CPTI_LABEL_KEYS_MAX];
    size_t key_count;
    struct cpti_label_group *groups;
    size_t count;
    /* the same for cpt_pprof_options */
    struct cpt_pprof_group shown[CPTI_LABEL_GROUPS_MAX];
    const char *texts[CPTI_LABEL_GROUPS_MAX][CPTI_LABEL_KEYS_MAX];
};

/* Reads --label-by. enum cpti_exit; deinit it also after an error. */
int cpti_label_groups_init(struct cpti_label_groups *groups,
                           const struct cpti_arguments *arguments);
/* The same for one @key, borrowed: --group-by. */
int cpti_label_groups_init_key(struct cpti_label_groups *groups, const char *key);
void cpti_label_groups_deinit(struct cpti_label_groups *groups);

/* As cpti_gather_operands(), and fills the groups. */
int cpti_label_groups_gather(struct cpti_label_groups *groups,
                             const struct cpti_arguments *arguments,
                             struct cpt_tree **tree, bool *is_usable);

/* Sets the groups of @options, if there are keys; borrowed. */
void cpti_label_groups_use(const struct cpti_label_groups *groups,
                           struct cpt_pprof_options *options);

#endif
