/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * records.c - rows as records again: those that the database cannot decide about, or
 * all that are selected
 *
 * Undecided ones are rare: the selection must compare an attribute with a number, and
 * the application must have written it as the text of a number that is not a short
 * integer ("2.5", "1e3"). Each row becomes a record with a path that has the same times
 * on the same stacks as in the log. The order of segments is lost, but selections and
 * sums do not use it.
 */
#include "tool/store/query.h"
#include "cpt/cpt_alloc.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include <inttypes.h>
#include <string.h>

/* The longest row that is accepted. */
enum { REST_ROW_BYTES_MAX = 1 << 28 };

/* Reads the records of one shard. */
struct record_reader {
    struct cpti_query *query;
    cpti_store_row_fn visit;
    void *context;
    bool is_all; /* all that are or may be selected */
    struct cpt_path *path;
    struct cpt_attribute attributes[CPT_LOG_ATTRIBUTES_MAX];
};

static void write_rows(struct cpti_packed *sql,
                       const struct cpti_store_question *question, bool is_all)
{
    cpti_sql_add(sql, "SELECT id, source, ordinal, service, start_ns, latency_ns, "
                      "weight, method, entry, status, is_forced, is_random, is_failed, "
                      "is_local_root, trace_id, attributes.key, attributes.type, "
                      "attributes.text, attributes.integer, attributes.real, "
                      "stacks.id, stacks.self_ns FROM cpt_requests FINAL WHERE ");
    cpti_sql_range(sql, question);
    if (is_all) {
        cpti_sql_add(sql, " AND (%s) AND (%s) AND (%s) AND (",
                     cpti_sql_forced(question), cpti_sql_fragment(question),
                     cpti_sql_root(question));
        cpti_sql_selected(sql, question);
        cpti_sql_add(sql, " OR ");
    } else {
        cpti_sql_add(sql, " AND (");
    }
    if (question->picks == NULL) {
        cpti_sql_undecided(sql, question);
    } else {
        cpti_sql_add(sql, "0"); /* picks are selected */
    }
    cpti_sql_add(sql, ") FORMAT RowBinary");
}

static bool get_flag(const unsigned char **at, const unsigned char *end, int *flag)
{
    if (*at == end) {
        return false;
    }
    *flag = **at != 0;
    ++*at;
    return true;
}

/* Reads the length of an array whose elements have at least one byte each. */
static bool get_count(const unsigned char **at, const unsigned char *end, size_t max,
                      size_t *count)
{
    uint64_t given;

    if (!cpti_row_get_count(at, end, &given) || given > max ||
        given > (uint64_t)(end - *at)) {
        return false;
    }
    *count = (size_t)given;
    return true;
}

static bool get_head(const unsigned char **at, const unsigned char *end,
                     struct cpti_store_row *row, struct cpt_record *record)
{
    struct cpt_bytes trace_id;

    if (!cpti_row_get_u64(at, end, &row->pick.id) ||
        !cpti_row_get_text(at, end, &row->source) ||
        !cpti_row_get_u64(at, end, &row->ordinal) ||
        !cpti_row_get_text(at, end, &record->service) ||
        !cpti_row_get_u64(at, end, &record->start_unix_ns) ||
        !cpti_row_get_u64(at, end, &record->latency_ns) ||
        !cpti_row_get_u64(at, end, &row->weight) ||
        !cpti_row_get_text(at, end, &record->method) ||
        !cpti_row_get_text(at, end, &record->entry) ||
        !cpti_row_get_text(at, end, &record->status) ||
        !get_flag(at, end, &record->is_forced) ||
        !get_flag(at, end, &record->is_random) ||
        !get_flag(at, end, &record->is_failed) ||
        !get_flag(at, end, &record->is_local_root) ||
        !cpti_row_get_text(at, end, &trace_id)) {
        return false;
    }
    record->has_trace_id = trace_id.bytes == sizeof record->trace_id;
    if (record->has_trace_id) {
        memcpy(record->trace_id, trace_id.data, sizeof record->trace_id);
    }
    return true;
}

/* Reads a column of the attributes. */
static bool get_column(const unsigned char **at, const unsigned char *end,
                       unsigned column, size_t count, struct cpt_attribute *attributes)
{
    uint64_t number = 0;
    struct cpt_bytes text;
    size_t given;

    if (!get_count(at, end, CPT_LOG_ATTRIBUTES_MAX, &given) || given != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct cpt_attribute *own = &attributes[i];
        const bool is_complete = column == 2   ? cpti_row_get_text(at, end, &text)
                                 : column == 1 ? *at != end
                                               : cpti_row_get_u64(at, end, &number);

        if (!is_complete) {
            return false;
        }
        if (column == 1) {
            own->type = *(*at)++;
        } else if (column == 2 && own->type == CPT_ATTRIBUTE_TEXT) {
            own->value.text = text;
        } else if (column == 3 && own->type == CPT_ATTRIBUTE_INTEGER) {
            own->value.integer = (int64_t)number;
        } else if (column == 3 && own->type == CPT_ATTRIBUTE_BOOL) {
            own->value.is_true = number != 0;
        } else if (column == 4 && own->type == CPT_ATTRIBUTE_FLOAT) {
            memcpy(&own->value.real, &number, sizeof number);
        }
    }
    return true;
}

static bool get_attributes(const unsigned char **at, const unsigned char *end,
                           struct cpt_attribute *attributes, size_t *count)
{
    if (!get_count(at, end, CPT_LOG_ATTRIBUTES_MAX, count)) {
        return false;
    }
    for (size_t i = 0; i < *count; i++) {
        attributes[i] = (struct cpt_attribute){0};
        if (!cpti_row_get_text(at, end, &attributes[i].key)) {
            return false;
        }
    }
    for (unsigned column = 1; column < 5; column++) {
        if (!get_column(at, end, column, *count, attributes)) {
            return false;
        }
    }
    return true;
}

/* Finds or makes the frame of stack @id in the path, and those above it. */
static cpt_status find_frame(const struct record_reader *reader, uint64_t id,
                             uint32_t *frame, struct cpt_error *error)
{
    const struct cpti_stacks *stacks = &reader->query->stacks;
    const struct cpti_store_stack *above[CPT_PATH_DEPTH_MAX];
    size_t count = 0;
    cpt_status status = CPT_OK;

    for (; id != CPTI_STACK_ROOT; id = above[count - 1]->parent) {
        const struct cpti_store_stack *stack = cpti_stacks_find(stacks, id);

        if (stack == NULL || count == CPT_PATH_DEPTH_MAX) {
            return cpt_error_set(error, CPT_CORRUPT, 0,
                                 "stack %016" PRIx64 " is not in cpt_stacks", id);
        }
        above[count++] = stack;
    }
    *frame = CPT_FRAME_NONE;
    if (count == 0) {
        return cpt_error_set(error, CPT_CORRUPT, 0, "a time is on no stack");
    }
    while (count-- > 0 && status == CPT_OK) {
        status = cpt_path_frame_add(reader->path, *frame,
                                    cpt_names_at(stacks->names, above[count]->name),
                                    above[count]->kind, frame);
    }
    return status;
}

/* Reads the times on stacks into the path; they must add up to @latency_ns. */
static cpt_status get_path(struct record_reader *reader, uint64_t latency_ns,
                           const unsigned char **at, const unsigned char *end,
                           bool *is_whole, struct cpt_error *error)
{
    const unsigned char *times;
    size_t count = 0;
    size_t time_count = 0;
    cpt_status status = CPT_OK;

    *is_whole = get_count(at, end, CPT_PATH_FRAMES_MAX + 1, &count) &&
                count <= (size_t)(end - *at) / 8;
    times = *is_whole ? *at + 8 * count : end;
    *is_whole = *is_whole &&
                get_count(&times, end, CPT_PATH_FRAMES_MAX + 1, &time_count) &&
                time_count == count && count <= (size_t)(end - times) / 8;
    if (!*is_whole) {
        return CPT_OK;
    }
    cpt_path_reset(reader->path);
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        uint64_t id = 0;
        uint64_t self_ns = 0;
        uint32_t frame = CPT_FRAME_NONE;

        (void)cpti_row_get_u64(at, end, &id);
        (void)cpti_row_get_u64(&times, end, &self_ns);
        if (self_ns != 0) {
            status = find_frame(reader, id, &frame, error);
            if (status == CPT_OK) {
                status = cpt_path_append_ns(reader->path, frame, self_ns);
            }
        }
    }
    *at = times;
    if (status == CPT_OK && cpt_path_sum_ns(reader->path) != latency_ns) {
        return cpt_error_set(error, CPT_CORRUPT, 0,
                             "the times do not add up to the latency");
    }
    return status;
}

/* Passes the row on, with its path encoded as in a log. */
static cpt_status visit_record(const struct record_reader *reader,
                               struct cpti_store_row *row, struct cpt_record *record,
                               struct cpt_error *error)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .is_unlimited = 1};
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status =
        cpt_metadata_encode(reader->path, &options, &data, &bytes, NULL);

    if (status == CPT_OK) {
        record->path_bytes = (struct cpt_bytes){(const char *)data, bytes};
        row->record = record;
        status = reader->visit(reader->context, row);
    }
    cpt_alloc_free(NULL, data);
    return status == CPT_OK
               ? CPT_OK
               : cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
}

static cpt_status take_row(void *context, const unsigned char *data, size_t bytes,
                           size_t *used, struct cpt_error *error)
{
    struct record_reader *reader = context;
    const unsigned char *at = data;
    const unsigned char *end = data + bytes;
    struct cpti_store_row row = {.pick.shard = reader->query->shard};
    struct cpt_record record = {.attributes = reader->attributes};
    bool is_whole =
        get_head(&at, end, &row, &record) &&
        get_attributes(&at, end, reader->attributes, &record.attribute_count);
    cpt_status status = CPT_OK;

    *used = 0;
    if (is_whole) {
        status = get_path(reader, record.latency_ns, &at, end, &is_whole, error);
    }
    if (status != CPT_OK) {
        return cpt_error_set(error, status, 0, "request %016" PRIx64 ": %s",
                             row.pick.id, cpt_status_sentence(status));
    }
    if (!is_whole) {
        return CPT_OK;
    }
    *used = (size_t)(at - data);
    return visit_record(reader, &row, &record, error);
}

static cpt_status rows_of_shard(struct cpti_query *query, struct cpt_error *error)
{
    struct record_reader *reader = query->context;

    reader->query = query;
    write_rows(&query->sql, query->question, reader->is_all);
    return cpti_query_run(query, take_row, reader, REST_ROW_BYTES_MAX, error);
}

static cpt_status read_rows(struct cpti_store *store,
                            const struct cpti_store_question *question,
                            const struct record_reader *like, struct cpt_error *error)
{
    struct record_reader *reader = cpt_alloc_zeroed(NULL, sizeof *reader);
    const struct cpti_query_options options = {.ask = rows_of_shard,
                                               .contexts = reader,
                                               .needs_stacks = true,
                                               .is_by_turns = true};
    cpt_status status;

    if (reader == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    reader->path = cpt_path_new(NULL);
    reader->visit = like->visit;
    reader->context = like->context;
    reader->is_all = like->is_all;
    status = reader->path != NULL
                 ? cpti_query_shards(store, question, &options, error)
                 : cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    cpt_path_free(reader->path);
    cpt_alloc_free(NULL, reader);
    return status;
}

cpt_status cpti_store_undecided(struct cpti_store *store,
                                const struct cpti_store_question *question,
                                cpti_store_row_fn visit, void *context,
                                struct cpt_error *error)
{
    const struct record_reader like = {.visit = visit, .context = context};

    return cpti_store_has_undecided(question) ? read_rows(store, question, &like, error)
                                              : CPT_OK;
}

cpt_status cpti_store_rows(struct cpti_store *store,
                           const struct cpti_store_question *question,
                           cpti_store_row_fn visit, void *context,
                           struct cpt_error *error)
{
    const struct record_reader like = {
        .visit = visit, .context = context, .is_all = true};

    return read_rows(store, question, &like, error);
}
