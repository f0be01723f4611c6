/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* perfetto.h - paths as a trace of Perfetto; see perfetto.c. */
#ifndef CPTI_CLI_PERFETTO_H
#define CPTI_CLI_PERFETTO_H

#include <stdint.h>

struct cpt_path;
struct cpti_output;

/* A trace of Perfetto that paths are added to: `output` is set, the rest 0. */
struct cpti_perfetto {
    struct cpti_output *output;
    uint64_t track_count; /* numbers of tracks and arrows that are given away */
    uint64_t flow_count;
};

/* Adds @path, which began at @start_unix_ns, with tracks of its own. CPTI_EXIT_DONE, or
 * CPTI_EXIT_FAILED with the error printed. */
int cpti_perfetto_add(struct cpti_perfetto *perfetto, const struct cpt_path *path,
                      uint64_t start_unix_ns);

#endif
