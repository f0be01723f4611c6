/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_source.h - which files the operands stand for now, and whether they have changed
 *
 *      paths.cptlog                 that file; the old one, too, if it was moved away
 *      A-…-4711-000000.cptlog       that file and those that continue it
 *      logs/                        all logs of the folder (base/folders.h)
 *      clickhouse://…               itself; it is not watched
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_WEB_SOURCE_H
#define CPTI_CLI_WEB_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most files. */
enum { CPTI_WEB_FILES_MAX = 10000 };

struct cpti_source;
struct cpti_web_source;

/* Checks the operands, which are borrowed, and finds their files. NULL with the error
 * printed. */
struct cpti_web_source *cpti_web_source_new(const char *const *operands, size_t count);
void cpti_web_source_free(struct cpti_web_source *source);

/* Looks again. *@is_changed says whether a file has come, grown, or gone. enum
 * cpti_exit; after a failure the files are as before. */
int cpti_web_source_look(struct cpti_web_source *source, bool *is_changed);

/* The files, borrowed until the next look. */
const char *const *cpti_web_source_paths(const struct cpti_web_source *source,
                                         size_t *count);

/* The operands, and how many of the files each one stands for; likewise borrowed. */
const struct cpti_source *cpti_web_source_names(const struct cpti_web_source *source,
                                                size_t *count);

/* Whether there are files, which are watched. */
bool cpti_web_source_is_followed(const struct cpti_web_source *source);

#endif
