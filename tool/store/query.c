/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* query.c - a question to all shards, each asked by its own thread; see query.h */
#include "tool/store/query.h"

#include "cpt/cpt_alloc.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

/* --- Stacks --- */

static cpt_status take_stack(void *context, const unsigned char *data, size_t bytes,
                             size_t *used, struct cpt_error *error)
{
    struct cpti_query *query = context;
    const unsigned char *at = data;
    const unsigned char *end = data + bytes;
    struct cpt_bytes name;
    uint64_t id;
    uint64_t parent;
    unsigned kind;
    bool is_new;
    cpt_status status;

    *used = 0;
    if (!cpti_row_get_u64(&at, end, &id) || !cpti_row_get_u64(&at, end, &parent) ||
        !cpti_row_get_u16(&at, end, &kind) || !cpti_row_get_text(&at, end, &name)) {
        return CPT_OK;
    }
    *used = (size_t)(at - data);
    status = cpti_stacks_add(&query->stacks, id, parent, kind, name, &is_new);
    return status == CPT_OK
               ? CPT_OK
               : cpt_error_set(error, status, 0, "stack %016" PRIx64 ": %s", id,
                               status == CPT_CORRUPT
                                   ? "its number means two different things"
                                   : cpt_status_sentence(status));
}

static cpt_status read_stacks(struct cpti_query *query, struct cpt_error *error)
{
    cpti_sql_add(&query->sql, "SELECT id, parent, kind, name FROM cpt_stacks "
                              "GROUP BY id, parent, kind, name FORMAT RowBinary");
    return cpti_query_run(query, take_stack, query, 0, error);
}

/* --- One statement --- */

cpt_status cpti_query_keep(void *context, const unsigned char *data, size_t bytes,
                           size_t *used, struct cpt_error *error)
{
    struct cpti_packed *kept = context;

    cpti_row_bytes(kept, data, bytes);
    *used = bytes;
    return kept->has_failed ? cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory")
                            : CPT_OK;
}

static size_t list_tables(const struct cpti_query *query, char (*names)[16],
                          struct cpti_http_table *tables)
{
    const struct cpti_store_question *question = query->question;
    size_t count = 0;

    for (size_t i = 0; i < CPTI_TABLES_MAX; i++) {
        const bool are_picks = i == CPTI_TABLES_MAX - 1;

        if (are_picks ? question->picks == NULL
                      : question->picks != NULL || i >= question->term_count ||
                            question->terms[i].subject != CPTI_SUBJECT_PATH) {
            continue;
        }
        (void)snprintf(names[count], sizeof names[count],
                       are_picks ? "cpt_picks" : "cpt_%zu", i);
        tables[count] = (struct cpti_http_table){
            .name = names[count],
            .structure = "id UInt64",
            .data =
                query->marks[i].bytes != 0 ? (const void *)query->marks[i].data : "",
            .bytes = query->marks[i].bytes,
        };
        count++;
    }
    return count;
}

cpt_status cpti_query_run(struct cpti_query *query, cpti_http_rows_fn rows,
                          void *context, size_t row_bytes_max, struct cpt_error *error)
{
    char names[CPTI_TABLES_MAX][16];
    struct cpti_http_table tables[CPTI_TABLES_MAX];
    const struct cpti_store_call call = {
        .database = query->store->database,
        .statement = cpti_sql_text(&query->sql),
        .tables = tables,
        .table_count = rows != take_stack ? list_tables(query, names, tables) : 0,
        .rows = rows,
        .context = context,
        .row_bytes_max = row_bytes_max,
        .is_stream = row_bytes_max != 0, /* requests, one by one */
    };
    cpt_status status;

    if (call.statement == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    status = cpti_http_run(query->store->shards[query->shard].http, &call, error);
    query->sql.bytes = 0;
    return status;
}

/* --- All shards --- */

static cpt_status make_picks(struct cpti_query *query, struct cpt_error *error)
{
    const struct cpti_store_question *question = query->question;
    struct cpti_packed *picks = &query->marks[CPTI_TABLES_MAX - 1];

    for (size_t i = 0; i < question->pick_count; i++) {
        if (question->picks[i].shard == query->shard) {
            cpti_row_u64(picks, question->picks[i].id);
        }
    }
    return picks->has_failed ? cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory")
                             : CPT_OK;
}

struct job {
    struct cpti_query query;
    const struct cpti_query_options *options;
    pthread_t thread;
    bool has_thread;
};

static void *run_job(void *context)
{
    struct job *job = context;
    struct cpti_query *query = &job->query;
    const bool needs_marks =
        query->question->picks == NULL && cpti_marks_needed(query->question);
    cpt_status status = cpti_shard_know(&query->store->shards[query->shard],
                                        query->store->database, 0, &query->error);

    if (status == CPT_OK && (job->options->needs_stacks || needs_marks)) {
        status = read_stacks(query, &query->error);
    }
    if (status == CPT_OK && needs_marks) {
        status = cpti_marks_make(query, &query->error);
    }
    if (status == CPT_OK && query->question->picks != NULL) {
        status = make_picks(query, &query->error);
    }
    if (status == CPT_OK) {
        status = job->options->ask(query, &query->error);
    }
    query->status = status;
    return NULL;
}

static void end_job(struct job *job)
{
    cpti_stacks_deinit(&job->query.stacks);
    cpti_packed_deinit(&job->query.sql);
    for (size_t i = 0; i < CPTI_TABLES_MAX; i++) {
        cpti_packed_deinit(&job->query.marks[i]);
    }
}

cpt_status cpti_query_shards(const struct cpti_store *store,
                             const struct cpti_store_question *question,
                             const struct cpti_query_options *options,
                             struct cpt_error *error)
{
    struct job *jobs = cpt_alloc_zeroed(NULL, store->shard_count * sizeof *jobs);
    cpt_status status = CPT_OK;

    if (jobs == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    for (size_t i = 0; i < store->shard_count; i++) {
        struct job *job = &jobs[i];

        job->options = options;
        job->query.store = store;
        job->query.question = question;
        job->query.shard = i;
        job->query.context = (char *)options->contexts + i * options->context_bytes;
        /* this thread asks the last shard, and a shard that got no thread */
        job->has_thread = i + 1 < store->shard_count && !options->is_by_turns &&
                          pthread_create(&job->thread, NULL, run_job, job) == 0;
        if (!job->has_thread) {
            (void)run_job(job);
        }
    }
    for (size_t i = 0; i < store->shard_count; i++) {
        if (jobs[i].has_thread) {
            (void)pthread_join(jobs[i].thread, NULL);
        }
        if (status == CPT_OK && jobs[i].query.status != CPT_OK) {
            status = cpt_error_set(error, jobs[i].query.status, 0, "%s",
                                   jobs[i].query.error.sentence);
        }
        end_job(&jobs[i]);
    }
    cpt_alloc_free(NULL, jobs);
    return status;
}
