/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_web.c - the parts of cpt web that need no server: queries, cache, completion */
#include "tests/support/suites.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/web/web_cache.h"
#include "tool/web/web_complete.h"
#include "tool/web/web_place.h"
#include "tool/web/web_query.h"
#include "tool/web/web_token.h"

#include <stdlib.h>
#include <string.h>

/* --- Queries --- */

/* Reads @text, with messages dropped. */
static int read_query(struct cpti_web_query *query, const char *text)
{
    struct cpti_messages messages = {0};
    int status;

    cpti_messages_to(&messages);
    status = cpti_web_query_init(query, cpt_bytes_of(text));
    cpti_messages_to(NULL);
    CU_ASSERT_EQUAL(status == CPTI_EXIT_DONE, messages.count == 0);
    cpti_messages_deinit(&messages);
    return status;
}

static void expect_value(const char *text, const char *name, const char *wanted)
{
    struct cpti_web_query query;
    const char *value;

    CU_ASSERT_EQUAL(read_query(&query, text), CPTI_EXIT_DONE);
    value = cpti_web_query_value(&query, name);
    CU_ASSERT_EQUAL(value == NULL, wanted == NULL);
    CU_ASSERT_TRUE(value == NULL || wanted == NULL || strcmp(value, wanted) == 0);
    cpti_web_query_deinit(&query);
}

static void test_values(void)
{
    expect_value("", "a", NULL);
    expect_value("a=b", "a", "b");
    expect_value("a=b&a=c", "a", "c");
    expect_value("a=b%3D%22c%22&d=e", "a", "b=\"c\"");
    expect_value("a=b+c%2Bd", "a", "b c+d");
    expect_value("a=%e2%80%B9", "a", "\u2039");
    expect_value("a=b=c", "a", "b=c");
    expect_value("a=%FF", "a", "\xff");
    expect_value("%61=b", "a", "b");
    expect_value("a=&b&=&&", "a", NULL);
    expect_value("a=&b&=&&", "b", NULL);
    expect_value("=x", "", "x");
}

static void test_wrong_escapes(void)
{
    static const char *const wrong[] = {"a=%",   "a=%4",    "a=%zz",
                                        "a=%4g", "a=b%00c", "%=b"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct cpti_web_query query;

        CU_ASSERT_EQUAL(read_query(&query, wrong[i]), CPTI_EXIT_USAGE);
        cpti_web_query_deinit(&query);
    }
}

/* A query of @bytes with @count parameters. */
static int read_long(size_t bytes, size_t count)
{
    char *text = malloc(bytes + 1);
    struct cpti_web_query query;
    int status;

    memset(text, 'x', bytes);
    text[bytes] = '\0';
    for (size_t i = 0; i < count; i++) {
        memcpy(text + 4 * i, "a=b&", 4);
    }
    status = read_query(&query, text);
    cpti_web_query_deinit(&query);
    free(text);
    return status;
}

static void test_limits(void)
{
    CU_ASSERT_EQUAL(read_long(CPTI_WEB_QUERY_BYTES_MAX, 1), CPTI_EXIT_DONE);
    CU_ASSERT_EQUAL(read_long(CPTI_WEB_QUERY_BYTES_MAX + 1, 1), CPTI_EXIT_USAGE);
    CU_ASSERT_EQUAL(read_long(4 * CPTI_WEB_PARAMETERS_MAX, CPTI_WEB_PARAMETERS_MAX),
                    CPTI_EXIT_DONE);
    CU_ASSERT_EQUAL(
        read_long(4 * CPTI_WEB_PARAMETERS_MAX + 4, CPTI_WEB_PARAMETERS_MAX + 1),
        CPTI_EXIT_USAGE);
}

/* The token of the address is none of the parameters, so it takes the place of none. */
static void test_token_is_no_parameter(void)
{
    char text[8 * CPTI_WEB_PARAMETERS_MAX] = "";
    struct cpti_web_query query;

    expect_value("token=0&a=b", "token", NULL);
    expect_value("a=b&token=0", "a", "b");
    expect_value("token=%zz", "token", NULL);
    expect_value("tokens=1", "tokens", "1");
    expect_value("token", "token", NULL);
    for (size_t i = 0; i < CPTI_WEB_PARAMETERS_MAX; i++) {
        (void)strcat(text, "a=b&");
    }
    (void)strcat(text, "token=0");
    CU_ASSERT_EQUAL(read_query(&query, text), CPTI_EXIT_DONE);
    CU_ASSERT_EQUAL(query.count, CPTI_WEB_PARAMETERS_MAX);
    cpti_web_query_deinit(&query);
}

static void expect_shown(const char *query, const char *header, bool is_shown)
{
    static const struct cpti_web_token token = {.text =
                                                    "0123456789abcdef0123456789abcdef"};

    CU_ASSERT_EQUAL(
        cpti_web_token_is_shown(&token, cpt_bytes_of(query), cpt_bytes_of(header)),
        is_shown);
}

static void test_token_is_shown(void)
{
    expect_shown("token=0123456789abcdef0123456789abcdef", "", true);
    expect_shown("a=b&token=0123456789abcdef0123456789abcdef&c", "", true);
    expect_shown("token=1&token=0123456789abcdef0123456789abcdef", "", true);
    expect_shown("token=0123456789abcdef0123456789abcdef&token=1", "", false);
    expect_shown("token=0123456789abcdef0123456789abcdef&token=", "", true);
    expect_shown("token=0123456789abcdef0123456789abcde", "", false);
    expect_shown("token=0123456789abcdef0123456789abcdef0", "", false);
    expect_shown("token=0123456789abcdef0123456789abcdee", "", false);
    expect_shown("xtoken=0123456789abcdef0123456789abcdef", "", false);
    expect_shown("token", "", false);
    expect_shown("token=", "", false);
    expect_shown("&&&", "Bearer", false);
    expect_shown("", "Bearer ", false);
    expect_shown("", "Bearer 0123456789abcdef0123456789abcdef", true);
    expect_shown("token=1", "bearer   0123456789abcdef0123456789abcdef", true);
    expect_shown("", "Bearer 0123456789abcdef0123456789abcdee", false);
    expect_shown("", "Basic 0123456789abcdef0123456789abcdef", false);
    expect_shown("", "0123456789abcdef0123456789abcdef", false);
}

static bool has_host(const struct cpti_web_place *place, const char *host)
{
    size_t at = 0;

    while (place->hosts[at] != NULL && strcmp(place->hosts[at], host) != 0) {
        at++;
    }
    return place->hosts[at] != NULL;
}

static void test_places(void)
{
    static const struct {
        const char *address;
        const char *host; /* the first */
        bool is_loopback;
    } cases[] = {
        {NULL, "127.0.0.1", true},
        {"127.0.0.1", "127.0.0.1", true},
        {"127.9.8.7", "127.9.8.7", true},
        {"::1", "[::1]", true},
        {"0:0:0:0:0:0:0:1", "[0:0:0:0:0:0:0:1]", true},
        {"::ffff:127.0.0.1", "[::ffff:127.0.0.1]", true},
        {"::ffff:10.0.0.1", "[::ffff:10.0.0.1]", false},
        {"0.0.0.0", "0.0.0.0", false},
        {"::", "[::]", false},
        {"10.0.0.1", "10.0.0.1", false},
        {"128.0.0.1", "128.0.0.1", false},
        {"fe80::1%lo", "[fe80::1%lo]", false},
        {"localhost", "localhost", false}, /* refused later: no number */
        {"127.1", "127.1", false},         /* likewise */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpti_web_place place;

        cpti_web_place_init(&place, cases[i].address);
        CU_ASSERT_EQUAL(place.is_loopback, cases[i].is_loopback);
        CU_ASSERT_STRING_EQUAL(place.hosts[0], cases[i].host);
        CU_ASSERT_TRUE(has_host(&place, "127.0.0.1"));
        CU_ASSERT_TRUE(has_host(&place, "localhost"));
        CU_ASSERT_TRUE(has_host(&place, "[::1]"));
        CU_ASSERT_FALSE(has_host(&place, "evil.example"));
    }
}

static char *key_of(const char *text)
{
    struct cpti_web_query query;
    char *key;

    CU_ASSERT_EQUAL(read_query(&query, text), CPTI_EXIT_DONE);
    key = cpti_web_query_key(&query, "7;");
    cpti_web_query_deinit(&query);
    return key;
}

static void expect_keys(const char *left, const char *right, bool is_same)
{
    char *one = key_of(left);
    char *other = key_of(right);

    CU_ASSERT_EQUAL(strcmp(one, other) == 0, is_same);
    free(one);
    free(other);
}

static void test_keys(void)
{
    expect_keys("a=1&b=2", "b=2&a=1", true);
    expect_keys("a=1&b=2", "b=%32&&a=1&c=", true);
    expect_keys("a=1&a=2", "a=2&a=1", false); /* the last one counts */
    expect_keys("a=1%3Bb=1:2%3B", "a=1&b=2", false);
    expect_keys("a=1", "a=2", false);
    expect_keys("a=1", "aa=1", false);
}

static void test_numbers(void)
{
    static const struct {
        const char *query;
        uint64_t number;
        int status;
    } cases[] = {
        {"", 5, CPTI_EXIT_DONE},
        {"n=0", 0, CPTI_EXIT_DONE},
        {"n=18446744073709551615", UINT64_MAX, CPTI_EXIT_DONE},
        {"n=18446744073709551616", 5, CPTI_EXIT_USAGE},
        {"n=99999999999999999999999", 5, CPTI_EXIT_USAGE},
        {"n=-1", 5, CPTI_EXIT_USAGE},
        {"n=+1", 5, CPTI_EXIT_USAGE},
        {"n=1x", 5, CPTI_EXIT_USAGE},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpti_web_query query;
        uint64_t number = 5;
        struct cpti_messages silence = {.is_silent = true};

        (void)read_query(&query, cases[i].query);
        cpti_messages_to(&silence);
        CU_ASSERT_EQUAL(cpti_web_query_number(&query, "n", &number), cases[i].status);
        cpti_messages_to(NULL);
        CU_ASSERT_EQUAL(number, cases[i].number);
        cpti_web_query_deinit(&query);
    }
}

/* --- The cache --- */

static size_t dropped_count;

static void drop(struct cpti_web_kept *kept)
{
    dropped_count++;
    free(kept);
}

/* Adds a value of @bytes and releases it. */
static void keep(struct cpti_web_cache *cache, const char *key, size_t bytes)
{
    struct cpti_web_kept *kept = calloc(1, sizeof *kept);

    kept->bytes = bytes;
    kept->drop = drop;
    cpti_web_cache_add(cache, key, kept);
    cpti_web_cache_release(cache, kept);
}

static bool has(struct cpti_web_cache *cache, const char *key)
{
    struct cpti_web_kept *kept = cpti_web_cache_take(cache, key);

    cpti_web_cache_release(cache, kept);
    return kept != NULL;
}

static void test_least_used_goes(void)
{
    struct cpti_web_cache *cache = cpti_web_cache_new(10000);

    dropped_count = 0;
    keep(cache, "a", 3000);
    keep(cache, "b", 3000);
    keep(cache, "c", 3000);
    CU_ASSERT_TRUE(has(cache, "a")); /* used now */
    keep(cache, "d", 3000);
    CU_ASSERT_TRUE(has(cache, "a"));
    CU_ASSERT_FALSE(has(cache, "b"));
    CU_ASSERT_TRUE(has(cache, "c"));
    CU_ASSERT_TRUE(has(cache, "d"));
    CU_ASSERT_TRUE(cpti_web_cache_bytes(cache) <= 10000);
    CU_ASSERT_EQUAL(dropped_count, 1);
    keep(cache, "e", 20000); /* never fits */
    CU_ASSERT_FALSE(has(cache, "e"));
    CU_ASSERT_TRUE(has(cache, "d"));
    keep(cache, "d", 100); /* replaces */
    CU_ASSERT_EQUAL(dropped_count, 3);
    cpti_web_cache_free(cache);
    CU_ASSERT_EQUAL(dropped_count, 6);
}

static void test_held_values_stay(void)
{
    struct cpti_web_cache *cache = cpti_web_cache_new(5000);
    struct cpti_web_kept *held;

    dropped_count = 0;
    keep(cache, "a", 4000);
    held = cpti_web_cache_take(cache, "a");
    keep(cache, "b", 4000);
    CU_ASSERT_FALSE(has(cache, "a"));
    CU_ASSERT_EQUAL(dropped_count, 0);
    CU_ASSERT_EQUAL(held->bytes, 4000);
    cpti_web_cache_release(cache, held);
    CU_ASSERT_EQUAL(dropped_count, 1);
    cpti_web_cache_free(cache);
}

/* --- Completion --- */

static void note(struct cpti_web_vocabulary *words, const char *key, const char *value,
                 bool is_text, uint64_t first, uint64_t last)
{
    for (uint64_t stamp = first; stamp <= last; stamp++) {
        cpti_web_vocabulary_note(words, cpt_bytes_of(key), cpt_bytes_of(value), is_text,
                                 stamp);
    }
}

/* The first option for @text without quotes of JSON, or "". */
static void expect_first(const struct cpti_web_vocabulary *words, const char *text,
                         const char *wanted)
{
    char *json = NULL;
    size_t bytes;
    FILE *file = open_memstream(&json, &bytes);
    static const char begin[] = "{\"options\":[{\"text\":\"";
    char got[200] = "";

    CU_ASSERT_EQUAL(cpti_web_complete(words, text, file), CPTI_EXIT_DONE);
    (void)fclose(file);
    if (strncmp(json, begin, strlen(begin)) == 0) {
        const char *from = json + strlen(begin);
        const char *end = strstr(from, "\",\"count\"");
        char *to = got;

        for (; from < end && to < got + sizeof got - 1; from++) {
            from += *from == '\\';
            *to++ = *from;
        }
        *to = '\0';
    }
    CU_ASSERT_STRING_EQUAL(got, wanted);
    free(json);
}

static void test_completion(void)
{
    struct cpti_web_vocabulary words;

    CU_ASSERT_TRUE(cpti_web_vocabulary_init(&words));
    note(&words, "region", "eu", true, 1, 9);
    note(&words, "region", "us", true, 10, 12);
    note(&words, "status", "503", false, 1, 2);
    note(&words, "a key", "x\"y", true, 1, 3);
    (void)cpti_web_words_add(words.frames, cpt_bytes_of("A: A1"), true, 1);
    (void)cpti_web_words_add(words.frames, cpt_bytes_of("B: Lookup"), true, 1);

    expect_first(&words, "reg", "region");
    expect_first(&words, "REG", "region");
    expect_first(&words, "gion", "region");
    expect_first(&words, "region=", "region=eu");
    expect_first(&words, "region=u", "region=us");
    expect_first(&words, "status=503,region=u", "status=503,region=us");
    expect_first(&words, "status=503,reg", "status=503,region");
    expect_first(&words, "status == 503 and reg", "status == 503 and region");
    expect_first(&words, "status == ", "status == 503");
    expect_first(&words, "region == ", "region == \"eu\"");
    expect_first(&words, "region == \"u", "region == \"us\"");
    expect_first(&words, "meta.region != u", "meta.region != \"us\"");
    expect_first(&words, "region not in ('eu', 'u", "region not in ('eu', 'us'");
    expect_first(&words, "region in (", "region in (\"eu\"");
    expect_first(&words, "not (stat", "not (status");
    expect_first(&words, "(region == \"eu\") and (stat",
                 "(region == \"eu\") and (status");
    expect_first(&words, "status == 1 and key", "status == 1 and \"a key\"");
    expect_first(&words, "\"a k", "\"a key\"");
    expect_first(&words, "\"a key\" == ", "\"a key\" == \"x\\\"y\"");
    expect_first(&words, "path(\"B", "path(\"B: Lookup\")");
    expect_first(&words, "path(\"A: A1;B", "path(\"A: A1;B: Lookup\")");
    expect_first(&words, "lat", "latency");
    expect_first(&words, "pat", "path(\"");
    expect_first(&words, "region == \"eu\"", "");
    expect_first(&words, "nothing=", "");
    cpti_web_vocabulary_deinit(&words);
}

static void test_words_have_limits(void)
{
    struct cpti_web_words *words = cpti_web_words_new(3, 10);
    const struct cpt_bytes nul = {"a\0b", 3};

    CU_ASSERT_EQUAL(cpti_web_words_add(words, cpt_bytes_of("one"), true, 1), 0);
    CU_ASSERT_EQUAL(cpti_web_words_add(words, cpt_bytes_of("one"), true, 1), 0);
    CU_ASSERT_EQUAL(cpti_web_words_at(words, 0).count, 1);
    CU_ASSERT_EQUAL(cpti_web_words_add(words, nul, true, 1), 1);
    CU_ASSERT_EQUAL(cpti_web_words_find(words, nul), 1);
    CU_ASSERT_EQUAL(cpti_web_words_add(words, cpt_bytes_of("three"), true, 2),
                    SIZE_MAX);
    CU_ASSERT_EQUAL(cpti_web_words_add(words, cpt_bytes_of("four"), true, 2), 2);
    CU_ASSERT_EQUAL(cpti_web_words_add(words, cpt_bytes_of(""), true, 2), SIZE_MAX);
    CU_ASSERT_EQUAL(cpti_web_words_add(words, cpt_bytes_of("5"), true, 2), SIZE_MAX);
    CU_ASSERT_EQUAL(cpti_web_words_add(words, cpt_bytes_of("one"), true, 2), 0);
    CU_ASSERT_EQUAL(cpti_web_words_at(words, 0).count, 2);
    CU_ASSERT_EQUAL(cpti_web_words_count(words), 3);
    cpti_web_words_free(words);
}

CU_TestInfo cpt_web_tests[] = {
    {"a query is decoded", test_values},
    {"wrong escapes are refused", test_wrong_escapes},
    {"a query has limits", test_limits},
    {"a token is no parameter", test_token_is_no_parameter},
    {"a token is shown in the query or as a header", test_token_is_shown},
    {"which addresses others reach", test_places},
    {"queries that mean the same have the same key", test_keys},
    {"numbers are whole and fit", test_numbers},
    {"the cache drops what was used least recently", test_least_used_goes},
    {"what is held stays after it was dropped", test_held_values_stay},
    {"a selection is completed", test_completion},
    {"lists of words have limits", test_words_have_limits},
    CU_TEST_INFO_NULL,
};
