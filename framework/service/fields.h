/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* fields.h - looking for a header; fields.c */
#ifndef CPT_SERVICE_FIELDS_H
#define CPT_SERVICE_FIELDS_H

#include "framework/cpt_rpc.h"

#include <stdbool.h>

/* The value of the first of @fields that is called @name, in any case; without one its
 * data is NULL. */
struct cpt_bytes cpti_field_find(const struct cpt_field *fields, size_t count,
                                 const char *name);

/* The next "name=value" of @query from *@position, not decoded; a name that is not
 * followed by '=' has an empty value. False at the end. */
bool cpti_query_next(struct cpt_bytes query, size_t *position, struct cpt_field *field);

#endif
