/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cluster_key.c - which requests resemble each other; see cluster_key.h */
#include "tool/folds/cluster_key.h"

#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MINUTE_NS UINT64_C(60000000000)

/* The value of a field of the record. */
static bool field_value(const struct cpt_record *record, const char *key,
                        char text[CPTI_CLUSTER_VALUE_BYTES], struct cpt_bytes *value)
{
    if (strcmp(key, "minute") == 0) {
        (void)snprintf(text, CPTI_CLUSTER_VALUE_BYTES, "%" PRIu64,
                       record->start_unix_ns / MINUTE_NS);
        *value = cpt_bytes_of(text);
    } else if (strcmp(key, "method") == 0) {
        *value = record->method;
    } else if (strcmp(key, "status") == 0) {
        *value = record->status;
    }
    return value->bytes != 0;
}

bool cpti_cluster_value(const struct cpt_record *record, const char *key,
                        char text[CPTI_CLUSTER_VALUE_BYTES], struct cpt_bytes *value)
{
    const struct cpt_attribute *attribute =
        cpt_record_attribute(record, cpt_bytes_of(key));

    *value = (struct cpt_bytes){"", 0};
    if (attribute == NULL) {
        return field_value(record, key, text, value);
    }
    if (attribute->type == CPT_ATTRIBUTE_TEXT) {
        *value = attribute->value.text;
        return true;
    }
    if (attribute->type == CPT_ATTRIBUTE_INTEGER) {
        (void)snprintf(text, CPTI_CLUSTER_VALUE_BYTES, "%" PRId64,
                       attribute->value.integer);
    } else if (attribute->type == CPT_ATTRIBUTE_FLOAT) {
        (void)snprintf(text, CPTI_CLUSTER_VALUE_BYTES, "%.17g", attribute->value.real);
    } else {
        (void)snprintf(text, CPTI_CLUSTER_VALUE_BYTES, "%s",
                       attribute->value.is_true ? "true" : "false");
    }
    *value = cpt_bytes_of(text);
    return true;
}
