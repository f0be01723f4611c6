/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_call_rows.c - a call as one row of a graph: see cpt_calls.h
 *
 * A's graph is one call of B's /work, which takes the ms that its body says, and a task
 * that answers with what the call gave. What the rows do on the path is compared with
 * what test_hedge.c and test_repeats.c expect of steps.
 */
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_calls.h"

#include <stdlib.h>
#include <string.h>

#define WORK  "A: /r;A: price;B: /work;B: work;B: disk "
#define CALL  "A: /r;A: price;B: /work;B: "
#define AFTER ", A: /r;A: answer 1"

struct price {
    int64_t cents;
};

CPT_VALUE(price, struct price);

/* --- B: what it is asked, attempt by attempt --- */

static struct {
    const char *ms[8];      /* the body of each attempt, in order */
    unsigned http[8];       /* its answer; 0: as it is; 1: there is none; 2: too late */
    unsigned sent_count;    /* attempts */
    unsigned replied_count; /* those that were not cancelled */
    uint64_t timeouts_ns[8];
    int is_idempotent[8]; /* as the transport is told */
    uint64_t nonces[8];
} wire;

/* An attempt takes the ms of its turn. */
static void send(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    const unsigned i = wire.sent_count++ % 8;

    wire.timeouts_ns[i] = call->timeout_ns;
    wire.is_idempotent[i] = call->is_idempotent;
    wire.nonces[i] = cpt_nonce_parse(&call->nonce, 1);
    if (wire.ms[i] != NULL) {
        call->body = cpt_bytes_of(wire.ms[i]);
    }
    loopback_send(transport, call);
}

static void tamper(void *context, struct cpt_transport_reply *reply)
{
    const unsigned i = wire.replied_count++ % 8;

    (void)context;
    if (wire.http[i] == 1) {
        reply->status = CPT_UNAVAILABLE;
    } else if (wire.http[i] == 2) {
        reply->status = CPT_TIMEOUT;
    } else if (wire.http[i] != 0) {
        reply->http_status = wire.http[i];
        reply->outcome = CPT_OUTCOME_NONE;
    }
}

/* --- A: the row, and the task that answers --- */

static cpt_status put_ms(struct cpt_task *task, struct cpt_bytes *body)
{
    return cpt_print(task, body, "%d%s", 4, "");
}

static cpt_status take_price(struct cpt_task *task, const struct cpt_call_reply *reply)
{
    return reply->outcome == CPT_OUTCOME_NOT_FOUND
               ? CPT_OK
               : cpt_number_of(reply->body, &cpt_output(task, price)->cents);
}

static cpt_status answer_price(struct cpt_task *task)
{
    now.now_ns += MS;
    return cpt_print(task, &cpt_output(task, rpc_reply)->body, "%d",
                     (int)cpt_input(task, price)->cents);
}

/* Serves one request by @row, which is given @http_status. */
static void serve_with(struct cpt_service_options options, struct cpt_call_row *row,
                       unsigned http_status)
{
    const struct cpt_task_def tasks[] = {
        {"price",
         cpt_call_run,
         CPT_GIVES(price),
         CPT_NEEDS(rpc_request),
         {NULL},
         NULL,
         {NULL},
         NULL,
         row,
         NULL},
        {"answer", answer_price, CPT_GIVES(rpc_reply), CPT_NEEDS(price)}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 2};

    open_pair(options, options);
    serve_work();
    net.tamper = tamper;
    net.transport.send = send;
    ask_graph("/r", &graph);
    CU_ASSERT_EQUAL(answer.http_status, http_status);
}

static void serve(struct cpt_call_row row, unsigned http_status)
{
    if (row.stub == NULL) {
        row.stub = &work_stub;
    }
    row.encode = put_ms;
    if (row.decode == NULL) {
        row.decode = take_price;
    }
    serve_with(never, &row, http_status);
}

static void turns(const char *first_ms, unsigned first_http, const char *second_ms,
                  unsigned second_http)
{
    memset(&wire, 0, sizeof wire);
    wire.ms[0] = first_ms;
    wire.http[0] = first_http;
    wire.ms[1] = second_ms;
    wire.http[1] = second_http;
}

/* --- One attempt --- */

static void test_plain(void)
{
    turns("4", 0, NULL, 0);
    serve((struct cpt_call_row){.timeout_ns = 0}, 200);
    CU_ASSERT_STRING_EQUAL(answer.body, "4");
    CU_ASSERT_STRING_EQUAL(answered_path(), WORK "4" AFTER);
    CU_ASSERT_EQUAL(wire.timeouts_ns[0], 10000 * (uint64_t)MS);
    close_pair();

    turns("4", 500, NULL, 0);
    serve((struct cpt_call_row){.timeout_ns = 20 * (uint64_t)MS}, 500);
    CU_ASSERT_EQUAL(wire.sent_count, 1);
    CU_ASSERT_EQUAL(wire.timeouts_ns[0], 20 * (uint64_t)MS);
    close_pair();

    turns("4", 1, NULL, 0);
    serve((struct cpt_call_row){.timeout_ns = 0}, 502);
    close_pair();
}

static cpt_status give_nine(struct cpt_task *task)
{
    cpt_output(task, price)->cents = -9;
    return CPT_OK;
}

static void test_fallback(void)
{
    const struct price none = {-7};

    turns("4", 1, NULL, 0);
    serve((struct cpt_call_row){.fallback = &none}, 200);
    CU_ASSERT_STRING_EQUAL(answer.body, "-7");
    CU_ASSERT_EQUAL(counter(pair.a, "call_fallbacks", NULL), 1);
    close_pair();

    turns("4", 1, NULL, 0);
    serve((struct cpt_call_row){.fall_back = give_nine}, 200);
    CU_ASSERT_STRING_EQUAL(answer.body, "-9");
    close_pair();

    turns("4x", 0, NULL, 0); /* what the answer says is no number */
    serve((struct cpt_call_row){.fallback = &none}, 200);
    CU_ASSERT_STRING_EQUAL(answer.body, "-7");
    close_pair();

    turns("30", 2, NULL, 0);
    serve((struct cpt_call_row){.fallback = &none, .timeout_ns = 30 * (uint64_t)MS},
          200);
    CU_ASSERT_STRING_EQUAL(answer.body, "-7");
    CU_ASSERT_STRING_EQUAL(answered_path(),
                           "A: /r;A: price;B: /work;B: ‹timeout› 30" AFTER);
    close_pair();
}

/* Answers that another attempt would not change. */
static void test_final(void)
{
    turns("4", 404, NULL, 0);
    serve((struct cpt_call_row){.retry_count_max = 3, .hedge_ns = 10 * MS}, 500);
    CU_ASSERT_EQUAL(wire.sent_count, 1);
    close_pair();

    turns("4", 404, NULL, 0);
    serve((struct cpt_call_row){.retry_count_max = 3, .decodes_errors = 1}, 200);
    CU_ASSERT_EQUAL(wire.sent_count, 1);
    CU_ASSERT_STRING_EQUAL(answer.body, "0");
    close_pair();
}

/* Only the row says that the transport may send a call again; its retries are its own.
 */
static void test_idempotent(void)
{
    turns("4", 0, NULL, 0);
    serve((struct cpt_call_row){.is_idempotent = 1}, 200);
    CU_ASSERT_EQUAL(wire.is_idempotent[0], 1);
    close_pair();

    turns("4", 1, "4", 0);
    serve((struct cpt_call_row){.retry_count_max = 1}, 200);
    CU_ASSERT_EQUAL(wire.sent_count, 2);
    CU_ASSERT_EQUAL(wire.is_idempotent[0] + wire.is_idempotent[1], 0);
    close_pair();
}

/* Which of two attempts a path answers can be told. */
static void test_nonces(void)
{
    const struct cpt_call_row again = {.retry_count_max = 1};
    const struct cpt_call_row hedge = {.hedge_ns = 10 * MS};

    for (int is_hedge = 0; is_hedge < 2; is_hedge++) {
        turns(is_hedge ? "400" : "4", is_hedge ? 0 : 1, "4", 0);
        serve(is_hedge ? hedge : again, 200);
        CU_ASSERT_EQUAL(wire.sent_count, 2);
        CU_ASSERT_NOT_EQUAL(wire.nonces[0], 0);
        CU_ASSERT_NOT_EQUAL(wire.nonces[1], 0);
        CU_ASSERT_NOT_EQUAL(wire.nonces[0], wire.nonces[1]);
        close_pair();
    }
}

/* --- Hedge: as test_hedge.c --- */

static void test_hedge(void)
{
    const struct cpt_call_row row = {.hedge_ns = 10 * MS};

    turns("400", 0, "6", 0); /* the second attempt wins */
    serve(row, 200);
    CU_ASSERT_STRING_EQUAL(answered_path(), CALL "‹hedge wait› 10, " WORK "6" AFTER);
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    CU_ASSERT_EQUAL(counter(pair.a, "call_hedges", NULL), 1);
    close_pair();

    turns("4", 0, "400", 0); /* not needed */
    serve(row, 200);
    CU_ASSERT_STRING_EQUAL(answered_path(), WORK "4" AFTER);
    CU_ASSERT_EQUAL(wire.sent_count, 1);
    close_pair();

    turns("14", 0, "400", 0); /* the first still wins */
    serve(row, 200);
    CU_ASSERT_STRING_EQUAL(answered_path(), WORK "14" AFTER);
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    close_pair();
}

static void test_hedge_of_the_dead(void)
{
    static const unsigned failures[] = {1, 502, 500};

    for (size_t i = 0; i < 3; i++) {
        turns("4", failures[i], "6", 0); /* fails: the second begins at once */
        serve((struct cpt_call_row){.hedge_ns = 10 * MS}, 200);
        CU_ASSERT_EQUAL(wire.replied_count, 2);
        CU_ASSERT_STRING_EQUAL(answer.body, "6");
        close_pair();

        turns("14", failures[i], "6", 0); /* while the second is outstanding */
        serve((struct cpt_call_row){.hedge_ns = 10 * MS}, 200);
        CU_ASSERT_EQUAL(wire.replied_count, 2);
        close_pair();

        turns("4", failures[i], "6", failures[i]);
        serve((struct cpt_call_row){.hedge_ns = 10 * MS},
              failures[i] == 500 ? 500 : 502);
        CU_ASSERT_EQUAL(wire.sent_count, 2);
        close_pair();
    }
}

/* --- Retry --- */

static void test_retry(void)
{
    turns("4", 500, "6", 0);
    serve((struct cpt_call_row){.retry_count_max = 2, .backoff_ns = 10 * MS}, 200);
    CU_ASSERT_EQUAL(wire.sent_count, 2);
    CU_ASSERT_STRING_EQUAL(answer.body, "6");
    CU_ASSERT_EQUAL(counter(pair.a, "call_retries", NULL), 1);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(answered_path(), WORK "4, A: /r;A: price;A: ‹backoff› "));
    CU_ASSERT_PTR_NOT_NULL(strstr(answered_path(), WORK "6" AFTER));
    close_pair();

    turns("4", 500, "4", 500);
    wire.http[2] = 500;
    serve((struct cpt_call_row){.retry_count_max = 2}, 500);
    CU_ASSERT_EQUAL(wire.sent_count, 3);
    close_pair();

    turns("4", 500, "6", 0); /* no time for the pause */
    serve((struct cpt_call_row){.retry_count_max = 2,
                                .backoff_ns = 100 * MS,
                                .timeout_ns = 20 * MS},
          500);
    CU_ASSERT_EQUAL(wire.sent_count, 1);
    close_pair();

    turns("4", 500, "6", 0); /* what is left of the time */
    serve((struct cpt_call_row){.retry_count_max = 2,
                                .backoff_ns = 10 * MS,
                                .timeout_ns = 100 * MS},
          200);
    CU_ASSERT_EQUAL(wire.timeouts_ns[0], 100 * (uint64_t)MS);
    CU_ASSERT(wire.timeouts_ns[1] <= 91 * (uint64_t)MS);
    CU_ASSERT(wire.timeouts_ns[1] >= 86 * (uint64_t)MS);
    close_pair();
}

/* Every attempt fails: after the burst, a tenth more calls than first attempts. */
static void test_budget(void)
{
    enum { REQUESTS = 200 };
    static struct cpt_call_row row = {.stub = &work_stub,
                                      .encode = put_ms,
                                      .decode = take_price,
                                      .retry_count_max = 3};
    const struct cpt_inbound inbound = inbound_with(NULL);
    unsigned extras = 0;
    struct cpt_inbound more = inbound;

    memset(&wire, 0, sizeof wire);
    for (size_t i = 0; i < 8; i++) {
        wire.http[i] = 500;
    }
    row.reserved[0] = 0;
    {
        const struct cpt_task_def tasks[] = {
            {"price",
             cpt_call_run,
             CPT_GIVES(price),
             CPT_NEEDS(rpc_request),
             {NULL},
             NULL,
             {NULL},
             NULL,
             &row,
             NULL},
            {"answer", answer_price, CPT_GIVES(rpc_reply), CPT_NEEDS(price)}};
        const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request),
                                        CPT_GIVES(rpc_reply), tasks, 2};
        struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

        open_pair(never, never);
        serve_work();
        net.tamper = tamper;
        net.transport.send = send;
        CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/r", plan, NULL), CPT_OK);
        more.method = cpt_bytes_of("/r");
        for (int i = 0; i < REQUESTS; i++) {
            ask(pair.a, &more);
            CU_ASSERT_EQUAL(answer.http_status, 500);
        }
        extras = wire.sent_count - REQUESTS;
        CU_ASSERT(extras >= CPT_CALL_EXTRA_BURST_COUNT);
        CU_ASSERT(extras <= CPT_CALL_EXTRA_BURST_COUNT + REQUESTS / 10);
        CU_ASSERT_EQUAL(counter(pair.a, "call_retries", NULL), extras);
        CU_ASSERT(counter(pair.a, "call_extras_refused", NULL) > REQUESTS / 2);
        CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 5000000000U), CPT_OK);
        cpt_plan_free(plan);
    }
    close_pair();
}

/* --- What rows are made of --- */

static cpt_status refuse(struct cpt_task *task, struct cpt_bytes *body)
{
    (void)body;
    return cpt_fail(task, CPT_IO, "nothing to ask");
}

static void test_encode_fails(void)
{
    struct cpt_call_row row = {.stub = &work_stub, .encode = refuse};
    struct cpt_call_row empty = {.stub = NULL};
    struct cpt_call_row no_decode = {.stub = &work_stub, .encode = put_ms};

    turns("4", 0, NULL, 0);
    serve_with(never, &row, 500);
    CU_ASSERT_EQUAL(wire.sent_count, 0);
    close_pair();
    serve_with(never, &empty, 500);
    CU_ASSERT_EQUAL(wire.sent_count, 0);
    close_pair();
    serve_with(never, &no_decode, 500); /* the price is no struct cpt_bytes */
    CU_ASSERT_EQUAL(wire.sent_count, 1);
    close_pair();
}

static void check_number(const char *text, cpt_status status, int64_t expected)
{
    int64_t number = 17;

    CU_ASSERT_EQUAL(cpt_number_of(cpt_bytes_of(text), &number), status);
    CU_ASSERT_EQUAL(number, status == CPT_OK ? expected : 17);
}

static void test_numbers(void)
{
    check_number("0", CPT_OK, 0);
    check_number("-0", CPT_OK, 0);
    check_number("00120", CPT_OK, 120);
    check_number("-9223372036854775808", CPT_OK, INT64_MIN);
    check_number("9223372036854775807", CPT_OK, INT64_MAX);
    check_number("9223372036854775808", CPT_CORRUPT, 0);
    check_number("-9223372036854775809", CPT_CORRUPT, 0);
    check_number("99999999999999999999", CPT_CORRUPT, 0);
    check_number("", CPT_CORRUPT, 0);
    check_number("-", CPT_CORRUPT, 0);
    check_number("+1", CPT_CORRUPT, 0);
    check_number("1 ", CPT_CORRUPT, 0);
    check_number("0x1", CPT_CORRUPT, 0);
}

/* --- The recipe of docs/framework.md, as it stands there --- */

struct item {
    int number;
};

CPT_VALUE(item, struct item);

static cpt_status parse(struct cpt_task *task)
{
    cpt_output(task, item)->number = 12;
    return CPT_OK;
}

#define price_stub work_stub
#define take_price take_price_of_recipe
#define answer     answer_price
#include <recipe_a_call_as_one_row.inc>
#undef answer
#undef take_price
#undef price_stub

static void test_recipe(void)
{
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 3};

    memset(&wire, 0, sizeof wire);
    open_pair(never, never);
    serve_work();
    net.tamper = tamper;
    net.transport.send = send;
    ask_graph("/r", &graph);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_STRING_EQUAL(answer.body, "12");
    CU_ASSERT_STRING_EQUAL(answered_path(), WORK "12" AFTER);
    close_pair();
}

CU_TestInfo cpt_call_rows_tests[] = {
    {"one attempt", test_plain},
    {"fallback", test_fallback},
    {"answers that are final", test_final},
    {"calls that may be carried out twice", test_idempotent},
    {"hedge", test_hedge},
    {"hedge: a failure does not win", test_hedge_of_the_dead},
    {"retry", test_retry},
    {"the budget of retries", test_budget},
    {"rows that cannot call", test_encode_fails},
    {"numbers", test_numbers},
    {"the recipe", test_recipe},
    {"attempts have nonces of their own", test_nonces},
    CU_TEST_INFO_NULL,
};
