/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_plain.c - a client and a server on gRPC's own functions, which know nothing of
 * critical paths */
#include "grpc_support.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>

#include <stdlib.h>

enum { LIMIT_MS = 20000 };

static gpr_timespec in_ms(int ms)
{
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_millis(ms, GPR_TIMESPAN));
}

static grpc_byte_buffer *buffer_of(const char *text, size_t bytes)
{
    grpc_slice slice = grpc_slice_from_copied_buffer(text, bytes);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);

    grpc_slice_unref(slice);
    return buffer;
}

static size_t fields_make(const struct cpt_field *from, grpc_metadata *to)
{
    size_t count = 0;

    while (count < PLAIN_FIELDS_MAX && from[count].name.bytes != 0) {
        to[count].key = grpc_slice_from_copied_buffer(from[count].name.data,
                                                      from[count].name.bytes);
        to[count].value = grpc_slice_from_copied_buffer(from[count].value.data,
                                                        from[count].value.bytes);
        count++;
    }
    return count;
}

static void fields_free(grpc_metadata *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        grpc_slice_unref(fields[i].key);
        grpc_slice_unref(fields[i].value);
    }
}

static size_t cut(grpc_slice slice, void *to, size_t capacity)
{
    const size_t bytes =
        GRPC_SLICE_LENGTH(slice) < capacity ? GRPC_SLICE_LENGTH(slice) : capacity;

    memcpy(to, GRPC_SLICE_START_PTR(slice), bytes);
    return bytes;
}

/* --- The client --- */

static void note_path(const grpc_metadata_array *trailing, struct plain_result *result)
{
    for (size_t i = 0; i < trailing->count; i++) {
        if (grpc_slice_str_cmp(trailing->metadata[i].key, "critical-path-bin") == 0 &&
            result->path_count++ == 0) {
            result->path_bytes =
                cut(trailing->metadata[i].value, result->path, sizeof result->path);
        }
    }
}

static void note_answer(const grpc_metadata_array *initial, grpc_byte_buffer *message,
                        struct plain_result *result)
{
    grpc_byte_buffer_reader reader;
    grpc_slice slice;

    for (size_t i = 0; i < initial->count; i++) {
        if (grpc_slice_str_cmp(initial->metadata[i].key, "x-answer") == 0) {
            (void)cut(initial->metadata[i].value, result->header,
                      sizeof result->header - 1);
        }
    }
    if (message == NULL || !grpc_byte_buffer_reader_init(&reader, message)) {
        return;
    }
    slice = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    result->body_bytes = GRPC_SLICE_LENGTH(slice);
    (void)cut(slice, result->body, sizeof result->body - 1);
    grpc_slice_unref(slice);
}

static grpc_channel *channel_to(uint16_t port)
{
    grpc_arg args[] = {{.type = GRPC_ARG_INTEGER,
                        .key = (char *)(uintptr_t)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
                        .value.integer = 1},
                       {.type = GRPC_ARG_INTEGER,
                        .key = (char *)(uintptr_t)GRPC_ARG_MAX_METADATA_SIZE,
                        .value.integer = 1 << 20}};
    const grpc_channel_args all = {2, args};
    grpc_channel_credentials *plain = grpc_insecure_credentials_create();
    grpc_channel *channel = NULL;
    char target[32];

    (void)snprintf(target, sizeof target, "127.0.0.1:%u", (unsigned)port);
    channel = grpc_channel_create(target, plain, &all);
    grpc_channel_credentials_release(plain);
    return channel;
}

/* What the operations of a call use. */
struct client {
    grpc_completion_queue *queue;
    grpc_call *call;
    grpc_metadata fields[PLAIN_FIELDS_MAX];
    size_t field_count;
    grpc_byte_buffer *body;
    grpc_metadata_array initial;
    grpc_metadata_array trailing;
    grpc_byte_buffer *message;
    grpc_slice sentence;
};

static void client_start(struct client *client, const struct plain_call *call,
                         struct plain_result *result)
{
    grpc_op ops[6] = {
        {.op = GRPC_OP_RECV_INITIAL_METADATA}, {.op = GRPC_OP_RECV_MESSAGE},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT}, {.op = GRPC_OP_SEND_INITIAL_METADATA},
        {.op = GRPC_OP_SEND_MESSAGE},          {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}};

    ops[0].data.recv_initial_metadata.recv_initial_metadata = &client->initial;
    ops[1].data.recv_message.recv_message = &client->message;
    ops[2].data.recv_status_on_client.trailing_metadata = &client->trailing;
    ops[2].data.recv_status_on_client.status = &result->code;
    ops[2].data.recv_status_on_client.status_details = &client->sentence;
    ops[3].data.send_initial_metadata.count = client->field_count;
    ops[3].data.send_initial_metadata.metadata = client->fields;
    ops[4].data.send_message.send_message = client->body;
    if (grpc_call_start_batch(client->call, ops, call->body != NULL ? 6 : 4, client,
                              NULL) != GRPC_CALL_OK) {
        abort();
    }
    if (call->cancel_ms != 0) {
        (void)grpc_completion_queue_pluck(client->queue, client, in_ms(call->cancel_ms),
                                          NULL);
        (void)grpc_call_cancel(client->call, NULL);
    }
    (void)grpc_completion_queue_pluck(client->queue, client,
                                      gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
}

static void client_free(struct client *client)
{
    grpc_call_unref(client->call);
    grpc_metadata_array_destroy(&client->initial);
    grpc_metadata_array_destroy(&client->trailing);
    grpc_byte_buffer_destroy(client->body);
    grpc_byte_buffer_destroy(client->message);
    grpc_slice_unref(client->sentence);
    fields_free(client->fields, client->field_count);
    grpc_completion_queue_shutdown(client->queue);
    (void)grpc_completion_queue_pluck(client->queue, NULL, in_ms(LIMIT_MS), NULL);
    grpc_completion_queue_destroy(client->queue);
}

void plain_call(const struct plain_call *call, struct plain_result *result)
{
    grpc_channel *channel = NULL;
    grpc_slice method;
    struct client client;

    memset(result, 0, sizeof *result);
    memset(&client, 0, sizeof client);
    grpc_init();
    channel = channel_to(call->port);
    method = grpc_slice_from_copied_string(call->method);
    client.queue = grpc_completion_queue_create_for_pluck(NULL);
    client.call = grpc_channel_create_call(
        channel, NULL, GRPC_PROPAGATE_DEFAULTS, client.queue, method, NULL,
        in_ms(call->timeout_ms != 0 ? call->timeout_ms : LIMIT_MS), NULL);
    grpc_slice_unref(method);
    grpc_metadata_array_init(&client.initial);
    grpc_metadata_array_init(&client.trailing);
    client.sentence = grpc_empty_slice();
    client.field_count = fields_make(call->fields, client.fields);
    if (call->body != NULL) {
        client.body = buffer_of(call->body, call->body_bytes != 0 ? call->body_bytes
                                                                  : strlen(call->body));
    }
    client_start(&client, call, result);
    (void)cut(client.sentence, result->sentence, sizeof result->sentence - 1);
    note_path(&client.trailing, result);
    note_answer(&client.initial, client.message, result);
    client_free(&client);
    grpc_channel_destroy(channel);
    grpc_shutdown();
}

/* --- The server --- */

/* A request that is being answered. */
struct served {
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
    grpc_byte_buffer *message;
    int is_cancelled;
};

static bool ended(struct plain_server *server, grpc_call *call, const grpc_op *ops,
                  size_t count)
{
    grpc_event event;

    if (grpc_call_start_batch(call, ops, count, call, NULL) != GRPC_CALL_OK) {
        abort();
    }
    do { /* the server's end may come before */
        event = grpc_completion_queue_next(server->queue,
                                           gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    } while (event.tag != call);
    return event.success != 0;
}

/* Sends the messages before the answer. */
static void send_messages(struct plain_server *server, grpc_call *call,
                          grpc_byte_buffer *body)
{
    grpc_op headers = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    grpc_op message = {.op = GRPC_OP_SEND_MESSAGE};
    bool is_good = ended(server, call, &headers, 1);

    for (unsigned i = 0; is_good && (server->never_ends || i < server->before_count);
         i++) {
        grpc_byte_buffer *copy = grpc_byte_buffer_copy(body); /* sending empties it */

        message.data.send_message.send_message = copy;
        is_good = ended(server, call, &message, 1);
        grpc_byte_buffer_destroy(copy);
    }
}

static void answer(struct plain_server *server, struct served *served)
{
    const bool has_body = server->code == GRPC_STATUS_OK;
    grpc_metadata fields[PLAIN_FIELDS_MAX];
    grpc_byte_buffer *body = buffer_of(server->body, strlen(server->body));
    grpc_slice sentence = grpc_slice_from_static_string("so it is");
    grpc_op ops[4] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
                      {.op = GRPC_OP_RECV_CLOSE_ON_SERVER},
                      {.op = GRPC_OP_SEND_STATUS_FROM_SERVER},
                      {.op = GRPC_OP_SEND_MESSAGE}};
    const size_t count = fields_make(server->fields, fields);
    const bool is_stream = server->never_ends || server->before_count > 0;

    if (is_stream) {
        send_messages(server, served->call, body);
    }
    ops[1].data.recv_close_on_server.cancelled = &served->is_cancelled;
    ops[2].data.send_status_from_server.status = server->code;
    ops[2].data.send_status_from_server.status_details = &sentence;
    ops[2].data.send_status_from_server.trailing_metadata_count = count;
    ops[2].data.send_status_from_server.trailing_metadata = fields;
    ops[3].data.send_message.send_message = body;
    if (server->never_answers) {
        (void)ended(server, served->call, ops + 1, 1);
    } else {
        (void)ended(server, served->call, ops + is_stream,
                    (has_body ? 4U : 3U) - is_stream);
    }
    grpc_byte_buffer_destroy(body);
    fields_free(fields, count);
}

static void note_request(struct plain_server *server, const struct served *served)
{
    bool has_ask = false;
    bool has_nonce = false;
    char slack[16] = "";

    for (size_t i = 0; i < served->metadata.count; i++) {
        const grpc_metadata *field = &served->metadata.metadata[i];

        if (grpc_slice_str_cmp(field->key, "cpt-slack") == 0) {
            (void)snprintf(slack, sizeof slack, "%.*s",
                           (int)GRPC_SLICE_LENGTH(field->value),
                           (const char *)GRPC_SLICE_START_PTR(field->value));
        }
        has_ask |= grpc_slice_str_cmp(field->key, "critical-path") == 0;
        has_nonce |= grpc_slice_str_cmp(field->key, "critical-path-nonce") == 0 &&
                     GRPC_SLICE_LENGTH(field->value) == 16;
    }
    atomic_store(&server->has_ask, has_ask);
    atomic_store(&server->has_nonce, has_nonce);
    atomic_store(&server->slack_us, (unsigned)strtoul(slack, NULL, 10));
    atomic_store(&server->has_deadline,
                 gpr_time_cmp(served->details.deadline,
                              gpr_inf_future(served->details.deadline.clock_type)) !=
                     0);
    atomic_fetch_add(&server->request_count, 1);
}

/* Serves one request; false: the server ends. */
static bool serve_one(struct plain_server *server)
{
    struct served served;
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};
    grpc_event event;
    bool is_served = false;

    memset(&served, 0, sizeof served);
    grpc_call_details_init(&served.details);
    grpc_metadata_array_init(&served.metadata);
    op.data.recv_message.recv_message = &served.message;
    if (grpc_server_request_call(server->server, &served.call, &served.details,
                                 &served.metadata, server->queue, server->queue,
                                 &served) == GRPC_CALL_OK) {
        event = grpc_completion_queue_next(server->queue,
                                           gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        is_served = event.tag == &served && event.success != 0;
        while (event.tag != &served) { /* the server's end came first */
            event = grpc_completion_queue_next(
                server->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        }
    }
    if (is_served) {
        note_request(server, &served);
        (void)ended(server, served.call, &op, 1);
        answer(server, &served);
        grpc_call_unref(served.call);
    }
    grpc_byte_buffer_destroy(served.message);
    grpc_call_details_destroy(&served.details);
    grpc_metadata_array_destroy(&served.metadata);
    return is_served;
}

static void *server_main(void *context)
{
    while (serve_one(context)) {
    }
    return NULL;
}

void plain_server_start(struct plain_server *server)
{
    grpc_server_credentials *plain = NULL;
    int port = 0;

    grpc_init();
    server->queue = grpc_completion_queue_create_for_next(NULL);
    server->server = grpc_server_create(NULL, NULL);
    grpc_server_register_completion_queue(server->server, server->queue, NULL);
    plain = grpc_insecure_server_credentials_create();
    port = grpc_server_add_http2_port(server->server, "127.0.0.1:0", plain);
    grpc_server_credentials_release(plain);
    grpc_server_start(server->server);
    server->port = (uint16_t)port;
    (void)snprintf(server->target, sizeof server->target, "127.0.0.1:%d", port);
    (void)pthread_create(&server->thread, NULL, server_main, server);
}

/* Its clients have got their answers, or have left. */
void plain_server_stop(struct plain_server *server)
{
    grpc_server_shutdown_and_notify(server->server, server->queue, server);
    grpc_server_cancel_all_calls(server->server);
    (void)pthread_join(server->thread, NULL);
    grpc_completion_queue_shutdown(server->queue);
    while (grpc_completion_queue_next(server->queue,
                                      gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL)
               .type != GRPC_QUEUE_SHUTDOWN) {
    }
    grpc_server_destroy(server->server);
    grpc_completion_queue_destroy(server->queue);
    grpc_shutdown();
}
