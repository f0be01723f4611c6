/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_serve.c - the processor time that a server needs for a request
 *
 *      this process: 16 kept connections, one request at a time on each
 *           |---> cpt, untraced          |---> bare evhttp (libevent)
 *           |---> cpt, with the path     |---> nginx, libmicrohttpd, libh2o,
 *           |                            '     those of them that are installed
 *           '---> cpt, with an opaque header as long as the path
 *
 * Each server is a process of its own with one thread. All run at once, and each round
 * asks one after the other, so that what the machine does meanwhile meets all of them.
 * The figure is the server's processor time, user and system, by the requests.
 *
 * For the instructions of a request without HTTP, run one way alone, twice, and divide
 * the difference by that of the counts; the ways are plain, opaque and traced:
 *
 *      valgrind --tool=callgrind bench_serve count traced 1000
 */
#include "tests/bench/bench.h"
#include "tests/bench/serve_peers.h"

#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/transport/cpt_http.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 16, REQUESTS = 16000, WARM_REQUESTS = 3000, REPLY_BYTES = 8192 };

#define GET  "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: bench\r\nAccept: */*\r\n"
#define BODY BENCH_SERVE_BODY

#define must bench_must

void bench_must(bool condition, const char *what)
{
    if (!condition) {
        perror(what);
        exit(1);
    }
}

int bench_bound_socket(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    must(made >= 0 && bind(made, (struct sockaddr *)&address, sizeof address) == 0 &&
             getsockname(made, (struct sockaddr *)&address, &bytes) == 0,
         "bind");
    *port = ntohs(address.sin_port);
    return made;
}

/* --- The servers --- */

/* As long as the header of a path of one task, in base64, and its name. */
static char opaque[512];

static cpt_status answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of(BODY);
    return CPT_OK;
}

static cpt_status answer_opaque(struct cpt_task *task)
{
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);

    reply->body = cpt_bytes_of(BODY);
    return cpt_rpc_reply_header(task, reply, "opaque-path-bin", cpt_bytes_of(opaque));
}

static const struct cpt_task_def plain_row[] = {
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_task_def opaque_row[] = {
    {"answer", answer_opaque, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph plain_graph = {"S", CPT_GIVES(rpc_request),
                                             CPT_GIVES(rpc_reply), plain_row, 1};
static const struct cpt_graph opaque_graph = {"S", CPT_GIVES(rpc_request),
                                              CPT_GIVES(rpc_reply), opaque_row, 1};

/* A service on @executor; NULL: on the thread that calls it. */
static struct cpt_service *make_service(struct cpt_executor *executor)
{
    static const char *const trusted[] = {"127.0.0.0/8", NULL};
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "S",
                                                .role = CPT_ROLE_INNER,
                                                .trusted_networks = trusted,
                                                .forced_per_second_max = -1,
                                                .asked_per_second_max = -1,
                                                .probability = -1,
                                                .executor = executor};
    struct cpt_service *service = cpt_service_new(&options, NULL);

    must(service != NULL &&
             cpt_service_method_add(service, "/",
                                    cpt_plan_new(&plain_graph, NULL, NULL),
                                    NULL) == CPT_OK &&
             cpt_service_method_add(service, "/opaque",
                                    cpt_plan_new(&opaque_graph, NULL, NULL),
                                    NULL) == CPT_OK,
         "cpt_service_new");
    return service;
}

static void ignore(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    must(outbound->http_status == 200, "a request failed");
}

/* Serves @count requests as @way says. */
static void count_way(const char *way, unsigned long count)
{
    enum { PATH_CHARACTERS = 107 }; /* of 80 bytes */
    const struct cpt_field headers[] = {
        {cpt_bytes_of("Host"), cpt_bytes_of("a")},
        {cpt_bytes_of("User-Agent"), cpt_bytes_of("bench")},
        {cpt_bytes_of("Accept"), cpt_bytes_of("*/*")}};
    struct cpt_service *service = make_service(NULL);
    struct cpt_inbound inbound = {
        .method = cpt_bytes_of(strcmp(way, "opaque") == 0 ? "/opaque" : "/"),
        .verb = cpt_bytes_of("GET"),
        .peer_address = cpt_bytes_of("127.0.0.1"),
        .headers = headers,
        .header_count = 3};

    memset(opaque, 'x', PATH_CHARACTERS);
    if (strcmp(way, "traced") == 0) {
        inbound.critical_path = cpt_bytes_of("1");
        inbound.critical_path_count = 1;
    }
    for (; count > 0; count--) {
        inbound.coin = cpt_service_coin(service);
        cpt_service_serve(service, &inbound, ignore, NULL);
    }
}

static void serve_cpt(int told)
{
    struct cpt_http *http = cpt_http_new(NULL, NULL);
    uint16_t port = 0;

    must(http != NULL && cpt_http_listen(http, make_service(cpt_http_executor(http)),
                                         NULL, 0, &port, NULL) == CPT_OK,
         "cpt_http_listen");
    must(write(told, &port, sizeof port) == sizeof port, "write");
    (void)cpt_http_run(http);
}

static void on_evhttp(struct evhttp_request *request, void *context)
{
    struct evbuffer *body = evbuffer_new();

    (void)context;
    (void)evbuffer_add(body, BODY, sizeof(BODY) - 1);
    (void)evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                            "text/plain");
    evhttp_send_reply(request, 200, "OK", body);
    evbuffer_free(body);
}

static void serve_evhttp(int told)
{
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    uint16_t port = 0;
    const int listener = bench_bound_socket(&port);

    must(listen(listener, 511) == 0 && evutil_make_socket_nonblocking(listener) == 0 &&
             evhttp_accept_socket(http, listener) == 0,
         "evhttp");
    evhttp_set_gencb(http, on_evhttp, NULL);
    must(write(told, &port, sizeof port) == sizeof port, "write");
    (void)event_base_dispatch(base);
}

/* nginx takes its port from a file. It runs in this process's place. */
static void serve_nginx(int told)
{
    char folder[] = "/tmp/bench_serve_XXXXXX";
    char path[64];
    uint16_t port = 0;
    const int freed = bench_bound_socket(&port);
    FILE *file = NULL;

    must(mkdtemp(folder) != NULL, "mkdtemp");
    (void)snprintf(path, sizeof path, "%s/nginx.conf", folder);
    file = fopen(path, "w");
    must(file != NULL, path);
    (void)fprintf(file,
                  "daemon off; master_process off; worker_processes 1;\n"
                  "pid %s/pid; error_log stderr crit;\n"
                  "events { worker_connections 64; }\n"
                  "http { access_log off; keepalive_requests 1000000000;\n"
                  "client_body_temp_path %s/a; proxy_temp_path %s/b;\n"
                  "fastcgi_temp_path %s/c; uwsgi_temp_path %s/d; scgi_temp_path %s/e;\n"
                  "server { listen 127.0.0.1:%u; default_type text/plain;\n"
                  "location / { return 200 \"" BODY "\"; } } }\n",
                  folder, folder, folder, folder, folder, folder, (unsigned)port);
    (void)fclose(file);
    (void)close(freed);
    must(write(told, &port, sizeof port) == sizeof port, "write");
    (void)close(told);
    (void)execlp("nginx", "nginx", "-p", folder, "-c", path, (char *)NULL);
    exit(0);
}

struct server {
    pid_t process;
    clockid_t clock; /* its processor time */
    uint16_t port;
};

static void server_start(struct server *server, void (*serve)(int told))
{
    int pipes[2];

    must(pipe(pipes) == 0, "pipe");
    server->process = fork();
    must(server->process >= 0, "fork");
    if (server->process == 0) {
        (void)close(pipes[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(pipes[1]);
        exit(0);
    }
    (void)close(pipes[1]);
    must(read(pipes[0], &server->port, sizeof server->port) == sizeof server->port,
         "a server");
    (void)close(pipes[0]);
    must(clock_getcpuclockid(server->process, &server->clock) == 0, "its clock");
}

/* --- The client --- */

struct client {
    const char *name;
    const struct server *server;
    const char *request;
    int poll;
    int sockets[CONNECTIONS];
    size_t reply_bytes;
    bool is_there;
    double ns[BENCH_ROUNDS];
};

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int made = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < 200; i++) { /* nginx listens a moment later */
        if (connect(made, (struct sockaddr *)&address, sizeof address) == 0) {
            return made;
        }
        (void)usleep(10000);
    }
    (void)close(made);
    return -1;
}

/* The bytes of a reply: all are alike but for the numbers in a path. */
static size_t reply_read(int descriptor, char reply[REPLY_BYTES])
{
    size_t used = 0;

    while (used == 0 || strstr(reply, "\r\n\r\n" BODY) == NULL) {
        const ssize_t got = read(descriptor, reply + used, REPLY_BYTES - 1 - used);

        must(got > 0, "a reply");
        used += (size_t)got;
        reply[used] = '\0';
    }
    return used;
}

static void client_open(struct client *client)
{
    char reply[REPLY_BYTES];

    client->poll = epoll_create1(0);
    for (int i = 0; i < CONNECTIONS; i++) {
        struct epoll_event event = {.events = EPOLLIN};

        client->sockets[i] = connect_to(client->server->port);
        if (client->sockets[i] < 0) {
            return;
        }
        event.data.fd = client->sockets[i];
        must(epoll_ctl(client->poll, EPOLL_CTL_ADD, client->sockets[i], &event) == 0,
             "epoll_ctl");
    }
    must(write(client->sockets[0], client->request, strlen(client->request)) > 0,
         "write");
    client->reply_bytes = reply_read(client->sockets[0], reply);
    must(strncmp(reply, "HTTP/1.1 200 OK\r\n", 17) == 0, reply);
    client->is_there = true;
}

static void client_ask(const struct client *client, unsigned count)
{
    const size_t bytes = strlen(client->request);
    struct epoll_event events[CONNECTIONS];
    char reply[REPLY_BYTES];
    unsigned sent = 0;
    unsigned got = 0;

    for (; sent < CONNECTIONS; sent++) {
        must(write(client->sockets[sent], client->request, bytes) == (ssize_t)bytes,
             "write");
    }
    while (got < count) {
        const int ready = epoll_wait(client->poll, events, CONNECTIONS, -1);

        for (int i = 0; i < ready; i++) {
            (void)reply_read(events[i].data.fd, reply);
            got++;
            if (sent < count) {
                must(write(events[i].data.fd, client->request, bytes) == (ssize_t)bytes,
                     "write");
                sent++;
            }
        }
    }
}

static double cpu_ns(const struct server *server)
{
    struct timespec time;

    must(clock_gettime(server->clock, &time) == 0, "clock_gettime");
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void measure(struct client *client, int round)
{
    const double begin = cpu_ns(client->server);

    client_ask(client, REQUESTS);
    client->ns[round] = (cpu_ns(client->server) - begin) / REQUESTS;
}

enum { CPT, EVHTTP, NGINX, MICROHTTPD, H2O, SERVERS };

/* Fills opaque with as many bytes as the value of a path has. */
static void opaque_fit(const struct client *untraced, const struct client *traced)
{
    const size_t line = sizeof("critical-path-bin: \r\n") - 1;
    const size_t bytes = traced->reply_bytes - untraced->reply_bytes - line + 2;

    must(bytes < sizeof opaque, "a path");
    memset(opaque, 'x', bytes);
}

static void servers_start(struct server servers[SERVERS])
{
    server_start(&servers[CPT], serve_cpt);
    server_start(&servers[EVHTTP], serve_evhttp);
    server_start(&servers[NGINX], serve_nginx);
#ifdef BENCH_WITH_MICROHTTPD
    server_start(&servers[MICROHTTPD], bench_serve_microhttpd);
#endif
#ifdef BENCH_WITH_H2O
    server_start(&servers[H2O], bench_serve_h2o);
#endif
}

static void servers_end(const struct server servers[SERVERS])
{
    for (int i = 0; i < SERVERS; i++) {
        if (servers[i].process != 0) {
            (void)kill(servers[i].process, SIGKILL);
            (void)waitpid(servers[i].process, NULL, 0);
        }
    }
}

int main(int argument_count, char **arguments)
{
    static struct server servers[SERVERS];
    static struct client clients[] = {
        {.name = "nginx", .server = &servers[NGINX], .request = GET "\r\n"},
        {.name = "bare evhttp", .server = &servers[EVHTTP], .request = GET "\r\n"},
        {.name = "libmicrohttpd",
         .server = &servers[MICROHTTPD],
         .request = GET "\r\n"},
        {.name = "libh2o", .server = &servers[H2O], .request = GET "\r\n"},
        {.name = "cpt, untraced", .server = &servers[CPT], .request = GET "\r\n"},
        {.name = "cpt, with the path",
         .server = &servers[CPT],
         .request = GET "critical-path: 1\r\n\r\n"},
        {.name = "cpt, with an opaque header",
         .server = &servers[CPT],
         .request = "GET /opaque HTTP/1.1\r\nHost: a\r\nUser-Agent: bench\r\n"
                    "Accept: */*\r\ncritical-path: 0\r\n\r\n"},
    };
    enum { CLIENTS = sizeof clients / sizeof clients[0], PLAIN = 4 };
    static struct server first;

    bench_begin("bench_serve", &argument_count, arguments);
    if (argument_count == 4 && strcmp(arguments[1], "count") == 0) {
        count_way(arguments[2], strtoul(arguments[3], NULL, 10));
        return bench_end();
    }
    (void)signal(SIGPIPE, SIG_IGN);
    server_start(&first, serve_cpt);
    {
        struct client plain = {.server = &first, .request = clients[PLAIN].request};
        struct client asking = {.server = &first,
                                .request = clients[PLAIN + 1].request};

        client_open(&plain);
        client_open(&asking);
        opaque_fit(&plain, &asking);
    }
    (void)kill(first.process, SIGKILL);
    servers_start(servers);
    bench_title("Processor time of a request, 16 kept connections");
    for (int i = 0; i < CLIENTS; i++) {
        if (clients[i].server->process != 0) {
            client_open(&clients[i]);
        }
        if (clients[i].is_there) {
            client_ask(&clients[i], WARM_REQUESTS);
        }
    }
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        for (int i = 0; i < CLIENTS; i++) {
            if (clients[i].is_there) {
                measure(&clients[i], round);
            }
        }
    }
    for (int i = 0; i < CLIENTS; i++) {
        const struct client *base = &clients[i == PLAIN + 1        ? PLAIN + 2
                                             : clients[0].is_there ? 0
                                                                   : 1];

        if (clients[i].is_there) {
            bench_rounds(clients[i].name, clients[i].ns, "ns a request", base->name,
                         base->ns, BENCH_ROUNDS);
        }
    }
    servers_end(servers);
    return bench_end();
}
