/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* place_get.c - one GET of a service, by libcurl; see place.h */
#include "tool/live/place.h"
#include "tool/store/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cpt_status cpti_place_get(const struct cpti_peer *place, const struct cpti_get *get,
                          char **body, size_t *bytes, struct cpt_error *error)
{
    /* The address that was judged when the place was read is connected to, whatever a
     * name server says now; a certificate must be of the host as it was written. */
    const char *scheme = place->is_tls ? "https://" : "http://";
    const char *numeric = place->text + (place->is_tls ? strlen(scheme) : 0);
    const char *port = strrchr(numeric, ':');
    const bool is_ipv6 = strchr(place->host, ':') != NULL;
    char url[sizeof place->host + 320];
    char connect_to[sizeof place->text + 4];
    struct cpti_fetch fetch = {.url = url,
                               .connect_to = connect_to,
                               .timeout_ms = get->timeout_ms,
                               .bytes_max = CPTI_GET_BYTES_MAX,
                               .ca_file = get->ca_file,
                               .certificate_file = get->certificate_file,
                               .key_file = get->key_file};
    cpt_status status = CPT_OK;

    (void)snprintf(url, sizeof url, "%s%s%s%s%s%s", scheme, is_ipv6 ? "[" : "",
                   place->host, is_ipv6 ? "]" : "", port, get->path);
    (void)snprintf(connect_to, sizeof connect_to, "::%s", numeric);
    status = cpti_fetch(&fetch, body, bytes, error);
    if (status == CPT_OK && fetch.status != 200) {
        free(*body);
        *body = NULL;
        return cpt_error_set(
            error, CPT_FAILED, 0,
            "it answers %u: it tells nothing of itself here; services in C and C++ do "
            "at their port for operators, or with serves_counters; those in Python and "
            "Node do not",
            fetch.status);
    }
    return status;
}
