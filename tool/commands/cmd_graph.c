/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_graph.c - cpt graph: the plans of a service or program; see live/plans.h */
#include "tool/commands/absent.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/live/get_options.h"
#include "tool/live/plans.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS_MAX = 10 };

/* Writes the graph to the program dot, whose stdout is ours. */
static int draw_svg(struct cpti_plans *plans)
{
    cpt_status drawn = CPT_NO_MEMORY;
    int ends[2];
    int status = 0;
    pid_t pid = -1;
    FILE *file = NULL;

    (void)fflush(stdout);
    if (pipe(ends) != 0 || (pid = fork()) < 0) {
        return cpti_failed("dot cannot be started: %s", strerror(errno));
    }
    if (pid == 0) {
        (void)dup2(ends[0], STDIN_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execlp("dot", "dot", "-Tsvg", (char *)NULL);
        _exit(127);
    }
    (void)close(ends[0]);
    file = fdopen(ends[1], "w");
    if (file != NULL) {
        drawn = cpti_plans_dot(plans, file);
        (void)fclose(file);
    } else {
        (void)close(ends[1]);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        return cpti_failed(WIFEXITED(status) && WEXITSTATUS(status) == 127
                               ? "there is no program dot; it is in the Debian package "
                                 "graphviz"
                               : "dot failed");
    }
    return drawn == CPT_OK ? CPTI_EXIT_DONE : cpti_failed("no memory");
}

static cpt_status get(struct cpti_plans *plans, const struct cpti_arguments *arguments,
                      const struct cpti_get *how, struct cpt_error *error)
{
    const char *operand = arguments->operands[0];
    struct cpti_peer place;
    struct cpt_error why = {0};
    cpt_status status = cpti_place_read(cpt_bytes_of(operand), true, &place, &why);

    if (status == CPT_OK) {
        return cpti_plans_ask(plans, &place, how, error);
    }
    if (status == CPT_INVALID) { /* no address */
        const size_t count = arguments->operand_count;
        char **words = calloc(count + 1, sizeof *words);

        if (words == NULL) {
            return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
        }
        for (size_t i = 0; i < count; i++) {
            words[i] = (char *)(uintptr_t)arguments->operands[i];
        }
        status = cpti_plans_run(plans, words, SECONDS_MAX, error);
        free(words);
        return status;
    }
    *error = why;
    return status;
}

static struct cpti_plans plans;

static int run(const struct cpti_arguments *arguments)
{
    const char *operand = arguments->operands[0];
    struct cpt_error error = {0};
    struct cpti_get how;
    char path[CPTI_GET_PATH_BYTES];
    int status = cpti_get_read(arguments, "plans", &how, path);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (get(&plans, arguments, &how, &error) != CPT_OK) {
        status = cpti_failed_at((struct cpti_at){.file = cpti_quoted(operand)}, "%s",
                                error.sentence);
    } else if (plans.count == 0) {
        status = cpti_failed_at((struct cpti_at){.file = cpti_quoted(operand)},
                                "it has made no plan");
    } else if (cpti_has(arguments, "svg")) {
        status = draw_svg(&plans);
    } else if (cpti_plans_dot(&plans, stdout) != CPT_OK) {
        status = cpti_failed("no memory");
    }
    if (plans.left_out != 0) {
        cpti_warn("%llu more plans are not drawn", (unsigned long long)plans.left_out);
    }
    cpti_plans_deinit(&plans);
    return status;
}

static const struct cpti_option options[] = {
    {"svg", 0, NULL, "print a picture, by the program dot of graphviz"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt graph --svg 127.0.0.1:8001 >plans.svg", "the plans of a service that runs"},
    {"cpt graph ./my_service", "the plans that a program makes, in the language DOT"},
    {0},
};

const struct cpti_command cpti_command_graph = {
    CPTI_IS_GRAPH,
    .usages = {"[OPTION]... HOST:PORT", "[OPTION]... [--] PROGRAM [ARGUMENT]..."},
    .options = {options, cpti_get_options},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .operand = "an address or a program",
};
