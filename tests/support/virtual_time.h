/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * virtual_time.h - a clock that a test turns, and an executor that runs on it
 *
 * The executor runs nothing by itself: virtual_run() takes one piece of work after the
 * other, in an order that a seed chooses (0: first come, first served), and when there
 * is none it turns the clock to the next timer. So a test replays an interleaving.
 *
 * Threads: one.
 */
#ifndef VIRTUAL_TIME_H
#define VIRTUAL_TIME_H

#include "framework/cpt_runtime.h"

enum { VIRTUAL_WORKS_MAX = 4096, VIRTUAL_TIMERS_MAX = 4096 };

struct virtual_time {
    struct cpt_executor executor; /* first */
    struct cpt_clock clock;
    uint64_t now_ns;
    uint64_t read_count; /* of the clock, by whoever was given it */
    uint64_t random;     /* 0: first come, first served */
    struct cpt_work *works[VIRTUAL_WORKS_MAX];
    size_t work_count;
    struct cpt_timer *timers[VIRTUAL_TIMERS_MAX];
    size_t timer_count;
};

void virtual_init(struct virtual_time *virtual, uint64_t seed);

/* Runs work and fires timers until there is none. */
void virtual_run(struct virtual_time *virtual);

/* The same, but timers only up to @until_ns, where the clock then stands. */
void virtual_run_until(struct virtual_time *virtual, uint64_t until_ns);

/* The next number of a generator (xorshift64*), 0 to @below - 1. */
uint64_t virtual_random(uint64_t *state, uint64_t below);

#endif
