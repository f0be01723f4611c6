/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_bytes.c - the reader of encoded trees; docs/format-tree.md is the long form
 *
 * tree_write.c writes these bytes:
 *
 *      bytes   what
 *      7       "CPTTREE"
 *      1       version: 2; or 1, without the sums marked with *; with drags 3; or 4,
 *              without those sums
 *      8       bytes of the body, little-endian
 *      n       body
 *      4       CRC-32C of all bytes before, little-endian
 *
 * In the body, a *number* has seven bits a byte, low ones first, and the high bit set
 * while more bytes follow (LEB128). A *wide* is one byte with a count and that many
 * bytes of the number, the low byte first, without a zero byte on top. A *wider* is the
 * same with up to 48 bytes in place of 32.
 *
 *      number  requests
 *      wide    Σw              wide  Σw²          (weights in 2^-20ths)
 *      number  lightest        number  heaviest weight
 *      wide    Σw³             *only if these two differ
 *      number  first           number  last, of the window, Unix ns
 *      number  notes; each:    number key bytes, key; number 0 and a number (a count),
 *                              or number value bytes + 1, value
 *      number  nodes; each, depth first, siblings sorted by name bytes, then kind:
 *          number  depth       number  name       number  kind     (not for the root)
 *          number  requests with it               wide    Σw of these
 *          number  min ns      number  max - min
 *          wide    self Σwx    wide    self Σw²x  wide    self Σw²x²
 *          wide    inclusive Σw²x²
 *          wide    self Σx³        wide    inclusive Σx³
 *                                  *only if lightest and heaviest weight are equal
 *          wide    Σw² of the requests with it
 *          wide    self Σw³x       wider   self Σw³x²      wider   self Σw³x³
 *          wider   inclusive Σw³x² wider   inclusive Σw³x³
 *                                  *only if they differ
 *          number  buckets; each: number  steps from the one before, wide  Σw
 *
 *      number  requests with drags (versions 3 and 4; more than 0)
 *      wide    Σw of these     wide  Σw²
 *      number  nodes with gains; each: number steps from the one before (of the root)
 *          number  requests with drags and self time on it
 *          number  of these, those whose drag of the node is not known
 *          wide    self Σwx    wide    self Σw²x  wide    self Σw²x²   (of these)
 *          wide    drag Σwx    wide    drag Σw²x  wide    drag Σw²x²
 *
 * A name is its place in the order of first use, from 1. 0 is the empty name; the last
 * place plus one is a new name, which follows: number bytes, bytes. Inclusive Σwx, Σw²x
 * and Σw³x are left out: tree_branch.c adds up the nodes below.
 *
 * Each value has one form only, so equal trees give equal bytes. The reader checks this
 * and the invariants of a tree (sums that minimum, maximum and weights allow). So an
 * accepted tree can be merged without overflow and gives the same bytes.
 */
#include "aggregate/tree/tree_bytes.h"
#include "aggregate/tree/tree_branch.h"
#include "aggregate/tree/tree_node.h"

#include "cpt/base/body.h"

#include <assert.h>
#include <string.h>

static const char magic[] = CPTI_TREE_MAGIC;

/* The fewest bytes of a bucket: a step, and a weight of one byte. Memory for buckets is
 * bounded by the bytes that are left. */
enum { BUCKET_BYTES_MIN = 3 };

/* --- Reading --- */

/* The first error stays and ends the reading: after it, all numbers are 0. */
struct reader {
    const unsigned char *data;
    size_t end; /* of the body */
    size_t at;
    cpt_status status;
    struct cpt_error *error;
};

#define REFUSE(reader, refused, ...)                                                   \
    ((reader)->status != CPT_OK                                                        \
         ? (reader)->status                                                            \
         : ((reader)->status =                                                         \
                cpt_error_set((reader)->error, (refused), (reader)->at, __VA_ARGS__)))

static uint64_t get_fixed(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = bytes; i-- > 0;) {
        value = value << 8 | at[i];
    }
    return value;
}

static uint64_t get_number(struct reader *reader)
{
    uint64_t number = 0;
    const char *refused = NULL;

    if (reader->status != CPT_OK) {
        return 0;
    }
    if (reader->at < reader->end && reader->data[reader->at] < 0x80) {
        return reader->data[reader->at++]; /* most have one byte */
    }
    refused = cpti_body_get_number(reader->data, &reader->at, reader->end, &number);
    if (refused != NULL) {
        (void)REFUSE(reader, CPT_CORRUPT, "%s", refused);
    }
    return number;
}

/* A number of at most @max; @what names it in the error. */
static uint64_t get_number_to(struct reader *reader, uint64_t max, const char *what)
{
    const uint64_t number = get_number(reader);

    if (number > max) {
        (void)REFUSE(reader, CPT_LIMIT, "%s is %llu, the limit is %llu", what,
                     (unsigned long long)number, (unsigned long long)max);
        return 0;
    }
    return number;
}

/* @bytes of the body, or NULL. */
static const unsigned char *get_bytes(struct reader *reader, uint64_t bytes)
{
    const unsigned char *at = reader->data + reader->at;

    if (reader->status != CPT_OK || bytes > reader->end - reader->at) {
        (void)REFUSE(reader, CPT_CORRUPT, "the body ends in %llu bytes of a value",
                     (unsigned long long)bytes);
        return NULL;
    }
    reader->at += bytes;
    return at;
}

/* Reads a sum of at most @limb_count limbs, which are 0. */
static void get_limbs(struct reader *reader, uint64_t *limbs, unsigned limb_count)
{
    const unsigned char *count = get_bytes(reader, 1);
    const unsigned char *bytes = NULL;

    if (count == NULL) {
        return;
    }
    if (*count > 8 * limb_count) {
        (void)REFUSE(reader, CPT_CORRUPT, "a sum has %u bytes, the most is %u", *count,
                     8U * limb_count);
        return;
    }
    bytes = get_bytes(reader, *count);
    if (bytes == NULL) {
        return;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(limbs, bytes, *count);
#else
    for (unsigned i = 0; i < *count; i++) {
        limbs[i / 8] |= (uint64_t)bytes[i] << i % 8 * 8;
    }
#endif
    if (*count != 0 && bytes[*count - 1] == 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "a sum is longer than necessary");
    }
}

static struct cpti_wide get_wide(struct reader *reader)
{
    struct cpti_wide wide = {{0}};

    get_limbs(reader, wide.limb, CPTI_WIDE_LIMBS);
    return wide;
}

static struct cpti_wider get_wider(struct reader *reader)
{
    struct cpti_wider wider = {{0}};

    get_limbs(reader, wider.limb, CPTI_WIDER_LIMBS);
    return wider;
}

/* Reads the next wide if it has one to seven bytes, as most weights have. */
static bool get_short(struct reader *reader, uint64_t *value)
{
    const unsigned char *at = reader->data + reader->at;
    unsigned count = 0;

    if (reader->status != CPT_OK || reader->end - reader->at < 8) {
        return false;
    }
    count = at[0];
    if (count == 0 || count > 7 || at[count] == 0) {
        return false;
    }
    *value = get_fixed(at, 8) >> 8 & (UINT64_MAX >> (64 - 8 * count));
    reader->at += 1 + count;
    return true;
}

/* A sum of weights: below 2^96, so that no sum overflows before it is checked. */
static cpti_u128 get_weight(struct reader *reader)
{
    struct cpti_wide wide;
    uint64_t weight = 0;

    if (get_short(reader, &weight)) {
        return weight;
    }
    wide = get_wide(reader);
    if (cpti_wide_bits(&wide) > 96) {
        (void)REFUSE(reader, CPT_CORRUPT,
                     "a sum of weights has %u bits, the most is 96",
                     cpti_wide_bits(&wide));
        return 0;
    }
    return (cpti_u128)wide.limb[1] << 64 | wide.limb[0];
}

static bool weights_fit(const struct cpt_tree *tree, uint64_t count, cpti_u128 weight)
{
    return (cpti_u128)count * tree->weight_min <= weight &&
           weight <= (cpti_u128)count * tree->weight_max;
}

/* Reads Σw³, or computes it if all weights are equal. */
static void get_weight_cubed(struct reader *reader, struct cpt_tree *tree)
{
    if (tree->weight_min == tree->weight_max) {
        tree->weight_cubed = cpti_wide_times(tree->weight_squared, tree->weight_min);
    } else if (!tree->lacks_cubes) {
        tree->weight_cubed = get_wide(reader);
    }
}

static bool weight_sums_fit(const struct cpt_tree *tree)
{
    const struct cpti_wide weight = cpti_wide_of(tree->weight);

    return weights_fit(tree, tree->request_count, tree->weight) &&
           cpti_wide_is_between(&tree->weight_squared, &weight, tree->weight_min,
                                tree->weight_max) &&
           (tree->lacks_cubes ||
            cpti_wide_is_between(&tree->weight_cubed, &tree->weight_squared,
                                 tree->weight_min, tree->weight_max));
}

static void get_requests(struct reader *reader, struct cpt_tree *tree)
{
    tree->request_count =
        get_number_to(reader, CPT_TREE_REQUESTS_MAX, "number of requests");
    tree->weight = get_weight(reader);
    tree->weight_squared = get_wide(reader);
    tree->weight_min = get_number_to(reader, CPT_WEIGHT_MAX, "lightest weight");
    tree->weight_max = get_number_to(reader, CPT_WEIGHT_MAX, "heaviest weight");
    get_weight_cubed(reader, tree);
    tree->time_first_ns = get_number(reader);
    tree->time_last_ns = get_number(reader);
    if (reader->status != CPT_OK) {
        return;
    }
    if (tree->request_count == 0 ? tree->weight_min != 0 || tree->weight_max != 0
                                 : tree->weight_min < CPT_WEIGHT_ONE ||
                                       tree->weight_min > tree->weight_max) {
        (void)REFUSE(reader, CPT_CORRUPT, "the lightest weight is wrong");
    } else if (!weight_sums_fit(tree)) {
        (void)REFUSE(reader, CPT_CORRUPT, "the sums of weights contradict the weights");
    } else if (tree->time_first_ns > tree->time_last_ns) {
        (void)REFUSE(reader, CPT_CORRUPT, "the window ends before it begins");
    }
}

/* Copies a string without NUL bytes to @text and ends it with one. */
static void get_text(struct reader *reader, uint64_t bytes, uint64_t max, char *text)
{
    const unsigned char *at = NULL;

    text[0] = '\0';
    if (bytes > max) {
        (void)REFUSE(reader, CPT_LIMIT, "a note has %llu bytes, the limit is %llu",
                     (unsigned long long)bytes, (unsigned long long)max);
        return;
    }
    at = get_bytes(reader, bytes);
    if (at == NULL) {
        return;
    }
    if (memchr(at, 0, bytes) != NULL) {
        (void)REFUSE(reader, CPT_CORRUPT, "a note holds a NUL byte");
        return;
    }
    memcpy(text, at, bytes);
    text[bytes] = '\0';
}

static void get_note(struct reader *reader, struct cpt_tree *tree)
{
    char key[CPT_TREE_NOTE_KEY_BYTES_MAX + 1];
    char value[CPT_TREE_NOTE_VALUE_BYTES_MAX + 1];
    const size_t note_count = tree->notes.count;
    uint64_t form = 0;
    cpt_status status = CPT_OK;

    get_text(reader, get_number(reader), CPT_TREE_NOTE_KEY_BYTES_MAX, key);
    form = get_number(reader);
    if (form != 0) {
        get_text(reader, form - 1, CPT_TREE_NOTE_VALUE_BYTES_MAX, value);
    }
    if (reader->status != CPT_OK) {
        return;
    }
    status = form != 0 ? cpt_tree_note(tree, key, value)
                       : cpt_tree_count_add(tree, key, get_number(reader));
    if (status != CPT_OK) {
        (void)REFUSE(reader, status, "note %zu: %s", note_count,
                     cpt_status_sentence(status));
    } else if (tree->notes.count != note_count + 1) {
        (void)REFUSE(reader, CPT_CORRUPT, "note %zu occurs twice", note_count);
    }
}

/* Notes must be sorted: reading one must not move the one before it. */
static void get_notes(struct reader *reader, struct cpt_tree *tree)
{
    const uint64_t count = get_number_to(reader, CPT_TREE_NOTES_MAX, "number of notes");

    for (uint64_t i = 0; i < count && reader->status == CPT_OK; i++) {
        const char *last = i != 0 ? tree->notes.entries[i - 1].key : NULL;

        get_note(reader, tree);
        if (reader->status == CPT_OK && i != 0 &&
            tree->notes.entries[i - 1].key != last) {
            (void)REFUSE(reader, CPT_CORRUPT, "note %llu is out of order",
                         (unsigned long long)i);
        }
    }
}

/* Adds a bucket: as a count of requests if all of them weigh the same and its weight is
 * a multiple of that; otherwise as its weight. */
static cpt_status put_bucket(struct cpt_tree *tree, struct cpti_node *node,
                             uint32_t index, cpti_u128 weight)
{
    const cpt_weight unit = node->batch.weight;
    struct cpti_histogram *histogram = &node->histogram;
    cpti_u128 amount = weight;

    if (!histogram->is_wide && unit != 0 && unit == tree->weight_max &&
        weight % unit == 0 && weight / unit <= CPT_TREE_REQUESTS_MAX) {
        amount = weight / unit;
    } else if (cpti_histogram_widen(histogram, tree->alloc, unit) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    if (cpti_histogram_reserve(histogram, tree->alloc, 1) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    cpti_histogram_append(histogram, index, amount, tree->weight_max);
    return CPT_OK;
}

static void get_buckets(struct reader *reader, struct cpt_tree *tree,
                        struct cpti_node *node, cpti_u128 present_weight)
{
    const uint64_t count =
        get_number_to(reader, CPTI_HISTOGRAM_BUCKETS_MAX, "number of buckets");
    const uint64_t count_max = (reader->end - reader->at) / BUCKET_BYTES_MIN;
    cpti_u128 total = 0;
    uint64_t index = 0;

    if (reader->status == CPT_OK &&
        cpti_histogram_reserve(&node->histogram, tree->alloc,
                               (uint32_t)(count < count_max ? count : count_max)) !=
            CPT_OK) {
        (void)REFUSE(reader, CPT_NO_MEMORY, "out of memory");
    }
    for (uint64_t i = 0; i < count && reader->status == CPT_OK; i++) {
        const uint64_t step = get_number(reader);
        const cpti_u128 weight = get_weight(reader);

        if (reader->status != CPT_OK) {
            return;
        }
        if ((i != 0 && step == 0) || step >= CPTI_HISTOGRAM_BUCKETS_MAX - index ||
            weight == 0) {
            (void)REFUSE(reader, CPT_CORRUPT, "bucket %llu is wrong",
                         (unsigned long long)i);
            return;
        }
        index += step;
        total += weight;
        if (put_bucket(tree, node, (uint32_t)index, weight) != CPT_OK) {
            (void)REFUSE(reader, CPT_NO_MEMORY, "out of memory");
            return;
        }
    }
    if (total != present_weight) {
        (void)REFUSE(reader, CPT_CORRUPT, "the buckets do not add up");
    }
}

/* --- Reading: nodes --- */

/* Checks a node by itself. */
static void check_node(struct reader *reader, const struct cpt_tree *tree,
                       const struct cpti_node *node, const struct cpti_totals *totals)
{
    const bool is_root = node == tree->nodes;

    if (reader->status != CPT_OK) {
        return;
    }
    if (is_root ? totals->present_count != tree->request_count ||
                      totals->present_weight != tree->weight
                : totals->present_count == 0 ||
                      totals->present_count > tree->request_count) {
        (void)REFUSE(reader, CPT_CORRUPT, "a stack has %llu requests of %llu",
                     (unsigned long long)totals->present_count,
                     (unsigned long long)tree->request_count);
    } else if (!weights_fit(tree, totals->present_count, totals->present_weight) ||
               totals->present_weight > tree->weight) {
        (void)REFUSE(reader, CPT_CORRUPT,
                     "the weight of a stack contradicts its requests");
    } else if (!cpti_extremes_fit(&node->histogram, totals, is_root)) {
        (void)REFUSE(reader, CPT_CORRUPT,
                     "the extremes of a stack contradict its buckets");
    }
}

/* The sums of third order, as far as the bytes have them. */
static void get_cubes(struct reader *reader, const struct cpt_tree *tree,
                      struct cpti_branch_node *node)
{
    struct cpti_totals *totals = &node->totals;

    if (tree->lacks_cubes) {
        return;
    }
    if (tree->weight_min == tree->weight_max) {
        node->self_cubes = get_wide(reader);
        node->inclusive_cubes = get_wide(reader);
        return;
    }
    totals->present_squared = get_wide(reader);
    totals->self.wwwx = get_wide(reader);
    totals->self.wwwxx = get_wider(reader);
    totals->self.wwwxxx = get_wider(reader);
    totals->inclusive.wwwxx = get_wider(reader);
    totals->inclusive.wwwxxx = get_wider(reader);
}

/* The totals of a node, except for what follows from the nodes below. */
static void get_totals(struct reader *reader, const struct cpt_tree *tree,
                       struct cpti_branch_node *node)
{
    struct cpti_totals *totals = &node->totals;

    *totals = (struct cpti_totals){.present_count = get_number(reader)};
    totals->present_weight = get_weight(reader);
    totals->min_ns = get_number_to(reader, CPT_TREE_TIME_MAX, "shortest time");
    totals->max_ns =
        get_number_to(reader, CPT_TREE_TIME_MAX - totals->min_ns, "longest time") +
        totals->min_ns;
    totals->self.wx = get_wide(reader);
    totals->self.wwx = get_wide(reader);
    totals->self.wwxx = get_wide(reader);
    totals->inclusive.wwxx = get_wide(reader);
    node->self_cubes = cpti_wide_of(0);
    node->inclusive_cubes = cpti_wide_of(0);
    get_cubes(reader, tree, node);
}

/* Reads the last node of the branch. */
static void get_node(struct reader *reader, struct cpt_tree *tree,
                     struct cpti_branch_node *last)
{
    struct cpti_node *node = &tree->nodes[last->node];

    get_totals(reader, tree, last);
    if (last->totals.present_count > tree->request_count) {
        (void)REFUSE(reader, CPT_CORRUPT, "a stack has more requests than there are");
    }
    if (reader->status == CPT_OK) {
        node->batch.weight = tree->weight_min;
        get_buckets(reader, tree, node, last->totals.present_weight);
    }
    check_node(reader, tree, node, &last->totals);
    if (reader->status == CPT_OK && !cpti_branch_node_init(tree, last)) {
        (void)REFUSE(reader, CPT_CORRUPT,
                     "the sums of a stack contradict its extremes");
    }
}

/* A name by its number; the number of a new one is the count of names, which includes
 * the empty one. */
static struct cpt_bytes get_name(struct reader *reader, const struct cpt_tree *tree)
{
    const size_t name_count = cpt_names_count(tree->names);
    const uint64_t number = get_number_to(reader, name_count, "number of a name");
    struct cpt_bytes name = {"", 0};
    const unsigned char *at = NULL;
    cpt_name_id id = 0;

    if (number < name_count) {
        return cpt_names_at(tree->names, (cpt_name_id)number);
    }
    name.bytes = (size_t)get_number_to(reader, CPT_NAME_BYTES_MAX, "length of a name");
    at = get_bytes(reader, name.bytes);
    name.data = (const char *)at;
    if (at == NULL || cpt_names_find(tree->names, name, &id)) {
        (void)REFUSE(reader, CPT_CORRUPT, "a name occurs twice");
        return (struct cpt_bytes){"", 0};
    }
    return name;
}

static void end_node(struct reader *reader, struct cpt_tree *tree,
                     struct cpti_branch *branch)
{
    if (cpti_branch_end(tree, branch) != CPT_OK) {
        (void)REFUSE(reader, CPT_NO_MEMORY, "out of memory");
    }
}

/* Finds or adds the next node, which becomes the last of the branch. */
static void get_place(struct reader *reader, struct cpt_tree *tree,
                      struct cpti_branch *branch)
{
    const uint64_t depth =
        get_number_to(reader, CPT_TREE_DEPTH_MAX, "depth of a stack");
    const struct cpt_bytes name = get_name(reader, tree);
    const uint64_t kind = get_number_to(reader, UINT16_MAX, "kind of a frame");
    const uint64_t depth_before = branch->depth;
    uint32_t node = 0;
    cpt_status status = CPT_OK;

    if (reader->status == CPT_OK && (depth == 0 || depth > depth_before + 1)) {
        (void)REFUSE(reader, CPT_CORRUPT, "a stack of depth %llu follows one of %llu",
                     (unsigned long long)depth, (unsigned long long)depth_before);
    }
    if (reader->status != CPT_OK) {
        return;
    }
    status = cpti_tree_child(tree, branch->nodes[depth - 1].node, name, (unsigned)kind,
                             &node);
    if (status != CPT_OK) {
        (void)REFUSE(reader, status, "%s", cpt_status_sentence(status));
        return;
    }
    if (depth <= depth_before &&
        cpti_sibling_compare(tree, branch->nodes[depth].node, tree, node) >= 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "stacks are out of order");
        return;
    }
    while (branch->depth >= depth && reader->status == CPT_OK) {
        end_node(reader, tree, branch);
    }
    branch->nodes[depth].node = node;
    branch->depth = depth;
}

static void check_end(struct reader *reader, const char *last)
{
    if (reader->status == CPT_OK && reader->at != reader->end) {
        (void)REFUSE(reader, CPT_CORRUPT, "%zu bytes follow the last %s",
                     reader->end - reader->at, last);
    }
}

/* Ends all nodes that are left on the branch, and the tree. */
static void end_nodes(struct reader *reader, struct cpt_tree *tree,
                      struct cpti_branch *branch)
{
    while (branch->depth != 0 && reader->status == CPT_OK) {
        end_node(reader, tree, branch);
    }
    if (reader->status == CPT_OK) {
        end_node(reader, tree, branch); /* the root */
    }
    if (reader->status == CPT_OK && branch->contradictory != CPT_TREE_NONE) {
        (void)REFUSE(reader, CPT_CORRUPT, "stack %u contradicts those below it",
                     (unsigned)branch->contradictory);
    }
}

/* The version of the bytes, which have been checked. */
static unsigned version_of(const struct reader *reader)
{
    return reader->data[CPTI_TREE_MAGIC_BYTES];
}

static bool has_drags(const struct reader *reader)
{
    return version_of(reader) >= CPTI_TREE_VERSION_WITH_DRAGS;
}

static void get_nodes(struct reader *reader, struct cpt_tree *tree)
{
    const uint64_t count =
        get_number_to(reader, (uint64_t)tree->nodes_max + 1, "number of stacks");
    struct cpti_branch *branch = cpt_alloc_array(tree->alloc, NULL, 1, sizeof *branch);

    if (branch == NULL) {
        (void)REFUSE(reader, CPT_NO_MEMORY, "out of memory");
        return;
    }
    branch->nodes[0].node = CPT_TREE_ROOT;
    branch->depth = 0;
    branch->contradictory = CPT_TREE_NONE;
    if (reader->status == CPT_OK && count == 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "the root is missing");
    }
    for (uint64_t i = 0; i < count && reader->status == CPT_OK; i++) {
        if (i != 0) {
            get_place(reader, tree, branch);
        }
        if (reader->status == CPT_OK) {
            get_node(reader, tree, &branch->nodes[branch->depth]);
        }
    }
    if (!has_drags(reader)) {
        check_end(reader, "stack");
    }
    end_nodes(reader, tree, branch);
    cpt_alloc_free(tree->alloc, branch);
}

/* --- Reading: gains --- */

static struct cpti_gain_sums get_gain_sums(struct reader *reader)
{
    struct cpti_gain_sums sums = {0};

    sums.wx = get_wide(reader);
    sums.wwx = get_wide(reader);
    sums.wwxx = get_wide(reader);
    return sums;
}

/* Reads the gain of the node at least one behind @last; returns its number. */
static uint32_t get_gain(struct reader *reader, struct cpt_tree *tree, uint32_t last)
{
    const uint64_t step =
        get_number_to(reader, tree->node_count - 1 - last, "step to the next gain");
    const uint32_t node = last + (uint32_t)step;
    struct cpti_gain gain = {.present_count = get_number(reader)};
    const uint64_t unknown_count =
        get_number_to(reader, gain.present_count, "number of unknown drags");

    gain.known_count = gain.present_count - unknown_count;
    gain.time = get_gain_sums(reader);
    gain.drag = get_gain_sums(reader);
    if (reader->status == CPT_OK && step == 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "the gains of a stack occur twice");
    }
    if (reader->status == CPT_OK && !cpti_gain_fits(tree, node, &gain)) {
        (void)REFUSE(reader, CPT_CORRUPT, "the gain of stack %u contradicts its sums",
                     (unsigned)node);
    }
    if (reader->status == CPT_OK) {
        tree->gains[node] = gain;
    }
    return node;
}

/* The nodes of the tree are numbered in the order of the bytes. */
static void get_gains(struct reader *reader, struct cpt_tree *tree)
{
    uint64_t count = 0;
    uint32_t node = CPT_TREE_ROOT;

    tree->gain_count = get_number(reader);
    tree->gain_weight = get_weight(reader);
    tree->gain_weight_squared = get_wide(reader);
    count = get_number_to(reader, tree->node_count - 1, "number of gains");
    if (reader->status == CPT_OK && !cpti_gain_weights_fit(tree)) {
        (void)REFUSE(reader, CPT_CORRUPT,
                     "the requests with drags contradict all requests");
    }
    if (reader->status == CPT_OK && cpti_gains_reserve(tree) != CPT_OK) {
        (void)REFUSE(reader, CPT_NO_MEMORY, "out of memory");
    }
    for (uint64_t i = 0; i < count && reader->status == CPT_OK; i++) {
        node = get_gain(reader, tree, node);
    }
    check_end(reader, "gain");
}

/* Checks head, length and checksum, before the body is read. */
static void check_frame(struct reader *reader, size_t byte_count)
{
    uint64_t body_bytes = 0;

    if (!cpt_tree_is_encoded(reader->data, byte_count)) {
        (void)REFUSE(reader, CPT_CORRUPT, "this is not a tree");
        return;
    }
    reader->at = CPTI_TREE_MAGIC_BYTES;
    if (version_of(reader) < CPTI_TREE_VERSION_WITHOUT_CUBES ||
        version_of(reader) > CPTI_TREE_VERSION_WITH_DRAGS_WITHOUT_CUBES) {
        (void)REFUSE(reader, CPT_VERSION, "the tree has version %u, this is version %u",
                     version_of(reader),
                     (unsigned)CPTI_TREE_VERSION_WITH_DRAGS_WITHOUT_CUBES);
        return;
    }
    reader->at = byte_count;
    if (byte_count < CPTI_TREE_HEAD_BYTES + CPTI_TREE_CRC_BYTES) {
        (void)REFUSE(reader, CPT_TRUNCATED, "the tree ends in its head");
        return;
    }
    body_bytes = get_fixed(reader->data + CPTI_TREE_MAGIC_BYTES + 1, 8);
    if (body_bytes > byte_count - CPTI_TREE_HEAD_BYTES - CPTI_TREE_CRC_BYTES) {
        (void)REFUSE(reader, CPT_TRUNCATED, "the tree has %zu bytes of a body of %llu",
                     byte_count - CPTI_TREE_HEAD_BYTES - CPTI_TREE_CRC_BYTES,
                     (unsigned long long)body_bytes);
        return;
    }
    reader->at = CPTI_TREE_HEAD_BYTES + body_bytes + CPTI_TREE_CRC_BYTES;
    if (reader->at != byte_count) {
        (void)REFUSE(reader, CPT_CORRUPT, "%zu bytes follow the tree",
                     byte_count - reader->at);
        return;
    }
    reader->end = CPTI_TREE_HEAD_BYTES + (size_t)body_bytes;
    reader->at = reader->end;
    if (get_fixed(reader->data + reader->end, CPTI_TREE_CRC_BYTES) !=
        cpt_crc32c(0, reader->data, reader->end)) {
        (void)REFUSE(reader, CPT_CORRUPT, "the checksum of the tree is wrong");
    }
    reader->at = CPTI_TREE_HEAD_BYTES;
}

cpt_status cpt_tree_decode(const struct cpt_alloc *alloc,
                           const struct cpt_tree_options *options, const void *bytes,
                           size_t byte_count, struct cpt_tree **tree,
                           struct cpt_error *error)
{
    struct cpt_tree_options own;
    struct reader reader = {.data = bytes, .error = error};
    struct cpt_tree *made = NULL;
    const cpt_status status = cpt_options_read(&own, sizeof own, options, error);

    if (status != CPT_OK) {
        return status;
    }
    if (own.nodes_max > CPT_TREE_NODES_MAX) {
        return cpt_error_set(error, CPT_INVALID, 0, "nodes_max is %zu, the limit is %d",
                             own.nodes_max, CPT_TREE_NODES_MAX);
    }
    check_frame(&reader, byte_count);
    if (reader.status != CPT_OK) {
        return reader.status;
    }
    made = cpt_tree_new(alloc, options);
    if (made == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    made->lacks_cubes =
        version_of(&reader) == CPTI_TREE_VERSION_WITHOUT_CUBES ||
        version_of(&reader) == CPTI_TREE_VERSION_WITH_DRAGS_WITHOUT_CUBES;
    get_requests(&reader, made);
    get_notes(&reader, made);
    get_nodes(&reader, made);
    if (has_drags(&reader)) {
        get_gains(&reader, made);
    }
    if (reader.status != CPT_OK) {
        cpt_tree_free(made);
        return reader.status;
    }
    *tree = made;
    return CPT_OK;
}

int cpt_tree_is_encoded(const void *bytes, size_t byte_count)
{
    return byte_count > CPTI_TREE_MAGIC_BYTES &&
           memcmp(bytes, magic, CPTI_TREE_MAGIC_BYTES) == 0;
}
