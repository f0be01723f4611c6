/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_show.c - classes and relations of a model; see model_show.h */
#include "tool/model/model_show.h"

#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/model/model_text.h"
#include "tool/table/sheet.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PEOPLE_PAIRS = 40, PEOPLE_CLASSES = 20 };

/* A class of the model, and its pairs by what they are. */
struct class_row {
    const struct cpti_model_class *class;
    uint64_t tally[CPTI_MODEL_RELATIONS];
};

/* A pair, as it is told: of a fixed order, what comes first is the first one. */
struct pair_row {
    const struct cpti_model_class *class;
    const struct cpti_model_pair *pair;
    enum cpti_model_relation relation;
    unsigned turned; /* 1: the higher place is told first */
};

struct shown {
    const struct cpti_model_showing *showing;
    struct class_row *classes;
    struct pair_row *pairs;
    size_t pair_count;
};

static const struct cpti_model *model_of(const struct cpti_asked *asked)
{
    return ((const struct shown *)asked->context)->showing->model;
}

static struct cpti_cell kind_cell(const struct cpti_asked *asked, uint32_t number)
{
    return number != 0 ? cpti_cell_bytes(cpti_model_kind_text(model_of(asked),
                                                              number - 1, asked->room))
                       : cpti_cell_unknown();
}

/* --- Classes --- */

enum { ENTRY, SECOND, REQUESTS, PLACES, PAIRS, FIXED, NESTED, EXCLUSIVE, CERTAINTY };

static struct cpti_cell get_class(const struct cpti_asked *asked)
{
    const struct class_row *row = asked->row;
    const double certainty = cpti_model_certainty(row->tally);

    switch (asked->what) {
    case ENTRY:
        return kind_cell(asked, row->class->entry);
    case SECOND:
        return kind_cell(asked, row->class->second);
    case REQUESTS:
        return cpti_cell_count(row->class->requests);
    case PLACES:
        return cpti_cell_count(row->class->place_count);
    case PAIRS:
        return cpti_cell_count(row->class->pair_count);
    case FIXED:
        return cpti_cell_count(row->tally[CPTI_MODEL_BEFORE] +
                               row->tally[CPTI_MODEL_AFTER]);
    case NESTED:
        return cpti_cell_count(row->tally[CPTI_MODEL_CONTAINS] +
                               row->tally[CPTI_MODEL_WITHIN]);
    case EXCLUSIVE:
        return cpti_cell_count(row->tally[CPTI_MODEL_EXCLUSIVE]);
    default:
        return cpti_cell_known(certainty >= 0, certainty);
    }
}

static const struct cpti_column class_columns[] = {
    {"requests", "requests", CPTI_COUNT, get_class, REQUESTS, NULL},
    {"places", "events", CPTI_COUNT, get_class, PLACES,
     "kinds of events, each with which of its occurrences it is"},
    {"pairs", "pairs", CPTI_COUNT, get_class, PAIRS, "of these, that occur together"},
    {"fixed", "fixed", CPTI_COUNT, get_class, FIXED, "pairs that come in one order"},
    {"nested", "nested", CPTI_COUNT, get_class, NESTED,
     "pairs of intervals of which one contains the other"},
    {"exclusive", "exclusive", CPTI_COUNT, get_class, EXCLUSIVE,
     "pairs in either order that never overlap"},
    {"certainty", "certainty", CPTI_SHARE, get_class, CERTAINTY,
     "share of pairs with a fixed order, or nested, of those that are not rare"},
    {"second", "second", CPTI_NAME, get_class, SECOND,
     "the first event of another service"},
    {"entry", "entry", CPTI_NAME, get_class, ENTRY, "the first event"},
    {0},
};

const struct cpti_relation cpti_model_classes = {
    "classes", class_columns, "requests,places,pairs,fixed,certainty,entry",
    NULL,      true,          "show"};

/* --- Pairs --- */

enum {
    CLASS,
    FIRST,
    THEN,
    RELATION,
    BOTH,
    AGAINST,
    AGAINST_BACK,
    OVERLAPS,
    CONTAINS,
    WITNESS
};

static struct cpti_cell place_cell(const struct cpti_asked *asked,
                                   const struct pair_row *row, bool is_then)
{
    const struct cpti_model *model = model_of(asked);
    const uint32_t place =
        is_then == (row->turned != 0) ? row->pair->low : row->pair->high;

    return cpti_cell_bytes(cpti_model_place_text(
        model, &model->places[row->class->place + place], asked->room));
}

/* Of which witness a row tells: that of the counterexamples to its order, or of an
 * overlap. */
static uint32_t witness_of(const struct pair_row *row)
{
    const struct cpti_model_pair *pair = row->pair;

    return row->relation == CPTI_MODEL_EXCLUSIVE ? pair->witness[2]
           : row->relation == CPTI_MODEL_CONTAINS || row->relation == CPTI_MODEL_WITHIN
               ? CPTI_MODEL_NONE
               : pair->witness[row->turned];
}

/* A relation, told from the place that comes first. */
static enum cpti_model_relation told_as(enum cpti_model_relation relation)
{
    return relation == CPTI_MODEL_AFTER    ? CPTI_MODEL_BEFORE
           : relation == CPTI_MODEL_WITHIN ? CPTI_MODEL_CONTAINS
                                           : relation;
}

static struct cpti_cell get_pair(const struct cpti_asked *asked)
{
    const struct pair_row *row = asked->row;
    const struct cpti_model_pair *pair = row->pair;

    switch (asked->what) {
    case CLASS:
        return kind_cell(asked, row->class->entry);
    case FIRST:
    case THEN:
        return place_cell(asked, row, asked->what == THEN);
    case RELATION:
        return cpti_cell_text(cpti_model_relation_word(told_as(row->relation)));
    case BOTH:
        return cpti_cell_count(pair->both);
    case AGAINST:
        return cpti_cell_count(pair->refuted[row->turned]);
    case AGAINST_BACK:
        return cpti_cell_count(pair->refuted[1 - row->turned]);
    case OVERLAPS:
        return cpti_cell_count(pair->overlaps);
    case CONTAINS:
        return cpti_cell_count(pair->contains[row->turned]);
    default:
        return witness_of(row) != CPTI_MODEL_NONE
                   ? cpti_cell_bytes(
                         cpti_model_text(&model_of(asked)->ids, witness_of(row)))
                   : cpti_cell_unknown();
    }
}

static const struct cpti_column pair_columns[] = {
    {"requests", "requests", CPTI_COUNT, get_pair, BOTH, "that have both events"},
    {"against", "against", CPTI_COUNT, get_pair, AGAINST,
     "in which the first ended after the second began"},
    {"against_back", "back", CPTI_COUNT, get_pair, AGAINST_BACK,
     "in which the second ended after the first began"},
    {"overlaps", "overlaps", CPTI_COUNT, get_pair, OVERLAPS,
     "in which both happened at one time"},
    {"contains", "contains", CPTI_COUNT, get_pair, CONTAINS,
     "in which the second lay within the first"},
    {"witness", "witness", CPTI_NAME, get_pair, WITNESS,
     "the smallest id of a request that is against it"},
    {"class", "class", CPTI_NAME, get_pair, CLASS, "by which event they enter"},
    {"relation", "relation", CPTI_TEXT, get_pair, RELATION,
     "before, contains, exclusive, together, either or rare"},
    {"first", "first", CPTI_NAME, get_pair, FIRST, "an event"},
    {"then", "then", CPTI_NAME, get_pair, THEN, "another one"},
    {0},
};

const struct cpti_relation cpti_model_pairs = {
    "relations", pair_columns, "requests,against,witness,relation,first,then",
    NULL,        true,         "show"};

/* Whether --why is about @pair; @turned gets the order in which it names them. */
static bool is_asked(const struct cpti_model_showing *showing,
                     const struct cpti_model_class *class,
                     const struct cpti_model_pair *pair, unsigned *turned)
{
    const struct cpti_model *model = showing->model;
    const struct cpti_model_place *low = &model->places[class->place + pair->low];
    const struct cpti_model_place *high = &model->places[class->place + pair->high];

    *turned = 0;
    if (showing->why[0] == NULL) {
        return true;
    }
    if (cpti_model_place_is(model, low, showing->why[0]) &&
        cpti_model_place_is(model, high, showing->why[1])) {
        return true;
    }
    *turned = 1;
    return cpti_model_place_is(model, high, showing->why[0]) &&
           cpti_model_place_is(model, low, showing->why[1]);
}

static void take_pairs(struct shown *shown, const struct cpti_model_class *class)
{
    const struct cpti_model_showing *showing = shown->showing;
    const struct cpti_model *model = showing->model;

    for (size_t i = 0; i < class->pair_count; i++) {
        const struct cpti_model_pair *pair = &model->pairs[class->pair + i];
        const enum cpti_model_relation relation =
            cpti_model_relation_of(model, class, pair, &showing->rule);
        struct pair_row row = {.class = class, .pair = pair, .relation = relation};

        if (!is_asked(showing, class, pair, &row.turned)) {
            continue;
        }
        if (relation == CPTI_MODEL_BEFORE || relation == CPTI_MODEL_CONTAINS) {
            row.turned = 0;
        } else if (relation == CPTI_MODEL_AFTER || relation == CPTI_MODEL_WITHIN) {
            row.turned = 1;
        }
        shown->pairs[shown->pair_count++] = row;
    }
}

/* How far @row is from a fixed order: requests against the order that has fewer. */
static uint32_t doubt_of(const struct pair_row *row)
{
    const uint32_t *refuted = row->pair->refuted;

    return refuted[0] < refuted[1] ? refuted[0] : refuted[1];
}

/* What has no fixed order comes first, then what has some request against it; what is
 * rare comes last. */
static int by_doubt(const void *left, const void *right)
{
    const struct pair_row *a = left;
    const struct pair_row *b = right;
    const bool rare[2] = {a->relation == CPTI_MODEL_RARE,
                          b->relation == CPTI_MODEL_RARE};

    if (rare[0] != rare[1]) {
        return rare[0] ? 1 : -1;
    }
    if (doubt_of(a) != doubt_of(b)) {
        return doubt_of(a) > doubt_of(b) ? -1 : 1;
    }
    if (a->pair->both != b->pair->both) {
        return a->pair->both > b->pair->both ? -1 : 1;
    }
    return (a->pair > b->pair) - (a->pair < b->pair);
}

/* --- All --- */

static void put_all(const void *context, struct cpti_json *json)
{
    const struct shown *shown = context;
    const struct cpti_model *model = shown->showing->model;
    const struct cpti_view view =
        cpti_view_beside(shown->showing->view, &cpti_model_classes, NULL);
    const struct cpti_rows rows = CPTI_ROWS(shown->classes, model->class_count, shown);

    cpti_json_unsigned(json, "requests", model->requests);
    cpti_json_float(json, "violations", shown->showing->rule.violations);
    cpti_relation_json(&view, &rows, model->class_count, json);
}

static int print_head(const void *context)
{
    const struct shown *shown = context;
    const struct cpti_model *model = shown->showing->model;
    const struct cpti_view view =
        cpti_view_beside(shown->showing->view, &cpti_model_classes, NULL);
    const struct cpti_rows rows = CPTI_ROWS(shown->classes, model->class_count, shown);
    int status = CPTI_EXIT_DONE;

    if (shown->showing->why[0] != NULL) {
        return CPTI_EXIT_DONE;
    }
    (void)printf("%" PRIu32 " requests of %zu %s\n\n", model->requests,
                 model->class_count, model->class_count == 1 ? "class" : "classes");
    status = cpti_relation_print(&view, &rows, PEOPLE_CLASSES);
    (void)printf("\n");
    return status;
}

static bool shown_init(struct shown *shown)
{
    const struct cpti_model_showing *showing = shown->showing;
    const struct cpti_model *model = showing->model;

    shown->classes = calloc(model->class_count + 1, sizeof *shown->classes);
    shown->pairs = calloc(model->pair_count + 1, sizeof *shown->pairs);
    if (shown->classes == NULL || shown->pairs == NULL) {
        return false;
    }
    for (size_t i = 0; i < model->class_count; i++) {
        shown->classes[i].class = &model->classes[i];
        cpti_model_tally(model, &model->classes[i], &showing->rule,
                         shown->classes[i].tally);
        take_pairs(shown, &model->classes[i]);
    }
    return true;
}

/* Says that no pair is what was asked about, or that one of the two is no event. */
static int tell_none(const struct cpti_model_showing *showing)
{
    const struct cpti_model *model = showing->model;

    for (unsigned i = 0; i < 2; i++) {
        struct cpti_names names = {0};
        const char *near = NULL;
        bool is_there = false;
        int status = CPTI_EXIT_DONE;

        for (size_t k = 0; k < model->place_count; k++) {
            is_there |= cpti_model_place_is(model, &model->places[k], showing->why[i]);
        }
        if (is_there) {
            continue;
        }
        for (uint32_t k = 0; k < model->kind_count; k++) {
            char text[CPTI_MODEL_TEXT_BYTES];

            (void)cpti_model_kind_text(model, k, text);
            cpti_names_add(&names, text);
        }
        near = cpti_nearest_name(showing->why[i], &names);
        status = near != NULL
                     ? cpti_failed("the model has no event '%s'" CPTI_HINT
                                   "did you mean '%s'?",
                                   cpti_quoted(showing->why[i]), cpti_quoted(near))
                     : cpti_failed("the model has no event '%s'",
                                   cpti_quoted(showing->why[i]));
        cpti_names_deinit(&names);
        return status;
    }
    return cpti_failed("no request has both '%s' and '%s', of different units",
                       cpti_quoted(showing->why[0]), cpti_quoted(showing->why[1]));
}

int cpti_model_show(const struct cpti_model_showing *showing)
{
    struct shown shown = {.showing = showing};
    int status = CPTI_EXIT_DONE;

    if (!shown_init(&shown)) {
        status = cpti_failed("out of memory");
    } else if (shown.pair_count == 0 && showing->why[0] != NULL) {
        status = tell_none(showing);
    } else {
        const struct cpti_sheet sheet = {
            .view = showing->view,
            .rows = CPTI_ROWS(shown.pairs, shown.pair_count, &shown),
            .context = &shown,
            .people_max = PEOPLE_PAIRS,
            .counts_rest = true,
            .head = print_head,
            .put = put_all};

        qsort(shown.pairs, shown.pair_count, sizeof *shown.pairs, by_doubt);
        cpti_relation_sort(showing->view, shown.pairs, shown.pair_count,
                           sizeof *shown.pairs, &shown);
        status = cpti_sheet_print(&sheet);
    }
    free(shown.classes);
    free(shown.pairs);
    return status;
}
