/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_graph_join.h - the graph logs of all services become whole requests
 *
 * Each service has its own log (cpt_graph_log.h). A call's id leads to the record of
 * its callee, in whichever file that is:
 *
 *      A  [ 7f: A1, call 31 ]      --> request 7f: runs of A, B and C, of one clock
 *      B  [ 31: B1, call c4 ]          ^ each arrives when its call was sent
 *      C  [ c4: C1 ]
 *
 * First all inputs are read once, and the places of their records are noted. Then the
 * requests come one by one, in the order of their entries' records, and for each the
 * records of its callees are read. A callee that has no record is a block of constant
 * length in the dag, as every other call.
 *
 * A record that comes again with the same bytes, as from a copy of a file, counts once.
 *
 * Inputs are hostile: different records with one id are all left out; a call that leads
 * to a record which is already a part of a request leads nowhere, so circles end; what
 * is damaged is skipped. All of it is counted.
 *
 * Memory: 32 bytes for each record of all inputs, 40 for a copy; the records of one
 * request, decoded, some 200 bytes for each task, wait and call; and up to 64 MiB of
 * blocks.
 *
 * In order of use: cpt_graph_join_new, cpt_graph_join_add for each input,
 * cpt_graph_join_next until CPT_END, cpt_graph_join_counts.
 *
 * Threads: one at a time.
 */
#ifndef CPT_GRAPH_JOIN_H
#define CPT_GRAPH_JOIN_H

#include "cpt_graph_log.h"
#include "cpt_log_index.h"

CPT_BEGIN_DECLS

/* See cpt_options_read(); zero fields mean their defaults. */
struct cpt_graph_join_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    size_t request_bytes_max; /* memory of one request; default 1 GiB */
    uint64_t records_max;     /* of all inputs; default 2^26 */
    /* If set: told what could not be read of the input that is added. */
    void (*damaged)(void *context, const struct cpt_error *error);
    void *context;
    /* If set: told of each record whose graph cannot be read, with the context of its
     * input, and the place of its block. */
    void (*refused)(void *context, void *input, const struct cpt_error *error);
};

/* A graph log, read at any place. It must stay as it is until the join is freed. */
struct cpt_graph_input {
    cpt_read_at_fn read_at;
    void *context;
    uint64_t bytes;
};

/* A whole request. Borrowed until the next call. */
struct cpt_graph_request {
    struct cpt_record record;       /* of its entry, without a path */
    uint64_t id;                    /* of that record; 0: it has none */
    struct cpt_dag_records records; /* of all services that are known */
    uint64_t service_count;         /* records that were put together */
    uint64_t missing_count;         /* calls with an id whose callee is not known */
};

/* What became of the inputs. */
struct cpt_graph_join_counts {
    uint64_t records;          /* read */
    uint64_t requests;         /* returned */
    uint64_t joined_records;   /* of callees, in those requests */
    uint64_t missing_callees;  /* calls with an id of which no record is known */
    uint64_t copied_records;   /* the same bytes as an earlier record: left out */
    uint64_t repeated_records; /* with the id of a different record: left out */
    uint64_t circular_calls;   /* that lead to a record that is in a request already */
    uint64_t foreign_records;  /* of callees that no request called; at the end */
    uint64_t refused_records;  /* whose graph cannot be read */
    uint64_t large_requests;   /* left out: they need too much memory */
    uint64_t skipped_blocks;   /* damaged */
    uint64_t skipped_records;  /* lost with them, as far as known */
    uint64_t torn_inputs;      /* whose last block is incomplete */
};

struct cpt_graph_join;

/* NULL without memory. The caller owns it. */
CPT_API struct cpt_graph_join *
cpt_graph_join_new(const struct cpt_graph_join_options *options,
                   struct cpt_error *error);
CPT_API void cpt_graph_join_free(struct cpt_graph_join *join);

/*
 * Reads all of @input and notes its records; not after cpt_graph_join_next().
 *
 * CPT_OK, also if some of it is damaged; CPT_NO_MEMORY; CPT_LIMIT at records_max or
 * after 65,535 inputs; what read_at returned.
 */
CPT_API cpt_status cpt_graph_join_add(struct cpt_graph_join *join,
                                      const struct cpt_graph_input *input,
                                      struct cpt_error *error);

/*
 * Puts the next request together.
 *
 * CPT_OK; CPT_END behind the last. CPT_CORRUPT, CPT_LIMIT: a request is left out, for
 * the reason in @error, and the next call goes on; CPT_NO_MEMORY; what read_at
 * returned.
 */
CPT_API cpt_status cpt_graph_join_next(struct cpt_graph_join *join,
                                       struct cpt_graph_request *request,
                                       struct cpt_error *error);

CPT_API const struct cpt_graph_join_counts *
cpt_graph_join_counts(const struct cpt_graph_join *join);

CPT_END_DECLS

#endif
