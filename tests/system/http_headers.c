/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_headers.c - what calls send in headers; paths beside other headers of a reply */
#include "http_suites.h"
#include "http_support.h"

#include "wire/cpt_metadata.h"

#include <stdlib.h>

enum { REPLY_BYTES = 16384, LINES = 8, LINE_BYTES = 1000, COUNT_MAX = 60 };

/* Lines of @bytes with their ends, for the option reply_headers. */
static void lines_fill(char lines[LINES][LINE_BYTES], const char *names[LINES + 1],
                       size_t bytes)
{
    size_t count = 0;

    while (bytes > 20) {
        const size_t line = bytes < LINE_BYTES ? bytes : LINE_BYTES;

        (void)snprintf(lines[count], LINE_BYTES, "X-More: %0*d", (int)line - 10, 0);
        names[count] = lines[count];
        count++;
        bytes -= line;
    }
    names[count] = NULL;
}

/* Looks at the reply of a service whose replies, by the loop or from a pool, have
 * @other_bytes of other headers, with @bytes_max for all. Whether it has a path. */
static bool path_is_there(bool is_pooled, size_t other_bytes, size_t bytes_max)
{
    const size_t limit = bytes_max != 0 ? bytes_max : CPT_HEADERS_BYTES_HTTP;
    char lines[LINES][LINE_BYTES];
    const char *names[LINES + 1];
    const struct cpt_http_options options = {.struct_bytes = sizeof options,
                                             .reply_headers = names,
                                             .headers_bytes_max = bytes_max};
    struct test_loop loop;
    struct test_service service;
    struct cpt_executor *pool = is_pooled ? cpt_pool_new(NULL, NULL) : NULL;
    static char reply[REPLY_BYTES];
    const char *end = NULL;
    bool is_there = false;

    lines_fill(lines, names, other_bytes);
    test_loop_make(&loop, &options);
    test_service_make(&service, &loop, CPT_ROLE_INNER, -1, pool);
    test_loop_start(&loop);
    raw_exchange(service.port,
                 "GET /hello HTTP/1.1\r\nHost: s\r\ncritical-path: 1;max=2048\r\n"
                 "Connection: close\r\n\r\n",
                 reply, sizeof reply);
    CU_ASSERT_PTR_EQUAL(strstr(reply, "HTTP/1.1 200 "), reply);
    end = strstr(reply, "\r\n\r\n");
    is_there = strstr(reply, CPT_HEADER_PATH) != NULL;
    CU_ASSERT_EQUAL(strstr(reply, "Vary:") != NULL, is_there);
    if (is_there && end != NULL) {
        CU_ASSERT_TRUE((size_t)(end + 4 - reply) + CPT_HEADERS_BYTES_RESERVED <= limit);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    cpt_pool_free(pool);
    test_service_free(&service);
    return is_there;
}

static void test_room_is_what_others_leave(void)
{
    for (int is_pooled = 0; is_pooled < 2; is_pooled++) {
        CU_ASSERT_TRUE(path_is_there(is_pooled, 0, 0));
        CU_ASSERT_TRUE(path_is_there(is_pooled, 3200, 0));
        CU_ASSERT_FALSE(path_is_there(is_pooled, 3500, 0));
        CU_ASSERT_FALSE(path_is_there(is_pooled, 4096, 0));
        CU_ASSERT_FALSE(path_is_there(is_pooled, 7000, 0));
        CU_ASSERT_TRUE(path_is_there(is_pooled, 7000, 8192));
    }
}

/* Whether a reply with @line_count other lines, to a request whose target has
 * @target_bytes, has a path; @bytes_max as above. */
static bool path_comes(unsigned line_count, int target_bytes, size_t bytes_max)
{
    const char *names[COUNT_MAX + 1] = {NULL};
    const struct cpt_http_options options = {.struct_bytes = sizeof options,
                                             .reply_headers = names,
                                             .headers_bytes_max = bytes_max};
    struct test_loop loop;
    struct test_service service;
    static char reply[REPLY_BYTES];
    char request[REPLY_BYTES / 2];

    for (unsigned i = 0; i < line_count; i++) {
        names[i] = "X-More: 1";
    }
    test_loop_make(&loop, &options);
    test_service_make(&service, &loop, CPT_ROLE_INNER, -1, NULL);
    test_loop_start(&loop);
    (void)snprintf(request, sizeof request,
                   "GET /hello?%0*d HTTP/1.1\r\nHost: s\r\ncritical-path: 1\r\n"
                   "Connection: close\r\n\r\n",
                   target_bytes, 0);
    raw_exchange(service.port, request, reply, sizeof reply);
    CU_ASSERT_PTR_EQUAL(strstr(reply, "HTTP/1.1 200 "), reply);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    test_service_free(&service);
    return strstr(reply, CPT_HEADER_PATH) != NULL;
}

/* A cache of nginx keeps the target of the request in the memory of the head. */
static void test_target_counts(void)
{
    CU_ASSERT_TRUE(path_comes(0, 2900, 0));
    CU_ASSERT_FALSE(path_comes(0, 3500, 0));
    CU_ASSERT_FALSE(path_comes(0, 6000, 0));
    CU_ASSERT_TRUE(path_comes(0, 6000, 8192));
}

/* Varnish takes 54 headers of a service. */
static void test_many_headers(void)
{
    CU_ASSERT_TRUE(path_comes(30, 1, 0));
    CU_ASSERT_FALSE(path_comes(48, 1, 0));
    CU_ASSERT_FALSE(path_comes(COUNT_MAX, 1, 0));
    CU_ASSERT_TRUE(path_comes(COUNT_MAX, 1, 8192));
}

static void test_each_limit(void)
{
    unsigned count = 0;

    for (size_t bytes_max = 640; bytes_max < 900; bytes_max += 7) {
        count += path_is_there(false, 0, bytes_max);
    }
    CU_ASSERT_TRUE(count > 5 && count < 37);
    CU_ASSERT_FALSE(path_is_there(false, 0, 1));
    CU_ASSERT_TRUE(path_is_there(false, 7000, SIZE_MAX));
}

/* --- What calls send --- */

/* The request that a call sends, traced or not, in @text. */
static void request_of_call(bool is_traced, uint64_t slack_ns, char text[8192])
{
    struct stand_in stand_in;
    struct test_loop loop;
    struct call_result result;
    struct call_request request = {.stub = {.target = stand_in.target},
                                   .is_traced = is_traced,
                                   .slack_ns = slack_ns};

    stand_in_start(&stand_in, serve_reply,
                   "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    call_out(&loop, &request, NULL, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    memcpy(text, stand_in.first_request, sizeof stand_in.first_request);
}

/* The value of the header of the nonce in @text; empty: there is none. */
static struct cpt_bytes nonce_of(const char *text)
{
    static const char name[] = "\r\n" CPT_HEADER_NONCE ": ";
    const char *at = strstr(text, name);

    return at != NULL ? (struct cpt_bytes){at + sizeof name - 1,
                                           strcspn(at + sizeof name - 1, "\r\n")}
                      : cpt_bytes_of("");
}

static void test_a_call_sends_a_nonce(void)
{
    static char text[2][8192];
    struct cpt_bytes values[2];

    for (int i = 0; i < 2; i++) {
        request_of_call(true, 0, text[i]);
        values[i] = nonce_of(text[i]);
        CU_ASSERT_NOT_EQUAL(cpt_nonce_parse(&values[i], 1), 0);
    }
    CU_ASSERT_FALSE(cpt_bytes_equal(values[0], values[1]));
    request_of_call(false, 0, text[0]);
    CU_ASSERT_EQUAL(nonce_of(text[0]).bytes, 0);
}

/* Traced or not; what it waits for a connection is taken off. */
static void test_a_call_sends_its_slack(void)
{
    static const char name[] = "\r\n" CPT_HEADER_SLACK ": ";
    static char text[8192];

    for (int i = 0; i < 2; i++) {
        const char *at = NULL;

        request_of_call(i == 0, 4000 * MS, text);
        at = strstr(text, name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        CU_ASSERT_TRUE(strtoul(at + sizeof name - 1, NULL, 10) <= 4000000);
        CU_ASSERT_TRUE(strtoul(at + sizeof name - 1, NULL, 10) > 0);
        request_of_call(i == 0, 0, text);
        CU_ASSERT_PTR_NULL(strstr(text, name));
    }
    request_of_call(false, 1, text); /* less than a microsecond */
    CU_ASSERT_PTR_NULL(strstr(text, name));
}

/* The nonce of the path in the reply to a request with @lines; 0: none. */
static uint64_t nonce_echoed(const struct test_service *service, const char *lines)
{
    static char reply[REPLY_BYTES];
    char request[512];
    unsigned char data[2048];
    struct cpt_metadata_summary summary = {0};
    size_t bytes = 0;
    struct cpt_bytes text;
    const char *at = NULL;

    (void)snprintf(request, sizeof request,
                   "GET /hello HTTP/1.1\r\nHost: s\r\n%sConnection: close\r\n\r\n",
                   lines);
    raw_exchange(service->port, request, reply, sizeof reply);
    at = strstr(reply, CPT_HEADER_PATH ": ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT_PTR_NULL(strstr(reply, CPT_HEADER_NONCE)); /* Vary does not name it */
    text.data = at + sizeof CPT_HEADER_PATH ": " - 1;
    text.bytes = strcspn(text.data, "\r\n");
    CU_ASSERT_EQUAL(cpt_base64_decode(text, data, sizeof data, &bytes, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_metadata_peek(data, bytes, &summary, NULL), CPT_OK);
    return summary.nonce;
}

static void test_a_reply_has_it(void)
{
    struct test_loop loop;
    struct test_service service;

    test_loop_make(&loop, NULL);
    test_service_make(&service, &loop, CPT_ROLE_INNER, -1, NULL);
    test_loop_start(&loop);
    CU_ASSERT_EQUAL(nonce_echoed(&service, "critical-path: 1\r\n"), 0);
    CU_ASSERT_EQUAL(nonce_echoed(&service, "critical-path: 1\r\n"
                                           "Critical-Path-Nonce: 00000000000000ff\r\n"),
                    0xff);
    CU_ASSERT_EQUAL(nonce_echoed(&service, "critical-path-nonce: 00000000000000ff\r\n"
                                           "critical-path: 1\r\n"
                                           "critical-path-nonce: 00000000000000ff\r\n"),
                    0);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    test_service_free(&service);
}

CU_TestInfo http_headers_tests[] = {
    {"a call sends a nonce with its ask, another each time", test_a_call_sends_a_nonce},
    {"a reply has the nonce in its path", test_a_reply_has_it},
    {"a call sends its slack", test_a_call_sends_its_slack},
    {"a path has the room that other headers leave", test_room_is_what_others_leave},
    {"the target of the request counts as a header", test_target_counts},
    {"beside many headers there is no path", test_many_headers},
    {"a limit of any size is kept", test_each_limit},
    CU_TEST_INFO_NULL,
};
