/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_run.c - whether a record is selected; see expression.h
 *
 * Two values that cannot be compared, such as a text and a number, are neither less,
 * equal nor greater: only != holds. A missing attribute is not compared: no comparison
 * holds.
 */
#include "tool/select/expression.h"

#include "tool/base/names.h"
#include "tool/select/expression_lex.h"
#include "tool/select/expression_path.h"
#include "wire/cpt_log.h"

#include <string.h>

/* Beside -1, 0 and 1. */
enum { NOT_COMPARABLE = 2 };

/* --- Comparing two things: -1, 0, 1 or NOT_COMPARABLE --- */

static int compare_ns(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

static int compare_integers(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

static int compare_reals(double left, double right)
{
    if (left != left || right != right) {
        return NOT_COMPARABLE;
    }
    return (left > right) - (left < right);
}

/* Exact, also if a double cannot represent the integer. */
static int compare_integer_real(int64_t left, double right)
{
    const double limit = 9223372036854775808.0; /* 2^63 */
    int order;

    if (right != right) {
        return NOT_COMPARABLE;
    }
    if (right >= limit) {
        return -1;
    }
    if (right < -limit) {
        return 1;
    }
    order = compare_integers(left, (int64_t)right);
    return order != 0 ? order : compare_reals((double)(int64_t)right, right);
}

static int compare_integer(int64_t integer, const struct cpti_value *value)
{
    if (value->number == CPTI_NUMBER_INTEGER) {
        return compare_integers(integer, value->integer);
    }
    if (value->number == CPTI_NUMBER_REAL) {
        return value->is_simple ? compare_reals((double)integer, value->real)
                                : compare_integer_real(integer, value->real);
    }
    return NOT_COMPARABLE;
}

static int compare_real(double real, const struct cpti_value *value)
{
    if (value->number == CPTI_NUMBER_NONE) {
        return NOT_COMPARABLE;
    }
    if (value->number == CPTI_NUMBER_INTEGER && !value->is_simple) {
        const int order = compare_integer_real(value->integer, real);

        return order == NOT_COMPARABLE ? order : -order;
    }
    return compare_reals(real, value->real);
}

static int compare_text(struct cpt_bytes text, struct cpt_bytes with,
                        const struct cpti_value *value)
{
    struct cpti_value number = {0};

    if (!value->is_number) {
        return cpti_compare_bytes(text, with);
    }
    if (cpt_bytes_equal(text, with)) {
        return 0;
    }
    if (!cpti_lex_number(text, &number)) {
        return NOT_COMPARABLE;
    }
    return number.number == CPTI_NUMBER_INTEGER ? compare_integer(number.integer, value)
                                                : compare_real(number.real, value);
}

static int compare_truth(int is_true, const struct cpti_value *value)
{
    return value->truth >= 0 && (is_true != 0) == value->truth ? 0 : NOT_COMPARABLE;
}

static int compare_attribute(const struct cpt_attribute *attribute,
                             struct cpt_bytes with, const struct cpti_value *value)
{
    switch (attribute->type) {
    case CPT_ATTRIBUTE_TEXT:
        return compare_text(attribute->value.text, with, value);
    case CPT_ATTRIBUTE_INTEGER:
        return compare_integer(attribute->value.integer, value);
    case CPT_ATTRIBUTE_FLOAT:
        return compare_real(attribute->value.real, value);
    default:
        return compare_truth(attribute->value.is_true, value);
    }
}

/* --- Tests --- */

static bool holds(unsigned relation, int order)
{
    switch (relation) {
    case CPTI_RELATION_EQUAL:
        return order == 0;
    case CPTI_RELATION_NOT_EQUAL:
        return order != 0;
    case CPTI_RELATION_LESS:
        return order == -1;
    case CPTI_RELATION_AT_MOST:
        return order == -1 || order == 0;
    case CPTI_RELATION_GREATER:
        return order == 1;
    default:
        return order == 1 || order == 0;
    }
}

static struct cpt_bytes record_text(const struct cpt_record *record, unsigned subject)
{
    switch (subject) {
    case CPTI_SUBJECT_SERVICE:
        return record->service;
    case CPTI_SUBJECT_METHOD:
        return record->method;
    case CPTI_SUBJECT_ENTRY:
        return record->entry;
    default:
        return record->status;
    }
}

static int record_truth(const struct cpt_record *record, unsigned subject)
{
    switch (subject) {
    case CPTI_SUBJECT_FORCED:
        return record->is_forced;
    case CPTI_SUBJECT_RANDOM:
        return record->is_random;
    case CPTI_SUBJECT_FAILED:
        return record->is_failed;
    default:
        return record->is_local_root;
    }
}

/* The id of the trace with all its bytes, or with the last 8. */
static int compare_trace(const struct cpt_record *record, struct cpt_bytes with)
{
    enum { END_BYTES = 8 };
    const char *id = (const char *)record->trace_id;
    const size_t bytes = with.bytes == END_BYTES ? END_BYTES : sizeof record->trace_id;

    return cpti_compare_bytes(
        (struct cpt_bytes){id + sizeof record->trace_id - bytes, bytes}, with);
}

/* Compares the subject of @test with @value. @attribute is the subject if it is one. */
static int compare(const struct cpti_expression *expression,
                   const struct cpti_test *test, const struct cpti_value *value,
                   const struct cpt_record *record,
                   const struct cpt_attribute *attribute)
{
    const struct cpt_bytes with = cpti_expression_text(expression, value);

    switch (test->subject) {
    case CPTI_SUBJECT_ATTRIBUTE:
        return attribute == NULL ? NOT_COMPARABLE
                                 : compare_attribute(attribute, with, value);
    case CPTI_SUBJECT_TRACE_ID:
        return compare_trace(record, with);
    case CPTI_SUBJECT_LATENCY:
        return compare_ns(record->latency_ns,
                          value->percentile < 0
                              ? value->ns
                              : expression->percentiles[value->percentile].latency_ns);
    case CPTI_SUBJECT_START:
        return compare_ns(record->start_unix_ns, value->ns);
    case CPTI_SUBJECT_FORCED:
    case CPTI_SUBJECT_RANDOM:
    case CPTI_SUBJECT_FAILED:
    case CPTI_SUBJECT_LOCAL_ROOT:
        return compare_truth(record_truth(record, test->subject), value);
    default:
        return compare_text(record_text(record, test->subject), with, value);
    }
}

static bool has(const struct cpti_test *test, const struct cpt_record *record)
{
    return test->subject == CPTI_SUBJECT_TRACE_ID
               ? record->has_trace_id != 0
               : record_text(record, test->subject).bytes != 0;
}

int cpti_expression_test(const struct cpti_expression *expression, size_t index,
                         const struct cpt_record *record, struct cpti_scratch *scratch)
{
    const struct cpti_test *test = &expression->tests[index];
    const struct cpti_value *values = &expression->values[test->value];
    const struct cpt_attribute *attribute = NULL;
    bool is_in = false;

    if (test->subject == CPTI_SUBJECT_PATH) {
        uint64_t ns = 0;

        return cpti_expression_path_ns(expression, index, record, scratch, &ns)
                   ? holds(test->relation, compare_ns(ns, values[test->frame_count].ns))
                   : -1;
    }
    if (test->subject == CPTI_SUBJECT_ATTRIBUTE) {
        attribute =
            cpt_record_attribute(record, cpti_expression_key(expression, index));
        if (attribute == NULL || test->relation == CPTI_RELATION_HAS) {
            return attribute != NULL;
        }
    } else if (test->relation == CPTI_RELATION_HAS) {
        return has(test, record);
    } else if (test->subject == CPTI_SUBJECT_TRACE_ID && !record->has_trace_id) {
        return 0;
    }
    if (test->relation < CPTI_RELATION_IN) {
        return holds(test->relation,
                     compare(expression, test, values, record, attribute));
    }
    for (size_t i = 0; i < test->value_count && !is_in; i++) {
        is_in = compare(expression, test, &values[i], record, attribute) == 0;
    }
    return is_in == (test->relation == CPTI_RELATION_IN);
}

int cpti_expression_holds(const struct cpti_expression *expression,
                          const struct cpt_record *record, struct cpti_scratch *scratch)
{
    uint16_t at =
        expression->test_count == 0 ? CPTI_EXPRESSION_ACCEPT : expression->start;

    cpti_scratch_begin(scratch);
    while (at < CPTI_EXPRESSION_REJECT) {
        const int is_true = cpti_expression_test(expression, at, record, scratch);

        if (is_true < 0) {
            return -1;
        }
        at = is_true ? expression->tests[at].on_true : expression->tests[at].on_false;
    }
    return at == CPTI_EXPRESSION_ACCEPT;
}
