/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * note_dag.c - all that our own services did for a request, as one dag
 *
 * Notes have the times of one run each, from its arrival on. The times of a callee are
 * moved so that it arrives when its call was sent: then all are of one clock, that of
 * the service where the request entered.
 *
 *      A    |-- A1 --|.... call ........................|-- A1 --|
 *      B             |-- B1 --|-- B2 --|   ‹network›
 *
 * Records of runs that do not lead to the root are left out. Those of the others may
 * say anything: cpt_dag_draft.h holds them to each other.
 */
#include "import/notes/note_records.h"

#include "cpt/cpt_dag_draft.h"

#include <string.h>

/* The call that @run, whose span is @noted, answers; NULL: it is the root's, or not the
 * callee of any. */
static struct noted *call_of(struct noted *noted)
{
    if (noted->note.kind == CPTI_NOTE_CALL) {
        return noted;
    }
    return noted->parent != NULL && noted->parent->note.kind == CPTI_NOTE_CALL &&
                   noted->parent->callee == noted
               ? noted->parent
               : NULL;
}

/* When the run of @noted, which arrives at BEGIN_NS by its own clock, does so in the
 * time of the root; 0: it does not lead to that. */
static uint64_t arrival_of(const struct reading *reading, struct noted *noted)
{
    const struct noted *root = &reading->all[reading->spans->root];
    uint64_t arrival_ns = BEGIN_NS;
    unsigned depth = 0;

    for (; noted != root && depth < NESTING_MAX; depth++) {
        struct noted *call = call_of(noted);
        struct noted_run *outer = call != NULL ? cpti_noted_outer_run(call) : NULL;

        if (outer == NULL) {
            return 0;
        }
        arrival_ns +=
            cpt_trace_move(CPT_TRACE_CLOCK_OWN,
                           &(struct cpt_trace_call){
                               .issue_ns = cpti_note_or(call->note.number.issue, 0),
                               .sent_ns = cpti_note_or(call->note.number.sent, 0)},
                           0, 0);
        noted = outer->noted;
    }
    return noted == root ? arrival_ns : 0;
}

/* Adds @noted, if a run begins with it that leads to the root, and moves it there. */
static void add_run(struct cpt_trace_build *build, const struct reading *reading,
                    struct noted *noted)
{
    const uint64_t arrival_ns = cpti_noted_has_run(noted) && noted->run != NULL
                                    ? arrival_of(reading, noted)
                                    : 0;
    struct noted *call = call_of(noted);

    if (arrival_ns != 0) {
        noted->run->trace.arrival_ns = arrival_ns;
        cpt_trace_build_run(
            build,
            (struct cpt_dag_run){.trace = &noted->run->trace,
                                 .call = call != NULL ? &call->record.call : NULL});
        noted->run->number = (uint32_t)build->runs.count;
    }
}

static void add_arrival(struct cpt_trace_build *build, struct noted *waiter,
                        struct noted *giver, bool is_input)
{
    const bool is_task = giver->note.kind == CPTI_NOTE_TASK;
    const bool is_call = giver->note.kind == CPTI_NOTE_CALL;

    if (waiter == NULL || waiter->note.kind != CPTI_NOTE_TASK ||
        (!is_task && !is_call) ||
        cpti_noted_outer_run(waiter) != cpti_noted_outer_run(giver)) {
        return;
    }
    cpt_trace_build_arrival(
        build,
        &(struct cpt_dag_arrival){.waiter = &waiter->record.task,
                                  .giver = is_task ? &giver->record.task : NULL,
                                  .call = is_call ? &giver->record.call : NULL,
                                  .arrive_ns = is_task ? giver->record.task.end_ns
                                                       : giver->record.call.arrive_ns,
                                  .is_input = is_input});
}

static void add_arrivals(struct cpt_trace_build *build, const struct reading *reading,
                         struct noted *noted)
{
    struct cpt_bytes inputs = noted->note.text.inputs_;

    add_arrival(build, cpti_noted_find(reading, noted->note.text.waiter_), noted,
                false);
    while (inputs.bytes > 0) {
        const char *comma = memchr(inputs.data, ',', inputs.bytes);
        const size_t bytes =
            comma != NULL ? (size_t)(comma - inputs.data) : inputs.bytes;
        const size_t used = comma != NULL ? bytes + 1 : bytes;
        struct noted *giver =
            cpti_noted_find(reading, (struct cpt_bytes){inputs.data, bytes});

        if (giver != NULL && giver->note.kind == CPTI_NOTE_TASK) {
            add_arrival(build, noted, giver, true);
        }
        inputs = (struct cpt_bytes){inputs.data + used, inputs.bytes - used};
    }
}

/* All of the runs that lead to the root, which is the first. */
static cpt_status build_trace(struct cpt_trace_build *build, struct reading *reading)
{
    struct noted *root = &reading->all[reading->spans->root];
    const size_t count = reading->spans->count;
    cpt_status status = CPT_OK;

    add_run(build, reading, root);
    for (size_t i = 0; i < count; i++) {
        if (&reading->all[i] != root) {
            add_run(build, reading, &reading->all[i]);
        }
    }
    status = cpti_noted_make(reading);
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        struct noted *noted = &reading->all[i];
        const struct noted_run *run = cpti_noted_outer_run(noted);

        if (run == NULL || run->number == 0) {
            continue;
        }
        if (noted->note.kind == CPTI_NOTE_TASK) {
            cpt_trace_build_task(build, &noted->record.task, run->number - 1);
        }
        add_arrivals(build, reading, noted);
    }
    return status == CPT_OK ? build->status : status;
}

cpt_status cpti_spans_noted_dag(struct cpti_spans *spans, cpt_dag_visit_fn visit,
                                void *context)
{
    struct reading reading = {.spans = spans};
    struct cpt_trace_build build = {.arena = &reading.arena};
    cpt_status status = CPT_OK;

    cpt_arena_init(&reading.arena, spans->alloc, 0, CPT_TRACE_BYTES_MAX);
    status = cpti_noted_read(&reading);
    if (status == CPT_OK) {
        status = build_trace(&build, &reading);
    }
    if (status == CPT_OK) {
        const struct cpt_dag_records records = cpt_trace_build_records(&build);

        status = cpt_dag_draft_visit(spans->alloc, &records, visit, context);
        if (status == CPT_INVALID || status == CPT_CORRUPT) {
            status = CPT_END;
        }
    }
    if (status == CPT_NO_MEMORY &&
        cpt_arena_is_full(&reading.arena, spans->count * sizeof *reading.all) != 0) {
        status = CPT_LIMIT;
    }
    cpt_arena_deinit(&reading.arena);
    return status;
}
