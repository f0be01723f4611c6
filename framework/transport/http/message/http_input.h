/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_input.h - what has come on a connection: messages, one after the other
 *
 *      [ gone | head | body | gone | not parsed yet | room ]
 *
 * All that has come of a message stays in one buffer, which grows as bytes come, so
 * that head and body are slices of it. Framing of chunks is cut out where it lies. A
 * connection on which nothing comes has no buffer.
 *
 * Threads: the loop thread.
 */
#ifndef CPT_HTTP_INPUT_H
#define CPT_HTTP_INPUT_H

#include "framework/transport/http/message/http_parser.h"

struct cpt_http;

enum { CPTI_HTTP_INPUT_BYTES = 4096 /* of a new buffer, and of a spare one */ };

struct cpti_http_input {
    struct cpti_http_parser parser;
    char *data;
    size_t capacity;
    size_t bytes; /* to the end of what came */
    size_t head_at;
    size_t head_bytes; /* 0: it is not complete */
    size_t body_at;
    size_t body_bytes;
    size_t raw_at; /* not parsed yet */
};

/* Makes room for more. false without memory. */
bool cpti_http_input_room(struct cpt_http *http, struct cpti_http_input *input);

/* Parses one thing more; it may be called while there is a buffer. */
enum cpti_http_step cpti_http_input_step(struct cpti_http_input *input);

/* The message that is complete is forgotten; the next one is expected. */
void cpti_http_input_next(struct cpt_http *http, struct cpti_http_input *input);

/* Frees the buffer. */
void cpti_http_input_clear(struct cpt_http *http, struct cpti_http_input *input);

/* Frees the spare buffers. */
void cpti_http_inputs_deinit(struct cpt_http *http);

/* Of the message: */

static inline const char *cpti_http_input_head(const struct cpti_http_input *input)
{
    return input->data + input->head_at;
}

static inline struct cpt_bytes cpti_http_input_body(const struct cpti_http_input *input)
{
    return (struct cpt_bytes){input->data + input->body_at, input->body_bytes};
}

/* The bytes that are not forgotten. */
static inline size_t cpti_http_input_kept(const struct cpti_http_input *input)
{
    return input->bytes - (input->head_bytes > 0 ? input->head_at : input->raw_at);
}

#endif
