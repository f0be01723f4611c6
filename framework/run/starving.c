/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * starving.c - run delay of steps, and its culprits; see starving.h
 *
 * The steps that threads tell are atomic numbers without an order among them: a reader
 * may see a step with the times of the next one, and blame the wrong task once. What it
 * reads is for people, as all holders are.
 */
#include "framework/run/starving.h"

#include "cpt/base/now.h"
#include "framework/run/overlap.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum {
    PLACES = 128, /* threads that tell at one time */
    STEPS = 4,    /* of each: the current one and those before */
    SUSPECTS = 16 /* tasks that are compared */
};

/* Less time off the processor is noise of two clocks. */
#define NOISE_NS 1000U

/* What a thread tells. */
struct told_step {
    _Atomic uint64_t tenant; /* 0: none */
    _Atomic uint64_t begin_ns;
    _Atomic uint64_t end_ns; /* UINT64_MAX: it still runs */
    _Atomic uint64_t
        cpu_ns; /* it used; of one that runs: of its thread when it began */
};

static struct place {
    atomic_bool is_taken;
    _Atomic clockid_t clock; /* CPU time of its thread */
    struct told_step steps[STEPS];
} places[PLACES];

static _Atomic unsigned place_count; /* those that were ever taken */

/* Of a thread that measures. */
struct meter {
    int file; /* schedstat; -1: not measured */
    struct place *place;
    unsigned step; /* the current one */
    uint64_t begin_ns;
    uint64_t begin_delay_ns; /* when the step began */
    uint64_t delay_ns;       /* as last read, when it was: */
    uint64_t read_ns;
    uint64_t read_cpu_ns;
};

static _Thread_local struct meter meter;

/* --- A thread's meter --- */

static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The thread ends. */
static void close_meter(void *context)
{
    struct meter *own = context;

    if (own->file >= 0) {
        (void)close(own->file);
    }
    for (int i = 0; own->place != NULL && i < STEPS; i++) {
        atomic_store_explicit(&own->place->steps[i].tenant, 0, memory_order_relaxed);
    }
    if (own->place != NULL) {
        atomic_store_explicit(&own->place->is_taken, false, memory_order_release);
    }
    *own = (struct meter){.file = 0};
}

static void prepare(void)
{
    (void)pthread_key_create(&ending, close_meter);
}

/* Reads the run delay of this thread; false: it cannot be read. */
static bool read_delay(struct meter *own, uint64_t now_ns, uint64_t cpu_ns)
{
    char text[96];
    const ssize_t bytes = pread(own->file, text, sizeof text - 1, 0);

    if (bytes <= 0) {
        return false;
    }
    text[bytes] = '\0';
    if (!cpti_starving_parse(text, &own->delay_ns)) {
        return false;
    }
    own->read_ns = now_ns;
    own->read_cpu_ns = cpu_ns;
    return true;
}

static void take_place(struct meter *own)
{
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;

    if (pthread_getcpuclockid(pthread_self(), &clock) != 0) {
        return;
    }
    for (unsigned i = 0; i < PLACES; i++) {
        bool expected = false;
        unsigned count = atomic_load_explicit(&place_count, memory_order_relaxed);

        if (!atomic_compare_exchange_strong_explicit(&places[i].is_taken, &expected,
                                                     true, memory_order_acquire,
                                                     memory_order_relaxed)) {
            continue;
        }
        own->place = &places[i];
        atomic_store_explicit(&places[i].clock, clock, memory_order_relaxed);
        while (count <= i && !atomic_compare_exchange_weak_explicit(
                                 &place_count, &count, i + 1, memory_order_relaxed,
                                 memory_order_relaxed)) {
        }
        return;
    }
}

/* Not inlined: once a thread. */
static __attribute__((noinline)) void open_meter(struct meter *own, uint64_t cpu_ns)
{
    (void)pthread_once(&once, prepare);
    own->file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (own->file == 0) { /* 0 says that there is no meter yet */
        own->file = fcntl(0, F_DUPFD_CLOEXEC, 3);
        (void)close(0);
    }
    if (own->file >= 0 && !read_delay(own, cpti_now_ns(), cpu_ns)) {
        (void)close(own->file);
        own->file = -1;
    }
    take_place(own);
    if (pthread_setspecific(ending, own) != 0) {
        close_meter(own);
        own->file = -1;
    }
}

/* --- Culprits --- */

struct suspect {
    uint64_t tenant;
    uint64_t ran_ns;
};

struct suspects {
    struct suspect all[SUSPECTS];
    unsigned count;
};

/* How long @step, of a thread with @clock, computed from @from_ns to @to_ns at most. */
static uint64_t ran_ns(struct told_step *step, clockid_t clock, uint64_t from_ns,
                       uint64_t to_ns)
{
    const uint64_t begin_ns =
        atomic_load_explicit(&step->begin_ns, memory_order_relaxed);
    const uint64_t end_ns = atomic_load_explicit(&step->end_ns, memory_order_relaxed);
    const uint64_t low_ns = begin_ns > from_ns ? begin_ns : from_ns;
    const uint64_t high_ns = end_ns < to_ns ? end_ns : to_ns;
    uint64_t cpu_ns = atomic_load_explicit(&step->cpu_ns, memory_order_relaxed);

    if (low_ns >= high_ns) {
        return 0;
    }
    if (end_ns == UINT64_MAX) {
        struct timespec now = {0, 0};
        uint64_t now_cpu_ns = 0;

        if (clock_gettime(clock, &now) != 0) {
            return 0; /* the thread has ended */
        }
        now_cpu_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        cpu_ns = now_cpu_ns > cpu_ns ? now_cpu_ns - cpu_ns : 0;
    }
    return cpu_ns < high_ns - low_ns ? cpu_ns : high_ns - low_ns;
}

static void suspect(struct suspects *suspects, uint64_t tenant, uint64_t ran_ns)
{
    unsigned i = 0;

    while (i < suspects->count && suspects->all[i].tenant != tenant) {
        i++;
    }
    if (i == SUSPECTS) {
        return;
    }
    if (i == suspects->count) {
        suspects->all[suspects->count++] = (struct suspect){tenant, 0};
    }
    suspects->all[i].ran_ns += ran_ns;
}

/* Which task computed most on other threads from @from_ns to @to_ns; 0: none. */
static uint64_t find_culprit(const struct place *own, uint64_t from_ns, uint64_t to_ns)
{
    const unsigned count = atomic_load_explicit(&place_count, memory_order_relaxed);
    struct suspects suspects = {.count = 0};
    struct suspect worst = {0, 0};

    for (unsigned i = 0; i < count; i++) {
        struct place *place = &places[i];
        const clockid_t clock =
            atomic_load_explicit(&place->clock, memory_order_relaxed);

        for (int s = 0; place != own && s < STEPS; s++) {
            const uint64_t tenant =
                atomic_load_explicit(&place->steps[s].tenant, memory_order_acquire);
            const uint64_t ran =
                tenant != 0 ? ran_ns(&place->steps[s], clock, from_ns, to_ns) : 0;

            if (ran != 0) {
                suspect(&suspects, tenant, ran);
            }
        }
    }
    for (unsigned i = 0; i < suspects.count; i++) {
        if (suspects.all[i].ran_ns > worst.ran_ns) {
            worst = suspects.all[i];
        }
    }
    return worst.tenant;
}

/* --- Steps --- */

static void tell_begin(struct meter *own, uint64_t tenant, uint64_t cpu_ns)
{
    struct told_step *step = NULL;

    own->step = (own->step + 1) % STEPS;
    step = &own->place->steps[own->step];
    atomic_store_explicit(&step->tenant, 0, memory_order_relaxed);
    atomic_store_explicit(&step->begin_ns, own->begin_ns, memory_order_relaxed);
    atomic_store_explicit(&step->end_ns, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&step->cpu_ns, cpu_ns, memory_order_relaxed);
    atomic_store_explicit(&step->tenant, tenant, memory_order_release);
}

static void tell_end(struct meter *own, uint64_t now_ns, uint64_t cpu_ns)
{
    struct told_step *step = &own->place->steps[own->step];
    const uint64_t begin_cpu_ns =
        atomic_load_explicit(&step->cpu_ns, memory_order_relaxed);

    if (atomic_load_explicit(&step->end_ns, memory_order_relaxed) == UINT64_MAX) {
        atomic_store_explicit(&step->cpu_ns,
                              cpu_ns > begin_cpu_ns ? cpu_ns - begin_cpu_ns : 0,
                              memory_order_relaxed);
        atomic_store_explicit(&step->end_ns, now_ns, memory_order_relaxed);
    }
}

/* How long this thread was off the processor since it read its run delay. */
static uint64_t unread_ns(const struct meter *own, uint64_t now_ns, uint64_t cpu_ns)
{
    const uint64_t wall_ns = now_ns - own->read_ns;
    const uint64_t ran = cpu_ns - own->read_cpu_ns;

    return wall_ns > ran ? wall_ns - ran : 0;
}

void cpti_starving_begin(const struct cpt_task *task, uint64_t cpu_ns)
{
    struct meter *own = &meter;

    if (own->file == 0) {
        open_meter(own, cpu_ns);
    }
    own->begin_ns = cpti_now_ns();
    if (own->place != NULL) {
        tell_begin(own, cpti_tenant_of(task), cpu_ns);
    }
    if (own->file < 0) {
        return;
    }
    if (unread_ns(own, own->begin_ns, cpu_ns) >= NOISE_NS) {
        (void)read_delay(own, own->begin_ns, cpu_ns);
    }
    own->begin_delay_ns = own->delay_ns;
}

const struct cpt_trace_starved *cpti_starving_end(struct cpt_task *task,
                                                  uint64_t cpu_ns, uint64_t off_ns)
{
    static const struct cpt_trace_starved nothing = {.delay_ns = 0};
    struct meter *own = &meter;
    const uint64_t now_ns = cpti_now_ns();
    struct cpt_trace_starved *starved = NULL;
    uint64_t delay_ns = 0;
    uint64_t culprit = 0;

    if (own->place != NULL) {
        tell_end(own, now_ns, cpu_ns);
    }
    if (own->file <= 0) {
        return NULL;
    }
    if (off_ns < NOISE_NS) {
        return &nothing;
    }
    if (!read_delay(own, now_ns, cpu_ns)) {
        return NULL;
    }
    delay_ns = own->delay_ns - own->begin_delay_ns;
    delay_ns = delay_ns < off_ns ? delay_ns : off_ns;
    if (delay_ns == 0) {
        return &nothing;
    }
    starved = cpt_arena_take(&task->request->notes, sizeof *starved);
    if (starved == NULL) {
        return NULL;
    }
    culprit = find_culprit(own->place, own->begin_ns, now_ns);
    starved->delay_ns = delay_ns;
    starved->culprit = cpti_task_name(cpti_tenant_name(culprit));
    starved->culprit_request =
        cpti_overlap_other(task->request, cpti_tenant_request(culprit));
    return starved;
}
