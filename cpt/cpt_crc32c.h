/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_crc32c.h - the checksum of what is written to files
 *
 * CRC-32C as of iSCSI (RFC 3720). It detects damage, not malice. It uses the
 * processor's instruction if there is one.
 *
 * Threads: any.
 */
#ifndef CPT_CRC32C_H
#define CPT_CRC32C_H

#include "cpt_status.h"

CPT_BEGIN_DECLS

/* The checksum of data with the checksum @crc (0: no data) followed by the @bytes at
 * @data. Pieces give the same result as the whole. */
CPT_API uint32_t cpt_crc32c(uint32_t crc, const void *data, size_t bytes);

CPT_END_DECLS

#endif
