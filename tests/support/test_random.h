/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_random.h - random numbers that can be repeated
 *
 * A property test makes many cases; each has its own generator, whose seed is the seed
 * of the run + the number of the case. A test that fails prints that sum, and
 *
 *      CPT_TEST_SEED=<sum> CPT_TEST_CASES=1 ./unit_cpt
 *
 * repeats that case. Without CPT_TEST_SEED a run takes its seed from the clock,
 * and prints it.
 *
 * Threads: a generator belongs to one at a time.
 */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct test_random {
    uint64_t state;
};

/* SplitMix64: a mixed counter, so that adjacent seeds are unrelated. */
static inline uint64_t test_random_next(struct test_random *random)
{
    uint64_t mixed = random->state += 0x9e3779b97f4a7c15U;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}

/* 0 to @limit - 1; @limit is not 0. */
static inline uint64_t test_random_below(struct test_random *random, uint64_t limit)
{
    return test_random_next(random) % limit;
}

/* 1 in @percent of 100 cases. */
static inline int test_random_chance(struct test_random *random, unsigned percent)
{
    return test_random_below(random, 100) < percent;
}

/* The number in environment variable @name, or @otherwise. */
static inline uint64_t test_environment_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : otherwise;
}

/* The seed of the run, printed as that of @what. */
static inline uint64_t test_random_seed(const char *what)
{
    struct timespec now = {0};
    uint64_t seed = 0;

    (void)timespec_get(&now, TIME_UTC);
    seed = test_environment_number("CPT_TEST_SEED", (uint64_t)now.tv_sec * 1000003U +
                                                        (uint64_t)now.tv_nsec);
    printf("[%s: CPT_TEST_SEED=%llu] ", what, (unsigned long long)seed);
    return seed;
}

/* A sanitizer makes a program up to ten times slower. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TEST_IS_SLOW 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TEST_IS_SLOW 1
#endif
#endif
#ifndef TEST_IS_SLOW
#define TEST_IS_SLOW 0
#endif

/* How many cases to run: CPT_TEST_CASES, or @usual, of which a slow program runs a
 * quarter. */
static inline uint64_t test_case_count(uint64_t usual)
{
    return test_environment_number("CPT_TEST_CASES",
                                   TEST_IS_SLOW && usual > 200 ? usual / 4 : usual);
}

#endif
