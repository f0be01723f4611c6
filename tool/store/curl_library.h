/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * curl_library.h - libcurl, loaded when the tool first connects to a database
 *
 * libcurl depends on many libraries. Loading them takes longer than the start of the
 * tool, and most runs do not need them.
 */
#ifndef CPTI_STORE_CURL_LIBRARY_H
#define CPTI_STORE_CURL_LIBRARY_H

#include <curl/curl.h>

/* X(NAME): curl_NAME(). */
#define CPTI_CURL_FUNCTIONS(X)                                                         \
    X(easy_cleanup)                                                                    \
    X(easy_escape)                                                                     \
    X(easy_getinfo)                                                                    \
    X(easy_init)                                                                       \
    X(easy_perform)                                                                    \
    X(easy_reset)                                                                      \
    X(easy_setopt)                                                                     \
    X(easy_strerror)                                                                   \
    X(free)                                                                            \
    X(global_init)                                                                     \
    X(mime_addpart)                                                                    \
    X(mime_data)                                                                       \
    X(mime_filename)                                                                   \
    X(mime_free)                                                                       \
    X(mime_init)                                                                       \
    X(mime_name)                                                                       \
    X(slist_append)                                                                    \
    X(slist_free_all)

/* The functions in use, as members: curl->easy_init(). */
struct cpti_curl {
#define CPTI_CURL_MEMBER_(name) __typeof__(curl_##name) *name;
    CPTI_CURL_FUNCTIONS(CPTI_CURL_MEMBER_)
#undef CPTI_CURL_MEMBER_
};

/* Loads and initializes libcurl, once; it stays until the process ends. NULL if it is
 * not installed or lacks a function. Threads: any. */
const struct cpti_curl *cpti_curl_library(void);

#endif
