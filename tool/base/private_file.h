/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* private_file.h - temporary files of which nothing is left */
#ifndef CPTI_CLI_PRIVATE_FILE_H
#define CPTI_CLI_PRIVATE_FILE_H

enum { CPTI_PRIVATE_PATH_BYTES = 64 };

/*
 * Makes a file without a name in the folder for temporary files, TMPDIR or /tmp:
 * nothing of it is left, however the process ends. Its descriptor, which the caller
 * closes, and to @path by what name it is opened, also by processes that this one has
 * started. -1 with errno.
 */
int cpti_private_file(char path[CPTI_PRIVATE_PATH_BYTES]);

#endif
