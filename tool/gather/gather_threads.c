/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gather_threads.c - shares the inputs among threads; see gather_run.h */
#include "tool/gather/gather_run.h"

#include "tool/base/files.h"
#include "tool/base/output.h"
#include "tool/requests/pieces.h"
#include "tool/gather/parts.h"
#include "tool/log/tree_file.h"
#include "tool/requests/workers.h"
#include "aggregate/cpt_serial.h"
#include "aggregate/cpt_tree.h"

#include <stdlib.h>
#include <string.h>

/* What one thread gathers: a run with trees, selections (which note the keys they met)
 * and services of its own. */
struct share {
    struct cpti_gather_run run;
    struct cpti_gather gathers[CPTI_GATHERS_MAX];
    struct cpti_selection selections[CPTI_GATHERS_MAX];
};

struct crew {
    struct share *shares;
    size_t share_count;
    const char *const *paths;
    const struct cpti_pieces *pieces;
    struct cpti_gather_outcome *outcomes; /* of the pieces */
    const struct cpti_seen *seen;
};

static int gather_job(void *context, size_t worker, size_t job)
{
    const struct crew *crew = context;
    const struct cpti_piece *piece = &crew->pieces->all[job];

    if (crew->seen != NULL && cpti_seen_gave_up(crew->seen)) {
        crew->outcomes[job].is_broken = true; /* all is read again anyway */
        return 1;
    }
    crew->outcomes[job] =
        cpti_gather_input(&crew->shares[worker].run, crew->paths[piece->file],
                          piece->is_cut ? &piece->part : NULL);
    return !crew->outcomes[job].is_usable;
}

/* Whether a piece is broken, or threads found copies of records in an order of their
 * own: then nothing that was gathered or said counts. */
static bool is_any_broken(const void *context)
{
    const struct crew *crew = context;

    if (crew->seen != NULL && cpti_seen_needs_order(crew->seen)) {
        return true;
    }
    for (size_t i = 0; i < crew->pieces->count; i++) {
        if (crew->outcomes[i].is_broken) {
            return true;
        }
    }
    return false;
}

static int init_share(struct share *share, const struct cpti_gather_run *whole)
{
    share->run = *whole;
    share->run.services = (struct cpti_gather_services){0};
    share->run.gathers = share->gathers;
    share->run.shapes = NULL;
    memset(share->run.serials, 0, sizeof share->run.serials);
    for (size_t i = 0; i < whole->gather_count; i++) {
        share->selections[i] = *whole->gathers[i].selection;
        share->selections[i].scratch = (struct cpti_scratch){0}; /* one a thread */
        share->gathers[i] = whole->gathers[i];
        share->gathers[i].selection = &share->selections[i];
        share->gathers[i].tree = NULL;
        share->gathers[i].context = NULL;
    }
    for (size_t i = 0; i < whole->gather_count; i++) {
        const struct cpti_gather *gather = &whole->gathers[i];

        if (gather->request != NULL) {
            share->gathers[i].context = gather->threads->split(gather->context);
            if (share->gathers[i].context == NULL) {
                return cpti_failed("out of memory");
            }
        }
    }
    return cpti_gather_run_init(&share->run);
}

static void deinit_share(struct share *share)
{
    for (size_t i = 0; i < share->run.gather_count; i++) {
        cpt_tree_free(share->gathers[i].tree);
        cpti_selection_deinit(&share->selections[i]);
        if (share->gathers[i].context != NULL) {
            share->gathers[i].threads->drop(share->gathers[i].context);
        }
    }
    cpti_gather_run_deinit(&share->run);
}

/* Adds what a thread has gathered to @whole. enum cpti_exit. */
static int join_share(struct cpti_gather_run *whole, struct share *share)
{
    int exit_status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < whole->gather_count; i++) {
        struct cpti_selection *selection = whole->gathers[i].selection;

        whole->gathers[i].met_tree |= share->gathers[i].met_tree;
        whole->gathers[i].tree_duplicates += share->gathers[i].tree_duplicates;
        cpti_selection_join(selection, &share->selections[i]);
        if (exit_status == CPTI_EXIT_DONE && share->gathers[i].tree != NULL) {
            exit_status = cpti_status_exit(
                cpti_tree_absorb(&whole->gathers[i].tree, &share->gathers[i].tree));
        }
        if (exit_status == CPTI_EXIT_DONE && whole->serials[i] != NULL) {
            exit_status = cpti_status_exit(
                cpt_serial_join(whole->serials[i], share->run.serials[i]));
        }
        if (exit_status == CPTI_EXIT_DONE && share->gathers[i].context != NULL) {
            exit_status = cpti_status_exit(whole->gathers[i].threads->join(
                whole->gathers[i].context, share->gathers[i].context));
        }
        cpt_tree_free(share->gathers[i].tree); /* before the next one grows ours */
        share->gathers[i].tree = NULL;
    }
    for (size_t i = 0; i < share->run.services.count; i++) {
        (void)cpti_gather_run_enters(whole, share->run.services.names[i]);
    }
    whole->services.more_count += share->run.services.more_count;
    whole->services.has_failed |= share->run.services.has_failed;
    return exit_status;
}

static int run_crew(struct crew *crew, const struct cpti_gather_run *whole)
{
    const struct cpti_workers workers = {
        .job_count = crew->pieces->count,
        .worker_count = crew->share_count,
        .run = gather_job,
        .context = crew,
        .noun = crew->pieces->are_cut ? "pieces" : "files",
        .drops_messages = is_any_broken,
    };
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < crew->share_count && status == CPTI_EXIT_DONE; i++) {
        status = init_share(&crew->shares[i], whole);
    }
    if (status == CPTI_EXIT_DONE && cpti_workers_run(&workers) != 0) {
        status = cpti_failed("no thread can be started");
    }
    return status;
}

/* Puts the outcomes of the pieces together to those of their inputs. */
static void join_outcomes(const struct crew *crew, struct cpti_gather_outcome *outcomes)
{
    for (size_t i = 0; i < crew->pieces->count; i++) {
        struct cpti_gather_outcome *outcome = &outcomes[crew->pieces->all[i].file];
        const struct cpti_gather_outcome *piece = &crew->outcomes[i];
        const bool is_first =
            i == 0 || crew->pieces->all[i - 1].file != crew->pieces->all[i].file;

        if (is_first) {
            *outcome = *piece;
        } else if (outcome->exit_status == CPTI_EXIT_DONE) {
            outcome->exit_status = piece->exit_status;
            outcome->is_usable = outcome->is_usable && piece->is_usable;
        }
    }
}

/* Adds @pieces by several threads. *@is_broken if a piece is; then nothing was
 * added. */
static int gather_by_threads(struct cpti_gather_run *whole, const char *const *paths,
                             const struct cpti_pieces *pieces, size_t thread_count,
                             struct cpti_gather_outcome *outcomes, bool *is_broken)
{
    const size_t share_count =
        thread_count < pieces->count ? thread_count : pieces->count;
    struct crew crew = {.shares = calloc(share_count, sizeof *crew.shares),
                        .share_count = share_count,
                        .paths = paths,
                        .pieces = pieces,
                        .outcomes = calloc(pieces->count, sizeof *crew.outcomes),
                        .seen = whole->seen};
    int status = CPTI_EXIT_FAILED;

    if (crew.shares == NULL || crew.outcomes == NULL) {
        (void)cpti_failed("out of memory");
    } else {
        status = run_crew(&crew, whole);
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

static int gather_by_turns(struct cpti_gather_run *run, const char *const *paths,
                           struct cpti_gather_outcome *outcomes, size_t path_count)
{
    for (size_t i = 0; i < path_count; i++) {
        outcomes[i] = cpti_gather_input(run, paths[i], NULL);
        if (!outcomes[i].is_usable) {
            break;
        }
    }
    return CPTI_EXIT_DONE;
}

/* Adds all inputs, cut into pieces for @cut_count threads. */
static int gather_pieces(struct cpti_gather_run *run, const char *const *paths,
                         size_t path_count, size_t thread_count, size_t cut_count,
                         struct cpti_gather_outcome *outcomes, bool *is_broken)
{
    struct cpti_pieces pieces = {0};
    int status = cpti_pieces_init(&pieces, paths, path_count, cut_count);
    const bool has_threads = thread_count > 1 && pieces.count > 1;

    *is_broken = false;
    cpti_parts_reset(run->parts);
    if (run->seen != NULL) {
        cpti_seen_reset(run->seen, has_threads);
    }
    if (status == CPTI_EXIT_DONE) {
        status = has_threads ? gather_by_threads(run, paths, &pieces, thread_count,
                                                 outcomes, is_broken)
                             : gather_by_turns(run, paths, outcomes, path_count);
    }
    cpti_pieces_deinit(&pieces);
    return status;
}

/* Whether all inputs can be read again: logs of which one is a pipe are read once, in
 * their order. */
static bool are_regular(const char *const *paths, size_t path_count)
{
    for (size_t i = 0; i < path_count; i++) {
        if (!cpti_is_store(paths[i]) && !cpti_is_regular(paths[i])) {
            return false;
        }
    }
    return true;
}

/* If a piece of a log is broken, all is read again with whole inputs for pieces, and
 * only what is said then is printed. If copies of a record differ, or there are too
 * many records to compare, one thread reads all. */
int cpti_gather_inputs(struct cpti_gather_run *run, const char *const *paths,
                       size_t path_count, size_t thread_count,
                       struct cpti_gather_outcome *outcomes)
{
    const size_t count =
        run->seen == NULL || are_regular(paths, path_count) ? thread_count : 1;
    bool is_broken;
    int status =
        gather_pieces(run, paths, path_count, count, count, outcomes, &is_broken);

    if (is_broken && (run->seen == NULL || !cpti_seen_needs_order(run->seen))) {
        status = gather_pieces(run, paths, path_count, count, 1, outcomes, &is_broken);
    }
    if (is_broken && run->seen != NULL && cpti_seen_needs_order(run->seen)) {
        status = gather_pieces(run, paths, path_count, 1, 1, outcomes, &is_broken);
    }
    return status;
}
