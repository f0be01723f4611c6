/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept_graphs.h - requests of which all is known, one after the other
 *
 * A path log has what was on the critical path. A kept graph has all that the services
 * did for a request, as one dag (cpt_dag_draft.h), so that it can be measured, or timed
 * again with other durations.
 *
 *      graph logs of several services ----------.
 *      spans with notes of several services ----+--> whole requests --> visit()
 *      spans alone: who waited is inferred -----'
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
#include <stdio.h>

struct cpti_arguments;
struct cpti_selection;

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
    const struct cpt_record *record;         /* of its entry, without a path */
    const struct cpt_dag *dag;               /* of recorded->shape */
    const struct cpt_dag_recorded *recorded; /* its frames, nodes and lines */
    const struct cpt_dag_records *records;   /* of a graph log; NULL: of spans */
};

/* Takes a request. CPT_OK; CPT_LIMIT or CPT_END: it is left out, and counted; another
 * status ends the reading. */
typedef cpt_status (*cpti_kept_fn)(void *context, const struct cpti_kept_graph *graph);

enum { CPTI_KEPT_KEY_BYTES = 128 /* of an attribute, as it is told */ };

/* Services and operations of which there are too few requests to learn from: those with
 * most events. */
enum { CPTI_KEPT_FEW_MAX = 3, CPTI_KEPT_FEW_BYTES = 112 };
struct cpti_kept_few {
    char name[CPTI_KEPT_FEW_BYTES];
    uint64_t events;
};

/* What was read. */
struct cpti_kept_counts {
    uint64_t requests;   /* visited, and not left out */
    uint64_t unselected; /* the selection leaves them out */

    uint64_t fragments; /* it has them, but they are fragments */
    uint64_t others;    /* traces that do not fit together, or are too large */
    uint64_t empty;     /* traces that took no time */
    uint64_t inferred;  /* of the requests, those in which it is inferred who waited */
    uint64_t learnt;    /* of their events: learnt from many requests, … */
    uint64_t few;       /* … of too few, so inferred from one, … */
    uint64_t server;    /* … calls that only the callee tells of */
    struct cpti_kept_few few_of[CPTI_KEPT_FEW_MAX]; /* if that is over half of them */
    size_t few_of_count;
    bool is_few_of_some;    /* there are more than all could be counted of */
    uint64_t traces;        /* from which it was learnt */
    uint64_t resolution_ns; /* of the stamps of spans; 0: none was learnt from */
    uint64_t cut;           /* calls of these that lost time, see cpti_spans_cut … */
    uint64_t cut_ns;        /* … and how much */
    unsigned evidence;      /* enum cpt_evidence: the weakest of all requests */
    bool is_broken;         /* what is read could not be kept: there is no answer */
    uint64_t with_by;       /* selected, with the attribute `by` of the options */
    char
        nearest[CPTI_KEPT_KEY_BYTES]; /* to one that none has; empty: none is similar */
};

struct cpti_kept_options {
    const char *const *files; /* "-" is standard input */
    size_t file_count;
    /* Id of the only request that is visited, also if its tracing was forced, or it is
     * a fragment; NULL: all are. */
    const char *wanted;
    /* Requests that count; NULL: all but fragments, and those whose tracing was forced.
     * With the latter each request counts 1, so none has a probability. */
    struct cpti_selection *selection;
    bool
        takes_all; /* the visitor selects: also forced ones and fragments are visited */
    bool by_walk;  /* who waited is inferred by the walk's rule, not learnt */
    bool doubts;   /* recorded->doubt is wanted, where who waited is learnt */
    const char *by; /* the attribute that tells requests apart; NULL: none */
    cpti_kept_fn visit;
    /* Takes the name of each span that is no task, as it is within an operation, and
     * that of the operation, which has its time; also of requests that do not count.
     * NULL: not wanted. */
    void (*inside)(void *context, struct cpt_bytes name, struct cpt_bytes operation);
    void *context;
};

/* Reads the operands, --trace, --waits and the options of cpti_select_options into
 * @options, in which the rest stays; see cpti_kept_selection(). enum cpti_exit. */
int cpti_kept_read(const struct cpti_arguments *arguments,
                   struct cpti_kept_options *options);

/* Reads the options of cpti_select_options. Conditions that need a path, or all
 * requests (pNN), are refused. enum cpti_exit. The caller frees *@selection in each
 * case. */
int cpti_kept_selection(const struct cpti_arguments *arguments,
                        struct cpti_selection **selection);
void cpti_kept_selection_free(struct cpti_selection *selection); /* may be NULL */

/* Whether a file that begins with the @bytes at @head may have kept graphs. */
bool cpti_kept_recognise(const unsigned char *head, size_t bytes);

/* Whether it is a graph log. */
bool cpti_kept_is_log(const unsigned char *head, size_t bytes);

/* How it is found who waited in spans that do not say; whether it is by the walk. */
#define CPTI_WAITS_OPTION                                                              \
    {                                                                                  \
        "waits", 0, "HOW",                                                             \
            "of spans that do not tell them: learnt from all requests (the default), " \
            "or by the rule of the walk",                                              \
            "learnt walk"                                                              \
    }
bool cpti_kept_by_walk(const struct cpti_arguments *arguments);

#define CPTI_KEPT_TRACE_OPTION                                                         \
    {                                                                                  \
        "trace", 0, "ID",                                                              \
            "only the request of this trace: its id, or the last 16 digits of it"      \
    }

/* In a cpti_command: a folder stands for its graph logs, or for its spans if it has
 * none. */
#define CPTI_KEPT_FOLDERS                                                              \
    .takes_folders = true, .is_in_folder = cpti_kept_recognise,                        \
    .folder_noun = "graph log or span file", .is_better_in_folder = cpti_kept_is_log,  \
    .better_noun = "graph log"

/* The files that the values of option --@option of @given name, those of a folder in
 * its place, become the operands of @files. What is wrong with a folder was printed.
 * enum cpti_exit. The caller deinits @files in each case. */
int cpti_kept_option(const struct cpti_arguments *given, const char *option,
                     struct cpti_arguments *files);

/* Visits all requests of all files. Has printed what is wrong with a file, and how many
 * others there are. enum cpti_exit; CPTI_EXIT_FAILED also if some of the input could
 * not be read. With counts->is_broken, which was printed, no request counts, not even
 * those that were visited. */
int cpti_kept_graphs(const struct cpti_kept_options *options,
                     struct cpti_kept_counts *counts);

struct cpti_json;

/* Writes on what evidence the requests are known; as text a line if it is not all
 * recorded, which the last one prints. */
void cpti_kept_put_evidence(struct cpti_json *json,
                            const struct cpti_kept_counts *counts);
void cpti_kept_write_evidence(const struct cpti_kept_counts *counts, FILE *file);
void cpti_kept_print_evidence(const struct cpti_kept_counts *counts);

/* Prints that no request was visited, or that none has `by`, and why, unless what is
 * broken was printed.
 * CPTI_EXIT_FAILED. */
int cpti_kept_none(const struct cpti_kept_options *options,
                   const struct cpti_kept_counts *counts);

#endif
