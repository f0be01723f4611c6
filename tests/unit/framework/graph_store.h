/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* graph_store.h - the graph log of a service, in memory; beside service_pair.h */
#ifndef GRAPH_STORE_H
#define GRAPH_STORE_H

#include "cpt/cpt_dag_draft.h"
#include "framework/cpt_log_queue.h"
#include "wire/cpt_graph_log.h"

#include <stdbool.h>

enum { GRAPH_BYTES_MAX = 1 << 20 };

struct graph_store {
    struct cpt_log_queue *queue;
    size_t bytes;
    size_t read;
    size_t header_bytes;
    bool fails; /* takes nothing more */
    unsigned char data[GRAPH_BYTES_MAX];
};

/* Opens the queue, which the caller frees; @queue_bytes_max 0: as usual. */
void graph_store_open(struct graph_store *store, size_t queue_bytes_max);

/* A reader of all that @store has, once the logs have written what they have; the
 * caller frees it. */
struct cpt_log_reader *graph_store_read(struct graph_store *store);

/* Forgets all records. */
void graph_store_clear(struct graph_store *store);

/* As the sink of cpt_graph_join_add(). */
cpt_status graph_store_read_at(void *context, uint64_t offset, void *buffer,
                               size_t bytes);

/* The longest path of the dag of @records. */
uint64_t graph_latency_ns(const struct cpt_dag_records *records);

#endif
