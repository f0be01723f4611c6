/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_route.c - which method takes a request, what it reads of it, what it may send */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "framework/cpt_rpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTES_MAX = 24, BODY_BYTES = 512 };

/* A service whose methods say their name, and what they read. */
struct routes {
    struct cpt_service *service;
    struct cpt_task_def rows[ROUTES_MAX];
    struct cpt_graph graphs[ROUTES_MAX];
    struct cpt_plan *plans[ROUTES_MAX];
    size_t count;
};

static struct {
    unsigned http_status;
    char body[BODY_BYTES];
    char headers[2 * BODY_BYTES]; /* "Name: value|" of those that may be sent */
} got;

/* What the next request asks the method to do; NULL: nothing. */
static void (*extra)(struct cpt_task *task, const struct cpt_rpc_request *request,
                     struct cpt_rpc_reply *reply, char *body);

static void add_text(char *body, const char *name, struct cpt_bytes value)
{
    const size_t bytes = strlen(body);

    (void)snprintf(body + bytes, BODY_BYTES - bytes, " %s=%.*s", name,
                   value.data != NULL ? (int)value.bytes : 4,
                   value.data != NULL ? value.data : "none");
}

static cpt_status answer(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    char *body = cpt_task_memory(task, BODY_BYTES);
    char name[64];

    if (body == NULL) {
        return CPT_LIMIT;
    }
    (void)snprintf(body, BODY_BYTES, "%s", (const char *)cpt_task_context(task));
    for (size_t i = 0; i < request->parameter_count; i++) {
        (void)snprintf(name, sizeof name, "%.*s",
                       (int)request->parameters[i].name.bytes,
                       request->parameters[i].name.data);
        add_text(body, name, cpt_rpc_parameter(request, name));
    }
    if (extra != NULL) {
        extra(task, request, reply, body);
    }
    reply->body = cpt_bytes_of(body);
    return CPT_OK;
}

static void open_routes(struct routes *routes, const struct cpt_alloc *alloc)
{
    const struct cpt_service_options options = {
        .struct_bytes = sizeof options, .alloc = alloc, .name = "A", .probability = -1};

    memset(routes, 0, sizeof *routes);
    routes->service = cpt_service_new(&options, NULL);
}

static cpt_status add_route(struct routes *routes, const char *name)
{
    struct cpt_task_def *row = &routes->rows[routes->count];
    struct cpt_graph *graph = &routes->graphs[routes->count];
    cpt_status status = CPT_OK;

    *row = (struct cpt_task_def){.name = "answer",
                                 .run = answer,
                                 .gives = CPT_GIVES(rpc_reply),
                                 CPT_NEEDS(rpc_request),
                                 .context = (void *)(uintptr_t)name};
    *graph =
        (struct cpt_graph){"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), row, 1};
    routes->plans[routes->count] = cpt_plan_new(graph, NULL, NULL);
    status = cpt_service_method_add(routes->service, name, routes->plans[routes->count],
                                    NULL);
    if (status == CPT_OK) {
        routes->count++;
    } else {
        cpt_plan_free(routes->plans[routes->count]);
    }
    return status;
}

static void close_routes(struct routes *routes)
{
    cpt_service_free(routes->service);
    for (size_t i = 0; i < routes->count; i++) {
        cpt_plan_free(routes->plans[i]);
    }
}

static void keep(void *context, const struct cpt_outbound *outbound)
{
    size_t bytes = 0;

    (void)context;
    got.http_status = outbound->http_status;
    (void)snprintf(got.body, sizeof got.body, "%.*s", (int)outbound->body.bytes,
                   outbound->body.data != NULL ? outbound->body.data : "");
    got.headers[0] = '\0';
    for (size_t i = 0; i < outbound->header_count; i++) {
        const struct cpt_field *field = &outbound->headers[i];

        CU_ASSERT_TRUE(cpt_field_is_sendable(field));
        (void)snprintf(got.headers + bytes, sizeof got.headers - bytes, "%.*s: %.*s|",
                       (int)field->name.bytes, field->name.data,
                       (int)field->value.bytes, field->value.data);
        bytes = strlen(got.headers);
    }
}

static void ask_with(const struct routes *routes, struct cpt_inbound inbound)
{
    got.http_status = 0;
    cpt_service_serve(routes->service, &inbound, keep, NULL);
}

static void ask(const struct routes *routes, const char *verb, const char *path)
{
    const struct cpt_inbound inbound = {.method = cpt_bytes_of(path),
                                        .verb = cpt_bytes_of(verb)};

    ask_with(routes, inbound);
}

static uint64_t refused_count;

static void visit_refused(void *context, const struct cpt_counter *counter)
{
    if (strcmp(counter->name, context) == 0) {
        refused_count = counter->value;
    }
}

static uint64_t count_of(const struct routes *routes, const char *name)
{
    refused_count = UINT64_MAX;
    cpt_service_counters(routes->service, visit_refused, (void *)(uintptr_t)name);
    return refused_count;
}

/* --- Which method --- */

static const char *const names[] = {
    "*",
    "/users/{id}",
    "GET /users/me",
    "GET /users/{id}/posts/{post}",
    "GET /users/{id}/{what}",
    "GET /users/me/{what}",
    "PUT /files/{name...}",
    "GET /files/{name...}",
    "DELETE /files/{name}",
    "/plain",
    "PATCH /plain",
    "GET /",
};

static void open_names(struct routes *routes, size_t first)
{
    const size_t count = sizeof names / sizeof names[0];

    open_routes(routes, NULL);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(add_route(routes, names[(first + i) % count]), CPT_OK);
    }
}

static void test_most_specific(void)
{
    static const struct {
        const char *verb;
        const char *path;
        const char *body;
    } rows[] = {
        {"GET", "/", "GET /"},
        {"HEAD", "/", "GET /"},
        {"GET", "/plain", "/plain"},
        {"POST", "/plain", "/plain"},
        {"HEAD", "/plain", "/plain"},
        {"PATCH", "/plain", "PATCH /plain"},
        {"", "/plain", "PATCH /plain"},
        {"GET", "/users/me", "GET /users/me"},
        {"POST", "/users/me", "/users/{id} id=me"},
        {"GET", "/users/17", "/users/{id} id=17"},
        {"GET", "/users/me/posts", "GET /users/me/{what} what=posts"},
        {"GET", "/users/7/posts", "GET /users/{id}/{what} id=7 what=posts"},
        {"GET", "/users/7/posts/8", "GET /users/{id}/posts/{post} id=7 post=8"},
        {"GET", "/files/a/b/", "GET /files/{name...} name=a/b/"},
        {"PUT", "/files/a", "PUT /files/{name...} name=a"},
        {"PUT", "/files/", "PUT /files/{name...} name="},
        {"DELETE", "/files/a", "DELETE /files/{name} name=a"},
        {"GET", "/users/", "*"}, /* a parameter is not empty */
        {"GET", "/users", "*"},
        {"GET", "/users/7/", "*"},
        {"POST", "/users/7/posts/8", "*"},
        {"GET", "/plain/", "*"},
        {"GET", "/Plain", "*"},
        {"GET", "relative", "*"},
        {"GET", "", "*"},
    };

    for (size_t first = 0; first < sizeof names / sizeof names[0]; first++) {
        struct routes routes;

        open_names(&routes, first);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            ask(&routes, rows[i].verb, rows[i].path);
            CU_ASSERT_EQUAL(got.http_status, 200);
            CU_ASSERT_STRING_EQUAL(got.body, rows[i].body);
        }
        close_routes(&routes);
    }
}

static void test_other_verbs(void)
{
    struct routes routes;

    open_routes(&routes, NULL);
    CU_ASSERT_EQUAL(add_route(&routes, "GET /users/{id}"), CPT_OK);
    CU_ASSERT_EQUAL(add_route(&routes, "DELETE /users/{id}"), CPT_OK);
    CU_ASSERT_EQUAL(add_route(&routes, "PUT /users/me"), CPT_OK);
    CU_ASSERT_EQUAL(add_route(&routes, "/plain"), CPT_OK);
    ask(&routes, "POST", "/users/7");
    CU_ASSERT_EQUAL(got.http_status, 405);
    CU_ASSERT_STRING_EQUAL(got.headers, "Allow: GET, HEAD, DELETE, OPTIONS|");
    ask(&routes, "POST", "/users/me");
    CU_ASSERT_EQUAL(got.http_status, 405);
    CU_ASSERT_STRING_EQUAL(got.headers, "Allow: PUT, GET, HEAD, DELETE, OPTIONS|");
    ask(&routes, "BREW", "/plain");
    CU_ASSERT_EQUAL(got.http_status, 405);
    CU_ASSERT_STRING_EQUAL(got.headers, "Allow: GET, HEAD, POST, OPTIONS|");
    CU_ASSERT_EQUAL(count_of(&routes, "refused_verbs"), 3);
    ask(&routes, "OPTIONS", "/users/7");
    CU_ASSERT_EQUAL(got.http_status, 204);
    CU_ASSERT_STRING_EQUAL(got.headers, "Allow: GET, HEAD, DELETE, OPTIONS|");
    ask(&routes, "OPTIONS", "/none");
    CU_ASSERT_EQUAL(got.http_status, 404);
    ask(&routes, "GET", "/none");
    CU_ASSERT_EQUAL(got.http_status, 404);
    CU_ASSERT_STRING_EQUAL(got.headers, "");
    CU_ASSERT_EQUAL(count_of(&routes, "unknown_methods"), 2);
    close_routes(&routes);
}

static void test_bad_names(void)
{
    static const char *const bad[] = {
        "/a/{}",       "/a/{x",         "/a/x}",       "/a/b{x}",       "/a/{x}b",
        "/{x}/{x}",    "/{x...}/b",     "/{...}",      "/{x..}",        "/{x y}",
        "/{x}/{x...}", "/{\xc3\xa4}",   "/{long}/{lo", "GET /a/{x}{y}", "/{a/b}",
        "GET /u/{id}", "GET /u/{name}", "GET /plain",
    };
    char deep[256];
    struct routes routes;

    open_routes(&routes, NULL);
    CU_ASSERT_EQUAL(add_route(&routes, "GET /u/{any}"), CPT_OK);
    CU_ASSERT_EQUAL(add_route(&routes, "GET /plain"), CPT_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CU_ASSERT_EQUAL(add_route(&routes, bad[i]), CPT_INVALID);
    }
    for (unsigned depth = 15; depth <= 17; depth++) { /* CPT_PARAMETERS_MAX is 16 */
        deep[0] = '\0';
        for (unsigned i = 0; i < depth; i++) {
            (void)snprintf(deep + strlen(deep), 8, "/{p%u}", i % 100);
        }
        CU_ASSERT_EQUAL(add_route(&routes, deep), depth <= 16 ? CPT_OK : CPT_LIMIT);
    }
    /* What was a name before is one still. */
    CU_ASSERT_EQUAL(add_route(&routes, "look up"), CPT_OK);
    CU_ASSERT_EQUAL(add_route(&routes, "GET"), CPT_OK);
    CU_ASSERT_EQUAL(add_route(&routes, "Lookup{x"), CPT_OK);
    ask(&routes, "", "look up");
    CU_ASSERT_STRING_EQUAL(got.body, "look up");
    ask(&routes, "POST", "Lookup{x");
    CU_ASSERT_STRING_EQUAL(got.body, "Lookup{x");
    close_routes(&routes);
}

/* --- Against a model: every route is tried, the best one is kept --- */

enum { MODEL_PARTS = 4 };

static size_t split(const char *path, char parts[MODEL_PARTS][16])
{
    size_t count = 0;

    while (*path == '/' && count < MODEL_PARTS) {
        const size_t bytes = strcspn(path + 1, "/");

        (void)snprintf(parts[count++], 16, "%.*s", (int)bytes, path + 1);
        path += 1 + bytes;
    }
    return count;
}

/* "0" for a literal, "1" for a parameter, "2" for the rest, by segment; "" if @path is
 * not of @route. The least of these words is the best route. */
static void model_match(const char *route, const char *path, char word[8])
{
    char own[MODEL_PARTS][16];
    char parts[MODEL_PARTS][16];
    const size_t own_count = split(route, own);
    const size_t count = split(path, parts);
    size_t i = 0;

    word[0] = '\0';
    for (; i < own_count && i < count; i++) {
        if (strstr(own[i], "...") != NULL) {
            word[i] = '2';
            word[i + 1] = '\0';
            return;
        }
        if (own[i][0] == '{' ? parts[i][0] == '\0' : strcmp(own[i], parts[i]) != 0) {
            word[0] = '\0';
            return;
        }
        word[i] = own[i][0] == '{' ? '1' : '0';
        word[i + 1] = '\0';
    }
    if (own_count != count) {
        word[0] = '\0';
    }
}

static void random_path(struct test_random *random, bool is_route, char *path)
{
    const unsigned count = 1 + (unsigned)test_random_below(random, MODEL_PARTS - 1);

    path[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        char *end = path + strlen(path);

        if (is_route && i + 1 == count && test_random_chance(random, 15)) {
            (void)snprintf(end, 16, "/{r...}");
        } else if (is_route && test_random_chance(random, 40)) {
            (void)snprintf(end, 16, "/{p%u}", i);
        } else {
            static const char *const words[] = {"a", "b", "aa", ""};

            (void)snprintf(end, 16, "/%s",
                           words[test_random_below(random, is_route ? 3 : 4)]);
        }
    }
}

static void random_case(struct test_random *random)
{
    char own[ROUTES_MAX][64];
    struct routes routes;

    open_routes(&routes, NULL);
    for (unsigned i = 0; i < 10; i++) {
        random_path(random, true, own[routes.count]);
        (void)add_route(&routes, own[routes.count]); /* or it was there before */
    }
    for (unsigned i = 0; i < 20; i++) {
        char path[64];
        char best[8] = "3";
        const char *name = NULL;

        random_path(random, false, path);
        for (size_t k = 0; k < routes.count; k++) {
            char word[8];

            model_match(own[k], path, word);
            if (word[0] != '\0' && strcmp(word, best) < 0) {
                memcpy(best, word, sizeof best);
                name = own[k];
            }
        }
        ask(&routes, "GET", path);
        CU_ASSERT_EQUAL(got.http_status, name != NULL ? 200 : 404);
        got.body[strcspn(got.body, " ")] = '\0';
        if (name != NULL && strcmp(got.body, name) != 0) {
            (void)fprintf(stderr, "%s: %s, not %s\n", path, got.body, name);
            CU_FAIL("another route");
        }
    }
    close_routes(&routes);
}

static void test_random_routes(void)
{
    const uint64_t seed = test_random_seed("routes");
    const uint64_t cases = test_environment_number("CPT_TEST_CASES", 1000);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};

        random_case(&random);
    }
}

/* --- What a client sends --- */

static void test_encoded_parameters(void)
{
    static const struct {
        const char *path;
        const char *body; /* NULL: 400 */
    } rows[] = {
        {"/u/a%20b", "GET /u/{x} x=a b"},
        {"/u/a+b", "GET /u/{x} x=a+b"},
        {"/u/%2e%2E%2fetc", "GET /u/{x} x=../etc"},
        {"/u/%E2%82%AC", "GET /u/{x} x=\xe2\x82\xac"},
        {"/u/%0d%0aX", "GET /u/{x} x=\r\nX"},
        {"/u/%00", NULL},
        {"/u/a%", NULL},
        {"/u/a%4", NULL},
        {"/u/%4g", NULL},
        {"/u/%%41", NULL},
    };
    struct routes routes;

    open_routes(&routes, NULL);
    CU_ASSERT_EQUAL(add_route(&routes, "GET /u/{x}"), CPT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ask(&routes, "GET", rows[i].path);
        CU_ASSERT_EQUAL(got.http_status, rows[i].body != NULL ? 200 : 400);
        CU_ASSERT_STRING_EQUAL(
            got.body, rows[i].body != NULL ? rows[i].body : "the path is malformed\n");
    }
    CU_ASSERT_EQUAL(count_of(&routes, "refused_paths"), 5);
    ask(&routes, "GET", "/%75/x"); /* literals are compared as they came */
    CU_ASSERT_EQUAL(got.http_status, 404);
    close_routes(&routes);
}

static void read_query(struct cpt_task *task, const struct cpt_rpc_request *request,
                       struct cpt_rpc_reply *reply, char *body)
{
    struct cpt_bytes value;
    struct cpt_field field;
    size_t position = 0;

    if (cpt_rpc_query(task, request, "q", &value) != CPT_OK) {
        reply->outcome = CPT_OUTCOME_INVALID_ARGUMENT;
        return;
    }
    add_text(body, "q", value);
    while (cpt_rpc_query_next(task, request, &position, &field) == CPT_OK &&
           field.name.data != NULL) {
        add_text(body, "", field.name);
        add_text(body, "", field.value);
    }
}

/* Over HTTP no NUL comes; another transport might let one through. */
static void test_query_with_nul(const struct routes *routes)
{
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/q"),
                                        .query = {"q=a\0b", 5}};

    ask_with(routes, inbound);
    CU_ASSERT_EQUAL(got.http_status, 400);
}

static void test_query(void)
{
    static const struct {
        const char *query;
        const char *body; /* NULL: 400 */
    } rows[] = {
        {"", "/q q=none"},
        {"q=1", "/q q=1 =q =1"},
        {"q", "/q q= =q ="},
        {"q=", "/q q= =q ="},
        {"=q", "/q q=none = =q"},
        {"a=1&q=2&q=3", "/q q=2 =a =1 =q =2 =q =3"},
        {"&&q=x%26y+z%3d&", "/q q=x&y z= =q =x&y z="},
        {"%71=1", "/q q=1 =q =1"},
        {"qq=1&Q=2", "/q q=none =qq =1 =Q =2"},
        {"q=a=b", "/q q=a=b =q =a=b"},
        {"q=%", NULL},
        {"q=%00", NULL},
        {"a=%&q=1", "/q q=1"}, /* what the method asks for is fine */
    };
    struct routes routes;

    open_routes(&routes, NULL);
    CU_ASSERT_EQUAL(add_route(&routes, "/q"), CPT_OK);
    extra = read_query;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct cpt_inbound inbound = {.method = cpt_bytes_of("/q"),
                                            .query = cpt_bytes_of(rows[i].query)};

        ask_with(&routes, inbound);
        CU_ASSERT_EQUAL(got.http_status, rows[i].body != NULL ? 200 : 400);
        CU_ASSERT_STRING_EQUAL(got.body, rows[i].body != NULL ? rows[i].body : "/q");
    }
    test_query_with_nul(&routes);
    extra = NULL;
    close_routes(&routes);
}

static void read_headers(struct cpt_task *task, const struct cpt_rpc_request *request,
                         struct cpt_rpc_reply *reply, char *body)
{
    (void)task;
    (void)reply;
    add_text(body, "verb", request->verb);
    add_text(body, "auth", cpt_rpc_header(request, "authorization"));
    add_text(body, "x", cpt_rpc_header(request, "X"));
    add_text(body, "a", cpt_rpc_cookie(request, "a"));
    add_text(body, "b", cpt_rpc_cookie(request, "b"));
    add_text(body, "c", cpt_rpc_cookie(request, "c"));
}

static void test_headers(void)
{
    const struct cpt_field fields[] = {
        {cpt_bytes_of("Authorization"), cpt_bytes_of("Bearer t")},
        {cpt_bytes_of("cookie"),
         cpt_bytes_of("no; aa=0;a = 7; =x; a=1;  b=\"2 3\"  ;")},
        {cpt_bytes_of("X"), {NULL, 0}},
        {cpt_bytes_of("x"), cpt_bytes_of("second")},
        {cpt_bytes_of("COOKIE"), cpt_bytes_of("a=9; c=")},
    };
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/h"),
                                        .verb = cpt_bytes_of("POST"),
                                        .headers = fields,
                                        .header_count = 5};
    struct routes routes;

    open_routes(&routes, NULL);
    CU_ASSERT_EQUAL(add_route(&routes, "/h"), CPT_OK);
    extra = read_headers;
    ask_with(&routes, inbound);
    CU_ASSERT_STRING_EQUAL(got.body, "/h verb=POST auth=Bearer t x= a=1 b=2 3 c=");
    ask(&routes, "GET", "/h");
    CU_ASSERT_STRING_EQUAL(got.body,
                           "/h verb=GET auth=none x=none a=none b=none c=none");
    extra = NULL;
    close_routes(&routes);
}

static void test_many_headers(void)
{
    static struct cpt_field fields[CPT_HEADERS_MAX];
    struct cpt_inbound inbound = {.method = cpt_bytes_of("/h"), .headers = fields};
    struct routes routes;

    for (size_t i = 0; i < CPT_HEADERS_MAX; i++) {
        fields[i] = (struct cpt_field){cpt_bytes_of("n"), cpt_bytes_of("v")};
    }
    open_routes(&routes, NULL);
    CU_ASSERT_EQUAL(add_route(&routes, "/h"), CPT_OK);
    for (int more = -1; more <= 1; more++) {
        inbound.header_count = (size_t)(CPT_HEADERS_MAX + more);
        ask_with(&routes, inbound);
        CU_ASSERT_EQUAL(got.http_status, more <= 0 ? 200 : 431);
    }
    close_routes(&routes);
}

/* --- What a method sends --- */

static void send_headers(struct cpt_task *task, const struct cpt_rpc_request *request,
                         struct cpt_rpc_reply *reply, char *body)
{
    static const struct {
        const char *name;
        const char *value;
        cpt_status status;
    } rows[] = {
        {"Location", "/next", CPT_OK},
        {"X-Empty", "", CPT_OK},
        {"X", "a\r\nSet-Cookie: b=1", CPT_INVALID},
        {"X", "a\nb", CPT_INVALID},
        {"X", "a\x7f", CPT_INVALID},
        {"X: a\r\nY", "b", CPT_INVALID},
        {"X Y", "b", CPT_INVALID},
        {"", "b", CPT_INVALID},
        {"\xc3\xa4", "b", CPT_INVALID},
        {"content-LENGTH", "1", CPT_INVALID},
        {"Transfer-Encoding", "chunked", CPT_INVALID},
        {"Connection", "close", CPT_INVALID},
        {"critical-path-bin", "AA", CPT_INVALID},
        {"Critical-Path-Nonce", "3b9aca00c0ffee11", CPT_INVALID},
        {"X-Tab", "a\tb \xc3\xa4", CPT_OK},
    };

    (void)body;
    (void)request;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CU_ASSERT_EQUAL(cpt_rpc_reply_header(task, reply, rows[i].name,
                                             cpt_bytes_of(rows[i].value)),
                        rows[i].status);
    }
    CU_ASSERT_EQUAL(
        cpt_rpc_reply_header(task, reply, "X", (struct cpt_bytes){"a\0b", 3}),
        CPT_INVALID);
}

static void send_cookies(struct cpt_task *task, const struct cpt_rpc_request *request,
                         struct cpt_rpc_reply *reply, char *body)
{
    struct cpt_cookie cookie = {.struct_bytes = sizeof cookie, .name = "id"};

    (void)body;
    (void)request;
    cookie.value = cpt_bytes_of("a=1");
    CU_ASSERT_EQUAL(cpt_rpc_reply_cookie(task, reply, &cookie), CPT_OK);
    cookie.path = "/x";
    cookie.domain = "example.org";
    cookie.max_age_s = 60;
    cookie.same_site = "Strict";
    cookie.for_scripts = 1;
    cookie.without_tls = 1;
    CU_ASSERT_EQUAL(cpt_rpc_reply_cookie(task, reply, &cookie), CPT_OK);
    cookie.max_age_s = -1;
    cookie.value = (struct cpt_bytes){NULL, 0};
    CU_ASSERT_EQUAL(cpt_rpc_reply_cookie(task, reply, &cookie), CPT_OK);
    cookie.value = cpt_bytes_of("a;b");
    CU_ASSERT_EQUAL(cpt_rpc_reply_cookie(task, reply, &cookie), CPT_INVALID);
    cookie.value = cpt_bytes_of("a\r\nX: y");
    CU_ASSERT_EQUAL(cpt_rpc_reply_cookie(task, reply, &cookie), CPT_INVALID);
    cookie.value = cpt_bytes_of("a");
    cookie.path = "/; Domain=org";
    CU_ASSERT_EQUAL(cpt_rpc_reply_cookie(task, reply, &cookie), CPT_INVALID);
    cookie.path = NULL;
    cookie.name = "a b";
    CU_ASSERT_EQUAL(cpt_rpc_reply_cookie(task, reply, &cookie), CPT_INVALID);
}

static void send_many(struct cpt_task *task, const struct cpt_rpc_request *request,
                      struct cpt_rpc_reply *reply, char *body)
{
    static const struct cpt_field own[] = {{{"Own", 3}, {"1", 1}}};

    (void)body;
    (void)request;
    reply->headers = own; /* an array of one's own may be added to */
    reply->header_count = 1;
    for (unsigned i = 1; i <= CPT_REPLY_HEADERS_MAX; i++) {
        CU_ASSERT_EQUAL(cpt_rpc_reply_header(task, reply, "N", cpt_bytes_of("1")),
                        i < CPT_REPLY_HEADERS_MAX ? CPT_OK : CPT_LIMIT);
    }
    CU_ASSERT_EQUAL(reply->header_count, CPT_REPLY_HEADERS_MAX);
    CU_ASSERT_TRUE(cpt_bytes_equal(reply->headers[0].name, cpt_bytes_of("Own")));
}

static void test_reply_headers(void)
{
    struct routes routes;

    open_routes(&routes, NULL);
    CU_ASSERT_EQUAL(add_route(&routes, "/h"), CPT_OK);
    extra = send_headers;
    ask(&routes, "GET", "/h");
    CU_ASSERT_STRING_EQUAL(got.headers,
                           "Location: /next|X-Empty: |X-Tab: a\tb \xc3\xa4|");
    extra = send_cookies;
    ask(&routes, "GET", "/h");
    CU_ASSERT_STRING_EQUAL(
        got.headers,
        "Set-Cookie: id=a=1; Path=/; SameSite=Lax; HttpOnly; Secure|"
        "Set-Cookie: id=a=1; Path=/x; Domain=example.org; Max-Age=60; SameSite=Strict|"
        "Set-Cookie: id=; Path=/x; Domain=example.org; Max-Age=0; SameSite=Strict|");
    extra = send_many;
    ask(&routes, "GET", "/h");
    CU_ASSERT_EQUAL(got.http_status, 200);
    extra = NULL;
    close_routes(&routes);
}

static void test_header_bytes(void)
{
    static char text[CPT_REPLY_HEADER_BYTES_MAX + 1];
    struct cpt_field field = {cpt_bytes_of("X"), {text, 0}};

    memset(text, 'v', sizeof text);
    for (int more = -1; more <= 1; more++) {
        field.value.bytes = (size_t)(CPT_REPLY_HEADER_BYTES_MAX - 1 + more);
        CU_ASSERT_EQUAL(cpt_field_is_sendable(&field), more <= 0);
    }
    field.value.bytes = SIZE_MAX;
    CU_ASSERT_FALSE(cpt_field_is_sendable(&field));
}

/* --- Memory --- */

static bool add_and_ask(const struct cpt_alloc *alloc)
{
    struct routes routes;
    bool is_good = false;

    open_routes(&routes, alloc);
    if (routes.service == NULL) {
        return false;
    }
    is_good = add_route(&routes, "GET /u/{x}") == CPT_OK &&
              add_route(&routes, "GET /u") == CPT_OK;
    if (is_good) {
        ask(&routes, "GET", "/u/a%20b");
        is_good = got.http_status == 200 && strcmp(got.body, "GET /u/{x} x=a b") == 0;
    }
    close_routes(&routes);
    return is_good;
}

static void test_no_memory(void)
{
    each_allocation_failure(add_and_ask);
}

CU_TestInfo cpt_route_tests[] = {
    {"the method that says most about a path is taken, in any order of adding",
     test_most_specific},
    {"a verb that is not served gets 405 and Allow; OPTIONS gets Allow",
     test_other_verbs},
    {"names that mean nothing, or the same as another, are refused", test_bad_names},
    {"random routes and paths agree with a model", test_random_routes},
    {"parameters of a path are decoded once, malformed ones refused",
     test_encoded_parameters},
    {"parameters of a query are decoded, malformed ones reported", test_query},
    {"a method reads headers and cookies", test_headers},
    {"more headers than the limit are refused", test_many_headers},
    {"a header with a line end, or of the transport, is not taken", test_reply_headers},
    {"a header of the reply has a largest size", test_header_bytes},
    {"without memory nothing is lost", test_no_memory},
    CU_TEST_INFO_NULL,
};
