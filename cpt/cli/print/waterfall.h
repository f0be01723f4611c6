/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * waterfall.h - one critical path over time, drawn on a terminal
 *
 *      frame          self ms  0                                    35.5 ms
 *      A: /             0.000  ────────────────────────────────────────────
 *        A: A1         15.000  █████▌──────────────────────────▐███████████
 *          B: Lookup   20.500        ██████████████████████████
 *
 * A row is a frame while it stayed on the path without a break; a frame that comes back
 * later has another row. Full blocks are time of the frame itself, lines are time of
 * the frames below it. In every column of time exactly one row is full, so the self
 * times add up to the latency.
 */
#ifndef CPTI_CLI_WATERFALL_H
#define CPTI_CLI_WATERFALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpt_path;

/* One frame while it was on the path. */
struct cpti_waterfall_row {
    uint32_t frame;
    uint64_t begin_ns; /* from the beginning of the request */
    uint64_t end_ns;
    uint64_t self_ns;     /* of that, time of the frame itself */
    size_t segment_first; /* of the row and of the rows below it */
    size_t segment_end;   /* the first one after it */
    size_t own_segment;   /* the first one of the frame itself; SIZE_MAX: none */
};

/*
 * The rows of @path in the order of their beginnings, callers before callees, in memory
 * from malloc() that the caller frees. CPTI_EXIT_DONE; CPTI_EXIT_FAILED without memory,
 * after printing so.
 */
int cpti_waterfall_rows(const struct cpt_path *path, struct cpti_waterfall_row **rows,
                        size_t *row_count);

/* What a column of time shows of a row. */
struct cpti_waterfall_cell {
    float self;     /* part of the column that is time of its own: 0 to 1 */
    bool is_left;   /* that part begins where the column does */
    bool is_inside; /* the row has begun and not ended */
};

/* Fills the @count cells of @row, which together span the whole of @path. */
void cpti_waterfall_cells(const struct cpt_path *path,
                          const struct cpti_waterfall_row *row,
                          struct cpti_waterfall_cell *cells, size_t count);

/* Draws @path on stdout, as wide as the terminal; with '#' and '-' if @is_ascii. Of
 * more than @rows_max rows the longest are drawn; the others are merged where they are,
 * so that the sum stays right. enum cpti_exit. */
int cpti_waterfall_print(const struct cpt_path *path, bool is_ascii, size_t rows_max);

#endif
