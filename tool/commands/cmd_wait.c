/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_wait.c - cpt wait: who waits for whom just now; see live/waits.h */
#include "tool/commands/absent.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/live/get_options.h"
#include "tool/live/wait_print.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PAUSE_MS = 60, SAID_BYTES_MAX = 8192 };

/* What is looked for, and how; read once for both looks. */
struct question {
    struct cpti_get get;
    char path[CPTI_GET_PATH_BYTES];
    char operators_of[SAID_BYTES_MAX];
    char leaves[SAID_BYTES_MAX];
    bool fails;
};

/* Joins all values of the option @name by commas. */
static int join(const struct cpti_arguments *arguments, const char *name,
                char text[SAID_BYTES_MAX])
{
    const char *value = NULL;
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; (value = cpti_value_at(arguments, name, i)) != NULL; i++) {
        const size_t bytes = strlen(value);

        if (used + bytes + 2 > SAID_BYTES_MAX) {
            return cpti_usage("option '--%s' is too long", name);
        }
        (void)snprintf(text + used, SAID_BYTES_MAX - used, "%s%s", i != 0 ? "," : "",
                       value);
        used = strlen(text);
    }
    return CPTI_EXIT_DONE;
}

static int read_question(const struct cpti_arguments *arguments,
                         struct question *question)
{
    const char *condition = cpti_value(arguments, "fail-if");
    int status = CPTI_EXIT_DONE;

    if (condition != NULL && strcmp(condition, "deadlock") != 0) {
        return cpti_usage("option '--fail-if' takes one of: deadlock");
    }
    question->fails = condition != NULL;
    status = cpti_get_read(arguments, "requests", &question->get, question->path);
    status = CPTI_THEN(status, join(arguments, "operators-of", question->operators_of));
    if (status == CPTI_EXIT_DONE && question->operators_of[0] != '\0' &&
        strchr(question->operators_of, '=') == NULL) {
        return cpti_usage("'%s' is not SERVICE=HOST:PORT",
                          cpti_quoted(question->operators_of));
    }
    return status == CPTI_EXIT_DONE ? join(arguments, "leaf", question->leaves)
                                    : status;
}

static int look(const struct cpti_arguments *arguments, const struct question *question,
                struct cpti_waits *waits)
{
    const char *text = arguments->operands[0];
    struct cpt_error error = {0};
    struct cpti_peer place;

    memset(waits, 0, sizeof *waits);
    waits->get = question->get;
    waits->operators_of = question->operators_of;
    waits->leaves = question->leaves;
    waits->is_remote = cpti_has(arguments, "remote");
    if (cpti_place_read(cpt_bytes_of(text), true, &place, &error) == CPT_INVALID) {
        return cpti_usage("'%s' is no address of a service, as 127.0.0.1:8001",
                          cpti_quoted(text));
    }
    if (error.status != CPT_OK || cpti_waits_look(waits, &place, &error) != CPT_OK) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(text)}, "%s",
                              error.sentence);
    }
    return CPTI_EXIT_DONE;
}

/* --- Two looks --- */

/* @request as it stood in @earlier; NULL: it did not. */
static const struct cpti_wait_request *
as_it_was(const struct cpti_waits *earlier, const struct cpti_waits *now,
          const struct cpti_wait_request *request)
{
    for (uint32_t i = 0; i < earlier->request_count; i++) {
        const struct cpti_wait_request *before = &earlier->requests[i];

        if (before->id == request->id &&
            strcmp(earlier->services[before->service].place.text,
                   now->services[request->service].place.text) == 0) {
            return before;
        }
    }
    return NULL;
}

/*
 * Services are asked one after the other, so what they tell is not of one moment: a
 * circle may be none. So a deadlock counts only if it is there at a second look, too;
 * and so does a doubt.
 */
static void confirm(const struct cpti_waits *earlier, struct cpti_waits *now)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < now->request_count; i++) {
        struct cpti_wait_request *request = &now->requests[i];
        const struct cpti_wait_request *before = as_it_was(earlier, now, request);

        request->is_stuck &= before != NULL && before->is_stuck;
        request->is_doubtful &=
            before != NULL && (before->is_doubtful || before->is_stuck);
    }
    for (uint32_t i = 0; i < now->deadlock_count; i++) {
        const struct cpti_wait_deadlock *deadlock = &now->deadlocks[i];
        bool is_kept = true;

        for (uint32_t k = 0; k < deadlock->count; k++) {
            is_kept &=
                now->requests[now->deadlock_requests[deadlock->first + k]].is_stuck;
        }
        if (is_kept) {
            now->deadlocks[kept++] = *deadlock;
        }
    }
    now->deadlock_count = kept;
}

/* Whether a second look is worth its time. */
static bool is_suspicious(const struct cpti_waits *waits)
{
    bool is_suspicious = waits->deadlock_count != 0;

    for (uint32_t i = 0; i < waits->request_count && !is_suspicious; i++) {
        is_suspicious = waits->requests[i].is_doubtful;
    }
    return is_suspicious;
}

/* --- The condition --- */

/* A call that @request waits for and that is not followed. */
static const struct cpti_wait_edge *
doubted_call(const struct cpti_waits *waits, const struct cpti_wait_request *request)
{
    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct cpti_wait_group *group = &waits->groups[request->group_first + i];

        for (uint32_t k = 0; k < group->edge_count; k++) {
            const struct cpti_wait_edge *edge = &waits->edges[group->edge_first + k];

            if (edge->gap != CPTI_GAP_NONE && edge->gap != CPTI_GAP_LEAF) {
                return edge;
            }
        }
    }
    return NULL;
}

/* Says that there may be a deadlock, if so: behind calls that are not followed. */
static int judge_doubts(const struct cpti_waits *waits)
{
    const struct cpti_wait_edge *edge = NULL;
    char name[CPTI_WAIT_GAP_BYTES];
    char why[CPTI_WAIT_GAP_BYTES];
    unsigned count = 0;

    for (uint32_t i = 0; i < waits->request_count; i++) {
        if (waits->requests[i].is_doubtful) {
            count++;
            edge = edge != NULL ? edge : doubted_call(waits, &waits->requests[i]);
        }
    }
    if (edge == NULL) {
        return CPTI_EXIT_DONE;
    }
    (void)cpti_printable_to(cpti_answer_string(edge->value, "name"), name, sizeof name);
    cpti_wait_say_gap(waits, edge, why, sizeof why);
    return cpti_failed(
        "cannot tell whether there is a deadlock: %u request%s for calls "
        "that are not followed, as '%s': %s",
        count, count == 1 ? " waits" : "s wait", name,
        cpti_printable(cpt_bytes_of(why)));
}

static int judge(const struct cpti_waits *waits)
{
    return waits->deadlock_count != 0 ? CPTI_EXIT_CONDITION : judge_doubts(waits);
}

static struct cpti_waits first_look;
static struct cpti_waits second_look;
static struct question question;

static int run(const struct cpti_arguments *arguments)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    struct cpti_waits *waits = &first_look;
    int status = read_question(arguments, &question);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = look(arguments, &question, &first_look);
    if (status == CPTI_EXIT_DONE && is_suspicious(&first_look)) {
        (void)nanosleep(&pause, NULL);
        waits = &second_look;
        status = look(arguments, &question, &second_look);
        if (status == CPTI_EXIT_DONE) {
            confirm(&first_look, &second_look);
        }
    }
    if (status == CPTI_EXIT_DONE && cpti_has(arguments, "json")) {
        cpti_wait_json(waits);
    } else if (status == CPTI_EXIT_DONE) {
        cpti_wait_print(waits);
    }
    if (status == CPTI_EXIT_DONE && question.fails) {
        status = judge(waits);
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
     "are asked"},
    {"operators-of", 0, "SERVICE=HOST:PORT,...",
     "the port for operators of a service that is called, if its callers' stubs do not "
     "name it; :PORT: on the host of the call"},
    {"leaf", 0, "SERVICE,...",
     "calls of these services end by themselves: a database, a service of others"},
    {"fail-if", 0, "CONDITION",
     "exit with status 3 if there is a deadlock, with 1 if there may be one behind "
     "calls "
     "that are not followed",
     "deadlock"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt wait 127.0.0.1:8001", "what the requests of a service wait for just now"},
    {"cpt wait --fail-if deadlock 127.0.0.1:8001",
     "exit with status 3 if requests wait for each other"},
    {"cpt wait --operators-of price=:9002 --leaf mail 127.0.0.1:9001",
     "follow calls of price at its port for operators, and none of mail"},
    {0},
};

const struct cpti_command cpti_command_wait = {
    CPTI_IS_WAIT,
    .usages = {"[OPTION]... HOST:PORT"},
    .options = {options, cpti_get_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = 1,
    .run = run,
    .operand = "an address",
};
