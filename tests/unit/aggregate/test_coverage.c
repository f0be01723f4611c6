/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_coverage.c - how often intervals hold the true mean, by simulation
 *
 * Each figure is of 2,000 samples of a population whose mean is known; 95 % of them
 * should have it in their interval. A share of 95 % among 2,000 has a standard error of
 * 0.5 %. Rows that cannot be trusted are counted apart: whether they can must not
 * depend on their times, so this does not select the good ones.
 */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_stats.h"

#include <math.h>
#include <stdbool.h>

enum { SAMPLES = 2000, REQUESTS = 1000 };

static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* After Box and Muller; quicker than the inverse of the distribution. */
static double normal(uint64_t *state)
{
    return sqrt(-2 * log(uniform(state))) * cos(2 * acos(-1) * uniform(state));
}

/* --- Populations --- */

struct population {
    double sigma;    /* of the logarithm of a time; its median is 1 ms */
    double presence; /* share of requests that have the stack */
    double slow;     /* share of requests with 500 ms more */
};

static double true_mean_ns(const struct population *from)
{
    return 1e6 * exp(from->sigma * from->sigma / 2) * from->presence + 5e8 * from->slow;
}

static uint64_t draw_ns(const struct population *from, uint64_t *state)
{
    double time_ns = 0;

    if (from->presence == 1 || uniform(state) < from->presence) {
        time_ns = 1e6 * exp(from->sigma * normal(state));
    }
    if (from->slow > 0 && uniform(state) < from->slow) {
        time_ns += 5e8;
    }
    return (uint64_t)(time_ns + 0.5);
}

/* Weights of the requests of a sample, in order. */
enum weights { EQUAL, ONE_TWO_TEN, HUNDRED_HEAVY, NINE_HEAVY, HUNDRED_ALONE };

static cpt_weight weight_of(enum weights weights, int request, uint64_t *state)
{
    static const cpt_weight mixed[] = {1, 2, 10};

    switch (weights) {
    case ONE_TWO_TEN:
        return mixed[random_below(state, 3)] * CPT_WEIGHT_ONE;
    case HUNDRED_HEAVY:
        return (request < 100 ? 1000 : 1) * CPT_WEIGHT_ONE;
    case NINE_HEAVY:
        return (request < 9 ? 1000 : 1) * CPT_WEIGHT_ONE;
    case EQUAL:
    case HUNDRED_ALONE:
    default:
        return CPT_WEIGHT_ONE;
    }
}

/* --- Samples --- */

/* Shares of the samples, in percent. */
struct coverage {
    double covered;   /* the interval holds the true mean */
    double untrusted; /* the row is marked */
    double wrong;     /* neither */
};

/* A sample, whose stack is node 1. */
static struct cpt_tree *sample(const struct population *from, enum weights weights,
                               uint64_t *state)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = path_of("a 1");

    MUST(cpt_tree_shape_keep(tree, 1, path) == CPT_OK);
    for (int i = 0; i < (weights == HUNDRED_ALONE ? 102 : REQUESTS); i++) {
        const uint64_t self_ns = draw_ns(from, state);

        MUST(cpt_tree_shape_add(tree, 1, &self_ns, weight_of(weights, i, state)) ==
             CPT_OK);
    }
    cpt_path_free(path);
    return tree;
}

static struct coverage cover(const char *name, const struct population *from,
                             enum weights weights)
{
    uint64_t state = random_seed("coverage");
    const double mean_ns = true_mean_ns(from);
    struct coverage found = {0, 0, 0};

    for (int i = 0; i < SAMPLES; i++) {
        struct cpt_tree *tree = sample(from, weights, &state);
        struct cpt_stats stats = {.is_rare = 1};
        double low = 0;
        double high = 0;
        bool is_covered = false;

        if (cpt_tree_node_count(tree) > 1) {
            stats = cpt_stats_of(tree, 1);
            cpt_mean_interval(&stats.self, 0.95, &low, &high);
            is_covered = low <= mean_ns && mean_ns <= high;
        }
        found.covered += is_covered;
        found.untrusted += stats.is_rare;
        found.wrong += !is_covered && !stats.is_rare;
        cpt_tree_free(tree);
    }
    found.covered *= 100.0 / SAMPLES;
    found.untrusted *= 100.0 / SAMPLES;
    found.wrong *= 100.0 / SAMPLES;
    printf("[%s: %.1f %% covered, %.1f %% untrusted] ", name, found.covered,
           found.untrusted);
    return found;
}

/* --- Figures --- */

static void test_skewed_times_are_covered(void)
{
    static const double sigmas[] = {0.5, 1, 1.5};

    for (size_t i = 0; i < sizeof sigmas / sizeof sigmas[0]; i++) {
        const struct population from = {.sigma = sigmas[i], .presence = 1};
        const struct coverage found = cover("lognormal", &from, EQUAL);

        CU_ASSERT_TRUE(found.covered >= 94 && found.covered <= 96.5);
        CU_ASSERT_EQUAL(found.untrusted, 0);
    }
}

static void test_weighted_times_are_covered(void)
{
    static const double sigmas[] = {0.5, 1, 1.5};

    for (size_t i = 0; i < sizeof sigmas / sizeof sigmas[0]; i++) {
        const struct population from = {.sigma = sigmas[i], .presence = 1};
        struct coverage found = cover("weights 1, 2, 10", &from, ONE_TWO_TEN);

        CU_ASSERT_TRUE(found.covered >= 93.5 && found.covered <= 97);
        CU_ASSERT_EQUAL(found.untrusted, 0);
        found = cover("100 of weight 1,000", &from, HUNDRED_HEAVY);
        /* worth 102 requests, too few for a time as skewed as the last */
        CU_ASSERT_TRUE(found.covered >= (sigmas[i] > 1 ? 91 : 93.5));
        CU_ASSERT_TRUE(found.covered <= 97);
        CU_ASSERT_EQUAL(found.untrusted, 0);
    }
}

/* 100 heavy requests are worth 102 of equal weight, and no less: these are covered as
 * rarely. No criterion by counts or weights tells this from times that are less skewed,
 * whose intervals hold. */
static void test_heavy_requests_are_covered_as_their_worth(void)
{
    const struct population from = {.sigma = 1.5, .presence = 1};
    const struct coverage heavy = cover("100 heavy, skewed", &from, HUNDRED_HEAVY);
    const struct coverage alone = cover("102 equal, skewed", &from, HUNDRED_ALONE);

    CU_ASSERT_TRUE(fabs(heavy.covered - alone.covered) <= 2.5); /* three errors */
    CU_ASSERT_TRUE(alone.covered >= 91);
    CU_ASSERT_EQUAL(alone.untrusted, 0);
}

/* A stack in one request of a hundred is in about 10 of 1,000: its row is marked. */
static void test_rare_times_are_marked(void)
{
    const struct population alone = {.slow = 0.01};
    const struct population among = {.sigma = 0.5, .presence = 1, .slow = 0.01};
    struct coverage found = cover("1 % with 500 ms", &alone, EQUAL);

    CU_ASSERT_TRUE(found.untrusted > 99.9);
    found = cover("1 % with 500 ms, weights 1, 2, 10", &alone, ONE_TWO_TEN);
    CU_ASSERT_TRUE(found.untrusted > 99.9);
    /* the same in a stack that all requests have, which no mark can know */
    found = cover("1 % with 500 ms more", &among, EQUAL);
    CU_ASSERT_TRUE(found.covered >= 93.5);
    CU_ASSERT_EQUAL(found.untrusted, 0);
}

/* Just enough requests with the stack, by the count and by the effective count. */
static void test_trusted_rows_are_covered(void)
{
    const struct population seldom = {.presence = 0.05};
    const struct population skewed = {.sigma = 1, .presence = 0.06};
    struct coverage found = cover("5 % with 1 ms", &seldom, EQUAL);

    CU_ASSERT_TRUE(found.wrong <= 6.5 && found.untrusted < 1);
    found = cover("6 % lognormal", &skewed, EQUAL);
    CU_ASSERT_TRUE(found.wrong <= 6.5 && found.untrusted < 1);
    found = cover("6 % lognormal, weights 1, 2, 10", &skewed, ONE_TWO_TEN);
    CU_ASSERT_TRUE(found.wrong <= 6.5);
}

static void test_few_heavy_requests_are_marked(void)
{
    const struct population from = {.sigma = 1, .presence = 1};
    const struct coverage found = cover("9 of weight 1,000", &from, NINE_HEAVY);

    CU_ASSERT_EQUAL(found.untrusted, 100);
}

/*
 * Slow requests are sampled at 1, fast ones at 0.1: the unweighted mean is far off, the
 * weighted interval covers the true mean.
 */
static void test_sampling_by_latency_is_covered(void)
{
    uint64_t state = random_seed("weighted coverage");
    struct cpt_path *fast = path_of("a 100");
    struct cpt_path *slow = path_of("a 900");
    int covered = 0;

    for (int i = 0; i < SAMPLES; i++) {
        struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
        struct cpt_stats stats;
        double low = 0;
        double high = 0;

        for (int k = 0; k < 2000; k++) {
            const int is_slow = random_below(&state, 20) == 0;

            if (is_slow) {
                MUST(cpt_tree_add(tree, slow, CPT_WEIGHT_ONE) == CPT_OK);
            } else if (random_below(&state, 10) == 0) {
                MUST(cpt_tree_add(tree, fast, 10 * CPT_WEIGHT_ONE) == CPT_OK);
            }
        }
        stats = cpt_stats_of(tree, 1);
        cpt_mean_interval(&stats.self, 0.95, &low, &high);
        covered += low <= 140 && 140 <= high;
        cpt_tree_free(tree);
    }
    CU_ASSERT_TRUE(covered >= SAMPLES * 0.935);
    CU_ASSERT_TRUE(covered <= SAMPLES * 0.97);
    cpt_path_free(fast);
    cpt_path_free(slow);
}

extern CU_TestInfo cpt_coverage_tests[];
CU_TestInfo cpt_coverage_tests[] = {
    {"skewed times are covered", test_skewed_times_are_covered},
    {"weighted times are covered", test_weighted_times_are_covered},
    {"heavy requests are covered as their worth",
     test_heavy_requests_are_covered_as_their_worth},
    {"rare times are marked", test_rare_times_are_marked},
    {"trusted rows are covered", test_trusted_rows_are_covered},
    {"few heavy requests are marked", test_few_heavy_requests_are_marked},
    {"sampling by latency is covered", test_sampling_by_latency_is_covered},
    CU_TEST_INFO_NULL,
};
