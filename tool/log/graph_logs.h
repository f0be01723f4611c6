/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * graph_logs.h - graph logs in the place of a path log
 *
 *      operands   A.cptgraph  B.cptgraph  C.cptgraph  d.cptlog
 *      inputs     /proc/PID/fd/3                      d.cptlog
 *
 * The graph logs of a set of operands are joined into whole requests, which become the
 * records of a private log with all visits, as 'cpt import --visits' makes them of
 * spans. Beside the visits a record has what its entry said of it; its path is one
 * segment.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_GRAPH_LOGS_H
#define CPTI_CLI_GRAPH_LOGS_H

#include "tool/base/private_file.h"

#include <stdbool.h>
#include <stddef.h>

struct cpti_arguments;

/* What operands stand for. */
struct cpti_graph_logs {
    const char **inputs; /* path logs, then what was made of the graph logs; owned */
    size_t count;
    bool has_graphs;
    int file; /* private; below 0: none */
    char path[CPTI_PRIVATE_PATH_BYTES];
};

/*
 * Finds what the sources @first to @end - 1 of @arguments stand for, of a command with
 * log folders. A folder stands for its path logs, or, if it has none or
 * @prefers_graphs, for its graph logs. Messages name the first source.
 *
 * CPTI_EXIT_DONE; CPTI_EXIT_FAILED after what is wrong was printed: what could be read
 * counts, if it is not nothing. The caller deinits @logs in each case, when all is
 * read.
 */
int cpti_graph_logs_open(struct cpti_graph_logs *logs,
                         const struct cpti_arguments *arguments, size_t first,
                         size_t end, bool prefers_graphs);
void cpti_graph_logs_deinit(struct cpti_graph_logs *logs);

#endif
