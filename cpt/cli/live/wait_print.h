/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* wait_print.h - who waits for whom, as text and as JSON */
#ifndef CPTI_CLI_WAIT_PRINT_H
#define CPTI_CLI_WAIT_PRINT_H

#include "cpt/cli/live/waits.h"

/* Each request of the first service, the oldest first, with what it waits for below it;
 * then the deadlocks. */
void cpti_wait_print(struct cpti_waits *waits);

/* The same as one JSON object; docs/schemas/wait.json. */
void cpti_wait_json(const struct cpti_waits *waits);

#endif
