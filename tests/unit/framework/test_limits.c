/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_limits.c - requests that a service refuses, its timeouts, and the deadlines that
 * its callees get */
#include "tests/unit/framework/service_pair.h"

#include "framework/run/deadline.h"
#include "framework/service/service.h"

#include <string.h>

enum { STUCK_MAX = 8 };

/* --- A method that is never ready --- */

static struct cpt_pending *stuck[STUCK_MAX];
static size_t stuck_count;

static cpt_status get_stuck(struct cpt_task *task)
{
    CU_ASSERT_FATAL(stuck_count < STUCK_MAX);
    stuck[stuck_count] = cpt_defer(task, "for ever");
    return cpt_await(task, stuck[stuck_count++], a_answer);
}

static const struct cpt_task_def stuck_tasks[] = {
    {"wait", get_stuck, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph stuck_graph = {"A", CPT_GIVES(rpc_request),
                                             CPT_GIVES(rpc_reply), stuck_tasks, 1};
static struct cpt_plan *stuck_plan;
static struct answer answers[STUCK_MAX];
static size_t asked_count;

static void note(void *context, const struct cpt_outbound *outbound)
{
    struct answer *noted = context;

    noted->count++;
    noted->http_status = outbound->http_status;
}

static void open_stuck(struct cpt_service_options options)
{
    memset(answers, 0, sizeof answers);
    stuck_count = 0;
    asked_count = 0;
    stuck_plan = cpt_plan_new(&stuck_graph, NULL, NULL);
    open_pair(options, never);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/stuck", stuck_plan, NULL), CPT_OK);
}

/* Sends one more request; the status of an immediate reply, else 0. */
static unsigned ask_method(const char *method)
{
    struct cpt_inbound inbound = inbound_with(NULL);
    struct answer *noted = &answers[asked_count++];

    inbound.method = cpt_bytes_of(method);
    cpt_service_serve(pair.a, &inbound, note, noted);
    virtual_run_until(&now, now.now_ns);
    return noted->http_status;
}

static unsigned ask_stuck(void)
{
    return ask_method("/stuck");
}

static void release(size_t index)
{
    cpt_complete(stuck[index], CPT_OK);
    virtual_run(&now);
}

static void close_stuck(void)
{
    for (size_t i = 0; i < asked_count; i++) {
        CU_ASSERT_EQUAL(answers[i].count, 1);
    }
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 5000000000U), CPT_OK);
    close_pair();
    cpt_plan_free(stuck_plan);
}

/* --- How many --- */

static void test_requests_in_flight(void)
{
    open_stuck(
        (struct cpt_service_options){.probability = -1, .requests_in_flight_max = 3});
    CU_ASSERT_EQUAL(ask_stuck(), 0);
    CU_ASSERT_EQUAL(ask_stuck(), 0);
    CU_ASSERT_EQUAL(ask_stuck(), 0); /* the limit */
    CU_ASSERT_EQUAL(ask_stuck(), 503);
    CU_ASSERT_EQUAL(ask_stuck(), 503);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_busy", NULL), 2);
    release(1);
    CU_ASSERT_EQUAL(answers[1].http_status, 200);
    CU_ASSERT_EQUAL(ask_stuck(), 0);
    CU_ASSERT_EQUAL(ask_stuck(), 503);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_busy", NULL), 3);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_memory", NULL), 0);
    release(0);
    release(2);
    release(3);
    close_stuck();
}

/* --- How much memory --- */

/* The memory of one stuck request. */
static size_t bytes_of_one(void)
{
    size_t bytes = 0;

    open_stuck(never);
    CU_ASSERT_EQUAL(ask_stuck(), 0);
    bytes = atomic_load(&pair.a->budget.used_bytes);
    release(0);
    close_stuck();
    return bytes;
}

static void memory_for(size_t bytes, size_t served)
{
    open_stuck((struct cpt_service_options){.probability = -1,
                                            .memory_in_flight_bytes_max = bytes});
    for (size_t i = 0; i < served; i++) {
        CU_ASSERT_EQUAL(ask_stuck(), 0);
    }
    CU_ASSERT_EQUAL(ask_stuck(), 503);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_busy", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_memory", NULL), 0);
    for (size_t i = 0; i < served; i++) {
        release(i);
    }
    CU_ASSERT_EQUAL(atomic_load(&pair.a->budget.used_bytes), 0);
    close_stuck();
}

/* One request finds no memory while another one exceeds the limit of requests. */
static char much[1 << 17];
static int is_scarce;
static struct answer answer_of_large;

static void *refuse_while_busy(void *context, void *memory, size_t bytes)
{
    const struct cpt_alloc *plain = cpt_alloc_default();

    (void)context;
    if (is_scarce && bytes != 0) {
        struct cpt_inbound large = inbound_with(NULL);

        is_scarce = 0;
        large.method = cpt_bytes_of("/stuck");
        large.body = (struct cpt_bytes){much, sizeof much};
        cpt_service_serve(pair.a, &large, note, &answer_of_large);
        return NULL;
    }
    return plain->resize(plain->context, memory, bytes);
}

/* Each gets its own reason. */
static void test_busy_or_out_of_memory(void)
{
    const struct cpt_alloc alloc = {refuse_while_busy, NULL};

    memset(&answer_of_large, 0, sizeof answer_of_large);
    open_stuck((struct cpt_service_options){
        .probability = -1, .alloc = &alloc, .memory_in_flight_bytes_max = sizeof much});
    is_scarce = 1;
    CU_ASSERT_EQUAL(ask_stuck(), 503);
    CU_ASSERT_EQUAL(is_scarce, 0);
    CU_ASSERT_EQUAL(answer_of_large.http_status, 503);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_busy", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_memory", NULL), 1);
    close_stuck();
}

static void test_memory_in_flight(void)
{
    const size_t one = bytes_of_one();

    CU_ASSERT_NOT_EQUAL_FATAL(one, 0);
    memory_for(one - 1, 0);
    memory_for(one, 1);
    memory_for(3 * one - 1, 2);
    memory_for(3 * one, 3);
    memory_for(3 * one + 1, 3);
}

/* The memory of its components counts for the request. */
struct large {
    char bytes[100000];
};
CPT_VALUE(large, struct large);

static cpt_status made_large(struct cpt_task *task)
{
    cpt_output(task, large)->bytes[0] = 1;
    return CPT_OK;
}

static cpt_status make_large(struct cpt_task *task)
{
    stuck[stuck_count] = cpt_defer(task, "for ever");
    return cpt_await(task, stuck[stuck_count++], made_large);
}

static const struct cpt_task_def large_tasks[] = {
    {"make", make_large, CPT_GIVES(large), {NULL}, {NULL}, NULL}};
static const struct cpt_graph large_graph = {"A", NULL, CPT_GIVES(large), large_tasks,
                                             1};
static struct cpt_plan *large_plan;

static cpt_status used_large(struct cpt_task *task)
{
    struct cpt_pending *pending = *cpt_state(task, struct cpt_pending *);

    return cpt_pending_status(pending) == CPT_OK ? a_answer(task)
                                                 : cpt_pending_status(pending);
}

static cpt_status get_large(struct cpt_task *task)
{
    struct cpt_pending **pending = cpt_state(task, struct cpt_pending *);

    *pending = cpt_task_spawn(task, "large", large_plan, NULL, NULL);
    return cpt_await(task, *pending, used_large);
}

static const struct cpt_task_def spawning_tasks[] = {
    {"get", get_large, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph spawning_graph = {
    "A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), spawning_tasks, 1};

/* Serves one request that spawns a large component; 1: it ran. */
static int serve_large(size_t bytes_max)
{
    struct cpt_plan *plan = NULL;
    int has_run = 0;

    large_plan = cpt_plan_new(&large_graph, NULL, NULL);
    plan = cpt_plan_new(&spawning_graph, NULL, NULL);
    open_stuck((struct cpt_service_options){.probability = -1,
                                            .memory_in_flight_bytes_max = bytes_max});
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/large", plan, NULL), CPT_OK);
    (void)ask_method("/large");
    has_run = stuck_count == 1;
    if (has_run) {
        CU_ASSERT_TRUE(atomic_load(&pair.a->budget.used_bytes) > sizeof(struct large));
        release(0);
    }
    CU_ASSERT_EQUAL(answers[0].http_status, has_run ? 200U : 503U);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_busy", NULL), (uint64_t)!has_run);
    CU_ASSERT_EQUAL(counter(pair.a, "failed", NULL), (uint64_t)!has_run);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_memory", NULL), 0);
    CU_ASSERT_EQUAL(atomic_load(&pair.a->budget.used_bytes), 0);
    close_stuck();
    cpt_plan_free(plan);
    cpt_plan_free(large_plan);
    return has_run;
}

static void test_memory_of_components(void)
{
    CU_ASSERT_TRUE(serve_large(0));
    CU_ASSERT_TRUE(serve_large(3 * sizeof(struct large)));
    CU_ASSERT_FALSE(serve_large(sizeof(struct large)));
}

/* --- How long --- */

static unsigned ask_for(const char *timeout)
{
    struct cpt_inbound inbound = inbound_with("1");

    inbound.method = cpt_bytes_of("/stuck");
    if (timeout != NULL) {
        inbound.timeout = cpt_bytes_of(timeout);
    }
    stuck_count = 0;
    ask(pair.a, &inbound);
    release(0);
    return answer.http_status;
}

static void test_timeout_of_the_service(void)
{
    const uint64_t begin_ns = 1000 * (uint64_t)MS;

    open_stuck((struct cpt_service_options){.probability = -1, .timeout_ns = 20 * MS});
    CU_ASSERT_EQUAL(ask_for(NULL), 504);
    CU_ASSERT_EQUAL(now.now_ns, begin_ns + 20 * MS);
    CU_ASSERT_STRING_EQUAL(answered_path(),
                           "A: /stuck;A: wait;A: for ever;A: ‹timeout› 20");
    CU_ASSERT_EQUAL(ask_for("5000"), 504); /* the caller's is smaller */
    CU_ASSERT_EQUAL(now.now_ns, begin_ns + 25 * MS);
    CU_ASSERT_EQUAL(ask_for("999999999999999"), 504); /* or it is not */
    CU_ASSERT_EQUAL(now.now_ns, begin_ns + 45 * MS);
    CU_ASSERT_EQUAL(counter(pair.a, "timed_out", NULL), 3);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_timeouts", NULL), 0);
    CU_ASSERT_EQUAL(ask_for("-5"), 504); /* or it is none */
    CU_ASSERT_EQUAL(now.now_ns, begin_ns + 65 * MS);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_timeouts", NULL), 1);
    asked_count = 0;
    close_stuck();
}

/* When the request ends, ms after it has come, that waits for ever but for the limit of
 * 20 ms that the service has; its client says that it waits 5 ms. */
static uint64_t stranger_waits(const char *peer, int is_forwarded, unsigned role,
                               const struct cpt_bytes *name)
{
    static const char *const networks[] = {"192.0.2.0/24", "dns:tools.shop", NULL};
    struct cpt_inbound inbound = inbound_with(NULL);
    uint64_t begin_ns = 0;
    uint64_t took_ns = 0;

    open_stuck((struct cpt_service_options){.role = role,
                                            .probability = -1,
                                            .trusted_networks = networks,
                                            .timeout_ns = 20 * MS});
    inbound.method = cpt_bytes_of("/stuck");
    inbound.timeout = cpt_bytes_of("5000");
    inbound.peer_address = cpt_bytes_of(peer);
    inbound.is_forwarded = is_forwarded;
    inbound.peer_names = name;
    inbound.peer_name_count = name != NULL;
    begin_ns = now.now_ns;
    ask(pair.a, &inbound);
    took_ns = now.now_ns - begin_ns;
    release(0);
    CU_ASSERT_EQUAL(answer.http_status, 504);
    CU_ASSERT_EQUAL(counter(pair.a, "untrusted_timeouts", NULL), took_ns == 20 * MS);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_timeouts", NULL), 0);
    asked_count = 0;
    close_stuck();
    return took_ns / MS;
}

/* Who may not ask an entry for a path does not tell it when to give up, either. */
static void test_timeout_of_strangers(void)
{
    const struct cpt_bytes known = cpt_bytes_of("dns:tools.shop");
    const struct cpt_bytes other = cpt_bytes_of("dns:evil.shop");

    CU_ASSERT_EQUAL(stranger_waits("192.0.2.1", 0, CPT_ROLE_ENTRY, NULL), 5);
    CU_ASSERT_EQUAL(stranger_waits("192.0.2.1", 1, CPT_ROLE_ENTRY, NULL), 20);
    CU_ASSERT_EQUAL(stranger_waits("127.0.0.1", 0, CPT_ROLE_ENTRY, NULL), 20);
    CU_ASSERT_EQUAL(stranger_waits("", 0, CPT_ROLE_ENTRY, NULL), 20);
    CU_ASSERT_EQUAL(stranger_waits("10.0.0.1", 0, CPT_ROLE_ENTRY, &known), 5);
    CU_ASSERT_EQUAL(stranger_waits("10.0.0.1", 1, CPT_ROLE_ENTRY, &known), 20);
    CU_ASSERT_EQUAL(stranger_waits("10.0.0.1", 0, CPT_ROLE_ENTRY, &other), 20);
    CU_ASSERT_EQUAL(stranger_waits("10.0.0.1", 1, CPT_ROLE_INNER, NULL), 5);
}

static void test_timeout_of_a_method(void)
{
    const struct cpt_method_options options = {.struct_bytes = sizeof options,
                                               .timeout_ns = 7 * MS};
    struct cpt_service_options inline_options = {.struct_bytes = sizeof inline_options,
                                                 .name = "A"};
    struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_service *service = NULL;
    struct cpt_error error = {0};

    open_stuck((struct cpt_service_options){.probability = -1, .timeout_ns = 20 * MS});
    CU_ASSERT_EQUAL(
        cpt_service_method_add_with(pair.a, "/soon", stuck_plan, &options, NULL),
        CPT_OK);
    inbound.method = cpt_bytes_of("/soon");
    ask(pair.a, &inbound);
    CU_ASSERT_EQUAL(answer.http_status, 504);
    CU_ASSERT_EQUAL(now.now_ns, 1007 * (uint64_t)MS);
    release(0);
    close_stuck();

    service = cpt_service_new(&inline_options, NULL);
    stuck_plan = cpt_plan_new(&stuck_graph, NULL, NULL);
    CU_ASSERT_EQUAL(
        cpt_service_method_add_with(service, "/soon", stuck_plan, &options, &error),
        CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "a timeout needs an executor with timers");
    cpt_service_free(service);
    cpt_plan_free(stuck_plan);
    inline_options.timeout_ns = MS;
    CU_ASSERT_PTR_NULL(cpt_service_new(&inline_options, NULL));
}

static void test_timeout_text(void)
{
    static const struct {
        const char *text;
        cpt_status status;
        uint64_t ns;
    } rows[] = {
        {"1", CPT_OK, 1000},
        {"0", CPT_OK, 1000}, /* it has expired, but not before it began */
        {"250000", CPT_OK, 250 * (uint64_t)MS},
        {"86399999999", CPT_OK, UINT64_C(86399999999000)},
        {"86400000000", CPT_OK, UINT64_C(86400000000000)}, /* a day, at most */
        {"86400000001", CPT_OK, UINT64_C(86400000000000)},
        {"999999999999999", CPT_OK, UINT64_C(86400000000000)},
        {"9999999999999999", CPT_CORRUPT, 0},
        {"", CPT_CORRUPT, 0},
        {"1.5", CPT_CORRUPT, 0},
        {"10m", CPT_CORRUPT, 0},
        {" 1", CPT_CORRUPT, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t ns = 0;

        CU_ASSERT_EQUAL(cpti_timeout_parse(cpt_bytes_of(rows[i].text), &ns),
                        rows[i].status);
        CU_ASSERT_EQUAL(ns, rows[i].ns);
    }
}

/* --- The deadline of the callee --- */

/* B is stuck. A has 20 ms, computes 2 ms and calls it; 1 ms of the way is lost to B. */
static void test_deadline_travels(void)
{
    struct cpt_graph graph = stuck_graph;
    struct cpt_plan *plan = NULL;

    graph.service = "B";
    plan = cpt_plan_new(&graph, NULL, NULL);
    open_pair((struct cpt_service_options){.probability = -1, .timeout_ns = 20 * MS},
              never);
    cpt_service_free(pair.b);
    pair.b = make_service(
        (struct cpt_service_options){.probability = -1, .role = CPT_ROLE_INNER}, "B",
        "/look", plan);
    net.services[0] = pair.b;
    stuck_count = 0;
    ask_a("1");
    CU_ASSERT_EQUAL(answer.http_status, 504);
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    CU_ASSERT_STRING_EQUAL(answered_path(),
                           "A: /;A: ask 2, A: /;A: ask;B: /look;B: ‹timeout› 18");
    CU_ASSERT_EQUAL(counter(pair.a, "callee_cancelled", "B: /look"), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "timed_out", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.b, "cancelled", NULL), 1);
    release(0);
    close_pair();
    cpt_plan_free(plan);
}

/* A log that is slow takes no memory from the requests that come. */
static void test_memory_of_records(void)
{
    open_pair(always, never);
    ask_a(NULL);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_EQUAL(atomic_load(&pair.a->budget.used_bytes), 0); /* written or not */
    CU_ASSERT_EQUAL(record_count(), 1);
    close_pair();
}

CU_TestInfo cpt_limits_tests[] = {
    {"records on their way to the log take no memory from requests",
     test_memory_of_records},
    {"requests in flight", test_requests_in_flight},
    {"memory in flight", test_memory_in_flight},
    {"busy or out of memory: each gets its own reason", test_busy_or_out_of_memory},
    {"memory of components in flight", test_memory_of_components},
    {"the timeout of a service", test_timeout_of_the_service},
    {"the timeout of strangers", test_timeout_of_strangers},
    {"the timeout of a method", test_timeout_of_a_method},
    {"cpt-timeout", test_timeout_text},
    {"a deadline is passed on", test_deadline_travels},
    CU_TEST_INFO_NULL,
};
