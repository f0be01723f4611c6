/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_operators.c - health, readiness and counters, on a port of their own */
#include "http_suites.h"
#include "http_support.h"

#include <sys/socket.h>
#include <unistd.h>

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

CU_TestInfo http_operators_tests[] = {
    {"the port of operators has health, readiness and counters", test_pages},
    {"the application says whether it is ready", test_set_ready},
    {"readiness falls before the drain", test_falls_before_the_drain},
    {"operators are answered until the drain is over", test_answers_while_draining},
    CU_TEST_INFO_NULL,
};
