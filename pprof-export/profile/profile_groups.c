/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * profile_groups.c - divides samples among groups of requests
 *
 *      stack        all      arm = control   arm = treatment
 *      A: /         5.0 ms   2.4 ms          2.6 ms             two samples
 *      A: /;A: a    1.0 ms   1.0 ms                             one
 *
 * A value of the whole is divided in proportion to the weighted time that the requests
 * of each group spent on the stack, by the method of the largest remainder: the parts
 * add up to the whole, to the nanosecond. So pprof shows the same values if labels are
 * ignored, and the values of all groups sum to those of the whole.
 *
 * Parent, name and kind find a node of a group's tree in the whole tree; a parent
 * stands before its children.
 */
#include "pprof-export/profile/profile_model.h"

#include "aggregate/cpt_gain.h"
#include "aggregate/cpt_stats.h"
#include "cpt/cpt_apportion.h"

#include <string.h>

/* The time and requests of a group on a node of the whole tree. */
struct part {
    double weighted_ns; /* the group's share times its mean self time, or drag */
    uint64_t present_count;
};

/* Samples that are being divided. */
struct splitting {
    const struct cpt_alloc *alloc;
    struct cpti_strings keys; /* (parent, kind, name) -> node - 1 */
    struct part *parts;       /* by group, then by node */
    uint32_t node_count;
    size_t group_count;
    struct cpti_profile_sample *samples;
    size_t sample_count;
};

/* Sets *@number to that of the key (@parent, kind and name of @node). */
static cpt_status number_of(struct splitting *splitting, const struct cpt_tree *tree,
                            uint32_t node, uint32_t parent, uint32_t *number)
{
    unsigned char key[2 * sizeof(uint32_t) + CPT_NAME_BYTES_MAX];
    const struct cpt_bytes name = cpt_tree_name(tree, node);
    const uint32_t head[2] = {parent, cpt_tree_kind(tree, node)};
    const size_t bytes =
        name.bytes < CPT_NAME_BYTES_MAX ? name.bytes : (size_t)CPT_NAME_BYTES_MAX;

    memcpy(key, head, sizeof head);
    if (bytes != 0) {
        memcpy(key + sizeof head, name.data, bytes);
    }
    return cpti_strings_add(&splitting->keys, key, sizeof head + bytes, number);
}

static cpt_status add_keys(struct splitting *splitting, const struct cpt_tree *tree)
{
    cpt_status status = CPT_OK;

    for (uint32_t i = 1; i < splitting->node_count && status == CPT_OK; i++) {
        uint32_t number = 0;

        status = number_of(splitting, tree, i, cpt_tree_parent(tree, i), &number);
    }
    return status;
}

/* The part of @node of the group's tree. */
static struct part part_in(const struct cpt_pprof_group *group, uint32_t node,
                           unsigned kind)
{
    if (kind == CPT_PPROF_DRAG) {
        const struct cpt_gain gain = cpt_gain_of(group->tree, node);

        return (struct part){.weighted_ns =
                                 cpt_gain_weight(group->tree) * gain.drag.mean_ns,
                             .present_count = gain.known_count};
    }
    const struct cpt_stats stats = cpt_stats_of(group->tree, node);

    return (struct part){.weighted_ns = group->share * stats.self.mean_ns,
                         .present_count = stats.present_count};
}

/* Fills @parts, by node of the whole tree, from a group. @nodes becomes the map from
 * nodes of the group's tree to those of the whole tree. */
static cpt_status add_group(struct splitting *splitting,
                            const struct cpt_pprof_group *group, unsigned kind,
                            struct part *parts, uint32_t *nodes)
{
    for (uint32_t i = 1; i < cpt_tree_node_count(group->tree); i++) {
        const uint32_t parent = cpt_tree_parent(group->tree, i);
        uint32_t number = 0;
        const cpt_status status =
            number_of(splitting, group->tree, i,
                      parent == CPT_TREE_ROOT ? CPT_TREE_ROOT : nodes[parent], &number);

        if (status != CPT_OK) {
            return status;
        }
        nodes[i] = number + 1;
        if (nodes[i] >= splitting->node_count) {
            return CPT_INVALID;
        }
        parts[nodes[i]] = part_in(group, i, kind);
    }
    return CPT_OK;
}

static cpt_status add_groups(struct splitting *splitting,
                             const struct cpt_pprof_options *options)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < options->group_count && status == CPT_OK; i++) {
        const struct cpt_pprof_group *group = &options->groups[i];
        uint32_t *nodes = cpt_alloc_array(
            splitting->alloc, NULL, cpt_tree_node_count(group->tree), sizeof *nodes);

        status = nodes == NULL
                     ? CPT_NO_MEMORY
                     : add_group(splitting, group, options->kind,
                                 splitting->parts + i * splitting->node_count, nodes);
        cpt_alloc_free(splitting->alloc, nodes);
    }
    return status;
}

/* --- Dividing --- */

static const struct part *part_of(const struct splitting *splitting, size_t group,
                                  uint32_t node)
{
    return &splitting->parts[group * splitting->node_count + node];
}

/* Divides @whole in proportion to the times of the groups on @node. */
static cpt_status divide(const struct splitting *splitting, uint32_t node,
                         uint64_t whole, uint64_t *values)
{
    double sum = 0;

    for (size_t i = 0; i < splitting->group_count; i++) {
        sum += part_of(splitting, i, node)->weighted_ns;
    }
    for (size_t i = 0; i < splitting->group_count; i++) {
        const double weighted_ns = part_of(splitting, i, node)->weighted_ns;

        /* a double holds 52 bits */
        values[i] =
            sum > 0 ? (uint64_t)(weighted_ns / sum * (double)(UINT64_C(1) << 52)) : 0;
    }
    return cpt_apportion(splitting->alloc, values, splitting->group_count, whole);
}

static cpt_status split_sample(struct splitting *splitting,
                               const struct cpti_profile_sample *sample)
{
    uint64_t totals[CPT_PPROF_GROUPS_MAX];
    uint64_t averages[CPT_PPROF_GROUPS_MAX];
    cpt_status status =
        divide(splitting, sample->node, sample->values[CPTI_VALUE_TOTAL], totals);

    if (status != CPT_OK) {
        return status;
    }
    status =
        divide(splitting, sample->node, sample->values[CPTI_VALUE_AVERAGE], averages);
    for (size_t i = 0; i < splitting->group_count && status == CPT_OK; i++) {
        struct cpti_profile_sample own = {.node = sample->node, .group = (uint32_t)i};

        own.values[CPTI_VALUE_TOTAL] = totals[i];
        own.values[CPTI_VALUE_AVERAGE] = averages[i];
        if (sample->values[CPTI_VALUE_REQUESTS] != 0) {
            own.values[CPTI_VALUE_REQUESTS] =
                part_of(splitting, i, sample->node)->present_count;
        }
        if (totals[i] != 0 || averages[i] != 0 ||
            own.values[CPTI_VALUE_REQUESTS] != 0) {
            splitting->samples[splitting->sample_count++] = own;
        }
    }
    return status;
}

static cpt_status split(struct splitting *splitting, const struct cpti_profile *profile,
                        const struct cpt_pprof_options *options)
{
    cpt_status status;

    splitting->parts = cpt_alloc_zeroed(splitting->alloc, splitting->group_count *
                                                              splitting->node_count *
                                                              sizeof *splitting->parts);
    splitting->samples = cpt_alloc_array(
        splitting->alloc, NULL, splitting->group_count * profile->sample_count + 1,
        sizeof *splitting->samples);
    if (splitting->parts == NULL || splitting->samples == NULL) {
        return CPT_NO_MEMORY;
    }
    status = add_keys(splitting, profile->tree);
    if (status != CPT_OK) {
        return status;
    }
    status = add_groups(splitting, options);
    for (size_t i = 0; i < profile->sample_count && status == CPT_OK; i++) {
        status = split_sample(splitting, &profile->samples[i]);
    }
    return status;
}

cpt_status cpti_profile_split(struct cpti_profile *profile,
                              const struct cpt_pprof_options *options,
                              struct cpt_error *error)
{
    struct splitting splitting = {
        .alloc = profile->alloc,
        .keys.alloc = profile->alloc,
        .node_count = cpt_tree_node_count(profile->tree),
        .group_count = options->group_count,
    };
    const cpt_status status = split(&splitting, profile, options);

    if (status == CPT_OK) {
        cpt_alloc_free(profile->alloc, profile->samples);
        profile->samples = splitting.samples;
        profile->sample_count = splitting.sample_count;
        splitting.samples = NULL;
    } else if (status == CPT_INVALID) {
        (void)cpt_error_set(error, status, 0,
                            "a group has a stack that is not in the tree");
    }
    cpti_strings_deinit(&splitting.keys);
    cpt_alloc_free(splitting.alloc, splitting.parts);
    cpt_alloc_free(splitting.alloc, splitting.samples);
    return status;
}
