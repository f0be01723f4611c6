/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_output.c - a path log written by the tool; see log_output.h */
#include "tool/base/log_output.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

enum { ZSTD_LEVEL = 3 }; /* the default of zstd */

/* The stream remembers a failed write; cpti_output_commit() reports it. */
static void put(struct cpti_log_output *log, const void *data, size_t bytes)
{
    (void)cpti_output_write(&log->output, data, bytes);
    log->written_bytes += bytes;
}

static void deinit(struct cpti_log_output *log)
{
    cpt_log_block_free(log->block);
    cpt_log_index_free(log->index);
    log->block = NULL;
    log->index = NULL;
}

int cpti_log_output_open(struct cpti_log_output *log, const char *path,
                         bool is_compressed)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    int status;

    *log = (struct cpti_log_output){0};
    status = cpti_output_open(&log->output, path);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    log->block = cpt_log_block_new(NULL, 0);
    log->index = cpt_log_index_new(NULL);
    if (log->block == NULL || log->index == NULL) {
        cpti_log_output_abort(log);
        return cpti_failed("out of memory");
    }
    if (is_compressed && cpt_log_block_compress(log->block, ZSTD_LEVEL) != CPT_OK) {
        cpti_log_output_abort(log);
        return cpti_failed("this program was built without zstd");
    }
    put(log, header, cpt_log_header(header));
    return CPTI_EXIT_DONE;
}

static cpt_status end_block(struct cpti_log_output *log)
{
    const struct cpt_bytes bytes = cpt_log_block_finish(log->block);
    cpt_status status = CPT_OK;

    if (bytes.bytes != 0) {
        status =
            cpt_log_index_add(log->index, log->written_bytes, bytes.data, bytes.bytes);
        put(log, bytes.data, bytes.bytes);
    }
    return status;
}

int cpti_log_output_add(struct cpti_log_output *log, struct cpt_bytes record)
{
    cpt_status status = cpt_log_block_add(log->block, record.data, record.bytes);

    if (status == CPT_LIMIT) {
        status = end_block(log);
        status =
            CPTI_THEN(status, cpt_log_block_add(log->block, record.data, record.bytes));
    }
    log->record_count += status == CPT_OK;
    return status == CPT_OK ? CPTI_EXIT_DONE : cpti_failed("out of memory");
}

int cpti_log_output_commit(struct cpti_log_output *log)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = end_block(log);

    status = CPTI_THEN(
        status, cpt_log_index_encode(log->index, log->written_bytes, &data, &bytes));
    if (status != CPT_OK) {
        cpti_log_output_abort(log);
        return cpti_failed("out of memory");
    }
    put(log, data, bytes);
    cpt_alloc_free(NULL, data);
    deinit(log);
    return cpti_output_commit(&log->output);
}

void cpti_log_output_abort(struct cpti_log_output *log)
{
    deinit(log);
    cpti_output_abort(&log->output);
}
