/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * experiment.c - the run of an experiment: turns, arms, and when it stops
 *
 * Time is cut into turns of each_ns; turn t is that of frame (first + t) mod count.
 * Services of one kind begin at different frames, so that not all of them are slower at
 * the same place. The arm is the n-th output of splitmix64 with a seed of its own, n
 * counting the requests that take part: it knows nothing of the request, nor of the
 * coin that chose it.
 *
 * The guard looks at the last CPTI_EXPERIMENT_WINDOW requests or more of both arms:
 * when there are that many, all counts are halved. Three slow or failed ones stop the
 * run as soon as they are more than the share that is allowed.
 */
#include "framework/service/rules/experiment.h"

#include <string.h>

#define SLOW_SHARE_MAX 0.01 /* p99 */

enum { EVIDENCE = 3, REQUESTS_MIN = 20 };

static uint64_t splitmix64(uint64_t seed, uint64_t index)
{
    uint64_t x = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static bool name_frames(struct cpti_experiment_run *run)
{
    const struct cpti_experiment_wanted *wanted = &run->wanted;

    if (!wanted->is_on || wanted->is_all) {
        return true;
    }
    run->frames =
        cpt_alloc_zeroed(run->alloc, wanted->frame_count * sizeof *run->frames);
    if (run->frames == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < wanted->frame_count; i++) {
        run->frames[i] = cpt_bytes_of(wanted->frames[i]);
    }
    run->frame_count = wanted->frame_count;
    return true;
}

struct cpti_experiment_run *
cpti_experiment_run_new(const struct cpti_experiment_wanted *wanted, uint64_t now_ns,
                        uint64_t seed, const struct cpt_alloc *alloc)
{
    struct cpti_experiment_run *run = cpt_alloc_zeroed(alloc, sizeof *run);

    if (run == NULL) {
        return NULL;
    }
    run->alloc = alloc;
    run->wanted = *wanted;
    run->begin_ns = now_ns;
    run->seed = seed;
    run->first = (uint32_t)(splitmix64(~seed, 0) >> 40);
    cpti_bucket_init(&run->asked, wanted->asked_rate);
    if (!name_frames(run)) {
        cpti_experiment_run_free(run);
        return NULL;
    }
    return run;
}

void cpti_experiment_run_free(struct cpti_experiment_run *run)
{
    if (run != NULL) {
        cpt_alloc_free(run->alloc, run->frames);
        cpt_alloc_free(run->alloc, run);
    }
}

static uint64_t age_of(const struct cpti_experiment_run *run, uint64_t now_ns)
{
    return now_ns > run->begin_ns ? now_ns - run->begin_ns : 0;
}

struct cpt_bytes cpti_experiment_turn(const struct cpti_experiment_run *run,
                                      uint64_t now_ns)
{
    if (run->frame_count == 0) {
        return (struct cpt_bytes){"", 0};
    }
    return run->frames[(run->first + age_of(run, now_ns) / run->wanted.each_ns) %
                       run->frame_count];
}

void cpti_experiment_draw(struct cpti_experiment_run *run, uint64_t now_ns,
                          struct cpti_experiment_arm *arm)
{
    struct cpt_bytes frame;
    uint64_t random = 0;

    arm->is_in = false;
    if (!run->wanted.is_on || run->stop != CPTI_EXPERIMENT_RUNS) {
        return;
    }
    if (age_of(run, now_ns) >= run->wanted.total_ns || run->frame_count == 0) {
        run->stop =
            run->frame_count == 0 ? CPTI_EXPERIMENT_EMPTY : CPTI_EXPERIMENT_OVER;
        return;
    }
    frame = cpti_experiment_turn(run, now_ns);
    random = splitmix64(run->seed, run->draw_count++) >> 11;
    arm->is_in = true;
    arm->is_own = run->wanted.is_all;
    arm->is_delayed = (double)random * 0x1p-53 < run->wanted.share;
    memcpy(arm->frame, frame.data, frame.bytes);
    arm->frame[frame.bytes] = '\0';
}

/* Whether @part of @count is evidence for more than @share. */
static bool is_above(uint64_t part, uint64_t count, double share)
{
    return count >= REQUESTS_MIN && part >= EVIDENCE &&
           (double)part > share * (double)count;
}

void cpti_experiment_note(struct cpti_experiment_run *run, uint64_t latency_ns,
                          bool is_failed)
{
    if (run->stop != CPTI_EXPERIMENT_RUNS) {
        return;
    }
    run->count++;
    run->slow_count += latency_ns > run->wanted.guard_ns;
    run->failed_count += is_failed;
    if (is_above(run->failed_count, run->count, run->wanted.errors_max)) {
        run->stop = CPTI_EXPERIMENT_ERRORS;
    } else if (is_above(run->slow_count, run->count, SLOW_SHARE_MAX)) {
        run->stop = CPTI_EXPERIMENT_GUARD;
    }
    if (run->count >= (uint64_t)2 * CPTI_EXPERIMENT_WINDOW) {
        run->count /= 2;
        run->slow_count /= 2;
        run->failed_count /= 2;
    }
}

void cpti_experiment_watch(struct cpti_experiment_run *run, uint64_t requests,
                           uint64_t failures, uint64_t now_ns)
{
    const uint64_t request_count = requests - run->seen_requests;

    if (run->stop != CPTI_EXPERIMENT_RUNS || !run->wanted.is_on) {
        return;
    }
    if (age_of(run, now_ns) >= run->wanted.total_ns) {
        run->stop = CPTI_EXPERIMENT_OVER;
    } else if (is_above(failures - run->seen_failures, request_count,
                        run->wanted.errors_max)) {
        run->stop = CPTI_EXPERIMENT_ERRORS;
    }
    if (request_count >= REQUESTS_MIN) {
        run->seen_requests = requests;
        run->seen_failures = failures;
    }
}

bool cpti_experiment_obeys(struct cpti_experiment_run *run, uint64_t delay_ns,
                           uint64_t now_ns)
{
    return run->wanted.asked_ns_max != 0 && delay_ns <= run->wanted.asked_ns_max &&
           cpti_bucket_take(&run->asked, now_ns);
}
