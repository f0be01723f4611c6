/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_complete.h - how a selection that is being typed may go on
 *
 *      reg                      region
 *      region=e                 region=eu
 *      arm == "A" and reg       arm == "A" and region
 *      region == "e             region == "eu"
 *      region in ("eu", u       region in ("eu", "us"
 *      path("A: A1;B: L         path("A: A1;B: Lookup")
 *
 * An option is the whole text with its last word completed. Words that begin with what
 * was typed come first, then words that contain it; of each the most frequent first.
 *
 * Threads: any.
 */
#ifndef CPTI_CLI_WEB_COMPLETE_H
#define CPTI_CLI_WEB_COMPLETE_H

#include "tool/web/web_words.h"

#include <stdio.h>

/* The most options; and the longest text that is completed. */
enum { CPTI_WEB_OPTIONS_MAX = 50, CPTI_WEB_TEXT_BYTES_MAX = 4096 };

/* Writes {"options":[{"text":…,"count":…},…]}. enum cpti_exit. */
int cpti_web_complete(const struct cpti_web_vocabulary *vocabulary, const char *text,
                      FILE *file);

#endif
