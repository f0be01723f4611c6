/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * figure1_forms.c - a page of service A with the other forms of tasks
 *
 *      hold    |=============|                 holds the lock `totals` all the time
 *      count     |~~|........|===|             sleeps, waits for the lock, counts
 *      news    |x                              wanted, fails: the page does without
 *      A1                        |-score-|..B2..|==|
 *
 * A1 needs the values of hold and count and wants the news. It scores three items, each
 * as a separate component, then calls B2, and would call again if B2 took long (a
 * hedge). On the path are: the pause, the lock with its holder, count, the longest
 * score, B2.
 */
#include "figure1_forms.h"

#include <cpt/cpt_mutex.h>

enum { ITEM_COUNT = 3, MS_NS = 1000000 };

struct item {
    unsigned cost_us;
};

CPT_VALUE(held, int);
CPT_VALUE(counted, int);
CPT_VALUE_OR(news, struct cpt_rpc_reply, {.http_status = 200});
CPT_VALUE(item, struct item);
CPT_VALUE(score, unsigned);

static struct cpt_mutex *totals;
static struct cpt_plan *score_plan;
static const struct cpt_stub *call_b2;

/* --- The lock --- */

static cpt_status hold(struct cpt_task *task)
{
    cpt_mutex_lock(totals);
    figure1_work(10000);
    cpt_mutex_unlock(totals);
    *cpt_output(task, held) = 1;
    return CPT_OK;
}

struct count_state {
    struct cpt_pending *lock;
};

static cpt_status count_locked(struct cpt_task *task)
{
    figure1_work(2000);
    cpt_mutex_release(cpt_state(task, struct count_state)->lock);
    *cpt_output(task, counted) = 1;
    return CPT_OK;
}

static cpt_status count_wait(struct cpt_task *task)
{
    struct count_state *state = cpt_state(task, struct count_state);

    if (state == NULL) {
        return cpt_fail(task, CPT_LIMIT, "no memory for the request");
    }
    state->lock = cpt_mutex_acquire(task, totals);
    return cpt_await(task, state->lock, count_locked);
}

/* Late enough for hold to have the lock. */
static cpt_status count(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "pause", 3 * MS_NS), count_wait);
}

/* --- An input that may fail --- */

static cpt_status read_news(struct cpt_task *task)
{
    return cpt_fail(task, CPT_UNAVAILABLE, "there are no news");
}

/* --- A component --- */

static cpt_status weigh(struct cpt_task *task)
{
    figure1_work(cpt_input(task, item)->cost_us);
    *cpt_output(task, score) = cpt_input(task, item)->cost_us;
    return CPT_OK;
}

static const struct cpt_task_def score_tasks[] = {
    {"weigh", weigh, CPT_GIVES(score), CPT_NEEDS(item)},
};
static const struct cpt_graph score_graph = {"A", CPT_GIVES(item), CPT_GIVES(score),
                                             score_tasks, 1};

/* --- A1 --- */

struct a1_state {
    struct cpt_pending *race[2]; /* B2, and the time to call again */
};

static cpt_status a1_render(struct cpt_task *task)
{
    const struct a1_state *state = cpt_state(task, struct a1_state);

    cpt_cancel(state->race[1]);
    figure1_work(1000);
    *cpt_output(task, rpc_reply) =
        figure1_reply(cpt_input_status(task, news) == CPT_OK ? "a page with news\n"
                                                             : "a page without news\n");
    return CPT_OK;
}

static cpt_status a1_hedge(struct cpt_task *task)
{
    struct a1_state *state = cpt_state(task, struct a1_state);

    if (cpt_pending_status(state->race[0]) != CPT_WAITING) {
        return a1_render(task);
    }
    state->race[1] = cpt_call_attempt(task, call_b2, figure1_words(task), 2);
    return cpt_await_some(task, state->race, 2, 1, a1_render);
}

static cpt_status a1_ask(struct cpt_task *task)
{
    struct a1_state *state = cpt_state(task, struct a1_state);

    if (state == NULL) {
        return cpt_fail(task, CPT_LIMIT, "no memory for the request");
    }
    state->race[0] = cpt_call_attempt(task, call_b2, figure1_words(task), 1);
    state->race[1] = cpt_hedge_wait(task, call_b2, 1000 * (uint64_t)MS_NS);
    return cpt_await_some(task, state->race, 2, 1, a1_hedge);
}

static cpt_status a1_score(struct cpt_task *task)
{
    for (unsigned i = 0; i < ITEM_COUNT; i++) {
        const struct item cost = {1000 + 2000 * i};

        (void)cpt_spawn(task, "score", score_plan, item, &cost);
    }
    return cpt_await_all(task, a1_ask);
}

static const struct cpt_task_def tasks[] = {
    {"hold", hold, CPT_GIVES(held), CPT_NEEDS(rpc_request)},
    {"count", count, CPT_GIVES(counted), CPT_NEEDS(rpc_request)},
    {"news", read_news, CPT_GIVES(news), CPT_NEEDS(rpc_request)},
    {"A1", a1_score, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request, held, counted),
     CPT_WANTS(news)},
};
const struct cpt_graph figure1_forms = {"A", CPT_GIVES(rpc_request),
                                        CPT_GIVES(rpc_reply), tasks, 4};

/* --- Objects that live as long as the process --- */

int figure1_forms_begin(const struct cpt_stub *b2)
{
    call_b2 = b2;
    totals = cpt_mutex_new("totals", NULL);
    score_plan = cpt_plan_new(&score_graph, NULL, NULL);
    return totals != NULL && score_plan != NULL;
}

void figure1_forms_end(void)
{
    cpt_plan_free(score_plan);
    cpt_mutex_free(totals);
}
