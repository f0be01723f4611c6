/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_runtime_model.c - random graphs: is the recorded path what really happened?
 *
 * The test itself notes, in order, when each step of each task began and ended, what it
 * began meanwhile, what it then waited for, and, since it has its own executor, when
 * each timer fired. The model knows only these notes:
 *
 *      12  t4 begins a step          17  t4 ends the step, waits for all
 *      12  t4 starts t1              21  t4's sleep 0 is over
 *      14  t4 begins its sleep 0     23  t1 ends
 *
 * The model goes backwards from the response, one nanosecond and one task at a time,
 * and finds what delayed the request in it, by definition:
 *
 *      the task ran                                    the task
 *      its wait was over, but it did not run yet       its queue
 *      it waited, and was released by ...
 *          a sleep, or its own deadline                that, since it began
 *          a task that ended then                      continue with that task
 *
 * The same holds before a task began, when it waited for its inputs, and for its start
 * if it runs on demand. The last to arrive releases it. All is on one thread, so the
 * order of the notes is the order of events also within one nanosecond. Nothing is left
 * open: the recorded path must be equal, piece by piece.
 */
#include "tests/support/random_graph.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 20000, NOTES_MAX = 1024, PIECES_MAX = 1024, NO_SLEEP = 1000 };

static struct virtual_time now;

/* --- The notes --- */

enum note_kind {
    STEP_BEGINS,
    STEP_ENDS, /* then it waits, as .wait says, or has ended: WAIT_NOTHING */
    STARTS,    /* .other: which task */
    SLEEPS,    /* .other: the number of its sleep */
    SLEEP_IS_OVER,
    DEADLINE_FIRES
};

struct note {
    enum note_kind kind;
    unsigned task;
    unsigned other;
    enum random_wait wait;
    uint64_t at_ns;
};

/* A set timer and its owner. */
struct set_timer {
    struct cpt_timer *timer;
    void (*fire)(struct cpt_timer *timer);
    struct note note; /* once it fires */
};

static struct note notes[NOTES_MAX];
static size_t note_count;
static struct set_timer timers[NOTES_MAX];
static size_t timer_count;
static cpt_status (*set_virtual_timer)(struct cpt_executor *executor,
                                       struct cpt_timer *timer, uint64_t delay_ns);

static void add_note(struct note note)
{
    CU_ASSERT_FATAL(note_count < NOTES_MAX);
    note.at_ns = now.now_ns;
    notes[note_count++] = note;
}

static void spend(uint64_t duration_ns)
{
    now.now_ns += duration_ns;
}

static void begin_step(unsigned task)
{
    add_note((struct note){.kind = STEP_BEGINS, .task = task});
}

static void end_step(unsigned task, enum random_wait wait)
{
    add_note((struct note){.kind = STEP_ENDS, .task = task, .wait = wait});
}

static void begin_start(unsigned task, unsigned started)
{
    add_note((struct note){.kind = STARTS, .task = task, .other = started});
}

static void begin_sleep(unsigned task, unsigned sleep, uint64_t duration_ns)
{
    (void)duration_ns; /* it ends at this time, or later */
    add_note((struct note){.kind = SLEEPS, .task = task, .other = sleep});
}

static void fire(struct cpt_timer *timer)
{
    size_t i = timer_count - 1;

    while (timers[i].timer != timer) {
        i--;
    }
    add_note(timers[i].note);
    timers[i].fire(timer);
}

/* Sets a timer: for the sleep that just began, or for the wait after the step that just
 * ended. */
static cpt_status set_timer(struct cpt_executor *executor, struct cpt_timer *timer,
                            uint64_t delay_ns)
{
    struct note note = notes[note_count - 1];

    CU_ASSERT_FATAL(timer_count < NOTES_MAX);
    CU_ASSERT(note.kind == SLEEPS ||
              (note.kind == STEP_ENDS && note.wait == WAIT_ALL_FOR));
    note.kind = note.kind == SLEEPS ? SLEEP_IS_OVER : DEADLINE_FIRES;
    timers[timer_count++] = (struct set_timer){timer, timer->fire, note};
    timer->fire = fire;
    return set_virtual_timer(executor, timer, delay_ns);
}

static void start_notes(uint64_t seed)
{
    note_count = 0;
    timer_count = 0;
    virtual_init(&now, seed);
    set_virtual_timer = now.executor.after;
    now.executor.after = set_timer;
}

/* --- Searching the notes. NONE: there is no such note. --- */

enum { NONE = NOTES_MAX };

/* The first note of @kind of @task from @from on. */
static size_t next_note(size_t from, enum note_kind kind, unsigned task)
{
    for (size_t i = from; i < note_count; i++) {
        if (notes[i].kind == kind && notes[i].task == task) {
            return i;
        }
    }
    return NONE;
}

/* The beginning of the last step of @task before @before_ns. */
static size_t step_before(unsigned task, uint64_t before_ns)
{
    for (size_t i = note_count; i-- > 0;) {
        if (notes[i].kind == STEP_BEGINS && notes[i].task == task &&
            notes[i].at_ns < before_ns) {
            return i;
        }
    }
    return NONE;
}

/* The end of @task. */
static size_t end_of_task(unsigned task)
{
    size_t i = next_note(0, STEP_ENDS, task);

    while (i != NONE && notes[i].wait != WAIT_NOTHING) {
        i = next_note(i + 1, STEP_ENDS, task);
    }
    return i;
}

static int takes(const struct cpt_value *const *values, const struct cpt_value *value)
{
    while (*values != NULL && *values != value) {
        values++;
    }
    return *values != NULL;
}

/* Whether only one task may start @task, and no task takes what it gives. */
static int is_of_one(unsigned task)
{
    const struct cpt_value *value = random_graph.tasks[task].gives;
    unsigned starter_count = 0;

    for (unsigned i = 0; i < random_graph.task_count; i++) {
        const struct cpt_task_def *other = &random_graph.tasks[i];

        if (takes(other->needs, value) || takes(other->wants, value)) {
            return 0;
        }
        starter_count += takes(other->starts, value) != 0;
    }
    return starter_count == 1;
}

/* Whether @task was given up before note @before, by a deadline of the one task that
 * had started it. Then it does nothing any more. */
static int was_given_up(unsigned task, size_t before)
{
    for (size_t i = 0; i < before && is_of_one(task); i++) {
        if (notes[i].kind == STARTS && notes[i].other == task) {
            const size_t deadline = next_note(i, DEADLINE_FIRES, notes[i].task);

            return deadline < before && end_of_task(task) > deadline;
        }
    }
    return 0;
}

/* The end, for its task, of the sleep or start that note @begun began: its own end, or
 * a deadline of the task that abandoned it. */
static size_t end_of_part(size_t begun)
{
    const struct note *part = &notes[begun];
    const size_t given_up = next_note(begun, DEADLINE_FIRES, part->task);
    size_t end = NONE;

    if (part->kind == STARTS && was_given_up(part->other, begun)) {
        end = begun;
    } else if (part->kind == STARTS) {
        end = end_of_task(part->other);
        end = end < begun ? begun : end; /* it had ended before it was asked for */
    } else {
        end = next_note(begun, SLEEP_IS_OVER, part->task);
        while (end != NONE && notes[end].other != part->other) {
            end = next_note(end + 1, SLEEP_IS_OVER, part->task);
        }
    }
    return end < given_up ? end : given_up;
}

static int is_part(size_t i, unsigned task)
{
    return notes[i].task == task &&
           (notes[i].kind == STARTS || notes[i].kind == SLEEPS);
}

/* What released the wait that note @blocked began: the last completion of outstanding
 * work, or the deadline. If nothing was outstanding, @blocked itself. */
static size_t release_of_wait(size_t blocked)
{
    const struct note *wait = &notes[blocked];
    size_t release = blocked;

    for (size_t i = blocked; i-- > 0;) {
        if (is_part(i, wait->task)) {
            const size_t end = end_of_part(i);

            release = end > release ? end : release;
            if (wait->wait == WAIT_ONE) { /* for the latest part */
                break;
            }
        }
    }
    return release;
}

/* Of all that the deadline abandoned, what began first. */
static size_t first_given_up(size_t deadline)
{
    size_t i = 0;

    while (!is_part(i, notes[deadline].task) || end_of_part(i) != deadline) {
        i++;
    }
    return i;
}

/* What made @task ready: the last of its inputs, or its start, if it runs only on
 * demand. NONE: it was ready when the request arrived. */
static size_t release_of_task(unsigned task)
{
    const struct random_graph *graph = &random_graph;
    const struct cpt_task_def *def = &graph->tasks[task];
    int is_on_demand = task != graph->task_count - 1;
    size_t release = NONE;

    for (unsigned i = 0; i < graph->task_count; i++) {
        const struct cpt_task_def *other = &graph->tasks[i];

        if (takes(def->needs, other->gives) || takes(def->wants, other->gives)) {
            const size_t end = end_of_task(i);

            release = release == NONE || end > release ? end : release;
        }
        if (takes(other->needs, def->gives) || takes(other->wants, def->gives)) {
            is_on_demand = 0;
        }
    }
    for (size_t i = 0; is_on_demand && i < note_count; i++) {
        if (notes[i].kind == STARTS && notes[i].other == task) {
            return release == NONE || i > release ? i : release;
        }
    }
    return release;
}

/* --- The path, by brute force --- */

struct piece {
    unsigned task;
    unsigned sleep; /* NO_SLEEP: the task itself */
    unsigned kind;
    uint64_t duration_ns;
};

struct pieces {
    struct piece all[PIECES_MAX];
    size_t count;
};

static void add_piece(struct pieces *pieces, struct piece piece)
{
    struct piece *last = pieces->count != 0 ? &pieces->all[pieces->count - 1] : NULL;

    if (piece.duration_ns == 0) {
        return;
    }
    if (last != NULL && last->task == piece.task && last->sleep == piece.sleep &&
        last->kind == piece.kind) {
        last->duration_ns += piece.duration_ns;
        return;
    }
    CU_ASSERT_FATAL(pieces->count < PIECES_MAX);
    pieces->all[pieces->count++] = piece;
}

/* The position on the way back: a task and a time. */
struct place {
    unsigned task;
    uint64_t at_ns;
};

static void go_back(struct pieces *pieces, struct place *place, unsigned kind)
{
    add_piece(pieces, (struct piece){place->task, NO_SLEEP, kind, 1});
    place->at_ns--;
}

/* The work that note @begun began delayed the task since then. */
static void go_back_to(struct pieces *pieces, struct place *place, size_t begun,
                       unsigned kind)
{
    const struct note *part = &notes[begun];
    struct piece piece = {part->task, part->other, kind, place->at_ns - part->at_ns};

    if (part->kind == STARTS) {
        piece.task = part->other;
        piece.sleep = NO_SLEEP;
    }
    add_piece(pieces, piece);
    place->at_ns = part->at_ns;
}

/* The task waited until just now. */
static void go_to_release(struct pieces *pieces, struct place *place, size_t release)
{
    const struct note *note = &notes[release];

    if (note->kind == DEADLINE_FIRES) {
        go_back_to(pieces, place, first_given_up(release), CPT_KIND_TIMEOUT);
    } else if (note->kind == SLEEP_IS_OVER) {
        size_t begun = next_note(0, SLEEPS, note->task);

        while (notes[begun].other != note->other) {
            begun = next_note(begun + 1, SLEEPS, note->task);
        }
        go_back_to(pieces, place, begun, CPT_KIND_WORK);
    } else {
        place->task = note->task; /* it ended then, or started this one */
    }
}

/* The path to the end of the last task, backwards. 0: the notes are inconsistent. */
static int find_path(struct pieces *pieces, uint64_t arrival_ns)
{
    struct place place = {random_graph.task_count - 1, now.now_ns};

    pieces->count = 0;
    for (size_t left = NOTES_MAX * 64; place.at_ns > arrival_ns && left > 0; left--) {
        const size_t step = step_before(place.task, place.at_ns);
        const size_t end = step != NONE ? next_note(step, STEP_ENDS, place.task) : NONE;
        size_t release = NONE;

        if (end != NONE && notes[end].at_ns >= place.at_ns) {
            go_back(pieces, &place, CPT_KIND_WORK);
            continue;
        }
        release = end != NONE ? release_of_wait(end) : release_of_task(place.task);
        if (release == NONE || notes[release].at_ns < place.at_ns) {
            go_back(pieces, &place, CPT_KIND_QUEUE);
        } else {
            go_to_release(pieces, &place, release);
        }
    }
    return place.at_ns == arrival_ns;
}

/* --- The recorded path --- */

/* The nearest frame with a name gives the task of a segment. */
static struct piece read_segment(const struct cpt_path *path,
                                 const struct cpt_segment *segment)
{
    const struct cpt_frame *frame = cpt_path_frame(path, segment->frame);
    const struct cpt_bytes name = cpt_path_frame_name(
        path, frame->kind == CPT_KIND_WORK ? segment->frame : frame->parent);
    struct piece piece = {0, NO_SLEEP, frame->kind, segment->duration_ns};
    char text[32];

    (void)snprintf(text, sizeof text, "%.*s", (int)name.bytes, name.data);
    if (sscanf(text, "S: s%u.%u", &piece.task, &piece.sleep) != 2 &&
        sscanf(text, "S: t%u", &piece.task) != 1) {
        piece.kind = CPT_KIND_OTHER; /* no owner: the model never has that */
    }
    return piece;
}

static void read_path(struct pieces *pieces, const struct cpt_path *path)
{
    pieces->count = 0;
    for (size_t i = cpt_path_segment_count(path); i-- > 0;) {
        add_piece(pieces, read_segment(path, cpt_path_segment(path, i)));
    }
}

static int are_equal(const struct pieces *a, const struct pieces *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        if (a->all[i].task != b->all[i].task || a->all[i].sleep != b->all[i].sleep ||
            a->all[i].kind != b->all[i].kind ||
            a->all[i].duration_ns != b->all[i].duration_ns) {
            return 0;
        }
    }
    return a->count == b->count;
}

static void print_pieces(const char *what, const struct pieces *pieces)
{
    printf("\n  %s:", what);
    for (size_t i = pieces->count; i-- > 0;) {
        const struct piece *piece = &pieces->all[i];

        printf(piece->sleep == NO_SLEEP ? " t%u" : " s%u.%u", piece->task,
               piece->sleep);
        printf(" kind %u %llu ns,", piece->kind,
               (unsigned long long)piece->duration_ns);
    }
}

/* --- The requests --- */

struct ended {
    int done_count;
    uint64_t output;
    uint64_t arrival_ns;
    int is_path_true;
};

static void check_path(struct cpt_request *request, struct ended *ended)
{
    static struct pieces recorded;
    static struct pieces found;
    const uint64_t latency_ns = cpt_request_latency_ns(request);
    struct cpt_path *path = cpt_path_new(NULL);

    ended->is_path_true = cpt_request_path(request, path, NULL) == CPT_OK &&
                          cpt_path_check(path, latency_ns, NULL) == CPT_OK &&
                          latency_ns == now.now_ns - ended->arrival_ns;
    read_path(&recorded, path);
    if (!find_path(&found, ended->arrival_ns) || !are_equal(&recorded, &found)) {
        print_pieces("recorded", &recorded);
        print_pieces("found", &found);
        ended->is_path_true = 0;
    }
    cpt_path_free(path);
}

static void note_end(struct cpt_request *request, void *context)
{
    struct ended *ended = context;
    const uint64_t *output = cpt_request_output(request);

    ended->done_count++;
    ended->output = output != NULL ? *output : 0;
    check_path(request, ended);
}

static void note_untraced_end(struct cpt_request *request, void *context)
{
    struct ended *ended = context;
    const uint64_t *output = cpt_request_output(request);

    ended->done_count++;
    ended->output = output != NULL ? *output : 0;
}

/* One graph, traced and not, with the same interleaving. */
static int run_case(uint64_t seed)
{
    uint64_t random = seed;
    struct ended traced = {0};
    struct ended untraced = {0};
    struct cpt_error error = {0};
    struct cpt_plan *plan = NULL;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .executor = &now.executor,
                                          .clock = &now.clock,
                                          .done = note_end,
                                          .context = &traced,
                                          .is_traced = 1};

    random_graph_make(&random, 10);
    plan = cpt_plan_new(&random_graph.graph, NULL, &error);
    if (plan == NULL) {
        printf("\n  %s\n", error.sentence);
        return 0;
    }
    start_notes(virtual_random(&random, 2) == 0 ? 0 : random);
    traced.arrival_ns = now.now_ns;
    options.plan = plan;
    (void)cpt_request_start(&options, NULL);
    virtual_run(&now);

    start_notes(0);
    options.done = note_untraced_end;
    options.context = &untraced;
    options.is_traced = 0;
    (void)cpt_request_start(&options, NULL);
    virtual_run(&now);
    cpt_plan_free(plan);
    return traced.done_count == 1 && untraced.done_count == 1 && traced.is_path_true &&
           traced.output == untraced.output && traced.output != 0 &&
           now.read_count == 0;
}

static uint64_t first_seed(void)
{
    const char *text = getenv("CPT_TEST_SEED");
    const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 20260101;

    return seed != 0 ? seed : 1;
}

static void test_paths_are_true(void)
{
    const uint64_t seed = first_seed();
    const uint64_t cases = test_case_count(CASES);

    printf("(seeds from %llu) ", (unsigned long long)seed);
    random_graph.hooks = (struct random_hooks){.spend = spend,
                                               .begin_step = begin_step,
                                               .end_step = end_step,
                                               .begin_start = begin_start,
                                               .begin_sleep = begin_sleep};
    for (uint64_t i = 0; i < cases; i++) {
        if (!run_case(seed + i)) {
            printf("\n  CPT_TEST_SEED=%llu\n", (unsigned long long)(seed + i));
            CU_FAIL("a path that is not true");
            break;
        }
    }
    random_graph.hooks = (struct random_hooks){0};
}

CU_TestInfo cpt_runtime_model_tests[] = {
    {"paths match what happened", test_paths_are_true},
    CU_TEST_INFO_NULL,
};
