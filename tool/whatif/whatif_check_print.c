/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_check_print.c - cpt whatif --check: its options, its table, its JSON; see
 * whatif_check.h */
#include "tool/whatif/whatif_check.h"

#include "tool/base/amounts.h"
#include "tool/base/command.h"
#include "tool/base/folders.h"
#include "tool/base/output.h"
#include "tool/table/sheet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PRINTED_MAX = 20 };

/* --- Columns --- */

#define OF(field) CPTI_OF(struct cpti_check_row, field)

static const struct cpti_column columns[] = {
    {"name", "kind of request", CPTI_NAME, OF(name),
     "its entry, and a hash of its calls"},
    {"calls", "calls", CPTI_NAME, OF(calls), "those of the entry"},
    {"base_requests", "in BASE", CPTI_COUNT, OF(base_requests), "requests in BASE"},
    {"new_requests", "in NEW", CPTI_COUNT, OF(new_requests), "requests in NEW"},
    {"times", "times", CPTI_COUNT, OF(times),
     "of the service in BASE; 0: it takes no part, and nothing changes"},
    {"base_ns", "BASE ms", CPTI_NS, OF(base_ns), "the mean latency in BASE"},
    {"new_ns", "NEW ms", CPTI_NS, OF(new_ns), "… and in NEW"},
    {"predicted_ns", "predicted", CPTI_NS, OF(predicted_ns),
     "… of BASE with the times of NEW"},
    {"low_ns", "could be from", CPTI_NS, OF(low_ns),
     "what that could be, as who waited is inferred"},
    {"high_ns", "to", CPTI_NS, OF(high_ns)},
    {"error_ns", "± ms", CPTI_NS, OF(error_ns),
     "the error of sampling both windows, 95 %"},
    {"within", "within", CPTI_FLAG, OF(is_within),
     "whether NEW and what is predicted differ by no more"},
    {0},
};

#undef OF

const struct cpti_relation cpti_check_kinds = {
    "kinds", columns,
    "base_requests,new_requests,times,base_ns,new_ns,predicted_ns,low_ns,high_ns,error_"
    "ns,"
    "within,name,calls",
    .when = "--check"};

/* --- The answer --- */

static void put(const void *context, struct cpti_json *json)
{
    const struct cpti_check *check = context;

    cpti_json_unsigned(json, "requests", check->counts[0].requests);
    cpti_json_unsigned(json, "new_requests", check->counts[1].requests);
    cpti_json_unsigned(json, "not_selected", check->counts[0].unselected);
    cpti_json_unsigned(json, "without_notes", check->counts[0].others);
    cpti_kept_put_evidence(json, &check->counts[0]);
    cpti_json_text(json, "queues", "kept");
    cpti_json_open(json, "terms", '[');
    cpti_json_close(json);
    cpti_json_text(json, "service", check->options.service);
    cpti_json_unsigned(json, "times", check->time_count);
    cpti_json_unsigned(json, "times_kept", check->stay_count);
    cpti_json_unsigned(json, "kinds_within", check->within_count);
    cpti_json_unsigned(json, "kinds_with_service", check->part_count);
    cpti_json_unsigned(json, "with_service_within", check->part_within_count);
    cpti_json_unsigned(json, "other_kinds", check->other_kinds);
    cpti_json_unsigned(json, "other_requests", check->other_requests);
    cpti_json_unsigned(json, "clamped", check->replayed.clamped);
    cpti_json_unsigned(json, "too_long", check->replayed.too_long);
}

static int print_head(const void *context)
{
    const struct cpti_check *check = context;

    (void)printf("requests %" PRIu64 " in BASE, %" PRIu64 " in NEW, queues kept\n",
                 check->counts[0].requests, check->counts[1].requests);
    cpti_kept_print_evidence(&check->counts[0]);
    (void)printf(
        "times of %s in BASE that become those of NEW: %" PRIu64 " of %" PRIu64 "\n",
        strcmp(check->options.service, "*") == 0 ? "all services"
                                                 : cpti_quoted(check->options.service),
        check->time_count - check->stay_count, check->time_count);
    return CPTI_EXIT_DONE;
}

static void print_foot(const void *context, size_t row_max)
{
    const struct cpti_check *check = context;

    (void)row_max;
    if (check->other_kinds != 0) {
        (void)printf("kinds with fewer than %d requests in one of the two: %" PRIu64
                     ", requests of BASE in them: %" PRIu64 "\n",
                     CPTI_CHECK_REQUESTS_MIN, check->other_kinds,
                     check->other_requests);
    }
    (void)printf("kinds within the error of sampling: %zu of %zu", check->within_count,
                 check->row_count);
    if (check->part_count != check->row_count) {
        (void)printf("; of those that the service takes part in: %zu of %zu",
                     check->part_within_count, check->part_count);
    }
    (void)printf("\n");
}

static int print(struct cpti_check *check, const struct cpti_view *view,
                 uint64_t rows_max)
{
    const struct cpti_sheet sheet = {
        .view = view,
        .rows = CPTI_ROWS(check->rows, check->row_count, check),
        .context = check,
        .people_max = (size_t)rows_max,
        .counts_rest = true,
        .head = print_head,
        .foot = print_foot,
        .put = put};

    cpti_relation_sort(view, check->rows, check->row_count, sizeof *check->rows, check);
    return cpti_sheet_print(&sheet);
}

/* --- The command --- */

/* The files of the two operands. */
static int find_windows(const struct cpti_arguments *arguments,
                        struct cpti_check_options *options)
{
    static const char *const others[] = {"set",      "cap",   "cut",    "add",
                                         "parallel", "terms", "queues", "workers",
                                         "sweep",    "best",  "output", NULL};
    int status = cpti_excludes(arguments, "check", others);

    if (status == CPTI_EXIT_DONE && arguments->source_count != 2) {
        return cpti_usage("--check needs two files or folders: BASE and NEW");
    }
    options->service = cpti_value(arguments, "service");
    if (status == CPTI_EXIT_DONE && options->service == NULL) {
        return cpti_usage("--check needs '--service', whose times of NEW are put into "
                          "BASE; '*' takes all");
    }
    for (size_t i = 0, at = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        options->files[i] = &arguments->operands[at];
        options->file_count[i] = arguments->sources[i].count;
        at += options->file_count[i];
    }
    return status;
}

int cpti_check_command(const struct cpti_arguments *arguments)
{
    struct cpti_check_options options = {.by_walk = cpti_kept_by_walk(arguments)};
    struct cpti_check check = {.row_count = 0};
    struct cpti_view view;
    uint64_t rows_max = PRINTED_MAX;
    int status = find_windows(arguments, &options);

    status = CPTI_THEN(status,
                       cpti_whole_number(arguments, "top", 1, UINT32_MAX, &rows_max));
    status =
        CPTI_THEN(status, cpti_view_read(arguments, &cpti_check_kinds, NULL, &view));
    status = CPTI_THEN(status, cpti_kept_selection(arguments, &options.selection));
    if (status == CPTI_EXIT_DONE) {
        status = cpti_check_run(&check, &options);
        if (check.row_count != 0) {
            status = cpti_exit_last(status, print(&check, &view, rows_max));
        }
    }
    cpti_check_deinit(&check);
    cpti_kept_selection_free(options.selection);
    return status;
}
