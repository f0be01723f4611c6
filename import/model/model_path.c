/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_path.c - the path of a request by learnt order; see model_path.h */
#include "import/model/model_path.h"

#include "import/events/requests.h"
#include "import/model/model_inside.h"

enum { WORD_BITS = 64 };

/* A class of the model: for each place the bits of those that come before it. */
struct ordered_class {
    const struct cpti_model_class *class;
    size_t words; /* of a row */
    uint64_t *before;
};

struct cpti_model_order {
    const struct cpt_alloc *alloc;
    const struct cpti_model *model;
    const struct cpti_requests *requests;
    struct ordered_class *classes;
    uint32_t *kinds; /* by kind of the requests: of the model + 1 */
    size_t kind_count;
    uint32_t *turns;  /* by kind of the requests, in the request at hand */
    uint32_t *places; /* by line + 1; 0: the model has none */
    size_t place_capacity;
    bool is_coarse; /* classes are by entry alone */
};

/* --- Orders --- */

static void set_before(const struct ordered_class *class, uint32_t first, uint32_t then)
{
    class->before[then * class->words + first / WORD_BITS] |= UINT64_C(1)
                                                              << first % WORD_BITS;
}

static cpt_status read_class(const struct cpti_model_order *order, uint32_t number,
                             const struct cpti_model_rule *rule)
{
    const struct cpti_model *model = order->model;
    struct ordered_class *class = &order->classes[number];

    class->class = &model->classes[number];
    class->words = (class->class->place_count + WORD_BITS - 1) / WORD_BITS;
    class->before =
        cpt_alloc_zeroed(order->alloc, (class->class->place_count * class->words + 1) *
                                           sizeof *class->before);
    if (class->before == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < class->class->pair_count; i++) {
        const struct cpti_model_pair *pair = &model->pairs[class->class->pair + i];

        switch (cpti_model_relation_of(model, class->class, pair, rule)) {
        case CPTI_MODEL_BEFORE:
            set_before(class, pair->low, pair->high);
            break;
        case CPTI_MODEL_AFTER:
            set_before(class, pair->high, pair->low);
            break;
        default:
            break;
        }
    }
    return CPT_OK;
}

/* The kind of the model with these texts + 1, or 0. */
static uint32_t find_kind(const struct cpti_model *model, struct cpt_bytes service,
                          struct cpt_bytes name)
{
    uint32_t from = 0;
    uint32_t end = (uint32_t)model->kind_count;

    while (from < end) {
        const uint32_t middle = from + (end - from) / 2;
        int order = cpti_model_compare(cpti_model_service(model, middle), service);

        order = order != 0 ? order
                           : cpti_model_compare(cpti_model_name(model, middle), name);
        if (order == 0) {
            return middle + 1;
        }
        if (order < 0) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return 0;
}

static void read_kinds(struct cpti_model_order *order)
{
    const struct cpti_requests *requests = order->requests;

    for (uint32_t i = 0; i < order->kind_count; i++) {
        char buffers[2][CPT_NAME_BYTES_MAX + 1];
        const uint32_t service = cpti_requests_kind_service(requests, i);
        const struct cpt_bytes texts[2] = {
            cpti_requests_text(requests, CPTI_NAMES_SERVICE, service),
            cpti_requests_text(requests, CPTI_NAMES_KIND, i)};

        order->kinds[i] = find_kind(order->model, cpt_name_bound(texts[0], buffers[0]),
                                    cpt_name_bound(texts[1], buffers[1]));
    }
}

struct cpti_model_order *cpti_model_order_new(const struct cpt_alloc *alloc,
                                              const struct cpti_model *model,
                                              const struct cpti_requests *requests,
                                              const struct cpti_model_rule *rule)
{
    struct cpti_model_order *order = cpt_alloc_zeroed(alloc, sizeof *order);
    cpt_status status = CPT_OK;

    if (order == NULL) {
        return NULL;
    }
    order->alloc = alloc;
    order->model = model;
    order->requests = requests;
    order->kind_count = cpti_requests_names(requests, CPTI_NAMES_KIND);
    order->classes =
        cpt_alloc_zeroed(alloc, (model->class_count + 1) * sizeof *order->classes);
    order->kinds =
        cpt_alloc_zeroed(alloc, (order->kind_count + 1) * sizeof *order->kinds);
    order->turns =
        cpt_alloc_zeroed(alloc, (order->kind_count + 1) * sizeof *order->turns);
    if (order->classes == NULL || order->kinds == NULL || order->turns == NULL) {
        status = CPT_NO_MEMORY;
    }
    order->is_coarse = true;
    for (uint32_t i = 0; i < model->class_count && status == CPT_OK; i++) {
        order->is_coarse &= model->classes[i].second == 0;
        status = read_class(order, i, rule);
    }
    if (status != CPT_OK) {
        cpti_model_order_free(order);
        return NULL;
    }
    read_kinds(order);
    return order;
}

void cpti_model_order_free(struct cpti_model_order *order)
{
    if (order == NULL) {
        return;
    }
    for (size_t i = 0; order->classes != NULL && i < order->model->class_count; i++) {
        cpt_alloc_free(order->alloc, order->classes[i].before);
    }
    cpt_alloc_free(order->alloc, order->classes);
    cpt_alloc_free(order->alloc, order->kinds);
    cpt_alloc_free(order->alloc, order->turns);
    cpt_alloc_free(order->alloc, order->places);
    cpt_alloc_free(order->alloc, order);
}

/* --- A request --- */

/* The class that a request is of: its entry and, if the model tells these apart, the
 * first event of another service. NULL: the model has none. */
static const struct ordered_class *class_of(const struct cpti_model_order *order,
                                            const struct cpti_request *request)
{
    const uint32_t entry = order->kinds[request->lines[0].kind];
    size_t from = 0;
    size_t end = 0;
    uint32_t second = 0;

    for (size_t i = 1; i < request->count && second == 0 && !order->is_coarse; i++) {
        if (request->lines[i].service != request->lines[0].service) {
            second = order->kinds[request->lines[i].kind];
        }
    }
    end = entry != 0 ? order->model->class_count : 0;
    while (from < end) {
        const size_t middle = from + (end - from) / 2;
        const struct cpti_model_class *class = &order->model->classes[middle];
        const int side = class->entry != entry
                             ? cpti_model_compare_numbers(class->entry, entry)
                             : cpti_model_compare_numbers(class->second, second);

        if (side == 0) {
            return &order->classes[middle];
        }
        from = side < 0 ? middle + 1 : from;
        end = side < 0 ? end : middle;
    }
    return NULL;
}

/* The place of turn @turn of @kind, + 1, or 0. */
static uint32_t find_place(const struct cpti_model *model,
                           const struct cpti_model_class *class, uint32_t kind,
                           uint32_t turn)
{
    uint32_t from = 0;
    uint32_t end = class->place_count;

    while (from < end) {
        const uint32_t middle = from + (end - from) / 2;
        const struct cpti_model_place *place = &model->places[class->place + middle];

        if (place->kind == kind && place->turn == turn) {
            return middle + 1;
        }
        if (place->kind < kind || (place->kind == kind && place->turn < turn)) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return 0;
}

static void find_places(struct cpti_model_order *order,
                        const struct ordered_class *class,
                        const struct cpti_request *request)
{
    for (size_t i = 0; i < request->count; i++) {
        const uint32_t kind = request->lines[i].kind;
        uint32_t *turn = &order->turns[kind];

        *turn = *turn < CPTI_MODEL_TURNS_MAX + 1 ? *turn + 1 : *turn;
        order->places[i] =
            order->kinds[kind] != 0
                ? find_place(order->model, class->class, order->kinds[kind] - 1, *turn)
                : 0;
    }
    for (size_t i = 0; i < request->count; i++) {
        order->turns[request->lines[i].kind] = 0;
    }
}

/* Whether line @first leads to line @then. */
static bool leads_to(const struct cpti_model_order *order,
                     const struct ordered_class *class,
                     const struct cpti_request *request, size_t first, size_t then)
{
    const uint32_t place = order->places[first];
    const uint32_t other = order->places[then];

    if (request->lines[first].unit == request->lines[then].unit) {
        return true;
    }
    return place != 0 && other != 0 &&
           (class->before[(other - 1) * class->words + (place - 1) / WORD_BITS] >>
                (place - 1) % WORD_BITS &
            1) != 0;
}

cpt_status cpti_model_order_keep(struct cpti_model_order *order,
                                 struct cpti_request *request)
{
    const struct ordered_class *class =
        request->count > 0 ? class_of(order, request) : NULL;
    struct cpti_line *lines = request->lines;
    size_t last = request->count;
    size_t kept = request->count; /* those that stay are moved to the end, then back */

    if (class == NULL) {
        return CPT_OK;
    }
    if (cpt_alloc_grow(order->alloc, (void **)&order->places, &order->place_capacity,
                       request->count, SIZE_MAX / 2, sizeof *order->places) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    find_places(order, class, request);
    while (lines[last - 1].service != lines[0].service) {
        last--; /* the first line ends it */
    }
    last--;
    lines[--kept] = lines[last];
    order->places[kept] = order->places[last];
    for (size_t i = last; i-- > 0;) {
        if (i == 0 || leads_to(order, class, request, i, kept)) {
            lines[--kept] = lines[i];
            order->places[kept] = order->places[i];
        }
    }
    request->count -= kept;
    memmove(lines, &lines[kept], request->count * sizeof *lines);
    return CPT_OK;
}
