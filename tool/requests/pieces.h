/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pieces.h - inputs cut into pieces of about the same size, one a job
 *
 *      a.cptlog   | piece | piece | piece |     a log is cut between blocks
 *      b.cpttree  | piece |                     all else is one piece
 *
 * Pieces are in the order of the files, and within a file in its order. So the messages
 * of their jobs have the order that one thread would give them.
 */
#ifndef CPTI_CLI_PIECES_H
#define CPTI_CLI_PIECES_H

#include "wire/cpt_log_parts.h"

#include <stdbool.h>

/* A job. */
struct cpti_piece {
    size_t file; /* number of its path */
    bool is_cut; /* it is @part of the file; otherwise the whole file */
    struct cpt_log_part part;
};

/* Zero at first. */
struct cpti_pieces {
    struct cpti_piece *all;
    size_t count;
    bool are_cut; /* a file is in several pieces */
};

/*
 * Cuts the @path_count inputs at @paths for @thread_count threads; for one thread each
 * input is one piece. So is an input that cannot be opened; it fails when it is read.
 * enum cpti_exit. Deinit them in any case.
 */
int cpti_pieces_init(struct cpti_pieces *pieces, const char *const *paths,
                     size_t path_count, size_t thread_count);
void cpti_pieces_deinit(struct cpti_pieces *pieces);

/* Whether @path is a file that can be opened more than once. */
bool cpti_is_regular(const char *path);

#endif
