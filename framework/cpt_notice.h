/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_notice.h - what services and logs tell their operator
 *
 * A request that fails, one that is refused because too much is in flight or because
 * HTTP itself forbids it (but 404), and records that are lost to the log are counted,
 * and told by a callback. The default callback
 * prints a line to standard error:
 *
 *      cpt: A: / failed with 504 (deadline): the request took too long: task 'A: ask'
 *      waited for 'B: /look', the deadline was 20 ms; 37 more like it
 *
 * Each reason is told once a second at most (notices_per_second_max of struct
 * cpt_service_options); the next notice of the same reason, or the drain of the
 * service, says how many were left out. A log tells once a second at most, and when it
 * is closed.
 *
 * The reason is a word that stays the same in all versions; the sentence is for people,
 * and may change. Neither has anything of the bodies of requests and replies, but what
 * the application itself has given to cpt_fail().
 *
 * Threads: a callback runs on the thread that ended the request, or on any that logs;
 * no lock is held. It must not block.
 */
#ifndef CPT_NOTICE_H
#define CPT_NOTICE_H

#include "cpt/cpt_name.h"

CPT_BEGIN_DECLS

enum cpt_notice_kind {
    CPT_NOTICE_FAILURE = 1,  /* a request failed: its answer is 5xx, or none was made */
    CPT_NOTICE_REFUSAL = 2,  /* a request was refused before it began */
    CPT_NOTICE_LOG_LOSS = 3, /* records are lost: they will not be in the log */
    CPT_NOTICE_SETTINGS = 4, /* a file of settings was read: cpt_settings.h */
    CPT_NOTICE_TARGET =
        5 /* a target of a stub gets no calls, or again: cpt_targets.h */
};

/* Why a request failed; the word of each stands behind it. Numbers never change. */
enum cpt_failure {
    CPT_FAILURE_DEADLINE = 1,  /* "deadline": it took longer than it may */
    CPT_FAILURE_CANCELLED = 2, /* "cancelled": its caller left */
    CPT_FAILURE_MEMORY = 3,    /* "memory": it may not take more */
    CPT_FAILURE_BUSY = 4,      /* "busy": all requests together may not */
    CPT_FAILURE_CALLEE = 5,    /* "callee": a call of it failed */
    CPT_FAILURE_TASK = 6,      /* "task": what it did itself failed */
    CPT_FAILURE_STUCK = 7,     /* "stuck": nothing could go on with it */
    CPT_FAILURE_ANSWER = 8     /* "answer": no more is known than its status */
};

/* What stands in the record of a failed request, beside what the application noted. */
#define CPT_ATTRIBUTE_FAILURE "failure"     /* the reason */
#define CPT_ATTRIBUTE_WHY     "failure.why" /* the sentence */

/* One notice. Borrowed until the callback returns. */
struct cpt_notice {
    unsigned kind;            /* enum cpt_notice_kind; later versions may have more */
    unsigned http_status;     /* what was answered; 0: nothing, or of a log, or of what
                                 the rate left out, when the service is drained */
    struct cpt_bytes service; /* empty: of a log or a target */
    struct cpt_bytes method;  /* as it came in; empty: not known */
    /* A failure: "deadline", "cancelled", "memory", "busy", "callee", "task", "stuck",
     * "answer". A refusal: "busy", "memory", and by HTTP itself "malformed", "large",
     * "verb", "foreign", "slow", "full", "clients", "unread". A log: "queue", "sink",
     * "closed", "file", "record". Settings: "taken", "refused", "ended",
     * "experiment". A target: "ejected", "returned", "unready", "ready". */
    const char *reason;
    struct cpt_bytes sentence; /* any bytes: escape it for a terminal */
    uint64_t count;            /* of requests or records that it tells of */
    uint64_t untold_count;     /* of those since the last notice of this reason, which
                                  the rate left out; not part of `count` */
    const char *outcome; /* over gRPC the name of what was answered: "NOT_FOUND"; NULL:
                            http_status says it */
};

typedef void (*cpt_notice_fn)(void *context, const struct cpt_notice *notice);

/*
 * The default callback: a line to standard error, escaped. It never waits, and raises
 * no signal; what standard error does not take at once is dropped. Prints nothing if
 * standard error is closed, or is a connection. @context is ignored.
 */
CPT_API void cpt_notice_print(void *context, const struct cpt_notice *notice);

CPT_END_DECLS

#endif
