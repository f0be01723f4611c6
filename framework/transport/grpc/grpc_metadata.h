/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_metadata.h - what metadata, addresses, deadlines and messages of gRPC say */
#ifndef CPT_GRPC_METADATA_H
#define CPT_GRPC_METADATA_H

#include "cpt/cpt_name.h"
#include "framework/cpt_rpc.h"

#include <grpc/grpc.h>

#include <stdbool.h>

enum { CPTI_GRPC_ADDRESS_BYTES = 64, CPTI_GRPC_TIMEOUT_BYTES = 24 };

struct cpt_bytes cpti_grpc_bytes(const grpc_slice *slice);

/* The first @name of @metadata; returns how many there are. */
unsigned cpti_grpc_find(const grpc_metadata_array *metadata, const char *name,
                        struct cpt_bytes *value);

/* Whether there is a field that proxies add. */
bool cpti_grpc_is_forwarded(const grpc_metadata_array *metadata);

/* The fields in ASCII, the first CPT_HEADERS_MAX of them to @headers. Returns how many
 * there are. */
size_t cpti_grpc_headers(const grpc_metadata_array *metadata,
                         struct cpt_field headers[CPT_HEADERS_MAX]);

/* Makes a field of gRPC of @from, in ASCII and lower case; the caller frees its slices.
 * false: gRPC has it not or keeps it for itself. */
bool cpti_grpc_field_make(const struct cpt_field *from, grpc_metadata *to);

/* The numeric address of "ipv4:127.0.0.1:80" and "ipv6:%5B::1%5D:80", which is what
 * gRPC calls a peer; else empty. */
struct cpt_bytes cpti_grpc_address(const char *peer,
                                   char text[CPTI_GRPC_ADDRESS_BYTES]);

/* What is left until @deadline, as CPT_HEADER_TIMEOUT says it; data NULL: no end. */
struct cpt_bytes cpti_grpc_timeout(gpr_timespec deadline,
                                   char text[CPTI_GRPC_TIMEOUT_BYTES]);

/* All bytes of @buffer, which may be NULL, in one slice, which is the caller's. false:
 * it cannot be read. */
bool cpti_grpc_read(grpc_byte_buffer *buffer, grpc_slice *slice);

/* A slice with a copy of @bytes, at most @bytes_max of them. */
grpc_slice cpti_grpc_slice(struct cpt_bytes bytes, size_t bytes_max);

/* The service that a HealthCheckRequest names, empty if none; false: malformed. */
bool cpti_grpc_health_service(struct cpt_bytes message, struct cpt_bytes *service);

#endif
