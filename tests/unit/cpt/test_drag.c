/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_drag.c - the drags of segments, in one service and through several
 *
 * Against recomputation: random systems are graphs of pieces, from which a model finds
 * the latency without the pieces of a segment (tests/support/random_system.h). The core
 * sees each service's records alone, and puts their paths together.
 */
#include "cpt/cpt_drag.h"
#include "cpt/cpt_path.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/random_system.h"
#include "tests/support/random_trace.h"
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

#include <inttypes.h>
#include <string.h>

enum { CASES = 3000, TRACE_CASES = 10000 };

static struct random_system made;
static struct random_trace one;

/* --- Walking a system --- */

static cpt_status walk_run(const struct cpt_alloc *alloc, struct system_run *run,
                           unsigned attribution, struct cpt_path *path);

static cpt_status open_callee(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee)
{
    struct system_run *run =
        &made.runs[(const struct system_run *)call->reply - made.runs];

    return walk_run(context, run, CPT_ATTRIBUTE_LONGEST, callee);
}

/* Each service knows its own records, and what its callees sent. */
static cpt_status walk_run(const struct cpt_alloc *alloc, struct system_run *run,
                           unsigned attribution, struct cpt_path *path)
{
    const struct cpt_dag_run own = {&run->trace, NULL};
    const struct cpt_dag_records records = {
        &own, 1, run->tasks, NULL, run->task_count, run->arrivals, run->arrival_count};
    struct cpt_drags *drags = NULL;
    cpt_status status = CPT_OK;

    run->trace.attribution = attribution;
    run->trace.open_callee = open_callee;
    run->trace.context = (void *)(uintptr_t)alloc;
    status = cpt_drags_new(alloc, &records, 0, &drags, NULL);
    if (status == CPT_OK) {
        run->trace.drags = drags;
        status = cpt_critical_path(alloc, &run->trace, path, NULL);
        run->trace.drags = NULL;
    }
    cpt_drags_free(drags);
    return status;
}

/* --- Against the model --- */

static void print_difference(const struct cpt_path *path, size_t segment,
                             uint64_t expected_ns)
{
    char text[200];

    (void)cpt_path_stack_text(path, cpt_path_segment(path, segment)->frame, text,
                              sizeof text);
    printf("\n  segment %zu, %s, of %" PRIu64 " ns: drag %" PRIu64
           ", expected %" PRIu64,
           segment, text, cpt_path_segment(path, segment)->duration_ns,
           cpt_path_drag(path, segment), expected_ns);
}

static uint64_t drag_of(const uint64_t *less_ns)
{
    return random_system_latency(&made) - random_system_replay(&made, less_ns);
}

static bool is_segment_right(const struct cpt_path *path, size_t segment)
{
    const struct system_segment *expected = &made.segments[segment];
    uint64_t less_ns[SYSTEM_PIECES_MAX] = {0};
    uint64_t drag_ns = 0;

    for (size_t i = expected->first; i < expected->end; i++) {
        less_ns[made.members[i]] = made.pieces[made.members[i]].duration_ns;
    }
    drag_ns = drag_of(less_ns);
    if (cpt_path_segment(path, segment)->duration_ns == expected->duration_ns &&
        cpt_path_drag(path, segment) == drag_ns) {
        return true;
    }
    print_difference(path, segment, drag_ns);
    return false;
}

struct name_bounds {
    uint64_t frame_count;
    uint64_t super_count; /* names that gain more than the sum of their drags */
};

/* All own time of tasks of one name together. */
static bool are_names_right(const struct cpt_path *path, struct name_bounds *bounds)
{
    for (uint32_t name = 0; name < SYSTEM_NAMES_MAX; name++) {
        uint64_t less_ns[SYSTEM_PIECES_MAX] = {0};
        uint64_t path_ns = 0;
        uint64_t largest_ns = 0;
        uint64_t sum_ns = 0;
        uint64_t gain_ns = 0;

        for (size_t i = 0; i < made.piece_count; i++) {
            const struct system_piece *piece = &made.pieces[i];

            if (piece->kind == PIECE_SELF && made.task_names[piece->task] == name) {
                less_ns[i] = piece->duration_ns;
            }
        }
        for (size_t i = 0; i < made.segment_count; i++) {
            if (less_ns[made.members[made.segments[i].first]] != 0) {
                const uint64_t drag_ns = cpt_path_drag(path, i);

                path_ns += made.segments[i].duration_ns;
                sum_ns += drag_ns;
                largest_ns = drag_ns > largest_ns ? drag_ns : largest_ns;
            }
        }
        gain_ns = drag_of(less_ns);
        if (largest_ns > gain_ns || gain_ns > path_ns) {
            printf("\n  name %u: drag %" PRIu64 ", gain %" PRIu64 ", path %" PRIu64,
                   (unsigned)name, largest_ns, gain_ns, path_ns);
            return false;
        }
        bounds->frame_count += path_ns != 0;
        bounds->super_count += gain_ns > sum_ns;
    }
    return true;
}

static bool is_system_right(struct cpt_path *path, uint64_t *segment_count,
                            struct name_bounds *bounds)
{
    cpt_status status = walk_run(NULL, &made.runs[0], CPT_ATTRIBUTE_LONGEST, path);

    random_system_walk(&made);
    if (status != CPT_OK ||
        cpt_path_check(path, random_system_latency(&made), NULL) != CPT_OK ||
        cpt_path_segment_count(path) != made.segment_count) {
        printf("\n  %s: %zu segments, expected %zu", cpt_status_sentence(status),
               cpt_path_segment_count(path), made.segment_count);
        return false;
    }
    for (size_t i = 0; i < made.segment_count; i++) {
        if (!is_segment_right(path, i)) {
            return false;
        }
    }
    *segment_count += made.segment_count;
    return are_names_right(path, bounds);
}

static void tell_again(uint64_t seed)
{
    printf("\n  again with CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n", seed);
}

static void test_systems(void)
{
    const uint64_t seed = test_random_seed("drags through services");
    const uint64_t count = test_case_count(CASES);
    struct cpt_path *path = cpt_path_new(NULL);
    struct name_bounds bounds = {0, 0};
    uint64_t segment_count = 0;
    unsigned failed_count = 0;

    for (uint64_t i = 0; i < count && failed_count < 3; i++) {
        struct test_random random = {seed + i};

        random_system_make(&made, &random, 1 + (unsigned)(i % 4));
        cpt_path_reset(path);
        if (!is_system_right(path, &segment_count, &bounds)) {
            tell_again(seed + i);
            failed_count++;
        }
    }
    cpt_path_free(path);
    CU_ASSERT_EQUAL(failed_count, 0);
    printf("%" PRIu64 " systems, %" PRIu64 " segments; %" PRIu64 " of %" PRIu64
           " names gain more than the sum of their drags ",
           count, segment_count, bounds.super_count, bounds.frame_count);
}

/* --- One service, in time --- */

/* What a segment belongs to: "t3" is task 3, "c5" call 5; the frame itself has that
 * name, or that above it. */
static struct cpt_bytes owner_of(const struct cpt_path *path, size_t segment)
{
    const uint32_t frame = cpt_path_segment(path, segment)->frame;
    const struct cpt_bytes name = cpt_path_frame_name(path, frame);

    return name.bytes != 0
               ? name
               : cpt_path_frame_name(path, cpt_path_frame(path, frame)->parent);
}

static bool is_piece_of(const struct system_piece *piece, struct cpt_bytes owner,
                        unsigned kind)
{
    char name[16];

    (void)snprintf(name, sizeof name, "%c%u", owner.data[0],
                   (unsigned)(owner.data[0] == 't' ? piece->task : piece->call));
    if (!cpt_bytes_equal(owner, cpt_bytes_of(name))) {
        return false;
    }
    return owner.data[0] == 'c'     ? piece->kind == PIECE_CALL
           : kind == CPT_KIND_QUEUE ? piece->kind == PIECE_QUEUE
                                    : piece->kind == PIECE_SELF;
}

/* The queue of a call, which stands below the task that issued it. */
static bool is_queue_below(const struct system_piece *piece, struct cpt_bytes owner)
{
    return piece->kind == PIECE_QUEUE && piece->call != SYSTEM_NONE &&
           cpt_bytes_equal(made.calls[piece->call].issuer->name, owner);
}

/* Puts into @less_ns what the pieces of segment @segment, which begins at @begin_ns,
 * have of that time. Returns how much of it they have; 0 if it may be a call's queue.
 */
static uint64_t pieces_in_time(const struct cpt_path *path, size_t segment,
                               uint64_t begin_ns, uint64_t *less_ns)
{
    const uint64_t end_ns = begin_ns + cpt_path_segment(path, segment)->duration_ns;
    const unsigned kind =
        cpt_path_frame(path, cpt_path_segment(path, segment)->frame)->kind;
    const struct cpt_bytes owner = owner_of(path, segment);
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < made.piece_count; i++) {
        const struct system_piece *piece = &made.pieces[i];
        const uint64_t start_ns = piece->finish_ns - piece->duration_ns;
        const uint64_t from_ns = start_ns > begin_ns ? start_ns : begin_ns;
        const uint64_t to_ns = piece->finish_ns < end_ns ? piece->finish_ns : end_ns;

        if (kind == CPT_KIND_QUEUE && from_ns == begin_ns && to_ns == end_ns &&
            is_queue_below(piece, owner)) {
            return 0;
        }
        if (from_ns < to_ns && is_piece_of(piece, owner, kind)) {
            less_ns[i] = to_ns - from_ns;
            sum_ns += less_ns[i];
        }
    }
    return sum_ns;
}

static bool is_service_right(const struct cpt_path *path, uint64_t *skipped_count)
{
    uint64_t at_ns = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const uint64_t duration_ns = cpt_path_segment(path, i)->duration_ns;
        uint64_t less_ns[SYSTEM_PIECES_MAX] = {0};

        if (pieces_in_time(path, i, at_ns, less_ns) != duration_ns) {
            (*skipped_count)++;
        } else if (cpt_path_drag(path, i) != drag_of(less_ns)) {
            print_difference(path, i, drag_of(less_ns));
            return false;
        }
        at_ns += duration_ns;
    }
    return at_ns == random_system_latency(&made);
}

/* Names that are unique. */
static void name_all(char (*names)[8])
{
    for (unsigned i = 0; i < made.task_count; i++) {
        (void)snprintf(names[i], sizeof *names, "t%u", i % 1000);
        made.tasks[i].name = cpt_bytes_of(names[i]);
    }
    for (unsigned i = 0; i < made.call_count; i++) {
        char *name = names[SYSTEM_TASKS_MAX + i];

        (void)snprintf(name, sizeof *names, "c%u", i % 1000);
        made.calls[i].name = cpt_bytes_of(name);
    }
}

static void try_service(unsigned attribution)
{
    static char names[SYSTEM_TASKS_MAX + SYSTEM_CALLS_MAX][8];
    const uint64_t seed = test_random_seed("drags of one service");
    struct cpt_path *path = cpt_path_new(NULL);
    uint64_t skipped_count = 0;
    unsigned failed_count = 0;

    for (uint64_t i = 0; i < test_case_count(CASES) && failed_count < 3; i++) {
        struct test_random random = {seed + i};
        cpt_status status = CPT_OK;

        random_system_make(&made, &random, 1);
        name_all(names);
        cpt_path_reset(path);
        status = walk_run(NULL, &made.runs[0], attribution, path);
        if (status != CPT_OK || !is_service_right(path, &skipped_count)) {
            tell_again(seed + i);
            failed_count++;
        }
    }
    cpt_path_free(path);
    CU_ASSERT_EQUAL(failed_count, 0);
    printf("%" PRIu64 " skipped ", skipped_count);
}

static void test_longest(void)
{
    try_service(CPT_ATTRIBUTE_LONGEST);
}

static void test_blocked(void)
{
    try_service(CPT_ATTRIBUTE_BLOCKED);
}

/* --- Any trace --- */

/* The path of `one`, with drags. */
static cpt_status walk_one(const struct cpt_alloc *alloc, struct cpt_path *path)
{
    struct cpt_trace_task *tasks[RANDOM_TASKS_MAX];
    const struct cpt_dag_run run = {&one.trace, NULL};
    const struct cpt_dag_records records = {&run,           1,    tasks, NULL,
                                            one.task_count, NULL, 0};
    struct cpt_drags *drags = NULL;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < one.task_count; i++) {
        tasks[i] = &one.tasks[i];
    }
    status = cpt_drags_new(alloc, &records, 0, &drags, NULL);
    if (status == CPT_OK) {
        one.trace.drags = drags;
        status = cpt_critical_path(alloc, &one.trace, path, NULL);
        one.trace.drags = NULL;
    }
    cpt_drags_free(drags);
    return status;
}

struct counts {
    uint64_t known;
    uint64_t unknown;
};

static void try_traces(const char *what, struct counts *counts,
                       void (*harm)(struct random_trace *, struct test_random *))
{
    const uint64_t seed = test_random_seed(what);
    struct cpt_path *path = cpt_path_new(NULL);

    *counts = (struct counts){0, 0};
    for (uint64_t i = 0; i < test_case_count(TRACE_CASES); i++) {
        struct test_random random = {seed + i};
        cpt_status status = CPT_OK;

        while (!random_trace_make(&one, &random)) {
        }
        if (harm != NULL) {
            harm(&one, &random);
        }
        one.trace.attribution = (unsigned)(i % 2);
        cpt_path_reset(path);
        status = walk_one(NULL, path);
        CU_ASSERT_TRUE(status == CPT_OK || harm == random_trace_spoil);
        for (size_t j = 0; j < cpt_path_segment_count(path); j++) {
            const uint64_t drag_ns = cpt_path_drag(path, j);

            counts->known += drag_ns != CPT_DRAG_UNKNOWN;
            counts->unknown += drag_ns == CPT_DRAG_UNKNOWN;
            CU_ASSERT_TRUE(drag_ns == CPT_DRAG_UNKNOWN ||
                           drag_ns <= cpt_path_segment(path, j)->duration_ns);
        }
    }
    printf("%" PRIu64 " known, %" PRIu64 " not ", counts->known, counts->unknown);
    cpt_path_free(path);
}

static void test_traces(void)
{
    struct counts counts;

    try_traces("drags of traces", &counts, NULL);
    CU_ASSERT_TRUE(counts.unknown == 0);
}

static void test_skewed(void)
{
    struct counts counts;

    try_traces("drags, early stamps", &counts, random_trace_skew);
    CU_ASSERT_TRUE(counts.known >= counts.unknown);
}

static void test_lost(void)
{
    struct counts counts;

    try_traces("drags, lost records", &counts, random_trace_lose);
}

static void test_nonsense(void)
{
    struct counts counts;

    try_traces("drags, nonsense", &counts, random_trace_spoil);
}

/* --- By hand --- */

/* a issues B at 3, computes until 9, waits until 23, and ends at 27. */
static void make_overlap(void)
{
    memset(&one, 0, sizeof one);
    one.task_count = 1;
    one.tasks[0] = trace_task("A: a", NULL, 0, 27);
    one.calls[0] = trace_call("B: B1", &one.tasks[0], 3, 23);
    trace_wait(&one.tasks[0], &one.awaits[0], &one.calls[0], NULL, 9, 23);
    one.trace.entry = cpt_bytes_of("A: /");
    one.trace.answered_by = &one.tasks[0];
    one.trace.response_ns = 27 * MS;
}

static void expect_drags(const uint64_t *expected_ms, size_t count)
{
    struct cpt_path *path = cpt_path_new(NULL);

    CU_ASSERT_EQUAL(walk_one(NULL, path), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_path_segment_count(path), count);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(cpt_path_drag(path, i), expected_ms[i] == UINT64_MAX
                                                    ? CPT_DRAG_UNKNOWN
                                                    : expected_ms[i] * MS);
    }
    cpt_path_free(path);
}

/* Of Figure 2c's B1 only what the caller's own work does not hide comes back: 14. */
static void test_figure(void)
{
    static const uint64_t longest[] = {3, 14, 4};
    static const uint64_t blocked[] = {3, 14, 4};

    make_overlap();
    expect_drags(longest, 3);
    one.trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    expect_drags(blocked, 3);
}

/* Time off the CPU is a part of its step. */
static void test_off_cpu(void)
{
    static const uint64_t drags[] = {2, 1, 14, 1, 3};

    make_overlap();
    one.trace.measures_off_cpu = 1;
    one.tasks[0].off_cpu_ns = 3 * MS;
    one.awaits[0].off_cpu_ns = 3 * MS;
    expect_drags(drags, 5);
}

/* Beside B1 a waits for 3 ms for something that is not known, and queues after B1. That
 * wait is no part of the call: without B1 it would last, too. */
static void test_wait_beside(void)
{
    static const uint64_t drags[] = {3, 11, 2, 2};

    make_overlap();
    one.awaits[1] = one.awaits[0];
    one.awaits[1].resume_ns = 25 * MS; /* ‹queue› from 23 on */
    one.tasks[0].last_await = NULL;
    trace_wait(&one.tasks[0], &one.awaits[0], NULL, NULL, 6, 9);
    one.awaits[1].block_ns = 12 * MS;
    one.awaits[1].previous = &one.awaits[0];
    one.tasks[0].last_await = &one.awaits[1];
    expect_drags(drags, 4);
}

/* Nothing is said where records were lost; and without tasks all is the entry's. */
static void test_no_records(void)
{
    static const uint64_t unknown[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    static const uint64_t entry[] = {27};

    make_overlap();
    one.trace.dropped_event_count = 1;
    expect_drags(unknown, 3);
    make_overlap();
    one.trace.answered_by = NULL;
    expect_drags(entry, 1);
    one.trace.dropped_event_count = 1;
    expect_drags(unknown, 1);
}

enum { CALLS = 40, WAITS = 2000 };

/* A task issues calls, noted in any order, and waits for all; the first of them comes
 * last. The next one of them, the wait of which began at 50, came at 139. */
static void test_many_cuts(void)
{
    static struct cpt_trace_call calls[CALLS];
    static struct cpt_dag_arrival arrivals[CALLS];
    struct cpt_trace_await await;
    struct cpt_trace_task task = trace_task("A1", NULL, 0, 210);
    struct cpt_trace_task *tasks[] = {&task};
    struct cpt_trace trace = {
        .entry = cpt_bytes_of("A: /"), .answered_by = &task, .response_ns = 210 * MS};
    const struct cpt_dag_run run = {&trace, NULL};
    const struct cpt_dag_records records = {&run, 1, tasks, NULL, 1, arrivals, CALLS};
    struct cpt_drags *drags = NULL;

    for (uint32_t i = 0; i < CALLS; i++) {
        const uint32_t at = i * 17 % CALLS;

        calls[i] =
            trace_call("B1", &task, 7 + at, at == 0 ? 200 : (uint64_t)100 + i % CALLS);
        arrivals[i] = (struct cpt_dag_arrival){.waiter = &task,
                                               .call = &calls[i],
                                               .arrive_ns = calls[i].arrive_ns,
                                               .await = &await};
    }
    trace_wait(&task, &await, &calls[0], NULL, 50, 200);
    CU_ASSERT_EQUAL(cpt_drags_new(NULL, &records, 0, &drags, NULL), CPT_OK);
    trace.drags = drags;
    trace_expect(&trace, "A1 7 ~7, A1;B1 193 ~61, A1 10 ~10");
    cpt_drags_free(drags);
}

/* Steps that begin one before the other, and calls before all of them: each of these
 * would be sought among all steps. A file may take the time, a walk may not. */
static void test_steps_out_of_order(void)
{
    static struct cpt_trace_call calls[WAITS];
    static struct cpt_trace_await awaits[WAITS];
    struct cpt_trace_task task = trace_task("A1", NULL, 1, WAITS + 10);
    struct cpt_trace_task *tasks[] = {&task};
    const struct cpt_trace trace = {.entry = cpt_bytes_of("A: /"),
                                    .answered_by = &task,
                                    .response_ns = (WAITS + 10) * (uint64_t)MS};
    const struct cpt_dag_run run = {&trace, NULL};
    const struct cpt_dag_records records = {&run, 1, tasks, NULL, 1, NULL, 0};
    struct cpt_dag_draft *draft = cpt_dag_draft_new(NULL, 0);
    struct cpt_dag_recorded recorded;
    struct cpt_drags *drags = NULL;

    for (uint32_t i = 0; i < WAITS; i++) {
        calls[i] = trace_call("B1", &task, 0, WAITS - i + 1);
        trace_wait(&task, &awaits[i], &calls[i], NULL, WAITS - i + 1, WAITS - i + 1);
    }
    CU_ASSERT_EQUAL(cpt_drags_new(NULL, &records, 0, &drags, NULL), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_dag_draft_trace(draft, &records, &recorded), CPT_OK);
    cpt_dag_draft_free(draft);
}

static void test_arguments(void)
{
    const struct cpt_dag_records none = {0};
    struct cpt_drags *drags = NULL;
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_drags_new(NULL, &none, 0, &drags, &error), CPT_INVALID);
    CU_ASSERT_PTR_NULL(drags);
    cpt_drags_free(NULL);
}

static bool walk_figure(const struct cpt_alloc *alloc)
{
    struct cpt_path *path = cpt_path_new(alloc);
    cpt_status status = CPT_NO_MEMORY;

    make_overlap();
    if (path != NULL) {
        status = walk_one(alloc, path);
    }
    cpt_path_free(path);
    return status == CPT_OK;
}

static void test_no_memory(void)
{
    each_allocation_failure(walk_figure);
}

CU_TestInfo cpt_drag_systems_tests[] = {
    {"against recomputation", test_systems},
    CU_TEST_INFO_NULL,
};

CU_TestInfo cpt_drag_tests[] = {
    {"one service", test_longest},
    {"one service, blocked time", test_blocked},
    {"any trace", test_traces},
    {"early stamps", test_skewed},
    {"lost records", test_lost},
    {"nonsense", test_nonsense},
    {"Figure 2c", test_figure},
    {"off the CPU", test_off_cpu},
    {"a wait beside a call", test_wait_beside},
    {"no records", test_no_records},
    {"arguments", test_arguments},
    {"no memory", test_no_memory},
    {"many cuts of a step", test_many_cuts},
    {"steps out of order", test_steps_out_of_order},
    CU_TEST_INFO_NULL,
};
