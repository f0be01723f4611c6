/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_queue.h - how a finished request enters the log queue. */
#ifndef CPT_LOG_QUEUE_PRIVATE_H
#define CPT_LOG_QUEUE_PRIVATE_H

#include "framework/cpt_log_file.h"
#include "framework/cpt_log_queue.h"
#include "wire/cpt_log.h"

/* A record with what it borrows from, in memory of whoever queues it. */
struct cpti_log_item {
    struct cpti_log_item *next; /* the queue's */
    struct cpt_record record;
    size_t memory_bytes;                         /* that it keeps from being freed */
    void (*release)(struct cpti_log_item *item); /* called once, on any thread */
};

/* Hands @item over; never waits. If the queue is full it is counted and released. */
void cpti_log_queue_push(struct cpt_log_queue *queue, struct cpti_log_item *item);

/* The log file that @queue writes to; NULL if its sink is another one. */
const struct cpt_log_file *cpti_log_queue_file(const struct cpt_log_queue *queue);

#endif
