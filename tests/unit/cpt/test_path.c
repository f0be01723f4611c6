/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_path.c - frames are kept once, segments add up, cpt_path_check() finds faults */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

#include <string.h>

static uint32_t frame_add(struct cpt_path *path, uint32_t parent, const char *name)
{
    uint32_t frame = CPT_FRAME_NONE;

    CU_ASSERT_EQUAL(
        cpt_path_frame_add(path, parent, cpt_bytes_of(name), CPT_KIND_WORK, &frame),
        CPT_OK);
    return frame;
}

static void test_frames_stand_once(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = frame_add(path, CPT_FRAME_NONE, "A");
    const uint32_t below = frame_add(path, root, "A");
    uint32_t queue = 0;

    CU_ASSERT_EQUAL(root, 0);
    CU_ASSERT_EQUAL(below, 1);
    CU_ASSERT_EQUAL(frame_add(path, CPT_FRAME_NONE, "A"), root);
    CU_ASSERT_EQUAL(frame_add(path, root, "A"), below);
    CU_ASSERT_EQUAL(
        cpt_path_frame_add(path, root, cpt_bytes_of("A"), CPT_KIND_QUEUE, &queue),
        CPT_OK);
    CU_ASSERT_EQUAL(queue, 2); /* another kind is another frame */
    CU_ASSERT_EQUAL(cpt_path_frame_count(path), 3);
    CU_ASSERT_EQUAL(cpt_path_name_count(path), 1);
    CU_ASSERT_EQUAL(cpt_path_frame(path, below)->parent, root);
    CU_ASSERT_EQUAL(cpt_path_frame(path, below)->depth, 2);
    cpt_path_free(path);
    cpt_path_free(NULL);
}

static void test_depth_at_the_limit(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t frame = CPT_FRAME_NONE;

    for (int depth = 1; depth < CPT_PATH_DEPTH_MAX; depth++) {
        frame = frame_add(path, frame, "f");
    }
    CU_ASSERT_EQUAL(cpt_path_frame(path, frame)->depth, CPT_PATH_DEPTH_MAX - 1);
    frame = frame_add(path, frame, "f");
    CU_ASSERT_EQUAL(cpt_path_frame(path, frame)->depth, CPT_PATH_DEPTH_MAX);
    CU_ASSERT_EQUAL(frame_add(path, frame, "f"), frame);
    CU_ASSERT_EQUAL(cpt_path_frame_count(path), CPT_PATH_DEPTH_MAX);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 5), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_OK);
    cpt_path_free(path);
}

static void test_frames_at_the_limit(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = frame_add(path, CPT_FRAME_NONE, "r");
    uint32_t frame = 0;
    cpt_status status = CPT_OK;
    char name[4];

    /* three bytes of name make 127^3 different frames below the root */
    for (uint32_t i = 1; i < CPT_PATH_FRAMES_MAX; i++) {
        name[0] = (char)(1 + i % 127);
        name[1] = (char)(1 + i / 127 % 127);
        name[2] = (char)(1 + i / 127 / 127);
        status = cpt_path_frame_add(path, root, (struct cpt_bytes){name, 3}, 0, &frame);
        if (status != CPT_OK) {
            break;
        }
    }
    CU_ASSERT_EQUAL(status, CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_frame_count(path), CPT_PATH_FRAMES_MAX);
    CU_ASSERT_EQUAL(cpt_path_frame_add(path, root, cpt_bytes_of("more"), 0, &frame),
                    CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_path_frame_count(path), CPT_PATH_FRAMES_MAX);
    CU_ASSERT_EQUAL(
        cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("r"), 0, &frame),
        CPT_OK); /* frames added before are still found */
    CU_ASSERT_EQUAL(frame, root);
    cpt_path_free(path);
}

static void test_segments_at_the_limit(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = frame_add(path, CPT_FRAME_NONE, "r");
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < CPT_PATH_SEGMENTS_MAX && status == CPT_OK; i++) {
        status = cpt_path_append_ns(path, root, 1);
    }
    CU_ASSERT_EQUAL(status, CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), CPT_PATH_SEGMENTS_MAX);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, root, 1), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_path_sum_ns(path), CPT_PATH_SEGMENTS_MAX);
    cpt_path_free(path);
}

static void test_labels_at_the_limit(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = frame_add(path, CPT_FRAME_NONE, "r");
    cpt_status status = CPT_OK;

    for (size_t i = 0; i <= CPT_PATH_LABELS_MAX && status == CPT_OK; i++) {
        status = cpt_path_append_ns(path, root, 1);
        if (status == CPT_OK) {
            status = cpt_path_label_number(path, CPT_LABEL_ATTEMPT, i);
        }
        CU_ASSERT_FATAL(cpt_path_label_count(path) ==
                        (i < CPT_PATH_LABELS_MAX ? i + 1 : CPT_PATH_LABELS_MAX));
    }
    CU_ASSERT_EQUAL(status, CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, CPT_PATH_LABELS_MAX + 1, NULL), CPT_OK);
    cpt_path_free(path);
}

static void test_sum_at_the_limit(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = frame_add(path, CPT_FRAME_NONE, "r");

    CU_ASSERT_EQUAL(cpt_path_append_ns(path, root, (uint64_t)INT64_MAX + 1), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, root, UINT64_MAX), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, root, INT64_MAX - 1), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, root, 2), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, root, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, root, 1), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), 2);
    CU_ASSERT_EQUAL(cpt_path_check(path, INT64_MAX, NULL), CPT_OK);
    cpt_path_free(path);
}

static void test_segments_of_no_time(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = frame_add(path, CPT_FRAME_NONE, "r");

    CU_ASSERT_EQUAL(cpt_path_append_ns(path, root, 0), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), 0);
    CU_ASSERT_EQUAL(
        cpt_path_append(path, (struct cpt_segment){.duration_ns = 1, .frame = root}),
        CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_segment(path, 0)->count, 1); /* 0 is taken as 1 */
    cpt_path_free(path);
}

static void test_labels_are_remarks(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = frame_add(path, CPT_FRAME_NONE, "r");

    CU_ASSERT_EQUAL(cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_label_name(path, CPT_LABEL_HOLDER, cpt_bytes_of("x")),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_label_count(path), 0); /* there was no segment */
    (void)cpt_path_append_ns(path, root, MS);
    (void)cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 1);
    (void)cpt_path_label_name(path, CPT_LABEL_HOLDER, cpt_bytes_of("x"));
    (void)cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 2); /* instead of the first */
    (void)cpt_path_label_number(path, CPT_LABEL_KEY_MAX + 1, 1);
    (void)cpt_path_append_ns(path, root, MS);
    (void)cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 3);
    CU_ASSERT_STRING_EQUAL(trace_path_text(path),
                           "r 1 {attempt=2, holder=x}, r 1 {attempt=3}");
    CU_ASSERT_EQUAL(cpt_path_check(path, 2 * MS, NULL), CPT_OK);
    cpt_path_free(path);
}

static void test_words(void)
{
    int is_name = 9;

    CU_ASSERT_STRING_EQUAL(cpt_kind_word(CPT_KIND_BLIND_SPOT), "blind_spot");
    CU_ASSERT_STRING_EQUAL(cpt_kind_words(CPT_KIND_BLIND_SPOT), "blind spot");
    CU_ASSERT_STRING_EQUAL(cpt_reason_word(CPT_REASON_CACHED), "cached");
    CU_ASSERT_STRING_EQUAL(cpt_label_word(CPT_LABEL_HOLDER, &is_name), "holder");
    CU_ASSERT_EQUAL(is_name, 1);
    CU_ASSERT_PTR_NULL(cpt_kind_word(200));
    CU_ASSERT_PTR_NULL(cpt_kind_words(200));
    CU_ASSERT_PTR_NULL(cpt_reason_word(200));
    CU_ASSERT_PTR_NULL(cpt_label_word(200, &is_name));
}

static void test_check_compares_with_the_latency(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_path_check(path, 0, NULL), CPT_OK);
    (void)cpt_path_append_ns(path, frame_add(path, CPT_FRAME_NONE, "r"), 5);
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, &error), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, 6, &error), CPT_CORRUPT);
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "the segments sum to 5 ns, the latency is 6 ns");
    cpt_path_free(path);
}

static void test_check_finds_spoilt_frames(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = frame_add(path, CPT_FRAME_NONE, "r");
    const uint32_t frame = frame_add(path, root, "f");
    struct cpt_frame *spoilt =
        (struct cpt_frame *)(uintptr_t)cpt_path_frame(path, frame);
    const struct cpt_frame good = *spoilt;
    struct cpt_error error = {0};

    (void)cpt_path_append_ns(path, frame, 5);
    spoilt->parent = frame;
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, &error), CPT_CORRUPT);
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "frame 1 does not stand below an earlier frame");
    *spoilt = good;
    spoilt->depth = 7;
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_CORRUPT);
    *spoilt = good;
    spoilt->name = 99;
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_CORRUPT);
    *spoilt = *cpt_path_frame(path, root); /* the same one twice */
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_CORRUPT);
    *spoilt = good;
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_OK);
    cpt_path_free(path);
}

static void test_check_finds_spoilt_segments(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t root = frame_add(path, CPT_FRAME_NONE, "r");
    struct cpt_segment *segment = NULL;
    struct cpt_label *label = NULL;

    (void)cpt_path_append_ns(path, root, 5);
    (void)cpt_path_label_name(path, CPT_LABEL_HOLDER, cpt_bytes_of("x"));
    segment = (struct cpt_segment *)(uintptr_t)cpt_path_segment(path, 0);
    label = (struct cpt_label *)(uintptr_t)cpt_path_label(path, 0);
    segment->frame = 1;
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_CORRUPT);
    segment->frame = 0;
    segment->count = 0;
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_CORRUPT);
    segment->count = 1;
    segment->duration_ns = 4; /* no longer what was appended */
    CU_ASSERT_EQUAL(cpt_path_check(path, 4, NULL), CPT_CORRUPT);
    segment->duration_ns = 5;
    label->segment = 1;
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_CORRUPT);
    label->segment = 0;
    label->value = 99;
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_CORRUPT);
    label->value = 1;
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_OK);
    cpt_path_free(path);
}

static void test_reset_empties(void)
{
    struct cpt_path *path = cpt_path_new(NULL);

    (void)cpt_path_append_ns(path, frame_add(path, CPT_FRAME_NONE, "r"), 5);
    (void)cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 1);
    cpt_path_flags_add(path, CPT_PATH_UNORDERED);
    cpt_path_reset(path);
    CU_ASSERT_EQUAL(cpt_path_check(path, 0, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_frame_count(path), 0);
    CU_ASSERT_EQUAL(cpt_path_label_count(path), 0);
    CU_ASSERT_EQUAL(cpt_path_name_count(path), 0);
    CU_ASSERT_EQUAL(cpt_path_flags(path), 0);
    CU_ASSERT_EQUAL(frame_add(path, CPT_FRAME_NONE, "s"), 0);
    cpt_path_free(path);
}

static void test_long_names_are_cut(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    char name[300];
    uint32_t frame = 0;

    memset(name, 'n', sizeof name);
    CU_ASSERT_EQUAL(cpt_path_frame_add(path, CPT_FRAME_NONE,
                                       (struct cpt_bytes){name, sizeof name}, 0,
                                       &frame),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_frame_name(path, frame).bytes, CPT_NAME_BYTES_MAX);
    (void)cpt_path_append_ns(path, frame, 1);
    (void)cpt_path_label_name(path, CPT_LABEL_HOLDER,
                              (struct cpt_bytes){name, sizeof name});
    CU_ASSERT_EQUAL(cpt_path_name_count(path), 1);
    cpt_path_free(path);
}

static void test_service_is_the_nearest(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const uint32_t a = frame_add(path, CPT_FRAME_NONE, "plain");
    const uint32_t b = frame_add(path, a, "B: x");
    const uint32_t c = frame_add(path, b, "part");

    CU_ASSERT_EQUAL(cpt_path_frame_service(path, a).bytes, 0);
    CU_ASSERT_TRUE(cpt_bytes_equal(cpt_path_frame_service(path, b), cpt_bytes_of("B")));
    CU_ASSERT_TRUE(cpt_bytes_equal(cpt_path_frame_service(path, c), cpt_bytes_of("B")));
    cpt_path_free(path);
}

/* --- refused memory --- */

/* Adds one of everything; a refused allocation changes nothing, and adding goes on. */
static bool make_path(const struct cpt_alloc *alloc)
{
    struct cpt_path *path = cpt_path_new(alloc);
    bool is_good = path != NULL;
    uint32_t parent = CPT_FRAME_NONE;

    for (uint32_t i = 0; i < 40 && is_good; i++) {
        const char name[] = {'n', (char)('a' + i / 7), (char)('a' + i % 7), '\0'};
        const size_t frame_count = cpt_path_frame_count(path);
        uint32_t frame = CPT_FRAME_NONE;
        cpt_status status = CPT_OK;

        status = cpt_path_frame_add(path, parent, cpt_bytes_of(name), 0, &frame);
        if (status == CPT_OK) {
            parent = frame;
            status = cpt_path_append_ns(path, frame, 1);
        } else {
            CU_ASSERT_EQUAL(frame, CPT_FRAME_NONE);
            CU_ASSERT_EQUAL(cpt_path_frame_count(path), frame_count);
        }
        if (status == CPT_OK) {
            status =
                cpt_path_label_name(path, CPT_LABEL_HOLDER, cpt_bytes_of(name + 1));
        }
        if (status != CPT_OK) {
            CU_ASSERT_EQUAL(status, CPT_NO_MEMORY);
            CU_ASSERT_EQUAL(cpt_path_check(path, cpt_path_segment_count(path), NULL),
                            CPT_OK);
            CU_ASSERT_TRUE(cpt_path_label_count(path) <= cpt_path_segment_count(path));
            is_good = false;
        }
    }
    cpt_path_free(path);
    return is_good;
}

static void test_refused_memory_of_a_path(void)
{
    each_allocation_failure(make_path);
}

static cpt_status open_callee(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee)
{
    uint32_t frame = 0;
    cpt_status status =
        cpt_path_frame_add(callee, CPT_FRAME_NONE, call->name, CPT_KIND_WORK, &frame);

    (void)context;
    if (status == CPT_OK) {
        status = cpt_path_append_ns(callee, frame, 30 * MS);
    }
    call->reason = status != CPT_OK ? CPT_REASON_LIMIT : CPT_REASON_NONE;
    return status;
}

/*
 * A request with a wait on a started task, an overcounting callee, a queue and labels.
 * A callee whose path finds no memory becomes a blind spot; nothing fails.
 */
static bool walk_trace(const struct cpt_alloc *alloc)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 35);
    struct cpt_trace_task a2 = trace_task("A2", &a1, 28, 34);
    struct cpt_trace_call b1 = trace_call("B: 1", &a1, 5, 25);
    struct cpt_trace_await waits[2];
    struct cpt_trace trace = {.entry = cpt_bytes_of("A: /"),
                              .response_ns = 35 * MS,
                              .answered_by = &a1,
                              .open_callee = open_callee,
                              .attribution = CPT_ATTRIBUTE_BLOCKED};
    const char *whole = "A1 8, A1;B: 1 17 ! {excess_ns=10, attempt=1}, A1 3, "
                        "A1;A2;A: \u2039queue\u203a 1 {executor=pool}, A1;A2 5, A1 1";
    const char *blind =
        "A1 8, A1;B: 1;B: \u2039blind spot\u203a 17 (limit) {attempt=1}, "
        "A1 3, A1;A2;A: \u2039queue\u203a 1 {executor=pool}, A1;A2 5, "
        "A1 1";
    struct cpt_path *path = cpt_path_new(alloc);
    struct cpt_error error = {0};
    cpt_status status = CPT_OK;
    bool is_whole = false;

    if (path == NULL) {
        return false;
    }
    b1.outcome = CPT_CALL_REMOTE;
    b1.reply = "";
    b1.attempt = 1;
    a2.executor = cpt_bytes_of("pool");
    a2.start_ns += MS;
    trace_wait(&a1, &waits[0], &b1, NULL, 8, 25);
    trace_wait(&a1, &waits[1], NULL, &a2, 28, 34);
    status = cpt_critical_path(alloc, &trace, path, &error);
    CU_ASSERT_EQUAL(status, error.status);
    if (status == CPT_OK) {
        is_whole = b1.reason == CPT_REASON_NONE;
        CU_ASSERT_STRING_EQUAL(trace_path_text(path), is_whole ? whole : blind);
    } else {
        CU_ASSERT_EQUAL(status, CPT_NO_MEMORY);
        CU_ASSERT_EQUAL(cpt_path_segment_count(path), 0);
        CU_ASSERT_EQUAL(cpt_path_frame_count(path), 0);
        CU_ASSERT_STRING_EQUAL(error.sentence, "out of memory");
    }
    cpt_path_free(path);
    return is_whole;
}

static void test_refused_memory_of_the_walk(void)
{
    each_allocation_failure(walk_trace);
}

/* A scaled callee with labels and several frames; it does not use @alloc. */
static bool splice_path(const struct cpt_alloc *alloc)
{
    struct cpt_path *callee = cpt_path_new(NULL);
    struct cpt_path *path = cpt_path_new(alloc);
    const struct cpt_splice splice = {.observed_ns = 10 * MS};
    const uint32_t root = frame_add(callee, CPT_FRAME_NONE, "B: 1");
    cpt_status status = path != NULL ? CPT_OK : CPT_NO_MEMORY;
    uint32_t frame = 0;

    for (uint32_t i = 0; i < 12; i++) {
        const char name[] = {'B', ':', ' ', (char)('a' + i), '\0'};

        (void)cpt_path_append_ns(callee, frame_add(callee, root, name), 2 * MS);
        (void)cpt_path_label_name(callee, CPT_LABEL_HOLDER, cpt_bytes_of(name + 1));
    }
    if (status == CPT_OK) {
        status =
            cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &frame);
    }
    if (status == CPT_OK) {
        status = cpt_path_splice(path, frame, callee, &splice, NULL);
        CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
        CU_ASSERT_EQUAL(cpt_path_check(path, cpt_path_sum_ns(path), NULL), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpt_path_check(callee, 24 * MS, NULL), CPT_OK);
    cpt_path_free(path);
    cpt_path_free(callee);
    return status == CPT_OK;
}

static void test_refused_memory_of_a_splice(void)
{
    each_allocation_failure(splice_path);
}

extern CU_TestInfo cpt_path_tests[];
CU_TestInfo cpt_path_tests[] = {
    {"a frame is kept once", test_frames_stand_once},
    {"a stack of 1,024 frames is the deepest", test_depth_at_the_limit},
    {"the limit of frames is kept", test_frames_at_the_limit},
    {"the limit of segments is kept", test_segments_at_the_limit},
    {"labels beyond their limit are dropped", test_labels_at_the_limit},
    {"the sum is at most 2^63 - 1", test_sum_at_the_limit},
    {"a segment of 0 ns is not added", test_segments_of_no_time},
    {"a segment has one label of each key", test_labels_are_remarks},
    {"kinds, reasons and labels have words", test_words},
    {"the check compares with the latency", test_check_compares_with_the_latency},
    {"the check finds spoilt frames", test_check_finds_spoilt_frames},
    {"the check finds spoilt segments and labels", test_check_finds_spoilt_segments},
    {"a reset empties", test_reset_empties},
    {"names that are too long are cut", test_long_names_are_cut},
    {"the service is that of the nearest frame", test_service_is_the_nearest},
    {"refused memory leaves a path as it was", test_refused_memory_of_a_path},
    {"refused memory leaves no partial walk", test_refused_memory_of_the_walk},
    {"refused memory ends a splice", test_refused_memory_of_a_splice},
    CU_TEST_INFO_NULL,
};
