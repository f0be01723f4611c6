/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sample.c - a random sample of a stream of records; see sample.h */
#include "tool/requests/sample.h"

#include "cpt/cpt_alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void cpti_sample_init(struct cpti_sample *sample, size_t count_max, uint64_t seed)
{
    assert(count_max != 0);
    *sample = (struct cpti_sample){.count_max = count_max, .random = seed};
}

void cpti_sample_deinit(struct cpti_sample *sample)
{
    for (size_t i = 0; i < sample->count; i++) {
        free(sample->kept[i].data);
    }
    cpt_alloc_free(NULL, sample->kept);
    *sample = (struct cpti_sample){0};
}

static uint64_t next_random(struct cpti_sample *sample)
{
    uint64_t z = sample->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t cpti_sample_random(struct cpti_sample *sample, uint64_t bound)
{
    /* numbers above the last whole multiple of @bound would favour small results */
    const uint64_t beyond = UINT64_MAX - UINT64_MAX % bound;
    uint64_t number;

    do {
        number = next_random(sample);
    } while (number >= beyond);
    return number % bound;
}

size_t cpti_sample_draw(struct cpti_sample *sample)
{
    uint64_t place;

    sample->met_count++;
    if (sample->met_count <= sample->count_max) {
        return sample->count;
    }
    place = cpti_sample_random(sample, sample->met_count);
    return place < sample->count ? (size_t)place : SIZE_MAX;
}

/* Makes room for one more. False without memory. */
cpt_status cpti_sample_put(struct cpti_sample *sample, size_t place,
                           struct cpt_bytes data, const struct cpti_sampled *record)
{
    unsigned char *copy = malloc(data.bytes + 1); /* not NULL for no bytes */

    assert(place <= sample->count && place < sample->count_max);
    if (copy == NULL || (place == sample->count &&
                         cpt_alloc_grow(NULL, (void **)&sample->kept, &sample->capacity,
                                        sample->count + 1, sample->count_max,
                                        sizeof *sample->kept) != CPT_OK)) {
        free(copy);
        return CPT_NO_MEMORY;
    }
    if (data.bytes != 0) {
        memcpy(copy, data.data, data.bytes);
    }
    if (place == sample->count) {
        sample->count++;
    } else {
        free(sample->kept[place].data);
    }
    sample->kept[place] = *record;
    sample->kept[place].data = copy;
    sample->kept[place].data_bytes = data.bytes;
    sample->kept[place].number = sample->met_count;
    return CPT_OK;
}
