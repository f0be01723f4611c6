/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_system.h - events of random requests, and models of them
 *
 * Used by the tests of models: events as a list that can be shuffled and parted.
 */
#ifndef MODEL_SYSTEM_H
#define MODEL_SYSTEM_H

#include "import/events/requests.h"
#include "import/model/model.h"

#include "tests/support/test_random.h"

enum { SYSTEM_EVENTS_MAX = 20000, SYSTEM_TEXT_BYTES = 24 };

struct system_event {
    char id[SYSTEM_TEXT_BYTES];
    char service[SYSTEM_TEXT_BYTES];
    char unit[SYSTEM_TEXT_BYTES];
    char name[SYSTEM_TEXT_BYTES];
    int64_t begin_ns;
    int64_t end_ns;
    uint64_t resolution_ns;
    uint64_t row;
    bool is_interval;
};

struct system_events {
    struct system_event all[SYSTEM_EVENTS_MAX];
    size_t count;
};

/* Adds an event at @begin_us of the request @id; to @end_us if that is not before it,
 * else it is a point. */
void system_add(struct system_events *events, const char *id, const char *service,
                const char *unit, const char *name, int64_t begin_us, int64_t end_us);

/* Adds the events of @request_count random requests: few services and kinds; points,
 * or also intervals; loops, sometimes long ones; equal times. */
void system_random(struct system_events *events, size_t request_count,
                   bool has_intervals, struct test_random *random);

void system_shuffle(struct system_events *events, struct test_random *random);

/* The requests of those events for which the hash of the id, modulo @parts, is @part.
 * The caller frees them. */
struct cpti_requests *system_requests(const struct system_events *events, size_t parts,
                                      size_t part);

/* The model of @requests, which are freed. NULL without memory. */
struct cpti_model *system_learn(const struct cpt_alloc *alloc,
                                struct cpti_requests *requests);

/* The model as bytes, which the caller frees. */
unsigned char *system_encode(const struct cpti_model *model, size_t *byte_count);

#endif
