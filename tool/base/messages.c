/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* messages.c - errors and warnings; see messages.h */
#include "tool/base/messages.h"

#include "tool/base/command.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct cpti_messages *kept;

static const char *speaker = "cpt";

void cpti_messages_from(const char *program)
{
    speaker = program;
}

void cpti_messages_to(struct cpti_messages *list)
{
    kept = list;
}

struct cpti_messages *cpti_messages(void)
{
    return kept;
}

/* --- The first error --- */

struct first {
    bool is_there;
    struct cpti_error error;
};

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER; /* guards both */
static struct first first_error;
static struct first first_damage;

/* The one that was the last message of this thread; NULL: neither. */
static _Thread_local struct first *first_above;

bool cpti_first_error(struct cpti_error *error)
{
    const struct first *first = NULL;
    bool is_there = false;

    (void)pthread_mutex_lock(&first_lock);
    first = first_error.is_there ? &first_error : &first_damage;
    is_there = first->is_there;
    *error = first->error;
    (void)pthread_mutex_unlock(&first_lock);
    return is_there;
}

static void keep_first(struct first *first, const struct cpti_at *place,
                       const char *message, const char *hint)
{
    struct cpti_error *error = &first->error;

    (void)pthread_mutex_lock(&first_lock);
    if (!first->is_there) {
        first->is_there = true;
        first_above = first;
        error->place = *place;
        error->place.file = NULL;
        (void)snprintf(error->file, sizeof error->file, "%s",
                       place->file != NULL ? place->file : "");
        (void)snprintf(error->message, sizeof error->message, "%s", message);
        (void)snprintf(error->hint, sizeof error->hint, "%s", hint);
    }
    (void)pthread_mutex_unlock(&first_lock);
}

/* Adds @lines to the detail of the message above, if that is a first one. */
static void keep_detail(const char *lines)
{
    char *detail = first_above != NULL ? first_above->error.detail : NULL;
    size_t bytes;

    if (detail == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&first_lock);
    bytes = strlen(detail);
    (void)snprintf(detail + bytes, CPTI_ERROR_BYTES - bytes, "%s%s",
                   bytes != 0 ? "\n" : "", lines);
    bytes = strlen(detail);
    if (bytes != 0 && detail[bytes - 1] == '\n') {
        detail[bytes - 1] = '\0';
    }
    (void)pthread_mutex_unlock(&first_lock);
}

/* --- Lists --- */

/* Adds room for one message; NULL without memory. */
static struct cpti_message *add(struct cpti_messages *list)
{
    enum { FIRST = 8 };

    if (list->count == list->capacity) {
        const size_t capacity = list->capacity != 0 ? 2 * list->capacity : FIRST;
        struct cpti_message *items = realloc(list->items, capacity * sizeof *items);

        if (items == NULL) {
            return NULL;
        }
        list->items = items;
        list->capacity = capacity;
    }
    return &list->items[list->count++];
}

/* Keeps copies; whether there is memory. */
static bool keep(struct cpti_messages *list, bool is_error, const char *text,
                 const char *detail)
{
    struct cpti_message copy = {.is_error = is_error, .text = strdup(text)};
    struct cpti_message *to = NULL;

    if (detail != NULL) {
        copy.detail = strdup(detail);
    }
    if (copy.text != NULL && (detail == NULL || copy.detail != NULL)) {
        to = add(list);
    }
    if (to == NULL) {
        free(copy.text);
        free(copy.detail);
        return false;
    }
    *to = copy;
    return true;
}

static void print(const char *text, const char *detail)
{
    (void)fflush(stdout); /* keeps both streams in order */
    (void)fprintf(stderr, "%s: %s\n%s", speaker, text, detail != NULL ? detail : "");
}

static void say_line(bool is_error, const char *text, const char *detail)
{
    if (kept != NULL && (kept->is_silent || keep(kept, is_error, text, detail))) {
        return;
    }
    print(text, detail);
}

void cpti_messages_say(const struct cpti_messages *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct cpti_message *message = &list->items[i];

        say_line(message->is_error, message->text, message->detail);
    }
}

bool cpti_messages_equal(const struct cpti_messages *a, const struct cpti_messages *b)
{
    size_t at = 0;

    if (a->count != b->count) {
        return false;
    }
    while (at < a->count && strcmp(a->items[at].text, b->items[at].text) == 0) {
        at++;
    }
    return at == a->count;
}

const struct cpti_message *cpti_messages_cause(const struct cpti_messages *list)
{
    for (size_t i = list->count; i-- > 0;) {
        if (list->items[i].is_error) {
            return &list->items[i];
        }
    }
    return list->count != 0 ? &list->items[list->count - 1] : NULL;
}

void cpti_messages_deinit(struct cpti_messages *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].text);
        free(list->items[i].detail);
    }
    free(list->items);
    *list = (struct cpti_messages){.is_silent = list->is_silent};
}

/* --- One message --- */

enum { LINE_BYTES = 2 * CPTI_ERROR_BYTES + 64 };

/* Writes the place to @line. Returns its bytes. */
static size_t write_place(char line[LINE_BYTES], const struct cpti_at *place)
{
    int bytes = 0;

    line[0] = '\0';
    if (place->file != NULL) {
        bytes = snprintf(line, CPTI_ERROR_BYTES, "%.*s: ", CPTI_ERROR_BYTES - 3,
                         place->file);
    }
    if (place->record != 0 && bytes >= 0) {
        bytes += snprintf(line + bytes, LINE_BYTES - (size_t)bytes,
                          "record %" PRIu64 " ", place->record);
    }
    if (place->has_byte && bytes >= 0) {
        bytes += snprintf(line + bytes, LINE_BYTES - (size_t)bytes,
                          "at byte %" PRIu64 ": ", place->byte);
    }
    return bytes > 0 ? (size_t)bytes : 0;
}

/* Keeps the first error and the first damage, and says the message. */
int cpti_say(int status, struct cpti_at place, const char *format, ...)
{
    const bool is_error = status != CPTI_EXIT_DONE;
    char text[CPTI_ERROR_BYTES];
    char line[LINE_BYTES];
    char *hint = NULL;
    va_list arguments;
    size_t bytes;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hint = strchr(text, *CPTI_HINT);
    if (hint != NULL) {
        *hint++ = '\0';
    }
    first_above = NULL;
    if (is_error || place.has_byte) {
        keep_first(is_error ? &first_error : &first_damage, &place, text,
                   hint != NULL ? hint : "");
    }
    bytes = write_place(line, &place);
    (void)snprintf(line + bytes, sizeof line - bytes, "%s%s%s", text,
                   hint != NULL ? "; " : "", hint != NULL ? hint : "");
    say_line(is_error, line, NULL);
    return status;
}

void cpti_detail(const char *format, ...)
{
    struct cpti_message *above =
        kept != NULL && kept->count != 0 ? &kept->items[kept->count - 1] : NULL;
    char text[CPTI_ERROR_BYTES];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    keep_detail(text);
    if (above != NULL && above->detail == NULL) {
        above->detail = strdup(text);
    } else if (kept == NULL) {
        (void)fputs(text, stderr);
    }
}

void cpti_below(const char *format, ...)
{
    char text[CPTI_ERROR_BYTES];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    keep_detail(text);
    say_line(false, text, NULL);
}

int cpti_status_exit(cpt_status status)
{
    return status == CPT_OK ? CPTI_EXIT_DONE
                            : cpti_failed("%s", cpt_status_sentence(status));
}
