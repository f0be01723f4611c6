/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_system.c - events of random requests; see model_system.h */
#include "tests/unit/import/model_system.h"

#include "import/model/model_file.h"

#include <CUnit/CUnit.h>

#include <string.h>

static const int64_t begin_of_all_us = INT64_C(1700000000000000);

void system_add(struct system_events *events, const char *id, const char *service,
                const char *unit, const char *name, int64_t begin_us, int64_t end_us)
{
    struct system_event *event = &events->all[events->count];

    if (events->count == SYSTEM_EVENTS_MAX) {
        abort();
    }
    *event = (struct system_event){.begin_ns = (begin_of_all_us + begin_us) * 1000,
                                   .row = ++events->count};
    event->is_interval = end_us >= begin_us;
    event->end_ns =
        event->is_interval ? (begin_of_all_us + end_us) * 1000 : event->begin_ns;
    (void)snprintf(event->id, sizeof event->id, "%s", id);
    (void)snprintf(event->service, sizeof event->service, "%s", service);
    (void)snprintf(event->unit, sizeof event->unit, "%s", unit);
    (void)snprintf(event->name, sizeof event->name, "%s", name);
}

/* One event at about @at_us, or a loop of one kind. */
static int64_t add_some(struct system_events *events, const char *id, int64_t at_us,
                        bool has_intervals, struct test_random *random)
{
    const size_t times =
        test_random_chance(random, 2)    ? 60 + test_random_below(random, 10)
        : test_random_chance(random, 20) ? 1 + test_random_below(random, 4)
                                         : 1;
    char texts[3][SYSTEM_TEXT_BYTES];

    (void)snprintf(texts[0], sizeof texts[0], "s%u",
                   (unsigned)test_random_below(random, 3));
    (void)snprintf(texts[1], sizeof texts[1], "u%u",
                   (unsigned)test_random_below(random, 2));
    (void)snprintf(texts[2], sizeof texts[2], "e%u",
                   (unsigned)test_random_below(random, 4));
    for (size_t i = 0; i < times; i++) {
        const bool is_interval = has_intervals && test_random_chance(random, 50);
        const int64_t length = (int64_t)test_random_below(random, 30);

        at_us += (int64_t)test_random_below(random, 4);
        system_add(events, id, texts[0], test_random_chance(random, 60) ? texts[1] : "",
                   texts[2], at_us, is_interval ? at_us + length : at_us - 1);
        events->all[events->count - 1].resolution_ns =
            test_random_chance(random, 30) ? 2000 : 0;
    }
    return at_us;
}

void system_random(struct system_events *events, size_t request_count,
                   bool has_intervals, struct test_random *random)
{
    for (size_t i = 0; i < request_count; i++) {
        const size_t count = 1 + test_random_below(random, 8);
        int64_t at_us = (int64_t)i * 5000;
        char id[SYSTEM_TEXT_BYTES];

        (void)snprintf(id, sizeof id, "%04x",
                       (unsigned)test_random_below(random, 65536));
        for (size_t k = 0; k < count; k++) {
            at_us = add_some(events, id, at_us, has_intervals, random);
        }
    }
}

void system_shuffle(struct system_events *events, struct test_random *random)
{
    for (size_t i = events->count; i > 1; i--) {
        const size_t other = test_random_below(random, i);
        const struct system_event moved = events->all[i - 1];

        events->all[i - 1] = events->all[other];
        events->all[other] = moved;
    }
}

struct cpti_requests *system_requests(const struct system_events *events, size_t parts,
                                      size_t part)
{
    const struct cpti_requests_options options = {0};
    struct cpti_requests *requests = cpti_requests_new(&options);

    for (size_t i = 0; i < events->count; i++) {
        const struct system_event *from = &events->all[i];
        const struct cpti_event event = {.id = cpt_bytes_of(from->id),
                                         .service = cpt_bytes_of(from->service),
                                         .unit = cpt_bytes_of(from->unit),
                                         .name = cpt_bytes_of(from->name),
                                         .begin_ns = from->begin_ns,
                                         .end_ns = from->end_ns,
                                         .resolution_ns = from->resolution_ns,
                                         .row = from->row,
                                         .is_interval = from->is_interval};

        if (cpt_hash_bytes(7, from->id, strlen(from->id)) % parts == part) {
            CU_ASSERT_EQUAL(cpti_requests_add(requests, &event), CPT_OK);
        }
    }
    CU_ASSERT_EQUAL(cpti_requests_rewind(requests), CPT_OK);
    return requests;
}

struct cpti_model *system_learn(const struct cpt_alloc *alloc,
                                struct cpti_requests *requests)
{
    struct cpti_model_learner *learner = cpti_model_learner_new(alloc, NULL);
    struct cpti_model *model = NULL;
    cpt_status status = learner != NULL ? CPT_OK : CPT_NO_MEMORY;

    if (learner != NULL) {
        cpti_model_learner_from(learner, requests);
    }
    while (status == CPT_OK) {
        struct cpti_request request;

        status = cpti_requests_next(requests, &request);
        if (status == CPT_OK) {
            status = cpti_model_learner_add(learner, &request);
        }
    }
    if (status == CPT_END) {
        (void)cpti_model_learner_finish(learner, &model);
    }
    cpti_model_learner_free(learner);
    cpti_requests_free(requests);
    return model;
}

struct bytes {
    unsigned char *data;
    size_t count;
};

static cpt_status put(void *context, const void *data, size_t count)
{
    struct bytes *bytes = context;

    bytes->data = realloc(bytes->data, bytes->count + count + 1);
    if (bytes->data == NULL) {
        abort();
    }
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
    return CPT_OK;
}

unsigned char *system_encode(const struct cpti_model *model, size_t *byte_count)
{
    struct bytes bytes = {0};
    const struct cpt_sink sink = {put, &bytes};

    CU_ASSERT_EQUAL(cpti_model_write(model, &sink), CPT_OK);
    *byte_count = bytes.count;
    return bytes.data;
}
