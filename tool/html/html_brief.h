/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * html_brief.h - the brief rows of the HTML report, and the sums of those left out
 *
 *      "names": [[text, service, kind], …]
 *      "brief": [[parent, name, self_ns, inclusive_ns], …]       of one tree
 *               [[parent, name, base self, base incl, new self, new incl,
 *                 delta_ns, low_ns, high_ns, q, is lost, doubt], …]  of two
 *      "doubts": ["", "one side has …", …]      what the numbers of doubts mean
 *      "rest":  [[parent, count, inclusive_ns of each side …], …]
 *
 * A row of 40 bytes instead of 800, so that a page can have a hundred thousand. Their
 * numbers follow those of the full rows; a parent comes before its children. A time is
 * null where the side lacks the stack; "is lost" is 1 if it lost the critical path.
 */
#ifndef CPTI_CLI_HTML_BRIEF_H
#define CPTI_CLI_HTML_BRIEF_H

#include "tool/table/json_write.h"

struct cpti_html_rows;

/* Writes them. false without memory, before anything is written. */
bool cpti_html_brief(struct cpti_json *json, const struct cpti_html_rows *rows);

#endif
