/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sha256.h - SHA-256 (FIPS 180-4), from which identities are made
 *
 * Names and attributes come from outside. With a weaker hash an attacker could give two
 * stacks, or two requests, the same identity.
 *
 * Threads: any; a state is a plain value.
 */
#ifndef CPTI_SHA256_H
#define CPTI_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct cpti_sha256 {
    uint32_t words[8];
    unsigned char block[64];
    uint64_t bytes; /* so far */
};

void cpti_sha256_begin(struct cpti_sha256 *hash);
void cpti_sha256_add(struct cpti_sha256 *hash, const void *data, size_t bytes);
void cpti_sha256_end(struct cpti_sha256 *hash, unsigned char digest[32]);

#endif
