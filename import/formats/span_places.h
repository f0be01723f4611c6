/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_places.h - where in the text of a piece of JSON each span has its attributes
 *
 * A parser does not tell where a value was in the text. So the text is passed once
 * more, and only the way to the spans is followed: it is known to be JSON, and how deep
 * the spans are, so nothing recurses. Keys that are written with escapes are not found.
 *
 * Threads: any; there is no state.
 */
#ifndef CPTI_SPAN_PLACES_H
#define CPTI_SPAN_PLACES_H

#include "import/formats/formats.h"

#define CPTI_PATH_ATTRIBUTE "cpt.path_ns"

/* What is written at a place. */
enum cpti_place_form {
    CPTI_PLACE_NONE = 0, /* nothing: it is no span, or has something else there */
    CPTI_PLACE_VALUE,    /* the value alone, for the one that is there */
    CPTI_PLACE_ONLY,     /* the attribute, into an empty list */
    CPTI_PLACE_FIRST,    /* the attribute and a comma, before those of a list */
    CPTI_PLACE_LIST,     /* a list with it, for null */
    CPTI_PLACE_MEMBER    /* the list as the first member of the span, and a comma */
};

/* Who writes attributes so. */
enum cpti_place_family { CPTI_PLACE_JAEGER, CPTI_PLACE_ZIPKIN, CPTI_PLACE_OTLP };

struct cpti_place {
    uint64_t offset; /* in the piece */
    uint32_t cut_bytes;
    enum cpti_place_form form;
    enum cpti_place_family family;
};

/* Hands the place of each span of @piece, of @kind, to @take, in the order in which
 * cpti_formats_read() hands on the spans, those that it refuses, too; at most
 * @count_max. How many there are. */
uint64_t cpti_span_places(struct cpt_bytes piece, enum cpti_piece kind,
                          uint64_t count_max,
                          void (*take)(void *context, struct cpti_place place),
                          void *context);

#endif
