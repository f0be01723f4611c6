/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_classes.c - what can be said of requests by their lines; see event_classes.h */
#include "tool/events/event_classes.h"

#include <stdlib.h>
#include <string.h>

enum { PAIR_REQUESTS_MIN = 5, UNFIXED_PERCENT = 2 };

struct cpti_event_classes {
    struct cpti_event_class items[CPTI_CLASSES_MAX];
    size_t count;
    const struct cpti_line
        *firsts[CPTI_CLASS_KINDS_MAX]; /* of each kind, of a request */
    unsigned char *has_callee;         /* of each span, of a request */
    size_t callee_capacity;
};

struct cpti_event_classes *cpti_event_classes_new(void)
{
    return calloc(1, sizeof(struct cpti_event_classes));
}

void cpti_event_classes_free(struct cpti_event_classes *classes)
{
    for (size_t i = 0; classes != NULL && i < classes->count; i++) {
        free(classes->items[i].before);
    }
    if (classes != NULL) {
        cpt_alloc_free(NULL, classes->has_callee);
    }
    free(classes);
}

/* The class of requests whose entry is @kind; NULL without memory. */
static struct cpti_event_class *class_of(struct cpti_event_classes *classes,
                                         uint32_t kind)
{
    struct cpti_event_class *class = NULL;

    for (size_t i = 0; i < classes->count; i++) {
        if (classes->items[i].kind == kind || i == CPTI_CLASSES_MAX - 1) {
            return &classes->items[i];
        }
    }
    class = &classes->items[classes->count];
    class->kind = classes->count == CPTI_CLASSES_MAX - 1 ? UINT32_MAX : kind;
    class->before = calloc((size_t)CPTI_CLASS_KINDS_MAX * CPTI_CLASS_KINDS_MAX,
                           sizeof *class->before);
    if (class->before == NULL) {
        return NULL;
    }
    classes->count++;
    return class;
}

/* --- Order --- */

/* The place of @kind in the class, or CPTI_CLASS_KINDS_MAX. */
static size_t place_of(struct cpti_event_class *class, uint32_t kind)
{
    size_t i = 0;

    while (i < class->kind_count && class->kinds[i] != kind) {
        i++;
    }
    if (i == class->kind_count && i < CPTI_CLASS_KINDS_MAX) {
        class->kinds[class->kind_count++] = kind;
    }
    return i;
}

/* Whether @left came before @right by more than their stamps leave open. */
static bool is_before(const struct cpti_line *left, const struct cpti_line *right)
{
    return right->begin_ns - left->begin_ns >
           (int64_t)left->resolution_ns + (int64_t)right->resolution_ns;
}

static void count_order(struct cpti_event_classes *classes,
                        struct cpti_event_class *class,
                        const struct cpti_request *request)
{
    memset(classes->firsts, 0, sizeof classes->firsts);
    for (size_t i = 0; i < request->count; i++) {
        const size_t place = place_of(class, request->lines[i].kind);

        if (place < CPTI_CLASS_KINDS_MAX && classes->firsts[place] == NULL) {
            classes->firsts[place] = &request->lines[i];
        }
    }
    for (size_t a = 0; a < class->kind_count; a++) {
        for (size_t b = 0; b < class->kind_count; b++) {
            if (a != b && classes->firsts[a] != NULL && classes->firsts[b] != NULL) {
                class->before[a * CPTI_CLASS_KINDS_MAX + b] +=
                    is_before(classes->firsts[a], classes->firsts[b]);
            }
        }
    }
}

bool cpti_event_class_order(const struct cpti_event_class *class, double *share,
                            uint32_t pair[2])
{
    uint64_t pairs = 0;
    uint64_t fixed = 0;
    uint64_t worst = 0;

    for (size_t a = 0; a < class->kind_count; a++) {
        for (size_t b = 0; b < a; b++) {
            const uint64_t ab = class->before[a * CPTI_CLASS_KINDS_MAX + b];
            const uint64_t ba = class->before[b * CPTI_CLASS_KINDS_MAX + a];
            const uint64_t less = ab < ba ? ab : ba;

            if (ab + ba < PAIR_REQUESTS_MIN) {
                continue;
            }
            pairs++;
            fixed += 100 * less <= UNFIXED_PERCENT * (ab + ba);
            if (less > worst) {
                worst = less;
                pair[0] = class->kinds[a];
                pair[1] = class->kinds[b];
            }
        }
    }
    *share = pairs > 0 ? (double)fixed / (double)pairs : 0;
    return pairs > 0;
}

/* --- Gaps and cover --- */

static void add_gap(struct cpti_event_class *class, uint32_t from, uint32_t to,
                    double ns)
{
    struct cpti_gap *gap = class->gaps;
    size_t left = class->gap_count;

    while (left > 0 && (gap->from != from || gap->to != to)) {
        gap++;
        left--;
    }
    class->gap_ns += ns;
    if (left == 0) {
        if (class->gap_count == CPTI_CLASS_GAPS_MAX) {
            return;
        }
        class->gap_count++;
        *gap = (struct cpti_gap){from, to, 0};
    }
    gap->ns += ns;
}

/* Time between lines of different services: it is spent on a way, or unseen. */
static void count_gaps(struct cpti_event_class *class,
                       const struct cpti_request *request)
{
    const struct cpti_line *lines = request->lines;

    class->span_ns += (double)(lines[request->count - 1].begin_ns - lines[0].begin_ns);
    for (size_t i = 1; i < request->count; i++) {
        if (lines[i].service != lines[i - 1].service) {
            add_gap(class, lines[i - 1].kind, lines[i].kind,
                    (double)(lines[i].begin_ns - lines[i - 1].begin_ns));
        }
    }
}

/* How much of the interval of the entry lies between other lines. */
static void count_cover(struct cpti_event_class *class,
                        const struct cpti_event_trace *trace)
{
    const struct cpti_inferred_span *entry = &trace->spans[0];
    int64_t begin_ns = INT64_MAX;
    int64_t end_ns = INT64_MIN;

    for (size_t i = 0; i < trace->request.count; i++) {
        const struct cpti_line *line = &trace->request.lines[i];

        if (i != entry->line) {
            begin_ns = line->begin_ns < begin_ns ? line->begin_ns : begin_ns;
            end_ns = line->end_ns > end_ns ? line->end_ns : end_ns;
        }
    }
    begin_ns = begin_ns < entry->begin_ns ? entry->begin_ns : begin_ns;
    end_ns = end_ns > entry->end_ns ? entry->end_ns : end_ns;
    class->span_ns += (double)(entry->end_ns - entry->begin_ns);
    class->cover_ns += end_ns > begin_ns ? (double)(end_ns - begin_ns) : 0;
}

/* Calls that have no line of their callee. */
static cpt_status count_calls(struct cpti_event_classes *classes,
                              struct cpti_event_class *class,
                              const struct cpti_event_trace *trace)
{
    void *has_callee = classes->has_callee;
    const cpt_status status =
        cpt_alloc_grow(NULL, &has_callee, &classes->callee_capacity, trace->span_count,
                       UINT32_MAX, sizeof *classes->has_callee);

    classes->has_callee = has_callee;
    if (status != CPT_OK) {
        return status;
    }
    memset(classes->has_callee, 0, trace->span_count);
    for (size_t i = 0; i < trace->span_count; i++) {
        if (trace->spans[i].parent != CPTI_NO_PARENT) {
            classes->has_callee[trace->spans[i].parent] = 1;
        }
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct cpti_inferred_span *span = &trace->spans[i];

        if (span->role == CPTI_EVENT_CLIENT && classes->has_callee[i] == 0) {
            add_gap(class, span->kind, UINT32_MAX,
                    (double)(span->end_ns - span->begin_ns));
        }
    }
    return CPT_OK;
}

/* --- Classes --- */

cpt_status cpti_event_classes_add(struct cpti_event_classes *classes,
                                  const struct cpti_event_trace *trace)
{
    struct cpti_event_class *class = class_of(classes, trace->spans[0].kind);

    if (class == NULL) {
        return CPT_NO_MEMORY;
    }
    class->requests++;
    class->methods[trace->method]++;
    count_order(classes, class, &trace->request);
    if (trace->method == CPTI_EVENT_BY_POINTS) {
        count_gaps(class, &trace->request);
    } else {
        count_cover(class, trace);
        return count_calls(classes, class, trace);
    }
    return CPT_OK;
}

static int by_requests(const void *left, const void *right)
{
    const struct cpti_event_class *a = left;
    const struct cpti_event_class *b = right;

    if (a->requests != b->requests) {
        return a->requests > b->requests ? -1 : 1;
    }
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static int by_ns(const void *left, const void *right)
{
    const struct cpti_gap *a = left;
    const struct cpti_gap *b = right;

    if (a->ns != b->ns) {
        return a->ns > b->ns ? -1 : 1;
    }
    return a->from != b->from ? (a->from > b->from) - (a->from < b->from)
                              : (a->to > b->to) - (a->to < b->to);
}

const struct cpti_event_class *
cpti_event_classes_sort(struct cpti_event_classes *classes, size_t *count)
{
    qsort(classes->items, classes->count, sizeof *classes->items, by_requests);
    for (size_t i = 0; i < classes->count; i++) {
        struct cpti_event_class *class = &classes->items[i];

        qsort(class->gaps, class->gap_count, sizeof *class->gaps, by_ns);
    }
    *count = classes->count;
    return classes->items;
}

enum cpti_event_method cpti_event_class_method(const struct cpti_event_class *class)
{
    enum cpti_event_method most = 0;

    for (unsigned i = 1; i < CPTI_EVENT_METHODS; i++) {
        most =
            class->methods[i] > class->methods[most] ? (enum cpti_event_method)i : most;
    }
    return most;
}
