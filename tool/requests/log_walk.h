/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_walk.h - all records of a log, whatever its state
 *
 * Damage is reported with its place, counted and skipped. An incomplete last block, as
 * after the writer was killed, does not count as damage; a note reports it.
 */
#ifndef CPTI_CLI_LOG_WALK_H
#define CPTI_CLI_LOG_WALK_H

#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/requests/log_passing.h"

#include <stdbool.h>

struct cpt_log_untraced;
struct cpt_log_part;
struct cpt_log_reader;
struct cpt_path;
struct cpt_record;

/* Set the first part; the rest is zero at first. */
struct cpti_log_walk {
    struct cpti_input *input;
    bool stops_at_error; /* the first damage ends it */
    bool forgives;       /* skipped records are not a failure if others were read */
    bool follows;        /* waits for more at the end of an unfinished file */
    bool is_quiet;       /* a first pass: the next one reports damage */
    bool has_graphs;     /* it is a graph log */
    bool prints_records; /* on standard output: no progress if that is a terminal */
    /* Called for each record; a result other than CPTI_EXIT_DONE ends the walk. */
    int (*record)(struct cpti_log_walk *walk, const struct cpt_record *record);
    void *context;
    /* Blocks that have no record of any of them may be passed over. */
    struct cpti_selection *const *selections;
    size_t selection_count;
    const struct cpt_log_part *part; /* of the file; NULL: all of it */
    /* If set: called with `context` for what services tell of untraced requests. */
    void (*untraced)(void *context, const struct cpt_log_untraced *untraced);

    struct cpt_log_reader *reader;
    struct cpti_log_passing passing;
    struct cpt_path *path;  /* for cpti_log_path() */
    uint64_t record_count;  /* met so far, this one included */
    uint64_t skipped_count; /* of those, not usable */
    uint64_t lost_count;    /* in damaged blocks; known at the end */
    uint64_t passed_count;  /* in blocks passed over; known at the end */
    uint64_t damage_count;  /* damaged places */
    uint64_t progress_ns;   /* when progress is shown next; 0: not set */
    bool shows_progress;
    bool has_shown_progress;
};

/*
 * Walks. CPTI_EXIT_DONE; CPTI_EXIT_FAILED if the input could not be read, or after a
 * walk over the rest if something was skipped, with its count printed; or the result of
 * `record`.
 */
int cpti_log_walk(struct cpti_log_walk *walk);

/*
 * The same step by step, to walk over several inputs at once: begin; next until
 * *@is_end is set or it fails; then end in any case, with the status so far. @record is
 * borrowed until the next step. enum cpti_exit; `record` is not called.
 */
int cpti_log_walk_begin(struct cpti_log_walk *walk);
int cpti_log_walk_next(struct cpti_log_walk *walk, struct cpt_record *record,
                       bool *is_end);
int cpti_log_walk_end(struct cpti_log_walk *walk, int status);

/* Within `record`: its number in the file, from 1 on; skipped blocks count. */
uint64_t cpti_log_record_number(const struct cpti_log_walk *walk);

/* Within `record`: reports that the record is not usable, and counts it as skipped.
 * CPTI_EXIT_DONE, or CPTI_EXIT_FAILED if the walk stops at errors. */
int cpti_log_skip(struct cpti_log_walk *walk, const char *sentence);

/* Within `record`: decodes its path; *@path is valid until the next call. If the path
 * is invalid, *@path is NULL, and the record is skipped, as by cpti_log_skip(). */
int cpti_log_path(struct cpti_log_walk *walk, const struct cpt_record *record,
                  const struct cpt_path **path);

/*
 * Cuts @input into at most @count_max parts, see cpt_log_parts.h, and writes them to
 * @parts; how many. One if it is not a regular file. Each part is walked with an input
 * of its own. Messages about damage are right only in a walk over the whole log: walk
 * over the parts quietly, and if one has damage, over the whole.
 */
size_t cpti_log_cut(struct cpti_input *input, struct cpt_log_part *parts,
                    size_t count_max);

/* Records that all threads have met so far, counted in steps. Any thread. */
uint64_t cpti_log_walked(void);

/* The options of every command that reads logs. */
extern const struct cpti_option cpti_log_options[];

/* Opens the path log at @path; a tree or a profile is refused. enum cpti_exit. */
int cpti_log_open(struct cpti_input *input, const char *path);

/* The same for @input, which is open; closes it if it is refused. enum cpti_exit. */
int cpti_log_accept(struct cpti_input *input);

/* Says why a profile is refused. Returns CPTI_EXIT_FAILED. */
int cpti_refuse_gzip(const struct cpti_input *input);

#endif
