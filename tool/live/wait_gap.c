/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* wait_gap.c - why a call is not followed, as a sentence */
#include "tool/live/wait_print.h"

#include <inttypes.h>
#include <stdio.h>

/* The first service of @edge that does not tell. */
static const struct cpti_wait_service *silent_of(const struct cpti_waits *waits,
                                                 const struct cpti_wait_edge *edge)
{
    uint32_t i = 0;

    while (i + 1 < edge->target_count && waits->services[edge->targets[i]].is_known) {
        i++;
    }
    return &waits->services[edge->targets[i]];
}

static void say_absent(const struct cpti_waits *waits,
                       const struct cpti_wait_edge *edge, char *text, size_t bytes)
{
    uint64_t left_out = 0;

    for (uint32_t i = 0; i < edge->target_count; i++) {
        left_out += waits->services[edge->targets[i]].left_out;
    }
    if (left_out == 0) {
        (void)snprintf(text, bytes, "no request there: on its way, or just answered");
    } else {
        (void)snprintf(text, bytes,
                       "no request there among those that are told; %" PRIu64
                       " more are not",
                       left_out);
    }
}

void cpti_wait_say_gap(const struct cpti_waits *waits,
                       const struct cpti_wait_edge *edge, char *text, size_t bytes)
{
    const struct cpt_bytes transport = cpti_answer_string(edge->value, "transport");
    const struct cpti_wait_service *service = NULL;

    switch (edge->gap) {
    case CPTI_GAP_REMOTE:
        (void)snprintf(text, bytes,
                       "not asked: it is not a service of this machine; --remote asks "
                       "those, too");
        break;
    case CPTI_GAP_ADDRESS:
        (void)snprintf(text, bytes,
                       "not followed: its address is none that can be asked; "
                       "--operators-of names its port for operators");
        break;
    case CPTI_GAP_TRANSPORT:
        (void)snprintf(text, bytes,
                       "not followed: it goes by %.*s, and neither its stub nor "
                       "--operators-of names the port for operators of its service",
                       (int)(transport.bytes < 40 ? transport.bytes : 40),
                       transport.data);
        break;
    case CPTI_GAP_FULL:
        (void)snprintf(text, bytes,
                       "not followed: there are more services than are asked");
        break;
    case CPTI_GAP_SERVICE:
        service = silent_of(waits, edge);
        (void)snprintf(text, bytes, "not followed: %s: %s", service->place.text,
                       service->error.sentence);
        break;
    case CPTI_GAP_IDS:
        (void)snprintf(text, bytes, "not known which: the request has no trace id");
        break;
    case CPTI_GAP_QUEUED:
        (void)snprintf(text, bytes, "not sent yet: it waits for a connection");
        break;
    case CPTI_GAP_ABSENT:
        say_absent(waits, edge, text, bytes);
        break;
    case CPTI_GAP_SHARED:
        (void)snprintf(text, bytes,
                       "not followed: work that requests share tells no tasks");
        break;
    case CPTI_GAP_LEAF:
        (void)snprintf(text, bytes, "not followed, as --leaf says");
        break;
    default:
        (void)snprintf(text, bytes, "%s", "");
    }
}
