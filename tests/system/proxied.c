/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * proxied.c - two services for tests of proxies, whose paths have any size
 *
 *      proxied A [--large] --to b=http://…    entry: "/N/I" calls "/N/I" of B
 *      proxied B [--large]                    inner: "/N/I" runs N tasks in a row
 *
 * N is one of 1, 8, 25, 60, 120, 250; I is anything, so that no cache has the answer.
 * "?a=BYTES&b=BYTES": the reply of A, and that of B, has that many bytes of other
 * headers; for B alone "?more=BYTES". "&line=BYTES": of each at most. The body says
 * which ask B was sent: "N 1;max=2048". --large: both send and take paths of 4,096
 * bytes, beside headers of 8 KiB together. The other flags are those of
 * cpt_service_main().
 *
 * A heeds what a proxy forwards, for as many requests in a second as come, as a tool of
 * its operators behind a proxy would need it.
 */
#include "framework/cpt_calls.h"
#include "framework/cpt_service_main.h"
#include "framework/transport/cpt_http.h"

#include <stdio.h>
#include <string.h>

enum {
    SIZES = 6,
    TASKS_MAX = 250,
    NAME_BYTES = 48,
    LARGE_BYTES = 4096,
    LARGE_HEADERS_BYTES = 8192,
    LINE_BYTES = 1000,
    MORE_BYTES_MAX = 16384
};

static const unsigned sizes[SIZES] = {1, 8, 25, 60, 120, TASKS_MAX};

/* --- Headers --- */

/* The number that the parameter @name of the query has, at most @most; 0: none. */
static cpt_status read_number(struct cpt_task *task, const char *name, size_t most,
                              size_t *number)
{
    struct cpt_bytes text = {NULL, 0};
    cpt_status status = cpt_rpc_query(task, cpt_input(task, rpc_request), name, &text);

    *number = 0;
    for (size_t i = 0; i < text.bytes && *number <= most; i++) {
        *number = *number * 10 + (size_t)(text.data[i] - '0');
    }
    return *number > most ? cpt_fail(task, CPT_INVALID, "headers of that size")
                          : status;
}

/* Adds headers of as many bytes as the parameter @name says, with their line ends. */
static cpt_status add_headers(struct cpt_task *task, const char *name)
{
    enum { AROUND = sizeof "x-more: \r\n" - 1 };
    char value[LINE_BYTES];
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    size_t line_most = 0;
    size_t left = 0;
    cpt_status status = read_number(task, "line", LINE_BYTES, &line_most);

    if (status == CPT_OK) {
        status = read_number(task, name, MORE_BYTES_MAX, &left);
    }
    line_most = line_most > AROUND ? line_most : LINE_BYTES;
    memset(value, 'x', sizeof value);
    while (status == CPT_OK && left > AROUND + 1) {
        const size_t line = left < line_most ? left : line_most;

        status = cpt_rpc_reply_header(
            task, reply, "x-more",
            (struct cpt_bytes){value, line > AROUND ? line - AROUND : 1});
        left -= line;
    }
    return status;
}

/* --- A --- */

CPT_VALUE(n, struct cpt_bytes);
CPT_VALUE(i, struct cpt_bytes);
CPT_VALUE(more, struct cpt_bytes);
CPT_VALUE(chain, struct cpt_bytes);

static struct cpt_stub to_b = {.name = "b: /chain",
                               .method = "GET /{n}/{i}?more={more}"};

static cpt_status read_n(struct cpt_task *task)
{
    *cpt_output(task, n) = cpt_rpc_parameter(cpt_input(task, rpc_request), "n");
    return CPT_OK;
}

static cpt_status read_i(struct cpt_task *task)
{
    *cpt_output(task, i) = cpt_rpc_parameter(cpt_input(task, rpc_request), "i");
    return CPT_OK;
}

static cpt_status read_more(struct cpt_task *task)
{
    struct cpt_bytes *more = cpt_output(task, more);
    const cpt_status status =
        cpt_rpc_query(task, cpt_input(task, rpc_request), "b", more);

    if (more->data == NULL) {
        *more = cpt_bytes_of("0");
    }
    return status;
}

static cpt_status page(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = *cpt_input(task, chain);
    return add_headers(task, "a");
}

static const struct cpt_task_def of_a[] = {
    {"read n", read_n, CPT_GIVES(n), CPT_NEEDS(rpc_request)},
    {"read i", read_i, CPT_GIVES(i), CPT_NEEDS(rpc_request)},
    {"read more", read_more, CPT_GIVES(more), CPT_NEEDS(rpc_request)},
    CPT_CALLS("ask b", chain, CPT_NEEDS(n, i, more), &to_b),
    {"page", page, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request, chain)},
};

/* --- B: chains of tasks, made when it starts --- */

static char names[TASKS_MAX][NAME_BYTES];
static struct cpt_value values[TASKS_MAX];
static struct cpt_task_def chains[SIZES][TASKS_MAX];
static char methods_of_b[SIZES][NAME_BYTES];

static cpt_status step(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

static cpt_status last(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    const struct cpt_bytes ask = cpt_rpc_header(request, "critical-path");

    const cpt_status status =
        cpt_print(task, &cpt_output(task, rpc_reply)->body, "%.*s %.*s",
                  (int)request->method.bytes, request->method.data, (int)ask.bytes,
                  ask.bytes != 0 ? ask.data : "");

    return status == CPT_OK ? add_headers(task, "more") : status;
}

static void make_chain(struct cpt_task_def *rows, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const int is_last = i + 1 == count;

        rows[i].name = names[i];
        rows[i].run = is_last ? last : step;
        rows[i].gives = is_last ? CPT_GIVES(rpc_reply) : &values[i];
        rows[i].needs[0] = &cpt_value_rpc_request;
        rows[i].needs[1] = i != 0 ? &values[i - 1] : NULL;
    }
}

static void make_chains(struct cpt_main_method *methods)
{
    for (unsigned i = 0; i < TASKS_MAX; i++) {
        (void)snprintf(names[i], NAME_BYTES, "step %u %.*s", i, (int)(i * 7 % 31),
                       "of a name that has a few more bytes");
        values[i].name = names[i];
        values[i].bytes = 1;
    }
    for (unsigned i = 0; i < SIZES; i++) {
        make_chain(chains[i], sizes[i]);
        (void)snprintf(methods_of_b[i], NAME_BYTES, "GET /%u/{i}", sizes[i]);
        methods[i] = (struct cpt_main_method){methods_of_b[i], chains[i], sizes[i], 0};
    }
}

int main(int argc, char **argv)
{
    static struct cpt_main_method methods[SIZES + 1] = {
        {"GET /{n}/{i}", of_a, sizeof of_a / sizeof of_a[0], 0}};
    static struct cpt_service_options service = {.struct_bytes = sizeof service,
                                                 .trusts_forwarded = 1,
                                                 .forced_per_second_max = -1,
                                                 .asked_per_second_max = -1,
                                                 .probability = -1};
    static struct cpt_http_options http = {.struct_bytes = sizeof http};
    const int is_b = argc > 1 && strcmp(argv[1], "B") == 0;
    const int is_large = argc > 2 && strcmp(argv[2], "--large") == 0;

    if (argc < 2) {
        return 2;
    }
    service.role = is_b ? CPT_ROLE_INNER : CPT_ROLE_ENTRY;
    service.metadata_bytes_max = is_large ? LARGE_BYTES : 0;
    http.headers_bytes_max = is_large ? LARGE_HEADERS_BYTES : 0;
    if (is_b) {
        make_chains(methods);
    }
    argv[1 + is_large] = argv[0];
    return cpt_service_main(
        argc - 1 - is_large, argv + 1 + is_large,
        CPT_MAIN(.name = is_b ? "B" : "A", .service = &service, .http = &http,
                 .stubs = is_b ? NULL : CPT_STUBS(&to_b), .methods = methods));
}
