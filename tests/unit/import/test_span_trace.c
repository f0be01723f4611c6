/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_span_trace.c - the dag of all spans of a request
 *
 * Where no overlap is cut, each start and end is the recorded one, and the longest path
 * has, by frame, the times of the walk, which shares no code with it.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"

#include "cpt/cpt_path.h"
#include "import/spans/span_trace.h"

#include <CUnit/CUnit.h>

#include <stdio.h>
#include <string.h>

enum {
    CASES = 3000,
    SPANS = 14,
    TEXT_BYTES = 64,
    FRAMES_MAX = 64,
    SHORTEST = 1000,
    ROOMY = 20000,
    NUMBERS = 16, /* the last digit of an end tells spans apart, so none is another's */
    COARSE = 50000 /* of times that are often equal: above 1 % of all visits */
};

enum shape { IS_NEAT, IS_WILD, IS_COARSE, SHAPE_COUNT };

/* --- Times by frame --- */

struct frame_time {
    char name[TEXT_BYTES]; /* "b: op", "b: op ‹network›" */
    uint64_t ns;
};

struct frame_times {
    struct frame_time items[FRAMES_MAX];
    size_t count;
};

static void add_time(struct frame_times *times, struct cpt_bytes name, bool is_network,
                     uint64_t ns)
{
    char text[TEXT_BYTES];

    if (ns == 0) {
        return;
    }
    (void)snprintf(text, sizeof text, "%.*s%s", (int)name.bytes, name.data,
                   is_network ? " ~" : "");
    for (size_t i = 0; i < times->count; i++) {
        if (strcmp(times->items[i].name, text) == 0) {
            times->items[i].ns += ns;
            return;
        }
    }
    CU_ASSERT_FATAL(times->count < FRAMES_MAX);
    (void)strcpy(times->items[times->count].name, text);
    times->items[times->count++].ns = ns;
}

static uint64_t time_of(const struct frame_times *times, const char *name)
{
    for (size_t i = 0; i < times->count; i++) {
        if (strcmp(times->items[i].name, name) == 0) {
            return times->items[i].ns;
        }
    }
    return 0;
}

/* By how much @left has more than @right, in all frames together. */
static uint64_t excess(const struct frame_times *left, const struct frame_times *right)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < left->count; i++) {
        const uint64_t other_ns = time_of(right, left->items[i].name);

        ns += left->items[i].ns > other_ns ? left->items[i].ns - other_ns : 0;
    }
    return ns;
}

static bool are_equal(const struct frame_times *left, const struct frame_times *right)
{
    return excess(left, right) == 0 && excess(right, left) == 0;
}

static void print_times(const char *what, const struct frame_times *times)
{
    (void)printf("%s:", what);
    for (size_t i = 0; i < times->count; i++) {
        (void)printf(" %s %u", times->items[i].name, (unsigned)times->items[i].ns);
    }
    (void)printf("\n");
}

/* The path of the walk. */
static void path_times(struct cpti_spans *spans, struct frame_times *times)
{
    struct cpt_path *path = cpt_path_new(NULL);

    memset(times, 0, sizeof *times);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_path(spans, path), CPT_OK);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const struct cpt_frame *frame = cpt_path_frame(path, segment->frame);
        const bool is_network = frame->kind == CPT_KIND_NETWORK;

        frame = is_network ? cpt_path_frame(path, frame->parent) : frame;
        add_time(times, cpt_path_name(path, frame->name), is_network,
                 segment->duration_ns);
    }
    cpt_path_free(path);
}

/* --- The dag --- */

struct seen {
    struct frame_times path;
    /* of lines that are tasks, in their order */
    char names[SPANS + 1][TEXT_BYTES];
    uint64_t starts[SPANS + 1];
    uint64_t ends[SPANS + 1];
    size_t task_count;
    uint64_t latency_ns;
    uint64_t longest_ns;
    unsigned evidence;
};

static cpt_status look(void *context, const struct cpt_dag *dag,
                       const struct cpt_dag_recorded *recorded, uint64_t latency_ns)
{
    const struct cpt_dag_shape *shape = &recorded->shape;
    struct cpt_dag_measure *measures =
        cpt_alloc_array(NULL, NULL, shape->node_count, sizeof *measures);
    struct seen *seen = context;
    uint32_t line = CPT_DAG_NONE;

    memset(seen, 0, sizeof *seen);
    seen->latency_ns = latency_ns;
    seen->longest_ns = cpt_dag_latency_ns(dag);
    seen->evidence = recorded->evidence;
    CU_ASSERT_PTR_NOT_NULL_FATAL(measures);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_measure(dag, measures), CPT_OK);
    for (uint32_t i = 0; i < shape->node_count; i++) {
        const struct cpt_dag_node *node = &shape->nodes[i];
        const struct cpt_bytes name = recorded->frames[node->frame].name;

        if ((measures[i].flags & CPT_DAG_ON_PATH) != 0) {
            add_time(&seen->path, name, node->kind == CPT_DAG_NETWORK,
                     node->duration_ns);
        }
        if (recorded->lines[recorded->node_lines[i]].is_call != 0) {
            continue;
        }
        if (recorded->node_lines[i] != line) {
            line = recorded->node_lines[i];
            CU_ASSERT_FATAL(seen->task_count <= SPANS);
            (void)snprintf(seen->names[seen->task_count], TEXT_BYTES, "%.*s",
                           (int)name.bytes, name.data);
            seen->starts[seen->task_count++] = measures[i].start_ns;
        }
        seen->ends[seen->task_count - 1] = measures[i].start_ns + node->duration_ns;
    }
    cpt_alloc_free(NULL, measures);
    return CPT_OK;
}

static void see(const char *const *lines, struct seen *seen, struct frame_times *walked,
                struct cpti_spans_cut *cut)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;

    CU_ASSERT_PTR_NOT_NULL_FATAL(spans);
    span_list_add(spans, lines);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
    path_times(spans, walked);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_inferred_dag(spans, look, seen, cut), CPT_OK);
    cpti_spans_free(spans);
}

/* --- By hand --- */

/* The example of span_trace.c. */
static void test_visits_and_calls(void)
{
    static const char *const lines[] = {
        "a - 0 1000 front: / server",     "b a 50 900 front: render",
        "c b 100 600 front: get client",  "d c 150 550 cart: get server",
        "e a 700 950 stock: find server", NULL};
    struct frame_times walked;
    struct seen seen;
    struct cpti_spans_cut cut = {0, 0};

    see(lines, &seen, &walked, &cut);
    CU_ASSERT_EQUAL(seen.latency_ns, 1000);
    CU_ASSERT_EQUAL(seen.longest_ns, 1000);
    CU_ASSERT_EQUAL(seen.evidence, CPT_EVIDENCE_INFERRED);
    CU_ASSERT_EQUAL(cut.count, 0);
    CU_ASSERT_EQUAL(seen.task_count, 3);
    print_times("on the path", &seen.path);
    {
        const struct frame_times wanted = {.items = {{"front: /", 250},
                                                     {"cart: get", 400},
                                                     {"cart: get ~", 100},
                                                     {"stock: find", 250}},
                                           .count = 4};

        CU_ASSERT(are_equal(&seen.path, &wanted));
    }
}

/* Two attempts of one call are calls one after the other; what the caller does between
 * them is the network's, as on the path. */
/* Whom spans within visits are told to. */
static void note_inside(void *context, struct cpt_bytes name, struct cpt_bytes visit)
{
    char *text = context;
    const size_t used = strlen(text);

    (void)snprintf(text + used, ROOMY - used, "%.*s in %.*s\n", (int)name.bytes,
                   name.data, (int)visit.bytes, visit.data);
}

static cpt_status see_nothing(void *context, const struct cpt_dag *dag,
                              const struct cpt_dag_recorded *recorded,
                              uint64_t latency_ns)
{
    (void)context;
    (void)dag;
    (void)recorded;
    (void)latency_ns;
    return CPT_OK;
}

/* Those that stand for calls are frames, or have one; those of other services, too. */
static void test_inside(void)
{
    static const char *const lines[] = {
        "a - 0 1000 front: / server",      "b a 50 900 front: render",
        "c b 100 600 front: get client",   "d c 150 550 cart: get server",
        "e a 700 950 stock: find server",  "f d 200 300 cart: parse",
        "g f 220 240 cart: lex",           "h b 610 650 front: ask client",
        "i e 710 720 front: again server", NULL};
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_cut cut = {0, 0};
    struct cpti_spans_report report;
    char text[ROOMY] = "";

    CU_ASSERT_PTR_NOT_NULL_FATAL(spans);
    cpti_spans_watch_inside(spans, note_inside, text);
    cpti_spans_reset(spans);
    span_list_add(spans, lines);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_inferred_dag(spans, see_nothing, NULL, &cut), CPT_OK);
    CU_ASSERT_STRING_EQUAL(text, "front: render in front: /\n"
                                 "cart: parse in cart: get\n"
                                 "cart: lex in cart: get\n");
    cpti_spans_free(spans);
}

static void test_attempts(void)
{
    static const char *const lines[] = {
        "a - 0 1000 front: / server", "c a 100 800 front: get client",
        "d c 150 300 cart: get server", "e c 400 750 cart: get server", NULL};
    struct frame_times walked;
    struct seen seen;
    struct cpti_spans_cut cut = {0, 0};

    see(lines, &seen, &walked, &cut);
    CU_ASSERT_EQUAL(seen.task_count, 3);
    CU_ASSERT_EQUAL(cut.count, 0);
    CU_ASSERT(are_equal(&seen.path, &walked));
}

/* What outlives the request, and ran beside what does not, is not waited for. */
static void test_background(void)
{
    static const char *const lines[] = {"a - 0 1000 front: / server",
                                        "b a 100 5000 mail: send server",
                                        "c a 200 900 cart: get server", NULL};
    struct frame_times walked;
    struct seen seen;
    struct cpti_spans_cut cut = {0, 0};

    see(lines, &seen, &walked, &cut);
    CU_ASSERT_EQUAL(seen.longest_ns, 1000);
    CU_ASSERT(are_equal(&seen.path, &walked));
    CU_ASSERT_EQUAL(seen.path.items[0].ns, 300);
}

/* A callee that is outside of its call, and fits into it, goes to the middle, with all
 * below it; one that was left out comes back. */
static void test_moved_callees(void)
{
    static const char *const lines[] = {
        "a - 0 900000 front: / server",
        "b a 100000 200000 front: get client", /* cart is behind it … */
        "c b 250000 310000 cart: get server",
        "d c 260000 300000 cart: ask client",
        "e d 270000 290000 stock: ask server",
        "f a 400000 500000 front: find client", /* … stock takes longer … */
        "g f 450000 650000 stock: find server",
        "h a 700000 800000 front: put client", /* … and two attempts stay */
        "i h 690000 740000 cart: put server",
        "j h 750000 830000 cart: put server",
        NULL};
    static const uint64_t starts_ns[] = {0,      100000, 120000, 130000, 140000,
                                         400000, 450000, 700000, 690000, 750000};
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;
    struct cpti_spans_cut cut = {0, 0};
    struct seen seen;
    size_t found = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(spans);
    cpti_spans_align_clocks(spans, false);
    span_list_add(spans, lines);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(report.outside, 3);
    CU_ASSERT(cpti_spans_move_callees(spans));
    for (uint32_t i = 0; i < sizeof starts_ns / sizeof starts_ns[0]; i++) {
        CU_ASSERT_EQUAL(cpti_spans_at(spans, i)->start_ns, starts_ns[i]);
    }
    CU_ASSERT_FALSE(cpti_spans_move_callees(spans));
    CU_ASSERT_EQUAL_FATAL(cpti_spans_inferred_dag(spans, look, &seen, &cut), CPT_OK);
    CU_ASSERT_EQUAL(seen.task_count, 6);
    for (size_t i = 0; i < seen.task_count; i++) {
        if (strcmp(seen.names[i], "cart: get") == 0) {
            CU_ASSERT_EQUAL(seen.starts[i], 120000);
            CU_ASSERT_EQUAL(seen.ends[i], 180000);
            found++;
        }
    }
    CU_ASSERT_EQUAL(found, 1);
    cpti_spans_free(spans);
}

/* --- At random --- */

struct tree {
    char text[SPANS][TEXT_BYTES];
    const char *lines[SPANS + 1];
    uint64_t from[SPANS];
    uint64_t to[SPANS];
    int count;
};

/* Each span is a visit of a service of its own, now and then with a client's span. */
static void make(struct tree *tree, struct test_random *random, enum shape shape)
{
    memset(tree, 0, sizeof *tree);
    tree->count = 1 + (int)test_random_below(random, SPANS - 1);
    tree->from[0] = 1000000;
    tree->to[0] = 2000000;
    for (int i = 0; i < tree->count; i++) {
        int above = i > 0 ? (int)test_random_below(random, (uint64_t)i) : -1;
        char parent[8] = "-";

        while (above > 0 && tree->to[above] - tree->from[above] < ROOMY) {
            above--;
        }
        if (i > 0) {
            const uint64_t low = tree->from[above];
            const uint64_t length = tree->to[above] - low - SHORTEST;
            const uint64_t a = low + test_random_below(random, length) + 1;
            const uint64_t b = low + test_random_below(random, length) + 1;

            tree->from[i] = a < b ? a : b;
            tree->to[i] = (a < b ? b : a) + SHORTEST;
            if (shape == IS_WILD && test_random_chance(random, 20)) {
                tree->to[i] += test_random_below(random, length / 10 + 1);
            }
            if (shape == IS_COARSE) { /* down to no time at all */
                tree->from[i] += COARSE - 1 - (tree->from[i] + COARSE - 1) % COARSE;
                tree->to[i] -= tree->to[i] % COARSE;
                tree->to[i] = tree->to[i] > tree->from[i] ? tree->to[i] : tree->from[i];
            } else {
                tree->to[i] -= NUMBERS + tree->to[i] % NUMBERS - (uint64_t)i;
            }
            (void)snprintf(parent, sizeof parent, "s%d", above);
        }
        (void)snprintf(tree->text[i], TEXT_BYTES, "s%d %s %u %u n%d: op server", i,
                       parent, (unsigned)tree->from[i], (unsigned)tree->to[i], i);
        tree->lines[i] = tree->text[i];
    }
}

/* Whether the task of span @number is where it was recorded. */
static bool is_kept(const struct tree *tree, const struct seen *seen, int number)
{
    char name[TEXT_BYTES];

    (void)snprintf(name, sizeof name, "n%d: op", number);
    for (size_t i = 0; i < seen->task_count; i++) {
        if (strcmp(seen->names[i], name) == 0) {
            return seen->starts[i] == tree->from[number] - tree->from[0] &&
                   seen->ends[i] == tree->to[number] - tree->from[0];
        }
    }
    return tree->from[number] == tree->to[number]; /* without a node */
}

static void test_dag_is_what_was_recorded(void)
{
    struct test_random random = {test_random_seed("spans as a dag")};
    size_t compared = 0;
    unsigned failed = 0;

    for (int i = 0; i < CASES && failed < 3; i++) {
        const enum shape shape = (enum shape)(i % SHAPE_COUNT);
        struct frame_times walked;
        struct tree tree;
        struct seen seen;
        struct cpti_spans_cut cut = {0, 0};
        bool is_right = true;

        make(&tree, &random, shape);
        see(tree.lines, &seen, &walked, &cut);
        is_right = seen.longest_ns == seen.latency_ns &&
                   seen.latency_ns == tree.to[0] - tree.from[0];
        if (cut.count == 0) {
            compared++;
            for (int k = 0; k < tree.count; k++) {
                is_right &= is_kept(&tree, &seen, k);
            }
            is_right &= are_equal(&seen.path, &walked);
        }
        if (!is_right) {
            failed++;
            (void)printf("case %d, cut %zu\n", i, cut.count);
            for (int k = 0; k < tree.count; k++) {
                (void)printf("  %s\n", tree.lines[k]);
            }
            print_times("walk", &walked);
            print_times("dag", &seen.path);
        }
    }
    CU_ASSERT_EQUAL(failed, 0);
    CU_ASSERT(compared > CASES / 4);
}

CU_TestInfo cpt_span_trace_tests[] = {
    {"visits and calls", test_visits_and_calls},
    {"spans within visits", test_inside},
    {"attempts", test_attempts},
    {"background", test_background},
    {"callees that are moved", test_moved_callees},
    {"a dag is what was recorded", test_dag_is_what_was_recorded},
    CU_TEST_INFO_NULL,
};
