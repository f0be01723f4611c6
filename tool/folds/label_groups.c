/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* label_groups.c - requests grouped by their value of a key; see label_groups.h */
#include "tool/folds/label_groups.h"

#include "tool/base/output.h"
#include "aggregate/cpt_tree.h"

#include <stdlib.h>
#include <string.h>

#define OTHER "\u2039other\u203a"

static int make_room(struct cpti_label_groups *groups)
{
    if (groups->key_count != 0) {
        groups->groups = calloc(CPTI_LABEL_GATHERED_MAX + 1, sizeof *groups->groups);
        if (groups->groups == NULL) {
            return cpti_failed("out of memory");
        }
    }
    return CPTI_EXIT_DONE;
}

int cpti_label_groups_init(struct cpti_label_groups *groups,
                           const struct cpti_arguments *arguments)
{
    const char *key;

    *groups = (struct cpti_label_groups){.key_count = 0};
    while ((key = cpti_value_at(arguments, "label-by", groups->key_count)) != NULL) {
        if (groups->key_count == CPTI_LABEL_KEYS_MAX) {
            return cpti_usage("there are more than %d options '--label-by'",
                              CPTI_LABEL_KEYS_MAX);
        }
        if (key[0] == '\0') {
            return cpti_usage("option '--label-by' takes a key, as in --label-by arm");
        }
        groups->keys[groups->key_count++] = key;
    }
    return make_room(groups);
}

int cpti_label_groups_init_key(struct cpti_label_groups *groups, const char *key)
{
    *groups = (struct cpti_label_groups){.key_count = 0};
    if (key[0] == '\0') {
        return cpti_usage("option '--group-by' takes a key, as in --group-by arm");
    }
    groups->keys[groups->key_count++] = key;
    return make_room(groups);
}

void cpti_label_groups_deinit(struct cpti_label_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        cpt_tree_free(groups->groups[i].tree);
    }
    free(groups->groups);
    *groups = (struct cpti_label_groups){.key_count = 0};
}

static bool is_same(const struct cpti_label_groups *groups,
                    const struct cpti_label_group *left,
                    const struct cpti_label_group *right)
{
    for (size_t i = 0; i < groups->key_count; i++) {
        if (strcmp(left->values[i], right->values[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* Finds the group with the values of @like, or makes it. Without room for another one:
 * the last group, which has all other values. NULL without memory. */
static struct cpti_label_group *group_of(struct cpti_label_groups *groups,
                                         struct cpti_label_group *like)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (is_same(groups, &groups->groups[i], like)) {
            return &groups->groups[i];
        }
    }
    if (groups->count > CPTI_LABEL_GATHERED_MAX) {
        return &groups->groups[CPTI_LABEL_GATHERED_MAX];
    }
    for (size_t i = 0;
         i < groups->key_count && groups->count == CPTI_LABEL_GATHERED_MAX; i++) {
        (void)snprintf(like->values[i], sizeof like->values[i], "%s", OTHER);
    }
    like->tree = cpt_tree_new(NULL, NULL);
    if (like->tree == NULL) {
        return NULL;
    }
    groups->groups[groups->count] = *like;
    return &groups->groups[groups->count++];
}

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct cpti_label_groups *groups = context;
    struct cpti_label_group like = {.weight = 0};
    struct cpti_label_group *group;
    cpt_status status;

    for (size_t i = 0; i < groups->key_count; i++) {
        cpti_mix_value(record, groups->keys[i], like.values[i]);
    }
    group = group_of(groups, &like);
    if (group == NULL) {
        return cpti_failed("out of memory");
    }
    status = cpt_tree_add(group->tree, path, weight);
    group->weight += (double)weight;
    return cpti_status_exit(status);
}

static int compare_weights(const void *left, const void *right)
{
    const struct cpti_label_group *a = left;
    const struct cpti_label_group *b = right;
    const int order = (a->weight < b->weight) - (a->weight > b->weight);

    return order != 0 ? order : memcmp(a->values, b->values, sizeof a->values);
}

/* Merges the lightest groups until there are few enough. */
static cpt_status limit_groups(struct cpti_label_groups *groups)
{
    struct cpti_label_group *other = &groups->groups[CPTI_LABEL_GROUPS_MAX - 1];
    cpt_status status = CPT_OK;

    if (groups->count > CPTI_LABEL_GATHERED_MAX) {
        groups->groups[CPTI_LABEL_GATHERED_MAX].weight = 0; /* sorts last */
    }
    if (groups->count != 0) {
        qsort(groups->groups, groups->count, sizeof *groups->groups, compare_weights);
    }
    if (groups->count <= CPTI_LABEL_GROUPS_MAX) {
        return CPT_OK;
    }
    for (size_t i = CPTI_LABEL_GROUPS_MAX; i < groups->count; i++) {
        status = CPTI_THEN(status, cpt_tree_merge(other->tree, groups->groups[i].tree));
        other->weight += groups->groups[i].weight;
        cpt_tree_free(groups->groups[i].tree);
    }
    groups->count = CPTI_LABEL_GROUPS_MAX;
    for (size_t i = 0; i < groups->key_count; i++) {
        (void)snprintf(other->values[i], sizeof other->values[i], "%s", OTHER);
    }
    return status;
}

/* Fills in what the profile gets. */
static void fill_shown(struct cpti_label_groups *groups, double weight)
{
    for (size_t i = 0; i < groups->count; i++) {
        const struct cpti_label_group *group = &groups->groups[i];

        for (size_t k = 0; k < groups->key_count; k++) {
            groups->texts[i][k] = group->values[k];
        }
        groups->shown[i] = (struct cpt_pprof_group){
            .tree = group->tree,
            .share = weight > 0 ? group->weight / weight : 0,
            .texts = groups->texts[i],
        };
    }
}

static int finish(struct cpti_label_groups *groups)
{
    double weight = 0;
    cpt_status status;

    for (size_t i = 0; i < groups->count; i++) {
        weight += groups->groups[i].weight;
    }
    status = limit_groups(groups);
    fill_shown(groups, weight);
    return cpti_status_exit(status);
}

int cpti_label_groups_gather(struct cpti_label_groups *groups,
                             const struct cpti_arguments *arguments,
                             struct cpt_tree **tree, bool *is_usable)
{
    struct cpti_gather gather = {.request = add_request, .context = groups};
    int status = cpti_gather_arguments(&gather, arguments, is_usable);

    if (*is_usable && gather.met_tree) {
        *is_usable = false;
        status = cpti_usage("a tree does not know the '%s' of its requests" CPTI_HINT
                            "give the "
                            "path log it was made from",
                            cpti_quoted(groups->keys[0]));
    }
    if (*is_usable) {
        const int exit_status = finish(groups);

        *is_usable = exit_status == CPTI_EXIT_DONE;
        status = cpti_exit_last(status, exit_status);
    }
    *tree = gather.tree;
    return status;
}

void cpti_label_groups_use(const struct cpti_label_groups *groups,
                           struct cpt_pprof_options *options)
{
    if (groups->key_count != 0) {
        options->group_keys = groups->keys;
        options->group_key_count = groups->key_count;
        options->groups = groups->shown;
        options->group_count = groups->count;
    }
}
