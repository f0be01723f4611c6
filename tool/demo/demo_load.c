/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* demo_load.c - HTTP requests at the rate of independent users; see demo_load.h */
#include "tool/demo/demo_load.h"

#include "tool/demo/demo_process.h"
#include "cpt/base/now.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    OPEN_MAX_COUNT =
        512, /* requests at once; others wait, which adds to their latency */
    REQUEST_BYTES = 512,
    POLL_MS = 50
};

static const uint64_t give_up_ns = 10ull * 1000 * 1000 * 1000;

/* One request on its way. */
struct exchange {
    int descriptor; /* -1: the slot is free */
    uint64_t index;
    uint64_t due_ns;
    size_t sent_bytes;
    size_t request_bytes;
    size_t reply_bytes;
    char request[REQUEST_BYTES];
    char reply[CPTI_LOAD_REPLY_BYTES];
};

uint64_t cpti_random(uint64_t *state)
{
    uint64_t mixed = *state += 0x9e3779b97f4a7c15u;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

/* --- One exchange --- */

static bool exchange_start(struct exchange *exchange, uint16_t port, const char *target,
                           const char *header)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int bytes = snprintf(
        exchange->request, sizeof exchange->request,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n%s%s\r\n",
        target, (unsigned)port, header != NULL ? header : "",
        header != NULL ? "\r\n" : "");

    exchange->sent_bytes = 0;
    exchange->reply_bytes = 0;
    exchange->reply[0] = '\0';
    exchange->descriptor = -1;
    if (bytes < 0 || (size_t)bytes >= sizeof exchange->request) {
        return false;
    }
    exchange->request_bytes = (size_t)bytes;
    exchange->descriptor =
        socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return exchange->descriptor >= 0 &&
           (connect(exchange->descriptor, (const struct sockaddr *)&address,
                    sizeof address) == 0 ||
            errno == EINPROGRESS);
}

static void exchange_end(struct exchange *exchange)
{
    if (exchange->descriptor >= 0) {
        (void)close(exchange->descriptor);
    }
    exchange->descriptor = -1;
}

static short exchange_events(const struct exchange *exchange)
{
    return exchange->sent_bytes < exchange->request_bytes ? POLLOUT : POLLIN;
}

/* Continues as far as possible without waiting. Whether the exchange has ended, with or
 * without a reply. */
static bool exchange_step(struct exchange *exchange)
{
    char surplus[1024];

    while (exchange->sent_bytes < exchange->request_bytes) {
        const ssize_t sent =
            send(exchange->descriptor, exchange->request + exchange->sent_bytes,
                 exchange->request_bytes - exchange->sent_bytes, MSG_NOSIGNAL);
        if (sent <= 0) {
            return errno != EAGAIN && errno != EINTR;
        }
        exchange->sent_bytes += (size_t)sent;
    }
    for (;;) {
        const size_t room = sizeof exchange->reply - 1 - exchange->reply_bytes;
        const ssize_t got =
            recv(exchange->descriptor,
                 room > 0 ? exchange->reply + exchange->reply_bytes : surplus,
                 room > 0 ? room : sizeof surplus, 0);
        if (got <= 0) {
            return got == 0 || (errno != EAGAIN && errno != EINTR);
        }
        if (room > 0) {
            exchange->reply_bytes += (size_t)got;
            exchange->reply[exchange->reply_bytes] = '\0';
        }
    }
}

/* The HTTP status of the reply; 0 if its head is not complete. */
static unsigned exchange_status(const struct exchange *exchange)
{
    unsigned status = 0;

    if (strstr(exchange->reply, "\r\n\r\n") == NULL ||
        sscanf(exchange->reply, "HTTP/1.%*1[01] %3u", &status) != 1) {
        return 0;
    }
    return status;
}

unsigned cpti_http_get(uint16_t port, const char *target, const char *header,
                       char reply[CPTI_LOAD_REPLY_BYTES])
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    const uint64_t begin_ns = cpti_now_ns();
    unsigned status = 0;
    bool is_over;

    reply[0] = '\0';
    if (exchange == NULL) {
        return 0;
    }
    is_over = !exchange_start(exchange, port, target, header);
    while (!is_over && !cpti_stop_asked() && cpti_now_ns() - begin_ns < give_up_ns) {
        struct pollfd pollfd = {exchange->descriptor, exchange_events(exchange), 0};

        if (poll(&pollfd, 1, POLL_MS) > 0) {
            is_over = exchange_step(exchange);
        }
    }
    status = exchange_status(exchange);
    memcpy(reply, exchange->reply, exchange->reply_bytes + 1);
    exchange_end(exchange);
    free(exchange);
    return status;
}

bool cpti_http_header(const char *reply, const char *name, char *value, size_t capacity)
{
    const size_t name_bytes = strlen(name);
    const char *line = strstr(reply, "\r\n");

    while (line != NULL && strncmp(line, "\r\n\r\n", 4) != 0) {
        const char *begin = line + 2;
        const char *end = strstr(begin, "\r\n");

        if (end != NULL && strncasecmp(begin, name, name_bytes) == 0 &&
            begin[name_bytes] == ':') {
            begin += name_bytes + 1;
            begin += strspn(begin, " ");
            if ((size_t)(end - begin) >= capacity) {
                return false;
            }
            memcpy(value, begin, (size_t)(end - begin));
            value[end - begin] = '\0';
            return true;
        }
        line = end;
    }
    return false;
}

/* --- The load --- */

/* One run of a load. */
struct run {
    const struct cpti_load *load;
    struct exchange *exchanges; /* OPEN_MAX_COUNT */
    struct pollfd *pollfds;     /* OPEN_MAX_COUNT */
    size_t *polled;             /* the exchange of each pollfd */
    size_t open_count;
    uint64_t random;
    uint64_t begin_ns;
    uint64_t due_ns; /* of the next request */
    uint64_t next_index;
};

static bool is_all_sent(const struct run *run)
{
    return run->due_ns - run->begin_ns >= run->load->duration_ns || cpti_stop_asked();
}

static void end_one(struct run *run, struct exchange *exchange)
{
    run->load->answered(run->load->context, exchange->index, exchange_status(exchange),
                        cpti_now_ns() - exchange->due_ns);
    exchange_end(exchange);
    run->open_count--;
}

/* Begins all requests that are due, while slots are free. */
static void begin_due(struct run *run)
{
    size_t place = 0;

    while (!is_all_sent(run) && run->due_ns <= cpti_now_ns() &&
           run->open_count < OPEN_MAX_COUNT) {
        char target[CPTI_LOAD_TARGET_BYTES];
        const double chance =
            ((double)(cpti_random(&run->random) >> 11) + 0.5) / 9007199254740992.0;
        struct exchange *exchange;

        while (run->exchanges[place].descriptor >= 0) {
            place++;
        }
        exchange = &run->exchanges[place];
        exchange->index = run->next_index++;
        exchange->due_ns = run->due_ns;
        run->load->target(run->load->context, exchange->index, target);
        run->open_count++;
        if (!exchange_start(exchange, run->load->port, target, NULL)) {
            end_one(run, exchange);
        }
        run->due_ns += (uint64_t)(-log(chance) / run->load->rate * 1e9);
    }
}

/* Waits until a socket is ready or the next request is due. */
static void wait_and_step(struct run *run)
{
    const uint64_t now = cpti_now_ns();
    uint64_t wait_ns = is_all_sent(run) || run->due_ns > now + 50000000 ? 50000000
                       : run->due_ns > now ? run->due_ns - now
                                           : 0;
    const struct timespec wait = {0, (long)wait_ns};
    nfds_t count = 0;

    for (size_t i = 0; i < OPEN_MAX_COUNT; i++) {
        if (run->exchanges[i].descriptor >= 0) {
            run->polled[count] = i;
            run->pollfds[count++] = (struct pollfd){
                run->exchanges[i].descriptor, exchange_events(&run->exchanges[i]), 0};
        }
    }
    if (ppoll(run->pollfds, count, &wait, NULL) < 0) {
        return;
    }
    for (nfds_t i = 0; i < count; i++) {
        struct exchange *exchange = &run->exchanges[run->polled[i]];

        if ((run->pollfds[i].revents != 0 && exchange_step(exchange)) ||
            cpti_now_ns() - exchange->due_ns > give_up_ns) {
            end_one(run, exchange);
        }
    }
}

uint64_t cpti_load_run(const struct cpti_load *load)
{
    struct run run = {.load = load, .random = load->seed};

    run.exchanges = calloc(OPEN_MAX_COUNT, sizeof *run.exchanges);
    run.pollfds = calloc(OPEN_MAX_COUNT, sizeof *run.pollfds);
    run.polled = calloc(OPEN_MAX_COUNT, sizeof *run.polled);
    if (run.exchanges != NULL && run.pollfds != NULL && run.polled != NULL) {
        for (size_t i = 0; i < OPEN_MAX_COUNT; i++) {
            run.exchanges[i].descriptor = -1;
        }
        run.begin_ns = run.due_ns = cpti_now_ns();
        while (!is_all_sent(&run) || (run.open_count > 0 && !cpti_stop_asked())) {
            begin_due(&run);
            wait_and_step(&run);
        }
        for (size_t i = 0; i < OPEN_MAX_COUNT; i++) {
            exchange_end(&run.exchanges[i]);
        }
    }
    free(run.exchanges);
    free(run.pollfds);
    free(run.polled);
    return run.next_index;
}
