/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* diff_condition.c - conditions on a change, for --fail-if; see diff_condition.h */
#include "tool/print/diff_condition.h"

#include "tool/folds/mix.h"
#include "tool/print/by_print.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "aggregate/cpt_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define Q_DEFAULT 0.01

/* --- Reading --- */

/* A text and the position in it; from the first mistake on, `wanted` names what was
 * expected there. */
struct reader {
    const char *text;
    const char *at;
    const char *wanted;
};

static void skip_space(struct reader *reader)
{
    reader->at += strspn(reader->at, " \t");
}

static void expect(struct reader *reader, const char *wanted)
{
    if (reader->wanted == NULL) {
        reader->wanted = wanted;
    }
}

/* Skips @word if it comes next, and is not the beginning of a longer word. */
static bool take_word(struct reader *reader, const char *word)
{
    const size_t bytes = strlen(word);
    const bool is_letter = word[0] >= 'a' && word[0] <= 'z';

    skip_space(reader);
    if (reader->wanted != NULL || strncmp(reader->at, word, bytes) != 0 ||
        (is_letter && reader->at[bytes] >= 'a' && reader->at[bytes] <= 'z')) {
        return false;
    }
    reader->at += bytes;
    return true;
}

static void must_take(struct reader *reader, const char *word, const char *wanted)
{
    if (!take_word(reader, word)) {
        expect(reader, wanted);
    }
}

static void read_quoted(struct reader *reader, char text[CPTI_CONDITION_TEXT_BYTES])
{
    char quote;
    size_t bytes = 0;

    skip_space(reader);
    quote = *reader->at;
    if (reader->wanted != NULL || (quote != '"' && quote != '\'')) {
        expect(reader, "a text in quotes");
        return;
    }
    for (reader->at++; *reader->at != quote; reader->at++) {
        if (*reader->at == '\\' && (reader->at[1] == quote || reader->at[1] == '\\')) {
            reader->at++;
        }
        if (*reader->at == '\0' || bytes + 1 >= CPTI_CONDITION_TEXT_BYTES) {
            expect(reader, "the other quote");
            return;
        }
        text[bytes++] = *reader->at;
    }
    text[bytes] = '\0';
    reader->at++;
}

/* Digits with at most one dot: no hexadecimal, no infinity. */
static double read_number(struct reader *reader)
{
    const size_t bytes = strspn(reader->at, "0123456789.");
    char *end = NULL;
    double number = 0;

    if (reader->wanted == NULL && bytes != 0) {
        number = strtod(reader->at, &end);
    }
    if (end == NULL || end == reader->at || !isfinite(number)) {
        expect(reader, "a number");
        return 0;
    }
    reader->at = end;
    return number;
}

/* ‹timeout› for <timeout>. */
static void take_typed(struct cpti_condition *condition)
{
    char text[CPTI_CONDITION_TEXT_BYTES];
    const size_t bytes =
        cpti_name_typed(cpt_bytes_of(condition->subject), text, sizeof text);

    if (bytes < sizeof text) { /* a longer text is no name */
        memcpy(condition->subject, text, bytes);
        condition->subject[bytes] = '\0';
    }
}

static void read_subject(struct reader *reader, struct cpti_condition *condition)
{
    if (take_word(reader, "total")) {
        condition->is_total = true;
        return;
    }
    if (take_word(reader, "quantile")) {
        condition->is_quantile = true;
        return;
    }
    for (int by = 0; by < CPTI_BY_COUNT; by++) {
        if (take_word(reader, cpti_by_words[by])) {
            condition->by = (enum cpti_by)by;
            must_take(reader, "(", "'('");
            read_quoted(reader, condition->subject);
            take_typed(condition);
            must_take(reader, ")", "')'");
            return;
        }
    }
    expect(reader, "one of: total quantile stack service name edge");
}

static void read_amount(struct reader *reader, struct cpti_condition *condition)
{
    static const struct {
        const char *word;
        double factor;
    } units[] = {{"%", 0.01}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    double sign = 1;

    skip_space(reader);
    if (reader->wanted == NULL && (*reader->at == '+' || *reader->at == '-')) {
        sign = *reader->at == '-' ? -1 : 1;
        reader->at++;
    }
    condition->amount = sign * read_number(reader);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (take_word(reader, units[i].word)) {
            condition->amount *= units[i].factor;
            condition->is_relative = i == 0;
            return;
        }
    }
    expect(reader, "one of: % ns us ms s");
}

static void read_q(struct reader *reader, struct cpti_condition *condition)
{
    condition->q = Q_DEFAULT;
    skip_space(reader);
    if (reader->wanted != NULL || *reader->at == '\0') {
        return;
    }
    must_take(reader, "at", "'at q<…', or the end");
    must_take(reader, "q", "'q'");
    must_take(reader, "<", "'<'");
    skip_space(reader);
    condition->q = read_number(reader);
    if (reader->wanted == NULL && !(condition->q > 0 && condition->q <= 1)) {
        expect(reader, "a number above 0 and up to 1");
    }
    skip_space(reader);
    if (reader->wanted == NULL && *reader->at != '\0') {
        expect(reader, "the end");
    }
}

static int read_condition(struct cpti_condition *condition, const char *text)
{
    struct reader reader = {text, text, NULL};

    condition->text = text;
    read_subject(&reader, condition);
    skip_space(&reader);
    condition->is_less = reader.wanted == NULL && *reader.at == '<';
    if (!take_word(&reader, ">") && !take_word(&reader, "<")) {
        expect(&reader, "'>' or '<'");
    }
    read_amount(&reader, condition);
    read_q(&reader, condition);
    if (reader.wanted != NULL) {
        return cpti_usage("option '--fail-if': at column %zu of '%s': wanted %s",
                          (size_t)(reader.at - text) + 1, cpti_quoted(text),
                          reader.wanted);
    }
    return CPTI_EXIT_DONE;
}

int cpti_conditions_init(struct cpti_conditions *conditions,
                         const struct cpti_arguments *arguments)
{
    int status = CPTI_EXIT_DONE;

    *conditions = (struct cpti_conditions){NULL, 0};
    while (cpti_value_at(arguments, "fail-if", conditions->count) != NULL) {
        conditions->count++;
    }
    if (conditions->count == 0) {
        return CPTI_EXIT_DONE;
    }
    if (conditions->count > CPTI_CONDITIONS_MAX) {
        conditions->count = 0;
        return cpti_usage("option '--fail-if' may be given %d times",
                          CPTI_CONDITIONS_MAX);
    }
    conditions->conditions = calloc(conditions->count, sizeof *conditions->conditions);
    if (conditions->conditions == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < conditions->count && status == CPTI_EXIT_DONE; i++) {
        const char *text = cpti_value_at(arguments, "fail-if", i);

        status = read_condition(&conditions->conditions[i], text);
        if (status == CPTI_EXIT_DONE &&
            conditions->conditions[i].is_quantile != cpti_has(arguments, "quantile")) {
            status = cpti_usage("option '--fail-if': '%s': %s", cpti_quoted(text),
                                cpti_has(arguments, "quantile")
                                    ? "beside '--quantile' the subject is 'quantile'"
                                    : "the subject 'quantile' needs '--quantile'");
        }
    }
    return status;
}

void cpti_conditions_deinit(struct cpti_conditions *conditions)
{
    for (size_t i = 0; i < conditions->count; i++) {
        free(conditions->conditions[i].nearest);
    }
    free(conditions->conditions);
    *conditions = (struct cpti_conditions){NULL, 0};
}

unsigned cpti_conditions_wanted(const struct cpti_conditions *conditions)
{
    unsigned wanted = 0;

    for (size_t i = 0; i < conditions->count; i++) {
        wanted |= 1U << conditions->conditions[i].by;
    }
    return wanted;
}

/* --- Testing --- */

/* Tests @change. One that cannot be trusted makes no condition hold. */
static void test_change(struct cpti_condition *condition,
                        const struct cpt_change *change, double q_value,
                        enum cpt_diff_doubt doubt)
{
    const double limit = condition->is_relative ? condition->amount * change->base_ns
                                                : condition->amount;

    condition->is_found = true;
    condition->change = *change;
    condition->q_value = q_value;
    condition->doubt = doubt;
    condition->is_beyond =
        condition->is_less ? change->delta_ns < limit : change->delta_ns > limit;
    condition->holds =
        condition->is_beyond && q_value < condition->q && doubt == CPT_DIFF_TRUSTED;
}

/* Finds the row that is meant, perhaps. */
static void find_nearest(struct cpti_condition *condition, const struct cpt_diff *diff)
{
    char text[CPTI_CONDITION_TEXT_BYTES];
    struct cpti_names names = {0};
    const char *nearest;

    for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
        cpti_by_text(cpt_diff_tree(diff), cpt_diff_row_at(diff, i)->node, condition->by,
                     text, sizeof text);
        cpti_names_add(&names, text);
    }
    nearest = cpti_nearest_name(condition->subject, &names);
    condition->nearest = nearest != NULL ? strdup(nearest) : NULL;
    cpti_names_deinit(&names);
}

static void test_row(struct cpti_condition *condition, const struct cpt_diff *diff)
{
    char text[CPTI_CONDITION_TEXT_BYTES];

    if (condition->is_total) {
        const struct cpt_diff_row *total = cpt_diff_total(diff);

        test_change(condition, &total->inclusive, total->q_value, total->doubt);
        return;
    }
    for (uint32_t i = 0; i < cpt_diff_row_count(diff) && !condition->is_found; i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        cpti_by_text(cpt_diff_tree(diff), row->node, condition->by, text, sizeof text);
        if (strcmp(text, condition->subject) == 0) {
            test_change(condition, &row->self, row->q_value, row->doubt);
        }
    }
    if (!condition->is_found) {
        find_nearest(condition, diff);
    }
}

int cpti_conditions_test(struct cpti_conditions *conditions,
                         const struct cpti_gather *gathers,
                         const struct cpti_views *views, const struct cpti_mix *mix)
{
    for (int by = 0; by < CPTI_BY_COUNT; by++) {
        struct cpt_diff *diff = NULL;

        if ((cpti_conditions_wanted(conditions) >> by & 1U) == 0) {
            continue;
        }
        diff = mix != NULL ? cpti_mix_diff(mix, (enum cpti_by)by)
                           : cpti_views_diff(gathers, views, (enum cpti_by)by);
        if (diff == NULL) {
            return CPTI_EXIT_FAILED;
        }
        for (size_t i = 0; i < conditions->count; i++) {
            if (conditions->conditions[i].by == (enum cpti_by)by) {
                test_row(&conditions->conditions[i], diff);
            }
        }
        cpt_diff_free(diff);
    }
    return CPTI_EXIT_DONE;
}

void cpti_conditions_test_quantile(struct cpti_conditions *conditions,
                                   const struct cpt_quantile_change *change,
                                   enum cpt_diff_doubt doubt)
{
    const struct cpt_change latency = {.base_ns = change->base.ns,
                                       .new_ns = change->other.ns,
                                       .delta_ns = change->delta_ns};

    for (size_t i = 0; i < conditions->count; i++) {
        test_change(&conditions->conditions[i], &latency, change->p_value, doubt);
    }
}

/* --- Reporting --- */

/* A condition as it was given, safe to print on a terminal. */
static const char *shown(const char *text, char buffer[CPTI_TEXT_BYTES])
{
    const char *from = cpti_quoted(text);
    size_t bytes = 0;

    /* a condition may name stacks, whose ';' must stay */
    for (; *from != '\0' && bytes + 1 < CPTI_TEXT_BYTES; bytes++) {
        const bool is_semicolon = strncmp(from, "\\x3b", 4) == 0;

        buffer[bytes] = is_semicolon ? ';' : *from;
        from += is_semicolon ? 4 : 1;
    }
    buffer[bytes] = '\0';
    return buffer;
}

static const char *q_text(double q_value, char text[32])
{
    (void)snprintf(text, 32, q_value < 0.001 ? "< 0.001" : "= %.3f", q_value);
    return text;
}

int cpti_conditions_say(const struct cpti_conditions *conditions)
{
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < conditions->count; i++) {
        const struct cpti_condition *condition = &conditions->conditions[i];
        char text[CPTI_TEXT_BYTES];
        char base[32];
        char other[32];
        char q[32];

        if (!condition->is_found) {
            cpti_warn("%s: no request of either set has it on its path, so it cannot "
                      "be tested; %s%s%s",
                      shown(condition->text, text),
                      condition->nearest != NULL ? "did you mean \"" : "is it misspelt",
                      condition->nearest != NULL ? condition->nearest : "",
                      condition->nearest != NULL ? "\"?" : "?");
            status = status == CPTI_EXIT_DONE ? CPTI_EXIT_FAILED : status;
        } else if (condition->holds) {
            cpti_warn(
                "%s: the condition holds: %s ms became %s ms, %s %s",
                shown(condition->text, text), cpti_ms(condition->change.base_ns, base),
                cpti_ms(condition->change.new_ns, other),
                condition->is_quantile ? "p" : "q", q_text(condition->q_value, q));
            status = CPTI_EXIT_CONDITION;
        } else if (condition->is_beyond && condition->doubt != CPT_DIFF_TRUSTED) {
            cpti_warn("%s: not counted: %s ms became %s ms, but %s",
                      shown(condition->text, text),
                      cpti_ms(condition->change.base_ns, base),
                      cpti_ms(condition->change.new_ns, other),
                      cpt_diff_doubt_text(condition->doubt));
        }
    }
    return status;
}

void cpti_conditions_json(const struct cpti_conditions *conditions,
                          struct cpti_json *json)
{
    if (conditions->count == 0) {
        return;
    }
    cpti_json_open(json, "conditions", '[');
    for (size_t i = 0; i < conditions->count; i++) {
        const struct cpti_condition *condition = &conditions->conditions[i];

        cpti_json_open(json, NULL, '{');
        cpti_json_text(json, "condition", condition->text);
        cpti_json_bool(json, "found", condition->is_found);
        cpti_json_bool(json, "holds", condition->holds);
        if (condition->is_found) {
            cpti_json_ns(json, "delta_ns", condition->change.delta_ns);
            cpti_json_rough(json, "q", condition->q_value);
            cpti_json_bool(json, "trusted", condition->doubt == CPT_DIFF_TRUSTED);
        }
        cpti_json_close(json);
    }
    cpti_json_close(json);
}
