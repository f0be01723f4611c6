/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* entry_members.c - the members of a line of an entry; see entry_members.h */
#include "import/lines/entry_members.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STATUS_FAILED = 500 /* as in HTTP: from here on */ };

static const uint64_t second_ns = 1000000000;
static const uint64_t millisecond_ns = 1000000;
static const uint64_t microsecond_ns = 1000;

/* Times beyond this do not fit 2^63 ns. */
#define SECONDS_MAX 9.2e9

/* What a line says of itself, beside what goes on as it is. */
struct reading {
    struct cpti_entry_line *line;
    struct cpti_entry_lines_counts *counts;
    struct cpt_error *error;
    uint64_t time_ns;
    uint64_t end_ns;
    bool has_time;
    bool has_end;
    bool has_latency;
    bool says_failed;
    size_t member_bytes;
};

/* --- Values --- */

static bool is(struct cpt_bytes text, const char *word)
{
    return text.bytes == strlen(word) && memcmp(text.data, word, text.bytes) == 0;
}

/* Whether @value says nothing: programs write "", "-" or null for what is not there. */
static bool is_absent(struct cpti_doc_value value)
{
    const enum cpti_doc_type type = cpti_doc_type(value);
    const struct cpt_bytes text = cpti_doc_string(value);

    return type == CPTI_DOC_NULL ||
           (type == CPTI_DOC_STRING && (text.bytes == 0 || is(text, "-")));
}

/* Whether @text is a number of seconds like 1700000000.123; digits behind the ninth of
 * its fraction are left out. */
static bool seconds_of_text(struct cpt_bytes text, uint64_t *ns)
{
    uint64_t whole = 0;
    uint64_t unit = second_ns;
    uint64_t fraction = 0;
    size_t at = 0;

    for (; at < text.bytes && text.data[at] != '.'; at++) {
        const unsigned digit = (unsigned)(unsigned char)text.data[at] - '0';

        whole = 10 * whole + digit;
        if (digit > 9 || whole > (uint64_t)SECONDS_MAX) {
            return false;
        }
    }
    if (at == 0 || at + 1 == text.bytes) {
        return false;
    }
    for (at++; at < text.bytes; at++) {
        const unsigned digit = (unsigned)(unsigned char)text.data[at] - '0';

        if (digit > 9) {
            return false;
        }
        unit /= 10;
        fraction += unit * digit;
    }
    *ns = whole * second_ns + fraction;
    return true;
}

/* Whether @value is a number of seconds; to the nanosecond in a text, else as exact as
 * a double of that size is: a time of our days to the microsecond. */
static bool read_seconds(struct cpti_doc_value value, uint64_t *ns)
{
    int64_t integer = 0;
    double real = 0;
    uint64_t rest = 0;

    if (cpti_doc_integer(value, &integer)) {
        *ns = (uint64_t)integer * second_ns;
        return integer >= 0 && (double)integer < SECONDS_MAX;
    }
    if (!cpti_doc_real(value, &real)) {
        return seconds_of_text(cpti_doc_string(value), ns);
    }
    if (!(real >= 0 && real < SECONDS_MAX)) {
        return false;
    }
    integer = (int64_t)real;
    rest = (uint64_t)((real - (double)integer) * (double)second_ns + 0.5);
    if (real >= (double)millisecond_ns) {
        rest = (rest + microsecond_ns / 2) / microsecond_ns * microsecond_ns;
    }
    *ns = (uint64_t)integer * second_ns + rest;
    return true;
}

static cpt_status refuse(const struct reading *reading, const char *key,
                         const char *reason)
{
    return cpt_error_set(reading->error, CPT_INVALID, 0, "\"%s\" %s", key, reason);
}

/* Whether @text is 16 lower-case hexadecimal digits, a nonce. */
static bool read_nonce(struct cpt_bytes text, uint64_t *nonce)
{
    *nonce = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        static const char hex[] = "0123456789abcdef";
        const char *found = memchr(hex, text.data[i], sizeof hex - 1);

        if (found == NULL) {
            return false;
        }
        *nonce = *nonce << 4 | (uint64_t)(found - hex);
    }
    return text.bytes == 16 && *nonce != 0;
}

/* --- Members that mean something --- */

static cpt_status note_time(struct reading *reading, struct cpti_doc_value value)
{
    reading->has_time = read_seconds(value, &reading->time_ns);
    return reading->has_time
               ? CPT_OK
               : refuse(reading, "time", "is no number of seconds since 1970");
}

static cpt_status note_end(struct reading *reading, struct cpti_doc_value value)
{
    reading->has_end = read_seconds(value, &reading->end_ns);
    return reading->has_end
               ? CPT_OK
               : refuse(reading, "end", "is no number of seconds since 1970");
}

static cpt_status note_latency(struct reading *reading, struct cpti_doc_value value)
{
    reading->has_latency = read_seconds(value, &reading->line->latency_ns);
    return reading->has_latency ? CPT_OK
                                : refuse(reading, "latency", "is no number of seconds");
}

static cpt_status note_probability(struct reading *reading, struct cpti_doc_value value)
{
    uint64_t ns = 0;
    double real = 0;

    if (cpti_doc_type(value) == CPTI_DOC_STRING &&
        seconds_of_text(cpti_doc_string(value), &ns)) {
        real = (double)ns / (double)second_ns;
    } else if (!cpti_doc_real(value, &real)) {
        real = 0;
    }
    reading->line->probability = real;
    return real > 0 && real <= 1
               ? CPT_OK
               : refuse(reading, "probability", "is not above 0 and at most 1");
}

static cpt_status note_nonce(struct reading *reading, struct cpti_doc_value value)
{
    return read_nonce(cpti_doc_string(value), &reading->line->nonce)
               ? CPT_OK
               : refuse(reading, "nonce", "is not 16 hexadecimal digits");
}

static cpt_status note_status(struct reading *reading, struct cpti_doc_value value)
{
    struct cpti_entry_line *line = reading->line;
    int64_t number = 0;

    line->status = cpti_doc_string(value);
    if (cpti_doc_integer(value, &number)) {
        (void)snprintf(line->status_digits, sizeof line->status_digits, "%" PRId64,
                       number);
        line->status = cpt_bytes_of(line->status_digits);
    } else if (line->status.bytes == 3) { /* as nginx writes it within quotes */
        uint64_t ns = 0;

        number = seconds_of_text(line->status, &ns) ? (int64_t)(ns / second_ns) : 0;
    }
    if (!reading->says_failed) {
        line->is_failed = number >= STATUS_FAILED || is(line->status, "error");
    }
    return line->status.bytes > 0
               ? CPT_OK
               : refuse(reading, "status", "is no text or whole number");
}

static cpt_status note_failed(struct reading *reading, struct cpti_doc_value value)
{
    reading->says_failed = true;
    reading->line->is_failed = cpti_doc_is_true(value);
    return CPT_OK;
}

static cpt_status note_forced(struct reading *reading, struct cpti_doc_value value)
{
    reading->line->is_forced = cpti_doc_is_true(value);
    return CPT_OK;
}

static cpt_status note_text(struct reading *reading, const char *key,
                            struct cpti_doc_value value, struct cpt_bytes *text)
{
    *text = cpti_doc_string(value);
    return text->bytes > 0 ? CPT_OK : refuse(reading, key, "is no text");
}

/* Reads the member @key if it means something; *@is_known: it does. */
static cpt_status note_known(struct reading *reading, struct cpt_bytes key,
                             struct cpti_doc_value value, bool *is_known)
{
    static const struct {
        const char *key;
        cpt_status (*note)(struct reading *reading, struct cpti_doc_value value);
    } notes[] = {{"time", note_time},
                 {"end", note_end},
                 {"latency", note_latency},
                 {"status", note_status},
                 {"probability", note_probability},
                 {"nonce", note_nonce},
                 {"failed", note_failed},
                 {"forced", note_forced}};
    struct cpti_entry_line *line = reading->line;
    const struct {
        const char *key;
        struct cpt_bytes *text;
    } texts[] = {{"path", &line->path},
                 {"service", &line->service},
                 {"method", &line->method},
                 {"trace_id", &line->trace},
                 {"trace", &line->trace}};

    *is_known = true;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        if (is(key, notes[i].key)) {
            return is_absent(value) ? CPT_OK : notes[i].note(reading, value);
        }
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (is(key, texts[i].key)) {
            return is_absent(value)
                       ? CPT_OK
                       : note_text(reading, texts[i].key, value, texts[i].text);
        }
    }
    *is_known = false;
    return CPT_OK;
}

/* --- Other members --- */

/* Whether @value is one that goes on. */
static bool read_value(struct cpti_doc_value value, struct cpti_entry_member *member)
{
    switch (cpti_doc_type(value)) {
    case CPTI_DOC_STRING:
        member->type = CPTI_ENTRY_TEXT;
        member->text = cpti_doc_string(value);
        return member->text.bytes <= CPTI_ENTRY_TEXT_BYTES_MAX;
    case CPTI_DOC_BOOLEAN:
        member->type = CPTI_ENTRY_BOOL;
        member->is_true = cpti_doc_is_true(value);
        return true;
    case CPTI_DOC_NUMBER:
        member->type = CPTI_ENTRY_INTEGER;
        if (cpti_doc_integer(value, &member->integer)) {
            return true;
        }
        member->type = CPTI_ENTRY_REAL;
        return cpti_doc_real(value, &member->real);
    default:
        return false;
    }
}

/* Hands a member on, unless it is none, or there is no room for it. */
static void note_other(struct reading *reading, struct cpt_bytes key,
                       struct cpti_doc_value value)
{
    struct cpti_entry_line *line = reading->line;
    struct cpti_entry_member member = {.key = key, .text = {"", 0}};
    const bool is_ours = key.bytes >= 4 && memcmp(key.data, "cpt.", 4) == 0;
    size_t bytes = key.bytes;

    if (cpti_doc_type(value) == CPTI_DOC_NULL) {
        return;
    }
    if (key.bytes == 0 || is_ours || !read_value(value, &member) ||
        line->member_count == CPTI_ENTRY_MEMBERS_MAX ||
        bytes > CPTI_ENTRY_MEMBER_BYTES_MAX) {
        reading->counts->left_members++;
        return;
    }
    bytes += member.text.bytes;
    if (bytes > CPTI_ENTRY_MEMBER_BYTES_MAX - reading->member_bytes) {
        reading->counts->left_members++;
        return;
    }
    reading->member_bytes += bytes;
    line->members[line->member_count++] = member;
}

/* --- The line --- */

/* Sets when it began. */
static cpt_status set_times(const struct reading *reading)
{
    struct cpti_entry_line *line = reading->line;
    const uint64_t latency_ns = line->latency_ns;

    if (!reading->has_latency) {
        return cpt_error_set(reading->error, CPT_INVALID, 0,
                             "no \"latency\", a number of seconds");
    }
    if (!reading->has_time && !reading->has_end) {
        return cpt_error_set(reading->error, CPT_INVALID, 0,
                             "neither \"time\", when it began, nor \"end\"");
    }
    if (!reading->has_time && reading->end_ns < latency_ns) {
        return refuse(reading, "end", "is less than the latency");
    }
    line->start_unix_ns =
        reading->has_time ? reading->time_ns : reading->end_ns - latency_ns;
    if (line->start_unix_ns > (uint64_t)INT64_MAX - latency_ns) {
        return refuse(reading, "latency", "ends after the year 2262");
    }
    line->unit_ns = latency_ns % millisecond_ns == 0   ? millisecond_ns
                    : latency_ns % microsecond_ns == 0 ? microsecond_ns
                                                       : 1;
    return CPT_OK;
}

cpt_status cpti_entry_members_read(struct cpti_doc_value root,
                                   struct cpti_entry_line *line,
                                   struct cpti_entry_lines_counts *counts,
                                   struct cpt_error *error)
{
    struct reading reading = {.line = line, .counts = counts, .error = error};
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    if (cpti_doc_type(root) != CPTI_DOC_OBJECT) {
        return cpt_error_set(error, CPT_INVALID, 0, "no object of JSON");
    }
    for (bool is_there = cpti_doc_first(root, &member); is_there && status == CPT_OK;
         is_there = cpti_doc_next(&member)) {
        bool is_known = false;

        status = note_known(&reading, member.key, member.value, &is_known);
        if (!is_known) {
            note_other(&reading, member.key, member.value);
        }
    }
    return status == CPT_OK ? set_times(&reading) : status;
}
