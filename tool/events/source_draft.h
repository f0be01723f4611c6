/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * source_draft.h - a source to start from, by the look of a line of no known format
 *
 *      2026-11-29 04:13:33,062 INFO shop: got order 7 request_id=d905
 *       --> source shop = regex ^(?<time>\S+ \S+) (?<text>.*?)(?:\Wrequest_id...
 *
 * Threads: any.
 */
#ifndef CPTI_CLI_SOURCE_DRAFT_H
#define CPTI_CLI_SOURCE_DRAFT_H

#include "cpt/cpt_name.h"

#include <stdbool.h>

enum { CPTI_DRAFT_BYTES = 512 };

/* Writes a source for the file at @path with the first line @line: its stamp is the
 * time, the rest the text; the id is behind a word as request_id=, or id= at the end.
 * false: no stamp can be in it. */
bool cpti_source_draft(struct cpt_bytes line, const char *path,
                       char draft[CPTI_DRAFT_BYTES]);

/* Whether @line looks as Python's logging writes it: "…,062 INFO", "INFO:root:…". */
bool cpti_source_is_python(struct cpt_bytes line);

/* What makes Python's logging write lines that are read as they are; lines. */
extern const char cpti_source_python[];

#endif
