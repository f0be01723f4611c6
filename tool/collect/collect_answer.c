/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* collect_answer.c - what a collector is asked and answers; see collect_answer.h */
#include "tool/collect/collect_answer.h"

#include <inttypes.h>
#include <string.h>

enum { OK = 200, RETRY_S = 5, UNAVAILABLE = 503, VARINT_BYTES_MAX = 10 };

static const char rejected_why[] =
    "spans were refused: a trace id has 32 hexadecimal digits, a span id 16; of large "
    "requests a span has 1 MiB at most";

/* --- Headers --- */

/* @text without blanks around it, up to ';'. */
static struct cpt_bytes word_of(struct cpt_bytes text)
{
    size_t end = 0;

    while (text.bytes > 0 && (*text.data == ' ' || *text.data == '\t')) {
        text.data++;
        text.bytes--;
    }
    while (end < text.bytes && text.data[end] != ';') {
        end++;
    }
    while (end > 0 && (text.data[end - 1] == ' ' || text.data[end - 1] == '\t')) {
        end--;
    }
    return (struct cpt_bytes){text.data, end};
}

/* Whether @text is @word, of lower case, in any case of letters. */
static bool is_word(struct cpt_bytes text, const char *word)
{
    size_t same = 0;

    text = word_of(text);
    while (same < text.bytes && word[same] != '\0' &&
           (text.data[same] == word[same] ||
            (text.data[same] >= 'A' && text.data[same] <= 'Z' &&
             text.data[same] - 'A' + 'a' == word[same]))) {
        same++;
    }
    return same == text.bytes && word[same] == '\0';
}

enum cpti_collect_type cpti_collect_type(struct cpt_bytes header)
{
    if (is_word(header, "application/json")) {
        return CPTI_COLLECT_JSON;
    }
    return is_word(header, "application/x-protobuf") ||
                   is_word(header, "application/protobuf")
               ? CPTI_COLLECT_PROTOBUF
               : CPTI_COLLECT_OTHER;
}

bool cpti_collect_is_compressed(struct cpt_bytes header)
{
    return is_word(header, "gzip") || is_word(header, "zstd");
}

bool cpti_collect_is_encoding(struct cpt_bytes header)
{
    return word_of(header).bytes == 0 || is_word(header, "identity") ||
           cpti_collect_is_compressed(header);
}

/* --- Protobuf --- */

static size_t put_varint(char *to, uint64_t number)
{
    size_t bytes = 0;

    for (; number >= 128; number >>= 7) {
        to[bytes++] = (char)(unsigned char)(number | 128);
    }
    to[bytes++] = (char)(unsigned char)number;
    return bytes;
}

/* A field of @type (0: @number, 2: @text, of less than 16 KiB). */
static size_t put_number(char *to, unsigned field, uint64_t number)
{
    const size_t bytes = put_varint(to, field << 3);

    return bytes + put_varint(to + bytes, number);
}

static size_t put_bytes(char *to, unsigned field, struct cpt_bytes text)
{
    size_t bytes = put_varint(to, field << 3 | 2);

    bytes += put_varint(to + bytes, text.bytes);
    memcpy(to + bytes, text.data, text.bytes);
    return bytes + text.bytes;
}

/* ExportTraceServiceResponse { partial_success = 1 { rejected_spans = 1,
 * error_message = 2 } } */
static size_t put_partial(char *to, uint64_t rejected, const char *why)
{
    char inner[CPTI_COLLECT_ANSWER_BYTES / 2 + 2 * VARINT_BYTES_MAX];
    size_t bytes = put_number(inner, 1, rejected);

    bytes += put_bytes(inner + bytes, 2, cpt_bytes_of(why));
    return put_bytes(to, 1, (struct cpt_bytes){inner, bytes});
}

/* --- Answers --- */

static const struct {
    unsigned status;
    unsigned code;
    const char *sentence;
} kinds[] = {[CPTI_COLLECT_TAKEN] = {OK, 0, ""},
#define KIND(name, status, code, reason) [CPTI_COLLECT_REFUSED_##name] = {status, code},
             CPTI_COLLECT_REFUSAL_MAP(KIND)
#undef KIND
};

static const char *const sentences[CPTI_COLLECT_REFUSALS] = {
    [CPTI_COLLECT_REFUSED_TYPE] =
        "Content-Type is neither application/json nor application/x-protobuf",
    [CPTI_COLLECT_REFUSED_ENCODING] =
        "Content-Encoding is none of gzip, zstd, identity",
    [CPTI_COLLECT_REFUSED_LARGE] = "the request is too large",
    [CPTI_COLLECT_REFUSED_MALFORMED] = "the request cannot be read",
    [CPTI_COLLECT_REFUSED_MEMORY] = "no memory for now, or too many large requests",
    [CPTI_COLLECT_REFUSED_LOG] = "the log cannot be written for now",
};

/* The sentence of a refusal: of visible ASCII that needs no escape in JSON. */
static void put_message(struct cpti_collect_answer *answer,
                        enum cpti_collect_refusal refusal, const char *detail)
{
    (void)snprintf(answer->message, sizeof answer->message, "%s%s%.120s",
                   sentences[refusal], *detail != '\0' ? ": " : "", detail);
    for (char *at = answer->message; *at != '\0'; at++) {
        *at = *at < ' ' || *at > '~' || *at == '"' || *at == '\\' ? '\'' : *at;
    }
}

static void put_taken(struct cpti_collect_answer *answer, bool is_json,
                      uint64_t rejected)
{
    if (rejected == 0) {
        answer->bytes = is_json ? 2 : 0;
        memcpy(answer->body, "{}", 2);
    } else if (is_json) {
        answer->bytes =
            (size_t)snprintf(answer->body, sizeof answer->body,
                             "{\"partialSuccess\":{\"rejectedSpans\":\"%" PRIu64
                             "\",\"errorMessage\":\"%s\"}}",
                             rejected, rejected_why);
    } else {
        answer->bytes = put_partial(answer->body, rejected, rejected_why);
    }
}

static void put_refused(struct cpti_collect_answer *answer, enum cpti_collect_type type)
{
    const struct cpt_bytes message = cpt_bytes_of(answer->message);

    if (type == CPTI_COLLECT_PROTOBUF) { /* Status { code = 1, message = 2 } */
        answer->bytes = put_number(answer->body, 1, answer->code);
        answer->bytes += put_bytes(answer->body + answer->bytes, 2, message);
    } else if (type == CPTI_COLLECT_JSON) {
        answer->bytes = (size_t)snprintf(answer->body, sizeof answer->body,
                                         "{\"code\":%u,\"message\":\"%s\"}",
                                         answer->code, answer->message);
    } else {
        answer->bytes = (size_t)snprintf(answer->body, sizeof answer->body, "%s\n",
                                         answer->message);
    }
}

void cpti_collect_answer(struct cpti_collect_answer *answer,
                         enum cpti_collect_type type, enum cpti_collect_refusal refusal,
                         const char *detail, uint64_t rejected)
{
    static const char *const types[] = {
        [CPTI_COLLECT_OTHER] = "text/plain",
        [CPTI_COLLECT_JSON] = "application/json",
        [CPTI_COLLECT_PROTOBUF] = "application/x-protobuf",
    };

    *answer = (struct cpti_collect_answer){.status = kinds[refusal].status,
                                           .code = kinds[refusal].code,
                                           .type = types[type]};
    if (refusal == CPTI_COLLECT_TAKEN) {
        put_taken(answer, type == CPTI_COLLECT_JSON, rejected);
        return;
    }
    answer->retry_s = answer->status == UNAVAILABLE ? RETRY_S : 0;
    put_message(answer, refusal, detail);
    put_refused(answer, type);
}
