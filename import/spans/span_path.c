/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_path.c - the sections of a tree of spans as a critical path with frames
 *
 * A call has two spans, the client's and the server's. In a path it is one frame, the
 * callee's, and what only the client saw of it is the way there and back:
 *
 *      client, A   |--------- B: get ---------|       A: /
 *      server, B        |---- get ----|               '- B: get
 *      path        [net][    B: get   ][ net  ]          '- ‹network+serialization›
 *
 * Without the server's span the callee is a blind spot. Time in which a span says that
 * it waited, and nothing else has, is its ‹queue›, or what the wait calls itself.
 *
 * Which spans are calls is in span_roles.c. Frames of one name are one frame. Where a
 * span ends just when another one of its name begins, a label tells them apart.
 */
#include "import/spans/span_tree.h"

#include "cpt/cpt_path.h"

#include <string.h>

static size_t put(char *text, size_t at, struct cpt_bytes part)
{
    char buffer[CPT_NAME_BYTES_MAX + 1];

    part = cpt_name_bound(part, buffer);
    if (part.bytes > 0) {
        memcpy(text + at, part.data, part.bytes);
    }
    return at + part.bytes;
}

struct cpt_bytes cpti_span_frame_name(char text[CPTI_SPAN_FRAME_BYTES],
                                      const struct cpti_span_frame *frame)
{
    size_t bytes = put(text, 0, frame->service);

    bytes = put(text, bytes, cpt_bytes_of(": "));
    bytes = put(text, bytes, frame->operation);
    return (struct cpt_bytes){text, bytes};
}

/* The frame of span @number, below that of its parent. */
static cpt_status frame_make(struct cpti_spans *spans, struct cpt_path *path,
                             uint32_t number)
{
    struct cpti_span_node *node = &spans->nodes[number];
    const uint32_t above = node->parent == CPTI_SPAN_NONE
                               ? CPT_FRAME_NONE
                               : spans->nodes[node->parent].frame;
    struct cpti_span_frame frame;
    char text[CPTI_SPAN_FRAME_BYTES];

    cpti_spans_frame(spans, number, &frame);
    if (above != CPT_FRAME_NONE &&
        (frame.role == CPTI_SPAN_PASSED || frame.role == CPTI_SPAN_CALLEE)) {
        node->frame = above;
        return CPT_OK;
    }
    return cpt_path_frame_add(path, above, cpti_span_frame_name(text, &frame),
                              CPT_KIND_WORK, &node->frame);
}

/* Makes the frames of span @number and of those above it that have none yet. */
static cpt_status frames_make(struct cpti_spans *spans, struct cpt_path *path,
                              uint32_t number)
{
    cpt_status status = CPT_OK;
    size_t open = 0;

    while (number != CPTI_SPAN_NONE && spans->nodes[number].frame == CPT_FRAME_NONE) {
        spans->queue[open++] = number;
        number = spans->nodes[number].parent;
    }
    while (open > 0 && status == CPT_OK) {
        status = frame_make(spans, path, spans->queue[--open]);
    }
    return status;
}

/* Appends @segment with a frame of @kind below its frame. */
static cpt_status append_below(struct cpt_path *path, struct cpt_segment segment,
                               unsigned kind)
{
    cpt_status status = CPT_OK;

    if (kind != CPT_KIND_WORK) {
        status = cpt_path_frame_add(path, segment.frame, cpt_bytes_of(""), kind,
                                    &segment.frame);
    }
    return status == CPT_OK ? cpt_path_append(path, segment) : status;
}

/* The first span above span @number, or itself, that began at @start_ns: the path
 * entered that then. CPTI_SPAN_NONE if there is none but the root. */
static uint32_t find_entered(const struct cpti_spans *spans, uint32_t number,
                             uint64_t start_ns)
{
    uint32_t found = CPTI_SPAN_NONE;

    while (number != spans->root && number != CPTI_SPAN_NONE &&
           spans->nodes[number].start_ns >= start_ns) {
        if (cpti_spans_has(spans, number, CPTI_SPAN_HAS_TIME)) {
            found = number;
        }
        number = spans->nodes[number].parent;
    }
    return found;
}

/* Whether span @number, which the path entered at @start_ns, came right after its
 * parent's own time, in @before, a frame: as most spans do. */
static bool follows_parent(const struct cpti_spans *spans, uint32_t number,
                           uint64_t start_ns, uint32_t before)
{
    const uint32_t parent = spans->nodes[number].parent;

    return parent != CPTI_SPAN_NONE && spans->nodes[parent].frame == before &&
           spans->nodes[number].frame != before &&
           spans->nodes[parent].start_ns < start_ns;
}

/* Labels the last segment, of span @number and from @start_ns on, which the path
 * entered then, if it was in a frame of the same name until then, but of another span.
 */
static cpt_status mark_again(struct cpti_spans *spans, struct cpt_path *path,
                             uint32_t number, uint64_t start_ns)
{
    const size_t count = cpt_path_segment_count(path);
    const struct cpt_frame *at = NULL;
    uint32_t entered = CPTI_SPAN_NONE;
    uint32_t before = CPT_FRAME_NONE;
    uint32_t frame = CPT_FRAME_NONE;
    unsigned depth = 0;

    if (count < 2) {
        return CPT_OK;
    }
    before = cpt_path_segment(path, count - 2)->frame;
    if (follows_parent(spans, number, start_ns, before)) {
        return CPT_OK;
    }
    entered = find_entered(spans, number, start_ns);
    if (entered == CPTI_SPAN_NONE) {
        return CPT_OK;
    }
    frame = spans->nodes[entered].frame;
    depth = cpt_path_frame(path, frame)->depth;
    at = cpt_path_frame(path, before);
    if (at->depth < depth || depth == CPT_PATH_DEPTH_MAX) {
        return CPT_OK; /* the deepest frame is of all that is deeper, too */
    }
    if (at->kind == CPT_KIND_NETWORK && at->parent == frame &&
        cpti_spans_role(spans, entered) == CPTI_SPAN_CALLEE) {
        return CPT_OK; /* the way to the callee */
    }
    for (; at->depth > depth; at = cpt_path_frame(path, before)) {
        before = at->parent;
    }
    return before == frame ? cpt_path_label_number(path, CPT_LABEL_AGAIN, depth)
                           : CPT_OK;
}

void cpti_spans_split(struct cpti_spans *spans, cpti_span_marks_fn marks, void *context)
{
    spans->marks = marks;
    spans->marks_context = context;
}

/* Appends the part of @section of span @span between two of its marks; NULL: there is
 * none on that side. */
static cpt_status append_part(struct cpti_spans *spans, struct cpt_path *path,
                              const struct cpti_section *part,
                              const struct cpti_span_mark *before,
                              const struct cpti_span_mark *after)
{
    static const char arrow[] = "→";
    struct cpti_span_frame frame;
    struct cpt_segment segment = {.duration_ns = part->end_ns - part->start_ns,
                                  .count = 1};
    char text[4 * (CPT_NAME_BYTES_MAX + 1)];
    size_t bytes = 0;
    cpt_status status = CPT_OK;

    cpti_spans_frame(spans, part->span, &frame);
    bytes = put(text, 0, frame.service);
    bytes = put(text, bytes, cpt_bytes_of(": "));
    bytes = before != NULL ? put(text, bytes, before->name) : bytes;
    bytes = put(text, bytes, cpt_bytes_of(arrow));
    bytes = after != NULL ? put(text, bytes, after->name) : bytes;
    status = cpt_path_frame_add(path, spans->nodes[part->span].frame,
                                (struct cpt_bytes){text, bytes}, CPT_KIND_WORK,
                                &segment.frame);
    return status == CPT_OK ? cpt_path_append(path, segment) : status;
}

/* Appends @section, own time of its span, split at the marks in it. */
static cpt_status append_split(struct cpti_spans *spans, struct cpt_path *path,
                               const struct cpti_section *section,
                               const struct cpti_span_mark *marks, size_t count)
{
    struct cpti_section part = *section;
    size_t next = 0;
    cpt_status status = CPT_OK;

    while (next < count && marks[next].time_ns <= section->start_ns) {
        next++;
    }
    while (status == CPT_OK && part.start_ns < section->end_ns) {
        const bool is_inside = next < count && marks[next].time_ns < section->end_ns;

        part.end_ns = is_inside ? marks[next].time_ns : section->end_ns;
        if (part.end_ns > part.start_ns) {
            status = append_part(spans, path, &part, next > 0 ? &marks[next - 1] : NULL,
                                 next < count ? &marks[next] : NULL);
        }
        part.start_ns = part.end_ns;
        next++;
    }
    return status;
}

cpt_status cpti_spans_append(struct cpti_spans *spans, struct cpt_path *path,
                             const struct cpti_section *section)
{
    struct cpt_segment segment = {.duration_ns = section->end_ns - section->start_ns,
                                  .count = 1};
    unsigned kind =
        spans->mode == CPTI_SPANS_EXACT && spans->items[section->span].is_wait
            ? cpti_span_wait_kind(&spans->items[section->span])
            : CPT_KIND_WORK;
    const bool is_part = kind != CPT_KIND_WORK; /* of its parent */
    const uint32_t span = is_part ? spans->nodes[section->span].parent : section->span;
    const struct cpti_span_mark *marks = NULL;
    size_t count = 0;
    cpt_status status = frames_make(spans, path, span);

    segment.frame = spans->nodes[span].frame;
    if (!is_part && cpti_spans_has(spans, span, CPTI_SPAN_IS_BLIND)) {
        kind = CPT_KIND_BLIND_SPOT;
        segment.reason = CPT_REASON_UNSUPPORTED;
    } else if (!is_part && cpti_spans_has(spans, span, CPTI_SPAN_IS_CALL)) {
        kind = CPT_KIND_NETWORK;
    }
    if (status == CPT_OK && kind == CPT_KIND_WORK && spans->marks != NULL) {
        count = spans->marks(spans->marks_context, span, &marks);
    }
    if (count > 0) {
        return append_split(spans, path, section, marks, count);
    }
    if (status == CPT_OK) {
        status = append_below(path, segment, kind);
    }
    return status == CPT_OK && spans->nodes[span].start_ns == section->start_ns
               ? mark_again(spans, path, span, section->start_ns)
               : status;
}

cpt_status cpti_spans_path(struct cpti_spans *spans, struct cpt_path *path)
{
    cpt_status status = CPT_OK;

    if (!spans->is_exact) {
        cpt_path_flags_add(path, CPT_PATH_APPROXIMATE);
    }
    for (size_t i = 0; i < spans->count; i++) {
        spans->nodes[i].frame = CPT_FRAME_NONE;
    }
    for (size_t i = 0; i < spans->section_count && status == CPT_OK; i++) {
        status = cpti_spans_append(spans, path, &spans->sections[i]);
    }
    return status;
}
