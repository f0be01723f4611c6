/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cluster_key.h - --cluster KEY: which requests resemble each other
 *
 * Threads: any.
 */
#ifndef CPTI_CLI_CLUSTER_KEY_H
#define CPTI_CLI_CLUSTER_KEY_H

#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpt_record;

enum { CPTI_CLUSTER_VALUE_BYTES = 48 };

/*
 * Sets *@value to the value of @key in @record: of an attribute, or "method", "status"
 * and "minute" (that in which the request arrived), unless an attribute has the name.
 * It is borrowed from @record or @text. False and no bytes if there is no value.
 */
bool cpti_cluster_value(const struct cpt_record *record, const char *key,
                        char text[CPTI_CLUSTER_VALUE_BYTES], struct cpt_bytes *value);

#endif
