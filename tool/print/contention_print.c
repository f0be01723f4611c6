/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* contention_print.c - tables and JSON of cpt contention; see contention_print.h */
#include "tool/print/contention_print.h"

#include "tool/base/amounts.h"
#include "tool/table/mean_column.h"
#include "tool/table/capped.h"
#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/print/tree_print.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PRINTED_MAX = 40 /* rows of a table */ };

/* The context of rows of waits. */
struct waits {
    const struct contention *all;
    bool are_pairs; /* they have a victim */
};

/* --- Order --- */

static int by_time(const void *left, const void *right)
{
    const struct cpti_tally_row *a = left;
    const struct cpti_tally_row *b = right;

    if (a->sums.time != b->sums.time) {
        return a->sums.time > b->sums.time ? -1 : 1;
    }
    if (a->names[CULPRIT] != b->names[CULPRIT]) {
        return a->names[CULPRIT] < b->names[CULPRIT] ? -1 : 1;
    }
    if (a->names[VICTIM] != b->names[VICTIM]) {
        return a->names[VICTIM] < b->names[VICTIM] ? -1 : 1;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return (a->names[RESOURCE] > b->names[RESOURCE]) -
           (a->names[RESOURCE] < b->names[RESOURCE]);
}

/* Those with a culprit first: what cannot be accused is below. */
static int by_culprit(const void *left, const void *right)
{
    const bool left_known =
        ((const struct cpti_tally_row *)left)->names[CULPRIT] != EMPTY;
    const bool right_known =
        ((const struct cpti_tally_row *)right)->names[CULPRIT] != EMPTY;

    return left_known != right_known ? (left_known ? -1 : 1) : by_time(left, right);
}

void cpti_contention_sort(struct contention *all, const struct cpti_view *view)
{
    const struct waits pairs = {all, CPTI_IN_TABLES};

    cpti_overlaps_sort(&all->overlaps);
    qsort(all->pairs.rows, all->pairs.count, sizeof(struct cpti_tally_row), by_time);
    qsort(all->culprits.rows, all->culprits.count, sizeof(struct cpti_tally_row),
          by_culprit);
    if (all->by != NULL) {
        qsort(all->groups.rows, all->groups.count, sizeof(struct cpti_tally_row),
              by_time);
    }
    cpti_relation_sort(view, all->pairs.rows, all->pairs.count,
                       sizeof(struct cpti_tally_row), &pairs);
}

/* --- Columns --- */

/* In the average request. */
static double mean_of(const struct contention *all, double time)
{
    return all->weights.sums[0] > 0 ? time / all->weights.sums[0] : 0;
}

static double share_of(const struct contention *all, double time)
{
    return all->time > 0 ? time / all->time : 0;
}

static const char *kind_word(unsigned kind)
{
    return kind == RUN_DELAY ? "run_delay" : cpt_kind_word(kind);
}

static const char *kind_words(unsigned kind)
{
    return kind == RUN_DELAY ? "run delay" : cpt_kind_words(kind);
}

/* What a column has; parts of the mean come before. */
enum { SHARE = CPTI_MEAN_PARTS, WAIT, KIND, QUEUE_LENGTH, VALUE, WHY, WHOSE };
enum { OF_VICTIM = WHOSE + 1, OF_RESOURCE, OF_CULPRIT, TRACE, TRACE_END, OTHER_END };

static struct cpti_cell name_of(const struct contention *all, cpt_name_id id)
{
    return id != EMPTY ? cpti_cell_bytes(cpt_names_at(all->names, id))
                       : cpti_cell_unknown();
}

/* The kind of a wait and the name of what was waited for. */
static struct cpti_cell wait_of(const struct cpti_asked *asked,
                                const struct contention *all, unsigned kind,
                                cpt_name_id resource)
{
    const struct cpt_bytes name = cpt_names_at(all->names, resource);

    return cpti_cell_format(asked, "%s%s%.*s", kind_words(kind),
                            resource == EMPTY ? "" : " ", (int)name.bytes, name.data);
}

/* What all rows of waits have: the share, and the mean. */
static struct cpti_cell time_of(const struct cpti_asked *asked,
                                const struct contention *all)
{
    const struct cpti_tally_row *row = asked->row;
    const struct cpt_mean mean = cpti_sums_mean(&row->sums, &all->weights);

    return asked->what == SHARE ? cpti_cell_number(share_of(all, row->sums.time))
                                : cpti_mean_cell(&mean, asked->what, asked);
}

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct waits *waits = asked->context;
    const struct contention *all = waits->all;
    const struct cpti_tally_row *row = asked->row;

    switch (asked->what) {
    case OF_CULPRIT:
        return name_of(all, row->names[CULPRIT]);
    case OF_RESOURCE:
        return name_of(all, row->names[RESOURCE]);
    case OF_VICTIM:
        return waits->are_pairs ? name_of(all, row->names[VICTIM]) : cpti_cell_none();
    case KIND:
        return cpti_cell_text(kind_word(row->kind));
    case WAIT:
        return wait_of(asked, all, row->kind, row->names[RESOURCE]);
    case QUEUE_LENGTH:
        return row->kind == CPT_KIND_QUEUE
                   ? cpti_cell_number(row->more[QUEUED] / row->more[WAITS])
                   : cpti_cell_none();
    default:
        return time_of(asked, all);
    }
}

#define OF(field) CPTI_OF(struct cpti_tally_row, field)

static const struct cpti_column columns[] = {
    {"culprit", "culprit", CPTI_NAME, get, OF_CULPRIT, "who was in the way"},
    {"kind", "kind", CPTI_TEXT, get, KIND, "of the wait"},
    {"resource", "name", CPTI_NAME, get, OF_RESOURCE, "the lock or executor"},
    {"wait", "resource", CPTI_NAME, get, WAIT, "both of them, in tables",
     CPTI_IN_TABLES},
    {"victim", "victim", CPTI_NAME, get, OF_VICTIM, "the task that waited"},
    {"share", "share", CPTI_SHARE, get, SHARE, "of the latency"},
    {"mean_ns", "mean ms", CPTI_NS, get, CPTI_MEAN, "in the average request"},
    {"low_ns", "from", CPTI_NS, get, CPTI_MEAN_LOW, "the 95 % interval of that"},
    {"high_ns", "to", CPTI_NS, get, CPTI_MEAN_HIGH},
    {"interval", "95 % interval", CPTI_TEXT, get, CPTI_MEAN_INTERVAL,
     "both ends of it, in tables", CPTI_IN_TABLES},
    {"queue_length", "queue", CPTI_NUMBER, get, QUEUE_LENGTH,
     "works before it, if it waited in a queue"},
    {"waits", "waits", CPTI_COUNT, OF(wait_count), "how many"},
    {"requests", "requests", CPTI_COUNT, OF(request_count), "that have them"},
    {0},
};

const struct cpti_relation cpti_contention_pairs = {
    "pairs", columns, "share,mean_ns,interval,requests,wait,culprit,victim"};
static const struct cpti_relation culprits_relation = {
    "culprits", columns, "share,mean_ns,interval,requests,wait,culprit"};

/* Of whom a group is, in JSON and in words; NULL: it has a value. */
static const char *group_why(unsigned kind, bool is_json)
{
    switch (kind) {
    case OF_VALUE:
        return NULL;
    case OF_NO_VALUE:
        return is_json ? "no_value" : "(has none)";
    case OF_UNKNOWN:
        return is_json ? "not_in_logs" : "(not in these logs)";
    case OF_OWN:
        return is_json ? "own_or_untraced" : "(the request itself, or not traced)";
    case OF_NOBODY:
        return is_json ? "no_culprit" : "(no culprit is known)";
    default:
        return is_json ? "other" : "(other)";
    }
}

static struct cpti_cell get_of_group(const struct cpti_asked *asked)
{
    const struct contention *all = asked->context;
    const struct cpti_tally_row *row = asked->row;

    if (asked->what < VALUE) {
        return time_of(asked, all);
    }
    if (row->kind != OF_VALUE && asked->what != VALUE) {
        return cpti_cell_text(group_why(row->kind, asked->what == WHY));
    }
    if (row->kind == OF_VALUE && asked->what != WHY) {
        return cpti_cell_bytes(cpt_names_at(all->names, row->names[CULPRIT]));
    }
    return asked->what == WHY ? cpti_cell_none() : cpti_cell_unknown();
}

static const struct cpti_column group_columns[] = {
    {"value", "value", CPTI_NAME, get_of_group, VALUE},
    {"why", "why", CPTI_TEXT, get_of_group, WHY},
    {"group", "group", CPTI_NAME, get_of_group, WHOSE, .place = CPTI_IN_TABLES},
    {"share", "share", CPTI_SHARE, get_of_group, SHARE},
    {"mean_ns", "mean ms", CPTI_NS, get_of_group, CPTI_MEAN},
    {"low_ns", "from", CPTI_NS, get_of_group, CPTI_MEAN_LOW},
    {"high_ns", "to", CPTI_NS, get_of_group, CPTI_MEAN_HIGH},
    {"interval", "95 % interval", CPTI_TEXT, get_of_group, CPTI_MEAN_INTERVAL,
     .place = CPTI_IN_TABLES},
    {"waits", "waits", CPTI_COUNT, OF(wait_count)},
    {"requests", "requests", CPTI_COUNT, OF(request_count)},
    {0},
};

static const struct cpti_relation group_relation = {
    "groups", group_columns, "share,mean_ns,interval,requests,group"};

static struct cpti_cell get_of_overlap(const struct cpti_asked *asked)
{
    const struct contention *all = asked->context;
    const struct cpti_overlap *row = asked->row;

    switch (asked->what) {
    case TRACE:
        return cpti_cell_text(cpti_overlap_victim(row, asked->room));
    case TRACE_END:
        return cpti_cell_text(cpti_overlap_victim_end(row, asked->room));
    case OTHER_END:
        return cpti_cell_text(cpti_overlap_culprit(row, asked->room));
    case KIND:
        return cpti_cell_text(kind_word(row->kind));
    case WAIT:
        return wait_of(asked, all, row->kind, row->resource);
    default:
        return name_of(all, asked->what == OF_VICTIM    ? row->victim
                            : asked->what == OF_CULPRIT ? row->culprit
                                                        : row->resource);
    }
}

static const struct cpti_column overlap_columns[] = {
    {"trace_id", "trace", CPTI_TEXT, get_of_overlap, TRACE},
    {"trace_end", "trace ends in", CPTI_TEXT, get_of_overlap, TRACE_END,
     .place = CPTI_IN_TABLES},
    {"victim", "victim", CPTI_NAME, get_of_overlap, OF_VICTIM},
    {"kind", "kind", CPTI_TEXT, get_of_overlap, KIND},
    {"resource", "name", CPTI_NAME, get_of_overlap, OF_RESOURCE},
    {"wait", "resource", CPTI_NAME, get_of_overlap, WAIT, .place = CPTI_IN_TABLES},
    {"culprit_trace_end", "waited for one in", CPTI_TEXT, get_of_overlap, OTHER_END},
    {"culprit", "culprit", CPTI_NAME, get_of_overlap, OF_CULPRIT},
    {"duration_ns", "ms", CPTI_NS_WHOLE, CPTI_OF(struct cpti_overlap, ns)},
    {0},
};

static const struct cpti_relation overlap_relation = {
    "overlaps", overlap_columns,
    "duration_ns,trace_end,culprit_trace_end,wait,culprit"};

/* --- JSON --- */

/* The rows of a table beside the pairs. */
static void put_beside(struct cpti_json *json, const struct cpti_view *view,
                       const struct cpti_relation *relation, struct cpti_rows rows,
                       size_t row_max)
{
    const struct cpti_view beside = cpti_view_beside(view, relation, NULL);

    cpti_relation_json(&beside, &rows, row_max, json);
}

/* What the rows behind the first @row_max of @rows have in the average request. */
static double rest_of(const struct contention *all, const struct cpti_tally *rows,
                      size_t row_max)
{
    return mean_of(all, cpti_tally_time(rows, row_max));
}

static void put_rest(struct cpti_json *json, const char *key,
                     const struct contention *all, const struct cpti_tally *rows,
                     size_t row_max)
{
    cpti_json_open(json, key, '{');
    cpti_json_unsigned(json, "rows", rows->count > row_max ? rows->count - row_max : 0);
    cpti_json_ns(json, "mean_ns", rest_of(all, rows, row_max));
    cpti_json_close(json);
}

void cpti_contention_put(const struct contention *all, const struct cpt_tree *tree,
                         const struct cpti_view *view, size_t row_max)
{
    const struct cpti_overlaps *overlaps = &all->overlaps;
    const struct waits pairs = {all, CPTI_IN_TABLES};
    const struct waits culprits = {all, false};
    const struct cpti_rows rows = CPTI_ROWS(all->pairs.rows, all->pairs.count, &pairs);
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_tree_json(&json, tree);
    cpti_json_rough(&json, "waiting_share",
                    share_of(all, cpti_tally_time(&all->pairs, 0)));
    cpti_json_ns(&json, "off_cpu_ns", mean_of(all, all->off_cpu));
    cpti_json_ns(&json, "run_delay_not_measured_ns", mean_of(all, all->unknown));
    if (all->by != NULL) {
        cpti_json_text(&json, "by", all->by);
        put_beside(&json, view, &group_relation,
                   CPTI_ROWS(all->groups.rows, all->groups.count, all), row_max);
    }
    put_beside(&json, view, &culprits_relation,
               CPTI_ROWS(all->culprits.rows, all->culprits.count, &culprits), row_max);
    cpti_relation_json(view, &rows, row_max, &json);
    if (all->has_overlaps) {
        put_beside(&json, view, &overlap_relation,
                   CPTI_ROWS(overlaps->all, overlaps->count, all), row_max);
        cpti_json_unsigned(&json, "more_overlaps",
                           overlaps->lost_count + (overlaps->count > row_max
                                                       ? overlaps->count - row_max
                                                       : 0));
    }
    if (row_max != CPTI_CAPPED_ALL) {
        cpti_json_open(&json, "rest", '{');
        if (all->by != NULL) {
            put_rest(&json, "groups", all, &all->groups, row_max);
        }
        put_rest(&json, "culprits", all, &all->culprits, row_max);
        put_rest(&json, "pairs", all, &all->pairs, row_max);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
}

/* --- Tables --- */

/* The first @row_max rows of waits, and what the others of @all_rows have. */
static int print_waits(const struct contention *all, const struct cpti_view *view,
                       const struct cpti_tally *tally, const void *context,
                       size_t row_max)
{
    const struct cpti_rows rows = CPTI_ROWS(tally->rows, tally->count, context);
    const bool is_for_people = cpti_view_is_for_people(view);
    int status = CPTI_EXIT_DONE;
    char text[32];

    (void)printf("%s", is_for_people ? "\n" : "");
    status = cpti_relation_print(view, &rows, row_max);
    if (tally->count > row_max && is_for_people) {
        (void)printf("%zu more row%s: %s ms\n", tally->count - row_max,
                     tally->count - row_max == 1 ? "" : "s",
                     cpti_ms(rest_of(all, tally, row_max), text));
    }
    return status;
}

static int print_groups(const struct contention *all, const struct cpti_view *pairs,
                        size_t row_max)
{
    struct cpti_view view = cpti_view_beside(pairs, &group_relation, NULL);
    struct cpti_column named = group_columns[2];
    char heading[CPTI_TEXT_BYTES + 32];

    (void)snprintf(heading, sizeof heading, "%s of the culprit's request",
                   cpti_quoted(all->by));
    named.heading = heading;
    cpti_view_replace(&view, &named);
    return print_waits(all, &view, &all->groups, all, row_max);
}

/* Which request waited for which. */
static int print_overlaps(const struct contention *all, const struct cpti_view *pairs,
                          size_t row_max)
{
    const struct cpti_view view = cpti_view_beside(pairs, &overlap_relation, NULL);
    const struct cpti_overlaps *overlaps = &all->overlaps;
    const struct cpti_rows rows = CPTI_ROWS(overlaps->all, overlaps->count, all);
    uint64_t rest = overlaps->lost_count;
    int status = CPTI_EXIT_DONE;

    (void)printf("\n");
    status = cpti_relation_print(&view, &rows, row_max);
    rest += overlaps->count > row_max ? overlaps->count - row_max : 0;
    if (rest != 0) {
        (void)printf("%" PRIu64 " more waits of one request for another\n", rest);
    }
    return status;
}

/* How much of the time off the CPU was run delay. */
static void print_off_cpu(const struct contention *all)
{
    char text[32];

    if (all->off_cpu > 0 && all->unknown >= all->off_cpu) {
        (void)printf("off CPU: %s ms; how much of it was run delay is not measured\n",
                     cpti_ms(mean_of(all, all->off_cpu), text));
    } else if (all->unknown > 0) {
        (void)printf("off CPU: %s ms; in %.1f%% of it run delay is not measured\n",
                     cpti_ms(mean_of(all, all->off_cpu), text),
                     100 * all->unknown / all->off_cpu);
    }
}

/* What stands above the pairs. */
static int print_head(const struct contention *all, const struct cpt_tree *tree,
                      const struct cpti_view *view, size_t most)
{
    const struct cpti_view culprits = cpti_view_beside(view, &culprits_relation, NULL);
    const struct waits context = {all, false};
    int status = CPTI_EXIT_DONE;

    cpti_tree_print(tree, NULL);
    (void)printf("waiting for locks, workers and processors: %.1f%% of the latency\n",
                 100 * share_of(all, cpti_tally_time(&all->pairs, 0)));
    print_off_cpu(all);
    if (all->by != NULL && all->pairs.count != 0) {
        status = print_groups(all, view, most);
    }
    return status == CPTI_EXIT_DONE && all->pairs.count != 0
               ? print_waits(all, &culprits, &all->culprits, &context, most)
               : status;
}

int cpti_contention_print(const struct contention *all, const struct cpt_tree *tree,
                          const struct cpti_view *view, size_t row_max)
{
    const size_t most = cpti_view_rows(view, row_max, PRINTED_MAX);
    const bool is_for_people = cpti_view_is_for_people(view);
    const struct waits pairs = {all, CPTI_IN_TABLES};
    int status = is_for_people ? print_head(all, tree, view, most) : CPTI_EXIT_DONE;

    if (status == CPTI_EXIT_DONE && (all->pairs.count != 0 || !is_for_people)) {
        status = print_waits(all, view, &all->pairs, &pairs, most);
    }
    if (status == CPTI_EXIT_DONE && all->pairs.count != 0 && all->has_overlaps &&
        is_for_people) {
        status = print_overlaps(all, view, most);
    }
    return status;
}
