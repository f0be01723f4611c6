/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_message.c - where each message in a stream of HTTP/1.1 ends
 *
 * Two programs that read one stream must agree where each message ends. If a proxy and
 * the server behind it do not, a client hides a second request in the body of its first
 * one ("request smuggling"). So the parser behind us gets only messages with one
 * meaning, and each in its plainest form:
 *
 *      head ----> Content-Length: N ----> N bytes ---------------------> next message
 *         \-----> chunked -> size;extension -> chunk -> ... -> trailer -->
 *          \----> neither: a request has no body, a reply lasts to the end
 *
 * A head is passed when all of it is there. Refused are, with 400: a line end without
 * CR; CR, NUL and other control characters anywhere; a name that is no token, as with a
 * blank before the colon; a continued line; two lengths, even if equal; a length that
 * is not digits; two codings; a length beside a coding; a coding in HTTP/1.0; two
 * hosts; with 501, as nginx does, a coding that is not exactly `chunked`, and CONNECT.
 *
 * Dropped are: extensions of chunks and trailers, which nothing here uses; bodies of
 * requests whose verb has none for the parser behind us; interim replies (100, 103).
 *
 * RFC 9112 is the standard; where it lets a recipient choose, we refuse.
 */
#include "framework/transport/http_message.h"

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
    NOT_IMPLEMENTED = 501
};

/* A line without its end. */
struct line {
    const char *data;
    size_t bytes;
};

static struct cpti_http_piece piece(enum cpti_http_action action, size_t bytes)
{
    return (struct cpti_http_piece){action, bytes};
}

/* --- Refusing --- */

static bool refuse(struct cpti_http_message *message, unsigned refusal,
                   const char *reason)
{
    message->refusal = refusal;
    message->reason = reason;
    message->refused_in = message->state;
    message->state = CPTI_HTTP_REFUSED;
    return false;
}

static bool refuse_large(struct cpti_http_message *message, const char *reason)
{
    message->is_large = true;
    return refuse(message, BAD_REQUEST, reason);
}

/* Whether the parser behind us has the head of the refused message. */
static bool has_begun(const struct cpti_http_message *message)
{
    return message->refused_in != CPTI_HTTP_HEAD && message->takes_body;
}

const char *cpti_http_message_substitute(const struct cpti_http_message *message)
{
    const bool is_after_chunk = message->refused_in == CPTI_HTTP_CHUNK_END;

    if (message->is_reply) {
        return is_after_chunk ? "\r\nx\r\n" : "x\r\n";
    }
    if (!has_begun(message)) {
        return "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
    }
    if (is_after_chunk) {
        return "\r\n0\r\n\r\n";
    }
    return message->refused_in == CPTI_HTTP_TRAILER ? "\r\n" : "0\r\n\r\n";
}

uint64_t cpti_http_message_refused(const struct cpti_http_message *message)
{
    if (message->state != CPTI_HTTP_REFUSED) {
        return 0;
    }
    return has_begun(message) ? message->count : message->count + 1;
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

/* Of a value: no control character but the tabulator. */
static bool is_text(struct line text)
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

static bool equals(struct line text, const char *with)
{
    return text.bytes == strlen(with) && strncasecmp(text.data, with, text.bytes) == 0;
}

/* --- Lines of a head --- */

/*
 * Finds the end of the line at line_at of @data. 1: @line is set; 0: it has no end yet;
 * -1: it is refused. @bytes_max are left for it.
 */
static int line_find(struct cpti_http_message *message, const char *data, size_t bytes,
                     size_t bytes_max, struct line *line)
{
    const size_t from = message->line_at + message->searched_bytes;
    const char *end = memchr(data + from, '\n', bytes - from);

    line->data = data + message->line_at;
    if (end == NULL) {
        message->searched_bytes = bytes - message->line_at;
        if (message->searched_bytes > bytes_max + 1) { /* a CR may be the last one */
            (void)refuse_large(message, "a line or all of them are too long");
            return -1;
        }
        return 0;
    }
    message->searched_bytes = 0;
    line->bytes = (size_t)(end - line->data);
    if (line->bytes == 0 || end[-1] != '\r') {
        (void)refuse(message, BAD_REQUEST, "a line does not end in CR LF");
        return -1;
    }
    line->bytes--;
    if (line->bytes > bytes_max) {
        (void)refuse_large(message, "a line or all of them are too long");
        return -1;
    }
    return 1;
}

/* "HTTP/1.0", "HTTP/1.1". */
static bool version_judge(struct cpti_http_message *message, const char *text)
{
    if (memcmp(text, "HTTP/1.", 7) != 0 || !is_digit(text[7])) {
        return refuse(message, BAD_REQUEST, "the version is not HTTP/1");
    }
    message->is_old = text[7] == '0';
    return true;
}

/* "HTTP/1.1 200 OK" */
static bool status_line_judge(struct cpti_http_message *message, struct line line)
{
    const char *status = line.data + 9;

    if (line.bytes < 12 || line.data[8] != ' ' || !is_text(line) ||
        !is_digit(status[0]) || status[0] == '0' || !is_digit(status[1]) ||
        !is_digit(status[2]) || (line.bytes > 12 && status[3] != ' ')) {
        return refuse(message, BAD_REQUEST, "the first line is not a reply's");
    }
    message->status = (unsigned)(status[0] - '0') * 100 +
                      (unsigned)(status[1] - '0') * 10 + (unsigned)(status[2] - '0');
    return version_judge(message, line.data);
}

static bool is_verb(struct line verb, const char *with)
{
    return verb.bytes == strlen(with) && memcmp(verb.data, with, verb.bytes) == 0;
}

/* Whether the parser behind us (libevent 2.1.12) reads a body after @verb. It takes the
 * bodies of other verbs for a next request. */
static bool has_body(struct line verb)
{
    static const char *const verbs[] = {"GET",    "POST",    "PUT",
                                        "DELETE", "OPTIONS", "PATCH"};

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (is_verb(verb, verbs[i])) {
            return true;
        }
    }
    return false;
}

/* "GET /path HTTP/1.1" */
static bool request_line_judge(struct cpti_http_message *message, struct line line)
{
    struct line verb = {line.data, 0};
    size_t at = 0;

    while (verb.bytes < line.bytes && is_token(line.data[verb.bytes])) {
        verb.bytes++;
    }
    at = verb.bytes + 1;
    while (at < line.bytes && (unsigned char)line.data[at] > ' ' &&
           line.data[at] != 0x7f) {
        at++;
    }
    if (verb.bytes == 0 || line.data[verb.bytes] != ' ' || at == verb.bytes + 1 ||
        line.bytes != at + 9 || line.data[at] != ' ') {
        return refuse(message, BAD_REQUEST, "the first line is not a request's");
    }
    if (is_verb(verb, "CONNECT")) {
        return refuse(message, NOT_IMPLEMENTED, "this is no proxy");
    }
    message->takes_body = has_body(verb);
    return version_judge(message, line.data + at + 1);
}

static bool length_judge(struct cpti_http_message *message, struct line value)
{
    if (message->has_length) {
        return refuse(message, BAD_REQUEST, "it has two lengths");
    }
    if (value.bytes == 0 || value.bytes > LENGTH_DIGITS_MAX) {
        return refuse(message, BAD_REQUEST, "its length is not a number");
    }
    for (size_t i = 0; i < value.bytes; i++) {
        if (!is_digit(value.data[i])) {
            return refuse(message, BAD_REQUEST, "its length is not a number");
        }
        message->length = message->length * 10 + (uint64_t)(value.data[i] - '0');
    }
    message->has_length = true;
    return true;
}

static bool coding_judge(struct cpti_http_message *message, struct line value)
{
    if (message->has_coding) {
        return refuse(message, BAD_REQUEST, "it has two transfer codings");
    }
    if (!equals(value, "chunked")) {
        return refuse(message, NOT_IMPLEMENTED, "its transfer coding is not known");
    }
    message->has_coding = true;
    return true;
}

/* Splits "name: value"; @value without blanks around it. */
static bool header_split(struct line line, struct line *name, struct line *value)
{
    size_t at = 0;

    while (at < line.bytes && is_token(line.data[at])) {
        at++;
    }
    if (at == 0 || at == line.bytes || line.data[at] != ':') {
        return false;
    }
    *name = (struct line){line.data, at};
    *value = (struct line){line.data + at + 1, line.bytes - at - 1};
    if (!is_text(*value)) {
        return false;
    }
    while (value->bytes > 0 && value->data[0] == ' ') {
        value->data++;
        value->bytes--;
    }
    while (value->bytes > 0 && (value->data[value->bytes - 1] == ' ' ||
                                value->data[value->bytes - 1] == '\t')) {
        value->bytes--;
    }
    return true;
}

static bool header_judge(struct cpti_http_message *message, struct line line)
{
    struct line name;
    struct line value;

    if (!header_split(line, &name, &value)) {
        return refuse(message, BAD_REQUEST, "a header is malformed");
    }
    if (name.bytes == 14 && equals(name, "Content-Length")) {
        return length_judge(message, value);
    }
    if (name.bytes == 17 && equals(name, "Transfer-Encoding")) {
        return coding_judge(message, value);
    }
    if (name.bytes == 4 && equals(name, "Host")) {
        if (message->has_host) {
            return refuse(message, BAD_REQUEST, "it has two hosts");
        }
        message->has_host = true;
    }
    return true;
}

/* --- The end of a head --- */

static void head_reset(struct cpti_http_message *message)
{
    message->state = CPTI_HTTP_HEAD;
    message->line_at = 0;
    message->searched_bytes = 0;
    message->head_bytes = 0;
    message->blank_count = 0;
    message->has_first_line = false;
    message->takes_body = true;
    message->has_length = false;
    message->has_coding = false;
    message->has_host = false;
    message->length = 0;
    message->extra_bytes = 0;
}

static void message_end(struct cpti_http_message *message)
{
    if (message->is_reply) {
        message->state = CPTI_HTTP_REST;
    } else {
        head_reset(message);
    }
}

static void body_begin(struct cpti_http_message *message)
{
    const bool has_none = message->status == 204 || message->status == 304;
    const bool has_end = message->has_coding || message->has_length;

    message->line_at = 0;
    if (message->is_reply && (has_none || !has_end)) {
        message->state = CPTI_HTTP_REST;
    } else if (message->has_coding) {
        message->state = CPTI_HTTP_CHUNK_SIZE;
    } else if (message->length > 0) {
        message->state = CPTI_HTTP_BODY;
        message->left = message->length;
    } else {
        message_end(message);
    }
}

/* The head has @bytes. */
static struct cpti_http_piece head_end(struct cpti_http_message *message, size_t bytes)
{
    if (message->has_coding && (message->has_length || message->is_old)) {
        (void)refuse(message, BAD_REQUEST,
                     message->is_old ? "HTTP/1.0 has no transfer coding"
                                     : "it has a length and a transfer coding");
        return piece(CPTI_HTTP_REFUSE, 0);
    }
    if (message->is_reply && message->status < 200) {
        if (message->status == 101 || ++message->interims > INTERIM_REPLIES_MAX) {
            (void)refuse(message, BAD_REQUEST,
                         "too many interim replies, or status 101");
            return piece(CPTI_HTTP_REFUSE, 0);
        }
        head_reset(message);
        return piece(CPTI_HTTP_DROP, bytes);
    }
    message->count++;
    body_begin(message);
    return piece(CPTI_HTTP_PASS, bytes);
}

/* An empty line where a request should begin. */
static struct cpti_http_piece blank_line(struct cpti_http_message *message)
{
    if (message->is_reply || ++message->blank_count > BLANK_LINES_MAX) {
        (void)refuse(message, BAD_REQUEST, "it begins with empty lines");
        return piece(CPTI_HTTP_REFUSE, 0);
    }
    return piece(CPTI_HTTP_DROP, 2);
}

static struct cpti_http_piece head_next(struct cpti_http_message *message,
                                        const char *data, size_t bytes)
{
    struct line line;
    bool is_good = true;

    while (is_good) {
        const int found = line_find(
            message, data, bytes, message->head_bytes_max - message->head_bytes, &line);

        if (found <= 0) {
            return piece(found == 0 ? CPTI_HTTP_WAIT : CPTI_HTTP_REFUSE, 0);
        }
        if (line.bytes == 0 && message->has_first_line) {
            return head_end(message, message->line_at + 2);
        }
        if (line.bytes == 0) {
            return blank_line(message);
        }
        if (message->has_first_line) {
            is_good = header_judge(message, line);
        } else {
            message->has_first_line = true;
            is_good = message->is_reply ? status_line_judge(message, line)
                                        : request_line_judge(message, line);
        }
        message->line_at += line.bytes + 2;
        message->head_bytes += line.bytes;
    }
    return piece(CPTI_HTTP_REFUSE, 0);
}

/* --- Chunks --- */

/* What follows the size of a chunk in its line: " ; name=value", or nothing. */
static bool extension_judge(struct cpti_http_message *message, struct line text)
{
    size_t at = 0;

    if (text.bytes == 0) {
        return true;
    }
    while (at < text.bytes && (text.data[at] == ' ' || text.data[at] == '\t')) {
        at++;
    }
    if (at == text.bytes || text.data[at] != ';' || !is_text(text)) {
        return refuse(message, BAD_REQUEST, "the size of a chunk is not a number");
    }
    message->extra_bytes += text.bytes;
    return message->extra_bytes <= EXTRA_BYTES_MAX ||
           refuse_large(message, "extensions of chunks are too long");
}

static void chunk_begin(struct cpti_http_message *message)
{
    message->state = message->left > 0 ? CPTI_HTTP_CHUNK : CPTI_HTTP_TRAILER;
}

static struct cpti_http_piece chunk_size_next(struct cpti_http_message *message,
                                              const char *data, size_t bytes)
{
    struct line line;
    size_t digits = 0;
    const int found = line_find(message, data, bytes, CHUNK_LINE_MAX, &line);

    if (found <= 0) {
        return piece(found == 0 ? CPTI_HTTP_WAIT : CPTI_HTTP_REFUSE, 0);
    }
    message->left = 0;
    while (digits < line.bytes && digits <= SIZE_DIGITS_MAX &&
           hex_of(line.data[digits]) >= 0) {
        message->left = message->left * 16 + (uint64_t)hex_of(line.data[digits]);
        digits++;
    }
    if (digits == 0 || digits > SIZE_DIGITS_MAX) {
        (void)refuse(message, BAD_REQUEST, "the size of a chunk is not a number");
        return piece(CPTI_HTTP_REFUSE, 0);
    }
    message->extension_bytes = line.bytes - digits;
    if (!extension_judge(message,
                         (struct line){line.data + digits, message->extension_bytes})) {
        return piece(CPTI_HTTP_REFUSE, 0);
    }
    if (message->extension_bytes > 0) {
        message->state = CPTI_HTTP_CHUNK_EXTENSION;
        return piece(CPTI_HTTP_PASS, digits);
    }
    chunk_begin(message);
    return piece(CPTI_HTTP_PASS, line.bytes + 2);
}

static struct cpti_http_piece chunk_end_next(struct cpti_http_message *message,
                                             const char *data, size_t bytes)
{
    if (data[0] != '\r' || (bytes > 1 && data[1] != '\n')) {
        (void)refuse(message, BAD_REQUEST, "a chunk does not end in CR LF");
        return piece(CPTI_HTTP_REFUSE, 0);
    }
    if (bytes < 2) {
        return piece(CPTI_HTTP_WAIT, 0);
    }
    message->state = CPTI_HTTP_CHUNK_SIZE;
    return piece(CPTI_HTTP_PASS, 2);
}

static struct cpti_http_piece trailer_next(struct cpti_http_message *message,
                                           const char *data, size_t bytes)
{
    struct line line;
    struct line name;
    struct line value;
    const int found =
        line_find(message, data, bytes, EXTRA_BYTES_MAX - message->extra_bytes, &line);

    if (found <= 0) {
        return piece(found == 0 ? CPTI_HTTP_WAIT : CPTI_HTTP_REFUSE, 0);
    }
    if (line.bytes == 0) {
        message_end(message);
        return piece(CPTI_HTTP_PASS, 2);
    }
    message->extra_bytes += line.bytes;
    if (!header_split(line, &name, &value)) {
        (void)refuse(message, BAD_REQUEST, "a trailer is malformed");
        return piece(CPTI_HTTP_REFUSE, 0);
    }
    return piece(CPTI_HTTP_DROP, line.bytes + 2);
}

/* --- All --- */

/* Bytes of a body, or of a chunk; then comes @next. */
static struct cpti_http_piece data_next(struct cpti_http_message *message, size_t bytes)
{
    const size_t taken = bytes < message->left ? bytes : (size_t)message->left;

    message->left -= taken;
    if (message->left == 0 && message->state == CPTI_HTTP_CHUNK) {
        message->state = CPTI_HTTP_CHUNK_END;
    } else if (message->left == 0) {
        message_end(message);
    }
    return piece(CPTI_HTTP_PASS, taken);
}

static struct cpti_http_piece any_next(struct cpti_http_message *message,
                                       const char *data, size_t bytes)
{
    switch (message->state) {
    case CPTI_HTTP_HEAD:
        return head_next(message, data, bytes);
    case CPTI_HTTP_BODY:
    case CPTI_HTTP_CHUNK:
        return data_next(message, bytes);
    case CPTI_HTTP_CHUNK_SIZE:
        return chunk_size_next(message, data, bytes);
    case CPTI_HTTP_CHUNK_EXTENSION:
        message->state = CPTI_HTTP_CHUNK_SIZE_END;
        return piece(CPTI_HTTP_DROP, message->extension_bytes);
    case CPTI_HTTP_CHUNK_SIZE_END:
        chunk_begin(message);
        return piece(CPTI_HTTP_PASS, 2);
    case CPTI_HTTP_CHUNK_END:
        return chunk_end_next(message, data, bytes);
    case CPTI_HTTP_TRAILER:
        return trailer_next(message, data, bytes);
    case CPTI_HTTP_REST:
        return piece(CPTI_HTTP_PASS, bytes);
    case CPTI_HTTP_REFUSED:
        break;
    }
    return piece(CPTI_HTTP_DROP, bytes);
}

void cpti_http_message_init(struct cpti_http_message *message, bool is_reply,
                            size_t head_bytes_max)
{
    memset(message, 0, sizeof *message);
    message->is_reply = is_reply;
    message->head_bytes_max = head_bytes_max;
    head_reset(message);
    if (is_reply) {
        message->state = CPTI_HTTP_REST;
    }
}

void cpti_http_message_begin(struct cpti_http_message *message)
{
    const size_t head_bytes_max = message->head_bytes_max;

    cpti_http_message_init(message, true, head_bytes_max);
    message->state = CPTI_HTTP_HEAD;
}

struct cpti_http_piece cpti_http_message_next(struct cpti_http_message *message,
                                              const char *data, size_t bytes)
{
    const bool is_body = message->state != CPTI_HTTP_HEAD;
    const bool takes_body = message->takes_body;
    struct cpti_http_piece next = piece(CPTI_HTTP_WAIT, 0);

    if (bytes == 0) {
        return next;
    }
    next = any_next(message, data, bytes);
    if (is_body && !takes_body && next.action == CPTI_HTTP_PASS) {
        next.action = CPTI_HTTP_DROP;
    }
    return next;
}
