/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_http.c - any bytes as a stream of requests, and as a reply
 *
 * What goes on does not depend on how the bytes were cut; what goes on is not refused,
 * and goes on as it is, when it is judged again.
 */
#include "framework/transport/http_message.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES_MAX = 2000, GROWTH_MAX = 64 };

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

struct stream {
    char *bytes;
    size_t count;
    size_t capacity;
    bool has_dropped; /* a body, whose head says that it is there */
};

static void append(struct stream *stream, const char *bytes, size_t count)
{
    must(stream->count + count <= stream->capacity);
    if (count > 0) {
        memcpy(stream->bytes + stream->count, bytes, count);
    }
    stream->count += count;
}

/* Gives @size bytes @data to @message, @at_once more each time. */
static void judge(struct cpti_http_message *message, const char *data, size_t size,
                  size_t at_once, struct stream *out)
{
    size_t done = 0;
    size_t seen = 0;
    struct cpti_http_piece piece = {CPTI_HTTP_WAIT, 0};

    while (seen < size || piece.action != CPTI_HTTP_WAIT) {
        if (piece.action == CPTI_HTTP_WAIT) {
            seen = size - seen > at_once ? seen + at_once : size;
        }
        piece = cpti_http_message_next(message, data + done, seen - done);
        must(piece.bytes <= seen - done);
        out->has_dropped |= !message->takes_body;
        if (piece.action == CPTI_HTTP_PASS) {
            append(out, data + done, piece.bytes);
        }
        if (piece.action == CPTI_HTTP_REFUSE) {
            const char *substitute = cpti_http_message_substitute(message);

            must(message->reason != NULL && message->refusal >= 400);
            append(out, substitute, strlen(substitute));
            return;
        }
        if (piece.action != CPTI_HTTP_WAIT) {
            must(piece.bytes > 0 || seen == done);
            done += piece.bytes;
        }
        if (seen == done) {
            piece.action = CPTI_HTTP_WAIT;
        }
    }
}

static struct stream stream_new(size_t size)
{
    struct stream stream = {malloc(size + GROWTH_MAX), 0, size + GROWTH_MAX, false};

    must(stream.bytes != NULL);
    return stream;
}

static void message_begin(struct cpti_http_message *message, bool is_reply)
{
    cpti_http_message_init(message, is_reply, HEAD_BYTES_MAX);
    if (is_reply) {
        cpti_http_message_begin(message);
    }
}

static void check(const char *data, size_t size, bool is_reply)
{
    struct cpti_http_message whole;
    struct cpti_http_message cut;
    struct cpti_http_message again;
    struct stream first = stream_new(size);
    struct stream second = stream_new(size);
    struct stream third = stream_new(size + GROWTH_MAX);

    message_begin(&whole, is_reply);
    judge(&whole, data, size, size, &first);
    message_begin(&cut, is_reply);
    judge(&cut, data, size, 1 + size % 7, &second);
    must(whole.state == cut.state && whole.count == cut.count);
    must(whole.state != CPTI_HTTP_REFUSED ||
         (whole.refusal == cut.refusal && whole.reason == cut.reason &&
          cpti_http_message_refused(&whole) == cpti_http_message_refused(&cut)));
    must(first.count == second.count);
    must(first.count == 0 || memcmp(first.bytes, second.bytes, first.count) == 0);
    if (!first.has_dropped && (!is_reply || whole.state != CPTI_HTTP_REFUSED)) {
        message_begin(&again, is_reply);
        judge(&again, first.bytes, first.count, first.count, &third);
        must(again.state != CPTI_HTTP_REFUSED);
        must(third.count == first.count);
    }
    free(first.bytes);
    free(second.bytes);
    free(third.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check((const char *)data, size, false);
    check((const char *)data, size, true);
    return 0;
}
