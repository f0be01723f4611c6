/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_manual_graph.c - graphs of services that record their requests by hand
 *
 * That they say what the drags of the same requests do is tested with random programs:
 * test_manual_random.c.
 */
#include "tests/support/failing_alloc.h"
#include "tests/unit/framework/graph_store.h"
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_manual.h"
#include "framework/share/manual.h"
#include "wire/cpt_graph_join.h"

#include <stdio.h>
#include <string.h>

#define PLAIN "1;max=2000"
#define GRAPH PLAIN ";graph=\"00000000000000ff\""

static struct graph_store of_a;
static struct graph_store of_b;

/* A keeps one in @every graphs of its own; B, a task graph, what it is asked for. */
static void open_kept(struct cpt_service_options a, unsigned every)
{
    struct cpt_service_options b = never;

    graph_store_open(&of_a, 0);
    graph_store_open(&of_b, 0);
    a.graphs = of_a.queue;
    a.graph_every = every;
    b.graphs = of_b.queue;
    open_pair(a, b);
}

static void close_kept(void)
{
    cpt_log_queue_flush(pair.log);
    cpt_log_queue_free(of_a.queue);
    cpt_log_queue_free(of_b.queue);
    close_pair();
}

static struct cpt_manual *begin(const char *ask_header)
{
    const struct cpt_inbound inbound = inbound_with(ask_header);
    struct cpt_manual *manual = cpt_manual_new(pair.a, &inbound);

    CU_ASSERT_PTR_NOT_NULL_FATAL(manual);
    return manual;
}

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

static void end(struct cpt_manual *manual)
{
    (void)cpt_manual_end(manual);
    cpt_manual_free(manual, 200);
}

/* A call of B, which takes 5 ms, and 1 ms each way. */
static void call_b(struct cpt_manual *manual)
{
    struct cpt_manual_call *call = cpt_manual_call_begin(manual, "B: /look");
    struct cpt_inbound inbound = inbound_with(NULL);

    inbound.method = cpt_bytes_of("/look");
    inbound.critical_path = cpt_manual_call_ask(manual, call);
    inbound.critical_path_count = 1;
    cpt_manual_wait_begin(manual);
    spend(1);
    ask(pair.b, &inbound);
    spend(1);
    cpt_manual_call_end(manual, call, NULL);
    cpt_manual_wait_end(manual);
}

static size_t count_graphs(struct graph_store *store, struct cpt_record *last,
                           uint64_t *id)
{
    struct cpt_log_reader *reader = graph_store_read(store);
    size_t count = 0;

    while (cpt_log_reader_next(reader, last, NULL) == CPT_OK) {
        CU_ASSERT_EQUAL(cpt_graph_id(last, id, NULL), CPT_OK);
        count++;
    }
    cpt_log_reader_free(reader);
    return count;
}

/* --- Who is joined with whom --- */

/* The request of both logs, whole: how many services it has, and its latency. */
static uint64_t join(uint64_t *latency_ns)
{
    const struct cpt_graph_join_options options = {.struct_bytes = sizeof options};
    struct cpt_graph_join *joined = cpt_graph_join_new(&options, NULL);
    struct graph_store *const stores[] = {&of_a, &of_b};
    struct cpt_graph_request request = {.service_count = 0};
    uint64_t services = 0;

    for (int i = 0; i < 2; i++) {
        struct cpt_graph_input input = {.read_at = graph_store_read_at,
                                        .context = stores[i]};

        cpt_log_reader_free(graph_store_read(stores[i]));
        input.bytes = stores[i]->bytes;
        CU_ASSERT_EQUAL_FATAL(cpt_graph_join_add(joined, &input, NULL), CPT_OK);
    }
    CU_ASSERT_EQUAL_FATAL(cpt_graph_join_next(joined, &request, NULL), CPT_OK);
    CU_ASSERT_EQUAL(graph_latency_ns(&request.records), request.record.latency_ns);
    *latency_ns = request.record.latency_ns;
    CU_ASSERT_EQUAL(cpt_graph_join_next(joined, &request, NULL), CPT_END);
    CU_ASSERT_EQUAL(cpt_graph_join_counts(joined)->missing_callees, 0);
    CU_ASSERT_EQUAL(cpt_graph_join_counts(joined)->foreign_records, 0);
    CU_ASSERT_EQUAL(cpt_graph_join_counts(joined)->refused_records, 0);
    services = 1 + cpt_graph_join_counts(joined)->joined_records;
    cpt_graph_join_free(joined);
    return services;
}

static void make_request(struct cpt_manual *manual)
{
    spend(2);
    cpt_manual_enter(manual, "part");
    call_b(manual);
    call_b(manual);
    cpt_manual_leave(manual);
    spend(1);
    end(manual);
}

static void test_own_policy(void)
{
    uint64_t latency_ns = 0;

    open_kept(always, 1);
    make_request(begin(NULL));
    CU_ASSERT_EQUAL(join(&latency_ns), 3);
    CU_ASSERT_EQUAL(latency_ns, 17 * MS);
    CU_ASSERT_EQUAL(counter(pair.a, "graphs_kept", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.b, "graphs_kept", NULL), 2);
    CU_ASSERT_EQUAL(record_count(), 1);
    close_kept();
}

static void test_caller_asks(void)
{
    struct cpt_record record;
    uint64_t latency_ns = 0;
    uint64_t id = 0;

    open_kept(never, 0);
    make_request(begin("1;forced;graph=\"00000000000000ff\""));
    CU_ASSERT_EQUAL(count_graphs(&of_a, &record, &id), 1);
    CU_ASSERT_EQUAL(id, 0xff);
    CU_ASSERT_EQUAL(join(&latency_ns), 3);
    CU_ASSERT_EQUAL(latency_ns, 17 * MS);
    close_kept();
}

/* Neither a graph nor an id. */
static void test_not_asked(void)
{
    struct cpt_record record;
    struct cpt_manual *manual = NULL;
    struct cpt_manual_call *call = NULL;
    uint64_t id = 0;

    open_kept(never, 1);
    manual = begin(PLAIN);
    call = cpt_manual_call_begin(manual, "B: /look");
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpt_manual_call_ask(manual, call), cpt_bytes_of(PLAIN)));
    make_request(manual);
    CU_ASSERT_EQUAL(count_graphs(&of_a, &record, &id), 0);
    CU_ASSERT_EQUAL(count_graphs(&of_b, &record, &id), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "graphs_lost", NULL), 0);
    CU_ASSERT_EQUAL(cpt_manual_call_ask(NULL, NULL).bytes, 0);
    close_kept();
}

/* The caller gets the bytes that it would have got. */
static void test_same_answer(void)
{
    static const char *const asks[] = {PLAIN, GRAPH};
    char first[CPT_METADATA_BYTES_CEILING];
    size_t first_bytes = 0;

    open_kept(never, 0);
    for (int i = 0; i < 2; i++) {
        struct cpt_manual *manual = begin(asks[i]);
        struct cpt_manual_call *calls[3];
        struct cpt_bytes metadata;

        for (int k = 0; k < 3; k++) {
            calls[k] = cpt_manual_call_begin(manual, "B: /0");
            spend(1);
        }
        cpt_manual_call_end(manual, calls[0], NULL);
        cpt_manual_wait_begin(manual);
        spend(1);
        cpt_manual_call_end(manual, calls[1], NULL);
        spend(1);
        cpt_manual_call_end(manual, calls[2], NULL);
        cpt_manual_wait_end(manual);
        metadata = cpt_manual_end(manual);
        if (i == 0) {
            first_bytes = metadata.bytes;
            memcpy(first, metadata.data, metadata.bytes);
        }
        CU_ASSERT_TRUE(first_bytes == metadata.bytes &&
                       memcmp(first, metadata.data, first_bytes) == 0);
        cpt_manual_free(manual, 200);
    }
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 0);
    close_kept();
}

/* Each call has an id of its own; who asks for it again gets the same. */
static void test_ids(void)
{
    struct cpt_manual_call *calls[2];
    struct cpt_bytes asks[2];
    struct cpt_manual *manual = NULL;

    open_kept(never, 0);
    manual = begin(GRAPH);
    for (int i = 0; i < 2; i++) {
        struct cpt_ask parsed;

        calls[i] = cpt_manual_call_begin(manual, "B: /look");
        asks[i] = cpt_manual_call_ask(manual, calls[i]);
        CU_ASSERT_EQUAL(cpt_ask_parse(&asks[i], 1, &parsed, NULL), CPT_OK);
        CU_ASSERT_EQUAL(parsed.graph_id, calls[i]->call.id);
        CU_ASSERT_EQUAL(parsed.bytes_max, 2000);
        CU_ASSERT_NOT_EQUAL(parsed.graph_id, 0);
        CU_ASSERT_NOT_EQUAL(parsed.graph_id, 0xff);
    }
    CU_ASSERT_NOT_EQUAL(calls[0]->call.id, calls[1]->call.id);
    CU_ASSERT_PTR_EQUAL(cpt_manual_call_ask(manual, calls[0]).data, asks[0].data);
    CU_ASSERT_TRUE(cpt_bytes_equal(cpt_manual_ask(manual), cpt_bytes_of(PLAIN)));
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpt_manual_call_ask(manual, NULL), cpt_bytes_of(PLAIN)));
    (void)cpt_manual_end(manual);
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpt_manual_call_ask(manual, NULL), cpt_bytes_of(PLAIN)));
    CU_ASSERT_EQUAL(asks[1].bytes, strlen(asks[1].data)); /* still there */
    cpt_manual_free(manual, 200);
    close_kept();
}

/* What the graph log says of a request is what the path log says. */
static void test_record(void)
{
    struct cpt_manual *manual = NULL;
    struct cpt_log_reader *reader = NULL;
    struct cpt_record record;
    uint64_t id = 0;

    open_kept(always, 1);
    manual = begin(NULL);
    cpt_manual_set_text(manual, "page", "home");
    spend(3);
    (void)cpt_manual_end(manual);
    cpt_manual_free(manual, 503);
    reader = graph_store_read(&of_a);
    CU_ASSERT_EQUAL_FATAL(cpt_log_reader_next(reader, &record, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_graph_id(&record, &id, NULL), CPT_OK);
    CU_ASSERT_NOT_EQUAL(id, 0);
    CU_ASSERT_EQUAL(record.latency_ns, 3 * MS);
    CU_ASSERT_TRUE(record.is_failed && !record.is_local_root);
    CU_ASSERT_TRUE(cpt_bytes_equal(record.service, cpt_bytes_of("A")));
    CU_ASSERT_TRUE(cpt_bytes_equal(record.method, cpt_bytes_of("/")));
    CU_ASSERT_TRUE(record.attribute_count >= 1);
    cpt_log_reader_free(reader);
    close_kept();
}

/* A service that logs no paths may keep graphs. */
static void test_without_a_path_log(void)
{
    struct cpt_service_options options = always;
    struct cpt_service *with_a_log = NULL;
    struct cpt_record record;
    uint64_t id = 0;

    open_kept(always, 1);
    with_a_log = pair.a;
    options.struct_bytes = sizeof options;
    options.name = "A";
    options.clock = &now.clock;
    options.graphs = of_a.queue;
    options.graph_every = 1;
    pair.a = cpt_service_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pair.a);
    make_request(begin(NULL));
    CU_ASSERT_EQUAL(count_graphs(&of_a, &record, &id), 1);
    CU_ASSERT_EQUAL(record_count(), 0);
    cpt_service_free(pair.a);
    pair.a = with_a_log;
    close_kept();
}

/* --- What is lost --- */

/* Some records had no memory, or there were too many arrivals: the path is there, the
 * graph is counted. */
static void test_lost(void)
{
    for (int i = 0; i < 3; i++) {
        struct cpt_service_options options = never;
        struct cpt_manual *manual = NULL;
        struct cpt_record record;
        uint64_t id = 0;

        options.memory_bytes_max = i == 1 ? 16384 : 0;
        open_kept(options, 0);
        manual = begin(GRAPH);
        for (int call = 0; call < (i == 2 ? CPTI_MANUAL_DRAG_RECORDS_MAX + 1 : 1000);
             call++) {
            cpt_manual_call_end(manual, cpt_manual_call_begin(manual, "B: /0"), NULL);
            spend(1);
        }
        (void)cpt_manual_end(manual);
        CU_ASSERT_PTR_NOT_NULL(cpt_manual_path(manual));
        cpt_manual_free(manual, 200);
        CU_ASSERT_EQUAL(count_graphs(&of_a, &record, &id), i == 0);
        CU_ASSERT_EQUAL(counter(pair.a, "graphs_lost", NULL), i != 0);
        CU_ASSERT_EQUAL(counter(pair.a, "graphs_kept", NULL), i == 0);
        close_kept();
    }
}

/* A log that takes nothing more takes no memory for ever, and no request waits. */
static void test_log_fails(void)
{
    open_kept(always, 1);
    of_a.fails = true;
    for (int i = 0; i < 3; i++) {
        make_request(begin(NULL));
    }
    cpt_log_queue_flush(pair.log);
    cpt_log_queue_flush(of_a.queue);
    CU_ASSERT_EQUAL(counter(pair.a, "graphs_lost", NULL), 3);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 0), CPT_OK);
    close_kept();
}

/* Whichever allocation is refused: the graph is kept or counted, if it was to be. */
static void test_without_memory(void)
{
    struct failing_alloc failing;
    size_t call_count = 1;

    for (size_t refused = 0; refused <= call_count; refused++) {
        struct cpt_service_options options = always;
        const struct cpt_inbound inbound = inbound_with(NULL);
        struct cpt_manual_call *call = NULL;
        struct cpt_manual *manual = NULL;
        struct cpt_service *other = NULL;

        failing_alloc_init(&failing, 0);
        open_kept(always, 0);
        options.struct_bytes = sizeof options;
        options.name = "A";
        options.graph_every = 1;
        options.graphs = of_a.queue;
        options.clock = &now.clock;
        options.alloc = &failing.alloc;
        other = cpt_service_new(&options, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(other);
        failing_alloc_init(&failing, 0);
        failing.refused_call = refused;
        manual = cpt_manual_new(other, &inbound);
        cpt_manual_enter(manual, "part");
        call = cpt_manual_call_begin(manual, "B: /0");
        (void)cpt_manual_call_ask(manual, call);
        spend(1);
        cpt_manual_call_end(manual, call, NULL);
        cpt_manual_leave(manual);
        (void)cpt_manual_end(manual);
        cpt_manual_free(manual, 200);
        cpt_log_queue_flush(of_a.queue);
        CU_ASSERT_EQUAL(counter(other, "graphs_kept", NULL) +
                            counter(other, "graphs_lost", NULL),
                        manual != NULL);
        CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
        call_count = refused == 0 ? atomic_load(&failing.call_count) : call_count;
        atomic_store(&failing.live_count, 100); /* the service was made before */
        cpt_service_free(other);
        close_kept();
    }
    CU_ASSERT_TRUE(call_count > 3);
}

extern CU_TestInfo cpt_manual_graph_tests[];
CU_TestInfo cpt_manual_graph_tests[] = {
    {"an entry keeps one, and its callees too", test_own_policy},
    {"a caller asks for one", test_caller_asks},
    {"not asked: no graph, no id", test_not_asked},
    {"the same answer", test_same_answer},
    {"ids of calls", test_ids},
    {"what it says of the request", test_record},
    {"without a log of paths", test_without_a_path_log},
    {"what is lost is counted", test_lost},
    {"a log that fails", test_log_fails},
    {"without memory", test_without_memory},
    CU_TEST_INFO_NULL,
};
