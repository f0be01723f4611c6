/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* settings_file.c - a file that others write while we read it; see settings_file.h */
#include "framework/service/settings_file.h"

#include "framework/cpt_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { SPARES = 2 };

cpt_status cpti_settings_file_init(struct cpti_settings_file *file,
                                   const struct cpt_alloc *alloc, const char *path)
{
    *file = (struct cpti_settings_file){.alloc = alloc, .path = path};
    file->spares.wanted = SPARES;
    cpti_spares_fill(&file->spares);
    file->judged = cpt_alloc_zeroed(alloc, CPT_SETTINGS_BYTES_MAX + 1);
    file->next = cpt_alloc_zeroed(alloc, CPT_SETTINGS_BYTES_MAX + 1);
    return file->judged != NULL && file->next != NULL ? CPT_OK : CPT_NO_MEMORY;
}

void cpti_settings_file_deinit(struct cpti_settings_file *file)
{
    cpti_spares_deinit(&file->spares);
    cpt_alloc_free(file->alloc, file->judged);
    cpt_alloc_free(file->alloc, file->next);
}

/* --- Reading --- */

/* The number of bytes, or -1 with errno. */
static ssize_t read_open(struct cpti_settings_file *file, int descriptor)
{
    size_t bytes = 0;
    ssize_t got = 1;

    while (got > 0 && bytes <= CPT_SETTINGS_BYTES_MAX) {
        got = read(descriptor, file->next + bytes, CPT_SETTINGS_BYTES_MAX + 1 - bytes);
        bytes += got > 0 ? (size_t)got : 0;
    }
    if (got >= 0 && bytes > CPT_SETTINGS_BYTES_MAX) {
        errno = EFBIG;
        return -1;
    }
    return got < 0 ? -1 : (ssize_t)bytes;
}

static bool is_same_time(struct timespec one, struct timespec other)
{
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

static bool is_same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* Whether nothing has written to the file between the two looks. */
static bool is_still(const struct stat *one, const struct stat *other)
{
    return is_same_file(one, other) && one->st_size == other->st_size &&
           is_same_time(one->st_mtim, other->st_mtim) &&
           is_same_time(one->st_ctim, other->st_ctim);
}

/* Reads the file into `next`. *@about: before that; *@is_torn: something was written
 * meanwhile. The number of bytes, or -1 with errno. */
static ssize_t read_file(struct cpti_settings_file *file, struct stat *about,
                         bool *is_torn)
{
    const int descriptor = cpti_spares_open(
        &file->spares, file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat after;
    ssize_t bytes = -1;
    int number = 0;

    if (descriptor < 0) {
        return -1;
    }
    if (fstat(descriptor, about) != 0 || !S_ISREG(about->st_mode)) {
        errno = EINVAL;
    } else {
        bytes = read_open(file, descriptor);
    }
    number = errno;
    *is_torn = fstat(descriptor, &after) != 0 || !is_still(about, &after) ||
               bytes != (ssize_t)after.st_size;
    (void)close(descriptor);
    cpti_spares_fill(&file->spares);
    errno = number;
    return bytes;
}

/* --- Looking --- */

static bool is_as_judged(const struct cpti_settings_file *file, size_t bytes)
{
    return file->was_there && bytes == file->judged_bytes &&
           memcmp(file->next, file->judged, bytes) == 0;
}

enum cpti_settings_look cpti_settings_file_look(struct cpti_settings_file *file,
                                                uint64_t now_ns)
{
    const struct stat before = file->about;
    const bool is_first = !file->has_looked;
    const bool was_missing = file->is_missing;
    bool is_torn = false;
    const ssize_t bytes = read_file(file, &file->about, &is_torn);

    file->has_looked = true;
    file->is_missing = bytes < 0;
    if (bytes < 0) {
        file->since_ns = 0;
        return CPTI_SETTINGS_UNREAD;
    }
    file->next_bytes = (size_t)bytes;
    if (is_as_judged(file, file->next_bytes)) {
        file->since_ns = 0;
        return was_missing ? CPTI_SETTINGS_NEW : CPTI_SETTINGS_SAME;
    }
    if (!is_torn &&
        (is_first || (!was_missing && !is_same_file(&before, &file->about)) ||
         (file->since_ns != 0 && is_still(&before, &file->about) &&
          now_ns - file->since_ns >= CPTI_SETTINGS_STILL_NS))) {
        file->since_ns = 0;
        return CPTI_SETTINGS_NEW;
    }
    if (file->since_ns == 0) {
        file->changes_ns = now_ns;
    }
    if (file->since_ns == 0 || is_torn || !is_still(&before, &file->about)) {
        file->since_ns = now_ns;
    }
    return CPTI_SETTINGS_CHANGING;
}

void cpti_settings_file_judge(struct cpti_settings_file *file)
{
    char *last = file->judged;

    file->judged = file->next;
    file->judged_bytes = file->next_bytes;
    file->next = last;
    file->was_there = true;
}
