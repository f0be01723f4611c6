/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_log_queue.h - records of finished requests, written to a log by another thread
 *
 *      request ends --> [ bounded queue ] --> writer thread --> blocks --> sink
 *                              |
 *                        full: dropped and counted
 *
 * The writer thread encodes records into blocks of the path log (cpt_log.h) and hands
 * each block to a *sink*, which stores it. A block is handed over when it is full or
 * when its oldest record has waited for flush_ns; so a killed process loses no more
 * than that, and what it has written can be read.
 *
 * The log neither ends nor stops its service. On the writer thread all signals are
 * blocked but those of faults, abort() and profilers, so a sink that writes to a pipe
 * without a reader gets an error, no SIGPIPE. A flush and the end wait for a stalled
 * sink only until a deadline; the records that are left then are counted as lost.
 *
 * Threads: any. During cpt_log_queue_free() no thread may use the queue.
 */
#ifndef CPT_LOG_QUEUE_H
#define CPT_LOG_QUEUE_H

#include "cpt/cpt_alloc.h"
#include "cpt_notice.h"

CPT_BEGIN_DECLS

struct cpt_log_queue;

/* Stores a block. Called on the writer thread, once at a time. If it does not return
 * CPT_OK, the block's records are counted as lost. A sink must return:
 * cpt_log_queue_free() waits for the call that is running. */
typedef cpt_status (*cpt_log_sink_fn)(void *context, const void *block, size_t bytes);

/* What a log consists of. */
enum cpt_log_content {
    CPT_LOG_PATHS = 0, /* records of requests, each with its path: cpt_log.h */
    CPT_LOG_SPANS = 1, /* their spans, as lines of OTLP: option `spans` of a service */
    CPT_LOG_GRAPHS = 2 /* whole graphs of some, option `graphs`: cpt_graph_log.h */
};

/* See cpt_options_read(). */
struct cpt_log_queue_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    cpt_log_sink_fn sink;
    void *context;
    size_t record_count_max; /* queued and not written yet; default 1024 */
    size_t memory_bytes_max; /* of the requests of these records; default 64 MiB, at
                                most 1/32 of cpt_memory_max() */
    uint64_t flush_ns;       /* default 1 s */
    int zstd_level;          /* of blocks: 1 (fast) to 19; default 0: not compressed */
    uint64_t close_ns; /* how long a flush, and the end, wait for the sink; default
                                5 s; UINT64_MAX: without limit */
    /* Is told how many records were lost, and why; default: cpt_notice_print(). */
    cpt_notice_fn notify;
    void *notify_context;
    unsigned
        content; /* enum cpt_log_content; of spans, a record is all of a request's */
};

/* What became of the records. */
struct cpt_log_queue_counts {
    uint64_t logged_count;       /* the sink took them */
    uint64_t dropped_count;      /* the queue was full */
    uint64_t unencodable_count;  /* no memory, or too large for a record */
    uint64_t sink_lost_count;    /* the sink refused their block */
    uint64_t block_count;        /* the sink took them */
    uint64_t byte_count;         /* of these blocks */
    uint64_t failed_block_count; /* the sink refused them */
    uint64_t late_lost_count;    /* records: not written when the queue was closed */
};

/* A queue with its writer thread running, or NULL with the reason in @error. */
CPT_API struct cpt_log_queue *
cpt_log_queue_new(const struct cpt_log_queue_options *options, struct cpt_error *error);

/* Closes the queue with the option close_ns as its wait, and frees. NULL is fine. */
CPT_API void cpt_log_queue_free(struct cpt_log_queue *queue);

/*
 * Writes the queued records, waiting for at most @wait_ns (UINT64_MAX: without limit),
 * and ends the thread; the counts can still be read. What is not written then is
 * counted (late_lost_count), and so is what comes later (dropped_count).
 *
 * CPT_OK: all was handed to the sink; CPT_TIMEOUT: it was not. Another call changes
 * nothing.
 */
CPT_API cpt_status cpt_log_queue_close(struct cpt_log_queue *queue, uint64_t wait_ns);

/* Returns when all records queued before the call have been handed to the sink, or
 * after the time of the option close_ns: the records go on waiting then. */
CPT_API void cpt_log_queue_flush(struct cpt_log_queue *queue);

/* The same with a wait of its own. CPT_OK; CPT_TIMEOUT. */
CPT_API cpt_status cpt_log_queue_flush_for(struct cpt_log_queue *queue,
                                           uint64_t wait_ns);

CPT_API void cpt_log_queue_counts(struct cpt_log_queue *queue,
                                  struct cpt_log_queue_counts *counts);

/*
 * A sink that writes to a file: its context is an `int *`, an open descriptor. It
 * raises no SIGPIPE and no SIGXFSZ. A pipe, FIFO, socket or terminal that takes nothing
 * is waited for until the queue is closed, or for 5 s where no queue calls. A regular
 * file keeps no part of a block, unless another process appended to it meanwhile. To
 * continue in another file, dup2() it onto the descriptor: for a directory of files
 * that notices when one is renamed, see cpt_log_file.h.
 *
 * CPT_OK; CPT_IO with errno set; CPT_TIMEOUT.
 */
CPT_API cpt_status cpt_log_sink_descriptor(void *descriptor, const void *block,
                                           size_t bytes);

CPT_END_DECLS

#endif
