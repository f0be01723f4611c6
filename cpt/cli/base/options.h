/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * options.h - the command line taken apart by a command's option tables
 *
 * --name, --name=value, --name value, -n, -nvalue and -n value, in any order with the
 * operands; behind "--" all are operands, and "-" is one. Names are never abbreviated:
 * an option added later must not change what a script means.
 */
#ifndef CPTI_CLI_OPTIONS_H
#define CPTI_CLI_OPTIONS_H

#include "cpt/cli/base/command.h"

/* An option that was given. */
struct cpti_argument {
    const struct cpti_option *option;
    const char *value; /* borrowed from argv; NULL for a switch */
};

/* What a command is run with. */
struct cpti_arguments {
    const struct cpti_command *command;
    struct cpti_argument *options; /* in the order given */
    size_t option_count;
    const char **operands; /* borrowed from argv */
    size_t operand_count;
};

/*
 * Takes @count words at @words apart. CPTI_EXIT_DONE; CPTI_EXIT_USAGE with one line
 * printed which names the mistake and the way out; CPTI_EXIT_FAILED without memory.
 * Whatever happens, @arguments is then to be freed with cpti_arguments_deinit().
 */
int cpti_arguments_init(struct cpti_arguments *arguments,
                        const struct cpti_command *command, size_t count,
                        char *const *words);
void cpti_arguments_deinit(struct cpti_arguments *arguments);

/* Whether the switch @name was given. */
int cpti_has(const struct cpti_arguments *arguments, const char *name);

/* The value of @name that was given last, or NULL. */
const char *cpti_value(const struct cpti_arguments *arguments, const char *name);

/* The @index-th value of @name, or NULL behind the last: for options that repeat. */
const char *cpti_value_at(const struct cpti_arguments *arguments, const char *name,
                          size_t index);

/* The word of @count at @words that @given was probably meant to be, or NULL. */
const char *cpti_nearest_word(const char *given, const char *const *words,
                              size_t count);

#endif
