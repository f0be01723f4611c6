/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * figure1_b.c - service B of the demo; see figure1.h
 *
 *      /B1    B1 |==|..........|==|         here B2 is a component of the same service:
 *             B2    |==|....|==|            a task that B1 starts
 *             C1       |----|
 *
 *      /B2    B2 |==|....|==|               the same component, called by a service
 *             C1    |----|
 */
#include "figure1.h"
#include "figure1_lines.h"

static const struct figure1_component b1 = {
    "B1", {4000, 4000, 2000}, {4000, 4000, 2000}};
static const struct figure1_component b2 = {
    "B2", {5000, 5000, 3000}, {3000, 3000, 3000}};

static struct cpt_stub call_c1 = {.name = "C: /C1", .method = "/C1"};
static struct cpt_stub *const stubs[] = {&call_c1, NULL};

CPT_VALUE(b2_answer, struct cpt_rpc_reply);

/* --- B2: it gives a value to B1, or the reply to its caller --- */

static cpt_status b2_answer_b1(struct cpt_task *task)
{
    figure1_after(task, &b2);
    *cpt_output(task, b2_answer) = figure1_reply("B2\n");
    return CPT_OK;
}

static cpt_status b2_reply(struct cpt_task *task)
{
    figure1_after(task, &b2);
    *cpt_output(task, rpc_reply) = figure1_reply("B2\n");
    return CPT_OK;
}

static struct cpt_pending *b2_work(struct cpt_task *task)
{
    char room[FIGURE1_WORDS_BYTES];

    figure1_before(task, &b2);
    return figure1_call(task, &call_c1,
                        figure1_words_for(task, figure1_words(task), "B2 C1", 0, room));
}

static cpt_status b2_started(struct cpt_task *task)
{
    return cpt_await(task, b2_work(task), b2_answer_b1);
}

static cpt_status b2_called(struct cpt_task *task)
{
    return cpt_await(task, b2_work(task), b2_reply);
}

/* --- B1 --- */

static cpt_status b1_reply(struct cpt_task *task)
{
    figure1_after(task, &b1);
    *cpt_output(task, rpc_reply) = figure1_reply("B1\n");
    return CPT_OK;
}

static cpt_status b1_called(struct cpt_task *task)
{
    figure1_before(task, &b1);
    return cpt_await(task, cpt_start(task, b2_answer), b1_reply);
}

/* --- The service --- */

static const struct cpt_task_def b1_tasks[] = {
    {"B1", b1_called, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request),
     CPT_STARTS(b2_answer)},
    {"B2", b2_started, CPT_GIVES(b2_answer), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph b1_graph = {"B", CPT_GIVES(rpc_request),
                                          CPT_GIVES(rpc_reply), b1_tasks, 2};

static const struct cpt_task_def b2_tasks[] = {
    {"B2", b2_called, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph b2_graph = {"B", CPT_GIVES(rpc_request),
                                          CPT_GIVES(rpc_reply), b2_tasks, 1};

int main(int argc, char **argv)
{
    static const struct figure1_method methods[] = {
        {"/B1", &b1_graph}, {"/B2", &b2_graph}, {NULL, NULL}};
    const struct figure1_service service = {"B", CPT_ROLE_INNER, methods, stubs};

    return figure1_main(argc, argv, &service);
}
