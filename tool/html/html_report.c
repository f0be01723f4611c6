/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* html_report.c - cpt report --html: from files to one HTML file; see html_report.h */
#include "tool/html/html_report.h"

#include "tool/base/files.h"
#include "tool/gather/gather.h"
#include "tool/html/html_data.h"
#include "tool/html/html_page.h"
#include "tool/base/memory_file.h"
#include "tool/base/output.h"
#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_tree.h"

#include <stdlib.h>

enum { SIDES_MAX = 2 };

/* What one gather did with its requests before. */
struct side {
    struct cpti_bands bands;
    const struct cpti_gather *gather;
    int (*request)(void *context, const struct cpt_record *record,
                   const struct cpt_path *path, uint64_t weight);
    void *context;
};

/* Bands are large, so this is allocated. */
struct cpti_html_keep {
    struct side sides[SIDES_MAX];
    size_t count;
};

/* One run of cpt report --html. */
struct report {
    struct cpti_selection selections[SIDES_MAX];
    struct cpti_gather gathers[SIDES_MAX];
    struct cpti_views views[SIDES_MAX];
    enum cpti_by by; /* what a row is */
    struct cpti_html_keep *keep;
    size_t side_count;
};

/* --- Examples --- */

static int meet(void *context, const struct cpt_record *record,
                const struct cpt_path *path, uint64_t weight)
{
    struct side *side = context;
    const int status = cpti_bands_meet(&side->bands, record, path, weight);

    if (status != CPTI_EXIT_DONE || side->request == NULL) {
        return status;
    }
    return side->request(side->context, record, path, weight);
}

static bool need_path(const void *context, const struct cpt_record *record)
{
    const struct side *side = context;

    return cpti_bands_need_path(&side->bands, record);
}

struct cpti_html_keep *cpti_html_keep_new(struct cpti_gather *gathers, size_t count)
{
    struct cpti_html_keep *keep = calloc(1, sizeof *keep);

    if (keep == NULL) {
        (void)cpti_failed("out of memory");
        return NULL;
    }
    keep->count = count;
    for (size_t i = 0; i < count; i++) {
        struct side *side = &keep->sides[i];

        side->gather = &gathers[i];
        side->request = gathers[i].request;
        side->context = gathers[i].context;
        gathers[i].needs_path = side->request == NULL ? need_path : NULL;
        gathers[i].request = meet;
        gathers[i].shapes = NULL;
        gathers[i].context = side;
        gathers[i].threads = NULL; /* the first request of each range is kept */
        gathers[i].needs_order = true;
    }
    return keep;
}

void cpti_html_keep_free(struct cpti_html_keep *keep)
{
    for (size_t i = 0; keep != NULL && i < keep->count; i++) {
        cpti_bands_deinit(&keep->sides[i].bands);
    }
    free(keep);
}

/* --- Writing --- */

/* Makes the data, in memory from malloc(). enum cpti_exit. */
static int make_data(const struct cpti_html_keep *keep, const struct cpti_views *views,
                     enum cpti_by by, const struct cpt_diff *diff, char **json,
                     size_t *bytes)
{
    struct cpti_html_side sides[SIDES_MAX];
    struct cpti_memory_file memory;
    int status;

    *json = NULL;
    *bytes = 0;
    if (!cpti_memory_file_open(&memory)) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < keep->count; i++) {
        const struct cpti_gather *gather = keep->sides[i].gather;

        sides[i] = (struct cpti_html_side){
            .name = gather->what != NULL ? gather->what : "all",
            .tree = gather->tree,
            .bands = &keep->sides[i].bands,
            .self = by != CPTI_BY_STACK ? views[i].self[by] : NULL,
            .inclusive = by != CPTI_BY_STACK ? views[i].inclusive[by] : NULL,
        };
    }
    status = cpti_html_data_by(memory.file, sides, keep->count, diff, cpti_by_words[by],
                               NULL);
    if (!cpti_memory_file_close(&memory) && status == CPTI_EXIT_DONE) {
        status = cpti_failed("out of memory");
    }
    *json = memory.text;
    *bytes = memory.bytes;
    return status;
}

int cpti_html_write(const struct cpti_html_keep *keep, const struct cpti_views *views,
                    enum cpti_by by, const struct cpt_diff *diff, const char *file_name)
{
    const char *entry = cpt_tree_note_find(keep->sides[0].gather->tree, "entry");
    struct cpti_output output;
    char title[CPTI_TEXT_BYTES + 32];
    char *json = NULL;
    size_t bytes = 0;
    int status = make_data(keep, views, by, diff, &json, &bytes);

    status = CPTI_THEN(status, cpti_output_open(&output, file_name));
    if (status != CPTI_EXIT_DONE) {
        goto out;
    }
    (void)snprintf(title, sizeof title, "%s%s",
                   entry != NULL ? cpti_printable(cpt_bytes_of(entry)) : "cpt",
                   keep->count == SIDES_MAX ? ": base and new"
                                            : ": the average request");
    cpti_html_page(output.file, title, json, bytes);
    status = cpti_output_commit(&output);
out:
    free(json);
    return status;
}

/* --- Reading --- */

static int read_sides(struct report *report, const struct cpti_arguments *arguments)
{
    static const char *const names[SIDES_MAX] = {"base", "new"};
    int status = cpti_selection_init(&report->selections[0], arguments);
    bool has_sides = false;

    report->side_count = 1;
    report->gathers[0].selection = &report->selections[0];
    status = CPTI_THEN(status, cpti_has_sides(arguments, &has_sides));
    if (status != CPTI_EXIT_DONE || !has_sides) {
        return status;
    }
    report->side_count = SIDES_MAX;
    report->selections[1] = report->selections[0];
    for (size_t i = 0; i < SIDES_MAX && status == CPTI_EXIT_DONE; i++) {
        report->gathers[i].what = names[i];
        report->gathers[i].selection = &report->selections[i];
        status = cpti_selection_add(&report->selections[i], names[i],
                                    cpti_value(arguments, names[i]));
    }
    return status;
}

static int gather(struct report *report, const struct cpti_arguments *arguments,
                  bool *is_usable)
{
    int status = read_sides(report, arguments);

    *is_usable = false;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    for (size_t i = 0; i < report->side_count && status == CPTI_EXIT_DONE; i++) {
        report->gathers[i].sources = arguments->sources;
        report->gathers[i].source_count = arguments->source_count;
        status =
            cpti_views_init(&report->views[i], 1U << report->by, &report->gathers[i]);
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    report->keep = cpti_html_keep_new(report->gathers, report->side_count);
    if (report->keep == NULL) {
        return CPTI_EXIT_FAILED;
    }
    return cpti_gather(report->gathers, report->side_count, arguments->operands,
                       arguments->operand_count, cpti_has(arguments, "stop-at-error"),
                       is_usable);
}

/* --- The report --- */

static int write_report(const struct report *report,
                        const struct cpti_arguments *arguments)
{
    struct cpt_diff *diff = NULL;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < report->side_count && status == CPTI_EXIT_DONE; i++) {
        status = cpti_views_check(&report->views[i], &report->gathers[i]);
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (report->side_count == SIDES_MAX) {
        diff = cpti_views_diff(report->gathers, report->views, report->by);
        if (diff == NULL) {
            return CPTI_EXIT_FAILED;
        }
    }
    status = cpti_html_write(report->keep, report->views, report->by, diff,
                             cpti_value(arguments, "html"));
    cpt_diff_free(diff);
    return status;
}

int cpti_html_report(const struct cpti_arguments *arguments)
{
    struct report report = {.by = cpti_by_of(arguments)};
    bool is_usable;
    int status = gather(&report, arguments, &is_usable);

    if (is_usable) {
        status = cpti_exit_last(status, write_report(&report, arguments));
    }
    for (size_t i = 0; i < SIDES_MAX; i++) {
        cpti_views_deinit(&report.views[i]);
        cpt_tree_free(report.gathers[i].tree);
        cpti_selection_deinit(&report.selections[i]);
    }
    cpti_html_keep_free(report.keep);
    return status;
}
