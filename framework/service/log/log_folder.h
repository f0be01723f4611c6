/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_folder.h - the directory of a log: the names of its files, and which are removed
 *
 *      A-20261121T060000Z-4711-000000000.cptlog
 *      |         |         |       |
 *    name   begun (UTC)  process   |
 *                                number: one more than the largest in the directory
 *
 * Files are ordered by their numbers, which go on from process to process: a clock that
 * is set back does not make the newest file look like the oldest one. Names with a
 * shorter number are those of earlier versions, which counted in each process: they are
 * older than all others, and ordered by time.
 *
 * The directory is looked up by its name for each new file, as it may have been moved
 * or replaced; from the working directory of the beginning, as that may change, too. If
 * nothing has its name, new files go where it is now.
 *
 * Threads: one at a time.
 */
#ifndef CPT_LOG_FOLDER_H
#define CPT_LOG_FOLDER_H

#include "cpt/cpt_alloc.h"

#include <stdbool.h>

enum { CPTI_LOG_ENTRY_BYTES = 256 }; /* the name of a file in its directory, and NUL */

#define CPTI_LOG_ENDING_PATHS  ".cptlog"
#define CPTI_LOG_ENDING_SPANS  ".otlp.jsonl"
#define CPTI_LOG_ENDING_GRAPHS ".cptgraph"

struct cpti_log_folder {
    const struct cpt_alloc *alloc;
    char *directory;
    char *name;              /* of the log */
    const char *ending;      /* of its files: CPTI_LOG_ENDING_PATHS, … */
    int origin;              /* the working directory at first, or AT_FDCWD */
    int descriptor;          /* of the directory; -1: not opened yet */
    unsigned file_mode;      /* of new files; 0: 0644 less the mask of the process */
    size_t kept_count_max;   /* 0: all */
    uint64_t kept_bytes_max; /* 0: all */
    uint64_t next_number;
};

/* CPT_OK; CPT_NO_MEMORY. Deinit in both cases. */
cpt_status cpti_log_folder_init(struct cpti_log_folder *folder,
                                const struct cpt_alloc *alloc, const char *directory,
                                const char *name);
void cpti_log_folder_deinit(struct cpti_log_folder *folder);

/*
 * Creates a file, locks it, and returns its descriptor, or -1 with errno set. Its name
 * is in @entry, the name that was tried last if there is none.
 */
int cpti_log_folder_create(struct cpti_log_folder *folder,
                           char entry[CPTI_LOG_ENTRY_BYTES]);

/* What became of a file that was created. */
enum cpti_log_fate {
    CPTI_LOG_IN_PLACE,
    CPTI_LOG_MOVED,   /* it has another name, and perhaps its name another file */
    CPTI_LOG_REMOVED, /* no name */
    CPTI_LOG_CHANGED  /* another size than what was written */
};

/* What became of the file at @descriptor, created as @entry, now of @bytes. */
enum cpti_log_fate cpti_log_folder_fate(const struct cpti_log_folder *folder,
                                        const char *entry, int descriptor,
                                        uint64_t bytes);

/* Removes the file @entry. */
void cpti_log_folder_unlink(const struct cpti_log_folder *folder, const char *entry);

/* Removes the oldest files that no process writes to, until the limits hold with
 * @coming_bytes more; how many. Files that another process removes at the same time are
 * not counted. *@left_bytes: of the files that are left. */
size_t cpti_log_folder_tidy(const struct cpti_log_folder *folder, uint64_t coming_bytes,
                            uint64_t *left_bytes);

/* A new file survives a loss of power once its directory is on the disk. */
void cpti_log_folder_sync(const struct cpti_log_folder *folder);

#endif
