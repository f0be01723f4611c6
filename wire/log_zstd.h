/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_zstd.h - the payload of a block, made smaller by zstd
 *
 * log_zstd.c does it; log_zstd_absent.c stands in its place where the library was built
 * without zstd. What zstd itself needs while it works comes from malloc().
 *
 * Private to wire/. Threads: any.
 */
#ifndef LOG_ZSTD_H
#define LOG_ZSTD_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

/* The levels that one can ask for. */
enum { CPTI_ZSTD_LEVEL_MIN = 1, CPTI_ZSTD_LEVEL_MAX = 19 };

/* Whether it was built in. */
int cpti_zstd_is_there(void);

/* The most bytes that @bytes may take when they are compressed. */
size_t cpti_zstd_bound(size_t bytes);

/* Compresses @data into @packed of @capacity bytes; how many, or 0 if it failed. */
size_t cpti_zstd_pack(struct cpt_bytes data, int level, unsigned char *packed,
                      size_t capacity);

/*
 * Decompresses @packed into *@data, which has *@capacity bytes and grows by @alloc to
 * what the packed bytes say they are, at most @bytes_max. *@bytes is what it came to.
 *
 * CPT_OK; CPT_CORRUPT; CPT_LIMIT; CPT_NO_MEMORY; CPT_VERSION: not built in.
 */
cpt_status cpti_zstd_unpack(const struct cpt_alloc *alloc, struct cpt_bytes packed,
                            size_t bytes_max, unsigned char **data, size_t *capacity,
                            size_t *bytes);

#endif
