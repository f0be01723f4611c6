/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_gate.c - lets only messages with one meaning through; see http_gate.h */
#include "framework/transport/http_gate.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include <string.h>
#include <sys/socket.h>

/* There is no memory to judge what came: nothing more is read. */
static void cut_off(struct cpti_http_gate *gate, struct evbuffer *input)
{
    (void)evbuffer_drain(input, evbuffer_get_length(input));
    (void)shutdown(bufferevent_getfd(gate->buffers), SHUT_RDWR);
}

/* The bytes of the message in @data that go on as they are. */
static size_t passed_of(struct cpti_http_message *message, const char *data,
                        size_t bytes, struct cpti_http_piece *last)
{
    size_t passed = 0;

    do {
        *last = cpti_http_message_next(message, data + passed, bytes - passed);
        passed += last->action == CPTI_HTTP_PASS ? last->bytes : 0;
    } while (last->action == CPTI_HTTP_PASS && passed < bytes);
    return passed;
}

/* Moves all but the first @kept bytes of @input to held. false without memory. */
static bool hold(struct cpti_http_gate *gate, struct evbuffer *input, size_t kept)
{
    struct evbuffer *first = NULL;
    bool is_good = true;

    if (gate->held == NULL) {
        gate->held = evbuffer_new();
    }
    if (gate->held == NULL) {
        return false;
    }
    if (kept == 0) {
        return evbuffer_add_buffer(gate->held, input) == 0;
    }
    first = evbuffer_new();
    is_good = first != NULL &&
              evbuffer_remove_buffer(input, first, kept) == (int)kept &&
              evbuffer_add_buffer(gate->held, input) == 0 &&
              evbuffer_add_buffer(input, first) == 0;
    if (first != NULL) {
        evbuffer_free(first);
    }
    return is_good;
}

/* Does what @piece says with the first bytes of held. false without memory. */
static bool apply(struct cpti_http_gate *gate, struct evbuffer *input,
                  const struct cpti_http_piece *piece)
{
    const char *substitute = NULL;

    switch (piece->action) {
    case CPTI_HTTP_WAIT:
        return true;
    case CPTI_HTTP_PASS:
        return evbuffer_remove_buffer(gate->held, input, piece->bytes) ==
               (int)piece->bytes;
    case CPTI_HTTP_DROP:
        return evbuffer_drain(gate->held, piece->bytes) == 0;
    case CPTI_HTTP_REFUSE:
        break;
    }
    substitute = cpti_http_message_substitute(&gate->message);
    return evbuffer_drain(gate->held, evbuffer_get_length(gate->held)) == 0 &&
           evbuffer_add(input, substitute, strlen(substitute)) == 0;
}

/* Judges what is held, @piece first. */
static bool release(struct cpti_http_gate *gate, struct evbuffer *input,
                    struct cpti_http_piece piece)
{
    bool is_good = apply(gate, input, &piece);

    while (is_good && piece.action != CPTI_HTTP_WAIT &&
           evbuffer_get_length(gate->held) > 0) {
        const char *data = (const char *)evbuffer_pullup(gate->held, -1);

        is_good = data != NULL;
        if (is_good) {
            piece = cpti_http_message_next(&gate->message, data,
                                           evbuffer_get_length(gate->held));
            is_good = apply(gate, input, &piece);
        }
    }
    return is_good;
}

/* Judges the last @added bytes of @input. */
static bool judge(struct cpti_http_gate *gate, struct evbuffer *input, size_t added)
{
    struct cpti_http_message *message = &gate->message;
    const size_t bytes = evbuffer_get_length(input);
    const bool is_first = gate->held == NULL || evbuffer_get_length(gate->held) == 0;
    struct cpti_http_piece piece = {CPTI_HTTP_DROP, 0};
    const char *data = NULL;
    size_t kept = bytes - added;

    if (is_first && message->takes_body &&
        (message->state == CPTI_HTTP_REST ||
         (message->state == CPTI_HTTP_BODY && message->left >= added))) {
        (void)cpti_http_message_next(message, "", added); /* it looks at none */
        return true;
    }
    if (is_first && kept == 0) {
        data = (const char *)evbuffer_pullup(input, -1);
        if (data == NULL) {
            return false;
        }
        kept = passed_of(message, data, bytes, &piece);
        if (kept == bytes) {
            return true;
        }
    }
    return hold(gate, input, kept) && release(gate, input, piece);
}

static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *change,
                     void *context)
{
    struct cpti_http_gate *gate = context;

    if (change->n_added == 0 || gate->is_moving) {
        return;
    }
    gate->received_bytes += change->n_added;
    gate->is_moving = true;
    if (!judge(gate, input, change->n_added)) {
        cut_off(gate, input);
    }
    gate->is_moving = false;
    if (gate->seen != NULL) {
        gate->seen(gate, change->n_added);
    }
}

bool cpti_http_gate_open(struct cpti_http_gate *gate, struct bufferevent *buffers,
                         bool is_reply, size_t head_bytes_max)
{
    memset(gate, 0, sizeof *gate);
    gate->buffers = buffers;
    cpti_http_message_init(&gate->message, is_reply, head_bytes_max);
    return evbuffer_add_cb(bufferevent_get_input(buffers), on_input, gate) != NULL;
}

void cpti_http_gate_begin(struct cpti_http_gate *gate)
{
    cpti_http_message_begin(&gate->message);
    gate->received_bytes = 0;
    if (gate->held != NULL) {
        (void)evbuffer_drain(gate->held, evbuffer_get_length(gate->held));
    }
}

void cpti_http_gate_deinit(struct cpti_http_gate *gate)
{
    if (gate->held != NULL) {
        evbuffer_free(gate->held);
        gate->held = NULL;
    }
}

void cpti_http_gate_close(struct cpti_http_gate *gate)
{
    (void)evbuffer_remove_cb(bufferevent_get_input(gate->buffers), on_input, gate);
    cpti_http_gate_deinit(gate);
}
