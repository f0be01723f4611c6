/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* trace_builder.c - see trace_builder.h */
#include "tests/support/trace_builder.h"

#include <CUnit/CUnit.h>

#include <stdio.h>
#include <string.h>

struct cpt_trace_task trace_task(const char *name, struct cpt_trace_task *starter,
                                 uint64_t start_ms, uint64_t end_ms)
{
    return (struct cpt_trace_task){.name = cpt_bytes_of(name),
                                   .starter = starter,
                                   .unblocker = starter,
                                   .ready_ns = start_ms * MS,
                                   .start_ns = start_ms * MS,
                                   .end_ns = end_ms * MS,
                                   .begin = starter != NULL ? CPT_BEGIN_TASK
                                                            : CPT_BEGIN_REQUEST};
}

struct cpt_trace_task trace_next(const char *name, struct cpt_trace_task *unblocker,
                                 uint64_t ready_ms, uint64_t start_ms, uint64_t end_ms)
{
    return (struct cpt_trace_task){.name = cpt_bytes_of(name),
                                   .unblocker = unblocker,
                                   .ready_ns = ready_ms * MS,
                                   .start_ns = start_ms * MS,
                                   .end_ns = end_ms * MS,
                                   .begin = CPT_BEGIN_TASK};
}

struct cpt_trace_call trace_call(const char *name, struct cpt_trace_task *issuer,
                                 uint64_t issue_ms, uint64_t arrive_ms)
{
    return (struct cpt_trace_call){.name = cpt_bytes_of(name),
                                   .issuer = issuer,
                                   .issue_ns = issue_ms * MS,
                                   .arrive_ns = arrive_ms * MS};
}

void trace_wait(struct cpt_trace_task *waiting, struct cpt_trace_await *await,
                struct cpt_trace_call *on_call, struct cpt_trace_task *on_task,
                uint64_t block_ms, uint64_t arrive_ms)
{
    *await = (struct cpt_trace_await){
        .previous = waiting->last_await,
        .call = on_call,
        .task = on_task,
        .block_ns = block_ms * MS,
        .arrive_ns = arrive_ms * MS,
        .resume_ns = (arrive_ms > block_ms ? arrive_ms : block_ms) * MS};
    waiting->last_await = await;
}

/* Text that is cut where its buffer ends. */
struct line {
    char data[2048];
    size_t bytes;
};

static void put(struct line *line, const char *text)
{
    const int written =
        snprintf(line->data + line->bytes, sizeof line->data - line->bytes, "%s", text);

    line->bytes += (size_t)written;
    CU_ASSERT_FATAL(line->bytes < sizeof line->data);
}

static void put_number(struct line *line, uint64_t number)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    put(line, digits);
}

static void put_name(struct line *line, struct cpt_bytes name)
{
    char text[300];

    (void)cpt_text_name(name, text, sizeof text);
    put(line, text);
}

static void put_labels(struct line *line, const struct cpt_path *path, size_t segment)
{
    const char *before = " {";

    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);
        int takes_name = 0;

        if (label->segment != segment) {
            continue;
        }
        put(line, before);
        before = ", ";
        put(line, cpt_label_word(label->key, &takes_name));
        put(line, "=");
        if (label->is_name) {
            put_name(line, cpt_path_name(path, (cpt_name_id)label->value));
        } else {
            const int is_time = label->key == CPT_LABEL_MARGIN ||
                                label->key == CPT_LABEL_EXCESS ||
                                label->key == CPT_LABEL_RUN_DELAY;

            put_number(line, is_time ? label->value / MS : label->value);
        }
    }
    if (before[0] == ',') {
        put(line, "}");
    }
}

const char *trace_path_text(const struct cpt_path *path)
{
    static struct line line;

    line.bytes = 0;
    line.data[0] = '\0';
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        char stack[1024];

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        put(&line, i != 0 ? ", " : "");
        put(&line, strncmp(stack, "A: /;", 5) == 0 ? stack + 5 : stack);
        put(&line, " ");
        put_number(&line, segment->duration_ns / MS);
        if (segment->reason != CPT_REASON_NONE) {
            put(&line, " (");
            put(&line, cpt_reason_word(segment->reason));
            put(&line, ")");
        }
        put(&line, (segment->flags & CPT_SEGMENT_OVERCOUNT) != 0 ? " !" : "");
        if (cpt_path_drag(path, i) != CPT_DRAG_UNKNOWN) {
            put(&line, " ~");
            put_number(&line, cpt_path_drag(path, i) / MS);
        }
        put_labels(&line, path, i);
    }
    return line.data;
}

void trace_expect(struct cpt_trace *trace, const char *expected)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};

    trace->entry = cpt_bytes_of("A: /");
    CU_ASSERT_EQUAL(cpt_critical_path(NULL, trace, path, &error), CPT_OK);
    CU_ASSERT_EQUAL(
        cpt_path_check(path, trace->response_ns - trace->arrival_ns, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(trace_path_text(path), expected);
    if (strcmp(trace_path_text(path), expected) != 0) {
        printf("\n  got      %s\n  expected %s\n", trace_path_text(path), expected);
    }
    cpt_path_free(path);
}
