/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_web.c - cpt web: the report as a page that answers questions */
#include "tool/commands/absent.h"
#include "tool/base/amounts.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/requests/kept_graphs.h"
#include "tool/log/span_tags.h"
#include "tool/web/web_server.h"
#include "tool/web/web_whatif.h"

#include <stdint.h>

enum {
    CACHE_DEFAULT_MB = 512,
    CACHE_PART = 4, /* of cpt_memory_max(), if that is less */
    CACHE_MAX_MB = 1 << 20
};

/* Reads the files of --graphs. enum cpti_exit. */
static int read_graphs(const struct cpti_arguments *arguments,
                       struct cpti_web_whatif **whatif)
{
    struct cpti_arguments files;
    uint64_t parts_max = CPTI_WEB_WHATIF_PARTS;
    int status = cpti_whole_number(arguments, "graphs-max", 1, UINT32_MAX, &parts_max);

    *whatif = NULL;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_kept_option(arguments, "graphs", &files);
    if (status == CPTI_EXIT_DONE && files.operand_count != 0) {
        *whatif = cpti_web_whatif_new(files.operands, files.operand_count, parts_max);
        status = *whatif != NULL ? CPTI_EXIT_DONE : CPTI_EXIT_FAILED;
    }
    cpti_arguments_deinit(&files);
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpti_web_whatif *whatif = NULL;
    struct cpti_web_options options = {
        .operands = arguments->operands,
        .operand_count = arguments->operand_count,
        .first_word = arguments->first_word,
        .address = cpti_value(arguments, "listen"),
    };
    uint64_t port = 0;
    uint64_t cache_mb =
        cpt_memory_part((size_t)CACHE_DEFAULT_MB << 20, CACHE_PART) >> 20;
    int status = cpti_whole_number(arguments, "port", 0, UINT16_MAX, &port);

    status = CPTI_THEN(
        status, cpti_whole_number(arguments, "cache", 1, CACHE_MAX_MB, &cache_mb));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    options.port = (uint16_t)port;
    options.cache_bytes = (size_t)cache_mb << 20;
    status = read_graphs(arguments, &whatif);
    if (status == CPTI_EXIT_DONE) {
        options.whatif = whatif;
        status = cpti_web_serve(&options);
    }
    cpti_web_whatif_free(whatif);
    return status;
}

static const struct cpti_option options[] = {
    {"port", 'p', "NUMBER", "listen on this port; 0, the default: any that is free"},
    {"listen", 0, "ADDRESS",
     "listen on this numeric address, not on 127.0.0.1; unless it is loopback, its "
     "address carries a token, without which nothing is answered"},
    {"cache", 0, "MEGABYTES",
     "keep views up to this size; default: 512, at most a quarter of the memory that "
     "its "
     "control group lets it have"},
    {"graphs", 0, "FILE",
     "also read this graph log, or file of spans, or a folder of them, for what-if "
     "sliders; may be repeated"},
    {"graphs-max", 0, "NUMBER",
     "keep graphs of this many nodes and edges in memory; default: 33554432, 2 GB"},
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt web paths.cptlog", "a page for a log that is still being written"},
    {"cpt web logs/", "the same for all logs of a folder, also those to come"},
    {"cpt web spans/", "the traces of a folder of spans"},
    {"cpt web --graphs graphs/ paths.cptlog",
     "with sliders: what the latency would be if frames took other times"},
    {"cpt web --port 8000 clickhouse://db:8123/paths", "the requests of a database"},
    {0},
};

const struct cpti_command cpti_command_web = {
    CPTI_IS_WEB,
    .usages = {"[OPTION]... LOG|TREE|FOLDER|clickhouse://ADDRESS..."},
    .options = {options},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_spans = true,
};
