/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_ambiguous.c - messages that two programs may read in two ways: none is taken
 *
 * Each is followed by a second request that must never be answered: a server that takes
 * the first one otherwise than the proxy before it runs what a client has hidden there.
 */
#include "http_suites.h"
#include "http_support.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define POST   "POST /hello HTTP/1.1\r\nHost: s\r\n"
#define HIDDEN "GET /hello HTTP/1.1\r\nHost: hidden\r\n\r\n"
#define REPLY  "HTTP/1.1 200 OK\r\n"
#define GOOD   REPLY "Content-Length: 4\r\n\r\ngood"

/* Text and its size: some have a NUL. */
struct text {
    const char *data;
    size_t bytes;
};

#define TEXT(literal)                                                                  \
    {                                                                                  \
        literal, sizeof(literal) - 1                                                   \
    }

static void text_write(int descriptor, struct text text)
{
    while (text.bytes > 0) {
        const ssize_t sent = send(descriptor, text.data, text.bytes, MSG_NOSIGNAL);

        if (sent <= 0) {
            return;
        }
        text.data += sent;
        text.bytes -= (size_t)sent;
    }
}

static unsigned count_of(const char *text, const char *what)
{
    unsigned count = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
        count++;
    }
    return count;
}

struct sum {
    uint64_t requests;
};

static void visit(void *context, const struct cpt_counter *counter)
{
    if (strcmp(counter->name, "requests") == 0) {
        ((struct sum *)context)->requests = counter->value;
    }
}

static uint64_t requests_of(const struct test_service *service)
{
    struct sum sum = {0};

    cpt_service_counters(service->service, visit, &sum);
    return sum.requests;
}

/* --- Requests --- */

static const struct {
    unsigned status;
    struct text text;
} bad_requests[] = {
    {400, TEXT(POST "Content-Length: 0\r\nContent-Length: 37\r\n\r\n")},
    {400, TEXT(POST "Content-Length: 37\r\nContent-Length: 0\r\n\r\n")},
    {400, TEXT(POST "Content-Length: 0\r\nContent-Length: 0\r\n\r\n")},
    {400, TEXT(POST "Content-Length: 0, 37\r\n\r\n")},
    {400, TEXT(POST "Content-Length : 37\r\n\r\n")},
    {400, TEXT(POST "Content-Length\t: 37\r\n\r\n")},
    {400, TEXT(POST "Content-Length: +0\r\n\r\n")},
    {400, TEXT(POST "Content-Length: -0\r\n\r\n")},
    {400, TEXT(POST "Content-Length: 0x0\r\n\r\n")},
    {400, TEXT(POST "Content-Length:\r\n\r\n")},
    {400, TEXT(POST "Content-Length: 00000000000000000000\r\n\r\n")},
    /* white space is blanks and tabulators, around a value and nowhere else */
    {400, TEXT(POST "Content-Length:\v0\r\n\r\n")},
    {400, TEXT(POST "Content-Length: \f0\r\n\r\n")},
    {400, TEXT(POST "Content-Length:\xa0"
                    "0\r\n\r\n")},
    {400, TEXT(POST "Content-Length:\t3\t7\r\n\r\n")},
    {400, TEXT(POST "Content-Length:\t\r\n\r\n")},
    {400, TEXT(POST "Content-Length:\t0\r\nContent-Length:\t37\r\n\r\n")},
    {400, TEXT(POST "Content-Length:\t5\r\nTransfer-Encoding:\tchunked\r\n\r\n"
                    "0\r\n\r\n")},
    {400, TEXT(POST "x:\t\r\n\tContent-Length: 37\r\n\r\n")},
    {400, TEXT(POST "Transfer-Encoding:\vchunked\r\n\r\n0\r\n\r\n")},
    {501, TEXT(POST "Transfer-Encoding: chun\tked\r\n\r\n0\r\n\r\n")},
    {501, TEXT(POST "Transfer-Encoding:\tchunked\t,\r\n\r\n0\r\n\r\n")},
    {400, TEXT("POST /hello HTTP/1.1\r\nHost: a\tb\r\n\r\n")},
    {400, TEXT("POST /hello HTTP/1.1\r\nHost\t: s\r\n\r\n")},
    {400, TEXT("POST\t/hello HTTP/1.1\r\nHost: s\r\n\r\n")},
    {400, TEXT("POST /hello\tHTTP/1.1\r\nHost: s\r\n\r\n")},
    {400, TEXT(POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n")},
    {400, TEXT(POST " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
    {400, TEXT(POST "x: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
    {400, TEXT(POST "x: y\r\n\tContent-Length: 37\r\n\r\n")},
    {400,
     TEXT(POST "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
    {400,
     TEXT(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n")},
    {400, TEXT(POST "Transfer-Encoding: chunked\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
    {400, TEXT("POST /hello HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
    {501, TEXT(POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n")},
    {501, TEXT(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")},
    {501, TEXT(POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n")},
    {501, TEXT(POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n")},
    {400, TEXT(POST "Host: t\r\n\r\n")},
    {400, TEXT("POST /hello HTTP/1.1\r\n\r\n")},
    {400, TEXT("POST /hello HTTP/1.1\r\nHost: a, b\r\n\r\n")},
    {400, TEXT("POST /hello HTTP/1.1\r\nHost: a@b\r\n\r\n")},
    {400, TEXT(POST "x: a\rContent-Length: 37\r\n\r\n")},
    {400, TEXT(POST "x: a\0b\r\n\r\n")},
    {400, TEXT(POST "x\0y: a\r\n\r\n")},
    {400, TEXT(POST "x: \x7f\r\n\r\n")},
    {400, TEXT(POST "x: a\nContent-Length: 37\r\n\r\n")},
    {400, TEXT(POST "Content-Length: 0\r\n\n")},
    {400, TEXT(POST ": nameless\r\n\r\n")},
    {400, TEXT(POST "na me: a\r\n\r\n")},
    {501, TEXT("CONNECT /hello HTTP/1.1\r\nContent-Length: 37\r\n\r\n")},
    {400, TEXT("POST  /hello HTTP/1.1\r\n\r\n")},
    {400, TEXT("POST /hello  HTTP/1.1\r\n\r\n")},
    {400, TEXT("POST /hel lo HTTP/1.1\r\n\r\n")},
    {400, TEXT("POST /hello HTTP/1.1 \r\n\r\n")},
    {400, TEXT("POST /hello HTTP/2.0\r\n\r\n")},
    {400, TEXT("POST /hello\r\n\r\n")},
    {400, TEXT("\tPOST /hello HTTP/1.1\r\nHost: s\r\n\r\n")},
    {400, TEXT("\r\n\r\n\r\n\r\n\r\n" POST "\r\n")},
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
    {400, TEXT(CHUNKED "+0\r\n\r\n")},
    {400, TEXT(CHUNKED "0x0\r\n\r\n")},
    {400, TEXT(CHUNKED " 0\r\n\r\n")},
    {400, TEXT(CHUNKED "0 \r\n\r\n")},
    {400, TEXT(CHUNKED "\r\n\r\n")},
    {400, TEXT(CHUNKED "0\n\r\n")},
    {400, TEXT(CHUNKED "0;a\rb\r\n\r\n")},
    {400, TEXT(CHUNKED "0;a\nb\r\n\r\n")},
    {400, TEXT(CHUNKED "3\r\nabcd\r\n0\r\n\r\n")},
    {400, TEXT(CHUNKED "3\r\nabc\n0\r\n\r\n")},
    {400, TEXT(CHUNKED "3\r\nabc0\r\n\r\n")},
    {400, TEXT(CHUNKED "0000000000000000000\r\n\r\n")},
    {400, TEXT(CHUNKED "0\r\nContent-Length : 37\r\n\r\n")},
    {400, TEXT(CHUNKED "0\r\nx: a\n\r\n")},
};

enum { BAD_REQUESTS = sizeof(bad_requests) / sizeof(bad_requests[0]) };

struct serving {
    struct test_loop loop;
    struct test_service service;
};

static void serving_start(struct serving *serving)
{
    test_loop_make(&serving->loop, NULL);
    test_service_make(&serving->service, &serving->loop, CPT_ROLE_ENTRY, -1, NULL);
    test_loop_start(&serving->loop);
}

static void serving_stop(struct serving *serving)
{
    CU_ASSERT_EQUAL(test_loop_stop(&serving->loop), CPT_OK);
    test_service_free(&serving->service);
}

/* A good request, a bad one and a hidden one, all at once: the connection is kept up to
 * the bad one, which is refused, and closed after it. */
static void test_bad_requests(void)
{
    struct serving serving;

    serving_start(&serving);
    for (size_t i = 0; i < BAD_REQUESTS; i++) {
        const struct text text = bad_requests[i].text;
        const int descriptor = raw_connect(serving.service.port);
        char request[2048];
        char reply[8192];
        char line[32];
        size_t bytes = sizeof(HIDDEN) - 1;

        memcpy(request, HIDDEN, bytes);
        memcpy(request + bytes, text.data, text.bytes);
        bytes += text.bytes;
        memcpy(request + bytes, HIDDEN, sizeof(HIDDEN));
        bytes += sizeof(HIDDEN) - 1;
        text_write(descriptor, (struct text){request, bytes});
        (void)raw_read(descriptor, reply, sizeof(reply), NULL);
        (void)close(descriptor);
        (void)snprintf(line, sizeof(line), "HTTP/1.1 %u ", bad_requests[i].status);
        CU_ASSERT_EQUAL(count_of(reply, "HTTP/1.1 200 "), 1);
        CU_ASSERT_EQUAL(count_of(reply, line), 1);
        CU_ASSERT_EQUAL(count_of(reply, "HTTP/1.1 "), 2);
        if (count_of(reply, "HTTP/1.1 200 ") != 1 || count_of(reply, line) != 1) {
            (void)fprintf(stderr, "request %zu:\n%s\nreply:\n%s\n", i, text.data,
                          reply);
        }
    }
    CU_ASSERT_EQUAL(requests_of(&serving.service), BAD_REQUESTS);
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_requests_refused"), BAD_REQUESTS);
    serving_stop(&serving);
}

/* Byte by byte, so that no part of a request is judged without what came before. */
static void test_bad_requests_in_pieces(void)
{
    const int on = 1;
    struct serving serving;

    serving_start(&serving);
    for (size_t i = 0; i < BAD_REQUESTS; i++) {
        const int descriptor = raw_connect(serving.service.port);
        const struct text hidden = TEXT(HIDDEN);
        char reply[8192];

        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        for (size_t k = 0; k < bad_requests[i].text.bytes; k++) {
            text_write(descriptor, (struct text){bad_requests[i].text.data + k, 1});
        }
        text_write(descriptor, hidden);
        (void)raw_read(descriptor, reply, sizeof(reply), NULL);
        (void)close(descriptor);
        CU_ASSERT_EQUAL(count_of(reply, "HTTP/1.1 200 "), 0);
    }
    CU_ASSERT_EQUAL(requests_of(&serving.service), 0);
    serving_stop(&serving);
}

/* Sends @text, then a last request; the replies. */
static void exchange(const struct serving *serving, struct text text, bool is_in_pieces,
                     char *reply, size_t capacity)
{
    const struct text last =
        TEXT("GET /none HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n");
    const int descriptor = raw_connect(serving->service.port);
    const int on = 1;

    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    for (size_t i = 0; is_in_pieces && i < text.bytes; i++) {
        text_write(descriptor, (struct text){text.data + i, 1});
    }
    if (!is_in_pieces) {
        text_write(descriptor, text);
    }
    text_write(descriptor, last);
    (void)raw_read(descriptor, reply, capacity, NULL);
    (void)close(descriptor);
}

/* Bodies end where their heads say, whatever the verb: what they hide is not run. */
static void test_verbs(void)
{
    static const char *const verbs[] = {"HEAD", "TRACE", "BREW"};
    struct serving serving;
    char request[512];
    char reply[8192];

    serving_start(&serving);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        const int bytes =
            snprintf(request, sizeof(request),
                     "%s /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 37\r\n\r\n%s",
                     verbs[i], HIDDEN);

        exchange(&serving, (struct text){request, (size_t)bytes}, false, reply,
                 sizeof(reply));
        CU_ASSERT_EQUAL(count_of(reply, "HTTP/1.1 "), 2);
        CU_ASSERT_EQUAL(count_of(reply, "HTTP/1.1 404 "), 1); /* the last request's */
        CU_ASSERT_EQUAL(count_of(reply, "hello"), 0);
    }
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_requests_refused"), 0);
    serving_stop(&serving);
}

static void test_good_requests(void)
{
    static const struct {
        struct text text;
        const char *body;
    } rows[] = {
        {TEXT(CHUNKED "3;a=b\r\nabc\r\n2 ; c=\"d\" ;e\r\nde\r\n0;f\r\n\r\n"),
         "hello abcdeHTTP/1.1 404 "},
        {TEXT(CHUNKED "003\r\nabc\r\n00\r\nContent-Length: 900\r\n"
                      "critical-path: 1\r\n\r\n"),
         "hello abcHTTP/1.1 404 "},
        {TEXT(CHUNKED "A\r\n0123456789\r\n0\r\n\r\n"), "hello 0123456789HTTP/1.1 404 "},
        {TEXT(POST "content-length:3   \r\n\r\nabc"), "hello abcHTTP/1.1 404 "},
        {TEXT(POST "TRANSFER-encoding: ChunKed\r\n\r\n1\r\na\r\n0\r\n\r\n"),
         "hello aHTTP/1.1 404 "},
        {TEXT("\r\n\r\n" POST "Content-Length: 1\r\n\r\na"), "hello aHTTP/1.1 404 "},
        {TEXT("POST /hello HTTP/1.1\r\nHost:\ts\r\nContent-Length:\t3\r\n\r\nabc"),
         "hello abcHTTP/1.1 404 "},
        {TEXT("POST /hello HTTP/1.1\r\nHost: \t s\t \r\n"
              "Content-Length: \t 37 \t\r\n\r\n" HIDDEN),
         "hello " HIDDEN "HTTP/1.1 404 "},
        {TEXT(POST "Transfer-Encoding:\tchunked \t\r\n\r\n25\r\n" HIDDEN
                   "\r\n0\r\nx:\ty\r\n\r\n"),
         "hello " HIDDEN "HTTP/1.1 404 "},
        {TEXT(POST "Connection:\tkeep-alive\t,\tx\r\nExpect:\t100-continue\r\n"
                   "Content-Length:\t1\r\n\r\na"),
         "hello aHTTP/1.1 404 "},
        /* the body of a GET is no second request */
        {TEXT("GET /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 37\r\n\r\n" HIDDEN),
         "hello " HIDDEN "HTTP/1.1 404 "},
        {TEXT("GET /hello HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: "
              "chunked\r\n\r\n25;a\r\n" HIDDEN "\r\n0\r\n\r\n"),
         "hello " HIDDEN "HTTP/1.1 404 "},
    };
    struct serving serving;
    char reply[8192];

    serving_start(&serving);
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        exchange(&serving, rows[i / 2].text, i % 2 == 1, reply, sizeof(reply));
        CU_ASSERT_EQUAL(count_of(reply, "HTTP/1.1 200 "), 1);
        CU_ASSERT_EQUAL(count_of(reply, rows[i / 2].body), 1);
        /* a client that expects 100 gets it where its body is late */
        CU_ASSERT_EQUAL(count_of(reply, "HTTP/1.1 ") - count_of(reply, "HTTP/1.1 100 "),
                        2);
        if (count_of(reply, rows[i / 2].body) != 1) {
            (void)fprintf(stderr, "request:\n%s\nreply:\n%s\n", rows[i / 2].text.data,
                          reply);
        }
    }
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_requests_refused"), 0);
    serving_stop(&serving);
}

/* Extensions and trailers are limited, each by itself and all together. */
static void test_extension_limits(void)
{
    enum { LINE_MAX = 1024, ALL_MAX = 8192 };
    struct serving serving;
    char request[32768];
    char reply[8192];

    serving_start(&serving);
    for (size_t extra = LINE_MAX - 1; extra <= LINE_MAX + 1; extra++) {
        int bytes = snprintf(request, sizeof(request), "%s0;", CHUNKED);

        memset(request + bytes, 'x', extra - 2);
        bytes += (int)extra - 2;
        bytes += snprintf(request + bytes, sizeof(request) - (size_t)bytes, "\r\n\r\n");
        exchange(&serving, (struct text){request, (size_t)bytes}, false, reply,
                 sizeof(reply));
        CU_ASSERT_EQUAL(count_of(reply, "HTTP/1.1 200 "), extra <= LINE_MAX);
        CU_ASSERT_EQUAL(count_of(reply, "HTTP/1.1 400 "), extra > LINE_MAX);
    }
    for (size_t last = 511; last <= 513; last++) {
        int bytes = snprintf(request, sizeof(request), "%s", CHUNKED);

        for (size_t i = 0; i < ALL_MAX / 512; i++) {
            const int width = (int)(i == 0 ? last : 512) - 1;

            bytes += snprintf(request + bytes, sizeof(request) - (size_t)bytes,
                              "1;%0*d\r\na\r\n", width, 0);
        }
        bytes +=
            snprintf(request + bytes, sizeof(request) - (size_t)bytes, "0\r\n\r\n");
        exchange(&serving, (struct text){request, (size_t)bytes}, false, reply,
                 sizeof(reply));
        CU_ASSERT_EQUAL(count_of(reply, "HTTP/1.1 200 "), last <= 512);
    }
    serving_stop(&serving);
}

/* --- Replies --- */

static const struct text bad_replies[] = {
    TEXT(REPLY "Content-Length: 4\r\nContent-Length: 9\r\n\r\ngood"),
    TEXT(REPLY "Content-Length: 4\r\nContent-Length: 4\r\n\r\ngood"),
    TEXT(REPLY "Content-Length: 4, 4\r\n\r\ngood"),
    TEXT(REPLY "Content-Length : 4\r\n\r\ngood"),
    TEXT(REPLY "Content-Length\t: 4\r\n\r\ngood"),
    TEXT(REPLY "Content-Length:\v4\r\n\r\ngood"),
    TEXT(REPLY "Content-Length:\t4\t4\r\n\r\ngood"),
    TEXT(REPLY "x:\ty\r\n\tContent-Length: 4\r\n\r\ngood"),
    TEXT(REPLY "Content-Length: +4\r\n\r\ngood"),
    TEXT(REPLY "Transfer-Encoding : chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n"),
    TEXT(REPLY "Transfer-Encoding: xchunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n"),
    TEXT(REPLY "Transfer-Encoding: gzip, chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n"),
    TEXT(REPLY "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
               "4\r\ngood\r\n0\r\n\r\n"),
    TEXT("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    TEXT(REPLY "x: y\r\n Content-Length: 4\r\n\r\ngood"),
    TEXT(REPLY "x: y\rContent-Length: 4\r\n\r\ngood"),
    TEXT(REPLY "x: y\nContent-Length: 4\r\n\r\ngood"),
    TEXT(REPLY "x: a\0b\r\nContent-Length: 4\r\n\r\ngood"),
    TEXT("HTTP/1.1 20 OK\r\nContent-Length: 4\r\n\r\ngood"),
    TEXT("HTTP/1.1 2000 OK\r\nContent-Length: 4\r\n\r\ngood"),
    TEXT("\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"),
    TEXT(REPLY "Transfer-Encoding: chunked\r\n\r\n+4\r\ngood\r\n0\r\n\r\n"),
    TEXT(REPLY "Transfer-Encoding: chunked\r\n\r\n4\r\ngoods\r\n0\r\n\r\n"),
    TEXT(REPLY "Transfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\nbad\r\n\r\n"),
};

enum { BAD_REPLIES = sizeof(bad_replies) / sizeof(bad_replies[0]) };

static struct text reply_now;
static bool is_now_in_pieces;

static void serve_text(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    const int on = 1;

    (void)nth;
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    while (stand_in_read(stand_in, descriptor)) {
        for (size_t i = 0; is_now_in_pieces && i < reply_now.bytes; i++) {
            text_write(descriptor, (struct text){reply_now.data + i, 1});
        }
        if (!is_now_in_pieces) {
            text_write(descriptor, reply_now);
        }
    }
}

/* Two calls, one after the other; how many connections they took. */
static unsigned call_twice(struct text reply, bool is_in_pieces,
                           struct call_result *result, uint64_t *refused)
{
    struct call_request request = {0};
    struct stand_in stand_in;
    struct test_loop loop;

    reply_now = reply;
    is_now_in_pieces = is_in_pieces;
    stand_in_start(&stand_in, serve_text, NULL);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    call_out(&loop, &request, NULL, result);
    call_out(&loop, &request, NULL, result);
    *refused = test_counter(&loop, "http_replies_refused");
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    return atomic_load(&stand_in.connection_count);
}

static void test_bad_replies(void)
{
    for (size_t i = 0; i < 2 * (size_t)BAD_REPLIES; i++) {
        struct call_result result;
        uint64_t refused = 0;

        CU_ASSERT_EQUAL(call_twice(bad_replies[i / 2], i % 2 == 1, &result, &refused),
                        2);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_CORRUPT);
        CU_ASSERT_EQUAL(refused, 2);
        if (result.statuses[0] != CPT_CORRUPT) {
            (void)fprintf(stderr, "got %s for:\n%s\n",
                          cpt_status_name(result.statuses[0]), bad_replies[i / 2].data);
        }
    }
}

static void test_good_replies(void)
{
    static const struct text rows[] = {
        TEXT("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" GOOD),
        TEXT("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
             "HTTP/1.1 199 x\r\nContent-Length: 7\r\n\r\n" GOOD),
        TEXT(REPLY "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\ngo\r\n2 ;c\r\nod\r\n"
                   "0;d\r\nContent-Length: 1\r\n\r\n"),
        TEXT("HTTP/1.1 200\r\nContent-Length: 4\r\n\r\ngood"),
        TEXT(REPLY "Content-Length:\t4\t\r\n\r\ngood"),
        TEXT(REPLY "Transfer-Encoding: \tchunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n"),
    };

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        struct call_result result;
        uint64_t refused = 0;

        CU_ASSERT_EQUAL(call_twice(rows[i / 2], i % 2 == 1, &result, &refused), 1);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        CU_ASSERT_EQUAL(result.http_statuses[0], 200);
        CU_ASSERT_STRING_EQUAL(result.bodies[0], "good");
        CU_ASSERT_EQUAL(refused, 0);
    }
}

/* What has no body, but says that it has: if one follows, it is no other call's reply.
 * A plain one is fine. */
static void test_bodies_where_none_is(void)
{
    static const struct {
        struct text reply;
        unsigned connection_count;
    } rows[] = {
        {TEXT("HTTP/1.1 204 None\r\n\r\n"), 1},
        {TEXT("HTTP/1.1 204 None\r\nContent-Length: 0\r\n\r\n"), 1},
        {TEXT("HTTP/1.1 204 None\r\nContent-Length: 4\r\n\r\n"), 2},
        {TEXT("HTTP/1.1 204 None\r\nTransfer-Encoding: chunked\r\n\r\n"), 2},
        {TEXT("HTTP/1.1 304 Same\r\nContent-Length: 4\r\n\r\n"), 2},
    };

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        struct call_result result;
        uint64_t refused = 0;

        CU_ASSERT_EQUAL(call_twice(rows[i / 2].reply, i % 2 == 1, &result, &refused),
                        rows[i / 2].connection_count);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        CU_ASSERT_EQUAL(result.body_bytes[0], 0);
        CU_ASSERT_EQUAL(refused, 0);
    }
}

CU_TestInfo http_ambiguous_tests[] = {
    {"ambiguous requests are refused, and what they hide", test_bad_requests},
    {"the same byte by byte", test_bad_requests_in_pieces},
    {"requests with one meaning are taken", test_good_requests},
    {"a body is no second request, whatever the verb", test_verbs},
    {"extensions of chunks are limited", test_extension_limits},
    {"ambiguous replies fail their calls", test_bad_replies},
    {"interim replies are skipped", test_good_replies},
    {"replies that have no body, but a length", test_bodies_where_none_is},
    CU_TEST_INFO_NULL,
};
