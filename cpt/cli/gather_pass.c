/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_pass.c - the first pass, which finds the percentiles of a selection
 *
 * In it the terms without a percentile select; the latencies of what they take are the
 * population. What is damaged is passed over in silence, as the second pass says it.
 */
#include "cpt/cli/gather.h"

#include "cpt/cli/files.h"
#include "cpt/cli/gather_percentile.h"
#include "cpt/cli/gather_store.h"
#include "cpt/cli/log_walk.h"
#include "cpt/cli/output.h"
#include "wire/cpt_log.h"

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

static int pass_file(struct pass *pass, const char *path)
{
    struct cpti_input input;
    struct cpti_log_walk walk = {
        .input = &input,
        .is_quiet = 1,
        .record = meet_record,
        .context = pass,
        .selections = pass->wanting,
        .selection_count = pass->wanting_count,
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
    }
    cpti_input_close(&input);
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
                            const char *const *paths, size_t path_count)
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
    for (size_t i = 0; i < path_count && status == CPTI_EXIT_DONE; i++) {
        status = pass_file(&pass, paths[i]);
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
