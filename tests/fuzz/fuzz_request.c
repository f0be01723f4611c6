/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_request.c - any bytes as a request: verb, path, query, a header's name and
 * value, which is slack, too, each on a line; what is left is a cookie
 *
 * The method reads everything and sends all of it back. There is exactly one answer;
 * what a method reads is not longer than what came, and has no NUL; what may be sent
 * has no line end.
 */
#include "framework/cpt_rpc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SLACK_NS_MAX UINT64_C(86400000000000) /* a day */

static unsigned answer_count;

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

/* What was decoded. */
static void check_value(struct cpt_bytes value, size_t bytes_max)
{
    must(value.bytes <= bytes_max);
    must(value.bytes == 0 || memchr(value.data, '\0', value.bytes) == NULL);
}

static void send_back(struct cpt_task *task, struct cpt_rpc_reply *reply,
                      struct cpt_bytes value)
{
    struct cpt_cookie cookie = {
        .struct_bytes = sizeof cookie, .name = "c", .value = value};

    if (value.data != NULL) {
        (void)cpt_rpc_reply_header(task, reply, "X-Value", value);
        (void)cpt_rpc_reply_cookie(task, reply, &cookie);
    }
}

static cpt_status answer(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    struct cpt_bytes value;
    struct cpt_field field = {{NULL, 0}, {NULL, 0}};
    size_t position = 0;

    must(cpt_task_slack_ns(task) <= SLACK_NS_MAX);
    for (size_t i = 0; i < request->parameter_count; i++) {
        check_value(request->parameters[i].value, request->method.bytes);
        send_back(task, reply, request->parameters[i].value);
    }
    if (cpt_rpc_query(task, request, "q", &value) == CPT_OK) {
        must(value.bytes <= request->query.bytes);
    }
    do {
        const size_t before = position;

        if (cpt_rpc_query_next(task, request, &position, &field) == CPT_OK) {
            check_value(field.value, request->query.bytes);
            send_back(task, reply, field.value);
        }
        must(position > before || position >= request->query.bytes);
    } while (position < request->query.bytes);
    send_back(task, reply, cpt_rpc_cookie(request, "session"));
    send_back(task, reply, cpt_rpc_header(request, "X"));
    must(reply->header_count <= CPT_REPLY_HEADERS_MAX);
    return CPT_OK;
}

static void keep(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    answer_count++;
    must(outbound->http_status >= 200 && outbound->http_status < 600);
    for (size_t i = 0; i < outbound->header_count; i++) {
        const struct cpt_field *field = &outbound->headers[i];

        must(cpt_field_is_sendable(field));
        must(memchr(field->name.data, '\r', field->name.bytes) == NULL);
        must(field->value.bytes == 0 ||
             (memchr(field->value.data, '\n', field->value.bytes) == NULL &&
              memchr(field->value.data, '\r', field->value.bytes) == NULL));
    }
}

static const struct cpt_task_def rows[] = {
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request),
                                       CPT_GIVES(rpc_reply), rows, 1};

/* Made once: it is the same for all inputs. */
static struct cpt_service *service_of_all(void)
{
    static const char *const names[] = {
        "/",
        "GET /a",
        "/a/{x}",
        "GET /a/{x}/b",
        "PUT /a/{x}/{y}",
        "GET /a/b/{rest...}",
        "DELETE /{x}",
        "PATCH /{x...}",
    };
    static struct cpt_service *service;

    if (service == NULL) {
        const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                    .name = "A",
                                                    .role = CPT_ROLE_INNER,
                                                    .probability = -1,
                                                    .slack_wait_ns_max = 1000000};
        struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

        service = cpt_service_new(&options, NULL);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            must(cpt_service_method_add(service, names[i], plan, NULL) == CPT_OK);
        }
    }
    return service;
}

/* The bytes up to the end of the line, which are then behind @rest. */
static struct cpt_bytes line_of(struct cpt_bytes *rest)
{
    const char *end = rest->bytes > 0 ? memchr(rest->data, '\n', rest->bytes) : NULL;
    struct cpt_bytes line = *rest;

    if (end == NULL) {
        rest->bytes = 0;
        return line;
    }
    line.bytes = (size_t)(end - rest->data);
    rest->data = end + 1;
    rest->bytes -= line.bytes + 1;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cpt_bytes rest = {(const char *)data, size};
    struct cpt_field headers[2];
    struct cpt_inbound inbound = {.headers = headers, .header_count = 2};

    inbound.verb = line_of(&rest);
    inbound.method = line_of(&rest);
    inbound.query = line_of(&rest);
    headers[0].name = line_of(&rest);
    headers[0].value = line_of(&rest);
    headers[1] = (struct cpt_field){cpt_bytes_of("Cookie"), rest};
    inbound.slack = headers[0].value;
    answer_count = 0;
    cpt_service_serve(service_of_all(), &inbound, keep, NULL);
    must(answer_count == 1);
    return 0;
}
