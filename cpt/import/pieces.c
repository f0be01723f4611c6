/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pieces.c - a file of any length, cut into pieces that are parsed one by one
 *
 * JSON is cut here, messages in frames.c. A piece that grows too long is passed over
 * without being kept.
 */
#include "cpt/import/pieces.h"

#include "cpt/import/frames.h"
#include "cpt/import/json.h"

#include <stdbool.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    DEFAULT_BYTES_MAX = 256 << 20,
    WORD_BYTES_MAX = 1 << 20 /* of a value that is no string and has no brackets */
};

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
    struct cpti_window window;
    enum cpti_framing framing; /* once `place` is not AT_FIRST */
    enum place place;
    /* of the value that is being passed */
    size_t depth;
    bool is_in_string;
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
        cpti_window_init(&pieces->window, alloc, read, context,
                         bytes_max != 0 ? bytes_max : DEFAULT_BYTES_MAX);
    }
    return pieces;
}

void cpti_pieces_free(struct cpti_pieces *pieces)
{
    if (pieces != NULL) {
        const struct cpt_alloc *alloc = pieces->window.alloc;

        cpti_window_deinit(&pieces->window);
        cpt_alloc_free(alloc, pieces);
    }
}

/* --- Values --- */

/* Bytes of which each is @byte. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (unsigned char)(byte))

/* The high bit of the first byte of @word that is @byte, and perhaps of later ones. */
static inline uint64_t find_byte(uint64_t word, char byte)
{
    const uint64_t other = word ^ EACH(byte);

    return (other - EACH(1)) & ~other & EACH(0x80);
}

/* The first quote or backslash of a string; @end if there is none. Eight bytes at a
 * time, as most of JSON is strings. */
static const char *find_mark(const char *at, const char *end)
{
    uint64_t word = 0;

    while ((size_t)(end - at) >= sizeof word) {
        uint64_t found = 0;

        memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        found = find_byte(word, '"') | find_byte(word, '\\');
        if (found != 0) {
            return at + __builtin_ctzll(found) / 8;
        }
        at += sizeof word;
    }
    while (at < end && *at != '"' && *at != '\\') {
        at++;
    }
    return at;
}

/* Passes the rest of a string, behind its opening quote, as far as there is text; where
 * it ends or the text does. */
static const char *pass_string(const char *at, const char *end, bool *is_in_string)
{
    for (;;) {
        at = find_mark(at, end);
        if (at == end) {
            return at;
        }
        if (*at == '"') {
            *is_in_string = false;
            return at + 1;
        }
        if (end - at < 2) {
            return at; /* what is escaped has not come yet */
        }
        at += 2;
    }
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/* What a byte outside of strings is. */
enum mark { MARK_NONE = 0, MARK_QUOTE, MARK_OPEN, MARK_CLOSE, MARK_BETWEEN };

/* Between values there are blanks, commas, and a byte order mark at the beginning. */
static const unsigned char mark_of[256] = {
    ['"'] = MARK_QUOTE,    ['{'] = MARK_OPEN,     ['['] = MARK_OPEN,
    ['}'] = MARK_CLOSE,    [']'] = MARK_CLOSE,    [' '] = MARK_BETWEEN,
    ['\n'] = MARK_BETWEEN, ['\r'] = MARK_BETWEEN, ['\t'] = MARK_BETWEEN,
    [','] = MARK_BETWEEN,  [0xef] = MARK_BETWEEN, [0xbb] = MARK_BETWEEN,
    [0xbf] = MARK_BETWEEN};

/* The reading of text within brackets. */
struct scan {
    const char *at;
    const char *end;
    size_t depth;
    bool is_in_string;
    bool is_short; /* what is at `at` has not come as a whole */
};

#ifdef __SSE2__
enum { BLOCK_BYTES = 64 };

/* Where the marks of a block are: bit i is byte i. */
struct block {
    uint64_t quotes;
    uint64_t escapes;
    uint64_t opens;
    uint64_t closes;
};

static inline uint64_t equal_bits(__m128i bytes, char byte)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte)));
}

static inline struct block block_of(const char *at)
{
    struct block block = {0};

    for (unsigned i = 0; i < BLOCK_BYTES; i += sizeof(__m128i)) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        /* '[' and '{' differ in this bit alone, and so do ']' and '}' */
        const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));

        block.quotes |= equal_bits(bytes, '"') << i;
        block.escapes |= equal_bits(bytes, '\\') << i;
        block.opens |= equal_bits(folded, '{') << i;
        block.closes |= equal_bits(folded, '}') << i;
    }
    return block;
}

/* Bit i is the sum of the bits up to it, modulo 2: from a quote on, up to the next. */
static inline uint64_t parity(uint64_t bits)
{
    for (unsigned shift = 1; shift < 64; shift *= 2) {
        bits ^= bits << shift;
    }
    return bits;
}

/* Not the compiler's, which is a call where a processor might lack the instruction. */
static inline size_t count_bits(uint64_t bits)
{
    bits -= bits >> 1 & EACH(0x55);
    bits = (bits & EACH(0x33)) + (bits >> 2 & EACH(0x33));
    bits = (bits + (bits >> 4)) & EACH(0x0f);
    return (size_t)((bits * EACH(1)) >> 56);
}

/* Passes brackets of a block one by one, up to the one that ends them all. true: there
 * is one, and `at` is behind it. */
static bool pass_last(struct scan *scan, uint64_t opens, uint64_t closes)
{
    size_t depth = scan->depth;

    for (uint64_t left = opens | closes; left != 0; left &= left - 1) {
        depth += (opens & left & (~left + 1)) != 0 ? 1 : SIZE_MAX;
        if (depth == 0) {
            scan->at += (size_t)__builtin_ctzll(left) + 1;
            scan->depth = 0;
            scan->is_in_string = false;
            return true;
        }
    }
    return false;
}

/* Passes blocks in which nothing is escaped, up to the end of the brackets. */
static void pass_blocks(struct scan *scan)
{
    while (scan->end - scan->at >= BLOCK_BYTES) {
        const struct block block = block_of(scan->at);
        const uint64_t strings =
            parity(block.quotes) ^ (scan->is_in_string ? UINT64_MAX : 0);
        const uint64_t opens = block.opens & ~strings;
        const uint64_t closes = block.closes & ~strings;
        const size_t close_count = count_bits(closes);

        if (block.escapes != 0 ||
            (close_count >= scan->depth && pass_last(scan, opens, closes))) {
            return;
        }
        scan->depth += count_bits(opens) - close_count;
        scan->is_in_string = strings >> 63 != 0;
        scan->at += BLOCK_BYTES;
    }
}
#else
enum { BLOCK_BYTES = 64 };

static void pass_blocks(struct scan *scan)
{
    (void)scan;
}
#endif

static bool is_mark(char byte)
{
    const unsigned char mark = mark_of[(unsigned char)byte];

    return mark != MARK_NONE && mark != MARK_BETWEEN;
}

/* Passes up to the next mark outside of strings and behind it, or to the end of a
 * string. */
static void pass_mark(struct scan *scan)
{
    if (scan->is_in_string) {
        scan->at = pass_string(scan->at, scan->end, &scan->is_in_string);
        scan->is_short = scan->is_in_string;
        return;
    }
    while (scan->at < scan->end && !is_mark(*scan->at)) {
        scan->at++;
    }
    if (scan->at < scan->end) {
        const unsigned char mark = mark_of[(unsigned char)*scan->at++];

        scan->is_in_string = mark == MARK_QUOTE;
        scan->depth += mark == MARK_OPEN;
        scan->depth -= mark == MARK_CLOSE;
    }
}

/* Passes what is within brackets, as far as there is text. true: they have ended. */
static bool pass_brackets(struct cpti_pieces *pieces)
{
    struct cpti_window *window = &pieces->window;
    struct scan scan = {.at = window->buffer + window->at,
                        .end = window->buffer + window->end,
                        .depth = pieces->depth,
                        .is_in_string = pieces->is_in_string};

    while (scan.at < scan.end && scan.depth > 0 && !scan.is_short) {
        const char *block_end = NULL;

        pass_blocks(&scan);
        block_end = scan.end - scan.at > BLOCK_BYTES ? scan.at + BLOCK_BYTES : scan.end;
        while (scan.at < block_end && scan.depth > 0 && !scan.is_short) {
            pass_mark(&scan);
        }
    }
    window->at = (size_t)(scan.at - window->buffer);
    pieces->depth = scan.depth;
    pieces->is_in_string = scan.is_in_string;
    return scan.depth == 0;
}

/* Passes a string that is a value by itself. */
static bool pass_lone_string(struct cpti_pieces *pieces)
{
    const char *at =
        pass_string(pieces->window.buffer + pieces->window.at,
                    pieces->window.buffer + pieces->window.end, &pieces->is_in_string);

    pieces->window.at = (size_t)(at - pieces->window.buffer);
    return !pieces->is_in_string;
}

/*
 * Passes the value at `at`, or goes on with it, as far as there is text. true: it has
 * ended, and `at` is behind it.
 */
static bool pass(struct cpti_pieces *pieces)
{
    struct cpti_window *window = &pieces->window;

    while (window->at < window->end) {
        char byte = 0;

        if (pieces->depth > 0) {
            return pass_brackets(pieces);
        }
        if (pieces->is_in_string) {
            return pass_lone_string(pieces);
        }
        byte = window->buffer[window->at];
        switch (mark_of[(unsigned char)byte]) {
        case MARK_QUOTE:
            pieces->is_in_string = true;
            break;
        case MARK_OPEN:
            pieces->depth++;
            break;
        case MARK_CLOSE:
            return true; /* behind a number, say; not of the value */
        default:
            if (byte == ',' || is_blank(byte)) {
                return true;
            }
        }
        window->at++;
    }
    return false;
}

/* Passes a whole value, reading more as needed. CPT_CORRUPT: a word without an end. */
static cpt_status pass_whole(struct cpti_pieces *pieces)
{
    cpt_status status = CPT_OK;

    while (!pass(pieces)) {
        if (pieces->depth == 0 && !pieces->is_in_string &&
            pieces->window.at - pieces->window.start > WORD_BYTES_MAX) {
            return CPT_CORRUPT;
        }
        if (pieces->window.is_dropped) {
            cpti_window_forget(&pieces->window, pieces->window.at);
        }
        status = cpti_window_fill(&pieces->window);
        if (status != CPT_OK) {
            return status == CPT_END ? CPT_TRUNCATED : status;
        }
    }
    return CPT_OK;
}

/* Passes blanks, commas and a byte order mark to the next byte, *@byte. */
static cpt_status look(struct cpti_pieces *pieces, char *byte)
{
    for (;;) {
        cpt_status status = CPT_OK;

        if (pieces->window.at == pieces->window.end) {
            status = cpti_window_fill(&pieces->window);
            if (status != CPT_OK) {
                return status;
            }
            continue;
        }
        *byte = pieces->window.buffer[pieces->window.at];
        if (mark_of[(unsigned char)*byte] != MARK_BETWEEN) {
            return CPT_OK;
        }
        pieces->window.at++;
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
    from = pieces->window.at - pieces->window.start;
    status = pass_whole(pieces);
    if (status != CPT_OK || pieces->window.is_dropped) {
        return status;
    }
    to = pieces->window.at - pieces->window.start;
    status = look(pieces, &byte);
    if (status != CPT_OK || byte != ':') {
        return status;
    }
    pieces->window.at++;
    *key =
        key_of(pieces->window.buffer + pieces->window.start + from + 1, to - from - 2);
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
    pieces->window.at++;
    while (status == CPT_OK && key == KEY_BESIDE && !pieces->window.is_dropped) {
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
        pieces->window.at++;
        *is_answer = true;
    } else if (!pieces->window.is_dropped) {
        pieces->window.at = pieces->window.start;
    }
    return CPT_OK;
}

/* --- Pieces --- */

/* Takes the value at `at`. */
static cpt_status take(struct cpti_pieces *pieces, struct cpt_bytes *piece,
                       struct cpt_error *error)
{
    const uint64_t offset = pieces->window.start_offset;
    const cpt_status status = pass_whole(pieces);

    if (status == CPT_TRUNCATED) {
        pieces->place = AT_THE_END;
        return cpt_error_set(error, status, offset, "the text ends within a value");
    }
    if (status == CPT_CORRUPT &&
        pieces->window.at - pieces->window.start > WORD_BYTES_MAX) {
        pieces->place = AT_THE_END;
        return cpt_error_set(error, status, offset,
                             "not JSON: a word of more than %d bytes; the rest is not "
                             "read",
                             WORD_BYTES_MAX);
    }
    if (status == CPT_OK && pieces->window.is_dropped) {
        return cpt_error_set(error, CPT_LIMIT, offset, "longer than %zu bytes",
                             pieces->window.bytes_max);
    }
    *piece = (struct cpt_bytes){pieces->window.buffer + pieces->window.start,
                                pieces->window.at - pieces->window.start};
    return status;
}

static cpt_status give_up(struct cpti_pieces *pieces, struct cpt_error *error)
{
    pieces->place = AT_THE_END;
    return cpt_error_set(error, CPT_CORRUPT,
                         pieces->window.start_offset + pieces->window.at -
                             pieces->window.start,
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
        pieces->window.at++;
        pieces->place = IN_ARRAY;
    } else if (pieces->place == AT_TOP && byte == '{') {
        status = enter_answer(pieces, is_piece);
        pieces->place = *is_piece ? IN_ANSWER : AT_TOP;
        *is_piece = !*is_piece;
        if (status == CPT_TRUNCATED ||
            (status == CPT_OK && pieces->window.is_dropped)) {
            pieces->place = AT_THE_END;
            return cpt_error_set(error, CPT_TRUNCATED, pieces->window.start_offset,
                                 "the text ends within a value");
        }
    } else if (pieces->place != AT_TOP && byte == ']') {
        pieces->window.at++;
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
    pieces->window.is_dropped = true;
    status = pass_whole(pieces);
    pieces->depth = 0;
    pieces->is_in_string = false;
    pieces->place = status == CPT_OK ? AT_TOP : AT_THE_END;
    return status == CPT_TRUNCATED
               ? cpt_error_set(error, status, pieces->window.start_offset,
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
        pieces->window.is_dropped = false;
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
        cpti_window_forget(&pieces->window, pieces->window.at);
        if (status == CPT_END && pieces->place != AT_TOP) {
            pieces->place = AT_THE_END;
            return cpt_error_set(error, CPT_TRUNCATED, pieces->window.start_offset,
                                 "the text ends within an array");
        }
        if (status == CPT_OK) {
            status = pass_bracket(pieces, byte, &is_piece, error);
        }
    }
    *offset = pieces->window.start_offset;
    return status == CPT_OK ? take(pieces, piece, error) : status;
}

/* --- Files --- */

/* Looks at the first bytes of the file: what it is. */
static cpt_status look_first(struct cpti_pieces *pieces)
{
    struct cpti_window *window = &pieces->window;
    cpt_status status = cpti_window_need(window, CPTI_FRAMES_HEAD_BYTES);

    if (status != CPT_OK && status != CPT_END) {
        return status;
    }
    pieces->framing = cpti_frames_recognise(window->buffer + window->start,
                                            window->end - window->start);
    pieces->place = AT_TOP;
    return CPT_OK;
}

bool cpti_pieces_are_messages(const struct cpti_pieces *pieces)
{
    return pieces->framing != CPTI_FRAMING_NONE;
}

static cpt_status next_message(struct cpti_pieces *pieces, struct cpt_bytes *piece,
                               uint64_t *offset, struct cpt_error *error)
{
    cpt_status status = CPT_END;

    if (pieces->place == AT_TOP) {
        status = cpti_frames_next(&pieces->window, pieces->framing, piece, error);
        *offset = pieces->window.start_offset;
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
    return cpti_pieces_are_messages(pieces) ? next_message(pieces, piece, offset, error)
                                            : next_text(pieces, piece, offset, error);
}
