/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* expression_chain.h - what the nodes of a selection are; see expression_chain.c. */
#ifndef CPT_EXPRESSION_CHAIN_H
#define CPT_EXPRESSION_CHAIN_H

#include <stdint.h>

/* Kinds of nodes, and of what waits on the parser's stack. */
enum { NODE_TEST, NODE_NOT, NODE_AND, NODE_OR, WAIT_OPEN, NODE_MERGED };

/* A field costs little, an attribute is looked for, a path is decoded. */
enum { COST_FIELD, COST_ATTRIBUTE, COST_PATH };

enum { NO_NODE = UINT16_MAX };

#endif
