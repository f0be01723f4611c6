/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* group_time.h - the time in a service, a name or an edge, with what is below */
#ifndef CPTI_CLI_GROUP_TIME_H
#define CPTI_CLI_GROUP_TIME_H

#include "aggregate/cpt_tree.h"

/* The average time in the group @node of the tree @inclusive or below it, rounded half
 * up. @self_ns, its own time by a walk of the tree @self, is never more, and
 * @latency_ns, the mean latency by the same walk, is never less: a group that is on all
 * stacks has the latency itself. */
uint64_t cpti_group_inclusive_ns(const struct cpt_tree *self,
                                 const struct cpt_tree *inclusive, uint32_t node,
                                 uint64_t self_ns, uint64_t latency_ns);

#endif
