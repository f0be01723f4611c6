/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_options.c - parsing the command line */
#include "tests/support/suites.h"

#include "tool/base/names.h"
#include "tool/base/options.h"

#include <string.h>

static const struct cpti_option options[] = {
    {"json", 'j', NULL, "a switch", NULL},
    {"output", 'o', "FILE", "a value", NULL},
    {"where", 'w', "TERM", "a value that repeats", NULL},
    {"shell", 's', "SHELL", "one of several", "bash zsh file:"},
    {0},
};

static const struct cpti_command command = {
    .name = "test",
    .options = {options},
    .operand_count_max = 3,
};

/* Parses the words of @line, separated by spaces; the result as text: "json output=x |
 * a b", or "usage" if it was refused. */
static const char *parse(const char *line)
{
    static char text[512];
    static char words_text[256];
    char *words[16];
    size_t count = 0;
    struct cpti_arguments arguments;
    size_t bytes = 0;

    (void)snprintf(words_text, sizeof words_text, "%s", line);
    for (char *word = strtok(words_text, " "); word != NULL; word = strtok(NULL, " ")) {
        words[count++] = word;
    }
    text[0] = '\0';
    if (cpti_arguments_init(&arguments, &command, count, words) != CPTI_EXIT_DONE) {
        cpti_arguments_deinit(&arguments);
        return "usage";
    }
    for (size_t i = 0; i < arguments.option_count; i++) {
        bytes += (size_t)snprintf(
            text + bytes, sizeof text - bytes, "%s%s%s ",
            arguments.options[i].option->name, arguments.options[i].value ? "=" : "",
            arguments.options[i].value ? arguments.options[i].value : "");
    }
    bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "|");
    for (size_t i = 0; i < arguments.operand_count; i++) {
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, " %s",
                                  arguments.operands[i]);
    }
    cpti_arguments_deinit(&arguments);
    return text;
}

static void test_forms(void)
{
    CU_ASSERT_STRING_EQUAL(parse(""), "|");
    CU_ASSERT_STRING_EQUAL(parse("a --json b"), "json | a b");
    CU_ASSERT_STRING_EQUAL(parse("--output x --output=y"), "output=x output=y |");
    CU_ASSERT_STRING_EQUAL(parse("-ox -o y -jo z"),
                           "output=x output=y json output=z |");
    CU_ASSERT_STRING_EQUAL(parse("--output="), "output= |");
    CU_ASSERT_STRING_EQUAL(parse("--output=a=b"), "output=a=b |");
    CU_ASSERT_STRING_EQUAL(parse("--output -- -"), "output=-- | -");
    CU_ASSERT_STRING_EQUAL(parse("- -- -j --json"), "| - -j --json");
    CU_ASSERT_STRING_EQUAL(parse("-s zsh --shell=bash"), "shell=zsh shell=bash |");
    CU_ASSERT_STRING_EQUAL(parse("--shell=file:a"), "shell=file:a |");
    CU_ASSERT_STRING_EQUAL(parse("--help a b c d e"), "help | a b c d e");
}

/* Its messages go to standard error. */
static void test_mistakes(void)
{
    static const char *const lines[] = {
        "--jso",        "--json=1",       "-x",        "-jx",     "--output",
        "-o",           "--jsonx",        "a b c d",   "-s fish", "--shell=",
        "-sba",         "--shell=sh",     "--shell=h", "---json", "--shell=file:",
        "--shell=file", "--shell=bash:a",
    };

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        CU_ASSERT_STRING_EQUAL(parse(lines[i]), "usage");
    }
}

static void test_values(void)
{
    char text[] = "-w\0a=1\0-j\0-w\0b=2";
    char *words[] = {text, text + 3, text + 7, text + 10, text + 13};
    struct cpti_arguments arguments;

    CU_ASSERT_EQUAL(cpti_arguments_init(&arguments, &command, 5, words),
                    CPTI_EXIT_DONE);
    CU_ASSERT_TRUE(cpti_has(&arguments, "json"));
    CU_ASSERT_FALSE(cpti_has(&arguments, "output"));
    CU_ASSERT_STRING_EQUAL(cpti_value(&arguments, "where"), "b=2");
    CU_ASSERT_STRING_EQUAL(cpti_value_at(&arguments, "where", 0), "a=1");
    CU_ASSERT_STRING_EQUAL(cpti_value_at(&arguments, "where", 1), "b=2");
    CU_ASSERT_PTR_NULL(cpti_value_at(&arguments, "where", 2));
    CU_ASSERT_PTR_NULL(cpti_value(&arguments, "output"));
    cpti_arguments_deinit(&arguments);
}

static void test_nearest_word(void)
{
    static const char *const words[] = {"aggregate", "report", "diff", "log"};

    CU_ASSERT_STRING_EQUAL(cpti_nearest_word("agregate", words, 4), "aggregate");
    CU_ASSERT_STRING_EQUAL(cpti_nearest_word("repotr", words, 4), "report");
    CU_ASSERT_STRING_EQUAL(cpti_nearest_word("dif", words, 4), "diff");
    CU_ASSERT_PTR_NULL(cpti_nearest_word("xylophone", words, 4));
    CU_ASSERT_PTR_NULL(cpti_nearest_word("", words, 4));
    CU_ASSERT_PTR_NULL(
        cpti_nearest_word("a-word-that-is-far-longer-than-any-of-them-is", words, 4));
}

CU_TestInfo cpt_options_tests[] = {
    {"every form of an option is read", test_forms},
    {"a mistake is refused", test_mistakes},
    {"the last value counts, and all are available", test_values},
    {"a mistyped word is recognised, an unrelated one is not", test_nearest_word},
    CU_TEST_INFO_NULL,
};
