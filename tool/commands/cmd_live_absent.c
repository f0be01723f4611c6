/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_live_absent.c - cpt wait, graph without libcurl or a library for JSON */
#include "tool/commands/absent.h"

#define WHY                                                                            \
    "libcurl, or without simdjson and jansson, so it cannot ask services; install "    \
    "libcurl4-openssl-dev, and libsimdjson-dev with g++ or libjansson-dev, and build " \
    "it again"

CPTI_ABSENT(wait, CPTI_IS_WAIT, WHY);

CPTI_ABSENT(graph, CPTI_IS_GRAPH, WHY);
