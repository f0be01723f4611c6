/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_pprof.h - a tree as a pprof profile, or as folded stacks
 *
 * The profile is gzipped protobuf as `go tool pprof` reads it. There are several kinds.
 * A kind has always the same three values, in the same order, so that any two profiles
 * of it can be subtracted; pprof refuses to subtract different kinds. The usual kind is
 * the critical path, where each stack with time of its own is a sample:
 *
 *      requests              count        on the entry frame's own sample only
 *      critical_path_total   nanoseconds  all requests together
 *      critical_path         nanoseconds  the average request: the default, shown first
 *
 * The values of critical_path add up to the mean latency. Look at it with
 *
 *      go tool pprof -unit=ms -top control.pb.gz
 *      go tool pprof -unit=ms -nodefraction=0 -edgefraction=0 -top \
 *          -diff_base=control.pb.gz treatment.pb.gz
 *
 * Without -unit=ms, pprof prints all rows in the unit of the smallest one; in a
 * difference, without the two fractions, it hides frames whose change is offset by
 * their callees. -top -files shows the profile by service.
 *
 * The other kind is the drag (cpt_gain.h), of the requests that have drags. A sample is
 * a stack with a known drag:
 *
 *      requests        count        those with a known drag of the stack
 *      drag_total      nanoseconds  the largest drag of the stack in each request, all
 *                                   requests together
 *      drag            nanoseconds  in the average request with drags
 *
 * Drags do not add up, neither over stacks nor along one: read the flat values of
 * single stacks. To merge profiles use drag_total and requests, whose quotient is the
 * mean drag where it is known.
 *
 * These functions open no file: bytes go to a sink in pieces.
 *
 * Threads: each call runs on one thread.
 */
#ifndef CPT_PPROF_H
#define CPT_PPROF_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_io.h"

CPT_BEGIN_DECLS

struct cpt_tree;

/* Limits. pprof is known to open profiles of a million samples. */
#define CPT_PPROF_TOTAL_MAX ((uint64_t)1 << 62) /* sum of all values of one type */

/* A label on all samples of a profile, such as arm = control. */
struct cpt_pprof_label {
    const char *key; /* not empty, and not "pprof::…", which is pprof's own */
    const char *text;
};

/* Labels of one profile, with distinct keys. Use few: pprof keeps samples apart that
 * differ in a label. */
enum { CPT_PPROF_LABELS_MAX = 8, CPT_PPROF_GROUPS_MAX = 64 };

/*
 * A part of the requests with labels of its own, such as those with arm = control. A
 * stack has one sample for each group that it has requests of. The values of its
 * samples add up to those of the one sample that it has without groups, so views
 * without labels do not change, and -tagfocus shows what a group contributes to the
 * average.
 */
struct cpt_pprof_group {
    const struct cpt_tree *tree; /* of the group's requests */
    double share;                /* of the weight of all requests: 0 to 1 */
    const char *const *texts;    /* one for each of group_keys */
};

/* What the values are. */
enum cpt_pprof_kind { CPT_PPROF_CRITICAL_PATH = 0, CPT_PPROF_DRAG = 1 };

/* How to write a profile. A zero field means its default. */
struct cpt_pprof_options {
    size_t struct_bytes; /* sizeof, set by the caller */
    const char *title;   /* shown as "File:"; default: the entry note of the tree, or
                            the service of its only root frame, or "cpt" */
    const char *tool;    /* named in a comment: "cpt 0.1.0"; default "cpt" */
    const char *const *comments; /* more lines of comment, comment_count of them */
    size_t comment_count;
    uint64_t time_unix_ns; /* when it was measured; default: begin of its window */
    int is_uncompressed;   /* leave gzip out */
    int gzip_level;        /* 1 fast to 9 small; default 6 */
    const struct cpt_pprof_label *labels; /* on each sample, label_count of them */
    size_t label_count;
    const char *const *group_keys; /* group_key_count of them; with the labels at most
                                      CPT_PPROF_LABELS_MAX, all different */
    size_t group_key_count;
    /* group_count of them, which together are the tree; 0: no groups */
    const struct cpt_pprof_group *groups;
    size_t group_count;
    unsigned kind; /* enum cpt_pprof_kind */
};

/*
 * Writes @tree as a profile to @sink. @options NULL means all defaults. The selection
 * (notes and counts of the tree), the number of requests and their sampling
 * probabilities become comments, which pprof prints above each report. The same tree
 * and options give the same bytes.
 *
 * Memory: about 100 bytes for each stack, and the distinct names, from @alloc, during
 * the call. This includes zlib and nanopb.
 *
 * CPT_OK; CPT_INVALID if the tree has no requests (of drags: none with drags), an
 * option is out of range, or a group has a stack that the tree does not have; CPT_LIMIT
 * if a total would exceed CPT_PPROF_TOTAL_MAX; CPT_IO if the sink stopped;
 * CPT_NO_MEMORY. After an error the bytes in the sink are not a profile.
 */
CPT_API cpt_status cpt_pprof_write(const struct cpt_alloc *alloc,
                                   const struct cpt_tree *tree,
                                   const struct cpt_pprof_options *options,
                                   const struct cpt_sink *sink,
                                   struct cpt_error *error);

/*
 * Writes @tree as folded stacks, which flame graph tools read: one line
 * "A: /;A: index;B: Lookup 1234" for each stack with time of its own, in the order of
 * stacks. The number is nanoseconds of the average request; all numbers add up to the
 * mean latency. Errors as above.
 */
CPT_API cpt_status cpt_folded_write(const struct cpt_alloc *alloc,
                                    const struct cpt_tree *tree,
                                    const struct cpt_sink *sink,
                                    struct cpt_error *error);

CPT_END_DECLS

#endif
