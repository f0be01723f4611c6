/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* service_pair.c - see service_pair.h. */
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_path.h"

#include <stdio.h>
#include <string.h>

struct virtual_time now;
struct loopback net;

/* --- The two services --- */

const struct cpt_stub b_stub = {
    .name = "B: /look", .target = "B", .method = "/look", .transport = &net.transport};
cpt_status call_status;

cpt_status a_answer(struct cpt_task *task)
{
    now.now_ns += 3 * MS;
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

struct cpt_pending *a_call;

cpt_status a_called(struct cpt_task *task)
{
    const struct cpt_call_reply *reply = cpt_call_reply(a_call);

    call_status = reply->status;
    return a_answer(task);
}

static cpt_status a_ask(struct cpt_task *task)
{
    struct cpt_request *request = cpt_task_request(task);

    cpt_request_set(request, "arm", "control");
    cpt_request_set(request, "hits", 12);
    cpt_request_set(request, "share", 0.5);
    cpt_request_set(request, "arm", "treatment"); /* the last one counts */
    cpt_request_set(request, "email", "a@example.org");
    now.now_ns += 2 * MS;
    a_call = cpt_call(task, &b_stub, cpt_bytes_of("what"));
    return cpt_await(task, a_call, a_called);
}

static cpt_status b_look(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);

    now.now_ns += 5 * MS;
    if (request->body.bytes == 4 && memcmp(request->body.data, "fail", 4) == 0) {
        return cpt_fail(task, CPT_IO, "the disk is gone");
    }
    cpt_output(task, rpc_reply)->body = request->body;
    return CPT_OK;
}

static const struct cpt_task_def a_tasks[] = {
    {"ask", a_ask, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_task_def b_tasks[] = {
    {"look", b_look, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph a_graph = {"A", CPT_GIVES(rpc_request),
                                         CPT_GIVES(rpc_reply), a_tasks, 1};
const struct cpt_graph b_graph = {"B", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                  b_tasks, 1};

static void travel(void *context)
{
    (void)context;
    now.now_ns += MS;
}

/* --- The log --- */

static unsigned char log_bytes[1 << 18];
static size_t log_size;
static size_t log_read;

static cpt_status keep_block(void *context, const void *block, size_t bytes)
{
    (void)context;
    if (bytes > sizeof log_bytes - log_size) {
        return CPT_LIMIT;
    }
    memcpy(log_bytes + log_size, block, bytes);
    log_size += bytes;
    return CPT_OK;
}

static cpt_status read_block(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    (void)context;
    *bytes = capacity < log_size - log_read ? capacity : log_size - log_read;
    memcpy(buffer, log_bytes + log_read, *bytes);
    log_read += *bytes;
    return CPT_OK;
}

/* --- Requests --- */

static const char *const loopback_networks[] = {"127.0.0.0/8", "::1", NULL};

struct pair pair;
struct answer answer;

struct cpt_service *make_service(struct cpt_service_options options, const char *name,
                                 const char *method, const struct cpt_plan *plan)
{
    struct cpt_service *service = NULL;

    options.struct_bytes = sizeof options;
    options.name = name;
    options.executor = &now.executor;
    options.clock = &now.clock;
    options.seed = 7;
    if (options.trusted_networks == NULL) {
        options.trusted_networks = loopback_networks;
    }
    service = cpt_service_new(&options, NULL);
    if (service != NULL &&
        cpt_service_method_add(service, method, plan, NULL) != CPT_OK) {
        cpt_service_free(service);
        return NULL;
    }
    return service;
}

void close_pair(void)
{
    cpt_log_queue_free(pair.log);
    cpt_service_free(pair.a);
    cpt_service_free(pair.b);
    cpt_plan_free(pair.a_plan);
    cpt_plan_free(pair.b_plan);
    cpt_plan_free(pair.work_plan);
    pair.work_plan = NULL;
}

void open_pair(struct cpt_service_options a, struct cpt_service_options b)
{
    const struct cpt_log_queue_options log = {.struct_bytes = sizeof log,
                                              .sink = keep_block};

    virtual_init(&now, 0);
    loopback_init(&net);
    net.delay = travel;
    log_size = 0;
    log_read = 0;
    pair.log = cpt_log_queue_new(&log, NULL);
    pair.a_plan = cpt_plan_new(&a_graph, NULL, NULL);
    pair.b_plan = cpt_plan_new(&b_graph, NULL, NULL);
    a.log = pair.log;
    b.log = pair.log;
    b.role = CPT_ROLE_INNER;
    pair.a = make_service(a, "A", "/", pair.a_plan);
    pair.b = make_service(b, "B", "/look", pair.b_plan);
    CU_ASSERT_FATAL(pair.a != NULL && pair.b != NULL);
    net.services[net.service_count++] = pair.b;
}

static void note_answer(void *context, const struct cpt_outbound *outbound)
{
    struct answer *noted = context;

    noted->count++;
    noted->http_status = outbound->http_status;
    noted->outcome = outbound->outcome;
    noted->metadata_bytes = outbound->metadata.bytes;
    if (outbound->metadata.bytes != 0) {
        memcpy(noted->metadata, outbound->metadata.data, outbound->metadata.bytes);
    }
    (void)snprintf(noted->body, sizeof noted->body, "%.*s", (int)outbound->body.bytes,
                   outbound->body.data);
}

struct cpt_inbound inbound_with(const char *ask)
{
    return (struct cpt_inbound){
        .method = cpt_bytes_of("/"),
        .critical_path = ask != NULL ? cpt_bytes_of(ask) : (struct cpt_bytes){NULL, 0},
        .critical_path_count = ask != NULL,
        .peer_address = cpt_bytes_of("127.0.0.1")};
}

void ask(struct cpt_service *service, const struct cpt_inbound *inbound)
{
    memset(&answer, 0, sizeof answer);
    cpt_service_serve(service, inbound, note_answer, &answer);
    virtual_run(&now);
    CU_ASSERT_EQUAL(answer.count, 1);
}

void ask_a(const char *header)
{
    const struct cpt_inbound inbound = inbound_with(header);

    ask(pair.a, &inbound);
}

/* --- More methods --- */

const struct cpt_stub work_stub = {
    .name = "B: /work", .target = "B", .method = "/work", .transport = &net.transport};

static cpt_status b_worked(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_input(task, rpc_request)->body;
    return CPT_OK;
}

static cpt_status b_work(struct cpt_task *task)
{
    const struct cpt_bytes body = cpt_input(task, rpc_request)->body;
    uint64_t ms = 0;

    for (size_t i = 0; i < body.bytes; i++) {
        ms = 10 * ms + (uint64_t)(body.data[i] - '0');
    }
    return cpt_await(task, cpt_sleep(task, "disk", ms * MS), b_worked);
}

static const struct cpt_task_def work_tasks[] = {
    {"work", b_work, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph work_graph = {"B", CPT_GIVES(rpc_request),
                                            CPT_GIVES(rpc_reply), work_tasks, 1};

void serve_work(void)
{
    net.delay = NULL;
    pair.work_plan = cpt_plan_new(&work_graph, NULL, NULL);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.b, "/work", pair.work_plan, NULL),
                    CPT_OK);
}

void ask_graph(const char *method, const struct cpt_graph *graph)
{
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with("1");

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, method, plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of(method);
    ask(pair.a, &inbound);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 5000000000U), CPT_OK);
    cpt_plan_free(plan);
}

/* --- Outcomes --- */

const char *path_text(const struct cpt_path *path)
{
    static char text[1024];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        char stack[256];

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %llu",
                                 i != 0 ? ", " : "", stack,
                                 (unsigned long long)(segment->duration_ns / MS));
    }
    return text;
}

const char *dragged_text(const struct cpt_path *path)
{
    static char text[2048];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        char stack[256];

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %llu",
                                 i != 0 ? ", " : "", stack,
                                 (unsigned long long)(segment->duration_ns / MS));
        if (cpt_path_drag(path, i) != CPT_DRAG_UNKNOWN && used < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, " ~%llu",
                                     (unsigned long long)(cpt_path_drag(path, i) / MS));
        }
    }
    return text;
}

const char *answered_path(void)
{
    static char text[1024];
    struct cpt_path *path = cpt_path_new(NULL);

    text[0] = '\0';
    if (answer.metadata_bytes != 0 &&
        cpt_metadata_decode(answer.metadata, answer.metadata_bytes, NULL, path, NULL) ==
            CPT_OK) {
        (void)snprintf(text, sizeof text, "%s", path_text(path));
    }
    cpt_path_free(path);
    return text;
}

/* Reads record @index of the log; the caller frees the reader. */
struct cpt_log_reader *read_record(int index, struct cpt_record *record)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = read_block};
    struct cpt_log_reader *reader = NULL;

    cpt_log_queue_flush(pair.log);
    log_read = 0;
    reader = cpt_log_reader_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    for (int i = 0; i <= index; i++) {
        const cpt_status status = cpt_log_reader_next(reader, record, NULL);

        if (status != CPT_OK) {
            cpt_log_reader_free(reader);
            return NULL;
        }
    }
    return reader;
}

int record_count(void)
{
    struct cpt_record record;
    int count = 0;

    for (;;) {
        struct cpt_log_reader *reader = read_record(count, &record);

        if (reader == NULL) {
            return count;
        }
        cpt_log_reader_free(reader);
        count++;
    }
}

struct sought {
    const char *name;
    const char *member;
    uint64_t value;
    int count;
};

static void seek_counter(void *context, const struct cpt_counter *counter)
{
    struct sought *sought = context;

    if (strcmp(counter->name, sought->name) == 0 &&
        (sought->member == NULL ||
         cpt_bytes_equal(counter->member, cpt_bytes_of(sought->member)))) {
        sought->value = counter->value;
        sought->count++;
    }
}

uint64_t counter(struct cpt_service *service, const char *name, const char *member)
{
    struct sought sought = {name, member, 0, 0};

    cpt_service_counters(service, seek_counter, &sought);
    CU_ASSERT_EQUAL(sought.count, 1);
    return sought.value;
}

const struct cpt_service_options never = {.probability = -1};
const struct cpt_service_options always = {.probability = 1};
