/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_pieces.h - inputs cut into pieces of about the same size, one a job
 *
 *      a.cptlog   | piece | piece | piece |     a log of its own is cut at blocks
 *      b.cpttree  | piece |                     all else is one piece
 *
 * Pieces come in the order of the files, and of each file in its order, so that what
 * jobs say of them comes in the order in which one thread would say it.
 */
#ifndef CPTI_CLI_GATHER_PIECES_H
#define CPTI_CLI_GATHER_PIECES_H

#include "wire/cpt_log_parts.h"

/* A job. */
struct cpti_piece {
    size_t file; /* number of its path */
    int is_cut;  /* whether it is @part of the file, or all of it */
    struct cpt_log_part part;
};

/* Zero at first. */
struct cpti_pieces {
    struct cpti_piece *all;
    size_t count;
    int are_cut; /* whether there is a file in several pieces */
};

/*
 * Cuts the @path_count inputs at @paths for @thread_count threads; for one, each is one
 * piece. What cannot be opened is one piece, too, and says so when it is read. enum
 * cpti_exit. Deinit them in any case.
 */
int cpti_pieces_init(struct cpti_pieces *pieces, const char *const *paths,
                     size_t path_count, size_t thread_count);
void cpti_pieces_deinit(struct cpti_pieces *pieces);

#endif
