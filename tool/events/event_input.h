/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_input.h - files of lines, joined to requests
 *
 *      operands --> lines --> events --> requests, with what was left out
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_EVENT_INPUT_H
#define CPTI_CLI_EVENT_INPUT_H

#include "import/events/event_clocks.h"
#include "import/events/requests.h"
#include "import/lines/event_lines.h"

struct cpti_arguments;

/* Who else looks at what is read. */
struct cpti_event_visitor {
    void *context;
    /* Each event of @path. CPT_OK; a failure ends the file. */
    cpt_status (*event)(void *context, const struct cpti_event_lines *lines,
                        const char *path, const struct cpti_event *event);
    /* The end of @path, or of what could be read of it. */
    void (*end)(void *context, const struct cpti_event_lines *lines, const char *path);
};

struct cpti_event_input {
    struct cpti_requests *requests;
    struct cpti_sources *sources;             /* of --sources; NULL: none are given */
    struct cpti_event_lines_counts lines;     /* of all files */
    const struct cpti_event_visitor *visitor; /* or NULL */
};

/* Reads the operands of @arguments. enum cpti_exit: CPTI_EXIT_FAILED also if a part of
 * a file could not be read; then `requests` are what could. End it in any case. */
int cpti_event_input_read(struct cpti_event_input *input,
                          const struct cpti_arguments *arguments);

/* The same with @visitor, which outlives it; NULL: there is none. */
int cpti_event_input_visit(struct cpti_event_input *input,
                           const struct cpti_arguments *arguments,
                           const struct cpti_event_visitor *visitor);
void cpti_event_input_end(struct cpti_event_input *input);

/* Whether there is something to go on with, after @status of the reading. */
bool cpti_event_input_is_usable(const struct cpti_event_input *input, int status);

/* Whether a file that begins with the @bytes at @head may be one of lines: text, or
 * compressed. */
bool cpti_event_input_recognise(const unsigned char *head, size_t bytes);

/* Says which clocks differ. */
void cpti_event_input_tell_clocks(const struct cpti_event_input *input,
                                  const struct cpti_event_clocks *clocks);

/* Says what was read, and what was left out. */
void cpti_event_input_tell(const struct cpti_event_input *input);

#endif
