/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * json_text.h - JSON that is written into memory, up to a limit
 *
 * Commas follow from the order of the calls. What does not fit any more is left out and
 * noted, so a writer checks at its end, or goes back to a mark before what did not fit.
 *
 * Threads: one at a time.
 */
#ifndef CPT_JSON_TEXT_H
#define CPT_JSON_TEXT_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpti_json_text {
    const struct cpt_alloc *alloc;
    char *data;
    size_t bytes;
    size_t capacity;
    size_t bytes_max;
    bool needs_comma;
    bool is_full; /* the limit was reached, or there was no memory */
};

/* A place in a text to which it can be cut back. */
struct cpti_json_mark {
    size_t bytes;
    bool needs_comma;
};

void cpti_json_text_init(struct cpti_json_text *text, const struct cpt_alloc *alloc,
                         size_t bytes_max);
void cpti_json_text_deinit(struct cpti_json_text *text);

/* Begins an object ('{') or an array ('['), as the member @key of an object; NULL: of
 * an array, or the outermost one. */
void cpti_json_text_open(struct cpti_json_text *text, const char *key, char bracket);
void cpti_json_text_close(struct cpti_json_text *text, char bracket);

/* One member; @key as above. Bytes that are not UTF-8 become '?'. */
void cpti_json_text_string(struct cpti_json_text *text, const char *key,
                           struct cpt_bytes value);
void cpti_json_text_number(struct cpti_json_text *text, const char *key,
                           uint64_t value);
void cpti_json_text_flag(struct cpti_json_text *text, const char *key, bool value);

/* The end of the document: of its last line. */
void cpti_json_text_end(struct cpti_json_text *text);

static inline struct cpti_json_mark
cpti_json_text_mark(const struct cpti_json_text *text)
{
    return (struct cpti_json_mark){text->bytes, text->needs_comma};
}

/* Takes back what was written since @mark. */
static inline void cpti_json_text_cut(struct cpti_json_text *text,
                                      struct cpti_json_mark mark)
{
    text->bytes = mark.bytes;
    text->needs_comma = mark.needs_comma;
    text->is_full = false;
}

#endif
