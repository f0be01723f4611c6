/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* entry_records.c - lines of an entry become records; see entry_records.h */
#include "tool/log/entry_records.h"

#include "tool/base/messages.h"
#include "tool/log/span_records.h"
#include "tool/requests/span_totals.h"
#include "cpt/cpt_alloc.h"
#include "cpt/cpt_path.h"
#include "import/lines/entry_lines.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { REFUSED_TOLD_MAX = 5 /* lines of one file */ };
enum { ENTRY_BYTES_MAX = 2 * CPT_NAME_BYTES_MAX + 2 };

/* What a record is made of. */
struct making {
    const struct cpti_entry_line *line;
    struct cpt_metadata_summary summary;
    uint64_t latency_ns;
    struct cpt_bytes entry; /* the name of its root frame */
    struct cpt_bytes method;
    char memory[ENTRY_BYTES_MAX];
    char bound[CPT_NAME_BYTES_MAX + 1];
    char service[CPT_NAME_BYTES_MAX + 1];
    char named[CPT_NAME_BYTES_MAX + 1];
};

cpt_status cpti_entry_records_init(struct cpti_entry_records *entry)
{
    entry->callee = cpt_path_new(NULL);
    entry->data = cpt_alloc_zeroed(cpt_alloc_default(), CPT_METADATA_READ_BYTES_MAX);
    return entry->callee != NULL && entry->data != NULL ? CPT_OK : CPT_NO_MEMORY;
}

void cpti_entry_records_deinit(struct cpti_entry_records *entry)
{
    cpt_path_free(entry->callee);
    cpt_alloc_free(cpt_alloc_default(), entry->data);
    entry->callee = NULL;
    entry->data = NULL;
}

/* --- The path of a line --- */

/* Reads the path of the line. CPT_OK; CPT_INVALID; CPT_NO_MEMORY. */
static cpt_status read_path(struct cpti_entry_records *entry, struct making *making,
                            struct cpt_error *error)
{
    const struct cpt_metadata_decode_options options = {.struct_bytes = sizeof options};
    const struct cpti_entry_line *line = making->line;
    struct cpt_error found = {0};
    size_t bytes = 0;
    cpt_status status = cpt_base64_decode(line->path, entry->data,
                                          CPT_METADATA_READ_BYTES_MAX, &bytes, &found);

    cpt_path_reset(entry->callee);
    if (status == CPT_OK) {
        status = cpt_metadata_peek(entry->data, bytes, &making->summary, &found);
    }
    if (status == CPT_OK && line->nonce != 0 && making->summary.nonce != 0 &&
        line->nonce != making->summary.nonce) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the path answers another ask: it comes from a cache");
    }
    if (status == CPT_OK) {
        status =
            cpt_metadata_decode(entry->data, bytes, &options, entry->callee, &found);
    }
    if (status == CPT_OK || status == CPT_NO_MEMORY) {
        return status;
    }
    return cpt_error_set(
        error, CPT_INVALID, 0, "\"path\" at byte %" PRIu64 ": %s", found.offset,
        found.sentence[0] != '\0' ? found.sentence : cpt_status_sentence(status));
}

/* What is behind "service: " in @name. */
static struct cpt_bytes part_of(struct cpt_bytes name)
{
    const struct cpt_bytes service = cpt_name_service(name);
    const size_t used = service.bytes > 0 ? service.bytes + 2 : 0;

    return (struct cpt_bytes){name.data + used, name.bytes - used};
}

/* The name of the path's first root; empty: it has none that can be an entry's. */
static struct cpt_bytes root_of(const struct cpt_path *path)
{
    return cpt_path_frame_count(path) > 0 &&
                   cpt_path_frame(path, 0)->kind == CPT_KIND_WORK
               ? cpt_path_frame_name(path, 0)
               : cpt_bytes_of("");
}

/* Names the entry: as the path does, if it is of that service, else as the line. */
static cpt_status name_entry(const struct cpti_entry_records *entry,
                             struct making *making, struct cpt_error *error)
{
    const struct cpti_entry_line *line = making->line;
    const struct cpt_bytes root = root_of(entry->callee);
    const struct cpt_bytes given = cpt_name_bound(
        line->service.bytes > 0 ? line->service : entry->service, making->service);
    struct cpt_bytes part = part_of(root);
    char *to = making->memory;

    if (line->method.bytes > 0) {
        part = cpt_name_bound(line->method, making->named);
    }
    making->method = part;
    if (root.bytes > 0 && (given.bytes == 0 || cpt_bytes_equal(given, root) ||
                           cpt_bytes_equal(given, cpt_name_service(root)))) {
        making->entry = root;
        return CPT_OK;
    }
    if (given.bytes == 0) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "neither the path nor \"service\" names the service");
    }
    memcpy(to, given.data, given.bytes);
    to += given.bytes;
    if (part.bytes > 0) {
        memcpy(to, ": ", 2);
        memcpy(to + 2, part.data, part.bytes);
        to += 2 + part.bytes;
    }
    making->entry = cpt_name_bound(
        (struct cpt_bytes){making->memory, (size_t)(to - making->memory)},
        making->bound);
    return CPT_OK;
}

/* Decides how long the request took. */
static cpt_status set_latency(struct cpti_entry_records *entry, struct making *making,
                              struct cpt_error *error)
{
    const struct cpti_entry_line *line = making->line;
    const uint64_t sum_ns = cpt_path_sum_ns(entry->callee);

    making->latency_ns = line->latency_ns;
    if (sum_ns > line->latency_ns && sum_ns - line->latency_ns <= line->unit_ns) {
        making->latency_ns = sum_ns;
    }
    entry->longer += sum_ns > making->latency_ns && making->latency_ns > 0;
    return making->latency_ns > 0
               ? CPT_OK
               : cpt_error_set(error, CPT_INVALID, 0, "the request took no time");
}

/* Puts the path of the entry into @path, which is empty. */
static cpt_status make_path(const struct cpti_entry_records *entry,
                            const struct making *making, struct cpt_path *path)
{
    const int has_drags = cpt_path_has_drags(entry->callee);
    const struct cpt_splice splice = {
        .observed_ns = making->latency_ns,
        .server_elapsed_ns = making->summary.server_elapsed_ns,
        .has_server_elapsed = making->summary.has_server_elapsed,
        .reason = CPT_REASON_UNDECODABLE,
        .call_drag_ns = has_drags ? making->latency_ns : 0,
        .has_call_drag = has_drags};
    uint32_t root = 0;
    cpt_status status =
        cpt_path_frame_add(path, CPT_FRAME_NONE, making->entry, CPT_KIND_WORK, &root);

    if (status == CPT_OK) {
        status = cpt_path_splice(path, root, entry->callee, &splice, NULL);
    }
    return status;
}

/* --- The record --- */

static void set_attribute(struct cpt_attribute *attribute,
                          const struct cpti_entry_member *member)
{
    attribute->key = member->key;
    switch (member->type) {
    case CPTI_ENTRY_TEXT:
        attribute->type = CPT_ATTRIBUTE_TEXT;
        attribute->value.text = member->text;
        break;
    case CPTI_ENTRY_INTEGER:
        attribute->type = CPT_ATTRIBUTE_INTEGER;
        attribute->value.integer = member->integer;
        break;
    case CPTI_ENTRY_REAL:
        attribute->type = CPT_ATTRIBUTE_FLOAT;
        attribute->value.real = member->real;
        break;
    case CPTI_ENTRY_BOOL:
        attribute->type = CPT_ATTRIBUTE_BOOL;
        attribute->value.is_true = member->is_true;
        break;
    }
}

static cpt_status put_record(struct cpti_entry_records *entry,
                             const struct making *making)
{
    const struct cpti_entry_line *line = making->line;
    struct cpt_path *path = entry->records->path;
    struct cpt_attribute attributes[CPTI_ENTRY_MEMBERS_MAX + 1];
    char status_memory[CPT_NAME_BYTES_MAX + 1];
    struct cpt_record record = {.start_unix_ns = line->start_unix_ns,
                                .latency_ns = making->latency_ns,
                                .probability = line->probability,
                                .service = cpt_name_service(making->entry),
                                .method = making->method,
                                .entry = making->entry,
                                .status = cpt_name_bound(line->status, status_memory),
                                .attributes = attributes,
                                .attribute_count = line->member_count,
                                .is_failed = line->is_failed,
                                .is_forced = line->is_forced,
                                .is_random = !line->is_forced,
                                .path = path};

    if (record.service.bytes == 0) {
        record.service = making->entry;
    }
    for (size_t i = 0; i < line->member_count; i++) {
        set_attribute(&attributes[i], &line->members[i]);
    }
    record.has_trace_id = cpti_read_trace_id(line->trace, record.trace_id);
    if (!record.has_trace_id && line->trace.bytes > 0 &&
        line->trace.bytes <= CPTI_ENTRY_TEXT_BYTES_MAX) {
        attributes[record.attribute_count++] =
            (struct cpt_attribute){.key = cpt_bytes_of("trace"),
                                   .type = CPT_ATTRIBUTE_TEXT,
                                   .value = {.text = line->trace}};
    }
    return cpti_span_records_write(entry->records, &record);
}

cpt_status cpti_entry_records_add(struct cpti_entry_records *entry,
                                  const struct cpti_entry_line *line,
                                  struct cpt_error *error)
{
    struct making making = {.line = line};
    cpt_status status = read_path(entry, &making, error);

    if (status == CPT_OK) {
        status = name_entry(entry, &making, error);
    }
    if (status == CPT_OK) {
        status = set_latency(entry, &making, error);
    }
    if (status == CPT_OK) {
        cpt_path_reset(entry->records->path);
        status = make_path(entry, &making, entry->records->path);
    }
    if (status == CPT_OK) {
        status = put_record(entry, &making);
        entry->written += status == CPT_OK;
    }
    return status;
}

/* --- Files --- */

/* Tells why line @number is refused, or why the rest of the file is not read. */
static void tell_refused(const char *name, uint64_t number, cpt_status status,
                         const struct cpt_error *error)
{
    const bool is_line = status == CPT_INVALID || status == CPT_LIMIT;
    const char *sentence =
        error->sentence[0] != '\0' ? error->sentence : cpt_status_sentence(status);
    struct cpti_at at = {.file = name, .has_byte = !is_line, .byte = error->offset};
    char place[64] = "";

    if (is_line) {
        at.line = number < UINT32_MAX ? (unsigned)number : 0;
        at.column = (unsigned)error->offset + 1;
        (void)snprintf(place, sizeof place, "line %" PRIu64 ", column %u: ", number,
                       at.column);
    }
    (void)cpti_failed_at(at, "%s%s", place, sentence);
}

static void add_counts(struct cpti_entry_records *entry,
                       const struct cpti_entry_lines_counts *counts)
{
    entry->lines += counts->lines;
    entry->pathless += counts->pathless;
    entry->refused += counts->refused;
    entry->left_members += counts->left_members;
    entry->replaced += counts->replaced;
}

/* Adds all lines of @lines. */
static int read_lines(struct cpti_entry_records *entry, const char *name,
                      struct cpti_entry_lines *lines)
{
    int exit_status = CPTI_EXIT_DONE;
    cpt_status status = CPT_OK;
    unsigned refused = 0;

    while (status == CPT_OK || status == CPT_INVALID || status == CPT_LIMIT) {
        struct cpti_entry_line line;
        struct cpt_error error = {0};

        status = cpti_entry_lines_next(lines, &line, &error);
        if (status == CPT_OK) {
            status = cpti_entry_records_add(entry, &line, &error);
            entry->refused += status == CPT_INVALID || status == CPT_LIMIT;
        }
        if (status == CPT_OK || status == CPT_END) {
            continue;
        }
        exit_status = CPTI_EXIT_FAILED;
        if (status != CPT_IO && refused++ < REFUSED_TOLD_MAX) {
            tell_refused(name, line.number, status, &error);
        }
    }
    if (refused > REFUSED_TOLD_MAX) {
        cpti_warn("%s: %u more like these", name, refused - REFUSED_TOLD_MAX);
    }
    return exit_status;
}

int cpti_entry_records_read(struct cpti_entry_records *entry, const char *name,
                            cpt_read_fn read, void *context)
{
    const struct cpti_entry_lines_options options = {.read = read, .context = context};
    struct cpti_entry_lines *lines = cpti_entry_lines_new(&options);
    int status = CPTI_EXIT_FAILED;

    if (lines == NULL) {
        return cpti_failed("out of memory");
    }
    status = read_lines(entry, name, lines);
    add_counts(entry, cpti_entry_lines_counts(lines));
    cpti_entry_lines_free(lines);
    return status;
}

void cpti_entry_records_tell(const struct cpti_entry_records *entry)
{
    if (entry->lines == 0) {
        return;
    }
    cpti_told("%" PRIu64 " lines of an entry, %" PRIu64 " with a path", entry->lines,
              entry->written);
    cpti_tell_count(entry->pathless, "lines without a path, of requests not traced");
    cpti_tell_count(entry->refused, "lines refused");
    cpti_tell_count(entry->longer,
                    "paths longer than the latency of their line, scaled to it");
    cpti_tell_count(entry->left_members,
                    "members left out: lists, objects, or more than a record takes");
    cpti_tell_count(entry->replaced, "characters that are none, U+FFFD now");
}
