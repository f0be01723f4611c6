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
 * Before each block the file is looked at. If another program has removed, renamed or
 * cut it, the block goes into a new one.
 *
 * log_folder.c knows the names, their order, and which files are removed.
 */
#include "framework/cpt_log_file.h"

#include "cpt/cpt_clock.h"
#include "framework/cpt_log_queue.h"
#include "framework/pool/lock.h"
#include "framework/service/log/log_folder.h"
#include "framework/service/log/log_write.h"
#include "wire/cpt_graph_log.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILE_BYTES_DEFAULT  (UINT64_C(256) << 20)
#define FILE_AGE_NS_DEFAULT (UINT64_C(3600) * 1000000000u)

enum {
    KIND_BYTES = 10,      /* of a block's head: magic, version and type */
    RECORD_COUNT_AT = 16, /* in a block's head: the number of its records, 4 bytes */
    FILE_MODE_MAX = 0777,
    TIDY_PARTS = 16 /* of kept_bytes_max: how often it is looked whether it holds */
};

/* struct cpt_log_file_counts, read by any thread while one writes. */
struct counts {
    atomic_ullong file_count;
    atomic_ullong block_count;
    atomic_ullong byte_count;
    atomic_ullong failed_count;
    atomic_ullong removed_count;
    atomic_ullong unindexed_count;
    atomic_ullong lost_record_count;
};

struct cpt_log_file {
    const struct cpt_alloc *alloc;
    uint64_t file_bytes_max;
    uint64_t file_age_ns_max;
    bool is_synced;
    unsigned content; /* enum cpt_log_content */
    struct counts counts;
    atomic_bool is_reopen_wanted;

    struct cpti_lock lock; /* guards all below, and the file itself */
    struct cpti_log_folder folder;
    int descriptor;                   /* of the current file; -1: there is none */
    char entry[CPTI_LOG_ENTRY_BYTES]; /* its name in the folder */
    uint64_t bytes;                   /* of the current file */
    uint64_t tidied_bytes;   /* of all files of the log when the folder was tidied */
    uint64_t untidied_bytes; /* written since */
    uint64_t record_block_count; /* in the current file */
    uint64_t record_count;       /* in these blocks */
    bool is_described;           /* it tells of requests of which none was traced */
    uint64_t begun_ns;           /* when it was begun; monotonic */
    struct cpt_log_index *index; /* of the current file; NULL: there is no file */
};

/* --- What it consists of --- */

/* Spans are lines: they have no header. */
static bool has_header(const struct cpt_log_file *file)
{
    return file->content != CPT_LOG_SPANS;
}

static bool has_index(const struct cpt_log_file *file)
{
    return file->content == CPT_LOG_PATHS;
}

/* What a new file begins with, to @header; 0: nothing. */
static size_t write_header(const struct cpt_log_file *file,
                           unsigned char header[CPT_LOG_HEADER_BYTES_MAX])
{
    switch (file->content) {
    case CPT_LOG_SPANS:
        return 0;
    case CPT_LOG_GRAPHS:
        return cpt_graph_log_header(header);
    default:
        return cpt_log_header(header);
    }
}

/* --- Opening --- */

static void close_file(struct cpt_log_file *file)
{
    (void)close(file->descriptor); /* releases the lock */
    file->descriptor = -1;
    cpt_log_index_free(file->index);
    file->index = NULL;
}

/* Begins a file, with its header. CPT_OK; CPT_NO_MEMORY; CPT_IO with errno set. */
static cpt_status begin(struct cpt_log_file *file)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    const size_t header_bytes = write_header(file, header);
    cpt_status status = CPT_NO_MEMORY;
    size_t written = 0;

    file->descriptor = cpti_log_folder_create(&file->folder, file->entry);
    if (file->descriptor < 0) {
        return CPT_IO;
    }
    file->index = has_index(file) ? cpt_log_index_new(file->alloc) : NULL;
    if (!has_index(file) || file->index != NULL) {
        status = cpti_log_write(file->descriptor, header, header_bytes, &written);
    }
    if (status != CPT_OK) {
        const int number = errno;

        cpti_log_folder_unlink(&file->folder, file->entry);
        close_file(file);
        errno = number;
        return status;
    }
    if (file->is_synced) {
        cpti_log_folder_sync(&file->folder);
    }
    file->bytes = header_bytes;
    file->record_block_count = 0;
    file->record_count = 0;
    file->is_described = false;
    file->begun_ns = cpt_clock_now_ns(cpt_clock_monotonic());
    atomic_fetch_add(&file->counts.file_count, 1);
    atomic_fetch_add(&file->counts.byte_count, header_bytes);
    return CPT_OK;
}

/* Removes old files, so that the limits hold with @coming_bytes more; how many. */
static size_t tidy(struct cpt_log_file *file, uint64_t coming_bytes)
{
    const size_t removed_count =
        cpti_log_folder_tidy(&file->folder, coming_bytes, &file->tidied_bytes);

    file->untidied_bytes = 0;
    if (file->tidied_bytes + coming_bytes > file->folder.kept_bytes_max) {
        file->tidied_bytes = 0; /* others write to them: not again for each block */
    }
    atomic_fetch_add(&file->counts.removed_count, removed_count);
    return removed_count;
}

/* Begins a file, and removes old ones; these first if there is no room for it. */
static cpt_status begin_and_tidy(struct cpt_log_file *file)
{
    cpt_status status = begin(file);

    if (status == CPT_IO) {
        const int number = errno;
        const size_t removed_count = tidy(file, 0);

        errno = number;
        status = removed_count != 0 ? begin(file) : status;
    }
    if (status == CPT_OK) {
        (void)tidy(file, 0);
    }
    return status;
}

/* Removes old files if @bytes more may be too much. What other processes write is not
 * known, so it is looked at from time to time. */
static void make_room(struct cpt_log_file *file, size_t bytes)
{
    const uint64_t bytes_max = file->folder.kept_bytes_max;
    const uint64_t more_bytes = file->untidied_bytes + bytes;

    if (bytes_max != 0 &&
        (more_bytes > bytes_max / TIDY_PARTS ||
         (file->tidied_bytes != 0 && file->tidied_bytes + more_bytes > bytes_max))) {
        (void)tidy(file, bytes);
    }
}

/* --- Writing --- */

/* Appends in one piece. After an error nothing of it is in the file, or the file is
 * closed. */
static cpt_status append(struct cpt_log_file *file, const void *data, size_t bytes)
{
    size_t written = 0;
    int number = 0;

    if (cpti_log_write(file->descriptor, data, bytes, &written) == CPT_OK &&
        (!file->is_synced || fdatasync(file->descriptor) == 0)) {
        file->bytes += bytes;
        file->untidied_bytes += bytes;
        atomic_fetch_add(&file->counts.byte_count, bytes);
        return CPT_OK;
    }
    number = errno;
    if (ftruncate(file->descriptor, (off_t)file->bytes) != 0) {
        close_file(file);
    }
    errno = number;
    return CPT_IO;
}

/* Appends the index. */
static cpt_status append_index(struct cpt_log_file *file)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = CPT_OK;

    if (!has_index(file)) {
        return CPT_OK;
    }
    status = cpt_log_index_encode(file->index, file->bytes, &data, &bytes);
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
    enum cpti_log_fate fate = CPTI_LOG_IN_PLACE;

    if (file->descriptor < 0) {
        return CPT_OK;
    }
    fate =
        cpti_log_folder_fate(&file->folder, file->entry, file->descriptor, file->bytes);
    if (fate == CPTI_LOG_REMOVED) {
        atomic_fetch_add(&file->counts.lost_record_count, file->record_count);
    } else if (fate == CPTI_LOG_CHANGED && has_index(file)) {
        atomic_fetch_add(&file->counts.unindexed_count, 1); /* no offset holds */
    } else if (file->record_block_count != 0) {
        status = append_index(file); /* of a file that was cut there is none */
    } else if (!file->is_described && fate == CPTI_LOG_IN_PLACE) {
        cpti_log_folder_unlink(&file->folder, file->entry);
    }
    if (file->descriptor >= 0) {
        close_file(file);
    }
    return status;
}

/* Ends the current file if it is not where it was, or if that was asked for. */
static void leave(struct cpt_log_file *file)
{
    const bool is_wanted = atomic_exchange(&file->is_reopen_wanted, false);

    if (file->descriptor >= 0 &&
        (is_wanted || cpti_log_folder_fate(&file->folder, file->entry, file->descriptor,
                                           file->bytes) != CPTI_LOG_IN_PLACE)) {
        (void)finish(file); /* a file without an index is still a log; it is counted */
    }
}

/* Whether the next block, of @bytes, belongs into a new file. */
static bool is_full(const struct cpt_log_file *file, size_t bytes)
{
    const uint64_t age_ns = cpt_clock_now_ns(cpt_clock_monotonic()) - file->begun_ns;

    return file->record_block_count != 0 &&
           (file->bytes + bytes > file->file_bytes_max ||
            age_ns >= file->file_age_ns_max);
}

/* Whether a new file may take a block of @bytes that was too much for the current one:
 * the process has a limit for the size of its files. */
static bool fits_new_file(const struct cpt_log_file *file, size_t bytes)
{
    struct rlimit limit;

    return errno == EFBIG && file->record_block_count != 0 &&
           getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           bytes + CPT_LOG_HEADER_BYTES_MAX <= limit.rlim_cur;
}

/* Appends @block to the current file, or to a new one; *@at: where it begins there. */
static cpt_status place_block(struct cpt_log_file *file, const void *block,
                              size_t bytes, uint64_t *at)
{
    cpt_status status = CPT_OK;

    if (file->descriptor >= 0 && is_full(file, bytes)) {
        (void)finish(file); /* a file without an index is still a log; it is counted */
    }
    if (file->descriptor < 0) {
        status = begin_and_tidy(file);
    }
    if (status != CPT_OK) {
        return status;
    }
    make_room(file, bytes);
    *at = file->bytes;
    status = append(file, block, bytes);
    if (status != CPT_OK && file->descriptor >= 0 && fits_new_file(file, bytes)) {
        (void)finish(file);
        status = begin_and_tidy(file);
        *at = file->bytes;
        status = status == CPT_OK ? append(file, block, bytes) : status;
    }
    if (status != CPT_OK && file->descriptor < 0 && has_index(file)) {
        /* append() has closed it */
        atomic_fetch_add(&file->counts.unindexed_count, 1);
    }
    return status;
}

/* Of spans, all of a request are a record. */
static uint64_t records_of(const struct cpt_log_file *file, const unsigned char *block,
                           size_t bytes)
{
    uint64_t count = 0;

    if (!has_header(file)) {
        for (size_t i = 0; i < bytes; i++) {
            count += block[i] == '\n';
        }
        return count;
    }
    for (size_t i = 4; i-- > 0 && bytes >= RECORD_COUNT_AT + 4;) {
        count = count << 8 | block[RECORD_COUNT_AT + i];
    }
    return count;
}

static cpt_status write_block(struct cpt_log_file *file, const void *block,
                              size_t bytes)
{
    uint64_t at = 0;
    const cpt_status status = place_block(file, block, bytes, &at);

    if (status != CPT_OK) {
        atomic_fetch_add(&file->counts.failed_count, 1);
        return status;
    }
    /* Without memory the block is not in the index; readers read it all the same. */
    if (has_index(file)) {
        (void)cpt_log_index_add(file->index, at, block, bytes);
    }
    file->record_block_count++;
    file->record_count += records_of(file, block, bytes);
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
    const size_t header_bytes = write_header(file, header);
    cpt_status status = CPT_OK;

    if (header_bytes != 0 && bytes == header_bytes &&
        memcmp(block, header, bytes) == 0) {
        return CPT_OK; /* a queue begins with a header; each file has one already */
    }
    cpti_lock_take(&file->lock);
    leave(file);
    status = header_bytes != 0 && bytes >= KIND_BYTES &&
                     memcmp(block, header, KIND_BYTES) == 0
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

void cpt_log_file_reopen(struct cpt_log_file *file)
{
    atomic_store(&file->is_reopen_wanted, true);
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
    counts->lost_record_count = atomic_load(&file->counts.lost_record_count);
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
    if (options->content > CPT_LOG_GRAPHS) {
        return cpt_error_set(error, CPT_INVALID, 0, "a log has paths, spans or graphs");
    }
    if (options->file_mode > FILE_MODE_MAX) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the mode of a log's files is at most 0777");
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
    cpti_log_folder_deinit(&file->folder);
    cpt_alloc_free(file->alloc, file);
}

/* Says why the first file could not be made. */
static void explain(const struct cpt_log_file *file, cpt_status status, int number,
                    struct cpt_error *error)
{
    if (status == CPT_IO && (number == ENOENT || number == ENOTDIR)) {
        (void)cpt_error_set(error, status, 0,
                            "%s: there is no such directory for logs; make it first",
                            file->folder.directory);
        return;
    }
    (void)cpt_error_set(
        error, status, 0, "%s/%s: cannot be created: %s", file->folder.directory,
        file->entry, status == CPT_IO ? strerror(number) : cpt_status_sentence(status));
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
    file->is_synced = options->is_synced != 0;
    file->descriptor = -1;
    /* The rank of the log queue, too: neither is taken while the other is held. */
    cpti_lock_init(&file->lock, CPTI_RANK_LOG);
    if (cpti_log_folder_init(&file->folder, options->alloc, options->directory,
                             options->name) != CPT_OK) {
        free_parts(file);
        return NULL;
    }
    file->content = options->content;
    file->folder.ending = options->content == CPT_LOG_SPANS    ? CPTI_LOG_ENDING_SPANS
                          : options->content == CPT_LOG_GRAPHS ? CPTI_LOG_ENDING_GRAPHS
                                                               : CPTI_LOG_ENDING_PATHS;
    file->folder.file_mode = options->file_mode;
    file->folder.kept_count_max = options->kept_file_count_max;
    file->folder.kept_bytes_max = options->kept_bytes_max;
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
    status = begin_and_tidy(file);
    if (status != CPT_OK) {
        explain(file, status, errno, error);
        free_parts(file);
        return NULL;
    }
    return file;
}

void cpt_log_file_free(struct cpt_log_file *file)
{
    if (file != NULL) {
        (void)finish(file);
        free_parts(file);
    }
}
