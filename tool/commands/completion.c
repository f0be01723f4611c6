/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * completion.c - completions for three shells, made from the command tables
 *
 * They are the same in each shell: the first word is a command, a file or "help", which
 * takes a group, a command or "questions"; a word that begins with a hyphen is one of
 * the command's options; the value of an option with a list of words is one of them;
 * the value of --where or --mix is a term or key of the logs on the command line, which
 * the tool itself lists (--complete); that of a term of cpt whatif is one of the graphs
 * there; any other word is a file. Texts stand in single quotes; put_text() replaces
 * each quote in them.
 *
 * Terms have blanks, colons and quotes. zsh and fish quote what they insert; bash does
 * not, and cuts the line at colons, so there the line is read again as a shell would,
 * and what is offered gets the quotes that are open.
 */
#include "tool/commands/help.h"
#include "tool/whatif/whatif_complete.h"

#include <string.h>

/* Prints @text up to its first semicolon or colon, for single quotes in each shell. A
 * byte in @special gets a backslash. */
static void put_text(FILE *file, const char *text, const char *special)
{
    const size_t bytes = strcspn(text, ";:");

    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\'') {
            (void)fputs("\u2019", file);
            continue;
        }
        if (strchr(special, text[i]) != NULL) {
            (void)fputc('\\', file);
        }
        (void)fputc(text[i], file);
    }
}

/* What the tool lists for the value of @option: "terms", "keys", or NULL: nothing. */
static const char *listed(const struct cpti_option *option)
{
    static const char *const terms[] = {"where", "base", "new", "when"};
    static const char *const keys[] = {"mix", "label-by", "cluster", "group-by",
                                       "by",  "equal",    "size",    "key"};

    if (option->words != NULL) {
        return NULL; /* the words are all there are */
    }
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        if (strcmp(option->name, terms[i]) == 0 && option->value != NULL) {
            return "terms";
        }
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(option->name, keys[i]) == 0 && option->value != NULL &&
            strcmp(option->value, "FILE") != 0) {
            return "keys";
        }
    }
    return NULL;
}

/* The verb of the terms that @option takes; NULL: it takes none. */
static const char *verb_of(const struct cpti_option *option)
{
    return option->value != NULL && strncmp(option->value, "NAME", 4) == 0 &&
                   cpti_whatif_completes(option->name)
               ? option->name
               : NULL;
}

static void put_bash_words(FILE *file, const struct cpti_option *option,
                           const char *command)
{
    if (listed(option) != NULL) {
        (void)fprintf(file, "        %s:--%s) list=%s ;;\n", command, option->name,
                      listed(option));
    }
    if (option->words != NULL) {
        (void)fprintf(file, "        %s:--%s) options='%s' ;;\n", command, option->name,
                      option->words);
    }
}

/* What `cpt help` takes, each with @end. A group may have the name of a command. */
static void put_topics(FILE *file, const char *end)
{
    for (unsigned group = 0; group < CPTI_GROUP_COUNT; group++) {
        (void)fprintf(file, "%s%s", cpti_groups[group].name, end);
    }
    (void)fprintf(file, "questions%s", end);
    for (size_t i = 0; i < cpti_command_count; i++) {
        bool is_group = false;

        for (unsigned group = 0; group < CPTI_GROUP_COUNT; group++) {
            is_group = is_group ||
                       strcmp(cpti_groups[group].name, cpti_commands[i]->name) == 0;
        }
        (void)fprintf(file, "%s%s", is_group ? "" : cpti_commands[i]->name,
                      is_group ? "" : end);
    }
}

static const char help_summary[] = "which command answers a question";

static void put_bash_options(FILE *file)
{
    const struct cpti_option *option;

    for (size_t i = 0; i < cpti_command_count; i++) {
        for (size_t j = 0; (option = cpti_command_option(cpti_commands[i], j)); j++) {
            put_bash_words(file, option, cpti_commands[i]->name);
        }
    }
    (void)fputs("        :*) options='", file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file, "%s ", cpti_commands[i]->name);
    }
    (void)fputs("help --help --version --completion --man' ;;\n"
                "        help:*) options='",
                file);
    put_topics(file, " ");
    (void)fputs("' ;;\n", file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file,
                      "        %s:*) [ \"${current#-}\" = \"$current\" ] || options='",
                      cpti_commands[i]->name);
        for (size_t j = 0; (option = cpti_command_option(cpti_commands[i], j)); j++) {
            (void)fprintf(file, "%s--%s", j == 0 ? "" : " ", option->name);
        }
        (void)fputs("' ;;\n", file);
    }
}

/* Reads the line up to the cursor as bash does: words[], the last one as typed, the
 * word before it, the quote that is open, and how much of the typed word bash does not
 * replace: up to an open quote, or a byte that divides words for it. */
static void put_bash_line(FILE *file)
{
    (void)fputs(
        "_cpt_line() {\n"
        "    local line=${COMP_LINE:0:${COMP_POINT:-0}} i c is_word=\n"
        "    [ ${#line} -lt 4096 ] || return 1\n"
        "    for ((i = 0; i < ${#line}; i++)); do\n"
        "        c=${line:i:1}\n"
        "        if [ \"$quote\" = \"'\" ] && [ \"$c\" != \"'\" ]; then\n"
        "            typed+=$c\n"
        "        elif [ -n \"$quote\" ] && [ \"$c\" = \"$quote\" ]; then\n"
        "            quote=\n"
        "        elif [ \"$c\" = '\\' ]; then\n"
        "            ((++i))\n"
        "            typed+=${line:i:1} is_word=1\n"
        "        elif [ -n \"$quote\" ]; then\n"
        "            typed+=$c\n"
        "        elif [ \"$c\" = \"'\" ] || [ \"$c\" = '\"' ]; then\n"
        "            quote=$c kept=${#typed} is_word=1\n"
        "        elif [ \"$c\" = ' ' ]; then\n"
        "            [ -z \"$typed$is_word\" ] || words+=(\"$typed\")\n"
        "            typed= is_word= kept=0\n"
        "        else\n"
        "            typed+=$c\n"
        "            [ \"${COMP_WORDBREAKS/\"$c\"}\" = \"$COMP_WORDBREAKS\" ] ||"
        " kept=${#typed}\n"
        "        fi\n"
        "    done\n"
        "    [ ${#words[@]} -gt 1 ] || return 1\n"
        "    before=${words[${#words[@]}-1]}\n"
        "    if [ \"${typed#--*=}\" != \"$typed\" ]; then # --option=value\n"
        "        before=${typed%%=*} typed=${typed#*=}\n"
        "        ((kept -= ${#before} + 1))\n"
        "    fi\n"
        "    [ \"$kept\" -ge 0 ]\n"
        "}\n",
        file);
}

/* Offers the terms of a verb. */
static void put_bash_terms(FILE *file)
{
    const struct cpti_option *option;

    put_bash_line(file);
    (void)fputs(
        "_cpt_terms() {\n"
        "    local typed= before= quote= kept=0 verb= term i words=()\n"
        "    if [ -n \"$COMP_LINE\" ]; then\n"
        "        _cpt_line || return 1\n"
        "    else # called by a program: the words are whole\n"
        "        words=(\"${COMP_WORDS[@]:0:COMP_CWORD}\")\n"
        "        typed=${COMP_WORDS[COMP_CWORD]} before=${words[COMP_CWORD-1]}\n"
        "        case $typed in [\\'\\\"]*) quote=${typed:0:1} "
        "typed=${typed:1} ;; esac\n"
        "    fi\n"
        "    case ${words[1]}:$before in\n",
        file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        for (size_t j = 0; (option = cpti_command_option(cpti_commands[i], j)); j++) {
            if (verb_of(option) != NULL) {
                (void)fprintf(file, "        %s:--%s) verb=%s ;;\n",
                              cpti_commands[i]->name, option->name, verb_of(option));
            }
        }
    }
    (void)fputs(
        "        *) return 1 ;;\n"
        "    esac\n"
        "    words=(\"${words[@]/#\\~\\//$HOME/}\")\n"
        "    COMPREPLY=()\n"
        "    while IFS= read -r term; do\n"
        "        case $term in *[=\\ ]) compopt -o nospace 2>/dev/null ;; esac\n"
        "        term=${term:kept}\n"
        "        case $quote in\n"
        "            \"'\") case $term in *\"'\"*) continue ;; esac ;;\n"
        "            '\"') case $term in *['!\"$`\\']*) continue ;; esac ;;\n"
        "            *) printf -v term %q \"$term\" ;;\n"
        "        esac\n"
        "        COMPREPLY+=(\"$term\")\n"
        "    done < <(\"${COMP_WORDS[0]}\" --complete $verb \"$typed\" "
        "\"${words[@]}\" 2>/dev/null)\n"
        "}\n",
        file);
}

static void put_bash(FILE *file)
{
    (void)fputs("# bash completion for cpt; made by cpt --completion bash\n", file);
    put_bash_terms(file);
    (void)fputs(
        "_cpt() {\n"
        "    _cpt_terms && return\n"
        "    local current=${COMP_WORDS[COMP_CWORD]}\n"
        "    local previous=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    local command=${COMP_WORDS[1]} options= list= key= at=$COMP_CWORD\n"
        "    [ \"$COMP_CWORD\" -eq 1 ] && command=\n"
        "    # bash takes KEY=VALUE for three words\n"
        "    if [ \"$current\" = = ] && [ \"$at\" -gt 3 ]; then\n"
        "        key=$previous= previous=${COMP_WORDS[at-2]} current=\n"
        "    elif [ \"$previous\" = = ] && [ \"$at\" -gt 4 ]; then\n"
        "        key=${COMP_WORDS[at-2]}= previous=${COMP_WORDS[at-3]}\n"
        "    fi\n"
        "    case $command:$previous in\n"
        "        --completion:--completion) options='bash zsh fish' ;;\n",
        file);
    put_bash_options(file);
    (void)fputs(
        "    esac\n"
        "    if [ -n \"$list\" ]; then\n"
        "        mapfile -t COMPREPLY < <(\"${COMP_WORDS[0]}\" --complete \"$list\" "
        "\\\n"
        "            \"$key$current\" \"${COMP_WORDS[@]}\" 2>/dev/null)\n"
        "        COMPREPLY=(\"${COMPREPLY[@]#\"$key\"}\")\n"
        "        [ \"$list$key\" != terms ] || compopt -o nospace 2>/dev/null\n"
        "    elif [ -n \"$options\" ]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
        "    fi\n"
        "    if [ -z \"$list$options\" ] || [ -z \"$command${COMPREPLY[*]}\" ]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
        "        compopt -o filenames 2>/dev/null\n"
        "    fi\n"
        "}\n"
        "complete -F _cpt cpt\n",
        file);
}

/* Prints words for _arguments, for which a colon ends them unless it is quoted. */
static void put_zsh_words(FILE *file, const char *words)
{
    (void)fputs(":value:(", file);
    for (; *words != '\0'; words++) {
        (void)fprintf(file, "%s%c", *words == ':' ? "\\" : "", *words);
    }
    (void)fputc(')', file);
}

/* One option, as a specification for _arguments. */
static void put_zsh_option(FILE *file, const struct cpti_option *option)
{
    (void)fprintf(file, " \\\n                '*--%s[", option->name);
    put_text(file, option->help, "[]:\\");
    (void)fputc(']', file);
    if (option->value != NULL && option->words != NULL) {
        put_zsh_words(file, option->words);
    } else if (listed(option) != NULL) {
        (void)fprintf(file, ":value:_cpt_%s", listed(option));
    } else if (verb_of(option) != NULL) {
        (void)fprintf(file, ":value:_cpt_verb %s", verb_of(option));
    } else if (option->value != NULL) {
        (void)fputs(":value:_files", file);
    }
    (void)fputc('\'', file);
}

/* What the tool lists; after a key its '=' is typed, too. */
static void put_zsh_lists(FILE *file)
{
    for (int i = 0; i < 2; i++) {
        const char *list = i == 0 ? "terms" : "keys";

        (void)fprintf(file,
                      "_cpt_%s() {\n"
                      "    local -a found\n"
                      "    found=(${(f)\"$(cpt --complete %s \"$PREFIX\" "
                      "${(Q)words} 2>/dev/null)\"})\n"
                      "    compadd %s-- $found\n"
                      "}\n",
                      list, list, i == 0 ? "-S '' " : "");
    }
    /* a term that ends with a mark goes on; zsh passes options for compadd first */
    (void)fputs("_cpt_verb() {\n"
                "    local -a found\n"
                "    found=(${(f)\"$(cpt --complete $argv[-1] \"${(Q)PREFIX}\" "
                "${(Q)words} 2>/dev/null)\"})\n"
                "    compadd -S '' -- ${(M)found:#*[=\\ ]}\n"
                "    compadd -- ${found:#*[=\\ ]}\n"
                "}\n",
                file);
}

static void put_zsh_commands(FILE *file)
{
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file, "        '%s:", cpti_commands[i]->name);
        put_text(file, cpti_commands[i]->summary, ":\\");
        (void)fputs("'\n", file);
    }
    (void)fprintf(file, "        'help:%s'\n", help_summary);
}

static void put_zsh(FILE *file)
{
    const struct cpti_option *option;

    (void)fputs(
        "#compdef cpt\n# zsh completion for cpt; made by cpt --completion zsh\n", file);
    put_zsh_lists(file);
    (void)fputs("_cpt() {\n"
                "    local -a commands\n"
                "    commands=(\n",
                file);
    put_zsh_commands(file);
    (void)fputs("    )\n"
                "    if (( CURRENT == 2 )); then\n"
                "        _describe command commands || _files\n"
                "        return\n"
                "    fi\n"
                "    shift words\n"
                "    (( CURRENT-- ))\n"
                "    case $words[1] in\n",
                file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file, "        %s)\n            _arguments",
                      cpti_commands[i]->name);
        for (size_t j = 0; (option = cpti_command_option(cpti_commands[i], j)); j++) {
            put_zsh_option(file, option);
        }
        (void)fputs(" \\\n                '*:file:_files'\n            ;;\n", file);
    }
    (void)fputs("        help)\n            compadd ", file);
    put_topics(file, " ");
    (void)fputs("\n            ;;\n    esac\n}\n_cpt \"$@\"\n", file);
}

static void put_fish_option(FILE *file, const char *command,
                            const struct cpti_option *option)
{
    (void)fprintf(file, "complete -c cpt -n '__fish_seen_subcommand_from %s' -l %s",
                  command, option->name);
    if (option->letter != 0) {
        (void)fprintf(file, " -s %c", option->letter);
    }
    if (option->value != NULL) {
        (void)fputs(" -r", file);
    }
    if (option->words != NULL) {
        (void)fprintf(file, " -f -a '%s'", option->words);
    }
    if (listed(option) != NULL) {
        (void)fprintf(file,
                      " -f -a '(cpt --complete %s (commandline -ct) (commandline -o) "
                      "2>/dev/null)'",
                      listed(option));
    }
    if (verb_of(option) != NULL) {
        (void)fprintf(file,
                      " -f -a '(cpt --complete %s (__cpt_typed) (commandline -o) "
                      "2>/dev/null)'",
                      verb_of(option));
    }
    (void)fputs(" -d '", file);
    put_text(file, option->help, "\\");
    (void)fputs("'\n", file);
}

static void put_fish(FILE *file)
{
    const struct cpti_option *option;

    (void)fputs("# fish completion for cpt; made by cpt --completion fish\n"
                "function __cpt_typed\n"
                "    set -l typed (string replace -r '^--[a-z]+=' '' -- "
                "(commandline -ct))\n"
                "    string replace -r '^[\\'\"]' '' -- \"$typed\" | string unescape\n"
                "end\n",
                file);
    (void)fprintf(file, "complete -c cpt -f -n __fish_use_subcommand -a help -d '%s'\n",
                  help_summary);
    (void)fputs("complete -c cpt -F -n '__fish_use_subcommand; and string match -qr "
                "\"[./]\" -- (commandline -ct)'\n"
                "complete -c cpt -f -n '__fish_seen_subcommand_from help' -a '",
                file);
    put_topics(file, " ");
    (void)fputs("'\n", file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file, "complete -c cpt -f -n __fish_use_subcommand -a %s -d '",
                      cpti_commands[i]->name);
        put_text(file, cpti_commands[i]->summary, "\\");
        (void)fputs("'\n", file);
        for (size_t j = 0; (option = cpti_command_option(cpti_commands[i], j)); j++) {
            put_fish_option(file, cpti_commands[i]->name, option);
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
