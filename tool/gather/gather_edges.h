/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_edges.h - a tree by calls from service to service, as cpt_view_edge_path()
 * makes them of each request
 */
#ifndef CPTI_CLI_GATHER_EDGES_H
#define CPTI_CLI_GATHER_EDGES_H

#include <stdbool.h>

struct cpt_tree;
struct cpti_arguments;

/* As cpti_gather_operands() of gather.h, but the tree is that of such paths, and the
 * operands are path logs: a tree knows its requests by stack only. */
int cpti_gather_edges(const struct cpti_arguments *arguments, struct cpt_tree **tree,
                      bool *is_usable);

#endif
