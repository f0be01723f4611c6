/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_seen.c - which records are the same */
#include "tests/support/suites.h"

#include "tool/requests/record_hash.h"
#include "tool/requests/seen.h"
#include "wire/cpt_log.h"

#include <pthread.h>
#include <string.h>

/* A record and its encoding: "HEAD PATH TAIL". */
struct told {
    struct cpt_record record;
    char bytes[600];
};

static void tell(struct told *told, const char *trace, uint64_t start_ns,
                 const char *entry, const char *path, const char *tail)
{
    *told = (struct told){.record = {.start_unix_ns = start_ns}};
    (void)snprintf(told->bytes, sizeof told->bytes, "%s%s%s", entry, path, tail);
    told->record.entry = (struct cpt_bytes){told->bytes, strlen(entry)};
    told->record.path_bytes =
        (struct cpt_bytes){told->bytes + strlen(entry), strlen(path)};
    told->record.has_trace_id = trace[0] != '\0';
    (void)snprintf((char *)told->record.trace_id, sizeof told->record.trace_id, "%s",
                   trace);
}

static enum cpti_seen_result add(struct cpti_seen *seen, const struct told *told,
                                 unsigned purpose)
{
    const struct cpti_seen_mark mark =
        cpti_seen_mark(seen, &told->record, cpt_bytes_of(told->bytes));

    return cpti_seen_add(seen, &mark, purpose);
}

static enum cpti_seen_result add_told(struct cpti_seen *seen, const char *trace,
                                      uint64_t start_ns, const char *entry,
                                      const char *path, const char *tail)
{
    struct told told;

    tell(&told, trace, start_ns, entry, path, tail);
    return add(seen, &told, 0);
}

static void test_identity(void)
{
    struct cpti_seen *seen = cpti_seen_new(0);

    CU_ASSERT_EQUAL(add_told(seen, "t", 5, "A", "p", "ok"), CPTI_SEEN_NEW);
    CU_ASSERT_EQUAL(add_told(seen, "t", 5, "A", "p", "ok"), CPTI_SEEN_BEFORE);
    CU_ASSERT_EQUAL(add_told(seen, "t", 5, "A", "p", "500"), CPTI_SEEN_BEFORE);
    CU_ASSERT_EQUAL(add_told(seen, "u", 5, "A", "p", "ok"), CPTI_SEEN_NEW);
    CU_ASSERT_EQUAL(add_told(seen, "t", 6, "A", "p", "ok"), CPTI_SEEN_NEW);
    CU_ASSERT_EQUAL(add_told(seen, "t", 5, "B", "p", "ok"), CPTI_SEEN_NEW);
    CU_ASSERT_EQUAL(add_told(seen, "t", 5, "A", "q", "ok"), CPTI_SEEN_NEW);
    CU_ASSERT_EQUAL(add_told(seen, "t", 5, "Ap", "", "ok"), CPTI_SEEN_NEW);
    /* without a trace id: all bytes */
    CU_ASSERT_EQUAL(add_told(seen, "", 5, "A", "p", "ok"), CPTI_SEEN_NEW);
    CU_ASSERT_EQUAL(add_told(seen, "", 5, "A", "p", "ok"), CPTI_SEEN_BEFORE);
    CU_ASSERT_EQUAL(add_told(seen, "", 5, "A", "p", "500"), CPTI_SEEN_NEW);
    cpti_seen_free(seen);
}

static void test_purposes(void)
{
    struct cpti_seen *seen = cpti_seen_new(0);
    struct told told;

    tell(&told, "t", 1, "A", "p", "");
    CU_ASSERT_EQUAL(add(seen, &told, 0), CPTI_SEEN_NEW);
    CU_ASSERT_EQUAL(add(seen, &told, 1), CPTI_SEEN_NEW);
    CU_ASSERT_EQUAL(add(seen, &told, 1), CPTI_SEEN_BEFORE);
    cpti_seen_reset(seen, false);
    CU_ASSERT_EQUAL(add(seen, &told, 0), CPTI_SEEN_NEW);
    cpti_seen_free(seen);
}

/* Adds @count records of several seconds from number @first on; how many were new. */
static size_t add_many(struct cpti_seen *seen, uint64_t first, uint64_t count)
{
    size_t new_count = 0;

    for (uint64_t i = first; i < first + count; i++) {
        char path[32];

        (void)snprintf(path, sizeof path, "path %u", (unsigned)i);
        new_count += add_told(seen, "t", i * 1000000, "A", path, "") == CPTI_SEEN_NEW;
    }
    return new_count;
}

static void test_limit(void)
{
    struct cpti_seen *seen = cpti_seen_new(1000);

    CU_ASSERT_EQUAL(add_many(seen, 0, 999), 999);
    CU_ASSERT_EQUAL(add_many(seen, 999, 1), 1);
    CU_ASSERT_EQUAL(add_told(seen, "v", 1, "A", "p", ""), CPTI_SEEN_UNKNOWN);
    CU_ASSERT_EQUAL(add_told(seen, "v", 1, "A", "p", ""), CPTI_SEEN_UNKNOWN);
    CU_ASSERT_EQUAL(add_told(seen, "t", 0, "A", "path 0", ""), CPTI_SEEN_BEFORE);
    CU_ASSERT_FALSE(cpti_seen_needs_order(seen));
    cpti_seen_free(seen);
}

struct adder {
    struct cpti_seen *seen;
    size_t new_count;
};

static void *run_adder(void *context)
{
    struct adder *adder = context;

    adder->new_count = add_many(adder->seen, 0, 20000);
    return NULL;
}

static void test_threads(void)
{
    struct adder adders[3] = {{.seen = cpti_seen_new(20000)}};
    pthread_t threads[3];

    cpti_seen_reset(adders[0].seen, true);
    for (size_t i = 0; i < 3; i++) {
        adders[i].seen = adders[0].seen;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, run_adder, &adders[i]),
                              0);
    }
    for (size_t i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    CU_ASSERT_EQUAL(adders[0].new_count + adders[1].new_count + adders[2].new_count,
                    20000);
    CU_ASSERT_FALSE(cpti_seen_needs_order(adders[0].seen));
    /* one more than the limit: the first ones in order count, which threads do not
     * know */
    (void)add_many(adders[0].seen, 20000, 1);
    CU_ASSERT_TRUE(cpti_seen_needs_order(adders[0].seen));
    cpti_seen_free(adders[0].seen);
}

static void test_copies_that_differ(void)
{
    struct cpti_seen *seen = cpti_seen_new(0);

    cpti_seen_reset(seen, true);
    CU_ASSERT_EQUAL(add_told(seen, "t", 5, "A", "p", "ok"), CPTI_SEEN_NEW);
    CU_ASSERT_EQUAL(add_told(seen, "t", 5, "A", "p", "ok"), CPTI_SEEN_BEFORE);
    CU_ASSERT_FALSE(cpti_seen_gave_up(seen));
    CU_ASSERT_EQUAL(add_told(seen, "t", 5, "A", "p", "500"), CPTI_SEEN_BEFORE);
    CU_ASSERT_TRUE(cpti_seen_gave_up(seen));
    CU_ASSERT_TRUE(cpti_seen_needs_order(seen));
    cpti_seen_free(seen);
}

/* Texts that differ in one bit, in their length or in a zero at the end, of all lengths
 * around a block, have different hashes. */
static void test_hash(void)
{
    struct cpti_record_hash_key key;
    char text[520] = {0};
    uint64_t before = 0;

    CU_ASSERT_EQUAL_FATAL(cpti_record_hash_key_draw(&key), CPT_OK);
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        const struct cpt_bytes texts[2] = {{text, bytes}, {"", 0}};
        const struct cpt_bytes swapped[2] = {{"", 0}, {text, bytes}};
        const uint64_t hash = cpti_record_hash(&key, NULL, 0, texts, 2);

        CU_ASSERT_NOT_EQUAL(hash, before);
        CU_ASSERT_TRUE(bytes == 0 ||
                       hash != cpti_record_hash(&key, NULL, 0, swapped, 2));
        for (size_t i = 0; i < bytes; i++) {
            text[i] ^= (char)(1 << i % 8);
            CU_ASSERT_NOT_EQUAL(cpti_record_hash(&key, NULL, 0, texts, 2), hash);
            text[i] ^= (char)(1 << i % 8);
        }
        before = hash;
    }
}

CU_TestInfo cpt_seen_tests[] = {
    {"trace id, start, entry and path are a record, or its bytes", test_identity},
    {"each purpose has its own", test_purposes},
    {"beyond the limit a record is compared, but not kept", test_limit},
    {"of several threads one is first", test_threads},
    {"copies that differ need the order of the logs", test_copies_that_differ},
    {"each bit and the length change the hash", test_hash},
    CU_TEST_INFO_NULL,
};
