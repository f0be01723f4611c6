/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_load.c - cpt load: path logs into ClickHouse */
#include "tool/gather/gather_store.h"
#include "tool/requests/log_walk.h"
#include "tool/base/amounts.h"
#include "tool/base/files.h"
#include "tool/base/options.h"
#include "tool/base/output.h"

#include <stdint.h>

static int run(const struct cpti_arguments *arguments)
{
    struct cpti_store_load_options load = {
        .stops_at_error = cpti_has(arguments, "stop-at-error"),
        .keeps_duplicates = cpti_has(arguments, "keep-duplicates"),
        .retry_seconds = 60,
        .batch_rows = 100000,
    };
    int status =
        cpti_whole_number(arguments, "retry-for", 0, 86400, &load.retry_seconds);

    status = CPTI_THEN(
        status, cpti_whole_number(arguments, "batch", 1, 1000000, &load.batch_rows));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (!cpti_is_store(arguments->operands[0])) {
        return cpti_usage(
            "'cpt load' needs an address clickhouse://HOST:PORT/DATABASE, not '%s'",
            cpti_quoted(arguments->operands[0]));
    }
    return cpti_store_load(arguments->operands[0], &load, arguments->operands + 1,
                           arguments->operand_count - 1);
}

static const struct cpti_option options[] = {
    {"retry-for", 0, "SECONDS",
     "how long to retry a shard that does not answer; default: 60. An address at which "
     "nothing listens at first is not tried again"},
    {"batch", 0, "ROWS", "rows that a shard gets at once; default: 100000"},
    {"keep-duplicates", 0, NULL,
     "load a record again each time it is given; without it, it is loaded once"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt load clickhouse://127.0.0.1:8123/cpt logs/", "all logs of a folder"},
    {"cpt load clickhouse://a:8123,b:8123/cpt *.cptlog && cpt report "
     "clickhouse://a:8123,b:8123/cpt --since 1h",
     "two shards, and a report of the last hour"},
    {0},
};

const struct cpti_command cpti_command_load = {
    .name = "load",
    .summary = "load path logs into ClickHouse",
    .group = CPTI_KEEP,
    .question = "How do path logs get into ClickHouse?",
    .needs = "path logs, and the address of a database",
    .usages = {"[OPTION]... clickhouse://[USER@]HOST:PORT[,HOST:PORT].../DATABASE "
               "LOG..."},
    .options = {options, cpti_log_options},
    .examples = examples,
    .operand_count_min = 2,
    .run = run,
    .takes_folders = true,
};
