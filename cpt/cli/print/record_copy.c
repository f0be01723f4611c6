/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* kept.c - one record that outlives the reading of its log; see kept.h */
#include "cpt/cli/print/record_copy.h"

#include "cpt/cli/base/command.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/print/path_print.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void write_metadata(FILE *file, const struct cpt_record *record)
{
    for (size_t i = 0; i < record->attribute_count; i++) {
        (void)fputs(i == 0 ? "" : " ", file);
        write_attribute(file, &record->attributes[i]);
    }
}

static void write_remarks(FILE *file, const struct cpt_record *record,
                          const struct cpt_path *path)
{
    (void)fprintf(file, "probability %.6g%s%s%s%s%s%s", record->probability,
                  record->is_random ? ", random" : "",
                  record->is_forced ? ", forced" : "",
                  record->is_local_root ? ", local root" : "",
                  record->is_background ? ", background" : "",
                  record->is_failed ? ", failed" : "",
                  cpti_path_flags_text(cpt_path_flags(path)));
    if (record->has_trace_id) {
        (void)fputs(", trace ", file);
        for (size_t i = 0; i < sizeof record->trace_id; i++) {
            (void)fprintf(file, "%02x", record->trace_id[i]);
        }
    }
}

/* What a stream in memory was written to; NULL without memory. */
static char *metadata_of(const struct cpt_record *record)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);

    if (file == NULL) {
        return NULL;
    }
    write_metadata(file, record);
    return fclose(file) == 0 ? text : NULL;
}

static char *remarks_of(const struct cpt_record *record, const struct cpt_path *path)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);

    if (file == NULL) {
        return NULL;
    }
    write_remarks(file, record, path);
    return fclose(file) == 0 ? text : NULL;
}

void cpti_kept_deinit(struct cpti_kept *kept)
{
    cpt_path_free(kept->path);
    free(kept->entry);
    free(kept->status);
    free(kept->remarks);
    free(kept->metadata);
    *kept = (struct cpti_kept){0};
}

int cpti_kept_set(struct cpti_kept *kept, const struct cpt_record *record,
                  const struct cpt_path *path, uint64_t record_number)
{
    struct cpti_kept copy = {
        .path = cpt_path_new(NULL),
        .start_unix_ns = record->start_unix_ns,
        .latency_ns = record->latency_ns,
        .record_number = record_number,
        .probability = record->probability,
        .entry = strdup(cpti_quoted_bytes(record->entry)),
        .status = strdup(cpti_quoted_bytes(record->status)),
        .remarks = remarks_of(record, path),
        .metadata = metadata_of(record),
    };

    cpti_kept_deinit(kept);
    if (copy.path != NULL && copy.entry != NULL && copy.status != NULL &&
        copy.remarks != NULL && copy.metadata != NULL &&
        cpt_path_copy(copy.path, path) == CPT_OK) {
        cpt_path_flags_add(copy.path, cpt_path_flags(path));
        *kept = copy;
        return CPTI_EXIT_DONE;
    }
    cpti_kept_deinit(&copy);
    return cpti_failed("out of memory");
}
