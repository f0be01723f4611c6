/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* demo_services.c - the three services of the demo; see demo_services.h */
#include "tool/demo/demo_services.h"

#include "tool/base/command.h"
#include "tool/base/output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef CPTI_LIBEXEC_DIR
#define CPTI_LIBEXEC_DIR "/usr/local/libexec/cpt"
#endif

enum { START_MS = 10000, END_MS = 8000, WORDS_MAX = 20, URL_BYTES = 64 };

const struct cpti_component cpti_components[] = {
    {"A1", "A: A1", 0}, {"A2", "A: A2", 0}, {"B1", "B: B1", 1},
    {"B2", "B: B2", 1}, {"C1", "C: C1", 2}, {"C2", "C: C2", 2},
};

const size_t cpti_component_count = sizeof cpti_components / sizeof cpti_components[0];

bool cpti_tool_path(char path[CPTI_SERVICE_PATH_BYTES])
{
    const ssize_t bytes = readlink("/proc/self/exe", path, CPTI_SERVICE_PATH_BYTES - 1);

    path[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0;
}

/* Finds the program figure1_@letter and writes its path to @path. enum cpti_exit. */
static int find_service(char letter, char path[CPTI_SERVICE_PATH_BYTES])
{
    static const char *const beside[] = {"examples/", "", "../libexec/cpt/",
                                         "../lib/cpt/"};
    char tool[CPTI_SERVICE_PATH_BYTES];
    char *slash = cpti_tool_path(tool) ? strrchr(tool, '/') : NULL;

    for (size_t i = 0; slash != NULL && i < sizeof beside / sizeof beside[0]; i++) {
        slash[1] = '\0';
        if (snprintf(path, CPTI_SERVICE_PATH_BYTES, "%s%sfigure1_%c", tool, beside[i],
                     letter) < CPTI_SERVICE_PATH_BYTES &&
            access(path, X_OK) == 0) {
            return CPTI_EXIT_DONE;
        }
    }
    (void)snprintf(path, CPTI_SERVICE_PATH_BYTES, "%s/figure1_%c", CPTI_LIBEXEC_DIR,
                   letter);
    if (access(path, X_OK) == 0) {
        return CPTI_EXIT_DONE;
    }
    return cpti_failed("there is no program figure1_%c beside the tool or in %s; build "
                       "the examples (CPT_BUILD_EXAMPLES, CPT_WITH_HTTP)",
                       letter, CPTI_LIBEXEC_DIR);
}

/* Starts service @index with the command line @words, and reads the port on which it
 * listens. enum cpti_exit. */
static int start_service(struct cpti_services *services, unsigned index,
                         const char *const *words)
{
    static const char *const names[CPTI_SERVICE_COUNT] = {"A", "B", "C"};
    char line[CPTI_PROCESS_LINE_BYTES];
    unsigned port = 0;
    int status = cpti_process_start(&services->processes[index], names[index], words);

    status = CPTI_THEN(status,
                       cpti_process_line(&services->processes[index], START_MS, line));
    if (status == CPTI_EXIT_DONE &&
        sscanf(line, "%*c http://127.0.0.1:%5u", &port) != 1) {
        status = cpti_failed("service %s printed no address: '%s'", names[index],
                             cpti_quoted(line));
    }
    services->ports[index] = (uint16_t)port;
    return status;
}

/* Finds service @index, builds its command line and starts it. The services that it
 * calls are running. enum cpti_exit. */
static int start_one(struct cpti_services *services,
                     const struct cpti_services_options *options, unsigned index)
{
    char path[CPTI_SERVICE_PATH_BYTES];
    char urls[CPTI_SERVICE_COUNT][URL_BYTES];
    char slow[URL_BYTES];
    char port[16];
    const char *words[WORDS_MAX] = {path};
    unsigned count = 1;
    const int status = find_service((char)('a' + index), path);

    for (unsigned callee = index + 1; callee < CPTI_SERVICE_COUNT; callee++) {
        (void)snprintf(urls[callee], URL_BYTES, "http://127.0.0.1:%u",
                       (unsigned)services->ports[callee]);
        words[count++] = callee == 1 ? "--b" : "--c";
        words[count++] = urls[callee];
    }
    if (options->slowed != NULL && options->slowed->service == index) {
        (void)snprintf(slow, sizeof slow, "%s=%u", options->slowed->name,
                       options->slowed_us);
        words[count++] = "--slow";
        words[count++] = slow;
    }
    if (options->jitter != NULL) {
        words[count++] = "--jitter";
        words[count++] = options->jitter;
    }
    if (options->graph_files[index] != NULL) {
        words[count++] = "--graphs";
        words[count++] = options->graph_files[index];
    }
    if (index == 0) {
        (void)snprintf(port, sizeof port, "%u", (unsigned)options->port);
        words[count++] = "--log";
        words[count++] = options->log_file;
        words[count++] = "--probability";
        words[count++] = options->probability;
        words[count++] = "--port";
        words[count++] = port;
    }
    return status == CPTI_EXIT_DONE ? start_service(services, index, words) : status;
}

int cpti_services_start(struct cpti_services *services,
                        const struct cpti_services_options *options)
{
    int status = CPTI_EXIT_DONE;

    for (unsigned i = 0; i < CPTI_SERVICE_COUNT; i++) {
        services->processes[i] = (struct cpti_demo_process){.output = -1};
    }
    for (unsigned i = CPTI_SERVICE_COUNT; i-- > 0 && status == CPTI_EXIT_DONE;) {
        status = start_one(services, options, i);
    }
    return status;
}

void cpti_services_end(struct cpti_services *services)
{
    for (unsigned i = 0; i < CPTI_SERVICE_COUNT; i++) {
        cpti_process_end(&services->processes[i], END_MS);
    }
}
