/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_bytes.c - a tree out of bytes; docs/format-tree.md is the long form of these
 *
 * tree_write.c writes them:
 *
 *      bytes   what
 *      7       "CPTTREE"
 *      1       version: 1
 *      8       bytes of the body, little-endian
 *      n       body
 *      4       CRC-32C of all before, little-endian
 *
 * In the body, a *number* has seven bits a byte, low ones first, the high bit set while
 * more follow (LEB128); a *wide* is one byte with the count of bytes that follow, which
 * are the number with the low byte first and no zero byte on top.
 *
 *      number  requests
 *      wide    Σw              wide  Σw²          (weights in 2^-20ths)
 *      number  lightest        number  heaviest weight
 *      number  first           number  last, of the window, Unix ns
 *      number  notes; each:    number key bytes, key; number 0 and a number (a count),
 *                              or number value bytes + 1, value
 *      number  nodes; each, depth first, siblings sorted by name bytes, then kind:
 *          number  depth       number  name       number  kind     (not for the root)
 *          number  requests with it               wide    Σw of these
 *          number  min ns      number  max - min
 *          wide    self Σwx    wide    self Σw²x  wide    self Σw²x²
 *          wide    inclusive Σw²x²
 *          number  buckets; each: number  steps from the one before, wide  Σw
 *
 * A name is its place in the order of first use, from 1; 0 is the empty name, and one
 * more than the last means that it follows: number bytes, bytes. Inclusive Σwx and Σw²x
 * are left out: they are the sums of the nodes below.
 *
 * Everything has one form only, so equal trees give equal bytes. A reader checks this
 * and all that a tree promises (sums within what minimum, maximum and weights allow),
 * so that what it accepts can be merged without overflow and encoded to the same bytes.
 */
#include "aggregate/tree_bytes.h"
#include "aggregate/tree_node.h"

#include "cpt/cpt_crc32c.h"

#include <assert.h>
#include <string.h>

static const char magic[] = CPTI_TREE_MAGIC;

/* Of a bucket: a step, and a weight of one byte. So many are allocated at once. */
enum { BUCKET_BYTES_MIN = 3 };

/* --- Reading --- */

/* The first error ends the reading: after it, all numbers are 0. */
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
    unsigned char byte = 0x80;

    if (reader->status == CPT_OK && reader->at < reader->end &&
        reader->data[reader->at] < 0x80) {
        return reader->data[reader->at++]; /* most have one byte */
    }
    for (unsigned shift = 0; byte >= 0x80; shift += 7) {
        if (reader->status != CPT_OK || reader->at >= reader->end) {
            (void)REFUSE(reader, CPT_CORRUPT, "the body ends in a number");
            return 0;
        }
        byte = reader->data[reader->at++];
        if (shift == 63 && byte > 1) {
            (void)REFUSE(reader, CPT_CORRUPT, "a number has more than 64 bits");
            return 0;
        }
        number |= (uint64_t)(byte & 0x7fU) << shift;
        if (byte == 0 && shift != 0) {
            (void)REFUSE(reader, CPT_CORRUPT, "a number is longer than it has to be");
            return 0;
        }
    }
    return number;
}

/* A number that is at most @max; @what is for the sentence. */
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

static struct cpti_wide get_wide(struct reader *reader)
{
    struct cpti_wide wide = {{0}};
    const unsigned char *count = get_bytes(reader, 1);
    const unsigned char *bytes = NULL;

    if (count == NULL) {
        return wide;
    }
    if (*count > 8 * CPTI_WIDE_LIMBS) {
        (void)REFUSE(reader, CPT_CORRUPT, "a sum has %u bytes, the most is %u", *count,
                     8U * CPTI_WIDE_LIMBS);
        return wide;
    }
    bytes = get_bytes(reader, *count);
    if (bytes == NULL) {
        return wide;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(wide.limb, bytes, *count);
#else
    for (unsigned i = 0; i < *count; i++) {
        wide.limb[i / 8] |= (uint64_t)bytes[i] << i % 8 * 8;
    }
#endif
    if (*count != 0 && bytes[*count - 1] == 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "a sum is longer than it has to be");
    }
    return wide;
}

/* A wide of one to seven bytes, as most weights are, if that is what comes. */
static int get_short(struct reader *reader, uint64_t *value)
{
    const unsigned char *at = reader->data + reader->at;
    unsigned count = 0;

    if (reader->status != CPT_OK || reader->end - reader->at < 8) {
        return 0;
    }
    count = at[0];
    if (count == 0 || count > 7 || at[count] == 0) {
        return 0;
    }
    *value = get_fixed(at, 8) >> 8 & (UINT64_MAX >> (64 - 8 * count));
    reader->at += 1 + count;
    return 1;
}

/* A sum of weights: below 2^96, so that nothing below overflows before it is checked.
 */
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

/* Whether low × unit <= value <= high × unit. */
static int lies_between(const struct cpti_wide *value, const struct cpti_wide *unit,
                        uint64_t low, uint64_t high)
{
    const struct cpti_wide least = cpti_wide_times(*unit, low);
    const struct cpti_wide most = cpti_wide_times(*unit, high);

    return cpti_wide_compare(&least, value) <= 0 &&
           cpti_wide_compare(value, &most) <= 0;
}

static int weights_fit(const struct cpt_tree *tree, uint64_t count, cpti_u128 weight)
{
    return (cpti_u128)count * tree->weight_min <= weight &&
           weight <= (cpti_u128)count * tree->weight_max;
}

static void get_requests(struct reader *reader, struct cpt_tree *tree)
{
    struct cpti_wide weight;

    tree->request_count =
        get_number_to(reader, CPT_TREE_REQUESTS_MAX, "number of requests");
    tree->weight = get_weight(reader);
    tree->weight_squared = get_wide(reader);
    tree->weight_min = get_number_to(reader, CPT_WEIGHT_MAX, "lightest weight");
    tree->weight_max = get_number_to(reader, CPT_WEIGHT_MAX, "heaviest weight");
    tree->time_first_ns = get_number(reader);
    tree->time_last_ns = get_number(reader);
    if (reader->status != CPT_OK) {
        return;
    }
    weight = cpti_wide_of(tree->weight);
    if (tree->request_count == 0 ? tree->weight_min != 0 || tree->weight_max != 0
                                 : tree->weight_min < CPT_WEIGHT_ONE ||
                                       tree->weight_min > tree->weight_max) {
        (void)REFUSE(reader, CPT_CORRUPT, "the lightest weight is wrong");
    } else if (!weights_fit(tree, tree->request_count, tree->weight) ||
               !lies_between(&tree->weight_squared, &weight, tree->weight_min,
                             tree->weight_max)) {
        (void)REFUSE(reader, CPT_CORRUPT, "the sums of weights contradict the weights");
    } else if (tree->time_first_ns > tree->time_last_ns) {
        (void)REFUSE(reader, CPT_CORRUPT, "the window ends before it begins");
    }
}

/* A string without NUL, copied to @text with one behind it. */
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
        (void)REFUSE(reader, CPT_CORRUPT, "note %zu is there twice", note_count);
    }
}

/* They have to come sorted: what comes first must be where it was put. */
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

/* Adds a bucket: as a number of requests, if all weigh the same and it is a multiple,
 * or else as its weight. */
static cpt_status put_bucket(struct cpt_tree *tree, struct cpti_node *node,
                             uint32_t index, cpti_u128 weight)
{
    const cpt_weight unit = node->batch.weight;
    struct cpti_histogram *histogram = &node->histogram;
    cpti_u128 amount = weight;
    cpt_status status = CPT_OK;

    if (!histogram->is_wide && unit != 0 && unit == tree->weight_max &&
        weight % unit == 0 && weight / unit <= CPT_TREE_REQUESTS_MAX) {
        amount = weight / unit;
    } else {
        status = cpti_histogram_widen(histogram, tree->alloc, unit);
    }
    if (status == CPT_OK) {
        status = cpti_histogram_reserve(histogram, tree->alloc, 1);
    }
    if (status == CPT_OK) {
        cpti_histogram_append(histogram, index, amount);
    }
    return status;
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

static int extremes_fit(const struct cpti_histogram *histogram,
                        const struct cpti_totals *totals, int is_root)
{
    if (histogram->count == 0) {
        return totals->min_ns == 0 && totals->max_ns == 0;
    }
    return cpti_histogram_bucket(histogram, 0, 1).index ==
               cpti_histogram_index(totals->min_ns) &&
           cpti_histogram_bucket(histogram, histogram->count - 1U, 1).index ==
               cpti_histogram_index(totals->max_ns) &&
           (is_root || totals->min_ns != 0);
}

/* --- Reading: sums of requests that all weigh the same --- */

/* @wide by @divisor; returns what is left over. */
static uint64_t divide(struct cpti_wide *wide, uint64_t divisor)
{
    uint64_t rest = 0;

    for (size_t i = CPTI_WIDE_LIMBS; i-- > 0;) {
        const cpti_u128 part = (cpti_u128)rest << 64 | wide->limb[i];

        if (rest != 0) {
            wide->limb[i] = (uint64_t)(part / divisor);
            rest = (uint64_t)(part % divisor);
        } else if (wide->limb[i] != 0) { /* the machine divides these by itself */
            rest = wide->limb[i] % divisor;
            wide->limb[i] /= divisor;
        }
    }
    return rest;
}

/* Whether @wide is a multiple of @weight, and the quotient has at most 64 bits. */
static int is_time(struct cpti_wide wide, cpt_weight weight, uint64_t *time_ns)
{
    if (divide(&wide, weight) != 0 || cpti_wide_bits(&wide) > 64) {
        return 0;
    }
    *time_ns = wide.limb[0];
    return 1;
}

/* The same of the square of @weight, and of 128 bits. */
static int is_square(struct cpti_wide wide, cpt_weight weight, cpti_u128 *squares)
{
    if (divide(&wide, weight) != 0 || divide(&wide, weight) != 0 ||
        (wide.limb[2] | wide.limb[3]) != 0) {
        return 0;
    }
    *squares = (cpti_u128)wide.limb[1] << 64 | wide.limb[0];
    return 1;
}

/* Whether the requests of a node all have one weight and sums that fit a batch, which
 * is then in @batch but for the times below; and these are in bounds, as in
 * check_sums(). */
static int take_batch(const struct cpt_tree *tree, const struct cpti_totals *totals,
                      int is_root, struct cpti_batch *batch)
{
    const cpt_weight weight = tree->weight_min;
    const cpti_u128 max_ns = totals->max_ns;
    const struct cpti_wide *wwx = &totals->self.wwx;
    struct cpti_wide wwx_wanted;
    cpti_u128 most = 0;

    *batch = (struct cpti_batch){.count = totals->present_count, .weight = weight};
    if (weight != tree->weight_max || weight == 0 ||
        !is_time(totals->self.wx, weight, &batch->self_ns) ||
        !is_square(totals->self.wwxx, weight, &batch->self_squares) ||
        !is_square(totals->inclusive.wwxx, weight, &batch->inclusive_squares)) {
        return 0;
    }
    batch->inclusive_ns = batch->self_ns; /* that below comes later */
    wwx_wanted = cpti_wide_times(totals->self.wx, weight);
    return cpti_wide_compare(&wwx_wanted, wwx) == 0 &&
           batch->self_ns <= (is_root ? 0 : batch->count * max_ns) &&
           batch->self_squares <= batch->self_ns * max_ns &&
           batch->self_squares <= batch->inclusive_squares &&
           (__builtin_mul_overflow(max_ns * max_ns, (cpti_u128)tree->request_count,
                                   &most) ||
            batch->inclusive_squares <= most);
}

/* --- Reading: nodes --- */

/* What can be said of a node by itself. */
static void check_node(struct reader *reader, const struct cpt_tree *tree,
                       const struct cpti_node *node, const struct cpti_totals *totals)
{
    const int is_root = node->parent == CPT_TREE_NONE;

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
    } else if (!extremes_fit(&node->histogram, totals, is_root)) {
        (void)REFUSE(reader, CPT_CORRUPT,
                     "the extremes of a stack contradict its buckets");
    }
}

/* Bounds that keep all further sums from overflowing. */
static void check_sums(struct reader *reader, const struct cpt_tree *tree,
                       const struct cpti_totals *totals, int is_root)
{
    const struct cpti_wide weight = cpti_wide_of(totals->present_weight);
    const struct cpti_wide squared =
        cpti_wide_times(tree->weight_squared, totals->max_ns);

    if (reader->status != CPT_OK) {
        return;
    }
    if (!lies_between(&totals->self.wx, &weight, 0, is_root ? 0 : totals->max_ns) ||
        !lies_between(&totals->self.wwx, &totals->self.wx, tree->weight_min,
                      tree->weight_max) ||
        !lies_between(&totals->self.wwxx, &totals->self.wwx, 0,
                      totals->max_ns * (uint64_t)!is_root) ||
        cpti_wide_compare(&totals->self.wwxx, &totals->inclusive.wwxx) > 0 ||
        !lies_between(&totals->inclusive.wwxx, &squared, 0, totals->max_ns)) {
        (void)REFUSE(reader, CPT_CORRUPT,
                     "the sums of a stack contradict its extremes");
    }
}

/* The nodes from the root to the one that was read last, with the sums so far. */
struct branch {
    struct limb {
        struct cpti_totals totals; /* inclusive: of what is in no batch */
        struct cpti_batch batch;   /* inclusive: of the other nodes, itself included */
        int is_batch;              /* the node, and all below that have ended */
        uint32_t node;
    } limbs[CPT_TREE_DEPTH_MAX + 1];
    uint64_t depth;         /* of the last */
    uint32_t contradictory; /* the first node that contradicts those below; or none */
};

/* Node @index, which becomes @limb, but for what is below it. */
static void get_node(struct reader *reader, struct cpt_tree *tree, uint32_t index,
                     struct limb *limb)
{
    struct cpti_node *node = &tree->nodes[index];
    struct cpti_totals *totals = &limb->totals;
    const int is_root = node->parent == CPT_TREE_NONE;

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
    if (totals->present_count > tree->request_count) {
        (void)REFUSE(reader, CPT_CORRUPT, "a stack has more requests than there are");
    }
    if (reader->status == CPT_OK) {
        node->batch.weight = tree->weight_min;
        get_buckets(reader, tree, node, totals->present_weight);
    }
    check_node(reader, tree, node, totals);
    if (reader->status != CPT_OK) {
        return;
    }
    limb->node = index;
    limb->is_batch = take_batch(tree, totals, is_root, &limb->batch);
    if (!limb->is_batch) {
        check_sums(reader, tree, totals, is_root);
        limb->batch.inclusive_ns = 0;
        totals->inclusive.wx = totals->self.wx;
        totals->inclusive.wwx = totals->self.wwx;
    }
}

/* --- Reading: nodes whose nodes below have all been read --- */

/* The sums that @limb has in its batch, to those that it has not. */
static void multiply_out(struct limb *limb, cpt_weight weight)
{
    const struct cpti_wide wx = cpti_wide_product(weight, limb->batch.inclusive_ns);
    const struct cpti_wide wwx = cpti_wide_times(wx, weight);

    cpti_wide_add(&limb->totals.inclusive.wx, &wx);
    cpti_wide_add(&limb->totals.inclusive.wwx, &wwx);
    limb->batch.inclusive_ns = 0;
    limb->is_batch = 0;
}

/* Adds the inclusive sums of a node to those of the one above. */
static void add_above(struct limb *above, const struct limb *limb, cpt_weight weight)
{
    if (limb->is_batch &&
        limb->batch.inclusive_ns > UINT64_MAX - above->batch.inclusive_ns) {
        multiply_out(above, weight);
    }
    if (limb->is_batch) {
        above->batch.inclusive_ns += limb->batch.inclusive_ns;
        return;
    }
    cpti_wide_add(&above->totals.inclusive.wx, &limb->totals.inclusive.wx);
    cpti_wide_add(&above->totals.inclusive.wwx, &limb->totals.inclusive.wwx);
    above->is_batch = 0;
}

/* Whether the time of a node is what its extremes allow. */
static int time_fits(const struct limb *limb)
{
    const struct cpti_totals *totals = &limb->totals;
    const cpti_u128 count = totals->present_count;
    const struct cpti_wide weight = cpti_wide_of(totals->present_weight);

    if (limb->is_batch) {
        return count * totals->min_ns <= limb->batch.inclusive_ns &&
               limb->batch.inclusive_ns <= count * totals->max_ns;
    }
    return lies_between(&totals->inclusive.wx, &weight, totals->min_ns, totals->max_ns);
}

/* Gives a node its sums. */
static cpt_status keep_sums(struct cpt_tree *tree, const struct limb *limb)
{
    struct cpti_node *node = &tree->nodes[limb->node];
    cpt_status status = CPT_OK;

    if (limb->totals.present_count == 0) {
        return CPT_OK;
    }
    if (limb->is_batch) {
        node->batch = limb->batch;
        node->min_ns = limb->totals.min_ns;
        node->max_ns = limb->totals.max_ns;
        return CPT_OK;
    }
    status = cpti_node_reserve_wide(tree, limb->node);
    if (status == CPT_OK) {
        cpti_node_add_wide(tree, limb->node, &limb->totals);
    }
    return status;
}

/* Ends the last node of the branch: adds its sums to those of the node above, checks
 * that its time is what its extremes allow and part of the time above, and keeps it. */
static void end_node(struct reader *reader, struct cpt_tree *tree,
                     struct branch *branch)
{
    struct limb *limb = &branch->limbs[branch->depth];
    struct limb *above = &branch->limbs[branch->depth != 0 ? branch->depth - 1 : 0];
    const struct cpti_totals *totals = &limb->totals;

    if (!limb->is_batch) {
        multiply_out(limb, tree->weight_min);
    }
    if (branch->depth != 0) {
        add_above(above, limb, tree->weight_min);
    }
    if ((!time_fits(limb) || totals->present_count > above->totals.present_count ||
         totals->present_weight > above->totals.present_weight ||
         totals->max_ns > above->totals.max_ns) &&
        limb->node < branch->contradictory) {
        branch->contradictory = limb->node;
    }
    if (keep_sums(tree, limb) != CPT_OK) {
        (void)REFUSE(reader, CPT_NO_MEMORY, "out of memory");
    }
    branch->depth -= branch->depth != 0;
}

/* A name by its number; a new one is as many as there are (with the empty one). */
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
        (void)REFUSE(reader, CPT_CORRUPT, "a name is there twice");
        return (struct cpt_bytes){"", 0};
    }
    return name;
}

/* Finds or makes the node that comes next, which becomes the end of the branch. */
static uint32_t get_place(struct reader *reader, struct cpt_tree *tree,
                          struct branch *branch)
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
        return 0;
    }
    status = cpti_tree_child(tree, branch->limbs[depth - 1].node, name, (unsigned)kind,
                             &node);
    if (status != CPT_OK) {
        (void)REFUSE(reader, status, "%s", cpt_status_sentence(status));
        return 0;
    }
    if (depth <= depth_before &&
        cpti_sibling_compare(tree, branch->limbs[depth].node, tree, node) >= 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "stacks are out of order");
        return 0;
    }
    while (branch->depth >= depth && reader->status == CPT_OK) {
        end_node(reader, tree, branch);
    }
    branch->limbs[depth].node = node;
    branch->depth = depth;
    return node;
}

/* What remains to be said when all nodes have been read. */
static void end_nodes(struct reader *reader, struct cpt_tree *tree,
                      struct branch *branch)
{
    if (reader->status == CPT_OK && reader->at != reader->end) {
        (void)REFUSE(reader, CPT_CORRUPT, "%zu bytes follow the last stack",
                     reader->end - reader->at);
    }
    while (branch->depth != 0 && reader->status == CPT_OK) {
        end_node(reader, tree, branch);
    }
    if (reader->status == CPT_OK) {
        end_node(reader, tree, branch);
    }
    if (reader->status == CPT_OK && branch->contradictory != CPT_TREE_NONE) {
        (void)REFUSE(reader, CPT_CORRUPT, "stack %u contradicts those below it",
                     (unsigned)branch->contradictory);
    }
}

static void get_nodes(struct reader *reader, struct cpt_tree *tree)
{
    const uint64_t count =
        get_number_to(reader, (uint64_t)tree->nodes_max + 1, "number of stacks");
    struct branch *branch = cpt_alloc_array(tree->alloc, NULL, 1, sizeof *branch);

    if (branch == NULL) {
        (void)REFUSE(reader, CPT_NO_MEMORY, "out of memory");
        return;
    }
    branch->limbs[0].node = CPT_TREE_ROOT;
    branch->depth = 0;
    branch->contradictory = CPT_TREE_NONE;
    if (reader->status == CPT_OK && count == 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "the root is missing");
    }
    if (reader->status == CPT_OK) {
        get_node(reader, tree, CPT_TREE_ROOT, &branch->limbs[0]);
    }
    for (uint64_t i = 1; i < count && reader->status == CPT_OK; i++) {
        const uint32_t node = get_place(reader, tree, branch);

        if (reader->status == CPT_OK) {
            get_node(reader, tree, node, &branch->limbs[branch->depth]);
        }
    }
    end_nodes(reader, tree, branch);
    cpt_alloc_free(tree->alloc, branch);
}

/* Head, length and checksum: what can be told before anything is believed. */
static void check_frame(struct reader *reader, size_t byte_count)
{
    uint64_t body_bytes = 0;

    if (!cpt_tree_is_encoded(reader->data, byte_count)) {
        (void)REFUSE(reader, CPT_CORRUPT, "this is no tree");
        return;
    }
    reader->at = CPTI_TREE_MAGIC_BYTES;
    if (reader->data[CPTI_TREE_MAGIC_BYTES] != CPTI_TREE_VERSION) {
        (void)REFUSE(reader, CPT_VERSION, "the tree has version %u, this is version %u",
                     reader->data[CPTI_TREE_MAGIC_BYTES], (unsigned)CPTI_TREE_VERSION);
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
    get_requests(&reader, made);
    get_notes(&reader, made);
    get_nodes(&reader, made);
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
