/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_contention.c - cpt contention: who was in the way of whom
 *
 * A task that waits for a lock or a worker is the *victim*; the task that had it just
 * then is the *culprit*, which delays the request but is never on its path. The runtime
 * notes it when the wait begins, as the label `holder` of the wait's segment. Time
 * off the CPU is run delay, with the task that had the processor, as far as the kernel
 * keeps it; the rest of it, and waits for the process to begin (accept queue), have no
 * culprit.
 *
 *      A: A1 |--work--|..... lock "cache", holder A: A2 .....|--work--|
 *               victim A: A1, resource lock cache, culprit A: A2
 *
 * All times count with the weight of their request, as averages do.
 */
#include "cpt/cli/base/capped.h"
#include "cpt/cli/base/command.h"
#include "cpt/cli/base/json_write.h"
#include "cpt/cli/base/options.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/base/table.h"
#include "cpt/cli/contention/overlaps.h"
#include "cpt/cli/contention/tally.h"
#include "cpt/cli/gather/gather.h"
#include "cpt/cli/gather/log_walk.h"
#include "cpt/cli/print/tree_print.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PRINTED_MAX = 40 /* rows of a table */ };

/* Numbers of names; EMPTY is that of the empty one. */
enum { EMPTY = 0 };

/* In the place of a kind: the part of off CPU in which the task could have run. */
enum { RUN_DELAY = CPT_KIND_MAX + 1 };

/* Names of a row: the victim, the name of the lock or executor, and the culprit (EMPTY:
 * not known). More: sums of weight * waits, and of weight * works before it in the
 * queue. */
enum { VICTIM, RESOURCE, CULPRIT };
enum { WAITS, QUEUED };

struct contention {
    struct cpt_names *names;
    struct cpti_tally pairs;       /* by all of victim, resource and culprit */
    struct cpti_tally culprits;    /* by culprit and resource */
    struct cpti_overlaps overlaps; /* of two requests, if has_overlaps */
    bool has_overlaps;
    double time; /* sum of weight * latency */
    struct cpti_weights weights;
    double off_cpu; /* sum of weight * ns off the CPU … */
    double unknown; /* … of which run delay is not measured */
    uint64_t request_count;
};

/* What the labels of a segment say. */
struct labels {
    struct cpt_bytes executor;
    struct cpt_bytes holder;
    uint64_t holder_request;
    uint64_t queue_length;
    uint64_t run_delay_ns;
    bool has_run_delay;
};

/* --- Gathering --- */

/* A wait of @ns in a segment. */
struct waited {
    const struct cpt_segment *segment;
    const struct labels *labels;
    double weight;
    uint64_t ns;
};

static cpt_status add_to(struct contention *all, struct cpti_tally *rows,
                         const struct cpti_tally_row *key, const struct waited *waited)
{
    struct cpti_tally_row *row = cpti_tally_find(rows, key);
    const uint32_t count = waited->segment->count;

    if (row == NULL) {
        return CPT_NO_MEMORY;
    }
    cpti_sums_add(&row->sums, all->request_count, waited->weight, (double)waited->ns);
    row->more[WAITS] += waited->weight * count;
    row->more[QUEUED] += waited->weight * (double)waited->labels->queue_length * count;
    row->wait_count += count;
    row->request_count += row->last_request != all->request_count;
    row->last_request = all->request_count;
    return CPT_OK;
}

static bool is_wait(unsigned kind)
{
    return kind == CPT_KIND_LOCK || kind == CPT_KIND_QUEUE ||
           kind == CPT_KIND_ACCEPT_QUEUE;
}

static void read_label(const struct cpt_path *path, const struct cpt_label *label,
                       struct labels *labels)
{
    if (label->key == CPT_LABEL_HOLDER && label->is_name) {
        labels->holder = cpt_path_name(path, (cpt_name_id)label->value);
    } else if (label->key == CPT_LABEL_EXECUTOR && label->is_name) {
        labels->executor = cpt_path_name(path, (cpt_name_id)label->value);
    } else if (label->is_name) {
        return;
    } else if (label->key == CPT_LABEL_HOLDER_REQUEST) {
        labels->holder_request = label->value;
    } else if (label->key == CPT_LABEL_QUEUE_LENGTH) {
        labels->queue_length = label->value;
    } else if (label->key == CPT_LABEL_RUN_DELAY) {
        labels->run_delay_ns = label->value;
        labels->has_run_delay = true;
    }
}

/* The labels of segment @index; *@next is the first label not read yet. */
static struct labels read_labels(const struct cpt_path *path, size_t index,
                                 size_t *next)
{
    struct labels labels = {.holder_request = 0};

    for (; *next < cpt_path_label_count(path); (*next)++) {
        const struct cpt_label *label = cpt_path_label(path, *next);

        if (label->segment > index) {
            break;
        }
        if (label->segment == index) {
            read_label(path, label, &labels);
        }
    }
    return labels;
}

/* The nearest frame above @frame that is work with a name: the task that waited. */
static struct cpt_bytes victim_of(const struct cpt_path *path, uint32_t frame)
{
    for (uint32_t at = cpt_path_frame(path, frame)->parent; at != CPT_FRAME_NONE;
         at = cpt_path_frame(path, at)->parent) {
        const struct cpt_bytes name = cpt_path_frame_name(path, at);

        if (cpt_path_frame(path, at)->kind == CPT_KIND_WORK && name.bytes != 0) {
            return name;
        }
    }
    return (struct cpt_bytes){NULL, 0};
}

/* The number of @name; beyond the limit of names it is not known. */
static cpt_status intern(struct contention *all, struct cpt_bytes name, cpt_name_id *id)
{
    const cpt_status status = cpt_names_add(all->names, name, id);

    if (status != CPT_LIMIT) {
        return status;
    }
    *id = EMPTY;
    return CPT_OK;
}

/* A wait for @kind, which is that of the frame of the segment but for RUN_DELAY. */
static cpt_status add_wait(struct contention *all, const struct cpt_record *record,
                           const struct cpt_path *path, unsigned kind,
                           const struct waited *waited)
{
    const struct labels *labels = waited->labels;
    const uint32_t frame = waited->segment->frame;
    struct cpti_tally_row key = {.kind = kind};
    cpt_status status = CPT_OK;

    if (waited->ns == 0) {
        return CPT_OK;
    }
    status = intern(all,
                    kind == CPT_KIND_LOCK ? cpt_path_frame_name(path, frame)
                                          : labels->executor,
                    &key.names[RESOURCE]);
    if (status == CPT_OK && kind != CPT_KIND_OFF_CPU) {
        status = intern(all, labels->holder, &key.names[CULPRIT]);
    }
    if (status == CPT_OK) {
        status = add_to(all, &all->culprits, &key, waited);
    }
    if (status == CPT_OK) {
        status = intern(all, victim_of(path, frame), &key.names[VICTIM]);
    }
    if (status == CPT_OK && all->has_overlaps && key.names[CULPRIT] != EMPTY &&
        labels->holder_request != 0) {
        cpti_overlaps_add(
            &all->overlaps,
            &(struct cpti_overlap){.victim = key.names[VICTIM],
                                   .culprit = key.names[CULPRIT],
                                   .resource = key.names[RESOURCE],
                                   .kind = kind,
                                   .culprit_trace = labels->holder_request,
                                   .ns = waited->ns},
            record);
    }
    return status == CPT_OK ? add_to(all, &all->pairs, &key, waited) : status;
}

/* Time off the CPU is run delay, of which a culprit may be known, and sleep. */
static cpt_status add_off_cpu(struct contention *all, const struct cpt_record *record,
                              const struct cpt_path *path, struct waited waited)
{
    const uint64_t whole_ns = waited.ns;
    const uint64_t delay_ns = waited.labels->run_delay_ns;
    cpt_status status = CPT_OK;

    all->off_cpu += waited.weight * (double)whole_ns;
    if (!waited.labels->has_run_delay) {
        all->unknown += waited.weight * (double)whole_ns;
    }
    waited.ns = delay_ns < whole_ns ? delay_ns : whole_ns;
    status = add_wait(all, record, path, RUN_DELAY, &waited);
    waited.ns = whole_ns - waited.ns;
    return status == CPT_OK ? add_wait(all, record, path, CPT_KIND_OFF_CPU, &waited)
                            : status;
}

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct contention *all = context;
    size_t next_label = 0;

    all->request_count++;
    cpti_weights_add(&all->weights, (double)weight);
    all->time += (double)weight * (double)record->latency_ns;
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const unsigned kind = cpt_path_frame(path, segment->frame)->kind;
        const struct labels labels = read_labels(path, i, &next_label);
        const struct waited waited = {segment, &labels, (double)weight,
                                      segment->duration_ns};
        cpt_status status = CPT_OK;

        if (kind == CPT_KIND_OFF_CPU) {
            status = add_off_cpu(all, record, path, waited);
        } else if (is_wait(kind)) {
            status = add_wait(all, record, path, kind, &waited);
        }
        if (status != CPT_OK) {
            return cpti_status_exit(status);
        }
    }
    return CPTI_EXIT_DONE;
}

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

static void put(const struct contention *all, const struct cpt_tree *tree,
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
    put_rows(&json, "culprits", all, &all->culprits, row_max);
    put_rows(&json, "pairs", all, &all->pairs, row_max);
    if (all->has_overlaps) {
        put_overlaps(&json, all, row_max);
    }
    if (row_max != CPTI_CAPPED_ALL) {
        cpti_json_open(&json, "rest", '{');
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

static int print_rows(const struct contention *all, const struct cpti_tally *rows,
                      size_t row_max)
{
    const bool has_victim = rows == &all->pairs;
    const char *const headings[] = {"share",    "mean ms", "95 % interval", "requests",
                                    "resource", "culprit", "victim"};
    struct cpti_table table = cpti_table_of(headings, has_victim ? 7 : 6);
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < rows->count && i < row_max; i++) {
        print_row(&table, all, &rows->rows[i], has_victim);
    }
    (void)printf("\n");
    status = cpti_table_print(&table);
    if (rows->count > row_max) {
        char text[32];

        (void)printf("%zu more row%s: %s ms\n", rows->count - row_max,
                     rows->count - row_max == 1 ? "" : "s",
                     cpti_ms(rest_of(all, rows, row_max), text));
    }
    return status;
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

static int print(const struct contention *all, const struct cpt_tree *tree,
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
    status = print_rows(all, &all->culprits, most);
    if (status == CPTI_EXIT_DONE) {
        status = print_rows(all, &all->pairs, most);
    }
    return status == CPTI_EXIT_DONE && all->has_overlaps ? print_overlaps(all, most)
                                                         : status;
}

/* --- The command --- */

static bool init(struct contention *all)
{
    cpt_name_id empty = EMPTY;
    bool is_made = cpti_tally_init(&all->pairs);

    is_made = cpti_tally_init(&all->culprits) && is_made;
    all->names = cpt_names_new(NULL);
    return is_made && all->names != NULL &&
           cpt_names_add(all->names, (struct cpt_bytes){"", 0}, &empty) == CPT_OK;
}

static void deinit(struct contention *all)
{
    cpti_tally_deinit(&all->pairs);
    cpti_tally_deinit(&all->culprits);
    cpti_overlaps_free(&all->overlaps);
    cpt_names_free(all->names);
}

/* What is shown; the context of struct cpti_capped. */
struct shown {
    const struct contention *all;
    const struct cpt_tree *tree;
    bool is_json;
    bool is_capped; /* the rest is told */
};

static int show_rows(void *context, size_t row_max)
{
    const struct shown *shown = context;

    if (!shown->is_json) {
        return print(shown->all, shown->tree, row_max);
    }
    put(shown->all, shown->tree, shown->is_capped ? row_max : CPTI_CAPPED_ALL);
    return CPTI_EXIT_DONE;
}

static int show(struct contention *all, const struct cpt_tree *tree,
                const struct cpti_arguments *arguments)
{
    struct shown shown = {all, tree, cpti_has(arguments, "json"), false};
    struct cpti_capped capped = {.print = show_rows,
                                 .context = &shown,
                                 .row_count = all->pairs.count > all->overlaps.count
                                                  ? all->pairs.count
                                                  : all->overlaps.count};
    const int status = cpti_capped_option(arguments, &capped.bytes_max);

    shown.is_capped = capped.bytes_max != 0;
    if (all->pairs.count == CPTI_TALLY_ROWS_MAX) {
        cpti_warn("waits that are not told apart, as there are too many victims, "
                  "resources and culprits: %" PRIu64,
                  all->pairs.rows[CPTI_TALLY_ROWS_MAX - 1].wait_count);
    }
    cpti_overlaps_sort(&all->overlaps);
    qsort(all->pairs.rows, all->pairs.count, sizeof(struct cpti_tally_row), by_time);
    qsort(all->culprits.rows, all->culprits.count, sizeof(struct cpti_tally_row),
          by_culprit);
    return status == CPTI_EXIT_DONE ? cpti_capped_print(&capped) : status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct contention all = {0};
    struct cpti_gather gather = {.request = add_request, .context = &all};
    bool is_usable = false;
    int status = CPTI_EXIT_DONE;

    all.has_overlaps = cpti_has(arguments, "requests");
    if (!init(&all)) {
        deinit(&all);
        return cpti_failed("out of memory");
    }
    status = cpti_gather_arguments(&gather, arguments, &is_usable);
    if (is_usable && gather.met_tree) {
        status = cpti_failed("a tree does not say who held what: give the logs");
    } else if (is_usable) {
        status = cpti_exit_last(status, show(&all, gather.tree, arguments));
    }
    cpt_tree_free(gather.tree);
    deinit(&all);
    return status;
}

static const struct cpti_option options[] = {
    {"requests", 0, NULL, "also list which request waited for which"},
    {"json", 'j', NULL, "print one JSON object with rows"},
    CPTI_CAPPED_OPTION("the longest rows"),
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt contention paths.cptlog", "who is in the way of the requests of a log"},
    {"cpt contention --where 'latency > p99' paths.cptlog", "of the slow ones alone"},
    {"cpt contention --json logs/ | jq '.culprits[0]'", "the worst one, for a program"},
    {"cpt contention --requests paths.cptlog", "and which request waited for which"},
    {0},
};

const struct cpti_command cpti_command_contention = {
    .name = "contention",
    .summary = "print who had the locks, workers and processors waited for",
    .usages = {"[OPTION]... LOG..."},
    .description =
        "A task that waits for a lock or a worker is a victim. The culprit is the task "
        "that had it just then: of this request or of another one. It delays the "
        "request, but it is on no path, so no average shows it. The runtime notes the "
        "culprit when the wait begins.\n"
        "\n"
        "The first table has the culprits with what they held, those that delayed the "
        "most first; the second one who waited for them. The columns:\n"
        "\n"
        "  share     of the mean latency of the selected requests\n"
        "  mean ms   time waited, in the average request, and the interval of that\n"
        "  requests  that had one\n"
        "  resource  what it waited for\n"
        "  culprit   the task that had it when the wait began; '-': not known\n"
        "  victim    the task that waited\n"
        "\n"
        "A resource is a lock; the queue of an executor, for a worker; 'run delay', "
        "where a task could run but had no processor; 'off CPU', where it slept, or "
        "run delay is not measured; or the "
        "'accept queue', where the process came to the request late; 'other' is what "
        "comes after 65,535 rows. A culprit is not "
        "known if an idle worker had to wake up, if code that is no task had the "
        "worker, or if the path lost its labels to fit a budget.\n"
        "\n"
        "The culprit of run delay is the task that computed most meanwhile, of those "
        "requests of the process that were traced and measured CPU time: work that is "
        "not traced, other threads and other processes are not seen.\n"
        "\n"
        "A culprit that held a lock for long had perhaps waited for another one "
        "itself. Only waits on the critical path count: others delayed nothing.\n"
        "\n"
        "--requests: the longest waits of one traced request for what another one had, "
        "by the last 16 digits of their trace ids.\n"
        "\n"
        "'cpt busy' tells who used the processors, also off the critical path.\n"
        "\n" CPTI_SELECT_TEXT "\n\n" CPTI_COUNT_TEXT,
    .options = {options, cpti_select_options, cpti_sample_options, cpti_count_options,
                cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
