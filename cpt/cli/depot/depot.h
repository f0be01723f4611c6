/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * depot.h - a folder of path logs, asked for single traces
 *
 *      depot/  paths.cptlog   .paths.cptlog.ids       ids.h
 *              old.cptlog     .old.cptlog.ids
 *
 * Every command reads the folder as it reads any folder of logs: the files of ids are
 * hidden. Each log has its own, so nothing is wrong when a log comes, grows or goes. It
 * is made when it is missing, torn or of another file, and continued when its log has
 * grown; it is written beside and renamed, so a reader sees a whole one. In a folder
 * that cannot be written, logs are read as a whole instead.
 *
 * Threads: any, of different logs.
 */
#ifndef CPTI_CLI_DEPOT_H
#define CPTI_CLI_DEPOT_H

#include "cpt/cli/depot/ids.h"
#include "cpt/cli/gather/log_walk.h"

/* A log may be this much longer than its ids know; the rest is read by each search. */
enum { CPTI_DEPOT_REST_BYTES = 1 << 20 };

/* What is looked for. */
struct cpti_depot_wanted {
    struct cpt_bytes text;
    unsigned char id[CPTI_ID_BYTES];
};

/* The path of the ids of the log at @path, which the caller frees; NULL without
 * memory. */
char *cpti_depot_ids_path(const char *path);

/*
 * Makes the ids of the log at @path right, up to @rest_max bytes of its end, and sets
 * *@head. If they cannot be written, *@head is right nevertheless. *@is_kept says
 * whether they are there. enum cpti_exit: CPTI_EXIT_FAILED if the log cannot be read.
 */
int cpti_depot_refresh(const char *path, uint64_t rest_max, struct cpti_ids_head *head,
                       bool *is_kept);

/*
 * Calls `record` for each record of @wanted in the log at @path, whose ids it makes
 * right first. `walk` is how: its `record` and `context`. enum cpti_exit.
 */
int cpti_depot_find(const char *path, const struct cpti_depot_wanted *wanted,
                    const struct cpti_log_walk *walk);

/* Whether @record is of the trace @wanted. */
bool cpti_depot_is(const struct cpti_depot_wanted *wanted,
                   const struct cpt_record *record);

#endif
