/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * about.h - what is in a file or folder, whatever its kind
 *
 *      FILE --> its kind --> records --> requests, evidence, services, times
 *
 * The work is bounded. A small file is read whole. Of a large path log the heads of all
 * blocks are read, which say how many records there are, and the records of three
 * parts: the first one, one in the middle, the last one. Of any other large file the
 * beginning is read.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_ABOUT_H
#define CPTI_CLI_ABOUT_H

#include "cpt/cpt_trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpti_command;

enum cpti_about_kind {
    CPTI_ABOUT_LOGS,
    CPTI_ABOUT_GRAPHS,
    CPTI_ABOUT_TREES,
    CPTI_ABOUT_KINDS
};

/* All files of one kind. */
struct cpti_about_sums {
    uint64_t files;
    uint64_t records;  /* also those that were not read */
    uint64_t read;     /* all below is of these */
    uint64_t requests; /* with those whose tracing was forced, and fragments */
    uint64_t plain;    /* requests that are neither and have a probability */
    uint64_t forced;
    uint64_t fragments;
    uint64_t nameless;   /* requests that entered at a service without a name */
    uint64_t inner;      /* records of inner services, no requests */
    uint64_t background; /* records of work after an answer, no requests either */
    /* of requests, by enum cpt_evidence; trees have none */
    uint64_t evidence[CPT_EVIDENCE_COUNT];
    uint64_t first_ns; /* Unix time; 0: not known */
    uint64_t last_ns;
    bool is_least; /* there are more records */
};

/* Of one service. */
struct cpti_about_counts {
    uint64_t entered;       /* requests */
    uint64_t entered_plain; /* `plain` ones */
    uint64_t records;       /* with those as an inner service */
    uint64_t plain;         /* neither forced nor fragments, with a probability */
    uint64_t forced;
    uint64_t fragments;
};

struct cpti_about_service {
    struct cpti_about_counts of[CPTI_ABOUT_KINDS];
};

/* Set `name`; the rest is zero at first. */
struct cpti_about {
    const char *name; /* a path, or "-" */
    bool is_folder;
    bool is_used_up; /* standard input or a pipe: nothing can read it again */
    bool is_spans;   /* its path log was made of them */
    bool has_spans;  /* a folder that has some, although it is none of spans */
    char *trees[2];  /* of a folder: the first and the last one */
    /* of a graph log of inner services: its folder, if requests are there */
    struct cpti_about *whole;
    char *whole_name;
    struct cpti_about_sums sums[CPTI_ABOUT_KINDS];
    struct cpt_names *names;             /* of services */
    struct cpti_about_service *services; /* by number of the name */
    size_t service_count, service_capacity;
    /* the present walk */
    enum cpti_about_kind kind;
    uint64_t start_bytes;
    uint64_t bytes_max; /* that it reads */
    uint64_t all_bytes; /* that were read before it */
    bool is_cut;        /* it ended for that */
};

/* Reads what is there; says what is wrong with it. @command reads it (messages name
 * it). enum cpti_exit; CPTI_EXIT_FAILED also if only some of it could be read. The
 * caller deinits @about in each case. */
int cpti_about_read(struct cpti_about *about, const struct cpti_command *command);
void cpti_about_deinit(struct cpti_about *about);

/* The kind of most interest that has files; of those that have records, if any. */
enum cpti_about_kind cpti_about_kind(const struct cpti_about *about);

#endif
