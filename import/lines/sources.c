/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sources.c - the sources of a file; see sources.h */
#include "import/lines/sources_inside.h"

#include "cpt/base/text.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES_MAX = 64, PATTERN_BYTES_MAX = 1024 };

/* --- Members and expressions --- */

bool cpti_source_member(struct cpti_line_source *source, struct cpt_bytes path,
                        enum cpti_event_field field, unsigned rank)
{
    if (source->member_count == CPTI_SOURCE_MEMBERS_MAX || path.bytes == 0) {
        return false;
    }
    source->members[source->member_count++] = (struct cpti_member){
        path, (unsigned char)field, (unsigned char)(rank < UINT8_MAX ? rank : 254), 0};
    return true;
}

cpt_status cpti_source_regex(const struct cpt_alloc *alloc,
                             struct cpti_line_source *source, struct cpt_bytes text,
                             struct cpt_error *error)
{
    if (source->regex_count == CPTI_SOURCE_REGEXES_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0, "more than %d expressions",
                             CPTI_SOURCE_REGEXES_MAX);
    }
    source->way = CPTI_WAY_REGEX;
    return cpti_regex_new(alloc, text, &source->regexes[source->regex_count++].regex,
                          error);
}

/* The field that a group called @name gives. */
static enum cpti_event_field field_of(const struct cpti_line_source *source,
                                      struct cpt_bytes name, unsigned char *rank)
{
    static const char *const names[] = {
#define NAME_(name, text) text,
        CPTI_FIELD_MAP(NAME_)
#undef NAME_
    };

    *rank = 0;
    for (size_t i = 0; i < source->member_count; i++) {
        if (cpt_bytes_equal(source->members[i].path, name)) {
            *rank = source->members[i].rank;
            return source->members[i].field;
        }
    }
    for (size_t i = 0; i < CPTI_FIELDS && !source->has_members_alone; i++) {
        if (cpti_text_is(name, names[i])) {
            return (enum cpti_event_field)i;
        }
    }
    return CPTI_FIELDS;
}

static void map_groups(struct cpti_line_source *source)
{
    for (size_t i = 0; i < source->member_count; i++) {
        const size_t slot = cpti_member_slot(source->members[i].path);

        source->members[i].next = source->member_slots[slot];
        source->member_slots[slot] = (unsigned char)(i + 1);
    }
    for (size_t i = 0; i < source->regex_count; i++) {
        struct cpti_source_regex *regex = &source->regexes[i];

        regex->group_count = cpti_regex_groups(regex->regex);
        if (regex->group_count > CPTI_SOURCE_GROUPS_MAX) {
            regex->group_count = CPTI_SOURCE_GROUPS_MAX;
        }
        for (size_t k = 0; k < regex->group_count; k++) {
            regex->fields[k] = (unsigned char)field_of(
                source, cpti_regex_name(regex->regex, k), &regex->ranks[k]);
        }
    }
}

static void free_source(const struct cpt_alloc *alloc, struct cpti_line_source *source)
{
    for (size_t i = 0; i < source->regex_count; i++) {
        cpti_regex_free(source->regexes[i].regex);
    }
    cpt_alloc_free(alloc, source);
}

void cpti_sources_note(struct cpti_sources *sources, const char *format, ...)
{
    const size_t used = strlen(sources->notes);
    va_list arguments;

    if (used + 2 >= sizeof sources->notes) {
        return;
    }
    if (used > 0) {
        memcpy(sources->notes + used, "; ", 3);
    }
    va_start(arguments, format);
    (void)vsnprintf(sources->notes + strlen(sources->notes),
                    sizeof sources->notes - strlen(sources->notes), format, arguments);
    va_end(arguments);
}

/* --- The file --- */

static bool is_name(struct cpt_bytes text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        const char c = text.data[i];

        if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
            c != '-' && c != '_' && c != '.') {
            return false;
        }
    }
    return text.bytes > 0 && text.bytes <= NAME_BYTES_MAX;
}

/* Refuses what stands at @at of @line, number @number of the text. */
static cpt_status refuse(struct cpt_error *error, struct cpt_bytes line,
                         const struct cpt_error *why, uint64_t number)
{
    const uint64_t at = why->offset < line.bytes ? why->offset : line.bytes;

    return cpt_error_set(error, why->status, at, "line %llu, column %llu: %s",
                         (unsigned long long)number, (unsigned long long)at + 1,
                         why->sentence);
}

/* Whether "source NAME =" is at the front of @line; @line goes behind it. */
static cpt_status take_head(struct cpt_bytes *line, struct cpt_bytes *name,
                            struct cpt_error *why)
{
    const struct cpt_bytes all = *line;
    struct cpt_bytes head = cpti_text_take(line, '=');
    struct cpt_bytes word;

    head = cpti_text_trim(head, cpti_is_blank_of_file);
    word = cpti_text_take(&head, ' ');
    *name = cpti_text_trim(head, cpti_is_blank_of_file);
    if (!cpti_text_is(word, "source") || line->data == NULL) {
        return cpt_error_set(why, CPT_INVALID, 0,
                             "a line is 'source NAME = ...', or begins with '#'");
    }
    if (!is_name(*name)) {
        return cpt_error_set(why, CPT_INVALID,
                             name->bytes > 0 ? (size_t)(name->data - all.data) : 7,
                             "a source needs a name of letters, digits, '-', '_' and "
                             "'.', at most %d bytes",
                             NAME_BYTES_MAX);
    }
    return CPT_OK;
}

/* Adds the source of @line, and its error to @why. */
static cpt_status read_line(struct cpti_sources *sources,
                            const struct cpti_sources_options *options,
                            struct cpt_bytes line, struct cpt_error *why)
{
    const struct cpt_bytes all = line;
    struct cpti_line_source *source = NULL;
    struct cpt_bytes name;
    cpt_status status = take_head(&line, &name, why);

    for (size_t i = 0; i < sources->count && status == CPT_OK; i++) {
        if (cpt_bytes_equal(sources->items[i]->name, name)) {
            status = cpt_error_set(why, CPT_INVALID, (size_t)(name.data - all.data),
                                   "the source is there twice");
        }
    }
    if (status == CPT_OK && sources->count == CPTI_SOURCES_MAX) {
        status =
            cpt_error_set(why, CPT_LIMIT, 0, "more than %d sources", CPTI_SOURCES_MAX);
    }
    if (status != CPT_OK) {
        return status;
    }
    source = cpt_alloc_zeroed(sources->alloc, sizeof *source);
    if (source == NULL) {
        return CPT_NO_MEMORY;
    }
    sources->items[sources->count++] = source;
    source->name = name;
    source->duration_ns = CPTI_NS_PER_S;
    source->upstream_ns = CPTI_NS_PER_S;
    status = cpti_source_clauses(sources, options, source, line, why);
    if (status == CPT_OK) {
        map_groups(source);
    } else {
        why->offset += (size_t)(line.data - all.data);
    }
    return status;
}

static cpt_status read_all(struct cpti_sources *sources,
                           const struct cpti_sources_options *options,
                           struct cpt_bytes text, struct cpt_error *error)
{
    const char *start = text.data;
    uint64_t number = 0;

    while (text.bytes > 0) {
        const struct cpt_bytes line = cpti_text_take(&text, '\n');
        const struct cpt_bytes said = cpti_text_trim(line, cpti_is_blank_of_file);
        struct cpt_error why = {0};
        cpt_status status = CPT_OK;

        number++;
        if (said.bytes == 0 || said.data[0] == '#') {
            continue;
        }
        status = read_line(sources, options, said, &why);
        if (status == CPT_NO_MEMORY) {
            return status;
        }
        if (status != CPT_OK) {
            why.offset += (size_t)(said.data - line.data);
            status = refuse(error, line, &why, number);
            if (error != NULL && error->status == status) {
                error->offset += (size_t)(line.data - start);
            }
            return status;
        }
    }
    return CPT_OK;
}

cpt_status cpti_sources_read(const struct cpti_sources_options *options,
                             struct cpt_bytes text, struct cpti_sources **out,
                             struct cpt_error *error)
{
    const struct cpt_alloc *alloc =
        options->alloc != NULL ? options->alloc : cpt_alloc_default();
    struct cpti_sources *sources = NULL;
    char *copy = NULL;
    cpt_status status = CPT_NO_MEMORY;

    if (text.bytes > CPTI_SOURCES_BYTES_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0, "longer than %d bytes",
                             CPTI_SOURCES_BYTES_MAX);
    }
    if (text.bytes > 0 && memchr(text.data, '\0', text.bytes) != NULL) {
        return cpt_error_set(error, CPT_INVALID, 0, "a NUL byte is in it");
    }
    sources = cpt_alloc_zeroed(alloc, sizeof *sources);
    if (sources == NULL) {
        return CPT_NO_MEMORY;
    }
    sources->alloc = alloc;
    cpt_arena_init(&sources->arena, alloc, 0, 0);
    copy = cpt_arena_copy(&sources->arena, text.bytes > 0 ? text.data : "", text.bytes);
    if (copy != NULL) {
        status =
            read_all(sources, options, (struct cpt_bytes){copy, text.bytes}, error);
    }
    if (status != CPT_OK) {
        cpti_sources_free(sources);
        return status;
    }
    *out = sources;
    return CPT_OK;
}

void cpti_sources_free(struct cpti_sources *sources)
{
    if (sources == NULL) {
        return;
    }
    for (size_t i = 0; i < sources->count; i++) {
        free_source(sources->alloc, sources->items[i]);
    }
    cpt_arena_deinit(&sources->arena);
    cpt_alloc_free(sources->alloc, sources);
}

/* --- Asking --- */

size_t cpti_sources_count(const struct cpti_sources *sources)
{
    return sources->count;
}

struct cpti_line_source *cpti_sources_at(struct cpti_sources *sources, size_t number)
{
    return sources->items[number];
}

const char *cpti_sources_notes(const struct cpti_sources *sources)
{
    return sources->notes;
}

static size_t folders_of(const char *path)
{
    size_t count = 0;

    for (; *path != '\0'; path++) {
        count += *path == '/';
    }
    return count;
}

/* The end of @path that has @count folders. */
static const char *end_of(const char *path, size_t count)
{
    for (size_t i = folders_of(path); i > count; i--) {
        path = strchr(path, '/') + 1;
    }
    return path;
}

/* Whether the longer one of pattern and @name fits the other one with its end. */
static bool fits(struct cpt_bytes files, const char *name)
{
    char text[PATTERN_BYTES_MAX + 1];
    const char *pattern = text;

    if (files.bytes == 0) {
        return true;
    }
    if (files.bytes > PATTERN_BYTES_MAX) {
        return false;
    }
    memcpy(text, files.data, files.bytes);
    text[files.bytes] = '\0';
    pattern = end_of(pattern, folders_of(name));
    if (text[0] != '/') {
        name = end_of(name, folders_of(pattern));
    }
    return fnmatch(pattern, name, FNM_PATHNAME) == 0;
}

struct cpti_line_source *cpti_sources_find(struct cpti_sources *sources,
                                           const char *name)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (fits(sources->items[i]->files, name)) {
            return sources->items[i];
        }
    }
    return NULL;
}
