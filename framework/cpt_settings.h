/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_settings.h - what an operator changes while services serve, from a file
 *
 *      # /etc/shop/cpt.conf
 *      tracing = on               off: the kill switch, until the line says on
 *      probability = 0.01         of the coin, 0 to 1
 *      trust = 10.8.0.0/16, ::1   who may ask an entry for a path: networks, names of
 *                                 certificates as in cpt_rpc.h; or none
 *      tenant = x-tenant          the header that names the tenant
 *      rule slow = owner sre; until 2027-06-30; latency > 250ms
 *                                 docs/sampling.md has what a rule may say; a rule that
 *                                 has ended is off, and a notice says so (reason
 *                                 "ended")
 *      glance_bytes = 256         what callees may answer with, of requests that only
 *      whole_rate = 10/s          rules about their end trace; and when those ask for
 *      whole_time = 60s           all
 *      experiment = delta 5ms; guard 250ms; frames all; each 60s; for 1800s
 *                                 delays tasks of some traced requests, to measure what
 *                                 that costs: docs/experiments.md; or off
 *      experiment_asked = delta 5ms; rate 100/s
 *                                 obeys callers whose experiment is with its tasks
 *
 *      graph = 100                one in 100 traced requests is kept whole; 0: none
 *      graph_rate = 100/s         the limit of those that callers ask for
 *      drag = 0.1                 a share of them asks for drags
 *
 * A line is a key, '=' and a value; '#' begins a comment. A key that is not there is
 * as the program set it, but for `tracing`: a file without a line `tracing = on` never
 * switches tracing on, whether this file or the program had switched it off.
 *
 * A file that is bad - an unknown key, one twice, a value that makes no sense, more
 * than 64 KiB - changes nothing at all: the settings before it go on, and a notice says
 * line and reason. So does a file that is gone, and one that may have been cut short:
 * an empty one, one whose last line has no line end, one with a NUL byte. (If no file
 * was good yet, a line `tracing = off` of a bad one is obeyed: a restart must not lift
 * the kill switch.) Experiments
 * alone end with a file that is bad or gone; with one whose lines of them are as
 * before, they go on, or stay stopped.
 *
 * A thread of its own reads the file, at first in cpt_settings_new(), then once in each
 * period_ns, and when it is told; requests are never delayed. What has not changed is
 * not taken again, so what cpt_service_enable() sets stays until the file changes.
 * Two descriptors are kept back for it, for when the process has none left.
 *
 * Replace the file by renaming another one onto it: that is taken when it is read. One
 * that is changed in place, or appears where there was none, is taken once it was still
 * for a second, as its writer may not be done; after ten seconds without that, a notice
 * says so. Only the kill switch is obeyed at once however it comes: a file whose one
 * setting is `tracing = off`, also without its line end.
 *
 * Threads: cpt_settings_check() from any, also in a signal handler.
 */
#ifndef CPT_SETTINGS_H
#define CPT_SETTINGS_H

#include "cpt/cpt_alloc.h"
#include "cpt_notice.h"

CPT_BEGIN_DECLS

struct cpt_service;
struct cpt_settings;

enum { CPT_SETTINGS_BYTES_MAX = 64 << 10, CPT_SETTINGS_SERVICES_MAX = 64 };

/* See cpt_options_read(). */
struct cpt_settings_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    const char *path;                    /* need not be there yet */
    struct cpt_service *const *services; /* they must outlive it */
    size_t service_count;
    uint64_t period_ns;   /* default 1 s */
    cpt_notice_fn notify; /* default: cpt_notice_print(), on its thread */
    void *notify_context;
};

/*
 * Reads the file and goes on watching it. A bad file is no error: the services go on
 * with what the program set, and a notice says so.
 *
 * NULL with the reason: CPT_INVALID (no path, no service), CPT_LIMIT, CPT_NO_MEMORY,
 * CPT_IO (no thread).
 */
CPT_API struct cpt_settings *
cpt_settings_new(const struct cpt_settings_options *options, struct cpt_error *error);

/* Reads the file soon, without waiting for the period: for a handler of SIGHUP. */
CPT_API void cpt_settings_check(struct cpt_settings *settings);

/* Ends the thread. The settings stay as they are. NULL is fine. */
CPT_API void cpt_settings_free(struct cpt_settings *settings);

CPT_END_DECLS

#endif
