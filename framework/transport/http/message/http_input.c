/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_input.c - what has come on a connection; see http_input.h */
#include "framework/transport/http/message/http_input.h"

#include "framework/transport/http/loop/http_loop.h"

#include <string.h>

enum { SPARE_INPUTS_MAX = 64 };

/* --- Buffers; those that are not needed are kept for the next, up to a limit --- */

static char *data_new(struct cpt_http *http)
{
    void **spare = http->accepted.spare_inputs;

    if (spare == NULL) {
        return cpt_alloc_array(http->alloc, NULL, CPTI_HTTP_INPUT_BYTES, 1);
    }
    http->accepted.spare_inputs = *spare;
    http->accepted.spare_count--;
    return (char *)spare;
}

void cpti_http_input_clear(struct cpt_http *http, struct cpti_http_input *input)
{
    struct cpti_http_accepted *accepted = &http->accepted;

    if (input->data == NULL) {
        return;
    }
    if (input->capacity == CPTI_HTTP_INPUT_BYTES &&
        accepted->spare_count < SPARE_INPUTS_MAX) {
        *(void **)(void *)input->data = accepted->spare_inputs;
        accepted->spare_inputs = input->data;
        accepted->spare_count++;
    } else {
        cpt_alloc_free(http->alloc, input->data);
    }
    input->data = NULL;
    input->capacity = 0;
    input->bytes = 0;
    input->raw_at = 0;
    input->head_at = 0;
    input->head_bytes = 0;
}

void cpti_http_inputs_deinit(struct cpt_http *http)
{
    while (http->accepted.spare_inputs != NULL) {
        void **spare = http->accepted.spare_inputs;

        http->accepted.spare_inputs = *spare;
        cpt_alloc_free(http->alloc, (void *)spare);
    }
}

/* Moves what is not parsed yet to @to, which is before it. */
static void raw_move(struct cpti_http_input *input, size_t to)
{
    const size_t bytes = input->bytes - input->raw_at;

    if (to < input->raw_at) {
        memmove(input->data + to, input->data + input->raw_at, bytes);
        input->raw_at = to;
        input->bytes = to + bytes;
    }
}

bool cpti_http_input_room(struct cpt_http *http, struct cpti_http_input *input)
{
    char *grown = NULL;

    if (input->data == NULL) {
        input->data = data_new(http);
        input->capacity = input->data != NULL ? CPTI_HTTP_INPUT_BYTES : 0;
        return input->data != NULL;
    }
    if (input->bytes < input->capacity) {
        return true;
    }
    raw_move(input, input->head_bytes > 0 ? input->body_at + input->body_bytes : 0);
    if (input->bytes < input->capacity) {
        return true;
    }
    grown = cpt_alloc_array(http->alloc, input->data, input->capacity, 2);
    if (grown == NULL) {
        return false;
    }
    input->data = grown;
    input->capacity *= 2;
    return true;
}

/* After a long message; what is not parsed yet stays. So a buffer is at most twice as
 * large as what it holds, and what it holds is moved only when half of it is gone. */
static void shrink(struct cpt_http *http, struct cpti_http_input *input)
{
    size_t capacity = CPTI_HTTP_INPUT_BYTES;
    char *less = NULL;

    while (capacity <= input->bytes - input->raw_at) {
        capacity *= 2;
    }
    if (capacity > input->capacity / 2) {
        return;
    }
    raw_move(input, 0);
    less = cpt_alloc_array(http->alloc, input->data, capacity, 1);
    if (less != NULL) {
        input->data = less;
        input->capacity = capacity;
    }
}

/* --- Messages --- */

void cpti_http_input_next(struct cpt_http *http, struct cpti_http_input *input)
{
    input->head_bytes = 0;
    cpti_http_parser_begin(&input->parser);
    if (input->data != NULL && input->raw_at == input->bytes) {
        cpti_http_input_clear(http, input);
    } else if (input->data != NULL && input->capacity > CPTI_HTTP_INPUT_BYTES) {
        shrink(http, input);
    }
}

static void take_head(struct cpti_http_input *input, size_t bytes)
{
    input->head_at = input->raw_at;
    input->head_bytes = bytes;
    input->raw_at += bytes;
    input->body_at = input->raw_at;
    input->body_bytes = 0;
}

static void take_data(struct cpti_http_input *input, size_t bytes)
{
    const size_t to = input->body_at + input->body_bytes;

    if (to < input->raw_at) {
        memmove(input->data + to, input->data + input->raw_at, bytes);
    }
    input->body_bytes += bytes;
    input->raw_at += bytes;
}

enum cpti_http_step cpti_http_input_step(struct cpti_http_input *input)
{
    const struct cpti_http_part part = cpti_http_parser_next(
        &input->parser, input->data + input->raw_at, input->bytes - input->raw_at);

    if (part.step == CPTI_HTTP_STEP_HEAD) {
        take_head(input, part.bytes);
    } else if (part.step == CPTI_HTTP_STEP_DATA) {
        take_data(input, part.bytes);
    } else if (part.step == CPTI_HTTP_STEP_DROP) {
        input->raw_at += part.bytes;
    }
    return part.step;
}
