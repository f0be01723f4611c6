/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * query.h - a question to all shards, each asked by its own thread
 *
 *      cpti_query_shards --+-- thread: stacks, marks, statement --> shard 0
 *                          '-- thread: stacks, marks, statement --> shard 1
 *
 * A condition on the time of stacks names frames, but rows hold stacks as numbers. So
 * the tool finds these numbers itself and sends them with the statement, as a table:
 * cpt_3 holds the *marks* of term 3, the identities of all stacks that end with its
 * frames, except those below another such stack. So common time counts once.
 *
 * Threads: until all threads have ended, only the thread of a shard uses its query.
 */
#ifndef CPTI_QUERY_H
#define CPTI_QUERY_H

#include "tool/store/sql.h"
#include "tool/store/store_parts.h"

/* The most tables of a statement: one for each term, and the last for the picks. */
enum { CPTI_TABLES_MAX = 257 };

/* A question to one shard. */
struct cpti_query {
    const struct cpti_store *store;
    const struct cpti_store_question *question;
    size_t shard;
    struct cpti_stacks stacks; /* of the shard, if they are needed */
    struct cpti_packed sql;
    struct cpti_packed marks[CPTI_TABLES_MAX]; /* the last one: the picks */
    void *context;                             /* for the shard */
    cpt_status status;
    struct cpt_error error;
};

/* Asks one shard. */
typedef cpt_status (*cpti_query_fn)(struct cpti_query *query, struct cpt_error *error);

/* How all shards are asked. */
struct cpti_query_options {
    cpti_query_fn ask;
    void *contexts;
    size_t context_bytes;
    bool needs_stacks; /* fill in query->stacks even if no term needs them */
    bool is_by_turns;  /* one shard after the other, on the caller's thread */
};

/* Calls options->ask for each shard of @store. The context of shard i begins at
 * i * context_bytes in `contexts`. Returns CPT_OK, or the first error in the order of
 * the shards. */
cpt_status cpti_query_shards(const struct cpti_store *store,
                             const struct cpti_store_question *question,
                             const struct cpti_query_options *options,
                             struct cpt_error *error);

/* Runs query->sql with its tables. Rows have at most @row_bytes_max bytes; 0: 64
 * KiB. */
cpt_status cpti_query_run(struct cpti_query *query, cpti_http_rows_fn rows,
                          void *context, size_t row_bytes_max, struct cpt_error *error);

/* Fills in query->marks for each term, from query->stacks; marks.c. */
cpt_status cpti_marks_make(struct cpti_query *query, struct cpt_error *error);

/* Whether a term of @question names stacks. */
bool cpti_marks_needed(const struct cpti_store_question *question);

/* A cpti_http_rows_fn that appends an answer to the struct cpti_packed @context. */
cpt_status cpti_query_keep(void *context, const unsigned char *data, size_t bytes,
                           size_t *used, struct cpt_error *error);

#endif
