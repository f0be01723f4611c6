/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_loop.c - the loop itself: work from other threads, timers, its executor
 *
 * One pass of libevent's loop asks which sockets are ready, then calls back for each.
 * What they post runs behind the last of them, in the same pass; what those works
 * post, in the next one. So each batch of tasks is followed by a look at the sockets:
 *
 *      sockets -> arrivals and replies are stamped -> works -> sockets -> ...
 *
 * That keeps the stamps close to the bytes although tasks run on the same thread: all
 * that is ready at once is read and stamped before any of it is worked on. A long chain
 * of tasks does not starve the sockets. A request that runs for long without waiting
 * would; it yields after some turns.
 *
 * Timers are a heap of our own, and a descriptor of the system for the earliest: any
 * thread may call the functions of an executor, but not those of libevent, unless every
 * base pays for locks; and libevent's own exact timers cost a call of the system in
 * each pass. Expired timers are taken one by one, so that a cancelled timer has
 * either fired or never does.
 */
#include "framework/transport/http/loop/http_loop.h"

#include "cpt/base/now.h"

#include <event2/dns.h>
#include <event2/thread.h>

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    TURNS_MAX = 4 /* of a long run, before it yields to the sockets */
};

/* The loop that this thread is running. */
static _Thread_local struct cpt_http *loop_here;

struct cpt_http *cpti_http_loop_here(void)
{
    return loop_here;
}

bool cpti_http_loop_is_here(const struct cpt_http *http)
{
    return loop_here == http;
}

void cpti_http_loop_set_here(struct cpt_http *http)
{
    loop_here = http;
}

/* --- Work --- */

/* If the descriptor is full, the loop wakes as well. */
void cpti_http_loop_wake(const struct cpt_http *http)
{
    const uint64_t one = 1;
    const int saved = errno;
    const ssize_t written = write(http->wake_descriptor, &one, sizeof(one));

    (void)written;
    errno = saved;
}

static void wake_soon(struct cpt_http *http)
{
    static const struct timeval zero = {0, 0};

    if (!cpti_http_loop_is_here(http)) {
        cpti_http_loop_wake(http);
    } else if (http->is_working) {
        (void)event_add(http->soon, &zero);
    } else {
        event_active(http->soon, EV_TIMEOUT, 1);
    }
}

/*
 * Wakes the loop with the lock held: once the lock is released, the work may run, and
 * that may be the last use of @http.
 */
static bool post(struct cpt_http *http, struct cpt_work *work, bool is_call)
{
    bool is_taken = false;

    work->next = NULL;
    cpti_lock_take(&http->lock);
    if (!http->is_gone && !(is_call && http->is_closed)) {
        is_taken = true;
        *http->works_end = work;
        http->works_end = &work->next;
        if (!http->is_woken) {
            http->is_woken = true;
            wake_soon(http);
        }
    }
    cpti_lock_release(&http->lock);
    return is_taken;
}

bool cpti_http_loop_post(struct cpt_http *http, struct cpt_work *work)
{
    return post(http, work, false);
}

bool cpti_http_loop_post_call(struct cpt_http *http, struct cpt_work *work)
{
    return post(http, work, true);
}

/* Runs the works that are there now; those that come later wait for the next call. */
static void works_run(struct cpt_http *http)
{
    struct cpt_work *work = NULL;
    bool is_idle = false;

    cpti_lock_take(&http->lock);
    work = http->works;
    http->works = NULL;
    http->works_end = &http->works;
    http->is_woken = false;
    cpti_lock_release(&http->lock);
    http->turn_count = 0;
    http->is_working = true;
    while (work != NULL) {
        http->batch = work->next;
        work->run(work);
        work = http->batch;
    }
    http->is_working = false;
    cpti_lock_take(&http->lock);
    is_idle = http->works == NULL;
    cpti_lock_release(&http->lock);
    if (is_idle) {
        cpt_executor_idles();
    }
}

static void on_soon(evutil_socket_t descriptor, short what, void *context)
{
    (void)descriptor;
    (void)what;
    works_run(context);
}

/* --- Timers --- */

/* Sets the descriptor to the earliest of our timers. Loop thread. */
static void alarm_set(struct cpt_http *http)
{
    const struct cpt_timer *timer = NULL;
    struct itimerspec at = {{0, 0}, {0, 0}};
    uint64_t at_ns = UINT64_MAX;

    cpti_lock_take(&http->lock);
    timer = cpti_timers_first(&http->timers);
    at_ns = timer != NULL ? timer->at_ns : UINT64_MAX;
    cpti_lock_release(&http->lock);
    if (at_ns == UINT64_MAX || at_ns == http->alarm_ns) {
        return;
    }
    http->alarm_ns = at_ns;
    at.it_value.tv_sec = (time_t)(at_ns / CPTI_NS_PER_S);
    at.it_value.tv_nsec = (long)(at_ns % CPTI_NS_PER_S) + (at_ns == 0); /* 0: never */
    (void)timerfd_settime(http->alarm_descriptor, TFD_TIMER_ABSTIME, &at, NULL);
}

static void on_alarm(evutil_socket_t descriptor, short what, void *context)
{
    struct cpt_http *http = context;
    const uint64_t now = cpti_now_ns();
    uint64_t ignored = 0;
    const ssize_t got = read(descriptor, &ignored, sizeof(ignored));

    (void)got;
    (void)what;
    http->alarm_ns = UINT64_MAX;
    while (cpti_timers_fire_due(&http->timers, &http->lock, now)) {
    }
    alarm_set(http);
}

cpt_status cpti_http_loop_after(struct cpt_http *http, struct cpt_timer *timer,
                                uint64_t delay_ns)
{
    const uint64_t at_ns = cpti_timer_at(cpti_now_ns(), delay_ns);
    const bool is_here = cpti_http_loop_is_here(http);
    bool is_earliest = false;
    cpt_status status = CPT_OK;

    cpti_lock_take(&http->lock);
    status = cpti_timers_add(&http->timers, timer, at_ns);
    if (status == CPT_OK) {
        is_earliest = timer->index == 1;
        if (is_earliest && !is_here && !http->is_gone) {
            cpti_http_loop_wake(http);
        }
    }
    cpti_lock_release(&http->lock);
    if (is_earliest && is_here) {
        alarm_set(http);
    }
    return status;
}

bool cpti_http_loop_cancel(struct cpt_http *http, struct cpt_timer *timer)
{
    return cpti_timers_cancel(&http->timers, &http->lock, timer);
}

/* --- The executor --- */

static struct cpt_http *of_executor(struct cpt_executor *executor)
{
    return CPTI_CONTAINER(executor, struct cpt_http, executor);
}

static void executor_submit(struct cpt_executor *executor, struct cpt_work *work)
{
    (void)cpti_http_loop_post(of_executor(executor), work);
}

static cpt_status executor_after(struct cpt_executor *executor, struct cpt_timer *timer,
                                 uint64_t delay_ns)
{
    return cpti_http_loop_after(of_executor(executor), timer, delay_ns);
}

static int executor_cancel(struct cpt_executor *executor, struct cpt_timer *timer)
{
    return cpti_http_loop_cancel(of_executor(executor), timer);
}

/* A hint: works that other threads have just posted do not count. */
static unsigned executor_hunger(struct cpt_executor *executor)
{
    const struct cpt_http *http = of_executor(executor);

    return cpti_http_loop_is_here(http) && http->batch != NULL
               ? (unsigned)CPT_HUNGRY_WORK
               : 0;
}

/* Sockets wait for a turn, too, unseen until the next pass of the loop. */
static int executor_yield(struct cpt_executor *executor, struct cpt_work *work)
{
    struct cpt_http *http = of_executor(executor);

    if (http->batch == NULL && ++http->turn_count < TURNS_MAX) {
        return 0;
    }
    return cpti_http_loop_post(http, work);
}

/* --- What is left --- */

void cpti_http_loop_turn(struct cpt_http *http)
{
    uint64_t ignored = 0;
    const ssize_t got = read(http->wake_descriptor, &ignored, sizeof(ignored));

    (void)got;
    works_run(http);
    alarm_set(http);
}

bool cpti_http_loop_has_works(struct cpt_http *http)
{
    bool has = false;

    cpti_lock_take(&http->lock);
    has = http->works != NULL;
    cpti_lock_release(&http->lock);
    return has;
}

void cpti_http_loop_close(struct cpt_http *http)
{
    cpti_lock_take(&http->lock);
    http->is_closed = true;
    cpti_lock_release(&http->lock);
}

void cpti_http_loop_finish(struct cpt_http *http)
{
    bool is_gone = false;

    while (!is_gone) {
        works_run(http);
        cpti_lock_take(&http->lock);
        is_gone = http->works == NULL;
        http->is_gone = is_gone;
        cpti_lock_release(&http->lock);
    }
}

/* --- Making and freeing --- */

static pthread_once_t threads_once = PTHREAD_ONCE_INIT;

/* libevent has state for the whole process, which several loops share. */
static void threads_prepare(void)
{
    (void)evthread_use_pthreads();
}

static struct event_base *base_new(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config == NULL) {
        return NULL;
    }
    /* No locks: only the loop thread touches it. */
    (void)event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

/* Looks names up in /etc/hosts and by name servers; numbers work without either. */
static struct evdns_base *dns_new(struct event_base *base)
{
    struct evdns_base *dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);

    if (dns != NULL) {
        (void)evdns_base_resolv_conf_parse(dns, DNS_OPTIONS_ALL, "/etc/resolv.conf");
    }
    return dns;
}

bool cpti_http_loop_init(struct cpt_http *http, event_callback_fn on_wake)
{
    (void)pthread_once(&threads_once, threads_prepare);
    http->executor = (struct cpt_executor){.name = "http",
                                           .submit = executor_submit,
                                           .after = executor_after,
                                           .cancel = executor_cancel,
                                           .hunger = executor_hunger,
                                           .yield = executor_yield};
    http->timers.alloc = http->alloc;
    http->works_end = &http->works;
    http->wake_descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    http->alarm_descriptor =
        timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    http->alarm_ns = UINT64_MAX;
    http->base = base_new();
    if (http->wake_descriptor < 0 || http->alarm_descriptor < 0 || http->base == NULL) {
        return false;
    }
    http->dns = dns_new(http->base);
    http->sees_closed = event_base_get_features(http->base) & EV_FEATURE_EARLY_CLOSE;
    http->wake = event_new(http->base, http->wake_descriptor, EV_READ | EV_PERSIST,
                           on_wake, http);
    http->soon = evtimer_new(http->base, on_soon, http);
    http->alarm = event_new(http->base, http->alarm_descriptor, EV_READ | EV_PERSIST,
                            on_alarm, http);
    return http->dns != NULL && http->wake != NULL && http->soon != NULL &&
           http->alarm != NULL && event_add(http->wake, NULL) == 0 &&
           event_add(http->alarm, NULL) == 0;
}

static void event_free_maybe(struct event *event)
{
    if (event != NULL) {
        event_free(event);
    }
}

void cpti_http_loop_deinit(struct cpt_http *http)
{
    event_free_maybe(http->wake);
    event_free_maybe(http->soon);
    event_free_maybe(http->alarm);
    if (http->dns != NULL) {
        evdns_base_free(http->dns, 0);
    }
    if (http->base != NULL) {
        event_base_free(http->base);
    }
    if (http->wake_descriptor >= 0) {
        (void)close(http->wake_descriptor);
        http->wake_descriptor = -1;
    }
    if (http->alarm_descriptor >= 0) {
        (void)close(http->alarm_descriptor);
        http->alarm_descriptor = -1;
    }
    http->base = NULL;
}

void cpti_http_reference(struct cpt_http *http)
{
    cpti_lock_take(&http->lock);
    http->reference_count++;
    cpti_lock_release(&http->lock);
}

void cpti_http_release(struct cpt_http *http)
{
    bool is_last = false;

    cpti_lock_take(&http->lock);
    is_last = --http->reference_count == 0;
    cpti_lock_release(&http->lock);
    if (is_last) {
        cpti_lock_deinit(&http->lock);
        cpti_timers_deinit(&http->timers);
        cpt_alloc_free(http->alloc, http);
    }
}
