/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* status.c - codes, their sentences, and the first error; see cpt_status.h */
#include "cpt/cpt_status.h"

#include <stdio.h>
#include <string.h>

const char *cpt_status_name(cpt_status status)
{
    switch (status) {
#define CASE(name, value, sentence)                                                    \
    case value:                                                                        \
        return "CPT_" #name;
        CPT_STATUS_MAP(CASE)
#undef CASE
    default:
        return "CPT_?";
    }
}

const char *cpt_status_sentence(cpt_status status)
{
    switch (status) {
#define CASE(name, value, sentence)                                                    \
    case value:                                                                        \
        return sentence;
        CPT_STATUS_MAP(CASE)
#undef CASE
    default:
        return "unknown status";
    }
}

cpt_status cpt_error_set_v(struct cpt_error *error, cpt_status status, uint64_t offset,
                           const char *format, va_list arguments)
{
    if (error != NULL && error->status == CPT_OK) {
        error->status = status;
        error->offset = offset;
        /* clang-tidy 14 forgets va_start() when it has read another file before:
         * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
        (void)vsnprintf(error->sentence, sizeof error->sentence, format, arguments);
    }
    return status;
}

cpt_status cpt_error_set(struct cpt_error *error, cpt_status status, uint64_t offset,
                         const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)cpt_error_set_v(error, status, offset, format, arguments);
    va_end(arguments);
    return status;
}

cpt_status cpt_options_read(void *own, size_t own_bytes, const void *given,
                            struct cpt_error *error)
{
    size_t given_bytes = 0;

    memset(own, 0, own_bytes);
    if (given == NULL) {
        return CPT_OK;
    }
    memcpy(&given_bytes, given, sizeof given_bytes);
    if (given_bytes < sizeof given_bytes) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "struct_bytes of the options is %zu; set it to sizeof",
                             given_bytes);
    }
    memcpy(own, given, given_bytes < own_bytes ? given_bytes : own_bytes);
    return CPT_OK;
}
