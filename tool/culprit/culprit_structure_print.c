/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* culprit_structure_print.c - as text and as JSON; culprit_structure_print.h */
#include "tool/culprit/culprit_structure_print.h"

#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "tool/table/table.h"

#include <inttypes.h>
#include <stdio.h>

/* --- JSON --- */

static const char *kind_word(const struct cpti_structure_row *row)
{
    static const char *const words[] = {[CPTI_STRUCTURE_CALL_VANISHED] =
                                            "call_vanished",
                                        [CPTI_STRUCTURE_CALL_NEW] = "call_new",
                                        [CPTI_STRUCTURE_CALLS_MORE] = "calls_more",
                                        [CPTI_STRUCTURE_CALLS_FEWER] = "calls_fewer",
                                        [CPTI_STRUCTURE_ORDER] = "order",
                                        [CPTI_STRUCTURE_FAILURES] = "failures"};

    return words[row->kind];
}

static void json_row(struct cpti_json *json, const struct cpti_structure_row *row)
{
    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_json_text(json, "kind", kind_word(row));
    cpti_json_bytes(json, "parent", row->parent);
    if (row->child.bytes > 0) {
        cpti_json_bytes(json, "child", row->child);
    }
    if (row->second.bytes > 0) {
        cpti_json_bytes(json, "second", row->second);
    }
    cpti_json_bool(json, "repeated", row->is_repeated);
    cpti_json_unsigned(json, "base_visits", row->visits[0]);
    cpti_json_unsigned(json, "new_visits", row->visits[1]);
    cpti_json_unsigned(json, "base_cases", row->cases[0]);
    cpti_json_unsigned(json, "new_cases", row->cases[1]);
    cpti_json_rough(json, "base_share", row->shares[0]);
    cpti_json_rough(json, "new_share", row->shares[1]);
    cpti_json_rough(json, "p", row->p);
    cpti_json_close(json);
}

void cpti_structure_print_json(struct cpti_json *json,
                               const struct cpti_structure *structure, size_t row_max)
{
    if (structure == NULL || !cpti_structure_is_compared(structure)) {
        cpti_json_null(json, "structure");
        return;
    }
    cpti_json_open(json, "structure", '[');
    for (size_t i = 0; i < cpti_structure_row_count(structure) && i < row_max; i++) {
        json_row(json, cpti_structure_row(structure, i));
    }
    cpti_json_close(json);
}

/* --- Text --- */

/* "60 of 60", or "1.5 a visit". */
static void put_cases(struct cpti_table *table, const struct cpti_structure_row *row,
                      int set)
{
    if (row->is_repeated) {
        cpti_table_cell(table, "%.1f a visit", row->shares[set]);
    } else {
        cpti_table_cell(table, "%" PRIu64 " of %" PRIu64, row->cases[set],
                        row->visits[set]);
    }
}

/* "B: get no longer calls D: find" */
static void put_words(struct cpti_table *table, const struct cpti_structure_row *row)
{
    const bool is_more = row->shares[1] > row->shares[0];
    char parent[CPTI_TEXT_BYTES];
    char child[CPTI_TEXT_BYTES];
    char second[CPTI_TEXT_BYTES];

    (void)cpt_text_name(row->parent, parent, sizeof parent);
    (void)cpt_text_name(row->child, child, sizeof child);
    (void)cpt_text_name(row->second, second, sizeof second);
    switch (row->kind) {
    case CPTI_STRUCTURE_CALL_VANISHED:
        cpti_table_cell(table, "%s no longer calls %s", parent, child);
        break;
    case CPTI_STRUCTURE_CALL_NEW:
        cpti_table_cell(table, "%s now calls %s", parent, child);
        break;
    case CPTI_STRUCTURE_CALLS_MORE:
    case CPTI_STRUCTURE_CALLS_FEWER:
        cpti_table_cell(table, "%s calls %s %s often", parent, child,
                        is_more ? "more" : "less");
        break;
    case CPTI_STRUCTURE_ORDER:
        cpti_table_cell(table, "%s calls %s and %s %s", parent, child,
                        cpt_bytes_equal(row->child, row->second) ? "again" : second,
                        is_more ? "side by side" : "one after the other");
        break;
    case CPTI_STRUCTURE_FAILURES:
        cpti_table_cell(table, "%s fails %s often", parent, is_more ? "more" : "less");
        break;
    }
}

int cpti_structure_print_text(const struct cpti_structure *structure, size_t row_max)
{
    const char *headings[] = {"base", "new", "p", "structure"};
    struct cpti_table table =
        cpti_table_of(headings, sizeof headings / sizeof headings[0]);
    const size_t count = cpti_structure_row_count(structure);
    int status;

    if (count == 0 || row_max == 0) {
        return CPTI_EXIT_DONE;
    }
    for (size_t i = 0; i < count && i < row_max; i++) {
        const struct cpti_structure_row *row = cpti_structure_row(structure, i);

        put_cases(&table, row, 0);
        put_cases(&table, row, 1);
        cpti_table_cell(&table, "%.3f", row->p);
        put_words(&table, row);
    }
    (void)printf("\n");
    status = cpti_table_print(&table);
    if (count > row_max) {
        (void)printf("%zu more changes of structure\n", count - row_max);
    }
    return status;
}
