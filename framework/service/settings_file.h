/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * settings_file.h - a file that others write while we read it
 *
 *      look --> the bytes judged last --------------------------------> SAME
 *           --> another file in its place (renamed) ------------------> NEW
 *           --> changed in place, or where there was none --> CHANGING
 *                                                               |
 *                          still for CPTI_SETTINGS_STILL_NS ----+-----> NEW
 *
 * A file that is renamed onto another one is whole. One that is changed in place is,
 * for a while, neither the old one nor the new one; nothing says when its writer is
 * done. So it counts only once a second has passed without a change of its length or
 * its times (who writes through mmap() may change neither). Its times are compared with
 * each other, never with a clock: clocks are set back.
 *
 * Threads: one at a time.
 */
#ifndef CPT_SETTINGS_FILE_H
#define CPT_SETTINGS_FILE_H

#include "cpt/cpt_alloc.h"
#include "framework/pool/spares.h"

#include <stdbool.h>
#include <sys/stat.h>

/* What is changed in place must be still for this long. */
#define CPTI_SETTINGS_STILL_NS UINT64_C(1000000000)

enum cpti_settings_look {
    CPTI_SETTINGS_SAME,     /* nothing to do */
    CPTI_SETTINGS_NEW,      /* `next` is to be judged */
    CPTI_SETTINGS_CHANGING, /* `next` may be half of what is coming */
    CPTI_SETTINGS_UNREAD    /* it cannot be read: errno */
};

struct cpti_settings_file {
    const struct cpt_alloc *alloc;
    const char *path; /* borrowed */
    char *judged;     /* the bytes that were judged last */
    size_t judged_bytes;
    char *next; /* read now */
    size_t next_bytes;
    struct stat about;   /* of what was read last */
    bool has_looked;     /* once at least */
    bool was_there;      /* something was judged */
    bool is_missing;     /* the last look could not read it */
    uint64_t since_ns;   /* it is as it is now; monotonic; 0: it is not changing */
    uint64_t changes_ns; /* it has been changing since; likewise */
    struct cpti_spares spares; /* the kill switch works also without descriptors */
};

/* CPT_OK; CPT_NO_MEMORY. Deinit in both cases. */
cpt_status cpti_settings_file_init(struct cpti_settings_file *file,
                                   const struct cpt_alloc *alloc, const char *path);
void cpti_settings_file_deinit(struct cpti_settings_file *file);

/* Reads the file into `next`. At the first look whatever is there counts as new. */
enum cpti_settings_look cpti_settings_file_look(struct cpti_settings_file *file,
                                                uint64_t now_ns);

/* `next` is judged: it is not looked at again until it changes. */
void cpti_settings_file_judge(struct cpti_settings_file *file);

#endif
