/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_set.c - kept requests for answers; see whatif_set.h */
#include "tool/whatif/whatif_set.h"

#include "tool/base/command.h"
#include "tool/base/names.h"
#include "tool/base/output.h"

#include <stdio.h>
#include <string.h>

enum { EXECUTORS_MAX = 8 }; /* that are told */

static const char *const kind_words[] = {[CPT_DAG_STEP] = "",
                                         [CPT_DAG_CALL] = "",
                                         [CPT_DAG_LOCK] = "",
                                         [CPT_DAG_QUEUE] = " \u2039queue\u203a",
                                         [CPT_DAG_WAIT] = " \u2039wait\u203a",
                                         [CPT_DAG_NETWORK] = " \u2039network\u203a"};

/* --- Reading --- */

/* "A: /" */
static cpt_status add_entry(struct cpti_whatif_set *set,
                            const struct cpti_kept_graph *graph, cpt_name_id *id)
{
    char text[2 * CPT_NAME_BYTES_MAX];
    char bounded[CPT_NAME_BYTES_MAX + 1];
    const int bytes = snprintf(
        text, sizeof text, "%.*s: %.*s",
        (int)(graph->service.bytes < CPT_NAME_BYTES_MAX ? graph->service.bytes : 200),
        graph->service.data,
        (int)(graph->method.bytes < CPT_NAME_BYTES_MAX ? graph->method.bytes : 200),
        graph->method.data);
    const struct cpt_bytes name = {text, (size_t)bytes < sizeof text ? (size_t)bytes
                                                                     : sizeof text - 1};

    return cpt_names_add(set->names, cpt_name_bound(name, bounded), id);
}

static cpt_status grow(struct cpti_whatif_set *set)
{
    struct {
        void **memory;
        size_t *capacity;
        size_t bytes;
    } arrays[] = {
        {(void **)&set->weight, &set->weight_capacity, sizeof *set->weight},
        {(void **)&set->recorded_ns, &set->recorded_capacity, sizeof *set->recorded_ns},
        {(void **)&set->start_ns, &set->start_capacity, sizeof *set->start_ns},
        {(void **)&set->evidence, &set->evidence_capacity, sizeof *set->evidence},
        {(void **)&set->entry, &set->entry_capacity, sizeof *set->entry}};
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == CPT_OK; i++) {
        status =
            cpt_alloc_grow(NULL, arrays[i].memory, arrays[i].capacity, set->count + 1,
                           CPT_WHATIF_REQUESTS_MAX, arrays[i].bytes);
    }
    return status;
}

/* A cpti_kept_fn. */
static cpt_status add(void *context, const struct cpti_kept_graph *graph)
{
    struct cpti_whatif_set *set = context;
    const struct cpt_dag_shape *shape = &graph->recorded->shape;
    const struct cpt_doubt *doubt = graph->recorded->doubt;
    const uint64_t parts =
        (uint64_t)shape->node_count + shape->edge_count +
        (doubt != NULL ? doubt->moment_count + doubt->holder_count : 0);
    cpt_status status = CPT_OK;

    if (set->parts_max != 0 && set->part_count + parts > set->parts_max) {
        set->excess_count++;
        return CPT_OK;
    }
    status = grow(set);
    status = CPTI_THEN(status, add_entry(set, graph, &set->entry[set->count]));
    status = CPTI_THEN(status, cpt_whatif_add(set->whatif, graph->dag, graph->recorded,
                                              graph->start_unix_ns));
    if (status == CPT_OK) {
        set->weight[set->count] = graph->probability > 0 ? 1 / graph->probability : 1;
        set->recorded_ns[set->count] = cpt_whatif_recorded_ns(set->whatif, set->count);
        set->start_ns[set->count] = graph->start_unix_ns;
        set->evidence[set->count] = (unsigned char)graph->recorded->evidence;
        set->inexact_count += set->recorded_ns[set->count] != graph->latency_ns;
        set->part_count += parts;
        set->count++;
    }
    return status;
}

/* See struct cpti_kept_options. */
static void note_inside(void *context, struct cpt_bytes name,
                        struct cpt_bytes operation)
{
    struct cpti_whatif_set *set = context;

    cpti_whatif_inside_add(operation.bytes != 0 ? &set->inside : &set->outside, name,
                           operation);
}

static void tell(const struct cpti_whatif_set *set)
{
    if (set->excess_count != 0) {
        cpti_warn(
            "requests that are left out, as the others have %llu nodes and edges, "
            "and no more than %llu are kept in memory: %llu",
            (unsigned long long)set->part_count, (unsigned long long)set->parts_max,
            (unsigned long long)set->excess_count);
    }
    if (set->inexact_count != 0) {
        cpti_warn("requests whose longest path is not the latency: %llu",
                  (unsigned long long)set->inexact_count);
    }
}

int cpti_whatif_set_read(struct cpti_whatif_set *set, const char *const *files,
                         size_t file_count, bool by_walk,
                         struct cpti_selection *selection, uint64_t parts_max)
{
    const struct cpti_kept_options options = {.files = files,
                                              .file_count = file_count,
                                              .by_walk = by_walk,
                                              .doubts = true,
                                              .selection = selection,
                                              .visit = add,
                                              .inside = note_inside,
                                              .context = set};
    int status = CPTI_EXIT_DONE;

    *set = (struct cpti_whatif_set){.by_walk = by_walk, .parts_max = parts_max};
    set->whatif = cpt_whatif_new(NULL);
    set->names = cpt_names_new(NULL);
    if (set->whatif == NULL || set->names == NULL) {
        return cpti_failed("out of memory");
    }
    status = cpti_kept_graphs(&options, &set->counts);
    if (set->counts.is_broken) {
        set->count = 0;
    }
    tell(set);
    return set->count != 0 ? status : cpti_kept_none(&options, &set->counts);
}

void cpti_whatif_set_deinit(struct cpti_whatif_set *set)
{
    cpti_whatif_inside_deinit(&set->inside);
    cpti_whatif_inside_deinit(&set->outside);
    cpt_whatif_free(set->whatif);
    cpt_names_free(set->names);
    cpt_alloc_free(NULL, set->weight);
    cpt_alloc_free(NULL, set->recorded_ns);
    cpt_alloc_free(NULL, set->start_ns);
    cpt_alloc_free(NULL, set->evidence);
    cpt_alloc_free(NULL, set->entry);
}

/* --- Plans --- */

const char *cpti_whatif_frame_text(const struct cpti_whatif_set *set, size_t frame,
                                   char text[2 * CPT_NAME_BYTES_MAX])
{
    const struct cpt_dag_name name = cpt_whatif_frame(set->whatif, frame);

    (void)snprintf(text, 2 * (size_t)CPT_NAME_BYTES_MAX, "%.*s%s", (int)name.name.bytes,
                   name.name.data, kind_words[name.kind]);
    return text;
}

/* Whether any frame has a name of @frames, whatever its kind is. */
static bool has_frame(const struct cpti_whatif_set *set,
                      const struct cpt_whatif_frames *frames)
{
    for (size_t i = 0; i < cpt_whatif_frame_count(set->whatif); i++) {
        struct cpt_dag_name name = cpt_whatif_frame(set->whatif, i);

        name.kind = CPT_DAG_STEP;
        if (cpt_whatif_has(frames, &name) != 0) {
            return true;
        }
    }
    return false;
}

/* Tells that a span that @frames has, the first by name, is within an operation. False:
 * there is none. */
static bool tell_inside(const struct cpti_whatif_set *set, const char *term,
                        const struct cpt_whatif_frames *frames)
{
    struct cpt_bytes first = {NULL, 0};
    struct cpt_bytes operation = {NULL, 0};
    bool has_others = false;
    char text[2 * CPTI_TEXT_BYTES];

    for (size_t i = 0; i < cpti_whatif_inside_count(&set->inside); i++) {
        bool is_in_others = false;
        struct cpt_bytes of = {NULL, 0};
        const struct cpt_bytes own =
            cpti_whatif_inside_at(&set->inside, i, &of, &is_in_others);
        const struct cpt_dag_name name = {own, frames->has_kind != 0 ? frames->kind
                                                                     : CPT_DAG_STEP};

        if (frames->is_service == 0 && cpt_whatif_has(frames, &name) != 0 &&
            (first.data == NULL || cpti_compare_bytes(own, first) < 0)) {
            first = own;
            operation = of;
            has_others = is_in_others;
        }
    }
    if (first.data == NULL) {
        return false;
    }
    (void)snprintf(text, sizeof text, "%s", cpti_quoted_bytes(first));
    (void)cpti_usage("'%s': the time of the span '%s' belongs to '%s'%s",
                     cpti_quoted(term), text, cpti_quoted_bytes(operation),
                     has_others ? " and others" : "");
    return true;
}

/* Tells that @frames are not there, and what is. */
static int tell_missing(const struct cpti_whatif_set *set, const char *term,
                        const struct cpt_whatif_frames *frames)
{
    const struct cpt_bytes name = frames->name;
    struct cpti_names names = {0};
    char text[2 * CPT_NAME_BYTES_MAX];
    char given[CPT_WHATIF_TERM_BYTES_MAX + 1];
    const char *nearest = NULL;
    int status = CPTI_EXIT_USAGE;

    if (tell_inside(set, term, frames)) {
        return status;
    }
    for (size_t i = 0; i < cpt_whatif_frame_count(set->whatif); i++) {
        const struct cpt_dag_name frame = cpt_whatif_frame(set->whatif, i);

        (void)snprintf(text, sizeof text, "%.*s", (int)frame.name.bytes,
                       frame.name.data);
        cpti_names_add(&names, text);
    }
    (void)snprintf(given, sizeof given, "%.*s", (int)name.bytes, name.data);
    nearest = cpti_nearest_name(given, &names);
    if (nearest != NULL && strcmp(nearest, given) != 0) {
        char quoted[2 * CPT_NAME_BYTES_MAX];

        (void)snprintf(quoted, sizeof quoted, "%s", cpti_quoted(nearest));
        status = cpti_usage("'%s' matches nothing; the nearest name is '%s'",
                            cpti_quoted(term), quoted);
    } else {
        status = cpti_usage(
            "'%s' matches nothing; cpt whatif --sweep 50%% --by frame prints "
            "all frames",
            cpti_quoted(term));
    }
    cpti_names_deinit(&names);
    return status;
}

/* Tells that no executor is called as @term says, and what they are called. */
static int tell_executors(const struct cpti_whatif_set *set, const char *term)
{
    const size_t count = cpt_whatif_executor_count(set->whatif);
    char names[EXECUTORS_MAX * CPT_NAME_BYTES_MAX] = "";
    size_t bytes = 0;

    for (size_t i = 0; i < count && i < EXECUTORS_MAX && bytes < sizeof names; i++) {
        const struct cpt_bytes name = cpt_whatif_executor(set->whatif, i);

        bytes += (size_t)snprintf(names + bytes, sizeof names - bytes, "%s'%s'",
                                  i == 0 ? "" : ", ", cpti_quoted_bytes(name));
    }
    return count != 0
               ? cpti_usage("'%s': no task ran on that executor, but on %s%s",
                            cpti_quoted(term), names,
                            count > EXECUTORS_MAX ? " and others" : "")
               : cpti_usage("'%s': no record names an executor", cpti_quoted(term));
}

static int tell_unmatched(const struct cpti_whatif_set *set,
                          const struct cpt_whatif_term *term, const char *text)
{
    const bool is_edge = term->verb == CPT_WHATIF_CUT || term->verb == CPT_WHATIF_ADD ||
                         term->verb == CPT_WHATIF_PARALLEL;

    if (term->verb == CPT_WHATIF_WORKERS) {
        return tell_executors(set, text);
    }
    if (!is_edge || !has_frame(set, &term->frames)) {
        return tell_missing(set, text, &term->frames);
    }
    if (!has_frame(set, &term->other)) {
        return tell_missing(set, text, &term->other);
    }
    return cpti_usage(term->verb == CPT_WHATIF_ADD
                          ? "'%s': no request has both"
                          : "'%s': in no request does one wait for the other directly",
                      cpti_quoted(text));
}

/* Whether @term is about spans that are in no visit: no response waits for them, so it
 * changes nothing. */
static bool is_outside(const struct cpti_whatif_set *set,
                       const struct cpt_whatif_term *term)
{
    if (term->verb != CPT_WHATIF_SET && term->verb != CPT_WHATIF_CAP) {
        return false;
    }
    for (size_t i = 0; i < cpti_whatif_inside_count(&set->outside); i++) {
        struct cpt_bytes none = {NULL, 0};
        bool has_others = false;
        const struct cpt_dag_name name = {
            cpti_whatif_inside_at(&set->outside, i, &none, &has_others),
            term->frames.has_kind != 0 ? term->frames.kind : CPT_DAG_STEP};

        if (cpt_whatif_has(&term->frames, &name) != 0) {
            return true;
        }
    }
    return false;
}

cpt_status cpti_whatif_plan_new(const struct cpti_whatif_set *set,
                                const struct cpt_whatif_term *terms, size_t count,
                                bool replays_queues, struct cpt_whatif_plan **plan,
                                size_t *unmatched, struct cpt_error *error)
{
    const struct cpt_whatif_options options = {.struct_bytes = sizeof options,
                                               .replays_queues = replays_queues};
    struct cpt_whatif_term left[CPT_WHATIF_TERMS_MAX];
    size_t places[CPT_WHATIF_TERMS_MAX]; /* among @terms */

    if (count > CPT_WHATIF_TERMS_MAX) {
        return CPT_LIMIT;
    }
    for (size_t i = 0; i < count; i++) {
        left[i] = terms[i];
        places[i] = i;
    }
    for (;;) {
        size_t at = 0;
        const cpt_status status =
            cpt_whatif_plan_new(set->whatif, left, count, &options, plan, &at, error);

        if (status != CPT_END || at >= count || !is_outside(set, &left[at])) {
            *unmatched = at < count ? places[at] : at;
            return status;
        }
        for (count--; at < count; at++) {
            left[at] = left[at + 1];
            places[at] = places[at + 1];
        }
    }
}

int cpti_whatif_plan(const struct cpti_whatif_set *set,
                     const struct cpt_whatif_term *terms, const char *const *texts,
                     size_t count, bool replays_queues, struct cpt_whatif_plan **plan)
{
    struct cpt_error error = {0};
    size_t unmatched = 0;
    const cpt_status status = cpti_whatif_plan_new(set, terms, count, replays_queues,
                                                   plan, &unmatched, &error);

    if (status == CPT_OK) {
        return CPTI_EXIT_DONE;
    }
    if (status == CPT_END && unmatched < count) {
        return tell_unmatched(set, &terms[unmatched], texts[unmatched]);
    }
    return cpti_failed("%s", error.sentence[0] != '\0' ? error.sentence
                                                       : cpt_status_sentence(status));
}
