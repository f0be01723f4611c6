/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_clocks.c - clocks of hosts from many requests; see event_clocks.h */
#include "import/events/event_clocks.h"

#include "import/clocks/interval_vote.h"
#include "cpt/base/hash_index.h"

#include <stdlib.h>

enum {
    FIRST_SLOTS = 64,
    MOVED_MAX = 64,          /* hosts, in a block */
    FOUND_MAX = 1024,        /* hosts that are told */
    PAIRS_MAX = 1 << 14,     /* of hosts, in a block */
    LOOKED_AT_MAX = 1 << 20, /* lines for calls, in a request */
    COVERED_PERCENT = 70,    /* of the units, that a difference must explain */
    UNCERTAIN_NS_MAX = 100000000
};

/* What is known of two hosts, the second one of which is `differ` ahead. */
struct host_pair {
    uint32_t first;
    uint32_t second; /* the larger number */
    bool is_points;
    struct cpti_interval_vote vote;
    uint32_t units; /* that are bounded by a call at least */
    bool is_told;   /* it is a difference, or none, that can be believed */
    int64_t least_ns;
    int64_t most_ns;
};

/* A host that differs in a block. */
struct moved_host {
    uint64_t block;
    uint32_t host;
    bool is_points;
    int64_t ahead_ns;
    int64_t width_ns;
};

struct cpti_event_clocks {
    const struct cpt_alloc *alloc;
    uint64_t request_count;
    uint64_t block_count;
    uint64_t counted;    /* requests */
    uint64_t block;      /* that is counted */
    uint32_t entry_host; /* of the last request */
    struct host_pair *pairs;
    size_t pair_count, pair_capacity; /* of this block */
    size_t pair_made;                 /* pairs that have memory, from earlier blocks */
    struct cpti_hash_index index;
    struct moved_host *moved; /* by block, then as they were found */
    size_t moved_count, moved_capacity;
    struct cpti_event_clock *found;
    size_t found_count, found_capacity;
    struct cpti_line *spare; /* to sort with */
    size_t spare_capacity;
};

struct cpti_event_clocks *cpti_event_clocks_new(const struct cpt_alloc *alloc,
                                                uint64_t request_count)
{
    struct cpti_event_clocks *clocks = cpt_alloc_zeroed(alloc, sizeof *clocks);

    if (clocks != NULL) {
        clocks->alloc = alloc;
        clocks->request_count = request_count;
        clocks->block_count =
            (request_count + CPTI_CLOCK_BLOCK_REQUESTS / 2) / CPTI_CLOCK_BLOCK_REQUESTS;
        clocks->block_count += clocks->block_count == 0;
    }
    return clocks;
}

void cpti_event_clocks_free(struct cpti_event_clocks *clocks)
{
    if (clocks == NULL) {
        return;
    }
    for (size_t i = 0; i < clocks->pair_made; i++) {
        cpti_interval_vote_clear(&clocks->pairs[i].vote);
    }
    cpt_alloc_free(clocks->alloc, clocks->pairs);
    cpt_alloc_free(clocks->alloc, clocks->index.slots);
    cpt_alloc_free(clocks->alloc, clocks->moved);
    cpt_alloc_free(clocks->alloc, clocks->found);
    cpt_alloc_free(clocks->alloc, clocks->spare);
    cpt_alloc_free(clocks->alloc, clocks);
}

size_t cpti_event_clocks_found(const struct cpti_event_clocks *clocks,
                               const struct cpti_event_clock **found)
{
    *found = clocks->found;
    return clocks->found_count;
}

static uint64_t block_of(const struct cpti_event_clocks *clocks, uint64_t number)
{
    /* requests of less than 2^40, blocks of less than 2^34 */
    return clocks->request_count > 0
               ? (uint64_t)((double)number * (double)clocks->block_count /
                            (double)clocks->request_count)
               : 0;
}

/* --- Counting --- */

static uint64_t hash_hosts(uint32_t first, uint32_t second)
{
    return cpti_hash_mix((uint64_t)first << 32 | second);
}

static uint64_t hash_entry(const void *owner, size_t number)
{
    const struct cpti_event_clocks *clocks = owner;

    return hash_hosts(clocks->pairs[number].first, clocks->pairs[number].second);
}

/* Adds a pair to those of the block. */
static cpt_status add_pair(struct cpti_event_clocks *clocks, uint32_t first,
                           uint32_t second, struct host_pair **pair)
{
    void *pairs = clocks->pairs;
    cpt_status status =
        cpt_alloc_grow(clocks->alloc, &pairs, &clocks->pair_capacity,
                       clocks->pair_count + 1, PAIRS_MAX, sizeof *clocks->pairs);

    clocks->pairs = pairs;
    if (status == CPT_OK &&
        cpti_hash_index_is_full(&clocks->index, clocks->pair_count, 2)) {
        status = cpti_hash_index_grow(&clocks->index, clocks->alloc, FIRST_SLOTS,
                                      clocks->pair_count, hash_entry, clocks);
    }
    if (status != CPT_OK) {
        return status;
    }
    *pair = &clocks->pairs[clocks->pair_count];
    if (clocks->pair_count == clocks->pair_made) {
        **pair = (struct host_pair){.vote = {.alloc = clocks->alloc}};
        clocks->pair_made++;
    }
    (*pair)->first = first;
    (*pair)->second = second;
    (*pair)->units = 0;
    (*pair)->is_points = false;
    cpti_interval_vote_reset(&(*pair)->vote);
    cpti_hash_index_put(&clocks->index, hash_hosts(first, second),
                        clocks->pair_count++);
    return CPT_OK;
}

/* The pair of two hosts; *@pair is NULL if it is one too many. */
static cpt_status find_pair(struct cpti_event_clocks *clocks, uint32_t first,
                            uint32_t second, struct host_pair **pair)
{
    *pair = NULL;
    if (clocks->index.slot_count > 0) {
        size_t slot = cpti_hash_index_first(&clocks->index, hash_hosts(first, second));

        for (; clocks->index.slots[slot] != 0;
             slot = cpti_hash_index_next(&clocks->index, slot)) {
            *pair = &clocks->pairs[clocks->index.slots[slot] - 1];
            if ((*pair)->first == first && (*pair)->second == second) {
                return CPT_OK;
            }
        }
        *pair = NULL;
    }
    return clocks->pair_count < PAIRS_MAX ? add_pair(clocks, first, second, pair)
                                          : CPT_OK;
}

/* Votes that what lines tell of one host, from @inner_begin to @inner_end, lies in what
 * they tell of the other. */
static cpt_status vote(struct cpti_event_clocks *clocks, const struct cpti_line *outer,
                       int64_t outer_end, const struct cpti_line *inner,
                       int64_t inner_end, struct host_pair **pair)
{
    const int64_t slack_ns = outer->resolution_ns > inner->resolution_ns
                                 ? outer->resolution_ns
                                 : inner->resolution_ns;
    const int64_t least_ns = inner_end - outer_end - slack_ns;
    const int64_t most_ns = inner->begin_ns - outer->begin_ns + slack_ns;
    const bool is_turned = outer->host > inner->host;
    cpt_status status = is_turned ? find_pair(clocks, inner->host, outer->host, pair)
                                  : find_pair(clocks, outer->host, inner->host, pair);

    if (status != CPT_OK || *pair == NULL || most_ns < least_ns) {
        return status;
    }
    return is_turned ? cpti_interval_vote_add(&(*pair)->vote, -most_ns, -least_ns)
                     : cpti_interval_vote_add(&(*pair)->vote, least_ns, most_ns);
}

/* Compares a unit with all calls to its service. */
static cpt_status count_unit(struct cpti_event_clocks *clocks,
                             const struct cpti_request *request,
                             const struct cpti_line *unit, size_t *left)
{
    struct host_pair *last = NULL;
    cpt_status status = CPT_OK;

    for (size_t i = 0; status == CPT_OK && *left > 0 && i < request->count; i++) {
        const struct cpti_line *call = &request->lines[i];
        struct host_pair *pair = NULL;

        (*left)--;
        if (!call->is_interval || call->role != CPTI_EVENT_CLIENT ||
            call->peer != unit->service || call->host == unit->host ||
            call->host == 0) {
            continue;
        }
        status = vote(clocks, call, call->end_ns, unit, unit->end_ns, &pair);
        if (pair != NULL && pair != last) {
            pair->units++; /* calls of one host follow each other, nearly always */
            last = pair;
        }
    }
    return status;
}

/* Compares the lines of each host with those of the entry's service. */
static cpt_status count_points(struct cpti_event_clocks *clocks,
                               const struct cpti_request *request, size_t *left)
{
    const struct cpti_line *entry = &request->lines[0];
    int64_t entry_end = entry->begin_ns;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < request->count; i++) {
        if (request->lines[i].service == entry->service) {
            entry_end = request->lines[i].begin_ns;
        }
    }
    for (size_t i = 1; status == CPT_OK && *left > 0 && i < request->count; i++) {
        const struct cpti_line *line = &request->lines[i];
        struct host_pair *pair = NULL;

        if (line->host == 0 || line->host == entry->host || entry->host == 0 ||
            line->service == entry->service) {
            continue;
        }
        (*left)--;
        status = vote(clocks, entry, entry_end, line, line->begin_ns, &pair);
        if (pair != NULL) {
            pair->is_points = true;
            pair->units++;
        }
    }
    return status;
}

static cpt_status solve_block(struct cpti_event_clocks *clocks);

cpt_status cpti_event_clocks_count(struct cpti_event_clocks *clocks,
                                   const struct cpti_request *request)
{
    const uint64_t block = block_of(clocks, clocks->counted++);
    size_t left = LOOKED_AT_MAX;
    bool has_interval = false;
    cpt_status status = CPT_OK;

    if (block != clocks->block) {
        status = solve_block(clocks);
        clocks->block = block;
    }
    clocks->entry_host = request->lines[0].host;
    for (size_t i = 0; status == CPT_OK && left > 0 && i < request->count; i++) {
        const struct cpti_line *unit = &request->lines[i];

        has_interval |= unit->is_interval;
        if (unit->is_interval && unit->role == CPTI_EVENT_SERVER && unit->host != 0) {
            status = count_unit(clocks, request, unit, &left);
        }
    }
    return status == CPT_OK && !has_interval ? count_points(clocks, request, &left)
                                             : status;
}

/* --- Fewest liars --- */

/* Decides what a pair tells. */
static void decide(struct host_pair *pair)
{
    const struct cpti_vote_result result = cpti_interval_vote_count(&pair->vote);

    pair->is_told = pair->units > 0 &&
                    result.votes * 100 >= (uint64_t)pair->units * COVERED_PERCENT;
    pair->least_ns = result.has_zero && result.least > 0 ? 0 : result.least;
    pair->most_ns = result.has_zero && result.most < 0 ? 0 : result.most;
}

/* How far @pair is from agreeing: 0 if it does. */
static int64_t difference(const struct host_pair *pair)
{
    if (!pair->is_told || (pair->least_ns <= 0 && pair->most_ns >= 0)) {
        return 0;
    }
    return pair->least_ns / 2 + pair->most_ns / 2;
}

/* A host and how much its pairs contradict. */
struct suspect {
    uint32_t host;
    double weight;
    uint64_t agreed; /* units of its pairs that do not */
};

static int compare_suspects(const void *left, const void *right)
{
    const uint32_t a = ((const struct suspect *)left)->host;
    const uint32_t b = ((const struct suspect *)right)->host;

    return (a > b) - (a < b);
}

/* Whether @suspect contradicts more than @worst; of equals, the one with which fewer
 * agree, then the one that is not the entry's, then the larger number. */
static bool is_worse(const struct cpti_event_clocks *clocks,
                     const struct suspect *suspect, const struct suspect *worst)
{
    if (suspect->weight != worst->weight) {
        return suspect->weight > worst->weight;
    }
    if (suspect->agreed != worst->agreed) {
        return suspect->agreed < worst->agreed;
    }
    return suspect->host != clocks->entry_host;
}

/* The host that contradicts most. Its weight is 0 if none does. @suspects has room for
 * two of each pair. */
static struct suspect find_liar(const struct cpti_event_clocks *clocks,
                                struct suspect *suspects)
{
    struct suspect worst = {0, 0, 0};
    size_t count = 0;

    for (size_t i = 0; i < clocks->pair_count; i++) {
        const struct host_pair *pair = &clocks->pairs[i];
        const double weight = (double)llabs(difference(pair)) * pair->units;

        if (pair->is_told) {
            const uint64_t agreed = weight > 0 ? 0 : pair->units;

            suspects[count++] = (struct suspect){pair->first, weight, agreed};
            suspects[count++] = (struct suspect){pair->second, weight, agreed};
        }
    }
    qsort(suspects, count, sizeof *suspects, compare_suspects);
    for (size_t from = 0, to = 0; from < count; from = to) {
        struct suspect suspect = {suspects[from].host, 0, 0};

        for (; to < count && suspects[to].host == suspect.host; to++) {
            suspect.weight += suspects[to].weight;
            suspect.agreed += suspects[to].agreed;
        }
        if (suspect.weight > 0 && is_worse(clocks, &suspect, &worst)) {
            worst = suspect;
        }
    }
    return worst;
}

/* How far a host is ahead, by one of its pairs. */
struct opinion {
    int64_t ahead_ns;
    int64_t width_ns;
    uint32_t units;
    bool is_points;
};

static int compare_opinions(const void *left, const void *right)
{
    const int64_t a = ((const struct opinion *)left)->ahead_ns;
    const int64_t b = ((const struct opinion *)right)->ahead_ns;

    return (a > b) - (a < b);
}

/* What the pairs of @host say, by the weighted median. @opinions has room for one of
 * each pair. */
static struct opinion ask(const struct cpti_event_clocks *clocks, uint32_t host,
                          struct opinion *opinions)
{
    uint64_t units = 0;
    uint64_t before = 0;
    size_t count = 0;
    size_t middle = 0;

    for (size_t i = 0; i < clocks->pair_count; i++) {
        const struct host_pair *pair = &clocks->pairs[i];
        const int64_t ahead_ns = difference(pair);

        if (pair->is_told && (pair->first == host || pair->second == host)) {
            opinions[count++] = (struct opinion){
                pair->second == host ? ahead_ns : -ahead_ns,
                pair->most_ns - pair->least_ns, pair->units, pair->is_points};
            units += pair->units;
        }
    }
    qsort(opinions, count, sizeof *opinions, compare_opinions);
    while (middle + 1 < count && 2 * (before + opinions[middle].units) < units) {
        before += opinions[middle++].units;
    }
    return opinions[middle];
}

/* Moves @host in all its pairs. */
static void move_host(struct cpti_event_clocks *clocks, uint32_t host, int64_t ahead_ns)
{
    for (size_t i = 0; i < clocks->pair_count; i++) {
        struct host_pair *pair = &clocks->pairs[i];
        const int64_t by_ns = pair->second == host  ? -ahead_ns
                              : pair->first == host ? ahead_ns
                                                    : 0;

        pair->least_ns += by_ns;
        pair->most_ns += by_ns;
    }
}

static cpt_status note_moved(struct cpti_event_clocks *clocks, uint32_t host,
                             const struct opinion *opinion)
{
    void *moved = clocks->moved;
    const cpt_status status =
        cpt_alloc_grow(clocks->alloc, &moved, &clocks->moved_capacity,
                       clocks->moved_count + 1, SIZE_MAX, sizeof *clocks->moved);

    clocks->moved = moved;
    if (status == CPT_OK) {
        clocks->moved[clocks->moved_count++] =
            (struct moved_host){.block = clocks->block,
                                .host = host,
                                .is_points = opinion->is_points,
                                .ahead_ns = opinion->ahead_ns,
                                .width_ns = opinion->width_ns};
    }
    return status;
}

/* Finds the hosts of the block that are wrong, and begins another one. */
static cpt_status solve_block(struct cpti_event_clocks *clocks)
{
    const size_t pairs = clocks->pair_count;
    struct suspect *suspects =
        cpt_alloc_array(clocks->alloc, NULL, 2 * pairs + 1, sizeof *suspects);
    struct opinion *opinions =
        cpt_alloc_array(clocks->alloc, NULL, pairs + 1, sizeof *opinions);
    cpt_status status = suspects != NULL && opinions != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (size_t i = 0; status == CPT_OK && i < pairs; i++) {
        decide(&clocks->pairs[i]);
    }
    for (size_t i = 0; status == CPT_OK && i < MOVED_MAX; i++) {
        const struct suspect liar = find_liar(clocks, suspects);
        struct opinion opinion;

        if (liar.weight <= 0) {
            break;
        }
        opinion = ask(clocks, liar.host, opinions);
        move_host(clocks, liar.host, opinion.ahead_ns);
        for (size_t k = 0; k < pairs; k++) { /* what it says is used up */
            clocks->pairs[k].is_told &= clocks->pairs[k].first != liar.host &&
                                        clocks->pairs[k].second != liar.host;
        }
        if (opinion.ahead_ns != 0) {
            status = note_moved(clocks, liar.host, &opinion);
        }
    }
    cpt_alloc_free(clocks->alloc, suspects);
    cpt_alloc_free(clocks->alloc, opinions);
    clocks->pair_count = 0;
    cpti_hash_index_reset(&clocks->index);
    return status;
}

static int compare_found(const void *left, const void *right)
{
    const uint32_t a = ((const struct cpti_event_clock *)left)->host;
    const uint32_t b = ((const struct cpti_event_clock *)right)->host;

    return (a > b) - (a < b);
}

/* Adds what was found of a host in a block to the rest of it. */
static void add_found(struct cpti_event_clock *found, const struct moved_host *moved)
{
    const bool is_first = found->blocks == 0;

    found->host = moved->host;
    found->least_ns = is_first || moved->ahead_ns < found->least_ns ? moved->ahead_ns
                                                                    : found->least_ns;
    found->most_ns =
        is_first || moved->ahead_ns > found->most_ns ? moved->ahead_ns : found->most_ns;
    found->blocks++;
    found->moved += !moved->is_points && llabs(moved->ahead_ns) > CPTI_CLOCK_APPLIED_NS;
    found->guessed += moved->is_points;
}

cpt_status cpti_event_clocks_solve(struct cpti_event_clocks *clocks)
{
    cpt_status status = solve_block(clocks);

    for (size_t i = 0; status == CPT_OK && i < clocks->moved_count; i++) {
        void *found = clocks->found;
        size_t place = 0;

        while (place < clocks->found_count &&
               clocks->found[place].host != clocks->moved[i].host) {
            place++;
        }
        if (place == FOUND_MAX) {
            continue;
        }
        if (place == clocks->found_count) {
            status = cpt_alloc_grow(clocks->alloc, &found, &clocks->found_capacity,
                                    place + 1, SIZE_MAX, sizeof *clocks->found);
            clocks->found = found;
            if (status != CPT_OK) {
                break;
            }
            clocks->found[clocks->found_count++] = (struct cpti_event_clock){0};
        }
        add_found(&clocks->found[place], &clocks->moved[i]);
    }
    if (clocks->found_count > 0) {
        qsort(clocks->found, clocks->found_count, sizeof *clocks->found, compare_found);
    }
    return status;
}

/* --- Mending --- */

void cpti_event_lines_sort(struct cpti_line *lines, struct cpti_line *spare,
                           size_t count)
{
    struct cpti_line *const given = lines;

    for (size_t width = 1; width < count; width *= 2) {
        struct cpti_line *const from = lines;

        for (size_t i = 0; i < count; i += 2 * width) {
            size_t left = i;
            size_t right = i + width < count ? i + width : count;
            const size_t middle = right;
            const size_t end = i + 2 * width < count ? i + 2 * width : count;

            for (size_t k = i; k < end; k++) {
                const bool takes_left =
                    left < middle &&
                    (right == end || from[left].begin_ns < from[right].begin_ns ||
                     (from[left].begin_ns == from[right].begin_ns &&
                      from[left].end_ns >= from[right].end_ns));

                spare[k] = takes_left ? from[left++] : from[right++];
            }
        }
        lines = spare;
        spare = from;
    }
    if (lines != given) {
        memcpy(given, lines, count * sizeof *given);
    }
}

/* The first entry of `moved` of @block. */
static size_t first_of(const struct cpti_event_clocks *clocks, uint64_t block)
{
    size_t low = 0;
    size_t high = clocks->moved_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (clocks->moved[middle].block < block) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Puts @line right; whether its times changed. */
static bool mend_line(const struct moved_host *moved, struct cpti_line *line)
{
    const bool is_applied = llabs(moved->ahead_ns) > CPTI_CLOCK_APPLIED_NS;
    int64_t uncertain_ns = is_applied ? moved->width_ns / 2 : llabs(moved->ahead_ns);

    if (line->host != moved->host || moved->is_points) {
        return false;
    }
    uncertain_ns = uncertain_ns < UNCERTAIN_NS_MAX ? uncertain_ns : UNCERTAIN_NS_MAX;
    if (uncertain_ns > line->resolution_ns) {
        line->resolution_ns = (uint32_t)uncertain_ns;
    }
    if (is_applied) {
        line->begin_ns -= moved->ahead_ns;
        line->end_ns -= moved->ahead_ns;
    }
    return is_applied;
}

cpt_status cpti_event_clocks_mend(struct cpti_event_clocks *clocks, uint64_t number,
                                  struct cpti_request *request)
{
    const uint64_t block = block_of(clocks, number);
    bool is_changed = false;
    void *spare = clocks->spare;
    cpt_status status = CPT_OK;

    for (size_t i = first_of(clocks, block);
         i < clocks->moved_count && clocks->moved[i].block == block; i++) {
        for (size_t k = 0; k < request->count; k++) {
            is_changed |= mend_line(&clocks->moved[i], &request->lines[k]);
        }
    }
    if (!is_changed) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(clocks->alloc, &spare, &clocks->spare_capacity,
                            request->count, SIZE_MAX, sizeof *clocks->spare);
    clocks->spare = spare;
    if (status == CPT_OK) {
        cpti_event_lines_sort(request->lines, clocks->spare, request->count);
    }
    return status;
}
