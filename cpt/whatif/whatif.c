/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif.c - packs recorded requests for many replays
 *
 * Frames of all requests are numbered together, by name and kind, so that a plan finds
 * the terms of a node with one read. The nodes of an occurrence, which share line and
 * frame, are chained: a change of its time needs all of them.
 */
#include "cpt/whatif/whatif.h"

#include "cpt/dag/dag.h"

#include <string.h>

enum { KINDS = CPT_DAG_NETWORK + 1 };
enum { COMPONENTS_MAX = 64 };

struct cpt_whatif *cpt_whatif_new(const struct cpt_alloc *alloc)
{
    struct cpt_whatif *whatif = cpt_alloc_zeroed(alloc, sizeof *whatif);

    if (whatif != NULL) {
        whatif->alloc = alloc;
        whatif->names = cpt_names_new(alloc);
        whatif->executors = cpt_names_new(alloc);
        if (whatif->names == NULL || whatif->executors == NULL) {
            cpt_whatif_free(whatif);
            return NULL;
        }
    }
    return whatif;
}

void cpt_whatif_free(struct cpt_whatif *whatif)
{
    if (whatif == NULL) {
        return;
    }
    cpt_names_free(whatif->names);
    cpt_names_free(whatif->executors);
    cpt_alloc_free(whatif->alloc, whatif->numbers);
    cpt_alloc_free(whatif->alloc, whatif->frames);
    cpt_alloc_free(whatif->alloc, whatif->requests);
    cpt_alloc_free(whatif->alloc, whatif->duration_ns);
    cpt_alloc_free(whatif->alloc, whatif->frame);
    cpt_alloc_free(whatif->alloc, whatif->line);
    cpt_alloc_free(whatif->alloc, whatif->next);
    cpt_alloc_free(whatif->alloc, whatif->first);
    cpt_alloc_free(whatif->alloc, whatif->from);
    cpt_alloc_free(whatif->alloc, whatif->lines);
    cpt_alloc_free(whatif->alloc, whatif->moments);
    cpt_alloc_free(whatif->alloc, whatif->holders);
    cpt_alloc_free(whatif->alloc, whatif);
}

/* --- Adding a request --- */

static cpt_status add_name(struct cpt_whatif *whatif, struct cpt_bytes name,
                           cpt_name_id *id)
{
    char buffer[CPT_NAME_BYTES_MAX + 1];

    return cpt_names_add(whatif->names, cpt_name_bound(name, buffer), id);
}

/* The number of the frame @name, which is added if it is new. */
static cpt_status frame_of(struct cpt_whatif *whatif, const struct cpt_dag_name *name,
                           uint32_t *frame)
{
    cpt_name_id id = 0;
    size_t at = 0;
    cpt_status status = add_name(whatif, name->name, &id);

    if (status == CPT_OK) {
        at = (size_t)id * KINDS + name->kind;
        status = cpt_alloc_grow(whatif->alloc, (void **)&whatif->numbers,
                                &whatif->number_capacity, (size_t)(id + 1) * KINDS,
                                (size_t)CPT_NAMES_MAX * KINDS, sizeof *whatif->numbers);
    }
    if (status == CPT_OK) {
        for (; whatif->number_count < (size_t)(id + 1) * KINDS;
             whatif->number_count++) {
            whatif->numbers[whatif->number_count] = 0;
        }
        status = cpt_alloc_grow(whatif->alloc, (void **)&whatif->frames,
                                &whatif->frame_capacity, whatif->frame_count + 1,
                                CPT_DAG_FRAMES_MAX, sizeof *whatif->frames);
    }
    if (status != CPT_OK) {
        return status;
    }
    if (whatif->numbers[at] == 0) {
        whatif->frames[whatif->frame_count++] =
            (struct whatif_frame){id, (uint32_t)name->kind, 0};
        whatif->numbers[at] = (uint32_t)whatif->frame_count;
    }
    *frame = whatif->numbers[at] - 1;
    return CPT_OK;
}

/* Room for a request with @nodes, @edges, @lines and @doubt. */
static cpt_status grow(struct cpt_whatif *whatif, size_t nodes, size_t edges,
                       size_t lines, const struct cpt_doubt *doubt)
{
    struct {
        void **memory;
        size_t *capacity;
        size_t needed;
        size_t element_bytes;
    } arrays[] = {
        {(void **)&whatif->duration_ns, &whatif->duration_capacity,
         whatif->node_count + nodes, sizeof *whatif->duration_ns},
        {(void **)&whatif->frame, &whatif->frame_of_capacity,
         whatif->node_count + nodes, sizeof *whatif->frame},
        {(void **)&whatif->line, &whatif->line_of_capacity, whatif->node_count + nodes,
         sizeof *whatif->line},
        {(void **)&whatif->next, &whatif->next_capacity, whatif->node_count + nodes,
         sizeof *whatif->next},
        {(void **)&whatif->first, &whatif->first_capacity,
         whatif->first_count + nodes + 1, sizeof *whatif->first},
        {(void **)&whatif->from, &whatif->edge_capacity, whatif->edge_count + edges,
         sizeof *whatif->from},
        {(void **)&whatif->lines, &whatif->line_capacity, whatif->line_count + lines,
         sizeof *whatif->lines},
        {(void **)&whatif->moments, &whatif->moment_capacity,
         whatif->moment_count + (doubt != NULL ? doubt->moment_count : 0),
         sizeof *whatif->moments},
        {(void **)&whatif->holders, &whatif->holder_capacity,
         whatif->holder_count + (doubt != NULL ? doubt->holder_count : 0),
         sizeof *whatif->holders},
        {(void **)&whatif->requests, &whatif->request_capacity,
         whatif->request_count + 1, sizeof *whatif->requests},
    };
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == CPT_OK; i++) {
        status =
            cpt_alloc_grow(whatif->alloc, arrays[i].memory, arrays[i].capacity,
                           arrays[i].needed, (size_t)1 << 32, arrays[i].element_bytes);
    }
    return status;
}

static size_t line_count_of(const struct cpt_dag *dag,
                            const struct cpt_dag_recorded *recorded)
{
    return recorded->node_lines != NULL ? recorded->line_count : dag->shape.node_count;
}

/* The line of node @node: without lines, each node is one. */
static uint32_t line_of(const struct cpt_dag_recorded *recorded, uint32_t node)
{
    return recorded->node_lines != NULL ? recorded->node_lines[node] : node;
}

static void pack_nodes(struct cpt_whatif *whatif, const struct cpt_dag *dag,
                       const struct cpt_dag_recorded *recorded)
{
    const size_t at = whatif->node_count;

    for (size_t i = 0; i < dag->shape.node_count; i++) {
        const uint32_t node = dag->order[i];

        whatif->duration_ns[at + i] = dag->shape.nodes[node].duration_ns;
        whatif->line[at + i] = line_of(recorded, node);
        whatif->next[at + i] = CPT_DAG_NONE;
        whatif->first[whatif->first_count + i] = dag->first[i];
    }
    whatif->first[whatif->first_count + dag->shape.node_count] =
        dag->first[dag->shape.node_count];
    if (dag->shape.edge_count != 0) {
        memcpy(&whatif->from[whatif->edge_count], dag->from,
               dag->shape.edge_count * sizeof *whatif->from);
    }
}

/* The lines, whose nodes have consecutive numbers. */
static void pack_lines(struct cpt_whatif *whatif, const struct cpt_dag *dag,
                       const struct cpt_dag_recorded *recorded)
{
    const size_t count = line_count_of(dag, recorded);
    struct whatif_line *lines = &whatif->lines[whatif->line_count];

    for (size_t i = 0; i < count; i++) {
        lines[i] = (struct whatif_line){.begin = CPT_DAG_NONE,
                                        .end = CPT_DAG_NONE,
                                        .caller = CPT_DAG_NONE,
                                        .own = CPT_DAG_NONE};
        if (recorded->node_lines == NULL) {
            continue;
        }
        lines[i].caller = recorded->lines[i].caller < count ? recorded->lines[i].caller
                                                            : CPT_DAG_NONE;
        lines[i].is_call = recorded->lines[i].is_call;
        lines[i].outcome = recorded->lines[i].outcome;
        lines[i].occurrence =
            recorded->lines[i].occurrence <= count ? recorded->lines[i].occurrence : 0;
        /* any number until name_executors() */
        lines[i].executor =
            lines[i].is_call == 0 && recorded->lines[i].executor.bytes != 0;
    }
}

/* --- Executors ---
 *
 * Each process has executors of its own, though all may call them "pool". Which process
 * a task ran in is not recorded; its service is: that of the run it belongs to, or of
 * the run that called its component. */

/* The line of the call that the process of the task @line answers; CPT_DAG_NONE: of
 * none, it is the one where the request entered. Components have the process of who
 * called them. */
static uint32_t process_of(const struct whatif_line *lines, uint32_t line)
{
    uint32_t call = lines[line].caller;

    for (unsigned depth = 0; depth < COMPONENTS_MAX && call != CPT_DAG_NONE; depth++) {
        const uint32_t issuer = lines[call].caller;

        if (lines[call].outcome != CPT_CALL_COMPONENT || issuer == CPT_DAG_NONE) {
            break;
        }
        call = lines[issuer].caller;
    }
    return call;
}

/* The service of @line, by its name; may be empty. */
static struct cpt_bytes service_of(const struct cpt_whatif *whatif,
                                   const struct whatif_line *line)
{
    return line->begin != CPT_DAG_NONE
               ? cpt_name_service(whatif_name(whatif, line->frame).name)
               : (struct cpt_bytes){"", 0};
}

static cpt_status add_executor(struct cpt_whatif *whatif, struct cpt_bytes service,
                               struct cpt_bytes name, uint32_t *executor)
{
    char text[2 * CPT_NAME_BYTES_MAX + 2];
    char bounded[CPT_NAME_BYTES_MAX + 1];
    char shorter[CPT_NAME_BYTES_MAX + 1];
    size_t bytes = 0;
    cpt_name_id id = 0;
    cpt_status status = CPT_OK;

    if (service.bytes != 0) {
        service = cpt_name_bound(service, shorter);
        memcpy(text, service.data, service.bytes);
        memcpy(text + service.bytes, ": ", 2);
        bytes = service.bytes + 2;
    }
    name = cpt_name_bound(name, bounded);
    memcpy(text + bytes, name.data, name.bytes);
    bytes += name.bytes;
    status =
        cpt_names_add(whatif->executors,
                      cpt_name_bound((struct cpt_bytes){text, bytes}, bounded), &id);
    *executor = id + 1;
    return status;
}

/* Numbers the executors of the tasks. */
static cpt_status name_executors(struct cpt_whatif *whatif,
                                 const struct cpt_dag_recorded *recorded, size_t count)
{
    struct whatif_line *lines = &whatif->lines[whatif->line_count];
    uint32_t *first = cpt_alloc_array(whatif->alloc, NULL, count + 1, sizeof *first);
    cpt_status status = first != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (size_t i = 0; i <= count && status == CPT_OK; i++) {
        first[i] = CPT_DAG_NONE;
    }
    /* the first task of each run that has a service; the last place is the entry's */
    for (uint32_t i = 0; i < count && status == CPT_OK; i++) {
        const size_t run = lines[i].caller != CPT_DAG_NONE ? lines[i].caller : count;

        if (lines[i].executor != 0 && first[run] == CPT_DAG_NONE &&
            service_of(whatif, &lines[i]).bytes != 0) {
            first[run] = i;
        }
    }
    for (uint32_t i = 0; i < count && status == CPT_OK; i++) {
        const uint32_t call = process_of(lines, i);
        const uint32_t named = first[call != CPT_DAG_NONE ? call : count];

        if (lines[i].executor != 0) {
            status =
                add_executor(whatif,
                             named != CPT_DAG_NONE ? service_of(whatif, &lines[named])
                                                   : (struct cpt_bytes){"", 0},
                             recorded->lines[i].executor, &lines[i].executor);
        }
    }
    cpt_alloc_free(whatif->alloc, first);
    return status;
}

bool cpti_whatif_has_executor(const struct cpt_whatif *whatif,
                              const struct cpt_whatif_term *term, size_t executor)
{
    const struct cpt_bytes name = cpt_whatif_executor(whatif, executor);
    const struct cpt_bytes service = cpt_name_service(name);
    const size_t skipped = service.bytes != 0 ? service.bytes + 2 : 0;
    const struct cpt_dag_name names[] = {
        {name, CPT_DAG_STEP},
        {service, CPT_DAG_STEP},
        {{name.data + skipped, name.bytes - skipped}, CPT_DAG_STEP}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cpt_whatif_has(&term->frames, &names[i]) != 0) {
            return true;
        }
    }
    return false;
}

/* Whether two lines are one occurrence. */
static bool are_one(const struct whatif_line *lines, uint32_t left, uint32_t right)
{
    return left == right || (lines[left].occurrence != 0 &&
                             lines[left].occurrence == lines[right].occurrence);
}

/* The frames of the nodes; what each line is called, and where it begins and ends; and
 * the chains of the occurrences. @last is scratch with an element for each frame of the
 * request: its last node so far. */
static cpt_status pack_frames(struct cpt_whatif *whatif, const struct cpt_dag *dag,
                              const struct cpt_dag_recorded *recorded, uint32_t *last)
{
    struct whatif_line *lines = &whatif->lines[whatif->line_count];
    uint32_t *frames = &whatif->frame[whatif->node_count];
    uint32_t *next = &whatif->next[whatif->node_count];
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < dag->shape.frame_count; i++) {
        last[i] = CPT_DAG_NONE;
    }
    for (uint32_t node = 0; node < dag->shape.node_count && status == CPT_OK; node++) {
        const uint32_t own = dag->shape.nodes[node].frame;
        const uint32_t at = dag->place[node];
        struct whatif_line *line = &lines[line_of(recorded, node)];
        uint32_t number = 0;

        status = frame_of(whatif, &recorded->frames[own], &number);
        frames[at] = number;
        if (status == CPT_OK) {
            whatif->frames[number].node_count++;
        }
        if (last[own] != CPT_DAG_NONE &&
            are_one(lines, line_of(recorded, last[own]), line_of(recorded, node))) {
            next[dag->place[last[own]]] = at;
            frames[at] |= WHATIF_NOT_FIRST;
        }
        last[own] = node;
        line->end = at;
        if (line->begin == CPT_DAG_NONE) {
            line->begin = at;
            line->frame = number;
            if (status == CPT_OK && line->executor != 0) {
                const struct cpt_dag_name queue = {recorded->frames[own].name,
                                                   CPT_DAG_QUEUE};

                status = frame_of(whatif, &queue, &line->queue_frame);
            }
        }
    }
    return status;
}

/* --- Doubts --- */

static void pack_doubt(struct cpt_whatif *whatif, const struct cpt_dag *dag,
                       const struct cpt_dag_recorded *recorded)
{
    const struct cpt_doubt *doubt = recorded->doubt;
    struct whatif_line *lines = &whatif->lines[whatif->line_count];

    memcpy(&whatif->moments[whatif->moment_count], doubt->moments,
           doubt->moment_count * sizeof *whatif->moments);
    if (doubt->holder_count != 0) {
        memcpy(&whatif->holders[whatif->holder_count], doubt->holders,
               doubt->holder_count * sizeof *whatif->holders);
    }
    for (uint32_t node = 0; node < dag->shape.node_count; node++) {
        const uint32_t frame = dag->shape.nodes[node].frame;
        const uint32_t number = line_of(recorded, node);
        struct whatif_line *line = &lines[number];

        if (cpti_doubt_is_own(&recorded->lines[number], recorded->frames[frame].kind)) {
            line = line->occurrence != 0 ? &lines[line->occurrence - 1] : line;
            line->own = line->own == CPT_DAG_NONE ? dag->place[node] : line->own;
        }
    }
}

static uint32_t larger(uint32_t one, size_t other)
{
    return one > other ? one : (uint32_t)other;
}

/* Counts the request that was packed behind the others. */
static void count_request(struct cpt_whatif *whatif, const struct cpt_dag *dag,
                          size_t lines, const struct cpt_doubt *doubt,
                          uint64_t arrival_ns)
{
    const struct cpt_dag_shape *shape = &dag->shape;

    whatif->requests[whatif->request_count++] = (struct whatif_request){
        .node = whatif->node_count,
        .first = whatif->first_count,
        .edge = whatif->edge_count,
        .line = whatif->line_count,
        .moment = whatif->moment_count,
        .holder = whatif->holder_count,
        .moment_count = doubt != NULL ? (uint32_t)doubt->moment_count : 0,
        .node_count = (uint32_t)shape->node_count,
        .edge_count = (uint32_t)shape->edge_count,
        .line_count = (uint32_t)lines,
        .end = shape->end != CPT_DAG_NONE ? dag->place[shape->end] : CPT_DAG_NONE,
        .arrival_ns = arrival_ns,
        .latency_ns = dag->latency_ns};
    whatif->node_count += shape->node_count;
    whatif->first_count += shape->node_count + 1;
    whatif->edge_count += shape->edge_count;
    whatif->line_count += lines;
    if (doubt != NULL) {
        whatif->moment_count += doubt->moment_count;
        whatif->holder_count += doubt->holder_count;
        whatif->moment_max = larger(whatif->moment_max, doubt->moment_count);
    }
    whatif->node_max = larger(whatif->node_max, shape->node_count);
    whatif->edge_max = larger(whatif->edge_max, shape->edge_count);
    whatif->line_max = larger(whatif->line_max, lines);
}

cpt_status cpt_whatif_add(struct cpt_whatif *whatif, const struct cpt_dag *dag,
                          const struct cpt_dag_recorded *recorded, uint64_t arrival_ns)
{
    const size_t nodes = dag->shape.node_count;
    const size_t lines = line_count_of(dag, recorded);
    const struct cpt_doubt *doubt = recorded->doubt != NULL &&
                                            recorded->node_lines != NULL &&
                                            cpti_doubt_is_whole(recorded->doubt, lines)
                                        ? recorded->doubt
                                        : NULL;
    uint32_t *last = NULL;
    cpt_status status = CPT_OK;

    if (whatif->request_count >= CPT_WHATIF_REQUESTS_MAX || nodes == 0) {
        return CPT_LIMIT;
    }
    status = grow(whatif, nodes, dag->shape.edge_count, lines, doubt);
    if (status == CPT_OK) {
        last =
            cpt_alloc_array(whatif->alloc, NULL, dag->shape.frame_count, sizeof *last);
        status = last != NULL ? CPT_OK : CPT_NO_MEMORY;
    }
    if (status == CPT_OK) {
        pack_nodes(whatif, dag, recorded);
        pack_lines(whatif, dag, recorded);
        status = pack_frames(whatif, dag, recorded, last);
    }
    if (status == CPT_OK && recorded->node_lines != NULL) {
        status = name_executors(whatif, recorded, lines);
    }
    if (status == CPT_OK && doubt != NULL) {
        pack_doubt(whatif, dag, recorded);
    }
    if (status == CPT_OK) {
        count_request(whatif, dag, lines, doubt, arrival_ns);
    }
    cpt_alloc_free(whatif->alloc, last);
    return status;
}

size_t cpt_whatif_count(const struct cpt_whatif *whatif)
{
    return whatif->request_count;
}

size_t cpt_whatif_edge_count(const struct cpt_whatif *whatif)
{
    return whatif->edge_count;
}

uint64_t cpt_whatif_recorded_ns(const struct cpt_whatif *whatif, size_t request)
{
    return whatif->requests[request].latency_ns;
}

size_t cpt_whatif_frame_count(const struct cpt_whatif *whatif)
{
    return whatif->frame_count;
}

struct cpt_dag_name cpt_whatif_frame(const struct cpt_whatif *whatif, size_t frame)
{
    return whatif_name(whatif, frame);
}

size_t cpt_whatif_executor_count(const struct cpt_whatif *whatif)
{
    return cpt_names_count(whatif->executors);
}

struct cpt_bytes cpt_whatif_executor(const struct cpt_whatif *whatif, size_t executor)
{
    return cpt_names_at(whatif->executors, (cpt_name_id)executor);
}

struct whatif_view cpti_whatif_recorded(const struct cpt_whatif *whatif, size_t request)
{
    const struct whatif_request *of = &whatif->requests[request];

    return (struct whatif_view){.request = of,
                                .first = &whatif->first[of->first],
                                .from = whatif->from != NULL /* there is an edge */
                                            ? &whatif->from[of->edge]
                                            : NULL,
                                .duration_ns = &whatif->duration_ns[of->node]};
}
