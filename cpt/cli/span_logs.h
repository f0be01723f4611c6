/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_logs.h - spans in the place of a path log
 *
 *      cpt web spans/                cpt report trace.json.gz
 *
 *      operand    spans/  -- cpt import -->  /tmp/cpt-XXXXXX/spans.cptlog
 *
 * An operand that is a file of spans, or a folder with such files and without a path
 * log, is imported into a private log, which takes its place and is removed at the end.
 *
 * Spans are known by their first bytes; if compressed by gzip, as profiles are, by a
 * name such as *.json.gz. All else is left as it is.
 */
#ifndef CPTI_CLI_SPAN_LOGS_H
#define CPTI_CLI_SPAN_LOGS_H

struct cpti_arguments;

/* Imports what is spans among the operands. enum cpti_exit; what could be read of them
 * counts, if it is not nothing. */
int cpti_span_logs_open(struct cpti_arguments *arguments);

#endif
