/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_write.c - a tree as bytes; tree_bytes.c describes and reads them
 *
 * The length of the body stands before it, so the body is written twice: the first time
 * its bytes are only counted. This needs no memory but a buffer, so any tree that fits
 * into memory can be written.
 */
#include "aggregate/tree/tree_bytes.h"
#include "aggregate/tree/tree_node.h"

#include "cpt/base/body.h"

#include <assert.h>
#include <string.h>

_Static_assert((int)CPTI_BODY_BUFFER_BYTES > (int)CPT_TREE_NOTE_VALUE_BYTES_MAX,
               "a value fits");

static void put_limbs(struct cpti_body_writer *writer, const uint64_t *limbs,
                      unsigned bits)
{
    unsigned char bytes[1 + 8 * CPTI_WIDER_LIMBS];
    const unsigned count = (bits + 7) / 8;

    bytes[0] = (unsigned char)count;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(bytes + 1, limbs, count);
#else
    for (unsigned i = 0; i < count; i++) {
        bytes[1 + i] = (unsigned char)(limbs[i / 8] >> i % 8 * 8);
    }
#endif
    cpti_body_put(writer, bytes, 1 + count);
}

static void put_wide(struct cpti_body_writer *writer, const struct cpti_wide *wide)
{
    put_limbs(writer, wide->limb, cpti_wide_bits(wide));
}

static void put_wider(struct cpti_body_writer *writer, const struct cpti_wider *wider)
{
    put_limbs(writer, wider->limb, cpti_wider_bits(wider));
}

static void put_u128(struct cpti_body_writer *writer, cpti_u128 value)
{
    const struct cpti_wide wide = cpti_wide_of(value);

    put_wide(writer, &wide);
}

static void put_fixed(unsigned char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (unsigned char)(value >> 8 * i);
    }
}

static void put_notes(struct cpti_body_writer *writer, const struct cpti_notes *notes)
{
    cpti_body_put_number(writer, notes->count);
    for (size_t i = 0; i < notes->count; i++) {
        const struct cpti_tree_note *note = &notes->entries[i];

        cpti_body_put_number(writer, strlen(note->key));
        cpti_body_put(writer, note->key, strlen(note->key));
        if (note->value == NULL) {
            cpti_body_put_number(writer, 0);
            cpti_body_put_number(writer, note->count);
        } else {
            cpti_body_put_number(writer, strlen(note->value) + 1);
            cpti_body_put(writer, note->value, strlen(note->value));
        }
    }
}

/* @numbers: for each name of the tree its number in the bytes; 0: not used yet. */
static void put_name(struct cpti_body_writer *writer, const struct cpt_tree *tree,
                     cpt_name_id id, uint32_t *numbers, uint32_t *name_count)
{
    const struct cpt_bytes name = cpt_names_at(tree->names, id);

    if (name.bytes == 0 || numbers[id] != 0) {
        cpti_body_put_number(writer, numbers[id]);
        return;
    }
    numbers[id] = ++*name_count;
    cpti_body_put_number(writer, numbers[id]);
    cpti_body_put_number(writer, name.bytes);
    cpti_body_put(writer, name.data, name.bytes);
}

/* Whether the bytes have sums with w³. */
static bool has_cubes(const struct cpt_tree *tree)
{
    return !tree->lacks_cubes && tree->weight_min != tree->weight_max;
}

/* The sums of third order that do not follow from others. */
static void put_cubes(struct cpti_body_writer *writer, const struct cpt_tree *tree,
                      uint32_t index, const struct cpti_totals *totals)
{
    struct cpti_wide self;
    struct cpti_wide inclusive;

    if (tree->lacks_cubes) {
        return;
    }
    if (!has_cubes(tree)) {
        cpti_node_cubes(tree, index, &self, &inclusive);
        put_wide(writer, &self);
        put_wide(writer, &inclusive);
        return;
    }
    put_wide(writer, &totals->present_squared);
    put_wide(writer, &totals->self.wwwx);
    put_wider(writer, &totals->self.wwwxx);
    put_wider(writer, &totals->self.wwwxxx);
    put_wider(writer, &totals->inclusive.wwwxx);
    put_wider(writer, &totals->inclusive.wwwxxx);
}

static void put_sums(struct cpti_body_writer *writer, const struct cpt_tree *tree,
                     uint32_t index)
{
    const struct cpti_node *node = cpti_node_at(tree, index);
    const struct cpti_totals totals = cpti_node_totals(tree, index, has_cubes(tree));

    cpti_body_put_number(writer, totals.present_count);
    put_u128(writer, totals.present_weight);
    cpti_body_put_number(writer, totals.min_ns);
    cpti_body_put_number(writer, totals.max_ns - totals.min_ns);
    put_wide(writer, &totals.self.wx);
    put_wide(writer, &totals.self.wwx);
    put_wide(writer, &totals.self.wwxx);
    put_wide(writer, &totals.inclusive.wwxx);
    put_cubes(writer, tree, index, &totals);
    cpti_body_put_number(writer, node->histogram.count);
    for (uint32_t i = 0, last = 0; i < node->histogram.count; i++) {
        const struct cpti_bucket bucket =
            cpti_histogram_bucket(&node->histogram, i, node->batch.weight);

        cpti_body_put_number(writer, bucket.index - last);
        put_u128(writer, cpti_bucket_weight(&bucket));
        last = bucket.index;
    }
}

static void put_nodes(struct cpti_body_writer *writer, const struct cpt_tree *tree,
                      const uint32_t *order, uint32_t *numbers)
{
    uint32_t name_count = 0;

    memset(numbers, 0, cpt_names_count(tree->names) * sizeof *numbers);
    cpti_body_put_number(writer, tree->node_count);
    for (size_t i = 0; i < tree->node_count; i++) {
        const struct cpti_stack *stack = &tree->stacks[order[i]];

        if (i != 0) {
            cpti_body_put_number(writer, stack->depth);
            put_name(writer, tree, stack->name, numbers, &name_count);
            cpti_body_put_number(writer, stack->kind);
        }
        put_sums(writer, tree, order[i]);
    }
}

static void put_gain_sums(struct cpti_body_writer *writer,
                          const struct cpti_gain_sums *sums)
{
    put_wide(writer, &sums->wx);
    put_wide(writer, &sums->wwx);
    put_wide(writer, &sums->wwxx);
}

/* The gains of the nodes that have any, in the order of the nodes. */
static void put_gains(struct cpti_body_writer *writer, const struct cpt_tree *tree,
                      const uint32_t *order)
{
    uint64_t count = 0;
    size_t last = 0;

    cpti_body_put_number(writer, tree->gain_count);
    put_u128(writer, tree->gain_weight);
    put_wide(writer, &tree->gain_weight_squared);
    for (size_t i = 1; i < tree->node_count; i++) {
        count += cpti_gain_at(tree, order[i]).present_count != 0;
    }
    cpti_body_put_number(writer, count);
    for (size_t i = 1; i < tree->node_count; i++) {
        const struct cpti_gain gain = cpti_gain_at(tree, order[i]);

        if (gain.present_count != 0) {
            cpti_body_put_number(writer, i - last);
            cpti_body_put_number(writer, gain.present_count);
            cpti_body_put_number(writer, gain.present_count - gain.known_count);
            put_gain_sums(writer, &gain.time);
            put_gain_sums(writer, &gain.drag);
            last = i;
        }
    }
}

static unsigned version_of(const struct cpt_tree *tree)
{
    if (tree->gain_count != 0) {
        return tree->lacks_cubes ? CPTI_TREE_VERSION_WITH_DRAGS_WITHOUT_CUBES
                                 : CPTI_TREE_VERSION_WITH_DRAGS;
    }
    return tree->lacks_cubes ? CPTI_TREE_VERSION_WITHOUT_CUBES : CPTI_TREE_VERSION;
}

static void put_body(struct cpti_body_writer *writer, const struct cpt_tree *tree,
                     const uint32_t *order, uint32_t *numbers)
{
    cpti_body_put_number(writer, tree->request_count);
    put_u128(writer, tree->weight);
    put_wide(writer, &tree->weight_squared);
    cpti_body_put_number(writer, tree->weight_min);
    cpti_body_put_number(writer, tree->weight_max);
    if (has_cubes(tree)) {
        put_wide(writer, &tree->weight_cubed);
    }
    cpti_body_put_number(writer, tree->time_first_ns);
    cpti_body_put_number(writer, tree->time_last_ns);
    put_notes(writer, &tree->notes);
    put_nodes(writer, tree, order, numbers);
    if (tree->gain_count != 0) {
        put_gains(writer, tree, order);
    }
}

static void put_tree(struct cpti_body_writer *writer, const struct cpt_tree *tree,
                     const uint32_t *order, uint32_t *numbers)
{
    const struct cpt_sink sink = writer->sink;
    unsigned char head[CPTI_TREE_HEAD_BYTES] = CPTI_TREE_MAGIC;
    unsigned char crc[CPTI_TREE_CRC_BYTES];

    writer->sink.write = NULL;
    put_body(writer, tree, order, numbers);
    writer->sink = sink;
    head[CPTI_TREE_MAGIC_BYTES] = (unsigned char)version_of(tree);
    put_fixed(head + CPTI_TREE_MAGIC_BYTES + 1, writer->bytes, 8);
    cpti_body_put(writer, head, sizeof head);
    put_body(writer, tree, order, numbers);
    cpti_body_flush(writer);
    put_fixed(crc, writer->crc, sizeof crc);
    cpti_body_put(writer, crc, sizeof crc);
    cpti_body_flush(writer);
}

cpt_status cpt_tree_write(const struct cpt_alloc *alloc, const struct cpt_tree *tree,
                          const struct cpt_sink *sink)
{
    struct cpti_body_writer *writer = cpt_alloc_zeroed(alloc, sizeof *writer);
    uint32_t *order = cpt_alloc_array(alloc, NULL, tree->node_count, sizeof *order);
    uint32_t *numbers =
        cpt_alloc_array(alloc, NULL, cpt_names_count(tree->names), sizeof *numbers);
    cpt_status status = writer == NULL || order == NULL || numbers == NULL
                            ? CPT_NO_MEMORY
                            : cpti_tree_order(alloc, tree, CPT_TREE_BY_NAME, order);

    if (status == CPT_OK) {
        writer->sink = *sink;
        put_tree(writer, tree, order, numbers);
        status = writer->status;
    }
    cpt_alloc_free(alloc, writer);
    cpt_alloc_free(alloc, order);
    cpt_alloc_free(alloc, numbers);
    return status;
}

/* --- To memory --- */

struct memory {
    const struct cpt_alloc *alloc;
    unsigned char *data;
    size_t bytes;
    size_t capacity;
};

static cpt_status put_to_memory(void *context, const void *data, size_t bytes)
{
    struct memory *memory = context;

    if (cpt_alloc_grow(memory->alloc, (void **)&memory->data, &memory->capacity,
                       memory->bytes + bytes, SIZE_MAX / 2, 1) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    memcpy(memory->data + memory->bytes, data, bytes);
    memory->bytes += bytes;
    return CPT_OK;
}

cpt_status cpt_tree_encode(const struct cpt_alloc *alloc, const struct cpt_tree *tree,
                           void **bytes, size_t *byte_count)
{
    struct memory memory = {.alloc = alloc};
    const struct cpt_sink sink = {put_to_memory, &memory};

    if (cpt_tree_write(alloc, tree, &sink) != CPT_OK) {
        cpt_alloc_free(alloc, memory.data);
        return CPT_NO_MEMORY;
    }
    *bytes = memory.data;
    *byte_count = memory.bytes;
    return CPT_OK;
}
