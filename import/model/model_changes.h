/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_changes.h - what two models do differently
 *
 *      base  a -> b  in 60 of 60 requests      new  a -> c  in 19 of 19
 *          "after a no longer b but c: 60 of 60 -> 0 of 19 requests, p 0.001"
 *
 * The sample is the request: each that has an a gives one value for each b, the share
 * of its a's that b follows. z of a step is the difference of the means over its
 * standard error, both models taken together. Of each a the step that vanished most and
 * the one that appeared most are a row.
 *
 * Chance is measured by trial: requests are dealt anew to the two sides, and p of a row
 * is how often any row is as far off as it. Another mix of requests is no change of
 * behaviour, so all of that is done a second time with the requests of each class dealt
 * by themselves, and p is the larger of both. There, the beginning of a unit counts for
 * all requests of a class that has such units, so that a call which is not made any
 * more is a change. A row whose step does not change that way (|z| below 1.96, or the
 * other way round) says that it may be the mix, and comes behind all others.
 *
 * The same models and seed give the same rows.
 */
#ifndef CPTI_MODEL_CHANGES_H
#define CPTI_MODEL_CHANGES_H

#include "import/model/model_relations.h"

enum { CPTI_CHANGES_ROUNDS = 999, CPTI_CHANGES_ROUNDS_MIN = 199 };

/* A row. Numbers are of `joint`. */
struct cpti_model_change {
    uint32_t service; /* a text */
    uint32_t after;   /* a kind + 1; 0: the unit begins */
    uint32_t was;     /* a kind + 1; 0: the unit ends */
    uint32_t now;
    double z;        /* of `was`, or of `now` if that is further from 0 */
    double z_of_mix; /* the same with the mix held equal */
    double p;
    double shares[2]; /* of `was`, in the base and the new model */
    double now_shares[2];
    uint64_t requests[2]; /* that have an `after` */
    bool is_mix_equal;    /* it changes so with one mix of classes, too */
};

/* A kind that one side alone has. */
struct cpti_model_kind_change {
    uint32_t kind;
    uint64_t requests[2]; /* one of them is 0 */
    double p;             /* of Fisher's test, times the number of kinds */
};

/* A pair of places whose relation changed. */
struct cpti_model_order_change {
    uint32_t class; /* of `joint`, as are the places */
    uint32_t low;
    uint32_t high;
    enum cpti_model_relation was;
    enum cpti_model_relation now;
    uint32_t both[2];
    uint32_t refuted[2]; /* counterexamples to the order that is lost or gained */
    double p;            /* of Fisher's test, times the number of pairs */
    uint32_t witness;    /* an id of `joint`, or CPTI_MODEL_NONE */
};

struct cpti_model_changes {
    const struct cpt_alloc *alloc;
    struct cpti_model *joint; /* of both sides */
    struct cpti_model_change *rows;
    struct cpti_model_kind_change *kinds;
    struct cpti_model_order_change *orders; /* with p below 0.05, by p */
    size_t row_count;
    size_t kind_count;
    size_t order_count;
    uint64_t requests[2]; /* whose behaviour was compared */
    unsigned rounds;
    bool is_coarse; /* classes are by entry alone */
};

struct cpti_changes_options {
    struct cpti_model_rule rule;
    uint64_t seed;
};

/* Compares two models. CPT_OK with changes that the caller owns; CPT_NO_MEMORY;
 * CPT_LIMIT: together they have 2^32 requests or more. */
cpt_status cpti_model_changes_find(const struct cpt_alloc *alloc,
                                   const struct cpti_model *base,
                                   const struct cpti_model *new_one,
                                   const struct cpti_changes_options *options,
                                   struct cpti_model_changes **changes);
void cpti_model_changes_free(struct cpti_model_changes *changes);

#endif
