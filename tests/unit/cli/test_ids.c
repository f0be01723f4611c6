/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_ids.c - files of ids, compared with a plain array */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "tool/depot/ids.h"

#include <string.h>

enum { PLACES_MAX = 3 * CPTI_IDS_PAGE_ENTRIES + 2, CASES = 400 };

/* A file in memory. */
struct file {
    unsigned char bytes[CPTI_IDS_HEAD_BYTES + 5 * CPTI_IDS_PAGE_BYTES];
    size_t count;
};

static struct file file;

static cpt_status append(void *context, const void *data, size_t bytes)
{
    struct file *to = context;

    CU_ASSERT_TRUE_FATAL(bytes <= sizeof to->bytes - to->count);
    memcpy(to->bytes + to->count, data, bytes);
    to->count += bytes;
    return CPT_OK;
}

static cpt_status read_at(void *context, uint64_t offset, void *buffer, size_t bytes)
{
    const struct file *from = context;

    if (offset > from->count || bytes > from->count - offset) {
        return CPT_IO;
    }
    memcpy(buffer, from->bytes + offset, bytes);
    return CPT_OK;
}

static cpt_status open_file(struct cpti_ids *ids)
{
    *ids = (struct cpti_ids){
        .read_at = read_at, .context = &file, .file_bytes = file.count};
    return cpti_ids_open(ids);
}

static void write_file(struct cpti_id_place *places, size_t count)
{
    const struct cpti_ids_head head = {.log_bytes = 77, .record_count = count};
    const struct cpt_sink sink = {append, &file};

    file.count = 0;
    CU_ASSERT_EQUAL_FATAL(cpti_ids_write(&head, places, count, &sink), CPT_OK);
}

/* Ids are few, so that many places have the same. */
static void random_id(struct test_random *random, unsigned kinds, unsigned char *id)
{
    memset(id, 0, CPTI_ID_BYTES);
    id[test_random_chance(random, 50) ? 0 : CPTI_ID_BYTES - 1] =
        (unsigned char)test_random_below(random, kinds);
}

/* Whether the search finds what going through all places does. */
static void compare(const struct cpti_ids *ids, const struct cpti_id_place *places,
                    size_t count, const unsigned char *id)
{
    uint64_t offsets[CPTI_IDS_PLACES_MAX];
    bool is_there[256] = {false};
    size_t wanted = 0;
    size_t found = 0;
    const cpt_status status = cpti_ids_find(ids, id, offsets, &found);

    for (size_t i = 0; i < count; i++) {
        if (memcmp(places[i].id, id, CPTI_ID_BYTES) == 0) {
            wanted += !is_there[places[i].offset];
            is_there[places[i].offset] = true;
        }
    }
    CU_ASSERT_EQUAL(status, wanted > CPTI_IDS_PLACES_MAX ? CPT_LIMIT : CPT_OK);
    CU_ASSERT_EQUAL(found, wanted > CPTI_IDS_PLACES_MAX ? CPTI_IDS_PLACES_MAX : wanted);
    for (size_t i = 0; i < found; i++) {
        CU_ASSERT_TRUE(is_there[offsets[i]]);
        CU_ASSERT_TRUE(i == 0 || offsets[i] > offsets[i - 1]);
    }
}

static void try_case(struct test_random *random)
{
    static struct cpti_id_place places[PLACES_MAX];
    static struct cpti_id_place again[PLACES_MAX];
    static struct cpti_id_place sorted[PLACES_MAX];
    const size_t count = test_random_below(random, PLACES_MAX + 1);
    const unsigned kinds = 1 + (unsigned)test_random_below(random, 40);
    struct cpti_ids ids;
    unsigned char id[CPTI_ID_BYTES];

    for (size_t i = 0; i < count; i++) {
        random_id(random, kinds, places[i].id);
        places[i].offset = test_random_below(random, 200);
    }
    memcpy(sorted, places, sizeof sorted);
    write_file(sorted, count);
    CU_ASSERT_EQUAL_FATAL(open_file(&ids), CPT_OK);
    CU_ASSERT_EQUAL(ids.head.id_count, count);
    CU_ASSERT_EQUAL(ids.head.log_bytes, 77);
    for (int i = 0; i < 20; i++) {
        random_id(random, kinds + 2, id);
        compare(&ids, places, count, id);
    }
    CU_ASSERT_EQUAL(cpti_ids_read(&ids, again), CPT_OK);
    CU_ASSERT_EQUAL(memcmp(again, sorted, count * sizeof *again), 0);
}

static void test_random_ids(void)
{
    const uint64_t seed = test_random_seed("files of ids");
    const uint64_t cases = test_environment_number("CPT_TEST_CASES", CASES);

    for (uint64_t i = 0; i < cases && i < CASES; i++) {
        struct test_random random = {seed + i};

        try_case(&random);
    }
}

/* Of a page, and of several. */
static void test_page_borders(void)
{
    static struct cpti_id_place places[PLACES_MAX];
    static const size_t counts[] = {0,
                                    1,
                                    CPTI_IDS_PAGE_ENTRIES - 1,
                                    CPTI_IDS_PAGE_ENTRIES,
                                    CPTI_IDS_PAGE_ENTRIES + 1,
                                    2 * CPTI_IDS_PAGE_ENTRIES,
                                    PLACES_MAX};

    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        struct cpti_ids ids;

        for (size_t i = 0; i < counts[k]; i++) {
            memset(&places[i], 0, sizeof places[i]);
            places[i].id[0] = (unsigned char)(i >> 8);
            places[i].id[1] = (unsigned char)i;
            places[i].offset = i % 256;
        }
        write_file(places, counts[k]);
        CU_ASSERT_EQUAL_FATAL(open_file(&ids), CPT_OK);
        for (size_t i = 0; i <= counts[k]; i++) {
            const unsigned char id[CPTI_ID_BYTES] = {(unsigned char)(i >> 8),
                                                     (unsigned char)i};

            compare(&ids, places, counts[k], id);
        }
    }
}

/* A byte that changed, or is missing, anywhere is noticed by who needs it. */
static void test_damage(void)
{
    static struct cpti_id_place places[PLACES_MAX];
    static struct cpti_id_place again[PLACES_MAX];
    struct cpti_ids ids;
    size_t noticed = 0;

    for (size_t i = 0; i < PLACES_MAX; i++) {
        places[i].id[0] = (unsigned char)i;
    }
    write_file(places, PLACES_MAX);
    for (size_t at = 0; at < file.count; at += 13) {
        file.bytes[at] ^= 0x40;
        noticed += open_file(&ids) != CPT_OK || cpti_ids_read(&ids, again) != CPT_OK;
        file.bytes[at] ^= 0x40;
    }
    CU_ASSERT_EQUAL(noticed, (file.count + 12) / 13);
    for (size_t bytes = 0; bytes < file.count; bytes += 999) {
        const size_t whole = file.count;

        file.count = bytes;
        CU_ASSERT_EQUAL(open_file(&ids), CPT_CORRUPT);
        file.count = whole;
    }
}

static void is_id(const char *text, const char *hex)
{
    unsigned char id[CPTI_ID_BYTES];
    char digits[2 * CPTI_ID_BYTES + 1];

    cpti_id_of(cpt_bytes_of(text), id);
    for (size_t i = 0; i < CPTI_ID_BYTES; i++) {
        (void)snprintf(digits + 2 * i, 3, "%02x", id[i]);
    }
    CU_ASSERT_STRING_EQUAL(digits, hex);
}

static void test_ids_of_text(void)
{
    unsigned char one[CPTI_ID_BYTES];
    unsigned char other[CPTI_ID_BYTES];

    is_id("0af7651916cd43dd8448EB211C80319c", "0af7651916cd43dd8448eb211c80319c");
    is_id("8448eb211c80319c", "00000000000000008448eb211c80319c");
    cpti_id_of(cpt_bytes_of("8448eb211c80319x"), one);
    cpti_id_of(cpt_bytes_of("8448eb211c80319y"), other);
    CU_ASSERT_NOT_EQUAL(memcmp(one, other, sizeof one), 0);
    cpti_id_of(cpt_bytes_of(""), one);
    cpti_id_of(cpt_bytes_of("1"), other);
    CU_ASSERT_NOT_EQUAL(memcmp(one, other, sizeof one), 0);
}

CU_TestInfo cpt_ids_tests[] = {
    {"a search finds what going through all places does", test_random_ids},
    {"pages may be full, or have one entry", test_page_borders},
    {"damage is noticed", test_damage},
    {"ids are hexadecimal digits, or any text", test_ids_of_text},
    CU_TEST_INFO_NULL,
};
