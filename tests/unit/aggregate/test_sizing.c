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
#include <stdbool.h>
#include <stdio.h>

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

/* --- What a keep rule has left --- */

enum { ARRIVALS = 200000, ROUNDS = 1000 };

#define SLOW_NS 3e6

/* A slice of the requests: slow ones, one page of two, or all. */
enum slice { SLICE_SLOW, SLICE_PAGE, SLICE_ALL, SLICES };

/* A request that arrives: lognormal, median 1 ms; page 1 takes twice as long. All slow
 * ones are kept, and 2 % of the others. */
struct arrival {
    double ns;
    double weight; /* 0: it is not kept */
    bool in_slice;
};

static double uniform_of(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

static struct arrival arrive(uint64_t *state, enum slice slice)
{
    const bool page = uniform_of(state) < 0.5;
    const double ns =
        (page ? 2e6 : 1e6) * exp(0.5 * cpt_normal_quantile(uniform_of(state)));
    const bool is_slow = ns > SLOW_NS;

    return (struct arrival){ns,
                            is_slow                    ? 1
                            : uniform_of(state) < 0.02 ? 50
                                                       : 0,
                            slice == SLICE_SLOW   ? is_slow
                            : slice == SLICE_PAGE ? page
                                                  : true};
}

/* What @count arrivals leave of a slice: Σw, Σwx. */
static double mean_of_arrivals(uint64_t *state, enum slice slice, double count)
{
    double weight = 0;
    double sum = 0;

    for (double i = 0; i < count; i++) {
        const struct arrival arrival = arrive(state, slice);

        weight += arrival.in_slice ? arrival.weight : 0;
        sum += arrival.in_slice ? arrival.weight * arrival.ns : 0;
    }
    return sum / weight;
}

/* The plan for the slice, by the requests that @ARRIVALS leave: its requests to come
 * are kept by the same rule. */
static struct cpt_sizing_need plan_kept(uint64_t *state, enum slice slice,
                                        struct cpt_sizing *sizing, double *deviation_ns)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    double records[2] = {0}; /* all, of the slice */
    double weight = 0;
    struct cpt_sizing_need need;

    for (int i = 0; i < ARRIVALS; i++) {
        const struct arrival arrival = arrive(state, slice);
        char text[64];

        weight += arrival.weight;
        records[0] += arrival.weight > 0;
        if (arrival.weight > 0 && arrival.in_slice) {
            records[1]++;
            (void)snprintf(text, sizeof text, "a %.0f", arrival.ns);
            MUST(tree_add_text(tree, text,
                               (cpt_weight)arrival.weight * CPT_WEIGHT_ONE) == CPT_OK);
        }
    }
    sizing->within_ns = 0.08 * mean_ns(tree);
    sizing->slice = records[1] / records[0];
    sizing->probability = records[0] / weight;
    need = cpt_sizing_need(sizing, tree, CPT_SIZING_MEAN);
    *deviation_ns = cpt_sizing_deviation_ns(tree);
    cpt_tree_free(tree);
    return need;
}

/* The planned arrivals are those that give the mean to ±8 %: the deviation of the means
 * of as many, by simulation, is h/z. Its square varies by
 * √(2/ROUNDS) = 4.5 %, and the plan, from 200,000 arrivals, by 2 to 4 %. */
static void test_arrivals_are_enough_under_a_keep_rule(void)
{
    uint64_t state = random_seed("kept");

    for (int slice = 0; slice < SLICES; slice++) {
        struct cpt_sizing sizing = {.struct_bytes = sizeof sizing};
        double deviation_ns = 0;
        const struct cpt_sizing_need need =
            plan_kept(&state, (enum slice)slice, &sizing, &deviation_ns);
        double sum = 0;
        double squares = 0;

        for (int i = 0; i < ROUNDS; i++) {
            const double mean =
                mean_of_arrivals(&state, (enum slice)slice, need.all) / 1e6;

            sum += mean;
            squares += mean * mean;
        }
        squares = (squares - sum * sum / ROUNDS) / (ROUNDS - 1) *
                  pow(1.959964 / sizing.within_ns * 1e6, 2);
        CU_ASSERT_TRUE(squares > 0.84 && squares < 1.16);
    }
}

/* The deviation of a request is that of all that arrive, not of those that are kept. */
static void test_the_deviation_is_that_of_all_requests(void)
{
    uint64_t state = random_seed("deviation");

    for (int slice = 0; slice < SLICES; slice++) {
        struct cpt_sizing sizing = {.struct_bytes = sizeof sizing};
        double deviation_ns = 0;
        double sum = 0;
        double squares = 0;
        double count = 0;

        (void)plan_kept(&state, (enum slice)slice, &sizing, &deviation_ns);
        for (int i = 0; i < ARRIVALS; i++) {
            const struct arrival arrival = arrive(&state, (enum slice)slice);
            const double ms = arrival.ns / 1e6;

            count += arrival.in_slice;
            sum += arrival.in_slice ? ms : 0;
            squares += arrival.in_slice ? ms * ms : 0;
        }
        CU_ASSERT_DOUBLE_EQUAL(deviation_ns / 1e6 /
                                   sqrt(squares / count - sum / count * sum / count),
                               1, 0.04);
    }
}

extern CU_TestInfo cpt_sizing_tests[];
CU_TestInfo cpt_sizing_tests[] = {
    {"needs are those of the formula", test_needs_are_those_of_the_formula},
    {"zero means the default", test_zero_means_the_default},
    {"a sizing gives its half width", test_a_sizing_gives_its_half_width},
    {"as many requests are enough", test_as_many_requests_are_enough},
    {"arrivals are enough under a keep rule",
     test_arrivals_are_enough_under_a_keep_rule},
    {"the deviation is that of all requests",
     test_the_deviation_is_that_of_all_requests},
    CU_TEST_INFO_NULL,
};
