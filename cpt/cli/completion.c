/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * completion.c - completions for three shells, made from the command tables
 *
 * All three do the same: the first word is a command, a word that begins with a hyphen
 * is one of its options, the value of an option that has a list of words is one of
 * them, everything else is a file. Texts stand in single quotes; the tables hold no
 * such quote where a shell sees them, and put_quoted() keeps it so.
 */
#include "cpt/cli/help.h"

#include <string.h>

/* @text in single quotes, fit for all three shells; @also is escaped by a backslash. */
static void put_quoted(FILE *file, const char *text, const char *also)
{
    (void)fputc('\'', file);
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            (void)fputs("\u2019", file);
            continue;
        }
        if (strchr(also, *text) != NULL) {
            (void)fputc('\\', file);
        }
        (void)fputc(*text, file);
    }
    (void)fputc('\'', file);
}

static void put_bash_words(FILE *file, const struct cpti_option *option,
                           const char *command)
{
    if (option->words != NULL) {
        (void)fprintf(file,
                      "        %s:--%s) COMPREPLY=($(compgen -W '%s' -- \"$current\"));"
                      " return ;;\n",
                      command, option->name, option->words);
    }
}

static void put_bash(FILE *file)
{
    const struct cpti_option *option;

    (void)fputs("# bash completion for cpt; made by cpt --completion bash\n"
                "_cpt() {\n"
                "    local current=${COMP_WORDS[COMP_CWORD]}\n"
                "    local previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    local command=${COMP_WORDS[1]} options\n"
                "    [ \"$COMP_CWORD\" -eq 1 ] && command=\n"
                "    case $command:$previous in\n",
                file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        for (size_t j = 0; (option = cpti_command_option(cpti_commands[i], j)); j++) {
            put_bash_words(file, option, cpti_commands[i]->name);
        }
    }
    (void)fputs("        --completion:--completion) COMPREPLY=($(compgen -W "
                "'bash zsh fish' -- \"$current\")); return ;;\n"
                "    esac\n"
                "    case $command in\n",
                file);
    (void)fputs("        '') options='", file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file, "%s ", cpti_commands[i]->name);
    }
    (void)fputs("--help --version --completion --man' ;;\n", file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file, "        %s) options='", cpti_commands[i]->name);
        for (size_t j = 0; (option = cpti_command_option(cpti_commands[i], j)); j++) {
            (void)fprintf(file, "%s--%s", j == 0 ? "" : " ", option->name);
        }
        (void)fputs("' ;;\n", file);
    }
    (void)fputs(
        "    esac\n"
        "    if [ -z \"$command\" ] || [ \"${current#-}\" != \"$current\" ]; then\n"
        "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
        "    else\n"
        "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
        "    fi\n"
        "}\n"
        "complete -o filenames -F _cpt cpt\n",
        file);
}

/* One specification for _arguments; brackets and colons of the help are escaped there.
 */
static void put_zsh_option(FILE *file, const struct cpti_option *option)
{
    (void)fprintf(file, " \\\n                '*--%s['", option->name);
    put_quoted(file, option->help, "[]:\\");
    (void)fputs("']", file);
    if (option->value != NULL) {
        (void)fputc(':', file);
        (void)fputs("value", file);
        (void)fprintf(file, ":%s%s%s", option->words != NULL ? "(" : "_files",
                      option->words != NULL ? option->words : "",
                      option->words != NULL ? ")" : "");
    }
    (void)fputc('\'', file);
}

static void put_zsh(FILE *file)
{
    const struct cpti_option *option;

    (void)fputs("#compdef cpt\n# zsh completion for cpt; made by cpt --completion zsh\n"
                "_cpt() {\n"
                "    local -a commands\n"
                "    commands=(\n",
                file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        char text[256];

        (void)snprintf(text, sizeof text, "%s:%s", cpti_commands[i]->name,
                       cpti_commands[i]->summary);
        (void)fputs("        ", file);
        put_quoted(file, text, "");
        (void)fputc('\n', file);
    }
    (void)fputs("    )\n"
                "    if (( CURRENT == 2 )); then\n"
                "        _describe command commands\n"
                "        return\n"
                "    fi\n"
                "    case $words[2] in\n",
                file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file, "        %s)\n            _arguments",
                      cpti_commands[i]->name);
        for (size_t j = 0; (option = cpti_command_option(cpti_commands[i], j)); j++) {
            put_zsh_option(file, option);
        }
        (void)fputs(" \\\n                '*:file:_files'\n            ;;\n", file);
    }
    (void)fputs("    esac\n}\n_cpt \"$@\"\n", file);
}

static void put_fish(FILE *file)
{
    const struct cpti_option *option;

    (void)fputs("# fish completion for cpt; made by cpt --completion fish\n", file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file, "complete -c cpt -f -n __fish_use_subcommand -a %s -d ",
                      cpti_commands[i]->name);
        put_quoted(file, cpti_commands[i]->summary, "\\");
        (void)fputc('\n', file);
        for (size_t j = 0; (option = cpti_command_option(cpti_commands[i], j)); j++) {
            (void)fprintf(file,
                          "complete -c cpt -n '__fish_seen_subcommand_from %s' -l %s",
                          cpti_commands[i]->name, option->name);
            if (option->letter != 0) {
                (void)fprintf(file, " -s %c", option->letter);
            }
            if (option->value != NULL) {
                (void)fputs(" -r", file);
            }
            if (option->words != NULL) {
                (void)fprintf(file, " -f -a '%s'", option->words);
            }
            (void)fputs(" -d ", file);
            put_quoted(file, option->help, "\\");
            (void)fputc('\n', file);
        }
    }
}

void cpti_completion(FILE *file, const char *shell)
{
    if (strcmp(shell, "bash") == 0) {
        put_bash(file);
    } else if (strcmp(shell, "zsh") == 0) {
        put_zsh(file);
    } else {
        put_fish(file);
    }
}
