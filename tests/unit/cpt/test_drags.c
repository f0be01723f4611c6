/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_drags.c - the drags of a path: kept, copied, and spliced below a call whose drag
 * is known. A drag stands behind ~ in the text, in milliseconds
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

#include "cpt/path/path.h"

#define NO_DRAG UINT64_MAX

/* One segment of a path; @drag_ms NO_DRAG: not known. */
struct part {
    const char *name;
    uint64_t duration_ms;
    uint64_t drag_ms;
};

/* Appends @part to @path below @root, which may be CPT_FRAME_NONE. */
static cpt_status add_part(struct cpt_path *path, uint32_t root, struct part part)
{
    uint32_t frame = 0;
    cpt_status status =
        cpt_path_frame_add(path, root, cpt_bytes_of(part.name), CPT_KIND_WORK, &frame);

    if (status == CPT_OK) {
        status = cpt_path_append_ns(path, frame, part.duration_ms * MS);
    }
    if (status == CPT_OK && part.drag_ms != NO_DRAG) {
        status = cpt_path_drag_set(path, cpt_path_segment_count(path) - 1,
                                   part.drag_ms * MS);
    }
    return status;
}

/* A path of @parts up to one without a name; the first is the root of the others. */
static struct cpt_path *path_of(const struct part *parts)
{
    struct cpt_path *path = cpt_path_new(NULL);

    for (size_t i = 0; parts[i].name != NULL; i++) {
        CU_ASSERT_EQUAL(add_part(path, i == 0 ? CPT_FRAME_NONE : 0, parts[i]), CPT_OK);
    }
    return path;
}

static void expect_text(const struct cpt_path *path, const char *expected)
{
    CU_ASSERT_EQUAL(cpt_path_check(path, cpt_path_sum_ns(path), NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(trace_path_text(path), expected);
}

static const struct part example[] = {
    {"B: 1", 5, 5}, {"B: 2", 8, 3}, {"B: 3", 2, NO_DRAG}, {"B: 4", 4, 0}, {NULL, 0, 0}};

static const struct part unknown[] = {
    {"B: 1", 5, NO_DRAG}, {"B: 2", 8, NO_DRAG}, {NULL, 0, 0}};

static void test_a_drag_is_kept(void)
{
    struct cpt_path *path = path_of(example);

    expect_text(path, "B: 1 5 ~5, B: 1;B: 2 8 ~3, B: 1;B: 3 2, B: 1;B: 4 4 ~0");
    CU_ASSERT_TRUE(cpt_path_has_drags(path));
    CU_ASSERT_EQUAL(cpt_path_drag(path, 1), 3 * MS);
    CU_ASSERT_EQUAL(cpt_path_drag(path, 2), CPT_DRAG_UNKNOWN);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 1, CPT_DRAG_UNKNOWN), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 2, 1 * MS), CPT_OK);
    CU_ASSERT_EQUAL(add_part(path, 0, (struct part){"B: 5", 1, NO_DRAG}), CPT_OK);
    expect_text(path,
                "B: 1 5 ~5, B: 1;B: 2 8, B: 1;B: 3 2 ~1, B: 1;B: 4 4 ~0, B: 1;B: 5 1");
    cpt_path_free(path);
}

static void test_a_drag_is_at_most_the_duration(void)
{
    struct cpt_path *path = path_of(unknown);

    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 1, 8 * MS - 1), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 1, 8 * MS), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 1, 8 * MS + 1), CPT_INVALID);
    expect_text(path, "B: 1 5, B: 1;B: 2 8 ~8");
    path->drags[1]++;
    CU_ASSERT_EQUAL(cpt_path_check(path, 13 * MS, NULL), CPT_CORRUPT);
    cpt_path_free(path);
}

static void test_no_drags_no_memory(void)
{
    struct cpt_path *path = path_of(unknown);
    struct cpt_path *copy = cpt_path_new(NULL);

    CU_ASSERT_FALSE(cpt_path_has_drags(path));
    CU_ASSERT_EQUAL(cpt_path_drag(path, 0), CPT_DRAG_UNKNOWN);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 1, CPT_DRAG_UNKNOWN), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_copy(copy, path), CPT_OK);
    CU_ASSERT_FALSE(cpt_path_has_drags(path));
    CU_ASSERT_FALSE(cpt_path_has_drags(copy));
    CU_ASSERT_PTR_NULL(path->drags);
    CU_ASSERT_PTR_NULL(copy->drags);
    cpt_path_free(path);
    cpt_path_free(copy);
}

static void test_a_copy_has_them(void)
{
    struct cpt_path *path = path_of(example);
    struct cpt_path *copy = path_of(unknown);

    CU_ASSERT_EQUAL(cpt_path_copy(copy, path), CPT_OK);
    expect_text(copy, "B: 1 5, B: 1;B: 2 8, B: 1 5 ~5, B: 1;B: 2 8 ~3, B: 1;B: 3 2, "
                      "B: 1;B: 4 4 ~0");
    cpt_path_free(path);
    cpt_path_free(copy);
}

static void test_an_emptied_path_has_none(void)
{
    struct cpt_path *path = path_of(example);

    for (unsigned i = 0; i < 2; i++) {
        if (i == 0) {
            cpt_path_reset(path);
        } else {
            cpt_path_renew(path);
        }
        CU_ASSERT_FALSE(cpt_path_has_drags(path));
        CU_ASSERT_EQUAL(add_part(path, CPT_FRAME_NONE, unknown[0]), CPT_OK);
        expect_text(path, "B: 1 5");
        CU_ASSERT_EQUAL(add_part(path, CPT_FRAME_NONE, example[0]), CPT_OK);
        expect_text(path, "B: 1 5, B: 1 5 ~5");
    }
    cpt_path_free(path);
}

/* A path that is folded keeps the largest drag of each frame, if one is known. */
static void test_folded_segments_have_the_largest(void)
{
    struct cpt_path *path = path_of(example);

    path->folds_at = 8;
    for (unsigned i = 0; i < 4; i++) {
        static const struct part more[] = {
            {"B: 2", 7, 6}, {"B: 3", 3, NO_DRAG}, {"B: 3", 1, 1}, {"B: 4", 1, NO_DRAG}};

        CU_ASSERT_EQUAL(add_part(path, 0, more[i]), CPT_OK);
    }
    CU_ASSERT_EQUAL(add_part(path, 0, (struct part){"B: 4", 1, NO_DRAG}), CPT_OK);
    expect_text(path, "B: 1 5 ~5, B: 1;B: 2 15 ~6, B: 1;B: 3 6 ~1, B: 1;B: 4 5 ~0, "
                      "B: 1;B: 4 1");
    cpt_path_free(path);
}

/* Splices @parts below the frame "B: 1" of a new path. */
static void expect_spliced(const struct part *parts, struct cpt_splice splice,
                           const char *expected)
{
    struct cpt_path *callee = parts != NULL ? path_of(parts) : NULL;
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t root = 0;

    CU_ASSERT_EQUAL(
        cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &root),
        CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_splice(path, root, callee, &splice, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_sum_ns(path), splice.observed_ns - splice.skip_ns);
    expect_text(path, expected);
    cpt_path_free(callee);
    cpt_path_free(path);
}

/* A call of @observed_ms, whose callee says 20; its drag is @drag_ms. */
static struct cpt_splice call(uint64_t observed_ms, uint64_t drag_ms)
{
    return (struct cpt_splice){.observed_ns = observed_ms * MS,
                               .server_elapsed_ns = 20 * MS,
                               .has_server_elapsed = 1,
                               .call_drag_ns = drag_ms * MS,
                               .has_call_drag = drag_ms != NO_DRAG};
}

#define BLIND        "B: 1;B: \u2039blind spot\u203a"
#define NETWORK      "B: 1;B: \u2039network+serialization\u203a"
#define UNATTRIBUTED "B: 1;B: \u2039unattributed\u203a"
#define SEND         "B: 1;B: \u2039send queue\u203a"
#define RECEIVE      "B: 1;B: \u2039receive queue\u203a"

static void test_the_drag_of_the_call_is_the_cap(void)
{
    struct cpt_splice queued = call(27, 2);

    expect_spliced(
        example, call(24, 4),
        "B: 1 5 ~4, B: 1;B: 2 8 ~3, B: 1;B: 3 2, B: 1;B: 4 4 ~0, " UNATTRIBUTED
        " 1 ~1, " NETWORK " 4 ~4");
    expect_spliced(
        example, call(24, 0),
        "B: 1 5 ~0, B: 1;B: 2 8 ~0, B: 1;B: 3 2, B: 1;B: 4 4 ~0, " UNATTRIBUTED
        " 1 ~0, " NETWORK " 4 ~0");
    queued.send_queue_ns = 3 * MS;
    queued.receive_queue_ns = 1 * MS;
    expect_spliced(example, queued,
                   SEND " 3 ~2, B: 1 5 ~2, B: 1;B: 2 8 ~2, B: 1;B: 3 2, B: 1;B: 4 4 "
                        "~0, " UNATTRIBUTED " 1 ~1, " NETWORK " 3 ~2, " RECEIVE
                        " 1 ~1");
}

static void test_a_call_without_a_drag(void)
{
    struct cpt_splice splice = call(24, NO_DRAG);

    splice.call_drag_ns = 3 * MS;
    expect_spliced(example, splice,
                   "B: 1 5, B: 1;B: 2 8, B: 1;B: 3 2, B: 1;B: 4 4, " UNATTRIBUTED
                   " 1, " NETWORK " 4");
    expect_spliced(NULL, splice, BLIND " 20, " NETWORK " 4");
}

static void test_a_callee_without_drags(void)
{
    struct cpt_splice splice = call(24, 3);

    expect_spliced(unknown, splice,
                   "B: 1 5, B: 1;B: 2 8, " UNATTRIBUTED " 7 ~3, " NETWORK " 4 ~3");
    splice.reason = CPT_REASON_UNSUPPORTED;
    expect_spliced(NULL, splice, BLIND " 20 (unsupported) ~3, " NETWORK " 4 ~3");
    splice.has_server_elapsed = 0;
    expect_spliced(NULL, splice, BLIND " 24 (unsupported) ~3");
}

static void test_overcount_scales_a_drag(void)
{
    static const struct part parts[] = {
        {"B: 1", 6, 6}, {"B: 2", 8, 4}, {"B: 3", 6, NO_DRAG}, {NULL, 0, 0}};
    struct cpt_splice splice = call(10, 10);

    expect_spliced(parts, splice,
                   "B: 1 3 ! ~3 {excess_ns=10}, B: 1;B: 2 4 ! ~2, B: 1;B: 3 3 !");
    splice.call_drag_ns = 1 * MS;
    expect_spliced(parts, splice,
                   "B: 1 3 ! ~1 {excess_ns=10}, B: 1;B: 2 4 ! ~1, B: 1;B: 3 3 !");
    splice.call_drag_ns = 10 * MS;
    splice.overcount = CPT_OVERCOUNT_CLIP;
    expect_spliced(parts, splice, "B: 1 6 ! ~6 {excess_ns=10}, B: 1;B: 2 4 ! ~4");
    splice.observed_ns = 9 * MS;
    expect_spliced(parts, splice, "B: 1 6 ! ~6 {excess_ns=11}, B: 1;B: 2 3 ! ~3");
}

static void test_what_is_skipped_cuts_a_drag(void)
{
    struct cpt_splice splice = call(24, 6);

    splice.skip_ns = 4 * MS;
    expect_spliced(
        example, splice,
        "B: 1 1 ~1, B: 1;B: 2 8 ~3, B: 1;B: 3 2, B: 1;B: 4 4 ~0, " UNATTRIBUTED
        " 1 ~1, " NETWORK " 4 ~4");
    splice.skip_ns = 15 * MS;
    expect_spliced(example, splice,
                   "B: 1;B: 4 4 ~0, " UNATTRIBUTED " 1 ~1, " NETWORK " 4 ~4");
    splice.skip_ns = 22 * MS;
    expect_spliced(example, splice, NETWORK " 2 ~2");
}

/* The largest numbers: nothing overflows when a drag is scaled. */
static void test_large_drags(void)
{
    const uint64_t most_ns = INT64_MAX;
    const struct cpt_splice splice = {
        .observed_ns = most_ns / 2, .call_drag_ns = UINT64_MAX, .has_call_drag = 1};
    struct cpt_path *callee = cpt_path_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t root = 0;

    CU_ASSERT_EQUAL(
        cpt_path_frame_add(callee, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &root),
        CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_append_ns(callee, root, most_ns), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_drag_set(callee, 0, most_ns), CPT_OK);
    CU_ASSERT_EQUAL(
        cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &root),
        CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_splice(path, root, callee, &splice, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_drag(path, 0), most_ns / 2);
    CU_ASSERT_EQUAL(cpt_path_check(path, most_ns / 2, NULL), CPT_OK);
    cpt_path_free(callee);
    cpt_path_free(path);
}

static bool copy_of_drags(const struct cpt_alloc *alloc)
{
    struct cpt_path *from = path_of(example);
    struct cpt_path *path = cpt_path_new(alloc);
    cpt_status status = path != NULL ? cpt_path_copy(path, from) : CPT_NO_MEMORY;

    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    if (path != NULL) {
        CU_ASSERT_EQUAL(cpt_path_check(path, cpt_path_sum_ns(path), NULL), CPT_OK);
    }
    cpt_path_free(path);
    cpt_path_free(from);
    return status == CPT_OK;
}

static void test_refused_memory(void)
{
    each_allocation_failure(copy_of_drags);
}

extern CU_TestInfo cpt_drags_tests[];
CU_TestInfo cpt_drags_tests[] = {
    {"the drag of a segment is kept", test_a_drag_is_kept},
    {"a drag is at most the duration", test_a_drag_is_at_most_the_duration},
    {"a path without drags has no memory for them", test_no_drags_no_memory},
    {"a copy has the drags", test_a_copy_has_them},
    {"an emptied path has no drags", test_an_emptied_path_has_none},
    {"a folded segment has the largest drag", test_folded_segments_have_the_largest},
    {"the drag of the call caps the callee's", test_the_drag_of_the_call_is_the_cap},
    {"without the drag of the call there are none", test_a_call_without_a_drag},
    {"a callee without drags has none", test_a_callee_without_drags},
    {"overcount scales a drag", test_overcount_scales_a_drag},
    {"what is skipped cuts a drag", test_what_is_skipped_cuts_a_drag},
    {"the largest drag is scaled", test_large_drags},
    {"refused memory ends a copy with drags", test_refused_memory},
    CU_TEST_INFO_NULL,
};
