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

struct cpti_source;
struct cpti_web_survey;

/* Files, and what they were given as; see cpti_gather of gather.h. */
struct cpti_web_files {
    const char *const *paths;
    size_t path_count;
    const struct cpti_source *sources;
    size_t source_count;
};

/* A survey of @files, which are copied but for the names of sources. Revision 0:
 * nothing is read yet. NULL without memory, with the error printed. */
struct cpti_web_survey *cpti_web_survey_new(const struct cpti_web_files *files,
                                            uint64_t revision);

/* Reads the files, before another thread has the survey, unless *@is_unwanted becomes
 * true. A file that cannot be read is left out, with a message. */
void cpti_web_survey_read(struct cpti_web_survey *survey,
                          const atomic_bool *is_unwanted);

/* Takes and releases a survey; NULL is fine. */
struct cpti_web_survey *cpti_web_survey_hold(struct cpti_web_survey *survey);
void cpti_web_survey_release(struct cpti_web_survey *survey);

/* The files it was made from. */
struct cpti_web_files cpti_web_survey_files(const struct cpti_web_survey *survey);
uint64_t cpti_web_survey_revision(const struct cpti_web_survey *survey);

/* Writes the answers to /api/summary, also that there are @graph_count kept graphs, and
 * to /api/complete as JSON. */
void cpti_web_survey_write(const struct cpti_web_survey *survey, FILE *file,
                           bool is_followed, size_t graph_count);
int cpti_web_survey_complete(const struct cpti_web_survey *survey, const char *text,
                             FILE *file); /* enum cpti_exit */

#endif
