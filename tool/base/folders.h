/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * folders.h - a folder of logs in the place of a log
 *
 *      cpt report logs/ b.cptlog
 *
 *      operands   logs/a.cptlog  logs/old/c.cptlog  b.cptlog
 *      sources    '------ logs/: 2 logs --------'   b.cptlog
 *
 * Of a folder all path logs count, also those of its subfolders, in the order of their
 * names. A path log is known by its first bytes, or by its name *.cptlog if they are
 * damaged. All else is skipped and counted, with a warning: trees, which would count
 * requests twice; pipes and devices, which are not opened; a link to a folder, so that
 * no loop is walked; a second name of the same file. Graph logs are skipped without a
 * word, as services write them beside path logs.
 *
 * For a command that takes trees only, a folder stands for its trees in the same way;
 * for `cpt import`, for its files of spans; for those of kept graphs, for its graph
 * logs. Then path logs are skipped without a word. For `cpt culprit` it stands for
 * both, of which graph_logs.h chooses.
 *
 * A folder may be hostile: its files and its depth have limits, and what is beyond them
 * is an error, as a part of the logs would give a wrong result.
 */
#ifndef CPTI_CLI_FOLDERS_H
#define CPTI_CLI_FOLDERS_H

#include "tool/base/options.h"

#include <stdint.h>

/* Of one operand: files and subfolders together, and folders within each other. */
enum { CPTI_FOLDER_ENTRIES_MAX = 65536, CPTI_FOLDER_DEPTH_MAX = 16 };

/* An operand as it was given. */
struct cpti_source {
    const char *name;       /* borrowed from the command line */
    size_t count;           /* of operands that it stands for */
    bool is_folder;         /* they are its logs */
    uint64_t skipped_count; /* files of the folder that are no path logs */
};

/*
 * Puts the logs of each folder among the operands in its place, and fills in
 * arguments->sources. Prints what it skips. CPTI_EXIT_DONE; CPTI_EXIT_FAILED if a
 * folder cannot be read, has no log or is beyond a limit.
 */
int cpti_folders_open(struct cpti_arguments *arguments);

#endif
