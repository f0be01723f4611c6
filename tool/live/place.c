/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* place.c - where a service is, and one GET of its counters port; see place.h */
#include "tool/live/place.h"

#include "cpt/base/now.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    HOST_BYTES = CPTI_PLACE_HOST_BYTES,
    PORT_BYTES = 8,
    FIRST_BYTES = 16 << 10,
    HEAD_BYTES_MAX = 64 << 10
};

/* --- Places --- */

/* Takes @scheme from the beginning of @text; false: it is not there. */
static bool take_scheme(struct cpt_bytes *text, const char *scheme)
{
    const size_t bytes = strlen(scheme);

    if (text->bytes < bytes || strncasecmp(text->data, scheme, bytes) != 0) {
        return false;
    }
    text->data += bytes;
    text->bytes -= bytes;
    return true;
}

/* Where the ':' before the port is in "[::1]:8001" and the like; text.bytes: there is
 * none. */
static size_t colon_in(struct cpt_bytes text)
{
    size_t colon = text.bytes;

    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] == ':') {
            colon = i;
        } else if (text.data[i] == ']') {
            colon = text.bytes;
        }
    }
    return colon;
}

/* Splits it; @default_port: if it has none; "": then it is wrong. */
static bool split(struct cpt_bytes text, const char *default_port,
                  char host[HOST_BYTES], char port[PORT_BYTES])
{
    const char *slash = memchr(text.data, '/', text.bytes);
    struct cpt_bytes number = cpt_bytes_of(default_port);
    size_t colon = 0;

    text.bytes = slash != NULL ? (size_t)(slash - text.data) : text.bytes;
    colon = colon_in(text);
    if (colon < text.bytes) {
        number = (struct cpt_bytes){text.data + colon + 1, text.bytes - colon - 1};
        text.bytes = colon;
    }
    if (text.bytes >= 2 && text.data[0] == '[' && text.data[text.bytes - 1] == ']') {
        text.data++;
        text.bytes -= 2;
    }
    if (text.bytes == 0 || text.bytes >= HOST_BYTES || number.bytes == 0 ||
        number.bytes >= PORT_BYTES || memchr(text.data, '\0', text.bytes) != NULL) {
        return false;
    }
    memcpy(host, text.data, text.bytes);
    host[text.bytes] = '\0';
    memcpy(port, number.data, number.bytes);
    port[number.bytes] = '\0';
    return strspn(port, "0123456789") == number.bytes &&
           strtoul(port, NULL, 10) <= UINT16_MAX;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;

        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    return address->ss_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

cpt_status cpti_place_read(struct cpt_bytes text, bool asks_names,
                           struct cpti_place *place, struct cpt_error *error)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char port[PORT_BYTES];
    char shown[INET6_ADDRSTRLEN] = "";
    int problem = 0;
    bool is_good = false;

    memset(place, 0, sizeof *place);
    place->is_tls = take_scheme(&text, "https://");
    is_good = place->is_tls || !take_scheme(&text, "http://")
                  ? split(text, place->is_tls ? "443" : "", place->host, port)
                  : split(text, "80", place->host, port);
    if (!is_good) {
        return cpt_error_set(error, CPT_INVALID, 0, "not an address as HOST:PORT");
    }
    if (!asks_names && strcmp(place->host, "localhost") != 0) {
        hints.ai_flags |= AI_NUMERICHOST;
    }
    problem = getaddrinfo(place->host, port, &hints, &found);
    if (problem == EAI_MEMORY) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    }
    if (problem != 0 || found == NULL || found->ai_addrlen > sizeof place->address) {
        return cpt_error_set(error, CPT_UNAVAILABLE, 0, "the host is not known");
    }
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    place->address_bytes = found->ai_addrlen;
    freeaddrinfo(found);
    place->is_loopback = is_loopback(&place->address);
    (void)getnameinfo((const struct sockaddr *)&place->address, place->address_bytes,
                      shown, sizeof shown, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV);
    (void)snprintf(place->text, sizeof place->text,
                   place->address.ss_family == AF_INET6 ? "%s[%s]:%s" : "%s%s:%s",
                   place->is_tls ? "https://" : "", shown, port);
    return CPT_OK;
}

/* --- An exchange --- */

struct exchange {
    int descriptor;
    uint64_t until_ns;
    char *data;
    size_t bytes;
    size_t capacity;
    struct cpt_error *error;
};

/* Waits for @events. */
static cpt_status await(struct exchange *exchange, short events)
{
    const uint64_t now_ns = cpti_now_ns();
    struct pollfd poll_of = {.fd = exchange->descriptor, .events = events};
    int count = 0;

    if (now_ns < exchange->until_ns) {
        count = poll(&poll_of, 1, (int)((exchange->until_ns - now_ns) / 1000000 + 1));
    }
    return count > 0 || (count < 0 && errno == EINTR)
               ? CPT_OK
               : cpt_error_set(exchange->error, CPT_UNAVAILABLE, 0,
                               "it does not answer");
}

static cpt_status failed(struct exchange *exchange, const char *what)
{
    return cpt_error_set(exchange->error, CPT_UNAVAILABLE, 0, "%s: %s", what,
                         strerror(errno));
}

static cpt_status open_connection(struct exchange *exchange,
                                  const struct cpti_place *place)
{
    cpt_status status = CPT_OK;
    int problem = 0;
    socklen_t problem_bytes = sizeof problem;

    exchange->descriptor =
        socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (exchange->descriptor < 0) {
        return failed(exchange, "no socket");
    }
    if (connect(exchange->descriptor, (const struct sockaddr *)&place->address,
                place->address_bytes) == 0) {
        return CPT_OK;
    }
    if (errno != EINPROGRESS) {
        return failed(exchange, "no connection");
    }
    status = await(exchange, POLLOUT);
    if (status == CPT_OK &&
        getsockopt(exchange->descriptor, SOL_SOCKET, SO_ERROR, &problem,
                   &problem_bytes) == 0 &&
        problem != 0) {
        errno = problem;
        status = failed(exchange, "no connection");
    }
    return status;
}

static cpt_status send_all(struct exchange *exchange, const char *text, size_t bytes)
{
    size_t sent = 0;

    while (sent < bytes) {
        const ssize_t count =
            send(exchange->descriptor, text + sent, bytes - sent, MSG_NOSIGNAL);

        if (count > 0) {
            sent += (size_t)count;
        } else if (errno != EAGAIN && errno != EINTR) {
            return failed(exchange, "the connection broke");
        } else if (await(exchange, POLLOUT) != CPT_OK) {
            return CPT_UNAVAILABLE;
        }
    }
    return CPT_OK;
}

/* Room for more, and a NUL. */
static cpt_status grow(struct exchange *exchange)
{
    const size_t capacity =
        exchange->capacity != 0 ? 2 * exchange->capacity : FIRST_BYTES;
    char *data = NULL;

    if (exchange->data != NULL && exchange->bytes + 1 < exchange->capacity) {
        return CPT_OK;
    }
    if (exchange->bytes >= CPTI_GET_BYTES_MAX) {
        (void)cpt_error_set(exchange->error, CPT_LIMIT, 0,
                            "its answer is longer than %d bytes", CPTI_GET_BYTES_MAX);
        return CPT_LIMIT;
    }
    data = realloc(exchange->data, capacity);
    if (data == NULL) {
        (void)cpt_error_set(exchange->error, CPT_NO_MEMORY, 0, "no memory");
        return CPT_NO_MEMORY;
    }
    exchange->data = data;
    exchange->capacity = capacity;
    return CPT_OK;
}

/* The bytes of the head with its empty line; 0: it is not complete. */
static size_t head_bytes(const struct exchange *exchange)
{
    const char *end =
        exchange->data != NULL ? strstr(exchange->data, "\r\n\r\n") : NULL;

    return end != NULL ? (size_t)(end - exchange->data) + 4 : 0;
}

/* What Content-Length says; SIZE_MAX: nothing. */
static size_t content_length(const struct exchange *exchange, size_t head)
{
    static const char name[] = "\r\ncontent-length:";
    const char *at = exchange->data;

    for (; at + sizeof name < exchange->data + head; at++) {
        if (strncasecmp(at, name, sizeof name - 1) == 0) {
            const unsigned long long length = strtoull(at + sizeof name - 1, NULL, 10);

            return length < CPTI_GET_BYTES_MAX ? (size_t)length : CPTI_GET_BYTES_MAX;
        }
    }
    return SIZE_MAX;
}

/* Reads until the body is there or the connection ends. */
static cpt_status receive(struct exchange *exchange)
{
    size_t wanted = SIZE_MAX;
    size_t head = 0;

    while (exchange->bytes < wanted) {
        cpt_status status = grow(exchange);
        ssize_t count = 0;

        if (status != CPT_OK) {
            return status;
        }
        count = recv(exchange->descriptor, exchange->data + exchange->bytes,
                     exchange->capacity - exchange->bytes - 1, 0);
        if (count == 0) {
            break;
        }
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            status = await(exchange, POLLIN);
            if (status != CPT_OK) {
                return status;
            }
            continue;
        }
        if (count < 0) {
            return failed(exchange, "the connection broke");
        }
        exchange->bytes += (size_t)count;
        exchange->data[exchange->bytes] = '\0';
        if (head == 0 && exchange->bytes > HEAD_BYTES_MAX &&
            head_bytes(exchange) == 0) {
            return cpt_error_set(exchange->error, CPT_CORRUPT, 0,
                                 "its answer is no answer of HTTP");
        }
        if (head == 0) {
            head = head_bytes(exchange);
            wanted = head != 0 ? content_length(exchange, head) : SIZE_MAX;
            wanted = wanted != SIZE_MAX ? wanted + head : SIZE_MAX;
        }
    }
    if (wanted != SIZE_MAX && exchange->bytes < wanted) {
        return cpt_error_set(exchange->error, CPT_CORRUPT, 0, "its answer is cut");
    }
    return CPT_OK;
}

/* Leaves the body alone in the buffer. */
static cpt_status judge(struct exchange *exchange)
{
    const size_t head = head_bytes(exchange);
    unsigned status = 0;

    if (head == 0 || sscanf(exchange->data, "HTTP/1.%*1u %3u", &status) != 1) {
        return cpt_error_set(exchange->error, CPT_CORRUPT, 0,
                             "its answer is no answer of HTTP");
    }
    if (status != 200) {
        return cpti_place_refused(status, exchange->error);
    }
    memmove(exchange->data, exchange->data + head, exchange->bytes - head + 1);
    exchange->bytes -= head;
    return CPT_OK;
}

cpt_status cpti_place_refused(unsigned status, struct cpt_error *error)
{
    return cpt_error_set(
        error, CPT_FAILED, 0,
        "it answers %u: it tells nothing of itself here; services in C "
        "and C++ do at their port for operators, or with "
        "serves_counters; those in Python and Node do not",
        status);
}

cpt_status cpti_place_get(const struct cpti_place *place, const struct cpti_get *get,
                          char **body, size_t *bytes, struct cpt_error *error)
{
    struct exchange exchange = {.descriptor = -1,
                                .until_ns =
                                    cpti_now_ns() + get->timeout_ms * UINT64_C(1000000),
                                .error = error};
    char request[512];
    const int request_bytes =
        snprintf(request, sizeof request,
                 "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", get->path,
                 place->text);
    cpt_status status = CPT_OK;

    if (place->is_tls) {
        return cpti_place_get_tls(place, get, body, bytes, error);
    }
    status = open_connection(&exchange, place);
    if (status == CPT_OK) {
        status = send_all(&exchange, request, (size_t)request_bytes);
    }
    if (status == CPT_OK) {
        status = receive(&exchange);
    }
    if (status == CPT_OK) {
        status = judge(&exchange);
    }
    if (exchange.descriptor >= 0) {
        (void)close(exchange.descriptor);
    }
    if (status != CPT_OK) {
        free(exchange.data);
        exchange.data = NULL;
    }
    *body = exchange.data;
    *bytes = exchange.bytes;
    return status;
}
