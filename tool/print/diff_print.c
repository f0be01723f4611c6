/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* diff_print.c - a difference as text, as Markdown, as JSON; see diff_print.h */
#include "tool/print/diff_print.h"

#include "tool/table/capped.h"
#include "tool/print/by_print.h"
#include "tool/print/cluster_print.h"
#include "tool/print/mix_print.h"
#include "tool/base/output.h"
#include "tool/print/tree_print.h"

#include <inttypes.h>
#include <math.h>

/* A change with a larger q value gets no cause and no share in the table. */
#define LEVEL 0.05

/* --- As JSON --- */

/* The statistics of the latency of each side, by cluster if there are clusters. enum
 * cpti_exit. */
static int find_latencies(const struct cpti_diff_print *print,
                          struct cpt_stats latencies[2])
{
    int status = CPTI_EXIT_DONE;

    for (size_t side = 0; side < 2 && status == CPTI_EXIT_DONE; side++) {
        const struct cpti_views *views = &print->views[side];
        const struct cpt_tree *tree =
            print->by == CPTI_BY_STACK || views->cluster_key == NULL
                ? print->gathers[side].tree
                : views->self[print->by];

        latencies[side] = cpt_stats_of(tree, CPT_TREE_ROOT);
        status = cpti_cluster_stats(views, print->by, tree, &latencies[side]);
    }
    return status;
}

static void put_side(const struct cpti_diff_print *print, struct cpti_json *json,
                     const struct cpt_stats *latency, size_t side)
{
    cpti_json_open(json, side == 0 ? "base" : "new", '{');
    cpti_tree_json_stats(json, print->gathers[side].tree, latency,
                         print->views[side].cluster_key != NULL);
    cpti_cluster_json(json, &print->views[side], print->by);
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

/* What the rows do not show: with them it adds up to the total. */
static void put_rest(struct cpti_json *json, const struct cpti_diff_print *print,
                     const struct cpti_diff_rows *rows)
{
    const struct cpt_change *total = &cpt_diff_total(print->diff)->inclusive;
    double base_ns = total->base_ns;
    double new_ns = total->new_ns;

    for (uint32_t i = 0; i < rows->count; i++) {
        base_ns -= rows->rows[i]->self.base_ns;
        new_ns -= rows->rows[i]->self.new_ns;
    }
    cpti_json_open(json, "rest", '{');
    cpti_json_unsigned(json, "rows", cpt_diff_row_count(print->diff) - rows->count);
    cpti_json_ns(json, "base_ns", base_ns);
    cpti_json_ns(json, "new_ns", new_ns);
    cpti_json_ns(json, "delta_ns", new_ns - base_ns);
    cpti_json_close(json);
}

static void put_diff(const struct cpti_diff_print *print,
                     const struct cpt_stats latencies[2],
                     const struct cpti_diff_rows *rows, bool has_rest)
{
    const struct cpti_rows shown = CPTI_ROWS_AT(rows->rows, rows->count, print);
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    put_change(&json, &cpt_diff_total(print->diff)->inclusive);
    cpti_json_ns(&json, "detectable_ns", cpt_diff_total(print->diff)->detectable_ns);
    cpti_json_float(&json, "confidence", 0.95);
    cpti_json_unsigned(&json, "row_count", cpt_diff_row_count(print->diff));
    cpti_json_unsigned(&json, "tested_count", cpt_diff_tested_count(print->diff));
    cpti_json_text(&json, "by", cpti_by_words[print->by]);
    put_side(print, &json, &latencies[0], 0);
    put_side(print, &json, &latencies[1], 1);
    if (print->mix != NULL) {
        cpti_mix_json(print->mix, print->gathers, print->diff, &json);
    }
    cpti_conditions_json(print->conditions, &json);
    cpti_relation_json(print->view, &shown, rows->count, &json);
    if (has_rest) {
        put_rest(&json, print, rows);
    }
    cpti_json_close(&json);
}

/* --- Columns --- */

/* What a column has. */
enum { MARGIN, Q_SHOWN, RELATIVE, SHARE_SHOWN, CAUSE, STACK, KIND, CHANGE };
enum { TRUSTED = CHANGE + 1 };

static void put_stack(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct cpti_diff_print *print = asked->context;

    cpti_by_stack_json(json, cpt_diff_tree(print->diff),
                       ((const struct cpt_diff_row *)asked->row)->node, print->by);
}

static void put_trust(const struct cpti_asked *asked, struct cpti_json *json)
{
    cpti_doubt_json(json, ((const struct cpt_diff_row *)asked->row)->doubt);
}

static void put_inclusive(const struct cpti_asked *asked, struct cpti_json *json)
{
    cpti_json_open(json, "inclusive", '{');
    put_change(json, &((const struct cpt_diff_row *)asked->row)->inclusive);
    cpti_json_close(json);
}

/* Half the width of the interval, if that is bounded. */
static struct cpti_cell margin_of(const struct cpti_asked *asked)
{
    const struct cpt_diff_row *row = asked->row;
    const double width_ns = row->self.high_ns - row->self.low_ns;
    char text[40];

    return isfinite(width_ns)
               ? cpti_cell_format(asked, "%s%s",
                                  row->doubt != CPT_DIFF_TRUSTED ? "~" : "",
                                  cpti_ms(width_ns / 2, text))
               : cpti_cell_unknown();
}

/* The change as a percentage of the base. */
static struct cpti_cell relative_of(const struct cpti_asked *asked)
{
    const struct cpt_change *change = &((const struct cpt_diff_row *)asked->row)->self;
    const double percent = change->delta_ns / change->base_ns * 100;

    if (change->delta_ns == 0) {
        return cpti_cell_unknown();
    }
    if (change->base_ns == 0) {
        return cpti_cell_text("new");
    }
    if (fabs(percent) < 0.05) {
        return cpti_cell_text("0.0%");
    }
    return cpti_cell_format(asked, fabs(percent) >= 1000 ? "%+.0f%%" : "%+.1f%%",
                            percent);
}

/* The part of the total change, unless that may be noise. */
static struct cpti_cell share_of(const struct cpti_asked *asked)
{
    const struct cpti_diff_print *print = asked->context;
    const double share = ((const struct cpt_diff_row *)asked->row)->share;

    return cpt_diff_total(print->diff)->inclusive.p_value < LEVEL && isfinite(share)
               ? cpti_cell_format(asked, "%.0f%%",
                                  fabs(share) < 0.005 ? 0 : share * 100)
               : cpti_cell_unknown();
}

/* Why a row changed, in a word. */
static const char *cause_of(const struct cpt_diff_row *row)
{
    const double frequency = fabs(row->frequency_ns);
    const double size = fabs(row->size_ns);

    if (row->lost_path) {
        return "lost";
    }
    if (!(row->q_value < LEVEL)) {
        return "-";
    }
    if (frequency > 2 * size) {
        return "freq";
    }
    return size > 2 * frequency ? "size" : "both";
}

/* The stack or name of a row; of the total, what it sums up. */
static struct cpti_cell stack_of(const struct cpti_asked *asked)
{
    const struct cpti_diff_print *print = asked->context;
    const struct cpt_diff_row *row = asked->row;

    if (row->node != CPT_TREE_ROOT) {
        return cpti_by_cell(asked, cpt_diff_tree(print->diff), row->node, print->by);
    }
    cpti_cell_shorten(asked, "(sum of all)");
    return cpti_cell_format(asked,
                            row->base_present_count == 0 ? "(sum of all rows)"
                            : row->base_present_count == 1
                                ? "(sum of these and %" PRIu64 " more row)"
                                : "(sum of these and %" PRIu64 " more rows)",
                            row->base_present_count);
}

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct cpti_diff_print *print = asked->context;
    const struct cpt_diff_row *row = asked->row;

    switch (asked->what) {
    case MARGIN:
        return margin_of(asked);
    case Q_SHOWN:
        return cpti_cell_known(row->is_tested, row->q_value);
    case RELATIVE:
        return relative_of(asked);
    case SHARE_SHOWN:
        return share_of(asked);
    case CAUSE:
        return row->node != CPT_TREE_ROOT ? cpti_cell_text(cause_of(row))
                                          : cpti_cell_unknown();
    case STACK:
        return stack_of(asked);
    case KIND:
        return cpti_kind_cell(cpt_diff_tree(print->diff), row->node);
    case CHANGE:
        return cpti_cell_number(row->self.delta_ns / row->self.base_ns);
    default:
        return cpti_cell_count(row->doubt == CPT_DIFF_TRUSTED);
    }
}

#define OF(field) CPTI_OF(struct cpt_diff_row, field)

static const struct cpti_column columns[] = {
    {"stack", "stack", CPTI_STACK, get, STACK,
     "the frames from the root on, or what --by says", .put = put_stack},
    {"kind", "kind", CPTI_WORD, get, KIND, "of the frame"},
    {"base_ns", "base ms", CPTI_NS, OF(self.base_ns), "its own time in the base"},
    {"new_ns", "new ms", CPTI_NS, OF(self.new_ns), "… and in the new set"},
    {"delta_ns", "diff ms", CPTI_NS_CHANGE, OF(self.delta_ns), "new - base"},
    {"low_ns", "from", CPTI_NS, OF(self.low_ns), "the 95 % interval of that"},
    {"high_ns", "to", CPTI_NS, OF(self.high_ns)},
    {"margin", "\u00b195%", CPTI_TEXT, get, MARGIN, "half of it", CPTI_IN_TABLES},
    {"p_value", "p", CPTI_NUMBER, OF(self.p_value), "of no difference"},
    {"base_presence", "base presence", CPTI_NUMBER, OF(base_presence),
     "the share of requests that have it"},
    {"new_presence", "new presence", CPTI_NUMBER, OF(new_presence)},
    {"rare", "rare", CPTI_FLAG, OF(is_rare), "whether few requests have it"},
    {"trusted", "trusted", CPTI_FLAG, get, TRUSTED,
     "whether the interval and q may be trusted", .put = put_trust},
    {"inclusive", .put = put_inclusive},
    {"inclusive_delta_ns", "with below", CPTI_NS_CHANGE, OF(inclusive.delta_ns),
     "new - base with all below it", CPTI_NOT_IN_JSON},
    {"q", "q", CPTI_NUMBER, OF(q_value), "the false discovery rate"},
    {"q_shown", "q", CPTI_P, get, Q_SHOWN, "the same, in tables", CPTI_IN_TABLES},
    {"tested", "tested", CPTI_FLAG, OF(is_tested), "whether q is known"},
    {"detectable_ns", "detectable", CPTI_NS, OF(detectable_ns),
     "a change that would be found in 4 of 5 samples"},
    {"change", "change", CPTI_NUMBER, get, CHANGE, "as a part of the base"},
    {"change_shown", "change", CPTI_TEXT, get, RELATIVE, "the same, in tables",
     CPTI_IN_TABLES},
    {"share_of_change", "share", CPTI_NUMBER, OF(share), "of the total change"},
    {"share_shown", "share", CPTI_TEXT, get, SHARE_SHOWN, "the same, in tables",
     CPTI_IN_TABLES},
    {"frequency_ns", "freq ms", CPTI_NS_CHANGE, OF(frequency_ns),
     "the part that is due to the presence"},
    {"size_ns", "size ms", CPTI_NS_CHANGE, OF(size_ns),
     "the part that is due to the time when present"},
    {"cause", "cause", CPTI_TEXT, get, CAUSE, "which of them it is", CPTI_IN_TABLES},
    {"lost_path", "lost", CPTI_FLAG, OF(lost_path),
     "whether another branch is on the path instead"},
    {0},
};

static const char *const orders[] = {"size", "q", "name", NULL};
#define SHOWN_FIRST                                                                    \
    "delta_ns,margin,q_shown,change_shown,share_shown,base_ns,new_ns,cause,"

const struct cpti_relation cpti_diff_relation = {"rows", columns, SHOWN_FIRST "stack",
                                                 orders};
const char cpti_diff_shown_by[] = SHOWN_FIRST "inclusive_delta_ns,stack";

/* --- As a table --- */

/* Explains the marks that the shown rows have. */
static void print_marks(const struct cpti_diff_print *print,
                        const struct cpti_diff_rows *rows)
{
    bool has_doubt[CPT_DIFF_FEW_CLUSTERS + 1] = {false};
    bool has_lost = false;
    bool has_untested = false;
    const char *gap = "\n"; /* before the first mark */

    has_doubt[cpt_diff_total(print->diff)->doubt] = true;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct cpt_diff_row *row = rows->rows[i];

        has_doubt[row->doubt] = true;
        has_lost = has_lost || row->lost_path;
        has_untested = has_untested || !row->is_tested;
    }
    for (int doubt = CPT_DIFF_TRUSTED + 1; doubt <= CPT_DIFF_FEW_CLUSTERS; doubt++) {
        if (has_doubt[doubt]) {
            (void)printf("%s~ do not trust it: %s\n", gap,
                         cpt_diff_doubt_text((enum cpt_diff_doubt)doubt));
            gap = "";
        }
    }
    if (has_untested) {
        (void)printf(
            "%sq -: not tested: fewer than %d requests had it, or it has no time of "
            "its own\n",
            gap, CPT_DIFF_TESTED_MIN);
        gap = "";
    }
    if (has_lost) {
        (void)printf(
            "%slost: on fewer critical paths, since another branch is on more; "
            "it did not get faster\n",
            gap);
    }
}

/* Says what is not shown, and what could not have been found. */
static void print_hidden(const struct cpti_diff_print *print,
                         const struct cpti_diff_rows *rows)
{
    const struct cpt_diff_row *total = cpt_diff_total(print->diff);
    char text[32];

    if (rows->hidden_count != 0 && rows->is_default) {
        (void)printf("\n%" PRIu32 " rows not shown: q > %g, change < %s ms (--max-q 1 "
                     "shows all)\n",
                     rows->hidden_count, rows->max_q, cpti_ms(rows->min_ns, text));
    } else if (rows->hidden_count != 0) {
        (void)printf("\n%" PRIu32 " rows not shown, by --max-q or --min\n",
                     rows->hidden_count);
    }
    if (!(total->inclusive.p_value < LEVEL) && total->doubt == CPT_DIFF_TRUSTED &&
        isfinite(total->detectable_ns)) {
        (void)printf("%schanges of the mean latency of %s ms would be found in 4 of 5 "
                     "samples\n",
                     rows->hidden_count != 0 ? "" : "\n",
                     cpti_ms(total->detectable_ns, text));
    }
}

static void print_sides(const struct cpti_diff_print *print,
                        const struct cpt_stats latencies[2])
{
    const char *fence = print->view->format == CPTI_FORMAT_MARKDOWN ? "```\n" : "";

    (void)printf("%s", fence);
    for (size_t i = 0; i < 2; i++) {
        cpti_tree_print_stats(print->gathers[i].tree, i == 0 ? "base" : "new",
                              &latencies[i], print->views[i].cluster_key != NULL);
        cpti_cluster_print(&print->views[i], print->by);
    }
    if (print->mix != NULL) {
        cpti_mix_print(print->mix, print->gathers, print->diff);
    }
    (void)printf("%s\n", fence);
}

/* The total as a row. It has no cause, and its share of the change is all of it. */
static struct cpt_diff_row total_of(const struct cpti_diff_print *print,
                                    uint32_t left_count)
{
    struct cpt_diff_row total = *cpt_diff_total(print->diff);

    total.node = CPT_TREE_ROOT;
    total.base_present_count = left_count;
    total.self = total.inclusive;
    total.inclusive.delta_ns = NAN;
    total.share = 1;
    return total;
}

static int print_table(const struct cpti_diff_print *print,
                       const struct cpt_stats latencies[2],
                       const struct cpti_diff_rows *rows)
{
    const struct cpt_diff_row total =
        total_of(print, cpt_diff_row_count(print->diff) - rows->count);
    struct cpti_column stack = columns[0];
    struct cpti_view view = *print->view;
    struct cpti_rows shown = CPTI_ROWS_AT(rows->rows, rows->count, print);
    int status;

    if (!cpti_view_is_for_people(&view)) {
        return cpti_relation_print(&view, &shown, rows->count);
    }
    stack.heading = cpti_by_words[print->by];
    cpti_view_replace(&view, &stack);
    shown.rest = &total;
    print_sides(print, latencies);
    status = cpti_relation_print(&view, &shown, rows->count);
    print_marks(print, rows);
    print_hidden(print, rows);
    return status;
}

/* An answer with the first rows. */
struct first_rows {
    const struct cpti_diff_print *print;
    const struct cpti_diff_rows *rows;
    struct cpt_stats latencies[2];
};

/* See struct cpti_capped. */
static int print_first(void *context, size_t row_max)
{
    const struct first_rows *first = context;
    struct cpti_diff_rows rows = *first->rows;

    rows.count = row_max < rows.count ? (uint32_t)row_max : rows.count;
    if (first->print->view->format != CPTI_FORMAT_JSON) {
        return print_table(first->print, first->latencies, &rows);
    }
    put_diff(first->print, first->latencies, &rows,
             first->print->view->bytes_max != 0 && row_max != CPTI_CAPPED_ALL);
    return CPTI_EXIT_DONE;
}

int cpti_diff_print(const struct cpti_diff_print *print)
{
    struct cpti_diff_rows rows;
    struct first_rows first = {.print = print, .rows = &rows};
    struct cpti_capped capped = {
        .bytes_max = print->view->bytes_max, .print = print_first, .context = &first};
    int status;

    if (cpti_diff_rows_init(&rows, print->diff, print->filter, print->view, print) !=
        CPT_OK) {
        status = cpti_failed("out of memory");
    } else {
        capped.row_count = rows.count;
        status = find_latencies(print, first.latencies);
    }
    status = CPTI_THEN(status, cpti_capped_print(&capped));
    cpti_diff_rows_deinit(&rows);
    return status;
}
