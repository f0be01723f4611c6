/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* bands.c - an example request for each band of latency; see bands.h */
#include "tool/html/bands.h"

#include "tool/base/command.h"
#include "aggregate/cpt_stats.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

/* The range of @latency_ns: by its highest bit and the five below that. */
static size_t range_of(uint64_t latency_ns)
{
    size_t bit = 0;

    for (uint64_t left = latency_ns; left > 1; left >>= 1U) {
        bit++;
    }
    return bit * 32 +
           (size_t)((bit >= 5 ? latency_ns >> (bit - 5) : latency_ns << (5 - bit)) &
                    31U);
}

bool cpti_bands_need_path(const void *context, const struct cpt_record *record)
{
    const struct cpti_bands *bands = context;

    return bands->kept[range_of(record->latency_ns)].path == NULL;
}

int cpti_bands_meet(void *context, const struct cpt_record *record,
                    const struct cpt_path *path, uint64_t weight)
{
    struct cpti_bands *bands = context;
    struct cpti_record_copy *kept = &bands->kept[range_of(record->latency_ns)];

    (void)weight;
    bands->record_count++;
    if (path == NULL || kept->path != NULL ||
        bands->segment_count + cpt_path_segment_count(path) > CPTI_BAND_SEGMENTS_MAX) {
        return CPTI_EXIT_DONE;
    }
    bands->segment_count += cpt_path_segment_count(path);
    return cpti_record_copy_set(kept, record, path, bands->record_count);
}

void cpti_bands_deinit(struct cpti_bands *bands)
{
    for (size_t i = 0; i < CPTI_BAND_RANGES; i++) {
        cpti_record_copy_deinit(&bands->kept[i]);
    }
}

static uint64_t distance(uint64_t left, uint64_t right)
{
    return left < right ? right - left : left - right;
}

struct cpti_band cpti_band_of(const struct cpti_bands *bands,
                              const struct cpt_tree *tree, size_t index)
{
    static const double edges[CPTI_BAND_COUNT + 1] = {0, 0.5, 0.9, 0.99, 1};
    struct cpti_band band = {
        .from = edges[index],
        .to = edges[index + 1],
        .low_ns = cpt_stats_quantile_ns(tree, CPT_TREE_ROOT, edges[index]),
        .high_ns = cpt_stats_quantile_ns(tree, CPT_TREE_ROOT, edges[index + 1]),
    };
    const uint64_t middle_ns =
        cpt_stats_quantile_ns(tree, CPT_TREE_ROOT, (band.from + band.to) / 2);

    for (size_t i = 0; i < CPTI_BAND_RANGES; i++) {
        const struct cpti_record_copy *kept = &bands->kept[i];

        if (kept->path != NULL && kept->latency_ns >= band.low_ns - band.low_ns / 32 &&
            kept->latency_ns <= band.high_ns + band.high_ns / 32 &&
            (band.example == NULL ||
             distance(kept->latency_ns, middle_ns) <
                 distance(band.example->latency_ns, middle_ns))) {
            band.example = kept;
        }
    }
    return band;
}
