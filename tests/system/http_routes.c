/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_routes.c - verbs, parameters, headers and cookies over a real connection */
#include "http_suites.h"
#include "http_support.h"
#include "wire/forwarding-headers.made.h"

#include <sys/socket.h>
#include <unistd.h>

#define CLOSE "Connection: close\r\n\r\n"

/* Answers "GET /users/{id}?q=": what it read; and headers, one of which may not be
 * sent. */
static cpt_status show_user(struct cpt_task *task)
{
    static const struct cpt_field bad[] = {
        {{"X-Good", 6}, {"1", 1}},
        {{"X-Bad", 5}, {"1\r\nSet-Cookie: admin=1", 23}},
        {{"Transfer-Encoding", 17}, {"chunked", 7}},
    };
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    const struct cpt_bytes id = cpt_rpc_parameter(request, "id");
    const struct cpt_bytes agent = cpt_rpc_header(request, "user-agent");
    const struct cpt_bytes session = cpt_rpc_cookie(request, "session");
    struct cpt_cookie cookie = {.struct_bytes = sizeof(cookie), .name = "seen"};
    struct cpt_bytes q;
    char *text = cpt_task_memory(task, 256);

    if (text == NULL || cpt_rpc_query(task, request, "q", &q) != CPT_OK) {
        return CPT_INVALID;
    }
    (void)snprintf(text, 256, "%.*s %.*s q=%.*s agent=%.*s session=%.*s",
                   (int)request->verb.bytes, request->verb.data, (int)id.bytes, id.data,
                   (int)q.bytes, q.data, (int)agent.bytes, agent.data,
                   (int)session.bytes, session.data);
    reply->body = cpt_bytes_of(text);
    reply->headers = bad;
    reply->header_count = 3;
    (void)cpt_rpc_reply_header(task, reply, "X-User", id);
    cookie.value = cpt_bytes_of("1");
    return cpt_rpc_reply_cookie(task, reply, &cookie);
}

static cpt_status take_user(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);

    reply->body = request->body;
    return CPT_OK;
}

struct routes {
    struct test_loop loop;
    struct cpt_service *service;
    struct cpt_plan *plans[2];
    struct cpt_executor *pool; /* or NULL: its tasks run on the loop */
    uint16_t port;
};

static const struct cpt_task_def show_row[] = {
    {"show", show_user, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_task_def take_row[] = {
    {"take", take_user, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph graphs[] = {
    {"S", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), show_row, 1},
    {"S", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), take_row, 1}};

static void routes_start_on(struct routes *routes, struct cpt_executor *pool)
{
    static const char *const names[] = {"GET /users/{id}", "PUT /users/{id}"};
    struct cpt_service_options options = {.struct_bytes = sizeof(options), .name = "S"};

    test_loop_make(&routes->loop, NULL);
    routes->pool = pool;
    options.executor = pool != NULL ? pool : cpt_http_executor(routes->loop.http);
    routes->service = cpt_service_new(&options, NULL);
    for (size_t i = 0; i < 2; i++) {
        routes->plans[i] = cpt_plan_new(&graphs[i], NULL, NULL);
        CU_ASSERT_EQUAL_FATAL(
            cpt_service_method_add(routes->service, names[i], routes->plans[i], NULL),
            CPT_OK);
    }
    CU_ASSERT_EQUAL_FATAL(cpt_http_listen(routes->loop.http, routes->service, NULL, 0,
                                          &routes->port, NULL),
                          CPT_OK);
    test_loop_start(&routes->loop);
}

static void routes_start(struct routes *routes)
{
    routes_start_on(routes, NULL);
}

static void routes_stop(struct routes *routes)
{
    CU_ASSERT_EQUAL(test_loop_stop(&routes->loop), CPT_OK);
    cpt_pool_free(routes->pool);
    cpt_service_free(routes->service);
    cpt_plan_free(routes->plans[0]);
    cpt_plan_free(routes->plans[1]);
}

static void test_read(void)
{
    struct routes routes;
    char reply[4096];

    routes_start(&routes);
    raw_exchange(
        routes.port,
        "GET /users/a%20b?x=1&q=c%26d+e HTTP/1.1\r\nHost: s\r\nUser-Agent: test\r\n"
        "Cookie: a=b; session=\"s 1\"\r\n" CLOSE,
        reply, sizeof(reply));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(reply, "\r\n\r\nGET a b q=c&d e agent=test session=s 1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\nX-User: a b\r\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(reply, "\r\nSet-Cookie: seen=1; Path=/; SameSite=Lax; HttpOnly; "
                      "Secure\r\n"));
    raw_exchange(routes.port,
                 "PUT /users/7 HTTP/1.1\r\nHost: s\r\nContent-Length: 3\r\n" CLOSE
                 "you",
                 reply, sizeof(reply));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\n\r\nyou"));
    raw_exchange(routes.port, "GET /users/%zz HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
                 sizeof(reply));
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 400 ", 13), 0);
    raw_exchange(routes.port, "DELETE /users/7 HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
                 sizeof(reply));
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 405 ", 13), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\nAllow: GET, HEAD, PUT, OPTIONS\r\n"));
    routes_stop(&routes);
}

/* A pool's thread replies; the request's memory is another's when the loop sends. */
static void test_headers_of_pool(void)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof(options),
                                             .worker_count = 2};
    struct routes routes;
    char request[128];
    char wanted[64];
    char reply[4096];

    routes_start_on(&routes, cpt_pool_new(&options, NULL));
    for (unsigned i = 0; i < 200; i++) {
        (void)snprintf(request, sizeof(request),
                       "GET /users/u%u HTTP/1.1\r\nHost: s\r\n" CLOSE, i);
        (void)snprintf(wanted, sizeof(wanted), "\r\nX-User: u%u\r\n", i);
        raw_exchange(routes.port, request, reply, sizeof(reply));
        CU_ASSERT_PTR_NOT_NULL(strstr(reply, wanted));
        CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\nX-Good: 1\r\n"));
        CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\nSet-Cookie: seen=1; "));
        CU_ASSERT_PTR_NULL(strstr(reply, "admin"));
    }
    CU_ASSERT_EQUAL(test_counter(&routes.loop, "http_headers_refused"), 400);
    routes_stop(&routes);
}

/* What a client sent, or a method made up, is no header of its own. */
static void test_injected(void)
{
    struct routes routes;
    char reply[4096];

    routes_start(&routes);
    raw_exchange(
        routes.port,
        "GET /users/a%0d%0aSet-Cookie:%20admin=1 HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
        sizeof(reply));
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\nX-Good: 1\r\n"));
    CU_ASSERT_PTR_NULL(strstr(reply, "X-Bad"));
    CU_ASSERT_PTR_NULL(strstr(reply, "X-User"));
    CU_ASSERT_PTR_NULL(strstr(reply, "chunked"));
    CU_ASSERT_EQUAL(test_counter(&routes.loop, "http_headers_refused"), 2);
    routes_stop(&routes);
}

/* HEAD has the headers of GET, also its length, and no body; then the connection has
 * the next reply. */
static void test_head(void)
{
    struct routes routes;
    char reply[4096];
    int descriptor = -1;

    routes_start(&routes);
    descriptor = raw_connect(routes.port);
    raw_write(descriptor, "HEAD /users/7 HTTP/1.1\r\nHost: s\r\n\r\n"
                          "HEAD /none HTTP/1.1\r\nHost: s\r\n\r\n"
                          "OPTIONS /users/7 HTTP/1.1\r\nHost: s\r\n" CLOSE);
    (void)raw_read(descriptor, reply, sizeof(reply), NULL);
    (void)close(descriptor);
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\nContent-Length: 25\r\n"));
    CU_ASSERT_PTR_NULL(strstr(reply, "HEAD 7"));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\n\r\nHTTP/1.1 404 "));
    CU_ASSERT_PTR_NULL(strstr(reply, "no such"));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\n\r\nHTTP/1.1 204 "));
    raw_exchange(routes.port, "HEAD /users/7 HTTP/1.1\r\nHost: s\r\nHost: s\r\n\r\n",
                 reply, sizeof(reply));
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 400 ", 13), 0);
    CU_ASSERT_STRING_EQUAL(strstr(reply, "\r\n\r\n"), "\r\n\r\n");
    routes_stop(&routes);
}

/* Who stands behind the sender: such a header is a proxy's. The whole list is tried. */
static void test_forwarded(void)
{
#define NAME_yes(name) name,
#define NAME_no(name)
#define NAME_(verdict, name) NAME_##verdict(name)
    static const char *const names[] = {CPTI_FORWARDING_EXAMPLES(NAME_)};
    char request[512];
    char reply[8192];
    struct test_loop loop;
    struct test_service service;

    test_loop_make(&loop, NULL);
    test_service_make(&service, &loop, CPT_ROLE_ENTRY, -1, NULL);
    test_loop_start(&loop);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(request, sizeof(request),
                       "GET /hello HTTP/1.1\r\nHost: s\r\ncritical-path: 1\r\n"
                       "%s: 10.0.0.1\r\nConnection: close\r\n\r\n",
                       names[i]);
        raw_exchange(service.port, request, reply, sizeof(reply));
        CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
        CU_ASSERT_PTR_NULL(strstr(reply, "critical-path-bin"));
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    test_service_free(&service);
}

CU_TestInfo http_routes_tests[] = {
    {"a method reads verb, parameters, query, headers and cookies", test_read},
    {"headers of a reply that a pool's thread gives", test_headers_of_pool},
    {"no header is sent that was injected", test_injected},
    {"HEAD has the headers of GET, and no body", test_head},
    {"headers that say that a proxy has forwarded it", test_forwarded},
    CU_TEST_INFO_NULL,
};
