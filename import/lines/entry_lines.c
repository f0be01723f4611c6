/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* entry_lines.c - lines of an entry, and what is refused; see entry_lines.h */
#include "import/lines/entry_lines.h"

#include "import/bytes/inflate.h"
#include "import/bytes/json.h"
#include "import/bytes/lines.h"
#include "import/lines/entry_members.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LOOK_LINES_MAX = 16, LOOK_BYTES_MAX = 1 << 20, IDLE_BYTES_MAX = 1 << 30 };

struct cpti_entry_lines {
    struct cpti_entry_lines_options options;
    struct cpti_entry_lines_counts counts;
    struct cpti_inflate *inflate;
    struct cpti_window window;
    struct cpti_doc *json;
    uint64_t number; /* of the last line */
    uint64_t read_bytes;
    uint64_t idle_from; /* read_bytes when there was a line that is one */
};

/* --- A look at a file --- */

/* The text of a file, of which only the beginning is read. */
struct look {
    struct cpti_inflate *inflate;
    size_t left;
};

/* A cpt_read_fn. */
static cpt_status read_look(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct look *look = context;
    cpt_status status = CPT_OK;

    *bytes = 0;
    capacity = capacity < look->left ? capacity : look->left;
    if (capacity > 0) {
        status = cpti_inflate_read(look->inflate, buffer, capacity, bytes);
    }
    look->left -= *bytes;
    return status;
}

static bool has(struct cpti_doc_value root, const char *key)
{
    return cpti_doc_type(cpti_doc_find(root, key, strlen(key))) != CPTI_DOC_NONE;
}

/* Whether @line has the members that make it one. */
static bool is_line(struct cpti_doc *json, struct cpt_bytes line)
{
    struct cpti_doc_value root;

    return memmem(line.data, line.bytes, "\"latency\"", 9) != NULL &&
           cpti_doc_parse(json, line.data, line.bytes, &root, NULL) == CPT_OK &&
           has(root, "latency") && has(root, "path") &&
           (has(root, "time") || has(root, "end"));
}

bool cpti_entry_lines_recognise(const struct cpt_alloc *alloc, cpt_read_fn read,
                                void *context)
{
    struct look look = {cpti_inflate_new(alloc, read, context), LOOK_BYTES_MAX};
    struct cpti_doc *json = cpti_doc_new();
    struct cpti_window window;
    struct cpt_bytes line = {"", 0};
    bool is = false;
    cpt_status status = look.inflate != NULL && json != NULL ? CPT_OK : CPT_NO_MEMORY;

    cpti_window_init(&window, alloc != NULL ? alloc : cpt_alloc_default(), read_look,
                     &look, CPTI_ENTRY_LINE_MAX);
    for (unsigned i = 0; i < LOOK_LINES_MAX && status == CPT_OK && !is; i++) {
        status = cpti_lines_next(&window, &line, NULL);
        is = status == CPT_OK && is_line(json, line);
    }
    cpti_window_deinit(&window);
    cpti_doc_free(json);
    cpti_inflate_free(look.inflate);
    return is;
}

/* --- Lines --- */

/* A cpt_read_fn. */
static cpt_status read_text(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct cpti_entry_lines *lines = context;
    cpt_status status = CPT_CORRUPT;

    *bytes = 0;
    if (lines->read_bytes - lines->idle_from <= lines->options.idle_bytes_max) {
        status = cpti_inflate_read(lines->inflate, buffer, capacity, bytes);
    }
    lines->read_bytes += *bytes;
    return status;
}

struct cpti_entry_lines *
cpti_entry_lines_new(const struct cpti_entry_lines_options *options)
{
    const struct cpt_alloc *alloc =
        options->alloc != NULL ? options->alloc : cpt_alloc_default();
    struct cpti_entry_lines *lines = cpt_alloc_zeroed(alloc, sizeof *lines);

    if (lines == NULL) {
        return NULL;
    }
    lines->options = *options;
    lines->options.alloc = alloc;
    if (options->idle_bytes_max == 0) {
        lines->options.idle_bytes_max = IDLE_BYTES_MAX;
    }
    cpti_window_init(&lines->window, alloc, read_text, lines, CPTI_ENTRY_LINE_MAX);
    lines->inflate = cpti_inflate_new(alloc, options->read, options->context);
    lines->json = cpti_doc_new();
    if (lines->inflate == NULL || lines->json == NULL) {
        cpti_entry_lines_free(lines);
        return NULL;
    }
    return lines;
}

void cpti_entry_lines_free(struct cpti_entry_lines *lines)
{
    if (lines != NULL) {
        cpti_window_deinit(&lines->window);
        cpti_inflate_free(lines->inflate);
        cpti_doc_free(lines->json);
        cpt_alloc_free(lines->options.alloc, lines);
    }
}

/* Why the file cannot be read any further, with @status. */
static cpt_status end_file(const struct cpti_entry_lines *lines, cpt_status status,
                           struct cpt_error *error)
{
    const struct cpt_error *inflated = cpti_inflate_error(lines->inflate);

    if (inflated->status != CPT_OK) {
        return cpt_error_set(error, status, inflated->offset, "%s", inflated->sentence);
    }
    if (status == CPT_CORRUPT) {
        return cpt_error_set(error, status, lines->idle_from,
                             "no line of an entry in %" PRIu64
                             " bytes; the rest is not read",
                             lines->read_bytes - lines->idle_from);
    }
    return cpt_error_set(error, status, lines->read_bytes, "%s",
                         cpt_status_sentence(status));
}

/* Reads @text. CPT_OK; CPT_INVALID; CPT_NO_MEMORY. */
static cpt_status read_line(struct cpti_entry_lines *lines, struct cpt_bytes text,
                            struct cpti_entry_line *line, struct cpt_error *error)
{
    struct cpti_doc_value root;
    cpt_status status = CPT_OK;

    if (*text.data != '{' && *text.data != ' ' && *text.data != '\t') {
        return cpt_error_set(error, CPT_INVALID, 0, "no object of JSON");
    }
    status = cpti_doc_parse(lines->json, text.data, text.bytes, &root, error);
    if (status == CPT_OK) {
        lines->counts.replaced += cpti_doc_replaced(lines->json);
        status = cpti_entry_members_read(root, line, &lines->counts, error);
    } else if (status != CPT_NO_MEMORY) {
        status = CPT_INVALID;
    }
    return status;
}

cpt_status cpti_entry_lines_next(struct cpti_entry_lines *lines,
                                 struct cpti_entry_line *line, struct cpt_error *error)
{
    for (;;) {
        struct cpt_bytes text = {"", 0};
        struct cpt_error found = {0};
        cpt_status status =
            cpti_lines_count_next(&lines->window, &text, &lines->number, &found);

        *line = (struct cpti_entry_line){.number = lines->number, .probability = 1};
        if (status != CPT_OK && status != CPT_LIMIT) {
            return status == CPT_END ? status : end_file(lines, status, error);
        }
        lines->counts.lines++;
        if (status == CPT_LIMIT) {
            found.offset = 0; /* as others: of the line */
        } else {
            status = read_line(lines, text, line, &found);
        }
        if (status != CPT_OK) {
            lines->counts.refused += status != CPT_NO_MEMORY;
            return cpt_error_set(
                error, status == CPT_LIMIT ? CPT_INVALID : status, found.offset, "%s",
                found.sentence[0] != '\0' ? found.sentence
                                          : cpt_status_sentence(status));
        }
        lines->idle_from = lines->read_bytes;
        if (line->path.bytes > 0) {
            return CPT_OK;
        }
        lines->counts.pathless++;
    }
}

const struct cpti_entry_lines_counts *
cpti_entry_lines_counts(const struct cpti_entry_lines *lines)
{
    return &lines->counts;
}
