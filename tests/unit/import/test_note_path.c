/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_note_path.c - paths from the notes of our own framework
 *
 * That they are those of the services is tested with real ones: tests/system/spans.sh.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "cpt/cpt_dag_draft.h"
#include "cpt/cpt_path.h"
#include "import/spans/spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 4096, NOTE_BYTES = 256, SPANS = 8, DAG_NODES = 100 };

struct noted_span {
    char id[8];
    char parent[8];
    uint64_t start_ns;
    uint64_t end_ns;
    char note[NOTE_BYTES];
};

/* A computes 5 ns, calls B, computes 10 ns more, waits. B's clock is another one. */
static const struct noted_span call[SPANS] = {
    {"r", "", 0, 100, "request entry=A:%20%2f latency=100 dispatch=1 by=t1"},
    {"q", "r", 0, 100, "answer"},
    {"t1", "r", 5, 100, "task name=A:%20go group=in/out ready=1 start=5 end=100"},
    {"w1", "t1", 20, 80, "wait order=1 block=20 arrive=70 resume=80 for=c1"},
    {"c1", "t1", 10, 70,
     "call name=B:%20get issuer=t1 issue=10 sent=12 arrive=70 outcome=1 path=1"},
    {"s", "c1", 1000, 1040, "request entry=B:%20get latency=40 by=t2"},
    {"t3", "s", 1000, 1010, "task name=B:%20one start=0 end=10"},
    {"t2", "s", 1000, 1040, "task name=B:%20two ready=10 start=12 end=40 after=t3"},
};

/* Any notes give a dag that can be measured, or none. */
static cpt_status measure_dag(void *context, const struct cpt_dag *dag,
                              const struct cpt_dag_recorded *recorded,
                              uint64_t latency_ns)
{
    struct cpt_dag_measure measures[DAG_NODES];
    struct cpt_dag_frame frames[DAG_NODES];
    uint64_t *found = context;
    uint64_t path_ns = 0;

    CU_ASSERT_TRUE_FATAL(recorded->shape.node_count <= DAG_NODES);
    if (cpt_dag_measure(dag, measures) != CPT_OK ||
        cpt_dag_frames(dag, measures, frames) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < recorded->shape.frame_count; i++) {
        path_ns += frames[i].path_ns;
        CU_ASSERT_TRUE(frames[i].drag_ns <= frames[i].gain_ns);
        CU_ASSERT_TRUE(frames[i].gain_ns <= frames[i].path_ns);
    }
    CU_ASSERT_EQUAL(path_ns, cpt_dag_latency_ns(dag));
    if (found != NULL) {
        CU_ASSERT_EQUAL(path_ns, latency_ns);
        *found = path_ns;
    }
    return CPT_OK;
}

static cpt_status path_of(const struct noted_span *given, const struct cpt_alloc *alloc,
                          char text[TEXT_BYTES])
{
    struct cpti_spans *spans = cpti_spans_new(alloc);
    struct cpt_path *path = cpt_path_new(alloc);
    struct cpti_spans_report report;
    cpt_status status = spans != NULL && path != NULL ? CPT_OK : CPT_NO_MEMORY;
    size_t bytes = 0;

    for (size_t i = 0; i < SPANS && status == CPT_OK; i++) {
        const struct cpti_span span = {.id = cpt_bytes_of(given[i].id),
                                       .parent = cpt_bytes_of(given[i].parent),
                                       .service = cpt_bytes_of("A"),
                                       .operation = cpt_bytes_of("x"),
                                       .note = cpt_bytes_of(given[i].note),
                                       .start_ns = given[i].start_ns,
                                       .duration_ns =
                                           given[i].end_ns - given[i].start_ns,
                                       .has_time = true};

        status = cpti_spans_add(spans, &span);
    }
    if (status == CPT_OK) {
        status = cpti_spans_resolve(spans, &report);
    }
    if (status == CPT_OK) {
        status = cpti_spans_walk(spans, CPTI_SPANS_EXACT);
    }
    if (status == CPT_OK) {
        status = cpti_spans_noted_path(spans, path);
    }
    text[0] = '\0';
    for (size_t i = 0; status == CPT_OK && i < cpt_path_segment_count(path) &&
                       bytes < TEXT_BYTES - 512;
         i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        bytes +=
            cpt_path_stack_text(path, segment->frame, text + bytes, TEXT_BYTES - bytes);
        if (bytes < TEXT_BYTES) {
            bytes += (size_t)snprintf(text + bytes, TEXT_BYTES - bytes,
                                      " %" PRIu64 "\n", segment->duration_ns);
        }
    }
    if (status == CPT_OK) {
        CU_ASSERT_EQUAL(cpt_path_check(path, cpt_path_sum_ns(path), NULL), CPT_OK);
        status = cpti_spans_noted_dag(spans, measure_dag, NULL);
        status = status == CPT_END ? CPT_OK : status; /* notes may contradict */
    }
    cpt_path_free(path);
    cpti_spans_free(spans);
    return status;
}

static void test_path_of_a_call(void)
{
    char text[TEXT_BYTES];

    CU_ASSERT_EQUAL(path_of(call, NULL, text), CPT_OK);
    CU_ASSERT_STRING_EQUAL(text,
                           "A: /;A: ‹accept queue› 1\n"
                           "A: /;out;in;A: go;A: ‹queue› 4\n"
                           "A: /;out;in;A: go 5\n"
                           "A: /;out;in;A: go;A: ‹queue› 2\n"
                           "A: /;out;in;A: go;B: get;B: one 10\n"
                           "A: /;out;in;A: go;B: get;B: two;B: ‹queue› 2\n"
                           "A: /;out;in;A: go;B: get;B: two 28\n"
                           "A: /;out;in;A: go;B: get;B: ‹network+serialization› 18\n"
                           "A: /;out;in;A: go;A: ‹queue› 10\n"
                           "A: /;out;in;A: go 20\n");
}

/* The queues of the caller, out of what would be the network's. */
static void test_path_of_queues(void)
{
    struct noted_span spans[SPANS];
    char text[TEXT_BYTES];

    memcpy(spans, call, sizeof spans);
    (void)snprintf(spans[4].note, sizeof spans[4].note, "%s unsent=3 unread=5",
                   call[4].note);
    CU_ASSERT_EQUAL(path_of(spans, NULL, text), CPT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "B: get;B: ‹send queue› 3\n"
                                        "A: /;out;in;A: go;B: get;B: one 10\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text,
                                  "B: get;B: ‹network+serialization› 10\n"
                                  "A: /;out;in;A: go;B: get;B: ‹receive queue› 5\n"));
}

/* The spans without the last, in which one note is another. */
static cpt_status with_note(size_t number, const char *note)
{
    struct noted_span spans[SPANS];
    char text[TEXT_BYTES];

    memcpy(spans, call, sizeof spans);
    (void)snprintf(spans[number].note, sizeof spans[number].note, "%s", note);
    return path_of(spans, NULL, text);
}

static void test_useless_notes(void)
{
    static const struct {
        size_t number;
        const char *note;
    } wrong[] = {
        {0, ""},
        {0, "task name=A start=1"},
        {1, ""},
        {1, "something else"},
        {2, "task name=A:%2 start=5 end=100"},
        {2, "task name=A start=-5 end=100"},
        {2, "task name=A start=99999999999999999999999 end=100"},
        {2, "task name=A ready=3 start=5 end=100 after=t1"}, /* itself */
        {2, "task name=A start=5 end=100 after=t2"},         /* of another run */
        {2, "task name=A start=5 end=100 after=gone"},
        {2, "task name=A start=5 end=100 starter=c1"}, /* no task */
        {3, "wait order=1 block=20 arrive=70 resume=80 for=t2"},
        {3, "wait order=1 block=20 arrive=70 resume=80 for=w1"},
        {4, "call name=B issuer=t2 issue=10 arrive=70 outcome=1 path=1"},
        {4, "call name=B issue=10 arrive=70 outcome=1 path=1"},
        {0, "request entry=A latency=100 by=t2"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CU_ASSERT_EQUAL(with_note(wrong[i].number, wrong[i].note), CPT_END);
    }
    CU_ASSERT_EQUAL(with_note(1, "answer new=1"), CPT_OK); /* a later version */
    /* Ids of other requests are random: any 64 bits. */
    CU_ASSERT_EQUAL(with_note(2, "task name=A:%20go ready=1 start=5 end=100 "
                                 "occupant=A:%20on holder_trace=18446744073709551614"),
                    CPT_OK);
    CU_ASSERT_EQUAL(with_note(2, "task name=A:%20go ready=1 start=5 end=100 "
                                 "holder_trace=18446744073709551616"),
                    CPT_END);
}

/* Notes and parents that are mixed up, with bytes that are changed. */
static void test_random_notes(void)
{
    struct test_random random = {20261123};
    char text[TEXT_BYTES];
    size_t made = 0;

    for (int round = 0; round < 20000; round++) {
        struct noted_span spans[SPANS];

        memcpy(spans, call, sizeof spans);
        for (uint64_t i = test_random_below(&random, 3); i < 3; i++) {
            struct noted_span *one = &spans[test_random_below(&random, SPANS)];
            struct noted_span *other = &spans[test_random_below(&random, SPANS)];

            switch (test_random_below(&random, 3)) {
            case 0:
                memcpy(one->note, other->note, sizeof one->note);
                break;
            case 1:
                memcpy(one->parent, other->id, sizeof one->parent);
                break;
            default:
                one->note[test_random_below(&random, strlen(one->note) + 1)] =
                    "0123456789 =%tcws"[test_random_below(&random, 17)];
                one->note[NOTE_BYTES - 1] = '\0';
            }
        }
        made += path_of(spans, NULL, text) == CPT_OK;
    }
    CU_ASSERT_TRUE(made > 100);
}

static bool make_path(const struct cpt_alloc *alloc)
{
    char text[TEXT_BYTES];

    return path_of(call, alloc, text) == CPT_OK;
}

static void test_each_allocation_fails(void)
{
    each_allocation_failure(make_path);
}

CU_TestInfo cpt_note_path_tests[] = {
    {"a call of a service with another clock", test_path_of_a_call},
    {"the queues of a call", test_path_of_queues},
    {"notes that do not fit together are no path", test_useless_notes},
    {"notes that are mixed up", test_random_notes},
    {"each allocation fails", test_each_allocation_fails},
    CU_TEST_INFO_NULL,
};
