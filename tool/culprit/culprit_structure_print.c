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
static struct cpti_cell cases_of(const struct cpti_asked *asked, int set)
{
    const struct cpti_structure_row *row = asked->row;

    return row->is_repeated ? cpti_cell_format(asked, "%.1f a visit", row->shares[set])
                            : cpti_cell_format(asked, "%" PRIu64 " of %" PRIu64,
                                               row->cases[set], row->visits[set]);
}

/* "B: get no longer calls D: find" */
static struct cpti_cell words_of(const struct cpti_asked *asked)
{
    const struct cpti_structure_row *row = asked->row;
    const bool is_more = row->shares[1] > row->shares[0];
    char parent[CPTI_TEXT_BYTES];
    char child[CPTI_TEXT_BYTES];
    char second[CPTI_TEXT_BYTES];

    (void)cpt_text_name(row->parent, parent, sizeof parent);
    (void)cpt_text_name(row->child, child, sizeof child);
    (void)cpt_text_name(row->second, second, sizeof second);
    switch (row->kind) {
    case CPTI_STRUCTURE_CALL_VANISHED:
        return cpti_cell_format(asked, "%s no longer calls %s", parent, child);
    case CPTI_STRUCTURE_CALL_NEW:
        return cpti_cell_format(asked, "%s now calls %s", parent, child);
    case CPTI_STRUCTURE_ORDER:
        return cpti_cell_format(asked, "%s calls %s and %s %s", parent, child,
                                cpt_bytes_equal(row->child, row->second) ? "again"
                                                                         : second,
                                is_more ? "side by side" : "one after the other");
    case CPTI_STRUCTURE_FAILURES:
        return cpti_cell_format(asked, "%s fails %s often", parent,
                                is_more ? "more" : "less");
    default: /* calls_more, calls_fewer */
        return cpti_cell_format(asked, "%s calls %s %s often", parent, child,
                                is_more ? "more" : "less");
    }
}

enum { KIND, PARENT, BASE_CASES, NEW_CASES, WORDS };

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct cpti_structure_row *row = asked->row;

    switch (asked->what) {
    case KIND:
        return cpti_cell_text(kind_word(row));
    case PARENT:
        return cpti_cell_bytes(row->parent);
    case WORDS:
        return words_of(asked);
    default:
        return cases_of(asked, asked->what == NEW_CASES);
    }
}

#define OF(field) CPTI_OF(struct cpti_structure_row, field)

static const struct cpti_column columns[] = {
    {"kind", "kind", CPTI_TEXT, get, KIND},
    {"parent", "parent", CPTI_NAME, get, PARENT},
    {"child", "child", CPTI_NAME, OF(child)},
    {"second", "second", CPTI_NAME, OF(second)},
    {"repeated", "repeated", CPTI_FLAG, OF(is_repeated)},
    {"base_visits", "base visits", CPTI_COUNT, OF(visits[0])},
    {"new_visits", "new visits", CPTI_COUNT, OF(visits[1])},
    {"base_cases", "base cases", CPTI_COUNT, OF(cases[0])},
    {"new_cases", "new cases", CPTI_COUNT, OF(cases[1])},
    {"base_share", "base share", CPTI_NUMBER, OF(shares[0])},
    {"new_share", "new share", CPTI_NUMBER, OF(shares[1])},
    {"p", "p", CPTI_PART, OF(p)},
    {"base", "base", CPTI_TEXT, get, BASE_CASES, .place = CPTI_IN_TABLES},
    {"new", "new", CPTI_TEXT, get, NEW_CASES, .place = CPTI_IN_TABLES},
    {"words", "structure", CPTI_TEXT, get, WORDS, .place = CPTI_IN_TABLES},
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
