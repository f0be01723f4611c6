/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_support.c - a service with a pool, and calls by a real task graph */
#include "grpc_support.h"

#include "cpt/base/container.h"
#include "framework/cpt_calls.h"

#include <stdlib.h>
#include <time.h>

void test_sleep_ns(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    (void)nanosleep(&time, NULL);
}

/* --- The methods --- */

static struct grpc_service *service_here; /* for Stuck */

static cpt_status hello(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    static const char greeting[] = {'h', 'e', 'l', 'l', 'o', ' '};
    char *text = cpt_task_memory(task, request->body.bytes + sizeof greeting);

    if (text == NULL) {
        return CPT_NO_MEMORY;
    }
    memcpy(text, greeting, sizeof greeting);
    if (request->body.bytes > 0) {
        memcpy(text + sizeof greeting, request->body.data, request->body.bytes);
    }
    reply->body = (struct cpt_bytes){text, request->body.bytes + sizeof greeting};
    return cpt_rpc_reply_header(task, reply, "X-Answer", cpt_bytes_of("yes"));
}

static cpt_status slow(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "G: nap", 50 * MS), hello);
}

static cpt_status nap_long(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "G: long nap", 60000 * MS), hello);
}

static cpt_status echo(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_input(task, rpc_request)->body;
    return CPT_OK;
}

static cpt_status fail_as_told(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);

    for (size_t i = 0; i < request->body.bytes; i++) {
        reply->outcome = reply->outcome * 10 + (unsigned)(request->body.data[i] - '0');
    }
    reply->body = cpt_bytes_of("why");
    return CPT_OK;
}

static cpt_status stuck(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_defer(task, "G: another thread");
    const cpt_status status = cpt_await(task, pending, hello);

    atomic_store(&service_here->stuck, pending);
    return status;
}

/* What a stream has sent, and is to send. */
struct stream {
    unsigned sent;
    unsigned count;
    unsigned outcome;
    bool is_slow;
};

static cpt_status stream_on(struct cpt_task *task)
{
    struct stream *stream = cpt_state(task, struct stream);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    char text[16];

    while (stream->sent < stream->count) {
        cpt_status status = CPT_OK;

        (void)snprintf(text, sizeof text, "m%u", stream->sent++);
        status = cpt_rpc_send(task, cpt_bytes_of(text));
        if (status != CPT_OK) {
            return status;
        }
        if (stream->is_slow) {
            return cpt_await(task, cpt_sleep(task, "G: pause", MS), stream_on);
        }
    }
    reply->is_stream = 1;
    reply->outcome = stream->outcome;
    if (stream->outcome > CPT_OUTCOME_OK) {
        reply->body = cpt_bytes_of("why");
    }
    return cpt_rpc_reply_header(task, reply, "X-Answer", cpt_bytes_of("yes"));
}

static void stream_begin(struct cpt_task *task)
{
    const struct cpt_bytes body = cpt_input(task, rpc_request)->body;
    struct stream *stream = cpt_state(task, struct stream);
    unsigned numbers[2] = {0, 0};
    size_t at = 0;

    for (size_t i = 0; i < body.bytes && at < 2; i++) {
        if (body.data[i] == ' ') {
            at++;
        } else {
            numbers[at] = numbers[at] * 10 + (unsigned)(body.data[i] - '0');
        }
    }
    stream->count = numbers[0];
    stream->outcome = numbers[1];
}

static cpt_status stream_at_once(struct cpt_task *task)
{
    stream_begin(task);
    return stream_on(task);
}

static cpt_status stream_slowly(struct cpt_task *task)
{
    stream_begin(task);
    cpt_state(task, struct stream)->is_slow = true;
    return stream_on(task);
}

static cpt_status stream_endless(struct cpt_task *task)
{
    static const char zeros[1 << 16];
    const struct cpt_bytes message = {zeros, sizeof zeros};
    cpt_status status = CPT_OK;

    while (status == CPT_OK) {
        status = cpt_rpc_send(task, message);
    }
    return status;
}

static const struct {
    const char *method;
    struct cpt_task_def task;
} methods[] = {
    {"/t.G/Hello", {"hello", hello, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}},
    {"/t.G/Slow", {"slow", slow, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}},
    {"/t.G/Long", {"nap", nap_long, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}},
    {"POST /t.G/Echo", {"echo", echo, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}},
    {"/t.G/Fail", {"fail", fail_as_told, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}},
    {"/t.G/Stream",
     {"stream", stream_at_once, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}},
    {"/t.G/Slowly",
     {"slowly", stream_slowly, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}},
    {"/t.G/Endless",
     {"endless", stream_endless, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}},
    {"/t.G/Stuck", {"stuck", stuck, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}},
};

enum { METHOD_COUNT = sizeof methods / sizeof methods[0] };

/* --- The service --- */

static void give_up(const struct cpt_error *error)
{
    (void)fprintf(stderr, "%s\n", error->sentence);
    abort();
}

static void methods_add(struct grpc_service *made)
{
    struct cpt_error error = {0};

    for (size_t i = 0; i < METHOD_COUNT; i++) {
        const struct cpt_graph graph = {"G", CPT_GIVES(rpc_request),
                                        CPT_GIVES(rpc_reply), &methods[i].task, 1};

        made->plans[i] = cpt_plan_new(&graph, NULL, &error);
        if (made->plans[i] == NULL ||
            cpt_service_method_add(made->service, methods[i].method, made->plans[i],
                                   &error) != CPT_OK) {
            give_up(&error);
        }
    }
}

void grpc_service_start(struct grpc_service *made, const struct cpt_grpc_options *grpc,
                        const struct cpt_service_options *service)
{
    const struct cpt_pool_options two = {.struct_bytes = sizeof two, .worker_count = 2};
    struct cpt_service_options options = {.struct_bytes = sizeof options};
    struct cpt_error error = {0};

    memset(made, 0, sizeof *made);
    made->grpc = cpt_grpc_new(grpc, &error);
    made->pool = cpt_pool_new(&two, &error);
    if (service != NULL) {
        options = *service;
    } else {
        options.role = CPT_ROLE_INNER;
        options.probability = -1;
    }
    options.name = "G";
    options.executor = made->pool;
    made->service = cpt_service_new(&options, &error);
    if (made->grpc == NULL || made->pool == NULL || made->service == NULL) {
        give_up(&error);
    }
    methods_add(made);
    if (cpt_grpc_listen(made->grpc, made->service, NULL, 0, &made->port, &error) !=
        CPT_OK) {
        give_up(&error);
    }
    (void)snprintf(made->target, sizeof made->target, "127.0.0.1:%u",
                   (unsigned)made->port);
    service_here = made;
}

void grpc_service_free(struct grpc_service *made)
{
    if (cpt_service_drain(made->service, 20000 * MS) != CPT_OK) {
        abort();
    }
    cpt_pool_free(made->pool);
    cpt_service_free(made->service);
    cpt_grpc_free(made->grpc);
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        cpt_plan_free(made->plans[i]);
    }
}

cpt_status grpc_service_stop(struct grpc_service *made)
{
    const cpt_status status = cpt_grpc_stop(made->grpc);

    grpc_service_free(made);
    return status;
}

struct cpt_pending *grpc_service_stuck(struct grpc_service *made)
{
    struct cpt_pending *pending = NULL;

    for (int i = 0; i < PATIENCE_MS && pending == NULL; i++) {
        pending = atomic_exchange(&made->stuck, NULL);
        if (pending == NULL) {
            test_sleep_ns(MS);
        }
    }
    return pending;
}

/* --- Counters --- */

struct sought {
    const char *name;
    uint64_t value;
    bool is_there;
};

static void seek(void *context, const struct cpt_counter *counter)
{
    struct sought *sought = context;

    if (strcmp(counter->name, sought->name) == 0) {
        sought->value += counter->value;
        sought->is_there = true;
    }
}

uint64_t grpc_counter(struct cpt_grpc *grpc, const char *name)
{
    struct sought sought = {.name = name};

    cpt_grpc_counters(grpc, seek, &sought);
    return sought.is_there ? sought.value : UINT64_MAX;
}

uint64_t grpc_service_counter(struct grpc_service *made, const char *name)
{
    struct sought sought = {.name = name};

    cpt_service_counters(made->service, seek, &sought);
    return sought.is_there ? sought.value : grpc_counter(made->grpc, name);
}

bool grpc_comes_to(struct grpc_service *made, const char *name, uint64_t wanted)
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        if (grpc_service_counter(made, name) == wanted) {
            return true;
        }
        test_sleep_ns(MS);
    }
    return false;
}

/* --- Calls out --- */

/* A transport that keeps calls until the step that made them has ended, as then the
 * task waits. Else a reply that is fast would delay nothing, and stand on no path. */
struct gate {
    struct cpt_transport transport;
    struct cpt_transport *real;
    struct cpt_transport_call *calls[GRPC_CALLS_MAX];
    unsigned count;
    unsigned sent_count;
};

static void gate_send(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    struct gate *gate = CPTI_CONTAINER(transport, struct gate, transport);

    gate->calls[gate->count++] = call;
}

static void gate_open(struct gate *gate)
{
    while (gate->sent_count < gate->count) {
        gate->real->send(gate->real, gate->calls[gate->sent_count++]);
    }
}

static void gate_cancel(struct cpt_transport *transport,
                        struct cpt_transport_call *call)
{
    struct gate *gate = CPTI_CONTAINER(transport, struct gate, transport);

    gate->real->cancel(gate->real, call);
}

CPT_VALUE(call_request, struct grpc_call_request);
CPT_VALUE(call_result, struct grpc_call_result);

struct calls {
    struct cpt_pending *pending[GRPC_CALLS_MAX];
};

static cpt_status calls_ended(struct cpt_task *task)
{
    const struct grpc_call_request *request = cpt_input(task, call_request);
    struct grpc_call_result *result = cpt_output(task, call_result);
    const struct calls *calls = cpt_state(task, struct calls);

    for (unsigned i = 0; i < request->count; i++) {
        const struct cpt_call_reply *reply = cpt_call_reply(calls->pending[i]);
        const size_t most = sizeof result->bodies[i] - 1;
        const size_t bytes = reply->body.bytes < most ? reply->body.bytes : most;

        result->statuses[i] = reply->status;
        result->outcomes[i] = reply->outcome;
        result->body_bytes[i] = reply->body.bytes;
        if (bytes > 0) {
            memcpy(result->bodies[i], reply->body.data, bytes);
        }
        result->message_counts[i] = reply->message_count;
        if (reply->message_count > 0) {
            const struct cpt_bytes first = reply->messages[0];
            const struct cpt_bytes last = reply->messages[reply->message_count - 1];

            (void)snprintf(result->messages[i], sizeof result->messages[i], "%.*s,%.*s",
                           (int)(first.bytes < 20 ? first.bytes : 20), first.data,
                           (int)(last.bytes < 20 ? last.bytes : 20), last.data);
        }
    }
    return CPT_OK;
}

static cpt_status calls_start(struct cpt_task *task)
{
    const struct grpc_call_request *request = cpt_input(task, call_request);
    struct calls *calls = cpt_state(task, struct calls);
    const struct cpt_call_request said = {.struct_bytes = sizeof said,
                                          .body = request->body,
                                          .slack_ns = request->slack_ns};

    for (unsigned i = 0; i < request->count; i++) {
        calls->pending[i] = cpt_call_with(task, &request->stub, &said);
    }
    return cpt_await_all(task, calls_ended);
}

static void path_read(const struct cpt_path *path, struct grpc_call_result *result)
{
    const size_t count = cpt_path_segment_count(path);

    result->is_path_good =
        count > 0 && cpt_path_check(path, cpt_path_sum_ns(path), NULL) == CPT_OK;
    for (size_t i = 0; i < count; i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const unsigned kind = cpt_path_frame(path, segment->frame)->kind;
        const struct cpt_bytes service = cpt_path_frame_service(path, segment->frame);

        result->kind_ns[kind % 32] += segment->duration_ns;
        if (kind == CPT_KIND_BLIND_SPOT) {
            result->reason = segment->reason;
        }
        if (kind == CPT_KIND_WORK && cpt_bytes_equal(service, cpt_bytes_of("G"))) {
            result->has_callee = true;
        }
    }
}

/* What the end of a request is noted in. */
struct ending {
    struct grpc_call_result *result;
    struct cpt_path *path; /* NULL: it is not traced */
    bool is_gone;
};

static void note_done(struct cpt_request *request, void *context)
{
    struct ending *ending = context;
    const struct grpc_call_result *output = cpt_request_output(request);

    if (output != NULL) {
        *ending->result = *output;
    }
    ending->result->status = cpt_request_status(request);
    if (ending->path != NULL &&
        cpt_request_path(request, ending->path, NULL) == CPT_OK) {
        path_read(ending->path, ending->result);
    }
}

static void note_gone(void *context)
{
    ((struct ending *)context)->is_gone = true;
}

/* On this thread alone: steps, and between them the calls that they made. */
static void run(struct cpt_request_options *options, struct gate *gate)
{
    const struct cpt_queue_executor_options none = {.struct_bytes = sizeof none};
    struct ending *ending = options->context;
    struct cpt_executor *executor = cpt_queue_executor_new(&none, NULL);

    options->executor = executor;
    if (executor == NULL || cpt_request_start(options, NULL) != CPT_OK) {
        abort();
    }
    while (!ending->is_gone) {
        if (cpt_queue_executor_run(executor, 1) == 0 &&
            gate->sent_count == gate->count) {
            test_sleep_ns(MS / 10);
        }
        gate_open(gate);
    }
    cpt_queue_executor_free(executor);
}

void grpc_call_out(struct cpt_grpc *grpc, const struct grpc_call_request *request,
                   struct grpc_call_result *result)
{
    static const struct cpt_task_def tasks[] = {
        {"calls", calls_start, CPT_GIVES(call_result), CPT_NEEDS(call_request)}};
    static const struct cpt_graph graph = {"T", CPT_GIVES(call_request),
                                           CPT_GIVES(call_result), tasks, 1};
    struct grpc_call_request input = *request;
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct gate gate = {.transport = {"gate", gate_send, gate_cancel},
                        .real = cpt_grpc_transport(grpc)};
    struct ending ending = {result, request->is_traced ? cpt_path_new(NULL) : NULL,
                            false};
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .plan = plan,
                                          .input = &input,
                                          .done = note_done,
                                          .gone = note_gone,
                                          .context = &ending,
                                          .is_traced = request->is_traced,
                                          .timeout_ns = request->timeout_ns};

    input.count = input.count != 0 ? input.count : 1;
    input.stub.name = "G: call";
    input.stub.method = input.stub.method != NULL ? input.stub.method : "/t.G/Hello";
    input.stub.transport = &gate.transport;
    memset(result, 0, sizeof *result);
    run(&options, &gate);
    cpt_path_free(ending.path);
    cpt_plan_free(plan);
}
