/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_zstd.c - the only file that uses zstd
 *
 * A zstd frame states the length of its content, and the memory is limited to that. So
 * a few bytes that expand beyond the limit are refused before anything is allocated.
 */
#include "wire/log/log_zstd.h"

#include <zstd.h>

bool cpti_zstd_is_available(void)
{
    return true;
}

size_t cpti_zstd_bound(size_t bytes)
{
    return ZSTD_compressBound(bytes);
}

size_t cpti_zstd_pack(struct cpt_bytes data, int level, unsigned char *packed,
                      size_t capacity)
{
    const size_t bytes = ZSTD_compress(packed, capacity, data.data, data.bytes, level);

    return ZSTD_isError(bytes) ? 0 : bytes;
}

cpt_status cpti_zstd_unpack(const struct cpt_alloc *alloc, struct cpt_bytes packed,
                            size_t bytes_max, unsigned char **data, size_t *capacity,
                            size_t *bytes)
{
    const unsigned long long said = ZSTD_getFrameContentSize(packed.data, packed.bytes);
    cpt_status status = CPT_OK;

    if (said == ZSTD_CONTENTSIZE_ERROR || said == ZSTD_CONTENTSIZE_UNKNOWN ||
        said == 0) {
        return CPT_CORRUPT;
    }
    if (said > bytes_max) {
        return CPT_LIMIT;
    }
    status = cpt_alloc_grow(alloc, (void **)data, capacity, (size_t)said, SIZE_MAX, 1);
    if (status == CPT_OK && ZSTD_decompress(*data, (size_t)said, packed.data,
                                            packed.bytes) != (size_t)said) {
        status = CPT_CORRUPT;
    }
    *bytes = (size_t)said;
    return status;
}
