/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * place.h - where a service is, and one GET of its counters port
 *
 * libcurl asks (tool/store/fetch.h): a connection for each, with a deadline and a limit
 * of bytes. Only answers of status 200 are taken. No redirect is followed.
 */
#ifndef CPTI_CLI_PLACE_H
#define CPTI_CLI_PLACE_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    CPTI_GET_BYTES_MAX = 8 << 20, /* of an answer */
    CPTI_PLACE_BYTES = 72,        /* "https://[::1]:8001" */
    CPTI_PLACE_HOST_BYTES = 256
};

/* Where a service is: an address and a port. */
struct cpti_peer {
    struct sockaddr_storage address;
    socklen_t address_bytes;
    char text[CPTI_PLACE_BYTES];      /* numeric: equal places have equal texts */
    char host[CPTI_PLACE_HOST_BYTES]; /* as it was written, without brackets */
    bool is_loopback;
    bool is_tls;
};

/* Reads "HOST:PORT", perhaps after "http://" or "https://", where the port may be
 * absent, and before a '/'. Only if @asks_names, a host may be a name other than
 * localhost. CPT_OK; CPT_INVALID: it has no port; CPT_UNAVAILABLE: the host is not
 * known; with a sentence. */
cpt_status cpti_place_read(struct cpt_bytes text, bool asks_names,
                           struct cpti_peer *place, struct cpt_error *error);

/* What is asked of a service, and how. */
struct cpti_get {
    const char *path;
    unsigned timeout_ms;
    const char *ca_file; /* who signs certificates of services; NULL: the system's */
    const char *certificate_file; /* to be shown to them; NULL: none */
    const char *key_file;         /* NULL: it is in certificate_file */
};

/* --- place_get.c --- */

/*
 * The body of GET @get at @place, which the caller frees; a NUL follows it. CPT_OK;
 * CPT_UNAVAILABLE: no connection, no answer in time, or no libcurl; CPT_FAILED: another
 * status than 200, or a certificate that is not believed; CPT_CORRUPT: no answer of
 * HTTP; CPT_LIMIT: too long; CPT_NO_MEMORY; with a sentence.
 */
cpt_status cpti_place_get(const struct cpti_peer *place, const struct cpti_get *get,
                          char **body, size_t *bytes, struct cpt_error *error);

#endif
