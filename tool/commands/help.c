/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* help.c - help for the screen; see help.h */
#include "tool/commands/help.h"

#include "tool/base/output.h"

enum { OPTION_INDENT = 2, HELP_INDENT = 6, OPTION_BYTES = 128, LINE_BYTES = 1024 };

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

/* Prints @line in at most 80 columns, its further lines as @joint begins them. */
static void print_broken(FILE *file, int indent, const char *line, const char *joint)
{
    char text[LINE_BYTES];

    cpti_line_break(line, CPTI_HELP_COLUMNS - (size_t)indent, joint, text, sizeof text);
    (void)fprintf(file, "%*s%s\n", indent, "", text);
}

static void print_tool(FILE *file)
{
    (void)fprintf(file, "usage: cpt COMMAND [OPTION]... [FILE]...\n\n");
    cpti_print_wrapped(file, 0, cpti_about);
    (void)fprintf(file, "\ncommands, in the order of the data flow:\n");
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file, "  %-10s %s\n", cpti_commands[i]->name,
                      cpti_commands[i]->summary);
    }
    (void)fprintf(file, "\noptions:\n");
    for (const struct cpti_option *option = cpti_tool_options; option->name != NULL;
         option++) {
        print_option(file, option);
    }
    (void)fprintf(file, "\nexamples:\n"
                        "  cpt demo\n"
                        "      watch three services, their critical paths and a diff\n"
                        "  cpt report paths.cptlog\n"
                        "      where the requests of a path log spent their time\n"
                        "\n'cpt COMMAND --help' describes a command.\n");
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
    cpti_print_wrapped(file, 0, command->description);
    if (command->description_rest != NULL) {
        (void)fprintf(file, "\n");
        cpti_print_wrapped(file, 0, command->description_rest);
    }
    (void)fprintf(file, "\noptions:\n");
    for (size_t i = 0; (option = cpti_command_option(command, i)) != NULL; i++) {
        print_option(file, option);
    }
    (void)fprintf(file, "\nexit status:\n");
    cpti_print_wrapped(file, OPTION_INDENT, cpti_exit_text);
    (void)fprintf(file, "\nexamples:\n");
    for (const struct cpti_example *example = command->examples; example->line != NULL;
         example++) {
        print_broken(file, OPTION_INDENT, example->line, " \\\n      ");
        cpti_print_wrapped(file, HELP_INDENT, example->what);
    }
}
