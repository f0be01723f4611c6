/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * help.h - what the tool says about itself, all of it made from the command tables
 *
 * help.c for the screen, man.c for man pages (troff), completion.c for shells.
 */
#ifndef CPTI_CLI_HELP_H
#define CPTI_CLI_HELP_H

#include "cpt/cli/base/command.h"

#include <stdio.h>

/* The sentences that the help and the man pages share. */
extern const char cpti_about[];
extern const char cpti_exit_text[];
extern const char cpti_environment_text[];

/* Options of the tool itself, before a command. */
extern const struct cpti_option cpti_tool_options[];

/* `cpt --help` */
void cpti_help_tool(FILE *file);

/* `cpt <command> --help` */
void cpti_help_command(FILE *file, const struct cpti_command *command);

/* A man page of section 1 in troff: of @command, or of the tool if it is NULL. */
void cpti_man(FILE *file, const struct cpti_command *command);

/* Completions for @shell: "bash", "zsh" or "fish". */
void cpti_completion(FILE *file, const char *shell);

#endif
