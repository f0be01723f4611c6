/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * diagnosis.h - why no request is selected
 *
 *      cpt: no request is selected, of 120 records; left after each term:
 *      cpt:     60  arm == "control"
 *      cpt:      0  page == "hme": no request has page "hme"; did you mean "home"?
 *
 * The logs are read once more, term by term. That takes about as long as the search
 * that found nothing, so it is done only then.
 */
#ifndef CPTI_CLI_DIAGNOSIS_H
#define CPTI_CLI_DIAGNOSIS_H

#include "tool/select/select.h"

/* Whether all inputs at @paths can be read again: no pipe, database or tree. */
bool cpti_diagnosis_is_possible(const char *const *paths, size_t path_count);

/* Prints on stderr how many records are left after each term of @selection, up to the
 * first after which none is left, and hints at names that nearly fit. Prints nothing if
 * @selection has no terms. */
void cpti_diagnosis_print(const struct cpti_selection *selection,
                          const char *const *paths, size_t path_count);

#endif
