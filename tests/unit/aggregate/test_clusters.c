/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_clusters.c - errors by cluster against sums over clusters, and by simulation
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_clusters.h"
#include "aggregate/cpt_diff.h"

#include <math.h>

static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
    return cpt_normal_quantile(uniform(state));
}

/* A tree and its clusters. */
struct both {
    struct cpt_tree *tree;
    struct cpt_clusters *clusters;
};

static struct both both_new(void)
{
    struct both both = {cpt_tree_new(NULL, NULL), cpt_clusters_new(NULL)};

    MUST(both.tree != NULL && both.clusters != NULL);
    return both;
}

static void both_free(struct both *both)
{
    cpt_tree_free(both->tree);
    cpt_clusters_free(both->clusters);
}

static struct cpt_bytes value_of(unsigned cluster, char text[16])
{
    (void)snprintf(text, 16, "user-%u", cluster);
    return cpt_bytes_of(text);
}

static void both_add(struct both *both, const struct cpt_path *path, unsigned cluster,
                     cpt_weight weight)
{
    char text[16];

    MUST(cpt_tree_add(both->tree, path, weight) == CPT_OK);
    MUST(cpt_clusters_add(both->clusters, value_of(cluster, text), path, weight) ==
         CPT_OK);
}

static struct cpt_cluster_error *errors_of(const struct both *both)
{
    struct cpt_cluster_error *errors =
        calloc(cpt_tree_node_count(both->tree), sizeof *errors);

    MUST(errors != NULL);
    MUST(cpt_clusters_errors(NULL, both->clusters, both->tree, errors) == CPT_OK);
    return errors;
}

/* --- Against sums --- */

enum { CLUSTERS = 37, REQUESTS = 600 };

/* The time of the stack "a" with all below it, and of itself, in a request. */
struct simple {
    unsigned cluster;
    double weight;
    double self_ns;
    double inclusive_ns;
};

static double naive_error(const struct simple *all, int count, int is_self)
{
    double weights[CLUSTERS] = {0};
    double times[CLUSTERS] = {0};
    double weight = 0;
    double time_ns = 0;
    double sum = 0;
    int clusters = 0;

    for (int i = 0; i < count; i++) {
        const double ns = is_self ? all[i].self_ns : all[i].inclusive_ns;

        weights[all[i].cluster] += all[i].weight;
        times[all[i].cluster] += all[i].weight * ns;
        weight += all[i].weight;
        time_ns += all[i].weight * ns;
    }
    for (int c = 0; c < CLUSTERS; c++) {
        clusters += weights[c] > 0;
        /* the mean without the cluster, less the mean of all */
        sum += pow((time_ns - times[c]) / (weight - weights[c]) - time_ns / weight, 2);
    }
    return sqrt((clusters - 1.0) / clusters * sum);
}

static void test_errors_are_those_of_sums_over_clusters(void)
{
    uint64_t state = random_seed("clusters");
    static struct simple all[REQUESTS];

    for (int round = 0; round < 20; round++) {
        struct both both = both_new();
        struct cpt_cluster_error *errors;
        uint32_t node;

        for (int i = 0; i < REQUESTS; i++) {
            const unsigned cluster = (unsigned)random_below(&state, CLUSTERS);
            const cpt_weight weight =
                CPT_WEIGHT_ONE * (round % 2 == 0 ? 1 : 1 + random_below(&state, 9));
            const int has_it = ((int)cluster + i) % 3 != 0;
            const uint64_t self_ns = has_it ? random_below(&state, 100000) : 0;
            const uint64_t below_ns = has_it ? random_below(&state, 100000) : 0;
            char text[80];
            struct cpt_path *path;

            (void)snprintf(text, sizeof text, "a %llu, a;b %llu, c %u",
                           (unsigned long long)self_ns, (unsigned long long)below_ns,
                           cluster * 10);
            path = path_of(text);
            both_add(&both, path, cluster, weight);
            cpt_path_free(path);
            all[i] = (struct simple){cluster, (double)weight, (double)self_ns,
                                     (double)(self_ns + below_ns)};
        }
        errors = errors_of(&both);
        node = tree_node(both.tree, "a");
        CU_ASSERT_DOUBLE_EQUAL(errors[node].self_ns / naive_error(all, REQUESTS, 1), 1,
                               1e-9);
        CU_ASSERT_DOUBLE_EQUAL(
            errors[node].inclusive_ns / naive_error(all, REQUESTS, 0), 1, 1e-9);
        CU_ASSERT_EQUAL(cpt_clusters_summary(both.clusters).count, CLUSTERS);
        CU_ASSERT_TRUE(errors[node].effective_count <= CLUSTERS + 1e-9);
        free(errors);
        both_free(&both);
    }
}

/* Then the formula is that of independent requests; with weights of 1 to 3 it divides
 * by 1 - h, where h is at most 0.3 %. */
static void check_single_requests(unsigned weights, double tolerance)
{
    uint64_t state = random_seed("single requests");
    struct both both = both_new();
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_cluster_error *errors;

    for (unsigned i = 0; i < 500; i++) {
        path_random(path, &state, 8, 1000000);
        both_add(&both, path, i, CPT_WEIGHT_ONE * (1 + i % weights));
    }
    errors = errors_of(&both);
    for (uint32_t i = 0; i < cpt_tree_node_count(both.tree); i++) {
        struct cpt_stats stats = cpt_stats_of(both.tree, i);
        const struct cpt_clusters_summary summary = cpt_clusters_summary(both.clusters);

        CU_ASSERT_DOUBLE_EQUAL(errors[i].self_ns, stats.self.error_ns,
                               tolerance * stats.self.error_ns);
        CU_ASSERT_DOUBLE_EQUAL(errors[i].self_skewness, stats.self.skewness,
                               0.02); /* powers of n/(n-1) */
        CU_ASSERT_DOUBLE_EQUAL(errors[i].inclusive_ns, stats.inclusive.error_ns,
                               tolerance * stats.inclusive.error_ns);
        CU_ASSERT_DOUBLE_EQUAL(errors[i].inclusive_skewness, stats.inclusive.skewness,
                               0.02);
        CU_ASSERT_DOUBLE_EQUAL(summary.effective_count, stats.self.effective_count,
                               1e-6);
        cpt_clusters_apply(&summary, &errors[i], &stats);
        CU_ASSERT_EQUAL(stats.self.error_ns, errors[i].self_ns);
    }
    free(errors);
    cpt_path_free(path);
    both_free(&both);
}

static void test_one_request_a_cluster_is_the_usual_error(void)
{
    check_single_requests(1, 1e-9);
    check_single_requests(3, 3e-3);
}

static void test_one_cluster_has_no_error(void)
{
    struct both both = both_new();
    struct cpt_path *path = path_of("a 5");
    struct cpt_cluster_error *errors;

    both_add(&both, path, 1, CPT_WEIGHT_ONE);
    both_add(&both, path, 1, CPT_WEIGHT_ONE);
    errors = errors_of(&both);
    CU_ASSERT_EQUAL(errors[0].inclusive_ns, INFINITY);
    CU_ASSERT_EQUAL(cpt_clusters_summary(both.clusters).effective_count, 1);
    CU_ASSERT_EQUAL(cpt_clusters_summary(both.clusters).largest_share, 1);
    CU_ASSERT_EQUAL(cpt_clusters_quantile(both.clusters, both.tree, 0.5, 0.95).high_ns,
                    INFINITY);
    CU_ASSERT_EQUAL(cpt_clusters_quantile(both.clusters, both.tree, 0.5, 0.95).ns, 5);
    free(errors);
    cpt_path_free(path);
    both_free(&both);
}

/* --- Order, and many values --- */

/* Adds the requests from @from on, every @step-th, of a fixed random sequence. */
static void add_sequence(struct both *both, unsigned count, unsigned from,
                         unsigned step, unsigned values, int is_backward)
{
    struct cpt_path *path = cpt_path_new(NULL);

    for (unsigned k = from; k < count; k += step) {
        const unsigned i = is_backward ? count - 1 - k : k;
        uint64_t state = 1000003U * (i + 1);

        path_random(path, &state, 5, 1000000);
        both_add(both, path, (unsigned)random_below(&state, values),
                 CPT_WEIGHT_ONE * (1 + i % 4));
    }
    cpt_path_free(path);
}

static void expect_equal(const struct both *left, const struct both *right)
{
    struct cpt_cluster_error *errors[2] = {errors_of(left), errors_of(right)};
    const struct cpt_clusters_summary a = cpt_clusters_summary(left->clusters);
    const struct cpt_clusters_summary b = cpt_clusters_summary(right->clusters);
    char text[4096];

    CU_ASSERT_EQUAL(a.count, b.count);
    CU_ASSERT_EQUAL(a.are_pooled, b.are_pooled);
    CU_ASSERT_EQUAL(a.effective_count, b.effective_count);
    for (uint32_t i = 0; i < cpt_tree_node_count(left->tree); i++) {
        uint32_t other;

        (void)cpt_tree_stack_text(left->tree, i, text, sizeof text);
        other = tree_node(right->tree, text);
        CU_ASSERT_EQUAL_FATAL(other != CPT_TREE_NONE, 1);
        CU_ASSERT_EQUAL(errors[0][i].self_ns, errors[1][other].self_ns);
        CU_ASSERT_EQUAL(errors[0][i].inclusive_ns, errors[1][other].inclusive_ns);
    }
    free(errors[0]);
    free(errors[1]);
}

/* In any order and any grouping, to the last bit; also where values are pooled. */
static void test_order_and_grouping_change_nothing(void)
{
    static const unsigned values[] = {20, 1000, 1024, 1100, 5000};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct both whole = both_new();
        struct both other = both_new();
        struct both parts[3] = {both_new(), both_new(), both_new()};

        add_sequence(&whole, 6000, 0, 1, values[i], 0);
        for (unsigned k = 0; k < 3; k++) {
            add_sequence(&parts[k], 6000, k, 3, values[i], 1);
        }
        for (int k = 2; k >= 0; k--) {
            MUST(cpt_tree_merge(other.tree, parts[k].tree) == CPT_OK);
            MUST(cpt_clusters_merge(other.clusters, parts[k].clusters) == CPT_OK);
            both_free(&parts[k]);
        }
        expect_equal(&whole, &other);
        CU_ASSERT_EQUAL(cpt_clusters_summary(whole.clusters).are_pooled,
                        values[i] > CPT_CLUSTERS_MAX);
        both_free(&whole);
        both_free(&other);
    }
}

/* Groups of values estimate the same error, less exactly. */
static void test_pooled_errors_are_about_right(void)
{
    uint64_t state = random_seed("pooled");
    struct both pooled = both_new();
    double between = 0;
    const unsigned users = 4000;
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_cluster_error *errors;

    for (unsigned user = 0; user < users; user++) {
        const double mean = 1e6 * exp(0.3 * normal(&state));

        between += mean;
        for (unsigned i = 0; i < 5; i++) {
            uint32_t frame = 0;

            cpt_path_reset(path);
            MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("a"), 0,
                                    &frame) == CPT_OK);
            MUST(cpt_path_append_ns(path, frame, (uint64_t)mean) == CPT_OK);
            both_add(&pooled, path, user, CPT_WEIGHT_ONE);
        }
    }
    errors = errors_of(&pooled);
    between /= users;
    CU_ASSERT_TRUE(cpt_clusters_summary(pooled.clusters).are_pooled);
    CU_ASSERT_EQUAL(cpt_clusters_summary(pooled.clusters).count, CPT_CLUSTERS_POOLED);
    /* deviation of exp(0.3 z) is 0.3069 of its mean; the error of a variance of 256
     * groups is 9 %, three of them and a root of it 14 % */
    CU_ASSERT_DOUBLE_EQUAL(errors[0].inclusive_ns / (0.3069 * between / sqrt(users)), 1,
                           0.14);
    free(errors);
    cpt_path_free(path);
    both_free(&pooled);
}

/* Values are bytes: empty, with zeros, long, many. */
static void test_hostile_values_are_bounded(void)
{
    static char text[100000];
    struct cpt_clusters *clusters = cpt_clusters_new(NULL);
    struct cpt_path *path = path_of("a 5");

    memset(text, '\x1b', sizeof text);
    for (unsigned i = 0; i < 20000; i++) {
        memcpy(text, &i, sizeof i);
        MUST(cpt_clusters_add(clusters,
                              (struct cpt_bytes){text, i % 7 == 0 ? sizeof text : 4},
                              path, CPT_WEIGHT_ONE) == CPT_OK);
    }
    MUST(cpt_clusters_add(clusters, (struct cpt_bytes){text, 0}, path,
                          CPT_WEIGHT_ONE) == CPT_OK);
    CU_ASSERT_EQUAL(cpt_clusters_summary(clusters).count, CPT_CLUSTERS_POOLED);
    CU_ASSERT_TRUE(cpt_clusters_summary(clusters).are_pooled);
    CU_ASSERT_TRUE(cpt_clusters_summary(clusters).effective_count > 200);
    cpt_path_free(path);
    cpt_clusters_free(clusters);
}

/* --- Simulation --- */

/* Requests of one user have a common factor; users have different numbers of them. */
static void add_users(struct both *both, uint64_t *state, unsigned users,
                      int are_unequal)
{
    struct cpt_path *path = cpt_path_new(NULL);

    for (unsigned user = 0; user < users; user++) {
        const double mean = 5e6 + 1e6 * normal(state);
        const unsigned requests =
            are_unequal ? 1 + (unsigned)(10 * exp(0.8 * normal(state))) : 20;

        for (unsigned i = 0; i < requests; i++) {
            const double ns = mean + 1e6 * normal(state);
            uint32_t frame = 0;

            cpt_path_reset(path);
            MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("a"), 0,
                                    &frame) == CPT_OK);
            MUST(cpt_path_append_ns(path, frame, ns > 0 ? (uint64_t)ns : 0) == CPT_OK);
            both_add(both, path, user, CPT_WEIGHT_ONE);
        }
    }
    cpt_path_free(path);
}

/* Covers by cluster in @clustered, without in @plain, of @samples. */
static void cover(uint64_t *state, unsigned users, int are_unequal, int samples,
                  int *clustered, int *plain)
{
    *clustered = 0;
    *plain = 0;
    for (int i = 0; i < samples; i++) {
        struct both both = both_new();
        struct cpt_stats stats;
        struct cpt_clusters_summary summary;
        struct cpt_cluster_error *errors;
        double low = 0;
        double high = 0;

        add_users(&both, state, users, are_unequal);
        stats = cpt_stats_of(both.tree, 1);
        cpt_mean_interval(&stats.self, 0.95, &low, &high);
        *plain += low <= 5e6 && 5e6 <= high;
        errors = errors_of(&both);
        summary = cpt_clusters_summary(both.clusters);
        cpt_clusters_apply(&summary, &errors[1], &stats);
        cpt_mean_interval(&stats.self, 0.95, &low, &high);
        *clustered += low <= 5e6 && 5e6 <= high;
        free(errors);
        both_free(&both);
    }
}

static void test_intervals_by_cluster_cover_the_true_mean(void)
{
    enum { SAMPLES = 500 };
    static const unsigned users[] = {15, 40, 100};
    uint64_t state = random_seed("cluster coverage");

    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        for (int are_unequal = 0; are_unequal < 2; are_unequal++) {
            int clustered = 0;
            int plain = 0;

            cover(&state, users[i], are_unequal, SAMPLES, &clustered, &plain);
            if (getenv("CPT_TEST_SHOW") != NULL) {
                printf("\n%u users%s: %.1f %% by cluster, %.1f %% by request", users[i],
                       are_unequal ? ", unequal" : "", clustered * 100.0 / SAMPLES,
                       plain * 100.0 / SAMPLES);
            }
            /* three standard errors of a share of 95 % are 2.9 % */
            CU_ASSERT_TRUE(clustered >= SAMPLES * 0.92);
            CU_ASSERT_TRUE(clustered <= SAMPLES * 0.98 || are_unequal);
            CU_ASSERT_TRUE(plain <= SAMPLES * 0.75);
        }
    }
}

/* The p50 and p90 of users whose means vary as much as their requests do: a normal
 * distribution with twice the variance. */
static void test_quantiles_by_cluster_cover_the_true_ones(void)
{
    enum { SAMPLES = 400 };
    static const double quantiles[] = {0.5, 0.9, 0.99};
    uint64_t state = random_seed("cluster quantiles");

    for (size_t i = 0; i < 6; i++) {
        const double quantile = quantiles[i % 3];
        const double true_ns = 5e6 + sqrt(2) * 1e6 * cpt_normal_quantile(quantile);
        int clustered = 0;
        int plain = 0;

        for (int sample = 0; sample < SAMPLES; sample++) {
            struct both both = both_new();
            struct cpt_quantile found;

            add_users(&both, &state, i < 3 ? 60 : 20, 0);
            found = cpt_quantile_of(both.tree, CPT_TREE_ROOT, quantile, 0.95);
            plain += found.low_ns <= true_ns && true_ns <= found.high_ns;
            found = cpt_clusters_quantile(both.clusters, both.tree, quantile, 0.95);
            clustered += found.low_ns <= true_ns && true_ns <= found.high_ns;
            both_free(&both);
        }
        if (getenv("CPT_TEST_SHOW") != NULL) {
            printf("\np%g of %d users: %.1f %% by cluster, %.1f %% by request",
                   quantile * 100, i < 3 ? 60 : 20, clustered * 100.0 / SAMPLES,
                   plain * 100.0 / SAMPLES);
        }
        /* three standard errors of a share of 95 % are 3.3 % */
        CU_ASSERT_TRUE(clustered >= SAMPLES * 0.917);
        CU_ASSERT_TRUE(plain <= SAMPLES * 0.8);
    }
}

/* Nothing changed between two sets of users: their quantiles differ by cluster as often
 * as they may, and do if one set is slower. */
static void test_equal_quantiles_seldom_differ(void)
{
    enum { PAIRS = 400 };
    static const double quantiles[] = {0.5, 0.9};
    uint64_t state = random_seed("equal quantiles");
    int clustered = 0;
    int plain = 0;

    for (int i = 0; i < PAIRS; i++) {
        struct both sides[2] = {both_new(), both_new()};
        struct cpt_quantile_change change;

        add_users(&sides[0], &state, 60, i % 4 < 2);
        add_users(&sides[1], &state, 30, i % 4 < 2);
        change = cpt_quantile_compare(sides[0].tree, CPT_TREE_ROOT, sides[1].tree,
                                      CPT_TREE_ROOT, quantiles[i % 2], 0.95);
        plain += change.p_value < 0.05;
        change = cpt_clusters_quantile_compare(sides[0].clusters, sides[0].tree,
                                               sides[1].clusters, sides[1].tree,
                                               quantiles[i % 2], 0.95);
        clustered += change.p_value < 0.05;
        CU_ASSERT_EQUAL(change.p_value<0.05, change.low_ns> 0 || change.high_ns < 0);
        both_free(&sides[0]);
        both_free(&sides[1]);
    }
    if (getenv("CPT_TEST_SHOW") != NULL) {
        printf("\nequal quantiles: %.1f %% by cluster, %.1f %% by request",
               clustered * 100.0 / PAIRS, plain * 100.0 / PAIRS);
    }
    CU_ASSERT_TRUE(clustered <= PAIRS * 0.08); /* three errors above 5 % */
    CU_ASSERT_TRUE(plain >= PAIRS * 0.15);
}

/* Nothing changed between two sets of users: p < 0.05 by cluster as often as it may. */
static void test_equal_users_seldom_differ(void)
{
    enum { PAIRS = 400 };
    uint64_t state = random_seed("equal users");
    int clustered = 0;
    int plain = 0;

    for (int i = 0; i < PAIRS; i++) {
        struct both sides[2] = {both_new(), both_new()};
        struct cpt_diff_options options = {.struct_bytes = sizeof options};
        struct cpt_diff *diff = NULL;

        add_users(&sides[0], &state, 60, i % 2);
        add_users(&sides[1], &state, 20, i % 2);
        MUST(cpt_diff_new(NULL, sides[0].tree, sides[1].tree, &options, &diff, NULL) ==
             CPT_OK);
        plain += cpt_diff_row_at(diff, 0)->self.p_value < 0.05;
        cpt_diff_free(diff);
        options.base_clusters = sides[0].clusters;
        options.new_clusters = sides[1].clusters;
        MUST(cpt_diff_new(NULL, sides[0].tree, sides[1].tree, &options, &diff, NULL) ==
             CPT_OK);
        clustered += cpt_diff_row_at(diff, 0)->self.p_value < 0.05;
        cpt_diff_free(diff);
        both_free(&sides[0]);
        both_free(&sides[1]);
    }
    if (getenv("CPT_TEST_SHOW") != NULL) {
        printf("\nequal users: %d by cluster, %d by request of %d", clustered, plain,
               PAIRS);
    }
    CU_ASSERT_TRUE(clustered <= PAIRS * 0.083); /* 5 % and three standard errors */
    CU_ASSERT_TRUE(plain >= PAIRS * 0.4);
}

/* Users with very different numbers of requests (lognormal, σ = 1.2), and skewed
 * times. */
static void add_uneven_users(struct both *both, uint64_t *state, unsigned users)
{
    struct cpt_path *path = cpt_path_new(NULL);

    for (unsigned user = 0; user < users; user++) {
        const double mean = 5e6 * exp(0.3 * normal(state));
        const unsigned requests = 1 + (unsigned)(10 * exp(1.2 * normal(state)));

        for (unsigned i = 0; i < requests; i++) {
            uint32_t frame = 0;

            cpt_path_reset(path);
            MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("a"), 0,
                                    &frame) == CPT_OK);
            MUST(cpt_path_append_ns(path, frame,
                                    (uint64_t)(mean * exp(0.5 * normal(state)))) ==
                 CPT_OK);
            both_add(both, path, user, CPT_WEIGHT_ONE);
        }
    }
    cpt_path_free(path);
}

/* Of 20 users a side, a few have most of the requests. 5 % and three standard errors;
 * by C/(C-1) Σ (T - m W)² it is 8 %. */
static void test_few_uneven_users_seldom_differ(void)
{
    enum { PAIRS = 1500 };
    uint64_t state = random_seed("few users");
    int differ = 0;

    for (int i = 0; i < PAIRS; i++) {
        struct both sides[2] = {both_new(), both_new()};
        struct cpt_diff_options options = {.struct_bytes = sizeof options};
        struct cpt_diff *diff = NULL;

        add_uneven_users(&sides[0], &state, 20);
        add_uneven_users(&sides[1], &state, 20);
        options.base_clusters = sides[0].clusters;
        options.new_clusters = sides[1].clusters;
        MUST(cpt_diff_new(NULL, sides[0].tree, sides[1].tree, &options, &diff, NULL) ==
             CPT_OK);
        differ += cpt_diff_row_at(diff, 0)->self.p_value < 0.05;
        cpt_diff_free(diff);
        both_free(&sides[0]);
        both_free(&sides[1]);
    }
    if (getenv("CPT_TEST_SHOW") != NULL) {
        printf("\nfew uneven users: %d of %d", differ, PAIRS);
    }
    CU_ASSERT_TRUE(differ <= PAIRS * 0.067);
}

/* One in 33 of many users has the stack "a;b". A small set often lacks it, or nearly:
 * that is no change, whether the clusters of the others are pooled or not. */
static void test_rare_stacks_of_many_users_do_not_change(void)
{
    enum { PAIRS = 60 };
    static const unsigned users[] = {1000, 5000};
    uint64_t state = random_seed("rare stacks");

    for (size_t i = 0; i < 2; i++) {
        int accused = 0;

        for (int pair = 0; pair < PAIRS; pair++) {
            struct both sides[2] = {both_new(), both_new()};
            struct cpt_diff_options options = {.struct_bytes = sizeof options};
            struct cpt_path *paths[2] = {path_of("a 5"), path_of("a 5, a;b 6")};
            struct cpt_diff *diff = NULL;

            for (unsigned user = 0; user < users[i] + 60; user++) {
                both_add(&sides[user >= users[i]], paths[random_below(&state, 33) == 0],
                         user, CPT_WEIGHT_ONE);
            }
            options.base_clusters = sides[0].clusters;
            options.new_clusters = sides[1].clusters;
            MUST(cpt_diff_new(NULL, sides[0].tree, sides[1].tree, &options, &diff,
                              NULL) == CPT_OK);
            accused += cpt_diff_total(diff)->inclusive.p_value < 0.05;
            cpt_diff_free(diff);
            for (int k = 0; k < 2; k++) {
                both_free(&sides[k]);
                cpt_path_free(paths[k]);
            }
        }
        if (getenv("CPT_TEST_SHOW") != NULL) {
            printf("\n%u users: %d of %d accused", users[i], accused, PAIRS);
        }
        CU_ASSERT_TRUE(accused <= 3);
    }
}

/* --- The diff --- */

static void test_few_clusters_are_not_trusted(void)
{
    uint64_t state = random_seed("few clusters");
    struct both sides[2] = {both_new(), both_new()};
    struct cpt_diff_options options = {.struct_bytes = sizeof options};
    struct cpt_error error = {0};
    struct cpt_diff *diff = NULL;

    add_users(&sides[0], &state, 50, 0);
    add_users(&sides[1], &state, 9, 0);
    options.base_clusters = sides[0].clusters;
    CU_ASSERT_EQUAL(
        cpt_diff_new(NULL, sides[0].tree, sides[1].tree, &options, &diff, &error),
        CPT_INVALID);
    options.new_clusters = sides[1].clusters;
    MUST(cpt_diff_new(NULL, sides[0].tree, sides[1].tree, &options, &diff, &error) ==
         CPT_OK);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 0)->doubt, CPT_DIFF_FEW_CLUSTERS);
    CU_ASSERT_TRUE(cpt_diff_row_at(diff, 0)->is_rare);
    CU_ASSERT_TRUE(cpt_diff_row_at(diff, 0)->self.degrees < 70);
    cpt_diff_free(diff);
    add_users(&sides[1], &state, 40, 0); /* the same names: nine users more often */
    MUST(cpt_diff_new(NULL, sides[0].tree, sides[1].tree, &options, &diff, &error) ==
         CPT_OK);
    CU_ASSERT_EQUAL(cpt_diff_row_at(diff, 0)->doubt, CPT_DIFF_TRUSTED);
    cpt_diff_free(diff);
    both_free(&sides[0]);
    both_free(&sides[1]);
}

static bool compare_with(const struct cpt_alloc *alloc)
{
    struct both sides[2] = {both_new(), both_new()};
    struct cpt_diff_options options = {.struct_bytes = sizeof options};
    struct cpt_clusters *clusters = cpt_clusters_new(alloc);
    struct cpt_path *path = path_of("a 5, a;b 6");
    struct cpt_diff *diff = NULL;
    cpt_status status = clusters == NULL ? CPT_NO_MEMORY : CPT_OK;

    for (unsigned i = 0; i < 40 && status == CPT_OK; i++) {
        char text[16];

        status =
            cpt_clusters_add(clusters, value_of(i % 13, text), path, CPT_WEIGHT_ONE);
        MUST(cpt_tree_add(sides[0].tree, path, CPT_WEIGHT_ONE) == CPT_OK);
    }
    options.base_clusters = clusters;
    options.new_clusters = clusters;
    if (status == CPT_OK) {
        status =
            cpt_diff_new(alloc, sides[0].tree, sides[0].tree, &options, &diff, NULL);
    }
    cpt_diff_free(diff);
    cpt_clusters_free(clusters);
    cpt_path_free(path);
    both_free(&sides[0]);
    both_free(&sides[1]);
    return status == CPT_OK;
}

static void test_each_refused_allocation_is_survived(void)
{
    each_allocation_failure(compare_with);
}

CU_TestInfo cpt_clusters_tests[] = {
    {"errors are those of sums over clusters",
     test_errors_are_those_of_sums_over_clusters},
    {"one request a cluster is the usual error",
     test_one_request_a_cluster_is_the_usual_error},
    {"one cluster has no error", test_one_cluster_has_no_error},
    {"order and grouping change nothing", test_order_and_grouping_change_nothing},
    {"pooled errors are about right", test_pooled_errors_are_about_right},
    {"hostile values are bounded", test_hostile_values_are_bounded},
    {"intervals by cluster cover the true mean",
     test_intervals_by_cluster_cover_the_true_mean},
    {"quantiles by cluster cover the true ones",
     test_quantiles_by_cluster_cover_the_true_ones},
    {"equal users seldom differ", test_equal_users_seldom_differ},
    {"few uneven users seldom differ", test_few_uneven_users_seldom_differ},
    {"equal quantiles of users seldom differ", test_equal_quantiles_seldom_differ},
    {"rare stacks of many users do not change",
     test_rare_stacks_of_many_users_do_not_change},
    {"few clusters are not trusted", test_few_clusters_are_not_trusted},
    {"each refused allocation is survived", test_each_refused_allocation_is_survived},
    CU_TEST_INFO_NULL,
};
