/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* get_options.h - the options of commands that ask services: get_options.c */
#ifndef CPTI_CLI_GET_OPTIONS_H
#define CPTI_CLI_GET_OPTIONS_H

#include "tool/base/options.h"
#include "tool/live/place.h"

enum { CPTI_GET_PATH_BYTES = 300 };

/* --prefix, --ca, --cert, --key. */
extern const struct cpti_option cpti_get_options[];

/* Sets @get, and its path, "/cpt/requests" of "requests", in @path. CPTI_EXIT_DONE;
 * CPTI_EXIT_USAGE after a message. */
int cpti_get_read(const struct cpti_arguments *arguments, const char *what,
                  struct cpti_get *get, char path[CPTI_GET_PATH_BYTES]);

#endif
