/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * html_page.h - one HTML file made of the parts in html/ and the data
 *
 * The parts are written by hand (html/page.html, page.css, page*.js);
 * cmake/CptEmbed.cmake compiles them in. The page loads no script, style or font; its
 * policy lets the live page ask the server that it came from, and nothing else.
 *
 *      page.html   {{connect}} <style>{{css}}</style> {{data}} <script>{{js}}</script>
 *
 * Data from outside enters as JSON in a <script> that is never run. In it '<', '>',
 * '&', U+2028 and U+2029 are written as \u003c and so on: in JSON they occur only
 * within strings, where the escape means the same. So no name can end the script, open
 * a comment or become markup.
 */
#ifndef CPTI_CLI_HTML_PAGE_H
#define CPTI_CLI_HTML_PAGE_H

#include "cpt/cpt_name.h"

#include <stddef.h>
#include <stdio.h>

/* Writes @title as text of HTML. */
void cpti_html_text(FILE *file, const char *title);

/* Writes @json so that it can stand in a <script>. */
void cpti_html_json(FILE *file, const char *json, size_t bytes);

/* Writes the page with its data inside; it may not use the network. */
void cpti_html_page(FILE *file, const char *title, const char *json, size_t bytes);

/* Writes the page without data: it asks its own server for /api/…. */
void cpti_html_live(FILE *file);

/* Writes a page that says what was wrong with what a form sent, with a link to @home,
 * an address; NULL: without. */
void cpti_html_error(FILE *file, struct cpt_bytes sentence, const char *home);

#endif
