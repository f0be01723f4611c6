/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_exchange.h - a request of a service, shared by grpc_exchange.c, which has its
 * life, and grpc_stream.c, which sends the messages of its answer */
#ifndef CPT_GRPC_EXCHANGE_H
#define CPT_GRPC_EXCHANGE_H

#include "framework/transport/grpc/grpc_queue.h"

struct cpti_grpc_message;

struct cpti_grpc_exchange {
    struct cpt_grpc *grpc;
    struct cpti_grpc_server *server;
    struct cpti_grpc_tag begin;
    struct cpti_grpc_tag arrival;
    struct cpti_grpc_tag close;
    struct cpti_grpc_tag sent;
    struct cpti_grpc_link link; /* of those that have no message yet; queue thread */
    uint64_t begin_ns;
    atomic_uint hold_count; /* seq_cst */
    bool has_begun;
    /* What gRPC fills in. */
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
    grpc_byte_buffer *message;
    int is_cancelled;
    bool has_left; /* the client has, before the reply; queue thread */
    struct cpt_request_handle *handle; /* or NULL; queue thread */
    /* The reply, for as long as gRPC needs it. */
    grpc_metadata *headers;
    size_t header_count;
    grpc_metadata path;
    grpc_slice sentence;
    grpc_byte_buffer *body; /* NULL: no message is left */
    grpc_status_code code;
    /* Messages before the reply; grpc_stream.c. */
    struct cpt_stream stream;
    const struct cpt_alloc *alloc; /* outlives `grpc` */
    atomic_uint reference_count;   /* seq_cst; 1 until it is closed */
    struct cpti_grpc_tag passed;   /* of the first message that waits */
    struct cpti_lock lock;         /* guards what follows */
    struct cpti_grpc_message *first;
    struct cpti_grpc_message *last;
    size_t waiting_bytes;
    bool has_begun_stream; /* the headers have gone, with a message */
    bool is_sending;       /* the first message is under way */
    bool is_closing;       /* no message is taken any more */
    bool is_answered;      /* the reply is made, and goes behind the last message */
    bool is_broken;        /* the client has left, or gRPC takes no more */
};

/* --- grpc_exchange.c --- */

void cpti_grpc_exchange_hold(struct cpti_grpc_exchange *exchange);
void cpti_grpc_exchange_release(struct cpti_grpc_exchange *exchange);

/* Starts a batch, which holds the exchange until its end. */
bool cpti_grpc_exchange_start(struct cpti_grpc_exchange *exchange, const grpc_op *ops,
                              size_t count, struct cpti_grpc_tag *tag);

/* --- grpc_stream.c --- */

void cpti_grpc_stream_init(struct cpti_grpc_exchange *exchange);

/* One reference to its memory less. */
void cpti_grpc_stream_release(struct cpti_grpc_exchange *exchange);

/* Whether a message has taken the headers along, for the one that answers: from then on
 * none is taken. */
bool cpti_grpc_stream_has_begun(struct cpti_grpc_exchange *exchange);

/* The reply is made: sends it, once all messages have gone. */
void cpti_grpc_stream_end(struct cpti_grpc_exchange *exchange);

/* The client has left: messages go nowhere. */
void cpti_grpc_stream_break(struct cpti_grpc_exchange *exchange);

#endif
