/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* stream_threads.c - shares the inputs of a stream among threads; see stream_run.h */
#include "tool/requests/stream_run.h"

#include "tool/base/output.h"
#include "tool/requests/pieces.h"
#include "tool/requests/seen.h"
#include "tool/requests/workers.h"

#include <stdlib.h>

/* What one thread has: folds with contexts and selections (which note the keys they
 * met) of its own. */
struct share {
    struct cpti_stream stream;
    struct cpti_fold folds[CPTI_FOLDS_MAX];
    struct cpti_selection selections[CPTI_FOLDS_MAX];
};

struct crew {
    const struct cpti_stream *whole;
    struct share *shares;
    size_t share_count;
    const struct cpti_pieces *pieces;
    struct cpti_outcome *outcomes; /* of the pieces */
};

static int read_piece(void *context, size_t worker, size_t job)
{
    const struct crew *crew = context;
    const struct cpti_stream *whole = crew->whole;
    const struct cpti_piece *piece = &crew->pieces->all[job];

    if (whole->seen != NULL && cpti_seen_gave_up(whole->seen)) {
        crew->outcomes[job].is_broken = true; /* all is read again anyway */
        return 1;
    }
    crew->outcomes[job] =
        cpti_stream_input(&crew->shares[worker].stream, whole->paths[piece->file],
                          piece->is_cut ? &piece->part : NULL);
    return crew->outcomes[job].is_last;
}

/* Whether a piece is broken, or threads found copies of records in an order of their
 * own: then nothing that was taken or said counts. */
static bool is_any_broken(const void *context)
{
    const struct crew *crew = context;

    if (crew->whole->seen != NULL && cpti_seen_needs_order(crew->whole->seen)) {
        return true;
    }
    for (size_t i = 0; i < crew->pieces->count; i++) {
        if (crew->outcomes[i].is_broken) {
            return true;
        }
    }
    return false;
}

static int init_share(struct share *share, const struct cpti_stream *whole)
{
    share->stream = *whole;
    share->stream.folds = share->folds;
    for (size_t i = 0; i < whole->fold_count; i++) {
        struct cpti_fold *fold = &share->folds[i];

        *fold = whole->folds[i];
        fold->counts = (struct cpti_fold_counts){0};
        fold->context = fold->split(fold->context);
        if (fold->selection != NULL) {
            share->selections[i] = *fold->selection;
            share->selections[i].scratch = (struct cpti_scratch){0}; /* one a thread */
            fold->selection = &share->selections[i];
        }
        if (fold->context == NULL) {
            share->stream.fold_count = i + 1; /* that there are to drop */
            return cpti_failed("out of memory");
        }
    }
    return CPTI_EXIT_DONE;
}

static void deinit_share(struct share *share)
{
    for (size_t i = 0; i < share->stream.fold_count; i++) {
        cpti_selection_deinit(&share->selections[i]);
        if (share->folds[i].context != NULL) {
            share->folds[i].drop(share->folds[i].context);
        }
    }
}

/* Adds the counts @from to @counts; sums of weights end at their limit. */
static void join_counts(struct cpti_fold_counts *counts,
                        const struct cpti_fold_counts *from)
{
    counts->record_count += from->record_count;
    counts->skipped_count += from->skipped_count;
    counts->selected_count += from->selected_count;
    counts->forced_count += from->forced_count;
    counts->fragment_count += from->fragment_count;
    counts->events_count += from->events_count;
    counts->local_root_count += from->local_root_count;
    counts->duplicate_count += from->duplicate_count;
    counts->unchecked_count += from->unchecked_count;
    counts->whole_count += from->whole_count;
    counts->whole_weight += from->whole_weight < UINT64_MAX - counts->whole_weight
                                ? from->whole_weight
                                : UINT64_MAX - counts->whole_weight;
    counts->chosen_count += from->chosen_count;
    counts->chosen_weight += from->chosen_weight < UINT64_MAX - counts->chosen_weight
                                 ? from->chosen_weight
                                 : UINT64_MAX - counts->chosen_weight;
}

/* Adds what a thread has taken to @whole. enum cpti_exit. */
static int join_share(const struct cpti_stream *whole, struct share *share)
{
    int exit_status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < whole->fold_count; i++) {
        struct cpti_fold *fold = &whole->folds[i];

        if (fold->selection != NULL) {
            cpti_selection_join(fold->selection, &share->selections[i]);
        }
        join_counts(&fold->counts, &share->folds[i].counts);
        if (exit_status == CPTI_EXIT_DONE) {
            exit_status =
                cpti_status_exit(fold->join(fold->context, share->folds[i].context));
        }
        fold->drop(share->folds[i].context); /* before the next one grows ours */
        share->folds[i].context = NULL;
    }
    return exit_status;
}

static int run_crew(struct crew *crew)
{
    const struct cpti_workers workers = {
        .job_count = crew->pieces->count,
        .worker_count = crew->share_count,
        .run = read_piece,
        .context = crew,
        .noun = crew->pieces->are_cut ? "pieces" : "files",
        .drops_messages = is_any_broken,
    };
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < crew->share_count && status == CPTI_EXIT_DONE; i++) {
        status = init_share(&crew->shares[i], crew->whole);
    }
    if (status == CPTI_EXIT_DONE && cpti_workers_run(&workers) != 0) {
        status = cpti_failed("no thread can be started");
    }
    return status;
}

/* Puts the outcomes of the pieces together to those of their inputs. */
static void join_outcomes(const struct crew *crew, struct cpti_outcome *outcomes)
{
    for (size_t i = 0; i < crew->pieces->count; i++) {
        struct cpti_outcome *outcome = &outcomes[crew->pieces->all[i].file];
        const struct cpti_outcome *piece = &crew->outcomes[i];
        const bool is_first =
            i == 0 || crew->pieces->all[i - 1].file != crew->pieces->all[i].file;

        if (is_first) {
            *outcome = *piece;
        } else if (outcome->exit_status == CPTI_EXIT_DONE) {
            outcome->exit_status = piece->exit_status;
            outcome->is_usable = outcome->is_usable && piece->is_usable;
            outcome->is_last = outcome->is_last || piece->is_last;
        }
    }
}

/* Reads @pieces by several threads. *@is_broken if a piece is; then nothing was
 * taken. */
static int read_by_threads(struct cpti_stream *whole, const struct cpti_pieces *pieces,
                           size_t thread_count, struct cpti_outcome *outcomes,
                           bool *is_broken)
{
    const size_t share_count =
        thread_count < pieces->count ? thread_count : pieces->count;
    struct crew crew = {.whole = whole,
                        .shares = calloc(share_count, sizeof *crew.shares),
                        .share_count = share_count,
                        .pieces = pieces,
                        .outcomes = calloc(pieces->count, sizeof *crew.outcomes)};
    int status = CPTI_EXIT_FAILED;

    if (crew.shares == NULL || crew.outcomes == NULL) {
        (void)cpti_failed("out of memory");
    } else {
        status = run_crew(&crew);
    }
    *is_broken = status == CPTI_EXIT_DONE && is_any_broken(&crew);
    if (status == CPTI_EXIT_DONE) {
        join_outcomes(&crew, outcomes);
    }
    for (size_t i = 0; i < share_count && crew.shares != NULL; i++) {
        if (status == CPTI_EXIT_DONE && !*is_broken) {
            status = join_share(whole, &crew.shares[i]);
        }
        deinit_share(&crew.shares[i]);
    }
    free(crew.shares);
    free(crew.outcomes);
    return status;
}

static void read_by_turns(struct cpti_stream *stream, struct cpti_outcome *outcomes)
{
    for (size_t i = 0; i < stream->path_count; i++) {
        outcomes[i] = cpti_stream_input(stream, stream->paths[i], NULL);
        if (outcomes[i].is_last) {
            break;
        }
    }
}

/* Reads all inputs, cut into pieces for @cut_count threads. */
static int read_pieces(struct cpti_stream *stream, size_t thread_count,
                       size_t cut_count, struct cpti_outcome *outcomes, bool *is_broken)
{
    struct cpti_pieces pieces = {0};
    int status =
        cpti_pieces_init(&pieces, stream->paths, stream->path_count, cut_count);
    const bool has_threads = thread_count > 1 && pieces.count > 1;

    *is_broken = false;
    if (stream->begin != NULL) {
        stream->begin(stream->context);
    }
    if (stream->seen != NULL) {
        cpti_seen_reset(stream->seen, has_threads);
    }
    if (status == CPTI_EXIT_DONE && has_threads) {
        status = read_by_threads(stream, &pieces, thread_count, outcomes, is_broken);
    } else if (status == CPTI_EXIT_DONE) {
        read_by_turns(stream, outcomes);
    }
    cpti_pieces_deinit(&pieces);
    return status;
}

bool cpti_stream_is_regular(const struct cpti_stream *stream)
{
    for (size_t i = 0; i < stream->path_count; i++) {
        if (!cpti_is_store(stream->paths[i]) && !cpti_is_regular(stream->paths[i])) {
            return false;
        }
    }
    return true;
}

/* Whether one thread has to meet all requests: for a sample, or as a fold is not one
 * that several can share. Inputs of which one is a pipe are read once, in their
 * order. */
static bool needs_one_thread(const struct cpti_stream *stream)
{
    for (size_t i = 0; i < stream->fold_count; i++) {
        if (stream->folds[i].split == NULL || stream->folds[i].is_sampled) {
            return true;
        }
    }
    return !cpti_stream_is_regular(stream);
}

/* If a piece of a log is broken, all is read again with whole inputs for pieces, and
 * only what is said then is printed. If a whole one is, if copies of a record differ,
 * or if there are too many records to compare, one thread reads all. */
int cpti_stream_inputs(struct cpti_stream *stream, struct cpti_outcome *outcomes)
{
    const size_t count = needs_one_thread(stream) ? 1 : stream->thread_count;
    const struct cpti_seen *seen = stream->seen;
    bool is_broken;
    int status = read_pieces(stream, count, count, outcomes, &is_broken);

    if (is_broken && (seen == NULL || !cpti_seen_needs_order(seen))) {
        status = read_pieces(stream, count, 1, outcomes, &is_broken);
    }
    if (is_broken) {
        status = read_pieces(stream, 1, 1, outcomes, &is_broken);
    }
    return status;
}
