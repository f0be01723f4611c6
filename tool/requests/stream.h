/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * stream.h - one fold over requests, whatever file they come from
 *
 *      a.cptlog --.   selected records,    .--> take() of base --> sum of base
 *      b.cptlog --+-- each counted once ---+
 *      c.cptlog --'                        `--> take() of new ---> sum of new
 *
 * A command says which requests count, what it needs of each, and adds them up: that is
 * a fold. Selection, weights, copies of records, samples, threads, following, progress
 * and damage are here, once for all commands. An input that is no path log (a tree, a
 * database, spans) goes to the command itself; kept_graphs.h reads graph logs and spans
 * this way, of which a request is all that it did.
 *
 * As many threads as are wanted read the files, large logs in pieces (pieces.h). Each
 * has parts of the folds, which split() makes and join() adds up at the end; a sum must
 * not depend on the order of its requests. Messages come in the order of the files. If
 * a piece is damaged, drop() ends all parts, and whole files are read; if copies of a
 * record are not the same in all bytes, or there are too many records to compare
 * (seen.h), one thread reads all again, and the first record in their order counts. So
 * take() prints nothing unless there is one thread.
 *
 * Records that were made from event logs are left out where a selection has others
 * (cpti_selection.events). A fold that has met nothing else gets them in a second
 * reading, in silence; what a pipe had of them lies in a private file until then.
 */
#ifndef CPTI_CLI_STREAM_H
#define CPTI_CLI_STREAM_H

#include "tool/base/files.h"
#include "tool/requests/sample.h"
#include "tool/requests/log_walk.h"
#include "tool/select/select.h"
#include "wire/cpt_log_shape.h"

#include <stdbool.h>

struct cpti_seen;

/* Folds of one stream. */
enum { CPTI_FOLDS_MAX = 8 };

/* take() returns this to end the stream early; it is no exit status. */
enum { CPTI_STREAM_ENOUGH = -1 };

/* A request that counts. All is borrowed until take() returns. */
struct cpti_request {
    const struct cpt_record *record;
    const struct cpt_path *path; /* NULL: not needed */
    struct cpt_log_times times;  /* what needs() has put here in place of a path */
    uint64_t weight;
    uint64_t number;        /* of its record in all logs, from 1 on; skipped ones count.
                        Not known with several threads, nor in the order of time */
    struct cpt_bytes bytes; /* the encoding of its record */
    struct cpti_log_walk *walk; /* where it was met; NULL: it is of the sample */
};

/* Which records a fold is offered. */
enum cpti_reading {
    CPTI_READING_ALL,
    CPTI_READING_EVENTS, /* those made from event logs, as it has met no others */
    CPTI_READING_NOTHING /* it has all */
};

/* What a fold needs of a request that is selected. */
enum cpti_needs {
    CPTI_NEEDS_PATH,   /* a record without a valid one is skipped as damaged */
    CPTI_NEEDS_RECORD, /* no path */
    CPTI_NEEDS_NOTHING /* it does not count after all */
};

/* What was met; kept by the stream. */
struct cpti_fold_counts {
    uint64_t record_count;
    uint64_t skipped_count; /* damaged */
    uint64_t selected_count;
    uint64_t forced_count; /* left out */
    uint64_t fragment_count;
    uint64_t events_count;
    uint64_t local_root_count;
    uint64_t duplicate_count; /* selected, but counted before */
    uint64_t unchecked_count; /* selected, and not compared with all others */
    /* If fold->counts_all: what the terms choose from, and what they choose. The
     * weight is that beyond one for each record, as a cpt_weight. */
    uint64_t whole_count;
    uint64_t whole_weight;
    uint64_t chosen_count;
    uint64_t chosen_weight;
};

struct cpti_fold {
    struct cpti_selection *selection; /* NULL: every record counts */
    /* Whether a record is selected; NULL: cpti_selection_counts(). */
    enum cpti_selected (*selects)(struct cpti_selection *selection,
                                  const struct cpt_record *record);
    /* The weight of a selected record; 0: it is damaged. NULL: it is not needed. */
    uint64_t (*weigh)(const struct cpti_selection *selection,
                      const struct cpt_record *record);
    /* NULL: paths. */
    enum cpti_needs (*needs)(void *context, struct cpti_request *request);
    /* enum cpti_exit, CPTI_STREAM_ENOUGH or a number of its own, which ends the
     * stream. */
    int (*take)(void *context, const struct cpti_request *request);
    void *context;
    /* How several threads share the context; NULL: one thread meets all requests. */
    void *(*split)(const void *context); /* an empty part, or NULL without memory */
    cpt_status (*join)(void *context, void *part); /* adds @part to @context */
    void (*drop)(void *part);                      /* frees it */
    bool counts_once; /* each record, however often it was given */
    bool counts_all;  /* also what the terms of its selection choose from */
    bool is_sampled;  /* it takes the sample of its selection: see cpti_fold_drawn() */
    unsigned reading; /* enum cpti_reading */

    struct cpti_fold_counts counts; /* out */
    struct cpti_sample sample;      /* out; the caller inits and deinits it */
};

/* The result of an input. */
struct cpti_outcome {
    int exit_status;
    bool is_usable; /* what was read of it may be used, even after a failure */
    bool is_log;
    bool is_broken; /* of what a thread has read nothing counts: it is read again, whole
                       logs in place of pieces, and then by one thread */
    bool is_last;   /* it ends the stream */
    bool is_taken;  /* other() has taken the input over, and closes it */
};

/* Set the first part; the rest is zero at first. */
struct cpti_stream {
    struct cpti_fold *folds;
    size_t fold_count; /* at most CPTI_FOLDS_MAX */
    const char *const *paths;
    size_t path_count;
    size_t thread_count; /* at most; 0 is 1 */
    size_t seen_max;     /* records to compare; 0: the default */
    bool stops_at_error; /* the first damage in a log ends the stream */
    bool goes_on;        /* after an input that is not usable at all */
    bool is_quiet;       /* damage is not reported; databases are left out */
    bool follows;        /* a log that grows, and those that continue it */
    bool in_time_order;  /* all logs at once, see log_merge.h: path logs alone */
    bool forgives;       /* damage is no failure if there is something else */
    bool prints_records; /* take() prints: no progress where that is a terminal */
    bool reads_all;      /* no block of a log is passed over */

    /* For inputs that are no path logs. @context is the stream's. */
    void *context;
    /* If set: all is read from the beginning, for the first time or again. */
    void (*begin)(void *context);
    /* If set: takes an input of another kind. @folds are those of this thread, as many
     * as the stream has. Sets outcome->is_log if it is a log after all. NULL: it is
     * refused. */
    void (*other)(void *context, struct cpti_fold *folds, struct cpti_input *input,
                  struct cpti_outcome *outcome);
    bool gives_logs; /* other() takes path logs, too */
    /* If set: takes what services tell of requests without a record. One thread. */
    void (*untraced)(void *context, const struct cpt_log_untraced *untraced);
    /* If set: all inputs have been read. enum cpti_exit. */
    int (*finish)(void *context);
    /* As other(), for a database. */
    int (*store)(void *context, struct cpti_fold *folds, const char *address);
    /* If set: a log was walked with this enum cpti_exit; the next one. */
    int (*end)(void *context, const struct cpti_log_walk *walk, int status);

    struct cpti_outcome *outcomes; /* out: by path, unless NULL */

    struct cpti_seen *seen;
    void *pipes;           /* records of pipes, made from event logs */
    uint64_t record_count; /* of the logs before this one */
};

/* Reads all. *@is_usable: the folds have all requests but for skipped ones. enum
 * cpti_exit, or what take() ended it with, but for CPTI_STREAM_ENOUGH. */
int cpti_stream_run(struct cpti_stream *stream, bool *is_usable);

/* All records of the logs at @paths, by one thread, in silence but for logs that cannot
 * be opened. take() gets no paths, but see cpti_log_path(). As cpti_stream_run(). */
int cpti_stream_look(const char *const *paths, size_t path_count,
                     int (*take)(void *context, const struct cpti_request *request),
                     void *context);

/* Whether @record counts for @fold, which counts it, or why not. For what other() and
 * finish() find. */
enum cpti_selected cpti_fold_select(struct cpti_fold *fold,
                                    const struct cpt_record *record);

/* A fold's needs() that takes records alone. */
enum cpti_needs cpti_needs_record(void *context, struct cpti_request *request);

/* Makes the sample of @fold, of the size that its selection wants; 0: it has none. The
 * stream then draws it, without take(). And calls take() for all that was drawn, in the
 * order in which it was met; enum cpti_exit, or that of take(). */
void cpti_fold_sample(struct cpti_fold *fold, uint64_t seed);
int cpti_fold_drawn(struct cpti_fold *fold);

/* A stream's other() that leaves out all that is no log. */
void cpti_stream_pass_over(void *context, struct cpti_fold *folds,
                           struct cpti_input *input, struct cpti_outcome *outcome);

/* Counts why a record, which is counted elsewhere, does not count. */
void cpti_fold_count_left(struct cpti_fold_counts *counts, enum cpti_selected selected);

/* Says in @text what was left out for its kind, "; 3 forced left out, see …"; empty:
 * none was. Returns @text. */
enum { CPTI_LEFT_BYTES = 4 * 80 };
const char *cpti_fold_left_text(const struct cpti_fold_counts *counts,
                                char text[CPTI_LEFT_BYTES]);

#endif
