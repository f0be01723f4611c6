/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * figure1_lines.c - lines that the services of the demo log; see figure1_lines.h
 *
 * A unit is found by its request, a component by its task. Each line is one write at
 * the end of the file.
 */
#include "figure1_lines.h"

#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { UNITS_MAX = 4096, CALLS_MAX = 4, ID_BYTES_MAX = 64 };
enum { LINE_BYTES = 512, MESSAGE_BYTES = 1024 };
enum { US = 1000000 };

/* A request that the service has: what its components log is one unit, which has the
 * name of the first of them. */
struct unit {
    const void *request; /* NULL: it has ended */
    const char *name;
    unsigned long number;
    int64_t begin_us;
};

/* A call that a component waits for. */
struct call {
    struct cpt_pending *pending; /* NULL: it has been logged */
    const struct cpt_stub *stub;
    int64_t begin_us;
};

/* A component that has called others; only its own task uses it. */
struct waiter {
    const void *task; /* NULL: it has ended */
    const char *name;
    cpt_task_fn next; /* how it goes on when all has ended */
    struct call calls[CALLS_MAX];
};

static struct {
    int file; /* -1: none are written */
    const char *service;
    char is_busy; /* of both tables; some microseconds at most */
    unsigned long count;
    struct unit units[UNITS_MAX];
    struct waiter waiters[UNITS_MAX];
    const char *database; /* "HOST:PORT", or NULL */
} lines = {.file = -1};

int figure1_lines_open(const char *file, const char *service)
{
    lines.file = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    lines.service = service;
    return lines.file >= 0;
}

void figure1_lines_close(void)
{
    if (lines.file >= 0) {
        (void)close(lines.file);
        lines.file = -1;
    }
}

/* --- Units --- */

static void lock(void)
{
    while (__atomic_test_and_set(&lines.is_busy, __ATOMIC_ACQUIRE)) {
    }
}

static void unlock(void)
{
    __atomic_clear(&lines.is_busy, __ATOMIC_RELEASE);
}

static int64_t now_us(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * US + now.tv_nsec / 1000;
}

/* The place of the unit of @request, or a free one for NULL; NULL: there is none. */
static struct unit *find_unit(const void *request)
{
    for (size_t i = 0; i < UNITS_MAX; i++) {
        if (lines.units[i].request == request) {
            return &lines.units[i];
        }
    }
    return NULL;
}

/* A copy of the unit of @task. All zero: there is none. */
static struct unit unit_of(struct cpt_task *task)
{
    struct unit copy = {0};
    const struct unit *unit;

    lock();
    unit = find_unit(cpt_task_request(task));
    if (unit != NULL) {
        copy = *unit;
    }
    unlock();
    return copy;
}

static void end_unit(struct cpt_task *task)
{
    struct unit *unit;

    lock();
    unit = find_unit(cpt_task_request(task));
    if (unit != NULL) {
        unit->request = NULL;
    }
    unlock();
}

/* The waiter of @task, or a free one for NULL; NULL: there is none. */
static struct waiter *find_waiter(const void *task)
{
    for (size_t i = 0; i < UNITS_MAX; i++) {
        if (lines.waiters[i].task == task) {
            return &lines.waiters[i];
        }
    }
    return NULL;
}

static struct waiter *waiter_of(const struct cpt_task *task)
{
    struct waiter *found;

    lock();
    found = find_waiter(task);
    unlock();
    return found;
}

/* Component @name of the unit of @task begins, and the unit if it has none yet. */
static void add_component(struct cpt_task *task, const char *name)
{
    const void *request = cpt_task_request(task);
    struct unit *unit;
    struct waiter *waiter;

    lock();
    unit = find_unit(request) == NULL ? find_unit(NULL) : NULL;
    if (unit != NULL) {
        *unit = (struct unit){request, name, lines.count++, now_us()};
    }
    waiter = find_waiter(NULL);
    if (waiter != NULL) {
        *waiter = (struct waiter){.task = task, .name = name};
    }
    unlock();
}

static void end_component(const struct cpt_task *task)
{
    struct waiter *waiter;

    lock();
    waiter = find_waiter(task);
    if (waiter != NULL) {
        waiter->task = NULL;
    }
    unlock();
}

/* --- Lines --- */

/* The id of the request, as a text; empty: it has none that is one. */
static void id_of(struct cpt_task *task, char id[ID_BYTES_MAX + 1])
{
    const struct cpt_bytes value =
        cpt_rpc_header(cpt_input(task, rpc_request), "x-request-id");
    size_t bytes = 0;

    while (bytes < value.bytes && bytes < ID_BYTES_MAX &&
           strchr("0123456789abcdefABCDEF-", value.data[bytes]) != NULL) {
        id[bytes] = value.data[bytes];
        bytes++;
    }
    id[bytes == value.bytes ? bytes : 0] = '\0';
}

/* Writes a line that @name does @what; @more: further members, each with a comma before
 * it. */
static void write_line(struct cpt_task *task, int64_t at_us, const char *name,
                       const char *what, const char *more)
{
    const struct unit unit = unit_of(task);
    char id[ID_BYTES_MAX + 1];
    char line[LINE_BYTES];
    int bytes;

    id_of(task, id);
    if (id[0] == '\0' || unit.request == NULL) {
        return;
    }
    bytes = snprintf(line, sizeof line,
                     "{\"ts\":%lld.%06d,\"request_id\":\"%s\",\"service\":\"%s\","
                     "\"span_id\":\"%s-%lu\",\"msg\":\"%s%s\"%s}\n",
                     (long long)(at_us / US), (int)(at_us % US), id, lines.service,
                     unit.name, unit.number, name, what, more);
    if (bytes > 0 && bytes < LINE_BYTES &&
        write(lines.file, line, (size_t)bytes) != bytes) {
        (void)fputs("figure1: a line cannot be written\n", stderr);
    }
}

/* The same of what took from @begin_us on, with @role. */
static void write_interval(struct cpt_task *task, int64_t begin_us, const char *name,
                           const char *what, const char *role)
{
    const int64_t end_us = now_us();
    const int64_t us = end_us > begin_us ? end_us - begin_us : 0;
    char more[LINE_BYTES / 4];

    (void)snprintf(more, sizeof more, ",\"duration\":%lld.%06d,%s",
                   (long long)(us / US), (int)(us % US), role);
    write_line(task, end_us, name, what, more);
}

void figure1_line(struct cpt_task *task, const char *name, const char *what)
{
    char text[LINE_BYTES / 4];

    if (lines.file >= 0) {
        (void)snprintf(text, sizeof text, " %s", what);
        write_line(task, now_us(), name, text, "");
    }
}

void figure1_line_begin(struct cpt_task *task, const char *name)
{
    if (lines.file >= 0) {
        add_component(task, name);
        figure1_line(task, name, "begins");
    }
}

void figure1_line_end(struct cpt_task *task, const char *name)
{
    if (lines.file >= 0) {
        const struct unit unit = unit_of(task);

        end_component(task);
        if (unit.name != name) {
            figure1_line(task, name, "ends");
            return;
        }
        write_interval(task, unit.begin_us, name, "", "\"role\":\"server\"");
        end_unit(task);
    }
}

/* --- Calls --- */

static void note_call(const struct cpt_task *task, struct cpt_pending *pending,
                      const struct cpt_stub *stub, int64_t begin_us)
{
    struct waiter *waiter = waiter_of(task);

    for (size_t i = 0; waiter != NULL && i < CALLS_MAX; i++) {
        if (waiter->calls[i].pending == NULL) {
            waiter->calls[i] = (struct call){pending, stub, begin_us};
            return;
        }
    }
}

struct cpt_pending *figure1_call(struct cpt_task *task, const struct cpt_stub *stub,
                                 struct cpt_bytes body)
{
    struct cpt_call_request request = {.struct_bytes = sizeof request, .body = body};
    const int64_t begin_us = now_us();
    struct cpt_pending *pending;
    char id[ID_BYTES_MAX + 1];

    if (lines.file < 0) {
        return cpt_call(task, stub, body);
    }
    id_of(task, id);
    if (id[0] != '\0') {
        (void)cpt_call_add_header(task, &request, "X-Request-Id", cpt_bytes_of(id));
    }
    pending = cpt_call_with(task, stub, &request);
    note_call(task, pending, stub, begin_us);
    return pending;
}

/* Logs the calls that have ended. How many of others are in @waited. */
static size_t log_calls(struct cpt_task *task, struct waiter *waiter,
                        struct cpt_pending *waited[CALLS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < CALLS_MAX; i++) {
        struct call *call = &waiter->calls[i];
        char what[LINE_BYTES / 8];
        char role[LINE_BYTES / 8];

        if (call->pending == NULL) {
            continue;
        }
        if (cpt_pending_status(call->pending) == CPT_WAITING) {
            waited[count++] = call->pending;
            continue;
        }
        (void)snprintf(what, sizeof what, " calls %s", call->stub->method);
        (void)snprintf(role, sizeof role, "\"role\":\"client\",\"peer\":\"%.*s\"",
                       (int)strcspn(call->stub->name, ":"), call->stub->name);
        write_interval(task, call->begin_us, waiter->name, what, role);
        call->pending = NULL;
    }
    return count;
}

/* A step of a component that waits for calls. */
static cpt_status next_call(struct cpt_task *task)
{
    struct cpt_pending *waited[CALLS_MAX];
    struct waiter *waiter = waiter_of(task);
    const size_t count = log_calls(task, waiter, waited);

    return count > 0 ? cpt_await_some(task, waited, count, 1, next_call)
                     : cpt_await_all(task, waiter->next);
}

cpt_status figure1_await_all(struct cpt_task *task, cpt_task_fn next)
{
    struct waiter *waiter = lines.file >= 0 ? waiter_of(task) : NULL;

    if (waiter == NULL) {
        return cpt_await_all(task, next);
    }
    waiter->next = next;
    return next_call(task);
}

void figure1_line_answers(struct cpt_task *task, const char *name)
{
    struct cpt_pending *waited[CALLS_MAX];
    struct waiter *waiter = lines.file >= 0 ? waiter_of(task) : NULL;

    if (waiter != NULL) {
        (void)log_calls(task, waiter, waited);
        figure1_line(task, name, "has all answers");
    }
}

/* --- The database --- */

void figure1_database_set(const char *address)
{
    lines.database = address;
}

/* A connection to the database; -1: there is none. */
static int connect_database(void)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const char *colon = strrchr(lines.database, ':');
    struct addrinfo *found = NULL;
    char host[ID_BYTES_MAX] = "";
    int file = -1;

    if (colon == NULL || (size_t)(colon - lines.database) >= sizeof host) {
        return -1;
    }
    memcpy(host, lines.database, (size_t)(colon - lines.database));
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0) {
        return -1;
    }
    file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file >= 0 && connect(file, found->ai_addr, found->ai_addrlen) != 0) {
        (void)close(file);
        file = -1;
    }
    freeaddrinfo(found);
    return file;
}

/* Writes @number in four bytes, the highest first. */
static void put_number(unsigned char *to, size_t number)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (unsigned char)(number >> (24 - 8 * i));
    }
}

/* The message that begins a session as user postgres. Its bytes. */
static size_t startup(unsigned char message[MESSAGE_BYTES], const char *id)
{
    static const char *const words[] = {"user", "postgres", "database", "postgres",
                                        "application_name"};
    size_t bytes = 8;

    put_number(message + 4, 3 << 16);
    for (size_t i = 0; i <= sizeof words / sizeof words[0]; i++) {
        const char *word = i < sizeof words / sizeof words[0] ? words[i] : id;

        memcpy(message + bytes, word, strlen(word) + 1);
        bytes += strlen(word) + 1;
    }
    message[bytes++] = 0;
    put_number(message, bytes);
    return bytes;
}

/* Reads @bytes; 1 if they came. */
static int read_all(int file, void *to, size_t bytes)
{
    return bytes == 0 || recv(file, to, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

/* Reads messages until the database is ready for a query. 1; 0: it will not be. */
static int await_ready(int file)
{
    unsigned char head[5];

    while (read_all(file, head, sizeof head)) {
        size_t left = ((size_t)head[1] << 24 | (size_t)head[2] << 16 |
                       (size_t)head[3] << 8 | head[4]) -
                      4;
        char body[MESSAGE_BYTES];

        if (head[0] == 'E' || left > sizeof body || !read_all(file, body, left)) {
            return 0;
        }
        if (head[0] == 'Z') {
            return 1;
        }
    }
    return 0;
}

/* One session with one query. 1; 0: it has failed. */
static int ask(const char *id, const char *query)
{
    static const unsigned char end[5] = {'X', 0, 0, 0, 4};
    const int file = connect_database();
    unsigned char message[MESSAGE_BYTES];
    size_t bytes = startup(message, id);
    int is_done =
        file >= 0 && send(file, message, bytes, MSG_NOSIGNAL) > 0 && await_ready(file);

    if (is_done && strlen(query) < MESSAGE_BYTES - 6) {
        bytes = strlen(query) + 1;
        message[0] = 'Q';
        put_number(message + 1, bytes + 4);
        memcpy(message + 5, query, bytes);
        is_done = send(file, message, bytes + 5, MSG_NOSIGNAL) > 0 && await_ready(file);
    }
    if (file >= 0) {
        (void)send(file, end, sizeof end, MSG_NOSIGNAL);
        (void)close(file);
    }
    return is_done;
}

void figure1_query(struct cpt_task *task, const char *name, const char *query)
{
    char id[ID_BYTES_MAX + 1];
    const int64_t begin_us = now_us();

    if (lines.database == NULL) {
        return;
    }
    id_of(task, id);
    if (!ask(id, query)) {
        (void)fputs("figure1: the database does not answer\n", stderr);
        return;
    }
    write_interval(task, begin_us, name, " asks the database",
                   "\"role\":\"client\",\"peer\":\"postgresql\"");
}
