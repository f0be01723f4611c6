/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * man.c - the man pages, made from the same tables as the help
 *
 * They use plain man(7) macros, which every troff and mandoc reads. In text a backslash
 * becomes \e and a hyphen \-, so that it can be copied. A dot or an apostrophe that
 * begins a line is escaped, too.
 */
#include "tool/commands/help.h"

#include "tool/base/output.h"
#include "tool/table/relation.h"

#include <stdbool.h>
#include <string.h>

static void put_text(FILE *file, const char *text)
{
    bool is_line_start = true;

    for (; *text != '\0'; text++) {
        if (is_line_start && (*text == '.' || *text == '\'')) {
            (void)fputs("\\&", file);
        }
        if (*text == '\\') {
            (void)fputs("\\e", file);
        } else if (*text == '-') {
            (void)fputs("\\-", file);
        } else {
            (void)fputc(*text, file);
        }
        is_line_start = *text == '\n';
    }
}

/* Paragraphs, separated by an empty line. A line that begins with a space is not
 * filled. */
static void put_paragraphs(FILE *file, const char *text)
{
    bool is_literal = false;

    while (*text != '\0') {
        const size_t bytes = strcspn(text, "\n");
        char line[2048];

        (void)snprintf(line, sizeof line, "%.*s", (int)bytes, text);
        if ((line[0] == ' ') != is_literal) {
            is_literal = !is_literal;
            (void)fputs(is_literal ? ".PP\n.nf\n" : ".fi\n", file);
        }
        if (bytes == 0) {
            (void)fputs(".PP\n", file);
        } else {
            put_text(file, line);
            (void)fputc('\n', file);
        }
        text += bytes;
        text += *text == '\n';
    }
    (void)fputs(is_literal ? ".fi\n" : "", file);
}

static void put_option(FILE *file, const struct cpti_option *option)
{
    (void)fputs(".TP\n", file);
    if (option->letter != 0) {
        (void)fprintf(file, "\\fB\\-%c\\fR, ", option->letter);
    }
    (void)fputs("\\fB\\-\\-", file);
    put_text(file, option->name);
    (void)fputs("\\fR", file);
    if (option->value != NULL) {
        (void)fputs(" \\fI", file);
        put_text(file, option->value);
        (void)fputs("\\fR", file);
    }
    (void)fputc('\n', file);
    put_text(file, option->help);
    (void)fputs(".\n", file);
}

static void put_example(FILE *file, const char *line, const char *what)
{
    char text[1024];

    (void)fputs(".PP\n", file);
    put_text(file, what);
    (void)fputs(":\n.PP\n.nf\n.RS\n", file);
    cpti_line_break(line, CPTI_MAN_EXAMPLE_COLUMNS, " \\\n    ", text, sizeof text);
    put_text(file, text);
    (void)fputs("\n.RE\n.fi\n", file);
}

static void put_title(FILE *file, const char *page, const char *summary)
{
    (void)fputs(".TH \"", file);
    for (const char *at = page; *at != '\0'; at++) {
        if (*at == '-') {
            (void)fputc('\\', file);
        }
        (void)fputc(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, file);
    }
    (void)fputs("\" \"1\" \"\" \"cpt " CPTI_VERSION
                "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n",
                file);
    put_text(file, page);
    (void)fputs(" \\- ", file);
    put_text(file, summary);
    (void)fputc('\n', file);
}

static void put_ending(FILE *file)
{
    (void)fputs(".SH EXIT STATUS\n", file);
    put_paragraphs(file, cpti_exit_text);
    (void)fputs(".SH ENVIRONMENT\n", file);
    put_paragraphs(file, cpti_environment_text);
    (void)fputs(".SH SEE ALSO\n.BR cpt (1)", file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        (void)fprintf(file, ",\n.BR cpt\\-%s (1)", cpti_commands[i]->name);
    }
    (void)fputs(",\n.BR cpt\\-log (5),\n.BR cpt\\-select (7),\n.BR cpt (7)\n", file);
}

static void put_group(FILE *file, enum cpti_group group)
{
    (void)fprintf(file, ".SS %s: ", cpti_groups[group].name);
    put_text(file, cpti_groups[group].question);
    (void)fputc('\n', file);
    for (size_t i = 0; i < cpti_command_count; i++) {
        const struct cpti_command *command = cpti_commands[i];

        if (command->group == group) {
            (void)fprintf(file, ".TP\n.BR cpt\\-%s (1)\n", command->name);
            put_text(file, command->summary);
            (void)fputs(".\n\\(lq", file);
            put_text(file, command->question);
            (void)fputs("\\(rq It needs ", file);
            put_text(file, command->needs);
            (void)fputs(".\n", file);
        }
    }
}

static void put_tool(FILE *file)
{
    put_title(file, "cpt",
              "distributed latency profiling through critical path tracing");
    (void)fputs(".SH SYNOPSIS\n\\fBcpt\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... "
                "[\\fIFILE\\fR]...\n.br\n"
                "\\fBcpt\\fR \\fIFILE\\fR [\\fB\\-\\-json\\fR]\n.br\n"
                "\\fBcpt help\\fR [\\fIGROUP\\fR|\\fICOMMAND\\fR|\\fBquestions\\fR]\n"
                ".SH DESCRIPTION\n",
                file);
    put_paragraphs(file, cpti_about);
    (void)fputs(
        ".SH COMMANDS\nEach command has its own man page. They stand in groups, "
        "by the question of those who look for one.\n",
        file);
    for (unsigned group = 0; group < CPTI_GROUP_COUNT; group++) {
        put_group(file, group);
    }
    (void)fputs(".SH WHAT IS THIS FILE?\n", file);
    put_paragraphs(file, cpti_help_description(&cpti_command_file));
    (void)fputs(".SH OPTIONS\n", file);
    for (const struct cpti_option *option = cpti_tool_options; option->name != NULL;
         option++) {
        put_option(file, option);
    }
    put_ending(file);
}

static void put_columns(FILE *file, const struct cpti_command *command)
{
    char text[1024];

    for (size_t i = 0; i < CPTI_RELATIONS_MAX && command->relations[i] != NULL; i++) {
        const struct cpti_relation *relation = command->relations[i];

        (void)fputs(i == 0 ? ".SH COLUMNS\n" : "", file);
        if (relation->when != NULL) {
            (void)fputs(".PP\nWith ", file);
            put_text(file, relation->when);
            (void)fputs(":\n", file);
        }
        for (size_t k = 0; cpti_column_text(relation, k, text, sizeof text); k++) {
            (void)fputs(k == 0 ? ".PP\n" : ".br\n", file);
            put_text(file, text);
            (void)fputc('\n', file);
        }
    }
}

static void put_command(FILE *file, const struct cpti_command *command)
{
    const struct cpti_option *option;
    char page[64];

    (void)snprintf(page, sizeof page, "cpt-%s", command->name);
    put_title(file, page, command->summary);
    (void)fputs(".SH SYNOPSIS\n", file);
    for (size_t i = 0; i < CPTI_USAGES_MAX && command->usages[i] != NULL; i++) {
        (void)fprintf(file, "%s\\fBcpt %s\\fR ", i == 0 ? "" : ".br\n", command->name);
        put_text(file, command->usages[i]);
        (void)fputc('\n', file);
    }
    (void)fputs(".SH DESCRIPTION\n", file);
    put_paragraphs(file, cpti_help_description(command));
    (void)fputs(".SH OPTIONS\n", file);
    for (size_t i = 0; (option = cpti_command_option(command, i)) != NULL; i++) {
        put_option(file, option);
    }
    put_columns(file, command);
    (void)fputs(".SH EXAMPLES\n", file);
    for (const struct cpti_example *example = command->examples; example->line != NULL;
         example++) {
        put_example(file, example->line, example->what);
    }
    put_ending(file);
}

void cpti_man(FILE *file, const struct cpti_command *command)
{
    if (command == NULL) {
        put_tool(file);
    } else {
        put_command(file, command);
    }
}
