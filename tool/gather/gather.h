/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather.h - from files to trees: every command that takes a tree takes logs too
 *
 *      a.cptlog --.   selected records
 *      b.cptlog --+-> cpt_tree_add  --.
 *      c.cpttree ---> cpt_tree_merge --'--> one tree, with notes of what it holds
 *
 * A selection with percentiles needs a first pass over all files, which finds them. A
 * sample keeps its requests until the end, and is drawn by one thread, so that the same
 * seed gives the same sample.
 *
 * A fold of a stream (tool/requests/stream.h): each thread has trees of its own, which
 * are merged at the end, so the result is the same, bit for bit, as by one thread.
 * Each request counts once in a tree, however often its record was given, unless the
 * selection keeps duplicates.
 *
 * A log can be read for two trees at once (`cpt diff LOG --base … --new …`), each with
 * its own selection. Requests of several entry services are never averaged together:
 * that is an error, which lists the services.
 */
#ifndef CPTI_CLI_GATHER_H
#define CPTI_CLI_GATHER_H

#include "tool/base/output.h"
#include "tool/select/select.h"

#include <stdbool.h>

struct cpt_path;
struct cpt_log_times;
struct cpt_tree;
struct cpti_fold_counts;
struct cpti_source;

/* How several threads share the context of cpti_gather.request: each has a part. */
struct cpti_gather_threads {
    void *(*split)(const void *context); /* an empty part, or NULL without memory */
    cpt_status (*join)(void *context, void *part); /* adds @part to @context */
    void (*drop)(void *part);                      /* frees it */
};

/* How the context of cpti_gather.request takes requests without their paths: by the
 * times of their frames, of shapes that it keeps (cpt_log_shape.h). */
struct cpti_gather_shapes {
    bool (*is_kept)(const void *context, uint64_t shape);
    /* Keeps the shape of @path, or not. */
    void (*keep)(void *context, uint64_t shape, const struct cpt_path *path);
    int (*add)(void *context, const struct cpt_log_times *times, uint64_t weight);
};

/* A tree to be made. */
struct cpti_gather {
    struct cpti_selection *selection;
    const char *what;      /* "base", to tell several apart in messages; or NULL */
    struct cpt_tree *tree; /* out: the caller frees it, also after an error */
    /* If set: called for each request of a log that went into the tree, with its
     * cpt_weight. A result (enum cpti_exit) other than CPTI_EXIT_DONE ends the reading.
     * Called by one thread, in the order of the logs, unless there is @threads. */
    int (*request)(void *context, const struct cpt_record *record,
                   const struct cpt_path *path, uint64_t weight);
    void *context;
    const struct cpti_gather_threads *threads;
    /* If set: whether @request needs the path of @record. Otherwise it may get NULL,
     * which is faster. */
    bool (*needs_path)(const void *context, const struct cpt_record *record);
    /* If set: these take what @request need not get. @needs_path is then NULL. */
    const struct cpti_gather_shapes *shapes;
    /* What the paths were given as, for the notes of the tree: several paths may be the
     * logs of a folder. NULL: each path stands for itself. */
    const struct cpti_source *sources;
    size_t source_count;
    /* Says if requests near in time resemble each other, as errors take them as
     * independent (cpt_serial.h). */
    bool checks_time;
    bool counts_all;          /* the tree gets the counts of struct cpti_gather_share */
    bool names_place;         /* if @request fails, a message says at which record */
    uint64_t tree_duplicates; /* out: that had been left out of trees among operands */
    bool may_be_empty;        /* an empty selection is not a failure */
    bool is_list; /* @request makes a list, which averages nothing, so the requests may
                     have entered at several services; the tree is not to be used */
    bool omits_sources; /* the tree does not note the names of the logs */
    bool needs_order; /* @request needs the order of segments, which no database has */
    bool met_tree; /* out: an operand was a tree, whose requests @request did not get */
};

/* Entry services that are listed; more are counted. And trees made at once. */
enum { CPTI_SERVICES_MAX = 32, CPTI_GATHERS_MAX = 8 /* CPTI_FOLDS_MAX */ };

/* What part of all requests was selected. */
struct cpti_gather_share {
    bool is_known;  /* all inputs were logs */
    double records; /* the part of the records */
    double
        requests; /* the part of the requests that they stand for, by their weights */
    double
        traced; /* records by requests: the part of all requests that is in the logs */
};

/* That of the requests in @gather, which counts all, after cpti_gather(). If it is not
 * known, all parts are those of the records. */
struct cpti_gather_share cpti_gather_share(const struct cpti_gather *gather);

/* Adds @counts to those of @tree. Errors of cpt_tree_count_add(). */
cpt_status cpti_gather_count(struct cpt_tree *tree,
                             const struct cpti_fold_counts *counts);

/*
 * Reads @path_count files at @paths into the @gather_count trees at @gathers. A file
 * that is a tree goes whole into each; then a selection may have no terms.
 *
 * CPTI_EXIT_DONE; CPTI_EXIT_FAILED, where *@is_usable says whether the trees are whole
 * but for records that were skipped; CPTI_EXIT_USAGE.
 */
int cpti_gather(struct cpti_gather *gathers, size_t gather_count,
                const char *const *paths, size_t path_count, bool stops_at_error,
                bool *is_usable);

/*
 * The first pass: fills in the percentiles of @count selections at @selections, if
 * there are any, from the logs at @paths, by at most @thread_count threads. A pipe is
 * refused. enum cpti_exit.
 */
int cpti_gather_percentiles(struct cpti_selection *const *selections, size_t count,
                            const char *const *paths, size_t path_count,
                            size_t thread_count);

/* Reads all operands of @arguments into the tree of @gather, by a selection of its own
 * (gather->selection is NULL afterwards). As cpti_gather(). */
int cpti_gather_arguments(struct cpti_gather *gather,
                          const struct cpti_arguments *arguments, bool *is_usable);

/* The usual case: all operands of @arguments into one tree, by the options of
 * cpti_select_options, and --sample, --jobs and --allow-empty where the command has
 * them. As cpti_gather(); the caller frees *@tree. */
int cpti_gather_operands(const struct cpti_arguments *arguments, struct cpt_tree **tree,
                         bool *is_usable);

#endif
