/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * paths.h - paths for tests of trees: from text, or random
 *
 * In the notation a path is a list of segments, each a stack and its nanoseconds:
 *
 *      "A;A1 5, A;A1;A2 20, A;#4 3"
 *
 * where "#4" is a nameless frame of kind 4. Random paths have few names, so that
 * requests share stacks; some are empty.
 */
#ifndef PATHS_H
#define PATHS_H

#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Helpers of tests, not under test: a failure here ends the program. */
#define MUST(condition)                                                                \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
            abort();                                                                   \
        }                                                                              \
    } while (0)

/* Appends the segments in @text to @path. */
static inline void path_append_text(struct cpt_path *path, const char *text)
{
    while (*text != '\0') {
        uint32_t frame = CPT_FRAME_NONE;
        char *end = NULL;

        for (;;) {
            const size_t bytes = strcspn(text, "; ");
            const unsigned kind =
                *text == '#' ? (unsigned)atoi(text + 1) : CPT_KIND_WORK;
            const struct cpt_bytes name = {text, *text == '#' ? 0 : bytes};

            MUST(cpt_path_frame_add(path, frame, name, kind, &frame) == CPT_OK);
            text += bytes;
            if (*text++ != ';') {
                break;
            }
        }
        MUST(cpt_path_append_ns(path, frame, strtoull(text, &end, 10)) == CPT_OK);
        text = end + strspn(end, ", ");
    }
}

/* A path from its text; the caller frees it. */
static inline struct cpt_path *path_of(const char *text)
{
    struct cpt_path *path = cpt_path_new(NULL);

    MUST(path != NULL);
    path_append_text(path, text);
    return path;
}

/* Adds one request with the path in the text. */
static inline cpt_status tree_add_text(struct cpt_tree *tree, const char *text,
                                       cpt_weight weight)
{
    struct cpt_path *path = path_of(text);
    const cpt_status status = cpt_tree_add(tree, path, weight);

    cpt_path_free(path);
    return status;
}

/* A generator that is the same everywhere (xorshift); @state is not 0. */
static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1dU;
}

static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return (random_next(state) >> 11) % limit;
}

/* The seed of a run: CPT_TEST_SEED, or a fixed one, which is that of .ci/run, too: what
 * is statistical passes with most seeds, not with each. Printed, so that the run can be
 * repeated. */
static inline uint64_t random_seed(const char *test)
{
    const char *given = getenv("CPT_TEST_SEED");
    const uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 20240229;

    printf(" [%s: seed %llu] ", test, (unsigned long long)seed);
    return seed != 0 ? seed : 1;
}

/* A duration between 1 and @most; each order of magnitude is equally likely. */
static inline uint64_t random_ns(uint64_t *state, uint64_t most)
{
    const unsigned bits = (unsigned)random_below(state, 64);
    const uint64_t value = (random_next(state) >> bits) % most;

    return value + 1;
}

/* Fills @path with a random one of at most @segments_max segments. */
static inline void path_random(struct cpt_path *path, uint64_t *state,
                               unsigned segments_max, uint64_t most_ns)
{
    static const char *const names[] = {
        "A: /", "A: index", "B: Lookup", "C: \xe2\x80\xb9",
        "b;x",  "parse",    "B: a",      "B"};
    uint32_t frames[64];
    unsigned frame_count = 0;
    const unsigned segment_count = (unsigned)random_below(state, segments_max + 1);

    cpt_path_reset(path);
    for (unsigned i = 0; i < segment_count; i++) {
        const uint32_t parent = frame_count == 0
                                    ? CPT_FRAME_NONE
                                    : frames[random_below(state, frame_count)];
        const int is_work = random_below(state, 4) != 0;
        const char *name = is_work ? names[random_below(state, 8)] : "";
        const unsigned kind = is_work ? 0 : (unsigned)random_below(state, 6) + 1;
        uint32_t frame = 0;

        MUST(cpt_path_frame_add(path, parent, cpt_bytes_of(name), kind, &frame) ==
             CPT_OK);
        frames[frame_count++ % 64] = frame;
        frame_count = frame_count > 64 ? 64 : frame_count;
        MUST(cpt_path_append_ns(path, frame, random_ns(state, most_ns)) == CPT_OK);
    }
}

/* A tree of @request_count random requests; the caller frees it. */
static inline struct cpt_tree *tree_random(uint64_t *state, unsigned request_count)
{
    static const double probabilities[] = {1, 0.5, 0.3, 0.001, 0.75};
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);

    MUST(tree != NULL);
    MUST(path != NULL);
    for (unsigned i = 0; i < request_count; i++) {
        const double probability = probabilities[random_below(state, 5)];

        path_random(path, state, 12, 1000000000);
        MUST(cpt_tree_add(tree, path, cpt_weight_of_probability(probability)) ==
             CPT_OK);
        cpt_tree_time_add(tree, 1700000000000000000U + random_below(state, 1000000));
    }
    cpt_path_free(path);
    return tree;
}

/* The node of @tree with the stack @text, or CPT_TREE_NONE. */
static inline uint32_t tree_node(const struct cpt_tree *tree, const char *text)
{
    char stack[4096];

    for (uint32_t i = 0; i < cpt_tree_node_count(tree); i++) {
        (void)cpt_tree_stack_text(tree, i, stack, sizeof stack);
        if (strcmp(stack, text) == 0) {
            return i;
        }
    }
    return CPT_TREE_NONE;
}

/* Whether two trees have the same bytes. */
static inline int tree_equal(const struct cpt_tree *left, const struct cpt_tree *right)
{
    void *bytes[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    int is_equal = 0;

    MUST(cpt_tree_encode(NULL, left, &bytes[0], &counts[0]) == CPT_OK);
    MUST(cpt_tree_encode(NULL, right, &bytes[1], &counts[1]) == CPT_OK);
    is_equal = counts[0] == counts[1] && memcmp(bytes[0], bytes[1], counts[0]) == 0;
    cpt_alloc_free(NULL, bytes[0]);
    cpt_alloc_free(NULL, bytes[1]);
    return is_equal;
}

#endif
