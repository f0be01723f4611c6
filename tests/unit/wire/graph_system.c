/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* graph_system.c - see graph_system.h */
#include "tests/unit/wire/graph_system.h"

#include "tests/support/suites.h"

#include <string.h>

static bool is_time(uint64_t at_ns)
{
    return at_ns != 0 && at_ns != UINT64_MAX;
}

/* Makes the service arrive at @arrival_ns, and take @scale times as long. */
static void change_times(struct graph_service *service, uint64_t scale,
                         uint64_t arrival_ns)
{
    const uint64_t before_ns = service->made.trace.arrival_ns;
    struct random_trace *made = &service->made;
    uint64_t *times[3 + 3 * RANDOM_TASKS_MAX + 3 * RANDOM_AWAITS_MAX +
                    3 * RANDOM_CALLS_MAX + GRAPH_ARRIVALS_MAX];
    size_t count = 0;

    times[count++] = &made->trace.arrival_ns;
    times[count++] = &made->trace.response_ns;
    times[count++] = &made->trace.dispatch_ns;
    for (size_t i = 0; i < made->task_count; i++) {
        times[count++] = &made->tasks[i].ready_ns;
        times[count++] = &made->tasks[i].start_ns;
        times[count++] = &made->tasks[i].end_ns;
    }
    for (size_t i = 0; i < made->await_count; i++) {
        times[count++] = &made->awaits[i].block_ns;
        times[count++] = &made->awaits[i].arrive_ns;
        times[count++] = &made->awaits[i].resume_ns;
    }
    for (size_t i = 0; i < made->call_count; i++) {
        times[count++] = &made->calls[i].issue_ns;
        times[count++] = &made->calls[i].sent_ns;
        times[count++] = &made->calls[i].arrive_ns;
    }
    for (size_t i = 0; i < service->records.arrival_count; i++) {
        times[count++] = &service->arrivals[i].arrive_ns;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_time(*times[i])) {
            *times[i] = (*times[i] - before_ns) * scale + arrival_ns;
        }
    }
}

static void add_arrivals(struct graph_service *service, struct test_random *random)
{
    struct random_trace *made = &service->made;
    const size_t count = test_random_below(random, GRAPH_ARRIVALS_MAX);

    for (size_t i = 0; i < count; i++) {
        struct cpt_dag_arrival *arrival = &service->arrivals[i];

        *arrival = (struct cpt_dag_arrival){
            .waiter = &made->tasks[test_random_below(random, made->task_count)],
            .is_input = (uint32_t)test_random_chance(random, 50),
            .is_spare = (uint32_t)test_random_chance(random, 30)};
        if (test_random_chance(random, 50)) {
            arrival->await = arrival->waiter->last_await;
        }
        if (made->call_count != 0 && test_random_chance(random, 50)) {
            arrival->call = &made->calls[test_random_below(random, made->call_count)];
            arrival->arrive_ns = arrival->call->arrive_ns;
        } else {
            arrival->giver = &made->tasks[test_random_below(random, made->task_count)];
            arrival->arrive_ns = arrival->giver->end_ns;
        }
    }
    service->records.arrivals = service->arrivals;
    service->records.arrival_count = count;
}

static void make_service(struct graph_service *service, struct test_random *random)
{
    static const char *const executors[] = {"", "workers", "others"};
    struct random_trace *made = &service->made;

    do {
        memset(service, 0, sizeof *service);
        while (!random_trace_make(made, random)) {
        }
    } while (made->trace.answered_by == NULL || made->trace.arrival_ns == 0);
    service->run.trace = &made->trace;
    service->records.runs = &service->run;
    service->records.run_count = 1;
    for (size_t i = 0; i < made->task_count; i++) {
        service->tasks[i] = &made->tasks[i];
        made->tasks[i].executor = cpt_bytes_of(executors[test_random_below(random, 3)]);
    }
    service->records.tasks = service->tasks;
    service->records.task_count = made->task_count;
    add_arrivals(service, random);
}

/* Whether something waits for @call; else no record tells of it. */
static bool is_waited_for(const struct graph_service *service,
                          const struct cpt_trace_call *call)
{
    for (size_t i = 0; i < service->made.await_count; i++) {
        if (service->made.awaits[i].call == call) {
            return true;
        }
    }
    for (size_t i = 0; i < service->records.arrival_count; i++) {
        if (service->arrivals[i].call == call) {
            return true;
        }
    }
    return false;
}

/* A call that no other service answers yet; NULL: none was found. */
static struct cpt_trace_call *free_call(struct graph_service *service,
                                        struct test_random *random)
{
    for (unsigned i = 0; i < 8 && service->made.call_count != 0; i++) {
        struct cpt_trace_call *call =
            &service->made.calls[test_random_below(random, service->made.call_count)];

        if (call->outcome == CPT_CALL_REMOTE && call->id == 0 &&
            is_waited_for(service, call)) {
            return call;
        }
    }
    return NULL;
}

void graph_system_make(struct graph_system *system, struct test_random *random)
{
    static const uint64_t scales[] = {100000000, 1000000, 10000, 100, 1};
    const size_t wanted = 1 + test_random_below(random, GRAPH_SERVICES_MAX);

    memset(system, 0, sizeof *system);
    for (size_t i = 0; i < wanted; i++) {
        struct graph_service *service = &system->services[system->count];

        make_service(service, random);
        service->id = (uint64_t)1 << 63 | test_random_next(random);
        if (i != 0) {
            service->caller_service = test_random_below(random, system->count);
            service->caller =
                free_call(&system->services[service->caller_service], random);
            if (service->caller == NULL) {
                continue;
            }
            service->caller->id = service->id;
        }
        change_times(service, scales[i],
                     scales[i] * (1 + test_random_below(random, 1000)));
        system->count++;
    }
}

void graph_system_move(struct graph_system *system)
{
    for (size_t i = 1; i < system->count; i++) {
        struct graph_service *service = &system->services[i];
        const struct cpt_trace_call *call = service->caller;

        change_times(service, 1,
                     call->sent_ns > call->issue_ns ? call->sent_ns : call->issue_ns);
    }
}

struct cpt_dag_draft *graph_draft(const struct cpt_dag_records *records,
                                  uint64_t arrival_ns,
                                  struct cpt_dag_recorded *recorded)
{
    struct cpt_dag_draft *draft = cpt_dag_draft_new(NULL, arrival_ns);

    CU_ASSERT_PTR_NOT_NULL_FATAL(draft);
    if (cpt_dag_draft_trace(draft, records, recorded) != CPT_OK) {
        cpt_dag_draft_free(draft);
        return NULL;
    }
    return draft;
}

/* The service that answers the next call of service @caller behind @call, in the order
 * of their issue; NULL: there is none. */
static struct graph_service *callee_behind(struct graph_system *system, size_t caller,
                                           unsigned present,
                                           const struct cpt_trace_call *call)
{
    struct graph_service *found = NULL;

    for (size_t i = 1; i < system->count; i++) {
        struct graph_service *service = &system->services[i];
        const struct cpt_trace_call *own = service->caller;

        if (service->caller_service == caller && (present >> i & 1U) != 0 &&
            (call == NULL || own->issue_ns > call->issue_ns ||
             (own->issue_ns == call->issue_ns && own > call)) &&
            (found == NULL || own->issue_ns < found->caller->issue_ns ||
             (own->issue_ns == found->caller->issue_ns && own < found->caller))) {
            found = service;
        }
    }
    return found;
}

/* The services that are reached, in the order in which a reader comes to them. */
static size_t list_services(struct graph_system *system, unsigned present,
                            struct graph_service *list[GRAPH_SERVICES_MAX])
{
    size_t count = 1;

    list[0] = &system->services[0];
    for (size_t i = 0; i < count; i++) {
        const size_t caller = (size_t)(list[i] - system->services);
        struct graph_service *callee = callee_behind(system, caller, present, NULL);

        for (; callee != NULL && count < GRAPH_SERVICES_MAX;
             callee = callee_behind(system, caller, present, callee->caller)) {
            list[count++] = callee;
        }
    }
    return count;
}

struct cpt_dag_draft *graph_system_draft(struct graph_system *system, unsigned present,
                                         struct cpt_dag_recorded *recorded)
{
    struct graph_service *list[GRAPH_SERVICES_MAX];
    struct cpt_dag_run runs[GRAPH_SERVICES_MAX];
    struct cpt_trace_task *tasks[GRAPH_SERVICES_MAX * RANDOM_TASKS_MAX];
    uint32_t task_runs[GRAPH_SERVICES_MAX * RANDOM_TASKS_MAX];
    struct cpt_dag_arrival arrivals[GRAPH_SERVICES_MAX * GRAPH_ARRIVALS_MAX];
    struct cpt_dag_records records = {runs, 0, tasks, task_runs, 0, arrivals, 0};
    const size_t count = list_services(system, present, list);

    for (size_t i = 0; i < count; i++) {
        const struct graph_service *service = list[i];

        for (size_t k = 0; k < service->records.task_count; k++) {
            task_runs[records.task_count] = (uint32_t)i;
            tasks[records.task_count++] = service->tasks[k];
        }
        for (size_t k = 0; k < service->records.arrival_count; k++) {
            arrivals[records.arrival_count++] = service->arrivals[k];
        }
        runs[records.run_count++] =
            (struct cpt_dag_run){service->run.trace, service->caller};
    }
    return graph_draft(&records, system->services[0].made.trace.arrival_ns, recorded);
}

static bool is_same_name(struct cpt_bytes left, struct cpt_bytes right)
{
    return cpt_bytes_equal(left, right) != 0;
}

static bool are_same_edges(const struct cpt_dag_edge *left,
                           const struct cpt_dag_edge *right, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (left[i].from != right[i].from || left[i].to != right[i].to) {
            return false;
        }
    }
    return true;
}

static bool are_same_nodes(const struct cpt_dag_recorded *left,
                           const struct cpt_dag_recorded *right)
{
    for (size_t i = 0; i < left->shape.node_count; i++) {
        const struct cpt_dag_node *a = &left->shape.nodes[i];
        const struct cpt_dag_node *b = &right->shape.nodes[i];

        if (a->duration_ns != b->duration_ns || a->kind != b->kind ||
            left->node_lines[i] != right->node_lines[i] ||
            left->frames[a->frame].kind != right->frames[b->frame].kind ||
            !is_same_name(left->frames[a->frame].name, right->frames[b->frame].name)) {
            return false;
        }
    }
    return true;
}

static bool are_same_lines(const struct cpt_dag_recorded *left,
                           const struct cpt_dag_recorded *right)
{
    for (size_t i = 0; i < left->line_count; i++) {
        const struct cpt_dag_line *a = &left->lines[i];
        const struct cpt_dag_line *b = &right->lines[i];

        if (a->caller != b->caller || a->is_call != b->is_call ||
            a->outcome != b->outcome || !is_same_name(a->executor, b->executor)) {
            return false;
        }
    }
    return true;
}

bool graph_is_same(const struct cpt_dag_recorded *left,
                   const struct cpt_dag_recorded *right)
{
    return left->shape.node_count == right->shape.node_count &&
           left->shape.edge_count == right->shape.edge_count &&
           left->shape.spare_count == right->shape.spare_count &&
           left->shape.end == right->shape.end &&
           left->line_count == right->line_count && are_same_nodes(left, right) &&
           are_same_edges(left->shape.edges, right->shape.edges,
                          left->shape.edge_count) &&
           are_same_edges(left->shape.spares, right->shape.spares,
                          left->shape.spare_count) &&
           are_same_lines(left, right);
}

bool graph_system_has_ties(const struct graph_system *system)
{
    for (size_t i = 0; i < system->count * RANDOM_CALLS_MAX; i++) {
        const struct random_trace *a = &system->services[i / RANDOM_CALLS_MAX].made;

        for (size_t k = 0; k < i / RANDOM_CALLS_MAX * RANDOM_CALLS_MAX; k++) {
            const struct random_trace *b = &system->services[k / RANDOM_CALLS_MAX].made;

            if (i % RANDOM_CALLS_MAX < a->call_count &&
                k % RANDOM_CALLS_MAX < b->call_count &&
                a->calls[i % RANDOM_CALLS_MAX].issue_ns ==
                    b->calls[k % RANDOM_CALLS_MAX].issue_ns) {
                return true;
            }
        }
    }
    return false;
}

static uint64_t latency_of(const struct cpt_dag_recorded *recorded)
{
    struct cpt_dag *dag = NULL;
    uint64_t latency_ns = 0;

    if (cpt_dag_new(NULL, &recorded->shape, &dag, NULL) == CPT_OK) {
        latency_ns = cpt_dag_latency_ns(dag);
    }
    cpt_dag_free(dag);
    return latency_ns;
}

bool graph_is_alike(const struct cpt_dag_recorded *left,
                    const struct cpt_dag_recorded *right)
{
    return left->shape.node_count == right->shape.node_count &&
           left->shape.edge_count == right->shape.edge_count &&
           left->shape.spare_count == right->shape.spare_count &&
           latency_of(left) == latency_of(right);
}
