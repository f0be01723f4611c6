/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* loopback.c - see loopback.h. */
#include "tests/support/loopback.h"

#include "framework/cpt_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that is out. */
struct passage {
    struct loopback *loopback;
    struct cpt_transport_call *call;
    struct cpt_request_handle *handle; /* of the callee's request */
    struct cpt_field nonce;            /* the header of the ask */
    char timeout[24];
    char slack[24];
};

static void complete(struct passage *passage, const struct cpt_transport_reply *reply)
{
    struct cpt_transport_call *call = passage->call;

    call->state = NULL;
    cpt_request_handle_free(passage->handle);
    free(passage);
    cpt_transport_complete(call, reply);
}

static void come_back(void *context, const struct cpt_outbound *outbound)
{
    struct passage *passage = context;
    struct loopback *loopback = passage->loopback;
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
    complete(passage, &reply);
}

static void note_ask(struct loopback *loopback, const struct cpt_transport_call *call)
{
    loopback->last_ask = (struct cpt_bytes){NULL, 0};
    loopback->last_slack_ns = call->slack_ns;
    (void)snprintf(loopback->last_nonce, sizeof loopback->last_nonce, "%.*s",
                   (int)call->nonce.bytes,
                   call->nonce.bytes != 0 ? call->nonce.data : "");
    if (call->critical_path.bytes != 0 &&
        call->critical_path.bytes < sizeof loopback->last_ask_text) {
        memcpy(loopback->last_ask_text, call->critical_path.data,
               call->critical_path.bytes);
        loopback->last_ask.data = loopback->last_ask_text;
        loopback->last_ask.bytes = call->critical_path.bytes;
    }
}

void loopback_send(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    struct loopback *loopback = (struct loopback *)transport;
    const struct cpt_transport_reply unreachable = {.status = CPT_UNAVAILABLE};
    struct passage *passage = calloc(1, sizeof *passage);
    struct cpt_inbound inbound = {.method = cpt_bytes_of(call->method),
                                  .body = call->body,
                                  .critical_path = call->critical_path,
                                  .critical_path_count = call->critical_path.bytes != 0,
                                  .traceparent = call->traceparent,
                                  .peer_address = cpt_bytes_of("127.0.0.1"),
                                  .headers = &passage->nonce,
                                  .header_count = call->nonce.bytes != 0,
                                  .handle = &passage->handle};

    passage->loopback = loopback;
    passage->call = call;
    passage->nonce =
        (struct cpt_field){cpt_bytes_of("Critical-Path-Nonce"), call->nonce};
    call->state = passage;
    if (call->has_deadline) {
        (void)snprintf(passage->timeout, sizeof passage->timeout, "%llu",
                       (unsigned long long)(call->timeout_ns / 1000));
        inbound.timeout = cpt_bytes_of(passage->timeout);
    }
    if (call->slack_ns >= 1000) {
        (void)snprintf(passage->slack, sizeof passage->slack, "%llu",
                       (unsigned long long)(call->slack_ns / 1000));
        inbound.slack = cpt_bytes_of(passage->slack);
    }
    note_ask(loopback, call);
    cpt_transport_sent(call);
    if (loopback->delay != NULL) {
        loopback->delay(loopback->context);
    }
    for (size_t i = 0; i < loopback->service_count; i++) {
        if (strcmp(cpt_service_name(loopback->services[i]), call->target) == 0) {
            cpt_service_serve(loopback->services[i], &inbound, come_back, passage);
            return;
        }
    }
    complete(passage, &unreachable);
}

/* The callee is told at once; its reply is then ignored. */
static void cancel(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    struct loopback *loopback = (struct loopback *)transport;
    const struct passage *passage = call->state;

    if (passage != NULL) {
        loopback->cancel_count++;
        (void)cpt_request_cancel(passage->handle);
    }
}

void loopback_init(struct loopback *loopback)
{
    memset(loopback, 0, sizeof *loopback);
    loopback->transport = (struct cpt_transport){
        .name = "loopback", .send = loopback_send, .cancel = cancel};
}
