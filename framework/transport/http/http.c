/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http.c - the transport as a whole: its options, made, run, drained, freed
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
#include "framework/transport/http/client/http_client.h"
#include "framework/transport/http/server/http_health.h"
#include "framework/transport/http/message/http_input.h"
#include "framework/transport/http/loop/http_loop.h"

#include "framework/cpt_running.h"
#include "wire/cpt_metadata.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* After drain_ns, requests that were cut off get this long to reply so. */
#define CUT_NS (CPTI_NS_PER_S / 4)

#define DRAIN_DEFAULT_NS  (5 * CPTI_NS_PER_S)
#define IDLE_DEFAULT_NS   (60 * CPTI_NS_PER_S)
#define HEADER_DEFAULT_NS (20 * CPTI_NS_PER_S)
#define BODY_DEFAULT_NS   (30 * CPTI_NS_PER_S)

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

    (void)descriptor;
    (void)what;
    cpti_http_loop_turn(http);
    cpti_tls_reload_look(http);
    if (atomic_load(&http->is_stop_asked) && !http->is_draining) {
        (void)event_base_loopbreak(http->base);
    }
}

void cpt_http_reload_tls(struct cpt_http *http)
{
    atomic_store(&http->is_reload_asked, true);
    cpti_http_loop_wake(http);
}

void cpt_http_stop(struct cpt_http *http)
{
    if (atomic_exchange(&http->is_stop_asked, true)) {
        atomic_store(&http->is_hurried, true);
    }
    cpti_http_loop_wake(http);
}

static void signals_free(struct cpt_http *http)
{
    for (size_t i = 0; i < 2; i++) {
        if (http->signals[i] != NULL) {
            event_free(http->signals[i]);
            http->signals[i] = NULL;
        }
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

static void servers_free(struct cpt_http *http)
{
    cpti_tls_reload_end(http);
    cpti_http_servers_free(http);
}

static void on_drain_over(struct cpt_timer *timer)
{
    CPTI_CONTAINER(timer, struct cpt_http, drain_timer)->is_drain_over = true;
}

static bool is_idle(struct cpt_http *http)
{
    return !cpti_http_loop_has_works(http) && http->exchange_count == 0 &&
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

    cpti_http_loop_set_here(http);
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
    cpti_http_loop_close(http);
    cpti_http_client_cancel(http->client);
    if (!is_idle(http)) {
        drain(http, CUT_NS);
    }
    has_finished = is_idle(http);
    servers_free(http);
    signals_free(http);
    (void)event_base_loop(http->base, EVLOOP_NONBLOCK);
    cpti_http_loop_set_here(NULL);
    sigpipe_restore(was_blocked);
    return has_finished ? CPT_OK : CPT_TIMEOUT;
}

/* --- Making and freeing --- */

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

struct cpt_http *cpt_http_new(const struct cpt_http_options *options,
                              struct cpt_error *error)
{
    struct cpt_http_options own;
    struct cpt_http *http = NULL;

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
    http->transport = (struct cpt_transport){.name = "http",
                                             .send = cpti_http_client_send,
                                             .cancel = cpti_http_client_cancel_call};
    http->accepted.text.alloc = http->alloc;
    http->reference_count = 1;
    http->client =
        cpti_http_loop_init(http, on_wake) ? cpti_http_client_new(http) : NULL;
    if (http->client == NULL) {
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
    cpti_http_note_expiry(http, &http->calls_tls);
    return http;
}

void cpt_http_free(struct cpt_http *http)
{
    if (http == NULL) {
        return;
    }
    assert(cpti_http_loop_here() == NULL);
    cpti_http_loop_set_here(http);
    cpti_http_loop_close(http);
    cpti_http_accepted_share(http, false);
    if (http->client != NULL) {
        cpti_http_client_cancel(http->client);
    }
    if (http->base != NULL) {
        /* libevent frees connections and look-ups in its loop. */
        (void)event_base_loop(http->base, EVLOOP_NONBLOCK);
    }
    servers_free(http);
    cpti_http_loop_finish(http);
    cpti_http_client_free(http->client);
    cpti_tls_context_deinit(&http->calls_tls);
    signals_free(http);
    cpti_http_loop_deinit(http);
    cpti_spares_deinit(&http->spares);
    cpti_http_inputs_deinit(http);
    cpti_http_loop_set_here(NULL);
    cpti_http_release(http);
}
