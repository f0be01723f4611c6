/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_finish.c - what was learnt, in its one order
 *
 *      texts      by their bytes            pairs       by low, then high
 *      kinds      by service, then name     steps       by from, then to
 *      classes    by entry, then second     behaviours  by class, level, cells
 *      places     by kind, then turn
 *
 * What nothing refers to any more is left out. So equal counts are equal models,
 * whatever the order was in which they came.
 */
#include "import/model/model_inside.h"

#include <stdlib.h>

/* An order of numbers: the old ones in it, and by the old one its place, or
 * CPTI_MODEL_NONE if it is left out. */
struct order {
    uint32_t *olds;
    uint32_t *news;
    size_t count;
};

struct finishing {
    struct cpti_model_learner *learner;
    struct cpti_model *model;
    struct order texts;
    struct order ids;
    struct order kinds;
    struct order classes;
    struct order steps;
    struct order behaviours;
    struct order places; /* of the class at hand */
    const struct cpti_learnt_class *class;
};

typedef int (*compare_fn)(const void *left, const void *right, void *context);

static void order_deinit(const struct cpt_alloc *alloc, struct order *order)
{
    cpt_alloc_free(alloc, order->olds);
    cpt_alloc_free(alloc, order->news);
    *order = (struct order){0};
}

/* Room for @count old numbers, none of which is used yet. */
static cpt_status order_init(const struct cpt_alloc *alloc, struct order *order,
                             size_t count)
{
    order->olds = cpt_alloc_array(alloc, NULL, count + 1, sizeof *order->olds);
    order->news = cpt_alloc_array(alloc, NULL, count + 1, sizeof *order->news);
    if (order->olds == NULL || order->news == NULL) {
        return CPT_NO_MEMORY;
    }
    memset(order->news, 0xff, count * sizeof *order->news);
    return CPT_OK;
}

static void use(struct order *order, uint32_t old)
{
    if (order->news[old] == CPTI_MODEL_NONE) {
        order->news[old] = 0;
        order->olds[order->count++] = old;
    }
}

/* Sorts what is used. */
static void sort(struct order *order, compare_fn compare, void *context)
{
    if (order->count > 1) {
        qsort_r(order->olds, order->count, sizeof *order->olds, compare, context);
    }
    for (size_t i = 0; i < order->count; i++) {
        order->news[order->olds[i]] = (uint32_t)i;
    }
}

static uint32_t old_at(const void *at)
{
    return *(const uint32_t *)at;
}

static uint32_t new_or_0(const struct order *kinds, uint32_t number)
{
    return number != 0 ? kinds->news[number - 1] + 1 : 0;
}

/* --- Orders --- */

static int by_name(const void *left, const void *right, void *context)
{
    return cpti_model_compare(cpt_names_at(context, old_at(left)),
                              cpt_names_at(context, old_at(right)));
}

static int by_kind(const void *left, const void *right, void *context)
{
    const struct finishing *finishing = context;
    const struct cpti_model_kind *a = &finishing->learner->kinds[old_at(left)];
    const struct cpti_model_kind *b = &finishing->learner->kinds[old_at(right)];
    const uint32_t *texts = finishing->texts.news;
    const int order = cpti_model_compare_numbers(texts[a->service], texts[b->service]);

    return order != 0 ? order
                      : cpti_model_compare_numbers(texts[a->name], texts[b->name]);
}

static int by_entry(const void *left, const void *right, void *context)
{
    const struct finishing *finishing = context;
    const struct cpti_learnt_class *a = &finishing->learner->classes[old_at(left)];
    const struct cpti_learnt_class *b = &finishing->learner->classes[old_at(right)];
    const int order = cpti_model_compare_numbers(new_or_0(&finishing->kinds, a->entry),
                                                 new_or_0(&finishing->kinds, b->entry));

    return order != 0
               ? order
               : cpti_model_compare_numbers(new_or_0(&finishing->kinds, a->second),
                                            new_or_0(&finishing->kinds, b->second));
}

static int by_place(const void *left, const void *right, void *context)
{
    const struct finishing *finishing = context;
    const struct cpti_model_place *a = &finishing->class->places[old_at(left)].place;
    const struct cpti_model_place *b = &finishing->class->places[old_at(right)].place;
    const uint32_t *kinds = finishing->kinds.news;
    const int order = cpti_model_compare_numbers(kinds[a->kind], kinds[b->kind]);

    return order != 0 ? order : cpti_model_compare_numbers(a->turn, b->turn);
}

static int by_step(const void *left, const void *right, void *context)
{
    const struct finishing *finishing = context;
    const struct cpti_model_step *a = &finishing->learner->steps.all[old_at(left)];
    const struct cpti_model_step *b = &finishing->learner->steps.all[old_at(right)];
    const int order = cpti_model_compare_numbers(new_or_0(&finishing->kinds, a->from),
                                                 new_or_0(&finishing->kinds, b->from));

    return order != 0 ? order
                      : cpti_model_compare_numbers(new_or_0(&finishing->kinds, a->to),
                                                   new_or_0(&finishing->kinds, b->to));
}

static int by_behaviour(const void *left, const void *right, void *context)
{
    return cpti_model_compare_behaviours(context, left, right);
}

static int by_cell(const void *left, const void *right)
{
    return cpti_model_compare_numbers(((const struct cpti_model_cell *)left)->step,
                                      ((const struct cpti_model_cell *)right)->step);
}

/* --- What is used --- */

static void use_kind(struct finishing *finishing, uint32_t number)
{
    const struct cpti_model_kind *kind = &finishing->learner->kinds[number];

    use(&finishing->kinds, number);
    use(&finishing->texts, kind->service);
    use(&finishing->texts, kind->name);
}

static void use_kind_or_0(struct finishing *finishing, uint32_t number)
{
    if (number != 0) {
        use_kind(finishing, number - 1);
    }
}

static void use_witnesses(struct finishing *finishing,
                          const struct cpti_learnt_class *class)
{
    for (size_t i = 0; i < class->place_count; i++) {
        for (size_t k = 0; k < class->place_count; k++) {
            const size_t at = i * class->stride + k;

            if (class->witness[at] != CPTI_MODEL_NONE) {
                use(&finishing->ids, class->witness[at]);
            }
            if (class->overlap_witness != NULL &&
                class->overlap_witness[at] != CPTI_MODEL_NONE) {
                use(&finishing->ids, class->overlap_witness[at]);
            }
        }
    }
}

static void use_all(struct finishing *finishing)
{
    const struct cpti_model_learner *learner = finishing->learner;
    const struct cpti_steps *steps = &learner->steps;

    for (size_t i = 0; i < learner->class_count; i++) {
        const struct cpti_learnt_class *class = &learner->classes[i];

        use(&finishing->classes, (uint32_t)i);
        use_kind_or_0(finishing, class->entry);
        use_kind_or_0(finishing, class->second);
        for (size_t k = 0; k < class->place_count; k++) {
            use_kind(finishing, class->places[k].place.kind);
        }
        use_witnesses(finishing, class);
    }
    for (size_t i = 0; i < steps->behaviour_count; i++) {
        const struct cpti_model_behaviour *behaviour = &steps->behaviours[i];

        for (uint32_t k = 0; k < behaviour->cell_count; k++) {
            const uint32_t step = steps->cells[behaviour->cell + k].step;

            use(&finishing->steps, step);
            use_kind_or_0(finishing, steps->all[step].from);
            use_kind_or_0(finishing, steps->all[step].to);
        }
    }
    for (size_t i = 0; i < learner->dropped_count; i++) {
        use_kind(finishing, learner->dropped[i]);
    }
}

static void sort_all(struct finishing *finishing)
{
    sort(&finishing->texts, by_name, finishing->learner->names);
    sort(&finishing->ids, by_name, finishing->learner->ids);
    sort(&finishing->kinds, by_kind, finishing);
    sort(&finishing->classes, by_entry, finishing);
    sort(&finishing->steps, by_step, finishing);
}

/* --- The model --- */

static cpt_status put_texts(const struct cpt_alloc *alloc, const struct order *order,
                            const struct cpt_names *names,
                            struct cpti_model_texts *texts)
{
    size_t bytes = 0;

    for (size_t i = 0; i < order->count; i++) {
        bytes += cpt_names_at(names, order->olds[i]).bytes;
    }
    texts->bytes = cpt_alloc_array(alloc, NULL, bytes + 1, 1);
    texts->ends = cpt_alloc_array(alloc, NULL, order->count + 1, sizeof *texts->ends);
    if (texts->bytes == NULL || texts->ends == NULL) {
        return CPT_NO_MEMORY;
    }
    bytes = 0;
    for (size_t i = 0; i < order->count; i++) {
        const struct cpt_bytes text = cpt_names_at(names, order->olds[i]);

        if (text.bytes != 0) {
            memcpy(texts->bytes + bytes, text.data, text.bytes);
        }
        bytes += text.bytes;
        texts->ends[i] = bytes;
    }
    texts->count = order->count;
    return CPT_OK;
}

static cpt_status put_kinds(struct finishing *finishing)
{
    struct cpti_model *model = finishing->model;
    const struct order *kinds = &finishing->kinds;

    model->kinds =
        cpt_alloc_array(model->alloc, NULL, kinds->count + 1, sizeof *model->kinds);
    if (model->kinds == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < kinds->count; i++) {
        const struct cpti_model_kind *kind = &finishing->learner->kinds[kinds->olds[i]];

        model->kinds[i] = (struct cpti_model_kind){finishing->texts.news[kind->service],
                                                   finishing->texts.news[kind->name]};
    }
    model->kind_count = kinds->count;
    return CPT_OK;
}

static uint32_t id_or_none(const struct finishing *finishing, uint32_t number)
{
    return number != CPTI_MODEL_NONE ? finishing->ids.news[number] : CPTI_MODEL_NONE;
}

/* The counts of places @low and @high of the class at hand, in its numbers. */
static struct cpti_model_pair pair_of(const struct finishing *finishing, uint32_t low,
                                      uint32_t high)
{
    const struct cpti_learnt_class *class = finishing->class;
    const size_t ab = (size_t)low * class->stride + high;
    const size_t ba = (size_t)high * class->stride + low;
    const size_t overlap = low > high ? ab : ba;
    struct cpti_model_pair pair = {
        .refuted = {class->refuted[ab], class->refuted[ba]},
        .overlaps = class->others[overlap],
        .witness = {id_or_none(finishing, class->witness[ab]),
                    id_or_none(finishing, class->witness[ba]), CPTI_MODEL_NONE}};

    pair.both = pair.refuted[0] + pair.refuted[1] - pair.overlaps +
                class->others[overlap == ab ? ba : ab];
    if (class->contains != NULL) {
        pair.witness[2] = id_or_none(finishing, class->overlap_witness[overlap]);
        pair.contains[0] = class->contains[ab];
        pair.contains[1] = class->contains[ba];
    }
    return pair;
}

static cpt_status put_pairs(struct finishing *finishing)
{
    struct cpti_model *model = finishing->model;
    const struct order *places = &finishing->places;
    size_t capacity = model->pair_count;

    for (uint32_t low = 0; low < places->count; low++) {
        for (uint32_t high = low + 1; high < places->count; high++) {
            struct cpti_model_pair pair =
                pair_of(finishing, places->olds[low], places->olds[high]);

            if (pair.both == 0) {
                continue;
            }
            if (cpt_alloc_grow(model->alloc, (void **)&model->pairs, &capacity,
                               model->pair_count + 1, CPTI_MODEL_PAIRS_MAX,
                               sizeof pair) != CPT_OK) {
                return CPT_NO_MEMORY;
            }
            pair.low = low;
            pair.high = high;
            model->pairs[model->pair_count++] = pair;
        }
    }
    return CPT_OK;
}

static cpt_status put_places(struct finishing *finishing)
{
    const struct cpti_learnt_class *class = finishing->class;
    struct cpti_model *model = finishing->model;
    const size_t count = model->place_count + class->place_count;
    struct cpti_model_place *places =
        cpt_alloc_array(model->alloc, model->places, count + 1, sizeof *places);

    if (places == NULL) {
        return CPT_NO_MEMORY;
    }
    model->places = places;
    for (size_t i = 0; i < class->place_count; i++) {
        struct cpti_model_place place = class->places[finishing->places.olds[i]].place;

        place.kind = finishing->kinds.news[place.kind];
        places[model->place_count++] = place;
    }
    return CPT_OK;
}

static cpt_status put_class(struct finishing *finishing, size_t number)
{
    struct cpti_model *model = finishing->model;
    const struct cpti_learnt_class *class =
        &finishing->learner->classes[finishing->classes.olds[number]];
    struct cpti_model_class *to = &model->classes[number];
    cpt_status status =
        order_init(model->alloc, &finishing->places, class->place_count);

    *to =
        (struct cpti_model_class){.entry = new_or_0(&finishing->kinds, class->entry),
                                  .second = new_or_0(&finishing->kinds, class->second),
                                  .requests = class->requests,
                                  .place = (uint32_t)model->place_count,
                                  .place_count = (uint32_t) class->place_count,
                                  .pair = model->pair_count};
    finishing->class = class;
    if (status == CPT_OK) {
        for (uint32_t i = 0; i < class->place_count; i++) {
            use(&finishing->places, i);
        }
        sort(&finishing->places, by_place, finishing);
        status = put_places(finishing);
    }
    if (status == CPT_OK) {
        status = put_pairs(finishing);
    }
    to->pair_count = model->pair_count - to->pair;
    order_deinit(model->alloc, &finishing->places);
    return status;
}

static cpt_status put_classes(struct finishing *finishing)
{
    struct cpti_model *model = finishing->model;
    const size_t count = finishing->classes.count;
    cpt_status status = CPT_OK;

    model->classes =
        cpt_alloc_array(model->alloc, NULL, count + 1, sizeof *model->classes);
    if (model->classes == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        status = put_class(finishing, i);
        model->class_count++;
    }
    return status;
}

static cpt_status put_steps(struct finishing *finishing)
{
    struct cpti_model *model = finishing->model;
    const struct order *steps = &finishing->steps;

    model->steps =
        cpt_alloc_array(model->alloc, NULL, steps->count + 1, sizeof *model->steps);
    if (model->steps == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < steps->count; i++) {
        const struct cpti_model_step *step =
            &finishing->learner->steps.all[steps->olds[i]];

        model->steps[i] =
            (struct cpti_model_step){new_or_0(&finishing->kinds, step->from),
                                     new_or_0(&finishing->kinds, step->to)};
    }
    model->step_count = steps->count;
    return CPT_OK;
}

/* Behaviours and their cells; the cells lie in the order of the behaviours. */
static cpt_status put_behaviours(struct finishing *finishing)
{
    struct cpti_model *model = finishing->model;
    const struct cpti_steps *steps = &finishing->learner->steps;
    struct cpti_model_cell *cells = cpt_alloc_array(
        model->alloc, NULL, steps->cell_count + 1, sizeof *model->cells);
    size_t at = 0;

    model->behaviours = cpt_alloc_array(model->alloc, NULL, steps->behaviour_count + 1,
                                        sizeof *model->behaviours);
    model->cells = cpt_alloc_array(model->alloc, NULL, steps->cell_count + 1,
                                   sizeof *model->cells);
    if (cells == NULL || model->behaviours == NULL || model->cells == NULL) {
        cpt_alloc_free(model->alloc, cells);
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < steps->cell_count; i++) {
        model->cells[i] = (struct cpti_model_cell){
            finishing->steps.news[steps->cells[i].step], steps->cells[i].count};
    }
    for (size_t i = 0; i < steps->behaviour_count; i++) {
        model->behaviours[i] = steps->behaviours[i];
        model->behaviours[i].class =
            finishing->classes.news[steps->behaviours[i].class];
        if (steps->behaviours[i].cell_count > 1) {
            qsort(&model->cells[steps->behaviours[i].cell],
                  steps->behaviours[i].cell_count, sizeof *model->cells, by_cell);
        }
    }
    model->behaviour_count = steps->behaviour_count;
    model->cell_count = steps->cell_count;
    if (model->behaviour_count > 1) {
        qsort_r(model->behaviours, model->behaviour_count, sizeof *model->behaviours,
                by_behaviour, model);
    }
    for (size_t i = 0; i < model->behaviour_count; i++) {
        struct cpti_model_behaviour *behaviour = &model->behaviours[i];

        memcpy(&cells[at], &model->cells[behaviour->cell],
               behaviour->cell_count * sizeof *cells);
        behaviour->cell = at;
        at += behaviour->cell_count;
    }
    cpt_alloc_free(model->alloc, model->cells);
    model->cells = cells;
    return CPT_OK;
}

static int by_value(const void *left, const void *right)
{
    return cpti_model_compare_numbers(old_at(left), old_at(right));
}

static cpt_status put_dropped(struct finishing *finishing)
{
    struct cpti_model *model = finishing->model;
    const struct cpti_model_learner *learner = finishing->learner;

    model->dropped = cpt_alloc_array(model->alloc, NULL, learner->dropped_count + 1,
                                     sizeof *model->dropped);
    if (model->dropped == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < learner->dropped_count; i++) {
        model->dropped[i] = finishing->kinds.news[learner->dropped[i]];
    }
    model->dropped_count = learner->dropped_count;
    qsort(model->dropped, model->dropped_count, sizeof *model->dropped, by_value);
    model->requests = learner->requests;
    model->level = learner->steps.level;
    model->dropped_lines = learner->dropped_lines;
    model->dropped_steps = learner->dropped_steps;
    return CPT_OK;
}

static cpt_status put_all(struct finishing *finishing)
{
    static cpt_status (*const parts[])(struct finishing *) = {
        put_kinds, put_classes, put_steps, put_behaviours, put_dropped};
    struct cpti_model *model = finishing->model;
    cpt_status status = put_texts(model->alloc, &finishing->texts,
                                  finishing->learner->names, &model->texts);

    if (status == CPT_OK) {
        status = put_texts(model->alloc, &finishing->ids, finishing->learner->ids,
                           &model->ids);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == CPT_OK; i++) {
        status = parts[i](finishing);
    }
    return status;
}

static cpt_status init_orders(struct finishing *finishing)
{
    const struct cpti_model_learner *learner = finishing->learner;
    const struct cpt_alloc *alloc = learner->alloc;

    if (order_init(alloc, &finishing->texts, cpt_names_count(learner->names)) !=
            CPT_OK ||
        order_init(alloc, &finishing->ids, cpt_names_count(learner->ids)) != CPT_OK ||
        order_init(alloc, &finishing->kinds, learner->kind_count) != CPT_OK ||
        order_init(alloc, &finishing->classes, learner->class_count) != CPT_OK ||
        order_init(alloc, &finishing->steps, learner->steps.count) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    return CPT_OK;
}

cpt_status cpti_model_learner_finish(struct cpti_model_learner *learner,
                                     struct cpti_model **model)
{
    const struct cpt_alloc *alloc = learner->alloc;
    struct finishing finishing = {.learner = learner,
                                  .model = cpt_alloc_zeroed(alloc, sizeof **model)};
    cpt_status status = CPT_NO_MEMORY;

    if (finishing.model != NULL) {
        finishing.model->alloc = alloc;
        status = cpti_learner_flush(learner);
    }
    if (status == CPT_OK) {
        status = init_orders(&finishing);
    }
    if (status == CPT_OK) {
        use_all(&finishing);
        sort_all(&finishing);
        status = put_all(&finishing);
    }
    order_deinit(alloc, &finishing.texts);
    order_deinit(alloc, &finishing.ids);
    order_deinit(alloc, &finishing.kinds);
    order_deinit(alloc, &finishing.classes);
    order_deinit(alloc, &finishing.steps);
    if (status == CPT_OK) {
        *model = finishing.model;
    } else {
        cpti_model_free(finishing.model);
    }
    return status;
}
