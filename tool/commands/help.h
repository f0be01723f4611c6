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

/* All commands, in the order of the data flow; main.c. */
extern const struct cpti_command *const cpti_commands[];
extern const size_t cpti_command_count;

/* Texts that the help and the man pages share. */
extern const char cpti_about[];
extern const char cpti_exit_text[];
extern const char cpti_environment_text[];

/* The options of the tool itself, which stand before a command. */
extern const struct cpti_option cpti_tool_options[];

/* Prints the help of @command; NULL: of the tool. */
void cpti_help(FILE *file, const struct cpti_command *command);

/* Prints a man page of section 1 in troff: of @command; NULL: of the tool. */
void cpti_man(FILE *file, const struct cpti_command *command);

/* Prints the completions for @shell: "bash", "zsh" or "fish". */
void cpti_completion(FILE *file, const char *shell);

#endif
