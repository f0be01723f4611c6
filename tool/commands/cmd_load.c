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

    if (status == CPTI_EXIT_DONE) {
        status = cpti_whole_number(arguments, "batch", 1, 1000000, &load.batch_rows);
    }
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
    .description =
        "Writes one row for each request to ClickHouse, over HTTP. Every command that "
        "makes a tree of logs takes this address in place of the logs. The database "
        "then selects and adds up the requests, and the tree is the same, bit for "
        "bit.\n"
        "\n"
        "HOST:PORT are the HTTP ports of all shards, always in the same order. A "
        "missing database or table is created. clickhouses:// uses HTTPS; the password "
        "is taken from CPT_CLICKHOUSE_PASSWORD. "
        "An answer of more than 1 GiB is refused; CPT_CLICKHOUSE_MAX_BYTES sets "
        "another "
        "limit.\n"
        "\n"
        "A record of a log counts once, however often it is loaded, also as a copy in "
        "another log. So you can load a log again after it has grown, and all logs "
        "again after a failure. A shard that does not answer is tried again; its "
        "requests never go to another shard.\n"
        "\n"
        "Records that are given several times at once are counted in a message. With "
        "--keep-duplicates each counts, unless it has the same number in its log. Load "
        "a log always with or always without it: otherwise its requests count twice.\n"
        "\n" CPTI_FOLDER_TEXT,
    .options = {options, cpti_log_options},
    .examples = examples,
    .operand_count_min = 2,
    .operand_count_max = SIZE_MAX,
    .run = run,
    .takes_folders = true,
};
