/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * system.c - a random system of services; see system.h
 *
 * The numbers are those of a shop: own times of 0.3 to 9 ms, one to three operations,
 * two services in five with three replicas, a fifth of the calls behind a cache, a
 * quarter with a timeout of a second and one retry.
 */
#include "tests/models/system.h"

#include <math.h>
#include <string.h>

#define MS 1e6

/* Visits of services by one visit, and by a request: what is above is called less. */
static const double visits_max = 14;
static const double visits_of_request_max = 60;
static const double rare = 0.1;

/* --- Random numbers --- */

struct test_random random_of(uint64_t seed)
{
    struct test_random mixed = {seed + 12345};

    /* the streams of two states that differ by the step of SplitMix64 overlap */
    return (struct test_random){test_random_next(&mixed)};
}

double random_unit(struct test_random *random)
{
    return (double)(test_random_next(random) >> 11) * (1.0 / 9007199254740992.0);
}

double random_waiting(struct test_random *random)
{
    return -log(1 - random_unit(random));
}

double random_normal(struct test_random *random)
{
    const double radius = sqrt(2 * random_waiting(random));

    return radius * cos(6.283185307179586 * random_unit(random));
}

static int random_index(struct test_random *random, int count)
{
    return (int)test_random_below(random, (uint64_t)count);
}

/* --- A system --- */

static void make_service(struct system *system, int number, struct test_random *random)
{
    struct service *service = &system->services[number];
    const int operations = number == 0 ? OPERATIONS_MAX : 1 + random_index(random, 3);
    const double own_ns = 0.3 * MS * exp(random_unit(random) * log(30));

    service->operation_count = operations;
    service->replica_count = random_unit(random) < 0.4 ? REPLICAS_MAX : 1;
    for (int i = 0; i < service->replica_count; i++) {
        service->replicas[i].host = random_index(random, system->host_count);
        service->replicas[i].workers = 2 + random_index(random, 7);
    }
    service->holds_worker = random_unit(random) < 0.5 && number != 0;
    for (int i = 0; i < operations; i++) {
        struct operation *operation = &service->operations[i];
        const double ns = own_ns * exp(0.5 * random_normal(random));

        operation->before_ns = 0.5 * ns;
        operation->between_ns = 0.15 * ns;
        operation->after_ns = 0.35 * ns;
        operation->spread = 0.2 + 0.5 * random_unit(random);
        operation->has_inner = random_unit(random) < 0.2;
    }
}

static struct call_plan make_call(const struct system *system, int from,
                                  struct test_random *random)
{
    const int rest = system->service_count - 1 - from;
    const int near = system->service_count / 3 > 3 ? system->service_count / 3 : 3;
    struct call_plan call = {0};

    call.service = from + 1 + random_index(random, rest < near ? rest : near);
    call.operation =
        random_index(random, system->services[call.service].operation_count);
    call.chance = random_unit(random) < 0.7 ? 1.0 : 0.3 + 0.5 * random_unit(random);
    call.cached = random_unit(random) < 0.2 ? 0.6 : 0;
    call.is_async = random_unit(random) < 0.06;
    if (random_unit(random) < 0.25) {
        call.timeout_ns = 1000 * MS;
        call.retries = 1;
    }
    return call;
}

static void make_calls(struct system *system, int from, struct operation *operation,
                       struct test_random *random)
{
    const bool is_late = from > system->service_count * 2 / 3;

    if (from + 1 == system->service_count || (is_late && random_unit(random) < 0.7)) {
        return;
    }
    operation->stage_count =
        from == 0 ? 2 + random_index(random, 2) : random_index(random, 3);
    for (int i = 0; i < operation->stage_count; i++) {
        struct stage *stage = &operation->stages[i];

        stage->call_count = 1;
        if (random_unit(random) < 0.4) {
            stage->call_count += 1 + random_index(random, WIDTH_MAX - 1);
        }
        for (int k = 0; k < stage->call_count; k++) {
            stage->calls[k] = make_call(system, from, random);
        }
    }
}

/* Visits that a call of @operation causes, with its own. */
static double spread_of(const struct operation *operation,
                        double spread[SERVICES_MAX][OPERATIONS_MAX])
{
    double sum = 1;

    for (int i = 0; i < operation->stage_count; i++) {
        for (int k = 0; k < operation->stages[i].call_count; k++) {
            const struct call_plan *call = &operation->stages[i].calls[k];

            sum += call->chance * (1 - call->cached) *
                   spread[call->service][call->operation];
        }
    }
    return sum;
}

/* Lowers the chances of calls, so that no request explodes. */
static void prune(struct system *system)
{
    static double spread[SERVICES_MAX][OPERATIONS_MAX];

    for (int i = system->service_count; i-- > 0;) {
        for (int k = 0; k < system->services[i].operation_count; k++) {
            struct operation *operation = &system->services[i].operations[k];
            const double most = i == 0 ? visits_of_request_max : visits_max;
            const double sum = spread_of(operation, spread);

            spread[i][k] = sum < most ? sum : most;
            for (int s = 0; s < operation->stage_count && sum > most; s++) {
                for (int c = 0; c < operation->stages[s].call_count; c++) {
                    operation->stages[s].calls[c].chance *= (most - 1) / (sum - 1);
                }
            }
        }
    }
}

void system_make(struct system *system, uint64_t seed)
{
    struct test_random random = random_of(seed);

    memset(system, 0, sizeof *system);
    system->service_count = 10 + random_index(&random, 51);
    system->host_count = system->service_count / 4 > 2 ? system->service_count / 4 : 2;
    for (int i = 0; i < system->service_count; i++) {
        make_service(system, i, &random);
    }
    for (int i = 0; i < system->service_count; i++) {
        for (int k = 0; k < system->services[i].operation_count; k++) {
            make_calls(system, i, &system->services[i].operations[k], &random);
        }
    }
    prune(system);
    for (int i = 0; i < OPERATIONS_MAX; i++) {
        system->mix[i] = 0.3 + random_unit(&random);
    }
}

/* The same by operation. */
static void operation_visits(const struct system *system,
                             double visits[SERVICES_MAX][OPERATIONS_MAX])
{
    double mix = 0;

    memset(visits, 0, SERVICES_MAX * sizeof *visits);
    for (int i = 0; i < OPERATIONS_MAX; i++) {
        mix += system->mix[i];
    }
    for (int i = 0; i < OPERATIONS_MAX; i++) {
        visits[0][i] = system->mix[i] / mix;
    }
    for (int i = 0; i < system->service_count; i++) {
        for (int k = 0; k < system->services[i].operation_count; k++) {
            const struct operation *operation = &system->services[i].operations[k];

            for (int s = 0; s < operation->stage_count; s++) {
                for (int c = 0; c < operation->stages[s].call_count; c++) {
                    const struct call_plan *call = &operation->stages[s].calls[c];

                    visits[call->service][call->operation] +=
                        call->is_async
                            ? 0
                            : visits[i][k] * call->chance * (1 - call->cached);
                }
            }
        }
    }
}

void system_visits(const struct system *system, double visits[SERVICES_MAX])
{
    static double of[SERVICES_MAX][OPERATIONS_MAX];

    operation_visits(system, of);
    for (int i = 0; i < system->service_count; i++) {
        visits[i] = 0;
        for (int k = 0; k < system->services[i].operation_count; k++) {
            visits[i] += of[i][k];
        }
    }
}

/* --- Its fault --- */

/* Whether a fault of @kind makes a difference in @service. */
static bool can_have(const struct service *service, enum fault_kind kind)
{
    switch (kind) {
    case FAULT_replica:
        return service->replica_count > 1;
    case FAULT_operation:
        return service->operation_count > 1;
    default:
        return true;
    }
}

/* Where the structure of a system may change. */
struct site {
    int service;
    int operation;
    int stage;
    int call;
};

/* Whether a call is made often enough to be missed, and waited for. */
static bool is_seen(const struct call_plan *call)
{
    static const double least = 0.3;

    return !call->is_async && call->chance * (1 - call->cached) >= least;
}

/* Adds the places of @operation where a fault of @kind may be to @sites. How many there
 * are then. */
static int add_sites(const struct operation *operation, enum fault_kind kind,
                     struct site site, struct site *sites, int count)
{
    if (kind == FAULT_adds || kind == FAULT_fails) {
        sites[count++] = site;
        return count;
    }
    for (int s = 0; s < operation->stage_count; s++) {
        const struct stage *stage = &operation->stages[s];

        for (int c = 0; c < stage->call_count; c++) {
            const bool is_first = c == 0;

            if (is_seen(&stage->calls[c]) &&
                (kind == FAULT_drops || (!is_first && is_seen(&stage->calls[c - 1])))) {
                site.stage = s;
                site.call = c;
                sites[count++] = site;
            }
        }
    }
    return count;
}

static bool is_of_structure(enum fault_kind kind)
{
    return kind == FAULT_drops || kind == FAULT_adds || kind == FAULT_serial ||
           kind == FAULT_fails;
}

/* A call that @operation does not make, of a service behind @service. */
static struct call_plan new_call(const struct system *system, int service,
                                 const struct operation *operation,
                                 struct test_random *random)
{
    enum { TRIES = 100 };
    struct call_plan call = {0};
    bool is_new = false;

    for (int i = 0; i < TRIES && !is_new; i++) {
        call = make_call(system, service, random);
        is_new = true;
        for (int s = 0; s < operation->stage_count; s++) {
            for (int c = 0; c < operation->stages[s].call_count; c++) {
                const struct call_plan *other = &operation->stages[s].calls[c];

                is_new = is_new && (other->service != call.service ||
                                    other->operation != call.operation);
            }
        }
    }
    call.chance = 1;
    call.cached = 0;
    call.is_async = false;
    return call;
}

/* Changes what the operation at @site calls. */
static void change_structure(struct system *system, enum fault_kind kind,
                             const struct site *site, struct test_random *random)
{
    struct operation *operation =
        &system->services[site->service].operations[site->operation];
    struct stage *stage = &operation->stages[site->stage];
    struct call_plan call = {0};

    if (kind == FAULT_drops || kind == FAULT_serial) {
        call = stage->calls[site->call];
        stage->calls[site->call] = stage->calls[--stage->call_count];
    } else if (kind == FAULT_adds) {
        call = new_call(system, site->service, operation, random);
    }
    if (kind == FAULT_adds || kind == FAULT_serial) {
        operation->stages[operation->stage_count++] =
            (struct stage){.calls = {call}, .call_count = 1};
    }
}

/* Places a fault of structure: in an operation that is visited often enough. */
static void place_structure(struct fault *fault, struct system *system,
                            struct test_random *random)
{
    static double visits[SERVICES_MAX][OPERATIONS_MAX];
    static struct site sites[SERVICES_MAX * OPERATIONS_MAX * STAGES_MAX * WIDTH_MAX];
    int count = 0;

    operation_visits(system, visits);
    for (int i = 1; i < system->service_count; i++) {
        const bool can_add = i + 1 < system->service_count;

        for (int k = 0; k < system->services[i].operation_count; k++) {
            if (visits[i][k] > rare && (fault->kind != FAULT_adds || can_add)) {
                count = add_sites(&system->services[i].operations[k], fault->kind,
                                  (struct site){.service = i, .operation = k}, sites,
                                  count);
            }
        }
    }
    if (count == 0) { /* no service behind the first one makes such calls */
        for (int k = 0; k < OPERATIONS_MAX; k++) {
            count = add_sites(&system->services[0].operations[k], fault->kind,
                              (struct site){.operation = k}, sites, count);
        }
    }
    if (count > 0) {
        const struct site *site = &sites[random_index(random, count)];

        fault->service = site->service;
        fault->operation = site->operation;
        change_structure(system, fault->kind, site, random);
    }
}

void fault_place(struct fault *fault, struct system *system, uint64_t seed)
{
    struct test_random random = random_of(seed);
    double visits[SERVICES_MAX];
    int candidates[SERVICES_MAX];
    int count = 0;

    if (is_of_structure(fault->kind)) {
        place_structure(fault, system, &random);
        return;
    }
    system_visits(system, visits);
    for (int pass = 0; pass < 2 && count == 0; pass++) {
        for (int i = 1; i < system->service_count; i++) {
            if (visits[i] > rare &&
                (pass == 1 || can_have(&system->services[i], fault->kind))) {
                candidates[count++] = i;
            }
        }
    }
    fault->service = count > 0 ? candidates[random_index(&random, count)] : 1;
    fault->operation =
        random_index(&random, system->services[fault->service].operation_count);
}
