/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * question.h - a selection as a question to a database
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_QUESTION_H
#define CPTI_CLI_QUESTION_H

#include "tool/base/output.h"
#include "tool/select/select.h"
#include "tool/store/store.h"

/* A question and all that it points to, except the texts of its selection, which it
 * borrows. It is large: about 75 KiB. */
struct cpti_question {
    struct cpti_store_question question;
    struct cpti_store_term terms[CPTI_EXPRESSION_TESTS_MAX];
    struct cpti_store_value values[CPTI_EXPRESSION_VALUES_MAX];
    struct cpti_store_frame frames[CPTI_EXPRESSION_VALUES_MAX];
    struct cpti_condition_sign signs[CPTI_CONDITION_SIGNS_MAX];
    char shown[CPTI_TEXT_BYTES]; /* holds question.shown */
};

/* The question of @selection; with @is_population without its terms with percentiles,
 * otherwise with their values. The caller frees it with free(). Prints an error and
 * returns NULL without memory. */
struct cpti_question *cpti_question_new(const struct cpti_selection *selection,
                                        bool is_population);

/* The weight of a row that @question selects, as cpti_selection_weight(). */
uint64_t cpti_question_weight(const struct cpti_store_question *question,
                              const struct cpti_store_row *row);

/* The exit status for @status; prints the error of the database at @address, if any. */
int cpti_store_exit_status(const char *address, cpt_status status,
                           const struct cpt_error *error);

/* cpti_store_open() that prints its error. enum cpti_exit. */
int cpti_store_open_operand(const char *address, struct cpti_store **store);

#endif
