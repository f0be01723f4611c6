/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* scan.c - where the values of a text of JSON end; see scan.h */
#include "import/bytes/scan.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* --- Strings --- */

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
struct brackets {
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
static bool pass_last(struct brackets *text, uint64_t opens, uint64_t closes)
{
    size_t depth = text->depth;

    for (uint64_t left = opens | closes; left != 0; left &= left - 1) {
        depth += (opens & left & (~left + 1)) != 0 ? 1 : SIZE_MAX;
        if (depth == 0) {
            text->at += (size_t)__builtin_ctzll(left) + 1;
            text->depth = 0;
            text->is_in_string = false;
            return true;
        }
    }
    return false;
}

/* Passes blocks in which nothing is escaped, up to the end of the brackets. */
static void pass_blocks(struct brackets *text)
{
    while (text->end - text->at >= BLOCK_BYTES) {
        const struct block block = block_of(text->at);
        const uint64_t strings =
            parity(block.quotes) ^ (text->is_in_string ? UINT64_MAX : 0);
        const uint64_t opens = block.opens & ~strings;
        const uint64_t closes = block.closes & ~strings;
        const size_t close_count = count_bits(closes);

        if (block.escapes != 0 ||
            (close_count >= text->depth && pass_last(text, opens, closes))) {
            return;
        }
        text->depth += count_bits(opens) - close_count;
        text->is_in_string = strings >> 63 != 0;
        text->at += BLOCK_BYTES;
    }
}
#else
enum { BLOCK_BYTES = 64 };

static void pass_blocks(struct brackets *text)
{
    (void)text;
}
#endif

static bool is_mark(char byte)
{
    const unsigned char mark = mark_of[(unsigned char)byte];

    return mark != MARK_NONE && mark != MARK_BETWEEN;
}

/* Passes up to the next mark outside of strings and behind it, or to the end of a
 * string. */
static void pass_mark(struct brackets *text)
{
    if (text->is_in_string) {
        text->at = pass_string(text->at, text->end, &text->is_in_string);
        text->is_short = text->is_in_string;
        return;
    }
    while (text->at < text->end && !is_mark(*text->at)) {
        text->at++;
    }
    if (text->at < text->end) {
        const unsigned char mark = mark_of[(unsigned char)*text->at++];

        text->is_in_string = mark == MARK_QUOTE;
        text->depth += mark == MARK_OPEN;
        text->depth -= mark == MARK_CLOSE;
    }
}

/* --- Values --- */

/* Passes what is within brackets, as far as there is text. true: they have ended. */
static bool pass_brackets(struct cpti_scan *scan)
{
    struct cpti_window *window = &scan->window;
    struct brackets text = {.at = window->buffer + window->at,
                            .end = window->buffer + window->end,
                            .depth = scan->depth,
                            .is_in_string = scan->is_in_string};

    while (text.at < text.end && text.depth > 0 && !text.is_short) {
        const char *block_end = NULL;

        pass_blocks(&text);
        block_end = text.end - text.at > BLOCK_BYTES ? text.at + BLOCK_BYTES : text.end;
        while (text.at < block_end && text.depth > 0 && !text.is_short) {
            pass_mark(&text);
        }
    }
    window->at = (size_t)(text.at - window->buffer);
    scan->depth = text.depth;
    scan->is_in_string = text.is_in_string;
    return text.depth == 0;
}

/* Passes a string that is a value by itself. */
static bool pass_lone_string(struct cpti_scan *scan)
{
    const char *at =
        pass_string(scan->window.buffer + scan->window.at,
                    scan->window.buffer + scan->window.end, &scan->is_in_string);

    scan->window.at = (size_t)(at - scan->window.buffer);
    return !scan->is_in_string;
}

/*
 * Passes the value at `at`, or goes on with it, as far as there is text. true: it has
 * ended, and `at` is behind it.
 */
static bool pass(struct cpti_scan *scan)
{
    struct cpti_window *window = &scan->window;

    while (window->at < window->end) {
        char byte = 0;

        if (scan->depth > 0) {
            return pass_brackets(scan);
        }
        if (scan->is_in_string) {
            return pass_lone_string(scan);
        }
        byte = window->buffer[window->at];
        switch (mark_of[(unsigned char)byte]) {
        case MARK_QUOTE:
            scan->is_in_string = true;
            break;
        case MARK_OPEN:
            scan->depth++;
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

cpt_status cpti_scan_value(struct cpti_scan *scan)
{
    cpt_status status = CPT_OK;

    while (!pass(scan)) {
        if (scan->depth == 0 && !scan->is_in_string &&
            scan->window.at - scan->window.start > CPTI_SCAN_WORD_BYTES_MAX) {
            return CPT_CORRUPT;
        }
        if (scan->window.is_dropped) {
            cpti_window_forget(&scan->window, scan->window.at);
        }
        status = cpti_window_fill(&scan->window);
        if (status != CPT_OK) {
            return status == CPT_END ? CPT_TRUNCATED : status;
        }
    }
    return CPT_OK;
}

cpt_status cpti_scan_look(struct cpti_scan *scan, char *byte)
{
    for (;;) {
        cpt_status status = CPT_OK;

        if (scan->window.at == scan->window.end) {
            status = cpti_window_fill(&scan->window);
            if (status != CPT_OK) {
                return status;
            }
            continue;
        }
        *byte = scan->window.buffer[scan->window.at];
        if (mark_of[(unsigned char)*byte] != MARK_BETWEEN) {
            return CPT_OK;
        }
        scan->window.at++;
    }
}
