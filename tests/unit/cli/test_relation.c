/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_relation.c - rows of a relation in each format, sorted, with chosen columns */
#include "tests/support/suites.h"

#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/table/relation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *name; /* NULL: not known */
    uint64_t count;
    double ns;
};

enum { NAME, UPPER };

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct row *own = asked->row;

    if (own->name == NULL) {
        return asked->what == UPPER ? cpti_cell_none() : cpti_cell_unknown();
    }
    return asked->what == NAME ? cpti_cell_text(own->name)
                               : cpti_cell_format(asked, "<%s>", own->name);
}

static void put_pair(const struct cpti_asked *asked, struct cpti_json *json)
{
    cpti_json_open(json, "pair", '[');
    cpti_json_unsigned(json, NULL, ((const struct row *)asked->row)->count);
    cpti_json_close(json);
}

static const struct cpti_column columns[] = {
    {"name", "name", CPTI_NAME, get, NAME},
    {"upper", "upper", CPTI_TEXT, get, UPPER, "in tables", CPTI_IN_TABLES},
    {"tag", "tag", CPTI_TEXT, get, UPPER, NULL, CPTI_NOT_IN_JSON},
    {"count", "count", CPTI_COUNT, CPTI_OF(struct row, count)},
    {"ns", "ms", CPTI_NS, CPTI_OF(struct row, ns)},
    {"pair", .put = put_pair},
    {0},
};

static const char *const orders[] = {"usual", NULL};
static const struct cpti_relation relation = {"rows", columns, "count,upper", orders,
                                              true};
static const struct cpti_command command = {.name = "test",
                                            .options = {cpti_view_options}};

/* Reads the options in @words, which are separated by spaces; messages go to *@said. */
static int read_view(const char *words, struct cpti_view *view,
                     struct cpti_messages *said)
{
    char text[128];
    char *list[8];
    size_t count = 0;
    struct cpti_arguments arguments;
    int status;

    (void)snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        list[count++] = word;
    }
    cpti_messages_to(said);
    status = cpti_arguments_init(&arguments, &command, count, list);
    if (status == CPTI_EXIT_DONE) {
        status = cpti_view_read(&arguments, &relation, NULL, view);
    }
    cpti_arguments_deinit(&arguments);
    cpti_messages_to(NULL);
    return status;
}

/* Prints @count @rows as @words want it, and compares. */
static void expect(const char *words, struct row *rows, size_t count,
                   const char *wanted)
{
    const struct cpti_rows all = CPTI_ROWS(rows, count, NULL);
    struct cpti_json json = {.file = NULL};
    struct cpti_view view;
    FILE *real = stdout;
    char *text = NULL;
    struct cpti_messages said = {0};
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(read_view(words, &view, &said), CPTI_EXIT_DONE);
    cpti_messages_deinit(&said);
    cpti_relation_sort(&view, rows, count, sizeof *rows, NULL);
    stdout = open_memstream(&text, &bytes);
    if (view.format == CPTI_FORMAT_JSON) {
        json.file = stdout;
        cpti_relation_json(&view, &all, count, &json);
    } else {
        CU_ASSERT_EQUAL(cpti_relation_print(&view, &all, count), CPTI_EXIT_DONE);
    }
    (void)fclose(stdout);
    stdout = real;
    CU_ASSERT_STRING_EQUAL(text, wanted);
    free(text);
}

/* A comma, a quote and a new line need quotes (RFC 4180); what is unknown is empty. */
static void test_csv(void)
{
    struct row rows[] = {
        {"a,b", 1, 2.5}, {"say \"a\"", 2, NAN}, {"a\r\nb", 3, INFINITY}, {NULL, 4, 0}};

    expect("--format csv", rows, 4,
           "name,tag,count,ns\r\n"
           "\"a,b\",\"<a,b>\",1,2.5\r\n"
           "\"say \"\"a\"\"\",\"<say \"\"a\"\">\",2,\r\n"
           "\"a\r\nb\",\"<a\r\nb>\",3,\r\n"
           ",,4,0\r\n");
    expect("--format csv --columns ns,ns", rows, 1, "ns,ns\r\n2.5,2.5\r\n");
    expect("--format csv", rows, 0, "name,tag,count,ns\r\n");
}

/* Numbers fall, texts rise, equal rows stay, and what is not known comes last. */
static void test_order(void)
{
    struct row rows[] = {{"b", 1, 0}, {"a", 2, 0}, {NULL, 9, 0},
                         {"c", 2, 0}, {"a", 1, 0}, {"ab", 2, 0}};

    expect("--format csv --columns name,count --sort count", rows, 6,
           "name,count\r\n,9\r\na,2\r\nc,2\r\nab,2\r\nb,1\r\na,1\r\n");
    expect("--format csv --columns name,count --sort name", rows, 6,
           "name,count\r\na,2\r\na,1\r\nab,2\r\nb,1\r\nc,2\r\n,9\r\n");
    expect("--format csv --columns name --sort usual", rows, 2, "name\r\na\r\na\r\n");
}

static void test_pointers(void)
{
    const struct row rows[] = {{"a", 1, 0}, {"b", 3, 0}, {"c", 2, 0}};
    const struct row *pointers[] = {&rows[0], &rows[1], &rows[2]};
    struct cpti_view view;
    struct cpti_messages said = {0};

    CU_ASSERT_EQUAL_FATAL(read_view("--sort count", &view, &said), CPTI_EXIT_DONE);
    cpti_messages_deinit(&said);
    cpti_relation_sort(&view, pointers, 3, 0, NULL);
    CU_ASSERT_PTR_EQUAL(pointers[0], &rows[1]);
    CU_ASSERT_PTR_EQUAL(pointers[1], &rows[2]);
    CU_ASSERT_PTR_EQUAL(pointers[2], &rows[0]);
}

/* What is infinite or no number counts as not known. */
static void test_infinite(void)
{
    struct row rows[] = {{"a", 0, NAN}, {"b", 0, 1},         {"c", 0, INFINITY},
                         {"d", 0, 2},   {"e", 0, -INFINITY}, {"f", 0, -1}};

    expect("--format csv --columns name,ns --sort ns", rows, 6,
           "name,ns\r\nd,2\r\nb,1\r\nf,-1\r\na,\r\nc,\r\ne,\r\n");
}

/* JSON has what is for programs, tables what the relation shows. */
static void test_formats(void)
{
    struct row rows[] = {{"a;b", 1, 2500000}, {NULL, 2, NAN}};

    expect("--format json", rows, 2,
           "\"rows\":[\n{\"name\":\"a;b\",\"count\":1,\"ns\":2500000,\"pair\":[1]},"
           "\n{\"name\":null,\"count\":2,\"ns\":null,\"pair\":[2]}]\n");
    expect("--format json --columns tag,pair", rows, 2,
           "\"rows\":[\n{\"tag\":\"<a;b>\",\"pair\":[1]},\n{\"pair\":[2]}]\n");
    expect("", rows, 2, "count  upper\n    1  <a;b>\n    2  -\n");
    expect("--columns ns,name", rows, 2, "   ms  name\n2.500  a\\x3bb\n    -  -\n");
    expect("--format markdown --columns count,name", rows, 1,
           "| count | name |\n| ---: | :--- |\n| 1 | a\\\\x3bb |\n");
}

/* What is wrong, and which columns there are. */
static void test_errors(void)
{
    static const struct {
        const char *words;
        const char *said;
    } cases[] = {
        {"--columns no", "no column 'no'; there are: name, upper, tag, count, ns"},
        {"--columns name,", NULL},
        {"--columns nam", "no column 'nam'; there are: name, upper, tag, count, ns"},
        {"--columns ,", "no column ''; there are: name, upper, tag, count, ns"},
        {"--columns pair", "no column 'pair'; there are: name, upper, tag, count, ns"},
        {"--sort upper", "no column 'upper'; there are: usual, name, tag, count, ns"},
        {"--sort names", "no column 'names'; there are: usual, name, tag, count, ns"},
        {"--columns ns,ns,ns,ns,ns,ns,ns,ns,ns,ns,ns,ns,ns,ns,ns,ns,ns,ns",
         "more than 17 columns"},
        {"--format xml", "'--format' takes one of: text markdown csv json"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpti_view view;
        struct cpti_messages said = {0};
        const int status = read_view(cases[i].words, &view, &said);

        CU_ASSERT_EQUAL(status,
                        cases[i].said != NULL ? CPTI_EXIT_USAGE : CPTI_EXIT_DONE);
        CU_ASSERT_TRUE(
            cases[i].said == NULL ||
            (said.count == 1 && strstr(said.items[0].text, cases[i].said) != NULL));
        cpti_messages_deinit(&said);
    }
}

CU_TestInfo cli_relation_tests[] = {
    {"CSV", test_csv},
    {"order", test_order},
    {"infinite numbers", test_infinite},
    {"rows behind pointers", test_pointers},
    {"formats", test_formats},
    {"errors", test_errors},
    CU_TEST_INFO_NULL,
};
