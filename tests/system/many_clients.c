/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * many_clients.c - more clients than a service accepts, which send nothing
 *
 *      many_clients CLIENTS DESCRIPTORS
 *
 *      CLIENTS idle connections --> [ S, at most DESCRIPTORS descriptors ] --> callee
 *      one that was there before ---------^
 *
 * S is a process with RLIMIT_NOFILE DESCRIPTORS and the default options. While the idle
 * clients hold all connections that it accepts, the client that was there first is
 * answered, also by a method that calls another service, which takes a descriptor.
 * When the idle ones have gone, a new client is answered, and S ends in time.
 *
 * Exit 77: this process may not have the descriptors.
 */
#include "framework/cpt_rpc.h"
#include "framework/transport/cpt_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 30000, OWN_DESCRIPTORS = 50, REPLY_BYTES = 1 << 17 };

#define SECOND_NS UINT64_C(1000000000)

static void must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "many_clients: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

/* --- The service and its callee --- */

static struct cpt_stub stub = {.name = "T: /hello", .method = "/hello"};

static cpt_status say_hello(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("hello");
    return CPT_OK;
}

static cpt_status use_reply(struct cpt_task *task)
{
    const struct cpt_pending *call = *cpt_state(task, struct cpt_pending *);
    const struct cpt_call_reply *reply = cpt_call_reply(call);

    if (reply->status != CPT_OK) {
        return cpt_fail(task, reply->status, "the callee is not reached");
    }
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("called");
    return CPT_OK;
}

static cpt_status call(struct cpt_task *task)
{
    struct cpt_pending **call = cpt_state(task, struct cpt_pending *);

    if (call == NULL) {
        return CPT_LIMIT;
    }
    *call = cpt_call(task, &stub, cpt_bytes_of(""));
    return cpt_await(task, *call, use_reply);
}

static const struct cpt_task_def hello_tasks[] = {
    {"hello", say_hello, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_task_def call_tasks[] = {
    {"call", call, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph hello_graph = {"S", CPT_GIVES(rpc_request),
                                             CPT_GIVES(rpc_reply), hello_tasks, 1};
static const struct cpt_graph call_graph = {"S", CPT_GIVES(rpc_request),
                                            CPT_GIVES(rpc_reply), call_tasks, 1};

/* Serves until SIGTERM, and writes its port to @out first. */
static void serve(int out, rlim_t descriptors, const char *callee)
{
    const struct cpt_http_options http_options = {.struct_bytes = sizeof http_options,
                                                  .serves_counters = 1};
    const struct rlimit limit = {descriptors, descriptors};
    struct cpt_service_options options = {
        .struct_bytes = sizeof options, .name = "S", .probability = 1};
    struct cpt_plan *hello = cpt_plan_new(&hello_graph, NULL, NULL);
    struct cpt_plan *calls = cpt_plan_new(&call_graph, NULL, NULL);
    struct cpt_service *service = NULL;
    struct cpt_http *http = NULL;
    uint16_t port = 0;
    cpt_status status = CPT_OK;

    must(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    http = cpt_http_new(&http_options, NULL);
    must(http != NULL && hello != NULL && calls != NULL, "a loop");
    options.executor = cpt_http_executor(http);
    stub.target = callee;
    stub.transport = cpt_http_transport(http);
    service = cpt_service_new(&options, NULL);
    must(service != NULL &&
             cpt_service_method_add(service, "/hello", hello, NULL) == CPT_OK &&
             cpt_service_method_add(service, "/call", calls, NULL) == CPT_OK &&
             cpt_http_listen(http, service, NULL, 0, &port, NULL) == CPT_OK &&
             cpt_http_stop_on_signals(http, NULL) == CPT_OK &&
             write(out, &port, sizeof port) == sizeof port,
         "a service");
    status = cpt_http_run(http);
    if (status == CPT_OK) {
        status = cpt_service_drain(service, 5 * SECOND_NS);
    }
    cpt_service_free(service);
    cpt_http_free(http);
    cpt_plan_free(hello);
    cpt_plan_free(calls);
    exit(status == CPT_OK ? 0 : 1);
}

/* Such a process; its port in *@port. */
static pid_t start(rlim_t descriptors, const char *callee, uint16_t *port)
{
    int ends[2];
    pid_t pid = -1;

    must(pipe(ends) == 0, "pipe");
    pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        (void)close(ends[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* this test may fail */
        serve(ends[1], descriptors, callee);
    }
    (void)close(ends[1]);
    must(read(ends[0], port, sizeof *port) == sizeof *port, "the service");
    (void)close(ends[0]);
    return pid;
}

static void stop(pid_t pid, const char *what)
{
    int status = 0;

    (void)kill(pid, SIGTERM);
    must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
             WEXITSTATUS(status) == 0,
         what);
}

/* --- Clients --- */

static int connect_to(uint16_t port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    must(descriptor >= 0, "socket");
    must(connect(descriptor, (const struct sockaddr *)&address, sizeof address) == 0 ||
             errno == EINPROGRESS,
         "connect");
    return descriptor;
}

static void await(int descriptor, short events)
{
    struct pollfd polled = {.fd = descriptor, .events = events};

    must(poll(&polled, 1, PATIENCE_MS) == 1, "nothing in time");
}

/* Whether GET @path on the connection @descriptor is answered 200, with @text. */
static bool is_answered(int descriptor, const char *path, const char *text)
{
    static char reply[REPLY_BYTES];
    char request[128];
    size_t used = 0;
    const int bytes =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: s\r\n\r\n", path);

    await(descriptor, POLLOUT);
    must(send(descriptor, request, (size_t)bytes, MSG_NOSIGNAL) == bytes, "send");
    reply[0] = '\0';
    while (strstr(reply, text) == NULL) {
        ssize_t count = 0;

        await(descriptor, POLLIN);
        count = recv(descriptor, reply + used, sizeof reply - 1 - used, 0);
        if (count <= 0) {
            return false;
        }
        used += (size_t)count;
        reply[used] = '\0';
    }
    return strncmp(reply, "HTTP/1.1 200 ", 13) == 0;
}

/* Whether as many connections come to be accepted as may be. */
static bool comes_to_be_full(int descriptor, unsigned long expected)
{
    char text[64];

    (void)snprintf(text, sizeof text, "\"http_connections\",\"value\":%lu,", expected);
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        struct pollfd polled = {.fd = descriptor, .events = POLLIN};
        static char reply[REPLY_BYTES];
        const char *request = "GET /cpt/counters HTTP/1.1\r\nHost: s\r\n\r\n";
        size_t used = 0;

        must(send(descriptor, request, strlen(request), MSG_NOSIGNAL) ==
                 (ssize_t)strlen(request),
             "send");
        while (poll(&polled, 1, used == 0 ? PATIENCE_MS : 20) == 1) {
            const ssize_t count =
                recv(descriptor, reply + used, sizeof reply - 1 - used, 0);

            if (count <= 0) {
                return false;
            }
            used += (size_t)count;
        }
        reply[used] = '\0';
        if (strstr(reply, text) != NULL) {
            return true;
        }
    }
    return false;
}

/* How many connections a service with @descriptors accepts by default. */
static unsigned long accepted_max(unsigned long descriptors)
{
    const unsigned long reserved = descriptors / 4 < 1024 ? descriptors / 4 : 1024;
    const unsigned long rest = descriptors - reserved;

    return rest < 10000 ? rest : 10000;
}

int main(int argc, char **argv)
{
    const unsigned long clients = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    const unsigned long descriptors = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    const rlim_t wanted = clients + OWN_DESCRIPTORS;
    struct rlimit limit;
    char target[64];
    uint16_t port = 0;
    pid_t callee = -1;
    pid_t service = -1;
    int *idle = calloc(clients, sizeof *idle);
    int first = -1;
    int last = -1;

    must(clients != 0 && idle != NULL, "usage: many_clients CLIENTS DESCRIPTORS");
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < wanted || limit.rlim_max < descriptors) {
        (void)printf("skipped: at most %lu descriptors are allowed\n",
                     (unsigned long)limit.rlim_max);
        return 77;
    }
    callee = start(256, "127.0.0.1:1", &port);
    (void)snprintf(target, sizeof target, "127.0.0.1:%u", port);
    service = start(descriptors, target, &port);
    limit.rlim_cur = limit.rlim_cur > wanted ? limit.rlim_cur : wanted;
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");

    first = connect_to(port);
    must(is_answered(first, "/hello", "hello"), "the first client is not answered");
    for (unsigned long i = 0; i < clients; i++) {
        idle[i] = connect_to(port);
    }
    must(comes_to_be_full(first, accepted_max(descriptors)),
         "other connections than the limit are accepted");
    must(is_answered(first, "/hello", "hello"), "the service does not answer any more");
    must(is_answered(first, "/call", "called"), "the service is cut off from others");
    for (unsigned long i = 0; i < clients; i++) {
        (void)close(idle[i]);
    }
    last = connect_to(port);
    must(is_answered(last, "/call", "called"), "a new client is not answered");
    stop(service, "the service does not end well");
    stop(callee, "the callee does not end well");
    (void)close(first);
    (void)close(last);
    free(idle);
    (void)printf(
        "%lu idle clients, %lu descriptors: %lu are accepted, and all is well\n",
        clients, descriptors, accepted_max(descriptors));
    return 0;
}
