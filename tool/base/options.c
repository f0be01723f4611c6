/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* options.c - the parser of the command line; see options.h */
#include "tool/base/options.h"

#include "tool/base/names.h"
#include "tool/base/output.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The most options of a command that are compared with a mistyped one. */
enum { WORDS_MAX = 64 };

/* Options of every command. */
static const struct cpti_option common_options[] = {
    {"help", 'h', NULL, "print this help"},
    {0},
};

const struct cpti_option *cpti_command_option(const struct cpti_command *command,
                                              size_t index)
{
    for (size_t i = 0; i <= CPTI_OPTION_TABLES_MAX; i++) {
        const struct cpti_option *option =
            i < CPTI_OPTION_TABLES_MAX ? command->options[i] : common_options;

        for (; option != NULL && option->name != NULL; option++) {
            if (index == 0) {
                return option;
            }
            index--;
        }
    }
    return NULL;
}

static const struct cpti_option *find_name(const struct cpti_command *command,
                                           const char *name, size_t bytes)
{
    const struct cpti_option *option;

    for (size_t i = 0; (option = cpti_command_option(command, i)) != NULL; i++) {
        if (strncmp(option->name, name, bytes) == 0 && option->name[bytes] == '\0') {
            return option;
        }
    }
    return NULL;
}

static const struct cpti_option *find_letter(const struct cpti_command *command,
                                             char letter)
{
    const struct cpti_option *option;

    for (size_t i = 0; (option = cpti_command_option(command, i)) != NULL; i++) {
        if (option->letter == letter && letter != 0) {
            return option;
        }
    }
    return NULL;
}

static int unknown_option(const struct cpti_command *command, const char *word)
{
    const char *names[WORDS_MAX];
    const char *nearest = NULL;
    size_t count = 0;
    const struct cpti_option *option;

    while (count < WORDS_MAX &&
           (option = cpti_command_option(command, count)) != NULL) {
        names[count++] = option->name;
    }
    if (strncmp(word, "--", 2) == 0) {
        nearest = cpti_nearest_word(word + 2, names, count);
    }
    if (nearest != NULL) {
        return cpti_usage("unknown option '%s'" CPTI_HINT "did you mean '--%s'?",
                          cpti_quoted(word), nearest);
    }
    return cpti_usage("unknown option '%s'" CPTI_HINT "see 'cpt %s --help'",
                      cpti_quoted(word), command->name);
}

/* The position in the command line. */
struct walk {
    struct cpti_arguments *arguments;
    char *const *words;
    size_t count;
    size_t index;
};

static void add_option(struct walk *walk, const struct cpti_option *option,
                       const char *value)
{
    walk->arguments->options[walk->arguments->option_count++] =
        (struct cpti_argument){option, value};
}

static int needs_value(const struct cpti_option *option)
{
    return cpti_usage("option '--%s' needs a value: --%s %s", option->name,
                      option->name, option->value);
}

/* Checks that @option takes @value: one of its words, or what begins with one that ends
 * with a colon. enum cpti_exit. */
static int check_word(const struct cpti_option *option, const char *value)
{
    const size_t bytes = strlen(value);

    if (option->words == NULL) {
        return CPTI_EXIT_DONE;
    }
    for (const char *at = option->words; *at != '\0';) {
        const size_t length = strcspn(at, " ");
        const bool is_open = length > 0 && at[length - 1] == ':';

        if ((is_open ? bytes > length : bytes == length) &&
            strncmp(at, value, length) == 0) {
            return CPTI_EXIT_DONE;
        }
        at += length + strspn(at + length, " ");
    }
    return cpti_usage("option '--%s' takes one of: %s", option->name, option->words);
}

/* --name, --name=value, --name value */
static int take_long(struct walk *walk)
{
    const char *name = walk->words[walk->index] + 2;
    const char *equals = strchr(name, '=');
    const size_t bytes = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const struct cpti_option *option = find_name(walk->arguments->command, name, bytes);
    const char *value = NULL;

    if (option == NULL) {
        return unknown_option(walk->arguments->command, walk->words[walk->index]);
    }
    if (option->value == NULL && equals != NULL) {
        return cpti_usage("option '--%s' takes no value", option->name);
    }
    if (option->value != NULL) {
        if (equals == NULL && walk->index + 1 == walk->count) {
            return needs_value(option);
        }
        value = equals != NULL ? equals + 1 : walk->words[++walk->index];
    }
    add_option(walk, option, value);
    return value == NULL ? CPTI_EXIT_DONE : check_word(option, value);
}

/* -a, -ab, -ovalue, -o value */
static int take_letters(struct walk *walk)
{
    const char *word = walk->words[walk->index];

    for (const char *at = word + 1; *at != '\0'; at++) {
        const struct cpti_option *option = find_letter(walk->arguments->command, *at);

        if (option == NULL) {
            return unknown_option(walk->arguments->command, word);
        }
        if (option->value == NULL) {
            add_option(walk, option, NULL);
            continue;
        }
        if (at[1] == '\0' && walk->index + 1 == walk->count) {
            return needs_value(option);
        }
        add_option(walk, option, at[1] != '\0' ? at + 1 : walk->words[++walk->index]);
        return check_word(
            option, walk->arguments->options[walk->arguments->option_count - 1].value);
    }
    return CPTI_EXIT_DONE;
}

static int check_operands(const struct cpti_arguments *arguments)
{
    const struct cpti_command *command = arguments->command;

    if (arguments->operand_count < command->operand_count_min) {
        return cpti_usage("'cpt %s' needs %s" CPTI_HINT "see 'cpt %s --help'",
                          command->name,
                          command->operand != NULL          ? command->operand
                          : command->operand_count_min == 1 ? "a file"
                                                            : "two files",
                          command->name);
    }
    if (arguments->operand_count > command->operand_count_max &&
        (command->operand_count_max != 0 || command->takes_no_operands)) {
        return cpti_usage("operand '%s' is one too many" CPTI_HINT
                          "see 'cpt %s --help'",
                          cpti_quoted(arguments->operands[command->operand_count_max]),
                          command->name);
    }
    return CPTI_EXIT_DONE;
}

int cpti_arguments_init(struct cpti_arguments *arguments,
                        const struct cpti_command *command, size_t count,
                        char *const *words)
{
    struct walk walk = {arguments, words, count, 0};
    size_t letter_count = 1;
    bool is_operand = false;

    for (size_t i = 0; i < count; i++) {
        letter_count += strlen(words[i]); /* a word has at most one option a byte */
    }
    *arguments = (struct cpti_arguments){.command = command};
    arguments->options = calloc(letter_count, sizeof *arguments->options);
    arguments->operands = calloc(count + 1, sizeof *arguments->operands);
    if (arguments->options == NULL || arguments->operands == NULL) {
        return cpti_failed("out of memory");
    }
    for (; walk.index < count; walk.index++) {
        const char *word = words[walk.index];
        int exit_status = CPTI_EXIT_DONE;

        if (is_operand || word[0] != '-' || word[1] == '\0') {
            arguments->operands[arguments->operand_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            is_operand = true;
        } else {
            exit_status = word[1] == '-' ? take_long(&walk) : take_letters(&walk);
        }
        if (exit_status != CPTI_EXIT_DONE) {
            return exit_status;
        }
    }
    arguments->first_word = arguments->operands[0];
    return cpti_has(arguments, "help") ? CPTI_EXIT_DONE : check_operands(arguments);
}

void cpti_arguments_deinit(struct cpti_arguments *arguments)
{
    for (size_t i = 0; i < arguments->owned_count; i++) {
        free(arguments->owned[i]);
    }
    free(arguments->owned);
    free(arguments->sources);
    free(arguments->options);
    free(arguments->operands);
    *arguments = (struct cpti_arguments){0};
}

static bool is_named(const struct cpti_argument *argument, const char *name)
{
    assert(argument->option != NULL);
    return strcmp(argument->option->name, name) == 0;
}

bool cpti_has(const struct cpti_arguments *arguments, const char *name)
{
    for (size_t i = 0; i < arguments->option_count; i++) {
        if (is_named(&arguments->options[i], name)) {
            return true;
        }
    }
    return false;
}

int cpti_excludes(const struct cpti_arguments *arguments, const char *name,
                  const char *const *others)
{
    for (; *others != NULL; others++) {
        if (cpti_has(arguments, *others)) {
            return cpti_usage("option '--%s' does not go with '--%s'", name, *others);
        }
    }
    return CPTI_EXIT_DONE;
}

int cpti_has_sides(const struct cpti_arguments *arguments, bool *has_sides)
{
    *has_sides = cpti_has(arguments, "base");
    return *has_sides == cpti_has(arguments, "new")
               ? CPTI_EXIT_DONE
               : cpti_usage("'cpt %s' takes --base and --new together: the option "
                            "'--%s' is missing",
                            arguments->command->name, *has_sides ? "new" : "base");
}

const char *cpti_value_at(const struct cpti_arguments *arguments, const char *name,
                          size_t index)
{
    for (size_t i = 0; i < arguments->option_count; i++) {
        if (is_named(&arguments->options[i], name) && index-- == 0) {
            return arguments->options[i].value;
        }
    }
    return NULL;
}

const char *cpti_value(const struct cpti_arguments *arguments, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < arguments->option_count; i++) {
        if (is_named(&arguments->options[i], name)) {
            value = arguments->options[i].value;
        }
    }
    return value;
}
