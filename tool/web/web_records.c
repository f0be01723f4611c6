/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_records.c - single requests; see web_records.h */
#include "tool/web/web_records.h"

#include "tool/html/html_example.h"
#include "tool/print/path_print.h"
#include "tool/print/record_print.h"
#include "tool/web/web_ask.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FOUND = 1000, ID_BYTES = 64 };

/* --- Identity --- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return (hash ^ bytes) * UINT64_C(0x100000001b3);
}

/* Adds the attributes: their order is that of the record. */
static uint64_t hash_attributes(uint64_t hash, const struct cpt_record *record)
{
    for (size_t i = 0; i < record->attribute_count; i++) {
        const struct cpt_attribute *attribute = &record->attributes[i];

        hash = hash_bytes(hash, attribute->key.data, attribute->key.bytes);
        hash = hash_bytes(hash, &attribute->type, sizeof attribute->type);
        if (attribute->type == CPT_ATTRIBUTE_TEXT) {
            hash = hash_bytes(hash, attribute->value.text.data,
                              attribute->value.text.bytes);
        } else if (attribute->type == CPT_ATTRIBUTE_INTEGER) {
            hash = hash_bytes(hash, &attribute->value.integer,
                              sizeof attribute->value.integer);
        } else if (attribute->type == CPT_ATTRIBUTE_FLOAT) {
            hash =
                hash_bytes(hash, &attribute->value.real, sizeof attribute->value.real);
        } else {
            hash = hash_bytes(hash, attribute->value.is_true ? "1" : "0", 1);
        }
    }
    return hash;
}

/* Writes the id of @record. Records that are not the same (seen.h) have different ones:
 * all that is in them counts. */
static void id_of(const struct cpt_record *record, char text[ID_BYTES])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    hash = hash_bytes(hash, record->service.data, record->service.bytes);
    hash = hash_bytes(hash, record->method.data, record->method.bytes);
    hash = hash_bytes(hash, record->entry.data, record->entry.bytes);
    hash = hash_bytes(hash, record->status.data, record->status.bytes);
    hash = hash_bytes(hash, &record->latency_ns, sizeof record->latency_ns);
    if (record->has_trace_id) {
        hash = hash_bytes(hash, record->trace_id, sizeof record->trace_id);
    }
    if (record->has_parent_id) {
        hash = hash_bytes(hash, record->parent_id, sizeof record->parent_id);
    }
    hash = hash_bytes(hash, record->path_bytes.data, record->path_bytes.bytes);
    hash = hash_attributes(hash, record);
    (void)snprintf(text, ID_BYTES, "%" PRIu64 "-%016" PRIx64, record->start_unix_ns,
                   hash);
}

/* --- A list --- */

struct listing {
    struct cpti_json json;
    uint64_t offset; /* records to pass over */
    uint64_t limit;  /* records to write */
    const atomic_bool *is_unwanted;
};

static void put_head(struct cpti_json *json, const struct cpt_record *record)
{
    char text[ID_BYTES];

    id_of(record, text);
    cpti_json_text(json, "id", text);
    cpti_json_unsigned(json, "start_ns", record->start_unix_ns);
    cpti_json_unsigned(json, "latency_ns", record->latency_ns);
    cpti_json_bytes(json, "status", record->status);
    cpti_json_bool(json, "error", record->is_failed);
    cpti_json_bytes(json, "entry", record->entry);
    if (record->has_trace_id) {
        (void)cpti_record_id(record->trace_id, sizeof record->trace_id, text);
        cpti_json_text(json, "trace_id", text);
    } else {
        cpti_json_null(json, "trace_id");
    }
    cpti_record_attributes_json(json, "attributes", record);
}

static int list_record(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct listing *listing = context;

    (void)path;
    (void)weight;
    /* relaxed: nothing else depends on it */
    if (atomic_load_explicit(listing->is_unwanted, memory_order_relaxed)) {
        return cpti_failed("the answer is no longer wanted");
    }
    if (listing->offset != 0) {
        listing->offset--;
        return CPTI_EXIT_DONE;
    }
    if (listing->limit == 0) {
        return FOUND;
    }
    listing->limit--;
    cpti_json_row(&listing->json);
    cpti_json_open(&listing->json, NULL, '{');
    put_head(&listing->json, record);
    cpti_json_close(&listing->json);
    return CPTI_EXIT_DONE;
}

static bool needs_no_path(const void *context, const struct cpt_record *record)
{
    (void)context;
    (void)record;
    return false;
}

/* Which of base and new is listed: the new one unless the query says otherwise. enum
 * cpti_exit. */
static int read_side(const struct cpti_web_query *query, const struct cpti_web_ask *ask,
                     size_t *side)
{
    const char *text = cpti_web_query_value(query, "side");

    *side = ask->side_count - 1;
    if (text == NULL || strcmp(text, "new") == 0) {
        return CPTI_EXIT_DONE;
    }
    *side = 0;
    return strcmp(text, "base") == 0
               ? CPTI_EXIT_DONE
               : cpti_usage("parameter 'side' takes base or new, not '%s'",
                            cpti_quoted(text));
}

static int read_listing(const struct cpti_web_query *query, struct listing *listing)
{
    int status = cpti_web_query_check(query, CPTI_WEB_RECORDS_NAMES);

    listing->limit = CPTI_WEB_RECORDS_DEFAULT;
    status =
        CPTI_THEN(status, cpti_web_query_number(query, "offset", &listing->offset));
    status = CPTI_THEN(status, cpti_web_query_number(query, "limit", &listing->limit));
    if (status == CPTI_EXIT_DONE && listing->limit > CPTI_WEB_RECORDS_MAX) {
        return cpti_usage("parameter 'limit' is at most %d", CPTI_WEB_RECORDS_MAX);
    }
    return status;
}

/* Reads the files if there is @input. */
static int list(const struct cpti_web_query *query, const struct cpti_web_input *input,
                struct cpti_web_ask *ask, struct listing *listing)
{
    struct cpti_gather *gather;
    bool is_usable;
    size_t side;
    int status = cpti_web_ask_init(ask, query);

    status = CPTI_THEN(status, read_listing(query, listing));
    status = CPTI_THEN(status, read_side(query, ask, &side));
    if (status != CPTI_EXIT_DONE || input == NULL) {
        return status;
    }
    gather = &ask->gathers[side];
    gather->may_be_empty = true;
    gather->is_list = true;
    gather->request = list_record;
    gather->needs_path = needs_no_path;
    gather->context = listing;
    listing->is_unwanted = input->is_unwanted;
    status = cpti_gather(gather, 1, input->files.paths, input->files.path_count, false,
                         &is_usable);
    cpt_tree_free(gather->tree);
    return is_usable || status == FOUND ? CPTI_EXIT_DONE : status;
}

static int run_list(const struct cpti_web_query *query,
                    const struct cpti_web_input *input, struct listing *listing)
{
    struct cpti_web_ask *ask = malloc(sizeof *ask);
    int status;

    if (ask == NULL) {
        return cpti_failed("out of memory");
    }
    status = list(query, input, ask, listing);
    cpti_web_ask_deinit(ask);
    free(ask);
    return status;
}

int cpti_web_records_check(const struct cpti_web_query *query)
{
    struct listing listing = {0};

    return run_list(query, NULL, &listing);
}

int cpti_web_records_write(const struct cpti_web_query *query,
                           const struct cpti_web_input *input, FILE *file)
{
    struct listing listing = {.json = {.file = file}};
    int status;

    cpti_json_open(&listing.json, NULL, '[');
    status = run_list(query, input, &listing);
    cpti_json_row(&listing.json);
    cpti_json_close(&listing.json);
    return status;
}

/* --- One record --- */

struct search {
    struct cpti_json json;
    const char *id;
    const atomic_bool *is_unwanted;
};

static bool is_wanted(const void *context, const struct cpt_record *record)
{
    const struct search *search = context;
    char id[ID_BYTES];

    id_of(record, id);
    return strcmp(id, search->id) == 0;
}

/* Writes the record as the page draws it; null without memory. */
static void put_example(struct cpti_json *json, const struct cpt_record *record,
                        const struct cpt_path *path)
{
    struct cpti_record_copy copy = {0};
    const int status = cpti_record_copy_set(&copy, record, path, 1);

    cpti_html_example(json, "example", status == CPTI_EXIT_DONE ? &copy : NULL);
    cpti_record_copy_deinit(&copy);
}

static int show_record(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct search *search = context;
    struct cpti_json *json = &search->json;

    (void)weight;
    if (atomic_load_explicit(search->is_unwanted, memory_order_relaxed)) {
        return cpti_failed("the answer is no longer wanted");
    }
    if (path == NULL || !is_wanted(context, record)) {
        return CPTI_EXIT_DONE;
    }
    cpti_json_open(json, NULL, '{');
    put_head(json, record);
    cpti_json_bytes(json, "service", record->service);
    cpti_json_bytes(json, "method", record->method);
    cpti_json_float(json, "probability", record->probability);
    cpti_json_bool(json, "forced", record->is_forced);
    cpti_json_bool(json, "random", record->is_random);
    cpti_path_flags_json(json, cpt_path_flags(path));
    cpti_path_json(json, path);
    put_example(json, record, path);
    cpti_json_close(json);
    return FOUND;
}

/* Reads the start in an id. */
static int read_start(const char *id, uint64_t *start_ns)
{
    char *end = NULL;

    *start_ns = id != NULL && id[0] >= '0' && id[0] <= '9' ? strtoull(id, &end, 10) : 0;
    return end != NULL && *end == '-' && *start_ns < UINT64_MAX / 2
               ? CPTI_EXIT_DONE
               : cpti_usage("parameter 'id' takes the id of a record, as /api/records "
                            "lists it");
}

static int find(const struct cpti_web_input *input, struct search *search,
                uint64_t start_ns, bool *is_found)
{
    struct cpti_selection *selection = calloc(1, sizeof *selection);
    const struct cpti_arguments arguments = {0};
    struct cpti_gather gather = {.selection = selection,
                                 .may_be_empty = true,
                                 .is_list = true,
                                 .request = show_record,
                                 .needs_path = is_wanted,
                                 .context = search};
    bool is_usable = false;
    int status;

    if (selection == NULL) {
        return cpti_failed("out of memory");
    }
    status = cpti_selection_init(selection, &arguments);
    if (status == CPTI_EXIT_DONE) {
        selection->since_ns = start_ns;
        selection->until_ns = start_ns + 1;
        selection->includes_forced = true;
        selection->includes_fragments = true;
        selection->events = CPTI_EVENTS_TAKEN;
        selection->includes_local_roots = true;
        status = cpti_gather(&gather, 1, input->files.paths, input->files.path_count,
                             false, &is_usable);
    }
    cpt_tree_free(gather.tree);
    free(selection);
    *is_found = status == FOUND;
    return *is_found || is_usable ? CPTI_EXIT_DONE : status;
}

int cpti_web_record_write(const struct cpti_web_query *query,
                          const struct cpti_web_input *input, FILE *file,
                          bool *is_found)
{
    struct search search = {.json = {.file = file},
                            .id = cpti_web_query_value(query, "id"),
                            .is_unwanted = input->is_unwanted};
    uint64_t start_ns;
    int status = cpti_web_query_check(query, CPTI_WEB_RECORD_NAMES);

    *is_found = false;
    status = CPTI_THEN(status, read_start(search.id, &start_ns));
    return status == CPTI_EXIT_DONE ? find(input, &search, start_ns, is_found) : status;
}
