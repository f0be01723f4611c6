/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * demo_process.h - the processes that cpt demo starts, and their end
 *
 * Whatever is started is ended: by cpti_process_end(), and by the system if the tool
 * itself is killed. A ^C or SIGTERM only sets a flag; every wait here looks at it.
 */
#ifndef CPTI_CLI_DEMO_PROCESS_H
#define CPTI_CLI_DEMO_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

enum { CPTI_PROCESS_LINE_BYTES = 256 };

/* A process of ours. Zero but for `output`, which is then -1, while there is none. */
struct cpti_process {
    const char *name; /* for messages */
    pid_t pid;
    int output; /* reads what it prints, or -1 */
};

/* From now on ^C, SIGTERM and SIGHUP set the flag. */
void cpti_stop_catch(void);

/* Whether somebody asked us to stop. */
int cpti_stop_asked(void);

/* Sleeps for @ms, or until somebody asks us to stop. */
void cpti_stop_wait(unsigned ms);

/*
 * Starts @words[0] with @words as its arguments, up to a NULL; its stdout is a pipe to
 * us. cpti_exit; a failure has been printed.
 */
int cpti_process_start(struct cpti_process *process, const char *name,
                       const char *const *words);

/* The next line that it prints within @timeout_ms, without its end. cpti_exit. */
int cpti_process_line(struct cpti_process *process, unsigned timeout_ms,
                      char line[CPTI_PROCESS_LINE_BYTES]);

/* SIGTERM, @grace_ms to end, SIGKILL; reaps it. Without a process it does nothing. */
void cpti_process_end(struct cpti_process *process, unsigned grace_ms);

/*
 * Runs a command to its end, found along PATH; its stdout goes to the file @output, or
 * (NULL) to ours. Its exit status; -1 if it could not be run or was killed.
 */
int cpti_process_run(const char *const *words, const char *output);

#endif
