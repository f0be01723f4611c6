/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_log_file.h - blocks of a path log into files of a directory
 *
 *      log queue --> block --> [ log file ] --> /var/log/shop/
 *                                   A-20261121T060000Z-4711-000000000.cptlog
 *                                   A-20261121T070000Z-4711-000000001.cptlog
 *                                   |         |         |     |
 *                                 name   begun (UTC)  process number
 *
 * A sink for cpt_log_queue.h that begins a new file when the current one is large or
 * old enough, and removes the oldest files if the options limit their number. Each
 * process writes its own files, so any number of processes may share a directory and a
 * name. A finished file ends with an index (cpt_log_index.h), which tells a reader
 * which blocks it may skip. If the writer was killed, the file has no index, and is
 * read all the same.
 *
 * Another program may rename the current file, or remove it: the next block then begins
 * another. A renamed file is finished first; the records of a removed one are counted
 * (lost_record_count). If the directory itself was renamed, the next file, as after
 * cpt_log_file_reopen(), begins in the directory that has its name then. Neither
 * SIGPIPE nor SIGXFSZ is raised. At the file size limit of the process another file
 * begins.
 *
 * Blocks that were written stay if the process is killed. If is_synced is set they also
 * stay if the machine loses its power.
 *
 * Several processes may also append to one file: open it with O_APPEND and use
 * cpt_log_sink_descriptor(), which writes each block in one piece. Local file systems
 * keep such pieces whole. Then there is no rotation, and no index.
 *
 * Threads: any; one at a time writes, the others wait. cpt_log_file_counts() does not
 * wait. Not while the log file is freed.
 */
#ifndef CPT_LOG_FILE_H
#define CPT_LOG_FILE_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

struct cpt_log_file;

/* The longest name; the rest of the file's name must fit as well. */
enum { CPT_LOG_FILE_NAME_BYTES_MAX = 128 };

/* See cpt_options_read(). */
struct cpt_log_file_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    const char *directory;      /* required; must exist; copied */
    const char *name;           /* the files' names begin with it; default "paths" */
    uint64_t file_bytes_max;    /* no file grows larger; default 256 MiB */
    uint64_t file_age_ns_max;   /* an older file gets no further block; default 1 h;
                                   UINT64_MAX: no limit */
    size_t kept_file_count_max; /* of this name in the directory, the current one
                                   included; default 0: all. Files that a process writes
                                   to are never removed. */
    int is_synced;              /* a block counts as written when it is on the disk */
    unsigned file_mode;         /* of new files, such as 0640, whatever the umask; up to
                                   0777; default 0644 less the umask */
    uint64_t kept_bytes_max;    /* of all files of this name in the directory, whichever
                                   process began them, the current ones included;
                                   default 0: no limit. The oldest are removed as
                                   kept_file_count_max says, before what this process
                                   writes would be too much; what others write is
                                   noticed when a file begins or this one has grown by a
                                   16th of the limit. Choose file_bytes_max smaller: the
                                   current file is never removed. */
    unsigned content;           /* enum cpt_log_content of cpt_log_queue.h; the names of
                                   files of spans end in .otlp.jsonl, of graphs in
                                   .cptgraph */
};

/* What a log file has done. */
struct cpt_log_file_counts {
    uint64_t file_count;        /* begun */
    uint64_t block_count;       /* of records, written */
    uint64_t byte_count;        /* written, headers and indexes too */
    uint64_t failed_count;      /* blocks that could not be written */
    uint64_t removed_count;     /* files removed because there were too many */
    uint64_t unindexed_count;   /* files without an index: no memory, disk full */
    uint64_t lost_record_count; /* written, to files that another program removed while
                                   they were current */
};

/*
 * Opens the first file: a directory that cannot be written to is reported at once. NULL
 * with the reason in @error: CPT_INVALID for options that contradict each other,
 * CPT_NO_MEMORY, CPT_IO.
 */
CPT_API struct cpt_log_file *
cpt_log_file_new(const struct cpt_log_file_options *options, struct cpt_error *error);

/* Finishes the current file, and frees. Removes it if it has no record, and no service
 * told that it traced none of its requests. NULL is fine. Free the queue first. */
CPT_API void cpt_log_file_free(struct cpt_log_file *file);

/*
 * Appends @block of @bytes; a cpt_log_sink_fn whose context is the log file. CPT_OK;
 * CPT_IO, CPT_NO_MEMORY: nothing of it is in the file; the next block may succeed.
 */
CPT_API cpt_status cpt_log_file_write(void *file, const void *block, size_t bytes);

/* Finishes the current file; the next block begins another. For programs that move
 * files away. CPT_OK, or CPT_IO: the file has no index. */
CPT_API cpt_status cpt_log_file_finish(struct cpt_log_file *file);

/*
 * The next block begins another file, as after cpt_log_file_finish(), but nothing is
 * done here: this may be called from a signal handler, for programs that move files
 * away and then send SIGHUP. Until the next block the current file stays open.
 */
CPT_API void cpt_log_file_reopen(struct cpt_log_file *file);

CPT_API void cpt_log_file_counts(const struct cpt_log_file *file,
                                 struct cpt_log_file_counts *counts);

CPT_END_DECLS

#endif
