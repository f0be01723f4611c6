/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * command.h - the parts of a command of the tool
 *
 * Each command is one file cmd_<name>.c with its option table and its code, and a text
 * commands/help/<name>.txt. The file exports one struct cpti_command. --help (help.c),
 * the man page (man.c), the completions of three shells (completion.c) and the parser
 * of the command line (options.c) all read that struct, so they cannot disagree.
 *
 *      main.c: cpti_commands[] --> cpti_command_log       options[] ---> options.c
 *                              |-> cpti_command_report    examples[] --> help, man page
 *                              '-> …                      run() -------> exit status
 */
#ifndef CPTI_CLI_COMMAND_H
#define CPTI_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of the tool. */
enum cpti_exit {
    CPTI_EXIT_DONE = 0,
    CPTI_EXIT_FAILED = 1,   /* an input or the system failed; the rest was done */
    CPTI_EXIT_USAGE = 2,    /* the command line is wrong; nothing was done */
    CPTI_EXIT_CONDITION = 3 /* the condition of --fail-if holds, or a rule is broken */
};

/* What comes of @next, which is done if all went well before, in @status: CPT_OK and
 * CPTI_EXIT_DONE are both 0. */
#define CPTI_THEN(status, next) ((status) == 0 ? (next) : (status))

/* The last of two statuses that is not CPTI_EXIT_DONE: for work that goes on after a
 * failure. */
static inline int cpti_exit_last(int status, int next)
{
    return next != CPTI_EXIT_DONE ? next : status;
}

/* One option. The name NULL ends a table. */
struct cpti_option {
    const char *name;  /* "output" of --output */
    char letter;       /* 'o' of -o; 0: none */
    const char *value; /* what it takes, "FILE"; NULL for a switch */
    const char *help;  /* lower case, no full stop */
    const char *words; /* the values it takes, separated by spaces, and those that begin
                          with one that ends with a colon; NULL: any */
};

/* What a person wants who looks for a command; help.c has the words. */
enum cpti_group {
    CPTI_LOOK,
    CPTI_COMPARE,
    CPTI_FIX,
    CPTI_COLLECT,
    CPTI_KEEP,
    CPTI_CHECK,
    CPTI_GROUP_COUNT
};

/* A real command line and its purpose. The line NULL ends a table. */
struct cpti_example {
    const char *line;
    const char *what;
};

/* The most option tables, usage lines and relations of one command. */
enum { CPTI_OPTION_TABLES_MAX = 6, CPTI_USAGES_MAX = 4, CPTI_RELATIONS_MAX = 4 };

struct cpti_arguments;
struct cpti_relation;

struct cpti_command {
    const char *name;
    const char *summary; /* one line: lower case, no full stop */
    enum cpti_group group;
    const char *question;                /* that it answers, at most 66 columns */
    const char *needs;                   /* the input that it takes for that, as long */
    const char *usages[CPTI_USAGES_MAX]; /* what follows the command's name */
    const char *description; /* instead of commands/help/NAME.txt; NULL: that */
    const struct cpti_option *options[CPTI_OPTION_TABLES_MAX];
    /* Whose columns --columns and --sort are about, by what it prints; unused: NULL */
    const struct cpti_relation *relations[CPTI_RELATIONS_MAX];
    const struct cpti_example *examples; /* at least two */
    size_t operand_count_min;
    size_t operand_count_max; /* 0: any number */
    bool takes_no_operands;
    /* Runs the command and prints its errors. Returns an enum cpti_exit. */
    int (*run)(const struct cpti_arguments *arguments);
    bool takes_folders; /* a folder among the operands stands for its logs; folders.h */
    bool has_tree_folders; /* for its trees instead */
    bool has_log_folders;  /* for its path logs and its graph logs */
    /* for its files that begin so, instead, which are the command's @folder_noun */
    bool (*is_in_folder)(const unsigned char *head, size_t bytes);
    const char *folder_noun;
    /* if the folder has such files, only those; or NULL */
    bool (*is_better_in_folder)(const unsigned char *head, size_t bytes);
    const char *better_noun;
    /* with the option of this name, what is taken of a folder instead; or NULL */
    const struct cpti_command *folder_option;
    const char *operand; /* "an address", if its operand is no file; or NULL */
    bool takes_spans;    /* in the place of a path log; span_logs.h */
    bool takes_visits;   /* of spans, all visits, too, not only those on the path */
};

/* Option @index of @command, counted through all its tables and then --help, which
 * every command has; NULL after the last. */
const struct cpti_option *cpti_command_option(const struct cpti_command *command,
                                              size_t index);

#endif
