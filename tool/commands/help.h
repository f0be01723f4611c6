/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * help.h - the commands, and their descriptions, made from their tables
 *
 * help.c prints them on the screen, man.c as man pages (troff), completion.c as shell
 * completions.
 */
#ifndef CPTI_CLI_HELP_H
#define CPTI_CLI_HELP_H

#include "tool/base/command.h"

#include <stdio.h>

/* The columns of help, and of examples in man pages, which indent them twice. */
enum { CPTI_HELP_COLUMNS = 80, CPTI_MAN_EXAMPLE_COLUMNS = 66 };

/* The name of a group, and the question of those who look for one of its commands. */
struct cpti_group_words {
    const char *name;
    const char *question;
};
extern const struct cpti_group_words cpti_groups[]; /* by enum cpti_group */

/* All commands, in the order of the data flow; main.c. */
extern const struct cpti_command *const cpti_commands[];
extern const size_t cpti_command_count;

/* `cpt FILE`, which is not one of them, as its first word is the file; cmd_file.c. */
extern const struct cpti_command cpti_command_file;

/* The texts of help/, which the build puts in here: paragraphs, separated by an empty
 * line. The name NULL ends the table. */
struct cpti_help_text {
    const char *name; /* of the command */
    const char *text;
};
extern const struct cpti_help_text cpti_help_texts[];

/* What @command does; never NULL. */
const char *cpti_help_description(const struct cpti_command *command);

/* Texts that the help and the man pages share. */
extern const char cpti_about[];
extern const char cpti_exit_text[];
extern const char cpti_environment_text[];

/* The options of the tool itself, which stand before a command. */
extern const struct cpti_option cpti_tool_options[];

/* Prints the help of @command; NULL: of the tool. */
void cpti_help(FILE *file, const struct cpti_command *command);

/* Prints which groups of commands there are, on one screen. */
void cpti_help_groups(FILE *file);

/* Prints the questions that the commands of the group @name answer, on one screen; if
 * it is "questions", those of all groups. false: there is no such group. */
bool cpti_help_questions(FILE *file, const char *name);

/* Prints a man page of section 1 in troff: of @command; NULL: of the tool. */
void cpti_man(FILE *file, const struct cpti_command *command);

/* Prints the completions for @shell: "bash", "zsh" or "fish". */
void cpti_completion(FILE *file, const char *shell);

#endif
