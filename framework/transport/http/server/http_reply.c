/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_reply.c - the head of a reply
 *
 * The status line is of HTTP/1.1 also if the request was of HTTP/1.0, as the standard
 * says. A client that asks with HEAD gets the same head as with GET.
 */
#include "framework/transport/http/server/http_guard.h"
#include "framework/transport/http/server/http_peer.h"
#include "framework/transport/http/message/http_route.h"
#include "wire/cpt_metadata.h"

#include <stdio.h>
#include <string.h>

enum {
    NO_CONTENT = 204,
    NOT_MODIFIED = 304,
    OWN_HEADERS = 6 /* type, length, connection, date; and the path, with Vary */
};

static const struct {
    unsigned status;
    const char *text;
} reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

static const char *reason_of(unsigned status)
{
    static const char *const classes[] = {"Success", "Redirection", "Client Error",
                                          "Server Error"};

    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (reasons[i].status == status) {
            return reasons[i].text;
        }
    }
    return status >= 200 && status < 600 ? classes[status / 100 - 2] : "Unknown";
}

bool cpti_http_has_body(unsigned status)
{
    return status != NO_CONTENT && status != NOT_MODIFIED;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", written once a second. */
static struct cpt_bytes date_of(struct cpti_http_accepted *accepted)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const time_t now = time(NULL);
    struct tm parts;

    if (now != accepted->date_s && gmtime_r(&now, &parts) != NULL) {
        accepted->date_s = now;
        (void)snprintf(accepted->date, sizeof accepted->date,
                       "%s, %02d %s %04d %02d:%02d:%02d GMT", days[parts.tm_wday % 7],
                       parts.tm_mday % 100, months[parts.tm_mon % 12],
                       (parts.tm_year + 1900) % 10000, parts.tm_hour % 100,
                       parts.tm_min % 100, parts.tm_sec % 100);
    }
    return cpt_bytes_of(accepted->date);
}

static void status_line(struct cpti_http_text *text, unsigned status)
{
    if (status == 200) {
        CPTI_HTTP_TEXT_PUT(text, "HTTP/1.1 200 OK\r\n");
        return;
    }
    CPTI_HTTP_TEXT_PUT(text, "HTTP/1.1 ");
    cpti_http_text_number(text, status);
    CPTI_HTTP_TEXT_PUT(text, " ");
    cpti_http_text_put(text, cpt_bytes_of(reason_of(status)));
    CPTI_HTTP_TEXT_PUT(text, "\r\n");
}

/* All of the head that is known before its connection is; @counted: NULL, or where
 * headers that are not sent are counted. */
static void known_write(const struct cpt_http_options *options,
                        struct cpti_http_text *text,
                        const struct cpti_http_reply *reply, struct cpt_http *counted)
{
    status_line(text, reply->status);
    cpti_http_guard_headers(options, text);
    if (cpti_http_has_body(reply->status)) {
        cpti_http_text_header(text, "Content-Type", reply->content_type);
        CPTI_HTTP_TEXT_PUT(text, "Content-Length: ");
        cpti_http_text_number(text, reply->body.bytes);
        CPTI_HTTP_TEXT_PUT(text, "\r\n");
    }
    if (reply->allow != NULL) {
        cpti_http_text_header(text, "Allow", cpt_bytes_of(reply->allow));
    }
    cpti_http_route_write(counted, reply->headers, reply->header_count, text);
    cpti_http_text_put(text, reply->lines);
}

/* How many headers @reply has at most, with a path. */
static size_t count_with_path(const struct cpt_http_options *options,
                              const struct cpti_http_reply *reply)
{
    const char *const *line = options->reply_headers;
    size_t count = reply->header_count + OWN_HEADERS;

    while (line != NULL && *line != NULL) {
        line++;
        count++;
    }
    return count;
}

/* A proxy also limits how many headers there are. And nginx that caches keeps the
 * target of the request in the memory that it has for the head. */
size_t cpti_http_reply_room(const struct cpt_http *http,
                            const struct cpti_http_reply *reply, size_t target_bytes)
{
    const size_t bytes_max = http->options.headers_bytes_max;
    struct cpti_http_text text = CPTI_HTTP_TEXT_COUNTED;
    const size_t rest = sizeof "Connection: keep-alive\r\n"
                               "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n" -
                        1;

    if (count_with_path(&http->options, reply) > bytes_max / CPT_HEADERS_BYTES_EACH) {
        return 0;
    }
    known_write(&http->options, &text, reply, NULL);
    return cpt_path_bytes_left(bytes_max, text.bytes + rest + target_bytes, 1);
}

void cpti_http_reply_write(struct cpt_http *http, struct cpti_http_text *text,
                           const struct cpti_http_reply *reply,
                           const struct cpti_http_parser *parser, bool closes)
{
    known_write(&http->options, text, reply, http);
    cpti_http_text_path(text, reply->metadata);
    if (closes) {
        CPTI_HTTP_TEXT_PUT(text, "Connection: close\r\n");
    } else if (parser->is_old) {
        CPTI_HTTP_TEXT_PUT(text, "Connection: keep-alive\r\n");
    }
    CPTI_HTTP_TEXT_PUT(text, "Date: ");
    cpti_http_text_put(text, date_of(&http->accepted));
    CPTI_HTTP_TEXT_PUT(text, "\r\n\r\n");
}
