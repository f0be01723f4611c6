/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* table.c - rows of text under headings; see table.h */
#include "cpt/cli/base/table.h"

#include "cpt/cli/base/command.h"
#include "cpt/cli/base/names.h"
#include "cpt/cli/base/output.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The gap between columns, less if the last one would be narrow; and the least width of
 * that. */
enum { GAP_COLUMNS = 2, LAST_COLUMNS_NARROW = 16, LAST_COLUMNS_MIN = 8 };

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

void cpti_table_short(struct cpti_table *table, const char *format, ...)
{
    const size_t row = table->cell_count / table->column_count - 1;
    const size_t before = table->short_capacity;
    char text[CPTI_TEXT_BYTES * 2];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (table->cell_count < table->column_count ||
        cpt_alloc_grow(cpt_alloc_default(), (void **)&table->shorts,
                       &table->short_capacity, row + 1, SIZE_MAX / 64,
                       sizeof *table->shorts) != CPT_OK) {
        return; /* the cell itself is cut */
    }
    for (size_t i = before; i < table->short_capacity; i++) {
        table->shorts[i] = NULL;
    }
    free(table->shorts[row]);
    table->shorts[row] = strdup(text);
}

/* The width of the last column, 0: no limit, and the gap between columns. */
static size_t last_columns(const struct cpti_table *table, size_t *gap)
{
    const size_t all = cpti_columns();
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
    if (shorter == NULL && table->cuts_front) {
        cpti_stack_short(text, stack, sizeof stack);
        shorter = stack;
    }
    cpti_text_shorten(shorter != NULL ? shorter : text, last,
                      table->cuts_front ? STACK_END_SHARE : END_SHARE, "\u2026", cut,
                      sizeof cut);
    (void)printf("%s\n", cut);
}

static void print_blanks(size_t count)
{
    while (count-- > 0) {
        (void)putc(' ', stdout);
    }
}

static void print_row(const struct cpti_table *table, const char *const *cells,
                      const char *shorter, size_t last, size_t gap)
{
    for (size_t i = 0; i + 1 < table->column_count; i++) {
        const size_t columns = cpti_text_columns(cells[i]);

        print_blanks(table->widths[i] - columns);
        (void)fputs(cells[i], stdout);
        print_blanks(gap);
    }
    print_last(table, cells[table->column_count - 1], shorter, last);
}

/* Frees the table after printing. enum cpti_exit. */
static int end(struct cpti_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i]);
    }
    for (size_t i = 0; i < table->short_capacity; i++) {
        free(table->shorts[i]);
    }
    cpt_alloc_free(cpt_alloc_default(), table->cells);
    cpt_alloc_free(cpt_alloc_default(), table->shorts);
    return table->is_broken ? cpti_failed("out of memory") : CPTI_EXIT_DONE;
}

int cpti_table_print(struct cpti_table *table)
{
    size_t gap;
    const size_t last = last_columns(table, &gap);
    const bool is_coloured = cpti_is_coloured();

    if (table->is_broken) {
        return end(table);
    }
    (void)fputs(is_coloured ? "\033[1m" : "", stdout);
    print_row(table, table->headings, table->headings[table->column_count - 1], last,
              gap);
    (void)fputs(is_coloured ? "\033[0m" : "", stdout);
    for (size_t i = 0; i + table->column_count <= table->cell_count;
         i += table->column_count) {
        const size_t row = i / table->column_count;

        print_row(table, (const char *const *)(table->cells + i),
                  row < table->short_capacity ? table->shorts[row] : NULL, last, gap);
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
