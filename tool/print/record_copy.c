/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* record_copy.c - a record that outlives the reading of its log; see record_copy.h */
#include "tool/print/record_copy.h"

#include "tool/base/command.h"
#include "tool/base/memory_file.h"
#include "tool/base/output.h"
#include "tool/print/record_print.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <stdlib.h>
#include <string.h>

/* The text that @write writes about @record; NULL without memory. */
static char *text_of(const struct cpt_record *record, const struct cpt_path *path,
                     void (*write)(FILE *file, const struct cpt_record *record,
                                   const struct cpt_path *path))
{
    struct cpti_memory_file memory;

    if (!cpti_memory_file_open(&memory)) {
        return NULL;
    }
    write(memory.file, record, path);
    return cpti_memory_file_close(&memory) ? memory.text : NULL;
}

static void write_metadata(FILE *file, const struct cpt_record *record,
                           const struct cpt_path *path)
{
    (void)path;
    cpti_record_write_attributes(file, record);
}

static void write_remarks(FILE *file, const struct cpt_record *record,
                          const struct cpt_path *path)
{
    char id[33];

    cpti_record_write_flags(file, record, path);
    if (record->has_trace_id) {
        (void)fprintf(file, ", trace %s",
                      cpti_record_id(record->trace_id, sizeof record->trace_id, id));
    }
}

void cpti_record_copy_deinit(struct cpti_record_copy *copy)
{
    cpt_path_free(copy->path);
    free(copy->entry);
    free(copy->status);
    free(copy->remarks);
    free(copy->metadata);
    *copy = (struct cpti_record_copy){0};
}

int cpti_record_copy_set(struct cpti_record_copy *copy, const struct cpt_record *record,
                         const struct cpt_path *path, uint64_t record_number)
{
    struct cpti_record_copy made = {
        .path = cpt_path_new(NULL),
        .start_unix_ns = record->start_unix_ns,
        .latency_ns = record->latency_ns,
        .record_number = record_number,
        .probability = record->probability,
        .entry = strdup(cpti_quoted_bytes(record->entry)),
        .status = strdup(cpti_quoted_bytes(record->status)),
        .remarks = text_of(record, path, write_remarks),
        .metadata = text_of(record, path, write_metadata),
    };

    cpti_record_copy_deinit(copy);
    if (made.path != NULL && made.entry != NULL && made.status != NULL &&
        made.remarks != NULL && made.metadata != NULL &&
        cpt_path_copy(made.path, path) == CPT_OK) {
        cpt_path_flags_add(made.path, cpt_path_flags(path));
        *copy = made;
        return CPTI_EXIT_DONE;
    }
    cpti_record_copy_deinit(&made);
    return cpti_failed("out of memory");
}
