/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_view.c - one view: selections, trees, their difference; see web_view.h */
#include "tool/web/web_view.h"

#include "tool/base/memory_file.h"
#include "tool/folds/mix.h"
#include "tool/folds/views.h"
#include "tool/html/html_data.h"
#include "tool/web/web_ask.h"
#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_tree.h"

#include <stdlib.h>
#include <string.h>

/* What meets each request of a side while the files are read. */
struct meeting {
    struct cpti_bands *bands;
    struct cpti_gather others[2]; /* of a view, of a mix: their requests, or NULL */
    const atomic_bool *is_unwanted;
};

struct cpti_web_view {
    struct cpti_web_kept kept;
    char *json;
    size_t json_bytes;
};

/* The trees that a view is written from. */
struct trees {
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

    status = CPTI_THEN(status, read_by(query, by));
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
    status = CPTI_THEN(status, check(query, ask, &by));
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

static int prepare(struct making *making, struct trees *view, const char *key,
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

static int compare(struct making *making, struct trees *view)
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

static int make(struct making *making, struct trees *view,
                const struct cpti_web_query *query, const struct cpti_web_input *input)
{
    bool is_usable = false;
    int status = cpti_web_ask_init(&making->ask, query);

    status = CPTI_THEN(status, check(query, &making->ask, &view->by));
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
    /* relaxed: a reading that was broken off saw it in this thread, or joined it */
    if (atomic_load_explicit(input->is_unwanted, memory_order_relaxed)) {
        status = cpti_failed("the answer is no longer wanted");
        is_usable = false;
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

/* The same; @notes gets the messages, which also go where messages go. */
static int make_noting(struct making *making, struct trees *view,
                       const struct cpti_web_query *query,
                       const struct cpti_web_input *input, struct cpti_messages *notes)
{
    struct cpti_messages *outer = cpti_messages();
    int status;

    cpti_messages_to(notes);
    status = make(making, view, query, input);
    cpti_messages_to(outer);
    cpti_messages_say(notes);
    return status;
}

static void trees_deinit(struct trees *trees)
{
    cpt_diff_free(trees->diff);
    for (size_t i = 0; i < CPTI_WEB_SIDES_MAX; i++) {
        cpti_views_deinit(&trees->views[i]);
        cpt_tree_free(trees->trees[i]);
        cpti_bands_deinit(&trees->bands[i]);
    }
}

/* --- Writing --- */

/* Writes @trees and the messages @notes to the JSON of @view. enum cpti_exit. */
static int write_json(const struct trees *trees, const struct cpti_messages *notes,
                      struct cpti_web_view *view)
{
    struct cpti_html_side sides[CPTI_WEB_SIDES_MAX];
    struct cpti_memory_file json;
    int status;

    if (!cpti_memory_file_open(&json)) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < trees->side_count; i++) {
        sides[i] = (struct cpti_html_side){
            .name = trees->names[i],
            .tree = trees->trees[i],
            .bands = &trees->bands[i],
            .self = trees->views[i].self[trees->by],
            .inclusive = trees->views[i].inclusive[trees->by],
        };
    }
    status = cpti_html_data_by(json.file, sides, trees->side_count, trees->diff,
                               cpti_by_words[trees->by], notes);
    if (!cpti_memory_file_close(&json)) {
        return cpti_failed("out of memory");
    }
    view->json = json.text;
    view->json_bytes = json.bytes;
    return status;
}

/* --- The view --- */

static void drop(struct cpti_web_kept *kept)
{
    struct cpti_web_view *view = (struct cpti_web_view *)(void *)kept; /* its first */

    free(view->json);
    free(view);
}

int cpti_web_view_new(const struct cpti_web_query *query,
                      const struct cpti_web_input *input, struct cpti_web_kept **kept)
{
    struct making *making = calloc(1, sizeof *making);
    struct trees *trees = calloc(1, sizeof *trees);
    struct cpti_web_view *view = calloc(1, sizeof *view);
    struct cpti_messages notes = {0};
    int status;

    *kept = NULL;
    if (making == NULL || trees == NULL || view == NULL) {
        free(making);
        free(trees);
        free(view);
        return cpti_failed("out of memory");
    }
    status = make_noting(making, trees, query, input, &notes);
    status = CPTI_THEN(status, write_json(trees, &notes, view));
    cpti_messages_deinit(&notes);
    cpti_mix_deinit(&making->mix);
    cpti_web_ask_deinit(&making->ask);
    trees_deinit(trees);
    free(making);
    free(trees);
    if (status != CPTI_EXIT_DONE) {
        drop(&view->kept);
        return status;
    }
    view->kept.bytes = sizeof *view + view->json_bytes;
    view->kept.drop = drop;
    *kept = &view->kept;
    return CPTI_EXIT_DONE;
}

struct cpt_bytes cpti_web_view_json(const struct cpti_web_kept *kept)
{
    const struct cpti_web_view *view = (const struct cpti_web_view *)(const void *)kept;

    return (struct cpt_bytes){view->json, view->json_bytes};
}
