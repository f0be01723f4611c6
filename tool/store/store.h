/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * store.h - requests in ClickHouse, and trees from them
 *
 * A database is for requests that exceed the files of one machine, or that are queried
 * often and in different ways. It has one row for each request, with its stacks in
 * arrays. The database selects and adds up; from its sums the tool makes the same tree,
 * bit for bit, as from the path logs (see ask.c).
 *
 *      paths.cptlog --> cpti_store_load_* --> shard 0: cpt_requests, cpt_stacks
 *                                         '-> shard 1: …
 *      cpt_tree     <-- cpti_store_ask    <-- sums of each shard
 *
 * An address is
 *
 *      clickhouse://[USER@]HOST:PORT[,HOST:PORT]…/DATABASE
 *
 * with the HTTP ports of all shards; clickhouses:// uses HTTPS. The password is in the
 * environment variable CPT_CLICKHOUSE_PASSWORD. The identity of a request selects its
 * shard, so the list of shards must not change.
 *
 * Each request has an identity (load.c): the same request counts once, also if it is
 * loaded again from whatever log, or sent twice because an answer was lost.
 *
 * In order of use: cpti_store_open; cpti_store_create, cpti_store_load_add …, _end; or
 * cpti_store_survey, cpti_store_ask; cpti_store_close.
 *
 * Threads: one at a time for each store.
 */
#ifndef CPTI_STORE_H
#define CPTI_STORE_H

#include "tool/store/expression_sql.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpt_path;
struct cpt_record;
struct cpt_tree;
struct cpti_store;

/* Limits of an address. */
enum {
    CPTI_STORE_SHARDS_MAX = 64,
    CPTI_STORE_ADDRESS_BYTES_MAX = 4096,
    CPTI_STORE_NAME_BYTES_MAX = 64 /* of a database */
};

/* Parses @address, without connecting. The caller owns *@store. CPT_OK; CPT_INVALID
 * with the reason in @error; CPT_UNAVAILABLE without libcurl; CPT_NO_MEMORY. */
cpt_status cpti_store_open(const char *address, struct cpti_store **store,
                           struct cpt_error *error);
void cpti_store_close(struct cpti_store *store);

/* Creates the database and its tables on each shard that lacks them. Errors as of
 * cpti_store_ask(). */
cpt_status cpti_store_create(struct cpti_store *store, struct cpt_error *error);

/* --- Loading --- */

/* Defaults: the time of retries for a shard that does not answer, and the rows of a
 * batch. */
enum { CPTI_STORE_RETRY_SECONDS = 60, CPTI_STORE_BATCH_ROWS = 100000 };

void cpti_store_retry_for(struct cpti_store *store, unsigned seconds);
void cpti_store_batch_rows(struct cpti_store *store, size_t rows);
/* Records that are the same at different places of a log are different requests. */
void cpti_store_keep_copies(struct cpti_store *store, bool keeps_copies);

/*
 * Adds a request of the log @source: @record and its @path; the @weight of a random
 * sample (0: none, the request counts only as a forced one); and the number @ordinal of
 * the record in its log, part of its identity if copies are kept. Requests are sent in
 * batches; after cpti_store_load_end() all are in the database.
 *
 * CPT_OK; CPT_UNAVAILABLE if a shard failed after all retries; CPT_FAILED if it
 * refused; CPT_NO_MEMORY. After an error some requests may be missing: load the log
 * again, none will count twice.
 */
cpt_status cpti_store_load_add(struct cpti_store *store, const char *source,
                               const struct cpt_record *record,
                               const struct cpt_path *path, uint64_t weight,
                               uint64_t ordinal, struct cpt_error *error);

/* Sends the last batches and waits for all. Errors as above. */
cpt_status cpti_store_load_end(struct cpti_store *store, struct cpt_error *error);

/* --- Questions --- */

/* A value, as each type that an attribute can have. */
struct cpti_store_value {
    struct cpt_bytes text;
    unsigned number;  /* enum cpti_number */
    int truth;        /* 0, 1, or -1: neither */
    bool is_simple;   /* of KEY=VALUE: an integer is compared as a float with floats */
    bool reads_texts; /* a text that is a number is compared as a number */
    int64_t integer;
    double real;
    uint64_t ns; /* of a latency, start or stack */
};

/* A frame of a stack: the name of work, or a frame as it is shown. */
struct cpti_store_frame {
    struct cpt_bytes text;
    bool is_shown;
};

/* One comparison. None holds for a missing attribute or trace id. */
struct cpti_store_term {
    unsigned subject;     /* enum cpti_subject */
    unsigned relation;    /* enum cpti_comparison */
    struct cpt_bytes key; /* of the attribute */
    const struct cpti_store_value *values;
    size_t value_count; /* 1; more for lists; 0 for CPTI_RELATION_HAS */
    const struct cpti_store_frame *frames;
    size_t frame_count;
};

/* The identity and shard of a chosen request. */
struct cpti_store_pick {
    uint64_t id;
    size_t shard;
};

/*
 * Which requests count: those for which a condition holds, in a time window (wall
 * clock) and of an entry service.
 *
 * The database cannot decide exactly for each request whether the condition holds: a
 * text such as "1e3" may be compared with a number. All answers leave out such
 * undecided requests, except those of cpti_store_undecided() and cpti_store_rows().
 */
struct cpti_store_question {
    uint64_t since_ns;
    uint64_t until_ns;      /* UINT64_MAX: no limit */
    struct cpt_bytes entry; /* data NULL: any service */
    struct cpt_bytes shown; /* or this one, which is shown as the text in `entry` */
    const struct cpti_store_term *terms;
    size_t term_count;
    const struct cpti_condition_sign *signs; /* of the condition; none: it holds */
    size_t sign_count;
    bool includes_forced;
    bool includes_fragments;
    bool includes_local_roots;
    bool weighs_all_one;                 /* each request counts 1 */
    const struct cpti_store_pick *picks; /* if not NULL: these, without the condition */
    size_t pick_count;
};

/* Counts of one entry service. */
struct cpti_store_service {
    struct cpt_bytes name;
    uint64_t record_count;     /* in the window and of the entry service */
    uint64_t local_root_count; /* excluded as inner services' own */
    uint64_t forced_count;     /* excluded as forced */
    uint64_t fragment_count;   /* excluded as fragments */
    uint64_t selected_count;
};

/* Calls @visit for each service of each shard: the same service may come once for each
 * shard. A status of @visit other than CPT_OK is returned. Errors as below. */
cpt_status cpti_store_survey(
    struct cpti_store *store, const struct cpti_store_question *question,
    cpt_status (*visit)(void *context, const struct cpti_store_service *service),
    void *context, struct cpt_error *error);

/*
 * Makes the tree of the selected requests, which the caller owns. All shards are asked
 * at the same time, and all must answer.
 *
 * CPT_OK; CPT_UNAVAILABLE if a shard does not answer; CPT_FAILED if it refuses, with
 * its reason in @error; CPT_CORRUPT if its answer is invalid; CPT_LIMIT; CPT_NO_MEMORY.
 */
cpt_status cpti_store_ask(struct cpti_store *store,
                          const struct cpti_store_question *question,
                          struct cpt_tree **tree, struct cpt_error *error);

/* A request. What it points to is borrowed until the callback returns. */
struct cpti_store_row {
    struct cpti_store_pick pick;
    struct cpt_bytes source; /* the log, and the record's number in it */
    uint64_t ordinal;
    uint64_t weight;                 /* 0: only a forced one */
    const struct cpt_record *record; /* with path_bytes, without parent id */
};

/* Whether there may be undecided requests. */
bool cpti_store_has_undecided(const struct cpti_store_question *question);

/* Visits a request; anything but CPT_OK ends the walk. */
typedef cpt_status (*cpti_store_row_fn)(void *context,
                                        const struct cpti_store_row *row);

/* Calls @visit for each undecided request, also forced ones and those of inner
 * services, one after the other on the caller's thread. Errors as above, and the status
 * of @visit. */
cpt_status cpti_store_undecided(struct cpti_store *store,
                                const struct cpti_store_question *question,
                                cpti_store_row_fn visit, void *context,
                                struct cpt_error *error);

/* The same for all requests that are or may be selected, in any order. */
cpt_status cpti_store_rows(struct cpti_store *store,
                           const struct cpti_store_question *question,
                           cpti_store_row_fn visit, void *context,
                           struct cpt_error *error);

/* The position of a selected request in the order of logs. */
struct cpti_store_place {
    uint64_t source; /* a hash of its log's name */
    uint64_t ordinal;
    struct cpti_store_pick pick;
};

/* Calls @visit_source for each log, with its name and hash, then @visit_place for each
 * selected request with a weight, in any order. Errors as above. */
cpt_status cpti_store_places(
    struct cpti_store *store, const struct cpti_store_question *question,
    cpt_status (*visit_source)(void *context, struct cpt_bytes name, uint64_t hash),
    cpt_status (*visit_place)(void *context, const struct cpti_store_place *place),
    void *context, struct cpt_error *error);

/* Latencies from @from_ns to @to_ns inclusive, in steps of 2^@shift ns. */
struct cpti_store_span {
    uint64_t from_ns;
    uint64_t to_ns;
    unsigned shift; /* below 64 */
};

/* Adds up the weights of the selected requests for each step of @span, and calls @visit
 * with the step's number and the sums of the low 32 bits and of the bits above; the
 * same number may come once for each shard. Errors as above. */
cpt_status cpti_store_weigh(struct cpti_store *store,
                            const struct cpti_store_question *question,
                            const struct cpti_store_span *span,
                            cpt_status (*visit)(void *context, uint64_t number,
                                                uint64_t low_sum, uint64_t high_sum),
                            void *context, struct cpt_error *error);

/* Sets *@has_key to whether a request has the attribute @key. Errors as above. */
cpt_status cpti_store_has_key(struct cpti_store *store, struct cpt_bytes key,
                              int *has_key, struct cpt_error *error);

#endif
