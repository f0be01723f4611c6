/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_parts.h - the inside of a comparison, for the files of this folder
 *
 * Names are numbered by a path that serves as a table. Its frames are *nodes*:
 *
 *      S                 a service; also its own time, self(S)
 *      '- B              the calls edge(S→B); of kind NETWORK
 *      '- operation      a key: samples of one frame and operation; of kind OTHER
 *         B
 *         '- operation   a key of the edge
 */
#ifndef CPTI_CLI_CULPRIT_PARTS_H
#define CPTI_CLI_CULPRIT_PARTS_H

#include "cpt/cli/culprit/culprit.h"

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
    size_t request_count;
    size_t end_capacity;
    size_t start_capacity;
};

/* What is kept while a path is taken apart; as long as its frames. */
struct cpti_culprit_scratch {
    uint32_t *roots;     /* the frame that began the visit which a frame belongs to */
    uint32_t *services;  /* the node of a frame's service */
    unsigned char *edge; /* whether it is the caller's side of the visit's call */
    uint64_t *self_ns;   /* by root: of the visit that is open */
    uint64_t *edge_ns;
    unsigned char *met; /* by root: ENTERED, HAS_SELF, HAS_EDGE */
    uint32_t *open;     /* roots of the open visits, outermost first */
    uint32_t *chain;    /* those of a segment */
    size_t open_count;
    size_t capacity;
};

/* The sums of one key in some requests of a set. */
struct cpti_culprit_sum {
    double count;
    double y; /* Σ ln(v + c) */
};

/* The same of one request; `key` is its number among the keys of both sets. */
struct cpti_culprit_cell {
    double y;
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
    bool is_explained;
    bool is_thin; /* it has too few samples to count */
};

/* Sets of requests in numbers: what the scores are computed from. */
struct cpti_culprit_model {
    struct cpti_culprit_frame *frames;
    unsigned char *thin; /* by suspect: it has too few calls to be ranked */
    uint32_t frame_count;
    uint32_t key_count;
    uint32_t suspect_count;
    struct cpti_culprit_cells sets[2];
    double c;
};

/* Scores of one pair of sets of requests; all arrays are the caller's. */
struct cpti_culprit_scores {
    double *d;       /* by frame; NaN: it is not in both */
    double *scores;  /* by suspect; 0: it has no frame */
    uint32_t *sizes; /* by suspect: frames */
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
    unsigned culprit_count;
    unsigned rounds;
    bool are_concurrent;
};

/* Adds the samples of @path to @set; those of an earlier error may stay. Errors of
 * cpti_culprit_add(). */
cpt_status cpti_culprit_take(struct cpti_culprit *culprit, struct cpti_culprit_set *set,
                             const struct cpt_path *path);

void cpti_culprit_scratch_deinit(struct cpti_culprit_scratch *scratch,
                                 const struct cpt_alloc *alloc);

/* Fills in culprit->model, suspects and unjudged. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_culprit_model_make(struct cpti_culprit *culprit);
void cpti_culprit_model_deinit(struct cpti_culprit_model *model,
                               const struct cpt_alloc *alloc);

/* Whether the sets are of one time. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_culprit_compare_times(const struct cpti_culprit *culprit,
                                      bool *are_concurrent);

/* Computes @scores from the sums of both sets, by key. */
void cpti_culprit_score(const struct cpti_culprit_model *model,
                        const struct cpti_culprit_sum *base,
                        const struct cpti_culprit_sum *other,
                        struct cpti_culprit_scores *scores);

/* The first of the largest scores; the number of suspects if none is above 0. */
uint32_t cpti_culprit_first(const struct cpti_culprit_model *model,
                            const double *scores);

#endif
