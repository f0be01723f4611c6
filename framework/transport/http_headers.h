/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_headers.h - headers in evhttp's lists: counted, checked before they are sent */
#ifndef CPT_HTTP_HEADERS_H
#define CPT_HTTP_HEADERS_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

struct evkeyvalq;

/*
 * The number of headers @name; evhttp keeps repeated ones. *@first, unless @first is
 * NULL, is the value of the first, borrowed from @headers; its data is NULL if there is
 * none.
 */
unsigned cpti_http_headers_find(const struct evkeyvalq *headers, const char *name,
                                struct cpt_bytes *first);

/*
 * Adds @name with @value, unless that is empty or has a byte that no value may have (a
 * line end would begin another header). false without memory.
 */
bool cpti_http_headers_add(struct evkeyvalq *headers, const char *name,
                           struct cpt_bytes value, const struct cpt_alloc *alloc);

#endif
