/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_place.c - where cpt web listens; see web_place.h */
#include "tool/web/web_place.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const char loopback[] = "127.0.0.1";

/* Adds @address, in brackets if it is of IPv6, if there is room. */
static void add_host(struct cpti_web_place *place, const char *address)
{
    size_t at = 0;

    while (at < CPTI_WEB_HOSTS_MAX && place->hosts[at] != NULL) {
        at++;
    }
    if (at < CPTI_WEB_HOSTS_MAX) {
        (void)snprintf(place->texts[at], sizeof place->texts[at],
                       strchr(address, ':') != NULL ? "[%s]" : "%s", address);
        place->hosts[at] = place->texts[at];
    }
}

/* Adds the numbers of all interfaces of @family; AF_UNSPEC: of both. */
static void add_interfaces(struct cpti_web_place *place, int family)
{
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) != 0) {
        return;
    }
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
        const int own = at->ifa_addr != NULL ? at->ifa_addr->sa_family : AF_UNSPEC;
        char text[INET6_ADDRSTRLEN];
        const void *number =
            own == AF_INET
                ? (const void *)&((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr
                : &((struct sockaddr_in6 *)(void *)at->ifa_addr)->sin6_addr;

        if ((own == AF_INET || own == AF_INET6) &&
            (family == AF_UNSPEC || own == family) &&
            inet_ntop(own, number, text, sizeof text) != NULL) {
            add_host(place, text);
        }
    }
    freeifaddrs(all);
}

/* Whether the address is of this machine alone, also written as IPv6. */
static bool is_loopback_v6(const struct in6_addr *number)
{
    return IN6_IS_ADDR_LOOPBACK(number) ||
           (IN6_IS_ADDR_V4MAPPED(number) && number->s6_addr[12] == 127);
}

void cpti_web_place_init(struct cpti_web_place *place, const char *address)
{
    struct in_addr number;
    struct in6_addr number_v6;

    memset(place, 0, sizeof *place);
    place->address = address != NULL ? address : loopback;
    add_host(place, place->address);
    add_host(place, loopback);
    add_host(place, "localhost");
    add_host(place, "::1");
    if (inet_pton(AF_INET, place->address, &number) == 1) {
        place->is_loopback = ntohl(number.s_addr) >> 24 == 127;
        if (number.s_addr == htonl(INADDR_ANY)) {
            add_interfaces(place, AF_INET);
        }
    } else if (inet_pton(AF_INET6, place->address, &number_v6) == 1) {
        place->is_loopback = is_loopback_v6(&number_v6);
        if (IN6_IS_ADDR_UNSPECIFIED(&number_v6)) {
            add_interfaces(place, AF_UNSPEC);
        }
    }
}
