/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* perfetto.h - a path as a trace of Perfetto; see perfetto.c. */
#ifndef CPTI_CLI_PERFETTO_H
#define CPTI_CLI_PERFETTO_H

#include <stdint.h>

struct cpt_path;
struct cpti_output;

/* Writes @path, which began at @start_unix_ns, to @output. CPTI_EXIT_DONE, or
 * CPTI_EXIT_FAILED with the error printed. */
int cpti_perfetto_write(const struct cpt_path *path, uint64_t start_unix_ns,
                        struct cpti_output *output);

#endif
