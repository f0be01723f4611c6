/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_live.c - any bytes as the answers of running services
 *
 * The first byte chooses: plans, or who waits for whom. Then follow the answers: a
 * length of two bytes, low byte first, and that many bytes. This file replaces place.c
 * and place_get.c, which talk to services.
 *
 * What is found must be consistent: a graph can be written, and each edge and circle is
 * one of requests that are there.
 */
#include "tool/live/place.h"
#include "tool/live/plans.h"
#include "tool/live/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const uint8_t *answers;
static size_t answers_left;

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

/* --- Replaces place.c, place_get.c --- */

cpt_status cpti_place_read(struct cpt_bytes text, bool asks_names,
                           struct cpti_peer *place, struct cpt_error *error)
{
    (void)asks_names;
    memset(place, 0, sizeof *place);
    if (text.bytes == 0 || text.bytes >= sizeof place->text) {
        return cpt_error_set(error, CPT_INVALID, 0, "no port");
    }
    memcpy(place->text, text.data, text.bytes);
    place->is_loopback = text.data[0] != 'r';
    return CPT_OK;
}

cpt_status cpti_place_get(const struct cpti_peer *place, const struct cpti_get *get,
                          char **body, size_t *bytes, struct cpt_error *error)
{
    size_t length = 0;

    (void)place;
    (void)get;
    if (answers_left < 2) {
        return cpt_error_set(error, CPT_UNAVAILABLE, 0, "no answer");
    }
    length = (size_t)answers[0] | (size_t)answers[1] << 8;
    answers += 2;
    answers_left -= 2;
    length = length < answers_left ? length : answers_left;
    *body = malloc(length + 1);
    must(*body != NULL);
    memcpy(*body, answers, length);
    (*body)[length] = '\0';
    *bytes = length;
    answers += length;
    answers_left -= length;
    return CPT_OK;
}

/* --- The readers --- */

static void read_plans(const struct cpti_peer *place)
{
    struct cpti_plans plans;
    struct cpt_error error = {.status = CPT_OK};
    FILE *file = NULL;

    if (cpti_plans_ask(&plans, place, NULL, &error) == CPT_OK) {
        must(plans.count <= CPTI_PLANS_MAX);
        file = fopen("/dev/null", "w");
        must(file != NULL);
        (void)cpti_plans_dot(&plans, file);
        (void)fclose(file);
    } else {
        must(error.status != CPT_OK);
    }
    cpti_plans_deinit(&plans);
}

static void check_waits(const struct cpti_waits *waits)
{
    for (uint32_t i = 0; i < waits->edge_count; i++) {
        for (uint32_t j = 0; j < waits->edges[i].end_count; j++) {
            must(waits->edges[i].ends[j] < waits->request_count);
        }
        must(waits->edges[i].end_count == 0 || waits->edges[i].gap == CPTI_GAP_NONE);
        for (uint32_t j = 0; j < waits->edges[i].target_count; j++) {
            must(waits->edges[i].targets[j] < waits->service_count);
        }
    }
    for (uint32_t i = 0; i < waits->deadlock_count; i++) {
        const struct cpti_wait_deadlock *deadlock = &waits->deadlocks[i];

        must(deadlock->count > 0);
        for (uint32_t j = 0; j < deadlock->count; j++) {
            const uint32_t *at = &waits->deadlock_requests[deadlock->first + j];
            const uint32_t next = j + 1 < deadlock->count
                                      ? at[1]
                                      : waits->deadlock_requests[deadlock->first];
            const struct cpti_wait_group *group = NULL;

            must(*at < waits->request_count);
            must(waits->requests[*at].is_stuck);
            must(cpti_waits_edge_to(waits, *at, next, &group) != NULL);
        }
    }
}

static void read_waits(const struct cpti_peer *place, bool is_remote)
{
    struct cpti_waits waits;
    struct cpt_error error = {.status = CPT_OK};

    memset(&waits, 0, sizeof waits);
    waits.is_remote = is_remote;
    waits.operators_of = "B=127.0.0.1:9,:8,C=:7";
    waits.leaves = "D,E";
    if (cpti_waits_look(&waits, place, &error) == CPT_OK) {
        check_waits(&waits);
    }
    cpti_waits_deinit(&waits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct cpti_peer place;

    if (bytes == 0) {
        return 0;
    }
    answers = data + 1;
    answers_left = bytes - 1;
    must(cpti_place_read(cpt_bytes_of("127.0.0.1:1"), false, &place, NULL) == CPT_OK);
    if (data[0] % 2 == 0) {
        read_plans(&place);
    } else {
        read_waits(&place, data[0] % 4 == 1);
    }
    return 0;
}
