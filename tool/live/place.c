/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* place.c - where a service is; see place.h */
#include "tool/live/place.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HOST_BYTES = CPTI_PLACE_HOST_BYTES, PORT_BYTES = 8 };

/* Takes @scheme from the beginning of @text; false: it is not there. */
static bool take_scheme(struct cpt_bytes *text, const char *scheme)
{
    const size_t bytes = strlen(scheme);

    if (text->bytes < bytes || strncasecmp(text->data, scheme, bytes) != 0) {
        return false;
    }
    text->data += bytes;
    text->bytes -= bytes;
    return true;
}

/* Where the ':' before the port is in "[::1]:8001" and the like; text.bytes: there is
 * none. */
static size_t colon_in(struct cpt_bytes text)
{
    size_t colon = text.bytes;

    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] == ':') {
            colon = i;
        } else if (text.data[i] == ']') {
            colon = text.bytes;
        }
    }
    return colon;
}

/* Splits it; @default_port: if it has none; "": then it is wrong. */
static bool split(struct cpt_bytes text, const char *default_port,
                  char host[HOST_BYTES], char port[PORT_BYTES])
{
    const char *slash = memchr(text.data, '/', text.bytes);
    struct cpt_bytes number = cpt_bytes_of(default_port);
    size_t colon = 0;

    text.bytes = slash != NULL ? (size_t)(slash - text.data) : text.bytes;
    colon = colon_in(text);
    if (colon < text.bytes) {
        number = (struct cpt_bytes){text.data + colon + 1, text.bytes - colon - 1};
        text.bytes = colon;
    }
    if (text.bytes >= 2 && text.data[0] == '[' && text.data[text.bytes - 1] == ']') {
        text.data++;
        text.bytes -= 2;
    }
    if (text.bytes == 0 || text.bytes >= HOST_BYTES || number.bytes == 0 ||
        number.bytes >= PORT_BYTES || memchr(text.data, '\0', text.bytes) != NULL) {
        return false;
    }
    memcpy(host, text.data, text.bytes);
    host[text.bytes] = '\0';
    memcpy(port, number.data, number.bytes);
    port[number.bytes] = '\0';
    return strspn(port, "0123456789") == number.bytes &&
           strtoul(port, NULL, 10) <= UINT16_MAX;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;

        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    return address->ss_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

cpt_status cpti_place_read(struct cpt_bytes text, bool asks_names,
                           struct cpti_peer *place, struct cpt_error *error)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char port[PORT_BYTES];
    char shown[INET6_ADDRSTRLEN] = "";
    int problem = 0;
    bool is_good = false;

    memset(place, 0, sizeof *place);
    place->is_tls = take_scheme(&text, "https://");
    is_good = place->is_tls || !take_scheme(&text, "http://")
                  ? split(text, place->is_tls ? "443" : "", place->host, port)
                  : split(text, "80", place->host, port);
    if (!is_good) {
        return cpt_error_set(error, CPT_INVALID, 0, "not an address as HOST:PORT");
    }
    if (!asks_names && strcmp(place->host, "localhost") != 0) {
        hints.ai_flags |= AI_NUMERICHOST;
    }
    problem = getaddrinfo(place->host, port, &hints, &found);
    if (problem == EAI_MEMORY) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    }
    if (problem != 0 || found == NULL || found->ai_addrlen > sizeof place->address) {
        return cpt_error_set(error, CPT_UNAVAILABLE, 0, "the host is not known");
    }
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    place->address_bytes = found->ai_addrlen;
    freeaddrinfo(found);
    place->is_loopback = is_loopback(&place->address);
    (void)getnameinfo((const struct sockaddr *)&place->address, place->address_bytes,
                      shown, sizeof shown, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV);
    (void)snprintf(place->text, sizeof place->text,
                   place->address.ss_family == AF_INET6 ? "%s[%s]:%s" : "%s%s:%s",
                   place->is_tls ? "https://" : "", shown, port);
    return CPT_OK;
}
