/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* html_report.c - cpt report --html: from files to one HTML file; see html_report.h */
#include "cpt/cli/print/html_report.h"

#include "cpt/cli/base/files.h"
#include "cpt/cli/gather/gather.h"
#include "cpt/cli/print/html_data.h"
#include "cpt/cli/print/html_page.h"
#include "cpt/cli/base/output.h"
#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_tree.h"

#include <stdlib.h>

enum { SIDES_MAX = 2 };

/* One run. Its bands are large, so it is allocated with malloc(). */
struct report {
    struct cpti_selection selections[SIDES_MAX];
    struct cpti_gather gathers[SIDES_MAX];
    struct cpti_bands bands[SIDES_MAX];
    size_t side_count;
};

/* --- Reading --- */

static int read_sides(struct report *report, const struct cpti_arguments *arguments)
{
    static const char *const names[SIDES_MAX] = {"base", "new"};
    int status = cpti_selection_init(&report->selections[0], arguments);

    report->side_count = 1;
    report->gathers[0].selection = &report->selections[0];
    if (status != CPTI_EXIT_DONE ||
        !(cpti_has(arguments, "base") || cpti_has(arguments, "new"))) {
        return status;
    }
    report->side_count = SIDES_MAX;
    report->selections[1] = report->selections[0];
    for (size_t i = 0; i < SIDES_MAX && status == CPTI_EXIT_DONE; i++) {
        const char *expression = cpti_value(arguments, names[i]);

        if (expression == NULL) {
            return cpti_usage(
                "'cpt report' takes --base and --new together: the option "
                "'--%s' is missing",
                names[i]);
        }
        report->gathers[i].what = names[i];
        report->gathers[i].selection = &report->selections[i];
        status = cpti_selection_add(&report->selections[i], names[i], expression);
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
    for (size_t i = 0; i < report->side_count; i++) {
        report->gathers[i].request = cpti_bands_meet;
        report->gathers[i].needs_order = true;
        report->gathers[i].needs_path = cpti_bands_need_path;
        report->gathers[i].context = &report->bands[i];
        report->gathers[i].sources = arguments->sources;
        report->gathers[i].source_count = arguments->source_count;
    }
    return cpti_gather(report->gathers, report->side_count, arguments->operands,
                       arguments->operand_count, cpti_has(arguments, "stop-at-error"),
                       is_usable);
}

/* --- Writing --- */

static int compare(const struct report *report, struct cpt_diff **diff)
{
    struct cpt_error error = {0};

    if (report->side_count == SIDES_MAX &&
        cpt_diff_new(NULL, report->gathers[0].tree, report->gathers[1].tree, NULL, diff,
                     &error) != CPT_OK) {
        return cpti_failed("%s", error.sentence[0] != '\0'
                                     ? error.sentence
                                     : cpt_status_sentence(error.status));
    }
    return CPTI_EXIT_DONE;
}

/* Makes the data, in memory from malloc(). enum cpti_exit. */
static int make_data(const struct report *report, char **json, size_t *bytes)
{
    struct cpti_html_side sides[SIDES_MAX];
    struct cpt_diff *diff = NULL;
    FILE *file;
    int status = compare(report, &diff);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    file = open_memstream(json, bytes);
    if (file == NULL) {
        cpt_diff_free(diff);
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < report->side_count; i++) {
        sides[i] = (struct cpti_html_side){
            report->gathers[i].what != NULL ? report->gathers[i].what : "all",
            report->gathers[i].tree, &report->bands[i]};
    }
    status = cpti_html_data(file, sides, report->side_count, diff);
    if (fclose(file) != 0 && status == CPTI_EXIT_DONE) {
        status = cpti_failed("out of memory");
    }
    cpt_diff_free(diff);
    return status;
}

static int write_page(const struct report *report,
                      const struct cpti_arguments *arguments)
{
    const char *entry = cpt_tree_note_find(report->gathers[0].tree, "entry");
    struct cpti_output output;
    char title[CPTI_TEXT_BYTES + 32];
    char *json = NULL;
    size_t bytes = 0;
    int status = make_data(report, &json, &bytes);

    if (status == CPTI_EXIT_DONE) {
        status = cpti_output_open(&output, cpti_value(arguments, "html"));
    }
    if (status != CPTI_EXIT_DONE) {
        goto out;
    }
    (void)snprintf(
        title, sizeof title, "%s%s", entry != NULL ? cpti_quoted(entry) : "cpt",
        report->side_count == SIDES_MAX ? ": base and new" : ": the average request");
    cpti_html_page(output.file, title, json, bytes);
    status = cpti_output_commit(&output);
out:
    free(json);
    return status;
}

int cpti_html_report(const struct cpti_arguments *arguments)
{
    struct report *report = calloc(1, sizeof *report);
    bool is_usable;
    int status;

    if (report == NULL) {
        return cpti_failed("out of memory");
    }
    status = gather(report, arguments, &is_usable);
    if (is_usable) {
        status = cpti_exit_last(status, write_page(report, arguments));
    }
    for (size_t i = 0; i < SIDES_MAX; i++) {
        cpt_tree_free(report->gathers[i].tree);
        cpti_bands_deinit(&report->bands[i]);
        cpti_selection_deinit(&report->selections[i]);
    }
    free(report);
    return status;
}
