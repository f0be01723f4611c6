/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * graph_join.c - see cpt_graph_join.h
 *
 *      places   one for each record: its block, its number there, its input
 *      ids      id and place, in the order of the ids
 *
 * A request is a list of records that are still to be decoded: first that of the entry,
 * then those that the calls of the decoded ones lead to. Each place is taken once, so
 * that the list ends.
 */
#include "wire/cpt_graph_join.h"

#include "wire/graph/graph_blocks.h"
#include "wire/graph/graph_format.h"
#include "wire/log/log_format.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX = 65535, RECORDS_MAX_DEFAULT = 1 << 26 };

/* What is known of a record. */
enum { IS_ENTRY = 1, IS_REPEATED = 2, IS_TAKEN = 4, IS_COPY = 8 };

struct place {
    uint64_t offset; /* of its block */
    uint32_t number; /* in the block */
    uint16_t input;
    uint16_t flags;
};

struct id {
    uint64_t id;
    uint32_t place;
};

/* A record, and the first one with its id. */
struct again {
    uint32_t place;
    uint32_t first;
};

/* A record that a request needs. */
struct wanted {
    uint32_t place;
    struct cpt_trace_call *call; /* that it answers; NULL: none, it is the entry's */
};

struct cpt_graph_join {
    struct cpt_graph_join_options options;
    struct cpt_graph_input **inputs;
    size_t input_count, input_capacity;
    struct place *places;
    size_t place_count, place_capacity;
    struct id *ids;
    size_t id_count, id_capacity;
    struct again *again;
    size_t again_count, again_capacity;
    size_t next; /* place */
    bool is_sorted;
    bool has_ended;
    struct cpti_graph_blocks blocks;
    struct cpti_log_attributes attributes;
    struct cpt_graph_join_counts counts;
    /* Of the current request. */
    struct cpt_arena arena;
    struct wanted *wanted;
    size_t wanted_count, wanted_capacity;
    struct cpt_trace_build build;
    uint64_t missing_count;
};

struct cpt_graph_join *cpt_graph_join_new(const struct cpt_graph_join_options *options,
                                          struct cpt_error *error)
{
    struct cpt_graph_join_options own;
    struct cpt_graph_join *join = NULL;

    if (cpt_options_read(&own, sizeof own, options, error) != CPT_OK) {
        return NULL;
    }
    if (own.request_bytes_max == 0) {
        own.request_bytes_max = CPT_TRACE_BYTES_MAX;
    }
    if (own.records_max == 0 || own.records_max > RECORDS_MAX_DEFAULT) {
        own.records_max = RECORDS_MAX_DEFAULT;
    }
    join = cpt_alloc_zeroed(own.alloc, sizeof *join);
    if (join == NULL) {
        cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
        return NULL;
    }
    join->options = own;
    join->blocks.alloc = own.alloc;
    join->attributes.alloc = own.alloc;
    cpt_arena_init(&join->arena, own.alloc, 0, own.request_bytes_max);
    return join;
}

void cpt_graph_join_free(struct cpt_graph_join *join)
{
    if (join == NULL) {
        return;
    }
    for (size_t i = 0; i < join->input_count; i++) {
        cpt_alloc_free(join->options.alloc, join->inputs[i]);
    }
    cpti_graph_blocks_free(&join->blocks);
    cpt_arena_deinit(&join->arena);
    cpt_alloc_free(join->options.alloc, join->inputs);
    cpt_alloc_free(join->options.alloc, join->places);
    cpt_alloc_free(join->options.alloc, join->ids);
    cpt_alloc_free(join->options.alloc, join->again);
    cpt_alloc_free(join->options.alloc, join->attributes.all);
    cpt_alloc_free(join->options.alloc, join->wanted);
    cpt_alloc_free(join->options.alloc, join);
}

const struct cpt_graph_join_counts *
cpt_graph_join_counts(const struct cpt_graph_join *join)
{
    return &join->counts;
}

/* --- Places --- */

static cpt_status note_id(struct cpt_graph_join *join, uint64_t id)
{
    cpt_status status = CPT_OK;

    if (id == 0) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(join->options.alloc, (void **)&join->ids,
                            &join->id_capacity, join->id_count + 1,
                            (size_t)join->options.records_max, sizeof *join->ids);
    if (status == CPT_OK) {
        join->ids[join->id_count++] = (struct id){id, (uint32_t)join->place_count};
    }
    return status;
}

/* Counts a record whose graph cannot be read. */
static void refuse(struct cpt_graph_join *join, const struct place *place,
                   struct cpt_error *error)
{
    join->counts.refused_records++;
    if (join->options.refused != NULL) {
        error->offset = place->offset;
        join->options.refused(join->options.context,
                              join->inputs[place->input]->context, error);
    }
}

static cpt_status note_record(struct cpt_graph_join *join, struct place *place,
                              const struct cpt_record *record, uint64_t offset)
{
    struct cpt_error error = {0};
    uint64_t id = 0;
    cpt_status status = cpt_alloc_grow(
        join->options.alloc, (void **)&join->places, &join->place_capacity,
        join->place_count + 1, (size_t)join->options.records_max, sizeof *join->places);

    place->number = place->offset == offset ? place->number + 1 : 0;
    place->offset = offset;
    place->flags = record->is_local_root ? 0 : IS_ENTRY;
    if (status != CPT_OK) {
        return status;
    }
    join->counts.records++;
    if (cpt_graph_id(record, &id, &error) != CPT_OK) {
        refuse(join, place, &error);
        return CPT_OK;
    }
    status = note_id(join, id);
    if (status == CPT_OK) {
        join->places[join->place_count++] = *place;
    }
    return status;
}

/* What the reader of an input found. */
static void add_counts(struct cpt_graph_join *join, const struct cpt_log_reader *reader)
{
    const struct cpt_log_counts *counts = cpt_log_reader_counts(reader);

    join->counts.skipped_blocks += counts->skipped_blocks;
    join->counts.skipped_records += counts->skipped_records;
    join->counts.torn_inputs += counts->tail_bytes != 0;
}

static cpt_status read_input(struct cpt_graph_join *join, struct cpt_log_reader *reader,
                             struct cpt_error *error)
{
    struct place place = {.offset = UINT64_MAX,
                          .input = (uint16_t)(join->input_count - 1)};

    for (;;) {
        struct cpt_error damage = {0};
        struct cpt_record record;
        cpt_status status = cpt_log_reader_next(reader, &record, &damage);

        if (status == CPT_OK) {
            status = note_record(join, &place, &record, cpti_log_reader_block(reader));
            if (status != CPT_OK) {
                return cpt_error_set(error, status, cpt_log_reader_offset(reader),
                                     status == CPT_LIMIT ? "there are too many records"
                                                         : "out of memory");
            }
        } else if (status == CPT_END) {
            return CPT_OK;
        } else if (status == CPT_CORRUPT || status == CPT_LIMIT ||
                   status == CPT_VERSION || status == CPT_TRUNCATED) {
            if (join->options.damaged != NULL) {
                join->options.damaged(join->options.context, &damage);
            }
        } else {
            *error = damage;
            return status;
        }
    }
}

static cpt_status add_input(struct cpt_graph_join *join,
                            const struct cpt_graph_input *input)
{
    struct cpt_graph_input *own = NULL;
    cpt_status status = cpt_alloc_grow(join->options.alloc, (void **)&join->inputs,
                                       &join->input_capacity, join->input_count + 1,
                                       INPUTS_MAX, sizeof(struct cpt_graph_input *));

    if (status != CPT_OK) {
        return status;
    }
    own = cpt_alloc_zeroed(join->options.alloc, sizeof *own);
    if (own == NULL) {
        return CPT_NO_MEMORY;
    }
    *own = *input;
    join->inputs[join->input_count++] = own;
    return CPT_OK;
}

cpt_status cpt_graph_join_add(struct cpt_graph_join *join,
                              const struct cpt_graph_input *input,
                              struct cpt_error *error)
{
    struct cpt_error unwanted;
    struct cpti_graph_cursor cursor = {NULL, 0};
    struct cpt_log_reader *reader = NULL;
    cpt_status status = add_input(join, input);

    error = error != NULL ? error : &unwanted;
    if (status != CPT_OK) {
        return cpt_error_set(error, status, 0,
                             status == CPT_LIMIT ? "there are too many inputs"
                                                 : "out of memory");
    }
    cursor.input = join->inputs[join->input_count - 1];
    reader = cpti_graph_reader_new(join->options.alloc, &cursor, 0, error);
    if (reader == NULL) {
        return CPT_NO_MEMORY;
    }
    status = read_input(join, reader, error);
    add_counts(join, reader);
    cpt_log_reader_free(reader);
    return status;
}

/* --- Ids --- */

static int compare_ids(const void *left, const void *right)
{
    const struct id *a = left;
    const struct id *b = right;

    if (a->id != b->id) {
        return a->id < b->id ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

static int compare_again(const void *left, const void *right)
{
    const struct again *a = left;
    const struct again *b = right;

    return (a->place > b->place) - (a->place < b->place);
}

/* Notes what has the id of an earlier record, in the order of the records: so each
 * block of a copied log is read once. */
static cpt_status note_again(struct cpt_graph_join *join)
{
    cpt_status status = CPT_OK;
    size_t first = 0;

    join->again_count = 0;
    for (size_t i = 1; i < join->id_count && status == CPT_OK; i++) {
        if (join->ids[i].id != join->ids[first].id) {
            first = i;
            continue;
        }
        status = cpt_alloc_grow(join->options.alloc, (void **)&join->again,
                                &join->again_capacity, join->again_count + 1,
                                join->id_count, sizeof *join->again);
        if (status == CPT_OK) {
            join->again[join->again_count++] =
                (struct again){join->ids[i].place, join->ids[first].place};
        }
    }
    if (join->again_count != 0) {
        qsort(join->again, join->again_count, sizeof *join->again, compare_again);
    }
    return status;
}

/* The bytes of a record, in the arena. */
static cpt_status fetch(struct cpt_graph_join *join, const struct place *place,
                        struct cpt_bytes *data, struct cpt_error *error)
{
    const cpt_status status =
        cpti_graph_blocks_record(&join->blocks, join->inputs[place->input],
                                 place->offset, place->number, data, error);

    if (status != CPT_OK) {
        return status;
    }
    if (cpt_arena_is_full(&join->arena, data->bytes + 1) != 0) {
        return cpt_error_set(error, CPT_LIMIT, place->offset,
                             "the request needs too much memory");
    }
    data->data = cpt_arena_copy(&join->arena, data->data, data->bytes);
    return data->data != NULL
               ? CPT_OK
               : cpt_error_set(error, CPT_NO_MEMORY, place->offset, "out of memory");
}

/* Whether two records have the same bytes; no, if these cannot be read again. */
static cpt_status compare(struct cpt_graph_join *join, const struct again *again,
                          bool *is_same, struct cpt_error *error)
{
    struct cpt_bytes first = {NULL, 0};
    struct cpt_bytes other = {NULL, 0};
    cpt_status status = CPT_OK;

    cpt_arena_reset(&join->arena, join->options.request_bytes_max);
    status = fetch(join, &join->places[again->first], &first, error);
    if (status == CPT_OK) {
        const struct place *place = &join->places[again->place];

        status = cpti_graph_blocks_record(&join->blocks, join->inputs[place->input],
                                          place->offset, place->number, &other, error);
    }
    *is_same = status == CPT_OK && cpt_bytes_equal(first, other);
    return status == CPT_CORRUPT || status == CPT_LIMIT ? CPT_OK : status;
}

/* What the first record with an id is, those after it are, too, or copies of it. */
static void mark_again(struct cpt_graph_join *join)
{
    for (size_t i = 0; i < join->again_count; i++) {
        const struct again *again = &join->again[i];
        const bool is_copy = (join->places[again->first].flags & IS_REPEATED) == 0;

        join->places[again->place].flags |= is_copy ? IS_COPY : IS_REPEATED;
        join->counts.copied_records += is_copy;
        join->counts.repeated_records += !is_copy;
    }
}

/* Of copies of a record the first one counts. Other records of one id are not told
 * apart: none of them counts. */
static cpt_status sort_ids(struct cpt_graph_join *join, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    if (join->id_count != 0) {
        qsort(join->ids, join->id_count, sizeof *join->ids, compare_ids);
    }
    status = note_again(join);
    if (status != CPT_OK) {
        return cpt_error_set(error, status, 0, "out of memory");
    }
    for (size_t i = 0; i < join->again_count && status == CPT_OK; i++) {
        struct place *first = &join->places[join->again[i].first];
        bool is_same = false;

        if ((first->flags & IS_REPEATED) != 0) {
            continue;
        }
        status = compare(join, &join->again[i], &is_same, error);
        if (status == CPT_OK && !is_same) {
            first->flags |= IS_REPEATED;
            join->counts.repeated_records++;
        }
    }
    if (status == CPT_OK) {
        mark_again(join);
    }
    return status;
}

/* The place of the record with @id; NULL: there is none. */
static struct place *find(struct cpt_graph_join *join, uint64_t id)
{
    size_t low = 0;
    size_t high = join->id_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (join->ids[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < join->id_count && join->ids[low].id == id
               ? &join->places[join->ids[low].place]
               : NULL;
}

/* --- One request --- */

static cpt_status want(struct cpt_graph_join *join, struct place *place,
                       struct cpt_trace_call *call)
{
    const cpt_status status = cpt_alloc_grow(
        join->options.alloc, (void **)&join->wanted, &join->wanted_capacity,
        join->wanted_count + 1, CPT_TRACE_RECORDS_MAX, sizeof *join->wanted);

    if (status == CPT_OK) {
        place->flags |= IS_TAKEN;
        join->wanted[join->wanted_count++] =
            (struct wanted){(uint32_t)(place - join->places), call};
    }
    return status;
}

/* The callees of a record that was decoded. */
static cpt_status want_callees(struct cpt_graph_join *join,
                               const struct cpt_kept_graph *graph)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < graph->call_count && status == CPT_OK; i++) {
        struct cpt_trace_call *call = &graph->calls[i];
        struct place *place = call->id != 0 ? find(join, call->id) : NULL;

        if (call->id == 0) {
            continue;
        }
        if (place == NULL || (place->flags & IS_REPEATED) != 0) {
            join->missing_count++;
        } else if ((place->flags & (IS_TAKEN | IS_ENTRY)) != 0) {
            join->counts.circular_calls++;
            join->missing_count++;
        } else {
            status = want(join, place, call);
        }
    }
    return status;
}

/* When the callee of @call arrives; 0: that cannot be. */
static uint64_t arrival_of(const struct cpt_trace_call *call)
{
    const uint64_t sent_ns =
        cpt_trace_move(CPT_TRACE_CLOCK_OWN, call, CPT_GRAPH_ARRIVAL_NS, 0);

    return sent_ns >= CPT_GRAPH_ARRIVAL_NS && sent_ns <= 2 * CPT_GRAPH_ARRIVAL_NS
               ? sent_ns
               : 0;
}

/* Reads a record, and what its calls lead to is wanted, too. */
static cpt_status read_record(struct cpt_graph_join *join, struct wanted wanted,
                              struct cpt_record *record, uint64_t *id,
                              struct cpt_error *error)
{
    const struct place *place = &join->places[wanted.place];
    const uint64_t arrival_ns =
        wanted.call != NULL ? arrival_of(wanted.call) : CPT_GRAPH_ARRIVAL_NS;
    struct cpt_bytes data = {NULL, 0};
    struct cpt_kept_graph graph;
    cpt_status status = fetch(join, place, &data, error);

    if (status == CPT_OK) {
        status =
            cpti_record_read(record, data, place->offset, &join->attributes, error);
    }
    if (status == CPT_OK && arrival_ns == 0) {
        status = cpt_error_set(error, CPT_CORRUPT, place->offset,
                               "a call has no time at which its callee can arrive");
    }
    if (status == CPT_OK) {
        status = cpti_graph_add(&join->build, record, arrival_ns, wanted.call, &graph,
                                error);
        *id = graph.id;
    }
    return status == CPT_OK ? want_callees(join, &graph) : status;
}

/* All records that lead from the first. */
static cpt_status read_callees(struct cpt_graph_join *join, struct cpt_error *error)
{
    for (size_t i = 1; i < join->wanted_count; i++) {
        const struct wanted wanted = join->wanted[i];
        struct cpt_error own = {0};
        struct cpt_record record;
        uint64_t id = 0;
        const cpt_status status = read_record(join, wanted, &record, &id, &own);

        if (status == CPT_CORRUPT || status == CPT_VERSION) {
            refuse(join, &join->places[wanted.place], &own);
            join->missing_count++;
        } else if (status != CPT_OK) {
            *error = own;
            return status;
        } else {
            join->counts.joined_records++;
        }
    }
    return CPT_OK;
}

static cpt_status join_at(struct cpt_graph_join *join, struct place *place,
                          struct cpt_graph_request *request, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    cpt_arena_reset(&join->arena, join->options.request_bytes_max);
    join->build = (struct cpt_trace_build){.arena = &join->arena};
    join->wanted_count = 0;
    join->missing_count = 0;
    memset(request, 0, sizeof *request);
    status = want(join, place, NULL);
    if (status == CPT_OK) {
        status =
            read_record(join, join->wanted[0], &request->record, &request->id, error);
        if (status == CPT_CORRUPT || status == CPT_VERSION) {
            refuse(join, place, error);
            return CPT_CORRUPT;
        }
    }
    if (status == CPT_OK) {
        /* the attributes of the entry are kept: those of callees are read over them */
        struct cpt_attribute *own =
            cpt_arena_take(&join->arena, (request->record.attribute_count + 1) *
                                             sizeof *request->record.attributes);

        if (own == NULL) {
            return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
        }
        for (size_t i = 0; i < request->record.attribute_count; i++) {
            own[i] = request->record.attributes[i];
        }
        request->record.attributes = own;
        request->record.path_bytes = (struct cpt_bytes){NULL, 0};
        status = read_callees(join, error);
    }
    if (status == CPT_LIMIT) {
        join->counts.large_requests++;
    }
    return status;
}

/* At the end: what was never called. */
static void count_foreign(struct cpt_graph_join *join)
{
    for (size_t i = 0; i < join->place_count; i++) {
        join->counts.foreign_records += join->places[i].flags == 0;
    }
    join->has_ended = true;
}

cpt_status cpt_graph_join_next(struct cpt_graph_join *join,
                               struct cpt_graph_request *request,
                               struct cpt_error *error)
{
    struct cpt_error unwanted = {0};

    error = error != NULL ? error : &unwanted;
    if (!join->is_sorted) {
        const cpt_status status = sort_ids(join, error);

        if (status != CPT_OK) {
            return status;
        }
        join->is_sorted = true;
    }
    for (; join->next < join->place_count; join->next++) {
        struct place *place = &join->places[join->next];
        cpt_status status = CPT_OK;

        if (place->flags != IS_ENTRY) {
            continue; /* a callee, a copy, or repeated */
        }
        join->next++;
        status = join_at(join, place, request, error);
        if (status != CPT_OK) {
            return status;
        }
        join->counts.requests++;
        join->counts.missing_callees += join->missing_count;
        request->missing_count = join->missing_count;
        request->service_count = join->wanted_count;
        request->records = cpt_trace_build_records(&join->build);
        return CPT_OK;
    }
    if (!join->has_ended) {
        count_foreign(join);
    }
    return CPT_END;
}
