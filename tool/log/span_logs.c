/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_logs.c - spans in the place of a path log; see span_logs.h */
#include "tool/log/span_logs.h"

#include "tool/log/span_tags.h"
#include "tool/base/files.h"
#include "tool/base/folders.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/base/private_file.h"
#include "cpt/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct cpti_command cpti_command_import;

enum { LOGS_MAX = 64 /* operands that are spans */, HEADER_BYTES = 1024 };

/* --- Private logs --- */

/* Their paths, as long as the process lives: so do their descriptors, by which they are
 * opened. */
static char logs[LOGS_MAX][CPTI_PRIVATE_PATH_BYTES];
static const char *operands[LOGS_MAX]; /* as given, of spans */
static const char *rows[LOGS_MAX];     /* likewise of rows, by number of the log */
static size_t operand_count;
static size_t log_count;

/* A path for the log of @operand; NULL after an error. */
static const char *name_log(const char *operand)
{
    char *path = logs[log_count < LOGS_MAX ? log_count : 0];

    if (log_count == LOGS_MAX) {
        (void)cpti_failed("more than %d operands are spans; import them", LOGS_MAX);
        return NULL;
    }
    if (cpti_private_file(path) < 0) {
        (void)cpti_failed("there is no temporary file for the paths of %s: %s",
                          cpti_quoted(operand), strerror(errno));
        return NULL;
    }
    log_count++;
    cpti_quote_as(path, strcmp(operand, "-") == 0 ? "standard input" : operand);
    return path;
}

const char *cpti_span_logs_operand(size_t index)
{
    return index < operand_count ? operands[index] : NULL;
}

const char *cpti_row_logs_operand(const char *path)
{
    for (size_t i = 0; i < log_count; i++) {
        if (strcmp(logs[i], path) == 0) {
            return rows[i];
        }
    }
    return NULL;
}

/* --- What is spans --- */

static bool ends_with(const char *name, const char *end)
{
    const size_t bytes = strlen(name);
    const size_t end_bytes = strlen(end);

    return bytes > end_bytes && strcmp(name + bytes - end_bytes, end) == 0;
}

/* What the regular file @name in @directory is; 0: nothing of interest. */
static unsigned kind_of(int directory, const char *name)
{
    static const char *const endings[] = {".json.gz", ".jsonl.gz", ".ndjson.gz"};
    unsigned char head[CPTI_HEAD_BYTES];
    const unsigned named = ends_with(name, ".cptlog")    ? CPTI_HAS_NAMED_LOGS
                           : ends_with(name, ".cpttree") ? CPTI_HAS_NAMED_TREES
                                                         : 0;
    struct stat about;
    ssize_t bytes = -1;
    int file;

    /* to open a pipe, and to close it again, would be seen at its other end */
    if (fstatat(directory, name, &about, 0) != 0 || !S_ISREG(about.st_mode)) {
        return 0;
    }
    file = openat(directory, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        return named;
    }
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) {
        bytes = pread(file, head, sizeof head, 0);
    }
    (void)close(file);
    if (bytes <= 0) {
        return named;
    }
    switch (cpti_input_kind_of(head, (size_t)bytes)) {
    case CPTI_INPUT_LOG:
        return CPTI_HAS_LOGS;
    case CPTI_INPUT_GRAPHS:
        return CPTI_HAS_GRAPHS;
    case CPTI_INPUT_TREE:
        return CPTI_HAS_TREES;
    case CPTI_INPUT_GZIP:
        for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
            if (ends_with(name, endings[i])) {
                return CPTI_HAS_SPANS;
            }
        }
        return 0;
    default:
        return named != CPTI_HAS_NAMED_LOGS &&
                       cpti_command_import.is_in_folder != NULL &&
                       cpti_command_import.is_in_folder(head, (size_t)bytes)
                   ? CPTI_HAS_SPANS
                   : named;
    }
}

/* A look at a folder. */
struct look {
    unsigned enough; /* it ends with one of these */
    unsigned has;
    size_t entry_count;
};

/* Looks at all in the folder that is open as @descriptor, which it closes. Links to
 * folders are not followed, so no loop is walked. */
static void look_into(struct look *look, int descriptor, unsigned depth)
{
    DIR *entries = fdopendir(descriptor);
    const struct dirent *entry;

    if (entries == NULL) {
        (void)close(descriptor);
        return;
    }
    while ((look->has & look->enough) == 0 && (entry = readdir(entries)) != NULL) {
        struct stat about;
        int folder = -1;

        if (entry->d_name[0] == '.') {
            continue;
        }
        if (look->entry_count++ == CPTI_FOLDER_ENTRIES_MAX) {
            break;
        }
        if (fstatat(descriptor, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) {
            continue; /* gone meanwhile */
        }
        if (!S_ISDIR(about.st_mode)) {
            look->has |= kind_of(descriptor, entry->d_name);
        } else if (depth < CPTI_FOLDER_DEPTH_MAX) {
            folder =
                openat(descriptor, entry->d_name,
                       O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
        }
        if (folder >= 0) {
            look_into(look, folder, depth + 1);
        }
    }
    (void)closedir(entries);
}

static unsigned folder_has(const char *path, unsigned enough)
{
    struct look look = {.enough = enough};
    const int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

    if (descriptor >= 0) {
        look_into(&look, descriptor, 0);
    }
    return look.has;
}

unsigned cpti_folder_has(const char *path)
{
    return folder_has(path, 0);
}

/* Whether standard input begins as JSON does. What was read of it is put back; of
 * compressed bytes that would be too much. */
static bool is_json_input(void)
{
    const int first = getc(stdin);

    return first != EOF && ungetc(first, stdin) == first &&
           (first == '{' || first == '[');
}

/* A folder with a log is none of spans; @takes_graphs: a graph log is a log. */
static bool is_spans(const char *operand, bool takes_graphs)
{
    const unsigned other = CPTI_HAS_LOGS | (takes_graphs ? CPTI_HAS_GRAPHS : 0);
    struct stat about;
    unsigned has = 0;

    if (strcmp(operand, "-") == 0) {
        return cpti_command_import.is_in_folder != NULL && is_json_input();
    }
    if (cpti_is_store(operand) || stat(operand, &about) != 0) {
        return false;
    }
    has = S_ISDIR(about.st_mode) ? folder_has(operand, other)
                                 : kind_of(AT_FDCWD, operand);
    return (has & CPTI_HAS_SPANS) != 0 && (has & other) == 0;
}

/* Whether the first line of @operand, a file, names the columns of lines of logs. */
static bool is_rows(const char *operand)
{
    char head[HEADER_BYTES];
    struct stat about;
    struct cpt_bytes line = {head, 0};
    bool has_id = false;
    bool has_time = false;
    ssize_t bytes = -1;
    int file = -1;

    if (strcmp(operand, "-") == 0 || cpti_is_store(operand) ||
        stat(operand, &about) != 0 || !S_ISREG(about.st_mode)) {
        return false;
    }
    file = open(operand, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) {
        bytes = pread(file, head, sizeof head, 0);
        (void)close(file);
    }
    line.bytes = bytes > 0 ? (size_t)bytes : 0;
    line = cpti_text_take(&line, '\n');
    while (line.bytes > 0) {
        const struct cpt_bytes column =
            cpti_text_trim(cpti_text_take(&line, ','), cpti_is_blank_of_file);

        has_id |= cpti_text_is(column, "id");
        has_time |= cpti_text_is(column, "time_us") || cpti_text_is(column, "begin_us");
    }
    return has_id && has_time && cpti_command_import.is_in_folder != NULL;
}

/* --- Importing --- */

/* The words of a command line; owned. */
struct words {
    char **all;
    size_t count;
    bool lacks_memory;
};

static void add_word(struct words *words, const char *word)
{
    char *copy = words->all != NULL ? strdup(word) : NULL;

    words->lacks_memory |= copy == NULL;
    if (copy != NULL) {
        words->all[words->count++] = copy;
    }
}

static void words_deinit(struct words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        free(words->all[i]);
    }
    free(words->all);
}

/* cpt import -o @path -- @operand, with all visits if @takes_visits, and with the
 * attributes that @given asks for; of lines of logs, which have none, if @has_rows. */
static struct words import_words(const char *path, const char *operand,
                                 bool takes_visits, bool has_rows,
                                 const struct cpti_arguments *given)
{
    const size_t room = 6 + 2 * given->option_count;
    struct words words = {.all = calloc(room, sizeof *words.all)};
    const char *key;

    if (takes_visits) {
        add_word(&words, "--visits");
    }
    if (has_rows) {
        add_word(&words, "--events");
    }
    for (size_t i = 0;
         !has_rows && (key = cpti_value_at(given, "attribute", i)) != NULL; i++) {
        add_word(&words, "--attribute");
        add_word(&words, key);
    }
    add_word(&words, "--output");
    add_word(&words, path);
    add_word(&words, "--");
    add_word(&words, operand);
    return words;
}

static int run_import(const struct words *words)
{
    struct cpti_arguments arguments;
    int status =
        cpti_arguments_init(&arguments, &cpti_command_import, words->count, words->all);

    status = CPTI_THEN(status, cpti_folders_open(&arguments));
    status = CPTI_THEN(status, cpti_command_import.run(&arguments));
    cpti_arguments_deinit(&arguments);
    return status;
}

static int import_into(const char *path, const char *operand, bool takes_visits,
                       bool has_rows, const struct cpti_arguments *given)
{
    struct words words = import_words(path, operand, takes_visits, has_rows, given);
    const int status =
        words.lacks_memory ? cpti_failed("out of memory") : run_import(&words);

    words_deinit(&words);
    return status;
}

int cpti_span_logs_open(struct cpti_arguments *arguments, bool takes_visits)
{
    struct cpt_bytes keys[CPTI_TAG_KEYS_MAX];
    size_t key_count;
    const int status = cpti_span_tags(arguments, keys, &key_count);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    for (size_t i = 0; i < arguments->operand_count; i++) {
        const bool has_rows = is_rows(arguments->operands[i]);
        const char *path;
        struct stat about;

        if (!has_rows &&
            !is_spans(arguments->operands[i], arguments->command->has_log_folders)) {
            continue;
        }
        path = name_log(arguments->operands[i]);
        if (path == NULL) {
            return CPTI_EXIT_FAILED;
        }
        if (has_rows) {
            rows[log_count - 1] = arguments->operands[i];
        } else {
            operands[operand_count++] = arguments->operands[i];
        }
        if (import_into(path, arguments->operands[i], takes_visits, has_rows,
                        arguments) != CPTI_EXIT_DONE &&
            (stat(path, &about) != 0 || about.st_size == 0)) {
            return CPTI_EXIT_FAILED; /* it was said */
        }
        arguments->operands[i] = path;
    }
    return CPTI_EXIT_DONE;
}
