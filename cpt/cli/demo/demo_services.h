/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * demo_services.h - the three services of the demo: where they are, start, end
 *
 * They are the programs of examples/figure1_*.c. We look beside the tool (a build
 * folder) and where `make install` puts them.
 */
#ifndef CPTI_CLI_DEMO_SERVICES_H
#define CPTI_CLI_DEMO_SERVICES_H

#include "cpt/cli/demo/demo_process.h"

#include <stdint.h>

enum { CPTI_SERVICE_COUNT = 3, CPTI_SERVICE_PATH_BYTES = 4096 };

/* One component can be made slower: which, in which service, what its frame is. */
struct cpti_component {
    const char *name;  /* "B2" */
    const char *frame; /* "B: B2" */
    unsigned service;  /* index of struct cpti_services.processes */
};

extern const struct cpti_component cpti_components[];
extern const size_t cpti_component_count;

/* How to start them. */
struct cpti_services_options {
    const char *log_file;
    const char *probability;             /* of A's coin, as text */
    const struct cpti_component *slowed; /* in the treatment arm; NULL: none */
    unsigned slowed_us;
    uint16_t port; /* of A; 0: a free one */
};

struct cpti_services {
    struct cpti_process processes[CPTI_SERVICE_COUNT]; /* A, B, C */
    uint16_t ports[CPTI_SERVICE_COUNT];
};

/* The path of the running tool, for starting it again. 0 if the system does not say. */
int cpti_tool_path(char path[CPTI_SERVICE_PATH_BYTES]);

/* Starts C, B, A and reads where they listen. cpti_exit; after a failure, which has
 * been printed, cpti_services_end() is still to be called. */
int cpti_services_start(struct cpti_services *services,
                        const struct cpti_services_options *options);

/* Ends them, callers first, so that each can finish what it has. */
void cpti_services_end(struct cpti_services *services);

#endif
