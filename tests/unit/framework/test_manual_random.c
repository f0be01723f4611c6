/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_manual_random.c - drags and graphs of random programs that record their requests
 * by hand
 *
 * Three properties of random programs of one thread:
 *
 *   exact      A wait needs all calls that end within it. Each segment is compared
 *              with the program without it, simulated anew.
 *   not above  The thread waits for all of some calls, or for one, while others end,
 *              too; it looks at some late. No drag is above what the program would
 *              gain in truth.
 *   the same   The graph in the log, read back, has the latency that was recorded, each
 *              slack of the records that it was made of, and the drags of the path;
 *              which is the path of the same program without a graph.
 */
#include "tests/support/test_random.h"
#include "tests/unit/framework/graph_store.h"
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_drag.h"
#include "cpt/cpt_path.h"
#include "cpt/cpt_trace.h"
#include "framework/cpt_manual.h"
#include "framework/share/manual.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DRAG         "1;max=2000;drag"
#define UNATTRIBUTED "\u2039unattributed\u203a"

/* --- Programs --- */

enum { EVENTS_MAX = 160, CALLS_MAX = 24 };

/* What the thread did; a join is over when all its calls have ended. */
enum event_kind { RUN, ISSUE, JOIN };

struct event {
    enum event_kind kind;
    unsigned call;     /* of ISSUE, JOIN */
    uint64_t begin_ns; /* of RUN, as it was … */
    uint64_t ns;       /* … and how long it took */
};

static struct {
    struct test_random random;
    struct cpt_manual *manual;
    struct cpt_manual_call *calls[CALLS_MAX];
    uint64_t issue_ns[CALLS_MAX];
    uint64_t call_ns[CALLS_MAX]; /* as told */
    unsigned call_count;
    bool is_open[CALLS_MAX];
    struct event events[EVENTS_MAX];
    size_t event_count;
    unsigned depth;
} program;

static uint64_t exact_count; /* drags that are what is gained */

/* Some time less than a segment: [@begin_ns, @end_ns) of the thread, or of a call. */
struct cut {
    int call; /* or -1 */
    uint64_t begin_ns;
    uint64_t end_ns;
};

static struct event *note(enum event_kind kind)
{
    struct event *event = &program.events[program.event_count++];

    CU_ASSERT_FATAL(program.event_count <= EVENTS_MAX);
    *event = (struct event){.kind = kind, .begin_ns = now.now_ns};
    return event;
}

static void run_for(uint64_t ns)
{
    note(RUN)->ns = ns;
    now.now_ns += ns;
}

static void issue(void)
{
    char name[32];

    if (program.call_count == CALLS_MAX) {
        return;
    }
    (void)snprintf(name, sizeof name, "B: /%u", program.call_count);
    program.calls[program.call_count] = cpt_manual_call_begin(program.manual, name);
    (void)cpt_manual_call_ask(program.manual, program.calls[program.call_count]);
    program.issue_ns[program.call_count] = now.now_ns;
    program.is_open[program.call_count] = true;
    note(ISSUE)->call = program.call_count++;
}

/* Call @call, if it is outstanding, is told to have ended now. */
static void tell(unsigned call)
{
    if (program.is_open[call]) {
        program.is_open[call] = false;
        program.call_ns[call] = now.now_ns - program.issue_ns[call];
        cpt_manual_call_end(program.manual, program.calls[call], NULL);
        note(JOIN)->call = call;
    }
}

static unsigned any_call(void)
{
    return (unsigned)test_random_below(&program.random, program.call_count);
}

static uint64_t some_ns(void)
{
    return test_random_below(&program.random, 20);
}

static void enter(void)
{
    cpt_manual_enter(program.manual, "part");
    program.depth++;
}

static void leave(void)
{
    if (program.depth != 0) {
        program.depth--;
        cpt_manual_leave(program.manual);
    }
}

/* Until now the thread ran, queued, or waited for what is not known: it lasts. */
static void note_since(uint64_t since_ns)
{
    struct event *event = note(RUN);

    event->begin_ns = since_ns;
    event->ns = now.now_ns - since_ns;
}

/* A wait: calls end; calls and parts may begin, parts end; and it may resume late. */
static void wait_for_some(void)
{
    unsigned left = 1 + (unsigned)test_random_below(&program.random, 4);
    uint64_t since_ns = now.now_ns; /* when something was told last */

    cpt_manual_wait_begin(program.manual);
    while (left-- != 0 && program.call_count != 0) {
        const unsigned call = any_call();
        const uint64_t what = test_random_below(&program.random, 8);

        now.now_ns += 1 + some_ns();
        if (what < 2 || (what == 2 && program.depth != 0)) {
            note_since(since_ns);
            since_ns = now.now_ns;
            what == 0 ? issue() : what == 1 ? enter() : leave();
        } else if (program.is_open[call]) {
            tell(call);
            since_ns = now.now_ns;
        }
    }
    now.now_ns += test_random_chance(&program.random, 30) ? some_ns() : 0;
    note_since(since_ns);
    cpt_manual_wait_end(program.manual);
}

static void do_something(void)
{
    run_for(1); /* no two things happen at the same time */
    switch (test_random_below(&program.random, 8)) {
    case 0:
    case 1:
        issue();
        break;
    case 2:
    case 3:
        wait_for_some();
        break;
    case 4:
        if (program.call_count != 0) {
            tell(any_call());
        }
        break;
    case 5:
        enter();
        break;
    case 6:
        leave();
        break;
    default:
        break;
    }
    if (test_random_chance(&program.random, 60)) {
        run_for(some_ns());
    }
}

/* How long the program takes without @cut. */
static uint64_t simulate(const struct cut *cut)
{
    uint64_t begun_ns[CALLS_MAX] = {0};
    uint64_t at_ns = 0;

    for (size_t i = 0; i < program.event_count; i++) {
        const struct event *event = &program.events[i];
        const uint64_t begin_ns =
            event->begin_ns > cut->begin_ns ? event->begin_ns : cut->begin_ns;
        const uint64_t end_ns = event->begin_ns + event->ns < cut->end_ns
                                    ? event->begin_ns + event->ns
                                    : cut->end_ns;
        uint64_t call_ns = program.call_ns[event->call];

        switch (event->kind) {
        case ISSUE:
            begun_ns[event->call] = at_ns;
            break;
        case JOIN:
            if (cut->call == (int)event->call) {
                call_ns -= cut->end_ns - cut->begin_ns;
            }
            call_ns += begun_ns[event->call];
            at_ns = at_ns > call_ns ? at_ns : call_ns;
            break;
        default:
            at_ns += event->ns;
            at_ns -= cut->call < 0 && end_ns > begin_ns ? end_ns - begin_ns : 0;
            break;
        }
    }
    return at_ns;
}

/* Prints the path of a case that failed, in ns, with its seed. */
static void print_case(uint64_t seed)
{
    const struct cpt_path *path = cpt_manual_path(program.manual);

    printf("\n  seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        char stack[2048];

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        printf("  %4llu %4lld %s\n", (unsigned long long)segment->duration_ns,
               (long long)cpt_path_drag(path, i), stack);
    }
}

/* Compares every segment of the path, which begins at @at_ns, with the program without
 * it; how many are wrong. Not exact: a drag may be smaller. What is not known is a wait
 * for nothing. */
static size_t count_wrong(uint64_t at_ns, uint64_t (*run_without)(const struct cut *),
                          bool is_exact)
{
    const struct cut nothing = {-1, 0, 0};
    const struct cpt_path *path = cpt_manual_path(program.manual);
    const uint64_t latency_ns = run_without(&nothing);
    size_t wrong = latency_ns != cpt_path_sum_ns(path);

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const uint64_t drag_ns = cpt_path_drag(path, i);
        struct cut cut = {-1, at_ns, at_ns + segment->duration_ns};
        const char *call = NULL;
        char stack[2048];
        uint64_t gain_ns = 0;

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        call = strstr(stack, "B: /");
        if (call != NULL) {
            (void)sscanf(call, "B: /%d", &cut.call);
        }
        gain_ns = latency_ns - run_without(&cut);
        at_ns += segment->duration_ns;
        if (strstr(stack, UNATTRIBUTED) != NULL) {
            wrong += drag_ns != CPT_DRAG_UNKNOWN;
        } else {
            wrong += is_exact ? drag_ns != gain_ns : drag_ns > gain_ns;
        }
        exact_count += drag_ns == gain_ns;
    }
    return wrong;
}

static void begin_program(uint64_t seed, const char *ask)
{
    const struct cpt_inbound inbound = inbound_with(ask);

    memset(&program, 0, sizeof program);
    now.now_ns += 1000 * (uint64_t)MS; /* the number of paths a second is limited */
    program.random.state = seed;
    program.manual = cpt_manual_new(pair.a, &inbound);
    CU_ASSERT_PTR_NOT_NULL_FATAL(program.manual);
}

static void run_program(void)
{
    for (uint64_t j = 1 + test_random_below(&program.random, 24); j != 0; j--) {
        do_something();
    }
    run_for(1);
    (void)cpt_manual_end(program.manual);
}

/* @attribution: with blocked time the calls are parts of nodes, which is exact, too. */
static void check_random(unsigned attribution, const char *what)
{
    const uint64_t seed = test_random_seed(what);
    const uint64_t cases = test_case_count(20000);
    struct cpt_service_options options = never;
    uint64_t segments = 0;

    options.attribution = attribution;
    open_pair(options, never);
    for (uint64_t i = 0; i < cases; i++) {
        uint64_t arrival_ns = 0;

        begin_program(seed + i, DRAG);
        arrival_ns = now.now_ns;
        run_program();
        segments += cpt_path_segment_count(cpt_manual_path(program.manual));
        if (count_wrong(arrival_ns, simulate, true) != 0) {
            print_case(seed + i);
            CU_FAIL("a drag is not what is gained");
            i = cases;
        }
        cpt_manual_free(program.manual, 200);
    }
    CU_ASSERT_TRUE(cases < 1000 || segments > cases);
    CU_ASSERT_TRUE(counter(pair.a, "drag_paths", NULL) != 0);
    CU_ASSERT_EQUAL(counter(pair.a, "lost_paths", NULL), 0);
    close_pair();
}

static void test_random(void)
{
    check_random(CPT_ATTRIBUTE_LONGEST, "drags by hand");
}

static void test_random_blocked(void)
{
    check_random(CPT_ATTRIBUTE_BLOCKED, "blocked time by hand");
}

/* --- Programs that wait for less than ends --- */

/* Of a program with needs: what the thread does, and for what it waits. */
struct intent {
    enum { DO_RUN, DO_ISSUE, DO_WAIT, DO_LOOK } kind;
    uint64_t ns;       /* of RUN and ISSUE; of WAIT: until it is awake */
    unsigned call;     /* of ISSUE */
    uint32_t needs;    /* of WAIT: a bit for each call … */
    bool is_any;       /* … of which one is enough */
    uint64_t begin_ns; /* of RUN, as it was */
};

static struct {
    struct intent intents[EVENTS_MAX];
    size_t count;
} script;

static void write_script(struct test_random *random)
{
    unsigned calls = 0;

    script.count = 4 + test_random_below(random, 28);
    for (size_t i = 0; i < script.count; i++) {
        struct intent *intent = &script.intents[i];
        const uint64_t kind = test_random_below(random, 8);

        *intent = (struct intent){.kind = DO_RUN, .ns = test_random_below(random, 20)};
        if (kind < 3 && calls < CALLS_MAX) {
            intent->kind = DO_ISSUE;
            intent->ns = test_random_below(random, 60);
            intent->call = calls++;
        } else if (kind < 6 && calls != 0) {
            intent->kind = DO_WAIT;
            intent->ns = test_random_chance(random, 30) ? intent->ns : 0;
            intent->is_any = test_random_chance(random, 50);
            intent->needs =
                (uint32_t)test_random_next(random) & (((uint32_t)1 << calls) - 1);
            intent->needs |= (uint32_t)1 << test_random_below(random, calls);
        } else if (kind == 6) {
            intent->kind = DO_LOOK;
        }
    }
}

/* When what @intent waits for has come; calls end at @end_ns. */
static uint64_t come_ns(const struct intent *intent, const uint64_t *end_ns)
{
    uint64_t come = intent->is_any ? UINT64_MAX : 0;

    for (unsigned i = 0; i < CALLS_MAX; i++) {
        if ((intent->needs >> i & 1) != 0) {
            come = (end_ns[i] < come) == intent->is_any ? end_ns[i] : come;
        }
    }
    return come;
}

/* Tells what has ended by @until_ns, in order, each when it did or now. */
static void tell_until(uint64_t until_ns, const uint64_t *end_ns)
{
    for (;;) {
        unsigned next = CALLS_MAX;

        for (unsigned i = 0; i < program.call_count; i++) {
            if (program.is_open[i] && end_ns[i] <= until_ns &&
                (next == CALLS_MAX || end_ns[i] < end_ns[next])) {
                next = i;
            }
        }
        if (next == CALLS_MAX) {
            return;
        }
        now.now_ns = end_ns[next] > now.now_ns ? end_ns[next] : now.now_ns;
        tell(next);
    }
}

/* Runs the script and tells what happens. */
static void run_script(void)
{
    uint64_t end_ns[CALLS_MAX] = {0};

    for (size_t i = 0; i < script.count; i++) {
        struct intent *intent = &script.intents[i];
        uint64_t come = 0;

        switch (intent->kind) {
        case DO_RUN:
            intent->begin_ns = now.now_ns;
            now.now_ns += intent->ns;
            break;
        case DO_ISSUE:
            issue();
            end_ns[intent->call] = now.now_ns + intent->ns;
            break;
        case DO_LOOK:
            tell_until(now.now_ns, end_ns);
            break;
        default:
            come = come_ns(intent, end_ns);
            cpt_manual_wait_begin(program.manual);
            tell_until(come > now.now_ns ? come : now.now_ns, end_ns);
            now.now_ns = come > now.now_ns ? come : now.now_ns;
            intent->begin_ns = now.now_ns;
            now.now_ns += intent->ns;
            cpt_manual_wait_end(program.manual);
            break;
        }
        program.event_count = 0; /* not needed here */
    }
}

/* How long it would take in truth without @cut. */
static uint64_t simulate_script(const struct cut *cut)
{
    uint64_t end_ns[CALLS_MAX] = {0};
    uint64_t at_ns = 0;

    for (size_t i = 0; i < script.count; i++) {
        const struct intent *intent = &script.intents[i];
        const uint64_t begin_ns =
            intent->begin_ns > cut->begin_ns ? intent->begin_ns : cut->begin_ns;
        const uint64_t stop_ns = intent->begin_ns + intent->ns < cut->end_ns
                                     ? intent->begin_ns + intent->ns
                                     : cut->end_ns;

        if (intent->kind == DO_ISSUE) {
            end_ns[intent->call] =
                at_ns + (cut->call == (int)intent->call ? 0 : intent->ns);
            continue;
        }
        if (intent->kind == DO_LOOK) {
            continue;
        }
        if (intent->kind == DO_WAIT) {
            const uint64_t come = come_ns(intent, end_ns);

            at_ns = at_ns > come ? at_ns : come;
        }
        at_ns += intent->ns;
        at_ns -= cut->call < 0 && stop_ns > begin_ns ? stop_ns - begin_ns : 0;
    }
    return at_ns;
}

static void test_never_above_the_truth(void)
{
    const uint64_t seed = test_random_seed("needs by hand");
    const uint64_t cases = test_case_count(20000);
    uint64_t segments = 0;
    size_t wrong = 0;

    exact_count = 0;
    open_pair(never, never);
    for (uint64_t i = 0; i < cases && wrong == 0; i++) {
        uint64_t arrival_ns = 0;

        begin_program(seed + i, DRAG);
        arrival_ns = now.now_ns;
        write_script(&program.random);
        run_script();
        (void)cpt_manual_end(program.manual);
        segments += cpt_path_segment_count(cpt_manual_path(program.manual));
        wrong = count_wrong(arrival_ns, simulate_script, false);
        if (wrong != 0) {
            print_case(seed + i);
        }
        cpt_manual_free(program.manual, 200);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    printf("%llu of %llu drags are the truth ", (unsigned long long)exact_count,
           (unsigned long long)segments);
    close_pair();
}

/* --- Graphs --- */

enum { NODES_MAX = 2048, SEGMENTS_MAX = 1024 };

/* What is known of a program from its records. */
struct known {
    size_t node_count;
    struct cpt_dag_node nodes[NODES_MAX];
    struct cpt_dag_measure measures[NODES_MAX];
    size_t segment_count;
    uint64_t durations_ns[SEGMENTS_MAX];
    uint64_t drags_ns[SEGMENTS_MAX];
};

static struct known unasked; /* its path alone */
static struct known told;
static struct known read;
static struct graph_store store;

static void measure(const struct cpt_dag_records *records, struct known *known)
{
    struct cpt_dag_draft *draft =
        cpt_dag_draft_new(NULL, records->runs[0].trace->arrival_ns);
    struct cpt_dag_recorded recorded;
    struct cpt_dag *dag = NULL;

    CU_ASSERT_EQUAL_FATAL(cpt_dag_draft_trace(draft, records, &recorded), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &recorded.shape, &dag, NULL), CPT_OK);
    known->node_count = recorded.shape.node_count;
    CU_ASSERT_FATAL(known->node_count <= NODES_MAX);
    memcpy(known->nodes, recorded.shape.nodes,
           known->node_count * sizeof *known->nodes);
    CU_ASSERT_EQUAL(cpt_dag_measure(dag, known->measures), CPT_OK);
    cpt_dag_free(dag);
    cpt_dag_draft_free(draft);
}

static void note_path(const struct cpt_path *path, struct known *known)
{
    known->segment_count = cpt_path_segment_count(path);
    CU_ASSERT_FATAL(known->segment_count <= SEGMENTS_MAX);
    for (size_t i = 0; i < known->segment_count; i++) {
        known->durations_ns[i] = cpt_path_segment(path, i)->duration_ns;
        known->drags_ns[i] = cpt_path_drag(path, i);
    }
}

/* What is known of the program that has ended, before it is freed. */
static void note_told(void)
{
    struct cpt_manual *manual = program.manual;
    const struct cpt_dag_run run = {.trace = &manual->trace};
    struct cpt_dag_records records = {.runs = &run, .run_count = 1};
    struct cpt_arena arena;

    cpt_arena_init(&arena, NULL, 0, 0);
    CU_ASSERT_FATAL(cpti_manual_records(manual, NODES_MAX, &arena, &records));
    measure(&records, &told);
    cpt_arena_deinit(&arena);
    note_path(cpt_manual_path(manual), &told);
}

/* The path of a graph that was read, with drags. What stands in no graph, but on the
 * path of the program, is which part stands below which. */
static void walk(struct cpt_kept_graph *graph, unsigned attribution)
{
    struct cpt_trace trace = *graph->records.runs[0].trace;
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_drags *drags = NULL;

    for (size_t i = 0; i < graph->records.task_count; i++) {
        graph->records.tasks[i]->starter = graph->records.tasks[i]->unblocker;
    }
    graph->records.tasks[0]->has_no_frame = 1;
    for (size_t i = 0; i < graph->call_count; i++) {
        graph->calls[i].reason = CPT_REASON_UNSUPPORTED;
    }
    CU_ASSERT_EQUAL_FATAL(cpt_drags_new(NULL, &graph->records, 0, &drags, NULL),
                          CPT_OK);
    trace.drags = drags;
    trace.attribution = attribution;
    CU_ASSERT_EQUAL_FATAL(cpt_critical_path(NULL, &trace, path, NULL), CPT_OK);
    note_path(path, &read);
    cpt_drags_free(drags);
    cpt_path_free(path);
}

/* Reads the only graph of the log; whether its dag has the latency of its record. */
static bool read_graph(unsigned attribution)
{
    struct cpt_log_reader *reader = graph_store_read(&store);
    struct cpt_kept_graph graph;
    struct cpt_record record;
    struct cpt_arena arena;
    bool is_exact = false;

    cpt_arena_init(&arena, NULL, 0, 0);
    CU_ASSERT_EQUAL_FATAL(cpt_log_reader_next(reader, &record, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(
        cpt_graph_decode(&record, CPT_GRAPH_ARRIVAL_NS, &arena, &graph, NULL), CPT_OK);
    is_exact = graph_latency_ns(&graph.records) == record.latency_ns;
    measure(&graph.records, &read);
    walk(&graph, attribution);
    cpt_arena_deinit(&arena);
    CU_ASSERT_EQUAL(cpt_log_reader_next(reader, &record, NULL), CPT_END);
    cpt_log_reader_free(reader);
    graph_store_clear(&store);
    return is_exact;
}

static bool is_as_told(void)
{
    const size_t times_bytes = told.segment_count * sizeof(uint64_t);

    if (told.node_count != read.node_count ||
        told.segment_count != read.segment_count ||
        told.segment_count != unasked.segment_count ||
        memcmp(told.durations_ns, unasked.durations_ns, times_bytes) != 0) {
        return false;
    }
    for (size_t i = 0; i < told.node_count; i++) {
        if (told.nodes[i].duration_ns != read.nodes[i].duration_ns ||
            told.nodes[i].kind != read.nodes[i].kind ||
            told.measures[i].slack_ns != read.measures[i].slack_ns ||
            told.measures[i].free_ns != read.measures[i].free_ns ||
            told.measures[i].drag_ns != read.measures[i].drag_ns) {
            return false;
        }
    }
    return memcmp(told.durations_ns, read.durations_ns, times_bytes) == 0 &&
           memcmp(told.drags_ns, read.drags_ns, times_bytes) == 0;
}

/* The path of the same program of which nothing more is kept. */
static void run_unasked(uint64_t seed)
{
    begin_program(seed, "1;max=2000");
    run_program();
    note_path(cpt_manual_path(program.manual), &unasked);
    cpt_manual_free(program.manual, 200);
}

static void test_graphs(void)
{
    const uint64_t seed = test_random_seed("graphs by hand");
    const uint64_t cases = test_case_count(4000);
    struct cpt_service_options options = never;
    uint64_t nodes = 0;

    graph_store_open(&store, 0);
    options.graphs = store.queue;
    options.graphs_per_second_max = -1;
    open_pair(options, never);
    for (uint64_t i = 0; i < cases; i++) {
        uint64_t latency_ns = 0;

        run_unasked(seed + i);
        begin_program(seed + i, DRAG ";graph=\"00000000000000ff\"");
        latency_ns = now.now_ns;
        run_program();
        latency_ns = now.now_ns - latency_ns;
        CU_ASSERT_EQUAL(cpt_path_sum_ns(cpt_manual_path(program.manual)), latency_ns);
        note_told();
        cpt_manual_free(program.manual, 200);
        if (!read_graph(CPT_ATTRIBUTE_LONGEST) || !is_as_told()) {
            printf("\n  seed %llu\n", (unsigned long long)(seed + i));
            CU_FAIL("a graph is not what was told");
            i = cases;
        }
        nodes += read.node_count;
    }
    CU_ASSERT_TRUE(cases < 1000 || nodes > 4 * cases);
    CU_ASSERT_EQUAL(counter(pair.a, "graphs_lost", NULL), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "lost_drags", NULL), 0);
    cpt_log_queue_free(store.queue);
    close_pair();
}

extern CU_TestInfo cpt_manual_random_tests[];
CU_TestInfo cpt_manual_random_tests[] = {
    {"against brute force", test_random},
    {"… with blocked attribution", test_random_blocked},
    {"never above the truth", test_never_above_the_truth},
    {"graphs that are read back", test_graphs},
    CU_TEST_INFO_NULL,
};
