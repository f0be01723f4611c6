/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * requests.h - lines of many hosts and files, joined by request id
 *
 *      events in any order --> parts, by a hash of the id --> each part joined and
 *      sorted --> merged --> requests, by the time of their first line, then by id
 *
 * What is added may be larger than memory: above `memory_bytes_max` it lies in a
 * private file (spill.h). The requests can be gone through as often as is wanted, each
 * time in the same order, whatever the order of adding was.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_REQUESTS_H
#define CPTI_REQUESTS_H

#include "import/events/event.h"

enum {
    CPTI_REQUEST_LINES_MAX = 100000, /* of one request; a longer one is left out */
    CPTI_KINDS_MAX = 4096 /* names of a service; the rest is CPTI_KIND_OTHER */
};

#define CPTI_KIND_OTHER "(other)"

/* One event of a request, in numbers; their texts: cpti_requests_text(). */
struct cpti_line {
    int64_t begin_ns;
    int64_t end_ns;
    uint64_t row;
    uint32_t service; /* of the names of services */
    uint32_t host;    /* of hosts; 0: unknown */
    uint32_t kind;    /* of kinds: a service and a name */
    uint32_t peer;    /* of services; 0: unknown */
    uint32_t unit;    /* number within the request, from 0; of lines of one service */
    uint32_t resolution_ns; /* at most a second */
    uint32_t input;
    unsigned char role; /* enum cpti_event_role */
    bool is_interval;
    bool has_unit; /* its line named it; else the unit is that of its service */
};

/* All that is known of one request. Borrowed until the next call. Lines are sorted by
 * begin_ns; equal ones longest first, then by host, outer order, input and row, of an
 * input that is newest first the last row in front. They may be changed in place, as
 * clocks do: the next time they are as they were. */
struct cpti_request {
    struct cpt_bytes id;
    struct cpti_line *lines;
    size_t count;                  /* at least 1 */
    const struct cpt_bytes *units; /* the text of each unit; empty: it has none */
    size_t unit_count;
};

/* What names are of. */
enum cpti_name_sort {
    CPTI_NAMES_SERVICE,
    CPTI_NAMES_HOST,
    CPTI_NAMES_KIND,
    CPTI_NAMES
};

struct cpti_requests_options {
    const struct cpt_alloc *alloc; /* NULL: malloc's */
    size_t memory_bytes_max;       /* of events; 0: 512 MiB */
    int (*open_file)(void); /* the descriptor of a private file, which is closed here;
                               * -1 with errno. NULL: memory is all there is */
};

/* What was added and left out. */
struct cpti_requests_counts {
    uint64_t events;
    uint64_t requests;
    uint64_t without_id;
    uint64_t
        impossible;    /* times before 2000 or after 2199, or no length up to a year */
    uint64_t far;      /* more than a day from the rest of their request */
    uint64_t too_long; /* requests above CPTI_REQUEST_LINES_MAX */
    uint64_t other_kinds; /* events whose name is one too many of its service */
};

struct cpti_requests;

/* NULL without memory. The caller owns it. */
struct cpti_requests *cpti_requests_new(const struct cpti_requests_options *options);
void cpti_requests_free(struct cpti_requests *requests);

/* Adds an event; one without an id, or with an impossible time, is only counted.
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT: above memory_bytes_max, without open_file; CPT_IO,
 * with errno: the private file cannot be written. */
cpt_status cpti_requests_add(struct cpti_requests *requests,
                             const struct cpti_event *event);

/* Begins to go through, at first or again; nothing can be added any more. Names get
 * their final numbers, in the order of their bytes, so they are the same whatever the
 * order of events was. CPT_OK; CPT_NO_MEMORY; CPT_LIMIT; CPT_IO. */
cpt_status cpti_requests_rewind(struct cpti_requests *requests);

/* The next request. CPT_OK; CPT_END; CPT_NO_MEMORY; CPT_IO. */
cpt_status cpti_requests_next(struct cpti_requests *requests,
                              struct cpti_request *request);

/* The text of a name, from the first rewind on; of a kind its name without the service.
 * Borrowed until the requests are freed. */
struct cpt_bytes cpti_requests_text(const struct cpti_requests *requests,
                                    enum cpti_name_sort which, uint32_t number);

/* How many names there are; of services and hosts number 0 is the unknown one. */
size_t cpti_requests_names(const struct cpti_requests *requests,
                           enum cpti_name_sort which);

/* The service that a kind is of. */
uint32_t cpti_requests_kind_service(const struct cpti_requests *requests,
                                    uint32_t kind);

const struct cpti_requests_counts *
cpti_requests_counts(const struct cpti_requests *requests);

#endif
