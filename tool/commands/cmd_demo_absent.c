/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_demo_absent.c - cpt demo in a build without the services of the demo */
#include "tool/commands/absent.h"

CPTI_ABSENT(demo, CPTI_IS_DEMO,
            "the demo: it needs the HTTP transport and the examples");
