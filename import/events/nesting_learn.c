/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* nesting_learn.c - counts of kinds that nest; see nesting.h */
#include "import/events/nesting_inside.h"

enum {
    FIRST_SLOTS = 1024,
    ROLES = 3,
    LEARNT_MAX = 20000 /* requests of a class; more say nothing new */
};

struct cpti_nesting *cpti_nesting_new(const struct cpt_alloc *alloc)
{
    struct cpti_nesting *nesting = cpt_alloc_zeroed(alloc, sizeof *nesting);

    if (nesting != NULL) {
        nesting->alloc = alloc;
    }
    return nesting;
}

void cpti_nesting_free(struct cpti_nesting *nesting)
{
    if (nesting != NULL) {
        cpt_alloc_free(nesting->alloc, nesting->pairs);
        cpt_alloc_free(nesting->alloc, nesting->pair_index.slots);
        cpt_alloc_free(nesting->alloc, nesting->classes);
        cpt_alloc_free(nesting->alloc, nesting->class_index.slots);
        cpt_alloc_free(nesting->alloc, nesting->intervals);
        cpt_alloc_free(nesting->alloc, nesting->active);
        cpt_alloc_free(nesting->alloc, nesting->above);
        cpt_alloc_free(nesting->alloc, nesting->service_seen);
        cpt_alloc_free(nesting->alloc, nesting->server_seen);
        cpt_alloc_free(nesting->alloc, nesting);
    }
}

const struct cpti_nesting_counts *
cpti_nesting_counts(const struct cpti_nesting *nesting)
{
    return &nesting->counts;
}

/* --- Intervals --- */

bool cpti_nesting_may_contain(const struct nesting_interval *outer,
                              const struct nesting_interval *inner)
{
    if (outer->kind == inner->kind) {
        return false;
    }
    if (outer->service == inner->service) {
        return outer->role != CPTI_EVENT_CLIENT && inner->role != CPTI_EVENT_SERVER;
    }
    if (inner->role == CPTI_EVENT_CLIENT && inner->has_own) {
        return false; /* it is below its own service */
    }
    return outer->role != CPTI_EVENT_CLIENT || outer->peer == 0 ||
           outer->peer == inner->service;
}

/* Room for services up to @most, all 0 at first. */
static cpt_status grow_seen(const struct cpti_nesting *nesting, uint64_t **seen,
                            size_t *capacity, uint32_t most)
{
    const size_t before = *capacity;
    void *grown = *seen;
    const cpt_status status = cpt_alloc_grow(
        nesting->alloc, &grown, capacity, (size_t)most + 1, UINT32_MAX, sizeof **seen);

    *seen = grown;
    if (status == CPT_OK) {
        memset(*seen + before, 0, (*capacity - before) * sizeof **seen);
    }
    return status;
}

/* Forgets the peers of which there is no interval, and notes which services have one
 * that is no client's. */
static cpt_status check_services(struct cpti_nesting *nesting)
{
    const uint64_t serial = ++nesting->request_serial;
    uint32_t most = 0;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < nesting->count; i++) {
        const struct nesting_interval *interval = &nesting->intervals[i];

        most = interval->service > most ? interval->service : most;
        most = interval->peer > most ? interval->peer : most;
    }
    status =
        grow_seen(nesting, &nesting->service_seen, &nesting->service_capacity, most);
    if (status == CPT_OK) {
        status =
            grow_seen(nesting, &nesting->server_seen, &nesting->server_capacity, most);
    }
    for (size_t i = 0; status == CPT_OK && i < nesting->count; i++) {
        const struct nesting_interval *interval = &nesting->intervals[i];

        nesting->service_seen[interval->service] = serial;
        if (interval->role != CPTI_EVENT_CLIENT) {
            nesting->server_seen[interval->service] = serial;
        }
    }
    for (size_t i = 0; status == CPT_OK && i < nesting->count; i++) {
        struct nesting_interval *interval = &nesting->intervals[i];

        interval->has_own = nesting->server_seen[interval->service] == serial;
        if (nesting->service_seen[interval->peer] != serial) {
            interval->peer = 0;
        }
    }
    return status;
}

/* Takes the intervals of @request as they are. */
static cpt_status take_all(struct cpti_nesting *nesting,
                           const struct cpti_request *request)
{
    void *intervals = nesting->intervals;
    void *active = nesting->active;
    int64_t largest_ns = 0;
    cpt_status status =
        cpt_alloc_grow(nesting->alloc, &intervals, &nesting->capacity, request->count,
                       UINT32_MAX, sizeof *nesting->intervals);

    nesting->intervals = intervals;
    if (status == CPT_OK) {
        status = cpt_alloc_grow(nesting->alloc, &active, &nesting->active_capacity,
                                request->count, UINT32_MAX, sizeof *nesting->active);
        nesting->active = active;
    }
    nesting->count = 0;
    for (size_t i = 0; status == CPT_OK && i < request->count; i++) {
        const struct cpti_line *line = &request->lines[i];

        if (line->is_interval) {
            nesting->intervals[nesting->count++] =
                (struct nesting_interval){.begin_ns = line->begin_ns,
                                          .end_ns = line->end_ns,
                                          .resolution_ns = line->resolution_ns,
                                          .kind = line->kind * ROLES + line->role,
                                          .service = line->service,
                                          .peer = line->peer,
                                          .line = (uint32_t)i,
                                          .role = line->role};
            largest_ns =
                line->resolution_ns > largest_ns ? line->resolution_ns : largest_ns;
        }
    }
    nesting->slack_ns = largest_ns;
    return status == CPT_OK ? check_services(nesting) : status;
}

/* --- The entry --- */

static struct nesting_tie *find_tie(struct cpti_nesting *nesting, uint32_t low,
                                    uint32_t high)
{
    size_t i = 0;

    while (i < nesting->tie_count &&
           (nesting->ties[i].low != low || nesting->ties[i].high != high)) {
        i++;
    }
    return i < nesting->tie_count ? &nesting->ties[i] : NULL;
}

/* Whether intervals of service @a are the longer ones of those that begin together. */
static bool is_longer(struct cpti_nesting *nesting, uint32_t a, uint32_t b)
{
    const struct nesting_tie *tie = find_tie(nesting, a < b ? a : b, a < b ? b : a);

    return tie != NULL && (a < b ? tie->longer_ns > 0 : tie->longer_ns < 0);
}

/* By how much @a is longer than @b; a wrong stamp counts as a second. */
static int64_t longer_by(const struct nesting_interval *a,
                         const struct nesting_interval *b)
{
    const int64_t second_ns = 1000000000;
    const int64_t ns = (a->end_ns - a->begin_ns) - (b->end_ns - b->begin_ns);

    return ns > second_ns ? second_ns : ns < -second_ns ? -second_ns : ns;
}

/* Whether interval @number is there, and may have begun together with the first one. */
static bool is_near(const struct cpti_nesting *nesting, size_t number)
{
    return number < nesting->count &&
           nesting->intervals[number].begin_ns - nesting->slack_ns <=
               nesting->intervals[0].begin_ns;
}

static void count_tie(struct cpti_nesting *nesting, const struct nesting_interval *a,
                      const struct nesting_interval *b)
{
    const bool is_low = a->service < b->service;
    const struct nesting_interval *low = is_low ? a : b;
    const struct nesting_interval *high = is_low ? b : a;
    struct nesting_tie *tie = find_tie(nesting, low->service, high->service);

    if (tie == NULL && nesting->tie_count < NESTING_TIES_MAX) {
        tie = &nesting->ties[nesting->tie_count++];
        *tie = (struct nesting_tie){low->service, high->service, 0};
    }
    if (tie != NULL) {
        tie->longer_ns += longer_by(low, high);
    }
}

cpt_status cpti_nesting_enter(struct cpti_nesting *nesting,
                              const struct cpti_request *request)
{
    const cpt_status status = take_all(nesting, request);

    for (size_t i = 1; status == CPT_OK && is_near(nesting, i); i++) {
        const struct nesting_interval *first = &nesting->intervals[0];
        const struct nesting_interval *other = &nesting->intervals[i];

        if (other->role != CPTI_EVENT_CLIENT && other->service != first->service) {
            count_tie(nesting, first, other);
        }
    }
    return status;
}

/* Puts the entry first: of those that may contain the first one, the one whose service
 * has the longer intervals, or that is of a caller's service. It is compared as if it
 * contained the others. */
static void put_entry_first(struct cpti_nesting *nesting)
{
    struct nesting_interval chosen = nesting->intervals[0];
    int64_t end_ns = chosen.end_ns;
    size_t entry = 0;

    for (size_t i = 1; is_near(nesting, i); i++) {
        const struct nesting_interval *first = &nesting->intervals[0];
        const struct nesting_interval *other = &nesting->intervals[i];

        if (other->role == CPTI_EVENT_CLIENT ||
            !nesting_contains(other, first, nesting_slack(other, first))) {
            continue;
        }
        end_ns = other->end_ns > end_ns ? other->end_ns : end_ns;
        if (other->service == chosen.service
                ? chosen.role == CPTI_EVENT_CLIENT
                : is_longer(nesting, other->service, chosen.service)) {
            entry = i;
            chosen = *other;
        }
    }
    if (entry > 0) {
        chosen.begin_ns = nesting->intervals[0].begin_ns;
        chosen.end_ns = end_ns;
        memmove(nesting->intervals + 1, nesting->intervals, entry * sizeof chosen);
        nesting->intervals[0] = chosen;
    }
}

cpt_status cpti_nesting_take(struct cpti_nesting *nesting,
                             const struct cpti_request *request)
{
    const cpt_status status = take_all(nesting, request);

    if (status == CPT_OK && nesting->count > 0) {
        put_entry_first(nesting);
    }
    return status;
}

/* --- Pairs --- */

static uint64_t hash_of(uint32_t class_number, uint32_t outer, uint32_t inner)
{
    return cpti_hash_mix(cpti_hash_mix((uint64_t)outer << 32 | inner) ^ class_number);
}

static uint64_t hash_pair(const void *owner, size_t number)
{
    const struct nesting_pair *pair =
        &((const struct cpti_nesting *)owner)->pairs[number];

    return hash_of(pair->class_number, pair->outer, pair->inner);
}

struct nesting_pair *cpti_nesting_find(const struct cpti_nesting *nesting,
                                       uint32_t class_number, uint32_t outer,
                                       uint32_t inner)
{
    size_t slot = 0;

    if (nesting->pair_count == 0) {
        return NULL;
    }
    slot = cpti_hash_index_first(&nesting->pair_index,
                                 hash_of(class_number, outer, inner));
    for (; nesting->pair_index.slots[slot] != 0;
         slot = cpti_hash_index_next(&nesting->pair_index, slot)) {
        struct nesting_pair *pair =
            &nesting->pairs[nesting->pair_index.slots[slot] - 1];

        if (pair->class_number == class_number && pair->outer == outer &&
            pair->inner == inner) {
            return pair;
        }
    }
    return NULL;
}

cpt_status cpti_nesting_count_of(struct cpti_nesting *nesting, uint32_t class_number,
                                 uint32_t outer, uint32_t inner,
                                 struct nesting_pair **pair)
{
    void *pairs = nesting->pairs;
    cpt_status status = CPT_OK;

    *pair = cpti_nesting_find(nesting, class_number, outer, inner);
    if (*pair != NULL) {
        return CPT_OK;
    }
    if (nesting->pair_count == CPTI_NESTING_PAIRS_MAX) {
        nesting->counts.pairs_left_out++;
        return CPT_OK;
    }
    status = cpt_alloc_grow(nesting->alloc, &pairs, &nesting->pair_capacity,
                            nesting->pair_count + 1, CPTI_NESTING_PAIRS_MAX,
                            sizeof *nesting->pairs);
    nesting->pairs = pairs;
    if (status == CPT_OK &&
        cpti_hash_index_is_full(&nesting->pair_index, nesting->pair_count, 2)) {
        status = cpti_hash_index_grow(&nesting->pair_index, nesting->alloc, FIRST_SLOTS,
                                      nesting->pair_count, hash_pair, nesting);
    }
    if (status == CPT_OK) {
        *pair = &nesting->pairs[nesting->pair_count];
        **pair = (struct nesting_pair){
            .class_number = class_number, .outer = outer, .inner = inner};
        cpti_hash_index_put(&nesting->pair_index, hash_of(class_number, outer, inner),
                            nesting->pair_count++);
    }
    return status;
}

/* --- Classes --- */

static uint64_t hash_class(const void *owner, size_t number)
{
    const struct nesting_class *class =
        &((const struct cpti_nesting *)owner)->classes[number];

    return hash_of(0, class->entry, class->other);
}

/* The entry's kind, and the first one of another service. */
static struct nesting_class class_key(const struct cpti_nesting *nesting)
{
    struct nesting_class key = {.entry = nesting->intervals[0].kind,
                                .entry_service = nesting->intervals[0].service,
                                .other = NESTING_ALL};

    for (size_t i = 1; i < nesting->count && key.other == NESTING_ALL; i++) {
        if (nesting->intervals[i].service != key.entry_service) {
            key.other = nesting->intervals[i].kind;
        }
    }
    return key;
}

static uint32_t find_class(const struct cpti_nesting *nesting, uint32_t entry,
                           uint32_t other)
{
    size_t slot = 0;

    if (nesting->class_index.slot_count == 0) {
        return NESTING_ALL;
    }
    slot = cpti_hash_index_first(&nesting->class_index, hash_of(0, entry, other));
    while (nesting->class_index.slots[slot] != 0) {
        const uint32_t number = nesting->class_index.slots[slot] - 1;

        if (nesting->classes[number].entry == entry &&
            nesting->classes[number].other == other) {
            return number;
        }
        slot = cpti_hash_index_next(&nesting->class_index, slot);
    }
    return NESTING_ALL;
}

uint32_t cpti_nesting_class_of(const struct cpti_nesting *nesting)
{
    const struct nesting_class key = class_key(nesting);
    uint32_t number = find_class(nesting, key.entry, key.other);

    return number != NESTING_ALL ? nesting->classes[number].final : NESTING_ALL;
}

/* The class of the intervals that were taken, which is added if it is new; NESTING_ALL
 * if it is one too many. */
static cpt_status add_class(struct cpti_nesting *nesting, uint32_t *number)
{
    const struct nesting_class key = class_key(nesting);
    void *classes = nesting->classes;
    cpt_status status = CPT_OK;

    *number = find_class(nesting, key.entry, key.other);
    if (*number != NESTING_ALL || nesting->class_count == CPTI_NESTING_CLASSES_MAX) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(nesting->alloc, &classes, &nesting->class_capacity,
                            nesting->class_count + 1, CPTI_NESTING_CLASSES_MAX,
                            sizeof *nesting->classes);
    nesting->classes = classes;
    if (status == CPT_OK &&
        cpti_hash_index_is_full(&nesting->class_index, nesting->class_count, 2)) {
        status = cpti_hash_index_grow(&nesting->class_index, nesting->alloc, 64,
                                      nesting->class_count, hash_class, nesting);
    }
    if (status == CPT_OK) {
        nesting->classes[nesting->class_count] = key;
        *number = (uint32_t)nesting->class_count++;
        cpti_hash_index_put(&nesting->class_index, hash_of(0, key.entry, key.other),
                            *number);
    }
    return status;
}

/* --- Counting --- */

/* Counts how @outer lies to @inner, which is instance @nesting->serial. */
static cpt_status count_pair(struct cpti_nesting *nesting, uint32_t class_number,
                             const struct nesting_interval *outer,
                             const struct nesting_interval *inner)
{
    const bool is_inside = nesting_is_around(outer, inner);
    const bool is_around = !is_inside && nesting_is_around(inner, outer);
    struct nesting_pair *pair = NULL;
    cpt_status status =
        cpti_nesting_count_of(nesting, class_number, outer->kind, inner->kind, &pair);

    if (status != CPT_OK || pair == NULL) {
        return status;
    }
    pair->service = outer->service;
    pair->inside += is_inside;
    pair->around += is_around;
    pair->wider += nesting_is_wider(inner, outer);
    pair->crossing += !is_inside && !is_around;
    if (!is_inside) {
        return CPT_OK;
    }
    pair->within += pair->serial != nesting->serial;
    pair->serial = nesting->serial;
    status = cpti_nesting_count_of(
        nesting, class_number, NESTING_SERVICE | outer->service, inner->kind, &pair);
    if (status == CPT_OK && pair != NULL) {
        pair->within += pair->serial != nesting->serial;
        pair->serial = nesting->serial;
    }
    return status;
}

/* Whether both run at one time for certain. */
static bool is_overlap(const struct nesting_interval *a,
                       const struct nesting_interval *b)
{
    const int64_t slack_ns = nesting_slack(a, b);

    return nesting_contains(a, b, slack_ns) || nesting_contains(b, a, slack_ns) ||
           (a->begin_ns + slack_ns < b->end_ns && b->begin_ns + slack_ns < a->end_ns);
}

/* Counts how instances @other and @number, the current one, lie, if they overlap. */
static cpt_status count_both(struct cpti_nesting *nesting, uint32_t class_number,
                             size_t other, size_t number)
{
    const struct nesting_interval *outer = &nesting->intervals[other];
    const struct nesting_interval *inner = &nesting->intervals[number];
    struct nesting_pair *pair = NULL;
    cpt_status status = CPT_OK;

    if (other == number || !is_overlap(outer, inner)) {
        return CPT_OK;
    }
    if (cpti_nesting_may_contain(outer, inner)) {
        status = count_pair(nesting, class_number, outer, inner);
    }
    if (status == CPT_OK && cpti_nesting_may_contain(inner, outer) &&
        nesting_is_around(inner, outer)) {
        status = cpti_nesting_count_of(nesting, class_number, inner->kind, outer->kind,
                                       &pair);
    }
    if (pair != NULL) {
        pair->service = inner->service;
        pair->fills += pair->filled_serial != nesting->serial;
        pair->filled_serial = nesting->serial;
    }
    return status;
}

/* Counts all that run at the time of instance @number. */
static cpt_status count_instance(struct cpti_nesting *nesting, uint32_t class_number,
                                 size_t number)
{
    const struct nesting_interval *inner = &nesting->intervals[number];
    struct nesting_pair *all = NULL;
    cpt_status status =
        cpti_nesting_count_of(nesting, class_number, NESTING_ALL, inner->kind, &all);

    if (all != NULL) {
        all->within++;
    }
    nesting->serial++;
    cpti_nesting_advance(nesting, number);
    for (size_t i = 0; status == CPT_OK && i < nesting->active_count; i++) {
        status = count_both(nesting, class_number, nesting->active[i], number);
    }
    for (size_t i = nesting->looked_at; status == CPT_OK && i < nesting->count &&
                                        nesting->intervals[i].begin_ns <= inner->end_ns;
         i++) {
        nesting->work++;
        status = count_both(nesting, class_number, i, number);
    }
    return status;
}

void cpti_nesting_advance(struct cpti_nesting *nesting, size_t number)
{
    const struct nesting_interval *inner = &nesting->intervals[number];
    size_t kept = 0;

    if (number == 0) {
        nesting->active_count = 0;
        nesting->looked_at = 0;
    }
    while (nesting->looked_at < nesting->count &&
           nesting->intervals[nesting->looked_at].begin_ns - nesting->slack_ns <=
               inner->begin_ns) {
        nesting->active[nesting->active_count++] = (uint32_t)nesting->looked_at++;
    }
    for (size_t i = 0; i < nesting->active_count; i++) {
        const uint32_t active = nesting->active[i];

        if (nesting->intervals[active].end_ns + nesting->slack_ns >= inner->begin_ns) {
            nesting->active[kept++] = active;
        }
    }
    nesting->active_count = kept;
    if (kept > NESTING_ACTIVE_MAX) {
        const size_t last = NESTING_ACTIVE_MAX - NESTING_OLDEST;

        memmove(nesting->active + NESTING_OLDEST, nesting->active + kept - last,
                last * sizeof *nesting->active);
        nesting->active_count = NESTING_ACTIVE_MAX;
    }
    nesting->work += nesting->active_count;
}

cpt_status cpti_nesting_learn(struct cpti_nesting *nesting,
                              const struct cpti_request *request)
{
    uint32_t class_number = NESTING_ALL;
    cpt_status status = cpti_nesting_take(nesting, request);

    if (status != CPT_OK || nesting->count == 0) {
        return status;
    }
    if (nesting->count > CPTI_NESTING_LINES_MAX || nesting->work > NESTING_WORK_MAX) {
        nesting->counts.passed_over++;
        return CPT_OK;
    }
    status = add_class(nesting, &class_number);
    if (status != CPT_OK || class_number == NESTING_ALL ||
        nesting->classes[class_number].requests == LEARNT_MAX) {
        return status;
    }
    nesting->classes[class_number].requests++;
    nesting->counts.learnt++;
    for (size_t i = 0; status == CPT_OK && i < nesting->count; i++) {
        status = count_instance(nesting, class_number, i);
    }
    return status;
}
