/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* culprit_kind.h - who is looked for: the words of --by. Threads: any. */
#ifndef CPTI_CLI_CULPRIT_KIND_H
#define CPTI_CLI_CULPRIT_KIND_H

#include "tool/culprit/culprit.h"

/* The words for an option table. */
#define CPTI_CULPRIT_KIND_WORDS "service name edge operation replica attribute:"

struct cpti_culprit_kind {
    const char *word;
    const char *noun;  /* "no operation stands out" */
    const char *calls; /* what is counted of them */
    enum cpti_culprit_by by;
};

/* The kind that @by, which is one of the words or NULL, asks for; of attributes, *@key
 * is the one, borrowed from @by; else NULL. */
const struct cpti_culprit_kind *cpti_culprit_kind_of(const char *by, const char **key);

#endif
