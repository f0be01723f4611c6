/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_file.c - a directory of path logs: one is written, old ones are removed
 *
 * The current file is written by this process alone: its name holds the process id and
 * a number, and it is opened with O_EXCL. So two processes that have the same id (each
 * in a container of its own, in one directory) still get two files. While we write to a
 * file we hold a lock on it (flock), which the system releases however the process
 * ends. Files that are locked are not removed.
 *
 * If only a part of a block could be written, it is cut off again: a full disk costs
 * the block and does not look like damage. If even that fails, the file is left and
 * another one is begun: readers skip half a block.
 *
 * The names of one log sort by the time when the files were begun; so the oldest are
 * found.
 */
#include "framework/cpt_log_file.h"

#include "cpt/cpt_clock.h"
#include "framework/cpt_log_queue.h"
#include "framework/pool/lock.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
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
    KIND_BYTES = 10,       /* of a block's head: magic, version and type */
    NAME_TRIES_MAX = 1000, /* numbers in a row that are taken already */
    /* "-20261121T060000Z" + "-<pid>" + "-<number>" + ENDING + NUL, and some more */
    NAME_TAIL_BYTES = 96,
    STAMP_BYTES = 32
};

/* struct cpt_log_file_counts, read by any thread while one writes. */
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
    bool is_synced;
    struct counts counts;

    struct cpti_lock lock; /* guards all below, and the file itself */
    int descriptor;        /* of the current file; -1: there is none */
    char *path;            /* of the current file; room for any name */
    size_t path_capacity;
    uint64_t bytes;              /* of the current file */
    uint64_t record_block_count; /* in it */
    bool is_described;           /* it tells of requests of which none was traced */
    uint64_t begun_ns;           /* when it was begun; monotonic */
    uint64_t next_number;
    struct cpt_log_index *index; /* of the current file; NULL: there is no file */
};

static char *copy_text(const struct cpt_alloc *alloc, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = cpt_alloc_zeroed(alloc, bytes);

    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

/* --- Opening --- */

/* Names the next file: DIRECTORY/NAME-UTC-PID-NUMBER.cptlog. */
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

/* A new file survives a loss of power once its directory is on the disk. */
static void sync_directory(const struct cpt_log_file *file)
{
    const int descriptor = open(file->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (descriptor >= 0) {
        (void)fsync(descriptor);
        (void)close(descriptor);
    }
}

static void close_file(struct cpt_log_file *file)
{
    (void)close(file->descriptor); /* releases the lock */
    file->descriptor = -1;
    cpt_log_index_free(file->index);
    file->index = NULL;
}

/*
 * Locks the file that was just created. Before that another process may have found it
 * unlocked, and removed it: false, the file is lost. Some network file systems have no
 * locks; there the file is not protected.
 */
static bool lock_file(const struct cpt_log_file *file)
{
    struct stat about;

    if (flock(file->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return false;
    }
    return fstat(file->descriptor, &about) != 0 || about.st_nlink != 0;
}

/* Creates a file. CPT_OK; CPT_IO with errno set. */
static cpt_status create(struct cpt_log_file *file)
{
    for (int tries = 0; tries < NAME_TRIES_MAX && file->descriptor < 0; tries++) {
        name_file(file);
        file->descriptor =
            open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
        if (file->descriptor < 0 && errno != EEXIST) {
            return CPT_IO;
        }
        if (file->descriptor >= 0 && !lock_file(file)) {
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
    cpt_status status = CPT_NO_MEMORY;

    if (create(file) != CPT_OK) {
        return CPT_IO;
    }
    file->index = cpt_log_index_new(file->alloc);
    if (file->index != NULL) {
        status = cpt_log_sink_descriptor(&file->descriptor, header, header_bytes);
    }
    if (status != CPT_OK) {
        const int number = errno;

        (void)unlink(file->path);
        close_file(file);
        errno = number;
        return status;
    }
    if (file->is_synced) {
        sync_directory(file);
    }
    file->bytes = header_bytes;
    file->record_block_count = 0;
    file->is_described = false;
    file->begun_ns = cpt_clock_now_ns(cpt_clock_monotonic());
    atomic_fetch_add(&file->counts.file_count, 1);
    atomic_fetch_add(&file->counts.byte_count, header_bytes);
    return CPT_OK;
}

/* --- Removing old files --- */

/* Whether @entry is a file of the log @name: -<stamp>-<pid>-<number>.cptlog follows. A
 * log whose name begins alike ("A" and "A-old") has other characters there. */
static bool is_ours(const char *entry, const char *name)
{
    const size_t name_bytes = strlen(name);
    const char *at = entry + name_bytes;

    if (strncmp(entry, name, name_bytes) != 0 || at[0] != '-') {
        return false;
    }
    at += 1 + strspn(at + 1, "0123456789TZ");
    for (int part = 0; part < 2; part++) {
        const size_t digits = *at == '-' ? strspn(at + 1, "0123456789") : 0;

        if (digits == 0) {
            return false;
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

/* The names of this log's files, oldest first; without memory not all of them. */
static void list_names(const struct cpt_log_file *file, struct names *names)
{
    DIR *directory = opendir(file->directory);
    const struct dirent *entry = NULL;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char *copy = NULL;

        if (!is_ours(entry->d_name, file->name) ||
            cpt_alloc_grow(file->alloc, (void **)&names->all, &names->capacity,
                           names->count + 1, SIZE_MAX, sizeof *names->all) != CPT_OK) {
            continue;
        }
        copy = copy_text(file->alloc, entry->d_name);
        if (copy != NULL) {
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

/* Removes @path unless a process writes to it; true: it is removed. */
static bool remove_idle(const char *path)
{
    /* O_NONBLOCK: a pipe with the name of a log must not make us wait for a writer */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    bool is_removed = false;

    if (descriptor < 0) {
        return false;
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
        is_removed = unlink(path) == 0;
    }
    (void)close(descriptor);
    return is_removed;
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

/* Appends in one piece. After an error nothing of it is in the file, or the file is
 * closed. */
static cpt_status append(struct cpt_log_file *file, const void *data, size_t bytes)
{
    if (cpt_log_sink_descriptor(&file->descriptor, data, bytes) == CPT_OK &&
        (!file->is_synced || fdatasync(file->descriptor) == 0)) {
        file->bytes += bytes;
        atomic_fetch_add(&file->counts.byte_count, bytes);
        return CPT_OK;
    }
    if (ftruncate(file->descriptor, (off_t)file->bytes) != 0) {
        close_file(file);
    }
    return CPT_IO;
}

/* Appends the index. */
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

/* Ends the current file. */
static cpt_status finish(struct cpt_log_file *file)
{
    cpt_status status = CPT_OK;

    if (file->descriptor < 0) {
        return CPT_OK;
    }
    if (file->record_block_count == 0 && !file->is_described) {
        (void)unlink(file->path);
    } else if (file->record_block_count != 0) {
        status = append_index(file);
    }
    if (file->descriptor >= 0) {
        close_file(file);
    }
    return status;
}

/* Whether the next block, of @bytes, belongs into a new file. */
static bool is_full(const struct cpt_log_file *file, size_t bytes)
{
    const uint64_t age_ns = cpt_clock_now_ns(cpt_clock_monotonic()) - file->begun_ns;

    return file->record_block_count != 0 &&
           (file->bytes + bytes > file->file_bytes_max ||
            age_ns >= file->file_age_ns_max);
}

static cpt_status write_block(struct cpt_log_file *file, const void *block,
                              size_t bytes)
{
    uint64_t at = 0;

    if (file->descriptor >= 0 && is_full(file, bytes)) {
        (void)finish(file); /* a file without an index is still a log; it is counted */
    }
    if (file->descriptor < 0) {
        const cpt_status status = begin(file);

        if (status != CPT_OK) {
            atomic_fetch_add(&file->counts.failed_count, 1);
            return status;
        }
        remove_oldest(file);
    }
    at = file->bytes;
    if (append(file, block, bytes) != CPT_OK) {
        atomic_fetch_add(&file->counts.failed_count, 1);
        if (file->descriptor < 0) { /* append() has closed it */
            atomic_fetch_add(&file->counts.unindexed_count, 1);
        }
        return CPT_IO;
    }
    /* Without memory the block is not in the index; readers read it all the same. */
    (void)cpt_log_index_add(file->index, at, block, bytes);
    file->record_block_count++;
    atomic_fetch_add(&file->counts.block_count, 1);
    return CPT_OK;
}

/* Writes a block of the kind that a file begins with: a service tells of its requests
 * while none is traced. With a record in the file that is known. */
static cpt_status write_description(struct cpt_log_file *file, const void *block,
                                    size_t bytes)
{
    if (file->record_block_count != 0) {
        return CPT_OK;
    }
    if (file->descriptor < 0 && begin(file) != CPT_OK) {
        return CPT_IO;
    }
    file->is_described = true;
    return append(file, block, bytes);
}

cpt_status cpt_log_file_write(void *context, const void *block, size_t bytes)
{
    struct cpt_log_file *file = context;
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    cpt_status status = CPT_OK;

    if (bytes == cpt_log_header(header) && memcmp(block, header, bytes) == 0) {
        return CPT_OK; /* a queue begins with a header; each file has one already */
    }
    cpti_lock_take(&file->lock);
    status = bytes >= KIND_BYTES && memcmp(block, header, KIND_BYTES) == 0
                 ? write_description(file, block, bytes)
                 : write_block(file, block, bytes);
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

/* --- Made and freed --- */

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
    file->is_synced = options->is_synced != 0;
    file->descriptor = -1;
    /* The rank of the log queue, too: neither is taken while the other is held. */
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
        (void)cpt_error_set(error, status, 0, "%s: cannot be created: %s", file->path,
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
