/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_measure.c - own times, wires and calls; see whatif_measure.h */
#include "tool/whatif/whatif_measure.h"

#include "cpt/base/hash_index.h"
#include "tool/base/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A task or a call. */
struct measured_line {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t network_ns; /* of the nodes of these kinds */
    uint64_t call_ns;
    uint32_t frame;
    bool has_nodes;
    bool has_steps;
    bool has_network;
    bool has_call;
};

/* What tasks do for one call, or, the first visit, for the request. Visit i + 1 is
 * that of the call in line i. */
struct measured_visit {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t out_ns; /* in which calls were out */
    uint32_t line;   /* its first task; CPT_DAG_NONE: there is none */
};

/* A call of a visit. */
struct measured_call {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint32_t visit; /* who calls */
    uint32_t line;
};

enum { SEED = 28 };

/* --- Lines --- */

static cpt_status make_room(struct cpti_whatif_measure *measure,
                            const struct cpt_dag_recorded *recorded)
{
    struct {
        void **memory;
        size_t *capacity;
        size_t needed;
        size_t bytes;
    } arrays[] = {{(void **)&measure->lines, &measure->line_capacity,
                   recorded->line_count + 1, sizeof *measure->lines},
                  {(void **)&measure->visits, &measure->visit_capacity,
                   recorded->line_count + 1, sizeof *measure->visits},
                  {(void **)&measure->calls, &measure->call_capacity,
                   recorded->line_count + 1, sizeof *measure->calls},
                  {(void **)&measure->times, &measure->time_capacity,
                   2 * recorded->line_count + 1, sizeof *measure->times},
                  {(void **)&measure->duration_ns, &measure->node_capacity,
                   recorded->shape.node_count + 1, sizeof *measure->duration_ns},
                  {(void **)&measure->start_ns, &measure->start_capacity,
                   recorded->shape.node_count + 1, sizeof *measure->start_ns}};
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == CPT_OK; i++) {
        status = cpt_alloc_grow(NULL, arrays[i].memory, arrays[i].capacity,
                                arrays[i].needed, (size_t)1 << 32, arrays[i].bytes);
    }
    return status;
}

/* When each line began and ended, and what it has. */
static cpt_status find_lines(struct cpti_whatif_measure *measure,
                             const struct cpti_kept_graph *graph)
{
    const struct cpt_dag_shape *shape = &graph->recorded->shape;
    uint64_t latency_ns = 0;
    cpt_status status = CPT_OK;

    memset(measure->lines, 0, (measure->line_count + 1) * sizeof *measure->lines);
    for (size_t i = 0; i < shape->node_count; i++) {
        measure->duration_ns[i] = shape->nodes[i].duration_ns;
    }
    status = cpt_dag_replay(graph->dag, measure->duration_ns, measure->start_ns,
                            &latency_ns);
    for (size_t i = 0; i < shape->node_count && status == CPT_OK; i++) {
        const struct cpt_dag_node *node = &shape->nodes[i];
        struct measured_line *line = &measure->lines[graph->recorded->node_lines[i]];
        const uint64_t end_ns = measure->start_ns[i] + node->duration_ns;

        if (!line->has_nodes) {
            line->begin_ns = measure->start_ns[i];
            line->frame = node->frame;
            line->has_nodes = true;
        }
        line->end_ns = end_ns > line->end_ns ? end_ns : line->end_ns;
        line->has_steps |= node->kind == CPT_DAG_STEP;
        line->has_network |= node->kind == CPT_DAG_NETWORK;
        line->has_call |= node->kind == CPT_DAG_CALL;
        line->network_ns += node->kind == CPT_DAG_NETWORK ? node->duration_ns : 0;
        line->call_ns += node->kind == CPT_DAG_CALL ? node->duration_ns : 0;
    }
    return status;
}

static struct cpt_bytes name_of(const struct cpti_whatif_measure *measure,
                                const struct cpti_kept_graph *graph, uint32_t line)
{
    return graph->recorded->frames[measure->lines[line].frame].name;
}

/* --- Visits and calls --- */

/* The visit that the task @line belongs to. */
static uint32_t visit_of(const struct cpt_dag_recorded *recorded, uint32_t line)
{
    const uint32_t call = recorded->lines[line].caller;

    return call < recorded->line_count ? call + 1 : 0;
}

static void find_visits(struct cpti_whatif_measure *measure,
                        const struct cpt_dag_recorded *recorded)
{
    for (size_t i = 0; i <= measure->line_count; i++) {
        measure->visits[i] = (struct measured_visit){.line = CPT_DAG_NONE};
    }
    for (uint32_t i = 0; i < measure->line_count; i++) {
        const struct measured_line *line = &measure->lines[i];
        struct measured_visit *visit = &measure->visits[visit_of(recorded, i)];

        if (recorded->lines[i].is_call != 0 || !line->has_steps) {
            continue;
        }
        if (visit->line == CPT_DAG_NONE) {
            visit->line = i;
            visit->begin_ns = line->begin_ns;
        }
        visit->begin_ns =
            line->begin_ns < visit->begin_ns ? line->begin_ns : visit->begin_ns;
        visit->end_ns = line->end_ns > visit->end_ns ? line->end_ns : visit->end_ns;
    }
}

static int compare_calls(const void *left, const void *right)
{
    const struct measured_call *a = left;
    const struct measured_call *b = right;

    if (a->visit != b->visit) {
        return a->visit < b->visit ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->line > b->line) - (a->line < b->line);
}

/* The calls by who makes them, within the time of that. */
static void find_calls(struct cpti_whatif_measure *measure,
                       const struct cpt_dag_recorded *recorded)
{
    measure->call_count = 0;
    for (uint32_t i = 0; i < measure->line_count; i++) {
        const struct measured_line *line = &measure->lines[i];
        const uint32_t issuer = recorded->lines[i].caller;
        const struct measured_visit *visit = NULL;
        struct measured_call *call = &measure->calls[measure->call_count];

        if (recorded->lines[i].is_call == 0 || !line->has_nodes ||
            issuer >= recorded->line_count) {
            continue;
        }
        call->visit = visit_of(recorded, issuer);
        call->line = i;
        visit = &measure->visits[call->visit];
        call->begin_ns =
            line->begin_ns < visit->end_ns ? line->begin_ns : visit->end_ns;
        call->end_ns = line->end_ns < visit->end_ns ? line->end_ns : visit->end_ns;
        measure->call_count++;
    }
    qsort(measure->calls, measure->call_count, sizeof *measure->calls, compare_calls);
}

/* In how much of each visit a call of it is out. */
static void sum_calls(struct cpti_whatif_measure *measure)
{
    uint32_t last = CPT_DAG_NONE;
    uint64_t until_ns = 0;

    for (size_t i = 0; i < measure->call_count; i++) {
        const struct measured_call *call = &measure->calls[i];
        uint64_t from_ns = call->begin_ns;

        if (call->visit != last) {
            last = call->visit;
            until_ns = 0;
        }
        from_ns = from_ns > until_ns ? from_ns : until_ns;
        if (call->end_ns > from_ns) {
            measure->visits[last].out_ns += call->end_ns - from_ns;
            until_ns = call->end_ns;
        }
    }
}

/* --- Times --- */

static uint64_t hash_of(uint64_t seed, struct cpt_bytes name)
{
    return cpt_hash_bytes(seed, name.data, name.bytes);
}

/* Whether times of @service are wanted, which is noted. */
static bool takes(struct cpti_whatif_measure *measure, struct cpt_bytes service)
{
    char room[CPT_NAME_BYTES_MAX + 1];
    cpt_name_id id = 0;

    if (measure->services != NULL && service.bytes != 0) {
        (void)cpt_names_add(measure->services, cpt_name_bound(service, room), &id);
    }
    if (strcmp(measure->service, "*") != 0 &&
        cpt_bytes_equal(service, cpt_bytes_of(measure->service)) == 0) {
        return false;
    }
    measure->has_service = true;
    return true;
}

static void add_time(struct cpti_whatif_measure *measure, uint64_t key, uint64_t ns,
                     uint32_t line, bool is_own)
{
    measure->times[measure->time_count++] =
        (struct cpti_measured_time){cpti_hash_mix(key), ns, line, is_own};
}

static void add_own_times(struct cpti_whatif_measure *measure,
                          const struct cpti_kept_graph *graph)
{
    for (size_t i = 0; i <= measure->line_count; i++) {
        const struct measured_visit *visit = &measure->visits[i];

        if (visit->line != CPT_DAG_NONE) {
            const struct cpt_bytes name = name_of(measure, graph, visit->line);

            if (takes(measure, cpt_name_service(name))) {
                add_time(measure, hash_of(SEED, name),
                         visit->end_ns - visit->begin_ns - visit->out_ns, visit->line,
                         true);
            }
        }
    }
}

/* What is between a caller and its callee; or all of a call, if that is not known. */
static void add_call_times(struct cpti_whatif_measure *measure,
                           const struct cpti_kept_graph *graph)
{
    for (size_t i = 0; i < measure->call_count; i++) {
        const struct measured_call *call = &measure->calls[i];
        const struct measured_line *line = &measure->lines[call->line];
        const uint32_t issuer = measure->visits[call->visit].line;
        const struct cpt_bytes name = name_of(measure, graph, call->line);
        struct cpt_bytes service = {"", 0};
        bool is_taken = false;

        if (issuer != CPT_DAG_NONE) {
            service = cpt_name_service(name_of(measure, graph, issuer));
        }
        is_taken = takes(measure, cpt_name_service(name));
        is_taken = takes(measure, service) || is_taken;
        if (is_taken && (line->has_network || line->has_call)) {
            add_time(measure,
                     cpti_hash_mix(hash_of(SEED + 1 + line->has_call, service)) ^
                         hash_of(SEED, name),
                     line->network_ns + line->call_ns, call->line, false);
        }
    }
}

/* --- Kinds of requests --- */

/* Whether the entry made the call @line. */
static bool is_of_entry(const struct cpt_dag_recorded *recorded, uint32_t line)
{
    const uint32_t issuer = recorded->lines[line].caller;

    return issuer < recorded->line_count && visit_of(recorded, issuer) == 0;
}

/* The entry, the calls of it, and theirs, in any order. */
static uint64_t kind_of(struct cpti_whatif_measure *measure,
                        const struct cpti_kept_graph *graph)
{
    const struct cpt_dag_recorded *recorded = graph->recorded;
    uint64_t kind = hash_of(SEED, measure->entry);

    for (size_t i = 0; i < measure->call_count; i++) {
        const struct measured_call *call = &measure->calls[i];
        const struct cpt_dag_line *line = &recorded->lines[call->line];
        const uint64_t hash = hash_of(SEED, name_of(measure, graph, call->line));

        if (line->outcome == CPT_CALL_KIND) {
            continue;
        }
        if (call->visit == 0) {
            kind += cpti_hash_mix(hash);
        } else if (is_of_entry(recorded, call->visit - 1)) {
            const struct cpt_bytes above = name_of(measure, graph, call->visit - 1);

            kind += cpti_hash_mix(hash ^ cpti_hash_mix(hash_of(SEED + 1, above)));
        }
    }
    return cpti_hash_mix(kind);
}

static int compare_names(const void *left, const void *right, void *context)
{
    const struct cpt_bytes *names = context;
    const struct measured_call *a = left;
    const struct measured_call *b = right;

    return cpti_compare_bytes(names[a->line], names[b->line]);
}

/* Puts the calls of the entry first, by their names, which go to @names by line; how
 * many there are. */
static size_t sort_calls(struct cpti_whatif_measure *measure,
                         const struct cpti_kept_graph *graph, struct cpt_bytes *names)
{
    size_t count = 0;

    for (size_t i = 0; i < measure->call_count; i++) {
        const struct measured_call call = measure->calls[i];

        if (call.visit == 0 &&
            graph->recorded->lines[call.line].outcome != CPT_CALL_KIND) {
            names[call.line] = name_of(measure, graph, call.line);
            measure->calls[count++] = call;
        }
    }
    qsort_r(measure->calls, count, sizeof *measure->calls, compare_names, names);
    return count;
}

void cpti_whatif_measure_calls(struct cpti_whatif_measure *measure,
                               const struct cpti_kept_graph *graph, char *text,
                               size_t capacity)
{
    static const char more[] = ", \u2026";
    struct cpt_bytes *names =
        cpt_alloc_array(NULL, NULL, measure->line_count + 1, sizeof *names);
    const size_t count = names != NULL ? sort_calls(measure, graph, names) : 0;
    size_t bytes = 0;

    text[0] = '\0';
    for (size_t i = 0; i < count;) {
        const struct cpt_bytes name = names[measure->calls[i].line];
        const size_t room = capacity - bytes - sizeof more;
        size_t end = i + 1;
        int needed = 0;

        while (end < count &&
               cpt_bytes_equal(names[measure->calls[end].line], name) != 0) {
            end++;
        }
        needed = snprintf(text + bytes, room, "%s%.*s", i == 0 ? "" : ", ",
                          (int)name.bytes, name.data);
        if (end - i > 1 && needed >= 0 && (size_t)needed < room) {
            needed += snprintf(text + bytes + needed, room - (size_t)needed,
                               " \u00d7%zu", end - i);
        }
        if (needed < 0 || (size_t)needed >= room) {
            memcpy(text + bytes, &more[i == 0 ? 2 : 0], sizeof more - (i == 0 ? 2 : 0));
            break;
        }
        bytes += (size_t)needed;
        i = end;
    }
    cpt_alloc_free(NULL, names);
}

/* --- All of it --- */

cpt_status cpti_whatif_measure(struct cpti_whatif_measure *measure,
                               const struct cpti_kept_graph *graph)
{
    const struct cpt_dag_recorded *recorded = graph->recorded;
    cpt_status status = make_room(measure, recorded);

    measure->line_count = recorded->line_count;
    measure->time_count = 0;
    if (status == CPT_OK) {
        status = find_lines(measure, graph);
    }
    if (status != CPT_OK) {
        return status;
    }
    find_visits(measure, recorded);
    find_calls(measure, recorded);
    sum_calls(measure);
    add_own_times(measure, graph);
    add_call_times(measure, graph);
    measure->entry = measure->visits[0].line != CPT_DAG_NONE
                         ? name_of(measure, graph, measure->visits[0].line)
                         : (struct cpt_bytes){"", 0};
    measure->kind = kind_of(measure, graph);
    return CPT_OK;
}

void cpti_whatif_measure_deinit(struct cpti_whatif_measure *measure)
{
    cpt_alloc_free(NULL, measure->lines);
    cpt_alloc_free(NULL, measure->visits);
    cpt_alloc_free(NULL, measure->calls);
    cpt_alloc_free(NULL, measure->times);
    cpt_alloc_free(NULL, measure->duration_ns);
    cpt_alloc_free(NULL, measure->start_ns);
}
