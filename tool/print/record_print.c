/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* record_print.c - one record of a log; see record_print.h */
#include "tool/print/record_print.h"

#include "tool/base/output.h"
#include "tool/print/path_print.h"
#include "cpt/base/text.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <string.h>

/* --- As text --- */

const char *cpti_record_id(const unsigned char *bytes, size_t count, char text[33])
{
    text[cpti_text_hex(text, bytes, count < 16 ? count : 16).bytes] = '\0';
    return text;
}

static void write_attribute(FILE *file, const struct cpt_attribute *attribute)
{
    (void)fprintf(file, "%s=", cpti_quoted_bytes(attribute->key));
    switch (attribute->type) {
    case CPT_ATTRIBUTE_TEXT:
        (void)fputs(cpti_quoted_bytes(attribute->value.text), file);
        break;
    case CPT_ATTRIBUTE_INTEGER:
        (void)fprintf(file, "%" PRId64, attribute->value.integer);
        break;
    case CPT_ATTRIBUTE_FLOAT:
        (void)fprintf(file, "%.15g", attribute->value.real);
        break;
    default:
        (void)fputs(attribute->value.is_true ? "true" : "false", file);
        break;
    }
}

void cpti_record_write_attributes(FILE *file, const struct cpt_record *record)
{
    for (size_t i = 0; i < record->attribute_count; i++) {
        (void)fputs(i == 0 ? "" : " ", file);
        write_attribute(file, &record->attributes[i]);
    }
}

void cpti_record_write_flags(FILE *file, const struct cpt_record *record,
                             const struct cpt_path *path)
{
    (void)fprintf(file, "probability %.6g%s%s%s%s%s%s", record->probability,
                  record->is_random ? ", random" : "",
                  record->is_forced ? ", forced" : "",
                  record->is_local_root ? ", local root" : "",
                  record->is_background ? ", background" : "",
                  record->is_failed ? ", failed" : "",
                  cpti_path_flags_text(cpt_path_flags(path)));
}

void cpti_record_title(uint64_t start_unix_ns, const char *entry, uint64_t latency_ns,
                       const char *status)
{
    enum { ENTRY_MIN = 12, STATUS_MAX = 20 };
    const size_t columns = cpti_columns();
    char shown_status[CPTI_TEXT_BYTES];
    char shown_entry[CPTI_TEXT_BYTES];
    char utc[64];
    char ms[32];
    size_t used;

    (void)cpti_utc(start_unix_ns, utc);
    (void)cpti_ms((double)latency_ns, ms);
    cpti_text_shorten(status, columns != 0 ? STATUS_MAX : CPTI_TEXT_BYTES, 40, "\u2026",
                      shown_status, sizeof shown_status);
    used = strlen(utc) + strlen(ms) + cpti_text_columns(shown_status) + 9;
    cpti_text_shorten(entry,
                      columns == 0                 ? CPTI_TEXT_BYTES
                      : columns > used + ENTRY_MIN ? columns - used
                                                   : ENTRY_MIN,
                      40, "\u2026", shown_entry, sizeof shown_entry);
    (void)printf("%s  %s  %s ms%s%s\n", utc, shown_entry, ms,
                 status[0] != '\0' ? "  " : "", shown_status);
}

int cpti_record_print(const struct cpt_record *record, const struct cpt_path *path)
{
    char id[33];

    cpti_record_title(record->start_unix_ns, cpti_quoted_bytes(record->entry),
                      record->latency_ns, cpti_quoted_bytes(record->status));
    cpti_record_write_flags(stdout, record, path);
    (void)printf("\n");
    if (record->has_trace_id) {
        (void)printf("trace %s\n",
                     cpti_record_id(record->trace_id, sizeof record->trace_id, id));
    }
    if (record->attribute_count != 0) {
        (void)printf("meta ");
        cpti_record_write_attributes(stdout, record);
        (void)printf("\n");
    }
    return cpti_path_print(path);
}

/* --- As a row --- */

/* The columns in front of the entry, with the gaps. */
enum {
    STATUS_COLUMNS = 7,
    ROW_COLUMNS = 7 + 25 + 12 + STATUS_COLUMNS + 2 + 8,
    FAILURE_COLUMNS_MAX = 16
};

void cpti_record_heading(void)
{
    (void)printf("%6s %-23s  %10s  %-*s  %-6s  %s\n", "record", "time (UTC)",
                 "latency ms", STATUS_COLUMNS, "status", "error", "entry");
}

/* Prints @text in @columns, cut on a terminal. */
static void print_cell(const char *text, size_t columns, const char *behind)
{
    char cut[CPTI_TEXT_BYTES];
    size_t used;

    cpti_text_shorten(text, cpti_columns() != 0 ? columns : CPTI_TEXT_BYTES, 40,
                      "\u2026", cut, sizeof cut);
    used = cpti_text_columns(cut);
    (void)printf("%s%*s%s", cut, used < columns ? (int)(columns - used) : 0, "",
                 behind);
}

/* "  (callee)": why the request failed, if its record says so. Returns its columns. */
static size_t failure_text(const struct cpt_record *record, char text[CPTI_TEXT_BYTES])
{
    const struct cpt_attribute *attribute =
        cpt_record_attribute(record, cpt_bytes_of("failure"));
    char word[FAILURE_COLUMNS_MAX * 4 + 1];

    text[0] = '\0';
    if (!record->is_failed || attribute == NULL ||
        attribute->type != CPT_ATTRIBUTE_TEXT) {
        return 0;
    }
    cpti_text_shorten(cpti_quoted_bytes(attribute->value.text), FAILURE_COLUMNS_MAX, 40,
                      "\u2026", word, sizeof word);
    (void)snprintf(text, CPTI_TEXT_BYTES, "  (%s)", word);
    return cpti_text_columns(text);
}

void cpti_record_row(const struct cpt_record *record, uint64_t number)
{
    char failure[CPTI_TEXT_BYTES];
    const size_t columns = cpti_columns();
    const size_t used = ROW_COLUMNS + failure_text(record, failure);
    const size_t entry_columns = columns > used + 8 ? columns - used : 8;
    const char *entry = cpti_quoted_bytes(record->entry);
    char utc[64];
    char ms[32];
    char cut[CPTI_TEXT_BYTES];

    (void)cpti_utc(record->start_unix_ns, utc);
    if (strlen(utc) > 23) {
        utc[10] = ' ';  /* for the T */
        utc[23] = '\0'; /* milliseconds */
    }
    (void)printf("%6" PRIu64 " %-23s  %10s  ", number, utc,
                 cpti_ms((double)record->latency_ns, ms));
    print_cell(record->status.bytes != 0 ? cpti_quoted_bytes(record->status) : "-",
               STATUS_COLUMNS, "  ");
    print_cell(record->is_failed ? "failed" : "-", 6, "  ");
    cpti_text_shorten(entry, columns != 0 ? entry_columns : CPTI_TEXT_BYTES, 40,
                      "\u2026", cut, sizeof cut);
    (void)printf("%s%s\n", cut, failure);
}

/* --- As JSON --- */

static void put_attribute(struct cpti_json *json, const struct cpt_attribute *attribute)
{
    cpti_json_key(json, attribute->key);
    switch (attribute->type) {
    case CPT_ATTRIBUTE_TEXT:
        cpti_json_bytes(json, NULL, attribute->value.text);
        break;
    case CPT_ATTRIBUTE_INTEGER:
        cpti_json_integer(json, NULL, attribute->value.integer);
        break;
    case CPT_ATTRIBUTE_FLOAT:
        cpti_json_float(json, NULL, attribute->value.real);
        break;
    default:
        cpti_json_bool(json, NULL, attribute->value.is_true);
        break;
    }
}

static void put_ids(struct cpti_json *json, const struct cpt_record *record)
{
    char id[33];

    if (record->has_trace_id) {
        (void)cpti_record_id(record->trace_id, sizeof record->trace_id, id);
        cpti_json_text(json, "trace_id", id);
    } else {
        cpti_json_null(json, "trace_id");
    }
    if (record->has_parent_id) {
        (void)cpti_record_id(record->parent_id, sizeof record->parent_id, id);
        cpti_json_text(json, "parent_id", id);
    }
}

void cpti_record_attributes_json(struct cpti_json *json, const char *key,
                                 const struct cpt_record *record)
{
    cpti_json_open(json, key, '{');
    for (size_t i = 0; i < record->attribute_count; i++) {
        put_attribute(json, &record->attributes[i]);
    }
    cpti_json_close(json);
}

void cpti_record_json(struct cpti_json *json, const struct cpt_record *record,
                      const struct cpt_path *path)
{
    cpti_json_open(json, NULL, '{');
    cpti_json_bytes(json, "service", record->service);
    cpti_json_bytes(json, "method", record->method);
    cpti_json_bytes(json, "entry", record->entry);
    cpti_json_unsigned(json, "start_unix_ns", record->start_unix_ns);
    cpti_json_float(json, "probability", record->probability);
    cpti_json_bytes(json, "status", record->status);
    put_ids(json, record);
    cpti_json_unsigned(json, "latency_ns", record->latency_ns);
    cpti_json_bool(json, "failed", record->is_failed);
    cpti_json_bool(json, "forced", record->is_forced);
    cpti_json_bool(json, "random", record->is_random);
    cpti_json_bool(json, "local_root", record->is_local_root);
    if (record->is_background) {
        cpti_json_bool(json, "background", 1);
    }
    cpti_path_flags_json(json, cpt_path_flags(path));
    cpti_record_attributes_json(json, "meta", record);
    cpti_path_json(json, path);
    cpti_json_close(json);
}
