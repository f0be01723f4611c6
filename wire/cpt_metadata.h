/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_metadata.h - how a caller asks a service for its critical path, and the answer
 *
 * Three headers of an RPC, over HTTP or gRPC:
 *
 *      caller --- critical-path: 1;max=2048 ------------------------> callee
 *                 critical-path-nonce: 3b9aca00c0ffee11
 *      caller <-- critical-path-bin: CAEQwLECGMCxAi… (base64) ------- callee
 *
 * The first, the *ask*, says that the caller wants a path, and how many bytes it may
 * have: if a header is too long for a proxy, the user gets no response, and only the
 * caller knows the proxies on the way. Each hop passes on min(own, received). A service
 * that is not asked sends nothing.
 *
 * The second, the *nonce*, tells this ask from every other. The callee writes it into
 * its path: a path with another nonce was made for another request, and comes from a
 * cache between the two. It is no part of the ask, so that caches which tell requests
 * apart by `critical-path` (`Vary`) still serve them.
 *
 * The third is the path itself: durations, never timestamps, each name once, a tree of
 * frames and a list of segments (schema: metadata.proto; long form:
 * docs/format-metadata.md). It also carries the time that the callee took by its own
 * clock. A path that exceeds the budget is *folded*, never refused and never cut: the
 * smallest parts are merged into their parents, and the sum stays the same.
 *
 * A path from a callee is input: it is bounded, checked, and refused with a place and a
 * reason. A refused path becomes a blind spot, never a failed request.
 *
 * In order of use. A callee: cpt_ask_parse, cpt_nonce_parse, cpt_metadata_encode,
 * cpt_base64_encode. A caller: cpt_ask_downstream, cpt_ask_format, cpt_nonce_format,
 * cpt_base64_decode, cpt_metadata_peek, and cpt_metadata_decode only for calls that are
 * on the critical path.
 *
 * Threads: any, on objects of their own.
 */
#ifndef CPT_METADATA_H
#define CPT_METADATA_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"
#include "cpt/cpt_path.h"

CPT_BEGIN_DECLS

/* Names of the three headers, in lower case. */
#define CPT_HEADER_ASK   "critical-path"
#define CPT_HEADER_NONCE "critical-path-nonce"
#define CPT_HEADER_PATH  "critical-path-bin"

enum {
    CPT_METADATA_VERSION = 1, /* the newest version of the ask and of the path */
    /* Bytes of a path before base64. The default fits, with other headers, into the 4
     * KiB that the smallest common proxy has for all headers; the ceiling into 8
     * KiB. */
    CPT_METADATA_BYTES_DEFAULT = 2048,
    CPT_METADATA_BYTES_CEILING = 4096,
    CPT_ASK_BYTES_MAX = 1024, /* longest ask that is read */
    CPT_NONCE_BYTES = 16      /* of the header's value */
};

/* --- The ask --- */

/* What a caller asks for. version 0: it did not ask. */
struct cpt_ask {
    unsigned version; /* the newest version of a path that it reads */
    int is_forced;    /* a person asked to trace this one request */
    size_t bytes_max; /* most bytes of the path, before base64 */
    int has_max;      /* the header says bytes_max, as that of a service always does */
    /* An experiment of the entry: before tasks whose frame has this number the callee
     * is to wait, or to compute, this long. It obeys only if its own operator lets
     * it. delay_ns 0: there is none. */
    uint64_t delay_frame;
    uint64_t delay_ns;
    int delay_burns;
    int wants_drag; /* the segments shall carry their drags */
    /* The callee shall keep the graph of this request under this random id; 0: not. */
    uint64_t graph_id;
};

/*
 * Reads the ask from all values of the header `critical-path` of a request: an item
 * with parameters of RFC 8941, as `1;max=2048;forced` or just `1`, or
 * `1;max=2048;drag;graph="9f86d081884c7d65"`. Without max the budget is
 * CPT_METADATA_BYTES_DEFAULT; unknown parameters are skipped. So are `drag` that is no
 * Boolean, `graph` that is not a string of 16 lower-case hex digits, or 0, and
 * `delay=5000000;at="9f86d081884c7d65";burn`, if one of them is not as here.
 *
 * CPT_OK; CPT_END if @value_count is 0; CPT_CORRUPT if the value is malformed or there
 * are several: this counts as not asked, and the caller should count it. Unless CPT_OK,
 * *@ask is all 0.
 */
CPT_API cpt_status cpt_ask_parse(const struct cpt_bytes *values, size_t value_count,
                                 struct cpt_ask *ask, struct cpt_error *error);

/*
 * The ask for the callees of a request that came with @received (NULL: without an ask;
 * it is traced locally): the lower of both budgets, the delay as it is, drags if they
 * were asked for, and never forced, because forcing ends at the entry. Its graph_id is
 * 0: each call has an id of its own. @own_bytes_max 0: the default.
 */
CPT_API struct cpt_ask cpt_ask_downstream(const struct cpt_ask *received,
                                          size_t own_bytes_max);

/* Writes the value of the header like snprintf(). 64 bytes are always enough; 128 if it
 * has a delay. */
CPT_API size_t cpt_ask_format(const struct cpt_ask *ask, char *text, size_t capacity);

/*
 * Whether a header of this name says that its sender has sent the request on: `Via`,
 * `X-Forwarded-For`, `X-Real-IP` and all that end as such names do (the list is
 * wire/forwarding-headers.txt). Then a stranger may stand behind it, and a service that
 * must not show strangers its paths does not heed the ask.
 */
CPT_API int cpt_header_is_forwarding(struct cpt_bytes name);

/* --- The nonce --- */

/*
 * Reads the nonce from all values of the header `critical-path-nonce` of a request that
 * asks for a path: exactly 16 lower-case hex digits, not all 0. Returns it; 0, which
 * means none, if there is no value, or several, or a malformed one.
 */
CPT_API uint64_t cpt_nonce_parse(const struct cpt_bytes *values, size_t value_count);

/* Writes the value of the header for @nonce, which is not 0: it is random, and new for
 * each attempt of a call that asks for a path. */
CPT_API void cpt_nonce_format(uint64_t nonce, char text[CPT_NONCE_BYTES + 1]);

/* --- The path as bytes --- */

/* How a path is encoded. Zero fields mean their defaults; see cpt_options_read(). */
struct cpt_metadata_encode_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc; /* for the result and scratch memory */
    uint64_t server_elapsed_ns; /* from arrival to answer by the callee's own clock */
    int has_server_elapsed;     /* whether to send it */
    int is_unlimited;           /* no budget: for the path log */
    size_t bytes_max;  /* of the whole result; default CPT_METADATA_BYTES_DEFAULT */
    int without_drags; /* leave them out, as they were not asked for */
    uint64_t nonce;    /* that of the ask, in a path of any size; 0: none */
};

/* How far a path was cut down to fit its budget; each step implies those before it. */
enum cpt_metadata_fit {
    CPT_FIT_WHOLE = 0,  /* not at all */
    CPT_FIT_NEIGHBOURS, /* neighbours with the same stack were merged */
    CPT_FIT_UNLABELLED, /* and the labels were dropped */
    CPT_FIT_UNORDERED,  /* and all segments of one stack were merged */
    CPT_FIT_FOLDED,     /* and the smallest leaves were folded into their parents */
    CPT_FIT_SUM         /* only the sum is left: a blind spot with reason size */
};

/*
 * Encodes @path into a new block of memory, at most bytes_max long, which the caller
 * owns and frees by cpt_alloc_free(). The same path and budget give the same bytes on
 * every machine. Frames that no segment lies in or below are left out. @fit, which may
 * be NULL, gets an enum cpt_metadata_fit.
 *
 * CPT_OK; CPT_LIMIT if not even the sum fits: send no header; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_metadata_encode(
    const struct cpt_path *path, const struct cpt_metadata_encode_options *options,
    unsigned char **data, size_t *bytes, int *fit);

/*
 * The same into memory of the caller: the path is cut down to @capacity bytes, too. A
 * usual path that fits is written without an allocation.
 */
CPT_API cpt_status cpt_metadata_write(const struct cpt_path *path,
                                      const struct cpt_metadata_encode_options *options,
                                      void *data, size_t capacity, size_t *bytes,
                                      int *fit);

/* Default limits of cpt_metadata_decode(). */
enum {
    CPT_METADATA_READ_BYTES_MAX = 1 << 16,
    CPT_METADATA_SEGMENTS_MAX = 65535,
    CPT_METADATA_FRAMES_MAX = 65535,
    CPT_METADATA_LABELS_MAX = 65535,
    CPT_METADATA_DEPTH_MAX = CPT_PATH_DEPTH_MAX,
    CPT_METADATA_NAME_BYTES_MAX = 1 << 16 /* of all names together */
};

/* What a decoder allows. Zero fields mean their defaults; see cpt_options_read(). */
struct cpt_metadata_decode_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc; /* for scratch memory */
    size_t bytes_max;              /* whole message; a caller sets what it asked for */
    size_t segments_max;
    size_t frames_max;
    size_t labels_max;
    size_t depth_max;      /* frames of one stack */
    size_t name_bytes_max; /* all names together; each has CPT_NAME_BYTES_MAX */
    /* Unless NULL, how many drags were above their segments is added here: they are cut
     * to the duration, as no such drag can be. */
    uint64_t *clamped_drags;
};

/*
 * Decodes @bytes at @data into @path, which is empty, and checks it (cpt_path_check()).
 * Unknown fields and labels are skipped, unknown kinds and reasons kept as numbers. A
 * message that was cut down to its sum gives one segment: a blind spot without a name,
 * reason CPT_REASON_SIZE. Memory grows with the bytes at @data, never with a length
 * that they claim.
 *
 * CPT_OK; CPT_CORRUPT; CPT_VERSION; CPT_LIMIT; CPT_NO_MEMORY; place and reason are in
 * @error. After an error @path is empty.
 */
CPT_API cpt_status cpt_metadata_decode(
    const void *data, size_t bytes, const struct cpt_metadata_decode_options *options,
    struct cpt_path *path, struct cpt_error *error);

/* The fields beside the path. */
struct cpt_metadata_summary {
    unsigned version;
    unsigned path_flags;        /* CPT_PATH_… */
    uint64_t sum_ns;            /* what the segments add up to */
    uint64_t server_elapsed_ns; /* 0 if absent */
    int has_server_elapsed;
    int is_sum_only; /* the path did not fit its budget */
    /* That of the ask which the path answers; 0: none, as from an older callee. A
     * caller that sent another one does not believe anything else here. */
    uint64_t nonce;
};

/*
 * Reads only these fields, without allocation and without reading the segments: for a
 * caller that needs the callee's time but not its path.
 *
 * CPT_OK; CPT_CORRUPT; CPT_VERSION. After an error *@summary is all 0.
 */
CPT_API cpt_status cpt_metadata_peek(const void *data, size_t bytes,
                                     struct cpt_metadata_summary *summary,
                                     struct cpt_error *error);

/* --- Base64, as in headers of HTTP and gRPC that end in -bin --- */

/* The characters for @bytes bytes, without padding and without the NUL. */
#define CPT_BASE64_BYTES(bytes) (((bytes)*4 + 2) / 3)

/*
 * Encodes @bytes at @data in the standard alphabet, without padding, like snprintf():
 * at most @capacity bytes with the terminating NUL; returns CPT_BASE64_BYTES(@bytes).
 * If that does not fit, @text is empty.
 */
CPT_API size_t cpt_base64_encode(const void *data, size_t bytes, char *text,
                                 size_t capacity);

/*
 * Decodes @text, with or without padding. Any other character in @text is refused, and
 * so are bits behind the last byte. *@bytes is the count of bytes written to @data.
 *
 * CPT_OK; CPT_CORRUPT; CPT_LIMIT if the result has more than @capacity bytes.
 */
CPT_API cpt_status cpt_base64_decode(struct cpt_bytes text, void *data, size_t capacity,
                                     size_t *bytes, struct cpt_error *error);

/* --- How much room the other headers leave --- */

/*
 * A client and each proxy on the way limit the bytes of *all* headers of a reply, and a
 * reply beyond fails. So a path has what the others leave of such a limit: of the head
 * over HTTP, of the trailers over gRPC.
 */
enum {
    CPT_HEADERS_BYTES_HTTP = 4096, /* all that nginx takes of a head, at its defaults */
    CPT_HEADERS_BYTES_GRPC = 8192, /* all that clients of gRPC take of a block */
    /* Of these, for what servers and proxies on the way add: `Date`, `Server`, … */
    CPT_HEADERS_BYTES_RESERVED = 512,
    /* Proxies limit how many headers there are, too: Varnish takes 54 of a service. So
     * a head with a path has at most one for each 88 bytes of the limit: 46. */
    CPT_HEADERS_BYTES_EACH = 88,
    /* All that servers on grpc++, and many of HTTP, take of a request's headers. … */
    CPT_HEADERS_BYTES_REQUEST = 8192,
    CPT_HEADERS_BYTES_LIBRARY = 512, /* … for what a client's library adds by itself */
    CPT_HEADERS_BYTES_ASK = 256 /* … for an ask and its nonce, with their names */
};

/*
 * The most bytes that a path may have, raw, beside @headers_bytes of other headers
 * where all together may have @headers_bytes_max. Count them last, when the head is
 * about to be sent. Over HTTP they are the status line, "name: value\r\n" of each, the
 * empty line, and the target of the request, which nginx keeps in the same memory if it
 * caches; over gRPC the name, the value and 32 more of each, with what gRPC
 * adds: `grpc-status` and `grpc-message`. The names of `critical-path-bin` and of
 * `Vary` are counted here. @is_base64: the value is sent so, as by HTTP and most of
 * gRPC.
 *
 * 0: there is no room; send neither a path nor its `Vary`. Else the path has this, the
 * bytes_max of the ask, or those of the service, whichever is the least.
 */
CPT_API size_t cpt_path_bytes_left(size_t headers_bytes_max, size_t headers_bytes,
                                   int is_base64);

/*
 * Whether a request with @header_count other headers of @headers_bytes has room for an
 * ask and its nonce: with them, what the library adds and CPT_HEADERS_BYTES_RESERVED
 * for proxies it has at most CPT_HEADERS_BYTES_REQUEST; and it has no more headers than
 * a head with a path. Count the name, the value and 32 more of each header that goes
 * out, as HTTP/2 does, and the target of the request.
 *
 * 0: send neither: the callee might refuse the request for them. Its call is a blind
 * spot, CPT_REASON_LIMIT.
 */
CPT_API int cpt_ask_has_room(size_t headers_bytes, size_t header_count);

/* --- The headers of other tracers, to find a record's request in their traces --- */

#define CPT_HEADER_TRACEPARENT "traceparent"
#define CPT_HEADER_TRACESTATE  "tracestate"

enum { CPT_TRACE_FLAG_SAMPLED = 1, CPT_TRACE_FLAG_RANDOM = 2 };

enum {
    CPT_TRACEPARENT_BYTES = 55,
    CPT_TRACESTATE_BYTES_MAX = 512, /* that are passed on */
    CPT_TRACESTATE_MEMBERS_MAX = 32
};

/* The request's ids by W3C Trace Context. Those that came are recorded and never
 * altered. */
struct cpt_traceparent {
    unsigned char trace_id[16];
    unsigned char parent_id[8]; /* the caller's span */
    unsigned char flags;        /* CPT_TRACE_FLAG_… */
};

/*
 * Reads the value of `traceparent`; versions above 00 by the rules of 00.
 *
 * CPT_OK; CPT_CORRUPT, and *@parent is all 0.
 */
CPT_API cpt_status cpt_traceparent_parse(struct cpt_bytes value,
                                         struct cpt_traceparent *parent);

/* Writes the value of version 00, CPT_TRACEPARENT_BYTES long. */
CPT_API void cpt_traceparent_format(const struct cpt_traceparent *parent,
                                    char text[CPT_TRACEPARENT_BYTES + 1]);

/*
 * Joins all values of the header `tracestate` of a request to one, *@bytes long, as it
 * is passed on: at most CPT_TRACESTATE_BYTES_MAX. Of a longer one members of more than
 * 128 bytes are left out first, then the last ones, by its standard. A single value
 * that fits stays as it is.
 *
 * CPT_OK; CPT_CORRUPT if a member is malformed or there are more than
 * CPT_TRACESTATE_MEMBERS_MAX: then *@bytes is 0, and nothing should be passed on.
 */
CPT_API cpt_status cpt_tracestate_join(const struct cpt_bytes *values,
                                       size_t value_count,
                                       char text[CPT_TRACESTATE_BYTES_MAX + 1],
                                       size_t *bytes);

/*
 * What OpenTelemetry says of sampling, in the member `ot` of tracestate:
 *
 *      ot=th:fd70a4;rv:9b8233f7e3a151
 *
 * Each request has a randomness R of 56 bits, each decision a threshold T: it keeps the
 * request if R >= T, which has the probability 1 - T / 2^56. All who use the same R
 * keep the same requests, or a part of them.
 */
#define CPT_SAMPLING_RANGE (UINT64_C(1) << 56)

struct cpt_consistent {
    int has_randomness;  /* `rv` */
    uint64_t randomness; /* R, else 0 */
    int has_threshold;   /* `th`: of the decision before; none if it is not known */
    uint64_t threshold;  /* T, else 0 */
};

/* Reads it from @tracestate. What is not there or malformed is as if absent. */
CPT_API void cpt_consistent_parse(struct cpt_bytes tracestate,
                                  struct cpt_consistent *consistent);

/*
 * Writes @tracestate with the member `ot` that says @consistent, and what it said
 * beside, in front; without either it is left out. @tracestate is one that
 * cpt_tracestate_join() has made. Returns the bytes; what does not fit is left out at
 * the end.
 */
CPT_API size_t cpt_consistent_format(struct cpt_bytes tracestate,
                                     const struct cpt_consistent *consistent,
                                     char text[CPT_TRACESTATE_BYTES_MAX + 1]);

/* T of @probability, which is above 0; and the probability of T. */
CPT_API uint64_t cpt_sampling_threshold(double probability);
CPT_API double cpt_sampling_probability(uint64_t threshold);

CPT_END_DECLS

#endif
