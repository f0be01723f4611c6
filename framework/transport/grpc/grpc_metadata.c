/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_metadata.c - what metadata, addresses, deadlines and messages of gRPC say */
#include "framework/transport/grpc/grpc_metadata.h"

#include "wire/cpt_metadata.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_NAME_BYTES_MAX = 256 };

struct cpt_bytes cpti_grpc_bytes(const grpc_slice *slice)
{
    return (struct cpt_bytes){(const char *)GRPC_SLICE_START_PTR(*slice),
                              GRPC_SLICE_LENGTH(*slice)};
}

unsigned cpti_grpc_find(const grpc_metadata_array *metadata, const char *name,
                        struct cpt_bytes *value)
{
    unsigned count = 0;

    for (size_t i = 0; i < metadata->count; i++) {
        if (grpc_slice_str_cmp(metadata->metadata[i].key, name) == 0 && count++ == 0) {
            *value = cpti_grpc_bytes(&metadata->metadata[i].value);
        }
    }
    return count;
}

bool cpti_grpc_is_forwarded(const grpc_metadata_array *metadata)
{
    for (size_t i = 0; i < metadata->count; i++) {
        if (cpt_header_is_forwarding(cpti_grpc_bytes(&metadata->metadata[i].key))) {
            return true;
        }
    }
    return false;
}

size_t cpti_grpc_headers(const grpc_metadata_array *metadata,
                         struct cpt_field headers[CPT_HEADERS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < metadata->count; i++) {
        const grpc_metadata *field = &metadata->metadata[i];

        if (grpc_is_binary_header(field->key)) {
            continue;
        }
        if (count < CPT_HEADERS_MAX) {
            headers[count] = (struct cpt_field){cpti_grpc_bytes(&field->key),
                                                cpti_grpc_bytes(&field->value)};
        }
        count++;
    }
    return count;
}

bool cpti_grpc_field_make(const struct cpt_field *from, grpc_metadata *to)
{
    static const char reserved[] = "grpc-";
    char name[HEADER_NAME_BYTES_MAX];

    if (from->name.bytes > sizeof name) {
        return false;
    }
    for (size_t i = 0; i < from->name.bytes; i++) {
        name[i] = (char)tolower((unsigned char)from->name.data[i]);
    }
    if ((from->name.bytes >= sizeof reserved - 1 &&
         memcmp(name, reserved, sizeof reserved - 1) == 0) ||
        cpt_bytes_equal((struct cpt_bytes){name, from->name.bytes},
                        cpt_bytes_of("content-type")) ||
        cpt_bytes_equal((struct cpt_bytes){name, from->name.bytes},
                        cpt_bytes_of("te"))) {
        return false;
    }
    to->key = grpc_slice_from_copied_buffer(name, from->name.bytes);
    to->value = grpc_slice_from_copied_buffer(from->value.data, from->value.bytes);
    if (grpc_header_key_is_legal(to->key) != 0 && grpc_is_binary_header(to->key) == 0 &&
        grpc_header_nonbin_value_is_legal(to->value) != 0) {
        return true;
    }
    grpc_slice_unref(to->key);
    grpc_slice_unref(to->value);
    return false;
}

/* Whether @text begins with @prefix, which is then skipped. */
static bool skip(const char **text, const char *prefix)
{
    const size_t bytes = strlen(prefix);

    if (strncmp(*text, prefix, bytes) != 0) {
        return false;
    }
    *text += bytes;
    return true;
}

struct cpt_bytes cpti_grpc_address(const char *peer, char text[CPTI_GRPC_ADDRESS_BYTES])
{
    const char *end = NULL;
    size_t bytes = 0;

    if (skip(&peer, "ipv4:")) {
        end = strchr(peer, ':');
    } else if (skip(&peer, "ipv6:%5B")) {
        end = strstr(peer, "%5D:");
    } else if (skip(&peer, "ipv6:[")) {
        end = strstr(peer, "]:");
    }
    if (end == NULL || (size_t)(end - peer) >= CPTI_GRPC_ADDRESS_BYTES) {
        return (struct cpt_bytes){"", 0};
    }
    bytes = (size_t)(end - peer);
    memcpy(text, peer, bytes);
    text[bytes] = '\0';
    return (struct cpt_bytes){text, bytes};
}

struct cpt_bytes cpti_grpc_timeout(gpr_timespec deadline,
                                   char text[CPTI_GRPC_TIMEOUT_BYTES])
{
    const int64_t microsecond_count_max = INT64_C(1000000000000000); /* 31 years */
    gpr_timespec left;
    int64_t microseconds = 0;

    if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
        return (struct cpt_bytes){NULL, 0};
    }
    left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
    if (left.tv_sec > microsecond_count_max / 1000000) {
        return (struct cpt_bytes){NULL, 0};
    }
    microseconds =
        left.tv_sec < 0 ? 0 : left.tv_sec * INT64_C(1000000) + left.tv_nsec / 1000;
    (void)snprintf(text, CPTI_GRPC_TIMEOUT_BYTES, "%lld",
                   (long long)(microseconds > 0 ? microseconds : 1));
    return cpt_bytes_of(text);
}

bool cpti_grpc_read(grpc_byte_buffer *buffer, grpc_slice *slice)
{
    grpc_byte_buffer_reader reader;

    *slice = grpc_empty_slice();
    if (buffer == NULL) {
        return true;
    }
    if (grpc_byte_buffer_reader_init(&reader, buffer) == 0) {
        return false;
    }
    *slice = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    return true;
}

grpc_slice cpti_grpc_slice(struct cpt_bytes bytes, size_t bytes_max)
{
    return grpc_slice_from_copied_buffer(
        bytes.data, bytes.bytes < bytes_max ? bytes.bytes : bytes_max);
}

/* HealthCheckRequest has one field: 1, a string, shorter than 128 bytes for us. */
bool cpti_grpc_health_service(struct cpt_bytes message, struct cpt_bytes *service)
{
    const unsigned char *data = (const unsigned char *)message.data;

    *service = (struct cpt_bytes){"", 0};
    if (message.bytes == 0) {
        return true;
    }
    if (message.bytes < 2 || data[0] != 0x0a || data[1] > 127 ||
        data[1] != message.bytes - 2) {
        return false;
    }
    *service = (struct cpt_bytes){message.data + 2, message.bytes - 2};
    return true;
}
