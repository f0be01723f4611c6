/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_crc32c.h - the checksum of what is written to files
 *
 * CRC-32C as of iSCSI (RFC 3720). It tells damage, not malice. By the processor's own
 * instruction where it has one.
 *
 * Threads: any.
 */
#ifndef CPT_CRC32C_H
#define CPT_CRC32C_H

#include "cpt_status.h"

CPT_BEGIN_DECLS

/* The checksum of @bytes at @data behind what gave @crc; 0 for the first ones. Pieces
 * give the same as the whole. */
CPT_API uint32_t cpt_crc32c(uint32_t crc, const void *data, size_t bytes);

CPT_END_DECLS

#endif
