/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* record_hash.c - a keyed hash of records; see record_hash.h */
#include "tool/requests/record_hash.h"

#include <string.h>
#include <sys/random.h>

__extension__ typedef unsigned __int128 u128;

enum { BLOCK_BYTES = CPTI_RECORD_HASH_WORDS * 8, PAIR_BYTES = 16 };

cpt_status cpti_record_hash_key_draw(struct cpti_record_hash_key *key)
{
    unsigned char *at = (unsigned char *)key;
    size_t left = sizeof *key;

    while (left != 0) {
        const ssize_t bytes = getrandom(at, left, 0);

        if (bytes <= 0) {
            return CPT_FAILED;
        }
        at += bytes;
        left -= (size_t)bytes;
    }
    return CPT_OK;
}

static inline uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static inline void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

static inline u128 pair(const void *data, const uint64_t *key)
{
    uint64_t words[2];

    memcpy(words, data, sizeof words);
    return (u128)(words[0] + key[0]) * (words[1] + key[1]);
}

/* The NH sum of at most BLOCK_BYTES bytes, with zeros behind the last one. */
static u128 sum_of(const char *data, size_t bytes, const uint64_t *key)
{
    u128 sum = 0;

    for (; bytes >= PAIR_BYTES; bytes -= PAIR_BYTES) {
        sum += pair(data, key);
        data += PAIR_BYTES;
        key += 2;
    }
    if (bytes != 0) {
        char last[PAIR_BYTES] = {0};

        memcpy(last, data, bytes);
        sum += pair(last, key);
    }
    return sum;
}

static inline void absorb_text(uint64_t v[4], struct cpt_bytes text,
                               const uint64_t *key)
{
    while (text.bytes != 0) {
        const size_t bytes = text.bytes < BLOCK_BYTES ? text.bytes : BLOCK_BYTES;
        const u128 sum = sum_of(text.data, bytes, key);

        absorb(v, (uint64_t)sum);
        absorb(v, (uint64_t)(sum >> 64));
        text.data += bytes;
        text.bytes -= bytes;
    }
}

uint64_t cpti_record_hash(const struct cpti_record_hash_key *key, const uint64_t *words,
                          size_t word_count, const struct cpt_bytes *texts,
                          size_t text_count)
{
    uint64_t v[4] = {
        key->sip[0] ^ 0x736f6d6570736575U, key->sip[1] ^ 0x646f72616e646f6dU,
        key->sip[0] ^ 0x6c7967656e657261U, key->sip[1] ^ 0x7465646279746573U};
    uint64_t lengths = 0;

    for (size_t i = 0; i < word_count; i++) {
        absorb(v, words[i]);
    }
    for (size_t i = 0; i < text_count; i++) {
        lengths |= (uint64_t)(uint32_t)texts[i].bytes << 32 * i;
        absorb_text(v, texts[i], key->nh);
    }
    absorb(v, lengths);
    v[2] ^= 0xff;
    for (unsigned i = 0; i < 3; i++) {
        sip_round(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
