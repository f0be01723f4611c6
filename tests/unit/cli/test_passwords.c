/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_passwords.c - passwords of addresses */
#include "tests/support/suites.h"

#include "tool/base/passwords.h"

#include <stdlib.h>
#include <string.h>

static void expect_word(const char *word, const char *wanted)
{
    const size_t bytes = strlen(word);
    char *copy = strdup(word);
    char *words[] = {copy};

    cpti_passwords_hide(words, 1);
    CU_ASSERT_STRING_EQUAL(copy, wanted);
    for (size_t i = strlen(copy); i < bytes; i++) {
        CU_ASSERT_EQUAL(copy[i], '\0'); /* nor is a part of it left behind the end */
    }
    free(copy);
}

static void test_hidden(void)
{
    expect_word("clickhouse://u:secret@h:8123/db", "clickhouse://u:***@h:8123/db");
    expect_word("clickhouses://u:secret@h:1,g:2/db", "clickhouses://u:***@h:1,g:2/db");
    expect_word("clickhouse://:secret@h:1/db", "clickhouse://:***@h:1/db");
    expect_word("clickhouse://u:p@h:1/db", "clickhouse://u:*@h:1/db");
    expect_word("clickhouse://u:@h:1/db", "clickhouse://u:@h:1/db");
    expect_word("clickhouse://u:a:b@h:1/db", "clickhouse://u:***@h:1/db");
    expect_word("clickhouse://u:a@b@h:1/db", "clickhouse://u:***@h:1/db");
    expect_word("clickhouse://u:s/e?c#ret@h:1/db", "clickhouse://u:***@h:1/db");
    expect_word("clickhouse://u%3Asecret@h:1/db", "clickhouse://u%3A***@h:1/db");
    expect_word("clickhouse://h:1,u:secret@g:2/db", "clickhouse://h:***@g:2/db");
    expect_word("ClickHouse://u:secret@h", "ClickHouse://u:***@h");
    expect_word("clickhouse://h:1/db?user=u&password=secret",
                "clickhouse://h:1/db?user=u&password=***");
    expect_word("http://u:secret@h:80/x@y", "http://u:***@h:80/x@y");
    expect_word("http://u:sec/ret@h", "http://u:***@h");
    expect_word("h2+x.y-z://u:secret@h", "h2+x.y-z://u:***@h");
    expect_word("--output=clickhouse://u:secret@h:1/db",
                "--output=clickhouse://u:***@h:1/db");
    expect_word("-oclickhouse://u:secret@h:1/db", "-oclickhouse://u:***@h:1/db");
    expect_word("--clickhouse://u:secret@h", "--clickhouse://u:***@h");
    expect_word("-clickhouse://u:secret@h", "-clickhouse://u:***@h");
}

static void test_left(void)
{
    static const char *const words[] = {
        "",
        "-",
        "--",
        "-o",
        "a.cptlog",
        "u:secret@h",
        "clickhouse://",
        "clickhouse://h:8123/db",
        "clickhouse://u@h:8123/db",
        "clickhouse://u@[::1]:8123/db",
        "clickhouse://a:1,b:2/db",
        "http://h:80/path@x",
        "http://[::1]:80/path@x",
        "http://h:80",
        "://u:secret@h",
        "1 ://u:p@h",
        "url == \"http://u:secret@h\"",
        "url=http://u:secret@h",
        "--where=url=http://u:secret@h",
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        expect_word(words[i], words[i]);
    }
}

static void expect_answer(const char *text, const char *password, const char *wanted)
{
    char *copy = strdup(text);

    cpti_password_hide_in(copy, password);
    CU_ASSERT_STRING_EQUAL(copy, wanted);
    free(copy);
}

static void test_answers(void)
{
    expect_answer("no secret, secret", "secret", "no ***, ***");
    expect_answer("secretsecret", "secret", "******");
    expect_answer("***", "*", "***");
    expect_answer("aaa", "a", "***");
    expect_answer("Authorization: Basic dTpzZWNyZXQ= x", "secret",
                  "Authorization: Basic *** x");
    expect_answer("basic dTpz", NULL, "basic ***");
    expect_answer("Basic ", "", "Basic ");
    expect_answer("", "secret", "");
}

CU_TestInfo cpt_passwords_tests[] = {
    {"a password of an address is hidden", test_hidden},
    {"what has none stays as it is", test_left},
    {"a password in an answer is hidden", test_answers},
    CU_TEST_INFO_NULL,
};
