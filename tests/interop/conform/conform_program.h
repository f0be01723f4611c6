/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_program.h - a command as a process: one line out, one line back
 *
 * The command is run by the shell, in a process group of its own, which is ended with
 * it. Each answer has a time limit and a length limit. Its messages go to our stderr.
 *
 * Threads: one.
 */
#ifndef CPTI_CONFORM_PROGRAM_H
#define CPTI_CONFORM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CPTI_CONFORM_FAULT_BYTES = 120 };

struct cpti_conform_program {
    const char *command;                  /* borrowed */
    uint64_t timeout_ns;                  /* for one answer */
    pid_t pid;                            /* 0: it does not run */
    int to;                               /* its standard input; -1: closed */
    int from;                             /* its standard output */
    uint64_t number;                      /* of the last line that was sent */
    char *answer;                         /* room for the longest one */
    size_t answer_bytes;                  /* that have come */
    char fault[CPTI_CONFORM_FAULT_BYTES]; /* why there was no answer */
};

/* Starts the command. False: see fault. */
bool cpti_conform_program_start(struct cpti_conform_program *program);

/* Sends @line with its number and waits for the answer; returns what stands behind the
 * number, valid until the next call. NULL: there was none, see fault; the program has
 * been ended. */
const char *cpti_conform_program_ask(struct cpti_conform_program *program,
                                     const char *line);

/* Closes its input and waits for its end. False: it did not end, or not well; see
 * fault. */
bool cpti_conform_program_finish(struct cpti_conform_program *program);

/* Ends it, if it runs, and frees. */
void cpti_conform_program_deinit(struct cpti_conform_program *program);

#endif
