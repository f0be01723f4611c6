/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* wire_paths.c - see wire_paths.h */
#include "tests/unit/wire/wire_paths.h"

#include <CUnit/CUnit.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct dice dice_new(const char *test)
{
    const char *given = getenv("CPT_TEST_SEED");
    struct dice dice = {given != NULL ? strtoull(given, NULL, 10)
                                      : (uint64_t)time(NULL)};

    printf("(%s: CPT_TEST_SEED=%" PRIu64 ") ", test, dice.state);
    return dice;
}

uint64_t dice_throw(struct dice *dice, uint64_t sides)
{
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % sides;
}

static unsigned random_kind(struct dice *dice, bool is_odd)
{
    if (dice_throw(dice, 4) != 0) {
        return CPT_KIND_WORK;
    }
    return (unsigned)dice_throw(dice, is_odd ? CPT_KIND_MAX + 1 : 6);
}

static uint32_t random_frame(struct dice *dice, const struct path_shape *shape,
                             struct cpt_path *path)
{
    const size_t count = cpt_path_frame_count(path);
    uint32_t parent = count == 0 ? CPT_FRAME_NONE : (uint32_t)dice_throw(dice, count);
    unsigned kind = random_kind(dice, shape->is_odd);
    char name[64] = "";
    uint32_t frame = 0;

    if (count >= shape->frames_max) {
        return parent;
    }
    if (shape->is_odd && dice_throw(dice, 8) == 0) {
        parent = CPT_FRAME_NONE;
    }
    if (shape->is_odd && dice_throw(dice, 8) == 0) {
        kind = CPT_KIND_FOLDED;
    }
    if (kind == CPT_KIND_WORK || dice_throw(dice, 2) == 0) {
        const unsigned number = (unsigned)dice_throw(dice, shape->name_count);

        snprintf(name, sizeof name, "S%u: component%.*s %u", number % 5,
                 (int)(number % 16), "aaaaaaaaaaaaaaa", number);
    }
    CU_ASSERT_EQUAL_FATAL(
        cpt_path_frame_add(path, parent, cpt_bytes_of(name), kind, &frame), CPT_OK);
    return frame;
}

static void random_label(struct dice *dice, struct cpt_path *path)
{
    switch (dice_throw(dice, 4)) {
    case 0:
        CU_ASSERT_EQUAL(
            cpt_path_label_number(path, CPT_LABEL_ATTEMPT, dice_throw(dice, 9)),
            CPT_OK);
        break;
    case 1:
        CU_ASSERT_EQUAL(
            cpt_path_label_number(path, CPT_LABEL_EXCESS, dice_throw(dice, UINT64_MAX)),
            CPT_OK);
        break;
    case 2:
        CU_ASSERT_EQUAL(
            cpt_path_label_name(path, CPT_LABEL_HOLDER, cpt_bytes_of("S1: the holder")),
            CPT_OK);
        break;
    default:
        break;
    }
}

/* Of the last segment: all, a part, the same as others or none of it, or not known. */
static void random_drag(struct dice *dice, struct cpt_path *path)
{
    const size_t last = cpt_path_segment_count(path) - 1;
    const uint64_t duration_ns = cpt_path_segment(path, last)->duration_ns;
    uint64_t drag_ns = CPT_DRAG_UNKNOWN;

    switch (dice_throw(dice, 5)) {
    case 0:
        drag_ns = duration_ns;
        break;
    case 1:
        drag_ns = dice_throw(dice, duration_ns + 1);
        break;
    case 2:
        drag_ns = duration_ns < 1000 ? duration_ns : 1000;
        break;
    case 3:
        drag_ns = 0;
        break;
    default:
        break;
    }
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, last, drag_ns), CPT_OK);
}

void random_path(struct dice *dice, const struct path_shape *shape,
                 struct cpt_path *path)
{
    const size_t segment_count = 1 + (size_t)dice_throw(dice, shape->segments_max);

    for (size_t i = 0; i < segment_count; i++) {
        struct cpt_segment segment = {.frame = random_frame(dice, shape, path),
                                      .count = 1};

        segment.duration_ns = 1 + dice_throw(dice, (uint64_t)1 << dice_throw(dice, 34));
        if (shape->is_odd) {
            segment.count = 1 + (uint32_t)dice_throw(dice, 3);
            segment.flags = (uint16_t)dice_throw(dice, 8);
            segment.reason = (uint16_t)dice_throw(dice, CPT_REASON_MAX + 1);
        }
        CU_ASSERT_EQUAL_FATAL(cpt_path_append(path, segment), CPT_OK);
        for (size_t n = shape->has_labels ? dice_throw(dice, 3) : 0; n > 0; n--) {
            random_label(dice, path);
        }
        if (shape->has_drags) {
            random_drag(dice, path);
        }
    }
    if (shape->is_odd) {
        cpt_path_flags_add(path, (unsigned)dice_throw(dice, 16));
    }
}

static uint32_t add(struct cpt_path *path, uint32_t parent, const char *name,
                    unsigned kind)
{
    uint32_t frame = 0;

    CU_ASSERT_EQUAL_FATAL(
        cpt_path_frame_add(path, parent, cpt_bytes_of(name), kind, &frame), CPT_OK);
    return frame;
}

struct cpt_path *document_path(const struct cpt_alloc *alloc)
{
    struct cpt_path *path = cpt_path_new(alloc);
    uint32_t entry = 0;
    uint32_t index = 0;
    uint32_t lookup = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    entry = add(path, CPT_FRAME_NONE, "A: /", CPT_KIND_WORK);
    CU_ASSERT_EQUAL(
        cpt_path_append_ns(path, add(path, entry, "A: parse", CPT_KIND_WORK), 200000),
        CPT_OK);
    index = add(path, entry, "A: index", CPT_KIND_WORK);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, index, 40000), CPT_OK);
    lookup = add(path, index, "B: Lookup", CPT_KIND_WORK);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, lookup, 230000), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 2), CPT_OK);
    CU_ASSERT_EQUAL(
        cpt_path_append_ns(path, add(path, lookup, "", CPT_KIND_NETWORK), 30000),
        CPT_OK);
    CU_ASSERT_EQUAL(
        cpt_path_append_ns(path, add(path, entry, "A: rank", CPT_KIND_WORK), 150000),
        CPT_OK);
    CU_ASSERT_EQUAL(
        cpt_path_append_ns(path, add(path, entry, "A: render", CPT_KIND_WORK), 250000),
        CPT_OK);
    return path;
}

static void print_labels(FILE *out, const struct cpt_path *path, size_t segment)
{
    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);

        if (label->segment == segment && label->is_name) {
            const struct cpt_bytes name =
                cpt_path_name(path, (cpt_name_id)label->value);

            fprintf(out, " %u='%.*s'", label->key, (int)name.bytes, name.data);
        } else if (label->segment == segment) {
            fprintf(out, " %u=%" PRIu64, label->key, label->value);
        }
    }
}

/* Leaf first, with kinds as numbers, so that nothing is lost. */
static void print_stack(FILE *out, const struct cpt_path *path, uint32_t frame)
{
    for (; frame != CPT_FRAME_NONE; frame = cpt_path_frame(path, frame)->parent) {
        const struct cpt_bytes name = cpt_path_frame_name(path, frame);

        fprintf(out, "%.*s/%u;", (int)name.bytes, name.bytes != 0 ? name.data : "",
                cpt_path_frame(path, frame)->kind);
    }
}

char *path_text(const struct cpt_path *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fprintf(out, "flags %u\n", cpt_path_flags(path));
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        print_stack(out, path, segment->frame);
        fprintf(out, " %" PRIu64 " x%u f%u r%u", segment->duration_ns, segment->count,
                segment->flags, segment->reason);
        print_labels(out, path, i);
        if (cpt_path_drag(path, i) != CPT_DRAG_UNKNOWN) {
            fprintf(out, " ~%" PRIu64, cpt_path_drag(path, i));
        }
        fputc('\n', out);
    }
    fclose(out);
    return text;
}

bool same_paths(const struct cpt_path *left, const struct cpt_path *right)
{
    char *left_text = path_text(left);
    char *right_text = path_text(right);
    const bool is_same = strcmp(left_text, right_text) == 0;

    if (!is_same) {
        printf("\n--- is not the same:\n%s---\n%s---\n", left_text, right_text);
    }
    free(left_text);
    free(right_text);
    return is_same;
}
