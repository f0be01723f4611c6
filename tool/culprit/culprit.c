/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit.c - how sure it is which service became slower; see culprit.h
 *
 * One round of judging:
 *
 *      scores --> bootstrap --> share     requests drawn anew from each set
 *             '-> permutation --> p       requests of both sets dealt anew
 *             '-> distance
 *
 * If the first service is the culprit for sure, its frames are explained, and a further
 * round is about the others. Culprits of one size are found together. With many
 * requests there are fewer resamples, so that time does not grow with them.
 */
#include "tool/culprit/culprit_parts.h"
#include "tool/culprit/culprit_structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cells that are added up in one round, in all resamples together. */
static const double work_max = 1.5e8;

/* What is made on the way. */
struct judging {
    struct cpti_culprit *culprit;
    const struct cpti_culprit_model *model;
    uint64_t random;
    struct cpti_culprit_sum *sums[2]; /* by key */
    struct cpti_culprit_sum *all;     /* of both sets */
    struct cpti_culprit_scores now;   /* of the sets themselves */
    struct cpti_culprit_scores then;  /* of a resample */
    uint32_t *firsts;                 /* by suspect: resamples in which it is first */
    uint32_t *larges;                 /* … and its factor is large enough */
    uint32_t *slower;                 /* by frame: in which it is slower */
    struct cpti_culprit_groups groups[2];
    size_t single_count; /* groups of clusters that are in one set, … */
    size_t single_counts[2];
    uint32_t *drawn;  /* how often each group is, or those in some order */
    bool *is_dealt;   /* by group of both sets: to the first one */
    double *permuted; /* scores, permutation by permutation */
    double *means;    /* by suspect: of its permuted scores */
    double *errors;   /* … and their standard deviation */
    double *others;   /* D of frames, for medians */
    struct cpti_suspect *saved;
};

/* --- Sums --- */

static void sums_clear(const struct judging *judging, struct cpti_culprit_sum *sums)
{
    memset(sums, 0, judging->model->key_count * sizeof *sums);
}

/* Adds the requests of a group of @set, @times times. */
static void add_group(const struct judging *judging, struct cpti_culprit_sum *sums,
                      int set, size_t index, double times)
{
    const struct cpti_culprit_groups *groups = &judging->groups[set];

    for (size_t i = groups->groups[index].from; i < groups->groups[index].end; i++) {
        cpti_culprit_sums_add(sums, &judging->model->sets[set], groups->orders[i],
                              times);
    }
}

/* --- Bootstrap --- */

static void draw(struct judging *judging, int set)
{
    const size_t count = judging->groups[set].count;

    memset(judging->drawn, 0, count * sizeof *judging->drawn);
    for (size_t i = 0; i < count; i++) {
        judging->drawn[cpti_culprit_random_below(&judging->random, count)]++;
    }
    sums_clear(judging, judging->sums[set]);
    for (size_t i = 0; i < count; i++) {
        if (judging->drawn[i] > 0) {
            add_group(judging, judging->sums[set], set, i, judging->drawn[i]);
        }
    }
}

/* By how much what voted for @suspect became slower, shrunk. In two minutes other
 * samples are slow by chance or by bursts, so there all samples have to be slower. */
static double least_factor(const struct cpti_culprit *culprit,
                           const struct cpti_culprit_vote *vote)
{
    return exp(culprit->are_concurrent ? vote->effect : vote->every);
}

static void bootstrap(struct judging *judging)
{
    const struct cpti_culprit_model *model = judging->model;

    memset(judging->firsts, 0, (model->suspect_count + 1) * sizeof *judging->firsts);
    memset(judging->larges, 0, (model->suspect_count + 1) * sizeof *judging->larges);
    memset(judging->slower, 0, model->frame_count * sizeof *judging->slower);
    for (unsigned round = 0; round < judging->culprit->rounds; round++) {
        uint32_t first;

        draw(judging, 0);
        draw(judging, 1);
        cpti_culprit_score(model, judging->sums[0], judging->sums[1], &judging->then);
        first = cpti_culprit_first(model, judging->then.scores);
        judging->firsts[first]++;
        judging->larges[first] +=
            first < model->suspect_count &&
            least_factor(judging->culprit, &judging->then.votes[first]) >=
                cpti_culprit_factor_min(judging->culprit);
        for (uint32_t i = 0; i < model->frame_count; i++) {
            judging->slower[i] += judging->then.d[CPTI_CULPRIT_EVERY][i] > 0 ||
                                  judging->then.d[CPTI_CULPRIT_SOME][i] > 0;
        }
    }
}

/* --- Permutation --- */

/* Deals the groups of both sets to two sets of as many groups; adds them in their order
 * in memory, as no cache holds all. A cluster of both sets changes sides or not. */
static void deal(struct judging *judging)
{
    const struct cpti_culprit_groups *groups = judging->groups;
    const size_t base_count = groups[0].count;

    sums_clear(judging, judging->sums[0]);
    memset(judging->is_dealt, 0, base_count + groups[1].count);
    for (size_t i = 0; i < judging->single_counts[0]; i++) {
        const size_t k =
            i + cpti_culprit_random_below(&judging->random, judging->single_count - i);
        const uint32_t group = judging->drawn[k];

        judging->drawn[k] = judging->drawn[i];
        judging->drawn[i] = group;
        judging->is_dealt[group] = true;
    }
    for (size_t i = 0; i < base_count + groups[1].count; i++) {
        const bool is_new = i >= base_count;

        if (judging->is_dealt[i]) {
            add_group(judging, judging->sums[0], is_new, is_new ? i - base_count : i,
                      1);
        }
    }
    for (size_t i = 0; i < base_count && judging->culprit->has_clusters; i++) {
        if (groups[0].groups[i].partner != SIZE_MAX) {
            const int set = (int)cpti_culprit_random_below(&judging->random, 2);

            add_group(judging, judging->sums[0], set,
                      set == 0 ? i : groups[0].groups[i].partner, 1);
        }
    }
    for (uint32_t i = 0; i < judging->model->key_count; i++) {
        judging->sums[1][i].count = judging->all[i].count - judging->sums[0][i].count;
        judging->sums[1][i].y = judging->all[i].y - judging->sums[0][i].y;
        judging->sums[1][i].ns = judging->all[i].ns - judging->sums[0][i].ns;
    }
}

/* Notes in `drawn` the groups that have no partner, those of the base in front. */
static void find_singles(struct judging *judging)
{
    size_t first = 0;

    judging->single_count = 0;
    for (int set = 0; set < 2; set++) {
        const struct cpti_culprit_groups *groups = &judging->groups[set];

        for (size_t i = 0; i < groups->count; i++) {
            if (groups->groups[i].partner == SIZE_MAX) {
                judging->drawn[judging->single_count++] = (uint32_t)(first + i);
            }
        }
        judging->single_counts[set] =
            judging->single_count - (set == 1 ? judging->single_counts[0] : 0);
        first += groups->count;
    }
}

static void permute(struct judging *judging)
{
    const struct cpti_culprit_model *model = judging->model;
    const unsigned rounds = judging->culprit->rounds;
    const size_t width = model->suspect_count;

    find_singles(judging);
    for (unsigned round = 0; round < rounds; round++) {
        deal(judging);
        cpti_culprit_score(model, judging->sums[0], judging->sums[1], &judging->then);
        memcpy(&judging->permuted[round * width], judging->then.scores,
               width * sizeof *judging->permuted);
    }
    for (size_t i = 0; i < width; i++) {
        double sum = 0;
        double squares = 0;

        for (unsigned round = 0; round < rounds; round++) {
            sum += judging->permuted[round * width + i];
        }
        judging->means[i] = sum / rounds;
        for (unsigned round = 0; round < rounds; round++) {
            const double off = judging->permuted[round * width + i] - judging->means[i];

            squares += off * off;
        }
        judging->errors[i] = sqrt(squares / rounds) + 1e-9;
    }
}

static double standing(const struct judging *judging, const double *scores, size_t i)
{
    return (scores[i] - judging->means[i]) / judging->errors[i];
}

/* How often chance makes any service stand out as far as @suspect; at least once. Sums
 * of the same samples in another order are as far. */
static double p_of(const struct judging *judging, size_t suspect)
{
    const double found = standing(judging, judging->now.scores, suspect);
    const double out = found - 1e-6 * (1 + fabs(found));
    const unsigned rounds = judging->culprit->rounds;
    const size_t width = judging->model->suspect_count;
    unsigned count = 1;

    for (unsigned round = 0; round < rounds; round++) {
        const double *scores = &judging->permuted[round * width];
        bool is_reached = false;

        for (size_t i = 0; i < width && !is_reached; i++) {
            is_reached = standing(judging, scores, i) >= out;
        }
        count += is_reached;
    }
    return count / (rounds + 1.0);
}

/* --- Distance --- */

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static bool touches(const struct cpti_culprit_frame *frame, uint32_t suspect)
{
    return frame->from == suspect || frame->to == suspect;
}

/* How far @effect is from D of the frames of others, in @manner. */
static double distance_of(const struct judging *judging, uint32_t suspect, int manner,
                          double effect)
{
    static const double deviations = 1.4826; /* of a normal distribution, to its MAD */
    const struct cpti_culprit_model *model = judging->model;
    double *others = judging->others;
    double middle;
    double spread;
    size_t own_count = 0;
    size_t count = 0;

    for (uint32_t i = 0; i < model->frame_count; i++) {
        const double d = judging->now.d[manner][i];

        if (isnan(d) || !cpti_culprit_counts(&model->frames[i])) {
            continue;
        }
        if (touches(&model->frames[i], suspect)) {
            own_count++;
        } else {
            others[count++] = d;
        }
    }
    if (count < CPTI_CULPRIT_OTHERS_MIN || own_count == 0) {
        return (double)NAN;
    }
    middle = median_of(others, count);
    for (size_t i = 0; i < count; i++) {
        others[i] = fabs(others[i] - middle);
    }
    spread = deviations * median_of(others, count) + 1e-9;
    return (effect - middle) / spread;
}

/* --- A round --- */

/* Whether visits of @suspect that cannot be compared seem to be slower. */
static bool is_slower_where_seen(const struct judging *judging, uint32_t suspect)
{
    const double least = log(cpti_culprit_factor_min(judging->culprit));
    bool is_slower = false;

    for (uint32_t i = 0; i < judging->model->frame_count; i++) {
        const struct cpti_culprit_frame *frame = &judging->model->frames[i];

        is_slower |= frame->is_missing && touches(frame, suspect) &&
                     judging->now.d[CPTI_CULPRIT_SOME][i] >= least;
    }
    return is_slower;
}

static void fill_in(const struct judging *judging, uint32_t index)
{
    static const double most = 0.95;
    const struct cpti_culprit_model *model = judging->model;
    struct cpti_suspect *suspect = &judging->culprit->suspects[index];
    const struct cpti_culprit_vote *vote = &judging->now.votes[index];
    const uint32_t size = judging->now.sizes[index];
    const unsigned rounds = judging->culprit->rounds;

    suspect->score = judging->now.scores[index];
    suspect->frame_count = size;
    suspect->factor = cpti_culprit_factor(model, judging->sums[0], judging->sums[1],
                                          index, &judging->now);
    suspect->least_factor = least_factor(judging->culprit, vote);
    suspect->share = judging->firsts[index] / (double)rounds;
    suspect->large_share = judging->larges[index] / (double)rounds;
    suspect->p = suspect->score > 0 ? p_of(judging, index) : 1;
    suspect->distance = distance_of(judging, index, vote->manner, vote->effect);
    suspect->every_distance =
        distance_of(judging, index, CPTI_CULPRIT_EVERY, vote->every);
    suspect->slower_count = 0;
    for (uint32_t i = 0; i < model->frame_count; i++) {
        suspect->slower_count += touches(&model->frames[i], index) &&
                                 cpti_culprit_counts(&model->frames[i]) &&
                                 judging->slower[i] >= most * rounds;
    }
    suspect->is_slower_where_seen = is_slower_where_seen(judging, index);
}

/* Whether @suspect is so much slower that it counts at any rank. */
static bool is_much_slower(const struct cpti_culprit *culprit,
                           const struct cpti_suspect *suspect)
{
    const double distance_min =
        culprit->are_concurrent ? CPTI_CONCURRENT_DISTANCE : CPTI_CULPRIT_DISTANCE;
    const double least =
        culprit->are_concurrent ? suspect->distance : suspect->every_distance;

    return suspect->p <= CPTI_SUSPECT_P &&
           suspect->least_factor >= cpti_culprit_factor_min(culprit) &&
           !(suspect->distance < distance_min) && !(least < distance_min);
}

static enum cpti_verdict verdict_of(const struct cpti_culprit *culprit,
                                    const struct cpti_suspect *suspect)
{
    const bool has_calls = suspect->calls[0] >= CPTI_CULPRIT_CALLS_MIN &&
                           suspect->calls[1] >= CPTI_CULPRIT_CALLS_MIN;

    if (suspect->p > CPTI_SUSPECT_P || suspect->distance < CPTI_SUSPECT_DISTANCE) {
        return CPTI_VERDICT_NONE;
    }
    return has_calls && suspect->p <= CPTI_CULPRIT_P &&
                   suspect->large_share >= CPTI_CULPRIT_SHARE &&
                   suspect->slower_count > 0 && is_much_slower(culprit, suspect)
               ? CPTI_VERDICT_SURE
               : CPTI_VERDICT_UNSURE;
}

/* The sums of the sets as they are. */
static void sum_up(struct judging *judging)
{
    const struct cpti_culprit_model *model = judging->model;

    for (int set = 0; set < 2; set++) {
        sums_clear(judging, judging->sums[set]);
        for (size_t i = 0; i < model->sets[set].request_count; i++) {
            cpti_culprit_sums_add(judging->sums[set], &model->sets[set], i, 1);
        }
    }
}

/* Computes all suspects that are no culprits yet. The number of the first one, or that
 * of suspects if there is none; and what is to be said of it. */
static uint32_t evaluate(struct judging *judging, enum cpti_verdict *verdict)
{
    const struct cpti_culprit_model *model = judging->model;
    struct cpti_culprit *culprit = judging->culprit;
    uint32_t first;

    sum_up(judging);
    for (uint32_t i = 0; i < model->key_count; i++) {
        judging->all[i].count = judging->sums[0][i].count + judging->sums[1][i].count;
        judging->all[i].y = judging->sums[0][i].y + judging->sums[1][i].y;
        judging->all[i].ns = judging->sums[0][i].ns + judging->sums[1][i].ns;
    }
    cpti_culprit_score(model, judging->sums[0], judging->sums[1], &judging->now);
    bootstrap(judging);
    permute(judging);
    sum_up(judging);
    for (uint32_t i = 0; i < model->suspect_count; i++) {
        if (!culprit->suspects[i].is_culprit) {
            fill_in(judging, i);
        }
    }
    first = cpti_culprit_first(model, judging->now.scores);
    *verdict = CPTI_VERDICT_NONE;
    for (uint32_t i = 0; i < model->suspect_count; i++) {
        struct cpti_suspect *suspect = &culprit->suspects[i];
        const enum cpti_verdict its =
            suspect->is_culprit ? CPTI_VERDICT_NONE : verdict_of(culprit, suspect);

        suspect->stands_out = its != CPTI_VERDICT_NONE;
        suspect->is_slower =
            its != CPTI_VERDICT_NONE && is_much_slower(culprit, suspect);
        if (suspect->stands_out && *verdict == CPTI_VERDICT_NONE) {
            *verdict = CPTI_VERDICT_UNSURE; /* all ranks are tested */
        }
        if (i == first && its == CPTI_VERDICT_SURE) {
            *verdict = its;
        }
    }
    return first;
}

/* Explains the frames of the culprits, and of @count suspects at @others but for the
 * one at @left_out. */
static void explain(struct judging *judging, const uint32_t *others, size_t count,
                    size_t left_out)
{
    struct cpti_culprit_model *model = &judging->culprit->model;
    const struct cpti_suspect *suspects = judging->culprit->suspects;

    for (uint32_t i = 0; i < model->frame_count; i++) {
        struct cpti_culprit_frame *frame = &model->frames[i];

        frame->is_explained =
            suspects[frame->from].is_culprit || suspects[frame->to].is_culprit;
        for (size_t k = 0; k < count; k++) {
            frame->is_explained |= k != left_out && touches(frame, others[k]);
        }
    }
}

static void accuse_if(struct judging *judging, uint32_t suspect, bool is_culprit)
{
    struct cpti_culprit *culprit = judging->culprit;

    if (is_culprit) {
        culprit->suspects[suspect].is_culprit = true;
        culprit->suspects[suspect].round = culprit->culprit_count++;
    }
}

/* --- Several at once --- */

/* Those that are first in most resamples, the most frequent one in front. How many; 0
 * if even CPTI_CULPRIT_MAX of them are first too rarely. */
static size_t find_rivals(const struct judging *judging,
                          uint32_t rivals[CPTI_CULPRIT_MAX])
{
    const struct cpti_suspect *suspects = judging->culprit->suspects;
    double share = 0;

    for (size_t count = 0; count < CPTI_CULPRIT_MAX; count++) {
        double most = 0;

        for (uint32_t i = 0; i < judging->model->suspect_count; i++) {
            bool is_taken = suspects[i].is_culprit;

            for (size_t k = 0; k < count; k++) {
                is_taken |= rivals[k] == i;
            }
            if (!is_taken && suspects[i].share > most) {
                most = suspects[i].share;
                rivals[count] = i;
            }
        }
        share += most;
        if (most == 0 || share >= CPTI_CULPRIT_SHARE) {
            return most == 0 ? 0 : count + 1;
        }
    }
    return 0;
}

/*
 * Two culprits of the same size are first in half of the resamples each. So are a
 * culprit and its caller. What tells them apart: of two culprits, each is one for sure
 * when the other is explained. Accuses all or none, @first in front; whether it did.
 */
static bool accuse_together(struct judging *judging, uint32_t first)
{
    const size_t bytes = judging->model->suspect_count * sizeof(struct cpti_suspect);
    struct cpti_suspect *suspects = judging->culprit->suspects;
    struct cpti_suspect alone[CPTI_CULPRIT_MAX];
    uint32_t rivals[CPTI_CULPRIT_MAX] = {0};
    const size_t count = find_rivals(judging, rivals);
    bool are_culprits = false;

    for (size_t i = 0; i < count; i++) {
        are_culprits |= count >= 2 && rivals[i] == first;
    }
    memcpy(judging->saved, suspects, bytes);
    for (size_t i = 0; i < count && are_culprits; i++) {
        enum cpti_verdict verdict;

        explain(judging, rivals, count, i);
        are_culprits =
            evaluate(judging, &verdict) == rivals[i] && verdict == CPTI_VERDICT_SURE;
        alone[i] = suspects[rivals[i]];
    }
    memcpy(suspects, judging->saved, bytes);
    for (size_t i = 0; i < count && are_culprits; i++) {
        suspects[rivals[i]] = alone[i];
    }
    accuse_if(judging, first, are_culprits);
    for (size_t i = 0; i < count; i++) {
        accuse_if(judging, rivals[i], are_culprits && rivals[i] != first);
    }
    explain(judging, NULL, 0, 0);
    return are_culprits;
}

/* --- All rounds --- */

static cpt_status allocate(struct judging *judging)
{
    const struct cpti_culprit_model *model = judging->model;
    const struct cpt_alloc *alloc = judging->culprit->alloc;
    const size_t keys = model->key_count + 1;
    const size_t frames = model->frame_count + 1;
    const size_t suspects = model->suspect_count + 1;
    const size_t requests =
        model->sets[0].request_count + model->sets[1].request_count + 1;
    struct cpti_culprit_scores *scores[2] = {&judging->now, &judging->then};
    bool is_whole = true;

    for (int i = 0; i < 2; i++) {
        judging->sums[i] = cpt_alloc_zeroed(alloc, keys * sizeof *judging->all);
        is_whole = judging->sums[i] != NULL &&
                   cpti_culprit_scores_make(model, alloc, scores[i]) == CPT_OK &&
                   is_whole;
    }
    judging->all = cpt_alloc_zeroed(alloc, keys * sizeof *judging->all);
    judging->firsts = cpt_alloc_zeroed(alloc, suspects * sizeof *judging->firsts);
    judging->larges = cpt_alloc_zeroed(alloc, suspects * sizeof *judging->larges);
    judging->slower = cpt_alloc_zeroed(alloc, frames * sizeof *judging->slower);
    judging->drawn = cpt_alloc_zeroed(alloc, requests * sizeof *judging->drawn);
    judging->is_dealt = cpt_alloc_zeroed(alloc, requests * sizeof *judging->is_dealt);
    judging->permuted = cpt_alloc_zeroed(alloc, judging->culprit->rounds * suspects *
                                                    sizeof *judging->permuted);
    judging->means = cpt_alloc_zeroed(alloc, suspects * sizeof *judging->means);
    judging->errors = cpt_alloc_zeroed(alloc, suspects * sizeof *judging->errors);
    judging->others = cpt_alloc_zeroed(alloc, frames * sizeof *judging->others);
    judging->saved = cpt_alloc_zeroed(alloc, suspects * sizeof *judging->saved);
    return is_whole && judging->saved != NULL && judging->all != NULL &&
                   judging->firsts != NULL && judging->larges != NULL &&
                   judging->slower != NULL && judging->drawn != NULL &&
                   judging->is_dealt != NULL && judging->permuted != NULL &&
                   judging->means != NULL && judging->errors != NULL &&
                   judging->others != NULL
               ? CPT_OK
               : CPT_NO_MEMORY;
}

static void deallocate(struct judging *judging)
{
    const struct cpt_alloc *alloc = judging->culprit->alloc;
    struct cpti_culprit_scores *scores[2] = {&judging->now, &judging->then};

    for (int i = 0; i < 2; i++) {
        cpt_alloc_free(alloc, judging->sums[i]);
        cpti_culprit_scores_deinit(scores[i], alloc);
    }
    cpt_alloc_free(alloc, judging->all);
    cpt_alloc_free(alloc, judging->firsts);
    cpt_alloc_free(alloc, judging->larges);
    cpt_alloc_free(alloc, judging->slower);
    cpt_alloc_free(alloc, judging->drawn);
    cpt_alloc_free(alloc, judging->is_dealt);
    cpt_alloc_free(alloc, judging->permuted);
    cpt_alloc_free(alloc, judging->means);
    cpt_alloc_free(alloc, judging->errors);
    cpt_alloc_free(alloc, judging->others);
    cpt_alloc_free(alloc, judging->saved);
}

/* Resamples that are affordable. */
static unsigned rounds_of(const struct cpti_culprit_model *model)
{
    double cells = 1;

    for (int i = 0; i < 2; i++) {
        const struct cpti_culprit_cells *set = &model->sets[i];

        cells += set->request_count > 0
                     ? (double)set->ends[set->request_count - 1] + model->key_count
                     : 0;
    }
    return (unsigned)fmin(CPTI_CULPRIT_ROUNDS,
                          fmax(CPTI_CULPRIT_ROUNDS_MIN, work_max / cells));
}

/* Whether @suspect is listed before those that a few calls may have made slower by
 * chance: that seldom makes anything twice as slow, as scores are shrunk. */
static bool is_in_front(const struct cpti_suspect *suspect)
{
    return suspect->stands_out || suspect->score >= CPTI_LARGE_SCORE;
}

/* Culprits first, by rounds, then those of "either", and those that are in front of
 * others; then by score, then by name. */
static int compare_suspects(const void *left, const void *right)
{
    const struct cpti_suspect *a = left;
    const struct cpti_suspect *b = right;

    if (a->is_culprit != b->is_culprit) {
        return a->is_culprit ? -1 : 1;
    }
    if ((a->either != 0) != (b->either != 0)) {
        return a->either != 0 ? -1 : 1;
    }
    if (a->either != b->either) {
        return a->either < b->either ? -1 : 1;
    }
    if (a->round != b->round) {
        return a->round < b->round ? -1 : 1;
    }
    if (is_in_front(a) != is_in_front(b)) {
        return is_in_front(a) ? -1 : 1;
    }
    if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    return cpti_culprit_compare_names(a->name, b->name);
}

/* Whether a further culprit is of the size of the first one, whose score is @score: two
 * minutes differ in more than the trouble, but seldom by as much. */
static bool is_comparable(const struct cpti_culprit *culprit,
                          const struct cpti_suspect *suspect, double score)
{
    static const double part = 0.25;

    return culprit->are_concurrent || suspect->score >= part * score;
}

static void judge_all(struct judging *judging)
{
    struct cpti_culprit *culprit = judging->culprit;
    double score = 0; /* of the first culprit */

    for (bool goes_on = true; goes_on && culprit->culprit_count < CPTI_CULPRIT_MAX;) {
        const bool is_first_round = culprit->culprit_count == 0;
        enum cpti_verdict verdict;
        const uint32_t first = evaluate(judging, &verdict);

        goes_on = verdict == CPTI_VERDICT_SURE &&
                  is_comparable(culprit, &culprit->suspects[first], score);
        score = is_first_round && goes_on ? culprit->suspects[first].score : score;
        accuse_if(judging, first, goes_on);
        explain(judging, NULL, 0, 0);
        if (verdict == CPTI_VERDICT_UNSURE) {
            goes_on = accuse_together(judging, first);
            verdict = goes_on ? CPTI_VERDICT_SURE : verdict;
        }
        if (is_first_round) {
            culprit->verdict = verdict;
        }
    }
}

/* --- Visits that are not compared --- */

/* Compares the visits of which too few are on the path, too, or leaves them out. How
 * many frames they are. */
static uint32_t compare_missing(struct judging *judging, bool are_compared)
{
    struct cpti_culprit_model *model = &judging->culprit->model;
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->frame_count; i++) {
        struct cpti_culprit_frame *frame = &model->frames[i];

        frame->is_left_out = frame->is_missing && !are_compared;
        count += frame->is_missing;
    }
    return count;
}

static bool is_missing(const struct cpti_culprit_model *model, uint32_t suspect)
{
    bool is_any = false;

    for (uint32_t i = 0; i < model->frame_count; i++) {
        is_any |= model->frames[i].is_missing && touches(&model->frames[i], suspect);
    }
    return is_any;
}

/* If there is no culprit, but some service would be one for sure by visits that cannot
 * be compared: that is said. */
static cpt_status doubt_presence(struct judging *judging)
{
    struct cpti_culprit *culprit = judging->culprit;
    const size_t bytes = judging->model->suspect_count * sizeof(struct cpti_suspect);
    const bool is_open = culprit->verdict == CPTI_VERDICT_NONE ||
                         culprit->verdict == CPTI_VERDICT_UNSURE;
    enum cpti_verdict verdict = CPTI_VERDICT_NONE;
    uint32_t first = 0;

    if (is_open && compare_missing(judging, true) > 0) {
        memcpy(judging->saved, culprit->suspects, bytes);
        first = evaluate(judging, &verdict);
        memcpy(culprit->suspects, judging->saved, bytes);
    }
    (void)compare_missing(judging, false);
    return verdict == CPTI_VERDICT_SURE && is_missing(judging->model, first)
               ? cpti_culprit_doubt_presence(culprit, first)
               : CPT_OK;
}

cpt_status cpti_culprit_judge(struct cpti_culprit *culprit, uint64_t seed)
{
    struct judging judging = {.culprit = culprit, .model = &culprit->model};
    struct cpti_culprit_model *model = &culprit->model;
    cpt_status status = cpti_culprit_model_make(culprit);

    judging.random = seed;
    if (status == CPT_OK) {
        status = cpti_culprit_compare_times(culprit, &culprit->are_concurrent);
    }
    if (status == CPT_OK) {
        culprit->rounds = rounds_of(model);
        status = cpti_culprit_groups_make(culprit, judging.groups);
    }
    if (status == CPT_OK && culprit->structure != NULL) {
        status = cpti_structure_judge(culprit->structure, judging.groups,
                                      culprit->has_clusters, seed);
    }
    if (status == CPT_OK) {
        status = allocate(&judging);
    }
    if (status == CPT_OK && model->suspect_count > 0) {
        judge_all(&judging);
        status = cpti_culprit_hold_mix(culprit);
        explain(&judging, NULL, 0, 0);
        status = status == CPT_OK ? cpti_culprit_doubt(culprit) : status;
        status = status == CPT_OK ? doubt_presence(&judging) : status;
    }
    if (status == CPT_OK && culprit->suspect_count > 0) {
        qsort(culprit->suspects, culprit->suspect_count, sizeof *culprit->suspects,
              compare_suspects);
    }
    deallocate(&judging);
    cpti_culprit_groups_deinit(judging.groups, culprit->alloc);
    return status;
}
