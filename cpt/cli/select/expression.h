/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression.h - the language of --where, from its text to a small program
 *
 *      arm == "B" and region in ("eu", "us") and latency > p99
 *          and has(page.carousel) and path("A: A2") > 20ms
 *
 * A text becomes *tests*, each one comparison, joined by and, or, not. What is run for
 * a record is a chain of them in which each test knows where to go on if it holds and
 * where if it does not; so there is neither a stack nor memory to be taken:
 *
 *      arm == "B" --yes--> latency > 20ms --yes--> path("A: A2") > 5ms --yes-->
 * selected
 *          '------no---------------'------no---------------'------no---> not selected
 *
 * Several texts can be added; all must hold. What they are made of at the top, joined
 * by `and`, are the *terms*. For people the language is described in docs/selection.md
 * and cpt-select(7); the grammar stands in expression.c.
 *
 * A struct cpti_expression owns nothing, is empty when it is zero, and may be copied by
 * assignment. It is large: some 70 KiB.
 *
 * Threads: one at a time while texts are added; then any number may run it, each with
 * a scratch of its own.
 */
#ifndef CPTI_CLI_EXPRESSION_H
#define CPTI_CLI_EXPRESSION_H

#include "cpt/cpt_name.h"

struct cpt_log_index;
struct cpt_log_index_block;
struct cpt_log_shapes;
struct cpt_path;
struct cpt_record;
struct cpti_marks;

/* Limits of one selection: all its texts together. */
enum {
    CPTI_EXPRESSION_TERMS_MAX = 64,
    CPTI_EXPRESSION_TESTS_MAX = 256,
    CPTI_EXPRESSION_NODES_MAX = 4 * CPTI_EXPRESSION_TESTS_MAX,
    CPTI_EXPRESSION_VALUES_MAX = 512,      /* to compare with */
    CPTI_EXPRESSION_BYTES_MAX = 16 * 1024, /* of their texts and keys */
    CPTI_EXPRESSION_DEPTH_MAX = 64,        /* parentheses and what waits for its end */
    CPTI_EXPRESSION_FRAMES_MAX = 64,       /* of one path("…;…") */
    CPTI_EXPRESSION_PERCENTILES_MAX = 8    /* different ones */
};

/* What a test looks at. The first are fields of the record. */
enum cpti_subject {
    CPTI_SUBJECT_SERVICE,
    CPTI_SUBJECT_METHOD,
    CPTI_SUBJECT_ENTRY,
    CPTI_SUBJECT_STATUS,
    CPTI_SUBJECT_FORCED,
    CPTI_SUBJECT_RANDOM,
    CPTI_SUBJECT_FAILED,
    CPTI_SUBJECT_LOCAL_ROOT,
    CPTI_SUBJECT_TRACE_ID,
    CPTI_SUBJECT_LATENCY,
    CPTI_SUBJECT_START,
    CPTI_SUBJECT_ATTRIBUTE,
    CPTI_SUBJECT_PATH /* inclusive time of a frame or stack */
};

enum cpti_relation {
    CPTI_RELATION_EQUAL,
    CPTI_RELATION_NOT_EQUAL,
    CPTI_RELATION_LESS,
    CPTI_RELATION_AT_MOST,
    CPTI_RELATION_GREATER,
    CPTI_RELATION_AT_LEAST,
    CPTI_RELATION_IN,
    CPTI_RELATION_NOT_IN,
    CPTI_RELATION_HAS
};

/* Which numbers a value can be compared with. */
enum cpti_number {
    CPTI_NUMBER_NONE,
    CPTI_NUMBER_INTEGER,
    CPTI_NUMBER_REAL,
    CPTI_NUMBER_FLOAT_ONLY /* of the simple form: 5e0 is a float's value, no integer's
                            */
};

/* Something to compare with. Texts stand in the expression's buffer. */
struct cpti_value {
    uint32_t text_at;
    uint32_t text_bytes;
    uint8_t number;    /* enum cpti_number */
    uint8_t is_simple; /* of KEY=VALUE */
    uint8_t is_number; /* written as one: a text is then read as one */
    uint8_t is_shown;  /* a frame, as people see it rather than its name */
    int8_t truth;      /* 0 or 1; -1: neither true nor false */
    int8_t percentile; /* its index; -1: none */
    int64_t integer;
    double real;
    uint64_t ns; /* of a duration, or since 1970 */
};

/* Where the chain ends, in place of the next test. */
enum { CPTI_EXPRESSION_ACCEPT = UINT16_MAX, CPTI_EXPRESSION_REJECT = UINT16_MAX - 1 };

struct cpti_test {
    uint8_t subject;  /* enum cpti_subject */
    uint8_t relation; /* enum cpti_relation */
    uint16_t on_true; /* the next test, or an end */
    uint16_t on_false;
    uint16_t value; /* the first; of `path` the frames stand in front of it */
    uint16_t value_count;
    uint16_t frame_count;
    uint32_t key_at; /* of an attribute, as texts of values are */
    uint32_t key_bytes;
};

/* A part of the tree that the chain is made from. */
struct cpti_node {
    uint8_t kind;
    uint8_t cost; /* of the most expensive test within */
    uint8_t has_percentile;
    uint8_t is_left_out; /* of the chain, see cpti_expression_link() */
    uint16_t test;
    uint16_t first; /* child */
    uint16_t last;
    uint16_t next;  /* sibling */
    uint16_t start; /* its test that is run first */
    uint16_t on_true;
    uint16_t on_false;
};

/* pNN: of the latencies of all records that the terms without a percentile take. */
struct cpti_percentile {
    uint64_t share;      /* in millionths of a percent: p99.9 is 99,900,000 */
    uint64_t latency_ns; /* filled in after a first pass */
    char name[16];       /* "p99.9" */
};

struct cpti_expression {
    struct cpti_test tests[CPTI_EXPRESSION_TESTS_MAX];
    struct cpti_node nodes[CPTI_EXPRESSION_NODES_MAX];
    struct cpti_value values[CPTI_EXPRESSION_VALUES_MAX];
    struct cpti_percentile percentiles[CPTI_EXPRESSION_PERCENTILES_MAX];
    char texts[CPTI_EXPRESSION_BYTES_MAX];
    uint16_t terms[CPTI_EXPRESSION_TERMS_MAX]; /* nodes of the texts that were added */
    size_t term_count;
    size_t test_count;
    size_t node_count;
    size_t value_count;
    size_t percentile_count;
    size_t text_bytes;
    uint16_t start;  /* of the chain */
    uint64_t number; /* another one whenever something is added; of a copy the same */
};

/* What is wrong with a text, and where. */
struct cpti_expression_error {
    size_t at; /* byte of the text */
    char sentence[256];
};

/* Whether @text is KEY=VALUE, which needs no quotes: the value is all that follows. */
int cpti_expression_is_simple(struct cpt_bytes text);

/*
 * Adds @text, in the language or in the simple form. @now_unix_ns is what `15m` (ago)
 * is counted from. Nothing of @text is kept.
 *
 * 1; or 0 with @error filled in, and the expression as before.
 */
int cpti_expression_add(struct cpti_expression *expression, struct cpt_bytes text,
                        uint64_t now_unix_ns, struct cpti_expression_error *error);

/* Makes the chain: of all terms, or (@is_population) of those without a percentile,
 * which say whose percentile it is. cpti_expression_add() has done the former. */
void cpti_expression_link(struct cpti_expression *expression, int is_population);

/* Whether nothing holds for a record that was not traced by chance. */
int cpti_expression_requires_random(const struct cpti_expression *expression);

/* The key of test @index; empty for a path. */
struct cpt_bytes cpti_expression_key(const struct cpti_expression *expression,
                                     size_t index);

/* --- Running it: expression_run.c --- */

/* What one thread needs to look into paths. Zero at first; the path is decoded once a
 * record, when a test asks for it, and not at all if its frames are known
 * (expression_path.c). */
struct cpti_scratch {
    struct cpt_path *path;
    unsigned char *marks; /* one a frame */
    size_t mark_capacity;
    int is_decoded; /* of the record at hand: 1 yes, -1 it has no path that holds */
    /* The frames of paths that were met, and which of them a test names. */
    struct cpt_log_shapes *shapes;
    struct cpti_marks *known;
    int shape_state; /* of the record at hand */
    uint64_t shape;
    const uint64_t *self_ns;
    size_t frame_count;
};

void cpti_scratch_deinit(struct cpti_scratch *scratch);

/*
 * Whether @expression holds for @record: 1 or 0; -1 if that hangs on its path and the
 * path cannot be had. Memory is taken for paths that are larger than any before, and
 * for nothing else.
 */
int cpti_expression_holds(const struct cpti_expression *expression,
                          const struct cpt_record *record,
                          struct cpti_scratch *scratch);

/* The same for test @index alone. */
int cpti_expression_test(const struct cpti_expression *expression, size_t index,
                         const struct cpt_record *record, struct cpti_scratch *scratch);

/* --- What an index says of it: expression_index.c --- */

/* Whether @expression may hold for a record of @block, by what @index says of that: 0
 * only if it holds for none, and none has to be asked for its path. */
int cpti_expression_may_hold(const struct cpti_expression *expression,
                             const struct cpt_log_index *index,
                             const struct cpt_log_index_block *block);

#endif
