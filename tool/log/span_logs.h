/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_logs.h - spans in the place of a path log
 *
 *      cpt web spans/                cpt report trace.json.gz
 *
 *      operand    spans/  -- cpt import -->  /proc/PID/fd/3
 *
 * An operand that is a file of spans, or a folder with such files and without a path
 * log, in it and in its subfolders, is imported into a private log, which takes its
 * place. That has no name in any folder, so nothing is left of it, however the process
 * ends. For a command that takes graph logs of folders, too, these count as path logs
 * do.
 *
 * Lines of logs as CSV with our columns are imported in the same way; they are known by
 * the names of these in the first line.
 *
 * Spans are known by their first bytes; if compressed by gzip, as profiles are, by a
 * name such as *.json.gz; of standard input only JSON is known. All else is left as it
 * is.
 */
#ifndef CPTI_CLI_SPAN_LOGS_H
#define CPTI_CLI_SPAN_LOGS_H

#include <stdbool.h>
#include <stddef.h>

struct cpti_arguments;

/* Imports what is spans among the operands, with all visits if @takes_visits. enum
 * cpti_exit; what could be read of them counts, if it is not nothing. */
int cpti_span_logs_open(struct cpti_arguments *arguments, bool takes_visits);

/* The operands that were spans, as they were given; NULL after the last. */
const char *cpti_span_logs_operand(size_t index);

/* The file of rows whose private log is @path; NULL: it is none. */
const char *cpti_row_logs_operand(const char *path);

/* What is in a folder, by the first bytes of its files; a named one has the name of
 * such a file and other bytes, or none. */
enum {
    CPTI_HAS_LOGS = 1,
    CPTI_HAS_GRAPHS = 2,
    CPTI_HAS_TREES = 4,
    CPTI_HAS_SPANS = 8,
    CPTI_HAS_NAMED_LOGS = 16,
    CPTI_HAS_NAMED_TREES = 32
};

/* Those of the folder @path and its subfolders, within the limits of folders.h. */
unsigned cpti_folder_has(const char *path);

#endif
