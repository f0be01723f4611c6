/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* messages.c - errors and warnings; see messages.h */
#include "tool/base/messages.h"

#include "tool/base/command.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

static _Thread_local FILE *message_file;

void cpti_messages_to(FILE *file)
{
    message_file = file;
}

FILE *cpti_messages(void)
{
    return message_file != NULL ? message_file : stderr;
}

bool cpti_messages_are_apart(void)
{
    return message_file != NULL;
}

/* --- The first error --- */

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER; /* guards both */
static struct cpti_error first;
static bool has_first;

bool cpti_first_error(struct cpti_error *error)
{
    bool is_there = false;

    (void)pthread_mutex_lock(&first_lock);
    is_there = has_first;
    *error = first;
    (void)pthread_mutex_unlock(&first_lock);
    return is_there;
}

static void keep(const struct cpti_at *place, const char *message, const char *hint)
{
    (void)pthread_mutex_lock(&first_lock);
    if (!has_first) {
        has_first = true;
        first.place = *place;
        first.place.file = NULL;
        (void)snprintf(first.file, sizeof first.file, "%s",
                       place->file != NULL ? place->file : "");
        (void)snprintf(first.message, sizeof first.message, "%s", message);
        (void)snprintf(first.hint, sizeof first.hint, "%s", hint);
    }
    (void)pthread_mutex_unlock(&first_lock);
}

/* --- Printing --- */

static void print_place(FILE *file, const struct cpti_at *place)
{
    if (place->file != NULL) {
        (void)fprintf(file, "%s: ", place->file);
    }
    if (place->has_byte) {
        (void)fprintf(file, "at byte %" PRIu64 ": ", place->byte);
    }
}

static void say(const struct cpti_at *place, bool is_error, const char *format,
                va_list arguments) CPT_PRINTF(3, 0);

/* Keeps and prints a message. */
static void say(const struct cpti_at *place, bool is_error, const char *format,
                va_list arguments)
{
    FILE *file = cpti_messages();
    char text[CPTI_ERROR_BYTES];
    char *hint = NULL;

    (void)vsnprintf(text, sizeof text, format, arguments);
    hint = strchr(text, *CPTI_HINT);
    if (hint != NULL) {
        *hint++ = '\0';
    }
    if (is_error) {
        keep(place, text, hint != NULL ? hint : "");
    }
    if (message_file == NULL) {
        (void)fflush(stdout); /* keeps both streams in order */
    }
    (void)fputs("cpt: ", file);
    print_place(file, place);
    (void)fprintf(file, "%s%s%s\n", text, hint != NULL ? "; " : "",
                  hint != NULL ? hint : "");
}

int cpti_failed(const char *format, ...)
{
    const struct cpti_at nowhere = {0};
    va_list arguments;

    va_start(arguments, format);
    say(&nowhere, true, format, arguments);
    va_end(arguments);
    return CPTI_EXIT_FAILED;
}

int cpti_failed_at(struct cpti_at place, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(&place, true, format, arguments);
    va_end(arguments);
    return CPTI_EXIT_FAILED;
}

int cpti_usage(const char *format, ...)
{
    const struct cpti_at nowhere = {0};
    va_list arguments;

    va_start(arguments, format);
    say(&nowhere, true, format, arguments);
    va_end(arguments);
    return CPTI_EXIT_USAGE;
}

int cpti_usage_at(unsigned column, const char *format, ...)
{
    const struct cpti_at place = {.line = 1, .column = column};
    va_list arguments;

    va_start(arguments, format);
    say(&place, true, format, arguments);
    va_end(arguments);
    return CPTI_EXIT_USAGE;
}

void cpti_warn(const char *format, ...)
{
    const struct cpti_at nowhere = {0};
    va_list arguments;

    va_start(arguments, format);
    say(&nowhere, false, format, arguments);
    va_end(arguments);
}
