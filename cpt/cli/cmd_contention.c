/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_contention.c - cpt contention: who was in the way of whom
 *
 * A task that waits for a lock or a worker is the *victim*; the task that had it just
 * then is the *culprit*, which delays the request but is never on its path. The runtime
 * notes it when the wait begins, as the label `holder` of the wait's segment. Waits for
 * a processor (off CPU) and for the process to begin (accept queue) have no culprit.
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
#include "cpt/cli/gather/gather.h"
#include "cpt/cli/gather/log_walk.h"
#include "cpt/cli/print/tree_print.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "cpt/hash_index.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdlib.h>

/* Rows that are told apart, the last of which takes all others; rows printed. */
enum { ROWS_MAX = 1 << 16, FIRST_SLOTS = 64, PRINTED_MAX = 40 };

/* Numbers of names; EMPTY is that of the empty one. */
enum { EMPTY = 0 };

/* One victim, what it waited for, and who had that. */
struct row {
    cpt_name_id victim;
    cpt_name_id resource; /* name of the lock or the executor */
    cpt_name_id culprit;  /* EMPTY: not known */
    unsigned kind;        /* enum cpt_kind */
    double time;          /* sum of weight * ns */
    uint64_t wait_count;
    uint64_t request_count;
    uint64_t last_request; /* that had one, so that it counts once */
};

struct rows {
    struct row *rows; /* ROWS_MAX of them */
    size_t count;
    struct cpti_hash_index index;
};

struct contention {
    struct cpt_names *names;
    struct rows pairs;    /* by all of victim, resource and culprit */
    struct rows culprits; /* by culprit and resource */
    double time;          /* sum of weight * latency */
    double weights;
    uint64_t request_count;
};

/* --- Gathering --- */

static uint64_t hash_of(const struct rows *rows, const struct row *row)
{
    const uint64_t seed = (uint64_t)(uintptr_t)rows;
    const uint64_t who = cpti_hash_mix(seed ^ (uint64_t)row->victim << 32 ^ row->kind);

    return cpti_hash_mix(who ^ (uint64_t)row->resource << 32 ^ row->culprit);
}

static uint64_t hash_at(const void *owner, size_t number)
{
    const struct rows *rows = owner;

    return hash_of(rows, &rows->rows[number]);
}

static bool is_same(const struct row *left, const struct row *right)
{
    return left->victim == right->victim && left->resource == right->resource &&
           left->culprit == right->culprit && left->kind == right->kind;
}

/* The row of all that found no room: it accuses no one. */
static struct row *other_row(struct rows *rows)
{
    if (rows->count < ROWS_MAX) {
        rows->rows[rows->count++] = (struct row){.kind = CPT_KIND_OTHER};
    }
    return &rows->rows[ROWS_MAX - 1];
}

/* The row with the key of @key, added if it is new; NULL without memory. */
static struct row *row_of(struct rows *rows, const struct row *key)
{
    size_t slot = 0;

    if (cpti_hash_index_is_full(&rows->index, rows->count, 3) &&
        cpti_hash_index_grow(&rows->index, NULL, FIRST_SLOTS, rows->count, hash_at,
                             rows) != CPT_OK) {
        return NULL;
    }
    slot = cpti_hash_index_first(&rows->index, hash_of(rows, key));
    while (rows->index.slots[slot] != 0) {
        struct row *row = &rows->rows[rows->index.slots[slot] - 1];

        if (is_same(row, key)) {
            return row;
        }
        slot = cpti_hash_index_next(&rows->index, slot);
    }
    if (rows->count >= ROWS_MAX - 1) {
        return other_row(rows);
    }
    rows->index.slots[slot] = (uint32_t)rows->count + 1;
    rows->rows[rows->count] = *key;
    return &rows->rows[rows->count++];
}

static cpt_status add_to(struct contention *all, struct rows *rows,
                         const struct row *key, const struct cpt_segment *segment,
                         double weight)
{
    struct row *row = row_of(rows, key);

    if (row == NULL) {
        return CPT_NO_MEMORY;
    }
    row->time += weight * (double)segment->duration_ns;
    row->wait_count += segment->count;
    row->request_count += row->last_request != all->request_count;
    row->last_request = all->request_count;
    return CPT_OK;
}

static bool is_wait(unsigned kind)
{
    return kind == CPT_KIND_LOCK || kind == CPT_KIND_QUEUE ||
           kind == CPT_KIND_OFF_CPU || kind == CPT_KIND_ACCEPT_QUEUE;
}

/* The names of the labels of segment @index; *@next is the first label not read yet. */
static void read_labels(const struct cpt_path *path, size_t index, size_t *next,
                        struct cpt_bytes *executor, struct cpt_bytes *holder)
{
    for (; *next < cpt_path_label_count(path); (*next)++) {
        const struct cpt_label *label = cpt_path_label(path, *next);

        if (label->segment > index) {
            return;
        }
        if (label->segment < index || !label->is_name) {
            continue;
        }
        if (label->key == CPT_LABEL_HOLDER) {
            *holder = cpt_path_name(path, (cpt_name_id)label->value);
        } else if (label->key == CPT_LABEL_EXECUTOR) {
            *executor = cpt_path_name(path, (cpt_name_id)label->value);
        }
    }
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

static cpt_status add_wait(struct contention *all, const struct cpt_path *path,
                           size_t index, size_t *next_label, double weight)
{
    const struct cpt_segment *segment = cpt_path_segment(path, index);
    struct cpt_bytes holder = {NULL, 0};
    struct cpt_bytes resource = {NULL, 0};
    struct row key = {.kind = cpt_path_frame(path, segment->frame)->kind};
    cpt_status status = CPT_OK;

    read_labels(path, index, next_label, &resource, &holder);
    if (key.kind == CPT_KIND_LOCK) {
        resource = cpt_path_frame_name(path, segment->frame);
    }
    status = intern(all, resource, &key.resource);
    if (status == CPT_OK) {
        status = intern(all, holder, &key.culprit);
    }
    if (status == CPT_OK) {
        status = add_to(all, &all->culprits, &key, segment, weight);
    }
    if (status == CPT_OK) {
        status = intern(all, victim_of(path, segment->frame), &key.victim);
    }
    return status == CPT_OK ? add_to(all, &all->pairs, &key, segment, weight) : status;
}

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct contention *all = context;
    size_t next_label = 0;

    all->request_count++;
    all->weights += (double)weight;
    all->time += (double)weight * (double)record->latency_ns;
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const uint32_t frame = cpt_path_segment(path, i)->frame;

        if (is_wait(cpt_path_frame(path, frame)->kind)) {
            const cpt_status status =
                add_wait(all, path, i, &next_label, (double)weight);

            if (status != CPT_OK) {
                return cpti_status_exit(status);
            }
        }
    }
    return CPTI_EXIT_DONE;
}

/* --- Order --- */

static int by_time(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;

    if (a->time != b->time) {
        return a->time > b->time ? -1 : 1;
    }
    if (a->culprit != b->culprit) {
        return a->culprit < b->culprit ? -1 : 1;
    }
    if (a->victim != b->victim) {
        return a->victim < b->victim ? -1 : 1;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return (a->resource > b->resource) - (a->resource < b->resource);
}

/* Those with a culprit first: what cannot be accused is below. */
static int by_culprit(const void *left, const void *right)
{
    const bool left_known = ((const struct row *)left)->culprit != EMPTY;
    const bool right_known = ((const struct row *)right)->culprit != EMPTY;

    return left_known != right_known ? (left_known ? -1 : 1) : by_time(left, right);
}

/* --- Printing --- */

static double share_of(const struct contention *all, double time)
{
    return all->time > 0 ? time / all->time : 0;
}

static double time_of(const struct rows *rows)
{
    double time = 0;

    for (size_t i = 0; i < rows->count; i++) {
        time += rows->rows[i].time;
    }
    return time;
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
                     const struct contention *all, const struct rows *rows,
                     size_t row_max)
{
    cpti_json_open(json, key, '[');
    for (size_t i = 0; i < rows->count && i < row_max; i++) {
        const struct row *row = &rows->rows[i];

        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        put_name(json, "culprit", all, row->culprit);
        cpti_json_text(json, "kind", cpt_kind_word(row->kind));
        put_name(json, "resource", all, row->resource);
        if (rows == &all->pairs) {
            put_name(json, "victim", all, row->victim);
        }
        cpti_json_rough(json, "share", share_of(all, row->time));
        cpti_json_ns(json, "mean_ns", row->time / all->weights);
        cpti_json_unsigned(json, "waits", row->wait_count);
        cpti_json_unsigned(json, "requests", row->request_count);
        cpti_json_close(json);
    }
    cpti_json_row(json);
    cpti_json_close(json);
}

/* What the rows behind the first @row_max of @rows have in the average request. */
static double rest_of(const struct contention *all, const struct rows *rows,
                      size_t row_max)
{
    double time = 0;

    for (size_t i = row_max; i < rows->count; i++) {
        time += rows->rows[i].time;
    }
    return all->weights > 0 ? time / all->weights : 0;
}

static void put_rest(struct cpti_json *json, const char *key,
                     const struct contention *all, const struct rows *rows,
                     size_t row_max)
{
    cpti_json_open(json, key, '{');
    cpti_json_unsigned(json, "rows", rows->count > row_max ? rows->count - row_max : 0);
    cpti_json_ns(json, "mean_ns", rest_of(all, rows, row_max));
    cpti_json_close(json);
}

static void put(const struct contention *all, const struct cpt_tree *tree,
                size_t row_max)
{
    const struct cpt_stats stats = cpt_stats_of(tree, CPT_TREE_ROOT);
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_tree_json_stats(&json, tree, &stats, false);
    cpti_json_rough(&json, "waiting_share", share_of(all, time_of(&all->pairs)));
    put_rows(&json, "culprits", all, &all->culprits, row_max);
    put_rows(&json, "pairs", all, &all->pairs, row_max);
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

static void print_row(struct cpti_table *table, const struct contention *all,
                      const struct row *row, bool has_victim)
{
    char text[32];

    cpti_table_cell(table, "%.1f%%", 100 * share_of(all, row->time));
    cpti_table_cell(table, "%s", cpti_ms(row->time / all->weights, text));
    cpti_table_cell(table, "%" PRIu64, row->wait_count);
    cpti_table_cell(table, "%" PRIu64, row->request_count);
    cpti_table_cell(table, "%s%s%s", cpt_kind_words(row->kind),
                    row->resource == EMPTY ? "" : " ", name_or(all, row->resource, ""));
    cpti_table_cell(table, "%s", name_or(all, row->culprit, "-"));
    if (has_victim) {
        cpti_table_cell(table, "%s", name_or(all, row->victim, "-"));
    }
}

static int print_rows(const struct contention *all, const struct rows *rows,
                      size_t row_max)
{
    const bool has_victim = rows == &all->pairs;
    const char *const headings[] = {"share",    "mean ms", "waits", "requests",
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

        (void)printf("%zu more rows: %s ms\n", rows->count - row_max,
                     cpti_ms(rest_of(all, rows, row_max), text));
    }
    return status;
}

static int print(const struct contention *all, const struct cpt_tree *tree,
                 size_t row_max)
{
    const struct cpt_stats stats = cpt_stats_of(tree, CPT_TREE_ROOT);
    const size_t most = row_max < PRINTED_MAX ? row_max : PRINTED_MAX;
    int status = CPTI_EXIT_DONE;

    cpti_tree_print_stats(tree, NULL, &stats, false);
    (void)printf("waiting for locks, workers and processors: %.1f%% of the latency\n",
                 100 * share_of(all, time_of(&all->pairs)));
    if (all->pairs.count == 0) {
        return CPTI_EXIT_DONE;
    }
    status = print_rows(all, &all->culprits, most);
    return status == CPTI_EXIT_DONE ? print_rows(all, &all->pairs, most) : status;
}

/* --- The command --- */

static bool init(struct contention *all)
{
    cpt_name_id empty = EMPTY;

    all->names = cpt_names_new(NULL);
    all->pairs.rows = calloc(ROWS_MAX, sizeof(struct row));
    all->culprits.rows = calloc(ROWS_MAX, sizeof(struct row));
    return all->names != NULL && all->pairs.rows != NULL &&
           all->culprits.rows != NULL &&
           cpt_names_add(all->names, (struct cpt_bytes){"", 0}, &empty) == CPT_OK;
}

static void deinit(struct contention *all)
{
    free(all->pairs.rows);
    free(all->culprits.rows);
    cpt_alloc_free(NULL, all->pairs.index.slots);
    cpt_alloc_free(NULL, all->culprits.index.slots);
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
    struct cpti_capped capped = {
        .print = show_rows, .context = &shown, .row_count = all->pairs.count};
    const int status = cpti_capped_option(arguments, &capped.bytes_max);

    shown.is_capped = capped.bytes_max != 0;
    if (all->pairs.count == ROWS_MAX) {
        cpti_warn("%" PRIu64 " waits are not told apart: there are too many victims, "
                  "resources and culprits",
                  all->pairs.rows[ROWS_MAX - 1].wait_count);
    }
    qsort(all->pairs.rows, all->pairs.count, sizeof(struct row), by_time);
    qsort(all->culprits.rows, all->culprits.count, sizeof(struct row), by_culprit);
    return status == CPTI_EXIT_DONE ? cpti_capped_print(&capped) : status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct contention all = {0};
    struct cpti_gather gather = {.request = add_request, .context = &all};
    bool is_usable = false;
    int status = CPTI_EXIT_DONE;

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
    {"json", 'j', NULL, "print one JSON object with rows"},
    CPTI_CAPPED_OPTION("the longest rows"),
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt contention paths.cptlog", "who is in the way of the requests of a log"},
    {"cpt contention --where 'latency > p99' paths.cptlog", "of the slow ones alone"},
    {"cpt contention --json logs/ | jq '.culprits[0]'", "the worst one, for a program"},
    {0},
};

const struct cpti_command cpti_command_contention = {
    .name = "contention",
    .summary = "print who held the locks and workers that requests waited for",
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
        "  mean ms   time waited, in the average request\n"
        "  waits     how many\n"
        "  requests  that had one\n"
        "  resource  what it waited for\n"
        "  culprit   the task that had it when the wait began; '-': not known\n"
        "  victim    the task that waited\n"
        "\n"
        "A resource is a lock; the queue of an executor, for a worker; 'off CPU', "
        "where "
        "no processor ran the task, the culprit of which is not measured; or the "
        "'accept queue', where the process came to the request late; 'other' is what "
        "comes after 65,535 rows. A culprit is not "
        "known if an idle worker had to wake up, if code that is no task had the "
        "worker, or if the path lost its labels to fit a budget.\n"
        "\n"
        "A culprit that held a lock for long had perhaps waited for another one "
        "itself. Only waits on the critical path count: others delayed nothing.\n"
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
