/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pem.h - whether a file of certificates is whole; inline, for HTTP and gRPC
 *
 * A file that is cut short may be taken for a good one: with fewer certificates, so
 * that clients are refused whose authority is missing, or that find no way to a root.
 * So each "-----BEGIN X-----" needs its end, and the last line its line end, unless it
 * is the end of a certificate. A file that was cut between two certificates shows
 * nothing of it; so one that is read again must also have been still for a second.
 */
#ifndef CPTI_PEM_H
#define CPTI_PEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    CPTI_PEM_LINE_BYTES = 80,
    CPTI_PEM_READ_BYTES = 4096,
    CPTI_PEM_LOOKS = 40, /* at a file that is being changed, … */
    CPTI_PEM_LOOK_MS = 100
};

/* What was read of a file. */
struct cpti_pem {
    char line[CPTI_PEM_LINE_BYTES]; /* that has no end yet: its beginning */
    size_t line_bytes;
    bool is_inside; /* behind a BEGIN */
    bool is_bad;
};

static inline bool cpti_pem_begins(const struct cpti_pem *pem, const char *with)
{
    const size_t bytes = strlen(with);

    return pem->line_bytes >= bytes && memcmp(pem->line, with, bytes) == 0;
}

/* The line is over; @has_end: by a line end, not by that of the file. */
static inline void cpti_pem_end_line(struct cpti_pem *pem, bool has_end)
{
    static const char dashes[] = "-----";
    bool is_marked = false;

    while (pem->line_bytes > 0 && strchr(" \t\r", pem->line[pem->line_bytes - 1])) {
        pem->line_bytes--;
    }
    is_marked =
        pem->line_bytes > 10 && memcmp(pem->line + pem->line_bytes - 5, dashes, 5) == 0;
    if (is_marked && cpti_pem_begins(pem, "-----BEGIN ")) {
        pem->is_bad |= pem->is_inside;
        pem->is_inside = true;
    } else if (is_marked && cpti_pem_begins(pem, "-----END ")) {
        pem->is_bad |= !pem->is_inside;
        pem->is_inside = false;
    } else {
        pem->is_bad |= !has_end && pem->line_bytes > 0;
    }
    pem->line_bytes = 0;
}

static inline void cpti_pem_take(struct cpti_pem *pem, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\n') {
            cpti_pem_end_line(pem, true);
        } else if (pem->line_bytes < CPTI_PEM_LINE_BYTES) {
            pem->line[pem->line_bytes++] = text[i];
        }
        pem->is_bad |= text[i] == '\0';
    }
}

/* Whether the open file is whole. Reads from its begin, and moves nothing. */
static inline bool cpti_pem_is_whole(int descriptor)
{
    struct cpti_pem pem = {.line_bytes = 0};
    char text[CPTI_PEM_READ_BYTES];
    off_t at = 0;
    ssize_t got = 0;

    while ((got = pread(descriptor, text, sizeof text, at)) > 0) {
        cpti_pem_take(&pem, text, (size_t)got);
        at += got;
    }
    cpti_pem_end_line(&pem, false);
    return got == 0 && !pem.is_bad && !pem.is_inside;
}

/* Whether @file, which may be NULL or missing, was not changed within the last second.
 * A time in the future is that of a clock that was set. */
static inline bool cpti_pem_is_still(const char *file)
{
    struct stat about;
    struct timespec now;
    int64_t age_ns = 0;

    if (file == NULL || stat(file, &about) != 0 ||
        clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return true;
    }
    age_ns = (int64_t)(now.tv_sec - about.st_mtim.tv_sec) * 1000000000 +
             (now.tv_nsec - about.st_mtim.tv_nsec);
    return age_ns < 0 || age_ns >= 1000000000;
}

/* Waits a moment for files that are being changed. */
static inline void cpti_pem_wait(void)
{
    const struct timespec moment = {.tv_nsec = CPTI_PEM_LOOK_MS * 1000000L};

    (void)nanosleep(&moment, NULL);
}

#endif
