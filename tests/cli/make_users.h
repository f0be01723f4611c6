/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * make_users.h - two arms of one time, to which users were drawn
 *
 *      u0 u2 … u18   control       A calls B, C, D, E and F, 2 ms each
 *      u1 u3 … u19   treatment     B takes eight times as long for u3 and u7
 *
 * So B is slower in the treatment arm because chance put both users there.
 *
 * A natural experiment: with a hit A asks C, else D, too, which takes 6 ms. Large
 * requests hit less often and take longer; those of one method never hit, those of
 * another one have no cache.
 *
 * And sessions: most users have slow requests or fast ones, whichever their last was.
 */
#ifndef MAKE_USERS_H
#define MAKE_USERS_H

#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <stdio.h>

enum { USERS = 20, USERS_REQUESTS = 400, NATURAL_REQUESTS = 600, SESSIONS = 300 };

static inline cpt_status set_users(struct cpt_path *path, struct cpt_record *record,
                                   unsigned index)
{
    static const char *const callees[] = {"B: b", "C: c", "D: d", "E: e", "F: f"};
    static char name[16];
    static struct cpt_attribute attributes[2] = {
        {{"arm", 3}, CPT_ATTRIBUTE_TEXT, {.text = {"", 0}}},
        {{"user", 4}, CPT_ATTRIBUTE_TEXT, {.text = {"", 0}}},
    };
    const uint64_t us = 1000;
    const unsigned user = index * 7 % USERS;
    uint32_t entry = 0;
    cpt_status status;

    (void)snprintf(name, sizeof name, "u%u", user);
    attributes[0].value.text = cpt_bytes_of(user % 2 == 0 ? "control" : "treatment");
    attributes[1].value.text = cpt_bytes_of(name);
    record->attributes = attributes;
    record->attribute_count = 2;
    cpt_path_reset(path);
    status = cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &entry);
    for (unsigned i = 0; i < 5 && status == CPT_OK; i++) {
        const int is_slow = i == 0 && (user == 3 || user == 7);
        const uint64_t jitter_us = (index + 31 * i) * 7919 % 400;
        uint32_t callee = 0;

        status = cpt_path_append_ns(path, entry, (1000 + jitter_us) * us);
        if (status == CPT_OK) {
            status =
                cpt_path_frame_add(path, entry, cpt_bytes_of(callees[i]), 0, &callee);
        }
        if (status == CPT_OK) {
            status = cpt_path_append_ns(path, callee,
                                        (2000 + jitter_us) * (is_slow ? 8 : 1) * us);
        }
    }
    return status;
}

/* The time of @service below @entry. */
static inline cpt_status append_callee(struct cpt_path *path, uint32_t entry,
                                       const char *service, uint64_t us)
{
    uint32_t callee = 0;
    const cpt_status status =
        cpt_path_frame_add(path, entry, cpt_bytes_of(service), 0, &callee);

    return status == CPT_OK ? cpt_path_append_ns(path, callee, us * 1000) : status;
}

static inline cpt_status set_natural(struct cpt_path *path, struct cpt_record *record,
                                     unsigned index)
{
    static const char *const methods[] = {"GET /", "GET /admin", "POST /"};
    static struct cpt_attribute attributes[3] = {
        {{"size", 4}, CPT_ATTRIBUTE_INTEGER, {.integer = 0}},
        {{"region", 6}, CPT_ATTRIBUTE_TEXT, {.text = {"eu", 2}}},
        {{"cache", 5}, CPT_ATTRIBUTE_TEXT, {.text = {"hit", 3}}},
    };
    const unsigned chance = index * 7919U % 1009;
    const unsigned method = index % 10 == 8 ? 1 : index % 10 == 9 ? 2 : 0;
    const unsigned power = index * 31 % 5;
    const int is_hit = method == 0 && chance % 10 < 9 - 2 * power;
    uint32_t entry = 0;
    cpt_status status;

    attributes[0].value.integer = (1 << power) + (int)(chance % (1U << power));
    attributes[1].value.text = cpt_bytes_of(chance % 3 == 0 ? "us" : "eu");
    attributes[2].value.text = cpt_bytes_of(is_hit ? "hit" : "miss");
    record->attributes = attributes;
    record->attribute_count = method == 2 ? 2 : 3;
    record->method = cpt_bytes_of(methods[method]);
    cpt_path_reset(path);
    status = cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &entry);
    if (status == CPT_OK) {
        status = cpt_path_append_ns(path, entry,
                                    (1000 + 700 * (1U << power) + chance) * 1000);
    }
    if (status == CPT_OK) {
        status = append_callee(path, entry, "C: get", 300 + chance % 200);
    }
    return status == CPT_OK && !is_hit
               ? append_callee(path, entry, "D: query", 5500 + chance)
               : status;
}

/* User 9 has one request, and every seventh request has no user. */
static inline cpt_status set_sessions(struct cpt_path *path, struct cpt_record *record,
                                      unsigned index)
{
    static char name[16];
    static struct cpt_attribute attribute = {
        {"user", 4}, CPT_ATTRIBUTE_TEXT, {.text = {"", 0}}};
    const unsigned user = index == 5 ? 9 : index * 13 % 11 % 9;
    const int is_odd = index * 7919U % 101 < 12;
    uint32_t entry = 0;
    cpt_status status;

    (void)snprintf(name, sizeof name, "u%u", user);
    attribute.value.text = cpt_bytes_of(name);
    record->attributes = &attribute;
    record->attribute_count = index % 7 != 6;
    cpt_path_reset(path);
    status = cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &entry);
    return status == CPT_OK
               ? cpt_path_append_ns(path, entry,
                                    ((user % 3 == 0) != is_odd ? 3000U : 800U) *
                                            1000000U +
                                        index % 50 * 1000000U)
               : status;
}

#endif
