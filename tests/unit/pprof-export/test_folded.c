/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_folded.c - folded stacks: one line for each stack, and they add up */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"
#include "tests/unit/pprof-export/sinks.h"

static void test_lines_are_stacks_in_order(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};

    MUST(tree_add_text(tree, "A1 5, A1;A2 20, A1 5", CPT_WEIGHT_ONE) == CPT_OK);
    MUST(tree_add_text(tree, "A1 5, A1;B1 30, A1 5, E;x 1", CPT_WEIGHT_ONE) == CPT_OK);
    CU_ASSERT_EQUAL(cpt_folded_write(NULL, tree, &sink, NULL), CPT_OK);
    /* the mean 35.5 is rounded up, and the last stack lost most */
    CU_ASSERT_STRING_EQUAL((const char *)kept.data,
                           "A1 10\nA1;A2 10\nA1;B1 15\nE;x 1\n");
    free(kept.data);
    cpt_tree_free(tree);
}

static void test_no_name_breaks_a_line(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};
    uint32_t frame = 0;

    MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("a;b\nc 7"), 0,
                            &frame) == CPT_OK);
    MUST(cpt_path_append_ns(path, frame, 5) == CPT_OK);
    MUST(cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK);
    CU_ASSERT_EQUAL(cpt_folded_write(NULL, tree, &sink, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL((const char *)kept.data, "a\\x3bb\\x0ac 7 5\n");
    free(kept.data);
    cpt_path_free(path);
    cpt_tree_free(tree);
}

static void test_lines_add_up_to_the_mean(void)
{
    uint64_t state = random_seed("folded");

    for (int round = 0; round < 40; round++) {
        struct cpt_tree *tree = tree_random(&state, 30);
        struct cpt_tree_walk *walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
        struct kept kept = {0};
        const struct cpt_sink sink = {keep, &kept};
        uint64_t sum = 0;

        CU_ASSERT_EQUAL(cpt_folded_write(NULL, tree, &sink, NULL), CPT_OK);
        for (char *line = strtok((char *)kept.data, "\n"); line != NULL;
             line = strtok(NULL, "\n")) {
            sum += strtoull(strrchr(line, ' ') + 1, NULL, 10);
        }
        CU_ASSERT_EQUAL(sum, cpt_tree_walk_row(walk, 0)->inclusive_ns);
        free(kept.data);
        cpt_tree_walk_free(walk);
        cpt_tree_free(tree);
    }
}

static void test_no_requests_are_refused(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_folded_write(NULL, tree, &sink, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "there are no requests to average");
    cpt_tree_free(tree);
}

static bool fold(const struct cpt_alloc *alloc)
{
    struct cpt_tree *tree = tree_random(&(uint64_t){5}, 6);
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};
    const cpt_status status = cpt_folded_write(alloc, tree, &sink, NULL);

    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    free(kept.data);
    cpt_tree_free(tree);
    return status == CPT_OK;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(fold);
}

extern CU_TestInfo cpt_folded_tests[];
CU_TestInfo cpt_folded_tests[] = {
    {"lines are stacks in order", test_lines_are_stacks_in_order},
    {"no name breaks a line", test_no_name_breaks_a_line},
    {"lines add up to the mean", test_lines_add_up_to_the_mean},
    {"an empty tree is refused", test_no_requests_are_refused},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
