/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sql.c - a selection as SQL; see sql.h */
#include "cpt/store/sql.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cpti_sql_add(struct cpti_rows *sql, const char *format, ...)
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

const char *cpti_sql_text(struct cpti_rows *sql)
{
    cpti_row_u8(sql, 0);
    return sql->has_failed ? NULL : (const char *)sql->data;
}

static void add_hex(struct cpti_rows *sql, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    cpti_sql_add(sql, "unhex('");
    for (size_t i = 0; i < bytes; i++) {
        cpti_sql_add(sql, "%02X", at[i]);
    }
    cpti_sql_add(sql, "')");
}

static void add_real(struct cpti_rows *sql, double real)
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

/* -9223372036854775808 cannot be written as such. */
static void add_integer(struct cpti_rows *sql, int64_t integer)
{
    cpti_sql_add(sql, "toInt64('%" PRId64 "')", integer);
}

void cpti_sql_range(struct cpti_rows *sql, const struct cpti_store_question *question)
{
    cpti_sql_add(sql, "start_ns >= %" PRIu64, question->since_ns);
    if (question->until_ns != UINT64_MAX) {
        cpti_sql_add(sql, " AND start_ns < %" PRIu64, question->until_ns);
    }
    if (question->entry.data != NULL) {
        cpti_sql_add(sql, " AND service = ");
        add_hex(sql, question->entry.data, question->entry.bytes);
    }
}

static void add_truth(struct cpti_rows *sql, const char *column, int truth)
{
    if (truth < 0) {
        cpti_sql_add(sql, "0"); /* neither */
    } else {
        cpti_sql_add(sql, "%s = %d", column, truth);
    }
}

/* The place of the attribute is found anew in each part; ClickHouse computes equal
 * expressions once. */
static void add_place(struct cpti_rows *sql, const char *column,
                      const struct cpti_store_term *term)
{
    cpti_sql_add(sql, "attributes.%s[indexOf(attributes.key, ", column);
    add_hex(sql, term->key.data, term->key.bytes);
    cpti_sql_add(sql, ")]");
}

static void begin_type(struct cpti_rows *sql, int type,
                       const struct cpti_store_term *term)
{
    cpti_sql_add(sql, " OR (");
    add_place(sql, "type", term);
    cpti_sql_add(sql, " = %d AND ", type);
}

static void add_attribute(struct cpti_rows *sql, const struct cpti_store_term *term)
{
    const struct cpti_store_value *value = &term->value;

    cpti_sql_add(sql, "has(attributes.key, ");
    add_hex(sql, term->key.data, term->key.bytes);
    cpti_sql_add(sql, ") AND (0");
    begin_type(sql, 0, term);
    add_place(sql, "text", term);
    cpti_sql_add(sql, " = ");
    add_hex(sql, value->text.data, value->text.bytes);
    cpti_sql_add(sql, ")");
    if (value->is_integer) {
        begin_type(sql, 1, term);
        add_place(sql, "integer", term);
        cpti_sql_add(sql, " = ");
        add_integer(sql, value->integer);
        cpti_sql_add(sql, ")");
    }
    if (value->is_round) {
        begin_type(sql, 1, term);
        cpti_sql_add(sql, "toFloat64(");
        add_place(sql, "integer", term);
        cpti_sql_add(sql, ") = ");
        add_real(sql, value->real);
        cpti_sql_add(sql, ")");
    }
    if (value->is_real) {
        begin_type(sql, 2, term);
        add_place(sql, "real", term);
        cpti_sql_add(sql, " = ");
        add_real(sql, value->real);
        cpti_sql_add(sql, ")");
    }
    if (value->truth >= 0) {
        begin_type(sql, 3, term);
        add_place(sql, "integer", term);
        cpti_sql_add(sql, " = %d)", value->truth);
    }
    cpti_sql_add(sql, ")");
}

static void add_text(struct cpti_rows *sql, const char *column,
                     const struct cpti_store_term *term)
{
    cpti_sql_add(sql, "%s = ", column);
    add_hex(sql, term->value.text.data, term->value.text.bytes);
}

static void add_ns(struct cpti_rows *sql, const char *column,
                   const struct cpti_store_term *term)
{
    static const char *const relations[] = {"=", "<", "<=", ">", ">="};

    cpti_sql_add(sql, "%s %s %" PRIu64, column, relations[term->relation],
                 term->value.ns);
}

static void add_term(struct cpti_rows *sql, const struct cpti_store_term *term)
{
    static const char *const columns[] = {
        [CPTI_STORE_SERVICE] = "service",   [CPTI_STORE_METHOD] = "method",
        [CPTI_STORE_ENTRY] = "entry",       [CPTI_STORE_STATUS] = "status",
        [CPTI_STORE_FORCED] = "is_forced",  [CPTI_STORE_RANDOM] = "is_random",
        [CPTI_STORE_FAILED] = "is_failed",  [CPTI_STORE_LOCAL_ROOT] = "is_local_root",
        [CPTI_STORE_TRACE_ID] = "trace_id", [CPTI_STORE_LATENCY] = "latency_ns",
        [CPTI_STORE_START] = "start_ns",
    };

    switch (term->field) {
    case CPTI_STORE_FORCED:
    case CPTI_STORE_RANDOM:
    case CPTI_STORE_FAILED:
    case CPTI_STORE_LOCAL_ROOT:
        add_truth(sql, columns[term->field], term->value.truth);
        break;
    case CPTI_STORE_TRACE_ID:
        cpti_sql_add(sql, "notEmpty(trace_id) AND ");
        add_text(sql, columns[term->field], term);
        break;
    case CPTI_STORE_LATENCY:
    case CPTI_STORE_START:
        add_ns(sql, columns[term->field], term);
        break;
    case CPTI_STORE_ATTRIBUTE:
        add_attribute(sql, term);
        break;
    default:
        add_text(sql, columns[term->field], term);
    }
}

void cpti_sql_terms(struct cpti_rows *sql, const struct cpti_store_question *question)
{
    cpti_sql_add(sql, "(1");
    for (size_t i = 0; i < question->term_count; i++) {
        cpti_sql_add(sql, " AND (");
        add_term(sql, &question->terms[i]);
        cpti_sql_add(sql, ")");
    }
    cpti_sql_add(sql, ")");
}
