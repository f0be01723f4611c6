/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_drag_profile.c - profiles of drags have types of their own */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"
#include "tests/unit/pprof-export/read_profile.h"
#include "tests/unit/pprof-export/sinks.h"

#include "aggregate/cpt_gain.h"

static struct kept write_profile(const struct cpt_tree *tree,
                                 const struct cpt_pprof_options *options)
{
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};

    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, options, &sink, NULL), CPT_OK);
    return kept;
}

/* A tree of three requests: two with drags, of which one has none for A;B. */
static struct cpt_tree *tree_of_drags(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *first = path_of("A;b 50, A 10, A;b 40");
    struct cpt_path *second = path_of("A;b 20, A;c 30");
    struct cpt_path *third = path_of("A;d 90");

    MUST(cpt_path_drag_set(first, 0, 7) == CPT_OK);
    MUST(cpt_path_drag_set(first, 1, 0) == CPT_OK);
    MUST(cpt_path_drag_set(first, 2, 31) == CPT_OK);
    MUST(cpt_path_drag_set(second, 1, 20) == CPT_OK);
    MUST(cpt_tree_add(tree, first, CPT_WEIGHT_ONE) == CPT_OK);
    MUST(cpt_tree_add(tree, second, CPT_WEIGHT_ONE) == CPT_OK);
    MUST(cpt_tree_add(tree, third, CPT_WEIGHT_ONE) == CPT_OK);
    cpt_path_free(first);
    cpt_path_free(second);
    cpt_path_free(third);
    return tree;
}

static void test_the_kind_drag_has_types_of_its_own(void)
{
    static const char *const words[3][2] = {
        {"requests", "count"}, {"drag_total", "nanoseconds"}, {"drag", "nanoseconds"}};
    static const struct {
        const char *stack;
        uint64_t values[3];
    } rows[] = {{"A", {1, 0, 0}},
                {"A;b", {1, 31, 16}}, /* 15.5, rounded half up */
                {"A;c", {1, 20, 10}}};
    const struct cpt_pprof_options options = {
        .struct_bytes = sizeof options, .is_uncompressed = 1, .kind = CPT_PPROF_DRAG};
    struct cpt_tree *tree = tree_of_drags();
    struct kept kept = write_profile(tree, &options);
    struct read_profile profile;

    read_profile(&profile, kept.data, kept.bytes);
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_STRING_EQUAL(profile.strings[profile.types[i][0]], words[i][0]);
        CU_ASSERT_STRING_EQUAL(profile.strings[profile.types[i][1]], words[i][1]);
    }
    CU_ASSERT_EQUAL(profile.default_type, profile.types[2][0]);
    CU_ASSERT_EQUAL_FATAL(profile.sample_count, 3);
    for (size_t i = 0; i < 3; i++) {
        char stack[64];

        read_profile_stack(&profile, i, stack, sizeof stack);
        CU_ASSERT_STRING_EQUAL(stack, rows[i].stack);
        CU_ASSERT_EQUAL(profile.samples[i].value_count, 3);
        CU_ASSERT_EQUAL(memcmp(profile.samples[i].values, rows[i].values, 24), 0);
    }
    read_profile_deinit(&profile);
    free(kept.data);
    cpt_tree_free(tree);
}

static void test_a_profile_of_drags_needs_drags(void)
{
    struct cpt_pprof_options options = {.struct_bytes = sizeof options,
                                        .kind = CPT_PPROF_DRAG};
    struct cpt_tree *tree = tree_of_drags();
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};
    struct cpt_error error = {0};

    cpt_tree_forget_drags(tree);
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "no request has drags");
    options.kind = CPT_PPROF_DRAG + 1;
    error = (struct cpt_error){0};
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "there is no kind 2 of profiles");
    free(kept.data);
    cpt_tree_free(tree);
}

/* The values of all groups together are those without groups. */
static void test_groups_share_the_drags(void)
{
    static const char *const keys[] = {"arm"};
    static const char *const left[] = {"left"};
    static const char *const right[] = {"right"};
    struct cpt_tree *whole = tree_of_drags();
    struct cpt_tree *first = tree_of_drags();
    struct cpt_tree *other = tree_of_drags();
    struct cpt_pprof_group groups[2] = {{first, 0.5, left}, {other, 0.5, right}};
    const struct cpt_pprof_options options = {.struct_bytes = sizeof options,
                                              .is_uncompressed = 1,
                                              .kind = CPT_PPROF_DRAG,
                                              .group_keys = keys,
                                              .group_key_count = 1,
                                              .groups = groups,
                                              .group_count = 2};
    struct kept kept;
    struct read_profile profile;
    uint64_t sums[3] = {0};

    MUST(cpt_tree_merge(whole, other) == CPT_OK);
    kept = write_profile(whole, &options);
    read_profile(&profile, kept.data, kept.bytes);
    CU_ASSERT_EQUAL(profile.sample_count, 6);
    for (size_t i = 0; i < profile.sample_count; i++) {
        for (size_t j = 0; j < 3; j++) {
            sums[j] += profile.samples[i].values[j];
        }
    }
    CU_ASSERT_EQUAL(sums[0], 6);
    CU_ASSERT_EQUAL(sums[1], 102);
    CU_ASSERT_EQUAL(sums[2], 26);
    read_profile_deinit(&profile);
    free(kept.data);
    cpt_tree_free(whole);
    cpt_tree_free(first);
    cpt_tree_free(other);
}

extern CU_TestInfo cpt_drag_profile_tests[];
CU_TestInfo cpt_drag_profile_tests[] = {
    {"the kind drag has types of its own", test_the_kind_drag_has_types_of_its_own},
    {"a profile of drags needs drags", test_a_profile_of_drags_needs_drags},
    {"groups share the drags", test_groups_share_the_drags},
    CU_TEST_INFO_NULL,
};
