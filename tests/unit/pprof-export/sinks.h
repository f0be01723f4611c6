/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sinks.h - sinks for tests: one keeps all, one fails at a limit */
#ifndef SINKS_H
#define SINKS_H

#include "pprof-export/cpt_pprof.h"

#include <stdlib.h>
#include <string.h>

struct kept {
    unsigned char *data;
    size_t bytes;
    size_t bytes_max; /* fails beyond; 0: no limit */
};

static inline cpt_status keep(void *context, const void *data, size_t bytes)
{
    struct kept *kept = context;
    unsigned char *grown = NULL;

    if (kept->bytes_max != 0 && kept->bytes + bytes > kept->bytes_max) {
        return CPT_IO;
    }
    grown = realloc(kept->data, kept->bytes + bytes + 1);
    if (grown == NULL) {
        return CPT_IO;
    }
    memcpy(grown + kept->bytes, data, bytes);
    kept->data = grown;
    kept->bytes += bytes;
    grown[kept->bytes] = '\0';
    return 0;
}

#endif
