/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_address.c - parses "http://host:port" and "https://host:port" */
#include "framework/transport/http/client/http_address.h"

#include "framework/transport/http/loop/http_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PORT_DEFAULT = 80, PORT_TLS = 443 };

/* A name or a number, with no byte that a Host header may not have. */
static bool is_host(struct cpt_bytes host, bool is_bracketed)
{
    for (size_t i = 0; i < host.bytes; i++) {
        const char byte = host.data[i];
        const bool is_alphanumeric = (byte >= '0' && byte <= '9') ||
                                     (byte >= 'a' && byte <= 'z') ||
                                     (byte >= 'A' && byte <= 'Z');

        if (!is_alphanumeric && strchr(is_bracketed ? ":.%" : ".-_", byte) == NULL) {
            return false;
        }
    }
    return host.bytes > 0;
}

/* The port in ":8080" or ":8080/"; @implied for "" or "/"; 0: @text is neither. */
static uint16_t port_parse(const char *text, uint16_t implied)
{
    unsigned long port = 0;

    if (text[0] == '\0' || strcmp(text, "/") == 0) {
        return implied;
    }
    if (*text != ':') {
        return 0;
    }
    for (text++; *text >= '0' && *text <= '9' && port <= UINT16_MAX; text++) {
        port = port * 10 + (unsigned long)(*text - '0');
    }
    if ((text[0] != '\0' && strcmp(text, "/") != 0) || port > UINT16_MAX) {
        return 0;
    }
    return (uint16_t)port;
}

/* Finds the host in @text, and the port after it. */
static bool split(const char *text, struct cpt_bytes *host, bool *is_bracketed,
                  struct cpti_http_address *address)
{
    const char *rest = NULL;

    if (strncasecmp(text, "http://", 7) == 0) {
        text += 7;
    } else if (strncasecmp(text, "https://", 8) == 0) {
        text += 8;
        address->is_tls = true;
    }
    *is_bracketed = text[0] == '[';
    host->data = text + (*is_bracketed ? 1 : 0);
    host->bytes = strcspn(host->data, *is_bracketed ? "]" : ":/");
    rest = host->data + host->bytes;
    if (*is_bracketed && *rest != ']') {
        return false;
    }
    address->port = port_parse(rest + (*is_bracketed ? 1 : 0),
                               address->is_tls ? PORT_TLS : PORT_DEFAULT);
    return address->port != 0 && is_host(*host, *is_bracketed);
}

static bool is_numeric(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, bytes) == 1 ||
           inet_pton(AF_INET6, host, bytes) == 1;
}

static char *host_header_new(const struct cpti_http_address *address, bool is_bracketed,
                             const struct cpt_alloc *alloc)
{
    const char *host = address->host;
    const size_t capacity = strlen(host) + sizeof("[]:65535");
    char *text = cpt_alloc_zeroed(alloc, capacity);
    char digits[8] = "";

    if (text == NULL) {
        return NULL;
    }
    if (address->port != (address->is_tls ? PORT_TLS : PORT_DEFAULT)) {
        (void)snprintf(digits, sizeof(digits), ":%u", (unsigned)address->port);
    }
    (void)snprintf(text, capacity, is_bracketed ? "[%s]%s" : "%s%s", host, digits);
    return text;
}

cpt_status cpti_http_address_init(struct cpti_http_address *address, const char *text,
                                  const struct cpt_alloc *alloc)
{
    struct cpt_bytes host = {NULL, 0};
    bool is_bracketed = false;

    memset(address, 0, sizeof(*address));
    if (strlen(text) > CPTI_HTTP_ADDRESS_TEXT_MAX ||
        !split(text, &host, &is_bracketed, address)) {
        memset(address, 0, sizeof(*address));
        return CPT_INVALID;
    }
    address->text = cpti_http_text_copy(cpt_bytes_of(text), alloc);
    address->host = cpti_http_text_copy(host, alloc);
    if (address->host != NULL) {
        address->host_header = host_header_new(address, is_bracketed, alloc);
        address->is_name = !is_bracketed && !is_numeric(address->host);
    }
    if (address->text == NULL || address->host_header == NULL) {
        cpti_http_address_deinit(address, alloc);
        return CPT_NO_MEMORY;
    }
    return CPT_OK;
}

/* "http://10.0.0.5:8080": where @number is, as a person would write it. */
static char *number_text_new(const struct cpti_http_address *from, const char *number,
                             const struct cpt_alloc *alloc)
{
    const char *mark = strstr(from->text, "://");
    const int scheme_bytes = mark != NULL ? (int)(mark - from->text) + 3 : 0;
    const size_t capacity = (size_t)scheme_bytes + strlen(number) + sizeof("[]:65535");
    char *text = cpt_alloc_zeroed(alloc, capacity);

    if (text != NULL) {
        (void)snprintf(text, capacity,
                       strchr(number, ':') != NULL ? "%.*s[%s]:%u" : "%.*s%s:%u",
                       scheme_bytes, from->text, number, (unsigned)from->port);
    }
    return text;
}

cpt_status cpti_http_address_number(struct cpti_http_address *address,
                                    const struct cpti_http_address *from,
                                    const char *number, const struct cpt_alloc *alloc)
{
    *address = *from;
    address->is_name = false;
    address->host = cpti_http_text_copy(cpt_bytes_of(from->host), alloc);
    address->host_header = cpti_http_text_copy(cpt_bytes_of(from->host_header), alloc);
    address->text = number != NULL
                        ? number_text_new(from, number, alloc)
                        : cpti_http_text_copy(cpt_bytes_of(from->text), alloc);
    address->number =
        number != NULL ? cpti_http_text_copy(cpt_bytes_of(number), alloc) : NULL;
    if (address->host == NULL || address->host_header == NULL ||
        address->text == NULL || (number != NULL && address->number == NULL)) {
        cpti_http_address_deinit(address, alloc);
        return CPT_NO_MEMORY;
    }
    return CPT_OK;
}

void cpti_http_address_deinit(struct cpti_http_address *address,
                              const struct cpt_alloc *alloc)
{
    cpt_alloc_free(alloc, address->text);
    cpt_alloc_free(alloc, address->host);
    cpt_alloc_free(alloc, address->host_header);
    cpt_alloc_free(alloc, address->number);
    memset(address, 0, sizeof(*address));
}
