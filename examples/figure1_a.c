/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * figure1_a.c - service A of the demo, where requests come in; see figure1.h
 *
 *      /          A1 |==|............|===|      A1 starts A2, calls B1 and B2 at once,
 *                 A2    |--------|              and continues when all have answered
 *                 B1    |------------|
 *                 B2    |------|
 *
 *      /overlap   A1 |=|====......|====|        A1 calls B1 and computes meanwhile
 *                 B1   |----------|
 *
 *      /repeat    A2 |=|..........|=|           A2 calls C1 200 times, all at once (or
 *                 C1   |-|                      one after the other: how=serial); one
 *                 C1   |----------|             of the calls takes much longer
 *                 C1   |--|
 *
 *      /forms     locks, components, optional inputs, a hedge: figure1_forms.c
 *
 * Nothing here is about tracing, except that the words of the request become attributes
 * of its log record (note_words).
 */
#include "figure1.h"
#include "figure1_forms.h"
#include "figure1_lines.h"

#include <stdlib.h>
#include <string.h>

enum { REPEAT_COUNT = 200, REPEAT_SLOW_INDEX = 100, REPEAT_US = 500 };

static const struct figure1_component a1 = {
    "A1", {5000, 5000, 3000}, {8000, 8000, 10000}};
static const struct figure1_component a2 = {
    "A2", {1000, 4000, 1000}, {1000, 4000, 1000}};

enum { A1_MEANWHILE_US = 5000 }; /* while the call of B1 is outstanding, in /overlap */

static struct cpt_stub call_b1 = {.name = "B: /B1", .method = "/B1"};
static struct cpt_stub call_b2 = {.name = "B: /B2", .method = "/B2"};
static struct cpt_stub call_c1 = {.name = "C: /C1", .method = "/C1"};
static struct cpt_stub call_c2 = {.name = "C: /C2", .method = "/C2"};
static struct cpt_stub *const stubs[] = {&call_b1, &call_b2, &call_c1, &call_c2, NULL};

CPT_VALUE(a2_answer, struct cpt_rpc_reply);

/* What a step keeps for the next one. */
struct a1_state {
    struct cpt_pending *waited[3];
};

struct repeat_state {
    unsigned call_count;
};

/* The attributes of this request in the log. */
static void note_words(struct cpt_task *task)
{
    static const char *const keys[] = {"arm", "region", "page"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct cpt_bytes word = figure1_word(figure1_words(task), keys[i]);
        char text[64] = {0};

        if (word.bytes != 0 && word.bytes < sizeof text) {
            memcpy(text, word.data, word.bytes);
            cpt_request_set(cpt_task_request(task), keys[i], text);
        }
    }
}

/* --- / --- */

/* Calls @stub with the words of the request; @which call of the request it is. */
static struct cpt_pending *call(struct cpt_task *task, const struct cpt_stub *stub,
                                const char *which)
{
    char room[FIGURE1_WORDS_BYTES];

    return figure1_call(task, stub,
                        figure1_words_for(task, figure1_words(task), which, 0, room));
}

static cpt_status a1_render(struct cpt_task *task)
{
    const struct a1_state *state = cpt_state(task, struct a1_state);
    int is_complete = 1;

    for (size_t i = 0; i < 3; i++) {
        is_complete = is_complete && cpt_pending_status(state->waited[i]) == CPT_OK;
    }
    figure1_after(task, &a1);
    *cpt_output(task, rpc_reply) =
        figure1_reply(is_complete ? "the whole page\n" : "what could be had\n");
    return CPT_OK;
}

static cpt_status a1_begin(struct cpt_task *task)
{
    struct a1_state *state = cpt_state(task, struct a1_state);

    if (state == NULL) {
        return cpt_fail(task, CPT_LIMIT, "no memory for the request");
    }
    note_words(task);
    figure1_before(task, &a1);
    state->waited[0] = cpt_start(task, a2_answer);
    state->waited[1] = call(task, &call_b1, "A1 B1");
    state->waited[2] = call(task, &call_b2, "A1 B2");
    return figure1_await_all(task, a1_render);
}

static cpt_status a2_end(struct cpt_task *task)
{
    figure1_after(task, &a2);
    *cpt_output(task, a2_answer) = figure1_reply("A2\n");
    return CPT_OK;
}

static cpt_status a2_begin(struct cpt_task *task)
{
    figure1_before(task, &a2);
    call(task, &call_b2, "A2 B2");
    call(task, &call_c1, "A2 C1");
    call(task, &call_c2, "A2 C2");
    return figure1_await_all(task, a2_end);
}

static const struct cpt_task_def page_tasks[] = {
    {"A1", a1_begin, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request),
     CPT_STARTS(a2_answer)},
    {"A2", a2_begin, CPT_GIVES(a2_answer), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph page = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                      page_tasks, 2};

/* --- /overlap --- */

static cpt_status overlap_end(struct cpt_task *task)
{
    figure1_step(task, a1.name, FIGURE1_AFTER, a1.after_us[FIGURE1_OVERLAP]);
    *cpt_output(task, rpc_reply) =
        figure1_reply("computed and called at the same time\n");
    return CPT_OK;
}

static cpt_status overlap_begin(struct cpt_task *task)
{
    char room[FIGURE1_WORDS_BYTES];
    struct cpt_pending *b1;

    note_words(task);
    figure1_step(task, a1.name, FIGURE1_BEFORE, a1.before_us[FIGURE1_OVERLAP]);
    b1 = cpt_call(
        task, &call_b1,
        figure1_words_for(task, cpt_bytes_of("page=overlap"), "A1 B1", 0, room));
    figure1_step(task, a1.name, FIGURE1_MEANWHILE, A1_MEANWHILE_US);
    return cpt_await(task, b1, overlap_end);
}

static const struct cpt_task_def overlap_tasks[] = {
    {"A1", overlap_begin, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph overlap = {"A", CPT_GIVES(rpc_request),
                                         CPT_GIVES(rpc_reply), overlap_tasks, 1};

/* --- /repeat --- */

static struct cpt_pending *repeat_call(struct cpt_task *task, unsigned index)
{
    const char *us = index == REPEAT_SLOW_INDEX ? "us=60000" : "us=100";
    char room[FIGURE1_WORDS_BYTES];

    return cpt_call(task, &call_c1,
                    figure1_words_for(task, cpt_bytes_of(us), "A2 C1", index, room));
}

static cpt_status repeat_end(struct cpt_task *task)
{
    *cpt_output(task, a2_answer) = figure1_reply("A2\n");
    return CPT_OK;
}

static cpt_status repeat_serial(struct cpt_task *task)
{
    struct repeat_state *state = cpt_state(task, struct repeat_state);

    if (state == NULL || state->call_count == REPEAT_COUNT) {
        return repeat_end(task);
    }
    return cpt_await(task, repeat_call(task, state->call_count++), repeat_serial);
}

static cpt_status repeat_begin(struct cpt_task *task)
{
    const struct cpt_bytes how = figure1_word(figure1_words(task), "how");

    figure1_step(task, a2.name, FIGURE1_BEFORE, REPEAT_US);
    if (cpt_bytes_equal(how, cpt_bytes_of("serial"))) {
        return repeat_serial(task);
    }
    for (unsigned i = 0; i < REPEAT_COUNT; i++) {
        repeat_call(task, i);
    }
    return cpt_await_all(task, repeat_end);
}

static cpt_status repeat_render(struct cpt_task *task)
{
    figure1_step(task, a1.name, FIGURE1_AFTER, REPEAT_US);
    *cpt_output(task, rpc_reply) = figure1_reply("asked C1 200 times\n");
    return CPT_OK;
}

static cpt_status repeat_a1(struct cpt_task *task)
{
    note_words(task);
    figure1_step(task, a1.name, FIGURE1_BEFORE, REPEAT_US);
    return cpt_await(task, cpt_start(task, a2_answer), repeat_render);
}

static const struct cpt_task_def repeat_tasks[] = {
    {"A1", repeat_a1, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request),
     CPT_STARTS(a2_answer)},
    {"A2", repeat_begin, CPT_GIVES(a2_answer), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph repeat = {"A", CPT_GIVES(rpc_request),
                                        CPT_GIVES(rpc_reply), repeat_tasks, 2};

/* --- The service --- */

int main(int argc, char **argv)
{
    static const struct figure1_method methods[] = {{"/", &page},
                                                    {"/overlap", &overlap},
                                                    {"/repeat", &repeat},
                                                    {"/forms", &figure1_forms},
                                                    {NULL, NULL}};
    const struct figure1_service service = {"A", CPT_ROLE_ENTRY, methods, stubs};
    int status = EXIT_FAILURE;

    if (figure1_forms_begin(&call_b2)) {
        status = figure1_main(argc, argv, &service);
    }
    figure1_forms_end();
    return status;
}
