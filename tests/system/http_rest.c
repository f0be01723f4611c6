/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_rest.c - verbs and headers of calls, over a real connection */
#include "http_suites.h"
#include "http_support.h"

#include "framework/cpt_calls.h"

struct got {
    unsigned http_status;
    char body[32];
    char etag[32];
};

struct asked {
    int64_t number;
};

CPT_VALUE(asked, struct asked);
CPT_VALUE(first, struct got);
CPT_VALUE(got, struct got);

static cpt_status take(struct cpt_task *task, const struct cpt_call_reply *reply)
{
    struct got *got = (struct got *)cpt_task_output(
        task, (const struct cpt_value *)cpt_call_context(task));
    const struct cpt_bytes etag = cpt_call_header(reply, "ETag");

    got->http_status = reply->http_status;
    (void)snprintf(got->body, sizeof got->body, "%.*s", (int)reply->body.bytes,
                   reply->body.bytes != 0 ? reply->body.data : "");
    (void)snprintf(got->etag, sizeof got->etag, "%.*s", (int)etag.bytes,
                   etag.data != NULL ? etag.data : "");
    return CPT_OK;
}

/* Headers that a transport must not send, though the caller put them in by hand. */
static cpt_status say(struct cpt_task *task, struct cpt_call_request *request)
{
    static const struct cpt_field fields[] = {{{"X-Good", 6}, {"1", 1}},
                                              {{"X-Bad", 5}, {"1\r\nX-Worse: 1", 13}},
                                              {{"Host", 4}, {"elsewhere", 9}}};

    (void)task;
    request->headers = fields;
    request->header_count = 3;
    return CPT_OK;
}

struct ended {
    struct got got;
    cpt_status status;
    atomic_bool is_gone;
};

static void note_done(struct cpt_request *request, void *context)
{
    struct ended *ended = context;
    const struct got *output = cpt_request_output(request);

    ended->status = cpt_request_status(request);
    if (output != NULL) {
        ended->got = *output;
    }
}

static void note_gone(void *context)
{
    struct ended *ended = context;

    atomic_store(&ended->is_gone, true);
}

/* Two calls, one after the other on one connection: of @methods, which are answered
 * with @reply. Sets @text to what was sent first. */
static struct got call_twice(const char *first, const char *second, const char *reply,
                             char text[8192])
{
    static const char *const names[] = {"ETag", NULL};
    struct stand_in stand_in;
    struct test_loop loop;
    struct cpt_stub stubs[2] = {{.name = "B: first", .method = first},
                                {.name = "B: second", .method = second}};
    struct cpt_call_row rows[2];
    const struct cpt_task_def tasks[] = {{.name = "first",
                                          .run = cpt_call_run,
                                          .gives = CPT_GIVES(first),
                                          CPT_NEEDS(asked),
                                          .context = &rows[0]},
                                         {.name = "second",
                                          .run = cpt_call_run,
                                          .gives = CPT_GIVES(got),
                                          CPT_NEEDS(first),
                                          .context = &rows[1]}};
    const struct cpt_graph graph = CPT_GRAPH("A", asked, got, tasks);
    const struct asked asked = {7};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct ended ended = {.status = CPT_WAITING};
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .plan = plan,
                                          .input = &asked,
                                          .done = note_done,
                                          .gone = note_gone,
                                          .context = &ended};

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    stand_in_start(&stand_in, serve_reply, reply);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    for (size_t i = 0; i < 2; i++) {
        stubs[i].target = stand_in.target;
        stubs[i].transport = cpt_http_transport(loop.http);
        rows[i] = (struct cpt_call_row){.stub = &stubs[i],
                                        .prepare = say,
                                        .decode = take,
                                        .reply_headers = names,
                                        .decodes_errors = 1,
                                        .context = (void *)(uintptr_t)tasks[i].gives};
    }
    options.executor = cpt_http_executor(loop.http);
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    while (!atomic_load(&ended.is_gone)) {
        test_sleep_ns(MS);
    }
    CU_ASSERT_EQUAL(ended.status, CPT_OK);
    CU_ASSERT_EQUAL(test_counter(&loop, "http_headers_refused"), 4);
    CU_ASSERT_EQUAL(atomic_load(&stand_in.connection_count), 1);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    cpt_plan_free(plan);
    (void)snprintf(text, 8192, "%s", stand_in.first_request);
    return ended.got;
}

static void test_verbs(void)
{
    char text[8192];
    struct got got = call_twice("PUT /u/1", "GET /u/1",
                                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX: 1\r\n"
                                "etag: \"v 1\"  \r\nETag: 2\r\n\r\ngood",
                                text);

    CU_ASSERT_EQUAL(strncmp(text, "PUT /u/1 HTTP/1.1\r\n", 19), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\r\nX-Good: 1\r\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\r\nContent-Length: 0\r\n"));
    CU_ASSERT_PTR_NULL(strstr(text, "X-Worse"));
    CU_ASSERT_PTR_NULL(strstr(text, "elsewhere"));
    CU_ASSERT_STRING_EQUAL(got.body, "good");
    CU_ASSERT_STRING_EQUAL(got.etag, "\"v 1\"");
    CU_ASSERT_EQUAL(got.http_status, 200);
}

/* Its answer has the length of another: it must not be waited for, nor be of the next
 * call, which is on the same connection. */
static void test_head(void)
{
    char text[8192];
    struct got got =
        call_twice("HEAD /u/1", "HEAD /u/2",
                   "HTTP/1.1 404 No\r\nContent-Length: 4\r\nETag: e\r\n\r\n", text);

    CU_ASSERT_EQUAL(strncmp(text, "HEAD /u/1 HTTP/1.1\r\n", 20), 0);
    CU_ASSERT_PTR_NULL(strstr(text, "Content-Length"));
    CU_ASSERT_STRING_EQUAL(got.body, "");
    CU_ASSERT_STRING_EQUAL(got.etag, "e");
    CU_ASSERT_EQUAL(got.http_status, 404);
}

CU_TestInfo http_rest_tests[] = {
    {"a call has a verb and headers, and reads those of its answer", test_verbs},
    {"HEAD has no body, whatever its length", test_head},
    CU_TEST_INFO_NULL,
};
