/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * html_brief.h - the brief rows of the HTML report, and the sums of those left out
 *
 *      "names": [[text, service, kind], …]
 *      "brief": [[parent, name, self_ns, inclusive_ns], …]       of one tree
 *               [[parent, name, base self, base incl, new self, new incl,
 *                 delta_ns, low_ns, high_ns, q, flags], …]       of two
 *      "rest":  [[parent, count, inclusive_ns of each side …], …]
 *
 * A row of 40 bytes instead of 800, so that a page can have a hundred thousand. Their
 * numbers follow those of the full rows; a parent comes before its children. A time is
 * null where the side lacks the stack. flags: 1 rare, 2 lost the critical path.
 */
#ifndef CPTI_CLI_HTML_BRIEF_H
#define CPTI_CLI_HTML_BRIEF_H

#include "cpt/cli/base/json_write.h"

struct cpti_html_rows;

enum { CPTI_HTML_FLAG_RARE = 1, CPTI_HTML_FLAG_LOST = 2 };

/* Writes the three. false without memory, before anything is written. */
bool cpti_html_brief(struct cpti_json *json, const struct cpti_html_rows *rows);

#endif
