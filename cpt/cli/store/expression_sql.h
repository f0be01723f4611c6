/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_sql.h - a selection's condition from left to right, for those who write it
 * in another language
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_EXPRESSION_SQL_H
#define CPTI_CLI_EXPRESSION_SQL_H

#include "cpt/cli/select/expression.h"

/* What it is written with. */
enum cpti_sign {
    CPTI_SIGN_TEST,
    CPTI_SIGN_OPEN,
    CPTI_SIGN_CLOSE,
    CPTI_SIGN_AND,
    CPTI_SIGN_OR,
    CPTI_SIGN_NOT
};

/* One of them; of a test its index. */
struct cpti_condition_sign {
    uint16_t sign;
    uint16_t test;
};

/* Signs that one expression can have: each node has brackets, a `not` or what joins it
 * to the one before, and those at the top their `and`. */
enum { CPTI_CONDITION_SIGNS_MAX = 5 * CPTI_EXPRESSION_NODES_MAX };

/*
 * Writes the condition of all terms to @to, of CPTI_CONDITION_SIGNS_MAX; how many
 * signs. None: it always holds. @is_population as of cpti_expression_link(), which has
 * to have been called.
 */
size_t cpti_expression_write(const struct cpti_expression *expression,
                             int is_population, struct cpti_condition_sign *to);

#endif
