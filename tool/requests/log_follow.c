/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_follow.c - a log that is still being written; see log_follow.h */
#include "tool/requests/log_follow.h"

#include "tool/base/command.h"
#include "tool/requests/log_passing.h"
#include "tool/base/output.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ENDING ".cptlog"

/* The pause between two checks of the log, and the number of checks for its successor.
 */
static const struct timespec follow_pause = {0, 100000000};
enum { SUCCESSOR_TRIES = 10 };

/* --- The file at hand --- */

/* Whether the path of @input now names another file, or the file is shorter than what
 * was read from it. */
static bool is_replaced(const struct cpti_input *input)
{
    struct stat own;
    struct stat named;

    if (fstat(fileno(input->file), &own) != 0 || !S_ISREG(own.st_mode)) {
        return false;
    }
    if ((uint64_t)own.st_size < input->read_bytes) {
        return true;
    }
    return strcmp(input->path, "-") != 0 && stat(input->path, &named) == 0 &&
           (named.st_dev != own.st_dev || named.st_ino != own.st_ino);
}

static bool is_regular(const struct cpti_input *input)
{
    struct stat about;

    return fstat(fileno(input->file), &about) == 0 && S_ISREG(about.st_mode);
}

cpt_status cpti_log_read_following(void *context, void *buffer, size_t capacity,
                                   size_t *bytes)
{
    struct cpti_input *input = context;

    for (;;) {
        /* bytes that come between this and the read are seen at the next look */
        const uint64_t total_bytes = cpti_input_bytes(input);
        const bool was_replaced = is_replaced(input);
        const cpt_status status = cpti_input_read(input, buffer, capacity, bytes);

        /* a pipe ends; a file that did not grow may be finished */
        if (status != CPT_OK || *bytes != 0 || !is_regular(input) || was_replaced ||
            (cpti_input_bytes(input) == total_bytes && cpti_log_is_finished(input))) {
            return status;
        }
        (void)fflush(stdout);
        (void)nanosleep(&follow_pause, NULL);
        clearerr(input->file);
    }
}

/* --- The next one --- */

/* The parts of NAME-STAMP-PROCESS-NUMBER.cptlog, as framework/ names its logs. */
struct parts {
    size_t name_bytes; /* of NAME and its dash */
    const char *process;
    size_t process_bytes;
    uint64_t number;
};

/* Where the digits before @end begin; @end if there are none. */
static const char *digits_before(const char *text, const char *end)
{
    while (end > text && end[-1] >= '0' && end[-1] <= '9') {
        end--;
    }
    return end;
}

/* Reads the parts of the name @file. False if it is not of that form. */
static bool read_parts(const char *file, struct parts *parts)
{
    const size_t bytes = strlen(file);
    const char *end = file + bytes - strlen(ENDING);
    const char *number;
    const char *stamp;

    if (bytes < strlen(ENDING) || strcmp(end, ENDING) != 0) {
        return false;
    }
    number = digits_before(file, end);
    if (number == end || number - file < 2 || number[-1] != '-') {
        return false;
    }
    parts->process = digits_before(file, number - 1);
    parts->process_bytes = (size_t)(number - 1 - parts->process);
    if (parts->process_bytes == 0 || parts->process == file ||
        parts->process[-1] != '-') {
        return false;
    }
    stamp = parts->process - 1;
    while (stamp > file && strchr("0123456789TZ", stamp[-1]) != NULL) {
        stamp--;
    }
    parts->name_bytes = (size_t)(stamp - file);
    errno = 0;
    parts->number = strtoull(number, NULL, 10);
    return errno == 0 && stamp > file + 1 && stamp[-1] == '-' &&
           stamp != parts->process - 1;
}

/* Whether the log @next continues @own. */
static bool continues(const char *own_file, const struct parts *own,
                      const char *next_file, const struct parts *next)
{
    return next->number > own->number && next->name_bytes == own->name_bytes &&
           memcmp(next_file, own_file, own->name_bytes) == 0 &&
           next->process_bytes == own->process_bytes &&
           memcmp(next->process, own->process, own->process_bytes) == 0;
}

static char *join(const char *directory, size_t directory_bytes, const char *file)
{
    const size_t file_bytes = strlen(file) + 1;
    char *path = malloc(directory_bytes + file_bytes);

    if (path != NULL) {
        memcpy(path, directory, directory_bytes);
        memcpy(path + directory_bytes, file, file_bytes);
    }
    return path;
}

int cpti_log_next(const char *path, char **next)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    const size_t directory_bytes = (size_t)(file - path);
    char *directory = join(path, directory_bytes, directory_bytes == 0 ? "." : "");
    DIR *entries = directory != NULL ? opendir(directory) : NULL;
    const struct dirent *entry;
    uint64_t least = UINT64_MAX;
    struct parts own;

    *next = NULL;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        struct parts parts;

        if (read_parts(file, &own) && read_parts(entry->d_name, &parts) &&
            continues(file, &own, entry->d_name, &parts) && parts.number < least) {
            free(*next);
            *next = join(path, directory_bytes, entry->d_name);
            least = parts.number;
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    free(directory);
    return least != UINT64_MAX && *next == NULL ? cpti_failed("out of memory")
                                                : CPTI_EXIT_DONE;
}

int cpti_log_successor(struct cpti_input *input, char **path)
{
    const char *slash = strrchr(input->path, '/');
    const char *file = slash != NULL ? slash + 1 : input->path;
    struct parts parts;
    int status = CPTI_EXIT_DONE;

    *path = NULL;
    if (is_replaced(input)) {
        *path = strdup(input->path);
        return *path != NULL ? CPTI_EXIT_DONE : cpti_failed("out of memory");
    }
    if (!read_parts(file, &parts)) {
        return CPTI_EXIT_DONE;
    }
    (void)fflush(stdout);
    for (int i = 0; i < SUCCESSOR_TRIES && *path == NULL && status == CPTI_EXIT_DONE;
         i++) {
        if (i != 0) {
            (void)nanosleep(&follow_pause, NULL);
        }
        status = cpti_log_next(input->path, path);
    }
    return status;
}
