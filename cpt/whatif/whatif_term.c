/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_term.c - the terms of a what-if as text
 *
 *      set        NAME=CHANGE         CHANGE: -50%  50%  10ms  0  +2ms  -2ms
 *      cap        NAME<=TIME  NAME>=TIME
 *      cut, add   NAME -> NAME
 *      parallel   NAME > NAME
 *      workers    EXECUTOR=NUMBER
 *
 * A name may have '=', '>' and spaces of its own: of these marks, the last one counts.
 * The text may come from anywhere: it is at most CPT_WHATIF_TERM_BYTES_MAX long, each
 * byte is read a fixed number of times, and numbers have a limit.
 */
#include "cpt/cpt_whatif.h"

#include <stdbool.h>
#include <string.h>

enum { DIGITS_MAX = 15, SHARE_MAX = 1000, MARK_BYTES = 3 };

static const char *const verbs[] = {"set", "cap", "cut", "add", "parallel", "workers"};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

/* What is being read. */
struct reading {
    struct cpt_bytes text;
    struct cpt_error *error;
};

static struct cpt_bytes part(struct cpt_bytes text, size_t begin, size_t end)
{
    while (begin < end && text.data[begin] == ' ') {
        begin++;
    }
    while (end > begin && text.data[end - 1] == ' ') {
        end--;
    }
    return (struct cpt_bytes){text.data + begin, end - begin};
}

static bool begins_with(struct cpt_bytes text, const char *word)
{
    const size_t bytes = strlen(word);

    return text.bytes >= bytes && memcmp(text.data, word, bytes) == 0;
}

static bool ends_with(struct cpt_bytes text, const char *word)
{
    const size_t bytes = strlen(word);

    return text.bytes >= bytes &&
           memcmp(text.data + text.bytes - bytes, word, bytes) == 0;
}

/* The last place of @mark in @text; SIZE_MAX: none. */
static size_t last_of(struct cpt_bytes text, const char *mark)
{
    const size_t bytes = strlen(mark);

    for (size_t at = text.bytes; at >= bytes; at--) {
        if (memcmp(text.data + at - bytes, mark, bytes) == 0) {
            return at - bytes;
        }
    }
    return SIZE_MAX;
}

static cpt_status refuse(const struct reading *reading, struct cpt_bytes at,
                         const char *sentence)
{
    return cpt_error_set(reading->error, CPT_INVALID,
                         (uint64_t)(at.data - reading->text.data), "%s", sentence);
}

/* --- Names --- */

/* What tells a kind, without the marks around it. */
static const struct {
    const char *word;
    uint32_t kind;
} kinds[] = {{"queue", CPT_DAG_QUEUE},     {"lock", CPT_DAG_LOCK},
             {"network", CPT_DAG_NETWORK}, {"network+serialization", CPT_DAG_NETWORK},
             {"wait", CPT_DAG_WAIT},       {"unattributed", CPT_DAG_WAIT},
             {"blind spot", CPT_DAG_CALL}, {"call", CPT_DAG_CALL},
             {"work", CPT_DAG_STEP}};

/* Takes the kind from the end of *@text, if it has one there. False: it is unknown. */
static bool take_kind(struct cpt_bytes *text, struct cpt_whatif_frames *frames)
{
    const bool is_ascii = ends_with(*text, ">");
    const char *closer = is_ascii ? ">" : "\u203a";
    const char *opener = is_ascii ? "<" : "\u2039";
    size_t begin = 0;
    struct cpt_bytes word;

    if (!ends_with(*text, closer)) {
        return true;
    }
    begin = last_of(*text, opener);
    if (begin == SIZE_MAX) {
        return true; /* a name like any other */
    }
    word.data = text->data + begin + strlen(opener);
    word.bytes = text->bytes - strlen(closer) - (size_t)(word.data - text->data);
    text->bytes = begin;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (cpt_bytes_equal(word, cpt_bytes_of(kinds[i].word))) {
            frames->has_kind = 1;
            frames->kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

/* "A: A1", "A: ‹queue›", "A: A1 ‹queue›", "A: A1;A: ‹queue›", "‹queue›" */
static cpt_status read_frames(const struct reading *reading, struct cpt_bytes text,
                              struct cpt_whatif_frames *frames)
{
    struct cpt_bytes name = text;
    size_t at = 0;

    *frames = (struct cpt_whatif_frames){.name = {"", 0}};
    if (text.bytes == 0) {
        return refuse(reading, text, "a name is missing");
    }
    if (!take_kind(&name, frames)) {
        return refuse(reading, text,
                      "there is no such kind: ‹queue›, ‹lock›, ‹wait›, "
                      "‹network+serialization›, ‹blind spot›, ‹work›");
    }
    frames->name = name;
    if (frames->has_kind == 0) {
        return CPT_OK;
    }
    at = last_of(name, ";");
    if (at != SIZE_MAX) {
        frames->name = part(name, 0, at);
    } else {
        frames->name = part(name, 0, name.bytes);
        frames->is_service = frames->name.bytes == 0 || ends_with(frames->name, ":");
    }
    if (frames->is_service != 0) {
        frames->name = frames->name.bytes != 0
                           ? part(frames->name, 0, frames->name.bytes - 1)
                           : cpt_bytes_of("*");
    }
    return frames->name.bytes != 0 ? CPT_OK
                                   : refuse(reading, text, "a name is missing");
}

/* Whether @text is like @pattern, where '*' is any text. */
static bool is_like(struct cpt_bytes pattern, struct cpt_bytes text)
{
    size_t at = 0;
    size_t star = SIZE_MAX; /* of the last '*', and what it covers until now */
    size_t covered = 0;

    for (size_t i = 0; i < text.bytes;) {
        if (at < pattern.bytes && pattern.data[at] == '*') {
            star = at++;
            covered = i;
        } else if (at < pattern.bytes && pattern.data[at] == text.data[i]) {
            at++;
            i++;
        } else if (star != SIZE_MAX) {
            at = star + 1;
            i = ++covered;
        } else {
            return false;
        }
    }
    while (at < pattern.bytes && pattern.data[at] == '*') {
        at++;
    }
    return at == pattern.bytes;
}

int cpt_whatif_has(const struct cpt_whatif_frames *frames,
                   const struct cpt_dag_name *name)
{
    const bool is_kind = frames->has_kind != 0 ? name->kind == frames->kind
                                               : name->kind == CPT_DAG_STEP ||
                                                     name->kind == CPT_DAG_CALL ||
                                                     name->kind == CPT_DAG_LOCK;
    const struct cpt_bytes service = cpt_name_service(name->name);
    const struct cpt_bytes text =
        frames->is_service != 0 && service.bytes != 0 ? service : name->name;

    if (!is_kind) {
        return 0;
    }
    return frames->is_exact != 0 ? cpt_bytes_equal(frames->name, text)
                                 : is_like(frames->name, text);
}

/* --- Numbers --- */

/* Reads digits with a fraction, which is up to @scale; false: there are none, or too
 * many. */
static bool take_number(struct cpt_bytes *text, double *number)
{
    double value = 0;
    double unit = 1;
    size_t at = 0;
    size_t digits = 0;
    bool is_fraction = false;

    for (; at < text->bytes && digits <= DIGITS_MAX; at++) {
        const char byte = text->data[at];

        if (byte == '.' && !is_fraction) {
            is_fraction = true;
        } else if (byte >= '0' && byte <= '9') {
            value = value * 10 + (byte - '0');
            unit = is_fraction ? unit * 10 : unit;
            digits++;
        } else {
            break;
        }
    }
    if (digits == 0 || digits > DIGITS_MAX) {
        return false;
    }
    *number = value / unit;
    *text = (struct cpt_bytes){text->data + at, text->bytes - at};
    return true;
}

static cpt_status read_time(const struct reading *reading, struct cpt_bytes text,
                            uint64_t *time_ns)
{
    static const struct {
        const char *word;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3}, {"\u00b5s", 1e3}, {"\u03bcs", 1e3},
                 {"ms", 1e6}, {"s", 1e9},  {"min", 6e10}};
    struct cpt_bytes rest = text;
    double number = 0;

    if (!take_number(&rest, &number)) {
        return refuse(reading, text, "a time is missing, such as 10ms");
    }
    if (rest.bytes == 0 && !(number > 0)) {
        *time_ns = 0;
        return CPT_OK;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!cpt_bytes_equal(rest, cpt_bytes_of(units[i].word))) {
            continue;
        }
        if (number * units[i].ns > (double)CPT_WHATIF_AMOUNT_MAX_NS) {
            return refuse(reading, text, "the time is too long");
        }
        *time_ns = (uint64_t)(number * units[i].ns + 0.5);
        return CPT_OK;
    }
    return refuse(reading, rest, "a time needs a unit: ns, us, ms, s or min");
}

/* "-50%", "50%", "10ms", "+2ms", "-2ms" */
static cpt_status read_change(const struct reading *reading, struct cpt_bytes text,
                              struct cpt_whatif_term *term)
{
    const bool is_more = begins_with(text, "+");
    const bool is_less = begins_with(text, "-");
    const size_t sign = is_more || is_less ? 1 : 0;
    struct cpt_bytes rest = part(text, sign, text.bytes);
    struct cpt_bytes amount = rest;
    double number = 0;

    if (!take_number(&rest, &number)) {
        return refuse(reading, text,
                      "a change is missing, such as -50%, 10ms, +2ms or 0");
    }
    if (cpt_bytes_equal(rest, cpt_bytes_of("%"))) {
        number = is_more ? 1 + number / 100 : is_less ? 1 - number / 100 : number / 100;
        if (number < 0 || number > SHARE_MAX) {
            return refuse(reading, text, "a percentage is from -100% to +99900%");
        }
        term->change = CPT_WHATIF_SCALE;
        term->share = number;
        return CPT_OK;
    }
    term->change = is_more   ? CPT_WHATIF_MORE
                   : is_less ? CPT_WHATIF_LESS
                             : CPT_WHATIF_TO;
    return read_time(reading, amount, &term->amount_ns);
}

/* --- Terms --- */

static cpt_status read_set(const struct reading *reading, struct cpt_whatif_term *term)
{
    const struct cpt_bytes text = reading->text;
    const size_t at = last_of(text, "=");
    cpt_status status = CPT_OK;

    if (at == SIZE_MAX) {
        return refuse(reading, text, "'=' is missing: NAME=-50%");
    }
    status = read_frames(reading, part(text, 0, at), &term->frames);
    return status == CPT_OK ? read_change(reading, part(text, at + 1, text.bytes), term)
                            : status;
}

static cpt_status read_cap(const struct reading *reading, struct cpt_whatif_term *term)
{
    const struct cpt_bytes text = reading->text;
    const size_t most = last_of(text, "<=");
    const size_t least = last_of(text, ">=");
    const bool is_most = least == SIZE_MAX || (most != SIZE_MAX && most > least);
    const size_t at = is_most ? most : least;
    cpt_status status = CPT_OK;

    if (at == SIZE_MAX) {
        return refuse(reading, text, "'<=' is missing: NAME<=10ms");
    }
    term->change = is_most ? CPT_WHATIF_AT_MOST : CPT_WHATIF_AT_LEAST;
    status = read_frames(reading, part(text, 0, at), &term->frames);
    return status == CPT_OK
               ? read_time(reading, part(text, at + 2, text.bytes), &term->amount_ns)
               : status;
}

static cpt_status read_edge(const struct reading *reading, const char *mark,
                            const char *sentence, struct cpt_whatif_term *term)
{
    const struct cpt_bytes text = reading->text;
    const size_t at = last_of(text, mark);
    cpt_status status = CPT_OK;

    if (at == SIZE_MAX) {
        return refuse(reading, text, sentence);
    }
    status = read_frames(reading, part(text, 0, at), &term->frames);
    if (status == CPT_OK) {
        status = read_frames(reading, part(text, at + strlen(mark), text.bytes),
                             &term->other);
    }
    if (status == CPT_OK && (term->frames.has_kind != 0 || term->other.has_kind != 0)) {
        status =
            refuse(reading, text, "tasks and calls wait for each other, not kinds");
    }
    return status;
}

static cpt_status read_workers(const struct reading *reading,
                               struct cpt_whatif_term *term)
{
    const struct cpt_bytes text = reading->text;
    const size_t at = last_of(text, "=");
    struct cpt_bytes rest;
    double number = 0;

    if (at == SIZE_MAX) {
        return refuse(reading, text, "'=' is missing: EXECUTOR=4");
    }
    term->frames.name = part(text, 0, at);
    rest = part(text, at + 1, text.bytes);
    if (term->frames.name.bytes == 0) {
        return refuse(reading, text, "a name is missing");
    }
    if (!take_number(&rest, &number) || rest.bytes != 0 || number < 1 ||
        number > CPT_WHATIF_WORKERS_MAX || number != (double)(uint64_t)number) {
        return refuse(reading, part(text, at + 1, text.bytes),
                      "workers are a whole number from 1 to 65536");
    }
    term->amount_ns = (uint64_t)number;
    return CPT_OK;
}

cpt_status cpt_whatif_term_read(unsigned verb, struct cpt_bytes text,
                                struct cpt_whatif_term *term, struct cpt_error *error)
{
    const struct reading reading = {text.bytes != 0 ? text : cpt_bytes_of(""), error};

    *term = (struct cpt_whatif_term){.verb = verb};
    if (text.bytes > CPT_WHATIF_TERM_BYTES_MAX) {
        return refuse(&reading, reading.text, "the term is too long");
    }
    switch (verb) {
    case CPT_WHATIF_SET:
        return read_set(&reading, term);
    case CPT_WHATIF_CAP:
        return read_cap(&reading, term);
    case CPT_WHATIF_CUT:
    case CPT_WHATIF_ADD:
        return read_edge(&reading, " -> ", "' -> ' is missing: NAME -> NAME", term);
    case CPT_WHATIF_PARALLEL:
        return read_edge(&reading, " > ", "' > ' is missing: CALLER > CALLED", term);
    case CPT_WHATIF_WORKERS:
        return read_workers(&reading, term);
    default:
        return refuse(&reading, reading.text, "there is no such term");
    }
}

cpt_status cpt_whatif_line_read(struct cpt_bytes line, struct cpt_whatif_term *term,
                                struct cpt_error *error)
{
    const struct cpt_bytes text =
        line.bytes != 0 ? part(line, 0, line.bytes) : cpt_bytes_of("");

    for (unsigned i = 0; i < VERBS; i++) {
        const size_t bytes = strlen(verbs[i]);

        if (begins_with(text, verbs[i]) && text.bytes > bytes &&
            text.data[bytes] == ' ') {
            return cpt_whatif_term_read(i, part(text, bytes, text.bytes), term, error);
        }
    }
    *term = (struct cpt_whatif_term){.verb = VERBS};
    return cpt_error_set(error, CPT_INVALID, 0,
                         "a term begins with set, cap, cut, add, parallel or workers");
}

const char *cpt_whatif_verb_word(unsigned verb)
{
    return verb < VERBS ? verbs[verb] : NULL;
}
