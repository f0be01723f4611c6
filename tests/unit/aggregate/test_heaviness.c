/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_heaviness.c - how often an infinite variance is found, where there is one, and
 * where there is none, by simulation
 */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_stats.h"

#include <math.h>

static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
    return sqrt(-2 * log(uniform(state))) * cos(2 * acos(-1) * uniform(state));
}

/* Populations in ms: @a is their shape. */
enum shape {
    LOGNORMAL,
    EXPONENTIAL,
    PARETO,
    PARETO_LATE,  /* 4 ms more */
    SLOW_MODE,    /* a constant 50 ms in 1 % */
    SLOW_CLUSTER, /* 50 times as long in 2 % */
    KEPT_PARETO,  /* of a keep rule: all above 10 ms, one in 10 of the others */
    KEPT_LOGNORMAL
};

struct population {
    const char *name;
    enum shape shape;
    double a;
    double found[2]; /* the least and the most, in percent, of 1,000 requests … */
    double many[2];  /* … and of 10,000 */
};

static double draw_ms(const struct population *from, uint64_t *state)
{
    switch (from->shape) {
    case EXPONENTIAL:
        return -log(uniform(state));
    case PARETO:
    case KEPT_PARETO:
        return pow(uniform(state), -1 / from->a);
    case PARETO_LATE:
        return 4 + pow(uniform(state), -1 / from->a);
    case SLOW_MODE:
        return exp(from->a * normal(state)) + (uniform(state) < 0.01 ? 50 : 0);
    case SLOW_CLUSTER:
        return exp(from->a * normal(state)) * (uniform(state) < 0.02 ? 50 : 1);
    case LOGNORMAL:
    case KEPT_LOGNORMAL:
    default:
        return exp(from->a * normal(state));
    }
}

static struct cpt_tree *sample(const struct population *from, int count,
                               uint64_t *state)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = path_of("a 1");

    MUST(cpt_tree_shape_keep(tree, 1, path) == CPT_OK);
    for (int i = 0; i < count; i++) {
        const uint64_t self_ns = (uint64_t)(1e6 * draw_ms(from, state));
        unsigned weight = 1;

        if (from->shape >= KEPT_PARETO && self_ns < 10000000) {
            if (random_below(state, 10) != 0) {
                continue;
            }
            weight = 10;
        }
        MUST(cpt_tree_shape_add(tree, 1, &self_ns, weight * CPT_WEIGHT_ONE) == CPT_OK);
    }
    cpt_path_free(path);
    return tree;
}

/* The share of @samples in which the variance is found to be infinite, in percent. */
static double share_found(const struct population *from, int count, int samples,
                          uint64_t *state)
{
    int found = 0;

    for (int i = 0; i < samples; i++) {
        struct cpt_tree *tree = sample(from, count, state);

        found += cpt_stats_heaviness(tree, CPT_TREE_ROOT).is_infinite;
        cpt_tree_free(tree);
    }
    return 100.0 * found / samples;
}

static void test_an_infinite_variance_is_found(void)
{
    static const struct population from[] = {
        {"lognormal 0.5", LOGNORMAL, 0.5, {0, 1}, {0, 1}},
        {"lognormal 1", LOGNORMAL, 1, {0, 1}, {0, 1}},
        {"lognormal 1.5", LOGNORMAL, 1.5, {0, 12}, {0, 6}},
        {"exponential", EXPONENTIAL, 0, {0, 1}, {0, 1}},
        {"50 ms in 1 %", SLOW_MODE, 0.3, {0, 3}, {0, 1}},
        {"50 times in 2 %", SLOW_CLUSTER, 0.5, {0, 3}, {0, 1}},
        {"Pareto 3", PARETO, 3, {0, 1}, {0, 1}},
        {"Pareto 2.01", PARETO, 2.01, {0, 8}, {0, 10}},
        {"Pareto 1.8", PARETO, 1.8, {3, 25}, {15, 40}},
        {"Pareto 1.5", PARETO, 1.5, {20, 45}, {82, 100}},
        {"Pareto 1.2", PARETO, 1.2, {75, 100}, {97, 100}},
        {"4 ms + Pareto 1.5", PARETO_LATE, 1.5, {5, 25}, {50, 80}},
        {"kept Pareto 1.5", KEPT_PARETO, 1.5, {3, 50}, {30, 100}},
        {"kept lognormal 1", KEPT_LOGNORMAL, 1, {0, 3}, {0, 3}},
    };
    uint64_t state = random_seed("heaviness");

    for (size_t i = 0; i < sizeof from / sizeof from[0]; i++) {
        const double few = share_found(&from[i], 1000, 400, &state);
        const double many = share_found(&from[i], 10000, 60, &state);

        if (getenv("CPT_TEST_SHOW") != NULL) {
            printf("\n%s: infinite in %.0f %% of 1,000 requests, %.0f %% of 10,000",
                   from[i].name, few, many);
        }
        CU_ASSERT_TRUE(few >= from[i].found[0] && few <= from[i].found[1]);
        CU_ASSERT_TRUE(many >= from[i].many[0] && many <= from[i].many[1]);
    }
}

static void test_few_requests_tell_nothing(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    CU_ASSERT_TRUE(isnan(cpt_stats_heaviness(tree, CPT_TREE_ROOT).index));
    for (int i = 0; i < 200; i++) { /* one time: no tail */
        MUST(tree_add_text(tree, "a 5000", CPT_WEIGHT_ONE) == CPT_OK);
        CU_ASSERT_FALSE(cpt_stats_heaviness(tree, 1).is_infinite);
    }
    for (int i = 0; i < 200; i++) { /* two, and 0 */
        MUST(tree_add_text(tree, i % 2 != 0 ? "a 5000000" : "a 0", CPT_WEIGHT_ONE) ==
             CPT_OK);
        CU_ASSERT_FALSE(cpt_stats_heaviness(tree, CPT_TREE_ROOT).is_infinite);
    }
    cpt_tree_free(tree);
}

extern CU_TestInfo cpt_heaviness_tests[];
CU_TestInfo cpt_heaviness_tests[] = {
    {"an infinite variance is found", test_an_infinite_variance_is_found},
    {"few requests tell nothing", test_few_requests_tell_nothing},
    CU_TEST_INFO_NULL,
};
