/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* waits.c - asks services what their requests wait for; see waits.h */
#include "cpt/cli/live/waits.h"

#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES_MAX = 256 << 20, TASK_DEPTH_MAX = 40 };

/* --- Services --- */

/* The service at @place, asked later if it is new; CPTI_WAITS_NONE: it is not to be
 * asked, or there are too many. */
static uint32_t service_at(struct cpti_waits *waits, const struct cpti_place *place)
{
    struct cpti_wait_service *made = NULL;

    for (uint32_t i = 0; i < waits->service_count; i++) {
        if (strcmp(waits->services[i].place.text, place->text) == 0) {
            return i;
        }
    }
    if (!place->is_loopback && !waits->is_remote && waits->service_count != 0) {
        return CPTI_WAITS_NONE;
    }
    if (waits->service_count == CPTI_WAITS_SERVICES_MAX) {
        waits->left_out++;
        return CPTI_WAITS_NONE;
    }
    made = &waits->services[waits->service_count];
    memset(made, 0, sizeof *made);
    made->place = *place;
    made->name = cpt_bytes_of("?");
    return waits->service_count++;
}

/* --- Requests and their waits --- */

/* A table of @count_max, all zero. */
static void *table(struct cpti_waits *waits, size_t count_max, size_t bytes)
{
    return cpt_arena_take(&waits->arena, count_max * bytes);
}

static void add_edge(struct cpti_waits *waits, const struct cpti_json_value *value)
{
    struct cpti_wait_edge *edge = &waits->edges[waits->edge_count++];
    struct cpti_place place;

    edge->value = value;
    edge->target = CPTI_WAITS_NONE;
    if (cpti_json_is(value, "kind", "call")) {
        const cpt_status status = cpti_place_read(cpti_json_string(value, "target"),
                                                  waits->is_remote, &place, NULL);

        waits->is_starved |= status == CPT_NO_MEMORY;
        if (status == CPT_OK) {
            edge->target = service_at(waits, &place);
        }
    }
}

/* Adds what @tasks wait for, and the tasks of their components: at most TASK_DEPTH_MAX
 * of them within one another. */
static void add_tasks(struct cpti_waits *waits, struct cpti_wait_request *request,
                      const struct cpti_json_value *tasks, unsigned depth)
{
    const struct cpti_json_value *task = cpti_json_first(tasks);

    for (; task != NULL; task = task->next) {
        const struct cpti_json_value *value =
            cpti_json_first(cpti_json_member(task, "for"));
        struct cpti_wait_group *group = NULL;
        uint32_t count = 0;

        if (!cpti_json_is(task, "state", "waits") ||
            cpti_json_number(task, "left_out") != 0 || value == NULL) {
            request->is_free = true;
            continue;
        }
        if (waits->group_count == CPTI_WAITS_EDGES_MAX || depth > TASK_DEPTH_MAX) {
            request->is_free = true;
            waits->left_out++;
            return;
        }
        group = &waits->groups[waits->group_count++];
        group->task = task;
        group->depth = depth;
        group->edge_first = waits->edge_count;
        for (; value != NULL && waits->edge_count < CPTI_WAITS_EDGES_MAX;
             value = value->next) {
            add_edge(waits, value);
            count++;
        }
        request->is_free |= value != NULL;
        group->edge_count = count;
        group->wanted = cpti_json_member(task, "wanted") != NULL
                            ? cpti_json_number(task, "wanted")
                            : count;
        value = cpti_json_first(cpti_json_member(task, "for"));
        for (; value != NULL; value = value->next) {
            if (cpti_json_member(value, "tasks") != NULL) {
                add_tasks(waits, request, cpti_json_member(value, "tasks"), depth + 1);
            }
        }
    }
}

static void add_request(struct cpti_waits *waits, uint32_t service,
                        const struct cpti_json_value *value)
{
    const struct cpti_json_value *tasks = cpti_json_member(value, "tasks");
    struct cpti_wait_request *request = NULL;

    if (waits->request_count == CPTI_WAITS_REQUESTS_MAX) {
        waits->left_out++;
        return;
    }
    request = &waits->requests[waits->request_count++];
    request->service = service;
    request->value = value;
    request->trace_id = cpti_json_string(value, "trace_id");
    request->method = cpti_json_string(value, "method");
    request->id = cpti_json_number(value, "id");
    request->us = cpti_json_number(value, "us");
    request->is_free = cpti_json_first(tasks) == NULL ||
                       cpti_json_number(value, "tasks_left_out") != 0;
    request->group_first = waits->group_count;
    add_tasks(waits, request, tasks, 0);
    request->group_count = waits->group_count - request->group_first;
}

static cpt_status ask(struct cpti_waits *waits, uint32_t index)
{
    struct cpti_wait_service *service = &waits->services[index];
    const struct cpti_json_value *root = NULL;
    const struct cpti_json_value *value = NULL;
    char *body = NULL;
    size_t bytes = 0;
    cpt_status status = cpti_place_get(&service->place, waits->path, waits->timeout_ms,
                                       &body, &bytes, &service->error);

    if (status != CPT_OK) {
        return status;
    }
    root =
        cpti_json_read((struct cpt_bytes){body, bytes}, &waits->arena, &service->error);
    free(body);
    if (root == NULL) {
        return service->error.status;
    }
    value = cpti_json_member(root, "requests");
    if (value == NULL || value->type != CPTI_JSON_ARRAY) {
        return cpt_error_set(&service->error, CPT_CORRUPT, 0,
                             "its answer has no requests");
    }
    service->is_known = true;
    service->name = cpti_json_string(root, "service");
    service->left_out = cpti_json_number(root, "left_out");
    for (value = value->first; value != NULL; value = value->next) {
        add_request(waits, index, value);
    }
    return CPT_OK;
}

/* --- Where edges lead --- */

static void add_end(struct cpti_wait_edge *edge, uint32_t end)
{
    for (uint32_t i = 0; i < edge->end_count; i++) {
        if (edge->ends[i] == end) {
            return;
        }
    }
    if (edge->end_count == CPTI_WAITS_ENDS_MAX) {
        edge->may_end = true; /* one of the others may end it */
        return;
    }
    edge->ends[edge->end_count++] = end;
}

static bool has_lock(const struct cpti_json_value *holds, uint64_t lock)
{
    const struct cpti_json_value *hold = cpti_json_first(holds);

    while (hold != NULL && cpti_json_number(hold, "lock") != lock) {
        hold = hold->next;
    }
    return hold != NULL;
}

/* Whether @request, or a component that a task of it waits for, holds @lock. */
static bool holds(const struct cpti_waits *waits,
                  const struct cpti_wait_request *request, uint64_t lock)
{
    if (has_lock(cpti_json_member(request->value, "holds"), lock)) {
        return true;
    }
    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct cpti_wait_group *group = &waits->groups[request->group_first + i];

        for (uint32_t k = 0; k < group->edge_count; k++) {
            if (has_lock(cpti_json_member(waits->edges[group->edge_first + k].value,
                                          "holds"),
                         lock)) {
                return true;
            }
        }
    }
    return false;
}

static void lead_call(struct cpti_waits *waits, uint32_t from,
                      struct cpti_wait_edge *edge)
{
    const struct cpti_wait_request *caller = &waits->requests[from];
    const struct cpt_bytes method = cpti_json_string(edge->value, "method");

    for (uint32_t i = 0; i < waits->request_count; i++) {
        const struct cpti_wait_request *request = &waits->requests[i];

        if (i != from && request->service == edge->target &&
            caller->trace_id.bytes != 0 &&
            cpt_bytes_equal(request->trace_id, caller->trace_id) &&
            cpt_bytes_equal(request->method, method)) {
            add_end(edge, i);
        }
    }
    edge->may_end |= edge->end_count == 0;
}

static void lead_lock(struct cpti_waits *waits, uint32_t from,
                      struct cpti_wait_edge *edge)
{
    const uint64_t lock = cpti_json_number(edge->value, "lock");
    const uint64_t capacity = cpti_json_number(edge->value, "capacity");

    for (uint32_t i = 0; i < waits->request_count; i++) {
        if (waits->requests[i].service == waits->requests[from].service &&
            holds(waits, &waits->requests[i], lock)) {
            add_end(edge, i);
        }
    }
    /* A holder that is in no list may release it. */
    edge->may_end |= edge->end_count < (capacity != 0 ? capacity : 1);
}

static void lead_edges(struct cpti_waits *waits, uint32_t from)
{
    const struct cpti_wait_request *request = &waits->requests[from];

    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct cpti_wait_group *group = &waits->groups[request->group_first + i];

        for (uint32_t k = 0; k < group->edge_count; k++) {
            struct cpti_wait_edge *edge = &waits->edges[group->edge_first + k];

            if (cpti_json_is(edge->value, "kind", "call")) {
                lead_call(waits, from, edge);
            } else if (cpti_json_is(edge->value, "kind", "lock")) {
                lead_lock(waits, from, edge);
            } else if (cpti_json_is(edge->value, "kind", "run")) {
                edge->may_end = cpti_json_member(edge->value, "tasks") == NULL;
            } else { /* a task is judged by its own waits */
                edge->may_end = !cpti_json_is(edge->value, "kind", "task");
            }
        }
    }
}

/* --- A look --- */

static int older(const void *left, const void *right)
{
    const struct cpti_wait_request *a = left;
    const struct cpti_wait_request *b = right;

    if (a->service != b->service) {
        return a->service < b->service ? -1 : 1;
    }
    if (a->us != b->us) {
        return a->us > b->us ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

cpt_status cpti_waits_look(struct cpti_waits *waits, const struct cpti_place *place,
                           struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    cpt_arena_init(&waits->arena, NULL, 1 << 16, ARENA_BYTES_MAX);
    waits->requests = table(waits, CPTI_WAITS_REQUESTS_MAX, sizeof *waits->requests);
    waits->groups = table(waits, CPTI_WAITS_EDGES_MAX, sizeof *waits->groups);
    waits->edges = table(waits, CPTI_WAITS_EDGES_MAX, sizeof *waits->edges);
    if (waits->requests == NULL || waits->groups == NULL || waits->edges == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    }
    (void)service_at(waits, place);
    for (uint32_t i = 0; i < waits->service_count; i++) {
        status = ask(waits, i);
        if (status == CPT_NO_MEMORY || (status != CPT_OK && i == 0)) {
            return cpt_error_set(error, status, 0, "%s",
                                 waits->services[i].error.sentence);
        }
    }
    if (waits->is_starved) { /* a service was not asked, and nothing tells it */
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    }
    qsort(waits->requests, waits->request_count, sizeof *waits->requests, older);
    for (uint32_t i = 0; i < waits->request_count; i++) {
        lead_edges(waits, i);
    }
    status = cpti_waits_find_deadlocks(waits);
    return status == CPT_OK ? CPT_OK : cpt_error_set(error, status, 0, "no memory");
}

void cpti_waits_deinit(struct cpti_waits *waits)
{
    cpt_arena_deinit(&waits->arena);
}
