/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * make_users.h - two arms of one time, to which users were drawn
 *
 *      u0 u2 … u18   control       A calls B, C, D, E and F, 2 ms each
 *      u1 u3 … u19   treatment     B takes eight times as long for u3 and u7
 *
 * So B is slower in the treatment arm because chance put both users there.
 */
#ifndef MAKE_USERS_H
#define MAKE_USERS_H

#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <stdio.h>

enum { USERS = 20, USERS_REQUESTS = 400 };

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

#endif
