/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_doubt.c - what the input cannot tell apart; see culprit.h
 *
 *      no edge time   A |===========|      Without a span of A's side of the call, the
 *                     B      |===|         network there and back is time of A.
 *
 *      waiting        C is slow, so the workers of B, which calls C, are all busy, and
 *                     calls of B wait for one: that is time of B. So of two that are
 *                     slower and of which one calls the other, only the one that is
 *                     called surely is; and if chance could have slowed that one, none.
 *                     Operations of one service have the same workers: each may wait
 *                     for another one, and for what that calls.
 *
 *      presence       Of calls side by side only the slowest is on the path. If x is on
 *                     it less often, and y more often, x may be slower where it is only
 *                     because y is (culprit_presence.c).
 */
#include "tool/culprit/culprit_parts.h"

#include <stdlib.h>
#include <string.h>

/* With a smaller part of its calls with time between services, a caller shows none. */
static const double edges_least = 0.1;

/* --- Calls --- */

static int compare_calls(const void *left, const void *right)
{
    const struct cpti_culprit_call *a = left;
    const struct cpti_culprit_call *b = right;

    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return (a->to > b->to) - (a->to < b->to);
}

/* What node @node tells of calls; none if it is no call, and no key of an edge. */
static struct cpti_culprit_call call_at(struct cpti_culprit *culprit, uint32_t node,
                                        double count)
{
    struct cpt_path *table = culprit->table;
    const struct cpt_frame *frame = cpt_path_frame(table, node);
    const struct cpt_frame *above =
        frame->parent != CPT_FRAME_NONE ? cpt_path_frame(table, frame->parent) : NULL;
    struct cpti_culprit_call call = {.from = CPT_FRAME_NONE, .to = CPT_FRAME_NONE};

    if (above != NULL && frame->kind == CPTI_CULPRIT_KIND_CALL) {
        const uint32_t caller = cpti_culprit_caller(table, node);

        call.from = cpt_path_frame(table, caller)->parent;
        call.to = above->parent;
        call.calls = count;
    } else if (above != NULL && above->kind == CPT_KIND_NETWORK) {
        call.from = above->parent;
        call.edge_calls = count;
        (void)cpt_path_frame_add(table, CPT_FRAME_NONE,
                                 cpt_path_frame_name(table, frame->parent),
                                 CPT_KIND_WORK, &call.to); /* it is there already */
    }
    return call;
}

cpt_status cpti_culprit_find_calls(struct cpti_culprit *culprit,
                                   uint64_t *const counts[2])
{
    struct cpti_culprit_model *model = &culprit->model;
    const size_t count = cpt_path_frame_count(culprit->table);
    size_t kept = 0;

    model->calls =
        cpt_alloc_array(culprit->alloc, NULL, count + 1, sizeof *model->calls);
    if (model->calls == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        model->calls[model->call_count] =
            call_at(culprit, i, (double)(counts[0][i] + counts[1][i]));
        model->call_count += model->calls[model->call_count].from != CPT_FRAME_NONE;
    }
    if (model->call_count == 0) {
        return CPT_OK;
    }
    qsort(model->calls, model->call_count, sizeof *model->calls, compare_calls);
    for (size_t i = 1; i < model->call_count; i++) {
        if (compare_calls(&model->calls[kept], &model->calls[i]) != 0) {
            model->calls[++kept] = model->calls[i];
        } else {
            model->calls[kept].calls += model->calls[i].calls;
            model->calls[kept].edge_calls += model->calls[i].edge_calls;
        }
    }
    model->call_count = kept + 1;
    return CPT_OK;
}

/* The first call from node @from; they stand side by side. */
static size_t calls_from(const struct cpti_culprit_model *model, uint32_t from)
{
    size_t low = 0;
    size_t high = model->call_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (model->calls[middle].from < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* What is made on the way; by node, but for what is said of suspects. */
struct doubting {
    struct cpti_culprit *culprit;
    uint32_t *mates;      /* another operation of its service, in a ring, or none */
    uint32_t *queue;      /* nodes to go on from */
    unsigned char *met;   /* nodes that were reached */
    unsigned char *waits; /* by suspect: a culprit that may only wait, … */
    unsigned char *waited_for; /* … and for whom */
    bool has_mates;            /* operations may wait for others of their service */
};

/* Joins the operations of each service to a ring. CPT_OK; CPT_NO_MEMORY. */
static cpt_status find_mates(const struct doubting *doubting)
{
    const struct cpti_culprit *culprit = doubting->culprit;
    const struct cpti_culprit_model *model = &culprit->model;
    struct cpt_path *services = cpt_path_new(culprit->alloc); /* a table of names */
    cpt_status status = services != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (uint32_t i = 0; i < cpt_path_frame_count(culprit->table); i++) {
        doubting->mates[i] = CPT_FRAME_NONE;
    }
    for (uint32_t i = 0; i < model->suspect_count && status == CPT_OK; i++) {
        const uint32_t node = model->nodes[i];
        const struct cpt_bytes name =
            cpt_name_service(cpt_path_frame_name(culprit->table, node));
        const size_t count = cpt_path_frame_count(services);
        uint32_t service = 0;

        if (name.bytes == 0) {
            continue;
        }
        status =
            cpt_path_frame_add(services, CPT_FRAME_NONE, name, CPT_KIND_WORK, &service);
        if (status == CPT_OK && service == count) { /* the first one of it */
            doubting->queue[service] = node;
            doubting->mates[node] = node;
        } else if (status == CPT_OK) {
            doubting->mates[node] = doubting->mates[doubting->queue[service]];
            doubting->mates[doubting->queue[service]] = node;
        }
    }
    cpt_path_free(services);
    return status;
}

static size_t meet(const struct doubting *doubting, uint32_t node, size_t count)
{
    if (doubting->met[node] == 0) {
        doubting->met[node] = 1;
        doubting->queue[count++] = node;
    }
    return count;
}

/* Marks in `met` all nodes that node @from may wait for: those that it calls, or makes
 * others call. */
static void reach(const struct doubting *doubting, uint32_t from)
{
    const struct cpti_culprit_model *model = &doubting->culprit->model;
    const uint32_t *queue = doubting->queue;
    size_t count = 1;

    doubting->queue[0] = from;
    for (size_t i = 0; i < count; i++) {
        if (doubting->has_mates && doubting->mates[queue[i]] != CPT_FRAME_NONE) {
            count = meet(doubting, doubting->mates[queue[i]], count);
        }
        for (size_t k = calls_from(model, queue[i]);
             k < model->call_count && model->calls[k].from == queue[i]; k++) {
            count = meet(doubting, model->calls[k].to, count);
        }
    }
}

/* --- Who may only wait --- */

static void name_either(struct cpti_culprit *culprit, struct cpt_bytes name,
                        struct cpt_bytes to)
{
    if (culprit->either_count < CPTI_EITHER_MAX) {
        culprit->either[culprit->either_count++] =
            (struct cpti_culprit_either){name, to};
    }
}

static void name_suspect(struct cpti_culprit *culprit, uint32_t suspect)
{
    struct cpti_suspect *its = &culprit->suspects[suspect];

    if (its->either == 0) {
        name_either(culprit, its->name, cpt_bytes_of(""));
        its->either = (unsigned)culprit->either_count;
    }
}

/* Finds which culprits may only wait, and for whom. */
static void find_waiting(const struct doubting *doubting)
{
    const struct cpti_culprit *culprit = doubting->culprit;
    const struct cpti_culprit_model *model = &culprit->model;
    const unsigned char *met = doubting->met;
    const size_t nodes = cpt_path_frame_count(culprit->table);

    memset(doubting->waits, 0, nodes);
    memset(doubting->waited_for, 0, nodes);
    for (uint32_t i = 0; i < model->suspect_count; i++) {
        if (!culprit->suspects[i].is_culprit) {
            continue;
        }
        memset(doubting->met, 0, nodes);
        reach(doubting, model->nodes[i]);
        for (uint32_t k = 0; k < model->suspect_count; k++) {
            const struct cpti_suspect *other = &culprit->suspects[k];

            if (k != i && met[model->nodes[k]] != 0 &&
                (other->is_culprit || other->is_slower ||
                 other->is_slower_where_seen)) {
                doubting->waits[i] = 1;
                doubting->waited_for[k] = 1;
            }
        }
    }
}

/* Whether the first culprit, which is the slowest, is explained: by itself, or by one
 * that it calls and that is sure. */
static bool is_explained(const struct doubting *doubting)
{
    const struct cpti_culprit *culprit = doubting->culprit;
    const struct cpti_culprit_model *model = &culprit->model;
    bool explains = false;

    memset(doubting->met, 0, cpt_path_frame_count(culprit->table));
    for (uint32_t i = 0; i < model->suspect_count; i++) {
        if (culprit->suspects[i].is_culprit && culprit->suspects[i].round == 0) {
            reach(doubting, model->nodes[i]);
            doubting->met[model->nodes[i]] = 1;
        }
    }
    for (uint32_t i = 0; i < model->suspect_count; i++) {
        explains |= culprit->suspects[i].is_culprit && doubting->waits[i] == 0 &&
                    doubting->met[model->nodes[i]] != 0;
    }
    return explains;
}

/* Names those that are waited for, that surely are slower or not. */
static void name_waited_for(const struct doubting *doubting, bool surely)
{
    struct cpti_culprit *culprit = doubting->culprit;

    for (uint32_t i = 0; i < culprit->model.suspect_count; i++) {
        const struct cpti_suspect *suspect = &culprit->suspects[i];

        if (doubting->waited_for[i] != 0 &&
            (suspect->is_culprit || suspect->is_slower) == surely) {
            name_suspect(culprit, i);
        }
    }
}

/* Culprits that may only wait are none. If the slowest is not explained by the others,
 * which @doubt says, it may be each of them, or one that they wait for. */
static void take_back(const struct doubting *doubting, enum cpti_doubt doubt)
{
    struct cpti_culprit *culprit = doubting->culprit;
    const unsigned char *waits = doubting->waits;
    const uint32_t count = culprit->model.suspect_count;
    const bool is_clear = doubt == CPTI_DOUBT_NONE;

    if (!is_clear) {
        name_waited_for(doubting, true);
        culprit->verdict = CPTI_VERDICT_EITHER;
        culprit->doubt = doubt;
    }
    for (unsigned round = 0; round < culprit->culprit_count; round++) {
        for (uint32_t i = 0; i < count; i++) {
            struct cpti_suspect *suspect = &culprit->suspects[i];

            if (suspect->is_culprit && suspect->round == round &&
                (waits[i] != 0 || !is_clear)) {
                suspect->is_culprit = false;
                suspect->stands_out = true;
                suspect->may_wait = waits[i] != 0;
                if (!is_clear) {
                    name_suspect(culprit, i);
                }
            }
        }
    }
    if (!is_clear) {
        name_waited_for(doubting, false);
    }
}

/* What calls alone say of waiting; if that is clear, what workers do. */
static void doubt_waiting(struct doubting *doubting)
{
    enum cpti_doubt doubt = CPTI_DOUBT_NONE;

    find_waiting(doubting);
    if (!is_explained(doubting)) {
        doubt = CPTI_DOUBT_CALLS_EACH_OTHER;
    }
    if (doubting->culprit->by == CPTI_CULPRIT_BY_OPERATION) {
        doubting->has_mates = true;
        find_waiting(doubting);
        if (doubt == CPTI_DOUBT_NONE && !is_explained(doubting)) {
            doubt = CPTI_DOUBT_SHARES_WORKERS;
        }
    }
    take_back(doubting, doubt);
}

/* --- Time between services that is not seen --- */

static bool shows_no_edges(const struct cpti_culprit_model *model, uint32_t suspect)
{
    double calls = 0;
    double edge_calls = 0;

    for (size_t k = calls_from(model, model->nodes[suspect]);
         k < model->call_count && model->calls[k].from == model->nodes[suspect]; k++) {
        calls += model->calls[k].calls;
        edge_calls += model->calls[k].edge_calls;
    }
    return calls > 0 && edge_calls < edges_least * calls;
}

static void name_edges(struct cpti_culprit *culprit, uint32_t suspect)
{
    const struct cpti_culprit_model *model = &culprit->model;

    for (size_t k = calls_from(model, model->nodes[suspect]);
         k < model->call_count && model->calls[k].from == model->nodes[suspect]; k++) {
        name_either(culprit, culprit->suspects[suspect].name,
                    cpt_path_frame_name(culprit->table, model->calls[k].to));
    }
}

static void doubt_edges(struct cpti_culprit *culprit)
{
    struct cpti_culprit_model *model = &culprit->model;
    bool is_doubtful = false;

    for (uint32_t i = 0; i < model->suspect_count; i++) {
        is_doubtful |= culprit->suspects[i].is_culprit && shows_no_edges(model, i);
    }
    if (!is_doubtful) {
        return;
    }
    culprit->verdict = CPTI_VERDICT_EITHER;
    culprit->doubt = CPTI_DOUBT_NO_EDGE_TIME;
    for (int pass = 0; pass < 2; pass++) { /* those that may only wait are behind */
        for (unsigned round = 0; round < culprit->culprit_count; round++) {
            for (uint32_t i = 0; i < model->suspect_count; i++) {
                struct cpti_suspect *suspect = &culprit->suspects[i];

                if (suspect->round == round && suspect->either == 0 &&
                    (pass == 0 ? suspect->is_culprit : suspect->may_wait)) {
                    suspect->is_culprit = false;
                    suspect->stands_out = true;
                    name_suspect(culprit, i);
                    if (shows_no_edges(model, i)) {
                        name_edges(culprit, i);
                    }
                }
            }
        }
    }
}

/* --- Visits that are on the path less often --- */

static void name_node(struct cpti_culprit *culprit, uint32_t node)
{
    const struct cpti_culprit_model *model = &culprit->model;

    for (uint32_t i = 0; i < model->suspect_count; i++) {
        if (model->nodes[i] == node) {
            name_suspect(culprit, i);
            return;
        }
    }
    name_either(culprit, cpt_path_frame_name(culprit->table, node), cpt_bytes_of(""));
}

/* Marks in @beside those that are called by callers of node @node, too. */
static void find_beside(const struct cpti_culprit_model *model, uint32_t node,
                        unsigned char *beside)
{
    for (size_t i = 0; i < model->call_count; i++) {
        const uint32_t from = model->calls[i].from;

        if (model->calls[i].to != node) {
            continue;
        }
        for (size_t k = calls_from(model, from);
             k < model->call_count && model->calls[k].from == from; k++) {
            beside[model->calls[k].to] = model->calls[k].to != node;
        }
    }
}

cpt_status cpti_culprit_doubt_presence(struct cpti_culprit *culprit, uint32_t number)
{
    const struct cpti_culprit_model *model = &culprit->model;
    const size_t nodes = cpt_path_frame_count(culprit->table);
    unsigned char *beside = cpt_alloc_zeroed(culprit->alloc, nodes + 1);

    if (beside == NULL) {
        return CPT_NO_MEMORY;
    }
    find_beside(model, model->nodes[number], beside);
    for (uint32_t i = 0; i < nodes; i++) {
        if (beside[i] != 0 && model->rose[i] != 0) {
            name_suspect(culprit, number);
            name_node(culprit, i);
            culprit->verdict = CPTI_VERDICT_EITHER;
            culprit->doubt = CPTI_DOUBT_PRESENCE_CHANGED;
        }
    }
    cpt_alloc_free(culprit->alloc, beside);
    return CPT_OK;
}

/* --- Calls without the side of their caller --- */

/* Culprits only stand out. */
static void doubt_all(struct cpti_culprit *culprit)
{
    for (uint32_t i = 0; i < culprit->model.suspect_count; i++) {
        struct cpti_suspect *suspect = &culprit->suspects[i];

        suspect->stands_out |= suspect->is_culprit;
        suspect->is_culprit = false;
    }
    culprit->culprit_count = 0;
    culprit->verdict = CPTI_VERDICT_UNSURE;
}

/* --- All of it --- */

cpt_status cpti_culprit_doubt(struct cpti_culprit *culprit)
{
    const struct cpt_alloc *alloc = culprit->alloc;
    const size_t nodes = cpt_path_frame_count(culprit->table) + 1;
    struct doubting doubting = {
        .culprit = culprit,
        .mates = cpt_alloc_array(alloc, NULL, nodes, sizeof *doubting.mates),
        .queue = cpt_alloc_array(alloc, NULL, nodes, sizeof *doubting.queue),
        .met = cpt_alloc_zeroed(alloc, nodes),
        .waits = cpt_alloc_zeroed(alloc, nodes),
        .waited_for = cpt_alloc_zeroed(alloc, nodes)};
    cpt_status status = doubting.mates != NULL && doubting.queue != NULL &&
                                doubting.met != NULL && doubting.waits != NULL &&
                                doubting.waited_for != NULL
                            ? CPT_OK
                            : CPT_NO_MEMORY;

    if (status == CPT_OK && culprit->by == CPTI_CULPRIT_BY_OPERATION) {
        status = find_mates(&doubting);
    }
    if (status == CPT_OK && culprit->verdict == CPTI_VERDICT_SURE) {
        doubt_waiting(&doubting);
    }
    if (status == CPT_OK && culprit->verdict == CPTI_VERDICT_SURE &&
        culprit->by != CPTI_CULPRIT_BY_NAME && culprit->by != CPTI_CULPRIT_BY_EDGE) {
        doubt_edges(culprit);
    }
    if (status == CPT_OK && culprit->verdict == CPTI_VERDICT_SURE &&
        culprit->lacks_callers) {
        doubt_all(culprit);
    }
    cpt_alloc_free(alloc, doubting.mates);
    cpt_alloc_free(alloc, doubting.queue);
    cpt_alloc_free(alloc, doubting.met);
    cpt_alloc_free(alloc, doubting.waits);
    cpt_alloc_free(alloc, doubting.waited_for);
    return status;
}
