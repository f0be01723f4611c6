/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_folding.c - paths beyond the limit of segments lose their order, never time
 */
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

#include "cpt/trace/critical_steps.h"

#include <string.h>

enum { WAITS = 500, NAMES = 5 };

/* A task that waits 500 times: 1 ms for one of five calls, after it computed 2 ms. */
static struct {
    struct cpt_trace_task task;
    struct cpt_trace_call calls[WAITS];
    struct cpt_trace_await awaits[WAITS];
    struct cpt_trace trace;
} long_one;

static void make_long_one(void)
{
    static const char *const names[NAMES] = {"B0", "B1", "B2", "B3", "B4"};

    memset(&long_one, 0, sizeof long_one);
    long_one.task = trace_task("A1", NULL, 0, 3 * WAITS);
    for (unsigned i = 0; i < WAITS; i++) {
        long_one.calls[i] =
            trace_call(names[i % NAMES], &long_one.task, 3 * i + 2, 3 * i + 3);
        trace_wait(&long_one.task, &long_one.awaits[i], &long_one.calls[i], NULL,
                   3 * i + 2, 3 * i + 3);
    }
    long_one.trace = (struct cpt_trace){.response_ns = 3 * WAITS * (uint64_t)MS,
                                        .answered_by = &long_one.task};
}

/* The time of the frame @name in @path. */
static uint64_t time_of(const struct cpt_path *path, const char *name)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        if (cpt_bytes_equal(cpt_path_frame_name(path, segment->frame),
                            cpt_bytes_of(name))) {
            sum_ns += segment->duration_ns;
        }
    }
    return sum_ns;
}

static void expect_folded(size_t segments_max, int is_folded)
{
    struct cpt_path *path = cpt_path_new(NULL);
    size_t count = 0;

    make_long_one();
    CU_ASSERT_EQUAL(
        cpti_critical_path_within(NULL, &long_one.trace, path, segments_max, NULL),
        CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, long_one.trace.response_ns, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_flags(path), is_folded ? CPT_PATH_UNORDERED : 0U);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path) < 2 * WAITS, is_folded);
    CU_ASSERT_EQUAL(time_of(path, "A1"), 2 * WAITS * (uint64_t)MS);
    CU_ASSERT_EQUAL(time_of(path, "B0"), WAITS / NAMES * (uint64_t)MS);
    CU_ASSERT_EQUAL(time_of(path, "B4"), WAITS / NAMES * (uint64_t)MS);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        count += cpt_path_segment(path, i)->count;
    }
    CU_ASSERT_EQUAL(count, 2 * WAITS);
    cpt_path_free(path);
}

static void test_each_limit(void)
{
    for (size_t segments_max = NAMES + 3; segments_max < 2 * WAITS; segments_max++) {
        expect_folded(segments_max, 1);
    }
    expect_folded(2 * WAITS, 0);
}

/* Seventy callees whose paths are as long as metadata allows. */
enum { CALLEES = 70, CALLEE_SEGMENTS = 65535 };

static cpt_status open_long_callee(void *context, struct cpt_trace_call *call,
                                   struct cpt_path *callee)
{
    uint32_t frames[2];
    cpt_status status = cpt_path_frame_add(callee, CPT_FRAME_NONE, call->name,
                                           CPT_KIND_WORK, &frames[0]);

    (void)context;
    if (status == CPT_OK) {
        status = cpt_path_frame_add(callee, frames[0], cpt_bytes_of("C"), CPT_KIND_WORK,
                                    &frames[1]);
    }
    for (size_t i = 0; i < CALLEE_SEGMENTS && status == CPT_OK; i++) {
        status = cpt_path_append_ns(callee, frames[i % 2], 1);
    }
    return status;
}

static void test_segments_of_callees(void)
{
    static struct cpt_trace_call calls[CALLEES];
    static struct cpt_trace_await awaits[CALLEES];
    struct cpt_trace_task task = trace_task("A1", NULL, 0, CALLEES);
    struct cpt_trace trace = {.response_ns = CALLEES * (uint64_t)MS,
                              .answered_by = &task,
                              .open_callee = open_long_callee};
    struct cpt_path *path = cpt_path_new(NULL);

    for (unsigned i = 0; i < CALLEES; i++) {
        calls[i] = trace_call("B1", &task, i, i + 1);
        calls[i].outcome = CPT_CALL_REMOTE;
        calls[i].reply = &calls[i];
        trace_wait(&task, &awaits[i], &calls[i], NULL, i, i + 1);
    }
    CU_ASSERT_EQUAL(cpt_critical_path(NULL, &trace, path, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, trace.response_ns, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_flags(path), CPT_PATH_UNORDERED);
    CU_ASSERT_EQUAL(time_of(path, "C"), CALLEES * (uint64_t)(CALLEE_SEGMENTS / 2));
    CU_ASSERT_EQUAL(time_of(path, "B1"), CALLEES * (uint64_t)(CALLEE_SEGMENTS / 2 + 1));
    cpt_path_free(path);
}

extern CU_TestInfo cpt_folding_tests[];
CU_TestInfo cpt_folding_tests[] = {
    {"at each limit of segments", test_each_limit},
    {"callees with more segments than a path has", test_segments_of_callees},
    CU_TEST_INFO_NULL,
};
