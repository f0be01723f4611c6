/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * proxied_load.c - asks proxied.c for pages, with paths, and looks at each answer
 *
 *      proxied_load PORT COUNT MAX...     on four connections that are kept
 *
 * Each request takes the next size of a chain and the next MAX, the budget that it
 * sends (0: none, which means 2,048). Right is: status 200; the body says that B was
 * asked for the lower of this and 2,048; one path, not longer than that, whose sum is
 * the time that A says it took; and, if there is room for names, without a blind spot.
 * Prints how many there were, and how large the paths are. Exit status 1 at the first
 * that is wrong, with its head, and if B is on no path. (It is not on that of a request
 * whose reply from B came before A began to wait.)
 */
#include "cpt/cpt_path.h"
#include "wire/cpt_metadata.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    CONNECTIONS = 4,
    ANSWER_BYTES = 65536,
    SIZES = 6,
    MAXES = 16,
    TIMEOUT_S = 60,
    TRIES = 3,
    ROOM_FOR_NAMES = 700
};

static const unsigned sizes[SIZES] = {1, 8, 25, 60, 120, 250};

struct load {
    pthread_t thread;
    uint16_t port;
    unsigned first; /* number of its first request */
    unsigned count;
    int descriptor; /* -1: not connected */
    char answer[ANSWER_BYTES];
    size_t path_bytes_min;
    size_t path_bytes_max;
    size_t full_count; /* paths that fill at least 9/10 of their budget */
    size_t with_b_count;
    unsigned reconnect_count;
};

static size_t maxes[MAXES];
static unsigned max_count;

static void fail(struct load *load, const char *why)
{
    (void)fprintf(stderr, "proxied_load: %s: %.3000s\n", why, load->answer);
    exit(1);
}

static int connected(const struct load *load)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(load->port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval limit = {TIMEOUT_S, 0};
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);

    if (descriptor < 0 ||
        connect(descriptor, (const struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) {
        perror("proxied_load: connect");
        exit(1);
    }
    return descriptor;
}

/* The value of the header @name in the head @head, which may be there once. */
static struct cpt_bytes header(struct load *load, const char *name)
{
    const size_t bytes = strlen(name);
    struct cpt_bytes value = {NULL, 0};

    for (const char *line = strstr(load->answer, "\r\n");
         line != NULL && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, bytes) == 0 && line[2 + bytes] == ':') {
            if (value.data != NULL) {
                fail(load, "a header twice");
            }
            value.data = line + 3 + bytes + strspn(line + 3 + bytes, " ");
            value.bytes = strcspn(value.data, "\r");
        }
    }
    return value;
}

/* Reads an answer; its body, or data NULL if the connection ended before it began. */
static struct cpt_bytes receive(struct load *load)
{
    size_t got = 0;
    size_t wanted = SIZE_MAX;
    const char *end = NULL;

    load->answer[0] = '\0';
    while (got < wanted) {
        const ssize_t more =
            recv(load->descriptor, load->answer + got, ANSWER_BYTES - 1 - got, 0);

        if (more <= 0) {
            if (got != 0) {
                fail(load, "an answer that ends too early");
            }
            return (struct cpt_bytes){NULL, 0};
        }
        got += (size_t)more;
        load->answer[got] = '\0';
        end = end != NULL ? end : strstr(load->answer, "\r\n\r\n");
        if (end != NULL && wanted == SIZE_MAX) {
            const struct cpt_bytes length = header(load, "Content-Length");

            if (length.data == NULL) {
                fail(load, "no length");
            }
            wanted = (size_t)(end + 4 - load->answer) + strtoull(length.data, NULL, 10);
        }
    }
    return (struct cpt_bytes){end + 4, wanted - (size_t)(end + 4 - load->answer)};
}

static void check_path(struct load *load, size_t budget)
{
    const struct cpt_bytes value = header(load, "critical-path-bin");
    const struct cpt_metadata_decode_options options = {.struct_bytes = sizeof options};
    unsigned char data[ANSWER_BYTES];
    size_t bytes = 0;
    struct cpt_metadata_summary summary;
    struct cpt_error error;
    struct cpt_path *path = cpt_path_new(NULL);

    if (value.data == NULL ||
        cpt_base64_decode(value, data, sizeof data, &bytes, &error) != CPT_OK ||
        cpt_metadata_peek(data, bytes, &summary, &error) != CPT_OK || path == NULL ||
        cpt_metadata_decode(data, bytes, &options, path, &error) != CPT_OK) {
        fail(load, "no path");
    }
    if (bytes > budget) {
        fail(load, "a path beyond its budget");
    }
    if (!summary.has_server_elapsed || summary.sum_ns != summary.server_elapsed_ns) {
        fail(load, "a path that does not add up");
    }
    if (budget >= ROOM_FOR_NAMES) {
        size_t has_b = 0;

        for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
            const struct cpt_frame *frame = cpt_path_frame(path, i);
            const struct cpt_bytes name = cpt_path_name(path, frame->name);

            has_b |= name.bytes > 2 && memcmp(name.data, "B: ", 3) == 0;
            if (frame->kind == CPT_KIND_BLIND_SPOT) {
                fail(load, "a blind spot");
            }
        }
        load->with_b_count += has_b;
    }
    cpt_path_free(path);
    load->full_count += bytes * 10 >= budget * 9;
    load->path_bytes_min = bytes < load->path_bytes_min ? bytes : load->path_bytes_min;
    load->path_bytes_max = bytes > load->path_bytes_max ? bytes : load->path_bytes_max;
}

static void one(struct load *load, unsigned number)
{
    const unsigned size = sizes[number % SIZES];
    const size_t max = maxes[number / SIZES % max_count];
    const size_t own = CPT_METADATA_BYTES_DEFAULT;
    const size_t budget = max == 0 || max > own ? own : max;
    char request[256];
    char expected[128];
    char parameter[32] = "";
    struct cpt_bytes body = {NULL, 0};

    if (max != 0) {
        (void)snprintf(parameter, sizeof parameter, ";max=%zu", max);
    }
    (void)snprintf(request, sizeof request,
                   "GET /%u/%u-%d HTTP/1.1\r\nHost: localhost\r\n"
                   "critical-path: 1%s;forced\r\n\r\n",
                   size, number, (int)getpid(), parameter);
    (void)snprintf(expected, sizeof expected, "/%u/%u-%d 1;max=%zu", size, number,
                   (int)getpid(), budget);
    /* A proxy may close a connection when it likes; then the request is sent again. */
    for (int i = 0; i < TRIES && body.data == NULL; i++) {
        if (load->descriptor < 0) {
            load->descriptor = connected(load);
        }
        if (send(load->descriptor, request, strlen(request), MSG_NOSIGNAL) ==
            (ssize_t)strlen(request)) {
            body = receive(load);
        }
        if (body.data == NULL) {
            (void)close(load->descriptor);
            load->descriptor = -1;
            load->reconnect_count++;
        }
    }
    if (strncmp(load->answer, "HTTP/1.1 200", 12) != 0) {
        fail(load, request);
    }
    if (body.bytes != strlen(expected) ||
        memcmp(body.data, expected, body.bytes) != 0) {
        fail(load, expected);
    }
    check_path(load, budget);
    if (strcasestr(load->answer, "\r\nConnection: close") != NULL) {
        (void)close(load->descriptor);
        load->descriptor = -1;
    }
}

static void *run(void *context)
{
    struct load *load = context;

    for (unsigned i = 0; i < load->count; i++) {
        one(load, load->first + i);
    }
    if (load->descriptor >= 0) {
        (void)close(load->descriptor);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct load loads[CONNECTIONS];
    const unsigned count = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
    size_t least = SIZE_MAX;
    size_t most = 0;
    size_t full_count = 0;
    size_t with_b_count = 0;
    unsigned reconnect_count = 0;

    for (int i = 3; i < argc && max_count < MAXES; i++) {
        maxes[max_count++] = (size_t)atoi(argv[i]);
    }
    if (max_count == 0) {
        return 2;
    }
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct load *load = &loads[i];

        load->port = (uint16_t)atoi(argv[1]);
        load->first = (unsigned)((uint64_t)count * i / CONNECTIONS);
        load->count = (unsigned)((uint64_t)count * (i + 1) / CONNECTIONS) - load->first;
        load->descriptor = -1;
        load->path_bytes_min = SIZE_MAX;
        if (pthread_create(&load->thread, NULL, run, load) != 0) {
            return 1;
        }
    }
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        const struct load *load = &loads[i];

        (void)pthread_join(load->thread, NULL);
        least = load->path_bytes_min < least ? load->path_bytes_min : least;
        most = load->path_bytes_max > most ? load->path_bytes_max : most;
        full_count += load->full_count;
        with_b_count += load->with_b_count;
        reconnect_count += load->reconnect_count;
    }
    (void)printf(
        "%u requests, none failed; paths of %zu to %zu bytes, %zu of them fill "
        "their budget, B is on %zu; %u connections were closed before an answer\n",
        count, least, most, full_count, with_b_count, reconnect_count);
    return with_b_count != 0 ? 0 : 1;
}
