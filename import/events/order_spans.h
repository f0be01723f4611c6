/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * order_spans.h - points in the order of time: who had the request when
 *
 *      web #12   web #15   shop #3   shop #9   web #20
 *      [ web: #12→#15 ][ ‹gap› ][ shop: #3→#9 ][ ‹gap› ]      path
 *      |==================== web =====================|       spans
 *                |-------- shop, as web saw it -------|
 *                          |====== shop ======|
 *
 * Each line is caused by the latest earlier one. The entry is the service of the first
 * line, and the request ends with the last line of that service: what comes later was
 * not waited for. Between two lines of one service it had the request; between lines of
 * two it is not known: a gap. Work that ran beside it cannot be seen.
 *
 * Threads: any, on objects of their own.
 */
#ifndef CPTI_ORDER_SPANS_H
#define CPTI_ORDER_SPANS_H

#include "import/events/event_traces.h"

struct cpt_path;

/* Makes spans of the lines of @request by a stack of services: a line of one that is on
 * it pops to it, of any other pushes it. How many: the first one is the entry. @spans
 * has room for two of each line, @stack for one number of each. */
size_t cpti_order_spans(const struct cpti_request *request, uint32_t *stack,
                        struct cpti_inferred_span *spans);

/* Appends the path of @request to @path, which is empty. Its sum is the time from the
 * first line to the last one of the entry. The frame of a visit is called after its
 * first line, and hangs below that of its caller; the time between two of its lines is
 * a frame "service: a→b" below it. The time between lines of two services is a frame
 * "a→b" of CPT_KIND_GAP below the visit of the callee.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT. After an error, discard @path. */
cpt_status cpti_order_path(const struct cpti_requests *requests,
                           const struct cpti_request *request, struct cpt_path *path);

#endif
