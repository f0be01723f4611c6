/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_targets.h - what the tests of several targets share: http_targets.c,
 * http_names.c */
#ifndef HTTP_TARGETS_H
#define HTTP_TARGETS_H

#include "http_support.h"

#include "framework/cpt_calls.h"
#include "framework/transport/cpt_targets.h"

#define A_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
#define B_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb"
#define BUSY    "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"

enum { PATIENCE_MS = 20000 };

/* Notices that were told: how many of each reason. */
struct told {
    atomic_uint ejected;
    atomic_uint returned;
    atomic_uint unready;
    atomic_uint ready;
};

/* With a seed, and notices counted in @told. */
struct cpt_target_options options_of(struct told *told);

/* Runs @row, which decodes by take_letter(): the first letter of its answer, or '!'. */
char run_row(struct test_loop *loop, struct cpt_call_row *row);
cpt_status take_letter(struct cpt_task *task, const struct cpt_call_reply *reply);

#endif
