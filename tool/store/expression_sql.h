/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_sql.h - a selection's condition as a list of signs, from left to right
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_EXPRESSION_SQL_H
#define CPTI_CLI_EXPRESSION_SQL_H

#include "tool/select/expression.h"

/* The kinds of signs. */
enum cpti_sign {
    CPTI_SIGN_TEST,
    CPTI_SIGN_OPEN,
    CPTI_SIGN_CLOSE,
    CPTI_SIGN_AND,
    CPTI_SIGN_OR,
    CPTI_SIGN_NOT
};

/* A sign; of CPTI_SIGN_TEST with the index of the test. */
struct cpti_condition_sign {
    uint16_t sign;
    uint16_t test;
};

/* The most signs of an expression: each node has two parentheses and a `not` or an
 * operator before it; nodes at the top have an `and`. */
enum { CPTI_CONDITION_SIGNS_MAX = 5 * CPTI_EXPRESSION_NODES_MAX };

/* Writes the condition of all terms to @to, which has room for
 * CPTI_CONDITION_SIGNS_MAX, and returns the number of signs; with 0 signs it always
 * holds. @is_population is that of cpti_expression_link(), which must be called
 * before. */
size_t cpti_expression_write(const struct cpti_expression *expression,
                             bool is_population, struct cpti_condition_sign *to);

#endif
