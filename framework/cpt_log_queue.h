/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_log_queue.h - finished records on their way to a log, off the request's way
 *
 *      request ends --> [ bounded queue ] --> writer thread --> blocks --> sink
 *                              |
 *                        full: dropped and counted
 *
 * The writer thread encodes records into blocks of the path log (cpt_log.h) and hands
 * each block to a *sink*, which puts it somewhere. A block is handed over when it is
 * full or when its oldest record has waited for flush_ns; so a killed process loses at
 * most that much, and what it has written stays readable.
 *
 * Threads: any, but for cpt_log_queue_free(): nobody may use the queue then.
 */
#ifndef CPT_LOG_QUEUE_H
#define CPT_LOG_QUEUE_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

struct cpt_log_queue;

/* Puts a block where it belongs: on the writer thread, one call at a time. Anything but
 * CPT_OK: the block's records are counted as lost. */
typedef cpt_status (*cpt_log_sink_fn)(void *context, const void *block, size_t bytes);

/* See cpt_options_read(). */
struct cpt_log_queue_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    cpt_log_sink_fn sink;
    void *context;
    size_t record_count_max; /* taken and not written yet; default 1024 */
    size_t memory_bytes_max; /* of the requests they belong to; default 64 MiB */
    uint64_t flush_ns;       /* default 1 s */
    int zstd_level;          /* of blocks: 1 (fast) to 19; default 0: as they are */
};

/* What became of the records. */
struct cpt_log_queue_counts {
    uint64_t logged_count;       /* the sink took them */
    uint64_t dropped_count;      /* the queue was full */
    uint64_t unencodable_count;  /* without memory, or too large for a record */
    uint64_t sink_lost_count;    /* the sink refused their block */
    uint64_t block_count;        /* the sink took them */
    uint64_t byte_count;         /* of those blocks */
    uint64_t failed_block_count; /* the sink refused them */
};

/* A queue with its writer thread running, or NULL with the reason in @error. */
CPT_API struct cpt_log_queue *
cpt_log_queue_new(const struct cpt_log_queue_options *options, struct cpt_error *error);

/* Hands over all that waits, ends the thread, frees. NULL is fine. */
CPT_API void cpt_log_queue_free(struct cpt_log_queue *queue);

/* Returns when all records that were there have been handed to the sink. */
CPT_API void cpt_log_queue_flush(struct cpt_log_queue *queue);

CPT_API void cpt_log_queue_counts(struct cpt_log_queue *queue,
                                  struct cpt_log_queue_counts *counts);

/* A sink that writes to a file: its context is an `int *`, an open descriptor. */
CPT_API cpt_status cpt_log_sink_descriptor(void *descriptor, const void *block,
                                           size_t bytes);

CPT_END_DECLS

#endif
