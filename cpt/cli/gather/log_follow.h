/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_follow.h - a log that is still being written, and the file that goes on with it
 *
 *      A-20261121T060000Z-4711-000000.cptlog   finished: its index is there
 *      A-20261121T070000Z-4711-000001.cptlog   of the same name and process: goes on
 *
 * A writer that rotates finishes a file and begins another one, whose name tells where
 * it belongs (docs/format-path-log.md). Who moves a log away and begins another one of
 * the same name, or cuts it to nothing, is followed as well.
 */
#ifndef CPTI_CLI_LOG_FOLLOW_H
#define CPTI_CLI_LOG_FOLLOW_H

#include "cpt/cli/base/files.h"

/*
 * Reads on as cpti_input_read() does; a cpt_log_read_fn. At the end of a file it waits
 * for more, until the writer has finished it, or another file has its name. What was
 * printed is flushed before.
 */
cpt_status cpti_log_read_following(void *context, void *buffer, size_t capacity,
                                   size_t *bytes);

/*
 * The path of the file that goes on where @input, which was followed to its end, has
 * ended, to *@path, which the caller frees; NULL if there is none. A writer that has
 * just finished a file is given a second to begin the next. enum cpti_exit.
 */
int cpti_log_successor(struct cpti_input *input, char **path);

#endif
