/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_zstd.h - the payload of a block, compressed by zstd
 *
 * log_zstd.c implements this; log_zstd_absent.c replaces it if the library is built
 * without zstd. zstd takes its own working memory from malloc().
 *
 * Private to wire/. Threads: any.
 */
#ifndef LOG_ZSTD_H
#define LOG_ZSTD_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

/* The levels of compression. */
enum { CPTI_ZSTD_LEVEL_MIN = 1, CPTI_ZSTD_LEVEL_MAX = 19 };

/* Whether zstd is built in. */
bool cpti_zstd_is_available(void);

/* The most bytes of the compressed form of @bytes. */
size_t cpti_zstd_bound(size_t bytes);

/* Compresses @data into @packed of @capacity bytes. Returns the bytes written, or 0 if
 * it failed. */
size_t cpti_zstd_pack(struct cpt_bytes data, int level, unsigned char *packed,
                      size_t capacity);

/*
 * Decompresses @packed into *@data, which has *@capacity bytes and grows by @alloc to
 * the length in @packed, at most @bytes_max. Sets *@bytes to the length.
 *
 * CPT_OK; CPT_CORRUPT; CPT_LIMIT; CPT_NO_MEMORY; CPT_VERSION: not built in.
 */
cpt_status cpti_zstd_unpack(const struct cpt_alloc *alloc, struct cpt_bytes packed,
                            size_t bytes_max, unsigned char **data, size_t *capacity,
                            size_t *bytes);

#endif
