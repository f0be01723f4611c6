/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept_graphs.h - requests of which all is known, one after the other
 *
 * A path log has what was on the critical path. A kept graph has all that the services
 * did for a request, as one dag (cpt_dag_draft.h), so that it can be measured, or timed
 * again with other durations.
 *
 *      spans with notes of several services --> whole requests --> visit()
 *
 * Files of several services are joined. A callee that is in no file is a block of
 * constant length.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_KEPT_GRAPHS_H
#define CPTI_CLI_KEPT_GRAPHS_H

#include "wire/cpt_log.h"

#include "cpt/cpt_dag_draft.h"

#include <stdbool.h>

/* One request. Everything is borrowed until the visit returns. */
struct cpti_kept_graph {
    struct cpt_bytes id;      /* of its trace, as --trace takes it */
    struct cpt_bytes service; /* where it entered */
    struct cpt_bytes method;
    uint64_t start_unix_ns;                 /* 0: not known */
    uint64_t latency_ns;                    /* as it was observed */
    double probability;                     /* with which it was kept; 0: not known */
    const struct cpt_attribute *attributes; /* arm, region …; spans have none */
    size_t attribute_count;
    bool is_forced;            /* a person asked for it: not one of a random sample */
    bool is_background;        /* the work after the answer of another one */
    const struct cpt_dag *dag; /* of recorded->shape */
    const struct cpt_dag_recorded *recorded; /* its frames, nodes and lines */
};

/* Takes a request. CPT_OK; CPT_LIMIT or CPT_END: it is left out, and counted; another
 * status ends the reading. */
typedef cpt_status (*cpti_kept_fn)(void *context, const struct cpti_kept_graph *graph);

/* What was read. */
struct cpti_kept_counts {
    uint64_t requests; /* visited, and not left out */
    uint64_t forced;   /* left out, as tracing was forced */
    uint64_t others;   /* traces without notes, or these do not fit, or are too many */
};

struct cpti_kept_options {
    const char *const *files; /* "-" is standard input */
    size_t file_count;
    const char *wanted; /* id of the only request that is visited; NULL: all are */
    /* Also those whose tracing was forced; each request then counts 1, so none has a
     * probability. The wanted one is visited in any case. */
    bool includes_forced;
    cpti_kept_fn visit;
    void *context;
};

/* Whether a file that begins with the @bytes at @head may have kept graphs; a
 * cpti_command's is_in_folder. */
bool cpti_kept_recognise(const unsigned char *head, size_t bytes);

/* Visits all requests of all files. Has printed what is wrong with a file, and how many
 * others there are. enum cpti_exit; CPTI_EXIT_FAILED also if some of the input could
 * not be read. */
int cpti_kept_graphs(const struct cpti_kept_options *options,
                     struct cpti_kept_counts *counts);

#endif
