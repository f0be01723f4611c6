/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* virtual_time.c - see virtual_time.h. */
#include "tests/support/virtual_time.h"

#include <assert.h>
#include <string.h>

uint64_t virtual_random(uint64_t *state, uint64_t below)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * UINT64_C(2685821657736338717) >> 11) % below;
}

static uint64_t read_clock(void *context)
{
    struct virtual_time *virtual = context;

    virtual->read_count++;
    return virtual->now_ns;
}

static void submit(struct cpt_executor *executor, struct cpt_work *work)
{
    struct virtual_time *virtual = (struct virtual_time *)executor;

    assert(virtual->work_count < VIRTUAL_WORKS_MAX);
    virtual->works[virtual->work_count++] = work;
}

/* With a seed the answer is random, so that tasks run in both ways: kept by the thread
 * that made them ready, and handed on. */
static unsigned hunger(struct cpt_executor *executor)
{
    struct virtual_time *virtual = (struct virtual_time *)executor;

    return virtual->random == 0 || virtual_random(&virtual->random, 2) != 0
               ? (unsigned)CPT_HUNGRY_THREAD
               : 0;
}

static int yield(struct cpt_executor *executor, struct cpt_work *work)
{
    struct virtual_time *virtual = (struct virtual_time *)executor;

    if (virtual->random == 0 || virtual_random(&virtual->random, 2) == 0) {
        return 0;
    }
    submit(executor, work);
    return 1;
}

static cpt_status after(struct cpt_executor *executor, struct cpt_timer *timer,
                        uint64_t delay_ns)
{
    struct virtual_time *virtual = (struct virtual_time *)executor;

    if (virtual->timer_count == VIRTUAL_TIMERS_MAX) {
        return CPT_LIMIT;
    }
    timer->at_ns = virtual->now_ns + delay_ns;
    virtual->timers[virtual->timer_count++] = timer;
    return CPT_OK;
}

static struct cpt_timer *take_timer(struct virtual_time *virtual, size_t index)
{
    struct cpt_timer *timer = virtual->timers[index];

    virtual->timer_count--;
    memmove(&virtual->timers[index], &virtual->timers[index + 1],
            (virtual->timer_count - index) * sizeof(struct cpt_timer *));
    return timer;
}

static int cancel(struct cpt_executor *executor, struct cpt_timer *timer)
{
    struct virtual_time *virtual = (struct virtual_time *)executor;

    for (size_t i = 0; i < virtual->timer_count; i++) {
        if (virtual->timers[i] == timer) {
            (void)take_timer(virtual, i);
            return 1;
        }
    }
    return 0;
}

static void run_one(struct virtual_time *virtual)
{
    const size_t index = virtual->random != 0
                             ? virtual_random(&virtual->random, virtual->work_count)
                             : 0;
    struct cpt_work *work = virtual->works[index];

    virtual->work_count--;
    memmove(&virtual->works[index], &virtual->works[index + 1],
            (virtual->work_count - index) * sizeof(struct cpt_work *));
    work->run(work);
}

/* Moves the clock to the next timer, if it is not after @until_ns, and fires it. */
static int fire_one(struct virtual_time *virtual, uint64_t until_ns)
{
    struct cpt_timer *timer = NULL;
    size_t next = 0;

    for (size_t i = 1; i < virtual->timer_count; i++) {
        next = virtual->timers[i]->at_ns < virtual->timers[next]->at_ns ? i : next;
    }
    if (virtual->timer_count == 0 || virtual->timers[next]->at_ns > until_ns) {
        return 0;
    }
    timer = take_timer(virtual, next);
    if (timer->at_ns > virtual->now_ns) {
        virtual->now_ns = timer->at_ns;
    }
    timer->fire(timer);
    return 1;
}

static int help(struct cpt_executor *executor)
{
    struct virtual_time *virtual = (struct virtual_time *)executor;

    if (virtual->work_count == 0) {
        return fire_one(virtual, UINT64_MAX);
    }
    run_one(virtual);
    return 1;
}

void virtual_init(struct virtual_time *virtual, uint64_t seed)
{
    memset(virtual, 0, sizeof *virtual);
    virtual->executor = (struct cpt_executor){.name = "virtual",
                                              .submit = submit,
                                              .hunger = hunger,
                                              .yield = yield,
                                              .after = after,
                                              .cancel = cancel,
                                              .help = help};
    virtual->clock = (struct cpt_clock){read_clock, virtual};
    virtual->now_ns = 1000000000u;
    virtual->random = seed;
}

void virtual_run_until(struct virtual_time *virtual, uint64_t until_ns)
{
    do {
        while (virtual->work_count != 0) {
            run_one(virtual);
        }
    } while (fire_one(virtual, until_ns));
    if (until_ns != UINT64_MAX && until_ns > virtual->now_ns) {
        virtual->now_ns = until_ns;
    }
}

void virtual_run(struct virtual_time *virtual)
{
    virtual_run_until(virtual, UINT64_MAX);
}
