/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* output.c - messages, and text fitted to the terminal; see output.h */
#include "tool/base/output.h"

#include "tool/base/command.h"
#include "cpt/cpt_path.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum {
    QUOTED_COUNT = 4,
    WRAP_COLUMNS = 78,
    COLUMNS_MIN = 40,
    COLUMNS_MAX = 4096,
    RENAMED_MAX = 64
};

/* The next buffer, in turn. */
static char *take_buffer(void)
{
    static _Thread_local char buffers[QUOTED_COUNT][CPTI_TEXT_BYTES];
    static _Thread_local unsigned next;

    return buffers[next++ % QUOTED_COUNT];
}

const char *cpti_quoted_bytes(struct cpt_bytes text)
{
    char *buffer = take_buffer();

    (void)cpt_text_name(text, buffer, CPTI_TEXT_BYTES);
    return buffer;
}

/* The bytes of @text before the first one that only names escape. */
static size_t plain_bytes(struct cpt_bytes text)
{
    size_t bytes = 0;

    while (bytes < text.bytes && text.data[bytes] != ';' && text.data[bytes] != '\\') {
        bytes++;
    }
    return bytes;
}

size_t cpti_printable_to(struct cpt_bytes text, char *to, size_t capacity)
{
    size_t written = 0;

    to[0] = '\0';
    while (text.bytes != 0 && written + 2 < capacity) {
        const size_t bytes = plain_bytes(text);
        const size_t left = capacity - written;
        const size_t used = bytes != 0 ? bytes : 1;

        if (bytes == 0) {
            (void)snprintf(to + written, left, "%c", text.data[0]);
        } else {
            (void)cpt_text_name((struct cpt_bytes){text.data, bytes}, to + written,
                                left);
        }
        written += strlen(to + written);
        text.data += used;
        text.bytes -= used;
    }
    return written;
}

const char *cpti_printable(struct cpt_bytes text)
{
    char *buffer = take_buffer();

    (void)cpti_printable_to(text, buffer, CPTI_TEXT_BYTES);
    return buffer;
}

/* Files that are shown by another name, set before there are other threads. */
static struct {
    const char *path;
    const char *name;
} renamed[RENAMED_MAX];
static size_t renamed_count;

void cpti_quote_as(const char *path, const char *name)
{
    if (renamed_count < RENAMED_MAX) {
        renamed[renamed_count].path = path;
        renamed[renamed_count++].name = name;
    }
}

const char *cpti_quoted(const char *text)
{
    for (size_t i = 0; i < renamed_count; i++) {
        if (strcmp(renamed[i].path, text) == 0) {
            text = renamed[i].name;
            break;
        }
    }
    return cpti_quoted_bytes(cpt_bytes_of(text));
}

int cpti_finish(int exit_status)
{
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return cpti_failed("standard output: %s",
                           errno != 0 ? strerror(errno) : "cannot be written");
    }
    return exit_status;
}

size_t cpti_columns(void)
{
    const char *given = getenv("COLUMNS");
    unsigned long columns = given != NULL ? strtoul(given, NULL, 10) : 0;
    struct winsize size = {0};

    if (columns == 0 && !isatty(STDOUT_FILENO)) {
        return 0;
    }
    if (columns == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        columns = size.ws_col;
    }
    columns = columns == 0 ? 80 : columns;
    columns = columns < COLUMNS_MIN ? COLUMNS_MIN : columns;
    return columns > COLUMNS_MAX ? COLUMNS_MAX : columns;
}

bool cpti_is_coloured(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0') &&
           terminal != NULL && strcmp(terminal, "dumb") != 0;
}

/* The bytes of the first character of @text, and its width in *@columns. wcwidth()
 * knows wide and combining characters by the locale that main() sets. */
static size_t character(const char *text, size_t *columns)
{
    mbstate_t state = {0};
    wchar_t wide = 0;
    size_t bytes;
    int width;

    *columns = 1;
    if ((unsigned char)text[0] < 0x80) {
        return 1;
    }
    bytes = mbrtowc(&wide, text, MB_CUR_MAX, &state);
    if (bytes == 0 || bytes > MB_CUR_MAX) {
        /* no UTF-8 locale: count the bytes that begin a character */
        *columns = ((unsigned char)text[0] & 0xc0U) != 0x80U;
        return 1;
    }
    width = wcwidth(wide);
    *columns = width < 0 ? 1 : (size_t)width;
    return bytes;
}

size_t cpti_text_fit(const char *text, size_t columns)
{
    size_t used = 0;
    size_t at = 0;

    while (text[at] != '\0') {
        size_t width;
        const size_t bytes = character(text + at, &width);

        if (used + width > columns) {
            break;
        }
        used += width;
        at += bytes;
    }
    return at;
}

size_t cpti_text_columns(const char *text)
{
    size_t columns = 0;

    while (*text != '\0') {
        size_t width;

        text += character(text, &width);
        columns += width;
    }
    return columns;
}

void cpti_text_shorten(const char *text, size_t columns, unsigned end_share,
                       const char *mark, char *to, size_t capacity)
{
    size_t indent = strspn(text, " ");
    size_t room;
    size_t front;
    size_t end_columns;
    const char *end;

    if (cpti_text_columns(text) <= columns) {
        (void)snprintf(to, capacity, "%s", text);
        return;
    }
    text += indent;
    indent = indent > columns / 2 ? columns / 2 : indent;
    room = columns - indent > 1 ? columns - indent - 1 : 0; /* without the mark */
    if (cpti_text_columns(text) <= columns - indent) {
        (void)snprintf(to, capacity, "%*s%s", (int)indent, "", text);
        return;
    }
    end_columns = room * end_share / 100;
    front = cpti_text_fit(text, room - end_columns);
    end = text + front;
    while (*end != '\0' && cpti_text_columns(end) > end_columns) {
        const size_t bytes = cpti_text_fit(end, 1);

        end += bytes != 0 ? bytes : cpti_text_fit(end, 2); /* a wide character */
    }
    (void)snprintf(to, capacity, "%*s%.*s%s%s", (int)indent, "", (int)front, text, mark,
                   end);
}

/* The last blank outside of quotes within @columns of @line, or the first one behind.
 * 0: there is none. */
static size_t break_at(const char *line, size_t columns)
{
    size_t last = 0;
    char quote = '\0';

    for (size_t i = 0; line[i] != '\0'; i++) {
        if (i > columns && last != 0) {
            return last;
        }
        if (quote != '\0') {
            quote = line[i] == quote ? '\0' : quote;
        } else if (line[i] == '"' || line[i] == '\'') {
            quote = line[i];
        } else if (line[i] == ' ' && i != 0) {
            last = i;
        }
    }
    return last;
}

void cpti_line_break(const char *line, size_t columns, const char *joint, char *text,
                     size_t capacity)
{
    size_t used = 0;
    size_t room = columns;

    text[0] = '\0';
    while (strlen(line) > room && used + 1 < capacity) {
        const size_t bytes = break_at(line, room - strcspn(joint, "\n"));

        if (bytes == 0) {
            break;
        }
        used += (size_t)snprintf(text + used, capacity - used, "%.*s%s", (int)bytes,
                                 line, joint);
        used = used < capacity ? used : capacity - 1;
        line += bytes + 1;
        room = columns - (strlen(joint) - strcspn(joint, "\n") - 1);
    }
    (void)snprintf(text + used, capacity - used, "%s", line);
}

/* Prints one paragraph of @bytes. */
static void wrap(FILE *file, size_t indent, const char *text, size_t bytes)
{
    const size_t room = WRAP_COLUMNS - indent;
    const char *end = text + bytes;

    while (text < end) {
        size_t left = (size_t)(end - text);
        size_t line = left;

        if (left > room) {
            line = room;
            while (line > 0 && text[line] != ' ') {
                line--;
            }
            line = line == 0 ? room : line;
        }
        (void)fprintf(file, "%*s%.*s\n", (int)indent, "", (int)line, text);
        text += line;
        while (text < end && *text == ' ') {
            text++;
        }
    }
}

void cpti_print_wrapped(FILE *file, size_t indent, const char *text)
{
    while (*text != '\0') {
        const size_t bytes = strcspn(text, "\n");

        if (bytes == 0 || text[0] == ' ') {
            (void)fprintf(file, "%*s%.*s\n", bytes == 0 ? 0 : (int)indent, "",
                          (int)bytes, text);
        } else {
            wrap(file, indent, text, bytes);
        }
        text += bytes;
        text += *text == '\n';
    }
}

/* Whole microseconds as "1.234". */
static void put_ms(uint64_t us, bool is_negative, char text[32])
{
    char digits[32];
    char *at = digits + sizeof digits - 1;

    *at = '\0';
    for (int count = 0; count < 4 || us != 0; count++) {
        if (count == 3) {
            *--at = '.';
        }
        *--at = (char)('0' + us % 10);
        us /= 10;
    }
    if (is_negative) {
        *--at = '-';
    }
    memcpy(text, at, (size_t)(digits + sizeof digits - at));
}

const char *cpti_ms(double ns, char text[32])
{
    const double us = fabs(ns / 1e6 * 1e3);
    const double whole = floor(us + 0.5);

    /* Not for half a microsecond, whose rounding depends on the last bit. Ten times as
     * fast as printf(), which a large report calls millions of times. */
    if (us < 1e12 && fabs(us - whole) < 0.499) {
        put_ms((uint64_t)whole, ns < 0 && whole != 0, text);
        return text;
    }
    (void)snprintf(text, 32, "%.3f", ns / 1e6);
    if (strcmp(text, "-0.000") == 0) {
        return "0.000";
    }
    return text;
}

const char *cpti_utc(uint64_t unix_ns, char text[64])
{
    const time_t seconds = (time_t)(unix_ns / 1000000000U);
    struct tm parts = {0};
    char day[40];

    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts) == 0) {
        return "?";
    }
    (void)snprintf(text, 64, "%s.%09uZ", day, (unsigned)(unix_ns % 1000000000U));
    return text;
}
