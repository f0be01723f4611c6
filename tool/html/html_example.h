/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * html_example.h - one request as the page draws it over time, as JSON
 *
 *      {"start": "2026-…Z", "latency_ns": 41699311, "entry": "A: /", "status": "200",
 *       "remarks": "probability 1, random", "metadata": "arm=control",
 *       "frames":   [[parent or -1, text, service, kind], …],
 *       "segments": [[frame, duration_ns, remark if any], …], "rest_ns": 0}
 */
#ifndef CPTI_CLI_HTML_EXAMPLE_H
#define CPTI_CLI_HTML_EXAMPLE_H

#include "tool/table/json_write.h"
#include "tool/print/record_copy.h"

/* The most segments, and frames, of an example; the time beyond them is rest_ns. */
enum { CPTI_HTML_SEGMENTS_MAX = 4000 };

/* Writes the object, or null if @kept is NULL. */
void cpti_html_example(struct cpti_json *json, const char *key,
                       const struct cpti_record_copy *kept);

#endif
