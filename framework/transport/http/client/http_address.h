/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_address.h - parses "http://host:port" and "https://host:port" */
#ifndef CPT_HTTP_ADDRESS_H
#define CPT_HTTP_ADDRESS_H

#include "cpt/cpt_alloc.h"

#include <stdbool.h>

enum { CPTI_HTTP_ADDRESS_TEXT_MAX = 512 };

/* Where a connection leads to. */
struct cpti_http_address {
    char *text;        /* as the stub has it */
    char *host;        /* without brackets */
    char *host_header; /* with them, and with the port unless it is the default */
    uint16_t port;
    char *number; /* what is connected to, if host is a name that was looked up */
    bool is_name; /* host must be looked up; else a numeric address */
    bool is_tls;  /* https */
};

/*
 * Parses "http://host:port", "host:port", "https://[::1]/" …; the default port is 80,
 * or 443. A path, a user or another scheme is refused.
 *
 * CPT_OK; CPT_INVALID; CPT_NO_MEMORY. After an error *@address is all 0.
 */
cpt_status cpti_http_address_init(struct cpti_http_address *address, const char *text,
                                  const struct cpt_alloc *alloc);

/*
 * Sets *@address to that of the target @from, whose host is a name with the address
 * @number; NULL: it is a number itself. CPT_OK; CPT_NO_MEMORY: *@address is all 0.
 */
cpt_status cpti_http_address_number(struct cpti_http_address *address,
                                    const struct cpti_http_address *from,
                                    const char *number, const struct cpt_alloc *alloc);

void cpti_http_address_deinit(struct cpti_http_address *address,
                              const struct cpt_alloc *alloc);

#endif
