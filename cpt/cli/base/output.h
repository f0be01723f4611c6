/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * output.h - what the tool says, and to whom
 *
 * stdout is the result and nothing else; stderr is for people. Whatever comes from
 * outside (a file's name, an argument, a frame) goes through cpti_quoted() or the
 * functions of cpt_path.h, so that no byte of it reaches a terminal as a command.
 * Threads: any.
 *
 *      cpt: paths.cptlog: record 17 at byte 3308: block fails its checksum
 */
#ifndef CPTI_CLI_OUTPUT_H
#define CPTI_CLI_OUTPUT_H

#include "cpt/cpt_name.h"

#include <stdio.h>

/* Longest text of one frame or quoted word that is shown: a name of 255 bytes, every
 * byte escaped, after a service that is as long. */
enum { CPTI_TEXT_BYTES = 2304 };

/* @text with control bytes and broken UTF-8 as \xNN. Good until four more calls. */
const char *cpti_quoted(const char *text);
const char *cpti_quoted_bytes(struct cpt_bytes text);

/* The same for text that is no name: ';' and backslash stay as they are. The second
 * writes as snprintf() does, what does not fit left out, and says the bytes written. */
const char *cpti_printable(struct cpt_bytes text);
size_t cpti_printable_to(struct cpt_bytes text, char *to, size_t capacity);

/* Prints "cpt: " and the sentence on stderr. CPTI_EXIT_FAILED, so that it is one line
 * to return. */
int cpti_failed(const char *format, ...) CPT_PRINTF(1, 2);

/* The same for a mistake on the command line: CPTI_EXIT_USAGE. */
int cpti_usage(const char *format, ...) CPT_PRINTF(1, 2);

/* The same for what does not stop anything. */
void cpti_warn(const char *format, ...) CPT_PRINTF(1, 2);

/* From here on, what this thread says goes to @file; NULL: to stderr. */
void cpti_say_to(FILE *file);

/* Whether it does not go to stderr: then nothing else of this thread goes there. */
int cpti_says_apart(void);

/* Flushes stdout. CPTI_EXIT_FAILED with a line on stderr if not all could be written,
 * otherwise @status. Every program ends through it. */
int cpti_finish(int status);

/* Columns that may be filled: COLUMNS, or the terminal's; 0 (no limit) if stdout is no
 * terminal, as a program that reads on wants whole names; 80 if it will not say. */
size_t cpti_columns(void);

/* Whether stdout may be coloured: a terminal that is not dumb, and NO_COLOR not set. */
int cpti_is_coloured(void);

/* Columns that @text takes on a terminal. */
size_t cpti_text_columns(const char *text);

/* Bytes of @text that fit @columns, whole characters only. */
size_t cpti_text_fit(const char *text, size_t columns);

/* Prints @text with its paragraphs wrapped to 78 columns and indented. A line that
 * begins with a space is kept as it is. */
void cpti_print_wrapped(FILE *file, size_t indent, const char *text);

/* Nanoseconds as milliseconds, the unit of all our tables: "12.345". */
const char *cpti_ms(double ns, char text[32]);

/* Wall-clock nanoseconds as "2026-01-31T12:00:00.000000000Z". */
const char *cpti_utc(uint64_t unix_ns, char text[64]);

#endif
