/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * stand_in.c - a server without critical paths, in place of a service
 *
 * Usage: stand_in MODE, where MODE is its reply to every request:
 *
 *      plain      200 and a body, as any HTTP server
 *      garbage    likewise, with a critical-path-bin that is base64 of no path
 *      text       likewise, with a critical-path-bin that is not base64
 *      cached     likewise, with `Age`
 *      close      none: it closes the connection
 *
 * A reply takes 2 ms, so that the caller has to wait.
 *
 * It prints "S http://127.0.0.1:PORT" like the services, and ends by SIGTERM. It serves
 * one request at a time, and one on each connection.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_BYTES = 65536, BACKLOG = 64, ANSWER_US = 2000 };

static const char *headers_of(const char *mode)
{
    static const struct {
        const char *mode;
        const char *headers;
    } rows[] = {
        {"plain", ""},
        {"garbage", "critical-path-bin: /////w8PDw8PDw8PDw8PDw8P\r\n"},
        {"text", "critical-path-bin: !!this is no base64!!\r\n"},
        {"cached", "Age: 17\r\n"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].mode, mode) == 0) {
            return rows[i].headers;
        }
    }
    return NULL;
}

/* The length of the body that a request announces. */
static size_t body_bytes(const char *request)
{
    const char *length = strcasestr(request, "\r\ncontent-length:");
    unsigned long bytes = 0;

    return length != NULL && sscanf(length + 17, "%8lu", &bytes) == 1 ? bytes : 0;
}

/* Reads one whole request; parses only its length. */
static void read_request(int connection)
{
    static char request[REQUEST_BYTES];
    size_t bytes = 0;

    for (;;) {
        const char *end;
        const ssize_t got =
            recv(connection, request + bytes, sizeof request - 1 - bytes, 0);

        if (got <= 0) {
            return;
        }
        bytes += (size_t)got;
        request[bytes] = '\0';
        end = strstr(request, "\r\n\r\n");
        if (end != NULL && bytes >= (size_t)(end + 4 - request) + body_bytes(request)) {
            return;
        }
    }
}

static void answer(int connection, const char *headers)
{
    char reply[512];
    const int bytes = snprintf(reply, sizeof reply,
                               "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n"
                               "Connection: close\r\n%s\r\nhello\n",
                               headers);

    (void)send(connection, reply, (size_t)bytes, MSG_NOSIGNAL);
    (void)shutdown(connection, SHUT_WR);
}

static int listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t address_bytes = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);

    if (listener < 0 ||
        bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, BACKLOG) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &address_bytes) != 0) {
        return -1;
    }
    (void)printf("S http://127.0.0.1:%u\n", (unsigned)ntohs(address.sin_port));
    (void)fflush(stdout);
    return listener;
}

int main(int argc, char **argv)
{
    const char *mode = argc == 2 ? argv[1] : "";
    const char *headers = headers_of(mode);
    const int closes = strcmp(mode, "close") == 0;
    const int listener = headers != NULL || closes ? listen_somewhere() : -1;

    if (listener < 0) {
        (void)fprintf(stderr, "usage: stand_in plain|garbage|text|cached|close\n");
        return 2;
    }
    for (;;) {
        const int connection = accept(listener, NULL, NULL);

        if (connection < 0) {
            continue;
        }
        read_request(connection);
        (void)usleep(ANSWER_US);
        if (!closes) {
            answer(connection, headers);
        }
        (void)close(connection);
    }
}
