/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * memory.c - how much memory this process may have; see cpt_alloc.h
 *
 * The kernel ends a process whose control group has more memory than it may have. A
 * process is in one group of each hierarchy, and all groups around it have limits, too:
 *
 *      /proc/self/cgroup     0::/shop/front              version 2
 *                            4:memory:/shop/front        version 1
 *
 *      /sys/fs/cgroup/shop/front/memory.max    67108864
 *      /sys/fs/cgroup/shop/memory.max          max        none
 *      /sys/fs/cgroup/memory.max               (is not there)
 *
 * In a container the folders often begin at its own group, whatever the file says. So
 * a folder that is not there is passed over, and the outermost one is looked at, too.
 *
 * What cannot be understood says nothing. It is read once, by the first that asks:
 * limits are made of it, which must not change while a process runs.
 */
#include "cpt/base/memory.h"

#include "cpt/cpt_alloc.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GROUPS_BYTES_MAX = 16 << 10, /* of /proc/self/cgroup */
    PATH_BYTES_MAX = 4096,
    NUMBER_BYTES_MAX = 32,
    DEPTH_MAX = 64,
    LEAST = 1 << 20 /* no process runs in less: a lower limit counts as this */
};

/* --- Text --- */

/* Reads at most @capacity - 1 bytes of the file @path as text; false: it cannot be
 * read, or is longer, or has a NUL. */
static bool read_text(const char *path, char *text, size_t capacity)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t bytes = 0;
    ssize_t more = 0;

    if (file < 0) {
        return false;
    }
    do {
        more = read(file, text + bytes, capacity - bytes);
        bytes += more > 0 ? (size_t)more : 0;
    } while (more > 0 && bytes < capacity);
    (void)close(file);
    if (more != 0 || bytes >= capacity) {
        return false;
    }
    text[bytes] = '\0';
    return strlen(text) == bytes;
}

size_t cpti_memory_of_text(const char *text)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    uint64_t number = 0;
    size_t digits = 0;

    for (; text[digits] >= '0' && text[digits] <= '9'; digits++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[digits] - '0'), &number)) {
            return SIZE_MAX;
        }
    }
    for (unsigned i = 0; i < sizeof units / sizeof units[0] && digits > 0; i++) {
        if (strcmp(text + digits, units[i]) == 0) {
            return number > 0 && number <= (SIZE_MAX >> 10 * i)
                       ? (size_t)number << 10 * i
                       : SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

/* --- Control groups --- */

/* What the file @name in the folder @path, of @bytes, says. */
static size_t limit_in(const char *path, size_t bytes, const char *name)
{
    char file[PATH_BYTES_MAX + NUMBER_BYTES_MAX];
    char text[NUMBER_BYTES_MAX];
    size_t end = 0;

    (void)snprintf(file, sizeof file, "%.*s/%s", (int)bytes, path, name);
    if (!read_text(file, text, sizeof text)) {
        return SIZE_MAX;
    }
    end = strlen(text);
    if (end > 0 && text[end - 1] == '\n') {
        text[end - 1] = '\0';
    }
    return cpti_memory_of_text(text); /* of "max" none */
}

static size_t lower(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Whether @group is outside of what this process can see, as "/../other". */
static bool is_outside(const char *group)
{
    const char *at = strstr(group, "/..");

    while (at != NULL && at[3] != '/' && at[3] != '\0') {
        at = strstr(at + 3, "/..");
    }
    return at != NULL;
}

/* The lowest limit of @group and all around it, in the hierarchy at @root. */
static size_t limit_of_group(const char *root, const char *group, const char *name)
{
    char path[PATH_BYTES_MAX];
    const size_t root_bytes = strlen(root);
    const int written = snprintf(path, sizeof path, "%s%s", root, group);
    size_t bytes = (size_t)written;
    size_t limit = SIZE_MAX;

    if (written < 0 || bytes >= sizeof path || is_outside(group)) {
        return limit_in(root, root_bytes, name);
    }
    for (int depth = 0; depth < DEPTH_MAX && bytes > root_bytes; depth++) {
        limit = lower(limit, limit_in(path, bytes, name));
        while (bytes > root_bytes && path[--bytes] != '/') {
        }
    }
    return lower(limit, limit_in(root, root_bytes, name));
}

/* Whether @controllers, as "cpu,memory", has memory. */
static bool has_memory(const char *controllers, size_t bytes)
{
    static const char memory[] = "memory";
    const size_t length = sizeof memory - 1;

    for (size_t at = 0; at + length <= bytes; at++) {
        if ((at == 0 || controllers[at - 1] == ',') &&
            memcmp(controllers + at, memory, length) == 0 &&
            (at + length == bytes || controllers[at + length] == ',')) {
            return true;
        }
    }
    return false;
}

/* The limit that @line, "number:controllers:group", leads to. */
static size_t limit_of_line(const char *line, const char *cgroups)
{
    const char *controllers = strchr(line, ':');
    const char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    char root[PATH_BYTES_MAX];

    if (group == NULL || group[1] != '/') {
        return SIZE_MAX;
    }
    controllers++;
    if (group == controllers) { /* version 2; beside version 1 it has a folder */
        (void)snprintf(root, sizeof root, "%s/unified", cgroups);
        return lower(limit_of_group(cgroups, group + 1, "memory.max"),
                     limit_of_group(root, group + 1, "memory.max"));
    }
    if (!has_memory(controllers, (size_t)(group - controllers))) {
        return SIZE_MAX;
    }
    (void)snprintf(root, sizeof root, "%s/memory", cgroups);
    return limit_of_group(root, group + 1, "memory.limit_in_bytes");
}

size_t cpti_memory_of_groups(const char *groups, const char *cgroups)
{
    char text[GROUPS_BYTES_MAX];
    size_t limit = SIZE_MAX;
    char *line = text;

    if (!read_text(groups, text, sizeof text)) {
        return SIZE_MAX;
    }
    while (*line != '\0') {
        char *end = line + strcspn(line, "\n");
        const bool is_last = *end == '\0';

        *end = '\0';
        limit = lower(limit, limit_of_line(line, cgroups));
        line = is_last ? end : end + 1;
    }
    return limit;
}

/* --- For all --- */

static size_t read_limit(void)
{
    const char *said = getenv("CPT_MEMORY_MAX");
    size_t limit = said != NULL ? cpti_memory_of_text(said) : SIZE_MAX;

    if (limit == SIZE_MAX) {
        limit = cpti_memory_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
    }
    return limit > LEAST ? limit : LEAST;
}

size_t cpt_memory_max(void)
{
    /* 0: not read yet. Relaxed: all who read it at first find the same. */
    static atomic_size_t known;
    size_t limit = atomic_load_explicit(&known, memory_order_relaxed);

    if (limit == 0) {
        size_t before = 0;

        limit = read_limit();
        if (!atomic_compare_exchange_strong_explicit(
                &known, &before, limit, memory_order_relaxed, memory_order_relaxed)) {
            limit = before;
        }
    }
    return limit;
}

size_t cpt_memory_part(size_t bytes, unsigned part)
{
    const size_t limit = cpt_memory_max();

    return limit != SIZE_MAX && limit / part < bytes ? limit / part : bytes;
}
