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
    WORD_BYTES = 4 * 4096 + 32, /* a path for a shell, each byte of it escaped */
    NAME_BYTES = WORD_BYTES - 64,
    LINE_BYTES = 4 * WORD_BYTES
};

static const char *const kind_words[] = {"path log", "graph log", "tree"};

/* --- What comes next --- */

/* What a shell takes as it is. */
static const char safe[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ_./+@%:,-";

/* Whether put_path() can write @path: the end of $(…) loses line feeds. */
static bool is_path(const char *path)
{
    const size_t bytes = strlen(path);

    return bytes != 0 && bytes <= (WORD_BYTES - 32) / 4 && path[bytes - 1] != '\n';
}

/* Writes @name, all of it visible, as one word for a shell. */
static void put_quoted(const char *name, char *text, size_t room)
{
    size_t used = 0;

    if (name[0] != '\0' && strspn(name, safe) == strlen(name)) {
        (void)snprintf(text, room, "%s", name);
        return;
    }
    used = (size_t)snprintf(text, room, "'");
    for (; *name != '\0'; name++) {
        used +=
            (size_t)snprintf(text + used, room - used, *name == '\'' ? "%s" : "%.1s",
                             *name == '\'' ? "'\\''" : name);
    }
    (void)snprintf(text + used, room - used, "'");
}

/* Writes @path as one word that every POSIX shell takes and that is visible: printf
 * makes bytes which are not. */
static void put_path(const char *path, char text[WORD_BYTES])
{
    size_t used = 0;

    if (!is_path(path)) {
        path = "FILE";
    }
    used = (size_t)snprintf(text, WORD_BYTES, "%s",
                            path[0] == '-' && path[1] != '\0' ? "./" : "");
    if (strcmp(cpti_printable(cpt_bytes_of(path)), path) == 0) {
        put_quoted(path, text + used, WORD_BYTES - used);
        return;
    }
    used += (size_t)snprintf(text + used, WORD_BYTES - used, "\"$(printf '");
    for (; *path != '\0'; path++) {
        const bool is_plain = *path != '%' && strchr(safe, *path) != NULL;

        used += (size_t)snprintf(text + used, WORD_BYTES - used,
                                 is_plain ? "%c" : "\\%03o", (unsigned char)*path);
    }
    (void)snprintf(text + used, WORD_BYTES - used, "')\"");
}

/* What a command line ends with. */
enum operand { THE_FILE, THE_TREE, TWO_TREES };

/* A command line. */
struct next {
    const char *command;
    const char *options;
    enum cpti_about_kind selects; /* it takes --entry and --include-… for these */
    enum operand operand;
};

enum { NEXT_COUNT = 3 };

static const struct next next_of_paths[NEXT_COUNT] = {
    {"report", "", CPTI_ABOUT_LOGS, THE_FILE},
    {"show", "--slowest ", CPTI_ABOUT_LOGS, THE_FILE},
    {"contention", "", CPTI_ABOUT_LOGS, THE_FILE}};
/* what was waited for is not known: no locks */
static const struct next next_of_inferred[NEXT_COUNT] = {
    {"report", "", CPTI_ABOUT_LOGS, THE_FILE},
    {"show", "--slowest ", CPTI_ABOUT_LOGS, THE_FILE},
    {"folded", "", CPTI_ABOUT_LOGS, THE_FILE}};
static const struct next next_of_spans[NEXT_COUNT] = {
    {"report", "", CPTI_ABOUT_LOGS, THE_FILE},
    {"slack", "", CPTI_ABOUT_LOGS, THE_FILE},
    {"web", "", CPTI_ABOUT_KINDS, THE_FILE}};
static const struct next next_of_both[NEXT_COUNT] = {
    {"report", "", CPTI_ABOUT_LOGS, THE_FILE},
    {"show", "--slowest ", CPTI_ABOUT_LOGS, THE_FILE},
    {"slack", "", CPTI_ABOUT_GRAPHS, THE_FILE}};
static const struct next next_of_graphs[NEXT_COUNT] = {
    {"slack", "", CPTI_ABOUT_GRAPHS, THE_FILE},
    {"busy", "", CPTI_ABOUT_GRAPHS, THE_FILE},
    {"whatif", "--sweep 50% ", CPTI_ABOUT_GRAPHS, THE_FILE}};
static const struct next next_of_tree[NEXT_COUNT] = {
    {"report", "", CPTI_ABOUT_KINDS, THE_TREE},
    {"web", "", CPTI_ABOUT_KINDS, THE_TREE},
    {"folded", "", CPTI_ABOUT_KINDS, THE_TREE}};
static const struct next next_of_trees[NEXT_COUNT] = {
    {"report", "", CPTI_ABOUT_KINDS, THE_TREE},
    {"diff", "", CPTI_ABOUT_KINDS, TWO_TREES},
    {"web", "", CPTI_ABOUT_KINDS, THE_TREE}};

/* How many services requests entered at. */
static size_t entry_count(const struct cpti_about *about, enum cpti_about_kind kind)
{
    size_t count = about->sums[kind].nameless != 0;

    for (cpt_name_id i = 0; i < about->service_count; i++) {
        count += about->services[i].of[kind].entered != 0;
    }
    return count;
}

static bool is_better(const struct cpti_about_counts *one,
                      const struct cpti_about_counts *other, bool has_requests)
{
    const uint64_t plain = has_requests ? one->entered_plain : one->plain;
    const uint64_t other_plain = has_requests ? other->entered_plain : other->plain;

    if (plain != other_plain) {
        return plain > other_plain;
    }
    return has_requests ? one->entered > other->entered : one->records > other->records;
}

/* The service where most requests entered that are a sample, or else most requests; if
 * none did, the one with most records. NULL: there is none with a name. */
static const struct cpti_about_service *main_service(const struct cpti_about *about,
                                                     enum cpti_about_kind kind)
{
    const bool has_requests = about->sums[kind].requests != 0;
    const struct cpti_about_counts none = {0};
    const struct cpti_about_service *best = NULL;

    for (cpt_name_id i = 0; i < about->service_count; i++) {
        const struct cpti_about_service *service = &about->services[i];

        best = is_better(&service->of[kind], best != NULL ? &best->of[kind] : &none,
                         has_requests)
                   ? service
                   : best;
    }
    return best;
}

/* The one that --entry has to choose, or NULL. */
static const struct cpti_about_service *entry_of(const struct cpti_about *about,
                                                 enum cpti_about_kind kind)
{
    return about->sums[kind].requests == 0 || entry_count(about, kind) > 1
               ? main_service(about, kind)
               : NULL;
}

/* The records that put_options() selects, if it says what to include. */
static struct cpti_about_counts counts_of(const struct cpti_about *about,
                                          enum cpti_about_kind kind)
{
    const struct cpti_about_sums *sums = &about->sums[kind];
    const struct cpti_about_service *service = entry_of(about, kind);

    return service != NULL ? service->of[kind]
                           : (struct cpti_about_counts){.plain = sums->plain,
                                                        .forced = sums->forced,
                                                        .fragments = sums->fragments};
}

static bool has_any(const struct cpti_about *about, enum cpti_about_kind kind)
{
    const struct cpti_about_counts counts = counts_of(about, kind);

    return counts.plain + counts.forced + counts.fragments != 0;
}

/* Whether @service stands for all spans without one: a path log has a word for them,
 * which slack does not know. */
static bool is_unknown(const struct cpti_about *about,
                       const struct cpti_about_service *service)
{
    return service != NULL &&
           cpt_bytes_equal(
               cpt_names_at(about->names, (cpt_name_id)(service - about->services)),
               cpt_bytes_of("unknown"));
}

/* NULL: nothing that would work. */
static const struct next *next_of(const struct cpti_about *about)
{
    const enum cpti_about_kind kind = cpti_about_kind(about);
    const struct cpti_about_sums *logs = &about->sums[CPTI_ABOUT_LOGS];

    if (kind == CPTI_ABOUT_TREES) {
        return about->trees[1] != NULL && entry_count(about, kind) <= 1 ? next_of_trees
                                                                        : next_of_tree;
    }
    if (kind == CPTI_ABOUT_GRAPHS) {
        return about->sums[kind].requests != 0 && has_any(about, kind) ? next_of_graphs
                                                                       : NULL;
    }
    if (!has_any(about, kind)) {
        return NULL;
    }
    if (about->sums[CPTI_ABOUT_GRAPHS].requests != 0) {
        return next_of_both;
    }
    if (about->is_spans && !is_unknown(about, entry_of(about, kind))) {
        return next_of_spans;
    }
    return logs->evidence[CPT_EVIDENCE_RECORDED] != 0 ? next_of_paths
                                                      : next_of_inferred;
}

/* What the lines are about. */
static const struct cpti_about *next_about(const struct cpti_about *about)
{
    return about->whole != NULL && next_of(about->whole) != NULL ? about->whole : about;
}

/* Options without which no request would count. */
static void put_options(const struct cpti_about *about, enum cpti_about_kind kind,
                        char text[WORD_BYTES])
{
    const struct cpti_about_service *service = entry_of(about, kind);
    const struct cpti_about_counts counts = counts_of(about, kind);
    size_t used = 0;

    text[0] = '\0';
    if (service != NULL) {
        const struct cpt_bytes name =
            cpt_names_at(about->names, (cpt_name_id)(service - about->services));
        const char *shown = cpti_quoted_bytes(name); /* --entry knows it so, too */
        char word[NAME_BYTES];

        put_quoted(shown, word, sizeof word);
        used = (size_t)snprintf(text, WORD_BYTES, "--entry%c%s ",
                                shown[0] == '-' ? '=' : ' ', word);
    }
    if (counts.plain == 0) {
        (void)snprintf(text + used, WORD_BYTES - used, "%s%s",
                       counts.forced != 0 ? "--include-forced " : "",
                       counts.fragments != 0 ? "--include-fragments " : "");
    }
}

static void put_operand(const struct cpti_about *about, const struct next *next,
                        char text[2 * WORD_BYTES])
{
    size_t used = 0;

    if (about->is_used_up) {
        (void)snprintf(text, WORD_BYTES, "FILE");
    } else if (next->operand == THE_FILE || about->trees[0] == NULL) {
        put_path(about->name, text);
    } else {
        put_path(about->trees[0], text);
        used = strlen(text);
        if (next->operand == TWO_TREES) {
            text[used++] = ' ';
            put_path(about->trees[1], text + used);
        }
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
    char options[WORD_BYTES] = "";
    char operand[2 * WORD_BYTES];

    if (next->selects != CPTI_ABOUT_KINDS) {
        put_options(about, next->selects, options);
    }
    put_operand(about, next, operand);
    (void)snprintf(text, LINE_BYTES, "cpt %s %s%s%s", next->command, next->options,
                   options, operand);
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
    print_count(sums->background, "records of work after an answer");
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
        if (about->services[i].of[kind].entered != 0) {
            (void)printf(" (%" PRIu64 " entered)", about->services[i].of[kind].entered);
        }
    }
    if (count > SERVICES_SHOWN_MAX) {
        (void)printf(", and %zu more", count - SERVICES_SHOWN_MAX);
    }
    (void)printf("\n");
}

/* The kinds that are there, the one of most interest first. Returns their number. */
static size_t kinds_of(const struct cpti_about *about,
                       enum cpti_about_kind kinds[CPTI_ABOUT_KINDS])
{
    size_t count = 0;

    kinds[count++] = cpti_about_kind(about);
    for (unsigned kind = 0; kind < CPTI_ABOUT_KINDS; kind++) {
        if (about->sums[kind].files != 0 && kind != (unsigned)kinds[0]) {
            kinds[count++] = kind;
        }
    }
    return count;
}

static void print_next(const struct cpti_about *about)
{
    const struct next *next = next_of(about);

    if (next == NULL && about->sums[CPTI_ABOUT_GRAPHS].requests == 0 &&
        cpti_about_kind(about) == CPTI_ABOUT_GRAPHS) {
        (void)printf("\nnext: put the graph log of the service where the requests "
                     "entered beside this\none; without it, there is no request\n");
        return;
    }
    if (next == NULL) {
        (void)printf("\nnext: nothing, as no request counts\n");
        return;
    }
    (void)printf(about->is_used_up || !is_path(about->name)
                     ? "\nnext, once it is in a file FILE:\n"
                     : "\nnext:\n");
    for (size_t i = 0; i < NEXT_COUNT; i++) {
        char line[LINE_BYTES];

        put_next(about, &next[i], line);
        (void)printf("  %s\n      %s\n", line, command_of(&next[i])->question);
    }
}

static void print(const struct cpti_about *about)
{
    enum cpti_about_kind kinds[CPTI_ABOUT_KINDS];
    const size_t count = kinds_of(about, kinds);

    print_title(about);
    for (size_t i = 0; i < count; i++) {
        (void)printf("\n");
        if (i != 0) {
            (void)printf("of the %ss:\n", kind_words[kinds[i]]);
        }
        print_sums(&about->sums[kinds[i]], kinds[i]);
    }
    print_services(about);
    print_next(next_about(about));
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
    cpti_json_known(json, "first_unix_ns", sums->first_ns != 0, sums->first_ns);
    cpti_json_known(json, "last_unix_ns", sums->last_ns != 0, sums->last_ns);
    cpti_json_close(json);
}

static void put_services(struct cpti_json *json, const struct cpti_about *about)
{
    cpti_json_open(json, "services", '[');
    for (cpt_name_id i = 0; i < about->service_count; i++) {
        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        cpti_json_bytes(json, "service", cpt_names_at(about->names, i));
        cpti_json_unsigned(json, "requests",
                           about->services[i].of[cpti_about_kind(about)].entered);
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

static void put_lines(struct cpti_json *json, const struct cpti_about *about)
{
    const struct next *next = next_of(about);

    cpti_json_open(json, "next", '[');
    for (size_t i = 0; i < NEXT_COUNT && next != NULL; i++) {
        char line[LINE_BYTES];

        put_next(about, &next[i], line);
        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        cpti_json_text(json, "line", line);
        cpti_json_text(json, "question", command_of(&next[i])->question);
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

static void put(const struct cpti_about *about)
{
    struct cpti_json json = {.file = stdout};
    enum cpti_about_kind kinds[CPTI_ABOUT_KINDS];
    const size_t count = kinds_of(about, kinds);

    cpti_json_open(&json, NULL, '{');
    cpti_json_text(&json, "name", about->name);
    cpti_json_bool(&json, "folder", about->is_folder);
    cpti_json_open(&json, "contents", '[');
    for (size_t i = 0; i < count; i++) {
        cpti_json_row(&json);
        put_sums(&json, about, kinds[i]);
    }
    cpti_json_close(&json);
    put_services(&json, about);
    put_lines(&json, next_about(about));
    cpti_json_close(&json);
}

/* --- The command --- */

static int no_record(const struct cpti_about *about)
{
    const struct cpti_at at = {.file = strcmp(about->name, "-") == 0
                                           ? "standard input"
                                           : cpti_quoted(about->name)};

    return about->has_spans
               ? cpti_failed_at(at, "its logs have no record, and spans beside logs "
                                    "are not read" CPTI_HINT "give the spans alone")
               : cpti_failed_at(at, "there is no record");
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpti_about about = {.name = arguments->operands[0]};
    uint64_t read = 0;
    int status = cpti_about_read(&about, arguments->command);

    for (unsigned kind = 0; kind < CPTI_ABOUT_KINDS; kind++) {
        read += about.sums[kind].read;
    }
    if (read == 0 && status == CPTI_EXIT_DONE) {
        status = no_record(&about);
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
