/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * query.h - a question to all shards, each on a thread of its own
 *
 *      cpti_query_shards --+-- thread: stacks, marks, statement --> shard 0
 *                      '-- thread: stacks, marks, statement --> shard 1
 *
 * A condition on the time of a stack needs the stacks it means. Which these are is
 * found out here, as it takes their names, and goes with the statement as a table of
 * its own: cpt_3 holds the *marks* of term 3, the identities of all stacks that end
 * with its frames and have none that does above them. So what they have in common
 * counts once.
 *
 * Threads: what is a shard's is touched by its thread only, until all have ended.
 */
#ifndef CPTI_QUERY_H
#define CPTI_QUERY_H

#include "cpt/cli/store/sql.h"
#include "cpt/cli/store/store_parts.h"

/* Tables that go with a statement: one a term, and the picks. */
enum { CPTI_TABLES_MAX = 257 };

/* One shard being asked. */
struct cpti_query {
    const struct cpti_store *store;
    const struct cpti_store_question *question;
    size_t shard;
    struct cpti_stacks stacks; /* that the shard knows, if they are needed */
    struct cpti_rows sql;
    struct cpti_rows marks[CPTI_TABLES_MAX]; /* the last are the picks */
    void *context;                           /* of the shard */
    cpt_status status;
    struct cpt_error error;
};

/* What is done with each shard. */
typedef cpt_status (*cpti_query_fn)(struct cpti_query *query, struct cpt_error *error);

/* How all shards are asked. */
struct cpti_query_options {
    cpti_query_fn ask;
    void *contexts;
    size_t context_bytes;
    int needs_stacks;
    int is_by_turns; /* one shard after the other, on this thread */
};

/*
 * Calls options->ask for all shards of @store, with context_bytes times its number into
 * `contexts` as context. needs_stacks: they are there even if no term needs them.
 *
 * CPT_OK, or what the first shard that failed said.
 */
cpt_status cpti_query_shards(const struct cpti_store *store,
                             const struct cpti_store_question *question,
                             const struct cpti_query_options *options,
                             struct cpt_error *error);

/* Runs query->sql, with its tables if @has_tables. Rows have up to @row_bytes_max
 * bytes; 0: 64 KiB. */
cpt_status cpti_query_run(struct cpti_query *query, cpti_http_rows_fn rows,
                          void *context, size_t row_bytes_max, struct cpt_error *error);

/* The tables of the marks of each term of @question, from query->stacks; marks.c. */
cpt_status cpti_marks_make(struct cpti_query *query, struct cpt_error *error);

/* Whether any term of @question looks at stacks. */
int cpti_marks_needed(const struct cpti_store_question *question);

/* Takes all bytes of an answer to the struct cpti_rows @context. */
cpt_status cpti_query_keep(void *context, const unsigned char *data, size_t bytes,
                           size_t *used, struct cpt_error *error);

#endif
