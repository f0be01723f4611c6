/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* demo_process.c - the processes that cpt demo starts; see demo_process.h */
#include "tool/demo/demo_process.h"

#include "tool/base/command.h"
#include "tool/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

/* Exit status of a child that could not run the program, as in a shell. */
enum { NOT_FOUND = 127, STEP_MS = 20 };

static volatile sig_atomic_t is_stop_asked;

static void note_stop(int number)
{
    (void)number;
    is_stop_asked = 1;
}

void cpti_stop_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note_stop};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)sigaction(numbers[i], &action, NULL);
    }
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
}

bool cpti_stop_asked(void)
{
    return is_stop_asked != 0;
}

void cpti_stop_wait(unsigned ms)
{
    for (unsigned slept = 0; slept < ms && !cpti_stop_asked(); slept += STEP_MS) {
        (void)poll(NULL, 0, STEP_MS);
    }
}

/* Runs the program in the child; calls only what is safe after fork(). */
static _Noreturn void become(const char *const *words, int output, pid_t parent)
{
    const char message[] = ": could not be run\n";
    struct sigaction action = {.sa_handler = SIG_DFL};

    (void)sigaction(SIGPIPE, &action, NULL);
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (getppid() == parent && (output < 0 || dup2(output, STDOUT_FILENO) >= 0)) {
        /* execvp() does not change its words; the cast only satisfies its type. */
        char *const *arguments = (char *const *)(const void *)words;

        (void)execvp(words[0], arguments);
        (void)!write(STDERR_FILENO, words[0], strlen(words[0]));
        (void)!write(STDERR_FILENO, message, sizeof message - 1);
    }
    _exit(NOT_FOUND);
}

int cpti_process_start(struct cpti_demo_process *process, const char *name,
                       const char *const *words)
{
    const pid_t parent = getpid();
    int ends[2];

    *process = (struct cpti_demo_process){.name = name, .output = -1};
    (void)fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return cpti_failed("pipe: %s", strerror(errno));
    }
    process->pid = fork();
    if (process->pid == 0) {
        become(words, ends[1], parent);
    }
    (void)close(ends[1]);
    if (process->pid < 0) {
        process->pid = 0;
        (void)close(ends[0]);
        return cpti_failed("fork: %s", strerror(errno));
    }
    process->output = ends[0];
    return CPTI_EXIT_DONE;
}

int cpti_process_line(struct cpti_demo_process *process, unsigned timeout_ms,
                      char line[CPTI_PROCESS_LINE_BYTES])
{
    size_t bytes = 0;
    unsigned waited = 0;

    while (bytes < CPTI_PROCESS_LINE_BYTES - 1 && !cpti_stop_asked()) {
        struct pollfd pollfd = {.fd = process->output, .events = POLLIN};
        const int ready = poll(&pollfd, 1, STEP_MS);

        if (ready <= 0) {
            waited += STEP_MS;
            if (waited > timeout_ms) {
                return cpti_failed("service %s printed nothing for %u ms",
                                   process->name, timeout_ms);
            }
            continue;
        }
        if (read(process->output, line + bytes, 1) != 1) {
            return cpti_failed("service %s ended while starting", process->name);
        }
        if (line[bytes] == '\n') {
            line[bytes] = '\0';
            return CPTI_EXIT_DONE;
        }
        bytes++;
    }
    return CPTI_EXIT_FAILED;
}

/* Whether the process ends within @timeout_ms; if so, reaps it. */
static bool has_ended(pid_t pid, unsigned timeout_ms)
{
    for (unsigned waited = 0;; waited += STEP_MS) {
        const pid_t ended = waitpid(pid, NULL, WNOHANG);

        if (ended == pid || (ended < 0 && errno != EINTR)) {
            return true;
        }
        if (waited >= timeout_ms) {
            return false;
        }
        (void)poll(NULL, 0, STEP_MS);
    }
}

void cpti_process_end(struct cpti_demo_process *process, unsigned grace_ms)
{
    if (process->pid > 0 && !has_ended(process->pid, 0)) {
        (void)kill(process->pid, SIGTERM);
        if (!has_ended(process->pid, grace_ms)) {
            cpti_warn("service %s did not end within %u ms and is killed",
                      process->name, grace_ms);
            (void)kill(process->pid, SIGKILL);
            (void)waitpid(process->pid, NULL, 0);
        }
    }
    if (process->output >= 0) {
        (void)close(process->output);
    }
    *process = (struct cpti_demo_process){.name = process->name, .output = -1};
}

int cpti_process_run(const char *const *words, const char *output)
{
    const pid_t parent = getpid();
    int status = 0;
    int file = -1;
    pid_t pid;

    (void)fflush(NULL);
    if (output != NULL) {
        file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (file < 0) {
            (void)cpti_failed_at((struct cpti_at){.file = cpti_quoted(output)}, "%s",
                                 strerror(errno));
            return -1;
        }
    }
    pid = fork();
    if (pid == 0) {
        become(words, file, parent);
    }
    if (file >= 0) {
        (void)close(file);
    }
    if (pid < 0) {
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        if (cpti_stop_asked()) {
            (void)kill(pid, SIGTERM);
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
