/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_queue.h - how the record of a finished request enters the log queue. */
#ifndef CPT_LOG_QUEUE_PRIVATE_H
#define CPT_LOG_QUEUE_PRIVATE_H

#include "framework/cpt_log_file.h"
#include "framework/cpt_log_queue.h"
#include "wire/cpt_log.h"

#include <stdbool.h>

struct cpti_json;

/* A record and what it borrows from. The caller owns the memory until `release`. */
struct cpti_log_item {
    struct cpti_log_item *next; /* the queue's */
    struct cpt_record record;
    struct cpt_bytes block; /* a whole block in place of a record; or empty */
    size_t memory_bytes;    /* that is freed with it */
    /* Of a graph: makes its record, in a new block of memory, which the caller frees.
     * Errors of cpt_graph_encode(). On the queue's thread. NULL: it is `record`. */
    cpt_status (*encode)(const struct cpti_log_item *item,
                         const struct cpt_alloc *alloc, unsigned char **data,
                         size_t *bytes);
    /* Of a line: adds it. On the queue's thread. NULL: it is no line. */
    void (*write_line)(const struct cpti_log_item *item, struct cpti_json *lines);
    void (*release)(struct cpti_log_item *item); /* called once, on any thread */
};

/* Hands @item over, without waiting. If the queue is full, counts and releases it. */
void cpti_log_queue_push(struct cpt_log_queue *queue, struct cpti_log_item *item);

/* Counts a request whose spans or graph are lost for want of memory. */
void cpti_log_queue_lose(struct cpt_log_queue *queue);

/* Whether @queue is for @content, enum cpt_log_content. */
bool cpti_log_queue_is_of(const struct cpt_log_queue *queue, unsigned content);

/* The log file that @queue writes to; NULL: it has another sink. */
const struct cpt_log_file *cpti_log_queue_file(const struct cpt_log_queue *queue);

#endif
