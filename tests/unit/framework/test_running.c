/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_running.c - what a service tells of its requests while they run
 *
 * Exact text in virtual time; then a thread that asks all the time while real threads
 * run requests, for ThreadSanitizer. Ids of locks are written as '#'.
 */
#include "tests/support/failing_alloc.h"
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_calls.h"
#include "framework/cpt_log_queue.h"
#include "framework/cpt_mutex.h"
#include "framework/cpt_running.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cpt_mutex *cache;
static struct cpt_transport_call *sent[4]; /* calls that nothing answers */
static size_t sent_count;

CPT_VALUE(rows, int);
CPT_VALUE(ads, int);

/* --- A service of three tasks --- */

static void keep_call(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    (void)transport;
    if (sent_count < sizeof sent / sizeof sent[0]) {
        sent[sent_count++] = call;
    }
}

static struct cpt_transport silent = {.name = "silent", .send = keep_call};
static const struct cpt_stub rows_stub = {.name = "B: /rows",
                                          .target = "http://127.0.0.1:2",
                                          .method = "/rows",
                                          .transport = &silent};

static cpt_status have_rows(struct cpt_task *task)
{
    cpt_mutex_release(*cpt_state(task, struct cpt_pending *));
    return CPT_OK;
}

static cpt_status ask_rows(struct cpt_task *task)
{
    now.now_ns += MS;
    (void)cpt_call(task, &rows_stub, cpt_bytes_of(""));
    return cpt_await_all_for(task, 1000 * MS, have_rows);
}

static cpt_status find_rows(struct cpt_task *task)
{
    struct cpt_pending **lock = cpt_state(task, struct cpt_pending *);

    *lock = cpt_mutex_acquire(task, cache);
    return cpt_await(task, *lock, ask_rows);
}

static cpt_status have_ads(struct cpt_task *task)
{
    *cpt_output(task, ads) = 1;
    return CPT_OK;
}

static cpt_status find_ads(struct cpt_task *task)
{
    struct cpt_pending *either[2] = {cpt_sleep(task, "disk", 400 * MS),
                                     cpt_sleep(task, "other disk", 500 * MS)};

    return cpt_await_some(task, either, 2, 1, have_ads);
}

static cpt_status render(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

static const struct cpt_task_def page_tasks[] = {
    {"rows", find_rows, CPT_GIVES(rows), CPT_NEEDS(rpc_request), {NULL}, NULL},
    {"ads", find_ads, CPT_GIVES(ads), CPT_NEEDS(rpc_request), {NULL}, NULL},
    {"render", render, CPT_GIVES(rpc_reply), CPT_NEEDS(rows, ads), {NULL}, NULL}};
static const struct cpt_graph page_graph = {"S", CPT_GIVES(rpc_request),
                                            CPT_GIVES(rpc_reply), page_tasks, 3};

/* --- What it tells --- */

static char *told;

/* Keeps it, with '#' in place of the id of each lock. */
static cpt_status keep(void *context, const void *text, size_t bytes)
{
    static const char member[] = "\"lock\":";
    const char *from = text;
    const char *end = from + bytes;
    char *to = malloc(bytes + 1);

    (void)context;
    free(told);
    told = to;
    while (from < end) {
        const bool is_lock = (size_t)(end - from) > sizeof member &&
                             memcmp(from, member, sizeof member - 1) == 0 &&
                             isdigit((unsigned char)from[sizeof member - 1]);

        if (!is_lock) {
            *to++ = *from++;
            continue;
        }
        memcpy(to, from, sizeof member - 1);
        to += sizeof member - 1;
        from += sizeof member - 1;
        *to++ = '#';
        while (isdigit((unsigned char)*from)) {
            from++;
        }
    }
    *to = '\0';
    return CPT_OK;
}

/* Takes out the trace ids that the service has made. */
static void without_made_ids(char *text)
{
    static const char key[] = "\"trace_id\":\"";
    const size_t bytes = sizeof key - 1 + 32 + 2; /* the digits, '"' and ',' */

    for (char *at = text; (at = strstr(at, key)) != NULL; at++) {
        if (strncmp(at + sizeof key - 1, "0af7651916cd43dd8448eb211c80319c", 32) != 0) {
            memmove(at, at + bytes, strlen(at + bytes) + 1);
        }
    }
}

/* An output that is full. */
static cpt_status refuse_text(void *context, const void *text, size_t bytes)
{
    (void)context;
    (void)text;
    (void)bytes;
    return CPT_NO_MEMORY;
}

static const char *tell(struct cpt_service *service)
{
    CU_ASSERT_EQUAL(
        cpt_service_requests_json(service, &(struct cpt_sink){refuse_text, NULL}),
        CPT_IO);
    CU_ASSERT_EQUAL(
        cpt_service_plans_json(service, &(struct cpt_sink){refuse_text, NULL}), CPT_IO);
    CU_ASSERT_EQUAL(cpt_service_requests_json(service, &(struct cpt_sink){keep, NULL}),
                    CPT_OK);
    without_made_ids(told);
    return told;
}

struct page_service {
    struct cpt_plan *plan;
    struct cpt_service *service;
};

static void page_open(struct page_service *page, struct cpt_service_options options)
{
    virtual_init(&now, 0);
    sent_count = 0;
    cache = cpt_mutex_new("cache", NULL);
    page->plan = cpt_plan_new(&page_graph, NULL, NULL);
    page->service = make_service(options, "S", "/page", page->plan);
    CU_ASSERT_FATAL(page->service != NULL);
}

static void page_close(struct page_service *page)
{
    CU_ASSERT_STRING_EQUAL(tell(page->service),
                           "{\"service\":\"S\",\"requests\":[],\"left_out\":0}\n");
    cpt_service_free(page->service);
    cpt_plan_free(page->plan);
    cpt_mutex_free(cache);
    free(told);
    told = NULL;
}

static atomic_uint answer_count;

static void count_answer(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    (void)outbound;
    atomic_fetch_add(&answer_count, 1);
}

static void serve(struct cpt_service *service, const char *traceparent)
{
    struct cpt_inbound inbound = inbound_with(NULL);

    inbound.method = cpt_bytes_of("/page");
    if (traceparent != NULL) {
        inbound.traceparent = cpt_bytes_of(traceparent);
    }
    cpt_service_serve(service, &inbound, count_answer, NULL);
}

/* Lets the calls fail by their deadlines, one after the other. */
static void finish(unsigned count)
{
    const struct cpt_transport_reply reply = {.status = CPT_UNAVAILABLE};

    atomic_store(&answer_count, 0);
    virtual_run(&now);
    CU_ASSERT_EQUAL(atomic_load(&answer_count), count);
    while (sent_count != 0) {
        cpt_transport_complete(sent[--sent_count], &reply);
    }
}

#define TRACE_ID "0af7651916cd43dd8448eb211c80319c"

/* Two requests, the second of which waits for the lock that the first one holds. */
static void test_told_exactly(void)
{
    struct cpt_service_options options = always;
    struct page_service page;

    options.timeout_ns = 60000 * (uint64_t)MS;
    page_open(&page, options);
    serve(page.service, "00-" TRACE_ID "-b7ad6b7169203331-01");
    virtual_run_until(&now, now.now_ns + 5 * MS);
    serve(page.service, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(tell(page.service),
                                  "\"us\":0,\"left_us\":60000000,\"traced\":true,"
                                  "\"tasks\":[{\"name\":\"S: rows\",\"state\":"
                                  "\"queued\"},{\"name\":\"S: ads\",\"state\":"
                                  "\"queued\"}]"));
    virtual_run_until(&now, now.now_ns + 5 * MS);
    CU_ASSERT_STRING_EQUAL(
        tell(page.service),
        "{\"service\":\"S\",\"requests\":["
        "{\"id\":1,\"method\":\"/page\",\"us\":10000,\"left_us\":59990000,"
        "\"traced\":true,\"trace_id\":\"" TRACE_ID "\",\"tasks\":["
        "{\"name\":\"S: ads\",\"state\":\"waits\",\"for\":["
        "{\"kind\":\"timer\",\"us\":9000,\"name\":\"S: disk\"},"
        "{\"kind\":\"timer\",\"us\":9000,\"name\":\"S: other disk\"}],"
        "\"wanted\":1},"
        "{\"name\":\"S: rows\",\"state\":\"waits\",\"timeout\":true,\"for\":["
        "{\"kind\":\"call\",\"us\":9000,\"name\":\"B: /rows\","
        "\"target\":\"http://127.0.0.1:2\",\"method\":\"/rows\","
        "\"transport\":\"silent\",\"path\":\"/rows\",\"trace_id\":\"" TRACE_ID
        "\",\"span_id\":\"b7ad6b7169203331\"}]}],"
        "\"holds\":[{\"name\":\"cache\",\"lock\":#,\"task\":\"S: rows\"}],"
        "\"parent_id\":\"b7ad6b7169203331\"},"
        "{\"id\":2,\"method\":\"/page\",\"us\":5000,\"left_us\":59995000,"
        "\"traced\":true,\"tasks\":["
        "{\"name\":\"S: ads\",\"state\":\"waits\",\"for\":["
        "{\"kind\":\"timer\",\"us\":5000,\"name\":\"S: disk\"},"
        "{\"kind\":\"timer\",\"us\":5000,\"name\":\"S: other disk\"}],"
        "\"wanted\":1},"
        "{\"name\":\"S: rows\",\"state\":\"waits\",\"for\":["
        "{\"kind\":\"lock\",\"us\":5000,\"name\":\"cache\",\"lock\":#,"
        "\"holder\":\"S: rows\"}]}]}],\"left_out\":0}\n");
    finish(2);
    page_close(&page);
}

/* If the stub has several targets, the one that the call is at is told. */
static void test_picked_target(void)
{
    struct page_service page;

    page_open(&page, never);
    serve(page.service, NULL);
    virtual_run_until(&now, now.now_ns + 5 * MS);
    CU_ASSERT_EQUAL_FATAL(sent_count, 1);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tell(page.service), "\"target\":\"http://127.0.0.1:2\""));
    cpt_transport_picked(sent[0], cpt_bytes_of("http://127.0.0.7:2"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tell(page.service), "\"target\":\"http://127.0.0.7:2\""));
    cpt_transport_picked(sent[0], cpt_bytes_of("http://127.0.0.8:2"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tell(page.service), "\"target\":\"http://127.0.0.8:2\""));
    finish(1);
    page_close(&page);
}

/* An untraced request reads no clock for its tasks, so less is known of it. */
static void test_untraced(void)
{
    struct page_service page;

    page_open(&page, never);
    serve(page.service, "00-" TRACE_ID "-b7ad6b7169203331-00");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tell(page.service), "{\"name\":\"S: rows\",\"state\":\"runnable\"},"));
    virtual_run_until(&now, now.now_ns + 5 * MS);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tell(page.service),
               "\"traced\":false,\"trace_id\":\"" TRACE_ID "\",\"tasks\":["
               "{\"name\":\"S: ads\",\"state\":\"waits\",\"for\":["
               "{\"kind\":\"timer\"},{\"kind\":\"timer\"}],\"wanted\":1},"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(told, "\"for\":[{\"kind\":\"call\",\"us\":")); /* of a coarse clock */
    CU_ASSERT_PTR_NULL(strstr(told, "runnable"));
    finish(1);
    page_close(&page);
}

static size_t occurrences(const char *text, const char *of)
{
    size_t count = 0;

    while ((text = strstr(text, of)) != NULL) {
        count++;
        text += strlen(of);
    }
    return count;
}

/* As many requests as are told, and one more in one list. */
static void test_limit(void)
{
    struct page_service page;
    unsigned count = 0;

    page_open(&page, never);
    for (; count < CPT_RUNNING_REQUESTS_MAX - CPT_RUNNING_REQUESTS_MAX % 16; count++) {
        serve(page.service, NULL);
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(tell(page.service), "],\"left_out\":0}\n"));
    CU_ASSERT_EQUAL(occurrences(told, "\"id\":"), count);
    serve(page.service, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(tell(page.service), "],\"left_out\":1}\n"));
    CU_ASSERT_EQUAL(occurrences(told, "\"id\":"), count);
    CU_ASSERT_PTR_NULL(strstr(told, "\"id\":993,")); /* the latest */
    atomic_store(&answer_count, 0);
    for (unsigned i = 0; i <= count; i++) { /* all wait for the lock, one holds it */
        const struct cpt_transport_reply reply = {.status = CPT_UNAVAILABLE};

        virtual_run_until(&now, now.now_ns + MS);
        if (sent_count != 0) {
            cpt_transport_complete(sent[--sent_count], &reply);
        }
    }
    finish(count + 1 - atomic_load(&answer_count));
    page_close(&page);
}

/* Names come from outside, and must not end the text that holds them. */
static void test_hostile_method(void)
{
    struct page_service page;
    struct cpt_inbound inbound = inbound_with(NULL);

    page_open(&page, never);
    CU_ASSERT_EQUAL(cpt_service_method_add(page.service, "*", page.plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of("/\"}]\\\n\xff\x7f\xc3\xa4");
    cpt_service_serve(page.service, &inbound, count_answer, NULL);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tell(page.service),
               "\"method\":\"/\\\"}]\\\\\\u000a\\ufffd\\u007f\xc3\xa4\","));
    finish(1);
    page_close(&page);
}

static struct page_service failing_page;

static bool tell_with(const struct cpt_alloc *alloc)
{
    struct cpt_service_options options = never;
    cpt_status status = CPT_OK;

    options.alloc = alloc;
    failing_page.service = make_service(options, "S", "/page", failing_page.plan);
    if (failing_page.service == NULL) {
        return false;
    }
    status =
        cpt_service_requests_json(failing_page.service, &(struct cpt_sink){keep, NULL});
    cpt_service_free(failing_page.service);
    return status == CPT_OK;
}

static void test_no_memory(void)
{
    virtual_init(&now, 0);
    failing_page.plan = cpt_plan_new(&page_graph, NULL, NULL);
    each_allocation_failure(tell_with);
    cpt_plan_free(failing_page.plan);
    free(told);
    told = NULL;
}

/* --- What goes out --- */

static struct cpt_stub user_stub = {.name = "U: GET /users/{id}/{rest...}",
                                    .target = "https://127.0.0.1:4",
                                    .method =
                                        "GET /users/{id}/{rest...}?secret={secret}",
                                    .transport = &silent,
                                    .operators = "127.0.0.1:5,:6"};

static cpt_status ask_user(struct cpt_task *task)
{
    struct cpt_call_request said = {.struct_bytes = sizeof said};

    (void)cpt_call_set_parameter(task, &said, "id", cpt_bytes_of("17/a"));
    (void)cpt_call_set_parameter(task, &said, "rest", cpt_bytes_of("b/\"c"));
    (void)cpt_call_set_parameter(task, &said, "secret", cpt_bytes_of("hidden"));
    return cpt_await(task, cpt_call_with(task, &user_stub, &said), render);
}

static const struct cpt_task_def user_tasks[] = {
    {"user", ask_user, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph user_graph = {"S", CPT_GIVES(rpc_request),
                                            CPT_GIVES(rpc_reply), user_tasks, 1};

static cpt_status forget_lines(void *context, const void *block, size_t bytes)
{
    (void)context;
    (void)block;
    (void)bytes;
    return CPT_OK;
}

static struct page_service user_page;
static struct cpt_plan *user_plan;

/* A service with @options has one call outstanding, of a request with @traceparent; all
 * it tells is in `told`. */
static const struct cpt_transport_call *user_open(struct cpt_service_options options,
                                                  const char *traceparent)
{
    struct cpt_inbound inbound = inbound_with(NULL);

    page_open(&user_page, options);
    user_plan = cpt_plan_new(&user_graph, NULL, NULL);
    CU_ASSERT_EQUAL(cpt_service_method_add(user_page.service, "/user", user_plan, NULL),
                    CPT_OK);
    inbound.method = cpt_bytes_of("/user");
    if (traceparent != NULL) {
        inbound.traceparent = cpt_bytes_of(traceparent);
    }
    cpt_service_serve(user_page.service, &inbound, count_answer, NULL);
    virtual_run_until(&now, now.now_ns + 5 * MS);
    CU_ASSERT_EQUAL_FATAL(sent_count, 1);
    CU_ASSERT_EQUAL(
        cpt_service_requests_json(user_page.service, &(struct cpt_sink){keep, NULL}),
        CPT_OK);
    return sent[0];
}

static void user_close(void)
{
    cpt_transport_complete(sent[--sent_count],
                           &(struct cpt_transport_reply){.status = CPT_UNAVAILABLE});
    virtual_run(&now);
    /* Its spans are written by another thread, which reads the plan. */
    CU_ASSERT_EQUAL(cpt_service_drain(user_page.service, 60000 * (uint64_t)MS), CPT_OK);
    page_close(&user_page);
    cpt_plan_free(user_plan);
}

/* Whether @key of @where has the @digits at @at of the traceparent of @call. */
static bool tells_id(const char *where, const char *key, size_t at, size_t digits,
                     const struct cpt_transport_call *call)
{
    char member[64];

    (void)snprintf(member, sizeof member, "\"%s\":\"%.*s\"", key, (int)digits,
                   call->traceparent.data + at);
    return where != NULL && strstr(where, member) != NULL;
}

/* Both ids are what really goes out; a query is not told. */
static void test_call_that_goes_out(void)
{
    const struct cpt_transport_call *call = user_open(never, NULL);
    const char *told_call = strstr(told, "\"kind\":\"call\"");

    CU_ASSERT_PTR_NOT_NULL(
        strstr(told, "\"name\":\"U: GET /users/{id}/{rest...}\","
                     "\"target\":\"https://127.0.0.1:4\","
                     "\"method\":\"GET /users/{id}/{rest...}?secret={secret}\","
                     "\"transport\":\"silent\",\"operators\":\"127.0.0.1:5,:6\","
                     "\"verb\":\"GET\",\"path\":\"/users/17%2Fa/b/%22c\","));
    CU_ASSERT_PTR_NULL(strstr(told, "hidden"));
    CU_ASSERT(tells_id(told, "trace_id", 3, 32, call)); /* of the request, made */
    CU_ASSERT_PTR_NULL(strstr(told, "\"parent_id\""));  /* it came from nowhere */
    CU_ASSERT(tells_id(told_call, "trace_id", 3, 32, call));
    CU_ASSERT(tells_id(told_call, "span_id", 36, 16, call));
    CU_ASSERT_PTR_NULL(strstr(told, "\"sent\"")); /* it waits for a connection */
    cpt_transport_sent(sent[0]);
    CU_ASSERT_PTR_NOT_NULL(strstr(tell(user_page.service), ",\"sent\":true}"));
    user_close();
}

/* Where spans are written, each call has an id of its own. */
static void test_spans_of_calls(void)
{
    const struct cpt_log_queue_options queue = {
        .struct_bytes = sizeof queue, .sink = forget_lines, .content = CPT_LOG_SPANS};
    struct cpt_service_options options = always;
    const struct cpt_transport_call *call = NULL;
    const char *told_call = NULL;

    options.spans = cpt_log_queue_new(&queue, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(options.spans);
    call = user_open(options, "00-" TRACE_ID "-b7ad6b7169203331-01");
    told_call = strstr(told, "\"kind\":\"call\"");
    CU_ASSERT_PTR_NOT_NULL(strstr(told, "\"parent_id\":\"b7ad6b7169203331\","
                                        "\"span_id\":\""));
    CU_ASSERT(tells_id(told_call, "span_id", 36, 16, call));
    CU_ASSERT_FALSE(tells_id(told, "parent_id", 36, 16, call));
    user_close();
    cpt_log_queue_free(options.spans);
}

/* With the kill switch, nothing is made; a trace that came is passed on, and told. */
static void test_ids_without_tracing(void)
{
    const struct cpt_transport_call *call = NULL;
    struct cpt_service_options options = never;

    CU_ASSERT_EQUAL(setenv("CPT_DISABLE", "1", 1), 0);
    call = user_open(options, NULL);
    CU_ASSERT_EQUAL(call->traceparent.bytes, 0);
    CU_ASSERT_PTR_NULL(strstr(told, "trace_id"));
    CU_ASSERT_PTR_NULL(strstr(told, "span_id"));
    CU_ASSERT_PTR_NULL(strstr(told, "parent_id"));
    user_close();
    call = user_open(options, "00-" TRACE_ID "-b7ad6b7169203331-01");
    CU_ASSERT_EQUAL(occurrences(told, TRACE_ID), 2);
    CU_ASSERT_EQUAL(occurrences(told, "b7ad6b7169203331"), 2);
    CU_ASSERT(tells_id(told, "span_id", 36, 16, call));
    user_close();
    (void)unsetenv("CPT_DISABLE");
}

/* --- A component --- */

CPT_VALUE(size, int);
CPT_VALUE(thumb, int);

static cpt_status have_thumb(struct cpt_task *task)
{
    *cpt_output(task, thumb) = 1;
    return CPT_OK;
}

static cpt_status scale(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "scaler", 20 * MS), have_thumb);
}

static const struct cpt_task_def thumb_tasks[] = {
    {"scale", scale, CPT_GIVES(thumb), CPT_NEEDS(size), {NULL}, NULL}};
static const struct cpt_graph thumb_graph = {"S", CPT_GIVES(size), CPT_GIVES(thumb),
                                             thumb_tasks, 1};
static struct cpt_plan *thumb_plan;

static cpt_status spawn_thumb(struct cpt_task *task)
{
    const int pixels = 64;

    return cpt_await(task, cpt_spawn(task, "thumb", thumb_plan, size, &pixels), render);
}

static const struct cpt_task_def gallery_tasks[] = {{"gallery",
                                                     spawn_thumb,
                                                     CPT_GIVES(rpc_reply),
                                                     CPT_NEEDS(rpc_request),
                                                     {NULL},
                                                     NULL}};
static const struct cpt_graph gallery_graph = {"S", CPT_GIVES(rpc_request),
                                               CPT_GIVES(rpc_reply), gallery_tasks, 1};

static void test_component(void)
{
    struct page_service page;
    struct cpt_plan *gallery = cpt_plan_new(&gallery_graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with(NULL);

    page_open(&page, always);
    thumb_plan = cpt_plan_new(&thumb_graph, NULL, NULL);
    CU_ASSERT_EQUAL(cpt_service_method_add(page.service, "/gallery", gallery, NULL),
                    CPT_OK);
    inbound.method = cpt_bytes_of("/gallery");
    cpt_service_serve(page.service, &inbound, count_answer, NULL);
    virtual_run_until(&now, now.now_ns + 5 * MS);
    CU_ASSERT_STRING_EQUAL(
        tell(page.service),
        "{\"service\":\"S\",\"requests\":["
        "{\"id\":1,\"method\":\"/gallery\",\"us\":5000,\"traced\":true,\"tasks\":["
        "{\"name\":\"S: gallery\",\"state\":\"waits\",\"for\":["
        "{\"kind\":\"run\",\"us\":5000,\"name\":\"S: thumb\",\"tasks\":["
        "{\"name\":\"S: scale\",\"state\":\"waits\",\"for\":["
        "{\"kind\":\"timer\",\"us\":5000,\"name\":\"S: scaler\"}]}]}]}]}],"
        "\"left_out\":0}\n");
    finish(1);
    page_close(&page);
    cpt_plan_free(gallery);
    cpt_plan_free(thumb_plan);
}

/* --- On real threads --- */

enum { ROUNDS = 2000 };

static atomic_bool is_over;

static cpt_status forget_text(void *context, const void *text, size_t bytes)
{
    (void)context;
    (void)text;
    (void)bytes;
    return CPT_OK;
}

static void *ask_all_the_time(void *context)
{
    while (!atomic_load(&is_over)) {
        (void)cpt_service_requests_json(context, &(struct cpt_sink){forget_text, NULL});
    }
    return NULL;
}

static cpt_status have_both(struct cpt_task *task)
{
    cpt_mutex_release(*cpt_state(task, struct cpt_pending *));
    return render(task);
}

static cpt_status spawn_both(struct cpt_task *task)
{
    const int pixels = 64;
    struct cpt_pending *thumb = cpt_spawn(task, "thumb", thumb_plan, size, &pixels);

    return cpt_await(task, thumb, have_both);
}

static cpt_status lock_first(struct cpt_task *task)
{
    struct cpt_pending **lock = cpt_state(task, struct cpt_pending *);

    *lock = cpt_mutex_acquire(task, cache);
    return cpt_await(task, *lock, spawn_both);
}

static cpt_status scale_at_once(struct cpt_task *task)
{
    return have_thumb(task);
}

static void run_beside_thread(double probability)
{
    static const struct cpt_task_def quick_tasks[] = {
        {"scale", scale_at_once, CPT_GIVES(thumb), CPT_NEEDS(size), {NULL}, NULL}};
    static const struct cpt_graph quick_graph = {"S", CPT_GIVES(size), CPT_GIVES(thumb),
                                                 quick_tasks, 1};
    static const struct cpt_task_def locked_tasks[] = {{"locked",
                                                        lock_first,
                                                        CPT_GIVES(rpc_reply),
                                                        CPT_NEEDS(rpc_request),
                                                        {NULL},
                                                        NULL}};
    static const struct cpt_graph locked_graph = {
        "S", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), locked_tasks, 1};
    struct cpt_executor *pool = cpt_pool_new(
        &(struct cpt_pool_options){.struct_bytes = sizeof(struct cpt_pool_options),
                                   .worker_count = 2},
        NULL);
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "S",
                                                .probability = probability,
                                                .timeout_ns = 60000 * (uint64_t)MS,
                                                .executor = pool};
    struct cpt_plan *plan = cpt_plan_new(&locked_graph, NULL, NULL);
    struct cpt_service *service = cpt_service_new(&options, NULL);
    struct cpt_inbound inbound = inbound_with(NULL);
    pthread_t thread;

    CU_ASSERT_FATAL(pool != NULL && service != NULL && plan != NULL);
    thumb_plan = cpt_plan_new(&quick_graph, NULL, NULL);
    cache = cpt_mutex_new("cache", NULL);
    CU_ASSERT_EQUAL(cpt_service_method_add(service, "/", plan, NULL), CPT_OK);
    atomic_store(&is_over, false);
    atomic_store(&answer_count, 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, ask_all_the_time, service), 0);
    for (int i = 0; i < ROUNDS; i++) {
        cpt_service_serve(service, &inbound, count_answer, NULL);
    }
    CU_ASSERT_EQUAL(cpt_service_drain(service, 60000 * (uint64_t)MS), CPT_OK);
    atomic_store(&is_over, true);
    (void)pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(atomic_load(&answer_count), ROUNDS);
    cpt_pool_free(pool);
    cpt_service_free(service);
    cpt_plan_free(plan);
    cpt_plan_free(thumb_plan);
    cpt_mutex_free(cache);
}

static void test_beside_threads(void)
{
    run_beside_thread(-1);
    run_beside_thread(1);
}

CU_TestInfo cpt_running_tests[] = {
    {"who waits for what, since when, and who holds the lock", test_told_exactly},
    {"the target that a call is at is told", test_picked_target},
    {"less is known of an untraced request", test_untraced},
    {"a call is told as it goes out, with its ids, without its query",
     test_call_that_goes_out},
    {"each call has an id of its own where spans are written", test_spans_of_calls},
    {"which ids there are without tracing", test_ids_without_tracing},
    {"more requests than are told", test_limit},
    {"a method's name from outside", test_hostile_method},
    {"no memory for the text", test_no_memory},
    {"the tasks of a component", test_component},
    {"asked all the time, while threads run requests", test_beside_threads},
    CU_TEST_INFO_NULL,
};
