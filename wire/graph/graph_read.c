/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * graph_read.c - columns become the records of a run; the layout is in graph_format.h
 *
 * The map is read once, to find its columns. Then the tables are made, row by row, each
 * with a cursor in each of its columns. Everything comes from outside: each number is
 * checked before it is used as an index, and memory is taken only for rows that are
 * there, at a byte each at least.
 */
#include "wire/log/cbor_pull.h"
#include "wire/graph/graph_format.h"

#include <stdbool.h>
#include <string.h>

/* A column: what is left of it. Absent: zeros without end. */
struct column {
    const unsigned char *at;
    const unsigned char *end;
    bool is_there;
};

struct decoding {
    struct cpt_trace_build *build;
    struct cpt_error *error;
    struct cpt_bytes data;
    uint64_t arrival_ns;
    uint64_t id;
    struct column columns[CPTI_GRAPH_KEYS];
    struct cpti_cbor names_at; /* the first of the names in the map */
    size_t name_count;
    struct cpt_bytes *names;
    struct cpt_trace *traces;
    size_t run_count;
    struct cpt_trace_task *tasks;
    uint32_t *task_waits;
    size_t task_count;
    struct cpt_trace_await *awaits;
    size_t await_count;
    struct cpt_trace_call *calls;
    size_t call_count;
    cpt_status status;
    unsigned key; /* of the column that is read */
};

static cpt_status refuse(struct decoding *decoding, const char *what)
{
    if (decoding->status == CPT_OK) {
        decoding->status = cpt_error_set(decoding->error, CPT_CORRUPT, 0,
                                         "a graph, column %u: %s", decoding->key, what);
    }
    return decoding->status;
}

static cpt_status refuse_at(struct decoding *decoding, size_t at, const char *what)
{
    decoding->status =
        cpt_error_set(decoding->error, CPT_CORRUPT, at, "a graph %s", what);
    return decoding->status;
}

/* Of a table, or of names. */
static size_t bounded(struct decoding *decoding, size_t count)
{
    if (count > CPT_GRAPH_ROWS_MAX) {
        decoding->build->status = CPT_LIMIT;
    }
    return count;
}

/* What could not be built ends it. */
static void check_build(struct decoding *decoding)
{
    const cpt_status status = decoding->build->status;

    if (decoding->status == CPT_OK && status != CPT_OK) {
        decoding->status = cpt_error_set(
            decoding->error, status, 0,
            status == CPT_LIMIT ? "a graph has too many rows" : "out of memory");
    }
}

static void *take(struct decoding *decoding, size_t count, size_t element_bytes)
{
    void *taken = NULL;

    if (decoding->status == CPT_OK) {
        taken = cpt_trace_build_take(decoding->build, count, element_bytes);
        check_build(decoding);
    }
    return taken;
}

/* --- The map --- */

static cpt_status next(struct decoding *decoding, struct cpti_cbor *cbor,
                       struct cpti_cbor_item *item)
{
    return cpti_cbor_next(cbor, item) == CPT_OK
               ? CPT_OK
               : refuse_at(decoding, cbor->at, "is no CBOR of definite length");
}

static cpt_status skip(struct decoding *decoding, struct cpti_cbor *cbor,
                       const struct cpti_cbor_item *item)
{
    return cpti_cbor_skip_inside(cbor, item) == CPT_OK
               ? CPT_OK
               : refuse_at(decoding, cbor->at, "is no CBOR of definite length");
}

static cpt_status read_pair(struct decoding *decoding, struct cpti_cbor *cbor)
{
    struct cpti_cbor_item key;
    struct cpti_cbor_item value;
    cpt_status status = next(decoding, cbor, &key);

    if (status == CPT_OK) {
        status = skip(decoding, cbor, &key);
    }
    if (status == CPT_OK) {
        status = next(decoding, cbor, &value);
    }
    if (status != CPT_OK) {
        return status;
    }
    if (key.type == CPTI_CBOR_UNSIGNED && key.number == CPTI_GRAPH_ID) {
        decoding->id = value.number;
        return value.type == CPTI_CBOR_UNSIGNED
                   ? CPT_OK
                   : refuse_at(decoding, cbor->at, "has an id that is not a number");
    }
    if (key.type == CPTI_CBOR_UNSIGNED && key.number == CPTI_GRAPH_NAMES) {
        if (value.type != CPTI_CBOR_ARRAY) {
            return refuse_at(decoding, cbor->at, "has names that are not an array");
        }
        decoding->names_at = *cbor;
        decoding->name_count = (size_t)value.number;
    }
    if (key.type == CPTI_CBOR_UNSIGNED && key.number >= CPTI_GRAPH_COLUMNS &&
        key.number < CPTI_GRAPH_KEYS) {
        const unsigned char *text = (const unsigned char *)value.text.data;

        if (value.type != CPTI_CBOR_BYTES) {
            return refuse_at(decoding, cbor->at, "has a column that is not bytes");
        }
        decoding->columns[key.number] =
            (struct column){text, text + value.text.bytes, true};
    }
    return skip(decoding, cbor, &value);
}

static cpt_status read_map(struct decoding *decoding)
{
    struct cpti_cbor cbor = {(const unsigned char *)decoding->data.data,
                             decoding->data.bytes, 0};
    struct cpti_cbor_item map;
    cpt_status status = next(decoding, &cbor, &map);

    if (status != CPT_OK) {
        return status;
    }
    if (map.type != CPTI_CBOR_MAP) {
        return refuse_at(decoding, 0, "is not a map");
    }
    for (uint64_t i = 0; i < map.number && status == CPT_OK; i++) {
        status = read_pair(decoding, &cbor);
    }
    if (status == CPT_OK && cbor.at != cbor.bytes) {
        return refuse_at(decoding, cbor.at, "has bytes behind its map");
    }
    return status;
}

static cpt_status read_names(struct decoding *decoding)
{
    struct cpti_cbor cbor = decoding->names_at;

    decoding->names = take(decoding, bounded(decoding, decoding->name_count),
                           sizeof *decoding->names);
    for (size_t i = 0; i < decoding->name_count && decoding->status == CPT_OK; i++) {
        struct cpti_cbor_item item;

        if (next(decoding, &cbor, &item) != CPT_OK) {
            break;
        }
        if (item.type != CPTI_CBOR_TEXT && item.type != CPTI_CBOR_BYTES) {
            return refuse_at(decoding, cbor.at, "has a name that is no text");
        }
        if (item.text.bytes > CPT_NAME_BYTES_MAX) {
            return refuse_at(decoding, cbor.at, "has a name that is too long");
        }
        if (item.text.bytes != 0 &&
            memchr(item.text.data, 0, item.text.bytes) != NULL) {
            return refuse_at(decoding, cbor.at, "has a name with a NUL byte");
        }
        decoding->names[i] = item.text;
    }
    return decoding->status;
}

/* --- Values --- */

/* The next value of the column @key. */
static uint64_t value_of(struct decoding *decoding, unsigned key)
{
    struct column *column = &decoding->columns[key];
    uint64_t value = 0;

    if (!column->is_there || decoding->status != CPT_OK) {
        return 0;
    }
    decoding->key = key;
    for (unsigned shift = 0; column->at != column->end; shift += 7) {
        const unsigned char byte = *column->at++;

        if (shift > 63 || (shift == 63 && byte > 1)) {
            refuse(decoding, "a number has more than 64 bits");
            return 0;
        }
        value |= (uint64_t)(byte & 0x7fU) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    refuse(decoding, "it has fewer numbers than its table has rows");
    return 0;
}

static uint64_t below(struct decoding *decoding, unsigned key, uint64_t limit)
{
    const uint64_t value = value_of(decoding, key);

    if (value >= limit) {
        refuse(decoding, "a number is too large");
        return 0;
    }
    return value;
}

static struct cpt_bytes name_of(struct decoding *decoding, unsigned key)
{
    const uint64_t number = below(decoding, key, (uint64_t)decoding->name_count + 1);

    return number != 0 ? decoding->names[number - 1] : (struct cpt_bytes){"", 0};
}

static struct cpt_trace_task *task_of(struct decoding *decoding, unsigned key)
{
    const uint64_t number = below(decoding, key, (uint64_t)decoding->task_count + 1);

    return number != 0 ? &decoding->tasks[number - 1] : NULL;
}

static struct cpt_trace_call *call_of(struct decoding *decoding, unsigned key)
{
    const uint64_t number = below(decoding, key, (uint64_t)decoding->call_count + 1);

    return number != 0 ? &decoding->calls[number - 1] : NULL;
}

static uint64_t time_of(struct decoding *decoding, unsigned key, uint64_t reference_ns)
{
    const uint64_t value = value_of(decoding, key);
    const uint64_t base_ns =
        cpti_graph_is_time(reference_ns) ? reference_ns : decoding->arrival_ns;
    uint64_t at_ns = base_ns;

    if (value == CPTI_GRAPH_TIME_UNSET) {
        return 0;
    }
    if (value == CPTI_GRAPH_TIME_NEVER) {
        return UINT64_MAX;
    }
    if (value != 0) {
        at_ns = value % 2 == 1 ? base_ns + (value - 1) / 2 : base_ns - (value - 2) / 2;
    }
    if (at_ns - decoding->arrival_ns > CPTI_GRAPH_TIME_MAX &&
        decoding->arrival_ns - at_ns > CPTI_GRAPH_TIME_MAX) {
        refuse(decoding, "a time is too far from the arrival");
        return decoding->arrival_ns;
    }
    return at_ns;
}

/* A time that must be there. */
static uint64_t known_time_of(struct decoding *decoding, unsigned key,
                              uint64_t reference_ns)
{
    const uint64_t at_ns = time_of(decoding, key, reference_ns);

    if (decoding->status == CPT_OK && !cpti_graph_is_time(at_ns)) {
        refuse(decoding, "a time is missing");
    }
    return at_ns;
}

/* --- Rows --- */

/* The rows of the table whose first column is @key. */
static size_t rows_of(struct decoding *decoding, unsigned key)
{
    const struct column *column = &decoding->columns[key];
    size_t count = 0;

    for (const unsigned char *at = column->at; at != column->end; at++) {
        count += *at < 0x80;
    }
    return bounded(decoding, count);
}

static void take_tables(struct decoding *decoding)
{
    decoding->run_count = rows_of(decoding, CPTI_GRAPH_RUN_RESPONSE);
    decoding->task_count = rows_of(decoding, CPTI_GRAPH_TASK_NAME);
    decoding->await_count = rows_of(decoding, CPTI_GRAPH_WAIT_BLOCK);
    decoding->call_count = rows_of(decoding, CPTI_GRAPH_CALL_ISSUER);
    decoding->traces = take(decoding, decoding->run_count, sizeof *decoding->traces);
    decoding->tasks = take(decoding, decoding->task_count, sizeof *decoding->tasks);
    decoding->task_waits =
        take(decoding, decoding->task_count, sizeof *decoding->task_waits);
    decoding->awaits = take(decoding, decoding->await_count, sizeof *decoding->awaits);
    decoding->calls = take(decoding, decoding->call_count, sizeof *decoding->calls);
}

/* The first answers @call. */
static void read_runs(struct decoding *decoding, struct cpt_trace_call *call)
{
    for (size_t i = 0; i < decoding->run_count && decoding->status == CPT_OK; i++) {
        struct cpt_trace *trace = &decoding->traces[i];
        struct cpt_trace_call *own = NULL;

        trace->arrival_ns =
            known_time_of(decoding, CPTI_GRAPH_RUN_ARRIVAL, decoding->arrival_ns);
        trace->response_ns =
            known_time_of(decoding, CPTI_GRAPH_RUN_RESPONSE, trace->arrival_ns);
        trace->answered_by = task_of(decoding, CPTI_GRAPH_RUN_ANSWERED_BY);
        trace->entry = name_of(decoding, CPTI_GRAPH_RUN_ENTRY);
        trace->dispatch_ns =
            time_of(decoding, CPTI_GRAPH_RUN_DISPATCH, trace->arrival_ns);
        own = call_of(decoding, CPTI_GRAPH_RUN_CALL);
        cpt_trace_build_run(decoding->build,
                            (struct cpt_dag_run){trace, i == 0 ? call : own});
        if ((own == NULL) != (i == 0)) {
            refuse(decoding, "a run has no call, or the first has one");
        }
        if (i == 0 && trace->arrival_ns != decoding->arrival_ns) {
            refuse(decoding, "the first run does not begin at its arrival");
        }
        if (trace->response_ns < trace->arrival_ns) {
            refuse(decoding, "a response is before its arrival");
        }
    }
}

static void read_tasks(struct decoding *decoding, uint32_t first_run)
{
    uint64_t ready_ns = 0;

    for (size_t i = 0; i < decoding->task_count && decoding->status == CPT_OK; i++) {
        struct cpt_trace_task *task = &decoding->tasks[i];

        cpt_trace_build_task(decoding->build, task,
                             first_run + (uint32_t)below(decoding, CPTI_GRAPH_TASK_RUN,
                                                         decoding->run_count));
        decoding->task_waits[i] = (uint32_t)below(decoding, CPTI_GRAPH_TASK_WAITS,
                                                  (uint64_t)decoding->await_count + 1);
        task->name = name_of(decoding, CPTI_GRAPH_TASK_NAME);
        task->begin = (unsigned char)below(decoding, CPTI_GRAPH_TASK_BEGIN,
                                           CPT_BEGIN_UNKNOWN + 1);
        task->unblocker = task_of(decoding, CPTI_GRAPH_TASK_UNBLOCKER);
        task->ready_ns = ready_ns = time_of(decoding, CPTI_GRAPH_TASK_READY, ready_ns);
        task->start_ns = time_of(decoding, CPTI_GRAPH_TASK_START, task->ready_ns);
        task->end_ns = time_of(decoding, CPTI_GRAPH_TASK_END, task->start_ns);
        task->executor = name_of(decoding, CPTI_GRAPH_TASK_EXECUTOR);
        task->occupant = name_of(decoding, CPTI_GRAPH_TASK_OCCUPANT);
    }
}

static void read_awaits(struct decoding *decoding)
{
    size_t row = 0;

    for (size_t i = 0; i < decoding->task_count && decoding->status == CPT_OK; i++) {
        struct cpt_trace_task *task = &decoding->tasks[i];
        uint64_t since_ns = task->start_ns;

        if (decoding->task_waits[i] > decoding->await_count - row) {
            decoding->key = CPTI_GRAPH_TASK_WAITS;
            refuse(decoding, "tasks have more waits than there are");
            return;
        }
        for (uint32_t k = 0; k < decoding->task_waits[i] && decoding->status == CPT_OK;
             k++, row++) {
            struct cpt_trace_await *await = &decoding->awaits[row];

            await->previous = task->last_await;
            await->block_ns = time_of(decoding, CPTI_GRAPH_WAIT_BLOCK, since_ns);
            await->arrive_ns =
                time_of(decoding, CPTI_GRAPH_WAIT_ARRIVE, await->block_ns);
            await->resume_ns =
                time_of(decoding, CPTI_GRAPH_WAIT_RESUME, await->arrive_ns);
            await->call = call_of(decoding, CPTI_GRAPH_WAIT_CALL);
            await->task = task_of(decoding, CPTI_GRAPH_WAIT_TASK);
            await->occupant = name_of(decoding, CPTI_GRAPH_WAIT_OCCUPANT);
            task->last_await = await;
            since_ns = await->resume_ns;
        }
    }
    if (decoding->status == CPT_OK && row != decoding->await_count) {
        decoding->key = CPTI_GRAPH_TASK_WAITS;
        refuse(decoding, "tasks have fewer waits than there are");
    }
}

static void read_calls(struct decoding *decoding)
{
    uint64_t issue_ns = 0;

    for (size_t i = 0; i < decoding->call_count && decoding->status == CPT_OK; i++) {
        struct cpt_trace_call *call = &decoding->calls[i];

        call->issuer = task_of(decoding, CPTI_GRAPH_CALL_ISSUER);
        call->name = name_of(decoding, CPTI_GRAPH_CALL_NAME);
        call->issue_ns = issue_ns = time_of(decoding, CPTI_GRAPH_CALL_ISSUE, issue_ns);
        call->sent_ns = time_of(decoding, CPTI_GRAPH_CALL_SENT, call->issue_ns);
        call->arrive_ns = time_of(decoding, CPTI_GRAPH_CALL_ARRIVE, call->issue_ns);
        call->outcome = (unsigned char)below(decoding, CPTI_GRAPH_CALL_OUTCOME, 256);
        call->kind = (unsigned char)below(decoding, CPTI_GRAPH_CALL_KIND, 256);
        call->executor = name_of(decoding, CPTI_GRAPH_CALL_EXECUTOR);
        call->holder = name_of(decoding, CPTI_GRAPH_CALL_HOLDER);
        call->status = name_of(decoding, CPTI_GRAPH_CALL_STATUS);
        call->attempt = (uint32_t)below(decoding, CPTI_GRAPH_CALL_ATTEMPT,
                                        (uint64_t)UINT32_MAX + 1);
        call->id = value_of(decoding, CPTI_GRAPH_CALL_ID);
        call->reason = value_of(decoding, CPTI_GRAPH_CALL_FAILED) != 0
                           ? CPT_REASON_FAILED
                           : CPT_REASON_NONE;
    }
}

static void read_arrivals(struct decoding *decoding)
{
    const size_t count = rows_of(decoding, CPTI_GRAPH_ARRIVAL_WAITER);

    check_build(decoding);
    for (size_t i = 0; i < count && decoding->status == CPT_OK; i++) {
        struct cpt_dag_arrival arrival = {
            .waiter = task_of(decoding, CPTI_GRAPH_ARRIVAL_WAITER),
            .giver = task_of(decoding, CPTI_GRAPH_ARRIVAL_GIVER),
            .call = call_of(decoding, CPTI_GRAPH_ARRIVAL_CALL)};
        uint64_t reference_ns = 0;
        uint64_t flags = 0;
        uint64_t wait = 0;

        if (arrival.call != NULL) {
            reference_ns = arrival.call->arrive_ns;
        } else if (arrival.giver != NULL) {
            reference_ns = arrival.giver->end_ns;
        }
        arrival.arrive_ns = time_of(decoding, CPTI_GRAPH_ARRIVAL_AT, reference_ns);
        flags = value_of(decoding, CPTI_GRAPH_ARRIVAL_FLAGS);
        arrival.is_input = (flags & CPTI_GRAPH_IS_INPUT) != 0;
        arrival.is_spare = (flags & CPTI_GRAPH_IS_SPARE) != 0;
        wait = below(decoding, CPTI_GRAPH_ARRIVAL_WAIT,
                     (uint64_t)decoding->await_count + 1);
        arrival.await = wait != 0 ? &decoding->awaits[wait - 1] : NULL;
        cpt_trace_build_arrival(decoding->build, &arrival);
    }
}

/* All columns were read to their end. */
static void check_ends(struct decoding *decoding)
{
    for (unsigned i = CPTI_GRAPH_COLUMNS; i < CPTI_GRAPH_KEYS; i++) {
        const bool is_known =
            i <= CPTI_GRAPH_RUN_DISPATCH ||
            (i >= CPTI_GRAPH_TASK_NAME && i <= CPTI_GRAPH_TASK_WAITS) ||
            (i >= CPTI_GRAPH_WAIT_BLOCK && i <= CPTI_GRAPH_WAIT_OCCUPANT) ||
            (i >= CPTI_GRAPH_CALL_ISSUER && i <= CPTI_GRAPH_CALL_FAILED) ||
            (i >= CPTI_GRAPH_ARRIVAL_WAITER && i <= CPTI_GRAPH_ARRIVAL_WAIT);

        if (is_known && decoding->columns[i].at != decoding->columns[i].end) {
            decoding->key = i;
            refuse(decoding, "it has more numbers than its table has rows");
        }
    }
}

static void check_runs(struct decoding *decoding)
{
    if (decoding->status == CPT_OK && decoding->run_count == 0) {
        decoding->key = CPTI_GRAPH_RUN_RESPONSE;
        refuse(decoding, "there is no run");
    }
}

cpt_status cpt_graph_id(const struct cpt_record *record, uint64_t *id,
                        struct cpt_error *error)
{
    struct decoding decoding = {.error = error, .data = record->path_bytes};

    if (record->path_bytes.bytes == 0) {
        return cpt_error_set(error, CPT_CORRUPT, 0, "the record has no graph");
    }
    *id = 0;
    if (read_map(&decoding) == CPT_OK) {
        *id = decoding.id;
    }
    return decoding.status;
}

cpt_status cpti_graph_add(struct cpt_trace_build *build,
                          const struct cpt_record *record, uint64_t arrival_ns,
                          struct cpt_trace_call *call, struct cpt_kept_graph *graph,
                          struct cpt_error *error)
{
    const struct cpt_trace_build before = *build;
    struct decoding decoding = {.build = build,
                                .error = error,
                                .data = record->path_bytes,
                                .arrival_ns = arrival_ns};

    memset(graph, 0, sizeof *graph);
    if (record->path_bytes.bytes == 0) {
        return cpt_error_set(error, CPT_CORRUPT, 0, "the record has no graph");
    }
    if (read_map(&decoding) != CPT_OK || read_names(&decoding) != CPT_OK) {
        return decoding.status;
    }
    take_tables(&decoding);
    check_runs(&decoding);
    read_runs(&decoding, call);
    read_tasks(&decoding, (uint32_t)before.runs.count);
    read_awaits(&decoding);
    read_calls(&decoding);
    read_arrivals(&decoding);
    check_ends(&decoding);
    check_build(&decoding);
    if (decoding.status != CPT_OK) {
        *build = before;
        return decoding.status;
    }
    graph->id = decoding.id;
    graph->calls = decoding.calls;
    graph->call_count = decoding.call_count;
    return CPT_OK;
}

cpt_status cpt_graph_decode(const struct cpt_record *record, uint64_t arrival_ns,
                            struct cpt_arena *arena, struct cpt_kept_graph *graph,
                            struct cpt_error *error)
{
    struct cpt_trace_build build = {.arena = arena};
    const cpt_status status =
        cpti_graph_add(&build, record, arrival_ns, NULL, graph, error);

    graph->records = cpt_trace_build_records(&build);
    return status;
}
