/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_tls.c - certificates of ports and calls over gRPC; and whose a client's is
 *
 * The files are those of HTTP (struct cpt_http_tls), but gRPC takes their contents.
 * Those of ports are read again: grpc_tls_reload.c.
 */
#include "framework/transport/grpc/grpc_tls.h"

#include "framework/transport/cpt_http.h"
#include "framework/transport/base/pem.h"

#include <errno.h>
#include <fcntl.h>
#include <grpc/grpc_security_constants.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 20 };

/* --- Files --- */

/* Whether the file may be read, without waiting as for a pipe; a key not by all. */
static cpt_status look_at(const struct stat *about, const char *file, bool is_key,
                          struct cpt_error *error)
{
    if (!S_ISREG(about->st_mode)) {
        return cpt_error_set(error, CPT_INVALID, 0, "%s: it is no regular file", file);
    }
    if (is_key && (about->st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "%s: users that it does not belong to may read or write "
                             "the key in it; chmod 600, or 640",
                             file);
    }
    if (about->st_size > FILE_BYTES_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0, "%s: it is larger than 1 MiB", file);
    }
    return CPT_OK;
}

static cpt_status read_open(int opened, const char *file, bool is_key, char **text,
                            const struct cpt_alloc *alloc, struct cpt_error *error)
{
    struct stat about;
    size_t got = 0;
    ssize_t more = 1;
    cpt_status status = CPT_OK;

    if (fstat(opened, &about) != 0) {
        return cpt_error_set(error, CPT_IO, 0, "%s: %s", file, strerror(errno));
    }
    status = look_at(&about, file, is_key, error);
    if (status != CPT_OK) {
        return status;
    }
    *text = cpt_alloc_zeroed(alloc, (size_t)about.st_size + 1);
    if (*text == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for %s", file);
    }
    while (got < (size_t)about.st_size && more > 0) {
        more = read(opened, *text + got, (size_t)about.st_size - got);
        got += more > 0 ? (size_t)more : 0;
    }
    if (strstr(*text, "-----BEGIN ") == NULL) {
        return cpt_error_set(error, CPT_INVALID, 0, "%s: it has nothing in PEM", file);
    }
    if (!cpti_pem_is_whole(opened)) { /* gRPC takes what it finds, and is content */
        return cpt_error_set(error, CPT_INVALID, 0,
                             "%s: it was cut short, or something is amiss between its "
                             "lines BEGIN and END",
                             file);
    }
    return CPT_OK;
}

static cpt_status read_file(const char *file, bool is_key, char **text,
                            const struct cpt_alloc *alloc, struct cpt_error *error)
{
    cpt_status status = CPT_OK;
    int opened = -1;

    if (file == NULL) {
        return CPT_OK;
    }
    opened = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (opened < 0) {
        return cpt_error_set(error, CPT_IO, 0, "%s: %s", file, strerror(errno));
    }
    status = read_open(opened, file, is_key, text, alloc, error);
    (void)close(opened);
    return status;
}

cpt_status cpti_grpc_pem_read(struct cpti_grpc_pem *pem, const struct cpt_http_tls *tls,
                              bool is_of_port, const struct cpt_alloc *alloc,
                              struct cpt_error *error)
{
    struct cpt_http_tls own;
    cpt_status status = cpt_options_read(&own, sizeof own, tls, error);

    memset(pem, 0, sizeof *pem);
    if (status != CPT_OK) {
        return status;
    }
    if (is_of_port && own.certificate_file == NULL) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "a port with TLS needs a certificate");
    }
    if (own.key_file == NULL) {
        own.key_file = own.certificate_file;
    }
    pem->requires_certificate = own.requires_certificate != 0;
    status = read_file(own.certificate_file, false, &pem->certificate, alloc, error);
    if (status == CPT_OK) {
        status = read_file(own.key_file, true, &pem->key, alloc, error);
    }
    if (status == CPT_OK) {
        status = read_file(own.ca_file, false, &pem->ca, alloc, error);
    }
    if (status != CPT_OK) {
        cpti_grpc_pem_clear(pem, alloc);
    }
    return status;
}

void cpti_grpc_pem_clear(struct cpti_grpc_pem *pem, const struct cpt_alloc *alloc)
{
    if (pem->key != NULL) {
        explicit_bzero(pem->key, strlen(pem->key));
    }
    cpt_alloc_free(alloc, pem->key);
    cpt_alloc_free(alloc, pem->certificate);
    cpt_alloc_free(alloc, pem->ca);
    memset(pem, 0, sizeof *pem);
}

/* --- What gRPC makes of them --- */

grpc_ssl_client_certificate_request_type
cpti_grpc_pem_asks(const struct cpti_grpc_pem *pem)
{
    return pem->ca == NULL ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
           : pem->requires_certificate
               ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
               : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
}

grpc_server_credentials *cpti_grpc_pem_server(const struct cpti_grpc_pem *pem)
{
    grpc_ssl_pem_key_cert_pair own = {pem->key, pem->certificate};

    return grpc_ssl_server_credentials_create_ex(pem->ca, &own, 1,
                                                 cpti_grpc_pem_asks(pem), NULL);
}

grpc_channel_credentials *cpti_grpc_pem_channel(const struct cpti_grpc_pem *pem)
{
    grpc_ssl_pem_key_cert_pair own = {pem->key, pem->certificate};

    return grpc_ssl_credentials_create_ex(
        pem->ca, pem->certificate != NULL ? &own : NULL, NULL, NULL);
}

/* --- Whose a client's certificate is --- */

/* Adds it, unless it is no plain text, or too much. */
static void name_add(struct cpti_grpc_names *names, const char *kind,
                     const grpc_auth_property *property)
{
    const size_t kind_bytes = strlen(kind);
    const size_t bytes = kind_bytes + property->value_length;
    char *text = names->text + names->bytes;

    if (names->count == CPTI_GRPC_NAMES_MAX || property->value_length == 0 ||
        property->value_length > CPTI_GRPC_NAME_BYTES ||
        bytes > CPTI_GRPC_NAME_BYTES - names->bytes) {
        return;
    }
    for (size_t i = 0; i < property->value_length; i++) {
        const unsigned char byte = (unsigned char)property->value[i];

        if (byte < ' ' || byte == 0x7f) {
            return;
        }
    }
    memcpy(text, kind, kind_bytes);
    memcpy(text + kind_bytes, property->value, property->value_length);
    names->names[names->count++] = (struct cpt_bytes){text, bytes};
    names->bytes += bytes;
}

void cpti_grpc_names_read(grpc_call *call, struct cpti_grpc_names *names)
{
    static const struct {
        const char *property;
        const char *kind;
    } kinds[] = {{GRPC_PEER_DNS_PROPERTY_NAME, "dns:"},
                 {GRPC_PEER_URI_PROPERTY_NAME, "uri:"},
                 {GRPC_PEER_EMAIL_PROPERTY_NAME, "email:"}};
    grpc_auth_context *context = grpc_call_auth_context(call);

    names->count = 0;
    names->bytes = 0;
    for (size_t i = 0; context != NULL && i < sizeof kinds / sizeof kinds[0]; i++) {
        grpc_auth_property_iterator at =
            grpc_auth_context_find_properties_by_name(context, kinds[i].property);
        const grpc_auth_property *property = NULL;

        while ((property = grpc_auth_property_iterator_next(&at)) != NULL) {
            name_add(names, kinds[i].kind, property);
        }
    }
    grpc_auth_context_release(context);
}
