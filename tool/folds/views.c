/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* views.c - the same requests by stack, by service, by name, by edge; see views.h */
#include "tool/folds/views.h"

#include "tool/base/output.h"
#include "tool/folds/cluster_key.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"
#include "wire/cpt_log_shape.h"

#include <inttypes.h>
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

/* Adds the last request of a view, or @path if it is of stacks, to its clusters. */
static cpt_status add_to_clusters(struct cpti_views *views, int by,
                                  struct cpt_bytes value, const struct cpt_path *path,
                                  uint64_t weight)
{
    const struct cpt_view *view = views->views[by];
    cpt_status status;

    if (views->clusters[by] == NULL) {
        return CPT_OK;
    }
    status = cpt_clusters_add(views->clusters[by], value,
                              by == CPTI_BY_STACK ? path : cpt_view_self(view), weight);
    return status == CPT_OK && by != CPTI_BY_STACK
               ? cpt_clusters_add(views->inclusive_clusters[by], value,
                                  cpt_view_inclusive(view), weight)
               : status;
}

/* The exit status of adding a request; the clusters have a limit of their own. The time
 * of a frame counts in each row above it, so their sum may be too large for a tree
 * although the latency is not. */
static int added_exit(const struct cpti_views *views, cpt_status status)
{
    if (status != CPT_LIMIT) {
        return cpti_status_exit(status);
    }
    return views->cluster_key != NULL
               ? cpti_failed("option '--cluster': the requests have too many different "
                             "stacks" CPTI_HINT "try '--by name'")
               : cpti_failed("there are too many rows, or the times with below of a "
                             "request are above 2^56 ns together" CPTI_HINT
                             "try '--by stack'");
}

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct cpti_views *views = context;
    char text[CPTI_CLUSTER_VALUE_BYTES];
    struct cpt_bytes value = {"", 0};
    cpt_status status = CPT_OK;

    if (views->cluster_key != NULL) {
        const bool has_key =
            cpti_cluster_value(record, views->cluster_key, text, &value);

        views->keyed_count += has_key;
        views->keyless_count += !has_key;
        status = add_to_clusters(views, CPTI_BY_STACK, value, path, weight);
    }
    for (int by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT && status == CPT_OK; by++) {
        struct cpt_view *view = views->views[by];

        if (view == NULL) {
            continue;
        }
        status = cpt_view_take(view, path);
        status = CPTI_THEN(status,
                           cpt_tree_add(views->self[by], cpt_view_self(view), weight));
        status = CPTI_THEN(status, cpt_tree_add(views->inclusive[by],
                                                cpt_view_inclusive(view), weight));
        status = CPTI_THEN(status, add_to_clusters(views, by, value, path, weight));
    }
    return added_exit(views, status);
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
    return added_exit(views, status);
}

static const struct cpti_gather_shapes shapes = {is_kept, keep, add_times};

/* --- On several threads --- */

static void *split(const void *context)
{
    const struct cpti_views *views = context;
    struct cpti_views *part = calloc(1, sizeof *part);
    struct cpti_gather unused = {0};
    unsigned wanted = 0;
    unsigned clustered = 0;

    for (unsigned by = 0; by < CPTI_BY_COUNT; by++) {
        wanted |= (unsigned)(views->views[by] != NULL) << by;
        clustered |= (unsigned)(views->clusters[by] != NULL) << by;
    }
    if (part != NULL && (cpti_views_init(part, wanted, &unused) != CPTI_EXIT_DONE ||
                         (views->cluster_key != NULL &&
                          cpti_views_cluster(part, views->cluster_key, clustered,
                                             &unused) != CPTI_EXIT_DONE))) {
        drop(part);
        return NULL;
    }
    return part;
}

/* Adds the clusters of a thread. */
static cpt_status join_clusters(struct cpti_views *views, const struct cpti_views *more)
{
    cpt_status status = CPT_OK;

    views->keyed_count += more->keyed_count;
    views->keyless_count += more->keyless_count;
    for (int by = 0; by < CPTI_BY_COUNT && status == CPT_OK; by++) {
        if (views->clusters[by] != NULL) {
            status = cpt_clusters_merge(views->clusters[by], more->clusters[by]);
        }
        if (views->inclusive_clusters[by] != NULL && status == CPT_OK) {
            status = cpt_clusters_merge(views->inclusive_clusters[by],
                                        more->inclusive_clusters[by]);
        }
    }
    return status;
}

static cpt_status join(void *context, void *part)
{
    struct cpti_views *views = context;
    const struct cpti_views *more = part;
    cpt_status status = join_clusters(views, more);

    for (int by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT && status == CPT_OK; by++) {
        if (views->views[by] == NULL) {
            continue;
        }
        status = cpt_tree_merge(views->self[by], more->self[by]);
        status = CPTI_THEN(status,
                           cpt_tree_merge(views->inclusive[by], more->inclusive[by]));
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
        gather->names_place = true;
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

int cpti_views_cluster(struct cpti_views *views, const char *key, unsigned wanted,
                       struct cpti_gather *gather)
{
    views->cluster_key = key;
    gather->request = add_request;
    gather->context = views;
    gather->threads = &threads;
    gather->shapes = NULL; /* clusters need each record */
    gather->names_place = true;
    for (int by = 0; by < CPTI_BY_COUNT; by++) {
        if ((wanted >> by & 1U) == 0) {
            continue;
        }
        views->clusters[by] = cpt_clusters_new(NULL);
        views->inclusive_clusters[by] =
            by == CPTI_BY_STACK ? NULL : cpt_clusters_new(NULL);
        if (views->clusters[by] == NULL ||
            (views->inclusive_clusters[by] == NULL && by != CPTI_BY_STACK)) {
            return cpti_failed("out of memory");
        }
    }
    return CPTI_EXIT_DONE;
}

void cpti_views_deinit(struct cpti_views *views)
{
    for (int by = 0; by < CPTI_BY_COUNT; by++) {
        cpt_clusters_free(views->clusters[by]);
        cpt_clusters_free(views->inclusive_clusters[by]);
        cpt_view_free(views->views[by]);
        cpt_tree_free(views->self[by]);
        cpt_tree_free(views->inclusive[by]);
    }
    *views = (struct cpti_views){0};
}

/* Checks that the requests have the key, and warns of those that have not. */
static int check_clusters(const struct cpti_views *views,
                          const struct cpti_gather *gather)
{
    const char *what = gather->what != NULL ? gather->what : "";
    const char *colon = gather->what != NULL ? ": " : "";

    if (gather->met_tree) {
        return cpti_usage("%s%sa tree does not know the '%s' of its requests" CPTI_HINT
                          "give the "
                          "path log it was made from",
                          what, colon, cpti_quoted(views->cluster_key));
    }
    if (views->keyed_count == 0) {
        return cpti_failed("option '--cluster': %s%sno request has '%s'", what, colon,
                           cpti_quoted(views->cluster_key));
    }
    if (views->keyless_count != 0) {
        cpti_warn("%s%s%" PRIu64 " requests have no '%s', and are one cluster", what,
                  colon, views->keyless_count, cpti_quoted(views->cluster_key));
    }
    return CPTI_EXIT_DONE;
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
    return views->cluster_key != NULL ? check_clusters(views, gather) : CPTI_EXIT_DONE;
}

/* --- Reading them --- */

struct cpt_diff *cpti_views_diff(const struct cpti_gather *gathers,
                                 const struct cpti_views *views, enum cpti_by by)
{
    const bool is_view = by != CPTI_BY_STACK;
    struct cpt_diff_options options = {
        .struct_bytes = sizeof options,
        .base_inclusive = is_view ? views[0].inclusive[by] : NULL,
        .new_inclusive = is_view ? views[1].inclusive[by] : NULL,
    };
    struct cpt_error error = {0};
    struct cpt_diff *diff = NULL;

    if (views != NULL && views[0].cluster_key != NULL) {
        options.base_clusters = views[0].clusters[by];
        options.new_clusters = views[1].clusters[by];
        options.base_inclusive_clusters = views[0].inclusive_clusters[by];
        options.new_inclusive_clusters = views[1].inclusive_clusters[by];
    }
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
