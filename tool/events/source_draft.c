/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* source_draft.c - a source to start from; see source_draft.h */
#include "tool/events/source_draft.h"

#include <stdio.h>
#include <string.h>

enum { KEY_BYTES_MAX = 32 };

const char cpti_source_python[] =
    "import contextvars, logging\n"
    "request_id = contextvars.ContextVar(\"request_id\", default=\"-\")\n"
    "make_record = logging.getLogRecordFactory()\n"
    "def with_id(*arguments, **named):\n"
    "    record = make_record(*arguments, **named)\n"
    "    record.request_id = request_id.get()\n"
    "    return record\n"
    "logging.setLogRecordFactory(with_id)\n"
    "logging.basicConfig(level=logging.INFO, format='ts=%(created).6f '\n"
    "    'level=%(levelname)s request_id=%(request_id)s msg=\"%(message)s\"')";

/* Whether @line begins as @look does, in which '9' stands for a digit and 'a' for a
 * letter. */
static bool looks(struct cpt_bytes line, const char *look)
{
    for (size_t i = 0; look[i] != '\0'; i++) {
        const char c = i < line.bytes ? line.data[i] : '\0';
        const bool is_digit = c >= '0' && c <= '9';
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (look[i] == '9' ? !is_digit : look[i] == 'a' ? !is_letter : c != look[i]) {
            return false;
        }
    }
    return true;
}

/* What reads the stamp at the front of a line that looks so. */
static const struct stamp {
    const char *look;
    const char *regex;
    const char *time; /* a clause, or "": it is known by its look */
} stamps[] = {
    {"9999-99-99 99:99:99", "(?<time>\\S+ [\\d:.,]+)", ""},
    {"9999-99-99T99:99:99", "(?<time>\\S+)", ""},
    {"[9999-99-99 99:99:99", "\\[(?<time>\\S+ [\\d:.,]+)[^\\]]*\\]", ""},
    {"[9999-99-99T99:99:99", "\\[(?<time>[^\\]]+)\\]", ""},
    {"9999/99/99 99:99:99.9", "(?<time>\\S+ \\S+)", "; time %Y/%m/%d %H:%M:%S.%L"},
    {"9999/99/99 99:99:99", "(?<time>\\S+ \\S+)", "; time %Y/%m/%d %H:%M:%S"},
    {"[99/aaa/9999:99:99:99 ", "\\[(?<time>[^\\]]+)\\]", "; time %d/%b/%Y:%H:%M:%S %z"},
    {"", "(?<time>\\S+)", ""},
};

static bool is_of_key(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* The word before '=' or ':' whose end is "id", as request_id, traceId; empty: none. */
static struct cpt_bytes find_key(struct cpt_bytes line)
{
    for (size_t end = 2; end + 1 < line.bytes; end++) {
        size_t at = end;

        if ((line.data[end] != '=' && line.data[end] != ':') ||
            (line.data[end - 1] | 0x20) != 'd' || (line.data[end - 2] | 0x20) != 'i') {
            continue;
        }
        while (at > 0 && is_of_key(line.data[at - 1])) {
            at--;
        }
        if (at > 0 && end - at <= KEY_BYTES_MAX && line.data[at] != '-') {
            return (struct cpt_bytes){line.data + at, end - at};
        }
    }
    return (struct cpt_bytes){"", 0};
}

/* The name of a source for the file: of "logs/shop.log" it is "shop". */
static void name_of(const char *path, char name[KEY_BYTES_MAX + 1])
{
    size_t used = 0;

    for (; used < KEY_BYTES_MAX && path[used] != '\0' && path[used] != '.'; used++) {
        name[used] = is_of_key(path[used]) ? path[used] : '-';
    }
    name[used] = '\0';
    if (used == 0 || strcmp(path, "-") == 0) {
        memcpy(name, "NAME", sizeof "NAME");
    }
}

static bool has_digit(struct cpt_bytes line)
{
    size_t at = 0;

    while (at < line.bytes && (line.data[at] < '0' || line.data[at] > '9')) {
        at++;
    }
    return at < line.bytes;
}

bool cpti_source_draft(struct cpt_bytes line, const char *path,
                       char draft[CPTI_DRAFT_BYTES])
{
    const struct cpt_bytes key = find_key(line);
    const struct stamp *stamp = stamps;
    const char *slash = strrchr(path, '/');
    char name[KEY_BYTES_MAX + 1];

    path = slash != NULL ? slash + 1 : path;
    if (!has_digit(line)) {
        return false;
    }
    name_of(path, name);
    while (!looks(line, stamp->look)) {
        stamp++;
    }
    (void)snprintf(draft, CPTI_DRAFT_BYTES,
                   "source %s = regex ^%s (?<text>.*?)(?:\\W%.*s[=:] ?"
                   "(?<id>[\\w-]+).*)?$%s; files %s",
                   name, stamp->regex, key.bytes > 0 ? (int)key.bytes : 2,
                   key.bytes > 0 ? key.data : "id", stamp->time,
                   strcmp(path, "-") != 0 ? path : "*");
    return true;
}

bool cpti_source_is_python(struct cpt_bytes line)
{
    static const char *const levels[] = {
        "DEBUG:", "INFO:", "WARNING:", "ERROR:", "CRITICAL:"};

    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (looks(line, levels[i])) {
            return true;
        }
    }
    return looks(line, "9999-99-99 99:99:99,999 ");
}
