/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_kept.c - which requests are kept whole, under which ids, and what is written
 *
 * What the graphs of several services tell together is tested by joining them:
 * tests/system/kept.sh.
 */
#include "tests/unit/framework/graph_store.h"
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_settings.h"
#include "framework/service/service.h"
#include "framework/service/trace_context.h"
#include "wire/cpt_graph_log.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRAPHS_MAX = 16 };

static struct graph_store of_a;
static struct graph_store of_b;
static size_t queue_bytes_max; /* of the stores that are opened next; 0: as usual */

static void say_nothing(void *context, const struct cpt_notice *notice)
{
    (void)context;
    (void)notice;
}

/* What a graph log says of a request. */
struct kept {
    uint64_t id;
    bool is_entry;
    uint64_t call_id; /* of its only call */
    uint64_t latency_ns;
    uint64_t dag_ns;
    size_t task_count;
    size_t run_count;
    size_t attribute_count;
};

static struct kept read_kept(const struct cpt_record *record)
{
    struct kept kept = {.is_entry = !record->is_local_root,
                        .latency_ns = record->latency_ns,
                        .attribute_count = record->attribute_count};
    struct cpt_kept_graph graph;
    struct cpt_arena arena;

    cpt_arena_init(&arena, NULL, 0, 0);
    CU_ASSERT_EQUAL_FATAL(
        cpt_graph_decode(record, CPT_GRAPH_ARRIVAL_NS, &arena, &graph, NULL), CPT_OK);
    kept.id = graph.id;
    kept.task_count = graph.records.task_count;
    kept.run_count = graph.records.run_count;
    for (size_t i = 0; i < graph.call_count; i++) {
        kept.call_id = graph.calls[i].id != 0 ? graph.calls[i].id : kept.call_id;
    }
    kept.dag_ns = graph_latency_ns(&graph.records);
    cpt_arena_deinit(&arena);
    return kept;
}

/* Reads all that @store has; the number of graphs. */
static int read_store(struct graph_store *store, struct kept kept[GRAPHS_MAX])
{
    struct cpt_log_reader *reader = graph_store_read(store);
    struct cpt_record record;
    int count = 0;

    while (count < GRAPHS_MAX && cpt_log_reader_next(reader, &record, NULL) == CPT_OK) {
        kept[count++] = read_kept(&record);
    }
    cpt_log_reader_free(reader);
    return count;
}

/* --- The services --- */

static void open_kept(struct cpt_service_options a, struct cpt_service_options b)
{
    graph_store_open(&of_a, queue_bytes_max);
    graph_store_open(&of_b, queue_bytes_max);
    a.graphs = of_a.queue;
    open_pair(a, b);
}

static void close_kept(void)
{
    cpt_log_queue_flush(pair.log);
    cpt_log_queue_free(of_a.queue);
    cpt_log_queue_free(of_b.queue);
    close_pair();
}

static struct cpt_service_options with_graphs(struct cpt_service_options options,
                                              unsigned every)
{
    options.graph_every = every;
    options.graphs = of_b.queue; /* of A: set by open_kept() */
    return options;
}

/* B has a log of its own, so it is made once more. */
static void give_b_graphs(double per_second)
{
    struct cpt_service_options b = never;

    cpt_service_free(pair.b);
    b.graphs = of_b.queue;
    b.graphs_per_second_max = per_second;
    b.log = pair.log;
    b.role = CPT_ROLE_INNER;
    pair.b = make_service(b, "B", "/look", pair.b_plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pair.b);
    net.services[net.service_count - 1] = pair.b;
}

/* --- Tests --- */

static void test_both_are_kept(void)
{
    struct kept a[GRAPHS_MAX];
    struct kept b[GRAPHS_MAX];

    open_kept(with_graphs(always, 1), never);
    give_b_graphs(0);
    ask_a(NULL);
    CU_ASSERT_EQUAL(answer.metadata_bytes, 0);
    CU_ASSERT_EQUAL_FATAL(read_store(&of_a, a), 1);
    CU_ASSERT_EQUAL_FATAL(read_store(&of_b, b), 1);
    CU_ASSERT_TRUE(a[0].is_entry);
    CU_ASSERT_FALSE(b[0].is_entry);
    CU_ASSERT_NOT_EQUAL(a[0].id, 0);
    CU_ASSERT_NOT_EQUAL(a[0].call_id, 0);
    CU_ASSERT_NOT_EQUAL(a[0].call_id, a[0].id);
    CU_ASSERT_EQUAL(b[0].id, a[0].call_id);
    CU_ASSERT_EQUAL(a[0].latency_ns, 12 * MS);
    CU_ASSERT_EQUAL(a[0].dag_ns, 12 * MS);
    CU_ASSERT_EQUAL(b[0].latency_ns, 5 * MS);
    CU_ASSERT_EQUAL(b[0].dag_ns, 5 * MS);
    CU_ASSERT_EQUAL(counter(pair.a, "graphs_kept", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "graphs_bytes", NULL) != 0, 1);
    CU_ASSERT_EQUAL(counter(pair.b, "graphs_kept", NULL), 1);
    CU_ASSERT_EQUAL(record_count(), 1); /* B logs no path for its caller */
    close_kept();
}

static void test_ids_differ(void)
{
    struct kept a[GRAPHS_MAX];

    open_kept(with_graphs(always, 1), never);
    for (int i = 0; i < 4; i++) {
        ask_a(NULL);
    }
    CU_ASSERT_EQUAL_FATAL(read_store(&of_a, a), 4);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < i; k++) {
            CU_ASSERT_NOT_EQUAL(a[i].id, a[k].id);
            CU_ASSERT_NOT_EQUAL(a[i].call_id, a[k].call_id);
        }
    }
    close_kept();
}

/* A callee without a log of graphs: its call is a constant. */
static void test_callee_without(void)
{
    struct kept a[GRAPHS_MAX];

    open_kept(with_graphs(always, 1), never);
    ask_a(NULL);
    CU_ASSERT_EQUAL_FATAL(read_store(&of_a, a), 1);
    CU_ASSERT_EQUAL(a[0].dag_ns, 12 * MS);
    CU_ASSERT_EQUAL(counter(pair.b, "refused_graphs", NULL), 1);
    close_kept();
}

static void test_nothing_is_kept_unasked(void)
{
    struct kept a[GRAPHS_MAX];

    open_kept(with_graphs(always, 0), never);
    give_b_graphs(0);
    ask_a(NULL);
    ask_a("1;forced");
    CU_ASSERT_EQUAL(read_store(&of_a, a), 0);
    CU_ASSERT_EQUAL(read_store(&of_b, a), 0);
    CU_ASSERT_EQUAL(counter(pair.b, "refused_graphs", NULL), 0);
    close_kept();
    open_kept(with_graphs(never, 1), never); /* what is not traced is not kept */
    ask_a(NULL);
    CU_ASSERT_EQUAL(read_store(&of_a, a), 0);
    close_kept();
}

static void test_a_person_asks(void)
{
    struct kept a[GRAPHS_MAX];
    struct kept b[GRAPHS_MAX];

    open_kept(with_graphs(never, 0), never);
    give_b_graphs(0);
    ask_a("1;forced;graph=\"00000000000000ff\"");
    CU_ASSERT_EQUAL_FATAL(read_store(&of_a, a), 1);
    CU_ASSERT_EQUAL_FATAL(read_store(&of_b, b), 1);
    CU_ASSERT_EQUAL(a[0].id, 0xff);
    CU_ASSERT_TRUE(a[0].is_entry);
    CU_ASSERT_EQUAL(b[0].id, a[0].call_id);
    ask_a("1;forced;graph=\"ff\""); /* malformed: as if absent */
    CU_ASSERT_EQUAL(read_store(&of_a, a), 1);
    close_kept();
}

/* A service keeps no more than it wants to, whatever its callers ask for. */
static void test_callers_are_limited(void)
{
    struct kept b[GRAPHS_MAX];

    open_kept(with_graphs(always, 1), never);
    give_b_graphs(1);
    for (int i = 0; i < 8; i++) {
        ask_a(NULL);
        now.now_ns += MS;
    }
    CU_ASSERT_EQUAL(read_store(&of_b, b), 1);
    CU_ASSERT_EQUAL(counter(pair.b, "refused_graphs", NULL), 7);
    CU_ASSERT_EQUAL(counter(pair.b, "traced_by_ask", NULL), 8);
    close_kept();
}

static void test_lost_graphs_are_counted(void)
{
    struct kept a[GRAPHS_MAX];

    open_kept(with_graphs(always, 1), never);
    of_a.fails = true;
    ask_a(NULL);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    cpt_log_queue_flush(pair.log);
    cpt_log_queue_flush(of_a.queue);
    CU_ASSERT_EQUAL(counter(pair.a, "graphs_lost", NULL), 1);
    of_a.fails = false;
    ask_a(NULL);
    CU_ASSERT_EQUAL(read_store(&of_a, a), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "graphs_kept", NULL), 1);
    close_kept();
}

/* --- Memory --- */

CPT_VALUE(part_ms, unsigned);
CPT_VALUE(part_found, unsigned);

static cpt_status find_part(struct cpt_task *task)
{
    *cpt_output(task, part_found) = 1;
    return CPT_OK;
}

static const struct cpt_task_def part_tasks[] = {
    {"find", find_part, CPT_GIVES(part_found), CPT_NEEDS(part_ms), {NULL}, NULL}};
static const struct cpt_graph part_graph = {"A", CPT_GIVES(part_ms),
                                            CPT_GIVES(part_found), part_tasks, 1};
static struct cpt_plan *part_plan;

enum { PARTS = 400, QUEUE_BYTES = 200000 };

static cpt_status spawn_parts(struct cpt_task *task)
{
    static const unsigned ms = 1;

    for (int i = 0; i < PARTS; i++) {
        (void)cpt_spawn(task, "part", part_plan, part_ms, &ms);
    }
    return cpt_await_all(task, a_answer);
}

static const struct cpt_task_def spawn_tasks[] = {
    {"A1", spawn_parts, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph spawning = {"A", CPT_GIVES(rpc_request),
                                          CPT_GIVES(rpc_reply), spawn_tasks, 1};

/* What waits for the log is bounded with its components: a request of many of them is
 * more than the queue may hold, and is not kept. */
static void test_components_count(void)
{
    struct kept a[GRAPHS_MAX];

    part_plan = cpt_plan_new(&part_graph, NULL, NULL);
    queue_bytes_max = 16 << 20;
    for (unsigned i = 0; i < 2; i++) {
        open_kept(with_graphs(always, 1), never);
        ask_graph("/parts", &spawning);
        CU_ASSERT_EQUAL(read_store(&of_a, a), i == 0);
        CU_ASSERT_EQUAL(counter(pair.a, "graphs_lost", NULL), i);
        if (i == 0) {
            CU_ASSERT_EQUAL(a[0].run_count, PARTS + 1);
        }
        close_kept();
        queue_bytes_max = QUEUE_BYTES;
    }
    queue_bytes_max = 0;
    cpt_plan_free(part_plan);
}

/* --- Work that the answer does not wait for --- */

static cpt_status spawn_and_answer(struct cpt_task *task)
{
    static const unsigned ms = 1;

    (void)cpt_spawn(task, "part", part_plan, part_ms, &ms);
    return a_answer(task);
}

static const struct cpt_task_def left_tasks[] = {{"A1",
                                                  spawn_and_answer,
                                                  CPT_GIVES(rpc_reply),
                                                  CPT_NEEDS(rpc_request),
                                                  {NULL},
                                                  NULL}};
static const struct cpt_graph leaving = {"A", CPT_GIVES(rpc_request),
                                         CPT_GIVES(rpc_reply), left_tasks, 1};

static cpt_status start_and_answer(struct cpt_task *task)
{
    (void)cpt_start(task, part_found);
    return a_answer(task);
}

static cpt_status take_time(struct cpt_task *task)
{
    now.now_ns += MS;
    *cpt_output(task, part_ms) = 1;
    return CPT_OK;
}

static const struct cpt_task_def late_tasks[] = {
    {"A1", start_and_answer, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request),
     CPT_STARTS(part_found), NULL},
    {"A2", take_time, CPT_GIVES(part_ms), CPT_NEEDS(rpc_request), {NULL}, NULL},
    {"part", NULL, CPT_GIVES(part_found), CPT_NEEDS(part_ms),
     .component = &part_graph}};
static const struct cpt_graph beginning_late = {"A", CPT_GIVES(rpc_request),
                                                CPT_GIVES(rpc_reply), late_tasks, 3};

/* A component that nothing waits for is kept; one that begins after the answer is not,
 * as all such work. Neither takes the graph with it. */
static void test_work_that_is_left(void)
{
    struct kept a[GRAPHS_MAX];

    part_plan = cpt_plan_new(&part_graph, NULL, NULL);
    open_kept(with_graphs(always, 1), never);
    ask_graph("/left", &leaving);
    CU_ASSERT_EQUAL_FATAL(read_store(&of_a, a), 1);
    CU_ASSERT_EQUAL(a[0].run_count, 2);
    CU_ASSERT_EQUAL(a[0].dag_ns, a[0].latency_ns);
    close_kept();
    open_kept(with_graphs(always, 1), never);
    ask_graph("/late", &beginning_late);
    CU_ASSERT_EQUAL_FATAL(read_store(&of_a, a), 1);
    CU_ASSERT_EQUAL(a[0].run_count, 1);
    CU_ASSERT_EQUAL(a[0].dag_ns, a[0].latency_ns);
    CU_ASSERT_EQUAL(counter(pair.a, "graphs_lost", NULL), 0);
    close_kept();
    cpt_plan_free(part_plan);
}

static void test_content_is_checked(void)
{
    struct cpt_service_options wrong = always;

    open_kept(with_graphs(always, 1), never);
    wrong.graphs = pair.log;
    CU_ASSERT_PTR_NULL(make_service(wrong, "C", "/", pair.a_plan));
    wrong.graphs = NULL;
    wrong.log = of_a.queue;
    CU_ASSERT_PTR_NULL(make_service(wrong, "C", "/", pair.a_plan));
    wrong.log = NULL;
    wrong.drag_share = 1.5;
    CU_ASSERT_PTR_NULL(make_service(wrong, "C", "/", pair.a_plan));
    close_kept();
}

/* --- What operators say --- */

#define OWNED "owner sre; until 2099-12-31; "

static void test_rules_are_read(void)
{
    static const struct {
        const char *text;
        cpt_status status;
    } cases[] = {
        {"probability 1; graph 8; drag 0.25", CPT_OK},
        {"rate 5/s; graph 0", CPT_OK},
        {"probability 1; graph 1000000001", CPT_INVALID},
        {"probability 1; graph 0.5", CPT_INVALID},
        {"probability 1; graph -1", CPT_INVALID},
        {"probability 1; graph", CPT_INVALID},
        {"probability 1; drag 1.5", CPT_INVALID},
        {"probability 1; graph 1; graph 1", CPT_INVALID},
        {"graph 1", CPT_INVALID}, /* and when is it traced? */
        {"failed; graph 1", CPT_INVALID},
        {"latency > 5ms; drag 1", CPT_INVALID},
    };
    struct cpti_policy_rules *rules = cpt_alloc_zeroed(NULL, sizeof *rules);

    CU_ASSERT_PTR_NOT_NULL_FATAL(rules);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        char name[16];

        (void)snprintf(text, sizeof text, "%s%s", OWNED, cases[i].text);
        (void)snprintf(name, sizeof name, "r%zu", i);
        CU_ASSERT_EQUAL(
            cpti_rule_read(rules, cpt_bytes_of(name), cpt_bytes_of(text), NULL),
            cases[i].status);
    }
    CU_ASSERT_EQUAL(rules->count, 2);
    CU_ASSERT_TRUE(rules->items[0].has_graph && rules->items[0].has_drag);
    CU_ASSERT_EQUAL(rules->items[0].graph_every, 8);
    CU_ASSERT_EQUAL(rules->items[0].drag_share, 0.25);
    CU_ASSERT_TRUE(rules->items[1].has_graph && !rules->items[1].has_drag);
    cpt_alloc_free(NULL, rules);
}

static struct cpt_settings *settings;
static char settings_path[] = "/tmp/cpt_kept_XXXXXX";

static void write_settings(const char *text)
{
    FILE *file = fopen(settings_path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE(fputs(text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* The settings of A, read once. */
static void set(const char *text)
{
    struct cpt_settings_options options = {.struct_bytes = sizeof options,
                                           .path = settings_path,
                                           .services = &pair.a,
                                           .service_count = 1,
                                           .notify = say_nothing};

    write_settings(text);
    settings = cpt_settings_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(settings);
    cpt_settings_free(settings);
}

enum { DRAWS = 4000 };

/* How many of DRAWS requests keep their graph. */
static void draw(unsigned *graphs, unsigned *drags)
{
    const struct cpt_inbound inbound = inbound_with(NULL);
    const struct cpti_trace_context trace = {0};

    *graphs = 0;
    *drags = 0;
    for (int i = 0; i < DRAWS; i++) {
        struct cpti_decision decision = {0};

        cpti_sampling_decide(&pair.a->sampling, &inbound, &trace, &pair.a->counters,
                             &decision);
        CU_ASSERT_EQUAL(decision.wants_graph, decision.ask.graph_id != 0);
        *graphs += decision.wants_graph;
        *drags += decision.wants_drag;
    }
}

/* Whether @count of DRAWS is about @share of them: 6 standard deviations. */
static bool is_about(unsigned count, double share)
{
    const double off = (double)count - DRAWS * share;

    return off * off <= 36 * DRAWS * share * (1 - share);
}

static void test_settings_draw(void)
{
    static const struct {
        const char *text;
        double graphs;
        double drags;
    } cases[] = {
        {"", 0.25, 0},
        {"graph = 1\n", 1, 0},
        {"graph = 10\ndrag = 0.5\n", 0.1, 0.5},
        {"graph = 0\ndrag = 1\n", 0, 1},
        {"graph = 1\ngraph = 2\n", 0.25, 0}, /* bad: nothing changes */
        {"graph = -1\n", 0.25, 0},
        {"drag = 2\n", 0.25, 0},
        {"graph_rate = 5\n", 0.25, 0},
        {"graph = 2\nrule r = " OWNED "probability 0.5; graph 4; drag 1\n", 0.125, 0.5},
        {"drag = 1\nrule r = " OWNED "probability 0.5\n", 0.125, 0.5},
    };
    const int made = mkstemp(settings_path);

    CU_ASSERT_FATAL(made >= 0);
    (void)close(made);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned graphs = 0;
        unsigned drags = 0;

        open_kept(with_graphs(always, 4), never);
        set(cases[i].text);
        draw(&graphs, &drags);
        CU_ASSERT_TRUE(is_about(graphs, cases[i].graphs));
        CU_ASSERT_TRUE(is_about(drags, cases[i].drags));
        close_kept();
    }
    (void)unlink(settings_path);
}

/* A service within draws nothing: its caller decides, for all of a request. */
static void test_callees_do_not_draw(void)
{
    struct kept b[GRAPHS_MAX];
    struct cpt_service_options options = with_graphs(always, 1);

    open_kept(with_graphs(always, 0), never);
    cpt_service_free(pair.b);
    options.graphs = of_b.queue;
    options.log = pair.log;
    options.role = CPT_ROLE_INNER;
    options.drag_share = 1;
    pair.b = make_service(options, "B", "/look", pair.b_plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pair.b);
    net.services[net.service_count - 1] = pair.b;
    ask_a(NULL);
    CU_ASSERT_EQUAL(counter(pair.b, "traced_by_coin", NULL), 1);
    CU_ASSERT_EQUAL(read_store(&of_b, b), 0);
    close_kept();
}

CU_TestInfo cpt_kept_tests[] = {
    {"rules about graphs and drags are read", test_rules_are_read},
    {"settings and rules draw their shares", test_settings_draw},
    {"callees do not draw", test_callees_do_not_draw},
    {"a request is kept whole by all services", test_both_are_kept},
    {"each request and each call has an id of its own", test_ids_differ},
    {"a callee without graphs is a constant", test_callee_without},
    {"nothing is kept that nothing asked for", test_nothing_is_kept_unasked},
    {"a person may ask for a graph", test_a_person_asks},
    {"what callers ask for is limited", test_callers_are_limited},
    {"graphs that are lost are counted", test_lost_graphs_are_counted},
    {"the memory of components counts with a graph", test_components_count},
    {"components that the answer does not wait for", test_work_that_is_left},
    {"a log of graphs takes nothing else", test_content_is_checked},
    CU_TEST_INFO_NULL,
};
