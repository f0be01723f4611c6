/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_tls_reload.c - certificates are read again, while the loop serves
 *
 *      cpt_http_reload_tls() --> loop --> thread reads all files --> loop takes them
 *
 * Reading files may block, so a thread does it, which lives as long as that takes. It
 * reads what does not change: the names of the files. Either all that was read is
 * taken, or, if one file is bad, nothing. A file must have been still for a second, as
 * one that is half written may look good; the thread waits for that.
 *
 * Who asks while the thread runs is served by another one after it.
 */
#include "framework/transport/http/client/http_client.h"
#include "framework/transport/http/loop/http_loop.h"
#include "framework/transport/http/server/http_peer.h"
#include "framework/transport/base/pem.h"

#include "framework/cpt_notice.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { CONTEXTS_MAX = 64 };

/* One reading of all files. The thread writes `status`, `error` and what was made; then
 * the loop thread reads them. */
struct cpti_tls_reload {
    struct cpt_work work;
    struct cpt_http *http;
    pthread_t thread;
    struct cpti_tls_context *contexts[CONTEXTS_MAX];
    struct cpti_tls_made made[CONTEXTS_MAX];
    size_t count;
    cpt_status status;
    struct cpt_error error;
    bool is_dropped;     /* the thread has ended, and what it refers to is freed */
    atomic_bool is_over; /* the loop ends: wait for nothing */
};

/* --- The thread --- */

/* Whether the files are still; else *@which is one that is being changed. */
static bool are_still(const struct cpti_tls_reload *reload, const char **which)
{
    for (size_t i = 0; i < reload->count; i++) {
        const struct cpti_tls_context *context = reload->contexts[i];
        const char *const files[] = {context->certificate_file, context->key_file,
                                     context->ca_file};

        for (size_t file = 0; file < sizeof files / sizeof files[0]; file++) {
            if (!cpti_pem_is_still(files[file])) {
                *which = files[file];
                return false;
            }
        }
    }
    return true;
}

/* Waits for those who write the files. */
static void await_still(struct cpti_tls_reload *reload)
{
    const char *which = NULL;
    int looks = 0;

    while (!are_still(reload, &which) && !atomic_load(&reload->is_over)) {
        if (++looks == CPTI_PEM_LOOKS) {
            reload->status = cpt_error_set(&reload->error, CPT_IO, 0,
                                           "%s: it is being changed", which);
            return;
        }
        cpti_pem_wait();
    }
}

static void *read_all(void *context)
{
    struct cpti_tls_reload *reload = context;

    await_still(reload);
    for (size_t i = 0; i < reload->count && reload->status == CPT_OK; i++) {
        reload->status = cpti_tls_context_read(reload->contexts[i], &reload->made[i],
                                               &reload->error);
    }
    (void)cpti_http_loop_post(reload->http, &reload->work);
    return NULL;
}

/* Signals are for the threads of the program. */
static bool start(struct cpti_tls_reload *reload)
{
    sigset_t all;
    sigset_t before;
    int failure = 0;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    failure = pthread_create(&reload->thread, NULL, read_all, reload);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure == 0;
}

/* --- Taking --- */

static void tell(struct cpt_http *http, const char *reason, const char *sentence)
{
    const struct cpt_target_options *options = &http->client->options;
    const struct cpt_notice notice = {.kind = CPT_NOTICE_SETTINGS,
                                      .reason = reason,
                                      .sentence = cpt_bytes_of(sentence),
                                      .count = 1};

    options->notify(options->notify_context, &notice);
}

static void refuse(struct cpt_http *http, const char *why)
{
    char sentence[CPT_ERROR_SENTENCE_BYTES + 64];

    cpti_http_count(http, CPTI_HTTP_COUNTER_tls_reloads_refused);
    (void)snprintf(sentence, sizeof sentence, "%s; the certificates before it stay",
                   why);
    tell(http, "refused", sentence);
}

static void take(struct cpti_tls_reload *reload)
{
    struct cpt_http *http = reload->http;

    cpti_http_set(http, CPTI_HTTP_COUNTER_tls_expires_unix_seconds, 0);
    for (size_t i = 0; i < reload->count; i++) {
        cpti_tls_context_take(reload->contexts[i], &reload->made[i]);
        reload->made[i].made = NULL;
        cpti_http_note_expiry(http, reload->contexts[i]);
    }
    cpti_http_count(http, CPTI_HTTP_COUNTER_tls_reloads);
    tell(http, "taken", "certificates were read");
}

static void reload_free(struct cpti_tls_reload *reload)
{
    for (size_t i = 0; i < reload->count; i++) {
        cpti_tls_made_free(&reload->made[i]);
    }
    cpt_alloc_free(reload->http->alloc, reload);
}

/* The thread has ended, or is about to. */
static void run_taken(struct cpt_work *work)
{
    struct cpti_tls_reload *reload = CPTI_CONTAINER(work, struct cpti_tls_reload, work);
    struct cpt_http *http = reload->http;

    if (reload->is_dropped) {
        reload_free(reload);
        return;
    }
    (void)pthread_join(reload->thread, NULL);
    http->tls_reload = NULL;
    if (reload->status == CPT_OK) {
        take(reload);
    } else {
        refuse(http, reload->error.sentence);
    }
    reload_free(reload);
    cpti_tls_reload_look(http);
}

/* --- The loop's part --- */

static void add(struct cpti_tls_reload *reload, struct cpti_tls_context *context)
{
    if (context != NULL && context->made != NULL && reload->count < CONTEXTS_MAX) {
        reload->contexts[reload->count++] = context;
    }
}

void cpti_tls_reload_look(struct cpt_http *http)
{
    struct cpti_tls_reload *reload = NULL;

    if (http->tls_reload != NULL || http->is_reload_over ||
        !atomic_load(&http->is_reload_asked) ||
        !atomic_exchange(&http->is_reload_asked, false)) {
        return;
    }
    reload = cpt_alloc_zeroed(http->alloc, sizeof *reload);
    if (reload == NULL) {
        refuse(http, "no memory to read certificates");
        return;
    }
    reload->http = http;
    reload->work.run = run_taken;
    add(reload, &http->calls_tls);
    for (size_t i = 0; i < CONTEXTS_MAX; i++) {
        add(reload, cpti_http_servers_tls(http, i));
    }
    if (reload->count == 0) {
        cpt_alloc_free(http->alloc, reload);
        return;
    }
    http->tls_reload = reload;
    if (!start(reload)) {
        http->tls_reload = NULL;
        reload_free(reload);
        refuse(http, "no thread to read certificates");
    }
}

void cpti_tls_reload_end(struct cpt_http *http)
{
    struct cpti_tls_reload *reload = http->tls_reload;

    http->is_reload_over = true;
    if (reload != NULL) {
        http->tls_reload = NULL;
        atomic_store(&reload->is_over, true);
        (void)pthread_join(reload->thread, NULL);
        reload->is_dropped = true; /* its work frees it */
    }
}
