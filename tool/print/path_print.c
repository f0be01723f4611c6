/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* path_print.c - one critical path, for people and for programs; see path_print.h */
#include "tool/print/path_print.h"

#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/table/table.h"
#include "cpt/cpt_alloc.h"
#include "cpt/cpt_path.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT_COLUMNS = 2, REMARK_BYTES = 2 * CPTI_TEXT_BYTES };

/* How the label holder_request is shown: ids of traces have one notation, and numbers
 * above 2^53 are changed by many readers of JSON. */
static const char holder_trace[] = "holder_trace";

/* --- For people --- */

size_t cpti_path_stack(const struct cpt_path *path, uint32_t frame, uint32_t *stack)
{
    const size_t depth = cpt_path_frame(path, frame)->depth;

    for (size_t i = depth; i-- > 0;) {
        assert(frame != CPT_FRAME_NONE);
        stack[i] = frame;
        frame = cpt_path_frame(path, frame)->parent;
    }
    return depth;
}

/* The remarks printed after the frame of a segment: " (cached, attempt 2)". */
struct remarks {
    char text[REMARK_BYTES];
    size_t bytes;
};

static void remark(struct remarks *remarks, const char *format, ...) CPT_PRINTF(2, 3);

static void remark(struct remarks *remarks, const char *format, ...)
{
    const size_t left = sizeof remarks->text - remarks->bytes;
    va_list arguments;

    if (left < CPTI_TEXT_BYTES / 2) {
        return; /* the labels that do not fit are not printed */
    }
    remarks->bytes += (size_t)snprintf(remarks->text + remarks->bytes, left, "%s",
                                       remarks->bytes == 0 ? " (" : ", ");
    va_start(arguments, format);
    remarks->bytes +=
        (size_t)vsnprintf(remarks->text + remarks->bytes,
                          sizeof remarks->text - remarks->bytes, format, arguments);
    va_end(arguments);
}

static void remark_label(struct remarks *remarks, const struct cpt_path *path,
                         const struct cpt_label *label)
{
    int is_name;
    const char *word = cpt_label_word(label->key, &is_name);

    if (label->key == CPT_LABEL_AGAIN) {
        return; /* it is for programs */
    }
    if (word != NULL && label->is_name) {
        remark(remarks, "%s %.400s", word,
               cpti_quoted_bytes(cpt_path_name(path, (cpt_name_id)label->value)));
    } else if (label->key == CPT_LABEL_HOLDER_REQUEST) {
        remark(remarks, "%s %016" PRIx64, holder_trace, label->value);
    } else if (word != NULL) {
        remark(remarks, "%s %" PRIu64, word, label->value);
    }
}

/* By how much the request would be faster without the segment; nothing if that is all
 * of it, or not known. */
static void remark_drag(struct remarks *remarks, const struct cpt_path *path,
                        size_t index)
{
    const uint64_t drag_ns = cpt_path_drag(path, index);
    char ms[32];

    if (drag_ns != CPT_DRAG_UNKNOWN &&
        drag_ns != cpt_path_segment(path, index)->duration_ns) {
        remark(remarks, "drag %s ms", cpti_ms((double)drag_ns, ms));
    }
}

/* @label is the first label of segment @index or a later one; it advances past the
 * labels of @index. */
static void remark_segment(struct remarks *remarks, const struct cpt_path *path,
                           size_t index, size_t *label)
{
    const struct cpt_segment *segment = cpt_path_segment(path, index);
    const char *reason = cpt_reason_word(segment->reason);

    *remarks = (struct remarks){.bytes = 0};
    if (reason != NULL && reason[0] != '\0') {
        remark(remarks, "%s", reason);
    }
    if (segment->count > 1) {
        remark(remarks, "%" PRIu32 " segments", segment->count);
    }
    if ((segment->flags & CPT_SEGMENT_OVERCOUNT) != 0) {
        remark(remarks, "overcount");
    }
    remark_drag(remarks, path, index);
    for (; *label < cpt_path_label_count(path) &&
           cpt_path_label(path, *label)->segment == index;
         (*label)++) {
        remark_label(remarks, path, cpt_path_label(path, *label));
    }
    if (remarks->bytes != 0) {
        remarks->text[remarks->bytes] = ')';
        remarks->text[remarks->bytes + 1] = '\0';
    }
}

void cpti_path_remarks(const struct cpt_path *path, size_t index, char *text,
                       size_t capacity)
{
    size_t label = 0;
    size_t end = cpt_path_label_count(path);
    struct remarks remarks;

    while (label < end) { /* labels are sorted by segment */
        const size_t middle = label + (end - label) / 2;

        if (cpt_path_label(path, middle)->segment < index) {
            label = middle + 1;
        } else {
            end = middle;
        }
    }
    remark_segment(&remarks, path, index, &label);
    (void)snprintf(text, capacity, "%s", remarks.text);
}

static void put_frame(struct cpti_table *table, const struct cpt_path *path,
                      uint32_t frame, const char *behind)
{
    char text[CPTI_TEXT_BYTES];
    char above[CPTI_TEXT_BYTES] = "";
    const size_t depth = cpt_path_frame(path, frame)->depth;
    const uint32_t parent = cpt_path_frame(path, frame)->parent;

    (void)cpt_path_frame_text(path, frame, text, sizeof text);
    /* deeper frames would leave the screen: a number shows their depth */
    if (depth > 40) {
        cpti_table_cell(table, "%*s[%zu] %s%s", 40 * INDENT_COLUMNS, "", depth, text,
                        behind);
    } else {
        cpti_table_cell(table, "%*s%s%s", (int)(depth - 1) * INDENT_COLUMNS, "", text,
                        behind);
        if (parent != CPT_FRAME_NONE) {
            (void)cpt_path_frame_text(path, parent, above, sizeof above);
        }
        cpti_table_short(table, "%*s%s%s", (int)(depth - 1) * INDENT_COLUMNS, "",
                         cpti_name_below(text, above), behind);
    }
}

/* Adds a line for one segment, after a line for each frame above it that is not one of
 * the segment @above (SIZE_MAX: of none). */
static void put_segment(struct cpti_table *table, const struct cpt_path *path,
                        size_t index, size_t above, size_t *label)
{
    const struct cpt_segment *segment = cpt_path_segment(path, index);
    const double sum_ns = (double)cpt_path_sum_ns(path);
    uint32_t before[CPT_PATH_DEPTH_MAX];
    uint32_t stack[CPT_PATH_DEPTH_MAX];
    const size_t depth = cpti_path_stack(path, segment->frame, stack);
    size_t before_depth = 0;
    struct remarks remarks;
    char ms[32];

    if (above != SIZE_MAX) {
        before_depth =
            cpti_path_stack(path, cpt_path_segment(path, above)->frame, before);
    }
    for (size_t i = 0; i + 1 < depth; i++) {
        if (i >= before_depth || before[i] != stack[i]) {
            before_depth = 0; /* all frames below are new too */
            cpti_table_cell(table, "%s", "");
            cpti_table_cell(table, "%s", "");
            put_frame(table, path, stack[i], "");
        }
    }
    cpti_table_cell(table, "%s", cpti_ms((double)segment->duration_ns, ms));
    cpti_table_cell(table, "%.1f%%", 100 * (double)segment->duration_ns / sum_ns);
    remark_segment(&remarks, path, index, label);
    put_frame(table, path, segment->frame, remarks.text);
}

/* Segments that are not printed. */
struct rest {
    uint64_t count;
    uint64_t sum_ns;
};

/* Whether segment @index is printed. If not, passes its labels over and adds it to
 * @rest. */
static bool is_printed(const struct cpt_path *path, size_t index, const bool *is_shown,
                       size_t *label, struct rest *rest)
{
    if (is_shown == NULL || is_shown[index]) {
        return true;
    }
    while (*label < cpt_path_label_count(path) &&
           cpt_path_label(path, *label)->segment == index) {
        (*label)++;
    }
    rest->count++;
    rest->sum_ns += cpt_path_segment(path, index)->duration_ns;
    return false;
}

int cpti_path_print(const struct cpt_path *path)
{
    return cpti_path_print_part(path, NULL);
}

int cpti_path_print_part(const struct cpt_path *path, const bool *is_shown)
{
    static const char *const headings[] = {"ms", "share", "frame"};
    struct cpti_table table = cpti_table_of(headings, 3);
    struct rest rest = {0};
    size_t before = SIZE_MAX;
    size_t label = 0;
    char ms[32];

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        if (is_printed(path, i, is_shown, &label, &rest)) {
            put_segment(&table, path, i, before, &label);
            before = i;
        }
    }
    if (rest.count != 0) {
        cpti_table_cell(&table, "%s", cpti_ms((double)rest.sum_ns, ms));
        cpti_table_cell(&table, "%.1f%%",
                        100 * (double)rest.sum_ns / (double)cpt_path_sum_ns(path));
        cpti_table_cell(&table, "(%" PRIu64 " more segments)", rest.count);
    }
    return cpti_table_print(&table);
}

const char *cpti_path_flags_text(unsigned flags)
{
    static const char *const texts[8] = {
        "",
        ", unordered",
        ", incomplete",
        ", unordered, incomplete",
        ", approximate",
        ", unordered, approximate",
        ", incomplete, approximate",
        ", unordered, incomplete, approximate",
    };

    return texts[flags & 7U];
}

/* --- For programs --- */

/* Frames of a stack, as the elements of an array in JSON. */
struct stack_text {
    size_t at;
    size_t bytes; /* 0: not built */
};

/*
 * The stacks of all frames of a path as text. Each is built once, from the stack of the
 * frame above and its own name. A stack that would exceed STACKS_BYTES_MAX in sum, or
 * finds no memory, is left out here and is built at each use.
 */
struct stacks {
    struct stack_text *all; /* NULL: none is built */
    char *text;
    size_t used;
    size_t capacity;
    bool is_escaped; /* a name is not shown as it is */
};

enum { STACKS_BYTES_FIRST = 4096, STACKS_BYTES_MAX = 1 << 24 };

static void make_stack(struct stacks *stacks, const struct cpt_path *path,
                       uint32_t frame)
{
    const uint32_t parent = cpt_path_frame(path, frame)->parent;
    const struct stack_text above =
        parent == CPT_FRAME_NONE ? (struct stack_text){0, 0} : stacks->all[parent];
    struct stack_text *own = &stacks->all[frame];
    char text[CPTI_TEXT_BYTES];
    struct cpt_bytes name = {text, 0};

    *own = (struct stack_text){stacks->used, 0};
    name.bytes = cpt_path_frame_text(path, frame, text, sizeof text);
    stacks->is_escaped = stacks->is_escaped || cpti_is_escaped(text);
    if ((parent != CPT_FRAME_NONE && above.bytes == 0) ||
        cpt_alloc_grow(NULL, (void **)&stacks->text, &stacks->capacity,
                       stacks->used + above.bytes + 1 +
                           CPTI_JSON_QUOTED_BYTES(name.bytes),
                       STACKS_BYTES_MAX, 1) != CPT_OK) {
        return;
    }
    if (above.bytes != 0) {
        memcpy(stacks->text + own->at, stacks->text + above.at, above.bytes);
        stacks->text[own->at + above.bytes] = ',';
        own->bytes = above.bytes + 1;
    }
    own->bytes += cpti_json_quote(name, stacks->text + own->at + own->bytes);
    stacks->used += own->bytes;
}

static struct stacks make_stacks(const struct cpt_path *path)
{
    const size_t count = cpt_path_frame_count(path);
    struct stacks stacks = {.all = calloc(count + 1, sizeof *stacks.all)};

    stacks.is_escaped = stacks.all == NULL; /* not known */
    (void)cpt_alloc_grow(NULL, (void **)&stacks.text, &stacks.capacity,
                         STACKS_BYTES_FIRST, STACKS_BYTES_MAX, 1);
    for (uint32_t i = 0; i < count && stacks.all != NULL; i++) {
        make_stack(&stacks, path, i); /* parents come before their children */
    }
    return stacks;
}

static void put_stack_json(struct cpti_json *json, const struct cpt_path *path,
                           const struct stacks *stacks, uint32_t frame)
{
    uint32_t stack[CPT_PATH_DEPTH_MAX];
    char text[CPTI_TEXT_BYTES];
    size_t depth;

    cpti_json_open(json, "stack", '[');
    if (stacks->all != NULL && stacks->all[frame].bytes != 0) {
        cpti_json_raw(json, NULL,
                      (struct cpt_bytes){stacks->text + stacks->all[frame].at,
                                         stacks->all[frame].bytes});
    } else {
        depth = cpti_path_stack(path, frame, stack);
        for (size_t i = 0; i < depth; i++) {
            (void)cpt_path_frame_text(path, stack[i], text, sizeof text);
            cpti_json_text(json, NULL, text);
        }
    }
    cpti_json_close(json);
}

/* The raw names of a stack, if the text of one is escaped. */
static void put_frames_json(struct cpti_json *json, const struct cpt_path *path,
                            uint32_t frame)
{
    uint32_t stack[CPT_PATH_DEPTH_MAX];
    char text[CPTI_TEXT_BYTES];
    const size_t depth = cpti_path_stack(path, frame, stack);
    bool is_escaped = false;

    for (size_t i = 0; i < depth && !is_escaped; i++) {
        (void)cpt_path_frame_text(path, stack[i], text, sizeof text);
        is_escaped = cpti_is_escaped(text);
    }
    if (!is_escaped) {
        return;
    }
    cpti_json_open(json, "frames", '[');
    for (size_t i = 0; i < depth; i++) {
        (void)cpt_path_frame_text(path, stack[i], text, sizeof text);
        cpti_json_raw_name(json, text);
    }
    cpti_json_close(json);
}

static void put_labels_json(struct cpti_json *json, const struct cpt_path *path,
                            size_t segment, size_t *label)
{
    bool is_open = false;

    for (; *label < cpt_path_label_count(path); (*label)++) {
        const struct cpt_label *at = cpt_path_label(path, *label);
        int is_name;
        const char *word = cpt_label_word(at->key, &is_name);

        if (at->segment != segment) {
            break;
        }
        if (word == NULL) {
            continue;
        }
        if (!is_open) {
            cpti_json_open(json, "labels", '{');
            is_open = true;
        }
        if (at->is_name) {
            cpti_json_bytes(json, word, cpt_path_name(path, (cpt_name_id)at->value));
        } else {
            cpti_json_unsigned(json, word, at->value);
        }
        if (at->key == CPT_LABEL_HOLDER_REQUEST && !at->is_name) {
            char end[17];

            (void)snprintf(end, sizeof end, "%016" PRIx64, at->value);
            cpti_json_text(json, holder_trace, end);
        }
    }
    if (is_open) {
        cpti_json_close(json);
    }
}

static void put_segment_json(struct cpti_json *json, const struct cpt_path *path,
                             const struct stacks *stacks, size_t index, size_t *label)
{
    const struct cpt_segment *segment = cpt_path_segment(path, index);
    const unsigned kind = cpt_path_frame(path, segment->frame)->kind;

    cpti_json_open(json, NULL, '{');
    put_stack_json(json, path, stacks, segment->frame);
    if (stacks->is_escaped) {
        put_frames_json(json, path, segment->frame);
    }
    cpti_json_word(json, "kind", cpt_kind_word(kind), kind);
    cpti_json_unsigned(json, "duration_ns", segment->duration_ns);
    if (segment->reason != CPT_REASON_NONE) {
        cpti_json_word(json, "reason", cpt_reason_word(segment->reason),
                       segment->reason);
    }
    if (segment->count > 1) {
        cpti_json_unsigned(json, "count", segment->count);
    }
    if ((segment->flags & CPT_SEGMENT_OVERCOUNT) != 0) {
        cpti_json_bool(json, "overcount", 1);
    }
    if (cpt_path_drag(path, index) != CPT_DRAG_UNKNOWN) {
        cpti_json_unsigned(json, "drag_ns", cpt_path_drag(path, index));
    }
    put_labels_json(json, path, index, label);
    cpti_json_close(json);
}

void cpti_path_json(struct cpti_json *json, const struct cpt_path *path)
{
    cpti_path_json_part(json, path, NULL);
}

void cpti_path_json_part(struct cpti_json *json, const struct cpt_path *path,
                         const bool *is_shown)
{
    struct stacks stacks = make_stacks(path);
    struct rest rest = {0};
    size_t label = 0;

    cpti_json_open(json, "segments", '[');
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        if (is_printed(path, i, is_shown, &label, &rest)) {
            put_segment_json(json, path, &stacks, i, &label);
        }
    }
    cpti_json_close(json);
    if (is_shown != NULL) {
        cpti_json_open(json, "rest", '{');
        cpti_json_unsigned(json, "segments", rest.count);
        cpti_json_unsigned(json, "duration_ns", rest.sum_ns);
        cpti_json_close(json);
    }
    free(stacks.all);
    cpt_alloc_free(NULL, stacks.text);
}

void cpti_path_flags_json(struct cpti_json *json, unsigned flags)
{
    if ((flags & CPT_PATH_UNORDERED) != 0) {
        cpti_json_bool(json, "unordered", 1);
    }
    if ((flags & CPT_PATH_INCOMPLETE) != 0) {
        cpti_json_bool(json, "incomplete", 1);
    }
    if ((flags & CPT_PATH_APPROXIMATE) != 0) {
        cpti_json_bool(json, "approximate", 1);
    }
}
