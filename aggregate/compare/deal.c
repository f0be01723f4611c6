/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * deal.c - groups dealt anew within their strata; see cpt_deal.h
 *
 *      stratum 0             stratum 1
 *      [ * * * * * * * * * | * * * * * ]     the requests, by stratum
 *        `--.--'             `-.-'
 *      the smaller group     the smaller group     drawn to the front, by a deal
 *
 * Only the smaller group of a stratum is drawn and added up; the other one has the rest
 * of the sums of both. Values are taken from the mean of their stratum on, so that this
 * difference loses no digits.
 *
 * Cost: O(requests · deals), memory O(requests).
 */
#include "aggregate/cpt_deal.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Two numbers as near as this are the same but for the order of their additions. */
#define NEARLY (1 - 1e-9)

/* What a group needs for its mean and the error of that. */
struct group_sums {
    double count;
    double w;
    double wx;
    double ww[3]; /* Σ w², Σ w² x, Σ w² x² */
};

/* What is dealt: a value, from the mean of its stratum on, and its weight. */
struct card {
    double x;
    double w;
};

struct deck {
    size_t from; /* its first card */
    size_t count;
    size_t drawn; /* the size of the smaller group */
    bool is_second_drawn;
    double mean; /* that was taken off */
    double share;
    struct group_sums all;
};

struct table {
    struct card *cards;
    struct deck *decks;
    size_t deck_count;
};

static void add(struct group_sums *sums, const struct card *card)
{
    const double w2 = card->w * card->w;

    sums->count++;
    sums->w += card->w;
    sums->wx += card->w * card->x;
    sums->ww[0] += w2;
    sums->ww[1] += w2 * card->x;
    sums->ww[2] += w2 * card->x * card->x;
}

static struct group_sums rest_of(const struct group_sums *all,
                                 const struct group_sums *part)
{
    return (struct group_sums){
        .count = all->count - part->count,
        .w = all->w - part->w,
        .wx = all->wx - part->wx,
        .ww = {all->ww[0] - part->ww[0], all->ww[1] - part->ww[1],
               all->ww[2] - part->ww[2]},
    };
}

static double mean_of(const struct group_sums *sums)
{
    return sums->wx / sums->w;
}

/* The square of the error of the mean: infinite for one request. */
static double variance_of(const struct group_sums *sums)
{
    const double mean = mean_of(sums);
    const double squares =
        sums->ww[2] - 2 * mean * sums->ww[1] + mean * mean * sums->ww[0];

    if (sums->count < 2) {
        return INFINITY;
    }
    return sums->count / (sums->count - 1) * fmax(squares, 0) / (sums->w * sums->w);
}

/* The difference, and the square of its error, of the groups as the decks lie. */
static void measure(const struct table *table, double *delta, double *variance)
{
    *delta = 0;
    *variance = 0;
    for (size_t i = 0; i < table->deck_count; i++) {
        const struct deck *deck = &table->decks[i];
        const double sign = deck->is_second_drawn ? 1 : -1;
        struct group_sums drawn = {0};
        struct group_sums rest;

        if (!(deck->share > 0)) {
            continue;
        }
        for (size_t k = 0; k < deck->drawn; k++) {
            add(&drawn, &table->cards[deck->from + k]);
        }
        rest = rest_of(&deck->all, &drawn);
        *delta += deck->share * sign * (mean_of(&drawn) - mean_of(&rest));
        *variance +=
            deck->share * deck->share * (variance_of(&drawn) + variance_of(&rest));
    }
}

/* |T|; of no error it is infinite, unless there is no difference either. */
static double size_of(double delta, double variance)
{
    if (variance > 0) {
        return fabs(delta) / sqrt(variance);
    }
    return delta == 0 ? 0 : INFINITY;
}

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Draws the smaller group of each deck to its front. */
static void shuffle(struct table *table, uint64_t *state)
{
    __extension__ typedef unsigned __int128 wide;

    for (size_t i = 0; i < table->deck_count; i++) {
        const struct deck *deck = &table->decks[i];
        struct card *cards = &table->cards[deck->from];

        for (size_t k = 0; deck->share > 0 && k < deck->drawn; k++) {
            const size_t other =
                k + (size_t)((wide)next(state) * (deck->count - k) >> 64);
            const struct card card = cards[k];

            cards[k] = cards[other];
            cards[other] = card;
        }
    }
}

/* --- The table --- */

/* The sizes of the decks and of their groups. */
static cpt_status count_cards(struct table *table,
                              const struct cpt_deal_request *requests, size_t count)
{
    size_t from = 0;

    for (size_t i = 0; i < count; i++) {
        if (requests[i].stratum >= table->deck_count) {
            return CPT_INVALID;
        }
        table->decks[requests[i].stratum].count++;
        table->decks[requests[i].stratum].drawn += requests[i].is_second != 0;
    }
    for (size_t i = 0; i < table->deck_count; i++) {
        struct deck *deck = &table->decks[i];

        if (deck->share > 0 && (deck->drawn == 0 || deck->drawn == deck->count)) {
            return CPT_INVALID;
        }
        deck->from = from;
        deck->is_second_drawn = deck->drawn <= deck->count - deck->drawn;
        deck->drawn = deck->is_second_drawn ? deck->drawn : deck->count - deck->drawn;
        from += deck->count;
    }
    return CPT_OK;
}

/* Puts the requests onto their decks, the smaller group in front. @ends: two places of
 * each deck, where the next request of each of its groups goes. */
static void lay_cards(struct table *table, const struct cpt_deal_request *requests,
                      size_t count, size_t *ends)
{
    for (size_t i = 0; i < table->deck_count; i++) {
        ends[2 * i] = table->decks[i].from;
        ends[2 * i + 1] = table->decks[i].from + table->decks[i].drawn;
    }
    for (size_t i = 0; i < count; i++) {
        const struct cpt_deal_request *request = &requests[i];
        const struct deck *deck = &table->decks[request->stratum];
        const bool is_drawn = (request->is_second != 0) == deck->is_second_drawn;

        table->cards[ends[2 * request->stratum + !is_drawn]++] =
            (struct card){request->value, request->weight};
    }
    for (size_t i = 0; i < table->deck_count; i++) {
        struct deck *deck = &table->decks[i];
        struct card *cards = &table->cards[deck->from];

        for (size_t k = 0; k < deck->count; k++) {
            deck->mean += cards[k].x / (double)deck->count;
        }
        for (size_t k = 0; k < deck->count; k++) {
            cards[k].x -= deck->mean;
            add(&deck->all, &cards[k]);
        }
    }
}

static uint32_t deals_of(size_t count)
{
    const size_t deals = CPT_DEAL_STEPS / (count + 1);

    if (deals < CPT_DEAL_MIN) {
        return CPT_DEAL_MIN;
    }
    return deals < CPT_DEAL_MAX ? (uint32_t)deals : CPT_DEAL_MAX;
}

static void deal_all(struct table *table, size_t count, uint64_t seed,
                     struct cpt_deal_result *result)
{
    uint32_t as_large = 0;
    double variance;
    double observed;

    measure(table, &result->delta, &variance);
    result->error = sqrt(variance);
    observed = size_of(result->delta, variance);
    if (!isfinite(variance)) {
        return;
    }
    result->deal_count = deals_of(count);
    for (uint32_t i = 0; i < result->deal_count; i++) {
        double delta;

        shuffle(table, &seed);
        measure(table, &delta, &variance);
        as_large += size_of(delta, variance) >= observed * NEARLY;
    }
    result->p_value = (1.0 + as_large) / (1.0 + result->deal_count);
}

cpt_status cpt_deal_strata(const struct cpt_alloc *alloc,
                           const struct cpt_deal_request *requests, size_t count,
                           const double *shares, size_t stratum_count, uint64_t seed,
                           struct cpt_deal_result *result)
{
    struct table table = {
        .cards = cpt_alloc_array(alloc, NULL, count + 1, sizeof *table.cards),
        .decks = cpt_alloc_array(alloc, NULL, stratum_count + 1, sizeof *table.decks),
        .deck_count = stratum_count};
    size_t *ends = cpt_alloc_array(alloc, NULL, stratum_count + 1, 2 * sizeof *ends);
    cpt_status status = CPT_NO_MEMORY;

    *result = (struct cpt_deal_result){.p_value = 1};
    if (table.cards != NULL && table.decks != NULL && ends != NULL) {
        memset(table.decks, 0, stratum_count * sizeof *table.decks);
        for (size_t i = 0; i < stratum_count; i++) {
            table.decks[i].share = shares[i];
        }
        status = count_cards(&table, requests, count);
    }
    if (status == CPT_OK) {
        lay_cards(&table, requests, count, ends);
        deal_all(&table, count, seed, result);
    }
    cpt_alloc_free(alloc, table.cards);
    cpt_alloc_free(alloc, table.decks);
    cpt_alloc_free(alloc, ends);
    return status;
}
