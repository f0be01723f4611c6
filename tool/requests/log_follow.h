/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_follow.h - a log that is still being written, and the file that continues it
 *
 *      A-20261121T060000Z-4711-000000000.cptlog   finished: its index is there
 *      A-20261121T070000Z-4711-000000001.cptlog   same name and process: continues it
 *
 * A writer that rotates finishes a file and begins another one, whose name tells its
 * place (docs/format-path-log.md). A log that is moved away and begun again under the
 * same name, or truncated, is followed too.
 */
#ifndef CPTI_CLI_LOG_FOLLOW_H
#define CPTI_CLI_LOG_FOLLOW_H

#include "tool/base/files.h"

/*
 * A cpt_read_fn, as cpti_input_read(). At the end of the file it flushes stdout and
 * waits for more, until the writer has finished the file or another file has its name.
 */
cpt_status cpti_log_read_following(void *context, void *buffer, size_t capacity,
                                   size_t *bytes);

/*
 * Finds the file that continues @input, which was followed to its end. *@path is its
 * path, which the caller frees, or NULL. A writer that has just finished a file has a
 * second to begin the next. enum cpti_exit.
 */
int cpti_log_successor(struct cpti_input *input, char **path);

/* Looks beside @path for the file of the same name and process with the next number.
 * *@next is its path, which the caller frees, or NULL. enum cpti_exit. */
int cpti_log_next(const char *path, char **next);

#endif
