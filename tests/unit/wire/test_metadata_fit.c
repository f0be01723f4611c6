/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_metadata_fit.c - a path in a budget: the order of folding; no time is lost */
#include "wire/cpt_metadata.h"

#include "tests/support/suites.h"
#include "tests/unit/wire/wire_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Encodes within @bytes_max and decodes into @back; the bytes used, 0 if none fit. */
static size_t through(const struct cpt_path *path, size_t bytes_max,
                      struct cpt_path *back, int *fit)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .has_server_elapsed = 1,
                                                        .server_elapsed_ns = 77,
                                                        .bytes_max = bytes_max};
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct cpt_error error = {0};
    const cpt_status status = cpt_metadata_encode(path, &options, &data, &bytes, fit);

    cpt_path_reset(back);
    if (status == CPT_LIMIT) {
        return 0;
    }
    CU_ASSERT_EQUAL_FATAL(status, CPT_OK);
    CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, back, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    cpt_alloc_free(NULL, data);
    return bytes;
}

static uint64_t segment_total(const struct cpt_path *path)
{
    uint64_t total = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        total += cpt_path_segment(path, i)->count;
    }
    return total;
}

/* The bytes used. */
static size_t check_budget(const struct cpt_path *path, size_t bytes_max,
                           struct cpt_path *back)
{
    int fit = -1;
    const size_t bytes = through(path, bytes_max, back, &fit);

    CU_ASSERT_TRUE(bytes <= bytes_max);
    if (bytes == 0) {
        CU_ASSERT_TRUE(bytes_max < 20); /* version, server_elapsed and sum always fit */
        return 0;
    }
    CU_ASSERT_EQUAL(cpt_path_sum_ns(back), cpt_path_sum_ns(path));
    if (fit != CPT_FIT_SUM) {
        CU_ASSERT_EQUAL(segment_total(back), segment_total(path));
    }
    if (fit == CPT_FIT_WHOLE) {
        CU_ASSERT_TRUE(same_paths(path, back));
    }
    return bytes;
}

static void test_every_budget_keeps_the_sum(void)
{
    struct dice dice = dice_new("fit");
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *back = cpt_path_new(NULL);

    for (int round = 0; round < 40; round++) {
        const struct path_shape shape = {.frames_max = 1 + dice_throw(&dice, 60),
                                         .segments_max = 1 + dice_throw(&dice, 80),
                                         .name_count = 1 + dice_throw(&dice, 40),
                                         .has_labels = dice_throw(&dice, 2) != 0,
                                         .is_odd = dice_throw(&dice, 2) != 0,
                                         .has_drags = dice_throw(&dice, 2) != 0};
        size_t wider = 0; /* the bytes used with one byte more */

        cpt_path_reset(path);
        random_path(&dice, &shape, path);
        for (size_t bytes_max = 1600; bytes_max > 0; bytes_max--) {
            const size_t bytes = check_budget(path, bytes_max, back);

            /* Nothing is folded unless it must be. */
            CU_ASSERT_TRUE(bytes == wider || wider > bytes_max || wider == 0);
            wider = bytes;
        }
    }
    cpt_path_free(path);
    cpt_path_free(back);
}

static void test_nothing_happens_at_the_exact_budget(void)
{
    struct cpt_path *path = document_path(NULL);
    struct cpt_path *back = cpt_path_new(NULL);
    int fit = -1;
    const size_t bytes = through(path, 2048, back, &fit);

    CU_ASSERT_EQUAL(fit, CPT_FIT_WHOLE);
    CU_ASSERT_EQUAL(through(path, bytes, back, &fit), bytes);
    CU_ASSERT_EQUAL(fit, CPT_FIT_WHOLE);
    CU_ASSERT_TRUE(through(path, bytes - 1, back, &fit) < bytes);
    CU_ASSERT_EQUAL(fit, CPT_FIT_UNLABELLED);
    cpt_path_free(path);
    cpt_path_free(back);
}

static uint32_t add(struct cpt_path *path, uint32_t parent, const char *name)
{
    uint32_t frame = 0;

    CU_ASSERT_EQUAL_FATAL(
        cpt_path_frame_add(path, parent, cpt_bytes_of(name), CPT_KIND_WORK, &frame),
        CPT_OK);
    return frame;
}

static void append(struct cpt_path *path, uint32_t frame, uint64_t duration_ns)
{
    CU_ASSERT_EQUAL_FATAL(cpt_path_append_ns(path, frame, duration_ns), CPT_OK);
}

static size_t size_of(const struct cpt_path *path)
{
    struct cpt_path *back = cpt_path_new(NULL);
    int fit = -1;
    const size_t bytes = through(path, 4096, back, &fit);

    cpt_path_free(back);
    return bytes;
}

/* Some budget gives @path this form, by the step that @expected_fit names. */
static void expect_step(const struct cpt_path *path, int expected_fit,
                        const char *expected)
{
    struct cpt_path *back = cpt_path_new(NULL);
    bool is_found = false;

    for (size_t bytes_max = size_of(path); bytes_max > 0 && !is_found; bytes_max--) {
        int fit = -1;
        char *text = NULL;

        through(path, bytes_max, back, &fit);
        text = path_text(back);
        is_found = fit == expected_fit && strcmp(text, expected) == 0;
        free(text);
    }
    CU_ASSERT_TRUE(is_found);
    if (!is_found) {
        printf("\n--- no budget gives, by step %d\n%s", expected_fit, expected);
    }
    cpt_path_free(back);
}

static void test_neighbours_go_first(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t a = add(path, CPT_FRAME_NONE, "A");
    const uint32_t b = add(path, a, "B");

    append(path, a, 1);
    for (int i = 0; i < 20; i++) {
        append(path, b, 3);
    }
    append(path, a, 5);
    expect_step(path, CPT_FIT_NEIGHBOURS,
                "flags 0\nA/0; 1 x1 f0 r0\nB/0;A/0; 60 x20 f2 r0\nA/0; 5 x1 f0 r0\n");
    cpt_path_free(path);
}

static void test_labels_go_next_and_merged_ones_lose_theirs(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t a = add(path, CPT_FRAME_NONE, "A");
    const uint32_t b = add(path, a, "B");

    append(path, a, 1);
    CU_ASSERT_EQUAL(cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 1), CPT_OK);
    for (unsigned i = 0; i < 20; i++) {
        append(path, b, 3);
        CU_ASSERT_EQUAL(cpt_path_label_number(path, CPT_LABEL_ATTEMPT, i), CPT_OK);
    }
    append(path, a, 4);
    CU_ASSERT_EQUAL(cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 4), CPT_OK);
    expect_step(path, CPT_FIT_NEIGHBOURS,
                "flags 0\nA/0; 1 x1 f0 r0 1=1\nB/0;A/0; 60 x20 f2 r0\n"
                "A/0; 4 x1 f0 r0 1=4\n");
    expect_step(path, CPT_FIT_UNLABELLED,
                "flags 0\nA/0; 1 x1 f0 r0\nB/0;A/0; 60 x20 f2 r0\nA/0; 4 x1 f0 r0\n");
    cpt_path_free(path);
}

static void test_order_goes_before_names(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t a = add(path, CPT_FRAME_NONE, "A");
    const uint32_t b = add(path, a, "B");

    for (int i = 0; i < 50; i++) {
        append(path, a, 10);
        append(path, b, 1);
    }
    expect_step(path, CPT_FIT_UNORDERED,
                "flags 1\nA/0; 500 x50 f2 r0\nB/0;A/0; 50 x50 f2 r0\n");
    cpt_path_free(path);
}

/* The picture in metadata_fit.c. */
static void test_the_smallest_leaf_goes_into_its_parent(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t entry = add(path, CPT_FRAME_NONE, "A: /");
    const uint32_t parse = add(path, entry, "A: parse the request");
    const uint32_t get = add(path, entry, "B: Get the record");
    const uint32_t disk = add(path, get, "B: read it from the disk");
    const uint32_t cache = add(path, get, "B: look into the cache");

    append(path, entry, 5);
    append(path, parse, 30);
    append(path, get, 20);
    append(path, disk, 2);
    append(path, cache, 7);
    expect_step(
        path, CPT_FIT_FOLDED,
        "flags 1\nA: //0; 5 x1 f0 r0\nA: parse the request/0;A: //0; 30 x1 f0 r0\n"
        "B: Get the record/0;A: //0; 20 x1 f0 r0\n/6;B: Get the record/0;A: //0; 2 x1 "
        "f2 r0\n"
        "B: look into the cache/0;B: Get the record/0;A: //0; 7 x1 f0 r0\n");
    expect_step(
        path, CPT_FIT_FOLDED,
        "flags 1\nA: //0; 5 x1 f0 r0\nA: parse the request/0;A: //0; 30 x1 f0 r0\n"
        "B: Get the record/0;A: //0; 20 x1 f0 r0\n/6;B: Get the record/0;A: //0; 9 x2 "
        "f2 r0\n");
    expect_step(path, CPT_FIT_FOLDED,
                "flags 1\nA: //0; 5 x1 f0 r0\n/6;A: //0; 59 x4 f2 r0\n");
    expect_step(path, CPT_FIT_SUM, "flags 0\n/4; 64 x1 f0 r3\n");
    cpt_path_free(path);
}

static void test_ties_go_to_the_first_stack_bytes(void)
{
    static const char *const orders[][3] = {{"A: x", "A: y", "A: xx"},
                                            {"A: xx", "A: x", "A: y"},
                                            {"A: y", "A: xx", "A: x"}};

    for (size_t i = 0; i < 3; i++) {
        struct cpt_path *path = cpt_path_new(NULL);
        struct cpt_path *back = cpt_path_new(NULL);
        const uint32_t entry = add(path, CPT_FRAME_NONE, "A: /");
        char *text = NULL;
        int fit = -1;

        for (size_t n = 0; n < 3; n++) {
            append(path, add(path, entry, orders[i][n]), 1000000);
        }
        through(path, size_of(path) - 1, back, &fit);
        CU_ASSERT_EQUAL(fit, CPT_FIT_FOLDED);
        text = path_text(back);
        CU_ASSERT_PTR_NULL(strstr(text, "A: x/"));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "A: y/"));
        free(text);
        cpt_path_free(back);
        cpt_path_free(path);
    }
}

static void test_a_hostile_path_is_folded_in_good_time(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *back = cpt_path_new(NULL);
    uint32_t spine = add(path, CPT_FRAME_NONE, "A: /");
    const clock_t start = clock();
    int fit = -1;

    for (int depth = 0; depth < 900; depth++) {
        spine = add(path, spine, "A: again");
        for (int i = 0; i < 60; i++) {
            char name[16];

            snprintf(name, sizeof name, "A: %d", i);
            append(path, add(path, spine, name), 1);
        }
    }
    CU_ASSERT_TRUE(through(path, 2048, back, &fit) <= 2048);
    CU_ASSERT_EQUAL(fit, CPT_FIT_FOLDED);
    CU_ASSERT_EQUAL(cpt_path_sum_ns(back), 900 * 60);
    CU_ASSERT_TRUE((clock() - start) / CLOCKS_PER_SEC < 20);
    cpt_path_free(path);
    cpt_path_free(back);
}

/* --- What stays under a small budget --- */

enum { FRAMES_MAX = 64 };

/* The time of each frame of @path with its ‹folded›; 0 of frames that are no leaves, or
 * roots, or folded. */
static void leaf_times(const struct cpt_path *path, uint64_t times_ns[FRAMES_MAX])
{
    const size_t count = cpt_path_frame_count(path);
    uint64_t below_ns[FRAMES_MAX] = {0}; /* of children that are not folded */
    uint64_t own_ns[FRAMES_MAX] = {0};

    CU_ASSERT_FATAL(count <= FRAMES_MAX);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        own_ns[cpt_path_segment(path, i)->frame] +=
            cpt_path_segment(path, i)->duration_ns;
    }
    for (size_t i = count; i-- > 0;) {
        const struct cpt_frame *frame = cpt_path_frame(path, (uint32_t)i);
        const bool is_folded = frame->kind == CPT_KIND_FOLDED && below_ns[i] == 0;

        times_ns[i] = below_ns[i] == 0 && !is_folded && frame->parent != CPT_FRAME_NONE
                          ? own_ns[i]
                          : 0;
        if (frame->parent != CPT_FRAME_NONE && is_folded) {
            own_ns[frame->parent] += own_ns[i];
        } else if (frame->parent != CPT_FRAME_NONE) {
            below_ns[frame->parent] += own_ns[i] + below_ns[i];
        }
    }
}

/* The largest leaf of @path, and the smallest. */
static uint32_t extreme_leaf(const struct cpt_path *path, bool is_largest,
                             uint64_t *time_ns)
{
    uint64_t times_ns[FRAMES_MAX] = {0};
    uint32_t found = 0;

    leaf_times(path, times_ns);
    *time_ns = 0;
    for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
        if (times_ns[i] != 0 &&
            (*time_ns == 0 ||
             (is_largest ? times_ns[i] > *time_ns : times_ns[i] < *time_ns))) {
            found = i;
            *time_ns = times_ns[i];
        }
    }
    return found;
}

/* Whether @path has the stack of frame @leaf of @whole. */
static bool has_stack(const struct cpt_path *path, const struct cpt_path *whole,
                      uint32_t leaf)
{
    char wanted[4096];
    char text[4096];

    (void)cpt_path_stack_text(whole, leaf, wanted, sizeof wanted);
    for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
        (void)cpt_path_stack_text(path, i, text, sizeof text);
        if (strcmp(text, wanted) == 0) {
            return true;
        }
    }
    return false;
}

/* What a caller asks for at little cost: the sum is exact, and the largest leaf is
 * there, unless what is there in its place is larger still. */
static void test_a_small_budget_keeps_the_largest(void)
{
    static const size_t budgets[] = {96, 128, 192, 256};
    struct dice dice = dice_new("largest");
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *back = cpt_path_new(NULL);
    size_t folded_count = 0;
    size_t kept_count = 0;

    for (int round = 0; round < 400; round++) {
        const struct path_shape shape = {.frames_max = 8 + dice_throw(&dice, 40),
                                         .segments_max = 8 + dice_throw(&dice, 60),
                                         .name_count = 4 + dice_throw(&dice, 30)};
        const size_t budget = budgets[round % 4];
        uint64_t largest_ns = 0;
        uint64_t smallest_ns = 0;
        uint32_t leaf = 0;
        int fit = -1;

        cpt_path_reset(path);
        random_path(&dice, &shape, path);
        CU_ASSERT_TRUE(through(path, budget, back, &fit) <= budget);
        CU_ASSERT_EQUAL(cpt_path_sum_ns(back), cpt_path_sum_ns(path));
        if (fit != CPT_FIT_FOLDED) {
            continue;
        }
        leaf = extreme_leaf(path, true, &largest_ns);
        (void)extreme_leaf(back, false, &smallest_ns);
        folded_count++;
        if (has_stack(back, path, leaf)) {
            kept_count++;
        } else {
            CU_ASSERT_TRUE(smallest_ns == 0 || smallest_ns >= largest_ns);
        }
    }
    (void)printf("(the largest leaf is in %zu of %zu) ", kept_count, folded_count);
    cpt_path_free(path);
    cpt_path_free(back);
}

CU_TestInfo cpt_metadata_fit_tests[] = {
    {"every budget is kept, and the sum stays", test_every_budget_keeps_the_sum},
    {"at the exact budget nothing happens", test_nothing_happens_at_the_exact_budget},
    {"neighbours of one stack go first", test_neighbours_go_first},
    {"labels go next; merged segments lose theirs",
     test_labels_go_next_and_merged_ones_lose_theirs},
    {"order goes before names", test_order_goes_before_names},
    {"the smallest leaf goes into its parent, then the next",
     test_the_smallest_leaf_goes_into_its_parent},
    {"ties go to the stack whose bytes come first",
     test_ties_go_to_the_first_stack_bytes},
    {"a small budget keeps the largest leaf", test_a_small_budget_keeps_the_largest},
    {"a hostile path is folded quickly", test_a_hostile_path_is_folded_in_good_time},
    CU_TEST_INFO_NULL,
};
