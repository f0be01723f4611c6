/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_wait.c - cpt wait: who waits for whom just now; see live/waits.h */
#include "cpt/cli/base/options.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/live/wait_print.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT_MS = 3000, PAUSE_MS = 50 };

static int look(const struct cpti_arguments *arguments, struct cpti_waits *waits)
{
    const char *text = arguments->operands[0];
    const char *prefix = cpti_value(arguments, "prefix");
    struct cpt_error error = {0};
    struct cpti_place place;

    memset(waits, 0, sizeof *waits);
    waits->timeout_ms = TIMEOUT_MS;
    waits->is_remote = cpti_has(arguments, "remote");
    (void)snprintf(waits->path, sizeof waits->path, "%s/requests",
                   prefix != NULL ? prefix : "/cpt");
    if (cpti_place_read(cpt_bytes_of(text), true, &place, &error) == CPT_INVALID) {
        return cpti_usage("'%s' is no address of a service, as 127.0.0.1:8001",
                          cpti_quoted(text));
    }
    if (error.status != CPT_OK || cpti_waits_look(waits, &place, &error) != CPT_OK) {
        return cpti_failed("%s: %s", cpti_quoted(text), error.sentence);
    }
    return CPTI_EXIT_DONE;
}

/* Whether @request stands in @earlier, stuck as well. */
static bool was_stuck(const struct cpti_waits *earlier, const struct cpti_waits *now,
                      const struct cpti_wait_request *request)
{
    for (uint32_t i = 0; i < earlier->request_count; i++) {
        const struct cpti_wait_request *before = &earlier->requests[i];

        if (before->is_stuck && before->id == request->id &&
            strcmp(earlier->services[before->service].place.text,
                   now->services[request->service].place.text) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * Services are asked one after the other, so what they tell is not of one moment: a
 * circle may be none. So a deadlock counts only if it is there at a second look, too.
 */
static void confirm(const struct cpti_waits *earlier, struct cpti_waits *now)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < now->deadlock_count; i++) {
        const struct cpti_wait_deadlock *deadlock = &now->deadlocks[i];
        bool is_kept = true;

        for (uint32_t k = 0; k < deadlock->count; k++) {
            is_kept &=
                was_stuck(earlier, now,
                          &now->requests[now->deadlock_requests[deadlock->first + k]]);
        }
        if (is_kept) {
            now->deadlocks[kept++] = *deadlock;
        }
    }
    now->deadlock_count = kept;
    for (uint32_t i = 0; i < now->request_count; i++) {
        now->requests[i].is_stuck &= was_stuck(earlier, now, &now->requests[i]);
    }
}

static struct cpti_waits first_look;
static struct cpti_waits second_look;

static int run(const struct cpti_arguments *arguments)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    const char *condition = cpti_value(arguments, "fail-if");
    const char *prefix = cpti_value(arguments, "prefix");
    struct cpti_waits *waits = &first_look;
    int status = CPTI_EXIT_DONE;

    if (condition != NULL && strcmp(condition, "deadlock") != 0) {
        return cpti_usage("option '--fail-if' takes one of: deadlock");
    }
    if (prefix != NULL && (prefix[0] != '/' || strlen(prefix) > 200 ||
                           strpbrk(prefix, " \r\n\t") != NULL)) {
        return cpti_usage("'%s' is no path, as /cpt", cpti_quoted(prefix));
    }
    status = look(arguments, &first_look);
    if (status == CPTI_EXIT_DONE && first_look.deadlock_count != 0) {
        (void)nanosleep(&pause, NULL);
        waits = &second_look;
        status = look(arguments, &second_look);
        if (status == CPTI_EXIT_DONE) {
            confirm(&first_look, &second_look);
        }
    }
    if (status == CPTI_EXIT_DONE && cpti_has(arguments, "json")) {
        cpti_wait_json(waits);
    } else if (status == CPTI_EXIT_DONE) {
        cpti_wait_print(waits);
    }
    if (status == CPTI_EXIT_DONE && condition != NULL && waits->deadlock_count != 0) {
        status = CPTI_EXIT_CONDITION;
    }
    cpti_waits_deinit(&first_look);
    if (waits == &second_look) {
        cpti_waits_deinit(&second_look);
    }
    return status;
}

static const struct cpti_option options[] = {
    {"json", 'j', NULL, "print one JSON object"},
    {"remote", 0, NULL,
     "ask services of other machines, too; without it, only callees of this machine "
     "are "
     "asked"},
    {"prefix", 0, "PATH",
     "where services have their counters (counters_prefix); default: /cpt"},
    {"fail-if", 0, "CONDITION", "exit with status 3 if there is a deadlock",
     "deadlock"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt wait 127.0.0.1:8001", "what the requests of a service wait for just now"},
    {"cpt wait --fail-if deadlock 127.0.0.1:8001",
     "exit with status 3 if requests wait for each other"},
    {0},
};

const struct cpti_command cpti_command_wait = {
    .name = "wait",
    .summary = "draw who waits for whom in running services",
    .usages = {"[OPTION]... HOST:PORT"},
    .description =
        "Asks a service for the requests that it has not answered yet (GET "
        "/cpt/requests; its options need serves_counters), the oldest first, and draws "
        "what each of their tasks waits for, and since when. Where a task waits for a "
        "call, the called service is asked, too, and its request is drawn below: the "
        "one with the same trace id and method. Where a task waits for a lock, the "
        "requests that hold it are drawn.\n"
        "\n"
        "A request is stuck if no task of it runs, and all that its tasks wait for are "
        "requests that are stuck. Requests that wait for each other in a circle are a "
        "deadlock, which is printed at the end. A deadlock is reported if it is there "
        "at two looks. Timeouts may still end it. What is not known (a service that "
        "does not answer, a request without trace id, a lock that is taken by "
        "cpt_mutex_lock()) is taken for something that goes on.\n"
        "\n"
        "Times of requests that are not traced are known to some milliseconds, and "
        "only for the request, its calls and its locks.\n"
        "\n"
        "With --json the object has services, requests and deadlocks; a wait has the "
        "indices of the requests that it leads to. Later versions may add fields.",
    .options = {options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = 1,
    .run = run,
    .operand = "an address",
};
