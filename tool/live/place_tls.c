/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* place_tls.c - one GET by TLS, of libcurl; see place.h */
#include "tool/live/place.h"
#include "tool/store/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cpt_status cpti_place_get_tls(const struct cpti_place *place,
                              const struct cpti_get *get, char **body, size_t *bytes,
                              struct cpt_error *error)
{
    /* The address that was judged when the place was read is connected to, whatever a
     * name server says now; the certificate must be of the host as it was written. */
    const char *numeric = place->text + strlen("https://");
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

    (void)snprintf(url, sizeof url, "https://%s%s%s%s%s", is_ipv6 ? "[" : "",
                   place->host, is_ipv6 ? "]" : "", port, get->path);
    (void)snprintf(connect_to, sizeof connect_to, "::%s", numeric);
    status = cpti_fetch(&fetch, body, bytes, error);
    if (status == CPT_OK && fetch.status != 200) {
        free(*body);
        *body = NULL;
        return cpti_place_refused(fetch.status, error);
    }
    return status;
}
