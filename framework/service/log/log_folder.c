/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_folder.c - the directory of a log: names and removal; see log_folder.h */
#include "framework/service/log/log_folder.h"

#include "cpt/cpt_clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    NAME_TRIES_MAX = 1000, /* numbers in a row that are taken already */
    STAMP_BYTES = 32,
    FILE_MODE_DEFAULT = 0644,
    NUMBER_DIGITS = 9,      /* at least; fewer are those of earlier versions, … */
    NUMBER_DIGITS_MIN = 6,  /* … which had at least 6 */
    NUMBER_DIGITS_MAX = 18, /* a longer number is none of ours */
    LISTED_MAX = 1 << 20    /* files of one log; more are not looked at */
};

/* Numbers go on from the largest that is there, but for one that leaves no room. */
#define NUMBER_MAX UINT64_C(100000000000000000)

/* --- Names --- */

static char *copy_text(const struct cpt_alloc *alloc, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = cpt_alloc_zeroed(alloc, bytes);

    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

/* A file of the log, by its name. */
struct listed {
    char *entry;
    uint64_t number;
    bool is_numbered; /* its number goes on from process to process */
    uint64_t bytes;
};

/* Goes over the stamp of name_file() at *@at; false: it is none. */
static bool skip_stamp(const char **at)
{
    static const char pattern[] = "00000000T000000Z";

    for (size_t i = 0; i < sizeof pattern - 1; i++) {
        if (pattern[i] == '0' ? (*at)[i] < '0' || (*at)[i] > '9'
                              : (*at)[i] != pattern[i]) {
            return false;
        }
    }
    *at += sizeof pattern - 1;
    return true;
}

/* Reads the name @entry. Whether it is one of the log's: its name, -STAMP-PID-NUMBER
 * and its ending. A log whose name begins alike ("A" and "A-old") has other characters
 * there, and so have files that people put beside it ("A-2026-11-27.cptlog"): what is
 * taken for one of the log's may be removed. */
static bool read_name(const struct cpti_log_folder *folder, const char *entry,
                      struct listed *listed)
{
    const char *name = folder->name;
    const size_t name_bytes = strlen(name);
    const char *at = entry + name_bytes;
    size_t digits = 0;

    if (strncmp(entry, name, name_bytes) != 0 || at[0] != '-') {
        return false;
    }
    at++;
    if (!skip_stamp(&at)) {
        return false;
    }
    for (int part = 0; part < 2; part++) {
        digits = *at == '-' ? strspn(at + 1, "0123456789") : 0;
        if (digits == 0) {
            return false;
        }
        at += 1 + digits;
    }
    if (strcmp(at, folder->ending) != 0 || digits < NUMBER_DIGITS_MIN ||
        digits > NUMBER_DIGITS_MAX) {
        return false;
    }
    listed->number = strtoull(at - digits, NULL, 10);
    listed->is_numbered = digits >= NUMBER_DIGITS;
    return true;
}

static void name_file(struct cpti_log_folder *folder, char entry[CPTI_LOG_ENTRY_BYTES])
{
    const time_t now = (time_t)(cpt_clock_unix_ns() / 1000000000u);
    struct tm parts = {0};
    char stamp[STAMP_BYTES] = "";

    (void)gmtime_r(&now, &parts);
    (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &parts);
    (void)snprintf(entry, CPTI_LOG_ENTRY_BYTES, "%s-%s-%ld-%0*" PRIu64 "%s",
                   folder->name, stamp, (long)getpid(), NUMBER_DIGITS,
                   folder->next_number, folder->ending);
    folder->next_number++;
}

/* --- The directory --- */

cpt_status cpti_log_folder_init(struct cpti_log_folder *folder,
                                const struct cpt_alloc *alloc, const char *directory,
                                const char *name)
{
    *folder = (struct cpti_log_folder){.alloc = alloc,
                                       .ending = CPTI_LOG_ENDING_PATHS,
                                       .descriptor = -1,
                                       .origin = AT_FDCWD};
    if (directory[0] != '/') {
        folder->origin = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        folder->origin = folder->origin >= 0 ? folder->origin : AT_FDCWD;
    }
    folder->directory = copy_text(alloc, directory);
    folder->name = copy_text(alloc, name);
    return folder->directory != NULL && folder->name != NULL ? CPT_OK : CPT_NO_MEMORY;
}

void cpti_log_folder_deinit(struct cpti_log_folder *folder)
{
    if (folder->descriptor >= 0) {
        (void)close(folder->descriptor);
    }
    if (folder->origin >= 0) {
        (void)close(folder->origin);
    }
    cpt_alloc_free(folder->alloc, folder->directory);
    cpt_alloc_free(folder->alloc, folder->name);
}

/*
 * Opens what has the directory's name now: it may have been moved away, and another one
 * put in its place. The one that was opened before is good for as long as it is
 * somewhere, if there is none of that name, or it cannot be reached any more.
 */
static bool open_directory(struct cpti_log_folder *folder)
{
    const int named =
        openat(folder->origin, folder->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int number = errno;
    struct stat about;

    if (named < 0 && folder->descriptor >= 0 &&
        fstat(folder->descriptor, &about) == 0 && about.st_nlink != 0) {
        return true;
    }
    if (folder->descriptor >= 0) {
        (void)close(folder->descriptor);
    }
    folder->descriptor = named;
    errno = number;
    return named >= 0;
}

/* A descriptor of the directory that can be read and synchronised; or -1. */
static int reopen_directory(const struct cpti_log_folder *folder)
{
    return openat(folder->descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void cpti_log_folder_sync(const struct cpti_log_folder *folder)
{
    const int descriptor = reopen_directory(folder);

    if (descriptor >= 0) {
        (void)fsync(descriptor);
        (void)close(descriptor);
    }
}

/* Calls @meet for each file of the log. */
static void each_file(const struct cpti_log_folder *folder,
                      void (*meet)(void *context, const char *entry,
                                   const struct listed *listed),
                      void *context)
{
    const int descriptor = reopen_directory(folder);
    DIR *directory = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    const struct dirent *entry = NULL;
    struct listed listed = {0};

    if (directory == NULL) {
        if (descriptor >= 0) {
            (void)close(descriptor);
        }
        return;
    }
    while ((entry = readdir(directory)) != NULL) {
        if (read_name(folder, entry->d_name, &listed)) {
            meet(context, entry->d_name, &listed);
        }
    }
    (void)closedir(directory);
}

/* --- A new file --- */

static void meet_number(void *context, const char *entry, const struct listed *listed)
{
    uint64_t *next = context;

    (void)entry;
    if (listed->is_numbered && listed->number >= *next && listed->number < NUMBER_MAX) {
        *next = listed->number + 1;
    }
}

/*
 * Locks the file that was just created. Before that another process may have found it
 * unlocked, and removed it: false, the file is lost. Some network file systems have no
 * locks; there the file is not protected.
 */
static bool lock_file(int descriptor)
{
    struct stat about;

    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return false;
    }
    return fstat(descriptor, &about) != 0 || about.st_nlink != 0;
}

int cpti_log_folder_create(struct cpti_log_folder *folder,
                           char entry[CPTI_LOG_ENTRY_BYTES])
{
    const mode_t mode =
        folder->file_mode != 0 ? folder->file_mode : (mode_t)FILE_MODE_DEFAULT;

    if (!open_directory(folder)) {
        const int number = errno;

        name_file(folder, entry);
        errno = number;
        return -1;
    }
    each_file(folder, meet_number, &folder->next_number);
    for (int tries = 0; tries < NAME_TRIES_MAX; tries++) {
        int descriptor = -1;

        name_file(folder, entry);
        descriptor = openat(folder->descriptor, entry,
                            O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, mode);
        if (descriptor < 0 && errno != EEXIST) {
            return -1;
        }
        if (descriptor >= 0 && lock_file(descriptor)) {
            if (folder->file_mode != 0) {
                (void)fchmod(descriptor, mode); /* whatever the mask of the process */
            }
            return descriptor;
        }
        if (descriptor >= 0) {
            (void)close(descriptor);
        }
    }
    errno = EEXIST;
    return -1;
}

enum cpti_log_fate cpti_log_folder_fate(const struct cpti_log_folder *folder,
                                        const char *entry, int descriptor,
                                        uint64_t bytes)
{
    struct stat own;
    struct stat named;

    if (fstat(descriptor, &own) != 0) {
        return CPTI_LOG_IN_PLACE;
    }
    if (own.st_nlink == 0) {
        return CPTI_LOG_REMOVED;
    }
    if ((uint64_t)own.st_size != bytes) {
        return CPTI_LOG_CHANGED;
    }
    if (fstatat(folder->descriptor, entry, &named, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? CPTI_LOG_MOVED : CPTI_LOG_IN_PLACE;
    }
    return named.st_dev == own.st_dev && named.st_ino == own.st_ino ? CPTI_LOG_IN_PLACE
                                                                    : CPTI_LOG_MOVED;
}

void cpti_log_folder_unlink(const struct cpti_log_folder *folder, const char *entry)
{
    (void)unlinkat(folder->descriptor, entry, 0);
}

/* --- Removing old files --- */

struct listing {
    const struct cpti_log_folder *folder;
    struct listed *all;
    size_t count;
    size_t capacity;
    uint64_t bytes;
};

/* Lists a file; without memory not. */
static void meet_file(void *context, const char *entry, const struct listed *listed)
{
    struct listing *listing = context;
    const struct cpti_log_folder *folder = listing->folder;
    struct listed *added = NULL;
    struct stat about;

    if (cpt_alloc_grow(folder->alloc, (void **)&listing->all, &listing->capacity,
                       listing->count + 1, LISTED_MAX,
                       sizeof *listing->all) != CPT_OK) {
        return;
    }
    added = &listing->all[listing->count];
    *added = *listed;
    added->entry = copy_text(folder->alloc, entry);
    if (added->entry == NULL) {
        return;
    }
    added->bytes =
        fstatat(folder->descriptor, entry, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISREG(about.st_mode)
            ? (uint64_t)about.st_size
            : 0;
    listing->bytes += added->bytes;
    listing->count++;
}

static int compare_age(const void *left, const void *right)
{
    const struct listed *one = left;
    const struct listed *other = right;

    if (one->is_numbered != other->is_numbered) {
        return one->is_numbered ? 1 : -1;
    }
    if (one->is_numbered && one->number != other->number) {
        return one->number < other->number ? -1 : 1;
    }
    return strcmp(one->entry, other->entry);
}

enum removal { KEPT, REMOVED, GONE };

/* Removes the file @entry unless a process writes to it, or it is no regular file. */
static enum removal remove_idle(const struct cpti_log_folder *folder, const char *entry)
{
    struct stat about;
    /* O_NONBLOCK: a pipe with the name of a log must not make us wait for a writer */
    const int flags = O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
    /* NFS locks only what may be written; a file that may not is locked elsewhere */
    int descriptor = openat(folder->descriptor, entry, O_RDWR | flags);
    enum removal removal = KEPT;

    if (descriptor < 0 && (errno == EACCES || errno == EPERM)) {
        descriptor = openat(folder->descriptor, entry, O_RDONLY | flags);
    }
    if (descriptor < 0) {
        return errno == ENOENT ? GONE : KEPT;
    }
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
        flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
        if (unlinkat(folder->descriptor, entry, 0) == 0) {
            removal = REMOVED;
        } else if (errno == ENOENT) {
            removal = GONE;
        }
    }
    (void)close(descriptor);
    return removal;
}

static bool is_too_much(const struct cpti_log_folder *folder, size_t count,
                        uint64_t bytes)
{
    return (folder->kept_count_max != 0 && count > folder->kept_count_max) ||
           (folder->kept_bytes_max != 0 && bytes > folder->kept_bytes_max);
}

size_t cpti_log_folder_tidy(const struct cpti_log_folder *folder, uint64_t coming_bytes,
                            uint64_t *left_bytes)
{
    struct listing listing = {.folder = folder};
    size_t removed_count = 0;
    size_t left = 0;

    *left_bytes = 0;
    if (folder->kept_count_max == 0 && folder->kept_bytes_max == 0) {
        return 0;
    }
    each_file(folder, meet_file, &listing);
    if (listing.count != 0) {
        qsort(listing.all, listing.count, sizeof *listing.all, compare_age);
    }
    left = listing.count;
    for (size_t i = 0; i < listing.count; i++) {
        if (is_too_much(folder, left, listing.bytes + coming_bytes)) {
            const enum removal removal = remove_idle(folder, listing.all[i].entry);

            removed_count += removal == REMOVED;
            left -= removal != KEPT;
            listing.bytes -= removal != KEPT ? listing.all[i].bytes : 0;
        }
        cpt_alloc_free(folder->alloc, listing.all[i].entry);
    }
    cpt_alloc_free(folder->alloc, listing.all);
    *left_bytes = listing.bytes;
    return removed_count;
}
