/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * blind_print.c - blind spots by service and reason; see blind_print.h
 *
 * A blind spot is the time of a call whose callee gave no path, with the reason; a
 * folded frame is time of a callee whose path had to fit a budget. Both count with the
 * weight of their request, as all averages do.
 */
#include "tool/print/blind_print.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/table/sheet.h"
#include "tool/gather/gather.h"
#include "tool/print/tree_print.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1024, REASON_FOLDED = CPT_REASON_MAX + 1, SERVICE_BYTES = 256 };

/* The blind spots of one service for one reason. */
struct row {
    char service[SERVICE_BYTES];
    unsigned reason;
    double time;         /* sum of weight * ns */
    uint64_t spot_count; /* segments */
    uint64_t request_count;
    uint64_t last_request; /* that had one, so that it counts once */
};

struct blind {
    struct row rows[ROWS_MAX];
    size_t count;
    double time;    /* sum of weight * latency */
    double weights; /* sum of weights */
    uint64_t request_count;
};

static const char *word_of(unsigned reason, char text[24])
{
    const char *word = reason == REASON_FOLDED ? "folded" : cpt_reason_word(reason);

    if (reason == CPT_REASON_NONE) {
        return "unknown";
    }
    if (word == NULL) {
        (void)snprintf(text, 24, "reason %u", reason);
        return text;
    }
    return word;
}

/* --- Gathering --- */

/* The row of @service and @reason; the last one takes what has no place. */
static struct row *row_of(struct blind *blind, struct cpt_bytes service,
                          unsigned reason)
{
    const size_t bytes =
        service.bytes < SERVICE_BYTES ? service.bytes : SERVICE_BYTES - 1;
    struct row *row = NULL;

    for (size_t i = 0; i < blind->count; i++) {
        row = &blind->rows[i];
        if (row->reason == reason && strlen(row->service) == bytes &&
            memcmp(row->service, service.data, bytes) == 0) {
            return row;
        }
    }
    if (blind->count == ROWS_MAX) {
        return &blind->rows[ROWS_MAX - 1];
    }
    row = &blind->rows[blind->count++];
    if (bytes > 0) {
        memcpy(row->service, service.data, bytes);
    }
    row->reason = reason;
    return row;
}

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct blind *blind = context;

    blind->request_count++;
    blind->weights += (double)weight;
    blind->time += (double)weight * (double)record->latency_ns;
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const unsigned kind = cpt_path_frame(path, segment->frame)->kind;
        struct row *row = NULL;

        if (kind != CPT_KIND_BLIND_SPOT && kind != CPT_KIND_FOLDED) {
            continue;
        }
        row = row_of(blind, cpt_path_frame_service(path, segment->frame),
                     kind == CPT_KIND_FOLDED ? REASON_FOLDED : segment->reason);
        row->time += (double)weight * (double)segment->duration_ns;
        row->spot_count++;
        row->request_count += row->last_request != blind->request_count;
        row->last_request = blind->request_count;
    }
    return CPTI_EXIT_DONE;
}

static int by_time(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    const int order = strcmp(a->service, b->service);

    if (a->time != b->time) {
        return a->time > b->time ? -1 : 1;
    }
    return order != 0 ? order : (a->reason > b->reason) - (a->reason < b->reason);
}

/* --- Printing --- */

static double share_of(const struct blind *blind, double time)
{
    return blind->time > 0 ? time / blind->time : 0;
}

static double all_of(const struct blind *blind)
{
    double time = 0;

    for (size_t i = 0; i < blind->count; i++) {
        time += blind->rows[i].time;
    }
    return time;
}

enum { SERVICE, REASON, SHARE, MEAN };

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct blind *blind = asked->context;
    const struct row *row = asked->row;

    switch (asked->what) {
    case SERVICE:
        return cpti_cell_text(row->service);
    case REASON:
        return cpti_cell_text(word_of(row->reason, asked->room));
    case SHARE:
        return cpti_cell_number(share_of(blind, row->time));
    default:
        return cpti_cell_number(row->time / blind->weights);
    }
}

#define OF(field) CPTI_OF(struct row, field)

static const struct cpti_column columns[] = {
    {"service", "service", CPTI_NAME, get, SERVICE, "whose callers have no path"},
    {"reason", "reason", CPTI_TEXT, get, REASON, "why"},
    {"share", "share", CPTI_SHARE, get, SHARE, "of the latency"},
    {"mean_ns", "mean ms", CPTI_NS, get, MEAN, "in the average request"},
    {"spots", "spots", CPTI_COUNT, OF(spot_count), "how many segments"},
    {"requests", "requests", CPTI_COUNT, OF(request_count), "that have one"},
    {0},
};

const struct cpti_relation cpti_blind_relation = {
    "blind_spots", columns, "share,mean_ns,spots,requests,reason,service",
    .when = "--blind-spots"};

/* What is printed. */
struct shown {
    const struct blind *blind;
    const struct cpt_tree *tree;
};

static void put(const void *context, struct cpti_json *json)
{
    const struct shown *shown = context;

    cpti_tree_json(json, shown->tree);
    cpti_json_rough(json, "blind_share", share_of(shown->blind, all_of(shown->blind)));
}

static int head(const void *context)
{
    const struct shown *shown = context;

    cpti_tree_print(shown->tree, NULL);
    (void)printf("blind spots: %.1f%% of the latency\n%s",
                 100 * share_of(shown->blind, all_of(shown->blind)),
                 shown->blind->count != 0 ? "\n" : "");
    return CPTI_EXIT_DONE;
}

static int print(struct blind *blind, const struct cpt_tree *tree,
                 const struct cpti_view *view)
{
    const struct shown shown = {blind, tree};
    const struct cpti_sheet sheet = {.view = view,
                                     .rows =
                                         CPTI_ROWS(blind->rows, blind->count, blind),
                                     .context = &shown,
                                     .head = head,
                                     .put = put};

    qsort(blind->rows, blind->count, sizeof blind->rows[0], by_time);
    cpti_relation_sort(view, blind->rows, blind->count, sizeof blind->rows[0], blind);
    return blind->count == 0 && cpti_view_is_for_people(view)
               ? head(&shown)
               : cpti_sheet_print(&sheet);
}

int cpti_blind_report(const struct cpti_arguments *arguments)
{
    static const char *const others[] = {"by",        "cluster",  "quantiles",
                                         "max-bytes", "group-by", NULL};
    struct cpti_gather gather = {.omits_sources = cpti_has(arguments, "no-source"),
                                 .request = add_request};
    struct cpti_view view;
    bool is_usable = false;
    int status = cpti_view_read(arguments, &cpti_blind_relation, NULL, &view);

    status = CPTI_THEN(status, cpti_excludes(arguments, "blind-spots", others));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    gather.context = calloc(1, sizeof(struct blind));
    if (gather.context == NULL) {
        return cpti_failed("out of memory");
    }
    status = cpti_gather_arguments(&gather, arguments, &is_usable);
    if (is_usable && gather.met_tree) {
        status = cpti_failed("a tree has no reasons of blind spots: give the logs");
    } else if (is_usable) {
        status = cpti_exit_last(status, print(gather.context, gather.tree, &view));
    }
    free(gather.context);
    cpt_tree_free(gather.tree);
    return status;
}
