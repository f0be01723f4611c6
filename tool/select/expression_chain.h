/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* expression_chain.h - the kinds and costs of a selection's nodes */
#ifndef CPTI_CLI_EXPRESSION_CHAIN_H
#define CPTI_CLI_EXPRESSION_CHAIN_H

#include <stdint.h>

/* Kinds of nodes; operators in the order in which they bind. An open parenthesis stands
 * only on the parser's stack. A merged node has given its children to its parent. */
enum { NODE_TEST, NODE_NOT, NODE_AND, NODE_OR, NODE_OPEN, NODE_MERGED };

/* Costs of a test: a field is read, an attribute searched for, a path decoded. */
enum { COST_FIELD, COST_ATTRIBUTE, COST_PATH };

enum { NO_NODE = UINT16_MAX };

#endif
