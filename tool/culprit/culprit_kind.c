/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* culprit_kind.c - who is looked for; see culprit_kind.h */
#include "tool/culprit/culprit_kind.h"

#include <string.h>

/* The first one is the default. */
static const struct cpti_culprit_kind kinds[] = {
    {"service", "service", "calls", CPTI_CULPRIT_BY_SERVICE},
    {"name", "component", "calls", CPTI_CULPRIT_BY_NAME},
    {"edge", "edge", "calls", CPTI_CULPRIT_BY_EDGE},
    {"operation", "operation", "calls", CPTI_CULPRIT_BY_OPERATION},
    {"replica", "replica", "calls", CPTI_CULPRIT_BY_REPLICA},
    {"attribute:", "value", "requests", CPTI_CULPRIT_BY_ATTRIBUTE},
};

const struct cpti_culprit_kind *cpti_culprit_kind_of(const char *by, const char **key)
{
    *key = NULL;
    for (size_t i = 0; by != NULL && i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t bytes = strlen(kinds[i].word);

        if (strncmp(by, kinds[i].word, bytes) == 0) {
            *key = kinds[i].by == CPTI_CULPRIT_BY_ATTRIBUTE ? by + bytes : NULL;
            return &kinds[i];
        }
    }
    return &kinds[0];
}
