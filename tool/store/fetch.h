/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fetch.h - one GET, for `cpt wait` and `cpt graph`
 *
 * It is here since libcurl is, by which the tool speaks HTTP and TLS.
 */
#ifndef CPTI_STORE_FETCH_H
#define CPTI_STORE_FETCH_H

#include "cpt/cpt_name.h"

struct cpti_fetch {
    const char *url; /* "https://localhost:8443/cpt/requests" */
    const char
        *connect_to; /* "::127.0.0.1:8443": where to connect, whatever `url` is */
    unsigned timeout_ms;
    size_t bytes_max;             /* of the body */
    const char *ca_file;          /* who signs certificates; NULL: the system's */
    const char *certificate_file; /* our own; NULL: none */
    const char *key_file;         /* NULL: in that file */
    unsigned status;              /* out: of HTTP; 0: there was no answer */
};

/*
 * Sets @body, which the caller frees by free(), and a NUL behind it. No redirect is
 * followed, no proxy used. CPT_OK, whatever the status is; CPT_UNAVAILABLE: no libcurl,
 * no connection, no answer in time; CPT_FAILED: a certificate is not believed, or
 * wanted; CPT_LIMIT; CPT_CORRUPT; CPT_NO_MEMORY; with a sentence.
 */
cpt_status cpti_fetch(struct cpti_fetch *fetch, char **body, size_t *bytes,
                      struct cpt_error *error);

#endif
