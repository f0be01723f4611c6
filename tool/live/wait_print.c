/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * wait_print.c - who waits for whom, as text and as JSON
 *
 *      A /page, request 7, 1.204 s
 *        A: ads waits 1.100 s for call 'B: /ads' of http://127.0.0.1:8002/ads
 *          B /ads, request 3, 1.099 s
 *
 * A request is drawn once, below the first wait that leads to it; other waits name it.
 * All texts come from outside, so they are printed as cpti_printable() has them.
 */
#include "tool/live/wait_print.h"

#include "tool/table/json_write.h"
#include "tool/base/output.h"

#include <inttypes.h>
#include <stdio.h>

enum { DRAWN_DEPTH_MAX = 32 };

static void print_text(struct cpt_bytes text)
{
    (void)fputs(cpti_printable(text), stdout);
}

/* "1.204 s": in the unit that people read most easily. */
static void print_us(uint64_t us)
{
    if (us < 1000000) {
        (void)printf("%.3f ms", (double)us / 1e3);
    } else {
        (void)printf("%.3f s", (double)us / 1e6);
    }
}

static void print_indent(unsigned depth)
{
    (void)printf("%*s", (int)(2 * depth), "");
}

/* "A /page, request 7" */
static void print_request(const struct cpti_waits *waits, uint32_t number)
{
    const struct cpti_wait_request *request = &waits->requests[number];

    print_text(waits->services[request->service].name);
    (void)printf(" ");
    print_text(request->method);
    (void)printf(", request %" PRIu64, request->id);
}

/* " of PUT http://127.0.0.1:8002/ads/7": the path as it is sent. */
static void print_where(struct cpti_doc_value call)
{
    const struct cpt_bytes verb = cpti_answer_string(call, "verb");
    const struct cpt_bytes path = cpti_answer_string(call, "path");

    (void)printf(" of ");
    if (verb.bytes != 0) {
        print_text(verb);
        (void)printf(" ");
    }
    print_text(cpti_answer_string(call, "target"));
    print_text(path.bytes != 0 ? path : cpti_answer_string(call, "method"));
}

/* "call 'B: /ads' of http://127.0.0.1:8002/ads" */
static void print_what(struct cpti_doc_value value)
{
    const struct cpt_bytes name = cpti_answer_string(value, "name");
    const struct cpt_bytes holder = cpti_answer_string(value, "holder");
    const struct cpt_bytes kind = cpti_answer_string(value, "kind");

    print_text(kind.bytes != 0 ? kind : cpt_bytes_of("?"));
    if (name.bytes != 0) {
        (void)printf(" '");
        print_text(name);
        (void)printf("'");
    }
    if (cpti_answer_is(value, "kind", "call")) {
        print_where(value);
    }
    if (holder.bytes != 0) {
        (void)printf(", last taken by ");
        print_text(holder);
    }
}

static void draw_request(struct cpti_waits *waits, uint32_t number, unsigned depth);

static void draw_edge(struct cpti_waits *waits, const struct cpti_wait_group *group,
                      const struct cpti_wait_edge *edge, unsigned depth)
{
    const bool has_time = cpti_answer_has(edge->value, "us");
    char text[CPTI_WAIT_GAP_BYTES];

    depth += group->depth;
    print_indent(depth);
    print_text(cpti_answer_string(group->task, "name"));
    (void)printf(" waits ");
    if (has_time) {
        print_us(cpti_answer_number(edge->value, "us"));
        (void)printf(" ");
    }
    (void)printf("for ");
    print_what(edge->value);
    (void)printf("\n");
    if (edge->gap != CPTI_GAP_NONE) {
        print_indent(depth + 1);
        cpti_wait_say_gap(waits, edge, text, sizeof text);
        (void)printf("(%s)\n", cpti_printable(cpt_bytes_of(text)));
    }
    for (uint32_t i = 0; i < edge->end_count; i++) {
        draw_request(waits, edge->ends[i], depth + 1);
    }
}

/* Tasks that do not wait. */
static void draw_others(struct cpti_doc_value tasks, unsigned depth)
{
    struct cpti_doc_member member;

    cpti_answer_each(member, tasks)
    {
        const struct cpti_doc_value task = member.value;

        if (cpti_answer_is(task, "state", "waits")) {
            continue;
        }
        print_indent(depth);
        print_text(cpti_answer_string(task, "name"));
        (void)printf(" ");
        print_text(cpti_answer_is(task, "state", "runnable")
                       ? cpt_bytes_of("runs or is queued")
                   : cpti_answer_is(task, "state", "queued")
                       ? cpt_bytes_of("is queued")
                       : cpti_answer_string(task, "state"));
        if (cpti_answer_has(task, "us")) {
            (void)printf(" ");
            print_us(cpti_answer_number(task, "us"));
        }
        (void)printf("\n");
    }
}

static void draw_request(struct cpti_waits *waits, uint32_t number, unsigned depth)
{
    struct cpti_wait_request *request = &waits->requests[number];
    const bool was_seen = request->is_seen;

    print_indent(depth);
    print_request(waits, number);
    if (was_seen || depth > DRAWN_DEPTH_MAX) {
        (void)printf(", see above\n");
        return;
    }
    request->is_seen = true;
    (void)printf(", ");
    print_us(request->us);
    if (cpti_answer_has(request->value, "left_us")) {
        (void)printf(", ");
        print_us(cpti_answer_number(request->value, "left_us"));
        (void)printf(" left");
    }
    (void)printf("%s\n", request->is_stuck ? ", stuck" : "");
    draw_others(cpti_doc_get(request->value, "tasks"), depth + 1);
    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct cpti_wait_group *group = &waits->groups[request->group_first + i];

        for (uint32_t k = 0; k < group->edge_count; k++) {
            draw_edge(waits, group, &waits->edges[group->edge_first + k], depth + 1);
        }
    }
}

/* What a deadlock may hide behind. */
static void print_doubts(const struct cpti_waits *waits)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < waits->request_count; i++) {
        count += waits->requests[i].is_doubtful;
    }
    if (count != 0) {
        (void)printf("\nnot known of %" PRIu32 " request%s whether %s stuck, as calls "
                     "are not followed\n",
                     count, count == 1 ? "" : "s", count == 1 ? "it is" : "they are");
    }
}

static void print_deadlock(const struct cpti_waits *waits,
                           const struct cpti_wait_deadlock *deadlock)
{
    (void)printf("\ndeadlock of %" PRIu32 " request%s\n", deadlock->count,
                 deadlock->count == 1 ? ", which waits for itself" : "s");
    for (uint32_t i = 0; i < deadlock->count; i++) {
        const uint32_t from = waits->deadlock_requests[deadlock->first + i];
        const uint32_t to =
            waits->deadlock_requests[deadlock->first + (i + 1) % deadlock->count];
        const struct cpti_wait_group *group = NULL;
        const struct cpti_wait_edge *edge = cpti_waits_edge_to(waits, from, to, &group);

        (void)printf("  ");
        print_request(waits, from);
        (void)printf(" waits for ");
        print_request(waits, to);
        if (edge != NULL) {
            (void)printf(": ");
            print_text(cpti_answer_string(group->task, "name"));
            (void)printf(" for ");
            print_what(edge->value);
        }
        (void)printf("\n");
    }
}

void cpti_wait_print(struct cpti_waits *waits)
{
    uint64_t left_out = waits->left_out;

    for (uint32_t i = 0; i < waits->service_count; i++) {
        left_out += waits->services[i].left_out;
    }
    for (uint32_t i = 0; i < waits->request_count; i++) {
        if (waits->requests[i].service == 0 && !waits->requests[i].is_seen) {
            draw_request(waits, i, 0);
        }
    }
    if (waits->request_count == 0) {
        print_text(waits->services[0].name);
        (void)printf(": no request runs\n");
    }
    if (left_out != 0) {
        (void)printf("(%" PRIu64 " more are not shown)\n", left_out);
    }
    for (uint32_t i = 0; i < waits->deadlock_count; i++) {
        print_deadlock(waits, &waits->deadlocks[i]);
    }
    print_doubts(waits);
}

/* --- As JSON --- */

static void put_string(struct cpti_json *json, struct cpti_doc_value value,
                       const char *key)
{
    if (cpti_answer_has(value, key)) {
        cpti_json_bytes(json, key, cpti_answer_string(value, key));
    }
}

static void put_number(struct cpti_json *json, struct cpti_doc_value value,
                       const char *key)
{
    if (cpti_answer_has(value, key)) {
        cpti_json_unsigned(json, key, cpti_answer_number(value, key));
    }
}

/* What is told of a call alone. */
static void put_call(struct cpti_json *json, const struct cpti_waits *waits,
                     const struct cpti_wait_edge *edge)
{
    static const char *const keys[] = {"target",    "method",    "verb",     "path",
                                       "transport", "operators", "trace_id", "span_id"};
    char text[CPTI_WAIT_GAP_BYTES];

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        put_string(json, edge->value, keys[i]);
    }
    if (edge->gap != CPTI_GAP_NONE) {
        cpti_wait_say_gap(waits, edge, text, sizeof text);
        cpti_json_text(json, "not_followed", text);
    }
}

static void put_edge(struct cpti_json *json, const struct cpti_waits *waits,
                     const struct cpti_wait_group *group,
                     const struct cpti_wait_edge *edge)
{
    cpti_json_open(json, NULL, '{');
    cpti_json_bytes(json, "task", cpti_answer_string(group->task, "name"));
    cpti_json_bytes(json, "kind", cpti_answer_string(edge->value, "kind"));
    put_string(json, edge->value, "name");
    put_number(json, edge->value, "us");
    put_call(json, waits, edge);
    put_string(json, edge->value, "holder");
    cpti_json_open(json, "requests", '[');
    for (uint32_t i = 0; i < edge->end_count; i++) {
        cpti_json_unsigned(json, NULL, edge->ends[i]);
    }
    cpti_json_close(json);
    cpti_json_close(json);
}

static void put_request(struct cpti_json *json, const struct cpti_waits *waits,
                        const struct cpti_wait_request *request)
{
    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_json_unsigned(json, "service", request->service);
    cpti_json_unsigned(json, "id", request->id);
    cpti_json_bytes(json, "method", request->method);
    cpti_json_unsigned(json, "us", request->us);
    put_number(json, request->value, "left_us");
    put_string(json, request->value, "trace_id");
    put_string(json, request->value, "parent_id");
    put_string(json, request->value, "span_id");
    cpti_json_bool(json, "stuck", request->is_stuck);
    cpti_json_open(json, "waits", '[');
    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct cpti_wait_group *group = &waits->groups[request->group_first + i];

        for (uint32_t k = 0; k < group->edge_count; k++) {
            put_edge(json, waits, group, &waits->edges[group->edge_first + k]);
        }
    }
    cpti_json_close(json);
    cpti_json_close(json);
}

static void put_services(struct cpti_json *json, const struct cpti_waits *waits)
{
    cpti_json_open(json, "services", '[');
    for (uint32_t i = 0; i < waits->service_count; i++) {
        const struct cpti_wait_service *service = &waits->services[i];

        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        cpti_json_text(json, "place", service->place.text);
        if (service->is_known) {
            cpti_json_bytes(json, "name", service->name);
            cpti_json_unsigned(json, "left_out", service->left_out);
        } else {
            cpti_json_text(json, "error", service->error.sentence);
        }
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

void cpti_wait_json(const struct cpti_waits *waits)
{
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    put_services(&json, waits);
    cpti_json_open(&json, "requests", '[');
    for (uint32_t i = 0; i < waits->request_count; i++) {
        put_request(&json, waits, &waits->requests[i]);
    }
    cpti_json_close(&json);
    cpti_json_open(&json, "deadlocks", '[');
    for (uint32_t i = 0; i < waits->deadlock_count; i++) {
        cpti_json_row(&json);
        cpti_json_open(&json, NULL, '[');
        for (uint32_t k = 0; k < waits->deadlocks[i].count; k++) {
            cpti_json_unsigned(&json, NULL,
                               waits->deadlock_requests[waits->deadlocks[i].first + k]);
        }
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
    cpti_json_open(&json, "doubts", '[');
    for (uint32_t i = 0; i < waits->request_count; i++) {
        if (waits->requests[i].is_doubtful) {
            cpti_json_unsigned(&json, NULL, i);
        }
    }
    cpti_json_close(&json);
    cpti_json_unsigned(&json, "left_out", waits->left_out);
    cpti_json_close(&json);
}
