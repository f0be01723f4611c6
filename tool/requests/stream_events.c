/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * stream_events.c - records that were made from event logs, for folds that have met
 * nothing else; see stream_run.h
 *
 * Such a fold has taken nothing yet, so the second reading begins with what it has.
 */
#include "tool/requests/stream_run.h"

#include "tool/base/log_output.h"
#include "tool/base/output.h"
#include "tool/base/private_file.h"
#include "tool/requests/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A log without a name, of what pipes had. */
struct kept {
    struct cpti_log_output output;
    char path[CPTI_PRIVATE_PATH_BYTES];
    int file;
    bool is_written;
};

/* Whether it is not known yet if @fold has other records. */
static bool is_undecided(const struct cpti_fold *fold)
{
    return fold->selection != NULL && fold->selection->events == CPTI_EVENTS_ALONE &&
           fold->counts.selected_count == 0;
}

/* Whether a fold may need a second reading. */
static bool may_repeat(const struct cpti_stream *stream)
{
    for (size_t i = 0; i < stream->fold_count; i++) {
        if (is_undecided(&stream->folds[i])) {
            return !stream->follows && !stream->in_time_order;
        }
    }
    return false;
}

/* --- What pipes have --- */

static int open_kept(struct cpti_stream *stream)
{
    struct kept *kept = calloc(1, sizeof *kept);
    int status = CPTI_EXIT_FAILED;

    if (kept == NULL) {
        return cpti_failed("out of memory");
    }
    kept->file = cpti_private_file(kept->path);
    if (kept->file < 0) {
        free(kept);
        return cpti_failed("there is no temporary file for records of a pipe: %s",
                           strerror(errno));
    }
    status = cpti_log_output_open(&kept->output, kept->path, false);
    if (status != CPTI_EXIT_DONE) {
        (void)close(kept->file);
        free(kept);
        return status;
    }
    stream->pipes = kept;
    return CPTI_EXIT_DONE;
}

int cpti_stream_keep(struct cpti_stream *stream, const struct cpti_request *request)
{
    struct kept *kept = stream->pipes;
    int status = CPTI_EXIT_DONE;

    if (!may_repeat(stream) || !cpti_is_of_events(request->record)) {
        return CPTI_EXIT_DONE;
    }
    if (kept == NULL) {
        status = open_kept(stream);
        kept = stream->pipes;
    }
    return CPTI_THEN(status, cpti_log_output_add(&kept->output, request->bytes));
}

void cpti_stream_keep_end(struct cpti_stream *stream)
{
    struct kept *kept = stream->pipes;

    if (kept == NULL) {
        return;
    }
    if (!kept->is_written) {
        cpti_log_output_abort(&kept->output);
    }
    (void)close(kept->file);
    free(kept);
    stream->pipes = NULL;
}

/* --- The second reading --- */

void cpti_stream_pass_over(void *context, struct cpti_fold *folds,
                           struct cpti_input *input, struct cpti_outcome *outcome)
{
    (void)context;
    (void)folds;
    outcome->is_log = input->kind == CPTI_INPUT_OTHER; /* perhaps it is one */
    outcome->is_usable = true;
}

/* Whether @fold has records of event logs alone, which it gets now. */
static bool is_repeated(struct cpti_fold *fold)
{
    struct cpti_selection *selection = fold->selection;

    fold->reading = CPTI_READING_NOTHING;
    if (is_undecided(fold) && fold->counts.events_count != 0) {
        selection->events = CPTI_EVENTS_TAKEN;
        fold->reading = CPTI_READING_EVENTS;
        fold->counts.selected_count = fold->counts.events_count;
        fold->counts.events_count = 0;
        return true;
    }
    if (selection != NULL && selection->events == CPTI_EVENTS_ALONE &&
        fold->counts.selected_count != 0) {
        selection->events = CPTI_EVENTS_LEFT;
    }
    return false;
}

/* Reads all that can be read again, and what was kept. */
static int read_again(struct cpti_stream *stream)
{
    struct kept *kept = stream->pipes;
    const char **paths = calloc(stream->path_count + 1, sizeof *paths);
    struct cpti_outcome *outcomes = calloc(stream->path_count + 1, sizeof *outcomes);
    struct cpti_stream again = *stream;
    int status = CPTI_EXIT_DONE;

    again.paths = paths;
    again.path_count = 0;
    again.is_quiet = true;
    again.begin = NULL;
    again.end = NULL;
    again.finish = NULL;
    again.store = NULL;
    again.other = cpti_stream_pass_over;
    for (size_t i = 0; i < stream->path_count && paths != NULL; i++) {
        if (cpti_is_regular(stream->paths[i])) {
            paths[again.path_count++] = stream->paths[i];
        }
    }
    if (kept != NULL && paths != NULL) {
        paths[again.path_count++] = kept->path;
        kept->is_written = true;
        status = cpti_log_output_commit(&kept->output);
    }
    if (status == CPTI_EXIT_DONE) {
        status = paths != NULL && outcomes != NULL
                     ? cpti_stream_inputs(&again, outcomes)
                     : cpti_failed("out of memory");
    }
    for (size_t i = 0; i < again.path_count && outcomes != NULL; i++) {
        if (status == CPTI_EXIT_DONE && outcomes[i].is_last && !outcomes[i].is_usable) {
            status = outcomes[i].exit_status;
        }
    }
    free(paths);
    free(outcomes);
    return status;
}

int cpti_stream_repeat(struct cpti_stream *stream)
{
    uint64_t skipped_counts[CPTI_FOLDS_MAX];
    bool is_any = false;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < stream->fold_count; i++) {
        skipped_counts[i] = stream->folds[i].counts.skipped_count;
        stream->folds[i].counts.skipped_count = 0;
        is_any |= is_repeated(&stream->folds[i]);
    }
    if (is_any && !stream->follows) {
        status = read_again(stream);
    }
    for (size_t i = 0; i < stream->fold_count; i++) {
        struct cpti_fold *fold = &stream->folds[i];

        fold->reading = CPTI_READING_ALL;
        if (fold->counts.skipped_count < skipped_counts[i]) {
            fold->counts.skipped_count = skipped_counts[i]; /* of damage, too */
        }
    }
    return status;
}
