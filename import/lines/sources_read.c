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
    uint64_t seen;           /* a bit of each clause */
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
    if (text->bytes < 3 || text->data[0] != '"' || text->data[text->bytes - 1] != '"') {
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

/* Members "a|b.c", the first one that a line has, in the place of those of a format. */
static cpt_status read_members(const struct reading *reading, struct cpt_bytes names,
                               enum cpti_event_field field)
{
    struct cpti_line_source *source = reading->source;
    size_t kept = 0;

    for (size_t i = 0; i < source->member_count; i++) {
        if (source->members[i].field != field) {
            source->members[kept++] = source->members[i];
        }
    }
    source->member_count = kept;
    for (unsigned rank = 0; names.bytes > 0; rank++) {
        if (!cpti_source_member(source, cpti_text_take(&names, '|'), field, rank)) {
            return refuse(reading, "no name of a member, or too many of them");
        }
    }
    return CPT_OK;
}

/* The form of a time or length, "time NAME FORM", or of a group alone "time FORM". */
static cpt_status read_form(const struct reading *reading, struct cpt_bytes text,
                            enum cpti_event_field field)
{
    struct cpti_line_source *source = reading->source;
    struct cpti_time_format *const times[CPTI_FIELDS] = {
        [CPTI_FIELD_TIME] = &source->time,
        [CPTI_FIELD_BEGIN] = &source->begin,
        [CPTI_FIELD_END] = &source->end};
    int64_t *unit_ns =
        field == CPTI_FIELD_DURATION ? &source->duration_ns : &source->upstream_ns;

    if (has_members(source)) {
        const cpt_status status = read_members(reading, take_word(&text), field);

        if (text.bytes == 0 || status != CPT_OK) {
            return status;
        }
    }
    if (times[field] != NULL) {
        return cpti_time_format_read(text, times[field])
                   ? CPT_OK
                   : refuse(reading,
                            "a time is s, ms, us, ns, rfc3339, or a pattern as of "
                            "strptime with %Y %m %d %b %e %H %M %S %L %z");
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
    if (is_quoted && field == CPTI_FIELD_BEGIN) {
        source->begin_event = text;
    } else if (is_quoted && field == CPTI_FIELD_END) {
        source->end_event = text;
    } else if (field >= CPTI_FIELD_TIME && field <= CPTI_FIELD_UPSTREAM) {
        return read_form(reading, text, field);
    } else if (!is_quoted && has_members(source)) {
        return read_members(reading, text, field);
    } else {
        source->constants[field] = text;
    }
    return CPT_OK;
}

/* --- Other clauses --- */

static cpt_status read_format(const struct reading *reading, struct cpt_bytes text)
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

static cpt_status read_json(const struct reading *reading, struct cpt_bytes text)
{
    reading->source->way = CPTI_WAY_JSON;
    return text.bytes == 0 ? CPT_OK : refuse(reading, "nothing may stand behind it");
}

static cpt_status read_logfmt(const struct reading *reading, struct cpt_bytes text)
{
    const cpt_status status = read_json(reading, text);

    reading->source->way = CPTI_WAY_LOGFMT;
    return status;
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

static cpt_status read_zone(const struct reading *reading, struct cpt_bytes text)
{
    return cpti_time_zone(text, &reading->source->zone_s)
               ? CPT_OK
               : refuse(reading, "a zone is UTC, or as +08:00");
}

static cpt_status read_files(const struct reading *reading, struct cpt_bytes text)
{
    reading->source->files = text;
    return text.bytes > 0 ? CPT_OK : refuse(reading, "it names no files");
}

/* --- All clauses --- */

/* Clauses that are no fields; those that say what a line is come first. */
static const struct {
    const char *word;
    cpt_status (*read)(const struct reading *reading, struct cpt_bytes text);
} others[] = {{"regex", read_regex},   {"format", read_format}, {"json", read_json},
              {"logfmt", read_logfmt}, {"lnav", read_lnav},     {"outer", read_outer},
              {"zone", read_zone},     {"files", read_files}};
enum { REGEX, WAYS_END = 5, OTHERS = sizeof others / sizeof others[0] };

static const char *const fields[] = {
#define NAME_(name, text) text,
    CPTI_FIELD_MAP(NAME_)
#undef NAME_
};

/* The number of a clause: of `others`, and behind them of `fields`. */
static unsigned number_of(struct cpt_bytes word)
{
    unsigned i = 0;

    while (i < OTHERS && !cpti_text_is(word, others[i].word)) {
        i++;
    }
    while (i >= OTHERS && i < OTHERS + CPTI_FIELDS &&
           !cpti_text_is(word, fields[i - OTHERS])) {
        i++;
    }
    return i;
}

/* What is wrong with clause @number where it stands; NULL: nothing. `begin` and `end`
 * may come twice: as a time, and as the name of an event. */
static const char *judge(struct reading *reading, unsigned number, bool is_quoted)
{
    const enum cpti_source_way way = reading->source->way;
    const uint64_t bit = UINT64_C(1)
                         << (number + (is_quoted ? OTHERS + CPTI_FIELDS : 0));
    const bool was_seen = (reading->seen & bit) != 0;

    reading->seen |= bit;
    if (number >= OTHERS + CPTI_FIELDS) {
        return "there is no such clause";
    }
    if (number == REGEX) {
        return way > CPTI_WAY_REGEX ? "these lines are not read by expressions" : NULL;
    }
    if (was_seen) {
        return "it is there twice";
    }
    if (number < WAYS_END && way != CPTI_WAY_NONE) {
        return "what a line is stands there already";
    }
    return number >= OTHERS && way == CPTI_WAY_NONE
               ? "before it stands what a line is: regex, json, logfmt, lnav or format"
               : NULL;
}

static cpt_status read_clause(struct reading *reading)
{
    struct cpt_bytes text = reading->clause;
    const struct cpt_bytes word = take_word(&text);
    const unsigned number = number_of(word);
    const char *wrong = judge(reading, number, text.bytes > 0 && text.data[0] == '"');

    if (wrong != NULL) {
        return refuse(reading, wrong);
    }
    return number < OTHERS
               ? others[number].read(reading, text)
               : read_field(reading, text, (enum cpti_event_field)(number - OTHERS));
}

/* The next clause; an expression ends at a ';' before a blank alone. */
static struct cpt_bytes take_clause(struct cpt_bytes *text)
{
    static const char regex[] = "regex ";
    struct cpt_bytes clause;
    size_t i = 0;

    *text = trim(*text);
    if (text->bytes < sizeof regex ||
        memcmp(text->data, regex, sizeof regex - 1) != 0) {
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
    struct reading reading = {sources, options, source, error, text, text, 0};
    cpt_status status = CPT_OK;

    while (text.bytes > 0 && status == CPT_OK) {
        reading.clause = take_clause(&text);
        if (reading.clause.bytes > 0) {
            status = read_clause(&reading);
        }
    }
    reading.clause = (struct cpt_bytes){reading.text.data, 0};
    if (status == CPT_OK && source->way == CPTI_WAY_NONE) {
        return refuse(&reading, "a source needs regex, json, logfmt, lnav or format");
    }
    if (status == CPT_OK &&
        (source->begin_event.bytes > 0) != (source->end_event.bytes > 0)) {
        return refuse(&reading, "the events of 'begin' and 'end' come together");
    }
    return status;
}
