/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_collect_absent.c - cpt collect in a build without HTTP or a library for JSON */
#include "tool/commands/absent.h"

CPTI_ABSENT(collect, CPTI_IS_COLLECT,
            "the HTTP transport, or without simdjson and jansson, so 'cpt collect' "
            "cannot receive spans");
