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

struct cpt_path;

/* Draws @path on stdout, as wide as the terminal; with '#' and '-' if @is_ascii. Of
 * more than @rows_max rows the longest are drawn; the others are merged where they are,
 * so that the sum stays right. enum cpti_exit. */
int cpti_waterfall_print(const struct cpt_path *path, bool is_ascii, size_t rows_max);

#endif
