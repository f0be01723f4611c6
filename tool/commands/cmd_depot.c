/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_depot.c - cpt depot: a folder of path logs, by trace id; and its retention
 */
#include "tool/base/files.h"
#include "tool/base/folders.h"
#include "tool/table/json_write.h"
#include "tool/base/options.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/table/sheet.h"
#include "tool/depot/depot.h"
#include "tool/base/log_output.h"
#include "tool/requests/stream.h"
#include "tool/requests/workers.h"
#include "tool/print/record_print.h"
#include "tool/select/when.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 64 }; /* enough to tell what a file is */

/* The logs of a folder. */
struct depot {
    const struct cpti_arguments *arguments;
    const char *folder;
    struct cpti_arguments logs; /* as operands */
    struct log_state *states;   /* of each */
};

struct log_state {
    struct cpti_depot_log log;
    uint64_t bytes;
    uint64_t end_ns; /* of its last record, or when it was written last */
    bool is_read;
};

/* --- Its logs --- */

/* @takes_graphs: its graph logs, too. */
static int open_depot(struct depot *depot, bool takes_graphs)
{
    static const struct cpti_command both = {.has_log_folders = true};
    struct stat about;

    if (stat(depot->folder, &about) == 0 && !S_ISDIR(about.st_mode)) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(depot->folder)},
                              "is no folder");
    }
    depot->logs.command = takes_graphs ? &both : NULL;
    depot->logs.operands = calloc(1, sizeof(char *));
    if (depot->logs.operands == NULL) {
        return cpti_failed("out of memory");
    }
    depot->logs.operands[0] = depot->folder;
    depot->logs.operand_count = 1;
    return cpti_folders_open(&depot->logs);
}

static int refresh_job(void *context, size_t worker, size_t job)
{
    struct depot *depot = context;
    struct log_state *state = &depot->states[job];
    struct stat about;

    (void)worker;
    if (cpti_depot_survey(depot->logs.operands[job], &state->log) != CPTI_EXIT_DONE ||
        state->log.is_gone) {
        return 0; /* it was said */
    }
    if (stat(depot->logs.operands[job], &about) != 0) {
        state->log.is_gone = cpti_input_is_gone(depot->logs.operands[job]);
        return 0;
    }
    state->bytes = (uint64_t)about.st_size;
    state->end_ns = state->log.head.record_count > 0
                        ? state->log.head.start_max_ns
                        : (uint64_t)about.st_mtim.tv_sec * UINT64_C(1000000000);
    state->is_read = true;
    return 0;
}

/* Looks at all logs, and makes their ids right, on several threads. */
static int refresh_all(struct depot *depot)
{
    struct cpti_workers workers = {.job_count = depot->logs.operand_count,
                                   .run = refresh_job,
                                   .context = depot,
                                   .noun = "logs"};
    int status = CPTI_EXIT_DONE;

    depot->states = calloc(workers.job_count + 1, sizeof *depot->states);
    workers.worker_count = cpti_processors();
    if (workers.worker_count > workers.job_count) {
        workers.worker_count = workers.job_count;
    }
    if (depot->states == NULL || cpti_workers_run(&workers) != 0) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < workers.job_count; i++) {
        if (!depot->states[i].is_read && !depot->states[i].log.is_gone) {
            status = CPTI_EXIT_FAILED;
        }
    }
    return status;
}

/* --- get --- */

struct getting {
    struct cpti_json json;
    struct cpti_log_output *output;
    bool is_json;
    uint64_t count;
};

static int get_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct getting *getting = walk->context;
    const struct cpt_path *path;
    const int status = cpti_log_path(walk, record, &path);

    if (path == NULL) {
        return status;
    }
    getting->count++;
    if (getting->output != NULL) {
        return cpti_log_output_add(getting->output, cpt_log_reader_bytes(walk->reader));
    }
    if (getting->is_json) {
        getting->json.file = stdout;
        cpti_record_json(&getting->json, record, path);
        return CPTI_EXIT_DONE;
    }
    (void)fputs(getting->count > 1 ? "\n" : "", stdout);
    return cpti_record_print(record, path);
}

static int find_trace(struct depot *depot, struct getting *getting,
                      const struct cpti_depot_wanted *wanted)
{
    const struct cpti_log_walk walk = {.record = get_record, .context = getting};
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < depot->logs.operand_count; i++) {
        status = cpti_exit_last(
            status, cpti_depot_find(depot->logs.operands[i], wanted, &walk));
    }
    return status;
}

static int get_trace(struct depot *depot, struct getting *getting, const char *text)
{
    struct cpti_depot_wanted wanted = {.text = cpt_bytes_of(text)};
    const uint64_t before = getting->count;
    int status;

    cpti_id_of(wanted.text, wanted.id);
    status = find_trace(depot, getting, &wanted);
    wanted.is_end = cpti_is_trace(text) && strlen(text) == CPTI_ID_BYTES; /* half */
    if (getting->count == before && wanted.is_end) {
        status = cpti_exit_last(status, find_trace(depot, getting, &wanted));
    }
    if (getting->count == before) {
        status = cpti_failed_at((struct cpti_at){.file = cpti_quoted(depot->folder)},
                                "has no trace %s", cpti_quoted(text));
    }
    return status;
}

static int run_get(struct depot *depot)
{
    const struct cpti_arguments *arguments = depot->arguments;
    const char *path = cpti_value(arguments, "output");
    struct cpti_log_output output;
    struct getting getting = {.is_json = cpti_has(arguments, "json")};
    int status = CPTI_EXIT_DONE;

    if (arguments->operand_count < 3) {
        return cpti_usage("'cpt depot get' needs a folder and the ids of traces");
    }
    if (path != NULL) {
        status = cpti_log_output_open(&output, path, false);
        getting.output = &output;
    }
    for (size_t i = 2; i < arguments->operand_count && status != CPTI_EXIT_USAGE; i++) {
        status =
            cpti_exit_last(status, get_trace(depot, &getting, arguments->operands[i]));
    }
    if (path != NULL && getting.count == 0) {
        cpti_log_output_abort(&output);
    } else if (path != NULL) {
        status = cpti_exit_last(status, cpti_log_output_commit(&output));
    }
    return status;
}

/* --- list --- */

/* Seconds are enough: "2026-01-31T12:00:00Z". */
static const char *second_of(uint64_t unix_ns, char text[64])
{
    (void)cpti_utc(unix_ns, text);
    if (strlen(text) > 20) {
        (void)snprintf(text + 19, 2, "Z");
    }
    return text;
}

enum { FILE_NAME, MEGABYTES, FROM, TO, LOG };

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct depot *depot = asked->context;
    const struct log_state *state = asked->row;
    const struct cpti_depot_log *log = &state->log;
    const char *name = depot->logs.operands[state - depot->states];

    switch (asked->what) {
    case FILE_NAME:
        return cpti_cell_text(name);
    case MEGABYTES:
        return cpti_cell_format(asked, "%.3f", (double)state->bytes / 1e6);
    case LOG:
        return cpti_cell_format(asked, "%s%s", cpti_quoted(name),
                                log->is_graphs ? " (graphs)"
                                : log->has_ids ? ""
                                               : " (its ids cannot be kept)");
    default:
        return log->head.record_count == 0
                   ? cpti_cell_unknown()
                   : cpti_cell_text(second_of(asked->what == FROM
                                                  ? log->head.start_min_ns
                                                  : log->head.start_max_ns,
                                              asked->room));
    }
}

#define OF(field) CPTI_OF(struct log_state, field)

static const struct cpti_column columns[] = {
    {"file", "file", CPTI_NAME, get, FILE_NAME, "the log"},
    {"records", "records", CPTI_COUNT, OF(log.head.record_count), "that it has"},
    {"bytes", "bytes", CPTI_COUNT, OF(bytes)},
    {"megabytes", "MB", CPTI_TEXT, get, MEGABYTES, NULL, CPTI_IN_TABLES},
    {"start_min_unix_ns", "from ns", CPTI_COUNT, OF(log.head.start_min_ns),
     "when its requests began"},
    {"start_max_unix_ns", "to ns", CPTI_COUNT, OF(log.head.start_max_ns)},
    {"from", "from", CPTI_TEXT, get, FROM, "the same as a time", CPTI_IN_TABLES},
    {"to", "to", CPTI_TEXT, get, TO, NULL, CPTI_IN_TABLES},
    {"has_ids", "ids", CPTI_FLAG, OF(log.has_ids),
     "whether traces are found without reading it"},
    {"is_graphs", "graphs", CPTI_FLAG, OF(log.is_graphs),
     "whether it is one of graphs"},
    {"log", "log", CPTI_TEXT, get, LOG, "its name, and what it is", CPTI_IN_TABLES},
    {0},
};

static const struct cpti_relation relation = {
    "logs", columns, "records,megabytes,from,to,log", NULL, true};

/* Prints the logs that are there. enum cpti_exit. */
static int print_list(const struct depot *depot, const struct cpti_view *view)
{
    const struct log_state **states =
        calloc(depot->logs.operand_count + 1, sizeof(const struct log_state *));
    struct cpti_sheet sheet = {.view = view, .rows = CPTI_ROWS_AT(states, 0, depot)};
    int status;

    if (states == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < depot->logs.operand_count; i++) {
        if (!depot->states[i].log.is_gone) {
            states[sheet.rows.count++] = &depot->states[i];
        }
    }
    cpti_relation_sort(view, states, sheet.rows.count, 0, depot);
    status = cpti_sheet_print(&sheet);
    free(states);
    return status;
}

static int run_list(struct depot *depot)
{
    struct cpti_view view;
    int status = cpti_view_read(depot->arguments, &relation, NULL, &view);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = refresh_all(depot);
    return depot->states != NULL ? cpti_exit_last(status, print_list(depot, &view))
                                 : status;
}

/* --- add --- */

static int add_request(void *context, const struct cpti_request *request)
{
    return cpti_log_output_add(context, request->bytes);
}

/* A name of its own for what is added now. */
static char *name_log(const char *folder)
{
    const uint64_t now_ns = cpt_clock_unix_ns();
    const time_t second = (time_t)(now_ns / UINT64_C(1000000000));
    const size_t capacity = strlen(folder) + 80;
    char *path = malloc(capacity);
    char when[32] = "";
    struct tm parts;

    if (path != NULL && gmtime_r(&second, &parts) != NULL) {
        (void)strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &parts);
        (void)snprintf(path, capacity, "%s/%s-%09u-%ld.cptlog", folder, when,
                       (unsigned)(now_ns % UINT64_C(1000000000)), (long)getpid());
    }
    return path;
}

static int run_add(struct depot *depot)
{
    const struct cpti_arguments *arguments = depot->arguments;
    struct cpti_log_output output;
    struct cpti_fold fold = {
        .needs = cpti_needs_record, .take = add_request, .context = &output};
    struct cpti_stream stream = {.folds = &fold,
                                 .fold_count = 1,
                                 .paths = arguments->operands + 2,
                                 .path_count = arguments->operand_count - 2,
                                 .in_time_order = true};
    bool is_usable;
    struct cpti_depot_log log;
    char *path;
    int status;

    if (arguments->operand_count < 3) {
        return cpti_usage("'cpt depot add' needs a folder and path logs");
    }
    if (mkdir(depot->folder, 0777) != 0 && errno != EEXIST) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(depot->folder)},
                              "cannot be made: %s", strerror(errno));
    }
    path = name_log(depot->folder);
    if (path == NULL) {
        return cpti_failed("out of memory");
    }
    status = cpti_log_output_open(&output, path, cpti_has(arguments, "compress"));
    if (status == CPTI_EXIT_DONE) {
        status = cpti_stream_run(&stream, &is_usable);
        if (output.record_count == 0) {
            cpti_log_output_abort(&output);
            status = status != CPTI_EXIT_DONE
                         ? status
                         : cpti_failed("there is no record to add");
        } else {
            status = cpti_exit_last(status, cpti_log_output_commit(&output));
            status = cpti_exit_last(status, cpti_depot_survey(path, &log));
            (void)printf("%s\n", cpti_quoted(path));
        }
    }
    free(path);
    cpti_depot_sweep(depot->folder);
    return status;
}

/* --- drop --- */

/* Removes what killed processes left in the folders of the logs. */
static void sweep_all(const struct depot *depot)
{
    size_t last_bytes = 0;
    const char *last = NULL;

    cpti_depot_sweep(depot->folder);
    for (size_t i = 0; i < depot->logs.operand_count; i++) {
        const char *path = depot->logs.operands[i];
        const size_t bytes = (size_t)(strrchr(path, '/') - path);
        char *folder = NULL;

        if (last != NULL && bytes == last_bytes && memcmp(path, last, bytes) == 0) {
            continue; /* they are in the order of their names */
        }
        last = path;
        last_bytes = bytes;
        folder = strndup(path, bytes);
        if (folder != NULL) {
            cpti_depot_sweep(folder);
        }
        free(folder);
    }
}

/* Whether the file at @path begins as a log does, or has not begun: what only has the
 * name of one may be a file of the user's own. */
static bool may_be_dropped(const char *path)
{
    unsigned char head[HEAD_BYTES];
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const ssize_t bytes = file >= 0 ? read(file, head, sizeof head) : -1;
    enum cpti_input_kind kind = CPTI_INPUT_OTHER;

    if (file >= 0) {
        (void)close(file);
    }
    if (bytes >= 0) {
        kind = cpti_input_kind_of(head, (size_t)bytes);
    }
    return kind == CPTI_INPUT_LOG || kind == CPTI_INPUT_GRAPHS ||
           kind == CPTI_INPUT_EMPTY || (bytes < 0 && errno == ENOENT);
}

/* Removes log @index, then its ids: who makes ids at the same time sees that it is
 * gone. */
static int drop_log(const struct depot *depot, size_t index)
{
    const char *path = depot->logs.operands[index];
    char *ids = NULL;
    int status = CPTI_EXIT_DONE;

    if (!may_be_dropped(path)) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(path)},
                              "is no log, and stays");
    }
    ids = cpti_depot_ids_path(path);
    if (ids == NULL) {
        return cpti_failed("out of memory");
    }
    if (!cpti_has(depot->arguments, "dry-run")) {
        if (unlink(path) != 0 && !cpti_input_is_gone(path)) {
            status = cpti_failed_at((struct cpti_at){.file = cpti_quoted(path)},
                                    "cannot be removed: %s", strerror(errno));
        } else if (unlink(ids) != 0 && errno != ENOENT) {
            status = cpti_failed_at((struct cpti_at){.file = cpti_quoted(path)},
                                    "its ids cannot be removed: %s", strerror(errno));
        }
    }
    if (status == CPTI_EXIT_DONE) {
        (void)printf("%s\n", cpti_quoted(path));
    }
    free(ids);
    return status;
}

/* The log that ends first of those that are left; SIZE_MAX: none is. */
static size_t oldest(const struct depot *depot, const bool *is_gone)
{
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < depot->logs.operand_count; i++) {
        if (!is_gone[i] && depot->states[i].is_read &&
            (found == SIZE_MAX ||
             depot->states[i].end_ns < depot->states[found].end_ns)) {
            found = i;
        }
    }
    return found;
}

static int drop_logs(const struct depot *depot, uint64_t before_ns, uint64_t keep_bytes)
{
    bool *is_gone = calloc(depot->logs.operand_count + 1, sizeof *is_gone);
    uint64_t bytes = 0;
    size_t next;
    int status = CPTI_EXIT_DONE;

    if (is_gone == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < depot->logs.operand_count; i++) {
        bytes += depot->states[i].bytes;
    }
    while ((next = oldest(depot, is_gone)) != SIZE_MAX &&
           (depot->states[next].end_ns < before_ns || bytes > keep_bytes)) {
        is_gone[next] = true;
        bytes -= depot->states[next].bytes;
        status = cpti_exit_last(status, drop_log(depot, next));
    }
    free(is_gone);
    return status;
}

/* Reads "500M" or "20G". */
static bool read_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "kMGT";
    char *end;
    const char *unit;

    errno = 0;
    *bytes = strtoull(text, &end, 10);
    if (errno != 0 || end == text || text[0] < '0' || text[0] > '9') {
        return false;
    }
    unit = *end != '\0' ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
    if (unit != NULL) {
        const unsigned shift = 10 * (unsigned)(unit - units + 1);

        if (*bytes > UINT64_MAX >> shift) {
            return false;
        }
        *bytes <<= shift;
        end++;
    }
    return *end == '\0';
}

static int run_drop(struct depot *depot)
{
    const char *before = cpti_value(depot->arguments, "before");
    const char *keep = cpti_value(depot->arguments, "keep");
    uint64_t before_ns = 0;
    uint64_t keep_bytes = UINT64_MAX;
    int status;

    if (before == NULL && keep == NULL) {
        return cpti_usage("'cpt depot drop' needs --before or --keep");
    }
    if (before != NULL && !cpti_when(before, cpt_clock_unix_ns(), &before_ns)) {
        return cpti_usage("option '--before' takes a time such as 14d (ago) or "
                          "2026-01-31T12:00:00Z, not '%s'",
                          cpti_quoted(before));
    }
    if (keep != NULL && !read_size(keep, &keep_bytes)) {
        return cpti_usage(
            "option '--keep' takes a number of bytes such as 500M or 20G, not '%s'",
            cpti_quoted(keep));
    }
    status = refresh_all(depot);
    if (depot->states == NULL) {
        return status;
    }
    status = cpti_exit_last(status, drop_logs(depot, before_ns, keep_bytes));
    if (!cpti_has(depot->arguments, "dry-run")) {
        sweep_all(depot);
    }
    return status;
}

/* --- The command --- */

static int run(const struct cpti_arguments *arguments)
{
    static const struct {
        const char *name;
        int (*run)(struct depot *depot);
        bool needs_logs;
        bool needs_graphs;
    } verbs[] = {{"add", run_add, false, false},
                 {"get", run_get, true, false},
                 {"list", run_list, true, true},
                 {"drop", run_drop, true, true}};
    struct depot depot = {.arguments = arguments, .folder = arguments->operands[1]};
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(arguments->operands[0], verbs[i].name) != 0) {
            continue;
        }
        if (verbs[i].run != run_list) {
            status = cpti_view_refuse(arguments, verbs[i].name);
        }
        if (verbs[i].needs_logs && status == CPTI_EXIT_DONE) {
            status = open_depot(&depot, verbs[i].needs_graphs);
        }
        status = CPTI_THEN(status, verbs[i].run(&depot));
        cpti_arguments_deinit(&depot.logs);
        free(depot.states);
        return status;
    }
    return cpti_usage("'cpt depot' takes add, get, list or drop, not '%s'",
                      cpti_quoted(arguments->operands[0]));
}

static const struct cpti_option options[] = {
    {"json", 0, NULL, "with get, the records as lines of JSON; with list, one object"},
    {"output", 'o', "LOG", "with get, write the records to a path log"},
    {"compress", 0, NULL, "with add, compress the log"},
    {"before", 0, "WHEN",
     "with drop, remove logs whose last request is older, such as 14d"},
    {"keep", 0, "SIZE",
     "with drop, remove the oldest logs until the others have at most SIZE bytes, such "
     "as 20G"},
    {"dry-run", 0, NULL, "with drop, only print what would be removed"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt import traces.json.gz -o - | cpt depot add depot -",
     "put the paths of spans into a depot"},
    {"cpt depot get depot 0af7651916cd43dd8448eb211c80319c",
     "the critical path of one trace"},
    {"cpt report depot --since 1h --where 'latency > p99'",
     "all other commands take the depot as a folder of logs"},
    {"cpt depot drop depot --before 14d --keep 200G", "retention by age and size"},
    {0},
};

const struct cpti_command cpti_command_depot = {
    .name = "depot",
    .summary = "a folder of path logs: a trace by its id, and what to keep",
    .group = CPTI_KEEP,
    .question = "Where is the trace with this id, and what may be deleted?",
    .needs = "path logs, kept in a folder",
    .usages = {"[OPTION]... get|list FOLDER [ID...]", "[OPTION]... add FOLDER LOG...",
               "drop FOLDER [--before WHEN] [--keep SIZE]"},
    .options = {options, cpti_view_options},
    .relations = {&relation},
    .examples = examples,
    .operand_count_min = 2,
    .run = run,
    .operand = "a verb and a folder",
};
