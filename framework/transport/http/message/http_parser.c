/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_parser.c - one message of HTTP/1.1 after the other, each with one meaning
 *
 * Two programs that read one stream must agree where each message ends. If a proxy and
 * the server behind it do not, a client hides a second request in the body of its first
 * one ("request smuggling"). So messages that may be read in two ways are not taken:
 *
 *      head ----> Content-Length: N ----> N bytes ---------------------> done
 *         \-----> chunked -> size;extension -> chunk -> ... -> trailer -->
 *          \----> neither: a request has no body, a reply lasts to the end
 *
 * Refused are, with 400: a line end without CR; CR, NUL and other control characters
 * anywhere; a name that is no token, as with a blank before the colon; a continued
 * line; two lengths, even if equal; a length that is not digits; two codings; a length
 * beside a coding; a coding in HTTP/1.0; two hosts, or none in HTTP/1.1; a target that
 * has bytes that no URI has. With 501, as nginx does: a coding that is not exactly
 * `chunked`, and CONNECT. With 417 an expectation but 100-continue, with 431 and 413 a
 * head or a body beyond the limits.
 *
 * Dropped are: the framing of chunks, their extensions, trailers, which nothing here
 * uses; interim replies (100, 103).
 *
 * RFC 9112 is the standard; where it lets a recipient choose, we refuse.
 */
#include "framework/transport/http/message/http_parser.h"

#include "cpt/base/text.h"

#include <string.h>
#include <strings.h>

enum {
    BLANK_LINES_MAX = 4,    /* before a request; some clients send one after a body */
    CHUNK_LINE_MAX = 1024,  /* bytes of a line with the size of a chunk */
    EXTRA_BYTES_MAX = 8192, /* of all extensions and trailers of a message */
    SIZE_DIGITS_MAX = 15,   /* of a chunk's size */
    LENGTH_DIGITS_MAX = 18,
    INTERIM_REPLIES_MAX = 8,
    BAD_REQUEST = 400,
    TOO_LARGE = 413,
    EXPECTATION_FAILED = 417,
    HEAD_TOO_LARGE = 431,
    NOT_IMPLEMENTED = 501
};

static struct cpti_http_part part(enum cpti_http_step step, size_t bytes)
{
    return (struct cpti_http_part){step, bytes};
}

/* --- Refusing --- */

static bool refuse(struct cpti_http_parser *parser, unsigned refusal,
                   const char *reason)
{
    parser->refusal = refusal;
    parser->reason = reason;
    parser->state = CPTI_HTTP_IS_REFUSED;
    return false;
}

static bool refuse_large(struct cpti_http_parser *parser, unsigned refusal,
                         const char *reason)
{
    parser->is_large = true;
    return refuse(parser, refusal, reason);
}

/* --- Characters --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Of a token: RFC 9110, 5.6.2. */
static bool is_token(char c)
{
    static const uint32_t tokens[4] = {0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff};
    const unsigned char byte = (unsigned char)c;

    return byte < 128 && (tokens[byte / 32] >> (byte % 32) & 1) != 0;
}

/* White space that may stand around a value, and within a line of a chunk; no other
 * character counts as one anywhere. */
static struct cpt_bytes trimmed(struct cpt_bytes text)
{
    return cpti_text_trim(text, cpti_is_blank);
}

/* Of a value: no control character but the tabulator. */
static bool is_text(struct cpt_bytes text)
{
    bool is_bad = false;

    for (size_t i = 0; i < text.bytes; i++) {
        const unsigned char byte = (unsigned char)text.data[i];

        is_bad |= (byte < ' ' && byte != '\t') || byte == 0x7f;
    }
    return !is_bad;
}

/* -1: no digit of base 16. */
static int hex_of(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool cpti_http_is_same(struct cpt_bytes text, const char *with)
{
    return text.bytes == strlen(with) && strncasecmp(text.data, with, text.bytes) == 0;
}

/* --- Lines of a head --- */

static unsigned too_long_of(const struct cpti_http_parser *parser)
{
    return parser->state == CPTI_HTTP_IN_HEAD ? HEAD_TOO_LARGE : BAD_REQUEST;
}

/*
 * Finds the end of the line at line_at of @data. 1: @line is set; 0: it has no end yet;
 * -1: it is refused. @bytes_max are left for it.
 */
static int line_find(struct cpti_http_parser *parser, const char *data, size_t bytes,
                     size_t bytes_max, struct cpt_bytes *line)
{
    const size_t from = parser->line_at + parser->searched_bytes;
    const char *end = memchr(data + from, '\n', bytes - from);

    line->data = data + parser->line_at;
    if (end == NULL) {
        parser->searched_bytes = bytes - parser->line_at;
        if (parser->searched_bytes > bytes_max + 1) { /* a CR may be the last one */
            (void)refuse_large(parser, too_long_of(parser),
                               "a line or all of them are too long");
            return -1;
        }
        return 0;
    }
    parser->searched_bytes = 0;
    line->bytes = (size_t)(end - line->data);
    if (line->bytes > bytes_max + 1) { /* as above, though its end is there */
        (void)refuse_large(parser, too_long_of(parser),
                           "a line or all of them are too long");
        return -1;
    }
    if (line->bytes == 0 || end[-1] != '\r') {
        (void)refuse(parser, BAD_REQUEST, "a line does not end in CR LF");
        return -1;
    }
    line->bytes--;
    return 1;
}

/* "HTTP/1.0", "HTTP/1.1". */
static bool version_judge(struct cpti_http_parser *parser, const char *text)
{
    if (memcmp(text, "HTTP/1.", 7) != 0 || !is_digit(text[7])) {
        return refuse(parser, BAD_REQUEST, "the version is not HTTP/1");
    }
    parser->is_old = text[7] == '0';
    return true;
}

/* "HTTP/1.1 200 OK" */
static bool status_line_judge(struct cpti_http_parser *parser, struct cpt_bytes line)
{
    const char *status = line.data + 9;

    if (line.bytes < 12 || line.data[8] != ' ' || !is_text(line) ||
        !is_digit(status[0]) || status[0] == '0' || !is_digit(status[1]) ||
        !is_digit(status[2]) || (line.bytes > 12 && status[3] != ' ')) {
        return refuse(parser, BAD_REQUEST, "the first line is not a reply's");
    }
    parser->status = (unsigned)(status[0] - '0') * 100 +
                     (unsigned)(status[1] - '0') * 10 + (unsigned)(status[2] - '0');
    return version_judge(parser, line.data);
}

/* Whether @target has only bytes of a URI (RFC 3986), in whole escapes. */
static bool is_target(struct cpt_bytes target)
{
    /* visible ASCII without " # < > \ ^ ` { | } */
    static const uint32_t bytes[4] = {0, 0xaffffff2, 0xafffffff, 0x47fffffe};
    size_t i = 0;

    while (i < target.bytes) {
        const unsigned char byte = (unsigned char)target.data[i];

        if (byte >= 128 || (bytes[byte / 32] >> (byte % 32) & 1) == 0) {
            return false;
        }
        if (byte == '%' && (target.bytes - i < 3 || hex_of(target.data[i + 1]) < 0 ||
                            hex_of(target.data[i + 2]) < 0)) {
            return false;
        }
        i += byte == '%' ? 3 : 1;
    }
    return true;
}

/* "GET /path HTTP/1.1" */
static bool request_line_judge(struct cpti_http_parser *parser, struct cpt_bytes line)
{
    struct cpt_bytes target = {NULL, 0};
    size_t verb_bytes = 0;
    size_t at = 0;

    while (verb_bytes < line.bytes && is_token(line.data[verb_bytes])) {
        verb_bytes++;
    }
    at = verb_bytes + 1;
    while (at < line.bytes && (unsigned char)line.data[at] > ' ' &&
           line.data[at] != 0x7f) {
        at++;
    }
    if (verb_bytes == 0 || line.data[verb_bytes] != ' ' || at == verb_bytes + 1 ||
        line.bytes != at + 9 || line.data[at] != ' ') {
        return refuse(parser, BAD_REQUEST, "the first line is not a request's");
    }
    if (verb_bytes == 7 && memcmp(line.data, "CONNECT", 7) == 0) {
        return refuse(parser, NOT_IMPLEMENTED, "this is no proxy");
    }
    target = (struct cpt_bytes){line.data + verb_bytes + 1, at - verb_bytes - 1};
    if (!is_target(target)) {
        return refuse(parser, BAD_REQUEST, "the target is not a URI");
    }
    parser->verb_bytes = verb_bytes;
    parser->target_bytes = target.bytes;
    return version_judge(parser, line.data + at + 1);
}

/* --- Headers --- */

static bool length_judge(struct cpti_http_parser *parser, struct cpt_bytes value)
{
    if (value.bytes == 0 || value.bytes > LENGTH_DIGITS_MAX) {
        return refuse(parser, BAD_REQUEST, "its length is not a number");
    }
    for (size_t i = 0; i < value.bytes; i++) {
        if (!is_digit(value.data[i])) {
            return refuse(parser, BAD_REQUEST, "its length is not a number");
        }
        parser->length = parser->length * 10 + (uint64_t)(value.data[i] - '0');
    }
    return true;
}

/* A name or a number, maybe with a port; empty is fine. */
static bool is_host(struct cpt_bytes value)
{
    for (size_t i = 0; i < value.bytes; i++) {
        if ((unsigned char)value.data[i] <= ' ' ||
            memchr(",/@?#\\", value.data[i], 6) != NULL) {
            return false;
        }
    }
    return true;
}

/* "keep-alive, Upgrade" */
static void connection_read(struct cpti_http_parser *parser, struct cpt_bytes value)
{
    size_t at = 0;

    while (at < value.bytes) {
        struct cpt_bytes option = {value.data + at, 0};

        while (at + option.bytes < value.bytes && option.data[option.bytes] != ',') {
            option.bytes++;
        }
        at += option.bytes + 1;
        option = trimmed(option);
        parser->has_close |= cpti_http_is_same(option, "close");
        parser->has_keep_alive |= cpti_http_is_same(option, "keep-alive");
    }
}

/* What the header @id of @value, one more of its kind, means to the parser itself. */
static bool field_judge(struct cpti_http_parser *parser, enum cpti_http_field_id id,
                        struct cpt_bytes value)
{
    const bool is_first = parser->fields[id].count == 1;

    switch (id) {
    case CPTI_HTTP_FIELD_LENGTH:
        return is_first ? length_judge(parser, value)
                        : refuse(parser, BAD_REQUEST, "it has two lengths");
    case CPTI_HTTP_FIELD_CODING:
        if (!is_first) {
            return refuse(parser, BAD_REQUEST, "it has two transfer codings");
        }
        return cpti_http_is_same(value, "chunked") ||
               refuse(parser, NOT_IMPLEMENTED, "its transfer coding is not known");
    case CPTI_HTTP_FIELD_HOST:
        if (!is_first) {
            return refuse(parser, BAD_REQUEST, "it has two hosts");
        }
        return is_host(value) || refuse(parser, BAD_REQUEST, "its host is not a name");
    case CPTI_HTTP_FIELD_EXPECT:
        parser->expects_continue = true;
        return parser->is_reply || cpti_http_is_same(value, "100-continue") ||
               refuse(parser, EXPECTATION_FAILED, "its expectation is not known");
    case CPTI_HTTP_FIELD_CONNECTION:
        connection_read(parser, value);
        return true;
    default:
        return true;
    }
}

static const struct {
    const char *name;
    size_t bytes;
} names[CPTI_HTTP_FIELD_COUNT] = {
#define CPTI_HTTP_FIELD_NAME_(id, name) {name, sizeof(name) - 1},
    CPTI_HTTP_FIELD_MAP(CPTI_HTTP_FIELD_NAME_)
#undef CPTI_HTTP_FIELD_NAME_
};

/* Splits "name: value"; @value without white space around it. */
static bool header_split(struct cpt_bytes line, struct cpt_bytes *name,
                         struct cpt_bytes *value)
{
    size_t at = 0;

    while (at < line.bytes && is_token(line.data[at])) {
        at++;
    }
    if (at == 0 || at == line.bytes || line.data[at] != ':') {
        return false;
    }
    *name = (struct cpt_bytes){line.data, at};
    *value = (struct cpt_bytes){line.data + at + 1, line.bytes - at - 1};
    if (!is_text(*value)) {
        return false;
    }
    *value = trimmed(*value);
    return true;
}

/* A line after the first one; it begins at line_at of @head. */
static bool header_judge(struct cpti_http_parser *parser, const char *head,
                         struct cpt_bytes line)
{
    struct cpt_bytes name;
    struct cpt_bytes value;

    if (!header_split(line, &name, &value)) {
        return refuse(parser, BAD_REQUEST, "a header is malformed");
    }
    for (size_t i = 0; i < CPTI_HTTP_FIELD_COUNT; i++) {
        struct cpti_http_field *field = &parser->fields[i];

        if (names[i].bytes != name.bytes ||
            strncasecmp(names[i].name, name.data, name.bytes) != 0) {
            continue;
        }
        if (field->count++ == 0) {
            field->at = (size_t)(value.data - head);
            field->bytes = value.bytes;
        }
        return field_judge(parser, (enum cpti_http_field_id)i, value);
    }
    return true;
}

/* --- The end of a head --- */

static bool has(const struct cpti_http_parser *parser, enum cpti_http_field_id id)
{
    return parser->fields[id].count > 0;
}

static void body_begin(struct cpti_http_parser *parser)
{
    const bool has_none =
        parser->has_no_body || parser->status == 204 || parser->status == 304;
    const bool has_length = has(parser, CPTI_HTTP_FIELD_LENGTH);

    parser->line_at = 0;
    if (parser->is_reply && has_none) {
        parser->state = CPTI_HTTP_IS_DONE;
    } else if (has(parser, CPTI_HTTP_FIELD_CODING)) {
        parser->state = CPTI_HTTP_IN_CHUNK_SIZE;
    } else if (parser->is_reply && !has_length) {
        parser->state = CPTI_HTTP_IN_REST;
    } else if (parser->length > parser->limits.body_bytes_max) {
        (void)refuse_large(parser, TOO_LARGE, "its body is too long");
    } else {
        parser->left = parser->length;
        parser->state = parser->left > 0 ? CPTI_HTTP_IN_BODY : CPTI_HTTP_IS_DONE;
    }
}

static void head_reset(struct cpti_http_parser *parser)
{
    const struct cpti_http_parser before = *parser;

    memset(parser, 0, sizeof *parser);
    parser->is_reply = before.is_reply;
    parser->has_no_body = before.has_no_body;
    parser->limits = before.limits;
    parser->interims = before.interims;
}

/* The head has @bytes. */
static struct cpti_http_part head_end(struct cpti_http_parser *parser, size_t bytes)
{
    if (has(parser, CPTI_HTTP_FIELD_CODING) && parser->is_old) {
        (void)refuse(parser, BAD_REQUEST, "HTTP/1.0 has no transfer coding");
    } else if (has(parser, CPTI_HTTP_FIELD_CODING) &&
               has(parser, CPTI_HTTP_FIELD_LENGTH)) {
        (void)refuse(parser, BAD_REQUEST, "it has a length and a transfer coding");
    } else if (!parser->is_reply && !parser->is_old &&
               !has(parser, CPTI_HTTP_FIELD_HOST)) {
        (void)refuse(parser, BAD_REQUEST, "it has no host");
    } else if (parser->is_reply && parser->status < 200) {
        if (parser->status != 101 && ++parser->interims <= INTERIM_REPLIES_MAX) {
            head_reset(parser);
            return part(CPTI_HTTP_STEP_DROP, bytes);
        }
        (void)refuse(parser, BAD_REQUEST, "too many interim replies, or status 101");
    } else {
        body_begin(parser);
    }
    return parser->state == CPTI_HTTP_IS_REFUSED ? part(CPTI_HTTP_STEP_REFUSE, 0)
                                                 : part(CPTI_HTTP_STEP_HEAD, bytes);
}

/* An empty line where a request should begin. */
static struct cpti_http_part blank_line(struct cpti_http_parser *parser)
{
    if (parser->is_reply || ++parser->blank_count > BLANK_LINES_MAX) {
        (void)refuse(parser, BAD_REQUEST, "it begins with empty lines");
        return part(CPTI_HTTP_STEP_REFUSE, 0);
    }
    return part(CPTI_HTTP_STEP_DROP, 2);
}

static struct cpti_http_part head_next(struct cpti_http_parser *parser,
                                       const char *data, size_t bytes)
{
    struct cpt_bytes line;
    bool is_good = true;

    while (is_good) {
        const int found =
            line_find(parser, data, bytes,
                      parser->limits.head_bytes_max - parser->head_bytes, &line);

        if (found <= 0) {
            return part(found == 0 ? CPTI_HTTP_STEP_WAIT : CPTI_HTTP_STEP_REFUSE, 0);
        }
        if (line.bytes == 0) {
            return parser->has_first_line ? head_end(parser, parser->line_at + 2)
                                          : blank_line(parser);
        }
        if (parser->has_first_line) {
            is_good = header_judge(parser, data, line);
        } else {
            parser->has_first_line = true;
            is_good = parser->is_reply ? status_line_judge(parser, line)
                                       : request_line_judge(parser, line);
        }
        parser->line_at += line.bytes + 2;
        parser->head_bytes += line.bytes;
    }
    return part(CPTI_HTTP_STEP_REFUSE, 0);
}

/* --- Chunks --- */

/* What follows the size of a chunk in its line: " ; name=value", or nothing. */
static bool extension_judge(struct cpti_http_parser *parser, struct cpt_bytes text)
{
    size_t at = 0;

    if (text.bytes == 0) {
        return true;
    }
    while (at < text.bytes && cpti_is_blank(text.data[at])) {
        at++;
    }
    if (at == text.bytes || text.data[at] != ';' || !is_text(text)) {
        return refuse(parser, BAD_REQUEST, "the size of a chunk is not a number");
    }
    parser->extra_bytes += text.bytes;
    return parser->extra_bytes <= EXTRA_BYTES_MAX ||
           refuse_large(parser, BAD_REQUEST, "extensions of chunks are too long");
}

static struct cpti_http_part chunk_size_next(struct cpti_http_parser *parser,
                                             const char *data, size_t bytes)
{
    struct cpt_bytes line;
    size_t digits = 0;
    const int found = line_find(parser, data, bytes, CHUNK_LINE_MAX, &line);

    if (found <= 0) {
        return part(found == 0 ? CPTI_HTTP_STEP_WAIT : CPTI_HTTP_STEP_REFUSE, 0);
    }
    parser->left = 0;
    while (digits < line.bytes && digits <= SIZE_DIGITS_MAX &&
           hex_of(line.data[digits]) >= 0) {
        parser->left = parser->left * 16 + (uint64_t)hex_of(line.data[digits]);
        digits++;
    }
    if (digits == 0 || digits > SIZE_DIGITS_MAX) {
        (void)refuse(parser, BAD_REQUEST, "the size of a chunk is not a number");
    } else if (parser->left > parser->limits.body_bytes_max - parser->body_bytes) {
        (void)refuse_large(parser, TOO_LARGE, "its body is too long");
    } else if (extension_judge(parser, (struct cpt_bytes){line.data + digits,
                                                          line.bytes - digits})) {
        parser->state = parser->left > 0 ? CPTI_HTTP_IN_CHUNK : CPTI_HTTP_IN_TRAILER;
        return part(CPTI_HTTP_STEP_DROP, line.bytes + 2);
    }
    return part(CPTI_HTTP_STEP_REFUSE, 0);
}

static struct cpti_http_part chunk_end_next(struct cpti_http_parser *parser,
                                            const char *data, size_t bytes)
{
    if (data[0] != '\r' || (bytes > 1 && data[1] != '\n')) {
        (void)refuse(parser, BAD_REQUEST, "a chunk does not end in CR LF");
        return part(CPTI_HTTP_STEP_REFUSE, 0);
    }
    if (bytes < 2) {
        return part(CPTI_HTTP_STEP_WAIT, 0);
    }
    parser->state = CPTI_HTTP_IN_CHUNK_SIZE;
    return part(CPTI_HTTP_STEP_DROP, 2);
}

static struct cpti_http_part trailer_next(struct cpti_http_parser *parser,
                                          const char *data, size_t bytes)
{
    struct cpt_bytes line;
    struct cpt_bytes name;
    struct cpt_bytes value;
    const int found =
        line_find(parser, data, bytes, EXTRA_BYTES_MAX - parser->extra_bytes, &line);

    if (found <= 0) {
        return part(found == 0 ? CPTI_HTTP_STEP_WAIT : CPTI_HTTP_STEP_REFUSE, 0);
    }
    if (line.bytes == 0) {
        parser->state = CPTI_HTTP_IS_DONE;
        return part(CPTI_HTTP_STEP_DROP, 2);
    }
    parser->extra_bytes += line.bytes;
    if (!header_split(line, &name, &value)) {
        (void)refuse(parser, BAD_REQUEST, "a trailer is malformed");
        return part(CPTI_HTTP_STEP_REFUSE, 0);
    }
    return part(CPTI_HTTP_STEP_DROP, line.bytes + 2);
}

/* --- All --- */

/* Bytes of a body, or of a chunk. */
static struct cpti_http_part data_next(struct cpti_http_parser *parser, size_t bytes)
{
    const size_t taken = bytes < parser->left ? bytes : (size_t)parser->left;

    parser->left -= taken;
    parser->body_bytes += taken;
    if (parser->left == 0) {
        parser->state = parser->state == CPTI_HTTP_IN_CHUNK ? CPTI_HTTP_IN_CHUNK_END
                                                            : CPTI_HTTP_IS_DONE;
    }
    return part(CPTI_HTTP_STEP_DATA, taken);
}

static struct cpti_http_part rest_next(struct cpti_http_parser *parser, size_t bytes)
{
    if (bytes > parser->limits.body_bytes_max - parser->body_bytes) {
        (void)refuse_large(parser, TOO_LARGE, "its body is too long");
        return part(CPTI_HTTP_STEP_REFUSE, 0);
    }
    parser->body_bytes += bytes;
    return part(CPTI_HTTP_STEP_DATA, bytes);
}

void cpti_http_parser_init(struct cpti_http_parser *parser, bool is_reply,
                           struct cpti_http_limits limits)
{
    memset(parser, 0, sizeof *parser);
    parser->is_reply = is_reply;
    parser->limits = limits;
}

void cpti_http_parser_begin(struct cpti_http_parser *parser)
{
    cpti_http_parser_init(parser, parser->is_reply, parser->limits);
}

struct cpti_http_part cpti_http_parser_next(struct cpti_http_parser *parser,
                                            const char *data, size_t bytes)
{
    if (parser->state == CPTI_HTTP_IS_DONE) {
        return part(CPTI_HTTP_STEP_DONE, 0);
    }
    if (parser->state == CPTI_HTTP_IS_REFUSED) {
        return part(CPTI_HTTP_STEP_REFUSE, 0);
    }
    if (bytes == 0) {
        return part(CPTI_HTTP_STEP_WAIT, 0);
    }
    switch (parser->state) {
    case CPTI_HTTP_IN_HEAD:
        return head_next(parser, data, bytes);
    case CPTI_HTTP_IN_BODY:
    case CPTI_HTTP_IN_CHUNK:
        return data_next(parser, bytes);
    case CPTI_HTTP_IN_CHUNK_SIZE:
        return chunk_size_next(parser, data, bytes);
    case CPTI_HTTP_IN_CHUNK_END:
        return chunk_end_next(parser, data, bytes);
    case CPTI_HTTP_IN_TRAILER:
        return trailer_next(parser, data, bytes);
    default:
        return rest_next(parser, bytes);
    }
}

bool cpti_http_parser_is_within(const struct cpti_http_parser *parser)
{
    return parser->state < CPTI_HTTP_IS_DONE &&
           (parser->state != CPTI_HTTP_IN_HEAD || parser->line_at > 0 ||
            parser->searched_bytes > 0 || parser->blank_count > 0);
}

bool cpti_http_parser_keeps(const struct cpti_http_parser *parser)
{
    return !parser->has_close && (!parser->is_old || parser->has_keep_alive);
}

bool cpti_http_head_next(struct cpt_bytes head, size_t *at, struct cpt_bytes *name,
                         struct cpt_bytes *value)
{
    const char *end = NULL;
    struct cpt_bytes line;

    if (*at == 0) {
        end = memchr(head.data, '\n', head.bytes);
        *at = end != NULL ? (size_t)(end - head.data) + 1 : head.bytes;
    }
    end = memchr(head.data + *at, '\n', head.bytes - *at);
    if (end == NULL) {
        return false;
    }
    line = (struct cpt_bytes){head.data + *at, (size_t)(end - head.data) - *at - 1};
    *at += line.bytes + 2;
    return line.bytes > 0 && header_split(line, name, value);
}
