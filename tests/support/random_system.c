/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * random_system.c - see random_system.h
 *
 * Pieces are made in the order of their dependencies, so each knows at once when it
 * ends. A piece of computing takes time, so no two things that a task does one after
 * the other have the same stamp: equal stamps would not tell their order. All else may
 * take none.
 */
#include "tests/support/random_system.h"

#include <stddef.h>
#include <string.h>

/* A task while it is made. */
struct making {
    struct random_system *made;
    uint32_t run;
    uint32_t task;
    uint32_t at; /* its last piece */
    unsigned level;
    uint32_t arrived; /* the piece with which the run begins, or SYSTEM_NONE */
};

static uint64_t below(struct random_system *made, uint64_t limit)
{
    return test_random_below(made->random, limit);
}

static int chance(struct random_system *made, unsigned percent)
{
    return test_random_chance(made->random, percent);
}

/* The time at which piece @piece ends, as the clock of @run shows it. */
static uint64_t stamp(const struct random_system *made, uint32_t run, uint32_t piece)
{
    return made->runs[run].clock_ns +
           (piece != SYSTEM_NONE ? made->pieces[piece].finish_ns : 0);
}

static uint32_t add_piece(struct random_system *made, enum system_piece_kind kind,
                          uint64_t duration_ns, uint32_t task, uint32_t call)
{
    struct system_piece *piece = &made->pieces[made->piece_count];

    memset(piece, 0, sizeof *piece);
    piece->kind = kind;
    piece->duration_ns = duration_ns;
    piece->finish_ns = duration_ns;
    piece->released_by = SYSTEM_NONE;
    piece->task = task;
    piece->call = call;
    return (uint32_t)made->piece_count++;
}

/* The first of several that end at the same time counts as the last one. */
static void add_input(struct random_system *made, uint32_t number, uint32_t input)
{
    struct system_piece *piece = &made->pieces[number];

    if (input == SYSTEM_NONE) {
        return;
    }
    if (piece->input_count == 0 ||
        made->pieces[input].finish_ns + piece->duration_ns > piece->finish_ns) {
        piece->released_by = input;
        piece->finish_ns = made->pieces[input].finish_ns + piece->duration_ns;
    }
    piece->inputs[piece->input_count++] = input;
}

static uint32_t add_after(struct random_system *made, enum system_piece_kind kind,
                          uint64_t duration_ns, uint32_t task, uint32_t call,
                          uint32_t input)
{
    const uint32_t piece = add_piece(made, kind, duration_ns, task, call);

    add_input(made, piece, input);
    return piece;
}

static void add_arrival(struct making *making, uint32_t task, uint32_t call,
                        uint32_t piece, const struct cpt_trace_await *await)
{
    struct random_system *made = making->made;
    struct system_run *run = &made->runs[making->run];

    run->arrivals[run->arrival_count++] = (struct cpt_dag_arrival){
        .waiter = &made->tasks[making->task],
        .giver = task != SYSTEM_NONE ? &made->tasks[task] : NULL,
        .call = call != SYSTEM_NONE ? &made->calls[call] : NULL,
        .arrive_ns = stamp(made, making->run, piece),
        .is_input = await == NULL,
        .await = await};
}

static void make_run(struct random_system *made, uint32_t run, uint32_t arrived,
                     unsigned level);

/* --- Calls --- */

static int has_room(const struct random_system *made)
{
    return made->call_count < SYSTEM_CALLS_MAX - 8 &&
           made->task_count < SYSTEM_TASKS_MAX - 8 &&
           made->await_count < SYSTEM_AWAITS_MAX - 8 &&
           made->piece_count < SYSTEM_PIECES_MAX - 64;
}

/* The way to a service, its run, and the way back. */
static void call_service(struct making *making, uint32_t call, uint32_t sent)
{
    struct random_system *made = making->made;
    const uint32_t run = (uint32_t)made->run_count++;
    const uint32_t out =
        add_after(made, PIECE_NETWORK, below(made, 4), SYSTEM_NONE, call, sent);
    uint32_t back = 0;

    make_run(made, run, out, making->level + 1);
    back = add_after(made, PIECE_NETWORK, below(made, 4), SYSTEM_NONE, call,
                     made->runs[run].response_piece);
    made->calls[call].outcome = CPT_CALL_REMOTE;
    made->calls[call].reply = &made->runs[run];
    made->calls[call].reply_bytes = 1;
    made->call_callees[call] = run;
    made->call_ends[call] = back;
}

static void add_call(struct making *making)
{
    static const unsigned char outcomes[] = {CPT_CALL_LOCAL, CPT_CALL_LOCK,
                                             CPT_CALL_KIND, CPT_CALL_TIMEOUT,
                                             CPT_CALL_REMOTE};
    struct random_system *made = making->made;
    const uint32_t call = (uint32_t)made->call_count++;
    struct cpt_trace_call *record = &made->calls[call];
    uint32_t sent = making->at;

    memset(record, 0, sizeof *record);
    record->name = cpt_bytes_of("Z: call");
    record->issuer = &made->tasks[making->task];
    record->issue_ns = stamp(made, making->run, making->at);
    record->outcome = outcomes[below(made, 5)];
    record->kind = CPT_KIND_BACKOFF;
    record->reason = 1;
    made->call_runs[call] = making->run;
    made->call_callees[call] = SYSTEM_NONE;
    if (record->outcome != CPT_CALL_TIMEOUT && chance(made, 30)) {
        sent = add_after(made, PIECE_QUEUE, below(made, 4), SYSTEM_NONE, call, sent);
        record->sent_ns = stamp(made, making->run, sent);
    }
    if (making->level + 1 < made->level_count && made->run_count < SYSTEM_RUNS_MAX &&
        chance(made, 70)) {
        call_service(making, call, sent);
    } else {
        made->call_ends[call] =
            add_after(made, PIECE_CALL, below(made, 16), SYSTEM_NONE, call, sent);
    }
    record->arrive_ns = stamp(made, making->run, made->call_ends[call]);
}

/* --- Tasks --- */

/* Whatever the task could wait for: the number of a call, or of a task + CALLS_MAX. */
static uint32_t draw_thing(struct making *making)
{
    struct random_system *made = making->made;

    for (int i = 0; i < 8; i++) {
        if (chance(made, 75) && made->call_count != 0) {
            const uint32_t call = (uint32_t)below(made, made->call_count);

            if (made->call_runs[call] == making->run) {
                return call;
            }
        } else {
            const uint32_t task = (uint32_t)below(made, made->task_count);

            if (made->task_runs[task] == making->run && task != making->task) {
                return SYSTEM_CALLS_MAX + task;
            }
        }
    }
    return SYSTEM_NONE;
}

/* The task waits for up to three things, and queues when they are there. */
static void wait(struct making *making)
{
    struct random_system *made = making->made;
    struct cpt_trace_await *await = &made->awaits[made->await_count++];
    struct cpt_trace_task *task = &made->tasks[making->task];
    const uint32_t queue =
        add_after(made, PIECE_QUEUE, chance(made, 60) ? 0 : below(made, 4),
                  making->task, SYSTEM_NONE, making->at);
    uint64_t latest_ns = 0;

    memset(await, 0, sizeof *await);
    await->previous = task->last_await;
    await->block_ns = stamp(made, making->run, making->at);
    await->arrive_ns = await->block_ns;
    for (uint64_t left = 1 + below(made, 3); left != 0; left--) {
        const uint32_t thing = draw_thing(making);
        const int is_call = thing < SYSTEM_CALLS_MAX;
        uint32_t end = 0;

        if (thing == SYSTEM_NONE) {
            continue;
        }
        end = is_call ? made->call_ends[thing]
                      : made->task_ends[thing - SYSTEM_CALLS_MAX];
        add_input(made, queue, end);
        add_arrival(making, is_call ? SYSTEM_NONE : thing - SYSTEM_CALLS_MAX,
                    is_call ? thing : SYSTEM_NONE, end, await);
        if (await->call == NULL && await->task == NULL) {
            latest_ns = 0;
        }
        if (stamp(made, making->run, end) > latest_ns) {
            latest_ns = stamp(made, making->run, end);
            await->arrive_ns = latest_ns;
            await->call = is_call ? &made->calls[thing] : NULL;
            await->task = is_call ? NULL : &made->tasks[thing - SYSTEM_CALLS_MAX];
        }
    }
    await->resume_ns = stamp(made, making->run, queue);
    task->last_await = await;
    making->at = queue;
}

static void compute(struct making *making)
{
    making->at = add_after(making->made, PIECE_SELF, 1 + below(making->made, 9),
                           making->task, SYSTEM_NONE, making->at);
}

/* A piece of a task that goes on computing behind it, or ends with it. */
static uint32_t draw_piece(struct random_system *made, uint32_t task)
{
    uint32_t found = made->task_ends[task];

    for (uint32_t i = 0; i + 1 < made->piece_count; i++) {
        const struct system_piece *piece = &made->pieces[i];

        if (piece->task != task || piece->kind != PIECE_SELF || !chance(made, 20)) {
            continue;
        }
        for (uint32_t j = i + 1; j < made->piece_count; j++) {
            if (made->pieces[j].task == task) {
                found = made->pieces[j].kind == PIECE_SELF ? i : found;
                break;
            }
        }
    }
    return found;
}

/* Its inputs: the ends of earlier tasks, and a piece of one that starts it. */
static void begin_task(struct making *making)
{
    struct random_system *made = making->made;
    struct cpt_trace_task *task = &made->tasks[making->task];
    const uint32_t queue =
        add_piece(made, PIECE_QUEUE, chance(made, 60) ? 0 : below(made, 4),
                  making->task, SYSTEM_NONE);
    uint32_t piece = 0;

    for (uint32_t i = 0; i < making->task && made->pieces[queue].input_count < 4; i++) {
        if (made->task_runs[i] != making->run || !chance(made, 40)) {
            continue;
        }
        piece = made->task_ends[i];
        if (task->starter == NULL && chance(made, 40)) {
            task->starter = &made->tasks[i];
            piece = draw_piece(made, i);
        }
        add_input(made, queue, piece);
        add_arrival(making, i, SYSTEM_NONE, piece, NULL);
    }
    if (made->pieces[queue].input_count == 0) {
        add_input(made, queue, making->arrived);
        task->begin = CPT_BEGIN_REQUEST;
        task->ready_ns = stamp(made, making->run, making->arrived);
    } else {
        piece = made->pieces[queue].released_by;
        task->begin = CPT_BEGIN_TASK;
        task->unblocker = &made->tasks[made->pieces[piece].task];
        task->ready_ns = stamp(made, making->run, piece);
    }
    task->start_ns = stamp(made, making->run, queue);
    making->at = queue;
}

static void make_task(struct random_system *made, uint32_t run, uint32_t arrived,
                      unsigned level)
{
    struct making making = {.made = made,
                            .run = run,
                            .task = (uint32_t)made->task_count++,
                            .level = level,
                            .arrived = arrived};
    struct cpt_trace_task *task = &made->tasks[making.task];
    struct system_run *owner = &made->runs[run];

    memset(task, 0, sizeof *task);
    made->task_runs[making.task] = run;
    made->task_names[making.task] =
        (uint32_t)((level * 4 + below(made, 4)) % SYSTEM_NAMES_MAX);
    task->name = cpt_bytes_of(made->names[made->task_names[making.task]]);
    owner->tasks[owner->task_count++] = task;
    begin_task(&making);
    compute(&making);
    for (uint64_t left = below(made, 4); left != 0 && has_room(made); left--) {
        for (uint64_t calls = below(made, 3); calls != 0 && has_room(made); calls--) {
            add_call(&making);
            if (chance(made, 50)) {
                compute(&making);
            }
        }
        compute(&making);
        if (chance(made, 70)) {
            wait(&making);
            compute(&making);
        }
    }
    made->task_ends[making.task] = making.at;
    task->end_ns = stamp(made, run, making.at);
}

static void make_run(struct random_system *made, uint32_t run, uint32_t arrived,
                     unsigned level)
{
    struct system_run *owner = &made->runs[run];
    uint32_t by = 0;

    memset(owner, 0, offsetof(struct system_run, arrivals));
    owner->task_count = 0;
    owner->arrival_count = 0;
    owner->clock_ns = below(made, 1000000);
    owner->trace.entry = cpt_bytes_of("A: /");
    owner->trace.arrival_ns = stamp(made, run, arrived);
    for (uint64_t left = 1 + below(made, 4); left != 0; left--) {
        make_task(made, run, arrived, level);
        if (!has_room(made)) {
            break;
        }
    }
    owner->trace.answered_by = owner->tasks[owner->task_count - 1];
    if (chance(made, 20)) {
        owner->trace.answered_by = owner->tasks[below(made, owner->task_count)];
    }
    by = (uint32_t)(owner->trace.answered_by - made->tasks);
    owner->response_piece =
        chance(made, 70) ? made->task_ends[by] : draw_piece(made, by);
    owner->trace.response_ns = stamp(made, run, owner->response_piece);
}

void random_system_make(struct random_system *made, struct test_random *random,
                        unsigned level_count)
{
    made->random = random;
    made->level_count = level_count;
    made->piece_count = 0;
    made->task_count = 0;
    made->call_count = 0;
    made->await_count = 0;
    made->run_count = 1;
    for (unsigned i = 0; i < SYSTEM_NAMES_MAX; i++) {
        (void)snprintf(made->names[i], sizeof made->names[i], "S%u: t%u", i / 4 % 100,
                       i % 4);
    }
    make_run(made, 0, SYSTEM_NONE, 0);
}

/* --- The model --- */

uint64_t random_system_latency(const struct random_system *made)
{
    return made->pieces[made->runs[0].response_piece].finish_ns;
}

uint64_t random_system_replay(const struct random_system *made, const uint64_t *less_ns)
{
    uint64_t finish_ns[SYSTEM_PIECES_MAX];

    for (size_t i = 0; i < made->piece_count; i++) {
        const struct system_piece *piece = &made->pieces[i];
        uint64_t start_ns = 0;

        for (uint32_t j = 0; j < piece->input_count; j++) {
            if (finish_ns[piece->inputs[j]] > start_ns) {
                start_ns = finish_ns[piece->inputs[j]];
            }
        }
        finish_ns[i] = start_ns + piece->duration_ns - less_ns[i];
    }
    return finish_ns[made->runs[0].response_piece];
}

static void add_member(struct random_system *made, uint32_t piece)
{
    struct system_segment *segment = &made->segments[made->segment_count - 1];

    made->members[made->member_count++] = piece;
    segment->end = made->member_count;
    segment->duration_ns += made->pieces[piece].duration_ns;
}

static void begin_segment(struct random_system *made)
{
    made->segments[made->segment_count++] =
        (struct system_segment){0, made->member_count, made->member_count};
}

/* Both ways of a call: the way out waits until its way back comes. */
static void add_ways(struct random_system *made, uint32_t piece, uint32_t *ways_out)
{
    const uint32_t call = made->pieces[piece].call;
    const uint32_t out = ways_out[call];

    if (out == SYSTEM_NONE) {
        ways_out[call] = piece;
        return;
    }
    if (made->pieces[piece].duration_ns + made->pieces[out].duration_ns != 0) {
        begin_segment(made);
        add_member(made, out);
        add_member(made, piece);
    }
}

void random_system_walk(struct random_system *made)
{
    uint32_t chain[SYSTEM_PIECES_MAX];
    uint32_t ways_out[SYSTEM_CALLS_MAX];
    uint32_t self = SYSTEM_NONE; /* the task of the segment, if that is its own time */
    size_t count = 0;

    for (uint32_t at = made->runs[0].response_piece; at != SYSTEM_NONE;
         at = made->pieces[at].released_by) {
        chain[count++] = at;
    }
    memset(ways_out, 0xff, sizeof ways_out);
    made->segment_count = 0;
    made->member_count = 0;
    while (count-- != 0) {
        const struct system_piece *piece = &made->pieces[chain[count]];

        if (piece->kind == PIECE_NETWORK) {
            add_ways(made, chain[count], ways_out);
            self = piece->duration_ns != 0 ? SYSTEM_NONE : self;
            continue;
        }
        if (piece->duration_ns == 0) {
            continue;
        }
        if (piece->kind != PIECE_SELF || piece->task != self) {
            begin_segment(made);
        }
        self = piece->kind == PIECE_SELF ? piece->task : SYSTEM_NONE;
        add_member(made, chain[count]);
    }
}
