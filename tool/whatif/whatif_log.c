/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_log.c - replayed requests become records; see whatif_log.h */
#include "tool/whatif/whatif_log.h"

#include "tool/base/files.h"
#include "tool/base/command.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

/* A log that is being written. */
struct writing {
    struct cpti_output output;
    struct cpt_log_block *block;
    struct cpt_path *path;
};

static cpt_status flush(struct writing *writing)
{
    const struct cpt_bytes bytes = cpt_log_block_finish(writing->block);

    return bytes.bytes == 0 ||
                   cpti_output_write(&writing->output, bytes.data, bytes.bytes) == 0
               ? CPT_OK
               : CPT_IO;
}

static cpt_status add(struct writing *writing, const struct cpt_record *record)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = cpt_record_encode(record, NULL, &data, &bytes, NULL);

    if (status != CPT_OK) {
        return status;
    }
    status = cpt_log_block_add(writing->block, data, bytes);
    if (status == CPT_LIMIT) { /* the block is full */
        status = flush(writing);
        status = CPTI_THEN(status, cpt_log_block_add(writing->block, data, bytes));
    }
    cpt_alloc_free(NULL, data);
    return status;
}

static cpt_status add_request(struct writing *writing,
                              const struct cpti_whatif_set *set,
                              struct cpt_whatif_plan *plan, size_t request)
{
    const struct cpt_bytes entry = cpt_names_at(set->names, set->entry[request]);
    const struct cpt_bytes service = cpt_name_service(entry);
    const size_t skipped = service.bytes != 0 ? service.bytes + 2 : 0;
    const enum cpt_evidence evidence = set->evidence[request];
    const struct cpt_attribute attribute = {
        .key = cpt_bytes_of(CPTI_EVIDENCE_ATTRIBUTE),
        .type = CPT_ATTRIBUTE_TEXT,
        .value = {.text = cpt_bytes_of(cpt_evidence_word(evidence))}};
    struct cpt_record record = {.start_unix_ns = set->start_ns[request],
                                .probability = 1 / set->weight[request],
                                .service = service,
                                .method = {entry.data + skipped, entry.bytes - skipped},
                                .entry = entry,
                                .is_random = 1,
                                .attributes = &attribute,
                                .attribute_count = evidence != CPT_EVIDENCE_RECORDED,
                                .path = writing->path};
    cpt_status status = CPT_OK;

    cpt_path_renew(writing->path);
    status = cpt_whatif_path(plan, request, entry, writing->path);
    record.latency_ns = cpt_path_sum_ns(writing->path);
    return status == CPT_OK ? add(writing, &record) : status;
}

int cpti_whatif_log(const struct cpti_whatif_set *set, struct cpt_whatif_plan *plan,
                    const char *name)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    struct writing writing = {.block = cpt_log_block_new(NULL, 0),
                              .path = cpt_path_new(NULL)};
    cpt_status status =
        writing.block != NULL && writing.path != NULL ? CPT_OK : CPT_NO_MEMORY;
    int exit_status = cpti_output_open(&writing.output, name);

    if (exit_status == CPTI_EXIT_DONE) {
        if (status == CPT_OK &&
            cpti_output_write(&writing.output, header, cpt_log_header(header)) != 0) {
            status = CPT_IO;
        }
        for (size_t i = 0; i < set->count && status == CPT_OK; i++) {
            status = add_request(&writing, set, plan, i);
        }
        status = CPTI_THEN(status, flush(&writing));
        if (status == CPT_OK || status == CPT_IO) { /* the commit tells the latter */
            exit_status = cpti_output_commit(&writing.output);
        } else {
            cpti_output_abort(&writing.output);
            exit_status = cpti_failed("%s", cpt_status_sentence(status));
        }
    }
    cpt_log_block_free(writing.block);
    cpt_path_free(writing.path);
    return exit_status;
}
