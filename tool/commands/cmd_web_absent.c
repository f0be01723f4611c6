/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_web_absent.c - cpt web in a build without the HTTP transport */
#include "tool/commands/absent.h"

CPTI_ABSENT(
    web, CPTI_IS_WEB,
    "the HTTP transport, so 'cpt web' cannot serve; 'cpt report --html' writes a page");
