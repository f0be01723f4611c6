/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* crc32c.h - the checksum of the path log's blocks. Private to wire/. Threads: any. */
#ifndef CRC32C_H
#define CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C of what gave @crc (0: nothing) followed by @bytes at @data. */
uint32_t cpti_crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
