/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_case.h - one case: what is sent, what may be answered
 *
 *      group      kind    sent                            answered
 *      asks       ask     the values of the header        none | VERSION MAX FORCED
 *      paths …    path    the value of the header         refused | path …
 *      replies …  reply   budget, own time, replies       none | header VALUE
 *
 * Threads: one.
 */
#ifndef CPTI_CONFORM_CASE_H
#define CPTI_CONFORM_CASE_H

#include "cpt/cli/conform/conform.h"
#include "cpt/cpt_name.h"
#include "cpt/cpt_path.h"

#include <stdio.h>

/* X(name, word, what it is about). The rows of the result. */
#define CPTI_CONFORM_GROUP_MAP(X)                                                      \
    X(ASKS, "asks", "the header of a request")                                         \
    X(PATHS, "paths", "paths that must be read")                                       \
    X(REFUSED, "refused", "bytes that must be refused")                                \
    X(RANDOM, "random", "random paths")                                                \
    X(CHANGED, "changed", "paths with bytes changed at random")                        \
    X(REPLIES, "replies", "own time and callees' replies made into one path")          \
    X(FOLDED, "folded", "the same, folded to a budget")                                \
    X(HOSTILE, "hostile", "the same, with replies that are no paths")

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

/* A case. */
struct cpti_conform_case {
    enum cpti_conform_group group;
    char name[CPTI_CONFORM_NAME_BYTES];
    char *sent;       /* the line behind its number */
    char *wanted;     /* the answer, or of a reply the line of its path */
    char *wanted_too; /* another one that is right; or NULL */
    bool is_reply;    /* the answer is a header, whose path is compared */
    size_t bytes_max; /* of that header, before base64 */
    uint64_t sum_ns;  /* and what it must add up to */
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

/* Judges @answer, the line behind its number. */
void cpti_conform_judge(const struct cpti_conform_case *conform_case,
                        const char *answer, struct cpti_conform_verdict *verdict);

/* --- conform_text.c --- */

/* Writes @path as a line, without its end. @elapsed_ns NULL: not given. False: the line
 * would be too long. */
bool cpti_conform_put_path(FILE *out, const struct cpt_path *path,
                           const uint64_t *elapsed_ns);

/* Writes the stack of @frame, root first: 0:QTogLw;0:QTogQTE. */
void cpti_conform_put_stack(FILE *out, const struct cpt_path *path, uint32_t frame);

/* Writes @bytes at @data in base64; nothing if there are none. */
void cpti_conform_put_base64(FILE *out, const void *data, size_t bytes);

/* Decodes @bytes at @data and returns the line of the path, or "refused"; free() it.
 * NULL: there is no memory, or it has more than CPTI_CONFORM_LINE_BYTES. */
char *cpti_conform_line(const void *data, size_t bytes);

/* --- conform_cases.c, conform_hand.c, conform_reply.c --- */

/* A case of kind path with the value @value of the header; false: there is none. */
bool cpti_conform_path_case(struct cpti_conform_case *conform_case,
                            enum cpti_conform_group group, const char *name,
                            struct cpt_bytes value);

/* The same for the raw @bytes at @data. */
bool cpti_conform_bytes_case(struct cpti_conform_case *conform_case,
                             enum cpti_conform_group group, const char *name,
                             const void *data, size_t bytes);

struct cpti_conform_random;

/* A random case of kind reply, of the groups REPLIES, FOLDED or HOSTILE. */
bool cpti_conform_reply_case(struct cpti_conform_case *conform_case,
                             enum cpti_conform_group group, const char *name,
                             struct cpti_conform_random *random);

/* Gives the cases written by hand to @take, until it says false. */
bool cpti_conform_hand(cpti_conform_take *take, void *context);

/* Gives every case to @take, until it says false. enum cpti_exit. */
int cpti_conform_cases(const struct cpti_conform_options *options,
                       cpti_conform_take *take, void *context);

#endif
