/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_read.c - a model from bytes, which may be of anyone; model_file.h describes
 * them */
#include "import/model/model_file.h"
#include "import/model/model_inside.h"

#include "cpt/base/body.h"

/* The first error stays and ends the reading: after it, all numbers are 0. */
struct reader {
    const unsigned char *data;
    size_t end; /* of the body */
    size_t at;
    cpt_status status;
    struct cpt_error *error;
    struct cpti_model *model;
    size_t place_capacity;
    size_t pair_capacity;
    size_t cell_capacity;
};

#define REFUSE(reader, refused, ...)                                                   \
    ((reader)->status != CPT_OK                                                        \
         ? (reader)->status                                                            \
         : ((reader)->status =                                                         \
                cpt_error_set((reader)->error, (refused), (reader)->at, __VA_ARGS__)))

/* --- Numbers --- */

static uint64_t get_number(struct reader *reader)
{
    uint64_t number = 0;
    const char *refused = NULL;

    if (reader->status != CPT_OK) {
        return 0;
    }
    refused = cpti_body_get_number(reader->data, &reader->at, reader->end, &number);
    if (refused != NULL) {
        (void)REFUSE(reader, CPT_CORRUPT, "%s", refused);
    }
    return number;
}

/* A number of at most @max; @what names it in the error. */
static uint32_t get_to(struct reader *reader, uint64_t max, const char *what)
{
    const uint64_t number = get_number(reader);

    if (number > max) {
        (void)REFUSE(reader, CPT_CORRUPT, "%s is %llu, the most is %llu", what,
                     (unsigned long long)number, (unsigned long long)max);
        return 0;
    }
    return (uint32_t)number;
}

/* A count of entries, which are read one by one. */
static uint32_t get_count(struct reader *reader, uint64_t max, const char *what)
{
    const uint64_t number = get_number(reader);

    if (number > max) {
        (void)REFUSE(reader, CPT_LIMIT, "there are %llu %s, the limit is %llu",
                     (unsigned long long)number, what, (unsigned long long)max);
        return 0;
    }
    return (uint32_t)number;
}

/* A number above @last by what is read: of the first one, with @last 0, it itself. At
 * most @max. */
static uint32_t get_above(struct reader *reader, uint64_t last, uint64_t max,
                          const char *what)
{
    if (last > max) {
        (void)REFUSE(reader, CPT_CORRUPT, "there is no further %s", what);
        return 0;
    }
    return (uint32_t)last + get_to(reader, max - last, what);
}

static void grow(struct reader *reader, void **array, size_t *capacity, size_t needed,
                 size_t bytes)
{
    if (reader->status == CPT_OK &&
        cpt_alloc_grow(reader->model->alloc, array, capacity, needed, SIZE_MAX / 2,
                       bytes) != CPT_OK) {
        (void)REFUSE(reader, CPT_NO_MEMORY, "out of memory");
    }
}

/* --- Texts and kinds --- */

static void get_text(struct reader *reader, struct cpti_model_texts *texts,
                     size_t *bytes, size_t *capacity, uint32_t number)
{
    const uint32_t count = get_to(reader, CPT_NAME_BYTES_MAX, "length of a text");

    if (reader->status == CPT_OK && count > reader->end - reader->at) {
        (void)REFUSE(reader, CPT_CORRUPT, "the body ends in a text");
    }
    grow(reader, (void **)&texts->bytes, capacity, *bytes + count + 1, 1);
    if (reader->status != CPT_OK) {
        return;
    }
    memcpy(texts->bytes + *bytes, reader->data + reader->at, count);
    reader->at += count;
    *bytes += count;
    texts->ends[number] = *bytes;
    if (memchr(texts->bytes + *bytes - count, 0, count) != NULL) {
        (void)REFUSE(reader, CPT_CORRUPT, "a text holds a NUL byte");
    } else if (number != 0 && cpti_model_compare(cpti_model_text(texts, number - 1),
                                                 cpti_model_text(texts, number)) >= 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "text %u is out of order", (unsigned)number);
    }
}

static void get_texts(struct reader *reader, struct cpti_model_texts *texts)
{
    const uint32_t count = get_count(reader, CPT_NAMES_MAX, "texts");
    size_t capacity = 0;
    size_t end_capacity = 0;
    size_t bytes = 0;

    for (uint32_t i = 0; i < count && reader->status == CPT_OK; i++) {
        grow(reader, (void **)&texts->ends, &end_capacity, i + 1, sizeof *texts->ends);
        get_text(reader, texts, &bytes, &capacity, i);
    }
    texts->count = reader->status == CPT_OK ? count : 0;
}

static void get_kinds(struct reader *reader)
{
    struct cpti_model *model = reader->model;
    const uint32_t count = get_count(reader, CPTI_MODEL_KINDS_MAX, "kinds");
    const uint64_t last_text = (uint64_t)model->texts.count - 1;
    struct cpti_model_kind last = {0};
    size_t capacity = 0;

    if (count != 0 && model->texts.count == 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "a kind has no text");
    }
    for (uint32_t i = 0; i < count && reader->status == CPT_OK; i++) {
        struct cpti_model_kind kind = {0};
        bool is_same = false;

        kind.service = get_above(reader, last.service, last_text, "text");
        is_same = i != 0 && kind.service == last.service;
        kind.name =
            get_above(reader, is_same ? (uint64_t)last.name + 1 : 0, last_text, "text");
        grow(reader, (void **)&model->kinds, &capacity, i + 1, sizeof kind);
        if (reader->status == CPT_OK) {
            model->kinds[model->kind_count++] = kind;
            last = kind;
        }
    }
}

static void get_dropped(struct reader *reader)
{
    struct cpti_model *model = reader->model;
    const uint32_t count =
        get_count(reader, CPTI_MODEL_DROPPED_MAX, "kinds that were left out");
    size_t capacity = 0;

    for (uint32_t i = 0; i < count && reader->status == CPT_OK; i++) {
        const uint32_t kind = get_to(reader, UINT32_MAX, "kind");

        if (kind >= model->kind_count || (i != 0 && kind <= model->dropped[i - 1])) {
            (void)REFUSE(reader, CPT_CORRUPT, "a kind that was left out is wrong");
        }
        grow(reader, (void **)&model->dropped, &capacity, i + 1, sizeof kind);
        if (reader->status == CPT_OK) {
            model->dropped[model->dropped_count++] = kind;
        }
    }
}

/* --- Classes --- */

/* Reads one more place of @class, of which @last is the one before, or NULL. */
static void get_place(struct reader *reader, const struct cpti_model_class *class,
                      const struct cpti_model_place *last)
{
    struct cpti_model *model = reader->model;
    struct cpti_model_place place = {.turn = 1};
    uint64_t form = 0;

    place.kind = get_above(reader, last != NULL ? last->kind : 0,
                           (uint64_t)model->kind_count - 1, "kind of a place");
    form = get_number(reader);
    place.is_interval = (form & 1) != 0;
    if (last != NULL && last->kind == place.kind) {
        place.turn = last->turn + 1;
    }
    if (reader->status != CPT_OK) {
        return;
    }
    if (form / 2 > class->requests || form / 2 == 0 ||
        (place.turn > 1 && form / 2 > last->requests)) {
        (void)REFUSE(reader, CPT_CORRUPT, "a place has %llu requests of %u",
                     (unsigned long long)(form / 2), (unsigned)class->requests);
    } else if (place.turn > CPTI_MODEL_TURNS_MAX + 1) {
        (void)REFUSE(reader, CPT_CORRUPT, "a kind has turn %u", (unsigned)place.turn);
    }
    place.requests = (uint32_t)(form / 2);
    grow(reader, (void **)&model->places, &reader->place_capacity,
         model->place_count + 1, sizeof place);
    if (reader->status == CPT_OK) {
        model->places[model->place_count++] = place;
    }
}

static void get_places(struct reader *reader, struct cpti_model_class *class)
{
    struct cpti_model *model = reader->model;
    const uint32_t count = get_count(reader, CPTI_MODEL_PAIRS_MAX, "places");

    class->place = (uint32_t)model->place_count;
    if (count != 0 && model->kind_count == 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "a place has no kind");
    }
    for (uint32_t i = 0; i < count && reader->status == CPT_OK; i++) {
        const struct cpti_model_place last = i != 0
                                                 ? model->places[model->place_count - 1]
                                                 : (struct cpti_model_place){0};

        get_place(reader, class, i != 0 ? &last : NULL);
    }
    class->place_count = (uint32_t)model->place_count - class->place;
}

/* Whether the counts of @pair can be. */
static bool counts_fit(const struct cpti_model *model,
                       const struct cpti_model_class *class,
                       const struct cpti_model_pair *pair)
{
    const uint64_t sum = (uint64_t)pair->refuted[0] + pair->refuted[1];

    return pair->both != 0 &&
           pair->both <= model->places[class->place + pair->low].requests &&
           pair->both <= model->places[class->place + pair->high].requests &&
           pair->overlaps <= pair->refuted[0] && pair->overlaps <= pair->refuted[1] &&
           sum - pair->overlaps <= pair->both && pair->contains[0] <= pair->both &&
           pair->contains[1] <= pair->both;
}

/* Reads how often one contains the other, if it @is_there: then not both are 0. */
static void get_contains(struct reader *reader, bool is_there,
                         struct cpti_model_pair *pair)
{
    pair->contains[0] = is_there ? get_to(reader, UINT32_MAX, "count of a pair") : 0;
    pair->contains[1] = is_there ? get_to(reader, UINT32_MAX, "count of a pair") : 0;
    if (is_there && pair->contains[0] == 0 && pair->contains[1] == 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "a pair contains each other 0 times");
    }
}

static void get_pair(struct reader *reader, const struct cpti_model_class *class,
                     const struct cpti_model_pair *last, struct cpti_model_pair *pair)
{
    const uint64_t last_place = (uint64_t) class->place_count - 1;
    const struct cpti_model *model = reader->model;
    uint32_t counts[3] = {0};
    uint64_t form = 0;

    pair->low = get_above(reader, last != NULL ? last->low : 0, last_place, "place");
    pair->high = get_above(
        reader,
        (uint64_t)(last != NULL && last->low == pair->low ? last->high : pair->low) + 1,
        last_place, "place");
    form = get_number(reader);
    if (form / 2 > UINT32_MAX) {
        (void)REFUSE(reader, CPT_CORRUPT, "a pair has too many requests");
    }
    pair->both = (uint32_t)(form / 2);
    for (unsigned i = 0; i < 3; i++) {
        counts[i] = get_to(reader, UINT32_MAX, "count of a pair");
    }
    pair->refuted[0] = counts[0];
    pair->refuted[1] = counts[1];
    pair->overlaps = counts[2];
    for (unsigned i = 0; i < 3; i++) {
        pair->witness[i] = CPTI_MODEL_NONE;
        if (counts[i] != 0) {
            pair->witness[i] = get_to(reader, UINT32_MAX, "witness");
        }
        if (counts[i] != 0 && pair->witness[i] >= model->ids.count) {
            (void)REFUSE(reader, CPT_CORRUPT, "witness %u is no id",
                         (unsigned)pair->witness[i]);
        }
    }
    get_contains(reader, (form & 1) != 0, pair);
    if (reader->status == CPT_OK && !counts_fit(model, class, pair)) {
        (void)REFUSE(reader, CPT_CORRUPT, "the counts of a pair contradict each other");
    }
}

static void get_pairs(struct reader *reader, struct cpti_model_class *class)
{
    struct cpti_model *model = reader->model;
    const uint32_t count = get_count(reader, CPTI_MODEL_PAIRS_MAX, "pairs");
    struct cpti_model_pair last = {0};

    class->pair = model->pair_count;
    if (count != 0 && class->place_count == 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "a pair has no places");
    }
    for (uint32_t i = 0; i < count && reader->status == CPT_OK; i++) {
        struct cpti_model_pair pair;

        get_pair(reader, class, i != 0 ? &last : NULL, &pair);
        grow(reader, (void **)&model->pairs, &reader->pair_capacity,
             model->pair_count + 1, sizeof pair);
        if (reader->status == CPT_OK) {
            model->pairs[model->pair_count++] = pair;
            last = pair;
        }
    }
    class->pair_count = model->pair_count - class->pair;
}

static void get_class(struct reader *reader, struct cpti_model_class *class,
                      const struct cpti_model_class *last, uint64_t *requests)
{
    const struct cpti_model *model = reader->model;

    class->entry = get_to(reader, model->kind_count, "kind of an entry");
    class->second = get_to(reader, model->kind_count, "kind of a second service");
    class->requests = get_to(reader, UINT32_MAX, "number of requests");
    *requests += class->requests;
    if (reader->status == CPT_OK && last != NULL &&
        (class->entry < last->entry ||
         (class->entry == last->entry && class->second <= last->second))) {
        (void)REFUSE(reader, CPT_CORRUPT, "a class is out of order");
    }
    get_places(reader, class);
    get_pairs(reader, class);
}

static void get_classes(struct reader *reader)
{
    struct cpti_model *model = reader->model;
    const uint32_t count = get_count(reader, CPTI_MODEL_CLASSES_MAX + 1, "classes");
    uint64_t requests = 0;
    size_t capacity = 0;

    for (uint32_t i = 0; i < count && reader->status == CPT_OK; i++) {
        struct cpti_model_class class = {0};

        get_class(reader, &class, i != 0 ? &model->classes[i - 1] : NULL, &requests);
        grow(reader, (void **)&model->classes, &capacity, i + 1, sizeof class);
        if (reader->status == CPT_OK) {
            model->classes[model->class_count++] = class;
        }
    }
    if (reader->status == CPT_OK && requests != model->requests) {
        (void)REFUSE(reader, CPT_CORRUPT, "the classes have %llu requests of %u",
                     (unsigned long long)requests, (unsigned)model->requests);
    }
}

/* --- Steps and behaviours --- */

/* Whether both ends of @step are of one service. */
static bool is_step(const struct cpti_model *model, const struct cpti_model_step *step)
{
    if (step->from == 0 || step->to == 0) {
        return step->from != step->to;
    }
    return model->kinds[step->from - 1].service == model->kinds[step->to - 1].service;
}

static void get_steps(struct reader *reader)
{
    struct cpti_model *model = reader->model;
    const uint32_t count = get_count(reader, CPTI_MODEL_STEPS_MAX, "steps");
    struct cpti_model_step last = {0};
    size_t capacity = 0;

    for (uint32_t i = 0; i < count && reader->status == CPT_OK; i++) {
        struct cpti_model_step step = {0};
        bool is_same = false;

        step.from = get_above(reader, last.from, model->kind_count, "kind of a step");
        is_same = i != 0 && step.from == last.from;
        step.to = get_above(reader, is_same ? (uint64_t)last.to + 1 : 0,
                            model->kind_count, "kind of a step");
        if (reader->status == CPT_OK && !is_step(model, &step)) {
            (void)REFUSE(reader, CPT_CORRUPT, "a step is of two services, or of none");
        }
        grow(reader, (void **)&model->steps, &capacity, i + 1, sizeof step);
        if (reader->status == CPT_OK) {
            model->steps[model->step_count++] = step;
            last = step;
        }
    }
}

static void get_cells(struct reader *reader, struct cpti_model_behaviour *behaviour)
{
    struct cpti_model *model = reader->model;
    const uint32_t count = get_count(reader, model->step_count, "cells");
    uint64_t next = 0;

    behaviour->cell = model->cell_count;
    for (uint32_t i = 0; i < count && reader->status == CPT_OK; i++) {
        struct cpti_model_cell cell = {0};

        cell.step = get_above(reader, next, (uint64_t)model->step_count - 1, "step");
        cell.count = get_to(reader, UINT32_MAX, "count of a step");
        next = (uint64_t)cell.step + 1;
        if (cell.count == 0) {
            (void)REFUSE(reader, CPT_CORRUPT, "a step occurs 0 times");
        }
        if (model->cell_count >= 2 * (size_t)CPTI_MODEL_CELLS_MAX) {
            (void)REFUSE(reader, CPT_LIMIT, "the behaviours have too many cells");
        }
        grow(reader, (void **)&model->cells, &reader->cell_capacity,
             model->cell_count + 1, sizeof cell);
        if (reader->status == CPT_OK) {
            model->cells[model->cell_count++] = cell;
        }
    }
    behaviour->cell_count = (uint32_t)(model->cell_count - behaviour->cell);
}

/* Whether @behaviour may stand behind @last. */
static bool is_behind(const struct cpti_model *model,
                      const struct cpti_model_behaviour *last,
                      const struct cpti_model_behaviour *behaviour)
{
    return cpti_model_compare_behaviours(model, last, behaviour) < 0;
}

static void get_behaviour(struct reader *reader, struct cpti_model_behaviour *behaviour,
                          uint32_t last_class)
{
    const struct cpti_model *model = reader->model;

    behaviour->class = get_above(reader, last_class, (uint64_t)model->class_count - 1,
                                 "class of a behaviour");
    behaviour->level = get_to(reader, CPTI_MODEL_LEVEL_MAX, "level");
    behaviour->requests = get_to(reader, UINT32_MAX, "number of requests");
    if (reader->status == CPT_OK &&
        (behaviour->requests == 0 || behaviour->level < model->level)) {
        (void)REFUSE(reader, CPT_CORRUPT, "a behaviour has no requests");
    }
    get_cells(reader, behaviour);
}

static void get_behaviours(struct reader *reader)
{
    struct cpti_model *model = reader->model;
    const uint32_t count = get_count(reader, UINT32_MAX - 1, "behaviours");
    uint64_t requests = 0; /* of the class at hand */
    size_t capacity = 0;

    if (count != 0 && model->class_count == 0) {
        (void)REFUSE(reader, CPT_CORRUPT, "a behaviour has no class");
    }
    grow(reader, (void **)&model->cells, &reader->cell_capacity, 1,
         sizeof *model->cells); /* also if no behaviour has one */
    for (uint32_t i = 0; i < count && reader->status == CPT_OK; i++) {
        const struct cpti_model_behaviour *last =
            i != 0 ? &model->behaviours[i - 1] : NULL;
        struct cpti_model_behaviour behaviour = {0};

        get_behaviour(reader, &behaviour, last != NULL ? last->class : 0);
        if (reader->status != CPT_OK) {
            return;
        }
        requests = last != NULL && last->class == behaviour.class ? requests : 0;
        requests += behaviour.requests;
        if (requests > model->classes[behaviour.class].requests) {
            (void)REFUSE(reader, CPT_CORRUPT, "behaviours have more requests than all");
        } else if (last != NULL && !is_behind(model, last, &behaviour)) {
            (void)REFUSE(reader, CPT_CORRUPT, "behaviour %u is out of order",
                         (unsigned)i);
        }
        grow(reader, (void **)&model->behaviours, &capacity, i + 1, sizeof behaviour);
        if (reader->status == CPT_OK) {
            model->behaviours[model->behaviour_count++] = behaviour;
        }
    }
}

/* --- All --- */

static uint64_t get_fixed(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = bytes; i-- > 0;) {
        value = value << 8 | at[i];
    }
    return value;
}

static cpt_status check_frame(struct reader *reader, size_t byte_count)
{
    const size_t least = CPTI_MODEL_HEAD_BYTES + CPTI_MODEL_CRC_BYTES;
    uint64_t body = 0;

    if (byte_count < CPTI_MODEL_MAGIC_BYTES ||
        memcmp(reader->data, CPTI_MODEL_MAGIC, CPTI_MODEL_MAGIC_BYTES) != 0) {
        return REFUSE(reader, CPT_CORRUPT, "the file is no model");
    }
    if (byte_count < least) {
        return REFUSE(reader, CPT_TRUNCATED, "the model ends in its head");
    }
    reader->at = CPTI_MODEL_MAGIC_BYTES;
    if (reader->data[reader->at] != CPTI_MODEL_VERSION) {
        return REFUSE(reader, CPT_VERSION, "the model has version %u, not %d",
                      reader->data[reader->at], CPTI_MODEL_VERSION);
    }
    body = get_fixed(reader->data + CPTI_MODEL_MAGIC_BYTES + 1, 8);
    if (body > byte_count - least) {
        return REFUSE(reader, CPT_TRUNCATED, "the model has %zu bytes of %llu",
                      byte_count - least, (unsigned long long)body);
    }
    if (body < byte_count - least) {
        return REFUSE(reader, CPT_CORRUPT, "%llu bytes follow the model",
                      (unsigned long long)(byte_count - least - body));
    }
    reader->end = CPTI_MODEL_HEAD_BYTES + (size_t)body;
    if (get_fixed(reader->data + reader->end, CPTI_MODEL_CRC_BYTES) !=
        cpt_crc32c(0, reader->data, reader->end)) {
        reader->at = reader->end;
        return REFUSE(reader, CPT_CORRUPT, "the model fails its checksum");
    }
    reader->at = CPTI_MODEL_HEAD_BYTES;
    return CPT_OK;
}

static void get_body(struct reader *reader)
{
    struct cpti_model *model = reader->model;

    model->requests = get_to(reader, UINT32_MAX, "number of requests");
    model->level = get_to(reader, CPTI_MODEL_LEVEL_MAX, "level");
    model->dropped_lines = get_number(reader);
    model->dropped_steps = get_number(reader);
    get_texts(reader, &model->texts);
    get_texts(reader, &model->ids);
    get_kinds(reader);
    get_dropped(reader);
    get_classes(reader);
    get_steps(reader);
    get_behaviours(reader);
    if (reader->status == CPT_OK && reader->at != reader->end) {
        (void)REFUSE(reader, CPT_CORRUPT, "%zu bytes follow the behaviours",
                     reader->end - reader->at);
    }
}

cpt_status cpti_model_read(const struct cpt_alloc *alloc, const void *bytes,
                           size_t byte_count, struct cpti_model **model,
                           struct cpt_error *error)
{
    struct reader reader = {.data = bytes,
                            .error = error,
                            .model = cpt_alloc_zeroed(alloc, sizeof **model)};

    if (reader.model == NULL) {
        return CPT_NO_MEMORY;
    }
    reader.model->alloc = alloc;
    if (check_frame(&reader, byte_count) == CPT_OK) {
        get_body(&reader);
    }
    if (reader.status != CPT_OK) {
        cpti_model_free(reader.model);
        return reader.status;
    }
    *model = reader.model;
    return CPT_OK;
}
