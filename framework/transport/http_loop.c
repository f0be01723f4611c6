/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_loop.c - the loop itself: work from other threads, timers, draining
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
 *
 * Stopping: cpt_http_stop() only writes to the descriptor that wakes the loop, so a
 * signal handler may call it.
 *
 *      running --stop--> draining --nothing left, or drain_ns--> cut --> closed
 *
 * SIGPIPE: tasks on the loop may write to what is closed. The signal goes to the thread
 * that writes, so the loop thread blocks it while it is in the loop, and the process's
 * own handling stays as it is.
 */
#include "framework/transport/http_client.h"
#include "framework/transport/http_health.h"
#include "framework/transport/http_input.h"
#include "framework/transport/http_loop.h"

#include "framework/cpt_running.h"
#include "wire/cpt_metadata.h"

#include "cpt/base/now.h"

#include <event2/dns.h>
#include <event2/thread.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    TURNS_MAX = 4 /* of a long run, before it yields to the sockets */
};

/* After drain_ns, requests that were cut off get this long to reply so. */
#define CUT_NS (CPTI_NS_PER_S / 4)

#define DRAIN_DEFAULT_NS  (5 * CPTI_NS_PER_S)
#define IDLE_DEFAULT_NS   (60 * CPTI_NS_PER_S)
#define HEADER_DEFAULT_NS (20 * CPTI_NS_PER_S)
#define BODY_DEFAULT_NS   (30 * CPTI_NS_PER_S)

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

/* --- Work --- */

/* Async-signal-safe. If the descriptor is full, the loop wakes as well. */
static void wake(const struct cpt_http *http)
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
        wake(http);
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
            wake(http);
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

struct cpt_executor *cpt_http_executor(struct cpt_http *http)
{
    return &http->executor;
}

struct cpt_transport *cpt_http_transport(struct cpt_http *http)
{
    return &http->transport;
}

/* --- Stopping --- */

static void on_wake(evutil_socket_t descriptor, short what, void *context)
{
    struct cpt_http *http = context;
    uint64_t ignored = 0;
    const ssize_t got = read(descriptor, &ignored, sizeof(ignored));

    (void)got;
    (void)what;
    works_run(http);
    alarm_set(http);
    cpti_tls_reload_look(http);
    if (atomic_load(&http->is_stop_asked) && !http->is_draining) {
        (void)event_base_loopbreak(http->base);
    }
}

void cpt_http_reload_tls(struct cpt_http *http)
{
    atomic_store(&http->is_reload_asked, true);
    wake(http);
}

void cpt_http_stop(struct cpt_http *http)
{
    if (atomic_exchange(&http->is_stop_asked, true)) {
        atomic_store(&http->is_hurried, true);
    }
    wake(http);
}

static void event_free_maybe(struct event *event)
{
    if (event != NULL) {
        event_free(event);
    }
}

static void signals_free(struct cpt_http *http)
{
    for (size_t i = 0; i < 2; i++) {
        event_free_maybe(http->signals[i]);
        http->signals[i] = NULL;
    }
}

static void on_signal(evutil_socket_t number, short what, void *context)
{
    struct cpt_http *http = context;

    (void)number;
    (void)what;
    /* The previous handler gets the next signal: by default the process ends. */
    signals_free(http);
    cpt_http_stop(http);
}

cpt_status cpt_http_stop_on_signals(struct cpt_http *http, struct cpt_error *error)
{
    static const int numbers[2] = {SIGTERM, SIGINT};

    for (size_t i = 0; i < 2; i++) {
        http->signals[i] = evsignal_new(http->base, numbers[i], on_signal, http);
        if (http->signals[i] == NULL || event_add(http->signals[i], NULL) != 0) {
            signals_free(http);
            return cpt_error_set(error, CPT_IO, 0, "signal %d cannot be handled",
                                 numbers[i]);
        }
    }
    return CPT_OK;
}

/* --- Running --- */

static void on_drain_over(struct cpt_timer *timer)
{
    CPTI_CONTAINER(timer, struct cpt_http, drain_timer)->is_drain_over = true;
}

static bool has_works(struct cpt_http *http)
{
    bool has = false;

    cpti_lock_take(&http->lock);
    has = http->works != NULL;
    cpti_lock_release(&http->lock);
    return has;
}

static bool is_idle(struct cpt_http *http)
{
    return !has_works(http) && http->exchange_count == 0 &&
           http->accepted.unsent_first == NULL &&
           cpti_http_client_is_idle(http->client);
}

/*
 * Runs the loop until nothing is left or @ns have passed. Idle connections stay open
 * meanwhile: a client that sends on one is served, and told to close it.
 */
static void drain(struct cpt_http *http, uint64_t ns)
{
    http->is_drain_over = false;
    http->drain_timer.fire = on_drain_over;
    if (cpti_http_loop_after(http, &http->drain_timer, ns) != CPT_OK) {
        return;
    }
    while (!http->is_drain_over) {
        if (is_idle(http)) {
            (void)event_base_loop(http->base, EVLOOP_NONBLOCK);
            if (is_idle(http)) {
                break;
            }
        }
        (void)event_base_loop(http->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
    }
    (void)cpti_http_loop_cancel(http, &http->drain_timer);
}

static void close_loop(struct cpt_http *http)
{
    cpti_lock_take(&http->lock);
    http->is_closed = true;
    cpti_lock_release(&http->lock);
}

/* Blocks SIGPIPE on this thread. Whether it was blocked, for sigpipe_restore(). */
static bool sigpipe_block(void)
{
    sigset_t pipes;
    sigset_t before;

    (void)sigemptyset(&pipes);
    (void)sigaddset(&pipes, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipes, &before);
    return sigismember(&before, SIGPIPE) == 1;
}

/* Takes the signals that came meanwhile, so that they are not delivered now. */
static void sigpipe_restore(bool was_blocked)
{
    static const struct timespec zero = {0, 0};
    sigset_t pipes;

    if (was_blocked) {
        return;
    }
    (void)sigemptyset(&pipes);
    (void)sigaddset(&pipes, SIGPIPE);
    while (sigtimedwait(&pipes, NULL, &zero) == SIGPIPE) {
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &pipes, NULL);
}

cpt_status cpt_http_run(struct cpt_http *http)
{
    const bool was_blocked = sigpipe_block();
    bool has_finished = false;

    loop_here = http;
    cpt_plans_are_made();
    if (!atomic_load(&http->is_stop_asked)) {
        (void)event_base_loop(http->base, EVLOOP_NO_EXIT_ON_EMPTY);
    }
    cpti_http_health_fall(http);
    http->is_draining = true;
    /* Connections that wait to be accepted would be reset: accept them first. */
    (void)event_base_loop(http->base, EVLOOP_NONBLOCK);
    cpti_http_servers_refuse(http);
    drain(http, http->options.drain_ns);
    close_loop(http);
    cpti_http_client_cancel(http->client);
    if (!is_idle(http)) {
        drain(http, CUT_NS);
    }
    has_finished = is_idle(http);
    cpti_http_servers_free(http);
    signals_free(http);
    (void)event_base_loop(http->base, EVLOOP_NONBLOCK);
    loop_here = NULL;
    sigpipe_restore(was_blocked);
    return has_finished ? CPT_OK : CPT_TIMEOUT;
}

/* --- Making and freeing --- */

static pthread_once_t threads_once = PTHREAD_ONCE_INIT;

/* libevent has state for the whole process, which several loops share. */
static void threads_prepare(void)
{
    (void)evthread_use_pthreads();
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Of @limit descriptors those that clients never have. */
static size_t reserve_of(size_t limit)
{
    const size_t quarter = least(limit / 4, CPTI_HTTP_RESERVE_MAX);
    const size_t smallest = least(limit / 2, CPTI_HTTP_RESERVE_MIN);

    return quarter > smallest ? quarter : smallest;
}

/* The descriptors that clients may have: so that some are left for others. */
static size_t descriptor_rest(const struct cpt_http_options *options, size_t *reserve)
{
    struct rlimit limit;

    *reserve = CPTI_HTTP_RESERVE_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return SIZE_MAX;
    }
    *reserve = options->descriptor_count_reserved != 0
                   ? options->descriptor_count_reserved
                   : reserve_of((size_t)limit.rlim_cur);
    return limit.rlim_cur > *reserve ? (size_t)limit.rlim_cur - *reserve : 1;
}

/* How many connections clients may have. */
static size_t accepted_count_max(const struct cpt_http_options *options)
{
    const size_t wanted = options->accepted_count_max != 0 ? options->accepted_count_max
                                                           : CPTI_HTTP_ACCEPTED_DEFAULT;
    size_t reserve = 0;

    return least(wanted, descriptor_rest(options, &reserve));
}

/* By default all requests may take so much; but a body for which there is room by an
 * option of the program fits, with the memory that it grows in. */
static size_t input_default(const struct cpt_http_options *own)
{
    const size_t bytes =
        cpt_memory_part(CPTI_HTTP_INPUT_BYTES_DEFAULT, CPTI_HTTP_QUEUES_PART);
    const size_t body = 2 * least(own->body_bytes_max, CPTI_HTTP_INPUT_BYTES_DEFAULT);

    return least(bytes > body ? bytes : body, CPTI_HTTP_INPUT_BYTES_DEFAULT);
}

/* What clients may take before their requests begin. */
static void limits_read(struct cpt_http_options *own)
{
    own->accepted_count_max = accepted_count_max(own);
    if (own->body_bytes_max == 0) {
        own->body_bytes_max =
            cpt_memory_part(CPTI_HTTP_BODY_BYTES_DEFAULT, CPTI_HTTP_BODY_PART);
    }
    if (own->input_bytes_max == 0) {
        own->input_bytes_max = input_default(own);
    }
    if (own->output_bytes_max == 0) {
        own->output_bytes_max =
            cpt_memory_part(CPTI_HTTP_OUTPUT_BYTES_DEFAULT, CPTI_HTTP_QUEUES_PART);
    }
    own->header_ns = own->header_ns != 0 ? own->header_ns : HEADER_DEFAULT_NS;
    own->body_ns = own->body_ns != 0 ? own->body_ns : BODY_DEFAULT_NS;
    if (own->body_bytes_per_second_min == 0) {
        own->body_bytes_per_second_min = CPTI_HTTP_BODY_RATE_DEFAULT;
    }
}

static cpt_status targets_check(const struct cpt_http_options *own,
                                struct cpt_error *error)
{
    struct cpt_target_options targets;
    cpt_status status = CPT_OK;

    if (own->targets == NULL) {
        return CPT_OK;
    }
    status = cpt_options_read(&targets, sizeof targets, own->targets, error);
    return status == CPT_OK && targets.check_path != NULL &&
                   !cpti_http_method_is_good(targets.check_path)
               ? cpt_error_set(error, CPT_INVALID, 0, "check_path is no path")
               : status;
}

static cpt_status options_read(struct cpt_http_options *own,
                               const struct cpt_http_options *given,
                               struct cpt_error *error)
{
    const cpt_status status = cpt_options_read(own, sizeof(*own), given, error);

    if (status != CPT_OK) {
        return status;
    }
    own->alloc = own->alloc != NULL ? own->alloc : cpt_alloc_default();
    own->drain_ns = own->drain_ns != 0 ? own->drain_ns : DRAIN_DEFAULT_NS;
    own->idle_ns = own->idle_ns != 0 ? own->idle_ns : IDLE_DEFAULT_NS;
    if (own->connection_count_max == 0) {
        own->connection_count_max = CPTI_HTTP_CONNECTIONS_DEFAULT;
    }
    if (own->waiting_count_max == 0) {
        own->waiting_count_max = CPTI_HTTP_WAITING_DEFAULT;
    }
    limits_read(own);
    if (own->header_bytes_max == 0) {
        own->header_bytes_max = CPTI_HTTP_HEADER_BYTES_DEFAULT;
    }
    if (own->headers_bytes_max == 0) {
        own->headers_bytes_max = CPT_HEADERS_BYTES_HTTP;
    }
    if (own->counters_prefix == NULL) {
        own->counters_prefix = "/cpt";
    }
    if (own->header_bytes_max > CPTI_HTTP_BODY_BYTES_MAX ||
        own->body_bytes_max > CPTI_HTTP_BODY_BYTES_MAX) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "headers or bodies of more than %d bytes",
                             CPTI_HTTP_BODY_BYTES_MAX);
    }
    return targets_check(own, error);
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

static bool events_make(struct cpt_http *http)
{
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
    http->client = cpti_http_client_new(http);
    return http->dns != NULL && http->wake != NULL && http->soon != NULL &&
           http->alarm != NULL && http->client != NULL &&
           event_add(http->wake, NULL) == 0 && event_add(http->alarm, NULL) == 0;
}

static void events_free(struct cpt_http *http)
{
    cpti_http_client_free(http->client);
    cpti_tls_context_deinit(&http->calls_tls);
    signals_free(http);
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

struct cpt_http *cpt_http_new(const struct cpt_http_options *options,
                              struct cpt_error *error)
{
    struct cpt_http_options own;
    struct cpt_http *http = NULL;

    (void)pthread_once(&threads_once, threads_prepare);
    if (options_read(&own, options, error) != CPT_OK) {
        return NULL;
    }
    http = cpt_alloc_zeroed(own.alloc, sizeof *http);
    if (http == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a loop");
        return NULL;
    }
    cpti_lock_init(&http->lock, CPTI_RANK_HTTP);
    http->options = own;
    http->descriptor_rest = descriptor_rest(&own, &http->descriptor_reserve);
    http->spares.wanted = CPTI_HTTP_SPARES;
    cpti_spares_fill(&http->spares);
    cpti_http_accepted_share(http, true);
    http->alloc = own.alloc;
    cpti_http_set(http, CPTI_HTTP_COUNTER_connections_max, own.accepted_count_max);
    cpti_http_set(http, CPTI_HTTP_COUNTER_input_bytes_max, own.input_bytes_max);
    cpti_http_set(http, CPTI_HTTP_COUNTER_output_bytes_max, own.output_bytes_max);
    http->executor = (struct cpt_executor){.name = "http",
                                           .submit = executor_submit,
                                           .after = executor_after,
                                           .cancel = executor_cancel,
                                           .hunger = executor_hunger,
                                           .yield = executor_yield};
    http->transport = (struct cpt_transport){.name = "http",
                                             .send = cpti_http_client_send,
                                             .cancel = cpti_http_client_cancel_call};
    http->timers.alloc = http->alloc;
    http->accepted.text.alloc = http->alloc;
    http->works_end = &http->works;
    http->reference_count = 1;
    if (!events_make(http)) {
        (void)cpt_error_set(error, CPT_IO, 0, "no event loop: %s", strerror(errno));
        cpt_http_free(http);
        return NULL;
    }
    if (own.calls_tls != NULL &&
        cpti_tls_context_init(&http->calls_tls, own.calls_tls, false, own.alloc,
                              error) != CPT_OK) {
        cpt_http_free(http);
        return NULL;
    }
    cpti_tls_note_expiry(http, &http->calls_tls);
    return http;
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

/* Runs the works that are left; later ones are refused. */
static void works_end(struct cpt_http *http)
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

void cpt_http_free(struct cpt_http *http)
{
    if (http == NULL) {
        return;
    }
    assert(loop_here == NULL);
    loop_here = http;
    close_loop(http);
    cpti_http_accepted_share(http, false);
    if (http->client != NULL) {
        cpti_http_client_cancel(http->client);
    }
    if (http->base != NULL) {
        /* libevent frees connections and look-ups in its loop. */
        (void)event_base_loop(http->base, EVLOOP_NONBLOCK);
    }
    cpti_http_servers_free(http);
    works_end(http);
    events_free(http);
    cpti_spares_deinit(&http->spares);
    cpti_http_inputs_deinit(http);
    loop_here = NULL;
    cpti_http_release(http);
}
