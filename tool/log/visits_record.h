/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* visits_record.h - all visits of a request, as 'cpt import --visits' keeps them in its
 * record: span_records.c writes them */
#ifndef CPTI_CLI_VISITS_RECORD_H
#define CPTI_CLI_VISITS_RECORD_H

#include "wire/cpt_log.h"

#include <stdbool.h>

/* Whether @record has all visits. */
bool cpti_visits_has(const struct cpt_record *record);

/* Makes @path that of all visits of @record, which has them. CPT_OK; CPT_CORRUPT;
 * CPT_LIMIT; CPT_NO_MEMORY. */
cpt_status cpti_visits_read(const struct cpt_record *record, struct cpt_path *path);

#endif
