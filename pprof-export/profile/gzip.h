/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gzip.h - bytes on their way to a sink: buffered, and gzipped if the level is not 0
 *
 * Only gzip.c knows zlib.
 *
 * Threads: one at a time.
 */
#ifndef GZIP_H
#define GZIP_H

#include "pprof-export/cpt_pprof.h"

struct cpti_gzip;

/* @level is 1 to 9, or 0 to pass bytes on unchanged. NULL if there is no memory. */
struct cpti_gzip *cpti_gzip_new(const struct cpt_alloc *alloc,
                                const struct cpt_sink *sink, int level);
void cpti_gzip_free(struct cpti_gzip *gzip);

/* CPT_OK, or CPT_IO from the first failure on. */
cpt_status cpti_gzip_write(struct cpti_gzip *gzip, const void *data, size_t bytes);

/* Writes what is left. Errors as above. */
cpt_status cpti_gzip_finish(struct cpti_gzip *gzip);

#endif
