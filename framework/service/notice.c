/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * notice.c - notices to the operator, and the default one: a line to standard error
 *
 * The line is written as a sink's block is (log_write.h), but without waiting: a
 * terminal that was stopped, or a pipe that nothing reads, must not stop a request. It
 * fits into what a pipe takes in one piece, so lines of several processes never mix.
 */
#include "framework/service/notice.h"

#include "cpt/cpt_path.h"
#include "framework/service/log/log_write.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each is cut to this when it is printed: names and sentences may be longer, and
 * escaped bytes take four. */
enum { NAME_SHOWN_BYTES = 200, SENTENCE_SHOWN_BYTES = 900, LINE_BYTES = 2000 };

/* --- At a limited rate --- */

void cpti_notice_limit_init(struct cpti_notice_limit *limit, double per_second)
{
    cpti_bucket_init(&limit->bucket, per_second);
    atomic_init(&limit->untold_count, 0);
}

void cpti_notice_tell(struct cpti_notice_limit *limit, uint64_t now_ns,
                      cpt_notice_fn notify, void *context, struct cpt_notice *notice)
{
    if (!cpti_bucket_take(&limit->bucket, now_ns)) {
        (void)atomic_fetch_add_explicit(&limit->untold_count, notice->count,
                                        memory_order_relaxed);
        return;
    }
    notice->untold_count = cpti_notice_untold(limit);
    notify(context, notice);
}

uint64_t cpti_notice_untold(struct cpti_notice_limit *limit)
{
    return atomic_load_explicit(&limit->untold_count, memory_order_relaxed) == 0
               ? 0
               : atomic_exchange_explicit(&limit->untold_count, 0,
                                          memory_order_relaxed);
}

/* --- The default --- */

/* Whether standard error is meant for people. A program that closed it may have got a
 * connection in its place; a journal's is a socket of the system. */
static bool is_for_people(int descriptor)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof address;
    struct stat about;

    if (fstat(descriptor, &about) != 0 || S_ISBLK(about.st_mode)) {
        return false;
    }
    return !S_ISSOCK(about.st_mode) ||
           (getsockname(descriptor, (struct sockaddr *)&address, &bytes) == 0 &&
            address.ss_family == AF_UNIX);
}

/* Of a request of which no method is known. */
static int write_refused(const struct cpt_notice *notice, char *line, size_t capacity)
{
    char service[NAME_SHOWN_BYTES];
    char with[32] = "";

    (void)cpt_text_name(notice->service, service, sizeof service);
    if (notice->http_status != 0) {
        (void)snprintf(with, sizeof with, " with %u", notice->http_status);
    }
    return snprintf(line, capacity, "cpt: %s: a client was refused%s (%s): ", service,
                    with, notice->reason);
}

/* What the notice is about, in front of its sentence. Returns its bytes. */
static size_t write_front(const struct cpt_notice *notice, char *line, size_t capacity)
{
    char service[NAME_SHOWN_BYTES];
    char method[NAME_SHOWN_BYTES];
    char with[16];
    int bytes = 0;

    if (notice->kind == CPT_NOTICE_LOG_LOSS) {
        bytes = snprintf(line, capacity,
                         "cpt: %" PRIu64 " records lost (%s): ", notice->count,
                         notice->reason);
    } else if (notice->kind == CPT_NOTICE_SETTINGS) {
        bytes = snprintf(line, capacity, "cpt: settings %s: ", notice->reason);
    } else if (notice->kind == CPT_NOTICE_REFUSAL && notice->method.bytes == 0) {
        bytes = write_refused(notice, line, capacity);
    } else if (notice->kind == CPT_NOTICE_TARGET) {
        bytes = snprintf(line, capacity, "cpt: %s: ", notice->reason);
    } else if (notice->http_status == 0) {
        (void)cpt_text_name(notice->service, service, sizeof service);
        bytes = snprintf(line, capacity, "cpt: %s: %" PRIu64 " more (%s): ", service,
                         notice->count, notice->reason);
    } else {
        (void)cpt_text_name(notice->service, service, sizeof service);
        (void)cpt_text_name(notice->method, method, sizeof method);
        (void)snprintf(with, sizeof with, "%u", notice->http_status);
        bytes =
            snprintf(line, capacity, "cpt: %s: %s %s with %s (%s): ", service, method,
                     notice->kind == CPT_NOTICE_REFUSAL ? "refused" : "failed",
                     notice->outcome != NULL ? notice->outcome : with, notice->reason);
    }
    return bytes > 0 ? (size_t)bytes : 0;
}

/* A sentence may have a ';', which only separates the frames of stacks. */
static void show_semicolons(char *text)
{
    size_t kept = 0;

    for (size_t at = 0; text[at] != '\0'; kept++) {
        const bool is_semicolon = strncmp(text + at, "\\x3b", 4) == 0;

        text[kept] = is_semicolon ? ';' : text[at];
        at += is_semicolon ? 4 : 1;
    }
    text[kept] = '\0';
}

void cpt_notice_print(void *context, const struct cpt_notice *notice)
{
    char sentence[SENTENCE_SHOWN_BYTES];
    char more[64] = "";
    char line[LINE_BYTES];
    size_t bytes = 0;

    (void)context;
    if (!is_for_people(STDERR_FILENO)) {
        return;
    }
    (void)cpt_text_name(notice->sentence, sentence, sizeof sentence);
    show_semicolons(sentence);
    if (notice->untold_count != 0) {
        (void)snprintf(more, sizeof more, "; %" PRIu64 " more like it",
                       notice->untold_count);
    }
    bytes = write_front(notice, line, sizeof line);
    bytes +=
        (size_t)snprintf(line + bytes, sizeof line - bytes, "%s%s\n", sentence, more);
    cpti_log_write_now(STDERR_FILENO, line, bytes);
}
