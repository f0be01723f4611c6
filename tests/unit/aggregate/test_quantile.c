/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_quantile.c - ranks against sums of all outcomes, intervals against sorted arrays
 * and against populations whose quantile is known
 */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_quantile.h"

#include <math.h>

/* --- Counts --- */

/* Pascal's triangle by logarithms of whole factorials: slow and obvious. */
static double choose(unsigned n, unsigned k)
{
    double product = 1;

    for (unsigned i = 1; i <= k; i++) {
        product = product * (n - k + i) / i;
    }
    return k > n ? 0 : product;
}

static double binomial_below(unsigned n, double p, unsigned rank)
{
    double sum = 0;

    for (unsigned k = 0; k < rank; k++) {
        sum += choose(n, k) * pow(p, k) * pow(1 - p, n - k);
    }
    return sum;
}

static void test_a_rank_is_the_last_that_is_rare_enough(void)
{
    static const double probabilities[] = {0.01, 0.1, 0.5, 0.77, 0.9, 0.99};

    for (unsigned n = 1; n <= 200; n += n < 20 ? 1 : 17) {
        for (size_t i = 0; i < sizeof probabilities / sizeof probabilities[0]; i++) {
            const double p = probabilities[i];
            const unsigned rank = (unsigned)cpt_binomial_rank(n, p, 0.025);

            CU_ASSERT_TRUE(rank <= n);
            CU_ASSERT_TRUE(binomial_below(n, p, rank) <= 0.025 + 1e-12);
            CU_ASSERT_TRUE(rank == n || binomial_below(n, p, rank + 1) > 0.025 - 1e-12);
        }
    }
    CU_ASSERT_EQUAL(cpt_binomial_rank(0, 0.5, 0.025), 0);
    CU_ASSERT_EQUAL(cpt_binomial_rank(7, 0, 0.025), 0);
    CU_ASSERT_EQUAL(cpt_binomial_rank(7, 1, 0.025), 7);
}

/* Of more requests than are summed the rank is the normal one; where both hold they
 * differ by the two ranks that it is rounded outwards. */
static void test_ranks_of_many_requests_join_those_of_few(void)
{
    static const double probabilities[] = {0.5, 0.9, 0.99, 0.001};

    for (size_t i = 0; i < sizeof probabilities / sizeof probabilities[0]; i++) {
        const double p = probabilities[i];
        const double border = 2000.0 * 2000.0 / p / (1 - p);
        const double under =
            (double)cpt_binomial_rank((uint64_t)(border * 0.9999999), p, 0.025);
        const double over =
            (double)cpt_binomial_rank((uint64_t)(border * 1.0000001), p, 0.025);

        CU_ASSERT_DOUBLE_EQUAL(over - under, border * 0.0000002 * p, 4);
    }
    /* 2^48 requests: neither overflow nor nonsense */
    CU_ASSERT_DOUBLE_EQUAL((double)cpt_binomial_rank((uint64_t)1 << 48, 0.5, 0.025),
                           140737488355328.0 - 1.959964 * 8388608, 30);
    CU_ASSERT_DOUBLE_EQUAL(
        (double)cpt_binomial_rank((uint64_t)1 << 48, 1e-9, 0.025) / 280430.0, 1, 1e-3);
}

/* --- Intervals --- */

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static void add_time(struct cpt_tree *tree, uint64_t time_ns, cpt_weight weight)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t frame = 0;

    MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("a"), 0, &frame) ==
         CPT_OK);
    MUST(cpt_path_append_ns(path, frame, time_ns) == CPT_OK);
    MUST(cpt_tree_add(tree, path, weight) == CPT_OK);
    cpt_path_free(path);
}

/* The ends enclose the request of their rank, and are at most a bucket away from it. */
static void test_ends_are_order_statistics(void)
{
    static const double quantiles[] = {0, 0.01, 0.25, 0.5, 0.9, 0.99, 1};
    uint64_t state = random_seed("order statistics");
    uint64_t times[700];

    for (int round = 0; round < 60; round++) {
        struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
        const unsigned n = 1 + (unsigned)random_below(&state, 700);
        const cpt_weight weight = CPT_WEIGHT_ONE * (1 + random_below(&state, 5));

        for (unsigned i = 0; i < n; i++) {
            times[i] = random_ns(&state, round % 2 != 0 ? 100 : 1000000000);
            add_time(tree, times[i], weight);
        }
        qsort(times, n, sizeof times[0], compare);
        for (size_t k = 0; k < sizeof quantiles / sizeof quantiles[0]; k++) {
            const double p = quantiles[k];
            const struct cpt_quantile found = cpt_quantile_of(tree, 1, p, 0.95);
            const unsigned low = (unsigned)cpt_binomial_rank(n, p, 0.025);
            const unsigned high = n + 1 - (unsigned)cpt_binomial_rank(n, 1 - p, 0.025);

            CU_ASSERT_EQUAL(found.effective_count, n);
            CU_ASSERT_TRUE(found.low_ns <= found.ns && found.ns <= found.high_ns);
            if (low == 0) {
                CU_ASSERT_EQUAL(found.low_ns, -INFINITY);
            } else {
                const double exact = (double)times[low - 1];

                CU_ASSERT_TRUE(found.low_ns <= exact &&
                               found.low_ns >= exact / (1 + 1.0 / 127));
            }
            if (high > n) {
                CU_ASSERT_EQUAL(found.high_ns, INFINITY);
            } else {
                const double exact = (double)times[high - 1];

                CU_ASSERT_TRUE(found.high_ns >= exact &&
                               found.high_ns <= exact * (1 + 1.0 / 127));
            }
        }
        cpt_tree_free(tree);
    }
}

static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* A weight by chance: 1, 2 or 10; or 1 or 1,000 if @is_wild. */
static cpt_weight weight_by_chance(uint64_t *state, int is_wild)
{
    static const unsigned weights[] = {1, 2, 10};

    if (is_wild) {
        return CPT_WEIGHT_ONE * (random_below(state, 10) == 0 ? 1000 : 1);
    }
    return CPT_WEIGHT_ONE * weights[random_below(state, 3)];
}

/* How requests are weighted in a simulation: by chance; as their slowness was sampled;
 * by a keep rule, which takes all slow ones and a part of the others. */
enum weighting {
    EQUAL,
    MIXED,
    WILD,
    RARE,
    HEAVY_IF_SLOW,
    KEPT,        /* above p95, and 10 % */
    KEPT_BARELY, /* above p98, and 1 % */
    KEPT_ABOVE,  /* above p99.5, and 10 % */
    WEIGHTINGS
};

/* The rule of @how: its border in deviations, and the others' weight. */
static double kept_from(enum weighting how)
{
    return how == KEPT ? 1.644854 : how == KEPT_BARELY ? 2.053749 : 2.575829;
}

static unsigned kept_weight(enum weighting how)
{
    return how == KEPT_BARELY ? 100 : 10;
}

/* Adds a request of a population: lognormal, some times in steps of 1 ms (ties). If
 * slow ones are heavy, they are a tenth as often in the sample. A keep rule may leave
 * it out. */
static void add_request(struct cpt_tree *tree, uint64_t *state, enum weighting how,
                        int has_ties, double factor)
{
    cpt_weight weight = CPT_WEIGHT_ONE;
    double time_ns;

    do {
        time_ns = factor * 1e6 * exp(cpt_normal_quantile(uniform(state)));
    } while (how == HEAVY_IF_SLOW && time_ns > 3e6 && random_below(state, 10) != 0);
    if (how == HEAVY_IF_SLOW) {
        weight = CPT_WEIGHT_ONE * (time_ns > 3e6 ? 10 : 1);
    } else if (how >= KEPT) {
        if (time_ns <= 1e6 * exp(kept_from(how))) {
            weight = kept_weight(how) * CPT_WEIGHT_ONE;
            if (random_below(state, kept_weight(how)) != 0) {
                return;
            }
        }
    } else if (how == RARE) {
        weight = CPT_WEIGHT_ONE * (random_below(state, 50) == 0 ? 100 : 1);
    } else if (how != EQUAL) {
        weight = weight_by_chance(state, how == WILD);
    }
    add_time(tree, (uint64_t)(has_ties ? 1e6 * ceil(time_ns / 1e6) : time_ns), weight);
}

/* At least 95 % must be covered: ranks are whole numbers, so more may be. Three
 * standard errors of a share of 95 % among 500 are 2.9 %. */
static void test_intervals_cover_the_quantile_of_the_population(void)
{
    enum { SAMPLES = 500, REQUESTS = 400, ARRIVALS = 3000 };
    static const double quantiles[] = {0.5, 0.9, 0.99};
    uint64_t state = random_seed("quantile coverage");

    for (int how = 0; how < WEIGHTINGS; how++) {
        for (int has_ties = 0; has_ties < 2; has_ties++) {
            int covered[3] = {0, 0, 0};

            for (int sample = 0; sample < SAMPLES; sample++) {
                struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

                for (int i = 0; i < (how >= KEPT ? ARRIVALS : REQUESTS); i++) {
                    add_request(tree, &state, (enum weighting)how, has_ties, 1);
                }
                for (int k = 0; k < 3; k++) {
                    const struct cpt_quantile found =
                        cpt_quantile_of(tree, 1, quantiles[k], 0.95);
                    double true_ns = 1e6 * exp(cpt_normal_quantile(quantiles[k]));

                    true_ns = has_ties ? 1e6 * ceil(true_ns / 1e6) : true_ns;
                    covered[k] += found.low_ns <= true_ns && true_ns <= found.high_ns;
                }
                cpt_tree_free(tree);
            }
            for (int k = 0; k < 3; k++) {
                CU_ASSERT_TRUE(covered[k] >= SAMPLES * 0.92);
                if (getenv("CPT_TEST_SHOW") != NULL) {
                    printf("\n%d%s p%g: %.1f %%", how, has_ties ? " ties" : "",
                           quantiles[k] * 100, covered[k] * 100.0 / SAMPLES);
                }
            }
        }
    }
}

/* --- Two samples --- */

/* How often p < 0.05 and how often the interval excludes 0, of @samples pairs. */
static void compare_pairs(uint64_t *state, enum weighting how, const int *counts,
                          double quantile, double factor, int samples, double *rejected,
                          double *excluded)
{
    int found_p = 0;
    int found_interval = 0;

    for (int sample = 0; sample < samples; sample++) {
        struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL),
                                     cpt_tree_new(NULL, NULL)};
        struct cpt_quantile_change change;

        for (int side = 0; side < 2; side++) {
            for (int i = 0; i < counts[side]; i++) {
                add_request(trees[side], state, how, 0, side == 0 ? 1 : factor);
            }
            if (cpt_tree_request_count(trees[side]) == 0) {
                add_time(trees[side], 1000000, CPT_WEIGHT_ONE);
            }
        }
        change = cpt_quantile_compare(trees[0], 1, trees[1], 1, quantile, 0.95);
        found_p += change.p_value < 0.05;
        found_interval += change.low_ns > 0 || change.high_ns < 0;
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
    *rejected = (double)found_p / samples;
    *excluded = (double)found_interval / samples;
}

/* 5 % and three standard errors of that share among 300. */
static void test_equal_samples_seldom_differ(void)
{
    enum { PAIRS = 300 };
    static const int counts[][2] = {{300, 300}, {2000, 20}, {60, 900}};
    static const double quantiles[] = {0.5, 0.9, 0.99};
    uint64_t state = random_seed("equal quantiles");

    for (int how = 0; how < WEIGHTINGS; how++) {
        for (size_t i = 0; i < 3; i++) {
            double rejected = 1;
            double excluded = 1;

            compare_pairs(&state, (enum weighting)how, counts[i],
                          quantiles[(i + (size_t)how) % 3], 1, PAIRS, &rejected,
                          &excluded);
            CU_ASSERT_TRUE(rejected <= 0.088);
            CU_ASSERT_TRUE(excluded <= 0.088);
            if (getenv("CPT_TEST_SHOW") != NULL) {
                printf("\n%d %d:%d p%g: p<0.05 in %.1f %%, interval without 0 in %.1f "
                       "%%",
                       how, counts[i][0], counts[i][1],
                       quantiles[(i + (size_t)how) % 3] * 100, rejected * 100,
                       excluded * 100);
            }
        }
    }
}

/* Where the quantile is in one of two buckets by chance, rounded ends do not accuse. */
static void test_ties_in_adjacent_buckets_do_not_differ(void)
{
    enum { PAIRS = 400, REQUESTS = 1000 };
    uint64_t state = random_seed("adjacent buckets");
    int found = 0;

    for (int pair = 0; pair < PAIRS; pair++) {
        struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL),
                                     cpt_tree_new(NULL, NULL)};
        struct cpt_quantile_change change;

        for (int side = 0; side < 2; side++) {
            for (int i = 0; i < REQUESTS; i++) {
                const int is_late = random_below(&state, 10) == 0; /* above p90 */

                add_time(trees[side], is_late ? 1008000 : 1000000, CPT_WEIGHT_ONE);
            }
        }
        change = cpt_quantile_compare(trees[0], 1, trees[1], 1, 0.9, 0.95);
        found += change.p_value < 0.05;
        CU_ASSERT_EQUAL(change.p_value<0.05, change.low_ns> 0 || change.high_ns < 0);
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
    CU_ASSERT_TRUE(found <= PAIRS * 0.083); /* 5 % and three standard errors */
}

static void test_a_moved_quantile_is_found(void)
{
    static const int counts[] = {2000, 2000};
    uint64_t state = random_seed("moved quantiles");
    double rejected = 0;
    double excluded = 0;

    compare_pairs(&state, EQUAL, counts, 0.9, 1.2, 200, &rejected, &excluded);
    CU_ASSERT_TRUE(rejected > 0.8);
    CU_ASSERT_TRUE(excluded > 0.6);
    if (getenv("CPT_TEST_SHOW") != NULL) {
        printf("\nmoved: %.2f, %.2f", rejected, excluded);
    }
}

/* A keep rule has all slow requests, and 1 to 10 % of the others: a p99 that is 15 %
 * later is found nearly as often as in all of them. */
static void test_a_p99_that_a_rule_kept_is_as_good_as_all(void)
{
    static const int counts[] = {15000, 15000};
    uint64_t state = random_seed("kept quantiles");
    double found[3] = {0};
    double excluded = 0;

    compare_pairs(&state, EQUAL, counts, 0.99, 1.15, 60, &found[0], &excluded);
    compare_pairs(&state, KEPT, counts, 0.99, 1.15, 60, &found[1], &excluded);
    compare_pairs(&state, KEPT_BARELY, counts, 0.99, 1.15, 60, &found[2], &excluded);
    CU_ASSERT_TRUE(found[0] >= 0.75);
    CU_ASSERT_TRUE(found[1] >= 0.75);
    CU_ASSERT_TRUE(found[2] >= 0.45);
    if (getenv("CPT_TEST_SHOW") != NULL) {
        printf("\np99 + 15 %%: all %.2f, kept %.2f, %.2f", found[0], found[1],
               found[2]);
    }
}

static void test_a_p_value_is_the_level_whose_interval_touches_0(void)
{
    uint64_t state = random_seed("p values");

    for (int round = 0; round < 40; round++) {
        struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL),
                                     cpt_tree_new(NULL, NULL)};
        struct cpt_quantile_change change;

        for (int i = 0; i < 500; i++) {
            add_request(trees[i % 2], &state, (enum weighting)(round % WEIGHTINGS),
                        round % 3 == 0, i % 2 == 0 ? 1 : 1.5);
        }
        change = cpt_quantile_compare(trees[0], 1, trees[1], 1, 0.7, 0.95);
        CU_ASSERT_EQUAL(change.p_value<0.05, change.low_ns> 0 || change.high_ns < 0);
        if (change.p_value > CPT_QUANTILE_P_MIN && change.p_value < 0.999) {
            const struct cpt_quantile_change at =
                cpt_quantile_compare(trees[0], 1, trees[1], 1, 0.7, 1 - change.p_value);
            const struct cpt_quantile_change beyond = cpt_quantile_compare(
                trees[0], 1, trees[1], 1, 0.7, 1 - change.p_value * 0.999);

            CU_ASSERT_TRUE(at.low_ns > 0 || at.high_ns < 0);
            CU_ASSERT_TRUE(beyond.low_ns <= 0 && beyond.high_ns >= 0);
        }
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
}

/* All of one sample lies above all of the other, within one or two buckets each. */
static void test_separate_samples_differ(void)
{
    struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL), cpt_tree_new(NULL, NULL)};
    struct cpt_quantile_change change;

    for (unsigned i = 0; i < 60; i++) {
        add_time(trees[0], 33880000 + i * 1000, CPT_WEIGHT_ONE);
        add_time(trees[1], 37880000 + i * 1000, CPT_WEIGHT_ONE);
    }
    change = cpt_quantile_compare(trees[0], 1, trees[1], 1, 0.9, 0.95);
    CU_ASSERT_TRUE(change.p_value < 0.01);
    CU_ASSERT_TRUE(change.low_ns > 3500000 && change.high_ns < 4500000);
    CU_ASSERT_EQUAL(change.new_above, 1);
    /* of 60 requests, all may lie below the true p99 */
    change = cpt_quantile_compare(trees[0], 1, trees[1], 1, 0.99, 0.95);
    CU_ASSERT_EQUAL(change.p_value, 1);
    CU_ASSERT_EQUAL(change.low_ns, -INFINITY);
    cpt_tree_free(trees[0]);
    cpt_tree_free(trees[1]);
}

static void test_a_side_without_requests_tells_nothing(void)
{
    struct cpt_tree *empty = cpt_tree_new(NULL, NULL);
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_quantile_change change;

    add_time(tree, 5, CPT_WEIGHT_ONE);
    change = cpt_quantile_compare(empty, CPT_TREE_ROOT, tree, CPT_TREE_ROOT, 0.5, 0.95);
    CU_ASSERT_EQUAL(change.p_value, 1);
    CU_ASSERT_EQUAL(change.low_ns, -INFINITY);
    CU_ASSERT_EQUAL(change.high_ns, INFINITY);
    CU_ASSERT_EQUAL(change.base.effective_count, 0);
    change = cpt_quantile_compare(tree, CPT_TREE_ROOT, tree, CPT_TREE_ROOT, 0.5, 0.95);
    CU_ASSERT_EQUAL(change.p_value, 1);
    CU_ASSERT_EQUAL(change.delta_ns, 0);
    cpt_tree_free(empty);
    cpt_tree_free(tree);
}

CU_TestInfo cpt_quantile_tests[] = {
    {"a rank is the last that is rare enough",
     test_a_rank_is_the_last_that_is_rare_enough},
    {"ranks of many requests join those of few",
     test_ranks_of_many_requests_join_those_of_few},
    {"a p value is the level whose interval touches 0",
     test_a_p_value_is_the_level_whose_interval_touches_0},
    {"ends are order statistics", test_ends_are_order_statistics},
    {"intervals cover the quantile of the population",
     test_intervals_cover_the_quantile_of_the_population},
    {"equal samples seldom differ", test_equal_samples_seldom_differ},
    {"a moved quantile is found", test_a_moved_quantile_is_found},
    {"ties in adjacent buckets do not differ",
     test_ties_in_adjacent_buckets_do_not_differ},
    {"a p99 that a rule kept is as good as all",
     test_a_p99_that_a_rule_kept_is_as_good_as_all},
    {"separate samples differ", test_separate_samples_differ},
    {"a side without requests tells nothing",
     test_a_side_without_requests_tells_nothing},
    CU_TEST_INFO_NULL,
};
