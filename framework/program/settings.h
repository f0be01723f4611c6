/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* settings.h - what flags and environment say about a service: settings.c */
#ifndef CPT_PROGRAM_SETTINGS_H
#define CPT_PROGRAM_SETTINGS_H

#include "framework/cpt_service_main.h"

#include <stdbool.h>

enum {
    SETTINGS_NETWORKS_MAX = 64,
    SETTINGS_HOST_BYTES = 64,
    SETTINGS_LIST_BYTES = 4096,
    SETTINGS_SIZE_BYTES = 32
};

struct cpti_settings {
    char host[SETTINGS_HOST_BYTES]; /* numeric */
    uint16_t port;
    char operators_host[SETTINGS_HOST_BYTES]; /* empty: there is no such port */
    uint16_t operators_port;
    const char *file;      /* that is watched, cpt_settings.h; NULL: none */
    uint64_t unready_ns;   /* 0: not said */
    double probability;    /* as in struct cpt_service_options; 0: not said */
    const char *log;       /* NULL: none */
    const char *spans;     /* NULL: none */
    uint64_t kept_bytes;   /* of each log: older files are removed; 0: all are kept */
    bool keeps_graphs;     /* beside the log, … */
    unsigned graph_every;  /* K: of one in K; 0: of those that are asked for */
    unsigned worker_count; /* 0: not said */
    bool serves_counters;
    const char
        *networks[SETTINGS_NETWORKS_MAX + 1]; /* in network_text; NULL: the end */
    char network_text[SETTINGS_LIST_BYTES];
    const char *tls_certificate; /* NULL: no TLS */
    const char *tls_key;
    const char *tls_clients;           /* who signs certificates of clients */
    bool requires_clients;             /* those without one are refused */
    const char *tls_ca;                /* who signs those of services that are called */
    char to_text[SETTINGS_LIST_BYTES]; /* the targets of stubs are in it */
    char operators_of_text[SETTINGS_LIST_BYTES]; /* and where their services tell
                                                    operators of them */
};

/*
 * Reads them, and sets the targets of stubs. 1: done; 0: --help or --version was
 * printed; -1: one is wrong, which was said on standard error.
 */
int cpti_settings_read(struct cpti_settings *settings, int argc, char **argv,
                       const struct cpt_main_options *options);

/* A size as --log-keep takes it, "4GiB"; @bytes are what it was read from. */
void cpti_settings_size(uint64_t bytes, char text[SETTINGS_SIZE_BYTES]);

#endif
