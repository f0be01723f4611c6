/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_targets.h - which target a call goes to, if its stub has several
 *
 * The target of a stub may be a list, "http://b1:8080,http://b2:8080", or a name that
 * has several addresses, or both:
 *
 *      stub --> [ b1  b2  b3 ] --> the one of two, taken at random, that has fewer
 *                  |               calls in flight
 *                  | failures in a row
 *                  v
 *               ejected --time--> on probation: --success--> rising --time--> good
 *                  ^              one call at                more and more
 *                  '---failure--- a time                     calls
 *
 * A call that could not connect has not been sent, so it goes to another target at
 * once. Otherwise a call is not repeated unless its verb or its row says that it may be
 * (cpt_calls.h); a retry or a hedge goes to a target that was not tried, if there is
 * one.
 *
 * A failure is no connection, an answer that broke off, none in time, one of
 * RESOURCE_EXHAUSTED or UNAVAILABLE (503, 502), and a hedge that was faster. A target
 * whose answer closes a connection, though it kept others, is about to stop: it gets no
 * calls for a moment, then is on probation.
 *
 * If no target is fit, all are used. A stub with one target has no choice, and its
 * target is never ejected.
 *
 * Each loop (struct cpt_http) knows only what its own calls have met. This is of
 * cpt_http.h; cpt_grpc.h leaves the choice to gRPC.
 */
#ifndef CPT_TARGETS_H
#define CPT_TARGETS_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

struct cpt_notice;

enum {
    CPT_TARGETS_MAX = 64,              /* of a stub; addresses beyond are not used */
    CPT_TARGETS_TEXT_BYTES_MAX = 8192, /* of the list */
    CPT_TARGET_TRIES_MAX = 4           /* of a call that cannot connect */
};

/* For all stubs of a transport; see cpt_options_read(). A zero field means its default.
 */
struct cpt_target_options {
    size_t struct_bytes;
    unsigned failure_count_max;   /* in a row: then it is ejected; default 5 */
    uint64_t ejected_ns;          /* for how long, the first time; twice as long with
                                     each further failure; default 1 s … */
    uint64_t ejected_ns_max;      /* … up to this; default 60 s */
    unsigned ejected_percent_max; /* of the targets of a stub, rounded up; default 50 */
    uint64_t rising_ns;           /* until a target that returns, or is new in the
                                     answer of a name server, has its whole share;
                                     default 10 s */
    uint64_t resolve_ns;          /* names in use are looked up again; default 30 s */
    const char *check_path;       /* "/readyz": is asked of each target of stubs that
                                     have several and are in use. An answer other than
                                     200, or twice none, and it gets no new calls.
                                     Borrowed until cpt_http_free(). Default: none */
    uint64_t check_ns;            /* how often, more or less; default 1 s */
    uint64_t seed;                /* of all that is random; default: the system's */
    /* Is told when targets are ejected and return, once a second at most for each
     * reason; default: cpt_notice_print(). */
    void (*notify)(void *context, const struct cpt_notice *notice);
    void *notify_context;
};

CPT_END_DECLS

#endif
