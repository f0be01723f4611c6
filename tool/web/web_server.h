/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_server.h - the site on the transport of framework/, with threads of its own
 *
 *      connection --> loop thread --+--> answers at once
 *                                   '--> [ ready ] --> worker --> answer
 *                                            ^            |
 *                                     [ needs a pass ] <--'   one pass at a time
 *      watching thread: have files changed?
 *
 * One of two workers at most reads files; the other one answers what needs no reading.
 * So a long pass holds up neither the page nor views that are known.
 */
#ifndef CPTI_CLI_WEB_SERVER_H
#define CPTI_CLI_WEB_SERVER_H

#include <stddef.h>
#include <stdint.h>

struct cpti_web_whatif;

struct cpti_web_options {
    const char *const *operands;
    size_t operand_count;
    const char *first_word; /* the first operand as it was typed */
    const char *address;    /* NULL: loopback */
    uint16_t port;          /* 0: any that is free */
    size_t cache_bytes;
    const struct cpti_web_whatif *whatif; /* kept graphs; NULL: none */
};

/* Serves until SIGTERM or SIGINT. enum cpti_exit. */
int cpti_web_serve(const struct cpti_web_options *options);

#endif
