/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_file.c - a directory of path logs: one at hand, older ones removed
 *
 * The file at hand is ours alone: its name holds our process and a number, and it is
 * opened with O_EXCL, so that two processes that believe to have the same number (each
 * in a container of its own, in one directory) still get two files. While we write to
 * it we hold a lock on it (flock), which the system gives back whatever becomes of us;
 * who removes old files leaves those alone that somebody holds.
 *
 * A block that could only be written in part is cut off again, so that a full disk
 * costs the block and does not look like damage. If even that fails the file is left
 * and another one begun: readers find their way over half a block.
 *
 * Names of one log sort by the time when they were begun; that is how the oldest are
 * found.
 */
#include "framework/cpt_log_file.h"

#include "framework/pool/lock.h"
#include "cpt/cpt_clock.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES_DEFAULT  (UINT64_C(256) << 20)
#define FILE_AGE_NS_DEFAULT (UINT64_C(3600) * 1000000000u)
#define ENDING              ".cptlog"

enum {
    NAME_TRIES_MAX = 1000, /* numbers that are taken already, one after the other */
    /* "-20261121T060000Z" + "-<pid>" + "-<number>" + ENDING + NUL, with room to spare
     */
    NAME_TAIL_BYTES = 96,
    STAMP_BYTES = 32
};

/* struct cpt_log_file_counts, which is read while somebody writes. */
struct counts {
    atomic_ullong file_count;
    atomic_ullong block_count;
    atomic_ullong byte_count;
    atomic_ullong failed_count;
    atomic_ullong removed_count;
    atomic_ullong unindexed_count;
};

struct cpt_log_file {
    const struct cpt_alloc *alloc;
    char *directory;
    char *name;
    uint64_t file_bytes_max;
    uint64_t file_age_ns_max;
    size_t kept_file_count_max;
    int is_synced;
    struct counts counts;

    struct cpti_lock lock; /* guards all below, and the file itself */
    int descriptor;        /* -1: none is at hand */
    char *path;            /* of the file at hand; room for any of ours */
    size_t path_capacity;
    uint64_t bytes;              /* of the file at hand */
    uint64_t record_block_count; /* in it */
    uint64_t begun_ns;           /* monotonic */
    uint64_t next_number;
    struct cpt_log_index *index; /* of the file at hand; NULL only without one */
};

/* --- Opening --- */

/* Names the file at hand: DIRECTORY/NAME-UTC-PID-NUMBER.cptlog. */
static void name_file(struct cpt_log_file *file)
{
    const time_t now = (time_t)(cpt_clock_unix_ns() / 1000000000u);
    struct tm parts = {0};
    char stamp[STAMP_BYTES] = "";

    (void)gmtime_r(&now, &parts);
    (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &parts);
    (void)snprintf(file->path, file->path_capacity, "%s/%s-%s-%ld-%06" PRIu64 ENDING,
                   file->directory, file->name, stamp, (long)getpid(),
                   file->next_number);
    file->next_number++;
}

static cpt_status write_all(int descriptor, const void *data, size_t bytes)
{
    const unsigned char *next = data;

    while (bytes > 0) {
        const ssize_t written = write(descriptor, next, bytes);

        if (written < 0 && errno != EINTR) {
            return CPT_IO;
        }
        if (written > 0) {
            next += written;
            bytes -= (size_t)written;
        }
    }
    return CPT_OK;
}

/* A new name is as lasting as the directory that it stands in. */
static void sync_directory(const struct cpt_log_file *file)
{
    const int descriptor = open(file->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (descriptor >= 0) {
        (void)fsync(descriptor);
        (void)close(descriptor);
    }
}

/* Nothing is at hand any more. */
static void let_go(struct cpt_log_file *file)
{
    (void)close(file->descriptor); /* and the lock with it */
    file->descriptor = -1;
    cpt_log_index_free(file->index);
    file->index = NULL;
}

/*
 * Takes the lock of the file that was just created. Another process may have found it
 * before that, idle as it looked, and remove it or have removed it: 0, it is lost.
 * Without locks (some network file systems) there is just no such care.
 */
static int keep_file(const struct cpt_log_file *file)
{
    struct stat about;

    if (flock(file->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return 0;
    }
    return fstat(file->descriptor, &about) != 0 || about.st_nlink != 0;
}

/* Opens a file that was not there. CPT_OK; CPT_IO with errno set. */
static cpt_status create(struct cpt_log_file *file)
{
    for (int tries = 0; tries < NAME_TRIES_MAX && file->descriptor < 0; tries++) {
        name_file(file);
        file->descriptor =
            open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
        if (file->descriptor < 0 && errno != EEXIST) {
            return CPT_IO;
        }
        if (file->descriptor >= 0 && !keep_file(file)) {
            (void)close(file->descriptor);
            file->descriptor = -1;
            errno = EEXIST;
        }
    }
    return file->descriptor >= 0 ? CPT_OK : CPT_IO;
}

/* Begins a file, with its header. CPT_OK; CPT_NO_MEMORY; CPT_IO with errno set. */
static cpt_status begin(struct cpt_log_file *file)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    const size_t header_bytes = cpt_log_header(header);

    if (create(file) != CPT_OK) {
        return CPT_IO;
    }
    file->index = cpt_log_index_new(file->alloc);
    if (file->index == NULL ||
        write_all(file->descriptor, header, header_bytes) != CPT_OK) {
        const cpt_status status = file->index == NULL ? CPT_NO_MEMORY : CPT_IO;
        const int number = errno;

        (void)unlink(file->path);
        let_go(file);
        errno = number;
        return status;
    }
    if (file->is_synced) {
        sync_directory(file);
    }
    file->bytes = header_bytes;
    file->record_block_count = 0;
    file->begun_ns = cpt_clock_now_ns(cpt_clock_monotonic());
    atomic_fetch_add(&file->counts.file_count, 1);
    atomic_fetch_add(&file->counts.byte_count, header_bytes);
    return CPT_OK;
}

/* --- Removing what is too many --- */

/* Whether @entry is a file of the log @name: -<stamp>-<pid>-<number>.cptlog follows. A
 * name that merely begins alike ("A" and "A-old") has other characters there. */
static int is_ours(const char *entry, const char *name)
{
    const size_t name_bytes = strlen(name);
    const char *at = entry + name_bytes;

    if (strncmp(entry, name, name_bytes) != 0 || at[0] != '-') {
        return 0;
    }
    at += 1 + strspn(at + 1, "0123456789TZ");
    for (int part = 0; part < 2; part++) {
        const size_t digits = *at == '-' ? strspn(at + 1, "0123456789") : 0;

        if (digits == 0) {
            return 0;
        }
        at += 1 + digits;
    }
    return strcmp(at, ENDING) == 0;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

struct names {
    char **all;
    size_t count;
    size_t capacity;
};

/* The names of this log's files, oldest first; as far as memory goes. */
static void list_names(const struct cpt_log_file *file, struct names *names)
{
    DIR *directory = opendir(file->directory);
    const struct dirent *entry = NULL;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        const size_t bytes = strlen(entry->d_name) + 1;
        char *copy = NULL;

        if (!is_ours(entry->d_name, file->name) ||
            cpt_alloc_grow(file->alloc, (void **)&names->all, &names->capacity,
                           names->count + 1, SIZE_MAX, sizeof *names->all) != CPT_OK) {
            continue;
        }
        copy = cpt_alloc_zeroed(file->alloc, bytes);
        if (copy != NULL) {
            memcpy(copy, entry->d_name, bytes);
            names->all[names->count++] = copy;
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    if (names->count != 0) {
        qsort(names->all, names->count, sizeof *names->all, compare_names);
    }
}

/* Removes @path unless somebody writes to it. Whether it is gone. */
static int remove_idle(const char *path)
{
    /* without waiting for a writer, should it be a pipe with the name of a log */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    int is_gone = 0;

    if (descriptor < 0) {
        return 0;
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
        is_gone = unlink(path) == 0;
    }
    (void)close(descriptor);
    return is_gone;
}

static void remove_oldest(struct cpt_log_file *file)
{
    struct names names = {NULL, 0, 0};
    char *path = NULL;
    size_t left = 0;

    if (file->kept_file_count_max == 0) {
        return;
    }
    list_names(file, &names);
    path = cpt_alloc_zeroed(file->alloc, file->path_capacity + NAME_MAX);
    left = names.count;
    for (size_t i = 0; i < names.count; i++) {
        if (path != NULL && left > file->kept_file_count_max) {
            (void)snprintf(path, file->path_capacity + NAME_MAX, "%s/%s",
                           file->directory, names.all[i]);
            if (remove_idle(path)) {
                left--;
                atomic_fetch_add(&file->counts.removed_count, 1);
            }
        }
        cpt_alloc_free(file->alloc, names.all[i]);
    }
    cpt_alloc_free(file->alloc, names.all);
    cpt_alloc_free(file->alloc, path);
}

/* --- Writing --- */

/* Appends in one piece; after an error nothing of it is in the file, or there is no
 * file at hand any more. */
static cpt_status append(struct cpt_log_file *file, const void *data, size_t bytes)
{
    cpt_status status = write_all(file->descriptor, data, bytes);

    if (status == CPT_OK && file->is_synced && fdatasync(file->descriptor) != 0) {
        status = CPT_IO;
    }
    if (status == CPT_OK) {
        file->bytes += bytes;
        atomic_fetch_add(&file->counts.byte_count, bytes);
        return CPT_OK;
    }
    if (ftruncate(file->descriptor, (off_t)file->bytes) != 0) {
        let_go(file);
    }
    return CPT_IO;
}

/* Puts the index behind the blocks. */
static cpt_status append_index(struct cpt_log_file *file)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = cpt_log_index_encode(file->index, file->bytes, &data, &bytes);

    if (status == CPT_OK) {
        status = append(file, data, bytes);
        cpt_alloc_free(file->alloc, data);
    }
    if (status != CPT_OK) {
        atomic_fetch_add(&file->counts.unindexed_count, 1);
    }
    return status;
}

/* Ends the file at hand. */
static cpt_status finish(struct cpt_log_file *file)
{
    cpt_status status = CPT_OK;

    if (file->descriptor < 0) {
        return CPT_OK;
    }
    if (file->record_block_count == 0) {
        (void)unlink(file->path);
    } else {
        status = append_index(file);
    }
    if (file->descriptor >= 0) {
        let_go(file);
    }
    return status;
}

/* Whether the file at hand takes no block of @bytes any more. */
static int is_full(const struct cpt_log_file *file, size_t bytes)
{
    const uint64_t age_ns = cpt_clock_now_ns(cpt_clock_monotonic()) - file->begun_ns;

    return file->record_block_count != 0 &&
           (file->bytes + bytes > file->file_bytes_max ||
            age_ns >= file->file_age_ns_max);
}

static cpt_status write_block(struct cpt_log_file *file, const void *block,
                              size_t bytes)
{
    cpt_status status = CPT_OK;
    uint64_t at = 0;

    if (file->descriptor >= 0 && is_full(file, bytes)) {
        (void)finish(file); /* without its index it is still a log; that is counted */
    }
    if (file->descriptor < 0) {
        status = begin(file);
        if (status == CPT_OK) {
            remove_oldest(file);
        }
    }
    if (status == CPT_OK) {
        at = file->bytes;
        status = append(file, block, bytes);
    }
    if (status == CPT_OK) {
        /* a block that there is no memory for is not in the index, so it is read */
        (void)cpt_log_index_add(file->index, at, block, bytes);
        file->record_block_count++;
        atomic_fetch_add(&file->counts.block_count, 1);
    } else {
        atomic_fetch_add(&file->counts.failed_count, 1);
        if (file->descriptor < 0 && at != 0) {
            atomic_fetch_add(&file->counts.unindexed_count, 1); /* given up for good */
        }
    }
    return status;
}

cpt_status cpt_log_file_write(void *context, const void *block, size_t bytes)
{
    struct cpt_log_file *file = context;
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    cpt_status status = CPT_OK;

    if (bytes == cpt_log_header(header) && memcmp(block, header, bytes) == 0) {
        return CPT_OK; /* a queue begins with one; each file of ours has one already */
    }
    cpti_lock_take(&file->lock);
    status = write_block(file, block, bytes);
    cpti_lock_release(&file->lock);
    return status;
}

cpt_status cpt_log_file_finish(struct cpt_log_file *file)
{
    cpt_status status = CPT_OK;

    cpti_lock_take(&file->lock);
    status = finish(file);
    cpti_lock_release(&file->lock);
    return status;
}

void cpt_log_file_counts(const struct cpt_log_file *file,
                         struct cpt_log_file_counts *counts)
{
    counts->file_count = atomic_load(&file->counts.file_count);
    counts->block_count = atomic_load(&file->counts.block_count);
    counts->byte_count = atomic_load(&file->counts.byte_count);
    counts->failed_count = atomic_load(&file->counts.failed_count);
    counts->removed_count = atomic_load(&file->counts.removed_count);
    counts->unindexed_count = atomic_load(&file->counts.unindexed_count);
}

/* --- Its life --- */

static char *copy_text(const struct cpt_alloc *alloc, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = cpt_alloc_zeroed(alloc, bytes);

    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

static cpt_status check_options(struct cpt_log_file_options *options,
                                struct cpt_error *error)
{
    if (options->directory == NULL || options->directory[0] == '\0') {
        return cpt_error_set(error, CPT_INVALID, 0, "a log file needs a directory");
    }
    options->name = options->name != NULL ? options->name : "paths";
    if (options->name[0] == '\0' || strchr(options->name, '/') != NULL ||
        strlen(options->name) > CPT_LOG_FILE_NAME_BYTES_MAX) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the name of a log is 1 to %d bytes without '/'",
                             CPT_LOG_FILE_NAME_BYTES_MAX);
    }
    if (options->file_bytes_max == 0) {
        options->file_bytes_max = FILE_BYTES_DEFAULT;
    }
    if (options->file_age_ns_max == 0) {
        options->file_age_ns_max = FILE_AGE_NS_DEFAULT;
    }
    return CPT_OK;
}

static void free_parts(struct cpt_log_file *file)
{
    cpti_lock_deinit(&file->lock);
    cpt_alloc_free(file->alloc, file->directory);
    cpt_alloc_free(file->alloc, file->name);
    cpt_alloc_free(file->alloc, file->path);
    cpt_alloc_free(file->alloc, file);
}

static struct cpt_log_file *make_parts(const struct cpt_log_file_options *options)
{
    struct cpt_log_file *file = cpt_alloc_zeroed(options->alloc, sizeof *file);

    if (file == NULL) {
        return NULL;
    }
    file->alloc = options->alloc;
    file->file_bytes_max = options->file_bytes_max;
    file->file_age_ns_max = options->file_age_ns_max;
    file->kept_file_count_max = options->kept_file_count_max;
    file->is_synced = options->is_synced;
    file->descriptor = -1;
    /* of the log queue's rank: neither is ever taken while the other is held */
    cpti_lock_init(&file->lock, CPTI_RANK_LOG);
    file->path_capacity =
        strlen(options->directory) + 1 + strlen(options->name) + NAME_TAIL_BYTES;
    file->path = cpt_alloc_zeroed(options->alloc, file->path_capacity);
    file->directory = copy_text(options->alloc, options->directory);
    file->name = copy_text(options->alloc, options->name);
    if (file->path == NULL || file->directory == NULL || file->name == NULL) {
        free_parts(file);
        return NULL;
    }
    return file;
}

struct cpt_log_file *cpt_log_file_new(const struct cpt_log_file_options *given,
                                      struct cpt_error *error)
{
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    cpt_status status = CPT_OK;

    if (cpt_options_read(&options, sizeof options, given, error) != CPT_OK ||
        check_options(&options, error) != CPT_OK) {
        return NULL;
    }
    file = make_parts(&options);
    if (file == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a log file");
        return NULL;
    }
    status = begin(file);
    if (status != CPT_OK) {
        (void)cpt_error_set(error, status, 0, "%s: cannot be begun: %s", file->path,
                            status == CPT_IO ? strerror(errno)
                                             : cpt_status_sentence(status));
        free_parts(file);
        return NULL;
    }
    remove_oldest(file);
    return file;
}

void cpt_log_file_free(struct cpt_log_file *file)
{
    if (file != NULL) {
        (void)finish(file);
        free_parts(file);
    }
}
