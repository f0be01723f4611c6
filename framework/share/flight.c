/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * flight.c - one run of a plan for several requests; see flight.h
 *
 * On the path of a request that waited. O is how long it waited, L how long the run
 * took. Both end at the same moment:
 *
 *      O > L:   |.. batch wait ..|==== run ====|     joined before the run began
 *               |------------- O --------------|
 *
 *      O < L:   |==== run ====:================|     joined later: the front of the
 *                             |------- O ------|     run's path, L - O, is left out
 *
 * So stamps of different clocks are never compared.
 */
#include "framework/share/flight.h"

#include "framework/run/recording.h"
#include "framework/service/service.h"

#include "cpt/cpt_path.h"

#include <string.h>

/* --- References --- */

/* As cpt_request_options.gone, if there is a run. */
static void free_flight(void *context)
{
    struct cpti_flight *flight = context;
    struct cpt_shared *shared = flight->shared;

    cpt_path_free(flight->path);
    for (size_t i = 0; i < 2 && flight->services[i] != NULL; i++) {
        cpti_service_release(flight->services[i]);
    }
    cpt_alloc_free(shared->options.alloc, flight->propagated);
    cpt_alloc_free(shared->options.alloc, flight);
    cpti_lock_take(&shared->lock);
    if (--shared->flight_count == 0) {
        (void)pthread_cond_broadcast(&shared->idle);
    }
    cpti_lock_release(&shared->lock);
}

void cpti_flight_release(struct cpti_flight *flight)
{
    if (atomic_fetch_sub_explicit(&flight->reference_count, 1, memory_order_acq_rel) !=
        1) {
        return;
    }
    if (flight->request != NULL) {
        cpti_request_free(flight->request);
    } else {
        free_flight(flight);
    }
}

void cpti_flight_hold(struct cpti_flight *flight)
{
    (void)atomic_fetch_add_explicit(&flight->reference_count, 1, memory_order_relaxed);
}

static void retire_run(struct cpt_request *request)
{
    cpti_flight_release(request->nest.flight);
}

/* --- Who may join, and who waits. Shared lock held. --- */

void cpti_flight_close(struct cpti_flight *flight)
{
    if (flight->is_joinable) {
        LIST_REMOVE(flight, others);
        flight->is_joinable = false;
    }
}

void cpti_flight_add(struct cpti_flight *flight, struct cpti_sharer *sharer)
{
    sharer->flight = flight;
    sharer->is_listed = true;
    TAILQ_INSERT_TAIL(&flight->sharers, sharer, others);
    flight->waiter_count++;
}

void cpti_flight_remove(struct cpti_sharer *sharer)
{
    struct cpti_flight *flight = sharer->flight;

    TAILQ_REMOVE(&flight->sharers, sharer, others);
    sharer->is_listed = false;
    flight->waiter_count--;
}

/* --- On the path of a request that waited --- */

/* Without it the run would begin, and end, as much earlier. */
static cpt_status append_batch_wait(struct cpt_path *path, uint32_t root,
                                    uint64_t wait_ns, bool has_drag)
{
    const struct cpt_bytes none = {NULL, 0};
    uint32_t frame = 0;
    cpt_status status =
        cpt_path_frame_add(path, root, none, CPT_KIND_BATCH_WAIT, &frame);

    if (status == CPT_OK) {
        status = cpt_path_append_ns(path, frame, wait_ns);
    }
    return status == CPT_OK && has_drag ? cpt_path_drag_set(path, 0, wait_ns) : status;
}

static cpt_status append_flight(const struct cpti_flight *flight,
                                const struct cpt_trace_call *call,
                                struct cpt_path *callee)
{
    const uint64_t waited_ns = call->arrive_ns - call->issue_ns;
    const bool has_drags = cpt_path_has_drags(flight->path) != 0;
    struct cpt_splice splice = {.overcount = CPT_OVERCOUNT_CLIP,
                                .observed_ns = cpt_path_sum_ns(flight->path),
                                .has_call_drag = has_drags,
                                .call_drag_ns = waited_ns};
    uint32_t root = 0;
    cpt_status status =
        cpt_path_frame_add(callee, CPT_FRAME_NONE, call->name, CPT_KIND_WORK, &root);

    if (status == CPT_OK && waited_ns > splice.observed_ns) {
        status =
            append_batch_wait(callee, root, waited_ns - splice.observed_ns, has_drags);
    } else {
        splice.skip_ns = splice.observed_ns - waited_ns;
    }
    if (status == CPT_OK && splice.observed_ns != 0) {
        status = cpt_path_splice(callee, root, flight->path, &splice, NULL);
    }
    return status == CPT_OK ? cpt_path_label_number(callee, CPT_LABEL_COALESCED,
                                                    flight->joined_count)
                            : status;
}

cpt_status cpti_flight_open(const struct cpti_run *run, struct cpt_trace_call *call,
                            struct cpt_path *callee)
{
    const struct cpti_flight *flight =
        CPTI_CONST_CONTAINER(run, struct cpti_sharer, run)->flight;
    cpt_status status = CPT_OK;

    if (flight->path == NULL) {
        call->reason = flight->request != NULL && !flight->request->is_traced
                           ? CPT_REASON_SHARED
                           : CPT_REASON_LIMIT;
        return CPT_INVALID;
    }
    status = append_flight(flight, call, callee);
    if (status != CPT_OK) {
        cpt_path_reset(callee);
        call->reason = CPT_REASON_LIMIT;
    }
    return status;
}

/* --- The end of a run --- */

/* Makes the path of the run, one for all that read it. No wait has ended yet. */
static void make_path(struct cpti_flight *flight)
{
    struct cpt_path *path = cpt_path_new(flight->shared->options.alloc);

    if (path != NULL && cpt_request_path(flight->request, path, NULL) == CPT_OK) {
        flight->path = path;
    } else {
        cpt_path_free(path);
    }
}

/* When the wait of @run ended: at @end_ns if that is a time of its clock. */
static uint64_t arrival(const struct cpti_flight *flight, const struct cpti_run *run,
                        uint64_t end_ns)
{
    const struct cpt_request *waiter = run->waiter;
    const uint64_t issue_ns = run->pending.begin_ns;

    if (!waiter->is_traced) {
        return 0;
    }
    if (end_ns == 0 || waiter->clock != flight->clock) {
        end_ns = cpti_record_now(waiter);
    }
    return end_ns > issue_ns ? end_ns : issue_ns;
}

/* Ends all waits for a run that has ended, or could not be made. */
static void deliver(struct cpti_flight *flight, cpt_status status, const void *output,
                    const char *sentence)
{
    struct cpt_shared *shared = flight->shared;
    struct cpti_sharer *sharer = NULL;
    struct cpti_failed_call failed;
    const bool is_callees = status != CPT_OK && flight->request != NULL &&
                            cpti_call_failure(flight->request, &failed);
    bool is_traced = false;
    uint64_t end_ns = 0;

    cpti_lock_take(&shared->lock);
    cpti_flight_close(flight);
    shared->open_count--;
    TAILQ_FOREACH(sharer, &flight->sharers, others)
    {
        sharer->is_listed = false;
        is_traced |= sharer->run.waiter->is_traced;
    }
    cpti_lock_release(&shared->lock);
    if (flight->request != NULL && flight->request->is_traced) {
        const uint64_t latency_ns = cpt_request_latency_ns(flight->request);

        end_ns = flight->request->trace.arrival_ns + latency_ns;
        if (is_traced) {
            make_path(flight);
        }
    }
    sharer = TAILQ_FIRST(&flight->sharers);
    while (sharer != NULL) {
        struct cpti_sharer *next = TAILQ_NEXT(sharer, others);
        struct cpt_request *waiter = sharer->run.waiter;

        cpti_run_end(&sharer->run,
                     (struct cpti_run_result){status, output, sentence,
                                              is_callees ? &failed : NULL},
                     arrival(flight, &sharer->run, end_ns));
        cpti_request_release(waiter);
        sharer = next;
    }
}

static void end_run(struct cpt_request *request, void *context)
{
    deliver(context, cpt_request_status(request), cpt_request_output(request),
            request->sentence);
}

/* --- The beginning of a run --- */

static cpt_status make_run(struct cpti_flight *flight, struct cpt_error *error)
{
    const struct cpt_shared_options *shared = &flight->shared->options;
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options,
        .plan = shared->plan,
        .executor = flight->executor,
        .done = end_run,
        .gone = free_flight,
        .context = flight,
        .alloc = shared->alloc,
        .memory_bytes_max = shared->memory_bytes_max,
        .is_traced = flight->is_asked || !shared->is_traced_on_demand,
        .entry = flight->shared->frame,
        .clock = flight->clock,
        .attribution = flight->attribution,
        .measures_cpu = flight->measures_cpu,
        .trace_memory_bytes_max = shared->trace_memory_bytes_max,
    };
    struct cpt_request *made = NULL;
    const cpt_status status = cpti_request_new(&options, NULL, &made, error);

    if (status != CPT_OK) {
        return status;
    }
    made->inherited = flight->inherited;
    made->inherited.is_silent = !flight->is_asked;
    made->keeps_edges = flight->is_asked && flight->inherited.ask.wants_drag;
    made->nest.flight = flight;
    made->nest.level = flight->outer_count + 1;
    made->nest.retire = retire_run;
    if (flight->begin_ns != 0 && made->is_traced) {
        made->trace.arrival_ns = flight->begin_ns;
    }
    flight->request = made;
    return CPT_OK;
}

void cpti_flight_begin(struct cpti_flight *flight)
{
    struct cpt_error error = {0};
    const cpt_status status = make_run(flight, &error);
    void *input = flight->items;

    if (status != CPT_OK) {
        memcpy(flight->sentence, error.sentence, sizeof flight->sentence);
        deliver(flight, status, NULL, flight->sentence);
        cpti_flight_release(flight);
        return;
    }
    if (flight->shared->options.batch_count_max != 0) {
        flight->batch = (struct cpt_batch){flight->joined_count, flight->items};
        input = &flight->batch;
    }
    cpti_request_launch(flight->request, input, 0);
}

/* --- The timer of a batch --- */

static void fire(struct cpt_timer *timer)
{
    struct cpti_flight *flight = CPTI_CONTAINER(timer, struct cpti_flight, timer);
    struct cpt_shared *shared = flight->shared;
    bool is_first = false;

    cpti_lock_take(&shared->lock);
    is_first = !flight->has_begun;
    flight->has_begun = true;
    if (is_first) {
        cpti_flight_close(flight);
    }
    cpti_lock_release(&shared->lock);
    if (is_first) {
        cpti_flight_begin(flight);
    }
    cpti_flight_release(flight);
}

void cpti_flight_cancel_timer(struct cpti_flight *flight, bool is_timer_set)
{
    if (is_timer_set && flight->executor->cancel(flight->executor, &flight->timer)) {
        cpti_flight_release(flight);
    }
}

/* Meanwhile other requests may have filled the batch. */
void cpti_flight_set_timer(struct cpti_flight *flight)
{
    struct cpt_shared *shared = flight->shared;
    bool has_begun = false;

    cpti_flight_hold(flight);
    flight->timer.fire = fire;
    if (flight->executor->after(flight->executor, &flight->timer,
                                shared->options.batch_delay_ns) != CPT_OK) {
        fire(&flight->timer); /* an executor without timers cannot wait */
        return;
    }
    cpti_lock_take(&shared->lock);
    has_begun = flight->has_begun;
    flight->is_timer_set = !has_begun;
    cpti_lock_release(&shared->lock);
    cpti_flight_cancel_timer(flight, has_begun);
}
