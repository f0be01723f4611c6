/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_survey.h - what all files hold: how many records, since when, of which services
 *
 * A survey is made in one pass over the files, and is never changed. When files grow, a
 * new one with the next revision takes its place.
 *
 * Threads: any may read a survey that it holds.
 */
#ifndef CPTI_CLI_WEB_SURVEY_H
#define CPTI_CLI_WEB_SURVEY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cpti_web_survey;

/* A survey of the @path_count files at @paths, which are copied. Revision 0: nothing is
 * read yet. NULL without memory, with the error printed. */
struct cpti_web_survey *cpti_web_survey_new(const char *const *paths, size_t path_count,
                                            uint64_t revision);

/* Reads the files, before another thread has the survey, unless *@is_unwanted becomes
 * true. A file that cannot be read is left out, with a message. */
void cpti_web_survey_read(struct cpti_web_survey *survey,
                          const atomic_bool *is_unwanted);

/* Takes and releases a survey; NULL is fine. */
struct cpti_web_survey *cpti_web_survey_hold(struct cpti_web_survey *survey);
void cpti_web_survey_release(struct cpti_web_survey *survey);

/* The files it was made from. */
const char *const *cpti_web_survey_paths(const struct cpti_web_survey *survey,
                                         size_t *count);
uint64_t cpti_web_survey_revision(const struct cpti_web_survey *survey);

/* Writes the answers to /api/summary and to /api/complete as JSON. */
void cpti_web_survey_write(const struct cpti_web_survey *survey, FILE *file,
                           bool is_followed);

#endif
