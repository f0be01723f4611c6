/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* place_tls_absent.c - a tool without libcurl, so without TLS; see place.h */
#include "tool/live/place.h"

cpt_status cpti_place_get_tls(const struct cpti_place *place,
                              const struct cpti_get *get, char **body, size_t *bytes,
                              struct cpt_error *error)
{
    (void)place;
    (void)get;
    (void)body;
    (void)bytes;
    return cpt_error_set(error, CPT_UNAVAILABLE, 0,
                         "this cpt was built without libcurl, so it speaks no TLS: "
                         "name the port for operators, which has none");
}
