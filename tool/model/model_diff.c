/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_diff.c - what changed from one model to another; see model_diff.h */
#include "tool/model/model_diff.h"

#include "tool/base/output.h"
#include "tool/model/model_text.h"
#include "tool/table/sheet.h"

#include <inttypes.h>
#include <string.h>

enum { PEOPLE_ROWS = 20, PEOPLE_KINDS = 10, PEOPLE_ORDERS = 10 };

/* Rows that chance makes more often are not told as sentences. */
static const double p_told = 0.05;

/* --- Rows --- */

enum { SERVICE, AFTER, WAS, NOW };

static const struct cpti_model *joint_of(const struct cpti_asked *asked)
{
    return ((const struct cpti_model_changes *)asked->context)->joint;
}

/* The event @number (a kind + 1), or @edge. */
static struct cpt_bytes event_of(const struct cpti_model *model, uint32_t number,
                                 const char *edge)
{
    return number != 0 ? cpti_model_name(model, number - 1) : cpt_bytes_of(edge);
}

static struct cpti_cell get_event(const struct cpti_asked *asked)
{
    const struct cpti_model_change *row = asked->row;
    const struct cpti_model *model = joint_of(asked);

    switch (asked->what) {
    case SERVICE:
        return cpti_cell_bytes(cpti_model_text(&model->texts, row->service));
    case AFTER:
        return cpti_cell_bytes(event_of(model, row->after, CPTI_MODEL_START));
    case WAS:
        return cpti_cell_bytes(event_of(model, row->was, CPTI_MODEL_END));
    default:
        return cpti_cell_bytes(event_of(model, row->now, CPTI_MODEL_END));
    }
}

#define ROW(field) CPTI_OF(struct cpti_model_change, field)

static const struct cpti_column columns[] = {
    {"p", "p", CPTI_P, ROW(p), "how often chance makes any row as far off"},
    {"z", "z", CPTI_FACTOR, ROW(z), "the difference of the shares over its error"},
    {"z_of_mix", "z of mix", CPTI_FACTOR, ROW(z_of_mix),
     "the same with the mix of classes held equal"},
    {"mix_equal", "mix equal", CPTI_FLAG, ROW(is_mix_equal),
     "whether it changed so with one mix of classes, too"},
    {"base_share", "base", CPTI_SHARE, ROW(shares[0]),
     "of the occurrences of `after`, those that `was` follows, mean of requests"},
    {"new_share", "new", CPTI_SHARE, ROW(shares[1]), "the same of the new side"},
    {"base_now_share", "base now", CPTI_SHARE, ROW(now_shares[0]),
     "likewise those that `now` follows"},
    {"new_now_share", "new now", CPTI_SHARE, ROW(now_shares[1]),
     "the same of the new side"},
    {"base_requests", "base requests", CPTI_COUNT, ROW(requests[0]),
     "that have an `after`"},
    {"new_requests", "new requests", CPTI_COUNT, ROW(requests[1]),
     "the same of the new side"},
    {"service", "service", CPTI_NAME, get_event, SERVICE, NULL},
    {"after", "after", CPTI_NAME, get_event, AFTER, "an event of a unit, or its start"},
    {"was", "no longer", CPTI_NAME, get_event, WAS,
     "the event behind it, or its end, that vanished most"},
    {"now", "but", CPTI_NAME, get_event, NOW, "the one that appeared most"},
    {0},
};

const struct cpti_relation cpti_model_rows = {
    "rows",
    columns,
    "p,base_share,new_share,base_requests,new_requests,service,after,was,now",
    NULL,
    true,
    "diff"};

/* --- JSON --- */

static void put_kinds(const struct cpti_model_changes *changes, const char *key,
                      unsigned side, struct cpti_json *json)
{
    cpti_json_open(json, key, '[');
    for (size_t i = 0; i < changes->kind_count; i++) {
        const struct cpti_model_kind_change *kind = &changes->kinds[i];

        if (kind->requests[side] == 0) {
            continue;
        }
        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        cpti_json_bytes(json, "service",
                        cpti_model_service(changes->joint, kind->kind));
        cpti_json_bytes(json, "event", cpti_model_name(changes->joint, kind->kind));
        cpti_json_unsigned(json, "requests", kind->requests[side]);
        cpti_json_rough(json, "p", kind->p);
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

static const struct cpti_model_place *
place_of(const struct cpti_model *model, const struct cpti_model_order_change *row,
         uint32_t place)
{
    return &model->places[model->classes[row->class].place + place];
}

/* The order that was lost or is gained: whether low came, or comes, behind high. */
static bool is_turned(const struct cpti_model_order_change *row)
{
    return row->was == CPTI_MODEL_AFTER ||
           (row->was != CPTI_MODEL_BEFORE && row->now == CPTI_MODEL_AFTER);
}

static void put_order(const struct cpti_model *model,
                      const struct cpti_model_order_change *row, struct cpti_json *json)
{
    const bool turned = is_turned(row);
    char text[CPTI_MODEL_TEXT_BYTES];

    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_json_bytes(
        json, "first",
        cpti_model_place_text(
            model, place_of(model, row, turned ? row->high : row->low), text));
    cpti_json_bytes(
        json, "then",
        cpti_model_place_text(
            model, place_of(model, row, turned ? row->low : row->high), text));
    cpti_json_text(json, "was", cpti_model_relation_word(row->was));
    cpti_json_text(json, "now", cpti_model_relation_word(row->now));
    cpti_json_unsigned(json, "base_requests", row->both[0]);
    cpti_json_unsigned(json, "base_against", row->refuted[0]);
    cpti_json_unsigned(json, "new_requests", row->both[1]);
    cpti_json_unsigned(json, "new_against", row->refuted[1]);
    if (row->witness != CPTI_MODEL_NONE) {
        cpti_json_bytes(json, "witness", cpti_model_text(&model->ids, row->witness));
    }
    cpti_json_rough(json, "p", row->p);
    cpti_json_close(json);
}

static void put_all(const void *context, struct cpti_json *json)
{
    const struct cpti_model_changes *changes = context;

    cpti_json_unsigned(json, "base_requests", changes->requests[0]);
    cpti_json_unsigned(json, "new_requests", changes->requests[1]);
    cpti_json_unsigned(json, "permutations", changes->rounds);
    put_kinds(changes, "new_kinds", 1, json);
    put_kinds(changes, "gone_kinds", 0, json);
    cpti_json_open(json, "orders", '[');
    for (size_t i = 0; i < changes->order_count; i++) {
        put_order(changes->joint, &changes->orders[i], json);
    }
    cpti_json_close(json);
}

void cpti_model_put_rows(const struct cpti_model_changes *changes, const char *key,
                         size_t row_max, struct cpti_json *json)
{
    const struct cpti_relation relation = {key, columns, "p", NULL, true, NULL};
    const struct cpti_view json_view = {.format = CPTI_FORMAT_JSON};
    const struct cpti_view view = cpti_view_beside(&json_view, &relation, NULL);
    struct cpti_rows rows = CPTI_ROWS(changes->rows, 0, changes);

    while (rows.count < changes->row_count && rows.count < row_max &&
           changes->rows[rows.count].p < p_told) {
        rows.count++;
    }
    cpti_relation_json(&view, &rows, rows.count, json);
}

/* --- Sentences --- */

/* A p as it stands in a sentence. */
static const char *p_text(double p, char text[32])
{
    (void)snprintf(text, 32, p < 0.001 ? "<0.001" : "%.3f", p);
    return text;
}

static const char *event_text(const struct cpti_model *model, uint32_t number,
                              const char *edge)
{
    return number != 0 ? cpti_quoted_bytes(event_of(model, number, edge)) : edge;
}

static void tell_row(const struct cpti_model_changes *changes,
                     const struct cpti_model_change *row)
{
    const struct cpti_model *model = changes->joint;
    char text[32];

    (void)printf("%s: after %s no longer %s but %s: %.3g of %" PRIu64
                 " -> %.3g of %" PRIu64 " requests, p %s%s\n",
                 cpti_quoted_bytes(cpti_model_text(&model->texts, row->service)),
                 event_text(model, row->after, CPTI_MODEL_START),
                 event_text(model, row->was, CPTI_MODEL_END),
                 event_text(model, row->now, CPTI_MODEL_END),
                 row->shares[0] * (double)row->requests[0], row->requests[0],
                 row->shares[1] * (double)row->requests[1], row->requests[1],
                 p_text(row->p, text),
                 row->is_mix_equal ? "" : "; it may be another mix of requests");
}

void cpti_model_tell_rows(const struct cpti_model_changes *changes, size_t row_max)
{
    double least = 1;
    size_t told = 0;
    size_t rest = 0;

    for (size_t i = 0; i < changes->row_count; i++) {
        const struct cpti_model_change *row = &changes->rows[i];

        least = row->p < least ? row->p : least;
        if (row->p < p_told && told < row_max) {
            tell_row(changes, row);
            told++;
        } else {
            rest++;
        }
    }
    if (told == 0) {
        char text[32];

        (void)printf("no step changed beyond chance: %zu differ, the least p is %s\n",
                     changes->row_count, p_text(least, text));
    } else if (rest > 0) {
        (void)printf("%zu further steps differ, by chance or by the mix of requests\n",
                     rest);
    }
}

static void tell_kinds(const struct cpti_model_changes *changes, size_t row_max)
{
    size_t told = 0;

    for (size_t i = 0; i < changes->kind_count && told < row_max; i++) {
        const struct cpti_model_kind_change *kind = &changes->kinds[i];
        const bool is_new = kind->requests[1] != 0;
        char text[32];

        if (kind->p >= p_told) {
            break; /* they are by p */
        }
        (void)printf("%s: %s is %s: %" PRIu64 " of %" PRIu64 " requests %s it, p %s\n",
                     cpti_quoted_bytes(cpti_model_service(changes->joint, kind->kind)),
                     cpti_quoted_bytes(cpti_model_name(changes->joint, kind->kind)),
                     is_new ? "new" : "gone", kind->requests[is_new],
                     changes->requests[is_new], is_new ? "have" : "had",
                     p_text(kind->p, text));
        told++;
    }
}

static void tell_orders(const struct cpti_model_changes *changes, size_t row_max)
{
    const struct cpti_model *model = changes->joint;

    for (size_t i = 0; i < changes->order_count && i < row_max; i++) {
        const struct cpti_model_order_change *row = &changes->orders[i];
        const bool turned = is_turned(row);
        const bool was_fixed =
            row->was == CPTI_MODEL_BEFORE || row->was == CPTI_MODEL_AFTER;
        char first[CPTI_MODEL_TEXT_BYTES];
        char then[CPTI_MODEL_TEXT_BYTES];
        char text[32];

        (void)printf(
            "%s %s before %s: against it are %" PRIu32 " of %" PRIu32 " -> %" PRIu32
            " of %" PRIu32 " requests, p %s\n",
            cpti_quoted_bytes(cpti_model_place_text(
                model, place_of(model, row, turned ? row->high : row->low), first)),
            was_fixed ? "is no longer" : "is now always",
            cpti_quoted_bytes(cpti_model_place_text(
                model, place_of(model, row, turned ? row->low : row->high), then)),
            row->refuted[0], row->both[0], row->refuted[1], row->both[1],
            p_text(row->p, text));
    }
}

static size_t at_most(size_t row_max, size_t people_max)
{
    return row_max < people_max ? row_max : people_max;
}

/* A function of struct cpti_capped. */
static int tell_all(void *context, size_t row_max)
{
    const struct cpti_model_changes *changes = context;

    (void)printf("%" PRIu64 " requests -> %" PRIu64 " requests\n\n",
                 changes->requests[0], changes->requests[1]);
    cpti_model_tell_rows(changes, at_most(row_max, PEOPLE_ROWS));
    tell_kinds(changes, at_most(row_max, PEOPLE_KINDS));
    tell_orders(changes, at_most(row_max, PEOPLE_ORDERS));
    return CPTI_EXIT_DONE;
}

int cpti_model_diff(struct cpti_model_changes *changes, const struct cpti_view *view)
{
    const struct cpti_sheet sheet = {
        .view = view,
        .rows = CPTI_ROWS(changes->rows, changes->row_count, changes),
        .context = changes,
        .put = put_all};

    if (view->format == CPTI_FORMAT_TEXT && !view->is_chosen) {
        const struct cpti_capped capped = {.bytes_max = view->bytes_max,
                                           .print = tell_all,
                                           .context = changes,
                                           .row_count = PEOPLE_ROWS};

        return cpti_capped_print(&capped);
    }
    cpti_relation_sort(view, changes->rows, changes->row_count, sizeof *changes->rows,
                       changes);
    return cpti_sheet_print(&sheet);
}
