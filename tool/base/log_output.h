/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_output.h - a path log written by the tool: unchanged records of other logs
 *
 * Records are copied byte by byte, with fields that this version does not know, into
 * blocks of the usual size; an index follows the last one. The file is whole or absent,
 * as in files.h.
 */
#ifndef CPTI_CLI_LOG_OUTPUT_H
#define CPTI_CLI_LOG_OUTPUT_H

#include "tool/base/files.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpt_log_block;
struct cpt_log_index;

struct cpti_log_output {
    struct cpti_output output;
    struct cpt_log_block *block;
    struct cpt_log_index *index;
    uint64_t written_bytes;
    uint64_t record_count;
};

/* Opens @path for writing; "-" is standard output. Its blocks are compressed if
 * @is_compressed. enum cpti_exit. */
int cpti_log_output_open(struct cpti_log_output *log, const char *path,
                         bool is_compressed);

/* Adds one record, as cpt_log_reader_bytes() gives it. enum cpti_exit. */
int cpti_log_output_add(struct cpti_log_output *log, struct cpt_bytes record);

/* Completes the log and moves it to its path. enum cpti_exit. Ends it in any case. */
int cpti_log_output_commit(struct cpti_log_output *log);

/* Removes the unfinished file. Ends the log. */
void cpti_log_output_abort(struct cpti_log_output *log);

#endif
