/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pieces.c - a file of any length, cut into pieces that are parsed one by one
 *
 * JSON is cut here, messages in frames.c. A piece that grows too long is passed over
 * without being kept.
 */
#include "import/bytes/pieces.h"

#include "import/bytes/frames.h"
#include "import/bytes/lines.h"
#include "import/bytes/scan.h"

#include <stdbool.h>
#include <string.h>

enum { DEFAULT_BYTES_MAX = 256 << 20 };

/* Where the text between two pieces is. */
enum place {
    AT_FIRST,    /* nothing is read yet */
    AT_TOP,      /* between documents */
    IN_ARRAY,    /* between elements */
    IN_ANSWER,   /* between elements of the "data" of an answer */
    BEHIND_DATA, /* of an answer */
    AT_THE_END   /* nothing more can be read */
};

struct cpti_pieces {
    struct cpti_scan scan;
    enum cpti_framing framing;  /* once `place` is not AT_FIRST */
    const struct cpti_way *way; /* of its lines; NULL: it is JSON, or messages */
    uint64_t line_number;       /* of the next line */
    enum place place;
};

struct cpti_pieces *cpti_pieces_new(const struct cpt_alloc *alloc, cpt_read_fn read,
                                    void *context, size_t bytes_max)
{
    struct cpti_pieces *pieces = NULL;

    if (alloc == NULL) {
        alloc = cpt_alloc_default();
    }
    pieces = cpt_alloc_zeroed(alloc, sizeof *pieces);
    if (pieces != NULL) {
        cpti_window_init(&pieces->scan.window, alloc, read, context,
                         bytes_max != 0 ? bytes_max : DEFAULT_BYTES_MAX);
    }
    return pieces;
}

void cpti_pieces_free(struct cpti_pieces *pieces)
{
    if (pieces != NULL) {
        const struct cpt_alloc *alloc = pieces->scan.window.alloc;

        cpti_window_deinit(&pieces->scan.window);
        cpt_alloc_free(alloc, pieces);
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
    cpt_status status = cpti_scan_look(&pieces->scan, &byte);

    *key = KEY_OTHER;
    if (status != CPT_OK || byte != '"') {
        return status;
    }
    from = pieces->scan.window.at - pieces->scan.window.start;
    status = cpti_scan_value(&pieces->scan);
    if (status != CPT_OK || pieces->scan.window.is_dropped) {
        return status;
    }
    to = pieces->scan.window.at - pieces->scan.window.start;
    status = cpti_scan_look(&pieces->scan, &byte);
    if (status != CPT_OK || byte != ':') {
        return status;
    }
    pieces->scan.window.at++;
    *key = key_of(pieces->scan.window.buffer + pieces->scan.window.start + from + 1,
                  to - from - 2);
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
    pieces->scan.window.at++;
    while (status == CPT_OK && key == KEY_BESIDE && !pieces->scan.window.is_dropped) {
        status = pass_key(pieces, &key);
        if (status == CPT_OK && key != KEY_OTHER) {
            status = cpti_scan_look(&pieces->scan, &byte);
        }
        if (status == CPT_OK && key == KEY_BESIDE) {
            status = cpti_scan_value(&pieces->scan);
        }
    }
    if (status != CPT_OK) {
        return status == CPT_END ? CPT_TRUNCATED : status;
    }
    if (key == KEY_DATA && byte == '[') {
        pieces->scan.window.at++;
        *is_answer = true;
    } else if (!pieces->scan.window.is_dropped) {
        pieces->scan.window.at = pieces->scan.window.start;
    }
    return CPT_OK;
}

/* --- Pieces --- */

/* Takes the value at `at`. */
static cpt_status take(struct cpti_pieces *pieces, struct cpt_bytes *piece,
                       struct cpt_error *error)
{
    const uint64_t offset = pieces->scan.window.start_offset;
    const cpt_status status = cpti_scan_value(&pieces->scan);

    if (status == CPT_TRUNCATED) {
        pieces->place = AT_THE_END;
        return cpt_error_set(error, status, offset, "the text ends within a value");
    }
    if (status == CPT_CORRUPT &&
        pieces->scan.window.at - pieces->scan.window.start > CPTI_SCAN_WORD_BYTES_MAX) {
        pieces->place = AT_THE_END;
        return cpt_error_set(error, status, offset,
                             "not JSON: a word of more than %d bytes; the rest is not "
                             "read",
                             CPTI_SCAN_WORD_BYTES_MAX);
    }
    if (status == CPT_OK && pieces->scan.window.is_dropped) {
        return cpt_error_set(error, CPT_LIMIT, offset, "longer than %zu bytes",
                             pieces->scan.window.bytes_max);
    }
    *piece = (struct cpt_bytes){pieces->scan.window.buffer + pieces->scan.window.start,
                                pieces->scan.window.at - pieces->scan.window.start};
    return status;
}

static cpt_status give_up(struct cpti_pieces *pieces, struct cpt_error *error)
{
    pieces->place = AT_THE_END;
    return cpt_error_set(error, CPT_CORRUPT,
                         pieces->scan.window.start_offset + pieces->scan.window.at -
                             pieces->scan.window.start,
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
        pieces->scan.window.at++;
        pieces->place = IN_ARRAY;
    } else if (pieces->place == AT_TOP && byte == '{') {
        status = enter_answer(pieces, is_piece);
        pieces->place = *is_piece ? IN_ANSWER : AT_TOP;
        *is_piece = !*is_piece;
        if (status == CPT_TRUNCATED ||
            (status == CPT_OK && pieces->scan.window.is_dropped)) {
            pieces->place = AT_THE_END;
            return cpt_error_set(error, CPT_TRUNCATED, pieces->scan.window.start_offset,
                                 "the text ends within a value");
        }
    } else if (pieces->place != AT_TOP && byte == ']') {
        pieces->scan.window.at++;
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

    pieces->scan.depth = 1;
    pieces->scan.window.is_dropped = true;
    status = cpti_scan_value(&pieces->scan);
    pieces->scan.depth = 0;
    pieces->scan.is_in_string = false;
    pieces->place = status == CPT_OK ? AT_TOP : AT_THE_END;
    return status == CPT_TRUNCATED
               ? cpt_error_set(error, status, pieces->scan.window.start_offset,
                               "the text ends within a value")
               : status;
}

static cpt_status next_text(struct cpti_pieces *pieces, struct cpt_bytes *piece,
                            uint64_t *offset, struct cpt_error *error)
{
    bool is_piece = false;
    cpt_status status = CPT_OK;
    char byte = 0;

    while (status == CPT_OK && !is_piece) {
        pieces->scan.window.is_dropped = false;
        pieces->scan.depth = 0;
        pieces->scan.is_in_string = false;
        if (pieces->place == AT_THE_END) {
            return CPT_END;
        }
        if (pieces->place == BEHIND_DATA) {
            status = leave_answer(pieces, error);
            continue;
        }
        status = cpti_scan_look(&pieces->scan, &byte);
        cpti_window_forget(&pieces->scan.window, pieces->scan.window.at);
        if (status == CPT_END && pieces->place != AT_TOP) {
            pieces->place = AT_THE_END;
            return cpt_error_set(error, CPT_TRUNCATED, pieces->scan.window.start_offset,
                                 "the text ends within an array");
        }
        if (status == CPT_OK) {
            status = pass_bracket(pieces, byte, &is_piece, error);
        }
    }
    *offset = pieces->scan.window.start_offset;
    return status == CPT_OK ? take(pieces, piece, error) : status;
}

/* --- Files --- */

/* Looks at the first bytes of the file: what it is. */
static cpt_status look_first(struct cpti_pieces *pieces)
{
    struct cpti_window *window = &pieces->scan.window;
    cpt_status status = cpti_window_need(window, CPTI_FRAMES_HEAD_BYTES);

    if (status != CPT_OK && status != CPT_END) {
        return status;
    }
    pieces->way =
        cpti_way_of(window->buffer + window->start, window->end - window->start);
    pieces->framing = pieces->way != NULL
                          ? CPTI_FRAMING_NONE
                          : cpti_frames_recognise(window->buffer + window->start,
                                                  window->end - window->start);
    pieces->place = AT_TOP;
    return CPT_OK;
}

bool cpti_pieces_are_messages(const struct cpti_pieces *pieces)
{
    return pieces->framing != CPTI_FRAMING_NONE;
}

const struct cpti_way *cpti_pieces_way(const struct cpti_pieces *pieces,
                                       uint64_t *line_number)
{
    *line_number = pieces->line_number - 1;
    return pieces->way;
}

static cpt_status next_line(struct cpti_pieces *pieces, struct cpt_bytes *piece,
                            uint64_t *offset, struct cpt_error *error)
{
    const cpt_status status = cpti_lines_next(&pieces->scan.window, piece, error);

    *offset = pieces->scan.window.start_offset;
    pieces->line_number++;
    return status;
}

static cpt_status next_message(struct cpti_pieces *pieces, struct cpt_bytes *piece,
                               uint64_t *offset, struct cpt_error *error)
{
    cpt_status status = CPT_END;

    if (pieces->place == AT_TOP) {
        status = cpti_frames_next(&pieces->scan.window, pieces->framing, piece, error);
        *offset = pieces->scan.window.start_offset;
    }
    if (status == CPT_TRUNCATED || status == CPT_CORRUPT) {
        pieces->place = AT_THE_END;
    }
    return status;
}

cpt_status cpti_pieces_next(struct cpti_pieces *pieces, struct cpt_bytes *piece,
                            uint64_t *offset, struct cpt_error *error)
{
    const cpt_status status = pieces->place == AT_FIRST ? look_first(pieces) : CPT_OK;

    if (status != CPT_OK) {
        return status;
    }
    if (pieces->way != NULL) {
        return next_line(pieces, piece, offset, error);
    }
    return cpti_pieces_are_messages(pieces) ? next_message(pieces, piece, offset, error)
                                            : next_text(pieces, piece, offset, error);
}
