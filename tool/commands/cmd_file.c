/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_file.c - cpt FILE: what a file is, and which commands come next
 *
 *      FILE --> what is in it (about.h) --> three command lines
 *
 * The command has no name of its own: a first word that is no command is the file.
 */
#include "tool/base/command.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/commands/about.h"
#include "tool/commands/help.h"
#include "tool/table/json_write.h"

#include <inttypes.h>
#include <string.h>

enum {
    SERVICES_SHOWN_MAX = 12,
    WORD_BYTES = 4 * 4096 + 8, /* a path for a shell, each byte of it escaped */
    LINE_BYTES = 3 * WORD_BYTES
};

static const char *const kind_words[] = {"path log", "graph log", "tree"};

/* --- What comes next --- */

/* Writes @name as one word for a shell. */
static void put_word(const char *name, char text[WORD_BYTES])
{
    static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_./+@%:,-";
    /* as a terminal shows it; else with escapes, which bash and zsh know */
    const bool is_shown = strcmp(cpti_printable(cpt_bytes_of(name)), name) == 0;
    size_t used = 0;

    if (strlen(name) > (WORD_BYTES - 8) / 4) {
        name = "FILE";
    }
    used = (size_t)snprintf(text, WORD_BYTES, "%s",
                            name[0] == '-' && name[1] != '\0' ? "./" : "");
    if (name[0] != '\0' && strspn(name, plain) == strlen(name)) {
        (void)snprintf(text + used, WORD_BYTES - used, "%s", name);
        return;
    }
    used +=
        (size_t)snprintf(text + used, WORD_BYTES - used, "%s'", is_shown ? "" : "$");
    for (; *name != '\0'; name++) {
        char *to = text + used;
        const size_t left = WORD_BYTES - used;

        if (is_shown ? *name != '\'' : strchr(plain, *name) != NULL) {
            used += (size_t)snprintf(to, left, "%c", *name);
        } else if (is_shown) {
            used += (size_t)snprintf(to, left, "'\\''");
        } else {
            used += (size_t)snprintf(to, left, "\\x%02x", (unsigned char)*name);
        }
    }
    (void)snprintf(text + used, WORD_BYTES - used, "'");
}

/* A command line that goes on with the file. */
struct next {
    const char *command;
    const char *options;
    bool selects;        /* it takes --entry and --include-… */
    const char *instead; /* of the file; NULL: the file */
};

enum { NEXT_COUNT = 3 };

static const struct next next_of_paths[NEXT_COUNT] = {
    {"report", "", true, NULL},
    {"show", "--slowest ", true, NULL},
    {"contention", "", true, NULL}};
static const struct next next_of_spans[NEXT_COUNT] = {
    {"report", "", true, NULL}, {"slack", "", true, NULL}, {"web", "", false, NULL}};
static const struct next next_of_both[NEXT_COUNT] = {{"report", "", true, NULL},
                                                     {"show", "--slowest ", true, NULL},
                                                     {"slack", "", false, NULL}};
static const struct next next_of_graphs[NEXT_COUNT] = {
    {"slack", "", true, NULL},
    {"busy", "", true, NULL},
    {"whatif", "--sweep 50% ", true, NULL}};
static const struct next next_of_tree[NEXT_COUNT] = {
    {"report", "", false, NULL},
    {"web", "", false, NULL},
    {"pprof", "-o profile.pb.gz ", false, NULL}};
static const struct next next_of_trees[NEXT_COUNT] = {
    {"merge", "-o all.cpttree ", false, NULL},
    {"report", "", false, "all.cpttree"},
    {"web", "", false, "all.cpttree"}};

static const struct next *next_of(const struct cpti_about *about)
{
    const enum cpti_about_kind kind = cpti_about_kind(about);
    const struct cpti_about_sums *logs = &about->sums[CPTI_ABOUT_LOGS];

    if (kind == CPTI_ABOUT_TREES) {
        return about->is_folder ? next_of_trees : next_of_tree;
    }
    if (kind == CPTI_ABOUT_GRAPHS) {
        return next_of_graphs;
    }
    if (about->sums[CPTI_ABOUT_GRAPHS].files != 0) {
        return next_of_both;
    }
    return about->is_spans || logs->evidence[CPT_EVIDENCE_RECORDED] == 0
               ? next_of_spans
               : next_of_paths;
}

/* Where most requests entered; if none did, whose own records are most. *@is_one: there
 * is no other such service. */
static cpt_name_id main_service(const struct cpti_about *about, bool *is_one)
{
    const bool has_requests = about->sums[CPTI_ABOUT_LOGS].requests != 0;
    cpt_name_id best = 0;
    uint64_t most = 0;
    size_t count = 0;

    for (cpt_name_id i = 0; i < about->service_count; i++) {
        const struct cpti_about_service *service = &about->services[i];
        const uint64_t requests = has_requests ? service->entered[CPTI_ABOUT_LOGS]
                                               : service->inner[CPTI_ABOUT_LOGS];

        count += requests != 0;
        best = requests > most ? i : best;
        most = requests > most ? requests : most;
    }
    *is_one = count <= 1;
    return best;
}

/* Options without which no request would count. */
static void put_options(const struct cpti_about *about, char text[WORD_BYTES])
{
    const enum cpti_about_kind kind = cpti_about_kind(about);
    const struct cpti_about_sums *sums = &about->sums[kind];
    size_t used = 0;
    bool is_one = true;
    const cpt_name_id service = main_service(about, &is_one);

    text[0] = '\0';
    if (kind == CPTI_ABOUT_LOGS && (!is_one || sums->requests == 0)) {
        char name[CPT_NAME_BYTES_MAX + 1];
        char word[WORD_BYTES];
        const struct cpt_bytes bytes = cpt_names_at(about->names, service);

        (void)snprintf(name, sizeof name, "%.*s", (int)bytes.bytes, bytes.data);
        put_word(name, word);
        used = (size_t)snprintf(text, WORD_BYTES, "--entry %s ", word);
    }
    if (sums->requests != 0 && sums->forced + sums->fragments >= sums->requests) {
        (void)snprintf(text + used, WORD_BYTES - used, "%s%s",
                       sums->forced != 0 ? "--include-forced " : "",
                       sums->fragments != 0 ? "--include-fragments " : "");
    }
}

/* What @next is given: the file, or what has the rest of its requests. */
static void put_operand(const struct cpti_about *about, const struct next *next,
                        char text[WORD_BYTES])
{
    const char *slash = strrchr(about->name, '/');
    char folder[4096];

    if (next->instead == NULL && cpti_about_kind(about) == CPTI_ABOUT_GRAPHS &&
        !about->is_folder && about->sums[CPTI_ABOUT_GRAPHS].requests == 0 &&
        strlen(about->name) <
            sizeof folder) { /* the requests entered at another service */
        (void)snprintf(folder, sizeof folder, "%.*s",
                       slash != NULL ? (int)(slash - about->name) : 1,
                       slash != NULL ? about->name : ".");
        put_word(folder[0] != '\0' ? folder : "/", text);
    } else {
        put_word(next->instead != NULL ? next->instead : about->name, text);
    }
}

static const struct cpti_command *command_of(const struct next *next)
{
    size_t i = 0;

    while (strcmp(cpti_commands[i]->name, next->command) != 0) {
        i++;
    }
    return cpti_commands[i];
}

static void put_next(const struct cpti_about *about, const struct next *next,
                     char text[LINE_BYTES])
{
    char options[WORD_BYTES];
    char operand[WORD_BYTES];

    put_options(about, options);
    put_operand(about, next, operand);
    (void)snprintf(text, LINE_BYTES, "cpt %s %s%s%s", next->command, next->options,
                   next->selects ? options : "", operand);
}

/* --- Printing --- */

static const char *kind_word(const struct cpti_about *about, enum cpti_about_kind kind)
{
    return about->is_spans && kind == CPTI_ABOUT_LOGS ? "spans" : kind_words[kind];
}

static bool is_part(const struct cpti_about_sums *sums)
{
    return sums->is_least || sums->read < sums->records;
}

static void print_title(const struct cpti_about *about)
{
    const char *between = " with";

    (void)printf("%s: a %s",
                 strcmp(about->name, "-") == 0 ? "standard input"
                                               : cpti_quoted(about->name),
                 about->is_folder  ? "folder"
                 : about->is_spans ? "file of spans"
                                   : kind_words[cpti_about_kind(about)]);
    for (unsigned kind = 0; kind < CPTI_ABOUT_KINDS && about->is_folder; kind++) {
        const uint64_t files = about->sums[kind].files;

        if (files != 0 && about->is_spans) {
            (void)printf("%s spans", between);
        } else if (files != 0) {
            (void)printf("%s %" PRIu64 " %s%s", between, files, kind_words[kind],
                         files == 1 ? "" : "s");
        }
        between = files != 0 ? "," : between;
    }
    (void)printf("\n");
}

/* ", @count @what" unless it is 0. */
static void print_count(uint64_t count, const char *what)
{
    if (count != 0) {
        (void)printf(", %" PRIu64 " %s", count, what);
    }
}

static void print_time(uint64_t first_ns, uint64_t last_ns)
{
    const uint64_t times[] = {first_ns, last_ns};

    for (size_t i = 0; i < 2; i++) {
        char text[64];

        (void)cpti_utc(times[i], text);
        (void)printf("%s%.*sZ", i == 0 ? "time       " : " to ",
                     (int)strcspn(text, "."), text);
    }
    (void)printf(", %.3f s\n", (double)(last_ns - first_ns) / 1e9);
}

static void print_sums(const struct cpti_about_sums *sums, enum cpti_about_kind kind)
{
    bool is_first = true;

    if (is_part(sums)) {
        (void)printf("records    %s%" PRIu64 "; what follows is of %" PRIu64
                     " of them\n",
                     sums->is_least ? "at least " : "", sums->records, sums->read);
    }
    (void)printf("requests   %" PRIu64, sums->requests);
    print_count(sums->forced, "of them forced");
    print_count(sums->fragments, "of them fragments");
    print_count(sums->inner, kind == CPTI_ABOUT_GRAPHS
                                 ? "runs that answered other services"
                                 : "records of inner services");
    (void)printf("\nevidence   %s",
                 kind == CPTI_ABOUT_TREES ? "not known: a tree has averages\n" : "");
    for (unsigned i = 0; i < CPT_EVIDENCE_COUNT && kind != CPTI_ABOUT_TREES; i++) {
        if (sums->evidence[i] != 0) {
            (void)printf("%s%s %" PRIu64, is_first ? "" : ", ", cpt_evidence_word(i),
                         sums->evidence[i]);
            is_first = false;
        }
    }
    (void)printf("%s", kind == CPTI_ABOUT_TREES ? ""
                       : is_first               ? "none: no request\n"
                                                : "\n");
    if (sums->first_ns != 0) {
        print_time(sums->first_ns, sums->last_ns);
    }
}

static void print_services(const struct cpti_about *about)
{
    const enum cpti_about_kind kind = cpti_about_kind(about);
    const size_t count = about->service_count;

    (void)printf("services   ");
    for (cpt_name_id i = 0; i < count && i < SERVICES_SHOWN_MAX; i++) {
        (void)printf("%s%s", i == 0 ? "" : ", ",
                     cpti_quoted_bytes(cpt_names_at(about->names, i)));
        if (about->services[i].entered[kind] != 0) {
            (void)printf(" (%" PRIu64 " entered)", about->services[i].entered[kind]);
        }
    }
    if (count > SERVICES_SHOWN_MAX) {
        (void)printf(", and %zu more", count - SERVICES_SHOWN_MAX);
    }
    (void)printf("\n");
}

static void print(const struct cpti_about *about)
{
    print_title(about);
    for (unsigned kind = 0; kind < CPTI_ABOUT_KINDS; kind++) {
        if (about->sums[kind].files != 0) {
            (void)printf("\n");
            if (kind != cpti_about_kind(about)) {
                (void)printf("of the %ss:\n", kind_words[kind]);
            }
            print_sums(&about->sums[kind], kind);
        }
    }
    print_services(about);
    (void)printf("\nnext:\n");
    for (size_t i = 0; i < NEXT_COUNT; i++) {
        const struct next *next = &next_of(about)[i];
        char line[LINE_BYTES];

        put_next(about, next, line);
        (void)printf("  %s\n      %s\n", line, command_of(next)->question);
    }
}

static void put_time(struct cpti_json *json, const char *key, uint64_t unix_ns)
{
    if (unix_ns == 0) {
        cpti_json_null(json, key);
    } else {
        cpti_json_unsigned(json, key, unix_ns);
    }
}

/* NULL: it is not known. */
static void put_evidence(struct cpti_json *json, const struct cpti_about_sums *sums)
{
    if (sums == NULL) {
        cpti_json_null(json, "evidence");
        return;
    }
    cpti_json_open(json, "evidence", '{');
    for (unsigned i = 0; i < CPT_EVIDENCE_COUNT; i++) {
        cpti_json_unsigned(json, cpt_evidence_word(i), sums->evidence[i]);
    }
    cpti_json_close(json);
}

static void put_sums(struct cpti_json *json, const struct cpti_about *about,
                     enum cpti_about_kind kind)
{
    const struct cpti_about_sums *sums = &about->sums[kind];

    cpti_json_open(json, NULL, '{');
    cpti_json_text(json, "kind", kind_word(about, kind));
    cpti_json_unsigned(json, "files", sums->files);
    cpti_json_unsigned(json, "records", sums->records);
    cpti_json_bool(json, "records_are_least", sums->is_least);
    cpti_json_unsigned(json, "records_read", sums->read);
    cpti_json_unsigned(json, "requests", sums->requests);
    cpti_json_unsigned(json, "forced", sums->forced);
    cpti_json_unsigned(json, "fragments", sums->fragments);
    cpti_json_unsigned(json, "local_root", sums->inner);
    put_evidence(json, kind != CPTI_ABOUT_TREES ? sums : NULL);
    put_time(json, "first_unix_ns", sums->first_ns);
    put_time(json, "last_unix_ns", sums->last_ns);
    cpti_json_close(json);
}

static void put(const struct cpti_about *about)
{
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_json_text(&json, "name", about->name);
    cpti_json_bool(&json, "folder", about->is_folder);
    cpti_json_open(&json, "contents", '[');
    for (unsigned kind = 0; kind < CPTI_ABOUT_KINDS; kind++) {
        if (about->sums[kind].files != 0) {
            cpti_json_row(&json);
            put_sums(&json, about, kind);
        }
    }
    cpti_json_close(&json);
    cpti_json_open(&json, "services", '[');
    for (cpt_name_id i = 0; i < about->service_count; i++) {
        cpti_json_row(&json);
        cpti_json_open(&json, NULL, '{');
        cpti_json_bytes(&json, "service", cpt_names_at(about->names, i));
        cpti_json_unsigned(&json, "requests",
                           about->services[i].entered[cpti_about_kind(about)]);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
    cpti_json_open(&json, "next", '[');
    for (size_t i = 0; i < NEXT_COUNT; i++) {
        const struct next *next = &next_of(about)[i];
        char line[LINE_BYTES];

        put_next(about, next, line);
        cpti_json_row(&json);
        cpti_json_open(&json, NULL, '{');
        cpti_json_text(&json, "line", line);
        cpti_json_text(&json, "question", command_of(next)->question);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
    cpti_json_close(&json);
}

/* --- The command --- */

static int run(const struct cpti_arguments *arguments)
{
    struct cpti_about about = {.name = arguments->operands[0]};
    uint64_t read = 0;
    int status = cpti_about_read(&about, arguments->command);

    for (unsigned kind = 0; kind < CPTI_ABOUT_KINDS; kind++) {
        read += about.sums[kind].read;
    }
    if (read == 0 && status == CPTI_EXIT_DONE) {
        status = cpti_failed("%s: there is no record", cpti_quoted(about.name));
    } else if (read != 0 && cpti_has(arguments, "json")) {
        put(&about);
    } else if (read != 0) {
        print(&about);
    }
    cpti_about_deinit(&about);
    return status;
}

static const struct cpti_option options[] = {
    {"json", 'j', NULL, "print one JSON object"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt paths.cptlog", "what is in a path log"},
    {"cpt ./report", "in a file that has the name of a command"},
    {0},
};

const struct cpti_command cpti_command_file = {
    .name = "FILE",
    .summary = "what a file is, and which commands come next",
    .group = CPTI_LOOK,
    .question = "What is this file, and what can I do with it?",
    .needs = "any file or folder of path logs, graph logs, spans or trees",
    .usages = {"[OPTION]..."},
    .options = {options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = 1,
    .run = run,
};
