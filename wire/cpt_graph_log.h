/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_graph_log.h - the graph log: all that a service did for a request
 *
 * A path log has what was on the critical path. For some requests all is kept: every
 * task, wait and call, also those that delayed nothing. Each service writes a log of
 * its own, NAME.cptgraph, with one record for each run of such a request. A call has a
 * random id, which travels to the callee; the callee's record has the same id, so that
 * a reader can put the whole request together (cpt_graph_join.h):
 *
 *      A.cptgraph   [ 7f: A1, A2, call 31 ... ]        entry of the request, id 7f
 *      B.cptgraph   [ 31: B1, B2, call c4 ... ]        answers call 31
 *      C.cptgraph   [ c4: C1 ]
 *
 * A graph log has the blocks of the path log, with another magic; it has no index. A
 * record is one of the path log, with a graph in place of the path: the columns of a
 * struct cpt_dag_records. Byte by byte: docs/format-graph-log.md.
 *
 * In order of use. A writer: cpt_graph_log_header once for each new file;
 * cpt_graph_log_block_new; cpt_graph_encode and cpt_log_block_add for each record, and
 * cpt_log_block_finish. A reader: cpt_graph_log_reader_new, cpt_log_reader_next until
 * CPT_END, cpt_graph_id or cpt_graph_decode for each record.
 *
 * Threads: as in cpt_log.h.
 */
#ifndef CPT_GRAPH_LOG_H
#define CPT_GRAPH_LOG_H

#include "cpt/cpt_arena.h"
#include "cpt/cpt_dag_draft.h"
#include "cpt_log.h"

CPT_BEGIN_DECLS

enum {
    CPT_GRAPH_LOG_VERSION = 1,
    /* Of a record: tasks, waits, calls, arrivals, runs and names, each. */
    CPT_GRAPH_ROWS_MAX = 1 << 20
};

/* --- Writing --- */

/* As cpt_log_header(): the block that a new graph log begins with, to @buffer of at
 * least CPT_LOG_HEADER_BYTES_MAX bytes. Returns its bytes. */
CPT_API size_t cpt_graph_log_header(unsigned char *buffer);

/* As cpt_log_block_new(): a block for records of graphs. What else is done with a block
 * is in cpt_log.h. */
CPT_API struct cpt_log_block *cpt_graph_log_block_new(const struct cpt_alloc *alloc,
                                                      size_t bytes_max);

/*
 * Encodes one run of a request into a new block of memory, which the caller owns and
 * frees by cpt_alloc_free(). @request has no path; is_local_root says that the run is
 * not the entry of its request. @id is that of the call that the run answers, or a
 * random one; 0: it has none, and no caller is found. @records are those of one
 * service, components included: runs[0] is the run, and calls to other services have
 * their `id`. Uses the scratch of the tasks, like the walk. Takes some 32 bytes for
 * each task, wait, call and arrival while it works. Threads: any that owns @records.
 *
 * Kept are times, names, executors, occupants and holders; not what a dag has no use
 * for: margins, groups, replies.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT if it is larger than a limit above or
 * CPT_LOG_RECORD_BYTES_MAX; CPT_INVALID if a time is further than 2^61 ns from the
 * arrival, a run but the first has no call, or @request is not valid
 * (cpt_record_encode()).
 */
CPT_API cpt_status cpt_graph_encode(const struct cpt_record *request, uint64_t id,
                                    const struct cpt_dag_records *records,
                                    const struct cpt_alloc *alloc, unsigned char **data,
                                    size_t *bytes, struct cpt_error *error);

/* --- Reading --- */

/* As cpt_log_reader_new(), for a graph log: what else is done with a reader is in
 * cpt_log.h. Of a record that was read, path_bytes is the graph. */
CPT_API struct cpt_log_reader *
cpt_graph_log_reader_new(const struct cpt_log_reader_options *options,
                         struct cpt_error *error);

/*
 * The id of @record, which was read from a graph log; 0: it has none.
 *
 * CPT_OK; CPT_CORRUPT if it has no graph.
 */
CPT_API cpt_status cpt_graph_id(const struct cpt_record *record, uint64_t *id,
                                struct cpt_error *error);

/* A graph that was read. All of it is in an arena; names point into the record. */
struct cpt_kept_graph {
    uint64_t id;
    struct cpt_dag_records records; /* runs[0].call is NULL */
    struct cpt_trace_call *calls;   /* all of them, in the order in which they were
                                       issued */
    size_t call_count;
};

/* When a decoded run arrives, unless something else is wanted: earlier stamps have room
 * before it. */
#define CPT_GRAPH_ARRIVAL_NS ((uint64_t)1 << 61)

/*
 * Decodes the graph of @record, which was read, into memory of @arena. The run arrives
 * at @arrival_ns, from CPT_GRAPH_ARRIVAL_NS to 2 * CPT_GRAPH_ARRIVAL_NS. Everything is
 * checked: what a number refers to exists, and each time is less than 2^61 ns from the
 * arrival. Whether the records make sense together, cpt_dag_draft_trace() sees.
 *
 * CPT_OK; CPT_CORRUPT with the place in the graph and the reason; CPT_LIMIT at a limit
 * above or that of @arena; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_graph_decode(const struct cpt_record *record,
                                    uint64_t arrival_ns, struct cpt_arena *arena,
                                    struct cpt_kept_graph *graph,
                                    struct cpt_error *error);

CPT_END_DECLS

#endif
