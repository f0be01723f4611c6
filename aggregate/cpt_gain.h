/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_gain.h - what a shorter frame would give back
 *
 * The time of a frame on the path is not what its removal would gain: then another task
 * keeps the request waiting. The *drag* of a segment is what the request would gain
 * without this segment alone. If all segments of a frame in a request go together, the
 * request gains
 *
 *      at least   the largest of their drags
 *      at most    their time on the path
 *
 * and often more than the sum of their drags, as one of them may hide another. So a
 * tree keeps both ends for each of its nodes, over the requests with drags (of whose
 * segments at least one has a drag that is known):
 *
 *      gain of a node  =  [ Σ w d / Σ w ,  Σ w x / Σ w ]
 *
 *      w   the weight of a request with drags
 *      d   the largest known drag of the node's own segments in it; 0 without any
 *      x   the node's self time in it; 0 without any
 *
 * Each end is an average over all requests with drags, and has an interval of its own
 * (cpt_mean_interval()). Times add up; drags do not: neither over the frames of a
 * stack, nor over stacks, nor over names. In a tree of names (cpt_view.h) the same
 * holds for all segments of a name on any stack.
 *
 * Threads: any, as long as no thread changes the tree.
 */
#ifndef CPT_GAIN_H
#define CPT_GAIN_H

#include "cpt_stats.h"
#include "cpt_tree.h"

CPT_BEGIN_DECLS

/* The requests of @tree with drags; 0: nothing is known of gains. */
CPT_API uint64_t cpt_gain_request_count(const struct cpt_tree *tree);

/* The weight of these requests together, in requests: Σw / CPT_WEIGHT_ONE. */
CPT_API double cpt_gain_weight(const struct cpt_tree *tree);

/* The gain of one node; all zero for a tree without drags. */
struct cpt_gain {
    uint64_t present_count; /* requests with drags that had self time on the node */
    uint64_t known_count;   /* of these, those with a drag of the node that is known */
    struct cpt_mean drag;   /* at least; without skewness */
    struct cpt_mean time;   /* at most; likewise */
    uint64_t drag_ns;       /* the mean of the drags, rounded half up */
    uint64_t drag_total_ns; /* that of all requests with drags together; with equal
                               weights the exact sum; at most UINT64_MAX */
    int is_rare; /* these requests, or those among them with time on the node, are
                    fewer than CPT_STATS_PRESENT_MIN: don't trust intervals */
};

CPT_API struct cpt_gain cpt_gain_of(const struct cpt_tree *tree, uint32_t node);

/* Forgets the drags: the tree is then written as a version without them. */
CPT_API void cpt_tree_forget_drags(struct cpt_tree *tree);

CPT_END_DECLS

#endif
