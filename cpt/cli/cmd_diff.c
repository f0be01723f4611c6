/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_diff.c - cpt diff: what became slower, and is it more than noise
 *
 * Two trees from two operands, or two selections of the same logs, which are read once.
 */
#include "cpt/cli/gather.h"
#include "cpt/cli/json_write.h"
#include "cpt/cli/log_walk.h"
#include "cpt/cli/output.h"
#include "cpt/cli/table.h"
#include "cpt/cli/tree_print.h"
#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longest stack that a row shows; the front of a longer one is cut. */
enum { STACK_BYTES = 4000 };

/* --- As JSON --- */

static void put_side(struct cpti_json *json, const char *key,
                     const struct cpt_tree *tree)
{
    cpti_json_open(json, key, '{');
    cpti_tree_json(json, tree);
    cpti_json_close(json);
}

static void put_change(struct cpti_json *json, const struct cpt_change *change)
{
    cpti_json_ns(json, "base_ns", change->base_ns);
    cpti_json_ns(json, "new_ns", change->new_ns);
    cpti_json_ns(json, "delta_ns", change->delta_ns);
    cpti_json_ns(json, "low_ns", change->low_ns);
    cpti_json_ns(json, "high_ns", change->high_ns);
    cpti_json_rough(json, "p_value", change->p_value);
}

static void put_row(struct cpti_json *json, const struct cpt_diff *diff,
                    const struct cpt_diff_row *row)
{
    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_tree_stack_json(json, cpt_diff_tree(diff), row->node);
    put_change(json, &row->self);
    cpti_json_rough(json, "base_presence", row->base_presence);
    cpti_json_rough(json, "new_presence", row->new_presence);
    cpti_json_bool(json, "rare", row->is_rare);
    cpti_json_open(json, "inclusive", '{');
    put_change(json, &row->inclusive);
    cpti_json_close(json);
    cpti_json_close(json);
}

static void put_diff(const struct cpti_gather *gathers, const struct cpt_diff *diff,
                     uint32_t row_count)
{
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    put_change(&json, &cpt_diff_total(diff)->inclusive);
    cpti_json_float(&json, "confidence", 0.95);
    put_side(&json, "base", gathers[0].tree);
    put_side(&json, "new", gathers[1].tree);
    cpti_json_open(&json, "rows", '[');
    for (uint32_t i = 0; i < row_count; i++) {
        put_row(&json, diff, cpt_diff_row_at(diff, i));
    }
    cpti_json_row(&json);
    cpti_json_close(&json);
    cpti_json_close(&json);
}

/* --- As a table --- */

/* Milliseconds with their sign; what is shown as 0 has none. */
static const char *signed_ms(double ns, char text[40])
{
    char digits[32];
    const char *shown = cpti_ms(ns, digits);

    (void)snprintf(text, 40, "%s%s", ns > 0 && strcmp(shown, "0.000") != 0 ? "+" : "",
                   shown);
    return text;
}

/* An end of an interval; "-" if it has none. */
static void add_end(struct cpti_table *table, double ns, int is_rare)
{
    char text[40];

    if (isfinite(ns)) {
        cpti_table_cell(table, "%s%s", is_rare ? "~" : "", signed_ms(ns, text));
    } else {
        cpti_table_cell(table, "-");
    }
}

static void add_change(struct cpti_table *table, const struct cpt_change *change,
                       int is_rare)
{
    char text[40];

    cpti_table_cell(table, "%s", signed_ms(change->delta_ns, text));
    add_end(table, change->low_ns, is_rare);
    add_end(table, change->high_ns, is_rare);
    cpti_table_cell(table, "%s", cpti_ms(change->base_ns, text));
    cpti_table_cell(table, "%s", cpti_ms(change->new_ns, text));
}

static void add_row(struct cpti_table *table, const struct cpt_diff *diff,
                    const struct cpt_diff_row *row)
{
    char stack[STACK_BYTES];

    add_change(table, &row->self, row->is_rare);
    (void)cpt_tree_stack_text(cpt_diff_tree(diff), row->node, stack, sizeof stack);
    cpti_table_cell(table, "%s", stack);
}

static int print_diff(const struct cpti_gather *gathers, const struct cpt_diff *diff,
                      uint32_t row_count)
{
    static const char *const headings[] = {"diff ms", "95% from", "to",
                                           "base ms", "new ms",   "stack"};
    struct cpti_table *table = cpti_table_new(headings, 6);
    const uint32_t left_count = cpt_diff_row_count(diff) - row_count;
    int has_rare = 0;
    int status;

    if (table == NULL) {
        return cpti_failed("out of memory");
    }
    cpti_table_cut_front(table);
    for (uint32_t i = 0; i < row_count; i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        add_row(table, diff, row);
        has_rare = has_rare || row->is_rare;
    }
    add_change(table, &cpt_diff_total(diff)->inclusive, 0);
    cpti_table_cell(table,
                    left_count == 0 ? "(sum of all rows)"
                                    : "(sum of these and %" PRIu32 " more rows)",
                    left_count);
    cpti_tree_print(gathers[0].tree, "base");
    cpti_tree_print(gathers[1].tree, "new");
    (void)printf("\n");
    status = cpti_table_print(table);
    cpti_table_free(table);
    if (has_rare) {
        (void)printf("\n~ fewer than %d requests had it: do not trust the interval\n",
                     CPT_STATS_PRESENT_MIN);
    }
    return status;
}

/* --- The command --- */

static int show(const struct cpti_arguments *arguments,
                const struct cpti_gather *gathers, uint32_t rows_max)
{
    struct cpt_error error = {0};
    struct cpt_diff *diff = NULL;
    uint32_t row_count;
    int status = CPTI_EXIT_DONE;

    if (cpt_diff_new(NULL, gathers[0].tree, gathers[1].tree, NULL, &diff, &error) !=
        CPT_OK) {
        return cpti_failed("%s", error.sentence[0] != '\0'
                                     ? error.sentence
                                     : cpt_status_sentence(error.status));
    }
    row_count = cpt_diff_row_count(diff);
    row_count = row_count < rows_max ? row_count : rows_max;
    if (cpti_has(arguments, "json")) {
        put_diff(gathers, diff, row_count);
    } else {
        status = print_diff(gathers, diff, row_count);
    }
    cpt_diff_free(diff);
    return status;
}

/* --top: rows that are shown. */
static int read_rows(const struct cpti_arguments *arguments, uint32_t *rows_max)
{
    const char *text = cpti_value(arguments, "top");
    char *end;
    unsigned long number;

    *rows_max = UINT32_MAX;
    if (text == NULL) {
        return CPTI_EXIT_DONE;
    }
    errno = 0;
    number = strtoul(text, &end, 10);
    if (*end != '\0' || text[0] < '0' || text[0] > '9' || number == 0 || errno != 0) {
        return cpti_usage("option '--top' takes a number of rows, not '%s'",
                          cpti_quoted(text));
    }
    *rows_max = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    return CPTI_EXIT_DONE;
}

/* Two selections of the same logs. */
static int gather_selections(const struct cpti_arguments *arguments,
                             struct cpti_gather *gathers, int *is_usable)
{
    static const char *const names[2] = {"base", "new"};

    for (size_t i = 0; i < 2; i++) {
        const char *expression = cpti_value(arguments, names[i]);
        int failed;

        if (expression == NULL) {
            return cpti_usage("'cpt diff' takes --base and --new together: the option "
                              "'--%s' is missing",
                              names[i]);
        }
        failed = cpti_selection_add(gathers[i].selection, names[i], expression);
        if (failed != CPTI_EXIT_DONE) {
            return failed;
        }
    }
    return cpti_gather(gathers, 2, arguments->operands, arguments->operand_count,
                       cpti_has(arguments, "stop-at-error"), is_usable);
}

/* Requests that entered elsewhere can be compared, but hardly are meant to be. */
static void warn_of_entries(const struct cpti_gather *gathers)
{
    const char *base = cpt_tree_note_find(gathers[0].tree, "entry");
    const char *new_entry = cpt_tree_note_find(gathers[1].tree, "entry");

    if (base != NULL && new_entry != NULL && strcmp(base, new_entry) != 0) {
        cpti_warn("the requests of the base entered at %s, the new ones at %s",
                  cpti_quoted(base), cpti_quoted(new_entry));
    }
}

/* Two operands. */
static int gather_files(const struct cpti_arguments *arguments,
                        struct cpti_gather *gathers, int *is_usable)
{
    int status = CPTI_EXIT_DONE;

    if (arguments->operand_count != 2) {
        return cpti_usage("'cpt diff' needs two files, or --base and --new for two "
                          "selections of the same logs");
    }
    *is_usable = 1;
    for (size_t i = 0; i < 2 && *is_usable; i++) {
        const int failed = cpti_gather(&gathers[i], 1, &arguments->operands[i], 1,
                                       cpti_has(arguments, "stop-at-error"), is_usable);

        status = failed != CPTI_EXIT_DONE ? failed : status;
    }
    if (*is_usable) {
        warn_of_entries(gathers);
    }
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpti_selection selections[2];
    struct cpti_gather gathers[2] = {{.selection = &selections[0], .what = "base"},
                                     {.selection = &selections[1], .what = "new"}};
    uint32_t rows_max;
    int is_usable = 0;
    int status = cpti_selection_init(&selections[0], arguments);

    if (status == CPTI_EXIT_DONE) {
        status = read_rows(arguments, &rows_max);
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    selections[1] = selections[0];
    if (cpti_has(arguments, "base") || cpti_has(arguments, "new")) {
        status = gather_selections(arguments, gathers, &is_usable);
    } else {
        status = gather_files(arguments, gathers, &is_usable);
    }
    if (is_usable) {
        const int failed = show(arguments, gathers, rows_max);

        status = failed != CPTI_EXIT_DONE ? failed : status;
    }
    cpt_tree_free(gathers[0].tree);
    cpt_tree_free(gathers[1].tree);
    return status;
}

static const struct cpti_option options[] = {
    {"base", 'b', "EXPR",
     "the requests to compare with: KEY=VALUE, several with commas "
     "between, all of which must hold",
     NULL},
    {"new", 'n', "EXPR", "the requests to compare", NULL},
    {"top", 't', "COUNT", "print only so many rows", NULL},
    {"json", 'j', NULL, "print one JSON object with rows", NULL},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt diff paths.cptlog --base arm=control --new arm=treatment",
     "what an experiment made slower or faster"},
    {"cpt diff paths.cptlog --where region=eu --base build=41 --new build=42",
     "what a release changed in one region"},
    {"cpt diff monday.cpttree tuesday.cptlog", "what a day changed"},
    {0},
};

const struct cpti_command cpti_command_diff = {
    .name = "diff",
    .summary = "print what changed between two sets of requests",
    .usages = {"[OPTION]... BASE NEW", "[OPTION]... LOG... --base EXPR --new EXPR"},
    .description =
        "Compares the average critical paths of two sets of requests, stack by stack: "
        "the "
        "mean of each, the difference of the new one to the base, and the interval in "
        "which the true difference lies with 95 % confidence. An interval without 0 in "
        "it is more than noise, unless the row is one of very many. The largest "
        "difference stands first, whether slower or faster; nothing is dropped. "
        "Differences are those of self times, in ms; so they add up to the difference "
        "of "
        "the mean latencies.\n"
        "\n"
        "The two sets are two files, each a path log or a tree, or two selections of "
        "the "
        "same logs.\n"
        "\n" CPTI_SELECT_TEXT " These options hold for both sets.\n"
        "\n"
        "Profiles (.pb.gz) are refused: they hold averages without variances. Compare "
        "them by\n"
        "\n"
        "  go tool pprof -unit=ms -nodefraction=0 -edgefraction=0 -top "
        "-diff_base=BASE NEW\n"
        "\n"
        "With --json the object has rows, each with stack (root first), base_ns, "
        "new_ns, "
        "delta_ns, low_ns, high_ns and more. An end of an interval that is not known, "
        "as "
        "with a single request, is null. More may be added.",
    .options = {options, cpti_select_options, cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
