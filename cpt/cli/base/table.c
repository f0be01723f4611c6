/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* table.c - rows of text under headings; see table.h */
#include "cpt/cli/base/table.h"

#include "cpt/cli/base/command.h"
#include "cpt/cli/base/output.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The gap between columns, and the least width of the last one. */
enum { GAP_COLUMNS = 2, LAST_COLUMNS_MIN = 16 };

struct cpti_table cpti_table_of(const char *const *headings, size_t count)
{
    struct cpti_table table = {.column_count = count};

    assert(count >= 1 && count <= CPTI_TABLE_COLUMNS_MAX);
    for (size_t i = 0; i < count; i++) {
        table.headings[i] = headings[i];
        table.widths[i] = cpti_text_columns(headings[i]);
    }
    return table;
}

void cpti_table_cell(struct cpti_table *table, const char *format, ...)
{
    char text[CPTI_TEXT_BYTES * 2];
    const size_t column = table->cell_count % table->column_count;
    va_list arguments;
    size_t columns;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (cpt_alloc_grow(cpt_alloc_default(), (void **)&table->cells,
                       &table->cell_capacity, table->cell_count + 1, SIZE_MAX / 64,
                       sizeof *table->cells) != CPT_OK ||
        (table->cells[table->cell_count] = strdup(text)) == NULL) {
        table->is_broken = true;
        return;
    }
    table->cell_count++;
    columns = cpti_text_columns(text);
    if (columns > table->widths[column]) {
        table->widths[column] = columns;
    }
}

/* The width of the last column; 0: no limit. */
static size_t last_columns(const struct cpti_table *table)
{
    const size_t all = cpti_columns();
    size_t used = 0;

    for (size_t i = 0; i + 1 < table->column_count; i++) {
        used += table->widths[i] + GAP_COLUMNS;
    }
    if (all == 0) {
        return 0;
    }
    return all > used + LAST_COLUMNS_MIN ? all - used : LAST_COLUMNS_MIN;
}

/* Prints the last cell of a row, cut to @last columns; 0: not cut. */
static void print_last(const struct cpti_table *table, const char *text, size_t last)
{
    const size_t columns = cpti_text_columns(text);

    if (last == 0 || columns <= last) {
        (void)printf("%s\n", text);
    } else if (table->cuts_front) {
        size_t cut = cpti_text_fit(text, columns - last + 1);

        while (cpti_text_columns(text + cut) > last - 1) {
            cut += cpti_text_fit(text + cut, 2); /* over a wide character */
        }
        (void)printf("\u2026%s\n", text + cut);
    } else {
        (void)printf("%.*s\u2026\n", (int)cpti_text_fit(text, last - 1), text);
    }
}

static void print_blanks(size_t count)
{
    while (count-- > 0) {
        (void)putc(' ', stdout);
    }
}

static void print_row(const struct cpti_table *table, const char *const *cells,
                      size_t last)
{
    for (size_t i = 0; i + 1 < table->column_count; i++) {
        const size_t columns = cpti_text_columns(cells[i]);

        print_blanks(table->widths[i] - columns);
        (void)fputs(cells[i], stdout);
        print_blanks(GAP_COLUMNS);
    }
    print_last(table, cells[table->column_count - 1], last);
}

/* Frees the table after printing. enum cpti_exit. */
static int end(struct cpti_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i]);
    }
    cpt_alloc_free(cpt_alloc_default(), table->cells);
    return table->is_broken ? cpti_failed("out of memory") : CPTI_EXIT_DONE;
}

int cpti_table_print(struct cpti_table *table)
{
    const size_t last = last_columns(table);
    const bool is_coloured = cpti_is_coloured();

    if (table->is_broken) {
        return end(table);
    }
    (void)fputs(is_coloured ? "\033[1m" : "", stdout);
    print_row(table, table->headings, last);
    (void)fputs(is_coloured ? "\033[0m" : "", stdout);
    for (size_t i = 0; i + table->column_count <= table->cell_count;
         i += table->column_count) {
        print_row(table, (const char *const *)(table->cells + i), last);
    }
    return end(table);
}

static void print_escaped(const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("\\`*_{}[]<>|~", *text) != NULL) {
            (void)fputc('\\', stdout);
        }
        (void)fputc(*text, stdout);
    }
}

static void print_markdown_row(const struct cpti_table *table, const char *const *cells)
{
    for (size_t i = 0; i < table->column_count; i++) {
        (void)printf("| ");
        print_escaped(cells[i]);
        (void)printf(" ");
    }
    (void)printf("|\n");
}

int cpti_table_print_markdown(struct cpti_table *table)
{
    if (table->is_broken) {
        return end(table);
    }
    print_markdown_row(table, table->headings);
    for (size_t i = 0; i < table->column_count; i++) {
        (void)printf("| %s ", i + 1 < table->column_count ? "---:" : ":---");
    }
    (void)printf("|\n");
    for (size_t i = 0; i + table->column_count <= table->cell_count;
         i += table->column_count) {
        print_markdown_row(table, (const char *const *)(table->cells + i));
    }
    return end(table);
}
