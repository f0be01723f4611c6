/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_write.c - bytes to a descriptor that may be closed, full or stalled
 *
 *      regular file     written at once; a full disk is an error
 *      socket           MSG_DONTWAIT, then poll()
 *      pipe, FIFO       through a description of our own that does not block: whether
 *                       the given one blocks is shared with other processes, and not
 *                       ours to change
 *      any other        poll(), then as little as a device that is ready takes
 *
 * See log_write.h.
 */
#include "framework/service/log/log_write.h"

#include "cpt/base/now.h"
#include "framework/cpt_log_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SLICE_MS = 100, /* the deadline may change while a write waits */
    PROC_PATH_BYTES = 40
};

static _Thread_local const atomic_ullong *thread_deadline_ns;

void cpti_log_write_until(const atomic_ullong *deadline_ns)
{
    thread_deadline_ns = deadline_ns;
}

/* --- Signals --- */

/* What this thread blocked before a write, and which of ours waited for it already. */
struct guard {
    sigset_t before;
    sigset_t ours;
};

/* Blocks the signals by which the system answers a write. */
static void guard_begin(struct guard *guard)
{
    static const int numbers[] = {SIGPIPE, SIGXFSZ};
    sigset_t waiting;
    sigset_t all;

    (void)sigemptyset(&guard->ours);
    (void)sigemptyset(&all);
    (void)sigemptyset(&waiting);
    (void)sigpending(&waiting);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)sigaddset(&all, numbers[i]);
        if (sigismember(&waiting, numbers[i]) == 0) {
            (void)sigaddset(&guard->ours, numbers[i]);
        }
    }
    (void)pthread_sigmask(SIG_BLOCK, &all, &guard->before);
}

/* Takes what the write raised, and unblocks. Keeps errno. */
static void guard_end(const struct guard *guard, bool has_failed)
{
    const struct timespec zero = {0, 0};
    const int number = errno;

    while (has_failed && sigtimedwait(&guard->ours, NULL, &zero) > 0) {
    }
    (void)pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
    errno = number;
}

/* --- Descriptors --- */

/* Where to write, and how. */
struct outlet {
    int descriptor;
    int own; /* a description of the same pipe; -1: none */
    bool is_socket;
    bool is_polled; /* a write might wait: poll first, and write little */
};

static void outlet_open(struct outlet *outlet, int descriptor)
{
    const int flags = fcntl(descriptor, F_GETFL);
    char path[PROC_PATH_BYTES];
    struct stat about;

    *outlet = (struct outlet){.descriptor = descriptor, .own = -1};
    if (fstat(descriptor, &about) != 0 || S_ISREG(about.st_mode)) {
        return;
    }
    outlet->is_socket = S_ISSOCK(about.st_mode);
    if (outlet->is_socket || (flags >= 0 && (flags & O_NONBLOCK) != 0)) {
        return;
    }
    if (S_ISFIFO(about.st_mode)) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        outlet->own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    outlet->is_polled = outlet->own < 0;
}

static void outlet_close(const struct outlet *outlet)
{
    const int number = errno;

    if (outlet->own >= 0) {
        (void)close(outlet->own);
    }
    errno = number;
}

/* As poll() for @wait_ms. */
static bool is_ready(const struct outlet *outlet, int wait_ms)
{
    struct pollfd polled = {.fd = outlet->own >= 0 ? outlet->own : outlet->descriptor,
                            .events = POLLOUT};

    return poll(&polled, 1, wait_ms) > 0;
}

/* As write(), but never waits: then errno is EAGAIN. */
static ssize_t write_some(const struct outlet *outlet, const void *data, size_t bytes)
{
    if (outlet->is_socket) {
        return send(outlet->descriptor, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (outlet->is_polled) {
        if (!is_ready(outlet, 0)) {
            errno = EAGAIN;
            return -1;
        }
        bytes = bytes < PIPE_BUF ? bytes : PIPE_BUF;
    }
    return write(outlet->own >= 0 ? outlet->own : outlet->descriptor, data, bytes);
}

/* Waits until a write may take something. CPT_OK; CPT_TIMEOUT. */
static cpt_status await_room(const struct outlet *outlet, uint64_t fallback_ns)
{
    for (;;) {
        const uint64_t deadline_ns =
            thread_deadline_ns != NULL ? atomic_load(thread_deadline_ns) : fallback_ns;
        const uint64_t now_ns = cpti_now_ns();

        if (now_ns >= deadline_ns) {
            return CPT_TIMEOUT;
        }
        if (is_ready(outlet, deadline_ns - now_ns < SLICE_MS * UINT64_C(1000000)
                                 ? (int)((deadline_ns - now_ns) / 1000000u) + 1
                                 : SLICE_MS)) {
            return CPT_OK;
        }
    }
}

static cpt_status write_all(const struct outlet *outlet, const unsigned char *data,
                            size_t bytes, size_t *written)
{
    const uint64_t fallback_ns = cpti_now_ns() + CPTI_LOG_PATIENCE_NS;
    cpt_status status = CPT_OK;

    while (*written < bytes && status == CPT_OK) {
        const ssize_t count = write_some(outlet, data + *written, bytes - *written);

        if (count > 0) {
            *written += (size_t)count;
        } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            status = await_room(outlet, fallback_ns);
        } else if (count == 0 || errno != EINTR) {
            errno = count == 0 ? ENOSPC : errno;
            status = CPT_IO;
        }
    }
    return status;
}

cpt_status cpti_log_write(int descriptor, const void *data, size_t bytes,
                          size_t *written)
{
    struct outlet outlet;
    struct guard guard;
    cpt_status status = CPT_OK;

    *written = 0;
    guard_begin(&guard);
    outlet_open(&outlet, descriptor);
    status = write_all(&outlet, data, bytes, written);
    outlet_close(&outlet);
    guard_end(&guard, status != CPT_OK);
    return status;
}

void cpti_log_write_now(int descriptor, const void *data, size_t bytes)
{
    const int number = errno;
    struct outlet outlet;
    struct guard guard;
    ssize_t count = 0;

    guard_begin(&guard);
    outlet_open(&outlet, descriptor);
    count = write_some(&outlet, data, bytes);
    outlet_close(&outlet);
    guard_end(&guard, count != (ssize_t)bytes);
    errno = number;
}

/* --- The sink for one descriptor --- */

/*
 * Cuts off the first @written bytes of a block whose rest did not fit, so that the file
 * ends with a whole block. If another process has appended since, they stay, and
 * readers skip them. Keeps errno.
 */
static void take_back(int descriptor, size_t written)
{
    const int number = errno;
    const off_t end = lseek(descriptor, 0, SEEK_CUR);
    struct stat about;

    if (end >= (off_t)written && fstat(descriptor, &about) == 0 &&
        S_ISREG(about.st_mode) && about.st_size == end &&
        ftruncate(descriptor, end - (off_t)written) == 0) {
        (void)lseek(descriptor, end - (off_t)written, SEEK_SET);
    }
    errno = number;
}

cpt_status cpt_log_sink_descriptor(void *descriptor, const void *block, size_t bytes)
{
    const int number = *(const int *)descriptor;
    size_t written = 0;
    const cpt_status status = cpti_log_write(number, block, bytes, &written);

    if (status != CPT_OK && written != 0) {
        take_back(number, written);
    }
    return status;
}
