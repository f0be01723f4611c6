/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * stall.c - finds threads that do not come on, and reads their stacks
 *
 *      thread    work: turns odd, then + 2 with every 16th task    handler: stack
 *                                   ^ reads                          ^ signal
 *      watcher   four times within the limit: unchanged and odd? ----'
 *
 * In the handler only backtrace() is called, after it was called once before, so that
 * it loads nothing; it fills in the one sample, and posts a semaphore. The watcher
 * waits for that while it holds the lock of the registry, so the thread cannot end
 * meanwhile. A handler that comes too late finds that the sample is not meant for it.
 */
#include "framework/run/stall.h"

#include "framework/cpt_running.h"
#include "framework/pool/lock.h"
#include "framework/run/request.h"
#include "framework/run/snapshot.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

enum {
    FRAMES_MAX = 64,
    TASKS_MAX = 256, /* that are counted by name */
    LIMIT_MS_DEFAULT = 100,
    MINUTE_MAX_DEFAULT = 6,
    ANSWER_MS = 200 /* for the handler */
};

#define NS_PER_MS UINT64_C(1000000)

/* A thread that has run tasks. */
struct cpti_watched {
    _Atomic uint64_t turns; /* see stall.h */
    pthread_t thread;
    /* Of the watcher. */
    uint64_t seen_turns;
    uint64_t since_ns;
    bool is_told;
    LIST_ENTRY(cpti_watched) others;
};

enum sample_state { SAMPLE_IDLE, SAMPLE_ASKED, SAMPLE_BEGUN };

atomic_bool cpti_stalls_are_watched;

/* Of this thread; NULL: it is not watched. Odd while it runs work; changes whenever it
 * comes on. Relaxed: the watcher only compares. */
static _Thread_local _Atomic uint64_t *own_turns
    __attribute__((tls_model("initial-exec")));

/* Filled in by the handler of the thread that is asked. Acq_rel: the state. */
static struct {
    atomic_int state;
    pthread_t thread;
    sem_t is_written;
    void *frames[FRAMES_MAX];
    int frame_count;
    uint32_t name_id;
    bool is_in_task;
} sample;

static struct {
    struct cpti_lock lock;
    pthread_cond_t is_over;
    /* Guarded by lock. */
    LIST_HEAD(, cpti_watched) threads;
    struct {
        uint32_t name_id;
        uint64_t count;
    } tasks[TASKS_MAX];
    size_t task_count;
    uint64_t minute_ns; /* when it began */
    unsigned minute_count;
    bool is_ending;
    bool has_key;
    /* Of the thread that watches and ends. */
    struct cpt_stall_options options;
    struct sigaction before;
    pthread_t watcher;
    pthread_key_t key;
} stalls = {.lock = CPTI_LOCK_INITIALIZER(CPTI_RANK_STALLS)};

/* --- The threads that are watched --- */

static void forget_thread(void *context)
{
    struct cpti_watched *watched = context;

    own_turns = NULL;
    cpti_lock_take(&stalls.lock);
    LIST_REMOVE(watched, others);
    cpti_lock_release(&stalls.lock);
    cpt_alloc_free(NULL, watched);
}

/* Registers this thread. */
static void register_thread(void)
{
    struct cpti_watched *watched = cpt_alloc_zeroed(NULL, sizeof *watched);

    if (watched == NULL) {
        return; /* it is not watched yet */
    }
    watched->thread = pthread_self();
    if (pthread_setspecific(stalls.key, watched) != 0) {
        cpt_alloc_free(NULL, watched);
        return;
    }
    cpti_lock_take(&stalls.lock);
    LIST_INSERT_HEAD(&stalls.threads, watched, others);
    cpti_lock_release(&stalls.lock);
    own_turns = &watched->turns;
}

uint64_t cpti_stall_enter(void)
{
    uint64_t before = 0;

    if (own_turns == NULL) {
        register_thread();
    }
    if (own_turns != NULL) {
        before = atomic_load_explicit(own_turns, memory_order_relaxed);
        atomic_store_explicit(own_turns, (before + 2) | 1, memory_order_relaxed);
    }
    return before;
}

void cpti_stall_come_on(void)
{
    if (own_turns != NULL) {
        atomic_store_explicit(own_turns,
                              atomic_load_explicit(own_turns, memory_order_relaxed) + 2,
                              memory_order_relaxed);
    }
}

void cpti_stall_leave(uint64_t before)
{
    if (own_turns != NULL) {
        const uint64_t now = atomic_load_explicit(own_turns, memory_order_relaxed);

        atomic_store_explicit(own_turns, ((now + 2) & ~UINT64_C(1)) | (before & 1),
                              memory_order_relaxed);
    }
}

/* --- In the handler --- */

static void read_stack(int number)
{
    const int error = errno;
    const struct cpt_task *task = cpt_current_task();
    int asked = SAMPLE_ASKED;

    (void)number;
    if (atomic_load_explicit(&sample.state, memory_order_acquire) != SAMPLE_ASKED ||
        !pthread_equal(sample.thread, pthread_self()) ||
        !atomic_compare_exchange_strong_explicit(&sample.state, &asked, SAMPLE_BEGUN,
                                                 memory_order_acq_rel,
                                                 memory_order_acquire)) {
        return;
    }
    sample.is_in_task = task != NULL && task->wait == NULL;
    sample.name_id = sample.is_in_task ? cpti_task_step(task)->name_id : 0;
    sample.frame_count = sample.is_in_task ? backtrace(sample.frames, FRAMES_MAX) : 0;
    (void)sem_post(&sample.is_written);
    errno = error;
}

/* --- The watcher --- */

/* Asks @watched for its stack; false: it does not answer, or runs no step. Lock
 * held. */
static bool ask(const struct cpti_watched *watched)
{
    struct timespec until = {0};
    int asked = SAMPLE_ASKED;
    int status = -1;

    sample.thread = watched->thread;
    atomic_store_explicit(&sample.state, SAMPLE_ASKED, memory_order_release);
    if (pthread_kill(watched->thread, stalls.options.signal_number) == 0) {
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)(ANSWER_MS * NS_PER_MS);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        do {
            status = sem_timedwait(&sample.is_written, &until);
        } while (status != 0 && errno == EINTR);
    }
    /* One that comes later finds that it is not asked; one that has begun ends soon. */
    if (status != 0 && atomic_compare_exchange_strong_explicit(
                           &sample.state, &asked, SAMPLE_IDLE, memory_order_acq_rel,
                           memory_order_acquire)) {
        return false;
    }
    while (status != 0) {
        status = sem_wait(&sample.is_written);
    }
    atomic_store_explicit(&sample.state, SAMPLE_IDLE, memory_order_release);
    return sample.is_in_task;
}

/* Counts a stall of the task of the sample. Lock held. */
static void count_stall(void)
{
    size_t i = 0;

    while (i < stalls.task_count && stalls.tasks[i].name_id != sample.name_id) {
        i++;
    }
    if (i == TASKS_MAX) {
        i = TASKS_MAX - 1; /* the last one stands for all others */
    } else if (i == stalls.task_count) {
        stalls.tasks[stalls.task_count++].name_id = sample.name_id;
    }
    stalls.tasks[i].count++;
}

/* Whether one more may be reported in this minute. Lock held. */
static bool may_report(uint64_t now_ns)
{
    if (now_ns - stalls.minute_ns >= 60000 * NS_PER_MS) {
        stalls.minute_ns = now_ns;
        stalls.minute_count = 0;
    }
    return stalls.minute_count++ < stalls.options.minute_max;
}

/* Looks at @watched; true: @stall is to be reported. Lock held. */
static bool look(struct cpti_watched *watched, uint64_t now_ns, struct cpt_stall *stall)
{
    const uint64_t turns = atomic_load_explicit(&watched->turns, memory_order_relaxed);

    if (turns != watched->seen_turns || (turns & 1) == 0) {
        watched->seen_turns = turns;
        watched->since_ns = now_ns;
        watched->is_told = false;
        return false;
    }
    if (watched->is_told || now_ns - watched->since_ns < stalls.options.limit_ns) {
        return false;
    }
    watched->is_told = true;
    if (!ask(watched)) {
        return false;
    }
    count_stall();
    stall->task = cpti_task_name(sample.name_id);
    stall->stalled_ns = now_ns - watched->since_ns;
    stall->frames = sample.frames;
    stall->frame_count = (size_t)sample.frame_count;
    return may_report(now_ns);
}

/* Looks at all threads, and reports one stall at a time, without the lock. */
static void look_at_all(void)
{
    struct cpti_watched *watched = LIST_FIRST(&stalls.threads);

    while (watched != NULL) {
        struct cpt_stall stall = {0};

        if (look(watched, cpti_coarse_ns(), &stall)) {
            cpti_lock_release(&stalls.lock);
            stalls.options.report(stalls.options.context, &stall);
            cpti_lock_take(&stalls.lock);
            watched = LIST_FIRST(&stalls.threads); /* the list may have changed */
        } else {
            watched = LIST_NEXT(watched, others);
        }
    }
}

static void *watch(void *context)
{
    const uint64_t pause_ns = stalls.options.limit_ns / 4 + 1;

    (void)context;
    cpti_lock_take(&stalls.lock);
    while (!stalls.is_ending) {
        cpti_cond_wait(&stalls.is_over, &stalls.lock,
                       cpt_clock_now_ns(cpt_clock_monotonic()) + pause_ns);
        if (!stalls.is_ending) {
            look_at_all();
        }
    }
    cpti_lock_release(&stalls.lock);
    return NULL;
}

/* --- Begun and ended --- */

static cpt_status check(const struct cpt_stall_options *options,
                        struct cpt_error *error)
{
    struct sigaction used;

    if (atomic_load_explicit(&cpti_stalls_are_watched, memory_order_relaxed)) {
        return cpt_error_set(error, CPT_INVALID, 0, "stalls are watched already");
    }
    if (options->report == NULL) {
        return cpt_error_set(error, CPT_INVALID, 0, "stalls need a report");
    }
    if (sigaction(options->signal_number, NULL, &used) != 0 ||
        (used.sa_flags & SA_SIGINFO) != 0 ||
        (used.sa_handler != SIG_DFL && used.sa_handler != SIG_IGN)) {
        return cpt_error_set(error, CPT_INVALID, 0, "signal %d is used already",
                             options->signal_number);
    }
    return CPT_OK;
}

static cpt_status begin(struct cpt_error *error)
{
    struct sigaction action = {.sa_handler = read_stack, .sa_flags = SA_RESTART};
    void *frames[1];

    (void)backtrace(frames, 1); /* it loads a library the first time */
    if (!stalls.has_key && pthread_key_create(&stalls.key, forget_thread) != 0) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    }
    stalls.has_key = true;
    stalls.is_ending = false;
    cpti_cond_init(&stalls.is_over);
    (void)sem_init(&sample.is_written, 0, 0);
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(stalls.options.signal_number, &action, &stalls.before);
    if (pthread_create(&stalls.watcher, NULL, watch, NULL) != 0) {
        (void)sigaction(stalls.options.signal_number, &stalls.before, NULL);
        return cpt_error_set(error, CPT_IO, 0, "no thread to watch stalls");
    }
    atomic_store_explicit(&cpti_stalls_are_watched, true, memory_order_release);
    return CPT_OK;
}

cpt_status cpt_stalls_watch(const struct cpt_stall_options *given,
                            struct cpt_error *error)
{
    struct cpt_stall_options options;
    cpt_status status = cpt_options_read(&options, sizeof options, given, error);

    if (status != CPT_OK) {
        return status;
    }
    options.limit_ns =
        options.limit_ns != 0 ? options.limit_ns : LIMIT_MS_DEFAULT * NS_PER_MS;
    options.minute_max =
        options.minute_max != 0 ? options.minute_max : MINUTE_MAX_DEFAULT;
    options.signal_number =
        options.signal_number != 0 ? options.signal_number : SIGRTMAX - 3;
    status = check(&options, error);
    if (status != CPT_OK) {
        return status;
    }
    stalls.options = options;
    return begin(error);
}

void cpt_stalls_end(void)
{
    if (!atomic_load_explicit(&cpti_stalls_are_watched, memory_order_acquire)) {
        return;
    }
    atomic_store_explicit(&cpti_stalls_are_watched, false, memory_order_relaxed);
    cpti_lock_take(&stalls.lock);
    stalls.is_ending = true;
    (void)pthread_cond_signal(&stalls.is_over);
    cpti_lock_release(&stalls.lock);
    (void)pthread_join(stalls.watcher, NULL);
    (void)pthread_cond_destroy(&stalls.is_over);
    /* A signal that is still on its way would end the process by default. */
    stalls.before.sa_handler = SIG_IGN;
    (void)sigaction(stalls.options.signal_number, &stalls.before, NULL);
}

void cpt_stalls_visit(void (*visit)(void *context, struct cpt_bytes task,
                                    uint64_t count),
                      void *context)
{
    for (size_t i = 0; i < TASKS_MAX; i++) {
        uint32_t name_id = 0;
        uint64_t count = 0;

        cpti_lock_take(&stalls.lock);
        if (i < stalls.task_count) {
            name_id = stalls.tasks[i].name_id;
            count = stalls.tasks[i].count;
        }
        cpti_lock_release(&stalls.lock);
        if (count == 0) {
            return;
        }
        visit(context, cpti_task_name(name_id), count);
    }
}
