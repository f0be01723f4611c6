/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_score.c - the scores of one pair of sets; see culprit.h
 *
 *      keys --> D of frames --> hypotheses of a suspect --> the best one is its score
 *
 * A suspect has one score for each hypothesis: which part of it became slower, and in
 * which manner. Each restriction (not all frames, not every sample) costs a tenth, as
 * there are the more hypotheses the more special they are.
 */
#include "tool/culprit/culprit_parts.h"

#include <math.h>
#include <string.h>

/* What a restriction of a hypothesis leaves of its score. */
static const double restricted = 0.9;

/* What a gap is worth for its caller: of equal scores, the callee's is the larger. */
static const double slightly_less = 1 - 1e-6;

/* As many calls are worth as much as what is believed before: no change. */
static const double calls_before = 2.5;

/* D of some keys, weighted so that its variance is least if that of a sample is the
 * same everywhere. */
struct difference {
    double weight;
    double sums[CPTI_CULPRIT_MANNERS];
};

double cpti_culprit_difference(const struct cpti_culprit_sum *base,
                               const struct cpti_culprit_sum *other, int manner,
                               double c)
{
    return manner == CPTI_CULPRIT_EVERY
               ? other->y / other->count - base->y / base->count
               : log((other->ns / other->count + c) / (base->ns / base->count + c));
}

/* The inverse of the variance of what is compared of a key, if that of a sample is 1;
 * 0 if something is not there. */
static double weight_of(const struct cpti_culprit_sum *base,
                        const struct cpti_culprit_sum *other,
                        const struct cpti_culprit_usual *usual)
{
    static const double of_median = 1.5708; /* its variance, in those of a mean */
    const double weight = cpti_culprit_weight(base->count, other->count);

    return usual != NULL ? cpti_culprit_weight(weight, usual->weight / of_median)
                         : weight;
}

static const struct cpti_culprit_usual *
usual_of(const struct cpti_culprit_scores *scores, uint32_t key)
{
    return scores->usual != NULL ? &scores->usual[key] : NULL;
}

/* How much more than usual something changed. What did not become slower itself did so
 * only as others became faster. */
static double above_usual(double d, const struct cpti_culprit_usual *usual, int manner)
{
    return usual != NULL ? fmin(d, d - usual->d[manner]) : d;
}

static void add_key(struct difference *all, const struct cpti_culprit_sum *base,
                    const struct cpti_culprit_sum *other,
                    const struct cpti_culprit_usual *usual, double c)
{
    const double weight = weight_of(base, other, usual);

    if (weight <= 0) {
        return;
    }
    all->weight += weight;
    for (int manner = 0; manner < CPTI_CULPRIT_MANNERS; manner++) {
        const double d = cpti_culprit_difference(base, other, manner, c);

        all->sums[manner] += weight * above_usual(d, usual, manner);
    }
}

/* The mean of @difference, shrunk by how few calls it is of; NaN without any. */
static double shrunk(const struct difference *difference, int manner)
{
    return difference->weight > 0
               ? difference->sums[manner] / (difference->weight + calls_before)
               : (double)NAN;
}

static double above_zero(double d)
{
    return d > 0 ? d : 0;
}

/* Takes the hypothesis that @vote is of, if its score is the best so far. */
static void propose(struct cpti_culprit_scores *scores, uint32_t suspect, double score,
                    struct cpti_culprit_vote vote)
{
    score *= vote.manner == CPTI_CULPRIT_SOME ? restricted : 1;
    score *= vote.part >= CPTI_CULPRIT_OWN ? restricted : 1;
    score *= vote.part >= CPTI_CULPRIT_OPERATION ? restricted : 1;
    if (score > scores->scores[suspect]) {
        scores->scores[suspect] = score;
        scores->votes[suspect] = vote;
    }
}

/* The own time of a suspect in @part of its operations, those of @difference. */
static void propose_own(struct cpti_culprit_scores *scores, uint32_t suspect,
                        const struct difference *difference,
                        struct cpti_culprit_vote vote)
{
    for (int manner = 0; manner < CPTI_CULPRIT_MANNERS; manner++) {
        vote.manner = (unsigned char)manner;
        vote.effect = shrunk(difference, manner);
        vote.every = shrunk(difference, CPTI_CULPRIT_EVERY);
        if (vote.effect > 0) {
            propose(scores, suspect, vote.effect, vote);
        }
    }
}

/* Computes D of frame @index, and what its keys propose by themselves. */
static void score_frame(const struct cpti_culprit_model *model,
                        const struct cpti_culprit_sum *base,
                        const struct cpti_culprit_sum *other, uint32_t index,
                        struct cpti_culprit_scores *scores)
{
    const struct cpti_culprit_frame *frame = &model->frames[index];
    const uint32_t first = index > 0 ? model->frames[index - 1].key_end : 0;
    const bool votes = cpti_culprit_counts(frame);
    struct difference all = {0};

    for (uint32_t key = first; key < frame->key_end; key++) {
        const struct cpti_culprit_usual *usual = usual_of(scores, key);
        struct difference one = {0};

        add_key(&all, &base[key], &other[key], usual, model->c);
        if (votes && frame->is_own && frame->key_end - first > 1) {
            add_key(&one, &base[key], &other[key], usual, model->c);
            propose_own(scores, frame->to, &one,
                        (struct cpti_culprit_vote){.part = CPTI_CULPRIT_OPERATION,
                                                   .from_key = key,
                                                   .end_key = key + 1});
        }
    }
    for (int manner = 0; manner < CPTI_CULPRIT_MANNERS; manner++) {
        scores->d[manner][index] = shrunk(&all, manner);
    }
    if (votes && all.weight > 0 && frame->is_own) {
        propose_own(scores, frame->to, &all,
                    (struct cpti_culprit_vote){.part = CPTI_CULPRIT_OWN,
                                               .from_key = first,
                                               .end_key = frame->key_end});
    }
    if (votes && all.weight > 0) {
        scores->sizes[frame->to]++;
        scores->sizes[frame->from] += frame->from != frame->to;
    }
}

/* Adds up the frames of the suspects. */
static void add_frames(const struct cpti_culprit_model *model, int manner,
                       struct cpti_culprit_scores *scores)
{
    const double of_caller = model->has_gaps ? slightly_less : 1;
    double *totals = scores->totals[manner];

    memset(totals, 0, model->suspect_count * sizeof *totals);
    for (uint32_t i = 0; i < model->frame_count; i++) {
        const struct cpti_culprit_frame *frame = &model->frames[i];
        const double l = above_zero(scores->d[manner][i]);

        if (cpti_culprit_counts(frame)) {
            totals[frame->to] += l;
            totals[frame->from] += frame->from != frame->to ? of_caller * l : 0;
        }
    }
}

/* What all frames of the suspects propose together. */
static void propose_all(const struct cpti_culprit_model *model, int manner,
                        struct cpti_culprit_scores *scores)
{
    for (uint32_t i = 0; i < model->suspect_count; i++) {
        const double size = scores->sizes[i];

        if (size > 0) {
            propose(scores, i, scores->totals[manner][i] / sqrt(size),
                    (struct cpti_culprit_vote){
                        .part = CPTI_CULPRIT_ALL,
                        .manner = (unsigned char)manner,
                        .effect = scores->totals[manner][i] / size,
                        .every = scores->totals[CPTI_CULPRIT_EVERY][i] / size});
        }
    }
}

cpt_status cpti_culprit_scores_make(const struct cpti_culprit_model *model,
                                    const struct cpt_alloc *alloc,
                                    struct cpti_culprit_scores *scores)
{
    const size_t frames = model->frame_count + 1;
    const size_t suspects = model->suspect_count + 1;
    const size_t keys = model->key_count + 1;
    bool is_whole = true;

    for (int i = 0; i < CPTI_CULPRIT_MANNERS; i++) {
        scores->d[i] = cpt_alloc_zeroed(alloc, frames * sizeof *scores->d[i]);
        scores->totals[i] =
            cpt_alloc_zeroed(alloc, suspects * sizeof *scores->totals[i]);
        is_whole = is_whole && scores->d[i] != NULL && scores->totals[i] != NULL;
    }
    if (model->peers != NULL) {
        scores->usual = cpt_alloc_zeroed(alloc, keys * sizeof *scores->usual);
        scores->changes = cpt_alloc_zeroed(alloc, keys * sizeof *scores->changes);
        is_whole = is_whole && scores->usual != NULL && scores->changes != NULL;
    }
    scores->scores = cpt_alloc_zeroed(alloc, suspects * sizeof *scores->scores);
    scores->sizes = cpt_alloc_zeroed(alloc, suspects * sizeof *scores->sizes);
    scores->votes = cpt_alloc_zeroed(alloc, suspects * sizeof *scores->votes);
    return is_whole && scores->scores != NULL && scores->sizes != NULL &&
                   scores->votes != NULL
               ? CPT_OK
               : CPT_NO_MEMORY;
}

void cpti_culprit_scores_deinit(struct cpti_culprit_scores *scores,
                                const struct cpt_alloc *alloc)
{
    for (int i = 0; i < CPTI_CULPRIT_MANNERS; i++) {
        cpt_alloc_free(alloc, scores->d[i]);
        cpt_alloc_free(alloc, scores->totals[i]);
    }
    cpt_alloc_free(alloc, scores->usual);
    cpt_alloc_free(alloc, scores->changes);
    cpt_alloc_free(alloc, scores->scores);
    cpt_alloc_free(alloc, scores->sizes);
    cpt_alloc_free(alloc, scores->votes);
}

void cpti_culprit_score(const struct cpti_culprit_model *model,
                        const struct cpti_culprit_sum *base,
                        const struct cpti_culprit_sum *other,
                        struct cpti_culprit_scores *scores)
{
    memset(scores->scores, 0, model->suspect_count * sizeof *scores->scores);
    memset(scores->sizes, 0, model->suspect_count * sizeof *scores->sizes);
    memset(scores->votes, 0, model->suspect_count * sizeof *scores->votes);
    if (scores->usual != NULL) {
        cpti_culprit_find_usual(model, base, other, scores);
    }
    for (uint32_t i = 0; i < model->frame_count; i++) {
        score_frame(model, base, other, i, scores);
    }
    for (int manner = 0; manner < CPTI_CULPRIT_MANNERS; manner++) {
        add_frames(model, manner, scores);
        propose_all(model, manner, scores);
    }
    for (uint32_t i = 0; i < model->suspect_count; i++) {
        scores->scores[i] *= model->thin[i] ? 0 : 1;
    }
}

void cpti_culprit_sums_add(struct cpti_culprit_sum *sums,
                           const struct cpti_culprit_cells *cells, size_t request,
                           double times)
{
    const size_t begin = request > 0 ? cells->ends[request - 1] : 0;

    for (size_t i = begin; i < cells->ends[request]; i++) {
        const struct cpti_culprit_cell *cell = &cells->cells[i];

        sums[cell->key].count += times * cell->count;
        sums[cell->key].y += times * cell->y;
        sums[cell->key].ns += times * cell->ns;
    }
}

uint32_t cpti_culprit_first(const struct cpti_culprit_model *model,
                            const double *scores)
{
    uint32_t first = model->suspect_count;

    for (uint32_t i = 0; i < model->suspect_count; i++) {
        if (scores[i] > (first < model->suspect_count ? scores[first] : 0)) {
            first = i;
        }
    }
    return first;
}

/* Adds the times of a key, as if both sets had its weight of samples, and by attribute
 * as if other values had not changed. */
static void add_times(double times[2], const struct cpti_culprit_sum *base,
                      const struct cpti_culprit_sum *other,
                      const struct cpti_culprit_usual *usual)
{
    const double weight = weight_of(base, other, usual);

    if (weight > 0) {
        times[0] += weight * base->ns / base->count;
        times[1] += weight * other->ns / other->count /
                    (usual != NULL ? exp(usual->d[CPTI_CULPRIT_SOME]) : 1);
    }
}

double cpti_culprit_factor(const struct cpti_culprit_model *model,
                           const struct cpti_culprit_sum *base,
                           const struct cpti_culprit_sum *other, uint32_t suspect,
                           const struct cpti_culprit_scores *scores)
{
    const struct cpti_culprit_vote *vote = &scores->votes[suspect];
    double times[2] = {0, 0};
    uint32_t key = 0;

    for (uint32_t i = 0; i < model->frame_count; i++) {
        const struct cpti_culprit_frame *frame = &model->frames[i];
        const bool is_its = (frame->from == suspect || frame->to == suspect) &&
                            cpti_culprit_counts(frame);

        for (; key < frame->key_end; key++) {
            if (vote->part == CPTI_CULPRIT_ALL
                    ? is_its
                    : key >= vote->from_key && key < vote->end_key) {
                add_times(times, &base[key], &other[key], usual_of(scores, key));
            }
        }
    }
    return times[0] > 0 ? times[1] / times[0] : 1;
}
