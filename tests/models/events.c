/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* events.c - simulated time; see events.h */
#include "tests/models/events.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct event {
    int64_t at_ns;
    uint64_t number;
    event_fn run;
    void *of;
};

struct waiting {
    event_fn run;
    void *of;
    struct waiting *next;
};

struct chunk {
    struct chunk *next;
    _Alignas(16) char bytes[];
};

static struct {
    int64_t now_ns;
    struct event *heap;
    size_t count;
    size_t capacity;
    uint64_t number;
    struct chunk *chunks;
} events;

static void need(const void *memory)
{
    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
}

void *model_alloc(size_t bytes)
{
    struct chunk *chunk = calloc(1, sizeof *chunk + bytes);

    need(chunk);
    chunk->next = events.chunks;
    events.chunks = chunk;
    return chunk->bytes;
}

void events_free(void)
{
    while (events.chunks != NULL) {
        struct chunk *next = events.chunks->next;

        free(events.chunks);
        events.chunks = next;
    }
    free(events.heap);
    events.heap = NULL;
}

int64_t now_ns(void)
{
    return events.now_ns;
}

static bool is_earlier(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

void after(double ns, event_fn run, void *of)
{
    const struct event event = {events.now_ns + (ns > 0 ? (int64_t)ns : 0),
                                events.number++, run, of};
    size_t at = events.count++;

    if (events.count > events.capacity) {
        events.capacity = 2 * events.count;
        events.heap = realloc(events.heap, events.capacity * sizeof *events.heap);
        need(events.heap);
    }
    for (; at > 0 && is_earlier(&event, &events.heap[(at - 1) / 2]);
         at = (at - 1) / 2) {
        events.heap[at] = events.heap[(at - 1) / 2];
    }
    events.heap[at] = event;
}

static struct event take(void)
{
    const struct event first = events.heap[0];
    const struct event last = events.heap[--events.count];
    size_t at = 0;

    for (size_t below = 1; below < events.count; below = 2 * at + 1) {
        if (below + 1 < events.count &&
            is_earlier(&events.heap[below + 1], &events.heap[below])) {
            below++;
        }
        if (!is_earlier(&events.heap[below], &last)) {
            break;
        }
        events.heap[at] = events.heap[below];
        at = below;
    }
    events.heap[at] = last;
    return first;
}

void events_run(int64_t end_ns)
{
    while (events.count > 0 && events.heap[0].at_ns < end_ns) {
        const struct event event = take();

        events.now_ns = event.at_ns;
        event.run(event.of);
    }
}

void pool_init(struct pool *pool, int size)
{
    *pool = (struct pool){.free = size};
    pool->last = &pool->first;
}

void acquire(struct pool *pool, event_fn run, void *of)
{
    struct waiting *waiting = NULL;

    if (pool->free > 0) {
        pool->free--;
        run(of);
        return;
    }
    waiting = model_alloc(sizeof *waiting);
    *waiting = (struct waiting){run, of, NULL};
    *pool->last = waiting;
    pool->last = &waiting->next;
}

void release(struct pool *pool)
{
    struct waiting *first = pool->first;

    if (first == NULL) {
        pool->free++;
        return;
    }
    pool->first = first->next;
    if (pool->first == NULL) {
        pool->last = &pool->first;
    }
    after(0, first->run, first->of);
}
