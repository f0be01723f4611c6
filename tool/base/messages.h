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
 * document. So is the first damage, a warning at a place, for a log that has no more.
 *
 * Threads: any; messages of a thread may be kept in a list of its own: workers say them
 * in the order of the jobs, a page and an answer of the web show them.
 */
#ifndef CPTI_CLI_MESSAGES_H
#define CPTI_CLI_MESSAGES_H

#include "tool/base/command.h"
#include "cpt/cpt_status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The program that says the messages, instead of "cpt"; borrowed. Before there are
 * other threads. */
void cpti_messages_from(const char *program);

/* In a format, once: what follows is the hint, what to do. It is printed as "; ". */
#define CPTI_HINT "\037"

/* Where something is wrong. What is 0 or NULL is not known. */
struct cpti_at {
    const char *file; /* as it is shown */
    uint64_t record;  /* from 1, that is at the byte */
    bool has_byte;
    uint64_t byte;
    unsigned line;
    unsigned column;
};

/* Prints "cpt: ", place and sentence on stderr: "cpt: FILE: at byte 7: sentence".
 * @status: CPTI_EXIT_DONE, of a warning, or that of an error, which is returned. */
int cpti_say(int status, struct cpti_at place, const char *format, ...)
    CPT_PRINTF(3, 4);

/* That something failed, for `return cpti_failed(…)`; and that behind a place. */
#define cpti_failed(...)    cpti_failed_at((struct cpti_at){0}, __VA_ARGS__)
#define cpti_failed_at(...) cpti_say(CPTI_EXIT_FAILED, __VA_ARGS__)

/* Prints the sentence of a @status that is not CPT_OK. enum cpti_exit. */
int cpti_status_exit(cpt_status status);

/* A mistake on the command line; at a column of an option's value. */
#define cpti_usage(...) cpti_say(CPTI_EXIT_USAGE, (struct cpti_at){0}, __VA_ARGS__)
#define cpti_usage_at(at, ...)                                                         \
    cpti_say(CPTI_EXIT_USAGE, (struct cpti_at){.line = 1, .column = (at)}, __VA_ARGS__)

/* A warning; one at a place, of damage; and what a command has done, which is neither
 * an error nor a warning. */
#define cpti_warn(...)    cpti_warn_at((struct cpti_at){0}, __VA_ARGS__)
#define cpti_warn_at(...) ((void)cpti_say(CPTI_EXIT_DONE, __VA_ARGS__))
#define cpti_told(...)    cpti_warn(__VA_ARGS__)

/* Lines below the message before, without "cpt: ": they show the place. Each ends with
 * "\n" and begins with a blank. */
void cpti_detail(const char *format, ...) CPT_PRINTF(1, 2);

/* A line of its own that goes on with the error before: a warning on stderr, of the
 * detail as a value. */
void cpti_below(const char *format, ...) CPT_PRINTF(1, 2);

enum { CPTI_ERROR_BYTES = 4096 /* of a text; the rest is cut */ };

/* An error as a value. Texts are empty if they are not known. */
struct cpti_error {
    char message[CPTI_ERROR_BYTES]; /* without place and hint */
    char hint[CPTI_ERROR_BYTES];
    char detail[CPTI_ERROR_BYTES]; /* the lines below it */
    char file[CPTI_ERROR_BYTES];   /* as it is shown */
    struct cpti_at place;          /* without the file */
};

/* The first error of all threads, or else the first damage; false: there was none. */
bool cpti_first_error(struct cpti_error *error);

/* --- Messages that are kept, to be shown elsewhere --- */

struct cpti_message {
    bool is_error;
    char *text;   /* the line on stderr without "cpt: " and its end */
    char *detail; /* the lines below, or NULL */
};

struct cpti_messages {
    struct cpti_message *items;
    size_t count;
    size_t capacity;
    bool is_silent; /* they are dropped */
};

/* Keeps the messages of this thread in @list from now on; without memory they go to
 * stderr. NULL: all go to stderr. */
void cpti_messages_to(struct cpti_messages *list);

/* The list of this thread, or NULL. If there is one, nothing else of the thread may go
 * to stderr either. */
struct cpti_messages *cpti_messages(void);

/* Says @list where the messages of this thread go. */
void cpti_messages_say(const struct cpti_messages *list);

bool cpti_messages_equal(const struct cpti_messages *a, const struct cpti_messages *b);

/* The last error, or else the last message; NULL: there is none. */
const struct cpti_message *cpti_messages_cause(const struct cpti_messages *list);

void cpti_messages_deinit(struct cpti_messages *list);

#endif
