/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_drags.c - drags that a caller asks for: of the services, their callees, and the
 * components within, in virtual time; a drag stands behind ~, in ms
 */
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_shared.h"
#include "framework/run/recording_open.h"

#include <stdio.h>
#include <string.h>

#define NETWORK "B: ‹network+serialization›"

/* That of the last answer. */
static const char *dragged_answer(void)
{
    static char text[2048];
    struct cpt_path *path = cpt_path_new(NULL);

    CU_ASSERT_EQUAL(
        cpt_metadata_decode(answer.metadata, answer.metadata_bytes, NULL, path, NULL),
        CPT_OK);
    (void)snprintf(text, sizeof text, "%s", dragged_text(path));
    cpt_path_free(path);
    return text;
}

/* --- What is asked for, and what is not --- */

static void test_drags_come_if_asked(void)
{
    struct cpt_log_reader *reader = NULL;
    struct cpt_record record;
    struct cpt_path *path = cpt_path_new(NULL);

    open_pair(never, never);
    ask_a("1;forced;max=2000;drag");
    CU_ASSERT_STRING_EQUAL(dragged_answer(),
                           "A: /;A: ask 2 ~2, A: /;A: ask;B: /look;B: look 5 ~5, "
                           "A: /;A: ask;B: /look;" NETWORK " 2 ~2, A: /;A: ask 3 ~3");
    CU_ASSERT_STRING_EQUAL(net.last_ask_text, "1;max=2000;drag");
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.b, "drag_paths", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "lost_drags", NULL), 0);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(cpt_record_path(&record, NULL, path, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(dragged_text(path), dragged_answer());
    cpt_log_reader_free(reader);
    cpt_path_free(path);
    close_pair();
}

/* Neither the answers nor the records differ from what they were. */
static void test_no_drags_if_not_asked(void)
{
    struct answer plain;

    open_pair(never, never);
    ask_a("1;forced;max=2000");
    CU_ASSERT_STRING_EQUAL(net.last_ask_text, "1;max=2000");
    CU_ASSERT_STRING_EQUAL(dragged_answer(), answered_path());
    CU_ASSERT_PTR_NULL(strchr(dragged_answer(), '~'));
    plain = answer;
    ask_a("1;forced;max=2000;drag=?0");
    CU_ASSERT_EQUAL(answer.metadata_bytes, plain.metadata_bytes);
    CU_ASSERT_EQUAL(memcmp(answer.metadata, plain.metadata, plain.metadata_bytes), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 0);
    CU_ASSERT_EQUAL(counter(pair.b, "drag_paths", NULL), 0);
    close_pair();
}

/* --- Fig 2c: A1 is busy elsewhere while B1 is outstanding --- */

static cpt_status computes_beside(struct cpt_task *task)
{
    now.now_ns += 3 * MS;
    a_call = cpt_call(task, &work_stub, cpt_bytes_of("14"));
    (void)cpt_sleep(task, "other", 5 * MS);
    return cpt_await_all(task, a_called);
}

static const struct cpt_task_def beside_tasks[] = {{"A1",
                                                    computes_beside,
                                                    CPT_GIVES(rpc_reply),
                                                    CPT_NEEDS(rpc_request),
                                                    {NULL},
                                                    NULL}};
static const struct cpt_graph beside = {"A", CPT_GIVES(rpc_request),
                                        CPT_GIVES(rpc_reply), beside_tasks, 1};

/* Serves @method of A by @graph, and runs one request that asks for drags. */
static void ask_dragging(const char *method, const struct cpt_graph *graph)
{
    struct cpt_error error = {0};
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, &error);
    struct cpt_inbound inbound = inbound_with("1;max=2000;drag");

    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, method, plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of(method);
    ask(pair.a, &inbound);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 5000000000U), CPT_OK);
    cpt_plan_free(plan);
}

static void test_figure_2c(void)
{
    open_pair(never, never);
    serve_work();
    ask_dragging("/beside", &beside);
    /* without B's 14 ms A would still wait for 5 */
    CU_ASSERT_STRING_EQUAL(dragged_answer(),
                           "A: /beside;A: A1 3 ~3, "
                           "A: /beside;A: A1;B: /work;B: work;B: disk 14 ~9, "
                           "A: /beside;A: A1 3 ~3");
    close_pair();
}

/* --- Callees --- */

/* The callee knows no drags: it leaves them out of its path. */
static void send_none(void *context, struct cpt_transport_reply *reply)
{
    static unsigned char bytes[512];
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options, .bytes_max = sizeof bytes, .without_drags = 1};
    struct cpt_path *path = cpt_path_new(NULL);
    size_t count = 0;

    (void)context;
    CU_ASSERT_EQUAL(cpt_metadata_decode(reply->metadata.data, reply->metadata.bytes,
                                        NULL, path, NULL),
                    CPT_OK);
    CU_ASSERT_EQUAL(
        cpt_metadata_write(path, &options, bytes, sizeof bytes, &count, NULL), CPT_OK);
    reply->metadata = (struct cpt_bytes){(const char *)bytes, count};
    cpt_path_free(path);
}

static void test_an_older_callee(void)
{
    open_pair(never, never);
    net.tamper = send_none;
    ask_a("1;max=2000;drag");
    CU_ASSERT_STRING_EQUAL(dragged_answer(),
                           "A: /;A: ask 2 ~2, A: /;A: ask;B: /look;B: look 5, "
                           "A: /;A: ask;B: /look;" NETWORK " 2 ~2, A: /;A: ask 3 ~3");
    close_pair();
}

/* The callee says that its only segment of 5 ms has a drag of more. */
static void send_more(void *context, struct cpt_transport_reply *reply)
{
    static const unsigned char lie[] = {0x92, 0x01, 0x05, 0xff, 0xff, 0xff, 0xff, 0x7f};
    static char bytes[512];
    struct cpt_transport_reply without = *reply;

    send_none(context, &without);
    CU_ASSERT_FATAL(without.metadata.bytes + sizeof lie <= sizeof bytes);
    memcpy(bytes, without.metadata.data, without.metadata.bytes);
    memcpy(bytes + without.metadata.bytes, lie, sizeof lie);
    reply->metadata = (struct cpt_bytes){bytes, without.metadata.bytes + sizeof lie};
}

static void test_a_callee_that_lies(void)
{
    open_pair(never, never);
    net.tamper = send_more;
    ask_a("1;max=2000;drag");
    CU_ASSERT_STRING_EQUAL(dragged_answer(),
                           "A: /;A: ask 2 ~2, A: /;A: ask;B: /look;B: look 5 ~5, "
                           "A: /;A: ask;B: /look;" NETWORK " 2 ~2, A: /;A: ask 3 ~3");
    CU_ASSERT_EQUAL(counter(pair.a, "callee_clamped_drags", "B: /look"), 1);
    close_pair();
}

/* --- Components --- */

CPT_VALUE(wanted_ms, unsigned);
CPT_VALUE(found, unsigned);

static cpt_status searched(struct cpt_task *task)
{
    *cpt_output(task, found) = 1;
    return CPT_OK;
}

static cpt_status search(struct cpt_task *task)
{
    return cpt_await(
        task, cpt_sleep(task, "disk", (uint64_t)*cpt_input(task, wanted_ms) * MS),
        searched);
}

static const struct cpt_task_def search_tasks[] = {
    {"search", search, CPT_GIVES(found), CPT_NEEDS(wanted_ms), {NULL}, NULL}};
static const struct cpt_graph search_graph = {"A", CPT_GIVES(wanted_ms),
                                              CPT_GIVES(found), search_tasks, 1};
static struct cpt_plan *search_plan;

/* A component that takes 9 ms beside a sleep of 5. */
static cpt_status spawns_beside(struct cpt_task *task)
{
    static const unsigned ms = 9;

    now.now_ns += 2 * MS;
    (void)cpt_spawn(task, "part", search_plan, wanted_ms, &ms);
    (void)cpt_sleep(task, "timer", 5 * MS);
    return cpt_await_all(task, a_answer);
}

static const struct cpt_task_def spawn_tasks[] = {
    {"A1", spawns_beside, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph spawning = {"A", CPT_GIVES(rpc_request),
                                          CPT_GIVES(rpc_reply), spawn_tasks, 1};

static void test_a_component(void)
{
    search_plan = cpt_plan_new(&search_graph, NULL, NULL);
    open_pair(never, never);
    ask_dragging("/spawning", &spawning);
    CU_ASSERT_STRING_EQUAL(dragged_answer(),
                           "A: /spawning;A: A1 2 ~2, "
                           "A: /spawning;A: A1;A: part;A: search;A: disk 9 ~4, "
                           "A: /spawning;A: A1 3 ~3");
    close_pair();
    cpt_plan_free(search_plan);
}

/* --- Shared work --- */

CPT_VALUE(wanted_batch, struct cpt_batch);

static struct cpt_shared *lookups;

static cpt_status search_all(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "disk", 9 * MS), searched);
}

static const struct cpt_task_def search_all_tasks[] = {
    {"search", search_all, CPT_GIVES(found), CPT_NEEDS(wanted_batch), {NULL}, NULL}};
static const struct cpt_graph search_all_graph = {
    "A", CPT_GIVES(wanted_batch), CPT_GIVES(found), search_all_tasks, 1};

/* Shared work that takes 9 ms beside a sleep of 5. */
static cpt_status shares_beside(struct cpt_task *task)
{
    static const unsigned ms = 9;

    now.now_ns += 2 * MS;
    (void)cpt_share(task, lookups, cpt_bytes_of("key"), wanted_ms, &ms);
    (void)cpt_sleep(task, "timer", 5 * MS);
    return cpt_await_all(task, a_answer);
}

static const struct cpt_task_def share_tasks[] = {
    {"A1", shares_beside, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph sharing = {"A", CPT_GIVES(rpc_request),
                                         CPT_GIVES(rpc_reply), share_tasks, 1};

static char two_texts[2][2048]; /* the paths of two requests … */
static int two_count;           /* … as they came */

static void note_path(void *context, const struct cpt_outbound *outbound)
{
    struct cpt_path *path = cpt_path_new(NULL);

    CU_ASSERT_EQUAL(cpt_metadata_decode(outbound->metadata.data,
                                        outbound->metadata.bytes, NULL, path, NULL),
                    CPT_OK);
    (void)snprintf(two_texts[*(int *)context], sizeof two_texts[0], "%s",
                   dragged_text(path));
    cpt_path_free(path);
    two_count++;
}

/* Two requests at once, with these headers. */
static void ask_both(struct cpt_shared_options options, const char *first,
                     const char *second)
{
    static int numbers[] = {0, 1};
    struct cpt_plan *plan = cpt_plan_new(&sharing, NULL, NULL);

    search_plan = cpt_plan_new(
        options.batch_count_max != 0 ? &search_all_graph : &search_graph, NULL, NULL);
    options.struct_bytes = sizeof options;
    options.plan = search_plan;
    options.name = "lookup";
    lookups = cpt_shared_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(lookups);
    open_pair(never, never);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/sharing", plan, NULL), CPT_OK);
    two_count = 0;
    for (int i = 0; i < 2; i++) {
        struct cpt_inbound inbound = inbound_with(i == 0 ? first : second);

        inbound.method = cpt_bytes_of("/sharing");
        cpt_service_serve(pair.a, &inbound, note_path, &numbers[i]);
    }
    virtual_run(&now);
    CU_ASSERT_EQUAL(two_count, 2);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 5000000000U), CPT_OK);
    cpt_shared_free(lookups);
    close_pair();
    cpt_plan_free(search_plan);
    cpt_plan_free(plan);
}

#define LOOKUP "A: /sharing;A: A1;A: lookup;"

/* Without 11 ms of shared work A would still wait for 5. */
static void test_shared_work(void)
{
    const struct cpt_shared_options flight = {.keys_max = 0};

    ask_both(flight, "1;max=2000;drag", "1;max=2000");
    CU_ASSERT_STRING_EQUAL(two_texts[0],
                           "A: /sharing;A: A1 2 ~2, " LOOKUP
                           "A: search;A: ‹queue› 2 ~2, " LOOKUP
                           "A: search;A: disk 9 ~6, A: /sharing;A: A1 3 ~3");
    CU_ASSERT_PTR_NULL(strchr(two_texts[1], '~'));
}

/* The run begins when the second has joined. */
static void test_a_batch(void)
{
    const struct cpt_shared_options batch = {.batch_count_max = 2,
                                             .item = CPT_GIVES(wanted_ms)};

    ask_both(batch, "1;max=2000;drag", "1;max=2000;drag");
    CU_ASSERT_STRING_EQUAL(
        two_texts[0], "A: /sharing;A: A1 2 ~2, " LOOKUP "A: ‹batch wait› 2 ~2, " LOOKUP
                      "A: search;A: disk 9 ~6, A: /sharing;A: A1 3 ~3");
    ask_both(batch, "1;max=2000", "1;max=2000;drag");
    CU_ASSERT_PTR_NULL(strchr(two_texts[0], '~'));
    CU_ASSERT_PTR_NOT_NULL(strstr(two_texts[1], LOOKUP "A: search;A: disk 9 ~4, "));
}

/* --- The limit --- */

/* A task has an input, that of Fig 2c also two calls, a wait, and what came for it. */
enum { BESIDE_RECORDS = 5, MANY = (CPTI_DRAG_RECORDS_MAX - BESIDE_RECORDS) / 2 + 1 };

static cpt_status idle(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

static struct cpt_task_def many_tasks[MANY];

/* @count tasks: one after the other, and then that of Fig 2c. */
static struct cpt_graph chain_of(size_t count)
{
    static char names[MANY][8];
    static struct cpt_value values[MANY];

    for (size_t i = 1; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "t%u", (unsigned)i % 100000);
        values[i] = (struct cpt_value){.name = names[i], .bytes = 1, .type = "char"};
        many_tasks[i] =
            (struct cpt_task_def){.name = names[i], .run = idle, .gives = &values[i]};
        many_tasks[i].needs[0] = i > 1 ? &values[i - 1] : NULL;
    }
    many_tasks[0] = beside_tasks[0];
    many_tasks[0].needs[1] = &values[count - 1];
    return (struct cpt_graph){"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                              many_tasks, count};
}

/* A plan of more tasks than drags are made for: the path is as ever, and it is
 * counted. */
static void test_too_many_tasks(void)
{
    struct cpt_graph graph = chain_of(MANY - 1);

    open_pair(never, never);
    serve_work();
    ask_dragging("/most", &graph);
    CU_ASSERT_PTR_NOT_NULL(strstr(dragged_answer(), "B: disk 14 ~9"));
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 1);
    graph = chain_of(MANY);
    ask_dragging("/more", &graph);
    CU_ASSERT_PTR_NOT_NULL(strstr(dragged_answer(), "B: disk 14"));
    CU_ASSERT_PTR_NULL(strchr(dragged_answer(), '~'));
    CU_ASSERT_EQUAL(counter(pair.a, "lost_drags", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 1);
    close_pair();
}

/* A call, a wait, and what came for it; beside them the task and its input. */
enum { NAPS_MAX = (CPTI_DRAG_RECORDS_MAX - 2) / 3 };

static int nap_count;

static cpt_status naps(struct cpt_task *task)
{
    int *count = cpt_state(task, int);

    CU_ASSERT_PTR_NOT_NULL_FATAL(count);
    return (*count)++ == nap_count ? a_answer(task)
                                   : cpt_await(task, cpt_sleep(task, "nap", MS), naps);
}

static const struct cpt_task_def nap_tasks[] = {
    {"A1", naps, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph napping = {"A", CPT_GIVES(rpc_request),
                                         CPT_GIVES(rpc_reply), nap_tasks, 1};

/* What a task did counts as tasks do: else one that calls and waits again and again
 * would hold up its answer. */
static void test_too_many_waits(void)
{
    open_pair(never, never);
    nap_count = NAPS_MAX;
    ask_dragging("/most", &napping);
    CU_ASSERT_PTR_NOT_NULL(strchr(dragged_answer(), '~'));
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 1);
    nap_count = NAPS_MAX + 1;
    ask_dragging("/more", &napping);
    CU_ASSERT_PTR_NULL(strchr(dragged_answer(), '~'));
    CU_ASSERT_EQUAL(counter(pair.a, "lost_drags", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "drag_paths", NULL), 1);
    close_pair();
}

extern CU_TestInfo cpt_drags_inband_tests[];
CU_TestInfo cpt_drags_inband_tests[] = {
    {"drags come if they are asked for, and are logged", test_drags_come_if_asked},
    {"no drags if they are not asked for", test_no_drags_if_not_asked},
    {"what lasts beside a call is left of its drag", test_figure_2c},
    {"a callee that knows no drags", test_an_older_callee},
    {"a callee's drag above its segment is counted", test_a_callee_that_lies},
    {"a component has drags, too", test_a_component},
    {"and so has shared work, for who asks", test_shared_work},
    {"… also if the first of a batch does not", test_a_batch},
    {"a request of too many tasks goes without", test_too_many_tasks},
    {"so does one of too many waits", test_too_many_waits},
    CU_TEST_INFO_NULL,
};
