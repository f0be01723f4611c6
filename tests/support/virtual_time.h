/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * virtual_time.h - a clock that a test sets, and an executor that runs on it
 *
 * The executor runs nothing by itself: virtual_run() runs one piece of work after the
 * other, in an order that a seed chooses (0: first come, first served). When there is
 * none, it moves the clock to the next timer. So a test can replay an interleaving.
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
    uint64_t read_count; /* readings of the clock */
    uint64_t random;     /* 0: first come, first served */
    struct cpt_work *works[VIRTUAL_WORKS_MAX];
    size_t work_count;
    struct cpt_timer *timers[VIRTUAL_TIMERS_MAX];
    size_t timer_count;
};

void virtual_init(struct virtual_time *virtual, uint64_t seed);

/* Runs work and fires timers until there is none. */
void virtual_run(struct virtual_time *virtual);

/* The same, with timers up to @until_ns only, which is then the time of the clock. */
void virtual_run_until(struct virtual_time *virtual, uint64_t until_ns);

/* The next number of a generator (xorshift64*), 0 to @below - 1. */
uint64_t virtual_random(uint64_t *state, uint64_t below);

#endif
