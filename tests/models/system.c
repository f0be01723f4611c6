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

void system_visits(const struct system *system, double visits[SERVICES_MAX])
{
    static double of[SERVICES_MAX][OPERATIONS_MAX];
    double mix = 0;

    memset(of, 0, sizeof of);
    for (int i = 0; i < OPERATIONS_MAX; i++) {
        mix += system->mix[i];
    }
    for (int i = 0; i < OPERATIONS_MAX; i++) {
        of[0][i] = system->mix[i] / mix;
    }
    for (int i = 0; i < system->service_count; i++) {
        visits[i] = 0;
        for (int k = 0; k < system->services[i].operation_count; k++) {
            const struct operation *operation = &system->services[i].operations[k];

            visits[i] += of[i][k];
            for (int s = 0; s < operation->stage_count; s++) {
                for (int c = 0; c < operation->stages[s].call_count; c++) {
                    const struct call_plan *call = &operation->stages[s].calls[c];

                    of[call->service][call->operation] +=
                        call->is_async ? 0
                                       : of[i][k] * call->chance * (1 - call->cached);
                }
            }
        }
    }
}

/* --- Its fault --- */

/* Whether a fault of @kind makes a difference in @service. */
static bool can_have(const struct service *service, enum fault_kind kind)
{
    int calls = 0;
    int widest = 0;

    for (int i = 0; i < service->operation_count; i++) {
        for (int k = 0; k < service->operations[i].stage_count; k++) {
            const struct stage *stage = &service->operations[i].stages[k];

            calls += stage->call_count;
            widest = stage->call_count > widest ? stage->call_count : widest;
        }
    }
    switch (kind) {
    case FAULT_replica:
        return service->replica_count > 1;
    case FAULT_operation:
        return service->operation_count > 1;
    case FAULT_drops:
        return calls > 0;
    case FAULT_serial:
        return widest > 1;
    default:
        return true;
    }
}

/* The first operation of @service that makes calls, @width of them at once. */
static struct stage *find_stage(struct service *service, int width, int *operation)
{
    for (int i = 0; i < service->operation_count; i++) {
        for (int k = 0; k < service->operations[i].stage_count; k++) {
            if (service->operations[i].stages[k].call_count >= width) {
                *operation = i;
                return &service->operations[i].stages[k];
            }
        }
    }
    return NULL;
}

/* Changes what the service at fault calls. */
static void change_structure(struct fault *fault, struct system *system,
                             struct test_random *random)
{
    struct service *service = &system->services[fault->service];
    struct stage *stage = NULL;

    if (fault->kind == FAULT_drops) {
        stage = find_stage(service, 1, &fault->operation);
        if (stage != NULL) {
            stage->calls[0] = stage->calls[--stage->call_count];
        }
    } else if (fault->kind == FAULT_serial) {
        stage = find_stage(service, 2, &fault->operation);
        if (stage != NULL) {
            struct operation *operation = &service->operations[fault->operation];

            operation->stages[operation->stage_count] = (struct stage){
                .calls = {stage->calls[--stage->call_count]}, .call_count = 1};
            operation->stage_count++;
        }
    } else if (fault->kind == FAULT_adds &&
               fault->service + 1 < system->service_count) {
        struct operation *operation = &service->operations[fault->operation];
        struct call_plan call = make_call(system, fault->service, random);

        call.chance = 1;
        call.cached = 0;
        call.is_async = false;
        operation->stages[operation->stage_count] =
            (struct stage){.calls = {call}, .call_count = 1};
        operation->stage_count++;
    }
}

void fault_place(struct fault *fault, struct system *system, uint64_t seed)
{
    struct test_random random = random_of(seed);
    double visits[SERVICES_MAX];
    int candidates[SERVICES_MAX];
    int count = 0;

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
    change_structure(fault, system, &random);
}
