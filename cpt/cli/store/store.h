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
    CPTI_STORE_ATTRIBUTE,
    CPTI_STORE_STACK /* the time on and below all stacks that end with its frames */
};

enum cpti_store_relation {
    CPTI_STORE_EQUAL,
    CPTI_STORE_NOT_EQUAL,
    CPTI_STORE_LESS,
    CPTI_STORE_AT_MOST,
    CPTI_STORE_GREATER,
    CPTI_STORE_AT_LEAST,
    CPTI_STORE_IN, /* equal to one of its values */
    CPTI_STORE_NOT_IN,
    CPTI_STORE_HAS /* it is there */
};

/* As what number a value can be compared. */
enum cpti_store_number {
    CPTI_STORE_NUMBER_NONE,
    CPTI_STORE_NUMBER_INTEGER,
    CPTI_STORE_NUMBER_REAL,
    CPTI_STORE_NUMBER_FLOAT_ONLY /* by floats only: of the simple form */
};

/* A value, as each of what an attribute can be. */
struct cpti_store_value {
    struct cpt_bytes text;
    unsigned number; /* enum cpti_store_number */
    int truth;       /* 0, 1, or -1: neither */
    int is_simple;   /* of KEY=VALUE: an integer is made a float to be compared with one
                      */
    int reads_texts; /* texts that read as a number are compared as one */
    int64_t integer;
    double real;
    uint64_t ns; /* of a latency, start or stack */
};

/* A frame of a stack: the name of some work, or how a frame is shown. */
struct cpti_store_frame {
    struct cpt_bytes text;
    int is_shown;
};

/* One comparison. Of an attribute or trace id that is not there none holds. */
struct cpti_store_term {
    unsigned field;       /* enum cpti_store_field */
    unsigned relation;    /* enum cpti_store_relation */
    struct cpt_bytes key; /* of the attribute */
    const struct cpti_store_value *values;
    size_t value_count; /* 1, but for lists; 0 to ask whether it is there */
    const struct cpti_store_frame *frames;
    size_t frame_count;
};

/* What a condition is written with, from left to right. */
enum cpti_store_sign {
    CPTI_STORE_TERM,
    CPTI_STORE_OPEN,
    CPTI_STORE_CLOSE,
    CPTI_STORE_AND,
    CPTI_STORE_OR,
    CPTI_STORE_NOT
};

struct cpti_store_part {
    uint16_t sign; /* enum cpti_store_sign */
    uint16_t term; /* of CPTI_STORE_TERM: its index */
};

/* A request that was picked, by its identity and shard. */
struct cpti_store_pick {
    uint64_t id;
    size_t shard;
};

/*
 * Which requests count: those for which a condition holds, in a window of the wall
 * clock and of an entry service.
 *
 * There are requests of which the database cannot say exactly whether the condition
 * holds: a text such as "1e3" is compared with a number. All answers but those of
 * cpti_store_undecided() are about the others.
 */
struct cpti_store_question {
    uint64_t since_ns;
    uint64_t until_ns;      /* UINT64_MAX: no limit */
    struct cpt_bytes entry; /* no data: any service */
    const struct cpti_store_term *terms;
    size_t term_count;
    const struct cpti_store_part *parts; /* of the condition; none: it holds */
    size_t part_count;
    int includes_forced;
    int includes_local_roots;
    int weighs_all_one;                  /* each request counts one */
    const struct cpti_store_pick *picks; /* if there, these and no condition */
    size_t pick_count;
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
 * Tells @visit of the services of each shard; the same may come once a shard. What
 * @visit returns is passed on if it is not CPT_OK. Errors as below.
 */
cpt_status cpti_store_survey(
    struct cpti_store *store, const struct cpti_store_question *question,
    cpt_status (*visit)(void *context, const struct cpti_store_service *service),
    void *context, struct cpt_error *error);

/*
 * Makes the tree of the selected requests, which the caller owns. All shards have to
 * answer; they are asked at the same time.
 *
 * CPT_OK; CPT_UNAVAILABLE if a shard does not answer, CPT_FAILED if it refuses, with
 * what it said in @error; CPT_CORRUPT if what it said is none of the answers it can
 * give; CPT_LIMIT; CPT_NO_MEMORY.
 */
cpt_status cpti_store_ask(struct cpti_store *store,
                          const struct cpti_store_question *question,
                          struct cpt_tree **tree, struct cpt_error *error);

/* A request as a row. What it points to is borrowed until the callback returns. */
struct cpti_store_row {
    struct cpti_store_pick pick;
    struct cpt_bytes source; /* the log, and its number there */
    uint64_t ordinal;
    uint64_t weight;                 /* 0: only a forced one */
    const struct cpt_record *record; /* with path_bytes; without parent id */
};

/* Whether there may be requests that the database cannot decide about. */
int cpti_store_has_undecided(const struct cpti_store_question *question);

/* What meets rows; anything but CPT_OK ends it. */
typedef cpt_status (*cpti_store_row_fn)(void *context,
                                        const struct cpti_store_row *row);

/*
 * Gives @visit those requests, one after the other on the caller's thread, whatever the
 * condition, and those of inner services and forced ones, too. Errors as above, and
 * what @visit returns.
 */
cpt_status cpti_store_undecided(struct cpti_store *store,
                                const struct cpti_store_question *question,
                                cpti_store_row_fn visit, void *context,
                                struct cpt_error *error);

/* The same with all requests that are selected, and those that may be; in any order. */
cpt_status cpti_store_rows(struct cpti_store *store,
                           const struct cpti_store_question *question,
                           cpti_store_row_fn visit, void *context,
                           struct cpt_error *error);

/* The place of a selected request among all. */
struct cpti_store_place {
    uint64_t source; /* a hash of its log's name */
    uint64_t ordinal;
    struct cpti_store_pick pick;
};

/*
 * Gives @visit_source the logs there are, by name and hash, then @visit_place the place
 * of each selected request that has a weight, in any order. Errors as above.
 */
cpt_status cpti_store_places(
    struct cpti_store *store, const struct cpti_store_question *question,
    cpt_status (*visit_source)(void *context, struct cpt_bytes name, uint64_t hash),
    cpt_status (*visit_place)(void *context, const struct cpti_store_place *place),
    void *context, struct cpt_error *error);

/* The weights of the selected requests that took from @from_ns to @to_ns are added up,
 * those of each 2^@shift nanoseconds from @from_ns on apart. */
struct cpti_store_span {
    uint64_t from_ns;
    uint64_t to_ns;
    unsigned shift; /* below 64 */
};

/* Gives @visit the sums, as 32 bits and up; the same number may come once a shard.
 * Errors as above. */
cpt_status cpti_store_weigh(struct cpti_store *store,
                            const struct cpti_store_question *question,
                            const struct cpti_store_span *span,
                            cpt_status (*visit)(void *context, uint64_t number,
                                                uint64_t low_sum, uint64_t high_sum),
                            void *context, struct cpt_error *error);

/* Whether any request has the attribute @key: *@has_key. Errors as above. */
cpt_status cpti_store_has_key(struct cpti_store *store, struct cpt_bytes key,
                              int *has_key, struct cpt_error *error);

#endif
