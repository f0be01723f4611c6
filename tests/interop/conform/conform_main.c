/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* conform_main.c - the program cpt-conformance: its options; see conform.h */
#include "tests/interop/conform/conform.h"

#include "tool/base/command.h"
#include "tool/base/output.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES_MAX = 1000000, SECONDS_MAX = 3600 };

static const char usage[] =
    "usage: cpt-conformance [OPTION]... COMMAND [FILE]...\n"
    "\n"
    "Tries another implementation of the format of critical-path-bin. COMMAND is run "
    "by\n"
    "the shell. It gets one line for each case on its standard input, and answers "
    "each\n"
    "with one line on its standard output; the answers are compared with those of the\n"
    "library. Each FILE is one more path to be read, as bytes. The lines are "
    "described\n"
    "in docs/conformance.md. The exit status is 0 if every answer is right, otherwise "
    "1.\n"
    "\n"
    "  --cases N          random cases of each kind (200)\n"
    "  --seed N           other random cases (1)\n"
    "  --timeout SECONDS  for one answer (10)\n"
    "  --data FOLDER      the cases that are files (tests/data/metadata)\n"
    "  --json             print one JSON object\n"
    "  --help             print this help\n";

/* Reads @text as a whole number from @least to @most. */
static bool read_number(const char *text, uint64_t least, uint64_t most,
                        uint64_t *number)
{
    char *end = NULL;

    errno = 0;
    *number = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
           *number >= least && *number <= most;
}

static bool read_seconds(const char *text, uint64_t *ns)
{
    char *end = NULL;
    const double seconds = strtod(text, &end);

    if (end == text || *end != '\0' || !(seconds > 0 && seconds <= SECONDS_MAX)) {
        return false;
    }
    *ns = (uint64_t)(seconds * 1e9);
    return true;
}

/* Reads the options, and what stands behind them. enum cpti_exit. */
static int read_options(int count, char **words, struct cpti_conform_options *options)
{
    static const struct option names[] = {{"cases", required_argument, NULL, 'c'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"timeout", required_argument, NULL, 't'},
                                          {"data", required_argument, NULL, 'd'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option = 0;

    while ((option = getopt_long(count, words, "h", names, NULL)) != -1) {
        if (option == 'd') {
            options->data_folder = optarg;
        } else if (option == 'j') {
            options->is_json = true;
        } else if (option == 'h') {
            options->is_help = true;
        } else if (option == 'c' &&
                   !read_number(optarg, 1, CASES_MAX, &options->case_count)) {
            return cpti_usage("option '--cases' takes a number from 1 to %d",
                              CASES_MAX);
        } else if (option == 's' &&
                   !read_number(optarg, 0, UINT64_MAX, &options->seed)) {
            return cpti_usage("option '--seed' takes a number");
        } else if (option == 't' && !read_seconds(optarg, &options->timeout_ns)) {
            return cpti_usage("option '--timeout' takes seconds, at most %d",
                              SECONDS_MAX);
        } else if (option == '?') {
            (void)fputs(usage, stderr);
            return CPTI_EXIT_USAGE;
        }
    }
    if (options->is_help) {
        return CPTI_EXIT_DONE;
    }
    if (optind == count) {
        (void)fputs(usage, stderr);
        return CPTI_EXIT_USAGE;
    }
    options->command = words[optind];
    options->files = (const char *const *)(words + optind + 1);
    options->file_count = (size_t)(count - optind - 1);
    return CPTI_EXIT_DONE;
}

int main(int count, char **words)
{
    struct cpti_conform_options options = {.seed = 1,
                                           .case_count = 200,
                                           .timeout_ns = 10000000000U,
                                           .data_folder = CPTI_CONFORM_DATA};
    int status;

    cpti_messages_from("cpt-conformance");
    status = read_options(count, words, &options);
    if (options.is_help && status == CPTI_EXIT_DONE) {
        (void)fputs(usage, stdout);
    } else if (status == CPTI_EXIT_DONE) {
        status = cpti_conform_run(&options);
    }
    return cpti_finish(status);
}
