/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * record_hash.h - a keyed hash that tells whether two records are the same
 *
 *      bytes   | 256 bytes | 256 bytes | rest, 0 ... |
 *                    |           |           |
 *      NH      pairs of 64-bit words: (a + key) * (b + key), summed in 128 bits
 *                    |           |           |
 *      SipHash-1-3 over numbers, these sums and the lengths of the texts
 *
 * NH (Black, Halevi, Krawczyk, Krovetz and Rogaway: UMAC, 1999) has a proof: two
 * different texts of the same length have the same sum with a probability of at most
 * 2^-64 over the keys. SipHash mixes the sums of all parts. The keys are random in each
 * run and leave it in no form, so that a log cannot be written to hide records of
 * another one. NH reads 16 bytes for one multiplication, which is why it goes first.
 */
#ifndef CPTI_CLI_RECORD_HASH_H
#define CPTI_CLI_RECORD_HASH_H

#include "cpt/cpt_name.h"

#include <stdint.h>

/* Words of an NH block: 256 bytes. */
enum { CPTI_RECORD_HASH_WORDS = 32 };

struct cpti_record_hash_key {
    uint64_t nh[CPTI_RECORD_HASH_WORDS];
    uint64_t sip[2];
};

/* Draws a random key. CPT_OK, or CPT_FAILED if the system has no random bytes. */
cpt_status cpti_record_hash_key_draw(struct cpti_record_hash_key *key);

/* The most texts of a hash, whose lengths are below 2^32. */
enum { CPTI_RECORD_HASH_TEXTS_MAX = 2 };

/* The hash of @word_count numbers and @text_count texts. How many there are is not part
 * of it: let the first number tell. */
uint64_t cpti_record_hash(const struct cpti_record_hash_key *key, const uint64_t *words,
                          size_t word_count, const struct cpt_bytes *texts,
                          size_t text_count);

#endif
