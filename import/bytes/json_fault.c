/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * json_fault.c - a reader of JSON that keeps nothing but its place
 *
 * The containers that are open are a stack of bits, so the depth of the text is not the
 * depth of calls. Speed does not matter: a text comes here once it was refused.
 *
 * Tracers cut texts in the middle of a character, and copy bytes that are none. A fault
 * of that kind is passed over and counted; if a text has no other, it is mended:
 *
 *      "caf\xc3"    "x\ud83dy"      what came
 *      "caf\ufffd"  "x\ufffdy"      what is read: U+FFFD, three bytes of UTF-8, each
 *
 * Nor must JSON that the libraries cannot hold cost what is around it: a whole number
 * beyond 64 bits is one with a fraction for all who read it, and U+FFFD stands for the
 * zero in a key that is a string of C. That is mended, too, but not counted.
 */
#include "import/bytes/json_fault.h"

#include "cpt/cpt_alloc.h"
#include "import/bytes/json.h"

#include <stdint.h>
#include <string.h>

struct reader {
    const char *text;
    size_t count;
    size_t at;
    const char *what;  /* the fault, at `at`; NULL: none yet */
    uint64_t replaced; /* characters that are none */
    uint64_t changed;  /* places that were mended, with those */
    bool is_in_key;
    char *mended; /* the text with others for them; NULL: they are only counted */
    size_t mended_bytes;
    size_t copied; /* of the text to `mended` */
    size_t depth;
    unsigned char is_object[CPTI_DOC_DEPTH_MAX / 8]; /* a bit for each open container */
};

static const char replacement[] = "\357\277\275"; /* U+FFFD */
enum {
    REPLACEMENT_BYTES = sizeof replacement - 1,
    MORE_BYTES = REPLACEMENT_BYTES - 1 /* than were there, at a place at most */
};

/* --- Bytes --- */

static bool fail(struct reader *reader, const char *what)
{
    reader->what = what;
    return false;
}

/* The byte @ahead of the place; -1 behind the text. */
static int peek(const struct reader *reader, size_t ahead)
{
    return ahead < reader->count - reader->at
               ? (unsigned char)reader->text[reader->at + ahead]
               : -1;
}

static void pass_blanks(struct reader *reader)
{
    while (peek(reader, 0) == ' ' || peek(reader, 0) == '\n' ||
           peek(reader, 0) == '\r' || peek(reader, 0) == '\t') {
        reader->at++;
    }
}

static bool is_digit(int byte)
{
    return byte >= '0' && byte <= '9';
}

/* --- Strings --- */

/* Copies what was passed and not copied yet. */
static void copy_passed(struct reader *reader)
{
    const size_t bytes = reader->at - reader->copied;

    if (reader->mended != NULL && bytes > 0) {
        memcpy(reader->mended + reader->mended_bytes, reader->text + reader->copied,
               bytes);
        reader->mended_bytes += bytes;
    }
    reader->copied = reader->at;
}

/* Puts @bytes of @text where the place is. */
static void insert(struct reader *reader, const char *text, size_t bytes)
{
    copy_passed(reader);
    reader->changed++;
    if (reader->mended != NULL) {
        memcpy(reader->mended + reader->mended_bytes, text, bytes);
        reader->mended_bytes += bytes;
    }
}

/* Passes @bytes that are no character, for which there is another. */
static void replace(struct reader *reader, size_t bytes)
{
    copy_passed(reader);
    reader->at += bytes;
    reader->copied = reader->at;
    insert(reader, replacement, REPLACEMENT_BYTES);
}

static void replace_counted(struct reader *reader, size_t bytes)
{
    reader->replaced++;
    replace(reader, bytes);
}

/* Passes one character that is not ASCII: UTF-8 as RFC 3629 allows it, so none of 2, 3
 * or 4 bytes that fits fewer, no surrogate, nothing above U+10FFFF. If it is none, one
 * stands for the bytes with which a character might have begun, as Unicode advises. */
static void pass_utf8(struct reader *reader)
{
    const int first = peek(reader, 0);
    const int second = peek(reader, 1);
    const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    size_t there = 1;

    if (first < 0xc2 || first > 0xf4 || (first == 0xe0 && second < 0xa0) ||
        (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f)) {
        replace_counted(reader, 1);
        return;
    }
    while (there < bytes && peek(reader, there) >= 0x80 &&
           peek(reader, there) <= 0xbf) {
        there++;
    }
    if (there < bytes) {
        replace_counted(reader, there);
    } else {
        reader->at += bytes;
    }
}

/* The value of a \u with four digits, @ahead; -1: it is none. */
static int peek_escaped(const struct reader *reader, size_t ahead)
{
    int value = 0;

    if (peek(reader, ahead) != '\\' || peek(reader, ahead + 1) != 'u') {
        return -1;
    }
    for (size_t i = 2; i < 6; i++) {
        const int byte = peek(reader, ahead + i);
        const int lower = byte | 0x20;

        if (!is_digit(byte) && (lower < 'a' || lower > 'f')) {
            return -1;
        }
        value = value * 16 + (is_digit(byte) ? byte - '0' : lower - 'a' + 10);
    }
    return value;
}

static bool pass_escape(struct reader *reader)
{
    const int kind = peek(reader, 1);
    const int value = peek_escaped(reader, 0);

    if (kind == 'u' && value >= 0xd800 && value <= 0xdfff) {
        const int low = peek_escaped(reader, 6);

        if (value > 0xdbff || low < 0xdc00 || low > 0xdfff) {
            replace_counted(reader, 6); /* half of a pair */
        } else {
            reader->at += 12;
        }
        return true;
    }
    if (value == 0 && reader->is_in_key) {
        replace(reader, 6);
        return true;
    }
    if (kind == 'u' && value >= 0) {
        reader->at += 6;
        return true;
    }
    if (kind <= 0 || strchr("\"\\/bfnrt", kind) == NULL) {
        return fail(reader, "an escape that JSON does not have");
    }
    reader->at += 2;
    return true;
}

static bool pass_string(struct reader *reader)
{
    reader->at++;
    while (peek(reader, 0) != '"') {
        const int byte = peek(reader, 0);

        if (byte < 0) {
            return fail(reader, "a string that does not end");
        }
        if (byte < 0x20) {
            return fail(reader, "a control character in a string");
        }
        if (byte >= 0x80) {
            pass_utf8(reader);
        } else if (byte == '\\') {
            if (!pass_escape(reader)) {
                return false;
            }
        } else {
            reader->at++;
        }
    }
    reader->at++;
    return true;
}

/* --- Other values --- */

/* Passes at least one digit. */
static bool pass_digits(struct reader *reader)
{
    if (!is_digit(peek(reader, 0))) {
        return fail(reader, "a number without a digit that it needs");
    }
    while (is_digit(peek(reader, 0))) {
        reader->at++;
    }
    return true;
}

/* Whether the digits from @first up to the place may be more than 64 bits hold. */
static bool may_be_large(const struct reader *reader, size_t first)
{
    static const char largest[] = "9223372036854775807";
    const size_t digits = reader->at - first;

    return digits > sizeof largest - 1 ||
           (digits == sizeof largest - 1 &&
            memcmp(reader->text + first, largest, digits) > 0);
}

static bool pass_number(struct reader *reader)
{
    bool has_fraction = false;
    size_t first = 0;

    reader->at += peek(reader, 0) == '-';
    first = reader->at;
    if (peek(reader, 0) == '0' && is_digit(peek(reader, 1))) {
        return fail(reader, "a number that begins with 0");
    }
    if (!pass_digits(reader)) {
        return false;
    }
    has_fraction = peek(reader, 0) == '.';
    if (has_fraction) {
        reader->at++;
        if (!pass_digits(reader)) {
            return false;
        }
    }
    if ((peek(reader, 0) | 0x20) == 'e') {
        reader->at++;
        reader->at += peek(reader, 0) == '+' || peek(reader, 0) == '-';
        return pass_digits(reader);
    }
    if (!has_fraction && may_be_large(reader, first)) {
        insert(reader, ".0", 2);
    }
    return true;
}

static bool pass_word(struct reader *reader)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t bytes = strlen(words[i]);

        if (reader->count - reader->at >= bytes &&
            memcmp(reader->text + reader->at, words[i], bytes) == 0) {
            reader->at += bytes;
            return true;
        }
    }
    return fail(reader, peek(reader, 0) < 0 ? "it ends where a value is expected"
                                            : "a value is expected");
}

/* --- Containers --- */

static bool is_in_object(const struct reader *reader)
{
    const size_t top = reader->depth - 1;

    return (reader->is_object[top / 8] >> top % 8 & 1) != 0;
}

static bool open_container(struct reader *reader, bool is_object)
{
    const size_t top = reader->depth;

    if (top == CPTI_DOC_DEPTH_MAX) {
        return fail(reader, "containers that are nested too deep");
    }
    reader->is_object[top / 8] =
        (unsigned char)((reader->is_object[top / 8] & ~(1U << top % 8)) |
                        (unsigned)is_object << top % 8);
    reader->depth++;
    reader->at++;
    pass_blanks(reader);
    return true;
}

/* Passes a key and its colon. */
static bool pass_key(struct reader *reader)
{
    if (peek(reader, 0) != '"') {
        return fail(reader, "a key is expected");
    }
    reader->is_in_key = true;
    if (!pass_string(reader)) {
        return false;
    }
    reader->is_in_key = false;
    pass_blanks(reader);
    if (peek(reader, 0) != ':') {
        return fail(reader, "a ':' is expected");
    }
    reader->at++;
    pass_blanks(reader);
    return true;
}

/* Passes what stands behind a value, up to the next one. false: there is none, or a
 * fault. */
static bool pass_between(struct reader *reader)
{
    for (pass_blanks(reader); reader->depth > 0; pass_blanks(reader)) {
        const bool is_object = is_in_object(reader);

        if (peek(reader, 0) == ',') {
            reader->at++;
            pass_blanks(reader);
            return !is_object || pass_key(reader);
        }
        if (peek(reader, 0) != (is_object ? '}' : ']')) {
            return fail(reader, is_object ? "a ',' or '}' is expected"
                                          : "a ',' or ']' is expected");
        }
        reader->at++;
        reader->depth--;
    }
    return peek(reader, 0) < 0 ? false : fail(reader, "more behind the value");
}

/* Passes a value without containers, or the beginning of one up to its first value.
 * *@is_whole: it is done. */
static bool pass_value(struct reader *reader, bool *is_whole)
{
    const int byte = peek(reader, 0);

    *is_whole = true;
    if (byte == '{' || byte == '[') {
        if (!open_container(reader, byte == '{')) {
            return false;
        }
        if (peek(reader, 0) == (byte == '{' ? '}' : ']')) {
            reader->at++;
            reader->depth--;
            return true;
        }
        *is_whole = false;
        return byte == '[' || pass_key(reader);
    }
    if (byte == '"') {
        return pass_string(reader);
    }
    return byte == '-' || is_digit(byte) ? pass_number(reader) : pass_word(reader);
}

/* Reads the whole text. */
static void pass_text(struct reader *reader)
{
    bool is_whole = false;

    pass_blanks(reader);
    while (pass_value(reader, &is_whole)) {
        if (is_whole && !pass_between(reader)) {
            break;
        }
    }
}

bool cpti_json_fault_find(const char *text, size_t count, struct cpti_json_fault *fault)
{
    struct reader reader = {.text = text, .count = count};

    pass_text(&reader);
    *fault = (struct cpti_json_fault){reader.at, reader.what, reader.replaced,
                                      reader.changed};
    return reader.what != NULL;
}

static cpt_status refuse(const struct cpti_json_fault *fault, struct cpt_error *error)
{
    return cpt_error_set(error, CPT_CORRUPT, fault->at, "not JSON: %s", fault->what);
}

cpt_status cpti_json_refused(cpt_status status, struct cpt_error *error)
{
    switch (status) {
    case CPT_OK:
        return CPT_OK;
    case CPT_LIMIT:
        return cpt_error_set(error, status, 0, "too much JSON");
    case CPT_NO_MEMORY:
        return cpt_error_set(error, status, 0, "out of memory");
    default:
        return refuse(
            &(struct cpti_json_fault){0, "a number or a key that does not fit", 0, 0},
            error);
    }
}

cpt_status cpti_json_mend(const char *text, size_t count,
                          struct cpti_json_mended *mended, struct cpt_error *error)
{
    struct reader reader = {.text = text, .count = count};
    struct cpti_json_fault fault;

    if (cpti_json_fault_find(text, count, &fault)) {
        return refuse(&fault, error);
    }
    if (fault.changed == 0) {
        return cpti_json_refused(CPT_CORRUPT, error);
    }
    if (fault.changed <= (SIZE_MAX - CPTI_DOC_PADDING - count) / MORE_BYTES) {
        reader.mended = cpt_alloc_zeroed(cpt_alloc_default(),
                                         count + (size_t)fault.changed * MORE_BYTES +
                                             CPTI_DOC_PADDING);
    }
    if (reader.mended == NULL) {
        return cpti_json_refused(CPT_NO_MEMORY, error);
    }
    pass_text(&reader);
    copy_passed(&reader);
    *mended =
        (struct cpti_json_mended){reader.mended, reader.mended_bytes, reader.replaced};
    return CPT_OK;
}

void cpti_json_mended_free(struct cpti_json_mended *mended)
{
    cpt_alloc_free(cpt_alloc_default(), mended->text);
}
