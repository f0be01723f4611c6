/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_peer.h - a connection that a client has opened; see http_peer.c
 *
 *      readable --> parser --> [ a whole request ] --> cpti_http_exchange_begin()
 *      socket <-- cpti_http_peer_reply() <-- reply <------------'  at once, or later
 *
 * Threads: the loop thread.
 */
#ifndef CPT_HTTP_PEER_H
#define CPT_HTTP_PEER_H

#include "framework/transport/http/loop/http_loop.h"
#include "framework/transport/http/message/http_input.h"

#include <event2/event_struct.h>

#include <sys/socket.h>

enum { CPTI_HTTP_ADDRESS_TEXT_BYTES = 46 };

struct cpti_http_exchange;
struct cpti_http_server;

struct cpti_http_peer {
    struct cpt_http *http;
    struct cpti_http_server *server;
    size_t index; /* in http->accepted.items */
    unsigned hold_count;
    int descriptor;
    bool is_closed;
    bool is_reading;      /* the event is added */
    bool is_served;       /* a request is complete and not answered: nothing is read */
    bool is_watched;      /* meanwhile the client sent more; its end is waited for */
    bool is_advancing;    /* within the loop that parses */
    bool is_last;         /* it is closed after the reply that is being sent */
    bool is_lingering;    /* it is answered for the last time; what comes is dropped */
    bool is_shaking;      /* the TLS handshake goes on */
    struct cpti_tls *tls; /* NULL: without */
    struct event reading;
    struct event writing;
    struct event closing;
    struct cpti_http_exchange *exchange; /* while is_served; or NULL */
    char text_address[CPTI_HTTP_ADDRESS_TEXT_BYTES];
    unsigned char address[16];

    struct cpti_http_input input;

    /* Output that the socket did not take; NULL: none. */
    char *output;
    size_t output_bytes;
    size_t output_at;
    bool is_undelivered; /* it is a service's reply */

    /* http_budget.c: */
    bool is_in_body;     /* of the request that is incomplete */
    uint64_t begun_ns;   /* since when its head or body is; 0: none is */
    uint64_t due_ns;     /* when more of it must have come */
    uint64_t fresh_ns;   /* how old what has come of it is, on average: since when */
    size_t bytes;        /* that count for input_bytes_max */
    unsigned tick;       /* of the last use; see accepted.idle_tick */
    uint64_t opened;     /* which of all connections of the loop it is */
    size_t unsent_bytes; /* that count for output_bytes_max; 0: it is not in the list */
    struct cpti_http_peer *unsent_previous;
    struct cpti_http_peer *unsent_next;
};

/* A request that is whole; the slices are in the peer's input. */
struct cpti_http_request {
    const struct cpti_http_parser *parser;
    struct cpt_bytes verb;
    struct cpt_bytes authority; /* of a target like http://host/path; else empty */
    struct cpt_bytes path;      /* as it was sent; begins with '/', or is "*" */
    struct cpt_bytes query;     /* without '?' */
    struct cpt_bytes head;      /* see cpti_http_head_next() */
    struct cpt_bytes body;
};

/* What is sent for it. All is borrowed. */
struct cpti_http_reply {
    unsigned status;
    struct cpt_bytes content_type;
    struct cpt_bytes metadata; /* the path */
    struct cpt_bytes body;
    const struct cpt_field *headers; /* of the service; see http_route.h */
    size_t header_count;
    struct cpt_bytes lines; /* such headers, as they are sent */
    const char *allow;      /* the header, or NULL */
    bool closes;            /* no other request is answered on this connection */
    bool is_of_service;     /* counts if it cannot be delivered */
};

/* --- http_peer.c --- */

/* Takes over @descriptor, which @server has accepted from @address. */
void cpti_http_peer_open(struct cpti_http_server *server, int descriptor,
                         const struct sockaddr *address);

/* The request that @peer serves. false: its target is no path. */
bool cpti_http_peer_request(const struct cpti_http_peer *peer,
                            struct cpti_http_request *request);

/* Answers the request that is served, or the one that is refused. */
void cpti_http_peer_reply(struct cpti_http_peer *peer,
                          const struct cpti_http_reply *reply);

/* The answered request is forgotten, and the next one is looked at. */
void cpti_http_peer_continue(struct cpti_http_peer *peer);

/* Sends a short text, as far as the socket takes it. */
void cpti_http_peer_say(struct cpti_http_peer *peer, const char *text);

/* Answers a request that is incomplete with a short @text, for the last time, and drops
 * what still comes. Closes it at once if nothing can be said there. */
void cpti_http_peer_cut(struct cpti_http_peer *peer, const char *text);

/* Closes it at once; a request that it serves is abandoned. */
void cpti_http_peer_close(struct cpti_http_peer *peer);

/* Keeps its memory, though it be closed. */
static inline void cpti_http_peer_hold(struct cpti_http_peer *peer)
{
    peer->hold_count++;
}

void cpti_http_peer_release(struct cpti_http_peer *peer);

/* --- http_accepted.c --- */

/* Counts @peer, and closes it when it is not used for long. false without memory. */
bool cpti_http_accepted_add(struct cpti_http_peer *peer);
void cpti_http_accepted_remove(struct cpti_http_peer *peer);

/* Closes all, and frees what they share. */
void cpti_http_peers_deinit(struct cpt_http *http);

/* --- http_reply.c --- */

/* Writes the head of @reply to @text. @parser is of the request. */
void cpti_http_reply_write(struct cpt_http *http, struct cpti_http_text *text,
                           const struct cpti_http_reply *reply,
                           const struct cpti_http_parser *parser, bool closes);

/* How many bytes a path may have beside the head of @reply, which has none, to a
 * request whose target has @target_bytes; Connection and Date count at their longest.
 * Any thread. */
size_t cpti_http_reply_room(const struct cpt_http *http,
                            const struct cpti_http_reply *reply, size_t target_bytes);

/* Whether a reply of @status has a body. */
bool cpti_http_has_body(unsigned status);

/* --- http_exchange.c: what serves a request --- */

/* @peer has a whole request. Answers it, now or later. */
void cpti_http_exchange_begin(struct cpti_http_peer *peer);

/* @peer is closed; the request that it serves is abandoned. Call it last. */
void cpti_http_exchange_leave(struct cpti_http_exchange *exchange);

/* The client of @exchange has gone, or has closed its side. */
void cpti_http_exchange_abandon(struct cpti_http_exchange *exchange);

/* --- http_budget.c --- */

/* @bytes more have come and were parsed. false: @peer was cut off, and is closed. */
bool cpti_http_budget_seen(struct cpti_http_peer *peer, size_t bytes);

/* Its input has @bytes that are not answered. */
void cpti_http_budget_keep(struct cpti_http_peer *peer, size_t bytes);

/* @bytes are kept of its reply, of which its client has taken something just now; 0:
 * none any more. Other peers may be cut off. */
void cpti_http_budget_unsent(struct cpti_http_peer *peer, size_t bytes);

/* It is answered for the last time: what comes now is dropped, for a while. */
void cpti_http_budget_linger(struct cpti_http_peer *peer);

/* Its TLS handshake begins, or is over. false: @peer was cut off, and is closed. */
bool cpti_http_budget_shake(struct cpti_http_peer *peer, bool is_over);

/* Nothing more could be read from its TLS, where a part of a record lies, or does not:
 * it counts, and has the time of a head. false: @peer was cut off, and is closed. */
bool cpti_http_budget_record(struct cpti_http_peer *peer, bool is_there);

/* It was opened: false if its client has too many; then it was told. */
bool cpti_http_budget_accepted(struct cpti_http_peer *peer);

/* --- http_refusal.c --- */

/* The operator is told that @peer was refused with @status, 0: without an answer, for
 * enum cpt_refusal @refusal and @reason. @path may be empty. */
void cpti_http_refused(struct cpti_http_peer *peer, unsigned refusal, unsigned status,
                       struct cpt_bytes path, const char *reason);

/* Of a message that is answered with @status. */
unsigned cpti_http_refusal_of(unsigned status);

/* --- http_server.c --- */

struct cpt_service *cpti_http_server_service(const struct cpti_http_server *server);
bool cpti_http_server_is_operators(const struct cpti_http_server *server);
size_t cpti_http_body_max(const struct cpti_http_server *server);
uint16_t cpti_http_server_port(const struct cpti_http_server *server);
struct cpti_tls_context *cpti_http_server_tls(struct cpti_http_server *server);

#endif
