/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gather_store.c - trees out of ClickHouse; see gather_store.h
 *
 *      survey      which entry services, how many requests          each shard
 *      undecided   requests that the database cannot decide about   row by row, here
 *      ask         sums of all others                               each shard
 *
 * A percentile takes four more queries. The first returns the weights of all latencies
 * in steps of 2^36 ns (a minute), the next those of the step with the percentile in
 * steps of 2^24 ns, and so on down to a nanosecond. The result is exact, and no answer
 * has many rows.
 *
 * A sample is the same as from the logs: Algorithm R over all selected requests, in the
 * order of their logs' names and of their places there. The database lists the places;
 * the sample is drawn here, as identities, whose sums are then queried.
 */
#include "tool/gather/gather_store.h"

#include "tool/gather/gather.h"
#include "tool/gather/population.h"
#include "tool/requests/stream.h"
#include "tool/base/files.h"
#include "tool/base/output.h"
#include "tool/store/question.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_alloc.h"
#include "cpt/cpt_path.h"
#include "tool/store/store.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

/* A database and the query to it. */
struct database {
    const char *address;
    struct cpti_store *store;
    struct cpti_selection *selection;
    struct cpti_question *asked;
    struct cpt_error error;
};

static int open_database(struct database *database, const char *address,
                         struct cpti_selection *selection, bool is_population)
{
    int status;

    *database = (struct database){.address = address, .selection = selection};
    database->asked = cpti_question_new(selection, is_population);
    status = database->asked == NULL
                 ? CPTI_EXIT_FAILED
                 : cpti_store_open_operand(address, &database->store);
    return status;
}

static void close_database(struct database *database)
{
    cpti_store_close(database->store);
    free(database->asked);
    cpti_selection_deinit(database->selection);
}

static int exit_of(const struct database *database, cpt_status status)
{
    return cpti_store_exit_status(database->address, status, &database->error);
}

/* Whether the record of @row counts; in a database also one of an event log. */
static enum cpti_selected select_row(const struct database *database,
                                     const struct cpti_store_row *row)
{
    const enum cpti_selected selected =
        cpti_selection_counts(database->selection, row->record);

    return selected == CPTI_EVENTS_EXCLUDED ? CPTI_SELECTED : selected;
}

/* --- Survey --- */

/* What the database has. */
struct found {
    struct database *database;
    struct cpt_tree *tree;
    struct cpt_tree *rest; /* of the requests that were decided here */
    struct cpt_path *path;
    struct cpti_gather *gather; /* its `request` needs single requests; or NULL */
    uint64_t rest_count;
    void (*service)(void *context, const char *name);
    void *context;
    char first[CPTI_TEXT_BYTES];
    int service_count; /* 0, 1, or 2 for several */
    bool has_failed;   /* gather->request failed, and printed its error */
};

static void meet_service_name(struct found *found, struct cpt_bytes service)
{
    const char *name = cpti_quoted_bytes(service);

    found->service(found->context, name);
    if (found->service_count == 0) {
        (void)snprintf(found->first, sizeof found->first, "%s", name);
        found->service_count = 1;
    } else if (strcmp(found->first, name) != 0) {
        found->service_count = 2;
    }
}

static cpt_status meet_service(void *context, const struct cpti_store_service *service)
{
    struct found *found = context;
    const struct cpti_fold_counts counts = {.record_count = service->record_count,
                                            .forced_count = service->forced_count,
                                            .fragment_count = service->fragment_count,
                                            .local_root_count =
                                                service->local_root_count};
    const cpt_status status = cpti_gather_count(found->tree, &counts);

    if (status == CPT_OK && service->selected_count != 0) {
        meet_service_name(found, service->name);
    }
    return status;
}

static cpt_status add_row(struct found *found, const struct cpti_store_row *row,
                          uint64_t weight)
{
    cpt_status status;

    cpt_path_reset(found->path);
    status = cpt_record_path(row->record, NULL, found->path, NULL);
    status = CPTI_THEN(status, cpt_tree_add(found->rest, found->path, weight));
    if (status == CPT_OK) {
        cpt_tree_time_add(found->rest, row->record->start_unix_ns);
    }
    return status;
}

/* Decides about a request that the database could not. Its record has been counted. */
static cpt_status meet_row(void *context, const struct cpti_store_row *row)
{
    struct found *found = context;
    const uint64_t weight =
        cpti_question_weight(&found->database->asked->question, row);
    const enum cpti_selected selected = select_row(found->database, row);
    struct cpti_fold_counts left = {0};

    found->rest_count++;
    if (selected != CPTI_SELECTED) {
        cpti_fold_count_left(&left, selected);
        return cpti_gather_count(found->tree, &left);
    }
    if (weight == 0) {
        return CPT_OK;
    }
    meet_service_name(found, row->record->service);
    return found->database->selection->sample_count != 0 || found->gather != NULL
               ? CPT_OK /* meet_each_row() or draw_sample() gets it again */
               : add_row(found, row, weight);
}

/* Adds one request of all that may be selected. */
static cpt_status meet_each_row(void *context, const struct cpti_store_row *row)
{
    struct found *found = context;
    const struct cpti_gather *gather = found->gather;
    const uint64_t weight =
        cpti_question_weight(&found->database->asked->question, row);
    cpt_status status;

    if (weight == 0 || select_row(found->database, row) != CPTI_SELECTED) {
        return CPT_OK;
    }
    status = add_row(found, row, weight);
    if (status == CPT_OK && gather->request(gather->context, row->record, found->path,
                                            weight) != CPTI_EXIT_DONE) {
        found->has_failed = true;
        return CPT_CANCELLED;
    }
    return status;
}

/* Notes which keys of the selection the database has: a message names an unknown
 * one. */
static cpt_status look_for_keys(struct database *database, bool has_found)
{
    struct cpti_selection *selection = database->selection;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < selection->expression.test_count && status == CPT_OK; i++) {
        int is_known = has_found;

        if (selection->was_seen[i]) {
            continue;
        }
        if (!has_found) {
            status = cpti_store_has_key(database->store,
                                        cpti_expression_key(&selection->expression, i),
                                        &is_known, &database->error);
        }
        selection->was_seen[i] = (unsigned char)is_known;
        selection->unseen_count -= (size_t)is_known;
    }
    return status;
}

static int survey(struct database *database, struct found *found)
{
    const struct cpti_store_question *question = &database->asked->question;
    cpt_status status = cpti_store_survey(database->store, question, meet_service,
                                          found, &database->error);

    status = CPTI_THEN(status, cpti_store_undecided(database->store, question, meet_row,
                                                    found, &database->error));
    status = CPTI_THEN(status, look_for_keys(database, found->service_count != 0));
    if (found->rest_count != 0) {
        cpti_warn(
            "%s: %" PRIu64
            " requests have a number written as text in a way that databases read "
            "differently; they were fetched and compared here",
            cpti_quoted(database->address), found->rest_count);
    }
    return exit_of(database, status);
}

/* --- Samples --- */

/* The most places of requests in memory, 40 bytes each. */
enum { PLACES_MAX = 1 << 27 };

struct source {
    char *name; /* owned */
    size_t name_bytes;
    uint64_t hash;
};

struct drawing {
    struct database *database;
    struct source *sources;
    size_t source_count;
    struct cpti_store_place *places; /* `source`: first a hash, later a rank by name */
    size_t place_count;
    size_t place_capacity;
};

static int compare_names(const void *left, const void *right)
{
    const struct source *a = left;
    const struct source *b = right;
    const size_t bytes = a->name_bytes < b->name_bytes ? a->name_bytes : b->name_bytes;
    const int order = bytes == 0 ? 0 : memcmp(a->name, b->name, bytes);

    return order != 0
               ? order
               : (a->name_bytes > b->name_bytes) - (a->name_bytes < b->name_bytes);
}

static cpt_status meet_source(void *context, struct cpt_bytes name, uint64_t hash)
{
    struct drawing *drawing = context;
    struct source *grown;
    struct source source = {malloc(name.bytes + 1), name.bytes, hash};

    for (size_t i = 0; i < drawing->source_count; i++) {
        if (drawing->sources[i].hash == hash) {
            free(source.name); /* of another shard */
            return CPT_OK;
        }
    }
    grown = realloc(drawing->sources, (drawing->source_count + 1) * sizeof *grown);
    if (grown == NULL || source.name == NULL) {
        free(source.name);
        drawing->sources = grown != NULL ? grown : drawing->sources;
        return CPT_NO_MEMORY;
    }
    if (name.bytes != 0) {
        memcpy(source.name, name.data, name.bytes);
    }
    drawing->sources = grown;
    drawing->sources[drawing->source_count++] = source;
    return CPT_OK;
}

static cpt_status meet_place(void *context, const struct cpti_store_place *place)
{
    struct drawing *drawing = context;

    if (drawing->place_count == drawing->place_capacity) {
        const cpt_status status = cpt_alloc_grow(
            NULL, (void **)&drawing->places, &drawing->place_capacity,
            drawing->place_count + 1, PLACES_MAX, sizeof *drawing->places);

        if (status != CPT_OK) {
            return status;
        }
    }
    drawing->places[drawing->place_count++] = *place;
    return CPT_OK;
}

/* Adds the place of a request that is selected here. */
static cpt_status meet_rest_place(void *context, const struct cpti_store_row *row)
{
    struct drawing *drawing = context;
    struct cpti_store_place place = {.ordinal = row->ordinal, .pick = row->pick};

    if (select_row(drawing->database, row) != CPTI_SELECTED ||
        cpti_question_weight(&drawing->database->asked->question, row) == 0) {
        return CPT_OK;
    }
    for (size_t i = 0; i < drawing->source_count; i++) {
        const struct source *source = &drawing->sources[i];

        if (cpt_bytes_equal((struct cpt_bytes){source->name, source->name_bytes},
                            row->source)) {
            place.source = source->hash;
        }
    }
    return meet_place(drawing, &place);
}

static int compare_places(const void *left, const void *right)
{
    const struct cpti_store_place *a = left;
    const struct cpti_store_place *b = right;

    if (a->source != b->source) {
        return a->source < b->source ? -1 : 1;
    }
    if (a->ordinal != b->ordinal) {
        return a->ordinal < b->ordinal ? -1 : 1;
    }
    return (a->pick.id > b->pick.id) - (a->pick.id < b->pick.id);
}

/* Sorts the places into the order of the logs. */
static void sort_places(struct drawing *drawing)
{
    if (drawing->place_count == 0) {
        return;
    }
    qsort(drawing->sources, drawing->source_count, sizeof *drawing->sources,
          compare_names);
    for (size_t i = 0; i < drawing->place_count; i++) {
        size_t rank = 0;

        while (rank < drawing->source_count &&
               drawing->sources[rank].hash != drawing->places[i].source) {
            rank++;
        }
        drawing->places[i].source = rank;
    }
    qsort(drawing->places, drawing->place_count, sizeof *drawing->places,
          compare_places);
}

/* Draws the sample from the places; *@picks gets the identities. */
static cpt_status draw(const struct drawing *drawing, struct cpti_sample *sample,
                       struct cpti_store_pick **picks)
{
    static const struct cpt_bytes none = {"", 0};

    for (size_t i = 0; i < drawing->place_count; i++) {
        const struct cpti_sampled index = {.record_number = i};
        const size_t place = cpti_sample_draw(sample);

        if (place != SIZE_MAX &&
            cpti_sample_put(sample, place, none, &index) != CPT_OK) {
            return CPT_NO_MEMORY;
        }
    }
    *picks = calloc(sample->count + 1, sizeof **picks);
    if (*picks == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < sample->count; i++) {
        (*picks)[i] = drawing->places[sample->kept[i].record_number].pick;
    }
    return CPT_OK;
}

/* Limits the question to a sample that is drawn here; the caller frees *@picks. */
static int draw_sample(struct database *database, struct cpti_sample *sample,
                       struct cpti_store_pick **picks)
{
    struct cpti_store_question *question = &database->asked->question;
    struct drawing drawing = {.database = database};
    cpt_status status = cpti_store_places(database->store, question, meet_source,
                                          meet_place, &drawing, &database->error);

    if (status == CPT_OK) {
        status = cpti_store_undecided(database->store, question, meet_rest_place,
                                      &drawing, &database->error);
    }
    if (status == CPT_OK) {
        sort_places(&drawing);
        status = draw(&drawing, sample, picks);
    }
    for (size_t i = 0; i < drawing.source_count; i++) {
        free(drawing.sources[i].name);
    }
    free(drawing.sources);
    cpt_alloc_free(NULL, drawing.places);
    if (status == CPT_LIMIT) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(database->address)},
                              "a sample can be drawn of at most %d requests" CPTI_HINT
                              "choose a "
                              "shorter window",
                              PLACES_MAX);
    }
    if (status == CPT_OK) {
        question->picks = *picks;
        question->pick_count = sample->count;
    }
    return exit_of(database, status);
}

/* --- All --- */

/* Adds the sums of the selected requests, or each request. */
static int add_selected(struct database *database, struct found *found)
{
    const struct cpti_store_question *question = &database->asked->question;
    struct cpt_tree *part = NULL;
    cpt_status status;

    if (found->gather != NULL) {
        status = cpti_store_rows(database->store, question, meet_each_row, found,
                                 &database->error);
        if (found->has_failed) {
            return CPTI_EXIT_FAILED;
        }
    } else {
        status = cpti_store_ask(database->store, question, &part, &database->error);
        status = CPTI_THEN(status, cpt_tree_merge(found->tree, part));
    }
    status = CPTI_THEN(status, cpt_tree_merge(found->tree, found->rest));
    cpt_tree_free(part);
    return exit_of(database, status);
}

static int ask(struct database *database, struct found *found,
               struct cpti_sample *sample)
{
    struct cpti_store_pick *picks = NULL;
    int exit_status = survey(database, found);

    if (exit_status != CPTI_EXIT_DONE || found->service_count != 1) {
        return exit_status;
    }
    if (sample != NULL) {
        exit_status = draw_sample(database, sample, &picks);
    }
    exit_status = CPTI_THEN(exit_status, add_selected(database, found));
    free(picks);
    return exit_status;
}

int cpti_store_gather(const char *address, struct cpti_gather *gather,
                      struct cpti_selection *selection, struct cpti_sample *sample,
                      void (*service)(void *context, const char *name), void *context)
{
    struct database database;
    struct found found = {.database = &database,
                          .tree = gather->tree,
                          .rest = cpt_tree_new(NULL, NULL),
                          .path = cpt_path_new(NULL),
                          .service = service,
                          .context = context};
    int status = open_database(&database, address, selection, false);

    if (gather->request != NULL && !gather->needs_order) {
        found.gather = gather;
    } else {
        gather->met_tree = true;
    }
    if (found.rest == NULL || found.path == NULL) {
        status = cpti_failed("out of memory");
    }
    status = CPTI_THEN(status, ask(&database, &found, sample));
    cpt_tree_free(found.rest);
    cpt_path_free(found.path);
    close_database(&database);
    return status;
}

/* --- Percentiles --- */

/* Weights of the steps of a span, from all databases and from the population here. */
struct step {
    uint64_t number;
    u128 weight;
};

struct steps {
    struct step *steps;
    size_t count;
    size_t capacity;
};

static cpt_status add_step(struct steps *steps, uint64_t number, u128 weight)
{
    if (steps->count == steps->capacity) {
        const cpt_status status =
            cpt_alloc_grow(NULL, (void **)&steps->steps, &steps->capacity,
                           steps->count + 1, SIZE_MAX, sizeof *steps->steps);

        if (status != CPT_OK) {
            return status;
        }
    }
    steps->steps[steps->count++] = (struct step){number, weight};
    return CPT_OK;
}

static cpt_status meet_weight(void *context, uint64_t number, uint64_t low_sum,
                              uint64_t high_sum)
{
    return add_step(context, number, ((u128)high_sum << 32) + low_sum);
}

static int compare_steps(const void *left, const void *right)
{
    const struct step *a = left;
    const struct step *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

/* All databases of a first pass, and the population from logs. */
struct weighing {
    struct database *databases;
    size_t count;
    struct cpti_population *population;
};

/* Fills @steps with those of @span, sorted. enum cpti_exit. */
static int weigh(const struct weighing *weighing, const struct cpti_store_span *span,
                 struct steps *steps)
{
    const struct cpti_population *population = weighing->population;
    int exit_status = CPTI_EXIT_DONE;

    steps->count = 0;
    for (size_t i = 0; i < weighing->count && exit_status == CPTI_EXIT_DONE; i++) {
        struct database *database = &weighing->databases[i];

        exit_status = exit_of(
            database, cpti_store_weigh(database->store, &database->asked->question,
                                       span, meet_weight, steps, &database->error));
    }
    for (size_t i = 0; i < population->count && exit_status == CPTI_EXIT_DONE; i++) {
        const struct cpti_latency *own = &population->latencies[i];

        if (own->latency_ns >= span->from_ns && own->latency_ns <= span->to_ns &&
            add_step(steps, (own->latency_ns - span->from_ns) >> span->shift,
                     own->weight) != CPT_OK) {
            exit_status = cpti_failed("out of memory");
        }
    }
    if (steps->count != 0) {
        qsort(steps->steps, steps->count, sizeof *steps->steps, compare_steps);
    }
    return exit_status;
}

/* Narrows @span to the step in which *@below, times 10^8, reaches @wanted. */
static void narrow(const struct steps *steps, u128 wanted, u128 *below,
                   struct cpti_store_span *span)
{
    uint64_t number = 0;
    size_t i = 0;

    while (i < steps->count) {
        u128 weight = 0;

        number = steps->steps[i].number;
        for (; i < steps->count && steps->steps[i].number == number; i++) {
            weight += steps->steps[i].weight;
        }
        if ((*below + weight) * 100000000 >= wanted) {
            break;
        }
        *below += i < steps->count ? weight : 0; /* else the last step has it */
    }
    span->from_ns += number << span->shift;
    span->to_ns = span->from_ns + ((UINT64_C(1) << span->shift) - 1);
}

/* Finds a percentile by four spans. enum cpti_exit. */
static int find_percentile(const struct weighing *weighing, struct steps *steps,
                           struct cpti_percentile *percentile)
{
    enum { FIRST_SHIFT = 36, SHIFT = 12 };
    struct cpti_store_span span = {0, UINT64_MAX, FIRST_SHIFT};
    u128 total = 0;
    u128 below = 0;

    for (;;) {
        const int exit_status = weigh(weighing, &span, steps);

        if (exit_status != CPTI_EXIT_DONE) {
            return exit_status;
        }
        for (size_t i = 0; i < steps->count && span.shift == FIRST_SHIFT; i++) {
            total += steps->steps[i].weight;
        }
        if (steps->count == 0) {
            percentile->latency_ns = 0;
            return CPTI_EXIT_DONE;
        }
        narrow(steps, total * percentile->share, &below, &span);
        if (span.shift == 0) {
            percentile->latency_ns = span.from_ns;
            return CPTI_EXIT_DONE;
        }
        span.shift -= SHIFT;
    }
}

/* Requests of the population that a database cannot decide about. */
struct resting {
    struct database *database;
    struct cpti_population *population;
};

static cpt_status meet_rest_latency(void *context, const struct cpti_store_row *row)
{
    struct resting *resting = context;
    const uint64_t weight =
        cpti_question_weight(&resting->database->asked->question, row);

    if (weight == 0 || select_row(resting->database, row) != CPTI_SELECTED ||
        resting->database->selection->scratch.is_decoded < 0) {
        return CPT_OK;
    }
    return cpti_population_add(resting->population,
                               (struct cpti_latency){row->record->latency_ns, weight});
}

static int open_all(struct weighing *weighing, struct cpti_selection *selection,
                    const char *const *paths, size_t path_count)
{
    int exit_status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < path_count && exit_status == CPTI_EXIT_DONE; i++) {
        struct database *database = &weighing->databases[weighing->count];
        struct resting resting = {database, weighing->population};

        if (!cpti_is_store(paths[i])) {
            continue;
        }
        weighing->count++;
        exit_status = open_database(database, paths[i], selection, true);
        if (exit_status == CPTI_EXIT_DONE) {
            exit_status = exit_of(
                database,
                cpti_store_undecided(database->store, &database->asked->question,
                                     meet_rest_latency, &resting, &database->error));
        }
    }
    return exit_status;
}

int cpti_store_percentiles(struct cpti_selection *selection,
                           struct cpti_population *population, const char *const *paths,
                           size_t path_count)
{
    struct weighing weighing = {calloc(path_count + 1, sizeof *weighing.databases), 0,
                                population};
    struct steps steps = {0};
    int exit_status = weighing.databases == NULL
                          ? cpti_failed("out of memory")
                          : open_all(&weighing, selection, paths, path_count);

    for (size_t i = 0;
         i < selection->expression.percentile_count && exit_status == CPTI_EXIT_DONE;
         i++) {
        exit_status =
            find_percentile(&weighing, &steps, &selection->expression.percentiles[i]);
    }
    for (size_t i = 0; i < weighing.count; i++) {
        close_database(&weighing.databases[i]);
    }
    free(weighing.databases);
    cpt_alloc_free(NULL, steps.steps);
    return exit_status;
}
