/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sources_lnav.c - a source out of a file of formats of lnav (docs.lnav.org, "Log
 * Formats"): the first format in it
 *
 *      regex.NAME.pattern        an expression      json                lines of JSON
 *      timestamp-field           time               timestamp-format    of the time
 *      start-timestamp-field     begin, and the timestamp is the end
 *      duration-field, -divisor  duration           opid-field          id
 *      thread-id-field           unit               body-field          text
 *      src-file-field            logger             src-line-field      line
 *
 * What only matters to a viewer is passed over; anything else is named in the notes.
 */
#include "import/lines/sources_inside.h"

#include "import/bytes/json.h"
#include "cpt/base/text.h"

#include <stdio.h>

/* Keys that name a group or member, what it gives, and its name without the key. */
static const struct {
    const char *key;
    enum cpti_event_field field;
    const char *otherwise;
} roles[] = {{"timestamp-field", CPTI_FIELD_TIME, "timestamp"},
             {"body-field", CPTI_FIELD_TEXT, "body"},
             {"start-timestamp-field", CPTI_FIELD_BEGIN, NULL},
             {"duration-field", CPTI_FIELD_DURATION, NULL},
             {"opid-field", CPTI_FIELD_ID, NULL},
             {"thread-id-field", CPTI_FIELD_UNIT, NULL},
             {"src-file-field", CPTI_FIELD_LOGGER, NULL},
             {"src-line-field", CPTI_FIELD_LINE, NULL}};
enum { ROLES = sizeof roles / sizeof roles[0] };

/* Keys that are read elsewhere, or that only a viewer needs. */
static const char known[] =
    " title url description json regex timestamp-divisor timestamp-format "
    "duration-divisor level level-field line-format sample value highlights "
    "search-table tags partitions multiline file-pattern hide-extra ordered-by-time "
    "level-pointer mime-types module-field max-unrecognized-lines ";

/* A format that is being read. */
struct reading {
    struct cpti_sources *sources;
    struct cpti_line_source *source;
    struct cpti_doc_value format;
    struct cpt_error *error;
};

static bool is_known(struct cpt_bytes key)
{
    char word[64];

    for (size_t i = 0; i < ROLES; i++) {
        if (cpti_text_is(key, roles[i].key)) {
            return true;
        }
    }
    return snprintf(word, sizeof word, " %.*s ", (int)(key.bytes < 60 ? key.bytes : 60),
                    key.data) > 2 &&
           strstr(known, word) != NULL;
}

/* Names @key of @what in the notes. */
static void note(struct cpti_sources *sources, const char *what, struct cpt_bytes key)
{
    cpti_sources_note(sources, "%s'%.*s' is not read", what,
                      (int)(key.bytes < 40 ? key.bytes : 40), key.data);
}

/* A copy of @text that the sources own; members of members are joined by '.' here. */
static struct cpt_bytes keep(struct cpti_sources *sources, struct cpt_bytes text,
                             bool is_path)
{
    char *copy =
        cpt_arena_copy(&sources->arena, text.bytes > 0 ? text.data : "", text.bytes);

    for (size_t i = 0; copy != NULL && is_path && i < text.bytes; i++) {
        copy[i] = (char)(copy[i] == '/' ? '.' : copy[i]);
    }
    return (struct cpt_bytes){copy, copy != NULL ? text.bytes : 0};
}

/* Adds the group that @key names, or else @otherwise, as @field. */
static cpt_status add_field(const struct reading *reading, const char *key,
                            const char *otherwise, enum cpti_event_field field)
{
    struct cpt_bytes name = cpti_doc_string(cpti_doc_get(reading->format, key));

    name = name.bytes == 0 && otherwise != NULL ? cpt_bytes_of(otherwise) : name;
    if (name.bytes == 0) {
        return CPT_OK;
    }
    name = keep(reading->sources, name, true);
    return name.data != NULL && cpti_source_member(reading->source, name, field, 0)
               ? CPT_OK
               : CPT_NO_MEMORY;
}

/* The unit of numbers that are divided by @key's to be seconds; 0: there is none. */
static int64_t unit_of(const struct reading *reading, const char *key)
{
    double divisor = 0;

    if (!cpti_doc_real(cpti_doc_get(reading->format, key), &divisor)) {
        return 0;
    }
    return divisor == 1     ? CPTI_NS_PER_S
           : divisor == 1e3 ? 1000000
           : divisor == 1e6 ? 1000
           : divisor == 1e9 ? 1
                            : -1;
}

static cpt_status read_units(const struct reading *reading)
{
    const int64_t time_ns = unit_of(reading, "timestamp-divisor");
    const int64_t length_ns = unit_of(reading, "duration-divisor");
    struct cpti_line_source *source = reading->source;

    if (time_ns < 0 || length_ns < 0) {
        return cpt_error_set(reading->error, CPT_INVALID, 0,
                             "a divisor is 1, 1000, 1000000 or 1000000000");
    }
    source->duration_ns = length_ns > 0 ? length_ns : source->duration_ns;
    if (time_ns > 0) {
        source->time = (struct cpti_time_format){CPTI_TIME_NUMBER, time_ns, {NULL, 0}};
    }
    return CPT_OK;
}

/* Takes the first form of a stamp that is understood, and names the others. */
static cpt_status read_formats(const struct reading *reading)
{
    struct cpti_doc_member member;
    bool has_one = false;

    for (bool is =
             cpti_doc_first(cpti_doc_get(reading->format, "timestamp-format"), &member);
         is; is = cpti_doc_next(&member)) {
        const struct cpt_bytes text =
            keep(reading->sources, cpti_doc_string(member.value), false);
        struct cpti_time_format format;

        if (text.data == NULL) {
            return CPT_NO_MEMORY;
        }
        if (!has_one && memchr(text.data, '\0', text.bytes) == NULL &&
            cpti_time_format_read(text, &format)) {
            reading->source->time = format;
            has_one = true;
        } else {
            note(reading->sources, "timestamp-format ", text);
        }
    }
    return CPT_OK;
}

static cpt_status read_regexes(const struct reading *reading)
{
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(cpti_doc_get(reading->format, "regex"), &member);
         is && status == CPT_OK; is = cpti_doc_next(&member)) {
        const struct cpt_bytes pattern =
            cpti_doc_string(cpti_doc_get(member.value, "pattern"));

        status = cpti_source_regex(reading->sources->alloc, reading->source, pattern,
                                   reading->error);
    }
    return status;
}

static void name_unknown(const struct reading *reading)
{
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(reading->format, &member); is;
         is = cpti_doc_next(&member)) {
        if (!is_known(member.key)) {
            note(reading->sources, "", member.key);
        }
    }
}

static cpt_status read_format(const struct reading *reading)
{
    struct cpti_line_source *source = reading->source;
    const bool has_begin =
        cpti_doc_string(cpti_doc_get(reading->format, "start-timestamp-field")).bytes >
        0;
    cpt_status status = CPT_OK;

    source->has_members_alone = true;
    if (cpti_doc_is_true(cpti_doc_get(reading->format, "json"))) {
        source->way = CPTI_WAY_JSON;
    } else {
        status = read_regexes(reading);
    }
    if (status == CPT_OK && source->way == CPTI_WAY_NONE) {
        return cpt_error_set(reading->error, CPT_INVALID, 0,
                             "the format has neither expressions nor json");
    }
    for (size_t i = 0; i < ROLES && status == CPT_OK; i++) {
        status = add_field(reading, roles[i].key, roles[i].otherwise,
                           i == 0 && has_begin ? CPTI_FIELD_END : roles[i].field);
    }
    if (status == CPT_OK) {
        status = read_formats(reading);
    }
    if (status == CPT_OK) {
        status = read_units(reading);
    }
    source->begin = source->time;
    source->end = source->time;
    name_unknown(reading);
    return status;
}

/* Reads the first format of the document, and names the others. */
static cpt_status read_document(struct reading *reading, struct cpti_doc_value root)
{
    struct cpti_doc_member member;
    bool has_one = false;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(root, &member); is && status == CPT_OK;
         is = cpti_doc_next(&member)) {
        if (cpti_doc_type(member.value) != CPTI_DOC_OBJECT) {
            continue;
        }
        if (has_one) {
            note(reading->sources, "format ", member.key);
            continue;
        }
        has_one = true;
        reading->format = member.value;
        status = read_format(reading);
    }
    return status == CPT_OK && !has_one
               ? cpt_error_set(reading->error, CPT_INVALID, 0, "it has no format")
               : status;
}

cpt_status cpti_source_lnav(struct cpti_sources *sources,
                            struct cpti_line_source *source, struct cpt_bytes text,
                            struct cpt_error *error)
{
    struct reading reading = {sources, source, {0}, error};
    struct cpti_doc *json = NULL;
    struct cpti_doc_value root;
    char *padded = NULL;
    size_t left = 64U << 20;
    cpt_status status = CPT_NO_MEMORY;

    if (text.bytes > CPTI_SOURCES_BYTES_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0, "longer than %d bytes",
                             CPTI_SOURCES_BYTES_MAX);
    }
    json = cpti_doc_new();
    padded = cpt_alloc_zeroed(sources->alloc, text.bytes + CPTI_DOC_PADDING);
    if (json != NULL && padded != NULL) {
        if (text.bytes > 0) {
            memcpy(padded, text.data, text.bytes);
        }
        cpti_doc_bound(json, &left);
        status = cpti_doc_parse(json, padded, text.bytes, &root, error);
    }
    if (status == CPT_OK) {
        status = read_document(&reading, root);
    }
    cpti_doc_free(json);
    cpt_alloc_free(sources->alloc, padded);
    return status;
}
