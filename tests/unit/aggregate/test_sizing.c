/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_sizing.c - planned numbers of requests against the formula, and against
 * simulation
 */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_sizing.h"

#include <math.h>

/* A tree of @count requests of a skewed population (lognormal, median 1 ms). */
static struct cpt_tree *tree_of_population(uint64_t *state, unsigned count)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);

    MUST(tree != NULL && path != NULL);
    while (count-- > 0) {
        const double uniform =
            ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
        uint32_t frame = 0;

        cpt_path_reset(path);
        MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("a"), 0, &frame) ==
             CPT_OK);
        MUST(cpt_path_append_ns(
                 path, frame,
                 (uint64_t)(1e6 * exp(cpt_normal_quantile(uniform)) + 0.5)) == CPT_OK);
        MUST(cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK);
    }
    cpt_path_free(path);
    return tree;
}

static double mean_ns(const struct cpt_tree *tree)
{
    return cpt_stats_of(tree, CPT_TREE_ROOT).inclusive.mean_ns;
}

/* Of 10 and 30 ms: s = √(2 · 10²) = 14.142 ms, z = 1.95996, b = 0.84162. */
static void test_needs_are_those_of_the_formula(void)
{
    const struct cpt_sizing sizing = {.struct_bytes = sizeof sizing,
                                      .within_ns = 1e6,
                                      .slice = 0.25,
                                      .share = 0.01,
                                      .probability = 0.1,
                                      .rate = 1000};
    const double counts[] = {769, 1537, 3140}; /* 768.3, 1536.6, 3139.6 */
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    CU_ASSERT_EQUAL(tree_add_text(tree, "a 10000000", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 30000000", CPT_WEIGHT_ONE), CPT_OK);
    for (int goal = 0; goal < CPT_SIZING_GOAL_COUNT; goal++) {
        const struct cpt_sizing_need need =
            cpt_sizing_need(&sizing, tree, (enum cpt_sizing_goal)goal);

        CU_ASSERT_EQUAL(need.slice, counts[goal]);
        CU_ASSERT_EQUAL(need.traced, 4 * counts[goal]);
        CU_ASSERT_DOUBLE_EQUAL(need.all, 4000 * counts[goal], 1);
        CU_ASSERT_DOUBLE_EQUAL(need.seconds, 4 * counts[goal], 0.001);
    }
    cpt_tree_free(tree);
}

static void test_zero_means_the_default(void)
{
    const struct cpt_sizing zero = {.struct_bytes = sizeof zero};
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    const struct cpt_sizing said = {.struct_bytes = sizeof said,
                                    .within_ns = 200000, /* 1 % of 20 ms */
                                    .confidence = 0.95,
                                    .power = 0.8,
                                    .slice = 1,
                                    .share = 1,
                                    .probability = 1};

    CU_ASSERT_EQUAL(tree_add_text(tree, "a 10000000", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 30000000", CPT_WEIGHT_ONE), CPT_OK);
    for (int goal = 0; goal < CPT_SIZING_GOAL_COUNT; goal++) {
        const struct cpt_sizing_need need =
            cpt_sizing_need(&zero, tree, (enum cpt_sizing_goal)goal);
        const struct cpt_sizing_need same =
            cpt_sizing_need(&said, tree, (enum cpt_sizing_goal)goal);

        CU_ASSERT_EQUAL(need.all, same.all);
        CU_ASSERT_EQUAL(need.all, need.slice);
        CU_ASSERT_TRUE(isnan(need.seconds));
    }
    cpt_tree_free(tree);
}

/* The two functions are each other's inverse. */
static void test_a_sizing_gives_its_half_width(void)
{
    uint64_t state = random_seed("half width");
    struct cpt_tree *tree = tree_of_population(&state, 1000);

    for (double within_ns = 1e4; within_ns < 1e6; within_ns *= 1.7) {
        const struct cpt_sizing sizing = {.struct_bytes = sizeof sizing,
                                          .within_ns = within_ns};
        const double count = cpt_sizing_need(&sizing, tree, CPT_SIZING_MEAN).slice;

        CU_ASSERT_TRUE(cpt_sizing_half_width_ns(tree, count, 0.95) <= within_ns);
        CU_ASSERT_TRUE(cpt_sizing_half_width_ns(tree, count - 1, 0.95) > within_ns);
    }
    cpt_tree_free(tree);
}

enum { SAMPLES = 1000 };

/*
 * Means of as many requests as planned lie within h of the truth in 95 % of the
 * samples; and a difference of h is significant at 5 % in 80 % of the pairs. Both
 * bounds allow for three standard errors of 1,000 trials, 2 and 4 %.
 */
static void test_as_many_requests_are_enough(void)
{
    uint64_t state = random_seed("plan");
    struct cpt_tree *pilot = tree_of_population(&state, 100000);
    const struct cpt_sizing sizing = {.struct_bytes = sizeof sizing, .within_ns = 3e5};
    const double truth_ns = 1e6 * exp(0.5);
    const unsigned count =
        (unsigned)cpt_sizing_need(&sizing, pilot, CPT_SIZING_MEAN).slice;
    const unsigned seen =
        (unsigned)cpt_sizing_need(&sizing, pilot, CPT_SIZING_SEEN).slice;
    int within = 0;
    int significant = 0;

    for (int i = 0; i < SAMPLES; i++) {
        struct cpt_tree *tree = tree_of_population(&state, count);
        struct cpt_tree *base = tree_of_population(&state, seen);
        struct cpt_tree *other = tree_of_population(&state, seen);
        const double error_ns =
            hypot(cpt_stats_of(base, CPT_TREE_ROOT).inclusive.error_ns,
                  cpt_stats_of(other, CPT_TREE_ROOT).inclusive.error_ns);

        within += fabs(mean_ns(tree) - truth_ns) <= sizing.within_ns;
        significant += mean_ns(other) + sizing.within_ns - mean_ns(base) >
                       cpt_normal_quantile(0.975) * error_ns;
        cpt_tree_free(tree);
        cpt_tree_free(base);
        cpt_tree_free(other);
    }
    CU_ASSERT_TRUE(within >= 0.93 * SAMPLES && within <= 0.97 * SAMPLES);
    CU_ASSERT_TRUE(significant >= 0.76 * SAMPLES && significant <= 0.84 * SAMPLES);
    cpt_tree_free(pilot);
}

extern CU_TestInfo cpt_sizing_tests[];
CU_TestInfo cpt_sizing_tests[] = {
    {"needs are those of the formula", test_needs_are_those_of_the_formula},
    {"zero means the default", test_zero_means_the_default},
    {"a sizing gives its half width", test_a_sizing_gives_its_half_width},
    {"as many requests are enough", test_as_many_requests_are_enough},
    CU_TEST_INFO_NULL,
};
