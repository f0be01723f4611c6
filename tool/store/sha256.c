/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sha256.c - SHA-256, block by block; see sha256.h */
#include "tool/store/sha256.h"

#include <string.h>

/* The first 32 fractional bits of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

static void schedule(const unsigned char *block, uint32_t *w)
{
    for (unsigned i = 0; i < 16; i++, block += 4) {
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
               (uint32_t)block[2] << 8 | block[3];
    }
    for (unsigned i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15];
        const uint32_t b = w[i - 2];

        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

/* Eight named words: an array would be shifted in memory 64 times. */
static void take_block(struct cpti_sha256 *hash, const unsigned char *block)
{
    uint32_t w[64];
    uint32_t a = hash->words[0], b = hash->words[1], c = hash->words[2];
    uint32_t d = hash->words[3], e = hash->words[4], f = hash->words[5];
    uint32_t g = hash->words[6], h = hash->words[7];

    schedule(block, w);
    for (unsigned i = 0; i < 64; i++) {
        const uint32_t one = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                             ((e & f) ^ (~e & g)) + constants[i] + w[i];
        const uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                             ((a & b) ^ (a & c) ^ (b & c));

        h = g;
        g = f;
        f = e;
        e = d + one;
        d = c;
        c = b;
        b = a;
        a = one + two;
    }
    hash->words[0] += a;
    hash->words[1] += b;
    hash->words[2] += c;
    hash->words[3] += d;
    hash->words[4] += e;
    hash->words[5] += f;
    hash->words[6] += g;
    hash->words[7] += h;
}

void cpti_sha256_begin(struct cpti_sha256 *hash)
{
    *hash = (struct cpti_sha256){
        .words = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                  0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
    };
}

void cpti_sha256_add(struct cpti_sha256 *hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    while (bytes >= sizeof hash->block && hash->bytes % sizeof hash->block == 0) {
        take_block(hash, at);
        hash->bytes += sizeof hash->block;
        at += sizeof hash->block;
        bytes -= sizeof hash->block;
    }
    while (bytes != 0) {
        const size_t used = hash->bytes % sizeof hash->block;
        const size_t room = sizeof hash->block - used;
        const size_t taken = bytes < room ? bytes : room;

        memcpy(hash->block + used, at, taken);
        hash->bytes += taken;
        at += taken;
        bytes -= taken;
        if (taken == room) {
            take_block(hash, hash->block);
        }
    }
}

void cpti_sha256_end(struct cpti_sha256 *hash, unsigned char digest[32])
{
    static const unsigned char padding[64] = {0x80};
    const uint64_t bits = hash->bytes * 8;
    const size_t used = hash->bytes % sizeof hash->block;
    unsigned char length[8];

    for (unsigned i = 0; i < 8; i++) {
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    }
    cpti_sha256_add(hash, padding, used < 56 ? 56 - used : 120 - used);
    cpti_sha256_add(hash, length, sizeof length);
    for (unsigned i = 0; i < 32; i++) {
        digest[i] = (unsigned char)(hash->words[i / 4] >> (24 - i % 4 * 8));
    }
}
