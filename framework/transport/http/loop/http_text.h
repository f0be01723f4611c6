/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_text.h - text that grows: the head of a message that is sent */
#ifndef CPT_HTTP_TEXT_H
#define CPT_HTTP_TEXT_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpti_http_text {
    const struct cpt_alloc *alloc;
    char *data;
    size_t bytes;
    size_t capacity;
    bool is_bad; /* memory ran out: what it holds is not whole */
};

/* A text that keeps nothing, but counts its bytes, without memory. */
#define CPTI_HTTP_TEXT_COUNTED ((struct cpti_http_text){.is_bad = true})

/* Empties it; keeps its memory unless that is large. */
void cpti_http_text_reset(struct cpti_http_text *text);
void cpti_http_text_deinit(struct cpti_http_text *text);

/* @bytes more at its end, for the caller to write; NULL without memory. */
char *cpti_http_text_room(struct cpti_http_text *text, size_t bytes);

void cpti_http_text_put(struct cpti_http_text *text, struct cpt_bytes bytes);
void cpti_http_text_number(struct cpti_http_text *text, uint64_t number);

#define CPTI_HTTP_TEXT_PUT(text, literal)                                              \
    cpti_http_text_put(text, (struct cpt_bytes){literal, sizeof(literal) - 1})

/* "name: value\r\n", unless @value is empty or has a byte that no value may have (a
 * line end would begin another header). */
void cpti_http_text_header(struct cpti_http_text *text, const char *name,
                           struct cpt_bytes value);

/* The same with a value that is known to be good. */
void cpti_http_text_line(struct cpti_http_text *text, struct cpt_bytes name,
                         struct cpt_bytes value);

/* The header of a path, in base64. */
void cpti_http_text_path(struct cpti_http_text *text, struct cpt_bytes metadata);

/* Whether a header may have @value: visible characters, blanks, bytes beyond ASCII. */
bool cpti_http_is_value(struct cpt_bytes value);

/* A copy of @bytes with a NUL after it, or NULL without memory. */
char *cpti_http_text_copy(struct cpt_bytes bytes, const struct cpt_alloc *alloc);

#endif
