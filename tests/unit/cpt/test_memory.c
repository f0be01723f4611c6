/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_memory.c - how much memory control groups let a process have */
#include "tests/support/suites.h"

#include "cpt/cpt_alloc.h"
#include "cpt/base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 4 };

static char folder[64];

/* The file @name of the folder says @text; folders on the way are made. */
static void put(const char *name, const char *text)
{
    char path[512];
    FILE *file = NULL;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static void drop(const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    while (strlen(path) > strlen(folder)) {
        (void)remove(path);
        *strrchr(path, '/') = '\0';
    }
}

static void open_folder(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/cpt-memory-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static size_t found(void)
{
    char groups[sizeof folder + 8];
    char cgroups[sizeof folder + 8];

    (void)snprintf(groups, sizeof groups, "%s/groups", folder);
    (void)snprintf(cgroups, sizeof cgroups, "%s/fs", folder);
    return cpti_memory_of_groups(groups, cgroups);
}

/* --- What is found --- */

struct group_case {
    const char *groups; /* NULL: there is no such file */
    struct {
        const char *name;
        const char *text;
    } files[FILES_MAX];
    size_t limit; /* SIZE_MAX: none */
};

static const struct group_case cases[] = {
    /* version 2 */
    {"0::/shop/front\n", {{"fs/shop/front/memory.max", "67108864\n"}}, 67108864},
    {"0::/shop/front\n", {{"fs/shop/front/memory.max", "max\n"}}, SIZE_MAX},
    {"0::/shop/front",
     {{"fs/shop/front/memory.max", "300\n"}, {"fs/shop/memory.max", "200\n"}},
     200},
    {"0::/shop/front\n",
     {{"fs/shop/front/memory.max", "100\n"}, {"fs/shop/memory.max", "200"}},
     100},
    {"0::/shop/front\n",
     {{"fs/shop/front/memory.max", "max\n"},
      {"fs/shop/memory.max", "max\n"},
      {"fs/memory.max", "50\n"}},
     50},
    {"0::/\n", {{"fs/memory.max", "70\n"}}, 70},           /* in a container */
    {"0::/docker/abc\n", {{"fs/memory.max", "70\n"}}, 70}, /* whose root it is */
    {"0::/../front\n", {{"fs/front/memory.max", "1"}, {"fs/memory.max", "9"}}, 9},
    {"0::/a..b\n", {{"fs/a..b/memory.max", "8"}}, 8},
    {"0::/..a\n", {{"fs/..a/memory.max", "8"}}, 8},
    {"0::/a/...\n", {{"fs/a/.../memory.max", "8"}}, 8},
    {"0::/a/..\n", {{"fs/memory.max", "9"}}, 9},
    /* version 1, alone and beside version 2 */
    {"4:memory:/a\n0::/\n", {{"fs/memory/a/memory.limit_in_bytes", "60\n"}}, 60},
    {"4:cpu,memory:/a\n", {{"fs/memory/a/memory.limit_in_bytes", "60\n"}}, 60},
    {"4:memoryx,x:/a\n", {{"fs/memory/a/memory.limit_in_bytes", "60\n"}}, SIZE_MAX},
    {"4:memory:/a/b\n",
     {{"fs/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"},
      {"fs/memory/a/memory.limit_in_bytes", "77\n"}},
     77},
    {"4:memory:/a\n0::/b\n",
     {{"fs/memory/a/memory.limit_in_bytes", "60\n"},
      {"fs/unified/b/memory.max", "40\n"}},
     40},
    {"4:memory:/docker/abc\n", {{"fs/memory/memory.limit_in_bytes", "61"}}, 61},
    /* missing, and hostile */
    {NULL, {{"fs/memory.max", "70\n"}}, SIZE_MAX},
    {"", {{"fs/memory.max", "70\n"}}, SIZE_MAX},
    {"0::/a\n", {{NULL, NULL}}, SIZE_MAX},
    {"nonsense\n:\n::\n0:\n0::\n0::a\n", {{"fs/memory.max", "70\n"}}, SIZE_MAX},
    {"0::/a\n", {{"fs/a/memory.max", ""}}, SIZE_MAX},
    {"0::/a\n", {{"fs/a/memory.max", "\n"}}, SIZE_MAX},
    {"0::/a\n", {{"fs/a/memory.max", "0\n"}}, SIZE_MAX},
    {"0::/a\n", {{"fs/a/memory.max", "-1\n"}}, SIZE_MAX},
    {"0::/a\n", {{"fs/a/memory.max", "12 34\n"}}, SIZE_MAX},
    {"0::/a\n", {{"fs/a/memory.max", "18446744073709551616\n"}}, SIZE_MAX},
    {"0::/a\n",
     {{"fs/a/memory.max", "1234567890123456789012345678901234567\n"}},
     SIZE_MAX},
    {"0::/a\n", {{"fs/a/memory.max/x", "1\n"}}, SIZE_MAX}, /* it is a folder */
};

static void test_groups(void)
{
    open_folder();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct group_case *one = &cases[i];

        for (size_t n = 0; n < FILES_MAX && one->files[n].name != NULL; n++) {
            put(one->files[n].name, one->files[n].text);
        }
        if (one->groups != NULL) {
            put("groups", one->groups);
        }
        CU_ASSERT_EQUAL(found(), one->limit);
        for (size_t n = 0; n < FILES_MAX && one->files[n].name != NULL; n++) {
            drop(one->files[n].name);
        }
        drop("groups");
    }
    (void)rmdir(folder);
}

/* Names as long as a path may be, deeper than any group, and files that do not end. */
static void test_large_groups(void)
{
    static char text[40000];
    size_t at = 0;

    open_folder();
    put("fs/memory.max", "90\n");
    (void)snprintf(text, sizeof text, "0::/%05000d\n", 1);
    put("groups", text);
    CU_ASSERT_EQUAL(found(), 90);
    at = (size_t)snprintf(text, sizeof text, "0::");
    for (int i = 0; i < 1000; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "/a");
    }
    put("groups", text);
    CU_ASSERT_EQUAL(found(), 90);
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "0::/\n", 5);
    put("groups", text);
    CU_ASSERT_EQUAL(found(), SIZE_MAX);
    CU_ASSERT_EQUAL(cpti_memory_of_groups("/dev/zero", "/"), SIZE_MAX);
    drop("groups");
    drop("fs/memory.max");
    (void)rmdir(folder);
}

/* --- What is said --- */

static void test_text(void)
{
    static const struct {
        const char *text;
        size_t bytes;
    } texts[] = {
        {"1", 1},          {"64MiB", 64 << 20},
        {"2KiB", 2 << 10}, {"1GiB", (size_t)1 << 30},
        {"", SIZE_MAX},    {"MiB", SIZE_MAX},
        {"0", SIZE_MAX},   {"64 MiB", SIZE_MAX},
        {"64M", SIZE_MAX}, {"99999999999999999TiB", SIZE_MAX},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CU_ASSERT_EQUAL(cpti_memory_of_text(texts[i].text), texts[i].bytes);
    }
}

/* Of this process, whose limit is not known here. */
static void test_parts(void)
{
    const size_t most = cpt_memory_max();

    CU_ASSERT_TRUE(most >= 1 << 20);
    CU_ASSERT_EQUAL(setenv("CPT_MEMORY_MAX", "2MiB", 1), 0);
    CU_ASSERT_EQUAL(cpt_memory_max(), most); /* it was read once */
    CU_ASSERT_EQUAL(unsetenv("CPT_MEMORY_MAX"), 0);
    CU_ASSERT_EQUAL(cpt_memory_part(1000, 8), 1000);
    CU_ASSERT_TRUE(cpt_memory_part(SIZE_MAX, 8) == most / 8 ||
                   (most == SIZE_MAX && cpt_memory_part(SIZE_MAX, 8) == SIZE_MAX));
}

CU_TestInfo cpt_memory_tests[] = {
    {"the lowest limit of a group and those around it counts", test_groups},
    {"groups that are long, deep or endless", test_large_groups},
    {"amounts are read whole, or not", test_text},
    {"a part of it is the most of a default", test_parts},
    CU_TEST_INFO_NULL,
};
