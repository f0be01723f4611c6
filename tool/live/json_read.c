/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* json_read.c - JSON from a service that may be hostile; see json_read.h */
#include "tool/live/json_read.h"

#include "cpt/base/utf8.h"

#include <string.h>

struct reader {
    const char *text;
    size_t bytes;
    size_t at;
    struct cpt_arena *arena;
    struct cpti_json_value *open; /* the innermost array or object */
    unsigned depth;
    cpt_status status;
};

static bool fail(struct reader *reader, cpt_status status)
{
    if (reader->status == CPT_OK) {
        reader->status = status;
    }
    return false;
}

static bool fail_to_take(struct reader *reader, size_t bytes)
{
    return fail(reader,
                cpt_arena_is_full(reader->arena, bytes) ? CPT_LIMIT : CPT_NO_MEMORY);
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->bytes && strchr(" \t\r\n", reader->text[reader->at]) &&
           reader->text[reader->at] != '\0') {
        reader->at++;
    }
}

/* The next character that is no blank; '\0' at the end. */
static char peek(struct reader *reader)
{
    skip_blanks(reader);
    return reader->at < reader->bytes ? reader->text[reader->at] : '\0';
}

/* Takes @mark, or fails. */
static bool take(struct reader *reader, char mark)
{
    if (peek(reader) != mark) {
        return fail(reader, CPT_CORRUPT);
    }
    reader->at++;
    return true;
}

/* --- Strings --- */

static bool take_hex(struct reader *reader, unsigned *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        const char c = reader->at < reader->bytes ? reader->text[reader->at] : '\0';
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                               : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                      : 16;

        if (digit == 16) {
            return fail(reader, CPT_CORRUPT);
        }
        *unit = *unit * 16 + digit;
        reader->at++;
    }
    return true;
}

/* A character as UTF-8; the bytes. */
static size_t put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* What follows "\u"; half of a pair alone becomes '?'. */
static bool take_unicode(struct reader *reader, char *to, size_t *used)
{
    unsigned unit = 0;
    unsigned low = 0;

    if (!take_hex(reader, &unit)) {
        return false;
    }
    if (unit >= 0xd800 && unit < 0xdc00 && reader->bytes - reader->at >= 6 &&
        reader->text[reader->at] == '\\' && reader->text[reader->at + 1] == 'u') {
        reader->at += 2;
        if (!take_hex(reader, &low)) {
            return false;
        }
        unit = low >= 0xdc00 && low < 0xe000
                   ? 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
                   : '?';
    } else if (unit >= 0xd800 && unit < 0xe000) {
        unit = '?';
    }
    *used += put_utf8(to + *used, unit);
    return true;
}

/* What follows a backslash. */
static bool take_escape(struct reader *reader, char *to, size_t *used)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char letter = reader->at < reader->bytes ? reader->text[reader->at] : '\0';
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;

    reader->at++;
    if (letter == 'u') {
        return take_unicode(reader, to, used);
    }
    if (found == NULL) {
        return fail(reader, CPT_CORRUPT);
    }
    to[(*used)++] = meanings[found - letters];
    return true;
}

/* The end of the string that begins at reader->at, at its quote; 0: there is none. */
static size_t end_of_string(const struct reader *reader)
{
    size_t end = reader->at;

    while (end < reader->bytes && reader->text[end] != '"') {
        end += reader->text[end] == '\\' ? 2 : 1;
    }
    return end < reader->bytes ? end : 0;
}

static bool take_string(struct reader *reader, struct cpt_bytes *string)
{
    size_t end = 0;
    size_t used = 0;
    char *to = NULL;

    if (!take(reader, '"')) {
        return false;
    }
    end = end_of_string(reader);
    if (end == 0) {
        return fail(reader, CPT_CORRUPT);
    }
    /* No escape is longer decoded; one character may come behind a cut pair. */
    to = cpt_arena_take(reader->arena, end - reader->at + 1);
    if (to == NULL) {
        return fail_to_take(reader, end - reader->at + 1);
    }
    while (reader->at < end) {
        const char c = reader->text[reader->at];
        const size_t bytes =
            cpti_utf8_bytes(reader->text + reader->at, end - reader->at);

        if ((unsigned char)c < ' ') {
            return fail(reader, CPT_CORRUPT);
        }
        if (c == '\\') {
            reader->at++;
            if (!take_escape(reader, to, &used)) {
                return false;
            }
            continue;
        }
        if (bytes == 0) {
            return fail(reader, CPT_CORRUPT);
        }
        memcpy(to + used, reader->text + reader->at, bytes);
        used += bytes;
        reader->at += bytes;
    }
    reader->at = end + 1;
    *string = (struct cpt_bytes){to, used};
    return true;
}

/* --- Values --- */

/* A number; only whole ones have a value. */
static bool take_number(struct reader *reader, struct cpti_json_value *value)
{
    const size_t begin = reader->at;
    bool is_whole = true;

    for (; reader->at < reader->bytes; reader->at++) {
        const char c = reader->text[reader->at];
        const unsigned digit = (unsigned)(c - '0');

        if (c >= '0' && c <= '9') {
            value->number = value->number > (UINT64_MAX - digit) / 10
                                ? UINT64_MAX
                                : value->number * 10 + digit;
        } else if (c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E') {
            is_whole = false;
        } else {
            break;
        }
    }
    value->type = CPTI_JSON_NUMBER;
    if (!is_whole) {
        value->number = 0;
    }
    return reader->at != begin || fail(reader, CPT_CORRUPT);
}

static bool take_word(struct reader *reader, struct cpti_json_value *value)
{
    static const struct {
        const char *word;
        enum cpti_json_type type;
        unsigned number;
    } words[] = {{"true", CPTI_JSON_BOOL, 1},
                 {"false", CPTI_JSON_BOOL, 0},
                 {"null", CPTI_JSON_NULL, 0}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t bytes = strlen(words[i].word);

        if (reader->bytes - reader->at >= bytes &&
            memcmp(reader->text + reader->at, words[i].word, bytes) == 0) {
            value->type = words[i].type;
            value->number = words[i].number;
            reader->at += bytes;
            return true;
        }
    }
    return fail(reader, CPT_CORRUPT);
}

/* Adds @value to the innermost array or object. */
static void append(struct reader *reader, struct cpti_json_value *value)
{
    struct cpti_json_value *parent = reader->open;

    value->parent = parent;
    if (parent != NULL) {
        *(parent->last != NULL ? &parent->last->next : &parent->first) = value;
        parent->last = value;
    }
}

/* Begins the next value, with its key; what it contains follows. */
static struct cpti_json_value *begin_value(struct reader *reader)
{
    struct cpti_json_value *value = cpt_arena_take(reader->arena, sizeof *value);
    char c = '\0';

    if (value == NULL) {
        (void)fail_to_take(reader, sizeof *value);
        return NULL;
    }
    if (reader->open != NULL && reader->open->type == CPTI_JSON_OBJECT &&
        (!take_string(reader, &value->key) || !take(reader, ':'))) {
        return NULL;
    }
    append(reader, value);
    c = peek(reader);
    if (c == '{' || c == '[') {
        if (++reader->depth > CPTI_JSON_READ_DEPTH_MAX) {
            (void)fail(reader, CPT_LIMIT);
            return NULL;
        }
        reader->at++;
        value->type = c == '{' ? CPTI_JSON_OBJECT : CPTI_JSON_ARRAY;
        reader->open = value;
    } else if (c == '"') {
        value->type = CPTI_JSON_STRING;
        return take_string(reader, &value->text) ? value : NULL;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        return take_number(reader, value) ? value : NULL;
    } else {
        return take_word(reader, value) ? value : NULL;
    }
    return value;
}

/* Closes what ends here. false: more values follow, or it has failed. */
static bool close_values(struct reader *reader)
{
    while (reader->open != NULL) {
        const char mark = reader->open->type == CPTI_JSON_OBJECT ? '}' : ']';
        const char c = peek(reader);

        if (c == mark) {
            reader->at++;
            reader->depth--;
            reader->open = reader->open->parent;
        } else if (reader->open->first == NULL) {
            return false;
        } else {
            (void)take(reader, ',');
            return false;
        }
    }
    return true;
}

struct cpti_json_value *cpti_json_read(struct cpt_bytes text, struct cpt_arena *arena,
                                       struct cpt_error *error)
{
    struct reader reader = {.text = text.data, .bytes = text.bytes, .arena = arena};
    struct cpti_json_value *root = begin_value(&reader);

    while (reader.status == CPT_OK && !close_values(&reader)) {
        if (reader.status == CPT_OK) {
            (void)begin_value(&reader);
        }
    }
    if (reader.status == CPT_OK && peek(&reader) != '\0') {
        reader.status = CPT_CORRUPT;
    }
    if (reader.status == CPT_OK && reader.at != reader.bytes) {
        reader.status = CPT_CORRUPT;
    }
    if (reader.status != CPT_OK) {
        (void)cpt_error_set(error, reader.status, reader.at, "%s at byte %zu",
                            reader.status == CPT_LIMIT       ? "too much JSON"
                            : reader.status == CPT_NO_MEMORY ? "no memory for JSON"
                                                             : "no JSON",
                            reader.at < reader.bytes ? reader.at : reader.bytes);
        return NULL;
    }
    return root;
}

/* --- Members --- */

const struct cpti_json_value *cpti_json_member(const struct cpti_json_value *object,
                                               const char *key)
{
    const struct cpti_json_value *member = NULL;

    if (object == NULL || object->type != CPTI_JSON_OBJECT) {
        return NULL;
    }
    member = object->first;
    while (member != NULL && !cpt_bytes_equal(member->key, cpt_bytes_of(key))) {
        member = member->next;
    }
    return member;
}

uint64_t cpti_json_number(const struct cpti_json_value *object, const char *key)
{
    const struct cpti_json_value *member = cpti_json_member(object, key);

    return member != NULL &&
                   (member->type == CPTI_JSON_NUMBER || member->type == CPTI_JSON_BOOL)
               ? member->number
               : 0;
}

struct cpt_bytes cpti_json_string(const struct cpti_json_value *object, const char *key)
{
    const struct cpti_json_value *member = cpti_json_member(object, key);

    return member != NULL && member->type == CPTI_JSON_STRING ? member->text
                                                              : cpt_bytes_of("");
}

bool cpti_json_is(const struct cpti_json_value *object, const char *key,
                  const char *text)
{
    return cpt_bytes_equal(cpti_json_string(object, key), cpt_bytes_of(text));
}
