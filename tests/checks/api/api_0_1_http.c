/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * api_0_1_http.c - what the headers of this part declare; see api_0_1.h
 */
#include <cpt/cpt_http.h>

#include "api_0_1.h"

/* --- cpt_http.h --- */

FIRST(struct cpt_http_options, struct_bytes, size_t *);
NEXT(struct cpt_http_options, struct_bytes, alloc, const struct cpt_alloc **);
NEXT(struct cpt_http_options, alloc, drain_ns, uint64_t *);
NEXT(struct cpt_http_options, drain_ns, idle_ns, uint64_t *);
NEXT(struct cpt_http_options, idle_ns, connection_count_max, size_t *);
NEXT(struct cpt_http_options, connection_count_max, waiting_count_max, size_t *);
NEXT(struct cpt_http_options, waiting_count_max, header_bytes_max, size_t *);
NEXT(struct cpt_http_options, header_bytes_max, body_bytes_max, size_t *);
NEXT(struct cpt_http_options, body_bytes_max, serves_counters, int *);
NEXT(struct cpt_http_options, serves_counters, counters_prefix, const char **);
NEXT(struct cpt_http_options, counters_prefix, accepted_count_max, size_t *);
NEXT(struct cpt_http_options, accepted_count_max, keeps_abandoned, int *);
FUNCTION(struct cpt_http *, cpt_http_new,
         (const struct cpt_http_options *, struct cpt_error *));
FUNCTION(void, cpt_http_free, (struct cpt_http *));
FUNCTION(struct cpt_executor *, cpt_http_executor, (struct cpt_http *));
FUNCTION(struct cpt_transport *, cpt_http_transport, (struct cpt_http *));
FUNCTION(cpt_status, cpt_http_listen,
         (struct cpt_http *, struct cpt_service *, const char *, uint16_t, uint16_t *,
          struct cpt_error *));
FUNCTION(cpt_status, cpt_http_run, (struct cpt_http *));
FUNCTION(void, cpt_http_stop, (struct cpt_http *));
FUNCTION(cpt_status, cpt_http_stop_on_signals, (struct cpt_http *, struct cpt_error *));
FUNCTION(void, cpt_http_counters,
         (struct cpt_http *, void (*)(void *, const struct cpt_counter *), void *));
