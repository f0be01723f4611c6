/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_operators.c - health, readiness and counters, on a port of their own */
#include "http_suites.h"
#include "http_support.h"

#include <sys/socket.h>
#include <unistd.h>
#include <stdlib.h>

#define CLOSE "Connection: close\r\n\r\n"

struct operators {
    struct test_loop loop;
    struct test_service service;
    uint16_t port;
};

static void operators_start(struct operators *operators,
                            const struct cpt_http_options *options)
{
    test_loop_make(&operators->loop, options);
    test_service_make(&operators->service, &operators->loop, CPT_ROLE_ENTRY, -1, NULL);
    CU_ASSERT_EQUAL_FATAL(cpt_http_listen_operators(operators->loop.http,
                                                    operators->service.service, NULL, 0,
                                                    &operators->port, NULL),
                          CPT_OK);
    test_loop_start(&operators->loop);
}

static void operators_stop(struct operators *operators)
{
    CU_ASSERT_EQUAL(test_loop_stop(&operators->loop), CPT_OK);
    test_service_free(&operators->service);
}

/* The status of the answer, which is left in @reply; 0: none. */
static unsigned get(uint16_t port, const char *path, char *reply, size_t capacity)
{
    char request[256];
    unsigned status = 0;

    (void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: s\r\n" CLOSE,
                   path);
    raw_exchange(port, request, reply, capacity);
    (void)sscanf(reply, "HTTP/1.1 %3u", &status);
    return status;
}

static unsigned status_of(uint16_t port, const char *path)
{
    char reply[65536];

    return get(port, path, reply, sizeof(reply));
}

static void test_pages(void)
{
    char reply[65536];
    struct operators operators;

    operators_start(&operators, NULL);
    CU_ASSERT_EQUAL(status_of(operators.port, "/healthz"), 200);
    CU_ASSERT_EQUAL(status_of(operators.port, "/readyz"), 200);
    CU_ASSERT_EQUAL(status_of(operators.port, "/hello"), 404);
    CU_ASSERT_EQUAL(status_of(operators.service.port, "/hello"), 200);
    CU_ASSERT_EQUAL(get(operators.port, "/cpt/counters", reply, sizeof(reply)), 200);
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "{\"name\":\"requests\",\"value\":1,"));
    CU_ASSERT_EQUAL(get(operators.port, "/metrics", reply, sizeof(reply)), 200);
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "cpt_requests_total{service=\"S\"} 1\n"));
    /* Without the options the port of the service has none of it. */
    CU_ASSERT_EQUAL(status_of(operators.service.port, "/healthz"), 404);
    CU_ASSERT_EQUAL(status_of(operators.service.port, "/metrics"), 404);
    CU_ASSERT_EQUAL(status_of(operators.service.port, "/cpt/counters"), 404);
    raw_exchange(operators.port, "HEAD /healthz HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
                 sizeof(reply));
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
    CU_ASSERT_PTR_NULL(strstr(reply, "alive"));
    operators_stop(&operators);
}

static void test_set_ready(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .serves_health = 1};
    struct operators operators;

    operators_start(&operators, &options);
    cpt_http_set_ready(operators.loop.http, 0);
    CU_ASSERT_EQUAL(status_of(operators.port, "/readyz"), 503);
    CU_ASSERT_EQUAL(status_of(operators.service.port, "/readyz"), 503);
    CU_ASSERT_EQUAL(status_of(operators.service.port, "/healthz"), 200);
    cpt_http_set_ready(operators.loop.http, 1);
    CU_ASSERT_EQUAL(status_of(operators.service.port, "/readyz"), 200);
    CU_ASSERT_EQUAL(status_of(operators.service.port, "/metrics"), 404);
    operators_stop(&operators);
}

/* Stopped, it is not ready at first, but takes new connections; only then it drains. */
static void test_falls_before_the_drain(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .unready_ns = 3600 * 1000 * MS};
    struct operators operators;

    operators_start(&operators, &options);
    CU_ASSERT_EQUAL(status_of(operators.port, "/readyz"), 200);
    cpt_http_stop(operators.loop.http);
    while (status_of(operators.port, "/readyz") == 200) {
    }
    CU_ASSERT_EQUAL(status_of(operators.port, "/readyz"), 503);
    CU_ASSERT_EQUAL(status_of(operators.port, "/healthz"), 200);
    CU_ASSERT_EQUAL(status_of(operators.service.port, "/hello"), 200);
    operators_stop(&operators); /* stops it again: does not wait for an hour */
}

/* While a request is drained, operators are answered. */
static void test_answers_while_draining(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .drain_ns = 3600 * 1000 * MS};
    char reply[4096];
    struct operators operators;
    int descriptor = -1;

    operators_start(&operators, &options);
    descriptor = raw_connect(operators.service.port);
    raw_write(descriptor, "GET /stuck HTTP/1.1\r\nHost: s\r\n" CLOSE);
    while (atomic_load(&operators.service.stuck) == NULL) {
        test_sleep_ns(MS);
    }
    cpt_http_stop(operators.loop.http);
    while (status_of(operators.port, "/readyz") == 200) {
    }
    CU_ASSERT_EQUAL(status_of(operators.port, "/readyz"), 503);
    cpt_complete(atomic_load(&operators.service.stuck), CPT_OK);
    (void)raw_read(descriptor, reply, sizeof(reply), NULL);
    (void)close(descriptor);
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
    operators_stop(&operators);
}

/* --- Attacks --- */

enum { FLOOD = 200, OPERATORS_MAX = 64 };

/* Many connections that say nothing, or half of a head: health is answered all the
 * same, and they are no clients of the service. */
static void test_flood(void)
{
    const struct cpt_http_options options = {
        .struct_bytes = sizeof(options),
        .accepted_count_max = 4,
        .header_ns = 3600 * 1000 * MS,
    };
    struct operators operators;
    int descriptors[FLOOD];

    operators_start(&operators, &options);
    for (int i = 0; i < FLOOD; i++) {
        descriptors[i] = raw_connect(operators.port);
        if (i % 2 != 0 && descriptors[i] >= 0) {
            raw_write(descriptors[i], "GET /healthz HTTP/1.1\r\nHo");
        }
    }
    CU_ASSERT_EQUAL(status_of(operators.port, "/healthz"), 200);
    CU_ASSERT_EQUAL(status_of(operators.port, "/metrics"), 200);
    CU_ASSERT_EQUAL(status_of(operators.service.port, "/hello"), 200);
    CU_ASSERT_EQUAL(test_counter(&operators.loop, "http_accepts_paused"), 0);
    CU_ASSERT_TRUE(test_counter(&operators.loop, "http_connections") <= 1);
    CU_ASSERT_TRUE(test_counter(&operators.loop, "http_cut_clients") >=
                   FLOOD - OPERATORS_MAX);
    for (int i = 0; i < FLOOD; i++) {
        (void)close(descriptors[i]);
    }
    operators_stop(&operators);
}

/* There is nothing to send there: large bodies are refused by their length. */
static void test_large_bodies(void)
{
    char reply[4096];
    struct operators operators;

    operators_start(&operators, NULL);
    raw_exchange(operators.port,
                 "POST /metrics HTTP/1.1\r\nHost: s\r\nContent-Length: 65537\r\n\r\n",
                 reply, sizeof(reply));
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 413 ", 13), 0);
    raw_exchange(operators.port,
                 "POST /none HTTP/1.1\r\nHost: s\r\nContent-Length: 3\r\n" CLOSE "abc",
                 reply, sizeof(reply));
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 404 ", 13), 0);
    operators_stop(&operators);
}

static void test_hostile_requests(void)
{
    static const char *const requests[][2] = {
        {"GET /metrics/../cpt/counters HTTP/1.1\r\nHost: s\r\n" CLOSE, "404"},
        {"GET /cpt/counters%00 HTTP/1.1\r\nHost: s\r\n" CLOSE, "404"},
        {"GET http://other/healthz HTTP/1.1\r\nHost: s\r\n" CLOSE, "200"},
        {"GET * HTTP/1.1\r\nHost: s\r\n" CLOSE, "404"},
        {"GET metrics HTTP/1.1\r\nHost: s\r\n" CLOSE, "400"},
        {"GET //healthz HTTP/1.1\r\nHost: s\r\n" CLOSE, "404"},
        {"GET /metrics HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n"
         "Transfer-Encoding: chunked\r\n\r\n",
         "400"},
        {"CONNECT s:1 HTTP/1.1\r\nHost: s\r\n\r\n", "501"},
    };
    char reply[65536];
    struct operators operators;

    operators_start(&operators, NULL);
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        raw_exchange(operators.port, requests[i][0], reply, sizeof(reply));
        CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 ", 9), 0);
        if (strncmp(reply + 9, requests[i][1], 3) != 0) {
            (void)fprintf(stderr, "%s is answered %.12s\n", requests[i][0], reply);
            CU_FAIL("another status");
        }
    }
    CU_ASSERT_EQUAL(status_of(operators.port, "/healthz"), 200);
    operators_stop(&operators);
}

/* Whether @reply is whole: as long as it says. */
static bool is_whole(const char *reply)
{
    const char *length = strstr(reply, "\r\nContent-Length: ");
    const char *body = strstr(reply, "\r\n\r\n");

    return length != NULL && body != NULL &&
           strtoul(length + 18, NULL, 10) == strlen(body + 4);
}

static atomic_uint scraped_count;
static atomic_uint broken_count;

/* Reads metrics until nothing listens any more. */
static void *scrape(void *context)
{
    const uint16_t port = *(const uint16_t *)context;
    char *reply = malloc(1 << 18);
    int descriptor = -1;

    while ((descriptor = raw_connect(port)) >= 0) {
        (void)send(descriptor, "GET /metrics HTTP/1.1\r\nHost: s\r\n" CLOSE,
                   strlen("GET /metrics HTTP/1.1\r\nHost: s\r\n" CLOSE), MSG_NOSIGNAL);
        (void)raw_read(descriptor, reply, 1 << 18, NULL);
        (void)close(descriptor);
        if (reply[0] != '\0' && !is_whole(reply)) {
            (void)atomic_fetch_add(&broken_count, 1);
        }
        (void)atomic_fetch_add(&scraped_count, reply[0] != '\0');
    }
    free(reply);
    return NULL;
}

/* The loop stops while metrics are read: what is answered is whole. */
static void test_scraped_while_stopping(void)
{
    enum { SCRAPERS = 4, ROUNDS = 5 };

    for (int round = 0; round < ROUNDS; round++) {
        struct operators operators;
        pthread_t threads[SCRAPERS];

        atomic_store(&scraped_count, 0);
        atomic_store(&broken_count, 0);
        operators_start(&operators, NULL);
        for (int i = 0; i < SCRAPERS; i++) {
            (void)pthread_create(&threads[i], NULL, scrape, &operators.port);
        }
        while (atomic_load(&scraped_count) < 3 * SCRAPERS) {
            test_sleep_ns(MS);
        }
        operators_stop(&operators);
        for (int i = 0; i < SCRAPERS; i++) {
            (void)pthread_join(threads[i], NULL);
        }
        CU_ASSERT_EQUAL(atomic_load(&broken_count), 0);
    }
}

CU_TestInfo http_operators_tests[] = {
    {"the port of operators has health, readiness and counters", test_pages},
    {"the application says whether it is ready", test_set_ready},
    {"readiness falls before the drain", test_falls_before_the_drain},
    {"operators are answered until the drain is over", test_answers_while_draining},
    {"many connections to the port of operators, and slow ones", test_flood},
    {"large bodies there", test_large_bodies},
    {"hostile requests there", test_hostile_requests},
    {"metrics that are read while the loop stops", test_scraped_while_stopping},
    CU_TEST_INFO_NULL,
};
