/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * messages.h - what the tool says beside its results: errors and warnings
 *
 *      cpti_failed_at(place, "no trace"CPTI_HINT"give spans")
 *         |-> stderr   cpt: a.json: at byte 7: no trace; give spans
 *         '-> a value  {"message": "no trace", "file": "a.json", … "hint": "give …"}
 *
 * A message is printed at once. The first error, the cause of others, is kept as a
 * value, too, for programs that want JSON: main.c prints it where they look for the
 * document.
 *
 * Threads: any; messages of a thread may go to a file of its own.
 */
#ifndef CPTI_CLI_MESSAGES_H
#define CPTI_CLI_MESSAGES_H

#include "cpt/cpt_status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* In a format, once: what follows is the hint, what to do. It is printed as "; ". */
#define CPTI_HINT "\037"

/* Where something is wrong. What is 0 or NULL is not known. */
struct cpti_at {
    const char *file; /* as it is shown */
    bool has_byte;
    uint64_t byte;
    unsigned line;
    unsigned column;
};

/* Prints "cpt: " and the sentence on stderr. Returns CPTI_EXIT_FAILED, for
 * `return cpti_failed(…)`. */
int cpti_failed(const char *format, ...) CPT_PRINTF(1, 2);

/* The same behind the place: "cpt: FILE: at byte 7: sentence". */
int cpti_failed_at(struct cpti_at place, const char *format, ...) CPT_PRINTF(2, 3);

/* The same for a mistake on the command line; returns CPTI_EXIT_USAGE. */
int cpti_usage(const char *format, ...) CPT_PRINTF(1, 2);

/* The same for one at a column of an option's value. */
int cpti_usage_at(unsigned column, const char *format, ...) CPT_PRINTF(2, 3);

/* The same for a warning. */
void cpti_warn(const char *format, ...) CPT_PRINTF(1, 2);

/* Sends the messages of this thread to @file from now on; NULL: to stderr. */
void cpti_messages_to(FILE *file);

/* Where the messages of this thread go: for what is printed beside a message. */
FILE *cpti_messages(void);

/* Whether the messages of this thread go to a file; then nothing else of it may go to
 * stderr either. */
bool cpti_messages_are_apart(void);

enum { CPTI_ERROR_BYTES = 4096 /* of a text; the rest is cut */ };

/* An error as a value. Texts are empty if they are not known. */
struct cpti_error {
    char message[CPTI_ERROR_BYTES]; /* without place and hint */
    char hint[CPTI_ERROR_BYTES];
    char file[CPTI_ERROR_BYTES];
    struct cpti_at place; /* without the file */
};

/* The first error of all threads; false: there was none. */
bool cpti_first_error(struct cpti_error *error);

#endif
