/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * untraced.h - a log without records says why it has none
 *
 * An entry traces one request of a thousand by default. After 300 requests its log is
 * most likely empty, which looks like a mistake. So while no request has been traced,
 * the service writes to the log how many it got, and its probability: after 1, 2, 4, 8
 * … requests, so that this costs nothing, and when it is drained.
 */
#ifndef CPT_UNTRACED_H
#define CPT_UNTRACED_H

#include "framework/service/service.h"

/* Writes the present number of requests, unless one was traced. */
void cpti_untraced_tell(struct cpt_service *service, bool is_final);

/* A request was not traced; it is number @count. */
static inline void cpti_untraced_note(struct cpt_service *service, uint64_t count)
{
    if ((count & (count - 1)) == 0) {
        cpti_untraced_tell(service, false);
    }
}

#endif
