/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_http.c - any bytes as a stream of requests, and as replies
 *
 * What is understood does not depend on how the bytes were cut. Each head that is taken
 * is taken again, alone, with the same meaning; each of its headers is found.
 */
#include "framework/transport/http/message/http_parser.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES_MAX = 2000, BODY_BYTES_MAX = 5000, MESSAGES_MAX = 64 };

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

/* What a stream was understood as. */
struct meaning {
    struct cpti_http_parser parser; /* at its end */
    char *bytes;                    /* heads and bodies */
    size_t count;
    size_t message_count;
    size_t ends[MESSAGES_MAX];
};

static void head_check(const struct cpti_http_parser *parser, const char *head,
                       size_t bytes)
{
    struct cpt_bytes name;
    struct cpt_bytes value;
    size_t at = 0;
    size_t count = 0;

    must(bytes >= 4 && memcmp(head + bytes - 4, "\r\n\r\n", 4) == 0);
    must(parser->verb_bytes + parser->target_bytes < bytes);
    for (size_t i = 0; i < CPTI_HTTP_FIELD_COUNT; i++) {
        const struct cpti_http_field *field = &parser->fields[i];

        must(field->count == 0 || field->at + field->bytes <= bytes);
    }
    while (cpti_http_head_next((struct cpt_bytes){head, bytes}, &at, &name, &value)) {
        must(name.bytes > 0 && name.data >= head && value.data >= name.data);
        must(value.data + value.bytes + 2 <= head + bytes);
        must(memchr(value.data, '\r', value.bytes) == NULL);
        if (cpti_http_is_same(name, "Host")) {
            must(value.data == head + parser->fields[CPTI_HTTP_FIELD_HOST].at);
        }
        count++;
    }
    must(at == bytes && count <= bytes / 4);
}

/* The same head alone says the same. */
static void head_repeat(const struct cpti_http_parser *parser, const char *head,
                        size_t bytes)
{
    struct cpti_http_parser again;
    struct cpti_http_part part;

    cpti_http_parser_init(&again, parser->is_reply, parser->limits);
    part = cpti_http_parser_next(&again, head, bytes);
    must(part.step == CPTI_HTTP_STEP_HEAD && part.bytes == bytes);
    must(again.state == parser->state && again.length == parser->length);
    must(memcmp(again.fields, parser->fields, sizeof again.fields) == 0);
}

static void take(struct meaning *meaning, const char *data, struct cpti_http_part part)
{
    if (part.step == CPTI_HTTP_STEP_HEAD) {
        head_check(&meaning->parser, data, part.bytes);
        head_repeat(&meaning->parser, data, part.bytes);
    }
    if (part.step == CPTI_HTTP_STEP_HEAD || part.step == CPTI_HTTP_STEP_DATA) {
        memcpy(meaning->bytes + meaning->count, data, part.bytes);
        meaning->count += part.bytes;
    }
    if (part.step == CPTI_HTTP_STEP_DONE) {
        must(meaning->parser.body_bytes <= BODY_BYTES_MAX);
        if (meaning->message_count < MESSAGES_MAX) {
            meaning->ends[meaning->message_count] = meaning->count;
        }
        meaning->message_count++;
        cpti_http_parser_begin(&meaning->parser);
    }
}

/* Gives @size bytes @data to a parser, @at_once more each time. */
static void understand(struct meaning *meaning, const char *data, size_t size,
                       bool is_reply, size_t at_once)
{
    const struct cpti_http_limits limits = {HEAD_BYTES_MAX, BODY_BYTES_MAX};
    size_t done = 0;
    size_t seen = 0;

    memset(meaning, 0, sizeof *meaning);
    meaning->bytes = malloc(size + 1);
    must(meaning->bytes != NULL);
    cpti_http_parser_init(&meaning->parser, is_reply, limits);
    while (meaning->parser.state != CPTI_HTTP_IS_REFUSED) {
        const struct cpti_http_part part =
            cpti_http_parser_next(&meaning->parser, data + done, seen - done);

        must(part.bytes <= seen - done);
        if (part.step == CPTI_HTTP_STEP_WAIT && seen == size) {
            return;
        }
        if (part.step == CPTI_HTTP_STEP_WAIT) {
            seen = size - seen > at_once ? seen + at_once : size;
        }
        take(meaning, data + done, part);
        done += part.bytes;
    }
    must(meaning->parser.reason != NULL && meaning->parser.refusal >= 400);
}

static void check(const char *data, size_t size, bool is_reply)
{
    struct meaning whole;
    struct meaning cut;

    understand(&whole, data, size, is_reply, size);
    understand(&cut, data, size, is_reply, 1 + size % 7);
    must(whole.parser.state == cut.parser.state);
    must(whole.parser.refusal == cut.parser.refusal);
    must(whole.message_count == cut.message_count);
    must(memcmp(whole.ends, cut.ends, sizeof whole.ends) == 0);
    if (whole.parser.state != CPTI_HTTP_IN_REST &&
        (!is_reply || whole.parser.state != CPTI_HTTP_IS_REFUSED)) {
        must(whole.count == cut.count);
        must(memcmp(whole.bytes, cut.bytes, whole.count) == 0);
    }
    free(whole.bytes);
    free(cut.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check((const char *)data, size, false);
    check((const char *)data, size, true);
    return 0;
}
