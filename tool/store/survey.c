/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * survey.c - the questions before the sums: services, keys, weights of latencies, and
 * the places that a sample is drawn from
 *
 * The answers of all shards are kept until all have arrived. Then the caller's thread
 * reads their rows, shard by shard.
 */
#include "tool/store/query.h"

#include <inttypes.h>

/* A kind of question: how to write it and how to read its rows. */
struct survey {
    void (*write)(struct cpti_packed *sql, const struct cpti_store_question *question,
                  const void *detail);
    const void *detail;
    /* Reads a row at *@at and passes it on. CPT_TRUNCATED if it is not complete. */
    cpt_status (*read)(const unsigned char **at, const unsigned char *end, size_t shard,
                       void *context);
    void *context;
};

struct answer {
    const struct survey *survey;
    struct cpti_packed rows;
};

static cpt_status survey_shard(struct cpti_query *query, struct cpt_error *error)
{
    struct answer *answer = query->context;

    answer->survey->write(&query->sql, query->question, answer->survey->detail);
    return cpti_query_run(query, cpti_query_keep, &answer->rows, 0, error);
}

static cpt_status read_rows(const struct answer *answer, size_t shard,
                            struct cpt_error *error)
{
    const unsigned char *at = answer->rows.data;
    const unsigned char *end = answer->rows.bytes == 0 ? at : at + answer->rows.bytes;
    cpt_status status = CPT_OK;

    while (at != end && status == CPT_OK) {
        status = answer->survey->read(&at, end, shard, answer->survey->context);
    }
    if (status == CPT_TRUNCATED) {
        return cpt_error_set(error, CPT_CORRUPT, 0, "the answer ends within a row");
    }
    return status == CPT_OK
               ? CPT_OK
               : cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
}

static cpt_status survey_all(const struct cpti_store *store,
                             const struct cpti_store_question *question,
                             const struct survey *survey, struct cpt_error *error)
{
    struct answer answers[CPTI_STORE_SHARDS_MAX] = {{0}};
    const struct cpti_query_options options = {
        .ask = survey_shard, .contexts = answers, .context_bytes = sizeof answers[0]};
    cpt_status status;

    for (size_t i = 0; i < store->shard_count; i++) {
        answers[i].survey = survey;
    }
    status = cpti_query_shards(store, question, &options, error);
    for (size_t i = 0; i < store->shard_count; i++) {
        if (status == CPT_OK) {
            status = read_rows(&answers[i], i, error);
        }
        cpti_packed_deinit(&answers[i].rows);
    }
    return status;
}

/* --- Services --- */

struct service_visitor {
    cpt_status (*visit)(void *context, const struct cpti_store_service *service);
    void *context;
};

static void write_services(struct cpti_packed *sql,
                           const struct cpti_store_question *question,
                           const void *detail)
{
    const char *forced = cpti_sql_forced(question);
    const char *root = cpti_sql_root(question);

    (void)detail;
    cpti_sql_add(sql,
                 "SELECT service, count(), countIf(NOT (%s) AND c), "
                 "countIf(NOT (%s) AND (%s) AND c), ",
                 root, forced, root);
    cpti_sql_add(sql,
                 "countIf(NOT f AND (%s) AND (%s) AND c), "
                 "countIf(f AND (%s) AND (%s) AND c) FROM (SELECT service, is_forced, "
                 "is_local_root, (%s) AS f, ",
                 forced, root, forced, root, cpti_sql_fragment(question));
    cpti_sql_selected(sql, question);
    cpti_sql_add(sql, " AS c FROM cpt_requests FINAL WHERE ");
    cpti_sql_range(sql, question);
    cpti_sql_add(sql, ") GROUP BY service FORMAT RowBinary");
}

static cpt_status read_service(const unsigned char **at, const unsigned char *end,
                               size_t shard, void *context)
{
    const struct service_visitor *visitor = context;
    struct cpti_store_service service;

    (void)shard;
    if (!cpti_row_get_text(at, end, &service.name) ||
        !cpti_row_get_u64(at, end, &service.record_count) ||
        !cpti_row_get_u64(at, end, &service.local_root_count) ||
        !cpti_row_get_u64(at, end, &service.forced_count) ||
        !cpti_row_get_u64(at, end, &service.fragment_count) ||
        !cpti_row_get_u64(at, end, &service.selected_count)) {
        return CPT_TRUNCATED;
    }
    return visitor->visit(visitor->context, &service);
}

cpt_status cpti_store_survey(
    struct cpti_store *store, const struct cpti_store_question *question,
    cpt_status (*visit)(void *context, const struct cpti_store_service *service),
    void *context, struct cpt_error *error)
{
    struct service_visitor visitor = {visit, context};
    const struct survey survey = {
        .write = write_services, .read = read_service, .context = &visitor};

    return survey_all(store, question, &survey, error);
}

/* --- Keys --- */

static void write_has_key(struct cpti_packed *sql,
                          const struct cpti_store_question *question,
                          const void *detail)
{
    const struct cpt_bytes *key = detail;

    (void)question;
    cpti_sql_add(sql, "SELECT count() FROM (SELECT id FROM cpt_requests WHERE "
                      "has(attributes.key, ");
    cpti_sql_hex(sql, *key);
    cpti_sql_add(sql, ") LIMIT 1) FORMAT RowBinary");
}

static cpt_status read_has_key(const unsigned char **at, const unsigned char *end,
                               size_t shard, void *context)
{
    int *has_key = context;
    uint64_t count = 0;

    (void)shard;
    if (!cpti_row_get_u64(at, end, &count)) {
        return CPT_TRUNCATED;
    }
    *has_key |= count != 0;
    return CPT_OK;
}

cpt_status cpti_store_has_key(struct cpti_store *store, struct cpt_bytes key,
                              int *has_key, struct cpt_error *error)
{
    const struct cpti_store_question question = {.until_ns = UINT64_MAX};
    const struct survey survey = {.write = write_has_key,
                                  .detail = &key,
                                  .read = read_has_key,
                                  .context = has_key};

    *has_key = 0;
    return survey_all(store, &question, &survey, error);
}

/* --- Weights of latencies --- */

struct weight_visitor {
    cpt_status (*visit)(void *context, uint64_t number, uint64_t low_sum,
                        uint64_t high_sum);
    void *context;
};

static void write_weights(struct cpti_packed *sql,
                          const struct cpti_store_question *question,
                          const void *detail)
{
    const struct cpti_store_span *span = detail;

    cpti_sql_add(sql,
                 "SELECT bitShiftRight(toUInt64(latency_ns - %" PRIu64 "), %u) AS b, "
                 "sum(bitAnd(w, 4294967295)), sum(bitShiftRight(w, 32)) FROM "
                 "(SELECT latency_ns, ",
                 span->from_ns, span->shift);
    cpti_sql_weight(sql, question);
    cpti_sql_add(sql, " FROM cpt_requests FINAL");
    cpti_sql_where(sql, question);
    cpti_sql_add(sql,
                 " AND latency_ns >= %" PRIu64 " AND latency_ns <= %" PRIu64
                 ") GROUP BY b FORMAT RowBinary",
                 span->from_ns, span->to_ns);
}

static cpt_status read_weight(const unsigned char **at, const unsigned char *end,
                              size_t shard, void *context)
{
    const struct weight_visitor *visitor = context;
    uint64_t number;
    uint64_t low_sum;
    uint64_t high_sum;

    (void)shard;
    if (!cpti_row_get_u64(at, end, &number) || !cpti_row_get_u64(at, end, &low_sum) ||
        !cpti_row_get_u64(at, end, &high_sum)) {
        return CPT_TRUNCATED;
    }
    return visitor->visit(visitor->context, number, low_sum, high_sum);
}

cpt_status cpti_store_weigh(struct cpti_store *store,
                            const struct cpti_store_question *question,
                            const struct cpti_store_span *span,
                            cpt_status (*visit)(void *context, uint64_t number,
                                                uint64_t low_sum, uint64_t high_sum),
                            void *context, struct cpt_error *error)
{
    struct weight_visitor visitor = {visit, context};
    const struct survey survey = {.write = write_weights,
                                  .detail = span,
                                  .read = read_weight,
                                  .context = &visitor};

    return survey_all(store, question, &survey, error);
}

/* --- Places --- */

struct place_visitor {
    cpt_status (*visit_source)(void *context, struct cpt_bytes name, uint64_t hash);
    cpt_status (*visit_place)(void *context, const struct cpti_store_place *place);
    void *context;
};

static void write_sources(struct cpti_packed *sql,
                          const struct cpti_store_question *question,
                          const void *detail)
{
    (void)detail;
    cpti_sql_add(sql, "SELECT source, cityHash64(source) FROM cpt_requests WHERE ");
    cpti_sql_range(sql, question);
    cpti_sql_add(sql, " GROUP BY source FORMAT RowBinary");
}

static cpt_status read_source(const unsigned char **at, const unsigned char *end,
                              size_t shard, void *context)
{
    const struct place_visitor *visitor = context;
    struct cpt_bytes name;
    uint64_t hash;

    (void)shard;
    if (!cpti_row_get_text(at, end, &name) || !cpti_row_get_u64(at, end, &hash)) {
        return CPT_TRUNCATED;
    }
    return visitor->visit_source(visitor->context, name, hash);
}

static void write_places(struct cpti_packed *sql,
                         const struct cpti_store_question *question, const void *detail)
{
    (void)detail;
    cpti_sql_add(sql, "SELECT h, ordinal, id FROM (SELECT cityHash64(source) AS h, "
                      "ordinal, id, ");
    cpti_sql_weight(sql, question);
    cpti_sql_add(sql, " FROM cpt_requests FINAL");
    cpti_sql_where(sql, question);
    cpti_sql_add(sql, ") FORMAT RowBinary");
}

static cpt_status read_place(const unsigned char **at, const unsigned char *end,
                             size_t shard, void *context)
{
    const struct place_visitor *visitor = context;
    struct cpti_store_place place = {.pick.shard = shard};

    if (!cpti_row_get_u64(at, end, &place.source) ||
        !cpti_row_get_u64(at, end, &place.ordinal) ||
        !cpti_row_get_u64(at, end, &place.pick.id)) {
        return CPT_TRUNCATED;
    }
    return visitor->visit_place(visitor->context, &place);
}

cpt_status cpti_store_places(
    struct cpti_store *store, const struct cpti_store_question *question,
    cpt_status (*visit_source)(void *context, struct cpt_bytes name, uint64_t hash),
    cpt_status (*visit_place)(void *context, const struct cpti_store_place *place),
    void *context, struct cpt_error *error)
{
    struct place_visitor visitor = {visit_source, visit_place, context};
    struct survey survey = {
        .write = write_sources, .read = read_source, .context = &visitor};
    cpt_status status = survey_all(store, question, &survey, error);

    if (status == CPT_OK) {
        survey.write = write_places;
        survey.read = read_place;
        status = survey_all(store, question, &survey, error);
    }
    return status;
}
