/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* trust.c - networks, and names of certificates, whose headers are heeded */
#include "framework/service/rules/trust.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const unsigned char ipv4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* "10.1.2.3" or "fe80::1" as 16 bytes; *@is_ipv4 says which. False: neither. */
static bool read_address(const char *text, unsigned char address[16], bool *is_ipv4)
{
    memcpy(address, ipv4_prefix, sizeof ipv4_prefix);
    *is_ipv4 = inet_pton(AF_INET, text, address + 12) == 1;
    return *is_ipv4 || inet_pton(AF_INET6, text, address) == 1;
}

/* --- Trusted names --- */

/* "dns:" is compared as host names are, the rest to the byte. */
static const char *const name_kinds[] = {"dns:", "uri:", "email:", "issuer:"};

static bool is_name(const char *text)
{
    for (size_t i = 0; i < sizeof name_kinds / sizeof name_kinds[0]; i++) {
        const size_t bytes = strlen(name_kinds[i]);

        if (strncmp(text, name_kinds[i], bytes) == 0 && text[bytes] != '\0') {
            return true;
        }
    }
    return false;
}

static cpt_status add_name(struct cpti_networks *networks, const char *text,
                           struct cpt_error *error)
{
    struct cpti_network *network = &networks->items[networks->count];
    const size_t bytes = strlen(text);

    if (bytes > sizeof network->name) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "trusted name \"%.60s\" is longer than %zu bytes", text,
                             sizeof network->name);
    }
    memset(network, 0, sizeof *network);
    memcpy(network->name, text, bytes);
    network->name_bytes = (unsigned char)bytes;
    networks->count++;
    return CPT_OK;
}

static bool is_of_name(const struct cpti_network *network, struct cpt_bytes name)
{
    if (name.bytes != network->name_bytes) {
        return false;
    }
    return strncmp(network->name, name_kinds[0], strlen(name_kinds[0])) == 0
               ? strncasecmp(network->name, name.data, name.bytes) == 0
               : memcmp(network->name, name.data, name.bytes) == 0;
}

static bool has_trusted_name(const struct cpti_networks *networks,
                             const struct cpt_inbound *inbound)
{
    for (size_t i = 0; i < networks->count; i++) {
        if (networks->items[i].name_bytes == 0) {
            continue;
        }
        for (size_t n = 0; n < inbound->peer_name_count; n++) {
            if (is_of_name(&networks->items[i], inbound->peer_names[n])) {
                return true;
            }
        }
    }
    return false;
}

/* --- Trusted networks, and all --- */

static cpt_status add_network(struct cpti_networks *networks, const char *text,
                              struct cpt_error *error)
{
    char address[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    const size_t bytes = slash != NULL ? (size_t)(slash - text) : strlen(text);
    struct cpti_network *network = &networks->items[networks->count];
    unsigned long bits = 128;
    char *end = NULL;
    bool is_ipv4 = false;

    if (networks->count == CPTI_NETWORKS_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0, "more than %d trusted networks",
                             CPTI_NETWORKS_MAX);
    }
    if (is_name(text)) {
        return add_name(networks, text, error);
    }
    (void)snprintf(address, sizeof address, "%.*s", (int)(bytes < 64 ? bytes : 64),
                   text);
    if (bytes >= sizeof address || !read_address(address, network->address, &is_ipv4)) {
        return cpt_error_set(
            error, CPT_INVALID, 0,
            "trusted network \"%.60s\" is not an address such as 10.0.0.0/8, or a name "
            "of a certificate such as dns:tools.example",
            text);
    }
    if (slash != NULL) {
        bits = strtoul(slash + 1, &end, 10);
        if (slash[1] < '0' || slash[1] > '9' || *end != '\0' ||
            bits > (is_ipv4 ? 32 : 128)) {
            return cpt_error_set(
                error, CPT_INVALID, 0,
                "trusted network \"%.60s\" has no prefix of 0 to %d bits", text,
                is_ipv4 ? 32 : 128);
        }
    }
    if (!is_ipv4 && bits < sizeof ipv4_prefix * 8 &&
        memcmp(network->address, ipv4_prefix, sizeof ipv4_prefix) == 0) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "trusted network \"%.60s\" would be all of IPv4: write "
                             "10.0.0.0/8, or a prefix of 96 bits and more",
                             text);
    }
    network->name_bytes = 0;
    network->prefix_bits = (unsigned)bits + (is_ipv4 && slash != NULL ? 96 : 0);
    networks->count++;
    return CPT_OK;
}

cpt_status cpti_networks_read(struct cpti_networks *networks, const char *const *texts,
                              struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    networks->count = 0;
    for (size_t i = 0; texts != NULL && texts[i] != NULL && status == CPT_OK; i++) {
        status = add_network(networks, texts[i], error);
    }
    return status;
}

static bool is_within(const struct cpti_network *network,
                      const unsigned char address[16])
{
    const unsigned whole = network->prefix_bits / 8;
    const unsigned rest = network->prefix_bits % 8;

    return memcmp(network->address, address, whole) == 0 &&
           (rest == 0 || (network->address[whole] ^ address[whole]) >> (8 - rest) == 0);
}

/* "fe80::1" of "fe80::1%eth0", as a peer on a link of this machine is named. */
static struct cpt_bytes without_zone(struct cpt_bytes peer)
{
    const char *zone = peer.bytes != 0 ? memchr(peer.data, '%', peer.bytes) : NULL;

    if (zone != NULL) {
        peer.bytes = (size_t)(zone - peer.data);
    }
    return peer;
}

/* The address of the client; false: it is not known. */
static bool address_of(const struct cpt_inbound *inbound, unsigned char address[16])
{
    const struct cpt_bytes peer = without_zone(inbound->peer_address);
    char text[INET6_ADDRSTRLEN];
    bool is_ipv4 = false;

    if (peer.bytes == 0 || peer.bytes >= sizeof text) {
        return false;
    }
    memcpy(text, peer.data, peer.bytes);
    text[peer.bytes] = '\0';
    return read_address(text, address, &is_ipv4);
}

bool cpti_networks_have(const struct cpti_networks *networks,
                        const struct cpt_inbound *inbound)
{
    unsigned char address[16];
    const bool has_address = address_of(inbound, address);

    for (size_t i = 0; i < networks->count && has_address; i++) {
        if (networks->items[i].name_bytes == 0 &&
            is_within(&networks->items[i], address)) {
            return true;
        }
    }
    return has_trusted_name(networks, inbound);
}
