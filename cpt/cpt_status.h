/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_status.h - how a function reports a failure
 *
 * A function that can fail returns a cpt_status: 0, or one of a few codes, one for each
 * thing that a caller may do differently. The rest is wording. A function that reads
 * input from outside also takes a struct cpt_error, into which it writes where and why:
 *
 *      struct cpt_error error = {0};
 *      if (cpt_metadata_decode(bytes, byte_count, NULL, path, &error) != CPT_OK) {
 *          fprintf(stderr, "at byte %llu: %s\n", error.offset, error.sentence);
 *      }
 *
 * The first error stays: a consequence cannot hide its cause. On success nothing is
 * written. After an error all objects are as before the call, unless the function's own
 * comment says otherwise.
 *
 * Mistakes of the caller (a null pointer where none is allowed, an index out of
 * range) are asserts, not codes. Mistakes of the input are codes, never asserts.
 *
 * Threads: any, on objects of their own.
 */
#ifndef CPT_STATUS_H
#define CPT_STATUS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define CPT_BEGIN_DECLS extern "C" {
#define CPT_END_DECLS   }
#else
#define CPT_BEGIN_DECLS
#define CPT_END_DECLS
#endif

#if defined(__GNUC__)
#define CPT_API                 __attribute__((visibility("default")))
#define CPT_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#define CPT_NODISCARD           __attribute__((warn_unused_result))
#define CPT_UNUSED              __attribute__((unused))
#else
#define CPT_API
#define CPT_PRINTF(text, first)
#define CPT_NODISCARD
#define CPT_UNUSED
#endif

CPT_BEGIN_DECLS

/* X(name, value, sentence fragment). Values are stable: never renumber. */
#define CPT_STATUS_MAP(X)                                                              \
    X(OK, 0, "no error")                                                               \
    X(WAITING, 1, "the task continues when its wait is over")                          \
    X(NO_MEMORY, -1, "out of memory")                                                  \
    X(LIMIT, -2, "a configured limit was reached")                                     \
    X(TRUNCATED, -3, "the input ends in the middle of a record")                       \
    X(CORRUPT, -4, "the input breaks the format")                                      \
    X(VERSION, -5, "the input is of a newer format")                                   \
    X(IO, -6, "the operating system reported an error")                                \
    X(CANCELLED, -7, "the request was cancelled")                                      \
    X(TIMEOUT, -8, "the deadline passed")                                              \
    X(FAILED, -9, "a task or a callee failed")                                         \
    X(INVALID, -10, "what was declared contradicts itself")                            \
    X(UNAVAILABLE, -11, "the callee could not be reached")                             \
    X(END, -12, "there is no more input")                                              \
    X(REFUSED, -13, "a task refused the request")

enum {
#define CPT_STATUS_ENUM_(name, value, sentence) CPT_##name = (value),
    CPT_STATUS_MAP(CPT_STATUS_ENUM_)
#undef CPT_STATUS_ENUM_
};

/* CPT_OK, CPT_WAITING, or one of the negative codes above. */
typedef int cpt_status;

/* "CPT_OK", "CPT_LIMIT" …; "CPT_?" for an unknown number. Static memory. */
CPT_API const char *cpt_status_name(cpt_status status);

/* The sentence fragment of @status. Static memory. */
CPT_API const char *cpt_status_sentence(cpt_status status);

enum { CPT_ERROR_SENTENCE_BYTES = 240 };

/* Where and why. All zero means: no error yet. */
struct cpt_error {
    cpt_status status; /* CPT_OK while there is none */
    uint64_t offset;   /* byte of the input where it was found; 0 without input */
    char sentence[CPT_ERROR_SENTENCE_BYTES]; /* lower case, no full stop; cut if long */
};

/*
 * Writes the first error to @error, which may be NULL; a later one changes nothing.
 * Returns @status, so that `return cpt_error_set(...)` is one line.
 */
CPT_API cpt_status cpt_error_set(struct cpt_error *error, cpt_status status,
                                 uint64_t offset, const char *format, ...)
    CPT_PRINTF(4, 5);

/* The same with the arguments in a va_list. */
CPT_API cpt_status cpt_error_set_v(struct cpt_error *error, cpt_status status,
                                   uint64_t offset, const char *format,
                                   va_list arguments) CPT_PRINTF(4, 0);

/*
 * Zeroes the options struct @own and copies the caller's struct @given into it, up to
 * the shorter of the caller's size and the size that this library knows: every options
 * struct begins with `size_t struct_bytes`, which the caller sets to sizeof. NULL means
 * all defaults.
 *
 * CPT_INVALID if @given says 0 bytes.
 */
CPT_API cpt_status cpt_options_read(void *own, size_t own_bytes, const void *given,
                                    struct cpt_error *error);

CPT_END_DECLS

#endif
