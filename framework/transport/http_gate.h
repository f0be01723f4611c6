/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_gate.h - lets only messages with one meaning through to evhttp
 *
 *      socket --> bufferevent's input --> [ gate ] --> the same buffer --> evhttp
 *                                            |
 *                                        held: what is not yet judged
 *
 * The gate is a callback of the input buffer, so it runs before evhttp is told of the
 * bytes. What http_message.c does not pass on yet waits in a buffer of its own. In the
 * common case, a whole message in one read, no byte is moved.
 *
 * Threads: the loop thread.
 */
#ifndef CPT_HTTP_GATE_H
#define CPT_HTTP_GATE_H

#include "framework/transport/http_message.h"

struct bufferevent;
struct evbuffer;

struct cpti_http_gate {
    struct cpti_http_message message;
    struct bufferevent *buffers;
    struct evbuffer *held;   /* NULL until needed */
    uint64_t received_bytes; /* from the socket */
    bool is_moving;          /* within the callback */
    /* Called with the count of bytes that have been judged; NULL: not. */
    void (*seen)(struct cpti_http_gate *gate, size_t bytes);
};

/* Judges what @buffers read from now on: requests, or replies. false without memory. */
bool cpti_http_gate_open(struct cpti_http_gate *gate, struct bufferevent *buffers,
                         bool is_reply, size_t head_bytes_max);

/* A reply is expected: forgets what came before. */
void cpti_http_gate_begin(struct cpti_http_gate *gate);

/* Frees what it holds. @buffers may be gone. */
void cpti_http_gate_deinit(struct cpti_http_gate *gate);

/* The same while @buffers are used on. */
void cpti_http_gate_close(struct cpti_http_gate *gate);

#endif
