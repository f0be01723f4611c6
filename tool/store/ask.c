/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * ask.c - from a selection to a tree: the sums of the database, and the rest of the
 * work
 *
 * The sums of a tree need up to 384 bits; a database has 64. So rows are grouped by
 * weight, stack and bucket:
 *
 *      weight  stack  bucket      requests  min  max  Σ of limbs …
 *      2^20    17     1402        9,311     …
 *      2^20    17     1403        8,802     …
 *
 * A group has one weight, so products with it are computed here, where numbers are wide
 * (cpt_tree_group_add()). The database adds up x, x² and x³. Nearly always all times
 * are below 2^32 ns, 4.3 s. Then x² fits in 64 bits, and so do the products of x with
 * the halves p and q of x², which have 32 bits each:
 *
 *      x² = p 2^32 + q                     Σx³ = Σpx 2^32 + Σqx
 *
 * If a longer time is found, the whole question is asked again, more slowly, for times
 * below 2^56. Such a time has two limbs of 32 bits; its halves h and l of 28 bits have
 * products below 2^56, and products of its thirds a, b and c of 19 bits are below 2^61,
 * also when some are added up:
 *
 *      x = x₁ 2^32 + x₀                    Σx  = Σx₁ 2^32 + Σx₀
 *      x = h 2^28 + l                      Σx² = Σhh 2^56 + Σhl 2^29 + Σll
 *      x = a 2^38 + b 2^19 + c             Σx³ = Σaaa 2^114 + Σ3aab 2^95
 *                                              + Σ(3aac + 3abb) 2^76
 *                                              + Σ(6abc + bbb) 2^57
 *                                              + Σ(3acc + 3bbc) 2^38
 *                                              + Σ3bcc 2^19 + Σccc
 *
 * All these products are added up as two limbs of 32 bits. A sum of fewer than 2^32
 * limbs fits in 64 bits; a group with more requests is refused. So no bit is lost, and
 * the tree is exactly that of the requests.
 *
 * Where nearly every request has a time of its own, in a bucket that it shares with no
 * other, groups are larger than what they sum. So the database first counts times and,
 * roughly, groups. If the times have fewer bytes, it returns these, one row for each
 * stack of each request, and all sums are computed here:
 *
 *      weight  stack  self  inclusive  start
 *
 * All shards give groups of the same tree, whatever the shard of a request is.
 *
 * Answers of a database are not trusted: at the end the tree is encoded and decoded,
 * which checks all its invariants.
 */
#include "tool/store/query.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_alloc.h"

#include <inttypes.h>
#include <stdio.h>

__extension__ typedef unsigned __int128 u128;

/* The sums of limbs of a short time: x, x², qx, px. Of any time: x, then hh, hl, ll,
 * then the parts of the cube from ccc to aaa. The limit of requests in a group. */
enum {
    CUBE_PARTS = 7,
    CUBE_SHIFT = 19,
    SHORT_LIMB_SUMS = 8,
    LIMB_SUMS = 8 + 2 * CUBE_PARTS,
    COLUMNS_BEFORE_SUMS = 7,
    COLUMNS_MAX = COLUMNS_BEFORE_SUMS + 2 * LIMB_SUMS
};
#define SHORT_TIME_MAX     ((UINT64_C(1) << 32) - 1)
#define GROUP_REQUESTS_MAX (UINT64_C(1) << 32)

/* The columns of a row with a single time, and of the row with both counts. */
enum { TIME_COLUMNS = 5, COUNT_COLUMNS = 2 };

/* Makes a tree from the answers of one shard. */
struct tree_maker {
    struct cpt_tree *tree;
    struct cpti_query *query;
    uint64_t time_count;  /* of the requests, on all their stacks */
    uint64_t group_count; /* nearly */
    bool is_long;         /* the question is for times below 2^56, not 2^32 */
    bool has_longer;      /* there are times for which it is not */
};

/* --- Stacks --- */

/* Lists the stacks from @id up to the first that has a node. */
static cpt_status find_above(const struct tree_maker *maker, uint64_t id,
                             uint64_t *above, size_t *count, struct cpt_error *error)
{
    *count = 0;
    while (id != CPTI_STACK_ROOT) {
        const struct cpti_store_stack *stack =
            cpti_stacks_find(&maker->query->stacks, id);

        if (stack == NULL) {
            return cpt_error_set(error, CPT_CORRUPT, 0,
                                 "stack %016" PRIx64 " is not in cpt_stacks", id);
        }
        if (stack->node != 0) {
            return CPT_OK;
        }
        if (*count == CPT_TREE_DEPTH_MAX) {
            return cpt_error_set(error, CPT_LIMIT, 0,
                                 "stack %016" PRIx64 " has more than %d frames", id,
                                 CPT_TREE_DEPTH_MAX);
        }
        above[(*count)++] = id;
        id = stack->parent;
    }
    return CPT_OK;
}

/* Finds or makes the node of stack @id, and those above it. */
static cpt_status find_node(struct tree_maker *maker, uint64_t id, uint32_t *node,
                            struct cpt_error *error)
{
    uint64_t above[CPT_TREE_DEPTH_MAX];
    size_t count = 0;
    cpt_status status = find_above(maker, id, above, &count, error);

    *node = CPT_TREE_ROOT;
    if (status == CPT_OK && count == 0 && id != CPTI_STACK_ROOT) {
        *node = cpti_stacks_find(&maker->query->stacks, id)->node;
    }
    for (size_t i = count; i-- > 0 && status == CPT_OK;) {
        struct cpti_store_stack *stack =
            cpti_stacks_find(&maker->query->stacks, above[i]);
        const struct cpti_store_stack *parent =
            stack->parent != CPTI_STACK_ROOT
                ? cpti_stacks_find(&maker->query->stacks, stack->parent)
                : NULL;

        status = cpt_tree_node_add(
            maker->tree, parent != NULL ? parent->node : CPT_TREE_ROOT,
            cpt_names_at(maker->query->stacks.names, stack->name), stack->kind,
            &stack->node);
        if (status != CPT_OK) {
            return cpt_error_set(error, status, 0, "stack %016" PRIx64 ": %s", above[i],
                                 cpt_status_sentence(status));
        }
        *node = stack->node;
    }
    return status;
}

/* --- Groups --- */

/* Two sums, of the low and high limb of @value. */
static void write_sums(struct cpti_packed *sql, const char *value)
{
    cpti_sql_add(sql, ", sum(bitAnd(%s, 4294967295)), sum(bitShiftRight(%s, 32))",
                 value, value);
}

/* The sums of the parts of the cube of @x, from low to high. */
static void write_cubes(struct cpti_packed *sql, const char *x)
{
    static const char *const parts[CUBE_PARTS] = {"(c * c * c)",
                                                  "(3 * b * c * c)",
                                                  "(3 * c * (a * c + b * b))",
                                                  "(b * (6 * a * c + b * b))",
                                                  "(3 * a * (a * c + b * b))",
                                                  "(3 * a * a * b)",
                                                  "(a * a * a)"};

    char thirds[3][80];

    (void)snprintf(thirds[0], sizeof thirds[0], "bitShiftRight(%s, 38)", x);
    (void)snprintf(thirds[1], sizeof thirds[1], "bitAnd(bitShiftRight(%s, 19), 524287)",
                   x);
    (void)snprintf(thirds[2], sizeof thirds[2], "bitAnd(%s, 524287)", x);
    for (size_t i = 0; i < CUBE_PARTS; i++) {
        char text[512];
        size_t bytes = 0;

        for (const char *at = parts[i]; *at != '\0'; at++) {
            if (*at >= 'a' && *at <= 'c') {
                bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s",
                                          thirds[*at - 'a']);
            } else {
                text[bytes++] = *at;
            }
        }
        text[bytes] = '\0';
        write_sums(sql, text);
    }
}

static void write_short_limbs(struct cpti_packed *sql, const char *x)
{
    char text[160];

    write_sums(sql, x);
    (void)snprintf(text, sizeof text, "%s * %s", x, x);
    write_sums(sql, text);
    (void)snprintf(text, sizeof text, "bitAnd(%s * %s, 4294967295) * %s", x, x, x);
    write_sums(sql, text);
    (void)snprintf(text, sizeof text, "bitShiftRight(%s * %s, 32) * %s", x, x, x);
    write_sums(sql, text);
}

static void write_limbs(struct cpti_packed *sql, const char *x)
{
    char h[64];
    char l[64];
    char product[3][160];

    (void)snprintf(h, sizeof h, "bitShiftRight(%s, 28)", x);
    (void)snprintf(l, sizeof l, "bitAnd(%s, 268435455)", x);
    (void)snprintf(product[0], sizeof product[0], "%s * %s", h, h);
    (void)snprintf(product[1], sizeof product[1], "%s * %s", h, l);
    (void)snprintf(product[2], sizeof product[2], "%s * %s", l, l);
    write_sums(sql, x);
    for (size_t i = 0; i < 3; i++) {
        write_sums(sql, product[i]);
    }
    write_cubes(sql, x);
}

/* The selected requests, with a row for each of their stacks. */
static void write_source(struct cpti_packed *sql,
                         const struct cpti_store_question *question)
{
    cpti_sql_add(sql, " FROM cpt_requests FINAL ARRAY JOIN stacks.id AS s_id, "
                      "stacks.self_ns AS s_self, stacks.inclusive_ns AS s_in, "
                      "stacks.bucket AS s_bucket");
    cpti_sql_where(sql, question);
}

static void write_groups(struct cpti_packed *sql,
                         const struct cpti_store_question *question, bool is_long)
{
    void (*write_sums_of)(struct cpti_packed *, const char *) =
        is_long ? write_limbs : write_short_limbs;

    cpti_sql_add(sql, "SELECT ");
    cpti_sql_weight(sql, question);
    cpti_sql_add(sql, ", s_id, count(), min(s_in), max(s_in), "
                      "min(start_ns), max(start_ns)");
    write_sums_of(sql, "s_self");
    write_sums_of(sql, "s_in");
    write_source(sql, question);
    cpti_sql_add(sql, " GROUP BY w, s_id, s_bucket FORMAT RowBinary");
}

static void write_times(struct cpti_packed *sql,
                        const struct cpti_store_question *question)
{
    cpti_sql_add(sql, "SELECT ");
    cpti_sql_weight(sql, question);
    cpti_sql_add(sql, ", s_id, s_self, s_in, start_ns");
    write_source(sql, question);
    cpti_sql_add(sql, " FORMAT RowBinary");
}

static void write_counts(struct cpti_packed *sql,
                         const struct cpti_store_question *question)
{
    cpti_sql_add(sql, "SELECT count(), uniq(w, s_id, s_bucket) FROM (SELECT ");
    cpti_sql_weight(sql, question);
    cpti_sql_add(sql, ", s_id, s_bucket");
    write_source(sql, question);
    cpti_sql_add(sql, ") FORMAT RowBinary");
}

/* Adds @value, shifted left by @bits, to @count limbs. */
static void add_shifted(uint64_t *limbs, size_t count, u128 value, unsigned bits)
{
    const u128 low = (u128)(uint64_t)value << bits % 64;
    const u128 high = ((value >> 64) << bits % 64) + (low >> 64);
    const uint64_t parts[3] = {(uint64_t)low, (uint64_t)high, (uint64_t)(high >> 64)};
    u128 carry = 0;

    for (size_t i = bits / 64, part = 0; i < count; i++, part++) {
        carry += (u128)limbs[i] + (part < 3 ? parts[part] : 0);
        limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

/* The sum, from the sums of its low and high limbs. */
static u128 joined(const uint64_t *limbs)
{
    return ((u128)limbs[1] << 32) + limbs[0];
}

static struct cpt_tree_group_sums short_sums_of(const uint64_t *limbs,
                                                uint64_t cubes[4])
{
    const u128 sum = joined(limbs);
    struct cpt_tree_group_sums sums = {{(uint64_t)sum, (uint64_t)(sum >> 64)}, {0}};

    add_shifted(sums.squares, 3, joined(limbs + 2), 0);
    add_shifted(cubes, 4, joined(limbs + 4), 0);  /* qx */
    add_shifted(cubes, 4, joined(limbs + 6), 32); /* px */
    return sums;
}

static struct cpt_tree_group_sums long_sums_of(const uint64_t *limbs, uint64_t cubes[4])
{
    const u128 sum = joined(limbs);
    struct cpt_tree_group_sums sums = {{(uint64_t)sum, (uint64_t)(sum >> 64)}, {0}};

    add_shifted(sums.squares, 3, joined(limbs + 2), 56); /* hh */
    add_shifted(sums.squares, 3, joined(limbs + 4), 29); /* hl, twice */
    add_shifted(sums.squares, 3, joined(limbs + 6), 0);  /* ll */
    for (unsigned i = 0; i < CUBE_PARTS; i++) {
        add_shifted(cubes, 4, joined(limbs + 8 + (size_t)2 * i), CUBE_SHIFT * i);
    }
    return sums;
}

static size_t limb_sums(const struct tree_maker *maker)
{
    return maker->is_long ? LIMB_SUMS : SHORT_LIMB_SUMS;
}

/* Sums of a time, and of its cube, which is 0 before. */
static struct cpt_tree_group_sums sums_of(const struct tree_maker *maker,
                                          const uint64_t *limbs, uint64_t cubes[4])
{
    return maker->is_long ? long_sums_of(limbs, cubes) : short_sums_of(limbs, cubes);
}

/* Adds @group to stack @id. */
static cpt_status add_to_stack(struct tree_maker *maker, uint64_t id,
                               const struct cpt_tree_group *group, uint64_t first_ns,
                               uint64_t last_ns, struct cpt_error *error)
{
    uint32_t node;
    cpt_status status = find_node(maker, id, &node, error);

    if (status == CPT_OK) {
        status = cpt_tree_group_add(maker->tree, node, group);
    }
    if (status != CPT_OK) {
        return cpt_error_set(error, status, 0, "the sums of stack %016" PRIx64 ": %s",
                             id, cpt_status_sentence(status));
    }
    if (node == CPT_TREE_ROOT) {
        cpt_tree_time_add(maker->tree, first_ns);
        cpt_tree_time_add(maker->tree, last_ns);
    }
    return CPT_OK;
}

static cpt_status add_group(struct tree_maker *maker, const uint64_t *columns,
                            struct cpt_error *error)
{
    struct cpt_tree_group group = {
        .weight = columns[0],
        .count = columns[2],
        .min_ns = columns[3],
        .max_ns = columns[4],
    };
    const uint64_t *limbs = columns + COLUMNS_BEFORE_SUMS;

    group.self = sums_of(maker, limbs, group.self_cubes);
    group.inclusive = sums_of(maker, limbs + limb_sums(maker), group.inclusive_cubes);
    if (group.count >= GROUP_REQUESTS_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "a group has 2^32 requests or more; choose a shorter "
                             "window and merge the trees");
    }
    return add_to_stack(maker, columns[1], &group, columns[5], columns[6], error);
}

/* Reads @count columns; returns the bytes of the row, or 0 if it is not complete. */
static size_t get_columns(const unsigned char *data, size_t bytes, uint64_t *columns,
                          size_t count)
{
    const unsigned char *at = data;

    if (bytes < count * sizeof columns[0]) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        (void)cpti_row_get_u64(&at, data + bytes, &columns[i]);
    }
    return count * sizeof columns[0];
}

static cpt_status take_group(void *context, const unsigned char *data, size_t bytes,
                             size_t *used, struct cpt_error *error)
{
    struct tree_maker *maker = context;
    uint64_t columns[COLUMNS_MAX];

    *used =
        get_columns(data, bytes, columns, COLUMNS_BEFORE_SUMS + 2 * limb_sums(maker));
    if (*used == 0) {
        return CPT_OK;
    }
    if (!maker->is_long && columns[4] > SHORT_TIME_MAX) {
        maker->has_longer = true;
    }
    return maker->has_longer ? CPT_OK : add_group(maker, columns, error);
}

/* --- Times --- */

/* The sums of one time. */
static struct cpt_tree_group_sums sums_of_time(uint64_t time_ns, uint64_t cubes[4])
{
    const u128 square = (u128)time_ns * time_ns;

    add_shifted(cubes, 4, (u128)(uint64_t)square * time_ns, 0);
    add_shifted(cubes, 4, (u128)(uint64_t)(square >> 64) * time_ns, 64);
    return (struct cpt_tree_group_sums){
        {time_ns, 0}, {(uint64_t)square, (uint64_t)(square >> 64), 0}};
}

static cpt_status take_time(void *context, const unsigned char *data, size_t bytes,
                            size_t *used, struct cpt_error *error)
{
    struct tree_maker *maker = context;
    struct cpt_tree_group group = {.count = 1};
    uint64_t columns[TIME_COLUMNS];

    *used = get_columns(data, bytes, columns, TIME_COLUMNS);
    if (*used == 0) {
        return CPT_OK;
    }
    group.weight = columns[0];
    group.min_ns = columns[3];
    group.max_ns = columns[3];
    group.self = sums_of_time(columns[2], group.self_cubes);
    group.inclusive = sums_of_time(columns[3], group.inclusive_cubes);
    return add_to_stack(maker, columns[1], &group, columns[4], columns[4], error);
}

static cpt_status take_counts(void *context, const unsigned char *data, size_t bytes,
                              size_t *used, struct cpt_error *error)
{
    struct tree_maker *maker = context;
    uint64_t columns[COUNT_COLUMNS];

    (void)error;
    *used = get_columns(data, bytes, columns, COUNT_COLUMNS);
    if (*used != 0) {
        maker->time_count = columns[0];
        maker->group_count = columns[1];
    }
    return CPT_OK;
}

/* Whether times have fewer bytes than groups of short ones. */
static bool times_are_smaller(const struct tree_maker *maker)
{
    const uint64_t group_columns = COLUMNS_BEFORE_SUMS + 2 * SHORT_LIMB_SUMS;

    return maker->time_count / group_columns < maker->group_count / TIME_COLUMNS;
}

/* --- Trees --- */

/* Starts with an empty tree. */
static cpt_status renew_tree(struct tree_maker *maker, struct cpt_error *error)
{
    struct cpti_stacks *stacks = &maker->query->stacks;

    for (size_t i = 0; i < stacks->count; i++) {
        stacks->entries[i].node = 0;
    }
    cpt_tree_free(maker->tree);
    maker->tree = cpt_tree_new(NULL, NULL);
    return maker->tree != NULL
               ? CPT_OK
               : cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
}

/* Asks for the sums of times of one kind. */
static cpt_status ask_for_groups(struct tree_maker *maker, bool is_long,
                                 struct cpt_error *error)
{
    const cpt_status status = renew_tree(maker, error);

    if (status != CPT_OK) {
        return status;
    }
    maker->is_long = is_long;
    maker->has_longer = false;
    write_groups(&maker->query->sql, maker->query->question, is_long);
    return cpti_query_run(maker->query, take_group, maker, 0, error);
}

static cpt_status ask_for_times(struct tree_maker *maker, struct cpt_error *error)
{
    const cpt_status status = renew_tree(maker, error);

    if (status != CPT_OK) {
        return status;
    }
    write_times(&maker->query->sql, maker->query->question);
    return cpti_query_run(maker->query, take_time, maker, 0, error);
}

static cpt_status ask_shard(struct cpti_query *query, struct cpt_error *error)
{
    struct tree_maker *maker = query->context;
    cpt_status status;

    maker->query = query;
    write_counts(&query->sql, query->question);
    status = cpti_query_run(query, take_counts, maker, 0, error);
    if (status == CPT_OK && times_are_smaller(maker)) {
        return ask_for_times(maker, error);
    }
    if (status == CPT_OK) {
        status = ask_for_groups(maker, false, error);
    }
    return status == CPT_OK && maker->has_longer ? ask_for_groups(maker, true, error)
                                                 : status;
}

/* Encodes, frees and decodes @tree, which checks it. */
static cpt_status check(struct cpt_tree *tree, struct cpt_tree **checked,
                        struct cpt_error *error)
{
    void *bytes = NULL;
    size_t byte_count = 0;
    cpt_status status = cpt_tree_encode(NULL, tree, &bytes, &byte_count);

    cpt_tree_free(tree);
    if (status != CPT_OK) {
        return cpt_error_set(
            error, status, 0,
            "the sums of the database do not add up, or memory is short");
    }
    status = cpt_tree_decode(NULL, NULL, bytes, byte_count, checked, error);
    cpt_alloc_free(NULL, bytes);
    return status;
}

/* Merges the trees of all shards into the first, and frees the others. */
static cpt_status join(struct tree_maker *makers, size_t count, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    for (size_t i = 1; i < count; i++) {
        if (status == CPT_OK) {
            status = cpt_tree_merge(makers[0].tree, makers[i].tree);
        }
        cpt_tree_free(makers[i].tree);
    }
    return status == CPT_OK
               ? CPT_OK
               : cpt_error_set(error, status, 0, "the trees of the shards: %s",
                               cpt_status_sentence(status));
}

cpt_status cpti_store_ask(struct cpti_store *store,
                          const struct cpti_store_question *question,
                          struct cpt_tree **tree, struct cpt_error *error)
{
    struct tree_maker makers[CPTI_STORE_SHARDS_MAX] = {{NULL}};
    const struct cpti_query_options options = {.ask = ask_shard,
                                               .contexts = makers,
                                               .context_bytes = sizeof makers[0],
                                               .needs_stacks = true};
    cpt_status status = cpti_query_shards(store, question, &options, error);

    if (status != CPT_OK) {
        for (size_t i = 0; i < store->shard_count; i++) {
            cpt_tree_free(makers[i].tree);
        }
        return status;
    }
    status = join(makers, store->shard_count, error);
    if (status != CPT_OK) {
        cpt_tree_free(makers[0].tree);
        return status;
    }
    return check(makers[0].tree, tree, error);
}
