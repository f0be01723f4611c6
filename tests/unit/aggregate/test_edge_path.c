/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_edge_path.c - paths by calls from service to service, and their laws */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_view.h"

/* One stack as a list of names, and the stack of edges that it becomes. */
static void check_stack(const char *const *names, size_t count, const char *expected)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *edges = cpt_path_new(NULL);
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    uint32_t frame = CPT_FRAME_NONE;

    for (size_t i = 0; i < count; i++) {
        const unsigned kind = names[i][0] == '\0' ? CPT_KIND_NETWORK : CPT_KIND_WORK;

        MUST(cpt_path_frame_add(path, frame, cpt_bytes_of(names[i]), kind, &frame) ==
             CPT_OK);
    }
    MUST(cpt_path_append_ns(path, frame, 7) == CPT_OK);
    CU_ASSERT_EQUAL(cpt_view_edge_path(NULL, path, edges), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_add(tree, edges, CPT_WEIGHT_ONE), CPT_OK);
    CU_ASSERT_NOT_EQUAL(tree_node(tree, expected), CPT_TREE_NONE);
    CU_ASSERT_EQUAL(cpt_path_sum_ns(edges), 7);
    cpt_path_free(path);
    cpt_path_free(edges);
    cpt_tree_free(tree);
}

static void test_edges_are_those_of_the_header(void)
{
    const char *const calls[] = {"A: /", "A: A1", "B: /B1", "B: B1", "C: C1"};
    const char *const network[] = {"A: /", "A: A1", "B: /B1", ""};
    const char *const recursion[] = {"A: /", "B: x", "A: /", "B: x"};
    const char *const nameless[] = {"parse", "B: x"};

    check_stack(calls, 5, "-> A;A -> B;B -> C");
    check_stack(network, 4, "-> A;A -> B");
    check_stack(recursion, 4, "-> A;A -> B;B -> A;A -> B");
    check_stack(nameless, 2, "-> (none);(none) -> B");
}

/* Time is conserved, and a second path made
 * in the same place has nothing of the first one. */
static void test_random_paths_keep_their_times(void)
{
    uint64_t state = random_seed("edges");
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *edges = cpt_path_new(NULL);

    for (int i = 0; i < 300; i++) {
        path_random(path, &state, 30, 1000000);
        CU_ASSERT_EQUAL(cpt_view_edge_path(NULL, path, edges), CPT_OK);
        CU_ASSERT_EQUAL(cpt_path_sum_ns(edges), cpt_path_sum_ns(path));
        CU_ASSERT_EQUAL(cpt_path_check(edges, cpt_path_sum_ns(path), NULL), CPT_OK);
        CU_ASSERT_TRUE(cpt_path_frame_count(edges) <= cpt_path_frame_count(path));
    }
    cpt_path_free(path);
    cpt_path_free(edges);
}

static bool make_edges(const struct cpt_alloc *alloc)
{
    struct cpt_path *path = path_of("A:;B:;C: 5, A:;B: 2, A: 1");
    struct cpt_path *edges = cpt_path_new(alloc);
    const cpt_status status =
        edges == NULL ? CPT_NO_MEMORY : cpt_view_edge_path(alloc, path, edges);

    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    cpt_path_free(path);
    cpt_path_free(edges);
    return status == CPT_OK;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(make_edges);
}

extern CU_TestInfo cpt_edge_path_tests[];
CU_TestInfo cpt_edge_path_tests[] = {
    {"edges are those of the header", test_edges_are_those_of_the_header},
    {"random paths keep their times", test_random_paths_keep_their_times},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
