/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_list.h - spans for tests, from a line a span, and sections as text
 *
 *      "a - 0 100 A: /"             id, parent or -, start, end, service: operation
 *      "b a 10 60 B: get client"    and of which side it is
 *      "c a ? ? C: put"             without a time
 *      "c a 20 ? C: put"            without an end; "? +5": a duration alone
 *      "c a ? 25 C: put"            its end alone
 *      "d a 10 20 D: log async"
 *      "d a 10 20 D: log failed"
 *      "e a 10 20 A: x waits=2"     it tells its waits; "wait=b" or "wait=": it is one
 *      "f a 20 30 A: x after=e"     it began when e ended
 *      "g b 20 30 B: x host=h"      by the clock of h
 *      "h b 20 30 B: x process=7"   by that of a process that names no host
 */
#ifndef SPAN_LIST_H
#define SPAN_LIST_H

#include "import/spans/spans.h"

#include <stdbool.h>

enum { SPAN_TEXT_BYTES = 4096 };

/* Adds the spans of @lines, which ends with NULL and outlives @spans. */
void span_list_add(struct cpti_spans *spans, const char *const *lines);

/* Adds the span of @line; what cpti_spans_add() said. */
cpt_status span_list_try(struct cpti_spans *spans, const char *line);

/* The sections as "a 0-10, b 10-60, a 60-100". */
void span_list_sections(const struct cpti_spans *spans, char text[SPAN_TEXT_BYTES]);

/* Resolves @lines and walks: writes the sections to @text. */
struct cpti_spans_report span_list_walk(const char *const *lines,
                                        enum cpti_span_mode mode,
                                        char text[SPAN_TEXT_BYTES]);

/* Whether @make makes a path, over @alloc, of @lines that have been walked. */
bool span_list_makes(const struct cpt_alloc *alloc, const char *const *lines,
                     cpt_status (*make)(struct cpti_spans *, struct cpt_path *));

#endif
