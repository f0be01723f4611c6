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

enum { ARRIVALS_MAX = 1 << 22 /* of a trace: they take 40 times their text */ };

/* What cpt_dag_draft_trace() takes. */
struct gathering {
    struct reading *reading;
    struct cpt_dag_run *runs;
    struct cpt_trace_task **tasks;
    uint32_t *task_runs;
    struct cpt_dag_arrival *arrivals;
    struct cpt_dag_records records;
};

/* Moves a time that is set, and is not "not yet". */
static void move(uint64_t *at_ns, uint64_t by_ns)
{
    *at_ns += *at_ns != 0 && *at_ns != UINT64_MAX ? by_ns : 0;
}

static void move_record(struct noted *noted, uint64_t by_ns)
{
    switch (noted->note.kind) {
    case CPTI_NOTE_TASK:
        if (noted->record.task.ready_ns == 0) { /* with the run */
            noted->record.task.ready_ns = BEGIN_NS;
        }
        move(&noted->record.task.ready_ns, by_ns);
        move(&noted->record.task.start_ns, by_ns);
        move(&noted->record.task.end_ns, by_ns);
        return;
    case CPTI_NOTE_WAIT:
        move(&noted->record.await.block_ns, by_ns);
        move(&noted->record.await.arrive_ns, by_ns);
        move(&noted->record.await.resume_ns, by_ns);
        return;
    case CPTI_NOTE_CALL:
        move(&noted->record.call.issue_ns, by_ns);
        move(&noted->record.call.sent_ns, by_ns);
        move(&noted->record.call.arrive_ns, by_ns);
        return;
    default:
        return;
    }
}

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

/* By how much the times of the run of @noted are moved: it arrives when its call was
 * sent, which is a time of the run around it. False: it does not lead to the root. */
static bool find_move(const struct reading *reading, struct noted *noted,
                      uint64_t *by_ns)
{
    const struct noted *root = &reading->all[reading->spans->root];
    unsigned depth = 0;

    *by_ns = 0;
    for (; noted != root && depth < NESTING_MAX; depth++) {
        struct noted *call = call_of(noted);
        struct noted_run *outer = call != NULL ? cpti_noted_outer_run(call) : NULL;
        const struct cpt_trace_call *record = call != NULL ? &call->record.call : NULL;

        if (outer == NULL) {
            return false;
        }
        *by_ns +=
            (record->sent_ns > record->issue_ns ? record->sent_ns : record->issue_ns) -
            BEGIN_NS;
        noted = outer->noted;
    }
    return noted == root;
}

static bool is_run(const struct noted *noted)
{
    return cpti_noted_has_run(noted) && noted->run != NULL;
}

/* Numbers the runs that lead to the root, which is the first. The times of the others
 * are found before any is moved. */
static cpt_status gather_runs(struct gathering *gathering)
{
    struct reading *reading = gathering->reading;
    const size_t count = reading->spans->count;
    struct noted *root = &reading->all[reading->spans->root];

    gathering->runs = cpt_arena_take(&reading->arena, count * sizeof *gathering->runs);
    if (gathering->runs == NULL) {
        return CPT_NO_MEMORY;
    }
    root->run->number = 1;
    gathering->runs[0] = (struct cpt_dag_run){&root->run->trace, NULL};
    gathering->records.run_count = 1;
    for (size_t i = 0; i < count; i++) {
        struct noted *noted = &reading->all[i];

        if (!is_run(noted) || noted == root ||
            !find_move(reading, noted, &noted->run->moved_ns)) {
            continue;
        }
        gathering->runs[gathering->records.run_count++] =
            (struct cpt_dag_run){&noted->run->trace, &call_of(noted)->record.call};
        noted->run->number = (uint32_t)gathering->records.run_count;
    }
    return CPT_OK;
}

static void move_runs(struct gathering *gathering)
{
    struct reading *reading = gathering->reading;

    for (size_t i = 0; i < reading->spans->count; i++) {
        struct noted *noted = &reading->all[i];
        struct noted_run *outer = cpti_noted_outer_run(noted);

        if (is_run(noted)) {
            move(&noted->run->trace.arrival_ns, noted->run->moved_ns);
            move(&noted->run->trace.response_ns, noted->run->moved_ns);
            move(&noted->run->trace.dispatch_ns, noted->run->moved_ns);
        }
        if (outer != NULL && outer->number != 0) {
            move_record(noted, outer->moved_ns);
        }
    }
}

static void add_arrival(struct gathering *gathering, struct noted *waiter,
                        struct noted *giver, bool is_input)
{
    const bool is_task = giver->note.kind == CPTI_NOTE_TASK;
    const bool is_call = giver->note.kind == CPTI_NOTE_CALL;

    if (waiter == NULL || waiter->note.kind != CPTI_NOTE_TASK ||
        (!is_task && !is_call) ||
        cpti_noted_outer_run(waiter) != cpti_noted_outer_run(giver)) {
        return;
    }
    gathering->arrivals[gathering->records.arrival_count++] = (struct cpt_dag_arrival){
        .waiter = &waiter->record.task,
        .giver = is_task ? &giver->record.task : NULL,
        .call = is_call ? &giver->record.call : NULL,
        .arrive_ns = is_task ? giver->record.task.end_ns : giver->record.call.arrive_ns,
        .is_input = is_input};
}

/* How many ids the note of @noted has of what was waited for. */
static size_t arrivals_of(const struct noted *noted)
{
    const struct cpt_bytes inputs = noted->note.text.inputs_;
    size_t count = noted->note.text.waiter_.bytes != 0;

    for (size_t i = 0; i < inputs.bytes; i++) {
        count += inputs.data[i] == ',';
    }
    return count + (inputs.bytes != 0);
}

static void gather_arrivals_of(struct gathering *gathering, struct noted *noted)
{
    struct cpt_bytes inputs = noted->note.text.inputs_;

    add_arrival(gathering,
                cpti_noted_find(gathering->reading, noted->note.text.waiter_), noted,
                false);
    while (inputs.bytes > 0) {
        const char *comma = memchr(inputs.data, ',', inputs.bytes);
        const size_t bytes =
            comma != NULL ? (size_t)(comma - inputs.data) : inputs.bytes;
        const size_t used = comma != NULL ? bytes + 1 : bytes;
        struct noted *giver =
            cpti_noted_find(gathering->reading, (struct cpt_bytes){inputs.data, bytes});

        if (giver != NULL && giver->note.kind == CPTI_NOTE_TASK) {
            add_arrival(gathering, noted, giver, true);
        }
        inputs = (struct cpt_bytes){inputs.data + used, inputs.bytes - used};
    }
}

static cpt_status gather_tasks(struct gathering *gathering)
{
    struct reading *reading = gathering->reading;
    const size_t count = reading->spans->count;
    struct cpt_dag_records *records = &gathering->records;
    size_t arrival_count = 1;

    for (size_t i = 0; i < count; i++) {
        arrival_count += arrivals_of(&reading->all[i]);
    }
    if (arrival_count > ARRIVALS_MAX) {
        return CPT_LIMIT;
    }
    gathering->tasks =
        cpt_arena_take(&reading->arena, count * sizeof(struct cpt_trace_task *));
    gathering->task_runs =
        cpt_arena_take(&reading->arena, count * sizeof *gathering->task_runs);
    gathering->arrivals =
        cpt_arena_take(&reading->arena, arrival_count * sizeof *gathering->arrivals);
    if (gathering->tasks == NULL || gathering->task_runs == NULL ||
        gathering->arrivals == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        struct noted *noted = &reading->all[i];
        const struct noted_run *run = cpti_noted_outer_run(noted);

        if (run == NULL || run->number == 0) {
            continue;
        }
        if (noted->note.kind == CPTI_NOTE_TASK) {
            gathering->task_runs[records->task_count] = run->number - 1;
            gathering->tasks[records->task_count++] = &noted->record.task;
        }
        gather_arrivals_of(gathering, noted);
    }
    return CPT_OK;
}

static cpt_status draft(struct gathering *gathering, cpt_dag_visit_fn visit,
                        void *context)
{
    struct cpt_dag_records *records = &gathering->records;
    cpt_status status = CPT_OK;

    records->runs = gathering->runs;
    records->tasks = gathering->tasks;
    records->task_runs = gathering->task_runs;
    records->arrivals = gathering->arrivals;
    status =
        cpt_dag_draft_visit(gathering->reading->spans->alloc, records, visit, context);
    return status == CPT_INVALID || status == CPT_CORRUPT ? CPT_END : status;
}

cpt_status cpti_spans_noted_dag(struct cpti_spans *spans, cpt_dag_visit_fn visit,
                                void *context)
{
    struct reading reading = {.spans = spans};
    struct gathering gathering = {.reading = &reading};
    cpt_status status = CPT_OK;

    cpt_arena_init(&reading.arena, spans->alloc, 0, 0);
    status = cpti_noted_read(&reading);
    if (status == CPT_OK) {
        status = gather_runs(&gathering);
    }
    if (status == CPT_OK) {
        move_runs(&gathering);
        status = gather_tasks(&gathering);
    }
    if (status == CPT_OK) {
        status = draft(&gathering, visit, context);
    }
    cpt_arena_deinit(&reading.arena);
    return status;
}
