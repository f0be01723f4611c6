/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression.h - the language of --where, from its text to a small program
 *
 *      arm == "B" and region in ("eu", "us") and latency > p99
 *          and has(page.carousel) and path("A: A2") > 20ms
 *
 * A text becomes *tests*, each one comparison, joined by and, or, not. For each record
 * a chain of tests is run. Each test names the next test for both outcomes, so the run
 * needs neither a stack nor memory:
 *
 *      arm == "B" --yes--> latency > 9ms --yes--> path("A: A2") > 5ms --yes--> selected
 *          '--------no-------------'----------no------------'-----no--> not selected
 *
 * Several texts can be added; all must hold. The *terms* are the parts of the texts
 * that `and` joins at the top. docs/selection.md and cpt-select(7) describe the
 * language; the grammar stands in expression.c.
 *
 * A struct cpti_expression owns nothing, is empty when zero, and may be copied by
 * assignment. It is large: about 60 KiB.
 *
 * Threads: one at a time while texts are added; then any number of threads may run it,
 * each with its own scratch.
 */
#ifndef CPTI_CLI_EXPRESSION_H
#define CPTI_CLI_EXPRESSION_H

#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpt_log_index;
struct cpt_log_index_block;
struct cpt_log_shapes;
struct cpt_path;
struct cpt_record;
struct cpti_marks;

/* Limits of a selection, for all its texts together. */
enum {
    CPTI_EXPRESSION_TERMS_MAX = 64,
    CPTI_EXPRESSION_TESTS_MAX = 256,
    CPTI_EXPRESSION_NODES_MAX = 4 * CPTI_EXPRESSION_TESTS_MAX,
    CPTI_EXPRESSION_VALUES_MAX = 512,      /* to compare with */
    CPTI_EXPRESSION_BYTES_MAX = 16 * 1024, /* of their texts and keys */
    CPTI_EXPRESSION_DEPTH_MAX = 64,        /* open parentheses and operators */
    CPTI_EXPRESSION_FRAMES_MAX = 64,       /* of one path("…;…") */
    CPTI_EXPRESSION_PERCENTILES_MAX = 8    /* different percentiles */
};

/* The left side of a test. The first ones are fields of the record. */
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

enum cpti_comparison {
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
    CPTI_NUMBER_FLOAT_ONLY /* simple form: 5e0 is compared with floats only */
};

/* The right side of a test, or a frame. Its text stands in the expression's buffer. */
struct cpti_value {
    uint32_t text_at;
    uint32_t text_bytes;
    uint8_t number;    /* enum cpti_number */
    bool is_simple;    /* of KEY=VALUE */
    bool is_number;    /* written as a number: a text is then read as a number */
    bool is_shown;     /* a frame as it is shown, not by its name */
    int8_t truth;      /* 0 or 1; -1: neither true nor false */
    int8_t percentile; /* its index; -1: none */
    int64_t integer;
    double real;
    uint64_t ns; /* a duration, or time since 1970 */
};

/* The ends of the chain, in place of a next test. */
enum { CPTI_EXPRESSION_ACCEPT = UINT16_MAX, CPTI_EXPRESSION_REJECT = UINT16_MAX - 1 };

struct cpti_test {
    uint8_t subject;  /* enum cpti_subject */
    uint8_t relation; /* enum cpti_comparison */
    uint16_t on_true; /* the next test, or an end */
    uint16_t on_false;
    uint16_t value; /* the first; those of `path` follow its frames */
    uint16_t value_count;
    uint16_t frame_count;
    uint32_t key_at; /* of an attribute, in the buffer of texts */
    uint32_t key_bytes;
};

/* A node of the syntax tree, from which the chain is made. */
struct cpti_expression_node {
    uint8_t kind;
    uint8_t cost; /* of the most expensive test within */
    bool has_percentile;
    bool is_left_out; /* of the chain; see cpti_expression_link() */
    uint16_t test;
    uint16_t first; /* child */
    uint16_t last;
    uint16_t next;  /* sibling */
    uint16_t start; /* the test that is run first */
    uint16_t on_true;
    uint16_t on_false;
};

/* pNN: a percentile of the latencies of all records for which the terms without a
 * percentile hold. */
struct cpti_percentile {
    uint64_t share;      /* in millionths of a percent: p99.9 is 99,900,000 */
    uint64_t latency_ns; /* filled in after a first pass */
    char name[16];       /* "p99.9" */
};

struct cpti_expression {
    struct cpti_test tests[CPTI_EXPRESSION_TESTS_MAX];
    struct cpti_expression_node nodes[CPTI_EXPRESSION_NODES_MAX];
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
    uint64_t number; /* changes with each addition; a copy has the same */
};

/* An error in a text. */
struct cpti_expression_error {
    size_t at; /* byte of the text */
    char sentence[256];
};

/* Whether @text is KEY=VALUE, where the value is all the rest and has no quotes. */
bool cpti_expression_is_simple(struct cpt_bytes text);

/* Adds @text, an expression or KEY=VALUE, and keeps no reference to it. `15m` (ago) is
 * counted from @now_unix_ns. Returns false, with @error filled in and the expression
 * unchanged, if @text is wrong. */
bool cpti_expression_add(struct cpti_expression *expression, struct cpt_bytes text,
                         uint64_t now_unix_ns, struct cpti_expression_error *error);

/* Makes the chain of all terms, as cpti_expression_add() does; with @is_population of
 * the terms without a percentile: they select the records that a percentile is taken
 * of. */
void cpti_expression_link(struct cpti_expression *expression, bool is_population);

/* Whether @expression holds only for records that were sampled at random. */
bool cpti_expression_requires_random(const struct cpti_expression *expression);

/* The key of test @index; empty for a path. */
struct cpt_bytes cpti_expression_key(const struct cpti_expression *expression,
                                     size_t index);

/* The text of a value or frame. */
static inline struct cpt_bytes
cpti_expression_text(const struct cpti_expression *expression,
                     const struct cpti_value *value)
{
    return (struct cpt_bytes){expression->texts + value->text_at, value->text_bytes};
}

/* --- Run: expression_run.c --- */

/* What one thread needs to run tests of paths. Initialize with zero. A record's path is
 * decoded once, for the first test that needs it, and not at all if its frames are
 * known (expression_path.c). */
struct cpti_scratch {
    struct cpt_path *path;
    unsigned char *marks; /* one for each frame */
    size_t mark_capacity;
    int is_decoded; /* the current record's path: 0 no, 1 yes, -1 missing or invalid */
    /* the frames of earlier paths, and which of them each test names */
    struct cpt_log_shapes *shapes;
    struct cpti_marks *known;
    int shape_state; /* of the current record */
    uint64_t shape;
    const uint64_t *self_ns;
    size_t frame_count;
};

void cpti_scratch_deinit(struct cpti_scratch *scratch);

/* Returns 1 if @expression holds for @record, 0 if not, -1 if that depends on a path
 * which is missing or invalid. Allocates only for paths larger than any before. */
int cpti_expression_holds(const struct cpti_expression *expression,
                          const struct cpt_record *record,
                          struct cpti_scratch *scratch);

/* The same for test @index alone. */
int cpti_expression_test(const struct cpti_expression *expression, size_t index,
                         const struct cpt_record *record, struct cpti_scratch *scratch);

/* --- By an index: expression_index.c --- */

/* Whether @expression may hold for a record of @block, according to @index. False only
 * if it holds for none and no record's path is needed to find that out. */
bool cpti_expression_may_hold(const struct cpti_expression *expression,
                              const struct cpt_log_index *index,
                              const struct cpt_log_index_block *block);

#endif
