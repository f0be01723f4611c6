/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_walk.h - all records of a log, whatever its state
 *
 * Damage is said, with its place, counted and passed over. How a log ended when its
 * writer was killed is no damage: a note says that its last block is not complete.
 */
#ifndef CPTI_CLI_LOG_WALK_H
#define CPTI_CLI_LOG_WALK_H

#include "cpt/cli/base/command.h"
#include "cpt/cli/base/files.h"
#include "cpt/cli/select/log_passing.h"

struct cpt_log_part;
struct cpt_log_reader;
struct cpt_path;
struct cpt_record;

/* Zero but for the first part. */
struct cpti_log_walk {
    struct cpti_input *input;
    int stops_at_error; /* the first damage ends it */
    int forgives;       /* what was skipped, if anything else was met, is no failure */
    int follows;        /* waits for more at the end of a file that is not finished */
    int is_quiet;       /* a first pass: who comes after it says what is damaged */
    int prints_records; /* on standard output: no progress if that is a terminal */
    /* Told of each record; what is not CPTI_EXIT_DONE ends the walk. */
    int (*record)(struct cpti_log_walk *walk, const struct cpt_record *record);
    void *context;
    /* What is looked for: blocks without any of it may be passed over unseen. */
    struct cpti_selection *const *selections;
    size_t selection_count;
    const struct cpt_log_part *part; /* what is walked of a file; NULL: all of it */

    struct cpt_log_reader *reader;
    struct cpti_log_passing passing;
    struct cpt_path *path;  /* for cpti_log_path() */
    uint64_t record_count;  /* met so far, this one included */
    uint64_t skipped_count; /* of those, could not be used */
    uint64_t lost_count;    /* never met, in damaged blocks; known when it ends */
    uint64_t passed_count;  /* in blocks passed over unseen; known when it ends */
    uint64_t damage_count;  /* places where something was wrong */
    uint64_t progress_ns;   /* when progress was shown last */
    int shows_progress;
};

/*
 * Walks. CPTI_EXIT_DONE; CPTI_EXIT_FAILED if the input could not be read, or something
 * in it was skipped (then all else has been met and the count was printed); or what
 * `record` returned.
 */
int cpti_log_walk(struct cpti_log_walk *walk);

/*
 * The same step by step, for who walks over several inputs at once: begin; next until
 * *@is_end is set or it fails; then end in any case, with what came of it so far.
 * @record is borrowed until the next step. enum cpti_exit; `record` is not called.
 */
int cpti_log_walk_begin(struct cpti_log_walk *walk);
int cpti_log_walk_next(struct cpti_log_walk *walk, struct cpt_record *record,
                       int *is_end);
int cpti_log_walk_end(struct cpti_log_walk *walk, int status);

/* Within `record`: its number in the file, from 1 on, those passed over included. */
uint64_t cpti_log_record_number(const struct cpti_log_walk *walk);

/* Within `record`: says that the record cannot be used, and counts it as skipped.
 * CPTI_EXIT_DONE, or CPTI_EXIT_FAILED if the walk stops at errors. */
int cpti_log_skip(struct cpti_log_walk *walk, const char *sentence);

/* Within `record`: its path in *@path, good until the next call. If it has none that
 * holds, *@path is NULL, and that is as after cpti_log_skip(). */
int cpti_log_path(struct cpti_log_walk *walk, const struct cpt_record *record,
                  const struct cpt_path **path);

/*
 * Cuts @input into at most @count_max parts, see cpt_log_parts.h, which it writes to
 * @parts; how many. One if it is no regular file. Each is walked with an input of its
 * own. Who wants to say of damage what a walk over the whole says makes quiet walks
 * over the parts, and if one met any, walks over the whole once more.
 */
size_t cpti_log_cut(struct cpti_input *input, struct cpt_log_part *parts,
                    size_t count_max);

/* Records that were walked over so far, by all threads, in steps. Any thread. */
uint64_t cpti_log_walked(void);

/* The options of every command that reads logs. */
extern const struct cpti_option cpti_log_options[];

/* Refuses an input that is no log, with the sentence that fits. enum cpti_exit. */
int cpti_log_expect(const struct cpti_input *input);

/* Says why a profile is refused. CPTI_EXIT_FAILED. */
int cpti_refuse_gzip(const struct cpti_input *input);

#endif
