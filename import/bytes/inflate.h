/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * inflate.h - bytes that may be compressed by gzip, zlib or zstd, as they were before
 *
 * The first bytes tell; a gzip file may have several members, a zstd file several
 * frames. Memory is bounded, whatever the file says of itself: windows of more than
 * 128 MiB, or of another limit, are refused.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_INFLATE_H
#define CPTI_INFLATE_H

#include "import/bytes/pieces.h"

struct cpti_inflate;

/* Whether the @bytes at @data begin as compressed ones do. */
bool cpti_inflate_recognise(const char *data, size_t bytes);

/* What inflates the bytes that @read gives; NULL without memory. The caller owns it. */
struct cpti_inflate *cpti_inflate_new(const struct cpt_alloc *alloc, cpt_read_fn read,
                                      void *context);
void cpti_inflate_free(struct cpti_inflate *inflate);

/* Before the first read: zstd may have a window of 2^@log bytes, instead of 2^27. */
void cpti_inflate_limit_window(struct cpti_inflate *inflate, unsigned log);

/*
 * A cpt_read_fn; @inflate is a struct cpti_inflate.
 *
 * CPT_OK; CPT_CORRUPT; CPT_TRUNCATED: the file ends within compressed bytes;
 * CPT_NO_MEMORY; CPT_VERSION: zstd is not built in; errors of its own read function.
 * Where it is, and why, says cpti_inflate_error().
 */
cpt_status cpti_inflate_read(void *inflate, void *buffer, size_t capacity,
                             size_t *bytes);

/* The first error, with its place in the compressed bytes. */
const struct cpt_error *cpti_inflate_error(const struct cpti_inflate *inflate);

#endif
