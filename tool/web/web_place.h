/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_place.h - where cpt web listens, and the names that it has there
 *
 * A request whose Host is another name is refused, as a page of another site may have
 * pointed its own name here (DNS rebinding). An address that stands for all of this
 * machine's, 0.0.0.0 or ::, has the numbers of its interfaces as names.
 */
#ifndef CPTI_CLI_WEB_PLACE_H
#define CPTI_CLI_WEB_PLACE_H

#include <stdbool.h>

/* Names of a place; a machine that has more interfaces is reached by the first ones. */
enum { CPTI_WEB_HOSTS_MAX = 64, CPTI_WEB_HOST_BYTES = 64 };

struct cpti_web_place {
    const char *address; /* to listen on */
    bool is_loopback;    /* others do not reach it */
    const char
        *hosts[CPTI_WEB_HOSTS_MAX + 1]; /* ended by NULL; the first is @address */
    char texts[CPTI_WEB_HOSTS_MAX][CPTI_WEB_HOST_BYTES];
};

/* The place at the numeric @address, which is borrowed; NULL: 127.0.0.1. What is not
 * numeric is beyond loopback; to listen there will fail. */
void cpti_web_place_init(struct cpti_web_place *place, const char *address);

#endif
