/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_parser.h - one message of HTTP/1.1 after the other; see http_parser.c
 *
 *      bytes --> cpti_http_parser_next() --> head 60, data 8, drop 2, data 5 ... done
 *
 * The caller keeps what is not yet taken, and gives it again with what came after it.
 * It needs no socket and allocates nothing. What it says about a head are offsets, so
 * that the caller may move the head.
 */
#ifndef CPT_HTTP_PARSER_H
#define CPT_HTTP_PARSER_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cpti_http_step {
    CPTI_HTTP_STEP_WAIT, /* give the same bytes again, and more */
    CPTI_HTTP_STEP_HEAD, /* these bytes are the head, to its empty line */
    CPTI_HTTP_STEP_DATA, /* these are of the body */
    CPTI_HTTP_STEP_DROP, /* these mean nothing any more */
    CPTI_HTTP_STEP_DONE, /* the message is complete; see cpti_http_parser_begin() */
    CPTI_HTTP_STEP_REFUSE
};

struct cpti_http_part {
    enum cpti_http_step step;
    size_t bytes; /* of HEAD, DATA and DROP; from the first one given */
};

enum cpti_http_parser_state {
    CPTI_HTTP_IN_HEAD,
    CPTI_HTTP_IN_BODY,
    CPTI_HTTP_IN_CHUNK_SIZE,
    CPTI_HTTP_IN_CHUNK,
    CPTI_HTTP_IN_CHUNK_END,
    CPTI_HTTP_IN_TRAILER,
    CPTI_HTTP_IN_REST, /* of a reply that lasts to the end of the connection */
    CPTI_HTTP_IS_DONE,
    CPTI_HTTP_IS_REFUSED
};

/* Headers that are found while the head is read: X(ID, name). */
#define CPTI_HTTP_FIELD_MAP(X)                                                         \
    X(HOST, "Host")                                                                    \
    X(LENGTH, "Content-Length")                                                        \
    X(CODING, "Transfer-Encoding")                                                     \
    X(CONNECTION, "Connection")                                                        \
    X(EXPECT, "Expect")                                                                \
    X(ASK, "critical-path")                                                            \
    X(PATH, "critical-path-bin")                                                       \
    X(TIMEOUT, "cpt-timeout")                                                          \
    X(TRACEPARENT, "traceparent")                                                      \
    X(SITE, "Sec-Fetch-Site")                                                          \
    X(AGE, "Age")                                                                      \
    X(VARNISH, "X-Varnish")                                                            \
    X(SLACK, "cpt-slack")

enum cpti_http_field_id {
#define CPTI_HTTP_FIELD_ENUM_(id, name) CPTI_HTTP_FIELD_##id,
    CPTI_HTTP_FIELD_MAP(CPTI_HTTP_FIELD_ENUM_)
#undef CPTI_HTTP_FIELD_ENUM_
        CPTI_HTTP_FIELD_COUNT
};

struct cpti_http_field {
    unsigned count; /* how often it came */
    size_t at;      /* the value of the first one, from the beginning of the head */
    size_t bytes;
};

struct cpti_http_limits {
    size_t head_bytes_max; /* of its lines, without their ends */
    size_t body_bytes_max;
};

struct cpti_http_parser {
    bool is_reply;
    bool has_no_body; /* set by the caller: a reply to HEAD */
    struct cpti_http_limits limits;
    enum cpti_http_parser_state state;

    /* The line that is looked at: */
    size_t line_at;        /* where it begins in the head */
    size_t searched_bytes; /* of it; they have no end of line */

    /* The head: */
    size_t head_bytes;    /* of its lines so far */
    unsigned blank_count; /* empty lines before it */
    bool has_first_line;
    bool is_old;         /* HTTP/1.0 */
    size_t verb_bytes;   /* of a request, from the beginning */
    size_t target_bytes; /* after the verb and a blank */
    unsigned status;     /* of a reply */
    unsigned interims;   /* replies of status 1xx before it */
    bool has_close;      /* in Connection */
    bool has_keep_alive;
    bool expects_continue;
    struct cpti_http_field fields[CPTI_HTTP_FIELD_COUNT];

    /* The body: */
    uint64_t length;
    uint64_t left; /* of it, or of its chunk */
    uint64_t body_bytes;
    size_t extra_bytes; /* of all extensions and trailers */

    /* Once refused: */
    unsigned refusal; /* the status of HTTP that says so */
    bool is_large;    /* a limit was reached */
    const char *reason;
};

void cpti_http_parser_init(struct cpti_http_parser *parser, bool is_reply,
                           struct cpti_http_limits limits);

/* The next message is expected; the last one is complete. */
void cpti_http_parser_begin(struct cpti_http_parser *parser);

/* What the first of @bytes @data are, which is all there is. */
struct cpti_http_part cpti_http_parser_next(struct cpti_http_parser *parser,
                                            const char *data, size_t bytes);

/* Whether some of a message has come, but not all. */
bool cpti_http_parser_is_within(const struct cpti_http_parser *parser);

/* Whether the sender keeps the connection open after this message. */
bool cpti_http_parser_keeps(const struct cpti_http_parser *parser);

/* The number of headers @id. *@value, unless @value is NULL, is the first one's, in
 * @head; its data is NULL if there is none. */
static inline unsigned cpti_http_parser_field(const struct cpti_http_parser *parser,
                                              const char *head,
                                              enum cpti_http_field_id id,
                                              struct cpt_bytes *value)
{
    const struct cpti_http_field *field = &parser->fields[id];

    if (value != NULL) {
        value->data = field->count > 0 ? head + field->at : NULL;
        value->bytes = field->bytes;
    }
    return field->count;
}

/* Any header, of a head that was not refused: begin with *@at 0. false: no more. */
bool cpti_http_head_next(struct cpt_bytes head, size_t *at, struct cpt_bytes *name,
                         struct cpt_bytes *value);

/* Whether both are the same but for the case of letters. */
bool cpti_http_is_same(struct cpt_bytes text, const char *with);

#endif
