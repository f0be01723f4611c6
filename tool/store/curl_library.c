/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* curl_library.c - libcurl, loaded when needed; see curl_library.h */
#include "tool/store/curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static pthread_once_t is_loaded = PTHREAD_ONCE_INIT;
static struct cpti_curl functions;
static bool is_complete;

/* Sets the function pointer at @place to @name. False if there is no such function. */
static bool find(void *library, const char *name, void *place)
{
    void *symbol = dlsym(library, name);

    memcpy(place, &symbol, sizeof symbol); /* ISO C has no cast for this */
    return symbol != NULL;
}

static void load(void)
{
    /* Debian has one with OpenSSL and one with GnuTLS; both work. */
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && library == NULL; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (library == NULL) {
        return;
    }
    is_complete = true;
#define CPTI_CURL_FIND_(name)                                                          \
    is_complete = find(library, "curl_" #name, &functions.name) && is_complete;
    CPTI_CURL_FUNCTIONS(CPTI_CURL_FIND_)
#undef CPTI_CURL_FIND_
    if (is_complete) {
        is_complete = functions.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    }
}

const struct cpti_curl *cpti_curl_library(void)
{
    (void)pthread_once(&is_loaded, load);
    return is_complete ? &functions : NULL;
}
