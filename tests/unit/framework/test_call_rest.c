/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_call_rest.c - what a call says beside its body, and reads of an answer
 *
 * A request is one task that calls; the transport writes down what it is given as
 * "VERB line body | header: value | ...", and answers as the test says.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "framework/cpt_calls.h"
#include "framework/cpt_runtime.h"

#include <stdio.h>
#include <string.h>

struct user {
    char name[64];
    char etag[64];
};

CPT_VALUE(id, int64_t);
CPT_VALUE(text, struct cpt_bytes);
CPT_VALUE(user, struct user);

/* --- The wire --- */

static struct {
    char asked[16384]; /* the last call */
    unsigned call_count;
    unsigned statuses[4]; /* of its answers; 0: 200 */
    struct cpt_field fields[2];
    size_t field_count;
} wire;

static void send(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    const struct cpt_transport_reply reply = {
        .status = CPT_OK,
        .http_status = wire.statuses[wire.call_count % 4] != 0
                           ? wire.statuses[wire.call_count % 4]
                           : 200,
        .body = cpt_bytes_of("Ada"),
        .headers = wire.fields,
        .header_count = wire.field_count};
    size_t bytes = 0;

    (void)transport;
    wire.call_count++;
    bytes = (size_t)snprintf(
        wire.asked, sizeof wire.asked, "%.*s %s %.*s", (int)call->verb.bytes,
        call->verb.bytes != 0 ? call->verb.data : "", call->method,
        (int)call->body.bytes, call->body.bytes != 0 ? call->body.data : "");
    for (size_t i = 0; i < call->header_count && bytes < 8000; i++) {
        bytes += (size_t)snprintf(
            wire.asked + bytes, sizeof wire.asked - bytes, "|%.*s: %.*s",
            (int)call->headers[i].name.bytes, call->headers[i].name.data,
            (int)call->headers[i].value.bytes, call->headers[i].value.data);
    }
    cpt_transport_sent(call);
    cpt_transport_complete(call, &reply);
}

static struct cpt_transport transport = {.name = "wire", .send = send};
static struct cpt_stub stub = {
    .name = "B: users", .target = "B", .transport = &transport};
static struct cpt_stub other = {
    .name = "C: users", .target = "C", .transport = &transport};

/* --- Running --- */

static char sentence[sizeof((struct cpt_error *)0)->sentence];

/* Runs one request by @row, whose task needs @value, which is @input. */
static cpt_status run_row(const struct cpt_value *value, const void *input,
                          struct cpt_call_row row, struct user *user)
{
    const struct cpt_task_def tasks[] = {{.name = "user",
                                          .run = cpt_call_run,
                                          .gives = CPT_GIVES(user),
                                          .needs = {value},
                                          .context = &row}};
    const struct cpt_graph graph = {"A", value, CPT_GIVES(user), tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const struct cpt_pool_options one = {.struct_bytes = sizeof one, .worker_count = 1};
    struct cpt_executor *pool = cpt_pool_new(&one, NULL); /* has timers */
    struct cpt_request_options options = {
        .struct_bytes = sizeof options, .plan = plan, .executor = pool, .input = input};
    struct cpt_error error = {CPT_OK};
    struct user output;
    cpt_status status = CPT_OK;

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    row.stub = row.stub != NULL ? row.stub : &stub;
    status = cpt_request_run(&options, user != NULL ? user : &output, NULL, &error);
    (void)snprintf(sentence, sizeof sentence, "%s", error.sentence);
    cpt_pool_free(pool);
    cpt_plan_free(plan);
    return status;
}

static cpt_status take(struct cpt_task *task, const struct cpt_call_reply *reply)
{
    struct user *user = cpt_output(task, user);
    const struct cpt_bytes etag = cpt_call_header(reply, "etag");

    (void)snprintf(user->name, sizeof user->name, "%.*s %u", (int)reply->body.bytes,
                   reply->body.data, reply->http_status);
    (void)snprintf(user->etag, sizeof user->etag, "%.*s",
                   etag.data != NULL ? (int)etag.bytes : 4,
                   etag.data != NULL ? etag.data : "none");
    return CPT_OK;
}

/* Asks for @text by @method; what was sent is @expected, NULL: the row is refused. */
static void expect_text(const char *method, const char *text, const char *expected)
{
    const struct cpt_bytes input = cpt_bytes_of(text);

    memset(&wire, 0, sizeof wire);
    stub.method = method;
    CU_ASSERT_EQUAL(
        run_row(&cpt_value_text, &input, (struct cpt_call_row){.decode = take}, NULL),
        expected != NULL ? CPT_OK : CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(wire.asked, expected != NULL ? expected : "");
    if (strcmp(wire.asked, expected != NULL ? expected : "") != 0) {
        (void)fprintf(stderr, "'%s' of '%s': '%s'\n", method, text, wire.asked);
    }
}

static void expect_number(const char *method, int64_t number, const char *expected)
{
    memset(&wire, 0, sizeof wire);
    stub.method = method;
    CU_ASSERT_EQUAL(
        run_row(&cpt_value_id, &number, (struct cpt_call_row){.decode = take}, NULL),
        CPT_OK);
    CU_ASSERT_STRING_EQUAL(wire.asked, expected);
}

/* --- Lines --- */

static void test_methods(void)
{
    expect_number("/users", 17, " /users 17"); /* as before: it is the body */
    expect_number("GET /users", 17, "GET /users ");
    expect_number("HEAD /users", 17, "HEAD /users ");
    expect_number("DELETE /users/{id}", -3, "DELETE /users/-3 ");
    expect_number("PUT /users", 17, "PUT /users 17");
    expect_number("PUT /users/{id}", INT64_MIN, "PUT /users/-9223372036854775808 ");
    expect_number("/users/{id}/posts", 17, " /users/17/posts ");
    expect_number("/{id}/{id}?id={id}", 1, " /1/1?id=1 ");
    expect_number("look up", 17, " look up 17"); /* names, as before */
    expect_number("GET", 17, " GET 17");
    expect_number("GETTING /x", 17, "GETTING /x 17");
    expect_number("get /x", 17, " get /x 17");
    expect_number("/{i d}/{}/{", 17, " /{i d}/{}/{ 17");
}

static void test_encoding(void)
{
    expect_text("GET /u/{text}", "Ada", "GET /u/Ada ");
    expect_text("GET /u/{text}", "a b/c?d#e%f&g", "GET /u/a%20b%2Fc%3Fd%23e%25f%26g ");
    expect_text("GET /u/{text}", "\xc3\xa4\r\nX: 1", "GET /u/%C3%A4%0D%0AX%3A%201 ");
    expect_text("GET /u/{text}", "-._~", "GET /u/-._~ ");
    expect_text("GET /u/{text}", "...", "GET /u/... ");
    expect_text("GET /u/{text}", "a..", "GET /u/a.. ");
    expect_text("GET /s?q={text}&n=1", "a&b=c", "GET /s?q=a%26b%3Dc&n=1 ");
    expect_text("GET /s?q={text}", "", "GET /s?q= ");
    expect_text("GET /s?q={text}", "..", "GET /s?q=.. ");
    expect_text("GET /f/{text...}", "a/b c/", "GET /f/a/b%20c/ ");
    expect_text("GET /f/{text...}", "", "GET /f/ ");
    expect_text("GET /s?q={text...}", "a/b", "GET /s?q=a%2Fb ");
}

/* What would lead elsewhere. */
static void test_refused(void)
{
    char long_text[CPT_CALL_LINE_BYTES_MAX + 2];

    expect_text("GET /u/{text}", "", NULL);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(sentence, "'text' of the call of 'B: users' is no part"));
    expect_text("GET /u/{text}", ".", NULL);
    expect_text("GET /u/{text}", "..", NULL);
    expect_text("GET /f/{text...}", "a/../b", NULL);
    expect_text("GET /f/{text...}", "..", NULL);
    expect_text("GET /f/{text...}", "a/.", NULL);
    expect_text("GET /u/{name}", "Ada", NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(sentence, "has no parameter 'name'"));
    for (size_t bytes = CPT_CALL_LINE_BYTES_MAX - 4; bytes <= CPT_CALL_LINE_BYTES_MAX;
         bytes++) {
        const struct cpt_bytes input = {long_text, bytes};

        memset(long_text, 'a', sizeof long_text);
        stub.method = "/u/{text}";
        CU_ASSERT_EQUAL(run_row(&cpt_value_text, &input,
                                (struct cpt_call_row){.decode = take}, NULL),
                        bytes + 3 <= CPT_CALL_LINE_BYTES_MAX ? CPT_OK : CPT_INVALID);
    }
}

/* --- Any text comes out at the callee as it went in --- */

static struct {
    struct cpt_service *service;
    char path[128]; /* what the callee read */
    char query[128];
    unsigned http_status;
} callee;

static void copy_text(char to[128], struct cpt_bytes text)
{
    (void)snprintf(to, 128, "%.*s", (int)text.bytes,
                   text.data != NULL ? text.data : "none");
}

static cpt_status read_both(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_bytes query;

    copy_text(callee.path, cpt_rpc_parameter(request, "text"));
    if (cpt_rpc_query(task, request, "q", &query) != CPT_OK) {
        return cpt_fail(task, CPT_CORRUPT, "a bad query");
    }
    copy_text(callee.query, query);
    return CPT_OK;
}

static void note_status(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    callee.http_status = outbound->http_status;
}

static void serve(struct cpt_transport *unused, struct cpt_transport_call *call)
{
    const struct cpt_transport_reply reply = {.status = CPT_OK, .http_status = 200};
    const char *query = strchr(call->method, '?');
    struct cpt_inbound inbound = {.verb = call->verb,
                                  .method = cpt_bytes_of(call->method)};

    (void)unused;
    if (query != NULL) {
        inbound.method.bytes = (size_t)(query - call->method);
        inbound.query = cpt_bytes_of(query + 1);
    }
    cpt_service_serve(callee.service, &inbound, note_status, NULL);
    cpt_transport_sent(call);
    cpt_transport_complete(call, &reply);
}

static void check_round_trip(struct test_random *random)
{
    static const char likely[] = "./%+&=?#{}: \"\\\r\n\xc3\xa4"
                                 "a";
    char text[64];
    const struct cpt_bytes input = {text, 1 + test_random_below(random, 20)};
    char expected[128];
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < input.bytes; i++) {
        text[i] = test_random_chance(random, 70)
                      ? likely[test_random_below(random, sizeof likely - 1)]
                      : (char)(1 + test_random_below(random, 255));
    }
    copy_text(expected, input);
    memset(callee.path, 0, sizeof callee.path);
    callee.http_status = 0;
    status =
        run_row(&cpt_value_text, &input, (struct cpt_call_row){.decode = take}, NULL);
    if (status == CPT_INVALID) { /* it would lead elsewhere */
        CU_ASSERT_PTR_NOT_NULL(memchr(text, '.', input.bytes));
        CU_ASSERT_EQUAL(callee.http_status, 0);
        return;
    }
    CU_ASSERT_EQUAL(status, CPT_OK);
    CU_ASSERT_EQUAL(callee.http_status, 200);
    CU_ASSERT_STRING_EQUAL(callee.path, expected);
    CU_ASSERT_STRING_EQUAL(callee.query, expected);
}

static void test_round_trips(void)
{
    static const struct cpt_task_def tasks[] = {
        {"read", read_both, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
    static const struct cpt_graph graph = CPT_GRAPH("B", rpc_request, rpc_reply, tasks);
    const struct cpt_service_options options = {
        .struct_bytes = sizeof options, .name = "B", .probability = -1};
    static const char *const methods[][2] = {
        {"GET /u/{text}/x", "GET /u/{text}/x?q={text}"},
        {"PUT /f/{text...}", "PUT /f/{text...}?a=1&q={text}&b"}};
    const uint64_t seed = test_random_seed("calls of REST services");
    const uint64_t count = test_case_count(1000);

    for (size_t i = 0; i < 2; i++) {
        struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

        callee.service = cpt_service_new(&options, NULL);
        CU_ASSERT_EQUAL(
            cpt_service_method_add(callee.service, methods[i][0], plan, NULL), CPT_OK);
        transport.send = serve;
        stub.method = methods[i][1];
        for (uint64_t number = 0; number < count; number++) {
            struct test_random random = {seed + number};

            check_round_trip(&random);
        }
        transport.send = send;
        cpt_service_free(callee.service);
        cpt_plan_free(plan);
    }
}

/* --- What a row says --- */

static cpt_status prepare(struct cpt_task *task, struct cpt_call_request *request)
{
    cpt_status status =
        cpt_call_set_parameter(task, request, "name", cpt_bytes_of("x"));

    if (status == CPT_OK) { /* the last one counts */
        status = cpt_call_set_parameter(task, request, "name", cpt_bytes_of("a/b"));
    }
    if (status == CPT_OK) {
        status = cpt_call_add_query(task, request, "page=", cpt_bytes_of("2&3"));
    }
    for (int i = 0; i < 9 && status == CPT_OK; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "X-%d", i);
        status = cpt_call_add_header(task, request, name, cpt_bytes_of("1"));
    }
    request->body = cpt_bytes_of("{}");
    return status == CPT_OK ? cpt_call_add_header(task, request, "Content-Type",
                                                  cpt_bytes_of("application/json"))
                            : status;
}

static cpt_status inject(struct cpt_task *task, struct cpt_call_request *request)
{
    return cpt_call_add_header(task, request, "X-Name", cpt_bytes_of("a\r\nHost: b"));
}

static void test_prepare(void)
{
    const int64_t id = 17;

    memset(&wire, 0, sizeof wire);
    stub.method = "PUT /users/{id}/{name}?v=1";
    CU_ASSERT_EQUAL(run_row(&cpt_value_id, &id,
                            (struct cpt_call_row){.prepare = prepare, .decode = take},
                            NULL),
                    CPT_OK);
    CU_ASSERT_STRING_EQUAL(
        wire.asked,
        "PUT /users/17/a%2Fb?v=1&page%3D=2%263 {}|X-0: 1|X-1: 1|X-2: 1|X-3: 1"
        "|X-4: 1|X-5: 1|X-6: 1|X-7: 1|X-8: 1|Content-Type: application/json");
    memset(&wire, 0, sizeof wire);
    CU_ASSERT_EQUAL(run_row(&cpt_value_id, &id,
                            (struct cpt_call_row){.prepare = inject, .decode = take},
                            NULL),
                    CPT_INVALID);
    CU_ASSERT_EQUAL(wire.call_count, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(sentence, "the header 'X-Name' of a call is refused"));
}

static void test_which_headers(void)
{
    static const struct {
        const char *name;
        int is_sendable;
    } rows[] = {
        {"Content-Type", 1},
        {"Authorization", 1},
        {"Cookie", 1},
        {"X-A", 1},
        {"Host", 0},
        {"host", 0},
        {"Expect", 0},
        {"Content-Length", 0},
        {"critical-path", 0},
        {"critical-path-nonce", 0},
        {"Traceparent", 0},
        {"cpt-timeout", 0},
        {"", 0},
        {"A B", 0},
        {"Transfer-Encoding", 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct cpt_field field = {cpt_bytes_of(rows[i].name), cpt_bytes_of("1")};

        CU_ASSERT_EQUAL(cpt_call_field_is_sendable(&field), rows[i].is_sendable);
    }
}

/* As many as there may be, and one more. */
static size_t header_count;

static cpt_status add_many(struct cpt_task *task, struct cpt_call_request *request)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < header_count && status == CPT_OK; i++) {
        status = cpt_call_add_query(task, request, "a", cpt_bytes_of("1"));
    }
    return request->query_count <= CPT_CALL_FIELDS_MAX ? status : CPT_FAILED;
}

static void test_many_fields(void)
{
    const int64_t id = 17;

    stub.method = "/u";
    for (header_count = 63; header_count <= 65; header_count++) {
        CU_ASSERT_EQUAL(
            run_row(&cpt_value_id, &id,
                    (struct cpt_call_row){.prepare = add_many, .decode = take}, NULL),
            header_count <= CPT_CALL_FIELDS_MAX ? CPT_OK : CPT_LIMIT);
    }
}

/* --- What a row reads --- */

static void test_reply_headers(void)
{
    const struct cpt_field etag = {cpt_bytes_of("ETAG"), cpt_bytes_of("\"v1\"")};
    const struct cpt_field age = {cpt_bytes_of("Age"), cpt_bytes_of("1")};
    const int64_t id = 17;
    struct user user;

    stub.method = "GET /u";
    for (int asks = 0; asks < 2; asks++) {
        struct cpt_call_row row = {.decode = take};
        static const char *const names[] = {"X-None", "ETag", NULL};

        memset(&wire, 0, sizeof wire);
        wire.fields[0] = age;
        wire.fields[1] = etag;
        wire.field_count = 2;
        row.reply_headers = asks ? names : NULL;
        CU_ASSERT_EQUAL(run_row(&cpt_value_id, &id, row, &user), CPT_OK);
        CU_ASSERT_STRING_EQUAL(user.etag, asks ? "\"v1\"" : "none");
    }
}

/* --- What statuses mean --- */

static void expect_answer(unsigned first, unsigned second, cpt_status status,
                          unsigned call_count, const char *name)
{
    static const struct cpt_call_answer answers[] = {
        {404, CPT_OUTCOME_OK},
        {202, CPT_OUTCOME_UNAVAILABLE},
        {500, CPT_OUTCOME_INVALID_ARGUMENT},
        {0, 0}};
    const int64_t id = 17;
    struct user user = {"", ""};

    memset(&wire, 0, sizeof wire);
    wire.statuses[0] = first;
    wire.statuses[1] = second;
    stub.method = "GET /u";
    other.method = "GET /other/{id}";
    CU_ASSERT_EQUAL(run_row(&cpt_value_id, &id,
                            (struct cpt_call_row){.decode = take,
                                                  .answers = answers,
                                                  .other_stub = &other,
                                                  .retry_count_max = 1,
                                                  .backoff_ns = 1},
                            &user),
                    status);
    CU_ASSERT_EQUAL(wire.call_count, call_count);
    CU_ASSERT_STRING_EQUAL(user.name, name);
}

static void test_answers(void)
{
    expect_answer(200, 0, CPT_OK, 1, "Ada 200");
    expect_answer(404, 0, CPT_OK, 1, "Ada 404");
    expect_answer(503, 0, CPT_OK, 2, "Ada 200"); /* as before */
    CU_ASSERT_STRING_EQUAL(wire.asked, "GET /other/17 ");
    expect_answer(202, 0, CPT_OK, 2, "Ada 200");
    expect_answer(202, 202, CPT_UNAVAILABLE, 2, "");
    expect_answer(500, 0, CPT_FAILED, 1, ""); /* final */
    expect_answer(403, 0, CPT_FAILED, 1, "");
}

/* --- By hand --- */

static cpt_status answered(struct cpt_task *task)
{
    return take(task, cpt_call_reply(*cpt_state(task, struct cpt_pending *)));
}

static cpt_status ask(struct cpt_task *task)
{
    struct cpt_pending **call = cpt_state(task, struct cpt_pending *);
    struct cpt_call_request request = {.struct_bytes = sizeof request,
                                       .body = cpt_bytes_of("b")};

    (void)cpt_call_add_query(task, &request, "q", cpt_bytes_of("1"));
    *call = cpt_call_with(task, &stub, &request);
    return cpt_pending_status(*call) == CPT_INVALID ? CPT_INVALID
                                                    : cpt_await(task, *call, answered);
}

static void test_by_hand(void)
{
    static const struct cpt_task_def tasks[] = {
        {"ask", ask, CPT_GIVES(user), CPT_NEEDS(id)}};
    static const struct cpt_graph graph = CPT_GRAPH("A", id, user, tasks);
    const int64_t id = 17;
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options, .plan = plan, .input = &id};
    struct user user;
    struct cpt_error error = {CPT_OK};

    memset(&wire, 0, sizeof wire);
    stub.method = "PATCH /u/{id}";
    CU_ASSERT_EQUAL(cpt_request_run(&options, &user, NULL, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(wire.asked, "PATCH /u/17?q=1 b");
    stub.method = "PATCH /u/{no}";
    CU_ASSERT_EQUAL(cpt_request_run(&options, &user, NULL, &error), CPT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "has no parameter 'no'"));
    cpt_plan_free(plan);
}

/* --- The recipe of docs/framework.md, as it stands there --- */

struct profile {
    struct cpt_bytes name;
    struct cpt_bytes etag;
};

CPT_VALUE(profile, struct profile);
CPT_VALUE(known, struct cpt_bytes);

#define profile_stub stub
#include <recipe_a_call_of_a_rest_service.inc>
#undef profile_stub

static cpt_status parse(struct cpt_task *task)
{
    *cpt_output(task, known) = cpt_bytes_of("\"v1\"");
    return CPT_OK;
}

static cpt_status show(struct cpt_task *task)
{
    const struct profile *profile = cpt_input(task, profile);

    return cpt_print(task, cpt_output(task, text), "%.*s %.*s",
                     (int)profile->name.bytes, profile->name.data,
                     (int)profile->etag.bytes, profile->etag.data);
}

static void note_text(struct cpt_request *request, void *context)
{
    const struct cpt_bytes *output = cpt_request_output(request);

    (void)snprintf(context, 64, "%.*s", output != NULL ? (int)output->bytes : 0,
                   output != NULL ? output->data : "");
}

static void test_recipe(void)
{
    const struct cpt_task_def tasks[] = {
        {"parse", parse, CPT_GIVES(known), CPT_NEEDS_NOTHING},
        profile_tasks[0],
        {"show", show, CPT_GIVES(text), CPT_NEEDS(profile)}};
    const struct cpt_graph graph = CPT_GRAPH("A", id, text, tasks);
    const int64_t id = 17;
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    char text[64] = "";
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .input = &id,
                                                .done = note_text,
                                                .context = text};

    memset(&wire, 0, sizeof wire);
    wire.fields[0] = (struct cpt_field){cpt_bytes_of("ETag"), cpt_bytes_of("\"v2\"")};
    wire.field_count = 1;
    stub.method = "GET /users/{id}?fields=name";
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(wire.asked,
                           "GET /users/17?fields=name |If-None-Match: \"v1\"");
    CU_ASSERT_STRING_EQUAL(text, "Ada \"v2\"");
    wire.statuses[1] = 404;
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(text, " ");
    cpt_plan_free(plan);
}

CU_TestInfo cpt_call_rest_tests[] = {
    {"verbs and parameters of a method", test_methods},
    {"parameters are encoded", test_encoding},
    {"parameters that lead elsewhere", test_refused},
    {"any text comes out as it went in", test_round_trips},
    {"parameters, query and headers that a row says", test_prepare},
    {"which headers a call may have", test_which_headers},
    {"as many as there may be", test_many_fields},
    {"headers of the answer", test_reply_headers},
    {"what statuses mean to a row", test_answers},
    {"the same by hand", test_by_hand},
    {"the recipe", test_recipe},
    CU_TEST_INFO_NULL,
};
