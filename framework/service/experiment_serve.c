/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * experiment_serve.c - the experiment of a service: begun, drawn, stopped, shown
 *
 *      settings --take--> run      request --begin--> arm --> attributes, delay
 *          '----tick--> is it over?      '--end----> guard
 *
 * All of this is of traced requests only. A request that comes while there is no
 * experiment reads one flag.
 */
#include "framework/service/rules/experiment.h"

#include "cpt/base/json_text.h"
#include "framework/run/deadline.h"
#include "framework/run/delay.h"
#include "framework/service/method.h"
#include "framework/service/service.h"
#include "framework/service/serving.h"

#include <stdio.h>
#include <string.h>

/* A request takes part only if it may take more than this many times the delay. */
enum { LEFT_FACTOR = 2 * CPTI_DELAY_LEFT_FACTOR };

void cpti_experiment_init(struct cpti_experiment *experiment)
{
    atomic_init(&experiment->is_on, false);
    cpti_lock_init(&experiment->lock, CPTI_RANK_EXPERIMENT);
}

void cpti_experiment_deinit(struct cpti_experiment *experiment)
{
    cpti_experiment_run_free(experiment->run);
    cpti_lock_deinit(&experiment->lock);
}

/* --- Of the settings --- */

/* Lock held. */
static void set_flag(struct cpti_experiment *experiment)
{
    const struct cpti_experiment_run *run = experiment->run;

    atomic_store_explicit(
        &experiment->is_on,
        run != NULL && ((run->wanted.is_on && run->stop == CPTI_EXPERIMENT_RUNS) ||
                        run->wanted.asked_ns_max != 0),
        memory_order_relaxed);
}

static uint64_t count_of(const atomic_uint_least64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static uint64_t failures_of(const struct cpti_counters *counters)
{
    uint64_t sum = 0;

    for (int i = 0; i < CPTI_FAILURE_REASONS; i++) {
        sum += count_of(&counters->failures[i]);
    }
    return sum;
}

static bool says_something(const struct cpti_experiment_wanted *wanted)
{
    return wanted != NULL && (wanted->is_on || wanted->asked_ns_max != 0);
}

static bool is_same_wanted(const struct cpti_experiment_wanted *a,
                           const struct cpti_experiment_wanted *b)
{
    bool is_same = a->is_on == b->is_on && a->is_all == b->is_all &&
                   a->burns == b->burns && a->delta_ns == b->delta_ns &&
                   a->guard_ns == b->guard_ns && a->errors_max == b->errors_max &&
                   a->share == b->share && a->each_ns == b->each_ns &&
                   a->total_ns == b->total_ns && a->asked_ns_max == b->asked_ns_max &&
                   a->asked_rate == b->asked_rate && a->frame_count == b->frame_count;

    for (uint32_t i = 0; i < a->frame_count && is_same; i++) {
        is_same = strcmp(a->frames[i], b->frames[i]) == 0;
    }
    return is_same;
}

bool cpti_experiment_take(struct cpt_service *service,
                          const struct cpti_experiment_wanted *wanted)
{
    struct cpti_experiment *experiment = &service->experiment;
    const uint64_t now_ns = cpt_clock_now_ns(service->options.clock);
    struct cpti_experiment_run *next = NULL;
    struct cpti_experiment_run *before = NULL;
    bool is_same = false;

    if (says_something(wanted)) {
        next = cpti_experiment_run_new(
            wanted, now_ns,
            (service->sampling.seed ^ UINT64_C(0xd1b54a32d192ed03)) + now_ns,
            service->options.alloc);
        if (next != NULL) {
            next->seen_requests = count_of(&service->counters.requests);
            next->seen_failures = failures_of(&service->counters);
        }
    }
    cpti_lock_take(&experiment->lock);
    is_same = next != NULL && experiment->run != NULL &&
              is_same_wanted(&next->wanted, &experiment->run->wanted);
    before = is_same ? next : experiment->run;
    experiment->run = is_same ? experiment->run : next;
    set_flag(experiment);
    cpti_lock_release(&experiment->lock);
    cpti_experiment_run_free(before);
    return next != NULL || !says_something(wanted);
}

static const char *const stop_words[] = {
    [CPTI_EXPERIMENT_RUNS] = "running",
    [CPTI_EXPERIMENT_OVER] = "over",
    [CPTI_EXPERIMENT_GUARD] = "stopped: too slow",
    [CPTI_EXPERIMENT_ERRORS] = "stopped: too many errors",
    [CPTI_EXPERIMENT_EMPTY] = "stopped: no task to delay",
};

static bool is_stopped_by_guard(enum cpti_experiment_stop stop)
{
    return stop == CPTI_EXPERIMENT_GUARD || stop == CPTI_EXPERIMENT_ERRORS;
}

bool cpti_experiment_tick(struct cpt_service *service,
                          char sentence[CPTI_EXPERIMENT_SENTENCE_BYTES])
{
    struct cpti_experiment *experiment = &service->experiment;
    struct cpti_experiment_run *run = NULL;
    enum cpti_experiment_stop stop = CPTI_EXPERIMENT_RUNS;
    bool is_news = false;

    cpti_lock_take(&experiment->lock);
    run = experiment->run;
    if (run != NULL && run->wanted.is_on) {
        cpti_experiment_watch(run, count_of(&service->counters.requests),
                              failures_of(&service->counters),
                              cpt_clock_now_ns(service->options.clock));
        stop = run->stop;
        is_news = stop != CPTI_EXPERIMENT_RUNS && !run->is_told;
        run->is_told |= is_news;
        set_flag(experiment);
    }
    cpti_lock_release(&experiment->lock);
    if (is_news) {
        if (is_stopped_by_guard(stop)) {
            CPTI_COUNT(&service->counters, experiment_stops);
        }
        (void)snprintf(sentence, CPTI_EXPERIMENT_SENTENCE_BYTES,
                       "the experiment of service '%.64s' is %s", service->name,
                       stop_words[stop]);
    }
    return is_news;
}

/* --- The frames of a service --- */

struct frames {
    struct cpt_bytes *names;
    uint64_t *numbers; /* as in headers: cpti_delay_frame() */
    uint32_t count;
};

static void add_frame(struct frames *frames, struct cpt_bytes name)
{
    const uint64_t number = cpti_delay_frame(name);

    for (uint32_t i = 0; i < frames->count; i++) {
        if (frames->numbers[i] == number) {
            return;
        }
    }
    if (frames->count < CPTI_EXPERIMENT_OWN_MAX) {
        frames->numbers[frames->count] = number;
        frames->names[frames->count++] = name;
    }
}

/* A component has no function: the tasks in it are frames of their own. */
static void add_plan(struct frames *frames, const struct cpt_plan *plan)
{
    for (uint32_t i = 0; i < plan->task_count; i++) {
        const struct cpti_plan_task *task = &plan->tasks[i];

        if (task->component == NULL) {
            add_frame(frames, task->frame_name);
        }
    }
}

/* The tasks of @plan and of its components, each of these once, wherever it is used. */
static void add_plans(struct frames *frames, const struct cpt_plan *plan)
{
    const struct cpt_plan *component = plan->components;

    add_plan(frames, plan);
    for (; component != NULL; component = component->next_component) {
        add_plan(frames, component);
    }
}

/* All tasks of the service, which last as long as its plans do. Lock held. */
static void find_frames(const struct cpt_service *service,
                        struct cpti_experiment_run *run)
{
    struct frames frames = {
        cpt_alloc_zeroed(run->alloc, CPTI_EXPERIMENT_OWN_MAX * sizeof *frames.names),
        cpt_alloc_zeroed(run->alloc, CPTI_EXPERIMENT_OWN_MAX * sizeof *frames.numbers),
        0};

    if (frames.names != NULL && frames.numbers != NULL) {
        for (size_t i = 0; i < service->method_count; i++) {
            add_plans(&frames, service->methods[i].plan);
        }
    }
    cpt_alloc_free(run->alloc, frames.numbers);
    run->frames = frames.names;
    run->frame_count = frames.count;
}

/* --- Of a request --- */

struct limited_delay {
    struct cpti_delay delay;
    atomic_uint_least64_t left_ns;
};

/* Without memory nothing is delayed, which is counted. A caller's delay has a limit for
 * all tasks together: the guard of an experiment is not here. */
static void delay_tasks(struct cpti_serving *serving, uint64_t frame, uint64_t ns,
                        bool burns, bool is_asked)
{
    struct cpti_counters *counters = &serving->service->counters;
    struct limited_delay *own = cpti_request_take(serving->request, sizeof *own);

    if (own == NULL) {
        CPTI_COUNT(counters, experiment_spared);
        return;
    }
    atomic_init(&own->left_ns, CPTI_DELAY_ASKED_NS_MAX);
    own->delay = (struct cpti_delay){
        .frame = frame,
        .ns = ns,
        .burns = burns,
        .left_ns = is_asked ? &own->left_ns : NULL,
        .delayed_count = &counters->experiment_tasks,
        .spared_count = &counters->experiment_spared,
    };
    serving->request->inherited.delay = &own->delay;
}

/* The caller asks for a delay. Its callees are told in any case. Not inlined, as
 * take_part(), so that a request that is in no experiment saves no registers. */
static __attribute__((noinline)) void obey(struct cpti_serving *serving,
                                           const struct cpt_ask *ask)
{
    struct cpt_service *service = serving->service;
    struct cpti_experiment *experiment = &service->experiment;
    bool obeys = false;

    if (ask->delay_ns <= CPTI_DELAY_NS_MAX &&
        atomic_load_explicit(&experiment->is_on, memory_order_relaxed)) {
        cpti_lock_take(&experiment->lock);
        obeys = experiment->run != NULL &&
                cpti_experiment_obeys(experiment->run, ask->delay_ns,
                                      cpt_clock_now_ns(service->options.clock));
        cpti_lock_release(&experiment->lock);
    }
    if (obeys) {
        CPTI_COUNT(&service->counters, experiment_asked);
        delay_tasks(serving, ask->delay_frame, ask->delay_ns, ask->delay_burns != 0,
                    true);
    } else {
        CPTI_COUNT(&service->counters, experiment_refused);
    }
}

static void note_arm(struct cpti_serving *serving,
                     const struct cpti_experiment_wanted *wanted,
                     const struct cpti_experiment_arm *arm)
{
    struct cpt_request *request = serving->request;
    struct cpti_counters *counters = &serving->service->counters;
    struct cpt_ask *ask = &request->inherited.ask;
    const uint64_t frame = cpti_delay_frame(cpt_bytes_of(arm->frame));

    serving->is_in_experiment = true;
    cpt_request_set_text(request, "experiment", arm->frame);
    cpt_request_set_text(request, "experiment_arm",
                         arm->is_delayed ? "delayed" : "plain");
    cpt_request_set_integer(request, "experiment_ns", (int64_t)wanted->delta_ns);
    cpt_request_set_text(request, "experiment_kind", wanted->burns ? "burn" : "wait");
    cpt_request_set_float(request, "experiment_probability",
                          serving->decision.probability);
    if (!arm->is_delayed) {
        CPTI_COUNT(counters, experiment_plain);
        return;
    }
    CPTI_COUNT(counters, experiment_delayed);
    delay_tasks(serving, frame, wanted->delta_ns, wanted->burns, false);
    if (!arm->is_own) { /* it may be one of a callee */
        ask->delay_frame = frame;
        ask->delay_ns = wanted->delta_ns;
        ask->delay_burns = wanted->burns;
    }
}

/* The request is one of the random sample. */
static __attribute__((noinline)) void take_part(struct cpti_serving *serving)
{
    struct cpt_service *service = serving->service;
    struct cpti_experiment *experiment = &service->experiment;
    const uint64_t limit_ns = serving->timeout_ns;
    struct cpti_experiment_wanted wanted = {0};
    struct cpti_experiment_arm arm;

    arm.is_in = false;
    cpti_lock_take(&experiment->lock);
    if (experiment->run != NULL) {
        struct cpti_experiment_run *run = experiment->run;

        wanted.delta_ns = run->wanted.delta_ns;
        wanted.burns = run->wanted.burns;
        if (run->wanted.is_all && run->frames == NULL) {
            find_frames(service, run);
        }
        if (limit_ns == 0 || limit_ns / LEFT_FACTOR > wanted.delta_ns) {
            cpti_experiment_draw(run, cpt_clock_now_ns(service->options.clock), &arm);
            set_flag(experiment);
        } else if (run->wanted.is_on) {
            CPTI_COUNT(&service->counters, experiment_left_out);
        }
    }
    cpti_lock_release(&experiment->lock);
    if (arm.is_in) {
        note_arm(serving, &wanted, &arm);
    }
}

void cpti_experiment_begin(struct cpti_serving *serving)
{
    const struct cpti_decision *decision = &serving->decision;
    const struct cpt_ask *ask = &serving->request->inherited.ask;

    if (ask->delay_ns != 0) {
        obey(serving, ask);
    } else if (decision->is_random && decision->is_logged && !decision->is_forced &&
               decision->ask.version == 0 &&
               atomic_load_explicit(&serving->service->experiment.is_on,
                                    memory_order_relaxed)) {
        take_part(serving);
    }
}

void cpti_experiment_end(struct cpti_serving *serving)
{
    struct cpti_experiment *experiment = &serving->service->experiment;
    struct cpt_request *request = serving->request;
    const bool is_failed = serving->item.record.is_failed != 0 ||
                           (request->status != CPT_OK && request->refusal == 0);

    cpti_lock_take(&experiment->lock);
    if (experiment->run != NULL) {
        cpti_experiment_note(experiment->run, cpt_request_latency_ns(request),
                             is_failed);
        set_flag(experiment);
    }
    cpti_lock_release(&experiment->lock);
}

/* --- Shown --- */

void cpti_experiment_write(struct cpt_service *service, struct cpti_json *text)
{
    struct cpti_experiment *experiment = &service->experiment;
    const uint64_t now_ns = cpt_clock_now_ns(service->options.clock);

    cpti_lock_take(&experiment->lock);
    if (experiment->run != NULL) {
        const struct cpti_experiment_run *run = experiment->run;
        const uint64_t end_ns = run->begin_ns + run->wanted.total_ns;

        cpti_json_open(text, "experiment", '{');
        if (run->wanted.is_on) {
            cpti_json_bytes(text, "state", cpt_bytes_of(stop_words[run->stop]));
            cpti_json_bytes(text, "frame", cpti_experiment_turn(run, now_ns));
            cpti_json_unsigned(text, "delta_us", run->wanted.delta_ns / 1000);
            cpti_json_unsigned(text, "left_s",
                               end_ns > now_ns ? (end_ns - now_ns) / 1000000000 : 0);
        }
        cpti_json_unsigned(text, "obeys_us", run->wanted.asked_ns_max / 1000);
        cpti_json_close(text);
    }
    cpti_lock_release(&experiment->lock);
}
