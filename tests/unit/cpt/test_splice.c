/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_splice.c - a callee's path in the place of its call, times in milliseconds */
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

#define NETWORK      "B: 1;B: \u2039network+serialization\u203a"
#define UNATTRIBUTED "B: 1;B: \u2039unattributed\u203a"
#define BLIND        "B: 1;B: \u2039blind spot\u203a"

/* One splice below the frame "B: 1", and what it has to become. */
struct vector {
    struct cpt_splice splice;
    struct cpt_splice_report report;
    const char *expected;
    uint64_t left_ms; /* what @expected sums to */
};

static void splice_into(struct cpt_path *path, const struct cpt_path *callee,
                        const struct vector *vector)
{
    struct cpt_splice_report report = {9, 9, 9};
    uint32_t root = 0;

    CU_ASSERT_EQUAL(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: 1"),
                                       CPT_KIND_WORK, &root),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_splice(path, root, callee, &vector->splice, &report),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, vector->left_ms * MS, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(trace_path_text(path), vector->expected);
    CU_ASSERT_EQUAL(report.overcount_ns, vector->report.overcount_ns);
    CU_ASSERT_EQUAL(report.undercount_ns, vector->report.undercount_ns);
    CU_ASSERT_EQUAL(report.is_inconsistent, vector->report.is_inconsistent);
}

/* The callee: @count segments, the first under "B: 1", the others below it. */
static void expect(const uint64_t *segments_ms, size_t count, struct vector vector)
{
    static const char *const names[] = {"B: 1", "B: 2", "B: 3"};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *callee = cpt_path_new(NULL);
    uint32_t root = CPT_FRAME_NONE;

    for (size_t i = 0; i < count; i++) {
        uint32_t frame = root;

        (void)cpt_path_frame_add(callee, root, cpt_bytes_of(names[i]), 0, &frame);
        (void)cpt_path_append_ns(callee, frame, segments_ms[i] * MS);
        root = i == 0 ? frame : root;
    }
    splice_into(path, segments_ms != NULL ? callee : NULL, &vector);
    cpt_path_free(path);
    cpt_path_free(callee);
}

static struct cpt_splice observed(uint64_t observed_ms, int64_t server_elapsed_ms)
{
    struct cpt_splice splice = {.observed_ns = observed_ms * MS};

    if (server_elapsed_ms >= 0) {
        splice.has_server_elapsed = 1;
        splice.server_elapsed_ns = (uint64_t)server_elapsed_ms * MS;
    }
    return splice;
}

/* What the caller knows of its own queues; it may claim too much. */
static struct cpt_splice queued(struct cpt_splice splice, uint64_t send_ms,
                                uint64_t receive_ms)
{
    splice.send_queue_ns = send_ms * MS;
    splice.receive_queue_ns = receive_ms * MS;
    return splice;
}

#define SEND    "B: 1;B: \u2039send queue\u203a"
#define RECEIVE "B: 1;B: \u2039receive queue\u203a"

static void test_queues_of_the_caller(void)
{
    const uint64_t path[] = {16};
    struct cpt_splice cut = queued(observed(20, 16), 2, 1);

    expect(path, 1,
           (struct vector){queued(observed(20, 16), 2, 1),
                           {.undercount_ns = 4 * MS},
                           SEND " 2, B: 1 16, " NETWORK " 1, " RECEIVE " 1",
                           20});
    /* no more than is left, the last one first */
    expect(path, 1,
           (struct vector){queued(observed(20, 18), 9, 1),
                           {.undercount_ns = 4 * MS},
                           SEND " 1, B: 1 16, " UNATTRIBUTED " 2, " RECEIVE " 1",
                           20});
    expect(path, 1,
           (struct vector){queued(observed(20, 20), UINT32_MAX, UINT32_MAX),
                           {.undercount_ns = 4 * MS},
                           "B: 1 16, " UNATTRIBUTED " 4",
                           20});
    expect(NULL, 0,
           (struct vector){queued(observed(20, -1), 3, 5),
                           {.undercount_ns = 20 * MS},
                           SEND " 3, " BLIND " 12, " RECEIVE " 5",
                           20});
    expect(NULL, 0,
           (struct vector){queued(observed(20, 14), 3, 5),
                           {.undercount_ns = 20 * MS},
                           SEND " 1, " BLIND " 14, " RECEIVE " 5",
                           20});
    cut.skip_ns = 3 * MS; /* the send queue, and 1 of the callee's */
    expect(path, 1,
           (struct vector){cut,
                           {.undercount_ns = 4 * MS},
                           "B: 1 15, " NETWORK " 1, " RECEIVE " 1",
                           17});
}

static void test_overcount_is_scaled(void)
{
    const uint64_t even[] = {6, 6};
    const uint64_t uneven[] = {7 * 1000, 4 * 1000, 2 * 1000};

    expect(even, 2,
           (struct vector){observed(10, -1),
                           {.overcount_ns = 2 * MS},
                           "B: 1 5 ! {excess_ns=2}, B: 1;B: 2 5 !",
                           10});
    expect(even, 2,
           (struct vector){observed(10, 11),
                           {2 * MS, 0, 1},
                           "B: 1 5 ! {excess_ns=2}, B: 1;B: 2 5 !",
                           10});
    /* 10 s of 13 s: 5385, 3077, 1538 in milliseconds, printed rounded down */
    expect(uneven, 3,
           (struct vector){observed(10000, -1),
                           {.overcount_ns = 3000 * MS},
                           "B: 1 5384 ! {excess_ns=3000}, B: 1;B: 2 3076 !, "
                           "B: 1;B: 3 1538 !",
                           10000});
}

/* The same to the nanosecond: the rest goes to the segment that lost most. */
static void test_overcount_to_the_nanosecond(void)
{
    const uint64_t durations[] = {7, 4, 2};
    const uint64_t expected[] = {5, 3, 2};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *callee = cpt_path_new(NULL);
    const struct cpt_splice splice = {.observed_ns = 10};
    uint32_t frame = 0;

    (void)cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &frame);
    (void)cpt_path_frame_add(callee, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &frame);
    for (size_t i = 0; i < 3; i++) {
        (void)cpt_path_append_ns(callee, frame, durations[i]);
    }
    CU_ASSERT_EQUAL(cpt_path_splice(path, frame, callee, &splice, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, 10, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_path_segment_count(path), 3);
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(cpt_path_segment(path, i)->duration_ns, expected[i]);
    }
    cpt_path_free(path);
    cpt_path_free(callee);
}

/* Whether an overcount of @excess_ns over @observed_ns is flagged; it always has a
 * label. */
static int is_flagged(uint64_t observed_ns, uint64_t excess_ns)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *callee = cpt_path_new(NULL);
    const struct cpt_splice splice = {.observed_ns = observed_ns};
    struct cpt_splice_report report;
    uint32_t frame = 0;
    int flags = 0;

    (void)cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &frame);
    (void)cpt_path_frame_add(callee, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &frame);
    (void)cpt_path_append_ns(callee, frame, observed_ns + excess_ns);
    CU_ASSERT_EQUAL(cpt_path_splice(path, frame, callee, &splice, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, observed_ns, NULL), CPT_OK);
    CU_ASSERT_EQUAL(report.overcount_ns, excess_ns);
    CU_ASSERT_EQUAL(cpt_path_label_count(path), 1);
    CU_ASSERT_EQUAL(cpt_path_label(path, 0)->value, excess_ns);
    flags = cpt_path_segment(path, 0)->flags;
    cpt_path_free(path);
    cpt_path_free(callee);
    return flags == CPT_SEGMENT_OVERCOUNT;
}

static void test_small_overcount_has_no_flag(void)
{
    CU_ASSERT_FALSE(is_flagged(500, 999));
    CU_ASSERT_FALSE(is_flagged(500, 1000));
    CU_ASSERT_TRUE(is_flagged(500, 1001));
    CU_ASSERT_FALSE(is_flagged(1000000, 9999));
    CU_ASSERT_FALSE(is_flagged(1000000, 10000));
    CU_ASSERT_TRUE(is_flagged(1000000, 10001));
}

static void test_overcount_may_be_clipped(void)
{
    const uint64_t segments[] = {6, 3, 3};
    struct cpt_splice splice = observed(8, -1);

    splice.overcount = CPT_OVERCOUNT_CLIP;
    expect(segments, 3,
           (struct vector){splice,
                           {.overcount_ns = 4 * MS},
                           "B: 1 6 ! {excess_ns=4}, B: 1;B: 2 2 !",
                           8});
}

static void test_undercount_has_two_owners(void)
{
    const uint64_t segments[] = {4, 12};

    expect(segments, 2,
           (struct vector){observed(20, -1),
                           {.undercount_ns = 4 * MS},
                           "B: 1 4, B: 1;B: 2 12, " NETWORK " 4",
                           20});
    expect(segments, 2,
           (struct vector){observed(20, 16),
                           {.undercount_ns = 4 * MS},
                           "B: 1 4, B: 1;B: 2 12, " NETWORK " 4",
                           20});
    expect(segments, 2,
           (struct vector){observed(20, 18),
                           {.undercount_ns = 4 * MS},
                           "B: 1 4, B: 1;B: 2 12, " UNATTRIBUTED " 2, " NETWORK " 2",
                           20});
    expect(segments, 2,
           (struct vector){observed(20, 24),
                           {4 * MS, 4 * MS, 0},
                           "B: 1 4, B: 1;B: 2 12, " UNATTRIBUTED " 4",
                           20});
    expect(segments, 2,
           (struct vector){observed(20, 15),
                           {0, 4 * MS, 1},
                           "B: 1 4, B: 1;B: 2 12, " NETWORK " 4",
                           20});
    expect(segments, 2,
           (struct vector){observed(16, -1), {0, 0, 0}, "B: 1 4, B: 1;B: 2 12", 16});
}

static void test_longer_path_and_shorter_elapsed_is_scaled(void)
{
    const uint64_t segments[] = {5, 20};

    expect(segments, 2,
           (struct vector){observed(20, 18),
                           {5 * MS, 0, 1},
                           "B: 1 4 ! {excess_ns=5}, B: 1;B: 2 16 !",
                           20});
    expect(segments, 2,
           (struct vector){observed(20, 99),
                           {5 * MS, 0, 0},
                           "B: 1 4 ! {excess_ns=5}, B: 1;B: 2 16 !",
                           20});
}

static void test_no_path_is_a_blind_spot(void)
{
    struct cpt_splice splice = observed(20, -1);

    splice.reason = CPT_REASON_UNSUPPORTED;
    expect(NULL, 0,
           (struct vector){
               splice, {.undercount_ns = 20 * MS}, BLIND " 20 (unsupported)", 20});
    splice = observed(20, 15);
    splice.reason = CPT_REASON_SIZE;
    expect(
        NULL, 0,
        (struct vector){
            splice, {.undercount_ns = 20 * MS}, BLIND " 15 (size), " NETWORK " 5", 20});
    splice = observed(20, 25);
    splice.reason = CPT_REASON_SIZE;
    expect(NULL, 0,
           (struct vector){splice, {5 * MS, 20 * MS, 0}, BLIND " 20 (size)", 20});
}

static void test_path_without_time(void)
{
    const uint64_t segments[] = {0};
    struct cpt_splice splice = observed(20, -1);

    splice.reason = CPT_REASON_UNSUPPORTED;
    expect(segments, 1,
           (struct vector){
               splice, {.undercount_ns = 20 * MS}, BLIND " 20 (unsupported)", 20});
    expect(segments, 1,
           (struct vector){observed(20, -1),
                           {.undercount_ns = 20 * MS},
                           BLIND " 20 (undecodable)",
                           20});
    expect(segments, 1,
           (struct vector){observed(20, 15),
                           {.undercount_ns = 20 * MS},
                           UNATTRIBUTED " 15, " NETWORK " 5",
                           20});
    expect(segments, 1, (struct vector){observed(0, -1), {0, 0, 0}, "", 0});
}

static void test_front_is_cut(void)
{
    const uint64_t segments[] = {4, 12};
    struct cpt_splice splice = observed(20, 18);

    splice.skip_ns = 3 * MS;
    expect(segments, 2,
           (struct vector){splice,
                           {.undercount_ns = 4 * MS},
                           "B: 1 1, B: 1;B: 2 12, " UNATTRIBUTED " 2, " NETWORK " 2",
                           17});
    splice.skip_ns = 17 * MS;
    expect(segments, 2,
           (struct vector){
               splice, {.undercount_ns = 4 * MS}, UNATTRIBUTED " 1, " NETWORK " 2", 3});
    splice.skip_ns = 20 * MS;
    expect(segments, 2, (struct vector){splice, {.undercount_ns = 4 * MS}, "", 0});
}

/* A callee whose root has the @name, one segment of 1 ms below its own "x". */
static void expect_root(const char *name, unsigned kind, const char *expected)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *callee = cpt_path_new(NULL);
    uint32_t frame = 0;

    (void)cpt_path_frame_add(callee, CPT_FRAME_NONE, cpt_bytes_of(name), kind, &frame);
    (void)cpt_path_frame_add(callee, frame, cpt_bytes_of("x"), 0, &frame);
    (void)cpt_path_append_ns(callee, frame, MS);
    splice_into(path, callee,
                &(struct vector){observed(1, -1), {0, 0, 0}, expected, 1});
    cpt_path_free(path);
    cpt_path_free(callee);
}

static void test_no_callee_passes_for_another(void)
{
    expect_root("B: 1", CPT_KIND_WORK, "B: 1;x 1");
    expect_root("A: Pay", CPT_KIND_WORK, "B: 1;A: Pay;x 1");
    expect_root("B: 1", CPT_KIND_LOCK, "B: 1;B: \u2039lock: B: 1\u203a;x 1");
    expect_root("", CPT_KIND_QUEUE, "B: 1;B: \u2039queue\u203a;x 1");
}

static void test_labels_come_along(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *callee = cpt_path_new(NULL);
    struct cpt_splice splice = observed(8, -1);
    uint32_t frame = 0;

    (void)cpt_path_frame_add(callee, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &frame);
    (void)cpt_path_append_ns(callee, frame, 2 * MS);
    (void)cpt_path_label_number(callee, CPT_LABEL_ATTEMPT, 7);
    (void)cpt_path_append_ns(callee, frame, 4 * MS);
    (void)cpt_path_label_number(callee, CPT_LABEL_ATTEMPT, 2);
    (void)cpt_path_label_name(callee, CPT_LABEL_HOLDER, cpt_bytes_of("B: 9"));
    (void)cpt_path_append_ns(callee, frame, 2 * MS);
    cpt_path_flags_add(callee, CPT_PATH_INCOMPLETE);
    splice.skip_ns = 3 * MS; /* the first segment goes, and its label with it */
    splice_into(path, callee,
                &(struct vector){
                    splice, {0, 0, 0}, "B: 1 3 {attempt=2, holder=B: 9}, B: 1 2", 5});
    CU_ASSERT_EQUAL(cpt_path_flags(path), CPT_PATH_INCOMPLETE);
    cpt_path_free(path);
    cpt_path_free(callee);
}

/* A segment scaled to nothing loses its labels; no other segment gets them. */
static void test_labels_of_what_is_gone(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *callee = cpt_path_new(NULL);
    const struct cpt_splice splice = {.observed_ns = 10};
    uint32_t frame = 0;

    (void)cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &frame);
    (void)cpt_path_frame_add(callee, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &frame);
    (void)cpt_path_append_ns(callee, frame, 1000);
    (void)cpt_path_append_ns(callee, frame, 1);
    (void)cpt_path_label_number(callee, CPT_LABEL_ATTEMPT, 7);
    CU_ASSERT_EQUAL(cpt_path_splice(path, frame, callee, &splice, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), 1);
    CU_ASSERT_EQUAL(cpt_path_label_count(path), 1);
    CU_ASSERT_EQUAL(cpt_path_label(path, 0)->key, CPT_LABEL_EXCESS);
    cpt_path_free(path);
    cpt_path_free(callee);
}

static void test_copy_is_the_same(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *copy = cpt_path_new(NULL);
    struct cpt_error error = {0};
    uint32_t root = 0;
    uint32_t frame = 0;

    (void)cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: x"), 0, &root);
    (void)cpt_path_frame_add(path, root, cpt_bytes_of("A: y"), 0, &frame);
    (void)cpt_path_append_ns(path, frame, 3 * MS);
    (void)cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 2);
    (void)cpt_path_append(path, (struct cpt_segment){.duration_ns = MS,
                                                     .frame = root,
                                                     .count = 3,
                                                     .flags = CPT_SEGMENT_FOLDED});
    CU_ASSERT_EQUAL(cpt_path_copy(copy, path), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(copy, 4 * MS, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(trace_path_text(copy), "A: x;A: y 3 {attempt=2}, A: x 1");
    CU_ASSERT_EQUAL(cpt_path_segment(copy, 1)->count, 3);
    CU_ASSERT_EQUAL(cpt_path_segment(copy, 1)->flags, CPT_SEGMENT_FOLDED);
    CU_ASSERT_EQUAL(cpt_path_copy(copy, path), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(copy, 8 * MS, &error), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_frame_count(copy), 2);
    cpt_path_free(path);
    cpt_path_free(copy);
}

extern CU_TestInfo cpt_splice_tests[];
CU_TestInfo cpt_splice_tests[] = {
    {"the queues of the caller", test_queues_of_the_caller},
    {"a path that is too long is scaled", test_overcount_is_scaled},
    {"the rest of scaling goes to the segment that lost most",
     test_overcount_to_the_nanosecond},
    {"an excess up to 1 us or 1 % is not flagged", test_small_overcount_has_no_flag},
    {"a path that is too long may be clipped instead", test_overcount_may_be_clipped},
    {"missing time is the callee's or the network's", test_undercount_has_two_owners},
    {"a path that is longer than its own elapsed time",
     test_longer_path_and_shorter_elapsed_is_scaled},
    {"no path is a blind spot with a reason", test_no_path_is_a_blind_spot},
    {"a path of 0 ns counts as none", test_path_without_time},
    {"time before the block is cut off the front", test_front_is_cut},
    {"no callee can pose as another service", test_no_callee_passes_for_another},
    {"labels and flags come along", test_labels_come_along},
    {"a segment scaled to nothing loses its labels", test_labels_of_what_is_gone},
    {"a copy is the same path", test_copy_is_the_same},
    CU_TEST_INFO_NULL,
};
