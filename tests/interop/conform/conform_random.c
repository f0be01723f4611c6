/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* conform_random.c - see conform_random.h */
#include "tests/interop/conform/conform_random.h"

#include <stdio.h>
#include <string.h>

uint64_t cpti_conform_next(struct cpti_conform_random *random)
{
    uint64_t mixed = random->state += 0x9e3779b97f4a7c15U;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}

uint64_t cpti_conform_below(struct cpti_conform_random *random, uint64_t limit)
{
    return cpti_conform_next(random) % limit;
}

uint64_t cpti_conform_duration(struct cpti_conform_random *random)
{
    if (cpti_conform_below(random, 3) == 0) {
        return 1 + cpti_conform_below(random, 4); /* equal sums */
    }
    return 1 + (cpti_conform_next(random) >> (24 + cpti_conform_below(random, 38)));
}

size_t cpti_conform_name(struct cpti_conform_random *random, char *name,
                         size_t capacity)
{
    static const char *const odd[] = {"",         "A: /",   ": ",
                                      "\xff\xfe", "S: a;b", "S: \xe2"};
    const unsigned part = (unsigned)cpti_conform_below(random, 40);
    size_t bytes = 0;

    if (cpti_conform_below(random, 12) == 0) {
        bytes = (size_t)snprintf(name, capacity, "%s", odd[part % 6]);
    } else {
        bytes = (size_t)snprintf(name, capacity, "S%u: part %.*s%u", part % 5,
                                 (int)(part % 3) * 8, "of a long name, or", part);
    }
    return bytes < capacity ? bytes : capacity - 1;
}

static unsigned kind_of(struct cpti_conform_random *random, bool is_odd)
{
    const uint64_t way = cpti_conform_below(random, 8);

    if (way < 6) {
        return CPT_KIND_WORK;
    }
    if (way == 6 || !is_odd) {
        return (unsigned)cpti_conform_below(random, 16);
    }
    return (unsigned)cpti_conform_below(random, CPT_KIND_MAX + 1);
}

static bool add_labels(struct cpti_conform_random *random, struct cpt_path *path)
{
    const unsigned key = 1 + (unsigned)cpti_conform_below(random, 10);
    int is_name = 0;
    char name[64];

    (void)cpt_label_word(key, &is_name);
    if (is_name) {
        const size_t bytes = cpti_conform_name(random, name, sizeof name);

        return cpt_path_label_name(path, key, (struct cpt_bytes){name, bytes}) ==
               CPT_OK;
    }
    return cpt_path_label_number(path, key,
                                 cpti_conform_next(random) >>
                                     cpti_conform_below(random, 64)) == CPT_OK;
}

static bool add_segment(struct cpti_conform_random *random, bool is_odd,
                        struct cpt_path *path)
{
    struct cpt_segment segment = {
        .duration_ns = cpti_conform_duration(random),
        .frame = (uint32_t)cpti_conform_below(random, cpt_path_frame_count(path)),
        .count = 1};

    if (is_odd && cpti_conform_below(random, 4) == 0) {
        segment.count = 1 + (uint32_t)cpti_conform_below(random, 1000);
        segment.flags = (uint16_t)cpti_conform_below(random, 4);
        segment.reason = (uint16_t)cpti_conform_below(random, CPT_REASON_MAX + 1);
    }
    if (cpt_path_append(path, segment) != CPT_OK) {
        return false;
    }
    while (is_odd && cpti_conform_below(random, 4) == 0) {
        if (!add_labels(random, path)) {
            return false;
        }
    }
    return true;
}

uint64_t cpti_conform_nonce(struct cpti_conform_random *random, uint64_t none_of)
{
    const uint64_t nonce = cpti_conform_next(random) | 1;

    return cpti_conform_below(random, none_of) == 0 ? 0 : nonce;
}

/* Gives most segments a drag, many of them the same one. */
static bool add_drags(struct cpti_conform_random *random, struct cpt_path *path)
{
    const uint64_t common_ns = cpti_conform_duration(random);

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const uint64_t duration_ns = cpt_path_segment(path, i)->duration_ns;
        const uint64_t way = cpti_conform_below(random, 8);
        uint64_t drag_ns = duration_ns;

        if (way == 0) {
            continue;
        }
        if (way == 1) {
            drag_ns = cpti_conform_below(random, duration_ns + 1);
        } else if (way < 6 && common_ns < duration_ns) {
            drag_ns = common_ns;
        }
        if (cpt_path_drag_set(path, i, drag_ns) != CPT_OK) {
            return false;
        }
    }
    return true;
}

bool cpti_conform_path(struct cpti_conform_random *random,
                       const struct cpti_conform_shape *shape, struct cpt_path *path)
{
    const size_t frames = 1 + (size_t)cpti_conform_below(random, shape->frames_max);
    const size_t segments = 1 + (size_t)cpti_conform_below(random, shape->segments_max);
    char name[64];

    for (size_t i = 0; i < frames; i++) {
        const size_t bytes = cpti_conform_name(random, name, sizeof name);
        const size_t above =
            (size_t)cpti_conform_below(random, cpt_path_frame_count(path) + 1);
        uint32_t frame = 0;

        if (cpt_path_frame_add(path,
                               above < cpt_path_frame_count(path) ? (uint32_t)above
                                                                  : CPT_FRAME_NONE,
                               (struct cpt_bytes){name, bytes},
                               kind_of(random, shape->is_odd), &frame) != CPT_OK) {
            return false;
        }
    }
    for (size_t i = 0; i < segments; i++) {
        if (!add_segment(random, shape->is_odd, path)) {
            return false;
        }
    }
    if (shape->is_odd) {
        cpt_path_flags_add(path, (unsigned)cpti_conform_below(random, 16));
    }
    return !shape->has_drags || add_drags(random, path);
}

/* One change. */
static size_t change_one(struct cpti_conform_random *random, unsigned char *data,
                         size_t bytes, size_t capacity)
{
    static const unsigned char values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    const size_t at = (size_t)cpti_conform_below(random, bytes);
    const size_t more = 1 + (size_t)cpti_conform_below(random, 8);

    switch (cpti_conform_below(random, 6)) {
    case 0: /* one bit */
        data[at] ^= (unsigned char)(1U << cpti_conform_below(random, 8));
        return bytes;
    case 1: /* a value that is often a limit */
        data[at] = values[cpti_conform_below(random, sizeof values)];
        return bytes;
    case 2: /* one more, one less */
        data[at] =
            (unsigned char)(data[at] + (cpti_conform_below(random, 2) != 0 ? 1 : 255));
        return bytes;
    case 3: /* bytes taken out */
        if (at + more >= bytes) {
            return at + 1;
        }
        memmove(data + at, data + at + more, bytes - at - more);
        return bytes - more;
    case 4: /* bytes twice */
        if (at + more > bytes || bytes + more > capacity) {
            return bytes;
        }
        memmove(data + at + more, data + at, bytes - at);
        return bytes + more;
    default: /* bytes from elsewhere */
        memmove(data + at, data + cpti_conform_below(random, at + 1),
                at + more > bytes ? bytes - at : more);
        return bytes;
    }
}

size_t cpti_conform_change(struct cpti_conform_random *random, unsigned char *data,
                           size_t bytes, size_t capacity)
{
    const size_t changes = 1 + (size_t)cpti_conform_below(random, 4);

    for (size_t i = 0; i < changes && bytes != 0; i++) {
        bytes = change_one(random, data, bytes, capacity);
    }
    return bytes;
}
