/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * 08_by_hand.c - two services that are not written as task graphs, and one path of both
 *
 *      A: a thread            ---- "critical-path: 1;max=2048" ---->     B: another one
 *         parse, call, render <--- "critical-path-bin: CAEQ..." -----       look up
 *
 * Each service reports what it does, where it does it. They exchange lines over a
 * socket; any transport can carry the two headers. The same calls work in your own
 * server, and a service of the framework may be at either end.
 */
#include <cpt/cpt_manual.h>
#include <cpt/cpt_metadata.h>
#include <cpt/cpt_path.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 2 * CPT_METADATA_BYTES_CEILING };

static void work(long ms)
{
    const struct timespec duration = {0, ms * 1000000};

    (void)nanosleep(&duration, NULL);
}

/* Reads a line, without its end. 0: there is none. */
static int read_line(int socket, char *line, size_t capacity)
{
    size_t bytes = 0;

    while (bytes + 1 < capacity && read(socket, line + bytes, 1) == 1) {
        if (line[bytes] == '\n') {
            line[bytes] = '\0';
            return 1;
        }
        bytes++;
    }
    return 0;
}

/* --- B --- */

struct b {
    struct cpt_service *service;
    int socket;
};

/* Answers one request: a line with the ask, which may be empty, and one with its nonce.
 */
static void *serve(void *context)
{
    const struct b *b = context;
    char ask[CPT_ASK_BYTES_MAX];
    char nonce[LINE_BYTES];
    char text[LINE_BYTES];
    struct cpt_field header = {cpt_bytes_of(CPT_HEADER_NONCE), {NULL, 0}};
    struct cpt_inbound inbound = {
        .method = cpt_bytes_of("/lookup"), .headers = &header, .header_count = 1};
    struct cpt_manual *manual = NULL;
    struct cpt_bytes metadata;

    if (!read_line(b->socket, ask, sizeof ask) ||
        !read_line(b->socket, nonce, sizeof nonce)) {
        return NULL;
    }
    header.value = cpt_bytes_of(nonce);
    inbound.critical_path = cpt_bytes_of(ask);
    inbound.critical_path_count = ask[0] != '\0';
    manual = cpt_manual_new(b->service, &inbound);
    cpt_manual_enter(manual, "look up");
    work(4);
    cpt_manual_leave(manual);
    metadata = cpt_manual_end(manual);
    (void)cpt_base64_encode(metadata.data, metadata.bytes, text, sizeof text);
    (void)dprintf(b->socket, "%s\n", text);
    cpt_manual_free(manual, 200);
    return NULL;
}

/* --- A --- */

static void call_b(struct cpt_manual *manual, int socket)
{
    struct cpt_manual_call *call = cpt_manual_call_begin(manual, "B: /lookup");
    const struct cpt_bytes ask = cpt_manual_call_ask(manual, call);
    const struct cpt_bytes nonce = cpt_manual_call_nonce(manual, call);
    struct cpt_manual_reply reply = {.status = CPT_IO};
    char text[LINE_BYTES];

    (void)dprintf(socket, "%.*s\n%.*s\n", (int)ask.bytes, ask.data, (int)nonce.bytes,
                  nonce.data);
    work(1); /* computes meanwhile */
    cpt_manual_wait_begin(manual);
    if (read_line(socket, text, sizeof text)) {
        reply.status = CPT_OK;
        reply.metadata_text = cpt_bytes_of(text);
    }
    cpt_manual_call_end(manual, call, &reply);
    cpt_manual_wait_end(manual);
}

static void handle(struct cpt_service *service, int socket)
{
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/search")};
    struct cpt_manual *manual = cpt_manual_new(service, &inbound);
    const struct cpt_path *path = NULL;

    cpt_manual_enter(manual, "parse");
    work(1);
    cpt_manual_leave(manual);
    cpt_manual_enter(manual, "index");
    call_b(manual, socket);
    cpt_manual_leave(manual);
    cpt_manual_enter(manual, "render");
    work(2);
    cpt_manual_leave(manual);
    (void)cpt_manual_end(manual);
    path = cpt_manual_path(manual);
    for (size_t i = 0; path != NULL && i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        char stack[256];

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        printf("%8.3f ms  %s\n", (double)segment->duration_ns / 1e6, stack);
    }
    cpt_manual_free(manual, 200);
}

int main(void)
{
    const struct cpt_service_options a = {
        .struct_bytes = sizeof a, .name = "A", .probability = 1};
    const struct cpt_service_options b = {
        .struct_bytes = sizeof b, .name = "B", .role = CPT_ROLE_INNER};
    struct cpt_error error = {0};
    struct cpt_service *service = cpt_service_new(&a, &error);
    struct b other = {.service = cpt_service_new(&b, &error)};
    int sockets[2];
    pthread_t thread;

    if (service == NULL || other.service == NULL ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) {
        (void)fprintf(stderr, "08_by_hand: %s\n", error.sentence);
        return 1;
    }
    other.socket = sockets[1];
    if (pthread_create(&thread, NULL, serve, &other) != 0) {
        return 1;
    }
    handle(service, sockets[0]);
    (void)pthread_join(thread, NULL);
    (void)close(sockets[0]);
    (void)close(sockets[1]);
    cpt_service_free(service);
    cpt_service_free(other.service);
    return 0;
}
