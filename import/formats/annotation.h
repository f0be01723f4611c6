/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * annotation.h - a file of spans, again, with the path time of each span in it
 *
 *      {"spanID": "a1", "tags": [ {...}], ...}
 *                                '- {"key":"cpt.path_ns","type":"int64","value":70000},
 *
 * While the file is read, the place of each span's attribute is noted, which takes 24
 * bytes a span; then the time of the span, when its trace is walked. At the end the
 * file is read again and copied: what is between those places stays byte for byte. A
 * value that is there already is replaced, so that to annotate twice is to do it once.
 *
 * Only JSON: in protobuf the lengths of all that is around a span would change.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_ANNOTATION_H
#define CPTI_ANNOTATION_H

#include "import/formats/formats.h"
#include "import/bytes/window.h"

enum { CPTI_ANNOTATED_MAX = 1 << 26 /* spans of a file */ };

struct cpti_annotation;

/* NULL without memory. The caller owns it. */
struct cpti_annotation *cpti_annotation_new(const struct cpt_alloc *alloc);
void cpti_annotation_free(struct cpti_annotation *annotation);

/*
 * Notes where the attributes of the spans of @piece belong, which is JSON of @kind at
 * byte @offset of the text: the next @count of the file, @first and those after it. If
 * they cannot be told apart, none of them gets one.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT: more than CPTI_ANNOTATED_MAX.
 */
cpt_status cpti_annotation_find(struct cpti_annotation *annotation,
                                struct cpt_bytes piece, uint64_t offset,
                                enum cpti_piece kind, uint64_t first, uint64_t count);

/* Span @number of the file has @path_ns more on the critical path of its trace. */
void cpti_annotation_add(struct cpti_annotation *annotation, uint64_t number,
                         uint64_t path_ns);

/* Spans with time on a path for which there is no place. */
uint64_t cpti_annotation_missing(const struct cpti_annotation *annotation);

/*
 * Copies what @read gives, the file from its beginning, to @sink, uncompressed, with
 * the attributes.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_TRUNCATED: the file has become shorter; errors of the
 * reading (inflate.h) and of @sink.
 */
cpt_status cpti_annotation_write(const struct cpti_annotation *annotation,
                                 cpt_read_fn read, void *context,
                                 const struct cpt_sink *sink);

#endif
