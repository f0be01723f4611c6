/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* fields.h - looking for a header; fields.c */
#ifndef CPT_SERVICE_FIELDS_H
#define CPT_SERVICE_FIELDS_H

#include "framework/cpt_rpc.h"

/* The value of the first of @fields that is called @name, in any case; without one its
 * data is NULL. */
struct cpt_bytes cpti_field_find(const struct cpt_field *fields, size_t count,
                                 const char *name);

#endif
