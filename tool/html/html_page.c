/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* html_page.c - one HTML file made of its parts and the data; see html_page.h */
#include "tool/html/html_page.h"

#include "tool/html/html_parts.h"
#include "cpt/cpt_name.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

static void write_text(FILE *file, struct cpt_bytes text)
{
    static const char special[] = "<>&\"";
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;"};

    for (size_t i = 0; i < text.bytes; i++) {
        const char *at = memchr(special, text.data[i], strlen(special));

        if (at != NULL) {
            (void)fputs(entities[at - special], file);
        } else {
            (void)fputc(text.data[i], file);
        }
    }
}

void cpti_html_text(FILE *file, const char *title)
{
    write_text(file, cpt_bytes_of(title));
}

/* Whether U+2028 or U+2029 begins at @text: older JavaScript ends a line there. */
static bool is_separator(const char *text, size_t bytes)
{
    return bytes >= 3 && memcmp(text, "\xe2\x80", 2) == 0 &&
           (text[2] == '\xa8' || text[2] == '\xa9');
}

void cpti_html_json(FILE *file, const char *json, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (json[i] == '<' || json[i] == '>' || json[i] == '&') {
            (void)fprintf(file, "\\u%04x", (unsigned)(unsigned char)json[i]);
        } else if (is_separator(json + i, bytes - i)) {
            (void)fputs(json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029", file);
            i += 2;
        } else {
            (void)fputc(json[i], file);
        }
    }
}

/* Writes @text up to @marker; returns what comes after the marker. */
static const char *write_until(FILE *file, const char *text, const char *marker)
{
    const char *at = strstr(text, marker);

    assert(at != NULL);
    (void)fwrite(text, 1, (size_t)(at - text), file);
    return at + strlen(marker);
}

static void write_page(FILE *file, const char *title, struct cpt_bytes json,
                       const char *connect)
{
    const char *left = write_until(file, cpti_html_parts_html, "{{connect}}");

    (void)fputs(connect, file);
    left = write_until(file, left, "{{title}}");
    cpti_html_text(file, title);
    left = write_until(file, left, "{{css}}");
    (void)fputs(cpti_html_parts_css, file);
    left = write_until(file, left, "{{data}}");
    cpti_html_json(file, json.data, json.bytes);
    left = write_until(file, left, "{{js}}");
    (void)fputs(cpti_html_parts_js, file);
    (void)fputs(left, file);
}

void cpti_html_page(FILE *file, const char *title, const char *json, size_t bytes)
{
    write_page(file, title, (struct cpt_bytes){json, bytes}, "'none'");
}

void cpti_html_live(FILE *file)
{
    write_page(file, "cpt", cpt_bytes_of("{\"live\": true}"), "'self'");
}

void cpti_html_error(FILE *file, struct cpt_bytes sentence, const char *home)
{
    (void)fputs(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n<title>cpt: an error</title>\n<style>",
        file);
    (void)fputs(cpti_html_parts_css, file);
    (void)fputs("</style>\n</head>\n<body>\n<main>\n<p id=\"error\" role=\"alert\">",
                file);
    write_text(file, sentence);
    (void)fputs("</p>\n", file);
    if (home != NULL) {
        (void)fputs("<p>The button Back has what was typed. <a href=\"", file);
        cpti_html_text(file, home);
        (void)fputs("\">All requests</a></p>\n", file);
    }
    (void)fputs("</main>\n</body>\n</html>\n", file);
}
