/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_predict.c - cpt predict: whether the last request of a user tells the next one
 *
 *      path logs ---> latency of each request ---.   by key, in the order of time:
 *      graph logs --> slack of a frame in it ----+-> the class of the last request is
 *                                                    the prediction for the next one
 *
 * What can be predicted needs no measurement: a service may serve requests that have
 * time later than others, also requests that are not traced.
 */
#include "tool/base/amounts.h"
#include "tool/base/folders.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/folds/cluster_key.h"
#include "tool/folds/sessions.h"
#include "tool/gather/gather.h"
#include "tool/log/span_tags.h"
#include "tool/print/quantile_print.h"
#include "tool/requests/kept_graphs.h"
#include "tool/requests/log_keys.h"
#include "tool/requests/log_walk.h"
#include "tool/requests/stream.h"
#include "tool/requests/workers.h"
#include "tool/select/select.h"
#include "tool/table/sheet.h"
#include "cpt/cpt_dag.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Figures of the paper (Chow et al., 2014: slack of the network of the users of a web
 * page, above 2.5 s), as they are remembered. */
#define PAPER_ABOVE 0.08
#define PAPER_BELOW 0.13

enum { PRINTED_MAX = 10 };

/* One run of the command. */
struct predict {
    const struct cpti_arguments *arguments;
    const char *key;
    const char *frame; /* whose slack counts; NULL: latencies */
    double threshold_ns;
    struct cpti_selection *selection;
    struct cpti_sessions sessions;
    uint64_t keyless_count;
    uint64_t frameless_count; /* requests whose response did not wait for the frame */
    struct cpti_kept_options kept;
    struct cpti_kept_counts counts;
    struct cpti_view view;
};

/* --- Gathering --- */

static cpt_status add(struct predict *predict, const struct cpt_record *record,
                      uint64_t ns)
{
    char text[CPTI_CLUSTER_VALUE_BYTES];
    struct cpt_bytes value;

    if (!cpti_cluster_value(record, predict->key, text, &value)) {
        predict->keyless_count++;
        return CPT_OK;
    }
    return cpti_sessions_add(&predict->sessions, value, record->start_unix_ns,
                             (double)ns > predict->threshold_ns);
}

/* The take of a struct cpti_fold. */
static int take(void *context, const struct cpti_request *request)
{
    return cpti_status_exit(add(context, request->record, request->record->latency_ns));
}

static int read_logs(struct predict *predict)
{
    const struct cpti_arguments *arguments = predict->arguments;
    struct cpti_fold fold = {.selection = predict->selection,
                             .needs = cpti_needs_record,
                             .take = take,
                             .context = predict,
                             .counts_once = !predict->selection->keeps_duplicates};
    struct cpti_stream stream = {.folds = &fold,
                                 .fold_count = 1,
                                 .paths = arguments->operands,
                                 .path_count = arguments->operand_count,
                                 .seen_max = predict->selection->seen_max,
                                 .stops_at_error = cpti_has(arguments, "stop-at-error"),
                                 .goes_on = true};
    char left[CPTI_LEFT_BYTES];
    bool is_usable = false;
    int status = cpti_stream_run(&stream, &is_usable);

    if (fold.counts.selected_count == 0 && status == CPTI_EXIT_DONE) {
        return cpti_failed("no request is selected, of %" PRIu64 " record%s%s",
                           fold.counts.record_count,
                           fold.counts.record_count == 1 ? "" : "s",
                           cpti_fold_left_text(&fold.counts, left));
    }
    return status;
}

/* The least slack of all nodes of the frame; CPT_DAG_UNBOUNDED: none has one. */
static uint64_t slack_of(const struct cpti_kept_graph *graph, struct cpt_bytes name,
                         const struct cpt_dag_measure *measures)
{
    const struct cpt_dag_recorded *recorded = graph->recorded;
    uint64_t slack_ns = CPT_DAG_UNBOUNDED;

    for (uint32_t i = 0; i < recorded->shape.node_count; i++) {
        const struct cpt_dag_name *frame =
            &recorded->frames[recorded->shape.nodes[i].frame];

        if (measures[i].slack_ns < slack_ns && cpt_bytes_equal(frame->name, name)) {
            slack_ns = measures[i].slack_ns;
        }
    }
    return slack_ns;
}

/* A cpti_kept_fn. */
static cpt_status add_graph(void *context, const struct cpti_kept_graph *graph)
{
    struct predict *predict = context;
    struct cpt_dag_measure *measures = cpt_alloc_array(
        NULL, NULL, graph->recorded->shape.node_count, sizeof *measures);
    cpt_status status = measures == NULL ? CPT_NO_MEMORY : CPT_OK;
    uint64_t slack_ns = CPT_DAG_UNBOUNDED;

    status = CPTI_THEN(status, cpt_dag_measure(graph->dag, measures));
    if (status == CPT_OK) {
        slack_ns = slack_of(graph, cpt_bytes_of(predict->frame), measures);
    }
    if (status == CPT_OK && slack_ns == CPT_DAG_UNBOUNDED) {
        predict->frameless_count++;
    } else if (status == CPT_OK) {
        status = add(predict, graph->record, slack_ns);
    }
    cpt_alloc_free(NULL, measures);
    return status;
}

static int read_graphs(struct predict *predict)
{
    int status;

    predict->kept =
        (struct cpti_kept_options){.files = predict->arguments->operands,
                                   .file_count = predict->arguments->operand_count,
                                   .selection = predict->selection,
                                   .by = predict->key,
                                   .visit = add_graph,
                                   .context = predict};
    status = cpti_kept_graphs(&predict->kept, &predict->counts);
    return predict->counts.requests == 0 || predict->counts.is_broken
               ? cpti_kept_none(&predict->kept, &predict->counts)
               : status;
}

/* --- Errors --- */

struct error_row {
    const char *word;
    const char *text;
    struct cpti_session_error error;
    double of_all; /* wrong predictions as a part of all */
    double paper;
};

static void find_errors(const struct predict *predict, struct error_row rows[2])
{
    const struct cpti_sessions *sessions = &predict->sessions;
    const uint64_t all = sessions->cells[0][0] + sessions->cells[0][1] +
                         sessions->cells[1][0] + sessions->cells[1][1];

    rows[0] = (struct error_row){.word = "false_above",
                                 .text = "predicted, was not above",
                                 .error = cpti_sessions_error(sessions, 1),
                                 .paper = PAPER_ABOVE};
    rows[1] = (struct error_row){.word = "false_below",
                                 .text = "not predicted, was above",
                                 .error = cpti_sessions_error(sessions, 0),
                                 .paper = PAPER_BELOW};
    for (int i = 0; i < 2; i++) {
        rows[i].of_all = (double)rows[i].error.wrong_count / (double)all;
    }
}

/* What of a row is a part: the number of a column. */
enum { SHARE, LOW, HIGH, BY_CHANCE, OF_ALL, PAPER };

static struct cpti_cell get_part(const struct cpti_asked *asked)
{
    const struct error_row *row = asked->row;
    const double parts[] = {
        [SHARE] = row->error.share, [LOW] = row->error.low,
        [HIGH] = row->error.high,   [BY_CHANCE] = row->error.by_chance,
        [OF_ALL] = row->of_all,     [PAPER] = row->paper};

    return cpti_cell_known(!isnan(parts[asked->what]), parts[asked->what]);
}

/* Both ends of the interval, in per cent. */
static struct cpti_cell get_interval(const struct cpti_asked *asked)
{
    const struct cpti_session_error *error =
        &((const struct error_row *)asked->row)->error;

    return isnan(error->low) ? cpti_cell_unknown()
                             : cpti_cell_format(asked, "%.1f to %.1f", error->low * 100,
                                                error->high * 100);
}

static const struct cpti_column error_columns[] = {
    {"error", "error", CPTI_TEXT, CPTI_OF(struct error_row, word)},
    {"text", "error", CPTI_TEXT, CPTI_OF(struct error_row, text), NULL, CPTI_IN_TABLES},
    {"wrong", "wrong", CPTI_COUNT, CPTI_OF(struct error_row, error.wrong_count)},
    {"of", "of", CPTI_COUNT, CPTI_OF(struct error_row, error.of_count)},
    {"share", "share", CPTI_SHARE, get_part, SHARE},
    {"low", "from", CPTI_SHARE, get_part, LOW},
    {"high", "to", CPTI_SHARE, get_part, HIGH},
    {"interval", "95 % interval", CPTI_TEXT, get_interval, 0, NULL, CPTI_IN_TABLES},
    {"by_chance", "by chance", CPTI_SHARE, get_part, BY_CHANCE},
    {"of_all", "of all", CPTI_SHARE, get_part, OF_ALL},
    {"paper", "paper", CPTI_SHARE, get_part, PAPER},
    {0},
};

static const struct cpti_relation error_relation = {
    "errors", error_columns, "wrong,of,share,interval,by_chance,paper,text"};

/* --- Keys --- */

static struct cpti_cell get_key(const struct cpti_asked *asked)
{
    const struct predict *predict = asked->context;

    return cpti_cell_bytes(cpti_sessions_text(&predict->sessions, asked->row));
}

static struct cpti_cell get_class(const struct cpti_asked *asked)
{
    return cpti_cell_text(((const struct cpti_session_key *)asked->row)->is_above
                              ? "above"
                              : "not_above");
}

static const struct cpti_column columns[] = {
    {"key", "key", CPTI_NAME, get_key, 0, "the value of --key"},
    {"class", "next", CPTI_TEXT, get_class, 0,
     "the prediction for its next request: above or not_above"},
    {"requests", "requests", CPTI_COUNT,
     CPTI_OF(struct cpti_session_key, request_count)},
    {"wrong", "wrong", CPTI_COUNT, CPTI_OF(struct cpti_session_key, wrong_count),
     "predictions that were wrong"},
    {"last_unix_ns", "last", CPTI_COUNT, CPTI_OF(struct cpti_session_key, last_unix_ns),
     "when its last request began"},
    {0},
};

static const struct cpti_relation relation = {"keys", columns,
                                              "requests,wrong,class,key"};

/* The most requests first. */
static int by_requests(const void *left, const void *right, void *context)
{
    const struct cpti_session_key *a = left;
    const struct cpti_session_key *b = right;
    const struct predict *predict = context;

    if (a->request_count != b->request_count) {
        return a->request_count > b->request_count ? -1 : 1;
    }
    return cpti_compare_bytes(cpti_sessions_text(&predict->sessions, a),
                              cpti_sessions_text(&predict->sessions, b));
}

/* --- As text --- */

static uint64_t predicted_count(const struct cpti_sessions *sessions)
{
    return sessions->cells[0][0] + sessions->cells[0][1] + sessions->cells[1][0] +
           sessions->cells[1][1];
}

static double above_share(const struct cpti_sessions *sessions)
{
    return (double)sessions->above_count / (double)sessions->request_count;
}

static const char *what_of(const struct predict *predict)
{
    return predict->frame != NULL ? "slack" : "latency";
}

static void print_left(const struct predict *predict)
{
    const char *key = cpti_quoted(predict->key);

    if (predict->keyless_count != 0) {
        (void)printf("left out: %" PRIu64 " requests without '%s'\n",
                     predict->keyless_count, key);
    }
    if (predict->frameless_count != 0) {
        (void)printf("left out: %" PRIu64
                     " requests whose response did not wait for '%s'\n",
                     predict->frameless_count, cpti_quoted(predict->frame));
    }
    if (predict->sessions.beyond_count != 0) {
        (void)printf("left out: %" PRIu64 " requests beyond %d, or of keys beyond %d\n",
                     predict->sessions.beyond_count, CPTI_SESSION_REQUESTS_MAX,
                     CPTI_SESSION_KEYS_MAX);
    }
}

/* The head of a struct cpti_sheet. */
static int head(const void *context)
{
    const struct predict *predict = context;
    const struct cpti_sessions *sessions = &predict->sessions;
    const struct cpti_view view =
        cpti_view_beside(&predict->view, &error_relation, NULL);
    const char *fence = predict->view.format == CPTI_FORMAT_MARKDOWN ? "```\n" : "";
    struct error_row rows[2];
    const struct cpti_rows errors = CPTI_ROWS(rows, 2, predict);
    char text[32];
    int status;

    find_errors(predict, rows);
    (void)printf("%s%s", fence, what_of(predict));
    if (predict->frame != NULL) {
        (void)printf(" of '%s'", cpti_quoted(predict->frame));
    }
    (void)printf(" above %s ms, predicted by the last request of the same '%s'\n",
                 cpti_ms(predict->threshold_ns, text), cpti_quoted(predict->key));
    (void)printf("requests: %zu, of which %.1f %% are above; %" PRIu64
                 " have one before them\n",
                 sessions->request_count, above_share(sessions) * 100,
                 predicted_count(sessions));
    (void)printf("keys: %zu, of which %" PRIu64 " have more than one request\n",
                 sessions->key_count, sessions->known_key_count);
    print_left(predict);
    if (predict->frame != NULL) {
        cpti_kept_print_evidence(&predict->counts);
    }
    (void)printf("%s\n", fence);
    status = cpti_relation_print(&view, &errors, 2);
    (void)printf("\npaper: Chow and others, 2014, as remembered: about 8 and 13 %%, of "
                 "slack above 2.5 s\n\n");
    return status;
}

/* --- As JSON --- */

static void put(const void *context, struct cpti_json *json)
{
    const struct predict *predict = context;
    const struct cpti_sessions *sessions = &predict->sessions;
    const struct cpti_view view =
        cpti_view_beside(&predict->view, &error_relation, NULL);
    struct error_row rows[2];
    const struct cpti_rows errors = CPTI_ROWS(rows, 2, predict);

    find_errors(predict, rows);
    cpti_json_text(json, "by", predict->key);
    cpti_json_text(json, "what", what_of(predict));
    if (predict->frame != NULL) {
        cpti_json_text(json, "frame", predict->frame);
        cpti_kept_put_evidence(json, &predict->counts);
    }
    cpti_json_ns(json, "threshold_ns", predict->threshold_ns);
    cpti_json_unsigned(json, "requests", sessions->request_count);
    cpti_json_rough(json, "above_share", above_share(sessions));
    cpti_json_unsigned(json, "predicted", predicted_count(sessions));
    cpti_json_unsigned(json, "key_count", sessions->key_count);
    cpti_json_unsigned(json, "keys_with_history", sessions->known_key_count);
    cpti_json_unsigned(json, "without_key", predict->keyless_count);
    cpti_json_unsigned(json, "without_frame", predict->frameless_count);
    cpti_json_unsigned(json, "beyond_limit", sessions->beyond_count);
    cpti_json_unsigned(json, "right_above", sessions->cells[1][1]);
    cpti_json_unsigned(json, "right_below", sessions->cells[0][0]);
    cpti_relation_json(&view, &errors, 2, json);
}

/* --- The command --- */

static int show(struct predict *predict)
{
    struct cpti_sessions *sessions = &predict->sessions;
    const struct cpti_sheet sheet = {
        .view = &predict->view,
        .rows = CPTI_ROWS(sessions->keys, sessions->key_count, predict),
        .context = predict,
        .people_max = PRINTED_MAX,
        .counts_rest = true,
        .head = head,
        .put = put};

    if (sessions->key_count == 0) {
        const int status =
            predict->frameless_count != 0 && predict->keyless_count == 0
                ? cpti_failed("option '--frame': no response waited for '%s'",
                              cpti_quoted(predict->frame))
                : cpti_failed("option '--key': no request has '%s'",
                              cpti_quoted(predict->key));

        if (predict->keyless_count != 0) {
            cpti_log_keys_suggest(predict->key, predict->arguments->operands,
                                  predict->arguments->operand_count);
        }
        return status;
    }
    cpti_sessions_judge(sessions);
    qsort_r(sessions->keys, sessions->key_count, sizeof *sessions->keys, by_requests,
            predict);
    cpti_relation_sort(&predict->view, sessions->keys, sessions->key_count,
                       sizeof *sessions->keys, predict);
    return cpti_sheet_print(&sheet);
}

/* Reads --key, --threshold, --what and --frame. */
static int read_options(struct predict *predict)
{
    const struct cpti_arguments *arguments = predict->arguments;
    const char *threshold = cpti_value(arguments, "threshold");
    const char *what = cpti_value(arguments, "what");
    const bool is_slack = what != NULL && strcmp(what, "slack") == 0;
    double values[CPTI_AMOUNTS_MAX];
    size_t count = 0;
    int status;

    predict->key = cpti_value(arguments, "key");
    predict->frame = cpti_value(arguments, "frame");
    if (predict->key == NULL || threshold == NULL) {
        return cpti_usage("'cpt predict' needs --key and --threshold" CPTI_HINT
                          "try --key user --threshold 2500ms");
    }
    if (is_slack != (predict->frame != NULL)) {
        return cpti_usage("options '--what slack' and '--frame' need each other: a "
                          "request has no slack itself, but a frame of it has");
    }
    status = cpti_amounts("threshold", threshold, CPTI_UNIT_TIME, values, &count);
    if (status == CPTI_EXIT_DONE && count != 1) {
        return cpti_usage("option '--threshold' takes one time, not '%s'",
                          cpti_quoted(threshold));
    }
    predict->threshold_ns = values[0];
    return status;
}

/* Reads the options of the selection, for path logs. */
static int read_selection(struct predict *predict)
{
    predict->selection = calloc(1, sizeof *predict->selection); /* large */
    return predict->selection == NULL
               ? cpti_failed("out of memory")
               : cpti_selection_init(predict->selection, predict->arguments);
}

/* Percentiles of the logs, and their requests. */
static int read_paths(struct predict *predict)
{
    const struct cpti_arguments *arguments = predict->arguments;
    const int status =
        cpti_gather_percentiles(&predict->selection, 1, arguments->operands,
                                arguments->operand_count, cpti_processors());

    return CPTI_THEN(status, read_logs(predict));
}

static int run(const struct cpti_arguments *arguments)
{
    struct predict predict = {.arguments = arguments};
    int status = read_options(&predict);
    int read = CPTI_EXIT_DONE;

    status =
        CPTI_THEN(status, cpti_view_read(arguments, &relation, NULL, &predict.view));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = predict.frame != NULL ? cpti_kept_selection(arguments, &predict.selection)
                                   : read_selection(&predict);
    if (status == CPTI_EXIT_DONE && cpti_sessions_init(&predict.sessions) != CPT_OK) {
        status = cpti_failed("the system has no random bytes");
    }
    if (status == CPTI_EXIT_DONE) {
        read = predict.frame != NULL ? read_graphs(&predict) : read_paths(&predict);
        if (read == CPTI_EXIT_DONE || predict.sessions.key_count != 0) {
            status = show(&predict);
        }
    }
    cpti_sessions_deinit(&predict.sessions);
    if (predict.frame == NULL && predict.selection != NULL) {
        cpti_selection_deinit(predict.selection);
        free(predict.selection);
    } else {
        cpti_kept_selection_free(predict.selection);
    }
    return cpti_exit_last(read, status);
}

static const struct cpti_option options[] = {
    {"key", 0, "KEY",
     "whose requests resemble each other: an attribute such as user, or method, status "
     "or minute"},
    {"threshold", 0, "DURATION", "what is above it is one class (2500ms)"},
    {"what", 0, "WHAT",
     "what is above or not: latency (the default), or slack of the frame of --frame, "
     "of graph logs",
     "latency slack"},
    {"frame", 0, "NAME", "the frame whose slack counts, as 'cpt slack' names it"},
    {"json", 'j', NULL, "print one JSON object with the keys"},
    CPTI_CAPPED_OPTION("the keys with most requests"),
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt predict logs/ --key user --threshold 2500ms",
     "whether slow requests are those of the same users"},
    {"cpt predict logs/ --key user --threshold 2500ms --format csv --columns key,class",
     "the prediction for the next request of each user"},
    {"cpt predict --what slack --frame 'ads: pick' --key user --threshold 50ms "
     "graphs/*.cptgraph",
     "whether the next call of 'ads: pick' will have time"},
    {0},
};

const struct cpti_command cpti_command_predict = {
    .name = "predict",
    .summary = "print how well the last request of a user tells the next",
    .group = CPTI_COMPARE,
    .question = "Are requests of one user alike: will the next be as the last?",
    .needs = "path logs, spans or graph logs that have an attribute: user",
    .usages = {"[OPTION]... LOG... --key KEY --threshold DURATION"},
    .options = {options, cpti_view_options, cpti_select_options, cpti_count_options,
                cpti_log_options},
    .relations = {&relation},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
