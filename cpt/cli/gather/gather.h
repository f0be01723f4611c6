/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather.h - from files to trees: every command that takes a tree takes logs too
 *
 *      a.cptlog --.   records that the selection takes
 *      b.cptlog --+-> cpt_tree_add  --.
 *      c.cpttree ---> cpt_tree_merge --'--> one tree, with notes of what it holds
 *
 * A selection with percentiles needs a first pass over all files, which finds them. One
 * with a sample keeps the requests that are drawn until the end, and uses one thread,
 * so that the same seed gives the same sample.
 *
 * Files are read by as many threads as there are processors, large logs in pieces
 * (gather_pieces.h); each thread has trees of its own, which are merged at the end.
 * That is the same, bit for bit, as one thread would make; messages come in the order
 * of the files. Damage in a piece makes all that was gathered void, and files are read
 * whole.
 *
 * A log can be read for two trees at once (`cpt diff LOG --base … --new …`), each with
 * its own selection. Several entry services are never put together: that is an error
 * which lists them.
 */
#ifndef CPTI_CLI_GATHER_H
#define CPTI_CLI_GATHER_H

#include "cpt/cli/select/select.h"
#include "cpt/cpt_status.h"

struct cpt_path;
struct cpt_tree;

/* How several threads share the context of cpti_gather.request: each has a part. */
struct cpti_gather_threads {
    void *(*split)(const void *context); /* an empty part, or NULL without memory */
    cpt_status (*join)(void *context, void *part); /* adds @part to @context */
    void (*drop)(void *part);                      /* frees it */
};

/* A tree to be made. */
struct cpti_gather {
    struct cpti_selection *selection;
    const char *what;      /* "base", to tell several apart in messages; or NULL */
    int may_be_empty;      /* that no request is selected is no failure */
    int omits_sources;     /* does not note which logs it was */
    struct cpt_tree *tree; /* out: the caller frees it, also after an error */
    /* If set: is told of each request of a log that went into the tree, and its
     * cpt_weight; what it says (enum cpti_exit) ends the reading unless it is done. By
     * one thread only, in the order of the logs, unless there is @threads. */
    int (*request)(void *context, const struct cpt_record *record,
                   const struct cpt_path *path, uint64_t weight);
    void *context;
    const struct cpti_gather_threads *threads;
    /* If set: whether @request has to have the path of @record; else it gets NULL,
     * which is faster. */
    int (*needs_path)(const void *context, const struct cpt_record *record);
    int needs_order; /* @request is about the order of segments: no database has it */
    int met_tree;    /* out: an operand was a tree, whose requests @request never saw */
};

/* Entry services that are listed; more are counted. And trees made at once. */
enum { CPTI_SERVICES_MAX = 32, CPTI_GATHERS_MAX = 2 };

/*
 * Reads @path_count files at @paths into the @gather_count trees at @gathers. A file
 * that is a tree goes whole into each, and only a selection without terms allows it.
 *
 * CPTI_EXIT_DONE; CPTI_EXIT_FAILED, where *@is_usable says whether the trees are there
 * nevertheless because just some records were skipped; CPTI_EXIT_USAGE.
 */
int cpti_gather(struct cpti_gather *gathers, size_t gather_count,
                const char *const *paths, size_t path_count, int stops_at_error,
                int *is_usable);

/* The same with at most @job_count threads. */
int cpti_gather_jobs(struct cpti_gather *gathers, size_t gather_count,
                     const char *const *paths, size_t path_count, int stops_at_error,
                     size_t job_count, int *is_usable);

/*
 * The first pass: fills in the percentiles of @count selections at @selections from the
 * logs at @paths, if there are any, by at most @thread_count threads. A pipe is
 * refused. enum cpti_exit.
 */
int cpti_gather_percentiles(struct cpti_selection *const *selections, size_t count,
                            const char *const *paths, size_t path_count,
                            size_t thread_count);

/* The usual case: all operands of @arguments into one tree, by the options of
 * cpti_select_options, and sample, jobs and allow-empty where the command has them. As
 * above; the caller frees *@tree. */
int cpti_gather_operands(const struct cpti_arguments *arguments, struct cpt_tree **tree,
                         int *is_usable);

#endif
