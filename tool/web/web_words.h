/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_words.h - the words of a language of selections: keys, their values, frames
 *
 *      keys      region (4812)      arm (4812)            page (4000)
 *      values    eu (3000) us …     control treatment     home search …
 *      frames    A: A1 (4812)       B: Lookup (12) …
 *
 * with how many requests had each. Words come from outside, so each list has a limit
 * of words and of bytes; what is beyond is left out.
 *
 * Threads: one while it is filled; then any.
 */
#ifndef CPTI_CLI_WEB_WORDS_H
#define CPTI_CLI_WEB_WORDS_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stddef.h>

/* Limits. A longer word is left out. */
enum {
    CPTI_WEB_WORD_BYTES_MAX = 512,
    CPTI_WEB_KEYS_MAX = 256,
    CPTI_WEB_VALUES_MAX = 1000, /* of one key */
    CPTI_WEB_FRAMES_MAX = 20000
};

struct cpti_web_words;

struct cpti_web_word {
    const char *text; /* ends with NUL; may hold none */
    size_t bytes;
    uint64_t count;
    bool is_text; /* not a number or a truth value */
};

/* An empty list of at most @count_max words with at most @bytes_max, or NULL without
 * memory. */
struct cpti_web_words *cpti_web_words_new(size_t count_max, size_t bytes_max);
void cpti_web_words_free(struct cpti_web_words *words);

/* Counts @text once for each @stamp, which is not 0 and never gets smaller. Its index,
 * or SIZE_MAX if it is left out. */
size_t cpti_web_words_add(struct cpti_web_words *words, struct cpt_bytes text,
                          bool is_text, uint64_t stamp);

/* The index of @text, or SIZE_MAX. */
size_t cpti_web_words_find(const struct cpti_web_words *words, struct cpt_bytes text);

size_t cpti_web_words_count(const struct cpti_web_words *words);
struct cpti_web_word cpti_web_words_at(const struct cpti_web_words *words,
                                       size_t index);

/* All words of a set of requests. */
struct cpti_web_vocabulary {
    struct cpti_web_words *keys;
    struct cpti_web_words *values[CPTI_WEB_KEYS_MAX]; /* by the index of the key */
    struct cpti_web_words *frames;
};

/* False without memory; deinit it in any case. */
bool cpti_web_vocabulary_init(struct cpti_web_vocabulary *vocabulary);
void cpti_web_vocabulary_deinit(struct cpti_web_vocabulary *vocabulary);

/* Counts that request number @stamp has @value at @key. */
void cpti_web_vocabulary_note(struct cpti_web_vocabulary *vocabulary,
                              struct cpt_bytes key, struct cpt_bytes value,
                              bool is_text, uint64_t stamp);

#endif
