/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_group.c - groups give the same tree as their requests one by one */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_stats.h"

#include <math.h>

__extension__ typedef unsigned __int128 wide;

enum { FRAMES_MAX = 64 };

/* @count times @x and its square. */
static struct cpt_tree_group_sums sums_of(uint64_t x, uint64_t count)
{
    const wide sum = (wide)x * count;
    const wide square = (wide)x * x;
    const wide low = (wide)(uint64_t)square * count;
    const wide high = (square >> 64) * count + (low >> 64);

    return (struct cpt_tree_group_sums){
        {(uint64_t)sum, (uint64_t)(sum >> 64)},
        {(uint64_t)low, (uint64_t)high, (uint64_t)(high >> 64)}};
}

/* @count times the cube of @x. */
static void put_cubes(uint64_t cubes[4], uint64_t x, uint64_t count)
{
    const wide square = (wide)x * x;
    const wide low = (wide)(uint64_t)square * x;
    const wide high = (square >> 64) * x + (low >> 64);
    const uint64_t cube[3] = {(uint64_t)low, (uint64_t)high, (uint64_t)(high >> 64)};
    wide carry = 0;

    for (int i = 0; i < 4; i++) {
        carry += i < 3 ? (wide)cube[i] * count : 0;
        cubes[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static cpt_status add_group(struct cpt_tree *tree, uint32_t node, cpt_weight weight,
                            uint64_t count, uint64_t self_ns, uint64_t inclusive_ns)
{
    struct cpt_tree_group group = {
        .weight = weight,
        .count = count,
        .min_ns = inclusive_ns,
        .max_ns = inclusive_ns,
        .self = sums_of(self_ns, count),
        .inclusive = sums_of(inclusive_ns, count),
    };

    put_cubes(group.self_cubes, self_ns, count);
    put_cubes(group.inclusive_cubes, inclusive_ns, count);
    return cpt_tree_group_add(tree, node, &group);
}

/* @path, @count times, as groups. */
static void add_path(struct cpt_tree *tree, const struct cpt_path *path,
                     cpt_weight weight, uint64_t count)
{
    uint64_t self[FRAMES_MAX] = {0};
    uint64_t inclusive[FRAMES_MAX] = {0};
    uint32_t nodes[FRAMES_MAX];
    const size_t frame_count = cpt_path_frame_count(path);

    MUST(frame_count <= FRAMES_MAX);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        for (uint32_t at = segment->frame; at != CPT_FRAME_NONE;
             at = cpt_path_frame(path, at)->parent) {
            inclusive[at] += segment->duration_ns;
        }
        self[segment->frame] += segment->duration_ns;
    }
    MUST(add_group(tree, CPT_TREE_ROOT, weight, count, 0, cpt_path_sum_ns(path)) ==
         CPT_OK);
    for (uint32_t i = 0; i < frame_count; i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, i);
        const uint32_t parent =
            frame->parent == CPT_FRAME_NONE ? CPT_TREE_ROOT : nodes[frame->parent];

        if (inclusive[i] != 0) {
            MUST(cpt_tree_node_add(tree, parent, cpt_path_frame_name(path, i),
                                   frame->kind, &nodes[i]) == CPT_OK);
            MUST(add_group(tree, nodes[i], weight, count, self[i], inclusive[i]) ==
                 CPT_OK);
        }
    }
}

static void test_groups_make_the_tree_of_their_requests(void)
{
    static const double probabilities[] = {1, 0.5, 0.3, 0.001, 1.0 / (1 << 28)};
    uint64_t state = random_seed("groups");
    struct cpt_path *path = cpt_path_new(NULL);

    for (int round = 0; round < 50; round++) {
        struct cpt_tree *by_request = cpt_tree_new(NULL, NULL);
        struct cpt_tree *by_group = cpt_tree_new(NULL, NULL);

        for (int i = 0; i < 20; i++) {
            const cpt_weight weight =
                cpt_weight_of_probability(probabilities[random_below(&state, 5)]);
            const uint64_t count = random_below(&state, 5) + 1;

            path_random(path, &state, 12, UINT64_C(1) << 52);
            add_path(by_group, path, weight, count);
            for (uint64_t k = 0; k < count; k++) {
                MUST(cpt_tree_add(by_request, path, weight) == CPT_OK);
            }
        }
        CU_ASSERT_TRUE(tree_equal(by_request, by_group));
        cpt_tree_free(by_request);
        cpt_tree_free(by_group);
    }
    cpt_path_free(path);
}

static void test_a_group_that_contradicts_itself_is_refused(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    const struct cpt_tree_group sound = {.weight = CPT_WEIGHT_ONE,
                                         .count = 2,
                                         .min_ns = 1024,
                                         .max_ns = 1031,
                                         .inclusive = sums_of(1024, 2)};
    struct cpt_tree_group group = sound;

    CU_ASSERT_EQUAL(cpt_tree_group_add(tree, 0, &group), CPT_OK);
    group.max_ns = 1032; /* the next bucket */
    CU_ASSERT_EQUAL(cpt_tree_bucket(1024), cpt_tree_bucket(1031));
    CU_ASSERT_NOT_EQUAL(cpt_tree_bucket(1024), cpt_tree_bucket(1032));
    CU_ASSERT_EQUAL(cpt_tree_group_add(tree, 0, &group), CPT_INVALID);
    group = sound;
    group.max_ns = 1023;
    CU_ASSERT_EQUAL(cpt_tree_group_add(tree, 0, &group), CPT_INVALID);
    group = sound;
    group.count = 0;
    CU_ASSERT_EQUAL(cpt_tree_group_add(tree, 0, &group), CPT_INVALID);
    group = sound;
    group.weight = CPT_WEIGHT_ONE - 1;
    CU_ASSERT_EQUAL(cpt_tree_group_add(tree, 0, &group), CPT_INVALID);
    group.weight = CPT_WEIGHT_MAX + 1;
    CU_ASSERT_EQUAL(cpt_tree_group_add(tree, 0, &group), CPT_INVALID);
    group = sound;
    group.self.sum[1] = UINT64_C(1) << 40;
    CU_ASSERT_EQUAL(cpt_tree_group_add(tree, 0, &group), CPT_INVALID);
    group = sound;
    group.self.squares[2] = UINT64_C(1) << 32;
    CU_ASSERT_EQUAL(cpt_tree_group_add(tree, 0, &group), CPT_INVALID);
    group = sound;
    group.inclusive_cubes[3] = UINT64_C(1) << 24;
    CU_ASSERT_EQUAL(cpt_tree_group_add(tree, 0, &group), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_tree_request_count(tree), 2);
    cpt_tree_free(tree);
}

/* A caller that was written before cubes leaves them 0: means and errors are the same,
 * the skewness is unknown. */
static void test_groups_without_cubes_have_no_skewness(void)
{
    struct cpt_tree *with = cpt_tree_new(NULL, NULL);
    struct cpt_tree *without = cpt_tree_new(NULL, NULL);
    struct cpt_stats left;
    struct cpt_stats right;

    for (uint64_t x = 0; x < 9; x++) {
        const struct cpt_tree_group group = {.weight = CPT_WEIGHT_ONE,
                                             .count = 2,
                                             .min_ns = x,
                                             .max_ns = x,
                                             .inclusive = sums_of(x, 2)};

        CU_ASSERT_EQUAL(cpt_tree_group_add(without, 0, &group), CPT_OK);
        CU_ASSERT_EQUAL(add_group(with, 0, CPT_WEIGHT_ONE, 2, 0, x), CPT_OK);
        left = cpt_stats_of(without, 0);
        CU_ASSERT_EQUAL(isnan(left.inclusive.skewness) != 0, x != 0);
    }
    right = cpt_stats_of(with, 0);
    CU_ASSERT_EQUAL(left.inclusive.error_ns, right.inclusive.error_ns);
    CU_ASSERT_EQUAL(right.inclusive.skewness, 0); /* 0 to 8 are symmetric */
    cpt_tree_free(with);
    cpt_tree_free(without);
}

static void test_limits_of_groups(void)
{
    static const char name[CPT_NAME_BYTES_MAX + 1] = {0};
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    uint32_t node;

    CU_ASSERT_EQUAL(add_group(tree, 0, CPT_WEIGHT_ONE, CPT_TREE_REQUESTS_MAX, 0, 1),
                    CPT_OK);
    CU_ASSERT_EQUAL(add_group(tree, 0, CPT_WEIGHT_ONE, 1, 0, 1), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_tree_node_add(tree, 0,
                                      (struct cpt_bytes){name, CPT_NAME_BYTES_MAX}, 0,
                                      &node),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_node_add(tree, 0,
                                      (struct cpt_bytes){name, CPT_NAME_BYTES_MAX + 1},
                                      0, &node),
                    CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_tree_node_add(tree, 0, cpt_bytes_of("A"), 65536, &node),
                    CPT_INVALID);
    CU_ASSERT_EQUAL(add_group(tree, node, CPT_WEIGHT_ONE, 1, 0, CPT_TREE_TIME_MAX),
                    CPT_OK);
    CU_ASSERT_EQUAL(add_group(tree, node, CPT_WEIGHT_ONE, 1, 0, CPT_TREE_TIME_MAX + 1),
                    CPT_INVALID);
    cpt_tree_free(tree);
}

/* As many requests as a tree can have, of the longest time and two weights: no sum
 * overflows. Of two values with shares p and 1 - p of the requests, the skewness is
 * known: (1 - 2p) / √(p (1 - p)) of one request of equal weight. */
static void test_the_largest_sums_have_a_skewness(void)
{
    const uint64_t half = CPT_TREE_REQUESTS_MAX / 2;
    const double n = 2 * (double)half;

    for (int round = 0; round < 2; round++) {
        struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
        struct cpt_tree *decoded = NULL;
        const uint64_t many = round == 0 ? half : half / 2 * 3;
        const double p = (double)many / n;
        void *bytes = NULL;
        size_t count = 0;
        struct cpt_stats stats;

        CU_ASSERT_EQUAL(add_group(tree, 0, CPT_WEIGHT_MAX, many, 0, CPT_TREE_TIME_MAX),
                        CPT_OK);
        CU_ASSERT_EQUAL(add_group(tree, 0, CPT_WEIGHT_MAX, 2 * half - many, 0, 0),
                        CPT_OK);
        stats = cpt_stats_of(tree, 0);
        CU_ASSERT_DOUBLE_EQUAL(stats.inclusive.skewness * sqrt(n),
                               (1 - 2 * p) / sqrt(p * (1 - p)), 1e-9);
        CU_ASSERT_EQUAL(add_group(tree, 0, CPT_WEIGHT_ONE, 1, 0, 1), CPT_OK);
        stats = cpt_stats_of(tree, 0);
        CU_ASSERT_DOUBLE_EQUAL(stats.inclusive.skewness * sqrt(n),
                               (1 - 2 * p) / sqrt(p * (1 - p)), 1e-9);
        MUST(cpt_tree_encode(NULL, tree, &bytes, &count) == CPT_OK);
        CU_ASSERT_EQUAL(cpt_tree_decode(NULL, NULL, bytes, count, &decoded, NULL),
                        CPT_OK);
        cpt_alloc_free(NULL, bytes);
        cpt_tree_free(decoded);
        cpt_tree_free(tree);
    }
}

CU_TestInfo cpt_group_tests[] = {
    {"groups make the tree of their requests",
     test_groups_make_the_tree_of_their_requests},
    {"an inconsistent group is refused",
     test_a_group_that_contradicts_itself_is_refused},
    {"groups without cubes have no skewness",
     test_groups_without_cubes_have_no_skewness},
    {"limits of groups", test_limits_of_groups},
    {"the largest sums have a skewness", test_the_largest_sums_have_a_skewness},
    CU_TEST_INFO_NULL,
};
