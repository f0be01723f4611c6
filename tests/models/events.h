/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * events.h - simulated time: what happens when, and pools that it waits for
 *
 * Threads: one at a time. Out of memory ends the program.
 */
#ifndef MODELS_EVENTS_H
#define MODELS_EVENTS_H

#include <stddef.h>
#include <stdint.h>

typedef void (*event_fn)(void *of);

/* Zeroed memory that lives until events_free(). */
void *model_alloc(size_t bytes);

int64_t now_ns(void);

/* Calls @run in @ns, after all that was to happen then. */
void after(double ns, event_fn run, void *of);

/* Runs all events before @end_ns. */
void events_run(int64_t end_ns);
void events_free(void);

struct waiting;

/* Workers, or cores, of which each is with one at a time. */
struct pool {
    int free;
    struct waiting *first;
    struct waiting **last;
};

void pool_init(struct pool *pool, int size);

/* Calls @run at once, or when one is free and all before have had theirs. */
void acquire(struct pool *pool, event_fn run, void *of);
void release(struct pool *pool);

#endif
