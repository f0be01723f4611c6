/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * note_path.c - the path that services of our own framework have made themselves
 *
 * If each span of a trace has a note, the notes have all that these services recorded.
 * From them the records are made again, and cpt_critical_path() walks them as it did
 * there:
 *
 *      span        note       record
 *      request     request    a trace, with the tasks and calls of its *run*
 *      task        task       struct cpt_trace_task
 *      wait        wait       struct cpt_trace_await of its task
 *      call        call       struct cpt_trace_call; of a component also a run
 *
 * The callee of a call is the request whose span stands below it; its path is made when
 * the walk of the caller comes to the call. Times of different runs are never compared,
 * so clocks play no part.
 *
 * Notes may say anything. The walk takes any times, but it must see only records of one
 * run at a time, as it keeps frames in them. So each record belongs to the run that it
 * stands below, and one that refers to another run, or to nothing, makes the notes
 * useless: spans are then walked as those of others.
 */
#include "import/notes/note_records.h"

#include "cpt/cpt_path.h"

#include <stdlib.h>
#include <string.h>

enum { INDEX_SLOTS_MIN = 64 };

/* --- Ids --- */

static uint64_t hash_of(const struct reading *reading, struct cpt_bytes id)
{
    return cpti_id_hash((uint64_t)(uintptr_t)reading, id);
}

struct noted *cpti_noted_find(const struct reading *reading, struct cpt_bytes id)
{
    const struct cpti_hash_index *index = &reading->index;
    size_t slot = 0;

    if (id.bytes == 0) {
        return NULL;
    }
    slot = cpti_hash_index_first(index, hash_of(reading, id));
    while (index->slots[slot] != 0) {
        const uint32_t number = index->slots[slot] - 1;

        if (cpti_ids_equal(reading->spans->items[number].id, id)) {
            return &reading->all[number];
        }
        slot = cpti_hash_index_next(index, slot);
    }
    return NULL;
}

/* CPT_OK; CPT_END: two spans have one id; CPT_NO_MEMORY. */
static cpt_status index_all(struct reading *reading)
{
    const struct cpti_spans *spans = reading->spans;
    size_t slots = INDEX_SLOTS_MIN;

    while (slots < 2 * spans->count) {
        slots *= 2;
    }
    reading->index.slots =
        cpt_arena_take(&reading->arena, slots * sizeof *reading->index.slots);
    if (reading->index.slots == NULL) {
        return CPT_NO_MEMORY;
    }
    reading->index.slot_count = slots;
    for (size_t i = 0; i < spans->count; i++) {
        if (cpti_noted_find(reading, spans->items[i].id) != NULL) {
            return CPT_END;
        }
        cpti_hash_index_put(&reading->index, hash_of(reading, spans->items[i].id), i);
    }
    return CPT_OK;
}

/* --- Reading --- */

/* CPT_OK; CPT_END: a span has no note; CPT_NO_MEMORY. */
static cpt_status read_notes(struct reading *reading)
{
    const struct cpti_spans *spans = reading->spans;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < spans->count && status == CPT_OK; i++) {
        struct noted *noted = &reading->all[i];

        status = cpti_note_read(spans->items[i].note, &reading->arena, &noted->note);
        if (status == CPT_OK && noted->note.kind == CPTI_NOTE_NONE) {
            return CPT_END;
        }
        if (status == CPT_OK && cpti_noted_has_run(noted)) {
            noted->run = cpt_arena_take(&reading->arena, sizeof *noted->run);
            if (noted->run == NULL) {
                return CPT_NO_MEMORY;
            }
            noted->run->reading = reading;
            noted->run->noted = noted;
            noted->run->trace.arrival_ns = BEGIN_NS;
        }
        reading->wait_count += noted->note.kind == CPTI_NOTE_WAIT;
        noted->parent = cpti_noted_find(reading, spans->items[i].parent);
    }
    return status;
}

/* The run that the parents of @noted lead to; NULL: to none, or in a circle. */
static struct noted_run *run_of(struct noted *noted)
{
    struct noted *at = noted;
    struct noted_run *run = NULL;

    while (at != NULL && at->run == NULL && !at->is_visited) {
        at->is_visited = true;
        at = at->parent;
    }
    run = at != NULL ? at->run : NULL;
    for (at = noted; at != NULL && at->is_visited; at = at->parent) {
        at->is_visited = false;
        at->run = run;
    }
    return run;
}

struct noted_run *cpti_noted_outer_run(struct noted *noted)
{
    return cpti_noted_has_run(noted)
               ? (noted->parent != NULL ? run_of(noted->parent) : NULL)
               : run_of(noted);
}

/* The span with @id, of @kind and of @run, in *@found; NULL if there is no id. */
static cpt_status refer(const struct reading *reading, const struct noted_run *run,
                        struct cpt_bytes id, enum cpti_note_kind kind,
                        struct noted **found)
{
    *found = cpti_noted_find(reading, id);
    if (id.bytes == 0) {
        return CPT_OK;
    }
    return *found != NULL && (*found)->note.kind == kind &&
                   cpti_noted_outer_run(*found) == run
               ? CPT_OK
               : CPT_END;
}

/* The same for a task; its record, or NULL. */
static cpt_status refer_task(const struct reading *reading, const struct noted_run *run,
                             struct cpt_bytes id, struct cpt_trace_task **task)
{
    struct noted *found = NULL;
    const cpt_status status = refer(reading, run, id, CPTI_NOTE_TASK, &found);

    *task = status == CPT_OK && found != NULL ? &found->record.task : NULL;
    return status;
}

static uint64_t time_of(const struct noted_run *run, uint64_t number,
                        uint64_t otherwise)
{
    return number != CPTI_NOTE_UNSET ? number + run->trace.arrival_ns : otherwise;
}

/* --- Records --- */

/* "inner/outer" as a chain, the innermost first. */
static cpt_status make_groups(struct reading *reading, struct cpt_bytes text,
                              const struct cpt_trace_group **first)
{
    const struct cpt_trace_group **link = first;
    cpt_status status = CPT_OK;

    while (text.bytes > 0 && status == CPT_OK) {
        const char *slash = memchr(text.data, '/', text.bytes);
        const size_t bytes = slash != NULL ? (size_t)(slash - text.data) : text.bytes;
        const size_t used = slash != NULL ? bytes + 1 : bytes;
        struct cpt_trace_group *group = cpt_arena_take(&reading->arena, sizeof *group);

        if (group == NULL) {
            return CPT_NO_MEMORY;
        }
        status = cpti_note_decode((struct cpt_bytes){text.data, bytes}, &reading->arena,
                                  &group->name);
        *link = group;
        link = &group->parent;
        text = (struct cpt_bytes){text.data + used, text.bytes - used};
    }
    return status == CPT_CORRUPT ? CPT_END : status;
}

/* What the note says of run delay; NULL: it was not measured. */
static const struct cpt_trace_starved *starved_of(struct noted *noted)
{
    const struct cpti_note *note = &noted->note;

    if (note->number.delay == CPTI_NOTE_UNSET) {
        return NULL;
    }
    noted->starved = (struct cpt_trace_starved){
        .delay_ns = note->number.delay,
        .culprit = note->text.culprit_,
        .culprit_request = cpti_note_or(note->number.culprit_trace, 0)};
    return &noted->starved;
}

static cpt_status make_task(struct reading *reading, struct noted *noted)
{
    const struct cpti_note *note = &noted->note;
    struct noted_run *run = run_of(noted);
    struct cpt_trace_task *task = &noted->record.task;
    cpt_status status = CPT_OK;

    if (run == NULL) {
        return CPT_END;
    }
    task->name = note->text.name_;
    task->executor = note->text.executor_;
    task->occupant = note->text.occupant_;
    task->ready_ns = time_of(run, note->number.ready, run->trace.arrival_ns);
    task->start_ns = time_of(run, note->number.start, 0);
    task->end_ns = time_of(run, note->number.end, 0);
    task->has_margin = note->number.margin != CPTI_NOTE_UNSET;
    task->margin_ns = cpti_note_or(note->number.margin, 0);
    task->off_cpu_ns = cpti_note_or(note->number.off, 0);
    task->occupant_request = cpti_note_or(note->number.holder_trace, 0);
    task->queue_length = (uint32_t)cpti_note_or(note->number.queue, 0);
    task->starved = starved_of(noted);
    task->begin = note->text.after_.bytes != 0 ? CPT_BEGIN_TASK : CPT_BEGIN_REQUEST;
    status = make_groups(reading, note->text.group_, &task->group);
    if (status == CPT_OK) {
        status = refer_task(reading, run, note->text.after_, &task->unblocker);
    }
    if (status == CPT_OK) {
        status = refer_task(reading, run, note->text.starter_, &task->starter);
    }
    return status;
}

/* A request that stands below a call is its callee; of several, the earliest. */
static void note_callee(const struct reading *reading, struct noted *noted)
{
    const struct cpti_span *items = reading->spans->items;
    struct noted *call = noted->parent;
    const struct cpti_span *own = &items[noted - reading->all];
    const struct cpti_span *other = NULL;

    if (call == NULL || call->note.kind != CPTI_NOTE_CALL) {
        return;
    }
    other = call->callee != NULL ? &items[call->callee - reading->all] : NULL;
    if (other == NULL || own->start_ns < other->start_ns ||
        (own->start_ns == other->start_ns &&
         cpti_spans_order(reading->spans, (uint32_t)(noted - reading->all),
                          (uint32_t)(call->callee - reading->all)) < 0)) {
        call->callee = noted;
    }
}

static cpt_status make_call(struct reading *reading, struct noted *noted)
{
    const struct cpti_note *note = &noted->note;
    struct cpt_trace_call *call = &noted->record.call;
    const struct noted_run *run = cpti_noted_outer_run(noted);
    cpt_status status = CPT_OK;

    if (run == NULL) {
        return CPT_END;
    }
    status = refer_task(reading, run, note->text.issuer_, &call->issuer);
    call->name = note->text.name_;
    call->issue_ns = time_of(run, note->number.issue, 0);
    call->sent_ns = time_of(run, note->number.sent, 0);
    call->arrive_ns = time_of(run, note->number.arrive, 0);
    call->executor = note->text.executor_;
    call->status = note->text.status_;
    call->holder = note->text.holder_;
    call->holder_request = cpti_note_or(note->number.holder_trace, 0);
    call->outcome = (unsigned char)cpti_note_or(note->number.outcome, 0);
    call->kind = (unsigned char)cpti_note_or(note->number.kind, 0);
    call->reason = (unsigned char)cpti_note_or(note->number.reason, 0);
    call->attempt = (uint32_t)cpti_note_or(note->number.attempt, 0);
    call->has_server_elapsed = note->number.elapsed != CPTI_NOTE_UNSET;
    call->server_elapsed_ns = cpti_note_or(note->number.elapsed, 0);
    call->send_queue_ns = cpti_note_or(note->number.unsent, 0);
    call->receive_queue_ns = cpti_note_or(note->number.unread, 0);
    return status == CPT_OK && call->issuer == NULL ? CPT_END : status;
}

static cpt_status make_run(struct reading *reading, struct noted *noted)
{
    const struct cpti_note *note = &noted->note;
    struct cpt_trace *trace = &noted->run->trace;
    struct noted *by = NULL;
    cpt_status status = CPT_OK;

    trace->entry = note->text.entry_;
    trace->response_ns = trace->arrival_ns + cpti_note_or(note->number.latency, 0);
    trace->dispatch_ns = time_of(noted->run, note->number.dispatch, 0);
    trace->attribution = (unsigned)cpti_note_or(note->number.attribution, 0);
    trace->overcount = (unsigned)cpti_note_or(note->number.overcount, 0);
    trace->dropped_event_count = cpti_note_or(note->number.lost, 0);
    trace->measures_off_cpu = cpti_note_or(note->number.cpu, 0) != 0;
    by = cpti_noted_find(reading, note->text.by_);
    if (note->text.by_.bytes != 0) {
        /* a task that never began has no span: the time is not known */
        trace->dropped_event_count += by == NULL;
        if (by != NULL &&
            (by->note.kind != CPTI_NOTE_TASK || run_of(by) != noted->run)) {
            status = CPT_END;
        }
        trace->answered_by = by != NULL ? &by->record.task : NULL;
    }
    return status;
}

/* --- Waits --- */

/* By their tasks; of one task the last wait first, as they are linked. */
static int compare_waits(const void *left, const void *right)
{
    const struct noted *a = *(struct noted *const *)left;
    const struct noted *b = *(struct noted *const *)right;
    const uint64_t orders[] = {cpti_note_or(a->note.number.order, 0),
                               cpti_note_or(b->note.number.order, 0)};
    const uint64_t blocks[] = {a->record.await.block_ns, b->record.await.block_ns};

    if (a->parent != b->parent) {
        return a->parent < b->parent ? -1 : 1;
    }
    if (orders[0] != orders[1]) {
        return orders[0] < orders[1] ? -1 : 1;
    }
    return blocks[0] != blocks[1] ? (blocks[0] > blocks[1] ? -1 : 1) : 0;
}

static cpt_status make_wait(struct reading *reading, struct noted *noted)
{
    const struct cpti_note *note = &noted->note;
    struct cpt_trace_await *await = &noted->record.await;
    struct noted *released_by = cpti_noted_find(reading, note->text.for_);
    const struct noted_run *run = run_of(noted);

    if (run == NULL || noted->parent->note.kind != CPTI_NOTE_TASK) {
        return CPT_END;
    }
    await->block_ns = time_of(run, note->number.block, 0);
    await->arrive_ns = time_of(run, note->number.arrive, 0);
    await->resume_ns = time_of(run, note->number.resume, UINT64_MAX);
    await->has_margin = note->number.margin != CPTI_NOTE_UNSET;
    await->margin_ns = cpti_note_or(note->number.margin, 0);
    await->off_cpu_ns = cpti_note_or(note->number.off, 0);
    await->occupant = note->text.occupant_;
    await->occupant_request = cpti_note_or(note->number.holder_trace, 0);
    await->queue_length = (uint32_t)cpti_note_or(note->number.queue, 0);
    await->starved = starved_of(noted);
    reading->waits[reading->wait_count++] = noted;
    if (note->text.for_.bytes == 0) {
        return CPT_OK;
    }
    if (released_by == NULL || cpti_noted_outer_run(released_by) != run) {
        return CPT_END;
    }
    if (released_by->note.kind == CPTI_NOTE_CALL) {
        await->call = &released_by->record.call;
    } else if (released_by->note.kind == CPTI_NOTE_TASK) {
        await->task = &released_by->record.task;
    } else {
        return CPT_END;
    }
    return CPT_OK;
}

static void link_waits(struct reading *reading)
{
    qsort((void *)reading->waits, reading->wait_count, sizeof(struct noted *),
          compare_waits);
    for (size_t i = reading->wait_count; i-- > 0;) {
        struct noted *wait = reading->waits[i];
        struct cpt_trace_task *task = &wait->parent->record.task;

        wait->record.await.previous = task->last_await;
        task->last_await = &wait->record.await;
    }
}

/* --- All --- */

static cpt_status make_record(struct reading *reading, struct noted *noted)
{
    switch (noted->note.kind) {
    case CPTI_NOTE_TASK:
        return make_task(reading, noted);
    case CPTI_NOTE_CALL:
        return make_call(reading, noted);
    case CPTI_NOTE_WAIT:
        return make_wait(reading, noted);
    default:
        return CPT_OK;
    }
}

/* See struct cpt_trace.open_callee. */
static cpt_status open_callee(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee);

cpt_status cpti_noted_make(struct reading *reading)
{
    const size_t count = reading->spans->count;
    cpt_status status = CPT_OK;

    reading->waits = cpt_arena_take(&reading->arena,
                                    (reading->wait_count + 1) * sizeof(struct noted *));
    reading->wait_count = 0;
    status = reading->waits != NULL ? CPT_OK : CPT_NO_MEMORY;
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        struct noted *noted = &reading->all[i];

        status = make_record(reading, noted);
        if (status == CPT_OK && cpti_noted_has_run(noted)) {
            status = make_run(reading, noted);
            noted->run->trace.open_callee = open_callee;
            noted->run->trace.context = noted->run;
        }
    }
    if (status == CPT_OK) {
        link_waits(reading);
    }
    /* what a call says of a path is opened only where it is */
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        struct noted *noted = &reading->all[i];
        struct cpt_trace_call *call = &noted->record.call;

        if (noted->note.kind != CPTI_NOTE_CALL ||
            cpti_note_or(noted->note.number.path, 0) == 0) {
            continue;
        }
        if (cpti_noted_has_run(noted) || noted->callee != NULL) {
            call->reply = noted;
            call->reply_bytes = sizeof *noted;
        } else if (call->reason == CPT_REASON_NONE) {
            call->reason = call->outcome == CPT_CALL_COMPONENT ? CPT_REASON_SHARED
                                                               : CPT_REASON_UNSUPPORTED;
        }
    }
    return status;
}

static cpt_status open_run(struct noted_run *run, struct cpt_path *path)
{
    struct reading *reading = run->reading;
    cpt_status status = CPT_CORRUPT;

    if (run->is_open || reading->depth == NESTING_MAX) {
        return CPT_CORRUPT;
    }
    run->is_open = true;
    reading->depth++;
    status = cpt_critical_path(reading->spans->alloc, &run->trace, path, NULL);
    reading->depth--;
    run->is_open = false;
    return status;
}

static cpt_status open_callee(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee)
{
    struct noted *noted = (struct noted *)(uintptr_t)call->reply;
    struct noted_run *run = cpti_noted_has_run(noted) ? noted->run : noted->callee->run;
    const cpt_status status = open_run(run, callee);

    (void)context;
    if (status != CPT_OK) {
        run->reading->failed = status;
    } else if (!cpti_noted_has_run(noted)) {
        call->has_server_elapsed = 1;
        call->server_elapsed_ns = cpt_path_sum_ns(callee);
    }
    return status;
}

cpt_status cpti_noted_read(struct reading *reading)
{
    struct cpti_spans *spans = reading->spans;
    cpt_status status = CPT_OK;

    if (spans->count == 0 || spans->mode != CPTI_SPANS_EXACT ||
        spans->items[spans->root].note.bytes == 0) {
        return CPT_END;
    }
    reading->all = cpt_arena_take(&reading->arena, spans->count * sizeof *reading->all);
    status = reading->all != NULL ? index_all(reading) : CPT_NO_MEMORY;
    if (status == CPT_OK) {
        status = read_notes(reading);
    }
    for (size_t i = 0; i < spans->count && status == CPT_OK; i++) {
        if (reading->all[i].note.kind == CPTI_NOTE_REQUEST) {
            note_callee(reading, &reading->all[i]);
        }
    }
    return status == CPT_OK && reading->all[spans->root].note.kind != CPTI_NOTE_REQUEST
               ? CPT_END
               : status;
}

cpt_status cpti_spans_noted_path(struct cpti_spans *spans, struct cpt_path *path)
{
    struct reading reading = {.spans = spans};
    cpt_status status = CPT_OK;

    cpt_arena_init(&reading.arena, spans->alloc, 0, 0);
    status = cpti_noted_read(&reading);
    if (status == CPT_OK) {
        status = cpti_noted_make(&reading);
    }
    if (status == CPT_OK) {
        status = open_run(reading.all[spans->root].run, path);
        status = status == CPT_OK ? reading.failed : status;
    }
    if (status == CPT_CORRUPT) {
        cpt_path_reset(path);
        status = CPT_END;
    }
    cpt_arena_deinit(&reading.arena);
    return status;
}
