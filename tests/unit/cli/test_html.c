/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_html.c - data in the page of the HTML report cannot become markup */
#include "tool/html/html_page.h"
#include "tool/html/html_parts.h"
#include "tests/support/suites.h"

#include <CUnit/CUnit.h>

#include <stdlib.h>
#include <string.h>

/* The parts of a page for the test, in place of those of tool/html/page/. */
const char cpti_html_parts_html[] =
    "{{connect}}<title>{{title}}</title><style>{{css}}</style>"
    "<script>{{data}}</script><script>{{js}}</script>end";
const char cpti_html_parts_css[] = "css {{data}}";
const char cpti_html_parts_js[] = "js {{title}}";

/* The output of @write for @text, in memory from malloc(). */
static char *written(void (*write)(FILE *file, const char *text), const char *text)
{
    char *result = NULL;
    size_t bytes;
    FILE *file = open_memstream(&result, &bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    write(file, text);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    return result;
}

static void expect(void (*write)(FILE *file, const char *text), const char *text,
                   const char *expected)
{
    char *result = written(write, text);

    CU_ASSERT_STRING_EQUAL(result, expected);
    free(result);
}

static void write_json(FILE *file, const char *text)
{
    cpti_html_json(file, text, strlen(text));
}

static void write_page(FILE *file, const char *text)
{
    cpti_html_page(file, text, "[\"</script>\"]", 13);
}

static void json_cannot_end_its_script(void)
{
    expect(write_json, "{\"a\": \"b\"}", "{\"a\": \"b\"}");
    expect(write_json, "\"</script><!--\"", "\"\\u003c/script\\u003e\\u003c!--\"");
    expect(write_json, "\"]]>&amp;\"", "\"]]\\u003e\\u0026amp;\"");
    expect(write_json, "\"\xe2\x80\xa8\xe2\x80\xa9\"", "\"\\u2028\\u2029\"");
    /* their neighbours, and their first bytes at the end */
    expect(write_json, "\xe2\x80\xa7\xe2\x80\xaa\xe2\x80",
           "\xe2\x80\xa7\xe2\x80\xaa\xe2\x80");
    expect(write_json, "\xe2", "\xe2");
    expect(write_json, "", "");
}

static void titles_are_text(void)
{
    expect(cpti_html_text, "A: <b>\"1 & 2\"</b>",
           "A: &lt;b&gt;&quot;1 &amp; 2&quot;&lt;/b&gt;");
    expect(cpti_html_text, "\u2039blind spot\u203a", "\u2039blind spot\u203a");
}

/* Markers within the parts or the data have no effect. */
static void pages_are_put_together_once(void)
{
    expect(
        write_page, "{{css}}",
        "'none'<title>{{css}}</title><style>css {{data}}</style>"
        "<script>[\"\\u003c/script\\u003e\"]</script><script>js {{title}}</script>end");
}

CU_TestInfo cpt_html_tests[] = {
    {"json cannot end its script", json_cannot_end_its_script},
    {"titles are text", titles_are_text},
    {"each marker is replaced once", pages_are_put_together_once},
    CU_TEST_INFO_NULL,
};
