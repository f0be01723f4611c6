/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_strata.c - the shares of strata, and what their change adds to the mean */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_diff.h"

static struct cpt_tree *tree_of_requests(const char *text, unsigned count,
                                         cpt_weight weight)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    MUST(tree != NULL);
    while (count-- > 0) {
        CU_ASSERT_EQUAL(tree_add_text(tree, text, weight), CPT_OK);
    }
    return tree;
}

/* Requests count by their weights; a stratum of one sample alone is left out. */
static void test_shares_are_those_of_the_base(void)
{
    struct cpt_tree *fast = tree_of_requests("A 10", 6, CPT_WEIGHT_ONE);
    struct cpt_tree *slow = tree_of_requests("A 90", 2, 10 * CPT_WEIGHT_ONE);
    struct cpt_tree *empty = cpt_tree_new(NULL, NULL);
    struct cpt_diff_stratum strata[4] = {{.base = fast, .new_tree = empty},
                                         {.base = fast, .new_tree = slow},
                                         {.base = empty, .new_tree = fast},
                                         {.base = slow, .new_tree = fast}};

    CU_ASSERT_EQUAL(cpt_diff_strata_share(strata, 4), 2);
    CU_ASSERT_PTR_EQUAL(strata[0].new_tree, slow);
    CU_ASSERT_DOUBLE_EQUAL(strata[0].share, 6.0 / 26, 1e-12);
    CU_ASSERT_PTR_EQUAL(strata[1].base, slow);
    CU_ASSERT_DOUBLE_EQUAL(strata[1].share, 20.0 / 26, 1e-12);
    strata[1].base = empty;
    CU_ASSERT_EQUAL(cpt_diff_strata_share(strata + 1, 1), 0);
    CU_ASSERT_EQUAL(cpt_diff_strata_share(strata, 0), 0);
    cpt_tree_free(fast);
    cpt_tree_free(slow);
    cpt_tree_free(empty);
}

/* Kitagawa's decomposition, by hand: Δ = Σ share_base · Δmean + Σ mean_new · Δshare. */
static void test_the_mix_is_what_equal_shares_leave(void)
{
    struct cpt_tree *trees[4] = {tree_of_requests("A 10", 8, CPT_WEIGHT_ONE),
                                 tree_of_requests("A 100", 2, CPT_WEIGHT_ONE),
                                 tree_of_requests("A 12", 3, CPT_WEIGHT_ONE),
                                 tree_of_requests("A 105", 7, CPT_WEIGHT_ONE)};
    struct cpt_diff_stratum strata[2] = {{.base = trees[0], .new_tree = trees[2]},
                                         {.base = trees[1], .new_tree = trees[3]}};
    const size_t count = cpt_diff_strata_share(strata, 2);
    struct cpt_diff *diff = NULL;

    CU_ASSERT_EQUAL(cpt_diff_new_strata(NULL, strata, count, NULL, &diff, NULL),
                    CPT_OK);
    CU_ASSERT_DOUBLE_EQUAL(cpt_diff_total(diff)->inclusive.delta_ns, 0.8 * 2 + 0.2 * 5,
                           1e-9);
    CU_ASSERT_EQUAL(cpt_tree_merge(trees[0], trees[1]), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_merge(trees[2], trees[3]), CPT_OK);
    CU_ASSERT_DOUBLE_EQUAL(cpt_diff_mix_ns(diff, trees[0], trees[2]),
                           12 * (0.3 - 0.8) + 105 * (0.7 - 0.2), 1e-9);
    cpt_diff_free(diff);
    for (int i = 0; i < 4; i++) {
        cpt_tree_free(trees[i]);
    }
}

extern CU_TestInfo cpt_strata_tests[];
CU_TestInfo cpt_strata_tests[] = {
    {"shares are those of the base", test_shares_are_those_of_the_base},
    {"the mix is what equal shares leave", test_the_mix_is_what_equal_shares_leave},
    CU_TEST_INFO_NULL,
};
