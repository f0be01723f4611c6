/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sql.c - a selection as SQL; see sql.h
 *
 * The condition must hold for the records for which cpti_expression_holds() returns 1.
 * There a comparison has four outcomes: less, equal, greater, not comparable. Here each
 * of the first three is a condition of its own, for each type of an attribute:
 *
 *      items < 2.5        has(items) and (type is integer and value <= 2
 *                                         or type is real and value < 2.5
 *                                         or type is text, reads as an integer <= 2)
 *      items != 2.5       has(items) and not (… = …)
 *
 * Numbers of different types are compared exactly: the limit is replaced by the
 * neighbour that the column's type has on the right side of it. So the database
 * compares integers with integers and floats with floats.
 *
 * Of texts that are numbers, the database reads those of up to 18 digits without a
 * point. Its rounding of others is not defined, so such records are left undecided.
 */
#include "tool/store/sql.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cpti_sql_add(struct cpti_packed *sql, const char *format, ...)
{
    char text[512];
    va_list arguments;
    int bytes;

    va_start(arguments, format);
    bytes = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert(bytes >= 0 && (size_t)bytes < sizeof text);
    cpti_row_bytes(sql, text, (size_t)bytes);
}

const char *cpti_sql_text(struct cpti_packed *sql)
{
    cpti_row_u8(sql, 0);
    return sql->has_failed ? NULL : (const char *)sql->data;
}

static void add_hex(struct cpti_packed *sql, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    cpti_sql_add(sql, "unhex('");
    for (size_t i = 0; i < bytes; i++) {
        cpti_sql_add(sql, "%02X", at[i]);
    }
    cpti_sql_add(sql, "')");
}

void cpti_sql_hex(struct cpti_packed *sql, struct cpt_bytes text)
{
    add_hex(sql, text.data, text.bytes);
}

static void add_real(struct cpti_packed *sql, double real)
{
    unsigned char bytes[8];
    uint64_t bits;

    memcpy(&bits, &real, sizeof bits);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(bits >> 8 * i);
    }
    cpti_sql_add(sql, "reinterpretAsFloat64(");
    add_hex(sql, bytes, sizeof bytes);
    cpti_sql_add(sql, ")");
}

void cpti_sql_range(struct cpti_packed *sql, const struct cpti_store_question *question)
{
    cpti_sql_add(sql, "start_ns >= %" PRIu64, question->since_ns);
    if (question->until_ns != UINT64_MAX) {
        cpti_sql_add(sql, " AND start_ns < %" PRIu64, question->until_ns);
    }
    if (question->entry.data != NULL && question->shown.bytes == 0) {
        cpti_sql_add(sql, " AND service = ");
        cpti_sql_hex(sql, question->entry);
    } else if (question->entry.data != NULL) {
        cpti_sql_add(sql, " AND service IN (");
        cpti_sql_hex(sql, question->entry);
        cpti_sql_add(sql, ", ");
        cpti_sql_hex(sql, question->shown);
        cpti_sql_add(sql, ")");
    }
}

/* --- The left side of a term --- */

/* Adds the column of a field; of an attribute the column @type. */
static void add_column(struct cpti_packed *sql, const struct cpti_store_term *term,
                       const char *type)
{
    static const char *const columns[] = {
        [CPTI_SUBJECT_SERVICE] = "service",
        [CPTI_SUBJECT_METHOD] = "method",
        [CPTI_SUBJECT_ENTRY] = "entry",
        [CPTI_SUBJECT_STATUS] = "status",
        [CPTI_SUBJECT_FORCED] = "is_forced",
        [CPTI_SUBJECT_RANDOM] = "is_random",
        [CPTI_SUBJECT_FAILED] = "is_failed",
        [CPTI_SUBJECT_LOCAL_ROOT] = "is_local_root",
        [CPTI_SUBJECT_TRACE_ID] = "trace_id",
        [CPTI_SUBJECT_LATENCY] = "latency_ns",
        [CPTI_SUBJECT_START] = "start_ns",
        [CPTI_SUBJECT_PATH] = "",
    };

    if (term->subject != CPTI_SUBJECT_ATTRIBUTE) {
        cpti_sql_add(sql, "%s", columns[term->subject]);
        return;
    }
    /* indexOf() is repeated; ClickHouse computes equal expressions once */
    cpti_sql_add(sql, "attributes.%s[indexOf(attributes.key, ", type);
    cpti_sql_hex(sql, term->key);
    cpti_sql_add(sql, ")]");
}

/* Adds the time that a term compares; of stacks, their sum, by the table of marks. */
static void add_time(struct cpti_packed *sql,
                     const struct cpti_store_question *question,
                     const struct cpti_store_term *term)
{
    if (term->subject == CPTI_SUBJECT_PATH) {
        cpti_sql_add(sql,
                     "arraySum((cpt_i, cpt_x) -> if(cpt_i IN cpt_%zu, cpt_x, 0), "
                     "stacks.id, stacks.inclusive_ns)",
                     (size_t)(term - question->terms));
    } else {
        add_column(sql, term, ""); /* never of an attribute */
    }
}

/* --- Conditions: the column is less than, equal to, greater than a value --- */

enum order { LESS, EQUAL, GREATER };

static const char *const order_signs[] = {"<", "=", ">"};

static void add_never(struct cpti_packed *sql)
{
    cpti_sql_add(sql, "0");
}

/* Compares with an integer. As a literal, -9223372036854775808 would not be one. */
static void add_integer(struct cpti_packed *sql, const char *sign, int64_t integer)
{
    cpti_sql_add(sql, " %s toInt64('%" PRId64 "')", sign, integer);
}

/* Compares an integer with @real. If @real is whole and fits, it is an integer;
 * otherwise its floor is the last integer below it. */
static void order_integer_real(struct cpti_packed *sql, enum order order, double real,
                               void (*column)(struct cpti_packed *, const void *),
                               const void *context)
{
    const double limit = 9223372036854775808.0; /* 2^63 */
    const double whole = floor(real);

    if (real >= limit || real < -limit || real != real) {
        cpti_sql_add(sql, "%d",
                     (real >= limit && order == LESS) ||
                         (real < -limit && order == GREATER));
        return;
    }
    if (whole != real && order == EQUAL) {
        add_never(sql);
        return;
    }
    column(sql, context);
    add_integer(sql, whole != real && order == LESS ? "<=" : order_signs[order],
                (int64_t)whole);
}

static void order_integer(struct cpti_packed *sql, enum order order,
                          const struct cpti_store_value *value,
                          void (*column)(struct cpti_packed *, const void *),
                          const void *context)
{
    if (value->number == CPTI_NUMBER_INTEGER) {
        column(sql, context);
        add_integer(sql, order_signs[order], value->integer);
    } else if (value->number != CPTI_NUMBER_REAL) {
        add_never(sql);
    } else if (value->is_simple) {
        cpti_sql_add(sql, "toFloat64(");
        column(sql, context);
        cpti_sql_add(sql, ") %s ", order_signs[order]);
        add_real(sql, value->real);
    } else {
        order_integer_real(sql, order, value->real, column, context);
    }
}

/* Compares @real, the double nearest to @integer, with @integer. */
static int real_beside(double real, int64_t integer)
{
    if (real >= 9223372036854775808.0) {
        return 1;
    }
    return ((int64_t)real > integer) - ((int64_t)real < integer);
}

static void order_real(struct cpti_packed *sql, enum order order,
                       const struct cpti_store_value *value,
                       const struct cpti_store_term *term)
{
    const bool is_exact = value->number == CPTI_NUMBER_INTEGER && !value->is_simple;
    const double real = is_exact ? (double)value->integer : value->real;
    const int beside = is_exact ? real_beside(real, value->integer) : 0;
    const char *sign = order_signs[order];

    if (value->number == CPTI_NUMBER_NONE || (beside != 0 && order == EQUAL)) {
        add_never(sql);
        return;
    }
    if (beside < 0 && order == LESS) {
        sign = "<=";
    } else if (beside > 0 && order == GREATER) {
        sign = ">=";
    }
    add_column(sql, term, "real");
    cpti_sql_add(sql, " %s ", sign);
    add_real(sql, real);
}

/* Texts that are an integer of few digits, or any number. cpti_lex_number() takes the
 * same numbers, up to a length. */
#define PLAIN_INTEGER "^-?[0-9]{1,18}$"
#define ANY_NUMBER    "^-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?$"

static void add_matches(struct cpti_packed *sql, const struct cpti_store_term *term,
                        const char *pattern)
{
    cpti_sql_add(sql, "match(");
    add_column(sql, term, "text");
    cpti_sql_add(sql, ", '%s')", pattern);
}

static void add_text_integer(struct cpti_packed *sql, const void *term)
{
    cpti_sql_add(sql, "toInt64OrZero(");
    add_column(sql, term, "text");
    cpti_sql_add(sql, ")");
}

static void order_text(struct cpti_packed *sql, enum order order,
                       const struct cpti_store_value *value,
                       const struct cpti_store_term *term)
{
    if (!value->reads_texts || order == EQUAL) {
        add_column(sql, term, "text");
        cpti_sql_add(sql, " %s ", order_signs[order]);
        cpti_sql_hex(sql, value->text);
    }
    if (value->reads_texts) {
        cpti_sql_add(sql, order == EQUAL ? " OR (" : "(");
        add_matches(sql, term, PLAIN_INTEGER);
        cpti_sql_add(sql, " AND ");
        order_integer(sql, order, value, add_text_integer, term);
        cpti_sql_add(sql, ")");
    }
}

static void order_truth(struct cpti_packed *sql, enum order order,
                        const struct cpti_store_value *value,
                        const struct cpti_store_term *term)
{
    if (order != EQUAL || value->truth < 0) {
        add_never(sql); /* neither true nor false */
        return;
    }
    add_column(sql, term, "integer");
    cpti_sql_add(sql, " = %d", value->truth);
}

static void add_attribute_integer(struct cpti_packed *sql, const void *term)
{
    add_column(sql, term, "integer");
}

static void begin_type(struct cpti_packed *sql, int type,
                       const struct cpti_store_term *term)
{
    cpti_sql_add(sql, type == 0 ? "((" : ") OR (");
    add_column(sql, term, "type");
    cpti_sql_add(sql, " = %d AND (", type);
}

static void order_attribute(struct cpti_packed *sql, enum order order,
                            const struct cpti_store_value *value,
                            const struct cpti_store_term *term)
{
    begin_type(sql, 0, term);
    order_text(sql, order, value, term);
    cpti_sql_add(sql, ")");
    begin_type(sql, 1, term);
    order_integer(sql, order, value, add_attribute_integer, term);
    cpti_sql_add(sql, ")");
    begin_type(sql, 2, term);
    order_real(sql, order, value, term);
    cpti_sql_add(sql, ")");
    begin_type(sql, 3, term);
    order_truth(sql, order, value, term);
    cpti_sql_add(sql, ")))");
}

/* Whether the id of the trace is @value, or ends so: it has 16 bytes. */
static void order_trace(struct cpti_packed *sql, const struct cpti_store_value *value)
{
    cpti_sql_add(sql,
                 value->text.bytes == 8 ? "substring(trace_id, 9) = " : "trace_id = ");
    cpti_sql_hex(sql, value->text);
}

/* Adds the condition that the left side of @term is in @order to @value. */
static void add_order(struct cpti_packed *sql, enum order order,
                      const struct cpti_store_value *value,
                      const struct cpti_store_question *question,
                      const struct cpti_store_term *term)
{
    cpti_sql_add(sql, "(");
    switch (term->subject) {
    case CPTI_SUBJECT_ATTRIBUTE:
        order_attribute(sql, order, value, term);
        break;
    case CPTI_SUBJECT_LATENCY:
    case CPTI_SUBJECT_START:
    case CPTI_SUBJECT_PATH:
        add_time(sql, question, term);
        cpti_sql_add(sql, " %s %" PRIu64, order_signs[order], value->ns);
        break;
    case CPTI_SUBJECT_FORCED:
    case CPTI_SUBJECT_RANDOM:
    case CPTI_SUBJECT_FAILED:
    case CPTI_SUBJECT_LOCAL_ROOT:
        order_truth(sql, order, value, term);
        break;
    case CPTI_SUBJECT_TRACE_ID:
        order_trace(sql, value);
        break;
    default:
        order_text(sql, order, value, term);
    }
    cpti_sql_add(sql, ")");
}

/* --- Terms --- */

static void add_has(struct cpti_packed *sql, const struct cpti_store_term *term)
{
    if (term->subject == CPTI_SUBJECT_ATTRIBUTE) {
        cpti_sql_add(sql, "has(attributes.key, ");
        cpti_sql_hex(sql, term->key);
    } else {
        cpti_sql_add(sql, "notEmpty(");
        add_column(sql, term, ""); /* never of an attribute */
    }
    cpti_sql_add(sql, ")");
}

static void add_list(struct cpti_packed *sql,
                     const struct cpti_store_question *question,
                     const struct cpti_store_term *term)
{
    cpti_sql_add(sql, term->relation == CPTI_RELATION_NOT_IN ? "NOT (" : "(");
    for (size_t i = 0; i < term->value_count; i++) {
        cpti_sql_add(sql, i == 0 ? "" : " OR ");
        add_order(sql, EQUAL, &term->values[i], question, term);
    }
    cpti_sql_add(sql, ")");
}

static void add_relation(struct cpti_packed *sql,
                         const struct cpti_store_question *question,
                         const struct cpti_store_term *term)
{
    const unsigned relation = term->relation;
    const struct cpti_store_value *value = term->values;

    if (relation == CPTI_RELATION_IN || relation == CPTI_RELATION_NOT_IN) {
        add_list(sql, question, term);
        return;
    }
    if (relation == CPTI_RELATION_NOT_EQUAL) {
        cpti_sql_add(sql, "NOT ");
    }
    if (relation == CPTI_RELATION_LESS || relation == CPTI_RELATION_AT_MOST) {
        add_order(sql, LESS, value, question, term);
    }
    if (relation == CPTI_RELATION_GREATER || relation == CPTI_RELATION_AT_LEAST) {
        add_order(sql, GREATER, value, question, term);
    }
    if (relation == CPTI_RELATION_AT_MOST || relation == CPTI_RELATION_AT_LEAST) {
        cpti_sql_add(sql, " OR ");
    }
    if (relation != CPTI_RELATION_LESS && relation != CPTI_RELATION_GREATER) {
        add_order(sql, EQUAL, value, question, term);
    }
}

static void add_term(struct cpti_packed *sql,
                     const struct cpti_store_question *question,
                     const struct cpti_store_term *term)
{
    const bool may_be_missing = term->subject == CPTI_SUBJECT_ATTRIBUTE ||
                                term->subject == CPTI_SUBJECT_TRACE_ID;

    cpti_sql_add(sql, "(");
    if (term->relation == CPTI_RELATION_HAS || may_be_missing) {
        add_has(sql, term);
    }
    if (term->relation != CPTI_RELATION_HAS) {
        cpti_sql_add(sql, may_be_missing ? " AND (" : "(");
        add_relation(sql, question, term);
        cpti_sql_add(sql, ")");
    }
    cpti_sql_add(sql, ")");
}

/* --- The condition --- */

static void add_condition(struct cpti_packed *sql,
                          const struct cpti_store_question *question)
{
    static const char *const signs[] = {
        [CPTI_SIGN_OPEN] = "(",  [CPTI_SIGN_CLOSE] = ")",   [CPTI_SIGN_AND] = " AND ",
        [CPTI_SIGN_OR] = " OR ", [CPTI_SIGN_NOT] = " NOT ",
    };

    for (size_t i = 0; i < question->sign_count; i++) {
        const struct cpti_condition_sign *sign = &question->signs[i];

        if (sign->sign == CPTI_SIGN_TEST) {
            add_term(sql, question, &question->terms[sign->test]);
        } else {
            cpti_sql_add(sql, "%s", signs[sign->sign]);
        }
    }
    cpti_sql_add(sql, question->sign_count == 0 ? "1" : "");
}

static bool is_undecidable(const struct cpti_store_term *term)
{
    if (term->subject > CPTI_SUBJECT_STATUS &&
        term->subject != CPTI_SUBJECT_ATTRIBUTE) {
        return false;
    }
    for (size_t i = 0; i < term->value_count; i++) {
        if (term->values[i].reads_texts) {
            return true;
        }
    }
    return false;
}

bool cpti_store_has_undecided(const struct cpti_store_question *question)
{
    for (size_t i = 0; i < question->sign_count; i++) {
        if (question->signs[i].sign == CPTI_SIGN_TEST &&
            is_undecidable(&question->terms[question->signs[i].test])) {
            return true;
        }
    }
    return false;
}

void cpti_sql_undecided(struct cpti_packed *sql,
                        const struct cpti_store_question *question)
{
    cpti_sql_add(sql, "(0");
    for (size_t i = 0; i < question->sign_count; i++) {
        const struct cpti_store_term *term = &question->terms[question->signs[i].test];

        if (question->signs[i].sign != CPTI_SIGN_TEST || !is_undecidable(term)) {
            continue;
        }
        cpti_sql_add(sql, " OR (");
        if (term->subject == CPTI_SUBJECT_ATTRIBUTE) {
            add_column(sql, term, "type");
            cpti_sql_add(sql, " = 0 AND ");
        }
        add_matches(sql, term, ANY_NUMBER);
        cpti_sql_add(sql, " AND NOT ");
        add_matches(sql, term, PLAIN_INTEGER);
        cpti_sql_add(sql, ")");
    }
    cpti_sql_add(sql, ")");
}

void cpti_sql_selected(struct cpti_packed *sql,
                       const struct cpti_store_question *question)
{
    if (question->picks != NULL) {
        cpti_sql_add(sql, "(id IN cpt_picks)");
        return;
    }
    cpti_sql_add(sql, "((");
    add_condition(sql, question);
    cpti_sql_add(sql, ")");
    if (cpti_store_has_undecided(question)) {
        cpti_sql_add(sql, " AND NOT ");
        cpti_sql_undecided(sql, question);
    }
    cpti_sql_add(sql, ")");
}

const char *cpti_sql_forced(const struct cpti_store_question *question)
{
    return question->includes_forced ? "1" : "is_forced = 0";
}

/* Of the attribute cpt.fragment, in hexadecimal digits. */
const char *cpti_sql_fragment(const struct cpti_store_question *question)
{
    return question->includes_fragments
               ? "1"
               : "NOT has(attributes.key, unhex('6370742e667261676d656e74'))";
}

const char *cpti_sql_root(const struct cpti_store_question *question)
{
    return question->includes_local_roots ? "1" : "is_local_root = 0";
}

void cpti_sql_weight(struct cpti_packed *sql,
                     const struct cpti_store_question *question)
{
    cpti_sql_add(sql, "%s AS w",
                 question->weighs_all_one ? "toUInt64(1048576)" : "weight");
}

void cpti_sql_where(struct cpti_packed *sql, const struct cpti_store_question *question)
{
    cpti_sql_add(sql, " WHERE ");
    cpti_sql_range(sql, question);
    cpti_sql_add(sql, " AND (%s) AND (%s) AND (%s) AND w > 0 AND ",
                 cpti_sql_forced(question), cpti_sql_fragment(question),
                 cpti_sql_root(question));
    cpti_sql_selected(sql, question);
}
