/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* nesting_inside.h - the counts of nesting, and how two intervals lie; see nesting.h */
#ifndef CPTI_NESTING_INSIDE_H
#define CPTI_NESTING_INSIDE_H

#include "import/events/nesting.h"
#include "cpt/base/hash_index.h"

/* The first kind of a pair: of a count of all instances, and of a whole service. */
#define NESTING_ALL     UINT32_MAX
#define NESTING_SERVICE UINT32_C(0x80000000)

enum {
    NESTING_LATE_NS = 1000000,
    NESTING_WORK_MAX = 1 << 25, /* pairs that are looked at while learning, in all */
    NESTING_ACTIVE_MAX = 2048,  /* intervals that one is compared with: … */
    NESTING_OLDEST = 64         /* … the first 64, and the last ones */
};

/* Counts of two kinds of one class. */
struct nesting_pair {
    uint32_t class_number;
    uint32_t outer;  /* a kind; NESTING_SERVICE | a service; NESTING_ALL */
    uint32_t inner;  /* a kind */
    uint32_t within; /* instances of `inner` that lie in one of `outer`; of ALL: all */
    uint32_t inside; /* pairs of instances that … */
    uint32_t crossing;      /* … neither contains the other */
    uint32_t around;        /* … that of `inner` contains the other */
    uint32_t wider;         /* … that of `inner` does so whatever stamps leave open */
    uint32_t fills;         /* instances of `outer` that contain one of `inner` */
    uint32_t filled_serial; /* the last one of these */
    uint32_t depth;         /* of ALL: how many kinds are universal for it */
    uint32_t checked;       /* of ALL: instances, and … */
    uint32_t covered;       /* … those that lie in one of an admissible kind, … */
    uint32_t filled;        /* … or of one that is never without */
    uint32_t serial;        /* of the instance that was counted last in `within` */
    uint32_t service;       /* of `outer`, if it is a kind */
    bool is_universal;
    bool is_mutual; /* universal, but more often the other way round */
    bool is_admissible;
    bool is_filled; /* nearly each of `outer` contains one */
    bool has_kind;  /* of a service: one of its kinds is universal */
    bool is_single; /* of ALL: the deepest universal kind has one of it each */
};

/* Requests that entered alike. */
struct nesting_class {
    uint32_t entry; /* kind */
    uint32_t entry_service;
    uint32_t other; /* the first kind of another service; NESTING_ALL: none */
    uint32_t requests;
    uint32_t final; /* the class that it is taken into */
    bool is_merged;
    uint64_t inside; /* sums over its pairs */
    uint64_t crossing;
};

/* An interval, as it is compared. */
struct nesting_interval {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t resolution_ns;
    uint32_t kind;
    uint32_t service;
    uint32_t peer; /* 0: unknown, or nothing of it is in the request */
    uint32_t line;
    unsigned char role;
    bool has_own; /* there is an interval of its service that is no client's */
};

/* Two services whose intervals begin a request together, as far as stamps tell. */
struct nesting_tie {
    uint32_t low; /* the service with the lower number */
    uint32_t high;
    int64_t longer_ns; /* the interval of `low`, of all such requests together */
};

enum { NESTING_TIES_MAX = 256 };

struct cpti_nesting {
    const struct cpt_alloc *alloc;
    struct cpti_nesting_counts counts;
    struct nesting_pair *pairs;
    size_t pair_count, pair_capacity;
    struct cpti_hash_index pair_index;
    struct nesting_class *classes;
    size_t class_count, class_capacity;
    struct cpti_hash_index class_index;
    /* of the request that is looked at */
    struct nesting_interval *intervals; /* by begin, longest first */
    size_t count, capacity;
    struct nesting_tie ties[NESTING_TIES_MAX];
    size_t tie_count;
    int64_t slack_ns; /* the largest uncertainty of two of its times */
    uint32_t *active; /* those before the current one that may contain it */
    size_t active_count, active_capacity;
    size_t looked_at; /* intervals that were taken into `active` */
    uint32_t serial;  /* of the instance that is counted; 0: none */
    uint64_t work;    /* pairs that were looked at */
    uint32_t *above;  /* the parent of each; then its first child, and the next one */
    size_t above_capacity;
    uint64_t *service_seen; /* of each service: the last request that has it … */
    uint64_t *server_seen;  /* … but for clients */
    size_t service_capacity, server_capacity;
    uint64_t request_serial;
};

/* How far the times of both are uncertain, together. */
static inline int64_t nesting_slack(const struct nesting_interval *a,
                                    const struct nesting_interval *b)
{
    return a->resolution_ns > b->resolution_ns ? a->resolution_ns : b->resolution_ns;
}

/* By how much the callee's side of a call may end after the caller's: servers note the
 * end when the reply has left, clients when they have read enough of it. At most half
 * of the time of the callee. */
static inline int64_t nesting_late(const struct nesting_interval *outer,
                                   const struct nesting_interval *inner)
{
    const int64_t half_ns = (inner->end_ns - inner->begin_ns) / 2;

    if (outer->role != CPTI_EVENT_CLIENT || inner->role == CPTI_EVENT_CLIENT ||
        outer->service == inner->service) {
        return 0;
    }
    return half_ns < NESTING_LATE_NS ? half_ns : NESTING_LATE_NS;
}

/* Whether @outer contains @inner, but for @slack_ns. */
static inline bool nesting_contains(const struct nesting_interval *outer,
                                    const struct nesting_interval *inner,
                                    int64_t slack_ns)
{
    return outer->begin_ns - slack_ns <= inner->begin_ns &&
           inner->end_ns - slack_ns - nesting_late(outer, inner) <= outer->end_ns;
}

/* Whether @inner is the wider one of both, whatever stamps leave open. */
static inline bool nesting_is_wider(const struct nesting_interval *inner,
                                    const struct nesting_interval *outer)
{
    return nesting_contains(inner, outer, 0) && !nesting_contains(outer, inner, 0);
}

/* Whether @outer contains @inner, as far as stamps tell. Stamps of one service are cut
 * off alike: of two of its intervals the wider one is the outer one. */
static inline bool nesting_is_around(const struct nesting_interval *outer,
                                     const struct nesting_interval *inner)
{
    return nesting_contains(outer, inner, nesting_slack(outer, inner)) &&
           (outer->service != inner->service || !nesting_is_wider(inner, outer));
}

/* Whether an interval like @outer may be the parent of one like @inner. */
bool cpti_nesting_may_contain(const struct nesting_interval *outer,
                              const struct nesting_interval *inner);

/* Takes the intervals of @request. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_nesting_take(struct cpti_nesting *nesting,
                             const struct cpti_request *request);

/* Goes on to interval @number, from 0 on in their order: all that began by then, and
 * have not ended, become active. */
void cpti_nesting_advance(struct cpti_nesting *nesting, size_t number);

/* The counts of a pair; NULL: there are none. */
struct nesting_pair *cpti_nesting_find(const struct cpti_nesting *nesting,
                                       uint32_t class_number, uint32_t outer,
                                       uint32_t inner);

/* The counts of a pair, which are added if they are new; *@pair is NULL if they are one
 * too many. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_nesting_count_of(struct cpti_nesting *nesting, uint32_t class_number,
                                 uint32_t outer, uint32_t inner,
                                 struct nesting_pair **pair);

/* The class of the intervals that were taken, after finishing. NESTING_ALL: unknown. */
uint32_t cpti_nesting_class_of(const struct cpti_nesting *nesting);

#endif
