/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_import_absent.c - import, events, explain, model without a library for JSON */
#include "tool/commands/absent.h"

#define WHY                                                                            \
    "simdjson and jansson, so it cannot read spans" CPTI_HINT                          \
    "install libsimdjson-dev and g++, or libjansson-dev, and build it again"

CPTI_ABSENT(import, CPTI_IS_IMPORT, WHY);

CPTI_ABSENT(explain, CPTI_IS_EXPLAIN, WHY);

CPTI_ABSENT(events, CPTI_IS_EVENTS, WHY);

CPTI_ABSENT(model, CPTI_IS_MODEL, WHY);
