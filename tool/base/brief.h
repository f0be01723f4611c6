/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * brief.h - looks into the files of a command line while a person waits, as a shell
 * does that completes a word
 *
 *      words --> regular files and folders among them --> their beginnings
 *
 * What takes too long ends: reading fails after a while, and the program ends soon
 * after if that does not help. Nothing is printed but the answer.
 *
 * Threads: the main thread, once.
 */
#ifndef CPTI_CLI_BRIEF_H
#define CPTI_CLI_BRIEF_H

#include "tool/base/messages.h"
#include "tool/base/options.h"

#include <stdio.h>

enum { CPTI_BRIEF_FILES_MAX = 16, CPTI_BRIEF_BYTES_MAX = 4 << 20 /* of each */ };

struct cpti_brief {
    struct cpti_arguments files; /* operands: at most CPTI_BRIEF_FILES_MAX count */
    size_t count;
    struct cpti_messages silence;
};

/* Begins, with the files among the @count @words; those of a folder as @folders says
 * (NULL: path logs). Deinit it in any case. */
void cpti_brief_init(struct cpti_brief *brief, const struct cpti_command *folders,
                     size_t count, char *const *words);
void cpti_brief_deinit(struct cpti_brief *brief);

#endif
