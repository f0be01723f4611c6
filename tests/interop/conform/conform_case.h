/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_case.h - one case: what is sent, what may be answered
 *
 *      group      kind    sent                            answered
 *      asks       ask     the values of the header        none | VERSION MAX FORCED …
 *      nonces     nonce   the values of the header        none | 16 hex digits
 *      onward     onward  own limit, values of the ask    none | header VALUE
 *      paths …    path    the value of the header         refused | path …
 *      replies …  reply   budget, nonce, time, replies    none | header VALUE
 *      proxies    proxy   the name of a header            yes | no
 *
 * Threads: one.
 */
#ifndef CPTI_CONFORM_CASE_H
#define CPTI_CONFORM_CASE_H

#include "tests/interop/conform/conform.h"
#include "cpt/cpt_name.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_metadata.h"

#include <stdio.h>

/* X(name, word, what it is about). The rows of the result. The order is part of the
 * seeds of random cases: new groups stand at the end. */
#define CPTI_CONFORM_GROUP_MAP(X)                                                      \
    X(ASKS, "asks", "the header of a request")                                         \
    X(PATHS, "paths", "paths that must be read")                                       \
    X(REFUSED, "refused", "bytes that must be refused")                                \
    X(RANDOM, "random", "random paths")                                                \
    X(CHANGED, "changed", "paths with bytes changed at random")                        \
    X(REPLIES, "replies", "own time and callees' replies made into one path")          \
    X(FOLDED, "folded", "the same, folded to a budget")                                \
    X(HOSTILE, "hostile", "the same, with replies that are no paths")                  \
    X(PROXIES, "proxies", "headers that say that a request was sent on")               \
    X(NONCES, "nonces", "the header that tells asks apart")                            \
    X(ONWARD, "onward", "what a service asks of its callees")                          \
    X(DRAGS, "drags", "paths with drags, also above their segments")                   \
    X(STALE, "stale", "own time and replies, some of them to another ask")

enum cpti_conform_group {
#define CPTI_CONFORM_ENUM_(name, word, about) CPTI_CONFORM_##name,
    CPTI_CONFORM_GROUP_MAP(CPTI_CONFORM_ENUM_)
#undef CPTI_CONFORM_ENUM_
        CPTI_CONFORM_GROUP_COUNT
};

enum {
    CPTI_CONFORM_NAME_BYTES = 96,
    CPTI_CONFORM_DETAIL_BYTES = 240,
    CPTI_CONFORM_LINE_BYTES = 1 << 20 /* longest line either way */
};

/* What an answer is compared as. */
enum cpti_conform_answer {
    CPTI_ANSWER_TEXT, /* as it is */
    CPTI_ANSWER_PATH, /* a header with a path */
    CPTI_ANSWER_ASK   /* a header with an ask */
};

/* A case. */
struct cpti_conform_case {
    enum cpti_conform_group group;
    char name[CPTI_CONFORM_NAME_BYTES];
    char *sent;       /* the line behind its number */
    char *wanted;     /* the answer, or of a header with a path its line */
    char *wanted_too; /* another one that is right; or NULL */
    enum cpti_conform_answer answer;
    size_t bytes_max;   /* of a header with a path, before base64 */
    uint64_t sum_ns;    /* and what it must add up to */
    struct cpt_ask ask; /* what a header with an ask must mean */
};

/* The verdict on one answer. */
struct cpti_conform_verdict {
    bool is_right;
    char detail[CPTI_CONFORM_DETAIL_BYTES]; /* why not; printable */
};

/* Takes a case, which it may free, and goes on or not. */
typedef bool cpti_conform_take(void *context, struct cpti_conform_case *conform_case);

/* Frees its texts. */
void cpti_conform_case_deinit(struct cpti_conform_case *conform_case);

/* Gives a case to @take if it was made; one that could not be made is left out. False:
 * no more. */
bool cpti_conform_give(cpti_conform_take *take, void *context, bool is_made,
                       struct cpti_conform_case *conform_case);

/* Judges @answer, the line behind its number. */
void cpti_conform_judge(const struct cpti_conform_case *conform_case,
                        const char *answer, struct cpti_conform_verdict *verdict);

/* --- conform_text.c --- */

/* Writes @nonce as 16 hex digits, or "-" for 0. */
void cpti_conform_put_nonce(FILE *out, uint64_t nonce);

/* Writes the words of @values in base64, an empty one as "-", a space before each. */
void cpti_conform_put_values(FILE *out, const struct cpt_bytes *values, size_t count);

/* Writes @bytes at @data in base64; nothing if there are none. */
void cpti_conform_put_base64(FILE *out, const void *data, size_t bytes);

/* Reads hexadecimal @digits into @data; the bytes, at most @capacity. */
size_t cpti_conform_digits(const char *digits, unsigned char *data, size_t capacity);

/* Decodes @bytes at @data and returns the line of the path, or "refused"; free() it.
 * NULL: there is no memory, or it has more than CPTI_CONFORM_LINE_BYTES. */
char *cpti_conform_line(const void *data, size_t bytes);

/* --- conform_asks.c, conform_cases.c, conform_hand.c, conform_proxies.c,
 * conform_reply.c --- */

/* A case of kind path with the value @value of the header; false: there is none. */
bool cpti_conform_path_case(struct cpti_conform_case *conform_case,
                            enum cpti_conform_group group, const char *name,
                            struct cpt_bytes value);

/* The same for the raw @bytes at @data. */
bool cpti_conform_bytes_case(struct cpti_conform_case *conform_case,
                             enum cpti_conform_group group, const char *name,
                             const void *data, size_t bytes);

struct cpti_conform_random;

/* A random case of kind reply, of the groups REPLIES, FOLDED, HOSTILE or STALE. */
bool cpti_conform_reply_case(struct cpti_conform_case *conform_case,
                             enum cpti_conform_group group, const char *name,
                             struct cpti_conform_random *random);

/* A random case of kind onward. */
bool cpti_conform_onward_case(struct cpti_conform_case *conform_case, const char *name,
                              struct cpti_conform_random *random);

/* Gives the cases of paths written by hand to @take, until it says false. */
bool cpti_conform_hand(cpti_conform_take *take, void *context);

/* The same of calls of a service. */
bool cpti_conform_calls(cpti_conform_take *take, void *context);

/* The same of asks and nonces. */
bool cpti_conform_asks(cpti_conform_take *take, void *context);

/* The same of those made of wire/forwarding-headers.txt. */
bool cpti_conform_proxies(cpti_conform_take *take, void *context);

/* Gives every case to @take, until it says false. enum cpti_exit. */
int cpti_conform_cases(const struct cpti_conform_options *options,
                       cpti_conform_take *take, void *context);

#endif
