/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* html_report.h - cpt report --html: the report as one file for a browser */
#ifndef CPTI_CLI_HTML_REPORT_H
#define CPTI_CLI_HTML_REPORT_H

struct cpti_arguments;

/* Reads the operands and writes the file that --html names; --base and --new make it
 * compare two selections. enum cpti_exit. */
int cpti_html_report(const struct cpti_arguments *arguments);

#endif
