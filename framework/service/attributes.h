/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* attributes.h - what the application says of a request, as its record takes it. */
#ifndef CPT_ATTRIBUTES_H
#define CPT_ATTRIBUTES_H

#include "framework/run/request.h"

/* The attributes of a request that ends; borrowed. Nothing is added any more. */
const struct cpt_attribute *cpti_attributes_close(struct cpt_request *request,
                                                  size_t *count);

#endif
