/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_shape.c - adding by shape equals adding the path, also after shapes were
 * evicted */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

enum { FRAMES_MAX = 64 };

/* The self time of each frame of @path. */
static void self_times(const struct cpt_path *path, uint64_t *self_ns)
{
    memset(self_ns, 0, FRAMES_MAX * sizeof *self_ns);
    MUST(cpt_path_frame_count(path) <= FRAMES_MAX);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        self_ns[segment->frame] += segment->duration_ns;
    }
}

static cpt_status add_by_shape(struct cpt_tree *tree, uint64_t shape,
                               const struct cpt_path *path, cpt_weight weight)
{
    uint64_t self_ns[FRAMES_MAX];
    cpt_status status = CPT_OK;

    self_times(path, self_ns);
    if (!cpt_tree_shape_is_kept(tree, shape)) {
        status = cpt_tree_shape_keep(tree, shape, path);
    }
    return status == CPT_OK ? cpt_tree_shape_add(tree, shape, self_ns, weight) : status;
}

/* Each path comes several times, with different times and weights, some of them 0. Some
 * numbers of shapes collide in the tree's table. */
static void test_adding_by_shape_is_adding_the_path(void)
{
    uint64_t state = random_seed("shapes");
    struct cpt_path *paths[20];

    for (int round = 0; round < 50; round++) {
        struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL),
                                     cpt_tree_new(NULL, NULL)};

        for (size_t i = 0; i < 20; i++) {
            paths[i] = cpt_path_new(NULL);
            path_random(paths[i], &state, 8, 1000000);
        }
        for (int i = 0; i < 200; i++) {
            const size_t at = random_below(&state, 20);
            const cpt_weight weight = CPT_WEIGHT_ONE << random_below(&state, 2);
            struct cpt_path *path = cpt_path_new(NULL);

            for (uint32_t k = 0; k < cpt_path_frame_count(paths[at]); k++) {
                const struct cpt_frame *frame = cpt_path_frame(paths[at], k);
                uint32_t same = 0;

                MUST(cpt_path_frame_add(path, frame->parent,
                                        cpt_path_frame_name(paths[at], k), frame->kind,
                                        &same) == CPT_OK &&
                     same == k);
                if (random_below(&state, 3) != 0) {
                    MUST(cpt_path_append_ns(path, k, random_ns(&state, 1000000)) ==
                         CPT_OK);
                }
            }
            CU_ASSERT_EQUAL(cpt_tree_add(trees[0], path, weight), CPT_OK);
            CU_ASSERT_EQUAL(
                add_by_shape(trees[1], at % 7 * 4096 + at / 3, path, weight), CPT_OK);
            CU_ASSERT_EQUAL(cpt_tree_shape_is_kept(trees[1], at % 7 * 4096 + at / 3),
                            1);
            cpt_path_free(path);
        }
        CU_ASSERT_TRUE(tree_equal(trees[0], trees[1]));
        for (size_t i = 0; i < 20; i++) {
            cpt_path_free(paths[i]);
        }
        cpt_tree_free(trees[0]);
        cpt_tree_free(trees[1]);
    }
}

static void test_what_is_refused_leaves_no_trace(void)
{
    const struct cpt_tree_options options = {.struct_bytes = sizeof options,
                                             .nodes_max = 3};
    struct cpt_tree *tree = cpt_tree_new(NULL, &options);
    struct cpt_path *path = path_of("A 1, A;B 2, A;B;C 3, A;B;D 4");
    uint64_t self_ns[FRAMES_MAX];

    self_times(path, self_ns);
    CU_ASSERT_FALSE(cpt_tree_shape_is_kept(tree, 9));
    CU_ASSERT_EQUAL(cpt_tree_shape_keep(tree, 9, path), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_shape_add(tree, 9, self_ns, CPT_WEIGHT_ONE), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_tree_node_count(tree), 1);
    CU_ASSERT_EQUAL(cpt_tree_request_count(tree), 0);
    self_ns[3] = 0; /* a frame without time makes no node */
    CU_ASSERT_EQUAL(cpt_tree_shape_add(tree, 9, self_ns, 0), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_tree_shape_add(tree, 9, self_ns, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_node_count(tree), 4);
    self_ns[2] = CPT_TREE_TIME_MAX - 2;
    CU_ASSERT_EQUAL(cpt_tree_shape_add(tree, 9, self_ns, CPT_WEIGHT_ONE), CPT_LIMIT);
    self_ns[2] = CPT_TREE_TIME_MAX - 3;
    CU_ASSERT_EQUAL(cpt_tree_shape_add(tree, 9, self_ns, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_request_count(tree), 2);
    cpt_path_free(path);
    cpt_tree_free(tree);
}

/* Shapes with enough frames that the tree must evict some. */
static void test_too_many_are_forgotten(void)
{
    enum { FRAMES = 100000, SHAPES = 22 };
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    size_t kept_count = 0;
    uint32_t frame = 0;

    for (uint32_t i = 0; i < FRAMES; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "%u", (unsigned)i);
        MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of(name), 0, &frame) ==
             CPT_OK);
    }
    for (uint64_t i = 0; i < SHAPES; i++) {
        CU_ASSERT_EQUAL(cpt_tree_shape_keep(tree, i, path), CPT_OK);
        CU_ASSERT_TRUE(cpt_tree_shape_is_kept(tree, i));
    }
    for (uint64_t i = 0; i < SHAPES; i++) {
        kept_count += cpt_tree_shape_is_kept(tree, i) != 0;
    }
    CU_ASSERT_EQUAL(kept_count, SHAPES - (1 << 21) / FRAMES);
    cpt_path_free(path);
    cpt_tree_free(tree);
}

static bool add_some(const struct cpt_alloc *alloc)
{
    static const char *const texts[] = {"A 1, A;B 2", "A 5, A;C 9, A;C;D 1", "E 7"};
    struct cpt_tree *tree = cpt_tree_new(alloc, NULL);
    bool is_done = tree != NULL;

    for (size_t i = 0; i < 12 && is_done; i++) {
        struct cpt_path *path = path_of(texts[i % 3]);
        const uint64_t count = cpt_tree_request_count(tree);

        is_done =
            add_by_shape(tree, i % 3, path, (1 + i / 4) * CPT_WEIGHT_ONE) == CPT_OK;
        CU_ASSERT_EQUAL(cpt_tree_request_count(tree), count + is_done);
        cpt_path_free(path);
    }
    cpt_tree_free(tree);
    return is_done;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(add_some);
}

extern CU_TestInfo cpt_shape_tests[];
CU_TestInfo cpt_shape_tests[] = {
    {"adding by shape equals adding the path", test_adding_by_shape_is_adding_the_path},
    {"a refused path changes nothing", test_what_is_refused_leaves_no_trace},
    {"too many shapes are evicted", test_too_many_are_forgotten},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
