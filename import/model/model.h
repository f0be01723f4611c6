/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model.h - what many requests have in common: counts of what came before what
 *
 *      requests --> learner --> model --> file, relations, changes
 *                     ^-----------'
 *
 * A *kind* is a service and the name of an event. A *place* is a kind and which of its
 * occurrences in a request: turns 1 to 64 by time, and one more for all later ones. A
 * *class* are requests that entered alike: with one kind of first event, and one kind
 * of first event of another service. For each two places of a class, of different
 * units:
 *
 *      low    |----|              both: requests that have both
 *      high        |-----|        refuted[0]: in which low ended after high began
 *                                 refuted[1]: the same the other way round
 *                                 overlaps:   in which both happened
 *                                 contains[0]: in which high lay within low
 *                                 contains[1]: the same the other way round
 *
 * each beyond what their times leave open. A *step* is an event and the one that comes
 * behind it in its unit; a *behaviour* is how often a request has each step, and the
 * requests of which that is true are counted.
 *
 * All of it are counts, and nothing is decided before it is read. So models are merged
 * by adding, and the same requests give the same bytes in any order and in any parts;
 * if a limit was reached, which is said, only nearly the same.
 *
 * In order of use: cpti_model_learner_new; cpti_model_learner_from for each set of
 * requests and cpti_model_learner_add for each of them, or cpti_model_learner_absorb;
 * cpti_model_learner_finish. Threads: one at a time; a finished model does not change.
 */
#ifndef CPTI_MODEL_H
#define CPTI_MODEL_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stdint.h>

struct cpti_requests;
struct cpti_request;

enum {
    CPTI_MODEL_TURNS_MAX = 64,        /* turn 65 is all later ones together */
    CPTI_MODEL_CLASSES_MAX = 1 << 12, /* others are of a class without an entry */
    CPTI_MODEL_PAIRS_MAX = 1 << 24,   /* ordered ones, of all classes together */
    CPTI_MODEL_KINDS_MAX = 1 << 20,   /* of all services */
    CPTI_MODEL_STEPS_MAX = 1 << 20,
    CPTI_MODEL_CELLS_MAX = 1 << 23, /* of all behaviours; above it, a part of the
                                          requests that does not depend on their order
                                          stands for all */
    CPTI_MODEL_IDS_MAX = 1 << 20,
    CPTI_MODEL_LEVEL_MAX = 32,
    CPTI_MODEL_DROPPED_MAX = 64 /* kinds of what was left out that are named */
};

#define CPTI_MODEL_NONE UINT32_MAX

/* Texts, in the order of their bytes, each once. */
struct cpti_model_texts {
    char *bytes;
    size_t *ends; /* of each in `bytes` */
    size_t count;
};

struct cpti_model_kind {
    uint32_t service; /* numbers of texts */
    uint32_t name;
};

struct cpti_model_place {
    uint32_t kind;
    uint32_t turn;     /* from 1 */
    uint32_t requests; /* that have it */
    bool is_interval;  /* in one of them, at least */
};

/* Two places that occur together; numbers within their class. */
struct cpti_model_pair {
    uint32_t low;
    uint32_t high;
    uint32_t both;
    uint32_t refuted[2];
    uint32_t overlaps;
    uint32_t contains[2]; /* of intervals; 0 of points */
    /* The smallest id, byte by byte, of what each of the last three counts, as a number
     * of `ids`; CPTI_MODEL_NONE if that is 0. */
    uint32_t witness[3];
};

struct cpti_model_class {
    uint32_t entry;  /* a kind + 1; 0: requests beyond CPTI_MODEL_CLASSES_MAX */
    uint32_t second; /* likewise; 0: there is no other service */
    uint32_t requests;
    uint32_t place; /* the first one */
    uint32_t place_count;
    size_t pair;
    size_t pair_count; /* by low, then high */
};

struct cpti_model_step {
    uint32_t from; /* a kind + 1; 0: the unit begins */
    uint32_t to;   /* likewise of the same service; 0: it ends */
};

/* How often a step occurs. */
struct cpti_model_cell {
    uint32_t step;
    uint32_t count;
};

struct cpti_model_behaviour {
    uint32_t class;
    uint32_t level; /* of its requests: zero bits in front of a hash of the id */
    uint32_t requests;
    uint32_t cell_count; /* by step */
    size_t cell;
};

/* Read it, do not write it. All is in the order of its numbers. */
struct cpti_model {
    const struct cpt_alloc *alloc;
    struct cpti_model_texts texts;
    struct cpti_model_texts ids; /* witnesses */
    struct cpti_model_kind *kinds;
    struct cpti_model_class *classes;
    struct cpti_model_place *places;
    struct cpti_model_pair *pairs;
    struct cpti_model_step *steps;
    struct cpti_model_behaviour *behaviours;
    struct cpti_model_cell *cells;
    uint32_t *dropped; /* kinds of lines that were left out, the first ones that came */
    size_t kind_count;
    size_t class_count;
    size_t place_count;
    size_t pair_count;
    size_t step_count;
    size_t behaviour_count;
    size_t cell_count;
    size_t dropped_count;
    uint32_t requests;
    uint32_t level;         /* behaviours of lower levels are left out */
    uint64_t dropped_lines; /* of places beyond CPTI_MODEL_PAIRS_MAX */
    uint64_t dropped_steps; /* beyond CPTI_MODEL_STEPS_MAX */
};

void cpti_model_free(struct cpti_model *model);

/* Text @number of @texts; borrowed. */
struct cpt_bytes cpti_model_text(const struct cpti_model_texts *texts, uint32_t number);

/* The texts of kind @number of @model. */
struct cpt_bytes cpti_model_service(const struct cpti_model *model, uint32_t number);
struct cpt_bytes cpti_model_name(const struct cpti_model *model, uint32_t number);

/* Whether all requests entered by one kind: only then their classes are told apart by
 * the first other service. */
bool cpti_model_has_one_entry(const struct cpti_model *model);

/* --- Learning --- */

struct cpti_model_learner;

/* A zero field means its default. */
struct cpti_model_learner_options {
    bool is_coarse;   /* classes are by entry alone */
    size_t pairs_max; /* default CPTI_MODEL_PAIRS_MAX, which is the most */
    size_t cells_max; /* default CPTI_MODEL_CELLS_MAX, likewise */
};

/* NULL without memory. The caller owns it. @options NULL means all defaults. */
struct cpti_model_learner *
cpti_model_learner_new(const struct cpt_alloc *alloc,
                       const struct cpti_model_learner_options *options);
void cpti_model_learner_free(struct cpti_model_learner *learner);

/* The requests that are added from now on are of @requests, whose names are final. */
void cpti_model_learner_from(struct cpti_model_learner *learner,
                             const struct cpti_requests *requests);

/* Adds a request. CPT_OK; CPT_NO_MEMORY; CPT_LIMIT: there are 2^32 - 1 requests. */
cpt_status cpti_model_learner_add(struct cpti_model_learner *learner,
                                  const struct cpti_request *request);

/* Adds all that @model counted. CPT_OK; CPT_NO_MEMORY; CPT_LIMIT: together they have
 * 2^32 requests or more. */
cpt_status cpti_model_learner_absorb(struct cpti_model_learner *learner,
                                     const struct cpti_model *model);

/* The model of all that was added so far; the learner can go on. CPT_OK with a model
 * that the caller owns; CPT_NO_MEMORY. */
cpt_status cpti_model_learner_finish(struct cpti_model_learner *learner,
                                     struct cpti_model **model);

#endif
