/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * depot.h - a folder of path logs, asked for single traces
 *
 *      depot/  paths.cptlog   .paths.cptlog.ids       ids.h
 *              old.cptlog     .old.cptlog.ids
 *              A.cptgraph
 *
 * Every command reads the folder as it reads any folder of logs: the files of ids are
 * hidden. Each log has its own, so nothing is wrong when a log comes, grows or goes. It
 * is made when it is missing, torn or of another file, and continued when its log has
 * grown; it is written beside and renamed, so a reader sees a whole one. In a folder
 * that cannot be written, logs are read as a whole instead. Graph logs lie there for
 * those who read graphs; here they are counted and dropped only.
 *
 * Logs may be added and dropped while others read. A log is dropped before its ids, and
 * who writes ids looks behind that whether their log is there still: so none are left
 * alone. What is unfinished is hidden, and locked by its writer.
 *
 * Threads: any, of different logs.
 */
#ifndef CPTI_CLI_DEPOT_H
#define CPTI_CLI_DEPOT_H

#include "tool/depot/ids.h"
#include "tool/requests/log_walk.h"

/* A log may be this much longer than its ids know; the rest is read by each search. */
enum { CPTI_DEPOT_REST_BYTES = 1 << 20 };

/* What is looked for. */
struct cpti_depot_wanted {
    struct cpt_bytes text;
    unsigned char id[CPTI_ID_BYTES];
    bool is_end; /* `text` is the last 16 digits of the id: all records are looked at */
};

/* The path of the ids of the log at @path, which the caller frees; NULL without
 * memory. */
char *cpti_depot_ids_path(const char *path);

/* What a log is and has. */
struct cpti_depot_log {
    struct cpti_ids_head head; /* records, and their times */
    bool is_graphs;            /* a graph log; it has no ids */
    bool has_ids;
    bool is_gone; /* it was removed meanwhile, which was told; nothing else is set */
};

/*
 * Fills in @log for the path log or graph log at @path. Makes the ids of a path log
 * right; if they cannot be written, all but has_ids is right nevertheless. enum
 * cpti_exit: CPTI_EXIT_FAILED if it cannot be read.
 */
int cpti_depot_survey(const char *path, struct cpti_depot_log *log);

/*
 * Removes from the folder at @path, not from those within it, what processes left that
 * were killed: ids without their log, and unfinished files that their writer does
 * not lock any more.
 */
void cpti_depot_sweep(const char *path);

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
