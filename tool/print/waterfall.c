/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * waterfall.c - one critical path over time, drawn on a terminal; see waterfall.h
 *
 * One pass over the segments makes the rows. It keeps a stack of open rows. The frames
 * of the next segment are compared with that stack from the root on: rows that differ
 * are closed, rows that are missing are opened:
 *
 *      segments   A1  B  C  B  A1         open     A1 | A1;B | A1;B;C | A1;B | A1
 *      rows       A1 0..5   B 1..4   C 2..3
 *
 * If there are too many rows, the short ones are merged into one line. A caller is
 * never shorter than a frame below it, so the merged rows are whole subtrees, and their
 * time is that from their beginning to their end:
 *
 *          C: /C1               0.412         ███
 *          … 194 more          76.220            ██████████████████████
 *
 * The cost is that of the stacks plus drawing the segments of each row. Positions are
 * computed in floating point: a column is a part of a screen, not a time.
 */
#include "tool/print/waterfall.h"

#include "tool/base/command.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/print/path_print.h"
#include "cpt/cpt_alloc.h"
#include "cpt/cpt_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_DEFAULT = 100, /* if the width is unknown */
    CELLS_MAX = 4096,
    CELLS_MIN = 8,
    GAP_COLUMNS = 2,
    INDENT_COLUMNS = 2,
    VISIBLE_PARTS = 128, /* rows below 1/128 of the latency are merged first */
    OTHERS_COLUMNS = 12, /* "… 99999 more" */
    LABEL_BYTES = 3 * CPTI_TEXT_BYTES,
    LABEL_END_SHARE = 40, /* percent of a cut label that are of its end */
    COLOUR_COUNT = 6
};

/* --- Rows --- */

/* One frame while it was on the path. */
struct row {
    uint32_t frame;
    uint64_t begin_ns; /* from the beginning of the request */
    uint64_t end_ns;
    uint64_t self_ns;     /* of that, time of the frame itself */
    size_t segment_first; /* of the row and of the rows below it */
    size_t segment_end;   /* the first one after it */
    size_t own_segment;   /* the first one of the frame itself; SIZE_MAX: none */
};

/* What a column of time shows of a row. */
struct cell {
    float self;     /* part of the column that is time of its own: 0 to 1 */
    bool is_left;   /* that part begins where the column does */
    bool is_inside; /* the row has begun and not ended */
};

struct rows {
    struct row *rows;
    size_t count;
    size_t capacity;
    size_t open[CPT_PATH_DEPTH_MAX]; /* indices of rows, root first */
    size_t open_count;
};

static cpt_status open_row(struct rows *rows, uint32_t frame, uint64_t now_ns,
                           size_t segment)
{
    const cpt_status status =
        cpt_alloc_grow(cpt_alloc_default(), (void **)&rows->rows, &rows->capacity,
                       rows->count + 1, SIZE_MAX / 64, sizeof *rows->rows);

    if (status != CPT_OK) {
        return status;
    }
    rows->rows[rows->count] = (struct row){
        .frame = frame,
        .begin_ns = now_ns,
        .segment_first = segment,
        .own_segment = SIZE_MAX,
    };
    assert(rows->open_count < CPT_PATH_DEPTH_MAX);
    rows->open[rows->open_count++] = rows->count++;
    return CPT_OK;
}

/* Closes all but the @count outermost rows. */
static void close_rows(struct rows *rows, size_t count, uint64_t now_ns, size_t segment)
{
    while (rows->open_count > count) {
        struct row *row = &rows->rows[rows->open[--rows->open_count]];

        row->end_ns = now_ns;
        row->segment_end = segment;
    }
}

static cpt_status add_segment(struct rows *rows, const struct cpt_path *path,
                              size_t index, uint64_t now_ns)
{
    const struct cpt_segment *segment = cpt_path_segment(path, index);
    uint32_t stack[CPT_PATH_DEPTH_MAX];
    const size_t depth = cpti_path_stack(path, segment->frame, stack);
    struct row *row;
    size_t shared = 0;

    while (shared < depth && shared < rows->open_count &&
           rows->rows[rows->open[shared]].frame == stack[shared]) {
        shared++;
    }
    close_rows(rows, shared, now_ns, index);
    for (size_t i = shared; i < depth; i++) {
        const cpt_status status = open_row(rows, stack[i], now_ns, index);

        if (status != CPT_OK) {
            return status;
        }
    }
    assert(rows->rows != NULL && rows->open_count == depth);
    row = &rows->rows[rows->open[depth - 1]];
    row->self_ns += segment->duration_ns;
    row->own_segment = row->own_segment == SIZE_MAX ? index : row->own_segment;
    return CPT_OK;
}

/*
 * Makes the rows of @path in the order of their beginnings, callers before callees; the
 * caller frees them with cpt_alloc_free(). CPTI_EXIT_DONE; CPTI_EXIT_FAILED without
 * memory, after printing so.
 */
static int make_rows(const struct cpt_path *path, struct row **rows, size_t *row_count)
{
    struct rows found = {0};
    uint64_t now_ns = 0;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < cpt_path_segment_count(path) && status == CPT_OK; i++) {
        status = add_segment(&found, path, i, now_ns);
        now_ns += cpt_path_segment(path, i)->duration_ns;
    }
    if (status != CPT_OK) {
        cpt_alloc_free(cpt_alloc_default(), found.rows);
        return cpti_failed("%s", cpt_status_sentence(status));
    }
    close_rows(&found, 0, now_ns, cpt_path_segment_count(path));
    *rows = found.rows;
    *row_count = found.count;
    return CPTI_EXIT_DONE;
}

/* --- Cells --- */

/* Adds the time from @begin_ns to @end_ns to the cells that it touches. */
static void cover(struct cell *cells, size_t count, uint64_t sum_ns, uint64_t begin_ns,
                  uint64_t end_ns, bool is_self)
{
    const double scale = (double)count / (double)sum_ns;
    const double begin = (double)begin_ns * scale;
    const double end = (double)end_ns * scale;

    for (size_t at = (size_t)begin; at < count && (double)at < end; at++) {
        const double from = begin > (double)at ? begin : (double)at;
        const double to = end < (double)at + 1 ? end : (double)at + 1;
        struct cell *cell = &cells[at];

        cell->is_inside = true;
        if (is_self && to > from) {
            cell->is_left = cell->is_left || (cell->self <= 0 && begin <= (double)at);
            cell->self += (float)(to - from);
        }
    }
}

/* Fills the @count cells of @row, which together span the whole of @path. */
static void fill_cells(const struct cpt_path *path, const struct row *row,
                       struct cell *cells, size_t count)
{
    uint64_t now_ns = row->begin_ns;

    memset(cells, 0, count * sizeof *cells);
    for (size_t i = row->segment_first; i < row->segment_end; i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        cover(cells, count, cpt_path_sum_ns(path), now_ns,
              now_ns + segment->duration_ns, segment->frame == row->frame);
        now_ns += segment->duration_ns;
    }
}

/* The character of @cell. Unicode has blocks from the left in eighths, from the right
 * only two. */
static const char *glyph(const struct cell *cell, bool is_ascii)
{
    static const char *const left[9] = {"",       "\u258f", "\u258e",
                                        "\u258d", "\u258c", "\u258b",
                                        "\u258a", "\u2589", "\u2588"};

    if (cell->self <= 0) {
        if (!cell->is_inside) {
            return " ";
        }
        return is_ascii ? "-" : "\u2500";
    }
    if (is_ascii) {
        return cell->self < 0.5F ? "+" : "#";
    }
    if (cell->is_left || cell->self >= 0.9375F) {
        const int eighths = (int)(cell->self * 8 + 0.5F);

        return left[eighths < 1 ? 1 : (eighths > 8 ? 8 : eighths)];
    }
    return cell->self < 0.25F ? "\u2595" : "\u2590";
}

/* --- Drawing --- */

struct drawing {
    const struct cpt_path *path;
    bool is_ascii;
    bool is_coloured;
    size_t label_columns;
    size_t indent_max; /* the depth of deeper frames is a number */
    size_t ms_columns;
    size_t cell_count;
    uint64_t shown_ns; /* shorter rows are merged */
    struct cell cells[CELLS_MAX];
};

/* The frame with its indentation and remarks; if that does not fit, without remarks and
 * without the service that the row above shows. */
static void label_of(const struct drawing *drawing, const struct row *row, char *label)
{
    const size_t depth = cpt_path_frame(drawing->path, row->frame)->depth;
    const size_t indent = (depth - 1) * INDENT_COLUMNS;
    const size_t indent_max = drawing->indent_max;
    const uint32_t parent = cpt_path_frame(drawing->path, row->frame)->parent;
    char above[CPTI_TEXT_BYTES] = "";
    char frame[CPTI_TEXT_BYTES];
    char remarks[CPTI_TEXT_BYTES] = "";

    (void)cpt_path_frame_text(drawing->path, row->frame, frame, sizeof frame);
    if (row->own_segment != SIZE_MAX) {
        cpti_path_remarks(drawing->path, row->own_segment, remarks, sizeof remarks);
    }
    if (indent > indent_max) {
        (void)snprintf(label, LABEL_BYTES, "%*s[%zu] %s%s", (int)indent_max, "", depth,
                       frame, remarks);
    } else {
        (void)snprintf(label, LABEL_BYTES, "%*s%s%s", (int)indent, "", frame, remarks);
    }
    if (cpti_text_columns(label) > drawing->label_columns && indent <= indent_max) {
        if (parent != CPT_FRAME_NONE) {
            (void)cpt_path_frame_text(drawing->path, parent, above, sizeof above);
        }
        (void)snprintf(label, LABEL_BYTES, "%*s%s", (int)indent, "",
                       cpti_name_below(frame, above));
    }
}

static void print_label(const struct drawing *drawing, const char *label)
{
    const size_t columns = cpti_text_columns(label);

    if (columns > drawing->label_columns) {
        char cut[LABEL_BYTES];

        cpti_text_shorten(label, drawing->label_columns, LABEL_END_SHARE,
                          drawing->is_ascii ? "~" : "\u2026", cut, sizeof cut);
        (void)printf("%s%*s", cut,
                     (int)(drawing->label_columns - cpti_text_columns(cut)), "");
        return;
    }
    (void)printf("%s%*s", label, (int)(drawing->label_columns - columns), "");
}

/* One colour for each service; frames that are not work are grey. */
static const char *colour_of(const struct drawing *drawing, uint32_t frame)
{
    static const char *const colours[COLOUR_COUNT] = {
        "\033[36m", "\033[33m", "\033[35m", "\033[32m", "\033[34m", "\033[31m"};
    const struct cpt_bytes service = cpt_path_frame_service(drawing->path, frame);

    if (!drawing->is_coloured) {
        return "";
    }
    if (cpt_path_frame(drawing->path, frame)->kind != CPT_KIND_WORK) {
        return "\033[90m";
    }
    return colours[cpt_hash_bytes(0, service.data, service.bytes) % COLOUR_COUNT];
}

/* Prints the label, @self_ns, and the cells in @colour. */
static void print_line(const struct drawing *drawing, const char *label,
                       uint64_t self_ns, const char *colour)
{
    char ms[32];
    size_t last = 0;

    print_label(drawing, label);
    (void)printf("%*s%*s%*s%s", GAP_COLUMNS, "", (int)drawing->ms_columns,
                 cpti_ms((double)self_ns, ms), GAP_COLUMNS, "", colour);
    for (size_t i = 0; i < drawing->cell_count; i++) {
        last = drawing->cells[i].is_inside ? i + 1 : last;
    }
    for (size_t i = 0; i < last; i++) {
        (void)fputs(glyph(&drawing->cells[i], drawing->is_ascii), stdout);
    }
    (void)printf("%s\n", drawing->is_coloured ? "\033[0m" : "");
}

static void print_row(struct drawing *drawing, const struct row *row)
{
    char label[LABEL_BYTES];

    label_of(drawing, row, label);
    fill_cells(drawing->path, row, drawing->cells, drawing->cell_count);
    print_line(drawing, label, row->self_ns, colour_of(drawing, row->frame));
}

static bool is_shown(const struct drawing *drawing, const struct row *row)
{
    return row->end_ns - row->begin_ns >= drawing->shown_ns;
}

/* Merges the rows at the beginning of @rows that are not shown into one line; returns
 * their number. */
static size_t print_others(struct drawing *drawing, const struct row *rows,
                           size_t count)
{
    char label[LABEL_BYTES];
    uint64_t end_ns = rows[0].begin_ns;
    uint64_t self_ns = 0;
    size_t depth = CPT_PATH_DEPTH_MAX;
    size_t indent;
    size_t at = 0;

    memset(drawing->cells, 0, drawing->cell_count * sizeof *drawing->cells);
    for (; at < count && !is_shown(drawing, &rows[at]); at++) {
        const size_t row_depth = cpt_path_frame(drawing->path, rows[at].frame)->depth;

        depth = row_depth < depth ? row_depth : depth;
        if (rows[at].begin_ns >= end_ns) { /* not below the row before */
            cover(drawing->cells, drawing->cell_count, cpt_path_sum_ns(drawing->path),
                  rows[at].begin_ns, rows[at].end_ns, true);
            self_ns += rows[at].end_ns - rows[at].begin_ns;
            end_ns = rows[at].end_ns;
        }
    }
    indent = (depth - 1) * INDENT_COLUMNS;
    indent = indent < drawing->indent_max ? indent : drawing->indent_max;
    (void)snprintf(label, sizeof label, "%*s%s %zu more", (int)indent, "",
                   drawing->is_ascii ? "..." : "\u2026", at);
    print_line(drawing, label, self_ns, drawing->is_coloured ? "\033[90m" : "");
    return at;
}

static void print_headings(const struct drawing *drawing)
{
    char ms[32];
    char end[40];

    (void)snprintf(end, sizeof end, "%s ms",
                   cpti_ms((double)cpt_path_sum_ns(drawing->path), ms));
    (void)printf("%s%-*s%*s%*s%*s0%*s%s\n", drawing->is_coloured ? "\033[1m" : "",
                 (int)drawing->label_columns, "frame", GAP_COLUMNS, "",
                 (int)drawing->ms_columns, "self ms", GAP_COLUMNS, "",
                 (int)drawing->cell_count - 1, end,
                 drawing->is_coloured ? "\033[0m" : "");
}

/* Divides the screen: labels get the columns they need, up to half of it; time gets the
 * rest. */
static void measure(struct drawing *drawing, const struct row *rows, size_t row_count)
{
    const struct cpt_path *path = drawing->path;
    const size_t given = cpti_columns();
    const size_t columns = given == 0 ? COLUMNS_DEFAULT : given;
    char text[LABEL_BYTES];
    size_t longest = strlen("frame");

    drawing->ms_columns = strlen("self ms");
    (void)cpti_ms((double)cpt_path_sum_ns(drawing->path), text);
    drawing->ms_columns =
        strlen(text) > drawing->ms_columns ? strlen(text) : drawing->ms_columns;
    drawing->label_columns = (columns - drawing->ms_columns) / 2 - GAP_COLUMNS;
    drawing->indent_max = drawing->label_columns / 2;
    for (size_t i = 0; i < row_count && longest < drawing->label_columns; i++) {
        const size_t indent =
            (cpt_path_frame(path, rows[i].frame)->depth - (size_t)1) * INDENT_COLUMNS;
        size_t wide = OTHERS_COLUMNS +
                      (indent < drawing->indent_max ? indent : drawing->indent_max);

        if (is_shown(drawing, &rows[i])) {
            label_of(drawing, &rows[i], text);
            wide = cpti_text_columns(text);
        }
        longest = wide > longest ? wide : longest;
    }
    if (longest < drawing->label_columns) {
        drawing->label_columns = longest;
    }
    drawing->cell_count = columns - drawing->label_columns - drawing->ms_columns -
                          (size_t)2 * GAP_COLUMNS;
    assert(drawing->cell_count >= CELLS_MIN);
    if (drawing->cell_count > CELLS_MAX) {
        drawing->cell_count = CELLS_MAX;
    }
}

static int compare_longer(const void *left, const void *right)
{
    const uint64_t left_ns = *(const uint64_t *)left;
    const uint64_t right_ns = *(const uint64_t *)right;

    return (left_ns < right_ns) - (left_ns > right_ns);
}

/* The number of lines that the rows take. */
static size_t line_count(const struct drawing *drawing, const struct row *rows,
                         size_t row_count)
{
    size_t count = 0;

    for (size_t i = 0; i < row_count; i++) {
        count +=
            i == 0 || is_shown(drawing, &rows[i]) || is_shown(drawing, &rows[i - 1]);
    }
    return count;
}

/* Sets the length from which rows are shown, so that they take at most @rows_max
 * lines. */
static int choose(struct drawing *drawing, const struct row *rows, size_t row_count,
                  size_t rows_max)
{
    const uint64_t visible_ns = cpt_path_sum_ns(drawing->path) / VISIBLE_PARTS;
    size_t shown_max = rows_max;
    uint64_t *lengths;

    if (row_count <= rows_max) {
        return CPTI_EXIT_DONE;
    }
    lengths = calloc(row_count, sizeof *lengths);
    if (lengths == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < row_count; i++) {
        lengths[i] = rows[i].end_ns - rows[i].begin_ns;
    }
    qsort(lengths, row_count, sizeof *lengths, compare_longer);
    do { /* merged rows take lines, too */
        /* rows of equal length are all shown or all merged */
        drawing->shown_ns = lengths[shown_max] + 1;
        drawing->shown_ns =
            drawing->shown_ns > visible_ns ? drawing->shown_ns : visible_ns;
        shown_max /= 2;
    } while (shown_max != 0 && line_count(drawing, rows, row_count) > rows_max);
    free(lengths);
    return CPTI_EXIT_DONE;
}

static void draw(struct drawing *drawing, const struct row *rows, size_t row_count)
{
    measure(drawing, rows, row_count);
    print_headings(drawing);
    for (size_t i = 0; i < row_count;) {
        if (is_shown(drawing, &rows[i])) {
            print_row(drawing, &rows[i++]);
        } else {
            i += print_others(drawing, rows + i, row_count - i);
        }
    }
}

int cpti_waterfall_print(const struct cpt_path *path, bool is_ascii, size_t rows_max)
{
    struct row *rows = NULL;
    struct drawing drawing = {
        .path = path,
        .is_ascii = is_ascii,
        .is_coloured = cpti_is_coloured(),
    };
    size_t row_count = 0;
    int status;

    if (cpt_path_segment_count(path) == 0) {
        return CPTI_EXIT_DONE; /* a request of 0 ns */
    }
    status = make_rows(path, &rows, &row_count);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = choose(&drawing, rows, row_count, rows_max);
    if (status == CPTI_EXIT_DONE) {
        draw(&drawing, rows, row_count);
    }
    cpt_alloc_free(cpt_alloc_default(), rows);
    return status;
}
