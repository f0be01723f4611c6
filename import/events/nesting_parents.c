/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* nesting_parents.c - the parent of each interval, by what was learnt; see nesting.h */
#include "import/events/nesting_inside.h"

enum { EXPLAINED_PART = 50 /* 2 % may be left */ };

/* How many kinds are universal for @outer, if it is of a kind that is for @inner or of
 * such a service; else -1. */
static int64_t depth_of(const struct cpti_nesting *nesting, uint32_t class_number,
                        const struct nesting_interval *outer,
                        const struct nesting_interval *inner)
{
    const struct nesting_pair *pair =
        cpti_nesting_find(nesting, class_number, outer->kind, inner->kind);
    const struct nesting_pair *all = NULL;

    if (pair == NULL) {
        return -1;
    }
    if (!pair->is_universal) {
        pair = cpti_nesting_find(nesting, class_number,
                                 NESTING_SERVICE | outer->service, inner->kind);
    }
    if (pair == NULL || !pair->is_universal) {
        return -1;
    }
    all = cpti_nesting_find(nesting, class_number, NESTING_ALL, outer->kind);
    return all != NULL ? all->depth : 0;
}

/* Which kinds may be between an interval and the one of a universal kind. */
enum between {
    BETWEEN_CALLS, /* callers' sides of a call */
    BETWEEN_ADMISSIBLE,
    BETWEEN_FILLED /* those, too, that are never without one */
};

enum { CHILDREN_LOOKED_AT_MAX = 64 };

/* Whether interval @number has a child of @kind already. */
static bool has_child(const struct cpti_nesting *nesting, uint32_t number,
                      uint32_t kind)
{
    const uint32_t *first = nesting->above + nesting->count;
    const uint32_t *next = first + nesting->count;
    uint32_t child = first[number];

    for (size_t i = 0; i < CHILDREN_LOOKED_AT_MAX && child != 0; i++) {
        if (nesting->intervals[child].kind == kind) {
            return true;
        }
        child = next[child];
    }
    return false;
}

/* Whether there is at most one instance of the kind of @inner for each of @outer. */
static bool is_once(const struct cpti_nesting *nesting, uint32_t class_number,
                    const struct nesting_interval *outer,
                    const struct nesting_interval *inner)
{
    const struct nesting_pair *outers =
        cpti_nesting_find(nesting, class_number, NESTING_ALL, outer->kind);
    const struct nesting_pair *inners =
        cpti_nesting_find(nesting, class_number, NESTING_ALL, inner->kind);

    return outers != NULL && inners != NULL &&
           inners->within <= outers->within + outers->within / EXPLAINED_PART;
}

/* Whether interval @a is to be preferred to @b as the parent of @inner: both are of one
 * depth. One that has no such child goes before one that has, if one is enough for it;
 * then the one that ends first: so the fewest are left without. */
static bool is_closer(const struct cpti_nesting *nesting, uint32_t class_number,
                      uint32_t a, uint32_t b, const struct nesting_interval *inner)
{
    const struct nesting_interval *first = &nesting->intervals[a];
    const struct nesting_interval *second = &nesting->intervals[b];

    if (first->kind == second->kind && is_once(nesting, class_number, first, inner)) {
        const bool has_first = has_child(nesting, a, inner->kind);
        const bool has_second = has_child(nesting, b, inner->kind);

        if (has_first != has_second) {
            return has_second;
        }
        if (first->end_ns != second->end_ns) {
            return first->end_ns < second->end_ns;
        }
    }
    return first->begin_ns != second->begin_ns ? first->begin_ns > second->begin_ns
                                               : first->end_ns < second->end_ns;
}

/* The instance of the deepest universal kind around number @number: that contains it,
 * or if @overlaps began before it. NESTING_ALL: there is none. */
static uint32_t find_deepest(const struct cpti_nesting *nesting, uint32_t class_number,
                             size_t number, bool overlaps)
{
    const struct nesting_interval *inner = &nesting->intervals[number];
    uint32_t best = NESTING_ALL;
    int64_t deepest = -1;

    for (size_t i = 0; i < nesting->active_count; i++) {
        const uint32_t active = nesting->active[i];
        const struct nesting_interval *outer = &nesting->intervals[active];
        int64_t depth = -1;

        if (active == number || !cpti_nesting_may_contain(outer, inner) ||
            !(overlaps ? outer->begin_ns <= inner->begin_ns
                       : nesting_is_around(outer, inner))) {
            continue;
        }
        depth = depth_of(nesting, class_number, outer, inner);
        if (depth > deepest ||
            (depth == deepest && depth >= 0 &&
             is_closer(nesting, class_number, active, best, inner))) {
            deepest = depth;
            best = active;
        }
    }
    return best;
}

/* The instance of the deepest universal kind that contains number @number, else one
 * that it overlaps; else the entry. */
static uint32_t find_universal(const struct cpti_nesting *nesting,
                               uint32_t class_number, size_t number)
{
    uint32_t found = find_deepest(nesting, class_number, number, false);

    if (found == NESTING_ALL) {
        found = find_deepest(nesting, class_number, number, true);
    }
    return found != NESTING_ALL ? found : 0;
}

/* Whether roles tell that @outer is the one outside, even if both are equal. */
static bool is_ordered(const struct nesting_interval *outer,
                       const struct nesting_interval *inner)
{
    return outer->service == inner->service
               ? outer->role == CPTI_EVENT_SERVER && inner->role == CPTI_EVENT_CLIENT
               : outer->role == CPTI_EVENT_CLIENT && inner->role == CPTI_EVENT_SERVER;
}

/* Whether @outer says that it called the service of @inner, a callee's side that began
 * meanwhile. */
static bool is_call_to(const struct nesting_interval *outer,
                       const struct nesting_interval *inner)
{
    const int64_t slack_ns = nesting_slack(outer, inner);

    return outer->role == CPTI_EVENT_CLIENT && inner->role != CPTI_EVENT_CLIENT &&
           outer->peer != 0 && outer->peer == inner->service &&
           outer->service != inner->service &&
           outer->begin_ns - slack_ns <= inner->begin_ns &&
           inner->begin_ns - slack_ns <= outer->end_ns;
}

/* Whether interval @number, whose line does not say it, is a callee's side: none of its
 * service, but for clients, is around it. */
static bool is_outermost(const struct cpti_nesting *nesting, size_t number)
{
    const struct nesting_interval *inner = &nesting->intervals[number];

    for (size_t i = 0; i < nesting->active_count; i++) {
        const uint32_t active = nesting->active[i];
        const struct nesting_interval *outer = &nesting->intervals[active];

        if (active != number && outer->service == inner->service &&
            outer->role != CPTI_EVENT_CLIENT && nesting_contains(outer, inner, 0) &&
            (active < number || nesting_is_wider(outer, inner))) {
            return false;
        }
    }
    return true;
}

/* The call that interval @number is the other side of, if its callers name whom they
 * called: of several, one that contains it, then one that lacks its other side, then
 * the one that ended first. 0: there is none. */
static uint32_t find_call(const struct cpti_nesting *nesting, size_t number)
{
    const struct nesting_interval *inner = &nesting->intervals[number];
    int best_rank = -1;
    uint32_t best = 0;

    if (inner->role == CPTI_EVENT_UNKNOWN && !is_outermost(nesting, number)) {
        return 0;
    }
    for (size_t i = 0; i < nesting->active_count; i++) {
        const uint32_t active = nesting->active[i];
        const struct nesting_interval *outer = &nesting->intervals[active];
        int rank = 0;

        if (active == number || !is_call_to(outer, inner)) {
            continue;
        }
        rank = 2 * nesting_contains(outer, inner, nesting_slack(outer, inner)) +
               !has_child(nesting, active, inner->kind);
        if (rank > best_rank ||
            (rank == best_rank && outer->end_ns < nesting->intervals[best].end_ns)) {
            best_rank = rank;
            best = active;
        }
    }
    return best;
}

/* Whether @outer lies between @inner and @around. */
static bool is_between(const struct nesting_interval *around,
                       const struct nesting_interval *outer,
                       const struct nesting_interval *inner)
{
    return cpti_nesting_may_contain(outer, inner) &&
           nesting_contains(outer, inner, 0) &&
           (!nesting_contains(inner, outer, 0) || is_ordered(outer, inner)) &&
           nesting_contains(around, outer, nesting_slack(around, outer)) &&
           outer->end_ns - outer->begin_ns < around->end_ns - around->begin_ns;
}

/* Whether interval @a is to be preferred to @b as the parent of @inner: if kinds are
 * those that are never without one, it lacks one; or it is shorter. */
static bool is_better(const struct cpti_nesting *nesting, uint32_t a, uint32_t b,
                      const struct nesting_interval *inner, bool is_filled)
{
    const struct nesting_interval *first = &nesting->intervals[a];
    const struct nesting_interval *second = &nesting->intervals[b];

    if (is_filled) {
        const bool has_first = has_child(nesting, a, inner->kind);
        const bool has_second = has_child(nesting, b, inner->kind);

        if (has_first != has_second) {
            return has_second;
        }
    }
    return first->end_ns - first->begin_ns < second->end_ns - second->begin_ns;
}

/* The best interval of a kind that is @between number @number and @above, which is all
 * there is else. */
static uint32_t find_between(const struct cpti_nesting *nesting, uint32_t class_number,
                             size_t number, uint32_t above, enum between between)
{
    const struct nesting_interval *inner = &nesting->intervals[number];
    uint32_t best = above;

    for (size_t i = 0; i < nesting->active_count; i++) {
        const uint32_t active = nesting->active[i];
        const struct nesting_interval *outer = &nesting->intervals[active];
        const struct nesting_pair *pair = NULL;

        if (active == number || active == above ||
            !is_between(&nesting->intervals[above], outer, inner)) {
            continue;
        }
        pair = cpti_nesting_find(nesting, class_number, outer->kind, inner->kind);
        if (pair != NULL && (between != BETWEEN_CALLS || is_ordered(outer, inner)) &&
            (pair->is_admissible || (between == BETWEEN_FILLED && pair->is_filled)) &&
            (best == above ||
             is_better(nesting, active, best, inner, between == BETWEEN_FILLED))) {
            best = active;
        }
    }
    return best;
}

static bool is_explained(uint32_t all, uint32_t explained)
{
    return (uint64_t)(all - explained) * EXPLAINED_PART <= all;
}

/* Which kinds explain an interval of the kind of @inner. Those that explain nearly all
 * of them do; admissible ones also if it is not there just once in each of its
 * universal kind. */
static enum between between_of(const struct cpti_nesting *nesting,
                               uint32_t class_number,
                               const struct nesting_interval *inner)
{
    const struct nesting_pair *all =
        cpti_nesting_find(nesting, class_number, NESTING_ALL, inner->kind);

    if (all == NULL) {
        return BETWEEN_CALLS;
    }
    if (is_explained(all->checked, all->covered)) {
        return BETWEEN_ADMISSIBLE;
    }
    if (is_explained(all->checked, all->filled)) {
        return BETWEEN_FILLED;
    }
    return all->is_single ? BETWEEN_CALLS : BETWEEN_ADMISSIBLE;
}

/* Takes the intervals of @request, without parents as yet. */
static cpt_status begin(struct cpti_nesting *nesting,
                        const struct cpti_request *request)
{
    void *above = nesting->above;
    cpt_status status = cpti_nesting_take(nesting, request);

    if (status == CPT_OK) {
        status = cpt_alloc_grow(nesting->alloc, &above, &nesting->above_capacity,
                                3 * nesting->count, SIZE_MAX, sizeof *nesting->above);
        nesting->above = above;
    }
    if (status == CPT_OK && nesting->count > 0) {
        memset(nesting->above, 0, 3 * nesting->count * sizeof *nesting->above);
    }
    return status;
}

cpt_status cpti_nesting_check(struct cpti_nesting *nesting,
                              const struct cpti_request *request)
{
    const cpt_status status = begin(nesting, request);
    const uint32_t class_number = status == CPT_OK && nesting->count > 0
                                      ? cpti_nesting_class_of(nesting)
                                      : NESTING_ALL;

    for (size_t i = 0;
         class_number != NESTING_ALL && i < nesting->count &&
         nesting->count <= CPTI_NESTING_LINES_MAX && nesting->work <= NESTING_WORK_MAX;
         i++) {
        struct nesting_pair *all = cpti_nesting_find(nesting, class_number, NESTING_ALL,
                                                     nesting->intervals[i].kind);
        uint32_t above = 0;

        cpti_nesting_advance(nesting, i);
        if (i == 0 || all == NULL) {
            continue;
        }
        above = find_universal(nesting, class_number, i);
        all->checked++;
        all->covered +=
            find_between(nesting, class_number, i, above, BETWEEN_ADMISSIBLE) != above;
        all->filled +=
            find_between(nesting, class_number, i, above, BETWEEN_FILLED) != above;
    }
    return status;
}

/* The shortest interval that contains number @number, or the entry: of a class from
 * which nothing was learnt. */
static uint32_t find_shortest(const struct cpti_nesting *nesting, uint32_t number)
{
    const struct nesting_interval *inner = &nesting->intervals[number];
    uint32_t best = 0;

    for (size_t i = 0; i < nesting->active_count; i++) {
        const uint32_t active = nesting->active[i];
        const struct nesting_interval *outer = &nesting->intervals[active];
        const struct nesting_interval *found = &nesting->intervals[best];

        if (nesting_contains(outer, inner, 0) && !nesting_contains(inner, outer, 0) &&
            cpti_nesting_may_contain(outer, inner) &&
            (best == 0 ||
             outer->end_ns - outer->begin_ns < found->end_ns - found->begin_ns)) {
            best = active;
        }
    }
    return best;
}

static uint32_t find_parent(const struct cpti_nesting *nesting, uint32_t class_number,
                            uint32_t number)
{
    const struct nesting_interval *inner = &nesting->intervals[number];
    const uint32_t call = find_call(nesting, number);

    if (call == 0 && class_number == NESTING_ALL) {
        return find_shortest(nesting, number);
    }

    return call != 0 ? call
                     : find_between(nesting, class_number, number,
                                    find_universal(nesting, class_number, number),
                                    between_of(nesting, class_number, inner));
}

static int64_t length_of(const struct cpti_nesting *nesting, uint32_t number)
{
    return nesting->intervals[number].end_ns - nesting->intervals[number].begin_ns;
}

/* Makes interval @number a child of @parent. */
static void hang(struct cpti_nesting *nesting, uint32_t number, uint32_t parent)
{
    uint32_t *first = nesting->above + nesting->count;
    uint32_t *next = first + nesting->count;

    nesting->above[number] = parent;
    next[number] = first[parent];
    first[parent] = number;
}

/* The number of which circles remember that they were broken there. */
#define BROKEN UINT32_MAX

/* Breaks circles, of intervals that are about equal: the longest one of each, or the
 * last one of these, hangs below the entry. @seen: in which walk it was met. */
static void break_circles(const struct cpti_nesting *nesting, uint32_t *above,
                          uint32_t *seen)
{
    for (size_t i = 0; i < nesting->count; i++) {
        seen[i] = 0;
    }
    for (uint32_t i = 1; i < nesting->count; i++) {
        uint32_t at = i;
        uint32_t outer = 0;

        while (at != 0 && seen[at] == 0) {
            seen[at] = i;
            at = above[at];
        }
        if (at == 0 || seen[at] != i) {
            continue;
        }
        outer = at;
        for (uint32_t k = above[at]; k != at; k = above[k]) {
            const int64_t longer_ns = length_of(nesting, k) - length_of(nesting, outer);

            outer = longer_ns > 0 || (longer_ns == 0 && k > outer) ? k : outer;
        }
        above[outer] = 0;
        seen[outer] = BROKEN;
    }
}

/* The interval of its own service that interval @number, of a broken circle, is below:
 * the shortest that is wider and of a universal kind, else a server's that contains it.
 * 0: there is none. */
static uint32_t find_own(const struct cpti_nesting *nesting, uint32_t class_number,
                         uint32_t number)
{
    const struct nesting_interval *inner = &nesting->intervals[number];
    uint32_t wider = 0;
    uint32_t server = 0;

    for (uint32_t i = 1; i < number && i <= NESTING_ACTIVE_MAX; i++) {
        const uint32_t at = number - i;
        const struct nesting_interval *outer = &nesting->intervals[at];
        const struct nesting_pair *pair = NULL;

        if (outer->service != inner->service ||
            !cpti_nesting_may_contain(outer, inner) ||
            !nesting_is_around(outer, inner)) {
            continue;
        }
        pair = cpti_nesting_find(nesting, class_number, outer->kind, inner->kind);
        if (pair != NULL && pair->is_universal && nesting_is_wider(outer, inner) &&
            (wider == 0 || length_of(nesting, at) < length_of(nesting, wider))) {
            wider = at;
        }
        if (server == 0 && outer->role == CPTI_EVENT_SERVER) {
            server = at;
        }
    }
    return wider != 0 ? wider : server;
}

/* Whether interval @number is reached from @from on, or too many are. */
static bool is_above(const uint32_t *above, uint32_t number, uint32_t from)
{
    for (size_t i = 0; i < CPTI_NESTING_LINES_MAX && from != 0; i++) {
        if (from == number) {
            return true;
        }
        from = above[from];
    }
    return from != 0;
}

/* Hangs the intervals of broken circles below one of their own service. */
static void hang_broken(const struct cpti_nesting *nesting, uint32_t class_number,
                        uint32_t *above, const uint32_t *seen)
{
    for (uint32_t i = 1; i < nesting->count; i++) {
        const uint32_t own = seen[i] == BROKEN ? find_own(nesting, class_number, i) : 0;

        if (own != 0 && !is_above(above, i, own)) {
            above[i] = own;
        }
    }
}

cpt_status cpti_nesting_parents(struct cpti_nesting *nesting,
                                const struct cpti_request *request, uint32_t *parents,
                                uint32_t *entry)
{
    const cpt_status status = begin(nesting, request);
    uint32_t class_number = NESTING_ALL;

    for (size_t i = 0; i < request->count; i++) {
        parents[i] = CPTI_NO_PARENT;
    }
    *entry = CPTI_NO_PARENT;
    if (status != CPT_OK || nesting->count == 0) {
        return status;
    }
    *entry = nesting->intervals[0].line;
    class_number = cpti_nesting_class_of(nesting);
    for (uint32_t i = 0; i < nesting->count; i++) {
        cpti_nesting_advance(nesting, i);
        if (i > 0) {
            hang(nesting, i, find_parent(nesting, class_number, i));
        }
    }
    break_circles(nesting, nesting->above, nesting->above + nesting->count);
    hang_broken(nesting, class_number, nesting->above, nesting->above + nesting->count);
    for (size_t i = 1; i < nesting->count; i++) {
        parents[nesting->intervals[i].line] =
            nesting->intervals[nesting->above[i]].line;
    }
    return CPT_OK;
}
