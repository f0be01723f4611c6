/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_pprof.h - a tree as a pprof profile, or as folded stacks
 *
 * The profile is gzipped protobuf as `go tool pprof` reads it. Each stack with time of
 * its own is a sample with three values, always these, in this order, so that any two
 * profiles can be subtracted:
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
 * -unit=ms, because pprof otherwise prints all in the unit of the smallest row; on
 * differences the two fractions 0, because pprof otherwise hides frames whose callees
 * make up for them. -top -files shows it by service.
 *
 * Nothing here opens a file: bytes go to a sink in pieces.
 *
 * Threads: one at a time for each call.
 */
#ifndef CPT_PPROF_H
#define CPT_PPROF_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

struct cpt_tree;

/* Where bytes go. @write takes all @bytes at @data and returns 0, or anything else to
 * stop: the function that writes then returns CPT_IO. It is called from within that
 * function, on its thread, any number of times. */
struct cpt_sink {
    int (*write)(void *context, const void *data, size_t bytes);
    void *context;
};

/* Limits. pprof is known to open profiles of a million samples. */
#define CPT_PPROF_TOTAL_MAX                                                            \
    ((uint64_t)1 << 62) /* of all values of one type, added up */

/* A word on all samples of a profile, as arm = control. */
struct cpt_pprof_label {
    const char *key; /* not empty, and not "pprof::…", which is pprof's own */
    const char *text;
};

/* Labels of one profile, no two with the same key. They are meant to be few: pprof
 * keeps samples apart that differ in one. */
enum { CPT_PPROF_LABELS_MAX = 8, CPT_PPROF_GROUPS_MAX = 64 };

/*
 * A part of the requests that has labels of its own, as those with arm = control. A
 * stack with requests of several groups is a sample for each. The values of all its
 * samples add up to what the one sample would have had, so nothing changes for who does
 * not look at labels, and -tagfocus shows what a group contributes to the average.
 */
struct cpt_pprof_group {
    const struct cpt_tree *tree; /* of its requests */
    double share;                /* of the weight of all requests: 0 to 1 */
    const char *const *texts;    /* one for each of group_keys */
};

/* How to write a profile. A zero field means its default. */
struct cpt_pprof_options {
    size_t struct_bytes; /* sizeof, set by the caller */
    const char *title;   /* shown as "File:"; default: the entry note of the tree, or
                            the service of its only root frame, or "cpt" */
    const char *tool;    /* named in a comment: "cpt 0.1.0"; default "cpt" */
    const char *const *comments; /* further lines of comment, comment_count of them */
    size_t comment_count;
    uint64_t
        time_unix_ns;    /* when it was measured; default: the tree's window's begin */
    int is_uncompressed; /* leave gzip out */
    int gzip_level;      /* 1 fast to 9 small; default 6 */
    const struct cpt_pprof_label *labels; /* on each sample, label_count of them */
    size_t label_count;
    const char *const *group_keys; /* group_key_count of them; with the labels at most
                                      CPT_PPROF_LABELS_MAX, all different */
    size_t group_key_count;
    /* group_count of them, which together are the tree; none: no groups */
    const struct cpt_pprof_group *groups;
    size_t group_count;
};

/*
 * Writes @tree as a profile to @sink. @options NULL means all defaults. The selection
 * (notes and counts of the tree), the number of requests and their sampling
 * probabilities become comments, which pprof prints above each report. The same tree
 * and options give the same bytes.
 *
 * Memory: some 100 bytes a stack and the distinct names, from @alloc, for the time of
 * the call (zlib's and nanopb's own included).
 *
 * CPT_OK; CPT_INVALID if the tree has no requests, an option is out of range, or groups
 * are not of that tree;
 * CPT_LIMIT if a total would exceed CPT_PPROF_TOTAL_MAX; CPT_IO if the sink refused;
 * CPT_NO_MEMORY. After an error what the sink got is no profile.
 */
CPT_API cpt_status cpt_pprof_write(const struct cpt_alloc *alloc,
                                   const struct cpt_tree *tree,
                                   const struct cpt_pprof_options *options,
                                   const struct cpt_sink *sink,
                                   struct cpt_error *error);

/*
 * Writes @tree as folded stacks, which flame graph tools read: one line
 * "A: /;A: index;B: Lookup 1234" for each stack with time of its own, in the order of
 * stacks; the number is nanoseconds of the average request, and they add up to the mean
 * latency. Errors as above.
 */
CPT_API cpt_status cpt_folded_write(const struct cpt_alloc *alloc,
                                    const struct cpt_tree *tree,
                                    const struct cpt_sink *sink,
                                    struct cpt_error *error);

CPT_END_DECLS

#endif
