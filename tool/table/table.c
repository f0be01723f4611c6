/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* table.c - rows of text under headings; see table.h */
#include "tool/table/table.h"

#include "tool/base/command.h"
#include "tool/base/names.h"
#include "tool/base/output.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The gap between columns, less if the last one would be narrow; and the least width of
 * that. */
enum { GAP_COLUMNS = 2, LAST_COLUMNS_NARROW = 16, LAST_COLUMNS_MIN = 8 };

struct cpti_table cpti_table_of(const char *const *headings, size_t count)
{
    struct cpti_table table = {.column_count = count, .columns = cpti_columns()};

    assert(count >= 1 && count <= CPTI_TABLE_COLUMNS_MAX);
    for (size_t i = 0; i < count; i++) {
        table.headings[i] = headings[i];
        table.widths[i] = cpti_text_columns(headings[i]);
    }
    return table;
}

/* Adds @text to the texts. They are one block: a table may have millions of cells. */
static void add_text(struct cpti_table *table, const char *text)
{
    const size_t bytes = strlen(text) + 1;

    if (table->is_broken ||
        cpt_alloc_grow(cpt_alloc_default(), (void **)&table->text,
                       &table->text_capacity, table->text_bytes + bytes, SIZE_MAX / 2,
                       1) != CPT_OK) {
        table->is_broken = true;
        return;
    }
    memcpy(table->text + table->text_bytes, text, bytes);
    table->text_bytes += bytes;
}

/* Gives the last row its short if it has none. */
static void end_row(struct cpti_table *table)
{
    if (table->cell_count != 0 && !table->has_short) {
        add_text(table, "");
    }
    table->has_short = false;
}

void cpti_table_cell(struct cpti_table *table, const char *format, ...)
{
    char text[CPTI_TEXT_BYTES * 2];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cpti_table_text(table, text);
}

void cpti_table_text(struct cpti_table *table, const char *text)
{
    const size_t column = table->cell_count % table->column_count;
    size_t columns;

    if (column == 0) {
        end_row(table);
    }
    add_text(table, text);
    table->cell_count++;
    columns = cpti_text_columns(text);
    if (columns > table->widths[column]) {
        table->widths[column] = columns;
    }
}

void cpti_table_short(struct cpti_table *table, const char *format, ...)
{
    char text[CPTI_TEXT_BYTES * 2];
    va_list arguments;

    assert(table->cell_count != 0 && table->cell_count % table->column_count == 0);
    if (table->columns == 0 || table->has_short) {
        return; /* nothing is cut */
    }
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_text(table, text);
    table->has_short = true;
}

/* The width of the last column, 0: no limit, and the gap between columns. */
static size_t last_columns(const struct cpti_table *table, size_t *gap)
{
    const size_t all = table->columns;
    size_t used = 0;

    *gap = GAP_COLUMNS;
    for (size_t i = 0; i + 1 < table->column_count; i++) {
        used += table->widths[i] + GAP_COLUMNS;
    }
    if (all == 0) {
        return 0;
    }
    if (all < used + LAST_COLUMNS_NARROW &&
        all < used + table->widths[table->column_count - 1]) {
        *gap = 1;
        used -= (table->column_count - 1) * (GAP_COLUMNS - 1);
    }
    return all > used + LAST_COLUMNS_MIN ? all - used : LAST_COLUMNS_MIN;
}

/* Prints the last cell of a row, cut to @last columns; 0: not cut. */
static void print_last(const struct cpti_table *table, const char *text,
                       const char *shorter, size_t last)
{
    enum { END_SHARE = 40, STACK_END_SHARE = 70 };
    char stack[2 * CPTI_TEXT_BYTES];
    char cut[2 * CPTI_TEXT_BYTES];

    if (last == 0 || cpti_text_columns(text) <= last) {
        (void)printf("%s\n", text);
        return;
    }
    if (shorter[0] == '\0' && table->cuts_front) {
        cpti_stack_short(text, stack, sizeof stack);
        shorter = stack;
    }
    cpti_text_shorten(shorter[0] != '\0' ? shorter : text, last,
                      table->cuts_front ? STACK_END_SHARE : END_SHARE, "\u2026", cut,
                      sizeof cut);
    (void)printf("%s\n", cut);
}

static void print_blanks(size_t count)
{
    static const char blanks[] = "                ";

    for (; count >= sizeof blanks; count -= sizeof blanks - 1) {
        (void)fputs(blanks, stdout);
    }
    (void)fputs(blanks + sizeof blanks - 1 - count, stdout);
}

static bool is_left(const struct cpti_table *table, size_t column)
{
    return table->has_sides ? table->is_text[column]
                            : column + 1 == table->column_count;
}

static void print_row(const struct cpti_table *table, const char *const *cells,
                      const char *shorter, size_t last, size_t gap)
{
    const size_t end = table->column_count - 1;

    for (size_t i = 0; i + 1 < table->column_count; i++) {
        const size_t blanks = table->widths[i] - cpti_text_columns(cells[i]);

        print_blanks(is_left(table, i) ? 0 : blanks);
        (void)fputs(cells[i], stdout);
        print_blanks(gap + (is_left(table, i) ? blanks : 0));
    }
    if (!is_left(table, end) && (last == 0 || table->widths[end] <= last)) {
        print_blanks(table->widths[end] - cpti_text_columns(cells[end]));
    }
    print_last(table, cells[end], shorter, last);
}

/* Finds the cells of the row at *@at, and the short of the last one, and moves *@at
 * behind them. false: there is no further row. */
static bool next_row(const struct cpti_table *table, size_t *at, const char **cells,
                     const char **shorter)
{
    for (size_t i = 0; i <= table->column_count; i++) {
        if (*at == table->text_bytes) {
            return false;
        }
        *(i < table->column_count ? &cells[i] : shorter) = table->text + *at;
        *at += strlen(table->text + *at) + 1;
    }
    return true;
}

/* Frees the table after printing. enum cpti_exit. */
static int end(struct cpti_table *table)
{
    cpt_alloc_free(cpt_alloc_default(), table->text);
    return table->is_broken ? cpti_failed("out of memory") : CPTI_EXIT_DONE;
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

static int print_markdown(struct cpti_table *table)
{
    const char *cells[CPTI_TABLE_COLUMNS_MAX];
    const char *shorter = NULL;
    size_t at = 0;

    print_markdown_row(table, table->headings);
    for (size_t i = 0; i < table->column_count; i++) {
        (void)printf("| %s ", is_left(table, i) ? ":---" : "---:");
    }
    (void)printf("|\n");
    while (next_row(table, &at, cells, &shorter)) {
        print_markdown_row(table, cells);
    }
    return end(table);
}

int cpti_table_print(struct cpti_table *table)
{
    size_t gap;
    const size_t last = last_columns(table, &gap);
    const bool is_coloured = cpti_is_coloured();
    const char *cells[CPTI_TABLE_COLUMNS_MAX] = {NULL};
    const char *shorter = NULL;
    size_t at = 0;

    end_row(table);
    if (table->is_broken) {
        return end(table);
    }
    if (table->is_markdown) {
        return print_markdown(table);
    }
    (void)fputs(is_coloured ? "\033[1m" : "", stdout);
    print_row(table, table->headings, table->headings[table->column_count - 1], last,
              gap);
    (void)fputs(is_coloured ? "\033[0m" : "", stdout);
    while (next_row(table, &at, cells, &shorter)) {
        print_row(table, cells, shorter, last, gap);
    }
    return end(table);
}
