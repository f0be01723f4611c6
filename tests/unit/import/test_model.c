/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_model.c - models learnt from requests, against a plain learner
 *
 * The plain learner looks at each two events of each request, and keeps a list of pairs
 * by their texts.
 */
#include "import/model/model_file.h"
#include "import/model/model_path.h"
#include "import/model/model_relations.h"
#include "tests/unit/import/model_system.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 96, PLAIN_PAIRS_MAX = 60000, PLAIN_PLACES_MAX = 400 };

/* --- The plain learner --- */

struct plain_pair {
    char class[TEXT];
    char places[2][TEXT]; /* in the order of their texts */
    uint32_t both;
    uint32_t counts[3]; /* refuted, and overlaps */
    uint32_t contains[2];
    char witness[3][SYSTEM_TEXT_BYTES];
};

struct plain_place {
    char text[TEXT];
    int64_t start;
    int64_t end;
    uint32_t unit;
    int64_t resolution;
    bool is_interval;
};

static struct plain_pair *plain_pairs;
static size_t plain_count;

static void text_of(const struct cpti_requests *requests, uint32_t kind, unsigned turn,
                    char text[TEXT])
{
    const uint32_t service = cpti_requests_kind_service(requests, kind);
    const struct cpt_bytes names[2] = {
        cpti_requests_text(requests, CPTI_NAMES_SERVICE, service),
        cpti_requests_text(requests, CPTI_NAMES_KIND, kind)};

    (void)snprintf(text, TEXT, "%.*s/%.*s#%02u", (int)names[0].bytes, names[0].data,
                   (int)names[1].bytes, names[1].data, turn);
}

/* The places of a request, and their number. */
static size_t plain_places(const struct cpti_requests *requests,
                           const struct cpti_request *request,
                           struct plain_place *places)
{
    size_t count = 0;

    for (size_t i = 0; i < request->count; i++) {
        const struct cpti_line *line = &request->lines[i];
        const int64_t end = line->end_ns - line->resolution_ns;
        struct plain_place *place = &places[count];
        unsigned turn = 1;

        for (size_t k = 0; k < i; k++) {
            turn += request->lines[k].kind == line->kind;
        }
        if (turn > CPTI_MODEL_TURNS_MAX + 1) {
            text_of(requests, line->kind, CPTI_MODEL_TURNS_MAX + 1, place->text);
            for (size_t k = 0; k < count; k++) {
                if (strcmp(places[k].text, place->text) == 0 && places[k].end < end) {
                    places[k].end = end;
                }
            }
            continue;
        }
        text_of(requests, line->kind, turn, place->text);
        place->start = line->begin_ns + line->resolution_ns;
        place->end = end;
        place->unit = turn > CPTI_MODEL_TURNS_MAX ? UINT32_MAX : line->unit;
        place->resolution = line->resolution_ns;
        place->is_interval = line->is_interval && turn <= CPTI_MODEL_TURNS_MAX;
        count++;
        if (count == PLAIN_PLACES_MAX) {
            abort();
        }
    }
    return count;
}

static struct plain_pair *plain_find(const char *class, const char *low,
                                     const char *high)
{
    struct plain_pair *pair = NULL;

    for (size_t i = 0; i < plain_count; i++) {
        pair = &plain_pairs[i];
        if (strcmp(pair->class, class) == 0 && strcmp(pair->places[0], low) == 0 &&
            strcmp(pair->places[1], high) == 0) {
            return pair;
        }
    }
    if (plain_count == PLAIN_PAIRS_MAX) {
        abort();
    }
    pair = &plain_pairs[plain_count++];
    *pair = (struct plain_pair){0};
    (void)snprintf(pair->class, TEXT, "%s", class);
    (void)snprintf(pair->places[0], TEXT, "%s", low);
    (void)snprintf(pair->places[1], TEXT, "%s", high);
    return pair;
}

/* Whether b lies in a, beyond what both resolutions leave open. */
static bool plain_contains(const struct plain_place *a, const struct plain_place *b)
{
    const int64_t open = a->resolution + b->resolution;
    const int64_t begins[2] = {a->start - a->resolution, b->start - b->resolution};
    const int64_t ends[2] = {a->end + a->resolution, b->end + b->resolution};

    return a->is_interval && b->is_interval && begins[0] - open <= begins[1] &&
           ends[1] <= ends[0] + open;
}

static void plain_count_pair(const char *class, const struct plain_place *a,
                             const struct plain_place *b, struct cpt_bytes id)
{
    const bool turned = strcmp(a->text, b->text) > 0;
    const struct plain_place *low = turned ? b : a;
    const struct plain_place *high = turned ? a : b;
    struct plain_pair *pair = NULL;
    bool holds[3];

    if (a->unit == b->unit) {
        return;
    }
    pair = plain_find(class, low->text, high->text);
    pair->both++;
    pair->contains[0] += plain_contains(low, high);
    pair->contains[1] += plain_contains(high, low);
    holds[0] = high->start < low->end;
    holds[1] = low->start < high->end;
    holds[2] = holds[0] && holds[1];
    for (unsigned i = 0; i < 3; i++) {
        char text[SYSTEM_TEXT_BYTES];

        (void)snprintf(text, sizeof text, "%.*s", (int)id.bytes, id.data);
        pair->counts[i] += holds[i];
        if (holds[i] &&
            (pair->witness[i][0] == '\0' || strcmp(text, pair->witness[i]) < 0)) {
            memcpy(pair->witness[i], text, sizeof text);
        }
    }
}

static void plain_class(const struct cpti_requests *requests,
                        const struct cpti_request *request, char class[TEXT])
{
    const struct cpti_line *second = NULL;
    char text[TEXT];
    size_t bytes = 0;

    for (size_t i = 0; i < request->count && second == NULL; i++) {
        if (request->lines[i].service != request->lines[0].service) {
            second = &request->lines[i];
        }
    }
    text_of(requests, request->lines[0].kind, 0, class);
    bytes = strlen(class);
    if (second != NULL) {
        text_of(requests, second->kind, 0, text);
        (void)snprintf(class + bytes, TEXT - bytes, " %.40s", text);
    }
}

static void plain_learn(struct cpti_requests *requests)
{
    static struct plain_place places[PLAIN_PLACES_MAX];
    struct cpti_request request;

    plain_count = 0;
    while (cpti_requests_next(requests, &request) == CPT_OK) {
        const size_t count = plain_places(requests, &request, places);
        char class[TEXT];

        plain_class(requests, &request, class);
        for (size_t i = 0; i < count; i++) {
            for (size_t k = i + 1; k < count; k++) {
                plain_count_pair(class, &places[i], &places[k], request.id);
            }
        }
    }
}

/* --- The same --- */

static void model_text(const struct cpti_model *model, uint32_t kind, unsigned turn,
                       char text[TEXT])
{
    const struct cpt_bytes service = cpti_model_service(model, kind);
    const struct cpt_bytes name = cpti_model_name(model, kind);

    (void)snprintf(text, TEXT, "%.*s/%.*s#%02u", (int)service.bytes, service.data,
                   (int)name.bytes, name.data, turn);
}

static void check_pair(const struct cpti_model *model,
                       const struct cpti_model_class *class, const char *class_text,
                       const struct cpti_model_pair *pair)
{
    const struct cpti_model_place *places = &model->places[class->place];
    const uint32_t counts[3] = {pair->refuted[0], pair->refuted[1], pair->overlaps};
    const size_t before = plain_count;
    struct plain_pair *plain = NULL;
    char texts[2][TEXT];

    model_text(model, places[pair->low].kind, places[pair->low].turn, texts[0]);
    model_text(model, places[pair->high].kind, places[pair->high].turn, texts[1]);
    plain = plain_find(class_text, texts[0], texts[1]);
    CU_ASSERT_EQUAL_FATAL(plain_count, before);
    CU_ASSERT_EQUAL(plain->both, pair->both);
    CU_ASSERT_EQUAL(plain->contains[0], pair->contains[0]);
    CU_ASSERT_EQUAL(plain->contains[1], pair->contains[1]);
    for (unsigned i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(plain->counts[i], counts[i]);
        if (counts[i] == 0) {
            CU_ASSERT_EQUAL(pair->witness[i], CPTI_MODEL_NONE);
        } else {
            CU_ASSERT_TRUE(
                cpt_bytes_equal(cpti_model_text(&model->ids, pair->witness[i]),
                                cpt_bytes_of(plain->witness[i])));
        }
    }
}

static void check_model(const struct cpti_model *model)
{
    CU_ASSERT_EQUAL(model->pair_count, plain_count);
    for (size_t i = 0; i < model->class_count; i++) {
        const struct cpti_model_class *class = &model->classes[i];
        char texts[2][TEXT];

        model_text(model, class->entry - 1, 0, texts[0]);
        if (class->second != 0) {
            const size_t bytes = strlen(texts[0]);

            model_text(model, class->second - 1, 0, texts[1]);
            (void)snprintf(texts[0] + bytes, TEXT - bytes, " %.40s", texts[1]);
        }
        for (size_t k = 0; k < class->pair_count; k++) {
            check_pair(model, class, texts[0], &model->pairs[class->pair + k]);
        }
    }
}

static struct system_events *new_events(void)
{
    struct system_events *events = calloc(1, sizeof *events);

    CU_ASSERT_PTR_NOT_NULL_FATAL(events);
    return events;
}

static void test_plain_learner(void)
{
    const uint64_t seed = test_random_seed("models");
    const uint64_t cases = test_case_count(40);

    plain_pairs = calloc(PLAIN_PAIRS_MAX, sizeof *plain_pairs);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plain_pairs);
    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct system_events *events = new_events();
        struct cpti_requests *requests = NULL;
        struct cpti_model *model = NULL;

        system_random(events, 30, i % 2 == 0, &random);
        requests = system_requests(events, 1, 0);
        plain_learn(requests);
        cpti_requests_free(requests);
        model = system_learn(NULL, system_requests(events, 1, 0));
        CU_ASSERT_PTR_NOT_NULL_FATAL(model);
        check_model(model);
        cpti_model_free(model);
        free(events);
    }
    free(plain_pairs);
}

/* --- Any order, any parts --- */

/* The model of @events in @parts, each of which is written and read, in a random
 * order. */
static struct cpti_model *merge_parts(const struct system_events *events, size_t parts,
                                      struct test_random *random)
{
    struct cpti_model_learner *learner = cpti_model_learner_new(NULL, NULL);
    const size_t first = test_random_below(random, parts);
    struct cpti_model *merged = NULL;

    for (size_t i = 0; i < parts; i++) {
        struct cpti_model *part =
            system_learn(NULL, system_requests(events, parts, (first + i) % parts));
        struct cpti_model *read = NULL;
        size_t count = 0;
        unsigned char *bytes = system_encode(part, &count);

        CU_ASSERT_EQUAL(cpti_model_read(NULL, bytes, count, &read, NULL), CPT_OK);
        CU_ASSERT_EQUAL(cpti_model_learner_absorb(learner, read), CPT_OK);
        cpti_model_free(part);
        cpti_model_free(read);
        free(bytes);
    }
    CU_ASSERT_EQUAL(cpti_model_learner_finish(learner, &merged), CPT_OK);
    cpti_model_learner_free(learner);
    return merged;
}

static void test_shuffles(void)
{
    const uint64_t seed = test_random_seed("shuffles");
    const uint64_t cases = test_case_count(1000);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct system_events *events = new_events();
        struct cpti_model *model = NULL;
        struct cpti_model *merged = NULL;
        unsigned char *bytes[2];
        size_t counts[2] = {0, 0};

        system_random(events, 1 + test_random_below(&random, 20), i % 2 == 0, &random);
        model = system_learn(NULL, system_requests(events, 1, 0));
        system_shuffle(events, &random);
        merged = merge_parts(events, 1 + test_random_below(&random, 5), &random);
        CU_ASSERT_TRUE_FATAL(model != NULL && merged != NULL);
        bytes[0] = system_encode(model, &counts[0]);
        bytes[1] = system_encode(merged, &counts[1]);
        CU_ASSERT_EQUAL(counts[0], counts[1]);
        CU_ASSERT_TRUE(counts[0] == counts[1] &&
                       memcmp(bytes[0], bytes[1], counts[0]) == 0);
        free(bytes[0]);
        free(bytes[1]);
        cpti_model_free(model);
        cpti_model_free(merged);
        free(events);
    }
}

/* --- Limits --- */

/* The model of @events within limits. */
static struct cpti_model *learn_within(const struct system_events *events,
                                       const struct cpti_model_learner_options *options)
{
    struct cpti_model_learner *learner = cpti_model_learner_new(NULL, options);
    struct cpti_requests *requests = system_requests(events, 1, 0);
    struct cpti_request request;
    struct cpti_model *model = NULL;

    cpti_model_learner_from(learner, requests);
    while (cpti_requests_next(requests, &request) == CPT_OK) {
        CU_ASSERT_EQUAL(cpti_model_learner_add(learner, &request), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_model_learner_finish(learner, &model), CPT_OK);
    cpti_model_learner_free(learner);
    cpti_requests_free(requests);
    return model;
}

/* A request of one class with @count different events. */
static void add_wide(struct system_events *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[SYSTEM_TEXT_BYTES];

        (void)snprintf(name, sizeof name, "e%03u", (unsigned)i);
        system_add(events, "wide", i == 0 ? "a" : "b", "", name, (int64_t)i, -1);
    }
}

static void test_pairs_max(void)
{
    static const struct {
        size_t events;
        size_t pairs_max;
        uint64_t dropped;
    } cases[] = {{64, 64 * 64 - 1, 64}, {64, 64 * 64, 0},       {65, 64 * 64, 1},
                 {65, 128 * 128, 0},    {70, 128 * 128 - 1, 6}, {70, 64 * 64, 6}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct cpti_model_learner_options options = {.pairs_max =
                                                               cases[i].pairs_max};
        struct system_events *events = new_events();
        struct cpti_model *model = NULL;

        add_wide(events, cases[i].events);
        model = learn_within(events, &options);
        CU_ASSERT_EQUAL(model->dropped_lines, cases[i].dropped);
        CU_ASSERT_EQUAL(model->dropped_count, cases[i].dropped);
        CU_ASSERT_EQUAL(model->place_count, cases[i].events - cases[i].dropped);
        cpti_model_free(model);
        free(events);
    }
}

/* Above the limit of cells, a part of the requests stands for all: the same one in any
 * order and any parts. */
static void test_cells_max(void)
{
    const uint64_t seed = test_random_seed("cells");

    for (uint64_t i = 0; i < 20; i++) {
        const struct cpti_model_learner_options options = {.cells_max = 60};
        struct test_random random = {seed + i};
        struct system_events *events = new_events();
        struct cpti_model_learner *learner = cpti_model_learner_new(NULL, &options);
        struct cpti_model *models[2];
        unsigned char *bytes[2];
        size_t counts[2];

        system_random(events, 60, false, &random);
        models[0] = learn_within(events, &options);
        CU_ASSERT_TRUE(models[0]->cell_count <= 60);
        CU_ASSERT_TRUE(models[0]->level > 0);
        for (size_t k = 0; k < 4; k++) {
            struct cpti_model *part = system_learn(NULL, system_requests(events, 4, k));

            CU_ASSERT_EQUAL(cpti_model_learner_absorb(learner, part), CPT_OK);
            cpti_model_free(part);
        }
        CU_ASSERT_EQUAL(cpti_model_learner_finish(learner, &models[1]), CPT_OK);
        for (size_t k = 0; k < 2; k++) {
            bytes[k] = system_encode(models[k], &counts[k]);
            cpti_model_free(models[k]);
        }
        CU_ASSERT_TRUE(counts[0] == counts[1] &&
                       memcmp(bytes[0], bytes[1], counts[0]) == 0);
        free(bytes[0]);
        free(bytes[1]);
        cpti_model_learner_free(learner);
        free(events);
    }
}

/* --- Relations --- */

/* Requests in which a of one service is @against times behind b of the other, of @all;
 * intervals of @length each. */
static struct cpti_model *two_places(uint32_t all, uint32_t against, int64_t length)
{
    struct system_events *events = new_events();
    struct cpti_model *model = NULL;

    for (uint32_t i = 0; i < all; i++) {
        const bool turned = i < against;
        char id[SYSTEM_TEXT_BYTES];

        (void)snprintf(id, sizeof id, "r%05u", (unsigned)i);
        system_add(events, id, "entry", "", "in", 0, -1);
        system_add(events, id, "x", "", "a", turned ? 50 : 10,
                   turned ? 50 + length : 10 + length);
        system_add(events, id, "y", "", "b", 30, 30 + length);
    }
    model = system_learn(NULL, system_requests(events, 1, 0));
    free(events);
    return model;
}

static void test_relations(void)
{
    static const struct {
        uint32_t all;
        uint32_t against;
        int64_t length; /* of the intervals; below 0: points */
        double violations;
        enum cpti_model_relation expected;
    } cases[] = {
        {4, 0, -1, 0.02, CPTI_MODEL_RARE},
        {5, 0, -1, 0.02, CPTI_MODEL_BEFORE},
        {100, 2, -1, 0.02, CPTI_MODEL_BEFORE},
        {100, 2, -1, 0, CPTI_MODEL_EITHER},
        {100, 3, -1, 0.02, CPTI_MODEL_EITHER},
        {100, 98, -1, 0.02, CPTI_MODEL_AFTER},
        {100, 50, 15, 0.02, CPTI_MODEL_EXCLUSIVE},
        {100, 50, 20, 0.02, CPTI_MODEL_EXCLUSIVE}, /* touching is no overlap */
        {100, 50, 21, 0.02, CPTI_MODEL_EITHER},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct cpti_model_rule rule = {cases[i].violations, CPTI_MODEL_SUPPORT};
        struct cpti_model *model =
            two_places(cases[i].all, cases[i].against, cases[i].length);
        bool is_found = false;

        for (size_t c = 0; c < model->class_count; c++) {
            const struct cpti_model_class *class = &model->classes[c];

            for (size_t k = 0; k < class->pair_count && !is_found; k++) {
                const struct cpti_model_pair *pair = &model->pairs[class->pair + k];
                const uint32_t kind = model->places[class->place + pair->low].kind;

                if (cpt_bytes_equal(cpti_model_name(model, kind), cpt_bytes_of("a")) &&
                    pair->both == cases[i].all) {
                    CU_ASSERT_EQUAL(cpti_model_relation_of(model, class, pair, &rule),
                                    cases[i].expected);
                    is_found = true;
                }
            }
        }
        /* classes are by the first other service, so only one order is in each */
        CU_ASSERT_TRUE(is_found ||
                       (cases[i].against > 0 && cases[i].against < cases[i].all));
        cpti_model_free(model);
    }
}

/* A call within its caller; in @out of 100 requests it ends after it. */
static enum cpti_model_relation nested(uint32_t out)
{
    const struct cpti_model_rule rule = {CPTI_MODEL_VIOLATIONS, CPTI_MODEL_SUPPORT};
    struct system_events *events = new_events();
    struct cpti_model *model = NULL;
    enum cpti_model_relation relation = CPTI_MODEL_RARE;

    for (uint32_t i = 0; i < 100; i++) {
        char id[SYSTEM_TEXT_BYTES];

        (void)snprintf(id, sizeof id, "r%u", (unsigned)i);
        system_add(events, id, "a", "", "caller", 0, 100);
        system_add(events, id, "b", "", "call", 10, i < out ? 110 : 90);
    }
    model = system_learn(NULL, system_requests(events, 1, 0));
    CU_ASSERT_EQUAL_FATAL(model->pair_count, 1);
    CU_ASSERT_EQUAL(model->pairs[0].contains[0], 100 - out);
    relation = cpti_model_relation_of(model, model->classes, model->pairs, &rule);
    cpti_model_free(model);
    free(events);
    return relation;
}

static void test_nested(void)
{
    CU_ASSERT_EQUAL(nested(0), CPTI_MODEL_CONTAINS);
    CU_ASSERT_EQUAL(nested(2), CPTI_MODEL_CONTAINS);
    CU_ASSERT_EQUAL(nested(3), CPTI_MODEL_EITHER);
}

/* --- Paths --- */

/* What stays of a request of "a1 b1 c1 a2", of which b1 and c1 come in either order in
 * @turned of 20 requests. */
static void expect_path(uint32_t turned, const char *expected)
{
    const struct cpti_model_rule rule = {CPTI_MODEL_VIOLATIONS, 1};
    struct system_events *events = new_events();
    struct cpti_requests *requests = NULL;
    struct cpti_model *model = NULL;
    struct cpti_model_order *order = NULL;
    struct cpti_request request;
    char text[TEXT] = "";

    for (uint32_t i = 0; i < 20; i++) {
        const bool is_late = i > 0 && i <= turned;
        char id[SYSTEM_TEXT_BYTES];

        (void)snprintf(id, sizeof id, "r%02u", (unsigned)i);
        system_add(events, id, "a", "", "a1", i * 1000, -1);
        system_add(events, id, "b", "", "b1", i * 1000 + 10, -1);
        system_add(events, id, "c", "", "c1", i * 1000 + (is_late ? 40 : 20), -1);
        system_add(events, id, "a", "", "a2", i * 1000 + 30, -1);
        system_add(events, id, "b", "", "b2", i * 1000 + 50, -1);
    }
    model = system_learn(NULL, system_requests(events, 1, 0));
    requests = system_requests(events, 1, 0);
    order = cpti_model_order_new(NULL, model, requests, &rule);
    CU_ASSERT_PTR_NOT_NULL_FATAL(order);
    CU_ASSERT_EQUAL_FATAL(cpti_requests_next(requests, &request), CPT_OK);
    CU_ASSERT_EQUAL(cpti_model_order_keep(order, &request), CPT_OK);
    for (size_t i = 0; i < request.count; i++) {
        const struct cpt_bytes name =
            cpti_requests_text(requests, CPTI_NAMES_KIND, request.lines[i].kind);
        const size_t bytes = strlen(text);

        (void)snprintf(text + bytes, TEXT - bytes, "%.*s ", (int)name.bytes, name.data);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
    cpti_model_order_free(order);
    cpti_requests_free(requests);
    cpti_model_free(model);
    free(events);
}

static void test_path(void)
{
    expect_path(0, "a1 b1 c1 a2 ");
    expect_path(6, "a1 b1 a2 "); /* c1 comes behind a2 in some */
}

/* --- The file --- */

static unsigned char *some_bytes(size_t *count)
{
    struct test_random random = {11};
    struct system_events *events = new_events();
    struct cpti_model *model = NULL;
    unsigned char *bytes = NULL;

    system_random(events, 20, true, &random);
    model = system_learn(NULL, system_requests(events, 1, 0));
    bytes = system_encode(model, count);
    cpti_model_free(model);
    free(events);
    return bytes;
}

static void refuse(const unsigned char *bytes, size_t count, cpt_status status,
                   uint64_t offset, const char *sentence)
{
    struct cpt_error error = {0};
    struct cpti_model *model = NULL;

    CU_ASSERT_EQUAL(cpti_model_read(NULL, bytes, count, &model, &error), status);
    CU_ASSERT_EQUAL(error.offset, offset);
    CU_ASSERT_STRING_EQUAL(error.sentence, sentence);
    cpti_model_free(model);
}

static void test_file(void)
{
    size_t count = 0;
    unsigned char *bytes = some_bytes(&count);
    struct cpti_model *model = NULL;

    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_NOT_EQUAL(cpti_model_read(NULL, bytes, i, &model, NULL), CPT_OK);
        bytes[i] ^= 0x10;
        CU_ASSERT_NOT_EQUAL(cpti_model_read(NULL, bytes, count, &model, NULL), CPT_OK);
        bytes[i] ^= 0x10;
    }
    refuse(bytes, 6, CPT_CORRUPT, 0, "the file is no model");
    refuse(bytes, 19, CPT_TRUNCATED, 0, "the model ends in its head");
    bytes[CPTI_MODEL_MAGIC_BYTES] = 2;
    refuse(bytes, count, CPT_VERSION, 7, "the model has version 2, not 1");
    bytes[CPTI_MODEL_MAGIC_BYTES] = 1;
    bytes[20] ^= 1;
    refuse(bytes, count, CPT_CORRUPT, count - CPTI_MODEL_CRC_BYTES,
           "the model fails its checksum");
    free(bytes);
}

static bool without_memory(const struct cpt_alloc *alloc)
{
    struct test_random random = {12};
    struct system_events *events = new_events();
    struct cpti_model_learner *learner = NULL;
    struct cpti_model *model = NULL;
    struct cpti_model *read = NULL;
    struct cpti_model *merged = NULL;
    unsigned char *bytes = NULL;
    size_t count = 0;
    bool is_done = false;

    system_random(events, 4, true, &random);
    model = system_learn(NULL, system_requests(events, 1, 0));
    bytes = system_encode(model, &count);
    cpti_model_free(model);
    model = system_learn(alloc, system_requests(events, 1, 0));
    if (model != NULL && cpti_model_read(alloc, bytes, count, &read, NULL) == CPT_OK) {
        learner = cpti_model_learner_new(alloc, NULL);
        is_done = learner != NULL &&
                  cpti_model_learner_absorb(learner, read) == CPT_OK &&
                  cpti_model_learner_absorb(learner, model) == CPT_OK &&
                  cpti_model_learner_finish(learner, &merged) == CPT_OK;
    }
    cpti_model_learner_free(learner);
    cpti_model_free(model);
    cpti_model_free(read);
    cpti_model_free(merged);
    free(bytes);
    free(events);
    return is_done;
}

static void test_without_memory(void)
{
    each_allocation_failure(without_memory);
}

CU_TestInfo cpt_model_tests[] = {
    {"a model is that of a plain learner", test_plain_learner},
    {"any order and any parts give the same bytes", test_shuffles},
    {"pairs beyond the limit are left out", test_pairs_max},
    {"beyond the limit of cells a part stands for all", test_cells_max},
    {"what two places are", test_relations},
    {"intervals within others", test_nested},
    {"the path by learnt order", test_path},
    {"damaged files are refused", test_file},
    {"without memory", test_without_memory},
    CU_TEST_INFO_NULL,
};
