/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* stream.c - one input of a stream: its records, to the folds; see stream.h */
#include "tool/requests/stream_run.h"

#include "tool/base/output.h"

#include "tool/requests/log_follow.h"
#include "tool/requests/log_merge.h"
#include "tool/requests/log_sample.h"
#include "tool/requests/pieces.h"
#include "tool/requests/seen.h"
#include "aggregate/cpt_tree.h"
#include "wire/cpt_log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* --- Counts --- */

void cpti_fold_count_left(struct cpti_fold_counts *counts, enum cpti_selected selected)
{
    counts->selected_count += selected == CPTI_SELECTED;
    counts->forced_count += selected == CPTI_FORCED_EXCLUDED;
    counts->fragment_count += selected == CPTI_FRAGMENT_EXCLUDED;
    counts->events_count += selected == CPTI_EVENTS_EXCLUDED;
    counts->local_root_count += selected == CPTI_LOCAL_ROOT_EXCLUDED;
}

const char *cpti_fold_left_text(const struct cpti_fold_counts *counts,
                                char text[CPTI_LEFT_BYTES])
{
    enum { EACH = CPTI_LEFT_BYTES / 4 };
    const struct {
        uint64_t count;
        const char *what;
    } kinds[] = {
        {counts->forced_count, "forced left out, see --include-forced"},
        {counts->fragment_count, "fragments left out, see --include-fragments"},
        {counts->local_root_count, "of inner services' own left out, see --entry"},
        {counts->events_count, "of event logs left out, see --evidence"},
    };
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].count != 0) {
            at += (size_t)snprintf(text + at, EACH, "; %" PRIu64 " %s", kinds[i].count,
                                   kinds[i].what);
        }
    }
    return text;
}

/* Adds the weight of a request to *@weight, but for one; a sum ends at its limit. */
static void add_weight(uint64_t *weight, cpt_weight more)
{
    more -= CPT_WEIGHT_ONE;
    *weight = more > UINT64_MAX - *weight ? UINT64_MAX : *weight + more;
}

/* Counts @record among all, and among those that are selected. */
static void count_whole(struct cpti_fold *fold, const struct cpt_record *record,
                        bool is_chosen)
{
    struct cpti_fold_counts *counts = &fold->counts;
    const cpt_weight weight = cpti_selection_weight(fold->selection, record);

    if (weight == 0 || !cpti_selection_may_count(fold->selection, record)) {
        return;
    }
    counts->whole_count++;
    add_weight(&counts->whole_weight, weight);
    if (is_chosen) {
        counts->chosen_count++;
        add_weight(&counts->chosen_weight, weight);
    }
}

/* --- Records --- */

/* A walk's records on their way to the folds. */
struct passage {
    struct cpti_stream *stream;
    struct cpti_seen_mark mark; /* of the record at hand */
    bool has_mark;
    bool is_ended; /* by a fold */
    bool is_once;  /* the log cannot be read again */
};

enum cpti_selected cpti_fold_select(struct cpti_fold *fold,
                                    const struct cpt_record *record)
{
    enum cpti_selected selected = CPTI_SELECTED;

    if (fold->reading != CPTI_READING_ALL &&
        (fold->reading == CPTI_READING_NOTHING || !cpti_is_of_events(record))) {
        return CPTI_NOT_SELECTED;
    }

    if (fold->selects != NULL) {
        selected = fold->selects(fold->selection, record);
    } else if (fold->selection != NULL) {
        selected = cpti_selection_counts(fold->selection, record);
    }
    if (fold->counts_all) {
        count_whole(fold, record, selected == CPTI_SELECTED);
    }
    if (fold->reading == CPTI_READING_ALL) {
        fold->counts.record_count++;
        cpti_fold_count_left(&fold->counts, selected);
    }
    return selected;
}

/* Whether the record of @request, which counts for the fold @index, was not counted
 * before. Sets *@exit_status if it fails. */
static bool is_new(struct passage *passage, size_t index,
                   const struct cpti_request *request, int *exit_status)
{
    struct cpti_stream *stream = passage->stream;
    struct cpti_fold *fold = &stream->folds[index];
    enum cpti_seen_result result;

    if (!fold->counts_once) {
        return true;
    }
    if (!passage->has_mark) {
        passage->mark = cpti_seen_mark(stream->seen, request->record, request->bytes);
        passage->has_mark = true;
    }
    result = cpti_seen_add(stream->seen, &passage->mark, (unsigned)index);
    if (result == CPTI_SEEN_NO_MEMORY) {
        *exit_status = cpti_failed("out of memory; --keep-duplicates needs less");
        return false;
    }
    fold->counts.duplicate_count += result == CPTI_SEEN_BEFORE;
    fold->counts.unchecked_count += result == CPTI_SEEN_UNKNOWN;
    return result != CPTI_SEEN_BEFORE;
}

/* Offers a selected request to the fold @index. enum cpti_exit, or that of take(). */
static int offer(struct passage *passage, size_t index, struct cpti_request *request)
{
    struct cpti_fold *fold = &passage->stream->folds[index];
    enum cpti_needs needs;
    int exit_status = CPTI_EXIT_DONE;

    request->path = NULL;
    request->weight =
        fold->weigh != NULL ? fold->weigh(fold->selection, request->record) : 1;
    needs = fold->needs != NULL ? fold->needs(fold->context, request) : CPTI_NEEDS_PATH;
    if (needs == CPTI_NEEDS_NOTHING) {
        return CPTI_EXIT_DONE;
    }
    if (request->weight == 0) {
        return cpti_log_skip(request->walk,
                             "its sampling probability is not from 2^-28 to 1");
    }
    if (fold->is_sampled) {
        return is_new(passage, index, request, &exit_status)
                   ? cpti_log_sample_add(&fold->sample, request)
                   : exit_status;
    }
    if (needs == CPTI_NEEDS_PATH) {
        exit_status = cpti_log_path(request->walk, request->record, &request->path);
        if (request->path == NULL) {
            return exit_status;
        }
    }
    /* only now: a record that is not sound is no request that could be met again */
    return is_new(passage, index, request, &exit_status)
               ? fold->take(fold->context, request)
               : exit_status;
}

static int meet_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct passage *passage = walk->context;
    struct cpti_stream *stream = passage->stream;
    struct cpti_request request;
    int exit_status = CPTI_EXIT_DONE;

    request.record = record;
    request.number = stream->record_count + cpti_log_record_number(walk);
    request.bytes = cpt_log_reader_bytes(walk->reader);
    request.walk = walk;

    passage->has_mark = false;
    for (size_t i = 0; i < stream->fold_count && exit_status == CPTI_EXIT_DONE; i++) {
        if (cpti_fold_select(&stream->folds[i], record) == CPTI_SELECTED) {
            exit_status = offer(passage, i, &request);
        }
    }
    if (passage->is_once) {
        exit_status = CPTI_THEN(exit_status, cpti_stream_keep(stream, &request));
    }
    passage->is_ended = exit_status != CPTI_EXIT_DONE;
    return exit_status;
}

enum cpti_needs cpti_needs_record(void *context, struct cpti_request *request)
{
    (void)context;
    (void)request;
    return CPTI_NEEDS_RECORD;
}

void cpti_fold_sample(struct cpti_fold *fold, uint64_t seed)
{
    const uint64_t count = fold->selection->sample_count;

    fold->is_sampled = count != 0;
    if (fold->is_sampled) {
        cpti_sample_init(&fold->sample, (size_t)count, seed);
    }
}

int cpti_fold_drawn(struct cpti_fold *fold)
{
    return cpti_log_sample_each(&fold->sample, fold->take, fold->context);
}

/* --- Inputs --- */

/* Writes to @selections those by which blocks may be passed over; how many. */
static size_t passing(const struct cpti_stream *stream,
                      struct cpti_selection *selections[CPTI_FOLDS_MAX])
{
    for (size_t i = 0; i < stream->fold_count; i++) {
        selections[i] = stream->folds[i].selection;
        if (stream->reads_all || selections[i] == NULL || stream->folds[i].counts_all) {
            return 0; /* what is passed over is not weighed */
        }
    }
    return stream->fold_count;
}

static void meet_untraced(void *context, const struct cpt_log_untraced *untraced)
{
    const struct cpti_stream *stream = ((const struct passage *)context)->stream;

    stream->untraced(stream->context, untraced);
}

/* A walk whose records go to the folds. @selections: see passing(). */
static struct cpti_log_walk walk_of(struct cpti_stream *stream, struct passage *passage,
                                    struct cpti_selection *selections[CPTI_FOLDS_MAX])
{
    return (struct cpti_log_walk){.stops_at_error = stream->stops_at_error,
                                  .forgives = stream->forgives,
                                  .follows = stream->follows,
                                  .is_quiet = stream->is_quiet,
                                  .prints_records = stream->prints_records,
                                  .record = meet_record,
                                  .untraced =
                                      stream->untraced != NULL ? meet_untraced : NULL,
                                  .context = passage,
                                  .selections = selections,
                                  .selection_count = passing(stream, selections)};
}

static void read_log(struct cpti_stream *stream, struct cpti_input *input,
                     const struct cpt_log_part *part, struct cpti_outcome *outcome)
{
    struct cpti_selection *selections[CPTI_FOLDS_MAX] = {NULL};
    struct passage passage = {.stream = stream,
                              .is_once = !cpti_is_regular(input->path)};
    struct cpti_log_walk walk = walk_of(stream, &passage, selections);
    uint64_t skipped_count;
    int status;

    walk.input = input;
    walk.part = part;
    status = cpti_log_walk(&walk);
    skipped_count = walk.skipped_count + walk.lost_count;
    for (size_t i = 0; i < stream->fold_count; i++) {
        stream->folds[i].counts.skipped_count += skipped_count;
        if (stream->folds[i].reading == CPTI_READING_ALL) {
            stream->folds[i].counts.record_count += walk.passed_count;
        }
    }
    stream->record_count += walk.record_count + walk.passed_count;
    if (stream->end != NULL) {
        status = stream->end(stream->context, &walk, status);
    }
    outcome->exit_status = cpti_exit_last(outcome->exit_status, status);
    outcome->is_last =
        passage.is_ended || (stream->stops_at_error && status != CPTI_EXIT_DONE);
    outcome->is_broken = part != NULL && (status != CPTI_EXIT_DONE ||
                                          walk.damage_count != 0 || skipped_count != 0);
    /* skipped records leave the others usable */
    outcome->is_usable =
        status == CPTI_EXIT_DONE || status == CPTI_STREAM_ENOUGH ||
        (status == CPTI_EXIT_FAILED && walk.damage_count != 0 &&
         walk.record_count + walk.passed_count != 0 && !stream->stops_at_error);
}

/* Reads an open input. */
static void read_file(struct cpti_stream *stream, struct cpti_input *input,
                      const struct cpt_log_part *part, struct cpti_outcome *outcome)
{
    outcome->is_usable = false;
    outcome->is_log = input->kind == CPTI_INPUT_LOG;
    if (stream->other != NULL && (!outcome->is_log || stream->gives_logs)) {
        outcome->is_log = false;
        stream->other(stream->context, stream->folds, input, outcome);
    } else if (!outcome->is_log) {
        outcome->exit_status = cpti_log_accept(input);
        outcome->is_log = outcome->exit_status == CPTI_EXIT_DONE;
    }
    if (outcome->is_log) {
        read_log(stream, input, part, outcome);
    }
}

/* Reads the logs that continue @input, as long as all goes well. */
static void follow(struct cpti_stream *stream, struct cpti_input *input,
                   struct cpti_outcome *outcome)
{
    char *path = NULL; /* that @input has borrowed */

    while (outcome->is_usable && !outcome->is_last) {
        char *next = NULL;
        int status = cpti_log_successor(input, &next);

        if (status == CPTI_EXIT_DONE && next == NULL) {
            break;
        }
        cpti_input_close(input);
        free(path);
        path = next;
        if (status == CPTI_EXIT_DONE) {
            status = cpti_input_open(input, path);
        }
        outcome->is_usable = status == CPTI_EXIT_DONE;
        outcome->exit_status = cpti_exit_last(outcome->exit_status, status);
        if (outcome->is_usable) {
            read_file(stream, input, NULL, outcome);
        }
    }
    free(path);
}

struct cpti_outcome cpti_stream_input(struct cpti_stream *stream, const char *path,
                                      const struct cpt_log_part *part)
{
    struct cpti_outcome outcome = {0};
    struct cpti_input input;

    if (cpti_is_store(path) && (stream->store != NULL || stream->is_quiet)) {
        outcome.exit_status = stream->store != NULL
                                  ? stream->store(stream->context, stream->folds, path)
                                  : CPTI_EXIT_DONE;
        outcome.is_usable = outcome.exit_status == CPTI_EXIT_DONE;
        outcome.is_last = !outcome.is_usable && !stream->goes_on;
        return outcome;
    }
    outcome.exit_status = cpti_input_open(&input, path);
    if (outcome.exit_status == CPTI_EXIT_DONE) {
        read_file(stream, &input, part, &outcome);
        if (stream->follows) {
            follow(stream, &input, &outcome);
        }
        if (!outcome.is_taken) {
            cpti_input_close(&input);
        }
    }
    outcome.is_last = outcome.is_last || (!outcome.is_usable && !stream->goes_on);
    return outcome;
}

/* --- All --- */

/* Reads all logs at once. enum cpti_exit. */
static int read_in_order(struct cpti_stream *stream)
{
    struct cpti_selection *selections[CPTI_FOLDS_MAX] = {NULL};
    struct passage passage = {.stream = stream};
    const struct cpti_log_walk like = walk_of(stream, &passage, selections);

    return cpti_log_merge(&like, stream->paths, stream->path_count);
}

/* Reads all inputs, one by one or by threads. enum cpti_exit. */
static int read_each(struct cpti_stream *stream, struct cpti_outcome *outcomes,
                     bool *is_usable)
{
    int status = cpti_stream_inputs(stream, outcomes);

    *is_usable = status == CPTI_EXIT_DONE;
    for (size_t i = 0; i < stream->path_count && *is_usable; i++) {
        status = cpti_exit_last(status, outcomes[i].exit_status);
        *is_usable = !outcomes[i].is_last || outcomes[i].is_usable;
        if (outcomes[i].is_last) {
            break;
        }
    }
    if (stream->finish != NULL) {
        status = cpti_exit_last(status, stream->finish(stream->context));
    }
    if (*is_usable) {
        const int again = cpti_stream_repeat(stream);

        *is_usable = again == CPTI_EXIT_DONE;
        status = cpti_exit_last(status, again);
    }
    return status;
}

/* Makes the set of records that were met, if a fold asks for it. enum cpti_exit. */
static int init_seen(struct cpti_stream *stream)
{
    for (size_t i = 0; i < stream->fold_count; i++) {
        if (stream->folds[i].counts_once) {
            stream->seen = cpti_seen_new(stream->seen_max);
            return stream->seen != NULL
                       ? CPTI_EXIT_DONE
                       : cpti_failed("no memory or random numbers to find "
                                     "duplicates" CPTI_HINT "see --keep-duplicates");
        }
    }
    return CPTI_EXIT_DONE;
}

int cpti_stream_run(struct cpti_stream *stream, bool *is_usable)
{
    struct cpti_outcome *outcomes =
        stream->outcomes != NULL ? stream->outcomes
                                 : calloc(stream->path_count + 1, sizeof *outcomes);
    int status;

    assert(stream->fold_count <= CPTI_FOLDS_MAX);
    *is_usable = false;
    if (outcomes == NULL) {
        return cpti_failed("out of memory");
    }
    status = init_seen(stream);
    if (status == CPTI_EXIT_DONE) {
        status = stream->in_time_order ? read_in_order(stream)
                                       : read_each(stream, outcomes, is_usable);
    }
    cpti_stream_keep_end(stream);
    cpti_seen_free(stream->seen);
    stream->seen = NULL;
    if (stream->outcomes == NULL) {
        free(outcomes);
    }
    return status == CPTI_STREAM_ENOUGH ? CPTI_EXIT_DONE : status;
}

int cpti_stream_look(const char *const *paths, size_t path_count,
                     int (*take)(void *context, const struct cpti_request *request),
                     void *context)
{
    struct cpti_fold fold = {
        .needs = cpti_needs_record, .take = take, .context = context};
    struct cpti_stream stream = {.folds = &fold,
                                 .fold_count = 1,
                                 .paths = paths,
                                 .path_count = path_count,
                                 .goes_on = true,
                                 .is_quiet = true};
    bool is_usable;

    return cpti_stream_run(&stream, &is_usable);
}
