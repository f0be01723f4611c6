/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_view.c - one view: selections, trees, their difference; see web_view.h */
#include "cpt/cli/web/web_view.h"

#include "cpt/cli/gather/mix.h"
#include "cpt/cli/gather/views.h"
#include "cpt/cli/print/html_data.h"
#include "cpt/cli/web/web_ask.h"
#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_tree.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of a node of a tree, and of a segment of an example, for the cache. */
enum { NODE_BYTES = 600, SEGMENT_BYTES = 32, VIEW_BYTES = 300000 };

/* What meets each request of a side while the files are read. */
struct meeting {
    struct cpti_bands *bands;
    struct cpti_gather others[2]; /* of a view, of a mix: their requests, or NULL */
    const atomic_bool *is_unwanted;
};

struct cpti_web_view {
    struct cpti_web_kept kept;
    pthread_mutex_t mutex; /* one thread at a time writes it */
    enum cpti_by by;
    size_t side_count;
    const char *names[CPTI_WEB_SIDES_MAX];
    struct cpt_tree *trees[CPTI_WEB_SIDES_MAX];
    struct cpti_views views[CPTI_WEB_SIDES_MAX];
    struct cpti_bands bands[CPTI_WEB_SIDES_MAX];
    struct cpt_diff *diff; /* NULL: one side */
};

/* --- Parameters --- */

static int read_by(const struct cpti_web_query *query, enum cpti_by *by)
{
    const char *text = cpti_web_query_value(query, "by");

    *by = CPTI_BY_STACK;
    for (int i = 0; text != NULL && i < CPTI_BY_COUNT; i++) {
        if (strcmp(text, cpti_by_words[i]) == 0) {
            *by = (enum cpti_by)i;
            return CPTI_EXIT_DONE;
        }
    }
    return text == NULL ? CPTI_EXIT_DONE
                        : cpti_usage("parameter 'by' takes one of: %s, not '%s'",
                                     CPTI_BY_WORDS, cpti_quoted(text));
}

static int check(const struct cpti_web_query *query, const struct cpti_web_ask *ask,
                 enum cpti_by *by)
{
    int status = cpti_web_query_check(query, CPTI_WEB_VIEW_NAMES);

    if (status == CPTI_EXIT_DONE) {
        status = read_by(query, by);
    }
    if (status == CPTI_EXIT_DONE && cpti_web_query_value(query, "mix") != NULL &&
        ask->side_count == 1) {
        return cpti_usage("parameter 'mix' needs base and new: it compares them as if "
                          "both had the same mix of an attribute");
    }
    return status;
}

int cpti_web_view_check(const struct cpti_web_query *query)
{
    struct cpti_web_ask *ask = malloc(sizeof *ask);
    enum cpti_by by;
    int status;

    if (ask == NULL) {
        return cpti_failed("out of memory");
    }
    status = cpti_web_ask_init(ask, query);
    if (status == CPTI_EXIT_DONE) {
        status = check(query, ask, &by);
    }
    cpti_web_ask_deinit(ask);
    free(ask);
    return status;
}

/* --- Meeting requests --- */

static int meet(void *context, const struct cpt_record *record,
                const struct cpt_path *path, uint64_t weight)
{
    const struct meeting *meeting = context;
    int status;

    /* relaxed: nothing else depends on it */
    if (atomic_load_explicit(meeting->is_unwanted, memory_order_relaxed)) {
        return cpti_failed("the answer is no longer wanted");
    }
    status = cpti_bands_meet(meeting->bands, record, path, weight);
    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        const struct cpti_gather *other = &meeting->others[i];

        status = other->request != NULL
                     ? other->request(other->context, record, path, weight)
                     : CPTI_EXIT_DONE;
    }
    return status;
}

static bool needs_path(const void *context, const struct cpt_record *record)
{
    const struct meeting *meeting = context;

    return meeting->others[0].request != NULL || meeting->others[1].request != NULL ||
           cpti_bands_need_path(meeting->bands, record);
}

/* --- Reading --- */

/* One making of a view. */
struct making {
    struct cpti_web_ask ask;
    struct cpti_mix mix; /* key NULL: none */
    struct meeting meetings[CPTI_WEB_SIDES_MAX];
};

static int prepare(struct making *making, struct cpti_web_view *view, const char *key,
                   const atomic_bool *is_unwanted)
{
    struct cpti_gather *gathers = making->ask.gathers;
    int status = key != NULL ? cpti_mix_init(&making->mix, key, 1U << view->by, gathers)
                             : CPTI_EXIT_DONE;

    for (size_t i = 0; i < view->side_count && status == CPTI_EXIT_DONE; i++) {
        struct meeting *meeting = &making->meetings[i];

        meeting->bands = &view->bands[i];
        meeting->is_unwanted = is_unwanted;
        meeting->others[1] = gathers[i]; /* the mix */
        status = cpti_views_init(&view->views[i], 1U << view->by, &meeting->others[0]);
        gathers[i].request = meet;
        gathers[i].needs_order = key == NULL && view->by == CPTI_BY_STACK;
        gathers[i].needs_path = needs_path;
        gathers[i].context = &making->meetings[i];
        gathers[i].threads = NULL;
    }
    return status;
}

static int compare(struct making *making, struct cpti_web_view *view)
{
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < view->side_count && status == CPTI_EXIT_DONE; i++) {
        status = cpti_views_check(&view->views[i], &making->ask.gathers[i]);
    }
    if (status == CPTI_EXIT_DONE && making->mix.key != NULL) {
        status = cpti_mix_check(&making->mix, making->ask.gathers);
    }
    if (status == CPTI_EXIT_DONE && view->side_count == CPTI_WEB_SIDES_MAX) {
        view->diff = making->mix.key != NULL
                         ? cpti_mix_diff(&making->mix, view->by)
                         : cpti_views_diff(making->ask.gathers, view->views, view->by);
        status = view->diff != NULL ? CPTI_EXIT_DONE : CPTI_EXIT_FAILED;
    }
    return status;
}

/* The bytes of a view, roughly. */
static size_t bytes_of(const struct cpti_web_view *view)
{
    size_t bytes = sizeof *view + VIEW_BYTES;

    for (size_t i = 0; i < view->side_count; i++) {
        bytes += (size_t)cpt_tree_node_count(view->trees[i]) * NODE_BYTES;
        bytes += view->bands[i].segment_count * SEGMENT_BYTES;
        for (int by = CPTI_BY_SERVICE; by < CPTI_BY_COUNT; by++) {
            if (view->views[i].self[by] != NULL) {
                bytes += (size_t)cpt_tree_node_count(view->views[i].self[by]) * 2 *
                         NODE_BYTES;
            }
        }
    }
    if (view->diff != NULL) {
        bytes += (size_t)cpt_diff_row_count(view->diff) * 2 * NODE_BYTES;
    }
    return bytes;
}

static int make(struct making *making, struct cpti_web_view *view,
                const struct cpti_web_query *query, const struct cpti_web_input *input)
{
    bool is_usable = false;
    int status = cpti_web_ask_init(&making->ask, query);

    if (status == CPTI_EXIT_DONE) {
        status = check(query, &making->ask, &view->by);
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    view->side_count = making->ask.side_count;
    for (size_t i = 0; i < view->side_count; i++) {
        making->ask.gathers[i].sources = input->files.sources;
        making->ask.gathers[i].source_count = input->files.source_count;
    }
    status =
        prepare(making, view, cpti_web_query_value(query, "mix"), input->is_unwanted);
    if (status == CPTI_EXIT_DONE) {
        status = cpti_gather(making->ask.gathers, view->side_count, input->files.paths,
                             input->files.path_count, false, &is_usable);
    }
    for (size_t i = 0; i < view->side_count; i++) {
        view->trees[i] = making->ask.gathers[i].tree;
        view->names[i] =
            making->ask.gathers[i].what != NULL ? making->ask.gathers[i].what : "all";
    }
    /* skipped records leave the others usable; the trees count them */
    status = is_usable ? CPTI_EXIT_DONE : cpti_exit_last(CPTI_EXIT_FAILED, status);
    return status == CPTI_EXIT_DONE ? compare(making, view) : status;
}

static void drop(struct cpti_web_kept *kept)
{
    cpti_web_view_free(cpti_web_view_of(kept));
}

int cpti_web_view_new(const struct cpti_web_query *query,
                      const struct cpti_web_input *input, struct cpti_web_view **view)
{
    struct making *making = calloc(1, sizeof *making);
    struct cpti_web_view *made = calloc(1, sizeof *made);
    int status = CPTI_EXIT_FAILED;

    *view = NULL;
    if (making == NULL || made == NULL) {
        free(making);
        free(made);
        return cpti_failed("out of memory");
    }
    (void)pthread_mutex_init(&made->mutex, NULL);
    status = make(making, made, query, input);
    cpti_mix_deinit(&making->mix);
    cpti_web_ask_deinit(&making->ask);
    free(making);
    if (status != CPTI_EXIT_DONE) {
        cpti_web_view_free(made);
        return status;
    }
    made->kept.bytes = bytes_of(made);
    made->kept.drop = drop;
    *view = made;
    return CPTI_EXIT_DONE;
}

struct cpti_web_kept *cpti_web_view_kept(struct cpti_web_view *view)
{
    return &view->kept;
}

struct cpti_web_view *cpti_web_view_of(struct cpti_web_kept *kept)
{
    return (struct cpti_web_view *)(void *)((char *)kept -
                                            offsetof(struct cpti_web_view, kept));
}

void cpti_web_view_free(struct cpti_web_view *view)
{
    if (view == NULL) {
        return;
    }
    cpt_diff_free(view->diff);
    for (size_t i = 0; i < CPTI_WEB_SIDES_MAX; i++) {
        cpti_views_deinit(&view->views[i]);
        cpt_tree_free(view->trees[i]);
        cpti_bands_deinit(&view->bands[i]);
    }
    (void)pthread_mutex_destroy(&view->mutex);
    free(view);
}

/* --- Writing --- */

int cpti_web_view_write(struct cpti_web_view *view, FILE *file)
{
    struct cpti_html_side sides[CPTI_WEB_SIDES_MAX];
    int status;

    for (size_t i = 0; i < view->side_count; i++) {
        sides[i] = (struct cpti_html_side){
            .name = view->names[i],
            .tree = view->trees[i],
            .bands = &view->bands[i],
            .self = view->views[i].self[view->by],
            .inclusive = view->views[i].inclusive[view->by],
        };
    }
    (void)pthread_mutex_lock(&view->mutex);
    status = cpti_html_data_by(file, sides, view->side_count, view->diff,
                               cpti_by_words[view->by]);
    (void)pthread_mutex_unlock(&view->mutex);
    return status;
}
