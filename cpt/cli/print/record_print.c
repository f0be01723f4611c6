/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* record_print.c - one record of a log; see record_print.h */
#include "cpt/cli/print/record_print.h"

#include "cpt/cli/base/output.h"
#include "cpt/cli/print/path_print.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>

/* --- As text --- */

const char *cpti_record_id(const unsigned char *bytes, size_t count, char text[33])
{
    text[0] = '\0';
    for (size_t i = 0; i < count && i < 16; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
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

int cpti_record_print(const struct cpt_record *record, const struct cpt_path *path)
{
    char utc[64];
    char ms[32];
    char id[33];

    (void)printf(
        "%s  %s  %s ms%s%s\n", cpti_utc(record->start_unix_ns, utc),
        cpti_quoted_bytes(record->entry), cpti_ms((double)record->latency_ns, ms),
        record->status.bytes != 0 ? "  " : "", cpti_quoted_bytes(record->status));
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
