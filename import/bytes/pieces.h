/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pieces.h - a file of any length, cut into pieces that are parsed one by one
 *
 * A file of traces may be larger than memory, but each trace in it is small. JSON is
 * cut where the traces are; messages of protobuf, where they begin:
 *
 *      [ {...}, {...} ]                       each element of an array
 *      {"data": [ {...}, {...} ], "total": 0} each element of the answer of Jaeger
 *      {...} {...}                            each document, one a line or not
 *      length message length message ...      each message; see frames.h
 *      line \n line \n ...                      each line of a further way in; lines.h
 *
 * Only strings and brackets are looked at; whether a piece is JSON is for its parser.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_PIECES_H
#define CPTI_PIECES_H

#include "import/bytes/window.h"

struct cpti_pieces;
struct cpti_way;

/* What cuts the text that @read gives; a piece longer than @bytes_max (0: 256 MiB) is
 * skipped. NULL without memory. The caller owns it. */
struct cpti_pieces *cpti_pieces_new(const struct cpt_alloc *alloc, cpt_read_fn read,
                                    void *context, size_t bytes_max);
void cpti_pieces_free(struct cpti_pieces *pieces);

/* Whether the pieces are messages, not JSON; known once there was a piece. */
bool cpti_pieces_are_messages(const struct cpti_pieces *pieces);

/* The way in whose lines they are, and the number of the last line; NULL: of none.
 * Known once there was a piece. */
const struct cpti_way *cpti_pieces_way(const struct cpti_pieces *pieces,
                                       uint64_t *line_number);

/*
 * The next piece, with CPTI_DOC_PADDING readable bytes behind it; borrowed until the
 * next call. *@offset is its place in the text.
 *
 * CPT_OK; CPT_END; CPT_LIMIT: a piece was too long, the next call goes on behind it;
 * CPT_TRUNCATED: the text ends within a piece; CPT_CORRUPT: brackets do not match, or
 * a word has no end, and nothing can be read from here on; CPT_NO_MEMORY; errors of
 * the read function.
 */
cpt_status cpti_pieces_next(struct cpti_pieces *pieces, struct cpt_bytes *piece,
                            uint64_t *offset, struct cpt_error *error);

#endif
