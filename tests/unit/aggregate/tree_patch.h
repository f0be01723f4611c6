/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_patch.h - gives changed trees a right checksum
 *
 * A checksum detects accidents, not malice; to test the checks after it, it must be
 * corrected. It is implemented here a second time, from its definition.
 */
#ifndef TREE_PATCH_H
#define TREE_PATCH_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli), bit by bit. */
static inline uint32_t patch_crc32c(const unsigned char *bytes, size_t count)
{
    uint32_t crc = 0xffffffffU;

    for (size_t i = 0; i < count * 8; i++) {
        const uint32_t bit = (uint32_t)bytes[i / 8] >> i % 8 & 1U;

        crc = ((crc ^ bit) & 1U) != 0 ? crc >> 1 ^ 0x82f63b78U : crc >> 1;
    }
    return ~crc;
}

/* Corrects length and checksum of a tree of @count bytes, if it is long enough. */
static inline void patch_tree(unsigned char *bytes, size_t count)
{
    uint32_t crc = 0;

    if (count < 20) {
        return;
    }
    for (int i = 0; i < 8; i++) {
        bytes[8 + i] = (unsigned char)((uint64_t)(count - 20) >> 8 * i);
    }
    crc = patch_crc32c(bytes, count - 4);
    for (int i = 0; i < 4; i++) {
        bytes[count - 4 + (size_t)i] = (unsigned char)(crc >> 8 * i);
    }
}

#endif
