/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pieces.c - JSON text of any length, cut into pieces that are parsed one by one
 *
 *      buffer   [ used | piece ......... | not looked at ... | free ]
 *               0      start             at                  end    capacity
 *
 * When the text that is looked at ends, the piece moves to the front, or the buffer
 * grows, and more is read. A piece that grows too long is passed over without being
 * kept.
 */
#include "cpt/import/pieces.h"
#include "cpt/import/json.h"

#include <stdbool.h>
#include <string.h>

enum { FIRST_BYTES = 64 << 10, DEFAULT_BYTES_MAX = 256 << 20 };

/* Where the text between two pieces is. */
enum place {
    AT_TOP,      /* between documents */
    IN_ARRAY,    /* between elements */
    IN_ANSWER,   /* between elements of the "data" of an answer */
    BEHIND_DATA, /* of an answer */
    AT_THE_END   /* nothing more can be read */
};

struct cpti_pieces {
    const struct cpt_alloc *alloc;
    cpti_read_fn read;
    void *context;
    size_t bytes_max;
    char *buffer;
    size_t capacity; /* without the padding */
    size_t start;
    size_t at;
    size_t end;
    uint64_t start_offset; /* of `start` in the text */
    enum place place;
    bool has_read_all;
    /* of the value that is being passed */
    size_t depth;
    bool is_in_string;
    bool is_dropped; /* it is too long */
};

struct cpti_pieces *cpti_pieces_new(const struct cpt_alloc *alloc, cpti_read_fn read,
                                    void *context, size_t bytes_max)
{
    struct cpti_pieces *pieces = NULL;

    if (alloc == NULL) {
        alloc = cpt_alloc_default();
    }
    pieces = cpt_alloc_zeroed(alloc, sizeof *pieces);
    if (pieces != NULL) {
        pieces->alloc = alloc;
        pieces->read = read;
        pieces->context = context;
        pieces->bytes_max = bytes_max != 0 ? bytes_max : DEFAULT_BYTES_MAX;
    }
    return pieces;
}

void cpti_pieces_free(struct cpti_pieces *pieces)
{
    if (pieces != NULL) {
        cpt_alloc_free(pieces->alloc, pieces->buffer);
        cpt_alloc_free(pieces->alloc, pieces);
    }
}

/* --- The buffer --- */

/* What is before `start` is not needed any more. */
static void forget(struct cpti_pieces *pieces, size_t start)
{
    pieces->start_offset += start - pieces->start;
    pieces->start = start;
}

static cpt_status grow(struct cpti_pieces *pieces)
{
    size_t capacity = pieces->capacity != 0 ? 2 * pieces->capacity : FIRST_BYTES;
    char *grown = NULL;

    if (capacity > pieces->bytes_max) {
        capacity = pieces->bytes_max;
    }
    grown =
        cpt_alloc_array(pieces->alloc, pieces->buffer, capacity + CPTI_DOC_PADDING, 1);
    if (grown == NULL) {
        return CPT_NO_MEMORY;
    }
    memset(grown + pieces->end, 0, capacity + CPTI_DOC_PADDING - pieces->end);
    pieces->buffer = grown;
    pieces->capacity = capacity;
    return CPT_OK;
}

/* Reads more behind what there is. CPT_END: there is no more. */
static cpt_status fill(struct cpti_pieces *pieces)
{
    cpt_status status = CPT_OK;
    size_t bytes = 0;

    if (pieces->has_read_all) {
        return CPT_END;
    }
    if (pieces->start > 0 && pieces->end == pieces->capacity) {
        memmove(pieces->buffer, pieces->buffer + pieces->start,
                pieces->end - pieces->start);
        pieces->at -= pieces->start;
        pieces->end -= pieces->start;
        pieces->start = 0;
    } else if (pieces->end == pieces->capacity) {
        if (pieces->capacity >= pieces->bytes_max) {
            pieces->is_dropped = true;
            forget(pieces, pieces->at);
            return fill(pieces);
        }
        status = grow(pieces);
        if (status != CPT_OK) {
            return status;
        }
    }
    status = pieces->read(pieces->context, pieces->buffer + pieces->end,
                          pieces->capacity - pieces->end, &bytes);
    pieces->end += bytes;
    pieces->has_read_all = status == CPT_OK && bytes == 0;
    return pieces->has_read_all ? CPT_END : status;
}

/* --- Values --- */

/* Passes the rest of a string, behind its opening quote, as far as there is text. */
static void pass_string(struct cpti_pieces *pieces)
{
    while (pieces->at < pieces->end) {
        const char *text = pieces->buffer + pieces->at;
        const size_t left = pieces->end - pieces->at;
        const char *quote = memchr(text, '"', left);
        const char *escape =
            memchr(text, '\\', quote != NULL ? (size_t)(quote - text) : left);

        if (escape != NULL) {
            if (escape + 1 == text + left) {
                pieces->at += (size_t)(escape - text);
                return; /* what is escaped has not come yet */
            }
            pieces->at += (size_t)(escape - text) + 2;
        } else if (quote != NULL) {
            pieces->at += (size_t)(quote - text) + 1;
            pieces->is_in_string = false;
            return;
        } else {
            pieces->at = pieces->end;
        }
    }
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/*
 * Passes the value at `at`, or goes on with it, as far as there is text. true: it has
 * ended, and `at` is behind it.
 */
static bool pass(struct cpti_pieces *pieces)
{
    while (pieces->at < pieces->end) {
        if (pieces->is_in_string) {
            pass_string(pieces);
            if (pieces->is_in_string) {
                return false;
            }
            if (pieces->depth == 0) {
                return true;
            }
            continue;
        }
        switch (pieces->buffer[pieces->at]) {
        case '"':
            pieces->is_in_string = true;
            break;
        case '{':
        case '[':
            pieces->depth++;
            break;
        case '}':
        case ']':
            if (pieces->depth == 0) {
                return true; /* behind a number, say; not of the value */
            }
            if (--pieces->depth == 0) {
                pieces->at++;
                return true;
            }
            break;
        case ',':
            if (pieces->depth == 0) {
                return true;
            }
            break;
        default:
            if (pieces->depth == 0 && is_blank(pieces->buffer[pieces->at])) {
                return true;
            }
        }
        pieces->at++;
    }
    return false;
}

/* Passes a whole value, reading more as needed. */
static cpt_status pass_whole(struct cpti_pieces *pieces)
{
    cpt_status status = CPT_OK;

    while (!pass(pieces)) {
        if (pieces->is_dropped) {
            forget(pieces, pieces->at);
        }
        status = fill(pieces);
        if (status != CPT_OK) {
            return status == CPT_END ? CPT_TRUNCATED : status;
        }
    }
    return CPT_OK;
}

/* Passes blanks, commas and a byte order mark to the next byte, *@byte. */
static cpt_status look(struct cpti_pieces *pieces, char *byte)
{
    static const char mark[] = "\xef\xbb\xbf";

    for (;;) {
        cpt_status status = CPT_OK;

        if (pieces->at == pieces->end) {
            status = fill(pieces);
            if (status != CPT_OK) {
                return status;
            }
            continue;
        }
        *byte = pieces->buffer[pieces->at];
        if (!is_blank(*byte) && *byte != ',' && memchr(mark, *byte, 3) == NULL) {
            return CPT_OK;
        }
        pieces->at++;
    }
}

/* --- Answers --- */

/* A member's key: of the traces, of what an answer has beside them, or of a document
 * that is no answer. */
enum key { KEY_DATA, KEY_BESIDE, KEY_OTHER };

static enum key key_of(const char *text, size_t bytes)
{
    static const char *const beside[] = {"total", "limit", "offset", "errors"};

    if (bytes == 4 && memcmp(text, "data", 4) == 0) {
        return KEY_DATA;
    }
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        if (strlen(beside[i]) == bytes && memcmp(text, beside[i], bytes) == 0) {
            return KEY_BESIDE;
        }
    }
    return KEY_OTHER;
}

/* Passes the key of the next member and its colon. */
static cpt_status pass_key(struct cpti_pieces *pieces, enum key *key)
{
    size_t from = 0; /* its opening quote, from `start` */
    size_t to = 0;
    char byte = 0;
    cpt_status status = look(pieces, &byte);

    *key = KEY_OTHER;
    if (status != CPT_OK || byte != '"') {
        return status;
    }
    from = pieces->at - pieces->start;
    status = pass_whole(pieces);
    if (status != CPT_OK || pieces->is_dropped) {
        return status;
    }
    to = pieces->at - pieces->start;
    status = look(pieces, &byte);
    if (status != CPT_OK || byte != ':') {
        return status;
    }
    pieces->at++;
    *key = key_of(pieces->buffer + pieces->start + from + 1, to - from - 2);
    return CPT_OK;
}

/*
 * The document at `at` begins with '{'. If it is an answer, goes into its data;
 * otherwise goes back to its beginning. *@is_answer: which.
 */
static cpt_status enter_answer(struct cpti_pieces *pieces, bool *is_answer)
{
    enum key key = KEY_BESIDE;
    cpt_status status = CPT_OK;
    char byte = 0;

    *is_answer = false;
    pieces->at++;
    while (status == CPT_OK && key == KEY_BESIDE && !pieces->is_dropped) {
        status = pass_key(pieces, &key);
        if (status == CPT_OK && key != KEY_OTHER) {
            status = look(pieces, &byte);
        }
        if (status == CPT_OK && key == KEY_BESIDE) {
            status = pass_whole(pieces);
        }
    }
    if (status != CPT_OK) {
        return status == CPT_END ? CPT_TRUNCATED : status;
    }
    if (key == KEY_DATA && byte == '[') {
        pieces->at++;
        *is_answer = true;
    } else if (!pieces->is_dropped) {
        pieces->at = pieces->start;
    }
    return CPT_OK;
}

/* --- Pieces --- */

/* Takes the value at `at`. */
static cpt_status take(struct cpti_pieces *pieces, struct cpt_bytes *piece,
                       struct cpt_error *error)
{
    const uint64_t offset = pieces->start_offset;
    const cpt_status status = pass_whole(pieces);

    if (status == CPT_TRUNCATED) {
        pieces->place = AT_THE_END;
        return cpt_error_set(error, status, offset, "the text ends within a value");
    }
    if (status == CPT_OK && pieces->is_dropped) {
        return cpt_error_set(error, CPT_LIMIT, offset, "longer than %zu bytes",
                             pieces->bytes_max);
    }
    *piece =
        (struct cpt_bytes){pieces->buffer + pieces->start, pieces->at - pieces->start};
    return status;
}

static cpt_status give_up(struct cpti_pieces *pieces, struct cpt_error *error)
{
    pieces->place = AT_THE_END;
    return cpt_error_set(error, CPT_CORRUPT,
                         pieces->start_offset + pieces->at - pieces->start,
                         "brackets that do not match; the rest is not read");
}

/* Passes the bracket at `at`, if there is one between pieces; *@is_piece: there is
 * none. */
static cpt_status pass_bracket(struct cpti_pieces *pieces, char byte, bool *is_piece,
                               struct cpt_error *error)
{
    const bool is_close = byte == ']' || byte == '}';
    cpt_status status = CPT_OK;

    *is_piece = false;
    if (pieces->place == AT_TOP && byte == '[') {
        pieces->at++;
        pieces->place = IN_ARRAY;
    } else if (pieces->place == AT_TOP && byte == '{') {
        status = enter_answer(pieces, is_piece);
        pieces->place = *is_piece ? IN_ANSWER : AT_TOP;
        *is_piece = !*is_piece;
        if (status == CPT_TRUNCATED || (status == CPT_OK && pieces->is_dropped)) {
            pieces->place = AT_THE_END;
            return cpt_error_set(error, CPT_TRUNCATED, pieces->start_offset,
                                 "the text ends within a value");
        }
    } else if (pieces->place != AT_TOP && byte == ']') {
        pieces->at++;
        pieces->place = pieces->place == IN_ARRAY ? AT_TOP : BEHIND_DATA;
    } else if (is_close) {
        return give_up(pieces, error);
    } else {
        *is_piece = true;
    }
    return status;
}

/* Passes what follows the data of an answer. */
static cpt_status leave_answer(struct cpti_pieces *pieces, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    pieces->depth = 1;
    pieces->is_dropped = true;
    status = pass_whole(pieces);
    pieces->depth = 0;
    pieces->is_in_string = false;
    pieces->place = status == CPT_OK ? AT_TOP : AT_THE_END;
    return status == CPT_TRUNCATED ? cpt_error_set(error, status, pieces->start_offset,
                                                   "the text ends within a value")
                                   : status;
}

cpt_status cpti_pieces_next(struct cpti_pieces *pieces, struct cpt_bytes *piece,
                            uint64_t *offset, struct cpt_error *error)
{
    bool is_piece = false;
    cpt_status status = CPT_OK;
    char byte = 0;

    while (status == CPT_OK && !is_piece) {
        pieces->is_dropped = false;
        pieces->depth = 0;
        pieces->is_in_string = false;
        if (pieces->place == AT_THE_END) {
            return CPT_END;
        }
        if (pieces->place == BEHIND_DATA) {
            status = leave_answer(pieces, error);
            continue;
        }
        status = look(pieces, &byte);
        forget(pieces, pieces->at);
        if (status == CPT_END && pieces->place != AT_TOP) {
            pieces->place = AT_THE_END;
            return cpt_error_set(error, CPT_TRUNCATED, pieces->start_offset,
                                 "the text ends within an array");
        }
        if (status == CPT_OK) {
            status = pass_bracket(pieces, byte, &is_piece, error);
        }
    }
    *offset = pieces->start_offset;
    return status == CPT_OK ? take(pieces, piece, error) : status;
}
