/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * random_trace.c - the simulation; see random_trace.h
 *
 * Tasks wait only for tasks with a lower number, so that no request gets stuck; the
 * task with the highest number replies. A *thing* is a task or call that can be waited
 * for: task i is thing i, call i is thing RANDOM_TASKS_MAX + i; sets of things are
 * bits.
 */
#include "tests/support/random_trace.h"

#include <string.h>

enum state { UNREADY, READY, RUNNING, BLOCKED, ARRIVED, DONE };

struct sim_task {
    enum state state;
    unsigned inputs; /* tasks whose output it still misses, as bits */
    int is_on_demand;
    int is_started;
    unsigned long waits; /* things that it awaits */
    unsigned missing;    /* how many of them must still arrive */
    struct cpt_trace_await *await;
};

struct sim {
    struct random_trace *made;
    struct test_random *random;
    struct sim_task tasks[RANDOM_TASKS_MAX];
    uint64_t due_ns[RANDOM_CALLS_MAX]; /* when the call arrives */
    unsigned long come;                /* things that have arrived */
    unsigned long order[RANDOM_TASKS_MAX + RANDOM_CALLS_MAX]; /* in which order */
    size_t come_count;
    uint64_t now_ns;
    unsigned busy; /* percent: the chance to compute in this nanosecond */
};

static int chance(struct sim *sim, unsigned percent)
{
    return test_random_chance(sim->random, percent);
}

static size_t below(struct sim *sim, size_t limit)
{
    return (size_t)test_random_below(sim->random, limit);
}

static unsigned long bit(size_t thing)
{
    return 1UL << thing;
}

static void task_is_ready(struct sim *sim, size_t index,
                          struct cpt_trace_task *unblocker)
{
    struct cpt_trace_task *task = &sim->made->tasks[index];

    sim->tasks[index].state = READY;
    task->ready_ns = sim->now_ns;
    task->unblocker = unblocker;
    task->begin = unblocker != NULL ? CPT_BEGIN_TASK : CPT_BEGIN_REQUEST;
}

static void note_release(struct sim *sim, struct cpt_trace_await *await, size_t thing)
{
    struct random_trace *made = sim->made;

    await->call =
        thing >= RANDOM_TASKS_MAX ? &made->calls[thing - RANDOM_TASKS_MAX] : NULL;
    await->task = thing < RANDOM_TASKS_MAX ? &made->tasks[thing] : NULL;
}

static void thing_has_come(struct sim *sim, size_t thing)
{
    struct random_trace *made = sim->made;

    if (thing >= RANDOM_TASKS_MAX) {
        made->calls[thing - RANDOM_TASKS_MAX].arrive_ns = sim->now_ns;
    }
    sim->come |= bit(thing);
    sim->order[sim->come_count++] = thing;
    for (size_t i = 0; i < made->task_count; i++) {
        struct sim_task *task = &sim->tasks[i];

        if (task->state == BLOCKED && (task->waits & bit(thing)) != 0 &&
            --task->missing == 0) {
            note_release(sim, task->await, thing);
            task->await->arrive_ns = sim->now_ns;
            task->state = ARRIVED;
        }
        if (thing < RANDOM_TASKS_MAX && (task->inputs & bit(thing)) != 0) {
            task->inputs &= ~(unsigned)bit(thing);
            if (task->inputs == 0 && (!task->is_on_demand || task->is_started)) {
                task_is_ready(sim, i, &made->tasks[thing]);
            }
        }
    }
}

static void start_task(struct sim *sim, size_t starter, size_t index)
{
    struct sim_task *task = &sim->tasks[index];

    task->is_started = 1;
    sim->made->tasks[index].starter = &sim->made->tasks[starter];
    if (task->inputs == 0) {
        task_is_ready(sim, index, &sim->made->tasks[starter]);
    }
}

/* What comes back from the call: nothing, bytes that are no path, or a path. */
static void make_reply(struct sim *sim, size_t index, uint64_t duration_ns)
{
    struct random_call *extra = &sim->made->extra[index];
    struct cpt_trace_call *call = &sim->made->calls[index];
    const uint64_t said_ns = below(sim, duration_ns + 4);

    call->reason = (unsigned char)(1 + below(sim, 8));
    if (chance(sim, 30)) {
        call->has_server_elapsed = 1;
        call->server_elapsed_ns = said_ns;
    }
    if (chance(sim, 70)) {
        call->reply = extra;
        call->reply_bytes = 1;
        extra->has_path = chance(sim, 85);
        extra->has_late_elapsed = chance(sim, 30);
        extra->late_elapsed_ns = said_ns;
        model_callee_make(&extra->callee, sim->random, extra->name,
                          duration_ns / 2 + 1);
    }
}

static void issue_call(struct sim *sim, size_t issuer)
{
    static const unsigned char outcomes[] = {
        CPT_CALL_REMOTE,  CPT_CALL_REMOTE, CPT_CALL_REMOTE, CPT_CALL_LOCAL,
        CPT_CALL_TIMEOUT, CPT_CALL_KIND,   CPT_CALL_LOCK};
    struct random_trace *made = sim->made;
    const size_t index = made->call_count++;
    struct cpt_trace_call *call = &made->calls[index];
    struct random_call *extra = &made->extra[index];
    const uint64_t duration_ns = chance(sim, 15) ? 0 : below(sim, 25);

    memset(extra, 0, sizeof *extra);
    (void)snprintf(extra->name, sizeof extra->name, "B: c%zu", index);
    *call = (struct cpt_trace_call){.name = cpt_bytes_of(extra->name),
                                    .issuer = &made->tasks[issuer],
                                    .issue_ns = sim->now_ns,
                                    .arrive_ns = sim->now_ns + duration_ns,
                                    .outcome = outcomes[below(sim, 7)],
                                    .kind = CPT_KIND_BACKOFF};
    if (chance(sim, 30)) {
        call->sent_ns = sim->now_ns + below(sim, duration_ns + 1);
    }
    if (call->outcome == CPT_CALL_REMOTE) {
        make_reply(sim, index, duration_ns);
    }
    sim->due_ns[index] = call->arrive_ns;
    if (duration_ns == 0 && chance(sim, 50)) {
        sim->due_ns[index] = 0;
        thing_has_come(sim, RANDOM_TASKS_MAX + index);
    }
}

/* The things that task @index could wait for: unfinished tasks, any calls, and
 * sometimes the call that some task will issue next. */
static unsigned long awaitable(struct sim *sim, size_t index)
{
    unsigned long things = 0;

    for (size_t i = 0; i < index; i++) {
        if (!sim->tasks[i].is_on_demand || sim->tasks[i].is_started) {
            things |= bit(i);
        }
    }
    for (size_t i = 0; i < sim->made->call_count; i++) {
        things |= bit(RANDOM_TASKS_MAX + i);
    }
    if (sim->made->call_count < RANDOM_CALLS_MAX && chance(sim, 15)) {
        things |= bit(RANDOM_TASKS_MAX + sim->made->call_count);
    }
    return things;
}

/* The task blocks until @needed of some things have arrived, which may be now. */
static void block(struct sim *sim, size_t index)
{
    struct sim_task *task = &sim->tasks[index];
    struct cpt_trace_await *await = &sim->made->awaits[sim->made->await_count];
    const unsigned long things = awaitable(sim, index);
    unsigned count = 0;
    unsigned needed = 0;

    task->waits = 0;
    for (size_t thing = 0; thing < RANDOM_TASKS_MAX + RANDOM_CALLS_MAX; thing++) {
        if ((things & bit(thing)) != 0 && count < 4 &&
            chance(sim, (sim->come & bit(thing)) != 0 ? 15 : 50)) {
            task->waits |= bit(thing);
            count++;
        }
    }
    if (count == 0) {
        return;
    }
    sim->made->await_count++;
    needed = chance(sim, 60) ? count : 1 + (unsigned)below(sim, count);
    *await = (struct cpt_trace_await){.previous = sim->made->tasks[index].last_await,
                                      .block_ns = sim->now_ns,
                                      .resume_ns = UINT64_MAX};
    sim->made->tasks[index].last_await = await;
    task->await = await;
    task->state = BLOCKED;
    task->missing = needed;
    for (size_t i = 0; i < sim->come_count && task->missing != 0; i++) {
        if ((task->waits & bit(sim->order[i])) != 0 && --task->missing == 0) {
            note_release(sim, await, sim->order[i]);
            await->arrive_ns = sim->now_ns; /* arrived before: no later than now */
            task->state = ARRIVED;
        }
    }
}

/* An action of a running task that takes no time. */
static void act(struct sim *sim, size_t index)
{
    struct random_trace *made = sim->made;
    struct sim_task *task = &sim->tasks[index];
    const size_t what = below(sim, 10);

    if (what < 3 && made->call_count < RANDOM_CALLS_MAX) {
        issue_call(sim, index);
    } else if (what < 5) {
        for (size_t i = 0; i < index; i++) {
            if (sim->tasks[i].is_on_demand && !sim->tasks[i].is_started &&
                chance(sim, 60)) {
                start_task(sim, index, i);
            }
        }
    } else if (what < 9) {
        if (made->await_count < RANDOM_AWAITS_MAX) {
            block(sim, index);
        }
    } else {
        task->state = DONE;
        made->tasks[index].end_ns = sim->now_ns;
        thing_has_come(sim, index);
    }
}

static void step(struct sim *sim, size_t index)
{
    struct sim_task *task = &sim->tasks[index];
    struct cpt_trace_task *record = &sim->made->tasks[index];

    if (task->state == READY && chance(sim, 60)) {
        task->state = RUNNING;
        record->start_ns = sim->now_ns;
    } else if (task->state == ARRIVED && chance(sim, 60)) {
        task->state = RUNNING;
        task->await->resume_ns = sim->now_ns;
    } else if (task->state == RUNNING) {
        while (task->state == RUNNING && !chance(sim, sim->busy)) {
            act(sim, index);
        }
    }
}

/* One nanosecond: due replies arrive, and tasks that can act may act. */
static void play_ns(struct sim *sim)
{
    struct random_trace *made = sim->made;

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < made->call_count; i++) {
            if ((sim->come & bit(RANDOM_TASKS_MAX + i)) == 0 &&
                sim->due_ns[i] <= sim->now_ns && (round == 2 || chance(sim, 50))) {
                thing_has_come(sim, RANDOM_TASKS_MAX + i);
            }
        }
        for (size_t turn = 0; turn < made->task_count; turn++) {
            step(sim, below(sim, made->task_count));
        }
    }
}

/* Draws the tasks, their sub-graphs, and which tasks need which outputs. */
static void declare_tasks(struct sim *sim)
{
    struct random_trace *made = sim->made;
    const size_t group_count = below(sim, RANDOM_GROUPS_MAX + 1);
    static const char *const group_names[] = {"A: g0", "g1", "g1", "A: g0"};

    for (size_t i = 0; i < group_count; i++) {
        made->groups[i].name = cpt_bytes_of(group_names[i]);
        made->groups[i].parent =
            i != 0 && chance(sim, 60) ? &made->groups[below(sim, i)] : NULL;
    }
    for (size_t i = 0; i < made->task_count; i++) {
        (void)snprintf(made->task_names[i], sizeof made->task_names[i], "t%zu", i);
        made->tasks[i].name = cpt_bytes_of(made->task_names[i]);
        made->tasks[i].has_no_frame = (unsigned char)chance(sim, 10);
        if (group_count != 0 && chance(sim, 50)) {
            made->tasks[i].group = &made->groups[below(sim, group_count)];
        }
        sim->tasks[i].is_on_demand = i + 1 < made->task_count && chance(sim, 40);
        for (size_t other = 0; other < i; other++) {
            if (!sim->tasks[other].is_on_demand && chance(sim, 30)) {
                sim->tasks[i].inputs |= (unsigned)bit(other);
            }
        }
    }
}

/* Sets for each step how long no processor ran it; sometimes longer than the step. */
static void measure(struct sim *sim)
{
    struct random_trace *made = sim->made;

    made->trace.measures_off_cpu = (unsigned char)chance(sim, 50);
    for (size_t i = 0; i < made->task_count; i++) {
        made->tasks[i].off_cpu_ns = chance(sim, 70) ? below(sim, 12) : 0;
    }
    for (size_t i = 0; i < made->await_count; i++) {
        made->awaits[i].off_cpu_ns = chance(sim, 70) ? below(sim, 12) : 0;
    }
}

int random_trace_make(struct random_trace *made, struct test_random *random)
{
    struct sim sim = {.made = made, .random = random};
    static const uint64_t arrivals[] = {0, 1000, (uint64_t)1 << 62};

    memset(&made->trace, 0, sizeof made->trace);
    memset(made->tasks, 0, sizeof made->tasks);
    made->call_count = 0;
    made->await_count = 0;
    made->task_count = 1 + test_random_below(random, RANDOM_TASKS_MAX);
    sim.busy = 20 + (unsigned)test_random_below(random, 60);
    made->trace.entry = cpt_bytes_of("A: /");
    made->trace.arrival_ns = sim.now_ns = arrivals[test_random_below(random, 3)];
    declare_tasks(&sim);
    for (size_t i = 0; i < made->task_count; i++) {
        if (!sim.tasks[i].is_on_demand && sim.tasks[i].inputs == 0) {
            task_is_ready(&sim, i, NULL);
        }
    }
    while (sim.tasks[made->task_count - 1].state != DONE) {
        play_ns(&sim);
        sim.now_ns++;
        if (sim.now_ns - made->trace.arrival_ns > RANDOM_NS_MAX - 4) {
            return 0;
        }
    }
    measure(&sim);
    made->trace.answered_by = &made->tasks[made->task_count - 1];
    made->trace.response_ns =
        made->trace.answered_by->end_ns + (chance(&sim, 30) ? below(&sim, 4) : 0);
    return 1;
}

void random_trace_lose(struct random_trace *made, struct test_random *random)
{
    struct cpt_trace_task *task =
        &made->tasks[test_random_below(random, made->task_count)];

    made->trace.dropped_event_count = 1;
    switch (test_random_below(random, 5)) {
    case 0:
        task->begin = CPT_BEGIN_UNKNOWN;
        break;
    case 1:
        if (task->begin == CPT_BEGIN_TASK) {
            task->unblocker = NULL;
        }
        break;
    case 2:
        if (made->await_count != 0) {
            const size_t index = test_random_below(random, made->await_count);

            made->awaits[index].call = NULL;
            made->awaits[index].task = NULL;
        }
        break;
    case 3:
        if (made->call_count != 0) {
            made->calls[test_random_below(random, made->call_count)].issuer = NULL;
        }
        break;
    default:
        made->trace.answered_by = NULL;
        made->trace.dropped_event_count = test_random_below(random, 2);
        break;
    }
}

void random_trace_skew(struct random_trace *made, struct test_random *random)
{
    for (size_t i = 0; i < made->task_count; i++) {
        struct cpt_trace_task *task = &made->tasks[i];
        const struct cpt_trace_task *before = task->unblocker;
        const uint64_t back_ns = test_random_below(random, 4);
        uint64_t lowest_ns = 0;

        /* only where the unblocker ended then, and ran the moment before */
        if (task->begin != CPT_BEGIN_TASK || before == NULL ||
            task->starter == before || before->end_ns != task->ready_ns) {
            continue;
        }
        lowest_ns = before->last_await != NULL ? before->last_await->resume_ns
                                               : before->start_ns;
        if (task->ready_ns - lowest_ns > back_ns) {
            task->ready_ns -= back_ns;
        }
    }
}

void random_trace_spoil(struct random_trace *made, struct test_random *random)
{
    for (int count = 0; count < 3; count++) {
        const uint64_t stamp =
            test_random_chance(random, 10)
                ? test_random_next(random)
                : made->trace.arrival_ns + test_random_below(random, RANDOM_NS_MAX);
        struct cpt_trace_task *task =
            &made->tasks[test_random_below(random, made->task_count)];
        struct cpt_trace_task *other =
            &made->tasks[test_random_below(random, made->task_count)];
        struct cpt_trace_await *await =
            &made->awaits[test_random_below(random, RANDOM_AWAITS_MAX)];
        struct cpt_trace_call *call =
            &made->calls[test_random_below(random, RANDOM_CALLS_MAX)];
        uint64_t *const stamps[] = {
            &task->ready_ns,  &task->start_ns,   &task->end_ns,
            &await->block_ns, &await->arrive_ns, &await->resume_ns,
            &call->issue_ns,  &call->sent_ns,    &call->arrive_ns};

        switch (test_random_below(random, 8)) {
        case 0:
            task->unblocker = other;
            task->begin = CPT_BEGIN_TASK;
            break;
        case 1:
            task->starter = other;
            break;
        case 2:
            await->call = NULL;
            await->task = other;
            break;
        default:
            *stamps[test_random_below(random, 9)] = stamp;
            break;
        }
    }
}

/* A stamp as nanoseconds since the arrival; "-" where there is none. */
static void print_stamp(const struct random_trace *made, const char *what,
                        uint64_t stamp_ns)
{
    if (stamp_ns == 0 && made->trace.arrival_ns != 0) {
        printf(" %s -", what);
    } else {
        printf(" %s %lld", what, (long long)(stamp_ns - made->trace.arrival_ns));
    }
}

static const char *name_of(const struct cpt_trace_task *task)
{
    return task != NULL ? task->name.data : "no task";
}

void random_trace_print(const struct random_trace *made)
{
    printf("  response %llu by %s, attribution %u\n",
           (unsigned long long)(made->trace.response_ns - made->trace.arrival_ns),
           name_of(made->trace.answered_by), made->trace.attribution);
    for (size_t i = 0; i < made->task_count; i++) {
        const struct cpt_trace_task *task = &made->tasks[i];

        printf("  %s begin %d unblocked by %s, started by %s:", task->name.data,
               task->begin, name_of(task->unblocker), name_of(task->starter));
        print_stamp(made, "ready", task->ready_ns);
        print_stamp(made, "start", task->start_ns);
        print_stamp(made, "end", task->end_ns);
        printf("\n");
        for (const struct cpt_trace_await *await = task->last_await; await != NULL;
             await = await->previous) {
            printf("    waits for %s:",
                   await->call != NULL ? await->call->name.data : name_of(await->task));
            print_stamp(made, "block", await->block_ns);
            print_stamp(made, "arrive", await->arrive_ns);
            print_stamp(made, "resume", await->resume_ns);
            printf("\n");
        }
    }
    for (size_t i = 0; i < made->call_count; i++) {
        const struct cpt_trace_call *call = &made->calls[i];

        printf("  %s outcome %d by %s:", call->name.data, call->outcome,
               name_of(call->issuer));
        print_stamp(made, "issue", call->issue_ns);
        print_stamp(made, "sent", call->sent_ns);
        print_stamp(made, "arrive", call->arrive_ns);
        printf("\n");
    }
}
