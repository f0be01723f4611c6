/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* memory.h - what cpt_memory_max() reads, for tests; memory.c */
#ifndef CPT_MEMORY_H
#define CPT_MEMORY_H

#include <stddef.h>

/* The lowest limit of memory that stands in the folders of @cgroups, as
 * "/sys/fs/cgroup", for a process whose groups stand in the file @groups, as
 * "/proc/self/cgroup"; SIZE_MAX: there is none, or it cannot be read. */
size_t cpti_memory_of_groups(const char *groups, const char *cgroups);

/* The number of bytes that @text says: "67108864", "64MiB"; SIZE_MAX: it says none. */
size_t cpti_memory_of_text(const char *text);

#endif
