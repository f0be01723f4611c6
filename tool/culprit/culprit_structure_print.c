/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* culprit_structure_print.c - as text and as JSON; culprit_structure_print.h */
#include "tool/culprit/culprit_structure_print.h"

#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"

#include <inttypes.h>
#include <stdio.h>

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

/* "60 of 60", or "1.5 a visit". */
static void set_cases(const struct cpti_structure_row *row, int set,
                      struct cpti_cell *cell)
{
    if (row->is_repeated) {
        cpti_cell_format(cell, "%.1f a visit", row->shares[set]);
    } else {
        cpti_cell_format(cell, "%" PRIu64 " of %" PRIu64, row->cases[set],
                         row->visits[set]);
    }
}

/* "B: get no longer calls D: find" */
static void set_words(const struct cpti_structure_row *row, struct cpti_cell *cell)
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
        cpti_cell_format(cell, "%s no longer calls %s", parent, child);
        break;
    case CPTI_STRUCTURE_CALL_NEW:
        cpti_cell_format(cell, "%s now calls %s", parent, child);
        break;
    case CPTI_STRUCTURE_CALLS_MORE:
    case CPTI_STRUCTURE_CALLS_FEWER:
        cpti_cell_format(cell, "%s calls %s %s often", parent, child,
                         is_more ? "more" : "less");
        break;
    case CPTI_STRUCTURE_ORDER:
        cpti_cell_format(cell, "%s calls %s and %s %s", parent, child,
                         cpt_bytes_equal(row->child, row->second) ? "again" : second,
                         is_more ? "side by side" : "one after the other");
        break;
    case CPTI_STRUCTURE_FAILURES:
        cpti_cell_format(cell, "%s fails %s often", parent, is_more ? "more" : "less");
        break;
    }
}

enum { KIND, PARENT, CHILD, SECOND, REPEATED, BASE_CASES, NEW_CASES, WORDS };

static void get(const void *context, const void *row, unsigned what,
                struct cpti_cell *cell)
{
    const struct cpti_structure_row *own = row;
    const struct cpt_bytes name = what == PARENT  ? own->parent
                                  : what == CHILD ? own->child
                                                  : own->second;

    (void)context;
    switch (what) {
    case KIND:
        cpti_cell_text(cell, cpt_bytes_of(kind_word(own)));
        return;
    case REPEATED:
        cpti_cell_count(cell, own->is_repeated);
        return;
    case BASE_CASES:
    case NEW_CASES:
        set_cases(own, what == NEW_CASES, cell);
        return;
    case WORDS:
        set_words(own, cell);
        return;
    default:
        cell->is_none = name.bytes == 0 && what != PARENT;
        if (!cell->is_none) {
            cpti_cell_text(cell, name);
        }
    }
}

static const struct cpti_column columns[] = {
    {"kind", "kind", CPTI_COLUMN_TEXT, get, KIND},
    {"parent", "parent", CPTI_COLUMN_NAME, get, PARENT},
    {"child", "child", CPTI_COLUMN_NAME, get, CHILD},
    {"second", "second", CPTI_COLUMN_NAME, get, SECOND},
    {"repeated", "repeated", CPTI_COLUMN_FLAG, get, REPEATED},
    {"base_visits", "base visits", CPTI_COLUMN_COUNT,
     CPTI_COUNT(struct cpti_structure_row, visits[0])},
    {"new_visits", "new visits", CPTI_COLUMN_COUNT,
     CPTI_COUNT(struct cpti_structure_row, visits[1])},
    {"base_cases", "base cases", CPTI_COLUMN_COUNT,
     CPTI_COUNT(struct cpti_structure_row, cases[0])},
    {"new_cases", "new cases", CPTI_COLUMN_COUNT,
     CPTI_COUNT(struct cpti_structure_row, cases[1])},
    {"base_share", "base share", CPTI_COLUMN_NUMBER,
     CPTI_NUMBER(struct cpti_structure_row, shares[0])},
    {"new_share", "new share", CPTI_COLUMN_NUMBER,
     CPTI_NUMBER(struct cpti_structure_row, shares[1])},
    {"p", "p", CPTI_COLUMN_PART, CPTI_NUMBER(struct cpti_structure_row, p)},
    {"base", "base", CPTI_COLUMN_TEXT, get, BASE_CASES, NULL, CPTI_IN_TABLES},
    {"new", "new", CPTI_COLUMN_TEXT, get, NEW_CASES, NULL, CPTI_IN_TABLES},
    {"words", "structure", CPTI_COLUMN_TEXT, get, WORDS, NULL, CPTI_IN_TABLES},
    {0},
};

static const struct cpti_relation relation = {"structure", columns, "base,new,p,words",
                                              NULL, true};

/* The rows are side by side. */
static struct cpti_rows rows_of(const struct cpti_structure *structure)
{
    const size_t count = cpti_structure_row_count(structure);

    return CPTI_ROWS(count != 0 ? cpti_structure_row(structure, 0) : NULL, count, NULL);
}

void cpti_structure_print_json(struct cpti_json *json, const struct cpti_view *services,
                               const struct cpti_structure *structure, size_t row_max)
{
    const struct cpti_view view = cpti_view_beside(services, &relation, NULL);
    struct cpti_rows rows;

    if (structure == NULL || !cpti_structure_is_compared(structure)) {
        cpti_json_null(json, "structure");
        return;
    }
    rows = rows_of(structure);
    cpti_relation_json(&view, &rows, row_max, json);
}

int cpti_structure_print_text(const struct cpti_view *services,
                              const struct cpti_structure *structure, size_t row_max)
{
    const struct cpti_view view = cpti_view_beside(services, &relation, NULL);
    const struct cpti_rows rows = rows_of(structure);
    int status;

    if (rows.count == 0 || row_max == 0) {
        return CPTI_EXIT_DONE;
    }
    (void)printf("\n");
    status = cpti_relation_print(&view, &rows, row_max);
    if (rows.count > row_max) {
        (void)printf("%zu more changes of structure\n", rows.count - row_max);
    }
    return status;
}
