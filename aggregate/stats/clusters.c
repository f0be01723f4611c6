/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * clusters.c - errors of means by cluster; see cpt_clusters.h
 *
 * The clusters are sorted by their keys, which are hashes. Pooled ones have the keys 0
 * to CPT_CLUSTERS_POOLED - 1. Whether clusters are pooled depends on all values and
 * stacks, not on their order: a part that was pooled on its own had too many already.
 *
 * Σ d_c² is added up over the clusters that have the node. Each of the others adds
 * (m V_c)², with V_c = W_c / (1 - h_c) / Σ W_c, so their sum is m² (Σ V_c² - that of
 * the former), which is exactly 0 if there are none; and so for Σ d_c³.
 */
#include "aggregate/cpt_clusters.h"

#include "aggregate/stats/quantile.h"

#include "aggregate/tree/tree_node.h"

#include <math.h>
#include <string.h>

struct key {
    uint64_t high;
    uint64_t low;
};

struct cluster {
    struct key key;
    struct cpt_tree *tree;
};

struct cpt_clusters {
    const struct cpt_alloc *alloc;
    struct cluster *all; /* room for CPT_CLUSTERS_MAX */
    uint32_t count;
    uint32_t last; /* the one that was found last: requests often come in runs */
    size_t node_count;
    bool are_pooled;
};

/* --- Keys --- */

static uint64_t mixed(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

/* Two hashes (FNV-1a, mixed at the end) from different starts. */
static struct key key_of(struct cpt_bytes value)
{
    struct key key = {0xcbf29ce484222325U, 0x84222325cbf29ce4U};

    for (size_t i = 0; i < value.bytes; i++) {
        const unsigned char byte = (unsigned char)value.data[i];

        key.high = (key.high ^ byte) * 0x100000001b3U;
        key.low = (key.low ^ byte ^ (key.low >> 29)) * 0x9e3779b97f4a7c15U;
    }
    key.high = mixed(key.high ^ value.bytes);
    key.low = mixed(key.low + value.bytes);
    return key;
}

static struct key pooled(struct key key)
{
    return (struct key){0, key.high % CPT_CLUSTERS_POOLED};
}

static int compare(struct key left, struct key right)
{
    if (left.high != right.high) {
        return left.high < right.high ? -1 : 1;
    }
    return (left.low > right.low) - (left.low < right.low);
}

/* --- The clusters --- */

struct cpt_clusters *cpt_clusters_new(const struct cpt_alloc *alloc)
{
    struct cpt_clusters *clusters = cpt_alloc_zeroed(alloc, sizeof *clusters);

    if (clusters == NULL) {
        return NULL;
    }
    clusters->alloc = alloc;
    clusters->all =
        cpt_alloc_array(alloc, NULL, CPT_CLUSTERS_MAX, sizeof *clusters->all);
    if (clusters->all == NULL) {
        cpt_alloc_free(alloc, clusters);
        return NULL;
    }
    return clusters;
}

static void free_trees(struct cpt_clusters *clusters)
{
    for (uint32_t i = 0; i < clusters->count; i++) {
        cpt_tree_free(clusters->all[i].tree);
    }
    clusters->count = 0;
    clusters->node_count = 0;
    clusters->last = 0;
}

void cpt_clusters_free(struct cpt_clusters *clusters)
{
    if (clusters == NULL) {
        return;
    }
    free_trees(clusters);
    cpt_alloc_free(clusters->alloc, clusters->all);
    cpt_alloc_free(clusters->alloc, clusters);
}

/* Sets *@at to the place of @key, or to where it belongs. Whether it is there. */
static bool find(const struct cpt_clusters *clusters, struct key key, uint32_t *at)
{
    uint32_t low = 0;
    uint32_t high = clusters->count;

    if (clusters->last < clusters->count &&
        compare(clusters->all[clusters->last].key, key) == 0) {
        *at = clusters->last;
        return true;
    }
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (compare(clusters->all[middle].key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *at = low;
    return low < clusters->count && compare(clusters->all[low].key, key) == 0;
}

/* The tree of @key, which is made if it is new; there is room. NULL without memory. */
static struct cpt_tree *tree_of(struct cpt_clusters *clusters, struct key key)
{
    struct cpt_tree *tree;
    uint32_t at = 0;

    if (!find(clusters, key, &at)) {
        tree = cpt_tree_new(clusters->alloc, NULL);
        if (tree == NULL) {
            return NULL;
        }
        memmove(&clusters->all[at + 1], &clusters->all[at],
                (clusters->count - at) * sizeof clusters->all[0]);
        clusters->all[at] = (struct cluster){key, tree};
        clusters->count++;
        clusters->node_count++;
    }
    clusters->last = at;
    return clusters->all[at].tree;
}

/* Adds a tree to the cluster of @key; there is room. */
static cpt_status merge_tree(struct cpt_clusters *clusters, struct key key,
                             const struct cpt_tree *from)
{
    struct cpt_tree *tree = tree_of(clusters, clusters->are_pooled ? pooled(key) : key);
    size_t before;
    cpt_status status;

    if (tree == NULL) {
        return CPT_NO_MEMORY;
    }
    before = tree->node_count;
    status = cpt_tree_merge(tree, from);
    clusters->node_count += tree->node_count - before;
    return status;
}

/* Puts all clusters into groups. */
static cpt_status pool(struct cpt_clusters *clusters)
{
    struct cpt_clusters *groups = NULL;
    cpt_status status = CPT_OK;

    if (clusters->are_pooled) {
        return CPT_OK;
    }
    groups = cpt_clusters_new(clusters->alloc);
    if (groups == NULL) {
        return CPT_NO_MEMORY;
    }
    groups->are_pooled = true;
    for (uint32_t i = 0; i < clusters->count && status == CPT_OK; i++) {
        status = merge_tree(groups, clusters->all[i].key, clusters->all[i].tree);
    }
    if (status == CPT_OK) {
        const struct cpt_clusters old = *clusters;

        *clusters = *groups;
        *groups = old;
    }
    cpt_clusters_free(groups);
    return status;
}

/* Pools if there are too many nodes, or refuses them. */
static cpt_status limit_nodes(struct cpt_clusters *clusters)
{
    cpt_status status = CPT_OK;

    if (clusters->node_count > CPT_CLUSTERS_NODES_MAX) {
        status = pool(clusters);
    }
    return status == CPT_OK && clusters->node_count > CPT_CLUSTERS_POOLED_NODES
               ? CPT_LIMIT
               : status;
}

/* Makes room for a cluster of @key, unless it is there. */
static cpt_status reserve(struct cpt_clusters *clusters, struct key key)
{
    uint32_t at = 0;

    return clusters->are_pooled || clusters->count < CPT_CLUSTERS_MAX ||
                   find(clusters, key, &at)
               ? CPT_OK
               : pool(clusters);
}

cpt_status cpt_clusters_add(struct cpt_clusters *clusters, struct cpt_bytes value,
                            const struct cpt_path *path, cpt_weight weight)
{
    const struct key key = key_of(value);
    struct cpt_tree *tree;
    size_t before;
    cpt_status status = reserve(clusters, key);

    if (status != CPT_OK) {
        return status;
    }
    tree = tree_of(clusters, clusters->are_pooled ? pooled(key) : key);
    if (tree == NULL) {
        return CPT_NO_MEMORY;
    }
    before = tree->node_count;
    status = cpt_tree_add(tree, path, weight);
    clusters->node_count += tree->node_count - before;
    return status == CPT_OK ? limit_nodes(clusters) : status;
}

cpt_status cpt_clusters_merge(struct cpt_clusters *clusters,
                              const struct cpt_clusters *from)
{
    cpt_status status = from->are_pooled ? pool(clusters) : CPT_OK;

    for (uint32_t i = 0; i < from->count && status == CPT_OK; i++) {
        const struct cluster *more = &from->all[i];

        if (from->are_pooled) {
            struct cpt_tree *tree = tree_of(clusters, more->key);
            const size_t before = tree != NULL ? tree->node_count : 0;

            status = tree != NULL ? cpt_tree_merge(tree, more->tree) : CPT_NO_MEMORY;
            clusters->node_count += tree != NULL ? tree->node_count - before : 0;
        } else {
            status = reserve(clusters, more->key);
            if (status == CPT_OK) {
                status = merge_tree(clusters, more->key, more->tree);
            }
        }
        if (status == CPT_OK) {
            status = limit_nodes(clusters);
        }
    }
    return status;
}

/* --- Statistics --- */

static double squared(double value)
{
    return value * value;
}

struct cpt_clusters_summary cpt_clusters_summary(const struct cpt_clusters *clusters)
{
    struct cpt_clusters_summary summary = {.are_pooled = clusters->are_pooled};
    double weights = 0;
    double squares = 0;
    double largest = 0;

    for (uint32_t i = 0; i < clusters->count; i++) {
        const double weight = cpti_u128_double(clusters->all[i].tree->weight);

        summary.count += weight > 0;
        weights += weight;
        squares += squared(weight);
        largest = fmax(largest, weight);
    }
    if (weights > 0) {
        summary.effective_count = squared(weights) / squares;
        summary.largest_share = largest / weights;
    }
    return summary;
}

static double cubed(double value)
{
    return value * value * value;
}

/* Σ d_c² and Σ d_c³, but for Σ W_c. */
struct moments {
    double squares;
    double cubes;
};

static void add_moments(struct moments *moments, double value)
{
    moments->squares += squared(value);
    moments->cubes += cubed(value);
}

/* Sums of one node over the clusters that have it. */
struct sums {
    double self_ns; /* the mean m */
    double inclusive_ns;
    struct moments self;
    struct moments inclusive;
    struct moments zeros; /* of V_c */
    double weights;       /* Σ W_c */
    double weight_squares;
};

/* Adds the nodes of one cluster, of clusters that weigh @all. @stacks has those of the
 * whole tree first. */
static cpt_status add_cluster(struct cpt_tree *stacks, const struct cpt_tree *tree,
                              struct sums *sums, uint32_t node_count, double all,
                              uint32_t *map)
{
    const double weight = cpti_u128_double(tree->weight);
    const double others = (all - weight) / all; /* 1 - h_c */
    const cpt_status status = cpti_tree_add_stacks(stacks, tree, map);

    for (uint32_t i = 0; i < tree->node_count && status == CPT_OK; i++) {
        const struct cpti_wide self = cpti_node_self_wx(tree, i);
        const struct cpti_wide inclusive = cpti_node_inclusive_wx(tree, i);
        struct sums *own;

        if (map[i] >= node_count) {
            continue; /* not in the whole tree: its requests are not these */
        }
        own = &sums[map[i]];
        add_moments(&own->self,
                    (cpti_wide_double(&self) - own->self_ns * weight) / others / all);
        add_moments(&own->inclusive,
                    (cpti_wide_double(&inclusive) - own->inclusive_ns * weight) /
                        others / all);
        add_moments(&own->zeros, weight / others / all);
        own->weights += weight;
        own->weight_squares += squared(weight);
    }
    return status;
}

/* Sets the error and the skewness of a mean; @factor is (C-1)/C. */
static void set_error(double *error_ns, double *skewness, const struct moments *with,
                      double mean_ns, const struct sums *own, const struct sums *all,
                      double factor)
{
    const double squares =
        with->squares + squared(mean_ns) * (all->zeros.squares - own->zeros.squares);
    const double cubes =
        with->cubes - cubed(mean_ns) * (all->zeros.cubes - own->zeros.cubes);

    *error_ns = sqrt(factor * squares);
    *skewness = *error_ns > 0 ? fmin(fmax(cubes / cubed(*error_ns), -1), 1) : 0;
}

static void fill_errors(const struct cpt_clusters_summary *summary,
                        const struct sums *sums, uint32_t node_count,
                        struct cpt_cluster_error *errors)
{
    const double count = summary->count;
    const struct sums *all = &sums[CPT_TREE_ROOT];

    for (uint32_t i = 0; i < node_count; i++) {
        const struct sums *own = &sums[i];
        struct cpt_cluster_error *error = &errors[i];

        *error = (struct cpt_cluster_error){
            INFINITY, INFINITY,
            own->weight_squares > 0 ? squared(own->weights) / own->weight_squares : 0,
            NAN, NAN};
        if (summary->count > 1) {
            set_error(&error->self_ns, &error->self_skewness, &own->self, own->self_ns,
                      own, all, (count - 1) / count);
            set_error(&error->inclusive_ns, &error->inclusive_skewness, &own->inclusive,
                      own->inclusive_ns, own, all, (count - 1) / count);
        }
    }
}

/* Fills @sums and @map for all clusters; @stacks has no nodes yet. */
static cpt_status add_clusters(struct cpt_tree *stacks,
                               const struct cpt_clusters *clusters,
                               const struct cpt_tree *tree, struct sums *sums,
                               uint32_t *map)
{
    const double all = cpti_u128_double(tree->weight);
    /* adds nothing, but gives all nodes of the whole tree their numbers */
    cpt_status status = add_cluster(stacks, tree, sums, 0, all, map);

    for (uint32_t i = 0; i < tree->node_count && status == CPT_OK; i++) {
        const struct cpti_wide self = cpti_node_self_wx(tree, i);
        const struct cpti_wide inclusive = cpti_node_inclusive_wx(tree, i);

        sums[i] = (struct sums){.self_ns = cpti_wide_double(&self) / all,
                                .inclusive_ns = cpti_wide_double(&inclusive) / all};
    }
    for (uint32_t i = 0; i < clusters->count && status == CPT_OK; i++) {
        status = add_cluster(stacks, clusters->all[i].tree, sums,
                             (uint32_t)tree->node_count, all, map);
    }
    return status;
}

/* The most nodes of a tree. */
static size_t nodes_max(const struct cpt_clusters *clusters,
                        const struct cpt_tree *tree)
{
    size_t most = tree->node_count;

    for (uint32_t i = 0; i < clusters->count; i++) {
        const size_t count = clusters->all[i].tree->node_count;

        most = count > most ? count : most;
    }
    return most;
}

cpt_status cpt_clusters_errors(const struct cpt_alloc *alloc,
                               const struct cpt_clusters *clusters,
                               const struct cpt_tree *tree,
                               struct cpt_cluster_error *errors)
{
    const struct cpt_clusters_summary summary = cpt_clusters_summary(clusters);
    struct cpt_tree *stacks = cpti_tree_new_bare(alloc);
    struct sums *sums = cpt_alloc_array(alloc, NULL, tree->node_count, sizeof *sums);
    uint32_t *map =
        cpt_alloc_array(alloc, NULL, nodes_max(clusters, tree), sizeof *map);
    cpt_status status = CPT_NO_MEMORY;

    if (stacks != NULL && sums != NULL && map != NULL) {
        status = add_clusters(stacks, clusters, tree, sums, map);
    }
    if (status == CPT_OK) {
        fill_errors(&summary, sums, (uint32_t)tree->node_count, errors);
    }
    cpt_tree_free(stacks);
    cpt_alloc_free(alloc, sums);
    cpt_alloc_free(alloc, map);
    return status;
}

static void apply(struct cpt_mean *mean, double error_ns, double skewness, double count)
{
    mean->error_ns = error_ns;
    mean->effective_count = count;
    mean->deviation_ns = error_ns * sqrt(count);
    mean->skewness = skewness;
}

void cpt_clusters_apply(const struct cpt_clusters_summary *summary,
                        const struct cpt_cluster_error *error, struct cpt_stats *stats)
{
    apply(&stats->self, error->self_ns, error->self_skewness, summary->effective_count);
    apply(&stats->inclusive, error->inclusive_ns, error->inclusive_skewness,
          summary->effective_count);
    stats->is_rare |= fmin(summary->effective_count, error->effective_count) <
                      CPT_CLUSTERS_TRUSTED_MIN;
}

/* --- Quantiles --- */

/* The weight of requests whose latency is in a bucket up to @last. */
static double weight_up_to(const struct cpt_tree *tree, uint32_t last)
{
    const struct cpti_node *root = cpti_node_at(tree, CPT_TREE_ROOT);
    cpti_u128 weight = 0;

    for (uint32_t i = 0; i < root->histogram.count; i++) {
        const struct cpti_bucket bucket =
            cpti_histogram_bucket(&root->histogram, i, root->batch.weight);

        if (bucket.index > last) {
            break;
        }
        weight += cpti_bucket_weight(&bucket);
    }
    return cpti_u128_double(weight);
}

/* How many independent requests would give the share of requests up to bucket @last the
 * variance that it has by cluster; infinite if the share is 0 or 1. */
static double count_at(const struct cpt_clusters *clusters, const struct cpt_tree *tree,
                       uint32_t last)
{
    const double all = cpti_u128_double(tree->weight);
    const double share = weight_up_to(tree, last) / all;
    const double count = clusters->count;
    double squares = 0;

    for (uint32_t i = 0; i < clusters->count; i++) {
        const struct cpt_tree *own = clusters->all[i].tree;
        const double weight = cpti_u128_double(own->weight);

        squares += squared((weight_up_to(own, last) - share * weight) / (all - weight));
    }
    if (!(share > 0 && share < 1)) {
        return INFINITY;
    }
    return share * (1 - share) / ((count - 1) / count * squares);
}

/* The requests of a set as quantiles by cluster see them. */
struct clustered {
    const struct cpt_tree *tree;
    double degrees; /* of freedom; 0: there is one cluster, or none */
    double count;   /* independent requests that would vary as much */
};

static struct clustered clustered_of(const struct cpt_clusters *clusters,
                                     const struct cpt_tree *tree, double quantile)
{
    const struct cpt_clusters_summary summary = cpt_clusters_summary(clusters);
    struct clustered set = {.tree = tree};
    uint32_t last;

    if (summary.count <= 1 || summary.effective_count <= 1) {
        return set;
    }
    set.degrees = summary.effective_count - 1;
    last = cpti_histogram_index(cpt_stats_quantile_ns(tree, CPT_TREE_ROOT, quantile));
    set.count = count_at(clusters, tree, last);
    if (last > 0) { /* the quantile lies between the ends of its bucket */
        set.count = fmin(set.count, count_at(clusters, tree, last - 1));
    }
    if (!isfinite(set.count)) {
        set.count = summary.effective_count; /* nothing is known: the least there are */
    }
    return set;
}

static struct cpt_quantile quantile_of(const void *context, double quantile,
                                       double confidence)
{
    const struct clustered *set = context;
    const double at = 0.5 + confidence / 2;
    double count = 0;

    if (set->degrees > 0) {
        const double student = cpt_student_quantile(at, set->degrees);

        count =
            set->count * (student > 0 ? squared(cpt_normal_quantile(at) / student) : 1);
    }
    return cpt_quantile_of_count(set->tree, CPT_TREE_ROOT, quantile, confidence, count);
}

struct cpt_quantile cpt_clusters_quantile(const struct cpt_clusters *clusters,
                                          const struct cpt_tree *tree, double quantile,
                                          double confidence)
{
    const struct clustered set = clustered_of(clusters, tree, quantile);

    return quantile_of(&set, quantile, confidence);
}

struct cpt_quantile_change cpt_clusters_quantile_compare(
    const struct cpt_clusters *base_clusters, const struct cpt_tree *base,
    const struct cpt_clusters *other_clusters, const struct cpt_tree *other,
    double quantile, double confidence)
{
    const struct clustered left = clustered_of(base_clusters, base, quantile);
    const struct clustered right = clustered_of(other_clusters, other, quantile);
    const struct cpti_quantile_pair pair = {quantile_of, &left, &right, quantile};
    struct cpt_quantile_change change = cpti_quantile_pair(&pair, confidence);

    if (cpt_tree_request_count(base) != 0 && cpt_tree_request_count(other) != 0) {
        change.new_above =
            cpti_quantile_share_above(other, CPT_TREE_ROOT, change.base.ns);
    }
    return change;
}
