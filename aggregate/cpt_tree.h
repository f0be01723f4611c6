/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_tree.h - the paths of many requests, aggregated into one tree of stacks
 *
 * Every request has a path: segments, each on a stack of frames. Requests share most of
 * their stacks, so together they make a prefix tree. A node is a stack; it keeps, over
 * all requests, the time spent on exactly this stack (*self*) and on it or anything
 * below it (*inclusive*).
 *
 *      request 1   A;A1 5, A;A1;A2 20, A;A1 5          30 ns
 *      request 2   A;A1 5, A;A1;B1 30, A;A1 5          40 ns
 *
 *      (all)                      inclusive 35
 *      '- A                       inclusive 35
 *         '- A1        self 10    inclusive 35
 *            |- A2     self 10    inclusive 10   in half of the requests
 *            '- B1     self 15    inclusive 15   in half of the requests
 *
 * Averages divide by all requests that were added, including those without the stack.
 * So the self times of all nodes add up to the mean latency, and two stacks that never
 * occur in one request may both have a share. cpt_stats.h tells how often a stack
 * occurs and how long it takes when it does.
 *
 * A request that was sampled with probability p stands for 1/p requests: its weight.
 * The tree keeps exact integer sums (of weights, weighted times, their squares and
 * cubes) and divides only at the end. So the order in which requests are added and
 * trees are merged changes not a single bit:
 *
 *      merge(merge(a, b), c) = merge(a, merge(c, b)) = the tree of all their requests
 *
 * In order of use: cpt_tree_new; cpt_tree_add for each request (or cpt_tree_decode);
 * cpt_tree_note, cpt_tree_count_add to describe the selection; cpt_tree_merge;
 * cpt_tree_encode to store it; cpt_tree_walk_new to read it in a fixed order.
 *
 * Threads: one at a time. Several may read a tree while no thread changes it.
 */
#ifndef CPT_TREE_H
#define CPT_TREE_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_io.h"
#include "cpt/cpt_name.h"

CPT_BEGIN_DECLS

struct cpt_path;
struct cpt_tree;
struct cpt_tree_walk;

/* --- Weights --- */

/*
 * The weight of a request in 2^-20ths: CPT_WEIGHT_ONE is one request. It is a whole
 * number, so that sums are exact; 1/p is rounded to it once, by less than one in a
 * million.
 */
typedef uint64_t cpt_weight;

#define CPT_WEIGHT_ONE ((cpt_weight)1 << 20)

/* The heaviest weight: of one request in 2^28. */
#define CPT_WEIGHT_MAX ((cpt_weight)1 << 48)

/*
 * The weight of a request that was sampled with @probability: 1/p. For anything but a
 * number from 2^-28 to 1 it is 0, which cpt_tree_add() refuses.
 */
CPT_API cpt_weight cpt_weight_of_probability(double probability);

/* --- The tree --- */

/* Limits. A time is below 2^56 ns (two years), requests are fewer than 2^48. So no sum
 * can overflow, and merging never depends on the order. */
#define CPT_TREE_TIME_MAX     (((uint64_t)1 << 56) - 1)
#define CPT_TREE_REQUESTS_MAX (((uint64_t)1 << 48) - 1)
enum {
    CPT_TREE_NODES_MAX = 1 << 24, /* the most for nodes_max */
    CPT_TREE_DEPTH_MAX = 1024,    /* frames of one stack */
    CPT_TREE_NOTES_MAX = 4096,    /* notes and counts together */
    CPT_TREE_NOTE_KEY_BYTES_MAX = 255,
    CPT_TREE_NOTE_VALUE_BYTES_MAX = 4096
};

/* What a tree allows. A zero field means its default. */
struct cpt_tree_options {
    size_t struct_bytes; /* sizeof, set by the caller */
    size_t nodes_max;    /* distinct stacks; default 4,194,304 */
};

/* The node that all requests share; it is not a frame. Its inclusive time is the
 * latency, its self time 0. */
enum { CPT_TREE_ROOT = 0 };

/* No node: the parent of the root. */
#define CPT_TREE_NONE UINT32_MAX

/*
 * An empty tree over @alloc (NULL: malloc's); @options NULL means all defaults. The
 * caller owns it. NULL without memory or with wrong options.
 */
CPT_API struct cpt_tree *cpt_tree_new(const struct cpt_alloc *alloc,
                                      const struct cpt_tree_options *options);
CPT_API void cpt_tree_free(struct cpt_tree *tree);

/*
 * Adds one request with its @path, which must conserve time (cpt_path_check()), and its
 * @weight.
 *
 * CPT_OK; CPT_INVALID for a weight below CPT_WEIGHT_ONE or above CPT_WEIGHT_MAX;
 * CPT_LIMIT for a latency above CPT_TREE_TIME_MAX, at nodes_max, and at
 * CPT_TREE_REQUESTS_MAX; CPT_NO_MEMORY. After an error the tree is as before.
 */
CPT_API cpt_status cpt_tree_add(struct cpt_tree *tree, const struct cpt_path *path,
                                cpt_weight weight);

/* --- Requests whose frames are known --- */

/*
 * Remembers that paths with the frames of @path, in the same order, have @shape, a
 * number that the caller gives each distinct table of frames (see cpt_log_shape.h). The
 * tree may forget a shape at any time, and does when there are too many.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT (names). After an error the tree is as before.
 */
CPT_API cpt_status cpt_tree_shape_keep(struct cpt_tree *tree, uint64_t shape,
                                       const struct cpt_path *path);

/* Whether @shape is known. */
CPT_API int cpt_tree_shape_is_kept(const struct cpt_tree *tree, uint64_t shape);

/*
 * Adds one request of @shape, which is known: @self_ns has the self time of each frame,
 * in sum less than 2^63. Does the same as cpt_tree_add() of the whole path without
 * names and look-ups. Errors of cpt_tree_add().
 */
CPT_API cpt_status cpt_tree_shape_add(struct cpt_tree *tree, uint64_t shape,
                                      const uint64_t *self_ns, cpt_weight weight);

/*
 * Widens the time window of the tree so that it contains @unix_ns (wall-clock
 * nanoseconds since 1970-01-01 UTC). Call it for each request.
 */
CPT_API void cpt_tree_time_add(struct cpt_tree *tree, uint64_t unix_ns);

/*
 * Adds requests, notes, counts and window of @from to @tree. The result is the tree of
 * all their requests, in any order of merging.
 *
 * CPT_OK; CPT_LIMIT at a limit of @tree; CPT_NO_MEMORY. After an error @tree is as
 * before.
 */
CPT_API cpt_status cpt_tree_merge(struct cpt_tree *tree, const struct cpt_tree *from);

/* Forgets the third moments: the tree is then written as version 1, which programs of
 * release 0.1 read. Intervals of its means have no skewness any more. */
CPT_API void cpt_tree_forget_cubes(struct cpt_tree *tree);

/* --- Requests that were added up elsewhere --- */

/* Sums over requests of a time x; low limbs first. */
struct cpt_tree_group_sums {
    uint64_t sum[2];     /* of x */
    uint64_t squares[3]; /* of x times x */
};

/*
 * Requests with one stack, added up as by a database: they have the same weight, and
 * their inclusive times lie in the same bucket. If Σ x·x·x is 0 although Σ x is not, it
 * counts as unknown, and then the skewness of all means of the tree is unknown, too.
 */
struct cpt_tree_group {
    cpt_weight weight;
    uint64_t count;  /* of requests; more than 0 */
    uint64_t min_ns; /* of the inclusive times */
    uint64_t max_ns;
    struct cpt_tree_group_sums self;
    struct cpt_tree_group_sums inclusive;
    uint64_t self_cubes[4]; /* sum of x times x times x; low limbs first */
    uint64_t inclusive_cubes[4];
};

/* The number of the bucket of a time. */
CPT_API uint32_t cpt_tree_bucket(uint64_t time_ns);

/*
 * Sets *@node to the node below @parent with @name and @kind, which is added if it is
 * new. A tree can only be encoded and decoded again if every node got a group.
 *
 * CPT_OK; CPT_INVALID for a name of more than CPT_NAME_BYTES_MAX; CPT_LIMIT at
 * nodes_max and CPT_TREE_DEPTH_MAX; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_tree_node_add(struct cpt_tree *tree, uint32_t parent,
                                     struct cpt_bytes name, unsigned kind,
                                     uint32_t *node);

/*
 * Adds @group to @node. Each request must be in one group of the root, where its
 * inclusive time is the latency and its self time 0, and in one group of each stack
 * that has inclusive time in it; then the tree is that of cpt_tree_add(). Whether
 * groups fit together is not checked: if they come from outside, encode the tree and
 * decode it.
 *
 * CPT_OK; CPT_INVALID if the group contradicts itself; CPT_LIMIT at
 * CPT_TREE_REQUESTS_MAX; CPT_NO_MEMORY. After an error the tree is as before.
 */
CPT_API cpt_status cpt_tree_group_add(struct cpt_tree *tree, uint32_t node,
                                      const struct cpt_tree_group *group);

/* --- The requests as a whole --- */

/* The count of requests that were added. */
CPT_API uint64_t cpt_tree_request_count(const struct cpt_tree *tree);

/* The lightest and the heaviest weight of all requests; 0 without any. The reciprocal
 * of a weight is the sampling probability. */
CPT_API cpt_weight cpt_tree_weight_min(const struct cpt_tree *tree);
CPT_API cpt_weight cpt_tree_weight_max(const struct cpt_tree *tree);

/* The sum of all weights: how many requests these ones stand for. */
CPT_API double cpt_tree_weight(const struct cpt_tree *tree);

/* The window of cpt_tree_time_add(); 0 if that was never called. */
CPT_API uint64_t cpt_tree_time_first_ns(const struct cpt_tree *tree);
CPT_API uint64_t cpt_tree_time_last_ns(const struct cpt_tree *tree);

/* --- Notes on the selection --- */

/*
 * Adds a note on the origin of the requests: "entry" = "A", "where" = "arm=control". A
 * key may have several values, and the same pair is kept once: a merged tree has the
 * pairs of both. Keys and values are UTF-8 without NUL. The tool chooses the keys;
 * these are the usual ones, which pprof-export and reports know:
 *
 *      entry       entry service
 *      source      file that was read
 *      where       one term of the selection
 *      from, to    window as the user gave it
 *      percentile  a percentile of the selection, and its value
 *      sample      how many of how many requests
 *      forced      "included", if forced requests are among them
 *      weights     "none …", if each record counts 1
 *
 * CPT_OK; CPT_LIMIT at CPT_TREE_NOTES_MAX, for an empty key or one of more than 255
 * bytes, and for a value of more than 4,096; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_tree_note(struct cpt_tree *tree, const char *key,
                                 const char *value);

/*
 * Adds @count to the count @key ("records", "skipped", "forced_excluded" …). Counts of
 * merged trees are added; they stop at 2^64 - 1. Errors of cpt_tree_note().
 */
CPT_API cpt_status cpt_tree_count_add(struct cpt_tree *tree, const char *key,
                                      uint64_t count);

/* A note (value is text) or a count (value is NULL). */
struct cpt_tree_note_entry {
    const char *key;
    const char *value;
    uint64_t count;
};

/* Notes and counts together, sorted by key, then value. Pointers are borrowed until the
 * tree is changed or freed. */
CPT_API size_t cpt_tree_note_count(const struct cpt_tree *tree);
CPT_API struct cpt_tree_note_entry cpt_tree_note_at(const struct cpt_tree *tree,
                                                    size_t index);

/* The value of the first note @key, or NULL. */
CPT_API const char *cpt_tree_note_find(const struct cpt_tree *tree, const char *key);

/* The count @key; 0 if there is none. */
CPT_API uint64_t cpt_tree_count_find(const struct cpt_tree *tree, const char *key);

/* --- Nodes --- */

/* Nodes have numbers from CPT_TREE_ROOT to cpt_tree_node_count() - 1, a parent before
 * its children, otherwise in the order of adding. Use cpt_tree_walk to show them. */
CPT_API uint32_t cpt_tree_node_count(const struct cpt_tree *tree);

/* The node one frame shorter; CPT_TREE_NONE for the root. */
CPT_API uint32_t cpt_tree_parent(const struct cpt_tree *tree, uint32_t node);

/* Its last frame: name and kind (enum cpt_kind in cpt_path.h). The name is borrowed
 * until the tree is changed or freed. */
CPT_API struct cpt_bytes cpt_tree_name(const struct cpt_tree *tree, uint32_t node);
CPT_API unsigned cpt_tree_kind(const struct cpt_tree *tree, uint32_t node);

/* The count of frames of its stack; 0 for the root. */
CPT_API unsigned cpt_tree_depth(const struct cpt_tree *tree, uint32_t node);

/* The service of its last frame: that of the frame's name, or of the nearest frame
 * above that has one. Only frames of kind CPT_KIND_WORK count. Empty if none has a
 * service. */
CPT_API struct cpt_bytes cpt_tree_service(const struct cpt_tree *tree, uint32_t node);

/*
 * The text of the last frame ("B: Lookup", "B: ‹blind spot›") and of the whole stack,
 * root first, joined by ';'. Both write at most @capacity bytes including a terminating
 * NUL, and return the bytes of the whole text without it. The root has the empty text.
 */
CPT_API size_t cpt_tree_frame_text(const struct cpt_tree *tree, uint32_t node,
                                   char *text, size_t capacity);
CPT_API size_t cpt_tree_stack_text(const struct cpt_tree *tree, uint32_t node,
                                   char *text, size_t capacity);

/* Enough bytes for any cpt_tree_frame_text() with its NUL. */
enum { CPT_TREE_FRAME_TEXT_BYTES = 2304 };

/*
 * Less than 0, more than 0 or 0: @left's stack comes before, after or is @right's.
 * Stacks are compared frame by frame, root first, by the bytes of the name, then by
 * kind; a prefix comes first. The nodes may be of different trees.
 */
CPT_API int cpt_tree_stack_compare(const struct cpt_tree *left_tree, uint32_t left,
                                   const struct cpt_tree *right_tree, uint32_t right);

/* --- Walking --- */

enum cpt_tree_order {
    CPT_TREE_BY_NAME = 0, /* siblings by the bytes of their names, then kind */
    CPT_TREE_BY_TIME = 1  /* siblings by inclusive time, largest first; then as above */
};

/* One node on a walk. Depth first: a node, then all below it. */
struct cpt_tree_row {
    uint32_t node;         /* its number in the tree */
    uint32_t parent;       /* index of its parent's row; CPT_TREE_NONE for the first */
    uint32_t depth;        /* frames of its stack; 0 for the first row, the root */
    uint32_t below;        /* count of the rows below it, which follow it */
    uint64_t self_ns;      /* average for a request; these add up to the mean latency */
    uint64_t inclusive_ns; /* the sum of self_ns of this row and all rows below it */
};

/*
 * The nodes of @tree in a fixed order; row 0 is the root. The average times are whole
 * nanoseconds, rounded by largest remainder (ties go to the stack that comes first by
 * name), so that the root's inclusive_ns is the mean latency, rounded half up, and the
 * self_ns of all rows add up to it. NULL without memory. The caller owns it; @tree must
 * outlive it and must not change until it is freed.
 */
CPT_API struct cpt_tree_walk *cpt_tree_walk_new(const struct cpt_alloc *alloc,
                                                const struct cpt_tree *tree,
                                                enum cpt_tree_order order);
CPT_API void cpt_tree_walk_free(struct cpt_tree_walk *walk);

CPT_API uint32_t cpt_tree_walk_count(const struct cpt_tree_walk *walk);
CPT_API const struct cpt_tree_row *cpt_tree_walk_row(const struct cpt_tree_walk *walk,
                                                     uint32_t index);

/*
 * Writes the time of @request_count average requests by row, rounded as above, to
 * @self_ns: cpt_tree_walk_count() values. For 1 request they are the rows' self_ns; for
 * cpt_tree_request_count(), if all weights are equal, exactly the measured sums.
 *
 * CPT_OK; CPT_LIMIT if they sum to more than 2^62; CPT_CORRUPT if the groups of the
 * tree do not add up; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_tree_walk_apportion(const struct cpt_tree_walk *walk,
                                           uint64_t request_count, uint64_t *self_ns);

/* --- Bytes (docs/format-tree.md) --- */

/*
 * The tree as bytes, in memory of @alloc that the caller owns and gives back by
 * cpt_alloc_free(). Equal trees give equal bytes, in whatever order they were built.
 *
 * CPT_OK; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_tree_encode(const struct cpt_alloc *alloc,
                                   const struct cpt_tree *tree, void **bytes,
                                   size_t *byte_count);

/*
 * Passes the same bytes piece by piece to @sink, from within this call. Takes memory of
 * @alloc for the order of the nodes, not for the bytes.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_IO if @sink failed.
 */
CPT_API cpt_status cpt_tree_write(const struct cpt_alloc *alloc,
                                  const struct cpt_tree *tree,
                                  const struct cpt_sink *sink);

/*
 * Sets *@tree to a new tree of such bytes, which the caller owns. The bytes may come
 * from anywhere: they are checked, and memory grows with the bytes that were read,
 * never with a number that they claim.
 *
 * CPT_OK; CPT_TRUNCATED, CPT_CORRUPT, CPT_VERSION, CPT_LIMIT with the place in @error;
 * CPT_INVALID (options); CPT_NO_MEMORY. After an error *@tree is as before.
 */
CPT_API cpt_status cpt_tree_decode(const struct cpt_alloc *alloc,
                                   const struct cpt_tree_options *options,
                                   const void *bytes, size_t byte_count,
                                   struct cpt_tree **tree, struct cpt_error *error);

/* Whether bytes begin like an encoded tree; eight of them are enough. Distinguishes a
 * tree from a path log. */
CPT_API int cpt_tree_is_encoded(const void *bytes, size_t byte_count);

CPT_END_DECLS

#endif
