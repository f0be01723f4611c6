/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit.h - which service became slower, from the paths of two sets of requests
 *
 * What touches service S are its *frames*: its own time in its visits, self(S), and the
 * time between services in the calls into and out of S, edge(A→S) and edge(S→B). "S is
 * the culprit" means that all of them became slower by about one factor, or only its
 * own time, or that of one operation; in every sample, or in some. S gets the score of
 * the best of these. Like is compared with like, the operations of a frame that both
 * sets have:
 *
 *      y = ln(v + c)      v ns of one visit or call; c the median of the frames' means
 *      D_f                difference of the means of y, weighted over f's operations
 *                         by w = n m / (n + m); for "in some", of ln(mean v + c)
 *      shrunk             D Σw / (Σw + 2.5): few calls say little
 *      L_f = max(0, D_f)  a frame that became faster does not make up for another
 *      all frames         Σ L_f over the frames of S, divided by √ of their number
 *      own, operation     L, less a tenth for each restriction
 *
 * A difference of times accuses callers, whose frames are the longest; the logarithm
 * makes a frame count by its factor, and c keeps frames of microseconds from shouting.
 *
 * Others than services are looked for by the same model: a component, the calls of one
 * service by another, an operation, a replica. Values of an attribute have one frame,
 * the latency; D is that of a value less the median of the others (culprit_usual.c).
 *
 * How sure it is, is asked three times; each guards against another mistake:
 *
 *      share      bootstrap of requests: how often S is first. Was it luck that S is
 *                 ahead of the second?
 *      p          permutation of requests between the sets: how often chance makes some
 *                 service stand out as far (max-T of Westfall and Young, so that it
 *                 holds for all services together). Was it luck that anything changed?
 *      distance   between the mean D of what gave S its score and the median of all
 *                 other frames, by their spread. Two minutes of one system differ by
 *                 more than chance; is it more than they do?
 *
 * Sets of one time, such as the arms of an experiment, do not differ as two minutes do:
 * then less distance and less of a factor are enough (cpti_culprit_are_concurrent).
 *
 * A culprit that only another mix of requests makes is none (culprit_mix.c).
 *
 * Some things no number of requests tells apart. Then the verdict is "either"
 * (culprit_doubt.c); visits that are on the path less often are not compared
 * (culprit_presence.c).
 *
 * In order of use: cpti_culprit_new; cpti_culprit_add for each request of both sets;
 * cpti_culprit_judge; the results; cpti_culprit_free. Threads: one at a time. The same
 * requests in the same order give the same result.
 */
#ifndef CPTI_CLI_CULPRIT_H
#define CPTI_CLI_CULPRIT_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_path.h"

#include <stdbool.h>

enum {
    CPTI_CULPRIT_ROUNDS = 999, /* resamples and permutations, of few requests */
    CPTI_CULPRIT_ROUNDS_MIN = 199,
    CPTI_CULPRIT_CALLS_MIN = 5, /* with fewer in one set a service is not judged */
    CPTI_CULPRIT_MAX = 8,       /* culprits of one comparison */
    CPTI_EITHER_MAX = 16,       /* that are named, if they cannot be told apart */
    CPTI_CULPRIT_OTHERS_MIN = 4 /* frames that a distance is measured with */
};

/* Limits of what is kept: samples of one set; services, frames and operations. */
enum { CPTI_CULPRIT_SAMPLES_MAX = 1 << 22, CPTI_CULPRIT_NODES_MAX = 1 << 16 };

/* Who is sure, and who is a suspect at all. */
#define CPTI_CULPRIT_SHARE    0.9
#define CPTI_CULPRIT_P        0.01
#define CPTI_CULPRIT_DISTANCE 6.0
#define CPTI_CULPRIT_FACTOR   1.3
/* The same with sets of one time. */
#define CPTI_CONCURRENT_DISTANCE 3.0
#define CPTI_CONCURRENT_FACTOR   1.05
#define CPTI_SUSPECT_P           0.05
#define CPTI_SUSPECT_DISTANCE    3.0
/* Who is listed with those that stand out, by size alone: ln 2. */
#define CPTI_LARGE_SCORE 0.693

enum cpti_culprit_by {
    CPTI_CULPRIT_BY_SERVICE = 0,
    CPTI_CULPRIT_BY_NAME = 1,      /* components: the name of a frame */
    CPTI_CULPRIT_BY_EDGE = 2,      /* calls of one service by another */
    CPTI_CULPRIT_BY_OPERATION = 3, /* of a service: the first frame of a visit */
    CPTI_CULPRIT_BY_REPLICA = 4,   /* the visits of a service on one host, "S@host" */
    CPTI_CULPRIT_BY_ATTRIBUTE = 5  /* requests, by the value of an attribute */
};

enum cpti_culprit_side { CPTI_CULPRIT_BASE = 0, CPTI_CULPRIT_NEW = 1 };

enum cpti_verdict {
    CPTI_VERDICT_NONE,
    CPTI_VERDICT_UNSURE, /* chance could do it, or another one is as likely */
    CPTI_VERDICT_EITHER, /* the input cannot tell some apart, whatever its size */
    CPTI_VERDICT_SURE
};

/* Why it cannot. */
enum cpti_doubt {
    CPTI_DOUBT_NONE,
    CPTI_DOUBT_NO_EDGE_TIME,     /* time between services looks like the caller's own */
    CPTI_DOUBT_CALLS_EACH_OTHER, /* a caller may only wait for what it calls */
    CPTI_DOUBT_SHARES_WORKERS,   /* an operation, for another one of its service */
    CPTI_DOUBT_PRESENCE_CHANGED  /* which visits are on the path has changed */
};

/* A request, by attribute. */
struct cpti_culprit_request {
    struct cpt_bytes value; /* of the attribute */
    struct cpt_bytes entry; /* requests of one entry and method are compared */
    struct cpt_bytes method;
    uint64_t latency_ns;
    uint64_t start_ns; /* 0: unknown */
};

/* A service, or what else was asked for. */
struct cpti_suspect {
    struct cpt_bytes name; /* borrowed from the culprit */
    double score;
    double factor;         /* how many times longer what gave it its score became */
    double least_factor;   /* the same, shrunk and damped: rather too small */
    double every_distance; /* `distance`, if every sample is taken to be slower */
    double share;          /* of the resamples in which it is first */
    double p;              /* 1 if not computed */
    double distance;       /* NaN: there are too few other frames */
    uint64_t calls[2];
    uint32_t frame_count;
    uint32_t slower_count;     /* slower in 95 % of the resamples */
    double large_share;        /* like share, with a factor that is large enough, too */
    bool is_culprit;           /* for sure; those above it are explained away */
    bool stands_out;           /* chance does not do it, but it is not sure */
    bool is_slower;            /* … but only as another one is, or may be, in front */
    bool is_slower_where_seen; /* visits that cannot be compared seem to be slower */
    bool is_of_mix;            /* it was sure, but with one mix of requests is not */
    bool may_wait;             /* it was sure, but calls one that is slower, too */
    unsigned either; /* its place among those that the input cannot tell apart,
                              from 1; 0: it is none of them */
    unsigned round;  /* of a culprit: those found before it */
};

/* A service with fewer than CPTI_CULPRIT_CALLS_MIN calls in one set. */
struct cpti_unjudged {
    struct cpt_bytes name;
    uint64_t calls[2];
};

struct cpti_culprit;
struct cpti_structure;

/* An empty comparison over @alloc (NULL: malloc's), or NULL. The caller owns it. */
struct cpti_culprit *cpti_culprit_new(const struct cpt_alloc *alloc,
                                      enum cpti_culprit_by by);
void cpti_culprit_free(struct cpti_culprit *culprit);

/* Says that the paths have all visits of a request, not only those that delayed it, so
 * that none of them is missing. Before the first one is added. */
void cpti_culprit_has_all_visits(struct cpti_culprit *culprit);

/* Says that calls of the requests lack the side of their caller, so that time on the
 * way to a callee looks like the caller's own: then nothing is sure. */
void cpti_culprit_lacks_callers(struct cpti_culprit *culprit);

/* Says that structure is compared, too (culprit_structure.h). Before the first one is
 * added, and only with all visits. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_culprit_compare_structure(struct cpti_culprit *culprit);

/* Says that the requests that are added next are of @cluster: they resemble the others
 * of it, so that only clusters are drawn and dealt. Of all requests or of none. */
void cpti_culprit_cluster(struct cpti_culprit *culprit, uint64_t cluster);

/*
 * Adds a request with @path to a set, which began at @start_ns (0: unknown). Of an
 * ordered path each visit and call is a sample; of one that lost its order, the visits
 * of one stack are one sample.
 *
 * CPT_OK; CPT_LIMIT: it is left out, as there are too many samples or names;
 * CPT_NO_MEMORY.
 */
cpt_status cpti_culprit_add(struct cpti_culprit *culprit, enum cpti_culprit_side side,
                            const struct cpt_path *path, uint64_t start_ns);

/* The same by attribute, of which the latency is the sample. */
cpt_status cpti_culprit_add_request(struct cpti_culprit *culprit,
                                    enum cpti_culprit_side side,
                                    const struct cpti_culprit_request *request);

/* Visits of a set of which the host is not known, or is. By replica. */
uint64_t cpti_culprit_visits(const struct cpti_culprit *culprit,
                             enum cpti_culprit_side side, bool has_host);

/* Compares the sets, by random numbers from @seed. Once. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_culprit_judge(struct cpti_culprit *culprit, uint64_t seed);

/* The results: culprits in the order in which they were found, each explained away
 * before the next, then the others by score. */
size_t cpti_culprit_suspect_count(const struct cpti_culprit *culprit);
const struct cpti_suspect *cpti_culprit_suspect(const struct cpti_culprit *culprit,
                                                size_t index);
size_t cpti_culprit_unjudged_count(const struct cpti_culprit *culprit);
const struct cpti_unjudged *cpti_culprit_unjudged(const struct cpti_culprit *culprit,
                                                  size_t index);
enum cpti_verdict cpti_culprit_verdict(const struct cpti_culprit *culprit);

/* Of CPTI_VERDICT_EITHER: the reason; how many cannot be told apart; and each of them:
 * a service if *@to is empty, else calls of one by another. */
enum cpti_doubt cpti_culprit_doubt_reason(const struct cpti_culprit *culprit);
size_t cpti_culprit_either_count(const struct cpti_culprit *culprit);
struct cpt_bytes cpti_culprit_either(const struct cpti_culprit *culprit, size_t index,
                                     struct cpt_bytes *to);

/* What changed in structure, once it was judged; NULL: it was not compared. */
const struct cpti_structure *cpti_culprit_structure(const struct cpti_culprit *culprit);

/*
 * Whether the sets are of one time: in the order of time, the set changes from request
 * to request at least half as often as if requests had been dealt to them at random.
 */
bool cpti_culprit_are_concurrent(const struct cpti_culprit *culprit);

/* With less of a factor, no service is the culprit for sure. */
double cpti_culprit_factor_min(const struct cpti_culprit *culprit);

/* c above; and the number of requests and of resamples. */
double cpti_culprit_offset_ns(const struct cpti_culprit *culprit);
uint64_t cpti_culprit_requests(const struct cpti_culprit *culprit,
                               enum cpti_culprit_side side);
unsigned cpti_culprit_rounds(const struct cpti_culprit *culprit);

#endif
