/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_kinds.h - what recurs in a line: its text without what differs each time
 *
 *      Reserved 3 seats of train "G12" (id=77)  -->  Reserved * seats of train * (*)
 *      GET /users/7f3a09c1/cart?x=1             -->  GET /users/X/cart, X being '*'
 *
 * Words with a digit, long hexadecimal ones, what is quoted or in brackets, and the
 * value of key=value become '*'; the rest is cut at 60 bytes. Threads: any.
 */
#ifndef CPTI_EVENT_KINDS_H
#define CPTI_EVENT_KINDS_H

#include "cpt/cpt_name.h"

enum { CPTI_KIND_BYTES_MAX = 60 };

/* The kind of @text, in @room. */
struct cpt_bytes cpti_kind_of_text(struct cpt_bytes text,
                                   char room[CPTI_KIND_BYTES_MAX]);

/* The kind of a request for @url with @method, which may be empty, in @room. */
struct cpt_bytes cpti_kind_of_url(struct cpt_bytes method, struct cpt_bytes url,
                                  char room[CPTI_KIND_BYTES_MAX]);

#endif
