/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* views.c - the same requests by stack, by service, by name, by edge; see views.h */
#include "cpt/cli/gather/views.h"

#include "cpt/cli/base/output.h"
#include "aggregate/cpt_tree.h"
#include "wire/cpt_log_shape.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const cpti_by_words[CPTI_BY_COUNT] = {"stack", "service", "name", "edge"};

enum cpti_by cpti_by_of(const struct cpti_arguments *arguments)
{
    const char *given = cpti_value(arguments, "by");

    for (int by = CPTI_BY_SERVICE; given != NULL && by < CPTI_BY_COUNT; by++) {
        if (strcmp(given, cpti_by_words[by]) == 0) {
            return (enum cpti_by)by;
        }
    }
    return CPTI_BY_STACK; /* the parser takes no other words */
}

/* --- Filling them --- */

static void drop(void *part)
{
    cpti_views_deinit(part);
    free(part);
}

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct cpti_views *views = context;
    cpt_status status = CPT_OK;

    (void)record;
    for (int by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT && status == CPT_OK; by++) {
        struct cpt_view *view = views->views[by];

        if (view == NULL) {
            continue;
        }
        status = cpt_view_take(view, path);
        if (status == CPT_OK) {
            status = cpt_tree_add(views->self[by], cpt_view_self(view), weight);
        }
        if (status == CPT_OK) {
            status =
                cpt_tree_add(views->inclusive[by], cpt_view_inclusive(view), weight);
        }
    }
    return cpti_status_exit(status);
}

/* --- By their shapes --- */

static bool is_kept(const void *context, uint64_t shape)
{
    const struct cpti_views *views = context;
    bool all = true;

    for (int by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT; by++) {
        all = all && (views->views[by] == NULL ||
                      (cpt_view_shape_is_kept(views->views[by], shape) &&
                       cpt_tree_shape_is_kept(views->self[by], shape) &&
                       cpt_tree_shape_is_kept(views->inclusive[by], shape)));
    }
    return all;
}

/* The groups of a shape are a table of frames, too; both trees know it by the number of
 * the shape. */
static void keep(void *context, uint64_t shape, const struct cpt_path *path)
{
    struct cpti_views *views = context;

    for (int by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT; by++) {
        struct cpt_view *view = views->views[by];

        if (view != NULL && cpt_view_shape_keep(view, shape, path) == CPT_OK) {
            (void)cpt_tree_shape_keep(views->self[by], shape, cpt_view_self(view));
            (void)cpt_tree_shape_keep(views->inclusive[by], shape,
                                      cpt_view_inclusive(view));
        }
    }
}

static int add_times(void *context, const struct cpt_log_times *times, uint64_t weight)
{
    struct cpti_views *views = context;
    cpt_status status = CPT_OK;

    for (int by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT && status == CPT_OK; by++) {
        struct cpt_view_times groups;

        if (views->views[by] == NULL) {
            continue;
        }
        cpt_view_shape_take(views->views[by], times->shape, times->self_ns, &groups);
        status =
            cpt_tree_shape_add(views->self[by], times->shape, groups.self_ns, weight);
        if (status == CPT_OK) {
            status = cpt_tree_shape_add(views->inclusive[by], times->shape,
                                        groups.inclusive_ns, weight);
        }
    }
    return cpti_status_exit(status);
}

static const struct cpti_gather_shapes shapes = {is_kept, keep, add_times};

/* --- On several threads --- */

static void *split(const void *context)
{
    const struct cpti_views *views = context;
    struct cpti_views *part = calloc(1, sizeof *part);
    struct cpti_gather unused = {0};
    unsigned wanted = 0;

    for (unsigned by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT; by++) {
        wanted |= (unsigned)(views->views[by] != NULL) << by;
    }
    if (part != NULL && cpti_views_init(part, wanted, &unused) != CPTI_EXIT_DONE) {
        drop(part);
        return NULL;
    }
    return part;
}

static cpt_status join(void *context, void *part)
{
    struct cpti_views *views = context;
    const struct cpti_views *more = part;
    cpt_status status = CPT_OK;

    for (int by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT && status == CPT_OK; by++) {
        if (views->views[by] == NULL) {
            continue;
        }
        status = cpt_tree_merge(views->self[by], more->self[by]);
        if (status == CPT_OK) {
            status = cpt_tree_merge(views->inclusive[by], more->inclusive[by]);
        }
    }
    return status;
}

static const struct cpti_gather_threads threads = {split, join, drop};

int cpti_views_init(struct cpti_views *views, unsigned wanted,
                    struct cpti_gather *gather)
{
    *views = (struct cpti_views){0};
    for (int by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT; by++) {
        if ((wanted >> by & 1U) == 0) {
            continue;
        }
        gather->request = add_request;
        gather->context = views;
        gather->threads = &threads;
        gather->shapes = &shapes;
        views->views[by] = cpt_view_new(NULL, (enum cpt_view_by)(by - 1));
        views->self[by] = cpt_tree_new(NULL, NULL);
        views->inclusive[by] = cpt_tree_new(NULL, NULL);
        if (views->views[by] == NULL || views->self[by] == NULL ||
            views->inclusive[by] == NULL) {
            return cpti_failed("out of memory");
        }
    }
    return CPTI_EXIT_DONE;
}

void cpti_views_deinit(struct cpti_views *views)
{
    for (int by = 0; by < CPTI_BY_COUNT; by++) {
        cpt_view_free(views->views[by]);
        cpt_tree_free(views->self[by]);
        cpt_tree_free(views->inclusive[by]);
    }
    *views = (struct cpti_views){0};
}

int cpti_views_check(const struct cpti_views *views, const struct cpti_gather *gather)
{
    for (int by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT; by++) {
        if (views->views[by] != NULL && gather->met_tree) {
            return cpti_usage("%s%sa tree knows its requests by stack only, not by %s; "
                              "give the path log it was made from",
                              gather->what != NULL ? gather->what : "",
                              gather->what != NULL ? ": " : "", cpti_by_words[by]);
        }
    }
    return CPTI_EXIT_DONE;
}

/* --- Comparing them --- */

struct cpt_diff *cpti_views_diff(const struct cpti_gather *gathers,
                                 const struct cpti_views *views, enum cpti_by by)
{
    const bool is_view = by != CPTI_BY_STACK;
    const struct cpt_diff_options options = {
        .struct_bytes = sizeof options,
        .base_inclusive = is_view ? views[0].inclusive[by] : NULL,
        .new_inclusive = is_view ? views[1].inclusive[by] : NULL,
    };
    struct cpt_error error = {0};
    struct cpt_diff *diff = NULL;

    if (cpt_diff_new(NULL, is_view ? views[0].self[by] : gathers[0].tree,
                     is_view ? views[1].self[by] : gathers[1].tree, &options, &diff,
                     &error) != CPT_OK) {
        (void)cpti_failed("%s", error.sentence[0] != '\0'
                                    ? error.sentence
                                    : cpt_status_sentence(error.status));
        return NULL;
    }
    return diff;
}
