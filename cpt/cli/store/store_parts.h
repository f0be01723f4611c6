/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * store_parts.h - what a store is made of, for the files of this folder
 *
 * Threads: one at a time, but for what shard.c says.
 */
#ifndef CPTI_STORE_PARTS_H
#define CPTI_STORE_PARTS_H

#include "cpt/cli/store/http.h"
#include "cpt/cli/store/row_binary.h"
#include "cpt/cli/store/stacks.h"
#include "cpt/cli/store/store.h"

/* Rows are sent if they have so many bytes, however few they are. */
enum { CPTI_BATCH_BYTES = 32 << 20 };

/* Where the row of a request begins in a batch, and the partition it goes to. */
struct cpti_row_place {
    size_t at;
    size_t end;
    uint32_t month;
};

/* Rows that are sent together. */
struct cpti_batch {
    struct cpti_rows requests;
    struct cpti_rows stacks; /* that they need */
    struct cpti_row_place *places;
    size_t row_count;
    size_t place_capacity;
};

struct cpti_shard {
    struct cpti_http *http;
    struct cpti_batch filling; /* not sent yet */
    struct cpti_batch sending; /* its thread's until that has ended */
    struct cpti_sender *sender;
};

/* The time of a request on a stack, and on it or below. */
struct cpti_stack_time {
    uint64_t id;
    size_t entry; /* of the table of stacks */
    uint64_t self_ns;
    uint64_t inclusive_ns;
};

struct cpti_store {
    struct cpti_shard *shards;
    size_t shard_count;
    char database[CPTI_STORE_NAME_BYTES_MAX + 1];
    unsigned retry_seconds;
    size_t batch_rows;
    struct cpti_stacks stacks; /* that were loaded; each knows who was told of it */
    struct cpti_rows row;      /* of one request; scratch of load.c, as are these */
    struct cpti_stack_time *times;
    size_t time_capacity;
};

/* The rows of @batch in the order of their partitions; and the end of the part that
 * begins at row @from and may be sent at once. */
void cpti_batch_sort(struct cpti_batch *batch);
size_t cpti_batch_part(const struct cpti_batch *batch, size_t from);

/* Sends what is in shard->filling, on a thread, when the batch before it has arrived.
 * CPT_OK, or what became of that one; see cpti_store_load_add(). */
cpt_status cpti_shard_send(const struct cpti_store *store, struct cpti_shard *shard,
                           struct cpt_error *error);

/* Waits for the batch that is being sent to @shard, and forgets what is left. */
void cpti_shard_end(struct cpti_shard *shard);

/* Runs @statement, which has no answer, on @shard, with @rows behind it if that is not
 * NULL. Errors as of cpti_http_run(). */
cpt_status cpti_shard_run(const struct cpti_store *store, struct cpti_shard *shard,
                          const char *statement, const struct cpti_rows *rows,
                          struct cpt_error *error);

#endif
