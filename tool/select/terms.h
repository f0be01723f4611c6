/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * terms.h - the terms of a selection as text
 *
 *      arm == "B" and latency > p99   ->   arm == "B"   latency > p99
 *
 * A text is split at each "and" outside of parentheses and quotes. The parser
 * (expression.c) is what decides whether a text is right.
 */
#ifndef CPTI_CLI_TERMS_H
#define CPTI_CLI_TERMS_H

#include "cpt/cpt_name.h"

/* The most terms that are told apart. */
enum { CPTI_TERMS_MAX = 256 };

struct cpti_terms {
    struct cpt_bytes terms[CPTI_TERMS_MAX]; /* borrowed from the texts */
    size_t count;
};

/* Adds the terms of @text; beyond the limit they are left out. */
void cpti_terms_add(struct cpti_terms *terms, struct cpt_bytes text);

#endif
