/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * output.h - messages, and text fitted to the terminal
 *
 * stdout holds the result and nothing else; stderr is for people. Text from outside (a
 * file's name, an argument, a frame) passes through cpti_quoted() or the functions of
 * cpt_path.h, so that a terminal never obeys it. Threads: any.
 *
 *      cpt: paths.cptlog: record 17 at byte 3308: block fails its checksum
 */
#ifndef CPTI_CLI_OUTPUT_H
#define CPTI_CLI_OUTPUT_H

#include "tool/base/messages.h"

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stdio.h>

/* The longest text of a frame or quoted word: a name of 255 bytes, each one escaped,
 * after a service of that length. */
enum { CPTI_TEXT_BYTES = 2304 };

/* @text with control bytes and invalid UTF-8 as \xNN. Valid until the fourth call after
 * this one. */
const char *cpti_quoted(const char *text);

/* cpti_quoted() shows @path, of a private file, as @name. Both are borrowed. At most
 * 64; before there are other threads. */
void cpti_quote_as(const char *path, const char *name);
const char *cpti_quoted_bytes(struct cpt_bytes text);

/* The same for text that is not a name: ';' and backslash are not escaped. The second
 * one writes what fits, with a NUL, and returns the bytes written. */
const char *cpti_printable(struct cpt_bytes text);
size_t cpti_printable_to(struct cpt_bytes text, char *to, size_t capacity);

/* Flushes stdout. Returns @exit_status, or CPTI_EXIT_FAILED with a line on stderr if
 * stdout could not be written. Each program ends with it. */
int cpti_finish(int exit_status);

/* The columns to fill: those of COLUMNS, or of the terminal (80 if it does not tell);
 * 0, no limit, if stdout is not a terminal: a program that reads it wants whole
 * names. */
size_t cpti_columns(void);

/* Whether stdout may be coloured: a terminal, not a dumb one, and NO_COLOR is not
 * set. */
bool cpti_is_coloured(void);

/* The columns of @text on a terminal. */
size_t cpti_text_columns(const char *text);

/* The bytes of @text that fit into @columns, whole characters only. */
size_t cpti_text_fit(const char *text, size_t columns);

/*
 * Writes @text to @to, cut in the middle to @columns, with @mark, of one column, for
 * what is missing: both ends of a name tell most. @end_share: percent of the columns
 * for the end. Blanks before it stay, up to half of the columns.
 */
void cpti_text_shorten(const char *text, size_t columns, unsigned end_share,
                       const char *mark, char *to, size_t capacity);

/* Writes @line to @text, broken at blanks outside of quotes into lines of at most
 * @columns, with @joint between them. A longer word stays whole. */
void cpti_line_break(const char *line, size_t columns, const char *joint, char *text,
                     size_t capacity);

/* Prints @text indented, its paragraphs wrapped at 78 columns. A line that begins with
 * a space is not wrapped. */
void cpti_print_wrapped(FILE *file, size_t indent, const char *text);

/* Nanoseconds as milliseconds, the unit of all tables: "12.345". */
const char *cpti_ms(double ns, char text[32]);

/* Wall-clock nanoseconds as "2026-01-31T12:00:00.000000000Z". */
const char *cpti_utc(uint64_t unix_ns, char text[64]);

#endif
