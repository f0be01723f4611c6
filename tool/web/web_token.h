/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_token.h - the secret in the address of a cpt web that others reach
 *
 *      http://10.0.0.5:8000/?token=6f1c…      Authorization: Bearer 6f1c…
 *
 * To an address that is neither loopback nor https, browsers do not say which page made
 * them ask (Sec-Fetch-Site), so only a secret tells the reader from a page of another
 * site. It is no cookie: browsers send those to each port of the host, and for each
 * page. It is kept in a file, so links work as long as the file is there:
 *
 *      FOLDER/.cpt-web-token      beside the first log; if that cannot be,
 *      STATE/cpt/web-token        STATE: $XDG_STATE_HOME, or ~/.local/state
 */
#ifndef CPTI_CLI_WEB_TOKEN_H
#define CPTI_CLI_WEB_TOKEN_H

#include "cpt/cpt_name.h"

#include <limits.h>
#include <stdbool.h>

enum { CPTI_WEB_TOKEN_BYTES = 32 }; /* hexadecimal digits */

struct cpti_web_token {
    char text[CPTI_WEB_TOKEN_BYTES + 1]; /* empty: none is needed */
    char path[PATH_MAX];                 /* its file; empty: it is not kept */
};

/* Reads the token that is kept for @operand, the first operand as it was typed, or
 * makes one. enum cpti_exit: a file that others can read, or that has no token, is
 * refused. */
int cpti_web_token_take(struct cpti_web_token *token, const char *operand);

/* Whether a request shows the token: in its @query, where the last one counts, or as
 * the header @authorization. Takes as long whatever is shown. */
bool cpti_web_token_is_shown(const struct cpti_web_token *token, struct cpt_bytes query,
                             struct cpt_bytes authorization);

#endif
