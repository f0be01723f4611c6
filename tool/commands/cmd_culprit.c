/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_culprit.c - cpt culprit: which service to call
 *
 *      base --> selected records --> sample --.
 *                                             +--> comparison --> verdict
 *      new  --> selected records --> sample --'
 *
 * The two sets are two operands, or two selections of the same logs, which are then
 * read twice. Requests of different entry services may be in one set: like is compared
 * with like anyway.
 */
#include "tool/base/amounts.h"
#include "tool/table/capped.h"
#include "tool/base/folders.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/culprit/culprit.h"
#include "tool/culprit/culprit_kind.h"
#include "tool/culprit/culprit_print.h"
#include "tool/culprit/culprit_structure.h"
#include "tool/culprit/nested_keys.h"
#include "tool/folds/cluster_key.h"
#include "tool/requests/log_keys.h"
#include "tool/requests/log_sample.h"
#include "tool/requests/log_walk.h"
#include "tool/log/graph_logs.h"
#include "tool/gather/request_set.h"
#include "tool/log/span_logs.h"
#include "tool/log/span_tags.h"
#include "tool/log/visits_record.h"
#include "tool/model/behaviour.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Requests of each set; rows of text. */
enum { REQUESTS_DEFAULT = 10000, ROWS_DEFAULT = 10 };

struct culprit_command {
    const struct cpti_arguments *arguments;
    struct cpti_request_set sets[2];
    struct cpti_graph_logs logs[2]; /* inputs of the sets; of one if they share them */
    struct cpti_culprit *culprit;
    struct cpt_path *visits;              /* of one request */
    const struct cpti_culprit_kind *kind; /* who is looked for */
    const char *key;     /* … of which attribute the values; NULL: none */
    uint64_t missing[2]; /* requests without it, or visits without a host */
    const char *cluster; /* by which requests are dealt; NULL: none */
    char hint[CPTI_NESTED_KEY_BYTES]; /* … that the option should name; or empty */
    uint64_t unclustered;             /* requests without a value of it */
    struct cpti_nested_keys *nested;
    double chances[2][2]; /* by side: with which records were kept, least, most */
    uint64_t without_callers[2]; /* requests, from lines of callees alone */
    enum cpti_culprit_side side; /* of the sample that is being added */
    uint64_t refused_count;      /* requests beyond the limits of a comparison */
    uint64_t rows_max;
    struct cpti_view view;
    uint64_t seed;
    struct cpti_model_changes *behaviour; /* of lines; NULL: not known */
};

/* --- Records --- */

/* Whether all records of both samples have all visits. */
static bool has_visits(const struct culprit_command *command)
{
    const struct cpti_request_set *sets = command->sets;

    return sets[0].visits_count == sets[0].fold.sample.count &&
           sets[1].visits_count == sets[1].fold.sample.count;
}

/* The cluster of the request that is added next: a hash of the value. A request without
 * one resembles no other. */
static void set_cluster(struct culprit_command *command,
                        const struct cpt_record *record)
{
    char text[CPTI_CLUSTER_VALUE_BYTES];
    struct cpt_bytes value;

    if (cpti_cluster_value(record, command->cluster, text, &value)) {
        cpti_culprit_cluster(command->culprit, cpti_nested_hash(value));
    } else {
        cpti_culprit_cluster(command->culprit, command->unclustered++);
    }
}

/* Adds a request to those with its value of the attribute that is looked for. */
static cpt_status add_request(struct culprit_command *command,
                              const struct cpt_record *record)
{
    char text[CPTI_CLUSTER_VALUE_BYTES];
    struct cpti_culprit_request request = {.entry = record->entry,
                                           .method = record->method,
                                           .latency_ns = record->latency_ns,
                                           .start_ns = record->start_unix_ns};

    if (cpt_record_attribute(record, cpt_bytes_of(command->key)) == NULL ||
        !cpti_cluster_value(record, command->key, text, &request.value)) {
        command->missing[command->side]++;
        return CPT_OK;
    }
    return cpti_culprit_add_request(command->culprit, command->side, &request);
}

/* Adds a request of the sample. */
static int meet_sampled(void *context, const struct cpti_request *request)
{
    struct culprit_command *command = context;
    const struct cpt_record *record = request->record;
    const struct cpt_path *path = request->path;
    cpt_status status = CPT_OK;

    if (has_visits(command) && command->key == NULL) {
        status = cpti_visits_read(record, command->visits);
        path = command->visits;
        if (status == CPT_CORRUPT || status == CPT_LIMIT) {
            command->sets[command->side].damaged_count++;
            return cpti_has(command->arguments, "stop-at-error")
                       ? cpti_failed("a record has a damaged 'cpt.visits'")
                       : CPTI_EXIT_DONE;
        }
    }
    if (command->cluster != NULL) {
        set_cluster(command, record);
    }
    if (command->key != NULL) {
        status = add_request(command, record);
    } else if (status == CPT_OK) {
        status = cpti_culprit_add(command->culprit, command->side, path,
                                  record->start_unix_ns);
    }
    if (status == CPT_LIMIT) {
        command->refused_count++;
        return CPTI_EXIT_DONE;
    }
    return cpti_status_exit(status);
}

/* Whether @record was made from lines of callees alone. */
static bool lacks_callers(const struct cpt_record *record)
{
    const struct cpt_attribute *events =
        cpt_record_attribute(record, cpt_bytes_of(CPTI_EVENTS_ATTRIBUTE));

    return events != NULL && events->type == CPT_ATTRIBUTE_TEXT &&
           cpt_bytes_equal(events->value.text, cpt_bytes_of("servers"));
}

/* Whether most requests of a set were. */
static bool most_lack_callers(const struct culprit_command *command, unsigned side)
{
    return 2 * command->without_callers[side] > command->sets[side].fold.sample.count;
}

/* A cpti_sampled_fn: whether a record has all visits, and how likely it was kept. */
static int look_for_visits(void *context, const struct cpti_request *request)
{
    struct culprit_command *command = context;
    const struct cpt_record *record = request->record;
    double *chances = command->chances[command->side];

    command->sets[command->side].visits_count += cpti_visits_has(record);
    command->without_callers[command->side] += lacks_callers(record);
    chances[0] = fmin(chances[0], record->probability);
    chances[1] = fmax(chances[1], record->probability);
    return CPTI_EXIT_DONE;
}

/* Whether what was kept does not depend on what requests did, so that structure can be
 * compared: in each set all were as likely. */
static bool are_kept_alike(double chances[2][2])
{
    const double most = 1 + 1e-6; /* rounded */

    return chances[0][1] <= chances[0][0] * most &&
           chances[1][1] <= chances[1][0] * most;
}

/* Adds both samples: by all visits, if all of their records have them. */
static int add_samples(struct culprit_command *command)
{
    int status = CPTI_EXIT_DONE;

    for (unsigned i = 0; i < 2; i++) {
        command->side = (enum cpti_culprit_side)i;
        command->sets[i].visits_count = 0;
        command->without_callers[i] = 0;
        command->sets[i].damaged_count = 0;
        command->chances[i][0] = 1;
        command->chances[i][1] = 0;
        status =
            cpti_exit_last(status, cpti_log_sample_each(&command->sets[i].fold.sample,
                                                        look_for_visits, command));
    }
    if (has_visits(command)) {
        cpti_culprit_has_all_visits(command->culprit);
    }
    if (most_lack_callers(command, 0) || most_lack_callers(command, 1)) {
        cpti_culprit_lacks_callers(command->culprit);
    }
    if (command->key == NULL && has_visits(command) &&
        are_kept_alike(command->chances)) {
        status = cpti_exit_last(
            status, cpti_status_exit(cpti_culprit_compare_structure(command->culprit)));
    }
    for (unsigned i = 0; i < 2; i++) {
        command->side = (enum cpti_culprit_side)i;
        status =
            cpti_exit_last(status, cpti_log_sample_each(&command->sets[i].fold.sample,
                                                        meet_sampled, command));
        if (command->sets[i].damaged_count > 0) {
            status = CPTI_EXIT_FAILED;
        }
    }
    return status;
}

/* --- Who is looked for --- */

/* How an attribute that no request has may come to them, if they may be of spans. */
static const char *hint_of(const struct culprit_command *command)
{
    return has_visits(command) && !command->logs[0].has_graphs &&
                   !command->logs[1].has_graphs
               ? "; of spans, '--attribute' keeps it"
               : "";
}

/* That a set lacks what is looked for, if it does. enum cpti_exit. */
static int check_kind(const struct culprit_command *command)
{
    const bool has_replicas = command->kind->by == CPTI_CULPRIT_BY_REPLICA;
    const bool has_graphs = command->logs[0].has_graphs || command->logs[1].has_graphs;

    for (unsigned i = 0; i < 2; i++) {
        const struct cpti_request_set *set = &command->sets[i];

        if (command->key == NULL && has_graphs &&
            set->visits_count < set->fold.sample.count) {
            return cpti_usage("graph logs have all visits of a request, and %s has "
                              "not: give graph logs, spans, or logs that 'cpt import "
                              "--visits' wrote, as both",
                              set->what);
        }
        if (has_replicas && set->visits_count < set->fold.sample.count) {
            return cpti_usage("option '--by replica': %s is a path log, which has no "
                              "hosts" CPTI_HINT
                              "give files of spans, or logs that 'cpt import "
                              "--visits' wrote",
                              set->what);
        }
        if (command->key != NULL && cpti_culprit_requests(command->culprit, i) == 0) {
            const int status =
                cpti_usage("option '--by': no request of %s has '%s'%s", set->what,
                           cpti_quoted(command->key), hint_of(command));

            cpti_log_keys_suggest(command->key, set->paths, set->path_count);
            return status;
        }
    }
    for (unsigned i = 0; has_replicas && i < 2; i++) {
        if (cpti_culprit_visits(command->culprit, i, true) == 0) {
            return cpti_usage(
                has_graphs ? "option '--by replica': no visit of %s names its host; "
                             "graph logs have none"
                           : "option '--by replica': no span of %s names its host",
                command->sets[i].what);
        }
    }
    return CPTI_EXIT_DONE;
}

/* That no request has a value of the cluster. enum cpti_exit. */
static int check_cluster(const struct culprit_command *command)
{
    const struct cpti_request_set *sets = command->sets;

    if (command->cluster == NULL ||
        command->unclustered < sets[0].fold.sample.count + sets[1].fold.sample.count) {
        return CPTI_EXIT_DONE;
    }
    (void)cpti_usage("option '--cluster': no request has '%s'%s",
                     cpti_quoted(command->cluster), hint_of(command));
    cpti_log_keys_suggest(command->cluster, sets[0].paths, sets[0].path_count);
    return CPTI_EXIT_USAGE;
}

/* Tells of what nothing is known that was looked for. */
static void tell_missing(const struct culprit_command *command)
{
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t count = command->missing[i];
        const char *what = command->sets[i].what;
        const char *end = count == 1 ? "" : "s";

        if (count > 0 && command->key != NULL) {
            cpti_warn("%s: %" PRIu64 " request%s without '%s' do%s not count", what,
                      count, end, cpti_quoted(command->key), count == 1 ? "es" : "");
        } else if (count > 0) {
            cpti_warn("%s: %" PRIu64 " visit%s name%s no host; their services stand "
                      "for them",
                      what, count, end, count == 1 ? "s" : "");
        }
    }
}

/* Tells which visits are not compared. */
static void tell_visits(const struct culprit_command *command)
{
    const struct cpti_structure *structure = cpti_culprit_structure(command->culprit);
    const struct cpti_request_set *sets = command->sets;
    const bool has_some = sets[0].visits_count + sets[1].visits_count > 0;

    for (const struct cpti_request_set *set = sets; set < sets + 2; set++) {
        if (set->damaged_count > 0) {
            cpti_warn("%s: %" PRIu64 " requests left out: damaged 'cpt.visits'",
                      set->what, set->damaged_count);
        }
        if (has_some && set->visits_count < set->fold.sample.count) {
            cpti_warn("%s: %zu of %zu requests have all visits: paths are compared",
                      set->what, set->visits_count, set->fold.sample.count);
        }
    }
    if (cpti_structure_left_out(structure) > 0) {
        cpti_warn("%" PRIu64 " requests have too many operations to compare",
                  cpti_structure_left_out(structure));
    }
    if (structure != NULL && !cpti_structure_is_compared(structure)) {
        cpti_warn("no entry operation is in both sets, so structure is not compared");
    }
}

/* Tells that lines of callers are missing, so that nothing is sure. */
static void tell_callers(const struct culprit_command *command)
{
    for (unsigned i = 0; i < 2; i++) {
        if (most_lack_callers(command, i)) {
            cpti_warn("%s: %" PRIu64 " of %zu requests are known from lines of callees "
                      "alone: the way to a callee looks like work of its caller, so "
                      "nothing is sure" CPTI_HINT "log the calls, too",
                      command->sets[i].what, command->without_callers[i],
                      command->sets[i].fold.sample.count);
        }
    }
}

/* Tells who is not sure, as requests enter by other operations. */
static void tell_mix(const struct cpti_culprit *culprit)
{
    for (size_t i = 0; i < cpti_culprit_suspect_count(culprit); i++) {
        const struct cpti_suspect *suspect = cpti_culprit_suspect(culprit, i);

        if (suspect->is_of_mix) {
            cpti_warn("%s: with one mix of requests in both sets, less than half of "
                      "its score is left",
                      cpti_quoted_bytes(suspect->name));
        }
    }
}

/* --- Output --- */

/* See struct cpti_capped. */
/* Functions of struct cpti_culprit_print. */
static void print_behaviour(const void *context, size_t row_max)
{
    cpti_behaviour_print(context, row_max);
}

static void put_behaviour(const void *context, size_t row_max, struct cpti_json *json)
{
    cpti_behaviour_json(context, row_max, json);
}

/* If both sets are all lines of a file, finds what these say that code does in another
 * way. */
static int find_behaviour(struct culprit_command *command)
{
    const struct cpti_arguments *arguments = command->arguments;
    const char *files[2] = {NULL, NULL};

    for (size_t i = 0; i < 2 && arguments->operand_count == 2; i++) {
        files[i] = cpti_row_logs_operand(arguments->operands[i]);
    }
    return files[0] != NULL && files[1] != NULL && !cpti_has(arguments, "base") &&
                   !cpti_selection_has_terms(&command->sets[0].selection)
               ? cpti_behaviour_find(arguments, files[0], files[1], &command->behaviour)
               : CPTI_EXIT_DONE;
}

static int print_capped(void *context, size_t row_max)
{
    const struct culprit_command *command = context;
    const struct cpti_culprit_print print = {
        .culprit = command->culprit,
        .kind = command->kind,
        .by = cpti_value(command->arguments, "by"),
        .cluster = cpti_value(command->arguments, "cluster"),
        .hint = command->hint[0] != '\0' ? command->hint : NULL,
        .missing = {command->missing[0], command->missing[1]},
        .rows_max = command->rows_max,
        .view = &command->view,
        .print_more = command->behaviour != NULL ? print_behaviour : NULL,
        .put_more = command->behaviour != NULL ? put_behaviour : NULL,
        .context = command->behaviour};

    return cpti_culprit_print(&print, row_max);
}

static size_t rows_of(const struct cpti_culprit *culprit)
{
    return cpti_structure_row_count(cpti_culprit_structure(culprit));
}

static int show(struct culprit_command *command)
{
    const struct cpti_culprit *culprit = command->culprit;
    const size_t count = cpti_culprit_suspect_count(culprit);
    const size_t rows = count + cpti_culprit_unjudged_count(culprit) + rows_of(culprit);
    const struct cpti_capped capped = {.bytes_max = command->view.bytes_max,
                                       .print = print_capped,
                                       .context = command,
                                       .row_count = rows};
    int status = CPTI_EXIT_DONE;

    if (command->refused_count > 0) {
        cpti_warn("%" PRIu64 " requests are left out: there are too many calls or "
                  "names to compare",
                  command->refused_count);
    }
    tell_missing(command);
    tell_visits(command);
    tell_callers(command);
    tell_mix(culprit);
    if (command->key != NULL && count == 1) {
        cpti_warn("'%s' has one value in both sets, and no other to compare it with",
                  cpti_quoted(command->key));
    }
    if (count == 0) {
        cpti_warn("the two sets have no %s in common",
                  command->kind->by == CPTI_CULPRIT_BY_REPLICA ? "replica"
                                                               : "operation");
    }
    status = find_behaviour(command);
    return cpti_exit_last(status, cpti_capped_print(&capped));
}

/* --- The command --- */

/* Two operands, each of which may be a folder; or two selections of all of them. */
static int find_sets(struct culprit_command *command)
{
    static const char *const names[2] = {"base", "new"};
    const struct cpti_arguments *arguments = command->arguments;
    bool has_sides = false;
    int status = cpti_has_sides(arguments, &has_sides);

    if (status == CPTI_EXIT_DONE && !has_sides && arguments->source_count != 2) {
        return cpti_usage("'cpt culprit' needs two logs or folders, or --base and "
                          "--new for two selections of the same logs");
    }
    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        struct cpti_request_set *set = &command->sets[i];

        set->what = names[i];
        if (has_sides) {
            status = cpti_selection_add(&set->selection, names[i],
                                        cpti_value(arguments, names[i]));
        }
    }
    return status;
}

/* Finds the logs of the sets, where graph logs are put into path logs. */
static int open_logs(struct culprit_command *command)
{
    const struct cpti_arguments *arguments = command->arguments;
    const bool is_shared = cpti_has(arguments, "base");
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < 2; i++) {
        struct cpti_request_set *set = &command->sets[i];
        struct cpti_graph_logs *logs = &command->logs[is_shared ? 0 : i];

        if (i == 0 || !is_shared) {
            status = cpti_exit_last(
                status,
                cpti_graph_logs_open(logs, arguments, i,
                                     is_shared ? arguments->source_count : i + 1,
                                     cpti_has(arguments, "graphs")));
        }
        set->paths = logs->inputs;
        set->path_count = logs->count;
        if (logs->has_graphs && cpti_selection_has_paths(&set->selection)) {
            return cpti_usage("cpt culprit selects requests of graph logs by "
                              "attributes and times, not by path(...)");
        }
    }
    return status;
}

/* Whether a set has none. */
static bool lacks_logs(const struct culprit_command *command)
{
    return command->sets[0].path_count == 0 || command->sets[1].path_count == 0;
}

static int init_command(struct culprit_command *command)
{
    const struct cpti_arguments *arguments = command->arguments;
    struct cpti_selection *selection = &command->sets[0].selection;
    int status = cpti_selection_init(selection, arguments);

    if (status == CPTI_EXIT_DONE && !cpti_has(arguments, "sample")) {
        selection->sample_count = REQUESTS_DEFAULT;
    }
    command->seed = selection->seed;
    command->sets[1].selection = *selection;
    command->kind = cpti_culprit_kind_of(cpti_value(arguments, "by"), &command->key);
    status = CPTI_THEN(
        status, cpti_view_read(arguments, &cpti_culprit_rows, NULL, &command->view));
    command->rows_max = cpti_view_rows(&command->view, SIZE_MAX, ROWS_DEFAULT);
    status = CPTI_THEN(
        status, cpti_whole_number(arguments, "top", 1, UINT64_MAX, &command->rows_max));
    return status == CPTI_EXIT_DONE ? find_sets(command) : status;
}

/* Compares the samples, whose requests are dealt by the command's cluster. */
static int compare(struct culprit_command *command)
{
    int status;

    cpti_culprit_free(command->culprit);
    command->refused_count = 0;
    command->unclustered = 0;
    memset(command->missing, 0, sizeof command->missing);
    command->culprit = cpti_culprit_new(NULL, command->kind->by);
    if (command->culprit == NULL) {
        return cpti_failed("out of memory");
    }
    status = add_samples(command);
    status = cpti_exit_last(status, check_kind(command));
    for (unsigned i = 0; i < 2 && command->kind->by == CPTI_CULPRIT_BY_REPLICA; i++) {
        command->missing[i] = cpti_culprit_visits(command->culprit, i, false);
    }
    if (status != CPTI_EXIT_USAGE) {
        status = cpti_exit_last(status, check_cluster(command));
    }
    if (status == CPTI_EXIT_USAGE) {
        return status;
    }
    status = cpti_exit_last(
        status, cpti_status_exit(cpti_culprit_judge(command->culprit, command->seed)));
    if (command->key != NULL && cpti_culprit_suspect_count(command->culprit) == 0) {
        return cpti_usage("option '--by': no value of '%s' has one operation in both "
                          "sets, so none can be compared with itself; the arms of an "
                          "experiment are compared by 'cpt diff'",
                          cpti_quoted(command->key));
    }
    return status;
}

/* A cpti_sampled_fn: looks at the attributes of a record. */
static int look_for_keys(void *context, const struct cpti_request *request)
{
    struct culprit_command *command = context;

    return cpti_status_exit(
        cpti_nested_add(command->nested, request->record, (unsigned)command->side));
}

/* Whether it says something that clusters may take back. */
static bool says_much(const struct cpti_culprit *culprit)
{
    return cpti_culprit_verdict(culprit) != CPTI_VERDICT_NONE || rows_of(culprit) > 0;
}

/*
 * Where the arms of an experiment were drawn by user, chance dealt users, not requests.
 * Then what stands out among requests has to do so among users, too. It shows: each
 * user is in one arm.
 */
static int doubt_requests(struct culprit_command *command)
{
    const char *key = NULL;
    int status = CPTI_EXIT_DONE;

    command->nested = cpti_nested_new();
    if (command->nested == NULL) {
        return cpti_failed("out of memory");
    }
    for (unsigned i = 0; i < 2; i++) {
        command->side = (enum cpti_culprit_side)i;
        status =
            cpti_exit_last(status, cpti_log_sample_each(&command->sets[i].fold.sample,
                                                        look_for_keys, command));
    }
    for (size_t i = 0; command->hint[0] == '\0' && says_much(command->culprit) &&
                       (key = cpti_nested_key(command->nested, i)) != NULL;
         i++) {
        const enum cpti_verdict verdict = cpti_culprit_verdict(command->culprit);
        const size_t row_count = rows_of(command->culprit);

        command->cluster = key;
        status = cpti_exit_last(status, compare(command));
        if (cpti_culprit_verdict(command->culprit) < verdict ||
            rows_of(command->culprit) < row_count) {
            (void)snprintf(command->hint, sizeof command->hint, "%s", key);
        }
    }
    return status;
}

static int judge(struct culprit_command *command)
{
    const struct cpti_arguments *arguments = command->arguments;
    int status = open_logs(command);

    if (status != CPTI_EXIT_DONE && (status == CPTI_EXIT_USAGE || lacks_logs(command) ||
                                     cpti_has(arguments, "stop-at-error"))) {
        return status;
    }

    command->visits = cpt_path_new(NULL);
    if (command->visits == NULL) {
        return cpti_failed("out of memory");
    }
    for (unsigned i = 0; i < 2; i++) {
        status =
            cpti_exit_last(status, cpti_request_set_read(&command->sets[i], arguments));
        if (status != CPTI_EXIT_DONE && command->sets[i].fold.sample.count == 0) {
            return status;
        }
    }
    command->cluster = cpti_value(arguments, "cluster");
    status = cpti_exit_last(status, compare(command));
    if (status == CPTI_EXIT_USAGE ||
        (status != CPTI_EXIT_DONE && cpti_has(arguments, "stop-at-error"))) {
        return status;
    }
    if (command->cluster == NULL && command->culprit != NULL &&
        cpti_culprit_are_concurrent(command->culprit) && says_much(command->culprit)) {
        status = cpti_exit_last(status, doubt_requests(command));
    }
    return command->culprit != NULL ? cpti_exit_last(status, show(command)) : status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct culprit_command command = {.arguments = arguments};
    int status = init_command(&command);

    status = CPTI_THEN(status, judge(&command));
    for (unsigned i = 0; i < 2; i++) {
        cpti_request_set_deinit(&command.sets[i]);
        cpti_graph_logs_deinit(&command.logs[i]);
    }
    cpti_culprit_free(command.culprit);
    cpti_nested_free(command.nested);
    cpti_behaviour_free(command.behaviour);
    cpt_path_free(command.visits);
    return status;
}

static const struct cpti_option options[] = {
    {"base", 'b', "EXPR",
     "the requests to compare with: KEY=VALUE, or several separated by commas, which "
     "must all hold"},
    {"new", 'n', "EXPR", "the requests to compare"},
    {"by", 0, "WHAT",
     "who is looked for: service (the default), name, edge, operation, replica or "
     "attribute:KEY",
     CPTI_CULPRIT_KIND_WORDS},
    {"graphs", 0, NULL, "a folder stands for its graph logs, also if it has path logs"},
    {"cluster", 0, "KEY",
     "deal the requests with one value of KEY together, as they resemble each other: "
     "an attribute, method, status or minute"},
    {"top", 't', "COUNT", "print at most COUNT rows as text; default: 10"},
    {"sample", 0, "COUNT",
     "compare at most COUNT requests of each set, drawn at random; default: 10000"},
    {"seed", 0, "NUMBER",
     "draw other requests and resamples; the same NUMBER gives the same answer; "
     "default: 1"},
    {"json", 'j', NULL, "print one JSON object"},
    CPTI_CAPPED_OPTION("the first rows"),
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt culprit yesterday.cptlog now.cptlog", "which service to call"},
    {"cpt culprit before.json.gz now.json.gz",
     "the same from spans of Jaeger, Zipkin or OpenTelemetry"},
    {"cpt culprit --by name --base build=41 --new build=42 logs/",
     "which component a release made slower"},
    {"cpt culprit --graphs --base build=41 --new build=42 logs/",
     "the same by graph logs, which have calls that no request waited for, too"},
    {"cpt culprit --by attribute:tenant yesterday.cptlog now.cptlog",
     "whose requests became slower"},
    {"cpt culprit --attribute user --cluster user --base arm=A --new arm=B --attribute "
     "arm spans/",
     "the arms of an experiment that were drawn by user, from spans"},
    {0},
};

const struct cpti_command cpti_command_culprit = {
    .name = "culprit",
    .summary = "print which service became slower, and how sure that is",
    .group = CPTI_FIX,
    .question = "Which service became slower since then, and is that sure?",
    .needs = "path logs, graph logs or spans: before, and in the trouble",
    .usages = {"[OPTION]... BASE NEW", "[OPTION]... LOG... --base EXPR --new EXPR"},
    .options = {options, cpti_view_options, cpti_select_options, cpti_count_options,
                cpti_log_options},
    .relations = {&cpti_culprit_rows},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .has_log_folders = true,
    .takes_spans = true,
    .takes_visits = true,
};
