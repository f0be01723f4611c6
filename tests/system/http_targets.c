/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_targets.c - calls of stubs with several targets: spread, dead, stalled, not
 * ready, tried again elsewhere */
#include "http_targets.h"
#include "http_suites.h"

#include <stdlib.h>
#include <sys/socket.h>

static void count_notice(void *context, const struct cpt_notice *notice)
{
    struct told *told = context;

    if (notice->kind != CPT_NOTICE_TARGET || notice->sentence.bytes == 0) {
        return;
    }
    told->ejected += strcmp(notice->reason, "ejected") == 0;
    told->returned += strcmp(notice->reason, "returned") == 0;
    told->unready += strcmp(notice->reason, "unready") == 0;
    told->ready += strcmp(notice->reason, "ready") == 0;
}

/* A loop whose stubs have several targets. */
static void loop_start(struct test_loop *loop, const struct cpt_target_options *targets)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof options,
                                             .targets = targets};

    test_loop_make(loop, &options);
    test_loop_start(loop);
}

struct cpt_target_options options_of(struct told *told)
{
    memset(told, 0, sizeof *told);
    return (struct cpt_target_options){.struct_bytes =
                                           sizeof(struct cpt_target_options),
                                       .seed = 1,
                                       .notify = count_notice,
                                       .notify_context = told};
}

/* A port that nothing listens on. */
static uint16_t dead_port(void)
{
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve_reply, A_REPLY);
    stand_in_stop(&stand_in);
    return stand_in.port;
}

/* Calls @target until *@number is above 0; false: it never is. */
static bool call_until(struct test_loop *loop, const char *target, atomic_uint *number)
{
    for (unsigned i = 0; atomic_load(number) == 0 && i < PATIENCE_MS; i++) {
        (void)call_status(loop, target);
        test_sleep_ns(MS);
    }
    return atomic_load(number) > 0;
}

static void test_spread(void)
{
    struct call_request request = {.count = 32};
    struct call_result result;
    struct stand_in a;
    struct stand_in b;
    struct test_loop loop;
    char list[160];

    stand_in_start(&a, serve_reply, A_REPLY);
    stand_in_start(&b, serve_reply, B_REPLY);
    (void)snprintf(list, sizeof list, "%s, 127.0.0.1:%u", a.target, (unsigned)b.port);
    loop_start(&loop, NULL);
    request.stub.target = list;
    call_out(&loop, &request, NULL, &result);
    for (unsigned i = 0; i < request.count; i++) {
        CU_ASSERT_EQUAL(result.statuses[i], CPT_OK);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&a);
    stand_in_stop(&b);
    /* of two, the one with fewer calls gets the next */
    CU_ASSERT_TRUE(atomic_load(&a.request_count) >= 12);
    CU_ASSERT_EQUAL(atomic_load(&a.request_count) + atomic_load(&b.request_count), 32);
}

/* A call that cannot connect goes to another target; then no call tries the first. */
static void test_dead(void)
{
    struct told told;
    const struct cpt_target_options targets = options_of(&told);
    struct stand_in b;
    struct test_loop loop;
    char list[160];
    uint64_t moved = 0;

    stand_in_start(&b, serve_reply, B_REPLY);
    (void)snprintf(list, sizeof list, "127.0.0.1:%u,%s", (unsigned)dead_port(),
                   b.target);
    loop_start(&loop, &targets);
    for (unsigned i = 0; i < 50; i++) {
        CU_ASSERT_EQUAL(call_status(&loop, list), CPT_OK);
    }
    moved = test_counter(&loop, "http_calls_moved");
    CU_ASSERT_TRUE(moved >= 5 && moved < 20); /* more if it is probed meanwhile */
    CU_ASSERT_EQUAL(told.ejected, 1);
    CU_ASSERT_EQUAL(told.returned, 0);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&b);
    CU_ASSERT_EQUAL(atomic_load(&b.request_count), 50);
}

static void test_all_dead(void)
{
    struct told told;
    const struct cpt_target_options targets = options_of(&told);
    struct test_loop loop;
    char list[160];

    (void)snprintf(list, sizeof list, "127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u",
                   (unsigned)dead_port(), (unsigned)dead_port(), (unsigned)dead_port());
    loop_start(&loop, &targets);
    for (unsigned i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL(call_status(&loop, list), CPT_UNAVAILABLE);
    }
    CU_ASSERT_TRUE(test_counter(&loop, "http_calls_moved") <= 20 * 3);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
}

static void test_bad_lists(void)
{
    static const char *const bad[] = {
        ",",       "a:1,",    ",a:1",          "a:1,,b:1",
        "a:1 b:2", "a:1,b:x", "ftp://a:1,b:2", "a:1,b:2/x"};
    struct test_loop loop;
    char *list = calloc(1, CPT_TARGETS_TEXT_BYTES_MAX + 2);
    size_t bytes = 0;

    loop_start(&loop, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CU_ASSERT_EQUAL(call_status(&loop, bad[i]), CPT_INVALID);
    }
    for (unsigned i = 0; i < CPT_TARGETS_MAX; i++) {
        bytes += (size_t)snprintf(list + bytes, 16, "%s127.0.0.1:1", i > 0 ? "," : "");
    }
    CU_ASSERT_EQUAL(call_status(&loop, list), CPT_UNAVAILABLE);
    (void)snprintf(list + bytes, 16, ",127.0.0.1:1");
    CU_ASSERT_EQUAL(call_status(&loop, list), CPT_INVALID);
    memset(list, 'a', CPT_TARGETS_TEXT_BYTES_MAX + 1);
    CU_ASSERT_EQUAL(call_status(&loop, list), CPT_INVALID);
    free(list);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
}

static void test_bad_options(void)
{
    struct cpt_target_options targets = {.struct_bytes = sizeof targets,
                                         .check_path = "/readyz HTTP/1.1\r\nX: y"};
    const struct cpt_http_options options = {.struct_bytes = sizeof options,
                                             .targets = &targets};
    struct cpt_error error = {0};

    CU_ASSERT_PTR_NULL(cpt_http_new(&options, &error));
    CU_ASSERT_EQUAL(error.status, CPT_INVALID);
    targets.check_path = NULL;
    targets.struct_bytes = 0;
    CU_ASSERT_PTR_NULL(cpt_http_new(&options, &error));
    CU_ASSERT_EQUAL(error.status, CPT_INVALID);
}

static atomic_bool is_busy;

static void serve_moody(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    while (stand_in_read(stand_in, descriptor)) {
        raw_write(descriptor, atomic_load(&is_busy) ? BUSY : stand_in->reply);
    }
}

/* 503 ejects, and success brings back. */
static void test_busy(void)
{
    struct told told;
    struct cpt_target_options targets = options_of(&told);
    struct stand_in a;
    struct stand_in b;
    struct test_loop loop;
    char list[160];

    atomic_store(&is_busy, true);
    targets.ejected_ns = 20 * MS;
    stand_in_start(&a, serve_moody, A_REPLY);
    stand_in_start(&b, serve_reply, B_REPLY);
    (void)snprintf(list, sizeof list, "%s,%s", a.target, b.target);
    loop_start(&loop, &targets);
    CU_ASSERT_TRUE(call_until(&loop, list, &told.ejected));
    CU_ASSERT_EQUAL(told.returned, 0);
    atomic_store(&is_busy, false);
    CU_ASSERT_TRUE(call_until(&loop, list, &told.returned));
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&a);
    stand_in_stop(&b);
}

static void serve_checks(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    char head[256];
    ssize_t got = 0;

    (void)nth;
    while ((got = recv(descriptor, head, sizeof head - 1, 0)) > 0) {
        head[got] = '\0';
        if (strncmp(head, "GET /readyz ", 12) != 0) {
            atomic_fetch_add(&stand_in->request_count, 1);
            raw_write(descriptor, stand_in->reply);
        } else {
            raw_write(descriptor, atomic_load(&is_busy) ? BUSY : A_REPLY);
        }
    }
}

static void test_checks(void)
{
    struct told told;
    struct cpt_target_options targets = options_of(&told);
    struct stand_in a;
    struct stand_in b;
    struct test_loop loop;
    char list[160];
    unsigned before = 0;

    atomic_store(&is_busy, true);
    targets.check_path = "/readyz";
    targets.check_ns = 20 * MS;
    stand_in_start(&a, serve_checks, A_REPLY);
    stand_in_start(&b, serve_reply, B_REPLY);
    (void)snprintf(list, sizeof list, "%s,%s", a.target, b.target);
    loop_start(&loop, &targets);
    CU_ASSERT_TRUE(call_until(&loop, list, &told.unready));
    before = atomic_load(&a.request_count);
    for (unsigned i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL(call_status(&loop, list), CPT_OK);
    }
    CU_ASSERT_EQUAL(atomic_load(&a.request_count), before);
    atomic_store(&is_busy, false);
    CU_ASSERT_TRUE(call_until(&loop, list, &told.ready));
    for (unsigned i = 0; i < 100; i++) {
        CU_ASSERT_EQUAL(call_status(&loop, list), CPT_OK);
    }
    CU_ASSERT_TRUE(atomic_load(&a.request_count) > before);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&a);
    stand_in_stop(&b);
}

/* --- Further attempts --- */

CPT_VALUE(letter, char);
CPT_VALUE(question, int);

cpt_status take_letter(struct cpt_task *task, const struct cpt_call_reply *reply)
{
    *cpt_output(task, letter) = reply->body.bytes != 0 ? reply->body.data[0] : '-';
    return CPT_OK;
}

char run_row(struct test_loop *loop, struct cpt_call_row *row)
{
    const struct cpt_task_def tasks[] = {{.name = "row",
                                          .run = cpt_call_run,
                                          .gives = CPT_GIVES(letter),
                                          CPT_NEEDS_NOTHING,
                                          .context = row}};
    const struct cpt_graph graph = {"T", CPT_GIVES(question), CPT_GIVES(letter), tasks,
                                    1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const int input = 0;
    char result = '!';
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .plan = plan,
                                          .executor = cpt_http_executor(loop->http),
                                          .input = &input};
    cpt_status status = CPT_OK;

    status = cpt_request_run(&options, &result, NULL, NULL);
    cpt_plan_free(plan);
    return status == CPT_OK ? result : '!';
}

static void serve_nothing(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    while (stand_in_read(stand_in, descriptor)) {
    }
}

/* Whatever the first attempt meets, the second is at the other target. */
static void try_row(stand_in_fn serve, struct cpt_call_row row)
{
    struct told told;
    struct cpt_target_options targets = options_of(&told);
    struct stand_in a;
    struct stand_in b;
    struct test_loop loop;
    char list[160];
    struct cpt_stub stub = {.name = "S: /", .target = list, .method = "/"};

    targets.failure_count_max = 1000; /* none is ejected */
    stand_in_start(&a, serve, BUSY);
    stand_in_start(&b, serve_reply, B_REPLY);
    (void)snprintf(list, sizeof list, "%s,%s", a.target, b.target);
    loop_start(&loop, &targets);
    stub.transport = cpt_http_transport(loop.http);
    row.stub = &stub;
    row.decode = take_letter;
    row.extra_percent_max = 100;
    for (unsigned i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL(run_row(&loop, &row), 'b');
    }
    CU_ASSERT_EQUAL(told.ejected, 0);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&a);
    stand_in_stop(&b);
    CU_ASSERT_TRUE(atomic_load(&a.request_count) > 0);
}

static void test_retry(void)
{
    try_row(serve_reply,
            (struct cpt_call_row){.retry_count_max = 1, .backoff_ns = 1 * MS});
}

static void test_hedge(void)
{
    try_row(serve_nothing, (struct cpt_call_row){.hedge_ns = 2 * MS});
}

/* A target that never answers loses to each hedge, which cancels its call. */
static void test_stalled(void)
{
    struct told told;
    const struct cpt_target_options targets = options_of(&told);
    struct stand_in a;
    struct stand_in b;
    struct test_loop loop;
    char list[160];
    struct cpt_stub stub = {.name = "S: /", .target = list, .method = "/"};
    struct cpt_call_row row = {.stub = &stub,
                               .decode = take_letter,
                               .hedge_ns = 2 * MS,
                               .extra_percent_max = 100};

    stand_in_start(&a, serve_nothing, NULL);
    stand_in_start(&b, serve_reply, B_REPLY);
    (void)snprintf(list, sizeof list, "%s,%s", a.target, b.target);
    loop_start(&loop, &targets);
    stub.transport = cpt_http_transport(loop.http);
    for (unsigned i = 0; told.ejected == 0 && i < 1000; i++) {
        CU_ASSERT_EQUAL(run_row(&loop, &row), 'b');
    }
    CU_ASSERT_EQUAL(told.ejected, 1);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&a);
    stand_in_stop(&b);
}

/* --- Tracing changes nothing --- */

static void letters_of(bool is_traced, const char *list, char letters[41])
{
    struct told told;
    struct cpt_target_options targets = options_of(&told);
    struct call_request request = {.is_traced = is_traced};
    struct call_result result;
    struct test_loop loop;

    targets.seed = 77;
    loop_start(&loop, &targets);
    request.stub.target = list;
    for (unsigned i = 0; i < 40; i++) {
        call_out(&loop, &request, NULL, &result);
        letters[i] = result.bodies[0][0];
        CU_ASSERT_TRUE(!is_traced || result.is_path_good);
    }
    letters[40] = '\0';
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
}

static void test_traced(void)
{
    struct stand_in a;
    struct stand_in b;
    char list[160];
    char traced[41];
    char untraced[41];

    stand_in_start(&a, serve_reply, A_REPLY);
    stand_in_start(&b, serve_reply, B_REPLY);
    (void)snprintf(list, sizeof list, "%s,%s", a.target, b.target);
    letters_of(true, list, traced);
    letters_of(false, list, untraced);
    CU_ASSERT_STRING_EQUAL(traced, untraced);
    CU_ASSERT_PTR_NOT_NULL(strchr(traced, 'a'));
    CU_ASSERT_PTR_NOT_NULL(strchr(traced, 'b'));
    stand_in_stop(&a);
    stand_in_stop(&b);
}

/* --- What operators see --- */

struct seen {
    char text[4096];
};

static void note_target(void *context, const struct cpt_counter *counter)
{
    struct seen *seen = context;
    const size_t bytes = strlen(seen->text);

    if (counter->label != NULL && strcmp(counter->label, "target") == 0) {
        (void)snprintf(seen->text + bytes, sizeof seen->text - bytes, "%s %.*s %llu\n",
                       counter->name, (int)counter->member.bytes, counter->member.data,
                       (unsigned long long)counter->value);
    }
}

static void test_counters(void)
{
    struct told told;
    const struct cpt_target_options targets = options_of(&told);
    struct stand_in b;
    struct test_loop loop;
    struct seen seen = {""};
    const uint16_t dead = dead_port();
    char list[160];
    char line[160];

    stand_in_start(&b, serve_reply, B_REPLY);
    (void)snprintf(list, sizeof list, "127.0.0.1:%u,%s", (unsigned)dead, b.target);
    loop_start(&loop, &targets);
    CU_ASSERT_TRUE(call_until(&loop, list, &told.ejected));
    cpt_http_counters(loop.http, note_target, &seen);
    (void)snprintf(line, sizeof line, "http_target_ejections 127.0.0.1:%u 1\n",
                   (unsigned)dead);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.text, line));
    (void)snprintf(line, sizeof line, "http_target_usable 127.0.0.1:%u 0\n",
                   (unsigned)dead);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.text, line));
    (void)snprintf(line, sizeof line, "http_target_usable %s 1\n", b.target);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.text, line));
    (void)snprintf(line, sizeof line, "http_target_in_flight %s 0\n", b.target);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.text, line));
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&b);
}

CU_TestInfo http_targets_tests[] = {
    {"calls are spread over a list of targets", test_spread},
    {"a call that cannot connect goes to another target", test_dead},
    {"if nothing can be connected to, a call ends", test_all_dead},
    {"a malformed list, or one that is too long, is refused", test_bad_lists},
    {"options of targets that are wrong are refused", test_bad_options},
    {"a target that answers 503 is ejected, and returns", test_busy},
    {"a target that says it is not ready gets no calls", test_checks},
    {"a retry goes to another target", test_retry},
    {"a hedge goes to another target", test_hedge},
    {"a target that only loses to hedges is ejected", test_stalled},
    {"tracing changes no choice", test_traced},
    {"targets are counted one by one", test_counters},
    CU_TEST_INFO_NULL,
};
