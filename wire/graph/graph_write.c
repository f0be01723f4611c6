/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * graph_write.c - the records of a run become columns; the layout is in graph_format.h
 *
 * The records point at each other. First each gets its number: tasks are an array, the
 * waits are put into one, and so are the calls, by the time of their issue. Then each
 * column is a function of a row.
 */
#include "wire/log/cbor_put.h"
#include "wire/graph/graph_format.h"
#include "wire/metadata/varint.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct writing {
    const struct cpt_alloc *alloc;
    const struct cpt_dag_records *records;
    uint64_t arrival_ns;
    uint32_t *wait_counts; /* of each task */
    uint32_t *wait_firsts; /* the row of its first */
    size_t wait_at;        /* the row that was found last */
    struct own_wait *waits;
    size_t wait_count, wait_capacity;
    struct cpt_trace_call **calls;
    size_t call_count, call_capacity;
    struct cpt_names *names;
    uint64_t *values; /* of the column that is being written */
    size_t value_capacity;
    bool is_far; /* a time is too far from the arrival */
    cpt_status status;
};

/* A wait, and when the step before it began. */
struct own_wait {
    const struct cpt_trace_await *await;
    uint64_t since_ns;
};

static void fail(struct writing *writing, cpt_status status)
{
    if (writing->status == CPT_OK) {
        writing->status = status;
    }
}

/* --- Numbers of records: + 1, so that 0 is none --- */

static uint64_t task_number(const struct writing *writing,
                            const struct cpt_trace_task *task)
{
    return (uint32_t)(cpt_trace_number(writing->records, task) + 1);
}

static int compare_calls(const void *left, const void *right)
{
    const struct cpt_trace_call *a = *(struct cpt_trace_call *const *)left;
    const struct cpt_trace_call *b = *(struct cpt_trace_call *const *)right;

    if (a->issue_ns != b->issue_ns) {
        return a->issue_ns < b->issue_ns ? -1 : 1;
    }
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static uint64_t call_number(const struct writing *writing, struct cpt_trace_call *call)
{
    struct cpt_trace_call **found = NULL;

    if (call != NULL && writing->call_count != 0) {
        found = bsearch(&call, writing->calls, writing->call_count, sizeof(void *),
                        compare_calls);
    }
    return found != NULL ? (uint64_t)(found - writing->calls) + 1 : 0;
}

static uint64_t name_number(struct writing *writing, struct cpt_bytes name)
{
    char buffer[CPT_NAME_BYTES_MAX + 1];
    cpt_name_id id = 0;
    cpt_status status = CPT_OK;

    if (name.bytes == 0) {
        return 0;
    }
    status = cpt_names_add(writing->names, cpt_name_bound(name, buffer), &id);
    if (status == CPT_OK && id >= CPT_GRAPH_ROWS_MAX) {
        status = CPT_LIMIT;
    }
    fail(writing, status);
    return (uint64_t)id + 1;
}

/* --- Times --- */

/* @at_ns as a distance to @reference_ns. */
static uint64_t time_of(struct writing *writing, uint64_t at_ns, uint64_t reference_ns)
{
    uint64_t later_ns = 0;

    if (!cpti_graph_is_time(at_ns)) {
        return at_ns == 0 ? CPTI_GRAPH_TIME_UNSET : CPTI_GRAPH_TIME_NEVER;
    }
    if (at_ns - writing->arrival_ns > CPTI_GRAPH_TIME_MAX &&
        writing->arrival_ns - at_ns > CPTI_GRAPH_TIME_MAX) {
        writing->is_far = true;
        return 0;
    }
    if (!cpti_graph_is_time(reference_ns)) {
        reference_ns = writing->arrival_ns;
    }
    later_ns = at_ns - reference_ns;
    if (later_ns == 0) {
        return 0;
    }
    return later_ns <= INT64_MAX ? 2 * later_ns + 1 : 2 * (0 - later_ns) + 2;
}

/* --- Columns --- */

static const struct cpt_trace *run_at(const struct writing *writing, size_t row)
{
    return writing->records->runs[row].trace;
}

static const struct cpt_trace_task *task_at(const struct writing *writing, size_t row)
{
    return writing->records->tasks[row];
}

static uint64_t run_value(struct writing *writing, unsigned key, size_t row)
{
    const struct cpt_trace *trace = run_at(writing, row);

    switch (key) {
    case CPTI_GRAPH_RUN_RESPONSE:
        return time_of(writing, trace->response_ns, trace->arrival_ns);
    case CPTI_GRAPH_RUN_ARRIVAL:
        return row == 0 ? 0 : time_of(writing, trace->arrival_ns, writing->arrival_ns);
    case CPTI_GRAPH_RUN_ANSWERED_BY:
        return task_number(writing, trace->answered_by);
    case CPTI_GRAPH_RUN_CALL:
        return row == 0 ? 0 : call_number(writing, writing->records->runs[row].call);
    case CPTI_GRAPH_RUN_DISPATCH: /* not set is as at the arrival */
        return trace->dispatch_ns == 0
                   ? 0
                   : time_of(writing, trace->dispatch_ns, trace->arrival_ns);
    default:
        return name_number(writing, trace->entry);
    }
}

static uint64_t task_value(struct writing *writing, unsigned key, size_t row)
{
    const struct cpt_trace_task *task = task_at(writing, row);

    switch (key) {
    case CPTI_GRAPH_TASK_NAME:
        return name_number(writing, task->name);
    case CPTI_GRAPH_TASK_RUN:
        return writing->records->task_runs != NULL ? writing->records->task_runs[row]
                                                   : 0;
    case CPTI_GRAPH_TASK_BEGIN:
        return task->begin;
    case CPTI_GRAPH_TASK_UNBLOCKER:
        return task_number(writing, task->unblocker);
    case CPTI_GRAPH_TASK_READY:
        return time_of(writing, task->ready_ns,
                       row == 0 ? 0 : task_at(writing, row - 1)->ready_ns);
    case CPTI_GRAPH_TASK_START:
        return time_of(writing, task->start_ns, task->ready_ns);
    case CPTI_GRAPH_TASK_END:
        return time_of(writing, task->end_ns, task->start_ns);
    case CPTI_GRAPH_TASK_EXECUTOR:
        return name_number(writing, task->executor);
    case CPTI_GRAPH_TASK_OCCUPANT:
        return name_number(writing, task->occupant);
    default:
        return writing->wait_counts[row];
    }
}

static uint64_t wait_value(struct writing *writing, unsigned key, size_t row)
{
    const struct own_wait *wait = &writing->waits[row];
    const struct cpt_trace_await *await = wait->await;

    switch (key) {
    case CPTI_GRAPH_WAIT_BLOCK:
        return time_of(writing, await->block_ns, wait->since_ns);
    case CPTI_GRAPH_WAIT_ARRIVE:
        return time_of(writing, await->arrive_ns, await->block_ns);
    case CPTI_GRAPH_WAIT_RESUME:
        return time_of(writing, await->resume_ns, await->arrive_ns);
    case CPTI_GRAPH_WAIT_CALL:
        return call_number(writing, await->call);
    case CPTI_GRAPH_WAIT_TASK:
        return task_number(writing, await->task);
    default:
        return name_number(writing, await->occupant);
    }
}

static uint64_t call_value(struct writing *writing, unsigned key, size_t row)
{
    const struct cpt_trace_call *call = writing->calls[row];

    switch (key) {
    case CPTI_GRAPH_CALL_ISSUER:
        return task_number(writing, call->issuer);
    case CPTI_GRAPH_CALL_NAME:
        return name_number(writing, call->name);
    case CPTI_GRAPH_CALL_ISSUE:
        return time_of(writing, call->issue_ns,
                       row == 0 ? 0 : writing->calls[row - 1]->issue_ns);
    case CPTI_GRAPH_CALL_SENT:
        return time_of(writing, call->sent_ns, call->issue_ns);
    case CPTI_GRAPH_CALL_ARRIVE:
        return time_of(writing, call->arrive_ns, call->issue_ns);
    case CPTI_GRAPH_CALL_OUTCOME:
        return call->outcome;
    case CPTI_GRAPH_CALL_KIND:
        return call->kind;
    case CPTI_GRAPH_CALL_EXECUTOR:
        return name_number(writing, call->executor);
    case CPTI_GRAPH_CALL_HOLDER:
        return name_number(writing, call->holder);
    case CPTI_GRAPH_CALL_STATUS:
        return name_number(writing, call->status);
    case CPTI_GRAPH_CALL_ATTEMPT:
        return call->attempt;
    case CPTI_GRAPH_CALL_ID:
        return call->id;
    default:
        return call->reason == CPT_REASON_FAILED;
    }
}

/* The wait that the arrival belongs to, + 1. Arrivals come in the order of waits,
 * mostly: the search begins at the last one. */
static uint64_t wait_number(struct writing *writing,
                            const struct cpt_dag_arrival *arrival)
{
    const uint64_t task = task_number(writing, arrival->waiter);
    const size_t count = task != 0 ? writing->wait_counts[task - 1] : 0;
    const size_t first = task != 0 ? writing->wait_firsts[task - 1] : 0;
    const size_t last = writing->wait_at - first < count ? writing->wait_at - first : 0;

    for (size_t i = 0; i < count && arrival->await != NULL; i++) {
        const size_t row = first + (last + i) % count;

        if (writing->waits[row].await == arrival->await) {
            writing->wait_at = row;
            return (uint64_t)row + 1;
        }
    }
    return 0;
}

/* When what arrives was there, if that is known. */
static uint64_t giving_ns(const struct writing *writing,
                          const struct cpt_dag_arrival *arrival)
{
    if (arrival->call != NULL) {
        return arrival->call->arrive_ns;
    }
    return task_number(writing, arrival->giver) != 0 ? arrival->giver->end_ns : 0;
}

static uint64_t arrival_value(struct writing *writing, unsigned key, size_t row)
{
    const struct cpt_dag_arrival *arrival = &writing->records->arrivals[row];

    switch (key) {
    case CPTI_GRAPH_ARRIVAL_WAITER:
        return task_number(writing, arrival->waiter);
    case CPTI_GRAPH_ARRIVAL_GIVER:
        return task_number(writing, arrival->giver);
    case CPTI_GRAPH_ARRIVAL_CALL:
        return call_number(writing, arrival->call);
    case CPTI_GRAPH_ARRIVAL_AT:
        return time_of(writing, arrival->arrive_ns, giving_ns(writing, arrival));
    case CPTI_GRAPH_ARRIVAL_WAIT:
        return wait_number(writing, arrival);
    default:
        return (arrival->is_input != 0 ? CPTI_GRAPH_IS_INPUT : 0U) |
               (arrival->is_spare != 0 ? CPTI_GRAPH_IS_SPARE : 0U);
    }
}

typedef uint64_t value_fn(struct writing *writing, unsigned key, size_t row);

/* A table: the keys of its columns, and its rows. */
struct table {
    unsigned first;
    unsigned last;
    value_fn *value;
    size_t row_count;
};

/* --- The rows --- */

static void add_call(struct writing *writing, struct cpt_trace_call *call)
{
    if (call == NULL || writing->status != CPT_OK) {
        return;
    }
    fail(writing, cpt_alloc_grow(writing->alloc, (void **)&writing->calls,
                                 &writing->call_capacity, writing->call_count + 1,
                                 (size_t)8 * CPT_GRAPH_ROWS_MAX, sizeof(void *)));
    if (writing->status == CPT_OK) {
        writing->calls[writing->call_count++] = call;
    }
}

/* All calls that tasks waited for, and those that runs answer, each once. */
static void list_calls(struct writing *writing)
{
    const struct cpt_dag_records *records = writing->records;
    size_t count = 0;

    for (size_t i = 0; i < writing->wait_count; i++) {
        add_call(writing, writing->waits[i].await->call);
    }
    for (size_t i = 0; i < records->arrival_count; i++) {
        add_call(writing, records->arrivals[i].call);
    }
    for (size_t i = 1; i < records->run_count; i++) {
        add_call(writing, records->runs[i].call);
    }
    if (writing->call_count != 0) {
        qsort(writing->calls, writing->call_count, sizeof(void *), compare_calls);
    }
    for (size_t i = 0; i < writing->call_count; i++) {
        if (count == 0 || writing->calls[count - 1] != writing->calls[i]) {
            writing->calls[count++] = writing->calls[i];
        }
    }
    writing->call_count = count;
}

/* The waits of task @number, the oldest first. */
static void list_waits(struct writing *writing, size_t number)
{
    const struct cpt_trace_task *task = task_at(writing, number);
    const struct cpt_trace_await *await = task->last_await;
    const size_t first = writing->wait_count;
    size_t count = 0;

    for (; await != NULL && count <= CPT_GRAPH_ROWS_MAX; await = await->previous) {
        count++;
    }
    fail(writing, cpt_alloc_grow(writing->alloc, (void **)&writing->waits,
                                 &writing->wait_capacity, first + count,
                                 CPT_GRAPH_ROWS_MAX, sizeof *writing->waits));
    if (writing->status != CPT_OK) {
        return;
    }
    writing->wait_counts[number] = (uint32_t)count;
    writing->wait_firsts[number] = (uint32_t)first;
    writing->wait_count += count;
    await = task->last_await;
    for (size_t i = writing->wait_count; i-- != first && await != NULL;) {
        const struct cpt_trace_await *previous = await->previous;

        writing->waits[i].await = await;
        writing->waits[i].since_ns =
            previous != NULL ? previous->resume_ns : task->start_ns;
        await = previous;
    }
}

static bool is_too_much(const struct writing *writing)
{
    return writing->records->task_count > CPT_GRAPH_ROWS_MAX ||
           writing->records->run_count > CPT_GRAPH_ROWS_MAX ||
           writing->records->arrival_count > CPT_GRAPH_ROWS_MAX ||
           writing->call_count > CPT_GRAPH_ROWS_MAX;
}

static void list_rows(struct writing *writing)
{
    const struct cpt_dag_records *records = writing->records;

    if (is_too_much(writing)) {
        fail(writing, CPT_LIMIT);
        return;
    }
    writing->wait_counts = cpt_alloc_zeroed(
        writing->alloc, (records->task_count + 1) * sizeof *writing->wait_counts);
    writing->wait_firsts = cpt_alloc_zeroed(
        writing->alloc, (records->task_count + 1) * sizeof *writing->wait_firsts);
    writing->names = cpt_names_new(writing->alloc);
    if (writing->wait_counts == NULL || writing->wait_firsts == NULL ||
        writing->names == NULL) {
        fail(writing, CPT_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < records->task_count; i++) {
        records->tasks[i]->walk_number = (uint32_t)i;
    }
    for (size_t i = 0; i < records->task_count && writing->status == CPT_OK; i++) {
        list_waits(writing, i);
    }
    list_calls(writing);
    if (is_too_much(writing)) {
        fail(writing, CPT_LIMIT);
    }
    for (size_t i = 1; i < records->run_count && writing->status == CPT_OK; i++) {
        if (records->runs[i].call == NULL) {
            fail(writing, CPT_INVALID);
        }
    }
}

/* --- All of it --- */

/* The values of a column to `values`; false if it need not be written. */
static bool make_column(struct writing *writing, const struct table *table,
                        unsigned key)
{
    uint64_t any = 0;

    fail(writing, cpt_alloc_grow(writing->alloc, (void **)&writing->values,
                                 &writing->value_capacity, table->row_count,
                                 CPT_GRAPH_ROWS_MAX, sizeof *writing->values));
    for (size_t i = 0; i < table->row_count && writing->status == CPT_OK; i++) {
        writing->values[i] = table->value(writing, key, i);
        any |= writing->values[i];
    }
    return writing->status == CPT_OK &&
           (any != 0 || (key == table->first && table->row_count != 0));
}

/* Appends key and bytes of the column in `values`. */
static void put_column(struct writing *writing, struct cpti_put *put, unsigned key,
                       size_t row_count)
{
    size_t bytes = 0;
    unsigned char *at = NULL;

    for (size_t i = 0; i < row_count; i++) {
        bytes += cpti_varint_bytes(writing->values[i]);
    }
    cpti_put_unsigned(put, key);
    at = cpti_put_room(put, bytes);
    for (size_t i = 0; i < row_count && at != NULL; i++) {
        at = cpti_varint_put(at, writing->values[i]);
    }
}

static size_t put_columns(struct writing *writing, struct cpti_put *put)
{
    const struct cpt_dag_records *records = writing->records;
    const struct table tables[] = {
        {CPTI_GRAPH_RUN_RESPONSE, CPTI_GRAPH_RUN_DISPATCH, run_value,
         records->run_count},
        {CPTI_GRAPH_TASK_NAME, CPTI_GRAPH_TASK_WAITS, task_value, records->task_count},
        {CPTI_GRAPH_WAIT_BLOCK, CPTI_GRAPH_WAIT_OCCUPANT, wait_value,
         writing->wait_count},
        {CPTI_GRAPH_CALL_ISSUER, CPTI_GRAPH_CALL_FAILED, call_value,
         writing->call_count},
        {CPTI_GRAPH_ARRIVAL_WAITER, CPTI_GRAPH_ARRIVAL_WAIT, arrival_value,
         records->arrival_count}};
    size_t count = 0;

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const struct table *table = &tables[i];

        for (unsigned key = table->first;
             key <= table->last && writing->status == CPT_OK; key++) {
            if (make_column(writing, table, key)) {
                put_column(writing, put, key, table->row_count);
                count++;
            }
        }
    }
    return count;
}

/* The map around the columns, which are the @count pairs in @columns. */
static void put_graph(struct writing *writing, struct cpti_put *put, uint64_t id,
                      const struct cpti_put *columns, size_t count)
{
    const size_t name_count = cpt_names_count(writing->names);

    cpti_put_map(put, count + (id != 0) + (name_count != 0));
    if (id != 0) {
        cpti_put_unsigned(put, CPTI_GRAPH_ID);
        cpti_put_unsigned(put, id);
    }
    if (name_count != 0) {
        cpti_put_unsigned(put, CPTI_GRAPH_NAMES);
        cpti_put_array(put, name_count);
    }
    for (size_t i = 0; i < name_count; i++) {
        cpti_put_text(put, cpt_names_at(writing->names, (cpt_name_id)i));
    }
    cpti_put_items(put, columns);
}

static cpt_status encode(struct writing *writing, const struct cpt_record *request,
                         uint64_t id, unsigned char **data, size_t *bytes,
                         struct cpt_error *error)
{
    struct cpti_put columns = {.alloc = writing->alloc,
                               .bytes_max = CPT_LOG_RECORD_BYTES_MAX};
    struct cpti_put put = columns;
    struct cpt_record record = *request;
    cpt_status status = CPT_OK;
    size_t count = 0;

    list_rows(writing);
    count = writing->status == CPT_OK ? put_columns(writing, &columns) : 0;
    fail(writing, columns.status);
    fail(writing, writing->is_far ? CPT_INVALID : CPT_OK);
    if (writing->status == CPT_OK) {
        put_graph(writing, &put, id, &columns, count);
        fail(writing, put.status);
    }
    status = writing->status;
    if (status == CPT_OK) {
        record.path = NULL;
        record.path_bytes = (struct cpt_bytes){(const char *)put.data, put.bytes};
        status = cpt_record_encode(&record, writing->alloc, data, bytes, error);
    } else {
        cpt_error_set(error, status, 0, "the graph cannot be encoded: %s",
                      cpt_status_sentence(status));
    }
    cpt_alloc_free(writing->alloc, columns.data);
    cpt_alloc_free(writing->alloc, put.data);
    return status;
}

cpt_status cpt_graph_encode(const struct cpt_record *request, uint64_t id,
                            const struct cpt_dag_records *records,
                            const struct cpt_alloc *alloc, unsigned char **data,
                            size_t *bytes, struct cpt_error *error)
{
    struct writing writing = {.alloc = alloc, .records = records};
    cpt_status status = CPT_OK;

    if (records->run_count == 0) {
        return cpt_error_set(error, CPT_INVALID, 0, "the graph has no run");
    }
    writing.arrival_ns = records->runs[0].trace->arrival_ns;
    status = encode(&writing, request, id, data, bytes, error);
    cpt_names_free(writing.names);
    cpt_alloc_free(alloc, writing.wait_counts);
    cpt_alloc_free(alloc, writing.wait_firsts);
    cpt_alloc_free(alloc, writing.waits);
    cpt_alloc_free(alloc, writing.calls);
    cpt_alloc_free(alloc, writing.values);
    return status;
}
