/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * store_parts.h - what a store is made of, for the files of this folder
 *
 * Threads: one at a time.
 */
#ifndef CPTI_STORE_PARTS_H
#define CPTI_STORE_PARTS_H

#include "cpt/store/http.h"
#include "cpt/store/row_binary.h"
#include "cpt/store/stacks.h"
#include "cpt/store/store.h"

/* Rows are sent if they have so many bytes, however few they are. */
enum { CPTI_BATCH_BYTES = 32 << 20 };

struct cpti_shard {
    struct cpti_http *http;
    struct cpti_rows requests; /* not sent yet */
    struct cpti_rows stacks;   /* that they need */
    struct cpti_stacks known;  /* what it has been sent, or will be with these */
    size_t row_count;
};

/* The time of a request on a stack, and on it or below. */
struct cpti_stack_time {
    uint64_t id;
    uint64_t self_ns;
    uint64_t inclusive_ns;
};

struct cpti_store {
    struct cpti_shard *shards;
    size_t shard_count;
    char database[CPTI_STORE_NAME_BYTES_MAX + 1];
    unsigned retry_seconds;
    size_t batch_rows;
    struct cpti_rows row; /* of one request; scratch of load.c, as are these */
    struct cpti_stack_time *times;
    size_t time_capacity;
};

/* Runs @statement, which has no answer, on @shard, with @rows behind it if that is not
 * NULL. Errors as of cpti_http_run(). */
cpt_status cpti_shard_run(const struct cpti_store *store, struct cpti_shard *shard,
                          const char *statement, const struct cpti_rows *rows,
                          struct cpt_error *error);

#endif
