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
#include "tool/table/capped.h"
#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/print/contention_print.h"
#include "tool/folds/cluster_key.h"
#include "tool/gather/gather.h"
#include "tool/requests/log_keys.h"
#include "tool/requests/stream.h"
#include "tool/log/span_tags.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <string.h>

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

/* Adds the wait to the group of its culprit's request. */
static cpt_status add_to_group(struct contention *all, const struct waited *waited,
                               bool has_culprit)
{
    const uint64_t trace = waited->labels->holder_request;
    const struct cpti_trace_owner *owner =
        trace != 0 ? cpti_owners_find(&all->owners, trace) : NULL;
    struct cpti_tally_row key = {.kind = OF_NOBODY};

    if (has_culprit && owner != NULL) {
        key.kind = owner->has_value ? OF_VALUE : OF_NO_VALUE;
        key.names[CULPRIT] = owner->value;
    } else if (has_culprit) {
        key.kind = trace != 0 ? OF_UNKNOWN : OF_OWN;
    }
    return add_to(all, &all->groups, &key, waited);
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
    status = CPTI_THEN(status, add_to(all, &all->culprits, &key, waited));
    if (status == CPT_OK && all->by != NULL) {
        status = add_to_group(all, waited, key.names[CULPRIT] != EMPTY);
    }
    status = CPTI_THEN(status, intern(all, victim_of(path, frame), &key.names[VICTIM]));
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

/* --- The command --- */

static bool init(struct contention *all)
{
    cpt_name_id empty = EMPTY;
    bool is_made = cpti_tally_init(&all->pairs);

    is_made = cpti_tally_init(&all->culprits) && is_made;
    is_made = (all->by == NULL || cpti_tally_init(&all->groups)) && is_made;
    all->names = cpt_names_new(NULL);
    return is_made && all->names != NULL &&
           cpt_names_add(all->names, (struct cpt_bytes){"", 0}, &empty) == CPT_OK;
}

static void deinit(struct contention *all)
{
    cpti_tally_deinit(&all->pairs);
    cpti_tally_deinit(&all->culprits);
    cpti_tally_deinit(&all->groups);
    cpti_owners_deinit(&all->owners);
    cpti_overlaps_free(&all->overlaps);
    cpt_names_free(all->names);
}

/* What is shown; the context of struct cpti_capped. */
struct shown {
    const struct contention *all;
    const struct cpt_tree *tree;
    const struct cpti_view *view;
    bool is_capped; /* the rest is told */
};

static int show_rows(void *context, size_t row_max)
{
    const struct shown *shown = context;

    if (shown->view->format != CPTI_FORMAT_JSON) {
        return cpti_contention_print(shown->all, shown->tree, shown->view, row_max);
    }
    cpti_contention_put(shown->all, shown->tree, shown->view,
                        shown->is_capped ? row_max : CPTI_CAPPED_ALL);
    return CPTI_EXIT_DONE;
}

static int show(struct contention *all, const struct cpt_tree *tree,
                const struct cpti_view *view)
{
    struct shown shown = {all, tree, view, view->bytes_max != 0};
    const struct cpti_capped capped = {
        .bytes_max = view->bytes_max,
        .print = show_rows,
        .context = &shown,
        .row_count = all->pairs.count > all->overlaps.count ? all->pairs.count
                                                            : all->overlaps.count};

    if (all->pairs.count == CPTI_TALLY_ROWS_MAX) {
        cpti_warn("waits that are not told apart, as there are too many victims, "
                  "resources and culprits: %" PRIu64,
                  all->pairs.rows[CPTI_TALLY_ROWS_MAX - 1].wait_count);
    }
    cpti_contention_sort(all, view);
    return cpti_capped_print(&capped);
}

/* --- Whose requests were in the way --- */

static int meet_owner(void *context, const struct cpti_request *request)
{
    struct contention *all = context;
    const struct cpt_record *record = request->record;
    struct cpti_trace_owner owner = {.value = EMPTY};
    struct cpt_bytes value = {NULL, 0};
    char text[CPTI_CLUSTER_VALUE_BYTES];
    cpt_status status = CPT_OK;

    owner.has_value = cpti_cluster_value(record, all->by, text, &value);
    all->has_value = all->has_value || owner.has_value;
    if (!record->has_trace_id) {
        return CPTI_EXIT_DONE;
    }
    for (size_t i = 8; i < sizeof record->trace_id; i++) {
        owner.trace = owner.trace << 8 | record->trace_id[i];
    }
    if (owner.has_value) {
        status = intern(all, value, &owner.value);
    }
    return status == CPT_OK && cpti_owners_add(&all->owners, &owner)
               ? CPTI_EXIT_DONE
               : cpti_failed("out of memory");
}

/* The first pass over all logs, for all of their records: those of culprits may not be
 * selected. The next pass says what is damaged. */
static int find_owners(struct contention *all, const struct cpti_arguments *arguments)
{
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < arguments->operand_count; i++) {
        const char *path = arguments->operands[i];

        if (cpti_is_store(path) || strcmp(path, "-") == 0) {
            return cpti_usage("%s: '--by' reads the logs twice: give files",
                              cpti_quoted(path));
        }
    }
    status = cpti_stream_look(arguments->operands, arguments->operand_count, meet_owner,
                              all);
    if (status == CPTI_EXIT_DONE && !all->has_value) {
        status = cpti_failed("option '--by': no record has '%s'", cpti_quoted(all->by));
        cpti_log_keys_suggest(all->by, arguments->operands, arguments->operand_count);
    }
    if (all->owners.lost_count != 0) {
        cpti_warn("requests that are not known to '--by', as there are too many: "
                  "%" PRIu64,
                  all->owners.lost_count);
    }
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct contention all = {.by = cpti_value(arguments, "by")};
    struct cpti_gather gather = {.request = add_request, .context = &all};
    struct cpti_view view;
    bool is_usable = false;
    int status = cpti_view_read(arguments, &cpti_contention_pairs, NULL, &view);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    all.has_overlaps = cpti_has(arguments, "requests");
    if (!init(&all)) {
        deinit(&all);
        return cpti_failed("out of memory");
    }
    if (all.by != NULL) {
        status = find_owners(&all, arguments);
    }
    status = CPTI_THEN(status, cpti_gather_arguments(&gather, arguments, &is_usable));
    if (is_usable && gather.met_tree) {
        status = cpti_failed("a tree does not say who held what: give the logs");
    } else if (is_usable) {
        status = cpti_exit_last(status, show(&all, gather.tree, &view));
    }
    cpt_tree_free(gather.tree);
    deinit(&all);
    return status;
}

static const struct cpti_option options[] = {
    {"by", 0, "ATTRIBUTE",
     "also group culprits by this attribute of their request, such as arm"},
    {"requests", 0, NULL, "also list which request waited for which"},
    {"json", 'j', NULL, "print one JSON object with rows"},
    CPTI_CAPPED_OPTION("the longest rows"),
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt contention paths.cptlog", "who is in the way of the requests of a log"},
    {"cpt contention --where 'latency > p99' paths.cptlog", "of the slow ones alone"},
    {"cpt contention --json logs/ | jq '.culprits[0]'", "the worst one, for a program"},
    {"cpt contention --requests paths.cptlog", "and which request waited for which"},
    {"cpt contention --by tenant paths.cptlog", "whose requests are in the way"},
    {0},
};

const struct cpti_command cpti_command_contention = {
    .name = "contention",
    .summary = "print who had the locks, workers and processors waited for",
    .group = CPTI_FIX,
    .question = "Who had the lock, worker or processor that requests waited for?",
    .needs = "path logs of services that use cpt: spans do not say it",
    .usages = {"[OPTION]... LOG..."},
    .options = {options, cpti_view_options, cpti_select_options, cpti_sample_options,
                cpti_count_options, cpti_log_options},
    .relations = {&cpti_contention_pairs},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
