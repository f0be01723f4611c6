/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_learn_trees.c - traces with learnt waits, of random systems of services
 *
 * Without a change a trace is what was recorded: each call and each visit starts when
 * its span did, and ends when that did, but for those that are counted as cut, and what
 * is below them; the longest path is the latency. The order of traces, and that of the
 * spans of each, change nothing.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"

#include "cpt/base/hash_index.h"
#include "import/learn/learn.h"

#include <CUnit/CUnit.h>

#include <stdio.h>
#include <string.h>

enum {
    CASES = 40,
    TRACES = 24,
    SPANS = 64,
    TEXT_BYTES = 80,
    NAME_BYTES = 24,
    LINES = 6 * SPANS,
    LEVELS = 4,
    SERVICES = 3, /* of each level */
    CALLS = 4,
    SHORTEST_NS = 4000,
    ROOT_NS = 4000000
};

/* --- Requests at random --- */

struct node {
    char name[NAME_BYTES]; /* of its frame */
    uint64_t from_ns;
    uint64_t to_ns;
    int parent; /* a number before its own, or -1 */
};

struct request {
    struct node nodes[SPANS];
    char text[SPANS][TEXT_BYTES];
    const char *lines[SPANS + 1];
    int count;
};

/* What the services of a system do. */
struct habits {
    struct test_random *random;
    unsigned in_a_row; /* of 100 calls */
    unsigned with_client;
    unsigned late; /* of 100 calls, those that end behind their caller */
};

static uint64_t below(const struct habits *habits, uint64_t limit)
{
    return test_random_below(habits->random, limit);
}

/* A span below @parent, or the root; its number. */
static int add(struct request *request, int parent, int service, int operation,
               const char *side, uint64_t from_ns, uint64_t to_ns)
{
    const int number = request->count++;
    struct node *node = &request->nodes[number];
    char above[16] = "-";
    char name[NAME_BYTES];

    if (parent >= 0) {
        (void)snprintf(above, sizeof above, "n%d", parent);
    }
    (void)snprintf(name, sizeof name, "s%d: op%d", service, operation);
    memcpy(node->name, name, sizeof name);
    node->parent = parent;
    node->from_ns = from_ns;
    node->to_ns = to_ns;
    (void)snprintf(request->text[number], TEXT_BYTES, "n%d %s %u %u %s %s", number,
                   above, (unsigned)from_ns, (unsigned)to_ns, name, side);
    request->lines[number] = request->text[number];
    return number;
}

/* A call from @from_ns to @to_ns; the visit of its callee, or -1. */
static int add_call(const struct habits *habits, struct request *request, int parent,
                    int level, uint64_t from_ns, uint64_t to_ns)
{
    const int service = level * SERVICES + (int)below(habits, SERVICES);
    const int operation = (int)below(habits, 2);
    const uint64_t margin_ns = (to_ns - from_ns) / 8;
    int caller = 0;
    int client = parent;

    if (!test_random_chance(habits->random, habits->with_client)) {
        return add(request, parent, service, operation, "server", from_ns, to_ns);
    }
    (void)sscanf(request->nodes[parent].name, "s%d", &caller);
    client = add(request, parent, caller, operation, "client", from_ns, to_ns);
    if (test_random_chance(habits->random, 15)) {
        return -1; /* nothing is known of the callee */
    }
    /* the frame of both is the callee's */
    (void)snprintf(request->nodes[client].name, NAME_BYTES, "s%d: op%d", service,
                   operation);
    return add(request, client, service, operation, "server",
               from_ns + 1 + below(habits, margin_ns),
               to_ns - 1 - below(habits, margin_ns));
}

/* Calls of the visit @parent, and those of their callees: parents come first. */
static void add_calls(const struct habits *habits, struct request *request)
{
    int levels[SPANS] = {0};
    bool are_visits[SPANS] = {true};

    for (int parent = 0; parent < request->count; parent++) {
        const struct node node = request->nodes[parent];
        const int level = levels[parent];
        const uint64_t length_ns = node.to_ns - node.from_ns;
        uint64_t at_ns = node.from_ns + SHORTEST_NS / 4 + below(habits, length_ns / 8);

        for (int i = (int)below(habits, CALLS + 1);
             are_visits[parent] && level + 1 < LEVELS && i > 0; i--) {
            const bool is_late = test_random_chance(habits->random, habits->late);
            const uint64_t end_ns =
                at_ns + SHORTEST_NS + below(habits, length_ns / 3 + 1);
            int visit = 0;

            if (request->count + 2 > SPANS || (!is_late && end_ns >= node.to_ns)) {
                break;
            }
            visit = add_call(habits, request, parent, level + 1, at_ns, end_ns);
            if (visit >= 0) {
                levels[visit] = level + 1;
                are_visits[visit] = true;
            }
            at_ns = test_random_chance(habits->random, habits->in_a_row)
                        ? end_ns - below(habits, 300) + below(habits, length_ns / 20)
                        : at_ns + 1 + below(habits, length_ns / 10);
            if (at_ns >= node.to_ns) {
                break;
            }
        }
    }
    request->lines[request->count] = NULL;
}

static void make(struct request requests[TRACES], struct test_random *random)
{
    const struct habits habits = {
        .random = random,
        .in_a_row = 25 * (unsigned)test_random_below(random, 5),
        .with_client = 50 * (unsigned)test_random_below(random, 3),
        .late = 10 * (unsigned)test_random_below(random, 2)};

    for (int i = 0; i < TRACES; i++) {
        requests[i].count = 0;
        (void)add(&requests[i], -1, 0, 0, "server", 0,
                  ROOT_NS + test_random_below(random, ROOT_NS));
        add_calls(&habits, &requests[i]);
    }
}

/* --- Traces --- */

struct seen {
    struct node lines[LINES];
    size_t count;
    uint64_t latency_ns;
    uint64_t longest_ns;
    uint64_t hash;
    bool is_whole;
};

static uint64_t mixed(uint64_t hash, uint64_t number)
{
    return cpti_hash_mix(hash ^ cpti_hash_mix(number));
}

/* Without a change all that may have held a moment gives it its recorded time, nothing
 * gives it a later one, and the last one is the latency. */
static void look_at_doubt(const struct cpt_doubt *doubt, uint64_t latency_ns)
{
    uint32_t begin = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(doubt);
    CU_ASSERT_EQUAL(doubt->moments[doubt->moment_count - 1].at_ns, latency_ns);
    for (size_t i = 0; i < doubt->moment_count; i++) {
        const struct cpt_doubt_moment *moment = &doubt->moments[i];
        uint32_t count = 0;

        for (; begin < moment->holder_end; begin++) {
            const struct cpt_doubt_holder *holder = &doubt->holders[begin];
            const uint64_t from_ns = doubt->moments[holder->from].at_ns;
            const bool may_hold = (holder->flags & CPT_DOUBT_MAY_HOLD) != 0;

            CU_ASSERT(holder->from < i);
            CU_ASSERT(may_hold ? from_ns + holder->lag_ns == moment->at_ns
                               : from_ns + holder->lag_ns <= moment->at_ns);
            CU_ASSERT(from_ns <= moment->at_ns);
            count += may_hold;
        }
        CU_ASSERT(i == 0 || count != 0);
    }
}

/* A cpt_dag_visit_fn. */
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
    look_at_doubt(recorded->doubt, latency_ns);
    CU_ASSERT_PTR_NOT_NULL_FATAL(measures);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_measure(dag, measures), CPT_OK);
    for (uint32_t i = 0; i < shape->node_count; i++) {
        const struct cpt_dag_node *node = &shape->nodes[i];
        const struct cpt_bytes name = recorded->frames[node->frame].name;
        const uint64_t end_ns = measures[i].start_ns + node->duration_ns;

        seen->hash = mixed(mixed(seen->hash, node->duration_ns), node->kind);
        if (recorded->node_lines[i] != line) {
            line = recorded->node_lines[i];
            CU_ASSERT_FATAL(seen->count < LINES);
            seen->lines[seen->count] = (struct node){.from_ns = measures[i].start_ns};
            (void)snprintf(seen->lines[seen->count].name, NAME_BYTES, "%.*s",
                           (int)name.bytes, name.data);
            seen->count++;
        }
        seen->lines[seen->count - 1].to_ns = end_ns;
    }
    for (size_t i = 0; i < shape->edge_count; i++) {
        seen->hash = mixed(mixed(seen->hash, shape->edges[i].from), shape->edges[i].to);
    }
    cpt_alloc_free(NULL, measures);
    return CPT_OK;
}

/* The spans of @request, from the first or from the last on; whether all of them are in
 * the tree: what is below a call that ends late may not be. */
static bool resolve(struct cpti_spans *spans, const struct request *request,
                    bool is_backwards)
{
    const char *lines[SPANS + 1] = {NULL};
    struct cpti_spans_report report;

    for (int i = 0; i < request->count; i++) {
        lines[i] = request->lines[is_backwards ? request->count - 1 - i : i];
    }
    cpti_spans_reset(spans);
    span_list_add(spans, lines);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
    return report.dropped == 0;
}

/* All requests as dags, learnt in the order of @step. */
static void see_all(const struct request *requests, int step, bool is_backwards,
                    struct seen seen[TRACES], struct cpti_spans_cut cuts[TRACES])
{
    struct cpti_learn *learn = cpti_learn_new(NULL);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_learn_counts counts = {0, 0, 0};
    bool is_learnt = false;

    CU_ASSERT_PTR_NOT_NULL_FATAL(learn);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spans);
    cpti_spans_align_clocks(spans, false);
    while (!is_learnt) {
        for (int i = 0; i < TRACES; i++) {
            const int number = (i * step) % TRACES;
            char id[16];

            (void)snprintf(id, sizeof id, "%x", (unsigned)number + 1);
            (void)resolve(spans, &requests[number], is_backwards);
            cpti_learn_stamps(learn, spans);
            CU_ASSERT_EQUAL_FATAL(cpti_learn_spans(learn, spans, cpt_bytes_of(id)),
                                  CPT_OK);
        }
        CU_ASSERT_EQUAL_FATAL(cpti_learn_next(learn, &is_learnt), CPT_OK);
    }
    for (int i = 0; i < TRACES; i++) {
        bool is_whole = false;
        char id[16];

        (void)snprintf(id, sizeof id, "%x", (unsigned)i + 1);
        is_whole = resolve(spans, &requests[i], is_backwards);
        CU_ASSERT_EQUAL_FATAL(cpti_learn_dag(learn, spans, cpt_bytes_of(id), look,
                                             &seen[i], &cuts[i], &counts),
                              CPT_OK);
        seen[i].is_whole = is_whole;
    }
    CU_ASSERT(counts.learnt != 0);
    cpti_spans_free(spans);
    cpti_learn_free(learn);
}

/* --- Is it what was recorded? --- */

/* Whether a line of the name of @node starts, or ends, when that does. */
static bool has(const struct seen *seen, const struct node *node, bool starts)
{
    for (size_t i = 0; i < seen->count; i++) {
        const struct node *line = &seen->lines[i];

        if (strcmp(line->name, node->name) == 0 &&
            (starts ? line->from_ns == node->from_ns : line->to_ns == node->to_ns)) {
            return true;
        }
    }
    return false;
}

/* Whether something above span @number does not end when it did: that was cut, and what
 * is below it with it. */
static bool is_below_cut(const struct request *request, const struct seen *seen,
                         int number)
{
    for (int i = request->nodes[number].parent; i >= 0; i = request->nodes[i].parent) {
        if (!has(seen, &request->nodes[i], false)) {
            return true;
        }
    }
    return false;
}

/* Says what is not. */
static bool is_recorded(const struct request *request, const struct seen *seen,
                        const struct cpti_spans_cut *cut)
{
    const uint64_t root_ns = request->nodes[0].to_ns;
    size_t starts = 0;
    size_t ends = 0; /* of calls that were cut: of both sides */

    for (int i = 0; i < request->count && seen->is_whole; i++) {
        if (is_below_cut(request, seen, i)) {
            continue;
        }
        if (!has(seen, &request->nodes[i], true)) {
            (void)printf("does not start: %s\n", request->text[i]);
            starts++;
        }
        ends += !has(seen, &request->nodes[i], false);
    }
    if (seen->longest_ns != root_ns || seen->latency_ns != root_ns ||
        ends > 2 * cut->count) {
        (void)printf("latency %llu, longest %llu, ends %zu, cut %zu\n",
                     (unsigned long long)seen->latency_ns,
                     (unsigned long long)seen->longest_ns, ends, cut->count);
        return false;
    }
    return starts == 0;
}

/* Systems that were not as they should: calls begun behind an end that was cut. */
static const uint64_t kept_states[] = {16275595089194864303U, 16953975657086897634U};
enum { KEPT = sizeof kept_states / sizeof kept_states[0] };

static void test_systems(void)
{
    struct test_random random = {test_random_seed("learnt systems")};
    unsigned failed = 0;
    unsigned whole_count = 0;

    for (int i = 0; i < CASES + KEPT && failed < 3; i++) {
        static struct request requests[TRACES];
        static struct seen seen[TRACES];
        static struct seen again[TRACES];
        struct cpti_spans_cut cuts[TRACES] = {{0, 0}};
        struct cpti_spans_cut other_cuts[TRACES] = {{0, 0}};

        random.state = i < CASES ? test_random_next(&random) : kept_states[i - CASES];
        make(requests, &random);
        see_all(requests, 1, false, seen, cuts);
        see_all(requests, 7, true, again, other_cuts);
        for (int k = 0; k < TRACES && failed < 3; k++) {
            whole_count += seen[k].is_whole;
            const bool is_same = seen[k].hash == again[k].hash;

            if (!is_recorded(&requests[k], &seen[k], &cuts[k]) || !is_same) {
                failed++;
                (void)printf("case %d, request %d%s\n", i, k,
                             is_same ? "" : ": the order matters");
                for (int n = 0; n < requests[k].count; n++) {
                    (void)printf("  %s\n", requests[k].text[n]);
                }
            }
        }
    }
    CU_ASSERT_EQUAL(failed, 0);
    CU_ASSERT(failed != 0 || whole_count > CASES * TRACES / 2);
}

CU_TestInfo cpt_learn_trees_tests[] = {
    {"systems are what was recorded", test_systems},
    CU_TEST_INFO_NULL,
};
