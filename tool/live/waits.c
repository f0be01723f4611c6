/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* waits.c - asks services what their requests wait for; see waits.h */
#include "tool/live/waits.h"

#include "cpt/base/now.h"

#include <stdlib.h>

/* What tables take, and all answers together. */
enum { ARENA_BYTES_MAX = 64 << 20, ANSWER_BYTES_MAX = 256 << 20, TASK_DEPTH_MAX = 40 };

/* --- Requests and their waits --- */

/* A table of @count_max, all zero. */
static void *table(struct cpti_waits *waits, size_t count_max, size_t bytes)
{
    return cpt_arena_take(&waits->arena, count_max * bytes);
}

static void add_edge(struct cpti_waits *waits, struct cpti_doc_value value)
{
    struct cpti_wait_edge *edge = &waits->edges[waits->edge_count++];

    edge->value = value;
    if (cpti_answer_is(value, "kind", "call") || cpti_answer_is(value, "kind", "run")) {
        cpti_waits_places(waits, edge);
    }
}

/* Adds what @tasks wait for, and the tasks of their components: at most TASK_DEPTH_MAX
 * of them within one another. */
static void add_tasks(struct cpti_waits *waits, struct cpti_wait_request *request,
                      struct cpti_doc_value tasks, unsigned depth)
{
    struct cpti_doc_member task;

    cpti_answer_each(task, tasks)
    {
        const struct cpti_doc_value whats = cpti_doc_get(task.value, "for");
        struct cpti_doc_member what;
        bool has_more = cpti_answer_first(whats, &what);
        struct cpti_wait_group *group = NULL;
        uint32_t count = 0;

        if (!cpti_answer_is(task.value, "state", "waits") ||
            cpti_answer_number(task.value, "left_out") != 0 || !has_more) {
            request->is_free = true;
            continue;
        }
        if (waits->group_count == CPTI_WAITS_EDGES_MAX || depth > TASK_DEPTH_MAX) {
            request->is_free = true;
            waits->left_out++;
            return;
        }
        group = &waits->groups[waits->group_count++];
        group->task = task.value;
        group->depth = depth;
        group->edge_first = waits->edge_count;
        for (; has_more && waits->edge_count < CPTI_WAITS_EDGES_MAX;
             has_more = cpti_doc_next(&what)) {
            add_edge(waits, what.value);
            count++;
        }
        request->is_free |= has_more;
        group->edge_count = count;
        group->wanted = cpti_answer_has(task.value, "wanted")
                            ? cpti_answer_number(task.value, "wanted")
                            : count;
        cpti_answer_each(what, whats)
        {
            if (cpti_answer_has(what.value, "tasks")) {
                add_tasks(waits, request, cpti_doc_get(what.value, "tasks"), depth + 1);
            }
        }
    }
}

static void add_request(struct cpti_waits *waits, uint32_t service,
                        struct cpti_doc_value value)
{
    const struct cpti_doc_value tasks = cpti_doc_get(value, "tasks");
    struct cpti_doc_member task;
    struct cpti_wait_request *request = NULL;

    if (waits->request_count == CPTI_WAITS_REQUESTS_MAX) {
        waits->left_out++;
        return;
    }
    request = &waits->requests[waits->request_count++];
    request->service = service;
    request->value = value;
    request->trace_id = cpti_answer_string(value, "trace_id");
    request->parent_id = cpti_answer_string(value, "parent_id");
    request->span_id = cpti_answer_string(value, "span_id");
    request->method = cpti_answer_string(value, "method");
    request->id = cpti_answer_number(value, "id");
    request->us = cpti_answer_number(value, "us");
    request->is_free = !cpti_answer_first(tasks, &task) ||
                       cpti_answer_number(value, "tasks_left_out") != 0;
    request->group_first = waits->group_count;
    add_tasks(waits, request, tasks, 0);
    request->group_count = waits->group_count - request->group_first;
}

static cpt_status ask(struct cpti_waits *waits, uint32_t index)
{
    struct cpti_wait_service *service = &waits->services[index];
    struct cpti_doc_value requests = {NULL, 0};
    struct cpti_doc_member request;
    cpt_status status = CPT_OK;

    service->asked_ns = cpti_now_ns();
    status = cpti_answer_get(&service->answer, &service->place, &waits->get,
                             &waits->left, &service->error);
    service->answered_ns = cpti_now_ns();
    if (status != CPT_OK) {
        return status;
    }
    requests = cpti_doc_get(service->answer.root, "requests");
    if (cpti_doc_type(requests) != CPTI_DOC_ARRAY) {
        return cpt_error_set(&service->error, CPT_CORRUPT, 0,
                             "its answer has no requests");
    }
    service->is_known = true;
    service->name = cpti_answer_string(service->answer.root, "service");
    service->left_out = cpti_answer_number(service->answer.root, "left_out");
    cpti_answer_each(request, requests)
    {
        add_request(waits, index, request.value);
    }
    return CPT_OK;
}

/* --- A look --- */

static void lead_edges(struct cpti_waits *waits, uint32_t from)
{
    const struct cpti_wait_request *request = &waits->requests[from];

    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct cpti_wait_group *group = &waits->groups[request->group_first + i];

        for (uint32_t k = 0; k < group->edge_count; k++) {
            cpti_waits_lead(waits, from, &waits->edges[group->edge_first + k]);
        }
    }
}

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

cpt_status cpti_waits_look(struct cpti_waits *waits, const struct cpti_peer *place,
                           struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    cpt_arena_init(&waits->arena, NULL, 1 << 16, ARENA_BYTES_MAX);
    waits->left = ANSWER_BYTES_MAX;
    waits->requests = table(waits, CPTI_WAITS_REQUESTS_MAX, sizeof *waits->requests);
    waits->groups = table(waits, CPTI_WAITS_EDGES_MAX, sizeof *waits->groups);
    waits->edges = table(waits, CPTI_WAITS_EDGES_MAX, sizeof *waits->edges);
    if (waits->requests == NULL || waits->groups == NULL || waits->edges == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    }
    (void)cpti_waits_service(waits, place);
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
    for (uint32_t i = 0; i < waits->service_count; i++) {
        cpti_answer_deinit(&waits->services[i].answer);
    }
    cpt_arena_deinit(&waits->arena);
}
