/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* check.h - mistakes of a program that else would show when a request comes: check.c */
#ifndef CPT_PROGRAM_CHECK_H
#define CPT_PROGRAM_CHECK_H

#include "framework/cpt_service_main.h"

/* CPT_OK; CPT_INVALID: no request over HTTP could be of @method. */
cpt_status cpti_check_method(const char *method, struct cpt_error *error);

/* CPT_OK; CPT_INVALID: a row of @graph, of which there is a plan, or of a component of
 * it, calls a stub that has no transport. */
cpt_status cpti_check_calls(const struct cpt_graph *graph, struct cpt_error *error);

#endif
