/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * main.c - the command table, and the options of the tool itself
 *
 * The table follows the data flow: the header of a request, the log, the tree, what is
 * printed from it, what is written from it.
 */
#include "tool/base/command.h"
#include "tool/requests/log_keys.h"
#include "tool/whatif/whatif_complete.h"
#include "tool/commands/help.h"
#include "tool/log/span_logs.h"
#include "tool/base/folders.h"
#include "tool/base/memory_file.h"
#include "tool/base/names.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/base/passwords.h"
#include "tool/table/capped.h"
#include "tool/table/json_write.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct cpti_command cpti_command_demo; /* cmd_demo.c */
extern const struct cpti_command cpti_command_metadata;
extern const struct cpti_command cpti_command_import;
extern const struct cpti_command cpti_command_events;
extern const struct cpti_command cpti_command_collect;
extern const struct cpti_command cpti_command_explain;
extern const struct cpti_command cpti_command_assert;
extern const struct cpti_command cpti_command_log;
extern const struct cpti_command cpti_command_depot;
extern const struct cpti_command cpti_command_show;
extern const struct cpti_command cpti_command_aggregate;
extern const struct cpti_command cpti_command_merge;
extern const struct cpti_command cpti_command_load;
extern const struct cpti_command cpti_command_report;
extern const struct cpti_command cpti_command_diff;
extern const struct cpti_command cpti_command_natural;
extern const struct cpti_command cpti_command_culprit;
extern const struct cpti_command cpti_command_contention;
extern const struct cpti_command cpti_command_busy;
extern const struct cpti_command cpti_command_slack;
extern const struct cpti_command cpti_command_model;
extern const struct cpti_command cpti_command_predict;
extern const struct cpti_command cpti_command_experiment;
extern const struct cpti_command cpti_command_whatif;
extern const struct cpti_command cpti_command_web;
extern const struct cpti_command cpti_command_precision;
extern const struct cpti_command cpti_command_plan;
extern const struct cpti_command cpti_command_pprof;
extern const struct cpti_command cpti_command_folded;
extern const struct cpti_command cpti_command_wait;
extern const struct cpti_command cpti_command_graph;

const struct cpti_command *const cpti_commands[] = {
    &cpti_command_demo,       &cpti_command_metadata,  &cpti_command_import,
    &cpti_command_events,     &cpti_command_collect,   &cpti_command_explain,
    &cpti_command_assert,     &cpti_command_log,       &cpti_command_depot,
    &cpti_command_show,       &cpti_command_aggregate, &cpti_command_merge,
    &cpti_command_load,       &cpti_command_report,    &cpti_command_diff,
    &cpti_command_natural,    &cpti_command_predict,   &cpti_command_culprit,
    &cpti_command_contention, &cpti_command_busy,      &cpti_command_slack,
    &cpti_command_experiment, &cpti_command_whatif,    &cpti_command_web,
    &cpti_command_precision,  &cpti_command_plan,      &cpti_command_pprof,
    &cpti_command_folded,     &cpti_command_wait,      &cpti_command_graph,
    &cpti_command_model,
};

const size_t cpti_command_count = sizeof cpti_commands / sizeof cpti_commands[0];

enum { NAMES_MAX = 32 };

static const struct cpti_command *find_command(const char *name)
{
    for (size_t i = 0; i < cpti_command_count; i++) {
        if (strcmp(cpti_commands[i]->name, name) == 0) {
            return cpti_commands[i];
        }
    }
    return strcmp(name, cpti_command_file.name) == 0 ? &cpti_command_file : NULL;
}

/* Whether @word, which is no command, is a file: also one that is not there. */
static bool is_file(const char *word)
{
    return strcmp(word, "-") == 0 || strpbrk(word, "./") != NULL ||
           access(word, F_OK) == 0;
}

static int unknown_command(const char *word)
{
    const char *names[NAMES_MAX];
    const char *nearest;
    size_t count = 0;

    for (; count < cpti_command_count && count < NAMES_MAX; count++) {
        names[count] = cpti_commands[count]->name;
    }
    nearest = cpti_nearest_word(word, names, count);
    if (nearest != NULL) {
        return cpti_usage("unknown command '%s'" CPTI_HINT "did you mean '%s'?",
                          cpti_quoted(word), nearest);
    }
    return cpti_usage("unknown command '%s'" CPTI_HINT "'cpt --help' lists them",
                      cpti_quoted(word));
}

static int run_command(const struct cpti_command *command, size_t count,
                       char *const *words)
{
    struct cpti_arguments arguments;
    int exit_status = cpti_arguments_init(&arguments, command, count, words);

    if (exit_status == CPTI_EXIT_DONE && cpti_has(&arguments, "help")) {
        cpti_help(stdout, command);
    } else if (exit_status == CPTI_EXIT_DONE) {
        exit_status = command->takes_spans
                          ? cpti_span_logs_open(&arguments, command->takes_visits)
                          : CPTI_EXIT_DONE;
    }
    if (exit_status == CPTI_EXIT_DONE && !cpti_has(&arguments, "help")) {
        exit_status =
            command->takes_folders ? cpti_folders_open(&arguments) : CPTI_EXIT_DONE;
        exit_status =
            exit_status == CPTI_EXIT_DONE ? command->run(&arguments) : exit_status;
    }
    cpti_arguments_deinit(&arguments);
    return exit_status;
}

/* Prints the help or the man page of the command @name; NULL: of the tool. */
static int describe(const char *name,
                    void (*print)(FILE *, const struct cpti_command *))
{
    const struct cpti_command *command = name != NULL ? find_command(name) : NULL;

    if (name != NULL && command == NULL) {
        return unknown_command(name);
    }
    print(stdout, command);
    return CPTI_EXIT_DONE;
}

/* cpt --completion SHELL */
static int run_completion(const char *shell)
{
    if (shell == NULL || (strcmp(shell, "bash") != 0 && strcmp(shell, "zsh") != 0 &&
                          strcmp(shell, "fish") != 0)) {
        return cpti_usage("option '--completion' takes one of: bash zsh fish");
    }
    cpti_completion(stdout, shell);
    return CPTI_EXIT_DONE;
}

/* cpt --complete terms|keys|VERB PREFIX WORD..., for completions; not documented. */
static int run_complete(size_t count, char *const *words)
{
    if (count >= 2 && cpti_whatif_completes(words[0])) {
        return cpti_whatif_complete(words[0], words[1], count - 2, words + 2);
    }
    return count < 2 ? CPTI_EXIT_USAGE
                     : cpti_log_keys_print(strcmp(words[0], "terms") == 0, words[1],
                                           count - 2, words + 2);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Whether @word may stand before the file of `cpt FILE`. */
static bool is_before_file(const char *word)
{
    return strcmp(word, "--json") == 0 || strcmp(word, "-j") == 0 ||
           strcmp(word, "--") == 0;
}

/* An option before any command. */
static int run_tool(size_t count, char *const *words)
{
    const char *word = words[0];
    const char *next = count > 1 ? words[1] : NULL;

    if (is_before_file(word)) {
        return run_command(&cpti_command_file, count, words);
    }
    if (is_help(word)) {
        return describe(NULL, cpti_help);
    }
    if (strcmp(word, "--version") == 0) {
        (void)printf("cpt %s\n", CPTI_VERSION);
        return CPTI_EXIT_DONE;
    }
    if (strcmp(word, "--man") == 0) {
        return describe(next, cpti_man);
    }
    if (strcmp(word, "--completion") == 0) {
        return run_completion(next);
    }
    if (strcmp(word, "--complete") == 0) {
        return run_complete(count - 1, words + 1);
    }
    return cpti_usage("unknown option '%s'" CPTI_HINT "see 'cpt --help'",
                      cpti_quoted(word));
}

/* cpt help [GROUP|COMMAND|questions]. The name of a group is before that of a command:
 * `cpt collect --help` describes the command. */
static int run_help(size_t count, char *const *words)
{
    if (count > 1) {
        return cpti_usage("operand '%s' is one too many; see 'cpt --help'",
                          cpti_quoted(words[1]));
    }
    if (count == 1 && is_help(words[0])) {
        cpti_help_groups(stdout);
        return CPTI_EXIT_DONE;
    }
    if (count == 0 || !cpti_help_questions(stdout, words[0])) {
        return describe(count == 1 ? words[0] : NULL, cpti_help);
    }
    if (find_command(words[0]) != NULL) {
        (void)printf("'cpt %s --help' describes the command of that name.\n", words[0]);
    }
    return CPTI_EXIT_DONE;
}

/* cpt GROUP [--help]: as `cpt help GROUP`. Otherwise the first word is no command. */
static int run_group(size_t count, char *const *words)
{
    const bool is_alone = count == 1 || (count == 2 && is_help(words[1]));

    if (is_alone && cpti_help_questions(stdout, words[0])) {
        return CPTI_EXIT_DONE;
    }
    for (unsigned group = 0; group < CPTI_GROUP_COUNT; group++) {
        if (strcmp(cpti_groups[group].name, words[0]) == 0) {
            return cpti_usage("'%s' is a group of commands" CPTI_HINT
                              "'cpt help %s' shows them",
                              words[0], words[0]);
        }
    }
    return unknown_command(words[0]);
}

static int run(size_t count, char *const *words)
{
    const struct cpti_command *command;
    int exit_status;

    if (count == 0) {
        cpti_help_groups(stdout);
        return CPTI_EXIT_DONE;
    }
    if (words[0][0] == '-' && words[0][1] != '\0') {
        return run_tool(count, words);
    }
    if (strcmp(words[0], "help") == 0) {
        return run_help(count - 1, words + 1);
    }
    command = find_command(words[0]);
    if (command == NULL && is_file(words[0])) {
        return run_command(&cpti_command_file, count, words);
    }
    if (command == NULL) {
        return run_group(count, words);
    }
    exit_status = run_command(command, count - 1, words + 1);
    if (exit_status == CPTI_EXIT_USAGE && count == 1 && access(words[0], F_OK) == 0) {
        cpti_below("'cpt ./%s' says what the file of that name is", words[0]);
    }
    return exit_status;
}

/* Whether -j is --json in the command @name, or, if there is none, in `cpt FILE`. */
static bool has_json_letter(const char *name)
{
    const struct cpti_command *command = find_command(name);
    const struct cpti_option *option = NULL;

    command = command != NULL ? command : &cpti_command_file;
    for (size_t i = 0; (option = cpti_command_option(command, i)) != NULL; i++) {
        if (option->letter == 'j') {
            return strcmp(option->name, "json") == 0;
        }
    }
    return false;
}

/* Whether JSON is wanted, also if the command line is wrong otherwise. */
static bool wants_json(size_t count, char *const *words)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], "--json") == 0 ||
            (strcmp(words[i], "-j") == 0 && has_json_letter(words[0])) ||
            strcmp(words[i], "--format=json") == 0 ||
            (strcmp(words[i], "--format") == 0 && i + 1 < count &&
             strcmp(words[i + 1], "json") == 0)) {
            return true;
        }
    }
    return false;
}

/* The bytes that --max-bytes leaves to JSON; 0: any, also if its value is wrong. */
static uint64_t bytes_max_of(size_t count, char *const *words)
{
    static const char name[] = "--max-bytes";
    const struct cpti_option option = {.name = name + 2, .value = "SIZE"};
    struct cpti_argument given = {&option, NULL};
    const struct cpti_arguments arguments = {.options = &given, .option_count = 1};
    struct cpti_messages silent = {.is_silent = true};
    uint64_t bytes_max = 0;

    for (size_t i = 0; i < count; i++) {
        if (strncmp(words[i], name, sizeof name - 1) != 0) {
            continue;
        }
        if (words[i][sizeof name - 1] == '=') {
            given.value = words[i] + sizeof name;
        } else if (words[i][sizeof name - 1] == '\0' && i + 1 < count) {
            given.value = words[i + 1];
        }
    }
    cpti_messages_to(&silent);
    (void)cpti_capped_option(&arguments, &bytes_max);
    cpti_messages_to(NULL);
    return bytes_max;
}

static void put_text(struct cpti_json *json, const char *key, const char *text)
{
    cpti_json_text(json, key, text[0] != '\0' ? text : NULL);
}

/* The name that is shown as @shown, so that it can be opened. */
static void put_file(struct cpti_json *json, const char *shown)
{
    if (shown[0] == '\0') {
        cpti_json_null(json, "file");
        return;
    }
    cpti_json_key(json, cpt_bytes_of("file"));
    cpti_json_raw_name(json, shown);
}

static void put_error(FILE *file, const struct cpti_error *error)
{
    struct cpti_json json = {.file = file};

    cpti_json_open(&json, NULL, '{');
    cpti_json_open(&json, "error", '{');
    cpti_json_text(&json, "message", error->message);
    put_file(&json, error->file);
    cpti_json_known(&json, "line", error->place.line != 0, error->place.line);
    cpti_json_known(&json, "column", error->place.column != 0, error->place.column);
    cpti_json_known(&json, "byte", error->place.has_byte, error->place.byte);
    put_text(&json, "hint", error->hint);
    put_text(&json, "detail", error->detail);
    cpti_json_close(&json);
    cpti_json_close(&json);
}

/* Prints the first error where a program looks for the document, unless it has more
 * than @bytes_max bytes. */
static void print_error(uint64_t bytes_max)
{
    struct cpti_memory_file memory;
    struct cpti_error error;

    if (!cpti_first_error(&error) || !cpti_memory_file_open(&memory)) {
        return;
    }
    put_error(memory.file, &error);
    if (!cpti_memory_file_close(&memory)) {
        return;
    }
    if (bytes_max == 0 || memory.bytes <= bytes_max) {
        (void)fwrite(memory.text, 1, memory.bytes, stdout);
    }
    free(memory.text);
}

int main(int argument_count, char **arguments)
{
    int exit_status = CPTI_EXIT_DONE;
    size_t count;

    /* only for the width of characters; numbers keep their decimal point */
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) {
        (void)setlocale(LC_CTYPE, "");
    }
    count = argument_count > 0 ? (size_t)argument_count - 1 : 0;
    cpti_passwords_hide(arguments + 1, count);
    exit_status = run(count, arguments + 1);
    if (exit_status != CPTI_EXIT_DONE && !cpti_json_is_written() &&
        wants_json(count, arguments + 1)) {
        print_error(bytes_max_of(count, arguments + 1));
    }
    return cpti_finish(exit_status);
}
