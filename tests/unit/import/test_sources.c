/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_sources.c - the settings that say what stands where in a line, formats of lnav,
 * and which files are whose */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"

#include "import/lines/event_reader.h"
#include "import/lines/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cpti_sources_open_fn: the file's text is the context. */
static cpt_status open_text(void *context, struct cpt_bytes file, char **text,
                            size_t *bytes, struct cpt_error *error)
{
    const char *content = context;

    if (cpt_bytes_equal(file, cpt_bytes_of("none.json"))) {
        return cpt_error_set(error, CPT_IO, 0, "there is no such file");
    }
    *bytes = strlen(content);
    *text = malloc(*bytes + 1);
    if (*text == NULL) {
        return CPT_NO_MEMORY;
    }
    memcpy(*text, content, *bytes);
    return CPT_OK;
}

static struct cpti_sources *read_sources(const char *text, const char *lnav,
                                         struct cpt_error *error)
{
    char copy[4096];
    const struct cpti_sources_options options = {.open = open_text, .context = copy};
    struct cpti_sources *sources = NULL;

    (void)snprintf(copy, sizeof copy, "%s", lnav != NULL ? lnav : "");
    (void)cpti_sources_read(&options, cpt_bytes_of(text), &sources, error);
    return sources;
}

/* --- Errors --- */

static void test_errors_have_line_and_column(void)
{
    static const struct {
        const char *text;
        const char *sentence;
    } cases[] = {
        {"hello",
         "line 1, column 1: a line is 'source NAME = ...', or begins with '#'"},
        {"\n# x\n source = json", "line 3, column 9: a source needs a name of letters, "
                                  "digits, '-', '_' and '.', at "
                                  "most 64 bytes"},
        {"source a = json\nsource a = json",
         "line 2, column 8: the source is there twice"},
        {"source a = json; colour red",
         "line 1, column 18: 'colour red': there is no such clause"},
        {"source a = id x",
         "line 1, column 12: 'id x': before it stands what a line is: regex, json, "
         "logfmt, lnav or format"},
        {"source a = files x",
         "line 1, column 11: '': a source needs regex, json, logfmt, lnav or format"},
        {"source a = json; begin \"x\"",
         "line 1, column 11: '': the events of 'begin' and 'end' come together"},
        {"source a = json; id x; id y", "line 1, column 24: 'id y': it is there twice"},
        {"source a = json; logfmt",
         "line 1, column 18: 'logfmt': what a line is stands there already"},
        {"source a = json; regex x",
         "line 1, column 18: 'regex x': these lines are not read by expressions"},
        {"source a = json; time t sec",
         "line 1, column 18: 'time t sec': a time is s, ms, us, ns, rfc3339, or a "
         "pattern "
         "as of strptime with %Y %m %d %b %e %H %M %S %L %z"},
        {"source a = json; duration d h",
         "line 1, column 18: 'duration d h': a unit is s, ms, us or ns"},
        {"source a = json; zone CET",
         "line 1, column 18: 'zone CET': a zone is UTC, or as +08:00"},
        {"source a = json; outer pod",
         "line 1, column 18: 'outer pod': it is cri, docker or journal"},
        {"source a = format iis", "line 1, column 12: 'format iis': there is no such "
                                  "format; docs/events.md lists "
                                  "them"},
        {"source a = regex (?<id>x", "line 1, column 25: missing closing parenthesis"},
        {"source a = regex [[:x:]]", "line 1, column 21: unknown POSIX class name"},
        {"source a = lnav none.json",
         "line 1, column 12: 'lnav none.json': there is no such file"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpt_error error = {0};

        CU_ASSERT_PTR_NULL(read_sources(cases[i].text, NULL, &error));
        CU_ASSERT_STRING_EQUAL(error.sentence, cases[i].sentence);
        if (strcmp(error.sentence, cases[i].sentence) != 0) {
            (void)printf("\n%s\n%s\n", error.sentence, cases[i].sentence);
        }
    }
}

static void test_limits(void)
{
    char text[8192] = "";
    struct cpt_error error = {0};
    size_t used = 0;
    struct cpti_sources *sources = NULL;

    for (int i = 0; i < CPTI_SOURCES_MAX; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "source s%d = json; id a\n", i);
    }
    sources = read_sources(text, NULL, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(sources);
    CU_ASSERT_EQUAL(cpti_sources_count(sources), CPTI_SOURCES_MAX);
    cpti_sources_free(sources);
    (void)snprintf(text + used, sizeof text - used, "source more = json\n");
    CU_ASSERT_PTR_NULL(read_sources(text, NULL, &error));
    CU_ASSERT_EQUAL(error.status, CPT_LIMIT);
}

/* --- What clauses say --- */

/* The first event of @line as "id|service|host|unit|name|length". */
static bool gives(const char *text, const char *lnav, const char *line,
                  const char *wanted)
{
    struct cpt_error error = {0};
    struct cpti_sources *sources = read_sources(text, lnav, &error);
    struct cpti_event_reader *reader = NULL;
    const struct cpti_event *event = NULL;
    char found[512] = "none";

    if (sources == NULL) {
        (void)printf("\n%s\n", error.sentence);
        return false;
    }
    reader = cpti_event_reader_new(NULL, cpti_sources_at(sources, 0),
                                   cpti_sources_at(sources, 0)->name);
    if (cpti_event_reader_line(reader, cpt_bytes_of(line)) == CPT_OK) {
        event = cpti_event_reader_next(reader);
    }
    if (event != NULL) {
        (void)snprintf(found, sizeof found, "%.*s|%.*s|%.*s|%.*s|%.*s|%g",
                       (int)event->id.bytes, event->id.data, (int)event->service.bytes,
                       event->service.data, (int)event->host.bytes, event->host.data,
                       (int)event->unit.bytes, event->unit.data, (int)event->name.bytes,
                       event->name.data,
                       (double)(event->end_ns - event->begin_ns) / 1e6);
    }
    if (strcmp(found, wanted) != 0) {
        (void)printf("\n%s\n%s\n", found, wanted);
    }
    cpti_event_reader_free(reader);
    cpti_sources_free(sources);
    return strcmp(found, wanted) == 0;
}

static void test_members_and_constants(void)
{
    static const char line[] =
        "{\"a\":{\"b\":\"7\",\"c\":{\"d\":\"u\"}},\"t\":1674982122,"
        "\"m\":\"hello\",\"x\":null,\"y\":true,\"z\":\"-\"}";

    CU_ASSERT_TRUE(gives("source s = json; id a.b; time t; event m; unit a.c.d; "
                         "service \"web\"; host x|y",
                         NULL, line, "7|web|true|u|hello|0"));
    CU_ASSERT_TRUE(gives("source s = json; id z|a.b; time t s; event m; service q",
                         NULL, line, "|s|||hello|0"));
    CU_ASSERT_TRUE(gives("source s = json; id b; time t; text m; host a.c", NULL, line,
                         "|s|||hello|0"));
}

static void test_expressions(void)
{
    static const char text[] =
        "source s = regex ^(?<time>\\S+) a;b (?<id>\\w+) (?<event>\\w+)$; "
        "regex ^(?<begin>\\S+) (?<end>\\S+) (?<id>\\w+)$; service web; host h1";

    CU_ASSERT_TRUE(gives(text, NULL, "2023-01-29T08:48:42Z a;b 7 x", "7|web|h1||x|0"));
    CU_ASSERT_TRUE(gives(text, NULL, "2023-01-29T08:48:42Z 2023-01-29T08:48:43Z 7",
                         "7|web|h1||line|1000"));
    CU_ASSERT_TRUE(gives(text, NULL, "2023-01-29T08:48:42Z", "none"));
    CU_ASSERT_TRUE(
        gives(text, NULL, "2023-01-29T08:48:42Z 2023-01-29T08:48:41Z 7", "none"));
}

static void test_clauses_change_a_format(void)
{
    CU_ASSERT_TRUE(gives("source s = format pino; id order; service \"pay\"", NULL,
                         "{\"time\":1674982122425,\"msg\":\"a\",\"order\":\"7\","
                         "\"traceId\":\"8\"}",
                         "7|pay|||a|0"));
}

static void test_begin_and_end_lines_are_an_interval(void)
{
    static const char text[] = "source s = logfmt; id i; time t; event e; unit u; "
                               "begin \"got\"; end \"sent\"; role \"server\"";
    static const struct {
        const char *line;
        double length_ms; /* -1: a point */
    } lines[] = {{"t=2023-01-29T08:48:42.000Z i=7 u=a e=got", -1},
                 {"t=2023-01-29T08:48:42.001Z i=7 u=b e=got", -1},
                 {"t=2023-01-29T08:48:42.002Z i=7 u=a e=other", -1},
                 {"t=2023-01-29T08:48:42.003Z i=7 u=a e=sent", 3},
                 {"t=2023-01-29T08:48:42.004Z i=7 u=a e=sent", -1},
                 {"t=2023-01-29T08:48:42.009Z i=7 u=b e=sent", 8},
                 {"t=2023-01-29T08:48:42.009Z i=8 u=b e=sent", -1}};
    struct cpt_error error = {0};
    struct cpti_sources *sources = read_sources(text, NULL, &error);
    struct cpti_event_reader *reader =
        cpti_event_reader_new(NULL, cpti_sources_at(sources, 0), cpt_bytes_of("x"));

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const struct cpti_event *event = NULL;

        CU_ASSERT_EQUAL(cpti_event_reader_line(reader, cpt_bytes_of(lines[i].line)),
                        CPT_OK);
        event = cpti_event_reader_next(reader);
        CU_ASSERT_EQUAL(event->is_interval, lines[i].length_ms >= 0);
        if (event->is_interval) {
            CU_ASSERT_EQUAL(event->role, CPTI_EVENT_SERVER);
            CU_ASSERT_EQUAL((double)(event->end_ns - event->begin_ns) / 1e6,
                            lines[i].length_ms);
            CU_ASSERT_TRUE(cpt_bytes_equal(event->name, cpt_bytes_of("got")));
        }
    }
    cpti_event_reader_free(reader);
    cpti_sources_free(sources);
}

static void test_zone_of_a_source(void)
{
    struct cpt_error error = {0};
    struct cpti_sources *sources =
        read_sources("source s = logfmt; id id; time t; zone +08:00", NULL, &error);
    struct cpti_event_reader *reader =
        cpti_event_reader_new(NULL, cpti_sources_at(sources, 0), cpt_bytes_of("x"));

    CU_ASSERT_EQUAL(
        cpti_event_reader_line(reader, cpt_bytes_of("t=2023-01-29T16:48:42 id=7")),
        CPT_OK);
    CU_ASSERT_EQUAL(cpti_event_reader_next(reader)->begin_ns,
                    INT64_C(1674982122) * CPTI_NS_PER_S);
    cpti_event_reader_free(reader);
    cpti_sources_free(sources);
}

/* --- lnav --- */

static const char lnav[] =
    "{\"$schema\":\"x\",\"shop_log\":{\"title\":\"Shop\",\"regex\":{\"std\":{"
    "\"pattern\":"
    "\"^(?<timestamp>\\\\S+) (?<req>\\\\w+) (?<took>[\\\\d.]+) (?<body>.*)$\"}},"
    "\"opid-field\":\"req\",\"duration-field\":\"took\",\"duration-divisor\":1000,"
    "\"timestamp-format\":[\"%i\",\"%Y-%m-%dT%H:%M:%S.%L%z\"],\"converter\":{},"
    "\"sample\":[{\"line\":\"x\"}]},\"other\":{}}";

static void test_formats_of_lnav(void)
{
    struct cpt_error error = {0};
    struct cpti_sources *sources = read_sources("source s = lnav a.json", lnav, &error);

    CU_ASSERT_TRUE(gives("source s = lnav a.json; service web", lnav,
                         "2023-01-29T08:48:42.425Z 7f3a 12.5 placed 7 seats",
                         "7f3a|web|||placed * seats|12.5"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(sources);
    CU_ASSERT_STRING_EQUAL(
        cpti_sources_notes(sources),
        "timestamp-format '%i' is not read; 'converter' is not read; "
        "format 'other' is not read");
    cpti_sources_free(sources);
    CU_ASSERT_TRUE(
        gives("source s = lnav a.json",
              "{\"j\":{\"json\":true,\"timestamp-field\":\"t\",\"opid-field\":"
              "\"a/b\",\"start-timestamp-field\":\"s\",\"body-field\":\"m\","
              "\"timestamp-divisor\":1000}}",
              "{\"t\":1674982122425,\"s\":1674982122400,\"a\":{\"b\":\"7\"},"
              "\"m\":\"hi 7\"}",
              "7|s|||hi *|25"));
}

static void test_wrong_files_of_lnav(void)
{
    static const char *const files[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"a\":{}}",
        "{\"a\":{\"regex\":{\"x\":{\"pattern\":\"(\"}}}}",
        "{\"a\":{\"json\":true,\"timestamp-divisor\":7}}"};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct cpt_error error = {0};

        CU_ASSERT_PTR_NULL(read_sources("source s = lnav a.json", files[i], &error));
        CU_ASSERT_NOT_EQUAL(error.sentence[0], '\0');
    }
}

/* --- Files --- */

static void test_files_find_their_source(void)
{
    static const struct {
        const char *name;
        const char *source; /* NULL: none */
    } cases[] = {{"/var/log/nginx/cpt.log", "web"},
                 {"/var/log/nginx/cpt.log.1.gz", "web"},
                 {"nginx/cpt.log", "web"},
                 {"cpt.log", "web"},
                 {"/tmp/cpt.log", NULL},
                 {"/var/log/pods/shop-7/app.log", "shop"},
                 {"shop-7/app.log", "shop"},
                 {"/srv/pay.txt", "pay"},
                 {"./pay.txt", "pay"},
                 {"/srv/other.txt", NULL}};
    struct cpt_error error = {0};
    struct cpti_sources *sources =
        read_sources("source web = format nginx; files /var/log/nginx/cpt.log*\r\n"
                     "source shop = json; files /var/log/pods/shop*/*.log\n"
                     "source pay = json; files pay.*\n",
                     NULL, &error);

    CU_ASSERT_PTR_NOT_NULL_FATAL(sources);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct cpti_line_source *source =
            cpti_sources_find(sources, cases[i].name);

        CU_ASSERT_EQUAL(source != NULL, cases[i].source != NULL);
        CU_ASSERT_TRUE(source == NULL || cases[i].source == NULL ||
                       cpt_bytes_equal(source->name, cpt_bytes_of(cases[i].source)));
    }
    cpti_sources_free(sources);
}

/* --- Memory --- */

static bool read_members(const struct cpt_alloc *alloc)
{
    const struct cpti_sources_options options = {.alloc = alloc};
    struct cpti_sources *sources = NULL;
    struct cpti_event_reader *reader = NULL;
    bool is_good = cpti_sources_read(&options,
                                     cpt_bytes_of("source s = json; id i; time t; "
                                                  "outer cri"),
                                     &sources, NULL) == CPT_OK;

    if (is_good) {
        reader = cpti_event_reader_new(alloc, cpti_sources_at(sources, 0),
                                       cpt_bytes_of("s"));
    }
    is_good =
        reader != NULL &&
        cpti_event_reader_line(reader,
                               cpt_bytes_of("2023-01-29T08:48:42Z stdout P {\"i\":")) ==
            CPT_WAITING &&
        cpti_event_reader_line(
            reader, cpt_bytes_of("2023-01-29T08:48:42Z stdout F \"7\"}")) == CPT_OK;
    cpti_event_reader_free(reader);
    cpti_sources_free(sources);
    return is_good;
}

static void test_memory(void)
{
    each_allocation_failure(read_members);
}

/* PCRE2 goes on without machine code where there is no memory for it. */
static void test_memory_of_expressions(void)
{
    bool is_good = false;

    for (size_t n = 1; !is_good || n < 30; n++) {
        struct failing_alloc failing;
        const struct cpti_sources_options options = {.alloc = &failing.alloc};
        struct cpti_sources *sources = NULL;

        failing_alloc_init(&failing, n);
        is_good = cpti_sources_read(&options, cpt_bytes_of("source s = format nginx"),
                                    &sources, NULL) == CPT_OK;
        cpti_sources_free(sources);
        CU_ASSERT_EQUAL_FATAL(atomic_load(&failing.live_count), 0);
    }
}

CU_TestInfo cpt_sources_tests[] = {
    {"errors have line and column", test_errors_have_line_and_column},
    {"there are at most 64 sources", test_limits},
    {"members of JSON and constants", test_members_and_constants},
    {"expressions with named groups", test_expressions},
    {"clauses change a built-in format", test_clauses_change_a_format},
    {"lines that begin and end a unit are its interval",
     test_begin_and_end_lines_are_an_interval},
    {"a source has a zone", test_zone_of_a_source},
    {"formats of lnav are read", test_formats_of_lnav},
    {"wrong files of lnav are refused", test_wrong_files_of_lnav},
    {"files find their source", test_files_find_their_source},
    {"sources without memory", test_memory},
    {"expressions without memory", test_memory_of_expressions},
    CU_TEST_INFO_NULL,
};
