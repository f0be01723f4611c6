/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * store.h - requests in ClickHouse, and trees out of it
 *
 * What does not fit the files of one machine, or is asked again and again in different
 * ways, goes to a database: one row a request, with its stacks in arrays. Selecting and
 * adding up is then done where the rows are; what comes back are sums, and they make
 * the same tree, bit for bit, as the path logs would (see ask.c).
 *
 *      paths.cptlog --> cpti_store_load_* --> shard 0: cpt_requests, cpt_stacks
 *                                         '-> shard 1: …
 *      cpt_tree     <-- cpti_store_ask    <-- sums of each shard
 *
 * An address is
 *
 *      clickhouse://[USER@]HOST:PORT[,HOST:PORT]…/DATABASE
 *
 * with the HTTP ports of all shards; clickhouses:// speaks HTTPS. The password is taken
 * from the environment, CPT_CLICKHOUSE_PASSWORD. A request belongs to the shard that
 * its identity chooses, so the list of shards must stay as it is.
 *
 * A request has an identity (load.c): the same record of the same log, loaded again or
 * sent twice because an answer was lost, counts once.
 *
 * In order of use: cpti_store_open; cpti_store_create, cpti_store_load_add …, _end; or
 * cpti_store_survey, cpti_store_ask; cpti_store_close.
 *
 * Threads: one at a time for each store.
 */
#ifndef CPTI_STORE_H
#define CPTI_STORE_H

#include "cpt/cpt_name.h"

struct cpt_path;
struct cpt_record;
struct cpt_tree;
struct cpti_store;

/* Limits of an address, and of what a request may have. */
enum {
    CPTI_STORE_SHARDS_MAX = 64,
    CPTI_STORE_ADDRESS_BYTES_MAX = 4096,
    CPTI_STORE_NAME_BYTES_MAX = 64 /* of a database */
};

/* Whether @text is meant as an address. */
int cpti_store_is_address(const char *text);

/*
 * Takes @address apart; nobody is spoken to yet. *@store is the caller's.
 *
 * CPT_OK; CPT_INVALID with the reason in @error; CPT_NO_MEMORY.
 */
cpt_status cpti_store_open(const char *address, struct cpti_store **store,
                           struct cpt_error *error);
void cpti_store_close(struct cpti_store *store);

size_t cpti_store_shard_count(const struct cpti_store *store);

/* Makes the database and its tables on each shard where they are missing. Errors as of
 * cpti_store_ask(). */
cpt_status cpti_store_create(struct cpti_store *store, struct cpt_error *error);

/* --- Loading --- */

/* How long a shard that does not answer is tried again, and how many rows it is sent at
 * once, if nothing else is said. */
enum { CPTI_STORE_RETRY_SECONDS = 60, CPTI_STORE_BATCH_ROWS = 100000 };

void cpti_store_retry_for(struct cpti_store *store, unsigned seconds);
void cpti_store_batch_rows(struct cpti_store *store, size_t rows);

/*
 * Adds one request of the log @source: @record, its @path, the @weight it has as one
 * that was sampled at random (0: none, then it counts only as a forced one), and the
 * number @ordinal of the record in its log, which is part of its identity. It is sent
 * with many others; what was added is safe after cpti_store_load_end().
 *
 * CPT_OK; CPT_UNAVAILABLE if a shard did not take it however often it was tried;
 * CPT_FAILED if it refused; CPT_NO_MEMORY. After an error the rest may or may not be
 * there: load the log again, nothing will count twice.
 */
cpt_status cpti_store_load_add(struct cpti_store *store, const char *source,
                               const struct cpt_record *record,
                               const struct cpt_path *path, uint64_t weight,
                               uint64_t ordinal, struct cpt_error *error);

/* Sends what is left. Errors as above. */
cpt_status cpti_store_load_end(struct cpti_store *store, struct cpt_error *error);

/* --- Asking --- */

/* What a term looks at. */
enum cpti_store_field {
    CPTI_STORE_SERVICE,
    CPTI_STORE_METHOD,
    CPTI_STORE_ENTRY,
    CPTI_STORE_STATUS,
    CPTI_STORE_FORCED,
    CPTI_STORE_RANDOM,
    CPTI_STORE_FAILED,
    CPTI_STORE_LOCAL_ROOT,
    CPTI_STORE_TRACE_ID,
    CPTI_STORE_LATENCY,
    CPTI_STORE_START,
    CPTI_STORE_ATTRIBUTE
};

enum cpti_store_relation {
    CPTI_STORE_EQUAL,
    CPTI_STORE_LESS,
    CPTI_STORE_AT_MOST,
    CPTI_STORE_GREATER,
    CPTI_STORE_AT_LEAST
};

/* A value, as each of what an attribute can be. */
struct cpti_store_value {
    struct cpt_bytes text;
    int truth;      /* 0, 1, or -1: neither */
    int is_integer; /* an integer may equal `integer` */
    int is_real;    /* a float may equal `real` */
    int is_round;   /* an integer, made a float, may equal `real` */
    int64_t integer;
    double real;
    uint64_t ns; /* of a latency or start */
};

/* One comparison. Relations other than equality are for latency and start. */
struct cpti_store_term {
    unsigned field;       /* enum cpti_store_field */
    unsigned relation;    /* enum cpti_store_relation */
    struct cpt_bytes key; /* of the attribute */
    struct cpti_store_value value;
};

/* Which requests count: those for which all terms hold, in a window of the wall clock
 * and of an entry service. */
struct cpti_store_question {
    uint64_t since_ns;
    uint64_t until_ns;      /* UINT64_MAX: no limit */
    struct cpt_bytes entry; /* no data: any service */
    const struct cpti_store_term *terms;
    size_t term_count;
    int includes_forced;
    int includes_local_roots;
    int weighs_all_one; /* each request counts one */
};

/* What there is of one entry service. */
struct cpti_store_service {
    struct cpt_bytes name;
    uint64_t record_count;     /* in the window and of the entry service */
    uint64_t local_root_count; /* left out as inner services' own */
    uint64_t forced_count;     /* left out because somebody forced them */
    uint64_t selected_count;
};

/*
 * Tells @meet of the services of each shard; the same may come once a shard. What @meet
 * returns is passed on if it is not CPT_OK. Errors as below.
 */
cpt_status cpti_store_survey(
    struct cpti_store *store, const struct cpti_store_question *question,
    cpt_status (*meet)(void *context, const struct cpti_store_service *service),
    void *context, struct cpt_error *error);

/*
 * Makes the tree of the selected requests, which the caller owns. All shards have to
 * answer.
 *
 * CPT_OK; CPT_UNAVAILABLE if a shard does not answer, CPT_FAILED if it refuses, with
 * what it said in @error; CPT_CORRUPT if what it said is none of the answers it can
 * give; CPT_LIMIT; CPT_NO_MEMORY.
 */
cpt_status cpti_store_ask(struct cpti_store *store,
                          const struct cpti_store_question *question,
                          struct cpt_tree **tree, struct cpt_error *error);

#endif
