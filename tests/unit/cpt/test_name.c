/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_name.c - names: bounded, kept once, distinct whatever their bytes are */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"

#include "cpt/cpt_name.h"

#include <stdio.h>
#include <string.h>

static void expect_service(const char *name, const char *service)
{
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpt_name_service(cpt_bytes_of(name)), cpt_bytes_of(service)));
}

static void test_service_of_a_name(void)
{
    expect_service("B: Lookup", "B");
    expect_service("B: Lookup: part", "B");
    expect_service("B:Lookup", "");
    expect_service("B:", "");
    expect_service(":", "");
    expect_service(": ", "");
    expect_service("", "");
    expect_service("B: ", "B");
}

/* A name of @bytes times 'n'. */
static struct cpt_bytes long_name(size_t bytes)
{
    static char text[1024];

    memset(text, 'n', sizeof text);
    return (struct cpt_bytes){text, bytes};
}

static void test_bound_at_the_limit(void)
{
    char buffer[CPT_NAME_BYTES_MAX + 1];
    struct cpt_bytes name = long_name(CPT_NAME_BYTES_MAX - 1);

    CU_ASSERT_PTR_EQUAL(cpt_name_bound(name, buffer).data, name.data);
    name.bytes = CPT_NAME_BYTES_MAX;
    CU_ASSERT_PTR_EQUAL(cpt_name_bound(name, buffer).data, name.data);
    CU_ASSERT_EQUAL(cpt_name_bound(name, buffer).bytes, CPT_NAME_BYTES_MAX);
    name.bytes = CPT_NAME_BYTES_MAX + 1;
    CU_ASSERT_PTR_EQUAL(cpt_name_bound(name, buffer).data, buffer);
    CU_ASSERT_EQUAL(cpt_name_bound(name, buffer).bytes, CPT_NAME_BYTES_MAX);
    CU_ASSERT_EQUAL(buffer[238], '~');
}

static void test_long_names_stay_different(void)
{
    char first[CPT_NAME_BYTES_MAX + 1];
    char second[CPT_NAME_BYTES_MAX + 1];
    const struct cpt_bytes shorter = cpt_name_bound(long_name(300), first);
    const struct cpt_bytes longer = cpt_name_bound(long_name(301), second);

    CU_ASSERT_FALSE(cpt_bytes_equal(shorter, longer));
    CU_ASSERT_EQUAL(memcmp(first, second, 238), 0);
}

/* The same on every machine, since names on the wire are compared between machines. */
static void test_bound_is_the_same_everywhere(void)
{
    char buffer[CPT_NAME_BYTES_MAX + 1];
    const struct cpt_bytes bound =
        cpt_name_bound((struct cpt_bytes){"ab\0cd", 5}, buffer);

    CU_ASSERT_EQUAL(bound.bytes, 19);
    CU_ASSERT_EQUAL(memcmp(bound.data, "ab~", 3), 0);
    CU_ASSERT_EQUAL(cpt_hash_bytes(0, "ab\0cd", 5), 0x1cd8cc2a072c53a3U);
    CU_ASSERT_STRING_EQUAL(buffer + 3, "1cd8cc2a072c53a3");
}

static void test_bound_cuts_no_character(void)
{
    char buffer[CPT_NAME_BYTES_MAX + 1];
    char text[300];
    struct cpt_bytes bound;

    for (size_t i = 0; i < sizeof text; i += 3) {
        memcpy(text + i, "\u20ac", 3);
    }
    bound = cpt_name_bound((struct cpt_bytes){text, sizeof text}, buffer);
    CU_ASSERT_EQUAL(bound.bytes, 237 + 17);
    memset(text, 0x80, sizeof text); /* nothing but continuation bytes */
    bound = cpt_name_bound((struct cpt_bytes){text, sizeof text}, buffer);
    CU_ASSERT_EQUAL(bound.bytes, 17);
}

static void test_each_name_is_kept_once(void)
{
    struct cpt_names *names = cpt_names_new(NULL);
    char text[16];
    cpt_name_id id = 0;

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 2000; i++) {
            (void)snprintf(text, sizeof text, "name %u", i);
            CU_ASSERT_EQUAL(cpt_names_add(names, cpt_bytes_of(text), &id), CPT_OK);
            CU_ASSERT_EQUAL(id, i);
        }
    }
    CU_ASSERT_EQUAL(cpt_names_count(names), 2000);
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpt_names_at(names, 1234), cpt_bytes_of("name 1234")));
    CU_ASSERT_TRUE(cpt_names_find(names, cpt_bytes_of("name 77"), &id));
    CU_ASSERT_EQUAL(id, 77);
    CU_ASSERT_FALSE(cpt_names_find(names, cpt_bytes_of("name 2000"), &id));
    cpt_names_free(names);
}

static void test_bytes_of_any_sort(void)
{
    const struct cpt_bytes samples[] = {
        {"", 0},    {"\0", 1},       {"\0\0", 2},          {"a", 1},
        {"a\0", 2}, {"\xff\xfe", 2}, {"\u2039x\u203a", 7}, {";\n", 2}};
    struct cpt_names *names = cpt_names_new(NULL);
    cpt_name_id id = 0;

    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        CU_ASSERT_FALSE(cpt_names_find(names, samples[i], &id));
        CU_ASSERT_EQUAL(cpt_names_add(names, samples[i], &id), CPT_OK);
        CU_ASSERT_EQUAL(id, i);
    }
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        CU_ASSERT_TRUE(
            cpt_bytes_equal(cpt_names_at(names, (cpt_name_id)i), samples[i]));
    }
    cpt_names_free(names);
}

static void test_a_name_may_lie_in_the_set(void)
{
    struct cpt_names *names = cpt_names_new(NULL);
    struct cpt_bytes own = long_name(CPT_NAME_BYTES_MAX);
    cpt_name_id id = 0;

    (void)cpt_names_add(names, own, &id);
    for (size_t i = 1; i < CPT_NAME_BYTES_MAX; i++) { /* the text moves meanwhile */
        own = cpt_names_at(names, 0);
        own.bytes = i;
        CU_ASSERT_EQUAL(cpt_names_add(names, own, &id), CPT_OK);
        CU_ASSERT_EQUAL(id, i);
        CU_ASSERT_TRUE(cpt_bytes_equal(cpt_names_at(names, id), long_name(i)));
    }
    cpt_names_free(names);
}

static void test_names_at_the_limit(void)
{
    struct cpt_names *names = cpt_names_new(NULL);
    cpt_status status = CPT_OK;
    cpt_name_id id = 0;

    for (uint32_t i = 0; i < CPT_NAMES_MAX && status == CPT_OK; i++) {
        char bytes[sizeof i];

        memcpy(bytes, &i, sizeof i);
        status = cpt_names_add(names, (struct cpt_bytes){bytes, sizeof i}, &id);
    }
    CU_ASSERT_EQUAL(status, CPT_OK);
    CU_ASSERT_EQUAL(id, CPT_NAMES_MAX - 1);
    CU_ASSERT_EQUAL(cpt_names_add(names, cpt_bytes_of("more"), &id), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_names_count(names), CPT_NAMES_MAX);
    CU_ASSERT_EQUAL(cpt_names_add(names, (struct cpt_bytes){"\0\0\0\0", 4}, &id),
                    CPT_OK);
    CU_ASSERT_EQUAL(id, 0); /* names added before are still found */
    cpt_names_free(names);
}

static void test_reset_forgets(void)
{
    struct cpt_names *names = cpt_names_new(NULL);
    cpt_name_id id = 9;

    (void)cpt_names_add(names, cpt_bytes_of("a"), &id);
    cpt_names_reset(names);
    CU_ASSERT_EQUAL(cpt_names_count(names), 0);
    CU_ASSERT_FALSE(cpt_names_find(names, cpt_bytes_of("a"), &id));
    CU_ASSERT_EQUAL(cpt_names_add(names, cpt_bytes_of("b"), &id), CPT_OK);
    CU_ASSERT_EQUAL(id, 0);
    cpt_names_free(names);
    cpt_names_free(NULL);
}

/* Adds until an allocation is refused; all names added before must remain. */
static bool add_names(const struct cpt_alloc *alloc)
{
    struct cpt_names *names = cpt_names_new(alloc);
    bool is_good = names != NULL;
    char text[32];
    cpt_name_id id = 0;

    for (unsigned i = 0; i < 60 && is_good; i++) {
        const size_t count = cpt_names_count(names);

        (void)snprintf(text, sizeof text, "name %u", i);
        is_good = cpt_names_add(names, cpt_bytes_of(text), &id) == CPT_OK;
        if (!is_good) {
            CU_ASSERT_EQUAL(cpt_names_count(names), count);
            CU_ASSERT_FALSE(cpt_names_find(names, cpt_bytes_of(text), &id));
            CU_ASSERT_EQUAL(cpt_names_add(names, cpt_bytes_of(text), &id), CPT_OK);
            CU_ASSERT_EQUAL(id, count);
        }
    }
    cpt_names_free(names);
    return is_good;
}

static void test_refused_memory(void)
{
    each_allocation_failure(add_names);
}

extern CU_TestInfo cpt_name_tests[];
CU_TestInfo cpt_name_tests[] = {
    {"the service is what comes before the first ': '", test_service_of_a_name},
    {"a name of 255 bytes stays, one of 256 is cut", test_bound_at_the_limit},
    {"long names that differ stay different", test_long_names_stay_different},
    {"a cut name is the same on every machine", test_bound_is_the_same_everywhere},
    {"a cut does not split a character", test_bound_cuts_no_character},
    {"each name is kept once", test_each_name_is_kept_once},
    {"a name may hold any bytes", test_bytes_of_any_sort},
    {"a name may lie in the set that it is added to", test_a_name_may_lie_in_the_set},
    {"the limit of names is kept", test_names_at_the_limit},
    {"a reset removes all names", test_reset_forgets},
    {"refused memory leaves the set as it was", test_refused_memory},
    CU_TEST_INFO_NULL,
};
