/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_site.h - what cpt web answers, apart from threads and transport
 *
 *      /                 the page               at once
 *      /api/summary      what the files hold    at once
 *      /api/complete     completion             at once
 *      /api/view         a view                 from the cache, or after a pass
 *      /api/records      a list of requests     after a pass
 *      /api/record       one request            after a pass
 *      /api/whatif       kept graphs            from memory
 *      /whatif           these with sliders     from memory
 *
 * A pass reads the files. An error is an object with the sentence that the command line
 * would print.
 *
 * Threads: any; cpti_web_site_watch() on one.
 */
#ifndef CPTI_CLI_WEB_SITE_H
#define CPTI_CLI_WEB_SITE_H

#include "cpt/cpt_name.h"

#include <stdatomic.h>
#include <stdbool.h>

struct cpti_web_site;
struct cpti_web_whatif;

struct cpti_web_answer {
    unsigned status;  /* of HTTP */
    const char *type; /* of the content; static */
    char *body;       /* of malloc() */
    size_t bytes;
};

/* The site of @operands, which are borrowed, with a cache of @cache_bytes. NULL with
 * the error printed. */
struct cpti_web_site *cpti_web_site_new(const char *const *operands, size_t count,
                                        size_t cache_bytes);
void cpti_web_site_free(struct cpti_web_site *site);

/* Kept graphs, which outlive the site; before any answer. NULL: none. */
void cpti_web_site_graphs(struct cpti_web_site *site,
                          const struct cpti_web_whatif *whatif);

/* The token of the address (web_token.h), which outlives the site: links of pages carry
 * it. Before any answer; without it there is none. */
void cpti_web_site_token(struct cpti_web_site *site, const char *token);

/* Answers what needs no pass and no writing of a view. False: it needs one. */
bool cpti_web_site_at_once(struct cpti_web_site *site, struct cpt_bytes path,
                           struct cpt_bytes query, struct cpti_web_answer *answer);

/* Answers the rest. False: it needs a pass, which @may_pass does not allow. A pass ends
 * early when *@is_unwanted becomes true. */
bool cpti_web_site_answer(struct cpti_web_site *site, struct cpt_bytes path,
                          struct cpt_bytes query, bool may_pass,
                          const atomic_bool *is_unwanted,
                          struct cpti_web_answer *answer);

/* The answer to a request for @path without the token: a page, or data. */
void cpti_web_site_forbid(struct cpt_bytes path, struct cpti_web_answer *answer);

/* An answer with an error, whose sentence is static. */
void cpti_web_site_refuse(struct cpti_web_answer *answer, unsigned status,
                          const char *sentence);

/* Looks whether files have changed, and reads them if so, unless *@is_unwanted becomes
 * true. */
void cpti_web_site_watch(struct cpti_web_site *site, const atomic_bool *is_unwanted);

#endif
