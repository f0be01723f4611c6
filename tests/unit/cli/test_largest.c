/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_largest.c - random pieces, compared with sorting all of them */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "tool/base/command.h"
#include "tool/table/largest.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES_MAX = 60, ROUNDS = 2000 };

/* What was printed about the rest. */
static uint64_t rest_count;
static uint64_t rest_sum;

static void note_rest(uint64_t count, uint64_t sum)
{
    rest_count = count;
    rest_sum = sum;
    (void)printf("rest\n");
}

/* Prints the answer to nowhere. */
static int print_quietly(struct cpti_largest *largest)
{
    FILE *real = stdout;
    FILE *nowhere = fopen("/dev/null", "w");
    int status;

    CU_ASSERT_TRUE_FATAL(nowhere != NULL);
    stdout = nowhere;
    status = cpti_largest_print(largest);
    stdout = real;
    (void)fclose(nowhere);
    return status;
}

static int by_size(const void *left, const void *right)
{
    const struct cpti_largest_piece *a = left;
    const struct cpti_largest_piece *b = right;

    if (a->size != b->size) {
        return a->size > b->size ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

/* The number of pieces that fit, largest first, and the sum of the others: with a line
 * about the rest if not all do. */
static size_t model(struct cpti_largest_piece *pieces, size_t count, uint64_t bytes_max,
                    uint64_t *left_sum)
{
    uint64_t bytes = 0;
    size_t fits = 0;

    qsort(pieces, count, sizeof *pieces, by_size);
    while (fits < count && bytes + pieces[fits].bytes <= bytes_max) {
        bytes += pieces[fits++].bytes;
    }
    while (fits < count && fits != 0 && bytes + strlen("rest\n") > bytes_max) {
        bytes -= pieces[--fits].bytes;
    }
    *left_sum = 0;
    for (size_t i = fits; i < count; i++) {
        *left_sum += pieces[i].size;
    }
    return fits;
}

static void test_the_largest_stay(void)
{
    struct test_random random = {test_random_seed("largest")};

    for (int round = 0; round < ROUNDS; round++) {
        struct cpti_largest_piece pieces[PIECES_MAX];
        struct cpti_largest largest = {
            .bytes_max = 10 + test_random_below(&random, 300), .print_rest = note_rest};
        const size_t count = (size_t)test_random_below(&random, PIECES_MAX + 1);
        char text[10] = "123456789";
        uint64_t left_sum = 0;
        size_t fits;

        for (size_t i = 0; i < count; i++) {
            pieces[i] = (struct cpti_largest_piece){
                .size = test_random_below(&random, 20),
                .number = i,
                .bytes = 1 + (size_t)test_random_below(&random, 9)};
            CU_ASSERT_TRUE_FATAL(cpti_largest_add(&largest, pieces[i].size, text,
                                                  pieces[i].bytes) == CPTI_EXIT_DONE);
        }
        fits = model(pieces, count, largest.bytes_max, &left_sum);
        rest_count = 0;
        rest_sum = 0;
        CU_ASSERT_TRUE_FATAL(cpti_largest_begin(&largest) ==
                             CPTI_EXIT_DONE); /* it exchanges stdout */
        CU_ASSERT_TRUE_FATAL(cpti_largest_end(&largest, UINT64_MAX) == CPTI_EXIT_DONE);
        /* an empty piece, the largest of all: it takes no room */
        CU_ASSERT_EQUAL(largest.met_count, count + 1);
        CU_ASSERT_EQUAL(print_quietly(&largest), CPTI_EXIT_DONE);
        CU_ASSERT_EQUAL(largest.count, fits + 1);
        CU_ASSERT_EQUAL(rest_count, count - fits);
        CU_ASSERT_EQUAL(rest_sum, left_sum);
        for (size_t i = 1; i < largest.count; i++) {
            CU_ASSERT_TRUE(largest.pieces[i - 1].number < largest.pieces[i].number);
        }
        cpti_largest_deinit(&largest);
    }
}

/* The sum stays at its limit instead of beginning again. */
static void test_sums_saturate(void)
{
    struct cpti_largest largest = {.bytes_max = 5, .print_rest = note_rest};

    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE_FATAL(cpti_largest_add(&largest, UINT64_MAX / 2, "123456", 6) ==
                             CPTI_EXIT_DONE);
    }
    CU_ASSERT_EQUAL(largest.left_sum, UINT64_MAX);
    CU_ASSERT_EQUAL(print_quietly(&largest), CPTI_EXIT_DONE);
    CU_ASSERT_EQUAL(rest_count, 3);
    cpti_largest_deinit(&largest);
}

extern CU_TestInfo cpt_largest_tests[];
CU_TestInfo cpt_largest_tests[] = {
    {"the largest pieces stay, and the rest is summed", test_the_largest_stay},
    {"sums saturate", test_sums_saturate},
    CU_TEST_INFO_NULL,
};
