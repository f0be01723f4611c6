/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* query.c - a question to all shards, each on a thread of its own; see query.h */
#include "cpt/cli/store/query.h"

#include "cpt/cpt_alloc.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

/* --- What statements are made of --- */

const char *cpti_forced_condition(const struct cpti_store_question *question)
{
    return question->includes_forced ? "1" : "is_forced = 0";
}

const char *cpti_root_condition(const struct cpti_store_question *question)
{
    return question->includes_local_roots ? "1" : "is_local_root = 0";
}

void cpti_sql_weight(struct cpti_rows *sql, const struct cpti_store_question *question)
{
    cpti_sql_add(sql, "%s AS w",
                 question->weighs_all_one ? "toUInt64(1048576)" : "weight");
}

void cpti_sql_where(struct cpti_rows *sql, const struct cpti_store_question *question)
{
    cpti_sql_add(sql, " WHERE ");
    cpti_sql_range(sql, question);
    cpti_sql_add(sql, " AND (%s) AND (%s) AND w > 0 AND ",
                 cpti_forced_condition(question), cpti_root_condition(question));
    cpti_sql_selected(sql, question);
}

/* --- Stacks --- */

static cpt_status take_stack(void *context, const unsigned char *data, size_t bytes,
                             size_t *used, struct cpt_error *error)
{
    struct cpti_asking *asking = context;
    const unsigned char *at = data;
    const unsigned char *end = data + bytes;
    struct cpt_bytes name;
    uint64_t id;
    uint64_t parent;
    unsigned kind;
    int is_new;
    cpt_status status;

    *used = 0;
    if (!cpti_row_get_u64(&at, end, &id) || !cpti_row_get_u64(&at, end, &parent) ||
        !cpti_row_get_u16(&at, end, &kind) || !cpti_row_get_text(&at, end, &name)) {
        return CPT_OK;
    }
    *used = (size_t)(at - data);
    status = cpti_stacks_add(&asking->stacks, id, parent, kind, name, &is_new);
    return status == CPT_OK
               ? CPT_OK
               : cpt_error_set(error, status, 0, "stack %016" PRIx64 ": %s", id,
                               status == CPT_CORRUPT
                                   ? "its number means two different things"
                                   : cpt_status_sentence(status));
}

static cpt_status read_stacks(struct cpti_asking *asking, struct cpt_error *error)
{
    cpti_sql_add(&asking->sql, "SELECT id, parent, kind, name FROM cpt_stacks "
                               "GROUP BY id, parent, kind, name FORMAT RowBinary");
    return cpti_asking_run(asking, take_stack, asking, 0, error);
}

/* --- One statement --- */

cpt_status cpti_asking_keep(void *context, const unsigned char *data, size_t bytes,
                            size_t *used, struct cpt_error *error)
{
    struct cpti_rows *kept = context;

    cpti_row_bytes(kept, data, bytes);
    *used = bytes;
    return kept->has_failed ? cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory")
                            : CPT_OK;
}

static size_t list_tables(const struct cpti_asking *asking, char (*names)[16],
                          struct cpti_http_table *tables)
{
    const struct cpti_store_question *question = asking->question;
    size_t count = 0;

    for (size_t i = 0; i < CPTI_TABLES_MAX; i++) {
        const int are_picks = i == CPTI_TABLES_MAX - 1;

        if (are_picks ? question->picks == NULL
                      : question->picks != NULL || i >= question->term_count ||
                            question->terms[i].field != CPTI_STORE_STACK) {
            continue;
        }
        (void)snprintf(names[count], sizeof names[count],
                       are_picks ? "cpt_picks" : "cpt_%zu", i);
        tables[count] = (struct cpti_http_table){
            .name = names[count],
            .structure = "id UInt64",
            .data =
                asking->marks[i].bytes != 0 ? (const void *)asking->marks[i].data : "",
            .bytes = asking->marks[i].bytes,
        };
        count++;
    }
    return count;
}

cpt_status cpti_asking_run(struct cpti_asking *asking, cpti_http_rows_fn rows,
                           void *context, size_t row_bytes_max, struct cpt_error *error)
{
    char names[CPTI_TABLES_MAX][16];
    struct cpti_http_table tables[CPTI_TABLES_MAX];
    const struct cpti_http_call call = {
        .database = asking->store->database,
        .statement = cpti_sql_text(&asking->sql),
        .tables = tables,
        .table_count = rows != take_stack ? list_tables(asking, names, tables) : 0,
        .rows = rows,
        .context = context,
        .row_bytes_max = row_bytes_max,
    };
    cpt_status status;

    if (call.statement == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    status = cpti_http_run(asking->store->shards[asking->shard].http, &call, error);
    asking->sql.bytes = 0;
    return status;
}

/* --- All shards --- */

static cpt_status make_picks(struct cpti_asking *asking, struct cpt_error *error)
{
    const struct cpti_store_question *question = asking->question;
    struct cpti_rows *picks = &asking->marks[CPTI_TABLES_MAX - 1];

    for (size_t i = 0; i < question->pick_count; i++) {
        if (question->picks[i].shard == asking->shard) {
            cpti_row_u64(picks, question->picks[i].id);
        }
    }
    return picks->has_failed ? cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory")
                             : CPT_OK;
}

struct job {
    struct cpti_asking asking;
    const struct cpti_ask_how *how;
    pthread_t thread;
    int has_thread;
};

static void *run_job(void *context)
{
    struct job *job = context;
    struct cpti_asking *asking = &job->asking;
    const int needs_marks =
        asking->question->picks == NULL && cpti_marks_needed(asking->question);
    cpt_status status = CPT_OK;

    if (job->how->needs_stacks || needs_marks) {
        status = read_stacks(asking, &asking->error);
    }
    if (status == CPT_OK && needs_marks) {
        status = cpti_marks_make(asking, &asking->error);
    }
    if (status == CPT_OK && asking->question->picks != NULL) {
        status = make_picks(asking, &asking->error);
    }
    if (status == CPT_OK) {
        status = job->how->ask(asking, &asking->error);
    }
    asking->status = status;
    return NULL;
}

static void end_job(struct job *job)
{
    cpti_stacks_deinit(&job->asking.stacks);
    cpti_rows_deinit(&job->asking.sql);
    for (size_t i = 0; i < CPTI_TABLES_MAX; i++) {
        cpti_rows_deinit(&job->asking.marks[i]);
    }
}

cpt_status cpti_ask_each(const struct cpti_store *store,
                         const struct cpti_store_question *question,
                         const struct cpti_ask_how *how, struct cpt_error *error)
{
    struct job *jobs = cpt_alloc_zeroed(NULL, store->shard_count * sizeof *jobs);
    cpt_status status = CPT_OK;

    if (jobs == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    for (size_t i = 0; i < store->shard_count; i++) {
        struct job *job = &jobs[i];

        job->how = how;
        job->asking.store = store;
        job->asking.question = question;
        job->asking.shard = i;
        job->query.context = (char *)how->contexts + i * how->context_bytes;
        /* the last one is asked by this thread, as is one for which there is none */
        job->has_thread = i + 1 < store->shard_count && !how->is_by_turns &&
                          pthread_create(&job->thread, NULL, run_job, job) == 0;
        if (!job->has_thread) {
            (void)run_job(job);
        }
    }
    for (size_t i = 0; i < store->shard_count; i++) {
        if (jobs[i].has_thread) {
            (void)pthread_join(jobs[i].thread, NULL);
        }
        if (status == CPT_OK && jobs[i].asking.status != CPT_OK) {
            status = cpt_error_set(error, jobs[i].asking.status, 0, "%s",
                                   jobs[i].asking.error.sentence);
        }
        end_job(&jobs[i]);
    }
    cpt_alloc_free(NULL, jobs);
    return status;
}
