/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_message.h - where each message in a stream of HTTP/1.1 ends; see http_message.c
 *
 *      bytes --> cpti_http_message_next() --> pass 60, drop 8, pass 2, wait ...
 *
 * The caller keeps what is not yet passed or dropped, and gives it again with what came
 * after it. It needs no socket and allocates nothing.
 */
#ifndef CPT_HTTP_MESSAGE_H
#define CPT_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cpti_http_action {
    CPTI_HTTP_WAIT,  /* give the same bytes again, and more */
    CPTI_HTTP_PASS,  /* these bytes go on */
    CPTI_HTTP_DROP,  /* these do not */
    CPTI_HTTP_REFUSE /* no byte goes on any more, but cpti_http_message_substitute() */
};

struct cpti_http_piece {
    enum cpti_http_action action;
    size_t bytes; /* of PASS and DROP; from the first one given */
};

enum cpti_http_state {
    CPTI_HTTP_HEAD,
    CPTI_HTTP_BODY,
    CPTI_HTTP_CHUNK_SIZE,
    CPTI_HTTP_CHUNK_EXTENSION,
    CPTI_HTTP_CHUNK_SIZE_END,
    CPTI_HTTP_CHUNK,
    CPTI_HTTP_CHUNK_END,
    CPTI_HTTP_TRAILER,
    CPTI_HTTP_REST, /* up to the end of the connection, or no message is expected */
    CPTI_HTTP_REFUSED
};

struct cpti_http_message {
    bool is_reply;
    size_t head_bytes_max; /* of its lines, without their ends */
    enum cpti_http_state state;
    uint64_t count; /* of messages whose head has passed */

    /* The line that is looked at: */
    size_t line_at;        /* where it begins in the head */
    size_t searched_bytes; /* of it; they have no end of line */

    /* The head: */
    size_t head_bytes;
    unsigned blank_count; /* empty lines before it */
    bool has_first_line;
    bool is_old;       /* HTTP/1.0 */
    bool takes_body;   /* what follows the head goes on */
    unsigned status;   /* of a reply */
    unsigned interims; /* replies of status 1xx before it */
    bool has_length;
    bool has_coding; /* chunked */
    bool has_host;
    uint64_t length;

    /* The body: */
    uint64_t left;          /* of it, or of its chunk */
    size_t extension_bytes; /* of the chunk */
    size_t extra_bytes;     /* of all extensions and trailers */

    /* Once refused: */
    unsigned refusal; /* the status of HTTP that says so */
    bool is_large;    /* a limit was reached */
    const char *reason;
    enum cpti_http_state refused_in;
};

/* Requests one after the other; a reply must be begun. */
void cpti_http_message_init(struct cpti_http_message *message, bool is_reply,
                            size_t head_bytes_max);

/* A reply is expected. */
void cpti_http_message_begin(struct cpti_http_message *message);

/* What to do with the first of @bytes @data, which is all there is. */
struct cpti_http_piece cpti_http_message_next(struct cpti_http_message *message,
                                              const char *data, size_t bytes);

/*
 * What the next parser gets in place of the refused message. Of a request: a harmless
 * one, or the end of the one that has begun, so that it can be answered in its turn. Of
 * a reply: what no parser takes.
 */
const char *cpti_http_message_substitute(const struct cpti_http_message *message);

/* The number (1 the first) of the request that must be answered `refusal`; 0: none. */
uint64_t cpti_http_message_refused(const struct cpti_http_message *message);

#endif
