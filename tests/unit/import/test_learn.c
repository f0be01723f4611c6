/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_learn.c - who waits for whom, learnt from many requests
 *
 * Requests of one service at random: what is counted, and what each event comes behind
 * and was held by, is as a slow model finds it that goes through all requests for each
 * question. The fit is compared with all sets of weights that may be best.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"

#include "import/learn/learn_inside.h"

#include <CUnit/CUnit.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CASES = 60,
    TRACES = 24,
    CALLS = 6,
    TEXT_BYTES = 64,
    ROOT_NS = 1000000,
    SHORTEST_NS = 1000,
    NAMES = 3,
    END = CALLS, /* in the place of a call */
    NONE = -1
};

/* --- Requests at random --- */

struct call {
    int name;
    bool is_failed;
    uint64_t start_ns; /* from the beginning of the request */
    uint64_t end_ns;
};

struct request {
    struct call calls[CALLS]; /* by start */
    int count;
    int service;
    char text[CALLS + 1][TEXT_BYTES];
    const char *lines[CALLS + 2];
};

struct requests {
    struct request items[TRACES];
};

static int compare_calls(const void *left, const void *right)
{
    const struct call *a = left;
    const struct call *b = right;

    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static void write_lines(struct request *request)
{
    (void)snprintf(request->text[CALLS], TEXT_BYTES, "r - 0 %d a%d: / server", ROOT_NS,
                   request->service);
    request->lines[0] = request->text[CALLS];
    for (int i = 0; i < request->count; i++) {
        const struct call *call = &request->calls[i];

        (void)snprintf(request->text[i], TEXT_BYTES, "c%d r %u %u a%d: op%d client%s",
                       i, (unsigned)call->start_ns, (unsigned)call->end_ns,
                       request->service, call->name, call->is_failed ? " failed" : "");
        request->lines[i + 1] = request->text[i];
    }
    request->lines[request->count + 1] = NULL;
}

/* Calls in a row, with some that begin a little early, or side by side, or both. */
static void make(struct request *request, struct test_random *random, unsigned apart)
{
    uint64_t at_ns = 1 + test_random_below(random, 10000);

    memset(request, 0, sizeof *request);
    request->count = 1 + (int)test_random_below(random, CALLS);
    for (int i = 0; i < request->count; i++) {
        struct call *call = &request->calls[i];

        call->name = (int)test_random_below(random, NAMES);
        call->is_failed = test_random_chance(random, 10) != 0;
        call->start_ns = at_ns + (uint64_t)i;
        call->end_ns = call->start_ns + SHORTEST_NS + test_random_below(random, 150000);
        if (test_random_chance(random, apart)) {
            at_ns = call->end_ns + test_random_below(random, 20000);
        } else if (test_random_chance(random, 50)) {
            at_ns = call->end_ns - test_random_below(random, SHORTEST_NS);
        } else {
            at_ns += test_random_below(random, 30000);
        }
    }
    qsort(request->calls, (size_t)request->count, sizeof *request->calls,
          compare_calls);
    write_lines(request);
}

/* --- The model --- */

/* The how-maniest call of its name it is, and of how many. */
static void number_of(const struct request *request, int call, int *number, int *of)
{
    *number = 0;
    *of = 0;
    for (int i = 0; i < request->count; i++) {
        const bool is_one =
            request->calls[i].name == request->calls[call].name &&
            request->calls[i].is_failed == request->calls[call].is_failed;

        *of += is_one;
        *number += is_one && i < call;
    }
}

/* The call of @other with the place of @call of @request, or NONE. */
static int same_place(const struct request *request, int call,
                      const struct request *other)
{
    int number = 0;
    int of = 0;

    if (call == END) {
        return END;
    }
    number_of(request, call, &number, &of);
    for (int i = 0; i < other->count; i++) {
        int its_number = 0;
        int its_of = 0;

        number_of(other, i, &its_number, &its_of);
        if (other->calls[i].name == request->calls[call].name &&
            other->calls[i].is_failed == request->calls[call].is_failed &&
            its_number == number && its_of == of) {
            return i;
        }
    }
    return NONE;
}

static uint64_t length_of(const struct call *call)
{
    return call->end_ns - call->start_ns;
}

static uint64_t tolerance(const struct request *request, int one, int other)
{
    const uint64_t share = ROOT_NS / 100;
    uint64_t shorter = 0;

    if (other == END) {
        return share;
    }
    shorter = length_of(&request->calls[one]) < length_of(&request->calls[other])
                  ? length_of(&request->calls[one])
                  : length_of(&request->calls[other]);
    return share < shorter / 2 ? share : shorter / 2;
}

static bool overlap(const struct request *request, int one, int other)
{
    const uint64_t late_ns = tolerance(request, one, other);
    const struct call *a = &request->calls[one];

    return other == END ? a->end_ns > ROOT_NS + late_ns
                        : a->end_ns > request->calls[other].start_ns + late_ns &&
                              request->calls[other].end_ns > a->start_ns + late_ns;
}

static uint64_t at_of(const struct request *request, int event)
{
    return event == END ? ROOT_NS : request->calls[event].start_ns;
}

/* The call that ended last before @event, or NONE. */
static int last_before(const struct request *request, int event)
{
    const int count = event == END ? request->count : event;
    int last = NONE;

    for (int i = 0; i < count; i++) {
        if (request->calls[i].end_ns <= at_of(request, event) &&
            (last == NONE || request->calls[i].end_ns >= request->calls[last].end_ns)) {
            last = i;
        }
    }
    return last;
}

static double variance(const double *numbers, int count)
{
    double mean = 0;
    double sum = 0;

    for (int i = 0; i < count; i++) {
        mean += numbers[i] / count;
    }
    for (int i = 0; i < count; i++) {
        sum += (numbers[i] - mean) * (numbers[i] - mean);
    }
    return sum;
}

/* Whether call @from holds @to in general, or in requests like this one. */
static bool is_before(const struct requests *all, const struct request *request,
                      int from, int to)
{
    double gaps[TRACES];
    double lags[TRACES];
    int count = 0;
    int overlaps = 0;
    int lasts = 0;

    for (int i = 0; i < TRACES; i++) {
        const struct request *other = &all->items[i];
        const int a = same_place(request, from, other);
        const int b = same_place(request, to, other);

        if (a == NONE || b == NONE) {
            continue;
        }
        count++;
        overlaps += overlap(other, a, b);
        if ((b == END || b > a) && last_before(other, b) == a) {
            const int issued = (b == END ? other->count : b) - 1;

            gaps[lasts] = (double)(at_of(other, b) - other->calls[a].end_ns);
            lags[lasts++] = (double)(at_of(other, b) - other->calls[issued].start_ns);
        }
    }
    return overlaps * 50 <= count ||
           (lasts != 0 &&
            (lasts <= 9 || variance(gaps, lasts) <= variance(lags, lasts) / 5));
}

static bool starts_before(const struct requests *all, const struct request *request,
                          int from, int to)
{
    int count = 0;
    int overlaps = 0;

    for (int i = 0; i < TRACES && to != END; i++) {
        const struct request *other = &all->items[i];
        const int a = same_place(request, from, other);
        const int b = same_place(request, to, other);

        count += a != NONE && b != NONE;
        overlaps += a != NONE && b != NONE && b < a && overlap(other, a, b);
    }
    return overlaps * 50 <= count;
}

static int behind_of(const struct requests *all, const struct request *request,
                     int event)
{
    for (int i = (event == END ? request->count : event) - 1; i >= 0; i--) {
        if (starts_before(all, request, i, event)) {
            return i;
        }
    }
    return NONE;
}

/* --- Learning --- */

static struct cpt_bytes id_of(int number, char text[TEXT_BYTES])
{
    (void)snprintf(text, TEXT_BYTES, "%032x", (unsigned)number + 1);
    return cpt_bytes_of(text);
}

/* The pass is over all requests, in the order that @step makes, from the first on. */
static void pass(struct cpti_learn *learn, struct cpti_spans *spans,
                 const struct requests *all, int step)
{
    for (int i = 0; i < TRACES; i++) {
        const int number = (i * step) % TRACES;
        struct cpti_spans_report report;
        char text[TEXT_BYTES];

        cpti_spans_reset(spans);
        span_list_add(spans, all->items[number].lines);
        cpti_learn_stamps(learn, spans);
        CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL_FATAL(cpti_learn_spans(learn, spans, id_of(number, text)),
                              CPT_OK);
    }
}

/* Whether event @number of the node that was filled last is as the model has it, which
 * knows nothing of limits. */
static bool is_as_model(const struct cpti_learn *learn, const struct requests *all,
                        const struct request *request, int number)
{
    const struct learn_node *node = &learn->node;
    const struct learn_event *event = &node->events[number];
    const int to = number == request->count ? END : number;
    const int behind = behind_of(all, request, to);
    const uint32_t found = event->behind;

    if (to != END &&
        learn_operation(node->class, node->calls[number].operation)->limit != 0) {
        return true;
    }
    if ((found == LEARN_NONE ? NONE : (int)found) != behind) {
        return false;
    }
    for (int i = 0; i < number; i++) {
        const struct call *call = &request->calls[i];
        bool is_held = false;
        bool should = call->end_ns <= at_of(request, to) + tolerance(request, i, to) &&
                      is_before(all, request, i, to);

        if (should && behind != NONE && i < behind &&
            call->end_ns <= at_of(request, behind) + tolerance(request, i, behind) &&
            is_before(all, request, i, behind)) {
            should = false;
        }
        for (uint32_t k = 0; k < event->held_count; k++) {
            is_held = is_held || (int)node->held[event->held_at + k] == i;
        }
        if (is_held != should) {
            return false;
        }
    }
    return true;
}

static void test_events(void)
{
    struct test_random random = {test_random_seed("what is learnt")};
    unsigned failed = 0;

    for (int i = 0; i < CASES && failed < 3; i++) {
        static struct requests all;
        struct cpti_learn *learn = cpti_learn_new(NULL);
        struct cpti_spans *spans = cpti_spans_new(NULL);
        bool is_learnt = true;

        random.state = test_random_next(&random);
        for (int k = 0; k < TRACES; k++) {
            make(&all.items[k], &random, (unsigned)(i % 5) * 25);
        }
        CU_ASSERT_PTR_NOT_NULL_FATAL(learn);
        CU_ASSERT_PTR_NOT_NULL_FATAL(spans);
        pass(learn, spans, &all, 1);
        CU_ASSERT_EQUAL_FATAL(cpti_learn_next(learn, &is_learnt), CPT_OK);
        CU_ASSERT_FALSE_FATAL(is_learnt);
        for (int k = 0; k < TRACES; k++) {
            const struct request *request = &all.items[k];
            struct cpti_spans_report report;

            cpti_spans_reset(spans);
            span_list_add(spans, request->lines);
            CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
            CU_ASSERT_EQUAL_FATAL(cpti_learn_spans(learn, spans, cpt_bytes_of("1")),
                                  CPT_OK);
            for (int e = 0; e <= request->count; e++) {
                if (!is_as_model(learn, &all, request, e)) {
                    (void)printf("case %d, request %d, event %d\n", i, k, e);
                    failed++;
                }
            }
        }
        cpti_spans_free(spans);
        cpti_learn_free(learn);
    }
    CU_ASSERT_EQUAL(failed, 0);
}

/* --- The trace --- */

struct seen {
    struct call calls[CALLS];
    int count;
    uint64_t hash; /* of all nodes and edges */
    uint64_t longest_ns;
    unsigned evidence;
    bool has_doubt;
};

static uint64_t mixed(uint64_t hash, uint64_t number)
{
    return cpti_hash_mix(hash ^ cpti_hash_mix(number));
}

static cpt_status look(void *context, const struct cpt_dag *dag,
                       const struct cpt_dag_recorded *recorded, uint64_t latency_ns)
{
    const struct cpt_dag_shape *shape = &recorded->shape;
    struct cpt_dag_measure *measures =
        cpt_alloc_array(NULL, NULL, shape->node_count, sizeof *measures);
    struct seen *seen = context;

    (void)latency_ns;
    memset(seen, 0, sizeof *seen);
    CU_ASSERT_PTR_NOT_NULL_FATAL(measures);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_measure(dag, measures), CPT_OK);
    seen->longest_ns = cpt_dag_latency_ns(dag);
    seen->evidence = recorded->evidence;
    seen->has_doubt = recorded->doubt != NULL;
    for (uint32_t i = 0; i < shape->node_count; i++) {
        const struct cpt_dag_line *line = &recorded->lines[recorded->node_lines[i]];
        const struct cpt_dag_name *name = &recorded->frames[shape->nodes[i].frame];

        seen->hash = mixed(seen->hash, shape->nodes[i].duration_ns);
        seen->hash = mixed(seen->hash, line->occurrence);
        if (line->is_call != 0 && name->kind == CPT_DAG_CALL) {
            seen->calls[seen->count++] =
                (struct call){name->name.data[name->name.bytes - 1] - '0', false,
                              measures[i].start_ns,
                              measures[i].start_ns + shape->nodes[i].duration_ns};
        }
    }
    for (size_t i = 0; i < shape->edge_count; i++) {
        seen->hash = mixed(seen->hash, shape->edges[i].from);
        seen->hash = mixed(seen->hash, shape->edges[i].to);
    }
    cpt_alloc_free(NULL, measures);
    return CPT_OK;
}

/* All requests as dags, learnt in the order of @step. */
static void see_all(const struct requests *all, int step, bool doubts,
                    struct seen seen[TRACES], struct cpti_spans_cut cuts[TRACES])
{
    struct cpti_learn *learn = cpti_learn_new(NULL);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_learn_counts counts = {0, 0, 0};
    bool is_learnt = false;

    CU_ASSERT_PTR_NOT_NULL_FATAL(learn);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spans);
    if (!doubts) {
        cpti_learn_without_doubt(learn);
    }
    while (!is_learnt) {
        pass(learn, spans, all, step);
        CU_ASSERT_EQUAL_FATAL(cpti_learn_next(learn, &is_learnt), CPT_OK);
    }
    for (int i = 0; i < TRACES; i++) {
        struct cpti_spans_report report;
        char text[TEXT_BYTES];

        cpti_spans_reset(spans);
        span_list_add(spans, all->items[i].lines);
        CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL_FATAL(cpti_learn_dag(learn, spans, id_of(i, text), look,
                                             &seen[i], &cuts[i], &counts),
                              CPT_OK);
    }
    CU_ASSERT_EQUAL(counts.few, 0);
    cpti_spans_free(spans);
    cpti_learn_free(learn);
}

/* Each start is the recorded one, and each end, but for those that are cut. */
static bool is_recorded(const struct request *request, struct seen *seen,
                        const struct cpti_spans_cut *cut)
{
    size_t ends = 0;

    qsort(seen->calls, (size_t)seen->count, sizeof *seen->calls, compare_calls);
    if (seen->count != request->count || seen->longest_ns != ROOT_NS ||
        seen->evidence != CPT_EVIDENCE_LEARNT) {
        return false;
    }
    for (int i = 0; i < seen->count; i++) {
        if (seen->calls[i].start_ns != request->calls[i].start_ns) {
            return false;
        }
        ends += seen->calls[i].end_ns != request->calls[i].end_ns;
    }
    return ends == cut->count;
}

static void test_traces_are_what_was_recorded(void)
{
    struct test_random random = {test_random_seed("learnt traces")};
    unsigned failed = 0;

    for (int i = 0; i < CASES && failed < 3; i++) {
        static struct requests all;
        struct seen seen[TRACES];
        struct seen again[TRACES];
        struct cpti_spans_cut cuts[TRACES];

        random.state = test_random_next(&random);
        for (int k = 0; k < TRACES; k++) {
            make(&all.items[k], &random, (unsigned)(i % 5) * 25);
        }
        see_all(&all, 1, true, seen, cuts);
        see_all(&all, 5, false, again, cuts);
        for (int k = 0; k < TRACES; k++) {
            const bool is_same = seen[k].hash == again[k].hash;

            CU_ASSERT_TRUE(seen[k].has_doubt);
            CU_ASSERT_FALSE(again[k].has_doubt);

            if (!is_recorded(&all.items[k], &seen[k], &cuts[k]) || !is_same) {
                (void)printf("case %d, request %d%s\n", i, k,
                             is_same ? "" : ": the order of requests matters");
                failed++;
            }
        }
    }
    CU_ASSERT_EQUAL(failed, 0);
}

/* --- Limits --- */

enum { SERVICES = 100, CLASSES = LEARN_CLASSES_MAX + 5000 };

/* All events of @many, learnt in that order, or the other way round. */
static uint64_t hash_of_many(const struct requests *many, bool is_backwards)
{
    struct cpti_learn *learn = cpti_learn_new(NULL);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_learn_counts counts = {0, 0, 0};
    struct cpti_spans_cut cut = {0, 0};
    bool is_learnt = false;
    unsigned passes = 0;
    uint64_t hash = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(learn);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spans);
    for (; !is_learnt; passes++) {
        for (int i = 0; i < SERVICES; i++) {
            pass(learn, spans, &many[is_backwards ? SERVICES - 1 - i : i],
                 is_backwards ? TRACES - 1 : 1);
        }
        CU_ASSERT_EQUAL_FATAL(cpti_learn_next(learn, &is_learnt), CPT_OK);
    }
    CU_ASSERT_EQUAL(passes, 3); /* there are too many keys */
    for (int i = 0; i < SERVICES * TRACES; i++) {
        const struct request *request = &many[i / TRACES].items[i % TRACES];
        struct cpti_spans_report report;
        struct seen seen;
        char text[TEXT_BYTES];

        cpti_spans_reset(spans);
        span_list_add(spans, request->lines);
        CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL_FATAL(cpti_learn_dag(learn, spans, id_of(i % TRACES, text),
                                             look, &seen, &cut, &counts),
                              CPT_OK);
        CU_ASSERT_EQUAL(seen.longest_ns, ROOT_NS);
        hash = mixed(hash, seen.hash);
    }
    CU_ASSERT_EQUAL(counts.few, 0);
    cpti_spans_free(spans);
    cpti_learn_free(learn);
    return hash;
}

static void test_many_fits(void)
{
    static struct requests many[SERVICES];
    struct test_random random = {test_random_seed("many fits")};

    for (int i = 0; i < SERVICES; i++) {
        for (int k = 0; k < TRACES; k++) {
            make(&many[i].items[k], &random, 50);
            many[i].items[k].service = i;
            write_lines(&many[i].items[k]);
        }
    }
    CU_ASSERT_EQUAL(hash_of_many(many, false), hash_of_many(many, true));
}

/* Which classes are learnt, of more than there may be. */
static size_t list_classes(int step, bool is_learnt[CLASSES])
{
    struct cpti_learn *learn = cpti_learn_new(NULL);
    struct learn_class *class = NULL;
    size_t count = 0;
    char text[TEXT_BYTES];

    CU_ASSERT_PTR_NOT_NULL_FATAL(learn);
    for (int64_t i = 0; i < CLASSES; i++) {
        (void)snprintf(text, sizeof text, "a: %d", (int)(i * step % CLASSES));
        CU_ASSERT_EQUAL_FATAL(cpti_learn_class(learn, cpt_bytes_of(text), true, &class),
                              CPT_OK);
    }
    for (int i = 0; i < CLASSES; i++) {
        (void)snprintf(text, sizeof text, "a: %d", i);
        CU_ASSERT_EQUAL_FATAL(
            cpti_learn_class(learn, cpt_bytes_of(text), false, &class), CPT_OK);
        is_learnt[i] = class != NULL;
        count += is_learnt[i];
    }
    cpti_learn_free(learn);
    return count;
}

static void test_many_classes(void)
{
    static bool once[CLASSES];
    static bool again[CLASSES];
    const size_t count = list_classes(1, once);

    CU_ASSERT(count < LEARN_CLASSES_MAX);
    CU_ASSERT(count > LEARN_CLASSES_MAX / 4);
    CU_ASSERT_EQUAL(list_classes(7, again), count);
    CU_ASSERT_EQUAL(memcmp(once, again, sizeof once), 0);
}

/* The classes with most events of which too little is known, of more than are counted,
 * and their events. */
static size_t list_few(int step, struct cpti_learn_few few[3],
                       char names[3][TEXT_BYTES])
{
    enum { FEW = 3 * CPTI_LEARN_FEW_CLASSES_MAX };

    struct cpti_learn *learn = cpti_learn_new(NULL);
    size_t count = 0;
    bool is_all = true;

    CU_ASSERT_PTR_NOT_NULL_FATAL(learn);
    for (int64_t i = 0; i < 2 * FEW; i++) {
        const int number = (int)(i * step % FEW);
        char text[TEXT_BYTES];

        (void)snprintf(text, sizeof text, "a: %d", number);
        cpti_learn_few_reset(&learn->few_of_trace);
        CU_ASSERT_EQUAL_FATAL(cpti_learn_few_add(learn, &learn->few_of_trace,
                                                 cpt_bytes_of(text),
                                                 1 + (uint64_t)number % 50),
                              CPT_OK);
        CU_ASSERT_EQUAL_FATAL(cpti_learn_count_few(learn), CPT_OK);
    }
    count = cpti_learn_few_list(learn, few, 3, &is_all);
    CU_ASSERT_FALSE(is_all);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], TEXT_BYTES, "%.*s", (int)few[i].name.bytes,
                       few[i].name.data);
    }
    cpti_learn_free(learn);
    return count;
}

static void test_many_few(void)
{
    struct cpti_learn_few once[3];
    struct cpti_learn_few again[3];
    char names[3][TEXT_BYTES];
    char same[3][TEXT_BYTES];

    CU_ASSERT_EQUAL_FATAL(list_few(1, once, names), 3);
    CU_ASSERT_EQUAL_FATAL(list_few(7, again, same), 3);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(once[i].events, 2 * 50);
        CU_ASSERT_EQUAL(again[i].events, 2 * 50);
        CU_ASSERT_STRING_EQUAL(names[i], same[i]);
    }
    CU_ASSERT(strcmp(names[0], names[1]) < 0);
    CU_ASSERT(strcmp(names[1], names[2]) < 0);
}

/* --- The fit --- */

enum { ROWS = 120, COLUMNS = 5 };

static double squares_of(const struct learn_row *rows, const struct learn_fit *fit)
{
    double sum = 0;

    for (int i = 0; i < ROWS; i++) {
        double y = fit->gap_ns;

        for (size_t k = 0; k < fit->column_count; k++) {
            const int64_t c_ns = fit->c_ns[k];

            y += fit->weights[k] *
                 (double)(c_ns > rows[i].held_ns ? c_ns : rows[i].held_ns);
        }
        sum += pow((double)rows[i].event_ns - y, 2);
    }
    return sum;
}

/* Sets the gap of @fit to the best one for its weights. */
static double best_gap(const struct learn_row *rows, struct learn_fit *fit)
{
    double mean = 0;

    fit->gap_ns = 0;
    for (int i = 0; i < ROWS; i++) {
        struct learn_fit own = *fit;
        double y = 0;

        for (size_t k = 0; k < own.column_count; k++) {
            const int64_t c_ns = own.c_ns[k];

            y += own.weights[k] *
                 (double)(c_ns > rows[i].held_ns ? c_ns : rows[i].held_ns);
        }
        mean += ((double)rows[i].event_ns - y) / ROWS;
    }
    fit->gap_ns = mean;
    return squares_of(rows, fit);
}

/* The least sum over all weights that are multiples of 1 / @parts. */
static double least_of(const struct learn_row *rows, struct learn_fit *fit, size_t k,
                       int left, int parts)
{
    double least = HUGE_VAL;

    if (k + 1 == fit->column_count) {
        fit->weights[k] = (double)left / parts;
        return best_gap(rows, fit);
    }
    for (int i = 0; i <= left; i++) {
        double sum = 0;

        fit->weights[k] = (double)i / parts;
        sum = least_of(rows, fit, k + 1, left - i, parts);
        least = sum < least ? sum : least;
    }
    return least;
}

/* No weights of a grid are better than those that are found, for waits and hidden work
 * of a few lengths each. */
static void test_fit(void)
{
    struct test_random random = {test_random_seed("a fit")};

    for (int i = 0; i < 40; i++) {
        static const int64_t works_ns[] = {90000, 130000, 160000};
        static struct learn_row rows[ROWS];
        const uint64_t kinds = 1 + test_random_below(&random, 3);
        struct learn_fit fit = {0};
        struct learn_fit model = {0};
        double least = 0;

        for (int k = 0; k < ROWS; k++) {
            const int64_t held_ns =
                50000 * (1 + (int64_t)test_random_below(&random, 4));
            const int64_t work_ns = works_ns[test_random_below(&random, kinds)];

            rows[k] = (struct learn_row){.hash = (uint64_t)k, .held_ns = held_ns};
            rows[k].event_ns = (uint64_t)(held_ns > work_ns ? held_ns : work_ns) +
                               5000 + test_random_below(&random, 8000);
        }
        cpti_learn_fit(rows, ROWS, false, 1000, &fit);
        CU_ASSERT_NOT_EQUAL_FATAL(fit.column_count, 0);
        CU_ASSERT(fit.column_count <= COLUMNS);
        model = fit;
        least = least_of(rows, &model, 0, 20, 20);
        CU_ASSERT(squares_of(rows, &fit) <= least * (1 + 1e-9));
    }
}

/* What was computed before the service blocked is not more than there was time for. */
static void test_draw(void)
{
    const struct learn_fit fit = {.gap_ns = 2000,
                                  .column_count = 3,
                                  .c_ns = {0, 50000, 90000},
                                  .weights = {0.2, 0.5, 0.3}};
    const struct learn_fit late = {
        .gap_ns = 2000, .column_count = 1, .c_ns = {90000}, .weights = {1}};

    for (uint64_t i = 0; i < 64; i++) {
        const uint64_t hash = i << 58;
        const uint64_t c_ns = cpti_learn_draw(&fit, 20000, 52000, hash);

        CU_ASSERT(c_ns == 0 || c_ns == 50000);
        CU_ASSERT_EQUAL(cpti_learn_draw(&late, 20000, 52000, hash), 52000);
    }
    CU_ASSERT_EQUAL(cpti_learn_draw(&fit, 20000, 91000, UINT64_C(1) << 63), 90000);
}

CU_TestInfo cpt_learn_tests[] = {
    {"events are held as a model has it", test_events},
    {"starts and ends are the recorded ones", test_traces_are_what_was_recorded},
    {"more fits than there may be", test_many_fits},
    {"more classes than there may be", test_many_classes},
    {"more classes of which little is known than are counted", test_many_few},
    {"no weights of a grid are better", test_fit},
    {"hidden work that there was time for", test_draw},
    CU_TEST_INFO_NULL,
};
