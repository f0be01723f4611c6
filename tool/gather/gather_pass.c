/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_pass.c - the first pass, which finds the percentiles of a selection
 *
 * Terms without a percentile select the population, whose latencies are kept. Damage is
 * skipped in silence, as the second pass reports it.
 */
#include "tool/gather/gather.h"

#include "tool/base/files.h"
#include "tool/base/output.h"
#include "tool/gather/gather_store.h"
#include "tool/gather/population.h"
#include "tool/requests/stream.h"
#include "wire/cpt_log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* --- The fold --- */

static enum cpti_needs needs(void *context, struct cpti_request *request)
{
    (void)context;
    return request->weight != 0 ? CPTI_NEEDS_RECORD : CPTI_NEEDS_NOTHING;
}

static int take(void *context, const struct cpti_request *request)
{
    const cpt_status status = cpti_population_add(
        context, (struct cpti_latency){request->record->latency_ns, request->weight});

    return status == CPT_LIMIT
               ? cpti_failed("a percentile can be taken over at most %zu records",
                             CPTI_POPULATION_MAX)
               : cpti_status_exit(status);
}

static void *split(const void *context)
{
    (void)context;
    return calloc(1, sizeof(struct cpti_population));
}

static cpt_status join(void *context, void *part)
{
    const struct cpti_population *from = part;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < from->count && status == CPT_OK; i++) {
        status = cpti_population_add(context, from->latencies[i]);
    }
    return status;
}

static void drop(void *part)
{
    cpti_population_deinit(part);
    free(part);
}

/* --- The pass --- */

static bool has_store(const char *const *paths, size_t path_count)
{
    for (size_t i = 0; i < path_count; i++) {
        if (cpti_is_store(paths[i])) {
            return true;
        }
    }
    return false;
}

/* Sets the percentiles of @selection, from the population in the logs and, if there
 * are any, those of databases. enum cpti_exit. */
static int fill_in(struct cpti_selection *selection, struct cpti_population *population,
                   const char *const *paths, size_t path_count)
{
    if (has_store(paths, path_count)) {
        return cpti_store_percentiles(selection, population, paths, path_count);
    }
    cpti_population_sort(population);
    for (size_t i = 0; i < selection->expression.percentile_count; i++) {
        struct cpti_percentile *percentile = &selection->expression.percentiles[i];

        percentile->latency_ns =
            cpti_population_percentile(population, percentile->share);
    }
    return CPTI_EXIT_DONE;
}

/* Finds those of the selections of @stream's folds. enum cpti_exit. */
static int pass(struct cpti_stream *stream)
{
    bool is_usable = false;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < stream->fold_count; i++) {
        cpti_expression_link(&stream->folds[i].selection->expression, 1);
    }
    status = cpti_stream_run(stream, &is_usable);
    for (size_t i = 0; i < stream->fold_count; i++) {
        struct cpti_fold *fold = &stream->folds[i];

        status = CPTI_THEN(status, fill_in(fold->selection, fold->context,
                                           stream->paths, stream->path_count));
        cpti_expression_link(&fold->selection->expression, 0);
        cpti_population_deinit(fold->context);
    }
    return status;
}

int cpti_gather_percentiles(struct cpti_selection *const *selections, size_t count,
                            const char *const *paths, size_t path_count,
                            size_t thread_count)
{
    struct cpti_population populations[CPTI_FOLDS_MAX] = {{0}};
    struct cpti_fold folds[CPTI_FOLDS_MAX];
    struct cpti_stream stream = {.folds = folds,
                                 .paths = paths,
                                 .path_count = path_count,
                                 .thread_count = thread_count,
                                 .seen_max = selections[0]->seen_max,
                                 .is_quiet = true,
                                 .other = cpti_stream_pass_over};
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < count; i++) {
        if (selections[i]->expression.percentile_count == 0) {
            continue;
        }
        folds[stream.fold_count] =
            (struct cpti_fold){.selection = selections[i],
                               .selects = cpti_selection_population,
                               .weigh = cpti_selection_weight,
                               .needs = needs,
                               .take = take,
                               .context = &populations[i],
                               .split = split,
                               .join = join,
                               .drop = drop,
                               .counts_once = !selections[i]->keeps_duplicates};
        stream.fold_count++;
    }
    for (size_t i = 0; i < path_count && status == CPTI_EXIT_DONE; i++) {
        status = stream.fold_count == 0
                     ? CPTI_EXIT_DONE
                     : refuse_pipe(paths[i],
                                   folds[0].selection->expression.percentiles[0].name);
    }
    return status == CPTI_EXIT_DONE && stream.fold_count != 0 ? pass(&stream) : status;
}
