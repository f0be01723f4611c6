/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_manual_drags.c - drags of services that record their requests by hand; a drag
 * stands behind ~, in ms
 */
#include "tests/support/failing_alloc.h"
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_manual.h"
#include "framework/share/manual.h"

#include <stdio.h>
#include <string.h>

#define BLIND "B: \u2039blind spot\u203a"
#define DRAG  "1;max=2000;drag"

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

static struct cpt_manual *begin(const char *ask_header)
{
    const struct cpt_inbound inbound = inbound_with(ask_header);
    struct cpt_manual *manual = cpt_manual_new(pair.a, &inbound);

    CU_ASSERT_PTR_NOT_NULL_FATAL(manual);
    return manual;
}

/* Ends it, compares the path, and frees it. */
static void expect(struct cpt_manual *manual, const char *expected)
{
    (void)cpt_manual_end(manual);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cpt_manual_path(manual));
    CU_ASSERT_STRING_EQUAL(dragged_text(cpt_manual_path(manual)), expected);
    if (strcmp(dragged_text(cpt_manual_path(manual)), expected) != 0) {
        printf("\n  got      %s\n  expected %s\n",
               dragged_text(cpt_manual_path(manual)), expected);
    }
    cpt_manual_free(manual, 200);
}

/* A call of @ms, waited for. */
static void call_for(struct cpt_manual *manual, const char *callee, unsigned ms)
{
    struct cpt_manual_call *call = cpt_manual_call_begin(manual, callee);

    cpt_manual_wait_begin(manual);
    spend(ms);
    cpt_manual_call_end(manual, call, NULL);
    cpt_manual_wait_end(manual);
}

/* --- By the rules --- */

/* Fig 2c: 5 ms of A remain without the call of 14. */
static void test_figure_2c(void)
{
    struct cpt_manual_call *call = NULL;
    struct cpt_manual *manual = NULL;

    open_pair(never, never);
    manual = begin(DRAG);
    CU_ASSERT_TRUE(cpt_bytes_equal(cpt_manual_ask(manual), cpt_bytes_of(DRAG)));
    spend(3);
    call = cpt_manual_call_begin(manual, "B: /B1");
    spend(5);
    cpt_manual_wait_begin(manual);
    spend(9);
    cpt_manual_call_end(manual, call, NULL);
    cpt_manual_wait_end(manual);
    spend(3);
    expect(manual, "A: / 3 ~3, A: /;B: /B1;" BLIND " 14 ~9, A: / 3 ~3");
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "lost_drags", NULL), 0);
    close_pair();
}

/* A wait needs all that ended within it: the last call is worth its lead. */
static void test_calls_in_one_wait(void)
{
    struct cpt_manual_call *calls[3];
    struct cpt_manual *manual = NULL;

    open_pair(never, never);
    manual = begin(DRAG);
    calls[0] = cpt_manual_call_begin(manual, "B: /0");
    calls[1] = cpt_manual_call_begin(manual, "B: /1");
    spend(1);
    calls[2] = cpt_manual_call_begin(manual, "B: /2");
    cpt_manual_wait_begin(manual);
    spend(2);
    cpt_manual_call_end(manual, calls[1], NULL);
    spend(3);
    cpt_manual_call_end(manual, calls[0], NULL);
    spend(4);
    cpt_manual_call_end(manual, calls[2], NULL);
    spend(1);
    cpt_manual_wait_end(manual);
    expect(manual, "A: / 1 ~1, A: /;B: /2;" BLIND " 9 ~4, "
                   "A: /;A: \u2039queue\u203a 1 ~1");
    close_pair();
}

/* What computes beside a call that ends meanwhile would else have to wait for it, where
 * its end is told. */
static void test_a_call_that_ends_outside(void)
{
    struct cpt_manual_call *call = NULL;
    struct cpt_manual *manual = NULL;

    open_pair(never, never);
    manual = begin(DRAG);
    call = cpt_manual_call_begin(manual, "B: /0");
    cpt_manual_enter(manual, "long");
    spend(7);
    cpt_manual_leave(manual);
    spend(1);
    cpt_manual_call_end(manual, call, NULL);
    spend(1);
    (void)cpt_manual_call_begin(manual, "B: /never");
    spend(1);
    expect(manual, "A: /;A: long 7 ~0, A: / 3 ~2");
    close_pair();
}

/* The wait for nothing is not known, and lasts as long as it did. */
static void test_parts_and_other_waits(void)
{
    struct cpt_inbound inbound = inbound_with(DRAG);
    struct cpt_manual *manual = NULL;

    open_pair(never, never);
    spend(10);
    inbound.arrival_ns = now.now_ns;
    spend(4);
    manual = cpt_manual_new(pair.a, &inbound);
    cpt_manual_enter(manual, "outer");
    spend(2);
    cpt_manual_enter(manual, "inner");
    call_for(manual, "B: /0", 3);
    cpt_manual_leave(manual);
    cpt_manual_wait_begin(manual);
    spend(5);
    cpt_manual_wait_end(manual);
    cpt_manual_leave(manual);
    spend(1);
    expect(manual, "A: /;A: \u2039accept queue\u203a 4 ~4, A: /;A: outer 2 ~2, "
                   "A: /;A: outer;A: inner;B: /0;" BLIND " 3 ~3, "
                   "A: /;A: outer;A: \u2039unattributed\u203a 5, A: / 1 ~1");
    close_pair();
}

/* Calls in a row within one wait, and beside them another one. */
static void test_within_a_wait(void)
{
    struct cpt_manual_call *beside = NULL;
    struct cpt_manual_call *call = NULL;
    struct cpt_manual *manual = NULL;

    open_pair(never, never);
    manual = begin(DRAG);
    beside = cpt_manual_call_begin(manual, "B: /beside");
    call = cpt_manual_call_begin(manual, "B: /0");
    cpt_manual_wait_begin(manual);
    spend(6);
    cpt_manual_call_end(manual, call, NULL);
    call = cpt_manual_call_begin(manual, "B: /1");
    spend(4);
    cpt_manual_call_end(manual, beside, NULL);
    spend(2);
    cpt_manual_call_end(manual, call, NULL);
    cpt_manual_wait_end(manual);
    expect(manual, "A: /;B: /0;" BLIND " 6 ~2, A: /;B: /1;" BLIND " 6 ~2");
    close_pair();
}

/* Without the call of 12 ms A would wait for the other one for 10: no segment of B is
 * worth more than 2. */
static void test_callee_is_capped(void)
{
    struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_manual_reply reply = {.status = CPT_OK};
    struct cpt_manual_call *other = NULL;
    struct cpt_manual_call *call = NULL;
    struct cpt_manual *manual = NULL;

    open_pair(never, never);
    manual = begin(DRAG);
    other = cpt_manual_call_begin(manual, "B: /other");
    call = cpt_manual_call_begin(manual, "B: /look");
    spend(5);
    inbound.method = cpt_bytes_of("/look");
    inbound.critical_path = cpt_manual_ask(manual);
    inbound.critical_path_count = 1;
    cpt_manual_wait_begin(manual);
    ask(pair.b, &inbound); /* takes 5 ms */
    cpt_manual_call_end(manual, other, NULL);
    spend(2);
    reply.metadata =
        (struct cpt_bytes){(const char *)answer.metadata, answer.metadata_bytes};
    cpt_manual_call_end(manual, call, &reply);
    cpt_manual_wait_end(manual);
    spend(1);
    expect(manual,
           "A: /;B: /look;B: look 5 ~2, "
           "A: /;B: /look;B: \u2039network+serialization\u203a 7 ~2, A: / 1 ~1");
    CU_ASSERT_EQUAL(counter(pair.b, "drag_paths", NULL), 1);
    close_pair();
}

/* The same requests without being asked: the bytes that they had, and no drag. */
static void test_not_asked(void)
{
    static const char *const asks[] = {"1;max=2000", "1;max=2000;drag=?0"};
    unsigned char first[CPT_METADATA_BYTES_CEILING];
    size_t first_bytes = 0;

    open_pair(never, never);
    for (int i = 0; i < 2; i++) {
        struct cpt_manual *manual = begin(asks[i]);
        struct cpt_bytes metadata;

        CU_ASSERT_TRUE(
            cpt_bytes_equal(cpt_manual_ask(manual), cpt_bytes_of("1;max=2000")));
        call_for(manual, "B: /0", 3);
        metadata = cpt_manual_end(manual);
        CU_ASSERT_FALSE(cpt_path_has_drags(cpt_manual_path(manual)));
        if (i == 0) {
            first_bytes = metadata.bytes;
            memcpy(first, metadata.data, metadata.bytes);
        }
        CU_ASSERT_TRUE(first_bytes == metadata.bytes &&
                       memcmp(first, metadata.data, first_bytes) == 0);
        cpt_manual_free(manual, 200);
    }
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "lost_drags", NULL), 0);
    close_pair();
}

/* --- Limits --- */

static void test_limit(void)
{
    open_pair(never, never);
    for (int more = 0; more < 2; more++) {
        struct cpt_manual *manual = begin("1;max=4096;drag");
        const struct cpt_path *path = NULL;

        /* each is a part and the wait around it */
        for (int i = 0; i < CPTI_MANUAL_DRAG_RECORDS_MAX / 2 - 1 + more; i++) {
            cpt_manual_enter(manual, "part");
            spend(1);
            cpt_manual_leave(manual);
        }
        (void)cpt_manual_end(manual);
        path = cpt_manual_path(manual);
        CU_ASSERT_EQUAL(cpt_path_flags(path), 0);
        CU_ASSERT_EQUAL(cpt_path_has_drags(path), more == 0);
        CU_ASSERT_EQUAL(cpt_path_drag(path, 7), more == 0 ? MS : CPT_DRAG_UNKNOWN);
        cpt_manual_free(manual, 200);
        CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 1);
        CU_ASSERT_EQUAL(counter(pair.a, "lost_drags", NULL), (uint64_t)more);
    }
    close_pair();
}

/* Of too many records the path is what it is without drags: what only drags need does
 * not take the memory of what follows. */
static void test_path_above_the_limit(void)
{
    static const char *const asks[] = {"1;max=2000", DRAG};

    open_pair(never, never);
    for (int i = 0; i < 2; i++) {
        struct cpt_manual *manual = begin(asks[i]);

        for (int call = 0; call < 60000; call++) {
            cpt_manual_call_end(manual, cpt_manual_call_begin(manual, "B: /0"), NULL);
            spend(1);
        }
        call_for(manual, "B: /last", 1);
        expect(manual, "A: / 60000, A: /;B: /last;" BLIND " 1");
        CU_ASSERT_EQUAL(counter(pair.a, "lost_events", NULL), 0);
        CU_ASSERT_EQUAL(counter(pair.a, "lost_drags", NULL), (uint64_t)i);
    }
    close_pair();
}

/* Records that were lost: no drag is known. */
static void test_lost_records(void)
{
    struct cpt_service_options options = never;
    struct cpt_manual *manual = NULL;

    options.memory_bytes_max = 16384;
    open_pair(options, never);
    manual = begin(DRAG);
    for (int i = 0; i < 1000; i++) {
        call_for(manual, "B: /0", 1);
    }
    (void)cpt_manual_end(manual);
    CU_ASSERT_EQUAL(cpt_path_flags(cpt_manual_path(manual)), CPT_PATH_INCOMPLETE);
    CU_ASSERT_FALSE(cpt_path_has_drags(cpt_manual_path(manual)));
    cpt_manual_free(manual, 200);
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "lost_drags", NULL), 1);
    close_pair();
}

/* A request of no time has all its drags: none. */
static void test_no_time(void)
{
    open_pair(never, never);
    expect(begin(DRAG), "");
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 1);
    close_pair();
}

/* Whichever allocation is refused: a path with drags, without them, or none. */
static void test_without_memory(void)
{
    struct failing_alloc failing;
    size_t call_count = 1;

    for (size_t refused = 0; refused <= call_count; refused++) {
        struct cpt_service_options options = always;
        const struct cpt_inbound inbound = inbound_with(NULL);
        struct cpt_manual_call *call = NULL;
        struct cpt_manual *manual = NULL;

        failing_alloc_init(&failing, 0);
        virtual_init(&now, 0);
        options.struct_bytes = sizeof options;
        options.name = "A";
        options.drag_share = 1;
        options.clock = &now.clock;
        options.alloc = &failing.alloc;
        pair.a = cpt_service_new(&options, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(pair.a);
        failing_alloc_init(&failing, 0);
        failing.refused_call = refused;
        manual = cpt_manual_new(pair.a, &inbound);
        cpt_manual_enter(manual, "part");
        call = cpt_manual_call_begin(manual, "B: /0");
        spend(1);
        cpt_manual_call_end(manual, call, NULL);
        call_for(manual, "B: /1", 1);
        cpt_manual_leave(manual);
        (void)cpt_manual_end(manual);
        cpt_manual_free(manual, 200);
        CU_ASSERT_TRUE(counter(pair.a, "drag_paths", NULL) +
                           counter(pair.a, "lost_drags", NULL) +
                           counter(pair.a, "lost_paths", NULL) !=
                       0);
        CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
        call_count = refused == 0 ? atomic_load(&failing.call_count) : call_count;
        atomic_store(&failing.live_count, 100); /* the service was made before */
        cpt_service_free(pair.a);
    }
    CU_ASSERT_TRUE(call_count > 10);
}

extern CU_TestInfo cpt_manual_drags_tests[];
CU_TestInfo cpt_manual_drags_tests[] = {
    {"Figure 2c by hand", test_figure_2c},
    {"a wait needs all calls that end within it", test_calls_in_one_wait},
    {"a call that ends outside of waits", test_a_call_that_ends_outside},
    {"parts, the accept queue, a wait for nothing", test_parts_and_other_waits},
    {"calls that begin within a wait", test_within_a_wait},
    {"a callee's drags are capped", test_callee_is_capped},
    {"not asked: the same bytes", test_not_asked},
    {"above the limit there are none, which is counted", test_limit},
    {"… and the path is whole", test_path_above_the_limit},
    {"there are none if records were lost", test_lost_records},
    {"a request of no time", test_no_time},
    {"without memory", test_without_memory},
    CU_TEST_INFO_NULL,
};
