/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * ask.c - the headers by which a caller asks for a path; see cpt_metadata.h
 *
 * The ask is an Item of RFC 8941 with parameters; we know these of them:
 *
 *      1 ; max=2048 ; forced ; colour="blue"
 *      |   |          |        '-- unknown: skipped, but must be well formed
 *      |   |          '-- Boolean; the bare word means true
 *      |   '-- Integer, 0 or more
 *      '-- Integer, 1 or more: the version
 *
 * The value is parsed to its end: if only its beginning is valid, it was not written by
 * this library, and tracing a request for it would be a guess. The later parameters
 * `drag` and `graph` are as if absent if their values are not of their types: a header
 * that an older service takes is an ask for every newer one. Two headers do not count
 * as an ask, as either could be meant. If a parameter occurs twice, the last one
 * counts, by the RFC.
 *
 * The nonce is 16 hex digits and nothing else, so that a proxy which joins two of them
 * leaves none.
 */
#include "wire/cpt_metadata.h"

#include <stdbool.h>
#include <string.h>

enum { INTEGER_DIGITS_MAX = 15, DECIMAL_DIGITS_MAX = 12, FRACTION_DIGITS_MAX = 3 };

struct scan {
    const char *text;
    size_t bytes;
    size_t at;
};

enum item_type { ITEM_INTEGER, ITEM_BOOLEAN, ITEM_OTHER };

/* A bare item; values of other types are not kept. */
struct item {
    enum item_type type;
    int64_t number; /* of an Integer or a Boolean */
};

/* The next character, or -1 at the end. */
static int peek(const struct scan *scan)
{
    return scan->at < scan->bytes ? (unsigned char)scan->text[scan->at] : -1;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(int c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_alpha(int c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_token(int c)
{
    return c > 0 &&
           (is_alpha(c) || is_digit(c) || strchr("!#$%&'*+-.^_`|~:/", c) != NULL);
}

static bool is_key(int c)
{
    return c > 0 && (is_lower(c) || is_digit(c) || strchr("_-.*", c) != NULL);
}

static void skip_spaces(struct scan *scan)
{
    while (peek(scan) == ' ') {
        scan->at++;
    }
}

/* Skips the characters for which @is_part holds; returns their count. */
static size_t skip_all(struct scan *scan, bool (*is_part)(int c))
{
    const size_t start = scan->at;

    while (is_part(peek(scan))) {
        scan->at++;
    }
    return scan->at - start;
}

static bool scan_number(struct scan *scan, struct item *item)
{
    const bool is_negative = peek(scan) == '-';
    size_t digits = 0;

    scan->at += (size_t)is_negative;
    for (item->number = 0; is_digit(peek(scan)); scan->at++, digits++) {
        if (digits == INTEGER_DIGITS_MAX) {
            return false;
        }
        item->number = item->number * 10 + (peek(scan) - '0');
    }
    item->number = is_negative ? -item->number : item->number;
    item->type = ITEM_INTEGER;
    if (digits != 0 && peek(scan) == '.') {
        size_t fraction_digits = 0;

        scan->at++;
        item->type = ITEM_OTHER;
        fraction_digits = skip_all(scan, is_digit);
        return digits <= DECIMAL_DIGITS_MAX && fraction_digits >= 1 &&
               fraction_digits <= FRACTION_DIGITS_MAX;
    }
    return digits != 0;
}

static bool scan_string(struct scan *scan)
{
    for (scan->at++; peek(scan) != '"'; scan->at++) {
        if (peek(scan) == '\\') {
            scan->at++;
            if (peek(scan) != '"' && peek(scan) != '\\') {
                return false;
            }
        } else if (peek(scan) < ' ' || peek(scan) > '~') {
            return false;
        }
    }
    scan->at++;
    return true;
}

static bool is_base64(int c)
{
    return is_alpha(c) || is_digit(c) || c == '+' || c == '/' || c == '=';
}

static bool scan_item(struct scan *scan, struct item *item)
{
    const int c = peek(scan);

    *item = (struct item){.type = ITEM_OTHER};
    if (c == '-' || is_digit(c)) {
        return scan_number(scan, item);
    }
    if (c == '"') {
        return scan_string(scan);
    }
    if (c == '*' || is_alpha(c)) {
        return skip_all(scan, is_token) != 0;
    }
    if (c == ':') {
        scan->at++;
        skip_all(scan, is_base64);
        return peek(scan) == ':' && ++scan->at != 0;
    }
    if (c == '?') {
        scan->at++;
        item->type = ITEM_BOOLEAN;
        item->number = peek(scan) == '1';
        return (peek(scan) == '0' || peek(scan) == '1') && ++scan->at != 0;
    }
    return false;
}

/* The 16 lower-case hex digits that @text is; 0: it is not. */
static uint64_t read_hex(struct cpt_bytes text)
{
    uint64_t number = 0;

    if (text.bytes != CPT_NONCE_BYTES) {
        return 0;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        const int c = (unsigned char)text.data[i];

        if (!is_digit(c) && (c < 'a' || c > 'f')) {
            return 0;
        }
        number = number << 4 | (unsigned)(is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    return number;
}

/* The same between quotes. */
static uint64_t read_quoted_hex(struct cpt_bytes text)
{
    if (text.bytes < 2 || text.data[0] != '"' || text.data[text.bytes - 1] != '"') {
        return 0;
    }
    return read_hex((struct cpt_bytes){text.data + 1, text.bytes - 2});
}

/* Reads a parameter that older services skip, @text as it came; a malformed one counts
 * as absent. */
static void note_later(struct cpt_bytes key, const struct item *item,
                       struct cpt_bytes text, struct cpt_ask *ask)
{
    if (cpt_bytes_equal(key, cpt_bytes_of("delay"))) {
        ask->delay_ns =
            item->type == ITEM_INTEGER && item->number > 0 ? (uint64_t)item->number : 0;
    } else if (cpt_bytes_equal(key, cpt_bytes_of("at"))) {
        ask->delay_frame = read_quoted_hex(text);
    } else if (cpt_bytes_equal(key, cpt_bytes_of("burn"))) {
        ask->delay_burns = item->type == ITEM_BOOLEAN && item->number != 0;
    } else if (cpt_bytes_equal(key, cpt_bytes_of("drag"))) {
        ask->wants_drag = item->type == ITEM_BOOLEAN && item->number != 0;
    } else if (cpt_bytes_equal(key, cpt_bytes_of("graph"))) {
        ask->graph_id = read_quoted_hex(text);
    }
}

/* Reads one parameter behind its ';'. */
static bool scan_parameter(struct scan *scan, struct cpt_ask *ask)
{
    struct item item = {.type = ITEM_BOOLEAN, .number = 1};
    struct cpt_bytes key = {NULL, 0};
    size_t begin = 0;

    skip_spaces(scan);
    if (peek(scan) != '*' && !is_lower(peek(scan))) {
        return false;
    }
    key.data = scan->text + scan->at;
    key.bytes = skip_all(scan, is_key);
    begin = scan->at;
    if (peek(scan) == '=') {
        begin = ++scan->at;
        if (!scan_item(scan, &item)) {
            return false;
        }
    }
    note_later(key, &item, (struct cpt_bytes){scan->text + begin, scan->at - begin},
               ask);
    if (cpt_bytes_equal(key, cpt_bytes_of("max"))) {
        if (item.type != ITEM_INTEGER || item.number < 0) {
            return false;
        }
        /* so that it fits a size_t on every machine */
        ask->bytes_max = item.number < INT32_MAX ? (size_t)item.number : INT32_MAX;
        ask->has_max = 1;
    } else if (cpt_bytes_equal(key, cpt_bytes_of("forced"))) {
        if (item.type != ITEM_BOOLEAN) {
            return false;
        }
        ask->is_forced = item.number != 0;
    }
    return true;
}

static bool scan_ask(struct scan *scan, struct cpt_ask *ask)
{
    struct item item;

    skip_spaces(scan);
    if (!scan_item(scan, &item) || item.type != ITEM_INTEGER || item.number < 1 ||
        item.number > INT32_MAX) {
        return false;
    }
    ask->version = (unsigned)item.number;
    ask->bytes_max = CPT_METADATA_BYTES_DEFAULT;
    while (peek(scan) == ';') {
        scan->at++;
        if (!scan_parameter(scan, ask)) {
            return false;
        }
    }
    if (ask->delay_ns == 0 || ask->delay_frame == 0) {
        ask->delay_ns = 0;
        ask->delay_frame = 0;
        ask->delay_burns = 0;
    }
    skip_spaces(scan);
    return scan->at == scan->bytes;
}

cpt_status cpt_ask_parse(const struct cpt_bytes *values, size_t value_count,
                         struct cpt_ask *ask, struct cpt_error *error)
{
    struct scan scan = {NULL, 0, 0};

    *ask = (struct cpt_ask){0};
    if (value_count == 0) {
        return CPT_END;
    }
    if (value_count > 1) {
        return cpt_error_set(error, CPT_CORRUPT, 0, "there are %zu headers %s, not one",
                             value_count, CPT_HEADER_ASK);
    }
    if (values[0].bytes > CPT_ASK_BYTES_MAX) {
        return cpt_error_set(error, CPT_CORRUPT, CPT_ASK_BYTES_MAX,
                             "the header %s has %zu bytes, the limit is %d",
                             CPT_HEADER_ASK, values[0].bytes, CPT_ASK_BYTES_MAX);
    }
    scan.text = values[0].data;
    scan.bytes = values[0].bytes;
    if (!scan_ask(&scan, ask)) {
        *ask = (struct cpt_ask){0};
        return cpt_error_set(error, CPT_CORRUPT, scan.at,
                             "the header %s is not a version with parameters",
                             CPT_HEADER_ASK);
    }
    return CPT_OK;
}

struct cpt_ask cpt_ask_downstream(const struct cpt_ask *received, size_t own_bytes_max)
{
    struct cpt_ask ask = {.version = CPT_METADATA_VERSION, .bytes_max = own_bytes_max};

    if (own_bytes_max == 0) {
        ask.bytes_max = CPT_METADATA_BYTES_DEFAULT;
    }
    if (received != NULL && received->version != 0 &&
        received->bytes_max < ask.bytes_max) {
        ask.bytes_max = received->bytes_max;
    }
    if (received != NULL && received->version != 0) {
        ask.delay_frame = received->delay_frame;
        ask.delay_ns = received->delay_ns;
        ask.delay_burns = received->delay_burns;
    }
    ask.wants_drag = received != NULL && received->version != 0 && received->wants_drag;
    return ask;
}

/* Each traced call has an ask, so its text is made without stdio. */
static char *put_text(char *at, const char *text)
{
    const size_t bytes = strlen(text);

    memcpy(at, text, bytes);
    return at + bytes;
}

static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count != 0) {
        *at++ = digits[--count];
    }
    return at;
}

static char *put_hex(char *at, uint64_t number)
{
    for (int shift = 60; shift >= 0; shift -= 4) {
        *at++ = "0123456789abcdef"[number >> shift & 15];
    }
    return at;
}

static char *put_delay(char *at, const struct cpt_ask *ask)
{
    at = put_text(at, ";delay=");
    at = put_number(at, ask->delay_ns);
    at = put_text(at, ";at=\"");
    at = put_hex(at, ask->delay_frame);
    at = put_text(at, "\"");
    return put_text(at, ask->delay_burns ? ";burn" : "");
}

size_t cpt_ask_format(const struct cpt_ask *ask, char *text, size_t capacity)
{
    char whole[160];
    char *at = put_number(whole, ask->version);
    size_t bytes = 0;

    at = put_text(at, ";max=");
    /* No reader takes more, and all together fit: 10 + 5 + 10 + 7 + 5 + 25 bytes. */
    at = put_number(at, ask->bytes_max < INT32_MAX ? ask->bytes_max : INT32_MAX);
    if (ask->is_forced) {
        at = put_text(at, ";forced");
    }
    if (ask->delay_ns != 0) {
        at = put_delay(at, ask);
    }
    if (ask->wants_drag) {
        at = put_text(at, ";drag");
    }
    if (ask->graph_id != 0) {
        at = put_text(at, ";graph=\"");
        at = put_hex(at, ask->graph_id);
        *at++ = '"';
    }
    bytes = (size_t)(at - whole);
    if (capacity != 0) {
        const size_t kept = bytes < capacity ? bytes : capacity - 1;

        memcpy(text, whole, kept);
        text[kept] = '\0';
    }
    return bytes;
}

uint64_t cpt_nonce_parse(const struct cpt_bytes *values, size_t value_count)
{
    return value_count == 1 ? read_hex(values[0]) : 0;
}

void cpt_nonce_format(uint64_t nonce, char text[CPT_NONCE_BYTES + 1])
{
    *put_hex(text, nonce) = '\0';
}
