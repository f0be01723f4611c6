/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_failure.c - why a request failed: told, counted and recorded, traced or not */
#include "tests/unit/framework/service_pair.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- What the operator was told last --- */

static struct {
    int count;
    unsigned kind;
    unsigned http_status;
    char service[16];
    char method[32];
    char reason[16];
    char sentence[512];
    const char *outcome;
    uint64_t about;
    uint64_t untold;
} told;

static void note(void *context, const struct cpt_notice *notice)
{
    CU_ASSERT_PTR_EQUAL(context, &told);
    told.count++;
    told.kind = notice->kind;
    told.http_status = notice->http_status;
    (void)snprintf(told.service, sizeof told.service, "%.*s",
                   (int)notice->service.bytes, notice->service.data);
    (void)snprintf(told.method, sizeof told.method, "%.*s", (int)notice->method.bytes,
                   notice->method.data);
    (void)snprintf(told.reason, sizeof told.reason, "%s", notice->reason);
    (void)snprintf(told.sentence, sizeof told.sentence, "%.*s",
                   (int)notice->sentence.bytes, notice->sentence.data);
    told.outcome = notice->outcome;
    told.about = notice->count;
    told.untold = notice->untold_count;
}

/* --- Methods of A that fail --- */

static cpt_status fail_itself(struct cpt_task *task)
{
    return cpt_fail(task, CPT_IO, "the disk of %s is gone", "A");
}

static cpt_status answer_500(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->outcome = CPT_OUTCOME_INTERNAL;
    return CPT_OK;
}

static cpt_status answer_404(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->outcome = CPT_OUTCOME_NOT_FOUND;
    return CPT_OK;
}

/* As a service of gRPC does: a body of an error is its message. */
static cpt_status answer_no_stock(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->outcome = CPT_OUTCOME_UNAVAILABLE;
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("no stock\n");
    return CPT_OK;
}

static cpt_status take_too_much(struct cpt_task *task)
{
    while (cpt_task_memory(task, 1000) != NULL) {
    }
    return CPT_LIMIT;
}

static cpt_status return_status(struct cpt_task *task)
{
    const struct cpt_call_reply *reply = cpt_call_reply(a_call);

    (void)task;
    return reply->status != CPT_OK ? reply->status : CPT_FAILED;
}

static cpt_status call_and_return(struct cpt_task *task)
{
    a_call = cpt_call(task, &b_stub, cpt_bytes_of("fail"));
    return cpt_await(task, a_call, return_status);
}

static cpt_status answer_502(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->outcome = CPT_OUTCOME_UNAVAILABLE;
    return CPT_OK;
}

static cpt_status call_and_answer(struct cpt_task *task)
{
    a_call = cpt_call(task, &b_stub, cpt_bytes_of("fail"));
    return cpt_await(task, a_call, answer_502);
}

static cpt_status call_again(struct cpt_task *task)
{
    a_call = cpt_call_attempt(task, &b_stub, cpt_bytes_of("fine"), 2);
    return cpt_await(task, a_call, answer_500);
}

static cpt_status call_twice(struct cpt_task *task)
{
    a_call = cpt_call_attempt(task, &b_stub, cpt_bytes_of("fail"), 1);
    return cpt_await(task, a_call, call_again);
}

static cpt_status call_for_a_while(struct cpt_task *task)
{
    a_call = cpt_call(task, &b_stub, cpt_bytes_of("what"));
    return cpt_await_all_for(task, 4 * MS, return_status);
}

static struct cpt_transport_call *held_call;

static void hold_call(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    (void)transport;
    held_call = call;
}

/* As a transport whose stub has several targets. */
static void pick_and_send(struct cpt_transport *transport,
                          struct cpt_transport_call *call)
{
    cpt_transport_picked(call, cpt_bytes_of("b-1:80"));
    cpt_transport_picked(call, cpt_bytes_of("b-2:80"));
    loopback_send(transport, call);
}

static void pick_and_hold(struct cpt_transport *transport,
                          struct cpt_transport_call *call)
{
    cpt_transport_picked(call, cpt_bytes_of("b-1:80"));
    hold_call(transport, call);
}

/* --- Running them --- */

static struct cpt_log_reader *failed_record(struct cpt_record *record)
{
    struct cpt_log_reader *reader = read_record(0, record);

    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    return reader;
}

static const char *text_of(const struct cpt_record *record, const char *key)
{
    static char text[1024];
    const struct cpt_attribute *attribute =
        cpt_record_attribute(record, cpt_bytes_of(key));

    if (attribute == NULL || attribute->type != CPT_ATTRIBUTE_TEXT) {
        return "";
    }
    (void)snprintf(text, sizeof text, "%.*s", (int)attribute->value.text.bytes,
                   attribute->value.text.data);
    return text;
}

struct scene {
    cpt_task_fn run;
    unsigned http_status;
    const char *reason; /* NULL: it has not failed */
    const char *sentence;
    uint64_t timeout_ns;
    bool is_alone; /* B is not there */
    bool is_held;  /* B does not answer */
    void (*send)(struct cpt_transport *transport, struct cpt_transport_call *call);
    const char *outcome; /* the client speaks gRPC, and is answered this */
    void (*tamper)(void *context, struct cpt_transport_reply *reply);
};

static void check_record(const struct scene *scene)
{
    struct cpt_record record;
    struct cpt_log_reader *reader = failed_record(&record);

    CU_ASSERT_EQUAL(record.is_failed, scene->reason != NULL);
    if (scene->outcome != NULL) {
        CU_ASSERT(cpt_bytes_equal(record.status, cpt_bytes_of(scene->outcome)));
    }
    CU_ASSERT_STRING_EQUAL(text_of(&record, CPT_ATTRIBUTE_FAILURE),
                           scene->reason != NULL ? scene->reason : "");
    CU_ASSERT_STRING_EQUAL(text_of(&record, CPT_ATTRIBUTE_WHY),
                           scene->reason != NULL ? scene->sentence : "");
    cpt_log_reader_free(reader);
}

static void check_notice(const struct scene *scene)
{
    CU_ASSERT_EQUAL(answer.http_status, scene->http_status);
    CU_ASSERT_EQUAL(told.count, scene->reason != NULL);
    if (scene->reason != NULL) {
        CU_ASSERT_EQUAL(told.kind, CPT_NOTICE_FAILURE);
        CU_ASSERT_EQUAL(told.http_status, scene->http_status);
        CU_ASSERT_STRING_EQUAL(told.service, "A");
        CU_ASSERT_STRING_EQUAL(told.method, "/scene");
        CU_ASSERT_STRING_EQUAL(told.reason, scene->reason);
        CU_ASSERT_STRING_EQUAL(told.sentence, scene->sentence);
        CU_ASSERT_EQUAL(told.outcome == NULL, scene->outcome == NULL);
        CU_ASSERT(told.outcome == NULL || strcmp(told.outcome, scene->outcome) == 0);
        CU_ASSERT_EQUAL(counter(pair.a, "failures", scene->reason), 1);
    }
}

static void play(const struct scene *scene, bool is_traced)
{
    static const struct cpt_transport_reply late = {.status = CPT_OK,
                                                    .http_status = 200};
    const struct cpt_task_def tasks[] = {{"ask",
                                          scene->run,
                                          CPT_GIVES(rpc_reply),
                                          CPT_NEEDS(rpc_request),
                                          {NULL},
                                          NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_service_options options = is_traced ? always : never;
    struct cpt_inbound inbound = inbound_with(NULL);

    memset(&told, 0, sizeof told);
    held_call = NULL;
    options.notify = note;
    options.notify_context = &told;
    options.timeout_ns = scene->timeout_ns;
    options.memory_bytes_max = 100000;
    open_pair(options, (struct cpt_service_options){.probability = -1,
                                                    .notices_per_second_max = -1});
    net.service_count = scene->is_alone ? 0 : net.service_count;
    if (scene->is_held) {
        net.transport.send = hold_call;
    }
    if (scene->send != NULL) {
        net.transport.send = scene->send;
    }
    net.tamper = scene->tamper;
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/scene", plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of("/scene");
    inbound.has_outcomes = scene->outcome != NULL;
    ask(pair.a, &inbound);
    if (held_call != NULL) {
        cpt_transport_complete(held_call, &late);
        virtual_run(&now);
    }
    check_notice(scene);
    if (is_traced) {
        check_record(scene);
    }
    close_pair();
    cpt_plan_free(plan);
}

static void test_reasons(void)
{
    static const struct scene scenes[] = {
        {fail_itself, 500, "task", "task 'A: ask': the disk of A is gone", 0, 0, 0},
        {answer_500, 500, "answer", "task 'A: ask' answered 500", 0, 0, 0},
        {answer_404, 404, NULL, NULL, 0, 0, 0},
        {take_too_much, 503, "memory",
         "task 'A: ask': a configured limit was reached, it may take 100000 bytes", 0,
         0, 0},
        {call_and_return, 500, "callee",
         "task 'A: ask': a task or a callee failed, after 'B: /look' answered 500", 0,
         0, 0},
        {call_and_return, 502, "callee",
         "task 'A: ask': the callee could not be reached, after 'B: /look' could not "
         "be reached at B",
         0, true, 0},
        {call_and_answer, 502, "callee",
         "task 'A: ask' answered 502, after 'B: /look' answered 500", 0, 0, 0},
        {call_and_return, 500, "callee",
         "task 'A: ask': a task or a callee failed, after 'B: /look' at b-2:80 "
         "answered 500",
         0, 0, 0, pick_and_send},
        {call_and_return, 502, "callee",
         "task 'A: ask': the callee could not be reached, after 'B: /look' could not "
         "be reached at b-2:80",
         0, true, 0, pick_and_send},
        {call_for_a_while, 504, "callee",
         "task 'A: ask': the deadline passed, after 'B: /look' at b-1:80 had not "
         "answered after 4 ms",
         0, 0, true, pick_and_hold},
        {call_and_return, 504, "deadline",
         "the request took too long: task 'A: ask' waited for 'B: /look' at b-1:80, "
         "the deadline was 4 ms",
         4 * MS, 0, true, pick_and_hold},
        {call_twice, 500, "answer", "task 'A: ask' answered 500", 0, 0, 0},
        {call_for_a_while, 504, "callee",
         "task 'A: ask': the deadline passed, after 'B: /look' had not answered after "
         "4 ms",
         0, 0, true},
        {call_and_return, 504, "deadline",
         "the request took too long: task 'A: ask' waited for 'B: /look', the deadline "
         "was 20 ms",
         20 * MS, 0, true},
    };

    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        play(&scenes[i], true);
        play(&scenes[i], false);
    }
}

static void answer_not_found(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    *reply = (struct cpt_transport_reply){.status = CPT_OK,
                                          .outcome = CPT_OUTCOME_NOT_FOUND,
                                          .body = cpt_bytes_of("no item 7"),
                                          .message = cpt_bytes_of("no item 7")};
}

static void answer_unavailable(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    *reply = (struct cpt_transport_reply){.status = CPT_UNAVAILABLE,
                                          .outcome = CPT_OUTCOME_UNAVAILABLE,
                                          .message = cpt_bytes_of("refused")};
}

static void answer_data_loss(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    *reply = (struct cpt_transport_reply){.status = CPT_IO,
                                          .outcome = CPT_OUTCOME_DATA_LOSS,
                                          .message = cpt_bytes_of("")};
}

/* Over gRPC all is told in its words: of the answer, and of the callee. */
static void test_reasons_of_grpc(void)
{
    static const struct scene scenes[] = {
        {answer_no_stock, 502, "answer", "task 'A: ask' answered UNAVAILABLE: no stock",
         .outcome = "UNAVAILABLE"},
        {answer_500, 500, "answer", "task 'A: ask' answered INTERNAL",
         .outcome = "INTERNAL"},
        {answer_404, 404, NULL, NULL, .outcome = "NOT_FOUND"},
        {fail_itself, 500, "task", "task 'A: ask': the disk of A is gone",
         .outcome = "UNKNOWN"},
        {call_and_return, 500, "callee",
         "task 'A: ask': a task or a callee failed, after 'B: /look' answered "
         "NOT_FOUND: no item 7",
         .outcome = "UNKNOWN", .tamper = answer_not_found},
        /* the client of HTTP, the callee of gRPC */
        {call_and_return, 500, "callee",
         "task 'A: ask': a task or a callee failed, after 'B: /look' answered "
         "NOT_FOUND: no item 7",
         .tamper = answer_not_found},
        {call_and_return, 502, "callee",
         "task 'A: ask': the callee could not be reached, after 'B: /look' could not "
         "be reached at B: UNAVAILABLE: refused",
         .outcome = "UNAVAILABLE", .tamper = answer_unavailable},
        {call_and_return, 500, "callee",
         "task 'A: ask': the operating system reported an error, after the call of "
         "'B: /look' failed: the operating system reported an error: DATA_LOSS",
         .outcome = "UNKNOWN", .tamper = answer_data_loss},
    };

    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        play(&scenes[i], true);
        play(&scenes[i], false);
    }
}

/* A request that failed within a component says what failed there. */
static void test_callee_of_a_component(void)
{
    const struct cpt_task_def inner_tasks[] = {{"fetch",
                                                call_and_return,
                                                CPT_GIVES(rpc_reply),
                                                CPT_NEEDS(rpc_request),
                                                {NULL},
                                                NULL}};
    const struct cpt_graph inner = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    inner_tasks, 1};
    const struct cpt_task_def tasks[] = {{"part",
                                          NULL,
                                          CPT_GIVES(rpc_reply),
                                          CPT_NEEDS(rpc_request),
                                          {NULL},
                                          NULL,
                                          .component = &inner}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};
    struct cpt_service_options options = never;

    memset(&told, 0, sizeof told);
    options.notify = note;
    options.notify_context = &told;
    open_pair(options, (struct cpt_service_options){.probability = -1,
                                                    .notices_per_second_max = -1});
    ask_graph("/component", &graph);
    CU_ASSERT_STRING_EQUAL(told.reason, "callee");
    CU_ASSERT_STRING_EQUAL(
        told.sentence,
        "task 'A: part': task 'A: fetch': a task or a callee failed, after 'B: /look' "
        "answered 500");
    close_pair();
}

/* --- How often --- */

static void test_notices_are_limited(void)
{
    struct cpt_service_options options = {
        .probability = -1, .notify = note, .notify_context = &told};
    struct cpt_inbound inbound = inbound_with(NULL);

    memset(&told, 0, sizeof told);
    open_pair(never, options);
    inbound.method = cpt_bytes_of("/look");
    inbound.body = cpt_bytes_of("fail");
    for (int i = 0; i < 4; i++) {
        ask(pair.b, &inbound);
    }
    CU_ASSERT_EQUAL(told.count, 1);
    CU_ASSERT_EQUAL(told.untold, 0);
    now.now_ns += 1500 * (uint64_t)MS;
    ask(pair.b, &inbound);
    CU_ASSERT_EQUAL(told.count, 2);
    CU_ASSERT_EQUAL(told.untold, 3);
    ask(pair.b, &inbound);
    ask(pair.b, &inbound);
    CU_ASSERT_EQUAL(told.count, 2);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.b, 5000000000U), CPT_OK);
    CU_ASSERT_EQUAL(told.count, 3);
    CU_ASSERT_EQUAL(told.about, 2);
    CU_ASSERT_EQUAL(counter(pair.b, "failures", "task"), 7);
    close_pair();
}

/* What a transport refuses is limited, too, by reason. */
static void test_refusals_of_a_transport(void)
{
    struct cpt_service_options options = {
        .probability = -1, .notify = note, .notify_context = &told};
    const struct cpt_bytes none = {NULL, 0};
    const struct cpt_bytes why = cpt_bytes_of("why");

    memset(&told, 0, sizeof told);
    open_pair(never, options);
    for (int i = 0; i < 3; i++) {
        cpt_service_refused(pair.b, CPT_REFUSAL_SLOW, 408, none, why);
    }
    CU_ASSERT_EQUAL(told.count, 1);
    CU_ASSERT_EQUAL(told.kind, CPT_NOTICE_REFUSAL);
    CU_ASSERT_EQUAL(told.http_status, 408);
    CU_ASSERT_STRING_EQUAL(told.service, "B");
    CU_ASSERT_STRING_EQUAL(told.reason, "slow");
    CU_ASSERT_STRING_EQUAL(told.sentence, "why");
    cpt_service_refused(pair.b, CPT_REFUSAL_FULL, 503, none, why);
    CU_ASSERT_EQUAL(told.count, 2);
    CU_ASSERT_STRING_EQUAL(told.reason, "full");
    cpt_service_refused(pair.b, 4711, 400, cpt_bytes_of("/x"), why); /* a later one */
    CU_ASSERT_STRING_EQUAL(told.reason, "malformed");
    CU_ASSERT_STRING_EQUAL(told.method, "/x");
    CU_ASSERT_EQUAL(cpt_service_drain(pair.b, 5000000000U), CPT_OK);
    CU_ASSERT_EQUAL(told.count, 4);
    CU_ASSERT_STRING_EQUAL(told.reason, "slow");
    CU_ASSERT_EQUAL(told.about, 2);
    close_pair();
}

/* --- In the record --- */

static cpt_status note_all_and_fail(struct cpt_task *task)
{
    struct cpt_request *request = cpt_task_request(task);
    char key[16];

    for (int i = 0; i < CPT_ATTRIBUTES_MAX; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        cpt_request_set_integer(request, key, i);
    }
    return fail_itself(task);
}

static cpt_status name_own_reason(struct cpt_task *task)
{
    cpt_request_set_text(cpt_task_request(task), CPT_ATTRIBUTE_FAILURE, "out of stock");
    return fail_itself(task);
}

static void record_of(cpt_task_fn run, struct cpt_service_options options, size_t count,
                      const char *reason, const char *sentence)
{
    const struct cpt_task_def tasks[] = {
        {"ask", run, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    options.notices_per_second_max = -1;
    open_pair(options, never);
    ask_graph("/record", &graph);
    reader = failed_record(&record);
    CU_ASSERT_EQUAL(record.attribute_count, count);
    CU_ASSERT_STRING_EQUAL(text_of(&record, CPT_ATTRIBUTE_FAILURE), reason);
    CU_ASSERT_STRING_EQUAL(text_of(&record, CPT_ATTRIBUTE_WHY), sentence);
    cpt_log_reader_free(reader);
    close_pair();
}

static void test_attributes_of_a_failure(void)
{
    static const char *const dropped[] = {CPT_ATTRIBUTE_WHY, NULL};
    struct cpt_service_options discreet = always;

    discreet.dropped_attributes = dropped;
    record_of(note_all_and_fail, always, CPT_ATTRIBUTES_MAX + 2, "task",
              "task 'A: ask': the disk of A is gone");
    record_of(name_own_reason, always, 2, "out of stock",
              "task 'A: ask': the disk of A is gone");
    record_of(fail_itself, discreet, 1, "task", "");
}

/* --- The log --- */

static cpt_status refuse_block(void *context, const void *block, size_t bytes)
{
    (void)context;
    (void)block;
    (void)bytes;
    return CPT_FAILED;
}

static void test_losses_of_the_log(void)
{
    const struct cpt_log_queue_options options = {.struct_bytes = sizeof options,
                                                  .sink = refuse_block,
                                                  .notify = note,
                                                  .notify_context = &told};
    const struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_service_options a = always;

    memset(&told, 0, sizeof told);
    open_pair(never, never);
    a.log = cpt_log_queue_new(&options, NULL);
    cpt_service_free(pair.a);
    pair.a = make_service(a, "A", "/", pair.a_plan);
    ask(pair.a, &inbound);
    cpt_log_queue_flush(a.log);
    CU_ASSERT_EQUAL(counter(pair.a, "log_records_lost", NULL), 1);
    cpt_log_queue_free(a.log);
    CU_ASSERT_EQUAL(told.count, 1);
    CU_ASSERT_EQUAL(told.kind, CPT_NOTICE_LOG_LOSS);
    CU_ASSERT_EQUAL(told.about, 1);
    CU_ASSERT_STRING_EQUAL(told.reason, "sink");
    close_pair();
}

/* --- The default: a line to standard error --- */

static void test_line_on_standard_error(void)
{
    struct cpt_notice notice = {
        .kind = CPT_NOTICE_FAILURE,
        .http_status = 504,
        .service = cpt_bytes_of("A"),
        .method = cpt_bytes_of("/look\n"),
        .reason = "deadline",
        .sentence = cpt_bytes_of("late; \\x3b\x1b[2J"),
        .count = 1,
        .untold_count = 7,
    };
    const int kept = dup(STDERR_FILENO);
    char line[512] = "";
    int ends[2];

    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)dup2(ends[1], STDERR_FILENO);
    cpt_notice_print(NULL, &notice);
    CU_ASSERT(read(ends[0], line, sizeof line - 1) > 0);
    CU_ASSERT_STRING_EQUAL(line, "cpt: A: /look\\x0a failed with 504 (deadline): "
                                 "late; \\x5cx3b\\x1b[2J; 7 more like it\n");
    notice = (struct cpt_notice){.kind = CPT_NOTICE_FAILURE,
                                 .http_status = 504,
                                 .outcome = "DEADLINE_EXCEEDED",
                                 .service = cpt_bytes_of("A"),
                                 .method = cpt_bytes_of("/t.G/Find"),
                                 .reason = "deadline",
                                 .sentence = cpt_bytes_of("late")};
    cpt_notice_print(NULL, &notice);
    memset(line, 0, sizeof line);
    CU_ASSERT(read(ends[0], line, sizeof line - 1) > 0);
    CU_ASSERT_STRING_EQUAL(
        line, "cpt: A: /t.G/Find failed with DEADLINE_EXCEEDED (deadline): late\n");
    notice = (struct cpt_notice){.kind = CPT_NOTICE_REFUSAL,
                                 .http_status = 408,
                                 .service = cpt_bytes_of("A"),
                                 .reason = "slow",
                                 .sentence = cpt_bytes_of("why")};
    cpt_notice_print(NULL, &notice);
    memset(line, 0, sizeof line);
    CU_ASSERT(read(ends[0], line, sizeof line - 1) > 0);
    CU_ASSERT_STRING_EQUAL(line, "cpt: A: a client was refused with 408 (slow): why\n");
    notice.http_status = 0;
    cpt_notice_print(NULL, &notice);
    memset(line, 0, sizeof line);
    CU_ASSERT(read(ends[0], line, sizeof line - 1) > 0);
    CU_ASSERT_STRING_EQUAL(line, "cpt: A: a client was refused (slow): why\n");
    for (int i = 0; i < 2000; i++) { /* more than a pipe holds */
        cpt_notice_print(NULL, &notice);
    }
    (void)close(ends[0]);
    cpt_notice_print(NULL, &notice); /* no SIGPIPE */
    (void)close(STDERR_FILENO);
    cpt_notice_print(NULL, &notice);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    (void)close(ends[1]);
}

/* --- A call that fails when its task has ended (the thread sanitizer looks) --- */

static pthread_t failing_thread;

static void *fail_call(void *call)
{
    const struct cpt_transport_reply reply = {.status = CPT_UNAVAILABLE};

    cpt_transport_complete(call, &reply);
    return NULL;
}

static void fail_on_a_thread(struct cpt_transport *transport,
                             struct cpt_transport_call *call)
{
    (void)transport;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&failing_thread, NULL, fail_call, call), 0);
}

static cpt_status call_and_end(struct cpt_task *task)
{
    static struct cpt_transport transport = {.name = "lost", .send = fail_on_a_thread};
    static struct cpt_stub stub = {
        .name = "B: /look", .target = "b", .method = "/look", .transport = &transport};

    (void)cpt_call(task, &stub, cpt_bytes_of(""));
    return CPT_OK;
}

static void test_call_outlives_its_task(void)
{
    const struct cpt_task_def tasks[] = {
        {.name = "ask", .run = call_and_end, .gives = CPT_GIVES(rpc_reply)}};
    const struct cpt_graph graph = {"A", NULL, CPT_GIVES(rpc_reply), tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

    for (int i = 0; i < 50; i++) {
        const struct cpt_request_options options = {
            .struct_bytes = sizeof options, .plan = plan, .is_traced = i % 2};

        CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, NULL, NULL), CPT_OK);
        (void)pthread_join(failing_thread, NULL);
    }
    cpt_plan_free(plan);
}

CU_TestInfo cpt_failure_tests[] = {
    {"why a request failed", test_reasons},
    {"the same over gRPC", test_reasons_of_grpc},
    {"a call that failed within a component", test_callee_of_a_component},
    {"each reason is told once a second", test_notices_are_limited},
    {"what a transport refuses is told", test_refusals_of_a_transport},
    {"the record has room for the reason", test_attributes_of_a_failure},
    {"losses of the log are told", test_losses_of_the_log},
    {"a call fails after its task has ended", test_call_outlives_its_task},
    {"a line on standard error waits for nothing", test_line_on_standard_error},
    CU_TEST_INFO_NULL,
};
