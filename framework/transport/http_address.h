/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_address.h - "http://host:port" taken apart */
#ifndef CPT_HTTP_ADDRESS_H
#define CPT_HTTP_ADDRESS_H

#include "cpt/cpt_alloc.h"

#include <stdbool.h>

/* Where a connection leads. */
struct cpti_address {
    char *text;        /* as the stub has it: its key */
    char *host;        /* without brackets */
    char *host_header; /* with them, and with the port unless it is 80 */
    uint16_t port;
    bool is_name; /* to be looked up, else a numeric address */
};

/*
 * Takes "http://host:port", "host:port", "http://[::1]/" … apart; without a port it is
 * 80. A path, a user or another scheme is refused.
 *
 * CPT_OK; CPT_INVALID; CPT_NO_MEMORY. After an error *@address is all 0.
 */
cpt_status cpti_address_init(struct cpti_address *address, const char *text,
                             const struct cpt_alloc *alloc);
void cpti_address_deinit(struct cpti_address *address, const struct cpt_alloc *alloc);

#endif
