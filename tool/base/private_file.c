/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* private_file.c - by O_TMPFILE, and where a file system has none, unlinked at once */
#include "tool/base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A file that has no name, or none any more. */
static int open_nameless(const char *folder)
{
    char path[PATH_MAX];
    int descriptor = open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL &&
                            errno != ENOENT)) {
        return descriptor;
    }
    /* the file system cannot do that */
    if (snprintf(path, sizeof path, "%s/cpt-XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor >= 0) {
        (void)unlink(path);
    }
    return descriptor;
}

int cpti_private_file(char path[CPTI_PRIVATE_PATH_BYTES])
{
    const char *folder = getenv("TMPDIR");
    const int descriptor =
        open_nameless(folder != NULL && folder[0] != '\0' ? folder : "/tmp");

    (void)signal(SIGXFSZ, SIG_IGN); /* the write then fails, and says why */
    (void)snprintf(path, CPTI_PRIVATE_PATH_BYTES, "/proc/%ld/fd/%d", (long)getpid(),
                   descriptor);
    return descriptor;
}
