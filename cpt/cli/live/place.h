/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * place.h - where a service is, and one GET of its counters port
 *
 * A connection for each, with a deadline and a limit of bytes. Only answers of status
 * 200 with a Content-Length, or that end with the connection, are taken: services of
 * cpt send no others here. No redirect is followed.
 */
#ifndef CPTI_CLI_PLACE_H
#define CPTI_CLI_PLACE_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    CPTI_GET_BYTES_MAX = 8 << 20, /* of an answer, with its head */
    CPTI_PLACE_BYTES = 64         /* "[::1]:8001" */
};

/* Where a service is: an address and a port. */
struct cpti_place {
    struct sockaddr_storage address;
    socklen_t address_bytes;
    char text[CPTI_PLACE_BYTES]; /* numeric: equal places have equal texts */
    bool is_loopback;
};

/* Reads "HOST:PORT", perhaps after "http://" and before a '/'. Only if @asks_names, a
 * host may be a name other than localhost. CPT_OK; CPT_INVALID: it has no port;
 * CPT_UNAVAILABLE: the host is not known, or it is https; with a sentence. */
cpt_status cpti_place_read(struct cpt_bytes text, bool asks_names,
                           struct cpti_place *place, struct cpt_error *error);

/*
 * The body of GET @path at @place, which the caller frees. CPT_OK; CPT_UNAVAILABLE: no
 * connection, or no answer within @timeout_ms; CPT_FAILED: another status than 200;
 * CPT_CORRUPT: no answer of HTTP; CPT_LIMIT: too long; CPT_NO_MEMORY; with a sentence.
 */
cpt_status cpti_place_get(const struct cpti_place *place, const char *path,
                          unsigned timeout_ms, char **body, size_t *bytes,
                          struct cpt_error *error);

#endif
