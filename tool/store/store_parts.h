/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * store_parts.h - the parts of a store, for the files of this folder
 *
 * Threads: one at a time; shard.c states its exceptions.
 */
#ifndef CPTI_STORE_PARTS_H
#define CPTI_STORE_PARTS_H

#include "tool/store/http.h"
#include "tool/store/row_binary.h"
#include "tool/store/stacks.h"
#include "tool/store/store.h"

/* A batch of this size is sent, even if it has few rows. The time limit of a
 * statement. */
enum { CPTI_BATCH_BYTES = 32 << 20, CPTI_STATEMENT_SECONDS = 300 };

/* The bytes of a request's row in a batch, and its partition. */
struct cpti_row_place {
    size_t at;
    size_t end;
    uint32_t month;
};

/* Rows that are sent together. */
struct cpti_store_batch {
    struct cpti_packed requests;
    struct cpti_packed stacks; /* the stacks that the requests need */
    struct cpti_row_place *places;
    size_t row_count;
    size_t place_capacity;
};

struct cpti_shard {
    struct cpti_http *http;
    bool is_known;                   /* it has answered as ClickHouse does */
    struct cpti_store_batch filling; /* not sent yet */
    struct cpti_store_batch
        sending; /* only the sender's thread uses it while it runs */
    struct cpti_sender *sender;
};

/* The time of a request on a stack, and on it and below. */
struct cpti_stack_time {
    uint64_t id;
    size_t entry; /* in the table of stacks */
    uint64_t self_ns;
    uint64_t inclusive_ns;
};

struct cpti_store {
    struct cpti_shard *shards;
    size_t shard_count;
    char database[CPTI_STORE_NAME_BYTES_MAX + 1];
    unsigned retry_seconds;
    size_t batch_rows;
    bool keeps_copies;
    struct cpti_stacks stacks; /* the loaded ones, with the shards that know each */
    struct cpti_packed row; /* of one request; scratch of load.c, like the next two */
    struct cpti_stack_time *times;
    size_t time_capacity;
};

/* Sorts the rows of @batch by partition. */
void cpti_batch_sort(struct cpti_store_batch *batch);

/* The end of the part of a sorted batch that begins at row @from and fits one
 * INSERT. */
size_t cpti_batch_part(const struct cpti_store_batch *batch, size_t from);

/* Waits for the batch under way, then sends shard->filling on a thread of its own.
 * CPT_OK, or the error of the batch before; see cpti_store_load_add(). */
cpt_status cpti_shard_send(const struct cpti_store *store, struct cpti_shard *shard,
                           struct cpt_error *error);

/* Waits for the batch under way. CPT_OK or its error. */
cpt_status cpti_shard_wait(struct cpti_shard *shard, struct cpt_error *error);

/* Waits for the batch under way, and frees both batches. */
void cpti_shard_end(struct cpti_shard *shard);

/*
 * Runs @call, and again while the shard is too busy or its connection breaks, for
 * @retry_seconds. A server that was never reached is not waited for: its address may be
 * wrong. Errors as of cpti_http_run().
 */
cpt_status cpti_shard_persist(struct cpti_shard *shard,
                              const struct cpti_store_call *call,
                              unsigned retry_seconds, struct cpt_error *error);

/* Asks @shard, in @database, to repeat a number, unless it did so before: whatever else
 * listens there, and takes each statement with "200 OK", does not. Retries as above. */
cpt_status cpti_shard_know(struct cpti_shard *shard, const char *database,
                           unsigned retry_seconds, struct cpt_error *error);

/* Runs @statement, which has no answer, on @shard; unless @rows is NULL, they follow
 * the statement. Errors as of cpti_http_run(). */
cpt_status cpti_shard_run(const struct cpti_store *store, struct cpti_shard *shard,
                          const char *statement, const struct cpti_packed *rows,
                          struct cpt_error *error);

#endif
