/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_csv.c - events as rows of CSV; see event_csv.h */
#include "import/lines/event_csv.h"

#include "cpt/base/text.h"

#define US_MAX (INT64_MAX / 1000)

/* X(NAME, word) */
#define COLUMN_MAP(X)                                                                  \
    X(ID, "id")                                                                        \
    X(SERVICE, "service")                                                              \
    X(HOST, "host")                                                                    \
    X(UNIT, "unit")                                                                    \
    X(NAME, "event")                                                                   \
    X(ROLE, "role")                                                                    \
    X(PEER, "peer")                                                                    \
    X(RESOLUTION, "resolution_us")                                                     \
    X(TIME, "time_us")                                                                 \
    X(BEGIN, "begin_us")                                                               \
    X(END, "end_us")

enum column {
#define COLUMN_(NAME, word) COLUMN_##NAME,
    COLUMN_MAP(COLUMN_)
#undef COLUMN_
        COLUMNS /* of someone else */
};

static const char *const words[COLUMNS] = {
#define WORD_(NAME, word) word,
    COLUMN_MAP(WORD_)
#undef WORD_
};

/* --- Fields --- */

/* Takes the field at *@at, before @end, out of its quotes in place; *@at is behind its
 * comma, or NULL after the last one. false: a quote is where none may be. */
static bool take_quoted(char **at, char *end, struct cpt_bytes *field)
{
    char *from = *at + 1;
    char *to = from;

    field->data = from;
    for (;;) {
        char *quote = memchr(from, '"', (size_t)(end - from));

        if (quote == NULL) {
            return false;
        }
        memmove(to, from, (size_t)(quote - from));
        to += quote - from;
        from = quote + 1;
        if (from == end || *from != '"') {
            break;
        }
        *to++ = '"';
        from++;
    }
    field->bytes = (size_t)(to - field->data);
    *at = from == end ? NULL : from + 1;
    return from == end || *from == ',';
}

static bool take_field(char **at, char *end, struct cpt_bytes *field)
{
    char *from = *at;
    char *comma = NULL;

    if (from < end && *from == '"') {
        return take_quoted(at, end, field);
    }
    comma = from < end ? memchr(from, ',', (size_t)(end - from)) : NULL;
    *field = (struct cpt_bytes){from, (size_t)((comma != NULL ? comma : end) - from)};
    *at = comma != NULL ? comma + 1 : NULL;
    return true;
}

/* --- The header --- */

static enum column column_of(struct cpt_bytes word)
{
    unsigned column = 0;

    word = cpti_text_trim(word, cpti_is_blank_of_file);
    if (word.bytes >= 2 && word.data[0] == '"' && word.data[word.bytes - 1] == '"') {
        word = (struct cpt_bytes){word.data + 1, word.bytes - 2};
    }
    while (column < COLUMNS && !cpti_text_is(word, words[column])) {
        column++;
    }
    return (enum column)column;
}

/* @line without the mark that some programs begin a file of UTF-8 with. */
static struct cpt_bytes without_mark(struct cpt_bytes line)
{
    if (line.bytes >= 3 && memcmp(line.data, "\xef\xbb\xbf", 3) == 0) {
        line = (struct cpt_bytes){line.data + 3, line.bytes - 3};
    }
    return line;
}

bool cpti_event_csv_is_header(struct cpt_bytes line)
{
    line = without_mark(line);
    for (size_t i = 0; i < CPTI_CSV_FIELDS_MAX && line.bytes > 0; i++) {
        const enum column column = column_of(cpti_text_take(&line, ','));

        if (column == COLUMN_TIME || column == COLUMN_BEGIN) {
            return true;
        }
    }
    return false;
}

cpt_status cpti_event_csv_open(struct cpti_event_csv *csv, struct cpt_bytes line,
                               struct cpt_error *error)
{
    bool has[COLUMNS + 1] = {false};

    line = without_mark(line);
    csv->field_count = 0;
    for (size_t i = 0; i < CPTI_CSV_FIELDS_MAX && line.bytes > 0; i++) {
        const enum column column = column_of(cpti_text_take(&line, ','));

        if (column != COLUMNS && has[column]) {
            return cpt_error_set(error, CPT_INVALID, 0, "column %s is there twice",
                                 words[column]);
        }
        has[column] = true;
        csv->columns[i] = (unsigned char)column;
        csv->field_count = column != COLUMNS ? i + 1 : csv->field_count;
    }
    csv->has_service = has[COLUMN_SERVICE];
    if (!has[COLUMN_ID]) {
        return cpt_error_set(error, CPT_INVALID, 0, "column id is missing");
    }
    if (has[COLUMN_BEGIN] != has[COLUMN_END] ||
        (!has[COLUMN_BEGIN] && !has[COLUMN_TIME])) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "columns begin_us and end_us, or time_us, are missing");
    }
    return CPT_OK;
}

/* --- Rows --- */

enum number { NUMBER_NONE, NUMBER_FOUND, NUMBER_LARGE, NUMBER_WRONG };

/* Reads a whole number, if there is one, and multiplies it by 1,000. */
static enum number read_us(struct cpt_bytes text, int64_t *ns)
{
    const bool is_negative = text.bytes > 1 && text.data[0] == '-';
    int64_t us = 0;

    if (text.bytes == 0) {
        return NUMBER_NONE;
    }
    for (size_t i = is_negative; i < text.bytes; i++) {
        const unsigned digit = (unsigned)(text.data[i] - '0');

        if (digit > 9) {
            return NUMBER_WRONG;
        }
        us = us <= US_MAX ? us * 10 + (int64_t)digit : us;
    }
    *ns = us <= US_MAX ? us * (is_negative ? -1000 : 1000) : 0;
    return us <= US_MAX ? NUMBER_FOUND : NUMBER_LARGE;
}

/* Sets the times of @event. */
static enum cpti_csv_row read_times(const struct cpt_bytes *fields,
                                    struct cpti_event *event)
{
    int64_t time_ns = 0;
    const enum number begin = read_us(fields[COLUMN_BEGIN], &event->begin_ns);
    const enum number end = read_us(fields[COLUMN_END], &event->end_ns);
    const enum number time = read_us(fields[COLUMN_TIME], &time_ns);

    if (begin == NUMBER_WRONG || end == NUMBER_WRONG || time == NUMBER_WRONG) {
        return CPTI_CSV_WRONG_NUMBER;
    }
    if (begin == NUMBER_FOUND && end == NUMBER_FOUND) {
        event->is_interval = true;
        if (fields[COLUMN_ROLE].bytes == 0 && event->peer.bytes > 0) {
            event->role = CPTI_EVENT_CLIENT; /* it names whom it called */
        }
        return CPTI_CSV_EVENT;
    }
    if (begin != NUMBER_NONE || end != NUMBER_NONE || time != NUMBER_FOUND) {
        return CPTI_CSV_TIMELESS;
    }
    event->begin_ns = time_ns;
    event->end_ns = time_ns;
    return CPTI_CSV_EVENT;
}

static enum cpti_csv_row read_event(const struct cpt_bytes *fields,
                                    struct cpti_event *event)
{
    int64_t resolution_ns = 0;
    const enum number resolution = read_us(fields[COLUMN_RESOLUTION], &resolution_ns);
    const struct cpt_bytes role = fields[COLUMN_ROLE];

    *event = (struct cpti_event){
        .id = fields[COLUMN_ID],
        .service = fields[COLUMN_SERVICE],
        .host = fields[COLUMN_HOST],
        .unit = fields[COLUMN_UNIT],
        .name = fields[COLUMN_NAME],
        .peer = fields[COLUMN_PEER],
        .resolution_ns = (uint64_t)resolution_ns,
        .role = cpti_text_is(role, "server")   ? CPTI_EVENT_SERVER
                : cpti_text_is(role, "client") ? CPTI_EVENT_CLIENT
                                               : CPTI_EVENT_UNKNOWN};
    if (resolution == NUMBER_NONE) {
        event->resolution_ns = CPTI_RESOLUTION_OPEN;
    } else if (resolution != NUMBER_FOUND || resolution_ns < 0) {
        return CPTI_CSV_WRONG_NUMBER;
    }
    return event->service.bytes > 0 ? read_times(fields, event) : CPTI_CSV_NO_SERVICE;
}

enum cpti_csv_row cpti_event_csv_read(const struct cpti_event_csv *csv, char *row,
                                      size_t bytes, struct cpti_event *event)
{
    struct cpt_bytes fields[COLUMNS + 1] = {{"", 0}};
    char *at = row;

    for (size_t i = 0; i < csv->field_count && at != NULL; i++) {
        if (!take_field(&at, row + bytes, &fields[csv->columns[i]])) {
            return CPTI_CSV_WRONG_QUOTE;
        }
    }
    if (!csv->has_service) {
        fields[COLUMN_SERVICE] = cpt_bytes_of("unknown");
    }
    return read_event(fields, event);
}
