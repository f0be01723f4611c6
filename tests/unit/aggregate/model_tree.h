/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_tree.h - a simple, slow tree: a table of requests by stacks
 *
 * Each row is a request, each column a stack (as text); a cell has the self time and
 * the inclusive time of the stack in the request. Every statistic is computed from the
 * table by its definition, in two passes, in long double.
 */
#ifndef MODEL_TREE_H
#define MODEL_TREE_H

#include "aggregate/cpt_tree.h"

struct cpt_path;

enum { MODEL_REQUESTS_MAX = 64, MODEL_STACKS_MAX = 1024, MODEL_TEXT_BYTES = 1024 };

struct model {
    unsigned request_count;
    unsigned stack_count; /* stack 0 is the empty one: all requests */
    char stacks[MODEL_STACKS_MAX][MODEL_TEXT_BYTES];
    uint64_t self[MODEL_STACKS_MAX][MODEL_REQUESTS_MAX];
    uint64_t inclusive[MODEL_STACKS_MAX][MODEL_REQUESTS_MAX];
    cpt_weight weight[MODEL_REQUESTS_MAX];
};

struct model_mean {
    long double mean;
    long double error;
    long double effective_count;
    long double skewness;
};

/* Removes all requests. */
void model_reset(struct model *model);
void model_add(struct model *model, const struct cpt_path *path, cpt_weight weight);

/* Column of a stack; model->stack_count if there is none. */
unsigned model_find(const struct model *model, const char *stack);

/* Mean, its standard error and skewness of a row of cells, by the definition. */
struct model_mean model_mean_of(const struct model *model, const uint64_t *cells);

/* Requests with the stack; the sum of their weights. */
unsigned model_present(const struct model *model, unsigned stack, uint64_t *weight);

/* (Σw)² / Σw² of the requests with the stack. */
long double model_present_effective(const struct model *model, unsigned stack);

/* The exact weighted quantile of the requests with the stack, in 1/1000. */
uint64_t model_quantile(const struct model *model, unsigned stack, unsigned per_mille);

#endif
