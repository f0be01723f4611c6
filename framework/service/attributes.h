/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* attributes.h - what the application notes about a request; see attributes.c. */
#ifndef CPT_ATTRIBUTES_H
#define CPT_ATTRIBUTES_H

#include "framework/run/request.h"

/* The attributes of a request that has ended, for its record; as long-lived as the
 * request. None is added from now on; there is room for those of failure.h. */
struct cpt_attribute *cpti_attributes_close(struct cpt_request *request, size_t *count);

#endif
