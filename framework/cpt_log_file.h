/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_log_file.h - blocks of a path log into files of a directory
 *
 *      log queue --> block --> [ log file ] -->
 * /var/log/shop/A-20261121T060000Z-4711-000000.cptlog
 *                                               /var/log/shop/A-20261121T070000Z-4711-000001.cptlog
 *                                                             name  opened (UTC)
 * process  number
 *
 * A sink for cpt_log_queue.h that begins a new file when the one at hand is large or
 * old enough, and removes the oldest ones if one says how many are to be kept. Each
 * process writes files of its own, so that any number of them may share a directory and
 * a name. A file is finished by an index (cpt_log_index.h), from which a reader learns
 * which blocks it need not look at; one whose writer was killed has none and is read as
 * well.
 *
 * What a killed process has been told to be written is in the file. What a machine that
 * loses its power has been told is in the file if is_synced says so.
 *
 * Several processes may also append to one file: open it with O_APPEND and use
 * cpt_log_sink_descriptor(), which writes each block in one piece. Local file systems
 * keep such pieces whole. There is no rotation then, and no index.
 *
 * Threads: any; one at a time writes, the others wait. cpt_log_file_counts() does not.
 * Not while it is freed.
 */
#ifndef CPT_LOG_FILE_H
#define CPT_LOG_FILE_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

struct cpt_log_file;

/* Longest name: the rest of a file's name has to fit as well. */
enum { CPT_LOG_FILE_NAME_BYTES_MAX = 128 };

/* See cpt_options_read(). */
struct cpt_log_file_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    const char *directory;      /* required, and there; copied */
    const char *name;           /* what the files' names begin with; default "paths" */
    uint64_t file_bytes_max;    /* a new file before it is larger; default 256 MiB */
    uint64_t file_age_ns_max;   /* a new file after that, with the next block; default
                                   1 h; UINT64_MAX: whatever its age */
    size_t kept_file_count_max; /* of this name in the directory, the one at hand
                                   included; default 0: all. Those that somebody writes
                                   to are never removed. */
    int is_synced; /* each block is on the disk when it counts as written */
};

/* What it has done. */
struct cpt_log_file_counts {
    uint64_t file_count;    /* begun */
    uint64_t block_count;   /* of records, written */
    uint64_t byte_count;    /* written, headers and indexes too */
    uint64_t failed_count;  /* blocks that could not be written */
    uint64_t removed_count; /* files removed because there were too many */
    uint64_t
        unindexed_count; /* files finished without an index: no memory, disk full */
};

/*
 * Opens the first file, so that a directory that cannot be written to is known at once.
 * NULL with the reason in @error: CPT_INVALID for options that contradict themselves,
 * CPT_NO_MEMORY, CPT_IO.
 */
CPT_API struct cpt_log_file *
cpt_log_file_new(const struct cpt_log_file_options *options, struct cpt_error *error);

/* Finishes the file at hand and frees. One without a record is removed. NULL is fine.
 * Free the queue first. */
CPT_API void cpt_log_file_free(struct cpt_log_file *file);

/*
 * Appends @block of @bytes; a cpt_log_sink_fn whose context is the log file. CPT_OK;
 * CPT_IO, CPT_NO_MEMORY: nothing of it is in the file, the next block is tried again.
 */
CPT_API cpt_status cpt_log_file_write(void *file, const void *block, size_t bytes);

/* Finishes the file at hand; the next block begins another. For who moves files away.
 * CPT_OK, or CPT_IO if it ended without an index. */
CPT_API cpt_status cpt_log_file_finish(struct cpt_log_file *file);

CPT_API void cpt_log_file_counts(const struct cpt_log_file *file,
                                 struct cpt_log_file_counts *counts);

CPT_END_DECLS

#endif
