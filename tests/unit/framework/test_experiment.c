/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_experiment.c - experiments of the operator: their text, turns, arms, guards, and
 * what they do to two services in virtual time */
#include "tests/support/suites.h"
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_settings.h"
#include "framework/run/delay.h"
#include "framework/service/rules/experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

/* --- Its text --- */

static struct cpti_experiment_wanted wanted;

static cpt_status read_text(const char *key, const char *text, struct cpt_error *error)
{
    cpt_status status = CPT_FAILED;

    CU_ASSERT_TRUE(cpti_experiment_read(&wanted, cpt_bytes_of(key), cpt_bytes_of(text),
                                        &status, error));
    return status;
}

static void test_read(void)
{
    struct cpt_error error = {0};
    cpt_status status = CPT_OK;

    memset(&wanted, 0, sizeof wanted);
    CU_ASSERT_EQUAL(read_text("experiment",
                              "delta 5ms; guard 250ms; frames A: A1, B: B2 ; share "
                              "0.25; each 30s; for 600s; errors 0.02; burn;",
                              &error),
                    CPT_OK);
    CU_ASSERT_TRUE(wanted.is_on && wanted.burns && !wanted.is_all);
    CU_ASSERT_EQUAL(wanted.delta_ns, 5 * MS);
    CU_ASSERT_EQUAL(wanted.guard_ns, 250 * MS);
    CU_ASSERT_EQUAL(wanted.each_ns, 30 * SECOND);
    CU_ASSERT_EQUAL(wanted.total_ns, 600 * SECOND);
    CU_ASSERT_EQUAL(wanted.share, 0.25);
    CU_ASSERT_EQUAL(wanted.errors_max, 0.02);
    CU_ASSERT_EQUAL(wanted.frame_count, 2);
    CU_ASSERT_STRING_EQUAL(wanted.frames[0], "A: A1");
    CU_ASSERT_STRING_EQUAL(wanted.frames[1], "B: B2");
    CU_ASSERT_EQUAL(read_text("experiment_asked", "delta 5ms; rate 60/min", &error),
                    CPT_OK);
    CU_ASSERT_EQUAL(wanted.asked_ns_max, 5 * MS);
    CU_ASSERT_EQUAL(wanted.asked_rate, 1);
    CU_ASSERT_EQUAL(read_text("experiment", "off", &error), CPT_INVALID); /* twice */
    CU_ASSERT_FALSE(cpti_experiment_read(&wanted, cpt_bytes_of("experiments"),
                                         cpt_bytes_of("off"), &status, &error));

    memset(&wanted, 0, sizeof wanted);
    CU_ASSERT_EQUAL(read_text("experiment", "delta 100ms;guard 1s;frames all", &error),
                    CPT_OK);
    CU_ASSERT_TRUE(wanted.is_all);
    CU_ASSERT_EQUAL(wanted.share, 0.5);
    memset(&wanted, 0, sizeof wanted);
    CU_ASSERT_EQUAL(read_text("experiment", "off", &error), CPT_OK);
    CU_ASSERT_FALSE(wanted.is_on);
}

static void test_read_bad(void)
{
    static const char *const rows[] = {
        "",
        "on",
        "delta 5ms; frames all",                /* no guard */
        "delta 5ms; guard 250ms",               /* no frames */
        "guard 250ms; frames all",              /* no delay */
        "delta 101ms; guard 250ms; frames all", /* beyond what is allowed */
        "delta 0ms; guard 250ms; frames all",
        "delta -5ms; guard 250ms; frames all",
        "delta 5; guard 250ms; frames all",
        "delta 5ms; guard 5ms; frames all", /* stops at once */
        "delta 5ms; guard 250ms; frames all; share 0.6",
        "delta 5ms; guard 250ms; frames all; share 0",
        "delta 5ms; guard 250ms; frames all; each 1ms",
        "delta 5ms; guard 250ms; frames all; for 700000s", /* more than a week */
        "delta 5ms; guard 250ms; frames all; errors 2",
        "delta 5ms; guard 250ms; frames all; burn 5",
        "delta 5ms; delta 5ms; guard 250ms; frames all",
        "delta 5ms; guard 250ms; frames A: A1,",
        "delta 5ms; guard 250ms; frames ,A: A1",
        "delta 5ms; guard 250ms; frames A: A1, A: A1",
        "delta 5ms; guard 250ms; frames A: \x01",
        "delta 5ms; guard 250ms; frames all; everything",
    };
    struct cpt_error error = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memset(&wanted, 0, sizeof wanted);
        error = (struct cpt_error){0};
        CU_ASSERT_EQUAL(read_text("experiment", rows[i], &error), CPT_INVALID);
        CU_ASSERT_NOT_EQUAL(error.sentence[0], '\0');
    }
    memset(&wanted, 0, sizeof wanted);
    CU_ASSERT_EQUAL(read_text("experiment_asked", "delta 5ms", &error), CPT_INVALID);
    memset(&wanted, 0, sizeof wanted);
    CU_ASSERT_EQUAL(read_text("experiment_asked", "delta 1s; rate 1/s", &error),
                    CPT_INVALID);
}

/* --- Turns and arms --- */

static struct cpti_experiment_run *make_run(const char *text, uint64_t seed)
{
    struct cpti_experiment_run *run = NULL;
    struct cpt_error error = {0};

    memset(&wanted, 0, sizeof wanted);
    CU_ASSERT_EQUAL_FATAL(read_text("experiment", text, &error), CPT_OK);
    run = cpti_experiment_run_new(&wanted, SECOND, seed, cpt_alloc_default());
    CU_ASSERT_PTR_NOT_NULL_FATAL(run);
    return run;
}

/* Each frame has its turn in each round, in the same order. */
static void test_turns(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cpti_experiment_run *run = make_run(
            "delta 5ms; guard 1s; frames X: a, X: b, X: c; each 10s; for 90s", seed);
        struct cpti_experiment_arm arm;
        unsigned counts[3] = {0};
        int first = -1;

        for (unsigned turn = 0; turn < 9; turn++) {
            const uint64_t begin_ns = SECOND + turn * 10 * SECOND;
            int letter = 0;

            cpti_experiment_draw(run, begin_ns, &arm);
            CU_ASSERT_TRUE_FATAL(arm.is_in);
            letter = arm.frame[3] - 'a';
            CU_ASSERT_FATAL(letter >= 0 && letter < 3);
            first = first < 0 ? letter : first;
            CU_ASSERT_EQUAL(letter, (first + (int)turn) % 3);
            counts[letter]++;
            cpti_experiment_draw(run, begin_ns + 10 * SECOND - 1, &arm);
            CU_ASSERT_EQUAL(arm.frame[3] - 'a', letter);
        }
        CU_ASSERT_EQUAL(counts[0], 3);
        CU_ASSERT_EQUAL(counts[1], 3);
        cpti_experiment_draw(run, 91 * SECOND, &arm); /* its time is over */
        CU_ASSERT_FALSE(arm.is_in);
        CU_ASSERT_EQUAL(run->stop, CPTI_EXPERIMENT_OVER);
        cpti_experiment_draw(run, 2 * SECOND, &arm);
        CU_ASSERT_FALSE(arm.is_in);
        cpti_experiment_run_free(run);
    }
}

/* The share of those that are delayed, and no memory of the one before. */
static void test_arms(void)
{
    enum { DRAWS = 20000 };
    static const double shares[] = {0.5, 0.1};

    for (int s = 0; s < 2; s++) {
        char text[128];
        struct cpti_experiment_run *run = NULL;
        unsigned delayed = 0;
        unsigned pairs = 0;
        bool before = false;
        const double share = shares[s];

        (void)snprintf(text, sizeof text, "delta 5ms; guard 1s; frames all; share %g",
                       share);
        run = make_run(text, 42);
        run->frames = cpt_alloc_zeroed(cpt_alloc_default(), sizeof *run->frames);
        run->frames[0] = cpt_bytes_of("A: A1");
        run->frame_count = 1;
        for (int i = 0; i < DRAWS; i++) {
            struct cpti_experiment_arm arm;

            cpti_experiment_draw(run, 2 * SECOND, &arm);
            CU_ASSERT_TRUE_FATAL(arm.is_in);
            delayed += arm.is_delayed;
            pairs += arm.is_delayed && before;
            before = arm.is_delayed;
        }
        CU_ASSERT_TRUE(fabs(delayed - share * DRAWS) <
                       5 * sqrt(share * (1 - share) * DRAWS));
        CU_ASSERT_TRUE(fabs(pairs - share * share * DRAWS) <
                       5 * sqrt(share * share * DRAWS));
        cpti_experiment_run_free(run);
    }
}

/* --- Guards --- */

static enum cpti_experiment_stop stop_after(unsigned fast, unsigned slow,
                                            unsigned failed)
{
    struct cpti_experiment_run *run =
        make_run("delta 5ms; guard 100ms; frames A: A1", 1);
    enum cpti_experiment_stop stop = CPTI_EXPERIMENT_RUNS;

    for (unsigned i = 0; i < fast; i++) {
        cpti_experiment_note(run, 100 * MS, false);
    }
    for (unsigned i = 0; i < slow; i++) {
        cpti_experiment_note(run, 100 * MS + 1, false);
    }
    for (unsigned i = 0; i < failed; i++) {
        cpti_experiment_note(run, MS, true);
    }
    stop = run->stop;
    cpti_experiment_run_free(run);
    return stop;
}

static void test_guard(void)
{
    CU_ASSERT_EQUAL(stop_after(10000, 0, 0), CPTI_EXPERIMENT_RUNS);
    CU_ASSERT_EQUAL(stop_after(100, 2, 2), CPTI_EXPERIMENT_RUNS);
    CU_ASSERT_EQUAL(stop_after(100, 3, 0), CPTI_EXPERIMENT_GUARD);
    CU_ASSERT_EQUAL(stop_after(100, 0, 3), CPTI_EXPERIMENT_ERRORS);
    CU_ASSERT_EQUAL(stop_after(0, 19, 0), CPTI_EXPERIMENT_RUNS); /* too few to say */
    CU_ASSERT_EQUAL(stop_after(0, 20, 0), CPTI_EXPERIMENT_GUARD);
    /* However long it was fast before. */
    CU_ASSERT_EQUAL(stop_after(100000, 6, 0), CPTI_EXPERIMENT_GUARD);
}

/* What all requests of the service do. */
static void test_watch(void)
{
    struct cpti_experiment_run *run =
        make_run("delta 5ms; guard 100ms; frames A: A1; for 10s", 1);

    cpti_experiment_watch(run, 1000, 10, 2 * SECOND);
    CU_ASSERT_EQUAL(run->stop, CPTI_EXPERIMENT_RUNS);
    cpti_experiment_watch(run, 1010, 13, 3 * SECOND); /* of 10: too few to say */
    CU_ASSERT_EQUAL(run->stop, CPTI_EXPERIMENT_RUNS);
    cpti_experiment_watch(run, 1100, 13, 3 * SECOND);
    CU_ASSERT_EQUAL(run->stop, CPTI_EXPERIMENT_ERRORS);
    run->stop = CPTI_EXPERIMENT_RUNS;
    cpti_experiment_watch(run, 1100, 13, 11 * SECOND);
    CU_ASSERT_EQUAL(run->stop, CPTI_EXPERIMENT_OVER);
    cpti_experiment_run_free(run);
}

/* --- Two services --- */

/* What the operator's file of @service says now; NULL: it is gone. */
static void configure(struct cpt_service *service, const char *text)
{
    char path[] = "experiment.XXXXXX";
    const int descriptor = mkstemp(path);
    struct cpt_settings_options options = {.struct_bytes = sizeof options,
                                           .path = path,
                                           .services = &service,
                                           .service_count = 1};

    CU_ASSERT_FATAL(descriptor >= 0);
    if (text != NULL) {
        CU_ASSERT_EQUAL(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
    } else {
        (void)unlink(path);
    }
    (void)close(descriptor);
    cpt_settings_free(cpt_settings_new(&options, NULL));
    (void)unlink(path);
}

static const struct cpt_attribute *attribute_of(const struct cpt_record *record,
                                                const char *key)
{
    for (size_t i = 0; i < record->attribute_count; i++) {
        if (cpt_bytes_equal(record->attributes[i].key, cpt_bytes_of(key))) {
            return &record->attributes[i];
        }
    }
    return NULL;
}

/* The arm of record @index: 'd', 'p', or '-' if it is in none; and its latency. */
static char arm_of(int index, const char *frame, uint64_t *latency_ns)
{
    struct cpt_record record;
    struct cpt_log_reader *reader = read_record(index, &record);
    const struct cpt_attribute *arm = NULL;
    char letter = '-';

    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    *latency_ns = record.latency_ns;
    arm = attribute_of(&record, "experiment_arm");
    if (arm != NULL) {
        letter = arm->value.text.data[0];
        CU_ASSERT_TRUE(cpt_bytes_equal(attribute_of(&record, "experiment")->value.text,
                                       cpt_bytes_of(frame)));
        CU_ASSERT_EQUAL(attribute_of(&record, "experiment_ns")->value.integer, 5 * MS);
        CU_ASSERT_EQUAL(attribute_of(&record, "experiment_probability")->value.real, 1);
    }
    cpt_log_reader_free(reader);
    return letter;
}

/* Asks A @count times; of those in each arm, the latency in ms must be as given. */
static void expect_arms(int count, const char *frame, uint64_t plain_ms,
                        uint64_t delayed_ms)
{
    const int begin = record_count();
    int delayed = 0;

    for (int i = 0; i < count; i++) {
        uint64_t latency_ns = 0;
        char arm = '-';

        ask_a(NULL);
        CU_ASSERT_STRING_EQUAL(answer.body, "page");
        arm = arm_of(begin + i, frame, &latency_ns);
        CU_ASSERT_TRUE(arm == 'd' || arm == 'p');
        CU_ASSERT_EQUAL(latency_ns / MS, arm == 'd' ? delayed_ms : plain_ms);
        delayed += arm == 'd';
    }
    CU_ASSERT_TRUE(delayed > count / 8 && delayed < count - count / 8);
}

#define OF(frames) "experiment = delta 5ms; guard 250ms; frames " frames "\n"

static void test_own_task(void)
{
    open_pair(always, never);
    configure(pair.a, OF("A: ask"));
    expect_arms(40, "A: ask", 12, 17);
    CU_ASSERT_EQUAL(counter(pair.a, "experiment_plain", NULL) +
                        counter(pair.a, "experiment_delayed", NULL),
                    40);
    CU_ASSERT_EQUAL(counter(pair.a, "experiment_tasks", NULL),
                    counter(pair.a, "experiment_delayed", NULL));
    close_pair();

    open_pair(always, never);
    configure(pair.a, OF("all"));
    expect_arms(40, "A: ask", 12, 17);
    CU_ASSERT_PTR_NULL(strstr(net.last_ask_text, "delay")); /* no one else is told */
    close_pair();

    open_pair(always, never);
    configure(pair.a, "experiment = delta 5ms; guard 250ms; frames all; burn\n");
    expect_arms(20, "A: ask", 12, 12); /* virtual time stands still meanwhile */
    CU_ASSERT_EQUAL(counter(pair.a, "experiment_tasks", NULL),
                    counter(pair.a, "experiment_delayed", NULL));
    close_pair();
}

/* Each level has the one below it twice: 2^LEVELS runs, but LEVELS plans. */
enum { LEVELS = 30 };

CPT_VALUE(level_in, unsigned);
CPT_VALUE(level_half, unsigned);
CPT_VALUE(level_out, unsigned);

static cpt_status begin_levels(struct cpt_task *task)
{
    *cpt_output(task, level_in) = 1;
    return CPT_OK;
}

static cpt_status pass_level(struct cpt_task *task)
{
    *cpt_output(task, level_out) = *cpt_input(task, level_in);
    return CPT_OK;
}

static const struct cpt_task_def pass_tasks[] = {
    {"pass", pass_level, CPT_GIVES(level_out), CPT_NEEDS(level_in), {NULL}, NULL}};
static struct cpt_task_def level_tasks[LEVELS][2];
static struct cpt_graph levels[LEVELS + 1] = {
    {"A", CPT_GIVES(level_in), CPT_GIVES(level_out), pass_tasks, 1}};
static const struct cpt_task_def deep_tasks[] = {
    {"begin", begin_levels, CPT_GIVES(level_in), CPT_NEEDS(rpc_request), {NULL}, NULL},
    {"levels", NULL, CPT_GIVES(level_out), CPT_NEEDS(level_in),
     .component = &levels[LEVELS]},
    {"answer", a_answer, CPT_GIVES(rpc_reply), CPT_NEEDS(level_out), {NULL}, NULL}};
static const struct cpt_graph deep = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                      deep_tasks, 3};

/* The frames of a service are listed while a request waits. */
static void test_deep_components(void)
{
    struct cpt_plan *plan = NULL;

    for (int i = 0; i < LEVELS; i++) {
        level_tasks[i][0] =
            (struct cpt_task_def){"left", NULL, CPT_GIVES(level_half),
                                  CPT_NEEDS(level_in), .component = &levels[i]};
        level_tasks[i][1] =
            (struct cpt_task_def){"right", NULL, CPT_GIVES(level_out),
                                  CPT_NEEDS(level_half), .component = &levels[i]};
        levels[i + 1] = (struct cpt_graph){"A", CPT_GIVES(level_in),
                                           CPT_GIVES(level_out), level_tasks[i], 2};
    }
    plan = cpt_plan_new(&deep, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    open_pair(always, never);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/deep", plan, NULL), CPT_OK);
    configure(pair.a, OF("all"));
    ask_a(NULL); /* of another method */
    CU_ASSERT_EQUAL(counter(pair.a, "experiment_plain", NULL) +
                        counter(pair.a, "experiment_delayed", NULL),
                    1);
    close_pair();
    cpt_plan_free(plan);
}

/* A request that is not of the random sample takes no part, nor does one of a service
 * that no file told to. */
static void test_who_takes_part(void)
{
    uint64_t latency_ns = 0;

    open_pair(never, never);
    configure(pair.a, OF("all"));
    for (int i = 0; i < 10; i++) {
        ask_a("1"); /* a person looks */
        CU_ASSERT_EQUAL(arm_of(i, "A: ask", &latency_ns), '-');
        CU_ASSERT_EQUAL(latency_ns / MS, 12);
        ask_a(NULL);
    }
    CU_ASSERT_EQUAL(record_count(), 10);
    close_pair();
}

static void test_of_a_callee(void)
{
    open_pair(always, never);
    configure(pair.a, OF("B: look"));
    expect_arms(20, "B: look", 12, 12); /* B's operator has not allowed it */
    CU_ASSERT_EQUAL(counter(pair.b, "experiment_refused", NULL),
                    counter(pair.a, "experiment_delayed", NULL));
    configure(pair.b, "experiment_asked = delta 4ms; rate 1000/s\n");
    expect_arms(20, "B: look", 12, 12); /* only less */
    configure(pair.b, "experiment_asked = delta 5ms; rate 1000/s\n");
    expect_arms(40, "B: look", 12, 17);
    CU_ASSERT_TRUE(counter(pair.b, "experiment_asked", NULL) > 0);
    CU_ASSERT_EQUAL(counter(pair.b, "experiment_tasks", NULL),
                    counter(pair.b, "experiment_asked", NULL));
    configure(pair.b, NULL); /* its kill switch */
    expect_arms(20, "B: look", 12, 12);
    close_pair();
}

/* What a header says changes nothing at an entry, and at a callee only what its
 * operator allows. */
static void test_hostile_header(void)
{
    char header[128];
    struct cpt_inbound inbound;
    const unsigned long long number = cpti_delay_frame(cpt_bytes_of("B: look"));
    uint64_t begin_ns = 0;

    open_pair(always, never);
    begin_ns = now.now_ns;
    configure(pair.a, "experiment_asked = delta 5ms; rate 1000/s\n");
    (void)snprintf(header, sizeof header, "1;max=2048;delay=5000000;at=\"%016llx\"",
                   (unsigned long long)cpti_delay_frame(cpt_bytes_of("A: ask")));
    ask_a(header);
    CU_ASSERT_EQUAL((now.now_ns - begin_ns) / MS, 12);
    CU_ASSERT_EQUAL(counter(pair.a, "experiment_tasks", NULL), 0);
    CU_ASSERT_PTR_NULL(strstr(net.last_ask_text, "delay"));

    configure(pair.b, "experiment_asked = delta 5ms; rate 2/s\n");
    for (int i = 0; i < 9; i++) {
        begin_ns = now.now_ns;
        /* Too long, then what is allowed, but not so often. */
        (void)snprintf(header, sizeof header, "1;max=2048;delay=%d;at=\"%016llx\"",
                       i < 3 ? 5000001 : 5000000, number);
        inbound = inbound_with(header);
        inbound.method = cpt_bytes_of("/look");
        ask(pair.b, &inbound);
        CU_ASSERT_EQUAL((now.now_ns - begin_ns) / MS, i < 3 || i > 4 ? 5 : 10);
    }
    close_pair();
}

enum { PARTS = 400 };

static struct cpt_plan *part_plan;

static const struct cpt_task_def part_tasks[] = {
    {"part", pass_level, CPT_GIVES(level_out), CPT_NEEDS(level_in), {NULL}, NULL}};
static const struct cpt_graph part_graph = {"B", CPT_GIVES(level_in),
                                            CPT_GIVES(level_out), part_tasks, 1};

static cpt_status spawn_parts(struct cpt_task *task)
{
    static const unsigned one = 1;

    for (int i = 0; i < PARTS; i++) {
        (void)cpt_spawn(task, "one", part_plan, level_in, &one);
    }
    return cpt_await_all(task, a_answer);
}

static const struct cpt_task_def parts_tasks[] = {
    {"parts", spawn_parts, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph parts = {"B", CPT_GIVES(rpc_request),
                                       CPT_GIVES(rpc_reply), parts_tasks, 1};

/* The rate of a callee counts requests; one of them may have any number of tasks. */
static void test_many_tasks(void)
{
    struct cpt_plan *plan = cpt_plan_new(&parts, NULL, NULL);
    char header[128];
    struct cpt_inbound inbound;

    part_plan = cpt_plan_new(&part_graph, NULL, NULL);
    open_pair(always, never);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.b, "/parts", plan, NULL), CPT_OK);
    configure(pair.b, "experiment_asked = delta 5ms; rate 2/s\n");
    (void)snprintf(header, sizeof header, "1;max=2048;delay=5000000;at=\"%016llx\"",
                   (unsigned long long)cpti_delay_frame(cpt_bytes_of("B: part")));
    inbound = inbound_with(header);
    inbound.method = cpt_bytes_of("/parts");
    ask(pair.b, &inbound);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_EQUAL(counter(pair.b, "experiment_tasks", NULL),
                    CPTI_DELAY_ASKED_NS_MAX / (5 * MS));
    CU_ASSERT_EQUAL(counter(pair.b, "experiment_spared", NULL),
                    PARTS - CPTI_DELAY_ASKED_NS_MAX / (5 * MS));
    close_pair();
    cpt_plan_free(plan);
    cpt_plan_free(part_plan);
}

static void test_kill(void)
{
    uint64_t latency_ns = 0;

    open_pair(always, never);
    configure(pair.a, OF("all"));
    expect_arms(20, "A: ask", 12, 17);
    configure(pair.a, "experiment = off\n");
    ask_a(NULL);
    CU_ASSERT_EQUAL(arm_of(20, "A: ask", &latency_ns), '-');
    configure(pair.a, OF("all"));
    expect_arms(20, "A: ask", 12, 17);
    configure(pair.a, NULL);
    ask_a(NULL);
    CU_ASSERT_EQUAL(arm_of(41, "A: ask", &latency_ns), '-');
    configure(pair.a, OF("all"));
    configure(pair.a, "nonsense\n");
    ask_a(NULL);
    CU_ASSERT_EQUAL(arm_of(42, "A: ask", &latency_ns), '-');
    close_pair();
}

/* The guard is between the arms: 12 ms and 17 ms. A stopped one does not begin again
 * because the file was read again. */
static void test_stops_itself(void)
{
    static const char text[] =
        "experiment = delta 5ms; guard 15ms; frames all; share 0.5\n";
    uint64_t latency_ns = 0;
    int count = 0;

    open_pair(always, never);
    configure(pair.a, text);
    do {
        ask_a(NULL);
    } while (arm_of(count++, "A: ask", &latency_ns) != '-' && count < 100);
    CU_ASSERT_TRUE(count > 20 && count < 40);
    configure(pair.a, text);
    ask_a(NULL);
    CU_ASSERT_EQUAL(arm_of(count, "A: ask", &latency_ns), '-');
    CU_ASSERT_EQUAL(counter(pair.a, "experiment_stops", NULL), 1);
    close_pair();
}

static void test_deadline(void)
{
    struct cpt_inbound inbound;
    uint64_t latency_ns = 0;

    open_pair(always, never);
    configure(pair.a, OF("all"));
    for (int i = 0; i < 20; i++) {
        inbound = inbound_with(NULL);
        inbound.timeout = cpt_bytes_of("40000"); /* us: eight times the delay */
        ask(pair.a, &inbound);
        CU_ASSERT_EQUAL(arm_of(i, "A: ask", &latency_ns), '-');
        CU_ASSERT_EQUAL(answer.http_status, 200);
    }
    CU_ASSERT_EQUAL(counter(pair.a, "experiment_left_out", NULL), 20);
    close_pair();
}

CU_TestInfo cpt_experiment_tests[] = {
    {"its text", test_read},
    {"a text that is refused", test_read_bad},
    {"turns of frames", test_turns},
    {"arms are a fair coin", test_arms},
    {"the guard", test_guard},
    {"errors of all requests", test_watch},
    {"a task of the service", test_own_task},
    {"components in components", test_deep_components},
    {"who takes part", test_who_takes_part},
    {"a task of a callee", test_of_a_callee},
    {"a hostile header", test_hostile_header},
    {"many tasks of a hostile header", test_many_tasks},
    {"off, gone, bad", test_kill},
    {"it stops by itself", test_stops_itself},
    {"near a deadline", test_deadline},
    CU_TEST_INFO_NULL,
};
