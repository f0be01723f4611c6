/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_collect.c - cpt collect: critical paths from spans as they come */
#include "tool/commands/absent.h"
#include "tool/base/amounts.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/collect/collect_grpc.h"
#include "tool/collect/collect_server.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef CPTI_LIBEXEC_DIR
#define CPTI_LIBEXEC_DIR "/usr/local/libexec/cpt"
#endif

enum { PORT = 4318, NICE_LOWEST = 19, SIZE_MAX_MB = 1 << 20, PATH_BYTES = 4096 };

#define DAY_NS UINT64_C(86400000000000)

/* --- Options --- */

/* Reads the value of @option, one number of @unit; false: it is none. */
static bool read_amount(const struct cpti_arguments *arguments, const char *option,
                        enum cpti_unit unit, double *value)
{
    const char *at = cpti_value(arguments, option);
    enum cpti_unit found = CPTI_UNIT_NONE;

    return cpti_amount_read(&at, value, &found) && found == unit && *at == '\0';
}

/* Reads the time of @option, from 0.1 s to a day; without the option @time_ns stays. */
static int read_time(const struct cpti_arguments *arguments, const char *option,
                     uint64_t *time_ns)
{
    static const double least_ns = 1e8;
    double value = 0;

    if (!cpti_has(arguments, option)) {
        return CPTI_EXIT_DONE;
    }
    if (!read_amount(arguments, option, CPTI_UNIT_TIME, &value) || value < least_ns ||
        value > (double)DAY_NS) {
        return cpti_usage("option '--%s' takes a time from 100ms to 86400s, not '%s'",
                          option, cpti_quoted(cpti_value(arguments, option)));
    }
    *time_ns = (uint64_t)value;
    return CPTI_EXIT_DONE;
}

/* Reads the megabytes of @option as bytes; without the option @bytes stays. */
static int read_megabytes(const struct cpti_arguments *arguments, const char *option,
                          uint64_t *bytes)
{
    uint64_t megabytes = 0;
    int status = cpti_has(arguments, option)
                     ? cpti_whole_number(arguments, option, 1, SIZE_MAX_MB, &megabytes)
                     : CPTI_EXIT_DONE;

    *bytes = megabytes > 0 ? megabytes << 20 : *bytes;
    return status;
}

/* Reads --share, up to 100 %. */
static int read_share(const struct cpti_arguments *arguments, double *share)
{
    if (!cpti_has(arguments, "share")) {
        return CPTI_EXIT_DONE;
    }
    if (!read_amount(arguments, "share", CPTI_UNIT_PART, share) || *share > 1) {
        return cpti_usage("option '--share' takes a part such as 25%%, not '%s'",
                          cpti_quoted(cpti_value(arguments, "share")));
    }
    return CPTI_EXIT_DONE;
}

static int read_ports(const struct cpti_arguments *arguments,
                      struct cpti_collect_options *options)
{
    uint64_t port = PORT;
    uint64_t grpc_port = 0;
    int status = cpti_whole_number(arguments, "port", 0, UINT16_MAX, &port);

    status = CPTI_THEN(
        status, cpti_whole_number(arguments, "grpc-port", 0, UINT16_MAX, &grpc_port));
    options->address = cpti_value(arguments, "listen");
    options->port = (uint16_t)port;
    options->has_grpc = cpti_has(arguments, "grpc-port");
    options->grpc_port = (uint16_t)grpc_port;
    return status;
}

static int read_live(const struct cpti_arguments *arguments,
                     struct cpti_live_options *live)
{
    uint64_t bytes_max = 0;
    uint64_t spans_max = 0;
    int status = read_time(arguments, "quiet", &live->quiet_ns);

    status = CPTI_THEN(status, read_time(arguments, "age", &live->age_ns));
    status = CPTI_THEN(status, read_megabytes(arguments, "memory", &bytes_max));
    if (status == CPTI_EXIT_DONE && cpti_has(arguments, "trace-spans")) {
        status =
            cpti_whole_number(arguments, "trace-spans", 1, CPTI_SPANS_MAX, &spans_max);
    }
    status = CPTI_THEN(status, read_share(arguments, &live->share));
    live->bytes_max = (size_t)bytes_max;
    live->spans_max = (size_t)spans_max;
    return status;
}

static int read_log(const struct cpti_arguments *arguments,
                    struct cpt_log_file_options *log)
{
    uint64_t files = 0;
    const char *name = cpti_value(arguments, "name");
    int status = read_megabytes(arguments, "file-size", &log->file_bytes_max);

    log->struct_bytes = sizeof *log;
    log->directory = cpti_value(arguments, "output");
    log->name = name != NULL ? name : "spans";
    status = CPTI_THEN(status, read_time(arguments, "file-age", &log->file_age_ns_max));
    if (status == CPTI_EXIT_DONE && cpti_has(arguments, "keep-files")) {
        status = cpti_whole_number(arguments, "keep-files", 1, UINT32_MAX, &files);
    }
    status =
        CPTI_THEN(status, read_megabytes(arguments, "keep-size", &log->kept_bytes_max));
    log->kept_file_count_max = (size_t)files;
    if (status == CPTI_EXIT_DONE && log->directory == NULL) {
        status = cpti_usage("'cpt collect' needs --output FOLDER for its path logs");
    }
    return status;
}

/* --- gRPC --- */

/* Finds the program that has gRPC. */
static bool find_program(char path[PATH_BYTES])
{
    static const char *const beside[] = {"", "../libexec/cpt/", "../lib/cpt/"};
    char tool[PATH_BYTES];
    const ssize_t bytes = readlink("/proc/self/exe", tool, PATH_BYTES - 1);
    char *slash = NULL;

    tool[bytes > 0 ? bytes : 0] = '\0';
    slash = strrchr(tool, '/');
    for (size_t i = 0; slash != NULL && i < sizeof beside / sizeof *beside; i++) {
        slash[1] = '\0';
        if (snprintf(path, PATH_BYTES, "%s%scpt-collect-grpc", tool, beside[i]) <
                PATH_BYTES &&
            access(path, X_OK) == 0) {
            return true;
        }
    }
    (void)snprintf(path, PATH_BYTES, "%s/cpt-collect-grpc", CPTI_LIBEXEC_DIR);
    return access(path, X_OK) == 0;
}

/* Becomes the program that has gRPC, with the same options; returns if it cannot. */
static int become_grpc(const struct cpti_arguments *arguments)
{
    char path[PATH_BYTES];
    char **words = calloc(2 * arguments->option_count + 2, sizeof *words);
    size_t count = 0;
    int status = CPTI_EXIT_FAILED;

    if (words == NULL) {
        return cpti_failed("out of memory");
    }
    if (!find_program(path)) {
        free(words);
        return cpti_failed("there is no program cpt-collect-grpc beside the tool or in "
                           "%s: install it, or libgrpc-dev and build it",
                           CPTI_LIBEXEC_DIR);
    }
    words[count++] = path;
    for (size_t i = 0; i < arguments->option_count; i++) {
        const struct cpti_argument *argument = &arguments->options[i];
        char word[PATH_BYTES];

        if (snprintf(word, sizeof word, argument->value != NULL ? "--%s=%s" : "--%s",
                     argument->option->name, argument->value) >= (int)sizeof word) {
            status = cpti_usage("option '--%s' is too long", argument->option->name);
            break;
        }
        words[count] = strdup(word);
        count += words[count] != NULL;
    }
    if (count == arguments->option_count + 1) {
        (void)execv(path, words);
        status = cpti_failed_at((struct cpti_at){.file = cpti_quoted(path)}, "%s",
                                strerror(errno));
    }
    for (size_t i = 1; i < count; i++) {
        free(words[i]);
    }
    free(words);
    return status;
}

/* --- The command --- */

/* Takes the processor when no other process wants it, or as --priority says. */
static void set_priority(const struct cpti_arguments *arguments)
{
    const char *word = cpti_value(arguments, "priority");
    const struct sched_param none = {0};

    if (word != NULL && strcmp(word, "normal") == 0) {
        return;
    }
    (void)setpriority(PRIO_PROCESS, 0, NICE_LOWEST);
    if (word == NULL || strcmp(word, "idle") == 0) {
        (void)sched_setscheduler(0, SCHED_IDLE, &none);
    }
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpti_collect_options options = {0};
    int status = read_ports(arguments, &options);

    status = CPTI_THEN(status, read_live(arguments, &options.live));
    status = CPTI_THEN(status, read_log(arguments, &options.log));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (options.has_grpc && !cpti_collect_has_grpc()) {
        return become_grpc(arguments);
    }
    if (mkdir(options.log.directory, 0777) != 0 && errno != EEXIST) {
        return cpti_failed_at(
            (struct cpti_at){.file = cpti_quoted(options.log.directory)}, "%s",
            strerror(errno));
    }
    set_priority(arguments);
    return cpti_collect_serve(&options);
}

static const struct cpti_option options[] = {
    {"output", 'o', "FOLDER",
     "write path logs to this folder, which is made if need be"},
    {"port", 'p', "NUMBER",
     "listen for OTLP over HTTP on this port; default: 4318; 0: any that is free"},
    {"grpc-port", 0, "NUMBER",
     "listen for OTLP over gRPC, too, on this port, which is 4317 by custom; 0: any"},
    {"listen", 0, "ADDRESS",
     "listen on this numeric address, not on 127.0.0.1; all who reach it can send "
     "spans"},
    {"quiet", 0, "TIME",
     "a trace has ended when none of its spans came during this time; default: 5s"},
    {"age", 0, "TIME", "or when its first span came this time ago; default: 60s"},
    {"memory", 0, "MEGABYTES",
     "hold traces that have not ended up to this size; default: 256, at most a quarter "
     "of the memory that its control group lets it have"},
    {"trace-spans", 0, "NUMBER",
     "leave out traces with more spans than this; default: 100000"},
    {"share", 0, "PERCENT", "keep only this part of the traces; default: 100%"},
    {"priority", 0, "PRIORITY", "of the process; default: idle", "idle low normal"},
    {"name", 0, "NAME", "the logs' names begin with it; default: spans"},
    {"file-size", 0, "MEGABYTES", "begin another log file at this size; default: 256"},
    {"file-age", 0, "TIME", "or at this age; default: 3600s"},
    {"keep-files", 0, "NUMBER", "remove the oldest log files beyond this number"},
    {"keep-size", 0, "MEGABYTES",
     "remove the oldest log files beyond this size of all"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt collect -o logs/",
     "what OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 sends"},
    {"cpt collect -o logs/ --grpc-port 4317 --listen 0.0.0.0 --keep-size 10000",
     "for other machines, over HTTP and gRPC, and at most 10 GB of logs"},
    {"cpt web logs/", "the paths, a few seconds later"},
    {0},
};

const struct cpti_command cpti_command_collect = {
    CPTI_IS_COLLECT,      .usages = {"[OPTION]... -o FOLDER"}, .options = {options},
    .examples = examples, .takes_no_operands = true,           .run = run,
};
