/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* loopback.c - see loopback.h. */
#include "tests/support/loopback.h"

#include <string.h>

static void come_back(void *context, const struct cpt_outbound *outbound)
{
    struct cpt_transport_call *call = context;
    struct loopback *loopback = call->state;
    struct cpt_transport_reply reply = {.status = CPT_OK,
                                        .http_status = outbound->http_status,
                                        .body = outbound->body,
                                        .metadata = outbound->metadata};

    if (loopback->delay != NULL) {
        loopback->delay(loopback->context);
    }
    if (loopback->tamper != NULL) {
        loopback->tamper(loopback->context, &reply);
    }
    cpt_transport_complete(call, &reply);
}

void loopback_send(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    struct loopback *loopback = (struct loopback *)transport;
    const struct cpt_transport_reply unreachable = {.status = CPT_UNAVAILABLE};
    struct cpt_inbound inbound = {.method = cpt_bytes_of(call->method),
                                  .body = call->body,
                                  .critical_path = call->critical_path,
                                  .critical_path_count = call->critical_path.bytes != 0,
                                  .traceparent = call->traceparent,
                                  .peer_address = cpt_bytes_of("127.0.0.1")};

    call->state = loopback;
    loopback->last_ask = (struct cpt_bytes){NULL, 0};
    if (call->critical_path.bytes != 0 &&
        call->critical_path.bytes < sizeof loopback->last_ask_text) {
        memcpy(loopback->last_ask_text, call->critical_path.data,
               call->critical_path.bytes);
        loopback->last_ask.data = loopback->last_ask_text;
        loopback->last_ask.bytes = call->critical_path.bytes;
    }
    cpt_transport_sent(call);
    if (loopback->delay != NULL) {
        loopback->delay(loopback->context);
    }
    for (size_t i = 0; i < loopback->service_count; i++) {
        if (strcmp(cpt_service_name(loopback->services[i]), call->target) == 0) {
            cpt_service_serve(loopback->services[i], &inbound, come_back, call);
            return;
        }
    }
    cpt_transport_complete(call, &unreachable);
}

void loopback_init(struct loopback *loopback)
{
    memset(loopback, 0, sizeof *loopback);
    loopback->transport =
        (struct cpt_transport){.name = "loopback", .send = loopback_send};
}
