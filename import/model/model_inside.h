/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_inside.h - what a learner is made of, for the files of this folder
 *
 *      model_learn.c    requests, a block at a time, in the order of their ids
 *      model_count.c    the matrices of a class
 *      model_steps.c    behaviours
 *      model_absorb.c   a model is added
 *      model_finish.c   all of it in its one order
 *
 * Numbers here are in the order of coming, so they differ from those of the model.
 */
#ifndef CPTI_MODEL_INSIDE_H
#define CPTI_MODEL_INSIDE_H

#include "cpt/base/hash_index.h"
#include "import/model/model.h"

/* A block of requests, which are counted together, is full at one of these. */
enum { CPTI_BLOCK_REQUESTS = 4096, CPTI_BLOCK_LINES = 1 << 18 };

/* An event of a request in the block; times from the begin of the request on. */
struct cpti_block_line {
    int64_t begin_ns;
    int64_t end_ns;
    uint32_t kind;
    uint32_t unit;
    uint32_t resolution_ns;
    bool is_interval;
};

struct cpti_block_request {
    size_t id; /* where its id begins in `block_ids` … */
    size_t line;
    uint32_t id_bytes;
    uint32_t line_count;
    uint32_t unit_count;
};

/* A place, and the next turn of its kind + 1. */
struct cpti_learnt_place {
    struct cpti_model_place place;
    uint32_t next;
};

/*
 * A class. The matrices have `stride` places a row. Of a pair of places, i of them the
 * lower number and k the higher:
 *
 *      refuted[i][k]  requests in which i ended after k began
 *      others[i][k]   … in which neither ended after the other began
 *      others[k][i]   … in which both did
 *      contains[i][k] … in which k lay within i
 *      witness[i][k]  an id of those that refuted[i][k] counts
 *      seen[i][k]     whether this block has none with a smaller id
 */
struct cpti_learnt_class {
    uint32_t entry; /* a kind + 1 */
    uint32_t second;
    uint32_t requests;
    uint32_t stride; /* a multiple of 64 */
    struct cpti_learnt_place *places;
    size_t place_count;
    size_t place_capacity;
    uint32_t *heads; /* by kind, of its first turn, the place + 1 */
    size_t head_count;
    uint32_t *refuted;
    uint32_t *others;
    uint32_t *witness;
    uint32_t *overlap_witness; /* [k][i]; NULL: there is no interval */
    uint32_t *contains;        /* likewise */
    uint64_t *seen;
    uint64_t block; /* of which `seen` tells */
};

/* An event of a request. */
struct cpti_counted {
    int64_t start_ns; /* its begin, as late as it can be */
    int64_t end_ns;   /* its end, as early as it can be */
    uint32_t place;
    uint32_t unit;
    uint32_t resolution_ns;
    bool is_interval; /* one, not all of many turns */
};

/* What a request needs while it is counted, kept from one to the next. */
struct cpti_counting {
    struct cpti_counted *events; /* by start */
    uint32_t *places;            /* of these */
    uint32_t *units;
    uint32_t *by_end; /* numbers of events */
    size_t capacity;
    uint32_t *turns; /* by kind: place + 1 of its last turn in this request */
    size_t turn_count;
    uint32_t *event_of; /* by place: its event */
    uint64_t *before;   /* bits of places */
    size_t place_capacity;
};

struct cpti_steps {
    struct cpti_model_step *all;
    size_t count;
    size_t capacity;
    struct cpti_hash_index index;
    struct cpti_model_behaviour *behaviours;
    size_t behaviour_count;
    size_t behaviour_capacity;
    struct cpti_hash_index behaviour_index;
    struct cpti_model_cell *cells;
    size_t cell_count;
    size_t cell_capacity;
    uint32_t level;
    uint32_t *counts; /* of one request, by step; zero between two */
    size_t counts_capacity;
    uint32_t *touched;
    size_t touched_count;
    size_t touched_capacity;
    uint32_t *lasts; /* by unit: the kind + 1 of its last event */
    size_t lasts_capacity;
};

struct cpti_model_learner {
    const struct cpt_alloc *alloc;
    uint64_t hash_seed;
    struct cpti_model_learner_options options; /* with the defaults */
    uint32_t requests;
    struct cpt_names *names;
    struct cpt_names *ids;
    struct cpti_model_kind *kinds;
    size_t kind_count;
    size_t kind_capacity;
    struct cpti_hash_index kind_index;
    struct cpti_learnt_class *classes;
    size_t class_count;
    size_t class_capacity;
    struct cpti_hash_index class_index;
    uint64_t pair_room; /* Σ of stride² */
    struct cpti_steps steps;
    struct cpti_counting counting;
    uint32_t dropped[CPTI_MODEL_DROPPED_MAX];
    size_t dropped_count;
    uint64_t dropped_lines;
    uint64_t dropped_steps;

    const struct cpti_requests *source;
    uint32_t *kind_of; /* by kind of `source`: our kind + 1 */
    size_t kind_of_count;

    struct cpti_block_request *block;
    size_t block_count;
    size_t block_capacity;
    struct cpti_block_line *block_lines;
    size_t block_line_count;
    size_t block_line_capacity;
    char *block_ids;
    size_t block_id_bytes;
    size_t block_id_capacity;
    uint64_t block_number; /* from 1 */
};

/* The number of a kind; CPTI_MODEL_NONE: there are too many. */
cpt_status cpti_learner_kind(struct cpti_model_learner *learner,
                             struct cpt_bytes service, struct cpt_bytes name,
                             uint32_t *number);

/* The class of requests that entered so; both are kinds + 1. The pointer is good until
 * the next call. */
cpt_status cpti_learner_class(struct cpti_model_learner *learner, uint32_t entry,
                              uint32_t second, struct cpti_learnt_class **class);

/* Counts what waits in the block. */
cpt_status cpti_learner_flush(struct cpti_model_learner *learner);

/* Counts a request of @class, the events of which are @lines, by begin. */
cpt_status cpti_learner_count(struct cpti_model_learner *learner,
                              struct cpti_learnt_class *class,
                              const struct cpti_block_request *request);

/* The place of turn @turn of @kind, behind that of the turn before, @last (its number +
 * 1; 0: there is none); CPTI_MODEL_NONE: it is left out, which is noted. */
cpt_status cpti_learner_place(struct cpti_model_learner *learner,
                              struct cpti_learnt_class *class, uint32_t kind,
                              uint32_t last, uint32_t *place);

/* Notes @lines that are left out. */
void cpti_learner_drop(struct cpti_model_learner *learner, uint32_t kind,
                       uint64_t lines);

/* Takes @id as the witness at @witness unless a smaller one is there. */
cpt_status cpti_learner_witness(struct cpti_model_learner *learner, struct cpt_bytes id,
                                uint32_t *witness);

/* Makes room for what intervals alone have. */
cpt_status cpti_learner_intervals(struct cpti_model_learner *learner,
                                  struct cpti_learnt_class *class);

void cpti_learnt_class_deinit(const struct cpt_alloc *alloc,
                              struct cpti_learnt_class *class);
void cpti_counting_deinit(const struct cpt_alloc *alloc,
                          struct cpti_counting *counting);

/* Counts the steps of a request of class @class. */
cpt_status cpti_learner_step_lines(struct cpti_model_learner *learner, uint32_t class,
                                   const struct cpti_block_request *request);

/* The number of a step; CPTI_MODEL_NONE: there are too many. */
cpt_status cpti_learner_step(struct cpti_model_learner *learner,
                             struct cpti_model_step step, uint32_t *number);

/* Adds requests with a behaviour, whose cells are by step. */
cpt_status cpti_learner_behave(struct cpti_model_learner *learner,
                               const struct cpti_model_behaviour *behaviour,
                               const struct cpti_model_cell *cells);

/* Leaves out behaviours of levels below @level. */
cpt_status cpti_learner_raise(struct cpti_model_learner *learner, uint32_t level);

void cpti_steps_deinit(const struct cpt_alloc *alloc, struct cpti_steps *steps);

/* -1, 0 or 1: the order of two behaviours of @model. */
int cpti_model_compare_behaviours(const struct cpti_model *model,
                                  const struct cpti_model_behaviour *left,
                                  const struct cpti_model_behaviour *right);

/* The level of a request. */
uint32_t cpti_model_level(struct cpt_bytes id);

/* -1, 0 or 1: the order of two texts, byte by byte. */
static inline int cpti_model_compare(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t shared = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = shared > 0 ? memcmp(left.data, right.data, shared) : 0;

    return order != 0 ? (order > 0) - (order < 0)
                      : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

static inline int cpti_model_compare_numbers(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

#endif
