/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * policy_read.c - a rule as text; see docs/sampling.md
 *
 *      owner sre; until 2026-12-31; method /api/…; path("B: B2") > 50ms
 *
 * Clauses are a word and what it says, separated by ';'. Each may come once.
 */
#include "framework/service/rules/policy.h"

#include "cpt/base/text.h"
#include "wire/cpt_metadata.h"

#include <math.h>
#include <string.h>

#define NS_PER_DAY (UINT64_C(86400) * 1000000000)

enum { DIGITS_MAX = 15, YEAR_FIRST = 2000, YEAR_LAST = 2199, EVERY_MAX = 1000000000 };

/* Which clauses came. */
enum {
    SAW_OWNER = 1,
    SAW_UNTIL = 2,
    SAW_METHOD = 4,
    SAW_TENANT = 8,
    SAW_PROBABILITY = 16,
    SAW_RATE = 32,
    SAW_CONSISTENT = 64,
    SAW_FAILED = 128,
    SAW_LATENCY = 256,
    SAW_PATH = 512,
    SAW_ATTRIBUTE = 1024,
    SAW_HEADER = 2048,
    SAW_QUERY = 4096,
    SAW_GRAPH = 8192,
    SAW_DRAG = 16384
};

/* --- Texts --- */

static struct cpt_bytes trim(struct cpt_bytes text)
{
    return cpti_text_trim(text, cpti_is_blank_of_file);
}

/* The part before the first character for which @is_end, or all; @text goes behind. */
static struct cpt_bytes take(struct cpt_bytes *text, bool (*is_end)(char c))
{
    struct cpt_bytes part = {text->data, 0};

    while (part.bytes < text->bytes && !is_end(text->data[part.bytes])) {
        part.bytes++;
    }
    text->data += part.bytes;
    text->bytes -= part.bytes;
    return part;
}

static bool is_semicolon(char c)
{
    return c == ';';
}

static bool is_quote(char c)
{
    return c == '"';
}

static bool is_word_end(char c)
{
    return cpti_is_blank_of_file(c) || c == '(';
}

/* Printable text of 1 to @bytes_max bytes; UTF-8 is not looked into. */
static bool copy(struct cpt_bytes text, char *to, size_t bytes_max)
{
    if (text.bytes == 0 || text.bytes > bytes_max) {
        return false;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f) {
            return false;
        }
    }
    memcpy(to, text.data, text.bytes);
    to[text.bytes] = '\0';
    return true;
}

/* A name of a header, as RFC 9110 has them. */
bool cpti_is_header_name(struct cpt_bytes text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < text.bytes; i++) {
        const char c = text.data[i];

        if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
            (c == '\0' || strchr(others, c) == NULL)) {
            return false;
        }
    }
    return text.bytes > 0;
}

/* --- Numbers, without the locale of the program --- */

/* The number that @text begins with; @text goes behind it. */
static bool take_number(struct cpt_bytes *text, double *number)
{
    double scale = 1;
    unsigned digits = 0;
    bool has_point = false;

    *number = 0;
    for (; text->bytes > 0; text->data++, text->bytes--) {
        const char c = text->data[0];

        if (c == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (c < '0' || c > '9') {
            break;
        }
        if (++digits > DIGITS_MAX) {
            return false;
        }
        *number = *number * 10 + (c - '0');
        scale *= has_point ? 10 : 1;
    }
    *number /= scale;
    return digits > 0;
}

static bool read_probability(struct cpt_bytes text, double *probability)
{
    return take_number(&text, probability) && text.bytes == 0 && *probability <= 1;
}

bool cpti_every_read(struct cpt_bytes text, uint32_t *every)
{
    double number = 0;

    if (!take_number(&text, &number) || text.bytes != 0 || number > EVERY_MAX ||
        number != (double)(uint32_t)number) {
        return false;
    }
    *every = (uint32_t)number;
    return true;
}

/* "5/s", "30/min" */
static bool read_rate(struct cpt_bytes text, double *rate)
{
    if (!take_number(&text, rate) || *rate <= 0) {
        return false;
    }
    if (cpti_text_is(text, "/min")) {
        *rate /= 60;
        return true;
    }
    return cpti_text_is(text, "/s");
}

/* "50ms" */
static bool read_duration(struct cpt_bytes text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    double number = 0;

    if (!take_number(&text, &number)) {
        return false;
    }
    text = trim(text);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (cpti_text_is(text, units[i].unit) && number * units[i].ns < 9e18) {
            *ns = (uint64_t)(number * units[i].ns);
            return true;
        }
    }
    return false;
}

/* "> 50ms" */
static bool read_more_than(struct cpt_bytes text, uint64_t *ns)
{
    if (text.bytes == 0 || text.data[0] != '>') {
        return false;
    }
    return read_duration(trim((struct cpt_bytes){text.data + 1, text.bytes - 1}), ns);
}

/* Two digits, or four. */
static bool read_digits(const char *text, size_t count, unsigned *number)
{
    *number = 0;
    for (size_t i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        *number = *number * 10 + (unsigned)(text[i] - '0');
    }
    return true;
}

/* The end of day "2026-12-31" in UTC, by the civil calendar. */
static bool read_until(struct cpt_bytes text, uint64_t *end_ns)
{
    static const unsigned char days[] = {31, 29, 31, 30, 31, 30,
                                         31, 31, 30, 31, 30, 31};
    unsigned year = 0;
    unsigned month = 0;
    unsigned day = 0;
    uint64_t past = 0;

    if (text.bytes != 10 || text.data[4] != '-' || text.data[7] != '-' ||
        !read_digits(text.data, 4, &year) || !read_digits(text.data + 5, 2, &month) ||
        !read_digits(text.data + 8, 2, &day) || year < YEAR_FIRST || year > YEAR_LAST ||
        month < 1 || month > 12 || day < 1 || day > days[month - 1]) {
        return false;
    }
    for (unsigned i = 1970; i < year; i++) {
        past += i % 4 == 0 && (i % 100 != 0 || i % 400 == 0) ? 366 : 365;
    }
    for (unsigned i = 1; i < month; i++) {
        const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

        past += i == 2 && !is_leap ? 28 : days[i - 1];
    }
    *end_ns = (past + day) * NS_PER_DAY; /* the next midnight */
    return true;
}

/* --- Clauses --- */

/* ("B: B2") > 50ms */
static bool read_path(struct cpt_bytes text, struct cpti_policy_rule *rule)
{
    struct cpt_bytes name;

    if (text.bytes < 2 || text.data[0] != '(' || text.data[1] != '"') {
        return false;
    }
    text.data += 2;
    text.bytes -= 2;
    name = take(&text, is_quote);
    if (text.bytes < 2 || text.data[1] != ')' ||
        !copy(name, rule->frame, CPTI_RULE_TEXT_BYTES)) {
        return false;
    }
    return read_more_than(trim((struct cpt_bytes){text.data + 2, text.bytes - 2}),
                          &rule->path_ns);
}

/* KEY VALUE */
static bool read_pair(struct cpt_bytes text, char key[CPTI_RULE_NAME_BYTES + 1],
                      char value[CPTI_RULE_TEXT_BYTES + 1])
{
    const struct cpt_bytes first = take(&text, cpti_is_blank_of_file);

    return copy(first, key, CPTI_RULE_NAME_BYTES) &&
           copy(trim(text), value, CPTI_RULE_TEXT_BYTES);
}

/* What a clause says; its bit, or 0: there is no such @word, or -1: it is malformed. */
static int read_clause(struct cpt_bytes word, struct cpt_bytes text,
                       struct cpti_policy_rule *rule)
{
    bool is_good = false;
    int bit = 0;

    if (cpti_text_is(word, "owner")) {
        bit = SAW_OWNER;
        is_good = copy(text, rule->owner, CPTI_RULE_NAME_BYTES);
    } else if (cpti_text_is(word, "until")) {
        bit = SAW_UNTIL;
        is_good = read_until(text, &rule->end_ns) &&
                  copy(text, rule->until, sizeof rule->until - 1);
    } else if (cpti_text_is(word, "method")) {
        bit = SAW_METHOD;
        is_good = copy(text, rule->method, CPTI_RULE_TEXT_BYTES);
    } else if (cpti_text_is(word, "tenant")) {
        bit = SAW_TENANT;
        is_good = copy(text, rule->tenant, CPTI_RULE_TEXT_BYTES);
    } else if (cpti_text_is(word, "probability")) {
        bit = SAW_PROBABILITY;
        is_good = read_probability(text, &rule->probability);
    } else if (cpti_text_is(word, "rate")) {
        bit = SAW_RATE;
        is_good = read_rate(text, &rule->rate);
    } else if (cpti_text_is(word, "consistent")) {
        bit = SAW_CONSISTENT;
        is_good = text.bytes == 0;
    } else if (cpti_text_is(word, "failed")) {
        bit = SAW_FAILED;
        is_good = text.bytes == 0;
    } else if (cpti_text_is(word, "latency")) {
        bit = SAW_LATENCY;
        is_good = read_more_than(text, &rule->latency_ns);
    } else if (cpti_text_is(word, "path")) {
        bit = SAW_PATH;
        is_good = read_path(text, rule);
    } else if (cpti_text_is(word, "attribute")) {
        bit = SAW_ATTRIBUTE;
        is_good = read_pair(text, rule->key, rule->value);
    } else if (cpti_text_is(word, "header")) {
        bit = SAW_HEADER;
        is_good = read_pair(text, rule->header, rule->header_value) &&
                  cpti_is_header_name(cpt_bytes_of(rule->header));
    } else if (cpti_text_is(word, "query")) {
        bit = SAW_QUERY;
        is_good = read_pair(text, rule->parameter, rule->parameter_value);
    } else if (cpti_text_is(word, "graph")) {
        bit = SAW_GRAPH;
        is_good = cpti_every_read(text, &rule->graph_every);
    } else if (cpti_text_is(word, "drag")) {
        bit = SAW_DRAG;
        is_good = read_probability(text, &rule->drag_share);
    }
    return bit == 0 || is_good ? bit : -1;
}

/* Whether the clauses make a rule; else why not. */
static const char *judge(unsigned saw, struct cpti_policy_rule *rule)
{
    rule->wants_failed = (saw & SAW_FAILED) != 0;
    rule->has_latency = (saw & SAW_LATENCY) != 0;
    rule->has_path = (saw & SAW_PATH) != 0;
    rule->is_consistent = (saw & SAW_CONSISTENT) != 0;
    rule->has_probability = (saw & SAW_PROBABILITY) != 0;
    rule->has_graph = (saw & SAW_GRAPH) != 0;
    rule->has_drag = (saw & SAW_DRAG) != 0;
    rule->is_keep = (saw & (SAW_FAILED | SAW_LATENCY | SAW_PATH | SAW_ATTRIBUTE)) != 0;
    if ((saw & SAW_OWNER) == 0) {
        return "it has no owner";
    }
    if ((saw & SAW_UNTIL) == 0) {
        return "it has no end: until 2026-12-31";
    }
    if (rule->is_keep && (saw & (SAW_RATE | SAW_CONSISTENT)) != 0) {
        return "a rule with a condition on the end of a request has neither a rate nor "
               "'consistent'";
    }
    if (rule->is_keep && (saw & (SAW_GRAPH | SAW_DRAG)) != 0) {
        return "a rule with a condition on the end of a request has neither 'graph' "
               "nor "
               "'drag', which are decided at its begin";
    }
    if (!rule->is_keep && ((saw & SAW_PROBABILITY) != 0) == ((saw & SAW_RATE) != 0)) {
        return "it needs a probability, a rate, or a condition on the end of a request";
    }
    if (rule->is_keep && !rule->has_probability) {
        rule->probability = 1;
    }
    return NULL;
}

static int shown(struct cpt_bytes text)
{
    return (int)(text.bytes < 60 ? text.bytes : 60);
}

static cpt_status read_clauses(struct cpti_policy_rule *rule, struct cpt_bytes text,
                               struct cpt_error *error)
{
    unsigned saw = 0;
    const char *reason = NULL;

    while (text.bytes > 0) {
        struct cpt_bytes clause = take(&text, is_semicolon);
        struct cpt_bytes word;
        int bit = 0;

        text.data += text.bytes > 0;
        text.bytes -= text.bytes > 0;
        clause = trim(clause);
        if (clause.bytes == 0) {
            continue;
        }
        word = take(&clause, is_word_end);
        bit = read_clause(word, trim(clause), rule);
        if (bit <= 0) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 bit == 0 ? "rule '%s': there is no clause '%.*s'"
                                          : "rule '%s': what '%.*s' says is malformed",
                                 rule->name, shown(word), word.data);
        }
        if ((saw & (unsigned)bit) != 0) {
            return cpt_error_set(error, CPT_INVALID, 0, "rule '%s': '%.*s' twice",
                                 rule->name, shown(word), word.data);
        }
        saw |= (unsigned)bit;
    }
    reason = judge(saw, rule);
    return reason == NULL ? CPT_OK
                          : cpt_error_set(error, CPT_INVALID, 0, "rule '%s': %s",
                                          rule->name, reason);
}

cpt_status cpti_rule_read(struct cpti_policy_rules *rules, struct cpt_bytes name,
                          struct cpt_bytes text, struct cpt_error *error)
{
    struct cpti_policy_rule *rule = NULL;
    cpt_status status = CPT_OK;

    if (rules->count == CPTI_RULES_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0, "more than %d rules", CPTI_RULES_MAX);
    }
    rule = &rules->items[rules->count];
    memset(rule, 0, sizeof *rule);
    if (!copy(name, rule->name, CPTI_RULE_NAME_BYTES)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "a rule needs a name of at most %d bytes",
                             CPTI_RULE_NAME_BYTES);
    }
    for (size_t i = 0; i < rules->count; i++) {
        if (strcmp(rules->items[i].name, rule->name) == 0) {
            return cpt_error_set(error, CPT_INVALID, 0, "rule '%s' is there twice",
                                 rule->name);
        }
    }
    status = read_clauses(rule, text, error);
    if (status == CPT_OK) {
        rules->count++;
        rules->has_consistent |= rule->is_consistent;
    }
    return status;
}

/* --- What callees are asked for --- */

/* What is wrong with @text as "glance_bytes", NULL: nothing. */
static const char *read_glance_bytes(struct cpti_policy_rules *rules,
                                     struct cpt_bytes text)
{
    double number = 0;

    if (rules->glance_bytes != 0) {
        return "'glance_bytes' is there twice";
    }
    if (!take_number(&text, &number) || text.bytes != 0 ||
        number < CPTI_GLANCE_BYTES_MIN || number > CPT_METADATA_BYTES_CEILING) {
        return "'glance_bytes' is no number of bytes from 32 to 4096";
    }
    rules->glance_bytes = (uint32_t)number;
    return NULL;
}

static const char *read_whole_rate(struct cpti_policy_rules *rules,
                                   struct cpt_bytes text)
{
    if (rules->whole_rate != 0) {
        return "'whole_rate' is there twice";
    }
    return read_rate(text, &rules->whole_rate) ? NULL
                                               : "'whole_rate' is no rate such as 10/s";
}

static const char *read_whole_time(struct cpti_policy_rules *rules,
                                   struct cpt_bytes text)
{
    if (rules->whole_ns != 0) {
        return "'whole_time' is there twice";
    }
    return read_duration(text, &rules->whole_ns) && rules->whole_ns != 0
               ? NULL
               : "'whole_time' is no time such as 60s";
}

bool cpti_glance_read(struct cpti_policy_rules *rules, struct cpt_bytes key,
                      struct cpt_bytes text, cpt_status *status,
                      struct cpt_error *error)
{
    const char *reason = NULL;

    if (cpti_text_is(key, "glance_bytes")) {
        reason = read_glance_bytes(rules, text);
    } else if (cpti_text_is(key, "whole_rate")) {
        reason = read_whole_rate(rules, text);
    } else if (cpti_text_is(key, "whole_time")) {
        reason = read_whole_time(rules, text);
    } else {
        return false;
    }
    *status = CPT_OK;
    if (reason != NULL) {
        *status = cpt_error_set(error, CPT_INVALID, 0, "%s", reason);
    }
    return true;
}

/* --- For other settings that are made of clauses --- */

bool cpti_clause_take(struct cpt_bytes *text, struct cpt_bytes *word,
                      struct cpt_bytes *said)
{
    while (text->bytes > 0) {
        struct cpt_bytes clause = take(text, is_semicolon);

        text->data += text->bytes > 0;
        text->bytes -= text->bytes > 0;
        clause = trim(clause);
        if (clause.bytes == 0) {
            continue;
        }
        *word = take(&clause, cpti_is_blank_of_file);
        *said = trim(clause);
        return true;
    }
    return false;
}

bool cpti_clause_text(struct cpt_bytes text, char *to, size_t bytes_max)
{
    return copy(trim(text), to, bytes_max);
}

bool cpti_clause_probability(struct cpt_bytes text, double *probability)
{
    return read_probability(text, probability);
}

bool cpti_clause_rate(struct cpt_bytes text, double *per_second)
{
    return read_rate(text, per_second);
}

bool cpti_clause_duration(struct cpt_bytes text, uint64_t *ns)
{
    return read_duration(text, ns);
}
