/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform.c - asks each case and counts the verdicts; see conform.h
 *
 * A program that crashes or is silent is started again for the next case, at most
 * RESTARTS_MAX times: then it will not become better.
 */
#include "tests/interop/conform/conform.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tests/interop/conform/conform_program.h"
#include "tests/interop/conform/conform_report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { RESTARTS_MAX = 10 };

struct run {
    struct cpti_conform_program program;
    struct cpti_conform_result *result;
};

/* Notes that a case failed. The first ones are kept in full. */
static void note_failure(struct cpti_conform_result *result,
                         const struct cpti_conform_case *conform_case,
                         const char *detail)
{
    struct cpti_conform_failure *failure = NULL;

    if (result->failure_count < CPTI_CONFORM_FAILURES_MAX) {
        failure = &result->failures[result->failure_count++];
        failure->group = conform_case->group;
        (void)snprintf(failure->name, sizeof failure->name, "%s", conform_case->name);
        (void)snprintf(failure->detail, sizeof failure->detail, "%s", detail);
        (void)snprintf(failure->sent, sizeof failure->sent, "%s", conform_case->sent);
        failure->is_cut = strlen(conform_case->sent) >= sizeof failure->sent;
    }
}

/* Asks one case, and notes whether the answer is right. */
static void judge(struct run *run, const struct cpti_conform_case *conform_case)
{
    struct cpti_conform_result *result = run->result;
    struct cpti_conform_verdict verdict = {0};
    const char *answer = cpti_conform_program_ask(&run->program, conform_case->sent);

    result->groups[conform_case->group].case_count++;
    if (answer == NULL) {
        note_failure(result, conform_case, run->program.fault);
        return;
    }
    cpti_conform_judge(conform_case, answer, &verdict);
    if (verdict.is_right) {
        result->groups[conform_case->group].right_count++;
    } else {
        note_failure(result, conform_case, verdict.detail);
    }
}

static bool take(void *context, struct cpti_conform_case *conform_case)
{
    struct run *run = context;
    struct cpti_conform_result *result = run->result;

    if (run->program.pid == 0 && !result->is_given_up) {
        result->is_given_up = result->restart_count == RESTARTS_MAX ||
                              !cpti_conform_program_start(&run->program);
        result->restart_count += !result->is_given_up;
    }
    if (!result->is_given_up) {
        judge(run, conform_case);
    }
    cpti_conform_case_deinit(conform_case);
    return !result->is_given_up;
}

/* Asks all cases. enum cpti_exit, of our own work. */
static int ask_all(const struct cpti_conform_options *options, struct run *run)
{
    struct cpti_conform_result *result = run->result;
    int status = CPTI_EXIT_DONE;

    if (!cpti_conform_program_start(&run->program)) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(options->command)},
                              "%s", run->program.fault);
    }
    status = cpti_conform_cases(options, take, run);
    if (run->program.pid != 0 && !cpti_conform_program_finish(&run->program)) {
        (void)snprintf(result->end_fault, sizeof result->end_fault, "%s",
                       run->program.fault);
    }
    return status;
}

int cpti_conform_run(const struct cpti_conform_options *options)
{
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    struct sigaction before;
    struct cpti_conform_result *result = calloc(1, sizeof *result);
    struct run run = {
        .program = {.command = options->command, .timeout_ns = options->timeout_ns},
        .result = result};
    int status = CPTI_EXIT_DONE;

    if (result == NULL) {
        return cpti_failed("out of memory");
    }
    (void)sigaction(SIGPIPE, &ignored, &before);
    status = ask_all(options, &run);
    (void)sigaction(SIGPIPE, &before, NULL);
    cpti_conform_program_deinit(&run.program);
    if (status == CPTI_EXIT_DONE) {
        status = cpti_conform_report(options, result);
    }
    free(result);
    return status;
}
