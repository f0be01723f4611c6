/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_splice.h - the expected result of splicing a call, computed simply
 *
 * A callee's path is a few segments, each with its whole stack as text. The model turns
 * it and the caller's observations into *runs*: a stack as text and its duration. It
 * shares no code with cpt_path_splice() except the words for kinds.
 */
#ifndef MODEL_SPLICE_H
#define MODEL_SPLICE_H

#include "cpt/cpt_path.h"
#include "tests/support/test_random.h"

enum {
    MODEL_SEGMENTS_MAX = 8,
    MODEL_DEPTH_MAX = 4,
    MODEL_TEXT_BYTES = 512,
    MODEL_RUNS_MAX = MODEL_SEGMENTS_MAX + 4 /* the kinds that a splice adds */
};

struct model_segment {
    const char *names[MODEL_DEPTH_MAX]; /* root first; "" for kinds without a name */
    unsigned kinds[MODEL_DEPTH_MAX];
    size_t depth;
    uint64_t duration_ns;
};

struct model_callee {
    struct model_segment segments[MODEL_SEGMENTS_MAX];
    size_t segment_count;
};

struct model_run {
    char stack[MODEL_TEXT_BYTES];
    uint64_t duration_ns;
    unsigned reason;
    unsigned flags;
    uint64_t excess_ns; /* of the label on it; 0: none */
};

struct model_runs {
    struct model_run runs[MODEL_RUNS_MAX];
    size_t count;
    uint64_t overcount_ns;
    uint64_t undercount_ns;
    int is_inconsistent;
};

/* A callee whose segments last up to @duration_ns_max each; some have 0 ns, some have
 * @call_name for their root. */
void model_callee_make(struct model_callee *callee, struct test_random *random,
                       const char *call_name, uint64_t duration_ns_max);

/* The same as a path. Asserts that it could be made. */
void model_callee_path(const struct model_callee *callee, struct cpt_path *path);

/* Appends frame @name of @kind to the stack @text, as people read it. */
void model_stack_push(char text[MODEL_TEXT_BYTES], const char *name, unsigned kind);

/* The runs of a call with stack @call_text and last frame @call_name. @callee may be
 * NULL. */
void model_splice(struct model_runs *runs, const char *call_text, const char *call_name,
                  const struct model_callee *callee, const struct cpt_splice *splice);

#endif
