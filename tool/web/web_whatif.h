/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_whatif.h - what other times of some frames would do to the kept graphs
 *
 *      /api/whatif?set=C: C1=-50%&cap=…   the answer of cpt whatif --json
 *      /whatif?share:C: C1=50&terms=…     the same as a page, with sliders
 *
 * The graphs are read once, when the server starts, and stay in memory, up to a limit.
 * An answer replays all of their requests (cpt_whatif.h).
 *
 * Threads: any, after cpti_web_whatif_new().
 */
#ifndef CPTI_CLI_WEB_WHATIF_H
#define CPTI_CLI_WEB_WHATIF_H

#include "tool/web/web_query.h"

#include <stdint.h>
#include <stdio.h>

struct cpti_web_whatif;

/* Nodes and edges that are kept by default: about 2 GB. */
enum { CPTI_WEB_WHATIF_PARTS = 32 << 20 };

/* Reads the graphs of @count @files: graph logs, or spans with notes, up to @parts_max
 * nodes and edges of all of them. NULL: none can be read, which was printed. */
struct cpti_web_whatif *cpti_web_whatif_new(const char *const *files, size_t count,
                                            uint64_t parts_max);
void cpti_web_whatif_free(struct cpti_web_whatif *whatif);

/* How many requests it has; of NULL 0. */
size_t cpti_web_whatif_count(const struct cpti_web_whatif *whatif);

/* Writes the answer to @query; @whatif may be NULL: there are no graphs. enum
 * cpti_exit. */
int cpti_web_whatif_write(const struct cpti_web_whatif *whatif,
                          const struct cpti_web_query *query, FILE *file);

/* Writes the page with the answer to @query: percents of frames ("share:C: C1"), and
 * terms, one on each line. enum cpti_exit. */
int cpti_web_whatif_page(const struct cpti_web_whatif *whatif,
                         const struct cpti_web_query *query, const char *token,
                         FILE *file);

#endif
