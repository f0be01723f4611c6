/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_parts.h - the inside of a comparison, for the files of this folder
 *
 * Names are numbered by a path that serves as a table. Its frames are *nodes*:
 *
 *      S                 a service; also its own time, self(S)
 *      '- B              the calls edge(S→B); of kind NETWORK
 *      |  '- operation   a key of the edge; of kind BLIND_SPOT, if only S saw the call
 *      '- operation      a key: samples of one frame and operation; of kind OTHER
 *         '- 17          its visits that visits of key 17 called; of kind CALL
 */
#ifndef CPTI_CLI_CULPRIT_PARTS_H
#define CPTI_CLI_CULPRIT_PARTS_H

#include "tool/culprit/culprit.h"

#include <string.h>

/* The kind of nodes that tell who called: none that a path has. */
enum { CPTI_CULPRIT_KIND_CALL = CPT_KIND_MAX };

/* A random number below @bound, which is less than 2^32; its bias is below 2^-32. The
 * numbers are those of splitmix64. */
static inline size_t cpti_culprit_random_below(uint64_t *state, size_t bound)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
    return (size_t)((z >> 32) * bound >> 32);
}

/* For sorting: names by their bytes. */
static inline int cpti_culprit_compare_names(struct cpt_bytes a, struct cpt_bytes b)
{
    const int order = memcmp(a.data, b.data, a.bytes < b.bytes ? a.bytes : b.bytes);

    return order != 0 ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

/* One visit or call. */
struct cpti_culprit_sample {
    uint64_t ns;
    uint32_t key; /* its node */
};

/* One set of requests. */
struct cpti_culprit_set {
    struct cpti_culprit_sample *samples; /* request by request */
    size_t sample_count;
    size_t sample_capacity;
    size_t *ends; /* of each request's samples */
    uint64_t *starts;
    uint64_t *clusters; /* with which it resembles others */
    uint64_t *entries;  /* a hash of its entry operation */
    size_t request_count;
    uint64_t visits[2]; /* by replica: without a host, and with one */
    size_t end_capacity;
    size_t start_capacity;
    size_t cluster_capacity;
    size_t entry_capacity;
};

/* Requests of one set that resemble each other, and are drawn and dealt together. */
struct cpti_culprit_group {
    uint64_t cluster;
    size_t from; /* its requests: orders[from] to orders[end - 1] */
    size_t end;
    size_t partner; /* the group of the same cluster in the other set, or SIZE_MAX */
};

struct cpti_culprit_groups {
    struct cpti_culprit_group *groups;
    size_t count;
    uint32_t *orders;
};

/* What is kept while a path is taken apart; as long as its frames. */
struct cpti_culprit_scratch {
    uint32_t *roots;     /* the frame that began the visit which a frame belongs to */
    uint32_t *services;  /* the node of a frame's service */
    unsigned char *edge; /* whether it is the caller's side of the visit's call */
    uint64_t *self_ns;   /* by root: of the visit that is open */
    uint64_t *edge_ns;
    unsigned char *met;    /* by root: ENTERED, HAS_SELF, HAS_EDGE, IS_BLIND */
    struct cpt_bytes host; /* that the segment names */
    uint32_t *open;        /* roots of the open visits, outermost first */
    uint32_t *chain;       /* those of a segment */
    size_t open_count;
    size_t capacity;
};

/* The sums of one key in some requests of a set. */
struct cpti_culprit_sum {
    double count;
    double y;  /* Σ ln(v + c) */
    double ns; /* Σ v */
};

/* The same of one request; `key` is its number among the keys of both sets. */
struct cpti_culprit_cell {
    double y;
    double ns;
    uint32_t key;
    uint32_t count;
};

/* The cells of a set. */
struct cpti_culprit_cells {
    struct cpti_culprit_cell *cells;
    size_t *ends; /* of each request's cells */
    size_t request_count;
};

/* A frame of both sets. */
struct cpti_culprit_frame {
    uint32_t from; /* numbers of suspects; the same for self() */
    uint32_t to;
    uint32_t key_end; /* of its keys, which stand side by side */
    bool is_own;      /* self(); else it is time between services */
    bool is_explained;
    bool is_thin;     /* it has too few samples to count */
    bool is_missing;  /* too few of its visits are on the path to compare them, … */
    bool is_left_out; /* … and so they are not */
};

/* Calls of one service by another, by their nodes. */
struct cpti_culprit_call {
    uint32_t from;
    uint32_t to;
    double calls;      /* of both sets */
    double edge_calls; /* that have time between services */
};

/* Sets of requests in numbers: what the scores are computed from. */
struct cpti_culprit_model {
    struct cpti_culprit_frame *frames;
    unsigned char *thin; /* by suspect: it has too few calls to be ranked */
    uint32_t frame_count;
    uint32_t key_count;
    uint32_t suspect_count;
    uint32_t *nodes;     /* by suspect */
    uint32_t *peers;     /* by attribute: keys, by their operations; else NULL */
    uint32_t *peer_ends; /* by operation: behind its keys there */
    uint32_t operation_count;
    unsigned char *rose; /* by node of a service: more of its visits are on the path */
    struct cpti_culprit_call *calls;
    size_t call_count;
    struct cpti_culprit_cells sets[2];
    double c;
    bool has_gaps; /* time between services has a part of the callee's own */
};

/* Whether a frame became slower in every sample, or in some of them. */
enum { CPTI_CULPRIT_EVERY, CPTI_CULPRIT_SOME, CPTI_CULPRIT_MANNERS };

/* What of a suspect became slower: all frames, its own time, or one operation of it. */
enum cpti_culprit_part { CPTI_CULPRIT_ALL, CPTI_CULPRIT_OWN, CPTI_CULPRIT_OPERATION };

/* The hypothesis that gave a suspect its score. */
struct cpti_culprit_vote {
    double effect; /* shrunk, of the logarithm: the mean of the frames that voted */
    double every;  /* the same if it is taken that every sample became slower */
    unsigned char part;
    unsigned char manner;
    uint32_t from_key; /* of what voted, the keys, if it is not all */
    uint32_t end_key;
};

/* What changed of the operation of a key for all values of an attribute but its own. */
struct cpti_culprit_usual {
    double d[CPTI_CULPRIT_MANNERS];
    double weight; /* of all of them; 0: there is none */
    bool is_explained;
};

/* What changed of a key. */
struct cpti_culprit_change {
    double d;
    double weight;
    double until; /* the sum of weights up to it, in the order of d */
    uint32_t key;
};

/* Scores of one pair of sets of requests. */
struct cpti_culprit_scores {
    double *d[CPTI_CULPRIT_MANNERS];      /* by frame, shrunk; NaN: it is not in both */
    double *scores;                       /* by suspect; 0: it has no frame */
    uint32_t *sizes;                      /* by suspect: frames */
    struct cpti_culprit_vote *votes;      /* by suspect */
    double *totals[CPTI_CULPRIT_MANNERS]; /* by suspect: of its frames */
    struct cpti_culprit_usual *usual;     /* by key, by attribute; else NULL */
    struct cpti_culprit_change *changes;  /* of one operation; likewise */
};

struct cpti_culprit {
    const struct cpt_alloc *alloc;
    enum cpti_culprit_by by;
    struct cpt_path *table;
    struct cpti_culprit_scratch scratch;
    struct cpti_culprit_set sets[2];
    struct cpti_culprit_model model;
    struct cpti_suspect *suspects; /* by number; then by rank */
    size_t suspect_count;          /* that have frames of both sets */
    struct cpti_unjudged *unjudged;
    size_t unjudged_count;
    enum cpti_verdict verdict;
    enum cpti_doubt doubt;
    struct cpti_culprit_either {
        struct cpt_bytes name;
        struct cpt_bytes to;
    } either[CPTI_EITHER_MAX];
    size_t either_count;
    unsigned culprit_count;
    unsigned rounds;
    bool are_concurrent;
    bool has_clusters;
    uint64_t cluster;                 /* of the request that is added next */
    bool lacks_callers;               /* calls have the side of the callee alone */
    bool has_all_visits;              /* samples are not only of visits on the path */
    struct cpti_structure *structure; /* NULL: it is not compared */
};

/* Adds the samples of @path to @set; those of an earlier error may stay. Errors of
 * cpti_culprit_add(). */
cpt_status cpti_culprit_take(struct cpti_culprit *culprit, struct cpti_culprit_set *set,
                             const struct cpt_path *path);

/* Adds the sample of @request to @set. Errors of cpti_culprit_add(). */
cpt_status cpti_culprit_take_request(struct cpti_culprit *culprit,
                                     struct cpti_culprit_set *set,
                                     const struct cpti_culprit_request *request);

void cpti_culprit_scratch_deinit(struct cpti_culprit_scratch *scratch,
                                 const struct cpt_alloc *alloc);

/* Fills in culprit->model, suspects and unjudged. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_culprit_model_make(struct cpti_culprit *culprit);
void cpti_culprit_model_deinit(struct cpti_culprit_model *model,
                               const struct cpt_alloc *alloc);

/* Of a node of kind CALL, the key of the caller's visits. */
uint32_t cpti_culprit_caller(const struct cpt_path *table, uint32_t node);

/* Marks in @fell, by node, the keys of which too few visits are on the path, and in the
 * model the services of which more are. @counts are the samples of both sets, by node.
 * CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_culprit_find_missing(struct cpti_culprit *culprit,
                                     uint64_t *const counts[2], unsigned char *fell);

/* Fills in the calls of the model. @counts as above. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_culprit_find_calls(struct cpti_culprit *culprit,
                                   uint64_t *const counts[2]);

/* Takes back that culprits are sure of which the input cannot tell whether they are, or
 * others that they touch. Before the suspects are sorted. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_culprit_doubt(struct cpti_culprit *culprit);

/* Takes back that culprits are sure which only another mix of requests makes. Before
 * the suspects are sorted; frames are not explained then. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_culprit_hold_mix(struct cpti_culprit *culprit);

/* Says that it may be suspect @number, of which too few visits are on the path to tell,
 * or one of those beside it of which more are; if there are such. CPT_OK;
 * CPT_NO_MEMORY. */
cpt_status cpti_culprit_doubt_presence(struct cpti_culprit *culprit, uint32_t number);

/* Whether candidates have so few frames that one call would decide. */
static inline bool cpti_culprit_has_few_frames(const struct cpti_culprit *culprit)
{
    return culprit->by == CPTI_CULPRIT_BY_NAME ||
           culprit->by == CPTI_CULPRIT_BY_ATTRIBUTE;
}

/* Whether what @frame has counts for its suspects. */
static inline bool cpti_culprit_counts(const struct cpti_culprit_frame *frame)
{
    return !frame->is_explained && !frame->is_thin && !frame->is_left_out;
}

/* Makes the groups of both sets; one of each request if no clusters were given. CPT_OK;
 * CPT_NO_MEMORY; deinit them in any case. */
cpt_status cpti_culprit_groups_make(const struct cpti_culprit *culprit,
                                    struct cpti_culprit_groups groups[2]);
void cpti_culprit_groups_deinit(struct cpti_culprit_groups groups[2],
                                const struct cpt_alloc *alloc);

/* Whether the sets are of one time. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_culprit_compare_times(const struct cpti_culprit *culprit,
                                      bool *are_concurrent);

/* n m / (n + m); 0 if a set has no sample. */
static inline double cpti_culprit_weight(double n, double m)
{
    return n > 0 && m > 0 ? n * m / (n + m) : 0;
}

/* How far samples of both sets differ, in @manner. */
double cpti_culprit_difference(const struct cpti_culprit_sum *base,
                               const struct cpti_culprit_sum *other, int manner,
                               double c);

/* Finds what is usual for the values of an attribute, in @scores, from the sums of both
 * sets by key. */
void cpti_culprit_find_usual(const struct cpti_culprit_model *model,
                             const struct cpti_culprit_sum *base,
                             const struct cpti_culprit_sum *other,
                             const struct cpti_culprit_scores *scores);

/* Makes the arrays of @scores, which is zeroed. CPT_OK; CPT_NO_MEMORY; deinit it in any
 * case. */
cpt_status cpti_culprit_scores_make(const struct cpti_culprit_model *model,
                                    const struct cpt_alloc *alloc,
                                    struct cpti_culprit_scores *scores);
void cpti_culprit_scores_deinit(struct cpti_culprit_scores *scores,
                                const struct cpt_alloc *alloc);

/* Computes @scores from the sums of both sets, by key. */
void cpti_culprit_score(const struct cpti_culprit_model *model,
                        const struct cpti_culprit_sum *base,
                        const struct cpti_culprit_sum *other,
                        struct cpti_culprit_scores *scores);

/* How many times longer the samples are that gave @suspect its score, of @scores that
 * were computed from the same sums. */
double cpti_culprit_factor(const struct cpti_culprit_model *model,
                           const struct cpti_culprit_sum *base,
                           const struct cpti_culprit_sum *other, uint32_t suspect,
                           const struct cpti_culprit_scores *scores);

/* Adds request @request of @cells to @sums, by key, @times times. */
void cpti_culprit_sums_add(struct cpti_culprit_sum *sums,
                           const struct cpti_culprit_cells *cells, size_t request,
                           double times);

/* The first of the largest scores; the number of suspects if none is above 0. */
uint32_t cpti_culprit_first(const struct cpti_culprit_model *model,
                            const double *scores);

#endif
