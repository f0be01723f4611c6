/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_tree.c - requests become one tree, in any order and grouping */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/model_tree.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_stats.h"

/* Two requests of the article's figure 1: in one A2 is critical, in the other B1. */
static void test_the_average_of_two_requests(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_tree_walk *walk = NULL;

    CU_ASSERT_EQUAL(tree_add_text(tree, "A1 5, A1;A2 20, A1 5", CPT_WEIGHT_ONE),
                    CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "A1 5, A1;B1 30, A1 5", CPT_WEIGHT_ONE),
                    CPT_OK);
    walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
    CU_ASSERT_EQUAL_FATAL(cpt_tree_walk_count(walk), 4);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 0)->inclusive_ns, 35);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 1)->self_ns, 10);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 1)->inclusive_ns, 35);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 2)->self_ns, 10);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 2)->node, tree_node(tree, "A1;A2"));
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 3)->self_ns, 15);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 3)->node, tree_node(tree, "A1;B1"));
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 0)->below, 3);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 3)->parent, 1);
    cpt_tree_walk_free(walk);

    walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_TIME);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 2)->node, tree_node(tree, "A1;B1"));
    cpt_tree_walk_free(walk);
    cpt_tree_free(tree);
}

static void test_always_5_ms_is_not_500_ms_in_one_of_a_hundred(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_stats always;
    struct cpt_stats seldom;

    for (int i = 0; i < 100; i++) {
        CU_ASSERT_EQUAL(tree_add_text(tree,
                                      i == 42 ? "A;always 5000000, A;seldom 500000000"
                                              : "A;always 5000000",
                                      CPT_WEIGHT_ONE),
                        CPT_OK);
    }
    always = cpt_stats_of(tree, tree_node(tree, "A;always"));
    seldom = cpt_stats_of(tree, tree_node(tree, "A;seldom"));
    CU_ASSERT_EQUAL(always.self.mean_ns, 5e6);
    CU_ASSERT_EQUAL(seldom.self.mean_ns, 5e6);
    CU_ASSERT_EQUAL(always.presence, 1);
    CU_ASSERT_EQUAL(seldom.presence, 0.01);
    CU_ASSERT_EQUAL(always.present_mean_ns, 5e6);
    CU_ASSERT_EQUAL(seldom.present_mean_ns, 5e8);
    CU_ASSERT_EQUAL(always.self.error_ns, 0);
    CU_ASSERT_DOUBLE_EQUAL(seldom.self.error_ns, 5e6, 1e-6);
    CU_ASSERT_FALSE(always.is_rare);
    CU_ASSERT_TRUE(seldom.is_rare);
    cpt_tree_free(tree);
}

static void test_weights_are_one_over_the_probability(void)
{
    CU_ASSERT_EQUAL(cpt_weight_of_probability(1), CPT_WEIGHT_ONE);
    CU_ASSERT_EQUAL(cpt_weight_of_probability(0.001), 1000 * CPT_WEIGHT_ONE);
    CU_ASSERT_EQUAL(cpt_weight_of_probability(0.3), 3495253);
    CU_ASSERT_EQUAL(cpt_weight_of_probability(1.0 / (1 << 28)), CPT_WEIGHT_MAX);
    CU_ASSERT_EQUAL(cpt_weight_of_probability(0.99 / (1 << 28)), 0);
    CU_ASSERT_EQUAL(cpt_weight_of_probability(0), 0);
    CU_ASSERT_EQUAL(cpt_weight_of_probability(1.0000001), 0);
    CU_ASSERT_EQUAL(cpt_weight_of_probability(-1), 0);
    CU_ASSERT_EQUAL(cpt_weight_of_probability(0.0 / CPT_WEIGHT_ONE), 0);
}

static void test_a_weight_counts_as_so_many_requests(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_stats stats;

    CU_ASSERT_EQUAL(tree_add_text(tree, "A 10", 3 * CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "A 10, B 40", CPT_WEIGHT_ONE), CPT_OK);
    stats = cpt_stats_of(tree, tree_node(tree, "B"));
    CU_ASSERT_EQUAL(stats.self.mean_ns, 10);
    CU_ASSERT_EQUAL(stats.presence, 0.25);
    CU_ASSERT_EQUAL(stats.self.effective_count, 1.6);
    CU_ASSERT_EQUAL(cpt_tree_weight_min(tree), CPT_WEIGHT_ONE);
    CU_ASSERT_EQUAL(cpt_tree_weight_max(tree), 3 * CPT_WEIGHT_ONE);
    cpt_tree_free(tree);
}

static void check_close(double found, long double wanted)
{
    CU_ASSERT_DOUBLE_EQUAL(found, (double)wanted, 1e-12 * (double)wanted + 1e-9);
}

static void check_row(const struct cpt_tree *tree, uint32_t node,
                      const struct model *model)
{
    char stack[MODEL_TEXT_BYTES];
    const struct cpt_stats stats = cpt_stats_of(tree, node);
    uint64_t weight = 0;
    unsigned column = 0;
    struct model_mean self;
    struct model_mean inclusive;

    (void)cpt_tree_stack_text(tree, node, stack, sizeof stack);
    column = model_find(model, stack);
    CU_ASSERT_TRUE_FATAL(column < model->stack_count);
    self = model_mean_of(model, model->self[column]);
    inclusive = model_mean_of(model, model->inclusive[column]);
    check_close(stats.self.mean_ns, self.mean);
    check_close(stats.self.error_ns, self.error);
    check_close(stats.inclusive.mean_ns, inclusive.mean);
    check_close(stats.inclusive.error_ns, inclusive.error);
    check_close(stats.self.effective_count, self.effective_count);
    CU_ASSERT_DOUBLE_EQUAL(stats.self.skewness, (double)self.skewness, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(stats.inclusive.skewness, (double)inclusive.skewness, 1e-9);
    CU_ASSERT_EQUAL(stats.present_count, model_present(model, column, &weight));
    if (stats.present_count == 0) {
        return;
    }
    check_close(stats.present_effective_count, model_present_effective(model, column));
    CU_ASSERT_EQUAL(stats.min_ns, model_quantile(model, column, 0));
    CU_ASSERT_EQUAL(stats.max_ns, model_quantile(model, column, 1000));
    for (unsigned per_mille = 100; per_mille < 1000; per_mille += 179) {
        const uint64_t exact = model_quantile(model, column, per_mille);
        const double found =
            (double)cpt_stats_quantile_ns(tree, node, per_mille / 1000.0);

        CU_ASSERT_DOUBLE_EQUAL(found, (double)exact,
                               CPT_STATS_QUANTILE_ERROR * (double)exact);
    }
}

static void test_every_statistic_is_that_of_the_table_of_requests(void)
{
    struct model *model = cpt_alloc_zeroed(NULL, sizeof *model);
    struct cpt_path *path = cpt_path_new(NULL);
    uint64_t state = random_seed("model");

    for (int round = 0; round < 60; round++) {
        struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
        const unsigned request_count = 2 + (unsigned)random_below(&state, 40);
        const uint64_t most_ns = round % 3 == 0   ? 50
                                 : round % 3 == 1 ? 100000000000
                                                  : 10000000000000; /* 2.8 hours */

        model_reset(model);
        for (unsigned i = 0; i < request_count; i++) {
            const cpt_weight weight =
                round % 2 == 0 ? CPT_WEIGHT_ONE
                               : CPT_WEIGHT_ONE + random_next(&state) % (1U << 30);

            path_random(path, &state, 10, most_ns);
            model_add(model, path, weight);
            CU_ASSERT_EQUAL(cpt_tree_add(tree, path, weight), CPT_OK);
        }
        CU_ASSERT_EQUAL(cpt_tree_node_count(tree), model->stack_count);
        for (uint32_t node = 0; node < cpt_tree_node_count(tree); node++) {
            check_row(tree, node, model);
        }
        cpt_tree_free(tree);
    }
    cpt_path_free(path);
    cpt_alloc_free(NULL, model);
}

static void test_rounded_averages_add_up_to_the_mean(void)
{
    uint64_t state = random_seed("rounding");

    for (int round = 0; round < 100; round++) {
        struct cpt_tree *tree =
            tree_random(&state, 1 + (unsigned)random_below(&state, 30));
        struct cpt_tree_walk *walk = cpt_tree_walk_new(
            NULL, tree, round % 2 ? CPT_TREE_BY_TIME : CPT_TREE_BY_NAME);
        const double mean = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive.mean_ns;
        uint64_t sum = 0;

        for (uint32_t i = 0; i < cpt_tree_walk_count(walk); i++) {
            const struct cpt_tree_row *row = cpt_tree_walk_row(walk, i);
            const double exact = cpt_stats_of(tree, row->node).self.mean_ns;
            uint64_t inclusive = 0;

            CU_ASSERT_TRUE((double)row->self_ns > exact - 1 - 1e-3);
            CU_ASSERT_TRUE((double)row->self_ns < exact + 1 + 1e-3);
            for (uint32_t j = i; j <= i + row->below; j++) {
                inclusive += cpt_tree_walk_row(walk, j)->self_ns;
            }
            CU_ASSERT_EQUAL(row->inclusive_ns, inclusive);
            sum += row->self_ns;
        }
        CU_ASSERT_EQUAL(sum, cpt_tree_walk_row(walk, 0)->inclusive_ns);
        CU_ASSERT_DOUBLE_EQUAL((double)sum, mean, 0.501);
        cpt_tree_walk_free(walk);
        cpt_tree_free(tree);
    }
}

static void test_ties_in_rounding_go_to_the_stack_that_comes_first(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_tree_walk *walk = NULL;

    /* 1/2 ns each; their mean 1.5 is rounded up to 2 */
    CU_ASSERT_EQUAL(tree_add_text(tree, "c 1, a 1, b 1", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "", CPT_WEIGHT_ONE), CPT_OK);
    walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 0)->inclusive_ns, 2);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 1)->self_ns, 1);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 2)->self_ns, 1);
    CU_ASSERT_EQUAL(cpt_tree_walk_row(walk, 3)->self_ns, 0);
    cpt_tree_walk_free(walk);
    cpt_tree_free(tree);
}

static void test_apportioned_totals_are_what_was_measured(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_tree_walk *walk = NULL;
    uint64_t totals[3];

    CU_ASSERT_EQUAL(tree_add_text(tree, "a 10, b 1", 7 * CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 3", 7 * CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 1", 7 * CPT_WEIGHT_ONE), CPT_OK);
    walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
    CU_ASSERT_EQUAL(cpt_tree_walk_apportion(walk, 3, totals), CPT_OK);
    CU_ASSERT_EQUAL(totals[1], 14);
    CU_ASSERT_EQUAL(totals[2], 1);
    cpt_tree_walk_free(walk);
    cpt_tree_free(tree);
}

static void test_totals_have_a_limit(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_tree_walk *walk = NULL;
    uint64_t totals[2];
    char text[64];

    (void)snprintf(text, sizeof text, "a %llu", 1ULL << 55);
    CU_ASSERT_EQUAL(tree_add_text(tree, text, CPT_WEIGHT_ONE), CPT_OK);
    walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
    CU_ASSERT_EQUAL(cpt_tree_walk_apportion(walk, 127, totals), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_walk_apportion(walk, 128, totals), CPT_OK);
    CU_ASSERT_EQUAL(totals[1], 1ULL << 62);
    CU_ASSERT_EQUAL(cpt_tree_walk_apportion(walk, 129, totals), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_tree_walk_apportion(walk, CPT_TREE_REQUESTS_MAX + 1, totals),
                    CPT_LIMIT);
    cpt_tree_walk_free(walk);
    cpt_tree_free(tree);
}

static struct cpt_tree *merged(const struct cpt_tree *left,
                               const struct cpt_tree *right)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    CU_ASSERT_EQUAL(cpt_tree_merge(tree, left), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_merge(tree, right), CPT_OK);
    return tree;
}

static void test_merging_is_associative_and_commutative_to_the_bit(void)
{
    uint64_t state = random_seed("merge");

    for (int round = 0; round < 60; round++) {
        struct cpt_tree *parts[3];
        struct cpt_tree *pairs[3];
        struct cpt_tree *wholes[3];

        for (int i = 0; i < 3; i++) {
            parts[i] = tree_random(&state, (unsigned)random_below(&state, 20));
            CU_ASSERT_EQUAL(
                cpt_tree_count_add(parts[i], "records", random_next(&state)), CPT_OK);
            CU_ASSERT_EQUAL(cpt_tree_note(parts[i], "entry", i == 2 ? "B" : "A"),
                            CPT_OK);
        }
        for (int i = 0; i < 3; i++) {
            pairs[i] = merged(parts[i], parts[(i + 1) % 3]);
            wholes[i] = round % 2 ? merged(pairs[i], parts[(i + 2) % 3])
                                  : merged(parts[(i + 2) % 3], pairs[i]);
        }
        CU_ASSERT_TRUE(tree_equal(wholes[0], wholes[1]));
        CU_ASSERT_TRUE(tree_equal(wholes[1], wholes[2]));
        CU_ASSERT_EQUAL(cpt_tree_note_count(wholes[0]), 3);
        for (int i = 0; i < 3; i++) {
            cpt_tree_free(parts[i]);
            cpt_tree_free(pairs[i]);
            cpt_tree_free(wholes[i]);
        }
    }
}

/* All requests in one tree, or distributed over several that are merged: no
 * difference. */
/* Equal requests, two kinds in turn, or each with its own weight. */
static cpt_weight weight_in(int round, int request, uint64_t *state)
{
    if (round % 3 == 0) {
        return 1000 * CPT_WEIGHT_ONE;
    }
    return round % 3 == 1 && request % 7 != 0
               ? CPT_WEIGHT_MAX
               : CPT_WEIGHT_ONE + (random_next(state) >> 20);
}

/* Sums of the longest possible times, which outgrow 64 and 128 bits at different
 * requests of each tree. */
static void test_sums_that_outgrow_their_room_are_exact(void)
{
    enum { PARTS = 3, REQUESTS = 70000 };
    struct cpt_tree *whole = cpt_tree_new(NULL, NULL);
    struct cpt_tree *sum = cpt_tree_new(NULL, NULL);
    struct cpt_tree *parts[PARTS];
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t frame = 0;
    struct cpt_stats stats;

    CU_ASSERT_EQUAL(
        cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A"), 0, &frame), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, CPT_TREE_TIME_MAX), CPT_OK);
    for (int i = 0; i < PARTS; i++) {
        parts[i] = cpt_tree_new(NULL, NULL);
    }
    for (int i = 0; i < REQUESTS; i++) {
        CU_ASSERT_EQUAL(cpt_tree_add(whole, path, CPT_WEIGHT_MAX), CPT_OK);
        CU_ASSERT_EQUAL(cpt_tree_add(parts[i % 7 % PARTS], path, CPT_WEIGHT_MAX),
                        CPT_OK);
    }
    for (int i = 0; i < PARTS; i++) {
        CU_ASSERT_EQUAL(cpt_tree_merge(sum, parts[i]), CPT_OK);
        cpt_tree_free(parts[i]);
    }
    CU_ASSERT_TRUE(tree_equal(whole, sum));
    stats = cpt_stats_of(whole, tree_node(whole, "A"));
    CU_ASSERT_EQUAL(stats.self.mean_ns, (double)CPT_TREE_TIME_MAX);
    CU_ASSERT_EQUAL(stats.inclusive.error_ns, 0);
    CU_ASSERT_EQUAL(stats.present_count, REQUESTS);
    CU_ASSERT_EQUAL(stats.presence, 1);
    cpt_tree_free(whole);
    cpt_tree_free(sum);
    cpt_path_free(path);
}

static void test_dealing_requests_out_makes_no_difference(void)
{
    uint64_t state = random_seed("dealing");
    struct cpt_path *path = cpt_path_new(NULL);

    for (int round = 0; round < 60; round++) {
        struct cpt_tree *whole = cpt_tree_new(NULL, NULL);
        struct cpt_tree *parts[4];
        struct cpt_tree *sum = cpt_tree_new(NULL, NULL);

        for (int i = 0; i < 4; i++) {
            parts[i] = cpt_tree_new(NULL, NULL);
        }
        for (int i = 0; i < 50; i++) {
            const cpt_weight weight = weight_in(round, i, &state);
            struct cpt_tree *part = parts[random_below(&state, 4)];

            path_random(path, &state, 8, CPT_TREE_TIME_MAX / 16);
            CU_ASSERT_EQUAL(cpt_tree_add(whole, path, weight), CPT_OK);
            CU_ASSERT_EQUAL(cpt_tree_add(part, path, weight), CPT_OK);
        }
        for (int i = 4; i-- > 0;) {
            CU_ASSERT_EQUAL(cpt_tree_merge(sum, parts[i]), CPT_OK);
            cpt_tree_free(parts[i]);
        }
        CU_ASSERT_TRUE(tree_equal(whole, sum));
        cpt_tree_free(whole);
        cpt_tree_free(sum);
    }
    cpt_path_free(path);
}

static void test_weights_and_times_have_limits(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    char text[64];

    CU_ASSERT_EQUAL(tree_add_text(tree, "a 1", CPT_WEIGHT_ONE - 1), CPT_INVALID);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 1", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 1", CPT_WEIGHT_MAX), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a 1", CPT_WEIGHT_MAX + 1), CPT_INVALID);
    (void)snprintf(text, sizeof text, "a %llu",
                   (unsigned long long)CPT_TREE_TIME_MAX - 1);
    CU_ASSERT_EQUAL(tree_add_text(tree, text, CPT_WEIGHT_MAX), CPT_OK);
    (void)snprintf(text, sizeof text, "a %llu", (unsigned long long)CPT_TREE_TIME_MAX);
    CU_ASSERT_EQUAL(tree_add_text(tree, text, CPT_WEIGHT_MAX), CPT_OK);
    (void)snprintf(text, sizeof text, "b %llu",
                   (unsigned long long)CPT_TREE_TIME_MAX + 1);
    CU_ASSERT_EQUAL(tree_add_text(tree, text, CPT_WEIGHT_ONE), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_tree_request_count(tree), 4);
    CU_ASSERT_EQUAL(cpt_tree_node_count(tree), 2);
    cpt_tree_free(tree);
}

static void test_a_full_tree_refuses_and_stays_as_it_is(void)
{
    const struct cpt_tree_options three = {.struct_bytes = sizeof three,
                                           .nodes_max = 3};
    const struct cpt_tree_options many = {.struct_bytes = sizeof many,
                                          .nodes_max = CPT_TREE_NODES_MAX + 1};
    struct cpt_tree *tree = cpt_tree_new(NULL, &three);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);
    struct cpt_tree *before = cpt_tree_new(NULL, NULL);

    CU_ASSERT_PTR_NULL(cpt_tree_new(NULL, &many));
    CU_ASSERT_EQUAL(tree_add_text(tree, "a;b 1", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(other, "a;c 1, a;d 1", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_merge(before, tree), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a;c 1, a;d 1", CPT_WEIGHT_ONE), CPT_LIMIT);
    CU_ASSERT_TRUE(tree_equal(tree, before));
    CU_ASSERT_EQUAL(cpt_tree_merge(tree, other), CPT_LIMIT);
    CU_ASSERT_TRUE(tree_equal(tree, before));
    CU_ASSERT_EQUAL(tree_add_text(tree, "a;c 1", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(tree, "a;d 1", CPT_WEIGHT_ONE), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_tree_node_count(tree), 4);
    cpt_tree_free(tree);
    cpt_tree_free(other);
    cpt_tree_free(before);
}

static void test_a_stack_may_be_as_deep_as_a_path(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    char *text = cpt_alloc_array(NULL, NULL, CPT_TREE_DEPTH_MAX * 3, 1);
    uint32_t frame = CPT_FRAME_NONE;
    char name[2] = "a";

    for (int i = 0; i < CPT_PATH_DEPTH_MAX + 5; i++) {
        name[0] = (char)('a' + i % 26);
        CU_ASSERT_EQUAL(cpt_path_frame_add(path, frame, cpt_bytes_of(name), 0, &frame),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 5), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_add(tree, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_node_count(tree), CPT_TREE_DEPTH_MAX + 1);
    CU_ASSERT_EQUAL(cpt_tree_stack_text(tree, CPT_TREE_DEPTH_MAX, text, 9), 2047);
    CU_ASSERT_STRING_EQUAL(text, "a;b;c;d;");
    CU_ASSERT_EQUAL(cpt_tree_stack_text(tree, CPT_TREE_DEPTH_MAX, NULL, 0), 2047);
    CU_ASSERT_EQUAL(
        cpt_tree_stack_text(tree, CPT_TREE_DEPTH_MAX, text, CPT_TREE_DEPTH_MAX * 3),
        2047);
    CU_ASSERT_EQUAL(strlen(text), 2047);
    cpt_alloc_free(NULL, text);
    cpt_path_free(path);
    cpt_tree_free(tree);
}

static void test_kinds_are_frames_of_their_own(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    const char *stack = "B: x;B: \xe2\x80\xb9"
                        "blind spot\xe2\x80\xba";
    uint32_t node = 0;
    char text[64];

    CU_ASSERT_EQUAL(
        tree_add_text(tree, "A 3, B:x;#4 5, A;#1 2, A;#2 2", CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_node_count(tree), 6);
    cpt_tree_free(tree);

    tree = cpt_tree_new(NULL, NULL);
    {
        struct cpt_path *path = cpt_path_new(NULL);
        uint32_t frame = 0;

        CU_ASSERT_EQUAL(
            cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: x"), 0, &frame),
            CPT_OK);
        CU_ASSERT_EQUAL(cpt_path_frame_add(path, frame, cpt_bytes_of(""),
                                           CPT_KIND_BLIND_SPOT, &frame),
                        CPT_OK);
        CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 5), CPT_OK);
        CU_ASSERT_EQUAL(cpt_tree_add(tree, path, CPT_WEIGHT_ONE), CPT_OK);
        cpt_path_free(path);
    }
    node = tree_node(tree, stack);
    CU_ASSERT_NOT_EQUAL_FATAL(node, CPT_TREE_NONE);
    CU_ASSERT_EQUAL(cpt_tree_kind(tree, node), CPT_KIND_BLIND_SPOT);
    CU_ASSERT_EQUAL(cpt_tree_depth(tree, node), 2);
    CU_ASSERT_TRUE(cpt_bytes_equal(cpt_tree_service(tree, node), cpt_bytes_of("B")));
    (void)cpt_tree_frame_text(tree, node, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, stack + 5);
    CU_ASSERT_EQUAL(cpt_tree_frame_text(tree, CPT_TREE_ROOT, text, sizeof text), 0);
    cpt_tree_free(tree);
}

static void test_the_largest_frame_text_fits(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    char name[CPT_NAME_BYTES_MAX];
    uint32_t frame = 0;

    memset(name, '\n', sizeof name);
    memcpy(name + 253, ": ", 2);
    CU_ASSERT_EQUAL(cpt_path_frame_add(path, CPT_FRAME_NONE,
                                       (struct cpt_bytes){name, sizeof name}, 0,
                                       &frame),
                    CPT_OK);
    memset(name, '\n', sizeof name);
    CU_ASSERT_EQUAL(cpt_path_frame_add(path, frame,
                                       (struct cpt_bytes){name, sizeof name},
                                       CPT_KIND_NETWORK, &frame),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 5), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_add(tree, path, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_TRUE(cpt_tree_frame_text(tree, 2, NULL, 0) > 2000);
    CU_ASSERT_TRUE(cpt_tree_frame_text(tree, 2, NULL, 0) < CPT_TREE_FRAME_TEXT_BYTES);
    cpt_path_free(path);
    cpt_tree_free(tree);
}

static void test_stacks_are_ordered_frame_by_frame(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);
    struct cpt_tree_walk *walk = NULL;

    CU_ASSERT_EQUAL(tree_add_text(tree, "b;c 1, a!;z 1, a;#1 1, a;z 1, a 1, a;#2 1",
                                  CPT_WEIGHT_ONE),
                    CPT_OK);
    CU_ASSERT_EQUAL(tree_add_text(other, "a;z 1", CPT_WEIGHT_ONE), CPT_OK);
    walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
    for (uint32_t i = 0; i < cpt_tree_walk_count(walk); i++) {
        for (uint32_t j = 0; j < cpt_tree_walk_count(walk); j++) {
            const int order =
                cpt_tree_stack_compare(tree, cpt_tree_walk_row(walk, i)->node, tree,
                                       cpt_tree_walk_row(walk, j)->node);

            CU_ASSERT_EQUAL((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
    CU_ASSERT_EQUAL(cpt_tree_stack_compare(tree, tree_node(tree, "a;z"), other,
                                           tree_node(other, "a;z")),
                    0);
    cpt_tree_walk_free(walk);
    cpt_tree_free(tree);
    cpt_tree_free(other);
}

static void test_notes_are_a_sorted_set_and_counts_are_sums(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    CU_ASSERT_EQUAL(cpt_tree_note(tree, "where", "b=2"), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_note(tree, "where", "a=1"), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_note(tree, "where", "b=2"), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_note(tree, "entry", "A"), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_count_add(tree, "skipped", 3), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_count_add(tree, "skipped", 4), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_count_add(tree, "where", UINT64_MAX), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_count_add(tree, "where", 1), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_tree_note_count(tree), 5);
    CU_ASSERT_STRING_EQUAL(cpt_tree_note_at(tree, 0).key, "entry");
    CU_ASSERT_EQUAL(cpt_tree_note_at(tree, 1).count, 7);
    CU_ASSERT_PTR_NULL(cpt_tree_note_at(tree, 1).value);
    CU_ASSERT_EQUAL(cpt_tree_note_at(tree, 2).count, UINT64_MAX);
    CU_ASSERT_STRING_EQUAL(cpt_tree_note_at(tree, 3).value, "a=1");
    CU_ASSERT_STRING_EQUAL(cpt_tree_note_at(tree, 4).value, "b=2");
    CU_ASSERT_STRING_EQUAL(cpt_tree_note_find(tree, "where"), "a=1");
    CU_ASSERT_PTR_NULL(cpt_tree_note_find(tree, "skipped"));
    CU_ASSERT_EQUAL(cpt_tree_count_find(tree, "skipped"), 7);
    CU_ASSERT_EQUAL(cpt_tree_count_find(tree, "entry"), 0);
    cpt_tree_free(tree);
}

static void test_notes_have_limits(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    char text[CPT_TREE_NOTE_VALUE_BYTES_MAX + 2];

    memset(text, 'x', sizeof text);
    text[CPT_TREE_NOTE_KEY_BYTES_MAX + 1] = '\0';
    CU_ASSERT_EQUAL(cpt_tree_note(tree, text, ""), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_tree_note(tree, text + 1, ""), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_note(tree, text + 2, ""), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_count_add(tree, "", 1), CPT_LIMIT);
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    CU_ASSERT_EQUAL(cpt_tree_note(tree, "k", text), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_tree_note(tree, "k", text + 1), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_note(tree, "k", text + 2), CPT_OK);
    for (unsigned i = 5; i < CPT_TREE_NOTES_MAX; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        CU_ASSERT_EQUAL(cpt_tree_note(tree, "n", text), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpt_tree_note(tree, "n", "last"), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_note(tree, "n", "too many"), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_tree_note(tree, "n", "last"), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_note_count(tree), CPT_TREE_NOTES_MAX);
    cpt_tree_free(tree);
}

static void test_the_window_holds_all_that_was_said(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_tree *other = cpt_tree_new(NULL, NULL);

    cpt_tree_time_add(tree, 50);
    CU_ASSERT_EQUAL(cpt_tree_merge(tree, other), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_time_first_ns(tree), 50);
    cpt_tree_time_add(other, 70);
    cpt_tree_time_add(other, 30);
    CU_ASSERT_EQUAL(cpt_tree_merge(tree, other), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_time_first_ns(tree), 30);
    CU_ASSERT_EQUAL(cpt_tree_time_last_ns(tree), 70);
    cpt_tree_free(tree);
    cpt_tree_free(other);
}

/* Adds, merges, walks; a refused allocation leaves the tree as it was. */
static bool build(const struct cpt_alloc *alloc)
{
    struct cpt_tree *other = tree_random(&(uint64_t){5}, 6);
    struct cpt_path *path = path_of("A;A1 5, A;A1;A2 20, A;#4 3");
    struct cpt_tree *tree = cpt_tree_new(alloc, NULL);
    struct cpt_tree_walk *walk = NULL;
    bool is_done = false;

    if (tree != NULL) {
        is_done = cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK &&
                  cpt_tree_note(tree, "entry", "A") == CPT_OK &&
                  cpt_tree_count_add(tree, "records", 1) == CPT_OK;
    }
    if (is_done) {
        is_done = cpt_tree_merge(tree, other) == CPT_OK;
        CU_ASSERT_EQUAL(cpt_tree_request_count(tree), is_done ? 7 : 1);
        CU_ASSERT_EQUAL(cpt_tree_node_count(tree) > 5, is_done);
        CU_ASSERT_STRING_EQUAL(cpt_tree_note_find(tree, "entry"), "A");
    }
    if (is_done) {
        walk = cpt_tree_walk_new(alloc, tree, CPT_TREE_BY_TIME);
        is_done = walk != NULL;
    }
    cpt_tree_walk_free(walk);
    cpt_tree_free(tree);
    cpt_tree_free(other);
    cpt_path_free(path);
    return is_done;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(build);
}

extern CU_TestInfo cpt_tree_tests[];
CU_TestInfo cpt_tree_tests[] = {
    {"the average of two requests", test_the_average_of_two_requests},
    {"5 ms always is not 500 ms in one of a hundred",
     test_always_5_ms_is_not_500_ms_in_one_of_a_hundred},
    {"weights are one over the probability", test_weights_are_one_over_the_probability},
    {"a weight counts as that many requests", test_a_weight_counts_as_so_many_requests},
    {"every statistic is that of the table of requests",
     test_every_statistic_is_that_of_the_table_of_requests},
    {"rounded averages add up to the mean", test_rounded_averages_add_up_to_the_mean},
    {"ties in rounding go to the stack that comes first",
     test_ties_in_rounding_go_to_the_stack_that_comes_first},
    {"apportioned totals are what was measured",
     test_apportioned_totals_are_what_was_measured},
    {"totals have a limit", test_totals_have_a_limit},
    {"merging is associative and commutative to the bit",
     test_merging_is_associative_and_commutative_to_the_bit},
    {"distributing requests makes no difference",
     test_dealing_requests_out_makes_no_difference},
    {"sums that outgrow their room are exact",
     test_sums_that_outgrow_their_room_are_exact},
    {"weights and times have limits", test_weights_and_times_have_limits},
    {"a full tree refuses and stays as it is",
     test_a_full_tree_refuses_and_stays_as_it_is},
    {"a stack may be as deep as a path", test_a_stack_may_be_as_deep_as_a_path},
    {"each kind has its own frame", test_kinds_are_frames_of_their_own},
    {"the largest frame text fits", test_the_largest_frame_text_fits},
    {"stacks are ordered frame by frame", test_stacks_are_ordered_frame_by_frame},
    {"notes are a sorted set and counts are sums",
     test_notes_are_a_sorted_set_and_counts_are_sums},
    {"notes have limits", test_notes_have_limits},
    {"the window covers all requests", test_the_window_holds_all_that_was_said},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
