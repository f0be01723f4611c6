/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * edge_path.h - the path of a request by calls from service to service
 *
 * Frames of one service that follow each other in a stack become one: the call that led
 * there. What a callee costs its caller, with queues, network and blind spots, is then
 * the frame with all below it, even if each of its parts looks innocent.
 *
 *      A: /;A: A1;B: /B1;B: B1;C: C1     becomes     -> A;A -> B;B -> C
 *      A: /;A: A1;B: /B1;‹network›       becomes     -> A;A -> B
 */
#ifndef CPTI_CLI_EDGE_PATH_H
#define CPTI_CLI_EDGE_PATH_H

#include "cpt/cpt_status.h"

struct cpt_path;
struct cpt_tree;
struct cpti_arguments;

/* Makes @edges, which is emptied first, of @path. CPT_OK; CPT_NO_MEMORY; CPT_LIMIT;
 * after an error @edges is to be given up. */
cpt_status cpti_edge_path(const struct cpt_path *path, struct cpt_path *edges);

/* As cpti_gather_operands() of gather.h, but the tree is that of such paths. So the
 * operands are path logs: a tree knows its requests by stack only. */
int cpti_edge_gather(const struct cpti_arguments *arguments, struct cpt_tree **tree,
                     int *is_usable);

#endif
