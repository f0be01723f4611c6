/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_pass.c - the first pass, which finds the percentiles of a selection
 *
 * Terms without a percentile select the population, whose latencies are kept. Damage is
 * skipped in silence, as the second pass reports it.
 *
 * Several threads read logs in pieces, each into a population of its own; they are put
 * together and sorted. If a piece is damaged, one thread reads all files again.
 */
#include "tool/gather/gather.h"

#include "tool/base/files.h"
#include "tool/requests/population.h"
#include "tool/requests/pieces.h"
#include "tool/gather/gather_store.h"
#include "tool/requests/log_walk.h"
#include "tool/requests/seen.h"
#include "tool/base/output.h"
#include "tool/requests/workers.h"
#include "wire/cpt_log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct pass {
    struct cpti_selection *const *selections;
    size_t count;
    struct cpti_population populations[CPTI_GATHERS_MAX];
    struct cpti_selection *with_percentiles[CPTI_GATHERS_MAX];
    size_t with_percentiles_count;
    struct cpti_seen *seen; /* all threads share it; NULL: duplicates count */
};

/* Whether the latency of @record, which is in the population @index, was not taken
 * before. Sets *@exit_status if it fails. */
static bool is_new(struct pass *pass, struct cpti_log_walk *walk,
                   const struct cpt_record *record, size_t index, int *exit_status)
{
    struct cpti_seen_mark mark;
    enum cpti_seen_result result;

    if (pass->seen == NULL || pass->selections[index]->keeps_duplicates) {
        return true;
    }
    mark = cpti_seen_mark(pass->seen, record, cpt_log_reader_bytes(walk->reader));
    result = cpti_seen_add(pass->seen, &mark, (unsigned)index);
    if (result == CPTI_SEEN_NO_MEMORY) {
        *exit_status = cpti_failed("out of memory; --keep-duplicates needs less");
        return false;
    }
    return result != CPTI_SEEN_BEFORE;
}

static int meet_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct pass *pass = walk->context;

    for (size_t i = 0; i < pass->count; i++) {
        struct cpti_selection *selection = pass->selections[i];
        const uint64_t weight = cpti_selection_weight(selection, record);
        int exit_status = CPTI_EXIT_DONE;
        cpt_status status;

        if (selection->expression.percentile_count == 0 || weight == 0 ||
            !cpti_selection_is_population(selection, record)) {
            continue;
        }
        if (!is_new(pass, walk, record, i, &exit_status)) {
            if (exit_status != CPTI_EXIT_DONE) {
                return exit_status;
            }
            continue;
        }
        status = cpti_population_add(&pass->populations[i],
                                     (struct cpti_latency){record->latency_ns, weight});
        if (status == CPT_LIMIT) {
            return cpti_failed("a percentile can be taken over at most %zu records",
                               CPTI_POPULATION_MAX);
        }
        if (status != CPT_OK) {
            return cpti_failed("out of memory");
        }
    }
    return CPTI_EXIT_DONE;
}

/* Refuses an input that cannot be read twice. */
static int refuse_pipe(const char *path, const char *percentile)
{
    struct stat info;

    if (cpti_is_store(path)) {
        return CPTI_EXIT_DONE;
    }
    if (strcmp(path, "-") != 0 && (stat(path, &info) != 0 || S_ISREG(info.st_mode))) {
        return CPTI_EXIT_DONE; /* a missing file fails when it is opened */
    }
    return cpti_failed_at(
        (struct cpti_at){.file = strcmp(path, "-") == 0 ? "standard input"
                                                        : cpti_quoted(path)},
        "a pipe can be read only once, but %s needs a first pass over the "
        "records" CPTI_HINT "put it into a file",
        percentile);
}

/* Adds the file at @path, or @part of it; sets *@is_damaged if there is damage. */
static int pass_file(struct pass *pass, const char *path,
                     const struct cpt_log_part *part, bool *is_damaged)
{
    struct cpti_input input;
    struct cpti_log_walk walk = {
        .input = &input,
        .is_quiet = true,
        .record = meet_record,
        .context = pass,
        .selections = pass->with_percentiles,
        .selection_count = pass->with_percentiles_count,
        .part = part,
    };
    int status;

    if (cpti_is_store(path)) {
        return CPTI_EXIT_DONE; /* queried after the logs have been read */
    }
    status = cpti_input_open(&input, path);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (input.kind == CPTI_INPUT_LOG || input.kind == CPTI_INPUT_OTHER) {
        status = cpti_log_walk(&walk);
        *is_damaged = *is_damaged || walk.damage_count != 0 || walk.lost_count != 0;
    }
    cpti_input_close(&input);
    return status;
}

/* --- Threads --- */

/* What one thread has: copies of the selections, which note the keys they met. */
struct share {
    struct pass pass;
    struct cpti_selection selections[CPTI_GATHERS_MAX];
    struct cpti_selection *pointers[CPTI_GATHERS_MAX];
};

struct crew {
    struct share *shares;
    const char *const *paths;
    const struct cpti_pieces *pieces;
    bool *are_broken; /* by piece */
};

static int pass_job(void *context, size_t worker, size_t job)
{
    const struct crew *crew = context;
    const struct cpti_piece *piece = &crew->pieces->all[job];
    bool is_damaged = false;
    int status = CPTI_EXIT_FAILED;

    if (crew->shares[worker].pass.seen == NULL ||
        !cpti_seen_gave_up(crew->shares[worker].pass.seen)) {
        status = pass_file(&crew->shares[worker].pass, crew->paths[piece->file],
                           piece->is_cut ? &piece->part : NULL, &is_damaged);
    }
    crew->are_broken[job] = status != CPTI_EXIT_DONE || (piece->is_cut && is_damaged);
    return crew->are_broken[job];
}

static void init_share(struct share *share, const struct pass *whole)
{
    share->pass = *whole;
    share->pass.selections = share->pointers;
    share->pass.with_percentiles_count = 0;
    for (size_t i = 0; i < whole->count; i++) {
        share->selections[i] = *whole->selections[i];
        share->selections[i].scratch = (struct cpti_scratch){0};
        share->pointers[i] = &share->selections[i];
        share->pass.populations[i] = (struct cpti_population){0};
        if (share->selections[i].expression.percentile_count != 0) {
            share->pass.with_percentiles[share->pass.with_percentiles_count++] =
                share->pointers[i];
        }
    }
}

/* Adds the population of a thread to @whole if @counts; frees it. Whether all
 * counts. */
static bool join_share(struct pass *whole, struct share *share, bool counts)
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

/* Whether all pieces were sound, and all is in @pass. */
static bool run_crew(struct pass *pass, struct crew *crew, size_t share_count)
{
    const struct cpti_workers workers = {.job_count = crew->pieces->count,
                                         .worker_count = share_count,
                                         .run = pass_job,
                                         .context = crew,
                                         .noun = "pieces",
                                         .is_silent = true};
    bool counts;

    for (size_t i = 0; i < share_count; i++) {
        init_share(&crew->shares[i], pass);
    }
    counts = cpti_workers_run(&workers) == 0;
    for (size_t i = 0; i < crew->pieces->count; i++) {
        counts = counts && !crew->are_broken[i];
    }
    counts = counts && (pass->seen == NULL || !cpti_seen_needs_order(pass->seen));
    for (size_t i = 0; i < share_count; i++) {
        counts = join_share(pass, &crew->shares[i], counts);
    }
    return counts;
}

/* *@is_done: several threads have read all; if not, @pass is as before, but selections
 * may have noted keys. enum cpti_exit. */
static int pass_by_threads(struct pass *pass, const char *const *paths,
                           size_t path_count, size_t thread_count, bool *is_done)
{
    struct cpti_pieces pieces = {0};
    struct crew crew = {.paths = paths, .pieces = &pieces};
    size_t share_count;
    int status;

    *is_done = false;
    if (thread_count < 2) {
        return CPTI_EXIT_DONE;
    }
    status = cpti_pieces_init(&pieces, paths, path_count, thread_count);
    if (status != CPTI_EXIT_DONE || pieces.count < 2) {
        cpti_pieces_deinit(&pieces);
        return status;
    }
    share_count = thread_count < pieces.count ? thread_count : pieces.count;
    crew.shares = calloc(share_count, sizeof *crew.shares);
    crew.are_broken = calloc(pieces.count, sizeof *crew.are_broken);
    if (crew.shares != NULL && crew.are_broken != NULL) {
        *is_done = run_crew(pass, &crew, share_count);
    }
    for (size_t i = 0; i < pass->count && !*is_done; i++) {
        cpti_population_deinit(&pass->populations[i]);
    }
    free(crew.shares);
    free(crew.are_broken);
    cpti_pieces_deinit(&pieces);
    return CPTI_EXIT_DONE;
}

/* Fills the populations. enum cpti_exit. */
static int pass_files(struct pass *pass, const char *const *paths, size_t path_count,
                      size_t thread_count)
{
    int status = CPTI_EXIT_DONE;
    bool is_damaged = false;
    bool is_done = false;

    if (pass->seen != NULL) {
        cpti_seen_reset(pass->seen, true);
    }
    status = pass_by_threads(pass, paths, path_count, thread_count, &is_done);
    if (status != CPTI_EXIT_DONE || is_done) {
        return status;
    }
    if (pass->seen != NULL) {
        cpti_seen_reset(pass->seen, false);
    }
    for (size_t i = 0; i < path_count && status == CPTI_EXIT_DONE; i++) {
        status = pass_file(pass, paths[i], NULL, &is_damaged);
    }
    return status;
}

static bool has_store(const char *const *paths, size_t path_count)
{
    for (size_t i = 0; i < path_count; i++) {
        if (cpti_is_store(paths[i])) {
            return true;
        }
    }
    return false;
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
            pass.with_percentiles[pass.with_percentiles_count++] = selections[i];
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
    if (status == CPTI_EXIT_DONE && !selections[0]->keeps_duplicates) {
        pass.seen = cpti_seen_new(selections[0]->seen_max);
        status = pass.seen != NULL ? CPTI_EXIT_DONE : cpti_failed("out of memory");
    }
    if (status == CPTI_EXIT_DONE) {
        status = pass_files(&pass, paths, path_count, thread_count);
    }
    cpti_seen_free(pass.seen);
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
