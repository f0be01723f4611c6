/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_precision.c - cpt precision: what chance alone does to averages and comparisons
 *
 * Prints, by the number of requests, the interval of the mean latency, and the number
 * of rows that wrongly differ between two samples of the same requests; and the rows
 * that do so most often.
 */
#include "tool/base/amounts.h"
#include "tool/table/sheet.h"
#include "tool/requests/log_walk.h"
#include "tool/base/output.h"
#include "tool/table/relation.h"
#include "tool/table/table.h"
#include "tool/print/by_print.h"
#include "tool/print/tree_print.h"
#include "tool/folds/views.h"
#include "tool/log/span_tags.h"
#include "aggregate/cpt_sizing.h"
#include "aggregate/cpt_sample.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define CONFIDENCE 0.95

enum { ROWS_DEFAULT = 10, PAIRS_DEFAULT = 100 };

/* One run of the command. */
struct precision {
    const struct cpti_arguments *arguments;
    enum cpti_by by;
    struct cpt_view *view; /* NULL by stack */
    struct cpti_view shown;
    struct cpt_sample *sample;
    double counts[CPTI_AMOUNTS_MAX]; /* of requests */
    size_t count_count;
    double thresholds_ns[CPTI_AMOUNTS_MAX];
    size_t threshold_count;
    uint32_t pair_count;
    uint64_t seed;
    size_t rows_max;
    const struct cpt_tree *all;   /* the requests, by stack */
    struct cpt_false_rows *cells; /* by count, then threshold */
    double *deviations_ns;        /* of the nodes of the sample */
    uint32_t *node_counts;  /* for the first count and threshold; NULL if not tried */
    struct chance *chances; /* the rows */
    size_t chance_count;
};

/* --- Options --- */

static int read_list(const struct cpti_arguments *arguments, const char *option,
                     const char *otherwise, enum cpti_unit unit, double *values,
                     size_t *count)
{
    const char *text = cpti_value(arguments, option);

    return cpti_amounts(option, text != NULL ? text : otherwise, unit, values, count);
}

static int read_options(struct precision *precision)
{
    const struct cpti_arguments *arguments = precision->arguments;
    uint64_t pairs = PAIRS_DEFAULT;
    uint64_t rows = ROWS_DEFAULT;
    int status = read_list(arguments, "requests", "100,1000,10000,100000",
                           CPTI_UNIT_NONE, precision->counts, &precision->count_count);

    precision->seed = 1;
    if (status == CPTI_EXIT_DONE) {
        status =
            read_list(arguments, "above", "0.1ms,0.3ms,1ms,3ms,10ms", CPTI_UNIT_TIME,
                      precision->thresholds_ns, &precision->threshold_count);
    }
    status = CPTI_THEN(
        status, cpti_whole_number(arguments, "pairs", 1, CPT_SAMPLE_PAIRS_MAX, &pairs));
    status =
        CPTI_THEN(status, cpti_whole_number(arguments, "top", 1, UINT32_MAX, &rows));
    status = CPTI_THEN(
        status, cpti_whole_number(arguments, "seed", 1, INT64_MAX, &precision->seed));
    for (size_t i = 0; i < precision->count_count; i++) {
        precision->counts[i] = fmax(1, round(precision->counts[i]));
    }
    precision->pair_count = (uint32_t)pairs;
    precision->rows_max = rows;
    precision->by = cpti_by_of(arguments);
    return status;
}

/* --- Trying --- */

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct precision *precision = context;
    cpt_status status = CPT_OK;

    (void)record;
    if (precision->view != NULL) {
        status = cpt_view_take(precision->view, path);
        path = cpt_view_self(precision->view);
    }
    status = CPTI_THEN(status, cpt_sample_add(precision->sample, path, weight));
    if (status == CPT_LIMIT) {
        return cpti_failed("the requests do not fit into the memory for samples; "
                           "select fewer of them");
    }
    return cpti_status_exit(status);
}

static int init_sample(struct precision *precision)
{
    precision->sample = cpt_sample_new(NULL, NULL);
    if (precision->by != CPTI_BY_STACK) {
        precision->view = cpt_view_new(NULL, (enum cpt_view_by)(precision->by - 1));
    }
    if (precision->sample == NULL ||
        (precision->view == NULL && precision->by != CPTI_BY_STACK)) {
        return cpti_failed("out of memory");
    }
    return CPTI_EXIT_DONE;
}

/* Whether two samples of that size can be drawn. */
static bool is_tried(const struct precision *precision, size_t i)
{
    return precision->counts[i] * 2 <=
           (double)cpt_tree_request_count(cpt_sample_tree(precision->sample));
}

static int try_all(struct precision *precision)
{
    const struct cpt_tree *tree = cpt_sample_tree(precision->sample);

    precision->cells = calloc(precision->count_count * precision->threshold_count,
                              sizeof *precision->cells);
    precision->deviations_ns =
        calloc(cpt_tree_node_count(tree), sizeof *precision->deviations_ns);
    if (precision->cells == NULL || precision->deviations_ns == NULL ||
        cpt_sample_deviations(precision->sample, precision->deviations_ns) != CPT_OK) {
        return cpti_failed("out of memory");
    }
    if (is_tried(precision, 0)) {
        precision->node_counts =
            calloc(cpt_tree_node_count(tree), sizeof *precision->node_counts);
        if (precision->node_counts == NULL) {
            return cpti_failed("out of memory");
        }
    }
    for (size_t i = 0; i < precision->count_count; i++) {
        struct cpt_false_rows *cells =
            precision->cells + i * precision->threshold_count;
        const struct cpt_pairs pairs = {
            (uint32_t)precision->counts[i], precision->pair_count, precision->seed + i,
            precision->thresholds_ns, precision->threshold_count};

        for (size_t t = 0; t < precision->threshold_count; t++) {
            cells[t].predicted = cpt_false_rows_predicted(tree, precision->counts[i],
                                                          precision->thresholds_ns[t]);
        }
        if (is_tried(precision, i) &&
            cpt_sample_pairs(precision->sample, &pairs, cells,
                             i == 0 ? precision->node_counts : NULL) != CPT_OK) {
            return cpti_failed("out of memory");
        }
    }
    return CPTI_EXIT_DONE;
}

/* --- Rows that vary most --- */

struct chance {
    double chance;  /* in the last row of a table, their mean */
    uint32_t node;  /* CPT_TREE_NONE: that last row, of those that are left out */
    uint32_t place; /* of the node in the order by name; there, how many they are */
};

static int by_chance(const void *left, const void *right)
{
    const struct chance *a = left;
    const struct chance *b = right;

    if (a->chance != b->chance) {
        return a->chance > b->chance ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

static double observed_chance(const struct precision *precision, uint32_t node)
{
    return precision->node_counts == NULL
               ? NAN
               : (double)precision->node_counts[node] / precision->pair_count;
}

enum { STACK, KIND, MEAN, DEVIATION, OBSERVED };

static void put_stack(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct precision *precision = asked->context;

    cpti_by_stack_json(json, cpt_sample_tree(precision->sample),
                       ((const struct chance *)asked->row)->node, precision->by);
}

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct precision *precision = asked->context;
    const struct cpt_tree *tree = cpt_sample_tree(precision->sample);
    const struct chance *row = asked->row;
    const uint32_t node = row->node;

    switch (asked->what) {
    case STACK:
        return node == CPT_TREE_NONE
                   ? cpti_cell_format(asked, "(%" PRIu32 " more row%s)", row->place,
                                      row->place == 1 ? "" : "s")
                   : cpti_by_cell(asked, tree, node, precision->by);
    case KIND:
        return cpti_kind_cell(tree, node);
    case MEAN:
        return cpti_cell_number(node == CPT_TREE_NONE
                                    ? row->chance
                                    : cpt_stats_of(tree, node).self.mean_ns);
    case DEVIATION:
        return cpti_cell_number(precision->deviations_ns[node]);
    default:
        return precision->node_counts != NULL
                   ? cpti_cell_number(observed_chance(precision, node))
                   : cpti_cell_unknown();
    }
}

static const struct cpti_column columns[] = {
    {"stack", "stack", CPTI_STACK, get, STACK,
     "the frames from the root on, or what --by says", .put = put_stack},
    {"kind", "kind", CPTI_WORD, get, KIND, "of the frame"},
    {"mean_ns", "mean ms", CPTI_NS, get, MEAN, "its own time"},
    {"deviation_ns", "deviation ms", CPTI_NS, get, DEVIATION,
     "the standard deviation of that"},
    {"predicted", "chance", CPTI_PART, CPTI_OF(struct chance, chance),
     "that it differs between two samples"},
    {"observed", "observed", CPTI_PART, get, OBSERVED,
     "the same, of the pairs that were drawn"},
    {0},
};

static const struct cpti_relation relation = {
    "rows", columns, "predicted,observed,mean_ns,deviation_ns,stack"};

/* Fills in the nodes, the one most likely to differ first. false without memory. */
static bool sort_chances(struct precision *precision)
{
    const struct cpt_tree *tree = cpt_sample_tree(precision->sample);
    struct cpt_tree_walk *walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
    const size_t count = cpt_tree_node_count(tree) - 1;
    struct chance *chances = walk != NULL ? calloc(count + 1, sizeof *chances) : NULL;

    for (uint32_t i = 1; chances != NULL && i <= count; i++) {
        const uint32_t node = cpt_tree_walk_row(walk, i)->node;

        chances[i - 1] =
            (struct chance){cpt_false_row_chance(tree, node, precision->counts[0],
                                                 precision->thresholds_ns[0]),
                            node, i};
    }
    cpt_tree_walk_free(walk);
    if (chances != NULL) {
        qsort(chances, count, sizeof *chances, by_chance);
        cpti_relation_sort(&precision->shown, chances, count, sizeof *chances,
                           precision);
    }
    precision->chances = chances;
    precision->chance_count = count < precision->rows_max ? count : precision->rows_max;
    return chances != NULL;
}

/* The mean of the rows from @row_max on. */
static double rest_of(const struct precision *precision, size_t row_max)
{
    const struct cpt_tree *tree = cpt_sample_tree(precision->sample);
    double mean_ns = 0;

    for (size_t i = row_max; i < precision->chance_count; i++) {
        mean_ns += cpt_stats_of(tree, precision->chances[i].node).self.mean_ns;
    }
    return mean_ns;
}

/* --- As JSON --- */

static void put_counts(const struct precision *precision, struct cpti_json *json)
{
    const struct cpt_tree *tree = cpt_sample_tree(precision->sample);

    cpti_json_open(json, "counts", '[');
    for (size_t i = 0; i < precision->count_count; i++) {
        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        cpti_json_float(json, "requests", precision->counts[i]);
        cpti_json_ns(json, "interval_half_ns",
                     cpt_sizing_half_width_ns(tree, precision->counts[i], CONFIDENCE));
        cpti_json_open(json, "false_rows", '[');
        for (size_t t = 0; t < precision->threshold_count; t++) {
            const struct cpt_false_rows *cell =
                &precision->cells[i * precision->threshold_count + t];
            const bool tried = is_tried(precision, i);

            cpti_json_open(json, NULL, '{');
            cpti_json_ns(json, "above_ns", precision->thresholds_ns[t]);
            cpti_json_rough(json, "predicted", cell->predicted);
            cpti_json_rough(json, "observed", tried ? cell->observed : NAN);
            cpti_json_rough(json, "observed_error", tried ? cell->error : NAN);
            cpti_json_close(json);
        }
        cpti_json_close(json);
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

static void put(const void *context, struct cpti_json *json)
{
    const struct precision *precision = context;

    cpti_tree_json(json, precision->all);
    cpti_json_text(json, "by", cpti_by_words[precision->by]);
    cpti_json_unsigned(json, "pairs", precision->pair_count);
    cpti_json_unsigned(json, "seed", precision->seed);
    put_counts(precision, json);
}

static void put_rest(const void *context, size_t row_max, struct cpti_json *json)
{
    cpti_json_ns(json, "mean_ns", rest_of(context, row_max));
}

/* --- As tables --- */

static int print_intervals(const struct precision *precision,
                           const struct cpt_tree *tree)
{
    static const char *const headings[] = {"requests", "\u00b195% ms", "of the mean"};
    const double mean_ns = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive.mean_ns;
    struct cpti_table table = cpti_table_of(headings, 3);
    char text[32];

    for (size_t i = 0; i < precision->count_count; i++) {
        const double half =
            cpt_sizing_half_width_ns(tree, precision->counts[i], CONFIDENCE);

        cpti_table_cell(&table, "%.0f", precision->counts[i]);
        cpti_table_cell(&table, "%s", cpti_ms(half, text));
        cpti_table_cell(&table, "%.2f%%", mean_ns > 0 ? half / mean_ns * 100 : 0);
    }
    (void)printf("\nthe mean latency, by the number of requests\n\n");
    table.is_markdown = precision->shown.format == CPTI_FORMAT_MARKDOWN;
    return cpti_table_print(&table);
}

/* The thresholds that fit a table; JSON has all. */
static size_t shown_thresholds(const struct precision *precision)
{
    return precision->threshold_count < CPTI_TABLE_COLUMNS_MAX - 2
               ? precision->threshold_count
               : CPTI_TABLE_COLUMNS_MAX - 2;
}

static void add_cells(struct cpti_table *table, const struct precision *precision,
                      size_t i)
{
    cpti_table_cell(table, "%.0f", precision->counts[i]);
    for (size_t t = 0; t < shown_thresholds(precision); t++) {
        const struct cpt_false_rows *cell =
            &precision->cells[i * precision->threshold_count + t];

        if (!is_tried(precision, i)) {
            cpti_table_cell(table, "(%.2f)", cell->predicted);
        } else if (isfinite(cell->error)) {
            cpti_table_cell(table, "%.2f\u00b1%.2f (%.2f)", cell->observed,
                            cpt_normal_quantile(0.5 + CONFIDENCE / 2) * cell->error,
                            cell->predicted);
        } else {
            cpti_table_cell(table, "%.2f (%.2f)", cell->observed, cell->predicted);
        }
    }
    if (is_tried(precision, i)) {
        cpti_table_cell(table, "%" PRIu32 " pairs", precision->pair_count);
    } else {
        cpti_table_cell(table, "predicted");
    }
}

static int print_false_rows(const struct precision *precision)
{
    char texts[CPTI_AMOUNTS_MAX][32];
    const char *headings[CPTI_AMOUNTS_MAX + 2] = {"requests"};
    const size_t shown = shown_thresholds(precision);
    struct cpti_table table;

    for (size_t t = 0; t < shown; t++) {
        (void)snprintf(texts[t], sizeof texts[t], ">%g ms",
                       precision->thresholds_ns[t] / 1e6);
        headings[t + 1] = texts[t];
    }
    headings[shown + 1] = "from";
    table = cpti_table_of(headings, shown + 2);
    for (size_t i = 0; i < precision->count_count; i++) {
        add_cells(&table, precision, i);
    }
    (void)printf("\nfalse rows by %s: how many differ between two samples of the same "
                 "requests,\nthe mean of %" PRIu32
                 " pairs with its 95 %% interval (and as predicted)\n\n",
                 cpti_by_words[precision->by], precision->pair_count);
    table.is_markdown = precision->shown.format == CPTI_FORMAT_MARKDOWN;
    return cpti_table_print(&table);
}

static int head(const void *context)
{
    const struct precision *precision = context;
    int status;

    cpti_tree_print(precision->all, NULL);
    status = print_intervals(precision, precision->all);
    status = CPTI_THEN(status, print_false_rows(precision));
    (void)printf("\nwhich ones: the chance to differ by more than %g ms with %.0f "
                 "requests\n\n",
                 precision->thresholds_ns[0] / 1e6, precision->counts[0]);
    return status;
}

static void fill_last(const void *context, size_t row_max, void *last)
{
    const struct precision *precision = context;

    *(struct chance *)last =
        (struct chance){rest_of(precision, row_max), CPT_TREE_NONE,
                        (uint32_t)(precision->chance_count - row_max)};
}

/* --- The command --- */

static int show(struct precision *precision, const struct cpt_tree *tree)
{
    struct cpti_column stack = columns[0];
    struct chance others;
    struct cpti_sheet sheet = {.view = &precision->shown,
                               .context = precision,
                               .head = head,
                               .put = put,
                               .put_rest = put_rest,
                               .fill_last = fill_last,
                               .last = &others};
    const int status = try_all(precision);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    precision->all = tree;
    if (!sort_chances(precision)) {
        return cpti_failed("out of memory");
    }
    if (cpti_view_is_for_people(&precision->shown)) {
        stack.heading = cpti_by_words[precision->by];
        cpti_view_replace(&precision->shown, &stack);
    }
    sheet.rows = CPTI_ROWS(precision->chances, precision->chance_count, precision);
    sheet.rows.rest_keys = "mean_ns,stack";
    return cpti_sheet_print(&sheet);
}

static int gather_and_show(struct precision *precision)
{
    struct cpti_gather gather = {.request = add_request, .context = precision};
    bool is_usable;
    int status = cpti_gather_arguments(&gather, precision->arguments, &is_usable);

    if (is_usable && gather.met_tree) {
        status = cpti_usage("a tree does not know its requests one by one" CPTI_HINT
                            "give the "
                            "path log it was made from");
    } else if (is_usable) {
        status = cpti_exit_last(status, show(precision, gather.tree));
    }
    cpt_tree_free(gather.tree);
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct precision precision = {.arguments = arguments};
    int status = read_options(&precision);

    status =
        CPTI_THEN(status, cpti_view_read(arguments, &relation, NULL, &precision.shown));
    status = CPTI_THEN(status, init_sample(&precision));
    status = CPTI_THEN(status, gather_and_show(&precision));
    cpt_sample_free(precision.sample);
    cpt_view_free(precision.view);
    free(precision.cells);
    free(precision.deviations_ns);
    free(precision.node_counts);
    free(precision.chances);
    return status;
}

static const struct cpti_option options[] = {
    {"above", 'a', "TIMES",
     "count differences above these; default: 0.1ms,0.3ms,1ms,3ms,10ms"},
    {"by", 0, "WHAT", "what a row is: stack (the default), service, name or edge",
     CPTI_BY_WORDS},
    {"json", 'j', NULL, "print one JSON object with counts and rows"},
    CPTI_CAPPED_OPTION("the first rows"),
    {"pairs", 0, "COUNT", "pairs of samples to draw; default: 100"},
    {"requests", 'n', "COUNTS", "requests in a sample; default: 100,1000,10000,100000"},
    {"top", 't', "COUNT", "rows of the last table to print; default: 10"},
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt precision --by name paths.cptlog",
     "how much a comparison of two days can be trusted"},
    {"cpt precision --requests 1000 --above 5ms paths.cptlog",
     "how many rows wrongly differ by 5 ms with 1,000 requests on each side"},
    {0},
};

const struct cpti_command cpti_command_precision = {
    .name = "precision",
    .summary = "print what chance alone does to averages and comparisons",
    .group = CPTI_COMPARE,
    .question = "Which differences does chance alone make?",
    .needs = "path logs or spans",
    .usages = {"[OPTION]... LOG..."},
    .options = {options, cpti_view_options, cpti_select_options, cpti_sample_options,
                cpti_count_options, cpti_log_options},
    .relations = {&relation},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
