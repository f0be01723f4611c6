/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_fit_model.c - the order of folding against a simple, slow model
 *
 * The model ignores bytes. It folds the smallest leaf of a tree, searching the whole
 * tree each time, until nothing is left to fold, and writes down the result of every
 * step. A path encoded within a budget must equal one of these steps, and a later one
 * the smaller the budget is.
 */
#include "wire/cpt_metadata.h"

#include "tests/support/suites.h"
#include "tests/unit/wire/wire_paths.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 64, STEPS_MAX = 64 };

struct node {
    int parent; /* -1: a root */
    char name[64];
    unsigned kind;
    int depth;
    uint64_t sum_ns;
    uint64_t count;
};

struct model {
    struct node nodes[2 * NODES_MAX];
    int node_count;
};

static struct model model_of(const struct cpt_path *path)
{
    struct model model = {.node_count = (int)cpt_path_frame_count(path)};

    for (int i = 0; i < model.node_count; i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, (uint32_t)i);
        const struct cpt_bytes name = cpt_path_frame_name(path, (uint32_t)i);
        struct node *node = &model.nodes[i];

        node->parent = frame->parent == CPT_FRAME_NONE ? -1 : (int)frame->parent;
        snprintf(node->name, sizeof node->name, "%.*s", (int)name.bytes, name.data);
        node->kind = frame->kind;
        node->depth = frame->depth;
    }
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        model.nodes[segment->frame].sum_ns += segment->duration_ns;
        model.nodes[segment->frame].count += segment->count;
    }
    return model;
}

/* The time of a node and of all below it; a node without time is not in the tree. */
static uint64_t whole_ns(const struct model *model, int index)
{
    uint64_t sum_ns = model->nodes[index].sum_ns;

    for (int i = 0; i < model->node_count; i++) {
        if (model->nodes[i].parent == index) {
            sum_ns += whole_ns(model, i);
        }
    }
    return sum_ns;
}

static int is_folded(const struct node *node)
{
    return node->kind == CPT_KIND_FOLDED && node->name[0] == '\0' && node->parent >= 0;
}

/* Children that are in the tree; with @but_folded without ‹folded› leaves. */
static int count_children(const struct model *model, int index, int but_folded)
{
    int count = 0;

    for (int i = 0; i < model->node_count; i++) {
        count += model->nodes[i].parent == index && whole_ns(model, i) != 0 &&
                 !(but_folded && is_folded(&model->nodes[i]) &&
                   count_children(model, i, 0) == 0);
    }
    return count;
}

static int is_leaf(const struct model *model, int index)
{
    const struct node *node = &model->nodes[index];

    return node->parent >= 0 && whole_ns(model, index) != 0 &&
           !(is_folded(node) && count_children(model, index, 0) == 0) &&
           count_children(model, index, 1) == 0;
}

/* Frames root first, by name and then by kind. */
static int compare_stacks(const struct model *model, int left, int right)
{
    const struct node *nodes = model->nodes;
    int order = 0;

    if (nodes[left].depth > nodes[right].depth) {
        order = compare_stacks(model, nodes[left].parent, right);
        return order != 0 ? order : 1;
    }
    if (nodes[left].depth < nodes[right].depth) {
        order = compare_stacks(model, left, nodes[right].parent);
        return order != 0 ? order : -1;
    }
    if (nodes[left].parent >= 0) {
        order = compare_stacks(model, nodes[left].parent, nodes[right].parent);
    }
    if (order == 0) {
        order = strcmp(nodes[left].name, nodes[right].name);
    }
    return order != 0 ? order : (int)nodes[left].kind - (int)nodes[right].kind;
}

static int smallest_leaf(const struct model *model)
{
    int smallest = -1;

    for (int i = 0; i < model->node_count; i++) {
        if (!is_leaf(model, i)) {
            continue;
        }
        if (smallest < 0 || whole_ns(model, i) < whole_ns(model, smallest) ||
            (whole_ns(model, i) == whole_ns(model, smallest) &&
             compare_stacks(model, i, smallest) < 0)) {
            smallest = i;
        }
    }
    return smallest;
}

static int folded_child(struct model *model, int parent)
{
    for (int i = 0; i < model->node_count; i++) {
        if (model->nodes[i].parent == parent && is_folded(&model->nodes[i])) {
            return i;
        }
    }
    model->nodes[model->node_count] =
        (struct node){.parent = parent,
                      .kind = CPT_KIND_FOLDED,
                      .depth = model->nodes[parent].depth + 1};
    return model->node_count++;
}

static void fold(struct model *model, int leaf)
{
    const int target = folded_child(model, model->nodes[leaf].parent);

    for (int i = 0; i < model->node_count; i++) {
        if ((i == leaf || model->nodes[i].parent == leaf) && i != target) {
            model->nodes[target].sum_ns += model->nodes[i].sum_ns;
            model->nodes[target].count += model->nodes[i].count;
            model->nodes[i].sum_ns = 0;
            model->nodes[i].count = 0;
        }
    }
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* A line for each stack with time of its own, sorted. free() it. */
static char *model_text(const struct model *model)
{
    char *lines[2 * NODES_MAX];
    size_t line_count = 0;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    for (int i = 0; i < model->node_count; i++) {
        char *line = NULL;
        size_t line_bytes = 0;
        FILE *line_out = NULL;

        if (model->nodes[i].sum_ns == 0) {
            continue;
        }
        line_out = open_memstream(&line, &line_bytes);
        for (int n = i; n >= 0; n = model->nodes[n].parent) {
            fprintf(line_out, "%s/%u;", model->nodes[n].name, model->nodes[n].kind);
        }
        fprintf(line_out, " %" PRIu64 " x%" PRIu64 "\n", model->nodes[i].sum_ns,
                model->nodes[i].count);
        fclose(line_out);
        lines[line_count++] = line;
    }
    qsort(lines, line_count, sizeof lines[0], compare_lines);
    for (size_t i = 0; i < line_count; i++) {
        fputs(lines[i], out);
        free(lines[i]);
    }
    fclose(out);
    return text;
}

/* The result of every step; the first is before any folding. */
static int all_steps(const struct cpt_path *path, char *steps[STEPS_MAX])
{
    struct model model = model_of(path);
    int count = 0;
    int leaf = 0;

    do {
        steps[count++] = model_text(&model);
        leaf = smallest_leaf(&model);
        if (leaf >= 0) {
            fold(&model, leaf);
        }
    } while (leaf >= 0 && count < STEPS_MAX);
    return count;
}

/* The first step from @from on that equals @path, or -1. */
static int find_step(const struct cpt_path *path, char *const steps[STEPS_MAX],
                     int count, int from)
{
    const struct model model = model_of(path);
    char *text = model_text(&model);

    while (from < count && strcmp(text, steps[from]) != 0) {
        from++;
    }
    free(text);
    return from < count ? from : -1;
}

static void check_budgets(const struct cpt_path *path)
{
    char *steps[STEPS_MAX];
    const int step_count = all_steps(path, steps);
    struct cpt_path *back = cpt_path_new(NULL);
    int step = 0;

    for (size_t bytes_max = 1200; bytes_max > 16 && step >= 0; bytes_max--) {
        const struct cpt_metadata_encode_options options = {
            .struct_bytes = sizeof options, .bytes_max = bytes_max};
        unsigned char *data = NULL;
        size_t bytes = 0;
        int fit = -1;

        CU_ASSERT_EQUAL_FATAL(cpt_metadata_encode(path, &options, &data, &bytes, &fit),
                              CPT_OK);
        if (fit != CPT_FIT_SUM) {
            cpt_path_reset(back);
            CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, back, NULL), CPT_OK);
            step = find_step(back, steps, step_count, step);
            CU_ASSERT_TRUE(step >= 0);
            CU_ASSERT_TRUE(step <= 0 || fit == CPT_FIT_FOLDED);
        }
        cpt_alloc_free(NULL, data);
    }
    for (int i = 0; i < step_count; i++) {
        free(steps[i]);
    }
    cpt_path_free(back);
}

static void test_folding_against_the_model(void)
{
    struct dice dice = dice_new("model");
    struct cpt_path *path = cpt_path_new(NULL);

    for (int round = 0; round < 100; round++) {
        const struct path_shape shape = {.frames_max = 2 + dice_throw(&dice, 20),
                                         .segments_max = 1 + dice_throw(&dice, 30),
                                         .name_count = 1 + dice_throw(&dice, 12),
                                         .is_odd = dice_throw(&dice, 2) != 0,
                                         .has_drags = dice_throw(&dice, 2) != 0};

        cpt_path_reset(path);
        random_path(&dice, &shape, path);
        check_budgets(path);
    }
    cpt_path_free(path);
}

/* A ‹folded› frame sent by a callee, with a frame below it, gets the time of its
 * siblings before it is folded itself: its sum at that moment decides. */
static void test_a_folded_frame_grows_while_it_waits(void)
{
    static const struct {
        uint32_t parent;
        const char *name;
        unsigned kind;
        uint64_t duration_ns;
    } frames[] = {
        {CPT_FRAME_NONE, "A: /", CPT_KIND_WORK, 100},
        {0, "", CPT_KIND_FOLDED, 2},
        {1, "A: first to go", CPT_KIND_WORK, 1},
        {0, "A: second", CPT_KIND_WORK, 2},
        {0, "A: third, not the folded one", CPT_KIND_WORK, 4},
    };
    struct cpt_path *path = cpt_path_new(NULL);

    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        uint32_t frame = 0;

        CU_ASSERT_EQUAL(cpt_path_frame_add(path, frames[i].parent,
                                           cpt_bytes_of(frames[i].name), frames[i].kind,
                                           &frame),
                        CPT_OK);
        CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, frames[i].duration_ns), CPT_OK);
    }
    check_budgets(path);
    cpt_path_free(path);
}

/* Equal sums: only the bytes of the stacks decide. */
static void test_ties_against_the_model(void)
{
    struct dice dice = dice_new("ties");

    for (int round = 0; round < 50; round++) {
        struct cpt_path *path = cpt_path_new(NULL);

        for (uint32_t i = 0; i < 16; i++) {
            char name[32];
            uint32_t frame = 0;

            snprintf(name, sizeof name, "S: component %u",
                     (unsigned)dice_throw(&dice, 100));
            CU_ASSERT_EQUAL(
                cpt_path_frame_add(
                    path,
                    i == 0 ? CPT_FRAME_NONE
                           : (uint32_t)dice_throw(&dice, cpt_path_frame_count(path)),
                    cpt_bytes_of(name), CPT_KIND_WORK, &frame),
                CPT_OK);
            CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 1000), CPT_OK);
        }
        check_budgets(path);
        cpt_path_free(path);
    }
}

CU_TestInfo cpt_fit_model_tests[] = {
    {"random paths fold as the model does", test_folding_against_the_model},
    {"equal sums fold as the model does", test_ties_against_the_model},
    {"a folded frame grows while it waits", test_a_folded_frame_grows_while_it_waits},
    CU_TEST_INFO_NULL,
};
