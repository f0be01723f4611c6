/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * demo_process.h - the processes that cpt demo starts and ends
 *
 * Every process that is started is ended: by cpti_process_end(), or by the system if
 * the tool itself is killed. A ^C or SIGTERM only sets a flag; every wait here checks
 * it.
 */
#ifndef CPTI_CLI_DEMO_PROCESS_H
#define CPTI_CLI_DEMO_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

enum { CPTI_PROCESS_LINE_BYTES = 256 };

/* A child process. Without one all is zero but `output`, which is -1. */
struct cpti_demo_process {
    const char *name; /* for messages */
    pid_t pid;
    int output; /* the reading end of its stdout, or -1 */
};

/* From now on ^C, SIGTERM and SIGHUP set the flag. */
void cpti_stop_catch(void);

/* Whether one of these signals came. */
bool cpti_stop_asked(void);

/* Sleeps for @ms, or until cpti_stop_asked(). */
void cpti_stop_wait(unsigned ms);

/*
 * Starts @words[0] with the arguments @words, up to a NULL; its stdout is a pipe to
 * this process. enum cpti_exit; a failure has been printed.
 */
int cpti_process_start(struct cpti_demo_process *process, const char *name,
                       const char *const *words);

/* Reads the next line that it prints within @timeout_ms, without the newline. enum
 * cpti_exit. */
int cpti_process_line(struct cpti_demo_process *process, unsigned timeout_ms,
                      char line[CPTI_PROCESS_LINE_BYTES]);

/* Sends SIGTERM, waits @grace_ms, sends SIGKILL, reaps. Without a process does
 * nothing. */
void cpti_process_end(struct cpti_demo_process *process, unsigned grace_ms);

/*
 * Runs a command, found along PATH, to its end; its stdout is the file @output, or ours
 * if @output is NULL. Returns its exit status; -1 if it could not be run or was killed.
 */
int cpti_process_run(const char *const *words, const char *output);

#endif
