/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * options.h - the parser of the command line, by a command's option tables
 *
 * It takes --name, --name=value, --name value, -n, -nvalue and -n value, mixed with
 * operands in any order. After "--" all words are operands; "-" is one. Names cannot be
 * abbreviated, so that an option added later does not change what a script means.
 */
#ifndef CPTI_CLI_OPTIONS_H
#define CPTI_CLI_OPTIONS_H

#include "tool/base/command.h"

#include <stdbool.h>

struct cpti_source;

/* An option that was given. */
struct cpti_argument {
    const struct cpti_option *option;
    const char *value; /* borrowed from argv; NULL for a switch */
};

/* The parsed command line of a command. */
struct cpti_arguments {
    const struct cpti_command *command;
    struct cpti_argument *options; /* in the order given */
    size_t option_count;
    const char **operands; /* borrowed from argv, or from `owned` */
    size_t operand_count;
    const char *first_word; /* the first operand as it was typed; NULL: none */
    /* The operands as given, after cpti_folders_open() (folders.h); otherwise none. */
    struct cpti_source *sources;
    size_t source_count;
    char **owned;
    size_t owned_count;
};

/*
 * Parses the @count words at @words. Returns CPTI_EXIT_DONE; CPTI_EXIT_USAGE after
 * printing a line that names the mistake and the remedy; CPTI_EXIT_FAILED without
 * memory. The caller frees @arguments with cpti_arguments_deinit() in each case.
 */
int cpti_arguments_init(struct cpti_arguments *arguments,
                        const struct cpti_command *command, size_t count,
                        char *const *words);
void cpti_arguments_deinit(struct cpti_arguments *arguments);

/* Whether the option @name was given. */
bool cpti_has(const struct cpti_arguments *arguments, const char *name);

/* Refuses the option @name beside each of @others, which NULL ends; and one of --base
 * and --new without the other. enum cpti_exit. */
int cpti_excludes(const struct cpti_arguments *arguments, const char *name,
                  const char *const *others);
int cpti_has_sides(const struct cpti_arguments *arguments, bool *has_sides);

/* The last value given for @name, or NULL. */
const char *cpti_value(const struct cpti_arguments *arguments, const char *name);

/* Value @index of an option @name that may repeat; NULL after the last. */
const char *cpti_value_at(const struct cpti_arguments *arguments, const char *name,
                          size_t index);

#endif
