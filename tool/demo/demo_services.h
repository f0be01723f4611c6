/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * demo_services.h - finds, starts and ends the three services of the demo
 *
 * They are the programs of examples/figure1_*.c, beside the tool (in a build folder) or
 * where `make install` puts them.
 */
#ifndef CPTI_CLI_DEMO_SERVICES_H
#define CPTI_CLI_DEMO_SERVICES_H

#include "tool/demo/demo_process.h"

#include <stdint.h>

enum { CPTI_SERVICE_COUNT = 3, CPTI_SERVICE_PATH_BYTES = 4096 };

/* A component that can be made slower. */
struct cpti_component {
    const char *name;  /* "B2" */
    const char *frame; /* "B: B2" */
    unsigned service;  /* index of struct cpti_services.processes */
};

extern const struct cpti_component cpti_components[];
extern const size_t cpti_component_count;

/* How to start the services. */
struct cpti_services_options {
    const char *log_file;
    const char *probability;             /* that A traces a request, as text */
    const struct cpti_component *slowed; /* in the treatment arm; NULL: none */
    unsigned slowed_us;
    const char *jitter; /* the sigma of lognormal times, as text; NULL: fixed times */
    uint16_t port;      /* of A; 0: a free one */
    const char
        *graph_files[CPTI_SERVICE_COUNT]; /* for the graphs of each; NULL: none */
};

struct cpti_services {
    struct cpti_demo_process processes[CPTI_SERVICE_COUNT]; /* A, B, C */
    uint16_t ports[CPTI_SERVICE_COUNT];
};

/* Writes the path of the running tool. false if the system does not tell it. */
bool cpti_tool_path(char path[CPTI_SERVICE_PATH_BYTES]);

/* Starts C, B, A and reads the ports on which they listen. enum cpti_exit; a failure
 * has been printed. Call cpti_services_end() in any case. */
int cpti_services_start(struct cpti_services *services,
                        const struct cpti_services_options *options);

/* Ends them, callers first, so that each can finish its requests. */
void cpti_services_end(struct cpti_services *services);

#endif
