/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_edges.c - what a request gains without one of its sleeps: by the edges that it
 * kept, and by a slow model of its script
 *
 * One task in virtual time, in which timers fire also while it computes: so some of its
 * sleeps are over before it asks for them. A script without "k of n" has the gains of
 * the model, exactly; with it, its edges may promise less.
 */
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_dag_draft.h"
#include "framework/run/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 5, PARTS_MAX = 3, SLEEPS_MAX = STEPS_MAX * PARTS_MAX };
enum { SCRIPTS = 4000, ARENA_BYTES = 1 << 20, OWN_TIME = SLEEPS_MAX };

enum ask { ASK_ONE, ASK_ALL, ASK_SOME, ASK_WAIT };

struct step {
    unsigned part_count;
    uint64_t spend_ns[PARTS_MAX + 1]; /* before each sleep begins, and after the last */
    uint64_t sleep_ns[PARTS_MAX];
    enum ask ask;
    unsigned one; /* of the sleeps that have begun */
    unsigned first, count, wanted;
};

static struct script {
    struct step steps[STEPS_MAX];
    unsigned step_count;
    bool has_some;
} script;

static struct virtual_time now;
static struct cpt_pending *sleeps[SLEEPS_MAX];
static unsigned sleep_count;
static unsigned step_number;

CPT_VALUE(query, int);
CPT_VALUE(page, int);

/* --- The model --- */

static int compare_times(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* When @wanted of @count sleeps are over. */
static uint64_t over_ns(const uint64_t *ends, unsigned count, unsigned wanted)
{
    uint64_t sorted[SLEEPS_MAX];

    memcpy(sorted, ends, count * sizeof *ends);
    qsort(sorted, count, sizeof *sorted, compare_times);
    return sorted[wanted - 1];
}

/* How long the script takes if sleep @without, or the task's own time, takes none. */
static uint64_t model_ns(unsigned without)
{
    const bool spends = without != OWN_TIME;
    uint64_t ends[SLEEPS_MAX];
    uint64_t at_ns = 0;
    unsigned count = 0;

    for (unsigned i = 0; i < script.step_count; i++) {
        const struct step *step = &script.steps[i];
        uint64_t until_ns = 0;

        for (unsigned k = 0; k < step->part_count; k++) {
            at_ns += spends ? step->spend_ns[k] : 0;
            ends[count] = at_ns + (count != without ? step->sleep_ns[k] : 0);
            count++;
        }
        at_ns += spends ? step->spend_ns[step->part_count] : 0;
        until_ns = step->ask == ASK_ALL ? over_ns(ends, count, count)
                   : step->ask == ASK_SOME
                       ? over_ns(ends + step->first, step->count, step->wanted)
                       : ends[step->one];
        at_ns = until_ns > at_ns ? until_ns : at_ns;
    }
    return at_ns;
}

/* --- The task --- */

static cpt_status go_on(struct cpt_task *task)
{
    static const char *const names[SLEEPS_MAX] = {"sa", "sb", "sc", "sd", "se",
                                                  "sf", "sg", "sh", "si", "sj",
                                                  "sk", "sl", "sm", "sn", "so"};
    const struct step *step = &script.steps[step_number];

    if (step_number++ == script.step_count) {
        *cpt_output(task, page) = 1;
        return CPT_OK;
    }
    for (unsigned i = 0; i < step->part_count; i++) {
        virtual_run_until(&now, now.now_ns + step->spend_ns[i]);
        sleeps[sleep_count] = cpt_sleep(task, names[sleep_count], step->sleep_ns[i]);
        sleep_count++;
    }
    virtual_run_until(&now, now.now_ns + step->spend_ns[step->part_count]);
    switch (step->ask) {
    case ASK_ONE:
        return cpt_await(task, sleeps[step->one], go_on);
    case ASK_SOME:
        return cpt_await_some(task, sleeps + step->first, step->count, step->wanted,
                              go_on);
    case ASK_WAIT:
        CU_ASSERT_EQUAL(cpt_wait(task, sleeps[step->one]), CPT_OK);
        return go_on(task);
    default:
        return cpt_await_all(task, go_on);
    }
}

struct seen {
    uint64_t latency_ns;
    uint64_t gains_ns[SLEEPS_MAX + 1]; /* without each sleep; without the own time */
    uint64_t dag_ns;
    size_t spare_count;
    size_t without_await_count; /* arrivals that do not say which wait they are for */
    uint64_t contradiction_count;
};

/* The latency if the nodes of the frame with this @letter take no time. */
static uint64_t latency_without(const struct cpt_dag_recorded *recorded, char letter)
{
    struct cpt_dag_shape shape = recorded->shape;
    struct cpt_dag_node *nodes = calloc(shape.node_count, sizeof *nodes);
    struct cpt_dag *dag = NULL;
    uint64_t latency_ns = UINT64_MAX;

    CU_ASSERT_PTR_NOT_NULL_FATAL(nodes);
    for (size_t i = 0; i < shape.node_count; i++) {
        const struct cpt_bytes name = recorded->frames[shape.nodes[i].frame].name;

        nodes[i] = shape.nodes[i];
        if (name.bytes != 0 && ((const char *)name.data)[name.bytes - 1] == letter) {
            nodes[i].duration_ns = 0;
        }
    }
    shape.nodes = nodes;
    if (cpt_dag_new(NULL, &shape, &dag, NULL) == CPT_OK) {
        latency_ns = cpt_dag_latency_ns(dag);
    }
    cpt_dag_free(dag);
    free(nodes);
    return latency_ns;
}

static void look(struct cpt_request *request, void *context)
{
    struct seen *seen = context;
    struct cpt_dag_draft *draft = cpt_dag_draft_new(NULL, request->trace.arrival_ns);
    struct cpt_dag_records records;
    struct cpt_dag_recorded recorded;
    struct cpt_arena arena;

    cpt_arena_init(&arena, NULL, 0, ARENA_BYTES);
    seen->latency_ns = cpt_request_latency_ns(request);
    CU_ASSERT_EQUAL_FATAL(cpti_recording_dag_records(request, true, &arena, &records),
                          CPT_OK);
    for (size_t i = 0; i < records.arrival_count; i++) {
        seen->without_await_count +=
            records.arrivals[i].is_input == 0 && records.arrivals[i].await == NULL;
    }
    CU_ASSERT_EQUAL_FATAL(cpt_dag_draft_trace(draft, &records, &recorded), CPT_OK);
    seen->spare_count = recorded.shape.spare_count;
    seen->contradiction_count = recorded.contradiction_count;
    seen->dag_ns = latency_without(&recorded, '?');
    for (unsigned i = 0; i < SLEEPS_MAX; i++) {
        seen->gains_ns[i] =
            seen->latency_ns - latency_without(&recorded, (char)('a' + (int)i));
    }
    seen->gains_ns[OWN_TIME] = seen->latency_ns - latency_without(&recorded, '1');
    cpt_dag_draft_free(draft);
    cpt_arena_deinit(&arena);
}

/* Runs the script. */
static struct seen run(void)
{
    static const struct cpt_task_def tasks[] = {
        {"A1", go_on, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    static const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page),
                                           tasks, 1};
    struct seen seen = {0};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_request *request = NULL;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = &now.executor,
                                                .clock = &now.clock,
                                                .done = look,
                                                .context = &seen,
                                                .is_traced = 1};

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    sleep_count = 0;
    step_number = 0;
    virtual_init(&now, 0);
    CU_ASSERT_EQUAL_FATAL(cpti_request_new(&options, NULL, &request, NULL), CPT_OK);
    request->keeps_edges = true;
    cpti_request_launch(request, NULL, false);
    virtual_run(&now);
    cpt_plan_free(plan);
    return seen;
}

/* --- One script --- */

/* Something that came before its task asked for all is an edge. */
static void test_what_came_before_all(void)
{
    struct seen seen;

    script = (struct script){.steps = {{.part_count = 2,
                                        .sleep_ns = {8000, 9000},
                                        .spend_ns = {0, 0, 0},
                                        .ask = ASK_ONE,
                                        .one = 1},
                                       {.spend_ns = {3000}, .ask = ASK_ALL}},
                             .step_count = 2};
    seen = run();
    CU_ASSERT_EQUAL(seen.latency_ns, 12000);
    CU_ASSERT_EQUAL(seen.gains_ns[1], 4000); /* then the other one is the longest */
    CU_ASSERT_EQUAL(seen.gains_ns[OWN_TIME], 3000);
    CU_ASSERT_EQUAL(seen.without_await_count, 0);
}

/* The task computes until after what it asks for has come. */
static void test_own_time_hides_a_call(void)
{
    struct seen seen;

    script = (struct script){.steps = {{.part_count = 1,
                                        .sleep_ns = {8000},
                                        .spend_ns = {1000, 20000},
                                        .ask = ASK_ALL}},
                             .step_count = 1};
    seen = run();
    CU_ASSERT_EQUAL(seen.latency_ns, 21000);
    CU_ASSERT_EQUAL(seen.gains_ns[OWN_TIME], 13000); /* the sleep remains */
    script.steps[0].ask = ASK_WAIT;
    CU_ASSERT_EQUAL(run().gains_ns[OWN_TIME], 13000);
    script.steps[0].ask = ASK_ONE;
    CU_ASSERT_EQUAL(run().gains_ns[OWN_TIME], 13000);
}

/* What a race did not need is a spare of it, also if it never comes. */
static void test_losers_are_spares(void)
{
    struct seen seen;

    script = (struct script){.steps = {{.part_count = 3,
                                        .sleep_ns = {2000, 9000, 3000},
                                        .spend_ns = {0, 0, 0, 0},
                                        .ask = ASK_SOME,
                                        .first = 0,
                                        .count = 3,
                                        .wanted = 2}},
                             .step_count = 1};
    seen = run();
    CU_ASSERT_EQUAL(seen.latency_ns, 3000);
    CU_ASSERT_EQUAL(seen.gains_ns[2], 1000);
    CU_ASSERT_EQUAL(seen.spare_count, 1);
    script.steps[0].spend_ns[3] = 10000; /* all have come: the first two count */
    seen = run();
    CU_ASSERT_EQUAL(seen.latency_ns, 10000);
    CU_ASSERT_EQUAL(seen.gains_ns[OWN_TIME], 7000);
    CU_ASSERT_EQUAL(seen.spare_count, 1);
}

/* --- Random scripts --- */

static void draw(uint64_t *random)
{
    unsigned count = 0;

    memset(&script, 0, sizeof script);
    script.step_count = 1 + (unsigned)virtual_random(random, STEPS_MAX);
    for (unsigned i = 0; i < script.step_count; i++) {
        struct step *step = &script.steps[i];

        step->part_count =
            (unsigned)virtual_random(random, PARTS_MAX) + (count == 0 ? 1 : 0);
        for (unsigned k = 0; k <= step->part_count; k++) {
            step->spend_ns[k] = 1 + virtual_random(random, 400);
        }
        for (unsigned k = 0; k < step->part_count; k++) {
            step->sleep_ns[k] = 1 + virtual_random(random, 1500);
        }
        count += step->part_count;
        step->ask = (enum ask)virtual_random(random, 4);
        step->one = (unsigned)virtual_random(random, count);
        step->first = (unsigned)virtual_random(random, count);
        step->count = 1 + (unsigned)virtual_random(random, count - step->first);
        step->wanted = 1 + (unsigned)virtual_random(random, step->count);
        if (step->ask == ASK_SOME && step->wanted < step->count) {
            script.has_some = true;
        }
    }
}

/* A sleep that nothing asks for is not known: nothing would be gained. */
static bool is_good(void)
{
    const struct seen seen = run();
    const uint64_t latency_ns = model_ns(SLEEPS_MAX + 1);

    if (seen.latency_ns != latency_ns || seen.dag_ns != latency_ns ||
        seen.contradiction_count != 0 || seen.without_await_count != 0) {
        printf("\n  latency %llu, model %llu, dag %llu",
               (unsigned long long)seen.latency_ns, (unsigned long long)latency_ns,
               (unsigned long long)seen.dag_ns);
        return false;
    }
    for (unsigned i = 0; i <= SLEEPS_MAX; i++) {
        const uint64_t gain_ns =
            i < sleep_count || i == OWN_TIME ? latency_ns - model_ns(i) : 0;

        if (script.has_some ? seen.gains_ns[i] > gain_ns
                            : seen.gains_ns[i] != gain_ns) {
            printf("\n  without %u: %llu gained, %llu of the model", i,
                   (unsigned long long)seen.gains_ns[i], (unsigned long long)gain_ns);
            return false;
        }
    }
    return true;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

static void test_random_scripts(void)
{
    const uint64_t seed = number_of("CPT_TEST_SEED", 20261123);
    const uint64_t count = number_of("CPT_TEST_CASES", SCRIPTS);

    printf("(seeds from %llu) ", (unsigned long long)seed);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t random = seed + i;

        draw(&random);
        if (!is_good()) {
            printf("\n  CPT_TEST_SEED=%llu\n", (unsigned long long)(seed + i));
            CU_FAIL("the edges of a script do not explain it");
            break;
        }
    }
}

CU_TestInfo cpt_edges_tests[] = {
    {"what came before a task asked for all", test_what_came_before_all},
    {"own time hides a call", test_own_time_hides_a_call},
    {"losers are spares", test_losers_are_spares},
    {"gains of random scripts are those of a model", test_random_scripts},
    CU_TEST_INFO_NULL,
};
