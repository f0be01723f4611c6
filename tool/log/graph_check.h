/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * graph_check.h - whether a graph log can be read, and what it has
 */
#ifndef CPTI_CLI_GRAPH_CHECK_H
#define CPTI_CLI_GRAPH_CHECK_H

#include "tool/base/files.h"

/* Reads all of @input, which is open, and prints what it has. Each graph is made a dag,
 * whose longest path must be the latency. CPTI_EXIT_DONE; CPTI_EXIT_FAILED if something
 * is wrong, which was printed. */
int cpti_graph_check(struct cpti_input *input);

#endif
