/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * figure1_c.c - service C of the demo; see figure1.h
 *
 *      /C1    C1 |====|
 *
 *      /C2    C2 |==|....|==|
 *             C1    |====|                  a task that C2 starts
 */
#include "figure1.h"
#include "figure1_lines.h"

#include <stdlib.h>
#include <string.h>

static const struct figure1_component c1 = {"C1", {4000, 4000, 4000}, {0}};
static const struct figure1_component c2 = {
    "C2", {1000, 8000, 1000}, {1000, 8000, 1000}};

static struct cpt_stub *const stubs[] = {NULL};

CPT_VALUE(c1_answer, struct cpt_rpc_reply);

enum { WORK_US_MAX = 1000000 };

/* C1's work: as long as the caller asks for (us=…), else as the page takes. */
static void c1_work(struct cpt_task *task)
{
    const struct cpt_bytes us = figure1_word(figure1_words(task), "us");
    char text[16] = {0};

    if (us.bytes == 0 || us.bytes >= sizeof text) {
        figure1_before(task, &c1);
        figure1_query(task, c1.name, "select pg_sleep(0.003)");
        figure1_line_end(task, c1.name);
        return;
    }
    memcpy(text, us.data, us.bytes);
    figure1_step(task, c1.name, FIGURE1_BEFORE,
                 (unsigned)(strtoul(text, NULL, 10) % WORK_US_MAX));
}

static cpt_status c1_started(struct cpt_task *task)
{
    c1_work(task);
    *cpt_output(task, c1_answer) = figure1_reply("C1\n");
    return CPT_OK;
}

static cpt_status c1_called(struct cpt_task *task)
{
    c1_work(task);
    *cpt_output(task, rpc_reply) = figure1_reply("C1\n");
    return CPT_OK;
}

static cpt_status c2_reply(struct cpt_task *task)
{
    figure1_after(task, &c2);
    *cpt_output(task, rpc_reply) = figure1_reply("C2\n");
    return CPT_OK;
}

static cpt_status c2_called(struct cpt_task *task)
{
    figure1_before(task, &c2);
    return cpt_await(task, cpt_start(task, c1_answer), c2_reply);
}

static const struct cpt_task_def c1_tasks[] = {
    {"C1", c1_called, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph c1_graph = {"C", CPT_GIVES(rpc_request),
                                          CPT_GIVES(rpc_reply), c1_tasks, 1};

static const struct cpt_task_def c2_tasks[] = {
    {"C2", c2_called, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request),
     CPT_STARTS(c1_answer)},
    {"C1", c1_started, CPT_GIVES(c1_answer), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph c2_graph = {"C", CPT_GIVES(rpc_request),
                                          CPT_GIVES(rpc_reply), c2_tasks, 2};

int main(int argc, char **argv)
{
    static const struct figure1_method methods[] = {
        {"/C1", &c1_graph}, {"/C2", &c2_graph}, {NULL, NULL}};
    const struct figure1_service service = {"C", CPT_ROLE_INNER, methods, stubs};

    return figure1_main(argc, argv, &service);
}
