/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_arena.c - pieces that do not overlap, are aligned, and stay within the limit */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "cpt/cpt_arena.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

static void test_pieces_are_zero_and_apart(void)
{
    enum { PIECES = 2000 };
    static unsigned char *pieces[PIECES];
    static size_t sizes[PIECES];
    struct test_random random = {test_random_seed("arena")};
    struct failing_alloc counting;
    struct cpt_arena arena;

    failing_alloc_init(&counting, 0);
    cpt_arena_init(&arena, &counting.alloc, 0, 0);
    for (size_t i = 0; i < PIECES; i++) {
        sizes[i] =
            test_random_below(&random, test_random_chance(&random, 5) ? 9000 : 100);
        pieces[i] = cpt_arena_take(&arena, sizes[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(pieces[i]);
        CU_ASSERT_EQUAL((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        for (size_t at = 0; at < sizes[i]; at++) {
            CU_ASSERT_FATAL(pieces[i][at] == 0);
        }
        memset(pieces[i], (int)(i % 255) + 1, sizes[i]);
    }
    for (size_t i = 0; i < PIECES; i++) {
        for (size_t at = 0; at < sizes[i]; at++) {
            CU_ASSERT_FATAL(pieces[i][at] == i % 255 + 1);
        }
    }
    cpt_arena_deinit(&arena);
    CU_ASSERT_EQUAL(atomic_load(&counting.live_count), 0);
}

static void test_nothing_is_taken_before_it_is_needed(void)
{
    struct failing_alloc counting;
    struct cpt_arena arena;

    failing_alloc_init(&counting, 0);
    cpt_arena_init(&arena, &counting.alloc, 0, 0);
    CU_ASSERT_EQUAL(atomic_load(&counting.call_count), 0);
    for (int i = 0; i < 100; i++) {
        CU_ASSERT_PTR_NOT_NULL(cpt_arena_take(&arena, 32));
    }
    CU_ASSERT_EQUAL(atomic_load(&counting.call_count), 1); /* 3,200 bytes: one block */
    cpt_arena_deinit(&arena);
    cpt_arena_deinit(&arena); /* as after init: there is nothing to free */
    CU_ASSERT_EQUAL(atomic_load(&counting.live_count), 0);
}

/* One piece of @bytes from an arena of at most @limit_bytes. */
static int fits(size_t bytes, size_t limit_bytes)
{
    struct cpt_arena arena;
    int is_there = 0;

    cpt_arena_init(&arena, NULL, 64, limit_bytes);
    is_there = !cpt_arena_is_full(&arena, bytes);
    CU_ASSERT_EQUAL(is_there, cpt_arena_take(&arena, bytes) != NULL);
    CU_ASSERT_TRUE(arena.used_bytes <= limit_bytes);
    cpt_arena_deinit(&arena);
    return is_there;
}

static void test_limit_is_kept(void)
{
    /* overhead of a block: a pointer, a size, and what aligns the data behind them */
    const size_t fields = sizeof(void *) + sizeof(size_t);
    const size_t alignment = alignof(max_align_t);
    const size_t header = (fields + alignment - 1) / alignment * alignment;

    CU_ASSERT_FALSE(fits(1024, 1024 + header - 1));
    CU_ASSERT_TRUE(fits(1024, 1024 + header));
    CU_ASSERT_TRUE(fits(1024, 1024 + header + 1));
    CU_ASSERT_FALSE(fits(SIZE_MAX, SIZE_MAX));
    CU_ASSERT_FALSE(fits(SIZE_MAX - 8, SIZE_MAX));
    CU_ASSERT_FALSE(fits(SIZE_MAX - 40, 1 << 20));
}

static void test_arena_goes_on_after_a_refusal(void)
{
    struct cpt_arena arena;

    cpt_arena_init(&arena, NULL, 64, 200);
    CU_ASSERT_PTR_NOT_NULL(cpt_arena_take(&arena, 16));
    CU_ASSERT_PTR_NULL(cpt_arena_take(&arena, 1000));
    CU_ASSERT_PTR_NOT_NULL(cpt_arena_take(&arena, 16));
    cpt_arena_deinit(&arena);
}

static void test_copy_has_a_nul(void)
{
    struct cpt_arena arena;
    char *copy = NULL;

    cpt_arena_init(&arena, NULL, 0, 0);
    copy = cpt_arena_copy(&arena, "name and more", 4);
    CU_ASSERT_STRING_EQUAL(copy, "name");
    copy = cpt_arena_copy(&arena, NULL, 0);
    CU_ASSERT_STRING_EQUAL(copy, "");
    CU_ASSERT_PTR_NULL(cpt_arena_copy(&arena, "x", SIZE_MAX));
    cpt_arena_deinit(&arena);
}

static bool take_pieces(const struct cpt_alloc *alloc)
{
    struct cpt_arena arena;
    bool is_good = true;

    cpt_arena_init(&arena, alloc, 128, 0);
    for (size_t i = 0; i < 20; i++) {
        is_good = cpt_arena_take(&arena, 16 * i) != NULL && is_good;
    }
    cpt_arena_deinit(&arena);
    return is_good;
}

static void test_refused_memory(void)
{
    each_allocation_failure(take_pieces);
}

extern CU_TestInfo cpt_arena_tests[];
CU_TestInfo cpt_arena_tests[] = {
    {"pieces are zero, aligned and apart", test_pieces_are_zero_and_apart},
    {"nothing is taken before it is needed", test_nothing_is_taken_before_it_is_needed},
    {"the limit is kept", test_limit_is_kept},
    {"after a refusal smaller pieces are given", test_arena_goes_on_after_a_refusal},
    {"a copy has a NUL behind it", test_copy_has_a_nul},
    {"refused memory is no piece, and no leak", test_refused_memory},
    CU_TEST_INFO_NULL,
};
