/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * lines.h - further ways in: spans out of texts of lines
 *
 *      file --> which way is it? --> line, line, line --> spans --> traces
 *               recognise()          cpti_lines_next()    read()
 *
 * A way in is one source file: it says which files are its own, and reads a line at a
 * time. All that comes behind it, traces, clocks, paths, slack and the page, is there
 * already. Those of the program are listed in ways.c; tests/csv_way has one more.
 *
 * Threads: any; a way in has no state.
 */
#ifndef CPTI_LINES_H
#define CPTI_LINES_H

#include "import/bytes/window.h"

struct cpti_sink; /* import/formats/formats.h */

struct cpti_way {
    /* Whether a file that begins with the @bytes at @head is one; 16 are enough. */
    bool (*recognise)(const char *head, size_t bytes);
    /* Hands the spans of @line, number @number of its file from 0 on and without its
     * end, to @sink. CPT_OK, also for a line without a span; CPT_CORRUPT, with the
     * place in the line and the reason in @error; what the sink returned. */
    cpt_status (*read)(struct cpt_bytes line, uint64_t number, struct cpti_sink *sink,
                       struct cpt_error *error);
};

/* The ways in that this program has; NULL ends the list. */
extern const struct cpti_way *const cpti_ways[];

/* The way in of a file that begins so; NULL: it has none of these. */
const struct cpti_way *cpti_way_of(const char *head, size_t bytes);

/*
 * The next line that is not empty, without its end, borrowed until the next call.
 *
 * CPT_OK; CPT_END; CPT_LIMIT: it was too long, the next call goes on behind it;
 * CPT_NO_MEMORY; errors of the read function.
 */
cpt_status cpti_lines_next(struct cpti_window *window, struct cpt_bytes *line,
                           struct cpt_error *error);

/* The same; *@number grows by the lines that were passed, empty ones, too. */
cpt_status cpti_lines_count_next(struct cpti_window *window, struct cpt_bytes *line,
                                 uint64_t *number, struct cpt_error *error);

#endif
