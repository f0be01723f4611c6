/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_hedge.c - the recipe "Hedge" of docs/framework.md, as it stands there
 *
 * The build takes the first block of the recipe into recipe_hedge.inc. What it leaves
 * open is here: each query is the ms that B takes for it, both go to one stub.
 */
#include "tests/unit/framework/service_pair.h"

#include <stdbool.h>
#include <string.h>

#define WORK "A: /a;A: A1;B: /work;B: work;B: disk "

struct state {
    struct cpt_pending *calls[2];
};

/* Of the first call and of the second. */
static const char *queries[2];

static struct cpt_pending *race[2];

static cpt_status use(struct cpt_task *task);
static cpt_status second(struct cpt_task *task);

#define state (cpt_state(task, struct state))
#define stub  work_stub
#define query cpt_bytes_of(queries[state->calls[0] != NULL])
#include <recipe_hedge.inc>
#undef query
#undef stub

static cpt_status use(struct cpt_task *task)
{
    const bool is_first = has_succeeded(state->calls[0]);
    const bool is_second = !is_first && state->calls[1] != NULL;

    if (!is_first && !(is_second && has_succeeded(state->calls[1]))) {
        return cpt_fail(task, CPT_UNAVAILABLE, "no replica answers");
    }
    cpt_cancel(state->calls[0]);
    cpt_cancel(state->calls[1]);
    now.now_ns += MS;
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}
#undef state

/* Fails the first replies. */
struct dead {
    int reply_count;
    int dead_count;
    unsigned http_status; /* 0: there is no answer */
};

static void be_dead(void *context, struct cpt_transport_reply *reply)
{
    struct dead *dead = context;

    if (dead->reply_count++ < dead->dead_count) {
        reply->status = dead->http_status != 0 ? CPT_OK : CPT_UNAVAILABLE;
        reply->http_status = dead->http_status;
        reply->outcome = CPT_OUTCOME_NONE;
    }
}

/* Runs the recipe; the answer has @http_status. */
static void run_hedge(const char *first_ms, const char *second_ms, struct dead *dead,
                      unsigned http_status)
{
    const struct cpt_task_def tasks[] = {
        {"A1", first, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};

    queries[0] = first_ms;
    queries[1] = second_ms;
    open_pair(never, never);
    serve_work();
    net.tamper = be_dead;
    net.context = dead;
    ask_graph("/a", &graph);
    CU_ASSERT_EQUAL(answer.http_status, http_status);
}

static void test_late(void)
{
    struct dead none = {0, 0, 0};

    run_hedge("400", "6", &none, 200);
    CU_ASSERT_STRING_EQUAL(answered_path(),
                           "A: /a;A: A1;B: /work;B: ‹hedge wait› 10, " WORK
                           "6, A: /a;A: A1 1");
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    close_pair();
    run_hedge("4", "400", &none, 200); /* not needed */
    CU_ASSERT_STRING_EQUAL(answered_path(), WORK "4, A: /a;A: A1 1");
    close_pair();
    run_hedge("14", "400", &none, 200); /* the first still wins */
    CU_ASSERT_STRING_EQUAL(answered_path(), WORK "14, A: /a;A: A1 1");
    close_pair();
}

/* Its failure comes first, and the other one still answers. */
static void test_dead_replica(void)
{
    static const unsigned statuses[] = {0, 502, 500};

    for (size_t i = 0; i < 3; i++) {
        struct dead early = {0, 1, statuses[i]};
        struct dead late = {0, 1, statuses[i]};

        run_hedge("4", "6", &early, 200);
        CU_ASSERT_EQUAL(early.reply_count, 2);
        close_pair();
        run_hedge("14", "6", &late, 200); /* while the second is outstanding */
        CU_ASSERT_EQUAL(late.reply_count, 2);
        close_pair();
    }
}

static void test_dead_replicas(void)
{
    struct dead both = {0, 2, 0};

    run_hedge("4", "6", &both, 502);
    close_pair();
}

CU_TestInfo cpt_hedge_tests[] = {
    {"late: the second attempt wins, or the first", test_late},
    {"dead: its failure does not win", test_dead_replica},
    {"all are dead: the request fails", test_dead_replicas},
    CU_TEST_INFO_NULL,
};
