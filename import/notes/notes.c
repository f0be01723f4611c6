/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* notes.c - what spans of our own framework say beside their times; see notes.h */
#include "import/notes/notes.h"

#include <stddef.h>
#include <string.h>

/* Sums of a few of them do not overflow. */
#define NUMBER_MAX (UINT64_C(1) << 60)

static bool is(struct cpt_bytes text, const char *word)
{
    return cpt_bytes_equal(text, cpt_bytes_of(word)) != 0;
}

/* What is before the next @mark, or all; @text goes on behind it. */
static struct cpt_bytes cut(struct cpt_bytes *text, char mark)
{
    const char *at = text->bytes > 0 ? memchr(text->data, mark, text->bytes) : NULL;
    const struct cpt_bytes part = {text->data, at != NULL ? (size_t)(at - text->data)
                                                          : text->bytes};
    const size_t used = at != NULL ? part.bytes + 1 : part.bytes;

    *text = (struct cpt_bytes){text->data + used, text->bytes - used};
    return part;
}

static enum cpti_note_kind kind_of(struct cpt_bytes word)
{
    static const char *const words[] = {[CPTI_NOTE_REQUEST] = "request",
                                        [CPTI_NOTE_TASK] = "task",
                                        [CPTI_NOTE_WAIT] = "wait",
                                        [CPTI_NOTE_CALL] = "call",
                                        [CPTI_NOTE_ANSWER] = "answer"};

    for (unsigned i = CPTI_NOTE_REQUEST; i <= CPTI_NOTE_ANSWER; i++) {
        if (is(word, words[i])) {
            return (enum cpti_note_kind)i;
        }
    }
    return CPTI_NOTE_NONE;
}

static bool read_number(struct cpt_bytes text, uint64_t most, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        const unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';

        if (digit > 9 || *number > (most - digit) / 10) {
            return false;
        }
        *number = 10 * *number + digit;
    }
    return text.bytes > 0;
}

static int hex_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

cpt_status cpti_note_decode(struct cpt_bytes text, struct cpt_arena *arena,
                            struct cpt_bytes *decoded)
{
    char *data = NULL;

    *decoded = text;
    if (text.bytes == 0 || memchr(text.data, '%', text.bytes) == NULL) {
        return CPT_OK;
    }
    data = cpt_arena_take(arena, text.bytes);
    if (data == NULL) {
        return CPT_NO_MEMORY;
    }
    *decoded = (struct cpt_bytes){data, 0};
    for (size_t i = 0; i < text.bytes; i++) {
        const bool is_escaped = text.data[i] == '%';
        const bool is_whole = is_escaped && text.bytes - i >= 3;
        const int high = is_whole ? hex_of(text.data[i + 1]) : -1;
        const int low = is_whole ? hex_of(text.data[i + 2]) : -1;

        if (!is_escaped) {
            data[decoded->bytes++] = text.data[i];
            continue;
        }
        if (high < 0 || low < 0) {
            return CPT_CORRUPT;
        }
        data[decoded->bytes++] = (char)((unsigned)high << 4 | (unsigned)low);
        i += 2;
    }
    return CPT_OK;
}

/* Times are such that they can be added; ids are any. */
static uint64_t most_of(struct cpt_bytes key)
{
    return is(key, "holder_trace") || is(key, "culprit_trace") ? CPTI_NOTE_UNSET - 1
                                                               : NUMBER_MAX;
}

static cpt_status read_member(struct cpti_note *note, struct cpt_bytes key,
                              struct cpt_bytes value, struct cpt_arena *arena)
{
#define NUMBER_(name)                                                                  \
    if (is(key, #name)) {                                                              \
        return read_number(value, most_of(key), &note->number.name) ? CPT_OK           \
                                                                    : CPT_CORRUPT;     \
    }
    CPTI_NOTE_NUMBERS(NUMBER_)
#undef NUMBER_
#define TEXT_(name)                                                                    \
    if (is(key, #name)) {                                                              \
        return is(key, "group") ? (note->text.name##_ = value, CPT_OK)                 \
                                : cpti_note_decode(value, arena, &note->text.name##_); \
    }
    CPTI_NOTE_TEXTS(TEXT_)
#undef TEXT_
    return CPT_OK;
}

cpt_status cpti_note_read(struct cpt_bytes text, struct cpt_arena *arena,
                          struct cpti_note *note)
{
    cpt_status status = CPT_OK;

    memset(note, 0, sizeof *note);
    memset(&note->number, 0xff, sizeof note->number); /* CPTI_NOTE_UNSET */
    if (text.bytes == 0) {
        return CPT_OK;
    }
    note->kind = kind_of(cut(&text, ' '));
    while (text.bytes > 0 && note->kind != CPTI_NOTE_NONE && status == CPT_OK) {
        struct cpt_bytes member = cut(&text, ' ');
        const struct cpt_bytes key = cut(&member, '=');

        status = read_member(note, key, member, arena);
    }
    if (status == CPT_CORRUPT) {
        note->kind = CPTI_NOTE_NONE;
        status = CPT_OK;
    }
    return status;
}
