/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_program.c - see conform_program.h
 *
 * Both pipes do not block: a program that answers before it has read its line, or reads
 * nothing at all, must not stop us.
 */
#include "tests/interop/conform/conform_program.h"

#include "tool/base/output.h"
#include "tests/interop/conform/conform_case.h"
#include "cpt/base/now.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { NOT_FOUND = 127, STEP_MS = 20, NUMBER_BYTES = 24 };

static const uint64_t grace_ns = 2000000000; /* from the end of its output to its own */

static bool fault(struct cpti_conform_program *program, const char *format, ...)
    CPT_PRINTF(2, 3);

static bool fault(struct cpti_conform_program *program, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(program->fault, sizeof program->fault, format, arguments);
    va_end(arguments);
    return false;
}

/* --- Begin and end --- */

/* The child; calls only what is safe after fork(). */
static _Noreturn void become(const char *command, int in, int out)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    (void)sigaction(SIGPIPE, &action, NULL);
    (void)setpgid(0, 0);
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    }
    _exit(NOT_FOUND);
}

static void close_end(int *end)
{
    if (*end >= 0) {
        (void)close(*end);
    }
    *end = -1;
}

bool cpti_conform_program_start(struct cpti_conform_program *program)
{
    int in[2];
    int out[2];

    program->answer_bytes = 0;
    program->to = -1;
    program->from = -1;
    if (program->answer == NULL) {
        program->answer = malloc(CPTI_CONFORM_LINE_BYTES + 1);
    }
    if (program->answer == NULL || pipe2(in, O_CLOEXEC) != 0) {
        return fault(program, "could not be started: %s", strerror(errno));
    }
    if (pipe2(out, O_CLOEXEC) != 0) {
        close_end(&in[0]);
        close_end(&in[1]);
        return fault(program, "could not be started: %s", strerror(errno));
    }
    (void)fflush(NULL);
    program->pid = fork();
    if (program->pid == 0) {
        become(program->command, in[0], out[1]);
    }
    close_end(&in[0]);
    close_end(&out[1]);
    program->to = in[1];
    program->from = out[0];
    (void)fcntl(program->to, F_SETFL, O_NONBLOCK);
    (void)fcntl(program->from, F_SETFL, O_NONBLOCK);
    if (program->pid < 0) {
        program->pid = 0;
        close_end(&program->to);
        close_end(&program->from);
        return fault(program, "could not be started: %s", strerror(errno));
    }
    (void)setpgid(program->pid, program->pid); /* as the child does */
    return true;
}

/* Waits up to @limit_ns for its end, then ends it. Returns its status by waitpid(), or
 * -1 if it had to be ended. */
static int reap(struct cpti_conform_program *program, uint64_t limit_ns)
{
    const uint64_t start_ns = cpti_now_ns();
    int status = -1;
    pid_t ended = 0;

    close_end(&program->to);
    while ((ended = waitpid(program->pid, &status, WNOHANG)) == 0 &&
           cpti_now_ns() - start_ns < limit_ns) {
        (void)poll(NULL, 0, STEP_MS);
    }
    (void)kill(-program->pid, SIGKILL); /* and what it has started */
    if (ended == 0) {
        while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        status = -1;
    }
    close_end(&program->from);
    program->pid = 0;
    return status;
}

/* Describes how it ended. */
static bool fault_of(struct cpti_conform_program *program, int status)
{
    if (status == -1) {
        return fault(program, "closed its output and did not end");
    }
    if (WIFSIGNALED(status)) {
        return fault(program, "ended by signal %d (%s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
    }
    return fault(program, "ended with exit status %d", WEXITSTATUS(status));
}

bool cpti_conform_program_finish(struct cpti_conform_program *program)
{
    const int status = reap(program, program->timeout_ns);

    if (status == -1) {
        return fault(program, "did not end when its input did");
    }
    return status == 0 || fault_of(program, status);
}

void cpti_conform_program_deinit(struct cpti_conform_program *program)
{
    if (program->pid != 0) {
        (void)reap(program, 0);
    }
    free(program->answer);
    program->answer = NULL;
}

/* --- A line out, a line back --- */

/* What has been sent. */
struct sending {
    const char *text;
    size_t bytes;
    size_t sent;
};

/* Sends what the pipe takes. A program that does not read may answer all the same. */
static void send_more(struct cpti_conform_program *program, struct sending *sending)
{
    const ssize_t bytes = write(program->to, sending->text + sending->sent,
                                sending->bytes - sending->sent);

    if (bytes > 0) {
        sending->sent += (size_t)bytes;
    } else if (bytes < 0 && errno != EAGAIN && errno != EINTR) {
        sending->sent = sending->bytes; /* it reads no more: its output will end */
    }
}

/* Reads what has come, and notes when the line is whole. False at a fault. */
static bool take_more(struct cpti_conform_program *program, bool *is_whole)
{
    const size_t room = CPTI_CONFORM_LINE_BYTES - program->answer_bytes;
    const ssize_t bytes =
        read(program->from, program->answer + program->answer_bytes, room);
    char *end = NULL;

    if (bytes == 0) {
        return fault_of(program, reap(program, grace_ns));
    }
    if (bytes < 0) {
        return errno == EAGAIN || errno == EINTR ||
               fault(program, "cannot be read: %s", strerror(errno));
    }
    end = memchr(program->answer + program->answer_bytes, '\n', (size_t)bytes);
    program->answer_bytes += (size_t)bytes;
    if (end == NULL && program->answer_bytes == CPTI_CONFORM_LINE_BYTES) {
        return fault(program, "answered with more than %d bytes",
                     (int)CPTI_CONFORM_LINE_BYTES);
    }
    if (end != NULL && end + 1 != program->answer + program->answer_bytes) {
        return fault(program, "answered with more than one line");
    }
    if (end != NULL) {
        *is_whole = true;
        *end = '\0';
        if (end != program->answer && end[-1] == '\r') {
            end[-1] = '\0';
        }
    }
    return true;
}

/* Sends and takes until the answer is whole. */
static bool exchange(struct cpti_conform_program *program, struct sending *sending)
{
    const uint64_t start_ns = cpti_now_ns();
    bool is_whole = false;

    program->answer_bytes = 0;
    while (!is_whole) {
        struct pollfd ends[2] = {{.fd = program->from, .events = POLLIN},
                                 {.fd = program->to, .events = POLLOUT}};
        const bool has_more = sending->sent < sending->bytes;

        if (cpti_now_ns() - start_ns > program->timeout_ns) {
            return fault(program, "did not answer within %" PRIu64 " ms",
                         program->timeout_ns / 1000000);
        }
        if (poll(ends, has_more ? 2 : 1, STEP_MS) <= 0) {
            continue;
        }
        if (has_more && ends[1].revents != 0) {
            send_more(program, sending);
        }
        if (ends[0].revents != 0 && !take_more(program, &is_whole)) {
            return false;
        }
    }
    return true;
}

/* What stands behind the number of the line, or NULL. */
static const char *behind_number(struct cpti_conform_program *program)
{
    char number[NUMBER_BYTES];
    const int bytes = snprintf(number, sizeof number, "%" PRIu64 " ", program->number);

    if (strncmp(program->answer, number, (size_t)bytes) != 0) {
        (void)fault(program, "answered '%.40s', not '%s…'",
                    cpti_printable((struct cpt_bytes){program->answer,
                                                      strnlen(program->answer, 20)}),
                    number);
        return NULL;
    }
    return program->answer + bytes;
}

const char *cpti_conform_program_ask(struct cpti_conform_program *program,
                                     const char *line)
{
    const size_t capacity = strlen(line) + NUMBER_BYTES + 2;
    char *text = malloc(capacity);
    struct sending sending = {.text = text};
    const char *answer = NULL;

    if (text == NULL) {
        (void)fault(program, "out of memory");
    } else {
        program->number++;
        sending.bytes =
            (size_t)snprintf(text, capacity, "%" PRIu64 " %s\n", program->number, line);
        if (exchange(program, &sending)) {
            answer = behind_number(program);
        }
    }
    free(text);
    if (answer == NULL && program->pid != 0) {
        (void)reap(program, 0);
    }
    return answer;
}
