/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_pass.c - the first pass, which finds the percentiles of a selection
 *
 * In it the terms without a percentile select; the latencies of what they take are the
 * population. What is damaged is passed over in silence, as the second pass says it.
 *
 * Logs are read in pieces by several threads, each with a population of its own;
 * sorted, they are one. If anything is wrong with a piece, one thread reads all files
 * again.
 */
#include "cpt/cli/gather/gather.h"

#include "cpt/cli/base/files.h"
#include "cpt/cli/gather/gather_percentile.h"
#include "cpt/cli/gather/gather_pieces.h"
#include "cpt/cli/gather/gather_store.h"
#include "cpt/cli/gather/log_walk.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/gather/workers.h"
#include "wire/cpt_log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct pass {
    struct cpti_selection *const *selections;
    size_t count;
    struct cpti_population populations[CPTI_GATHERS_MAX];
    struct cpti_selection *wanting[CPTI_GATHERS_MAX]; /* those with percentiles */
    size_t wanting_count;
};

static int meet_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct pass *pass = walk->context;

    for (size_t i = 0; i < pass->count; i++) {
        struct cpti_selection *selection = pass->selections[i];
        const uint64_t weight = cpti_selection_weight(selection, record);
        cpt_status status;

        if (selection->expression.percentile_count == 0 || weight == 0 ||
            !cpti_selection_is_population(selection, record)) {
            continue;
        }
        status = cpti_population_add(&pass->populations[i],
                                     (struct cpti_latency){record->latency_ns, weight});
        if (status == CPT_LIMIT) {
            return cpti_failed("a percentile can be that of at most %zu records",
                               CPTI_POPULATION_MAX);
        }
        if (status != CPT_OK) {
            return cpti_failed("out of memory");
        }
    }
    return CPTI_EXIT_DONE;
}

/* Whether @path can be read twice. */
static int refuse_pipe(const char *path, const char *percentile)
{
    struct stat info;

    if (cpti_is_store(path)) {
        return CPTI_EXIT_DONE;
    }
    if (strcmp(path, "-") != 0 && (stat(path, &info) != 0 || S_ISREG(info.st_mode))) {
        return CPTI_EXIT_DONE; /* what is not there is said when it is opened */
    }
    return cpti_failed(
        "%s: a pipe can be read only once, but %s is that of the records "
        "which satisfy the other terms, exact, by a first pass; put it "
        "into a file",
        strcmp(path, "-") == 0 ? "standard input" : cpti_quoted(path), percentile);
}

/* The file at @path, or @part of it; *@is_damaged, if there is any damage. */
static int pass_file(struct pass *pass, const char *path,
                     const struct cpt_log_part *part, int *is_damaged)
{
    struct cpti_input input;
    struct cpti_log_walk walk = {
        .input = &input,
        .is_quiet = 1,
        .record = meet_record,
        .context = pass,
        .selections = pass->wanting,
        .selection_count = pass->wanting_count,
        .part = part,
    };
    int status;

    if (cpti_is_store(path)) {
        return CPTI_EXIT_DONE; /* asked when the logs have been read */
    }
    status = cpti_input_open(&input, path);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (input.kind == CPTI_INPUT_LOG || input.kind == CPTI_INPUT_OTHER) {
        status = cpti_log_walk(&walk);
        *is_damaged |= walk.damage_count != 0 || walk.lost_count != 0;
    }
    cpti_input_close(&input);
    return status;
}

/* --- Threads --- */

/* What one thread has: copies of the selections, which note what they met. */
struct share {
    struct pass pass;
    struct cpti_selection selections[CPTI_GATHERS_MAX];
    struct cpti_selection *pointers[CPTI_GATHERS_MAX];
};

struct crew {
    struct share *shares;
    const char *const *paths;
    const struct cpti_pieces *pieces;
    int *are_broken; /* by piece */
};

static int pass_job(void *context, size_t worker, size_t job)
{
    const struct crew *crew = context;
    const struct cpti_piece *piece = &crew->pieces->all[job];
    int is_damaged = 0;
    const int status = pass_file(&crew->shares[worker].pass, crew->paths[piece->file],
                                 piece->is_cut ? &piece->part : NULL, &is_damaged);

    crew->are_broken[job] = status != CPTI_EXIT_DONE || (piece->is_cut && is_damaged);
    return crew->are_broken[job];
}

/* Nothing is said here: if anything is wrong, one thread says it. */
static int is_in_vain(const void *context)
{
    (void)context;
    return 1;
}

static void init_share(struct share *share, const struct pass *whole)
{
    share->pass = *whole;
    share->pass.selections = share->pointers;
    share->pass.wanting_count = 0;
    for (size_t i = 0; i < whole->count; i++) {
        share->selections[i] = *whole->selections[i];
        share->selections[i].scratch = (struct cpti_scratch){0};
        share->pointers[i] = &share->selections[i];
        share->pass.populations[i] = (struct cpti_population){0};
        if (share->selections[i].expression.percentile_count != 0) {
            share->pass.wanting[share->pass.wanting_count++] = share->pointers[i];
        }
    }
}

/* Adds what a thread has met, if it counts, and frees it. Whether that worked. */
static int join_share(struct pass *whole, struct share *share, int counts)
{
    for (size_t i = 0; i < whole->count; i++) {
        struct cpti_population *population = &share->pass.populations[i];

        for (size_t k = 0; k < population->count && counts; k++) {
            counts = cpti_population_add(&whole->populations[i],
                                         population->latencies[k]) == CPT_OK;
        }
        cpti_population_deinit(population);
        if (counts) {
            cpti_selection_join(whole->selections[i], &share->selections[i]);
        } else {
            cpti_selection_deinit(&share->selections[i]);
        }
    }
    return counts;
}

static int run_crew(struct pass *pass, struct crew *crew, size_t share_count)
{
    const struct cpti_workers workers = {.job_count = crew->pieces->count,
                                         .worker_count = share_count,
                                         .run = pass_job,
                                         .context = crew,
                                         .noun = "pieces",
                                         .is_in_vain = is_in_vain};
    int counts = 0;

    for (size_t i = 0; i < share_count; i++) {
        init_share(&crew->shares[i], pass);
    }
    counts = cpti_workers_run(&workers) == 0;
    for (size_t i = 0; i < crew->pieces->count; i++) {
        counts = counts && !crew->are_broken[i];
    }
    for (size_t i = 0; i < share_count; i++) {
        counts = join_share(pass, &crew->shares[i], counts);
    }
    return counts;
}

/* Whether several threads have met all; if not, @pass is as before but for what the
 * selections have seen. */
static int pass_by_threads(struct pass *pass, const char *const *paths,
                           size_t path_count, size_t thread_count)
{
    struct cpti_pieces pieces = {0};
    struct crew crew = {.paths = paths, .pieces = &pieces};
    size_t share_count;
    int is_done = 0;

    if (thread_count < 2 ||
        cpti_pieces_init(&pieces, paths, path_count, thread_count) != CPTI_EXIT_DONE ||
        pieces.count < 2) {
        cpti_pieces_deinit(&pieces);
        return 0;
    }
    share_count = thread_count < pieces.count ? thread_count : pieces.count;
    crew.shares = calloc(share_count, sizeof *crew.shares);
    crew.are_broken = calloc(pieces.count, sizeof *crew.are_broken);
    if (crew.shares != NULL && crew.are_broken != NULL) {
        is_done = run_crew(pass, &crew, share_count);
    }
    for (size_t i = 0; i < pass->count && !is_done; i++) {
        cpti_population_deinit(&pass->populations[i]);
    }
    free(crew.shares);
    free(crew.are_broken);
    cpti_pieces_deinit(&pieces);
    return is_done;
}

/* Fills the populations. enum cpti_exit. */
static int pass_files(struct pass *pass, const char *const *paths, size_t path_count,
                      size_t thread_count)
{
    int status = CPTI_EXIT_DONE;
    int is_damaged = 0;

    if (pass_by_threads(pass, paths, path_count, thread_count)) {
        return CPTI_EXIT_DONE;
    }
    for (size_t i = 0; i < path_count && status == CPTI_EXIT_DONE; i++) {
        status = pass_file(pass, paths[i], NULL, &is_damaged);
    }
    return status;
}

static int has_store(const char *const *paths, size_t path_count)
{
    for (size_t i = 0; i < path_count; i++) {
        if (cpti_is_store(paths[i])) {
            return 1;
        }
    }
    return 0;
}

static void fill_in(struct cpti_selection *selection,
                    struct cpti_population *population)
{
    cpti_population_sort(population);
    for (size_t i = 0; i < selection->expression.percentile_count; i++) {
        struct cpti_percentile *percentile = &selection->expression.percentiles[i];

        percentile->latency_ns =
            cpti_population_percentile(population, percentile->share);
    }
}

int cpti_gather_percentiles(struct cpti_selection *const *selections, size_t count,
                            const char *const *paths, size_t path_count,
                            size_t thread_count)
{
    struct pass pass = {.selections = selections, .count = count};
    const char *percentile = NULL;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < count; i++) {
        if (selections[i]->expression.percentile_count != 0) {
            percentile = selections[i]->expression.percentiles[0].name;
            pass.wanting[pass.wanting_count++] = selections[i];
        }
    }
    if (percentile == NULL) {
        return CPTI_EXIT_DONE;
    }
    for (size_t i = 0; i < path_count && status == CPTI_EXIT_DONE; i++) {
        status = refuse_pipe(paths[i], percentile);
    }
    for (size_t i = 0; i < count; i++) {
        cpti_expression_link(&selections[i]->expression, 1);
    }
    if (status == CPTI_EXIT_DONE) {
        status = pass_files(&pass, paths, path_count, thread_count);
    }
    for (size_t i = 0; i < count; i++) {
        if (!has_store(paths, path_count)) {
            fill_in(selections[i], &pass.populations[i]);
        } else if (status == CPTI_EXIT_DONE) {
            status = cpti_store_percentiles(selections[i], &pass.populations[i], paths,
                                            path_count);
        }
        cpti_expression_link(&selections[i]->expression, 0);
        cpti_population_deinit(&pass.populations[i]);
    }
    return status;
}
