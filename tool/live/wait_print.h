/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* wait_print.h - who waits for whom, as text and as JSON */
#ifndef CPTI_CLI_WAIT_PRINT_H
#define CPTI_CLI_WAIT_PRINT_H

#include "tool/live/waits.h"

/* Prints the requests of the first service, what they wait for, and the deadlocks.
 * Marks requests as seen. */
void cpti_wait_print(struct cpti_waits *waits);

/* All of it as one JSON object. */
void cpti_wait_json(const struct cpti_waits *waits);

/* --- wait_gap.c --- */

enum { CPTI_WAIT_GAP_BYTES = 512 };

/* Writes why the call @edge leads to no request to @text of @bytes; it may hold bytes
 * from outside. */
void cpti_wait_say_gap(const struct cpti_waits *waits,
                       const struct cpti_wait_edge *edge, char *text, size_t bytes);

#endif
