/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* simulation.c - a system serves requests; see simulation.h */
#include "tests/models/simulation.h"

#include "tests/models/events.h"
#include "tests/models/records_out.h"
#include "tests/models/spans_out.h"

#include <math.h>

#define MS 1e6

enum { CORES = 8, NO_SERVICE = -1 };

static const double network_ns = 0.3 * MS;
static const double network_spread = 0.4;
static const double retry_after_ns = 2 * MS;
static const double handed_over_ns = 20000; /* a message that nothing waits for */
static const int64_t drain_ns = INT64_C(60000000000); /* after the last request */

/* One for the process: events carry one pointer. */
static struct {
    const struct system *system;
    const struct fault *fault;
    const struct run_options *options;
    struct test_random random;
    double mix[OPERATIONS_MAX];
    double *tenants; /* by tenant and service: factors; NULL: all are alike */
    struct pool workers[SERVICES_MAX][REPLICAS_MAX];
    struct pool cores[SERVICES_MAX];
} sim;

/* A call, with all its attempts. */
struct call {
    struct visit *caller;
    const struct call_plan *plan;
    int attempt_count;
};

struct attempt {
    struct call *call;
    int span;     /* of the client; its caller's if clients have none */
    bool is_over; /* it came back, or was given up */
};

/* A service works on a request. */
struct visit {
    struct request *request;
    struct attempt *attempt; /* NULL: it is the first of the request */
    int service;
    int operation;
    int replica;
    int span;
    int inner_span;
    int stage;
    int open;                          /* calls that are not back */
    double compute_ns;                 /* of the step */
    void (*then)(struct visit *visit); /* after the step */
};

static const struct operation *plan_of(const struct visit *visit)
{
    return &sim.system->services[visit->service].operations[visit->operation];
}

static bool holds_worker(const struct visit *visit)
{
    return sim.system->services[visit->service].holds_worker;
}

static struct pool *workers_of(const struct visit *visit)
{
    return &sim.workers[visit->service][visit->replica];
}

static struct pool *cores_of(const struct visit *visit)
{
    const struct service *service = &sim.system->services[visit->service];

    return &sim.cores[service->replicas[visit->replica].host];
}

/* --- Times --- */

static bool is_slowed(const struct visit *visit)
{
    switch (sim.fault->kind) {
    case FAULT_cpu:
        return true;
    case FAULT_replica:
        return visit->replica == 0;
    case FAULT_operation:
        return visit->operation == sim.fault->operation;
    case FAULT_tenant:
        return visit->request->tenant == 0;
    case FAULT_some:
        return visit->request->is_slow;
    default:
        return false;
    }
}

/* The time of a step of @visit. */
static double own_ns(const struct visit *visit, double median_ns)
{
    const struct fault *fault = sim.fault;
    double ns = median_ns * exp(plan_of(visit)->spread * random_normal(&sim.random));

    if (sim.tenants != NULL) {
        ns *= sim.tenants[visit->request->tenant * SERVICES_MAX + visit->service];
    }
    if (visit->service == fault->service) {
        ns *= is_slowed(visit) ? fault->factor : 1;
        if (fault->kind == FAULT_delay ||
            (fault->kind == FAULT_tail && random_unit(&sim.random) < fault->share)) {
            ns += fault->delay_ns;
        }
    }
    return ns > 1000 ? ns : 1000;
}

/* The time of a message between two services. */
static double message_ns(int from, int to)
{
    double ns = network_ns * exp(network_spread * random_normal(&sim.random));

    if (sim.fault->kind == FAULT_network &&
        (from == sim.fault->service || to == sim.fault->service)) {
        ns += sim.fault->delay_ns * (0.8 + 0.4 * random_unit(&sim.random));
    }
    return ns;
}

/* --- Spans --- */

static struct span span_of(const struct visit *visit, int parent, enum side side)
{
    struct span span = {.parent = parent,
                        .service = visit->service,
                        .replica = visit->replica,
                        .side = side,
                        .peer = -1};

    (void)snprintf(span.operation, sizeof span.operation, "op%d_%d", visit->operation,
                   visit->service);
    return span;
}

/* --- Steps: worker, core, time --- */

static void step_ended(void *of)
{
    struct visit *visit = of;

    release(cores_of(visit));
    visit->then(visit);
}

static void step_begins(void *of)
{
    struct visit *visit = of;

    after(visit->compute_ns, step_ended, visit);
}

static void compute(struct visit *visit, double median_ns,
                    void (*then)(struct visit *visit))
{
    visit->compute_ns = own_ns(visit, median_ns);
    visit->then = then;
    acquire(cores_of(visit), step_begins, visit);
}

/* --- Calls --- */

static void visit_begins(void *of);
static void attempt_begins(void *of);
static void next_stage(struct visit *visit);

static void between(void *of)
{
    struct visit *visit = of;

    compute(visit, plan_of(visit)->between_ns, next_stage);
}

static void call_ended(struct call *call)
{
    struct visit *visit = call->caller;

    if (--visit->open > 0) {
        return;
    }
    if (holds_worker(visit)) {
        after(0, between, visit);
    } else {
        acquire(workers_of(visit), between, visit);
    }
}

static void attempt_ended(struct attempt *attempt, bool is_failed)
{
    struct call *call = attempt->call;
    struct request *request = call->caller->request;

    if (attempt->is_over || call->plan->is_async) {
        return;
    }
    attempt->is_over = true;
    if (sim.options->has_clients) {
        span_end(request, attempt->span, now_ns(), is_failed);
    }
    if (is_failed && call->attempt_count <= call->plan->retries) {
        after(retry_after_ns, attempt_begins, call);
    } else {
        call_ended(call);
    }
}

static void answer_arrives(void *of)
{
    attempt_ended(of, false);
}

static void gives_up(void *of)
{
    attempt_ended(of, true);
}

/* The span of the caller's side, below which the callee's stands. */
static int client_span(const struct call *call)
{
    const struct call_plan *plan = call->plan;
    struct span span = span_of(call->caller, call->caller->span,
                               plan->is_async ? SIDE_PRODUCER : SIDE_CLIENT);

    if (!sim.options->has_clients) {
        return call->caller->span;
    }
    (void)snprintf(span.operation, sizeof span.operation, "op%d_%d", plan->operation,
                   plan->service);
    span.peer = plan->service;
    return span_begin(call->caller->request, &span);
}

static void attempt_begins(void *of)
{
    struct call *call = of;
    const struct call_plan *plan = call->plan;
    struct request *request = call->caller->request;
    struct attempt *attempt = model_alloc(sizeof *attempt);
    struct visit *callee = model_alloc(sizeof *callee);

    call->attempt_count++;
    *attempt = (struct attempt){.call = call, .span = client_span(call)};
    *callee = (struct visit){.request = request,
                             .attempt = attempt,
                             .service = plan->service,
                             .operation = plan->operation};
    after(message_ns(call->caller->service, plan->service), visit_begins, callee);
    if (plan->is_async) {
        if (sim.options->has_clients) {
            span_end(request, attempt->span, now_ns() + (int64_t)handed_over_ns, false);
        }
        call_ended(call);
    } else if (plan->timeout_ns > 0) {
        after(plan->timeout_ns, gives_up, attempt);
    }
}

/* Makes the calls of a stage, those that are due this time. How many. */
static int make_calls(struct visit *visit, const struct stage *stage)
{
    struct call *calls[WIDTH_MAX];
    int count = 0;

    for (int i = 0; i < stage->call_count; i++) {
        const struct call_plan *plan = &stage->calls[i];
        const double cached = plan->cached * sim.options->cache;

        if (random_unit(&sim.random) > plan->chance ||
            (plan->cached > 0 && random_unit(&sim.random) < cached)) {
            continue;
        }
        calls[count] = model_alloc(sizeof **calls);
        *calls[count++] = (struct call){.caller = visit, .plan = plan};
    }
    visit->open = count;
    if (count > 0 && !holds_worker(visit)) {
        release(workers_of(visit));
    }
    for (int i = 0; i < count; i++) {
        attempt_begins(calls[i]);
    }
    return count;
}

/* --- Visits --- */

static void visit_ends(struct visit *visit)
{
    const bool is_failed = sim.fault->kind == FAULT_fails &&
                           visit->service == sim.fault->service &&
                           visit->operation == sim.fault->operation &&
                           random_unit(&sim.random) < sim.fault->share;

    release(workers_of(visit));
    span_end(visit->request, visit->span, now_ns(), is_failed);
    if (visit->attempt == NULL) {
        visit->request->is_answered = true;
        return;
    }
    after(message_ns(visit->service, visit->attempt->call->caller->service),
          answer_arrives, visit->attempt);
}

static void next_stage(struct visit *visit)
{
    const struct operation *operation = plan_of(visit);

    while (visit->stage < operation->stage_count) {
        if (make_calls(visit, &operation->stages[visit->stage++]) > 0) {
            return; /* goes on in call_ended() */
        }
    }
    compute(visit, operation->after_ns, visit_ends);
}

static void inner_ends(struct visit *visit)
{
    span_end(visit->request, visit->inner_span, now_ns(), false);
    next_stage(visit);
}

static void inner_begins(struct visit *visit)
{
    const struct operation *operation = plan_of(visit);
    struct span span = span_of(visit, visit->span, SIDE_NONE);

    if (!operation->has_inner) {
        next_stage(visit);
        return;
    }
    (void)snprintf(span.operation, sizeof span.operation, "render");
    visit->inner_span = span_begin(visit->request, &span);
    compute(visit, 0.5 * operation->before_ns, inner_ends);
}

static void worker_is_there(void *of)
{
    struct visit *visit = of;

    compute(visit, plan_of(visit)->before_ns, inner_begins);
}

static void visit_begins(void *of)
{
    struct visit *visit = of;
    const struct service *service = &sim.system->services[visit->service];
    const bool is_async =
        visit->attempt != NULL && visit->attempt->call->plan->is_async;
    struct span span;

    visit->replica =
        (int)test_random_below(&sim.random, (uint64_t)service->replica_count);
    span = span_of(visit, visit->attempt == NULL ? NO_SPAN : visit->attempt->span,
                   is_async ? SIDE_CONSUMER : SIDE_SERVER);
    visit->span = span_begin(visit->request, &span);
    acquire(workers_of(visit), worker_is_there, visit);
}

/* --- Requests --- */

static int draw_operation(void)
{
    double all = 0;
    double at;
    int operation = 0;

    for (int i = 0; i < OPERATIONS_MAX; i++) {
        all += sim.mix[i];
    }
    at = random_unit(&sim.random) * all;
    while (operation + 1 < OPERATIONS_MAX && at > sim.mix[operation]) {
        at -= sim.mix[operation++];
    }
    return operation;
}

static void request_begins(void *of)
{
    struct request *request = of;
    struct visit *visit = model_alloc(sizeof *visit);

    request->tenant =
        (int)test_random_below(&sim.random, (uint64_t)sim.options->tenants);
    request->is_slow = random_unit(&sim.random) < sim.fault->share;
    *visit = (struct visit){.request = request, .operation = draw_operation()};
    visit_begins(visit);
}

static void begin(void)
{
    const struct run_options *options = sim.options;
    struct test_random mix = random_of(options->mix_seed);
    struct test_random tenants = random_of(options->seed + 77);

    sim.random = random_of(options->seed * 7919 + 17);
    for (int i = 0; i < OPERATIONS_MAX; i++) {
        sim.mix[i] = options->mix_seed == 0
                         ? sim.system->mix[i]
                         : 0.05 + 3 * random_unit(&mix) * random_unit(&mix);
    }
    for (int i = 0; i < sim.system->service_count; i++) {
        const struct service *service = &sim.system->services[i];

        for (int k = 0; k < service->replica_count; k++) {
            pool_init(&sim.workers[i][k], service->replicas[k].workers);
        }
    }
    for (int i = 0; i < sim.system->host_count; i++) {
        pool_init(&sim.cores[i], CORES);
    }
    if (options->tenant_spread > 0) {
        sim.tenants =
            model_alloc(sizeof(double) * SERVICES_MAX * (size_t)options->tenants);
        for (int i = 0; i < options->tenants * SERVICES_MAX; i++) {
            sim.tenants[i] = exp(options->tenant_spread * random_normal(&tenants));
        }
    }
}

/* Which of two arms the requests of @tenant are in: 1 or 2. */
static int arm_of(int tenant)
{
    struct test_random random =
        random_of(sim.options->arm_seed * TENANTS_MAX + (uint64_t)tenant);

    return 1 + (int)test_random_below(&random, 2);
}

void simulate(const struct system *system, const struct fault *fault,
              const struct run_options *options, FILE *file)
{
    const size_t count = (size_t)options->request_count;
    struct spans_out out = {.file = file,
                            .run = options->seed * 977 + 3,
                            .start_s = options->start_s,
                            .has_sides = options->has_clients,
                            .has_hosts = options->has_hosts,
                            .has_tenant = options->tenant_spread > 0};
    struct records_out records = {.file = file, .start_s = options->start_s};
    struct test_random kept = random_of(options->seed * 31 + 5);
    struct request *requests = model_alloc((count + 1) * sizeof *requests);
    double at_ns = 0;

    sim.system = system;
    sim.fault = fault;
    sim.options = options;
    begin();
    for (size_t i = 0; i < count; i++) {
        requests[i].number = i;
        at_ns += random_waiting(&sim.random) * 1e9 / options->rate;
        after(at_ns, request_begins, &requests[i]);
    }
    events_run((int64_t)at_ns + drain_ns);
    if (options->has_records) {
        records_out_begin(&records);
    }
    for (size_t i = 0; i < count; i++) {
        const bool is_of_arm =
            options->arm == 0 || arm_of(requests[i].tenant) == options->arm;

        if (!requests[i].is_answered || random_unit(&kept) > options->keep ||
            !is_of_arm) {
            continue;
        }
        if (options->has_records) {
            records_out_request(&records, &requests[i]);
        } else {
            spans_out_request(&out, &requests[i]);
        }
    }
    if (options->has_records) {
        records_out_end(&records);
    } else {
        spans_out_end(&out);
    }
    events_free();
}
