/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * curl_library.h - libcurl, loaded when somebody first speaks to a database
 *
 * libcurl brings many libraries of its own, which take longer to load than the tool
 * takes to start without them, and hardly any run of it needs them.
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

/* The functions that we use, as members: curl->easy_init(). */
struct cpti_curl {
#define CPTI_CURL_MEMBER_(name) __typeof__(curl_##name) *name;
    CPTI_CURL_FUNCTIONS(CPTI_CURL_MEMBER_)
#undef CPTI_CURL_MEMBER_
};

/* libcurl, begun; NULL if it is not installed or lacks one of them. Loaded once and
 * kept till the process ends. Any thread. */
const struct cpti_curl *cpti_curl_library(void);

#endif
