/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* help.c - help for the screen; see help.h */
#include "tool/commands/help.h"

#include "tool/base/output.h"
#include "tool/table/relation.h"

#include <string.h>

enum {
    OPTION_INDENT = 2,
    HELP_INDENT = 6,
    NAME_INDENT = 13, /* of what stands behind the name of a command */
    OPTION_BYTES = 128,
    LINE_BYTES = 1024
};

const struct cpti_group_words cpti_groups[] = {
    [CPTI_LOOK] = {"look", "what did the requests do?"},
    [CPTI_COMPARE] = {"compare", "what differs, and is it more than chance?"},
    [CPTI_FIX] = {"fix", "what should I fix?"},
    [CPTI_COLLECT] = {"collect", "where do critical paths come from?"},
    [CPTI_KEEP] = {"keep", "how do I keep them, and pass them on?"},
    [CPTI_CHECK] = {"check", "is it as it should be?"},
};

const char cpti_about[] =
    "cpt shows which parts of a distributed system made its requests slow. It reads "
    "the critical paths that services wrote to path logs, averages the paths of many "
    "requests in one tree, prints and compares such trees, and writes them as profiles "
    "for pprof.\n"
    "\n"
    "The time of a part is the time during which it alone delayed the request. So the "
    "times of all parts add up to the latency of the request.";

const char cpti_exit_text[] =
    "0: done. 1: an input or the system failed; everything else was done, and standard "
    "error says how much was skipped. 2: the command line is wrong; nothing was done. "
    "3: the condition of --fail-if holds.";

const char cpti_environment_text[] =
    "COLUMNS: the width of tables; by default the width of the terminal, or no limit "
    "if standard output is not a terminal. NO_COLOR: if it is not empty, the output "
    "has no colours.";

const struct cpti_option cpti_tool_options[] = {
    {"help", 'h', NULL, "print this help"},
    {"version", 0, NULL, "print the version"},
    {"completion", 0, "SHELL", "print the completions for a shell", "bash zsh fish"},
    {"man", 0, "[COMMAND]", "print the man page in troff format"},
    {0},
};

const char *cpti_help_description(const struct cpti_command *command)
{
    const struct cpti_help_text *text = cpti_help_texts;

    if (command->description != NULL) {
        return command->description;
    }
    while (text->name != NULL && strcmp(text->name, command->name) != 0) {
        text++;
    }
    return text->name != NULL ? text->text : "";
}

static void print_option(FILE *file, const struct cpti_option *option)
{
    char text[OPTION_BYTES] = "";
    size_t bytes = 0;

    if (option->letter != 0) {
        bytes = (size_t)snprintf(text, sizeof text, "-%c, ", option->letter);
    }
    (void)snprintf(text + bytes, sizeof text - bytes, "--%s%s%s", option->name,
                   option->value != NULL ? " " : "",
                   option->value != NULL ? option->value : "");
    (void)fprintf(file, "%*s%s\n", OPTION_INDENT, "", text);
    cpti_print_wrapped(file, HELP_INDENT, option->help);
}

/* Prints the columns of what @command prints as a table. */
static void print_columns(FILE *file, const struct cpti_command *command)
{
    char text[LINE_BYTES];

    for (size_t i = 0; i < CPTI_RELATIONS_MAX && command->relations[i] != NULL; i++) {
        const struct cpti_relation *relation = command->relations[i];

        (void)fprintf(file, "\ncolumns%s%s:\n", relation->when != NULL ? " with " : "",
                      relation->when != NULL ? relation->when : "");
        for (size_t k = 0; cpti_column_text(relation, k, text, sizeof text); k++) {
            cpti_print_wrapped(file, OPTION_INDENT, text);
        }
    }
}

/* Prints @line in at most 80 columns, its further lines as @joint begins them. */
static void print_broken(FILE *file, int indent, const char *line, const char *joint)
{
    char text[LINE_BYTES];

    cpti_line_break(line, CPTI_HELP_COLUMNS - (size_t)indent, joint, text, sizeof text);
    (void)fprintf(file, "%*s%s\n", indent, "", text);
}

/* The next command of @group from number *@index on; NULL: there is none. */
static const struct cpti_command *next_of(enum cpti_group group, size_t *index)
{
    while (*index < cpti_command_count) {
        const struct cpti_command *command = cpti_commands[(*index)++];

        if (command->group == group) {
            return command;
        }
    }
    return NULL;
}

static const char tool_usage[] = "usage: cpt COMMAND [OPTION]... [FILE]...\n"
                                 "       cpt FILE [--json]\n"
                                 "       cpt help [GROUP|COMMAND|questions]\n";

void cpti_help_groups(FILE *file)
{
    (void)fprintf(file,
                  "cpt shows which parts of a distributed system made its requests "
                  "slow.\n\n%s\n",
                  tool_usage);
    for (unsigned group = 0; group < CPTI_GROUP_COUNT; group++) {
        const struct cpti_command *command;
        size_t index = 0;

        (void)fprintf(file, "  %-10s %s\n%*s", cpti_groups[group].name,
                      cpti_groups[group].question, NAME_INDENT - 1, "");
        while ((command = next_of(group, &index)) != NULL) {
            (void)fprintf(file, " %s", command->name);
        }
        (void)fputc('\n', file);
    }
    (void)fprintf(file, "\n"
                        "'cpt FILE' says what a file or folder is, and which commands "
                        "come next.\n"
                        "'cpt help fix' leads from a question to a command, so does "
                        "each other group.\n"
                        "'cpt --help' lists all commands, 'cpt COMMAND --help' "
                        "describes one.\n");
}

/* The question, what it takes to answer it, and a command line that does. */
static void print_question(FILE *file, const struct cpti_command *command)
{
    (void)fprintf(file, "  %-10s %s\n%*sneeds %s\n", command->name, command->question,
                  NAME_INDENT, "", command->needs);
    print_broken(file, NAME_INDENT, command->examples[0].line,
                 " \\\n                 ");
}

static void print_group(FILE *file, enum cpti_group group)
{
    const struct cpti_command *command;
    size_t index = 0;

    (void)fprintf(file, "%s: %s\n\n", cpti_groups[group].name,
                  cpti_groups[group].question);
    while ((command = next_of(group, &index)) != NULL) {
        print_question(file, command);
    }
    (void)fprintf(file, "\n'cpt COMMAND --help' describes a command.\n");
}

/* The names of the commands of all groups behind @group, a name of a group before its
 * own. */
static void print_names(FILE *file, enum cpti_group group)
{
    const struct cpti_command *command;
    char text[LINE_BYTES] = "";
    size_t used = 0;

    while (++group < CPTI_GROUP_COUNT) {
        const char *joint = ": ";
        size_t index = 0;

        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 used != 0 ? "; " : "", cpti_groups[group].name);
        for (; (command = next_of(group, &index)) != NULL; joint = ", ") {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", joint,
                                     command->name);
        }
    }
    cpti_print_wrapped(file, 0, text);
}

/* One screen: how paths are collected, kept and checked has no questions of its own. */
static void print_questions(FILE *file)
{
    for (unsigned group = 0; group <= CPTI_FIX; group++) {
        const struct cpti_command *command;
        size_t index = 0;

        (void)fprintf(file, "%s: %s\n", cpti_groups[group].name,
                      cpti_groups[group].question);
        while ((command = next_of(group, &index)) != NULL) {
            (void)fprintf(file, "  %-10s %s\n", command->name, command->question);
        }
    }
    print_names(file, CPTI_FIX);
    (void)fprintf(file, "'cpt help GROUP' says what each of its commands needs.\n");
}

bool cpti_help_questions(FILE *file, const char *name)
{
    for (unsigned group = 0; group < CPTI_GROUP_COUNT; group++) {
        if (strcmp(cpti_groups[group].name, name) == 0) {
            print_group(file, group);
            return true;
        }
    }
    if (strcmp(name, "questions") != 0) {
        return false;
    }
    print_questions(file);
    return true;
}

static void print_tool(FILE *file)
{
    (void)fprintf(file, "%s\n", tool_usage);
    cpti_print_wrapped(file, 0, cpti_about);
    (void)fprintf(file, "\ncommands, by the question of those who look for one:\n");
    for (unsigned group = 0; group < CPTI_GROUP_COUNT; group++) {
        const struct cpti_command *command;
        size_t index = 0;

        (void)fprintf(file, " %s: %s\n", cpti_groups[group].name,
                      cpti_groups[group].question);
        while ((command = next_of(group, &index)) != NULL) {
            (void)fprintf(file, "  %-10s %s\n", command->name, command->summary);
        }
    }
    (void)fprintf(file, "\noptions:\n");
    for (const struct cpti_option *option = cpti_tool_options; option->name != NULL;
         option++) {
        print_option(file, option);
    }
    (void)fprintf(file, "\nexamples:\n"
                        "  cpt demo\n"
                        "      watch three services, their critical paths and a diff\n"
                        "  cpt paths.cptlog\n"
                        "      what is in a file, and which commands come next\n"
                        "  cpt report paths.cptlog\n"
                        "      where the requests of a path log spent their time\n"
                        "\n'cpt COMMAND --help' describes a command, 'cpt help "
                        "GROUP' compares some.\n");
}

void cpti_help(FILE *file, const struct cpti_command *command)
{
    const struct cpti_option *option;

    if (command == NULL) {
        print_tool(file);
        return;
    }
    for (size_t i = 0; i < CPTI_USAGES_MAX && command->usages[i] != NULL; i++) {
        char line[LINE_BYTES];

        (void)snprintf(line, sizeof line, "%s cpt %s %s", i == 0 ? "usage:" : "      ",
                       command->name, command->usages[i]);
        print_broken(file, 0, line, "\n           ");
    }
    (void)fputc('\n', file);
    cpti_print_wrapped(file, 0, cpti_help_description(command));
    (void)fprintf(file, "\noptions:\n");
    for (size_t i = 0; (option = cpti_command_option(command, i)) != NULL; i++) {
        print_option(file, option);
    }
    print_columns(file, command);
    (void)fprintf(file, "\nexit status:\n");
    cpti_print_wrapped(file, OPTION_INDENT, cpti_exit_text);
    (void)fprintf(file, "\nexamples:\n");
    for (const struct cpti_example *example = command->examples; example->line != NULL;
         example++) {
        print_broken(file, OPTION_INDENT, example->line, " \\\n      ");
        cpti_print_wrapped(file, HELP_INDENT, example->what);
    }
}
