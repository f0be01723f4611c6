/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_zstd_absent.c - replaces log_zstd.c in builds without zstd; see log_zstd.h */
#include "wire/log/log_zstd.h"

bool cpti_zstd_is_available(void)
{
    return false;
}

size_t cpti_zstd_bound(size_t bytes)
{
    return bytes;
}

size_t cpti_zstd_pack(struct cpt_bytes data, int level, unsigned char *packed,
                      size_t capacity)
{
    (void)data;
    (void)level;
    (void)packed;
    (void)capacity;
    return 0;
}

cpt_status cpti_zstd_unpack(const struct cpt_alloc *alloc, struct cpt_bytes packed,
                            size_t bytes_max, unsigned char **data, size_t *capacity,
                            size_t *bytes)
{
    (void)alloc;
    (void)packed;
    (void)bytes_max;
    (void)data;
    (void)capacity;
    (void)bytes;
    return CPT_VERSION;
}
