/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * command.h - what a command of the tool is made of
 *
 * Each command stands in a file cmd_<name>.c which holds its option table, its help and
 * its code, and shows one struct cpti_command. Everything a person reads about it is
 * made from that struct: --help (help.c), the man page (man.c), the completions of
 * three shells (completion.c), and the parsing itself (options.c). So they cannot
 * disagree.
 *
 *      main.c: commands[] --> cpti_command_log       options[] --> arguments.c
 *                         |-> cpti_command_report    examples[] -> help, man page
 *                         '-> …                      run() ------> exit status
 */
#ifndef CPTI_CLI_COMMAND_H
#define CPTI_CLI_COMMAND_H

#include <stddef.h>

/* How the tool ends. */
enum cpti_exit {
    CPTI_EXIT_DONE = 0,
    CPTI_EXIT_FAILED =
        1, /* an input or the system failed; what could be done was done */
    CPTI_EXIT_USAGE = 2,    /* the command line is wrong; nothing was done */
    CPTI_EXIT_CONDITION = 3 /* a condition that was asked about is so (--fail-if) */
};

/* One option. A table of them ends with a name of NULL. */
struct cpti_option {
    const char *name;  /* "output" of --output */
    char letter;       /* 'o' of -o; 0 if it has none */
    const char *value; /* what it takes, "FILE"; NULL for a switch */
    const char *help;  /* lower case, no full stop */
    const char *words; /* the values it can have, with spaces between; NULL: any */
};

/* A real command line and what it is for. A table of them ends with a line of NULL. */
struct cpti_example {
    const char *line;
    const char *what;
};

/* Option tables that one command can put together. */
enum { CPTI_OPTION_TABLES_MAX = 4, CPTI_USAGES_MAX = 3 };

struct cpti_arguments;

struct cpti_command {
    const char *name;
    const char *summary;                 /* one line: lower case, no full stop */
    const char *usages[CPTI_USAGES_MAX]; /* what stands behind the command's name */
    const char *description;             /* paragraphs with an empty line between */
    const struct cpti_option *options[CPTI_OPTION_TABLES_MAX];
    const struct cpti_example *examples; /* two at least */
    size_t operand_count_min;
    size_t operand_count_max;
    /* Does it; enum cpti_exit. Errors have been printed. */
    int (*run)(const struct cpti_arguments *arguments);
};

/* The commands in the order of the data flow; the table is in main.c. */
extern const struct cpti_command *const cpti_commands[];
extern const size_t cpti_command_count;

/* Options of every command: --help. */
extern const struct cpti_option cpti_common_options[];

/* Option @index of @command, over all its tables and the common one; NULL behind the
 * last. */
const struct cpti_option *cpti_command_option(const struct cpti_command *command,
                                              size_t index);

/* The command of that name, or NULL. */
const struct cpti_command *cpti_command_find(const char *name);

#endif
