/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_semantics.c - the hard cases, one after the other, times in milliseconds
 *
 * Each test is a small request whose answer is debatable; docs/model.md defines it.
 * Splicing alone is tested in test_splice.c.
 */
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

#include <string.h>

#define QUEUE "A: \u2039queue\u203a"

/* What a callee replied: a path of up to four segments below its root, or garbage. */
struct reply {
    const char *root;
    uint64_t segments_ms[4];
    const char *parts[4]; /* NULL: the root's own */
    int is_garbage;
};

/* Called by the trace. */
static struct {
    size_t opened_count;
    size_t spliced_count;
    uint64_t overcount_ns;
    uint64_t undercount_ns;
} told;

static cpt_status open_reply(void *context, struct cpt_trace_call *call,
                             struct cpt_path *callee)
{
    const struct reply *reply = call->reply;
    uint32_t root = 0;

    (void)context;
    told.opened_count++;
    (void)cpt_path_frame_add(callee, CPT_FRAME_NONE, cpt_bytes_of(reply->root), 0,
                             &root);
    for (size_t i = 0; i < 4 && reply->segments_ms[i] != 0; i++) {
        uint32_t frame = root;

        if (reply->parts[i] != NULL) {
            (void)cpt_path_frame_add(callee, root, cpt_bytes_of(reply->parts[i]), 0,
                                     &frame);
        }
        (void)cpt_path_append_ns(callee, frame, reply->segments_ms[i] * MS);
    }
    if (reply->is_garbage) {
        call->reason = CPT_REASON_UNDECODABLE;
        return CPT_CORRUPT;
    }
    return CPT_OK;
}

static void note_spliced(void *context, const struct cpt_trace_call *call,
                         uint64_t overcount_ns, uint64_t undercount_ns,
                         int is_inconsistent)
{
    (void)context;
    (void)call;
    (void)is_inconsistent;
    told.spliced_count++;
    told.overcount_ns += overcount_ns;
    told.undercount_ns += undercount_ns;
}

static struct cpt_trace answered(struct cpt_trace_task *by, uint64_t response_ms)
{
    memset(&told, 0, sizeof told);
    return (struct cpt_trace){.response_ns = response_ms * MS,
                              .answered_by = by,
                              .open_callee = open_reply,
                              .spliced = note_spliced};
}

/* An RPC whose callee replies @reply, which may be NULL. */
static struct cpt_trace_call rpc(const char *name, struct cpt_trace_task *issuer,
                                 uint64_t issue_ms, uint64_t arrive_ms,
                                 const struct reply *reply)
{
    struct cpt_trace_call call = trace_call(name, issuer, issue_ms, arrive_ms);

    call.outcome = CPT_CALL_REMOTE;
    call.reason = CPT_REASON_UNSUPPORTED;
    call.reply = reply;
    call.reply_bytes = reply != NULL ? sizeof *reply : 0;
    return call;
}

/* --- 1: the caller computes while its call is outstanding --- */

static void test_1_overlap(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 27);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 3, 23);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 27);

    trace_wait(&a1, &await, &b1, NULL, 9, 23);
    trace_expect(&trace, "A1 3, A1;B1 20, A1 4");
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    trace_expect(&trace, "A1 9, A1;B1 14, A1 4");
}

static void test_1_reply_was_there(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 27);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 3, 17);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 27);

    trace_wait(&a1, &await, &b1, NULL, 20, 17);
    trace_expect(&trace, "A1 27");
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    trace_expect(&trace, "A1 27");
}

/* A callee's path loses its front where the caller was still computing. */
static void test_1_blocked_cuts_the_front_of_a_path(void)
{
    const struct reply reply = {"B1", {8, 6, 4}, {NULL, "B: x", NULL}, 0};
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 27);
    struct cpt_trace_call b1 = rpc("B1", &a1, 3, 23, &reply);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 27);

    trace_wait(&a1, &await, &b1, NULL, 9, 23);
    trace_expect(&trace, "A1 3, A1;B1 8, A1;B1;B: x 6, A1;B1 4, "
                         "A1;B1;A: \u2039network+serialization\u203a 2, A1 4");
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    trace_expect(&trace, "A1 9, A1;B1 2, A1;B1;B: x 6, A1;B1 4, "
                         "A1;B1;A: \u2039network+serialization\u203a 2, A1 4");
}

/* Another task issued the call, after this one had blocked on it. */
static void test_1_blocked_on_anothers_call(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 30);
    struct cpt_trace_task a2 = trace_task("A2", NULL, 0, 14);
    struct cpt_trace_call b1 = trace_call("B1", &a2, 12, 20);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 30);

    trace_wait(&a1, &await, &b1, NULL, 5, 20);
    trace_expect(&trace, "A2 12, A2;B1 8, A1 10");
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    trace_expect(&trace, "A1 5, A2 7, A2;B1 8, A1 10");
}

/* --- 2: who released the join --- */

static void test_2_recorded_unblocker_is_followed(void)
{
    struct cpt_trace_task early = trace_task("early", NULL, 0, 10);
    struct cpt_trace_task late = trace_task("late", NULL, 0, 12);
    struct cpt_trace_task last = trace_next("last", &early, 10, 12, 20);
    struct cpt_trace trace = answered(&last, 20);

    /* in a race, `late` completed later but decremented first */
    trace_expect(&trace, "early 10, last;" QUEUE " 2, last 8");
    last.unblocker = &late;
    last.ready_ns = 12 * MS;
    trace_expect(&trace, "late 12, last 8");
}

static void test_2_early_stamp_is_clamped(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 12);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 2, 11);
    struct cpt_trace_task a2 = trace_next("A2", &a1, 10, 13, 20);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a2, 20);

    trace_wait(&a1, &await, &b1, NULL, 3, 11);
    trace_expect(&trace, "A1 2, A1;B1 8, A2;" QUEUE " 3, A2 7");
}

static void test_2_margin_stands_where_the_join_was(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 10);
    struct cpt_trace_task a2 = trace_next("A2", &a1, 10, 10, 30);
    struct cpt_trace_call b1 = trace_call("B1", &a2, 12, 25);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a2, 30);

    a2.has_margin = 1;
    a2.margin_ns = 4 * MS;
    trace_wait(&a2, &await, &b1, NULL, 12, 25);
    await.has_margin = 1;
    await.margin_ns = 3 * MS;
    trace_expect(&trace, "A1 10 {margin_ns=4}, A2 2, A2;B1 13 {margin_ns=3}, A2 5");
    await.resume_ns = 26 * MS; /* waiting for a worker is no part of the join */
    trace_expect(&trace, "A1 10 {margin_ns=4}, A2 2, A2;B1 13 {margin_ns=3}, A2;" QUEUE
                         " 1, A2 4");
}

/* Two joins at one time: the input could only be faster by the smaller margin. */
static void test_2_margins_of_joins_at_one_time(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 10);
    struct cpt_trace_task a2 = trace_next("A2", &a1, 10, 10, 10);
    struct cpt_trace_task a3 = trace_next("A3", &a2, 10, 10, 30);
    struct cpt_trace trace = answered(&a3, 30);

    a2.has_margin = a3.has_margin = 1;
    a2.margin_ns = 6 * MS;
    a3.margin_ns = 4 * MS;
    trace_expect(&trace, "A1 10 {margin_ns=4}, A3 20");
    a2.margin_ns = 2 * MS;
    trace_expect(&trace, "A1 10 {margin_ns=2}, A3 20");
}

/* With blocked attribution A1's own time ends where it blocked, at no join. */
static void test_2_margin_does_not_fall_through_a_block(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 30);
    struct cpt_trace_task a2 = trace_task("A2", &a1, 5, 10);
    struct cpt_trace_task a3 = trace_next("A3", &a2, 10, 10, 25);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 30);

    a3.has_margin = 1;
    a3.margin_ns = 4 * MS;
    trace_wait(&a1, &await, NULL, &a3, 9, 25);
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    trace_expect(&trace, "A1 9, A1;A2 1 {margin_ns=4}, A3 15, A1 5");
    await.block_ns = 10 * MS;
    trace_expect(&trace, "A1 10, A3 15, A1 5");
}

/* --- 3: ready is not running --- */

static void test_3_queue_is_a_frame_of_its_own(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 1, 20);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 5, 12);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 20);

    a1.ready_ns = 0;
    a1.executor = cpt_bytes_of("pool");
    trace_wait(&a1, &await, &b1, NULL, 5, 12);
    await.resume_ns = 15 * MS;
    trace_expect(&trace, "A1;" QUEUE " 1 {executor=pool}, A1 4, A1;B1 7, A1;" QUEUE
                         " 3 {executor=pool}, A1 5");
}

static void test_3_call_waits_for_a_connection(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 20);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 5, 15);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 20);

    b1.sent_ns = 8 * MS;
    b1.executor = cpt_bytes_of("connections to B");
    trace_wait(&a1, &await, &b1, NULL, 5, 15);
    trace_expect(&trace,
                 "A1 5, A1;" QUEUE " 3 {executor=connections to B}, A1;B1 7, A1 5");
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    await.block_ns = 7 * MS;
    trace_expect(&trace,
                 "A1 7, A1;" QUEUE " 1 {executor=connections to B}, A1;B1 7, A1 5");
    b1.outcome = CPT_CALL_REMOTE;
    await.block_ns = 10 * MS;
    trace_expect(&trace, "A1 10, A1;B1;A: \u2039blind spot\u203a 5, A1 5");
}

/* --- 4: retries, hedges, timeouts, joins of some inputs --- */

static void test_4_each_attempt_is_listed(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 40);
    struct cpt_trace_call first = trace_call("B: Get", &a1, 2, 12);
    struct cpt_trace_call pause = trace_call("B: Get", &a1, 12, 17);
    struct cpt_trace_call second = trace_call("B: Get", &a1, 17, 35);
    struct cpt_trace_await waits[3];
    struct cpt_trace trace = answered(&a1, 40);

    first.outcome = CPT_CALL_TIMEOUT;
    first.attempt = 1;
    first.status = cpt_bytes_of("DEADLINE");
    pause.outcome = CPT_CALL_KIND;
    pause.kind = CPT_KIND_BACKOFF;
    second.attempt = 2;
    trace_wait(&a1, &waits[0], &first, NULL, 2, 12);
    trace_wait(&a1, &waits[1], &pause, NULL, 12, 17);
    trace_wait(&a1, &waits[2], &second, NULL, 17, 35);
    trace_expect(&trace,
                 "A1 2, A1;B: Get;B: \u2039timeout\u203a 10 {attempt=1, "
                 "status=DEADLINE}, "
                 "A1;B: Get;B: \u2039backoff\u203a 5, A1;B: Get 18 {attempt=2}, A1 5");
}

static void test_4_hedge(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 40);
    struct cpt_trace_call primary = trace_call("B: Get", &a1, 2, 36);
    struct cpt_trace_call timer = trace_call("B: Get", &a1, 2, 12);
    struct cpt_trace_call hedge = trace_call("B: Get", &a1, 12, 30);
    struct cpt_trace_await waits[2];
    struct cpt_trace trace = answered(&a1, 40);

    timer.outcome = CPT_CALL_KIND;
    timer.kind = CPT_KIND_HEDGE_WAIT;
    primary.attempt = 1;
    hedge.attempt = 2;
    trace_wait(&a1, &waits[0], &timer, NULL, 2, 12);
    trace_wait(&a1, &waits[1], &hedge, NULL, 12, 30);
    trace_expect(&trace, "A1 2, A1;B: Get;B: \u2039hedge wait\u203a 10, "
                         "A1;B: Get 18 {attempt=2}, A1 10");
    waits[1].call = &primary; /* the first of the two was the primary after all */
    waits[1].arrive_ns = waits[1].resume_ns = 36 * MS;
    trace_expect(&trace, "A1 2, A1;B: Get 34 {attempt=1}, A1 4");
}

static void test_4_timeout_owns_the_whole_wait(void)
{
    const struct reply late = {"B: Get", {3}, {NULL}, 0};
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 20);
    struct cpt_trace_call call = rpc("B: Get", &a1, 5, 15, &late);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 20);

    call.outcome = CPT_CALL_TIMEOUT;
    call.sent_ns = 8 * MS;
    trace_wait(&a1, &await, &call, NULL, 5, 15);
    trace_expect(&trace, "A1 5, A1;B: Get;B: \u2039timeout\u203a 10, A1 5");
    CU_ASSERT_EQUAL(told.opened_count, 0);
}

static void test_4_cancelled_is_off_the_path(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 20);
    struct cpt_trace_task loser = trace_task("loser", &a1, 2, 18);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 2, 10);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 20);

    (void)loser;
    trace_wait(&a1, &await, &b1, NULL, 2, 10); /* the first of the two */
    trace_expect(&trace, "A1 2, A1;B1 8, A1 10");
    await.call = NULL; /* unless its end was what the request waited for */
    await.task = &loser;
    await.arrive_ns = await.resume_ns = 18 * MS;
    trace_expect(&trace, "A1 2, A1;loser 16, A1 2");
}

/* --- 5, 6, 7: paths of callees (more in test_splice.c) --- */

static void test_6_golden_vector_of_the_article(void)
{
    const struct reply reply = {"B1", {4, 12}, {NULL, "B2"}, 0};
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 33);
    struct cpt_trace_call b1 = rpc("B1", &a1, 5, 25, &reply);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 33);
    const char *expected = "A1 5, A1;B1 4, A1;B1;B2 12, "
                           "A1;B1;A: \u2039network+serialization\u203a 4, A1 8";

    trace_wait(&a1, &await, &b1, NULL, 5, 25);
    trace_expect(&trace, expected);
    CU_ASSERT_EQUAL(told.undercount_ns, 4 * MS);
    b1.has_server_elapsed = 1;
    b1.server_elapsed_ns = 16 * MS;
    trace_expect(&trace, expected);
    CU_ASSERT_EQUAL(told.spliced_count, 2);
}

static void test_5_overcount_is_told(void)
{
    const struct reply reply = {"B: x", {6, 6}, {NULL, "B: y"}, 0};
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 20);
    struct cpt_trace_call b1 = rpc("B: x", &a1, 5, 15, &reply);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 20);

    trace_wait(&a1, &await, &b1, NULL, 5, 15);
    trace_expect(&trace, "A1 5, A1;B: x 5 ! {excess_ns=2}, A1;B: x;B: y 5 !, A1 5");
    CU_ASSERT_EQUAL(told.overcount_ns, 2 * MS);
    trace.overcount = CPT_OVERCOUNT_CLIP;
    trace_expect(&trace, "A1 5, A1;B: x 6 ! {excess_ns=2}, A1;B: x;B: y 4 !, A1 5");
}

static void test_7_callee_without_a_path(void)
{
    const struct reply garbage = {"B: x", {3}, {NULL}, 1};
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 20);
    struct cpt_trace_call b1 = rpc("B: Get", &a1, 5, 15, NULL);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 20);

    trace_wait(&a1, &await, &b1, NULL, 5, 15);
    trace_expect(&trace,
                 "A1 5, A1;B: Get;B: \u2039blind spot\u203a 10 (unsupported), A1 5");
    CU_ASSERT_EQUAL(told.spliced_count, 0);
    b1.reply = &garbage;
    trace_expect(&trace,
                 "A1 5, A1;B: Get;B: \u2039blind spot\u203a 10 (undecodable), A1 5");
    b1.has_server_elapsed = 1;
    b1.server_elapsed_ns = 7 * MS;
    trace_expect(&trace, "A1 5, A1;B: Get;B: \u2039blind spot\u203a 7 (undecodable), "
                         "A1;B: Get;B: \u2039network+serialization\u203a 3, A1 5");
    CU_ASSERT_EQUAL(told.spliced_count, 0);
    b1.server_elapsed_ns = 12 * MS;
    trace_expect(&trace,
                 "A1 5, A1;B: Get;B: \u2039blind spot\u203a 10 (undecodable), A1 5");
    CU_ASSERT_EQUAL(told.overcount_ns, 2 * MS);
    CU_ASSERT_EQUAL(told.undercount_ns, 0);
}

/* A path that was not requested is not even read. */
static void test_7_only_callees_on_the_path_are_opened(void)
{
    const struct reply reply = {"B: x", {3}, {NULL}, 0};
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 20);
    struct cpt_trace_call slow = rpc("B: x", &a1, 5, 15, &reply);
    struct cpt_trace_call fast = rpc("B: x", &a1, 5, 8, &reply);
    struct cpt_trace_await waits[2];
    struct cpt_trace trace = answered(&a1, 20);

    trace_wait(&a1, &waits[0], &slow, NULL, 6, 15);
    trace_wait(&a1, &waits[1], &fast, NULL, 15, 8);
    trace_expect(
        &trace,
        "A1 5, A1;B: x 3, A1;B: x;B: \u2039network+serialization\u203a 7, A1 5");
    CU_ASSERT_EQUAL(told.opened_count, 1);
}

/* --- 8, 15: work that goes on after the response --- */

static void test_8_path_ends_with_the_response(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 50);
    struct cpt_trace_call before = trace_call("B1", &a1, 5, 15);
    struct cpt_trace_call after = trace_call("B2", &a1, 25, 45);
    struct cpt_trace_await waits[2];
    struct cpt_trace trace = answered(&a1, 20);

    trace_wait(&a1, &waits[0], &before, NULL, 5, 15);
    trace_wait(&a1, &waits[1], &after, NULL, 25, 45);
    trace_expect(&trace, "A1 5, A1;B1 10, A1 5");
    waits[1].arrive_ns = waits[1].resume_ns = 0; /* it still waits */
    trace_expect(&trace, "A1 5, A1;B1 10, A1 5");
    waits[1].arrive_ns = 45 * MS; /* it has arrived, but the task has not resumed */
    trace_expect(&trace, "A1 5, A1;B1 10, A1 5");
}

static void test_15_fire_and_forget(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 20);
    struct cpt_trace_task forgotten = trace_task("log", &a1, 3, 60);
    struct cpt_trace_call call = trace_call("B: Log", &a1, 4, 70);
    struct cpt_trace trace = answered(&a1, 20);

    (void)forgotten;
    (void)call;
    trace_expect(&trace, "A1 20");
}

/* --- 12, 13: one name, several times --- */

static void test_12_recursion_keeps_its_frames(void)
{
    struct cpt_trace_task outer = trace_task("A: f", NULL, 0, 10);
    struct cpt_trace_task inner = trace_task("A: f", &outer, 2, 8);
    struct cpt_trace_task core = trace_task("A: f", &inner, 3, 6);
    struct cpt_trace_await waits[2];
    struct cpt_trace trace = answered(&outer, 10);

    trace_wait(&inner, &waits[0], NULL, &core, 3, 6);
    trace_wait(&outer, &waits[1], NULL, &inner, 2, 8);
    trace_expect(&trace, "A: f 2, A: f;A: f 1, A: f;A: f;A: f 3, A: f;A: f 2, A: f 2");
}

static void test_13_occurrences_stay_apart(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 20);
    struct cpt_trace_call calls[3];
    struct cpt_trace_await waits[3];
    struct cpt_trace trace = answered(&a1, 20);

    for (uint64_t i = 0; i < 3; i++) {
        calls[i] = trace_call("B", &a1, 1 + 4 * i, 4 + 4 * i);
        trace_wait(&a1, &waits[i], &calls[i], NULL, 1 + 4 * i, 4 + 4 * i);
    }
    trace_expect(&trace, "A1 1, A1;B 3, A1 1, A1;B 3, A1 1, A1;B 3, A1 8");
}

/* Several in parallel: only the one that the task waited for last is on the path. */
static void test_13_parallel_calls(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 20);
    struct cpt_trace_call calls[3];
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 20);

    for (uint64_t i = 0; i < 3; i++) {
        calls[i] = trace_call("B", &a1, 1, 4 + 4 * i);
    }
    trace_wait(&a1, &await, &calls[2], NULL, 1, 12);
    trace_expect(&trace, "A1 1, A1;B 11, A1 8");
}

/* --- 14: from one thread to another --- */

static void test_14_hand_off_is_queue(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 5);
    struct cpt_trace_task a2 = trace_next("A2", &a1, 5, 9, 20);
    struct cpt_trace trace = answered(&a2, 20);

    a2.executor = cpt_bytes_of("other");
    trace_expect(&trace, "A1 5, A2;" QUEUE " 4 {executor=other}, A2 11");
}

/* --- 16: names may be anything --- */

static void test_16_hostile_names(void)
{
    static char long_name[400];
    struct cpt_trace_task a1 = trace_task("\u2039queue\u203a;x\n", NULL, 0, 5);
    struct cpt_trace_task a2 = trace_next(long_name, &a1, 5, 5, 9);
    struct cpt_trace trace = answered(&a1, 5);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};

    trace_expect(&trace, "\\xe2\\x80\\xb9queue\u203a\\x3bx\\x0a 5");
    memset(long_name, 'n', sizeof long_name - 1);
    a2.name = cpt_bytes_of(long_name);
    trace = answered(&a2, 9);
    trace.entry = a2.name;
    CU_ASSERT_EQUAL(cpt_critical_path(NULL, &trace, path, &error), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, 9 * MS, &error), CPT_OK);
    for (size_t i = 0; i < cpt_path_name_count(path); i++) {
        CU_ASSERT_TRUE(cpt_path_name(path, (cpt_name_id)i).bytes <= CPT_NAME_BYTES_MAX);
    }
    cpt_path_free(path);
}

/* --- 18: failures are ends like others --- */

static void test_18_failed_request_has_a_path(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 5);
    struct cpt_trace_call b1 = rpc("B: x", &a1, 1, 4, NULL);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 6);

    b1.reason = CPT_REASON_FAILED;
    trace_wait(&a1, &await, &b1, NULL, 1, 4);
    trace_expect(&trace, "A1 1, A1;B: x;B: \u2039blind spot\u203a 3 (failed), A1 2");
    trace = answered(NULL, 6);
    trace_expect(&trace, "A: / 6");
    trace.dropped_event_count = 1;
    trace_expect(&trace, "A: \u2039unattributed\u203a 6");
}

/* --- 19: no time, no segment --- */

static void test_19_nothing_takes_no_time(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 5);
    struct cpt_trace_task a2 = trace_next("A2", &a1, 5, 5, 5);
    struct cpt_trace_call b1 = trace_call("B1", &a2, 5, 5);
    struct cpt_trace_task a3 = trace_next("A3", &a2, 5, 5, 9);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a3, 9);

    trace_wait(&a2, &await, &b1, NULL, 5, 5);
    trace_expect(&trace, "A1 5, A3 4");
    trace.response_ns = 0;
    trace_expect(&trace, "");
}

/* --- 20: only differences of times matter --- */

static void test_20_time_base_does_not_matter(void)
{
    const uint64_t base_ns = (uint64_t)1 << 62;
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 27);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 3, 17);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 27);

    trace_wait(&a1, &await, &b1, NULL, 8, 17);
    trace.arrival_ns += base_ns;
    trace.response_ns += base_ns;
    a1.ready_ns += base_ns;
    a1.start_ns += base_ns;
    a1.end_ns += base_ns;
    b1.issue_ns += base_ns;
    b1.arrive_ns += base_ns;
    await.block_ns += base_ns;
    await.arrive_ns += base_ns;
    await.resume_ns += base_ns;
    trace_expect(&trace, "A1 3, A1;B1 14, A1 10");
}

/* --- 21: where the callee's time begins --- */

static void test_21_accept_queue(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 6, 20);
    struct cpt_trace trace = answered(&a1, 20);

    trace.dispatch_ns = 4 * MS;
    trace_expect(&trace, "A: \u2039accept queue\u203a 4, A1;" QUEUE " 2, A1 14");
    trace.dispatch_ns = 0;
    trace_expect(&trace, "A1;" QUEUE " 6, A1 14");
    trace.dispatch_ns = 99 * MS; /* inconsistent, but it adds up */
    trace_expect(&trace, "A: \u2039accept queue\u203a 20");
}

/* --- what a stack is --- */

static void test_stack_of_a_task(void)
{
    const struct cpt_trace_group outer = {cpt_bytes_of("G"), NULL};
    const struct cpt_trace_group inner = {cpt_bytes_of("H"), &outer};
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 10);
    struct cpt_trace_task a2 = trace_task("A2", &a1, 2, 8);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 10);

    trace_wait(&a1, &await, NULL, &a2, 2, 8);
    a1.group = &inner;
    a2.group = &inner; /* the same: named once */
    trace_expect(&trace, "G;H;A1 2, G;H;A1;A2 6, G;H;A1 2");
    a1.group = &outer;
    trace_expect(&trace, "G;A1 2, G;A1;H;A2 6, G;A1 2");
    a1.group = NULL;
    trace_expect(&trace, "A1 2, A1;G;H;A2 6, A1 2");
}

/* A sub-graph is its name and those above it: each task may have a copy of its own. */
static void test_stack_of_copied_groups(void)
{
    const struct cpt_trace_group outers[] = {{cpt_bytes_of("G"), NULL},
                                             {cpt_bytes_of("G"), NULL}};
    const struct cpt_trace_group inners[] = {{cpt_bytes_of("H"), &outers[0]},
                                             {cpt_bytes_of("H"), &outers[1]}};
    const struct cpt_trace_group alone = {cpt_bytes_of("H"), NULL};
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 10);
    struct cpt_trace_task a2 = trace_task("A2", &a1, 2, 8);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a1, 10);

    trace_wait(&a1, &await, NULL, &a2, 2, 8);
    a1.group = &inners[0];
    a2.group = &inners[1];
    trace_expect(&trace, "G;H;A1 2, G;H;A1;A2 6, G;H;A1 2");
    a2.group = &outers[1];
    trace_expect(&trace, "G;H;A1 2, G;H;A1;A2 6, G;H;A1 2");
    a1.group = &alone; /* another H, which is not within G */
    a2.group = &inners[1];
    trace_expect(&trace, "H;A1 2, H;A1;G;H;A2 6, H;A1 2");
}

/* Inputs are siblings; what is started nests. */
static void test_inputs_do_not_nest(void)
{
    struct cpt_trace_task input = trace_task("input", NULL, 0, 10);
    struct cpt_trace_task user = trace_next("user", &input, 10, 10, 20);
    struct cpt_trace trace = answered(&user, 20);

    trace_expect(&trace, "input 10, user 10");
}

/* --- records that are lost, or wrong --- */

static void test_lost_records(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 10);
    struct cpt_trace_task a2 = trace_next("A2", &a1, 10, 12, 30);
    struct cpt_trace_await await;
    struct cpt_trace trace = answered(&a2, 30);

    trace.dropped_event_count = 1;
    a2.begin = CPT_BEGIN_UNKNOWN;
    trace_expect(&trace, "A: \u2039unattributed\u203a 12, A2 18");
    a2.begin = CPT_BEGIN_TASK;
    a2.unblocker = NULL;
    trace_expect(&trace, "A: \u2039unattributed\u203a 10, A2;" QUEUE " 2, A2 18");
    a2.unblocker = &a1;
    trace_wait(&a2, &await, NULL, NULL, 15, 25);
    trace_expect(&trace, "A1 10, A2;" QUEUE " 2, A2 3, "
                         "A2;A: \u2039unattributed\u203a 10, A2 5");
}

static void test_lost_records_make_it_incomplete(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 10);
    struct cpt_trace trace = answered(&a1, 10);
    struct cpt_path *path = cpt_path_new(NULL);

    trace.entry = cpt_bytes_of("A: /");
    CU_ASSERT_EQUAL(cpt_critical_path(NULL, &trace, path, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_flags(path), 0);
    cpt_path_reset(path);
    trace.dropped_event_count = 1;
    CU_ASSERT_EQUAL(cpt_critical_path(NULL, &trace, path, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_flags(path), CPT_PATH_INCOMPLETE);
    cpt_path_free(path);
}

static void expect_corrupt(const struct cpt_trace *trace, const char *sentence)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_critical_path(NULL, trace, path, &error), CPT_CORRUPT);
    CU_ASSERT_EQUAL(error.status, CPT_CORRUPT);
    CU_ASSERT_STRING_EQUAL(error.sentence, sentence);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), 0);
    CU_ASSERT_EQUAL(cpt_path_frame_count(path), 0);
    cpt_path_free(path);
}

static void test_circles_are_refused(void)
{
    struct cpt_trace_task a = trace_task("A", NULL, 10, 20);
    struct cpt_trace_task b = trace_task("B", &a, 10, 10);
    struct cpt_trace trace = answered(&a, 20);

    a.begin = CPT_BEGIN_TASK;
    a.unblocker = &b;
    expect_corrupt(&trace, "the records lead in a circle through task \"A\"");
    a.begin = CPT_BEGIN_REQUEST;
    a.unblocker = NULL;
    a.starter = &b;
    expect_corrupt(&trace, "the starters lead in a circle through task \"A\"");
    a.starter = &a;
    expect_corrupt(&trace, "the starters lead in a circle through task \"A\"");
}

static void test_response_before_arrival_is_refused(void)
{
    struct cpt_trace_task a = trace_task("A", NULL, 10, 20);
    struct cpt_trace trace = answered(&a, 20);

    trace.arrival_ns = 21 * MS;
    expect_corrupt(&trace, "the response comes before the arrival of the request");
    trace.arrival_ns = 0;
    trace.response_ns = (uint64_t)INT64_MAX + 1;
    expect_corrupt(&trace, "the response comes before the arrival of the request");
}

extern CU_TestInfo cpt_semantics_tests[];
CU_TestInfo cpt_semantics_tests[] = {
    {"1: the callee owns the time from the issue, or the block, to the reply",
     test_1_overlap},
    {"1: a reply that had arrived takes no time", test_1_reply_was_there},
    {"1: blocked time only, of a callee's path",
     test_1_blocked_cuts_the_front_of_a_path},
    {"1: blocked time only, on another task's call", test_1_blocked_on_anothers_call},
    {"2: the recorded unblocker is followed", test_2_recorded_unblocker_is_followed},
    {"2: an early stamp is clamped", test_2_early_stamp_is_clamped},
    {"2: a margin is on the segment that ends at the join",
     test_2_margin_stands_where_the_join_was},
    {"2: of joins at one time the smaller margin counts",
     test_2_margins_of_joins_at_one_time},
    {"2: a margin does not fall through a block",
     test_2_margin_does_not_fall_through_a_block},
    {"3: queueing has its own frame", test_3_queue_is_a_frame_of_its_own},
    {"3: a call may wait for a connection", test_3_call_waits_for_a_connection},
    {"4: each attempt is listed", test_4_each_attempt_is_listed},
    {"4: the winner of a hedge has the time", test_4_hedge},
    {"4: a timeout owns the whole wait", test_4_timeout_owns_the_whole_wait},
    {"4: cancelled work is off the path", test_4_cancelled_is_off_the_path},
    {"5: an overcount is flagged", test_5_overcount_is_told},
    {"6: the article's own numbers", test_6_golden_vector_of_the_article},
    {"7: a callee without a path", test_7_callee_without_a_path},
    {"7: only callees on the path are opened",
     test_7_only_callees_on_the_path_are_opened},
    {"8: the path ends with the response", test_8_path_ends_with_the_response},
    {"12: recursion keeps its frames", test_12_recursion_keeps_its_frames},
    {"13: occurrences stay apart, in order", test_13_occurrences_stay_apart},
    {"13: of parallel calls the last one is on the path", test_13_parallel_calls},
    {"14: a hand-off between threads is queueing", test_14_hand_off_is_queue},
    {"15: work without a waiter is off the path", test_15_fire_and_forget},
    {"16: names may be anything", test_16_hostile_names},
    {"18: a failed request has a path", test_18_failed_request_has_a_path},
    {"19: no time, no segment", test_19_nothing_takes_no_time},
    {"20: the time base does not matter", test_20_time_base_does_not_matter},
    {"21: a request queues until it is taken up", test_21_accept_queue},
    {"a stack is groups, starters, the task", test_stack_of_a_task},
    {"groups are the same by their names", test_stack_of_copied_groups},
    {"inputs do not nest", test_inputs_do_not_nest},
    {"lost records leave unattributed time", test_lost_records},
    {"lost records make the path incomplete", test_lost_records_make_it_incomplete},
    {"the sentence about a cycle names the task", test_circles_are_refused},
    {"a response before the arrival is refused",
     test_response_before_arrival_is_refused},
    CU_TEST_INFO_NULL,
};
