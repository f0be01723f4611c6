/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* get_options.c - the options of commands that ask services */
#include "tool/live/get_options.h"

#include "tool/base/output.h"

#include <stdio.h>
#include <string.h>

enum { TIMEOUT_MS = 3000, PREFIX_BYTES_MAX = 200 };

const struct cpti_option cpti_get_options[] = {
    {"prefix", 0, "PATH",
     "where services have their counters (counters_prefix); default: /cpt"},
    {"ca", 0, "FILE",
     "who signs the certificates of services that are asked by https, in PEM; default: "
     "the system's"},
    {"cert", 0, "FILE", "our own certificate, for services that want one"},
    {"key", 0, "FILE", "its key; default: in the file of --cert"},
    {0},
};

int cpti_get_read(const struct cpti_arguments *arguments, const char *what,
                  struct cpti_get *get, char path[CPTI_GET_PATH_BYTES])
{
    const char *prefix = cpti_value(arguments, "prefix");

    if (prefix != NULL && (prefix[0] != '/' || strlen(prefix) > PREFIX_BYTES_MAX ||
                           strpbrk(prefix, " \r\n\t") != NULL)) {
        return cpti_usage("'%s' is no path, as /cpt", cpti_quoted(prefix));
    }
    if (cpti_has(arguments, "key") && !cpti_has(arguments, "cert")) {
        return cpti_usage("option '--key' needs --cert");
    }
    (void)snprintf(path, CPTI_GET_PATH_BYTES, "%s/%s", prefix != NULL ? prefix : "/cpt",
                   what);
    *get = (struct cpti_get){.path = path,
                             .timeout_ms = TIMEOUT_MS,
                             .ca_file = cpti_value(arguments, "ca"),
                             .certificate_file = cpti_value(arguments, "cert"),
                             .key_file = cpti_value(arguments, "key")};
    return CPTI_EXIT_DONE;
}
