/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * loopback.h - a transport within the process: the services are real, the wire is not
 *
 * A call goes to the service whose name is its target. `tamper`, if set, may change the
 * reply, or the time at which it arrives.
 *
 * Cancelling a call cancels the callee's request.
 *
 * Threads: one.
 */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include "framework/cpt_rpc.h"

enum { LOOPBACK_SERVICES_MAX = 4 };

struct loopback {
    struct cpt_transport transport; /* first */
    struct cpt_service *services[LOOPBACK_SERVICES_MAX];
    size_t service_count;
    void (*tamper)(void *context, struct cpt_transport_reply *reply);
    void (*delay)(void *context); /* called on the way there and on the way back */
    void *context;
    unsigned cancel_count;     /* calls that their caller cancelled */
    struct cpt_bytes last_ask; /* header of the last call; data NULL: none */
    char last_ask_text[64];
    char last_nonce[32]; /* likewise */
    uint64_t last_slack_ns;
};

void loopback_init(struct loopback *loopback);

/* The function that sends; a test may replace it for a while. */
void loopback_send(struct cpt_transport *transport, struct cpt_transport_call *call);

#endif
