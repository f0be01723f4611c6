/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_kinds.c - what recurs in a line; see event_kinds.h */
#include "import/lines/event_kinds.h"

#include "cpt/base/text.h"
#include "cpt/base/utf8.h"

#include <string.h>

enum { HEX_MIN = 8 };

/* A name that is being written. */
struct kind {
    char *room;
    size_t bytes;
};

static bool put(struct kind *kind, char c)
{
    if (kind->bytes == CPTI_KIND_BYTES_MAX) {
        return false;
    }
    kind->room[kind->bytes++] = c;
    return true;
}

static bool put_all(struct kind *kind, struct cpt_bytes text)
{
    const size_t left = CPTI_KIND_BYTES_MAX - kind->bytes;
    const size_t bytes = text.bytes < left ? text.bytes : left;

    memcpy(kind->room + kind->bytes, text.data, bytes);
    kind->bytes += bytes;
    return bytes == text.bytes;
}

/* The kind as bytes, without a character that was cut in two, and blanks behind it. */
static struct cpt_bytes end(const struct kind *kind)
{
    size_t bytes = 0;
    size_t of_next = 1;

    while (bytes < kind->bytes && of_next > 0) {
        of_next = cpti_utf8_bytes(kind->room + bytes, kind->bytes - bytes);
        bytes += of_next;
    }
    while (bytes > 0 && kind->room[bytes - 1] == ' ') {
        bytes--;
    }
    return (struct cpt_bytes){kind->room, bytes};
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.' || (unsigned char)c >= 0x80U;
}

/* Whether a word is a number, or an id as likely as not. */
static bool differs(struct cpt_bytes word)
{
    size_t hex_count = 0;

    for (size_t i = 0; i < word.bytes; i++) {
        const char c = word.data[i];

        if (c >= '0' && c <= '9') {
            return true;
        }
        hex_count += (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '-';
    }
    return word.bytes >= HEX_MIN && hex_count == word.bytes;
}

/* The word at the front of @text; its full stop at the end is not in it. */
static struct cpt_bytes word_of(struct cpt_bytes text)
{
    struct cpt_bytes word = {text.data, 0};

    while (word.bytes < text.bytes && is_word(text.data[word.bytes])) {
        word.bytes++;
    }
    while (word.bytes > 1 && word.data[word.bytes - 1] == '.') {
        word.bytes--;
    }
    return word;
}

static char closing(char c)
{
    return c == '"'    ? '"'
           : c == '\'' ? '\''
           : c == '('  ? ')'
           : c == '['  ? ']'
           : c == '{'  ? '}'
           : c == '<'  ? '>'
                       : '\0';
}

/* Bytes up to what closes @text's first one, and with it; all, if nothing does. */
static size_t enclosed(struct cpt_bytes text)
{
    const char opens = text.data[0];
    const char closes = closing(opens);
    size_t depth = 0;

    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] == closes && (i > 0 && (opens == closes || depth == 1))) {
            return i + 1;
        }
        depth += text.data[i] == opens;
        depth -= text.data[i] == closes && depth > 0 && opens != closes;
    }
    return text.bytes;
}

/* The bytes of the value behind '='. */
static size_t value_bytes(struct cpt_bytes text)
{
    size_t i = 0;

    if (text.bytes > 0 && closing(text.data[0]) != '\0') {
        return enclosed(text);
    }
    while (i < text.bytes && text.data[i] != ' ' && text.data[i] != ',' &&
           text.data[i] != ';') {
        i++;
    }
    return i;
}

/* Adds @text without what differs each time. */
static void put_kind(struct kind *kind, struct cpt_bytes text)
{
    bool has_room = true;

    while (text.bytes > 0 && has_room) {
        const char c = text.data[0];
        const struct cpt_bytes word = word_of(text);
        size_t bytes = 1;

        if (word.bytes > 0) {
            bytes = word.bytes;
            has_room = differs(word) ? put(kind, '*') : put_all(kind, word);
        } else if (c == '=' && text.bytes > 1 && text.data[1] != ' ') {
            bytes = 1 + value_bytes((struct cpt_bytes){text.data + 1, text.bytes - 1});
            has_room = put(kind, '=') && put(kind, '*');
        } else if (closing(c) != '\0') {
            bytes = enclosed(text);
            has_room = put(kind, '*');
        } else if ((unsigned char)c <= ' ') {
            has_room = kind->bytes == 0 || kind->room[kind->bytes - 1] == ' ' ||
                       put(kind, ' '); /* several blanks are one */
        } else {
            has_room = put(kind, c);
        }
        text.data += bytes;
        text.bytes -= bytes;
    }
}

struct cpt_bytes cpti_kind_of_text(struct cpt_bytes text,
                                   char room[CPTI_KIND_BYTES_MAX])
{
    struct kind kind = {room, 0};

    put_kind(&kind, text);
    return end(&kind);
}

struct cpt_bytes cpti_kind_of_url(struct cpt_bytes method, struct cpt_bytes url,
                                  char room[CPTI_KIND_BYTES_MAX])
{
    struct kind kind = {room, 0};

    if (method.bytes == 0 || (put_all(&kind, method) && put(&kind, ' '))) {
        put_kind(&kind, cpti_text_take(&url, '?'));
    }
    return end(&kind);
}
