/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * experiment_write.c - see experiment_write.h
 *
 * What is right is not known here: a service that serves nothing reads the new file
 * (cpt_settings.h), and its notice says what is wrong.
 */
#include "tool/experiment/experiment_write.h"

#include "tool/base/options.h"
#include "tool/base/output.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = 4000, LINE_BYTES_MAX = 4096 };

/* A file of settings, before and after. */
struct edit {
    const char *path;
    const char *key; /* of the line that is replaced */
    char line[LINE_BYTES_MAX];
    size_t line_bytes;
    char *text;
    size_t text_bytes;
    mode_t mode;
    char next[PATH_BYTES_MAX + 16]; /* the new file, until it is renamed */
};

/* --- The line --- */

static void put(struct edit *edit, const char *text)
{
    const size_t bytes = strlen(text);
    const size_t left = sizeof edit->line - edit->line_bytes - 1;

    if (bytes <= left) { /* else it is too long, which is found below */
        memcpy(edit->line + edit->line_bytes, text, bytes);
        edit->line[edit->line_bytes + bytes] = '\0';
    }
    edit->line_bytes += bytes <= left ? bytes : left;
}

/* "; word value" or, without @value, "; word"; without '; ' behind the key. */
static void put_clause(struct edit *edit, const char *word, const char *value)
{
    put(edit, edit->line[edit->line_bytes - 2] == '=' ? "" : "; ");
    put(edit, word);
    put(edit, value != NULL ? " " : "");
    put(edit, value != NULL ? value : "");
}

/* The clause @word with the value of @option, if that is there. */
static int put_option(struct edit *edit, const struct cpti_arguments *arguments,
                      const char *option, const char *word)
{
    const char *value = cpti_value(arguments, option);

    if (value == NULL) {
        return CPTI_EXIT_DONE;
    }
    if (strpbrk(value, ";#\r\n") != NULL) {
        return cpti_usage("option '--%s' cannot have ';', '#' or a line end", option);
    }
    put_clause(edit, word, value);
    return CPTI_EXIT_DONE;
}

static int make_line(struct edit *edit, const struct cpti_arguments *arguments)
{
    static const char *const words[][2] = {{"delta", "delta"},   {"guard", "guard"},
                                           {"frames", "frames"}, {"share", "share"},
                                           {"each", "each"},     {"for", "for"}};
    const bool is_asked = cpti_has(arguments, "asked");
    int status = CPTI_EXIT_DONE;

    edit->key = is_asked ? "experiment_asked" : "experiment";
    put(edit, edit->key);
    put(edit, " = ");
    if (cpti_has(arguments, "off")) {
        put(edit, "off\n");
        return CPTI_EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        status =
            CPTI_THEN(status, put_option(edit, arguments, words[i][0], words[i][1]));
    }
    status = CPTI_THEN(status, put_option(edit, arguments, "asked", "rate"));
    if (cpti_has(arguments, "burn")) {
        put_clause(edit, "burn", NULL);
    }
    put(edit, "\n");
    if (status == CPTI_EXIT_DONE && edit->line[edit->line_bytes - 1] != '\n') {
        return cpti_usage("the line of the experiment is longer than %d bytes",
                          LINE_BYTES_MAX);
    }
    return status;
}

/* --- The file --- */

/* Whether the line at @text sets @key. */
static bool is_of(const char *text, size_t bytes, const char *key)
{
    size_t at = 0;

    while (at < bytes && (text[at] == ' ' || text[at] == '\t')) {
        at++;
    }
    if (bytes - at < strlen(key) || memcmp(text + at, key, strlen(key)) != 0) {
        return false;
    }
    at += strlen(key);
    while (at < bytes && (text[at] == ' ' || text[at] == '\t')) {
        at++;
    }
    return at < bytes && text[at] == '=';
}

/* Reads the open file into @from, which has room for one byte more than is allowed. A
 * file that was cut short is refused: the new one would make it whole. */
static int read_open(struct edit *edit, FILE *file, char *from, size_t *bytes)
{
    struct stat about;

    *bytes = fread(from, 1, CPT_SETTINGS_BYTES_MAX + 1, file);
    if (ferror(file) != 0) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(edit->path)}, "%s",
                              strerror(errno));
    }
    if (*bytes > CPT_SETTINGS_BYTES_MAX) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(edit->path)},
                              "larger than %d bytes", CPT_SETTINGS_BYTES_MAX);
    }
    if (*bytes == 0 || from[*bytes - 1] != '\n') {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(edit->path)},
                              "%s; it may have been cut short",
                              *bytes == 0 ? "it is empty" : "its last line has no end");
    }
    if (fstat(fileno(file), &about) == 0) {
        edit->mode = about.st_mode & 0777;
    }
    return CPTI_EXIT_DONE;
}

/* Copies the lines that do not set the key. */
static void keep_lines(struct edit *edit, const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const char *end = memchr(from + at, '\n', bytes - at);
        const size_t length = (size_t)(end - from) + 1 - at; /* the last one has one */

        if (!is_of(from + at, length, edit->key)) {
            memcpy(edit->text + edit->text_bytes, from + at, length);
            edit->text_bytes += length;
        }
        at += length;
    }
}

/* The file without its lines of the key; none is fine. */
static int read_rest(struct edit *edit)
{
    FILE *file = fopen(edit->path, "re");
    char *from = NULL;
    size_t bytes = 0;
    int status = CPTI_EXIT_DONE;

    edit->mode = 0644;
    if (file == NULL) {
        return errno == ENOENT
                   ? CPTI_EXIT_DONE
                   : cpti_failed_at((struct cpti_at){.file = cpti_quoted(edit->path)},
                                    "%s", strerror(errno));
    }
    edit->text = malloc(CPT_SETTINGS_BYTES_MAX);
    from = malloc(CPT_SETTINGS_BYTES_MAX + 1);
    status = from != NULL && edit->text != NULL ? read_open(edit, file, from, &bytes)
                                                : cpti_failed("out of memory");
    (void)fclose(file);
    if (status == CPTI_EXIT_DONE) {
        keep_lines(edit, from, bytes);
    }
    free(from);
    return status;
}

static int write_next(struct edit *edit)
{
    int descriptor = -1;
    FILE *file = NULL;
    bool is_good = false;

    if (strlen(edit->path) > PATH_BYTES_MAX) {
        return cpti_failed("the name of the file is too long");
    }
    (void)snprintf(edit->next, sizeof edit->next, "%s.XXXXXX", edit->path);
    descriptor = mkostemp(edit->next, O_CLOEXEC);
    file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (file == NULL) {
        if (descriptor >= 0) {
            (void)close(descriptor);
        }
        edit->next[0] = descriptor >= 0 ? edit->next[0] : '\0';
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(edit->path)}, "%s",
                              strerror(errno));
    }
    is_good = fwrite(edit->text != NULL ? edit->text : "", 1, edit->text_bytes, file) ==
                  edit->text_bytes &&
              fwrite(edit->line, 1, edit->line_bytes, file) == edit->line_bytes &&
              fflush(file) == 0 && fchmod(descriptor, edit->mode) == 0 &&
              fsync(descriptor) == 0; /* else it may be empty after a loss of power */
    is_good = fclose(file) == 0 && is_good;
    return is_good ? CPTI_EXIT_DONE
                   : cpti_failed_at((struct cpti_at){.file = cpti_quoted(edit->path)},
                                    "%s", strerror(errno));
}

/* --- What a service says --- */

struct verdict {
    bool is_refused;
    char sentence[512];
};

static void note(void *context, const struct cpt_notice *notice)
{
    struct verdict *verdict = context;

    if (strcmp(notice->reason, "refused") == 0) {
        verdict->is_refused = true;
        (void)snprintf(verdict->sentence, sizeof verdict->sentence, "%.*s",
                       (int)notice->sentence.bytes, notice->sentence.data);
    }
}

/* Reads the new file as a service does. */
static int check(const struct edit *edit)
{
    const struct cpt_service_options service_options = {
        .struct_bytes = sizeof service_options, .name = "check", .probability = -1};
    struct cpt_service *service = cpt_service_new(&service_options, NULL);
    struct verdict verdict = {0};
    const struct cpt_settings_options options = {.struct_bytes = sizeof options,
                                                 .path = edit->next,
                                                 .services = &service,
                                                 .service_count = 1,
                                                 .notify = note,
                                                 .notify_context = &verdict};
    struct cpt_settings *settings =
        service != NULL ? cpt_settings_new(&options, NULL) : NULL;
    const bool is_read = settings != NULL;
    const char *sentence = verdict.sentence;
    char *rest = strstr(verdict.sentence, "; what was set");

    cpt_settings_free(settings);
    cpt_service_free(service);
    if (!is_read) {
        return cpti_failed("out of memory");
    }
    if (!verdict.is_refused) {
        return CPTI_EXIT_DONE;
    }
    if (rest != NULL) { /* nothing was */
        *rest = '\0';
    }
    if (strncmp(sentence, edit->next, strlen(edit->next)) == 0) {
        sentence += strlen(edit->next);
    }
    sentence += strspn(sentence, ": ");
    return cpti_failed_at((struct cpti_at){.file = cpti_quoted(edit->path)}, "%s",
                          cpti_quoted(sentence));
}

int cpti_experiment_file(const struct cpti_arguments *arguments)
{
    struct edit edit = {.path = cpti_value(arguments, "write")};
    int status = make_line(&edit, arguments);

    status = CPTI_THEN(status, read_rest(&edit));
    status = CPTI_THEN(status, write_next(&edit));
    status = CPTI_THEN(status, check(&edit));
    if (status == CPTI_EXIT_DONE && rename(edit.next, edit.path) != 0) {
        status = cpti_failed_at((struct cpti_at){.file = cpti_quoted(edit.path)}, "%s",
                                strerror(errno));
    }
    if (status == CPTI_EXIT_DONE) {
        (void)printf("%s: %s", edit.path, edit.line);
    } else if (edit.next[0] != '\0') {
        (void)unlink(edit.next);
    }
    free(edit.text);
    return status;
}
