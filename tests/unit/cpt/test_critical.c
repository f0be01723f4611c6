/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_critical.c - the golden vectors of the article, times in milliseconds */
#include "tests/support/suites.h"

#include "cpt/cpt_path.h"
#include "cpt/cpt_trace.h"

#include <stdio.h>
#include <string.h>

#define MS 1000000U

static struct cpt_trace_task task(const char *name, struct cpt_trace_task *starter,
                                  uint64_t start_ms, uint64_t end_ms)
{
    return (struct cpt_trace_task){.name = cpt_bytes_of(name),
                                   .starter = starter,
                                   .unblocker = starter,
                                   .ready_ns = start_ms * MS,
                                   .start_ns = start_ms * MS,
                                   .end_ns = end_ms * MS,
                                   .begin = starter != NULL ? CPT_BEGIN_TASK
                                                            : CPT_BEGIN_REQUEST};
}

static struct cpt_trace_call call(const char *name, struct cpt_trace_task *issuer,
                                  uint64_t issue_ms, uint64_t arrive_ms)
{
    return (struct cpt_trace_call){.name = cpt_bytes_of(name),
                                   .issuer = issuer,
                                   .issue_ns = issue_ms * MS,
                                   .arrive_ns = arrive_ms * MS};
}

static void wait_for(struct cpt_trace_task *waiting, struct cpt_trace_await *await,
                     struct cpt_trace_call *on_call, struct cpt_trace_task *on_task,
                     uint64_t block_ms, uint64_t arrive_ms)
{
    *await = (struct cpt_trace_await){
        .previous = waiting->last_await,
        .call = on_call,
        .task = on_task,
        .block_ns = block_ms * MS,
        .arrive_ns = arrive_ms * MS,
        .resume_ns = (arrive_ms > block_ms ? arrive_ms : block_ms) * MS};
    waiting->last_await = await;
}

/* The path as "A1 5, A1;B1 20", the entry frame left out, which must have no time. */
static const char *path_text(const struct cpt_path *path)
{
    static char text[512];
    size_t bytes = 0;

    text[0] = '\0';
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        char stack[256];
        const char *shown = stack;

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        if (strncmp(stack, "A: /;", 5) == 0) {
            shown += 5;
        }
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s%s %llu",
                                  i != 0 ? ", " : "", shown,
                                  (unsigned long long)(segment->duration_ns / MS));
    }
    return text;
}

static void expect(struct cpt_trace *trace, const char *expected)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};

    trace->entry = cpt_bytes_of("A: /");
    CU_ASSERT_EQUAL(cpt_critical_path(NULL, trace, path, &error), CPT_OK);
    CU_ASSERT_EQUAL(
        cpt_path_check(path, trace->response_ns - trace->arrival_ns, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(path_text(path), expected);
    if (strcmp(path_text(path), expected) != 0) {
        printf("\n  got      %s\n  expected %s\n", path_text(path), expected);
    }
    cpt_path_free(path);
}

static void test_figure_2a(void)
{
    struct cpt_trace_task a1 = task("A1", NULL, 0, 35);
    struct cpt_trace_task a2 = task("A2", &a1, 33, 35);
    struct cpt_trace_call b1 = call("B1", &a1, 5, 25);
    struct cpt_trace_await waits[2];
    struct cpt_trace trace = {.response_ns = 35 * MS, .answered_by = &a1};

    wait_for(&a1, &waits[0], &b1, NULL, 5, 25);
    wait_for(&a1, &waits[1], NULL, &a2, 33, 35);
    expect(&trace, "A1 5, A1;B1 20, A1 8, A1;A2 2");
}

static void test_figure_2b(void)
{
    struct cpt_trace_task a1 = task("A1", NULL, 0, 33);
    struct cpt_trace_task a2 = task("A2", &a1, 5, 7);
    struct cpt_trace_call b1 = call("B1", &a1, 5, 25);
    struct cpt_trace_await waits[2];
    struct cpt_trace trace = {.response_ns = 33 * MS, .answered_by = &a1};

    wait_for(&a1, &waits[0], &b1, NULL, 5, 25);
    wait_for(&a1, &waits[1], NULL, &a2, 25, 7);
    expect(&trace, "A1 5, A1;B1 20, A1 8");
}

static void test_figure_2c(void)
{
    struct cpt_trace_task a1 = task("A1", NULL, 0, 27);
    struct cpt_trace_call b1 = call("B1", &a1, 3, 17);
    struct cpt_trace_await await;
    struct cpt_trace trace = {.response_ns = 27 * MS, .answered_by = &a1};

    wait_for(&a1, &await, &b1, NULL, 8, 17);
    expect(&trace, "A1 3, A1;B1 14, A1 10");
}

static void test_blocked_attribution(void)
{
    struct cpt_trace_task a1 = task("A1", NULL, 0, 27);
    struct cpt_trace_call b1 = call("B1", &a1, 3, 23);
    struct cpt_trace_await await;
    struct cpt_trace trace = {.response_ns = 27 * MS, .answered_by = &a1};

    wait_for(&a1, &await, &b1, NULL, 9, 23);
    expect(&trace, "A1 3, A1;B1 20, A1 4");
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    expect(&trace, "A1 9, A1;B1 14, A1 4");
}

static void test_mirror_of_figure_2c(void)
{
    struct cpt_trace_task a1 = task("A1", NULL, 0, 27);
    struct cpt_trace_call b1 = call("B1", &a1, 3, 17);
    struct cpt_trace_await await;
    struct cpt_trace trace = {.response_ns = 27 * MS, .answered_by = &a1};

    wait_for(&a1, &await, &b1, NULL, 20, 17);
    expect(&trace, "A1 27");
}

static void test_circle_is_refused(void)
{
    struct cpt_trace_task a = task("A", NULL, 10, 20);
    struct cpt_trace_task b = task("B", &a, 10, 10);
    struct cpt_trace trace = {.response_ns = 20 * MS, .answered_by = &a};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};

    a.begin = CPT_BEGIN_TASK;
    a.unblocker = &b;
    CU_ASSERT_EQUAL(cpt_critical_path(NULL, &trace, path, &error), CPT_CORRUPT);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), 0);
    cpt_path_free(path);
}

/* B: P ms of its own under a root "B1", spliced into a caller that observed O. */
static void expect_splice(const char *expected, uint64_t observed_ms, uint64_t path_ms,
                          int64_t server_elapsed_ms, uint64_t overcount_ms)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *callee = cpt_path_new(NULL);
    struct cpt_splice splice = {.observed_ns = observed_ms * MS};
    struct cpt_splice_report report = {0};
    uint32_t root = 0;
    uint32_t frame = 0;

    if (server_elapsed_ms >= 0) {
        splice.has_server_elapsed = 1;
        splice.server_elapsed_ns = (uint64_t)server_elapsed_ms * MS;
    }
    (void)cpt_path_frame_add(callee, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &root);
    (void)cpt_path_frame_add(callee, root, cpt_bytes_of("B: 2"), 0, &frame);
    (void)cpt_path_append_ns(callee, root, path_ms * MS / 4);
    (void)cpt_path_append_ns(callee, frame, path_ms * MS - path_ms * MS / 4);
    (void)cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &root);
    CU_ASSERT_EQUAL(cpt_path_splice(path, root, callee, &splice, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, observed_ms * MS, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(path_text(path), expected);
    CU_ASSERT_EQUAL(report.overcount_ns, overcount_ms * MS);
    cpt_path_free(path);
    cpt_path_free(callee);
}

static void test_splice(void)
{
    expect_splice("B: 1 4, B: 1;B: 2 12, B: 1;B: \u2039network+serialization\u203a 4",
                  20, 16, -1, 0);
    expect_splice("B: 1 4, B: 1;B: 2 12, B: 1;B: \u2039unattributed\u203a 2, "
                  "B: 1;B: \u2039network+serialization\u203a 2",
                  20, 16, 18, 0);
    expect_splice("B: 1 4, B: 1;B: 2 12, B: 1;B: \u2039unattributed\u203a 4", 20, 16,
                  24, 4);
    expect_splice("B: 1 4, B: 1;B: 2 12, B: 1;B: \u2039network+serialization\u203a 4",
                  20, 16, 15, 0);
    expect_splice("B: 1 5, B: 1;B: 2 15", 20, 24, 18, 4);
}

extern CU_TestInfo cpt_critical_tests[];
CU_TestInfo cpt_critical_tests[] = {
    {"figure 2a: one after the other", test_figure_2a},
    {"figure 2b: the shorter of two is off the path", test_figure_2b},
    {"figure 2c: overlapped computation is the callee's", test_figure_2c},
    {"with blocked attribution it is the caller's", test_blocked_attribution},
    {"a reply that was already there takes no time", test_mirror_of_figure_2c},
    {"records in a circle are refused", test_circle_is_refused},
    {"a spliced path takes exactly the observed time", test_splice},
    CU_TEST_INFO_NULL,
};
