/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tail_print.c - the tails of two sets; see tail_print.h */
#include "tool/print/tail_print.h"

#include "tool/table/capped.h"
#include "tool/base/output.h"
#include "tool/table/table.h"
#include "tool/print/by_print.h"
#include "tool/print/cluster_print.h"
#include "tool/print/diff_condition.h"
#include "tool/print/quantile_print.h"
#include "tool/print/tree_print.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* A row is shown if its change is significant at this level, or at least this part of
 * the largest total. */
#define LEVEL 0.05
#define LARGE 0.01

static const struct cpt_tree *tree_of(const struct cpti_tail_print *print, size_t side,
                                      enum cpti_tail_part part)
{
    return print->tails->gathers[side][part].tree;
}

static const struct cpti_views *views_of(const struct cpti_tail_print *print,
                                         size_t side)
{
    return &print->tails->views[side][CPTI_TAIL_ALL];
}

static struct cpt_quantile_change compare(const struct cpti_tail_print *print)
{
    if (print->tails->cluster_key != NULL) {
        return cpt_clusters_quantile_compare(
            views_of(print, 0)->clusters[CPTI_BY_STACK],
            tree_of(print, 0, CPTI_TAIL_ALL),
            views_of(print, 1)->clusters[CPTI_BY_STACK],
            tree_of(print, 1, CPTI_TAIL_ALL), print->tails->quantile, CPTI_CONFIDENCE);
    }
    return cpt_quantile_compare(tree_of(print, 0, CPTI_TAIL_ALL), CPT_TREE_ROOT,
                                tree_of(print, 1, CPTI_TAIL_ALL), CPT_TREE_ROOT,
                                print->tails->quantile, CPTI_CONFIDENCE);
}

/* What the requests from the quantile on are called. */
static const char *part_name(const struct cpti_tail_print *print)
{
    const double quantile = print->tails->quantile;

    return quantile >= 0.75 ? "tails" : quantile == 0.5 ? "slow halves" : "slow parts";
}

static uint32_t row_count(const struct cpti_tail_print *print)
{
    return print->tail != NULL ? cpt_tail_row_count(print->tail) : 0;
}

/* --- Which rows are shown --- */

static double largest(const struct cpt_tail_row *row)
{
    return fmax(fabs(row->tails.self.delta_ns),
                fmax(fabs(row->base.self.delta_ns), fabs(row->other.self.delta_ns)));
}

static bool is_found(const struct cpt_tail_change *change)
{
    return change->q_value < LEVEL && !change->is_rare;
}

static bool is_shown(const struct cpti_tail_print *print, uint32_t index)
{
    const struct cpt_tail_row *row = cpt_tail_row_at(print->tail, index);

    if (!cpti_view_is_for_people(print->view) || print->rows_max != UINT64_MAX) {
        return index < print->rows_max;
    }
    return is_found(&row->base) || is_found(&row->other) || is_found(&row->tails) ||
           largest(row) >= LARGE * largest(cpt_tail_total(print->tail));
}

/* --- As JSON --- */

static void put_side(const struct cpti_tail_print *print, struct cpti_json *json,
                     size_t side)
{
    cpti_json_open(json, side == 0 ? "base" : "new", '{');
    cpti_tree_json_stats(json, tree_of(print, side, CPTI_TAIL_ALL), &print->all[side],
                         print->tails->cluster_key != NULL);
    cpti_cluster_json(json, views_of(print, side), CPTI_BY_STACK);
    cpti_json_unsigned(json, "border_ns", print->tails->border_ns[side]);
    cpti_json_unsigned(json, "tail_requests",
                       cpt_tree_request_count(tree_of(print, side, CPTI_TAIL_TAIL)));
    cpti_json_close(json);
}

static void put_quantile(const struct cpti_tail_print *print, struct cpti_json *json)
{
    const struct cpt_quantile_change change = print->change;

    cpti_json_float(json, "quantile", print->tails->quantile);
    cpti_json_open(json, "latency", '{');
    cpti_json_ns(json, "base_ns", change.base.ns);
    cpti_json_ns(json, "base_low_ns", change.base.low_ns);
    cpti_json_ns(json, "base_high_ns", change.base.high_ns);
    cpti_json_ns(json, "new_ns", change.other.ns);
    cpti_json_ns(json, "new_low_ns", change.other.low_ns);
    cpti_json_ns(json, "new_high_ns", change.other.high_ns);
    cpti_json_ns(json, "delta_ns", change.delta_ns);
    cpti_json_ns(json, "low_ns", change.low_ns);
    cpti_json_ns(json, "high_ns", change.high_ns);
    cpti_json_rough(json, "p_value", change.p_value);
    cpti_json_rough(json, "new_above", change.new_above);
    cpti_doubt_json(json, print->doubt);
    cpti_json_close(json);
}

static void put_change(struct cpti_json *json, const char *key,
                       const struct cpt_tail_change *change, const char *from,
                       const char *to)
{
    cpti_json_open(json, key, '{');
    cpti_json_ns(json, from, change->self.base_ns);
    cpti_json_ns(json, to, change->self.new_ns);
    cpti_json_ns(json, "delta_ns", change->self.delta_ns);
    cpti_json_ns(json, "low_ns", change->self.low_ns);
    cpti_json_ns(json, "high_ns", change->self.high_ns);
    cpti_json_rough(json, "p_value", change->self.p_value);
    cpti_json_rough(json, "q", change->q_value);
    cpti_json_bool(json, "trusted", !change->is_rare);
    if (change->is_rare) {
        cpti_json_text(json, "why", "too few requests, or too few with time of it");
    }
    cpti_json_close(json);
}

static void put_changes(struct cpti_json *json, const struct cpt_tail_row *row)
{
    put_change(json, "base", &row->base, "rest_ns", "tail_ns");
    put_change(json, "new", &row->other, "rest_ns", "tail_ns");
    put_change(json, "tails", &row->tails, "base_ns", "new_ns");
}

static void put_stack(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct cpti_tail_print *print = asked->context;

    cpti_by_stack_json(json, cpt_tail_tree(print->tail),
                       ((const struct cpt_tail_row *)asked->row)->node,
                       print->tails->by);
}

static void put_row_changes(const struct cpti_asked *asked, struct cpti_json *json)
{
    put_changes(json, asked->row);
}

/* With a limit of bytes: the rows that are left out. */
static void put_rest(struct cpti_json *json, uint32_t row_count, const double *sums_ns)
{
    cpti_json_open(json, "rest", '{');
    cpti_json_unsigned(json, "rows", row_count);
    cpti_json_ns(json, "base_delta_ns", sums_ns[0]);
    cpti_json_ns(json, "new_delta_ns", sums_ns[1]);
    cpti_json_ns(json, "tails_delta_ns", sums_ns[2]);
    cpti_json_close(json);
}

/* --- Columns --- */

/* Which change a column is about, times PARTS, and what it has of it. */
enum { BASE, NEW, TAILS };
enum { GAP, GAP_SHOWN, Q, Q_SHOWN, PARTS, STACK = PARTS * (TAILS + 1), KIND };

/* Milliseconds with their sign. */
static const char *signed_ms(double ns, char text[40])
{
    char number[32];

    (void)snprintf(text, 40, "%s%s", ns > 0 ? "+" : "", cpti_ms(ns, number));
    return text;
}

static struct cpti_cell part_of(const struct cpti_asked *asked,
                                const struct cpt_tail_change *change, unsigned part)
{
    char text[40];

    switch (part) {
    case GAP:
        return cpti_cell_number(change->self.delta_ns);
    case GAP_SHOWN:
        return cpti_cell_format(
            asked, "%s%s", change->is_rare && change->self.delta_ns != 0 ? "~" : "",
            signed_ms(change->self.delta_ns, text));
    default: /* that of a total says nothing */
        return cpti_cell_known(part == Q || !isnan(change->q_value), change->q_value);
    }
}

/* The stack or name of a row; of the total, what it sums up. */
static struct cpti_cell stack_of(const struct cpti_asked *asked)
{
    const struct cpti_tail_print *print = asked->context;
    const struct cpt_tail_row *row = asked->row;
    const uint32_t left_count = print->left_count;

    if (row->node != CPT_TREE_ROOT) {
        return cpti_by_cell(asked, cpt_tail_tree(print->tail), row->node,
                            print->tails->by);
    }
    return cpti_cell_format(asked,
                            left_count == 0 ? "(sum of all rows)"
                            : left_count == 1
                                ? "(sum of these and %" PRIu32 " more row)"
                                : "(sum of these and %" PRIu32 " more rows)",
                            left_count);
}

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct cpti_tail_print *print = asked->context;
    const struct cpt_tail_row *row = asked->row;
    const struct cpt_tail_change *const changes[] = {
        [BASE] = &row->base, [NEW] = &row->other, [TAILS] = &row->tails};

    switch (asked->what) {
    case STACK:
        return stack_of(asked);
    case KIND:
        return cpti_kind_cell(cpt_tail_tree(print->tail), row->node);
    default:
        return part_of(asked, changes[asked->what / PARTS], asked->what % PARTS);
    }
}

/* clang-format off */
#define CHANGE_COLUMNS(key, heading, which, note)                                      \
    {key "_delta_ns", heading, CPTI_NS_CHANGE, get, PARTS * (which) + GAP, note,       \
     CPTI_NOT_IN_JSON},                                                                \
    {key "_gap", heading, CPTI_TEXT, get, PARTS * (which) + GAP_SHOWN,                 \
     "the same, in tables", CPTI_IN_TABLES},                                           \
    {key "_q", "q", CPTI_NUMBER, get, PARTS * (which) + Q,                             \
     "the false discovery rate", CPTI_NOT_IN_JSON},                                    \
    {key "_q_shown", "q", CPTI_P, get, PARTS * (which) + Q_SHOWN,                      \
     "the same, in tables", CPTI_IN_TABLES}
/* clang-format on */

static const struct cpti_column columns[] = {
    {"stack", "stack", CPTI_STACK, get, STACK,
     "the frames from the root on, or what --by says", .put = put_stack},
    {"kind", "kind", CPTI_WORD, get, KIND, "of the frame"},
    CHANGE_COLUMNS("tails", "tails", TAILS, "slow requests: new - base"),
    CHANGE_COLUMNS("base", "base gap", BASE, "slow requests - others, in the base"),
    CHANGE_COLUMNS("new", "new gap", NEW, "… and in the new set"),
    {"changes", .put = put_row_changes},
    {0},
};

const struct cpti_relation cpti_tail_relation = {
    "rows", columns,
    "base_gap,base_q_shown,new_gap,new_q_shown,tails_gap,tails_q_shown,stack",
    .when = "--quantile"};

/* --- The answer as JSON --- */

/* The rows up to number @row_max, of those that are shown. */
static void put_tails(const struct cpti_tail_print *print, size_t row_max)
{
    struct cpti_json json = {.file = stdout};
    const struct cpti_rows rows = CPTI_ROWS_AT(print->shown, print->shown_count, print);
    const uint32_t all = row_count(print);
    double sums_ns[3] = {0};
    uint32_t left_count = 0;

    cpti_json_open(&json, NULL, '{');
    put_side(print, &json, 0);
    put_side(print, &json, 1);
    cpti_json_text(&json, "by", cpti_by_words[print->tails->by]);
    put_quantile(print, &json);
    if (print->tail != NULL) {
        cpti_json_open(&json, "total", '{');
        put_changes(&json, cpt_tail_total(print->tail));
        cpti_json_close(&json);
    } else {
        cpti_json_null(&json, "total");
    }
    cpti_json_unsigned(&json, "row_count", all);
    cpti_relation_json(print->view, &rows, row_max, &json);
    for (uint32_t i = 0; i < all; i++) {
        if (i >= rows.count || i >= row_max) { /* JSON shows the first rows */
            const struct cpt_tail_row *row = cpt_tail_row_at(print->tail, i);

            left_count++;
            sums_ns[0] += row->base.self.delta_ns;
            sums_ns[1] += row->other.self.delta_ns;
            sums_ns[2] += row->tails.self.delta_ns;
        }
    }
    if (print->view->bytes_max != 0 && row_max != CPTI_CAPPED_ALL) {
        put_rest(&json, left_count, sums_ns);
    }
    cpti_conditions_json(print->conditions, &json);
    cpti_json_close(&json);
}

/* --- As tables --- */

static void add_quantile(struct cpti_table *table, const char *set,
                         const struct cpt_quantile *quantile)
{
    char ms[32];
    char interval[CPTI_INTERVAL_BYTES];

    cpti_table_cell(table, "%s", set);
    cpti_table_cell(table, "%s", cpti_ms(quantile->ns, ms));
    cpti_table_cell(table, "%s",
                    cpti_interval_text(quantile->low_ns, quantile->high_ns, interval));
}

/* Writes what became of the quantile @name. */
static const char *verdict_of(const struct cpt_quantile_change *change, bool is_trusted,
                              const char *name, char text[64])
{
    if (!(change->p_value < LEVEL) || !is_trusted) {
        (void)snprintf(text, 64, "no evidence that the %s moved", name);
    } else {
        (void)snprintf(text, 64, "the %s is %s", name,
                       change->delta_ns > 0 ? "slower" : "faster");
    }
    return text;
}

/* Says whether the quantile moved. */
static int print_quantile(const struct cpti_tail_print *print, const char *name)
{
    const char *const headings[] = {"", name, "95% interval"};
    const struct cpt_quantile_change change = print->change;
    const bool is_trusted = print->doubt == CPT_DIFF_TRUSTED;
    struct cpti_table table = cpti_table_of(headings, 3);
    char ms[40];
    char interval[CPTI_INTERVAL_BYTES];
    char verdict[64];
    int status;

    add_quantile(&table, "base", &change.base);
    add_quantile(&table, "new", &change.other);
    cpti_table_cell(&table, "new - base");
    cpti_table_cell(&table, "%s", signed_ms(change.delta_ns, ms));
    cpti_table_cell(&table, "%s%s", is_trusted ? "" : "~",
                    cpti_interval_text(change.low_ns, change.high_ns, interval));
    table.is_markdown = print->view->format == CPTI_FORMAT_MARKDOWN;
    status = cpti_table_print(&table);
    (void)printf("\n%s (p %s%.3g): %.3g %% of the new set are above the base's %s\n",
                 verdict_of(&change, is_trusted, name, verdict),
                 change.p_value < 0.001 ? "< " : "= ", fmax(change.p_value, 0.001),
                 change.new_above * 100, name);
    if (!is_trusted) {
        (void)printf("~ do not trust it: %s\n", cpt_diff_doubt_text(print->doubt));
    }
    if (!isfinite(change.low_ns) || !isfinite(change.high_ns)) {
        (void)printf("an end is missing where there are too few requests to tell\n");
    }
    return status;
}

/* Shows the first @row_max of the rows, and sums up the others. */
static int print_rows(struct cpti_tail_print *print, size_t row_max)
{
    const bool is_for_people = cpti_view_is_for_people(print->view);
    struct cpti_rows rows = CPTI_ROWS_AT(print->shown, print->shown_count, print);
    struct cpti_view view = *print->view;
    struct cpti_column tails = columns[3];
    struct cpti_column stack = columns[0];
    struct cpt_tail_row total;
    bool has_rare = false;
    int status;

    if (!is_for_people) {
        return cpti_relation_print(&view, &rows, row_max);
    }
    tails.heading = part_name(print);
    stack.heading = cpti_by_words[print->tails->by];
    cpti_view_replace(&view, &tails);
    cpti_view_replace(&view, &stack);
    total = *cpt_tail_total(print->tail);
    total.node = CPT_TREE_ROOT;
    total.base.q_value = NAN; /* slow requests are slow by choice */
    total.other.q_value = NAN;
    total.base.is_rare = 0;
    total.other.is_rare = 0;
    rows.rest = &total;
    has_rare = total.tails.is_rare;
    for (size_t i = 0; i < rows.count && i < row_max; i++) {
        const struct cpt_tail_row *row = print->shown[i];

        has_rare =
            has_rare || row->base.is_rare || row->other.is_rare || row->tails.is_rare;
    }
    print->left_count =
        row_count(print) - (uint32_t)(rows.count < row_max ? rows.count : row_max);
    status = cpti_relation_print(&view, &rows, row_max);
    if (has_rare) {
        (void)printf("\n~ too few requests, or too few with time of it: do not trust "
                     "its q\n");
    }
    return status;
}

/* Says what is compared, in self times of average requests. */
static void print_parts(const struct cpti_tail_print *print, const char *name)
{
    static const char *const names[] = {"base", "new"};

    (void)printf(
        "\ngap: ms more in slow requests, from the %s of their set on, than in "
        "the others\n"
        "%s: slow requests of the new set minus those of the base\n",
        name, part_name(print));
    for (size_t i = 0; i < 2; i++) {
        char border[32];

        (void)printf("%s: %" PRIu64 " of %" PRIu64 " are slow, from %s ms on%s",
                     names[i],
                     cpt_tree_request_count(tree_of(print, i, CPTI_TAIL_TAIL)),
                     cpt_tree_request_count(tree_of(print, i, CPTI_TAIL_ALL)),
                     cpti_ms((double)print->tails->border_ns[i], border),
                     i == 0 ? "; " : "\n\n");
    }
}

static int print_answer(struct cpti_tail_print *print, size_t row_max)
{
    const char *fence = print->view->format == CPTI_FORMAT_MARKDOWN ? "```\n" : "";
    char name[16];
    int status;

    if (print->view->format == CPTI_FORMAT_JSON) {
        put_tails(print, row_max);
        return CPTI_EXIT_DONE;
    }
    if (print->view->format == CPTI_FORMAT_CSV) {
        return print_rows(print, row_max);
    }
    (void)cpti_quantile_name(print->tails->quantile, name);
    (void)printf("%s", fence);
    for (size_t i = 0; i < 2; i++) {
        cpti_tree_print_stats(tree_of(print, i, CPTI_TAIL_ALL), i == 0 ? "base" : "new",
                              &print->all[i], print->tails->cluster_key != NULL);
        cpti_cluster_print(views_of(print, i), CPTI_BY_STACK);
    }
    (void)printf("%s\n", fence);
    status = print_quantile(print, name);
    if (print->tails->cluster_key != NULL) {
        return status; /* the errors of rows by cluster are not known */
    }
    if (print->tail == NULL) {
        (void)printf("\nno rows: in one set no request is below its %s, as many take "
                     "equally long\n",
                     name);
        return status;
    }
    print_parts(print, name);
    return status == CPTI_EXIT_DONE ? print_rows(print, row_max) : status;
}

/* See struct cpti_capped. */
static int print_first(void *context, size_t row_max)
{
    return print_answer(*(struct cpti_tail_print **)context, row_max);
}

/* The statistics of both sets, with errors by cluster if there are any. */
static int find_stats(struct cpti_tail_print *print)
{
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        const struct cpt_tree *tree = tree_of(print, i, CPTI_TAIL_ALL);

        print->all[i] = cpt_stats_of(tree, CPT_TREE_ROOT);
        status =
            cpti_cluster_stats(views_of(print, i), CPTI_BY_STACK, tree, &print->all[i]);
    }
    return status;
}

/* Whether to trust the change of the quantile. Ranks hold for any number of requests; a
 * variance by cluster needs some clusters, and some requests. */
static enum cpt_diff_doubt doubt_of(const struct cpti_tail_print *print)
{
    enum cpt_diff_doubt doubt = CPT_DIFF_TRUSTED;

    for (size_t i = 0; i < 2 && print->tails->cluster_key != NULL; i++) {
        if (print->all[i].is_rare) {
            doubt = print->all[i].inclusive.effective_count < CPT_CLUSTERS_TRUSTED_MIN
                        ? CPT_DIFF_FEW_CLUSTERS
                    : doubt == CPT_DIFF_TRUSTED ? CPT_DIFF_FEW_REQUESTS
                                                : doubt;
        }
    }
    return doubt;
}

/* Takes the rows that are shown. false without memory. */
static bool choose_rows(struct cpti_tail_print *print)
{
    print->shown =
        calloc((size_t)row_count(print) + 1, sizeof(const struct cpt_tail_row *));
    for (uint32_t i = 0; i < row_count(print) && print->shown != NULL; i++) {
        if (is_shown(print, i)) {
            print->shown[print->shown_count++] = cpt_tail_row_at(print->tail, i);
        }
    }
    return print->shown != NULL;
}

int cpti_tail_print(struct cpti_tail_print *print)
{
    struct cpti_capped capped = {
        .bytes_max = print->view->bytes_max, .print = print_first, .context = &print};
    int status = find_stats(print);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    print->change = compare(print);
    print->doubt = doubt_of(print);
    cpti_conditions_test_quantile(print->conditions, &print->change, print->doubt);
    if (!choose_rows(print)) {
        return cpti_failed("out of memory");
    }
    capped.row_count = print->shown_count;
    status = cpti_capped_print(&capped);
    free(print->shown);
    return status;
}
