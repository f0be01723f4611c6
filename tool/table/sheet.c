/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sheet.c - an answer; see sheet.h */
#include "tool/table/sheet.h"

static size_t left_of(const struct cpti_sheet *sheet, size_t row_max)
{
    return sheet->rows.count > row_max ? sheet->rows.count - row_max : 0;
}

void cpti_sheet_json(const struct cpti_sheet *sheet, size_t row_max, FILE *file)
{
    struct cpti_json json = {.file = file};

    cpti_json_open(&json, NULL, '{');
    if (sheet->put != NULL) {
        sheet->put(sheet->context, &json);
    }
    cpti_relation_json(sheet->view, &sheet->rows, row_max, &json);
    if ((sheet->has_rest || sheet->view->bytes_max != 0) &&
        row_max != CPTI_CAPPED_ALL) {
        cpti_json_open(&json, "rest", '{');
        cpti_json_unsigned(&json, "rows", left_of(sheet, row_max));
        if (sheet->put_rest != NULL) {
            sheet->put_rest(sheet->context, row_max, &json);
        }
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
}

static int print_for_people(const struct cpti_sheet *sheet, size_t row_max)
{
    const void *context = sheet->context;
    struct cpti_rows rows = sheet->rows;
    const size_t most = sheet->people_max != 0 && row_max > sheet->people_max
                            ? sheet->people_max
                            : row_max;
    const size_t left = left_of(sheet, most);
    int status = sheet->head != NULL ? sheet->head(context) : CPTI_EXIT_DONE;
    char text[64];

    if (sheet->fill_last != NULL && left != 0) {
        sheet->fill_last(context, most, sheet->last);
        rows.rest = sheet->last;
    }
    status = CPTI_THEN(status, cpti_relation_print(sheet->view, &rows, most));
    if (status == CPTI_EXIT_DONE && sheet->counts_rest && left != 0) {
        (void)printf("%zu more row%s%s\n", left, left == 1 ? "" : "s",
                     sheet->rest != NULL ? sheet->rest(context, most, text) : "");
    }
    if (status == CPTI_EXIT_DONE && sheet->foot != NULL) {
        sheet->foot(context, most);
    }
    return status;
}

/* See struct cpti_capped. */
static int print_rows(void *context, size_t row_max)
{
    const struct cpti_sheet *sheet = *(const struct cpti_sheet **)context;

    if (sheet->view->format == CPTI_FORMAT_JSON) {
        cpti_sheet_json(sheet, row_max, stdout);
        return CPTI_EXIT_DONE;
    }
    return sheet->view->format == CPTI_FORMAT_CSV
               ? cpti_relation_print(sheet->view, &sheet->rows, row_max)
               : print_for_people(sheet, row_max);
}

int cpti_sheet_print(const struct cpti_sheet *sheet)
{
    const struct cpti_capped capped = {.bytes_max = sheet->view->bytes_max,
                                       .print = print_rows,
                                       .context = &sheet,
                                       .row_count = sheet->rows.count};

    return cpti_capped_print(&capped);
}
