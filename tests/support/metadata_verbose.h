/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * metadata_verbose.h - a path as bytes, each segment with its whole stack of names
 *
 * The form that the article on critical path tracing describes and calls overly
 * verbose (schema: metadata_verbose.proto):
 *
 *      "A: /" "A: parse"               200000
 *      "A: /" "A: index"                40000
 *      "A: /" "A: index" "B: Lookup"   230000  attempt 2
 *
 * N segments of depth M take O(N M) bytes, where the form of cpt_metadata.h takes O(N +
 * frames). Both give the identical path. No header ever has this one, and no library:
 * it is there to be measured against.
 *
 * Threads: any, on objects of their own.
 */
#ifndef METADATA_VERBOSE_H
#define METADATA_VERBOSE_H

#include "wire/cpt_metadata.h"

/* Default limit of bytes of both functions. */
enum { VERBOSE_BYTES_MAX = 1 << 24 };

/*
 * Encodes @path into a new block of memory, which the caller owns and frees by
 * cpt_alloc_free(). The same path gives the same bytes on every machine. Nothing is
 * ever folded: bytes_max of @options, which may be NULL, is a limit, by default
 * VERBOSE_BYTES_MAX.
 *
 * CPT_OK; CPT_LIMIT if it has more bytes; CPT_NO_MEMORY.
 */
cpt_status verbose_encode(const struct cpt_path *path,
                          const struct cpt_metadata_encode_options *options,
                          unsigned char **data, size_t *bytes);

/*
 * Decodes @bytes at @data into @path, which is empty, and checks it, as
 * cpt_metadata_decode() does, by the same limits; but bytes_max is by default
 * VERBOSE_BYTES_MAX, and frames and names count once for each that is
 * distinct. @summary, which may be NULL, gets the fields beside the path.
 *
 * CPT_OK; CPT_CORRUPT; CPT_VERSION; CPT_LIMIT; CPT_NO_MEMORY; place and reason are in
 * @error. After an error @path is empty, and *@summary all 0.
 */
cpt_status verbose_decode(const void *data, size_t bytes,
                          const struct cpt_metadata_decode_options *options,
                          struct cpt_path *path, struct cpt_metadata_summary *summary,
                          struct cpt_error *error);

#endif
