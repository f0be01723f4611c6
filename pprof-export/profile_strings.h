/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * profile_strings.h - strings of any length, each kept once and known by a number
 *
 * Numbers are 0, 1, 2 … in the order of coming, as in a profile's string table. (The
 * names of cpt_name.h end at 255 bytes; escaped frames and comments may be longer.)
 * A struct of zeros (all bytes) but for the allocator is an empty set.
 *
 * Threads: one at a time.
 */
#ifndef PROFILE_STRINGS_H
#define PROFILE_STRINGS_H

#include "cpt/hash_index.h"

enum { CPTI_STRINGS_MAX = 1 << 26 };

struct cpti_string {
    size_t offset; /* in text */
    uint32_t bytes;
    uint32_t hash;
};

struct cpti_strings {
    const struct cpt_alloc *alloc;
    struct cpti_string *entries;
    size_t count;
    size_t capacity;
    char *text;
    size_t text_bytes;
    size_t text_capacity;
    struct cpti_hash_index index;
};

void cpti_strings_deinit(struct cpti_strings *strings);

/* The number of the @bytes at @data, which are added if new. CPT_OK; CPT_NO_MEMORY;
 * CPT_LIMIT at 2^26 strings or for one of 2^31 bytes. */
cpt_status cpti_strings_add(struct cpti_strings *strings, const void *data,
                            size_t bytes, uint32_t *number);

/* String @number; its bytes, which no NUL follows. */
const char *cpti_strings_at(const struct cpti_strings *strings, uint32_t number,
                            size_t *bytes);

/*
 * Makes a line of text of @bytes at @data in place of @text: bytes that are no UTF-8
 * become U+FFFD, control characters become spaces. Returns the bytes written, at most 3
 * for each byte read, for which there has to be room.
 */
size_t cpti_text_clean(const char *data, size_t bytes, char *text);

#endif
