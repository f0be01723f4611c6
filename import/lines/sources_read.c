/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sources_read.c - the clauses of a source; see sources.h and docs/events.md
 *
 *      json;  id trace_id|traceId;  time ts ms;  service "shop";  zone +08:00
 *      regex ^(?<time>\S+) ...;     time %H:%M:%S.%L;  service shop
 *
 * What says how a line is taken apart comes first, as the meaning of the others depends
 * on it: of JSON and logfmt they name members, elsewhere they are the value itself.
 */
#include "import/lines/event_formats.h"
#include "import/lines/sources_inside.h"

#include "cpt/base/text.h"

#include <string.h>

enum { BYTES_SHOWN = 60 };

/* A source that is being read. */
struct reading {
    struct cpti_sources *sources;
    const struct cpti_sources_options *options;
    struct cpti_line_source *source;
    struct cpt_error *error;
    struct cpt_bytes text;
    struct cpt_bytes clause; /* where it is */
    uint32_t fields_seen;
    unsigned others_seen;
};

/* Clauses that are no fields; the place in this list is a bit of others_seen. */
static const char *const others[] = {"format", "json",  "logfmt", "csv",  "regex",
                                     "lnav",   "outer", "zone",   "files"};
enum { FORMAT, JSON, LOGFMT, CSV, REGEX, LNAV, OUTER, ZONE, FILES, OTHERS };

static const char *const fields[] = {
#define NAME_(name, text) text,
    CPTI_FIELD_MAP(NAME_)
#undef NAME_
};

static cpt_status refuse(const struct reading *reading, const char *sentence)
{
    const struct cpt_bytes clause = reading->clause;

    return cpt_error_set(reading->error, CPT_INVALID,
                         (size_t)(clause.data - reading->text.data), "'%.*s': %s",
                         (int)(clause.bytes < BYTES_SHOWN ? clause.bytes : BYTES_SHOWN),
                         clause.data, sentence);
}

static struct cpt_bytes trim(struct cpt_bytes text)
{
    return cpti_text_trim(text, cpti_is_blank_of_file);
}

static struct cpt_bytes take_word(struct cpt_bytes *text)
{
    struct cpt_bytes word = {text->data, 0};

    while (word.bytes < text->bytes && !cpti_is_blank_of_file(text->data[word.bytes])) {
        word.bytes++;
    }
    text->data += word.bytes;
    text->bytes -= word.bytes;
    *text = trim(*text);
    return word;
}

/* "shop" without its quotes; false: it has none. */
static bool unquote(struct cpt_bytes *text)
{
    if (text->bytes < 2 || text->data[0] != '"' || text->data[text->bytes - 1] != '"') {
        return false;
    }
    text->data++;
    text->bytes -= 2;
    return true;
}

/* --- Fields --- */

static bool has_members(const struct cpti_line_source *source)
{
    return source->way == CPTI_WAY_JSON || source->way == CPTI_WAY_LOGFMT;
}

/* Members that gave @field, from a format, give it no more. */
static void drop_members(struct cpti_line_source *source, enum cpti_event_field field)
{
    size_t kept = 0;

    for (size_t i = 0; i < source->member_count; i++) {
        if (source->members[i].field != field) {
            source->members[kept++] = source->members[i];
        }
    }
    source->member_count = kept;
}

/* Members "a|b.c", the first one that a line has. */
static cpt_status read_members(const struct reading *reading, struct cpt_bytes names,
                               enum cpti_event_field field)
{
    drop_members(reading->source, field);
    for (unsigned rank = 0; names.bytes > 0; rank++) {
        const struct cpt_bytes name = cpti_text_take(&names, '|');

        if (!cpti_source_member(reading->source, name, field, rank)) {
            return refuse(reading, "no name of a member, or too many of them");
        }
    }
    return CPT_OK;
}

static cpt_status read_time(const struct reading *reading, struct cpt_bytes text,
                            enum cpti_event_field field)
{
    struct cpti_line_source *source = reading->source;
    struct cpti_time_format *format = field == CPTI_FIELD_TIME    ? &source->time
                                      : field == CPTI_FIELD_BEGIN ? &source->begin
                                                                  : &source->end;
    cpt_status status = CPT_OK;

    if (field != CPTI_FIELD_TIME && unquote(&text)) {
        if (text.bytes == 0) {
            return refuse(reading, "the name of an event is empty");
        }
        *(field == CPTI_FIELD_BEGIN ? &source->begin_event : &source->end_event) = text;
        return CPT_OK;
    }
    if (has_members(source)) {
        status = read_members(reading, take_word(&text), field);
        if (text.bytes == 0 || status != CPT_OK) {
            return status;
        }
    }
    return cpti_time_format_read(text, format)
               ? CPT_OK
               : refuse(reading, "a time is s, ms, us, ns, rfc3339, or a pattern as of "
                                 "strptime with %Y %m %d %b %e %H %M %S %L %z");
}

static cpt_status read_length(const struct reading *reading, struct cpt_bytes text,
                              enum cpti_event_field field)
{
    struct cpti_line_source *source = reading->source;
    int64_t *unit_ns =
        field == CPTI_FIELD_DURATION ? &source->duration_ns : &source->upstream_ns;
    cpt_status status = CPT_OK;

    if (has_members(source)) {
        status = read_members(reading, take_word(&text), field);
        if (text.bytes == 0 || status != CPT_OK) {
            return status;
        }
    }
    *unit_ns = cpti_time_unit(text);
    return *unit_ns != 0 ? CPT_OK : refuse(reading, "a unit is s, ms, us or ns");
}

static cpt_status read_field(const struct reading *reading, struct cpt_bytes text,
                             enum cpti_event_field field)
{
    struct cpti_line_source *source = reading->source;
    const bool is_quoted = unquote(&text);

    if (text.bytes == 0) {
        return refuse(reading, "it says nothing");
    }
    if (!is_quoted && has_members(source)) {
        return read_members(reading, text, field);
    }
    source->constants[field] = text;
    return CPT_OK;
}

/* --- Other clauses --- */

static cpt_status read_format(struct reading *reading, struct cpt_bytes text)
{
    const struct cpti_format *format = cpti_format_find(text);
    struct cpt_error inside = {0};
    cpt_status status = CPT_OK;

    if (format == NULL) {
        return refuse(reading, "there is no such format; docs/events.md lists them");
    }
    status = cpti_source_clauses(reading->sources, reading->options, reading->source,
                                 cpt_bytes_of(format->clauses), &inside);
    reading->source->format = cpt_bytes_of(format->name);
    return status == CPT_INVALID ? refuse(reading, inside.sentence) : status;
}

static cpt_status read_regex(const struct reading *reading, struct cpt_bytes text)
{
    struct cpt_error inside = {0};
    const cpt_status status =
        cpti_source_regex(reading->sources->alloc, reading->source, text, &inside);

    if (status == CPT_INVALID || status == CPT_LIMIT) {
        return cpt_error_set(reading->error, status,
                             (size_t)(text.data - reading->text.data) + inside.offset,
                             "%s", inside.sentence);
    }
    return status;
}

static cpt_status read_lnav(const struct reading *reading, struct cpt_bytes file)
{
    const struct cpti_sources_options *options = reading->options;
    struct cpt_error inside = {0};
    char *text = NULL;
    size_t bytes = 0;
    cpt_status status = CPT_OK;

    if (options->open == NULL || file.bytes == 0) {
        return refuse(reading, "a file of lnav cannot be read here");
    }
    status = options->open(options->context, file, &text, &bytes, &inside);
    if (status == CPT_OK) {
        status = cpti_source_lnav(reading->sources, reading->source,
                                  (struct cpt_bytes){text, bytes}, &inside);
        cpt_alloc_free(reading->sources->alloc, text);
    }
    return status == CPT_OK || status == CPT_NO_MEMORY
               ? status
               : refuse(reading, inside.sentence);
}

static cpt_status read_outer(const struct reading *reading, struct cpt_bytes text)
{
    reading->source->outer = cpti_text_is(text, "cri")       ? CPTI_OUTER_CRI
                             : cpti_text_is(text, "docker")  ? CPTI_OUTER_DOCKER
                             : cpti_text_is(text, "journal") ? CPTI_OUTER_JOURNAL
                                                             : CPTI_OUTER_NONE;
    return reading->source->outer != CPTI_OUTER_NONE
               ? CPT_OK
               : refuse(reading, "it is cri, docker or journal");
}

static cpt_status read_way(const struct reading *reading, struct cpt_bytes text,
                           enum cpti_source_way way)
{
    reading->source->way = way;
    return text.bytes == 0 ? CPT_OK : refuse(reading, "nothing may stand behind it");
}

static cpt_status read_other(struct reading *reading, struct cpt_bytes text, int which)
{
    struct cpti_line_source *source = reading->source;

    switch (which) {
    case FORMAT:
        return read_format(reading, text);
    case JSON:
        return read_way(reading, text, CPTI_WAY_JSON);
    case LOGFMT:
        return read_way(reading, text, CPTI_WAY_LOGFMT);
    case CSV:
        return read_way(reading, text, CPTI_WAY_CSV);
    case REGEX:
        return read_regex(reading, text);
    case LNAV:
        return read_lnav(reading, text);
    case OUTER:
        return read_outer(reading, text);
    case ZONE:
        source->has_zone = cpti_time_zone(text, &source->zone_s);
        return source->has_zone ? CPT_OK
                                : refuse(reading, "a zone is UTC, or as +08:00");
    default:
        source->files = text;
        return text.bytes > 0 ? CPT_OK : refuse(reading, "it names no files");
    }
}

/* --- All clauses --- */

static int place_in(struct cpt_bytes word, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (cpti_text_is(word, names[i])) {
            return i;
        }
    }
    return -1;
}

/* `begin` and `end` may come twice: as a time, and as the name of an event. */
static cpt_status read_known_field(struct reading *reading, struct cpt_bytes text,
                                   int field)
{
    const bool is_event = text.bytes > 0 && text.data[0] == '"' &&
                          (field == CPTI_FIELD_BEGIN || field == CPTI_FIELD_END);
    const uint32_t bit = UINT32_C(1)
                         << (is_event ? CPTI_FIELDS + (field == CPTI_FIELD_END)
                                      : (unsigned)field);

    if (reading->source->way == CPTI_WAY_NONE) {
        return refuse(reading, "before it stands what a line is: json, logfmt, csv, "
                               "regex, lnav or format");
    }
    if ((reading->fields_seen & bit) != 0) {
        return refuse(reading, "it is there twice");
    }
    reading->fields_seen |= bit;
    switch (field) {
    case CPTI_FIELD_TIME:
    case CPTI_FIELD_BEGIN:
    case CPTI_FIELD_END:
        return read_time(reading, text, (enum cpti_event_field)field);
    case CPTI_FIELD_DURATION:
    case CPTI_FIELD_UPSTREAM:
        return read_length(reading, text, (enum cpti_event_field)field);
    default:
        return read_field(reading, text, (enum cpti_event_field)field);
    }
}

static cpt_status read_clause(struct reading *reading)
{
    struct cpt_bytes text = reading->clause;
    const struct cpt_bytes word = take_word(&text);
    const int other = place_in(word, others, OTHERS);
    const int field = place_in(word, fields, CPTI_FIELDS);
    const unsigned bit = other >= 0 ? 1U << (unsigned)other : 0;

    if (other < 0 && field < 0) {
        return refuse(reading, "there is no such clause");
    }
    if (other < 0) {
        return read_known_field(reading, text, field);
    }
    if ((reading->others_seen & bit) != 0 && other != REGEX) {
        return refuse(reading, "it is there twice");
    }
    if (other <= LNAV && reading->source->way != CPTI_WAY_NONE && other != REGEX) {
        return refuse(reading, "what a line is stands there already");
    }
    if (other == REGEX && reading->source->way > CPTI_WAY_REGEX) {
        return refuse(reading, "these lines are not read by expressions");
    }
    reading->others_seen |= bit;
    return read_other(reading, text, other);
}

/* The next clause; an expression ends at a ';' before a blank alone. */
static struct cpt_bytes take_clause(struct cpt_bytes *text)
{
    struct cpt_bytes clause;
    size_t i = 0;

    *text = trim(*text);
    if (text->bytes < 6 || memcmp(text->data, "regex", 5) != 0 ||
        !cpti_is_blank(text->data[5])) {
        return trim(cpti_text_take(text, ';'));
    }
    while (i < text->bytes &&
           (text->data[i] != ';' ||
            (i + 1 < text->bytes && !cpti_is_blank(text->data[i + 1])))) {
        i++;
    }
    clause = (struct cpt_bytes){text->data, i};
    i += i < text->bytes;
    text->data += i;
    text->bytes -= i;
    return trim(clause);
}

cpt_status cpti_source_clauses(struct cpti_sources *sources,
                               const struct cpti_sources_options *options,
                               struct cpti_line_source *source, struct cpt_bytes text,
                               struct cpt_error *error)
{
    struct reading reading = {sources, options, source, error, text, text, 0, 0};
    cpt_status status = CPT_OK;

    while (text.bytes > 0 && status == CPT_OK) {
        reading.clause = take_clause(&text);
        if (reading.clause.bytes > 0) {
            status = read_clause(&reading);
        }
    }
    reading.clause = (struct cpt_bytes){reading.text.data, 0};
    if (status == CPT_OK && source->way == CPTI_WAY_NONE) {
        return refuse(&reading,
                      "a source needs json, logfmt, csv, regex, lnav or format");
    }
    return status;
}
