/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_dag.c - slack, drag and gain against their definitions
 *
 * Random dags with few nodes, in which some joins wait for k of their n inputs. The
 * model runs a dag forwards, sorting the inputs of each join. What changing a node
 * would do is found by changing it and running the model again.
 */
#include "cpt/cpt_dag.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <inttypes.h>
#include <string.h>

enum { CASES = 20000, NODES_MAX = 12, EDGES_MAX = NODES_MAX * NODES_MAX, FRAMES = 4 };

/* A dag whose nodes have numbers of any order. */
static struct {
    size_t node_count;
    struct cpt_dag_node nodes[NODES_MAX];
    uint32_t label[NODES_MAX];          /* the number of the node at each place */
    bool is_edge[NODES_MAX][NODES_MAX]; /* between places, from lower to higher */
    unsigned needed[NODES_MAX];         /* how many inputs the place waits for */
    struct cpt_dag_edge edges[EDGES_MAX];
    struct cpt_dag_edge spares[EDGES_MAX];
    struct cpt_dag_shape shape;
    uint32_t end_place; /* CPT_DAG_NONE: none is the end */
} made;

/* --- The model --- */

/* Sorts the ends of the inputs of @to, ties by place, into @inputs. */
static size_t sort_inputs(size_t to, const uint64_t *finish, size_t *inputs)
{
    size_t count = 0;

    for (size_t from = 0; from < to; from++) {
        size_t at = count;

        if (!made.is_edge[from][to]) {
            continue;
        }
        for (; at != 0 && finish[inputs[at - 1]] > finish[from]; at--) {
            inputs[at] = inputs[at - 1];
        }
        inputs[at] = from;
        count++;
    }
    return count;
}

/* The latency with these durations of the nodes; when each node starts, in @start. */
static uint64_t model_run(const uint64_t *duration, uint64_t *start)
{
    uint64_t finish[NODES_MAX];
    uint64_t latest = 0;

    for (size_t i = 0; i < made.node_count; i++) {
        size_t inputs[NODES_MAX];
        const size_t count = sort_inputs(i, finish, inputs);
        const uint64_t at = count != 0 ? finish[inputs[made.needed[i] - 1]] : 0;

        if (start != NULL) {
            start[made.label[i]] = at;
        }
        finish[i] = at + duration[made.label[i]];
        latest = finish[i] > latest ? finish[i] : latest;
    }
    return made.end_place != CPT_DAG_NONE ? finish[made.end_place] : latest;
}

/* --- Random dags --- */

static void shuffle_labels(struct test_random *random)
{
    const bool is_in_order = test_random_chance(random, 30);

    for (size_t i = 0; i < made.node_count; i++) {
        made.label[i] = (uint32_t)i;
    }
    for (size_t i = made.node_count; i > 1 && !is_in_order; i--) {
        const size_t other = test_random_below(random, i);
        const uint32_t kept = made.label[i - 1];

        made.label[i - 1] = made.label[other];
        made.label[other] = kept;
    }
}

/* The inputs that counted become edges, the others spares. */
static void make_edges(const uint64_t *duration)
{
    uint64_t finish[NODES_MAX];

    made.shape.edge_count = 0;
    made.shape.spare_count = 0;
    for (size_t to = 0; to < made.node_count; to++) {
        size_t inputs[NODES_MAX];
        const size_t count = sort_inputs(to, finish, inputs);

        for (size_t i = 0; i < count; i++) {
            const struct cpt_dag_edge edge = {made.label[inputs[i]], made.label[to]};

            if (i < made.needed[to]) {
                made.edges[made.shape.edge_count++] = edge;
            } else {
                made.spares[made.shape.spare_count++] = edge;
            }
        }
        finish[to] = (count != 0 ? finish[inputs[made.needed[to] - 1]] : 0) +
                     duration[made.label[to]];
    }
}

static void make(struct test_random *random, uint64_t *duration)
{
    const unsigned density = 10 + (unsigned)test_random_below(random, 60);
    const bool has_quorums = test_random_chance(random, 50);

    memset(&made, 0, sizeof made);
    made.node_count = 1 + test_random_below(random, NODES_MAX);
    shuffle_labels(random);
    for (size_t to = 0; to < made.node_count; to++) {
        unsigned count = 0;

        made.nodes[to].duration_ns = test_random_below(random, 10);
        made.nodes[to].frame = (uint32_t)test_random_below(random, FRAMES);
        duration[to] = made.nodes[to].duration_ns;
        for (size_t from = 0; from < to; from++) {
            made.is_edge[from][to] = test_random_chance(random, density);
            count += made.is_edge[from][to];
        }
        made.needed[to] = count > 1 && has_quorums && test_random_chance(random, 30)
                              ? 1 + (unsigned)test_random_below(random, count)
                              : count;
    }
    make_edges(duration);
    made.end_place = test_random_chance(random, 50)
                         ? (uint32_t)test_random_below(random, made.node_count)
                         : CPT_DAG_NONE;
    made.shape.nodes = made.nodes;
    made.shape.node_count = made.node_count;
    made.shape.edges = made.edges;
    made.shape.spares = made.spares;
    made.shape.end =
        made.end_place != CPT_DAG_NONE ? made.label[made.end_place] : CPT_DAG_NONE;
    made.shape.frame_count = FRAMES;
}

/* --- Against the model --- */

/* The latency if node @node took @duration_ns. */
static uint64_t latency_with(const uint64_t *duration, size_t node,
                             uint64_t duration_ns)
{
    uint64_t changed[NODES_MAX];

    memcpy(changed, duration, sizeof changed);
    changed[node] = duration_ns;
    return model_run(changed, NULL);
}

static bool is_slack_right(const uint64_t *duration, uint64_t latency, size_t node,
                           const struct cpt_dag_measure *measure)
{
    const uint64_t is = duration[node];

    if (measure->slack_ns == CPT_DAG_UNBOUNDED) {
        return (measure->flags & CPT_DAG_NOT_NEEDED) != 0 &&
               latency_with(duration, node, is + 1000) == latency;
    }
    return latency_with(duration, node, is + measure->slack_ns) == latency &&
           ((measure->flags & CPT_DAG_SLACK_AT_LEAST) != 0 ||
            latency_with(duration, node, is + measure->slack_ns + 1) == latency + 1);
}

static bool is_drag_right(const uint64_t *duration, uint64_t latency, size_t node,
                          const struct cpt_dag_measure *measure)
{
    const uint64_t gain = latency - latency_with(duration, node, 0);

    return measure->drag_ns <= duration[node] &&
           ((measure->flags & CPT_DAG_DRAG_AT_LEAST) != 0 ? gain >= measure->drag_ns
                                                          : gain == measure->drag_ns);
}

/* Without spares alone: whether a free float was used up shows at another start. */
static bool is_free_right(const uint64_t *duration, size_t node,
                          const struct cpt_dag_measure *measure)
{
    uint64_t before[NODES_MAX];
    uint64_t after[NODES_MAX];
    uint64_t changed[NODES_MAX];
    const uint64_t latency = model_run(duration, before);

    if (made.shape.spare_count != 0) {
        return true;
    }
    memcpy(changed, duration, sizeof changed);
    changed[node] += measure->free_ns != CPT_DAG_UNBOUNDED ? measure->free_ns : 1000;
    if (model_run(changed, after) != latency ||
        memcmp(before, after, made.node_count * sizeof *before) != 0) {
        return false;
    }
    changed[node]++;
    return measure->free_ns == CPT_DAG_UNBOUNDED ||
           model_run(changed, after) != latency ||
           memcmp(before, after, made.node_count * sizeof *before) != 0;
}

static bool are_nodes_right(const uint64_t *duration,
                            const struct cpt_dag_measure *measures)
{
    uint64_t start[NODES_MAX];
    const uint64_t latency = model_run(duration, start);
    uint64_t path = 0;

    for (size_t i = 0; i < made.node_count; i++) {
        const bool is_on_path = (measures[i].flags & CPT_DAG_ON_PATH) != 0;

        path += is_on_path ? duration[i] : 0;
        if (measures[i].start_ns != start[i] ||
            (is_on_path && measures[i].slack_ns != 0) ||
            (!is_on_path && measures[i].drag_ns != 0) ||
            !is_slack_right(duration, latency, i, &measures[i]) ||
            !is_drag_right(duration, latency, i, &measures[i]) ||
            !is_free_right(duration, i, &measures[i])) {
            return false;
        }
    }
    return path == latency;
}

static bool are_frames_right(const uint64_t *duration, uint64_t latency,
                             const struct cpt_dag_frame *frames)
{
    uint64_t path = 0;

    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        uint64_t changed[NODES_MAX];
        uint64_t gain = 0;

        for (size_t i = 0; i < made.node_count; i++) {
            changed[i] = made.nodes[i].frame == frame ? 0 : duration[i];
        }
        gain = latency - model_run(changed, NULL);
        path += frames[frame].path_ns;
        if ((made.shape.spare_count == 0 && gain != frames[frame].gain_ns) ||
            gain < frames[frame].gain_ns ||
            frames[frame].drag_ns > frames[frame].gain_ns ||
            frames[frame].gain_ns > frames[frame].path_ns ||
            frames[frame].path_ns > frames[frame].time_ns) {
            return false;
        }
    }
    return path == latency;
}

static bool is_right(const uint64_t *duration)
{
    struct cpt_dag_measure measures[NODES_MAX];
    struct cpt_dag_frame frames[FRAMES];
    struct cpt_dag *dag = NULL;
    uint64_t start[NODES_MAX];
    uint64_t replayed = 0;
    const uint64_t latency = model_run(duration, start);
    bool is_all = false;

    if (cpt_dag_new(NULL, &made.shape, &dag, NULL) != CPT_OK) {
        return false;
    }
    is_all = cpt_dag_measure(dag, measures) == CPT_OK &&
             cpt_dag_frames(dag, measures, frames) == CPT_OK &&
             cpt_dag_replay(dag, duration, start, &replayed) == CPT_OK &&
             cpt_dag_latency_ns(dag) == latency && replayed == latency &&
             are_nodes_right(duration, measures) &&
             are_frames_right(duration, latency, frames);
    for (size_t i = 0; i < made.node_count && is_all; i++) {
        is_all = start[i] == measures[i].start_ns;
    }
    cpt_dag_free(dag);
    return is_all;
}

static void test_model(void)
{
    const uint64_t seed = test_random_seed("dag");
    unsigned failed_count = 0;

    for (uint64_t i = 0; i < test_case_count(CASES) && failed_count < 3; i++) {
        struct test_random random = {seed + i};
        uint64_t duration[NODES_MAX] = {0};

        make(&random, duration);
        if (!is_right(duration)) {
            printf("\n  again with CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n",
                   seed + i);
            failed_count++;
        }
    }
    CU_ASSERT_EQUAL(failed_count, 0);
}

/* --- Vectors --- */

/* Devaux's example: A10 B20 C5 D10 E20 are critical; F beside B and C has float 15, G
 * beside D has 5, H beside B, C and D has 20. */
static void test_devaux(void)
{
    static const struct cpt_dag_node nodes[] = {
        {10, 0, 0}, {20, 1, 0}, {5, 2, 0}, {10, 3, 0},
        {20, 4, 0}, {10, 5, 0}, {5, 6, 0}, {15, 7, 0},
    };
    static const struct cpt_dag_edge edges[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 5},
                                                {5, 3}, {2, 6}, {6, 4}, {0, 7}, {7, 4}};
    static const uint64_t drags[] = {10, 15, 5, 5, 20, 0, 0, 0};
    static const uint64_t slacks[] = {0, 0, 0, 0, 0, 15, 5, 20};
    const struct cpt_dag_shape shape = {.nodes = nodes,
                                        .node_count = 8,
                                        .edges = edges,
                                        .edge_count = 10,
                                        .end = CPT_DAG_NONE,
                                        .frame_count = 8};
    struct cpt_dag_measure measures[8];
    struct cpt_dag *dag = NULL;

    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &shape, &dag, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_dag_latency_ns(dag), 65);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_measure(dag, measures), CPT_OK);
    for (size_t i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(measures[i].drag_ns, drags[i]);
        CU_ASSERT_EQUAL(measures[i].slack_ns, slacks[i]);
    }
    cpt_dag_free(dag);
}

/* Two nodes of one frame side by side: neither has drag, together they gain all. */
static void test_gain_above_drags(void)
{
    static const struct cpt_dag_node nodes[] = {{5, 0, 0}, {5, 0, 0}, {1, 1, 0}};
    static const struct cpt_dag_edge edges[] = {{0, 2}, {1, 2}};
    const struct cpt_dag_shape shape = {.nodes = nodes,
                                        .node_count = 3,
                                        .edges = edges,
                                        .edge_count = 2,
                                        .end = 2,
                                        .frame_count = 2};
    struct cpt_dag_measure measures[3];
    struct cpt_dag_frame frames[2];
    struct cpt_dag *dag = NULL;

    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &shape, &dag, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_measure(dag, measures), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_frames(dag, measures, frames), CPT_OK);
    CU_ASSERT_EQUAL(measures[0].drag_ns + measures[1].drag_ns, 0);
    CU_ASSERT_EQUAL(frames[0].drag_ns, 0);
    CU_ASSERT_EQUAL(frames[0].gain_ns, 5);
    CU_ASSERT_EQUAL(frames[0].path_ns, 5);
    CU_ASSERT_EQUAL(frames[0].time_ns, 10);
    CU_ASSERT_EQUAL(frames[1].gain_ns, 1);
    cpt_dag_free(dag);
}

/* --- Bad input --- */

static struct cpt_dag_node three[3];
static struct cpt_dag_edge some[3];

static struct cpt_dag_shape three_nodes(void)
{
    const struct cpt_dag_shape shape = {.nodes = three,
                                        .node_count = 3,
                                        .edges = some,
                                        .edge_count = 2,
                                        .end = 2,
                                        .frame_count = 1};

    memset(three, 0, sizeof three);
    some[0] = (struct cpt_dag_edge){0, 1};
    some[1] = (struct cpt_dag_edge){1, 2};
    some[2] = (struct cpt_dag_edge){2, 0};
    return shape;
}

static void refuse(const struct cpt_dag_shape *shape, cpt_status expected,
                   const char *sentence)
{
    struct cpt_error error = {0};
    struct cpt_dag *dag = NULL;

    CU_ASSERT_EQUAL(cpt_dag_new(NULL, shape, &dag, &error), expected);
    CU_ASSERT_PTR_NULL(dag);
    CU_ASSERT_EQUAL(error.status, expected);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, sentence));
}

static void test_bad_shapes(void)
{
    struct cpt_dag_shape shape = three_nodes();

    shape.edge_count = 3;
    refuse(&shape, CPT_CORRUPT, "circle");
    some[2] = (struct cpt_dag_edge){2, 1};
    refuse(&shape, CPT_CORRUPT, "circle before node 1");
    some[2] = (struct cpt_dag_edge){1, 1};
    refuse(&shape, CPT_CORRUPT, "node 1 waits for itself");
    some[2] = (struct cpt_dag_edge){3, 1};
    refuse(&shape, CPT_CORRUPT, "from node 3 to node 1 of 3");
    some[2] = (struct cpt_dag_edge){1, UINT32_MAX};
    refuse(&shape, CPT_CORRUPT, "from node 1 to node 4294967295 of 3");
    shape = three_nodes();
    shape.spares = &some[2];
    shape.spare_count = 1;
    some[2].to = 7;
    refuse(&shape, CPT_CORRUPT, "from node 2 to node 7 of 3");
    shape = three_nodes();
    three[1].duration_ns = (uint64_t)-5;
    refuse(&shape, CPT_CORRUPT, "node 1 takes negative time");
    shape = three_nodes();
    three[2].frame = 1;
    refuse(&shape, CPT_CORRUPT, "node 2 has frame 1 of 1");
    shape = three_nodes();
    shape.end = 3;
    refuse(&shape, CPT_CORRUPT, "the end is node 3 of 3");
    shape = three_nodes();
    shape.node_count = 0;
    refuse(&shape, CPT_CORRUPT, "there must be nodes");
    shape = three_nodes();
    shape.node_count = (size_t)CPT_DAG_NODES_MAX + 1;
    refuse(&shape, CPT_LIMIT, "at most 16777216 nodes");
    shape = three_nodes();
    shape.edge_count = (size_t)CPT_DAG_EDGES_MAX + 1;
    refuse(&shape, CPT_LIMIT, "67108864 edges");
}

static void test_long_paths(void)
{
    const uint64_t durations[] = {INT64_MAX, 1, 0};
    struct cpt_dag_shape shape = three_nodes();
    struct cpt_dag *dag = NULL;
    uint64_t latency = 7;

    three[0].duration_ns = INT64_MAX;
    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &shape, &dag, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_dag_latency_ns(dag), INT64_MAX);
    CU_ASSERT_EQUAL(cpt_dag_replay(dag, durations, NULL, &latency), CPT_LIMIT);
    CU_ASSERT_EQUAL(latency, 7);
    cpt_dag_free(dag);
    three[2].duration_ns = 1;
    refuse(&shape, CPT_LIMIT, "more than 2^63 - 1 ns");
}

/* A chain so long that recursion over it would not end well, numbered backwards. */
static void test_long_chain(void)
{
    enum { LENGTH = 300000 };
    struct cpt_dag_node *nodes = calloc(LENGTH, sizeof *nodes);
    struct cpt_dag_edge *edges = calloc(LENGTH, sizeof *edges);
    struct cpt_dag_measure *measures = calloc(LENGTH, sizeof *measures);
    const struct cpt_dag_shape shape = {.nodes = nodes,
                                        .node_count = LENGTH,
                                        .edges = edges,
                                        .edge_count = LENGTH - 1,
                                        .end = 0,
                                        .frame_count = 1};
    struct cpt_dag *dag = NULL;

    for (uint32_t i = 0; i < LENGTH; i++) {
        nodes[i].duration_ns = 1;
        edges[i] = (struct cpt_dag_edge){i + 1, i};
    }
    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &shape, &dag, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_dag_latency_ns(dag), LENGTH);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_measure(dag, measures), CPT_OK);
    CU_ASSERT_EQUAL(measures[7].drag_ns, 1);
    CU_ASSERT_EQUAL(measures[7].tail_ns, 7);
    cpt_dag_free(dag);
    free(nodes);
    free(edges);
    free(measures);
}

/* Between a first node and a last one, many that can all come next; numbered backwards.
 * The one with number i takes i. */
static void test_many_beside_each_other(void)
{
    enum { COUNT = 100, LAST = 0, FIRST = COUNT + 1 };
    struct cpt_dag_node nodes[COUNT + 2] = {[FIRST] = {.duration_ns = 7}};
    struct cpt_dag_edge edges[2 * COUNT];
    struct cpt_dag_measure measures[COUNT + 2];
    const struct cpt_dag_shape shape = {.nodes = nodes,
                                        .node_count = COUNT + 2,
                                        .edges = edges,
                                        .edge_count = 2 * (size_t)COUNT,
                                        .end = LAST,
                                        .frame_count = 1};
    struct cpt_dag *dag = NULL;

    for (uint32_t i = 1; i <= COUNT; i++) {
        nodes[i].duration_ns = i;
        edges[2 * i - 2] = (struct cpt_dag_edge){i, LAST};
        edges[2 * i - 1] = (struct cpt_dag_edge){FIRST, i};
    }
    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &shape, &dag, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_dag_latency_ns(dag), 7 + COUNT);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_measure(dag, measures), CPT_OK);
    CU_ASSERT_EQUAL(measures[FIRST].drag_ns, 7);
    CU_ASSERT_EQUAL(measures[COUNT].drag_ns, 1);
    for (uint32_t i = 1; i <= COUNT; i++) {
        CU_ASSERT_EQUAL(measures[i].start_ns, 7);
        CU_ASSERT_EQUAL(measures[i].slack_ns, COUNT - i);
    }
    cpt_dag_free(dag);
}

static bool measure_three(const struct cpt_alloc *alloc)
{
    struct cpt_dag_shape shape = three_nodes();
    struct cpt_dag_measure measures[3];
    struct cpt_dag_frame frame;
    struct cpt_dag *dag = NULL;
    uint64_t latency = 0;
    bool is_done = false;

    some[1] = (struct cpt_dag_edge){2, 1}; /* not in order */
    if (cpt_dag_new(alloc, &shape, &dag, NULL) != CPT_OK) {
        return false;
    }
    is_done = cpt_dag_measure(dag, measures) == CPT_OK &&
              cpt_dag_frames(dag, measures, &frame) == CPT_OK &&
              cpt_dag_replay(dag, (uint64_t[3]){0}, NULL, &latency) == CPT_OK;
    cpt_dag_free(dag);
    return is_done;
}

static void test_no_memory(void)
{
    each_allocation_failure(measure_three);
}

CU_TestInfo cpt_dag_tests[] = {
    {"against a model", test_model},
    {"Devaux's example", test_devaux},
    {"a gain above the sum of the drags", test_gain_above_drags},
    {"bad shapes are refused", test_bad_shapes},
    {"paths that are too long", test_long_paths},
    {"a long chain", test_long_chain},
    {"many nodes beside each other", test_many_beside_each_other},
    {"no memory", test_no_memory},
    CU_TEST_INFO_NULL,
};
