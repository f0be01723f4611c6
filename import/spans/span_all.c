/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_all.c - all spans of a trace as one sequence, on the critical path or not
 *
 *      A |==================|        A 3, B 5, A, C 9, A: the frames as on a path, each
 *      B    |=====|                  span with the time that no child of it has. Of A
 *      C   |=========|               stands a nanosecond behind each child, so that two
 *                                    calls of one operation stay two.
 *
 * The time of a service in which one of its calls runs is a wait, whichever of its
 * spans made the call. So the spans beside it do not have that time, either:
 *
 *      A: /       |==================|     A: / and A: handle end when D does: if D is
 *      A: handle   |================|      slower, A: handle is longer, but A worked no
 *      A: GET       |===============|      longer
 *      D: get         |===========|
 *
 * The sum is that of all work, and no latency. When each call began and ended, labels
 * tell (CPT_LABEL_BEGIN), of its first segment and of the one behind it, and which
 * visits failed (CPT_LABEL_STATUS).
 */
#include "import/spans/span_tree.h"

#include "cpt/cpt_path.h"

#include <stdlib.h>

enum { SEPARATOR_NS = 1 };

/* Time in which a visit of a service waits for calls; those of one visit stand side by
 * side, apart from each other, in the order of time. */
struct wait {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t before_ns; /* waited before, in this visit */
    uint32_t visit;     /* its first span */
};

/* What is made on the way. */
struct all {
    struct cpti_spans *spans;
    struct cpt_path *path;
    uint32_t *next;   /* by span: its child that comes next */
    uint32_t *visits; /* by span: the first span of its visit */
    struct cpti_span_key *keys;
    struct wait *waits;
    size_t wait_count;
};

/* Whether span @number is work of the tree that has a time. */
static bool is_work(const struct cpti_spans *spans, uint32_t number)
{
    return spans->nodes[number].fate == CPTI_SPAN_IN_TREE &&
           (spans->nodes[number].traits & (CPTI_SPAN_HAS_TIME | CPTI_SPAN_IS_WAIT)) ==
               CPTI_SPAN_HAS_TIME;
}

/* --- Waits of visits --- */

/* Whether span @number is time that its service waits for another one. */
static bool is_call(const struct all *all, uint32_t number)
{
    const enum cpti_span_role role = cpti_spans_role(all->spans, number);

    return role == CPTI_SPAN_CALL || role == CPTI_SPAN_BLIND;
}

/* Finds the visit of @child, below span @number, and whether the visit of that waits
 * for it. */
static void place(void *context, uint32_t number, uint32_t child)
{
    struct all *all = context;
    const struct cpti_spans *spans = all->spans;
    const bool is_inside =
        cpti_spans_role(all->spans, child) != CPTI_SPAN_CALLEE &&
        cpt_bytes_equal(spans->items[child].service, spans->items[number].service);

    all->visits[child] = is_inside ? all->visits[number] : child;
    if (is_work(spans, child) && (!is_inside || is_call(all, child))) {
        all->waits[all->wait_count++] =
            (struct wait){.start_ns = spans->nodes[child].start_ns,
                          .end_ns = spans->nodes[child].end_ns,
                          .visit = all->visits[number]};
    }
}

static int compare_waits(const void *left, const void *right)
{
    const struct wait *a = left;
    const struct wait *b = right;

    if (a->visit != b->visit) {
        return a->visit < b->visit ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Makes one of waits of a visit that overlap. */
static void join_waits(struct all *all)
{
    size_t kept = 0;

    if (all->wait_count == 0) {
        return;
    }
    qsort(all->waits, all->wait_count, sizeof *all->waits, compare_waits);
    for (size_t i = 1; i < all->wait_count; i++) {
        struct wait *last = &all->waits[kept];
        struct wait *wait = &all->waits[i];

        if (wait->visit == last->visit && wait->start_ns <= last->end_ns) {
            last->end_ns = wait->end_ns > last->end_ns ? wait->end_ns : last->end_ns;
            continue;
        }
        wait->before_ns = wait->visit == last->visit
                              ? last->before_ns + last->end_ns - last->start_ns
                              : 0;
        all->waits[++kept] = *wait;
    }
    all->wait_count = kept + 1;
}

static void find_waits(struct all *all)
{
    all->visits[all->spans->root] = all->spans->root;
    cpti_spans_each_below(all->spans, place, all);
    join_waits(all);
}

/* How long @visit has waited until @ns. */
static uint64_t waited_until(const struct all *all, uint32_t visit, uint64_t ns)
{
    size_t low = 0;
    size_t high = all->wait_count;

    while (low < high) { /* those that are later, or of a later visit */
        const size_t middle = low + (high - low) / 2;
        const struct wait *wait = &all->waits[middle];

        if (wait->visit < visit || (wait->visit == visit && wait->start_ns <= ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low > 0 && all->waits[low - 1].visit == visit) {
        const struct wait *wait = &all->waits[low - 1];

        return wait->before_ns + (ns < wait->end_ns ? ns : wait->end_ns) -
               wait->start_ns;
    }
    return 0;
}

/* --- Own time --- */

static int compare_ends(const void *left, const void *right)
{
    const struct cpti_span_key *a = left;
    const struct cpti_span_key *b = right;

    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

/* How much of the time from @start_ns to @end_ns is of span @number or spans below it:
 * of a call, all; else what its visit does not wait. */
static uint64_t worked_ns(const struct all *all, uint32_t number, uint64_t start_ns,
                          uint64_t end_ns)
{
    const uint32_t visit = all->visits[number];

    return end_ns - start_ns -
           (is_call(all, number) ? 0
                                 : waited_until(all, visit, end_ns) -
                                       waited_until(all, visit, start_ns));
}

/* The time of span @number that no child of it has. */
static uint64_t own_ns(const struct all *all, uint32_t number)
{
    const struct cpti_span_node *node = &all->spans->nodes[number];
    uint64_t own = worked_ns(all, number, node->start_ns, node->end_ns);
    uint64_t from_ns = node->end_ns; /* all from here on is looked at */
    size_t count = 0;

    for (uint32_t i = 0; i < node->child_count; i++) {
        const uint32_t child = all->spans->numbers[node->children_at + i];

        if (is_work(all->spans, child)) {
            all->keys[count++] =
                (struct cpti_span_key){.start_ns = all->spans->nodes[child].start_ns,
                                       .end_ns = all->spans->nodes[child].end_ns};
        }
    }
    if (count > 1) {
        qsort(all->keys, count, sizeof *all->keys, compare_ends);
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t end_ns =
            all->keys[i].end_ns < from_ns ? all->keys[i].end_ns : from_ns;

        if (all->keys[i].start_ns < end_ns) {
            own -= worked_ns(all, number, all->keys[i].start_ns, end_ns);
            from_ns = all->keys[i].start_ns;
        }
    }
    return own;
}

/* --- The sequence --- */

static cpt_status put(const struct all *all, uint32_t number, uint64_t ns)
{
    const uint64_t start_ns = all->spans->nodes[number].start_ns;
    const struct cpti_section section = {
        .span = number, .start_ns = start_ns, .end_ns = start_ns + ns};

    return is_work(all->spans, number)
               ? cpti_spans_append(all->spans, all->path, &section)
               : CPT_OK;
}

/* Whether span @number is a call of the visit that its parent is of. */
static bool is_call_of_parent(const struct all *all, uint32_t number)
{
    const uint32_t parent = all->spans->nodes[number].parent;

    return number != all->spans->root && is_work(all->spans, number) &&
           !is_call(all, parent) &&
           (all->visits[number] == number || is_call(all, number));
}

/* Labels the last segment, which begins at @ns. */
static cpt_status mark_begin(const struct all *all, uint64_t ns)
{
    const uint64_t start_ns = all->spans->nodes[all->spans->root].start_ns;

    return cpt_path_label_number(all->path, CPT_LABEL_BEGIN,
                                 ns > start_ns ? ns - start_ns : 0);
}

/* The host of the visit that begins with span @number, be that the client's side of its
 * call; nothing if none begins, and if it is not known. */
static struct cpt_bytes host_of(const struct all *all, uint32_t number)
{
    const struct cpti_spans *spans = all->spans;

    switch (cpti_spans_role(all->spans, number)) {
    case CPTI_SPAN_CALL:
        return spans->items[spans->nodes[number].callee].host;
    case CPTI_SPAN_CALLEE: /* the call said it */
    case CPTI_SPAN_BLIND:
        return cpt_bytes_of("");
    default:
        return all->visits[number] == number ? spans->items[number].host
                                             : cpt_bytes_of("");
    }
}

/* Puts the own time of span @number, and says when it began, whether it failed, and on
 * which host the visit runs that begins with it. */
static cpt_status enter(const struct all *all, uint32_t number)
{
    const struct cpti_spans *spans = all->spans;
    const struct cpt_bytes host = host_of(all, number);
    cpt_status status = put(all, number, own_ns(all, number) + SEPARATOR_NS);

    if (status == CPT_OK && is_call_of_parent(all, number)) {
        status = mark_begin(all, spans->nodes[number].start_ns);
    }
    if (status == CPT_OK && is_work(spans, number) && spans->items[number].is_failed &&
        (all->visits[number] == number || is_call(all, number))) {
        status =
            cpt_path_label_name(all->path, CPT_LABEL_STATUS, cpt_bytes_of("error"));
    }
    if (status == CPT_OK && is_work(spans, number) && host.bytes > 0) {
        status = cpt_path_label_name(all->path, CPT_LABEL_HOST, host);
    }
    return status;
}

/* Puts what of @parent stands behind span @number, and says when that ended. */
static cpt_status leave(const struct all *all, uint32_t number, uint32_t parent)
{
    cpt_status status = CPT_OK;

    if (parent == CPTI_SPAN_NONE ||
        cpti_spans_has(all->spans, parent, CPTI_SPAN_IS_CALL)) {
        return CPT_OK;
    }
    status = put(all, parent, SEPARATOR_NS);
    return status == CPT_OK && is_work(all->spans, parent) &&
                   is_call_of_parent(all, number)
               ? mark_begin(all, all->spans->nodes[number].end_ns)
               : status;
}

static cpt_status walk(struct all *all)
{
    struct cpti_spans *spans = all->spans;
    uint32_t at = spans->root;
    cpt_status status = enter(all, at);

    while (status == CPT_OK && at != CPTI_SPAN_NONE) {
        const struct cpti_span_node *node = &spans->nodes[at];

        if (all->next[at] < node->child_count) {
            const uint32_t child = spans->numbers[node->children_at + all->next[at]++];

            if (spans->nodes[child].fate == CPTI_SPAN_IN_TREE &&
                !cpti_spans_has(spans, child, CPTI_SPAN_IS_WAIT)) {
                at = child;
                status = enter(all, at);
            }
            continue;
        }
        status = leave(all, at, node->parent);
        at = node->parent;
    }
    return status;
}

static bool is_whole(const struct all *all)
{
    return all->next != NULL && all->visits != NULL && all->keys != NULL &&
           all->waits != NULL;
}

cpt_status cpti_spans_all(struct cpti_spans *spans, struct cpt_path *path)
{
    const struct cpt_alloc *alloc = spans->alloc;
    const size_t room = spans->count + 1;
    struct all all = {.spans = spans,
                      .path = path,
                      .next = cpt_alloc_zeroed(alloc, room * sizeof *all.next),
                      .visits = cpt_alloc_array(alloc, NULL, room, sizeof *all.visits),
                      .keys = cpt_alloc_array(alloc, NULL, room, sizeof *all.keys),
                      .waits = cpt_alloc_zeroed(alloc, room * sizeof *all.waits)};
    cpt_status status = is_whole(&all) ? CPT_OK : CPT_NO_MEMORY;

    for (size_t i = 0; i < spans->count; i++) {
        spans->nodes[i].frame = CPT_FRAME_NONE;
    }
    if (status == CPT_OK) {
        find_waits(&all);
        status = walk(&all);
    }
    cpt_alloc_free(alloc, all.next);
    cpt_alloc_free(alloc, all.visits);
    cpt_alloc_free(alloc, all.keys);
    cpt_alloc_free(alloc, all.waits);
    return status;
}
