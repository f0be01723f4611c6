/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * requests_inside.h - what the files of requests share
 *
 * The spill has two streams of each part: the events as they came, and its requests in
 * their order.
 */
#ifndef CPTI_REQUESTS_INSIDE_H
#define CPTI_REQUESTS_INSIDE_H

#include "import/events/event_names.h"
#include "import/events/requests.h"
#include "import/events/spill.h"

enum { REQUEST_PARTS = 256 /* streams from here on have requests */ };

/* An event as it came; its id and its unit are behind it, and up to 7 bytes more. */
struct came_event {
    int64_t begin_ns;
    int64_t end_ns;
    uint64_t row;
    uint32_t hash; /* of the id */
    uint32_t kind; /* numbers as names came */
    uint32_t host;
    uint32_t peer;
    uint32_t input;
    uint32_t outer_order;
    uint32_t resolution_ns; /* UINT32_MAX: open */
    unsigned char id_bytes;
    unsigned char unit_bytes;
    unsigned char role;
    bool is_interval;
};

/* How the points of one unit follow each other in an input, one right after another */
struct input_order {
    uint64_t unit; /* a hash of the last one; 0: it was none */
    int64_t last_ns;
    uint64_t later;
    uint64_t earlier;
};

/* A request; its lines are behind it, then the id, and each unit behind a byte that
 * says its length. */
struct joined_request {
    uint32_t bytes; /* of all, a multiple of 8 */
    uint32_t line_count;
    uint32_t unit_count;
    uint32_t id_bytes;
};

/* What is read of the requests of a part. */
struct part_reader {
    struct cpti_spill_cursor cursor;
    struct cpt_bytes chunk;            /* from `next` on */
    const struct joined_request *next; /* NULL: there is no more */
};

struct cpti_requests {
    struct cpti_requests_options options;
    struct cpti_requests_counts counts;
    struct cpti_spill *spill;
    struct cpti_event_names names;
    uint64_t seed;
    bool *is_fine; /* of each input: not all its times are whole ms */
    size_t input_capacity;
    struct input_order *orders; /* of each input */
    size_t order_capacity;
    bool is_joined;
    struct part_reader readers[REQUEST_PARTS];
    uint32_t heap[REQUEST_PARTS]; /* readers that have a request, the first one first */
    size_t heap_count;
    bool is_given;           /* the first of the heap was read */
    struct cpti_line *lines; /* of the request that was read last */
    size_t line_capacity;
    struct cpt_bytes *units;
    size_t unit_capacity;
};

/* Whether the lines of @input are newest first, as exports of searches are: nearly all
 * that follow another one of their unit are earlier. */
static inline bool cpti_input_is_reversed(const struct cpti_requests *requests,
                                          uint32_t input)
{
    enum { EARLIER_MIN = 20, TIMES_MIN = 20 };
    const struct input_order *order =
        input < requests->order_capacity ? &requests->orders[input] : NULL;

    return order != NULL && order->earlier >= EARLIER_MIN &&
           order->earlier / TIMES_MIN >= order->later;
}

/* The lines, and the id, of @request. */
static inline const struct cpti_line *joined_lines(const struct joined_request *request)
{
    return (const struct cpti_line *)(const void *)(request + 1);
}

static inline struct cpt_bytes joined_id(const struct joined_request *request)
{
    return (struct cpt_bytes){
        (const char *)(joined_lines(request) + request->line_count), request->id_bytes};
}

/* Whether @left comes before @right: by the time of the first line, then by id. */
bool cpti_joined_is_before(const struct joined_request *left,
                           const struct joined_request *right);

/* Joins the events of all parts. CPT_OK; CPT_NO_MEMORY; CPT_LIMIT; CPT_IO. */
cpt_status cpti_requests_join(struct cpti_requests *requests);

#endif
