/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* relation.c - rows in each format; see relation.h */
#include "tool/table/relation.h"

#include "tool/base/amounts.h"
#include "tool/base/names.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/table/capped.h"
#include "tool/table/table.h"
#include "cpt/base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct cpti_option cpti_view_options[] = {
    {"format", 0, "FORMAT", "text (the default), markdown, csv or json",
     "text markdown csv json"},
    {"columns", 0, "COLUMN,...", "these columns, in this order; see Columns", NULL},
    {"sort", 0, "COLUMN",
     "the largest numbers, or the first texts, of this column first", NULL},
    {0},
};

/* --- Options --- */

static const struct cpti_column *find_column(const struct cpti_relation *relation,
                                             const char *key, size_t bytes)
{
    for (const struct cpti_column *column = relation->columns; column->key != NULL;
         column++) {
        if (strncmp(column->key, key, bytes) == 0 && column->key[bytes] == '\0') {
            return column;
        }
    }
    return NULL;
}

const struct cpti_column *cpti_relation_column(const struct cpti_relation *relation,
                                               const char *key)
{
    return find_column(relation, key, strlen(key));
}

/* Whether it has a value, by which rows can be sorted if @is_sort. */
static bool is_possible(const struct cpti_column *column, bool is_sort)
{
    return column->get != NULL && !(is_sort && column->place == CPTI_IN_TABLES);
}

bool cpti_column_text(const struct cpti_relation *relation, size_t index, char *text,
                      size_t capacity)
{
    const struct cpti_column *column = &relation->columns[index];
    const bool is_named =
        column->heading != NULL && strcmp(column->key, column->heading) != 0;

    if (column->key == NULL) {
        return false;
    }
    (void)snprintf(text, capacity, "%s%s%s%s%s%s", column->key, is_named ? " (" : "",
                   is_named ? column->heading : "", is_named ? ")" : "",
                   column->note != NULL ? ": " : "",
                   column->note != NULL ? column->note : "");
    return true;
}

/* Says which columns there are, or by which a person can sort. */
static int refuse_column(const struct cpti_relation *relation, const char *key,
                         size_t bytes, bool is_sort)
{
    enum { KEY_BYTES = 64 };
    char name[KEY_BYTES];
    char keys[CPTI_COLUMNS_MAX * KEY_BYTES];
    size_t used = 0;

    (void)snprintf(name, sizeof name, "%.*s",
                   (int)(bytes < sizeof name ? bytes : sizeof name - 1), key);
    for (size_t i = 0; is_sort && relation->orders != NULL && relation->orders[i];
         i++) {
        used += (size_t)snprintf(keys + used, sizeof keys - used, "%s%s",
                                 used != 0 ? ", " : "", relation->orders[i]);
    }
    for (const struct cpti_column *column = relation->columns;
         column->key != NULL && used < sizeof keys; column++) {
        if (is_possible(column, is_sort)) {
            used += (size_t)snprintf(keys + used, sizeof keys - used, "%s%s",
                                     used != 0 ? ", " : "", column->key);
        }
    }
    return cpti_usage("no column '%s'; there are: %s", cpti_quoted(name), keys);
}

/* Takes the columns with @keys, separated by commas. */
static int choose(struct cpti_view *view, const char *keys)
{
    while (*keys != '\0') {
        const size_t bytes = strcspn(keys, ",");
        const struct cpti_column *column = find_column(view->relation, keys, bytes);

        if (column == NULL ||
            (column->get == NULL && view->format != CPTI_FORMAT_JSON)) {
            return refuse_column(view->relation, keys, bytes, false);
        }
        if (view->column_count == CPTI_TABLE_COLUMNS_MAX) {
            return cpti_usage("more than %d columns", CPTI_TABLE_COLUMNS_MAX);
        }
        view->columns[view->column_count++] = column;
        keys += bytes + (keys[bytes] == ',');
    }
    return view->column_count != 0 ? CPTI_EXIT_DONE
                                   : cpti_usage("--columns wants a column");
}

/* Those of tables, @shown or the relation's; for programs all that are not for people
 * alone. */
static void choose_own(struct cpti_view *view, const char *shown)
{
    if (cpti_view_is_for_people(view)) {
        (void)choose(view, shown != NULL ? shown : view->relation->shown);
        return;
    }
    for (const struct cpti_column *column = view->relation->columns;
         column->key != NULL; column++) {
        if (column->place != CPTI_IN_TABLES &&
            (view->format == CPTI_FORMAT_JSON ? column->place != CPTI_NOT_IN_JSON
                                              : column->get != NULL)) {
            view->columns[view->column_count++] = column;
        }
    }
}

/* Whether @sort is an order of the command's own. */
static bool is_order(const struct cpti_relation *relation, const char *sort)
{
    for (size_t i = 0; relation->orders != NULL && relation->orders[i] != NULL; i++) {
        if (strcmp(relation->orders[i], sort) == 0) {
            return true;
        }
    }
    return false;
}

static int read_format(const struct cpti_arguments *arguments, unsigned *format)
{
    static const char *const words[] = {"text", "markdown", "csv", "json"};
    const char *given = cpti_value(arguments, "format");

    *format = cpti_has(arguments, "json") ? CPTI_FORMAT_JSON : CPTI_FORMAT_TEXT;
    for (unsigned i = 0; given != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(given, words[i]) == 0) {
            *format = i;
            return i == CPTI_FORMAT_JSON || !cpti_has(arguments, "json")
                       ? CPTI_EXIT_DONE
                       : cpti_usage("--json does not go with '--format %s'", words[i]);
        }
    }
    return given == NULL ? CPTI_EXIT_DONE
                         : cpti_usage("--format is text, markdown, csv or json");
}

int cpti_view_read(const struct cpti_arguments *arguments,
                   const struct cpti_relation *relation, const char *shown,
                   struct cpti_view *view)
{
    const char *columns = cpti_value(arguments, "columns");
    const char *sort = cpti_value(arguments, "sort");
    int status = CPTI_EXIT_DONE;

    *view = (struct cpti_view){.relation = relation};
    status = read_format(arguments, &view->format);
    status = CPTI_THEN(status, cpti_capped_option(arguments, &view->bytes_max));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (sort != NULL && !is_order(relation, sort)) {
        view->sort = cpti_relation_column(relation, sort);
        if (view->sort == NULL || !is_possible(view->sort, true)) {
            return refuse_column(relation, sort, strlen(sort), true);
        }
    }
    if (columns != NULL) {
        view->is_chosen = true;
        return choose(view, columns);
    }
    choose_own(view, shown);
    return CPTI_EXIT_DONE;
}

int cpti_view_refuse(const struct cpti_arguments *arguments, const char *what)
{
    for (const struct cpti_option *option = cpti_view_options; option->name != NULL;
         option++) {
        if (cpti_has(arguments, option->name)) {
            return cpti_usage("option '--%s' does not go with '%s'", option->name,
                              what);
        }
    }
    return CPTI_EXIT_DONE;
}

struct cpti_view cpti_view_beside(const struct cpti_view *view,
                                  const struct cpti_relation *relation,
                                  const char *shown)
{
    struct cpti_view beside = {.relation = relation, .format = view->format};

    choose_own(&beside, shown);
    return beside;
}

void cpti_view_replace(struct cpti_view *view, const struct cpti_column *column)
{
    for (size_t i = 0; i < view->column_count; i++) {
        if (strcmp(view->columns[i]->key, column->key) == 0) {
            view->columns[i] = column;
        }
    }
}

bool cpti_view_is_for_people(const struct cpti_view *view)
{
    return view->format <= CPTI_FORMAT_MARKDOWN;
}

size_t cpti_view_rows(const struct cpti_view *view, size_t row_max, size_t people_max)
{
    return cpti_view_is_for_people(view) && row_max > people_max ? people_max : row_max;
}

/* --- Values --- */

struct cpti_cell cpti_cell_unknown(void)
{
    return (struct cpti_cell){0};
}

struct cpti_cell cpti_cell_none(void)
{
    return (struct cpti_cell){.is_none = true};
}

struct cpti_cell cpti_cell_bytes(struct cpt_bytes text)
{
    return (struct cpti_cell){.is_known = true, .text = text};
}

struct cpti_cell cpti_cell_text(const char *text)
{
    return cpti_cell_bytes(cpt_bytes_of(text));
}

struct cpti_cell cpti_cell_format(const struct cpti_asked *asked, const char *format,
                                  ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(asked->room, CPTI_VALUE_BYTES, format, arguments);
    va_end(arguments);
    return cpti_cell_text(asked->room);
}

void cpti_cell_shorten(const struct cpti_asked *asked, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(asked->shorter, CPTI_VALUE_BYTES, format, arguments);
    va_end(arguments);
}

struct cpti_cell cpti_cell_word(const char *word, unsigned number)
{
    return word != NULL ? cpti_cell_text(word) : cpti_cell_count(number);
}

struct cpti_cell cpti_cell_count(uint64_t count)
{
    return (struct cpti_cell){.is_known = true, .count = count};
}

struct cpti_cell cpti_cell_number(double number)
{
    return (struct cpti_cell){.is_known = true, .number = number};
}

struct cpti_cell cpti_cell_known(bool is_known, double number)
{
    return is_known ? cpti_cell_number(number) : cpti_cell_unknown();
}

/* The field that is asked for. */
static const void *field_of(const struct cpti_asked *asked)
{
    return (const char *)asked->row + asked->what;
}

struct cpti_cell cpti_field_number(const struct cpti_asked *asked)
{
    return cpti_cell_number(*(const double *)field_of(asked));
}

struct cpti_cell cpti_field_count(const struct cpti_asked *asked)
{
    return cpti_cell_count(*(const uint64_t *)field_of(asked));
}

struct cpti_cell cpti_field_count32(const struct cpti_asked *asked)
{
    return cpti_cell_count(*(const uint32_t *)field_of(asked));
}

struct cpti_cell cpti_field_truth(const struct cpti_asked *asked)
{
    return cpti_cell_count(*(const int *)field_of(asked) != 0);
}

struct cpti_cell cpti_field_flag(const struct cpti_asked *asked)
{
    return cpti_cell_count(*(const bool *)field_of(asked));
}

struct cpti_cell cpti_field_text(const struct cpti_asked *asked)
{
    const char *text = *(const char *const *)field_of(asked);

    return text != NULL ? cpti_cell_text(text) : cpti_cell_unknown();
}

struct cpti_cell cpti_field_bytes(const struct cpti_asked *asked)
{
    const struct cpt_bytes *text = field_of(asked);

    return text->bytes != 0 ? cpti_cell_bytes(*text) : cpti_cell_none();
}

/* Where texts of values are made. */
struct room {
    char text[CPTI_VALUE_BYTES];
    char shorter[CPTI_VALUE_BYTES];
};

static struct cpti_cell take(const struct cpti_column *column, const void *context,
                             const void *row, struct room *room)
{
    const struct cpti_asked asked = {context, row, column->what, room->text,
                                     room->shorter};

    room->shorter[0] = '\0';
    return column->get(&asked);
}

static const void *row_at(const struct cpti_rows *rows, size_t index)
{
    return rows->bytes != 0 ? (const char *)rows->items + index * rows->bytes
                            : ((const void *const *)rows->items)[index];
}

/* --- Order --- */

struct ordering {
    const struct cpti_column *column;
    const void *context;
    bool are_pointers;
};

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct ordering *ordering = context;
    struct room rooms[2];
    struct cpti_cell a;
    struct cpti_cell b;

    if (ordering->are_pointers) {
        left = *(const void *const *)left;
        right = *(const void *const *)right;
    }
    a = take(ordering->column, ordering->context, left, &rooms[0]);
    b = take(ordering->column, ordering->context, right, &rooms[1]);
    a.is_known = a.is_known && isfinite(a.number);
    b.is_known = b.is_known && isfinite(b.number);
    if (!a.is_known || !b.is_known) {
        return b.is_known - a.is_known;
    }
    switch (ordering->column->kind) {
    case CPTI_TEXT:
    case CPTI_STACK:
    case CPTI_NAME:
    case CPTI_WORD:
        return cpti_compare_bytes(a.text, b.text);
    case CPTI_COUNT:
    case CPTI_NS_WHOLE:
    case CPTI_FLAG:
        return (a.count < b.count) - (a.count > b.count);
    default:
        return (a.number < b.number) - (a.number > b.number);
    }
}

void cpti_relation_sort(const struct cpti_view *view, void *items, size_t count,
                        size_t bytes, const void *context)
{
    struct ordering ordering = {view->sort, context, bytes == 0};

    if (view->sort != NULL && count > 1) {
        qsort_r(items, count, bytes != 0 ? bytes : sizeof(void *), compare_rows,
                &ordering); /* glibc's is stable */
    }
}

/* --- Tables --- */

static const char *signed_ms(double ns, char *text)
{
    char digits[32];
    const char *shown = cpti_ms(ns, digits);
    const bool is_more = ns > 0 && strcmp(shown, "0.000") != 0; /* 0 has no sign */

    (void)snprintf(text, sizeof digits, "%s%s", is_more ? "+" : "", shown);
    return text;
}

static const char *cell_of(const struct cpti_column *column,
                           const struct cpti_cell *value, char text[CPTI_VALUE_BYTES])
{
    if (!value->is_known) {
        return "-";
    }
    switch (column->kind) {
    case CPTI_TEXT:
    case CPTI_STACK:
        (void)snprintf(text, CPTI_VALUE_BYTES, "%.*s", (int)value->text.bytes,
                       value->text.data);
        return text;
    case CPTI_NAME:
        return cpti_quoted_bytes(value->text);
    case CPTI_WORD:
    case CPTI_COUNT:
        if (value->text.data != NULL) {
            return value->text.data;
        }
        (void)snprintf(text, CPTI_VALUE_BYTES, "%" PRIu64, value->count);
        return text;
    case CPTI_NS:
    case CPTI_NS_RARE:
        return isfinite(value->number) ? cpti_ms(value->number, text) : "-";
    case CPTI_NS_CHANGE:
        return isfinite(value->number) ? signed_ms(value->number, text) : "-";
    case CPTI_NS_WHOLE:
        return cpti_ms((double)value->count, text);
    case CPTI_SHARE:
        (void)snprintf(text, CPTI_VALUE_BYTES, "%.1f%%", 100 * value->number);
        return text;
    case CPTI_PART:
        (void)snprintf(text, CPTI_VALUE_BYTES, "%.3f", value->number);
        return text;
    case CPTI_P:
        (void)snprintf(text, CPTI_VALUE_BYTES,
                       value->number < 0.001 ? "<0.001" : "%.3f", value->number);
        return text;
    case CPTI_WHOLE:
        (void)snprintf(text, CPTI_VALUE_BYTES, "%.0f", value->number);
        return text;
    case CPTI_FACTOR:
        (void)snprintf(text, CPTI_VALUE_BYTES, "%.2f", value->number);
        return text;
    case CPTI_FLAG:
        return value->count != 0 ? "yes" : "no";
    default:
        (void)snprintf(text, CPTI_VALUE_BYTES, "%.6g", value->number);
        return text;
    }
}

/* Whether @key is among @keys, separated by commas. */
static bool is_among(const char *key, const char *keys)
{
    const size_t bytes = strlen(key);

    while (strncmp(keys, key, bytes) != 0 ||
           (keys[bytes] != ',' && keys[bytes] != '\0')) {
        const char *comma = strchr(keys, ',');

        if (comma == NULL) {
            return false;
        }
        keys = comma + 1;
    }
    return true;
}

/* Adds @row, of which only @keys are known, if that is not NULL. */
static void add_row(struct cpti_table *table, const struct cpti_view *view,
                    const void *context, const void *row, const char *keys)
{
    char text[CPTI_VALUE_BYTES];
    struct room room;

    room.shorter[0] = '\0';
    for (size_t i = 0; i < view->column_count; i++) {
        struct cpti_cell value = {0};

        if (keys == NULL || is_among(view->columns[i]->key, keys)) {
            value = take(view->columns[i], context, row, &room);
        }
        cpti_table_text(table, cell_of(view->columns[i], &value, text));
    }
    if (room.shorter[0] != '\0') {
        cpti_table_short(table, "%s", room.shorter);
    }
}

static int print_table(const struct cpti_view *view, const struct cpti_rows *rows,
                       size_t count)
{
    const char *headings[CPTI_TABLE_COLUMNS_MAX];
    struct cpti_table table;

    for (size_t i = 0; i < view->column_count; i++) {
        headings[i] = view->columns[i]->heading;
    }
    table = cpti_table_of(headings, view->column_count);
    table.cuts_front = view->columns[view->column_count - 1]->kind == CPTI_STACK;
    table.is_markdown = view->format == CPTI_FORMAT_MARKDOWN;
    table.has_sides = view->is_chosen;
    for (size_t i = 0; i < view->column_count; i++) {
        table.is_text[i] = view->columns[i]->kind <= CPTI_WORD;
    }
    for (size_t i = 0; i < count; i++) {
        add_row(&table, view, rows->context, row_at(rows, i), NULL);
    }
    if (rows->rest != NULL) {
        add_row(&table, view, rows->context, rows->rest, rows->rest_keys);
    }
    return cpti_table_print(&table);
}

/* --- JSON --- */

static void put(struct cpti_json *json, const char *key,
                const struct cpti_column *column, const struct cpti_cell *value)
{
    if (!value->is_known) {
        if (!value->is_none) {
            cpti_json_null(json, key);
        }
        return;
    }
    switch (column->kind) {
    case CPTI_TEXT:
    case CPTI_STACK:
    case CPTI_NAME:
        cpti_json_bytes(json, key, value->text);
        return;
    case CPTI_WORD:
        cpti_json_word(json, key, value->text.data, (unsigned)value->count);
        return;
    case CPTI_COUNT:
    case CPTI_NS_WHOLE:
        cpti_json_unsigned(json, key, value->count);
        return;
    case CPTI_NS:
    case CPTI_NS_CHANGE:
        cpti_json_ns(json, key, value->number);
        return;
    case CPTI_NS_RARE:
        (value->number < 1 ? cpti_json_rough : cpti_json_ns)(json, key, value->number);
        return;
    case CPTI_FLAG:
        cpti_json_bool(json, key, value->count != 0);
        return;
    case CPTI_WHOLE:
        cpti_json_float(json, key, value->number);
        return;
    default:
        cpti_json_rough(json, key, value->number);
        return;
    }
}

void cpti_relation_json(const struct cpti_view *view, const struct cpti_rows *rows,
                        size_t row_max, struct cpti_json *json)
{
    struct room room;

    cpti_json_open(json, view->relation->name, '[');
    for (size_t i = 0; i < rows->count && i < row_max; i++) {
        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        for (size_t k = 0; k < view->column_count; k++) {
            const struct cpti_column *column = view->columns[k];

            const struct cpti_asked asked = {.context = rows->context,
                                             .row = row_at(rows, i)};

            if (column->put != NULL) {
                column->put(&asked, json);
            } else {
                const struct cpti_cell value =
                    take(column, asked.context, asked.row, &room);

                put(json, column->key, column, &value);
            }
        }
        cpti_json_close(json);
    }
    if (!view->relation->ends_in_line) {
        cpti_json_row(json);
    }
    cpti_json_close(json);
}

/* --- CSV (RFC 4180) --- */

/* The text as UTF-8: an invalid byte becomes U+FFFD, as in JSON. */
static void print_valid(struct cpt_bytes text)
{
    for (size_t at = 0; at < text.bytes;) {
        const size_t bytes =
            cpti_utf8_bytes((const unsigned char *)text.data + at, text.bytes - at);

        (void)fwrite(bytes != 0 ? text.data + at : "\ufffd", 1,
                     bytes != 0 ? bytes : strlen("\ufffd"), stdout);
        if (text.data[at] == '"') {
            (void)putchar('"'); /* doubled */
        }
        at += bytes != 0 ? bytes : 1;
    }
}

/* A text in quotes, if it needs them. */
static void print_text(struct cpt_bytes text)
{
    bool needs_quotes = false;

    for (size_t i = 0; i < text.bytes; i++) {
        needs_quotes |= strchr(",\"\r\n", text.data[i]) != NULL;
    }
    if (!needs_quotes) {
        print_valid(text);
        return;
    }
    (void)putchar('"');
    print_valid(text);
    (void)putchar('"');
}

static int print_csv(const struct cpti_view *view, const struct cpti_rows *rows,
                     size_t count)
{
    struct cpti_json json = {.file = stdout};
    struct cpti_cell value;
    struct room room;

    for (size_t k = 0; k < view->column_count; k++) {
        (void)printf("%s%s", k > 0 ? "," : "", view->columns[k]->key);
    }
    (void)printf("\r\n");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < view->column_count; k++) {
            const struct cpti_column *column = view->columns[k];

            (void)printf("%s", k > 0 ? "," : "");
            value = take(column, rows->context, row_at(rows, i), &room);
            if (!value.is_known) {
                continue;
            }
            if (value.text.data != NULL) {
                print_text(value.text);
            } else if (isfinite(value.number)) {
                json.has_item[0] = 0; /* no comma of its own before it */
                put(&json, NULL, column, &value);
            }
        }
        (void)printf("\r\n");
    }
    if (count < rows->count) {
        cpti_warn("%zu further rows are left out", rows->count - count);
    }
    return CPTI_EXIT_DONE;
}

int cpti_relation_print(const struct cpti_view *view, const struct cpti_rows *rows,
                        size_t row_max)
{
    const size_t count = rows->count < row_max ? rows->count : row_max;

    return view->format == CPTI_FORMAT_CSV ? print_csv(view, rows, count)
                                           : print_table(view, rows, count);
}
