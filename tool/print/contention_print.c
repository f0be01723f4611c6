/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* contention_print.c - tables and JSON of cpt contention; see contention_print.h */
#include "tool/print/contention_print.h"

#include "tool/base/amounts.h"
#include "tool/table/capped.h"
#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "tool/table/table.h"
#include "tool/print/tree_print.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PRINTED_MAX = 40 /* rows of a table */ };

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

void cpti_contention_sort(struct contention *all)
{
    cpti_overlaps_sort(&all->overlaps);
    qsort(all->pairs.rows, all->pairs.count, sizeof(struct cpti_tally_row), by_time);
    qsort(all->culprits.rows, all->culprits.count, sizeof(struct cpti_tally_row),
          by_culprit);
    if (all->by != NULL) {
        qsort(all->groups.rows, all->groups.count, sizeof(struct cpti_tally_row),
              by_time);
    }
}

/* --- Printing --- */

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

static void put_name(struct cpti_json *json, const char *key,
                     const struct contention *all, cpt_name_id id)
{
    if (id == EMPTY) {
        cpti_json_null(json, key);
    } else {
        cpti_json_bytes(json, key, cpt_names_at(all->names, id));
    }
}

static void put_rows(struct cpti_json *json, const char *key,
                     const struct contention *all, const struct cpti_tally *rows,
                     size_t row_max)
{
    cpti_json_open(json, key, '[');
    for (size_t i = 0; i < rows->count && i < row_max; i++) {
        const struct cpti_tally_row *row = &rows->rows[i];
        const struct cpt_mean mean = cpti_sums_mean(&row->sums, &all->weights);

        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        put_name(json, "culprit", all, row->names[CULPRIT]);
        cpti_json_text(json, "kind", kind_word(row->kind));
        put_name(json, "resource", all, row->names[RESOURCE]);
        if (rows == &all->pairs) {
            put_name(json, "victim", all, row->names[VICTIM]);
        }
        cpti_json_rough(json, "share", share_of(all, row->sums.time));
        cpti_json_ns(json, "mean_ns", mean.mean_ns);
        cpti_interval_json(json, "low_ns", "high_ns", &mean);
        if (row->kind == CPT_KIND_QUEUE) {
            cpti_json_rough(json, "queue_length", row->more[QUEUED] / row->more[WAITS]);
        }
        cpti_json_unsigned(json, "waits", row->wait_count);
        cpti_json_unsigned(json, "requests", row->request_count);
        cpti_json_close(json);
    }
    cpti_json_row(json);
    cpti_json_close(json);
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

static void put_groups(struct cpti_json *json, const struct contention *all,
                       size_t row_max)
{
    const struct cpti_tally *rows = &all->groups;

    cpti_json_text(json, "by", all->by);
    cpti_json_open(json, "groups", '[');
    for (size_t i = 0; i < rows->count && i < row_max; i++) {
        const struct cpti_tally_row *row = &rows->rows[i];
        const struct cpt_mean mean = cpti_sums_mean(&row->sums, &all->weights);

        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        if (row->kind == OF_VALUE) {
            cpti_json_bytes(json, "value",
                            cpt_names_at(all->names, row->names[CULPRIT]));
        } else {
            cpti_json_null(json, "value");
            cpti_json_text(json, "why", group_why(row->kind, true));
        }
        cpti_json_rough(json, "share", share_of(all, row->sums.time));
        cpti_json_ns(json, "mean_ns", mean.mean_ns);
        cpti_interval_json(json, "low_ns", "high_ns", &mean);
        cpti_json_unsigned(json, "waits", row->wait_count);
        cpti_json_unsigned(json, "requests", row->request_count);
        cpti_json_close(json);
    }
    cpti_json_row(json);
    cpti_json_close(json);
}

static void put_overlaps(struct cpti_json *json, const struct contention *all,
                         size_t row_max)
{
    const struct cpti_overlaps *overlaps = &all->overlaps;
    char text[CPTI_TRACE_TEXT_BYTES];

    cpti_json_open(json, "overlaps", '[');
    for (size_t i = 0; i < overlaps->count && i < row_max; i++) {
        const struct cpti_overlap *overlap = &overlaps->all[i];

        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        cpti_json_text(json, "trace_id", cpti_overlap_victim(overlap, text));
        put_name(json, "victim", all, overlap->victim);
        cpti_json_text(json, "kind", kind_word(overlap->kind));
        put_name(json, "resource", all, overlap->resource);
        cpti_json_text(json, "culprit_trace_end", cpti_overlap_culprit(overlap, text));
        put_name(json, "culprit", all, overlap->culprit);
        cpti_json_unsigned(json, "duration_ns", overlap->ns);
        cpti_json_close(json);
    }
    cpti_json_row(json);
    cpti_json_close(json);
    cpti_json_unsigned(json, "more_overlaps",
                       overlaps->lost_count +
                           (overlaps->count > row_max ? overlaps->count - row_max : 0));
}

void cpti_contention_put(const struct contention *all, const struct cpt_tree *tree,
                         size_t row_max)
{
    const struct cpt_stats stats = cpt_stats_of(tree, CPT_TREE_ROOT);
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_tree_json_stats(&json, tree, &stats, false);
    cpti_json_rough(&json, "waiting_share",
                    share_of(all, cpti_tally_time(&all->pairs, 0)));
    cpti_json_ns(&json, "off_cpu_ns", mean_of(all, all->off_cpu));
    cpti_json_ns(&json, "run_delay_not_measured_ns", mean_of(all, all->unknown));
    if (all->by != NULL) {
        put_groups(&json, all, row_max);
    }
    put_rows(&json, "culprits", all, &all->culprits, row_max);
    put_rows(&json, "pairs", all, &all->pairs, row_max);
    if (all->has_overlaps) {
        put_overlaps(&json, all, row_max);
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

static const char *name_or(const struct contention *all, cpt_name_id id,
                           const char *otherwise)
{
    return id == EMPTY ? otherwise : cpti_quoted_bytes(cpt_names_at(all->names, id));
}

static void print_resource(struct cpti_table *table, const struct contention *all,
                           unsigned kind, cpt_name_id resource)
{
    cpti_table_cell(table, "%s%s%s", kind_words(kind), resource == EMPTY ? "" : " ",
                    name_or(all, resource, ""));
}

static void print_row(struct cpti_table *table, const struct contention *all,
                      const struct cpti_tally_row *row, bool has_victim)
{
    const struct cpt_mean mean = cpti_sums_mean(&row->sums, &all->weights);
    char text[32];

    cpti_table_cell(table, "%.1f%%", 100 * share_of(all, row->sums.time));
    cpti_table_cell(table, "%s", cpti_ms(mean.mean_ns, text));
    cpti_sums_put_interval(table, &mean);
    cpti_table_cell(table, "%" PRIu64, row->request_count);
    print_resource(table, all, row->kind, row->names[RESOURCE]);
    cpti_table_cell(table, "%s", name_or(all, row->names[CULPRIT], "-"));
    if (has_victim) {
        cpti_table_cell(table, "%s", name_or(all, row->names[VICTIM], "-"));
    }
}

/* Prints @table of the first @row_max @rows, and what is not in it. */
static int print_end(const struct contention *all, const struct cpti_tally *rows,
                     size_t row_max, struct cpti_table *table)
{
    const int status = cpti_table_print(table);
    char text[32];

    if (rows->count > row_max) {
        (void)printf("%zu more row%s: %s ms\n", rows->count - row_max,
                     rows->count - row_max == 1 ? "" : "s",
                     cpti_ms(rest_of(all, rows, row_max), text));
    }
    return status;
}

static int print_groups(const struct contention *all, size_t row_max)
{
    const struct cpti_tally *rows = &all->groups;
    char key[CPTI_TEXT_BYTES + 32];
    const char *const headings[] = {"share", "mean ms", "95 % interval", "requests",
                                    key};
    struct cpti_table table = cpti_table_of(headings, 5);

    (void)snprintf(key, sizeof key, "%s of the culprit's request",
                   cpti_quoted(all->by));
    for (size_t i = 0; i < rows->count && i < row_max; i++) {
        const struct cpti_tally_row *row = &rows->rows[i];
        const struct cpt_mean mean = cpti_sums_mean(&row->sums, &all->weights);
        const char *why = group_why(row->kind, false);
        char text[32];

        cpti_table_cell(&table, "%.1f%%", 100 * share_of(all, row->sums.time));
        cpti_table_cell(&table, "%s", cpti_ms(mean.mean_ns, text));
        cpti_sums_put_interval(&table, &mean);
        cpti_table_cell(&table, "%" PRIu64, row->request_count);
        cpti_table_cell(&table, "%s",
                        why != NULL ? why
                                    : cpti_quoted_bytes(cpt_names_at(
                                          all->names, row->names[CULPRIT])));
    }
    (void)printf("\n");
    return print_end(all, rows, row_max, &table);
}

static int print_rows(const struct contention *all, const struct cpti_tally *rows,
                      size_t row_max)
{
    const bool has_victim = rows == &all->pairs;
    const char *const headings[] = {"share",    "mean ms", "95 % interval", "requests",
                                    "resource", "culprit", "victim"};
    struct cpti_table table = cpti_table_of(headings, has_victim ? 7 : 6);

    for (size_t i = 0; i < rows->count && i < row_max; i++) {
        print_row(&table, all, &rows->rows[i], has_victim);
    }
    (void)printf("\n");
    return print_end(all, rows, row_max, &table);
}

/* Which request waited for which. */
static int print_overlaps(const struct contention *all, size_t row_max)
{
    static const char *const headings[] = {"ms", "trace ends in", "waited for one in",
                                           "resource", "culprit"};
    const struct cpti_overlaps *overlaps = &all->overlaps;
    struct cpti_table table = cpti_table_of(headings, 5);
    uint64_t rest = overlaps->lost_count;
    char text[CPTI_TRACE_TEXT_BYTES];
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < overlaps->count && i < row_max; i++) {
        const struct cpti_overlap *overlap = &overlaps->all[i];
        char ms[32];

        cpti_table_cell(&table, "%s", cpti_ms((double)overlap->ns, ms));
        cpti_table_cell(&table, "%s", cpti_overlap_victim_end(overlap, text));
        cpti_table_cell(&table, "%s", cpti_overlap_culprit(overlap, text));
        print_resource(&table, all, overlap->kind, overlap->resource);
        cpti_table_cell(&table, "%s", name_or(all, overlap->culprit, "-"));
    }
    (void)printf("\n");
    status = cpti_table_print(&table);
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

int cpti_contention_print(const struct contention *all, const struct cpt_tree *tree,
                          size_t row_max)
{
    const struct cpt_stats stats = cpt_stats_of(tree, CPT_TREE_ROOT);
    const size_t most = row_max < PRINTED_MAX ? row_max : PRINTED_MAX;
    int status = CPTI_EXIT_DONE;

    cpti_tree_print_stats(tree, NULL, &stats, false);
    (void)printf("waiting for locks, workers and processors: %.1f%% of the latency\n",
                 100 * share_of(all, cpti_tally_time(&all->pairs, 0)));
    print_off_cpu(all);
    if (all->pairs.count == 0) {
        return CPTI_EXIT_DONE;
    }
    status = all->by != NULL ? print_groups(all, most) : CPTI_EXIT_DONE;
    if (status == CPTI_EXIT_DONE) {
        status = print_rows(all, &all->culprits, most);
    }
    if (status == CPTI_EXIT_DONE) {
        status = print_rows(all, &all->pairs, most);
    }
    return status == CPTI_EXIT_DONE && all->has_overlaps ? print_overlaps(all, most)
                                                         : status;
}
