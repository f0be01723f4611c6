/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * profile_strings.h - strings of any length, each stored once and known by a number
 *
 * Numbers are 0, 1, 2 … in the order of adding, as in a profile's string table. (The
 * names of cpt_name.h have at most 255 bytes; escaped frames and comments may be
 * longer.) A struct that is zero except for its allocator is an empty set.
 *
 * Threads: one at a time.
 */
#ifndef PROFILE_STRINGS_H
#define PROFILE_STRINGS_H

#include "cpt/cpt_name.h"
#include "cpt/base/hash_index.h"

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

/* Sets *@number to that of the @bytes at @data, and adds them if they are new. CPT_OK;
 * CPT_NO_MEMORY; CPT_LIMIT at 2^26 strings or for one of 2^31 bytes. */
cpt_status cpti_strings_add(struct cpti_strings *strings, const void *data,
                            size_t bytes, uint32_t *number);

/* String @number; no NUL follows. */
struct cpt_bytes cpti_strings_at(const struct cpti_strings *strings, uint32_t number);

/*
 * Writes the @bytes at @data to @text as a line of text: invalid UTF-8 becomes U+FFFD,
 * control characters become spaces. Returns the number of bytes written. @text must
 * have room for 3 times @bytes.
 */
size_t cpti_text_clean(const char *data, size_t bytes, char *text);

#endif
